//! One run at a time writes files of a repository.
//!
//! The lock is taken before anything is read and held until all is written, so that no run writes what follows from files
//! that another one has changed since. The kernel gives it back when its holder dies, so none is ever stale.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{HOME, OwnEditError, Pending, failed, pending};
use crate::io::own_files::hide_from_git;

const NAME: &str = "lock";

/// How long to wait before saying so.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long one that only reads waits for files that are just being written.
const READERS: Duration = Duration::from_secs(60);

/// The right to write files of a repository, until it is dropped.
#[derive(Debug)]
pub struct Lock {
    root: PathBuf,
    _file: File,
}

impl Lock {
    /// Waits until nobody else writes files of this repository. `waiting` is called once if that takes more than a second.
    ///
    /// # Errors
    /// If `root` is no folder, or the lock file cannot be made.
    pub fn take(root: &Path, waiting: &mut dyn FnMut()) -> Result<Self, OwnEditError> {
        // A folder that is named by mistake is not made.
        fs::metadata(root).map_err(failed("open", root))?;
        let home = root.join(HOME);
        fs::create_dir_all(&home).map_err(failed("make the folder", &home))?;
        hide_from_git(root).map_err(failed("write", &root.join(".overlaid/.gitignore")))?;
        let file = acquire(&home.join(NAME), waiting)?;
        Ok(Self { root: root.to_owned(), _file: file })
    }

    /// The repository.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
}

fn acquire(path: &Path, waiting: &mut dyn FnMut()) -> Result<File, OwnEditError> {
    let start = Instant::now();
    let mut said = false;
    loop {
        // For writing: file systems of a network lock no other file exclusively.
        let file = File::options().create(true).truncate(false).read(true).write(true).open(path);
        let file = file.map_err(failed("open", path))?;
        match file.try_lock() {
            Ok(()) if is_still_there(&file, path) => return Ok(file),
            // Somebody removed the folder meanwhile: the next one would lock another file.
            Ok(()) => continue,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(failed("lock", path)(error)),
        }
        if !said && start.elapsed() >= PATIENCE {
            waiting();
            said = true;
        }
        std::thread::sleep(Duration::from_millis(if said { 50 } else { 5 }));
    }
}

fn is_still_there(file: &File, path: &Path) -> bool {
    let there = |held: fs::Metadata| {
        fs::metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (held.dev(), held.ino()))
    };
    file.metadata().is_ok_and(there)
}

/// As [`pending`], for one that only reads and does not hold the lock: a change that is being written just now is waited
/// for, since nothing was interrupted.
///
/// # Errors
/// If somebody writes for longer than a minute.
pub fn interrupted(root: &Path) -> Result<Option<Pending>, OwnEditError> {
    let start = Instant::now();
    while let Some(found) = pending(root) {
        // One without a lock file is from a version that had none.
        let is_written = File::open(root.join(HOME).join(NAME))
            .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)));
        if !is_written {
            // It may have ended between the two questions.
            return Ok(pending(root).map(|_| found));
        }
        if start.elapsed() >= READERS {
            return Err(OwnEditError::Busy);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_writer_waits_and_says_so_once() {
        let root = tempfile::tempdir().unwrap();
        let first = Lock::take(root.path(), &mut || panic!("nobody holds it")).unwrap();
        let path = root.path().to_owned();
        let second = std::thread::spawn(move || {
            let mut said = 0;
            Lock::take(&path, &mut || said += 1).unwrap();
            said
        });
        std::thread::sleep(PATIENCE + Duration::from_millis(500));
        drop(first);
        assert_eq!(second.join().unwrap(), 1);
    }

    #[test]
    fn a_lock_file_that_was_removed_excludes_nobody_and_is_made_anew() {
        let root = tempfile::tempdir().unwrap();
        let _first = Lock::take(root.path(), &mut || ()).unwrap();
        fs::remove_dir_all(root.path().join(".overlaid")).unwrap();
        let _second = Lock::take(root.path(), &mut || panic!("another file")).unwrap();
        assert!(root.path().join(".overlaid/edits/lock").exists());
    }

    #[test]
    fn a_folder_that_is_not_there_is_not_made() {
        let root = tempfile::tempdir().unwrap();
        let missing = root.path().join("missing");
        assert!(Lock::take(&missing, &mut || ()).is_err());
        assert!(!missing.exists());
    }

    #[test]
    fn a_reader_waits_for_a_writer_and_is_told_of_one_that_died() {
        let root = tempfile::tempdir().unwrap();
        let lock = Lock::take(root.path(), &mut || ()).unwrap();
        let journal = root.path().join(HOME).join(super::super::journal::FORWARD);
        fs::write(&journal, "{}").unwrap();
        let path = root.path().to_owned();
        let reader = std::thread::spawn(move || interrupted(&path).unwrap());
        std::thread::sleep(Duration::from_millis(200));
        fs::remove_file(&journal).unwrap();
        drop(lock);
        assert_eq!(reader.join().unwrap(), None);
        fs::write(&journal, "{}").unwrap();
        assert_eq!(interrupted(root.path()).unwrap(), Some(Pending::Forward));
    }
}
