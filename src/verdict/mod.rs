//! The decision table: what the evidence says about an overlay, nothing else.
//!
//! Decides from values that were measured. Never runs, reads or writes anything, and never guesses: what was
//! not found out counts as "may pass, may fail", and a verdict is given only if it holds either way.
//!
//! Read [`proof`] (what goes in), then [`decision`] (what comes out).

pub mod decision;
pub mod proof;

pub use decision::{CellRow, CellView, Decision, Exit, Reason, Verdict, Want, Which};
pub use proof::{CellId, Linked, Obstacle, Pair, Place, Proof, Ran, State, Witness};
