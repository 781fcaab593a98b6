//! What an overlay does with upstream's work on a path: which commits it undoes and has, which lines it brings back,
//! and how much of its own change upstream has.

use std::collections::BTreeMap;

use crate::id::UpstreamPath;
use crate::tree::Content;
use crate::upstream::{Touch, Upstream, UpstreamError};

use super::history::{Elsewhere, PathHistory};
use super::ledger::{Judgement, Ledger, entry_of};
use super::note::OldLine;
use super::resurrect::{added, removed_before};
use super::{Note, PathReport, Resurrected, State, absorb};

/// Bytes of contents before the base that are searched for lines.
const MOST_BYTES_BEFORE: usize = 32 << 20;

/// An overlay on a path, with all that is known of upstream there.
pub(super) struct Work<'a> {
    pub(super) path: &'a UpstreamPath,
    /// Upstream's content at the base.
    pub(super) base: Option<&'a Content>,
    /// Upstream's content at the pin.
    pub(super) pin: Option<&'a Content>,
    /// What the overlay makes of the base; `None` also if that cannot be told.
    pub(super) on_base: Option<&'a Content>,
    /// What it makes of the pin.
    pub(super) on_pin: Option<&'a Content>,
    pub(super) history: &'a PathHistory<'a>,
    /// The touch that brought the older content that the overlay takes upstream back to.
    pub(super) older: Option<&'a Touch>,
    pub(super) upstream: &'a dyn Upstream,
}

impl Work<'_> {
    /// Adds commits and notes to a report whose state is decided.
    ///
    /// # Errors
    /// If a content or a commit is not here.
    pub(super) fn add_to(&self, report: &mut PathReport, is_whole: bool) -> Result<(), UpstreamError> {
        if report.state == State::Redundant {
            return Ok(());
        }
        let touches = self.touches();
        let start = match self.older {
            Some(older) => older.after,
            None => entry_of(self.base),
        };
        let known: Vec<&Content> = self.base.into_iter().chain(self.pin).collect();
        let ledger = Ledger::follow(start, &touches, entry_of(self.pin), &known, self.upstream)?;
        if is_whole {
            self.add_commits(report, &ledger, &touches)?;
        }
        if self.base.is_some() && self.on_base.is_some() && self.older.is_none() {
            self.add_passage(report, &ledger, &touches)?;
        }
        if report.state != State::Unknown {
            self.add_resurrected(report, &ledger, &touches)?;
        }
        Ok(())
    }

    /// The touches from what the overlay is measured against up to the pin, oldest first. An overlay that takes
    /// upstream back behind its base undoes what came after that content, too.
    fn touches(&self) -> Vec<&Touch> {
        let mut touches = Vec::new();
        if let Some(older) = self.older {
            let since = self.history.before.iter().take_while(|touch| **touch != older);
            touches.extend(since.copied());
            touches.reverse();
        }
        touches.extend(self.history.between.iter().copied());
        touches
    }

    fn add_commits(
        &self,
        report: &mut PathReport,
        ledger: &Ledger,
        touches: &[&Touch],
    ) -> Result<(), UpstreamError> {
        for (touch, judgement) in touches.iter().zip(ledger.judge(self.on_pin)) {
            let list = match judgement {
                Judgement::Nothing => continue,
                Judgement::Undone => &mut report.undoes,
                Judgement::Included => &mut report.included,
            };
            list.push(self.upstream.commit(touch.commit)?);
        }
        Ok(())
    }

    /// When upstream took the overlay's change in and out again; which half of it upstream has.
    fn add_passage(
        &self,
        report: &mut PathReport,
        ledger: &Ledger,
        touches: &[&Touch],
    ) -> Result<(), UpstreamError> {
        if matches!(report.state, State::Rollback) || touches.is_empty() {
            return Ok(());
        }
        let (base, ours) = (self.base, self.on_base);
        let passage = absorb::passage(self.path, base, ours, ledger, touches, self.upstream)?;
        match (report.state, passage.taken_in, passage.taken_out) {
            (State::Absorbed, Some(taken_in), None) => {
                report.by = Some(self.upstream.commit(touches[taken_in].commit)?);
            }
            (State::Absorbed, ..) => {}
            (_, Some(taken_in), Some(taken_out)) => report.notes.push(Note::Reverted {
                taken_in: self.upstream.commit(touches[taken_in].commit)?,
                taken_out: self.upstream.commit(touches[taken_out].commit)?,
            }),
            _ => {}
        }
        if let (State::StaleClean | State::StaleConflict, Some(base), Some(ours), Some(pin)) =
            (report.state, self.base, self.on_base, self.pin)
        {
            let (has, lacks) = absorb::halves(self.path, base, ours, pin);
            if !has.is_empty() && !lacks.is_empty() {
                report.notes.push(Note::HalfAbsorbed { has, lacks });
            }
        }
        Ok(())
    }

    /// Lines that the overlay adds to the pin's content and that upstream removed.
    fn add_resurrected(
        &self,
        report: &mut PathReport,
        ledger: &Ledger,
        touches: &[&Touch],
    ) -> Result<(), UpstreamError> {
        if self.pin.is_none() {
            return Ok(());
        }
        let own = added(self.path, self.pin, self.on_pin);
        let lost = ledger.lost();
        let mut by: BTreeMap<(usize, usize), Vec<_>> = BTreeMap::new();
        let mut open = Vec::new();
        for line in own {
            match lost.get(line.text.as_slice()) {
                // The newest first; those before the base come after all of these.
                Some(index) => by.entry((0, touches.len() - index)).or_default().push(line),
                None => open.push(line),
            }
        }
        let before = &self.history.before;
        if self.history.elsewhere == Elsewhere::Tokens && !open.is_empty() {
            let removed = removed_before(&open, before, MOST_BYTES_BEFORE, self.upstream)?;
            for line in open {
                if let Some(index) = removed.get(&line.number) {
                    by.entry((1, *index)).or_default().push(line);
                }
            }
        }
        for ((age, index), lines) in by {
            let touch = if age == 0 { touches[touches.len() - index] } else { before[index] };
            report.notes.push(Note::Resurrects(Resurrected {
                removed_by: self.upstream.commit(touch.commit)?,
                lines: lines
                    .into_iter()
                    .map(|line| OldLine { number: line.number, text: line.text })
                    .collect(),
            }));
        }
        Ok(())
    }
}
