//! A tree that is not there yet: written beside its place, then renamed into it.
//!
//! A run that is killed leaves only a folder beside the place, which the next run removes. The lock of the tree
//! lies in that folder from the start, so that it is held from the first file on. Nothing is flushed
//! to disk: after a power failure soon after the run, remove the tree and make it again (`verify` tells).

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bstr::ByteSlice;
use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::attestation;
use super::error::TreeError;
use super::folder::{Root, Walker, create_at, rename_at, split, stat_at};
use super::letter_case;
use super::lock::{Lock, Sharing};
use super::run::content_of;
use super::state::{Header, Origin, Record, Stamp, Writer};
use super::{Event, HOME, LOCK, prepare_home};
use crate::id::UpstreamPath;
use crate::plan::{Found, Plan, Step, Wanted};
use crate::tree::{Entry, Mode};
use crate::upstream::Upstream;

const THREADS: usize = 2;
/// Steps that a thread takes at a time: more than this many only from one folder,
const BATCH: usize = 16;
/// and no more than this many.
const LARGE_BATCH: usize = 256;

/// All that is wanted, by path.
pub(super) fn wanted_entries(wanted: &Wanted) -> Vec<(&UpstreamPath, Entry)> {
    let kept = wanted.listing.iter().filter(|(path, _)| !wanted.changes.contains_key(*path));
    let mut entries: Vec<_> = kept.map(|(path, entry)| (path, *entry)).collect();
    let changed = wanted.changes.iter().filter_map(|(path, change)| Some((path, change.as_ref()?.entry())));
    let listed = entries.len();
    entries.extend(changed);
    if entries.len() > listed {
        entries.sort_unstable_by_key(|(path, _)| *path);
    }
    entries
}

/// The plan of making a tree.
pub(super) fn plan(wanted: &Wanted) -> Plan {
    let steps = wanted_entries(wanted).into_iter().map(|(path, entry)| Step {
        path: path.clone(),
        from: Found::Absent,
        to: Some(entry),
        keep: false,
    });
    Plan { steps: steps.collect(), ..Plan::default() }
}

/// Makes a tree; `None` if somebody else made it while this waited.
pub(super) fn make(
    dir: &Path,
    wanted: &Wanted,
    upstream: &dyn Upstream,
    events: &mut dyn FnMut(Event),
) -> Result<Option<Plan>, TreeError> {
    use std::os::unix::ffi::OsStrExt;
    let Some(name) = dir.file_name().map(|name| name.as_bytes()) else {
        return Err(TreeError::io("make", dir, std::io::Error::from(std::io::ErrorKind::InvalidInput)));
    };
    let parent = match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(parent).map_err(|error| TreeError::io("make the folder", parent, error))?;
    let parent = Root::open(parent)?;
    let temporary = [b".", name, b".overlaid-new"].concat();
    let Some(place) = Place::take(&parent, name, &temporary, dir, events)? else { return Ok(None) };
    let failed = |what| move |error| TreeError::io(what, dir, error);
    let made = write_beside(&place, wanted, upstream, events);
    let renamed = made.and_then(|plan| {
        rename_at(&parent, temporary.as_bytes(), &parent, name).map_err(failed("make"))?;
        Ok(plan)
    });
    if renamed.is_err() {
        // The first error is what matters; the next run removes what is left.
        let _ = place.clear().and_then(|_| parent.remove_all(&temporary));
    }
    renamed.map(Some)
}

/// How often the folder beside the place may vanish while it is taken: others may fail, but not for ever.
const MOST_VANISHED: u32 = 1000;

/// The folder beside the place, ours alone.
struct Place {
    root: Root,
    home: Root,
    _lock: Lock,
}

impl Place {
    /// Makes the folder, or takes over what a killed run left; waits for a run that is at work in it.
    /// `None` if the tree is there by then.
    fn take(
        parent: &Root,
        name: &[u8],
        temporary: &[u8],
        dir: &Path,
        events: &mut dyn FnMut(Event),
    ) -> Result<Option<Self>, TreeError> {
        let failed = |error| TreeError::io("make", parent.at(temporary), error);
        let is_gone = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
        let (mut waited, mut vanished) = (false, 0);
        loop {
            if stat_at(parent, name).map_err(failed)?.is_some() {
                return Ok(None);
            }
            // A run that failed removes the folder, perhaps between our making and our opening it.
            let root = match parent.make_inside(temporary) {
                Err(TreeError::Io { error, .. }) if is_gone(&error) && vanished < MOST_VANISHED => {
                    vanished += 1;
                    continue;
                }
                made => made?,
            };
            // No folder of ours has anything before it has the mark, or after the mark is gone. Looked at in this order,
            // and twice, a run that is just beginning or just clearing up is not taken for somebody's folder.
            let is_foreign = || -> Result<bool, TreeError> {
                let has_others = root.names()?.iter().any(|name| *name != HOME);
                Ok(has_others && root.inside(HOME)?.is_none())
            };
            if is_foreign()? && is_foreign()? {
                return Err(failed(Errno::EXIST));
            }
            let mut waiting = || {
                if !std::mem::replace(&mut waited, true) {
                    events(Event::Waiting { dir: dir.to_owned() });
                }
            };
            let locked = root.make_inside(HOME).and_then(|home| {
                let lock = Lock::take(&home, LOCK, Sharing::Exclusive, &mut waiting)?;
                Ok(Self { root, home, _lock: lock })
            });
            match locked {
                // The run that had it has finished, or has failed and removed it.
                Ok(place) if !place.is_at(parent, temporary)? => {}
                Ok(place) => {
                    if place.clear()? {
                        events(Event::Discarded);
                    }
                    // The tree may have come after the look at the top, and this folder after it.
                    if stat_at(parent, name).map_err(failed)?.is_some() {
                        parent.remove_all(temporary)?;
                        return Ok(None);
                    }
                    return Ok(Some(place));
                }
                Err(TreeError::Io { error, .. }) if is_gone(&error) && vanished < MOST_VANISHED => {
                    vanished += 1
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn is_at(&self, parent: &Root, temporary: &[u8]) -> Result<bool, TreeError> {
        let failed = |error| TreeError::io("look at", parent.at(temporary), error);
        let ours = rustix::fs::fstat(&self.root).map_err(failed)?;
        let there = stat_at(parent, temporary).map_err(failed)?;
        Ok(there.is_some_and(|there| there.st_ino == ours.st_ino && there.st_dev == ours.st_dev))
    }

    /// Removes all but the lock; gives whether there was anything.
    fn clear(&self) -> Result<bool, TreeError> {
        let mut had_any = false;
        for name in self.root.names()?.iter().filter(|name| *name != HOME) {
            self.root.remove_all(name)?;
            had_any = true;
        }
        for name in self.home.names()?.iter().filter(|name| *name != LOCK) {
            self.home.remove_all(name)?;
            had_any = true;
        }
        Ok(had_any)
    }
}

fn write_beside(
    place: &Place,
    wanted: &Wanted,
    upstream: &dyn Upstream,
    events: &mut dyn FnMut(Event),
) -> Result<Plan, TreeError> {
    let Place { root, home, .. } = place;
    prepare_home(home)?;
    letter_case::check(home, wanted)?;
    let plan = plan(wanted);
    let stamps = write_all(root, &plan, wanted, upstream, events)?;
    let header = Header::of(wanted, Origin::Made);
    let mut state = Writer::new(&header);
    for (step, stamp) in plan.steps.iter().zip(stamps) {
        state.push(&step.path, &Record { entry: step.to, stamp });
    }
    attestation::write(home, &attestation::render(wanted, Origin::Made))?;
    state.write(home, false)?;
    Ok(plan)
}

/// Writes all contents, in several threads; gives the stamps in the order of the steps.
fn write_all(
    root: &Root,
    plan: &Plan,
    wanted: &Wanted,
    upstream: &dyn Upstream,
    events: &mut dyn FnMut(Event),
) -> Result<Vec<Stamp>, TreeError> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let total = plan.steps.len();
    let batches = batches(&plan.steps);
    let write_some = |progress: &mut dyn FnMut(usize)| {
        let mut walker = Walker::new(root);
        let mut stamps = Vec::new();
        loop {
            let batch = batches.get(next.fetch_add(1, Ordering::Relaxed));
            let Some(batch) = batch.filter(|_| !failed.load(Ordering::Relaxed)) else { return Ok(stamps) };
            for (index, step) in plan.steps.iter().enumerate().take(batch.end).skip(batch.start) {
                match write_step(root, &mut walker, wanted, upstream, step) {
                    Ok(stamp) => stamps.push((index, stamp)),
                    Err(error) => {
                        failed.store(true, Ordering::Relaxed);
                        return Err(error);
                    }
                }
            }
            progress(batch.end);
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..THREADS).map(|_| scope.spawn(|| write_some(&mut |_| {}))).collect();
        let mut written = vec![write_some(&mut |done| events(Event::Writing { done, total }))];
        for other in others {
            match other.join() {
                Ok(stamps) => written.push(stamps),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        let mut stamps = vec![Stamp::NONE; total];
        for part in written {
            part?.into_iter().for_each(|(index, stamp)| stamps[index] = stamp);
        }
        Ok(stamps)
    })
}

/// What a thread takes at a time: whole folders, if they are not large. Two threads in one folder would wait for each other
/// at every file that they make.
fn batches(steps: &[Step]) -> Vec<Range<usize>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    let mut last = None;
    for (index, step) in steps.iter().enumerate() {
        let folder = split(step.path.as_bytes()).0;
        let most = if last == Some(folder) { LARGE_BATCH } else { BATCH };
        match batches.last_mut().filter(|batch| batch.len() < most) {
            Some(batch) => batch.end = index + 1,
            None => batches.push(index..index + 1),
        }
        last = Some(folder);
    }
    batches
}

fn write_step(
    root: &Root,
    walker: &mut Walker<'_>,
    wanted: &Wanted,
    upstream: &dyn Upstream,
    step: &Step,
) -> Result<Stamp, TreeError> {
    let mut made = Vec::new();
    let Some(entry) = step.to.filter(|entry| entry.mode != Mode::Submodule) else {
        root.make_folder(step.path.as_bytes(), &mut made)?;
        return Ok(Stamp::NONE);
    };
    let bytes = content_of(wanted, upstream, &step.path, entry)?;
    let (folder, name) = walker.make_parent(&step.path, &mut made)?;
    let failed = |error| TreeError::io("write", root.at(step.path.as_bytes()), error);
    let stat = match entry.mode {
        Mode::Symlink => {
            rustix::fs::symlinkat(&*bytes, folder, name.as_bytes()).map_err(failed)?;
            rustix::fs::statat(folder, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW)
        }
        mode => create_at(folder, name, mode == Mode::Executable, &bytes).and_then(rustix::fs::fstat),
    };
    Ok(Stamp::of(&stat.map_err(failed)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::BlobId;

    fn steps(paths: impl IntoIterator<Item = String>) -> Vec<Step> {
        let to = Some(Entry { mode: Mode::File, id: BlobId::of(b"") });
        let step = |path: String| {
            let path = UpstreamPath::parse(path.as_bytes()).unwrap();
            Step { path, from: Found::Absent, to, keep: false }
        };
        paths.into_iter().map(step).collect()
    }

    fn folder(name: &str, files: usize) -> impl Iterator<Item = String> {
        (0..files).map(move |number| format!("{name}/{number:05}"))
    }

    #[test]
    fn a_thread_takes_whole_folders() {
        let paths = folder("a", 20).chain(folder("b", 3)).chain(folder("c", 30)).chain(folder("d", 1));
        assert_eq!(batches(&steps(paths)), [0..20, 20..53, 53..54]);
        assert!(batches(&[]).is_empty());
    }

    #[test]
    fn a_large_folder_is_shared() {
        let many = batches(&steps(folder("a", 2 * LARGE_BATCH + 1)));
        assert_eq!(
            many,
            [0..LARGE_BATCH, LARGE_BATCH..2 * LARGE_BATCH, 2 * LARGE_BATCH..2 * LARGE_BATCH + 1]
        );
    }
}
