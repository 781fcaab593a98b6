//! From the overlays and two pins to what becomes of each path.

use std::collections::BTreeMap;

use crate::id::{CommitId, Name, OverlayName, UpstreamPath};
use crate::manifest::{Kind, Located};
use crate::merge::Style;
use crate::overlay::Loaded;
use crate::tree::Content;
use crate::upstream::{Upstream, UpstreamError};
use crate::verify::marker;

use super::judge::Judged;
use super::places::{keep_apart, keep_out_of_folders};
use super::renames::follow_renames;
use super::subject::{Court, Lazy, Memo, Reading, Subject};
use super::{Fate, Outcome, OverlayPlan, PathPlan, Plan};
use crate::parallel::in_parallel;

/// What is asked.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// All overlays of the manifest.
    pub overlays: &'a [Loaded],
    /// Features of which at most one can be on.
    pub exclusive: &'a [Vec<Located<Name>>],
    /// The pin before.
    pub from: CommitId,
    /// The pin after.
    pub to: CommitId,
    /// How conflicts are marked.
    pub style: Style,
    /// The upstream.
    pub upstream: &'a dyn Upstream,
}

/// What a person made of paths that did not fit; `None`: the path goes away.
pub type Resolved = BTreeMap<(OverlayName, UpstreamPath), Option<Content>>;

/// Decides what becomes of every overlay. What cannot be read makes an overlay `unknown` and does not stop the others.
#[must_use]
pub fn plan(question: &Question<'_>, resolved: &Resolved) -> Plan {
    let subjects = question.subjects();
    let court = Court {
        subjects: &subjects,
        resolved,
        style: question.style,
        to: question.to,
        upstream: question.upstream,
    };
    let places: Vec<usize> = (0..subjects.len()).collect();
    let mut overlays = in_parallel(&places, |index| plan_one(question, &court, *index));
    keep_apart(&subjects, &mut overlays);
    keep_out_of_folders(question, &mut overlays);
    Plan { from: question.from, to: question.to, style: question.style, overlays }
}

impl<'a> Question<'a> {
    /// The overlays, taken apart.
    pub(super) fn subjects(&self) -> Vec<Subject<'a>> {
        let reading = Reading {
            overlays: self.overlays,
            exclusive: self.exclusive,
            pin: self.from,
            upstream: self.upstream,
        };
        let places: Vec<usize> = (0..self.overlays.len()).collect();
        in_parallel(&places, |index| reading.subject(*index))
    }
}

fn plan_one(question: &Question<'_>, court: &Court<'_>, index: usize) -> OverlayPlan {
    let subject = &court.subjects[index];
    let name = subject.loaded.name().clone();
    if let Some((outcome, why)) = &subject.trouble {
        return OverlayPlan {
            name,
            outcome: *outcome,
            paths: Vec::new(),
            why: Some(why.clone()),
            moves_base: false,
            fate: Fate::Stays,
        };
    }
    let mut memo = Memo::new();
    let mut paths: Vec<PathPlan> = subject
        .sides
        .keys()
        .map(|path| {
            plan_path(question, court, index, path, &mut memo).unwrap_or_else(|error| {
                path_plan(path, Judged::open(Outcome::Unknown, error.to_string()), None)
            })
        })
        .collect();
    follow_renames(question, court, subject, &mut paths);
    let outcome = OverlayPlan::roll_up(paths.iter().map(|path| path.outcome));
    let is_left = |path: &PathPlan| {
        let differs = path.result.as_ref().map(|result| *result != path.theirs);
        is_left(subject.loaded, path.outcome, differs)
    };
    let states: Vec<(Outcome, bool)> = paths.iter().map(|path| (path.outcome, is_left(path))).collect();
    let fate = if is_over(subject.loaded, &states) { Fate::CannotStay } else { Fate::Stays };
    let why = whole_trouble(subject.loaded, &states).or_else(|| nothing_left(subject.loaded, &paths));
    let is_kept = paths.iter().any(|path| path.outcome == Outcome::Kept);
    let has_base = subject.loaded.overlay.base.as_ref().is_some_and(|base| base.value != question.to);
    let moves_base = has_base && !is_kept && !matches!(subject.loaded.overlay.kind, Kind::HeldBack { .. });
    OverlayPlan { name, outcome, paths, why, moves_base, fate }
}

fn plan_path(
    question: &Question<'_>,
    court: &Court<'_>,
    index: usize,
    path: &UpstreamPath,
    memo: &mut Memo,
) -> Result<PathPlan, UpstreamError> {
    let theirs = |path: &UpstreamPath| Lazy::at(question.upstream, question.to, path);
    let (judged, stands_on) = court.outcome(index, path, &theirs, memo)?;
    let loaded = court.subjects[index].loaded;
    // A patch is written against what it stands on, and a marker says what upstream has. Nothing else asks for it.
    let is_asked = match &loaded.overlay.kind {
        Kind::Patch(_) => true,
        _ => loaded.files.get(path).is_some_and(|file| !marker::find(&file.bytes).is_empty()),
    };
    let theirs =
        if is_asked { stands_on.load(question.upstream)?.0.map(|(_, content)| content) } else { None };
    Ok(path_plan(path, judged, theirs))
}

fn path_plan(path: &UpstreamPath, judged: Judged, theirs: Option<Content>) -> PathPlan {
    PathPlan {
        path: path.clone(),
        outcome: judged.outcome,
        why: judged.why,
        to: None,
        misfit: judged.misfit,
        theirs,
        result: judged.result.map(|side| side.0.map(|(_, content)| content)),
        commits: Vec::new(),
        neighbours: Vec::new(),
    }
}

/// An overlay of files of which no file would be left.
fn nothing_left(loaded: &Loaded, paths: &[PathPlan]) -> Option<String> {
    let is_whole = matches!(loaded.overlay.kind, Kind::Files(_));
    let is_empty = !paths.is_empty() && paths.iter().all(|path| path.result == Some(None));
    (is_whole && is_empty)
        .then(|| format!("nothing would be left of it: remove overlay `{}` from the manifest", loaded.name()))
}

/// What the paths do not say one by one: their outcomes, and whether anything is left of the overlay there.
pub(super) fn whole_trouble(loaded: &Loaded, paths: &[(Outcome, bool)]) -> Option<String> {
    let has = |is: fn(Outcome) -> bool| paths.iter().any(|(outcome, _)| is(*outcome));
    match &loaded.overlay.kind {
        Kind::Files(_)
            if has(|outcome| outcome == Outcome::Kept)
                && has(|outcome| !matches!(outcome, Outcome::Kept | Outcome::Untouched)) =>
        {
            Some(
                "it takes upstream back on one path and has to be merged on another: make two overlays of it"
                    .to_owned(),
            )
        }
        Kind::Patch(_) if is_over(loaded, paths) => Some(format!(
            "nothing is left of the patch, upstream has all of it: remove overlay `{}` from the manifest, change the patch, or bump with --drop-absorbed",
            loaded.name()
        )),
        Kind::Commits { .. } if is_over(loaded, paths) => Some(format!(
            "upstream has all that the commits add, and they do not fit one by one any more: remove overlay `{}` from the manifest, or bump with --drop-absorbed",
            loaded.name()
        )),
        _ => None,
    }
}

/// Whether something is left of an overlay on a path. `differs`: whether what it makes of the path differs from what it
/// stands on; `None`: it does not fit there.
pub(super) fn is_left(loaded: &Loaded, outcome: Outcome, differs: Option<bool>) -> bool {
    match (&loaded.overlay.kind, differs) {
        // Commits that fit can stay, also if they change nothing.
        (Kind::Commits { .. }, None) => !matches!(outcome, Outcome::Absorbed | Outcome::Redundant),
        (Kind::Commits { .. }, Some(_)) => true,
        (_, differs) => differs.unwrap_or(true),
    }
}

/// Whether upstream has all of an overlay that then cannot stay as it is: a patch without parts is none, and commits must
/// fit. `paths` has what became of each, and whether something is left of it there.
fn is_over(loaded: &Loaded, paths: &[(Outcome, bool)]) -> bool {
    let is_had = |outcome: Outcome| matches!(outcome, Outcome::Absorbed | Outcome::Redundant);
    match &loaded.overlay.kind {
        Kind::Patch(_) => !paths.is_empty() && paths.iter().all(|(_, is_left)| !is_left),
        Kind::Commits { .. } => {
            paths.iter().all(|(outcome, _)| is_had(*outcome)) && paths.iter().any(|(_, is_left)| !is_left)
        }
        _ => false,
    }
}
