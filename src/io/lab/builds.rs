//! What was built before: which sources, tools and options gave which program.
//!
//! Decides whether a build would give what an earlier one gave, so that nothing has to be put on disk,
//! configured or built to know it. The table is local to this machine and can be thrown away.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::id::{Name, UpstreamPath};
use crate::io::hashes::{Hashes, sha256_of, write_atomically};

use super::make::Inputs;
use super::sources::{self, Sources};

/// How many builds of one test are remembered.
const KEPT: usize = 200;

/// The first words of the table's file: its format.
const SCHEMA: &str = "overlaid.builds.v1";

/// One build of a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Tools and options.
    pub steering: BTreeMap<String, String>,
    /// A hash of the names of all files of the tree: globs and searches see those.
    pub names: String,
    /// The whole tree, where it is not known what was read of it: after a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// Files of the tree that were read.
    pub tree: BTreeMap<UpstreamPath, String>,
    /// Files of ours that were read.
    pub ours: BTreeMap<PathBuf, String>,
    /// Files of the machine that were read.
    pub machine: BTreeMap<PathBuf, String>,
    /// What built it, in words.
    pub toolchain: String,
    /// What came out.
    pub gave: Gave,
}

/// What came out of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gave {
    /// A program, by the hash of all that is fixed about it: its file, its libraries.
    Program(String),
    /// Nothing: the first error.
    Failure(String),
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Table {
    schema: String,
    builds: Vec<Build>,
}

/// The builds of all tests.
#[derive(Debug)]
pub struct Builds {
    folder: PathBuf,
    tables: BTreeMap<String, Vec<Build>>,
}

impl Build {
    /// A build whose inputs are known.
    #[must_use]
    pub fn new(
        steering: BTreeMap<String, String>,
        sources: &Sources,
        inputs: &Inputs,
        toolchain: String,
        gave: Gave,
    ) -> Self {
        let Inputs { tree, ours, machine } = inputs.clone();
        let names = sources.names().to_owned();
        Self { steering, names, whole: None, tree, ours, machine, toolchain, gave }
    }

    /// Whether a build of these sources would read the same.
    fn holds(
        &self,
        steering: &BTreeMap<String, String>,
        named: &BTreeMap<PathBuf, String>,
        sources: &Sources,
        root: &Path,
        hashes: &mut Hashes,
    ) -> bool {
        let same = |hashes: &mut Hashes, file: &Path, hash: &String| {
            hashes.sha256(file).is_ok_and(|now| now == *hash)
        };
        self.steering == *steering
            && self.names == sources.names()
            && self.whole.as_ref().is_none_or(|whole| *whole == sources.fingerprint())
            && self.tree.iter().all(|(path, entry)| sources::describe(sources.entry(path)) == *entry)
            && named.iter().all(|(file, hash)| self.ours.get(file) == Some(hash))
            && self.ours.iter().all(|(file, hash)| same(hashes, &root.join(file), hash))
            && self.machine.iter().all(|(file, hash)| same(hashes, file, hash))
    }

    /// A hash of what the compiler and CMake read of the tree and of ours.
    #[must_use]
    pub fn read(&self) -> Inputs {
        Inputs { tree: self.tree.clone(), ours: self.ours.clone(), machine: BTreeMap::new() }
    }
}

impl Builds {
    /// The table in a folder; it is read when it is needed.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), tables: BTreeMap::new() }
    }

    fn key(test: &Name, profile: Option<&Name>) -> String {
        format!("{test}.{}", profile.map_or("default", Name::as_str))
    }

    fn table(&mut self, key: &str) -> &mut Vec<Build> {
        let file = self.folder.join(format!("{key}.json"));
        self.tables.entry(key.to_owned()).or_insert_with(|| {
            let table = std::fs::read(file).ok().and_then(|text| serde_json::from_slice::<Table>(&text).ok());
            table.filter(|table| table.schema == SCHEMA).unwrap_or_default().builds
        })
    }

    /// The latest build that would come out the same now.
    pub fn find(
        &mut self,
        test: &Name,
        profile: Option<&Name>,
        steering: &BTreeMap<String, String>,
        named: &BTreeMap<PathBuf, String>,
        sources: &Sources,
        root: &Path,
        hashes: &mut Hashes,
    ) -> Option<Build> {
        let table = self.table(&Self::key(test, profile));
        table.iter().rev().find(|build| build.holds(steering, named, sources, root, hashes)).cloned()
    }

    /// All files of ours that some build of a test has read.
    pub fn files_of_ours(&mut self, test: &Name, profile: Option<&Name>) -> BTreeSet<PathBuf> {
        let table = self.table(&Self::key(test, profile));
        table.iter().flat_map(|build| build.ours.keys().cloned()).collect()
    }

    /// Adds a build, and writes the table.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, test: &Name, profile: Option<&Name>, build: Build) -> std::io::Result<()> {
        let key = Self::key(test, profile);
        let table = self.table(&key);
        table.retain(|known| *known != build);
        table.push(build);
        if table.len() > KEPT {
            table.remove(0);
        }
        let table = Table { schema: SCHEMA.to_owned(), builds: table.clone() };
        let text = serde_json::to_vec(&table).map_err(std::io::Error::other)?;
        write_atomically(&self.folder.join(format!("{key}.json")), &text)
    }
}

/// A hash of files by name, for a digest of inputs.
#[must_use]
pub fn digest(inputs: &Inputs) -> String {
    let mut text = String::new();
    for (path, entry) in &inputs.tree {
        text.push_str(&format!("tree {path:?} {entry}\n"));
    }
    for (path, hash) in &inputs.ours {
        text.push_str(&format!("ours {path:?} {hash}\n"));
    }
    sha256_of(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::id::CommitId;
    use crate::tree::{Changes, Content, Listing};

    fn path(text: &str) -> UpstreamPath {
        UpstreamPath::parse(text).unwrap()
    }

    fn sources(files: &[(&str, &str)]) -> Sources {
        let listing: Listing = files
            .iter()
            .map(|(name, text)| (path(name), Content::file(text.as_bytes().to_vec()).entry()))
            .collect();
        Sources::new(CommitId::from_bytes([1; 20]), Arc::new(listing), Changes::new(), BTreeMap::new())
    }

    #[test]
    fn a_build_holds_until_something_that_it_read_changes() {
        let folder = std::env::temp_dir().join(format!("overlaid-builds-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("own.cpp"), "1").unwrap();
        let mut hashes = Hashes::in_memory();
        let test = Name::parse("t").unwrap();
        let before = sources(&[("a.cu", "1"), ("b.cu", "1")]);
        let mut inputs = Inputs::default();
        inputs.tree.insert(path("a.cu"), sources::describe(before.entry(&path("a.cu"))));
        inputs.ours.insert("own.cpp".into(), hashes.sha256(&folder.join("own.cpp")).unwrap());
        let steering = BTreeMap::from([("cmake A".to_owned(), "ON".to_owned())]);
        let build = Build::new(steering.clone(), &before, &inputs, "gcc".into(), Gave::Program("p".into()));
        Builds::at(&folder).add(&test, None, build.clone()).unwrap();

        let mut builds = Builds::at(&folder);
        let mut find = |steering: &BTreeMap<String, String>, sources: &Sources| {
            builds.find(&test, None, steering, &BTreeMap::new(), sources, &folder, &mut hashes).is_some()
        };
        assert!(find(&steering, &before));
        assert!(find(&steering, &sources(&[("a.cu", "1"), ("b.cu", "changed")])));
        assert!(!find(&steering, &sources(&[("a.cu", "changed"), ("b.cu", "1")])));
        assert!(!find(&steering, &sources(&[("a.cu", "1"), ("b.cu", "1"), ("new.h", "")])));
        assert!(!find(&BTreeMap::new(), &before));
        std::fs::write(folder.join("own.cpp"), "2").unwrap();
        assert!(!find(&steering, &before));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
