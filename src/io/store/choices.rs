//! Merges that leave a path as one parent has it, though another parent has something else there.
//!
//! No touch: nothing new comes of such a merge. But what the other parent had ends there.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use super::ancestry::{self, Member};
use super::history::touches_of;
use super::objects::{Objects, Oid};
use super::walk::Lineage;
use crate::id::{CommitId, UpstreamPath};
use crate::upstream::{Touch, UpstreamError};

/// Such merges among the commits that `tip` reaches and `exclude` does not, in the order of [`ancestry::range`].
///
/// # Errors
/// If a commit or a folder that matters is not here.
pub(super) fn choices(
    objects: &Objects,
    tip: CommitId,
    exclude: Option<CommitId>,
    path: &UpstreamPath,
) -> Result<Vec<Touch>, UpstreamError> {
    let merges = Merges::of(objects, *tip.as_bytes(), exclude.map(|exclude| *exclude.as_bytes()))?;
    let Merges { sides, alone, .. } = merges.as_ref();
    let alone: Vec<&Member> = alone.iter().collect();
    let mut by_merge: BTreeMap<usize, Touch> = BTreeMap::new();
    let mut changed: BTreeMap<usize, usize> = BTreeMap::new();
    for (index, touch) in touches_of(objects, &alone, std::slice::from_ref(path))? {
        let Side { place, side, parents } = sides[index];
        let before = vec![touch.after; parents];
        let merge = by_merge.entry(place).or_insert_with(|| Touch { before, ..touch.clone() });
        merge.before[side] = touch.before.first().copied().flatten();
        *changed.entry(place).or_default() += 1;
    }
    by_merge.retain(|place, merge| changed.get(place).is_some_and(|changed| *changed < merge.before.len()));
    Ok(by_merge.into_values().collect())
}

/// The merges of a range, taken apart.
pub(super) struct Merges {
    tip: Oid,
    exclude: Option<Oid>,
    sides: Vec<Side>,
    /// For each side the merge as if that parent were the only one.
    alone: Vec<Member>,
}

/// A parent of a merge.
#[derive(Clone, Copy)]
struct Side {
    /// The place of the merge in the range.
    place: usize,
    /// The place of the parent.
    side: usize,
    /// How many there are.
    parents: usize,
}

impl Merges {
    /// Those between two commits. The last are kept: many paths are asked about with the same two.
    fn of(objects: &Objects, tip: Oid, exclude: Option<Oid>) -> Result<Arc<Self>, UpstreamError> {
        let kept = || objects.merges.lock().unwrap_or_else(PoisonError::into_inner);
        let serves = |known: &&Arc<Self>| (known.tip, known.exclude) == (tip, exclude);
        if let Some(known) = kept().as_ref().filter(serves) {
            return Ok(Arc::clone(known));
        }
        let members = match exclude.and_then(|exclude| Lineage::known(objects, &tip, &exclude)) {
            Some(members) => members,
            None => objects.read(|reader| ancestry::range(reader, &tip, exclude.as_ref()))?,
        };
        let mut merges = Self { tip, exclude, sides: Vec::new(), alone: Vec::new() };
        for (place, member) in members.iter().enumerate() {
            let parents = member.header.parents.len();
            for (side, parent) in member.header.parents.iter().enumerate().filter(|_| parents > 1) {
                let header = Arc::new(member.header.with_parents(vec![*parent]));
                merges.sides.push(Side { place, side, parents });
                merges.alone.push(Member { id: member.id, header });
            }
        }
        let merges = Arc::new(merges);
        *kept() = Some(Arc::clone(&merges));
        Ok(merges)
    }
}
