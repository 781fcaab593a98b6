//! The files of a variant, as values: a commit's listing with what overlays make of it.
//!
//! Decides what is the same source and what is not. Nothing has to be on disk for that.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::evidence::build::{paths_digest, tree_digest};
use crate::id::{CommitId, Name, OverlayName, UpstreamPath};
use crate::io::hashes::sha256_of;
use crate::plan::Wanted;
use crate::sorted::SortedMap;
use crate::tree::{Changes, Content, Entry, Listing, Mode};
#[cfg(feature = "git")]
use crate::upstream::{Upstream, UpstreamError};

/// The files of a variant.
#[derive(Debug, Clone)]
pub struct Sources {
    /// The commit.
    pub commit: CommitId,
    /// What the commit has.
    pub listing: Arc<Listing>,
    /// What overlays make of some paths.
    pub changes: Changes,
    /// The overlays behind each of them.
    pub owners: SortedMap<UpstreamPath, Vec<OverlayName>>,
    names: OnceCell<String>,
    whole: OnceCell<String>,
}

impl Sources {
    /// A commit's listing with changes on top. Changes that change nothing are left out.
    #[must_use]
    pub fn new(
        commit: CommitId,
        listing: Arc<Listing>,
        changes: Changes,
        owners: SortedMap<UpstreamPath, Vec<OverlayName>>,
    ) -> Self {
        let differs = |path: &UpstreamPath, content: &Option<Content>| {
            content.as_ref().map(Content::entry) != listing.get(path).copied()
        };
        let changes = changes.into_iter().filter(|(path, content)| differs(path, content)).collect();
        Self { commit, listing, changes, owners, names: OnceCell::new(), whole: OnceCell::new() }
    }

    /// What stands at a path.
    #[must_use]
    pub fn entry(&self, path: &UpstreamPath) -> Option<Entry> {
        match self.changes.get(path) {
            Some(content) => content.as_ref().map(Content::entry),
            None => self.listing.get(path).copied(),
        }
    }

    /// All that stands in the tree, in the order of the listing, added paths last.
    pub fn entries(&self) -> impl Iterator<Item = (&UpstreamPath, Entry)> {
        let listed = self.listing.iter().filter_map(|(path, entry)| match self.changes.get(path) {
            Some(content) => Some((path, content.as_ref()?.entry())),
            None => Some((path, *entry)),
        });
        let added = self.changes.iter().filter(|(path, _)| !self.listing.contains_key(*path));
        listed.chain(added.filter_map(|(path, content)| Some((path, content.as_ref()?.entry()))))
    }

    /// A hash of the names of all files, without their contents: what globs and searches see. Modes and links
    /// count: they are seen without opening anything.
    #[must_use]
    pub fn names(&self) -> &str {
        self.names.get_or_init(|| {
            let paths = paths_digest(self.entries().map(|(path, _)| path));
            let mut odd: Vec<String> = self
                .entries()
                .filter(|(_, entry)| entry.mode != Mode::File)
                .map(|(path, entry)| match entry.mode {
                    Mode::Executable => format!("{path} executable"),
                    _ => format!("{path} {} {}", entry.mode.as_octal(), entry.id),
                })
                .collect();
            odd.sort();
            sha256_of(format!("{paths}\n{}", odd.join("\n")).as_bytes())
        })
    }

    /// A hash of all names, modes and contents.
    #[must_use]
    pub fn whole(&self) -> &str {
        self.whole.get_or_init(|| tree_digest(self.entries()))
    }

    /// The same files as changes of another commit, so that they can be made in its folder. `None`: that cannot be
    /// said, a submodule differs.
    ///
    /// # Errors
    /// If content of the upstream cannot be read.
    #[cfg(feature = "git")]
    pub fn seen_from(
        &self,
        commit: CommitId,
        listing: Arc<Listing>,
        upstream: &dyn Upstream,
    ) -> Result<Option<Sources>, UpstreamError> {
        let mut changes = Changes::new();
        for (path, entry) in self.entries().filter(|(path, entry)| listing.get(*path) != Some(entry)) {
            let was_submodule = listing.get(path).is_some_and(|was| was.mode == Mode::Submodule);
            if entry.mode == Mode::Submodule || was_submodule {
                return Ok(None);
            }
            let content = match self.changes.get(path) {
                Some(content) => content.clone(),
                None => Some(Content { mode: entry.mode, bytes: upstream.blob(entry.id)? }),
            };
            changes.insert(path.clone(), content);
        }
        for (path, entry) in listing.iter().filter(|(path, _)| self.entry(path).is_none()) {
            if entry.mode == Mode::Submodule {
                return Ok(None);
            }
            changes.insert(path.clone(), None);
        }
        Ok(Some(Self::new(commit, listing, changes, self.owners.clone())))
    }

    /// At how many paths two variants differ.
    #[must_use]
    pub fn differing(&self, other: &Sources) -> usize {
        let here = self.entries().filter(|(path, entry)| other.entry(path) != Some(*entry)).count();
        here + other.entries().filter(|(path, _)| self.entry(path).is_none()).count()
    }

    /// The tree to be made on disk.
    #[must_use]
    pub fn wanted(&self, upstream: &Name) -> Wanted {
        Wanted {
            upstream: upstream.clone(),
            commit: self.commit,
            listing: (*self.listing).clone(),
            changes: self.changes.clone(),
            owners: self.owners.clone(),
            fingerprint: self.whole().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(changes: &[(&str, Option<&str>)]) -> Sources {
        let path = |text: &str| UpstreamPath::parse(text).unwrap();
        let file = |text: &str| Content::file(text.as_bytes().to_vec());
        let listing = [("a", "1"), ("b", "2")].map(|(name, text)| (path(name), file(text).entry()));
        let changes = changes.iter().map(|(name, text)| (path(name), text.map(file))).collect();
        let commit = CommitId::from_bytes([1; 20]);
        Sources::new(commit, Arc::new(listing.into_iter().collect()), changes, SortedMap::new())
    }

    #[test]
    fn names_see_added_and_deleted_paths_and_not_contents() {
        let plain = sources(&[]);
        assert_eq!(plain.names(), sources(&[("a", Some("other"))]).names());
        assert_ne!(plain.names(), sources(&[("c", Some("new"))]).names());
        assert_ne!(plain.names(), sources(&[("a", None)]).names());
        assert_eq!(plain.names(), sources(&[("c", None)]).names());
    }

    #[test]
    fn changes_that_change_nothing_make_no_difference() {
        assert_eq!(sources(&[]).whole(), sources(&[("a", Some("1")), ("c", None)]).whole());
        assert_ne!(sources(&[]).whole(), sources(&[("a", Some("2"))]).whole());
        let paths: Vec<_> =
            sources(&[("a", None), ("0", Some("x"))]).entries().map(|(p, _)| p.to_string()).collect();
        assert_eq!(paths, ["b", "0"]);
    }
}
