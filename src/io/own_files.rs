//! Files of our own repository: from disk, or as they were at an earlier revision.

#[cfg(feature = "cli")]
use std::cell::RefCell;
#[cfg(feature = "git")]
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[cfg(feature = "git")]
use crate::bump::FileEdit;
use crate::tree::{Content, Mode};

#[cfg(feature = "cli")]
use super::tree::unchanged::Inputs;
use super::workspace::LoadError;

/// Where files of ours come from. Paths are relative to the repository.
pub trait OwnFiles {
    /// All files and links below a folder, relative to it, sorted; none if it does not exist.
    ///
    /// # Errors
    /// If a folder cannot be read.
    fn list(&self, folder: &Path) -> Result<Vec<PathBuf>, LoadError>;

    /// A file as an entry of a tree; `None` if it does not exist.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read(&self, file: &Path) -> Result<Option<Content>, LoadError>;
}

/// The files on disk.
#[derive(Debug)]
pub struct Disk {
    root: PathBuf,
}

impl Disk {
    /// The files below a folder.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }
}

impl OwnFiles for Disk {
    fn list(&self, folder: &Path) -> Result<Vec<PathBuf>, LoadError> {
        let folder = self.root.join(folder);
        if !folder.exists() {
            return Ok(Vec::new());
        }
        let mut files = Vec::new();
        for entry in walkdir::WalkDir::new(&folder).sort_by_file_name() {
            let entry = entry.map_err(|error| {
                let path = error.path().unwrap_or(&folder).to_owned();
                LoadError::Io { path, error: error.into() }
            })?;
            if !entry.file_type().is_dir()
                && let Ok(file) = entry.path().strip_prefix(&folder)
            {
                files.push(file.to_owned());
            }
        }
        Ok(files)
    }

    fn read(&self, file: &Path) -> Result<Option<Content>, LoadError> {
        use std::os::unix::ffi::OsStringExt;
        use std::os::unix::fs::PermissionsExt;
        let path = self.root.join(file);
        let io = |error| LoadError::Io { path: path.clone(), error };
        let metadata = match std::fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            // Nor is there a file in what is a file itself.
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(io(error)),
        };
        if metadata.is_symlink() {
            let target = std::fs::read_link(&path).map_err(io)?;
            return Ok(Some(Content {
                mode: Mode::Symlink,
                bytes: target.into_os_string().into_vec().into(),
            }));
        }
        let mode = if metadata.permissions().mode() & 0o100 == 0 { Mode::File } else { Mode::Executable };
        Ok(Some(Content { mode, bytes: std::fs::read(&path).map_err(io)?.into() }))
    }
}

/// The files as they will be once some of them are edited.
#[cfg(feature = "git")]
#[derive(Debug)]
pub struct Edited<'a> {
    disk: &'a Disk,
    edits: &'a [FileEdit],
}

#[cfg(feature = "git")]
impl<'a> Edited<'a> {
    /// The files on disk, with edits that are not written yet.
    #[must_use]
    pub fn new(disk: &'a Disk, edits: &'a [FileEdit]) -> Self {
        Self { disk, edits }
    }
}

#[cfg(feature = "git")]
impl OwnFiles for Edited<'_> {
    fn list(&self, folder: &Path) -> Result<Vec<PathBuf>, LoadError> {
        let mut files: BTreeSet<PathBuf> = self.disk.list(folder)?.into_iter().collect();
        for edit in self.edits {
            let Ok(file) = edit.file.strip_prefix(folder) else { continue };
            match edit.after {
                Some(_) => files.insert(file.to_owned()),
                None => files.remove(file),
            };
        }
        Ok(files.into_iter().collect())
    }

    fn read(&self, file: &Path) -> Result<Option<Content>, LoadError> {
        let Some(edit) = self.edits.iter().rfind(|edit| edit.file == file) else {
            return self.disk.read(file);
        };
        let Some(bytes) = edit.after.clone() else { return Ok(None) };
        let mode = match edit.mode {
            Some(mode) => mode,
            None => self.disk.read(file)?.map_or(Mode::File, |there| there.mode),
        };
        Ok(Some(Content { mode, bytes }))
    }
}

/// A folder and all folders below it, sorted: those of our repository in which a new file must be noticed. None if it is
/// not there.
///
/// # Errors
/// If one cannot be read.
pub fn folders_from(folder: &Path) -> Result<Vec<PathBuf>, LoadError> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut folders = Vec::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.map_err(|error| {
            let path = error.path().unwrap_or(folder).to_owned();
            LoadError::Io { path, error: error.into() }
        })?;
        if entry.file_type().is_dir() {
            folders.push(entry.into_path());
        }
    }
    Ok(folders)
}

/// Writes a file and the folders above it, if it has not this content already.
///
/// # Errors
/// If it cannot be written.
pub fn write_new(file: &Path, content: &[u8]) -> std::io::Result<()> {
    if std::fs::read(file).is_ok_and(|there| there == content) {
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(file, content)
}

/// The files on disk; all that is read of them is noted.
#[cfg(feature = "cli")]
#[derive(Debug)]
pub struct Noted {
    disk: Disk,
    /// The same folder from the root of the file system: the next run may start in another place.
    root: PathBuf,
    inputs: RefCell<Inputs>,
}

#[cfg(feature = "cli")]
impl Noted {
    /// The files below a folder; reading starts now.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        let inputs = RefCell::new(Inputs::new());
        let absolute = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        Self { disk: Disk::new(root), root: absolute, inputs }
    }

    /// What was read.
    #[must_use]
    pub fn into_inputs(self) -> Inputs {
        self.inputs.into_inner()
    }
}

#[cfg(feature = "cli")]
impl OwnFiles for Noted {
    fn list(&self, folder: &Path) -> Result<Vec<PathBuf>, LoadError> {
        let top = self.root.join(folder);
        self.inputs.borrow_mut().listed(&top);
        let files = self.disk.list(folder)?;
        // Folders without files are noted, too: a file may come.
        for entry in walkdir::WalkDir::new(&top).min_depth(1) {
            if let Ok(entry) = entry
                && entry.file_type().is_dir()
            {
                self.inputs.borrow_mut().listed(entry.path());
            }
        }
        Ok(files)
    }

    fn read(&self, file: &Path) -> Result<Option<Content>, LoadError> {
        self.inputs.borrow_mut().read(&self.root.join(file));
        self.disk.read(file)
    }
}

/// Puts a `.gitignore` into the folder `.overlaid` of our repository, if that is there: what is in it is made, and nobody
/// wants it in a commit. One that is there stays as it is.
///
/// # Errors
/// If it cannot be written.
pub fn hide_from_git(root: &Path) -> std::io::Result<()> {
    let folder = root.join(".overlaid");
    let file = folder.join(".gitignore");
    if folder.is_dir() && !file.exists() {
        std::fs::write(&file, "*\n").inspect_err(|_| drop(std::fs::remove_file(&file)))?;
    }
    Ok(())
}
