//! What a branch's own line has from commits that another head reaches, too: contents that stand there and that no commit
//! of the branch alone brought.
//!
//! Such a content comes onto the line with its oldest commit, or with a merge of something old. Other commits of the line
//! bring what they have, or have what the one before has. So few trees are read, however long the line is.

use std::sync::Arc;

use super::ancestry::Member;
use super::history::touches_of;
use super::objects::{Objects, Oid};
use super::walk::Lineage;
use crate::id::UpstreamPath;
use crate::upstream::{Touch, UpstreamError};

/// What the line of `heads[line]` has so, of these paths; the newest first. What `heads[0]` does not reach is the line.
///
/// # Errors
/// If the history of a head or a folder is not here.
pub(super) fn carried(
    objects: &Objects,
    heads: &[Oid],
    line: usize,
    paths: &[UpstreamPath],
) -> Result<Vec<Touch>, UpstreamError> {
    let lineage = Lineage::of(objects, heads, false)?;
    let chosen = entrances(&lineage, heads, line);
    let chosen: Vec<&Member> = chosen.iter().collect();
    let found = touches_of(objects, &chosen, paths)?;
    Ok(found.into_iter().map(|(_, touch)| touch).filter(|touch| touch.after.is_some()).collect())
}

/// The commits with which contents can come onto the line, each with the one before it as its only parent; the oldest
/// with none, so that all that stands there counts.
fn entrances(lineage: &Lineage, heads: &[Oid], line: usize) -> Vec<Member> {
    let is_new_at = |place: usize| lineage.has(place, line) && !lineage.has(place, 0);
    let is_new = |id: &Oid| lineage.place(id).filter(|place| is_new_at(*place));
    let mut on_line = vec![false; lineage.members().len()];
    let mut places = Vec::new();
    let mut next = heads.get(line).and_then(&is_new);
    while let Some(place) = next {
        on_line[place] = true;
        places.push(place);
        next = lineage.members()[place].header.parents.first().and_then(&is_new);
    }
    // Commits beside the line that may have something old: children come before their parents.
    let mut has_old = vec![false; lineage.members().len()];
    let may_have_old = |parent: &Oid, has_old: &[bool]| match is_new(parent) {
        Some(place) => has_old[place] && !on_line[place],
        None => true,
    };
    for (place, member) in lineage.members().iter().enumerate().rev() {
        has_old[place] =
            is_new_at(place) && member.header.parents.iter().any(|parent| may_have_old(parent, &has_old));
    }
    let oldest = places.last().copied();
    let entrance = |place: usize| {
        let member = &lineage.members()[place];
        let (first, others) = member.header.parents.split_first()?;
        let parents = if Some(place) == oldest {
            Vec::new()
        } else if others.iter().any(|parent| may_have_old(parent, &has_old)) {
            vec![*first]
        } else {
            return None;
        };
        let header = member.header.with_parents(parents);
        Some(Member { id: member.id, header: Arc::new(header) })
    };
    places.into_iter().filter_map(entrance).collect()
}
