//! Counts of lines.

use super::Line;

/// Counts of lines, with room that is used again.
#[derive(Debug, Default)]
pub(super) struct Tally {
    round: u32,
    counts: Vec<(u32, u32)>,
}

impl Tally {
    pub(super) fn start(&mut self, lines: usize) {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.counts.clear();
            self.round = 1;
        }
        if self.counts.len() < lines {
            self.counts.resize(lines, (0, 0));
        }
    }

    pub(super) fn add(&mut self, line: Line) {
        let count = &mut self.counts[line as usize];
        *count = if count.0 == self.round { (self.round, count.1 + 1) } else { (self.round, 1) };
    }

    pub(super) fn count(&self, line: Line) -> u32 {
        self.counts.get(line as usize).filter(|count| count.0 == self.round).map_or(0, |count| count.1)
    }
}
