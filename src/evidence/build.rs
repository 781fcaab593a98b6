//! What was built from what.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Digest, Machine, VariantNote};
use crate::canonical_json;
use crate::id::UpstreamPath;
use crate::tree::Entry;

/// All that can change what a build makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildInputs {
    /// What of the upstream's tree.
    pub tree: TreeRead,
    /// Our own files that it was built from (the project, its sources), by path in our repository.
    pub project: BTreeMap<String, Digest>,
    /// What the build system was told: cache variables, the target, the environment that it heeds.
    pub options: BTreeMap<String, String>,
    /// The compiler, the linker, CMake and ninja: versions, and hashes of the programs.
    pub toolchain: String,
}

/// What a build read of the upstream's tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "read")]
pub enum TreeRead {
    /// It ended well, and said which files it read. `paths` is a hash over the names of all files: one more
    /// file could have been found first by an `#include` or a glob. Where it could not be watched which files were
    /// read, it is [`tree_digest`].
    Files {
        /// The files that were read.
        files: BTreeMap<UpstreamPath, Entry>,
        /// [`paths_digest`] or [`tree_digest`] of the tree.
        paths: Digest,
    },
    /// It failed, or it cannot say: anything of the tree may have mattered. [`tree_digest`] of it.
    Whole {
        /// The hash.
        digest: Digest,
    },
}

/// What a build came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum BuildOutcome {
    /// It made these files: path in the build directory, hash.
    Built {
        /// The program of the test first of all, and the libraries that it loads.
        outputs: BTreeMap<String, Digest>,
    },
    /// The sources do not configure, compile or link.
    Failed {
        /// The first error.
        text: String,
    },
}

/// The machine of a build: where it looked, what it opened there. In no key. The failure of a build holds only
/// where all of it is the same, for a compiler that failed did not say all that it read and looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeOn {
    /// Hashes over folders and files of the machine. None: it is not known.
    pub machine: Vec<Digest>,
    /// A hash over the names of all our own files.
    pub names: Option<Digest>,
}

impl MadeOn {
    /// Whether it is not known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.machine.is_empty()
    }
}

/// A build: inputs, outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BuildRecord {
    /// What can change the outcome.
    pub inputs: BuildInputs,
    /// What it came to.
    pub outcome: BuildOutcome,
    /// The machine that it was made on.
    #[serde(default, skip_serializing_if = "MadeOn::is_unknown")]
    pub made_on: MadeOn,
    /// For readers.
    pub variant: VariantNote,
    /// For readers.
    pub machine: Machine,
    /// When it was made, in seconds since 1970.
    pub recorded: i64,
    /// How long it took, in milliseconds: for estimates. `None`: it is not known, or there was nothing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub millis: Option<u64>,
}

/// What would be built now.
#[derive(Clone, Copy)]
pub struct Candidate<'a> {
    /// The tree of the variant: what stands at a path.
    pub entry: &'a dyn Fn(&UpstreamPath) -> Option<Entry>,
    /// [`paths_digest`] of that tree.
    pub paths: &'a str,
    /// [`tree_digest`] of that tree.
    pub whole: &'a str,
    /// Our own files.
    pub project: &'a BTreeMap<String, Digest>,
    /// What the build system would be told.
    pub options: &'a BTreeMap<String, String>,
    /// The tools.
    pub toolchain: &'a str,
    /// Whether the machine and the names of our files are still the ones of a record.
    pub is_same_machine: &'a dyn Fn(&MadeOn) -> bool,
}

impl BuildRecord {
    /// Whether building the candidate would come to the same.
    #[must_use]
    pub fn holds_for(&self, now: &Candidate<'_>) -> bool {
        let BuildInputs { tree, project, options, toolchain } = &self.inputs;
        let tree_holds = match (tree, &self.outcome) {
            (TreeRead::Whole { digest }, _) => digest == now.whole,
            // A compiler that failed did not say all that it read.
            (TreeRead::Files { .. }, BuildOutcome::Failed { .. }) => false,
            (TreeRead::Files { files, paths }, BuildOutcome::Built { .. }) => {
                (paths == now.paths || paths == now.whole)
                    && files.iter().all(|(path, entry)| (now.entry)(path) == Some(*entry))
            }
        };
        let machine_holds = match self.outcome {
            BuildOutcome::Built { .. } => true,
            BuildOutcome::Failed { .. } => !self.made_on.is_unknown() && (now.is_same_machine)(&self.made_on),
        };
        tree_holds
            && machine_holds
            && project == now.project
            && options == now.options
            && toolchain == now.toolchain
    }
}

impl BuildInputs {
    /// The build key.
    #[must_use]
    pub fn key(&self) -> Digest {
        digest_of(self)
    }
}

/// A hash over the names of all files of a tree.
#[must_use]
pub fn paths_digest<'a>(paths: impl IntoIterator<Item = &'a UpstreamPath>) -> Digest {
    let mut sorted: Vec<_> = paths.into_iter().map(UpstreamPath::as_bytes).collect();
    sorted.sort_unstable();
    let mut text = Vec::new();
    for path in sorted {
        text.extend_from_slice(path);
        text.push(0);
    }
    canonical_json::sha256_hex(&text)
}

/// A hash over all names, modes and contents of a tree.
#[must_use]
pub fn tree_digest<'a>(entries: impl IntoIterator<Item = (&'a UpstreamPath, Entry)>) -> Digest {
    let mut sorted: Vec<_> = entries.into_iter().collect();
    sorted.sort_unstable();
    let mut text = Vec::new();
    for (path, entry) in sorted {
        text.extend_from_slice(path.as_bytes());
        text.push(0);
        text.extend_from_slice(entry.mode.as_octal().as_bytes());
        text.extend_from_slice(entry.id.as_bytes());
    }
    canonical_json::sha256_hex(&text)
}

/// The hash of a value's canonical JSON.
pub(super) fn digest_of(value: &impl Serialize) -> Digest {
    // These are plain structs and maps with text as keys: there is nothing in them that JSON cannot hold. If
    // there were, the empty key would match no record.
    serde_json::to_value(value).map(|value| canonical_json::digest(&value)).unwrap_or_default()
}
