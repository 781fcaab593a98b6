//! What an interrupted run left: finished, or taken back.
//!
//! Content that somebody put in the way since then is moved aside and kept.

use super::error::TreeError;
use super::folder::Root;
use super::journal::{Journal, Pending};
use super::state::{self, Origin, Record, Stamp, State, Writer};
use super::transaction::{self, Transaction};
use super::{Event, attestation};
use crate::id::UpstreamPath;
use crate::plan::Step;

/// Finishes, or takes back, what an interrupted run left.
pub(super) fn recover(root: &Root, home: &Root, events: &mut dyn FnMut(Event)) -> Result<(), TreeError> {
    let (journal, back) = match Pending::load(home)? {
        Pending::Nothing => return transaction::discard(home),
        Pending::Forward(journal) => (journal, false),
        Pending::Backward(journal) => (journal, true),
    };
    let steps = journal.steps.len();
    let mut transaction = Transaction::take_up(root, home, journal)?;
    for (path, copy) in transaction.protect(back)? {
        events(Event::Kept { path, copy: home.at(copy) });
    }
    if back {
        transaction.backward()?;
        attestation::withdraw(home)?;
    } else {
        transaction.forward()?;
        attestation::withdraw(home)?;
        let old = State::load(home)?;
        merge_records(&transaction, old.as_ref())?.write(home, true)?;
    }
    Journal::end(home)?;
    transaction::discard(home)?;
    events(Event::Recovered { finished: !back, steps });
    Ok(())
}

/// The state after the steps of a run that was taken up: the old one with its paths replaced.
fn merge_records(transaction: &Transaction<'_>, old: Option<&State>) -> Result<Writer, TreeError> {
    let journal = &transaction.journal;
    let mut writer = Writer::new(&journal.header);
    let mut records = old.map(State::records);
    let mut record = records.as_mut().and_then(|records| records.next());
    let mut copy_until = |writer: &mut Writer, step: Option<&UpstreamPath>| {
        while let (Some(records), Some(known)) = (&mut records, record) {
            let path = UpstreamPath::parse(records.path());
            let path =
                path.map_err(|error| TreeError::State { path: state::FILE.into(), why: error.to_string() })?;
            match step {
                Some(step) if path > *step => break,
                Some(step) if path == *step => {}
                _ => writer.push(&path, &known),
            }
            record = records.next();
        }
        Ok::<_, TreeError>(())
    };
    for (index, step) in journal.steps.iter().enumerate() {
        copy_until(&mut writer, Some(&step.path))?;
        if let Some(record) = record_after(transaction, index, journal.header.origin)? {
            writer.push(&step.path, &record);
        }
    }
    copy_until(&mut writer, None)?;
    Ok(writer)
}

/// What to remember of a path after its step.
pub(super) fn record_after(
    transaction: &Transaction<'_>,
    index: usize,
    origin: Origin,
) -> Result<Option<Record>, TreeError> {
    let step: &Step = &transaction.journal.steps[index];
    if step.to.is_none() {
        // In a tree that we made, what is not recorded is not there. In an adopted one it is not known.
        let removed = Record { entry: None, stamp: Stamp::NONE };
        return Ok((origin == Origin::Adopted && !step.keep).then_some(removed));
    }
    let stamp = transaction.stamp_after(index)?.unwrap_or(Stamp::NONE);
    Ok(Some(Record { entry: step.to, stamp }))
}
