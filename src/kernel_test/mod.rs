//! What a kernel test said: its output as bytes, in; one outcome per case, out.
//!
//! Decides what each case's outcome is and what several runs of one variant together say about a case.
//! Never compares variants (that is [`crate::verdict`]) and never starts a process.
//!
//! Read [`cell`] first (the outcomes), then [`run`] (one run), [`jsonl`], [`junit`] and [`exit`] (the three
//! formats), [`sanitizer`] (what tools that watch a run wrote), last [`repeats`] (several runs of the same thing).

pub mod cell;
pub mod exit;
pub mod jsonl;
pub mod junit;
pub mod ranges;
pub mod repeats;
pub mod run;
pub mod sanitizer;

pub use cell::{Better, CaseKey, Cell, CellOutcome, FailHow, Figure, Manner, Unknown};
pub use run::{End, Problem, Process, Run};
