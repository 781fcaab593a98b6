//! Upstream's commits between the two pins: on the paths of a plan, and on the files beside them.
//!
//! One walk answers for all paths. What stands beside a path is read off the sources at the new pin, as `status` does it:
//! a hint, and no part of any outcome.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{CommitId, UpstreamPath};
use crate::provenance::Side;
use crate::provenance::neighbours::{beside, note};
use crate::upstream::{Commit, Upstream, UpstreamError};

use super::{Outcome, PathPlan, Plan};

/// Commits by the path that they touch, oldest first.
type ByPath = BTreeMap<UpstreamPath, Vec<CommitId>>;

/// Fills in the commits on the paths that upstream changed, and the neighbours of all paths.
///
/// # Errors
/// If the history between the pins is not all here.
pub fn add_commits(plan: &mut Plan, upstream: &dyn Upstream) -> Result<(), UpstreamError> {
    if plan.from == plan.to {
        return Ok(());
    }
    let overlaid: BTreeSet<UpstreamPath> = paths(plan).map(|path| path.new_path().clone()).collect();
    // What cannot be read has no neighbours: that is no reason to stop.
    let beside = beside(&overlaid, plan.to, upstream).unwrap_or_default();
    let moved = paths(plan).filter(|path| path.outcome != Outcome::Untouched);
    let mut wanted: BTreeSet<UpstreamPath> =
        moved.flat_map(|path| [path.path.clone(), path.new_path().clone()]).collect();
    wanted.extend(beside.values().flatten().map(|(file, _)| file.clone()));
    if wanted.is_empty() {
        return Ok(());
    }
    let wanted: Vec<UpstreamPath> = wanted.into_iter().collect();
    let mut touching = ByPath::new();
    for touch in upstream.history(plan.to, Some(plan.from), &wanted)?.into_iter().rev() {
        touching.entry(touch.path).or_default().push(touch.commit);
    }
    for path in plan.overlays.iter_mut().flat_map(|overlay| &mut overlay.paths) {
        fill(path, &touching, beside.get(path.new_path()).map_or(&[], Vec::as_slice), upstream)?;
    }
    Ok(())
}

fn paths(plan: &Plan) -> impl Iterator<Item = &PathPlan> {
    plan.overlays.iter().flat_map(|overlay| &overlay.paths)
}

fn fill(
    path: &mut PathPlan,
    touching: &ByPath,
    beside: &[(UpstreamPath, Side)],
    upstream: &dyn Upstream,
) -> Result<(), UpstreamError> {
    if path.outcome != Outcome::Untouched {
        let mut seen = BTreeSet::new();
        let both = [Some(&path.path), path.to.as_ref().map(|(to, _)| to)];
        let commits = both.into_iter().flatten().filter_map(|path| touching.get(path)).flatten();
        let commits: Result<Vec<Commit>, _> =
            commits.filter(|commit| seen.insert(**commit)).map(|commit| upstream.commit(*commit)).collect();
        path.commits = commits?;
    }
    for (file, side) in beside {
        let commits = touching.get(file).map_or(&[][..], Vec::as_slice);
        path.neighbours.extend(note(file, *side, commits, upstream)?);
    }
    Ok(())
}
