//! Carry changes on top of somebody else's repository, and know what they do, what they undo, and whether they
//! are still needed.
//!
//! # Concepts
//!
//! An *upstream* is a git repository of somebody else. A *manifest* pins one of its commits and names *overlays*:
//! changes that are carried on it. A *tree* is a folder of upstream sources with the overlays on them. A *variant* is
//! a commit and a set of overlays; *kernel tests* run on variants and report a figure for each of their cases. Records of
//! such runs are *evidence*, and what they say about an overlay is a *verdict*.
//!
//! # How to read it
//!
//! The way the data goes is the order in which to read:
//!
//! 1. [`id`] and [`mod@tree`]: the vocabulary. A text becomes a name or a path once, and is valid ever after.
//! 2. [`manifest`]: from TOML to a model.
//! 3. [`upstream`]: what can be asked of an upstream. `io::store` answers from git objects.
//! 4. [`overlay`]: what a set of overlays makes of a commit's tree; [`merge`] and [`overlay::diff`] help.
//! 5. [`provenance`]: what an overlay is, measured against history. [`lex`] tells comments from code.
//!    [`lock`] is what is kept of the answers for places without git; `io::locked` applies from it.
//! 6. [`plan`]: from the tree that is wanted and the one that is there to steps. `io::tree` takes them.
//! 7. [`verify`]: the checks.
//! 8. [`bump`]: what a move of the pin makes of the overlays. [`refresh`] and [`split`]: what a person's edits make of
//!    them. [`export`]: what they are in other tools' formats.
//! 9. [`mod@import`] and [`pins`]: from what people have to manifests and overlays.
//! 10. [`kernel_test`], [`variant`], [`evidence`], [`verdict`]: the proof. `io::lab` builds and runs. [`bisect`]: since when.
//! 11. `report`: what may be said of an overlay, and on what grounds.
//!
//! Everything outside of [`io`] and [`cli`] takes values and gives values: no files, no processes, no clock, no
//! environment. `Err` means "could not find out"; a conflict, a failing case or a file that drifted is an answer.
//!
//! # An example
//!
//! Two texts that differ in comments only, and two that do not, though it looks like it:
//!
//! ```
//! use overlaid::id::UpstreamPath;
//! use overlaid::lex::{Comparison, Delta, compare};
//!
//! let path = UpstreamPath::parse("src/kernel.cu")?;
//! let base = b"int width = 1;\nint height = 2;\n";
//! let noted = b"int width = 1; // in elements\nint height = 2;\n";
//! assert_eq!(compare(&path, base, noted), Comparison::Known(Delta::Comments));
//!
//! // A comment that ends in a backslash goes on in the next line, and takes `height` with it.
//! let swallowed = b"int width = 1; // in elements \\\nint height = 2;\n";
//! assert_eq!(compare(&path, base, swallowed), Comparison::Known(Delta::Code));
//! # Ok::<(), overlaid::id::PathError>(())
//! ```
//!
//! # Features
//!
//! `cli` (default) is the program. `git` is the library with git objects and merges, `proof` builds variants and runs
//! tests on them. Without features: manifests, tokens, plans, locks and trees, with few dependencies, for build scripts;
//! see [`build_script`]. `cmake` gives those a configuration of the crate `cmake`, and `serde` gives the values of the
//! vocabulary serde's traits; `git` and `proof` turn it on.

#[cfg(feature = "git")]
pub mod accept;
#[cfg(feature = "proof")]
pub mod bisect;
#[cfg(feature = "cli")]
pub mod blame;
pub mod build_script;
#[cfg(feature = "git")]
pub mod bump;
#[cfg(any(feature = "git", feature = "proof"))]
pub mod canonical_json;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
pub mod cmake_script;
pub mod diagnostic;
pub mod escape;
#[cfg(feature = "proof")]
pub mod evidence;
#[cfg(feature = "cli")]
pub mod export;
pub mod gitmodules;
pub mod id;
#[cfg(feature = "cli")]
pub mod import;
pub mod io;
#[cfg(feature = "proof")]
pub mod kernel_test;
pub mod lex;
pub mod lock;
pub mod manifest;
pub mod merge;
pub mod overlay;
#[cfg(feature = "git")]
mod parallel;
#[cfg(feature = "cli")]
pub mod pins;
pub mod plan;
#[cfg(feature = "git")]
pub mod provenance;
#[cfg(feature = "cli")]
pub mod refresh;
#[cfg(feature = "cli")]
pub mod report;
mod sha1;
pub mod sorted;
#[cfg(feature = "cli")]
pub mod split;
pub mod tree;
pub mod upstream;
#[cfg(feature = "proof")]
pub mod variant;
#[cfg(feature = "proof")]
pub mod verdict;
#[cfg(feature = "git")]
pub mod verify;
