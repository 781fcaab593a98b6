//! Upstream's own bytes of overlaid paths, kept in `.overlaid/originals` of a tree that somebody else filled.
//!
//! Where there are no git objects, what an overlay replaces could not be had again: a patch that was edited could
//! not be put on anew, and `restore` had nothing to put back. So the pin's bytes are kept by their id before they
//! are replaced, with an index that says which paths they belong to. Contents are proven by their id when they
//! are read. Never decides which paths those are: `io::locked` does.

use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use rustix::io::Errno;

use super::error::TreeError;
use super::folder::{Root, Way, create_at, mode_of, read_at, rename_at, stat_at, unlink_at};
use super::state::{Origin, Saved, State};
use super::{HOME, prepare_home};
use crate::id::{BlobId, CommitId, UpstreamPath};
use crate::sorted::{SortedMap, SortedSet};
use crate::tree::{Content, Entry, Mode};

const FOLDER: &str = "originals";
const INDEX: &str = "index";

/// A tree with the bytes of upstream's that were kept in it.
#[derive(Debug)]
pub struct Originals {
    root: Root,
}

/// What an earlier run left in a tree.
#[derive(Debug)]
pub struct Recorded {
    /// How the tree came to be.
    pub origin: Origin,
    /// The commit that it is of.
    pub commit: CommitId,
    /// What was written at each path; `None`: an overlay removed it.
    pub entries: SortedMap<UpstreamPath, Option<Entry>>,
}

impl Originals {
    /// Opens a tree.
    ///
    /// # Errors
    /// If the folder is not there or cannot be opened.
    pub fn open(dir: &Path) -> Result<Self, TreeError> {
        Ok(Self { root: Root::open(dir)? })
    }

    /// Where the tree is.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.root.path()
    }

    /// Whether an earlier run has left anything at all.
    ///
    /// # Errors
    /// If that cannot be seen.
    pub fn has_home(&self) -> Result<bool, TreeError> {
        Ok(self.root.inside(HOME)?.is_some())
    }

    /// What an earlier run left; `None` if there was none.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn recorded(&self) -> Result<Option<Recorded>, TreeError> {
        let Some(home) = self.root.inside(HOME)? else { return Ok(None) };
        // Of a damaged state nothing is believed; the next run makes it anew.
        let Saved::Good(state) = State::load(&home)? else { return Ok(None) };
        let mut entries = SortedMap::new();
        let mut records = state.records();
        while let Some(record) = records.next() {
            let path = UpstreamPath::parse(records.path())
                .map_err(|error| TreeError::State { path: home.at("state"), why: error.to_string() })?;
            entries.insert(path, record.entry);
        }
        Ok(Some(Recorded { origin: state.header.origin, commit: state.header.commit, entries }))
    }

    /// The file or link at a path of the tree; `None` if there is neither. Links are not followed.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn in_tree(&self, path: &UpstreamPath) -> Result<Option<Content>, TreeError> {
        let failed = |error| TreeError::io("read", self.root.at(path.as_bytes()), error);
        let (Way::Open(folder), name) = self.root.parent(path)? else { return Ok(None) };
        let Some(stat) = stat_at(&folder, name).map_err(failed)? else { return Ok(None) };
        let (mode, bytes) = match mode_of(&stat) {
            Ok(Mode::Submodule) | Err(_) => return Ok(None),
            Ok(Mode::Symlink) => {
                let target = rustix::fs::readlinkat(folder, name.as_bytes(), Vec::new()).map_err(failed)?;
                (Mode::Symlink, target.into_bytes())
            }
            Ok(mode) => (mode, read_at(folder, name).map_err(failed)?),
        };
        Ok(Some(Content { mode, bytes: bytes.into() }))
    }

    /// A content that was kept; `None` if it was not, or is damaged.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn kept(&self, id: BlobId) -> Result<Option<Vec<u8>>, TreeError> {
        Ok(self.read(&id.to_string())?.filter(|bytes| BlobId::of(bytes) == id))
    }

    /// Whether a content of this id was kept. Only looks for it.
    ///
    /// # Errors
    /// If that cannot be seen.
    pub fn has_kept(&self, id: BlobId) -> Result<bool, TreeError> {
        let Some(folder) = self.folder()? else { return Ok(false) };
        let stat = stat_at(&folder, id.to_string());
        Ok(stat.map_err(|error| TreeError::io("look at", folder.at(id.to_string()), error))?.is_some())
    }

    /// The index that was kept with them.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn index(&self) -> Result<Option<Vec<u8>>, TreeError> {
        self.read(INDEX)
    }

    /// Where the index is, for messages.
    #[must_use]
    pub fn index_file(&self) -> PathBuf {
        self.root.at(HOME).join(FOLDER).join(INDEX)
    }

    /// Keeps contents and the index.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn keep<'c>(
        &self,
        contents: impl IntoIterator<Item = (BlobId, &'c [u8])>,
        index: &[u8],
    ) -> Result<(), TreeError> {
        let home = self.root.make_inside(HOME)?;
        prepare_home(&home)?;
        let folder = home.make_inside(FOLDER)?;
        for (id, bytes) in contents {
            replace(&folder, &id.to_string(), bytes)?;
        }
        replace(&folder, INDEX, index)
    }

    /// Removes what was kept and is not among these.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn keep_only(&self, ids: &SortedSet<BlobId>) -> Result<(), TreeError> {
        let Some(folder) = self.folder()? else { return Ok(()) };
        for name in folder.names()? {
            let id = name.to_str().ok().and_then(|name| BlobId::parse(name).ok());
            if id.is_some_and(|id| !ids.contains(&id)) {
                unlink_at(&folder, &name)
                    .map_err(|error| TreeError::io("remove", folder.at(&name), error))?;
            }
        }
        Ok(())
    }

    fn folder(&self) -> Result<Option<Root>, TreeError> {
        match self.root.inside(HOME)? {
            Some(home) => home.inside(FOLDER),
            None => Ok(None),
        }
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, TreeError> {
        let Some(folder) = self.folder()? else { return Ok(None) };
        match read_at(&folder, name) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(TreeError::io("read", folder.at(name), error)),
        }
    }
}

/// Writes a file in one step: a reader sees all of it or none. Several processes may do it at once.
fn replace(folder: &Root, name: &str, bytes: &[u8]) -> Result<(), TreeError> {
    let failed = |error| TreeError::io("write", folder.at(name), error);
    let new = format!("{name}.{}", std::process::id());
    unlink_at(folder, &new).map_err(failed)?;
    let written = create_at(folder, &new, false, bytes)
        .and_then(rustix::fs::fsync)
        .and_then(|()| rename_at(folder, &new, folder, name));
    if written.is_err() {
        let _ = unlink_at(folder, &new);
    }
    written.map_err(failed)
}
