//! Where objects lie in their packs.
//!
//! Reading in that order finds the bases of deltas close by. Nothing depends on it but time: an index that cannot
//! be read has no places, and an object without a place is read first.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use gix::odb::pack::{data, index};

use super::objects::Oid;

/// The packs of a repository.
pub(super) struct Places(Vec<Pack>);

struct Pack {
    index: index::File,
    path: PathBuf,
    /// The objects themselves, once they are asked for; `None` inside: they cannot be read.
    data: OnceLock<Option<data::File>>,
}

/// Where an object lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    /// Which pack.
    pub pack: usize,
    /// Bytes from the start of the pack.
    pub offset: u64,
}

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
        let pack = |path: PathBuf| {
            let index = index::File::at(&path, gix::hash::Kind::Sha1).ok()?;
            Some(Pack { index, path: path.with_extension("pack"), data: OnceLock::new() })
        };
        Self(files.into_iter().filter_map(pack).collect())
    }

    /// The place of an object; `None`: it is in no pack.
    pub(super) fn of_object(&self, id: &Oid) -> Option<Place> {
        let id = gix::ObjectId::from(*id);
        self.0.iter().enumerate().find_map(|(number, pack)| {
            let entry = pack.index.lookup(id)?;
            Some(Place { pack: number, offset: pack.index.pack_offset_at_index(entry) })
        })
    }

    /// The pack of a place; `None` if it cannot be read.
    pub(super) fn pack(&self, place: Place) -> Option<&data::File> {
        let pack = &self.0[place.pack];
        pack.data.get_or_init(|| data::File::at(&pack.path, gix::hash::Kind::Sha1).ok()).as_ref()
    }
}
