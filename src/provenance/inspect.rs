//! Collects what the decision needs, for all overlays of a manifest at once: one walk of the history for each
//! base, however many overlays share it.

use std::collections::BTreeSet;

use similar::DiffTag;

use crate::id::{BlobId, CommitId, UpstreamPath};
use crate::lex::{self, Comparison};
use crate::merge::is_binary;
use crate::overlay::{At, Loaded, content_at, resolve};
use crate::tree::{Changes, Content, Entry, Mode};
use crate::upstream::{Commit, Touch, Upstream, UpstreamError};

use super::history::{Histories, PathHistory, Wanted};
use super::state::{Facts, Ours, decide};
use super::{Blobs, Note, OverlayReport, PathReport, State, rename, undo};

/// Looks at overlays, each on the pin with no others but those of `all` that it needs below it.
///
/// `tip` is the newest commit that is known of the pin's branch: contents between pin and tip are newer ones.
/// What cannot be read makes the overlay `unknown`, and does not stop the others.
#[must_use]
pub fn inspect(
    overlays: &[&Loaded],
    all: &[Loaded],
    pin: CommitId,
    tip: Option<CommitId>,
    upstream: &dyn Upstream,
) -> Vec<OverlayReport> {
    let subjects: Vec<Result<Subject<'_>, String>> =
        overlays.iter().map(|loaded| Subject::read(loaded, all, pin, upstream)).collect();
    let wanted = subjects.iter().filter_map(|subject| subject.as_ref().ok()).filter_map(Subject::wanted);
    let histories = Histories::walk(wanted, pin, tip, upstream);
    overlays
        .iter()
        .zip(&subjects)
        .map(|(loaded, subject)| {
            let report = subject
                .as_ref()
                .map_err(Clone::clone)
                .and_then(|subject| subject.report(&histories, upstream).map_err(|error| error.to_string()));
            match report {
                Ok(paths) => OverlayReport::new(loaded.name().clone(), paths),
                Err(why) => OverlayReport::unknown(loaded.name().clone(), why),
            }
        })
        .collect()
}

/// An overlay with what it makes of base and pin.
struct Subject<'a> {
    loaded: &'a Loaded,
    base: Option<CommitId>,
    pin: CommitId,
    on_base: Result<On, String>,
    on_pin: Result<On, String>,
    paths: BTreeSet<UpstreamPath>,
}

/// What overlays make of a commit.
#[derive(Debug, Clone, Default)]
struct On {
    /// What the overlay makes of its paths.
    own: Changes,
    /// What it stands on: what the overlays that it needs made of these paths before.
    below: Changes,
}

impl<'a> Subject<'a> {
    fn read(
        loaded: &'a Loaded,
        all: &[Loaded],
        pin: CommitId,
        upstream: &dyn Upstream,
    ) -> Result<Self, String> {
        let base = loaded.overlay.base.as_ref().map(|base| base.value);
        // A change may stand on what another overlay made of the path. Whole content stands alone.
        let needed = if loaded.overlay.kind.is_whole() { Vec::new() } else { needs_of(loaded, all) };
        let on = |commit: CommitId| -> Result<Result<On, String>, String> {
            let resolve = |overlays: &[&Loaded]| {
                resolve(overlays, At::Pin(commit), upstream).map_err(|error| error.to_string())
            };
            let below = resolve(&needed)?.changes;
            let with: Vec<&Loaded> = needed.iter().copied().chain([loaded]).collect();
            let mut resolution = resolve(&with)?;
            Ok(match resolution.refused.first() {
                None => {
                    let by = resolution.by;
                    resolution
                        .changes
                        .retain(|path, _| by.get(path).is_some_and(|by| by.contains(loaded.name())));
                    Ok(On { own: resolution.changes, below })
                }
                Some(refusal) => Err(match &refusal.path {
                    Some(path) => format!("{path}: {}", refusal.why),
                    None => refusal.why.clone(),
                }),
            })
        };
        let on_pin = on(pin)?;
        let on_base = match base {
            Some(base) if base != pin => on(base)?,
            _ => on_pin.clone(),
        };
        let mut paths: BTreeSet<UpstreamPath> = loaded.whole_paths().cloned().collect();
        paths.extend(loaded.patch.iter().flat_map(|patch| patch.touched()));
        for on in [&on_pin, &on_base].into_iter().flatten() {
            paths.extend(on.own.keys().cloned());
        }
        if paths.is_empty()
            && let Err(why) = &on_pin
        {
            return Err(why.clone());
        }
        Ok(Self { loaded, base, pin, on_base, on_pin, paths })
    }

    /// The history that is needed.
    fn wanted(&self) -> Option<Wanted<'_>> {
        Some(Wanted { base: self.base?, paths: &self.paths, is_whole: self.loaded.overlay.kind.is_whole() })
    }

    fn report(
        &self,
        histories: &Histories,
        upstream: &dyn Upstream,
    ) -> Result<Vec<PathReport>, UpstreamError> {
        self.paths.iter().map(|path| self.report_path(path, histories, upstream)).collect()
    }

    fn ours<'s>(&'s self, path: &UpstreamPath) -> Ours<'s> {
        // A path that a change does not name on one side has there what upstream has: nothing to add.
        let of = |on: &'s Result<On, String>| match on {
            Ok(on) => Ok(on.own.get(path).and_then(Option::as_ref)),
            Err(why) => Err(why.clone()),
        };
        if self.loaded.overlay.kind.is_whole() {
            Ours::Whole(of(&self.on_pin).unwrap_or(None))
        } else {
            Ours::Change { on_base: of(&self.on_base), on_pin: of(&self.on_pin) }
        }
    }

    fn report_path(
        &self,
        path: &UpstreamPath,
        histories: &Histories,
        upstream: &dyn Upstream,
    ) -> Result<PathReport, UpstreamError> {
        let pin = match self.on_pin.as_ref().ok().and_then(|on| on.below.get(path)) {
            Some(below) => below.clone(),
            None => content_at(upstream, self.pin, path)?,
        };
        let ours = self.ours(path);
        let mut report = PathReport {
            path: path.clone(),
            state: State::Unknown,
            why: String::new(),
            undoes: Vec::new(),
            included: Vec::new(),
            moved_by: Vec::new(),
            to: None,
            by: None,
            notes: Vec::new(),
            delta: None,
            against_base: None,
            against_pin: None,
            blobs: Blobs { pin: pin.as_ref().map(id), ..Blobs::default() },
        };
        let on_pin = match &ours {
            Ours::Whole(content) => Some(*content),
            Ours::Change { on_pin, .. } => on_pin.as_ref().ok().copied(),
        };
        report.blobs.overlay = on_pin.flatten().map(id);
        report.against_pin = on_pin.and_then(|ours| count_lines(pin.as_ref(), ours));
        let base = match self.base_content(path, upstream) {
            Ok(base) => base,
            Err(why) => {
                // Without a base, only that nothing is left of the overlay can be proven.
                if let Some(ours) = on_pin
                    && super::state::does_the_same(path, ours, pin.as_ref())
                {
                    report.state = State::Redundant;
                    report.why = "it does what upstream does at the pin".to_owned();
                } else {
                    report.why = why;
                }
                return Ok(report);
            }
        };
        report.blobs.base = base.as_ref().map(id);
        let on_base = match &ours {
            Ours::Whole(content) => Some(*content),
            Ours::Change { on_base, .. } => on_base.as_ref().ok().copied(),
        };
        report.against_base = on_base.and_then(|ours| count_lines(base.as_ref(), ours));
        report.delta = on_base.and_then(|ours| delta(path, base.as_ref(), ours, &mut report.notes));
        let history = match histories.of(self.base, path) {
            Ok(history) => history,
            Err(why) => {
                report.why = why;
                return Ok(report);
            }
        };
        let older = self.find_among(path, on_pin.flatten(), &history.older, upstream)?;
        let decided = decide(&Facts {
            path,
            base: base.as_ref(),
            pin: pin.as_ref(),
            ours: ours.clone(),
            ahead: history.ahead,
            is_older: older.is_some(),
            is_newer: self.find_among(path, on_pin.flatten(), &history.newer, upstream)?.is_some(),
        });
        report.state = decided.state;
        report.why = decided.why;
        report.notes.extend(decided.notes);
        report.notes.extend(history.notes.iter().cloned());
        report.moved_by = history.between.iter().map(|touch| touch.commit).collect();
        self.add_history(&mut report, history, on_pin.flatten(), older, upstream)?;
        Ok(report)
    }

    fn base_content(&self, path: &UpstreamPath, upstream: &dyn Upstream) -> Result<Option<Content>, String> {
        let base = self.base.ok_or("it has no `base` in the manifest, so nothing can be compared")?;
        match self.on_base.as_ref().ok().and_then(|on| on.below.get(path)) {
            Some(below) => Ok(below.clone()),
            None => content_at(upstream, base, path).map_err(|error| error.to_string()),
        }
    }

    /// The commits that matter for the state: undone, included, that moved or removed the path.
    fn add_history(
        &self,
        report: &mut PathReport,
        history: &PathHistory,
        ours: Option<&Content>,
        older: Option<BlobId>,
        upstream: &dyn Upstream,
    ) -> Result<(), UpstreamError> {
        match report.state {
            State::Gone => {
                let removed = history.between.iter().rev().find(|touch| touch.after.is_none());
                if let Some(removed) = removed {
                    report.by = Some(upstream.commit(removed.commit)?);
                }
                let ends = removed.zip(self.base);
                let to = match ends {
                    Some((removed, base)) => {
                        rename::follow(upstream, &report.path, removed.commit, base, self.pin)?
                    }
                    None => None,
                };
                if let Some((to, alike)) = to {
                    report.state = State::Renamed;
                    report.why = format!("upstream moved the path to {to} ({alike} % alike)");
                    report.to = Some((to, alike));
                }
            }
            State::Collides => {
                if let Some(added) =
                    history.between.iter().rev().find(|t| t.before.iter().all(Option::is_none))
                {
                    report.by = Some(upstream.commit(added.commit)?);
                }
            }
            _ => {}
        }
        if !self.loaded.overlay.kind.is_whole() || report.state == State::Redundant {
            return Ok(());
        }
        // An overlay that takes upstream back behind its base undoes what came after that content, too.
        let since = match older {
            Some(older) if report.state == State::Rollback => history.since(&older),
            _ => Vec::new(),
        };
        let touches: Vec<&Touch> = since.iter().chain(&history.between).collect();
        let versions: Vec<undo::Version> =
            touches.iter().map(|touch| read_version(touch, upstream)).collect::<Result<_, _>>()?;
        for (touch, undone) in touches.iter().zip(undo::undone(&versions, ours)) {
            let commit = upstream.commit(touch.commit)?;
            if undone { report.undoes.push(commit) } else { report.included.push(commit) }
        }
        Ok(())
    }

    /// The first of these contents that does the same as a whole content: by id, and token by token as long as there
    /// are not too many bytes to read.
    fn find_among(
        &self,
        path: &UpstreamPath,
        ours: Option<&Content>,
        contents: &[Entry],
        upstream: &dyn Upstream,
    ) -> Result<Option<BlobId>, UpstreamError> {
        let (Some(ours), true) = (ours, self.loaded.overlay.kind.is_whole()) else {
            return Ok(None);
        };
        let entry = ours.entry();
        if contents.contains(&entry) {
            return Ok(Some(entry.id));
        }
        let mut left = MOST_BYTES_FOR_TOKENS;
        let mut seen = BTreeSet::new();
        for other in contents {
            if other.mode != entry.mode || !seen.insert(other.id) {
                continue;
            }
            let content = Content { mode: other.mode, bytes: upstream.blob(other.id)? };
            left = left.saturating_sub(content.bytes.len());
            if left == 0 {
                break;
            }
            if super::state::does_the_same(path, Some(ours), Some(&content)) {
                return Ok(Some(other.id));
            }
        }
        Ok(None)
    }
}

/// How much of a path's older contents is compared token by token; beyond that, ids answer.
const MOST_BYTES_FOR_TOKENS: usize = 32 * 1024 * 1024;

fn read_version(touch: &Touch, upstream: &dyn Upstream) -> Result<undo::Version, UpstreamError> {
    let read = |entry: Option<Entry>| match entry {
        Some(entry) if entry.mode != Mode::Submodule => {
            Ok(Some(Content { mode: entry.mode, bytes: upstream.blob(entry.id)? }))
        }
        _ => Ok(None),
    };
    Ok(undo::Version { before: read(touch.before.first().copied().flatten())?, after: read(touch.after)? })
}

/// The overlays that one needs, and those that they need, in the order of the manifest.
#[must_use]
pub fn needs_of<'a>(loaded: &Loaded, all: &'a [Loaded]) -> Vec<&'a Loaded> {
    let mut wanted: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&str> = loaded.overlay.needs.iter().map(|need| need.as_str()).collect();
    while let Some(name) = open.pop() {
        let found = all.iter().find(|other| other.name().as_str() == name);
        if let (Some(found), true) = (found, name != loaded.name().as_str() && wanted.insert(name)) {
            open.extend(found.overlay.needs.iter().map(|need| need.as_str()));
        }
    }
    all.iter().filter(|other| wanted.contains(other.name().as_str())).collect()
}

fn id(content: &Content) -> BlobId {
    BlobId::of(&content.bytes)
}

fn delta(
    path: &UpstreamPath,
    base: Option<&Content>,
    ours: Option<&Content>,
    notes: &mut Vec<Note>,
) -> Option<lex::Delta> {
    match (base, ours) {
        (None, None) => Some(lex::Delta::Identical),
        (Some(base), Some(ours)) if base.mode == ours.mode => {
            match lex::compare(path, &base.bytes, &ours.bytes) {
                Comparison::Known(delta) => Some(delta),
                Comparison::Unknown(why) => {
                    notes.push(Note::NotLexed(why.to_string()));
                    None
                }
            }
        }
        _ => Some(lex::Delta::Code),
    }
}

/// Lines added and removed; `None` for a binary file.
fn count_lines(from: Option<&Content>, to: Option<&Content>) -> Option<(usize, usize)> {
    let bytes =
        |content: Option<&Content>| content.map_or_else(|| [].into(), |content| content.bytes.clone());
    let (from, to) = (bytes(from), bytes(to));
    if is_binary(&from) || is_binary(&to) {
        return None;
    }
    let (from, to) = (undo::lines(&from), undo::lines(&to));
    let mut count = (0, 0);
    for op in similar::capture_diff_slices(similar::Algorithm::Histogram, &from, &to) {
        if op.tag() != DiffTag::Equal {
            count.0 += op.new_range().len();
            count.1 += op.old_range().len();
        }
    }
    Some(count)
}

/// The pull-request number that a subject ends with, as `(#123)`.
#[must_use]
pub fn pull_request_number(commit: &Commit) -> Option<u64> {
    let subject = &commit.subject;
    let open = bstr::ByteSlice::rfind(subject.as_slice(), b"(#")?;
    let digits = subject[open + 2..].strip_suffix(b")")?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}
