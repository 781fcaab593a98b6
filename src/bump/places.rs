//! Where a file would stand in another's place: the paths of a move, looked at together.
//!
//! What is decided path by path does not see that a file cannot be a folder, too, nor that a path to which a file moves is
//! one that another overlay names. A person must say what is meant then.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice;

use crate::id::{OverlayName, UpstreamPath};
use crate::manifest::{Kind, pattern};
use crate::tree::Listing;
use crate::upstream::UpstreamError;

use super::subject::Subject;
use super::{Outcome, OverlayPlan, PathPlan, Question};

/// Two overlays do not move to one path, and none moves to where another one's files are.
pub(super) fn keep_apart(subjects: &[Subject<'_>], overlays: &mut [OverlayPlan]) {
    let mut taken: BTreeMap<UpstreamPath, OverlayName> = BTreeMap::new();
    for subject in subjects.iter().filter(|subject| subject.loaded.overlay.kind.is_whole()) {
        taken.extend(subject.sides.keys().map(|path| (path.clone(), subject.loaded.name().clone())));
    }
    for (overlay, subject) in overlays.iter_mut().zip(subjects) {
        if !subject.loaded.overlay.kind.is_whole() {
            continue;
        }
        for path in &mut overlay.paths {
            let Some((to, _)) = path.to.clone() else { continue };
            if let Some(other) = taken.get(&to) {
                let why = format!("upstream moved the path to {to}, and overlay `{other}` is there, too");
                leave_open(path, why);
            } else if let Some(other) = with_a_glob_for(subjects, &overlay.name, &to) {
                let why = format!(
                    "upstream moved the path to {to}, which `files` of overlay `{other}` matches, too: name its files one \
                     by one"
                );
                leave_open(path, why);
            } else {
                taken.insert(to, overlay.name.clone());
            }
        }
    }
}

/// Another overlay whose `files` match a path.
fn with_a_glob_for<'s>(
    subjects: &'s [Subject<'_>],
    name: &OverlayName,
    path: &UpstreamPath,
) -> Option<&'s OverlayName> {
    let matches =
        |glob: &str| pattern::glob(glob).is_ok_and(|glob| glob.compile_matcher().is_match(path.to_os_path()));
    let others = subjects.iter().map(|subject| subject.loaded).filter(|loaded| loaded.name() != name);
    let mut found = others.filter(|loaded| match &loaded.overlay.kind {
        Kind::Files(globs) => globs.iter().any(|glob| matches(&glob.value)),
        _ => false,
    });
    found.next().map(|loaded| loaded.name())
}

fn leave_open(path: &mut PathPlan, why: String) {
    path.why = why;
    path.result = None;
    path.misfit = None;
}

/// A file that upstream does not have cannot stand where upstream has a folder, nor below what is a file there.
pub(super) fn keep_out_of_folders(question: &Question<'_>, overlays: &mut [OverlayPlan]) {
    let gone: BTreeSet<UpstreamPath> = overlays
        .iter()
        .flat_map(|overlay| &overlay.paths)
        .filter(|path| path.result == Some(None))
        .map(|path| path.new_path().clone())
        .collect();
    let mut listing = None;
    for overlay in overlays {
        let mut changed = false;
        for path in &mut overlay.paths {
            let is_file = path.result.as_ref().is_some_and(Option::is_some);
            match is_file.then(|| in_the_way(question, path.new_path(), &gone, &mut listing)) {
                Some(Ok(Some(why))) => {
                    path.outcome = Outcome::Collides;
                    leave_open(path, why);
                    changed = true;
                }
                Some(Err(error)) => {
                    path.outcome = Outcome::Unknown;
                    leave_open(path, error.to_string());
                    changed = true;
                }
                _ => {}
            }
        }
        if changed {
            overlay.outcome = OverlayPlan::roll_up(overlay.paths.iter().map(|path| path.outcome));
        }
    }
}

/// What upstream has in the way of a file, as a sentence.
fn in_the_way(
    question: &Question<'_>,
    path: &UpstreamPath,
    gone: &BTreeSet<UpstreamPath>,
    listing: &mut Option<Listing>,
) -> Result<Option<String>, UpstreamError> {
    // What is a file there is in nobody's way, and most are.
    if question.upstream.entry(question.to, path)?.is_some() {
        return Ok(None);
    }
    let listing = match listing {
        Some(listing) => listing,
        None => listing.insert(question.upstream.listing(question.to)?),
    };
    let above = path.ancestors().filter_map(|ancestor| UpstreamPath::parse(ancestor).ok());
    for ancestor in above.filter(|ancestor| !gone.contains(ancestor)) {
        if listing.contains_key(&ancestor) {
            return Ok(Some(format!("upstream has a file {ancestor} by now, so there can be none below it")));
        }
    }
    let inside = |other: &UpstreamPath| {
        other.as_bytes().strip_prefix(path.as_bytes().as_bytes()).is_some_and(|rest| rest.starts_with(b"/"))
    };
    let from = listing.range(path..).map(|(other, _)| other);
    // Between a path and what is below it there may be others: `d`, `d-x`, `d/x`.
    let mut near = from.take_while(|other| other.as_bytes().starts_with(path.as_bytes()));
    let below = near.find(|other| inside(other) && !gone.contains(*other));
    Ok(below.map(|below| format!("upstream has a folder there by now, with {below}")))
}
