//! Questions about parents: who descends from whom, what two commits have in common, what lies between.
//!
//! A question is answered only when it is certain. Where history is cut off (a shallow clone), the cut is an
//! error unless the answer cannot depend on what lies behind it.
//!
//! The commit-graph gives each of its commits a level above those of all its parents. Commits outside of it can
//! only be above it, so they are walked in full first, and the rest from the highest level down, which makes
//! every mark final once its commit is taken. Dates decide nothing but the order of the answer: clocks are wrong.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;

use super::apart::range_in_graph;
use super::objects::{ById, Header, IdState, NO_LEVEL, Oid, Reader};
use crate::upstream::UpstreamError;

/// A commit of a range.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub id: Oid,
    pub header: Arc<Header>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Inside,
    Excluded,
}

/// The commits that `tip` reaches and `exclude` does not; children before parents, else the newest first.
///
/// # Errors
/// If a commit is not here, or what is missing could belong to the range or take something out of it.
pub(super) fn range(
    reader: &mut Reader<'_>,
    tip: &Oid,
    exclude: Option<&Oid>,
) -> Result<Vec<Member>, UpstreamError> {
    if let Some(exclude) = exclude
        && let Some(members) = range_in_graph(reader, tip, exclude)?
    {
        return Ok(newest_first(members));
    }
    let mut marks: ById<Oid, Mark> = ById::default();
    let mut members = Vec::new();
    let mut waiting = BinaryHeap::new();
    let mut cut = None;

    let mut open: Vec<Oid> = exclude.copied().into_iter().collect();
    if let Some(exclude) = exclude {
        reader.header(exclude)?;
        reader.objects().read_ancestors(&[*exclude, *tip]);
    }
    while let Some(id) = open.pop() {
        if marks.insert(id, Mark::Excluded).is_some() {
            continue;
        }
        match reader.try_header(&id)? {
            None => cut = Some(id),
            Some(header) if header.level == NO_LEVEL => open.extend(&header.parents),
            Some(header) => waiting.push((header.level, id)),
        }
    }

    let mut inside_waiting = 0_usize;
    open.push(*tip);
    while let Some(id) = open.pop() {
        let Entry::Vacant(mark) = marks.entry(id) else { continue };
        mark.insert(Mark::Inside);
        let header = reader.header(&id)?;
        if header.level == NO_LEVEL {
            open.extend(&header.parents);
            members.push(Member { id, header });
        } else {
            waiting.push((header.level, id));
            inside_waiting += 1;
        }
    }

    while inside_waiting > 0 {
        let Some((_, id)) = waiting.pop() else { break };
        let header = reader.header(&id)?;
        let mark = marks.get(&id).copied().unwrap_or(Mark::Excluded);
        inside_waiting -= usize::from(mark == Mark::Inside);
        for parent in &header.parents {
            match marks.entry(*parent) {
                Entry::Vacant(vacant) => {
                    vacant.insert(mark);
                    waiting.push((reader.level(parent)?, *parent));
                    inside_waiting += usize::from(mark == Mark::Inside);
                }
                Entry::Occupied(mut known) => {
                    if mark == Mark::Excluded && known.insert(mark) == Mark::Inside {
                        inside_waiting -= 1;
                    }
                }
            }
        }
        if mark == Mark::Inside {
            members.push(Member { id, header });
        }
    }

    let members = newest_first(members);
    if let (Some(cut), Some(exclude)) = (cut, exclude)
        && !all_descend_from(&members, exclude)
    {
        // What lies behind the cut may lead to one of them, which would take it out of the range.
        return Err(reader.objects().missing("commit", &cut));
    }
    Ok(members)
}

/// All commits that these reach, themselves included; children before parents, else the newest first.
///
/// # Errors
/// If one of them is not here.
pub(super) fn reachable(reader: &mut Reader<'_>, heads: &[Oid]) -> Result<Vec<Member>, UpstreamError> {
    reader.objects().read_ancestors(heads);
    let mut seen: HashSet<Oid, IdState> = HashSet::default();
    let mut open: Vec<Oid> = heads.iter().copied().filter(|head| seen.insert(*head)).collect();
    let mut members = Vec::new();
    while let Some(id) = open.pop() {
        let header = reader.header(&id)?;
        open.extend(header.parents.iter().filter(|&parent| seen.insert(*parent)));
        members.push(Member { id, header });
    }
    Ok(newest_first(members))
}

/// Whether these reach more than so many commits. Does not read on once that is certain.
///
/// # Errors
/// If one of the first so many is not here.
pub(super) fn reach_more_than(
    reader: &mut Reader<'_>,
    heads: &[Oid],
    most: usize,
) -> Result<bool, UpstreamError> {
    let mut seen: HashSet<Oid, IdState> = HashSet::default();
    let mut open: Vec<Oid> = heads.iter().copied().filter(|head| seen.insert(*head)).collect();
    while let Some(id) = open.pop() {
        let header = reader.header(&id)?;
        // A level is no higher than the longest way down.
        let is_high = header.level != NO_LEVEL && header.level as usize > most;
        if is_high || seen.len() > most {
            return Ok(true);
        }
        open.extend(header.parents.iter().filter(|&parent| seen.insert(*parent)));
    }
    Ok(false)
}

/// Children before parents; among those that are free to come next, the one with the newest committer date, and of several
/// such the one with the least id: however members were found.
pub(super) fn newest_first(members: Vec<Member>) -> Vec<Member> {
    let place: ById<Oid, usize> =
        members.iter().enumerate().map(|(index, member)| (member.id, index)).collect();
    let mut children = vec![0_usize; members.len()];
    for parent in members.iter().flat_map(|member| &member.header.parents) {
        if let Some(&parent) = place.get(parent) {
            children[parent] += 1;
        }
    }
    let mut members: Vec<Option<Member>> = members.into_iter().map(Some).collect();
    let date = |member: &Option<Member>| member.as_ref().map_or(0, |member| member.header.committed);
    let id = |member: &Option<Member>| Reverse(member.as_ref().map_or([0; 20], |member| member.id));
    let mut free: BinaryHeap<_> = (0..members.len())
        .filter(|&index| children[index] == 0)
        .map(|index| (date(&members[index]), id(&members[index]), index))
        .collect();
    let mut ordered = Vec::with_capacity(members.len());
    while let Some((.., index)) = free.pop() {
        let Some(member) = members[index].take() else { continue };
        for parent in &member.header.parents {
            if let Some(&parent) = place.get(parent) {
                children[parent] -= 1;
                if children[parent] == 0 {
                    free.push((date(&members[parent]), id(&members[parent]), parent));
                }
            }
        }
        ordered.push(member);
    }
    ordered
}

/// Whether each member has `ancestor` among its ancestors by what is here. Children come before parents.
fn all_descend_from(members: &[Member], ancestor: &Oid) -> bool {
    let mut descends = HashSet::from([*ancestor]);
    members.iter().rev().all(|member| {
        let known = member.header.parents.iter().any(|parent| descends.contains(parent));
        if known {
            descends.insert(member.id);
        }
        known
    })
}

/// Whether `ancestor` is `descendant` or can be reached from it.
///
/// # Errors
/// If one of the two is not here, or history is cut off before the answer is certain.
pub(super) fn is_ancestor(
    reader: &mut Reader<'_>,
    ancestor: &Oid,
    descendant: &Oid,
) -> Result<bool, UpstreamError> {
    match reaches(reader, descendant, ancestor)? {
        Reach::Yes => Ok(true),
        Reach::No => Ok(false),
        // A commit is never its own ancestor's ancestor.
        Reach::Cut(cut) => match reaches(reader, ancestor, descendant)? {
            Reach::Yes => Ok(false),
            Reach::No | Reach::Cut(_) => Err(reader.objects().missing("commit", &cut)),
        },
    }
}

enum Reach {
    Yes,
    No,
    /// Not by what is here; this commit is not.
    Cut(Oid),
}

fn reaches(reader: &mut Reader<'_>, from: &Oid, to: &Oid) -> Result<Reach, UpstreamError> {
    reader.header(from)?;
    let goal = reader.header(to)?.level;
    let mut seen = HashSet::from([*from]);
    let mut open = vec![*from];
    let mut cut = None;
    while let Some(id) = open.pop() {
        if id == *to {
            return Ok(Reach::Yes);
        }
        let Some(header) = reader.try_header(&id)? else {
            cut = Some(id);
            continue;
        };
        // Levels fall from child to parent, and what is in the commit-graph has all its ancestors there.
        if header.level != NO_LEVEL && header.level <= goal {
            continue;
        }
        open.extend(header.parents.iter().filter(|&parent| seen.insert(*parent)));
    }
    Ok(cut.map_or(Reach::No, Reach::Cut))
}

const OF_A: u8 = 1;
const OF_B: u8 = 2;
const COMMON: u8 = OF_A | OF_B;
/// An ancestor of a common ancestor: not among the best.
const STALE: u8 = 4;

/// The best common ancestor; of several, the one with the newest committer date, as `git merge-base`.
///
/// # Errors
/// If history is cut off before the answer is certain.
pub(super) fn merge_base(reader: &mut Reader<'_>, a: &Oid, b: &Oid) -> Result<Option<Oid>, UpstreamError> {
    let mut painting = Painting::default();
    for (id, flag) in [(a, OF_A), (b, OF_B)] {
        reader.header(id)?;
        *painting.flags.entry(*id).or_default() |= flag;
    }
    reader.objects().read_ancestors(&[*a, *b]);
    for id in outside_graph(reader, &[*a, *b])? {
        painting.paint(reader, &id)?;
    }
    // Those of the two that are in the commit-graph themselves.
    for id in [a, b] {
        let level = reader.header(id)?.level;
        if level != NO_LEVEL && painting.queued.insert(*id) {
            painting.waiting.push((level, *id));
        }
    }
    while let Some((_, id)) = painting.waiting.pop() {
        painting.paint(reader, &id)?;
        if painting
            .waiting
            .iter()
            .all(|(_, id)| painting.flags.get(id).is_some_and(|flags| flags & STALE != 0))
        {
            break;
        }
    }
    match (painting.cut_below, &painting.best[..]) {
        // One of the candidates may lead to another behind the cut.
        (Some(cut), [_, _, ..]) => Err(reader.objects().missing("commit", &cut)),
        (_, best) => Ok(best.iter().max_by_key(|(date, _)| *date).map(|(_, id)| *id)),
    }
}

#[derive(Default)]
struct Painting {
    flags: HashMap<Oid, u8>,
    waiting: BinaryHeap<(u32, Oid)>,
    queued: HashSet<Oid>,
    best: Vec<(i64, Oid)>,
    cut_below: Option<Oid>,
}

impl Painting {
    /// Hands a commit's flags to its parents. All its children were painted before.
    fn paint(&mut self, reader: &mut Reader<'_>, id: &Oid) -> Result<(), UpstreamError> {
        let mut flags = self.flags.get(id).copied().unwrap_or(0);
        let Some(header) = reader.try_header(id)? else {
            if flags & STALE == 0 {
                return Err(reader.objects().missing("commit", id));
            }
            self.cut_below = Some(*id);
            return Ok(());
        };
        if flags == COMMON {
            self.best.push((header.committed, *id));
            flags |= STALE;
        }
        for parent in &header.parents {
            *self.flags.entry(*parent).or_default() |= flags;
            if let Some(parent_header) = reader.try_header(parent)?
                && parent_header.level != NO_LEVEL
                && self.queued.insert(*parent)
            {
                self.waiting.push((parent_header.level, *parent));
            }
        }
        Ok(())
    }
}

/// The commits reachable from `tips` that are not in the commit-graph, and those that are missing; children
/// before parents.
fn outside_graph(reader: &mut Reader<'_>, tips: &[Oid]) -> Result<Vec<Oid>, UpstreamError> {
    let mut children: HashMap<Oid, usize> = HashMap::new();
    let mut parents: HashMap<Oid, Arc<Header>> = HashMap::new();
    let mut seen = HashSet::new();
    let mut open: Vec<Oid> = tips.to_vec();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        match reader.try_header(&id)? {
            Some(header) if header.level != NO_LEVEL => continue,
            Some(header) => {
                for parent in &header.parents {
                    *children.entry(*parent).or_default() += 1;
                    open.push(*parent);
                }
                parents.insert(id, header);
            }
            None => {}
        }
        children.entry(id).or_default();
    }
    // Members of the commit-graph were counted as parents; they are no part of the answer.
    let mut free = Vec::new();
    for (id, count) in &children {
        if *count == 0 {
            free.push(*id);
        }
    }
    let mut ordered = Vec::new();
    while let Some(id) = free.pop() {
        let Some(header) = parents.get(&id) else {
            if reader.try_header(&id)?.is_none() {
                ordered.push(id);
            }
            continue;
        };
        ordered.push(id);
        for parent in &header.parents {
            if let Some(count) = children.get_mut(parent) {
                *count -= 1;
                if *count == 0 {
                    free.push(*parent);
                }
            }
        }
    }
    Ok(ordered)
}
