//! Answers that were given before, and all that they depend on.
//!
//! Decides whether a proof would come to the same again, from hashes alone: no upstream is opened, no record
//! is read, no case compared. What it does not know to be the same is worked out anew, from the records.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::id::Name;
use crate::io::hashes::{Hashes, sha256_of, write_atomically};
use crate::io::machine::{self, Stats};
use crate::io::python::{self, PACKAGES};
use crate::io::workspace::Workspace;
use crate::manifest::Test;

use super::ground;
use super::make::Workshop;
use super::records::{self, Used};

/// The format of an answer on disk.
const SCHEMA: &str = "overlaid.answer.v1";

/// A question: the manifest, the overlays' files, the tests, tools, options, what was asked for. The upstream
/// is in it by the ids of commits, which never change what they mean.
#[derive(Debug)]
pub struct Question {
    key: String,
    file: PathBuf,
    root: PathBuf,
    evidence: PathBuf,
    docs: PathBuf,
    grounds: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    schema: String,
    key: String,
    files: BTreeMap<String, String>,
    records: BTreeMap<String, Stat>,
    /// All names in the folder of records: one more may say something else.
    names: Vec<String>,
    /// Hashes over what of the machine builds stood on.
    machine: Vec<String>,
    /// The names of our own files, where they count.
    own_names: Option<String>,
    text: String,
    exit: u8,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stat(u64, i64, i64, u64);

impl Question {
    /// The question that `asked` (the command and its options) is for a workspace. `None`: a tool is missing,
    /// so that nothing is certain.
    #[must_use]
    pub fn new(
        workspace: &Workspace,
        features: &BTreeSet<Name>,
        tests: &[&Test],
        workshop: &mut Workshop<'_>,
        asked: &str,
    ) -> Option<Self> {
        let manifest = &workspace.manifest;
        let mut text = String::new();
        let mut add = |what: &str, value: &str| text.push_str(&format!("{what} {value:?}\n"));
        let program = std::env::current_exe().ok()?;
        add("program", &workshop.hashes.sha256(&program).ok()?);
        add("asked", asked);
        add("manifest", &manifest.text);
        add("profile", workshop.profile_name().map_or("", Name::as_str));
        add("machine", &format!("{:?}", records::machine(&workshop.requirement)));
        add("variables", workshop.variables_hash());
        for feature in features {
            add("feature", feature.as_str());
        }
        for own in workspace.overlays.iter().flat_map(|loaded| &loaded.own) {
            add("overlay file", &format!("{} {}", own.file.display(), own.id));
        }
        for (path, content) in workspace.overlays.iter().flat_map(|loaded| &loaded.files) {
            add("overlay path", &format!("{path} {} {}", content.mode.as_octal(), content.entry().id));
        }
        for test in tests {
            let steering = workshop.steering(test).ok()?;
            add("test", &format!("{} {steering:?} {:?}", test.name.value, workshop.named_sources(test)));
        }
        let local = workshop.root.join(".overlaid/lab").join(manifest.upstream.name.as_str());
        let file = local.join("answers").join(format!("{}.json", &sha256_of(asked.as_bytes())[..16]));
        Some(Self {
            key: sha256_of(text.as_bytes()),
            file,
            root: workshop.root.clone(),
            evidence: workshop.root.join(manifest.docs_folder()).join("evidence"),
            docs: manifest.docs_folder(),
            grounds: local.join("machine"),
        })
    }

    /// The answer of an earlier time and its exit code, if it still holds.
    #[must_use]
    pub fn answer(&self, hashes: &mut Hashes) -> Option<(String, u8)> {
        let kept: Kept = serde_json::from_slice(&std::fs::read(&self.file).ok()?).ok()?;
        let mut files_stand = || {
            let mut files = kept.files.iter();
            files.all(|(file, hash)| match file.strip_prefix(PACKAGES) {
                Some(folder) => python::packages(Path::new(folder)) == *hash,
                None => hashes.identity(&self.root.join(file)).is_ok_and(|now| now == *hash),
            })
        };
        let records_stand = || {
            kept.records.iter().all(|(name, known)| stat(&self.evidence.join(name)).as_ref() == Some(known))
        };
        let names_stand = || kept.names == records::list(&self.evidence);
        let asked = kept.schema == SCHEMA && kept.key == self.key;
        let machine_stands = || kept.machine.iter().all(|hash| machine::stands(&self.grounds, hash));
        let own_names_stand =
            || kept.own_names.is_none() || kept.own_names == ground::own_names(&self.root, &self.docs);
        let holds = asked
            && names_stand()
            && records_stand()
            && files_stand()
            && machine_stands()
            && own_names_stand();
        holds.then_some((kept.text, kept.exit))
    }

    /// Keeps an answer. If that cannot be done, it is worked out again the next time.
    pub fn keep(&self, used: Used, text: String, exit: u8) {
        let records = used.records.into_iter().map(|name| {
            let known = stat(&self.evidence.join(&name));
            known.map(|known| (name, known))
        });
        let Some(records) = records.collect::<Option<BTreeMap<_, _>>>() else { return };
        let Some(machine) = self.merge(&used.machine) else { return };
        let kept = Kept {
            schema: SCHEMA.to_owned(),
            key: self.key.clone(),
            files: used.files,
            records,
            names: records::list(&self.evidence),
            machine,
            own_names: used.names,
            text,
            exit,
        };
        let written = serde_json::to_vec(&kept).map_err(std::io::Error::other);
        let _ = written.and_then(|text| write_atomically(&self.file, &text));
    }

    /// One hash for all that builds stood on: they share most of it. `None`: it is not what it was.
    fn merge(&self, all: &BTreeSet<String>) -> Option<Vec<String>> {
        if all.is_empty() {
            return Some(Vec::new());
        }
        let mut stats = Stats::new();
        for hash in all {
            for path in machine::paths(&self.grounds, hash)? {
                stats.entry(path).or_insert_with_key(|path| machine::stat(path));
            }
        }
        let stands = all.iter().all(|hash| machine::stands(&self.grounds, hash));
        Some(vec![machine::keep(&self.grounds, &stats).ok().filter(|_| stands)?])
    }
}

fn stat(file: &Path) -> Option<Stat> {
    let data = std::fs::metadata(file).ok()?;
    Some(Stat(data.len(), data.mtime(), data.mtime_nsec(), data.ino()))
}
