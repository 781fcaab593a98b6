//! What goes into a build and into a run: files of the tree, files of ours, files of the machine.
//!
//! Decides which of these a file is. Never reads more of it than its hash takes.

use std::collections::BTreeMap;
use std::path::Path;

use crate::id::UpstreamPath;
use crate::io::hashes::Hashes;
use crate::io::reads::Reads;
use crate::tree::{Entry, Mode};

use super::sources::Sources;

/// What a build read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Read {
    /// Files of the tree.
    pub tree: BTreeMap<UpstreamPath, Entry>,
    /// Any other file of the tree may have been read, too: it could not be watched.
    pub is_whole: bool,
    /// Files of ours by path relative to the repository, files of the machine by their full path, with
    /// their hashes.
    pub files: BTreeMap<String, String>,
}

/// Puts a file that a build read where it belongs.
pub(super) struct Sort<'a> {
    pub tree: &'a Path,
    pub build: &'a Path,
    pub root: &'a Path,
}

impl Sort<'_> {
    pub fn file(
        &self,
        file: &Path,
        sources: &Sources,
        hashes: &mut Hashes,
        read: &mut Read,
        with_machine: bool,
    ) {
        // The lab is below the repository, and the build folder below the lab: the order matters.
        if let Ok(path) = file.strip_prefix(self.tree) {
            tree_file(path, sources, read);
            // Through a link of the tree, the file that was read stands elsewhere.
            let real = file.canonicalize().ok();
            if let Some(real) = real.as_deref().and_then(|real| real.strip_prefix(self.tree).ok())
                && real != path
            {
                tree_file(real, sources, read);
            }
        } else if file.starts_with(self.build) {
            // Made by the build itself.
        } else if let Ok(path) = file.strip_prefix(self.root) {
            read.files.insert(path.display().to_string(), hash(hashes, file));
        } else if with_machine {
            read.files.insert(file.display().to_string(), hash(hashes, file));
        }
    }

    pub fn cmake_input(
        &self,
        file: &Path,
        sources: &Sources,
        hashes: &mut Hashes,
    ) -> Option<(String, String)> {
        if let Ok(path) = file.strip_prefix(self.tree) {
            let path = upstream_path(path)?;
            Some((format!("tree {path}"), describe(sources.entry(&path))))
        } else if file.starts_with(self.build) {
            None
        } else {
            let name = match file.strip_prefix(self.root) {
                Ok(path) => format!("ours {}", path.display()),
                Err(_) => format!("machine {}", file.display()),
            };
            Some((name, hash(hashes, file)))
        }
    }
}

/// A file of the tree that was read, and the links on the way to it.
fn tree_file(file: &Path, sources: &Sources, read: &mut Read) {
    let Some(path) = upstream_path(file) else { return };
    let folders = path.ancestors().filter_map(|ancestor| UpstreamPath::parse(ancestor).ok());
    for path in folders.chain([path.clone()]) {
        if let Some(entry) = sources.entry(&path) {
            read.tree.insert(path, entry);
        }
    }
}

/// The hash of a file, or why there is none.
pub(super) fn hash(hashes: &mut Hashes, file: &Path) -> String {
    hashes.identity(file).unwrap_or_else(|error| format!("cannot be read: {}", error.kind()))
}

/// A path below the tree, as a path of the upstream.
#[must_use]
pub fn upstream_path(path: &Path) -> Option<UpstreamPath> {
    use std::os::unix::ffi::OsStrExt;
    UpstreamPath::parse(path.as_os_str().as_bytes()).ok()
}

/// What of the tree mattered to a test while it ran: the files that it opened (true), and all that stands in
/// folders that it may have listed (false). `None`: it is not known, so that everything may have mattered.
#[must_use]
pub fn opened(reads: Option<&Reads>, sources: &Sources) -> BTreeMap<UpstreamPath, (Entry, bool)> {
    let counts = |path: &UpstreamPath, entry: Entry| {
        let file = path.to_os_path();
        let Some(reads) = reads else { return Some(false) };
        if reads.files.contains(file) {
            return Some(true);
        }
        let is_listed = file.parent().is_some_and(|folder| reads.folders.contains(folder));
        // That a link was followed is not seen, only what it leads to.
        let may_be_followed =
            entry.mode == Mode::Symlink && !(reads.files.is_empty() && reads.folders.is_empty());
        (is_listed || may_be_followed).then_some(false)
    };
    let counted = |(path, entry): (&UpstreamPath, Entry)| Some((path.clone(), (entry, counts(path, entry)?)));
    sources.entries().filter_map(counted).collect()
}

/// An entry as a text: `100644 <id>`; `-` for nothing.
#[must_use]
pub fn describe(entry: Option<Entry>) -> String {
    entry.map_or_else(|| "-".to_owned(), |entry| format!("{} {}", entry.mode.as_octal(), entry.id))
}
