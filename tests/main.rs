//! All integration tests, in one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests touch files and say what they skip"
)]

#[allow(dead_code)]
mod support;

mod accept;
mod alone;
mod apply;
mod attest;
mod base;
mod bisect;
mod budget;
mod build_script;
mod bump;
mod cmake_module;
mod compiled_in;
mod cookbook;
mod cuda;
mod diff;
mod diff_command;
mod drop;
mod drop_at_once;
mod edit;
mod evidence_schema;
mod export;
mod histories;
mod import;
mod init;
mod integrations;
mod killed;
mod lex;
mod lock;
mod manifest;
mod manuals;
mod merge;
mod notes;
mod page;
mod planted;
mod prove;
mod prove_inputs;
mod python;
mod report;
mod rivals;
mod rowops;
mod sanitizers;
mod speed;
mod split;
mod status;
mod store;
mod submodule;
mod tileattn;
mod together;
mod verdicts;
mod verify;
mod verify_evidence;
mod which;
