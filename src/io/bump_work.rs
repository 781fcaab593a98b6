//! The work folder of a move of the pin: what a person has to look at, and what they made of it.
//!
//! `.overlaid/bump/<upstream>/bump.json` says where the move goes; `<overlay>/<path>` beside it has the conflict markers.
//! Where there are no lines to mark, `<path>.ours`, `.theirs` and `.base` are what the sides have; a person puts the
//! result at `<path>`, or an empty file at `<path>.deleted`. What a person wrote is never overwritten, and deleted only once
//! it is in the overlay.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::merge_tool::Conflict;
use super::own_files::{Disk, OwnFiles};
use crate::bump::{Fate, Misfit, Plan, Unresolved, check_markers};
use crate::id::{BlobId, CommitId, Name, OverlayName, UpstreamPath};
use crate::merge::Style;
use crate::tree::{Content, Mode};

use super::workspace::{LoadError, leads_out};

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

/// Whether a move is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnderWay {
    /// None is.
    No,
    /// This one.
    Move(State),
    /// One is, and this file, which says where it goes, cannot be understood.
    Damaged(PathBuf),
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

/// What a person wrote that went into no overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Where it is now, relative to the repository.
    pub dir: PathBuf,
    /// The files in there, and why each was not used.
    pub files: Vec<(PathBuf, Unused)>,
}

/// Why what a person wrote was not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unused {
    /// The move was given up.
    GivenUp,
    /// The manifest has no such overlay any more.
    NoOverlay(String),
    /// The overlay was dropped.
    Dropped(OverlayName),
    /// The overlay stands, and got something else: the question changed since, or the file is none that was asked for.
    NotAsked,
}

impl std::fmt::Display for Unused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unused::GivenUp => f.write_str("the bump was given up"),
            Unused::NoOverlay(name) => write!(f, "the manifest has no overlay `{name}` any more"),
            Unused::Dropped(name) => write!(f, "overlay `{name}` was dropped: upstream has all of it"),
            Unused::NotAsked => f.write_str("it is no answer to what was asked last"),
        }
    }
}

impl Unused {
    /// Why a file of the work folder was not used. `written`: the plan that was carried out.
    fn of(file: &Path, written: Option<&Plan>) -> Self {
        let Some(plan) = written else { return Unused::GivenUp };
        let name = file.iter().next().unwrap_or_default().to_string_lossy();
        match plan.overlays.iter().find(|overlay| overlay.name.as_str() == name) {
            None => Unused::NoOverlay(name.into_owned()),
            Some(overlay) if overlay.fate == Fate::Dropped => Unused::Dropped(overlay.name.clone()),
            Some(_) => Unused::NotAsked,
        }
    }
}

/// What a person made of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Nothing yet.
    None,
    /// A marker is left.
    Marker(Unresolved),
    /// A link to a place out of the tree.
    LeadsOut,
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
    pub fn load(&self) -> Result<UnderWay> {
        let name = self.dir.join(STATE);
        let file = self.root.join(&name);
        match fs::read(&file) {
            Ok(text) => Ok(serde_json::from_slice(&text).map_or(UnderWay::Damaged(name), UnderWay::Move)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(UnderWay::No),
            Err(error) => Err(io_at(&file)(error)),
        }
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
        // On the disk before it has its name, so that it is never half there.
        let mut written = fs::File::create(&draft).map_err(io_at(&draft))?;
        written.write_all(&text).and_then(|()| written.sync_all()).map_err(io_at(&draft))?;
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
            let file = self.file(overlay, path);
            self.keep(&file)?;
            self.keep(&beside(&file, "deleted"))?;
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

    /// What a person made of a path. `to`: where it is at the new pin.
    ///
    /// # Errors
    /// If files cannot be read.
    pub fn answer(
        &self,
        state: &State,
        overlay: &OverlayName,
        (path, to): (&UpstreamPath, &UpstreamPath),
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
            Some(content) if content.mode == Mode::Symlink && leads_out(to.to_os_path(), &content.bytes) => {
                Answer::LeadsOut
            }
            Some(content) => match check_markers(&content.bytes, misfit) {
                Err(unresolved) => Answer::Marker(unresolved),
                Ok(()) => Answer::Content(Some(content)),
            },
        })
    }

    /// Ends the move. What a person wrote is kept, unless it is in an overlay now or is just what upstream has.
    /// `state`: `None` if it cannot be understood. `written`: the plan that was carried out; `None`: none was.
    ///
    /// # Errors
    /// If files cannot be read, moved or removed.
    pub fn end(&self, state: Option<&State>, written: Option<&Plan>) -> Result<Option<Kept>> {
        let disk = Disk::new(&self.root);
        let dir = self.root.join(&self.dir);
        let ours = Ours::of(state, written);
        let mut files = Vec::new();
        for file in disk.list(&self.dir)? {
            let Some(content) = disk.read(&self.dir.join(&file))? else { continue };
            let is_note = file == Path::new(STATE) || file == Path::new(&format!("{STATE}.new"));
            if !is_note && !ours.has(&file, &content) {
                let why = Unused::of(&file, written);
                files.push((file, why));
            } else if file != Path::new(STATE) {
                let path = dir.join(&file);
                fs::remove_file(&path).map_err(io_at(&path))?;
            }
        }
        if files.is_empty() {
            fs::remove_dir_all(&dir).map_err(io_at(&dir))?;
            return Ok(None);
        }
        // Last, so that a run that was killed can be ended again.
        let state = dir.join(STATE);
        match fs::remove_file(&state) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_at(&state)(error)),
            _ => {}
        }
        for entry in walkdir::WalkDir::new(&dir).min_depth(1).contents_first(true).into_iter().flatten() {
            if entry.file_type().is_dir() {
                // Those that are not empty stay.
                let _ = fs::remove_dir(entry.path());
            }
        }
        let kept = self.free(Path::new(".overlaid/before"));
        let to = self.root.join(&kept);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(io_at(parent))?;
        }
        fs::rename(&dir, &to).map_err(io_at(&to))?;
        Ok(Some(Kept { dir: kept, files }))
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

/// What nobody would miss of a work folder: what we put there, and what is in an overlay now.
struct Ours<'a> {
    state: Option<&'a State>,
    written: Option<&'a Plan>,
    /// The names of all contents that we put there or that are in an overlay now.
    known: BTreeSet<BlobId>,
}

impl<'a> Ours<'a> {
    fn of(state: Option<&'a State>, written: Option<&'a Plan>) -> Self {
        let asked = state.into_iter().flat_map(|state| &state.asked);
        let mut known: BTreeSet<BlobId> =
            asked.flat_map(|asked| asked.triple.into_iter().chain([asked.written]).flatten()).collect();
        let mut ours = Self { state, written, known: BTreeSet::new() };
        let used = state.into_iter().flat_map(|state| &state.asked).filter_map(|asked| ours.used(asked));
        known.extend(used.map(|content| BlobId::of(&content.bytes)));
        ours.known = known;
        ours
    }

    /// The answer that is in the overlay now.
    fn used(&self, asked: &Asked) -> Option<&'a Content> {
        let overlay = self.written?.overlays.iter().find(|overlay| overlay.name == asked.overlay)?;
        let path = overlay.paths.iter().find(|path| path.path == asked.path && path.misfit.is_some())?;
        match overlay.fate {
            Fate::Dropped => None,
            _ => path.result.as_ref()?.as_ref(),
        }
    }

    fn has(&self, file: &Path, content: &Content) -> bool {
        if content.bytes.is_empty() {
            return true;
        }
        let id = BlobId::of(&content.bytes);
        let is_at = |asked: &&Asked| Path::new(asked.overlay.as_str()).join(asked.path.to_os_path()) == file;
        match self.state.and_then(|state| state.asked.iter().find(is_at)) {
            // The answer to one question is none to another, though it may be the same. That upstream's side was taken, and
            // nothing is left of the overlay then, loses nothing.
            Some(asked) => {
                let [.., theirs] = asked.triple;
                [asked.written, theirs].contains(&Some(id))
                    || self.used(asked).is_some_and(|used| used.bytes == content.bytes)
            }
            None => self.known.contains(&id),
        }
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
