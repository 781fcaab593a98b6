//! Two variants of one commit, case by case: what passes, fails, or is not known on each side.
//!
//! Decides what a side's runs count for, given the other side's (a build that fails, a hang). Never lets the
//! unknown count for either.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::bounds::differ;
use super::chance::{chance, missing_seeds};
use super::mark::{Blocker, Mark, Relation, Side, Tri, relation_of};
use super::proof::{Linked, Pair, Place, Ran, State};
use super::speed::{self, Comparison, Speed};
use crate::id::Name;
use crate::kernel_test::repeats::{self, Bounds, Observed, Seen, observe};
use crate::kernel_test::{Better, CaseKey, Cell, CellOutcome, FailHow, Manner, Run, Unknown};

/// How much longer than the other side a hang must be.
const HANG_FACTOR: u64 = 4;
/// How often a hang, and the other side's end, must be seen.
const HANG_TIMES: u32 = 2;

/// All cases of all tests at one commit.
pub(super) type Compared = BTreeMap<Name, TestCompared>;

/// The cases of one test at one commit.
#[derive(Debug)]
pub(super) struct TestCompared {
    pub cases: BTreeMap<CaseKey, CaseCompared>,
    pub inputs: Inputs,
}

/// Whether the two sides differ in what the compiler or the test really read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inputs {
    Differ,
    Same,
    NotKnown,
}

/// One case on the two sides.
#[derive(Debug)]
pub(super) struct CaseCompared {
    pub without: Side,
    pub with: Side,
    pub relation: Relation,
    /// It needs no device.
    pub compile_only: bool,
    /// Why the relation is not settled though both sides are.
    pub blocker: Option<Blocker>,
    /// How the two sides compare, if it is a figure of speed.
    pub speed: Option<Comparison>,
}

/// Compares every linked test at one commit. A test that is not in `place` was not run there.
pub(super) fn compare_place(tests: &[Linked], place: &Place) -> Compared {
    let not_run = Pair::default();
    let one = |test: &Linked| compare_test(test, place.get(&test.name).unwrap_or(&not_run));
    tests.iter().map(|test| (test.name.clone(), one(test))).collect()
}

/// One side before it is known what the other came to.
enum Half<'a> {
    Blocked(Blocker),
    BuildFailed(&'a str),
    Ran(&'a Ran, Vec<(u64, HashMap<&'a CaseKey, &'a Cell>)>),
}

/// Whether each case came to the same in all runs of both sides.
fn same_results(a: &Ran, b: &Ran) -> bool {
    let all = |ran: &Ran| -> Vec<(u64, Vec<(CaseKey, crate::kernel_test::CellOutcome)>)> {
        let cells = |run: &crate::kernel_test::Run| {
            run.cells.iter().map(|cell| (cell.case.clone(), cell.outcome.clone())).collect()
        };
        ran.runs.iter().map(|run| (run.seed, cells(run))).collect()
    };
    let (a, b) = (all(a), all(b));
    a.iter().zip(&b).all(|(a, b)| a == b)
}

fn compare_test(test: &Linked, pair: &Pair) -> TestCompared {
    let first = || repeats::seeds(repeats::first_runs(test.repeats));
    let (toolchains, inputs) = match (&pair.without, &pair.with) {
        (State::Ran(a), State::Ran(b)) => {
            let inputs = match (&a.inputs, &b.inputs) {
                (Some(x), Some(y)) if x == y && (a.surroundings == b.surroundings || same_results(a, b)) => {
                    Inputs::Same
                }
                (Some(_), Some(_)) => Inputs::Differ,
                _ => Inputs::NotKnown,
            };
            ((&a.toolchain, &b.toolchain), inputs)
        }
        (State::BuildFailed { toolchain, .. }, State::Ran(ran))
        | (State::Ran(ran), State::BuildFailed { toolchain, .. }) => {
            ((toolchain, &ran.toolchain), Inputs::Differ)
        }
        (State::BuildFailed { text: a, .. }, State::BuildFailed { text: b, .. }) => {
            let text = if a == b { a.clone() } else { format!("without: {a}; with: {b}") };
            let blocker = Blocker::new("builds-on-neither-side", text);
            return all_unknown([&blocker, &blocker], pair);
        }
        (a, b) => {
            let blocker = |state: &State, index: usize| match state {
                State::NotRun => {
                    let mut blocker = Blocker::new("not-run", "not run yet");
                    blocker.again[index] = first();
                    blocker
                }
                State::Blocked(obstacle) => Blocker::new(obstacle.code(), obstacle.text()),
                State::BuildFailed { text, .. } => Blocker::new(
                    "builds-not-known",
                    format!("it does not build, and it is not known whether the other side does: {text}"),
                ),
                State::Ran(_) => Blocker::new("other-side", "ran, and there is nothing to compare it with"),
            };
            let blockers = [blocker(a, 0), blocker(b, 1)];
            return one_or_no_side(test, pair, &blockers);
        }
    };
    if toolchains.0 != toolchains.1 {
        let text = format!("built by `{}` without and by `{}` with", toolchains.0, toolchains.1);
        let blocker = Blocker::new("toolchain-differs", text);
        return all_unknown([&blocker, &blocker], pair);
    }
    if inputs == Inputs::NotKnown {
        let blocker = Blocker::new("inputs-not-known", "it is not known what the compiler and the test read");
        return TestCompared { inputs, ..all_unknown([&blocker, &blocker], pair) };
    }
    let halves = [half(&pair.without), half(&pair.with)];
    let mut compared = TestCompared { cases: two_sides(test, &halves, inputs == Inputs::Same), inputs };
    if inputs == Inputs::Same {
        same_inputs(&mut compared);
    }
    compared
}

fn half(state: &State) -> Half<'_> {
    match state {
        State::Ran(ran) => Half::Ran(ran, ran.runs.iter().map(index_run).collect()),
        State::BuildFailed { text, .. } => Half::BuildFailed(text),
        State::NotRun => Half::Blocked(Blocker::new("not-run", "not run yet")),
        State::Blocked(obstacle) => Half::Blocked(Blocker::new(obstacle.code(), obstacle.text())),
    }
}

fn index_run(run: &Run) -> (u64, HashMap<&CaseKey, &Cell>) {
    (run.seed, run.cells.iter().map(|cell| (&cell.case, cell)).collect())
}

fn cases_of(state: &State) -> BTreeSet<&CaseKey> {
    match state {
        State::Ran(ran) => ran.runs.iter().flat_map(|run| run.cells.iter().map(|cell| &cell.case)).collect(),
        _ => BTreeSet::new(),
    }
}

/// Nothing is known of any case, for one reason on each side.
fn all_unknown(blockers: [&Blocker; 2], pair: &Pair) -> TestCompared {
    let mut cases: BTreeSet<CaseKey> =
        [&pair.without, &pair.with].into_iter().flat_map(cases_of).cloned().collect();
    cases.extend([CaseKey::build(), CaseKey::run()]);
    let side = |index: usize| Side::unknown(blockers[index].clone());
    let case = || CaseCompared {
        without: side(0),
        with: side(1),
        relation: Relation::ANY,
        compile_only: false,
        blocker: None,
        speed: None,
    };
    TestCompared { cases: cases.into_iter().map(|key| (key, case())).collect(), inputs: Inputs::NotKnown }
}

/// One side, or none, ran. What one side came to still tells what the other can make of it.
fn one_or_no_side(test: &Linked, pair: &Pair, blockers: &[Blocker; 2]) -> TestCompared {
    let halves = [half(&pair.without), half(&pair.with)];
    let ran = halves.iter().any(|half| matches!(half, Half::Ran(ran, _) if ran.inputs.is_some()));
    if !ran {
        return all_unknown([&blockers[0], &blockers[1]], pair);
    }
    let [a, b] = halves;
    let or_blocked = |half, index: usize| match half {
        Half::Ran(..) => half,
        _ => Half::Blocked(blockers[index].clone()),
    };
    let halves = [or_blocked(a, 0), or_blocked(b, 1)];
    TestCompared { cases: two_sides(test, &halves, false), inputs: Inputs::NotKnown }
}

fn two_sides(test: &Linked, halves: &[Half<'_>; 2], same: bool) -> BTreeMap<CaseKey, CaseCompared> {
    let mut keys: BTreeSet<CaseKey> = BTreeSet::new();
    let mut tools: BTreeSet<&str> = test.sanitizers.iter().map(String::as_str).collect();
    for half in halves {
        if let Half::Ran(ran, runs) = half {
            keys.extend(runs.iter().flat_map(|(_, cells)| cells.keys().map(|key| (*key).clone())));
            tools.extend(ran.sanitized.keys().map(String::as_str));
        }
    }
    let run = CaseKey::run();
    keys.remove(&run);
    let mut cases = BTreeMap::new();
    let build = [0, 1].map(|index| match &halves[index] {
        Half::Blocked(blocker) => Side::unknown(blocker.clone()),
        Half::BuildFailed(text) => Side::single(Mark::Fail {
            how: FailHow::Build { text: (*text).to_owned() },
            manner: Manner::Loud,
        }),
        Half::Ran(..) => Side::single(Mark::Pass),
    });
    let running = case_sides(test, halves, &run, None);
    for key in keys {
        let sides = case_sides(test, halves, &key, Some(&running));
        let compile_only = halves.iter().any(|half| match half {
            Half::Ran(_, runs) => {
                runs.iter().any(|(_, cells)| cells.get(&key).is_some_and(|c| c.compile_only))
            }
            _ => false,
        });
        cases.insert(key, CaseCompared { compile_only, ..relate(test, same, sides) });
    }
    for tool in tools {
        let sides = [0, 1].map(|index| match &halves[index] {
            Half::Blocked(blocker) => Side::unknown(blocker.clone()),
            Half::BuildFailed(_) => Side::single(Mark::Behind),
            Half::Ran(ran, _) => sanitizer_side(tool, ran.sanitized.get(tool)),
        });
        cases.insert(CaseKey::sanitizer(tool), relate(test, same, sides.map(|side| (side, None))));
    }
    cases.insert(CaseKey::build(), relate(test, same, build.map(|side| (side, None))));
    cases.insert(run, relate(test, same, running));
    cases
}

/// A side, and its samples if it is a figure of speed.
type WithSamples = (Side, Option<(Vec<f64>, Better)>);

fn case_sides(
    test: &Linked,
    halves: &[Half<'_>; 2],
    key: &CaseKey,
    running: Option<&[WithSamples; 2]>,
) -> [WithSamples; 2] {
    let observed = [0, 1].map(|index| match &halves[index] {
        Half::Ran(_, runs) => {
            let cells: Vec<_> = runs.iter().map(|(seed, cells)| (*seed, cells.get(key).copied())).collect();
            Some(observe(&cells, test.runs()))
        }
        _ => None,
    });
    [0, 1].map(|index| {
        let Some(own) = &observed[index] else {
            return match &halves[index] {
                Half::BuildFailed(_) => (Side::single(Mark::Behind), None),
                Half::Blocked(blocker) => (Side::unknown(blocker.clone()), None),
                Half::Ran(..) => (Side::unknown(Blocker::new("not-run", "not run yet")), None),
            };
        };
        let other = observed[1 - index].as_ref();
        let mark = mark_of(test, own, other, index, running.map(|sides| &sides[index].0.mark));
        let samples = match &own.seen {
            Seen::Measured { samples, better } => Some((samples.clone(), *better)),
            _ => None,
        };
        let side = Side {
            mark,
            runs: own.runs,
            failed: own.failed,
            value: own.value,
            seeds: own.seeds.clone(),
            bounds: own.bounds.clone(),
            by_seed: own.by_seed.clone(),
        };
        (side, samples)
    })
}

/// What a side's observations count for.
fn mark_of(
    test: &Linked,
    own: &Observed,
    other: Option<&Observed>,
    index: usize,
    run: Option<&Mark>,
) -> Mark {
    let unknown = |code, text: String| Mark::Unknown(Blocker::new(code, text));
    match &own.seen {
        Seen::Pass => Mark::Pass,
        Seen::Fail { how, manner } => Mark::Fail { how: how.clone(), manner: *manner },
        Seen::Varies { failing, passing, how } => {
            Mark::Varies { failing: failing.clone(), passing: passing.clone(), how: how.clone() }
        }
        Seen::Measured { .. } => Mark::Measured,
        Seen::Skip { why } => Mark::Skip(why.clone()),
        Seen::Flaky { how } => unknown(
            "flaky",
            format!(
                "fails in {} of {} runs, other results from the same inputs ({how})",
                own.failed, own.runs
            ),
        ),
        Seen::Timeout { hung } => hang_or_unknown(test, own, *hung, other, index),
        Seen::TooFew { have } => {
            let mut blocker = Blocker::new("too-few-runs", format!("{have} of {} runs", test.runs()));
            blocker.again[index] = missing_seeds(&own.seeds, test.runs());
            Mark::Unknown(blocker)
        }
        Seen::NotRepeated => {
            let mut blocker = Blocker::new(
                "not-repeated",
                "fails with some seeds and passes with others, and not each was run twice",
            );
            blocker.again[index] = once(&own.seeds);
            if let Some(other) = other {
                blocker.again[1 - index] = once(&other.seeds);
            }
            Mark::Unknown(blocker)
        }
        Seen::Unrun { why } => unknown("unrun", why.clone()),
        Seen::Unknown { why } => unknown(code_of(why), why.to_string()),
        Seen::Missing => match (run, other.map(|other| &other.seen)) {
            (Some(Mark::Fail { .. }), _) => Mark::Behind,
            (Some(Mark::Unknown(blocker)), _) => Mark::Unknown(blocker.clone()),
            (Some(Mark::Skip(why)), _) => Mark::Skip(why.clone()),
            (_, Some(Seen::Missing)) => Mark::Absent,
            _ => unknown("missing-case", "the test ran and did not report this case".to_owned()),
        },
    }
}

fn code_of(why: &Unknown) -> &'static str {
    match why {
        Unknown::Timeout => "timeout",
        Unknown::Killed { .. } => "killed",
        Unknown::NoResult => "no-result",
        Unknown::OneOfSeveral { .. } => "one-of-several",
        Unknown::NothingReported => "nothing-reported",
        Unknown::Contradictory => "contradictory",
        Unknown::Protocol { .. } => "protocol",
        Unknown::Missing { .. } => "missing",
        Unknown::NoDevice { .. } => "no-device",
    }
}

/// A case in which every run was ended at its timeout: a hang if the other side ends within a quarter of the
/// timeout, and both were seen twice.
fn hang_or_unknown(test: &Linked, own: &Observed, hung: u32, other: Option<&Observed>, index: usize) -> Mark {
    let mut blocker = Blocker::new("timeout", format!("no end within {} ms", test.timeout_ms));
    let Some(other) = other else { return Mark::Unknown(blocker) };
    let ended =
        matches!(other.seen, Seen::Pass | Seen::Fail { .. } | Seen::Varies { .. } | Seen::Measured { .. });
    if !ended || other.slowest_ms.saturating_mul(HANG_FACTOR) > test.timeout_ms {
        blocker.text.push_str(", and the other side does not end within a quarter of that");
        return Mark::Unknown(blocker);
    }
    if hung >= HANG_TIMES && other.runs >= HANG_TIMES {
        return Mark::Fail { how: FailHow::Hang, manner: FailHow::Hang.manner() };
    }
    blocker.text.push_str(", seen once");
    if hung < HANG_TIMES {
        blocker.again[index] = own.seeds.first().copied().into_iter().collect();
    }
    if other.runs < HANG_TIMES {
        blocker.again[1 - index] = other.seeds.first().copied().into_iter().collect();
    }
    Mark::Unknown(blocker)
}

/// The seeds that are there once.
fn once(seeds: &[u64]) -> Vec<u64> {
    let distinct: BTreeSet<u64> = seeds.iter().copied().collect();
    distinct.into_iter().filter(|seed| seeds.iter().filter(|other| *other == seed).count() == 1).collect()
}

fn sanitizer_side(tool: &str, outcomes: Option<&Vec<CellOutcome>>) -> Side {
    let outcomes = outcomes.map_or(&[][..], Vec::as_slice);
    let fails: Vec<_> = outcomes
        .iter()
        .filter_map(|outcome| match outcome {
            CellOutcome::Fail { how } => Some(how),
            _ => None,
        })
        .collect();
    let odd = outcomes.iter().find(|o| !matches!(o, CellOutcome::Pass | CellOutcome::Fail { .. }));
    let mark = match (outcomes.len(), odd, fails.first()) {
        (0, ..) => Mark::Unknown(Blocker::new("sanitizer", format!("no run under {tool}"))),
        (_, Some(odd), _) => {
            let text = match odd {
                CellOutcome::Unknown { why } => why.to_string(),
                CellOutcome::Skip { why } | CellOutcome::Unrun { why } => why.clone(),
                _ => "no outcome".to_owned(),
            };
            Mark::Unknown(Blocker::new("sanitizer", format!("{tool}: {text}")))
        }
        (_, None, None) => Mark::Pass,
        (all, None, Some(how)) if fails.len() == all => {
            Mark::Fail { how: (*how).clone(), manner: how.manner() }
        }
        (all, None, Some(_)) => {
            let text = format!("{tool} finds something in {} of {all} runs", fails.len());
            Mark::Unknown(Blocker::new("flaky", text))
        }
    };
    Side {
        mark,
        runs: u32::try_from(outcomes.len()).unwrap_or(u32::MAX),
        failed: u32::try_from(fails.len()).unwrap_or(u32::MAX),
        value: None,
        seeds: Vec::new(),
        bounds: Bounds::new(),
        by_seed: BTreeMap::new(),
    }
}

/// Puts the two sides of a case together.
fn relate(test: &Linked, same: bool, [without, with]: [WithSamples; 2]) -> CaseCompared {
    let ((mut without, a), (mut with, b)) = (without, with);
    if differ(&without.bounds, &with.bounds) {
        let text = "its bounds are not the same on both sides, so the two figures cannot be compared";
        without.mark = Mark::Unknown(Blocker::new("bound-differs", text));
        with.mark = without.mark.clone();
    }
    let mut relation = relation_of(&mut without, &mut with);
    let mut speed = None;
    if let (Mark::Measured, Mark::Measured) = (&without.mark, &with.mark) {
        relation = match (a, b) {
            // What reads the same is as fast.
            _ if same => Relation::NONE,
            (Some((a, better)), Some((b, other))) if better == other => {
                let least = speed::least(repeats::first_runs(test.repeats));
                let compared = speed::compare(&a, &b, better, test.min_gain, least);
                speed = Some(compared);
                speed_relation(compared, least, [a.len(), b.len()], &mut without, &mut with)
            }
            _ => {
                let blocker =
                    Blocker::new("contradictory", "faster is better on one side, slower on the other");
                without.mark = Mark::Unknown(blocker.clone());
                with.mark = Mark::Unknown(blocker);
                Relation::ANY
            }
        };
    }
    let blocker = chance(&mut relation, &without, &with);
    CaseCompared { without, with, relation, compile_only: false, blocker, speed }
}

fn speed_relation(
    compared: Comparison,
    least: usize,
    samples: [usize; 2],
    without: &mut Side,
    with: &mut Side,
) -> Relation {
    let wanted = match compared.speed {
        Speed::Better { .. } => return Relation { fixed: Tri::Yes, ..Relation::NONE },
        Speed::Worse { .. } => return Relation { broken: Tri::Yes, ..Relation::NONE },
        Speed::Same => return Relation::NONE,
        Speed::TooFew => least,
        Speed::Noisy => speed::after_next_turn(samples[0].min(samples[1])),
    };
    let text = match compared.speed {
        Speed::Noisy => format!("the noise is {:.1} %", compared.noise * 100.0),
        _ => format!("{} and {} samples of {least}", samples[0], samples[1]),
    };
    let mut blocker = Blocker::new("noise", text);
    for (index, side) in [&*without, &*with].into_iter().enumerate() {
        blocker.again[index] = missing_seeds(&side.seeds, u32::try_from(wanted).unwrap_or(0));
    }
    without.mark = Mark::Unknown(blocker.clone());
    with.mark = Mark::Unknown(blocker);
    Relation::ANY
}

/// Both sides read the same, so they cannot differ. Where they do, it is chance.
fn same_inputs(test: &mut TestCompared) {
    for case in test.cases.values_mut() {
        let Relation { fixed, broken, .. } = case.relation;
        if fixed == Tri::Yes || broken == Tri::Yes {
            let blocker = Blocker::new(
                "flaky",
                "the two sides differ, though the compiler and the test read the same on both",
            );
            case.without.mark = Mark::Unknown(blocker.clone());
            case.with.mark = Mark::Unknown(blocker);
            case.relation = Relation::ANY;
        }
    }
}
