//! What happens in the lab, for those who watch.

use std::path::PathBuf;
use std::time::Duration;

use crate::id::Name;

/// What happens meanwhile, for those who watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Somebody else uses the folder; this run waits.
    Waiting {
        /// The folder.
        folder: PathBuf,
    },
    /// A tree is made what a variant says.
    Flipping {
        /// The variant.
        variant: String,
        /// How many paths overlays change in it.
        changes: usize,
    },
    /// A test is configured and built.
    Building {
        /// The test.
        test: Name,
        /// The variant.
        variant: String,
    },
    /// It was.
    Built {
        /// How many steps that took.
        steps: usize,
        /// How long.
        wall: Duration,
    },
    /// It does not build.
    BuildFailed {
        /// Where and why.
        what: String,
        /// All that was printed.
        log: PathBuf,
    },
    /// A test runs.
    Running {
        /// The test.
        test: Name,
        /// The variant.
        variant: String,
        /// The program and its arguments.
        command: String,
        /// How many times.
        times: usize,
    },
    /// A run that was interrupted is gone on with.
    GoingOn {
        /// How many cases it had finished.
        cases: usize,
    },
    /// One of the runs is done.
    RanOnce {
        /// Which.
        number: usize,
        /// Of how many.
        of: usize,
    },
    /// All of them are; the figures are those of the run in which most cells failed.
    Ran {
        /// Cells that passed.
        passed: usize,
        /// Cells that failed.
        failed: usize,
        /// All others.
        other: usize,
        /// How long it took.
        wall: Duration,
    },
    /// A sanitizer has watched a run, or could not.
    Watched {
        /// Which.
        tool: &'static str,
        /// What that came to, in words that follow its name.
        came_to: String,
    },
    /// What came of a step, in words.
    Told(String),
    /// Something to know.
    Warning(String),
}
