//! Merges that leave a path as one parent has it, though another parent has something else there.
//!
//! No touch: nothing new comes of such a merge. But what the other parent had ends there.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ancestry::{self, Member};
use super::history::touches_of;
use super::objects::Objects;
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
    let exclude = exclude.as_ref().map(CommitId::as_bytes);
    let known = exclude.and_then(|exclude| Lineage::known(objects, tip.as_bytes(), exclude));
    let members = match known {
        Some(members) => members,
        None => objects.read(|reader| ancestry::range(reader, tip.as_bytes(), exclude))?,
    };
    // Each parent on its own, as if it were the only one.
    let mut sides: Vec<(usize, usize)> = Vec::new();
    let mut alone: Vec<Member> = Vec::new();
    for (place, member) in members.iter().enumerate().filter(|(_, member)| member.header.parents.len() > 1) {
        for (side, parent) in member.header.parents.iter().enumerate() {
            let header = member.header.with_parents(vec![*parent]);
            sides.push((place, side));
            alone.push(Member { id: member.id, header: Arc::new(header) });
        }
    }
    let alone: Vec<&Member> = alone.iter().collect();
    let mut by_merge: BTreeMap<usize, Touch> = BTreeMap::new();
    let mut changed: BTreeMap<usize, usize> = BTreeMap::new();
    for (index, touch) in touches_of(objects, &alone, std::slice::from_ref(path))? {
        let (place, side) = sides[index];
        let parents = members[place].header.parents.len();
        let before = vec![touch.after; parents];
        let merge = by_merge.entry(place).or_insert_with(|| Touch { before, ..touch.clone() });
        merge.before[side] = touch.before.first().copied().flatten();
        *changed.entry(place).or_default() += 1;
    }
    by_merge.retain(|place, merge| changed.get(place).is_some_and(|changed| *changed < merge.before.len()));
    Ok(by_merge.into_values().collect())
}
