//! What a case counts for on one side, and what two sides together say.
//!
//! Decides what is settled and what may be either. Never settles what was not seen.

use std::collections::{BTreeMap, BTreeSet};

use crate::kernel_test::repeats::{Bounds, cautious_rate};
use crate::kernel_test::{FailHow, Manner};

/// One case on one side.
#[derive(Debug, Clone)]
pub(super) struct Side {
    pub mark: Mark,
    pub runs: u32,
    pub failed: u32,
    pub value: Option<f64>,
    pub seeds: Vec<u64>,
    pub bounds: Bounds,
    /// For each seed, in how many runs it passed and in how many it failed.
    pub by_seed: BTreeMap<u64, (u32, u32)>,
}

/// What a case counts for on one side.
#[derive(Debug, Clone)]
pub(super) enum Mark {
    Pass,
    Fail {
        how: FailHow,
        manner: Manner,
    },
    /// It fails with some seeds, always, and passes with the others, always.
    Varies {
        failing: BTreeSet<u64>,
        passing: BTreeSet<u64>,
        how: FailHow,
    },
    /// Figures of speed.
    Measured,
    /// It could not even be tried, since the build or the start of the test fails on this side.
    Behind,
    /// The test chose not to run it.
    Skip(String),
    /// It does not exist at this commit.
    Absent,
    Unknown(Blocker),
}

/// What keeps a case from being known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Blocker {
    pub code: &'static str,
    pub text: String,
    /// Seeds to run once more without the overlay, and with it, so that it is known.
    pub again: [Vec<u64>; 2],
}

impl Blocker {
    pub fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), again: [Vec::new(), Vec::new()] }
    }
}

/// No, perhaps, yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tri {
    No,
    Maybe,
    Yes,
}

/// What the overlay does to a case, if `without` and `with` are what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Relation {
    /// Fails without, passes with.
    pub fixed: Tri,
    /// Passes without, fails with.
    pub broken: Tri,
    /// Fails on both sides.
    pub unfixed: Tri,
}

impl Relation {
    pub const NONE: Relation = Relation { fixed: Tri::No, broken: Tri::No, unfixed: Tri::No };
    pub const ANY: Relation = Relation { fixed: Tri::Maybe, broken: Tri::Maybe, unfixed: Tri::Maybe };
}

impl Side {
    /// Nothing is known of it, for this reason.
    pub fn unknown(blocker: Blocker) -> Self {
        Self { runs: 0, ..Self::single(Mark::Unknown(blocker)) }
    }

    /// A side that is not the sum of runs.
    pub fn single(mark: Mark) -> Self {
        Self {
            mark,
            runs: 1,
            failed: 0,
            value: None,
            seeds: Vec::new(),
            bounds: Bounds::new(),
            by_seed: BTreeMap::new(),
        }
    }

    /// Whether it fails here, at least sometimes.
    pub fn fails(&self) -> Tri {
        match &self.mark {
            Mark::Fail { .. } | Mark::Varies { .. } | Mark::Behind => Tri::Yes,
            _ if self.failed > 0 => Tri::Yes,
            Mark::Pass | Mark::Measured | Mark::Skip(_) | Mark::Absent => Tri::No,
            Mark::Unknown(_) => Tri::Maybe,
        }
    }

    /// Whether it passes here, always.
    pub fn passes(&self) -> Tri {
        match &self.mark {
            Mark::Pass | Mark::Measured => Tri::Yes,
            Mark::Unknown(_) if self.failed == 0 => Tri::Maybe,
            _ => Tri::No,
        }
    }

    /// In which share of the runs it fails, with caution.
    pub fn rate(&self) -> f64 {
        if self.is_by_chance() { cautious_rate(self.failed, self.runs) } else { 1.0 }
    }

    /// Whether the outcome is a count of runs that could have come out otherwise. Not so: a build, what is
    /// behind one, a sanitizer, and a hang, which has a rule of its own.
    pub fn is_by_chance(&self) -> bool {
        let other_rule = matches!(
            &self.mark,
            Mark::Behind
                | Mark::Fail { how: FailHow::Hang | FailHow::Build { .. } | FailHow::Sanitizer { .. }, .. }
        );
        !other_rule && self.failed > 0
    }

    /// The manner of its failing, if it fails.
    pub fn manner(&self) -> Option<Manner> {
        match &self.mark {
            Mark::Fail { manner, .. } => Some(*manner),
            Mark::Varies { how, .. } => Some(how.manner()),
            _ => None,
        }
    }

    /// How it fails, if it does.
    pub fn how(&self) -> Option<&FailHow> {
        match &self.mark {
            Mark::Fail { how, .. } | Mark::Varies { how, .. } => Some(how),
            _ => None,
        }
    }
}

/// The relation of two marks. A case that one side skips, or does not have, and the other runs is unknown.
pub(super) fn relation_of(without: &mut Side, with: &mut Side) -> Relation {
    use Tri::{Maybe, No, Yes};
    let off = |mark: &Mark| matches!(mark, Mark::Skip(_) | Mark::Absent);
    match (off(&without.mark), off(&with.mark)) {
        (true, true) => return Relation::NONE,
        (true, false) => one_sided(without),
        (false, true) => one_sided(with),
        (false, false) => {}
    }
    let relation = |fixed, broken, unfixed| Relation { fixed, broken, unfixed };
    let settled = |mark: &Mark| match mark {
        Mark::Pass | Mark::Measured => Some(true),
        Mark::Fail { .. } => Some(false),
        _ => None,
    };
    let unknown = |mark: &Mark| matches!(mark, Mark::Unknown(_) | Mark::Skip(_) | Mark::Absent);
    match (&without.mark, &with.mark) {
        // What is behind a failing build or start is counted there. Behind on both sides: nothing is known.
        (Mark::Behind, Mark::Behind) => Relation::ANY,
        (Mark::Behind, other) => match settled(other) {
            Some(false) => relation(No, No, Yes),
            Some(true) => Relation::NONE,
            None => relation(No, No, Maybe),
        },
        (other, Mark::Behind) => match settled(other) {
            Some(false) => relation(No, No, Yes),
            Some(true) => Relation::NONE,
            None => relation(No, No, Maybe),
        },
        (a, b) if unknown(a) && unknown(b) => Relation::ANY,
        (a, b) if unknown(a) => match settled(b) {
            Some(true) => relation(Maybe, No, No),
            Some(false) => relation(No, Maybe, Maybe),
            None => Relation::ANY,
        },
        (a, b) if unknown(b) => match settled(a) {
            Some(true) => relation(No, Maybe, No),
            Some(false) => relation(Maybe, No, Maybe),
            None => Relation::ANY,
        },
        (a, b) => by_seed(a, b),
    }
}

fn one_sided(side: &mut Side) {
    let text = match &side.mark {
        Mark::Skip(why) => format!("skipped on this side only: {why}"),
        _ => "not there on this side only".to_owned(),
    };
    side.mark = Mark::Unknown(Blocker::new("one-sided", text));
}

/// Both sides are settled, at least seed by seed.
fn by_seed(without: &Mark, with: &Mark) -> Relation {
    let seeds = |mark: &Mark| match mark {
        Mark::Varies { failing, passing, .. } => failing.union(passing).copied().collect(),
        _ => BTreeSet::new(),
    };
    let passes = |mark: &Mark, seed: u64| match mark {
        Mark::Varies { failing, passing, .. } => {
            if failing.contains(&seed) {
                Some(false)
            } else if passing.contains(&seed) {
                Some(true)
            } else {
                None
            }
        }
        Mark::Fail { .. } => Some(false),
        _ => Some(true),
    };
    let mut all: BTreeSet<u64> = seeds(without);
    all.extend(seeds(with));
    // Neither depends on the seed: one comparison for all.
    if all.is_empty() {
        all.insert(0);
    }
    let mut relation = Relation::NONE;
    for seed in all {
        match (passes(without, seed), passes(with, seed)) {
            (Some(false), Some(true)) => relation.fixed = Tri::Yes,
            (Some(true), Some(false)) => relation.broken = Tri::Yes,
            (Some(false), Some(false)) => relation.unfixed = Tri::Yes,
            (Some(true), Some(true)) => {}
            // A seed that one side never saw.
            (None, Some(true)) => relation.fixed = relation.fixed.max(Tri::Maybe),
            (Some(true), None) => relation.broken = relation.broken.max(Tri::Maybe),
            _ => {
                relation.fixed = relation.fixed.max(Tri::Maybe);
                relation.broken = relation.broken.max(Tri::Maybe);
            }
        }
    }
    relation
}
