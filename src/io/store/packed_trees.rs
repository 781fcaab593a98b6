//! Trees of one folder after the other, read the way they are packed.
//!
//! A pack has most trees as a delta to another one, which mostly stands a little before it. So a tree is made from the
//! one that it is a delta to, and only what the delta changes is read. Nothing depends on it but time: a tree that is
//! in no pack, or whose deltas are not as they should be, is read as any object, with the error that this gives.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use gix::objs::Kind;
use gix::odb::pack::data;

use super::history::Folder;
use super::objects::{Oid, Reader, unreadable};
use super::places::{Place, Places};
use super::taken_apart::{Copied, Room, TakenApart};
use crate::overlay::diff::delta::{Delta, Instruction};
use crate::upstream::UpstreamError;

/// Bytes of trees that are kept for deltas to come.
const MOST_KEPT: usize = 8 << 20;

/// Deltas one upon the other; git writes at most 4,095.
const LONGEST_CHAIN: usize = 4_096;

/// A tree or delta larger than this is read as any object.
const LARGEST: u64 = 64 << 20;

/// Reads trees, for one thread.
pub(super) struct PackedTrees<'a> {
    folders: &'a [Folder],
    places: &'a Places,
    inflate: gix::zlib::Inflate,
    delta: Vec<u8>,
    kept: Kept,
}

/// Trees by place and folder; the one that was not used for longest is dropped first.
#[derive(Default)]
struct Kept {
    trees: HashMap<(Place, usize), (u64, Rc<TakenApart>)>,
    /// Uses in their order; one that is not a tree's last is old.
    uses: VecDeque<(u64, (Place, usize))>,
    clock: u64,
    bytes: usize,
    /// Room of a tree that was dropped, for the next one.
    spare: Option<Room>,
}

impl Kept {
    fn get(&mut self, key: (Place, usize)) -> Option<Rc<TakenApart>> {
        let (used, tree) = self.trees.get_mut(&key)?;
        self.clock += 1;
        *used = self.clock;
        self.uses.push_back((self.clock, key));
        Some(Rc::clone(tree))
    }

    fn add(&mut self, key: (Place, usize), tree: &Rc<TakenApart>) {
        self.clock += 1;
        self.bytes += tree.size();
        self.trees.insert(key, (self.clock, Rc::clone(tree)));
        self.uses.push_back((self.clock, key));
        while self.bytes > MOST_KEPT
            && let Some((use_, key)) = self.uses.pop_front()
        {
            if self.trees.get(&key).is_some_and(|(last, _)| *last == use_)
                && let Some((_, tree)) = self.trees.remove(&key)
            {
                self.bytes -= tree.size();
                self.spare = Rc::into_inner(tree).map(TakenApart::into_room);
            }
        }
    }
}

impl<'a> PackedTrees<'a> {
    pub fn new(folders: &'a [Folder], places: &'a Places) -> Self {
        let inflate = gix::zlib::Inflate::default();
        Self { folders, places, inflate, delta: Vec::new(), kept: Kept::default() }
    }

    /// The tree at this place, if it is in a pack, taken apart for the names of this folder.
    ///
    /// # Errors
    /// If it is not here, is no tree, or has a wanted name twice.
    pub fn read(
        &mut self,
        reader: &mut Reader<'_>,
        folder: usize,
        tree: &Oid,
        place: Option<Place>,
    ) -> Result<Rc<TakenApart>, UpstreamError> {
        if let Some(known) = place.and_then(|place| self.packed(folder, place)) {
            return Ok(known);
        }
        let bytes = reader.tree(tree)?.to_vec();
        let tree = TakenApart::whole(&self.folders[folder], bytes)
            .map_err(|why| unreadable(Kind::Tree, tree, why))?;
        Ok(Rc::new(tree))
    }

    /// The tree at this place; `None` if it is anything else than a sound tree.
    fn packed(&mut self, folder: usize, place: Place) -> Option<Rc<TakenApart>> {
        let mut deltas: Vec<(Place, data::Entry)> = Vec::new();
        let mut at = place;
        let mut tree = loop {
            if let Some(known) = self.kept.get((at, folder)) {
                break known;
            }
            let entry = self.places.pack(at)?.entry(at.offset).ok()?;
            if entry.decompressed_size > LARGEST || deltas.len() > LONGEST_CHAIN {
                return None;
            }
            let base = match entry.header {
                data::entry::Header::Tree => {
                    let mut bytes = vec![0; usize::try_from(entry.decompressed_size).ok()?];
                    self.places.pack(at)?.decompress_entry(&entry, &mut self.inflate, &mut bytes).ok()?;
                    let tree = Rc::new(TakenApart::whole(&self.folders[folder], bytes).ok()?);
                    self.kept.add((at, folder), &tree);
                    break tree;
                }
                data::entry::Header::OfsDelta { base_distance } => {
                    Place { offset: entry.checked_base_pack_offset(base_distance)?, ..at }
                }
                data::entry::Header::RefDelta { base_id } => {
                    self.places.of_object(base_id.as_bytes().first_chunk()?)?
                }
                _ => return None,
            };
            deltas.push((at, entry));
            at = base;
        };
        while let Some((at, entry)) = deltas.pop() {
            tree = Rc::new(self.next(folder, at, &entry, &tree)?);
            self.kept.add((at, folder), &tree);
        }
        Some(tree)
    }

    /// The tree that this delta makes of another one.
    fn next(
        &mut self,
        folder: usize,
        at: Place,
        entry: &data::Entry,
        base: &TakenApart,
    ) -> Option<TakenApart> {
        self.delta.clear();
        self.delta.resize(usize::try_from(entry.decompressed_size).ok()?, 0);
        self.places.pack(at)?.decompress_entry(entry, &mut self.inflate, &mut self.delta).ok()?;
        let delta = Delta::parse(&self.delta)?;
        if delta.after as u64 > LARGEST {
            return None;
        }
        let Room { mut bytes, starts } = self.kept.spare.take().unwrap_or_default();
        bytes.reserve(delta.after);
        let mut copies: Vec<Copied> = Vec::new();
        delta.run(base.bytes.len(), |instruction| match instruction {
            Instruction::Copy(from) => {
                let at = bytes.len();
                bytes.extend_from_slice(&base.bytes[from.clone()]);
                copies.push(Copied { at, from });
            }
            Instruction::Insert(own) => bytes.extend_from_slice(own),
        })?;
        TakenApart::from(&self.folders[folder], Room { bytes, starts }, base, &copies).ok()
    }
}
