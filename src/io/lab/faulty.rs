//! An upstream with a fault planted into one commit: what a witness that is a patch stands for.
//!
//! Decides nothing; all but the paths of the fault is answered by the upstream itself.

use std::sync::Arc;

use crate::id::{BlobId, CommitId, UpstreamPath};
use crate::tree::{Changes, Content, Entry, Listing};
use crate::upstream::{Commit, PathDiff, Touch, Upstream, UpstreamError};

/// An upstream of which one commit has a planted fault.
pub(super) struct Faulty<'a> {
    pub inner: &'a dyn Upstream,
    pub commit: CommitId,
    pub fault: &'a Changes,
}

impl Upstream for Faulty<'_> {
    fn entry(&self, commit: CommitId, path: &UpstreamPath) -> Result<Option<Entry>, UpstreamError> {
        match self.fault.get(path) {
            Some(content) if commit == self.commit => Ok(content.as_ref().map(Content::entry)),
            _ => self.inner.entry(commit, path),
        }
    }

    fn blob(&self, id: BlobId) -> Result<Arc<[u8]>, UpstreamError> {
        let planted = self.fault.values().flatten().find(|content| content.entry().id == id);
        planted.map_or_else(|| self.inner.blob(id), |content| Ok(Arc::clone(&content.bytes)))
    }

    fn listing(&self, commit: CommitId) -> Result<Listing, UpstreamError> {
        self.inner.listing(commit)
    }

    fn commit(&self, id: CommitId) -> Result<Commit, UpstreamError> {
        self.inner.commit(id)
    }

    fn diff(&self, commit: CommitId) -> Result<Vec<PathDiff>, UpstreamError> {
        self.inner.diff(commit)
    }

    fn is_ancestor(&self, ancestor: CommitId, descendant: CommitId) -> Result<bool, UpstreamError> {
        self.inner.is_ancestor(ancestor, descendant)
    }

    fn merge_base(&self, a: CommitId, b: CommitId) -> Result<Option<CommitId>, UpstreamError> {
        self.inner.merge_base(a, b)
    }

    fn history(
        &self,
        tip: CommitId,
        exclude: Option<CommitId>,
        paths: &[UpstreamPath],
    ) -> Result<Vec<Touch>, UpstreamError> {
        self.inner.history(tip, exclude, paths)
    }
}
