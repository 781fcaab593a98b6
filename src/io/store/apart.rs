//! What lies between commits: what some of them reach and others do not.

mod places;

use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashSet};

use gix::commitgraph::Position;

use super::ancestry::{Member, newest_first};
use super::objects::{ById, IdState, NO_LEVEL, Oid, Reader};
use crate::upstream::UpstreamError;

/// The commits that some of these reach and others do not; children before parents, else the newest first. By the levels of
/// the commit-graph nothing is read that all reach, but for its uppermost. `None`: there are no such levels.
///
/// # Errors
/// If a commit is not here.
pub(super) fn apart(reader: &mut Reader<'_>, heads: &[Oid]) -> Result<Option<Vec<Member>>, UpstreamError> {
    if let Some(places) = reader.objects().graph().and_then(|graph| places::apart(graph, heads)) {
        return Ok(Some(newest_first(members(reader, &places)?)));
    }
    reader.objects().read_ancestors(heads);
    let mut outside = Vec::new();
    let mut seen: HashSet<Oid, IdState> = HashSet::default();
    let mut open: Vec<Oid> = heads.iter().copied().filter(|head| seen.insert(*head)).collect();
    while let Some(id) = open.pop() {
        let header = reader.header(&id)?;
        if header.level == NO_LEVEL {
            open.extend(header.parents.iter().filter(|&parent| seen.insert(*parent)));
            outside.push(Member { id, header });
        }
    }
    let mut paint = Paint::of(heads);
    let mut members = Vec::new();
    for member in newest_first(outside) {
        paint.hand_on(&member);
        if !paint.is_common(&member.id) {
            members.push(member);
        }
    }
    for id in paint.places.keys().filter(|id| seen.contains(*id)) {
        let header = reader.header(id)?;
        if header.level != NO_LEVEL {
            paint.waiting.push((header.level, *id));
        }
    }
    paint.open = paint.waiting.iter().filter(|(_, id)| !paint.is_common(id)).count();
    while paint.open > 0 {
        let Some((_, id)) = paint.waiting.pop() else { break };
        let member = Member { header: reader.header(&id)?, id };
        let is_common = paint.is_common(&id);
        paint.open -= usize::from(!is_common);
        for parent in paint.hand_on(&member) {
            let level = reader.level(&parent)?;
            if level == NO_LEVEL {
                return Ok(None);
            }
            paint.waiting.push((level, parent));
        }
        if !is_common {
            members.push(member);
        }
    }
    Ok(Some(newest_first(members)))
}

/// The commits that `tip` reaches and `exclude` does not, where the commit-graph alone can tell them; else `None`. In no
/// order.
///
/// # Errors
/// If the commit-graph is not as it should be.
pub(super) fn range_in_graph(
    reader: &mut Reader<'_>,
    tip: &Oid,
    exclude: &Oid,
) -> Result<Option<Vec<Member>>, UpstreamError> {
    let places = reader.objects().graph().and_then(|graph| places::range(graph, tip, exclude));
    places.map(|places| members(reader, &places)).transpose()
}

/// The commits at these places of the commit-graph.
fn members(reader: &mut Reader<'_>, places: &[Position]) -> Result<Vec<Member>, UpstreamError> {
    let mut members = Vec::with_capacity(places.len());
    for place in places {
        let id = reader.objects().graph().and_then(|graph| graph.id_at(*place).as_bytes().first_chunk());
        if let Some(id) = id.copied() {
            members.push(Member { header: reader.header(&id)?, id });
        }
    }
    Ok(members)
}

/// Which heads reach a commit, while commits are taken children before parents.
struct Paint {
    heads: usize,
    words: usize,
    places: ById<Oid, usize>,
    bits: Vec<u64>,
    /// Commits to be taken, the highest level first.
    waiting: BinaryHeap<(u32, Oid)>,
    /// How many of these not all heads reach, as far as that is known.
    open: usize,
}

impl Paint {
    fn of(heads: &[Oid]) -> Self {
        let mut paint = Self {
            heads: heads.len(),
            words: heads.len().div_ceil(64),
            places: ById::default(),
            bits: Vec::new(),
            waiting: BinaryHeap::new(),
            open: 0,
        };
        for (number, head) in heads.iter().enumerate() {
            let (place, _) = paint.place(head);
            paint.bits[place + number / 64] |= 1 << (number % 64);
        }
        paint
    }

    /// Where the bits of a commit start, and whether they are new.
    fn place(&mut self, id: &Oid) -> (usize, bool) {
        let next = self.bits.len();
        match self.places.entry(*id) {
            Entry::Occupied(known) => (*known.get(), false),
            Entry::Vacant(vacant) => {
                vacant.insert(next);
                self.bits.resize(next + self.words, 0);
                (next, true)
            }
        }
    }

    fn is_full(&self, place: usize) -> bool {
        let bits = &self.bits[place..place + self.words];
        bits.iter().map(|word| word.count_ones() as usize).sum::<usize>() == self.heads
    }

    fn is_common(&self, id: &Oid) -> bool {
        self.places.get(id).is_some_and(|place| self.is_full(*place))
    }

    /// Hands a commit's bits to its parents. Gives those that had none; they count as open until they are full.
    fn hand_on(&mut self, member: &Member) -> Vec<Oid> {
        let (from, _) = self.place(&member.id);
        let mut fresh = Vec::new();
        for parent in &member.header.parents {
            let (to, is_new) = self.place(parent);
            let was_open = is_new || !self.is_full(to);
            for word in 0..self.words {
                self.bits[to + word] |= self.bits[from + word];
            }
            let is_open = !self.is_full(to);
            if is_new {
                fresh.push(*parent);
                self.open += usize::from(is_open);
            } else if was_open && !is_open {
                self.open = self.open.saturating_sub(1);
            }
        }
        fresh
    }
}
