//! What is no difference, or not yet: chance, hangs, bounds, noise, sanitizers, and several overlays at once.

use super::super::group::{Together, decide_together};
use super::*;
use crate::kernel_test::{Better, Figure};

#[test]
fn flaky_at_the_pin_is_inconclusive() {
    for (without, with) in [("pf", "pp"), ("pp", "fp"), ("pf", "pf"), ("ff", "pf")] {
        let decision = decided(pair(&[("a", without)], &[("a", with)]), seen());
        assert_eq!(decision.verdict, Verdict::Inconclusive, "{without} {with}");
        assert_eq!(codes(&decision)[0], "flaky", "{:?}", decision.reasons);
    }
}

#[test]
fn a_fault_that_is_seen_now_and_then_needs_enough_passes() {
    // At the witness it fails in two runs of four, so 17 must pass.
    let witness = |with: usize| Some(pair(&[("a", "fpfp")], &[("a", &"p".repeat(with))]));
    let pin = |without: usize| pair(&[("a", &"p".repeat(without))], &[("a", "pp")]);
    let decision = decided(pin(16), witness(17));
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "too-few-repeats"));
    assert!(decision.reasons[0].text.contains("in 2 of 4 runs, so 17 must pass"), "{:?}", decision.reasons);
    let [want] = decision.wants.as_slice() else { panic!("{:?}", decision.wants) };
    assert_eq!((want.which, want.seeds.len()), (Which::PinWithout, 1));
    let decision = decided(pin(17), witness(17));
    assert_eq!(decision.verdict, Verdict::Droppable);
    assert_eq!(decision.runs_needed[0].1, 17);
    // With too few passes at the witness, it may not be the overlay that mends it.
    let decision = decided(pin(17), witness(4));
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "too-few-repeats"));
    assert_eq!((decision.wants[0].which, decision.wants[0].seeds.len()), (Which::WitnessWith, 13));
    // A case that fails now and then with the overlay, too, is not what it is there for.
    let decision = decided(pin(17), Some(pair(&[("a", "fpfp")], &[("a", "ppfppp")])));
    assert_eq!(decision.verdict, Verdict::Unproven);
}

#[test]
fn a_rate_too_small_to_rule_out_asks_for_no_runs() {
    let letters = |n: usize| format!("f{}", "p".repeat(n));
    let witness = Some(pair(&[("a", &letters(99))], &[("a", &"p".repeat(100))]));
    let decision = decided(pair(&[("a", "pp")], &[("a", "pp")]), witness);
    assert_eq!(decision.verdict, Verdict::Inconclusive);
    assert!(decision.wants.is_empty(), "{:?}", decision.wants);
}

#[test]
fn a_hang_fails_only_if_the_other_side_ends_soon_and_both_were_seen_twice() {
    let decision = decided(pair(&[("a", "tt")], &[("a", "pp")]), None);
    assert_eq!(decision.verdict, Verdict::Needed);
    let row = &decision.cells[0];
    assert_eq!(row.pin_without.text.as_deref(), Some("hangs"));
    let decision = decided(pair(&[("a", "pp")], &[("a", "tt")]), None);
    assert_eq!(decision.verdict, Verdict::Harmful);
    // On both sides; and where the other side does not end soon (a run of 251 of 1000 ms).
    let decision = decided(pair(&[("a", "tt")], &[("a", "tt")]), seen());
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "timeout"));
    let slow = |millis: u64| {
        let mut pair = pair(&[("a", "tt")], &[("a", "pp")]);
        if let State::Ran(ran) = &mut pair.with {
            ran.runs.iter_mut().flat_map(|run| &mut run.cells).for_each(|cell| cell.millis = millis);
        }
        decided(pair, None)
    };
    assert_eq!(slow(250).verdict, Verdict::Needed);
    assert_eq!(slow(251).verdict, Verdict::Inconclusive);
    assert!(slow(251).wants.is_empty());
    // Sometimes a timeout, sometimes a pass.
    let decision = decided(pair(&[("a", "tp")], &[("a", "pp")]), None);
    assert_eq!(decision.verdict, Verdict::Inconclusive);
}

#[test]
fn a_hang_that_was_seen_once_asks_for_one_more_run_of_each_side() {
    // Two hung runs are enough, though three runs were asked for.
    assert_eq!(decided(few("tt", "ppp"), None).verdict, Verdict::Needed);
    let decision = decided(few("t", "ppp"), None);
    assert_eq!(decision.verdict, Verdict::Inconclusive);
    assert_eq!(decision.wants[0].which, Which::PinWithout);
    // The other side ran too seldom.
    let decision = decided(few("tt", "p"), None);
    assert_eq!(decision.verdict, Verdict::Inconclusive);
    assert_eq!(decision.wants.last().map(|want| want.which), Some(Which::PinWith));
}

#[test]
fn other_results_from_other_seeds_count_when_each_was_seen_twice() {
    let at_seeds = |seeds: &[u64], without: &str, with: &str| Pair {
        without: ran_times(0, "o", seeds, &[("a", without)]),
        with: ran_times(0, "w", seeds, &[("a", with)]),
    };
    let seeds_of = |decision: &Decision| decision.wants.iter().map(|w| w.seeds.clone()).collect::<Vec<_>>();
    let decision = decided(at_seeds(&[1, 1, 2], "ppf", "ppp"), None);
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "not-repeated"));
    assert_eq!(seeds_of(&decision), [[2], [2]]);
    let decision = decided(at_seeds(&[1, 1, 2, 2], "ppff", "pppp"), None);
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "chance"));
    assert_eq!(seeds_of(&decision), [[1, 2], [1, 2]]);
    let decision = decided(at_seeds(&[1, 2], "pfpfpfpfpf", "pppppppppp"), None);
    assert_eq!(decision.verdict, Verdict::Needed);
    // It moves the failure from one seed to another: mends and breaks.
    let decision = decided(at_seeds(&[1, 2], "pfpfpfpfpf", "fpfpfpfpfp"), None);
    assert_eq!(decision.verdict, Verdict::Mixed);
    let decision = decided(at_seeds(&[1, 2], "pfpfpfpfpf", "ffffffffff"), None);
    assert_eq!(decision.verdict, Verdict::Harmful);
    assert_eq!(cases(&decision.unfixed), ["a"]);
}

#[test]
fn fewer_runs_than_asked_for_ask_for_the_rest() {
    let decision = decided(few("f", "pp"), None);
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "too-few-runs"));
    let wants: Vec<_> = decision.wants.iter().map(|want| want.seeds.as_slice()).collect();
    assert_eq!(wants, [&[1, 2][..], &[2][..]]);
}

fn with_sanitizer(mut pair: Pair, without: &str, with: &str) -> Pair {
    for (state, letters) in [(&mut pair.without, without), (&mut pair.with, with)] {
        if let State::Ran(ran) = state {
            let outcomes = letters.chars().map(|letter| match letter {
                'p' => CellOutcome::Pass,
                'x' => {
                    CellOutcome::Fail { how: FailHow::Sanitizer { text: "Invalid __shared__ read".into() } }
                }
                _ => CellOutcome::Unknown { why: Unknown::Missing { text: "no compute-sanitizer".into() } },
            });
            ran.sanitized.insert("memcheck".into(), outcomes.collect());
        }
    }
    pair
}

#[test]
fn a_sanitizers_finding_is_a_failing_case() {
    let verdict = |without: &str, with: &str| {
        let mut proof =
            proof(with_sanitizer(all_pass(), without, with), seen().map(|p| with_sanitizer(p, "x", "p")));
        proof.tests[0].sanitizers = vec!["memcheck".into()];
        decide(&proof)
    };
    assert_eq!(
        (verdict("x", "p").verdict, cases(&verdict("x", "p").fixed)),
        (Verdict::Needed, vec!["sanitizer:memcheck"])
    );
    assert_eq!(verdict("p", "x").verdict, Verdict::Harmful);
    assert_eq!(verdict("p", "p").verdict, Verdict::Droppable);
    assert_eq!(verdict("x", "x").verdict, Verdict::Ineffective);
    for (without, with) in [("", ""), ("?", "p"), ("p", "?"), ("xp", "pp")] {
        assert_eq!(verdict(without, with).verdict, Verdict::Inconclusive, "{without} {with}");
    }
}

/// One case with a bound: `(value, max)` without and with.
fn bounded(without: (f64, f64), with: (f64, f64)) -> Pair {
    let state = |inputs: &str, (value, max): (f64, f64)| {
        let mut state = ran_with(inputs, &[1], &[("a", "pp")]);
        if let State::Ran(ran) = &mut state {
            for cell in ran.runs.iter_mut().map(|run| &mut run.cells[0]) {
                let figure = Figure {
                    metric: "err".into(),
                    value: Some(value),
                    max: Some(max),
                    min: None,
                    better: None,
                };
                cell.outcome = figure.outcome().unwrap();
                cell.figure = Some(figure);
            }
        }
        state
    };
    Pair { without: state("o", without), with: state("w", with) }
}

#[test]
fn another_bound_is_no_mending() {
    let needed = decided(bounded((0.5, 0.01), (0.001, 0.01)), None);
    assert_eq!((needed.verdict, needed.cells[0].pin_without.value), (Verdict::Needed, Some(0.5)));
    // The overlay loosens the test instead of mending what it tests.
    let decision = decided(bounded((0.5, 0.01), (0.5, 1.0)), None);
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "bound-differs"));
    // Upstream does.
    let witness = || Some(bounded((0.5, 0.01), (0.001, 0.01)));
    let decision = decided(bounded((0.5, 1.0), (0.001, 1.0)), witness());
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "bound-differs"));
    assert_eq!(decided(bounded((0.004, 0.005), (0.001, 0.005)), witness()).verdict, Verdict::Droppable);
    assert_eq!(decided(bounded((0.004, 0.01), (0.001, 0.01)), witness()).verdict, Verdict::Droppable);
}

#[test]
fn few_runs_are_not_believed() {
    let mut proof = proof(few("f", "p"), None);
    proof.tests[0].repeats = 1;
    assert_eq!(decide(&proof).verdict, Verdict::Inconclusive);
    // A test that fails at random with a rate of one half looks like this one time in 32.
    let decision = decided(few("fff", "ppp"), None);
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "chance"));
    let wants: Vec<_> = decision.wants.iter().map(|want| (want.which, want.seeds.len())).collect();
    assert_eq!(wants, [(Which::PinWithout, 1), (Which::PinWith, 1)]);
    assert_eq!(decided(few("ffff", "pppp"), None).verdict, Verdict::Needed);
    assert_eq!(decided(few("pppp", "ffff"), None).verdict, Verdict::Harmful);
}

#[test]
fn a_fault_that_may_be_its_own_and_is_rare_is_not_passed_over() {
    // `a` is surely its own. `b` failed in half of the runs, and passed too seldom with it to be sure.
    let witness = || Some(pair(&[("a", "ff"), ("b", "fp")], &[("a", "pp"), ("b", "pp")]));
    let short = pair(&[("a", "pp"), ("b", "pp")], &[("a", "pp"), ("b", "pp")]);
    assert_eq!(decided(short, witness()).verdict, Verdict::Inconclusive);
    let long = pair(&[("a", "p"), ("b", "ppppppppppppppppp")], &[("a", "p"), ("b", "p")]);
    assert_eq!(decided(long, witness()).verdict, Verdict::Droppable);
}

fn speed(inputs: &str, values: &[f64]) -> State {
    let run = |(index, value): (usize, &f64)| {
        let figure = Figure {
            metric: "ms".into(),
            value: Some(*value),
            max: None,
            min: None,
            better: Some(Better::Lower),
        };
        let cell = Cell { figure: Some(figure), ..Cell::new(case("ms"), CellOutcome::Measured, 10) };
        let cells = vec![cell, Cell::new(CaseKey::run(), CellOutcome::Pass, 10)];
        let seed = seeds(20)[index];
        Run { seed, processes: Vec::new(), cells, problems: Vec::new(), notes: Vec::new() }
    };
    State::Ran(Ran {
        toolchain: "cc".into(),
        inputs: Some(inputs.into()),
        surroundings: None,
        runs: values.iter().enumerate().map(run).collect(),
        sanitized: BTreeMap::new(),
    })
}

#[test]
fn a_figure_of_speed_counts_beyond_the_noise() {
    let slow = [10.0, 10.1, 9.9, 10.05, 9.95, 10.02, 9.98, 10.0];
    let fast = [7.0, 7.1, 6.9, 7.05, 6.95, 7.02, 6.98, 7.0];
    let pair = |without: &[f64], with: &[f64]| Pair { without: speed("o", without), with: speed("w", with) };
    let decision = decided(pair(&slow, &fast), None);
    assert_eq!((decision.verdict, cases(&decision.fixed)), (Verdict::Needed, vec!["ms"]));
    assert_eq!(decided(pair(&fast, &slow), None).verdict, Verdict::Harmful);
    let faster_once = || Some(pair(&slow, &fast));
    assert_eq!(decided(pair(&fast, &fast), faster_once()).verdict, Verdict::Droppable);
    assert_eq!(decided(pair(&fast, &fast), Some(pair(&fast, &fast))).verdict, Verdict::Unproven);
    assert!(decision.reasons.iter().any(|reason| {
        reason.code == "speed" && reason.text.contains("ms takes 1.43 times as long without it")
    }));
    // One turn of each: a second one as long.
    let decision = decided(pair(&slow[..4], &fast[..4]), None);
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "noise"));
    let wanted =
        |decision: &Decision| -> Vec<usize> { decision.wants.iter().map(|want| want.seeds.len()).collect() };
    assert_eq!(wanted(&decision), [4, 4]);
    let wild = [5.0, 15.0, 9.0, 12.0, 7.0, 6.0, 14.0, 10.0];
    let decision = decided(pair(&wild, &slow), faster_once());
    assert_eq!((decision.verdict, wanted(&decision)), (Verdict::Inconclusive, vec![6, 6]));
    // What reads the same is as fast.
    let same = Pair { without: speed("s", &slow), with: speed("s", &fast) };
    let decision = decided(same, faster_once());
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "not-built-here"));
}

#[test]
fn all_can_go_only_if_the_variant_without_all_of_them_passes() {
    let droppable = || decided(all_pass(), seen());
    let (one, two) = (droppable(), droppable());
    let together = |pin: Pair| decide_together(&[&one, &two], &[linked("t")], &place(pin));
    assert_eq!(together(all_pass()), Together::AllCanGo);
    // They cover for each other: each alone can go, both cannot.
    let Together::NotTogether { cases: broken } =
        together(pair(&[("a", "ff"), ("b", "pp")], &[("a", "pp"), ("b", "pp")]))
    else {
        panic!("they must not go together");
    };
    assert_eq!(cases(&broken), ["a"]);
    for pin in [
        pair(&[("a", "fp"), ("b", "pp")], &[("a", "pp"), ("b", "pp")]),
        pair(&[("b", "pp")], &[("a", "pp"), ("b", "pp")]),
        pair(&[("b", "pp")], &[("b", "pp")]),
        pair(&[("a", "ss"), ("b", "pp")], &[("a", "ss"), ("b", "pp")]),
        Pair { without: State::NotRun, with: ran_with("w", &[1], &[("a", "pp")]) },
        Pair { without: ran_with("s", &[1], &[("a", "pp")]), with: ran_with("s", &[1], &[("a", "pp")]) },
    ] {
        assert!(matches!(together(pin), Together::Unknown { .. }));
    }
    let needed = decided(pair(&[("a", "ff")], &[("a", "pp")]), None);
    let mixed = decide_together(&[&one, &needed], &[linked("t")], &place(all_pass()));
    assert!(matches!(mixed, Together::Unknown { .. }));
}
