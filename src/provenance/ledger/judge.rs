//! What a content does with each commit's change.

use std::collections::{HashMap, HashSet};

use crate::tree::Content;

use super::texts::split;
use super::{Hunk, Judgement, Ledger, Line, Step, Text};
use crate::provenance::align::{Aligner, Run};
use crate::provenance::layout::SameTokens;

impl Ledger {
    /// For each step, oldest first, what this content does with it. `same` are the lines of the pin's content and of this
    /// one that are the same but for white space.
    pub(in crate::provenance) fn judge(
        &self,
        ours: Option<&Content>,
        same: Option<&SameTokens>,
    ) -> Vec<Judgement> {
        let ours_lines = ours.map_or_else(Vec::new, |ours| split(&ours.bytes, ours.mode).collect());
        let ours_texts: Vec<Option<Text>> =
            ours_lines.iter().map(|line| self.known_texts.get(*line).copied()).collect();
        let at_pin = self.lines_at(self.pin);
        let at_base = self.lines_at(self.base);
        let (pin_kept, mut ours_explained) = self.matched(at_pin, &ours_texts);
        let mut kept: HashSet<Line> = HashSet::new();
        kept.extend(at_pin.iter().zip(&pin_kept).filter(|(_, place)| place.is_some()).map(|(line, _)| *line));
        if let Some(same) = same {
            kept.extend(at_pin.iter().zip(&same.old).filter(|(_, same)| **same).map(|(line, _)| *line));
            ours_explained.iter_mut().zip(&same.new).for_each(|(explained, same)| *explained |= *same);
        }
        let in_pin: HashSet<Line> = at_pin.iter().copied().collect();
        let of_base: HashSet<Line> = at_base.iter().copied().collect();
        let (base_kept, _) = self.matched(at_base, &ours_texts);
        for (line, place) in at_base.iter().zip(&base_kept) {
            if place.is_some_and(|place| !ours_explained[place]) {
                kept.insert(*line);
            }
        }
        let free: HashSet<Text> = ours_texts
            .iter()
            .zip(&ours_explained)
            .filter(|(_, explained)| !**explained)
            .filter_map(|(text, _)| *text)
            .collect();
        let is_free = |line: Line| free.contains(&self.text_of[line as usize]);

        let mut lost_at: HashMap<Line, Vec<(usize, usize)>> = HashMap::new();
        for (index, step) in self.steps.iter().enumerate() {
            for (place, hunk) in step.hunks.iter().enumerate() {
                hunk.lost.iter().for_each(|line| lost_at.entry(*line).or_default().push((index, place)));
            }
        }
        let taken_back = self.taken_back();
        let respelled = self.respelled();
        let mut undone = vec![false; self.steps.len()];
        let mut undone_hunks: Vec<Vec<bool>> =
            self.steps.iter().map(|step| vec![false; step.hunks.len()]).collect();
        for index in (0..self.steps.len()).rev() {
            let step = &self.steps[index];
            let is_missing = |line: &Line| {
                let later = lost_at.get(line).into_iter().flatten().filter(|(later, _)| *later > index);
                let mut later = later.peekable();
                if later.peek().is_none() {
                    return in_pin.contains(line) && !kept.contains(line);
                }
                !is_free(*line) && later.any(|(later, place)| undone_hunks[*later][*place])
            };
            let is_back = |line: &Line| {
                !in_pin.contains(line)
                    && !taken_back.contains(&(index, *line))
                    && self.stands(*line, &respelled, &|line| {
                        if of_base.contains(&line) { kept.contains(&line) } else { is_free(line) }
                    })
            };
            let mode_undone = step.mode.is_some_and(|mode| {
                self.pin.is_some_and(|pin| pin.mode == mode) && ours.is_none_or(|ours| ours.mode != mode)
            });
            let is_undone = |hunk: &Hunk| {
                let (gained, lost) = (self.counted(hunk, &hunk.gained), self.counted(hunk, &hunk.lost));
                gained.into_iter().any(|line| is_missing(&line))
                    || lost.into_iter().any(|line| is_back(&line))
            };
            undone_hunks[index] = step.hunks.iter().map(is_undone).collect();
            undone[index] = mode_undone || undone_hunks[index].contains(&true);
        }
        let judge = |(step, undone): (&Step, bool)| match undone {
            true => Judgement::Undone,
            false if step.hunks.is_empty() && step.mode.is_none() => Judgement::Nothing,
            false => Judgement::Included,
        };
        self.steps.iter().zip(undone).map(judge).collect()
    }

    /// The lines that count: all with a letter or a digit, or all of a hunk that has no such line.
    fn counted(&self, hunk: &Hunk, lines: &[Line]) -> Vec<Line> {
        let says = |line: &&Line| self.bytes_of(**line).iter().any(u8::is_ascii_alphanumeric);
        let says_something = hunk.gained.iter().chain(&hunk.lost).any(|line| says(&line));
        lines.iter().filter(|line| !says_something || says(line)).copied().collect()
    }

    /// Where in a text each of these lines is, and which of the text's lines are one of them.
    fn matched(&self, old: &[Line], new: &[Option<Text>]) -> (Vec<Option<usize>>, Vec<bool>) {
        let (mut places, mut explained) = (vec![None; old.len()], vec![false; new.len()]);
        let old: Vec<Text> = old.iter().map(|line| self.text_of[*line as usize]).collect();
        // A text that upstream never had is equal to nothing.
        let mut next = u32::try_from(self.texts.len()).unwrap_or(Text::MAX);
        let mut number = |text: &Option<Text>| {
            text.unwrap_or_else(|| {
                next = next.saturating_add(1);
                next
            })
        };
        let new: Vec<Text> = new.iter().map(&mut number).collect();
        for Run { old, new, len } in Aligner::default().align(&old, &new) {
            for offset in 0..len {
                places[old + offset] = Some(new + offset);
                explained[new + offset] = true;
            }
        }
        (places, explained)
    }
}
