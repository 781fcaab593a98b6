//! Which items of two sequences of numbers belong together.
//!
//! Items that stand once in each sequence are anchors; the longest chain of them that is in order in both holds, and
//! so do equal items next to it. Between anchors a shortest edit decides, where there is not too much between them.
//! So the time is nearly linear, and how far the sequences are apart does not matter.

use similar::DiffOp;
use similar::algorithms::{Capture, Compact, Replace, myers};

/// Items between two anchors beyond which they are taken for different.
const MOST_BETWEEN: usize = 600;

/// Equal items: where in the first sequence, where in the second, how many. In order in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) old: usize,
    pub(super) new: usize,
    pub(super) len: usize,
}

/// Where an item stands, and how often, in both sequences.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    round: u32,
    olds: u32,
    news: u32,
    new: u32,
}

/// Room for aligning that is used again.
#[derive(Debug, Default)]
pub(super) struct Aligner {
    seen: Vec<Seen>,
    round: u32,
}

impl Aligner {
    /// The runs of equal items. Items are small numbers.
    pub(super) fn align(&mut self, old: &[u32], new: &[u32]) -> Vec<Run> {
        let mut runs = Vec::new();
        let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        push(&mut runs, Run { old: 0, new: 0, len: head });
        let (old_rest, new_rest) = (&old[head..], &new[head..]);
        let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
        let (old_end, new_end) = (old.len() - tail, new.len() - tail);
        self.align_middle(old, new, (head, old_end), (head, new_end), &mut runs);
        push(&mut runs, Run { old: old_end, new: new_end, len: tail });
        runs
    }

    fn align_middle(
        &mut self,
        old: &[u32],
        new: &[u32],
        (old_start, old_end): (usize, usize),
        (new_start, new_end): (usize, usize),
        runs: &mut Vec<Run>,
    ) {
        if old_start == old_end || new_start == new_end {
            return;
        }
        let (mut from_old, mut from_new) = (old_start, new_start);
        for (at_old, at_new) in self.anchors(&old[old_start..old_end], &new[new_start..new_end]) {
            let (at_old, at_new) = (at_old + old_start, at_new + new_start);
            if at_old < from_old || at_new < from_new {
                continue;
            }
            between(old, new, (from_old, at_old), (from_new, at_new), runs);
            push(runs, Run { old: at_old, new: at_new, len: 1 });
            (from_old, from_new) = (at_old + 1, at_new + 1);
        }
        between(old, new, (from_old, old_end), (from_new, new_end), runs);
    }

    fn look(&mut self, item: u32) -> &mut Seen {
        let seen = &mut self.seen[item as usize];
        if seen.round != self.round {
            *seen = Seen { round: self.round, ..Seen::default() };
        }
        seen
    }

    /// The longest chain of items that stand once in each.
    fn anchors(&mut self, old: &[u32], new: &[u32]) -> Vec<(usize, usize)> {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.seen.clear();
            self.round = 1;
        }
        let most = old.iter().chain(new).copied().max().unwrap_or(0) as usize;
        if self.seen.len() <= most {
            self.seen.resize(most + 1, Seen::default());
        }
        for item in old {
            self.look(*item).olds += 1;
        }
        for (place, item) in new.iter().enumerate() {
            let seen = self.look(*item);
            seen.news += 1;
            seen.new = u32::try_from(place).unwrap_or(u32::MAX);
        }
        let unique = old.iter().enumerate().filter_map(|(place, item)| {
            let seen = &self.seen[*item as usize];
            (seen.olds == 1 && seen.news == 1).then_some((place, seen.new as usize))
        });
        longest_chain(&unique.collect::<Vec<_>>())
    }
}

/// The longest part of these pairs, whose first numbers rise, in which the second ones rise, too.
fn longest_chain(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    if pairs.is_sorted_by_key(|(_, new)| *new) {
        return pairs.to_vec();
    }
    // For each length the pair with the least end, and for each pair the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (place, (_, new)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *new);
        before.push(length.checked_sub(1).map(|last| ends[last]));
        match ends.get_mut(length) {
            Some(end) => *end = place,
            None => ends.push(place),
        }
    }
    let mut chain = Vec::new();
    let mut at = ends.last().copied();
    while let Some(place) = at {
        chain.push(pairs[place]);
        at = before[place];
    }
    chain.reverse();
    chain
}

/// Aligns what is between two anchors.
fn between(
    old: &[u32],
    new: &[u32],
    (mut old_start, mut old_end): (usize, usize),
    (mut new_start, mut new_end): (usize, usize),
    runs: &mut Vec<Run>,
) {
    while old_start < old_end && new_start < new_end && old[old_start] == new[new_start] {
        push(runs, Run { old: old_start, new: new_start, len: 1 });
        (old_start, new_start) = (old_start + 1, new_start + 1);
    }
    let mut tail = 0;
    while old_start < old_end && new_start < new_end && old[old_end - 1] == new[new_end - 1] {
        (old_end, new_end, tail) = (old_end - 1, new_end - 1, tail + 1);
    }
    let (olds, news) = (&old[old_start..old_end], &new[new_start..new_end]);
    if !olds.is_empty() && !news.is_empty() && olds.len() + news.len() <= MOST_BETWEEN {
        let mut ops = Compact::new(Replace::new(Capture::new()), olds, news);
        let Ok(()) = myers::diff_deadline_raw(&mut ops, olds, 0..olds.len(), news, 0..news.len(), None);
        for op in ops.into_inner().into_inner().into_ops() {
            if let DiffOp::Equal { old_index, new_index, len } = op {
                push(runs, Run { old: old_start + old_index, new: new_start + new_index, len });
            }
        }
    }
    push(runs, Run { old: old_end, new: new_end, len: tail });
}

fn push(runs: &mut Vec<Run>, run: Run) {
    match runs.last_mut() {
        Some(last) if last.old + last.len == run.old && last.new + last.len == run.new => last.len += run.len,
        _ if run.len > 0 => runs.push(run),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_equal_and_in_order_and_what_is_equal_at_both_ends_is_in_them() {
        let mut dice = 11_u32;
        let mut roll = |sides: u32| {
            dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (dice >> 16) % sides
        };
        let mut aligner = Aligner::default();
        for _ in 0..2000 {
            let old: Vec<u32> = (0..roll(40)).map(|_| roll(30)).collect();
            let mut new = old.clone();
            for _ in 0..roll(6) {
                let at = roll(u32::try_from(new.len()).unwrap() + 1) as usize;
                if roll(2) == 0 || new.is_empty() {
                    new.insert(at, roll(35));
                } else {
                    new.remove(at.min(new.len() - 1));
                }
            }
            let runs = aligner.align(&old, &new);
            let (mut at_old, mut at_new) = (0, 0);
            for run in &runs {
                assert!(run.old >= at_old && run.new >= at_new && run.len > 0, "{runs:?}");
                assert_eq!(old[run.old..run.old + run.len], new[run.new..run.new + run.len]);
                (at_old, at_new) = (run.old + run.len, run.new + run.len);
            }
            let kept: usize = runs.iter().map(|run| run.len).sum();
            let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
            assert!(kept >= head, "{old:?} {new:?} {runs:?}");
            if old == new {
                assert_eq!(kept, old.len());
            }
        }
    }

    #[test]
    fn a_block_that_moved_stays_where_more_of_it_is() {
        let runs = Aligner::default().align(&[1, 2, 3, 4, 5], &[3, 4, 5, 1, 2]);
        assert_eq!(runs, [Run { old: 2, new: 0, len: 3 }]);
    }
}
