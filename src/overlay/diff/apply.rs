//! From a patch and the files before it to the files after it.
//!
//! Decides for the whole patch: every part applies, or nothing changes and each part that does not is named.

use std::cell::RefCell;
use std::sync::Arc;

use super::content::{Placed, Side, apply_binary, is_applied, place};
use super::hunk::Hunk;
use super::image::{Anchors, Image};
use super::reject::{RejectWhy as Why, Rejection, explain};
use super::{Body, FilePatch, Kind, Patch};
use crate::id::{BlobId, UpstreamPath};
use crate::sorted::{SortedMap, SortedSet, sort_by_number};
use crate::tree::{Changes, Content, Mode};

/// What became of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// All of it applies.
    Applied {
        /// The files that it makes, and those it removes.
        changes: Changes,
        /// Hunks that were found at another line than they say.
        offsets: Vec<Offset>,
        /// Files whose mode is not the one that the patch was made for. As with git, that is no refusal.
        modes: Vec<ModeNote>,
    },
    /// Something does not, so none of it is.
    Refused(Vec<Rejection>),
}

/// A hunk that was found at another line than it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offset {
    /// The file.
    pub path: UpstreamPath,
    /// Which hunk of its part, from 1.
    pub hunk: usize,
    /// How many lines further down; negative for further up.
    pub lines: isize,
    /// At how many places within a thousand lines the hunk's lines were; the nearest one was taken.
    pub places: usize,
}

/// A file whose mode is not the one that the patch was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeNote {
    /// The file.
    pub path: UpstreamPath,
    /// What the patch says.
    pub expected: Mode,
    /// What is there.
    pub found: Mode,
}

/// Applies a patch to the files that `before` gives. It is asked for folders too, and answers `None` for them;
/// so a folder that stands where the patch creates a file is for the caller to see.
///
/// # Errors
/// Only what `before` returns: a file that could not be read.
pub fn apply<E>(
    patch: &Patch,
    before: &dyn Fn(&UpstreamPath) -> Result<Option<Content>, E>,
) -> Result<Applied, E> {
    let before = Before { read: before, seen: RefCell::default() };
    let mut work = Work::new(patch, &before);
    for file in &patch.files {
        work.take(file)?;
    }
    work.finish(patch)
}

/// The files before the patch, each read once.
struct Before<'a, E> {
    read: &'a dyn Fn(&UpstreamPath) -> Result<Option<Content>, E>,
    seen: RefCell<SortedMap<UpstreamPath, Option<Content>>>,
}

impl<E> Before<'_, E> {
    fn get(&self, path: &UpstreamPath) -> Result<Option<Content>, E> {
        if let Some(content) = self.seen.borrow().get(path) {
            return Ok(content.clone());
        }
        let content = (self.read)(path)?;
        self.seen.borrow_mut().insert(path.clone(), content.clone());
        Ok(content)
    }
}

/// What earlier parts made of a path, and what later ones will.
#[derive(Clone)]
enum State {
    /// A later part removes it.
    WillGo,
    /// An earlier part removed it.
    Gone,
    /// An earlier part made this of it, changing it in place or not.
    Made { content: Content, in_place: bool },
    /// An earlier part for it was refused; what comes after says nothing new.
    Refused,
}

struct Work<'a, E> {
    before: &'a Before<'a, E>,
    states: SortedMap<UpstreamPath, State>,
    made: Vec<(UpstreamPath, Content)>,
    removed: Vec<UpstreamPath>,
    offsets: Vec<Offset>,
    modes: Vec<ModeNote>,
    rejections: Vec<Rejection>,
}

/// What a part makes of its file.
type Outcome = Result<Content, Vec<(usize, Why)>>;

fn refuse(line: usize, why: Why) -> Outcome {
    Err(vec![(line, why)])
}

impl<'a, E> Work<'a, E> {
    fn new(patch: &Patch, before: &'a Before<'a, E>) -> Self {
        // Two files can change places, so a path that a later part removes does not stand in the way.
        let removes = |file: &&FilePatch| matches!(file.kind, Kind::Delete | Kind::Rename { .. });
        let states = patch
            .files
            .iter()
            .filter(removes)
            .filter_map(|file| Some((file.old_path()?.clone(), State::WillGo)))
            .collect();
        Self {
            before,
            states,
            made: Vec::new(),
            removed: Vec::new(),
            offsets: Vec::new(),
            modes: Vec::new(),
            rejections: Vec::new(),
        }
    }

    /// Applies one part and notes the result.
    fn take(&mut self, file: &FilePatch) -> Result<(), E> {
        let paths = || [file.old_path(), file.new_path()].into_iter().flatten();
        let refused = |path: &UpstreamPath| matches!(self.states.get(path), Some(State::Refused));
        if paths().any(refused) {
            paths().for_each(|path| drop(self.states.insert(path.clone(), State::Refused)));
            return Ok(());
        }
        match self.outcome(file)? {
            Ok(content) => self.note(file, content),
            Err(reasons) => {
                for (patch_line, why) in reasons {
                    let taken = matches!(why, Why::AlreadyExists | Why::AlreadyApplied | Why::CreatedTwice);
                    let paths = if taken {
                        [file.new_path(), file.old_path()]
                    } else {
                        [file.old_path(), file.new_path()]
                    };
                    let path = paths.into_iter().flatten().next().cloned();
                    self.rejections.extend(path.map(|path| Rejection { path, patch_line, why }));
                }
                paths().for_each(|path| drop(self.states.insert(path.clone(), State::Refused)));
            }
        }
        Ok(())
    }

    fn note(&mut self, file: &FilePatch, content: Content) {
        let removes = !matches!(file.kind, Kind::New | Kind::Copy { .. });
        if let Some(old) = file.old_path().filter(|_| removes) {
            self.removed.push(old.clone());
        }
        if let Some(new) = file.new_path().filter(|_| file.kind != Kind::Delete) {
            let in_place = file.kind == Kind::Modify;
            self.made.push((new.clone(), content.clone()));
            self.states.insert(new.clone(), State::Made { content, in_place });
        }
        if let Some(old) = file.old_path().filter(|_| matches!(file.kind, Kind::Delete | Kind::Rename { .. }))
        {
            self.states.insert(old.clone(), State::Gone);
        }
    }

    fn outcome(&mut self, file: &FilePatch) -> Result<Outcome, E> {
        let line = file.line;
        if [file.old_mode, file.new_mode].contains(&Some(Mode::Submodule)) {
            return Ok(refuse(line, Why::Submodule));
        }
        let old = match self.pre_image(file)? {
            Ok(old) => old,
            Err(why) => return Ok(refuse(line, why)),
        };
        if let Some(why) = self.new_path_is_taken(file)? {
            return Ok(refuse(line, why));
        }
        let old_mode = file.old_mode.or(old.as_ref().map(|old| old.mode));
        let mode = match (&old, file.new_mode) {
            (_, Some(mode)) => mode,
            (Some(old), None) => old.mode,
            (None, None) => Mode::File,
        };
        if let Some(old_mode) = old_mode.filter(|_| file.kind != Kind::Delete)
            && is_link(old_mode) != is_link(mode)
        {
            return Ok(refuse(line, Why::TypeChanges { old: old_mode, new: mode }));
        }
        let bytes = old.map_or_else(|| Arc::from([]), |old| old.bytes);
        let made = match &file.body {
            Body::None => Ok(bytes),
            Body::Text(hunks) => self.apply_text(file, hunks, &bytes),
            Body::Binary { .. } | Body::BinaryOmitted => {
                apply_binary(file, &bytes).map_err(|why| vec![(line, why)])
            }
        };
        Ok(match made {
            Ok(bytes) if file.kind == Kind::Delete && !bytes.is_empty() => {
                refuse(line, Why::DeleteLeavesLines)
            }
            // A link's target ends at a zero byte, and there is no link to nothing.
            Ok(bytes)
                if file.kind != Kind::Delete && is_link(mode) && (bytes.is_empty() || bytes.contains(&0)) =>
            {
                refuse(line, Why::LinkTarget)
            }
            Ok(bytes) => Ok(Content { mode, bytes }),
            Err(reasons) => Err(reasons),
        })
    }

    /// The content that a part starts from; `None` where it creates the file.
    fn pre_image(&mut self, file: &FilePatch) -> Result<Result<Option<Content>, Why>, E> {
        let Some(path) = file.old_path() else { return Ok(Ok(None)) };
        // Renames and copies start from the file before the patch, so the order of the parts does not matter.
        let state = self.states.get(path);
        let moves = matches!(file.kind, Kind::Rename { .. } | Kind::Copy { .. });
        let earlier = match state {
            Some(State::Made { in_place: true, .. }) if matches!(file.kind, Kind::Rename { .. }) => {
                return Ok(Err(Why::RenamedAfterEdit));
            }
            _ if moves => None,
            Some(State::Gone) => return Ok(Err(Why::GoneEarlier)),
            Some(State::Made { content, .. }) => Some(content.clone()),
            _ => None,
        };
        let content = match earlier {
            Some(content) => content,
            None => match self.before.get(path)? {
                Some(content) => content,
                None if file.may_create => return Ok(Ok(None)),
                None => return Ok(Err(self.missing(file)?)),
            },
        };
        let expected = file.old_mode.unwrap_or(content.mode);
        if is_link(expected) != is_link(content.mode) {
            return Ok(Err(Why::WrongType { expected, found: content.mode }));
        }
        if expected != content.mode {
            self.modes.push(ModeNote { path: path.clone(), expected, found: content.mode });
        }
        Ok(Ok(Some(content)))
    }

    /// Why a file is missing: renamed already, or meant with another strip level.
    fn missing(&self, file: &FilePatch) -> Result<Why, E> {
        if let (Kind::Rename { .. }, Some(new)) = (file.kind, file.new_path())
            && let (Some(content), Some(id)) = (self.before.get(new)?, &file.new_id)
            && id.names(BlobId::of(&content.bytes))
        {
            return Ok(Why::AlreadyApplied);
        }
        let Some(old) = &file.old else { return Ok(Why::Missing) };
        let path = old.path.as_bytes();
        let shorter = path.iter().position(|&byte| byte == b'/').map(|slash| (&path[slash + 1..], 2));
        let longer = old.written.as_deref().filter(|written| *written != path.as_ref() as &[u8]);
        let candidates =
            [longer.map(|written| (written, 0)), shorter.map(|(path, strip)| (path.as_ref(), strip))];
        for (candidate, strip) in candidates.into_iter().flatten() {
            let Ok(found) = UpstreamPath::parse(candidate) else { continue };
            if self.before.get(&found)?.is_some() {
                return Ok(Why::WrongStripLevel { found, strip });
            }
        }
        Ok(Why::Missing)
    }

    /// What stands at the path that a part creates.
    fn new_path_is_taken(&self, file: &FilePatch) -> Result<Option<Why>, E> {
        let Some(path) = file.new_path().filter(|_| !matches!(file.kind, Kind::Modify | Kind::Delete)) else {
            return Ok(None);
        };
        match self.states.get(path) {
            Some(State::WillGo | State::Gone) => return Ok(None),
            Some(State::Made { .. }) => return Ok(Some(Why::CreatedTwice)),
            _ => {}
        }
        let Some(there) = self.before.get(path)? else { return Ok(None) };
        let same = match &file.new_id {
            Some(id) if id.full().is_some() => id.names(BlobId::of(&there.bytes)),
            _ if file.kind != Kind::New => false,
            _ => {
                let lines = file.hunks().iter().flat_map(Hunk::new_lines);
                lines.flatten().eq(there.bytes.iter())
            }
        };
        let same = same && file.new_mode.is_none_or(|mode| mode == there.mode);
        Ok(Some(if same { Why::AlreadyApplied } else { Why::AlreadyExists }))
    }

    fn apply_text(
        &mut self,
        file: &FilePatch,
        hunks: &[Hunk],
        content: &Arc<[u8]>,
    ) -> Result<Arc<[u8]>, Vec<(usize, Why)>> {
        let mut image = Image::new(content);
        let mut failed = Vec::new();
        for (index, hunk) in hunks.iter().enumerate() {
            match place(&mut image, hunk, Side::Forward) {
                Placed::At { lines: 0, .. } => {}
                Placed::At { lines, places } => {
                    let path = file.new_path().or(file.old_path());
                    let offset =
                        path.map(|path| Offset { path: path.clone(), hunk: index + 1, lines, places });
                    self.offsets.extend(offset);
                }
                Placed::WithoutContext => failed.push((hunk.line, Why::NoContext { number: index + 1 })),
                Placed::Nowhere => {
                    let anchors = Anchors::of(hunk.old, hunk.trailing);
                    failed.push((hunk.line, explain(index + 1, hunks.len(), hunk, &image, content, anchors)));
                }
            }
            if failed.len() == MOST_FAILED_HUNKS {
                break;
            }
        }
        if failed.is_empty() {
            return Ok(image.into_bytes().into());
        }
        if is_applied(file, hunks, content) {
            return Err(vec![(file.line, Why::AlreadyApplied)]);
        }
        Err(failed)
    }

    /// Puts the results together: all removals first, then all creations.
    fn finish(mut self, patch: &Patch) -> Result<Applied, E> {
        let mut changes: Changes = self.removed.drain(..).map(|path| (path, None)).collect();
        let made: SortedSet<UpstreamPath> = self.made.iter().map(|(path, _)| path.clone()).collect();
        changes.extend(self.made.drain(..).map(|(path, content)| (path, Some(content))));
        if self.rejections.is_empty() {
            for path in &made {
                if let Some(why) = self.folder_is_taken(path, &changes)? {
                    let line = patch
                        .files
                        .iter()
                        .find(|file| file.new_path() == Some(path))
                        .map_or(0, |file| file.line);
                    self.rejections.push(Rejection { path: path.clone(), patch_line: line, why });
                }
            }
            sort_by_number(&mut self.rejections, |rejection| rejection.patch_line);
        }
        if self.rejections.is_empty() {
            return Ok(Applied::Applied { changes, offsets: self.offsets, modes: self.modes });
        }
        Ok(Applied::Refused(self.rejections))
    }

    /// Whether something that is no folder stands where a created file needs one.
    fn folder_is_taken(&self, path: &UpstreamPath, changes: &Changes) -> Result<Option<Why>, E> {
        for folder in path.ancestors() {
            let Ok(folder) = UpstreamPath::parse(folder) else { continue };
            let there = match changes.get(&folder) {
                Some(content) => content.clone(),
                None => self.before.get(&folder)?,
            };
            match there.map(|content| content.mode) {
                None => {}
                Some(Mode::Symlink) => return Ok(Some(Why::FolderIsLink { folder })),
                Some(_) => return Ok(Some(Why::FolderIsFile { folder })),
            }
        }
        Ok(None)
    }
}

/// After so many hunks of a file that do not apply the rest is not looked at.
const MOST_FAILED_HUNKS: usize = 10;

fn is_link(mode: Mode) -> bool {
    mode == Mode::Symlink
}
