//! The edges: files, processes, the environment, the clock. Everything else is values.

pub mod process;
