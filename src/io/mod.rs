//! The edge: files, git, processes, the clock and the environment. Everything else takes values.

pub mod tree;
pub mod workspace;
