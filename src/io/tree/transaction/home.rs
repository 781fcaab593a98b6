//! What transactions leave in `.overlaid` of a tree: folders that are thrown away, and originals that are kept.

use bstr::{BString, ByteSlice};
use rustix::io::Errno;

use super::{STAGE, UNDO};
use crate::io::tree::error::TreeError;
use crate::io::tree::folder::{Root, Way, remove_folder_at, rename_at, split, stat_at};
use crate::io::tree::journal::{Journal, KEPT, kept_path};

/// Removes what an earlier run staged or kept for undoing; only right when no journal is there.
pub(in crate::io::tree) fn discard(home: &Root) -> Result<(), TreeError> {
    home.remove_all(STAGE)?;
    home.remove_all(UNDO)
}

/// Whether there is anything to discard.
pub(in crate::io::tree) fn has_leftovers(home: &Root) -> Result<bool, TreeError> {
    let is_there = |name| stat_at(home, name).map_err(|error| TreeError::io("look at", home.at(name), error));
    Ok(is_there(STAGE)?.is_some() || is_there(UNDO)?.is_some())
}

/// Moves all originals that a run had moved aside into `kept`, when its journal cannot tell where they belong.
/// `None` if there are none.
pub(in crate::io::tree) fn keep_all(home: &Root) -> Result<Option<BString>, TreeError> {
    let Some(undo) = home.inside(UNDO)? else { return Ok(None) };
    if undo.names()?.is_empty() {
        return Ok(None);
    }
    let aside = kept_path(UNDO.into(), next_kept(home)?);
    let folder = home.make_folder(split(aside.as_ref()).0, &mut Vec::new())?;
    rename_at(home, UNDO, &folder, UNDO).map_err(|error| TreeError::io("move", undo.path(), error))?;
    Ok(Some(aside))
}

/// Removes the folders in `kept` that a run made, as far as all that was in them has been brought back.
pub(in crate::io::tree) fn discard_kept(home: &Root, journal: &Journal) -> Result<(), TreeError> {
    for (index, _) in journal.steps.iter().enumerate().filter(|(_, step)| step.keep) {
        let path = journal.kept_path(index);
        let mut folder = split(path.as_ref()).0;
        while !folder.is_empty() {
            remove_if_empty(home, folder)?;
            folder = split(folder).0;
        }
    }
    Ok(())
}

/// The first number that no folder in `kept` has.
pub(in crate::io::tree) fn next_kept(home: &Root) -> Result<u32, TreeError> {
    let Some(kept) = home.inside(KEPT)? else { return Ok(1) };
    let numbers = kept.names()?.into_iter().filter_map(|name| name.to_str().ok()?.parse::<u32>().ok());
    Ok(numbers.max().unwrap_or(0).saturating_add(1))
}

pub(super) fn remove_if_empty(root: &Root, path: &bstr::BStr) -> Result<(), TreeError> {
    let (parent, name) = split(path);
    let Way::Open(folder) = root.folder(parent)? else { return Ok(()) };
    match remove_folder_at(folder, name.as_bytes()) {
        Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::BUSY) => Ok(()),
        Err(error) => Err(TreeError::io("remove", root.at(path), error)),
    }
}
