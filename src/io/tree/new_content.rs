//! New content on its way from the stage to its place: permissions, time, and the step itself.
//!
//! Follows no link. Decides nothing about what goes where.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{SystemTime, UNIX_EPOCH};

use bstr::ByteSlice;
use rustix::fs::{AtFlags, FileType, OFlags, RenameFlags, Timestamps};
use rustix::io::Errno;

use super::error::TreeError;
use super::folder::{Root, open_at, rename_at, stat_at};
use super::state::{Stamp, timespec};
use crate::tree::Mode;

/// Gives new content the permissions of the file that it replaces: a tree of somebody's may be writable for a group, or
/// closed to others. Only the right to run it is ours to say.
pub(super) fn take_permissions(
    stage: &Root,
    staged: &str,
    folder: &OwnedFd,
    name: &bstr::BStr,
    mode: Mode,
) -> Result<(), Errno> {
    let is_file = |stat: &rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    let there = stat_at(folder, name)?.filter(is_file);
    let (Some(there), Some(new)) = (there, stat_at(stage, staged)?.filter(is_file)) else { return Ok(()) };
    let bits = match mode {
        Mode::Executable => there.st_mode | ((there.st_mode & 0o444) >> 2),
        _ => there.st_mode & !0o111,
    } & 0o777;
    if bits == new.st_mode & 0o777 {
        return Ok(());
    }
    // Not by name: that would follow a link.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = open_at(stage, staged, flags, rustix::fs::Mode::empty())?;
    rustix::fs::fchmod(file, rustix::fs::Mode::from_raw_mode(bits))
}

/// Gives new content its time: now, by the precise clock (the file system's own may lag behind that of a
/// build output that was just written), and later than what was there, so that every build tool sees it.
pub(super) fn set_time(
    folder: impl AsFd + Copy,
    name: &[u8],
    old: Option<&Stamp>,
    keep: bool,
) -> Result<Stamp, Errno> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos());
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    let old = old.map(|old| old.mtime);
    let set = |time: i64| {
        let time = timespec(time);
        let times = Timestamps { last_access: time, last_modification: time };
        rustix::fs::utimensat(folder, name, &times, AtFlags::SYMLINK_NOFOLLOW)?;
        stat_at(folder, name)?.map(|stat| Stamp::of(&stat)).ok_or(Errno::NOENT)
    };
    if let (true, Some(old)) = (keep, old) {
        return set(old);
    }
    // Some file systems keep times to the second, or to two.
    let mut stamp = set(now.max(old.map_or(i64::MIN, |old| old.saturating_add(1))))?;
    for more in [1_000_000, 1_000_000_000, 2_000_000_000] {
        match old {
            Some(old) if stamp.mtime <= old => stamp = set(old.saturating_add(more))?,
            _ => break,
        }
    }
    Ok(stamp)
}

/// Two paths change places in one step; `NOENT` if nothing is at the second.
pub(super) fn change_places(
    from: &Root,
    staged: &str,
    folder: &OwnedFd,
    name: &bstr::BStr,
) -> Result<(), Errno> {
    rustix::fs::renameat_with(from, staged, folder, name.as_bytes(), RenameFlags::EXCHANGE)
}

/// Renames to a place where nothing is; `false` if something is there.
pub(super) fn rename_to_free(
    from: impl AsFd,
    old: &[u8],
    folder: &OwnedFd,
    name: &bstr::BStr,
) -> Result<bool, Errno> {
    match rustix::fs::renameat_with(&from, old, folder, name.as_bytes(), RenameFlags::NOREPLACE) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        // Not on this file system: then with a gap between the look and the rename.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            if stat_at(folder, name)?.is_some() {
                return Ok(false);
            }
            rename_at(&from, old, folder, name.as_bytes()).map(|()| true)
        }
        Err(error) => Err(error),
    }
}

#[cfg(target_os = "linux")]
pub(super) fn flush_all(folder: &Root) -> Result<(), TreeError> {
    open_at(folder, ".", rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty())
        .and_then(rustix::fs::syncfs)
        .map_err(|error| TreeError::io("flush", folder.path(), error))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn flush_all(folder: &Root) -> Result<(), TreeError> {
    for name in folder.names()? {
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NOFOLLOW;
        if let Ok(file) = open_at(folder, name.as_bytes(), flags, rustix::fs::Mode::empty()) {
            rustix::fs::fsync(file).map_err(|error| TreeError::io("flush", folder.at(&name), error))?;
        }
    }
    Ok(())
}
