//! The edge: files, git, processes, the clock and the environment. Everything else takes values.
#![allow(clippy::disallowed_methods, reason = "this is the place that the other modules leave it to")]

#[cfg(feature = "git")]
pub mod bump_work;
pub mod cmake;
pub mod hashes;
pub mod lab;
pub mod loaded;
pub mod ninja;
#[cfg(feature = "git")]
pub mod own_edits;
#[cfg(feature = "git")]
pub mod own_files;
#[cfg(feature = "git")]
pub mod own_history;
pub mod process;
pub mod reads;
#[cfg(feature = "git")]
pub mod store;
pub mod toolchain;
pub mod tree;
pub mod verdicts;
#[cfg(feature = "git")]
pub mod workspace;
