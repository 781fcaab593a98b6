//! Was what we overlay really built? Each overlaid path against what the steps of a build have read.
//!
//! Decides from records of a build that are already read. What is not recorded is unknown, never a pass. It does not
//! decide whether the content of the tree is right: that is the check of the tree.

pub mod commands;
pub mod deps_log;
pub mod makefile;
pub mod ninja_file;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::escape::for_terminal;
use crate::id::{OverlayName, UpstreamPath};
use crate::lex::Language;

use super::Finding;

/// What a build folder records of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Build {
    /// The steps that the build has now; those of earlier configures are none.
    pub steps: Vec<Step>,
    /// The files that CMake read.
    pub configure: BTreeSet<PathBuf>,
    /// When CMake wrote the build files.
    pub configured: Option<SystemTime>,
    /// Whether some steps ran that record nothing of what they read.
    pub blind: bool,
}

/// A step of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What it makes, as the build names it.
    pub output: String,
    /// When that was made; `None` if it is not there.
    pub made: Option<SystemTime>,
    /// What it read.
    pub inputs: Inputs,
}

/// What a step read. Paths are absolute and without links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inputs {
    /// What the compiler says that it read.
    Recorded(BTreeSet<PathBuf>),
    /// What the build file says that the step needs. Nothing tells what of it was read.
    Declared(BTreeSet<PathBuf>),
    /// The record is of another run than the output that is there.
    Outdated(BTreeSet<PathBuf>),
}

/// An overlaid path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlaid {
    /// The path.
    pub path: UpstreamPath,
    /// The last overlay that made it.
    pub overlay: Option<OverlayName>,
    /// Where it is on disk, without links on the way; for a path that overlays delete, where it would be.
    pub file: PathBuf,
    /// The same with a link at its end followed.
    pub target: PathBuf,
    /// When it was written; `None` if it is not there.
    pub written: Option<SystemTime>,
    /// Whether overlays delete it.
    pub deleted: bool,
}

/// What a build did with an overlaid path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// A compiler read it as it is now.
    Compiled,
    /// CMake read it as it is now.
    Configured,
    /// A step that records nothing has it as an input and ran after it was written.
    Declared {
        /// What the step makes.
        output: String,
    },
    /// It was built before the path became what it is now.
    Behind {
        /// What is older.
        output: String,
    },
    /// No step read it.
    NotRead,
    /// A step would read it, and did not run yet.
    NotBuilt {
        /// What it would make.
        output: String,
    },
    /// Overlays delete it, and nothing of the build knows it.
    Gone,
    /// The records do not say.
    Unknown {
        /// Why not.
        why: String,
    },
}

/// Judges one path.
#[must_use]
pub fn judge(overlaid: &Overlaid, build: &Build) -> Reading {
    let is_it = |input: &PathBuf| *input == overlaid.file || *input == overlaid.target;
    let reads = |inputs: &BTreeSet<PathBuf>| inputs.iter().any(is_it);
    let readers = || build.steps.iter().filter(|step| step.made.is_some() && reads(step.inputs.files()));
    if overlaid.deleted {
        return match readers().next() {
            Some(step) => Reading::Behind { output: step.output.clone() },
            None => Reading::Gone,
        };
    }
    let Some(written) = overlaid.written else {
        return Reading::Unknown { why: "it is not in the tree".to_owned() };
    };
    if is_read_by_cmake(&overlaid.path) && build.configure.iter().any(is_it) {
        return match build.configured {
            Some(configured) if configured >= written => Reading::Configured,
            _ => Reading::Behind { output: "what CMake wrote".to_owned() },
        };
    }
    let is_older = |step: &&Step| step.made.is_some_and(|made| made < written);
    if let Some(step) = readers().find(is_older) {
        return Reading::Behind { output: step.output.clone() };
    }
    let mut declared = None;
    let mut outdated = None;
    for step in readers() {
        match step.inputs {
            Inputs::Recorded(_) => return Reading::Compiled,
            Inputs::Declared(_) => declared = declared.or(Some(step)),
            Inputs::Outdated(_) => outdated = outdated.or(Some(step)),
        }
    }
    if let Some(step) = declared {
        return Reading::Declared { output: step.output.clone() };
    }
    if let Some(step) = outdated {
        let why = format!("what is recorded of `{}` is of an earlier run", step.output);
        return Reading::Unknown { why };
    }
    if let Some(step) = build.steps.iter().find(|step| step.made.is_none() && reads(step.inputs.files())) {
        return Reading::NotBuilt { output: step.output.clone() };
    }
    if build.blind {
        return Reading::Unknown { why: "this build does not record what all of its steps read".to_owned() };
    }
    Reading::NotRead
}

/// The folder in which a build read the same path, where that is not the tree. For a file at the top of a tree nothing is
/// said: many folders have a file of its name.
#[must_use]
pub fn read_elsewhere(overlaid: &Overlaid, build: &Build) -> Option<PathBuf> {
    let path = overlaid.path.to_os_path();
    path.parent().filter(|folder| *folder != Path::new(""))?;
    let read = build.steps.iter().flat_map(|step| step.inputs.files()).chain(&build.configure);
    let mut same =
        read.filter(|file| file.ends_with(path) && **file != overlaid.file && **file != overlaid.target);
    let depth = path.components().count();
    same.next()?.ancestors().nth(depth).map(Path::to_owned)
}

impl Inputs {
    /// What it read, or would.
    #[must_use]
    pub fn files(&self) -> &BTreeSet<PathBuf> {
        match self {
            Inputs::Recorded(files) | Inputs::Declared(files) | Inputs::Outdated(files) => files,
        }
    }
}

/// Whether CMake itself reads such a file when it configures. Other files can be among those that CMake looks at, too:
/// a project can ask to be configured again when they change, and that reads nothing.
#[must_use]
pub fn is_read_by_cmake(path: &UpstreamPath) -> bool {
    Language::of_path(path) == Some(Language::CMake) || path.as_bytes().ends_with(b".in")
}

/// The finding for a path, if there is something to say.
#[must_use]
pub fn check(overlaid: &Overlaid, reading: &Reading, folder: &str) -> Option<Finding> {
    let path = for_terminal(overlaid.path.as_bytes());
    let finding = match reading {
        Reading::Compiled | Reading::Configured | Reading::Gone => return None,
        Reading::Declared { output } => {
            let message = format!("{path} is an input of the step that makes `{}`", for_terminal(output));
            Finding::new(crate::diagnostic::Severity::Note, "compiled-declared", message)
                .note("nothing records what that step reads, so the build file is taken at its word")
        }
        Reading::Behind { output } if overlaid.deleted => {
            let message =
                format!("{path} is deleted by an overlay, and `{}` was made from it", for_terminal(output));
            Finding::error("build-behind", message).hint(format!("build again: cmake --build {folder}"))
        }
        Reading::Behind { output } => {
            let message = format!(
                "the build is behind: {path} was written after `{}` was made from it",
                for_terminal(output)
            );
            Finding::error("build-behind", message).hint(format!("build again: cmake --build {folder}"))
        }
        Reading::NotRead => {
            let message = format!("no step of the build in `{folder}` read {path}");
            let is_source = matches!(
                Language::of_path(&overlaid.path),
                Some(language) if language != Language::Python && language != Language::Toml
            );
            let finding = if is_source {
                Finding::error("not-compiled", message)
            } else {
                Finding::warning("not-compiled", message)
            };
            finding.hint("does this profile build it? If not, say so with `when`; if so, look whether another file is compiled in its place")
        }
        Reading::NotBuilt { output } => {
            let message = format!("{path} was not compiled: `{}` is not there", for_terminal(output));
            Finding::error("not-compiled", message).hint(format!("build it: cmake --build {folder}"))
        }
        Reading::Unknown { why } => {
            let message = format!("cannot tell whether {path} was compiled: {}", for_terminal(why));
            Finding::error("compiled-unknown", message).hint(format!("build again: cmake --build {folder}"))
        }
    };
    let finding = finding.on(&overlaid.path);
    Some(match &overlaid.overlay {
        Some(overlay) => finding.of(overlay),
        None => finding,
    })
}

#[cfg(test)]
mod tests;
