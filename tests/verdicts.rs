//! The decision table against two oracles that know nothing of its code: every small combination of results,
//! and situations with a planted truth, played through the parsers.

use std::collections::BTreeMap;

use overlaid::id::Name;
use overlaid::kernel_test::{CaseKey, Cell, CellOutcome, FailHow, Run, Unknown};
use overlaid::verdict::{Linked, Pair, Place, Proof, Ran, State, Verdict, Witness, decide};

mod planted;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn linked(test: &str) -> Linked {
    Linked {
        name: name(test),
        guard: false,
        repeats: 3,
        timeout_ms: 1000,
        min_gain: 0.05,
        sanitizers: Vec::new(),
    }
}

/// What a case may come to on one variant, over all its runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Letter {
    /// Passes in all runs.
    Pass,
    /// A wrong figure in all runs.
    Wrong,
    /// Crashes in all runs.
    Crash,
    /// Fails in every second run, with the same inputs.
    Flaky,
    /// Ended from outside.
    Killed,
    /// Ended at the timeout in all runs.
    Timeout,
    /// The test skips it.
    Skip,
    /// The test does not mention it.
    Missing,
}

use Letter::*;

const ALL: [Letter; 8] = [Pass, Wrong, Crash, Flaky, Killed, Timeout, Skip, Missing];

/// So many runs that no difference is chance, and, where a case is flaky, that a rate of one half is ruled out.
fn runs_for(letters: &[Quad]) -> usize {
    if letters.iter().flatten().any(|letter| *letter == Flaky) { 12 } else { 4 }
}

impl Letter {
    fn outcome(self, run: usize) -> Option<CellOutcome> {
        let fail = |how| Some(CellOutcome::Fail { how });
        match self {
            Flaky if run.is_multiple_of(2) => Some(CellOutcome::Pass),
            Pass => Some(CellOutcome::Pass),
            Wrong | Flaky => fail(FailHow::WrongFigure),
            Crash => fail(FailHow::Crash { signal: 11 }),
            Killed => Some(CellOutcome::Unknown { why: Unknown::Killed { text: "signal 9".into() } }),
            Timeout => Some(CellOutcome::Unknown { why: Unknown::Timeout }),
            Skip => Some(CellOutcome::Skip { why: "not here".into() }),
            Missing => None,
        }
    }
}

/// A case on the four variants: at the witness without and with, at the pin without and with.
type Quad = [Letter; 4];

fn variant(inputs: &str, runs: usize, letters: &[Letter]) -> State {
    let run = |index: usize| {
        let mut cells: Vec<_> = letters
            .iter()
            .enumerate()
            .filter_map(|(case, letter)| {
                let key = CaseKey::from_junit("", &format!("c{case}"));
                Some(Cell::new(key, letter.outcome(index)?, 10))
            })
            .collect();
        // A test that reports no case has reported nothing.
        let run = if cells.is_empty() {
            CellOutcome::Unknown { why: Unknown::NothingReported }
        } else {
            CellOutcome::Pass
        };
        cells.push(Cell::new(CaseKey::run(), run, 10));
        Run { seed: 1, processes: Vec::new(), cells, problems: Vec::new(), notes: Vec::new() }
    };
    State::Ran(Ran {
        toolchain: "cc".into(),
        inputs: Some(inputs.into()),
        surroundings: None,
        runs: (0..runs).map(run).collect(),
        sanitized: BTreeMap::new(),
    })
}

fn verdict_of(cases: &[Quad]) -> Verdict {
    let side = |index: usize, inputs| {
        variant(inputs, runs_for(cases), &cases.iter().map(|case| case[index]).collect::<Vec<_>>())
    };
    let place = |without, with| {
        Place::from([(name("t"), Pair { without: side(without, "without"), with: side(with, "with") })])
    };
    decide(&Proof {
        overlay: name("o"),
        removed: vec![name("o")],
        redundant: false,
        tests: vec![linked("t")],
        pin: place(2, 3),
        witness: Witness::At(place(0, 1)),
    })
    .verdict
}

// ---- The oracle: what each case may be in truth, and the table over all of that, word by word.

/// What a case on one side may be: passes, fails; at a place where no side has it, it is nothing.
fn truths(own: Letter, other: Letter) -> Vec<bool> {
    match own {
        Pass => vec![true],
        Wrong | Crash => vec![false],
        // A hang: the other side ends at once, in every run.
        Timeout if matches!(other, Pass | Wrong | Crash) => vec![false],
        _ => vec![true, false],
    }
}

/// Whether neither side ran it, and they agree on that.
fn are_off(one: Letter, other: Letter) -> bool {
    one == other && matches!(one, Skip | Missing)
}

/// One way that a case may be in truth.
#[derive(Debug, Clone, Copy)]
struct Truth {
    /// Fails at the witness without the overlay and passes with it.
    attributed: bool,
    /// At the pin: passes without, passes with; `None`: nothing there.
    pin: Option<(bool, bool)>,
}

fn ways(case: Quad) -> Vec<Truth> {
    let [a, b, c, d] = case;
    let witness: Vec<bool> = if are_off(a, b) {
        vec![false]
    } else {
        let mut all = Vec::new();
        // At the witness one failure is enough to be seen, and to be seen not to pass.
        let without = if a == Flaky { vec![false] } else { truths(a, b) };
        let with = if b == Flaky { vec![false] } else { truths(b, a) };
        for without in &without {
            all.extend(with.iter().map(|with| !without && *with));
        }
        all
    };
    let pin: Vec<Option<(bool, bool)>> = if are_off(c, d) {
        vec![None]
    } else {
        let mut all = Vec::new();
        for without in truths(c, d) {
            all.extend(truths(d, c).into_iter().map(|with| Some((without, with))));
        }
        all
    };
    let mut ways = Vec::new();
    for attributed in witness {
        ways.extend(pin.iter().map(|pin| Truth { attributed, pin: *pin }));
    }
    ways
}

fn table(truth: &[Truth]) -> Verdict {
    let at_pin: Vec<_> = truth.iter().filter_map(|case| case.pin).collect();
    let fixes = at_pin.contains(&(false, true));
    let breaks = at_pin.contains(&(true, false));
    let own: Vec<_> = truth.iter().filter(|case| case.attributed).map(|case| case.pin).collect();
    match (fixes, breaks) {
        (true, true) => Verdict::Mixed,
        (true, false) => Verdict::Needed,
        (false, true) => Verdict::Harmful,
        // Nothing at all was tried at the pin: only that it ran is known.
        _ if at_pin.len() == 1 => Verdict::Inconclusive,
        _ if own.contains(&Some((false, false))) => Verdict::Ineffective,
        // What it is there for is not there at the pin: nobody knows.
        _ if own.contains(&None) => Verdict::Inconclusive,
        _ if own.is_empty() => Verdict::Unproven,
        _ => Verdict::Droppable,
    }
}

/// The verdict that holds in every way the cases may be in truth; inconclusive if there is none.
fn oracle(cases: &[Quad]) -> Verdict {
    let mut cases = cases.to_vec();
    // Whether it ran at all is a case, too: not known where it reported nothing.
    let silent = |index: usize| cases.iter().all(|case| case[index] == Missing);
    cases.push([0, 1, 2, 3].map(|index| if silent(index) { Killed } else { Pass }));
    let ways: Vec<Vec<Truth>> = cases.iter().map(|case| ways(*case)).collect();
    let mut found = None;
    let mut pick = vec![0; cases.len()];
    loop {
        let truth: Vec<Truth> = pick.iter().zip(&ways).map(|(at, ways)| ways[*at]).collect();
        let verdict = table(&truth);
        match found {
            None => found = Some(verdict),
            Some(other) if other != verdict => return Verdict::Inconclusive,
            Some(_) => {}
        }
        let Some(next) = pick.iter().zip(&ways).position(|(at, ways)| at + 1 < ways.len()) else {
            return found.unwrap_or(Verdict::Inconclusive);
        };
        pick[..next].fill(0);
        pick[next] += 1;
    }
}

/// What must hold of a verdict whatever the rest of the rules say.
fn assert_safe(cases: &[Quad], verdict: Verdict) {
    let settled = |case: &Quad, index: usize, other: usize| match truths(case[index], case[other])[..] {
        [passes] => Some(passes),
        _ => None,
    };
    let pin = |case: &Quad| (settled(case, 2, 3), settled(case, 3, 2));
    let seen = |case: &Quad| {
        let fails = case[0] == Flaky || settled(case, 0, 1) == Some(false);
        fails && case[1] == Pass
    };
    match verdict {
        Verdict::Droppable => {
            assert!(cases.iter().any(seen), "no case was ever seen to fail: {cases:?}");
            for case in cases {
                assert!(
                    !seen(case) || case[2] == Pass,
                    "an attributed case does not pass without: {cases:?}"
                );
                let both_off = are_off(case[2], case[3]);
                let (without, with) = pin(case);
                assert!(both_off || (without.is_some() && without == with), "a difference: {cases:?}");
            }
        }
        Verdict::Needed => {
            assert!(cases.iter().any(|case| pin(case) == (Some(false), Some(true))), "{cases:?}");
            assert!(cases.iter().all(|case| pin(case) != (Some(true), Some(false))), "{cases:?}");
        }
        Verdict::Harmful => {
            assert!(cases.iter().any(|case| pin(case) == (Some(true), Some(false))), "{cases:?}");
            assert!(cases.iter().all(|case| pin(case) != (Some(false), Some(true))), "{cases:?}");
        }
        Verdict::Ineffective => {
            assert!(
                cases.iter().any(|case| seen(case) && pin(case) == (Some(false), Some(false))),
                "{cases:?}"
            );
        }
        Verdict::Unproven => assert!(!cases.iter().any(seen), "{cases:?}"),
        Verdict::Mixed | Verdict::Redundant | Verdict::Inconclusive => {}
    }
}

fn quads(alphabet: &[Letter]) -> Vec<Quad> {
    let mut all = Vec::new();
    for &a in alphabet {
        for &b in alphabet {
            for &c in alphabet {
                all.extend(alphabet.iter().map(|&d| [a, b, c, d]));
            }
        }
    }
    all
}

fn check(cases: &[Quad]) -> Verdict {
    let verdict = verdict_of(cases);
    assert_eq!(verdict, oracle(cases), "{cases:?}");
    assert_safe(cases, verdict);
    verdict
}

/// One more unknown makes a verdict inconclusive or leaves it as it is.
fn assert_monotonic(
    alphabet: &[Letter],
    cases: usize,
    verdict: impl Fn(&[Quad]) -> Verdict,
    all: &[Vec<Quad>],
) {
    assert!(alphabet.contains(&Killed));
    for quads in all {
        let before = verdict(quads);
        if before == Verdict::Inconclusive {
            continue;
        }
        for case in 0..cases {
            for place in 0..4 {
                let mut less = quads.clone();
                less[case][place] = Killed;
                let after = verdict(&less);
                assert!(
                    after == before || after == Verdict::Inconclusive,
                    "{quads:?} is {before}, and with less known {after}"
                );
            }
        }
    }
}

#[test]
fn every_result_of_one_case_gets_the_verdict_that_holds_in_every_way_it_may_be() {
    let all = quads(&ALL);
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let mut verdicts = BTreeMap::new();
    for quad in &all {
        let verdict = check(&[*quad]);
        *seen.entry(verdict.as_str()).or_default() += 1;
        verdicts.insert(quad.map(|letter| letter as u8), verdict);
    }
    assert_eq!(all.len(), 4096);
    // All that one case can come to came up.
    assert_eq!(seen.len(), 6, "{seen:?}");
    let all: Vec<_> = all.into_iter().map(|quad| vec![quad]).collect();
    let known = |quads: &[Quad]| verdicts[&quads[0].map(|letter| letter as u8)];
    assert_monotonic(&ALL, 1, known, &all);
}

#[test]
fn every_result_of_two_cases_gets_the_verdict_that_holds_in_every_way_they_may_be() {
    let alphabet = [Pass, Wrong, Killed];
    let quads = quads(&alphabet);
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let mut verdicts = BTreeMap::new();
    let mut all = Vec::new();
    // The two cases are alike, so half of the pairs is enough.
    for (index, one) in quads.iter().enumerate() {
        for two in &quads[index..] {
            let verdict = check(&[*one, *two]);
            *seen.entry(verdict.as_str()).or_default() += 1;
            verdicts.insert(key(&[*one, *two]), verdict);
            all.push(vec![*one, *two]);
        }
    }
    assert_eq!(all.len(), 81 * 82 / 2);
    assert_eq!(seen.len(), 7, "{seen:?}");
    assert_monotonic(&alphabet, 2, |quads| verdicts[&key(quads)], &all);
}

/// Two cases in the order in which they were checked.
fn key(quads: &[Quad]) -> [[u8; 4]; 2] {
    let mut pair = [quads[0], quads[1]].map(|quad| {
        quad.map(|letter| [Pass, Wrong, Killed].iter().position(|l| *l == letter).unwrap() as u8)
    });
    pair.sort_unstable();
    pair
}

#[test]
fn samples_of_three_cases_get_the_verdict_that_holds_in_every_way_they_may_be() {
    let mut random = crate::support::random::Random::new(20);
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for _ in 0..4000 {
        // Passes are the rule, so that one odd result is not drowned by others.
        let mut letter = || if random.below(3) < 2 { Pass } else { ALL[random.below(8)] };
        let cases: Vec<Quad> = (0..3).map(|_| [letter(), letter(), letter(), letter()]).collect();
        let verdict = check(&cases);
        *seen.entry(verdict.as_str()).or_default() += 1;
        let all = [cases];
        assert_monotonic(&ALL, 3, verdict_of, &all[..usize::from(random.below(20) == 0)]);
    }
    assert_eq!(seen.len(), 7, "{seen:?}");
}

/// What a whole test may come to on one variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whole {
    Ran(Letter),
    BuildFails,
    Blocked,
}

#[test]
fn a_test_that_cannot_be_built_or_run_gives_no_verdict_but_that_of_its_build() {
    use overlaid::verdict::Obstacle;
    let alphabet = [Whole::Ran(Pass), Whole::Ran(Wrong), Whole::BuildFails, Whole::Blocked];
    let state = |whole, inputs: &str| match whole {
        Whole::Ran(letter) => variant(inputs, 4, &[letter]),
        Whole::BuildFails => State::BuildFailed { toolchain: "cc".into(), text: "error".into() },
        Whole::Blocked => State::Blocked(Obstacle::Device("no device".into())),
    };
    // What a side comes to, given the other: `None`: not known.
    let passes = |own, other| match (own, other) {
        (Whole::Ran(letter), _) => Some(letter == Pass),
        (Whole::BuildFails, Whole::Ran(_)) => Some(false),
        _ => None,
    };
    let mut decided = 0;
    for a in alphabet {
        for b in alphabet {
            for c in alphabet {
                for d in alphabet {
                    let place = |x, y| {
                        let pair = Pair { without: state(x, "without"), with: state(y, "with") };
                        Place::from([(name("t"), pair)])
                    };
                    let verdict = decide(&Proof {
                        overlay: name("o"),
                        removed: vec![name("o")],
                        redundant: false,
                        tests: vec![linked("t")],
                        pin: place(c, d),
                        witness: Witness::At(place(a, b)),
                    })
                    .verdict;
                    let attributed = match (passes(a, b), passes(b, a)) {
                        (Some(false), Some(true)) => Some(true),
                        (Some(true), _) | (Some(_), Some(_)) => Some(false),
                        _ => None,
                    };
                    // The test of a build that fails with the overlay: what it would come to without a build
                    // is not known, and that it breaks the build is.
                    let expected = match (passes(c, d), passes(d, c), attributed) {
                        (Some(false), Some(true), _) => Verdict::Needed,
                        (Some(true), Some(false), _) => Verdict::Harmful,
                        // It builds with the overlay only, and does not pass: the build is mended all the same.
                        (Some(false), Some(false), _) if c == Whole::BuildFails => Verdict::Needed,
                        (Some(false), Some(false), _) if d == Whole::BuildFails => Verdict::Harmful,
                        (Some(false), Some(false), Some(true)) => Verdict::Ineffective,
                        (Some(true), Some(true), Some(true)) => Verdict::Droppable,
                        (Some(_), Some(_), Some(false)) => Verdict::Unproven,
                        _ => Verdict::Inconclusive,
                    };
                    // Built with the overlay only at the witness, and failing there: its build is attributed.
                    let build_only = (a == Whole::BuildFails && b == Whole::Ran(Wrong))
                        && matches!((c, d), (Whole::Ran(_), Whole::Ran(_)))
                        && c == d;
                    let expected = if build_only { Verdict::Droppable } else { expected };
                    assert_eq!(verdict, expected, "{a:?} {b:?} | {c:?} {d:?}");
                    decided += u32::from(verdict != Verdict::Inconclusive);
                }
            }
        }
    }
    assert!(decided > 60, "{decided}");
}
