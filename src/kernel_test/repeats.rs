//! Several runs of one variant: what they say together about a case.
//!
//! Decides whether a case passes, fails, or does either from the same inputs. Never calls a case a pass or a
//! failure that has fewer runs than were asked for.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::{Better, Cell, CellOutcome, FailHow, Manner, Unknown};

/// How many runs must pass before a case that fails with the rate `p` is taken to be mended: with fewer, one
/// time in a hundred or more it would pass by luck. `n >= ln 0.01 / ln(1 - p)`, at least 1.
#[must_use]
pub fn repeats_needed(p: f64) -> u32 {
    if p >= 1.0 {
        return 1;
    }
    if p.is_nan() || p <= 0.0 {
        return u32::MAX;
    }
    // Less a little, so that rounding does not ask for one more where the division is exact.
    let runs = (BELIEVED.ln() / (-p).ln_1p() - 1e-9).ceil();
    // A float that does not fit becomes the largest number of runs.
    (runs as u32).max(1)
}

/// The fewest runs of a variant that say anything: of one run nobody knows whether the next would do the same.
pub const FEWEST_RUNS: u32 = 3;

/// A difference that chance makes more often than this is not believed.
const BELIEVED: f64 = 0.01;

/// The rate of failure to reckon with after `failed` of `runs` failed: lower than what was seen, since few runs
/// may have shown more failures than there are. Where all failed, one more failure and one pass are reckoned
/// with; otherwise four more passes.
#[must_use]
pub fn cautious_rate(failed: u32, runs: u32) -> f64 {
    let (failed, runs) = (f64::from(failed), f64::from(runs));
    if failed >= runs { (failed + 1.0) / (runs + 2.0) } else { failed / (runs + 4.0) }
}

/// Whether `failed` failures on one side and `passed` passes on the other may be chance: a case that does both
/// at random, whatever its rate and whatever the overlay does, looks like that, one way round or the other,
/// more than one time in a hundred. `seeds`: of how many seeds this is the one pattern that was seen, where
/// it depends on the seed; 0: it does not.
#[must_use]
pub fn may_be_chance(failed: u32, passed: u32, seeds: u32) -> bool {
    let runs = f64::from(failed) + f64::from(passed);
    let power = |n: u32| (f64::from(n) / runs).powf(f64::from(n));
    let patterns = 2.0_f64.powf(f64::from(seeds) + 1.0);
    failed == 0 || passed == 0 || power(failed) * power(passed) * patterns > BELIEVED
}

/// How many runs to begin with on each side when `repeats` are asked for: enough that a difference between the
/// sides is not chance.
#[must_use]
pub fn first_runs(repeats: u32) -> u32 {
    let mut runs = repeats.max(FEWEST_RUNS);
    while may_be_chance(runs, runs, 0) {
        runs += 1;
    }
    runs
}

/// The seeds of the first `count` runs. The first seed comes again and again (the same inputs show what is
/// flaky), between new ones. More runs only add to the list.
#[must_use]
pub fn seeds(count: u32) -> Vec<u64> {
    (0..u64::from(count)).map(|index| if index % 2 == 1 { 1 } else { 1 + index / 2 }).collect()
}

/// What several runs say about a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// The case as a whole.
    pub seen: Seen,
    /// In how many runs it passed or failed.
    pub runs: u32,
    /// In how many it failed.
    pub failed: u32,
    /// The longest process that reported it, in milliseconds.
    pub slowest_ms: u64,
    /// The worst value, for tables; for a figure of speed the median.
    pub value: Option<f64>,
    /// The seeds that were run, each as often as it was run.
    pub seeds: Vec<u64>,
    /// For each seed, in how many runs it passed and in how many it failed.
    pub by_seed: BTreeMap<u64, (u32, u32)>,
    /// The bounds that its figure was held against, for each seed (they may depend on the inputs).
    pub bounds: Bounds,
}

/// For each seed the largest and the smallest value that passes.
pub type Bounds = BTreeMap<u64, (Option<f64>, Option<f64>)>;

/// What several runs together came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// It passed in all.
    Pass,
    /// It failed in all.
    Fail {
        /// In which way; the first of several.
        how: FailHow,
        /// Silent or loud; unspecified if not always the same.
        manner: Manner,
    },
    /// It depends on the inputs: with these seeds it always fails, with the others it always passes, each seen
    /// twice at least.
    Varies {
        /// The seeds with which it fails.
        failing: BTreeSet<u64>,
        /// The seeds with which it passes.
        passing: BTreeSet<u64>,
        /// In which way; the first of several.
        how: FailHow,
    },
    /// Other results from the same inputs.
    Flaky {
        /// In which way it fails if it does.
        how: FailHow,
    },
    /// Figures of speed, one a run.
    Measured {
        /// The values in the order of the runs.
        samples: Vec<f64>,
        /// In which direction they are better.
        better: Better,
    },
    /// The test chose not to run it.
    Skip {
        /// What it said.
        why: String,
    },
    /// It was not reached in any run.
    Unrun {
        /// What came before.
        why: String,
    },
    /// No run mentions it.
    Missing,
    /// Every run was ended at its timeout in this case.
    Timeout {
        /// How many.
        hung: u32,
    },
    /// Fewer runs than were asked for.
    TooFew {
        /// How many there are.
        have: u32,
    },
    /// It passes with some seeds and fails with others, and not each of them was seen twice.
    NotRepeated,
    /// It cannot be told.
    Unknown {
        /// Why: the first of several.
        why: Unknown,
    },
}

impl Observed {
    /// The share of runs in which it failed.
    #[must_use]
    pub fn rate(&self) -> f64 {
        if self.runs == 0 { 0.0 } else { f64::from(self.failed) / f64::from(self.runs) }
    }
}

/// What the runs of one variant say about a case. `cells`: for each run its seed and the case's cell, `None`
/// where the run does not mention it. `repeats`: how many runs were asked for.
#[must_use]
pub fn observe(cells: &[(u64, Option<&Cell>)], repeats: u32) -> Observed {
    let mut tally = Tally::default();
    for &(seed, cell) in cells {
        match cell {
            Some(cell) => tally.add(seed, cell),
            None => tally.missing += 1,
        }
    }
    let have = u32::try_from(cells.len()).unwrap_or(u32::MAX);
    let mut seen = tally.seen();
    // A hang that was seen twice is not waited for once more.
    let settled = matches!(seen, Seen::Flaky { .. } | Seen::Unknown { .. } | Seen::Timeout { hung: 2.. });
    if have < repeats.max(1) && !settled {
        seen = Seen::TooFew { have };
    }
    Observed {
        seen,
        runs: tally.passed + tally.failed + u32::try_from(tally.samples.len()).unwrap_or(0),
        failed: tally.failed,
        slowest_ms: cells.iter().filter_map(|(_, cell)| cell.map(|cell| cell.millis)).max().unwrap_or(0),
        value: median(&tally.samples).or_else(|| worst_value(cells)),
        seeds: cells.iter().map(|(seed, _)| *seed).collect(),
        bounds: bounds(cells),
        by_seed: tally.by_seed,
    }
}

fn bounds(cells: &[(u64, Option<&Cell>)]) -> Bounds {
    let figures = cells.iter().filter_map(|(seed, cell)| Some((*seed, (*cell)?.figure.as_ref()?)));
    figures.map(|(seed, figure)| (seed, (figure.max, figure.min))).collect()
}

/// The middle value; `None` of nothing.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(*sorted.get(middle - 1)?, upper) })
}

/// The largest value where there is an upper bound, the smallest where there is a lower one.
fn worst_value(cells: &[(u64, Option<&Cell>)]) -> Option<f64> {
    let figures = || cells.iter().filter_map(|(_, cell)| cell.and_then(|cell| cell.figure.as_ref()));
    let values = figures().filter_map(|figure| figure.value);
    if figures().any(|figure| figure.max.is_none() && figure.min.is_some()) {
        values.min_by(f64::total_cmp)
    } else {
        values.max_by(f64::total_cmp)
    }
}

/// The outcomes of one case, counted.
#[derive(Default)]
struct Tally {
    /// Passes and failures of each seed.
    by_seed: BTreeMap<u64, (u32, u32)>,
    passed: u32,
    failed: u32,
    /// In which way it failed first, and whether the others failed in the same manner.
    how: Option<(FailHow, Manner)>,
    samples: Vec<f64>,
    better: Option<Better>,
    timeouts: u32,
    missing: u32,
    skipped: Option<String>,
    unrun: Option<String>,
    unknown: Option<Unknown>,
}

impl Tally {
    fn add(&mut self, seed: u64, cell: &Cell) {
        match &cell.outcome {
            CellOutcome::Pass => {
                self.passed += 1;
                self.by_seed.entry(seed).or_default().0 += 1;
            }
            CellOutcome::Fail { how } => {
                self.failed += 1;
                self.by_seed.entry(seed).or_default().1 += 1;
                match &mut self.how {
                    None => self.how = Some((how.clone(), how.manner())),
                    Some((_, manner)) if *manner != how.manner() => *manner = Manner::Unspecified,
                    Some(_) => {}
                }
            }
            CellOutcome::Measured => match cell.figure.as_ref().and_then(|f| f.value.zip(f.better)) {
                Some((value, better)) if self.better.is_none_or(|known| known == better) => {
                    self.samples.push(value);
                    self.better = Some(better);
                }
                _ => self.unknown = Some(Unknown::Contradictory),
            },
            CellOutcome::Skip { why } => self.skipped = Some(why.clone()),
            CellOutcome::Unrun { why } => self.unrun = Some(why.clone()),
            CellOutcome::Unknown { why: Unknown::Timeout } => self.timeouts += 1,
            CellOutcome::Unknown { why } => self.unknown = Some(why.clone()),
        }
    }

    fn seen(&self) -> Seen {
        if let Some((how, _)) = &self.how
            && self.by_seed.values().any(|&(passed, failed)| passed > 0 && failed > 0)
        {
            return Seen::Flaky { how: how.clone() };
        }
        if let Some(why) = &self.unknown {
            return Seen::Unknown { why: why.clone() };
        }
        let kinds = [
            self.passed + self.failed > 0,
            !self.samples.is_empty(),
            self.timeouts > 0,
            self.missing > 0,
            self.skipped.is_some(),
            self.unrun.is_some(),
        ];
        if kinds.iter().filter(|kind| **kind).count() > 1 {
            let why = if self.timeouts > 0 {
                Unknown::Timeout
            } else if self.missing > 0 || self.unrun.is_some() {
                Unknown::Missing { text: "not reported by every run".to_owned() }
            } else {
                Unknown::Contradictory
            };
            return Seen::Unknown { why };
        }
        match (&self.how, self.better, &self.skipped, &self.unrun) {
            (Some((how, manner)), ..) => self.by_seeds(how, *manner),
            (_, Some(better), ..) => Seen::Measured { samples: self.samples.clone(), better },
            (_, _, Some(why), _) => Seen::Skip { why: why.clone() },
            (_, _, _, Some(why)) => Seen::Unrun { why: why.clone() },
            _ if self.timeouts > 0 => Seen::Timeout { hung: self.timeouts },
            _ if self.passed > 0 => Seen::Pass,
            _ => Seen::Missing,
        }
    }

    /// It failed, and never both passed and failed with one seed.
    fn by_seeds(&self, how: &FailHow, manner: Manner) -> Seen {
        if self.passed == 0 {
            return Seen::Fail { how: how.clone(), manner };
        }
        if self.by_seed.values().any(|&(passed, failed)| passed + failed < 2) {
            return Seen::NotRepeated;
        }
        let seeds = |fails: bool| {
            let with = self.by_seed.iter().filter(move |(_, (_, failed))| (*failed > 0) == fails);
            with.map(|(seed, _)| *seed).collect()
        };
        Seen::Varies { failing: seeds(true), passing: seeds(false), how: how.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_test::{CaseKey, Figure};

    fn fail() -> CellOutcome {
        CellOutcome::Fail { how: FailHow::WrongFigure }
    }

    fn unknown(why: Unknown) -> CellOutcome {
        CellOutcome::Unknown { why }
    }

    fn timeout() -> CellOutcome {
        unknown(Unknown::Timeout)
    }

    const PASS: CellOutcome = CellOutcome::Pass;

    fn observed(outcomes: &[(u64, Option<CellOutcome>)], repeats: u32) -> Observed {
        let cells: Vec<_> = outcomes
            .iter()
            .map(|(seed, outcome)| (*seed, outcome.clone().map(|o| Cell::new(CaseKey::run(), o, 10 * seed))))
            .collect();
        let cells: Vec<_> = cells.iter().map(|(seed, cell)| (*seed, cell.as_ref())).collect();
        observe(&cells, repeats)
    }

    fn seen(outcomes: &[(u64, CellOutcome)]) -> Seen {
        let outcomes: Vec<_> = outcomes.iter().map(|(seed, o)| (*seed, Some(o.clone()))).collect();
        observed(&outcomes, 1).seen
    }

    #[test]
    fn enough_repeats_make_it_unlikely_to_miss_a_failure() {
        for (p, n) in [(1.0, 1), (0.99, 1), (0.9, 2), (0.5, 7), (1.0 / 3.0, 12), (0.1, 44), (0.01, 459)] {
            assert_eq!(repeats_needed(p), n, "{p}");
            // The rule it comes from: with n runs a failure of rate p hides less than once in a hundred times.
            if p < 1.0 {
                assert!((1.0 - p).powi(n as i32) <= 0.01 + 1e-12, "{p}");
                assert!(n == 1 || (1.0 - p).powi(n as i32 - 1) > 0.01, "{p}");
            }
        }
        for p in [0.0, -1.0, f64::NAN] {
            assert_eq!(repeats_needed(p), u32::MAX);
        }
    }

    #[test]
    fn a_difference_must_be_more_than_chance() {
        // Against the worst rate, by trying them all.
        for (failed, passed) in [(1, 1), (3, 3), (2, 6), (4, 3), (3, 5), (2, 9), (1, 72), (1, 74), (4, 4)] {
            let likely = |p: f64| 2.0 * p.powi(failed as i32) * (1.0 - p).powi(passed as i32);
            let worst = (1..1000).map(|i| likely(f64::from(i) / 1000.0)).fold(0.0, f64::max);
            assert_eq!(may_be_chance(failed, passed, 0), worst > 0.01, "{failed} {passed}: {worst}");
        }
        assert!(may_be_chance(0, 100, 0) && may_be_chance(100, 0, 0));
        assert!(may_be_chance(4, 4, 2) && !may_be_chance(5, 5, 2));
        assert_eq!([1, 3, 4, 5].map(first_runs), [4, 4, 4, 5]);
    }

    #[test]
    fn always_is_not_for_ever() {
        let rates =
            [(2, 2), (3, 3), (1, 4), (2, 4), (3, 4)].map(|(failed, runs)| cautious_rate(failed, runs));
        assert_eq!(rates, [0.75, 0.8, 0.125, 0.25, 0.375]);
        assert_eq!([2, 3, 4].map(|n| repeats_needed(cautious_rate(n, n))), [4, 3, 3]);
    }

    #[test]
    fn a_rare_fault_is_seldom_taken_to_be_mended() {
        // Seen in some of four runs, then not again in as many runs as that asks for, though it is still there.
        for rate in (1..100).map(|percent| f64::from(percent) / 100.0) {
            let choose = [1.0, 4.0, 6.0, 4.0, 1.0];
            let missed: f64 = (1..=4)
                .map(|failed: u32| {
                    let seen = choose[failed as usize]
                        * rate.powi(failed as i32)
                        * (1.0 - rate).powi(4 - failed as i32);
                    let needed = repeats_needed(cautious_rate(failed, 4)).max(first_runs(3));
                    seen * (1.0 - rate).powi(needed as i32)
                })
                .sum();
            // Of a fault that hides in nine runs of ten, four runs say too little to be sure.
            assert!(missed < if rate < 0.15 { 0.05 } else { 0.01 }, "{rate}: {missed}");
        }
    }

    #[test]
    fn the_first_seed_comes_again_and_more_runs_only_add() {
        assert_eq!(seeds(7), [1, 1, 2, 1, 3, 1, 4]);
        assert_eq!(seeds(1), [1]);
        assert_eq!(seeds(5), seeds(9)[..5]);
    }

    #[test]
    fn all_runs_agree_or_it_is_said_how_they_do_not() {
        assert_eq!(seen(&[(1, PASS), (1, PASS), (2, PASS)]), Seen::Pass);
        let manner = Manner::Silent;
        assert_eq!(seen(&[(1, fail()), (2, fail())]), Seen::Fail { how: FailHow::WrongFigure, manner });
        assert_eq!(seen(&[(1, fail()), (2, PASS), (1, PASS)]), Seen::Flaky { how: FailHow::WrongFigure });
        assert_eq!(seen(&[(1, fail()), (2, PASS)]), Seen::NotRepeated);
        assert_eq!(seen(&[(1, fail()), (2, PASS), (1, fail())]), Seen::NotRepeated);
        assert_eq!(
            seen(&[(1, fail()), (2, PASS), (1, fail()), (2, PASS)]),
            Seen::Varies { failing: [1].into(), passing: [2].into(), how: FailHow::WrongFigure }
        );
    }

    #[test]
    fn failures_of_two_manners_have_none() {
        let crash = CellOutcome::Fail { how: FailHow::Crash { signal: 11 } };
        let both = seen(&[(1, fail()), (1, crash)]);
        assert_eq!(both, Seen::Fail { how: FailHow::WrongFigure, manner: Manner::Unspecified });
    }

    #[test]
    fn what_is_not_known_in_one_run_is_not_known() {
        assert_eq!(seen(&[(1, PASS), (1, timeout())]), Seen::Unknown { why: Unknown::Timeout });
        assert_eq!(seen(&[(1, timeout()), (2, timeout())]), Seen::Timeout { hung: 2 });
        let killed = unknown(Unknown::Killed { text: "SIGKILL".into() });
        assert!(matches!(seen(&[(1, PASS), (1, killed)]), Seen::Unknown { why: Unknown::Killed { .. } }));
        let skip = CellOutcome::Skip { why: "no device".into() };
        assert_eq!(seen(&[(1, skip.clone())]), Seen::Skip { why: "no device".into() });
        assert_eq!(seen(&[(1, skip), (2, PASS)]), Seen::Unknown { why: Unknown::Contradictory });
        let not_all = observed(&[(1, Some(PASS)), (1, None)], 1).seen;
        assert!(matches!(not_all, Seen::Unknown { why: Unknown::Missing { .. } }));
        assert_eq!(observed(&[(1, None), (1, None)], 2).seen, Seen::Missing);
    }

    #[test]
    fn fewer_runs_than_asked_for_say_nothing_except_that_it_is_flaky() {
        let outcomes = |list: &[CellOutcome]| list.iter().map(|o| (1, Some(o.clone()))).collect::<Vec<_>>();
        assert_eq!(observed(&outcomes(&[PASS, PASS]), 3).seen, Seen::TooFew { have: 2 });
        assert_eq!(observed(&outcomes(&[fail()]), 3).seen, Seen::TooFew { have: 1 });
        assert_eq!(observed(&[], 0).seen, Seen::TooFew { have: 0 });
        assert!(matches!(observed(&outcomes(&[PASS, fail()]), 3).seen, Seen::Flaky { .. }));
        assert_eq!(observed(&outcomes(&[timeout()]), 3).seen, Seen::TooFew { have: 1 });
        assert_eq!(observed(&outcomes(&[timeout(), timeout()]), 3).seen, Seen::Timeout { hung: 2 });
        // Failing in any repeat is seen, whatever the others came to.
        let mixed = observed(&outcomes(&[fail(), timeout(), PASS, PASS]), 4);
        assert_eq!((mixed.failed, mixed.runs), (1, 3));
        assert!((mixed.rate() - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn figures_of_speed_are_collected() {
        let cell = |value, better| {
            let figure = Figure { metric: "ms".into(), value: Some(value), max: None, min: None, better };
            Cell { figure: Some(figure), ..Cell::new(CaseKey::run(), CellOutcome::Measured, 1) }
        };
        let cells: Vec<_> = [3.0, 1.0, 2.0, 9.0].map(|value| cell(value, Some(Better::Lower))).into();
        let all: Vec<_> = cells.iter().map(|cell| (1, Some(cell))).collect();
        let observed = observe(&all, 4);
        assert_eq!(
            observed.seen,
            Seen::Measured { samples: vec![3.0, 1.0, 2.0, 9.0], better: Better::Lower }
        );
        assert_eq!((observed.value, observed.runs, observed.failed), (Some(2.5), 4, 0));
        let other = cell(1.0, Some(Better::Higher));
        let mixed = observe(&[(1, Some(&cells[0])), (1, Some(&other))], 1).seen;
        assert_eq!(mixed, Seen::Unknown { why: Unknown::Contradictory });
    }

    #[test]
    fn the_worst_value_is_shown() {
        let cell = |value, max, min| {
            let figure = Figure { metric: String::new(), value: Some(value), max, min, better: None };
            Cell { figure: Some(figure), ..Cell::new(CaseKey::run(), CellOutcome::Pass, 1) }
        };
        let worst = |a: Cell, b: Cell| observe(&[(1, Some(&a)), (1, Some(&b))], 1).value;
        assert_eq!(worst(cell(0.1, Some(1.0), None), cell(0.7, Some(1.0), None)), Some(0.7));
        assert_eq!(worst(cell(40.0, None, Some(30.0)), cell(35.0, None, Some(30.0))), Some(35.0));
    }
}
