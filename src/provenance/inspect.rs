//! Collects what the decision needs, for all overlays of a manifest at once: one walk of the history for each
//! base, however many overlays share it.

use std::collections::{BTreeMap, BTreeSet};

use similar::DiffTag;

use crate::id::{BlobId, CommitId, UpstreamPath};
use crate::lex::{self, Comparison};
use crate::merge::is_binary;
use crate::overlay::{At, Loaded, content_at, resolve};
use crate::tree::{Changes, Content};
use crate::upstream::{Commit, Touch, Upstream, UpstreamError};

use super::state::{Facts, Ours, decide};
use super::{Blobs, Note, OverlayReport, PathReport, State, rename, undo};

/// Looks at overlays, each on its own on the pin.
///
/// `tip` is the newest commit that is known of the pin's branch: contents between pin and tip are newer ones.
/// What cannot be read makes the overlay `unknown`, and does not stop the others.
#[must_use]
pub fn inspect(
    overlays: &[&Loaded],
    pin: CommitId,
    tip: Option<CommitId>,
    upstream: &dyn Upstream,
) -> Vec<OverlayReport> {
    let subjects: Vec<Result<Subject<'_>, String>> =
        overlays.iter().map(|loaded| Subject::read(loaded, pin, upstream)).collect();
    let histories = Histories::walk(subjects.iter().filter_map(|s| s.as_ref().ok()), pin, tip, upstream);
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
    on_base: Result<Changes, String>,
    on_pin: Result<Changes, String>,
    paths: BTreeSet<UpstreamPath>,
}

impl<'a> Subject<'a> {
    fn read(loaded: &'a Loaded, pin: CommitId, upstream: &dyn Upstream) -> Result<Self, String> {
        let base = loaded.overlay.base.as_ref().map(|base| base.value);
        let on = |commit: CommitId| -> Result<Result<Changes, String>, String> {
            let resolution =
                resolve(&[loaded], At::Pin(commit), upstream).map_err(|error| error.to_string())?;
            Ok(match resolution.refused.first() {
                None => Ok(resolution.changes),
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
        for changes in [&on_pin, &on_base].into_iter().flatten() {
            paths.extend(changes.keys().cloned());
        }
        Ok(Self { loaded, base, pin, on_base, on_pin, paths })
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
        let of = |changes: &'s Result<Changes, String>| match changes {
            Ok(changes) => Ok(changes.get(path).and_then(Option::as_ref)),
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
        let pin = content_at(upstream, self.pin, path)?;
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
        let decided = decide(&Facts {
            path,
            base: base.as_ref(),
            pin: pin.as_ref(),
            ours: ours.clone(),
            older: &history.older,
            newer: &history.newer,
        });
        report.state = decided.state;
        report.why = decided.why;
        report.notes.extend(decided.notes);
        report.notes.extend(history.notes.iter().cloned());
        report.moved_by = history.between.iter().map(|touch| touch.commit).collect();
        self.add_history(&mut report, &history, on_pin.flatten(), upstream)?;
        Ok(report)
    }

    fn base_content(&self, path: &UpstreamPath, upstream: &dyn Upstream) -> Result<Option<Content>, String> {
        let base = self.base.ok_or("it has no `base` in the manifest, so nothing can be compared")?;
        content_at(upstream, base, path).map_err(|error| error.to_string())
    }

    /// The commits that matter for the state: undone, included, that moved or removed the path.
    fn add_history(
        &self,
        report: &mut PathReport,
        history: &PathHistory,
        ours: Option<&Content>,
        upstream: &dyn Upstream,
    ) -> Result<(), UpstreamError> {
        match report.state {
            State::Gone => {
                let removed = history.between.iter().rev().find(|touch| touch.after.is_none());
                if let Some(removed) = removed {
                    report.by = Some(upstream.commit(removed.commit)?);
                    if let Some((to, alike)) = rename::follow(upstream, removed.commit, &report.path)? {
                        report.state = State::Renamed;
                        report.why = format!("upstream moved the path to {to} ({alike} % alike)");
                        report.to = Some((to, alike));
                    }
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
        let Some(ours) = ours else {
            return Ok(());
        };
        // An overlay that takes upstream back behind its base undoes what came after that content, too.
        let since = if report.state == State::Rollback { history.since(&id(ours)) } else { vec![] };
        for touch in since.iter().chain(&history.between) {
            let commit = upstream.commit(touch.commit)?;
            if has_change(touch, ours, upstream)? {
                report.included.push(commit);
            } else {
                report.undoes.push(commit);
            }
        }
        Ok(())
    }
}

fn id(content: &Content) -> BlobId {
    BlobId::of(&content.bytes)
}

/// Whether a content has what a commit did to its path.
fn has_change(touch: &Touch, ours: &Content, upstream: &dyn Upstream) -> Result<bool, UpstreamError> {
    let Some(after) = touch.after else {
        return Ok(false);
    };
    if after.id == id(ours) {
        return Ok(true);
    }
    let commit = upstream.blob(after.id)?;
    let parent = match touch.before.first().copied().flatten() {
        Some(before) => upstream.blob(before.id)?,
        None => [].into(),
    };
    if [&commit, &parent, &ours.bytes].iter().any(|content| is_binary(content)) {
        return Ok(false);
    }
    let mode_changed =
        touch.before.first().copied().flatten().is_some_and(|before| before.mode != after.mode);
    Ok(undo::share(&parent, &commit, &ours.bytes).is_all() && (!mode_changed || after.mode == ours.mode))
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

/// The history of one path.
#[derive(Debug, Default)]
struct PathHistory {
    /// Contents before the base, without that at the base.
    older: Vec<BlobId>,
    /// The commits up to the base, newest first.
    before: Vec<Touch>,
    /// Commits of base..pin that touch the path, oldest first.
    between: Vec<Touch>,
    /// Contents after the pin.
    newer: Vec<BlobId>,
    notes: Vec<Note>,
}

impl PathHistory {
    /// The commits up to the base that came after this content, oldest first.
    fn since(&self, content: &BlobId) -> Vec<Touch> {
        let is_content = |touch: &&Touch| touch.after.is_none_or(|after| after.id != *content);
        if !self.before.iter().any(|touch| touch.after.is_some_and(|after| after.id == *content)) {
            return Vec::new();
        }
        let mut after: Vec<Touch> = self.before.iter().take_while(is_content).cloned().collect();
        after.reverse();
        after
    }
}

/// What the walks of the history gave, by base.
struct Histories {
    by_base: BTreeMap<CommitId, Result<BTreeMap<UpstreamPath, PathHistory>, String>>,
}

impl Histories {
    fn walk<'s>(
        subjects: impl Iterator<Item = &'s Subject<'s>>,
        pin: CommitId,
        tip: Option<CommitId>,
        upstream: &dyn Upstream,
    ) -> Self {
        // The paths of each base, and those whose older contents matter.
        let mut wanted: BTreeMap<CommitId, (BTreeSet<UpstreamPath>, BTreeSet<UpstreamPath>)> =
            BTreeMap::new();
        for subject in subjects {
            let Some(base) = subject.base else { continue };
            let (all, whole) = wanted.entry(base).or_default();
            all.extend(subject.paths.iter().cloned());
            if subject.loaded.overlay.kind.is_whole() {
                whole.extend(subject.paths.iter().cloned());
            }
        }
        let by_base = wanted
            .into_iter()
            .map(|(base, (all, whole))| {
                let walked = walk_base(base, pin, tip, &all, &whole, upstream);
                (base, walked.map_err(|error| error.to_string()))
            })
            .collect();
        Self { by_base }
    }

    fn of(&self, base: Option<CommitId>, path: &UpstreamPath) -> Result<&PathHistory, String> {
        let base = base.ok_or("it has no `base` in the manifest")?;
        match self.by_base.get(&base) {
            Some(Ok(paths)) => paths.get(path).ok_or_else(|| "its history was not read".to_owned()),
            Some(Err(why)) => Err(why.clone()),
            None => Err("its history was not read".to_owned()),
        }
    }
}

fn walk_base(
    base: CommitId,
    pin: CommitId,
    tip: Option<CommitId>,
    all: &BTreeSet<UpstreamPath>,
    whole: &BTreeSet<UpstreamPath>,
    upstream: &dyn Upstream,
) -> Result<BTreeMap<UpstreamPath, PathHistory>, UpstreamError> {
    let notes = relation(base, pin, upstream)?;
    let mut histories: BTreeMap<UpstreamPath, PathHistory> = all
        .iter()
        .map(|path| (path.clone(), PathHistory { notes: notes.clone(), ..PathHistory::default() }))
        .collect();
    let all: Vec<UpstreamPath> = all.iter().cloned().collect();
    let whole: Vec<UpstreamPath> = whole.iter().cloned().collect();
    if base != pin {
        for touch in upstream.history(pin, Some(base), &all)?.into_iter().rev() {
            if let Some(history) = histories.get_mut(&touch.path) {
                history.between.push(touch);
            }
        }
    }
    if whole.is_empty() {
        return Ok(histories);
    }
    for touch in upstream.history(base, None, &whole)? {
        if let Some(history) = histories.get_mut(&touch.path) {
            history.older.extend(touch.before.iter().flatten().map(|entry| entry.id));
            history.before.push(touch);
        }
    }
    if let Some(tip) = tip.filter(|tip| *tip != pin) {
        for touch in upstream.history(tip, Some(pin), &whole)? {
            if let Some(history) = histories.get_mut(&touch.path) {
                history.newer.extend(touch.after.map(|entry| entry.id));
            }
        }
    }
    Ok(histories)
}

fn relation(base: CommitId, pin: CommitId, upstream: &dyn Upstream) -> Result<Vec<Note>, UpstreamError> {
    if base == pin || upstream.is_ancestor(base, pin)? {
        Ok(Vec::new())
    } else if upstream.is_ancestor(pin, base)? {
        Ok(vec![Note::Ahead])
    } else {
        Ok(vec![Note::Diverged(upstream.merge_base(base, pin)?)])
    }
}

/// The pull-request number that a subject ends with, as `(#123)`.
#[must_use]
pub fn pull_request_number(commit: &Commit) -> Option<u64> {
    let subject = &commit.subject;
    let open = bstr::ByteSlice::rfind(subject.as_slice(), b"(#")?;
    let digits = subject[open + 2..].strip_suffix(b")")?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}
