//! All objects of a commit, for a repository that is to have it.

use gix::objs::{Kind, TreeRefIter};

use super::Store;
use crate::id::CommitId;
use crate::upstream::UpstreamError;

impl Store {
    /// Hands out the commit, its trees and its files, each once and byte for byte. What lies in submodules is not among them.
    ///
    /// # Errors
    /// If one is not here or cannot be read.
    pub fn objects_of(
        &self,
        commit: CommitId,
        visit: &mut dyn FnMut(Kind, &[u8]),
    ) -> Result<(), UpstreamError> {
        let tree = *self.tree_of(commit)?.as_bytes();
        self.objects.read(|reader| {
            visit(Kind::Commit, reader.commit(commit.as_bytes())?);
            let mut open = vec![tree];
            let mut seen = std::collections::HashSet::from([tree]);
            while let Some(tree) = open.pop() {
                let bytes = reader.tree(&tree)?.to_vec();
                visit(Kind::Tree, &bytes);
                for entry in TreeRefIter::from_bytes(&bytes, gix::hash::Kind::Sha1) {
                    let entry = entry.map_err(|error| UpstreamError::Unreadable {
                        what: "a tree".to_owned(),
                        why: error.to_string(),
                    })?;
                    let Ok(id) = <[u8; 20]>::try_from(entry.oid.as_bytes()) else { continue };
                    if entry.mode.is_commit() || !seen.insert(id) {
                        continue;
                    }
                    if entry.mode.is_tree() {
                        open.push(id);
                    } else {
                        visit(Kind::Blob, &reader.blob(&id)?);
                    }
                }
            }
            Ok(())
        })
    }
}
