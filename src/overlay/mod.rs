//! The kinds of overlay, and what a path's content becomes.

pub mod diff;
