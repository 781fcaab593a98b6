//! Several files of our own repository are changed, or none is.
//!
//! 1. New contents and copies of the old ones are written into `.overlaid/edits`. A failure here changes nothing.
//! 2. The journal is written. From here on the change is finished, or taken back, by whoever comes next.
//! 3. The new contents are renamed into their places.
//! 4. The journal is removed. The old files stay in `.overlaid/before/<number>`.
//!
//! Between 2 and 4 no command works on the repository: [`pending`] says so. Both ways are open, since both the old and
//! the new contents are there. Whoever writes holds the [`Lock`] from before the first file is read. Never follows a link
//! out of the repository, and never writes over a content that is not the one that was read.

mod journal;
mod lock;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::bump::FileEdit;
use crate::id::BlobId;
use crate::tree::Mode;

use super::own_files::hide_from_git;
use journal::{Journal, Step};
pub use lock::{Lock, interrupted};

const HOME: &str = ".overlaid/edits";
const BEFORE: &str = ".overlaid/before";

/// Why files of ours were not changed.
#[derive(Debug)]
pub enum OwnEditError {
    /// A file or folder cannot be read or written.
    Io {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why it failed.
        error: io::Error,
    },
    /// A file is not what it was when it was read.
    Changed(PathBuf),
    /// A link leads out of the repository.
    LeadsOut(PathBuf),
    /// An earlier change was interrupted.
    Pending,
    /// Another run has been writing for long.
    Busy,
    /// The journal cannot be read.
    Damaged(PathBuf),
    /// The change was begun to be taken back, and cannot be finished any more.
    Backward,
}

impl std::fmt::Display for OwnEditError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OwnEditError::Io { what, path, error } => {
                write!(f, "cannot {what} `{}`: {error}", path.display())
            }
            OwnEditError::Changed(path) => {
                write!(f, "`{}` was changed while this ran; nothing was written", path.display())
            }
            OwnEditError::LeadsOut(path) => {
                write!(f, "a link leads from `{}` out of the repository", path.display())
            }
            OwnEditError::Pending => f.write_str(
                "a command that writes your files (bump, import, refresh, drop or another) was interrupted: some \
                 files are new and some old",
            ),
            OwnEditError::Busy => f.write_str("another overlaid is writing files of this repository"),
            OwnEditError::Damaged(path) => write!(f, "`{}` is damaged", path.display()),
            OwnEditError::Backward => {
                f.write_str("taking the change back was interrupted; it can only be taken back")
            }
        }
    }
}

impl std::error::Error for OwnEditError {}

/// Which way an interrupted change can go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pending {
    /// It can be finished or taken back.
    Forward,
    /// Somebody has begun to take it back.
    Backward,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The files that changed, relative to the repository.
    pub files: Vec<PathBuf>,
    /// Those of them that are not there any more.
    pub removed: BTreeSet<PathBuf>,
    /// Where the old ones are, relative to the repository.
    pub before: Option<PathBuf>,
    /// Files that somebody else changed in between, with where their content is now.
    pub kept: Vec<(PathBuf, PathBuf)>,
}

/// Whether a change was interrupted.
#[must_use]
pub fn pending(root: &Path) -> Option<Pending> {
    let home = root.join(HOME);
    if home.join(journal::BACKWARD).exists() {
        return Some(Pending::Backward);
    }
    home.join(journal::FORWARD).exists().then_some(Pending::Forward)
}

/// Changes all of these files, or none.
///
/// # Errors
/// If one of them cannot be written, or is not what it was. Nothing has changed then, unless an interrupted change is
/// left behind: see [`pending`].
pub fn write(lock: &Lock, edits: &[FileEdit]) -> Result<Done, OwnEditError> {
    let root = lock.root();
    if pending(root).is_some() {
        return Err(OwnEditError::Pending);
    }
    if edits.is_empty() {
        return Ok(Done { files: Vec::new(), removed: BTreeSet::new(), before: None, kept: Vec::new() });
    }
    let place = Place::open(root)?;
    place.clear()?;
    let mut steps = Vec::new();
    // What goes away goes first: a folder may come to where a file was.
    let (gone, there): (Vec<&FileEdit>, Vec<&FileEdit>) = edits.iter().partition(|edit| edit.after.is_none());
    for (number, edit) in gone.into_iter().chain(there).enumerate() {
        place.check_inside(&edit.file)?;
        if place.id_of(&edit.file)? != edit.before {
            return Err(OwnEditError::Changed(edit.file.clone()));
        }
        let target = root.join(&edit.file);
        if edit.before.is_some() {
            place.copy(&target, &place.old(&edit.file)?)?;
        }
        if let Some(bytes) = &edit.after {
            place.stage(&target, number, bytes, edit.mode)?;
        }
        steps.push(Step {
            file: edit.file.clone(),
            before: edit.before,
            after: edit.after.as_ref().map(|bytes| BlobId::of(bytes)),
        });
    }
    let journal = Journal { steps };
    journal.begin(&place.home)?;
    match place.forward(&journal) {
        Ok(kept) => place.finish(&journal, kept),
        // Take back what was done, so that this run changed nothing.
        Err(error) => {
            place.back(&journal)?;
            Err(error)
        }
    }
}

/// Finishes an interrupted change; `None` if there is none.
///
/// # Errors
/// If a file cannot be written, or somebody has begun to take the change back.
pub fn finish(lock: &Lock) -> Result<Option<Done>, OwnEditError> {
    let root = lock.root();
    match pending(root) {
        None => Ok(None),
        Some(Pending::Backward) => Err(OwnEditError::Backward),
        Some(Pending::Forward) => {
            let place = Place::open(root)?;
            let journal = Journal::load(&place.home)?;
            let kept = place.forward(&journal)?;
            place.finish(&journal, kept).map(Some)
        }
    }
}

/// Takes an interrupted change back; `None` if there is none.
///
/// # Errors
/// If a file cannot be written.
pub fn take_back(lock: &Lock) -> Result<Option<Done>, OwnEditError> {
    let root = lock.root();
    if pending(root).is_none() {
        return Ok(None);
    }
    let place = Place::open(root)?;
    let journal = Journal::load(&place.home)?;
    let kept = place.back(&journal)?;
    let removed = journal.steps.iter().filter(|step| step.before.is_none());
    let removed = removed.map(|step| step.file.clone()).collect();
    let files = journal.steps.into_iter().map(|step| step.file).collect();
    Ok(Some(Done { files, removed, before: None, kept }))
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OwnEditError {
    let path = path.to_owned();
    move |error| OwnEditError::Io { what, path, error }
}

/// Makes the names in a folder survive a power failure.
fn flush_folder(folder: &Path) -> Result<(), OwnEditError> {
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("flush", folder))
}

struct Place {
    root: PathBuf,
    /// Without links.
    real_root: PathBuf,
    home: PathBuf,
}

impl Place {
    fn open(root: &Path) -> Result<Self, OwnEditError> {
        let home = root.join(HOME);
        fs::create_dir_all(&home).map_err(failed("make the folder", &home))?;
        hide_from_git(root).map_err(failed("write", &root.join(".overlaid/.gitignore")))?;
        let real_root = root.canonicalize().map_err(failed("open", root))?;
        let place = Self { root: root.to_owned(), real_root, home };
        place.check_inside(&Path::new(HOME).join("x"))?;
        Ok(place)
    }

    fn new_file(&self, number: usize) -> PathBuf {
        self.home.join("new").join(number.to_string())
    }

    /// Where the copy of an old file is; the folders above it are made.
    fn old(&self, file: &Path) -> Result<PathBuf, OwnEditError> {
        let old = self.home.join("old").join(file);
        self.make_parent(&old)?;
        Ok(old)
    }

    /// Removes what a run left. Copies of old files go where a person finds them.
    fn clear(&self) -> Result<(), OwnEditError> {
        self.move_old()?;
        for name in ["new", "old"] {
            let folder = self.home.join(name);
            match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed("remove", &folder)(error));
                }
                _ => fs::create_dir(&folder).map_err(failed("make the folder", &folder))?,
            }
        }
        Ok(())
    }

    /// The folders above a file must not be links that lead out of the repository.
    fn check_inside(&self, file: &Path) -> Result<(), OwnEditError> {
        let target = self.root.join(file);
        let there = target.ancestors().skip(1).find_map(|ancestor| ancestor.canonicalize().ok());
        match there {
            Some(real) if real.starts_with(&self.real_root) => Ok(()),
            _ => Err(OwnEditError::LeadsOut(file.to_owned())),
        }
    }

    /// What stands at a file; nothing, if a folder does.
    fn id_of(&self, file: &Path) -> Result<Option<BlobId>, OwnEditError> {
        let path = self.root.join(file);
        let metadata = match path.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(failed("look at", &path)(error)),
        };
        if metadata.is_dir() {
            return Ok(None);
        }
        if metadata.is_symlink() {
            let target = fs::read_link(&path).map_err(failed("read", &path))?;
            return Ok(Some(BlobId::of(target.as_os_str().as_bytes())));
        }
        fs::read(&path).map(|bytes| Some(BlobId::of(&bytes))).map_err(failed("read", &path))
    }

    /// Copies a file with its permissions, or a link.
    fn copy(&self, from: &Path, to: &Path) -> Result<(), OwnEditError> {
        if from.is_symlink() {
            let target = fs::read_link(from).map_err(failed("read", from))?;
            return std::os::unix::fs::symlink(target, to).map_err(failed("write", to));
        }
        fs::copy(from, to).map_err(failed("write", to))?;
        fs::File::open(to).and_then(|file| file.sync_all()).map_err(failed("flush", to))
    }

    fn stage(
        &self,
        target: &Path,
        number: usize,
        bytes: &[u8],
        mode: Option<Mode>,
    ) -> Result<(), OwnEditError> {
        let new = self.new_file(number);
        let write = failed("write", &new);
        if mode == Some(Mode::Symlink) {
            let link = std::ffi::OsString::from_vec(bytes.to_vec());
            return std::os::unix::fs::symlink(link, &new).map_err(write);
        }
        let there = fs::symlink_metadata(target).ok().filter(|there| there.is_file());
        let mut file = fs::File::create(&new).map_err(failed("write", &new))?;
        file.write_all(bytes).map_err(write)?;
        // The permissions of before; a new kind changes the right to run it and nothing else.
        let bits = there.map_or_else(
            || file.metadata().map_or(0o644, |m| m.permissions().mode()),
            |there| there.permissions().mode(),
        );
        let bits = match mode {
            Some(Mode::Executable) => bits | ((bits & 0o444) >> 2),
            Some(_) => bits & !0o111,
            None => bits,
        };
        file.set_permissions(fs::Permissions::from_mode(bits & 0o7777)).map_err(failed("write", &new))?;
        file.sync_all().map_err(failed("flush", &new))
    }

    /// Does all steps that are not done yet.
    fn forward(&self, journal: &Journal) -> Result<Vec<(PathBuf, PathBuf)>, OwnEditError> {
        let mut kept = Vec::new();
        for (number, step) in journal.steps.iter().enumerate() {
            let target = self.root.join(&step.file);
            let new = self.new_file(number);
            let is_staged = new.symlink_metadata().is_ok();
            if step.after.is_some() && !is_staged {
                continue;
            }
            kept.extend(self.keep_foreign(step)?);
            if step.after.is_some() {
                self.put(&new, &target)?;
            } else {
                self.take_away(&step.file)?;
            }
            self.flush_parent(&target)?;
        }
        Ok(kept)
    }

    /// Moves a file to its place. What is left of a folder there, once its files are gone, goes.
    fn put(&self, from: &Path, target: &Path) -> Result<(), OwnEditError> {
        self.make_parent(target)?;
        if target.symlink_metadata().is_ok_and(|there| there.is_dir()) {
            remove_empty_folders(target)?;
        }
        fs::rename(from, target).map_err(failed("write", target))
    }

    /// Removes a file, if there is one.
    fn take_away(&self, file: &Path) -> Result<(), OwnEditError> {
        match self.id_of(file)? {
            Some(_) => remove(&self.root.join(file)),
            None => Ok(()),
        }
    }

    /// Takes back all steps that are done.
    fn back(&self, journal: &Journal) -> Result<Vec<(PathBuf, PathBuf)>, OwnEditError> {
        Journal::turn_round(&self.home)?;
        let mut kept = Vec::new();
        // The last step first: a folder may have to go before there is a file in its place again.
        for step in journal.steps.iter().rev() {
            let target = self.root.join(&step.file);
            if self.id_of(&step.file)? == step.before {
                continue;
            }
            kept.extend(self.keep_foreign(step)?);
            if step.before.is_some() {
                let again = self.home.join("again");
                remove(&again)?;
                self.copy(&self.old(&step.file)?, &again)?;
                self.put(&again, &target)?;
            } else {
                self.take_away(&step.file)?;
            }
            self.flush_parent(&target)?;
        }
        Journal::end(&self.home)?;
        // The files are what the copies are.
        let old = self.home.join("old");
        fs::remove_dir_all(&old).map_err(failed("remove", &old))?;
        self.clear()?;
        Ok(kept)
    }

    /// What somebody put there in between is copied aside.
    fn keep_foreign(&self, step: &Step) -> Result<Option<(PathBuf, PathBuf)>, OwnEditError> {
        let there = self.id_of(&step.file)?;
        if there.is_none() || there == step.before || there == step.after {
            return Ok(None);
        }
        let copy = self.next_before()?.join(&step.file);
        let full = self.root.join(&copy);
        self.make_parent(&full)?;
        self.copy(&self.root.join(&step.file), &full)?;
        Ok(Some((step.file.clone(), copy)))
    }

    /// The old files stay for a person, under their names.
    fn finish(&self, journal: &Journal, kept: Vec<(PathBuf, PathBuf)>) -> Result<Done, OwnEditError> {
        Journal::end(&self.home)?;
        let before = self.move_old()?;
        self.clear()?;
        let files = journal.steps.iter().map(|step| step.file.clone()).collect();
        let removed = journal.steps.iter().filter(|step| step.after.is_none());
        let removed = removed.map(|step| step.file.clone()).collect();
        Ok(Done { files, removed, before, kept })
    }

    /// Moves the copies of old files to where they stay; `None` if there are none.
    fn move_old(&self) -> Result<Option<PathBuf>, OwnEditError> {
        let old = self.home.join("old");
        let is_empty = fs::read_dir(&old).map_or(true, |mut entries| entries.next().is_none());
        if is_empty {
            return Ok(None);
        }
        let before = self.next_before()?;
        let to = self.root.join(&before);
        self.make_parent(&to)?;
        fs::rename(&old, &to).map_err(failed("move", &old))?;
        Ok(Some(before))
    }

    /// The first folder of `.overlaid/before` that is free.
    fn next_before(&self) -> Result<PathBuf, OwnEditError> {
        let free = (1_u32..).map(|number| Path::new(BEFORE).join(number.to_string()));
        let mut free = free.filter(|folder| self.root.join(folder).symlink_metadata().is_err());
        free.next().ok_or_else(|| OwnEditError::Damaged(self.root.join(BEFORE)))
    }

    fn make_parent(&self, target: &Path) -> Result<(), OwnEditError> {
        let Some(parent) = target.parent() else { return Ok(()) };
        fs::create_dir_all(parent).map_err(failed("make the folder", parent))
    }

    fn flush_parent(&self, target: &Path) -> Result<(), OwnEditError> {
        match target.parent() {
            Some(parent) if parent.is_dir() => flush_folder(parent),
            _ => Ok(()),
        }
    }
}

/// Whether nothing is at a path: not even a folder that it could be in.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Removes a folder in which there are only folders; nothing, if there is a file somewhere.
fn remove_empty_folders(folder: &Path) -> Result<(), OwnEditError> {
    let all: Vec<_> = walkdir::WalkDir::new(folder)
        .contents_first(true)
        .into_iter()
        .collect::<Result<_, _>>()
        .map_err(|error| failed("look at", folder)(error.into()))?;
    match all.iter().all(|entry| entry.file_type().is_dir()) {
        false => Ok(()),
        true => all
            .iter()
            .try_for_each(|folder| fs::remove_dir(folder.path()).map_err(failed("remove", folder.path()))),
    }
}

/// Removes a file; that it is not there is fine.
fn remove(path: &Path) -> Result<(), OwnEditError> {
    match fs::remove_file(path) {
        Err(error) if !is_absent(&error) => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}
