//! Which patch of a series builds on which, found out by trying.
//!
//! A patch needs an earlier one if it does not apply where that one, and what builds on it, is left out. A hunk that
//! applies at several places counts as not applying: nobody can say that it is the right one.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::id::UpstreamPath;
use crate::overlay::diff::{Applied, Patch, Rejection, apply};
use crate::tree::{Changes, Content};

/// What was found out about a series.
#[derive(Debug, Default)]
pub struct Found {
    /// For each patch the earlier ones that it builds on; those that these build on in turn are left out.
    pub needs: Vec<Vec<usize>>,
    /// For each patch, how many of its hunks lie at another line than they say.
    pub offsets: Vec<usize>,
    /// Patches that do not apply in their order. What comes after the first one was not tried.
    pub refused: Vec<(usize, Vec<Rejection>)>,
}

/// Tries a series in its order on what `ground` gives, and then with patches left out.
///
/// # Errors
/// Only what `ground` returns.
pub fn find<E>(
    patches: &[&Patch],
    ground: &dyn Fn(&UpstreamPath) -> Result<Option<Content>, E>,
) -> Result<Found, E> {
    let seen: RefCell<BTreeMap<UpstreamPath, Option<Content>>> = RefCell::default();
    let ground = |path: &UpstreamPath| {
        if let Some(content) = seen.borrow().get(path) {
            return Ok(content.clone());
        }
        let content = ground(path)?;
        seen.borrow_mut().insert(path.clone(), content.clone());
        Ok(content)
    };
    let mut found = Found::default();
    let mut state = Changes::new();
    for (number, patch) in patches.iter().enumerate() {
        match put(patch, &state, &ground)? {
            Applied::Applied { changes, offsets, .. } => {
                found.offsets.push(offsets.len());
                state.extend(changes);
            }
            Applied::Refused(rejections) => {
                found.refused.push((number, rejections));
                return Ok(found);
            }
        }
    }
    let mut closures: Vec<BTreeSet<usize>> = Vec::new();
    let paths: Vec<BTreeSet<UpstreamPath>> = patches.iter().map(|patch| concerned(patch)).collect();
    for number in 0..patches.len() {
        let closure = closure_of(number, patches, &paths, &closures, &ground)?;
        let implied: BTreeSet<usize> =
            closure.iter().flat_map(|other| closures[*other].iter().copied()).collect();
        found.needs.push(closure.difference(&implied).copied().collect());
        closures.push(closure);
    }
    Ok(found)
}

/// Earlier patches without which this one does not apply, and those that they need.
fn closure_of<E>(
    number: usize,
    patches: &[&Patch],
    paths: &[BTreeSet<UpstreamPath>],
    closures: &[BTreeSet<usize>],
    ground: &dyn Fn(&UpstreamPath) -> Result<Option<Content>, E>,
) -> Result<BTreeSet<usize>, E> {
    let mut kept = related(number, paths);
    if kept.is_empty() || fits(number, &BTreeSet::new(), patches, ground)? {
        return Ok(BTreeSet::new());
    }
    // The latest first: it is the least likely to carry another.
    for other in kept.clone().into_iter().rev() {
        if !kept.contains(&other) {
            continue;
        }
        let without: BTreeSet<usize> =
            kept.iter().copied().filter(|one| *one != other && !closures[*one].contains(&other)).collect();
        if fits(number, &without, patches, ground)? {
            kept = without;
        }
    }
    // What is needed needs all of its own.
    let own: Vec<usize> = kept.iter().flat_map(|one| closures[*one].iter().copied()).collect();
    kept.extend(own);
    Ok(kept)
}

/// Earlier patches that share a path, directly or through others.
fn related(number: usize, paths: &[BTreeSet<UpstreamPath>]) -> BTreeSet<usize> {
    let mut wanted = paths[number].clone();
    let mut related = BTreeSet::new();
    for other in (0..number).rev() {
        if !paths[other].is_disjoint(&wanted) {
            related.insert(other);
            wanted.extend(paths[other].iter().cloned());
        }
    }
    related
}

/// Whether a patch applies, at one place each, on some of those before.
fn fits<E>(
    number: usize,
    on: &BTreeSet<usize>,
    patches: &[&Patch],
    ground: &dyn Fn(&UpstreamPath) -> Result<Option<Content>, E>,
) -> Result<bool, E> {
    let mut state = Changes::new();
    for other in on.iter().chain(std::iter::once(&number)) {
        match put(patches[*other], &state, ground)? {
            Applied::Applied { changes, offsets, .. } if offsets.iter().all(|offset| offset.places <= 1) => {
                state.extend(changes);
            }
            _ => return Ok(false),
        }
    }
    Ok(true)
}

fn put<E>(
    patch: &Patch,
    state: &Changes,
    ground: &dyn Fn(&UpstreamPath) -> Result<Option<Content>, E>,
) -> Result<Applied, E> {
    apply(patch, &|path: &UpstreamPath| match state.get(path) {
        Some(content) => Ok(content.clone()),
        None => ground(path),
    })
}

/// The paths that a patch reads or writes.
#[must_use]
pub fn concerned(patch: &Patch) -> BTreeSet<UpstreamPath> {
    patch.files.iter().flat_map(|file| file.old_path().into_iter().chain(file.new_path())).cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::overlay::diff::parse;

    fn patch(path: &str, hunk: &str) -> Patch {
        parse(format!("--- a/{path}\n+++ b/{path}\n{hunk}").as_bytes()).unwrap()
    }

    fn found(patches: &[Patch]) -> Found {
        let ground = |path: &UpstreamPath| -> Result<Option<Content>, Infallible> {
            let text: &[u8] = match path.to_string().as_str() {
                "x" => b"a\nb\nc\nd\ne\nf\ng\nh\n",
                "y" => b"1\n",
                _ => return Ok(None),
            };
            Ok(Some(Content::file(text)))
        };
        find(&patches.iter().collect::<Vec<_>>(), &ground).unwrap_or_else(|never| match never {})
    }

    #[test]
    fn a_patch_needs_those_whose_lines_it_stands_on() {
        let first = patch("x", "@@ -1,3 +1,3 @@\n-a\n+A\n b\n c\n");
        let apart = patch("x", "@@ -6,3 +6,3 @@\n f\n g\n-h\n+H\n");
        let second = patch("x", "@@ -1,3 +1,3 @@\n-A\n+AA\n b\n c\n");
        let third = patch("x", "@@ -1,3 +1,3 @@\n-AA\n+AAA\n b\n c\n");
        let other = patch("y", "@@ -1 +1 @@\n-1\n+2\n");
        let found = found(&[first, apart, second, other, third]);
        assert!(found.refused.is_empty());
        assert_eq!(found.needs, [vec![], vec![], vec![0], vec![], vec![2]]);
    }

    #[test]
    fn a_file_that_a_patch_creates_is_needed() {
        let create = parse(b"--- /dev/null\n+++ b/z\n@@ -0,0 +1 @@\n+1\n").unwrap();
        let change = patch("z", "@@ -1 +1 @@\n-1\n+2\n");
        assert_eq!(found(&[create, change]).needs, [vec![], vec![0]]);
    }

    #[test]
    fn the_first_that_does_not_apply_is_named() {
        let wrong = patch("x", "@@ -1,2 +1,2 @@\n-q\n+Q\n b\n");
        let after = patch("y", "@@ -1 +1 @@\n-1\n+2\n");
        let found = found(&[wrong, after]);
        assert_eq!(found.refused.len(), 1);
        assert_eq!(found.refused[0].0, 0);
    }
}
