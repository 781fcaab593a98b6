//! The history of paths in a submodule: its own commits, and ours where its folder is or was one of our tree.
//!
//! A head stands for the commit of the submodule that it names. Where the folder stopped being a submodule, what it named
//! last is in the history of all that came after: upstream took the submodule's files into its own tree, or removed them.
//! Where a folder of ours became a submodule, upstream took the other side, as in a merge: no commit touches a path there.

use std::collections::BTreeSet;

use super::Store;
use super::submodules::Module;
use crate::id::{CommitId, UpstreamPath};
use crate::tree::{Entry, Mode};
use crate::upstream::{Heads, Reached, Touch, Upstream, UpstreamError, Walk, Walked};

/// What our own commits did with the folder of a submodule.
#[derive(Default)]
struct Crossings {
    /// Commits of ours that touch a path in it, the newest first.
    own: Vec<Reached>,
    /// Commits of the submodule at which the folder stopped being one, and the heads that have that.
    left: Vec<(CommitId, Heads)>,
}

impl Store {
    /// Adds the touches of paths in a submodule.
    pub(super) fn walk_in(
        &self,
        module: &Module,
        question: &Walk<'_>,
        walked: &mut Walked,
    ) -> Result<(), UpstreamError> {
        let inner = |paths: &[UpstreamPath]| -> Vec<UpstreamPath> {
            paths.iter().filter_map(|path| module.inner(path).flatten()).collect()
        };
        let (between, common) = (inner(question.between), inner(question.common));
        if between.is_empty() && common.is_empty() {
            return Ok(());
        }
        let named: Vec<Option<CommitId>> =
            question.heads.iter().map(|head| self.commit_of(module, *head)).collect::<Result<_, _>>()?;
        let crossings = match named.contains(&None) {
            true => self.crossings(module, question)?,
            false => Crossings::default(),
        };
        // For each head the commits of the submodule that it has the work of.
        let mut has: Vec<Vec<CommitId>> = named.iter().map(|named| named.iter().copied().collect()).collect();
        for (commit, by) in &crossings.left {
            let reaching = has.iter_mut().enumerate().filter(|(place, _)| by.has(*place));
            reaching.for_each(|(_, has)| has.push(*commit));
        }
        let heads: BTreeSet<CommitId> = has.iter().flatten().copied().collect();
        let heads: Vec<CommitId> = heads.into_iter().collect();
        let mut theirs = Vec::new();
        if !heads.is_empty() {
            // Where a head has no such submodule, no commit of it is reached by all heads.
            let all: Vec<UpstreamPath> = between.iter().chain(&common).cloned().collect();
            let common = if named.contains(&None) { &all } else { &common };
            let question = Walk { heads: &heads, between: &all, common };
            let found = module.store.walk(&question).map_err(|error| module.named(error))?;
            for Reached { touch, heads: by } in found.touches {
                let mut outer = Heads::none_of(named.len());
                for (place, has) in has.iter().enumerate() {
                    let reaches =
                        |commit: &CommitId| heads.binary_search(commit).is_ok_and(|head| by.has(head));
                    if has.iter().any(reaches) {
                        outer.add(place);
                    }
                }
                let touch = Touch { path: module.outer(&touch.path)?, ..touch };
                theirs.push(Reached { touch, heads: outer });
            }
        }
        walked.touches.extend(self.newest_first(crossings.own, theirs)?);
        Ok(())
    }

    /// Two histories in one. Ours name commits of the other one, so between equals they are newer.
    fn newest_first(&self, own: Vec<Reached>, theirs: Vec<Reached>) -> Result<Vec<Reached>, UpstreamError> {
        if own.is_empty() {
            return Ok(theirs);
        }
        let mut all = Vec::with_capacity(own.len() + theirs.len());
        let mut theirs = theirs.into_iter().peekable();
        for own in own {
            let date = self.commit(own.touch.commit)?.committed;
            while let Some(next) = theirs.peek() {
                if self.commit(next.touch.commit)?.committed <= date {
                    break;
                }
                all.extend(theirs.next());
            }
            all.push(own);
        }
        all.extend(theirs);
        Ok(all)
    }

    fn crossings(&self, module: &Module, question: &Walk<'_>) -> Result<Crossings, UpstreamError> {
        let within = |paths: &[UpstreamPath]| -> Vec<UpstreamPath> {
            paths.iter().filter(|path| matches!(module.inner(path), Some(Some(_)))).cloned().collect()
        };
        let (mut between, mut common) = (within(question.between), within(question.common));
        let all: BTreeSet<UpstreamPath> = between.iter().chain(&common).cloned().collect();
        // When the folder became a submodule or stopped being one, however long ago that is.
        between.push(module.path.clone());
        common.push(module.path.clone());
        let found = self.own_walk(&Walk { heads: question.heads, between: &between, common: &common })?;
        let mut crossings = Crossings::default();
        let mut done: BTreeSet<(CommitId, UpstreamPath)> = BTreeSet::new();
        for Reached { touch, heads } in found.touches {
            let paths: Vec<&UpstreamPath> = if touch.path == module.path {
                let is_submodule = |entry: &Entry| entry.mode == Mode::Submodule;
                if touch.after.as_ref().is_some_and(is_submodule) {
                    continue;
                }
                for entry in touch.before.iter().flatten().filter(|entry| is_submodule(entry)) {
                    let commit = CommitId::from_bytes(*entry.id.as_bytes());
                    // Of commits that nobody fetched, nothing is known.
                    if module.store.has_commit(commit)? {
                        crossings.left.push((commit, heads.clone()));
                    }
                }
                all.iter().collect()
            } else {
                vec![&touch.path]
            };
            for path in paths {
                if done.insert((touch.commit, path.clone()))
                    && let Some(touch) = self.touch_of(module, touch.commit, path)?
                {
                    crossings.own.push(Reached { touch, heads: heads.clone() });
                }
            }
        }
        Ok(crossings)
    }

    /// What a commit of ours does to a path in the folder of a submodule, whatever the folder is before it; `None` if
    /// nothing, or if the folder is a submodule after it.
    fn touch_of(
        &self,
        module: &Module,
        commit: CommitId,
        path: &UpstreamPath,
    ) -> Result<Option<Touch>, UpstreamError> {
        if self.commit_of(module, commit)?.is_some() {
            return Ok(None);
        }
        let after = self.own_entry(commit, path)?;
        let parents = self.own_commit(commit)?.parents;
        let at = |parent: &CommitId| match self.entry(*parent, path) {
            // What the submodule had is not here.
            Err(UpstreamError::Unreadable { .. }) => Ok(None),
            entry => entry,
        };
        let before: Vec<Option<Entry>> = parents.iter().map(at).collect::<Result<_, _>>()?;
        let is_touch = if before.is_empty() { after.is_some() } else { !before.contains(&after) };
        Ok(is_touch.then(|| Touch { commit, path: path.clone(), before, after }))
    }
}
