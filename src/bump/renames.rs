//! Paths that upstream moved: what an overlay makes of them at their new places, on what it stands on there.

use std::collections::BTreeMap;

use crate::id::UpstreamPath;
use crate::overlay::Loaded;
use crate::provenance::inspect;
use crate::upstream::UpstreamError;

use super::judge::Side;
use super::moves::follow_move;
use super::subject::{Court, Lazy, NO_FILE, Sides, Subject};
use super::{Outcome, PathPlan, Question};

/// Looks where paths went that upstream has no more, and merges there: on what the overlays below make of the new path.
pub(super) fn follow_renames(
    question: &Question<'_>,
    court: &Court<'_>,
    subject: &Subject<'_>,
    paths: &mut [PathPlan],
) {
    let is_gone = |path: &UpstreamPath| {
        Lazy::at(question.upstream, question.to, path).is_ok_and(|theirs| theirs.entry.is_none())
    };
    let leaves = |path: &UpstreamPath| matches!(subject.sides.get(path), Some(Sides::Leaves { .. }));
    let is_lost = |path: &PathPlan| {
        path.outcome == Outcome::Gone
            || ((court.is_stood_on(subject, &path.path) || leaves(&path.path)) && is_gone(&path.path))
    };
    let lost: Vec<usize> = (0..paths.len()).filter(|place| is_lost(&paths[*place])).collect();
    if lost.is_empty() {
        return;
    }
    // Where a path went is upstream's doing: whichever overlay it is asked of.
    let below = subject.below.iter().map(|below| court.subjects[*below].loaded);
    let asked: Vec<&Loaded> = below.chain([subject.loaded]).collect();
    let report = inspect(&asked, question.overlays, question.to, None, question.upstream);
    let moved: BTreeMap<UpstreamPath, (UpstreamPath, u8)> = report
        .into_iter()
        .flat_map(|report| report.paths)
        .filter_map(|path| Some((path.path, path.to?)))
        .collect();
    for place in lost {
        let from = paths[place].path.clone();
        let Some((to, similarity)) = moved.get(&from) else { continue };
        let path = &mut paths[place];
        let (base, ours) = match &subject.sides[&from] {
            Sides::Leaves { to: own, .. } => {
                // A path that the overlay has, too, cannot take a second content, unless it is the very one.
                if (to == own || !subject.sides.contains_key(to))
                    && let Err(error) = follow_move(question, court, subject, paths, &from, (to, *similarity))
                {
                    (paths[place].outcome, paths[place].why) = (Outcome::Unknown, error.to_string());
                    paths[place].result = None;
                }
                continue;
            }
            _ if subject.sides.contains_key(to) => continue,
            Sides::Picks { .. } => {
                path.outcome = Outcome::Renamed;
                path.to = Some((to.clone(), *similarity));
                path.why = format!(
                    "upstream moved the path to {to} ({similarity} % alike), which the commits do not know; {NO_FILE}"
                );
                continue;
            }
            Sides::Change { base, ours, .. } => (base, ours),
            _ => continue,
        };
        let sides = || -> Result<Option<(Side, Side)>, UpstreamError> {
            let theirs = Lazy::at(question.upstream, question.to, to)?.load(question.upstream)?;
            let Some(theirs) = court.made_below(subject, &path.path, to, theirs)? else { return Ok(None) };
            Ok(Some((base.load(question.upstream)?, theirs)))
        };
        let Ok(Some((base, theirs))) = sides() else { continue };
        let judged = court.judge_change(subject, to, &base, ours, &theirs);
        let key = (subject.loaded.name().clone(), path.path.clone());
        let result =
            judged.result.or_else(|| court.resolved.get(&key).map(|content| Side::new(content.clone())));
        path.outcome = Outcome::Renamed;
        path.why = format!("upstream moved the path to {to} ({similarity} % alike); there: {}", judged.why);
        path.to = Some((to.clone(), *similarity));
        path.misfit = judged.misfit;
        path.result = result.map(|side| side.0.map(|(_, content)| content));
        path.theirs = theirs.0.map(|(_, content)| content);
    }
}

impl Court<'_> {
    /// Whether an overlay stands on another one at a path.
    fn is_stood_on(&self, subject: &Subject<'_>, path: &UpstreamPath) -> bool {
        subject.below.iter().any(|below| self.subjects[*below].sides.contains_key(path))
    }

    /// What the overlays below make of a path that upstream moved to where it has `theirs`; `None` if one of them does not
    /// fit there.
    pub(super) fn made_below(
        &self,
        subject: &Subject<'_>,
        path: &UpstreamPath,
        to: &UpstreamPath,
        theirs: Side,
    ) -> Result<Option<Side>, UpstreamError> {
        let mut current = theirs;
        for below in subject.below.iter().map(|below| &self.subjects[*below]) {
            let (base, ours) = match below.sides.get(path) {
                _ if below.trouble.is_some() => return Ok(None),
                None => continue,
                Some(Sides::Change { base, ours, .. }) => (base.load(self.upstream)?, ours),
                // These keep the path that they name.
                Some(_) => return Ok(None),
            };
            let key = (below.loaded.name().clone(), path.clone());
            let judged = self.judge_change(below, to, &base, ours, &current);
            let resolved = || self.resolved.get(&key).map(|content| Side::new(content.clone()));
            match judged.result.or_else(resolved) {
                Some(side) => current = side,
                None => return Ok(None),
            }
        }
        Ok(Some(current))
    }
}
