//! What an overlay does with upstream's work on a path: which commits it undoes and has, which lines it brings back,
//! and how much of its own change upstream has.

use std::collections::HashSet;

use crate::id::{CommitId, UpstreamPath};
use crate::tree::{Content, Entry};
use crate::upstream::{Touch, Upstream, UpstreamError};

use super::earlier::add_notes;
use super::history::PathHistory;
use super::layout::{is_layout_only, same_tokens};
use super::ledger::{Judgement, Ledger, Line, entry_of};
use super::resurrect::{Added, Past, added, by_commit, left_out, removals};
use super::{Note, PathReport, State, absorb};

/// Bytes of contents before the base that are searched for lines.
pub(super) const MOST_BYTES_BEFORE: usize = 32 << 20;

/// An overlay on a path, with all that is known of upstream there.
pub(super) struct Work<'a> {
    pub(super) path: &'a UpstreamPath,
    /// The commits that it is measured against.
    pub(super) at_base: Option<CommitId>,
    pub(super) at_pin: CommitId,
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
    /// Adds commits and notes to a report whose state is decided. Gives the lines that the overlay adds and that upstream
    /// never had under this name.
    ///
    /// # Errors
    /// If a content or a commit is not here.
    pub(super) fn add_to(
        &self,
        report: &mut PathReport,
        is_whole: bool,
    ) -> Result<Vec<Added>, UpstreamError> {
        if report.state == State::Redundant {
            return Ok(Vec::new());
        }
        let touches = self.touches();
        let start = match self.older {
            Some(older) => older.after,
            None => entry_of(self.base),
        };
        let known: Vec<&Content> = self.base.into_iter().chain(self.pin).collect();
        let mut ledger = Ledger::follow(start, &touches, entry_of(self.pin), &known, self.upstream)?;
        if is_whole {
            ledger.join_with_pin(&ledger.with_twins(&touches));
            self.add_commits(report, &ledger, &touches)?;
        }
        if self.base.is_some() && self.on_base.is_some() && self.older.is_none() {
            self.add_passage(report, &ledger, &touches)?;
        }
        match report.state {
            State::Unknown => Ok(Vec::new()),
            _ => self.add_resurrected(report, &ledger, &touches),
        }
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

    /// The commit from which on upstream's work counts.
    fn exclude(&self) -> Option<CommitId> {
        self.older.map(|older| older.commit).or(self.at_base)
    }

    fn add_commits(
        &self,
        report: &mut PathReport,
        ledger: &Ledger,
        touches: &[&Touch],
    ) -> Result<(), UpstreamError> {
        let mut judged = ledger.judge(self.on_pin, None);
        if judged.contains(&Judgement::Undone)
            && let Some(same) = same_tokens(self.path, self.pin, self.on_pin)
        {
            judged = ledger.judge(self.on_pin, Some(&same));
        }
        for (step, (touch, judgement)) in touches.iter().zip(judged).enumerate() {
            let list = match judgement {
                Judgement::Nothing => continue,
                Judgement::Undone if self.changes_layout_only(ledger, step, touch)? => &mut report.included,
                Judgement::Undone => &mut report.undoes,
                Judgement::Included => &mut report.included,
            };
            list.push(self.upstream.commit(touch.commit)?);
        }
        Ok(())
    }

    /// Whether a commit changes white space only that means nothing.
    fn changes_layout_only(
        &self,
        ledger: &Ledger,
        step: usize,
        touch: &Touch,
    ) -> Result<bool, UpstreamError> {
        if !ledger.is_respelling(step) {
            return Ok(false);
        }
        let ([Some(before)], Some(after)) = (touch.before.as_slice(), touch.after) else { return Ok(false) };
        let read = |entry: Entry| {
            Ok::<_, UpstreamError>(Content { mode: entry.mode, bytes: self.upstream.blob(entry.id)? })
        };
        Ok(is_layout_only(self.path, &read(*before)?, &read(after)?))
    }

    /// The step that removed a line, which is not one that changed its white space only; `None` if it is at the pin after all.
    fn remover(
        &self,
        ledger: &Ledger,
        touches: &[&Touch],
        mut loss: (usize, Line),
    ) -> Result<Option<usize>, UpstreamError> {
        while self.changes_layout_only(ledger, loss.0, touches[loss.0])? {
            match ledger.next_loss(loss) {
                Some(next) => loss = next,
                None => return Ok(None),
            }
        }
        Ok(Some(loss.0))
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

    /// Lines that the overlay adds to the pin's content and that upstream removed. Those of which that is not known are
    /// given back.
    fn add_resurrected(
        &self,
        report: &mut PathReport,
        ledger: &Ledger,
        touches: &[&Touch],
    ) -> Result<Vec<Added>, UpstreamError> {
        // Of a path that is gone the state says all.
        if self.pin.is_none() && self.base.is_some() {
            return Ok(Vec::new());
        }
        let lost = ledger.lost();
        // The newest first; those before the base come after all of these.
        let mut own = Vec::new();
        for line in added(self.path, self.pin, self.on_pin) {
            let step = match lost.get(line.text.as_slice()) {
                Some(loss) => self.remover(ledger, touches, *loss)?,
                None => None,
            };
            own.push((line, step.map(|step| (touches.len() - step, touches[step].commit))));
        }
        let (mut found, open) = by_commit(own.into_iter());
        let merges = self.merged_away(&open, ledger, touches)?;
        let (by_merges, mut open) = by_commit(open.into_iter().zip(merges));
        found.extend(by_merges);
        if self.history.before_is_whole && !open.is_empty() {
            let past =
                Past { path: self.path, touches: &self.history.before, tip: self.at_pin, exclude: None };
            let (before, left) = removals(open, past, MOST_BYTES_BEFORE, self.upstream)?;
            found.extend(before);
            open = left;
        }
        // What stands at the pin but for white space is not brought back.
        if !found.is_empty()
            && let Some(same) = same_tokens(self.path, self.pin, self.on_pin)
        {
            let is_same = |line: &Added| same.new.get(line.number - 1).copied().unwrap_or(false);
            found.iter_mut().for_each(|(_, lines)| lines.retain(|line| !is_same(line)));
            found.retain(|(_, lines)| !lines.is_empty());
        }
        add_notes(&mut report.notes, found, self.upstream)?;
        Ok(open)
    }

    /// For each line the merge that left it out: lines that stood between base and pin and that no commit took out.
    fn merged_away(
        &self,
        lines: &[Added],
        ledger: &Ledger,
        touches: &[&Touch],
    ) -> Result<Vec<Option<(usize, CommitId)>>, UpstreamError> {
        let texts: HashSet<&[u8]> = lines.iter().map(|line| line.text.as_slice()).collect();
        let stood: HashSet<&[u8]> = ledger.stood(&texts);
        let wanted = ledger.wanted(&stood);
        let merges = touches.iter().rev().filter(|touch| ledger.leaves_out(touch, &wanted));
        let newest_first: Vec<&Touch> = merges.copied().collect();
        let past =
            Past { path: self.path, touches: &newest_first, tip: self.at_pin, exclude: self.exclude() };
        let has_choices = ledger.is_dropped(touches, &wanted);
        let merges = left_out(&stood, past, has_choices, MOST_BYTES_BEFORE, self.upstream)?;
        Ok(lines.iter().map(|line| merges.get(line.text.as_slice()).copied()).collect())
    }
}
