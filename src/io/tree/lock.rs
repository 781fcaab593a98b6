//! One run at a time on a tree. Runs on other trees do not wait.
//!
//! The kernel gives a lock back when its holder dies, so no lock is ever stale.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::error::TreeError;
use super::folder::{Root, open_at, stat_at};

/// How long to wait before saying so.
const PATIENCE: Duration = Duration::from_secs(1);

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: OwnedFd,
}

/// Who else may hold the lock at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// Nobody.
    Exclusive,
    /// Others that only read.
    Shared,
}

impl Sharing {
    fn operation(self) -> FlockOperation {
        match self {
            Sharing::Exclusive => FlockOperation::NonBlockingLockExclusive,
            Sharing::Shared => FlockOperation::NonBlockingLockShared,
        }
    }
}

impl Lock {
    /// Waits for the lock file `name`. `waiting` is called once if that takes more than a second.
    pub(super) fn take(
        folder: &Root,
        name: &str,
        sharing: Sharing,
        waiting: &mut dyn FnMut(),
    ) -> Result<Self, TreeError> {
        Ok(Self { _file: acquire(folder, name.as_bytes(), sharing, waiting)? })
    }

    /// The lock if it can be had at once; `None` if not, or if there is no such file.
    #[cfg(feature = "cli")]
    pub(super) fn try_take(folder: &Root, name: &str, sharing: Sharing) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = open_at(folder, name, flags, Mode::empty()).ok()?;
        rustix::fs::flock(&file, sharing.operation()).ok()?;
        Some(Self { _file: file })
    }
}

fn acquire(
    folder: &Root,
    name: &[u8],
    sharing: Sharing,
    waiting: &mut dyn FnMut(),
) -> Result<OwnedFd, TreeError> {
    let operation = sharing.operation();
    let failed = |error| TreeError::io("lock", folder.at(name), error);
    let start = Instant::now();
    let mut said = false;
    loop {
        let file = open(folder, name).map_err(failed)?;
        match rustix::fs::flock(&file, operation) {
            Ok(()) if is_still_there(&file, folder, name).map_err(failed)? => return Ok(file),
            Ok(()) | Err(Errno::INTR) => continue,
            Err(Errno::WOULDBLOCK) => {}
            Err(error) => return Err(failed(error)),
        }
        if !said && start.elapsed() >= PATIENCE {
            waiting();
            said = true;
        }
        std::thread::sleep(Duration::from_millis(if said { 50 } else { 5 }));
    }
}

/// Reading is enough for a lock, so that a tree on a read-only file system can be looked at.
fn open(folder: &Root, name: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    match open_at(folder, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => open_at(folder, name, flags | OFlags::CREATE, Mode::from_raw_mode(0o666)),
        opened => opened,
    }
}

fn is_still_there(file: &OwnedFd, folder: &Root, name: &[u8]) -> Result<bool, Errno> {
    let held = rustix::fs::fstat(file)?;
    Ok(stat_at(folder, name)?.is_some_and(|there| there.st_ino == held.st_ino && there.st_dev == held.st_dev))
}
