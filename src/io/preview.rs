//! Our repository as it will be, before anything is written: a change of overlay files is tried on it first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::own_files::{Disk, OwnFiles};
use super::workspace::LoadError;
use crate::bump::FileEdit;
use crate::tree::{Content, Mode};

/// The files on disk with edits on them.
#[derive(Debug)]
pub struct Preview<'e> {
    disk: Disk,
    edits: BTreeMap<&'e Path, &'e FileEdit>,
}

impl<'e> Preview<'e> {
    /// The files below a folder, with these edits.
    #[must_use]
    pub fn new(root: &Path, edits: &'e [FileEdit]) -> Self {
        let edits = edits.iter().map(|edit| (edit.file.as_path(), edit)).collect();
        Self { disk: Disk::new(root), edits }
    }
}

impl OwnFiles for Preview<'_> {
    fn list(&self, folder: &Path) -> Result<Vec<PathBuf>, LoadError> {
        let mut files: std::collections::BTreeSet<PathBuf> = self.disk.list(folder)?.into_iter().collect();
        for edit in self.edits.values() {
            if let Ok(inside) = edit.file.strip_prefix(folder) {
                if edit.after.is_some() {
                    files.insert(inside.to_owned());
                } else {
                    files.remove(inside);
                }
            }
        }
        Ok(files.into_iter().collect())
    }

    fn read(&self, file: &Path) -> Result<Option<Content>, LoadError> {
        let Some(edit) = self.edits.get(file) else { return self.disk.read(file) };
        let Some(bytes) = &edit.after else { return Ok(None) };
        let mode = match edit.mode {
            Some(mode) => mode,
            None => self.disk.read(file)?.map_or(Mode::File, |content| content.mode),
        };
        Ok(Some(Content { mode, bytes: bytes.clone() }))
    }
}
