//! Steps that are taken back.

use std::os::fd::OwnedFd;

use bstr::ByteSlice;
use rustix::io::Errno;

use super::{Transaction, clears, exists, is_content};
use crate::id::UpstreamPath;
use crate::io::tree::error::TreeError;
use crate::io::tree::folder::{Root, Walker, Way, remove_folder_at, rename_at, split, stat_at};
use crate::io::tree::new_content::{change_places, rename_to_free, set_time};
use crate::io::tree::state::Stamp;
use crate::io::tree::survey::look_at;
use crate::plan::{Action, Found};

impl Transaction<'_> {
    /// Takes the new content of a path away again.
    pub(super) fn take_back(&mut self, index: usize) -> Result<(), TreeError> {
        let step = &self.journal.steps[index];
        let failed = |error| TreeError::io("restore", self.root.at(step.path.as_bytes()), error);
        if !is_content(step.to) {
            return Ok(());
        }
        let was_put = self.was_put(index)?;
        let is_replaced = matches!(step.from, Found::Entry(_)) && !clears(step);
        let number = index.to_string();
        let original = if was_put && exists(&self.stage, index)? {
            // What came out of the tree last.
            Some(&self.stage)
        } else if is_replaced && exists(&self.undo, index)? {
            Some(&self.undo)
        } else {
            None
        };
        let (parent, name) = split(step.path.as_bytes());
        if let Some(place) = original {
            let folder = self.root.make_folder(parent, &mut Vec::new())?;
            if !was_put {
                // It has two names, or was moved aside.
                return rename_to_free(place, number.as_bytes(), &folder, name).map_err(failed).map(drop);
            }
            if self.expected.is_none() && step.action() != Action::Chmod {
                let now = stat_at(&folder, name).map_err(failed)?.map(|stat| Stamp::of(&stat));
                set_time(place, number.as_bytes(), now.as_ref(), false).map_err(failed)?;
            }
            match change_places(place, &number, &folder, name) {
                Ok(()) => {}
                Err(Errno::NOENT) => {
                    return rename_to_free(place, number.as_bytes(), &folder, name).map_err(failed).map(drop);
                }
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                    return rename_at(place, number, &folder, name.as_bytes()).map_err(failed);
                }
                Err(error) => return Err(failed(error)),
            }
            return self.leave_others(index, place, &folder, name);
        }
        if was_put && !is_replaced {
            let Way::Open(folder) = self.root.folder(parent)? else { return Ok(()) };
            // Out of the tree first, then looked at: what somebody put there since is not ours to remove.
            match rename_at(&folder, name.as_bytes(), &self.stage, number.as_str()) {
                Ok(()) => {}
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ISDIR) => return Ok(()),
                Err(error) => return Err(failed(error)),
            }
            if self.look_at_staged(index)? != step.to.map_or(Found::Absent, Found::Entry) {
                rename_to_free(&self.stage, number.as_bytes(), &folder, name).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// After an original went back: if it was not our content that came out, that is somebody's, and stays.
    fn leave_others(
        &self,
        index: usize,
        place: &Root,
        folder: &OwnedFd,
        name: &bstr::BStr,
    ) -> Result<(), TreeError> {
        let step = &self.journal.steps[index];
        let failed = |error| TreeError::io("restore", self.root.at(step.path.as_bytes()), error);
        let number = index.to_string();
        let Ok(out) = UpstreamPath::parse(&number) else { return Ok(()) };
        let (found, _) = look_at(place, &mut Walker::new(place), &out, |_, _| None)?;
        let is_ours = step.to.is_some_and(|to| found == Found::Entry(to)) || found == step.from;
        if is_ours { Ok(()) } else { change_places(place, &number, folder, name).map_err(failed) }
    }

    /// Renames what was moved aside back into its place.
    pub(super) fn bring_back(&mut self, index: usize) -> Result<(), TreeError> {
        let step = &self.journal.steps[index];
        let failed = |error| TreeError::io("restore", self.root.at(step.path.as_bytes()), error);
        if step.from == Found::Absent || !self.aside_exists(index)? {
            return Ok(());
        }
        let (aside, aside_name) = self.aside(index)?;
        let (parent, name) = split(step.path.as_bytes());
        let folder = self.root.make_folder(parent, &mut Vec::new())?;
        if self.expected.is_none() && matches!(step.from, Found::Entry(_)) {
            let stat = stat_at(&aside, &aside_name).map_err(failed)?;
            let old = stat.map(|stat| Stamp::of(&stat));
            set_time(&aside, &aside_name, old.as_ref(), false).map_err(failed)?;
        }
        // An empty folder is nobody's. Anything else that came meanwhile stays, and so does what was moved aside.
        match remove_folder_at(&folder, name.as_bytes()) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::BUSY) => {}
            Err(error) => return Err(failed(error)),
        }
        rename_to_free(&aside, aside_name.as_bytes(), &folder, name).map_err(failed).map(drop)
    }
}
