//! Where objects lie in their packs.
//!
//! Reading in that order finds the bases of deltas in the cache. Nothing depends on it but time: an index that cannot
//! be read has no places, and an object without a place is read first.

use std::path::Path;

use gix::odb::pack::index;

use super::objects::Oid;

/// The indices of all packs.
pub(super) struct Places(Vec<index::File>);

impl Places {
    /// Those of a folder of objects, and of the folders that it borrows from.
    pub(super) fn of(objects: &Path) -> Self {
        let current = std::env::current_dir().unwrap_or_default();
        let borrowed = gix::odb::alternate::resolve(objects.to_owned(), &current).unwrap_or_default();
        let mut files = Vec::new();
        for folder in std::iter::once(objects.to_owned()).chain(borrowed) {
            let Ok(entries) = std::fs::read_dir(folder.join("pack")) else { continue };
            files.extend(entries.filter_map(Result::ok).map(|entry| entry.path()));
        }
        files.retain(|file| file.extension().is_some_and(|extension| extension == "idx"));
        files.sort();
        Self(files.iter().filter_map(|file| index::File::at(file, gix::hash::Kind::Sha1).ok()).collect())
    }

    /// Which pack an object is in, and where; `None`: in none.
    pub(super) fn of_object(&self, id: &Oid) -> Option<(usize, u64)> {
        let id = gix::ObjectId::from(*id);
        self.0
            .iter()
            .enumerate()
            .find_map(|(pack, file)| file.lookup(id).map(|entry| (pack, file.pack_offset_at_index(entry))))
    }
}
