//! Read access to an upstream: the seam between the core, which asks, and git, which knows.
//!
//! Answers come from git objects only, never from a checkout: a checkout may have overlays in it.

use std::fmt;
use std::sync::Arc;

use bstr::BString;

use crate::id::{BlobId, CommitId, UpstreamPath};
use crate::tree::{Entry, Listing};

/// What the core asks of an upstream. Implemented by `io::store::Store` (git objects), by
/// `lock::LockedUpstream` (a lock file) and, in tests, by a map.
/// Several threads may ask at the same time.
pub trait Upstream: Sync {
    /// What stands at a path of a commit; `None` if nothing does, or only a folder.
    ///
    /// # Errors
    /// If the commit or one of its trees is not here or cannot be read.
    fn entry(&self, commit: CommitId, path: &UpstreamPath) -> Result<Option<Entry>, UpstreamError>;

    /// The bytes of a blob, with no filter applied.
    ///
    /// # Errors
    /// If the blob is not here or cannot be read.
    fn blob(&self, id: BlobId) -> Result<Arc<[u8]>, UpstreamError>;

    /// The bytes of several blobs, in their order. Faster than one by one.
    ///
    /// # Errors
    /// If one is not here or cannot be read.
    fn blobs(&self, ids: &[BlobId]) -> Result<Vec<Arc<[u8]>>, UpstreamError> {
        ids.iter().map(|id| self.blob(*id)).collect()
    }

    /// All entries of a commit's tree.
    ///
    /// # Errors
    /// If the commit or one of its trees is not here, or a path in it is not safe to write.
    fn listing(&self, commit: CommitId) -> Result<Listing, UpstreamError>;

    /// The paths at which a commit differs from its first parent (from nothing, for a root commit),
    /// with what stood there before and what stands there now.
    ///
    /// # Errors
    /// If the commit, its first parent or one of their trees is not here.
    fn diff(&self, commit: CommitId) -> Result<Vec<PathDiff>, UpstreamError> {
        let before = match self.commit(commit)?.parents.first() {
            Some(parent) => self.listing(*parent)?,
            None => Listing::new(),
        };
        let after = self.listing(commit)?;
        let paths: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
        Ok(paths
            .into_iter()
            .filter(|path| before.get(*path) != after.get(*path))
            .map(|path| PathDiff {
                path: path.clone(),
                before: before.get(path).copied(),
                after: after.get(path).copied(),
            })
            .collect())
    }

    /// What a merge of these three gave when it was recorded; `None` if it was not. An upstream that has all
    /// contents need not know any.
    fn known_merge(
        &self,
        _base: Option<Entry>,
        _ours: Option<Entry>,
        _theirs: Option<Entry>,
    ) -> Option<Option<Entry>> {
        None
    }

    /// A commit's header.
    ///
    /// # Errors
    /// If the commit is not here or cannot be read.
    fn commit(&self, id: CommitId) -> Result<Commit, UpstreamError>;

    /// Whether `ancestor` is `descendant` or can be reached from it by parents.
    ///
    /// # Errors
    /// If the history between them is not all here.
    fn is_ancestor(&self, ancestor: CommitId, descendant: CommitId) -> Result<bool, UpstreamError>;

    /// The best common ancestor; `None` if the histories are unrelated.
    ///
    /// # Errors
    /// If the history is not all here.
    fn merge_base(&self, a: CommitId, b: CommitId) -> Result<Option<CommitId>, UpstreamError>;

    /// The commits reachable from `tip` and not from `exclude` that touch one of `paths`, newest first
    /// (a commit before its parents). A commit touches a path if the entry differs from that of every
    /// parent (a merge that takes one side as it is does not count), as `git log -c --full-history`.
    /// All paths are answered by one walk.
    ///
    /// # Errors
    /// If the history is not all here.
    fn history(
        &self,
        tip: CommitId,
        exclude: Option<CommitId>,
        paths: &[UpstreamPath],
    ) -> Result<Vec<Touch>, UpstreamError>;

    /// The commits after `from` up to `to` along first parents, oldest first, with what each changes at these paths against
    /// the one before. `None` if that line does not lead from `to` to `from`.
    ///
    /// # Errors
    /// If the history or a tree is not here.
    #[cfg(feature = "git")]
    fn first_parents(
        &self,
        from: CommitId,
        to: CommitId,
        paths: &[UpstreamPath],
    ) -> Result<Option<Vec<Link>>, UpstreamError> {
        crate::bump::line_by_entries(self, from, to, paths)
    }

    /// The touches of all commits that the heads of `question` reach, with the heads that reach each: one walk for any
    /// number of heads and paths.
    ///
    /// # Errors
    /// If the history of the heads is not all here.
    fn walk(&self, question: &Walk<'_>) -> Result<Walked, UpstreamError> {
        walk_one_by_one(self, question)
    }

    /// Whether the history of these commits has more commits than that.
    ///
    /// # Errors
    /// If not enough of it is here to tell.
    fn is_longer_than(&self, _heads: &[CommitId], _commits: usize) -> Result<bool, UpstreamError> {
        Ok(false)
    }

    /// The merges that `tip` reaches and `exclude` does not that leave a path as one of their parents has it, though another
    /// has something else there; the newest first.
    ///
    /// # Errors
    /// If the history is not all here.
    fn choices(
        &self,
        tip: CommitId,
        exclude: Option<CommitId>,
        path: &UpstreamPath,
    ) -> Result<Vec<Touch>, UpstreamError> {
        let (mut merges, mut open) = (Vec::new(), vec![tip]);
        let mut seen = std::collections::BTreeSet::new();
        while let Some(id) = open.pop() {
            let is_old = exclude.map(|exclude| self.is_ancestor(id, exclude)).transpose()?.unwrap_or(false);
            if is_old || !seen.insert(id) {
                continue;
            }
            let commit = self.commit(id)?;
            let after = self.entry(id, path)?;
            let before: Result<Vec<_>, _> =
                commit.parents.iter().map(|parent| self.entry(*parent, path)).collect();
            let before = before?;
            if before.contains(&after) && before.iter().any(|entry| *entry != after) {
                merges.push((commit.committed, Touch { commit: id, path: path.clone(), before, after }));
            }
            open.extend(commit.parents);
        }
        merges.sort_by_key(|(committed, _)| std::cmp::Reverse(*committed));
        Ok(merges.into_iter().map(|(_, touch)| touch).collect())
    }

    /// What the own line of `heads[line]` (the head, its first parent, and so on) has of these paths from commits that
    /// `heads[0]` reaches, too, as far as `heads[0]` does not reach the line: contents that stand there, though no commit
    /// that `heads[0]` does not reach brought them. Newest first, each with a commit of the line at which it stands. Others that stand
    /// there may be among them.
    ///
    /// # Errors
    /// If the history of the heads or a tree is not here.
    fn carried(
        &self,
        heads: &[CommitId],
        line: usize,
        paths: &[UpstreamPath],
    ) -> Result<Vec<Touch>, UpstreamError> {
        let (Some(first), Some(tip)) = (heads.first(), heads.get(line)) else { return Ok(Vec::new()) };
        let mut touches = Vec::new();
        let mut next = Some(*tip);
        while let Some(commit) = next {
            if self.is_ancestor(commit, *first)? {
                break;
            }
            for path in paths {
                if let Some(after) = self.entry(commit, path)? {
                    touches.push(Touch {
                        commit,
                        path: path.clone(),
                        before: Vec::new(),
                        after: Some(after),
                    });
                }
            }
            next = self.commit(commit)?.parents.first().copied();
        }
        Ok(touches)
    }

    /// Whether a blob with this name can be part of the upstream's history. `false` only if that is certain.
    ///
    /// # Errors
    /// If the store cannot be searched.
    fn may_have_blob(&self, _id: BlobId) -> Result<bool, UpstreamError> {
        Ok(true)
    }
}

/// A commit of a line of first parents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The commit.
    pub commit: CommitId,
    /// The paths that it changes, by their places in the question, with what stands there now.
    pub changed: Vec<(usize, Option<Entry>)>,
}

/// Several questions about history in one.
#[derive(Debug, Clone, Copy)]
pub struct Walk<'a> {
    /// Where to start.
    pub heads: &'a [CommitId],
    /// The paths that matter in commits that some heads reach and others do not.
    pub between: &'a [UpstreamPath],
    /// The paths that matter in commits that all heads reach.
    pub common: &'a [UpstreamPath],
}

/// What a walk found.
#[derive(Debug, Clone, Default)]
pub struct Walked {
    /// The touches; a commit before its parents, else the newest first. Those of a commit are sorted by path.
    pub touches: Vec<Reached>,
    /// For each head, the heads that reach it: itself, and those that it is an ancestor of.
    pub heads: Vec<Heads>,
    /// For each head, how many commits the first head reaches and it does not.
    pub behind: Vec<usize>,
}

/// A touch, and who reaches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// The touch.
    pub touch: Touch,
    /// The heads that reach the commit.
    pub heads: Heads,
}

/// A set of the heads of a walk, by their places.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Heads(Vec<u64>);

impl Heads {
    /// None of so many.
    #[must_use]
    pub fn none_of(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    /// Whether this head is in the set.
    #[must_use]
    pub fn has(&self, head: usize) -> bool {
        self.0.get(head / 64).is_some_and(|word| word >> (head % 64) & 1 == 1)
    }

    /// Adds a head.
    pub fn add(&mut self, head: usize) {
        if let Some(word) = self.0.get_mut(head / 64) {
            *word |= 1 << (head % 64);
        }
    }

    /// Adds all heads of another set.
    pub fn add_all(&mut self, other: &Heads) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }
}

/// A walk for upstreams that can only answer one head at a time.
fn walk_one_by_one<U: Upstream + ?Sized>(upstream: &U, question: &Walk<'_>) -> Result<Walked, UpstreamError> {
    let count = question.heads.len();
    let paths: Vec<UpstreamPath> = question.between.iter().chain(question.common).cloned().collect();
    let mut walked = Walked::default();
    let mut places = std::collections::HashMap::new();
    for (place, head) in question.heads.iter().enumerate() {
        let mut heads = Heads::none_of(count);
        for (other, descendant) in question.heads.iter().enumerate() {
            if upstream.is_ancestor(*head, *descendant)? {
                heads.add(other);
            }
        }
        walked.heads.push(heads);
        let touches = upstream.history(*head, None, &paths)?;
        walked.behind.push(0);
        for touch in touches {
            let key = (touch.commit, touch.path.clone());
            let known = *places.entry(key).or_insert_with(|| {
                walked.touches.push(Reached { touch, heads: Heads::none_of(count) });
                walked.touches.len() - 1
            });
            walked.touches[known].heads.add(place);
        }
    }
    walked.touches.retain(|reached| {
        let paths = if reached.heads.count() == count { question.common } else { question.between };
        paths.contains(&reached.touch.path)
    });
    Ok(walked)
}

/// A path at which two trees differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathDiff {
    /// The path.
    pub path: UpstreamPath,
    /// What stands there in the first tree.
    pub before: Option<Entry>,
    /// What stands there in the second tree.
    pub after: Option<Entry>,
}

/// A commit that touches a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    /// The commit.
    pub commit: CommitId,
    /// The path it touches.
    pub path: UpstreamPath,
    /// What stood there in each parent, in the order of the parents. Empty for a root commit.
    pub before: Vec<Option<Entry>>,
    /// What stands there now.
    pub after: Option<Entry>,
}

/// The header of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Commit {
    /// Its id.
    pub id: CommitId,
    /// Its parents, first parent first.
    pub parents: Vec<CommitId>,
    /// The first line of the message. Bytes of the upstream: escape before showing.
    #[cfg_attr(feature = "serde", serde(with = "as_text"))]
    pub subject: BString,
    /// When it was written (author), in seconds since 1970.
    pub authored: i64,
    /// When it was committed, in seconds since 1970.
    pub committed: i64,
}

/// Bytes that are kept as text, which is short. Those that are none cannot be kept.
#[cfg(feature = "serde")]
pub(crate) mod as_text {
    use bstr::BString;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &BString, serializer: S) -> Result<S::Ok, S::Error> {
        let text = std::str::from_utf8(bytes).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(text)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BString, D::Error> {
        String::deserialize(deserializer).map(BString::from)
    }
}

/// Why an upstream could not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpstreamError {
    /// An object that is not in the store: the clone is shallow or partial, or the commit was never fetched.
    Missing {
        /// `commit`, `tree` or `blob`.
        what: &'static str,
        /// Its id, 40 digits.
        id: String,
        /// Whether the store is a shallow clone.
        shallow: bool,
    },
    /// The object is there and cannot be read.
    Unreadable {
        /// What was being read.
        what: String,
        /// What went wrong.
        why: String,
    },
    /// A path in a submodule that was not declared, or such a submodule itself: it has no content here.
    InSubmodule {
        /// The path.
        path: UpstreamPath,
        /// The submodule.
        submodule: UpstreamPath,
    },
    /// A lock file answers, and does not have what was asked.
    NotLocked {
        /// What was asked for.
        what: String,
    },
    /// The upstream's tree has a path that cannot be written safely.
    UnsafePath {
        /// The path, as git has it.
        path: BString,
        /// What is wrong with it.
        why: crate::id::PathError,
    },
}

/// What to do where a lock does not have what is asked. It cannot tell a path that is new to it from one that nobody has.
pub const NOT_LOCKED: &str =
    "if no path is misspelt, write the lock anew where the upstream can be read: overlaid lock";

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UpstreamError::Missing { what, id, shallow: false } => {
                write!(f, "{what} {id} is not in the upstream store")
            }
            UpstreamError::Missing { what, id, shallow: true } => {
                write!(f, "{what} {id} is not in the upstream store, which is a shallow clone")
            }
            UpstreamError::Unreadable { what, why } => write!(f, "cannot read {what}: {why}"),
            UpstreamError::InSubmodule { path, submodule } => {
                if path == submodule {
                    write!(f, "{path} is a submodule")?;
                } else {
                    write!(f, "{path} lies in the submodule {submodule}")?;
                }
                f.write_str(", which the manifest does not declare with [[upstream.submodule]]")
            }
            UpstreamError::NotLocked { what } => write!(f, "the lock file does not have {what}"),
            UpstreamError::UnsafePath { path, why } => {
                write!(f, "the upstream has the path {path:?}: {why}")
            }
        }
    }
}

impl std::error::Error for UpstreamError {}
