//! What a test came to, and from what it ran.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::build::{BuildInputs, TreeRead, digest_of};
use super::elsewhere::BuiltFrom;
use super::{Digest, Machine, VariantNote};
use crate::id::Name;
use crate::kernel_test::{CellOutcome, Run};

/// All that can change what a test reports, save its seed, which each run names itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunInputs {
    /// [`BuildInputs::key`] of the build: a program may open whatever was built with it. Also the names of all
    /// files of the tree: a file that is not there is looked for, too.
    #[serde(default)]
    pub build: Digest,
    /// The program.
    pub binary: Digest,
    /// The libraries that it loads, by name.
    pub libraries: BTreeMap<String, Digest>,
    /// The files that it reads, by path in our repository or in the tree.
    pub files: BTreeMap<String, Digest>,
    /// The program and its arguments, with `{build}` and `{tree}` as they are in the manifest.
    pub command: Vec<String>,
    /// The variables that it is given, save those that differ from run to run.
    pub environment: BTreeMap<String, String>,
    /// `jsonl`, `junit` or `exit`.
    pub format: String,
    /// How long a run may take, in milliseconds.
    pub timeout_ms: u64,
    /// The sanitizers that watch it.
    pub sanitizers: Vec<String>,
    /// What compiled it; also when nothing of it shows in the program.
    pub compiler: String,
    /// [`Machine::class`].
    pub host: String,
    /// The accelerator.
    pub device: Option<String>,
    /// Its driver.
    pub driver: Option<String>,
    /// The version of the rules by which output is read.
    pub protocol: u32,
}

/// The version of the rules by which output is read. A change of them makes older records void.
pub const PROTOCOL: u32 = 2;

/// How names of files begin that were opened in the tree.
pub const OF_TREE: &str = "tree: ";

/// How names of files begin that may have mattered to a run and were not seen to be opened.
pub const MAY_MATTER: &str = "may matter: ";

impl RunInputs {
    /// The result key.
    #[must_use]
    pub fn key(&self) -> Digest {
        digest_of(self)
    }
}

/// Some runs of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ResultRecord {
    /// The test, for readers: it is in no key.
    pub test: Name,
    /// What can change the outcome.
    pub inputs: RunInputs,
    /// What the program was built from, for machines that cannot build or run it. In no key: the build's key is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built_from: Option<BuiltFrom>,
    /// The runs.
    #[serde(with = "super::packed")]
    #[cfg_attr(test, schemars(with = "Vec<super::packed::PackedRun<'static>>"))]
    pub runs: Vec<Run>,
    /// For each sanitizer, what each run under it came to.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sanitized: BTreeMap<String, Vec<CellOutcome>>,
    /// For readers.
    pub variant: VariantNote,
    /// For readers.
    pub machine: Machine,
    /// When it was made, in seconds since 1970.
    pub recorded: i64,
}

/// A hash over all that may have mattered, read or not: names, modes, files that could have been looked for.
#[must_use]
pub fn what_may_matter(run: &RunInputs) -> Digest {
    let of_tree: BTreeMap<&String, &Digest> =
        run.files.iter().filter(|(file, _)| file.contains(OF_TREE)).collect();
    digest_of(&(&run.build, of_tree))
}

/// A hash over all that the compiler and the test read and that an overlay can change. Two variants with the
/// same hash cannot differ: the overlay is not built there.
#[must_use]
pub fn what_was_read(build: &BuildInputs, run: Option<&RunInputs>) -> Digest {
    #[derive(Serialize)]
    struct Read<'a> {
        build: Built<'a>,
        files: Option<BTreeMap<&'a String, &'a Digest>>,
        command: Option<&'a [String]>,
    }
    #[derive(Serialize)]
    struct Built<'a> {
        // Not the names of the other files: a file more that nobody reads is no difference.
        tree: serde_json::Value,
        project: &'a BTreeMap<String, Digest>,
        options: &'a BTreeMap<String, String>,
    }
    let tree = match &build.tree {
        TreeRead::Files { files, .. } => serde_json::to_value(files).unwrap_or_default(),
        TreeRead::Whole { digest } => serde_json::Value::from(digest.as_str()),
    };
    digest_of(&Read {
        build: Built { tree, project: &build.project, options: &build.options },
        // What may have mattered was not read for certain, and our own files are the same on both sides.
        files: run.map(|run| run.files.iter().filter(|(file, _)| file.starts_with(OF_TREE)).collect()),
        command: run.map(|run| run.command.as_slice()),
    })
}
