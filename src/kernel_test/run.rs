//! One run of a test on a variant: a process, and the further ones that go on after a crash.
//!
//! Decides how a process's end bears on its cases. Never counts an exit status against cases that reported
//! (a library may print an error at exit after right results), and never blames a case for a SIGKILL.

use serde::{Deserialize, Serialize};

use super::cell::{CaseKey, Cell, CellOutcome, FailHow, Unknown};

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "how")]
pub enum End {
    /// With this status.
    Exit {
        /// The status.
        status: i32,
    },
    /// By this signal.
    Signal {
        /// The signal's number.
        signal: i32,
    },
    /// It and all that it started was ended at the timeout.
    TimedOut,
    /// Not by itself: we were ended while it ran. What it had finished counts.
    LeftOff,
    /// It never ran: the program is not there, or cannot be run, or the machine lacks something.
    NotStarted {
        /// What is in the way.
        why: String,
    },
}

/// A process that ran a test, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Process {
    /// How it ended.
    pub end: End,
    /// How long it ran, in milliseconds.
    pub millis: u64,
}

/// A part of the output that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Problem {
    /// The line, from 1; 0: the output as a whole.
    pub line: usize,
    /// What is wrong with it.
    pub text: String,
}

/// What one run of a test on a variant came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The seed that it was given. Same seed, same inputs.
    pub seed: u64,
    /// Its processes, in order: one, unless cases crashed.
    pub processes: Vec<Process>,
    /// One cell a case, in the order of their first mention; the pseudo-case `run` last.
    pub cells: Vec<Cell>,
    /// What could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// What is odd and decides nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What a process's end says about a case that was being run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Blame {
    /// The case did it.
    Case(FailHow),
    /// Something else did it, or it cannot be told.
    Nobody(Unknown),
}

impl End {
    /// What the end says about the one case that was being run.
    pub(super) fn blame(&self) -> Blame {
        match *self {
            End::Exit { status: 0 } => Blame::Nobody(Unknown::NoResult),
            End::Exit { status } if status > 128 => match Signal::of(status - 128) {
                Signal::Fault(signal) => Blame::Case(FailHow::Crash { signal }),
                Signal::Outside(signal) => killed(signal),
                Signal::Unheard => Blame::Case(FailHow::Died { status }),
            },
            End::Exit { status } => Blame::Case(FailHow::Died { status }),
            End::Signal { signal } => match Signal::of(signal) {
                Signal::Fault(signal) => Blame::Case(FailHow::Crash { signal }),
                Signal::Outside(_) | Signal::Unheard => killed(signal),
            },
            End::TimedOut => Blame::Nobody(Unknown::Timeout),
            End::LeftOff => {
                Blame::Nobody(Unknown::Killed { text: "left off: we were ended from outside".to_owned() })
            }
            End::NotStarted { ref why } => Blame::Nobody(Unknown::Missing { text: why.clone() }),
        }
    }

    /// The end in words, to go after "the process".
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            End::Exit { status } => format!("ended with status {status}"),
            End::Signal { signal } => format!("ended by signal {signal}"),
            End::TimedOut => "was ended at its timeout".to_owned(),
            End::LeftOff => "was left off, and gone on with".to_owned(),
            End::NotStarted { why } => format!("did not start: {why}"),
        }
    }
}

fn killed(signal: i32) -> Blame {
    Blame::Nobody(Unknown::Killed { text: format!("ended from outside by signal {signal}") })
}

/// Who sends a signal.
enum Signal {
    /// The processor, or the program itself: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS.
    Fault(i32),
    /// A person, the system, a limit: SIGKILL (also out of memory), SIGTERM, SIGINT, SIGPIPE, SIGXCPU, ...
    Outside(i32),
    /// No such signal.
    Unheard,
}

impl Signal {
    fn of(number: i32) -> Self {
        match number {
            4 | 5 | 6 | 7 | 8 | 11 | 31 => Signal::Fault(number),
            1..=64 => Signal::Outside(number),
            _ => Signal::Unheard,
        }
    }
}

impl Run {
    /// The cell of a case.
    #[must_use]
    pub fn cell(&self, case: &CaseKey) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.case == *case)
    }

    /// A run of which nothing is known, for example because the program is not there.
    #[must_use]
    pub fn nothing(seed: u64, process: Process) -> Self {
        let outcome = without_results(&process.end);
        let cells = vec![Cell::new(CaseKey::run(), outcome, process.millis)];
        Run { seed, processes: vec![process], cells, problems: Vec::new(), notes: Vec::new() }
    }

    /// This run, of which a part of the output is lost: what stood there is not known.
    #[must_use]
    pub fn cut_off(mut self, text: &str) -> Run {
        let text = text.to_owned();
        if let Some(run) = self.cells.iter_mut().find(|cell| cell.case == CaseKey::run()) {
            run.outcome = CellOutcome::Unknown { why: Unknown::Protocol { text: text.clone() } };
        }
        self.problems.push(Problem { line: 0, text });
        self
    }

    /// This run on a machine without the device that its profile requires: of cases that need more than the compiler
    /// nothing is known, whatever was reported.
    #[must_use]
    pub fn without_device(mut self, text: &str) -> Run {
        for cell in self.cells.iter_mut().filter(|cell| !cell.compile_only && cell.case != CaseKey::run()) {
            cell.outcome = CellOutcome::Unknown { why: Unknown::NoDevice { text: text.to_owned() } };
            cell.figure = None;
        }
        self
    }

    /// This run, as [`Run::without_device`] and to its end: there may be cases that nobody has heard of.
    #[must_use]
    pub fn ended_without_device(self, text: &str) -> Run {
        let mut run = self.without_device(text);
        if let Some(whole) = run.cells.iter_mut().find(|cell| cell.case == CaseKey::run()) {
            whole.outcome = CellOutcome::Unknown { why: Unknown::NoDevice { text: text.to_owned() } };
        }
        run
    }

    /// This run, gone on with in a fresh process. Cases that had no outcome get the new one; two outcomes
    /// that disagree are contradictory.
    #[must_use]
    pub fn then(mut self, next: Run) -> Run {
        let silent_end = matches!(next.processes.last(), Some(Process { end: End::Exit { status: 0 }, .. }));
        for cell in next.cells {
            match self.cells.iter_mut().find(|old| old.case == cell.case) {
                None => {
                    // The pseudo-case `run` stays last.
                    let place = self.cells.iter().position(|old| old.case == CaseKey::run());
                    self.cells.insert(place.unwrap_or(self.cells.len()), cell);
                }
                Some(old) if cell.case != CaseKey::run() => go_on(old, cell),
                Some(old) => old.outcome = run_outcome(&old.outcome, cell.outcome, silent_end),
            }
        }
        self.processes.extend(next.processes);
        self.problems.extend(next.problems);
        self.notes.extend(next.notes);
        self
    }
}

fn go_on(old: &mut Cell, new: Cell) {
    let open = matches!(
        old.outcome,
        CellOutcome::Unrun { .. } | CellOutcome::Unknown { why: Unknown::OneOfSeveral { .. } }
    );
    if open {
        *old = new;
    } else if !matches!(old.outcome, CellOutcome::Unknown { .. }) && old.outcome != new.outcome {
        old.outcome = CellOutcome::Unknown { why: Unknown::Contradictory };
    }
}

/// The pseudo-case `run` of a run that goes on in a fresh process.
fn run_outcome(old: &CellOutcome, new: CellOutcome, silent_end: bool) -> CellOutcome {
    let nothing_left = CellOutcome::Unknown { why: Unknown::NothingReported };
    match (old, new) {
        // Asked for what is left, it ends well and says nothing: nothing is left.
        (CellOutcome::Unrun { .. }, new) if silent_end && new == nothing_left => CellOutcome::Pass,
        (old, new) if silent_end && new == nothing_left => old.clone(),
        (CellOutcome::Unrun { .. }, new) => new,
        (CellOutcome::Pass, new @ (CellOutcome::Unknown { .. } | CellOutcome::Unrun { .. })) => new,
        (old @ CellOutcome::Unknown { .. }, _) => old.clone(),
        (old, new) if *old == new => new,
        _ => CellOutcome::Unknown { why: Unknown::Contradictory },
    }
}

/// The outcome of the pseudo-case `run` when the process ended while it ran a case: what comes after that
/// case has not been run.
pub(super) fn cut_short(end: &End) -> CellOutcome {
    match end.blame() {
        Blame::Nobody(why @ Unknown::Killed { .. }) => CellOutcome::Unknown { why },
        // A case without a result in the middle, and the rest went on.
        Blame::Nobody(Unknown::NoResult) => CellOutcome::Pass,
        _ => CellOutcome::Unrun { why: format!("the process {} and did not go on", end.text()) },
    }
}

/// The outcome of the pseudo-case `run` when nothing at all was reported.
pub(super) fn without_results(end: &End) -> CellOutcome {
    match end {
        End::Exit { status: 77 } => CellOutcome::Skip { why: "exit status 77".to_owned() },
        End::Exit { status: 126 | 127 } => {
            let text = "exit status 126 or 127: a shell or the loader could not run a program".to_owned();
            CellOutcome::Unknown { why: Unknown::Missing { text } }
        }
        // Without results a plain status may as well mean a missing device or a wrong argument.
        End::Exit { status } if *status <= 128 => CellOutcome::Unknown { why: Unknown::NothingReported },
        end => match end.blame() {
            Blame::Case(how @ FailHow::Crash { .. }) => CellOutcome::Fail { how },
            Blame::Case(_) => CellOutcome::Unknown { why: Unknown::NothingReported },
            Blame::Nobody(why) => CellOutcome::Unknown { why },
        },
    }
}

/// The outcome of the pseudo-case `run` when something was reported, and no case is open to take the blame.
/// `announces`: the test says which case it is about to run, so that a crash outside of cases takes none
/// with it.
pub(super) fn with_results(end: &End, announces: bool, problems: &[Problem]) -> CellOutcome {
    if let Some(first) = problems.first() {
        let place = if first.line > 0 { format!("line {}: ", first.line) } else { String::new() };
        let more = match problems.len() {
            1 => String::new(),
            n => format!(" (and {} more)", n - 1),
        };
        let text = format!("{place}{}{more}", first.text);
        return CellOutcome::Unknown { why: Unknown::Protocol { text } };
    }
    match end {
        End::Exit { status } if *status <= 128 => CellOutcome::Pass,
        end => match end.blame() {
            Blame::Nobody(why @ Unknown::Killed { .. }) => CellOutcome::Unknown { why },
            Blame::Case(_) | Blame::Nobody(Unknown::Timeout) if !announces => {
                let text = format!("the process {} and does not announce its cases", end.text());
                CellOutcome::Unknown { why: Unknown::Protocol { text } }
            }
            _ => CellOutcome::Pass,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(cells: &[(&str, CellOutcome)], end: End) -> Run {
        let cells = cells
            .iter()
            .map(|(name, outcome)| {
                let key = if *name == "run" { CaseKey::run() } else { CaseKey::from_junit("t", name) };
                Cell::new(key, outcome.clone(), 5)
            })
            .collect();
        Run {
            seed: 1,
            processes: vec![Process { end, millis: 5 }],
            cells,
            problems: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn unknown(why: Unknown) -> CellOutcome {
        CellOutcome::Unknown { why }
    }

    const CRASH: CellOutcome = CellOutcome::Fail { how: FailHow::Crash { signal: 11 } };
    const PASS: CellOutcome = CellOutcome::Pass;

    #[test]
    fn a_crash_is_the_cases_and_a_kill_is_not() {
        for signal in [4, 5, 6, 7, 8, 11, 31] {
            assert_eq!(End::Signal { signal }.blame(), Blame::Case(FailHow::Crash { signal }));
            assert_eq!(End::Exit { status: 128 + signal }.blame(), Blame::Case(FailHow::Crash { signal }));
        }
        for signal in [1, 2, 9, 13, 15, 24] {
            assert!(matches!(End::Signal { signal }.blame(), Blame::Nobody(Unknown::Killed { .. })));
            let end = End::Exit { status: 128 + signal };
            assert!(matches!(end.blame(), Blame::Nobody(Unknown::Killed { .. })));
        }
        assert_eq!(End::Exit { status: 3 }.blame(), Blame::Case(FailHow::Died { status: 3 }));
        assert_eq!(End::Exit { status: 255 }.blame(), Blame::Case(FailHow::Died { status: 255 }));
        assert_eq!(End::Exit { status: 0 }.blame(), Blame::Nobody(Unknown::NoResult));
        assert_eq!(End::TimedOut.blame(), Blame::Nobody(Unknown::Timeout));
    }

    #[test]
    fn without_a_device_only_what_needs_the_compiler_alone_counts() {
        let mut seen = run(&[("a", PASS), ("b", CRASH), ("c", PASS), ("run", PASS)], End::Exit { status: 1 });
        seen.cells[2].compile_only = true;
        let seen = seen.ended_without_device("no GPU");
        let none = || unknown(Unknown::NoDevice { text: "no GPU".into() });
        let outcomes: Vec<_> = seen.cells.iter().map(|cell| cell.outcome.clone()).collect();
        assert_eq!(outcomes, [none(), none(), PASS, none()]);
    }

    #[test]
    fn a_run_goes_on_after_a_crash() {
        let cut = CellOutcome::Unrun { why: "crash".into() };
        let first = run(&[("a", PASS), ("b", CRASH), ("run", cut)], End::Signal { signal: 11 });
        let second = run(&[("c", PASS), ("run", PASS)], End::Exit { status: 0 });
        let whole = first.then(second);
        let outcomes: Vec<_> = whole.cells.iter().map(|c| (c.case.as_str(), c.outcome.clone())).collect();
        assert_eq!(outcomes, [("t.a", PASS), ("t.b", CRASH), ("t.c", PASS), ("run", PASS)]);
        assert_eq!(whole.processes.len(), 2);
    }

    #[test]
    fn a_fresh_process_with_nothing_left_to_run_says_nothing_and_spoils_nothing() {
        let cut = || CellOutcome::Unrun { why: "crash".into() };
        let first = run(&[("b", CRASH), ("run", cut())], End::Signal { signal: 11 });
        let next = Run::nothing(1, Process { end: End::Exit { status: 0 }, millis: 1 });
        assert_eq!(first.then(next).cell(&CaseKey::run()).unwrap().outcome, PASS);
        let first = run(&[("b", CRASH), ("run", cut())], End::Signal { signal: 11 });
        let next = Run::nothing(1, Process { end: End::Exit { status: 1 }, millis: 1 });
        let outcome = first.then(next).cell(&CaseKey::run()).unwrap().outcome.clone();
        assert_eq!(outcome, unknown(Unknown::NothingReported));
    }

    #[test]
    fn a_fresh_process_settles_which_of_several_crashed_and_contradicts_nothing_quietly() {
        let open = unknown(Unknown::OneOfSeveral { text: "ended by signal 11".into() });
        let first = run(&[("a", open.clone()), ("b", open), ("c", PASS)], End::Signal { signal: 11 });
        let second = run(&[("a", PASS), ("b", CRASH), ("c", CRASH)], End::Signal { signal: 11 });
        let whole = first.then(second);
        assert_eq!(whole.cells[0].outcome, PASS);
        assert_eq!(whole.cells[1].outcome, CRASH);
        assert_eq!(whole.cells[2].outcome, unknown(Unknown::Contradictory));
    }
}
