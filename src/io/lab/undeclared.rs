//! Files of a tree that a build opens and that neither CMake nor ninja knows of: a generator that reads more
//! than its rule says, a `file(READ)`.
//!
//! Decides when what was built for one variant cannot be trusted in another. Variants share a build folder,
//! and ninja would keep what came of such a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::id::UpstreamPath;
use crate::io::hashes::{Hashes, write_atomically};
use crate::io::reads::Watch;
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

/// What is watched during a build.
pub struct Watches {
    tree: Option<Watch>,
    project: Option<(PathBuf, Option<Watch>)>,
}

impl Watches {
    /// Starts to watch the tree, and the folder of our own project, if there is one.
    #[must_use]
    pub fn start(tree: &Path, project: Option<&Path>) -> Self {
        let project = project.map(|folder| (folder.to_owned(), Watch::start(folder)));
        Self { tree: Watch::start(tree), project }
    }
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
    let changed =
        changed.or_else(|| known.ours.iter().find(|(file, known)| hash(hashes, &root.join(file)) != **known));
    changed.map(|(path, _)| format!("the build reads {path}, and neither CMake nor ninja knows"))
}

/// Notes what a build that went well has opened, besides what is known of it, and adds to that all that builds
/// in this folder have opened so: it went into what was built.
///
/// # Errors
/// If the note cannot be written.
pub fn note(
    notes: &Path,
    watches: Watches,
    known: &mut Read,
    sources: &Sources,
    root: &Path,
    hashes: &mut Hashes,
) -> Result<(), Obstacle> {
    let before = load(notes);
    let mut after = before.clone();
    match watches.tree.and_then(Watch::finish) {
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
    if let Some((folder, watch)) = watches.project
        && let Ok(project) = folder.strip_prefix(root)
        && let Some(reads) = watch.and_then(Watch::finish)
    {
        for file in reads.files.iter().filter(|file| folder.join(file).is_file()) {
            let name = project.join(file).display().to_string();
            after.ours.insert(name, hash(hashes, &folder.join(file)));
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
    known.files.extend(after.ours);
    if after.whole.is_some() {
        known.tree.extend(sources.entries().map(|(path, entry)| (path.clone(), entry)));
    }
    let paths = after.files.keys().filter_map(|path| UpstreamPath::parse(path.as_bytes()).ok());
    known.tree.extend(paths.filter_map(|path| Some((path.clone(), sources.entry(&path)?))));
    Ok(())
}
