use std::collections::BTreeMap;

use super::*;
use crate::id::Name;
use crate::kernel_test::repeats::seeds;
use crate::kernel_test::{CaseKey, Cell, CellOutcome, FailHow, Run, Unknown};

mod doubt;
mod rivals;

// A small language for situations: `p` pass, `f` wrong figure, `n` NaN, `c` crash, `t` timeout, `s` skip,
// `k` killed, `.` not reported. One letter for each run of a case.

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn outcome(letter: char) -> Option<CellOutcome> {
    let fail = |how| Some(CellOutcome::Fail { how });
    match letter {
        'p' => Some(CellOutcome::Pass),
        'f' => fail(FailHow::WrongFigure),
        'n' => fail(FailHow::NotFinite),
        'c' => fail(FailHow::Crash { signal: 11 }),
        'h' => fail(FailHow::HistoryDependent { text: "passes with 0, fails with 1".into() }),
        't' => Some(CellOutcome::Unknown { why: Unknown::Timeout }),
        'k' => Some(CellOutcome::Unknown { why: Unknown::Killed { text: "signal 9".into() } }),
        's' => Some(CellOutcome::Skip { why: "no device".into() }),
        '.' => None,
        other => panic!("letter {other}"),
    }
}

fn case(text: &str) -> CaseKey {
    if text == "run" { CaseKey::run() } else { CaseKey::from_junit("", text) }
}

/// The runs of cases, for example `&[("a", "p"), ("b", "pf")]`: four at least, the letters again and again.
fn ran_with(inputs: &str, seeds: &[u64], cases: &[(&str, &str)]) -> State {
    ran_times(4, inputs, seeds, cases)
}

fn ran_times(least: usize, inputs: &str, seeds: &[u64], cases: &[(&str, &str)]) -> State {
    let count = cases.iter().map(|(_, letters)| letters.len()).max().unwrap_or(0).max(least);
    let run = |index: usize| {
        let mut cells: Vec<_> = cases
            .iter()
            .filter_map(|(text, letters)| {
                Some(Cell::new(case(text), outcome(letters.chars().nth(index % letters.len())?)?, 10))
            })
            .collect();
        if cells.iter().all(|cell| cell.case != CaseKey::run()) {
            cells.push(Cell::new(CaseKey::run(), CellOutcome::Pass, 10));
        }
        let seed = seeds[index % seeds.len()];
        Run { seed, processes: Vec::new(), cells, problems: Vec::new(), notes: Vec::new() }
    };
    State::Ran(Ran {
        toolchain: "cc".into(),
        inputs: Some(inputs.into()),
        surroundings: None,
        runs: (0..count).map(run).collect(),
        sanitized: BTreeMap::new(),
    })
}

fn pair(without: &[(&str, &str)], with: &[(&str, &str)]) -> Pair {
    Pair { without: ran_with("o", &[1], without), with: ran_with("w", &[1], with) }
}

/// A pair of exactly these runs, with the seeds of the plan.
fn few(without: &str, with: &str) -> Pair {
    let state = |inputs, letters| ran_times(0, inputs, &seeds(9), &[("a", letters)]);
    Pair { without: state("o", without), with: state("w", with) }
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

fn place(pair: Pair) -> Place {
    BTreeMap::from([(name("t"), pair)])
}

fn proof(pin: Pair, witness: Option<Pair>) -> Proof {
    Proof {
        overlay: name("fix"),
        removed: vec![name("fix")],
        redundant: false,
        tests: vec![linked("t")],
        pin: place(pin),
        witness: witness.map_or(Witness::IsPin, |pair| Witness::At(place(pair))),
    }
}

fn decided(pin: Pair, witness: Option<Pair>) -> Decision {
    decide(&proof(pin, witness))
}

fn cases(ids: &[CellId]) -> Vec<&str> {
    ids.iter().map(|id| id.case.as_str()).collect()
}

fn codes(decision: &Decision) -> Vec<&str> {
    decision.reasons.iter().map(|reason| reason.code).collect()
}

/// The witness of a fault that the overlay mends.
fn seen() -> Option<Pair> {
    Some(pair(&[("a", "ff"), ("b", "pp")], &[("a", "pp"), ("b", "pp")]))
}

fn not_seen() -> Option<Pair> {
    Some(pair(&[("a", "pp"), ("b", "pp")], &[("a", "pp"), ("b", "pp")]))
}

/// A witness at which nothing was run.
fn not_run() -> Proof {
    Proof { witness: Witness::At(Place::new()), ..proof(all_pass(), None) }
}

fn all_pass() -> Pair {
    pair(&[("a", "pp"), ("b", "pp")], &[("a", "pp"), ("b", "pp")])
}

#[test]
fn the_table() {
    for (without, with, witness, verdict) in [
        (["ff", "pp"], ["pp", "pp"], None, Verdict::Needed),
        (["ff", "ff"], ["pp", "ff"], None, Verdict::Needed),
        (["pp", "pp"], ["ff", "pp"], None, Verdict::Harmful),
        (["ff", "pp"], ["pp", "ff"], None, Verdict::Mixed),
        (["ff", "pp"], ["ff", "pp"], seen(), Verdict::Ineffective),
        (["pp", "pp"], ["pp", "pp"], seen(), Verdict::Droppable),
        (["pp", "ff"], ["pp", "ff"], seen(), Verdict::Droppable),
        (["pp", "pp"], ["pp", "pp"], not_seen(), Verdict::Unproven),
        (["ff", "pp"], ["ff", "pp"], not_seen(), Verdict::Unproven),
        (["pp", "pp"], ["pp", "pp"], None, Verdict::Unproven),
    ] {
        let pin = pair(&[("a", without[0]), ("b", without[1])], &[("a", with[0]), ("b", with[1])]);
        let decision = decided(pin, witness);
        assert_eq!(decision.verdict, verdict, "{without:?} {with:?}: {:?}", decision.reasons);
        assert!(decision.first_line.starts_with(verdict.as_str()), "{}", decision.first_line);
        assert!(decision.wants.is_empty(), "{:?}", decision.wants);
    }
}

#[test]
fn the_cases_behind_a_verdict_are_listed() {
    let without = [("a", "ff"), ("b", "pp"), ("c", "ff"), ("d", "pp")];
    let with = [("a", "pp"), ("b", "ff"), ("c", "ff"), ("d", "pp")];
    let decision = decided(pair(&without, &with), None);
    assert_eq!(cases(&decision.fixed), ["a"]);
    assert_eq!(cases(&decision.broken), ["b"]);
    assert_eq!(cases(&decision.unfixed), ["c"]);
    assert_eq!(cases(&decision.attributed), ["a"]);
    let row = decision.cells.iter().find(|row| row.case == "c").unwrap();
    assert_eq!((row.pin_without.outcome, row.pin_with.outcome, &row.witness_with), ("fail", "fail", &None));
    // The pseudo-cases that pass are no rows.
    assert_eq!(decision.cells.len(), 4);
}

#[test]
fn redundant_needs_no_run() {
    let decision = decide(&Proof { redundant: true, pin: Place::new(), ..proof(all_pass(), seen()) });
    assert_eq!((decision.verdict, decision.wants.len()), (Verdict::Redundant, 0));
    assert_eq!(decision.verdict.exit().code(), 1);
}

#[test]
fn exit_codes_combine_to_the_highest() {
    use Verdict::*;
    for (verdicts, code) in [
        (vec![], 0),
        (vec![Needed, Needed], 0),
        (vec![Needed, Droppable], 1),
        (vec![Harmful], 1),
        (vec![Redundant, Unproven], 3),
        (vec![Mixed, Droppable], 3),
        (vec![Ineffective], 3),
        (vec![Mixed, Inconclusive, Needed], 4),
    ] {
        assert_eq!(Exit::of(verdicts.clone()).code(), code, "{verdicts:?}");
    }
}

#[test]
fn the_pin_is_run_first_and_the_witness_only_if_that_does_not_decide() {
    let nothing = Proof { pin: Place::new(), ..not_run() };
    let wants = decide(&nothing).wants;
    assert_eq!(wants.iter().map(|want| want.which).collect::<Vec<_>>(), [Which::PinWithout, Which::PinWith]);
    assert_eq!(wants.iter().map(|want| want.seeds.clone()).collect::<Vec<_>>(), [[1, 1, 1, 2], [1, 1, 1, 2]]);

    let decision = decide(&not_run());
    assert_eq!(decision.verdict, Verdict::Inconclusive);
    let which: Vec<_> = decision.wants.iter().map(|want| want.which).collect();
    assert_eq!(which, [Which::WitnessWithout, Which::WitnessWith]);

    for (without, with, verdict) in [("ff", "pp", Verdict::Needed), ("pp", "ff", Verdict::Harmful)] {
        let pin = place(pair(&[("a", without)], &[("a", with)]));
        let decision = decide(&Proof { pin, ..not_run() });
        assert_eq!((decision.verdict, decision.wants.len()), (verdict, 0));
    }
}

#[test]
fn what_is_not_known_at_the_pin_keeps_the_verdict_open_where_it_matters() {
    // A case that passes with the overlay cannot be broken, whatever it does without.
    let decision = decided(pair(&[("a", "ff"), ("b", "kk")], &[("a", "pp"), ("b", "pp")]), None);
    assert_eq!(decision.verdict, Verdict::Needed);
    // One that is not known with it can.
    let decision = decided(pair(&[("a", "ff"), ("b", "pp")], &[("a", "pp"), ("b", "kk")]), None);
    assert_eq!(decision.verdict, Verdict::Inconclusive);
    assert_eq!(codes(&decision)[0], "killed");
    assert!(
        decision.reasons[0].text.contains("t b at the pin with the overlay: signal 9"),
        "{:?}",
        decision.reasons
    );
    // Fixed and broken is mixed, whatever the third does.
    let mixed = pair(&[("a", "ff"), ("b", "pp"), ("c", "kk")], &[("a", "pp"), ("b", "ff"), ("c", "kk")]);
    assert_eq!(decided(mixed, None).verdict, Verdict::Mixed);
}

#[test]
fn a_case_that_only_one_side_reports_is_not_a_pass() {
    let fewer = pair(&[("a", "pp"), ("b", "..")], &[("a", "pp"), ("b", "pp")]);
    let decision = decided(fewer, seen());
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "missing-case"));
    // An attributed case that neither side at the pin has.
    let gone = pair(&[("b", "pp")], &[("b", "pp")]);
    let decision = decided(gone, seen());
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "missing-case"));
    assert!(decision.reasons[0].text.contains("t a "), "{:?}", decision.reasons);
    // One that it is not there for, and that neither side has, is none.
    let gone = pair(&[("a", "pp")], &[("a", "pp")]);
    assert_eq!(decided(gone, seen()).verdict, Verdict::Droppable);
}

#[test]
fn nothing_reported_is_inconclusive() {
    let nothing = |which: &[(&str, &str)]| {
        let State::Ran(mut ran) = ran_with("o", &[1], which) else { unreachable!() };
        for run in &mut ran.runs {
            run.cells =
                vec![Cell::new(CaseKey::run(), CellOutcome::Unknown { why: Unknown::NothingReported }, 10)];
        }
        State::Ran(ran)
    };
    let cases = [("a", "pp"), ("b", "pp")];
    let pin = Pair { without: nothing(&cases), with: ran_with("w", &[1], &cases) };
    let decision = decided(pin, seen());
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "nothing-reported"));
    // The cases of the other side are not listed one by one: the reason names the test.
    assert_eq!(decision.reasons.iter().filter(|r| r.code == "nothing-reported").count(), 1);
}

#[test]
fn a_crash_before_the_first_case_fails_the_run_and_hides_the_cases() {
    let pin = pair(&[("run", "cc")], &[("a", "pp"), ("b", "ff")]);
    let decision = decided(pin, None);
    assert_eq!(decision.verdict, Verdict::Needed);
    assert_eq!((cases(&decision.fixed), cases(&decision.unfixed)), (vec!["run"], vec!["b"]));
    let decision = decided(pair(&[("a", "pp")], &[("run", "cc")]), None);
    assert_eq!((decision.verdict, cases(&decision.broken)), (Verdict::Harmful, vec!["run"]));
    // On both sides: nothing is known of the cases.
    let decision = decided(pair(&[("run", "cc")], &[("run", "cc")]), seen());
    assert_eq!(decision.verdict, Verdict::Inconclusive);
}

fn build_failed(toolchain: &str) -> State {
    State::BuildFailed { toolchain: toolchain.into(), text: "t.cpp:3: no member `f`".into() }
}

#[test]
fn a_build_that_fails_on_one_side_is_a_failing_case() {
    let ran = || ran_with("w", &[1], &[("a", "pp"), ("b", "ff")]);
    let decision = decided(Pair { without: build_failed("cc"), with: ran() }, None);
    assert_eq!(decision.verdict, Verdict::Needed);
    assert_eq!((cases(&decision.fixed), cases(&decision.unfixed)), (vec!["build"], vec!["b"]));
    let row = decision.cells.iter().find(|row| row.case == "a").unwrap();
    assert_eq!(row.pin_without.outcome, "unrun");

    let decision = decided(Pair { without: ran(), with: build_failed("cc") }, None);
    assert_eq!((decision.verdict, cases(&decision.broken)), (Verdict::Harmful, vec!["build"]));
}

#[test]
fn a_build_that_fails_on_both_sides_or_with_another_toolchain_says_nothing() {
    let ran = || ran_with("w", &[1], &[("a", "pp")]);
    for (without, with, code) in [
        (build_failed("cc"), build_failed("cc"), "builds-on-neither-side"),
        (build_failed("other"), ran(), "toolchain-differs"),
        (build_failed("cc"), State::NotRun, "builds-not-known"),
        (build_failed("cc"), State::Blocked(Obstacle::Environment("disk full".into())), "builds-not-known"),
    ] {
        let decision = decided(Pair { without, with }, seen());
        assert_eq!(decision.verdict, Verdict::Inconclusive);
        assert!(codes(&decision).contains(&code), "{code}: {:?}", decision.reasons);
    }
    let mut other = ran_with("o", &[1], &[("a", "ff")]);
    if let State::Ran(ran) = &mut other {
        ran.toolchain = "other".into();
    }
    let decision = decided(Pair { without: other, with: ran() }, None);
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "toolchain-differs"));
}

#[test]
fn a_feature_that_upstream_has_by_now_is_droppable_with_all_cases_behind_the_build() {
    let witness = || Some(Pair { without: build_failed("cc"), with: ran_with("w", &[1], &[("a", "pp")]) });
    let decision = decided(pair(&[("a", "pp")], &[("a", "pp")]), witness());
    assert_eq!((decision.verdict, cases(&decision.attributed)), (Verdict::Droppable, vec!["a", "build"]));
    // It builds by now, and does not do what the overlay's did.
    let decision = decided(pair(&[("a", "ff")], &[("a", "ff")]), witness());
    assert_eq!(decision.verdict, Verdict::Ineffective);
}

#[test]
fn the_environment_never_makes_a_verdict() {
    for (obstacle, code) in [
        (Obstacle::Device("no CUDA device".into()), "no-device"),
        (Obstacle::Toolchain("no nvcc".into()), "toolchain"),
        (Obstacle::Conflict("a.cu".into()), "conflict"),
        (Obstacle::Upstream("commit".into()), "upstream-missing"),
        (Obstacle::Environment("disk full".into()), "environment"),
    ] {
        let blocked = || State::Blocked(obstacle.clone());
        let pass = || ran_with("w", &[1], &[("a", "pp")]);
        let fail = || ran_with("o", &[1], &[("a", "ff")]);
        for (without, with) in [
            (blocked(), blocked()),
            (blocked(), pass()),
            (pass(), blocked()),
            (fail(), blocked()),
            (blocked(), fail()),
        ] {
            let decision = decided(Pair { without, with }, seen());
            assert_eq!(decision.verdict, Verdict::Inconclusive);
            assert!(codes(&decision).contains(&code), "{:?}", decision.reasons);
        }
        // At the witness: it matters only if the pin does not decide.
        let witness = || Some(Pair { without: fail(), with: blocked() });
        assert_eq!(decided(all_pass(), witness()).verdict, Verdict::Inconclusive);
        let needed = pair(&[("a", "ff")], &[("a", "pp")]);
        assert_eq!(decided(needed, witness()).verdict, Verdict::Needed);
    }
}

#[test]
fn both_pin_variants_must_differ_in_what_is_read() {
    let same = |without: &[(&str, &str)], with: &[(&str, &str)]| Pair {
        without: ran_with("same", &[1], without),
        with: ran_with("same", &[1], with),
    };
    let pass = [("a", "pp")];
    let fail = [("a", "ff")];
    for (pin, code) in [
        (same(&pass, &pass), "not-built-here"),
        (same(&fail, &fail), "not-built-here"),
        // The same inputs and another result: chance, not the overlay.
        (same(&fail, &pass), "flaky"),
        (same(&pass, &fail), "flaky"),
    ] {
        let decision = decided(pin, seen());
        assert_eq!(decision.verdict, Verdict::Inconclusive);
        assert!(codes(&decision).contains(&code), "{:?}", decision.reasons);
    }
    let mut unknown = pair(&fail, &pass);
    if let State::Ran(ran) = &mut unknown.with {
        ran.inputs = None;
    }
    let decision = decided(unknown, None);
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "inputs-not-known"));
}

#[test]
fn a_test_that_does_not_see_the_overlay_at_the_pin_cannot_clear_its_cases() {
    let same =
        Pair { without: ran_with("s", &[1], &[("a", "pp")]), with: ran_with("s", &[1], &[("a", "pp")]) };
    let mut proof = proof(same, seen());
    proof.tests.push(linked("u"));
    let (pin, witness) = (&mut proof.pin, &mut proof.witness);
    pin.insert(name("u"), pair(&[("x", "pp")], &[("x", "pp")]));
    if let Witness::At(place) = witness {
        place.insert(name("u"), pair(&[("x", "ff")], &[("x", "pp")]));
    }
    let decision = decide(&proof);
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "not-built-here"));
    assert_eq!(cases(&decision.attributed), ["a", "x"]);
}

#[test]
fn loud_failures_that_become_silent_are_in_the_first_line() {
    let pin = pair(
        &[("a", "ff"), ("b", "cc"), ("c", "nn"), ("d", "fc")],
        &[("a", "pp"), ("b", "ff"), ("c", "cc"), ("d", "ff")],
    );
    let decision = decided(pin, None);
    assert_eq!(decision.verdict, Verdict::Needed);
    assert_eq!((cases(&decision.silenced), cases(&decision.unsilenced)), (vec!["b"], vec!["c"]));
    assert!(
        decision.first_line.ends_with("; but 1 case fails loudly without it and silently with it"),
        "{}",
        decision.first_line
    );
    assert!(codes(&decision).contains(&"silenced") && codes(&decision).contains(&"unsilenced"));
}

#[test]
fn a_failure_that_depends_on_history_is_named() {
    let decision = decided(pair(&[("a", "hh")], &[("a", "pp")]), None);
    assert_eq!(decision.verdict, Verdict::Needed);
    assert!(codes(&decision).contains(&"history-dependent"));
}

#[test]
fn skipped_on_both_sides_is_no_case_and_skipped_on_one_is_not_known() {
    let decision = decided(pair(&[("a", "pp"), ("b", "ss")], &[("a", "pp"), ("b", "ss")]), seen());
    assert_eq!(decision.verdict, Verdict::Droppable);
    let decision = decided(pair(&[("a", "pp"), ("b", "ss")], &[("a", "pp"), ("b", "pp")]), seen());
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "one-sided"));
    // What the overlay is there for is skipped.
    let decision = decided(pair(&[("a", "ss"), ("b", "pp")], &[("a", "ss"), ("b", "pp")]), seen());
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "skipped"));
    // Everything is.
    let decision = decided(pair(&[("a", "ss")], &[("a", "ss")]), not_seen());
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "skipped"));
    assert!(decision.reasons[0].text.contains("no device"), "{:?}", decision.reasons);
    let decision = decided(pair(&[("run", "ss")], &[("run", "ss")]), None);
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "skipped"));
}

#[test]
fn compiling_alone_does_not_clear_a_test_whose_device_cases_were_skipped() {
    let mut pin = pair(&[("a", "pp"), ("d", "ss")], &[("a", "pp"), ("d", "ss")]);
    for state in [&mut pin.without, &mut pin.with] {
        if let State::Ran(ran) = state {
            let cells = ran.runs.iter_mut().flat_map(|run| &mut run.cells);
            cells.filter(|cell| cell.case.as_str() == "a").for_each(|cell| cell.compile_only = true);
        }
    }
    let decision = decided(pin, seen());
    assert_eq!((decision.verdict, codes(&decision)[0]), (Verdict::Inconclusive, "no-device"));
}

#[test]
fn a_test_without_an_attributed_case_is_named_unless_it_is_a_guard() {
    let with_second = |guard: bool| {
        let mut proof = proof(all_pass(), seen());
        proof.tests.push(Linked { guard, ..linked("u") });
        proof.pin.insert(name("u"), pair(&[("x", "pp")], &[("x", "pp")]));
        if let Witness::At(place) = &mut proof.witness {
            place.insert(name("u"), pair(&[("x", "pp")], &[("x", "pp")]));
        }
        decide(&proof)
    };
    let decision = with_second(false);
    assert_eq!(decision.verdict, Verdict::Droppable);
    let named: Vec<_> = decision.reasons.iter().filter(|r| r.code == "sees-nothing").collect();
    assert!(named.len() == 1 && named[0].text.contains("`u`"), "{named:?}");
    assert!(!codes(&with_second(true)).contains(&"sees-nothing"));
}

#[test]
fn a_guard_that_breaks_counts() {
    let mut proof = proof(all_pass(), seen());
    proof.tests.push(Linked { guard: true, ..linked("u") });
    proof.pin.insert(name("u"), pair(&[("x", "pp")], &[("x", "ff")]));
    assert_eq!(decide(&proof).verdict, Verdict::Harmful);
}

#[test]
fn what_goes_with_it_is_named() {
    let mut proof = proof(pair(&[("a", "ff")], &[("a", "pp")]), None);
    proof.removed = vec![name("fix"), name("user")];
    let decision = decide(&proof);
    assert_eq!(
        decision.first_line,
        "needed: 1 case fails without it and `user`, which needs it, and passes with it; it breaks none"
    );
    assert!(codes(&decision).contains(&"removed-with"));
}

#[test]
fn no_test_is_unproven_and_says_so() {
    let decision = decide(&Proof { tests: Vec::new(), pin: Place::new(), ..proof(all_pass(), None) });
    assert_eq!((decision.verdict, codes(&decision)), (Verdict::Unproven, vec!["no-tests"]));
}
