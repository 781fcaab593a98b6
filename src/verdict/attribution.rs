//! Which cases the overlay is there for: they fail at the witness without it and pass there with it.
//!
//! Never counts a case that passed by luck: the rarer it fails, the more often it must have passed.

use std::collections::BTreeMap;

use super::compare::{CaseCompared, Compared, missing_seeds};
use super::mark::{Blocker, Mark, Tri};
use super::proof::CellId;
use crate::kernel_test::repeats::repeats_needed;

/// The most runs that are asked for to rule out luck.
pub(super) const MOST_RUNS: u32 = 200;

/// Whether the overlay is there for a case.
#[derive(Debug, Clone)]
pub(super) struct Attribution {
    pub holds: Tri,
    /// How many runs must pass before the case is taken to be mended.
    pub runs_needed: u32,
    /// Why it is not known.
    pub blocker: Option<Blocker>,
}

/// All attributions at the witness.
pub(super) fn attribute(witness: &Compared) -> BTreeMap<CellId, Attribution> {
    let mut all = BTreeMap::new();
    for (test, compared) in witness {
        for (case, sides) in &compared.cases {
            let id = CellId { test: test.clone(), case: case.clone() };
            all.insert(id, attribute_case(sides));
        }
    }
    all
}

fn attribute_case(case: &CaseCompared) -> Attribution {
    if let (Mark::Measured, Mark::Measured) = (&case.without.mark, &case.with.mark) {
        return Attribution { holds: case.relation.fixed, runs_needed: 1, blocker: None };
    }
    let runs_needed = repeats_needed(case.without.rate());
    let (fails, passes) = (case.without.fails(), case.with.passes());
    let holds = fails.min(passes);
    let blocker = match holds {
        Tri::No => None,
        Tri::Maybe => match (&case.without.mark, &case.with.mark) {
            (Mark::Unknown(blocker), _) if fails == Tri::Maybe => Some(blocker.clone()),
            (_, Mark::Unknown(blocker)) => Some(blocker.clone()),
            _ => None,
        },
        Tri::Yes if case.with.runs < runs_needed => {
            Some(too_few(case.with.runs, runs_needed, case.without.rate(), [&[], &case.with.seeds]))
        }
        Tri::Yes => None,
    };
    let holds = if blocker.is_some() { holds.min(Tri::Maybe) } else { holds };
    Attribution { holds, runs_needed, blocker }
}

/// So few passes that they may be luck. `seeds_run`: without and with; empty: no more runs wanted on that side.
pub(super) fn too_few(have: u32, needed: u32, rate: f64, seeds_run: [&[u64]; 2]) -> Blocker {
    let mut text = format!(
        "it fails in {:.0} % of runs, so {needed} must pass before it is taken to be mended, and {have} did",
        rate * 100.0
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
