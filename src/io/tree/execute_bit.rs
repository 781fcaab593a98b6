//! File systems on which every file is executable: exFAT, FAT, some shared folders. There the bit says nothing about a
//! file, and no run can put it right.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::folder::{Root, open_at};
use super::{HOME, LOCK};
use crate::tree::{self, Entry};

/// Whether the file system of a tree keeps the execute bit. Only if the lock has it, which is ours and never made
/// executable, it is tried to take it away, as git does with its own configuration (`core.fileMode`): nothing is touched
/// elsewhere. Where it cannot be tried, the bit is taken to be kept.
pub(super) fn is_kept(root: &Root) -> bool {
    let Ok(Some(home)) = root.inside(HOME) else { return true };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let Ok(lock) = open_at(&home, LOCK, flags, Mode::empty()) else { return true };
    let bits = || rustix::fs::fstat(&lock).map(|stat| Mode::from_raw_mode(stat.st_mode & 0o777));
    let Some(before) = bits().ok().filter(|bits| bits.contains(Mode::XUSR)) else { return true };
    match rustix::fs::fchmod(&lock, before ^ Mode::XUSR) {
        Ok(()) => {
            let is_kept = bits() != Ok(before);
            let _ = rustix::fs::fchmod(&lock, before);
            is_kept
        }
        Err(error) => !matches!(error, Errno::NOSYS | Errno::OPNOTSUPP),
    }
}

/// Whether two entries differ in nothing but the execute bit.
pub(super) fn is_all(a: Entry, b: Entry) -> bool {
    a.id == b.id && is_regular(a.mode) && is_regular(b.mode)
}

fn is_regular(mode: tree::Mode) -> bool {
    matches!(mode, tree::Mode::File | tree::Mode::Executable)
}
