//! What one walk of the history gives: for each overlay and path, the versions before the base, between base and
//! pin, and after the pin.
//!
//! What lies between base and pin is always read. What lies before the base or after the pin can only show that an
//! overlay takes upstream back, or ahead. It is read if the history is short, if that is asked for, or if upstream
//! may have had the very bytes of the overlay; else these bytes are none of upstream's, and that is the answer.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{CommitId, UpstreamPath};
use crate::tree::Entry;
use crate::upstream::{Heads, Touch, Upstream, UpstreamError, Walk, Walked};

use super::Note;

/// Commits up to which a history is read as a whole.
const SHORT: usize = 20_000;

/// What an overlay wants to know.
pub(super) struct Wanted<'a> {
    /// Since when.
    pub(super) base: CommitId,
    /// Of which paths.
    pub(super) paths: &'a BTreeSet<UpstreamPath>,
    /// Paths whose bytes upstream may have had before the base or after the pin.
    pub(super) suspected: Vec<UpstreamPath>,
}

/// How contents before the base and after the pin were looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Elsewhere {
    /// By tokens: all of them were read.
    Tokens,
    /// By name only.
    Names,
    /// Not at all: history is cut off, and why.
    Missing(String),
}

/// The history of one path, as an overlay sees it.
#[derive(Debug, Clone)]
pub(super) struct PathHistory<'h> {
    /// Touches up to the base (up to the pin, if that is older), newest first.
    pub(super) before: Vec<&'h Touch>,
    /// Whether these are all there are.
    pub(super) before_is_whole: bool,
    /// Touches of base..pin, oldest first.
    pub(super) between: Vec<&'h Touch>,
    /// Touches that the pin does not reach, newest first.
    pub(super) newer: Vec<&'h Touch>,
    /// What newer commits have as older ones left it, as touches of these newer commits, newest first.
    pub(super) carried: Vec<&'h Touch>,
    /// How the first and the last of these were looked at.
    pub(super) elsewhere: Elsewhere,
    /// Why what is newer than the pin is not all known, if it is not.
    pub(super) newer_is_missing: Option<String>,
}

impl<'h> PathHistory<'h> {
    /// The commit that brought what another one carries on, if it is known.
    pub(super) fn brought(&self, touch: &Touch) -> Option<&'h Touch> {
        let is_carried = self.carried.iter().any(|carried| std::ptr::eq(*carried, touch));
        let older = self.between.iter().rev().chain(&self.before).copied();
        older.filter(|_| is_carried).find(|older| older.after == touch.after)
    }
}

/// How base and pin stand to each other.
#[derive(Debug, Clone, Default)]
pub(super) struct Relation {
    /// Whether the pin is older than the base.
    pub(super) ahead: bool,
    /// `ahead` or `diverged`.
    pub(super) notes: Vec<Note>,
    /// How many commits the pin has and the base has not; `None`: not known.
    pub(super) behind: Option<usize>,
}

/// What the walk gave.
pub(super) struct Histories {
    heads: Vec<CommitId>,
    tip: Option<CommitId>,
    walked: Result<Walked, UpstreamError>,
    /// What the own lines of newer heads have as the pin's ancestors left it, by the place of the head.
    carried: Vec<(usize, Touch)>,
    elsewhere: Elsewhere,
    /// Paths that were read as a whole although the history is long.
    suspected: BTreeSet<UpstreamPath>,
    /// Places in the walk's touches, by path.
    by_path: BTreeMap<UpstreamPath, Vec<usize>>,
    relations: BTreeMap<CommitId, Result<Relation, String>>,
    /// Where the whole history is not here: base..pin alone.
    alone: BTreeMap<CommitId, Result<BTreeMap<UpstreamPath, Vec<Touch>>, String>>,
    /// There, too: what the tip, and bases that are newer than the pin, have and the pin has not; and what they carry on.
    newer_alone: BTreeMap<CommitId, Result<Newer, String>>,
}

/// Touches that a head reaches and the pin does not, newest first, and what the head's own line carries on.
#[derive(Debug, Default)]
struct Newer {
    touches: Vec<Touch>,
    carried: Vec<Touch>,
}

impl Histories {
    pub(super) fn walk<'w>(
        subjects: impl Iterator<Item = Wanted<'w>>,
        pin: CommitId,
        tip: Option<CommitId>,
        deep: bool,
        upstream: &dyn Upstream,
    ) -> Self {
        let mut by_base: BTreeMap<CommitId, BTreeSet<UpstreamPath>> = BTreeMap::new();
        let mut suspected: BTreeSet<UpstreamPath> = BTreeSet::new();
        for subject in subjects {
            by_base.entry(subject.base).or_default().extend(subject.paths.iter().cloned());
            suspected.extend(subject.suspected);
        }
        let heads: BTreeSet<CommitId> =
            by_base.keys().copied().chain(tip).filter(|head| *head != pin).collect();
        let heads: Vec<CommitId> = std::iter::once(pin).chain(heads).collect();
        let mut histories = Self {
            heads,
            tip,
            walked: Ok(Walked::default()),
            carried: Vec::new(),
            elsewhere: Elsewhere::Tokens,
            suspected,
            by_path: BTreeMap::new(),
            relations: BTreeMap::new(),
            alone: BTreeMap::new(),
            newer_alone: BTreeMap::new(),
        };
        if by_base.is_empty() {
            return histories;
        }
        let all: Vec<UpstreamPath> =
            by_base.values().flatten().cloned().collect::<BTreeSet<_>>().into_iter().collect();
        let suspected: Vec<UpstreamPath> = histories.suspected.iter().cloned().collect();
        histories.walked = histories.ask(&all, &suspected, deep, upstream).and_then(|walked| {
            histories.carried = histories.ask_carried(&walked, &all, &by_base, upstream)?;
            Ok(walked)
        });
        match &histories.walked {
            Ok(walked) => {
                for (place, reached) in walked.touches.iter().enumerate() {
                    match histories.by_path.get_mut(&reached.touch.path) {
                        Some(places) => places.push(place),
                        None => _ = histories.by_path.insert(reached.touch.path.clone(), vec![place]),
                    }
                }
                for base in by_base.keys() {
                    let relation = histories.relation(*base, pin, walked, upstream);
                    histories.relations.insert(*base, relation.map_err(|error| say(&error)));
                }
            }
            Err(error) => {
                histories.elsewhere = Elsewhere::Missing(say(error));
                for (base, paths) in &by_base {
                    histories.walk_alone(*base, pin, paths, upstream);
                }
                let is_ahead = |base: &CommitId| histories.relation_of(*base).is_ok_and(|base| base.ahead);
                let newer: BTreeSet<CommitId> = by_base.keys().copied().filter(is_ahead).chain(tip).collect();
                for head in newer {
                    let newer = newer_alone(head, pin, &all, upstream).map_err(|error| say(&error));
                    histories.newer_alone.insert(head, newer);
                }
            }
        }
        histories
    }

    /// First how long the history is, which is cheap, then the paths.
    fn ask(
        &mut self,
        all: &[UpstreamPath],
        suspected: &[UpstreamPath],
        deep: bool,
        upstream: &dyn Upstream,
    ) -> Result<Walked, UpstreamError> {
        let common = if deep || !upstream.is_longer_than(&self.heads, SHORT)? {
            all
        } else {
            self.elsewhere = Elsewhere::Names;
            suspected
        };
        upstream.walk(&Walk { heads: &self.heads, between: all, common })
    }

    /// What stands on the line of the branch, and on the lines of bases that are newer than the pin, though a commit of
    /// the pin's own history brought it.
    fn ask_carried(
        &self,
        walked: &Walked,
        all: &[UpstreamPath],
        by_base: &BTreeMap<CommitId, BTreeSet<UpstreamPath>>,
        upstream: &dyn Upstream,
    ) -> Result<Vec<(usize, Touch)>, UpstreamError> {
        let mut carried = Vec::new();
        for (place, head) in self.heads.iter().enumerate().skip(1) {
            let of_base: Vec<UpstreamPath>;
            let paths = if Some(*head) == self.tip {
                all
            } else if walked.heads.first().is_some_and(|of_pin| of_pin.has(place)) {
                of_base = by_base.get(head).into_iter().flatten().cloned().collect();
                &of_base
            } else {
                continue;
            };
            let found = upstream.carried(&self.heads, place, paths)?;
            carried.extend(found.into_iter().map(|touch| (place, touch)));
        }
        Ok(carried)
    }

    /// Where history is cut off, what lies between base and pin may still be here.
    fn walk_alone(
        &mut self,
        base: CommitId,
        pin: CommitId,
        paths: &BTreeSet<UpstreamPath>,
        upstream: &dyn Upstream,
    ) {
        let relation = relation_alone(base, pin, upstream).map_err(|error| say(&error));
        self.relations.insert(base, relation);
        let paths: Vec<UpstreamPath> = paths.iter().cloned().collect();
        let touches = if base == pin { Ok(Vec::new()) } else { upstream.history(pin, Some(base), &paths) };
        let by_path = touches.map_err(|error| say(&error)).map(|touches| {
            let mut by_path: BTreeMap<UpstreamPath, Vec<Touch>> =
                paths.into_iter().map(|path| (path, Vec::new())).collect();
            for touch in touches.into_iter().rev() {
                by_path.entry(touch.path.clone()).or_default().push(touch);
            }
            by_path
        });
        self.alone.insert(base, by_path);
    }

    fn place(&self, head: CommitId) -> Option<usize> {
        self.heads.iter().position(|known| *known == head)
    }

    fn relation(
        &self,
        base: CommitId,
        pin: CommitId,
        walked: &Walked,
        upstream: &dyn Upstream,
    ) -> Result<Relation, UpstreamError> {
        let Some(place) = self.place(base) else { return Ok(Relation::default()) };
        let behind = walked.behind.get(place).copied();
        let reaches = |from: usize, to: usize| walked.heads.get(to).is_some_and(|heads| heads.has(from));
        Ok(if reaches(0, place) {
            Relation { ahead: false, notes: Vec::new(), behind }
        } else if reaches(place, 0) {
            Relation { ahead: true, notes: vec![Note::Ahead], behind }
        } else {
            let notes = vec![Note::Diverged(upstream.merge_base(base, pin)?)];
            Relation { ahead: false, notes, behind }
        })
    }

    /// How a base stands to the pin.
    pub(super) fn relation_of(&self, base: CommitId) -> Result<&Relation, String> {
        match self.relations.get(&base) {
            Some(Ok(relation)) => Ok(relation),
            Some(Err(why)) => Err(why.clone()),
            None => Err("its history was not read".to_owned()),
        }
    }

    /// The commits between each of these bases and the pin that touch these paths, oldest first.
    ///
    /// # Errors
    /// If the history is not all here.
    pub(super) fn between(
        &self,
        bases: &BTreeSet<CommitId>,
        paths: &[UpstreamPath],
        upstream: &dyn Upstream,
    ) -> Result<BTreeMap<(CommitId, UpstreamPath), Vec<CommitId>>, UpstreamError> {
        let near: Vec<CommitId> = self.heads.first().into_iter().chain(bases).copied().collect();
        // The same heads as before need no second look at who reaches whom.
        let is_all = self.heads.iter().all(|head| near.contains(head) || Some(*head) == self.tip);
        let heads = if is_all { self.heads.clone() } else { near };
        let walked = upstream.walk(&Walk { heads: &heads, between: paths, common: &[] })?;
        let mut between: BTreeMap<(CommitId, UpstreamPath), Vec<CommitId>> = BTreeMap::new();
        for reached in walked.touches.iter().rev().filter(|reached| reached.heads.has(0)) {
            for (place, base) in heads.iter().enumerate().skip(1) {
                if !reached.heads.has(place) && bases.contains(base) {
                    let key = (*base, reached.touch.path.clone());
                    between.entry(key).or_default().push(reached.touch.commit);
                }
            }
        }
        Ok(between)
    }

    /// The touches of a path that the pin reaches, as far as they were read, the newest first.
    pub(super) fn of_pin(&self, path: &UpstreamPath) -> impl Iterator<Item = &Touch> {
        let places = self.by_path.get(path).into_iter().flatten();
        let touches =
            self.walked.iter().flat_map(move |walked| places.clone().map(|place| &walked.touches[*place]));
        touches.filter(|reached| reached.heads.has(0)).map(|reached| &reached.touch)
    }

    /// Whether all contents that the paths ever had are known.
    pub(super) fn is_read_whole(&self) -> bool {
        self.elsewhere == Elsewhere::Tokens
    }

    /// All touches of other paths that the pin reaches, the newest first.
    ///
    /// # Errors
    /// If a folder is not here.
    pub(super) fn all_of(
        &self,
        paths: &[UpstreamPath],
        upstream: &dyn Upstream,
    ) -> Result<super::earlier::ByName, UpstreamError> {
        let mut by_name = super::earlier::ByName::new();
        let walked = upstream.walk(&Walk { heads: &self.heads, between: paths, common: paths })?;
        for reached in walked.touches.into_iter().filter(|reached| reached.heads.has(0)) {
            by_name.entry(reached.touch.path.clone()).or_default().push(reached.touch);
        }
        Ok(by_name)
    }

    /// The history of a path since a base.
    pub(super) fn of(&self, base: CommitId, path: &UpstreamPath) -> Result<PathHistory<'_>, String> {
        let ahead = self.relation_of(base)?.ahead;
        let elsewhere = self.elsewhere.clone();
        let mut history = PathHistory {
            before: Vec::new(),
            before_is_whole: elsewhere == Elsewhere::Tokens || self.suspected.contains(path),
            between: Vec::new(),
            newer: Vec::new(),
            carried: Vec::new(),
            elsewhere,
            newer_is_missing: None,
        };
        let walked = match &self.walked {
            Ok(walked) => walked,
            Err(_) => match self.alone.get(&base) {
                Some(Ok(paths)) => {
                    history.between = paths.get(path).into_iter().flatten().collect();
                    self.add_newer_alone(&mut history, path, Some(base).filter(|_| ahead));
                    return Ok(history);
                }
                Some(Err(why)) => return Err(why.clone()),
                None => return Err("its history was not read".to_owned()),
            },
        };
        let place = self.place(base).ok_or("its history was not read")?;
        let (base_or_pin, has) = (if ahead { 0 } else { place }, |heads: &Heads, head| heads.has(head));
        for touch in self.by_path.get(path).into_iter().flatten() {
            let reached = &walked.touches[*touch];
            if has(&reached.heads, base_or_pin) {
                history.before.push(&reached.touch);
            }
            if has(&reached.heads, 0) && !has(&reached.heads, place) {
                history.between.push(&reached.touch);
            }
            if !has(&reached.heads, 0) && self.is_newer(&reached.heads, place) {
                history.newer.push(&reached.touch);
            }
        }
        history.between.reverse();
        let carried = self.carried.iter().filter(|(head, touch)| {
            touch.path == *path && (*head == place || Some(*head) == self.tip_place())
        });
        history.carried = carried.map(|(_, touch)| touch).collect();
        Ok(history)
    }

    /// What is newer than the pin, where the whole history is not here: on the branch, and up to this base.
    fn add_newer_alone<'h>(
        &'h self,
        history: &mut PathHistory<'h>,
        path: &UpstreamPath,
        base: Option<CommitId>,
    ) {
        let heads: BTreeSet<CommitId> = self.tip.into_iter().chain(base).collect();
        for newer in heads.iter().filter_map(|head| self.newer_alone.get(head)) {
            match newer {
                Ok(newer) => {
                    history.newer.extend(newer.touches.iter().filter(|touch| touch.path == *path));
                    history.carried.extend(newer.carried.iter().filter(|touch| touch.path == *path));
                }
                Err(why) => history.newer_is_missing = Some(why.clone()),
            }
        }
    }

    /// Whether the branch goes on without a path after the pin.
    ///
    /// # Errors
    /// If a tree is not here, or how branch and pin stand to each other cannot be told.
    pub(super) fn tip_lacks(
        &self,
        path: &UpstreamPath,
        pin: CommitId,
        upstream: &dyn Upstream,
    ) -> Result<bool, UpstreamError> {
        let Some(tip) = self.tip.filter(|tip| *tip != pin) else { return Ok(false) };
        Ok(upstream.entry(tip, path)?.is_none() && !upstream.is_ancestor(tip, pin)?)
    }

    /// Whether a commit that the pin does not have is newer: it is on the pin's branch, or between the pin and this base.
    fn is_newer(&self, heads: &Heads, base: usize) -> bool {
        let Ok(walked) = &self.walked else { return false };
        let descends = walked.heads.first().is_some_and(|of_pin| of_pin.has(base));
        (descends && heads.has(base)) || self.tip_place().is_some_and(|tip| heads.has(tip))
    }

    fn tip_place(&self) -> Option<usize> {
        self.tip.and_then(|tip| self.place(tip))
    }
}

/// What is missing, and how to get it.
fn say(error: &UpstreamError) -> String {
    match error {
        UpstreamError::Missing { shallow: true, .. } => {
            format!("{error}; `git fetch --unshallow` in the clone fetches the rest")
        }
        UpstreamError::Missing { .. } => format!("{error}; `git fetch` it into the clone"),
        _ => error.to_string(),
    }
}

/// What a head has that the pin has not.
fn newer_alone(
    head: CommitId,
    pin: CommitId,
    paths: &[UpstreamPath],
    upstream: &dyn Upstream,
) -> Result<Newer, UpstreamError> {
    if head == pin {
        return Ok(Newer::default());
    }
    let touches = upstream.history(head, Some(pin), paths)?;
    let carried = match upstream.first_parents(pin, head, paths)? {
        // All that ever stood on the line since the pin.
        Some(line) => {
            let changes =
                line.iter().rev().flat_map(|link| link.changed.iter().map(|change| (link.commit, change)));
            let touch = |(commit, (path, after)): (CommitId, &(usize, Option<Entry>))| Touch {
                commit,
                path: paths[*path].clone(),
                before: Vec::new(),
                after: *after,
            };
            changes.map(touch).filter(|touch| touch.after.is_some()).collect()
        }
        None => upstream.carried(&[pin, head], 1, paths)?,
    };
    Ok(Newer { touches, carried })
}

fn relation_alone(base: CommitId, pin: CommitId, upstream: &dyn Upstream) -> Result<Relation, UpstreamError> {
    let mut relation = Relation::default();
    if base != pin && !upstream.is_ancestor(base, pin)? {
        if upstream.is_ancestor(pin, base)? {
            relation.ahead = true;
            relation.notes.push(Note::Ahead);
        } else {
            relation.notes.push(Note::Diverged(upstream.merge_base(base, pin)?));
        }
    }
    Ok(relation)
}
