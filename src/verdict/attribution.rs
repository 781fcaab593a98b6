//! Which cases the overlay is there for: they fail at the witness without it and pass there with it.
//!
//! Never counts a case that passed by luck: the rarer it fails, the more often it must have passed.

use std::collections::BTreeMap;

use super::chance::{MOST_RUNS, missing_seeds};
use super::compare::{CaseCompared, Compared};
use super::mark::{Blocker, Mark, Side, Tri};
use super::proof::CellId;
use crate::kernel_test::CaseKey;
use crate::kernel_test::repeats::repeats_needed;

/// Whether the overlay is there for a case.
#[derive(Debug, Clone)]
pub(super) struct Attribution {
    pub holds: Tri,
    /// How many runs must pass before the case is taken to be mended.
    pub runs_needed: u32,
    /// Why it is not known; empty if it is.
    pub blockers: Vec<Blocker>,
}

/// All attributions at the witness.
pub(super) fn attribute(witness: &Compared) -> BTreeMap<CellId, Attribution> {
    let mut all = BTreeMap::new();
    for (test, compared) in witness {
        let has_cases = compared.cases.keys().any(|case| !case.is_pseudo());
        for (case, sides) in &compared.cases {
            // Behind a build that fails, starting is no case of its own beside the test's cases.
            let behind = matches!(sides.without.mark, Mark::Behind);
            if behind && has_cases && *case == CaseKey::run() {
                continue;
            }
            let id = CellId { test: test.clone(), case: case.clone() };
            all.insert(id, attribute_case(sides));
        }
    }
    all
}

fn attribute_case(case: &CaseCompared) -> Attribution {
    if let (Mark::Measured, Mark::Measured) = (&case.without.mark, &case.with.mark) {
        return Attribution { holds: case.relation.fixed, runs_needed: 1, blockers: Vec::new() };
    }
    let runs_needed = repeats_needed(case.without.rate());
    let (fails, passes) = (case.without.fails(), case.with.passes());
    let mut blockers = Vec::new();
    match fails.min(passes) {
        Tri::No => {}
        Tri::Maybe => {
            let open = [(fails, &case.without), (passes, &case.with)];
            for (_, side) in open.into_iter().filter(|(tri, _)| *tri == Tri::Maybe) {
                blockers.push(match &side.mark {
                    Mark::Unknown(blocker) => blocker.clone(),
                    _ => Blocker::new("not-known", "not known"),
                });
            }
        }
        Tri::Yes if case.with.runs < runs_needed => {
            blockers.push(too_few(case.with.runs, runs_needed, &case.without, [&[], &case.with.seeds]));
        }
        Tri::Yes => {}
    }
    let holds = if blockers.is_empty() { fails.min(passes) } else { Tri::Maybe };
    Attribution { holds, runs_needed, blockers }
}

/// So few passes that they may be luck. `seen`: the side of the witness that shows the fault. `seeds_run`: without
/// and with; empty: no more runs wanted on that side.
pub(super) fn too_few(have: u32, needed: u32, seen: &Side, seeds_run: [&[u64]; 2]) -> Blocker {
    let mut text = format!(
        "it failed at the witness in {} of {} runs, so {needed} must pass before it is taken to be mended, and \
         {have} did",
        seen.failed, seen.runs
    );
    if needed > MOST_RUNS {
        text.push_str("; that is more than is worth running");
        return Blocker::new("too-few-repeats", text);
    }
    let mut blocker = Blocker::new("too-few-repeats", text);
    for (again, run) in blocker.again.iter_mut().zip(seeds_run) {
        if !run.is_empty() {
            // Only as many as are missing: seeds that were run for another reason count, too.
            let more = usize::try_from(needed.saturating_sub(have)).unwrap_or(0);
            *again = missing_seeds(run, needed);
            again.truncate(more);
        }
    }
    blocker
}
