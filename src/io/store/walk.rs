//! One walk of the history for many heads and paths.
//!
//! Every commit that a head reaches gets the set of heads that reach it; from that follows what lies between any
//! two of them, which is in front, and what they have in common. Trees are read only for commits and paths that
//! were asked about.

use std::sync::{Arc, PoisonError};

use super::ancestry::{self, Member};
use super::apart;
use super::history::touches_of;
use super::objects::{ById, Objects, Oid};
use crate::upstream::{Heads, Reached, UpstreamError, Walk, Walked};

/// The commits that some heads reach, or those of them that not all heads reach.
pub(super) struct Lineage {
    heads: Vec<Oid>,
    members: Vec<Member>,
    /// Whether those that all heads reach are among them.
    is_whole: bool,
    reach: Reach,
}

impl Lineage {
    /// That of these heads; `is_whole`: with the commits that all of them reach. The last one is kept: questions come in
    /// pairs.
    pub(super) fn of(objects: &Objects, heads: &[Oid], is_whole: bool) -> Result<Arc<Self>, UpstreamError> {
        let kept = || objects.lineage.lock().unwrap_or_else(PoisonError::into_inner);
        let serves = |known: &&Arc<Self>| known.heads == heads && (known.is_whole || !is_whole);
        if let Some(known) = kept().as_ref().filter(serves) {
            return Ok(Arc::clone(known));
        }
        let apart = if is_whole { None } else { objects.read(|reader| apart::apart(reader, heads))? };
        let is_whole = apart.is_none();
        let members = match apart {
            Some(members) => members,
            None => objects.read(|reader| ancestry::reachable(reader, heads))?,
        };
        let reach = Reach::of(&members, heads);
        let lineage = Arc::new(Self { heads: heads.to_vec(), members, is_whole, reach });
        *kept() = Some(Arc::clone(&lineage));
        Ok(lineage)
    }

    /// The commits that one head reaches and another does not, as the last walk found them; `None` if it did not ask
    /// for both.
    pub(super) fn known(objects: &Objects, tip: &Oid, exclude: &Oid) -> Option<Vec<Member>> {
        let known = objects.lineage.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let head = |id: &Oid| known.heads.iter().position(|head| head == id);
        let (tip, exclude) = (head(tip)?, head(exclude)?);
        let places = 0..known.members.len();
        let between = places.filter(|place| known.has(*place, tip) && !known.has(*place, exclude));
        Some(between.map(|place| known.members[place].clone()).collect())
    }

    /// The commits, children before their parents.
    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    /// Where a commit is among them.
    pub(super) fn place(&self, id: &Oid) -> Option<usize> {
        self.reach.places.get(id).copied()
    }

    /// Whether this head reaches the commit at this place.
    pub(super) fn has(&self, place: usize, head: usize) -> bool {
        self.reach.has(place, head)
    }
}

/// The answer to all questions at once.
///
/// # Errors
/// If the history of a head is not all here.
pub(super) fn walk(objects: &Objects, question: &Walk<'_>) -> Result<Walked, UpstreamError> {
    let heads: Vec<Oid> = question.heads.iter().map(|head| *head.as_bytes()).collect();
    let lineage = Lineage::of(objects, &heads, !question.common.is_empty())?;
    let Lineage { members, reach, is_whole, .. } = lineage.as_ref();
    let mut walked = Walked {
        touches: Vec::new(),
        heads: reach.heads_of_heads(&heads, *is_whole),
        behind: vec![0; heads.len()],
    };
    for place in 0..members.len() {
        let by_first = reach.has(place, 0);
        for head in 0..heads.len() {
            let reached = reach.has(place, head);
            walked.behind[head] += usize::from(by_first && !reached);
        }
    }
    let (common, between): (Vec<usize>, Vec<usize>) =
        (0..members.len()).partition(|place| reach.is_common(*place, heads.len()));
    let mut touches = Vec::new();
    for (places, paths) in [(between, question.between), (common, question.common)] {
        let chosen: Vec<&Member> = places.iter().map(|place| &members[*place]).collect();
        let found = touches_of(objects, &chosen, paths)?;
        touches.extend(found.into_iter().map(|(index, touch)| (places[index], touch)));
    }
    touches.sort_by_key(|(place, _)| *place);
    walked.touches = touches
        .into_iter()
        .map(|(place, touch)| Reached { touch, heads: reach.heads(place, heads.len()) })
        .collect();
    Ok(walked)
}

/// For each commit the heads that reach it, a bit for each.
struct Reach {
    words: usize,
    bits: Vec<u64>,
    places: ById<Oid, usize>,
}

impl Reach {
    /// Children come before their parents, so a commit's set is whole when it hands it on.
    fn of(members: &[Member], heads: &[Oid]) -> Self {
        let words = heads.len().div_ceil(64);
        let places = members.iter().enumerate().map(|(place, member)| (member.id, place)).collect();
        let mut reach = Self { words, bits: vec![0; members.len() * words], places };
        for (head, id) in heads.iter().enumerate() {
            if let Some(place) = reach.places.get(id) {
                reach.bits[place * words + head / 64] |= 1 << (head % 64);
            }
        }
        for (place, member) in members.iter().enumerate() {
            for parent in &member.header.parents {
                let Some(&parent) = reach.places.get(parent) else { continue };
                for word in 0..words {
                    reach.bits[parent * words + word] |= reach.bits[place * words + word];
                }
            }
        }
        reach
    }

    fn has(&self, place: usize, head: usize) -> bool {
        self.bits[place * self.words + head / 64] >> (head % 64) & 1 == 1
    }

    fn is_common(&self, place: usize, heads: usize) -> bool {
        let own = &self.bits[place * self.words..(place + 1) * self.words];
        own.iter().map(|word| word.count_ones() as usize).sum::<usize>() == heads
    }

    fn heads(&self, place: usize, count: usize) -> Heads {
        let mut heads = Heads::none_of(count);
        (0..count).filter(|head| self.has(place, *head)).for_each(|head| heads.add(head));
        heads
    }

    /// The heads that reach each head. One that is not here is reached by all, where only those are left out.
    fn heads_of_heads(&self, heads: &[Oid], is_whole: bool) -> Vec<Heads> {
        let of = |id: &Oid| match self.places.get(id) {
            Some(place) => self.heads(*place, heads.len()),
            None => {
                let mut all = Heads::none_of(heads.len());
                (0..heads.len()).filter(|_| !is_whole).for_each(|head| all.add(head));
                all
            }
        };
        heads.iter().map(of).collect()
    }
}
