//! The edges: everything that touches files, processes, the clock or the environment.

#[cfg(feature = "git")]
pub mod store;
