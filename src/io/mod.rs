//! The edges: files, processes, the environment, the clock. Everything else is values.

pub mod cmake;
pub mod hashes;
pub mod ninja;
pub mod process;
pub mod reads;
pub mod toolchain;
