//! Whether what another machine measured speaks for what cannot be measured here.
//!
//! Decides by what this machine can check: the upstream's files, our own files, options, how the test is run. Compiler,
//! processor, variables and driver are those of the other machine, and a machine without the device has no such: so a
//! record from elsewhere is used only where this machine lacks what the profile requires, and it is said who measured.
//! Never mixes machines: each record names its place, and two sides from different places are not compared.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::build::TreeRead;
use super::result::{PROTOCOL, RunInputs};
use super::{BuildInputs, Digest, Machine, ResultRecord};
use crate::id::UpstreamPath;
use crate::tree::Entry;

/// What a program was built from, as far as another machine can check it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuiltFrom {
    /// What of the upstream's tree.
    pub tree: TreeRead,
    /// Our own files, by path in our repository.
    pub project: BTreeMap<String, Digest>,
    /// Variables of the build system, target, project.
    pub options: BTreeMap<String, String>,
}

impl BuiltFrom {
    /// What of a build's inputs another machine can check. `toolkits`: folders of our repository in which tools are,
    /// not sources.
    #[must_use]
    pub fn of(inputs: &BuildInputs, toolkits: &[&str]) -> Self {
        let is_tool =
            |file: &str| file.starts_with('/') || toolkits.iter().any(|folder| file.starts_with(folder));
        Self {
            tree: inputs.tree.clone(),
            project: inputs
                .project
                .iter()
                .filter(|(file, _)| !is_tool(file))
                .map(|(file, hash)| (file.clone(), hash.clone()))
                .collect(),
            options: portable(&inputs.options),
        }
    }
}

/// The options that mean the same on another machine: not the files that they name on this one.
#[must_use]
pub fn portable(options: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let is_portable = |name: &str| {
        (name.starts_with("cmake ") && !name.starts_with("cmake file "))
            || ["target", "project", "project files"].contains(&name)
    };
    options
        .iter()
        .filter(|(name, _)| is_portable(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// What would be measured here, if this machine could.
pub struct Wanted<'a> {
    /// The tree of the variant: what stands at a path.
    pub entry: &'a dyn Fn(&UpstreamPath) -> Option<Entry>,
    /// [`super::build::paths_digest`] of that tree.
    pub paths: &'a str,
    /// [`super::build::tree_digest`] of that tree.
    pub whole: &'a str,
    /// Our own files that the test names.
    pub named: &'a BTreeMap<String, Digest>,
    /// Options, as [`portable`] leaves them.
    pub options: &'a BTreeMap<String, String>,
    /// The program and its arguments, as in the manifest.
    pub command: &'a [String],
    /// `jsonl`, `junit` or `exit`.
    pub format: &'a str,
    /// How long a run may take, in milliseconds.
    pub timeout_ms: u64,
    /// The sanitizers that watch it.
    pub sanitizers: &'a [String],
}

impl ResultRecord {
    /// Whether a record from a device speaks for what is wanted here. `now` gives what stands here for a file that was
    /// read by the build or by a run, by the name that the record has for it.
    pub fn speaks_for(&self, wanted: &Wanted<'_>, now: &mut dyn FnMut(&str) -> Digest) -> bool {
        let Some(built_from) = &self.built_from else { return false };
        let inputs = &self.inputs;
        let is_run_alike = inputs.device.is_some()
            && inputs.protocol == PROTOCOL
            && inputs.command == wanted.command
            && inputs.format == wanted.format
            && inputs.timeout_ms == wanted.timeout_ms
            && inputs.sanitizers == wanted.sanitizers
            && built_from.options == *wanted.options;
        let tree_holds = || match &built_from.tree {
            TreeRead::Whole { digest } => digest == wanted.whole,
            TreeRead::Files { files, paths } => {
                (paths == wanted.paths || paths == wanted.whole)
                    && files.iter().all(|(path, entry)| (wanted.entry)(path) == Some(*entry))
            }
        };
        let has_all_named =
            || wanted.named.iter().all(|(file, hash)| built_from.project.get(file) == Some(hash));
        is_run_alike
            && tree_holds()
            && has_all_named()
            && built_from.project.iter().all(|(file, hash)| now(file) == *hash)
            && inputs.files.iter().all(|(file, hash)| now(file) == *hash)
    }

    /// The place of a record, in words that are equal for runs that may be compared.
    #[must_use]
    pub fn place(&self) -> String {
        let RunInputs { compiler, host, device, driver, .. } = &self.inputs;
        format!("{device:?} {driver:?} {host} {compiler}")
    }
}

/// Who measured, in words: `NVIDIA H200 (sm_90), driver 580.95.05, CUDA 13.0`.
#[must_use]
pub fn words(machine: &Machine) -> String {
    let mut words = machine.device.clone().unwrap_or_else(|| "no device".to_owned());
    if let Some(driver) = &machine.driver {
        words.push_str(&format!(", driver {driver}"));
    }
    if let Some(cuda) = &machine.cuda {
        words.push_str(&format!(", CUDA {cuda}"));
    }
    words
}
