//! The edge: files, git, processes, the clock and the environment. Everything else takes values.

pub mod cmake;
pub mod hashes;
pub mod lab;
pub mod loaded;
pub mod ninja;
pub mod process;
pub mod reads;
pub mod toolchain;
// pub mod workspace; (needs the manifest's parser)
