//! A patch that moves a path: one thing, as git's merge takes it. What upstream changed at the old path goes along to the new
//! one; where upstream moved the path elsewhere, or removed it, a person decides.

use std::collections::BTreeMap;

use crate::id::UpstreamPath;
use crate::tree::Content;
use crate::upstream::UpstreamError;

use super::judge::{Judged, Side, misfit};
use super::subject::{Court, Lazy, Sides, Subject};
use super::{Outcome, PathPlan, Question};

/// Makes one thing of the two paths of each move. A path that something else stands at before or after is judged for itself.
pub(super) fn join_moves(subject: &mut Subject<'_>) {
    for (from, to) in subject.loaded.patch.iter().flat_map(|patch| patch.moves()) {
        let sides = &subject.sides;
        let (Some(Sides::Change { base, ours: left, .. }), Some(Sides::Change { base: new, ours, .. })) =
            (sides.get(from), sides.get(to))
        else {
            continue;
        };
        if base.entry.is_none() || !left.is_absent() || new.entry.is_some() || ours.is_absent() {
            continue;
        }
        let (base, ours) = (base.clone(), ours.clone());
        let leaves = Sides::Leaves { to: to.clone(), base: base.clone() };
        subject.sides.insert(from.clone(), leaves);
        subject.sides.insert(to.clone(), Sides::Arrives { from: from.clone(), base, ours });
    }
}

/// What becomes of the old path of a move. Whether both changes fit is told at the new one.
pub(super) fn leaving(to: &UpstreamPath, base: &Lazy, theirs: &Lazy, there: Option<&Lazy>) -> Judged {
    let is_there = there.is_some_and(|there| there.entry.is_some());
    let (outcome, why) = match theirs.entry {
        Some(_) if theirs.entry == base.entry => {
            (Outcome::Untouched, format!("upstream has there what it was derived from; it moves to {to}"))
        }
        Some(_) => (Outcome::Merges, format!("upstream changed the path, which moves to {to}")),
        None if is_there => (Outcome::Redundant, "upstream removed the path, too".to_owned()),
        None => (Outcome::Gone, format!("upstream has the path no more, which the patch moves to {to}")),
    };
    Judged::new(outcome, why, Side(None))
}

/// The new path of a move, and what upstream has there and at the old one.
pub(super) struct Arrival<'a> {
    pub(super) path: &'a UpstreamPath,
    pub(super) from: &'a UpstreamPath,
    pub(super) theirs: &'a Side,
    pub(super) beside: &'a Side,
}

impl Court<'_> {
    /// What becomes of the new path of a move.
    pub(super) fn judge_arrival(
        &self,
        subject: &Subject<'_>,
        place: &Arrival<'_>,
        base: &Side,
        ours: &Side,
    ) -> Judged {
        let Arrival { path, from, theirs, beside } = *place;
        let moved = if beside.is_absent() {
            Judged {
                misfit: Some(misfit(base, ours, beside, None)),
                ..Judged::open(Outcome::Conflict, format!("upstream has {from} no more, from which it comes"))
            }
        } else if beside.entry() == base.entry() {
            let why = format!("upstream has at {from} what it was derived from");
            Judged::new(Outcome::Untouched, why, ours.clone())
        } else {
            let judged = self.judge_change(subject, path, base, ours, beside);
            match judged.result {
                Some(merged) => {
                    let why = format!("upstream changed {from}, from which it comes, and both changes fit");
                    Judged::new(Outcome::Merges, why, merged)
                }
                None => Judged { why: format!("upstream changed {from}: {}", judged.why), ..judged },
            }
        };
        if theirs.is_absent() {
            return moved;
        }
        let ours = moved.result.as_ref().unwrap_or(ours);
        self.judge_change(subject, path, &Side(None), ours, theirs)
    }
}

/// Where upstream moved the old path of a move, and how alike it is there, in percent.
pub(super) type Moved<'m> = (&'m UpstreamPath, u8);

/// Goes along where upstream moved the old path of a move: to the same place, where both changes are merged, or to another
/// one, of which a person must say which it shall be.
///
/// # Errors
/// If a content is not here.
pub(super) fn follow_move(
    question: &Question<'_>,
    court: &Court<'_>,
    subject: &Subject<'_>,
    paths: &mut [PathPlan],
    from: &UpstreamPath,
    (to, similarity): Moved<'_>,
) -> Result<(), UpstreamError> {
    let Some(Sides::Leaves { to: own, base }) = subject.sides.get(from) else { return Ok(()) };
    let Some(Sides::Arrives { ours, .. }) = subject.sides.get(own) else { return Ok(()) };
    let theirs = Lazy::at(question.upstream, question.to, to)?.load(question.upstream)?;
    let Some(theirs) = court.made_below(subject, from, to, theirs)? else { return Ok(()) };
    let base = base.load(question.upstream)?;
    let mut by_path: BTreeMap<UpstreamPath, &mut PathPlan> =
        paths.iter_mut().map(|path| (path.path.clone(), path)).collect();
    let (Some(old), Some(new)) = (by_path.remove(from), by_path.remove(own)) else { return Ok(()) };
    let content = |side: &Side| side.content().cloned();
    let resolved = || -> Option<Option<Content>> {
        court.resolved.get(&(subject.loaded.name().clone(), own.clone())).cloned()
    };
    if to == own {
        let judged = court.judge_change(subject, own, &base, ours, &theirs);
        old.outcome = Outcome::Redundant;
        old.why = format!("upstream moved the path to {to}, too");
        new.outcome = judged.outcome;
        new.why = format!("upstream moved {from} there, too ({similarity} % alike): {}", judged.why);
        new.misfit = judged.misfit;
        new.result = judged.result.as_ref().map(content).or_else(resolved);
        new.theirs = content(&theirs);
    } else if new.theirs.is_none() {
        old.outcome = Outcome::Renamed;
        old.why = format!("upstream moved the path to {to} ({similarity} % alike), and the patch to {own}");
        old.to = Some((to.clone(), similarity));
        old.theirs = content(&theirs);
        new.outcome = Outcome::Conflict;
        new.why = format!("the patch moves {from} there, and upstream to {to}");
        new.misfit = Some(misfit(&base, ours, &theirs, None));
        new.result = resolved();
    }
    Ok(())
}
