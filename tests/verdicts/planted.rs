//! Situations with a planted truth: programs that misbehave in a known way on some of the four variants write
//! what real tests write, and the parsers, the decision and its wants are played to the end.
//!
//! The truth comes from what was planted. The table is not asked for it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use overlaid::id::Name;
use overlaid::kernel_test::jsonl::{self, Source};
use overlaid::kernel_test::{End, Process, Run};
use overlaid::verdict::{
    Decision, Linked, Obstacle, Pair, Place, Proof, Ran, State, Verdict, Which, Witness, decide,
};

use crate::support::random::Random;

/// What a case does on one variant.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Does {
    Right,
    Wrong,
    NotANumber,
    Crashes,
    Aborts,
    Refuses,
    Hangs,
    /// Fails at random with this rate.
    Sometimes(f64),
    /// Fails with the second seed, always.
    WithSeed(u64),
    /// Right if memory was filled with 0 before, wrong otherwise.
    ByHistory,
    /// The process ends with status 0 in the middle of it.
    Leaves,
    /// Is not mentioned.
    Absent,
    /// Is skipped.
    Skips,
}

/// What the whole test does on one variant.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Test {
    Runs,
    CrashesAtStart,
    SaysNothing,
    IsKilled,
    Garbles,
    DoesNotBuild,
    HasNoDevice,
    HasNoCompiler,
    DoesNotMerge,
}

#[derive(Debug, Clone)]
struct Variant {
    test: Test,
    cases: Vec<Does>,
    /// Where two variants have the same, the compiler reads the same.
    source: u32,
}

/// A situation: the four variants, and what is true of the overlay.
struct Situation {
    kind: &'static str,
    /// Witness without and with, pin without and with.
    variants: [Variant; 4],
    /// The right verdict; `None`: what was planted hides the answer.
    truth: Option<Verdict>,
    /// Whether a definite answer is to be expected. Not so where luck decides what is seen.
    decidable: bool,
    witness_is_pin: bool,
}

impl Situation {
    /// Whether what is seen depends on luck.
    fn is_by_luck(&self) -> bool {
        self.truth.is_some() && !self.decidable
    }
}

const CASES: usize = 4;

/// A way of failing that every run shows.
fn fault(random: &mut Random) -> Does {
    use Does::*;
    [Wrong, NotANumber, Crashes, Aborts, Refuses, Hangs, ByHistory][random.below(7)]
}

/// A way of failing that says something wrong or ends, and does not hang: a hang on both sides is no answer.
fn plain_fault(random: &mut Random) -> Does {
    use Does::*;
    [Wrong, NotANumber, Crashes, Aborts, Refuses][random.below(5)]
}

fn right() -> Vec<Does> {
    vec![Does::Right; CASES]
}

fn with_fault(case: usize, does: Does) -> Vec<Does> {
    let mut cases = right();
    cases[case] = does;
    cases
}

type Make = fn(&mut Random) -> Situation;

fn situation(kind: &'static str, truth: impl Into<Option<Verdict>>, cases: [Vec<Does>; 4]) -> Situation {
    let mut source = 0;
    let variants = cases.map(|cases| {
        source += 1;
        Variant { test: Test::Runs, cases, source }
    });
    let truth = truth.into();
    Situation { kind, variants, decidable: truth.is_some(), truth, witness_is_pin: false }
}

/// The fault at the witness, mended by the overlay, and whatever the pin is.
fn after_fault(
    kind: &'static str,
    truth: impl Into<Option<Verdict>>,
    random: &mut Random,
    pin: [Vec<Does>; 2],
) -> Situation {
    let does = fault(random);
    let [without, with] = pin;
    situation(kind, truth, [with_fault(1, does), right(), without, with])
}

/// All kinds of situations.
const KINDS: &[Make] = &[
    |r| {
        let does = fault(r);
        after_fault("the fault is still there", Verdict::Needed, r, [with_fault(1, does), right()])
    },
    |r| after_fault("upstream mended it", Verdict::Droppable, r, [right(), right()]),
    |r| {
        // Upstream mended what the overlay is there for, and another case fails on both sides.
        let does = plain_fault(r);
        let both = || with_fault(3, does);
        after_fault("upstream mended it, another fails", Verdict::Droppable, r, [both(), both()])
    },
    |r| {
        let does = fault(r);
        after_fault("a rollback", Verdict::Harmful, r, [right(), with_fault(2, does)])
    },
    |r| {
        let (one, two) = (fault(r), fault(r));
        after_fault("mends one, breaks one", Verdict::Mixed, r, [with_fault(1, one), with_fault(2, two)])
    },
    |r| {
        let does = plain_fault(r);
        let both = || with_fault(1, does);
        after_fault("upstream moved the code", Verdict::Ineffective, r, [both(), both()])
    },
    |r| {
        let does = plain_fault(r);
        let other = || with_fault(0, does);
        let pin = [other(), other()];
        let [without, with] = pin;
        situation("tests that are blind", Verdict::Unproven, [right(), right(), without, with])
    },
    |r| {
        let does = fault(r);
        let pin = [with_fault(1, does), right()];
        let mut made = after_fault("the witness is the pin", Verdict::Needed, r, pin);
        made.witness_is_pin = true;
        made
    },
    |_| {
        let mut made = situation(
            "the witness is the pin, no difference",
            Verdict::Unproven,
            [right(), right(), right(), right()],
        );
        made.witness_is_pin = true;
        made
    },
    |r| {
        // Mended in part: three cases fail without, one of them with it, too.
        let (mut without, mut with) = (right(), right());
        without[..3].fill_with(|| plain_fault(r));
        with[2] = plain_fault(r);
        after_fault("mended in part", Verdict::Needed, r, [without, with])
    },
    |r| {
        let does = fault(r);
        let mut made = after_fault("a feature", Verdict::Needed, r, [right(), right()]);
        for index in [0, 2] {
            made.variants[index].test = Test::DoesNotBuild;
        }
        if r.at_rate(0.3) {
            made.variants[3].cases = with_fault(0, does);
        }
        made
    },
    |r| {
        let mut made =
            after_fault("a feature that upstream has by now", Verdict::Droppable, r, [right(), right()]);
        made.variants[0].test = Test::DoesNotBuild;
        made
    },
    |r| {
        let mut made = after_fault("the overlay breaks the build", Verdict::Harmful, r, [right(), right()]);
        made.variants[3].test = Test::DoesNotBuild;
        made
    },
    |r| {
        let mut made = after_fault("crashes before the first case", Verdict::Needed, r, [right(), right()]);
        made.variants[2].test = Test::CrashesAtStart;
        made
    },
    |r| {
        let seed = Does::WithSeed(2);
        after_fault("fails with some inputs only", Verdict::Needed, r, [with_fault(1, seed), right()])
    },
    |r| {
        // A fault that upstream mended, seen at the witness now and then.
        let rate = [0.9, 0.6, 0.4][r.below(3)];
        let cases = [with_fault(1, Does::Sometimes(rate)), right(), right(), right()];
        let mut made = situation("a rare fault that upstream mended", Verdict::Droppable, cases);
        made.decidable = false;
        made
    },
    |r| {
        let rate = [0.9, 0.6, 0.4][r.below(3)];
        let rare = || with_fault(1, Does::Sometimes(rate));
        let mut made = situation(
            "a rare fault that is still there",
            Verdict::Needed,
            [rare(), right(), rare(), right()],
        );
        made.decidable = false;
        made
    },
    |r| {
        // A case that has nothing to do with the overlay fails now and then on both sides.
        let rate = [0.8, 0.5, 0.3][r.below(3)];
        let both = || with_fault(3, Does::Sometimes(rate));
        let mut made = after_fault("another case is flaky", Verdict::Droppable, r, [both(), both()]);
        made.decidable = false;
        made
    },
    |r| {
        after_fault(
            "it hangs on both sides",
            None,
            r,
            [with_fault(1, Does::Hangs), with_fault(1, Does::Hangs)],
        )
    },
    |r| after_fault("fewer cases without it", None, r, [with_fault(1, Does::Absent), right()]),
    |r| {
        let gone = || with_fault(1, Does::Absent);
        after_fault("the case is gone at the pin", None, r, [gone(), gone()])
    },
    |r| after_fault("its case is skipped without it", None, r, [with_fault(1, Does::Skips), right()]),
    |r| {
        let skipped = || with_fault(1, Does::Skips);
        after_fault("its case is skipped at the pin", None, r, [skipped(), skipped()])
    },
    |r| after_fault("the process leaves in the middle", None, r, [with_fault(1, Does::Leaves), right()]),
    |r| hidden("no output", Test::SaysNothing, r),
    |r| hidden("ended from outside", Test::IsKilled, r),
    |r| hidden("garbled output", Test::Garbles, r),
    |r| hidden("no device", Test::HasNoDevice, r),
    |r| hidden("no compiler", Test::HasNoCompiler, r),
    |r| {
        let mut made = after_fault("it does not merge at the witness", None, r, [right(), right()]);
        made.variants[1].test = Test::DoesNotMerge;
        made
    },
    |r| {
        let mut made = after_fault("builds on neither side", None, r, [right(), right()]);
        for variant in &mut made.variants[2..] {
            variant.test = Test::DoesNotBuild;
        }
        made
    },
    |r| {
        let mut made = after_fault("not built here", None, r, [right(), right()]);
        made.variants[3].source = made.variants[2].source;
        made
    },
    |r| {
        // Not built here, and a case that fails at random looks like a difference.
        let rare = || with_fault(1, Does::Sometimes(0.5));
        let mut made = after_fault("not built here, and flaky", None, r, [rare(), rare()]);
        made.variants[3].source = made.variants[2].source;
        made
    },
];

/// Something that hides what one of the pin's variants would have come to.
fn hidden(kind: &'static str, test: Test, random: &mut Random) -> Situation {
    let mut made = after_fault(kind, None, random, [right(), right()]);
    let side = random.below(3);
    if side != 1 {
        made.variants[2].test = test;
    }
    if side != 0 {
        made.variants[3].test = test;
    }
    made
}

/// How the program of a situation talks.
struct Habits {
    /// Foreign lines on standard output.
    noise: bool,
    /// The status it ends with though all is well (an error at exit), or though cases fail.
    status: i32,
}

const TIMEOUT_MS: u64 = 1000;

/// Runs the program until it is through: a fresh process goes on after a crash.
fn run(variant: &Variant, seed: u64, habits: &Habits, random: &mut Random) -> Run {
    let mut whole: Option<Run> = None;
    let mut done = 0;
    loop {
        let (text, end, reached) = process(variant, seed, done, habits, random);
        let millis = if end == End::TimedOut { TIMEOUT_MS } else { 20 };
        let source = if habits.noise { Source::Stdout } else { Source::ResultsFile };
        let part = jsonl::parse(seed, text.as_bytes(), source, Process { end: end.clone(), millis });
        let next = match whole {
            None => part,
            Some(before) => before.then(part),
        };
        whole = Some(next.clone());
        let cut_short = matches!(end, End::Signal { signal: 11 } | End::Exit { status: 3 } | End::TimedOut);
        if !cut_short || reached <= done {
            return next;
        }
        done = reached;
    }
}

/// What one process writes and how it ends; the last is how many cases are done.
fn process(
    variant: &Variant,
    seed: u64,
    done: usize,
    habits: &Habits,
    random: &mut Random,
) -> (String, End, usize) {
    let mut text = String::new();
    match variant.test {
        Test::CrashesAtStart => return (text, End::Signal { signal: 11 }, 0),
        Test::SaysNothing => return (text, End::Exit { status: 0 }, CASES),
        Test::Garbles => {
            let line = "{\"case\": {\"n\": 0}, \"metric\": \"rel_err\", \"value\": 0.0";
            return (format!("{line}\n"), End::Exit { status: 0 }, CASES);
        }
        _ => {}
    }
    for (n, does) in variant.cases.iter().enumerate().skip(done) {
        if variant.test == Test::IsKilled && n == 2 {
            return (text, End::Signal { signal: 9 }, CASES);
        }
        if habits.noise {
            let _ = writeln!(text, "[{n}] device 0: \"fine\" {{not json}}");
        }
        let case = format!("{{\"case\": {{\"n\": {n}, \"dtype\": \"bf16\"}}");
        if *does == Does::Absent {
            continue;
        }
        if *does == Does::Skips {
            let _ = writeln!(text, "{case}, \"status\": \"skip\", \"why\": \"not here\"}}");
            continue;
        }
        let _ = writeln!(text, "{case}, \"status\": \"start\"}}");
        let figure =
            |value: &str| format!("{case}, \"metric\": \"rel_err\", \"value\": {value}, \"max\": 0.01}}\n");
        let good = format!("{:e}", 1e-5 * (1.0 + random.below(100) as f64));
        let bad = format!("{}", 0.3 + random.below(60) as f64 / 100.0);
        match *does {
            Does::Right => text.push_str(&figure(&good)),
            Does::Wrong => text.push_str(&figure(&bad)),
            Does::NotANumber => text.push_str(&figure(["nan", "-inf", "null", "NaN"][random.below(4)])),
            Does::Crashes => return (text, End::Signal { signal: 11 }, n + 1),
            Does::Aborts => return (text, End::Exit { status: 3 }, n + 1),
            Does::Refuses => {
                let _ = writeln!(text, "{case}, \"status\": \"error\", \"why\": \"unsupported\"}}");
            }
            Does::Hangs => return (text, End::TimedOut, n + 1),
            Does::Leaves => return (text, End::Exit { status: 0 }, CASES),
            Does::Sometimes(rate) => text.push_str(&figure(if random.at_rate(rate) { &bad } else { &good })),
            Does::WithSeed(bad_seed) => text.push_str(&figure(if seed == bad_seed { &bad } else { &good })),
            Does::ByHistory => {
                for (fill, value) in [("0", &good), ("100", &bad)] {
                    let _ = writeln!(text, "{case}, \"fill\": {fill}, \"value\": {value}, \"max\": 0.01}}");
                }
            }
            Does::Absent | Does::Skips => {}
        }
    }
    // Nothing was left to do.
    let status = if text.is_empty() { 0 } else { habits.status };
    (text, End::Exit { status }, CASES)
}

fn test_name() -> Name {
    Name::parse("sweep").unwrap()
}

/// Asks for a decision, runs what it wants, and asks again, until it wants nothing.
fn play(made: &Situation, random: &mut Random) -> (Decision, usize) {
    let habits = Habits { noise: random.at_rate(0.5), status: [0, 0, 1, 2][random.below(4)] };
    let mut states: [State; 4] = Default::default();
    let mut runs = 0;
    for _round in 0..40 {
        let decision = decide(&proof(made, &states));
        if decision.wants.is_empty() {
            return (decision, runs);
        }
        for want in &decision.wants {
            let index = match want.which {
                Which::WitnessWithout => 0,
                Which::WitnessWith => 1,
                Which::PinWithout => 2,
                Which::PinWith => 3,
            };
            runs += grow(&mut states[index], &made.variants[index], &want.seeds, &habits, random);
        }
    }
    panic!("{}: it never ends", made.kind);
}

/// Runs a variant with more seeds.
fn grow(state: &mut State, variant: &Variant, seeds: &[u64], habits: &Habits, random: &mut Random) -> usize {
    let blocked = match variant.test {
        Test::HasNoDevice => Some(Obstacle::Device("no device".into())),
        Test::HasNoCompiler => Some(Obstacle::Toolchain("no compiler".into())),
        Test::DoesNotMerge => Some(Obstacle::Conflict("a.cu".into())),
        _ => None,
    };
    if let Some(obstacle) = blocked {
        *state = State::Blocked(obstacle);
        return 0;
    }
    if variant.test == Test::DoesNotBuild {
        *state = State::BuildFailed { toolchain: "cc".into(), text: "no member `rms`".into() };
        return 0;
    }
    if !matches!(state, State::Ran(_)) {
        *state = State::Ran(Ran {
            toolchain: "cc".into(),
            inputs: Some(variant.source.to_string()),
            surroundings: None,
            runs: Vec::new(),
            sanitized: BTreeMap::new(),
        });
    }
    let State::Ran(ran) = state else { return 0 };
    ran.runs.extend(seeds.iter().map(|seed| run(variant, *seed, habits, random)));
    seeds.len()
}

fn proof(made: &Situation, states: &[State; 4]) -> Proof {
    let place = |without: &State, with: &State| {
        let pair = Pair { without: without.clone(), with: with.clone() };
        Place::from([(test_name(), pair)])
    };
    let witness =
        if made.witness_is_pin { Witness::IsPin } else { Witness::At(place(&states[0], &states[1])) };
    let overlay = Name::parse("fix").unwrap();
    Proof {
        overlay: overlay.clone(),
        removed: vec![overlay],
        redundant: false,
        tests: vec![Linked {
            name: test_name(),
            guard: false,
            repeats: 3,
            timeout_ms: TIMEOUT_MS,
            min_gain: 0.05,
            sanitizers: Vec::new(),
        }],
        pin: place(&states[2], &states[3]),
        witness,
    }
}

/// How many situations of each kind are made; more where luck decides what is seen.
const EACH: u64 = 25;
const EACH_BY_LUCK: u64 = 200;

#[test]
#[expect(
    clippy::disallowed_macros,
    reason = "the table of what came out is what a person reads of this test"
)]
fn planted_situations_get_their_verdict_or_none() {
    let mut table: BTreeMap<(&str, String), BTreeMap<&str, u32>> = BTreeMap::new();
    let (mut decidable, mut definite, mut by_luck, mut most_runs) = (0, 0, 0, 0);
    let (mut wrong, mut unlucky) = (Vec::new(), Vec::new());
    for (index, make) in KINDS.iter().enumerate() {
        let each = if make(&mut Random::new(0)).is_by_luck() { EACH_BY_LUCK } else { EACH };
        for seed in 0..each {
            let mut random = Random::new(1000 * index as u64 + seed);
            let made = make(&mut random);
            let (decision, runs) = play(&made, &mut random);
            most_runs = most_runs.max(runs);
            let verdict = decision.verdict;
            let truth = made.truth.map_or("-".to_owned(), |truth| truth.to_string());
            *table.entry((made.kind, truth)).or_default().entry(verdict.as_str()).or_default() += 1;
            let open = verdict == Verdict::Inconclusive;
            assert!(!open || !decision.reasons.is_empty(), "{}: no reason", made.kind);
            by_luck += u32::from(made.is_by_luck());
            if made.decidable {
                decidable += 1;
                definite += usize::from(!open);
            }
            // A rare fault that no run showed: a person decides.
            let unseen = made.is_by_luck() && verdict == Verdict::Unproven;
            if !open && !unseen && Some(verdict) != made.truth {
                let list = if made.is_by_luck() { &mut unlucky } else { &mut wrong };
                list.push(format!("{} (seed {seed}): {}", made.kind, decision.first_line));
            }
        }
    }
    println!("{:<40} {:<12} came out as", "planted", "truth");
    for ((kind, truth), verdicts) in &table {
        println!("{kind:<40} {truth:<12} {verdicts:?}");
    }
    println!(
        "{definite} of {decidable} decidable ones are definite; at most {most_runs} runs for one overlay"
    );
    println!("{} of {by_luck} situations in which luck decides came out wrong: {unlucky:#?}", unlucky.len());
    assert!(wrong.is_empty(), "wrong verdicts: {wrong:#?}");
    // What the rules promise of chance: wrong one time in a hundred at most.
    assert!(unlucky.len() * 100 <= by_luck as usize, "{unlucky:#?}");
    assert!(definite * 100 >= decidable * 95, "{definite} of {decidable}");
    assert!(decidable >= 60);
}
