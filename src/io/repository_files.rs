//! The text files of our own repository in which pins can stand, and its submodules.

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

/// A submodule of our repository: its path, its URL, and the commit that `HEAD` has there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submodule {
    /// The path.
    pub path: String,
    /// The URL.
    pub url: String,
    /// The commit.
    pub commit: CommitId,
}

/// The submodules that `.gitmodules` names and the last commit has; none if this is no git repository.
#[must_use]
pub fn submodules(root: &Path, gitmodules: &str, origin: &str) -> Vec<Submodule> {
    let Ok(store) = Store::at(root) else { return Vec::new() };
    let Ok(Some(head)) = store.resolve("HEAD") else { return Vec::new() };
    let found = gitmodules::urls(gitmodules, origin).into_iter().filter_map(|(path, url)| {
        let entry = store.entry(head, &UpstreamPath::parse(path.as_bytes()).ok()?).ok()??;
        let commit =
            (entry.mode == Mode::Submodule).then(|| CommitId::parse(&entry.id.to_string()).ok())??;
        Some(Submodule { path, url, commit })
    });
    found.collect()
}

/// A path as text, if it is Unicode.
#[must_use]
pub fn as_text(file: &Path) -> Option<&str> {
    std::str::from_utf8(file.as_os_str().as_bytes()).ok()
}
