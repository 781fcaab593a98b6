//! The lexers against what really reads the languages: Clang, Python, CMake, the `toml` crate.
//!
//! `OVERLAID_CASES` sets how many cases each test makes. `OVERLAID_TEST_ORACLES=require` turns a missing oracle
//! into a failure.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod c;
mod cmake;
mod generator;
mod oracle;
mod python;
mod toml;

use overlaid::id::UpstreamPath;
use overlaid::lex::{Comparison, Delta, compare};

/// What is known about two texts of a file.
fn delta(name: &str, a: &[u8], b: &[u8]) -> Option<Delta> {
    match compare(&UpstreamPath::parse(name).unwrap(), a, b) {
        Comparison::Known(delta) => Some(delta),
        Comparison::Unknown(_) => None,
    }
}
