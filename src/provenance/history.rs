//! What the walks of the history give: one for each base, however many overlays share it.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{BlobId, CommitId, UpstreamPath};
use crate::tree::Entry;
use crate::upstream::{Touch, Upstream, UpstreamError};

use super::Note;

/// What an overlay wants to know.
pub(super) struct Wanted<'a> {
    /// Since when.
    pub(super) base: CommitId,
    /// Of which paths.
    pub(super) paths: &'a BTreeSet<UpstreamPath>,
    /// Whether contents before the base and after the pin matter, too.
    pub(super) is_whole: bool,
}

/// The history of one path.
#[derive(Debug, Default)]
pub(super) struct PathHistory {
    /// Contents before the base (before the pin, if that is older), without the one that stands there.
    pub(super) older: Vec<Entry>,
    /// The commits up to the base, newest first.
    before: Vec<Touch>,
    /// Commits of base..pin that touch the path, oldest first.
    pub(super) between: Vec<Touch>,
    /// Contents after the pin.
    pub(super) newer: Vec<Entry>,
    /// Whether the pin is older than the base.
    pub(super) ahead: bool,
    pub(super) notes: Vec<Note>,
}

impl PathHistory {
    /// The commits up to the base that came after this content, oldest first.
    pub(super) fn since(&self, content: &BlobId) -> Vec<Touch> {
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
pub(super) struct Histories {
    by_base: BTreeMap<CommitId, Result<BTreeMap<UpstreamPath, PathHistory>, String>>,
}

impl Histories {
    pub(super) fn walk<'w>(
        subjects: impl Iterator<Item = Wanted<'w>>,
        pin: CommitId,
        tip: Option<CommitId>,
        upstream: &dyn Upstream,
    ) -> Self {
        // The paths of each base, and those whose older contents matter.
        let mut wanted: BTreeMap<CommitId, (BTreeSet<UpstreamPath>, BTreeSet<UpstreamPath>)> =
            BTreeMap::new();
        for subject in subjects {
            let (all, whole) = wanted.entry(subject.base).or_default();
            all.extend(subject.paths.iter().cloned());
            if subject.is_whole {
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

    pub(super) fn of(&self, base: Option<CommitId>, path: &UpstreamPath) -> Result<&PathHistory, String> {
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
    let ahead = notes.contains(&Note::Ahead);
    let mut histories: BTreeMap<UpstreamPath, PathHistory> = all
        .iter()
        .map(|path| (path.clone(), PathHistory { ahead, notes: notes.clone(), ..PathHistory::default() }))
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
    let older_end = if ahead { pin } else { base };
    for touch in upstream.history(older_end, None, &whole)? {
        if let Some(history) = histories.get_mut(&touch.path) {
            history.older.extend(touch.before.iter().flatten());
            history.before.push(touch);
        }
    }
    let newer_ends = tip.into_iter().chain(ahead.then_some(base)).filter(|end| *end != pin);
    for end in newer_ends {
        for touch in upstream.history(end, Some(pin), &whole)? {
            if let Some(history) = histories.get_mut(&touch.path) {
                history.newer.extend(touch.after);
            }
        }
    }
    // What upstream has at base or pin is no older content, though it may have stood there before, too.
    for (path, history) in &mut histories {
        let (at_base, at_pin) = (upstream.entry(base, path)?, upstream.entry(pin, path)?);
        history.older.retain(|entry| Some(*entry) != at_base && Some(*entry) != at_pin);
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
