//! One run of a test on a variant: a process, and the further ones that go on after a crash.
//!
//! Decides how a process's end bears on its cases. Never counts an exit status against cases that reported
//! (a library may print an error at exit after right results), and never blames a case for a SIGKILL.

use serde::{Deserialize, Serialize};

use super::cell::{CaseKey, Cell, CellOutcome, FailHow, Unknown};

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// It never ran: the program is not there, or cannot be run, or the machine lacks something.
    NotStarted {
        /// What is in the way.
        why: String,
    },
}

/// A process that ran a test, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// How it ended.
    pub end: End,
    /// How long it ran, in milliseconds.
    pub millis: u64,
}

/// A part of the output that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// One cell a case, in the order of their first mention; the pseudo-case `run` among them.
    pub cells: Vec<Cell>,
    /// What could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// What is odd and decides nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Run {
    /// The cell of a case.
    #[must_use]
    pub fn cell(&self, case: &CaseKey) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.case == *case)
    }
}
