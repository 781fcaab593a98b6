//! The edge: files, git, processes, the clock and the environment. Everything else takes values.
#![allow(clippy::disallowed_methods, reason = "this is the place that the other modules leave it to")]

#[cfg(feature = "git")]
pub mod built;
#[cfg(feature = "proof")]
pub mod cmake;
#[cfg(feature = "proof")]
pub mod hashes;
#[cfg(feature = "proof")]
pub mod lab;
#[cfg(feature = "proof")]
pub mod loaded;
#[cfg(feature = "git")]
pub mod lock_files;
pub mod locked;
#[cfg(feature = "proof")]
pub mod machine;
#[cfg(feature = "proof")]
pub mod ninja;
pub mod own_files;
#[cfg(feature = "git")]
pub mod own_history;
#[cfg(feature = "proof")]
pub mod process;
#[cfg(feature = "proof")]
pub mod reads;
#[cfg(feature = "git")]
pub mod store;
#[cfg(feature = "proof")]
pub mod toolchain;
pub mod tree;
#[cfg(feature = "proof")]
pub mod verdicts;
pub mod workspace;
