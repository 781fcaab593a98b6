//! Lines that upstream took out, brought back, and took out again (or has at the pin).
//!
//! A line that comes back is not always the same content's line: a revert may change more than what it reverts. So it is
//! known by its text and its place: the lines that bring it stand where those stood that took it out. They take out lines
//! that those brought, or stand beside a line that those stood beside or brought.

use std::collections::{HashMap, HashSet};

use super::{Ledger, Line};

/// Losses of one text that are looked at for a line that comes back, the newest first.
const MOST_LOSSES: usize = 16;

/// A hunk by its step and its place there.
type Place = (usize, usize);

/// A line that was taken out, and where.
#[derive(Debug, Clone, Copy)]
struct Loss {
    line: Line,
    at: Place,
}

impl Ledger {
    /// The losses, by step and line, that upstream itself took back later. Whether a content takes that line out is a
    /// question for the step that took it out again.
    pub(super) fn taken_back(&self) -> HashSet<(usize, Line)> {
        let mut back = HashSet::new();
        // By text and by line, as both are numbers that start at nothing.
        let mut lost: Vec<Vec<Loss>> = vec![Vec::new(); self.texts.len()];
        let mut brought_by: Vec<Option<Place>> = vec![None; self.text_of.len()];
        // Lines that came back, with the losses that this took back if it was not for a branch that went nowhere.
        let mut again: HashMap<Line, Vec<(usize, Line)>> = HashMap::new();
        for (step, hunks) in self.steps.iter().map(|step| &step.hunks).enumerate() {
            for hunk in hunks {
                let mut replaces: Vec<Place> =
                    hunk.lost.iter().filter_map(|line| brought_by[*line as usize]).collect();
                replaces.dedup();
                for line in &hunk.gained {
                    let losses = &mut lost[self.text_of[*line as usize] as usize];
                    if losses.is_empty() {
                        continue;
                    }
                    let is_there = |loss: &Loss| {
                        let by = |line: Option<Line>| line.and_then(|line| brought_by[line as usize]);
                        let is_beside = || {
                            let (Some(here), Some(there)) =
                                (hunk.beside, self.steps[loss.at.0].hunks[loss.at.1].beside)
                            else {
                                return false;
                            };
                            here.iter().zip(there).any(|(here, there)| *here == there)
                                || here.iter().any(|here| by(*here) == Some(loss.at))
                        };
                        loss.line == *line || replaces.contains(&loss.at) || is_beside()
                    };
                    let newest = losses.iter().rev().take(MOST_LOSSES).position(is_there);
                    if let Some(newest) = newest {
                        let loss = losses.remove(losses.len() - 1 - newest);
                        again.entry(*line).or_default().push((loss.at.0, loss.line));
                    }
                }
            }
            for (place, hunk) in hunks.iter().enumerate() {
                hunk.gained.iter().for_each(|line| brought_by[*line as usize] = Some((step, place)));
                for line in &hunk.lost {
                    back.extend(again.remove(line).into_iter().flatten());
                    lost[self.text_of[*line as usize] as usize].push(Loss { line: *line, at: (step, place) });
                }
            }
        }
        let at_pin = self.lines_at(self.pin).iter();
        back.extend(at_pin.filter_map(|line| again.remove(line)).flatten());
        back
    }
}
