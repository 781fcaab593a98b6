//! A look at the tree: one `lstat` a path, content read only where that proves nothing.
//!
//! Decides nothing about a path (`plan::settle` does) and changes nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bstr::{BStr, BString, ByteSlice};

use super::error::TreeError;
use super::execute_bit;
use super::folder::{Root, Walker, Way, hash_at, mode_of, names_in, stat_at};
use super::state::{Origin, Record, Stamp, State};
use crate::id::UpstreamPath;
use crate::plan::{Claims, Difference, Found, Plan, Refusal, Settled, Step, Wanted, settle};
use crate::sorted::{SortedMap, SortedSet};
use crate::tree::{Content, Entry, Mode};

/// Below this many paths a second thread costs more than it saves.
const WORTH_A_THREAD: usize = 1000;
const THREADS: usize = 2;

/// A path to look at, and all that is known of it.
#[derive(Debug)]
pub(super) struct Job<'w> {
    pub(super) path: Cow<'w, UpstreamPath>,
    pub(super) claims: Claims,
    pub(super) record: Option<Record>,
}

/// What a look at a path gave, where it is more than "as recorded, and that is right".
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) found: Found,
    pub(super) stamp: Option<Stamp>,
    pub(super) settled: Settled,
}

/// The whole look.
#[derive(Debug)]
pub(super) struct Survey<'w> {
    pub(super) jobs: Vec<Job<'w>>,
    pub(super) seen: SortedMap<usize, Seen>,
}

/// A plan and what it was based on.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) plan: Plan,
    /// For each step, what `lstat` said of what stands there.
    pub(super) stamps: Vec<Option<Stamp>>,
}

impl<'w> Survey<'w> {
    /// Looks at all paths that are wanted or recorded; in an adopted tree only at those that overlays name
    /// or named.
    pub(super) fn take(
        root: &Root,
        wanted: &'w Wanted,
        state: Option<&State>,
        origin: Origin,
    ) -> Result<Self, TreeError> {
        let jobs = list_jobs(wanted, state, origin)?;
        let look_all = |offset: usize, jobs: &[Job<'_>]| {
            let mut walker = Walker::new(root);
            let mut seen = Vec::new();
            for (index, job) in jobs.iter().enumerate() {
                if let Some(look) = look(root, &mut walker, state, job)? {
                    seen.push((offset + index, look));
                }
            }
            Ok::<_, TreeError>(seen)
        };
        let seen = if jobs.len() < WORTH_A_THREAD {
            look_all(0, &jobs)?.into_iter().collect()
        } else {
            let size = jobs.len().div_ceil(THREADS);
            std::thread::scope(|scope| {
                let threads: Vec<_> = jobs
                    .chunks(size)
                    .enumerate()
                    .map(|(index, part)| scope.spawn(move || look_all(index * size, part)))
                    .collect();
                let mut seen = SortedMap::new();
                for thread in threads {
                    match thread.join() {
                        Ok(part) => seen.extend(part?),
                        Err(panic) => std::panic::resume_unwind(panic),
                    }
                }
                Ok::<_, TreeError>(seen)
            })?
        };
        Ok(Self { jobs, seen })
    }

    /// Whether the state has to be written again although no step is needed.
    pub(super) fn is_news(&self) -> bool {
        self.seen.values().any(|seen| seen.settled == Settled::Right)
    }

    /// Puts the answers together: a plan, or all that stands in its way. `force`: what stands in the way is
    /// moved aside and kept.
    pub(super) fn plan(
        &self,
        root: &Root,
        wanted: &Wanted,
        force: bool,
    ) -> Result<Result<Planned, Vec<Refusal>>, TreeError> {
        let mut draft = Draft { root, force, steps: BTreeMap::new(), refusals: Vec::new() };
        let mut left_alone = Vec::new();
        let mut blocked = Vec::new();
        for (index, seen) in &self.seen {
            let job = &self.jobs[*index];
            match &seen.settled {
                Settled::Right => {}
                Settled::LeaveAlone => left_alone.push(job.path.as_ref().clone()),
                Settled::Step => draft.add(job, seen.found.clone(), seen.stamp, false),
                Settled::Refused(difference) => draft.refuse(job, seen, difference.clone()),
                Settled::Blocked(difference) => blocked.push((job, seen, difference)),
            }
        }
        let removed: SortedSet<BString> =
            draft.steps.values().filter(|s| clears(&s.0)).map(|s| s.0.path.as_bytes().into()).collect();
        let mut emptied: SortedSet<BString> = SortedSet::new();
        for (job, seen, difference) in blocked {
            match difference {
                Difference::Behind { ancestor, .. } if removed.contains(ancestor) => {
                    draft.add(job, Found::Absent, None, false);
                }
                Difference::Behind { ancestor, .. } if force => {
                    draft.displace(ancestor.as_ref())?;
                    draft.add(job, Found::Absent, None, false);
                }
                Difference::Folder if holds_only(root, job.path.as_bytes(), &removed)? => {
                    emptied.insert(job.path.as_bytes().into());
                    draft.add(job, Found::Absent, None, false);
                }
                other => draft.refuse(job, seen, other.clone()),
            }
        }
        if !draft.refusals.is_empty() {
            return Ok(Err(draft.refusals));
        }
        for (step, _) in draft.steps.values().filter(|(step, _)| step.to.is_none()) {
            emptied.extend(
                step.path.ancestors().filter(|folder| !holds_wanted(wanted, folder)).map(BString::from),
            );
        }
        let overlaid_jobs = self.jobs.iter().filter(|job| job.claims.overlaid).count();
        let overlaid_steps = draft.steps.keys().filter(|path| wanted.changes.contains_key(*path)).count();
        let (steps, stamps) = draft.steps.into_values().unzip();
        let plan = Plan {
            steps,
            emptied: emptied.into_iter().rev().collect(),
            right: overlaid_jobs.saturating_sub(overlaid_steps),
            left_alone,
        };
        Ok(Ok(Planned { plan, stamps }))
    }
}

/// Whether a step first takes away what is there.
pub(super) fn clears(step: &Step) -> bool {
    match step.to {
        None => true,
        Some(Entry { mode: Mode::Submodule, .. }) => step.from != Found::Absent,
        Some(_) => step.keep,
    }
}

fn holds_wanted(wanted: &Wanted, folder: &BStr) -> bool {
    wanted.first_below(folder).is_some()
        || UpstreamPath::parse(folder).is_ok_and(|folder| wanted.entry(&folder).is_some())
}

/// Whether all files in a folder are among those that go away, and every folder in it is on the way to one.
fn holds_only(root: &Root, folder: &BStr, removed: &SortedSet<BString>) -> Result<bool, TreeError> {
    let failed = |error| TreeError::io("list", root.at(folder), error);
    let Way::Open(fd) = root.folder(folder)? else { return Ok(false) };
    for name in names_in(&fd).map_err(failed)? {
        let path = BString::from([folder.as_bytes(), b"/", &name].concat());
        if removed.contains(&path) {
            continue;
        }
        let mut below = path.clone();
        below.push(b'/');
        let is_folder =
            stat_at(&fd, &name).map_err(failed)?.is_some_and(|s| mode_of(&s) == Ok(Mode::Submodule));
        let leads_to_one = removed.not_before(&below).first().is_some_and(|path| path.starts_with(&below));
        if !is_folder || !leads_to_one || !holds_only(root, path.as_ref(), removed)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Steps and refusals as they come together.
struct Draft<'r> {
    root: &'r Root,
    force: bool,
    steps: BTreeMap<UpstreamPath, (Step, Option<Stamp>)>,
    refusals: Vec<Refusal>,
}

impl Draft<'_> {
    fn add(&mut self, job: &Job<'_>, from: Found, stamp: Option<Stamp>, keep: bool) {
        let path = job.path.as_ref().clone();
        let step = Step { path: path.clone(), from, to: job.claims.target, keep };
        self.steps.insert(path, (step, stamp));
    }

    fn refuse(&mut self, job: &Job<'_>, seen: &Seen, difference: Difference) {
        if self.force {
            // Of what is not there no copy can be kept.
            self.add(job, seen.found.clone(), seen.stamp, seen.found != Found::Absent);
        } else {
            self.refusals.push(Refusal { path: job.path.as_ref().clone(), difference });
        }
    }

    /// Moves aside what stands where a folder should be.
    fn displace(&mut self, ancestor: &BStr) -> Result<(), TreeError> {
        let Ok(path) = UpstreamPath::parse(ancestor) else { return Ok(()) };
        if self.steps.contains_key(&path) {
            return Ok(());
        }
        let mut walker = Walker::new(self.root);
        let (found, stamp) = look_at(self.root, &mut walker, &path, |_, _| None)?;
        if found != Found::Absent {
            let step = Step { path: path.clone(), from: found, to: None, keep: true };
            self.steps.insert(path, (step, stamp));
        }
        Ok(())
    }
}

fn list_jobs<'w>(
    wanted: &'w Wanted,
    state: Option<&State>,
    origin: Origin,
) -> Result<Vec<Job<'w>>, TreeError> {
    let mut jobs = Vec::with_capacity(match origin {
        Origin::Made => wanted.listing.len() + wanted.changes.len(),
        Origin::Adopted => wanted.changes.len(),
    });
    let mut records = state.map(State::records);
    let mut record = records.as_mut().and_then(|records| records.next());
    type Change<'w> = Option<&'w Option<Content>>;
    let mut add = |path: Option<&'w UpstreamPath>, pin: Option<Entry>, change: Change<'w>| {
        // Recorded paths before this one that are wanted no longer; in an adopted tree: not overlaid any more.
        while let (Some(records), Some(known)) = (&mut records, record) {
            if path.is_some_and(|path| records.path() >= path.as_bytes().as_bytes()) {
                break;
            }
            let orphan = UpstreamPath::parse(records.path())
                .map_err(|error| TreeError::State { path: "state".into(), why: error.to_string() })?;
            let pin = wanted.listing.get(&orphan).copied();
            let claims = Claims { pin, target: pin, recorded: known.entry, known: true, overlaid: false };
            jobs.push(Job { path: Cow::Owned(orphan), claims, record: Some(known) });
            record = records.next();
        }
        let Some(path) = path else { return Ok(()) };
        let known = match (&mut records, record) {
            (Some(records), Some(known)) if records.path() == path.as_bytes().as_bytes() => {
                record = records.next();
                Some(known)
            }
            _ => None,
        };
        let target = match change {
            Some(change) => change.as_ref().map(Content::entry),
            None => pin,
        };
        let recorded = known.and_then(|known| known.entry);
        let is_known = origin == Origin::Made || known.is_some();
        let claims = Claims { pin, target, recorded, known: is_known, overlaid: change.is_some() };
        jobs.push(Job { path: Cow::Borrowed(path), claims, record: known });
        Ok::<_, TreeError>(())
    };
    let mut changes = wanted.changes.iter().peekable();
    if origin == Origin::Made {
        for (path, pin) in &wanted.listing {
            while let Some((added, change)) = changes.next_if(|(changed, _)| *changed < path) {
                add(Some(added), None, Some(change))?;
            }
            let change = changes.next_if(|(changed, _)| *changed == path).map(|(_, change)| change);
            add(Some(path), Some(*pin), change)?;
        }
    }
    for (path, change) in changes {
        add(Some(path), wanted.listing.get(path).copied(), Some(change))?;
    }
    add(None, None, None)?;
    Ok(jobs)
}

fn look(
    root: &Root,
    walker: &mut Walker<'_>,
    state: Option<&State>,
    job: &Job<'_>,
) -> Result<Option<Seen>, TreeError> {
    let mut proven = false;
    let (found, stamp) = look_at(root, walker, &job.path, |mode, stamp| {
        let (state, record) = (state?, job.record?);
        let entry = record.entry?;
        let is_same = entry.mode == mode
            || execute_bit::is_all(entry, Entry { mode, ..entry }) && !root.keeps_execute_bit();
        proven = is_same && state.proves(&record, stamp);
        proven.then_some(entry)
    })?;
    let mut settled = settle(&job.claims, &found);
    if let (Found::Entry(found), Some(target)) = (&found, job.claims.target)
        && settled != Settled::Right
        && execute_bit::is_all(*found, target)
        && !root.keeps_execute_bit()
    {
        settled = Settled::Right;
    }
    let is_folder = found == Found::Folder;
    let as_recorded = job.claims.recorded == job.claims.target && (proven || is_folder || stamp.is_none());
    if settled == Settled::Right && as_recorded {
        return Ok(None);
    }
    Ok(Some(Seen { found, stamp, settled }))
}

/// What stands at a path, and its stamp if it has content. `known` may know the content from the stamp.
pub(super) fn look_at(
    root: &Root,
    walker: &mut Walker<'_>,
    path: &UpstreamPath,
    mut known: impl FnMut(Mode, &Stamp) -> Option<Entry>,
) -> Result<(Found, Option<Stamp>), TreeError> {
    let (way, name) = walker.parent(path)?;
    let folder = match way {
        Way::Open(folder) => folder,
        Way::Absent => return Ok((Found::Absent, None)),
        Way::Behind { ancestor, link } => {
            return Ok((Found::Behind { ancestor: ancestor.clone(), link: *link }, None));
        }
    };
    let failed = |error| TreeError::io("read", root.at(path.as_bytes()), error);
    // The content belongs to the stamp only if the stamp is still the same after reading.
    for _ in 0..3 {
        let Some(stat) = stat_at(folder, name).map_err(failed)? else { return Ok((Found::Absent, None)) };
        let mode = match mode_of(&stat) {
            Ok(Mode::Submodule) => return Ok((Found::Folder, None)),
            Ok(mode) => mode,
            Err(kind) => return Ok((Found::Special(kind), None)),
        };
        let stamp = Stamp::of(&stat);
        if let Some(entry) = known(mode, &stamp) {
            return Ok((Found::Entry(entry), Some(stamp)));
        }
        let hashed = hash_at(folder, name, &stat);
        let same = stat_at(folder, name).map_err(failed)?.is_some_and(|now| Stamp::of(&now) == stamp);
        if same {
            return Ok((Found::Entry(Entry { mode, id: hashed.map_err(failed)? }), Some(stamp)));
        }
    }
    Err(TreeError::Raced { path: path.clone() })
}
