//! The text files of our own repository in which pins can stand, and its submodules.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::gitmodules;
use crate::id::{CommitId, UpstreamPath};
use crate::tree::Mode;
use crate::upstream::Upstream;

use super::store::Store;
use super::workspace::LoadError;

/// Folders that hold what was made or fetched.
const MADE: [&str; 8] =
    [".git", ".overlaid", "target", "node_modules", "_deps", ".venv", "manifests", "overlays"];

/// The largest file that is looked into.
const LARGEST: u64 = 1024 * 1024;

/// The mode of a submodule in an index.
const SUBMODULE: u32 = 0o160_000;

/// The text files, with their paths relative to the repository, sorted. Left out: what is in folders that builds make, in other
/// repositories, and in files of more than a mebibyte.
///
/// # Errors
/// If a folder or file cannot be read.
pub fn texts(root: &Path) -> Result<Vec<(PathBuf, String)>, LoadError> {
    let mut texts = Vec::new();
    let is_made = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        let is_folder = entry.file_type().is_dir() && entry.depth() > 0;
        let is_build = name == "build" || name.starts_with("build-") || name.starts_with("cmake-build-");
        is_folder && (MADE.contains(&&*name) || is_build || entry.path().join(".git").exists())
    };
    for entry in
        walkdir::WalkDir::new(root).sort_by_file_name().into_iter().filter_entry(|entry| !is_made(entry))
    {
        let entry = entry.map_err(|error| {
            let path = error.path().unwrap_or(root).to_owned();
            LoadError::Io { path, error: error.into() }
        })?;
        let is_small = entry.metadata().is_ok_and(|metadata| metadata.len() <= LARGEST);
        if !entry.file_type().is_file() || !is_small {
            continue;
        }
        let bytes = std::fs::read(entry.path())
            .map_err(|error| LoadError::Io { path: entry.path().to_owned(), error })?;
        if let (Ok(text), Ok(file)) = (String::from_utf8(bytes), entry.path().strip_prefix(root)) {
            texts.push((file.to_owned(), text));
        }
    }
    Ok(texts)
}

/// A submodule of our repository: its path, its URL, and the commit that `HEAD` has there, or else the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submodule {
    /// The path.
    pub path: String,
    /// The URL.
    pub url: String,
    /// The commit.
    pub commit: CommitId,
}

/// The submodules that `.gitmodules` names and the last commit has, or that are staged for the next one; none if this is
/// no git repository.
///
/// # Errors
/// If the index cannot be read.
pub fn submodules(root: &Path, gitmodules: &str, origin: &str) -> Result<Vec<Submodule>, LoadError> {
    let urls = gitmodules::urls(gitmodules, origin);
    let Ok(store) = Store::at(root) else { return Ok(Vec::new()) };
    let head = store.resolve("HEAD").ok().flatten();
    let in_head = |path: &str| {
        let entry = store.entry(head?, &UpstreamPath::parse(path.as_bytes()).ok()?).ok()??;
        (entry.mode == Mode::Submodule).then(|| CommitId::parse(&entry.id.to_string()).ok())?
    };
    let mut found = Vec::new();
    let mut staged = None;
    for (path, url) in urls {
        let commit = match in_head(&path) {
            Some(commit) => Some(commit),
            None => {
                let staged = match &mut staged {
                    Some(staged) => staged,
                    None => staged.insert(staged_submodules(root)?),
                };
                staged.get(path.as_bytes()).copied()
            }
        };
        found.extend(commit.map(|commit| Submodule { path, url, commit }));
    }
    Ok(found)
}

/// The commits of the submodules in the index, by path.
fn staged_submodules(root: &Path) -> Result<BTreeMap<Vec<u8>, CommitId>, LoadError> {
    let failed = |error: git2::Error| LoadError::Io {
        path: root.join(".git/index"),
        error: std::io::Error::other(error.message().to_owned()),
    };
    let index = git2::Repository::open(root).and_then(|repository| repository.index()).map_err(failed)?;
    let modules = index.iter().filter(|entry| entry.mode == SUBMODULE);
    let commits =
        modules.filter_map(|entry| Some((entry.path, CommitId::parse(&entry.id.to_string()).ok()?)));
    Ok(commits.collect())
}

/// A path as text, if it is Unicode.
#[must_use]
pub fn as_text(file: &Path) -> Option<&str> {
    std::str::from_utf8(file.as_os_str().as_bytes()).ok()
}
