//! The folder in which somebody edits an overlay, and the last change that was taken from one.
//!
//! `.overlaid/edit/<overlay>` is a tree like the one that `apply` makes, with a note of what it was made from in its own
//! `.overlaid`. What a person wrote there is never overwritten: a folder that is to be made anew is moved aside.
//! `.overlaid/.undo` has the files of ours as they were before the last `refresh`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::hashes::write_atomically;
use super::own_edits::{self, Done, Lock, OwnEditError};
use super::own_files::{Disk, OwnFiles};
use super::tree::{self, Event, HOME, Options, Originals, Outcome, TreeError};
use super::workspace::LoadError;
use crate::bump::FileEdit;
use crate::id::{BlobId, OverlayName, UpstreamPath};
use crate::plan::Wanted;
use crate::tree::{Changes, Content, Mode};
use crate::upstream::Upstream;

const FOLDER: &str = ".overlaid/edit";
const ASIDE: &str = ".overlaid/edited";
const NOTE: &str = "edit.json";
const SCHEMA: &str = "overlaid.edit.v1";
/// No upstream and no overlay can have this name.
const UNDO: &str = ".overlaid/.undo";
const RECORD: &str = "undo.json";

/// Why a scratch folder cannot be used.
#[derive(Debug)]
pub enum ScratchError {
    /// A file or folder cannot be read or written.
    Io(PathBuf, io::Error),
    /// The tree in it cannot be read or written.
    Tree(TreeError),
    /// A file of ours cannot be read.
    Load(LoadError),
    /// Files of ours cannot be written.
    Own(OwnEditError),
    /// Something is there that git cannot hold: a device, a bad name.
    Strange(PathBuf, &'static str),
    /// A file is not what the last refresh made of it.
    Changed(PathBuf),
    /// The record of the last refresh cannot be read.
    Damaged(PathBuf),
}

impl std::fmt::Display for ScratchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ScratchError::Io(path, error) => write!(f, "cannot use `{}`: {error}", path.display()),
            ScratchError::Tree(error) => error.fmt(f),
            ScratchError::Load(LoadError::Io { path, error }) => {
                write!(f, "cannot read `{}`: {error}", path.display())
            }
            ScratchError::Load(LoadError::Manifest(_)) => f.write_str("the manifest cannot be read"),
            ScratchError::Own(error) => error.fmt(f),
            ScratchError::Strange(path, why) => write!(f, "`{}` cannot be taken: {why}", path.display()),
            ScratchError::Changed(path) => {
                write!(f, "`{}` was changed since the last refresh; nothing was taken back", path.display())
            }
            ScratchError::Damaged(path) => write!(f, "`{}` is damaged", path.display()),
        }
    }
}

impl std::error::Error for ScratchError {}

impl From<TreeError> for ScratchError {
    fn from(error: TreeError) -> Self {
        ScratchError::Tree(error)
    }
}

impl From<LoadError> for ScratchError {
    fn from(error: LoadError) -> Self {
        ScratchError::Load(error)
    }
}

impl From<OwnEditError> for ScratchError {
    fn from(error: OwnEditError) -> Self {
        ScratchError::Own(error)
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> ScratchError {
    let path = path.to_owned();
    move |error| ScratchError::Io(path, error)
}

/// The note in a scratch folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    schema: String,
    /// The upstream.
    pub upstream: String,
    /// What the folder was made from: see `refresh::Sides::name`.
    pub made_from: String,
}

impl Note {
    /// A note.
    #[must_use]
    pub fn new(upstream: &str, made_from: String) -> Self {
        Self { schema: SCHEMA.to_owned(), upstream: upstream.to_owned(), made_from }
    }
}

/// The scratch folder of an overlay.
#[derive(Debug)]
pub struct Scratch {
    root: PathBuf,
    overlay: OverlayName,
}

impl Scratch {
    /// The folder, whether it is there or not.
    #[must_use]
    pub fn of(root: &Path, overlay: &OverlayName) -> Self {
        Self { root: root.to_owned(), overlay: overlay.clone() }
    }

    /// The overlays that have one, sorted.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn all(root: &Path) -> Result<Vec<OverlayName>, ScratchError> {
        let folder = root.join(FOLDER);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(at(&folder))?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(at(&folder))?.file_name();
            let name = name.to_str().and_then(|name| OverlayName::parse(name).ok());
            names.extend(name.filter(|name| Scratch::of(root, name).note().is_some()));
        }
        names.sort();
        Ok(names)
    }

    /// Where it is, relative to the repository.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        Path::new(FOLDER).join(self.overlay.as_str())
    }

    /// Where it is.
    #[must_use]
    pub fn dir(&self) -> PathBuf {
        self.root.join(self.folder())
    }

    /// What it was made from; `None` if it is not there.
    #[must_use]
    pub fn note(&self) -> Option<Note> {
        let text = fs::read(self.dir().join(HOME).join(NOTE)).ok()?;
        serde_json::from_slice::<Note>(&text).ok().filter(|note| note.schema == SCHEMA)
    }

    /// Notes what it was made from.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn set_note(&self, note: &Note) -> Result<(), ScratchError> {
        let file = self.dir().join(HOME).join(NOTE);
        let text = serde_json::to_vec_pretty(note).map_err(|error| at(&file)(io::Error::other(error)))?;
        write_atomically(&file, &text).map_err(at(&file))
    }

    /// Fills the folder, which is empty or not there.
    ///
    /// # Errors
    /// If it cannot be written, or something is there.
    pub fn make(
        &self,
        wanted: &Wanted,
        note: &Note,
        upstream: &dyn Upstream,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), ScratchError> {
        let dir = self.dir();
        if let Some(above) = dir.parent() {
            fs::create_dir_all(above).map_err(at(above))?;
        }
        match tree::bring_to(&dir, wanted, upstream, &Options::default(), events)? {
            Outcome::Changed(_) | Outcome::Unchanged(_) => self.set_note(note),
            Outcome::Refused(_) | Outcome::NotOurs => {
                Err(ScratchError::Strange(dir, "somebody's files are in the way"))
            }
        }
    }

    /// Moves the folder aside, and says where it is then, relative to the repository.
    ///
    /// # Errors
    /// If it cannot be moved.
    pub fn move_aside(&self) -> Result<PathBuf, ScratchError> {
        let aside = self.root.join(ASIDE);
        fs::create_dir_all(&aside).map_err(at(&aside))?;
        let mut number = 1;
        loop {
            let to = Path::new(ASIDE).join(format!("{}-{number}", self.overlay));
            if self.root.join(&to).symlink_metadata().is_err() {
                fs::rename(self.dir(), self.root.join(&to)).map_err(at(&self.dir()))?;
                return Ok(to);
            }
            number += 1;
        }
    }

    /// Removes the folder with all that is in it.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(&self) -> Result<(), ScratchError> {
        fs::remove_dir_all(self.dir()).map_err(at(&self.dir()))
    }

    /// Gives the folder to an overlay of another name.
    ///
    /// # Errors
    /// If it cannot be moved.
    pub fn rename_to(&self, overlay: &OverlayName) -> Result<(), ScratchError> {
        let to = Scratch::of(&self.root, overlay).dir();
        fs::rename(self.dir(), to).map_err(at(&self.dir()))
    }

    /// Makes a path of the folder a content, or nothing. Never through a link.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put(&self, path: &UpstreamPath, content: Option<&Content>) -> Result<(), ScratchError> {
        use std::os::unix::ffi::OsStrExt;
        use std::os::unix::fs::PermissionsExt;
        let dir = self.dir();
        let file = dir.join(path.to_os_path());
        if let Some(above) = file.parent() {
            let inside = above.ancestors().take_while(|above| *above != dir);
            if inside.into_iter().any(Path::is_symlink) {
                return Err(ScratchError::Strange(file, "a link leads to it"));
            }
            fs::create_dir_all(above).map_err(at(above))?;
        }
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&file)(error)),
            _ => {}
        }
        let Some(content) = content else { return Ok(()) };
        if content.mode == Mode::Symlink {
            let target = std::ffi::OsStr::from_bytes(&content.bytes);
            return std::os::unix::fs::symlink(target, &file).map_err(at(&file));
        }
        fs::write(&file, &content.bytes).map_err(at(&file))?;
        let bits = if content.mode == Mode::Executable { 0o755 } else { 0o644 };
        fs::set_permissions(&file, fs::Permissions::from_mode(bits)).map_err(at(&file))
    }

    /// The paths at which the folder is not what is wanted, with what stands there. Every file is read.
    ///
    /// # Errors
    /// If something cannot be read, or is nothing that git could hold.
    pub fn edited(&self, wanted: &Wanted) -> Result<Changes, ScratchError> {
        use std::os::unix::ffi::OsStrExt;
        let dir = self.dir();
        let originals = Originals::open(&dir)?;
        let mut edited = Changes::new();
        for difference in tree::compare(&dir, wanted)? {
            let file = dir.join(std::ffi::OsStr::from_bytes(&difference.path));
            let path = UpstreamPath::parse(&difference.path)
                .map_err(|_| ScratchError::Strange(file.clone(), "git cannot hold such a path"))?;
            if wanted.entry(&path).is_some_and(|entry| entry.mode == Mode::Submodule) {
                return Err(ScratchError::Strange(file, "it is a submodule"));
            }
            let found = originals.in_tree(&path)?;
            let is_strange = match file.symlink_metadata() {
                Ok(data) => found.is_none() && !data.is_dir(),
                Err(_) => false,
            };
            if is_strange {
                return Err(ScratchError::Strange(file, "it is neither a file nor a link"));
            }
            edited.insert(path, found);
        }
        Ok(edited)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    schema: String,
    overlay: OverlayName,
    steps: Vec<Step>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Step {
    file: PathBuf,
    /// What stood there; its bytes are in the file of this number.
    before: Option<Mode>,
    after: Option<BlobId>,
}

/// Changes files of ours as `own_edits::write`, and keeps what takes it back.
///
/// # Errors
/// If a file cannot be written; then none is.
pub fn write_undoably(lock: &Lock, overlay: &OverlayName, edits: &[FileEdit]) -> Result<Done, ScratchError> {
    let root = lock.root();
    if own_edits::pending(root).is_some() {
        return Err(OwnEditError::Pending.into());
    }
    let place = root.join(UNDO);
    let failed = |error| ScratchError::Io(place.clone(), error);
    forget(&place)?;
    fs::create_dir_all(&place).map_err(failed)?;
    let disk = Disk::new(root);
    let mut steps = Vec::new();
    for (number, edit) in edits.iter().enumerate() {
        let before = disk.read(&edit.file)?;
        if let Some(content) = &before {
            let file = place.join(number.to_string());
            fs::write(&file, &content.bytes).map_err(at(&file))?;
        }
        let after = edit.after.as_ref().map(|bytes| BlobId::of(bytes));
        steps.push(Step { file: edit.file.clone(), before: before.map(|content| content.mode), after });
    }
    let record = Record { schema: SCHEMA.to_owned(), overlay: overlay.clone(), steps };
    let text = serde_json::to_vec_pretty(&record).map_err(|error| failed(io::Error::other(error)))?;
    write_atomically(&place.join(RECORD), &text).map_err(failed)?;
    let written = own_edits::write(lock, edits);
    if written.is_err() && own_edits::pending(root).is_none() {
        forget(&place)?;
    }
    Ok(written?)
}

/// Takes the last change back: all of it or nothing. Gives the overlay that it was about; `None` if there is none.
///
/// # Errors
/// If a file is not what the change made of it, or cannot be written.
pub fn undo(lock: &Lock) -> Result<Option<(OverlayName, Done)>, ScratchError> {
    let root = lock.root();
    let place = root.join(UNDO);
    let file = place.join(RECORD);
    let text = match fs::read(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(at(&file))?,
    };
    let record: Record = serde_json::from_slice(&text).map_err(|_| ScratchError::Damaged(file.clone()))?;
    let disk = Disk::new(root);
    let mut edits = Vec::new();
    let mut changed = None;
    let mut is_back = true;
    for (number, step) in record.steps.iter().enumerate() {
        let there = disk.read(&step.file)?.map(|content| BlobId::of(&content.bytes));
        if there != step.after {
            changed = changed.or(Some(step.file.clone()));
        }
        let old = match step.before {
            Some(mode) => {
                let file = place.join(number.to_string());
                Some(Content { mode, bytes: fs::read(&file).map_err(at(&file))?.into() })
            }
            None => None,
        };
        is_back &= there == old.as_ref().map(|content| BlobId::of(&content.bytes));
        edits.push(FileEdit {
            file: step.file.clone(),
            before: step.after,
            mode: old.as_ref().map(|content| content.mode),
            after: old.map(|content| content.bytes),
        });
    }
    let done = match changed {
        // A run that was killed had taken it back already.
        Some(_) if is_back => {
            let removed = edits.iter().filter(|edit| edit.after.is_none());
            let removed = removed.map(|edit| edit.file.clone()).collect();
            let files = edits.into_iter().map(|edit| edit.file).collect();
            Done { files, removed, before: None, kept: Vec::new() }
        }
        Some(file) => return Err(ScratchError::Changed(file)),
        None => own_edits::write(lock, &edits)?,
    };
    forget(&place)?;
    Ok(Some((record.overlay, done)))
}

/// Removes what takes a change back, the record first: files without it are none, and it is none without them.
fn forget(place: &Path) -> Result<(), ScratchError> {
    let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let record = place.join(RECORD);
    match fs::remove_file(&record) {
        Err(error) if !gone(&error) => return Err(ScratchError::Io(record, error)),
        _ => {}
    }
    match fs::remove_dir_all(place) {
        Err(error) if !gone(&error) => Err(ScratchError::Io(place.to_owned(), error)),
        _ => Ok(()),
    }
}

/// Runs a program of the person's in a folder and waits for it. Gives whether it ended well.
///
/// # Errors
/// If it cannot be started.
pub fn run_in(dir: &Path, shell_line: &str, arguments: &[PathBuf]) -> io::Result<bool> {
    // `$EDITOR` may have arguments of its own, so a shell takes it apart.
    let mut command = std::process::Command::new("sh");
    command.arg("-c").arg(format!("{shell_line} \"$@\"")).arg("sh").args(arguments).current_dir(dir);
    Ok(command.status()?.success())
}

/// The person's editor, and their shell.
#[must_use]
pub fn editor_and_shell() -> (Option<String>, String) {
    let var = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    (var("VISUAL").or_else(|| var("EDITOR")), var("SHELL").unwrap_or_else(|| "sh".to_owned()))
}
