//! One run on a tree that is there: look, plan, do, remember.

use std::sync::Arc;

use rustix::io::Errno;

use super::error::TreeError;
use super::folder::Root;
use super::journal::Journal;
use super::recovery::record_after;
use super::state::{Header, Origin, Record, Stamp, State, Writer};
use super::survey::{Planned, Survey};
use super::transaction::{self, Transaction};
use super::{Event, Options, Outcome, attestation, letter_case, prepare_home};
use crate::id::{BlobId, UpstreamPath};
use crate::plan::{self, Plan, Refusal, Wanted};
use crate::tree::{Entry, Mode};
use crate::upstream::Upstream;

/// One run on a tree that is there and locked.
pub(super) struct Run<'r> {
    pub(super) root: &'r Root,
    pub(super) home: &'r Root,
    pub(super) wanted: &'r Wanted,
    pub(super) state: Option<&'r State>,
    pub(super) origin: Origin,
}

impl Run<'_> {
    /// Makes the tree what is wanted.
    pub(super) fn go(
        &self,
        upstream: &dyn Upstream,
        options: &Options,
        events: &mut dyn FnMut(Event),
    ) -> Result<Outcome, TreeError> {
        let survey = match Survey::take(self.root, self.wanted, self.state, self.origin) {
            Err(TreeError::Raced { path }) => return Ok(Outcome::Refused(vec![raced(path)])),
            survey => survey?,
        };
        let planned = match survey.plan(self.root, self.wanted, options.force)? {
            Ok(planned) => planned,
            Err(refusals) => return Ok(Outcome::Refused(refusals)),
        };
        if planned.plan.steps.is_empty() {
            self.note_what_was_seen(&survey)?;
            return Ok(Outcome::Unchanged(planned.plan));
        }
        match self.execute(&survey, planned, upstream, events) {
            Ok(plan) => Ok(Outcome::Changed(plan)),
            Err(TreeError::Raced { path }) => Ok(Outcome::Refused(vec![raced(path)])),
            Err(error) => Err(error),
        }
    }

    /// No step was needed. The state is written only if it would spare the next run some reading.
    fn note_what_was_seen(&self, survey: &Survey<'_>) -> Result<(), TreeError> {
        let header = Header::of(self.wanted, self.origin);
        let is_other_header = self.state.is_none_or(|state| state.header != header);
        let attestation = attestation::render(self.wanted, self.origin);
        let is_attested = attestation::load(self.home)?.is_some_and(|there| there == attestation.as_bytes());
        if !is_other_header && is_attested && !survey.is_news() {
            return Ok(());
        }
        let write = || {
            prepare_home(self.home)?;
            if !is_attested {
                attestation::write(self.home, &attestation)?;
            }
            self.records(survey, &header, None)?.write(self.home, false)
        };
        match write() {
            // The tree is right; that it cannot be noted on a read-only file system costs only time.
            Err(TreeError::Io { error, .. })
                if matches!(
                    Errno::from_io_error(&error),
                    Some(Errno::ROFS | Errno::ACCESS | Errno::PERM)
                ) =>
            {
                Ok(())
            }
            written => written,
        }
    }

    fn execute(
        &self,
        survey: &Survey<'_>,
        planned: Planned,
        upstream: &dyn Upstream,
        events: &mut dyn FnMut(Event),
    ) -> Result<Plan, TreeError> {
        prepare_home(self.home)?;
        if planned.plan.steps.iter().any(|step| step.action() == plan::Action::Create) {
            letter_case::check(self.home, self.wanted)?;
        }
        let Planned { plan, stamps } = planned;
        let header = Header::of(self.wanted, self.origin);
        let journal = Journal {
            header: header.clone(),
            steps: plan.steps.clone(),
            emptied: plan.emptied.clone(),
            kept: transaction::next_kept(self.home)?,
        };
        let total = plan.steps.len();
        let mut content = |path: &UpstreamPath, entry: Entry| content_of(self.wanted, upstream, path, entry);
        let mut progress = |done| events(Event::Writing { done, total });
        let staged = Transaction::stage(self.root, self.home, journal, stamps, &mut content, &mut progress)
            .and_then(|transaction| transaction.journal.begin(self.home).map(|()| transaction));
        let mut transaction = match staged {
            Ok(transaction) => transaction,
            Err(error) => {
                // Nothing has begun, unless the journal is there and cannot be removed: then the next run
                // needs what is staged. What is left over otherwise is removed by it, if not by this one.
                if Journal::end(self.home).is_ok() {
                    let _ = transaction::discard(self.home);
                }
                return Err(error);
            }
        };
        let done = transaction.forward().and_then(|()| transaction.check_originals()).and_then(|()| {
            attestation::write(self.home, &attestation::render(self.wanted, self.origin))?;
            self.records(survey, &header, Some(&transaction))?.write(self.home, true)
        });
        if let Err(first) = done {
            return Err(self.take_back(&mut transaction, first));
        }
        let not_ended = |error| TreeError::NotEnded(Box::new(error));
        Journal::end(self.home).map_err(not_ended)?;
        for (index, step) in plan.steps.iter().enumerate().filter(|(_, step)| step.keep) {
            let copy = self.home.at(transaction.journal.kept_path(index));
            events(Event::Kept { path: step.path.clone(), copy });
        }
        transaction::discard(self.home).map_err(not_ended)?;
        Ok(plan)
    }

    fn take_back(&self, transaction: &mut Transaction<'_>, first: TreeError) -> TreeError {
        let mut back = || {
            Journal::turn_round(self.home)?;
            transaction.backward()?;
            attestation::withdraw(self.home)?;
            Journal::end(self.home)?;
            transaction::discard_kept(self.home, &transaction.journal)?;
            transaction::discard(self.home)
        };
        match back() {
            Ok(()) => first,
            Err(then) => TreeError::NotUndone { first: Box::new(first), then: Box::new(then) },
        }
    }

    /// The state after this run.
    fn records(
        &self,
        survey: &Survey<'_>,
        header: &Header,
        transaction: Option<&Transaction<'_>>,
    ) -> Result<Writer, TreeError> {
        let mut writer = Writer::new(header);
        let mut steps = transaction.map_or(&[][..], |t| &t.journal.steps).iter().enumerate().peekable();
        for (index, job) in survey.jobs.iter().enumerate() {
            while steps.next_if(|(_, step)| step.path < *job.path).is_some() {}
            let step = steps.next_if(|(_, step)| step.path == *job.path);
            if self.origin == Origin::Adopted && !job.claims.overlaid {
                continue;
            }
            let record = match (step, transaction, survey.seen.get(&index)) {
                (Some((step, _)), Some(transaction), _) => record_after(transaction, step, self.origin)?,
                (_, _, Some(seen)) if seen.settled == plan::Settled::Right => match job.claims.target {
                    Some(entry) => {
                        Some(Record { entry: Some(entry), stamp: seen.stamp.unwrap_or(Stamp::NONE) })
                    }
                    None => job.record.filter(|_| self.origin == Origin::Adopted),
                },
                _ => job.record,
            };
            if let Some(record) = record {
                writer.push(&job.path, &record);
            }
        }
        Ok(writer)
    }
}

fn raced(path: UpstreamPath) -> Refusal {
    Refusal { path, difference: plan::Difference::Raced }
}

/// The bytes of an entry, as an overlay or the upstream has them, if they are what they should be and can be
/// written.
pub(super) fn content_of(
    wanted: &Wanted,
    upstream: &dyn Upstream,
    path: &UpstreamPath,
    entry: Entry,
) -> Result<Arc<[u8]>, TreeError> {
    let bytes = match wanted.changes.get(path) {
        Some(Some(content)) => Arc::clone(&content.bytes),
        _ => upstream
            .blob(entry.id)
            .map_err(|error| TreeError::Upstream { path: Some(path.clone()), error })?,
    };
    let got = BlobId::of(&bytes);
    if got != entry.id {
        return Err(TreeError::WrongContent { path: path.clone(), wanted: entry.id, got });
    }
    if entry.mode == Mode::Symlink && (bytes.is_empty() || bytes.contains(&0)) {
        return Err(TreeError::BadLink { path: path.clone() });
    }
    Ok(bytes)
}
