//! Whether a difference between the two sides may be chance, and the runs that would tell.

use std::collections::BTreeSet;

use super::mark::{Blocker, Mark, Relation, Side, Tri};
use crate::kernel_test::repeats;

/// The most runs that are asked for to rule out luck.
pub(super) const MOST_RUNS: u32 = 200;

/// A difference that may be chance is none yet; asks for the runs that it takes.
pub(super) fn chance(relation: &mut Relation, without: &Side, with: &Side) -> Option<Blocker> {
    let ways = [(relation.fixed, without, with), (relation.broken, with, without)];
    let doubtful = ways.into_iter().filter(|(tri, ..)| *tri == Tri::Yes).find_map(|(_, fails, passes)| {
        let counts = Counts::of(fails, passes)?;
        repeats::may_be_chance(counts.failed, counts.passed, counts.seeds).then_some(counts)
    })?;
    let Counts { failed, passed, seeds } = doubtful;
    let text = format!("{failed} failures on one side and {passed} passes on the other may still be chance");
    let mut blocker = Blocker::new("chance", text);
    blocker.again = if seeds > 0 {
        [without, with].map(|side| side.by_seed.keys().copied().collect())
    } else {
        let mut runs = [without.runs, with.runs];
        while repeats::may_be_chance(runs[0], runs[1], 0) && runs[0] < MOST_RUNS {
            runs[usize::from(runs[1] < runs[0])] += 1;
        }
        [missing_seeds(&without.seeds, runs[0]), missing_seeds(&with.seeds, runs[1])]
    };
    for tri in [&mut relation.fixed, &mut relation.broken] {
        *tri = (*tri).min(Tri::Maybe);
    }
    Some(blocker)
}

/// The runs that a difference rests on.
struct Counts {
    failed: u32,
    passed: u32,
    /// Of how many seeds the difference is one pattern; 0: it does not depend on the seed.
    seeds: u32,
}

impl Counts {
    /// `None`: the difference is no count of runs.
    fn of(fails: &Side, passes: &Side) -> Option<Self> {
        if !fails.is_by_chance() {
            return None;
        }
        let varies = |side: &Side| matches!(side.mark, Mark::Varies { .. });
        if !varies(fails) && !varies(passes) {
            return Some(Counts { failed: fails.failed, passed: passes.runs, seeds: 0 });
        }
        let seeds: BTreeSet<u64> = fails.by_seed.keys().chain(passes.by_seed.keys()).copied().collect();
        let count = |side: &Side, seed: &u64| side.by_seed.get(seed).copied().unwrap_or_default();
        // The seeds with which one side fails and the other passes.
        let deciding = || seeds.iter().map(|seed| (count(fails, seed).1, count(passes, seed).0));
        let deciding = || deciding().filter(|(failed, passed)| *failed > 0 && *passed > 0);
        Some(Counts {
            failed: deciding().map(|(failed, _)| failed).sum(),
            passed: deciding().map(|(_, passed)| passed).sum(),
            seeds: u32::try_from(seeds.len()).unwrap_or(u32::MAX),
        })
    }
}

/// The seeds that a plan of `runs` runs has and `have` has not.
pub(super) fn missing_seeds(have: &[u64], runs: u32) -> Vec<u64> {
    let mut left = have.to_vec();
    let mut missing = Vec::new();
    for seed in repeats::seeds(runs) {
        match left.iter().position(|have| *have == seed) {
            Some(at) => drop(left.swap_remove(at)),
            None => missing.push(seed),
        }
    }
    missing
}
