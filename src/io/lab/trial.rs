//! One run of a kernel test: a process, and fresh ones that go on where it crashed.
//!
//! Decides when a fresh process is started, and what it is told to leave out. What the results mean is
//! `kernel_test`'s business.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::io::process::{self, Environment, How, OUTPUT_CAP, ProcessError, Program};
use crate::kernel_test::{CaseKey, CellOutcome, End, FailHow, Process, Run, Unknown, exit, jsonl, junit};
use crate::manifest::Format;

/// How many fresh processes one run may take. A sweep in which more cases crash has said enough.
const FRESH_PROCESSES: usize = 200;

/// How many times one run may wait until its time is up.
const TIMEOUTS: usize = 2;

/// A test that is ready to run on a variant.
#[derive(Debug)]
pub struct Trial<'a> {
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// What it is given, save what changes from process to process.
    pub env: &'a Environment,
    /// How it reports.
    pub format: Format,
    /// How long one process may take.
    pub timeout: Duration,
    /// The folder of what it prints and reports.
    pub folder: &'a Path,
    /// Where the time of a whole run ends: no fresh process is started after that.
    pub patience: Duration,
    /// Why the device is not here that the test needs; `None`: it is, or none is needed.
    pub no_device: Option<&'a str>,
}

impl Trial<'_> {
    /// Runs the test from the start with a seed. `number` tells runs with one seed apart.
    ///
    /// # Errors
    /// If we are told to stop. A program that is not there, or that cannot be run, is a result.
    pub fn run(&self, seed: u64, number: usize) -> Result<Run, ProcessError> {
        self.go_on(None, seed, number)
    }

    /// Runs the test, but for the cases that `begun` has: another process has run them. A test that does not leave
    /// them out has run from the start, and what was begun does not count.
    ///
    /// # Errors
    /// As [`Trial::run`].
    pub fn go_on(&self, begun: Option<Run>, seed: u64, number: usize) -> Result<Run, ProcessError> {
        let run = self.to_its_end(begun, seed, number)?;
        Ok(match self.no_device {
            Some(text) => run.ended_without_device(text),
            None => run,
        })
    }

    fn to_its_end(&self, begun: Option<Run>, seed: u64, number: usize) -> Result<Run, ProcessError> {
        let mut processes = 0;
        let mut next = |only: Option<&CaseKey>, skip: &BTreeSet<CaseKey>| {
            processes += 1;
            self.run_process(seed, &format!("run-{number}-seed-{seed}-process-{processes}"), only, skip)
        };
        let none = BTreeSet::new();
        let done = begun.as_ref().map(mentioned).unwrap_or_default();
        let mut part = next(None, &done)?;
        let has_left_out = mentioned(&part).is_disjoint(&done);
        let mut run = match begun.filter(|_| has_left_out) {
            Some(begun) => begun.then(part.clone()),
            None => part.clone(),
        };
        if self.format != Format::Jsonl {
            return Ok(run);
        }
        while self.can_go_on(&run) && was_cut_short(&part) {
            let known = mentioned(&run);
            let in_case = ended_in_case(&part);
            part = next(None, &known)?;
            let news = mentioned(&part);
            if news.is_empty() && !in_case {
                // It crashes when all is done, with and without cases: nothing is left to run.
                run.processes.extend(part.processes);
                break;
            }
            let is_new = news.iter().any(|case| !known.contains(case));
            run = run.then(part.clone());
            // A test that does not know OVERLAID_SKIP starts from the beginning again: that leads nowhere.
            if !is_new {
                break;
            }
        }
        // Several cases were being run when the process died: one at a time tells which it was.
        let open =
            run.cells.iter().filter(|cell| is_one_of_several(&cell.outcome)).map(|cell| cell.case.clone());
        for case in open.collect::<Vec<_>>() {
            if self.can_go_on(&run) {
                let part = next(Some(&case), &none)?;
                run = run.then(part);
            }
        }
        Ok(run)
    }

    /// Runs these cases, each in a process of its own.
    ///
    /// # Errors
    /// As [`Trial::run`].
    pub fn alone(&self, seed: u64, number: usize, cases: &BTreeSet<CaseKey>) -> Result<Run, ProcessError> {
        let mut whole: Option<Run> = None;
        for (index, case) in cases.iter().enumerate() {
            let name = format!("run-{number}-seed-{seed}-process-{}", index + 1);
            let part = self.run_process(seed, &name, Some(case), &BTreeSet::new())?;
            whole = Some(match whole {
                Some(whole) => whole.then(part),
                None => part,
            });
        }
        Ok(whole.unwrap_or_else(|| not_started(seed, "no case was named".to_owned())))
    }

    /// Runs the test once, whatever becomes of it. What it prints goes to files of this name.
    ///
    /// # Errors
    /// As [`Trial::run`].
    pub fn once(&self, seed: u64, name: &str) -> Result<Run, ProcessError> {
        self.run_process(seed, name, None, &BTreeSet::new())
    }

    fn can_go_on(&self, run: &Run) -> bool {
        let spent: u64 = run.processes.iter().map(|process| process.millis).sum();
        let timeouts = run.processes.iter().filter(|process| process.end == End::TimedOut).count();
        run.processes.len() < FRESH_PROCESSES
            && timeouts < TIMEOUTS
            && Duration::from_millis(spent) < self.patience
            && !run.processes.iter().any(|process| matches!(process.end, End::NotStarted { .. }))
    }

    fn run_process(
        &self,
        seed: u64,
        name: &str,
        only: Option<&CaseKey>,
        skip: &BTreeSet<CaseKey>,
    ) -> Result<Run, ProcessError> {
        let file = |kind: &str| self.folder.join(format!("{name}.{kind}"));
        let scratch = self.folder.join("scratch");
        let mut env = self.env.clone();
        let prepared = || -> std::io::Result<Environment> {
            if scratch.exists() {
                std::fs::remove_dir_all(&scratch)?;
            }
            std::fs::create_dir_all(&scratch)?;
            env.set("TMPDIR", &scratch);
            env.set("OVERLAID_SEED", seed.to_string());
            env.set("OVERLAID_RESULTS", file("results"));
            if self.no_device.is_some() {
                env.set("OVERLAID_NEEDS", "compile");
            }
            let _ = std::fs::remove_file(file("results"));
            let lines = |cases: &mut dyn Iterator<Item = &CaseKey>| -> String {
                cases.map(|case| format!("{case}\n")).collect()
            };
            if let Some(case) = only {
                std::fs::write(file("only"), lines(&mut std::iter::once(case)))?;
                env.set("OVERLAID_ONLY", file("only"));
            }
            if !skip.is_empty() {
                std::fs::write(file("skip"), lines(&mut skip.iter()))?;
                env.set("OVERLAID_SKIP", file("skip"));
            }
            Ok(env)
        };
        let env = match prepared() {
            Ok(env) => env,
            Err(error) => return Ok(not_started(seed, format!("{}: {error}", self.folder.display()))),
        };
        let Some((program, args)) = self.command.split_first() else {
            return Ok(not_started(seed, "the test has no command".to_owned()));
        };
        let program = Program {
            program: PathBuf::from(program),
            args: args.to_vec(),
            dir: scratch.clone(),
            env,
            stdout: file("stdout"),
            stderr: file("stderr"),
            timeout: Some(self.timeout),
            cap: OUTPUT_CAP,
        };
        let finished = match process::run(&program) {
            Ok(finished) => finished,
            Err(error @ ProcessError::Interrupted { .. }) => return Err(error),
            Err(error) => return Ok(not_started(seed, error.to_string())),
        };
        let _ = std::fs::remove_dir_all(&scratch);
        let end = match finished.how {
            How::Exited(status) => End::Exit { status },
            How::Signaled(signal) => End::Signal { signal },
            How::TimedOut => End::TimedOut,
        };
        let millis = u64::try_from(finished.wall.as_millis()).unwrap_or(u64::MAX);
        let process = Process { end, millis };
        let results = read_capped(&file("results")).filter(|results| !results.is_empty());
        let stdout = read_capped(&program.stdout).unwrap_or_default();
        let is_too_long = |results: &Vec<u8>| u64::try_from(results.len()).is_ok_and(|len| len >= OUTPUT_CAP);
        let is_cut = finished.truncated || results.as_ref().is_some_and(is_too_long);
        let run = match self.format {
            Format::Jsonl => match results {
                Some(results) => jsonl::parse_both(seed, &results, &stdout, process),
                None => jsonl::parse(seed, &stdout, jsonl::Source::Stdout, process),
            },
            Format::Junit => junit::parse(seed, &results.unwrap_or(stdout), process),
            Format::Exit => return Ok(exit::from_exit(seed, process)),
        };
        let run = match self.no_device {
            Some(text) => run.without_device(text),
            None => run,
        };
        if is_cut {
            return Ok(run.cut_off("it printed more than is kept: the rest of its results is lost"));
        }
        Ok(run)
    }
}

/// What a process of a run printed, as far as it is still there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The file with more in it: what went to standard error, or else to standard output.
    pub file: PathBuf,
    /// Its last lines.
    pub tail: Vec<String>,
}

/// What the process of a run printed: run and process are counted from 1.
#[must_use]
pub fn kept_output(folder: &Path, run: usize, seed: u64, process: usize) -> Option<Kept> {
    const LINES: usize = 6;
    let file = |kind: &str| folder.join(format!("run-{run}-seed-{seed}-process-{process}.{kind}"));
    let is_written = |file: &PathBuf| std::fs::metadata(file).is_ok_and(|data| data.len() > 0);
    let file = [file("stderr"), file("stdout")].into_iter().find(is_written)?;
    let bytes = read_capped(&file)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let tail = lines.iter().skip(lines.len().saturating_sub(LINES)).map(|line| (*line).to_owned()).collect();
    Some(Kept { file, tail })
}

fn not_started(seed: u64, why: String) -> Run {
    Run::nothing(seed, Process { end: End::NotStarted { why }, millis: 0 })
}

fn read_capped(file: &Path) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(file).ok()?.take(OUTPUT_CAP).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The cases that were announced or reported so far.
fn mentioned(run: &Run) -> BTreeSet<CaseKey> {
    run.cells.iter().map(|cell| &cell.case).filter(|case| !case.is_pseudo()).cloned().collect()
}

/// Whether the process ended in the middle of a case, or crashed between cases: there may be more.
fn was_cut_short(part: &Run) -> bool {
    let by_itself = |process: &Process| !matches!(process.end, End::Exit { .. } | End::NotStarted { .. });
    let between = !mentioned(part).is_empty() && part.processes.last().is_some_and(by_itself);
    let from_outside = part.cells.iter().any(|cell| {
        matches!(
            &cell.outcome,
            CellOutcome::Unknown {
                why: Unknown::Killed { .. } | Unknown::Protocol { .. } | Unknown::NoDevice { .. }
            }
        )
    });
    (ended_in_case(part) || between) && !from_outside
}

/// Whether a case was being run when the process ended.
fn ended_in_case(part: &Run) -> bool {
    part.cells.iter().filter(|cell| !cell.case.is_pseudo()).any(|cell| {
        matches!(
            &cell.outcome,
            CellOutcome::Fail { how: FailHow::Crash { .. } | FailHow::Died { .. } }
                | CellOutcome::Unknown {
                    why: Unknown::Timeout | Unknown::NoResult | Unknown::OneOfSeveral { .. }
                }
        )
    })
}

fn is_one_of_several(outcome: &CellOutcome) -> bool {
    matches!(outcome, CellOutcome::Unknown { why: Unknown::OneOfSeveral { .. } })
}

#[cfg(test)]
mod tests;
