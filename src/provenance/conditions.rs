//! What the manifest says about commits, held against history: whether the pin has the commit that an overlay waits
//! for, and commits that change nothing where the overlay is.

use crate::id::CommitId;
use crate::manifest::{DropWhen, Kind, Overlay};
use crate::merge::{Labels, Merged, Style, merge};
use crate::overlay::content_at;
use crate::tree::{Content, Mode};
use crate::upstream::{Upstream, UpstreamError};

use super::{Condition, OverlayNote, OverlayReport};

/// Adds what can be told from history; what cannot be found out is said, and changes no state.
pub(super) fn add(report: &mut OverlayReport, overlay: &Overlay, pin: CommitId, upstream: &dyn Upstream) {
    if let Some(DropWhen::PinContains(commit)) = overlay.drop_when.as_ref().map(|when| &when.value) {
        report.drop_when = Some(match upstream.is_ancestor(*commit, pin) {
            Ok(true) => Condition::Met,
            Ok(false) => Condition::NotMet,
            Err(error) => Condition::Unknown(error.to_string()),
        });
        if touches_none(*commit, report, upstream).unwrap_or(false) {
            report.notes.push(OverlayNote::Elsewhere(*commit));
        }
    }
    if let Kind::Commits { commits, .. } = &overlay.kind {
        for commit in commits {
            if changes_nothing(commit.value, pin, upstream).unwrap_or(false) {
                report.notes.push(OverlayNote::NoEffect(commit.value));
            }
        }
    }
}

/// Whether a commit differs from its first parent on none of the overlay's paths.
fn touches_none(
    commit: CommitId,
    report: &OverlayReport,
    upstream: &dyn Upstream,
) -> Result<bool, UpstreamError> {
    let parent = upstream.commit(commit)?.parents.first().copied();
    for path in &report.paths {
        for path in std::iter::once(&path.path).chain(path.to.as_ref().map(|(to, _)| to)) {
            let before = parent.map(|parent| upstream.entry(parent, path)).transpose()?.flatten();
            if before != upstream.entry(commit, path)? {
                return Ok(false);
            }
        }
    }
    Ok(!report.paths.is_empty())
}

/// Whether a cherry-pick onto the pin leaves everything as it is: the commit is empty, or the pin has all of it.
fn changes_nothing(commit: CommitId, pin: CommitId, upstream: &dyn Upstream) -> Result<bool, UpstreamError> {
    let labels = Labels { base: "base", ours: "upstream", theirs: "overlay" };
    for change in upstream.diff(commit)? {
        let read = |entry: Option<crate::tree::Entry>| match entry {
            Some(entry) if entry.mode != Mode::Submodule => {
                Ok::<_, UpstreamError>(Some(Content { mode: entry.mode, bytes: upstream.blob(entry.id)? }))
            }
            _ => Ok(None),
        };
        let (before, after) = (read(change.before)?, read(change.after)?);
        let there = content_at(upstream, pin, &change.path)?;
        match merge(before.as_ref(), there.as_ref(), after.as_ref(), Style::Merge, labels) {
            Merged::Clean(merged) if merged == there => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}
