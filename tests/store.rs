//! The store of an upstream, against git itself.

mod ancestry;
mod git;
mod history;
mod objects;
mod open;
