//! The line of first parents, and what its commits change at some paths.
//!
//! Only folders that differ from those of the commit before are opened, and only on the way to the paths.

use std::collections::BTreeMap;

use bstr::ByteSlice;
use gix::objs::Kind;

use super::objects::{Objects, Oid, Reader, unreadable};
use super::parsed::{Found, parse_tree};
use crate::id::{BlobId, CommitId, UpstreamPath};
use crate::tree::Entry;
use crate::upstream::{Link, UpstreamError};

/// The paths as folders.
#[derive(Default)]
struct Folder<'p> {
    folders: BTreeMap<&'p [u8], Folder<'p>>,
    /// The places of paths with this name; a name can be a path and a folder of other paths.
    paths: BTreeMap<&'p [u8], Vec<usize>>,
}

impl<'p> Folder<'p> {
    fn of(paths: &'p [UpstreamPath]) -> Self {
        let mut top = Folder::default();
        for (place, path) in paths.iter().enumerate() {
            let mut folder = &mut top;
            let mut names = path.as_bytes().split_str("/").peekable();
            while let Some(name) = names.next() {
                if names.peek().is_none() {
                    folder.paths.entry(name).or_default().push(place);
                } else {
                    folder = folder.folders.entry(name).or_default();
                }
            }
        }
        top
    }
}

/// The commits after `from` up to `to`, oldest first; `None` if first parents do not lead from one to the other.
pub(super) fn line(
    objects: &Objects,
    from: CommitId,
    to: CommitId,
    paths: &[UpstreamPath],
) -> Result<Option<Vec<Link>>, UpstreamError> {
    objects.read(|reader| {
        let mut ids = Vec::new();
        let mut next = *to.as_bytes();
        while next != *from.as_bytes() {
            ids.push(next);
            match reader.header(&next)?.parents.first() {
                Some(parent) => next = *parent,
                None => return Ok(None),
            }
        }
        let wanted = Folder::of(paths);
        let mut entries = vec![None; paths.len()];
        let mut before = reader.header(&next)?.tree;
        compare(reader, &wanted, None, Some(before), &mut entries)?;
        let mut links = Vec::with_capacity(ids.len());
        for id in ids.into_iter().rev() {
            let tree = reader.header(&id)?.tree;
            let mut changed = Vec::new();
            if tree != before {
                let old = entries.clone();
                compare(reader, &wanted, Some(before), Some(tree), &mut entries)?;
                changed.extend((0..paths.len()).filter(|p| old[*p] != entries[*p]).map(|p| (p, entries[p])));
                before = tree;
            }
            links.push(Link { commit: CommitId::from_bytes(id), changed });
        }
        Ok(Some(links))
    })
}

/// Notes what stands at the paths of a folder in a tree, where it differs from another one.
fn compare(
    reader: &mut Reader<'_>,
    wanted: &Folder<'_>,
    before: Option<Oid>,
    now: Option<Oid>,
    entries: &mut [Option<Entry>],
) -> Result<(), UpstreamError> {
    if before == now {
        return Ok(());
    }
    let (old, new) = (names(reader, wanted, before)?, names(reader, wanted, now)?);
    for (name, places) in &wanted.paths {
        let entry = match new.get(name) {
            Some(Found::Entry(mode, id)) => Some(Entry { mode: *mode, id: BlobId::from_bytes(*id) }),
            _ => None,
        };
        places.iter().for_each(|place| entries[*place] = entry);
    }
    let tree = |found: Option<&Found>| match found {
        Some(Found::Folder(tree)) => Some(*tree),
        _ => None,
    };
    for (name, folder) in &wanted.folders {
        compare(reader, folder, tree(old.get(name)), tree(new.get(name)), entries)?;
    }
    Ok(())
}

/// What a tree has at the names that matter.
fn names<'w>(
    reader: &mut Reader<'_>,
    wanted: &'w Folder<'_>,
    tree: Option<Oid>,
) -> Result<BTreeMap<&'w [u8], Found>, UpstreamError> {
    let mut found = BTreeMap::new();
    let Some(tree) = tree else { return Ok(found) };
    for line in parse_tree(reader.tree(&tree)?) {
        let line = line.map_err(|why| unreadable(Kind::Tree, &tree, why.to_owned()))?;
        let name: &[u8] = line.name;
        let known = wanted.folders.get_key_value(name).map(|(name, _)| *name);
        if let Some(name) = known.or_else(|| wanted.paths.get_key_value(name).map(|(name, _)| *name)) {
            found.insert(name, line.what);
        }
    }
    Ok(found)
}
