//! The lock: what an apply needs to know of an upstream where there is no git.
//!
//! A lock names, for each path that an overlay concerns, what the pin has there, and which content the overlays give.
//! It holds ids, no contents. The rules:
//!
//! - It serves every set of features. What the pin has at a path does not depend on them, and an overlay's own
//!   files are read from our repository; so `files`, `patch` and `delete` are put on as with git objects, by the
//!   same code. Results are kept per chain of overlays, for reviewers and for checks.
//! - An overlay of kind `from` takes content of commits. Its ids are in the lock, its contents lie beside it if
//!   they were vendored. A merge that a cherry-pick needed is kept with its result.
//! - Order and spelling are fixed: the same inputs give the same bytes. One fact a line, so that git can merge it.
//!
//! Decides what a lock says and whether it still fits to a manifest. Never reads a file: `io::locked` does.

mod answers;
#[cfg(feature = "git")]
mod build;
mod parse;
mod render;
#[cfg(feature = "git")]
mod sets;
mod stale;

use std::collections::BTreeSet;
use std::path::PathBuf;

pub use answers::{Contents, LockedUpstream};
#[cfg(feature = "git")]
pub use build::{Built, LockError, PinFacts, build};
pub use parse::{MAX_BYTES, parse};
pub use render::render;
pub use stale::{Stale, stale};

use crate::id::{BlobId, CommitId, Name, OverlayName, TreeId, UpstreamPath};
use crate::manifest::Condition;
use crate::sorted::{SortedMap, SortedSet};
use crate::tree::Entry;
use crate::upstream::PathDiff;

/// The first line of a lock file.
pub const FIRST_LINE: &str = "overlaid lock 1";

/// What a lock file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// The upstream's name.
    pub upstream: Name,
    /// The commit that it is about.
    pub pin: CommitId,
    /// The tree of that commit.
    pub tree: TreeId,
    /// The declared submodules, with the commits that the pin's tree names; `None`: it names none there.
    pub submodules: SortedMap<UpstreamPath, Option<CommitId>>,
    /// The fingerprints of the tree, by features: without any, and with those of each profile.
    pub fingerprints: SortedMap<BTreeSet<Name>, String>,
    /// The overlays, in the order of the manifest.
    pub overlays: Vec<LockedOverlay>,
    /// The paths that overlays read or change.
    pub paths: SortedMap<UpstreamPath, LockedPath>,
    /// Merges that cherry-picks needed.
    pub merges: SortedMap<MergeKey, Option<Entry>>,
    /// The contents that lie beside the lock, with their sizes.
    pub vendored: SortedMap<BlobId, u64>,
}

/// The three sides of a merge: base, ours, theirs.
pub type MergeKey = (Option<Entry>, Option<Entry>, Option<Entry>);

/// An overlay as it was when the lock was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedOverlay {
    /// Its name.
    pub name: OverlayName,
    /// Where its content comes from.
    pub source: Source,
    /// Whether it is a rival that stands back.
    pub is_off: bool,
    /// Its conditions.
    pub when: SortedSet<Condition>,
    /// The files of ours that hold its content.
    pub own: SortedMap<PathBuf, BlobId>,
}

/// Where an overlay's content comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// `files`
    Files,
    /// `patch`
    Patch,
    /// `delete`
    Delete(SortedSet<UpstreamPath>),
    /// `from = { commits }`: what each commit changes.
    Commits(Vec<(CommitId, Vec<PathDiff>)>),
    /// `from = { commit, paths }`: what the commit has at the paths.
    HeldBack(CommitId, SortedMap<UpstreamPath, Option<Entry>>),
}

impl Source {
    /// The word for it in a lock file.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Source::Files => "files",
            Source::Patch => "patch",
            Source::Delete(_) => "delete",
            Source::Commits(_) => "commits",
            Source::HeldBack(..) => "held-back",
        }
    }
}

/// A path that overlays read or change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LockedPath {
    /// What the pin has there.
    pub pin: Option<Entry>,
    /// What overlays give it.
    pub gives: SortedSet<Given>,
}

/// The overlays that made a content, in the order in which they did, and the content.
pub type Given = (Vec<OverlayName>, Option<Entry>);

impl Lock {
    /// The contents that overlays of kind `from` need: what they take, and what merges made of it.
    #[must_use]
    pub fn foreign_contents(&self) -> SortedSet<BlobId> {
        let mut ids = SortedSet::new();
        for overlay in &self.overlays {
            match &overlay.source {
                // A rival that stands back is not put on.
                _ if overlay.is_off => {}
                Source::HeldBack(_, entries) => ids.extend(entries.values().flatten().map(|entry| entry.id)),
                Source::Commits(commits) => {
                    let changes = commits.iter().flat_map(|(_, changes)| changes);
                    ids.extend(changes.filter_map(|change| change.after).map(|entry| entry.id));
                }
                Source::Files | Source::Patch | Source::Delete(_) => {}
            }
        }
        ids.extend(self.merges.values().flatten().map(|entry| entry.id));
        ids
    }
}

#[cfg(test)]
mod tests;
