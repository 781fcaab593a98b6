//! Lines that merges left out: those of versions that were dropped as a whole, and those of one side of a merge.

use std::collections::HashSet;

use super::{Entry, Ledger, Text, Touch};

/// Lines that are looked for, as texts.
pub(in crate::provenance) struct Wanted(Vec<bool>);

impl Ledger {
    /// Lines to look for, given without white space around them.
    pub(in crate::provenance) fn wanted(&self, lines: &HashSet<&[u8]>) -> Wanted {
        Wanted(self.texts.iter().map(|text| lines.contains(text.trim_ascii())).collect())
    }

    /// Versions that no touch goes on from, but for the pin's: merges that took another side as it is dropped them.
    pub(super) fn dropped(&self, touches: &[&Touch]) -> HashSet<Entry> {
        let before: HashSet<Entry> =
            touches.iter().flat_map(|touch| &touch.before).copied().flatten().collect();
        let all = touches.iter().filter_map(|touch| touch.after).chain(self.base);
        all.filter(|version| !before.contains(version) && Some(*version) != self.pin).collect()
    }

    /// Whether a version that merges dropped has one of these lines.
    pub(in crate::provenance) fn is_dropped(&self, touches: &[&Touch], wanted: &Wanted) -> bool {
        self.dropped(touches).into_iter().any(|version| !self.of(wanted, Some(version)).is_empty())
    }

    /// Whether a merge has one of these lines on one side and not in what came out.
    pub(in crate::provenance) fn leaves_out(&self, merge: &Touch, wanted: &Wanted) -> bool {
        if merge.before.len() < 2 {
            return false;
        }
        let after = self.of(wanted, merge.after);
        merge.before.iter().any(|parent| !self.of(wanted, *parent).is_subset(&after))
    }

    fn of(&self, wanted: &Wanted, version: Option<Entry>) -> HashSet<&[u8]> {
        let texts = self.lines_at(version).iter().map(|line| self.text_of[*line as usize]);
        let is_wanted = |text: &Text| wanted.0.get(*text as usize).copied().unwrap_or(false);
        texts.filter(is_wanted).map(|text| self.texts[text as usize].trim_ascii()).collect()
    }
}
