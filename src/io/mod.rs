//! The edge: files, git, processes, the clock and the environment. Everything else takes values.
#![allow(clippy::disallowed_methods, reason = "this is the place that the other modules leave it to")]

#[cfg(feature = "git")]
pub mod own_files;
#[cfg(feature = "git")]
pub mod own_history;
#[cfg(feature = "git")]
pub mod store;
pub mod tree;
#[cfg(feature = "git")]
pub mod workspace;
