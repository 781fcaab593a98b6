//! Carry changes on top of somebody else's repository.
//!
//! The guide to this crate is written last; until then read the modules in the order below.

pub mod escape;
pub mod id;
pub mod io {
    //! The edge: files, git, processes, the clock and the environment. Everything else takes values.
    pub mod tree;
}
pub mod plan;
pub mod tree;
pub mod upstream;
