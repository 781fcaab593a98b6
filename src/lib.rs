//! Carry changes on top of somebody else's repository.
//!
//! The guide to this crate is written last; until then read the modules in the order below.

pub mod canonical_json;
#[cfg(feature = "cli")]
pub mod cli;
pub mod diagnostic;
pub mod escape;
pub mod evidence;
pub mod id;
pub mod io;
pub mod kernel_test;
pub mod lex;
pub mod manifest;
#[cfg(feature = "git")]
pub mod merge;
#[cfg(feature = "git")]
pub mod overlay;
pub mod plan;
#[cfg(feature = "git")]
pub mod provenance;
pub mod tree;
pub mod upstream;
pub mod variant;
pub mod verdict;
#[cfg(feature = "git")]
pub mod verify;
