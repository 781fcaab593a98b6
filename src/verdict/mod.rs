//! The decision table: what the evidence says about an overlay, nothing else.
//!
//! Decides from values that were measured. Never runs, reads or writes anything, and never guesses: what was
//! not found out counts as "may pass, may fail", and a verdict is given only if it holds either way.
//!
//! Read [`proof`] (what goes in), [`decision`] (what comes out), then [`table`]. `mark` and `compare` say what
//! a case counts for, `chance` and `bounds` what is no difference, `words` puts it into sentences, [`group`] and
//! [`coverage`] are about dropping, [`rivals`] about alternatives.

mod attribution;
mod bounds;
mod chance;
mod compare;
pub mod coverage;
pub mod decision;
pub mod group;
mod mark;
pub mod proof;
pub mod rivals;
pub mod speed;
pub mod table;
mod words;

pub use decision::{CellRow, CellView, Decision, Exit, Reason, Verdict, Want, Which};
pub use proof::{CellId, Linked, Obstacle, Pair, Place, Proof, Ran, State, Witness};
pub use table::decide;

#[cfg(test)]
mod tests;
