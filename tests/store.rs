//! The store of an upstream, against git itself.

mod ancestry;
mod damaged;
mod git;
mod history;
mod objects;
mod open;
