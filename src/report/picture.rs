//! The picture of a test's cells: an axis against rows, and the figures on a scale of powers of ten.
//!
//! Decides where each case stands and what it looks like. Shape says what colour says, too: a tall bar fails, a low one
//! passes, one of half height is flaky, a hollow one was not run. Cases next to each other that come out alike are one
//! bar, so that thousands of cells stay a small picture. Never says anything that the cells do not.

mod curve;
mod grid;
mod map;
mod svg;

use crate::verdict::{CellRow, CellView};

pub use grid::{Grid, Place, grids};
pub use svg::{document, inline};

/// What a case came to on one variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Look {
    /// It passes.
    Pass,
    /// It fails.
    Fail,
    /// It passes in some runs and fails in others.
    Flaky,
    /// A figure of speed.
    Measured,
    /// The test chose not to run it.
    Skip,
    /// Nobody ran it, or it was not reached.
    Unrun,
    /// It ran, and what came of it is not known.
    Unknown,
    /// It does not exist there.
    Absent,
}

impl Look {
    /// All of them, as a legend lists them.
    pub const ALL: [Look; 8] = [
        Look::Pass,
        Look::Fail,
        Look::Flaky,
        Look::Measured,
        Look::Skip,
        Look::Unrun,
        Look::Unknown,
        Look::Absent,
    ];

    /// From the word of a cell.
    #[must_use]
    pub fn of(view: &CellView) -> Self {
        match view.outcome {
            "pass" => Look::Pass,
            "fail" => Look::Fail,
            "flaky" => Look::Flaky,
            "measured" => Look::Measured,
            "skip" => Look::Skip,
            "unrun" | "not run" => Look::Unrun,
            "missing" => Look::Absent,
            _ => Look::Unknown,
        }
    }

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Look::Pass => "pass",
            Look::Fail => "fail",
            Look::Flaky => "flaky",
            Look::Measured => "measured",
            Look::Skip => "skip",
            Look::Unrun => "not run",
            Look::Unknown => "unknown",
            Look::Absent => "not there",
        }
    }

    /// A sign that needs no colour.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Look::Pass => "✓",
            Look::Fail => "✗",
            Look::Flaky => "≈",
            Look::Measured => "#",
            Look::Skip => "–",
            Look::Unrun => "○",
            Look::Unknown => "?",
            Look::Absent => "·",
        }
    }

    /// The class that gives it its colour.
    #[must_use]
    pub fn class(self) -> &'static str {
        match self {
            Look::Pass => "pass",
            Look::Fail => "fail",
            Look::Flaky => "flaky",
            Look::Measured => "measured",
            Look::Skip | Look::Unrun | Look::Unknown | Look::Absent => "open",
        }
    }
}

/// A test's bound, where all its cases have the same.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bound {
    /// What is measured.
    pub metric: String,
    /// The largest value that passes.
    pub max: Option<f64>,
}

/// The four places of a row, in the order of the picture: those of the witness, those of the pin.
fn views(row: &CellRow) -> [Option<&CellView>; 4] {
    [row.witness_without.as_ref(), row.witness_with.as_ref(), Some(&row.pin_without), Some(&row.pin_with)]
}
