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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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

impl BuiltFrom {
    /// The first thing that is not what it was built from.
    fn difference(&self, wanted: &Wanted<'_>) -> Option<String> {
        let names = self.options.keys().chain(wanted.options.keys());
        if let Some(name) =
            names.into_iter().find(|name| self.options.get(*name) != wanted.options.get(*name))
        {
            return Some(format!("the option `{name}` of the build"));
        }
        let in_tree = match &self.tree {
            TreeRead::Whole { digest } if digest == wanted.whole => None,
            TreeRead::Whole { .. } => Some("a file of the tree".to_owned()),
            TreeRead::Files { files, paths } => {
                let changed = files.iter().find(|(path, entry)| (wanted.entry)(path) != Some(**entry));
                let is_same_names = paths == wanted.paths || paths == wanted.whole;
                changed
                    .map(|(path, _)| format!("tree: {path}"))
                    .or_else(|| (!is_same_names).then(|| "which files the tree has".to_owned()))
            }
        };
        let named = || {
            let mut named = wanted.named.iter();
            named.find(|(file, hash)| self.project.get(*file) != Some(hash)).map(|(file, _)| file.clone())
        };
        in_tree.or_else(named)
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
        self.inputs.device.is_some()
            && self.built_from.is_some()
            && self.difference(wanted, &mut |file| Some(now(file))).is_none()
    }

    /// The first thing that is another one than when this was measured, in words, as far as it can be told without a
    /// compiler. `now`, as above; `None`: it cannot be told here, and is not counted.
    pub fn difference(
        &self,
        wanted: &Wanted<'_>,
        now: &mut dyn FnMut(&str) -> Option<Digest>,
    ) -> Option<String> {
        let inputs = &self.inputs;
        let is_run_alike = [
            (inputs.protocol == PROTOCOL, "the rules by which results are read"),
            (inputs.command == wanted.command, "the test's command"),
            (inputs.format == wanted.format, "the test's format"),
            (inputs.timeout_ms == wanted.timeout_ms, "the test's timeout"),
            (inputs.sanitizers == wanted.sanitizers, "the test's sanitizers"),
        ];
        if let Some((_, what)) = is_run_alike.iter().find(|(is_alike, _)| !is_alike) {
            return Some((*what).to_owned());
        }
        let project = match &self.built_from {
            None => None,
            Some(built_from) => {
                if let Some(what) = built_from.difference(wanted) {
                    return Some(what);
                }
                Some(&built_from.project)
            }
        };
        let is_another = |file: &String, hash: &Digest, now: Option<Digest>| {
            now.is_some_and(|now| now != *hash).then(|| file.clone())
        };
        let mut files = project.into_iter().flatten().chain(&inputs.files);
        files.find_map(|(file, hash)| is_another(file, hash, now(file)))
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
