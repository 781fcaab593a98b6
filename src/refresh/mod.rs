//! Changing an overlay by editing the files that it makes.
//!
//! [`Stand`] decides what an overlay stands on: the pin with the overlays that go on before it. [`plan()`] decides what
//! edits of that state make of the files of ours: whole files are replaced, of a patch only the parts for edited files are
//! cut anew. Never reads a file, and never guesses who a change belongs to: one on a path that is not the overlay's is
//! refused, or becomes an overlay of its own.

mod plan;
mod recut;
mod stand;

pub use plan::{Others, Planned, Question, RefreshError, added_patch, plan};
pub use recut::{PathSides, recut};
pub use stand::{Sides, Stand};
