//! What an interrupted run left: finished, or taken back. And what is known of a tree whose state is damaged.
//!
//! Content that somebody put in the way since then is moved aside and kept.

use super::error::TreeError;
use super::folder::Root;
use super::journal::{Journal, Pending};
use super::state::{self, Header, Origin, Record, Saved, Stamp, State, Writer};
use super::transaction::{self, Transaction};
use super::{Event, attestation};
use crate::id::UpstreamPath;
use crate::plan::{Step, Wanted};
use crate::sorted::SortedMap;
use crate::tree::{Entry, Listing};
use crate::upstream::Upstream;

/// Finishes, or takes back, what an interrupted run left. `known`: the state of the tree before it.
/// Gives whether the state on disk is another one now.
pub(super) fn recover(
    root: &Root,
    home: &Root,
    known: Option<&State>,
    events: &mut dyn FnMut(Event),
) -> Result<bool, TreeError> {
    let (journal, back) = match Pending::load(home)? {
        Pending::Nothing => {
            if transaction::has_leftovers(home)? {
                transaction::discard(home)?;
                events(Event::Discarded);
            }
            return Ok(false);
        }
        Pending::Damaged => {
            let kept = transaction::keep_all(home)?.map(|kept| home.at(kept));
            attestation::withdraw(home)?;
            Journal::end(home)?;
            transaction::discard(home)?;
            events(Event::JournalDamaged { kept });
            return Ok(false);
        }
        Pending::Forward(journal) => (journal, false),
        Pending::Backward(journal) => (journal, true),
    };
    let steps = journal.steps.len();
    let mut transaction = Transaction::take_up(root, home, journal)?;
    let done = take_to_the_end(&mut transaction, back, home, known);
    for (path, copy) in transaction.take_kept() {
        events(Event::Kept { path, copy: home.at(copy) });
    }
    done?;
    Journal::end(home)?;
    transaction::discard(home)?;
    events(Event::Recovered { finished: !back, steps });
    Ok(!back)
}

fn take_to_the_end(
    transaction: &mut Transaction<'_>,
    back: bool,
    home: &Root,
    known: Option<&State>,
) -> Result<(), TreeError> {
    transaction.protect(back)?;
    if back {
        transaction.backward()?;
        return attestation::withdraw(home);
    }
    transaction.forward()?;
    attestation::withdraw(home)?;
    merge_records(transaction, known)?.write(home, true)
}

/// The state of a tree. Where the file is damaged, or gone though the attestation is there: what the attestation and
/// the upstream say, with no stamp, so that every content is read.
///
/// What is assumed here can make a run leave somebody's edit alone, or replace bytes that the attestation or the
/// commit names. It never makes one replace other bytes.
pub(super) fn load_or_rebuild(
    home: &Root,
    wanted: &Wanted,
    upstream: &dyn Upstream,
    adopt: bool,
    events: &mut dyn FnMut(Event),
) -> Result<Option<State>, TreeError> {
    let saved = State::load(home)?;
    let why = match saved {
        Saved::Good(state) => return Ok(Some(state)),
        Saved::Damaged(why) => why,
        Saved::Absent => "it is gone",
    };
    let is_absent = matches!(saved, Saved::Absent);
    if is_absent && Pending::is_there(home)? {
        // A first run was killed before its end: the journal knows.
        return Ok(None);
    }
    let claimed = attestation::load(home)?.and_then(|text| attestation::parse(&text));
    if is_absent && claimed.is_none() {
        return Ok(None);
    }
    let writer = match claimed {
        Some(claimed) => {
            let pin = claimed.pin;
            let listing = match claimed.origin {
                Origin::Adopted => None,
                Origin::Made if pin == wanted.commit => Some(wanted.listing.clone()),
                // If the upstream does not have it any more, its files are not known to be ours.
                Origin::Made => upstream.listing(pin).ok(),
            };
            let header = Header {
                origin: claimed.origin,
                upstream: claimed.upstream,
                commit: pin,
                fingerprint: claimed.fingerprint,
            };
            records_of(&header, listing.unwrap_or_default(), claimed.overlaid)
        }
        None => {
            let origin = if adopt { Origin::Adopted } else { Origin::Made };
            Writer::new(&Header::of(wanted, origin))
        }
    };
    let path = home.at(state::FILE);
    let rebuilt = writer.unproven().ok_or_else(|| TreeError::State { path, why: why.to_owned() })?;
    events(Event::StateRebuilt { why });
    Ok(Some(rebuilt))
}

fn records_of(header: &Header, mut listing: Listing, overlaid: Vec<(UpstreamPath, Option<Entry>)>) -> Writer {
    let mut writer = Writer::new(header);
    let mut push = |path: &UpstreamPath, entry| writer.push(path, &Record { entry, stamp: Stamp::NONE });
    match header.origin {
        Origin::Made => {
            for (path, entry) in overlaid {
                // In a tree that we made, what is not recorded is not there.
                match entry {
                    Some(entry) => listing.insert(path, entry),
                    None => listing.remove(&path),
                };
            }
            listing.iter().for_each(|(path, entry)| push(path, Some(*entry)));
        }
        Origin::Adopted => {
            let overlaid: SortedMap<UpstreamPath, Option<Entry>> = overlaid.into_iter().collect();
            overlaid.iter().for_each(|(path, entry)| push(path, *entry));
        }
    }
    writer
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
