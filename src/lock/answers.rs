//! An upstream that answers from a lock: no git objects, no history.
//!
//! It answers what an apply asks, and says of everything else that the lock does not have it. Never guesses: a path
//! that is not in the lock is no absent path.

use std::sync::Arc;

use bstr::{BString, ByteSlice};

use super::{Lock, Source};
use crate::escape::for_terminal;
use crate::id::{BlobId, CommitId, UpstreamPath};
use crate::sorted::SortedMap;
use crate::tree::{Entry, Listing};
use crate::upstream::{Commit, PathDiff, Touch, Upstream, UpstreamError};

/// Where contents come from: what was vendored, and the tree. Each is proven by its id before it is given.
pub trait Contents: Sync {
    /// The content of this id. `paths` are the places at which the pin has it.
    ///
    /// # Errors
    /// A sentence that says where it was looked for and what is there instead.
    fn content(&self, id: BlobId, paths: &[&UpstreamPath]) -> Result<Arc<[u8]>, String>;
}

/// A lock that answers as an upstream.
pub struct LockedUpstream<'a> {
    lock: &'a Lock,
    contents: &'a dyn Contents,
    /// What commits other than the pin have.
    held: SortedMap<(CommitId, &'a UpstreamPath), Option<Entry>>,
    picked: SortedMap<CommitId, &'a [PathDiff]>,
    /// Paths at which the pin is known, besides those of the lock.
    known: SortedMap<UpstreamPath, Entry>,
}

impl<'a> LockedUpstream<'a> {
    /// Answers from a lock and from what is there of contents.
    #[must_use]
    pub fn new(lock: &'a Lock, contents: &'a dyn Contents) -> Self {
        let mut held = SortedMap::new();
        let mut picked = SortedMap::new();
        for overlay in &lock.overlays {
            match &overlay.source {
                Source::HeldBack(commit, entries) => {
                    held.extend(entries.iter().map(|(path, entry)| ((*commit, path), *entry)));
                }
                Source::Commits(commits) => {
                    picked.extend(commits.iter().map(|(commit, changes)| (*commit, changes.as_slice())));
                }
                Source::Files | Source::Patch | Source::Delete(_) => {}
            }
        }
        Self { lock, contents, held, picked, known: SortedMap::new() }
    }

    /// The same, with paths of the pin that are known from elsewhere.
    #[must_use]
    pub fn knowing(mut self, known: SortedMap<UpstreamPath, Entry>) -> Self {
        self.known = known;
        self
    }

    /// The lock.
    #[must_use]
    pub fn lock(&self) -> &'a Lock {
        self.lock
    }

    /// Whether something that the lock has lies below this path: then it is a folder.
    fn is_folder(&self, commit: CommitId, path: &UpstreamPath) -> bool {
        let mut prefix = BString::from(path.as_bytes());
        prefix.push(b'/');
        let below = |known: &UpstreamPath| known.as_bytes().starts_with(prefix.as_bytes());
        if commit == self.lock.pin {
            let mut later = self.lock.paths.not_before(path).iter().map(|(path, _)| path);
            // Between a folder and what is in it only names that start like it can stand.
            let starts_so = |known: &&UpstreamPath| known.as_bytes().starts_with(path.as_bytes().as_bytes());
            if later.by_ref().take_while(starts_so).any(below) {
                return true;
            }
        }
        self.held.keys().any(|(of, known)| *of == commit && below(known))
    }
}

fn not_locked(what: String) -> UpstreamError {
    UpstreamError::NotLocked { what }
}

impl Upstream for LockedUpstream<'_> {
    fn entry(&self, commit: CommitId, path: &UpstreamPath) -> Result<Option<Entry>, UpstreamError> {
        if commit == self.lock.pin
            && let Some(locked) = self.lock.paths.get(path)
        {
            return Ok(locked.pin);
        }
        if let Some(entry) = self.held.get(&(commit, path)) {
            return Ok(*entry);
        }
        if self.is_folder(commit, path) {
            return Ok(None);
        }
        Err(not_locked(format!("{} at {commit}", for_terminal(path.as_bytes()))))
    }

    fn blob(&self, id: BlobId) -> Result<Arc<[u8]>, UpstreamError> {
        let at_pin = self.lock.paths.iter().filter_map(|(path, locked)| Some((path, locked.pin?)));
        let known = self.known.iter().map(|(path, entry)| (path, *entry));
        let paths: Vec<&UpstreamPath> =
            at_pin.chain(known).filter(|(_, entry)| entry.id == id).map(|(path, _)| path).collect();
        self.contents.content(id, &paths).map_err(|why| {
            let what = match paths.first() {
                Some(path) => format!("{} at the pin (blob {id})", for_terminal(path.as_bytes())),
                None => format!("blob {id}"),
            };
            UpstreamError::Unreadable { what, why }
        })
    }

    /// The paths of the pin that the lock has: not all of them.
    fn listing(&self, commit: CommitId) -> Result<Listing, UpstreamError> {
        if commit != self.lock.pin {
            return Err(not_locked(format!("the tree of {commit}")));
        }
        let locked = self.lock.paths.iter().filter_map(|(path, locked)| Some((path.clone(), locked.pin?)));
        Ok(self.known.iter().map(|(path, entry)| (path.clone(), *entry)).chain(locked).collect())
    }

    fn diff(&self, commit: CommitId) -> Result<Vec<PathDiff>, UpstreamError> {
        match self.picked.get(&commit) {
            Some(changes) => Ok(changes.to_vec()),
            None => Err(not_locked(format!("what commit {commit} changes"))),
        }
    }

    fn known_merge(
        &self,
        base: Option<Entry>,
        ours: Option<Entry>,
        theirs: Option<Entry>,
    ) -> Option<Option<Entry>> {
        self.lock.merges.get(&(base, ours, theirs)).copied()
    }

    /// Only of commits that overlays take their change from. They are no merges, and more is not known of them.
    fn commit(&self, id: CommitId) -> Result<Commit, UpstreamError> {
        if !self.picked.contains_key(&id) {
            return Err(not_locked(format!("commit {id}")));
        }
        Ok(Commit { id, parents: Vec::new(), subject: BString::default(), authored: 0, committed: 0 })
    }

    fn is_ancestor(&self, ancestor: CommitId, descendant: CommitId) -> Result<bool, UpstreamError> {
        Err(not_locked(format!("the history between {ancestor} and {descendant}")))
    }

    fn merge_base(&self, a: CommitId, b: CommitId) -> Result<Option<CommitId>, UpstreamError> {
        Err(not_locked(format!("the history of {a} and {b}")))
    }

    fn history(
        &self,
        tip: CommitId,
        _exclude: Option<CommitId>,
        _paths: &[UpstreamPath],
    ) -> Result<Vec<Touch>, UpstreamError> {
        Err(not_locked(format!("the history of {tip}")))
    }
}
