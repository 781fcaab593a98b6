//! Submodules: repositories inside an upstream's tree, each with a store of its own.
//!
//! A tree names a commit of another repository at a path. Where that path is declared, the store answers for what is
//! below it from the submodule's store, at the commit that the tree names: its files are entries like all others,
//! and what names the commit is a folder. So overlays, trees and locks need not know what a submodule is. Where it is
//! not declared, it stays an entry of the kind submodule, with no content.
//!
//! No helper of a submodule is run: git only fetches, by the rules of any upstream.

use std::sync::Arc;

use bstr::ByteSlice;

use super::Store;
use crate::id::{BlobId, CommitId, UpstreamPath};
use crate::tree::{Entry, Listing, Mode};
use crate::upstream::{Commit, Link, Touch, Upstream, UpstreamError, Walk, Walked};

/// A submodule with its store.
pub(super) struct Module {
    /// Where it is, relative to the repository that has it.
    pub(super) path: UpstreamPath,
    pub(super) store: Store,
}

impl Module {
    /// The part of a path that lies in the submodule: `None` if it does not lie there, an inner `None` for the
    /// submodule itself.
    pub(super) fn inner(&self, path: &UpstreamPath) -> Option<Option<UpstreamPath>> {
        let rest = path.as_bytes().strip_prefix(self.path.as_bytes().as_bytes())?;
        match rest.strip_prefix(b"/") {
            Some(rest) => UpstreamPath::parse(rest).ok().map(Some),
            None => rest.is_empty().then_some(None),
        }
    }

    pub(super) fn outer(&self, path: &UpstreamPath) -> Result<UpstreamPath, UpstreamError> {
        let joined = [self.path.as_bytes().as_bytes(), b"/", path.as_bytes()].concat();
        UpstreamPath::parse(&joined).map_err(|why| UpstreamError::UnsafePath { path: joined.into(), why })
    }

    /// Errors of a submodule's store say whose they are.
    pub(super) fn named(&self, error: UpstreamError) -> UpstreamError {
        match error {
            UpstreamError::Missing { what, id, shallow } => UpstreamError::Unreadable {
                what: format!("{what} {id} of the submodule {}", self.path),
                why: match shallow {
                    true => "it is not in the submodule's store, which is a shallow clone".to_owned(),
                    false => "it is not in the submodule's store".to_owned(),
                },
            },
            UpstreamError::Unreadable { what, why } => {
                UpstreamError::Unreadable { what: format!("{what} of the submodule {}", self.path), why }
            }
            other => other,
        }
    }
}

impl Store {
    /// The submodule that a path lies in or is, and what is left of the path.
    fn module_of(&self, path: &UpstreamPath) -> Option<(&Module, Option<UpstreamPath>)> {
        self.modules.iter().find_map(|module| module.inner(path).map(|inner| (module, inner)))
    }

    /// The commit that a submodule is at, in a commit of ours; or the commit itself, if it is one of the submodule's.
    pub(super) fn commit_of(
        &self,
        module: &Module,
        commit: CommitId,
    ) -> Result<Option<CommitId>, UpstreamError> {
        if !self.has_commit(commit)? && module.store.has_commit_somewhere(commit)? {
            return Ok(Some(commit));
        }
        let entry = self.own_entry(commit, &module.path)?;
        let submodule = entry.filter(|entry| entry.mode == Mode::Submodule);
        Ok(submodule.map(|entry| CommitId::from_bytes(*entry.id.as_bytes())))
    }

    /// Whether a commit is here or in a submodule's store.
    fn has_commit_somewhere(&self, id: CommitId) -> Result<bool, UpstreamError> {
        if self.has_commit(id)? {
            return Ok(true);
        }
        for module in &self.modules {
            if module.store.has_commit_somewhere(id)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The submodule whose store has a commit that is not ours.
    fn owner_of(&self, id: CommitId) -> Result<Option<&Module>, UpstreamError> {
        if self.modules.is_empty() || self.has_commit(id)? {
            return Ok(None);
        }
        for module in &self.modules {
            if module.store.has_commit_somewhere(id)? {
                return Ok(Some(module));
            }
        }
        Ok(None)
    }

    /// The commit that a submodule is at, in a commit of ours; `None` if there is no submodule at the path.
    ///
    /// # Errors
    /// If something cannot be read.
    pub fn submodule_at(
        &self,
        commit: CommitId,
        path: &UpstreamPath,
    ) -> Result<Option<CommitId>, UpstreamError> {
        match self.module_of(path) {
            Some((module, Some(inner))) => match self.commit_of(module, commit)? {
                Some(commit) => {
                    module.store.submodule_at(commit, &inner).map_err(|error| module.named(error))
                }
                None => Ok(None),
            },
            _ => {
                let entry = self.own_entry(commit, path)?.filter(|entry| entry.mode == Mode::Submodule);
                Ok(entry.map(|entry| CommitId::from_bytes(*entry.id.as_bytes())))
            }
        }
    }

    /// Whether the submodules that a commit names are here at the commits that it names.
    ///
    /// # Errors
    /// If something cannot be read.
    pub fn has_submodules_at(&self, commit: CommitId) -> Result<bool, UpstreamError> {
        for module in &self.modules {
            if let Some(inner) = self.commit_of(module, commit)?
                && !(module.store.has_commit(inner)? && module.store.has_submodules_at(inner)?)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Puts a submodule's store where it belongs: below the submodule that holds it, if one does.
    pub(super) fn attach(&mut self, path: &UpstreamPath, store: Store) {
        for module in &mut self.modules {
            if let Some(Some(inner)) = module.inner(path) {
                module.store.attach(&inner, store);
                return;
            }
        }
        self.modules.push(Module { path: path.clone(), store });
    }
}

impl Upstream for Store {
    fn entry(&self, commit: CommitId, path: &UpstreamPath) -> Result<Option<Entry>, UpstreamError> {
        let Some((module, inner)) = self.module_of(path) else {
            return self.own_entry(commit, path);
        };
        match (self.commit_of(module, commit)?, inner) {
            (Some(commit), Some(inner)) => {
                module.store.entry(commit, &inner).map_err(|error| module.named(error))
            }
            // Its files are there: it is a folder.
            (Some(_), None) => Ok(None),
            (None, _) => self.own_entry(commit, path),
        }
    }

    fn blob(&self, id: BlobId) -> Result<Arc<[u8]>, UpstreamError> {
        let own = self.own_blob(id);
        if !matches!(own, Err(UpstreamError::Missing { .. })) {
            return own;
        }
        for module in &self.modules {
            match module.store.blob(id) {
                Err(UpstreamError::Missing { .. }) => {}
                found => return found.map_err(|error| module.named(error)),
            }
        }
        own
    }

    fn listing(&self, commit: CommitId) -> Result<Listing, UpstreamError> {
        let owner = self.owner_of(commit)?;
        let mut listing = if owner.is_some() { Listing::new() } else { self.own_listing(commit)? };
        for module in self.modules.iter().filter(|module| owner.is_none_or(|owner| owner.path == module.path))
        {
            let Some(inner) = self.commit_of(module, commit)? else { continue };
            listing.remove(&module.path);
            for (path, entry) in module.store.listing(inner).map_err(|error| module.named(error))? {
                listing.insert(module.outer(&path)?, entry);
            }
        }
        Ok(listing)
    }

    fn commit(&self, id: CommitId) -> Result<Commit, UpstreamError> {
        match self.owner_of(id)? {
            Some(module) => module.store.commit(id),
            None => self.own_commit(id),
        }
    }

    fn is_ancestor(&self, ancestor: CommitId, descendant: CommitId) -> Result<bool, UpstreamError> {
        match self.owner_of(descendant)? {
            Some(module) => module.store.is_ancestor(ancestor, descendant),
            None => self.own_is_ancestor(ancestor, descendant),
        }
    }

    fn merge_base(&self, a: CommitId, b: CommitId) -> Result<Option<CommitId>, UpstreamError> {
        match self.owner_of(a)? {
            Some(module) => module.store.merge_base(a, b),
            None => self.own_merge_base(a, b),
        }
    }

    /// Paths in a submodule are looked up one by one.
    fn first_parents(
        &self,
        from: CommitId,
        to: CommitId,
        paths: &[UpstreamPath],
    ) -> Result<Option<Vec<Link>>, UpstreamError> {
        if self.modules.is_empty() {
            return self.own_first_parents(from, to, paths);
        }
        crate::bump::line_by_entries(self, from, to, paths)
    }

    /// For paths in a submodule: the submodule's own commits between those that `exclude` and `tip` name. Where it is
    /// no submodule at `tip`: our commits.
    fn history(
        &self,
        tip: CommitId,
        exclude: Option<CommitId>,
        paths: &[UpstreamPath],
    ) -> Result<Vec<Touch>, UpstreamError> {
        if self.modules.is_empty() {
            return self.own_history(tip, exclude, paths);
        }
        let mut touches = Vec::new();
        let own: Vec<UpstreamPath> =
            paths.iter().filter(|path| self.module_of(path).is_none()).cloned().collect();
        if !own.is_empty() && self.owner_of(tip)?.is_none() {
            touches.extend(self.own_history(tip, exclude, &own)?);
        }
        for module in &self.modules {
            let inner: Vec<UpstreamPath> =
                paths.iter().filter_map(|path| module.inner(path).flatten()).collect();
            if inner.is_empty() {
                continue;
            }
            let Some(tip) = self.commit_of(module, tip)? else {
                if self.owner_of(tip)?.is_none() {
                    let own: Vec<UpstreamPath> =
                        inner.iter().map(|path| module.outer(path)).collect::<Result<_, _>>()?;
                    touches.extend(self.own_history(tip, exclude, &own)?);
                }
                continue;
            };
            let exclude = match exclude {
                Some(exclude) => self.commit_of(module, exclude)?,
                None => None,
            };
            if exclude == Some(tip) {
                continue;
            }
            let found = module.store.history(tip, exclude, &inner).map_err(|error| module.named(error))?;
            for touch in found {
                touches.push(Touch { path: module.outer(&touch.path)?, ..touch });
            }
        }
        Ok(touches)
    }

    /// For paths in a submodule: the submodule's own commits, and where the folder is none of a head, our commits on it.
    fn walk(&self, question: &Walk<'_>) -> Result<Walked, UpstreamError> {
        if self.modules.is_empty() {
            return self.own_walk(question);
        }
        let own = |paths: &[UpstreamPath]| -> Vec<UpstreamPath> {
            paths.iter().filter(|path| self.module_of(path).is_none()).cloned().collect()
        };
        let (between, common) = (own(question.between), own(question.common));
        let mut walked =
            self.own_walk(&Walk { heads: question.heads, between: &between, common: &common })?;
        for module in &self.modules {
            self.walk_in(module, question, &mut walked)?;
        }
        Ok(walked)
    }

    fn is_longer_than(&self, heads: &[CommitId], commits: usize) -> Result<bool, UpstreamError> {
        self.own_is_longer_than(heads, commits)
    }

    /// For a path in a submodule: the submodule's own merges.
    fn choices(
        &self,
        tip: CommitId,
        exclude: Option<CommitId>,
        path: &UpstreamPath,
    ) -> Result<Vec<Touch>, UpstreamError> {
        let (module, inner) = match self.module_of(path) {
            None => return self.own_choices(tip, exclude, path),
            Some((_, None)) => return Ok(Vec::new()),
            Some((module, Some(inner))) => (module, inner),
        };
        let Some(tip) = self.commit_of(module, tip)? else { return self.own_choices(tip, exclude, path) };
        let exclude = exclude.map(|exclude| self.commit_of(module, exclude)).transpose()?.flatten();
        let found = module.store.choices(tip, exclude, &inner).map_err(|error| module.named(error))?;
        found.into_iter().map(|touch| Ok(Touch { path: module.outer(&touch.path)?, ..touch })).collect()
    }

    /// For paths in a submodule: the line of the submodule's commit.
    fn carried(
        &self,
        heads: &[CommitId],
        line: usize,
        paths: &[UpstreamPath],
    ) -> Result<Vec<Touch>, UpstreamError> {
        if self.modules.is_empty() {
            return self.own_carried(heads, line, paths);
        }
        let own: Vec<UpstreamPath> =
            paths.iter().filter(|path| self.module_of(path).is_none()).cloned().collect();
        let mut touches = self.own_carried(heads, line, &own)?;
        for module in &self.modules {
            let inner: Vec<UpstreamPath> =
                paths.iter().filter_map(|path| module.inner(path).flatten()).collect();
            let (Some(first), Some(tip)) = (heads.first(), heads.get(line)) else { continue };
            let named = (self.commit_of(module, *first)?, self.commit_of(module, *tip)?);
            let ((Some(first), Some(tip)), false) = (named, inner.is_empty()) else {
                let own: Vec<UpstreamPath> =
                    inner.iter().map(|path| module.outer(path)).collect::<Result<_, _>>()?;
                touches.extend(self.own_carried(heads, line, &own)?);
                continue;
            };
            let found =
                module.store.carried(&[first, tip], 1, &inner).map_err(|error| module.named(error))?;
            for touch in found {
                touches.push(Touch { path: module.outer(&touch.path)?, ..touch });
            }
        }
        Ok(touches)
    }

    fn blobs(&self, ids: &[BlobId]) -> Result<Vec<Arc<[u8]>>, UpstreamError> {
        match self.own_blobs(ids) {
            Err(UpstreamError::Missing { .. }) if !self.modules.is_empty() => {
                ids.iter().map(|id| self.blob(*id)).collect()
            }
            blobs => blobs,
        }
    }

    fn may_have_blob(&self, id: BlobId) -> Result<bool, UpstreamError> {
        if self.may_have_own_blob(id) {
            return Ok(true);
        }
        for module in &self.modules {
            if module.store.may_have_blob(id)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
