//! Files of a tree that a build opens and that neither CMake nor ninja knows of: a generator that reads more
//! than its rule says, a `file(READ)`.
//!
//! Decides when what was built for one variant cannot be trusted in another. Variants share a build folder,
//! and ninja would keep what came of such a file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::id::UpstreamPath;
use crate::io::hashes::{Hashes, write_atomically};
use crate::io::reads::Reads;
use crate::tree::Entry;
use crate::verdict::Obstacle;

use super::inputs::{Read, describe, hash, upstream_path};
use super::sources::Sources;

/// The file in a build folder's notes.
const FILE: &str = "undeclared.json";

/// What the builds in a folder have opened without saying so.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Undeclared {
    /// Files of the tree, as they were then.
    files: BTreeMap<String, String>,
    /// Files of our own project, relative to the repository, with their hashes then.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    ours: BTreeMap<String, String>,
    /// The whole tree, where it could not be watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    whole: Option<String>,
}

fn load(notes: &Path) -> Undeclared {
    let text = std::fs::read(notes.join(FILE)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Why what is in the build folder cannot be used for these sources; `None`: it can.
#[must_use]
pub fn differs(notes: &Path, sources: &Sources, root: &Path, hashes: &mut Hashes) -> Option<String> {
    let known = load(notes);
    if known.whole.is_some_and(|whole| whole != sources.whole()) {
        return Some("what the build reads cannot be watched here".to_owned());
    }
    let changed = known.files.iter().find(|(path, entry)| {
        let path = UpstreamPath::parse(path.as_bytes()).ok();
        describe(path.and_then(|path| sources.entry(&path))) != **entry
    });
    let ours = || known.ours.iter().find(|(file, known)| hash(hashes, &root.join(file)) != **known);
    changed
        .or_else(ours)
        .map(|(path, _)| format!("the build reads {path}, and neither CMake nor ninja knows"))
}

/// What a build has opened without saying so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opened {
    /// These files of the tree.
    pub files: BTreeMap<UpstreamPath, Entry>,
    /// And perhaps any other: it could not be watched.
    pub is_whole: bool,
    /// These files of ours, with their hashes.
    pub ours: BTreeMap<String, String>,
}

/// What was opened during a build.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// In the tree. `None`: it could not be watched.
    pub tree: Option<Reads>,
    /// In our repository.
    pub ours: Option<Reads>,
}

/// Notes what a build that went well has opened, besides what is known of it, and gives all that builds in
/// this folder have opened so: it went into what was built.
///
/// # Errors
/// If the note cannot be written.
pub fn note(
    notes: &Path,
    seen: &Seen,
    known: &Read,
    sources: &Sources,
    root: &Path,
    hashes: &mut Hashes,
) -> Result<Opened, Obstacle> {
    let before = load(notes);
    let mut after = before.clone();
    match &seen.tree {
        Some(reads) => {
            let paths = reads.files.iter().filter_map(|file| upstream_path(file));
            for path in paths.filter(|path| !known.tree.contains_key(path)) {
                if let Some(entry) = sources.entry(&path) {
                    after.files.insert(path.to_string(), describe(Some(entry)));
                }
            }
            // What a rule names by now is ninja's business.
            after.files.retain(|path, _| {
                UpstreamPath::parse(path.as_bytes()).is_ok_and(|path| !known.tree.contains_key(&path))
            });
        }
        None => after.whole = Some(sources.whole().to_owned()),
    }
    if let Some(reads) = &seen.ours {
        for file in reads.files.difference(&reads.written).filter(|file| root.join(file).is_file()) {
            after.ours.insert(file.display().to_string(), hash(hashes, &root.join(file)));
        }
    }
    after.ours.retain(|file, _| !known.files.contains_key(file));
    if after != before {
        let file = notes.join(FILE);
        serde_json::to_vec(&after)
            .map_err(std::io::Error::other)
            .and_then(|text| write_atomically(&file, &text))
            .map_err(|error| Obstacle::Environment(format!("{}: {error}", file.display())))?;
    }
    let paths = after.files.keys().filter_map(|path| UpstreamPath::parse(path.as_bytes()).ok());
    let files = paths.filter_map(|path| Some((path.clone(), sources.entry(&path)?))).collect();
    Ok(Opened { files, is_whole: after.whole.is_some(), ours: after.ours })
}
