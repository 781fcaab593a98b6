//! Blobs read the way they are packed.
//!
//! A pack has most versions of a file as deltas to a newer one. So a blob is made from the one that it is a delta to, and
//! those made last are kept: who reads versions in the order in which they lie inflates each delta once, and copies
//! nothing. Nothing depends on it but time: a blob that is in no pack, or whose deltas are not as they should be, is not
//! found here, and is read as any object.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use gix::odb::pack::data;

use super::places::{Place, Places};
use crate::overlay::diff::delta::{Delta, Instruction};

/// Bytes of blobs that are kept for deltas to come.
const MOST_KEPT: usize = 8 << 20;

/// Deltas one upon the other; git writes at most 4,095.
const LONGEST_CHAIN: usize = 4_096;

/// A blob or delta larger than this is read as any object.
const LARGEST: u64 = 64 << 20;

/// Reads blobs, for one thread.
#[derive(Default)]
pub(super) struct PackedBlobs {
    inflate: gix::zlib::Inflate,
    delta: Vec<u8>,
    kept: HashMap<Place, Arc<[u8]>>,
    /// The places of those that are kept, as they came.
    order: VecDeque<Place>,
    bytes: usize,
}

impl PackedBlobs {
    /// The blob at this place; `None` if it is anything else than a sound blob.
    pub(super) fn read(&mut self, places: &Places, place: Place) -> Option<Arc<[u8]>> {
        let mut deltas: Vec<(Place, data::Entry)> = Vec::new();
        let mut at = place;
        let mut blob = loop {
            if let Some(known) = self.kept.get(&at) {
                break Arc::clone(known);
            }
            let entry = places.pack(at)?.entry(at.offset).ok()?;
            if entry.decompressed_size > LARGEST || deltas.len() > LONGEST_CHAIN {
                return None;
            }
            let base = match entry.header {
                data::entry::Header::Blob => {
                    let blob = self.whole(places, at, &entry)?;
                    self.keep(at, &blob);
                    break blob;
                }
                data::entry::Header::OfsDelta { base_distance } => {
                    Place { offset: entry.checked_base_pack_offset(base_distance)?, ..at }
                }
                data::entry::Header::RefDelta { base_id } => {
                    places.of_object(base_id.as_bytes().first_chunk()?)?
                }
                _ => return None,
            };
            deltas.push((at, entry));
            at = base;
        };
        while let Some((at, entry)) = deltas.pop() {
            blob = self.next(places, at, &entry, &blob)?;
            self.keep(at, &blob);
        }
        Some(blob)
    }

    fn whole(&mut self, places: &Places, at: Place, entry: &data::Entry) -> Option<Arc<[u8]>> {
        let mut blob = zeros(usize::try_from(entry.decompressed_size).ok()?);
        places.pack(at)?.decompress_entry(entry, &mut self.inflate, Arc::get_mut(&mut blob)?).ok()?;
        Some(blob)
    }

    /// The blob that this delta makes of another one.
    fn next(&mut self, places: &Places, at: Place, entry: &data::Entry, base: &[u8]) -> Option<Arc<[u8]>> {
        self.delta.clear();
        self.delta.resize(usize::try_from(entry.decompressed_size).ok()?, 0);
        places.pack(at)?.decompress_entry(entry, &mut self.inflate, &mut self.delta).ok()?;
        let delta = Delta::parse(&self.delta)?;
        if delta.after as u64 > LARGEST {
            return None;
        }
        let mut blob = zeros(delta.after);
        let mut rest = Arc::get_mut(&mut blob)?;
        delta.run(base.len(), |instruction| {
            let bytes = match instruction {
                Instruction::Copy(from) => &base[from],
                Instruction::Insert(own) => own,
            };
            // A delta makes no more than it says, which is what there is room for.
            let (here, behind) = std::mem::take(&mut rest).split_at_mut(bytes.len());
            here.copy_from_slice(bytes);
            rest = behind;
        })?;
        Some(blob)
    }

    fn keep(&mut self, at: Place, blob: &Arc<[u8]>) {
        self.bytes += blob.len();
        self.order.push_back(at);
        self.kept.insert(at, Arc::clone(blob));
        while self.bytes > MOST_KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.bytes -= self.kept.remove(&oldest).map_or(0, |blob| blob.len());
        }
    }
}

/// Room for so many bytes.
fn zeros(len: usize) -> Arc<[u8]> {
    std::iter::repeat_n(0, len).collect()
}
