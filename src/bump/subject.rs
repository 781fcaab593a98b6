//! An overlay, taken apart into what is merged on each of its paths.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::id::{CommitId, Name, UpstreamPath};
use crate::manifest::{Kind, Located};
use crate::merge::Labels;
use crate::overlay::{At, Loaded, Resolution, can_be_on_together, content_at, resolve};
use crate::tree::{Content, Entry, Mode};
use crate::upstream::{Upstream, UpstreamError};

use super::judge::{Judged, Marking, Side, does_the_same, judge};
use super::moves::{Arrival, join_moves, leaving};
use super::{Outcome, Resolved};

/// What there is to do where commits do not fit: bump cannot hand out a file of theirs.
pub(super) const NO_FILE: &str = "name other commits in the manifest, or make a patch of it";

/// A content that is read when it is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lazy {
    pub(super) entry: Option<Entry>,
    content: Option<Content>,
}

impl Lazy {
    pub(super) fn named(entry: Option<Entry>) -> Self {
        Self { entry, content: None }
    }

    fn of(side: Side) -> Self {
        Self { entry: side.entry(), content: side.0.map(|(_, content)| content) }
    }

    /// What stands at a path of a commit.
    pub(super) fn at(
        upstream: &dyn Upstream,
        commit: CommitId,
        path: &UpstreamPath,
    ) -> Result<Self, UpstreamError> {
        match upstream.entry(commit, path)? {
            Some(entry) if entry.mode != Mode::Submodule => Ok(Self::named(Some(entry))),
            // Nothing, or something in a submodule, which is an error.
            _ => Ok(Self::of(Side::new(content_at(upstream, commit, path)?))),
        }
    }

    pub(super) fn load(&self, upstream: &dyn Upstream) -> Result<Side, UpstreamError> {
        Ok(Side(match (self.entry, &self.content) {
            (None, _) => None,
            (Some(entry), Some(content)) => Some((entry, content.clone())),
            (Some(entry), None) => {
                Some((entry, Content { mode: entry.mode, bytes: upstream.blob(entry.id)? }))
            }
        }))
    }
}

/// What is merged on a path.
#[derive(Debug)]
pub(super) enum Sides {
    /// A change from `base` to `ours`.
    Change {
        base: Lazy,
        ours: Side,
        /// It has nothing of its own and takes upstream back, at the old pin already.
        takes_back: bool,
    },
    /// A path that a patch moves to another one.
    Leaves { to: UpstreamPath, base: Lazy },
    /// Where a patch moves a path: a change of what stands at `from`.
    Arrives { from: UpstreamPath, base: Lazy, ours: Side },
    /// Whole content that does not say what it was derived from.
    NoBase { pin: Lazy, ours: Side },
    /// Whole content of another commit of upstream's.
    HeldBack { pin: Lazy, ours: Side },
    /// The path goes away.
    Delete { base: Lazy },
    /// Cherry-picks, one after the other: before and after.
    Picks { pin: Lazy, picks: Vec<(Lazy, Lazy)> },
}

/// An overlay and what is merged on its paths.
#[derive(Debug)]
pub(super) struct Subject<'a> {
    pub(super) loaded: &'a Loaded,
    /// What it stands on: places in the list of overlays, in the order in which they are applied.
    pub(super) below: Vec<usize>,
    pub(super) sides: BTreeMap<UpstreamPath, Sides>,
    /// Why nothing can be merged.
    pub(super) trouble: Option<(Outcome, String)>,
}

impl Subject<'_> {
    /// The other path of a move: what stands there counts, too.
    pub(super) fn partner(&self, path: &UpstreamPath) -> Option<&UpstreamPath> {
        match self.sides.get(path)? {
            Sides::Leaves { to, .. } => Some(to),
            Sides::Arrives { from, .. } => Some(from),
            _ => None,
        }
    }
}

/// What the overlays are read from.
pub(super) struct Reading<'a> {
    pub(super) overlays: &'a [Loaded],
    pub(super) exclusive: &'a [Vec<Located<Name>>],
    pub(super) pin: CommitId,
    pub(super) upstream: &'a dyn Upstream,
}

impl<'a> Reading<'a> {
    /// Takes one overlay apart. What cannot be read becomes its trouble and does not stop the others.
    pub(super) fn subject(&self, index: usize) -> Subject<'a> {
        let loaded = &self.overlays[index];
        let mut subject = Subject { loaded, below: Vec::new(), sides: BTreeMap::new(), trouble: None };
        if let Err(error) = self.fill(index, &mut subject) {
            subject.trouble = Some((Outcome::Unknown, error.to_string()));
        }
        subject
    }

    fn fill(&self, index: usize, subject: &mut Subject<'a>) -> Result<(), UpstreamError> {
        let loaded = subject.loaded;
        let at_pin = |path: &UpstreamPath| Lazy::at(self.upstream, self.pin, path);
        let base = loaded.overlay.base.as_ref().map(|base| base.value);
        match &loaded.overlay.kind {
            Kind::Files(_) => {
                for (path, content) in &loaded.files {
                    let sides = self.whole(path, Side::new(Some(content.clone())), base)?;
                    subject.sides.insert(path.clone(), sides);
                }
            }
            Kind::HeldBack { commit, paths, .. } => {
                for path in paths {
                    let ours = Lazy::at(self.upstream, commit.value, path)?.load(self.upstream)?;
                    subject.sides.insert(path.value.clone(), Sides::HeldBack { pin: at_pin(path)?, ours });
                }
            }
            Kind::Delete(paths) => {
                for path in paths {
                    let base = Lazy::at(self.upstream, base.unwrap_or(self.pin), path)?;
                    subject.sides.insert(path.value.clone(), Sides::Delete { base });
                }
            }
            Kind::Commits { commits, .. } => {
                subject.below = self.needed(index);
                let below: Vec<&Loaded> = subject.below.iter().map(|index| &self.overlays[*index]).collect();
                let below = match below.is_empty() {
                    true => Resolution::default(),
                    false => resolve(&below, At::Pin(self.pin), self.upstream)?,
                };
                for commit in commits {
                    if self.upstream.commit(commit.value)?.parents.len() > 1 {
                        let why = format!("commit {} is a merge", commit.value.short());
                        subject.trouble = Some((Outcome::Conflict, why));
                        return Ok(());
                    }
                    for change in self.upstream.diff(commit.value)? {
                        let pin = match below.changes.get(&change.path) {
                            Some(content) => Lazy::of(Side::new(content.clone())),
                            None => at_pin(&change.path)?,
                        };
                        let pick = (Lazy::named(change.before), Lazy::named(change.after));
                        let sides = subject
                            .sides
                            .entry(change.path)
                            .or_insert_with(|| Sides::Picks { pin, picks: Vec::new() });
                        if let Sides::Picks { picks, .. } = sides {
                            picks.push(pick);
                        }
                    }
                }
            }
            Kind::Patch(_) => self.fill_patch(index, subject, base)?,
        }
        Ok(())
    }

    fn whole(&self, path: &UpstreamPath, ours: Side, base: Option<CommitId>) -> Result<Sides, UpstreamError> {
        let pin = Lazy::at(self.upstream, self.pin, path)?;
        let Some(base) = base else { return Ok(Sides::NoBase { pin, ours }) };
        let base = Lazy::at(self.upstream, base, path)?;
        let mut takes_back = false;
        if pin.entry != base.entry && base.entry.is_some() {
            let at_base = base.load(self.upstream)?;
            takes_back = does_the_same(path, &ours, &at_base)
                && !does_the_same(path, &at_base, &pin.load(self.upstream)?);
        }
        Ok(Sides::Change { base, ours, takes_back })
    }

    /// What a patch is merged from: what it stands on at the old pin and what it makes of that; at its base if it does
    /// not apply at the pin.
    fn fill_patch(
        &self,
        index: usize,
        subject: &mut Subject<'a>,
        base: Option<CommitId>,
    ) -> Result<(), UpstreamError> {
        let needed = self.needed(index);
        let earlier = self.earlier(index);
        let mut why = None;
        let mut tries = vec![(needed.clone(), self.pin)];
        if earlier != needed {
            tries.push((earlier, self.pin));
        }
        if let Some(base) = base.filter(|base| *base != self.pin) {
            tries.push((needed, base));
        }
        for (below, commit) in tries {
            let on = |with: Option<&Loaded>| -> Result<Resolution, UpstreamError> {
                let below = below.iter().map(|index| &self.overlays[*index]);
                let overlays: Vec<&Loaded> = below.chain(with).collect();
                resolve(&overlays, At::Pin(commit), self.upstream)
            };
            let without = on(None)?;
            let with = on(Some(subject.loaded))?;
            if let Some(refusal) = without.refused.first().or(with.refused.first()) {
                why.get_or_insert_with(|| refusal.to_string());
                continue;
            }
            let name = subject.loaded.name();
            let touched = with
                .changes
                .iter()
                .filter(|(path, _)| with.by.get(*path).is_some_and(|by| by.contains(name)));
            for (path, ours) in touched {
                let base = match without.changes.get(path) {
                    Some(below) => Lazy::of(Side::new(below.clone())),
                    None => Lazy::at(self.upstream, commit, path)?,
                };
                let ours = Side::new(ours.clone());
                subject.sides.insert(path.clone(), Sides::Change { base, ours, takes_back: false });
            }
            subject.below = below;
            join_moves(subject);
            return Ok(());
        }
        let why = format!(
            "it does not apply at the old pin, so there is nothing to merge: {}",
            why.unwrap_or_default()
        );
        subject.trouble = Some((Outcome::Conflict, why));
        Ok(())
    }

    /// Those that an overlay needs, and those that they need, in the order in which they are applied.
    pub(super) fn needed(&self, index: usize) -> Vec<usize> {
        let mut found = BTreeSet::new();
        let mut open = vec![index];
        while let Some(next) = open.pop() {
            for need in &self.overlays[next].overlay.needs {
                let place = self.overlays.iter().position(|loaded| *loaded.name() == need.value);
                if let Some(place) = place.filter(|place| *place != index)
                    && found.insert(place)
                {
                    open.push(place);
                }
            }
        }
        self.in_order(found.into_iter())
    }

    /// All that are applied before an overlay and can be on together with it.
    pub(super) fn earlier(&self, index: usize) -> Vec<usize> {
        let this = &self.overlays[index].overlay;
        let before = (0..self.overlays.len()).filter(|other| {
            let overlay = &self.overlays[*other].overlay;
            *other != index
                && (overlay.kind.is_whole() || *other < index)
                && can_be_on_together(overlay, this, self.exclusive)
        });
        self.in_order(before)
    }

    fn in_order(&self, places: impl Iterator<Item = usize>) -> Vec<usize> {
        let (mut whole, changes): (Vec<usize>, Vec<usize>) =
            places.partition(|place| self.overlays[*place].overlay.kind.is_whole());
        whole.extend(changes);
        whole
    }
}

/// What was decided before: by overlay, path, what stood there, and what stood at the other path of a move.
pub(super) type Memo = HashMap<(usize, UpstreamPath, Option<Entry>, Option<Option<Entry>>), Judged>;

/// What upstream has at a path.
pub(super) type Theirs<'t> = &'t dyn Fn(&UpstreamPath) -> Result<Lazy, UpstreamError>;

/// Decides about paths of overlays at a commit.
pub(super) struct Court<'a> {
    pub(super) subjects: &'a [Subject<'a>],
    pub(super) resolved: &'a Resolved,
    pub(super) style: crate::merge::Style,
    pub(super) to: CommitId,
    pub(super) upstream: &'a dyn Upstream,
}

impl Court<'_> {
    /// What becomes of a path where upstream has `theirs`, and what the overlay then stands on.
    pub(super) fn outcome(
        &self,
        index: usize,
        path: &UpstreamPath,
        theirs: Theirs<'_>,
        memo: &mut Memo,
    ) -> Result<(Judged, Lazy), UpstreamError> {
        let subject = &self.subjects[index];
        let current = match self.stands_on(&subject.below, path, theirs, memo)? {
            Ok(current) => current,
            Err(blocked) => return Ok(blocked),
        };
        let beside = match subject.partner(path) {
            Some(other) => match self.stands_on(&subject.below, other, theirs, memo)? {
                Ok(beside) => Some(beside),
                Err((blocked, _)) => return Ok((blocked, current)),
            },
            None => None,
        };
        Ok((self.judge_on(index, path, &current, beside.as_ref(), memo)?, current))
    }

    /// What some overlays, one after the other, make of a path; `Err`: one of them does not fit, and what stands there then.
    fn stands_on(
        &self,
        below: &[usize],
        path: &UpstreamPath,
        theirs: Theirs<'_>,
        memo: &mut Memo,
    ) -> Result<Result<Lazy, (Judged, Lazy)>, UpstreamError> {
        let mut current = theirs(path)?;
        for (place, index) in below.iter().enumerate() {
            let subject = &self.subjects[*index];
            let blocked = || {
                let why = format!("it stands on overlay `{}`, which does not fit", subject.loaded.name());
                Judged::open(Outcome::Blocked, why)
            };
            if subject.trouble.is_some() {
                return Ok(Err((blocked(), current)));
            }
            if !subject.sides.contains_key(path) {
                continue;
            }
            let beside = match subject.partner(path) {
                Some(other) => match self.stands_on(&below[..place], other, theirs, memo)? {
                    Ok(beside) => Some(beside),
                    Err((blocked, _)) => return Ok(Err((blocked, current))),
                },
                None => None,
            };
            match self.judge_on(*index, path, &current, beside.as_ref(), memo)?.result {
                Some(side) => current = Lazy::of(side),
                None => return Ok(Err((blocked(), current))),
            }
        }
        Ok(Ok(current))
    }

    fn judge_on(
        &self,
        index: usize,
        path: &UpstreamPath,
        theirs: &Lazy,
        beside: Option<&Lazy>,
        memo: &mut Memo,
    ) -> Result<Judged, UpstreamError> {
        let key = (index, path.clone(), theirs.entry, beside.map(|beside| beside.entry));
        if let Some(known) = memo.get(&key) {
            return Ok(known.clone());
        }
        let judged = self.judge_anew(index, path, theirs, beside)?;
        memo.insert(key, judged.clone());
        Ok(judged)
    }

    /// `beside` is what stands at the other path of a move.
    fn judge_anew(
        &self,
        index: usize,
        path: &UpstreamPath,
        theirs: &Lazy,
        beside: Option<&Lazy>,
    ) -> Result<Judged, UpstreamError> {
        let subject = &self.subjects[index];
        let name = subject.loaded.name();
        let load = |lazy: &Lazy| lazy.load(self.upstream);
        let mut judged = match &subject.sides[path] {
            Sides::Change { ours, takes_back: true, .. } => {
                let theirs = load(theirs)?;
                match theirs.is_absent() {
                    false if does_the_same(path, ours, &theirs) => Judged::new(
                        Outcome::Redundant,
                        "it does what upstream does, comments aside",
                        ours.clone(),
                    ),
                    false => Judged::new(
                        Outcome::Kept,
                        "it takes upstream back to its base, as before; it stays as it is",
                        ours.clone(),
                    ),
                    true => self.judge_change(subject, path, ours, ours, &theirs),
                }
            }
            Sides::Change { base, ours, .. } => {
                let base = load(base)?;
                let mut judged = self.judge_change(subject, path, &base, ours, &load(theirs)?);
                if judged.outcome == Outcome::Absorbed && is_mode_alone(subject, &base, ours) {
                    judged.outcome = Outcome::Redundant;
                    judged.why = "it changes the mode alone, to the one that upstream has".to_owned();
                }
                judged
            }
            Sides::Leaves { to, base } => leaving(to, base, theirs, beside),
            Sides::Arrives { from, base, ours } => {
                let beside = beside.map(load).transpose()?.unwrap_or(Side(None));
                let place = Arrival { path, from, theirs: &load(theirs)?, beside: &beside };
                self.judge_arrival(subject, &place, &load(base)?, ours)
            }
            Sides::NoBase { ours, .. } if does_the_same(path, ours, &load(theirs)?) => {
                Judged::new(Outcome::Redundant, "it does what upstream does, comments aside", ours.clone())
            }
            Sides::NoBase { pin, ours } if pin.entry == theirs.entry => {
                Judged::new(Outcome::Untouched, "upstream has there what it has at the old pin", ours.clone())
            }
            Sides::NoBase { .. } => Judged::open(
                Outcome::Unknown,
                format!("it has no `base`, so it cannot be merged; find it with `overlaid base {name}`"),
            ),
            Sides::HeldBack { pin, ours } => self.held_back(path, pin, ours, theirs)?,
            Sides::Delete { base } => {
                let (outcome, why) = if theirs.entry.is_none() {
                    (Outcome::Redundant, "upstream removed the path, too")
                } else if theirs.entry == base.entry {
                    (Outcome::Untouched, "upstream did not change the path; it still goes away")
                } else {
                    (Outcome::Merges, "upstream changed the path; it still goes away")
                };
                Judged::new(outcome, why, Side(None))
            }
            Sides::Picks { pin, picks } => self.pick(subject, path, pin, picks, theirs)?,
        };
        if judged.result.is_none()
            && let Some(content) = self.resolved.get(&(name.clone(), path.clone()))
        {
            judged.result = Some(Side::new(content.clone()));
        }
        Ok(judged)
    }

    /// Merges a change, with names in the markers.
    pub(super) fn judge_change(
        &self,
        subject: &Subject<'_>,
        path: &UpstreamPath,
        base: &Side,
        ours: &Side,
        theirs: &Side,
    ) -> Judged {
        let base_name = match (&subject.loaded.overlay.kind, &subject.loaded.overlay.base) {
            (Kind::Files(_), Some(commit)) => format!("base {}", commit.value.short()),
            _ => "base".to_owned(),
        };
        let theirs_name = format!("upstream {}", self.to.short());
        let labels = Labels { base: &base_name, ours: subject.loaded.name().as_str(), theirs: &theirs_name };
        judge(path, base, ours, theirs, Marking { style: self.style, labels })
    }

    fn held_back(
        &self,
        path: &UpstreamPath,
        pin: &Lazy,
        ours: &Side,
        theirs: &Lazy,
    ) -> Result<Judged, UpstreamError> {
        let new = |outcome, why| Ok(Judged::new(outcome, why, ours.clone()));
        if ours.entry() == theirs.entry {
            return new(Outcome::Redundant, "it is what upstream has");
        }
        if does_the_same(path, ours, &theirs.load(self.upstream)?) {
            return new(Outcome::Redundant, "it does what upstream does, comments aside");
        }
        if pin.entry == theirs.entry {
            return new(Outcome::Untouched, "upstream has there what it has at the old pin");
        }
        match theirs.entry {
            Some(_) => new(Outcome::Kept, "upstream changed the path; it stays at the commit that it names"),
            None => new(Outcome::Kept, "upstream has the path no more; it stays at the commit that it names"),
        }
    }
}

/// Whether a patch changes nothing but the mode of a path: it fits wherever the path is.
fn is_mode_alone(subject: &Subject<'_>, base: &Side, ours: &Side) -> bool {
    let bytes = |side: &Side| side.content().map(|content| content.bytes.clone());
    subject.loaded.patch.is_some() && bytes(base).is_some() && bytes(base) == bytes(ours)
}
