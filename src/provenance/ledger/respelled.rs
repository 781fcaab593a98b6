//! Lines of which a commit changed the white space only: the same text but for that, by other lines.
//!
//! Cheap, and told without a lexer: whether the white space means something, the caller finds out.

use std::collections::HashMap;

use super::{Hunk, Ledger, Line};

/// Commits after each other that change the white space of one line.
const MOST: usize = 8;

/// Lines that stand for others, with the hunk that put them there: its step and its place.
pub(super) type Respelled = HashMap<Line, (usize, usize)>;

impl Ledger {
    /// Whether a hunk puts the same text there, white space aside.
    fn respells(&self, hunk: &Hunk) -> bool {
        let said = |lines: &[Line]| -> Vec<u8> {
            let bytes = lines.iter().flat_map(|line| self.bytes_of(*line));
            bytes.copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
        };
        let first = |lines: &[Line]| {
            let mut bytes = lines.iter().flat_map(|line| self.bytes_of(*line));
            bytes.find(|byte| !byte.is_ascii_whitespace())
        };
        !hunk.gained.is_empty()
            && !hunk.lost.is_empty()
            && first(&hunk.gained) == first(&hunk.lost)
            && said(&hunk.gained) == said(&hunk.lost)
    }

    /// The lines that a commit put in the place of others with the same text but for white space.
    pub(super) fn respelled(&self) -> Respelled {
        let mut respelled = Respelled::new();
        for (step, hunks) in self.steps.iter().map(|step| &step.hunks).enumerate() {
            for (place, hunk) in hunks.iter().enumerate().filter(|(_, hunk)| self.respells(hunk)) {
                respelled.extend(hunk.gained.iter().map(|line| (*line, (step, place))));
            }
        }
        respelled
    }

    /// Whether a line is there, or one that it stands for.
    pub(super) fn stands(&self, line: Line, respelled: &Respelled, is_there: &dyn Fn(Line) -> bool) -> bool {
        if is_there(line) || respelled.is_empty() {
            return is_there(line);
        }
        let mut lines = vec![line];
        for _ in 0..MOST {
            if lines.iter().any(|line| is_there(*line)) {
                return true;
            }
            let before = lines.iter().filter_map(|line| respelled.get(line));
            lines = before.flat_map(|(step, place)| &self.steps[*step].hunks[*place].lost).copied().collect();
            lines.retain(|line| self.bytes_of(*line).iter().any(u8::is_ascii_alphanumeric));
            lines.sort_unstable();
            lines.dedup();
            if lines.is_empty() {
                break;
            }
        }
        false
    }

    /// Whether a step changes white space only, as far as that can be told without a lexer.
    pub(in crate::provenance) fn is_respelling(&self, step: usize) -> bool {
        let step = &self.steps[step];
        step.mode.is_none() && !step.hunks.is_empty() && step.hunks.iter().all(|hunk| self.respells(hunk))
    }

    /// Where the lines went that a step put in the place of this one: the last step that took one of them out, and which.
    /// `None` if one of them is at the pin, or none was taken out.
    pub(in crate::provenance) fn next_loss(&self, (step, line): (usize, Line)) -> Option<(usize, Line)> {
        let hunk = self.steps[step].hunks.iter().find(|hunk| hunk.lost.contains(&line))?;
        let at_pin = self.lines_at(self.pin);
        if hunk.gained.iter().any(|line| at_pin.contains(line)) {
            return None;
        }
        let later = self.steps.iter().enumerate().skip(step + 1).rev();
        later
            .flat_map(|(step, changes)| {
                let lost = changes.hunks.iter().flat_map(|hunk| &hunk.lost);
                lost.filter(|line| hunk.gained.contains(line)).map(move |line| (step, *line))
            })
            .next()
    }
}
