//! The work folder of a move of the pin: what a person has to look at, and what they made of it.
//!
//! `.overlaid/bump/<upstream>/bump.json` says where the move goes; `<overlay>/<path>` beside it has the conflict markers.
//! Where there are no lines to mark, `<path>.ours`, `.theirs` and `.base` are what the sides have; a person puts the
//! result at `<path>`, or an empty file at `<path>.deleted`. What a person wrote is never overwritten or deleted.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::merge_tool::Conflict;
use super::own_files::{Disk, OwnFiles};
use crate::bump::{Misfit, Unresolved, check_markers};
use crate::id::{BlobId, CommitId, Name, OverlayName, UpstreamPath};
use crate::merge::Style;
use crate::tree::{Content, Mode};

use super::workspace::LoadError;

const STATE: &str = "bump.json";

/// Where a move goes and what was asked of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The pin before.
    pub from: CommitId,
    /// The pin after.
    pub to: CommitId,
    /// What the person called it.
    pub called: String,
    /// How conflicts are marked: `merge`, `diff3` or `zdiff3`.
    style: String,
    /// What was asked.
    pub asked: Vec<Asked>,
    /// Whether overlays that upstream has wholly are dropped.
    #[serde(default)]
    pub drop_absorbed: bool,
}

/// A path that a person has to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The overlay.
    pub overlay: OverlayName,
    /// Its path.
    pub path: UpstreamPath,
    /// The three contents: an answer is one to these only.
    triple: [Option<BlobId>; 3],
    /// What was written at the path; `None` if there is nothing to mark.
    written: Option<BlobId>,
}

/// What a person made of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Nothing yet.
    None,
    /// A marker is left.
    Marker(Unresolved),
    /// A content; `None`: the path goes away.
    Content(Option<Content>),
}

impl State {
    /// A new move.
    #[must_use]
    pub fn new(from: CommitId, to: CommitId, called: &str, style: Style) -> Self {
        let style = match style {
            Style::Merge => "merge",
            Style::Diff3 => "diff3",
            Style::Zdiff3 => "zdiff3",
        };
        Self {
            from,
            to,
            called: called.to_owned(),
            style: style.to_owned(),
            asked: Vec::new(),
            drop_absorbed: false,
        }
    }

    /// How conflicts are marked.
    #[must_use]
    pub fn style(&self) -> Style {
        match self.style.as_str() {
            "diff3" => Style::Diff3,
            "zdiff3" => Style::Zdiff3,
            _ => Style::Merge,
        }
    }
}

/// The work folder of an upstream.
#[derive(Debug)]
pub struct Work {
    root: PathBuf,
    /// Relative to the repository.
    dir: PathBuf,
}

type Result<T> = std::result::Result<T, LoadError>;

fn io_at(path: &Path) -> impl FnOnce(io::Error) -> LoadError {
    let path = path.to_owned();
    move |error| LoadError::Io { path, error }
}

impl Work {
    /// The folder, whether it is there or not.
    #[must_use]
    pub fn of(root: &Path, upstream: &Name) -> Self {
        Self { root: root.to_owned(), dir: Path::new(".overlaid/bump").join(upstream.as_str()) }
    }

    /// Where it is, relative to the repository.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The move that is under way, if one is.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn load(&self) -> Result<Option<State>> {
        let file = self.root.join(&self.dir).join(STATE);
        let text = match fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_at(&file)(error)),
        };
        serde_json::from_slice(&text).map(Some).map_err(|error| io_at(&file)(io::Error::other(error)))
    }

    /// Writes down where the move goes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, state: &State) -> Result<()> {
        let dir = self.root.join(&self.dir);
        let (file, draft) = (dir.join(STATE), dir.join(format!("{STATE}.new")));
        let text = serde_json::to_vec_pretty(state).map_err(|error| io_at(&file)(io::Error::other(error)))?;
        fs::create_dir_all(&dir).map_err(io_at(&dir))?;
        fs::write(&draft, text).map_err(io_at(&draft))?;
        fs::rename(&draft, &file).map_err(io_at(&file))
    }

    /// The file of a path, relative to the repository.
    #[must_use]
    pub fn file(&self, overlay: &OverlayName, path: &UpstreamPath) -> PathBuf {
        self.dir.join(overlay.as_str()).join(path.to_os_path())
    }

    /// Puts a path before a person, unless it is there already. Says whether an answer is expected at the file itself.
    ///
    /// # Errors
    /// If files cannot be written.
    pub fn ask(
        &self,
        state: &mut State,
        overlay: &OverlayName,
        path: &UpstreamPath,
        misfit: &Misfit,
    ) -> Result<()> {
        let triple = triple(misfit);
        let known = state.asked.iter().position(|asked| asked.overlay == *overlay && asked.path == *path);
        if let Some(known) = known {
            if state.asked[known].triple == triple {
                return Ok(());
            }
            // Something else collides now; the answer to the question before is kept beside it.
            self.keep(&self.file(overlay, path))?;
            state.asked.remove(known);
        }
        let file = self.file(overlay, path);
        self.keep(&file)?;
        let mode = misfit.ours.as_ref().or(misfit.theirs.as_ref()).map_or(Mode::File, |content| content.mode);
        let written = match &misfit.marked {
            Some(marked) => {
                self.put(&file, &Content { mode, bytes: marked.as_slice().into() })?;
                Some(BlobId::of(marked))
            }
            None => {
                let sides = [("base", &misfit.base), ("ours", &misfit.ours), ("theirs", &misfit.theirs)];
                for (name, content) in sides {
                    if let Some(content) = content {
                        self.put(&beside(&file, name), content)?;
                    }
                }
                None
            }
        };
        state.asked.push(Asked { overlay: overlay.clone(), path: path.clone(), triple, written });
        Ok(())
    }

    /// The files of a path for a merge tool, absolute, with the three sides beside the marked one. A side that is absent is
    /// empty.
    ///
    /// # Errors
    /// If files cannot be written.
    pub fn sides(&self, overlay: &OverlayName, path: &UpstreamPath, misfit: &Misfit) -> Result<Conflict> {
        let file = self.file(overlay, path);
        let top = std::path::absolute(&self.root).map_err(io_at(&self.root))?;
        let side = |name: &str, content: &Option<Content>| -> Result<PathBuf> {
            let side = beside(&file, name);
            self.put(&side, content.as_ref().unwrap_or(&Content::file(*b"")))?;
            Ok(top.join(side))
        };
        Ok(Conflict {
            base: side("base", &misfit.base)?,
            local: side("ours", &misfit.ours)?,
            remote: side("theirs", &misfit.theirs)?,
            merged: top.join(&file),
        })
    }

    /// What a person made of a path.
    ///
    /// # Errors
    /// If files cannot be read.
    pub fn answer(
        &self,
        state: &State,
        overlay: &OverlayName,
        path: &UpstreamPath,
        misfit: &Misfit,
    ) -> Result<Answer> {
        let asked = state.asked.iter().find(|asked| asked.overlay == *overlay && asked.path == *path);
        if asked.is_none_or(|asked| asked.triple != triple(misfit)) {
            return Ok(Answer::None);
        }
        let disk = Disk::new(&self.root);
        let file = self.file(overlay, path);
        if disk.read(&beside(&file, "deleted"))?.is_some() {
            return Ok(Answer::Content(None));
        }
        Ok(match disk.read(&file)? {
            None => Answer::None,
            Some(content) => match check_markers(&content.bytes, misfit) {
                Err(unresolved) => Answer::Marker(unresolved),
                Ok(()) => Answer::Content(Some(content)),
            },
        })
    }

    /// Ends the move. What a person wrote is kept: where, relative to the repository.
    ///
    /// # Errors
    /// If files cannot be read, moved or removed.
    pub fn end(&self, state: &State, is_done: bool) -> Result<Option<PathBuf>> {
        let disk = Disk::new(&self.root);
        let mut edited = false;
        for asked in &state.asked {
            let there = disk.read(&self.file(&asked.overlay, &asked.path))?;
            edited |= there.map(|content| BlobId::of(&content.bytes)) != asked.written;
        }
        let dir = self.root.join(&self.dir);
        if !edited || is_done {
            fs::remove_dir_all(&dir).map_err(io_at(&dir))?;
            return Ok(None);
        }
        let kept = self.free(Path::new(".overlaid/before"));
        let to = self.root.join(&kept);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(io_at(parent))?;
        }
        fs::rename(&dir, &to).map_err(io_at(&to))?;
        Ok(Some(kept))
    }

    /// Moves a file that is in the way aside.
    fn keep(&self, file: &Path) -> Result<()> {
        let there = self.root.join(file);
        if there.symlink_metadata().is_err() {
            return Ok(());
        }
        let mut aside = (1_u32..).map(|number| beside(file, &format!("before-{number}")));
        match aside.find(|aside| self.root.join(aside).symlink_metadata().is_err()) {
            Some(aside) => fs::rename(&there, self.root.join(&aside)).map_err(io_at(&there)),
            None => Ok(()),
        }
    }

    fn put(&self, file: &Path, content: &Content) -> Result<()> {
        let path = self.root.join(file);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(io_at(parent))?;
        }
        // A link is shown as a file that has its target.
        fs::write(&path, &content.bytes).map_err(io_at(&path))?;
        if content.mode == Mode::Executable {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(io_at(&path))?;
        }
        Ok(())
    }

    fn free(&self, folder: &Path) -> PathBuf {
        let mut free = (1_u32..).map(|number| folder.join(number.to_string()));
        free.find(|folder| self.root.join(folder).symlink_metadata().is_err())
            .unwrap_or_else(|| folder.to_owned())
    }
}

fn triple(misfit: &Misfit) -> [Option<BlobId>; 3] {
    [&misfit.base, &misfit.ours, &misfit.theirs]
        .map(|content| content.as_ref().map(|content| BlobId::of(&content.bytes)))
}

fn beside(file: &Path, what: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(what);
    PathBuf::from(name)
}
