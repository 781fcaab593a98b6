//! What lies between commits that are all in the commit-graph, by their places there: names are not looked up.

use std::collections::BinaryHeap;

use gix::commitgraph::{Graph, Position};

use super::super::objects::{NO_LEVEL, Oid};

/// The commits that `tip` reaches and `exclude` does not; `None` as for [`apart`].
pub(super) fn range(graph: &Graph, tip: &Oid, exclude: &Oid) -> Option<Vec<Position>> {
    // What only the other one reaches is no part of it.
    let apart = painted(graph, &[*tip, *exclude])?.into_iter();
    Some(apart.filter(|(_, is_of_first)| *is_of_first).map(|(place, _)| place).collect())
}

/// The commits that some of these reach and others do not. `None`: one is not in the commit-graph, or that is not as it
/// should be.
pub(super) fn apart(graph: &Graph, heads: &[Oid]) -> Option<Vec<Position>> {
    Some(painted(graph, heads)?.into_iter().map(|(place, _)| place).collect())
}

/// Those commits, each with whether the first head reaches it.
fn painted(graph: &Graph, heads: &[Oid]) -> Option<Vec<(Position, bool)>> {
    let words = heads.len().div_ceil(64);
    let mut paint =
        Paint { heads: heads.len(), words, slots: vec![0; graph.num_commits() as usize], bits: Vec::new() };
    let mut waiting: BinaryHeap<(u32, u32)> = BinaryHeap::new();
    for (number, head) in heads.iter().enumerate() {
        let place = graph.lookup(gix::ObjectId::from(*head))?;
        let level = level(graph, place)?;
        let (slot, is_new) = paint.slot(place);
        paint.bits[slot + number / 64] |= 1 << (number % 64);
        if is_new {
            waiting.push((level, place.0));
        }
    }
    // How many of those that wait not all heads reach, as far as that is known.
    let mut open = 0;
    for (_, place) in &waiting {
        let (slot, _) = paint.slot(Position(*place));
        open += usize::from(!paint.is_full(slot));
    }
    let mut apart = Vec::new();
    while open > 0 {
        let Some((own_level, place)) = waiting.pop() else { break };
        let (slot, _) = paint.slot(Position(place));
        let is_common = paint.is_full(slot);
        if !is_common {
            open -= 1;
            // All its children were taken before, so this is all that reach it.
            apart.push((Position(place), paint.bits[slot] & 1 == 1));
        }
        for parent in graph.commit_at(Position(place)).iter_parents() {
            let parent = parent.ok().filter(|parent| parent.0 < graph.num_commits())?;
            // So no commit is taken before all its children.
            let level = level(graph, parent).filter(|level| *level < own_level)?;
            let (to, is_new) = paint.slot(parent);
            let was_full = !is_new && paint.is_full(to);
            for word in 0..words {
                paint.bits[to + word] |= paint.bits[slot + word];
            }
            let is_full = paint.is_full(to);
            if is_new {
                waiting.push((level, parent.0));
                open += usize::from(!is_full);
            } else if !was_full && is_full {
                open -= 1;
            }
        }
    }
    Some(apart)
}

fn level(graph: &Graph, place: Position) -> Option<u32> {
    let level = graph.commit_at(place).generation();
    (level != 0 && level != NO_LEVEL).then_some(level)
}

/// Which heads reach a commit.
struct Paint {
    heads: usize,
    words: usize,
    /// For each commit of the graph where its bits start, and one more; 0: it has none.
    slots: Vec<u32>,
    bits: Vec<u64>,
}

impl Paint {
    /// Where the bits of a commit start, and whether they are new.
    fn slot(&mut self, place: Position) -> (usize, bool) {
        let slot = &mut self.slots[place.0 as usize];
        if *slot > 0 {
            return (*slot as usize - 1, false);
        }
        let next = self.bits.len();
        *slot = u32::try_from(next + 1).unwrap_or(u32::MAX);
        self.bits.resize(next + self.words, 0);
        (next, true)
    }

    fn is_full(&self, slot: usize) -> bool {
        let bits = &self.bits[slot..slot + self.words];
        bits.iter().map(|word| word.count_ones() as usize).sum::<usize>() == self.heads
    }
}
