//! The edge: files, git, processes, the clock and the environment. Everything else takes values.
#![allow(clippy::disallowed_methods, reason = "this is the place that the other modules leave it to")]

pub mod cmake;
pub mod hashes;
pub mod lab;
pub mod loaded;
pub mod lock_files;
pub mod locked;
pub mod machine;
pub mod ninja;
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
pub mod workspace;
