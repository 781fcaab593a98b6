//! What moves of the pin to each of many commits would make of the overlays.
//!
//! Only what a commit changes is decided anew, and what was decided once for a content is not decided again.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{CommitId, OverlayName, UpstreamPath};
use crate::provenance::inspect;
use crate::upstream::{Link, Upstream, UpstreamError};

use super::plan::{is_left, whole_trouble};
use super::subject::{Court, Lazy, Memo, Subject};
use super::{Outcome, OverlayPlan, Question, Resolved};

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// How many commits were looked at.
    pub commits: usize,
    /// The newest to which all overlays move by themselves, and no path moves along.
    pub newest_clean: Option<CommitId>,
    /// How many commits there are after that one.
    pub after_it: usize,
    /// The overlays, in the order of the manifest.
    pub overlays: Vec<OverlayScan>,
}

/// What was found about an overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayScan {
    /// The overlay.
    pub name: OverlayName,
    /// What it is at the last commit.
    pub last: Outcome,
    /// The first commit at which it had an outcome.
    pub first: BTreeMap<Outcome, First>,
}

/// The first commit at which something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct First {
    /// The commit.
    pub commit: CommitId,
    /// The path; `None` if it concerns the overlay as a whole.
    pub path: Option<UpstreamPath>,
    /// Where the path went.
    pub to: Option<UpstreamPath>,
}

#[derive(Debug, Clone, Copy)]
struct PathState {
    outcome: Outcome,
    needs_person: bool,
    is_left: bool,
}

/// Looks at all commits of the line of first parents between the two pins, oldest first. `None` if that line does not lead
/// from the new pin to the old one.
///
/// # Errors
/// If the upstream cannot be read.
pub fn scan(question: &Question<'_>) -> Result<Option<Scan>, UpstreamError> {
    let subjects = question.subjects();
    let resolved = Resolved::new();
    let court = Court {
        subjects: &subjects,
        resolved: &resolved,
        style: question.style,
        to: question.to,
        upstream: question.upstream,
    };
    let paths: Vec<UpstreamPath> = {
        let all: BTreeSet<&UpstreamPath> = subjects.iter().flat_map(|subject| subject.sides.keys()).collect();
        all.into_iter().cloned().collect()
    };
    // Which overlays have to be looked at again when a path changes.
    let users: Vec<Vec<usize>> = paths
        .iter()
        .map(|path| (0..subjects.len()).filter(|index| subjects[*index].sides.contains_key(path)).collect())
        .collect();
    let together = together(&subjects, &paths);
    let Some(links) = question.upstream.first_parents(question.from, question.to, &paths)? else {
        return Ok(None);
    };
    let mut entries: Vec<Lazy> = paths
        .iter()
        .map(|path| Lazy::at(question.upstream, question.from, path))
        .collect::<Result<_, _>>()?;
    let mut states: Vec<BTreeMap<&UpstreamPath, PathState>> = vec![BTreeMap::new(); subjects.len()];
    let mut overlays: Vec<OverlayScan> = subjects
        .iter()
        .map(|subject| OverlayScan {
            name: subject.loaded.name().clone(),
            last: Outcome::Unknown,
            first: BTreeMap::new(),
        })
        .collect();
    let mut stopped = vec![false; subjects.len()];
    let mut memo = Memo::new();
    let mut found =
        Scan { commits: links.len(), newest_clean: None, after_it: links.len(), overlays: Vec::new() };
    for (place, link) in links.iter().enumerate() {
        let mut concerned = BTreeSet::new();
        for (path, entry) in &link.changed {
            entries[*path] = Lazy::named(*entry);
            for path in &together[*path] {
                concerned.extend(users[*path].iter().map(|index| (*index, *path)));
            }
        }
        if place == 0 {
            concerned = users
                .iter()
                .enumerate()
                .flat_map(|(path, users)| users.iter().map(move |user| (*user, path)))
                .collect();
        }
        let mut looked_at: BTreeSet<usize> = BTreeSet::new();
        let theirs = |path: &UpstreamPath| match paths.binary_search(path) {
            Ok(place) => Ok(entries[place].clone()),
            Err(_) => Lazy::at(question.upstream, link.commit, path),
        };
        for (index, path) in concerned {
            let state = match court.outcome(index, &paths[path], &theirs, &mut memo) {
                Ok((judged, theirs)) => PathState {
                    outcome: judged.outcome,
                    needs_person: judged.result.is_none(),
                    is_left: is_left(
                        subjects[index].loaded,
                        judged.outcome,
                        judged.result.map(|result| result.entry() != theirs.entry),
                    ),
                },
                Err(_) => PathState { outcome: Outcome::Unknown, needs_person: true, is_left: true },
            };
            states[index].insert(&paths[path], state);
            looked_at.insert(index);
        }
        if place == 0 {
            looked_at.extend(0..subjects.len());
        }
        for index in looked_at {
            let subject = &subjects[index];
            let of_paths = &states[index];
            if let Some((outcome, _)) = &subject.trouble {
                note(&mut overlays[index], *outcome, link.commit, None);
                overlays[index].last = *outcome;
                stopped[index] = true;
                continue;
            }
            for (path, state) in of_paths {
                if state.outcome < Outcome::Absorbed {
                    note(&mut overlays[index], state.outcome, link.commit, Some(path));
                }
            }
            let outcome = OverlayPlan::roll_up(of_paths.values().map(|state| state.outcome));
            note(&mut overlays[index], outcome, link.commit, None);
            overlays[index].last = outcome;
            let in_all: Vec<(Outcome, bool)> =
                of_paths.values().map(|state| (state.outcome, state.is_left)).collect();
            stopped[index] = of_paths.values().any(|state| state.needs_person)
                || whole_trouble(subject.loaded, &in_all).is_some();
        }
        if !stopped.contains(&true) {
            found.newest_clean = Some(link.commit);
            found.after_it = links.len() - place - 1;
        }
    }
    for (overlay, subject) in overlays.iter_mut().zip(&subjects) {
        tell_renamed(overlay, subject.loaded, question);
    }
    found.overlays = overlays;
    Ok(Some(found))
}

/// For each path those that are to be looked at when it changes: itself, and those that patches move it to, or from.
fn together(subjects: &[Subject<'_>], paths: &[UpstreamPath]) -> Vec<BTreeSet<usize>> {
    let mut together: Vec<BTreeSet<usize>> = (0..paths.len()).map(|place| BTreeSet::from([place])).collect();
    for subject in subjects {
        for (place, path) in paths.iter().enumerate() {
            let partner = subject.partner(path).and_then(|partner| paths.binary_search(partner).ok());
            let Some(partner) = partner else { continue };
            let all: BTreeSet<usize> = together[place].union(&together[partner]).copied().collect();
            for place in &all {
                together[*place].clone_from(&all);
            }
        }
    }
    together
}

fn note(overlay: &mut OverlayScan, outcome: Outcome, commit: CommitId, path: Option<&UpstreamPath>) {
    overlay.first.entry(outcome).or_insert_with(|| First { commit, path: path.cloned(), to: None });
}

/// A path that went is perhaps elsewhere.
fn tell_renamed(overlay: &mut OverlayScan, loaded: &crate::overlay::Loaded, question: &Question<'_>) {
    let Some(First { commit, path: Some(path), to: None }) = overlay.first.get(&Outcome::Gone).cloned()
    else {
        return;
    };
    let reports = inspect(&[loaded], question.overlays, commit, None, question.upstream);
    let moved = reports.into_iter().flat_map(|report| report.paths).find(|report| report.path == path);
    if let Some((to, _)) = moved.and_then(|report| report.to)
        && let Some(first) = overlay.first.remove(&Outcome::Gone)
    {
        overlay.first.insert(Outcome::Renamed, First { to: Some(to), ..first });
        if overlay.last == Outcome::Gone {
            overlay.last = Outcome::Renamed;
        }
    }
}

/// The line from one commit to another by first parents, as any upstream can tell it. `None` if it does not lead there.
///
/// # Errors
/// If the upstream cannot be read.
pub(crate) fn line_by_entries<U: Upstream + ?Sized>(
    upstream: &U,
    from: CommitId,
    to: CommitId,
    paths: &[UpstreamPath],
) -> Result<Option<Vec<Link>>, UpstreamError> {
    let mut line = Vec::new();
    let mut next = to;
    while next != from {
        line.push(next);
        match upstream.commit(next)?.parents.first() {
            Some(parent) => next = *parent,
            None => return Ok(None),
        }
    }
    let at = |commit: CommitId| -> Result<Vec<_>, UpstreamError> {
        paths.iter().map(|path| upstream.entry(commit, path)).collect()
    };
    let mut before = at(from)?;
    let mut links = Vec::new();
    for commit in line.into_iter().rev() {
        let now = at(commit)?;
        let changed = (0..paths.len()).filter(|path| now[*path] != before[*path]);
        links.push(Link { commit, changed: changed.map(|path| (path, now[path])).collect() });
        before = now;
    }
    Ok(Some(links))
}
