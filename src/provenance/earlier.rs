//! Lines that stood in a file before it had its name.
//!
//! Asked only for overlays with lines that upstream never had under the name that the file has now, and for all of them at
//! once: a walk for each move that is followed, however many overlays there are.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{CommitId, UpstreamPath};
use crate::upstream::{Touch, Upstream, UpstreamError};

use super::history::Histories;
use super::note::OldLine;
use super::resurrect::{Added, Past, Removal, removals};
use super::work::MOST_BYTES_BEFORE;
use super::{Note, OverlayReport, Resurrected, rename};

/// How often a path may have moved.
const MOST_MOVES: usize = 8;

/// Lines of an overlay's content that upstream never had under the path's name.
pub(super) struct Open {
    pub(super) path: UpstreamPath,
    pub(super) lines: Vec<Added>,
}

/// A path under the name that it had before a commit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Earlier {
    /// The name that it has at the pin.
    path: UpstreamPath,
    old: UpstreamPath,
    moved_by: CommitId,
}

/// Adds what earlier names say of lines that are left.
///
/// # Errors
/// If the history of these names is not here.
pub(super) fn add(
    reports: &mut [OverlayReport],
    open: &[Vec<Open>],
    histories: &Histories,
    upstream: &dyn Upstream,
) -> Result<(), UpstreamError> {
    if !histories.is_read_whole() {
        return Ok(());
    }
    let paths: BTreeSet<&UpstreamPath> = open.iter().flatten().map(|open| &open.path).collect();
    let added = |path: &UpstreamPath| histories.of_pin(path).filter(|touch| adds(touch)).cloned().collect();
    let mut additions: Vec<(UpstreamPath, Vec<Touch>)> =
        paths.into_iter().map(|path| (path.clone(), added(path))).collect();
    let mut known: BTreeSet<(UpstreamPath, UpstreamPath)> = BTreeSet::new();
    let mut names: Vec<(Earlier, Vec<Touch>)> = Vec::new();
    for _ in 0..MOST_MOVES {
        let mut earlier = Vec::new();
        for (path, touches) in &additions {
            for touch in touches {
                let from = rename::came_from(upstream, touch.commit, &touch.path)?;
                let Some((old, _)) = from.filter(|(old, _)| known.insert((path.clone(), old.clone()))) else {
                    continue;
                };
                earlier.push(Earlier { path: path.clone(), old, moved_by: touch.commit });
            }
        }
        if earlier.is_empty() {
            break;
        }
        let old: BTreeSet<UpstreamPath> = earlier.iter().map(|earlier| earlier.old.clone()).collect();
        let by_name = histories.all_of(&old.into_iter().collect::<Vec<_>>(), upstream)?;
        additions = Vec::new();
        for earlier in earlier {
            let touches = by_name.get(&earlier.old).into_iter().flatten();
            let touches: Vec<Touch> =
                touches.skip_while(|touch| touch.commit != earlier.moved_by).cloned().collect();
            additions.push((earlier.path.clone(), touches.iter().filter(|t| adds(t)).cloned().collect()));
            names.push((earlier, touches));
        }
    }
    if names.is_empty() {
        return Ok(());
    }
    for (report, open) in reports.iter_mut().zip(open) {
        for Open { path, lines } in open {
            let mut lines = lines.clone();
            let Some(report) = report.paths.iter_mut().find(|report| report.path == *path) else { continue };
            for (earlier, touches) in names.iter().filter(|(earlier, _)| earlier.path == *path) {
                let touches: Vec<&Touch> = touches.iter().collect();
                let past =
                    Past { path: &earlier.old, touches: &touches, tip: earlier.moved_by, exclude: None };
                let (found, left) = removals(lines, past, MOST_BYTES_BEFORE, upstream)?;
                lines = left;
                add_notes(&mut report.notes, found, upstream)?;
            }
        }
    }
    Ok(())
}

/// Whether a commit brings a path that none of its parents has. A first commit brings all, from nowhere.
fn adds(touch: &Touch) -> bool {
    touch.after.is_some() && !touch.before.is_empty() && touch.before.iter().all(Option::is_none)
}

/// Says of lines by which commit they were removed; one note for each commit.
///
/// # Errors
/// If a commit is not here.
pub(super) fn add_notes(
    notes: &mut Vec<Note>,
    found: Vec<Removal>,
    upstream: &dyn Upstream,
) -> Result<(), UpstreamError> {
    for (commit, lines) in found {
        let lines: Vec<OldLine> =
            lines.into_iter().map(|line| OldLine { number: line.number, text: line.text }).collect();
        let known = notes.iter_mut().find_map(|note| match note {
            Note::Resurrects(known) if known.removed_by.id == commit => Some(known),
            _ => None,
        });
        match known {
            Some(known) => {
                known.lines.extend(lines);
                known.lines.sort_by_key(|line| line.number);
            }
            None => notes.push(Note::Resurrects(Resurrected { removed_by: upstream.commit(commit)?, lines })),
        }
    }
    Ok(())
}

/// Commits by the name of a path.
pub(super) type ByName = BTreeMap<UpstreamPath, Vec<Touch>>;
