//! All ancestors of some commits, read before a walk asks for them.
//!
//! Without a commit-graph, a question about a range needs most of a long history, and a walk asks for one commit after the
//! other. Here a few threads follow different branches of it at once. Nothing depends on it but time: what cannot be read
//! is left to the walk, which says so.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use super::objects::{IdState, NO_LEVEL, Objects, Oid, Reader};

/// Commits that are read before other threads are called.
const FEW: usize = 1_000;

/// Threads beyond which they would wait for each other.
const MOST_THREADS: usize = 8;

/// The commits that were read ahead, or will be.
pub(super) type Seen = Mutex<HashSet<Oid, IdState>>;

/// Reads the headers of these commits and of all that they reach, as far as they are not in the commit-graph.
pub(super) fn ancestors(objects: &Objects, tips: &[Oid]) {
    let mut open = Vec::new();
    see(objects, tips, &mut open);
    objects.read(|reader| follow(objects, reader, &mut open, FEW, |_| {}));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    if open.is_empty() || threads == 1 {
        return;
    }
    let shared = Shared { threads, idle: AtomicUsize::new(0), open: Mutex::new(open), more: Condvar::new() };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| objects.read(|reader| shared.work(objects, reader)));
        }
    });
}

/// Reads so many commits, the last of the open ones and what it reaches first. `each` sees what is still open after each.
fn follow(
    objects: &Objects,
    reader: &mut Reader<'_>,
    open: &mut Vec<Oid>,
    most: usize,
    mut each: impl FnMut(&mut Vec<Oid>),
) {
    let mut read = 0;
    while read < most
        && let Some(id) = open.pop()
    {
        if let Ok(Some(header)) = reader.try_header(&id)
            && header.level == NO_LEVEL
        {
            see(objects, &header.parents, open);
        }
        read += 1;
        each(open);
    }
}

/// Adds those that were not seen before.
fn see(objects: &Objects, ids: &[Oid], open: &mut Vec<Oid>) {
    let mut seen = objects.read_ahead.lock().unwrap_or_else(PoisonError::into_inner);
    open.extend(ids.iter().filter(|&id| seen.insert(*id)));
}

/// Commits that wait for a thread.
struct Shared {
    threads: usize,
    /// Threads that have nothing to do.
    idle: AtomicUsize,
    open: Mutex<Vec<Oid>>,
    more: Condvar,
}

impl Shared {
    /// Reads until no thread has anything to do.
    fn work(&self, objects: &Objects, reader: &mut Reader<'_>) {
        let _leaves = Leaves(self);
        while let Some(mut own) = self.take() {
            follow(objects, reader, &mut own, usize::MAX, |own| {
                if own.len() > 1 && self.idle.load(Ordering::Relaxed) > 0 {
                    self.give(own);
                }
            });
        }
    }

    /// Gives away half of what is open, the branches that were left behind first.
    fn give(&self, own: &mut Vec<Oid>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.is_empty() {
            open.extend(own.drain(..own.len() / 2));
            self.more.notify_one();
        }
    }

    /// A share of what is open, once there is some; `None`: all is read.
    fn take(&self) -> Option<Vec<Oid>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = self.idle.fetch_add(1, Ordering::Relaxed) + 1;
        if open.is_empty() && idle >= self.threads {
            self.more.notify_all();
        }
        while open.is_empty() {
            if self.idle.load(Ordering::Relaxed) >= self.threads {
                return None;
            }
            open = self.more.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
        self.idle.fetch_sub(1, Ordering::Relaxed);
        let kept = open.len() / 2;
        Some(open.split_off(kept))
    }
}

/// A thread that ends, even by a panic, has nothing to do any more: nobody waits for it.
struct Leaves<'s>(&'s Shared);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        let _open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.idle.fetch_add(1, Ordering::Relaxed);
        self.0.more.notify_all();
    }
}
