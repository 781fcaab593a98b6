//! A test that says what it found by its exit status alone: 0 pass, 77 skip, anything else fail.
//!
//! Never takes a program that did not run, or was ended from outside, for one that failed.

use super::cell::{CaseKey, Cell, CellOutcome, FailHow};
use super::run::{End, Process, Run, without_results};

/// The run that a process's end stands for: one cell, the pseudo-case `run`.
#[must_use]
pub fn from_exit(seed: u64, process: Process) -> Run {
    let outcome = match process.end {
        End::Exit { status: 0 } => CellOutcome::Pass,
        End::Exit { status } if !matches!(status, 77 | 126 | 127) && status <= 128 => {
            CellOutcome::Fail { how: FailHow::Status { status } }
        }
        ref end => match (without_results(end), end) {
            (CellOutcome::Unknown { why: super::Unknown::NothingReported }, End::Exit { status }) => {
                CellOutcome::Fail { how: FailHow::Status { status: *status } }
            }
            (outcome, _) => outcome,
        },
    };
    let cells = vec![Cell::new(CaseKey::run(), outcome, process.millis)];
    Run { seed, processes: vec![process], cells, problems: Vec::new(), notes: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_test::Unknown;

    fn outcome(end: End) -> CellOutcome {
        let run = from_exit(7, Process { end, millis: 3 });
        assert_eq!((run.seed, run.cells.len(), run.cells[0].case.as_str()), (7, 1, "run"));
        run.cells[0].outcome.clone()
    }

    #[test]
    fn the_status_is_the_outcome() {
        assert_eq!(outcome(End::Exit { status: 0 }), CellOutcome::Pass);
        assert!(matches!(outcome(End::Exit { status: 77 }), CellOutcome::Skip { .. }));
        for status in [1, 2, 125, 128, 200, 255] {
            let how = FailHow::Status { status };
            assert_eq!(outcome(End::Exit { status }), CellOutcome::Fail { how }, "{status}");
        }
    }

    #[test]
    fn a_crash_fails_and_what_did_not_run_or_was_ended_from_outside_is_unknown() {
        let crash = CellOutcome::Fail { how: FailHow::Crash { signal: 11 } };
        assert_eq!(outcome(End::Signal { signal: 11 }), crash);
        assert_eq!(outcome(End::Exit { status: 139 }), crash);
        assert_eq!(outcome(End::TimedOut), CellOutcome::Unknown { why: Unknown::Timeout });
        for end in [
            End::Exit { status: 127 },
            End::Exit { status: 137 },
            End::Signal { signal: 9 },
            End::NotStarted { why: "no such file".into() },
        ] {
            assert!(matches!(outcome(end.clone()), CellOutcome::Unknown { .. }), "{end:?}");
        }
    }
}
