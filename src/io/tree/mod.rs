//! The tree on disk: a directory of upstream sources with overlays applied.
//!
//! [`bring_to`] makes a directory what [`Wanted`] says, completely or not at all. [`compare`] tells how a
//! directory differs from it. Both look at bytes only: no git discovery, no index, no filters.
//!
//! | what | where |
//! | --- | --- |
//! | which paths stand how, with as few reads as possible | `survey` |
//! | what an earlier run left, to compare with | `state`, in `.overlaid/state` |
//! | a tree that is not there yet | `cold` |
//! | all steps or none, whatever happens | `transaction`, `journal` |
//! | paths that never follow a link | `folder` |
//! | every file against what is wanted | `observe` |

mod attestation;
mod cold;
mod error;
mod folder;
mod journal;
mod letter_case;
mod lock;
mod observe;
mod state;
mod survey;
mod transaction;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

pub use attestation::{FILE as ATTESTATION_FILE, render as render_attestation};
pub use error::TreeError;
pub use observe::{Cache, Difference, Kind, compare, observe_all};
pub use state::Origin;

use crate::id::{BlobId, UpstreamPath};
use crate::plan::{self, Plan, Refusal, Step, Wanted};
use crate::tree::{Entry, Mode};
use crate::upstream::Upstream;
use folder::{Root, create_at, stat_at};
use journal::{Journal, Pending};
use lock::{Lock, Sharing};
use state::{Header, Record, Stamp, State, Writer};
use survey::{Planned, Survey};
use transaction::Transaction;

/// The folder at the top of a tree in which its state is kept.
pub const HOME: &str = ".overlaid";
const LOCK: &str = "lock";
const IGNORE: &str = ".gitignore";

/// How to go about it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Local edits in the way are moved into `.overlaid/kept`, not refused.
    pub force: bool,
    /// Only the plan; nothing is written.
    pub dry_run: bool,
    /// A directory that somebody else filled is taken as it is, and only overlaid paths are looked at.
    pub adopt: bool,
}

/// What happens meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Another run has the tree; this one has been waiting for a second.
    Waiting {
        /// The tree.
        dir: PathBuf,
    },
    /// An earlier run was interrupted; its steps were finished or taken back.
    Recovered {
        /// Whether they were finished.
        finished: bool,
        /// How many steps it had.
        steps: usize,
    },
    /// Somebody's content was moved aside.
    Kept {
        /// Where it was.
        path: UpstreamPath,
        /// Where it is now.
        copy: PathBuf,
    },
    /// So many contents are written.
    Writing {
        /// Done.
        done: usize,
        /// Of these.
        total: usize,
    },
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The tree was right already; the plan has no steps.
    Unchanged(Plan),
    /// The steps of the plan were done; with `dry_run`: would be.
    Changed(Plan),
    /// Somebody's content is in the way; nothing was changed.
    Refused(Vec<Refusal>),
    /// The directory has files and no state of ours, and `adopt` was not asked for; nothing was changed.
    NotOurs,
}

/// Makes a directory what is wanted: completely, or not at all.
///
/// Right files are not touched, not even their times. One run at a time works on a tree; others wait. What an
/// interrupted run left is finished first. Content comes from `wanted.changes`, else from `upstream`.
///
/// # Errors
/// If it could not be found out what is there, or could not be written. The tree is as it was.
pub fn bring_to(
    dir: &Path,
    wanted: &Wanted,
    upstream: &dyn Upstream,
    options: &Options,
    events: &mut dyn FnMut(Event),
) -> Result<Outcome, TreeError> {
    if let Some((path, other)) = wanted.overlap() {
        return Err(TreeError::Overlap { path: path.clone(), other });
    }
    match std::fs::symlink_metadata(dir) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            if options.dry_run {
                return Ok(Outcome::Changed(cold::plan(wanted)));
            }
            if let Some(plan) = cold::make(dir, wanted, upstream, events)? {
                return Ok(Outcome::Changed(plan));
            }
        }
        Err(error) => return Err(TreeError::io("look at", dir, error)),
    }
    bring_existing(&Root::open(dir)?, wanted, upstream, options, events)
}

fn bring_existing(
    root: &Root,
    wanted: &Wanted,
    upstream: &dyn Upstream,
    options: &Options,
    events: &mut dyn FnMut(Event),
) -> Result<Outcome, TreeError> {
    let mut waiting = || events(Event::Waiting { dir: root.path().to_owned() });
    let home = match (root.inside(HOME)?, whose(root, options)?) {
        (None, Whose::Others) => return Ok(Outcome::NotOurs),
        (None, Whose::ToAdopt) if wanted.changes.is_empty() => {
            return Ok(Outcome::Unchanged(Plan::default()));
        }
        (None, whose) if options.dry_run => return survey_only(root, wanted, whose.origin(), options),
        (None, _) => root.make_inside(HOME)?,
        (Some(home), _) => home,
    };
    if options.dry_run {
        let is_locked = stat_at(&home, LOCK).is_ok_and(|stat| stat.is_some());
        let _lock = is_locked.then(|| Lock::take(&home, LOCK, Sharing::Shared, &mut waiting)).transpose()?;
        if Pending::is_there(&home)? {
            return Err(TreeError::Interrupted { dir: root.path().to_owned() });
        }
        return match State::load(&home)? {
            Some(state) => {
                own_upstream(root, &state, wanted)?;
                let survey = Survey::take(root, wanted, Some(&state), state.header.origin)?;
                dry_outcome(&survey, root, wanted, options)
            }
            None => match whose(root, options)? {
                Whose::Others => Ok(Outcome::NotOurs),
                whose => survey_only(root, wanted, whose.origin(), options),
            },
        };
    }
    let _lock = Lock::take(&home, LOCK, Sharing::Exclusive, &mut waiting)?;
    recover(root, &home, events)?;
    let state = State::load(&home)?;
    let origin = match &state {
        Some(state) => {
            own_upstream(root, state, wanted)?;
            state.header.origin
        }
        None => match whose(root, options)? {
            Whose::Others => return Ok(Outcome::NotOurs),
            Whose::ToAdopt if wanted.changes.is_empty() => return Ok(Outcome::Unchanged(Plan::default())),
            whose => whose.origin(),
        },
    };
    Run { root, home: &home, wanted, state: state.as_ref(), origin }.go(upstream, options, events)
}

/// Whose a directory without a state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// Nobody's: it is empty.
    Nobodys,
    /// Somebody else's, and to be adopted.
    ToAdopt,
    /// Somebody else's.
    Others,
}

impl Whose {
    fn origin(self) -> Origin {
        match self {
            Whose::Nobodys => Origin::Made,
            Whose::ToAdopt | Whose::Others => Origin::Adopted,
        }
    }
}

fn whose(root: &Root, options: &Options) -> Result<Whose, TreeError> {
    Ok(if root.names()?.iter().all(|name| name == HOME) {
        Whose::Nobodys
    } else if options.adopt {
        Whose::ToAdopt
    } else {
        Whose::Others
    })
}

fn survey_only(
    root: &Root,
    wanted: &Wanted,
    origin: Origin,
    options: &Options,
) -> Result<Outcome, TreeError> {
    dry_outcome(&Survey::take(root, wanted, None, origin)?, root, wanted, options)
}

fn dry_outcome(
    survey: &Survey<'_>,
    root: &Root,
    wanted: &Wanted,
    options: &Options,
) -> Result<Outcome, TreeError> {
    Ok(match survey.plan(root, wanted, options.force)? {
        Err(refusals) => Outcome::Refused(refusals),
        Ok(planned) if planned.plan.steps.is_empty() => Outcome::Unchanged(planned.plan),
        Ok(planned) => Outcome::Changed(planned.plan),
    })
}

fn own_upstream(root: &Root, state: &State, wanted: &Wanted) -> Result<(), TreeError> {
    let recorded = &state.header.upstream;
    if recorded == wanted.upstream.as_str() {
        return Ok(());
    }
    let why = format!("it is of a tree of `{recorded}`, not of `{}`", wanted.upstream);
    Err(TreeError::State { path: root.at(HOME).join(state::FILE), why })
}

/// Finishes, or takes back, what an interrupted run left.
fn recover(root: &Root, home: &Root, events: &mut dyn FnMut(Event)) -> Result<(), TreeError> {
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
fn record_after(
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

/// One run on a tree that is there and locked.
struct Run<'r> {
    root: &'r Root,
    home: &'r Root,
    wanted: &'r Wanted,
    state: Option<&'r State>,
    origin: Origin,
}

impl Run<'_> {
    fn go(
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
        let attestation = attestation::render(self.wanted);
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
        let mut content = |path: &UpstreamPath, entry: Entry| {
            let bytes = unchecked_content(self.wanted, upstream, path, entry)?;
            check_content(path, entry, &bytes)?;
            Ok(bytes)
        };
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
        let done = transaction.forward().and_then(|()| {
            attestation::write(self.home, &attestation::render(self.wanted))?;
            self.records(survey, &header, Some(&transaction))?.write(self.home, true)
        });
        if let Err(first) = done {
            return Err(self.take_back(&mut transaction, first));
        }
        Journal::end(self.home)?;
        for (index, step) in plan.steps.iter().enumerate().filter(|(_, step)| step.keep) {
            let copy = self.home.at(transaction.journal.kept_path(index));
            events(Event::Kept { path: step.path.clone(), copy });
        }
        transaction::discard(self.home)?;
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

impl Header {
    fn of(wanted: &Wanted, origin: Origin) -> Self {
        Self {
            origin,
            upstream: wanted.upstream.as_str().to_owned(),
            commit: wanted.commit,
            fingerprint: wanted.fingerprint.clone(),
        }
    }
}

fn raced(path: UpstreamPath) -> Refusal {
    Refusal { path, difference: plan::Difference::Raced }
}

/// Puts into our folder what is always there: the lock, and a `.gitignore` for a repository around the tree.
fn prepare_home(home: &Root) -> Result<(), TreeError> {
    for (name, content) in [(IGNORE, "*\n"), (LOCK, "")] {
        match create_at(home, name, false, content.as_bytes()) {
            Ok(_) | Err(Errno::EXIST) => {}
            Err(error) => return Err(TreeError::io("write", home.at(name), error)),
        }
    }
    Ok(())
}

/// The bytes of an entry, as an overlay or the upstream has them.
fn unchecked_content(
    wanted: &Wanted,
    upstream: &dyn Upstream,
    path: &UpstreamPath,
    entry: Entry,
) -> Result<Arc<[u8]>, TreeError> {
    match wanted.changes.get(path) {
        Some(Some(content)) => Ok(Arc::clone(&content.bytes)),
        _ => upstream.blob(entry.id).map_err(|error| TreeError::Upstream { path: Some(path.clone()), error }),
    }
}

/// Whether bytes are what they should be, and can be written.
fn check_content(path: &UpstreamPath, entry: Entry, bytes: &[u8]) -> Result<(), TreeError> {
    let got = BlobId::of(bytes);
    if got != entry.id {
        return Err(TreeError::WrongContent { path: path.clone(), wanted: entry.id, got });
    }
    if entry.mode == Mode::Symlink && (bytes.is_empty() || bytes.contains(&0)) {
        return Err(TreeError::BadLink { path: path.clone() });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
