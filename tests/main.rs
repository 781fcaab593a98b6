//! All integration tests, in one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[allow(dead_code)]
mod support;

mod apply;
mod diff;
mod manifest;
mod status;
mod store;
mod verdicts;
mod verify;
