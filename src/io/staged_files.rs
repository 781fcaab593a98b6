//! Files of our own repository with some that are not written yet: what a change would make of it, before it is made.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::tree::Content;

use super::own_files::{Disk, OwnFiles};
use super::workspace::LoadError;

/// The files on disk, with others in front of them.
#[derive(Debug)]
pub struct Staged {
    disk: Disk,
    files: BTreeMap<PathBuf, Content>,
}

impl Staged {
    /// The files below a folder, with these in front, by their path relative to it.
    #[must_use]
    pub fn new(root: &Path, files: BTreeMap<PathBuf, Content>) -> Self {
        Self { disk: Disk::new(root), files }
    }

    /// Puts a file in front.
    pub fn put(&mut self, file: PathBuf, content: Content) {
        self.files.insert(file, content);
    }

    /// The files in front.
    pub fn files(&self) -> impl Iterator<Item = (&PathBuf, &Content)> {
        self.files.iter()
    }

    /// What stands on disk at the place of a file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn on_disk(&self, file: &Path) -> Result<Option<Content>, LoadError> {
        self.disk.read(file)
    }
}

impl OwnFiles for Staged {
    fn list(&self, folder: &Path) -> Result<Vec<PathBuf>, LoadError> {
        let mut files = self.disk.list(folder)?;
        let staged = self.files.keys().filter_map(|file| file.strip_prefix(folder).ok());
        files.extend(staged.map(Path::to_owned));
        files.sort();
        files.dedup();
        Ok(files)
    }

    fn read(&self, file: &Path) -> Result<Option<Content>, LoadError> {
        match self.files.get(file) {
            Some(content) => Ok(Some(content.clone())),
            None => self.disk.read(file),
        }
    }
}
