//! Carry changes on top of somebody else's repository.
//!
//! The guide to this crate is written last; until then read the modules in the order below.

pub mod id;
pub mod io;
pub mod tree;
