//! All steps of a plan, or none.
//!
//! 1. New contents are written into `.overlaid/stage`. A failure here changes nothing.
//! 2. The journal is written. A killed run is finished by the next one from here on.
//! 3. What is in the way is moved to `.overlaid/undo` (or `.overlaid/kept`, if it is somebody's), what is
//!    replaced gets a second name there, and the new contents take their places, each in one step.
//! 4. The state is written, the journal removed, and the originals with it.
//!
//! A failure in 3 or 4 turns the journal round and takes all steps back: the originals are renamed into their
//! places, same inodes, same times. If that is interrupted, too, the next run does it.
//!
//! Somebody may write to the tree meanwhile. New content therefore changes places with what is there, and what
//! came out is looked at: if it is not what the plan was made for, it goes back and the run is taken back.
//! Originals are looked at once more before they are let go.
//!
//! New content gets its time just before it takes its place, not when it is staged: a build that ran in between,
//! perhaps after a run was killed, has written its outputs with later times.
//!
//! New contents, journal and state are flushed to disk before the step that relies on them, so the same holds
//! when the power fails, on file systems that keep the order of renames.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use bstr::{BString, ByteSlice};
use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::error::TreeError;
use super::folder::{Root, Walker, Way, create_at, rename_at, split, stat_at, unlink_at};
use super::journal::{Journal, kept_path};
use super::new_content::{change_places, flush_all, rename_to_free, set_time, take_permissions};
use super::state::Stamp;
use super::survey::{clears, look_at};
use crate::id::UpstreamPath;
use crate::plan::{Action, Found};
use crate::tree::{Entry, Mode};

mod back;
mod home;

use home::remove_if_empty;
pub(super) use home::{discard, discard_kept, has_leftovers, keep_all, next_kept};

const STAGE: &str = "stage";
const UNDO: &str = "undo";

/// Up to this many new files are flushed one by one; beyond it the whole file system is, once.
const FLUSH_EACH: usize = 64;

/// Gives the content of an entry that is to be written.
pub(super) type ContentOf<'c> = dyn FnMut(&UpstreamPath, Entry) -> Result<Arc<[u8]>, TreeError> + 'c;

/// A run on a tree whose journal is written, or is about to be.
#[derive(Debug)]
pub(super) struct Transaction<'r> {
    root: &'r Root,
    home: &'r Root,
    stage: Root,
    undo: Root,
    pub(super) journal: Journal,
    /// What stood at each path when it was looked at; `None` when this finishes an earlier run.
    expected: Option<Vec<Option<Stamp>>>,
    /// The stamps of the new contents, once they have their time.
    staged: Vec<Option<Stamp>>,
    /// Folders that had to be made.
    made: Vec<BString>,
    /// What belongs to somebody and was met on the way, with where it is now.
    kept: Vec<(UpstreamPath, BString)>,
}

impl<'r> Transaction<'r> {
    /// Stages the new contents. Nothing of the tree changes.
    pub(super) fn stage(
        root: &'r Root,
        home: &'r Root,
        journal: Journal,
        expected: Vec<Option<Stamp>>,
        content: &mut ContentOf<'_>,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Self, TreeError> {
        discard(home)?;
        let (stage, undo) = (home.make_inside(STAGE)?, home.make_inside(UNDO)?);
        let mut staged = Vec::with_capacity(journal.steps.len());
        let to_write = journal.steps.iter().filter(|step| is_content(step.to)).count();
        let mut written = 0;
        for (index, step) in journal.steps.iter().enumerate() {
            let Some(to) = step.to.filter(|_| is_content(step.to)) else {
                staged.push(None);
                continue;
            };
            let bytes = content(&step.path, to)?;
            let failed = |error| TreeError::io("write", root.at(step.path.as_bytes()), error);
            let name = index.to_string();
            match to.mode {
                Mode::Symlink => rustix::fs::symlinkat(&*bytes, &stage, name.as_str()).map_err(failed)?,
                _ => {
                    let file =
                        create_at(&stage, &name, to.mode == Mode::Executable, &bytes).map_err(failed)?;
                    if to_write <= FLUSH_EACH {
                        rustix::fs::fsync(&file).map_err(failed)?;
                    }
                }
            }
            staged.push(None);
            written += 1;
            progress(written);
        }
        if to_write > FLUSH_EACH {
            flush_all(&stage)?;
        }
        Ok(Self {
            root,
            home,
            stage,
            undo,
            journal,
            expected: Some(expected),
            staged,
            made: Vec::new(),
            kept: Vec::new(),
        })
    }

    /// Takes up a run that was interrupted.
    pub(super) fn take_up(root: &'r Root, home: &'r Root, journal: Journal) -> Result<Self, TreeError> {
        let (stage, undo) = (home.make_inside(STAGE)?, home.make_inside(UNDO)?);
        let staged = vec![None; journal.steps.len()];
        Ok(Self {
            root,
            home,
            stage,
            undo,
            journal,
            expected: None,
            staged,
            made: Vec::new(),
            kept: Vec::new(),
        })
    }

    /// Does all steps that are not done yet.
    pub(super) fn forward(&mut self) -> Result<(), TreeError> {
        for index in (0..self.journal.steps.len()).rev() {
            if clears(&self.journal.steps[index]) {
                self.clear(index)?;
            }
        }
        for folder in &self.journal.emptied {
            remove_if_empty(self.root, folder.as_ref())?;
        }
        for index in 0..self.journal.steps.len() {
            self.put(index)?;
        }
        Ok(())
    }

    /// Looks at the originals once more, before they are let go: somebody may have written to one that was open
    /// while it was replaced.
    pub(super) fn check_originals(&self) -> Result<(), TreeError> {
        let Some(expected) = &self.expected else { return Ok(()) };
        for (index, _) in expected.iter().enumerate().filter(|(_, expected)| expected.is_some()) {
            let name = index.to_string();
            let original = stat_at(&self.undo, &name);
            let original = original.map_err(|error| TreeError::io("look at", self.undo.at(&name), error))?;
            if let Some(original) = original {
                self.check(index, &Stamp::of(&original))?;
            }
        }
        Ok(())
    }

    /// What belongs to somebody and was moved aside since the run was taken up.
    pub(super) fn take_kept(&mut self) -> Vec<(UpstreamPath, BString)> {
        std::mem::take(&mut self.kept)
    }

    /// Takes back all steps that are done.
    pub(super) fn backward(&mut self) -> Result<(), TreeError> {
        for index in (0..self.journal.steps.len()).rev() {
            self.take_back(index)?;
        }
        while let Some(folder) = self.made.pop() {
            remove_if_empty(self.root, folder.as_ref())?;
        }
        for index in 0..self.journal.steps.len() {
            if clears(&self.journal.steps[index]) {
                self.bring_back(index)?;
            }
        }
        Ok(())
    }

    /// The stamp of a path after its step, if what is there is what was staged.
    pub(super) fn stamp_after(&self, index: usize) -> Result<Option<Stamp>, TreeError> {
        let step = &self.journal.steps[index];
        let Some(to) = step.to else { return Ok(None) };
        if self.expected.is_none() {
            let (found, stamp) = look_at(self.root, &mut Walker::new(self.root), &step.path, |_, _| None)?;
            return Ok(stamp.filter(|_| found == Found::Entry(to)));
        }
        let stamp = self.root.stat(&step.path)?.map(|stat| Stamp::of(&stat));
        let staged = self.staged[index];
        Ok(stamp.filter(|stamp| staged.is_some_and(|staged| staged.same_file(stamp))))
    }

    /// Moves aside what somebody put, after the run was interrupted, where the rest of it will write.
    pub(super) fn protect(&mut self, back: bool) -> Result<(), TreeError> {
        let mut number = None;
        for (index, step) in self.journal.steps.iter().enumerate() {
            let moved = self.aside_exists(index)?;
            let put = is_content(step.to) && self.was_put(index)?;
            let is_pending = match step.to {
                _ if back => moved || put,
                Some(_) => is_content(step.to) && !put,
                None => !moved,
            };
            if !is_pending {
                continue;
            }
            let (found, _) = look_at(self.root, &mut Walker::new(self.root), &step.path, |_, _| None)?;
            let is_known = match &found {
                Found::Absent | Found::Behind { .. } => true,
                Found::Entry(entry) => step.from == found || step.to == Some(*entry),
                Found::Folder if self.journal.emptied.iter().any(|f| f == step.path.as_bytes()) => true,
                Found::Folder => step.from == Found::Folder && !moved,
                Found::Special(_) => matches!(step.from, Found::Special(_)) && !moved,
            };
            if !is_known {
                let number = match number {
                    Some(number) => number,
                    None => *number.insert(self.free_number()?),
                };
                self.kept.push((step.path.clone(), self.keep(&step.path, number)?));
            }
        }
        Ok(())
    }

    /// A number in `kept` that neither an earlier run nor a step of this one has.
    fn free_number(&self) -> Result<u32, TreeError> {
        Ok(next_kept(self.home)?.max(self.journal.kept_end()))
    }

    /// Moves what is at a path into `kept/<number>`.
    fn keep(&self, path: &UpstreamPath, number: u32) -> Result<BString, TreeError> {
        let aside = kept_path(path.as_bytes(), number);
        let (folder, name) = split(aside.as_ref());
        let folder = self.home.make_folder(folder, &mut Vec::new())?;
        if let (Way::Open(parent), old) = self.root.parent(path)? {
            rename_at(&parent, old.as_bytes(), &folder, name.as_bytes())
                .map_err(|error| TreeError::io("move", self.root.at(path.as_bytes()), error))?;
        }
        Ok(aside)
    }

    /// Takes away what is at a path, into `undo` or, if it is somebody's, into `kept`.
    fn clear(&mut self, index: usize) -> Result<(), TreeError> {
        let step = &self.journal.steps[index];
        let failed = |error| TreeError::io("remove", self.root.at(step.path.as_bytes()), error);
        if step.from == Found::Absent {
            return Ok(());
        }
        if step.from == Found::Folder && !step.keep {
            return remove_if_empty(self.root, step.path.as_bytes());
        }
        if self.aside_exists(index)? {
            return Ok(());
        }
        let (Way::Open(folder), name) = self.root.parent(&step.path)? else { return Ok(()) };
        let Some(stat) = stat_at(&folder, name).map_err(failed)? else { return Ok(()) };
        self.check(index, &Stamp::of(&stat))?;
        let (aside, aside_name) = self.aside(index)?;
        rename_at(&folder, name.as_bytes(), &aside, aside_name.as_bytes()).map_err(failed)?;
        // Looked at again: it can have been replaced between the look and the rename.
        match stat_at(&aside, &aside_name).map_err(failed)? {
            Some(stat) => self.check(index, &Stamp::of(&stat)),
            None => Ok(()),
        }
    }

    /// Renames the new content of a path into its place.
    fn put(&mut self, index: usize) -> Result<(), TreeError> {
        let step = &self.journal.steps[index];
        let failed = |error| TreeError::io("write", self.root.at(step.path.as_bytes()), error);
        match step.to {
            None => return Ok(()),
            Some(Entry { mode: Mode::Submodule, .. }) => {
                let path = step.path.clone();
                self.root.make_folder(path.as_bytes(), &mut self.made)?;
                return Ok(());
            }
            Some(_) if !exists(&self.stage, index)? => return Ok(()),
            // An earlier run got as far as changing places.
            Some(_) if self.expected.is_none() && self.was_put(index)? => return self.let_go(index),
            Some(_) => {}
        }
        let (parent, name) = split(step.path.as_bytes());
        let folder = self.root.make_folder(parent, &mut self.made)?;
        let replaces = matches!(step.from, Found::Entry(_)) && !step.keep;
        if replaces && !exists(&self.undo, index)? {
            self.give_second_name(index, &folder, name.as_bytes())?;
        }
        let staged = index.to_string();
        if replaces && let Some(Entry { mode: mode @ (Mode::File | Mode::Executable), .. }) = step.to {
            take_permissions(&self.stage, &staged, &folder, name, mode).map_err(failed)?;
        }
        let old = match &self.expected {
            Some(expected) => expected[index],
            None => stat_at(&folder, name).map_err(failed)?.map(|stat| Stamp::of(&stat)),
        };
        let keep_time = step.action() == Action::Chmod;
        self.staged[index] =
            Some(set_time(&self.stage, staged.as_bytes(), old.as_ref(), keep_time).map_err(failed)?);
        if replaces || self.expected.is_none() {
            match change_places(&self.stage, &staged, &folder, name) {
                Ok(()) => return self.let_go(index),
                // Moved aside because it cannot have two names, or somebody removed it: nothing is there.
                Err(Errno::NOENT) => {}
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if replaces => {
                    return rename_at(&self.stage, staged, &folder, name.as_bytes()).map_err(failed);
                }
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        // Where nothing was, nothing may be overwritten.
        match rename_to_free(&self.stage, staged.as_bytes(), &folder, name).map_err(failed)? {
            true => Ok(()),
            false => Err(TreeError::Raced { path: step.path.clone() }),
        }
    }

    /// Lets go of what came out of the tree when new content took its place, if that can be had again: it is the
    /// original, which has a second name, or bytes that the plan knows. Otherwise it is somebody's.
    fn let_go(&mut self, index: usize) -> Result<(), TreeError> {
        let step = &self.journal.steps[index];
        let failed = |error| TreeError::io("write", self.root.at(step.path.as_bytes()), error);
        let staged = index.to_string();
        let out = stat_at(&self.stage, &staged).map_err(failed)?;
        let original = stat_at(&self.undo, &staged).map_err(failed)?;
        let is_original = out.zip(original).is_some_and(|(out, original)| is_same(&out, &original));
        if is_original || self.knows_staged(index)? {
            return unlink_at(&self.stage, &staged).map_err(failed);
        }
        if self.expected.is_none() {
            let number = self.free_number()?;
            let aside = kept_path(step.path.as_bytes(), number);
            let (folder, name) = split(aside.as_ref());
            let folder = self.home.make_folder(folder, &mut Vec::new())?;
            rename_at(&self.stage, staged, &folder, name.as_bytes()).map_err(failed)?;
            self.kept.push((step.path.clone(), aside));
            return Ok(());
        }
        let (parent, name) = split(step.path.as_bytes());
        let folder = self.root.make_folder(parent, &mut Vec::new())?;
        change_places(&self.stage, &staged, &folder, name).map_err(failed)?;
        Err(TreeError::Raced { path: step.path.clone() })
    }

    /// Whether what lies in the stage has bytes that the step knows. Only a run that was taken up asks: one that
    /// has looked at the tree itself knows the file.
    fn knows_staged(&self, index: usize) -> Result<bool, TreeError> {
        let step = &self.journal.steps[index];
        if self.expected.is_some() {
            return Ok(false);
        }
        let found = self.look_at_staged(index)?;
        Ok(found == step.from || step.to.is_some_and(|to| found == Found::Entry(to)))
    }

    fn look_at_staged(&self, index: usize) -> Result<Found, TreeError> {
        // Numbers are paths.
        let Ok(name) = UpstreamPath::parse(index.to_string()) else { return Ok(Found::Absent) };
        Ok(look_at(&self.stage, &mut Walker::new(&self.stage), &name, |_, _| None)?.0)
    }

    /// Whether new content has taken its place: it is not in the stage any more, or what came out is.
    fn was_put(&self, index: usize) -> Result<bool, TreeError> {
        let to = self.journal.steps[index].to;
        Ok(to.is_none_or(|to| to.mode != Mode::Submodule)
            && match self.look_at_staged(index)? {
                Found::Absent => true,
                found => to.is_some_and(|to| found != Found::Entry(to)),
            })
    }

    /// Keeps the original of a path that is about to be replaced, under a second name, so that the path is
    /// never without content.
    fn give_second_name(&self, index: usize, folder: &OwnedFd, name: &[u8]) -> Result<(), TreeError> {
        let failed =
            |error| TreeError::io("write", self.root.at(self.journal.steps[index].path.as_bytes()), error);
        let second = index.to_string();
        match rustix::fs::linkat(folder, name, &self.undo, second.as_str(), AtFlags::empty()) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(()),
            // No hard links here, or none to this file: then by a rename.
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK | Errno::NOSYS | Errno::ACCESS) => {
                rename_at(folder, name, &self.undo, second.as_str()).map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        }
        match stat_at(&self.undo, &second).map_err(failed)? {
            Some(stat) => self.check(index, &Stamp::of(&stat)),
            None => Ok(()),
        }
    }

    /// Where the original of a path goes.
    fn aside(&self, index: usize) -> Result<(OwnedFd, BString), TreeError> {
        let step = &self.journal.steps[index];
        if !step.keep {
            let undo = self.undo.as_fd().try_clone_to_owned();
            let undo = undo.map_err(|error| TreeError::io("open", self.undo.path(), error))?;
            return Ok((undo, index.to_string().into()));
        }
        let aside = self.journal.kept_path(index);
        let (folder, name) = split(aside.as_ref());
        Ok((self.home.make_folder(folder, &mut Vec::new())?, name.into()))
    }

    fn aside_exists(&self, index: usize) -> Result<bool, TreeError> {
        let step = &self.journal.steps[index];
        if !step.keep {
            return exists(&self.undo, index);
        }
        let aside = self.journal.kept_path(index);
        let (folder, name) = split(aside.as_ref());
        match self.home.folder(folder)? {
            Way::Open(folder) => Ok(stat_at(folder, name)
                .map_err(|error| TreeError::io("look at", self.home.at(&aside), error))?
                .is_some()),
            _ => Ok(false),
        }
    }

    /// Whether what is moved or replaced is still what was looked at.
    fn check(&self, index: usize, now: &Stamp) -> Result<(), TreeError> {
        let expected = self.expected.as_ref().and_then(|expected| expected[index].as_ref());
        match expected {
            Some(expected) if !expected.same_file(now) => {
                Err(TreeError::Raced { path: self.journal.steps[index].path.clone() })
            }
            _ => Ok(()),
        }
    }
}

fn is_same(a: &rustix::fs::Stat, b: &rustix::fs::Stat) -> bool {
    (a.st_ino, a.st_dev) == (b.st_ino, b.st_dev)
}

fn is_content(entry: Option<Entry>) -> bool {
    entry.is_some_and(|entry| entry.mode != Mode::Submodule)
}

fn exists(folder: &Root, index: usize) -> Result<bool, TreeError> {
    let name = index.to_string();
    let stat = stat_at(folder, &name).map_err(|error| TreeError::io("look at", folder.at(&name), error))?;
    Ok(stat.is_some())
}
