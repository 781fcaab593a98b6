//! Evidence on disk: what was measured, with all that it depends on.
//!
//! Decides which record still says something about a program. A record that was edited by hand says
//! nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::id::{CommitId, Name, UpstreamPath};
use crate::io::hashes::{sha256_of, write_atomically};
use crate::io::toolchain::{self, Requirement};
use crate::kernel_test::Run;

/// The format of a record.
pub const SCHEMA: &str = "overlaid.evidence.v1";

/// A machine, as far as it bears on results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The operating system.
    pub os: String,
    /// The instruction set.
    pub arch: String,
    /// The processor.
    pub processor: String,
    /// The device that kernels ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Its driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
}

impl Machine {
    /// This one.
    #[must_use]
    pub fn here(requirement: &Requirement) -> Self {
        let device = match requirement {
            Requirement::Device(device) => Some(device.clone()),
            Requirement::Nothing | Requirement::Missing(_) => None,
        };
        Self {
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            processor: toolchain::processor(),
            device: device.as_ref().map(|device| device.name.clone()),
            driver: device.map(|device| device.driver),
        }
    }
}

/// The runs of a program and what they depend on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// [`SCHEMA`].
    pub schema: String,
    /// The upstream.
    pub upstream: Name,
    /// The commit of the variant on which it was made.
    pub commit: CommitId,
    /// That variant, in words.
    pub variant: String,
    /// The overlays that changed something in it.
    pub overlays: Vec<Name>,
    /// The test.
    pub test: Name,
    /// The profile.
    pub profile: Option<Name>,
    /// When the last run was, in seconds since 1970.
    pub made: u64,
    /// Where.
    pub machine: Machine,
    /// What built it: compilers with their versions.
    pub compilers: Vec<String>,
    /// What was run.
    pub command: Vec<String>,
    /// A hash of the program, its libraries and its arguments.
    pub program: String,
    /// Files of ours that the test names, with their hashes.
    pub ours: BTreeMap<PathBuf, String>,
    /// What the test opened of the tree while it ran.
    pub tree: BTreeMap<UpstreamPath, String>,
    /// A hash of all names of the tree, where the test may have looked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<String>,
    /// The runs.
    pub runs: Vec<Run>,
    /// A hash of all of the above.
    pub checksum: String,
    /// The name of its file, once it has one.
    #[serde(skip)]
    pub file: Option<String>,
}

/// Now, in seconds since 1970.
#[must_use]
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Evidence {
    fn sum(&self) -> std::io::Result<String> {
        let bare = Self { checksum: String::new(), ..self.clone() };
        Ok(sha256_of(&serde_json::to_vec(&bare).map_err(std::io::Error::other)?))
    }

    fn file_name(&self) -> String {
        let tree: String = self.tree.iter().map(|(path, entry)| format!("{path:?} {entry}\n")).collect();
        let rest = format!("{:?}{:?}{tree}{:?}", self.machine, self.ours, self.names);
        let rest = &sha256_of(rest.as_bytes())[..8];
        format!("{}{rest}.json", prefix(&self.test, self.profile.as_ref(), &self.program))
    }
}

fn prefix(test: &Name, profile: Option<&Name>, program: &str) -> String {
    let program = &program[..program.len().min(16)];
    format!("{test}.{}.{program}-", profile.map_or("default", Name::as_str))
}

/// The records of an upstream.
#[derive(Debug)]
pub struct EvidenceStore {
    folder: PathBuf,
    names: Option<Vec<String>>,
}

impl EvidenceStore {
    /// The records in a folder.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), names: None }
    }

    /// The records of a program that was run on a machine like this one, latest first.
    pub fn find(
        &mut self,
        test: &Name,
        profile: Option<&Name>,
        program: &str,
        machine: &Machine,
    ) -> Vec<Evidence> {
        let folder = self.folder.clone();
        let names = self.names.get_or_insert_with(|| list(&folder));
        let prefix = prefix(test, profile, program);
        let mut found: Vec<Evidence> = names
            .iter()
            .filter(|name| name.starts_with(&prefix))
            .filter_map(|name| read(&folder, name))
            .filter(|evidence| {
                evidence.program == program && evidence.test == *test && evidence.machine == *machine
            })
            .collect();
        found.sort_by_key(|evidence| std::cmp::Reverse(evidence.made));
        found
    }

    /// Writes a record.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self, evidence: &mut Evidence) -> std::io::Result<()> {
        evidence.made = now();
        let file_name = evidence.file_name();
        evidence.checksum = evidence.sum()?;
        let name = evidence.file.get_or_insert_with(|| file_name).clone();
        let mut text = serde_json::to_vec_pretty(evidence).map_err(std::io::Error::other)?;
        text.push(b'\n');
        write_atomically(&self.folder.join(&name), &text)?;
        self.names = None;
        Ok(())
    }
}

fn list(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(".json"))
        .collect()
}

fn read(folder: &Path, name: &str) -> Option<Evidence> {
    let mut evidence: Evidence = serde_json::from_slice(&std::fs::read(folder.join(name)).ok()?).ok()?;
    let intact = evidence.schema == SCHEMA && evidence.sum().is_ok_and(|sum| sum == evidence.checksum);
    evidence.file = Some(name.to_owned());
    intact.then_some(evidence)
}
