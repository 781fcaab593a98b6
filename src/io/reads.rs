//! Which files of a tree a program opens, and changes, while it runs.
//!
//! Decides nothing: it reports what the kernel saw, or that it cannot tell. Any process counts, so that
//! what a test starts is covered; a file that somebody else opens by chance makes a result depend on
//! more than it must, never on less.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// What was opened below a folder, relative to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reads {
    /// Files that were opened.
    pub files: BTreeSet<PathBuf>,
    /// Folders that were opened, so that their names may have been listed; the top is the empty path.
    pub folders: BTreeSet<PathBuf>,
    /// What was changed, made or removed.
    pub written: BTreeSet<PathBuf>,
}

/// A watch over a folder and all that is below it.
#[derive(Debug)]
pub struct Watch(imp::Watch);

/// A watch over folders of the machine, for as long as a build takes: what happens is taken down meanwhile, since
/// the system keeps track of a limited number of events only.
#[derive(Debug)]
pub struct LongWatch {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Option<Reads>>,
}

impl LongWatch {
    /// Starts to watch folders, not what is below them; paths that are no folders are left out. Files are reported by
    /// their full path. `None`: this system cannot, or there are more folders than it lets us watch.
    #[must_use]
    pub fn start<'a>(folders: impl Iterator<Item = &'a PathBuf>) -> Option<Self> {
        let mut watch = imp::Watch::start_folders(folders)?;
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let mut all = Reads::default();
            loop {
                // What happened before the end was told is there to be read after it.
                let last = is_over.load(Ordering::Acquire);
                let reads = watch.drain()?;
                all.files.extend(reads.files);
                if last {
                    return Some(all);
                }
                std::thread::park_timeout(Duration::from_millis(20));
            }
        });
        Some(Self { over, thread })
    }

    /// The files that were opened since. `None`: it is not known.
    #[must_use]
    pub fn finish(self) -> Option<Reads> {
        self.over.store(true, Ordering::Release);
        self.thread.thread().unpark();
        self.thread.join().ok()?
    }
}

impl Watch {
    /// Starts to watch. `None`: this system cannot, or there are more folders than it lets us watch.
    #[must_use]
    pub fn start(folder: &Path) -> Option<Self> {
        imp::Watch::start(folder, &|_| true).map(Self)
    }

    /// Watches the sources of a repository: not what is hidden, and not what tools have marked as made by them.
    #[must_use]
    pub fn start_sources(folder: &Path) -> Option<Self> {
        imp::Watch::start(folder, &|folder| {
            let hidden = folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            let made = ["CACHEDIR.TAG", "CMakeCache.txt", "pyvenv.cfg"];
            !hidden
                && !folder.ends_with("node_modules")
                && !made.iter().any(|mark| folder.join(mark).exists())
        })
        .map(Self)
    }

    /// What was opened since. `None`: more happened than the system keeps track of.
    #[must_use]
    pub fn finish(self) -> Option<Reads> {
        self.0.finish()
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::collections::HashMap;
    use std::ffi::OsStr;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;

    use super::Reads;

    #[derive(Debug)]
    pub struct Watch {
        /// There until it is dropped.
        inotify: Option<OwnedFd>,
        folders: HashMap<i32, PathBuf>,
    }

    impl Drop for Watch {
        fn drop(&mut self) {
            let inotify = self.inotify.take();
            // The kernel takes some 20 ms to give watches up. If no thread can be started, that is waited for here.
            let _ = std::thread::Builder::new().spawn(move || drop(inotify));
        }
    }

    /// A new instance. A user has a limited number of them, and some of ours may be about to be closed.
    fn init() -> Option<OwnedFd> {
        let flags = CreateFlags::CLOEXEC | CreateFlags::NONBLOCK;
        match inotify::init(flags) {
            Err(Errno::MFILE) => {
                std::thread::sleep(Duration::from_millis(100));
                inotify::init(flags).ok()
            }
            made => made.ok(),
        }
    }

    impl Watch {
        pub fn start(top: &Path, counts: &dyn Fn(&Path) -> bool) -> Option<Self> {
            let inotify = init()?;
            let mut folders = HashMap::new();
            let entries = walkdir::WalkDir::new(top).into_iter().filter_entry(|entry| {
                let is_own = entry.depth() == 1 && entry.file_name() == ".overlaid";
                entry.file_type().is_dir() && !is_own && (entry.depth() == 0 || counts(entry.path()))
            });
            for entry in entries {
                let entry = entry.ok()?;
                let flags = WatchFlags::OPEN
                    | WatchFlags::MODIFY
                    | WatchFlags::ATTRIB
                    | WatchFlags::CREATE
                    | WatchFlags::DELETE
                    | WatchFlags::MOVE
                    | WatchFlags::ONLYDIR
                    | WatchFlags::DONT_FOLLOW;
                let watch = inotify::add_watch(&inotify, entry.path(), flags).ok()?;
                folders.insert(watch, entry.path().strip_prefix(top).ok()?.to_owned());
            }
            // Walking opened the folders that were watched already.
            let mut watch = Self { inotify: Some(inotify), folders };
            watch.drain()?;
            Some(watch)
        }

        pub fn start_folders<'a>(all: impl Iterator<Item = &'a PathBuf>) -> Option<Self> {
            let inotify = init()?;
            let mut folders = HashMap::new();
            for folder in all.filter(|folder| folder.is_dir()) {
                let watch =
                    inotify::add_watch(&inotify, folder, WatchFlags::OPEN | WatchFlags::ONLYDIR).ok()?;
                folders.insert(watch, folder.clone());
            }
            Some(Self { inotify: Some(inotify), folders })
        }

        pub fn finish(mut self) -> Option<Reads> {
            self.drain()
        }

        pub fn drain(&mut self) -> Option<Reads> {
            let mut reads = Reads::default();
            let mut buffer = [MaybeUninit::uninit(); 1 << 14];
            let mut events = inotify::Reader::new(self.inotify.as_ref()?, &mut buffer);
            loop {
                let event = match events.next() {
                    Ok(event) => event,
                    Err(Errno::AGAIN) => return Some(reads),
                    Err(Errno::INTR) => continue,
                    Err(_) => return None,
                };
                if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                    return None;
                }
                let Some(folder) = self.folders.get(&event.wd()) else { continue };
                let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                let path = name.map_or_else(|| folder.clone(), |name| folder.join(name));
                if !event.events().contains(ReadFlags::OPEN) {
                    // The kernel says by itself when a watch ends.
                    if !event.events().contains(ReadFlags::IGNORED) {
                        reads.written.insert(path);
                    }
                } else if event.events().contains(ReadFlags::ISDIR) || name.is_none() {
                    reads.folders.insert(path);
                } else {
                    reads.files.insert(path);
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::path::{Path, PathBuf};

    use super::Reads;

    #[derive(Debug)]
    pub struct Watch;

    impl Watch {
        pub fn start(_: &Path, _: &dyn Fn(&Path) -> bool) -> Option<Self> {
            None
        }

        pub fn start_folders<'a>(_: impl Iterator<Item = &'a PathBuf>) -> Option<Self> {
            None
        }

        pub fn drain(&mut self) -> Option<Reads> {
            None
        }

        pub fn finish(self) -> Option<Reads> {
            None
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_opened_are_seen_and_others_are_not() {
        let folder = std::env::temp_dir().join(format!("overlaid-reads-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("a/b")).unwrap();
        for file in ["top", "a/one", "a/b/two", "a/b/three"] {
            std::fs::write(folder.join(file), "x").unwrap();
        }
        let watch = Watch::start(&folder).unwrap();
        let script = "cat a/one a/b/two; test -e top; stat a/b/three; ls a";
        let done =
            std::process::Command::new("sh").args(["-c", script]).current_dir(&folder).output().unwrap();
        assert!(done.status.success());
        let reads = watch.finish().unwrap();
        let watch = Watch::start(&folder).unwrap();
        std::fs::write(folder.join("a/new"), "x").unwrap();
        std::fs::remove_file(folder.join("top")).unwrap();
        let changes = watch.finish().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let paths = |of: &BTreeSet<PathBuf>| of.iter().map(|p| p.display().to_string()).collect::<Vec<_>>();
        assert_eq!(paths(&reads.files), ["a/b/two", "a/one"]);
        assert_eq!(paths(&reads.folders), ["a"]);
        assert!(reads.written.is_empty());
        assert_eq!(paths(&changes.written), ["a/new", "top"]);
    }

    #[test]
    fn a_long_watch_sees_more_than_the_system_keeps_track_of() {
        let folder = std::env::temp_dir().join(format!("overlaid-reads-long-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("below")).unwrap();
        for file in ["one", "two", "below/three"] {
            std::fs::write(folder.join(file), "x").unwrap();
        }
        let watch = LongWatch::start([folder.clone(), folder.join("absent")].iter()).unwrap();
        for _ in 0..20_000 {
            std::fs::read(folder.join("one")).unwrap();
            std::fs::read(folder.join("two")).unwrap();
        }
        std::fs::read(folder.join("below/three")).unwrap();
        let reads = watch.finish().unwrap();
        let expected: BTreeSet<PathBuf> = ["one", "two"].map(|file| folder.join(file)).into();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(reads.files, expected);
    }
}
