//! What comes out of it all, for people: the page, the picture of cells, formats for CI.
//!
//! Decides what is said and how it is laid out. Never reads a file and never measures anything.

pub mod ci;
pub mod explain;
pub mod page;
pub mod picture;
