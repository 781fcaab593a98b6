//! Which patch of a series builds on which, found out by trying.
//!
//! A patch needs an earlier one if it does not apply where that one, and what builds on it, is left out. A hunk that
//! applies at several places counts as not applying: nobody can say that it is the right one.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::id::UpstreamPath;
use crate::overlay::diff::{Applied, Body, Patch, Rejection, apply};
use crate::tree::{Changes, Content};

/// What was found out about a series.
#[derive(Debug, Default)]
pub struct Found {
    /// For each patch the earlier ones that it builds on; those that these build on in turn are left out.
    pub needs: Vec<Vec<usize>>,
    /// For each patch, how many of its hunks lie at another line than they say.
    pub offsets: Vec<usize>,
    /// Patches that do not apply in their order.
    pub refused: Vec<Refused>,
    /// How many were not tried, since one before them on the same paths does not apply.
    pub untried: usize,
}

/// A patch that does not apply behind those before it.
#[derive(Debug)]
pub struct Refused {
    /// Its place in the series, from 0.
    pub number: usize,
    /// What does not fit.
    pub rejections: Vec<Rejection>,
    /// GNU patch would apply it with this fuzz. We do not: it may be the wrong place.
    pub fuzz: Option<usize>,
}

/// What GNU patch allows if it is not told otherwise.
const MOST_FUZZ: usize = 2;

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
    let paths: Vec<BTreeSet<UpstreamPath>> = patches.iter().map(|patch| concerned(patch)).collect();
    let mut state = Changes::new();
    let mut unclear: BTreeSet<&UpstreamPath> = BTreeSet::new();
    for (number, patch) in patches.iter().enumerate() {
        if paths[number].iter().any(|path| unclear.contains(path)) {
            unclear.extend(&paths[number]);
            found.untried += 1;
            continue;
        }
        match put(patch, &state, &ground)? {
            Applied::Applied { changes, offsets, .. } => {
                found.offsets.push(offsets.len());
                state.extend(changes);
            }
            Applied::Refused(rejections) => {
                let fuzz = fuzz(patch, &state, &ground)?;
                unclear.extend(&paths[number]);
                found.refused.push(Refused { number, rejections, fuzz });
            }
        }
    }
    if !found.refused.is_empty() {
        return Ok(found);
    }
    let mut closures: Vec<BTreeSet<usize>> = Vec::new();
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

/// The fuzz with which GNU patch would apply a patch that does not apply.
fn fuzz<E>(
    patch: &Patch,
    state: &Changes,
    ground: &dyn Fn(&UpstreamPath) -> Result<Option<Content>, E>,
) -> Result<Option<usize>, E> {
    for fuzz in 1..=MOST_FUZZ {
        let mut loose = patch.clone();
        for file in &mut loose.files {
            if let Body::Text(hunks) = &mut file.body {
                *hunks = hunks.iter().map(|hunk| hunk.loosened(fuzz)).collect();
            }
        }
        if let Applied::Applied { .. } = put(&loose, state, ground)? {
            return Ok(Some(fuzz));
        }
    }
    Ok(None)
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
    fn all_that_do_not_apply_are_named_and_what_builds_on_them_is_not_tried() {
        let wrong = patch("x", "@@ -1,2 +1,2 @@\n-q\n+Q\n b\n");
        let on_it = patch("x", "@@ -1,2 +1,2 @@\n-Q\n+QQ\n b\n");
        let right = patch("y", "@@ -1 +1 @@\n-1\n+2\n");
        let wrong_too = patch("y", "@@ -1 +1 @@\n-1\n+3\n");
        let found = found(&[wrong, on_it, right, wrong_too]);
        assert_eq!(found.refused.iter().map(|refused| refused.number).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(found.untried, 1);
    }

    #[test]
    fn it_is_said_with_which_fuzz_gnu_patch_would_apply_it() {
        let of = |hunk: &str| found(&[patch("x", hunk)]).refused.first().and_then(|refused| refused.fuzz);
        assert_eq!(of("@@ -2,5 +2,5 @@\n X\n c\n-d\n+D\n e\n f\n"), Some(1));
        assert_eq!(of("@@ -1,7 +1,7 @@\n a\n X\n c\n-d\n+D\n e\n f\n g\n"), Some(2));
        assert_eq!(of("@@ -2,5 +2,5 @@\n b\n c\n-X\n+D\n e\n f\n"), None);
        // No context behind: none is left out in front either.
        assert_eq!(of("@@ -6,3 +6,3 @@\n X\n g\n-h\n+H\n"), Some(1));
    }
}
