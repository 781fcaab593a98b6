//! The decision for one path, from contents.
//!
//! By bytes first, then by tokens without comments, as the states of `provenance` are decided.

use std::ops::Range;

use crate::id::UpstreamPath;
use crate::lex::{self, Delta};
use crate::merge::{Conflict, Labels, Merged, Style, is_binary, merge};
use crate::provenance::absorb::is_absorbed;
use crate::tree::{Content, Entry};

use super::Outcome;

/// A content with its name, so that equal ones are told without a look at their bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Side(pub(super) Option<(Entry, Content)>);

impl Side {
    pub(super) fn new(content: Option<Content>) -> Self {
        Self(content.map(|content| (content.entry(), content)))
    }

    pub(super) fn entry(&self) -> Option<Entry> {
        self.0.as_ref().map(|(entry, _)| *entry)
    }

    pub(super) fn content(&self) -> Option<&Content> {
        self.0.as_ref().map(|(_, content)| content)
    }

    pub(super) fn is_absent(&self) -> bool {
        self.0.is_none()
    }
}

/// Where and how an overlay does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// The merged text with conflict markers; `None` for what has no lines, or where one side is absent.
    pub marked: Option<Vec<u8>>,
    /// The places in it, as lines from 1: from the first marker to the last.
    pub places: Vec<Range<usize>>,
    /// What the overlay was derived from.
    pub base: Option<Content>,
    /// What the overlay has.
    pub ours: Option<Content>,
    /// What upstream has at the new pin.
    pub theirs: Option<Content>,
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) outcome: Outcome,
    pub(super) why: String,
    pub(super) misfit: Option<Misfit>,
    /// `None`: a person must decide.
    pub(super) result: Option<Side>,
}

impl Judged {
    pub(super) fn new(outcome: Outcome, why: impl Into<String>, result: Side) -> Self {
        Self { outcome, why: why.into(), misfit: None, result: Some(result) }
    }

    pub(super) fn open(outcome: Outcome, why: impl Into<String>) -> Self {
        Self { outcome, why: why.into(), misfit: None, result: None }
    }
}

/// Whether two contents do the same: equal in bytes, or token by token without comments.
pub(super) fn does_the_same(path: &UpstreamPath, a: &Side, b: &Side) -> bool {
    match (&a.0, &b.0) {
        (None, None) => true,
        (Some((a, left)), Some((b, right))) => {
            a == b || lex::compare_contents(path, left, right).is_at_most(Delta::Comments)
        }
        _ => false,
    }
}

/// How the sides are called, and how conflicts are marked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marking<'a> {
    pub(super) style: Style,
    pub(super) labels: Labels<'a>,
}

/// Decides for a path whose content is merged.
pub(super) fn judge(
    path: &UpstreamPath,
    base: &Side,
    ours: &Side,
    theirs: &Side,
    marking: Marking<'_>,
) -> Judged {
    if base.entry() == theirs.entry() {
        return untouched(path, ours, theirs);
    }
    if theirs.is_absent() {
        return match ours.is_absent() {
            true => Judged::new(Outcome::Redundant, "upstream removed the path, too", ours.clone()),
            false => Judged {
                misfit: Some(misfit(base, ours, theirs, None)),
                ..Judged::open(Outcome::Gone, "upstream has the path no more")
            },
        };
    }
    if ours.entry() == theirs.entry() {
        return Judged::new(Outcome::Redundant, "it is what upstream has", ours.clone());
    }
    if base.is_absent() && !ours.is_absent() {
        if does_the_same(path, ours, theirs) {
            return Judged::new(
                Outcome::Redundant,
                "it differs from upstream's own file in comments only",
                ours.clone(),
            );
        }
        let marked = add_add(ours, theirs, marking);
        return Judged {
            misfit: Some(misfit(base, ours, theirs, marked)),
            ..Judged::open(Outcome::Collides, "it was new; upstream has a file of its own there by now")
        };
    }
    match merge(base.content(), ours.content(), theirs.content(), marking.style, marking.labels) {
        Merged::Clean(merged) => judge_clean(path, base, ours, theirs, Side::new(merged)),
        Merged::Conflict(_) if does_the_same(path, ours, theirs) => {
            Judged::new(Outcome::Redundant, "it differs from upstream in comments only", ours.clone())
        }
        Merged::Conflict(_) if is_absorbed(path, base.content(), ours.content(), theirs.content()) => {
            let why = "upstream has all that it adds; where comments collide, upstream's stay";
            Judged::new(Outcome::Absorbed, why, theirs.clone())
        }
        Merged::Conflict(conflict) => {
            let why = conflict.to_string();
            let marked = match conflict {
                Conflict::Text { marked, .. } => Some(marked),
                _ => None,
            };
            Judged {
                misfit: Some(misfit(base, ours, theirs, marked)),
                ..Judged::open(Outcome::Conflict, why)
            }
        }
    }
}

/// Upstream has what the overlay was derived from.
fn untouched(path: &UpstreamPath, ours: &Side, theirs: &Side) -> Judged {
    if does_the_same(path, ours, theirs) {
        let why = match (ours.entry() == theirs.entry(), theirs.is_absent()) {
            (_, true) => "upstream does not have the path either",
            (true, _) => "it is what upstream has",
            (false, _) => "it differs from upstream in comments only",
        };
        return Judged::new(Outcome::Redundant, why, ours.clone());
    }
    let why = match theirs.is_absent() {
        false => "upstream has there what it was derived from",
        true => "upstream still does not have the path",
    };
    Judged::new(Outcome::Untouched, why, ours.clone())
}

fn judge_clean(path: &UpstreamPath, base: &Side, ours: &Side, theirs: &Side, merged: Side) -> Judged {
    if does_the_same(path, &merged, theirs) {
        let (outcome, why) = had(path, base, ours, theirs);
        return Judged::new(outcome, why, merged);
    }
    Judged::new(Outcome::Merges, "upstream changed the path, and both changes fit", merged)
}

/// What a change is of which nothing but comments is left where upstream has `theirs`.
pub(super) fn had(path: &UpstreamPath, base: &Side, ours: &Side, theirs: &Side) -> (Outcome, &'static str) {
    if does_the_same(path, ours, theirs) {
        (Outcome::Redundant, "it does what upstream does, comments aside")
    } else if does_the_same(path, ours, base) {
        // What has no code of its own is not taken over by anybody: its comments go along.
        (Outcome::Redundant, "it changes comments only")
    } else {
        (Outcome::Absorbed, "upstream has all that it adds")
    }
}

/// Two files that were added separately, as git shows them: merged as if there had been an empty file.
fn add_add(ours: &Side, theirs: &Side, marking: Marking<'_>) -> Option<Vec<u8>> {
    let (ours, theirs) = (ours.content()?, theirs.content()?);
    if is_binary(&ours.bytes) || is_binary(&theirs.bytes) {
        return None;
    }
    let empty = Content { mode: ours.mode, bytes: std::sync::Arc::from([]) };
    match merge(Some(&empty), Some(ours), Some(theirs), marking.style, marking.labels) {
        Merged::Conflict(Conflict::Text { marked, .. }) => Some(marked),
        _ => None,
    }
}

pub(super) fn misfit(base: &Side, ours: &Side, theirs: &Side, marked: Option<Vec<u8>>) -> Misfit {
    let places = marked.as_deref().map(places).unwrap_or_default();
    let content = |side: &Side| side.content().cloned();
    Misfit { marked, places, base: content(base), ours: content(ours), theirs: content(theirs) }
}

/// The lines from each first marker to its last, from 1. The markers are those that a merge has just written.
fn places(marked: &[u8]) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut start = None;
    for (index, line) in marked.split(|&byte| byte == b'\n').enumerate() {
        if line.starts_with(b"<<<<<<< ") && start.is_none() {
            start = Some(index + 1);
        } else if line.starts_with(b">>>>>>> ")
            && let Some(first) = start.take()
        {
            places.push(first..index + 2);
        }
    }
    places
}
