//! Where a path went.
//!
//! Among the paths that were added, the one whose content is most like the removed one, if it is alike by half or more. No
//! added path is the place of two removed ones ([`pairs`]). The measure is git's for inexact renames (`diffcore-delta`): the
//! share of bytes, in pieces of a line or at most 64 bytes, that both have.

mod pairs;

use std::collections::HashMap;

use crate::id::{CommitId, UpstreamPath};
use crate::tree::{Entry, Listing, Mode};
use crate::upstream::{Upstream, UpstreamError};

use pairs::{Pairs, Standing};

/// How alike two contents are, in percent: 100 only for equal ones.
#[must_use]
pub fn similarity(a: &[u8], b: &[u8]) -> u8 {
    if a == b {
        return 100;
    }
    let larger = a.len().max(b.len());
    if larger == 0 {
        return 100;
    }
    u8::try_from(shared(a, b) * 100 / larger).unwrap_or(100).min(99)
}

/// The bytes that both have, piece by piece.
fn shared(a: &[u8], b: &[u8]) -> usize {
    let mut pieces: HashMap<&[u8], usize> = HashMap::new();
    for piece in split(a) {
        *pieces.entry(piece).or_default() += 1;
    }
    let mut shared = 0;
    for piece in split(b) {
        if let Some(left) = pieces.get_mut(piece)
            && *left > 0
        {
            *left -= 1;
            shared += piece.len();
        }
    }
    shared
}

fn split(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split_inclusive(|&b| b == b'\n').flat_map(|line| line.chunks(64))
}

/// Where a path of the base is at the pin, and how much of the base's content, in percent.
///
/// The very content, if the pin has it at a path that the base has not. Else along the commits that removed it and the
/// names that it had after them. If that leads nowhere, by a look at all paths that the pin has and the base has not,
/// as `git diff -M` does.
///
/// # Errors
/// If the upstream cannot be read.
pub(super) fn follow(
    upstream: &dyn Upstream,
    path: &UpstreamPath,
    removed_by: CommitId,
    base: CommitId,
    pin: CommitId,
) -> Result<Option<(UpstreamPath, u8)>, UpstreamError> {
    if upstream.entry(base, path)?.is_none_or(|entry| entry.mode == Mode::Submodule) {
        return Ok(None);
    }
    let at_base = upstream.listing(base)?;
    let at_pin = upstream.listing(pin)?;
    let only = |here: &Listing, there: &Listing| -> Vec<(UpstreamPath, Entry)> {
        let paths =
            here.iter().filter(|(path, entry)| !there.contains_key(*path) && entry.mode != Mode::Submodule);
        paths.map(|(path, entry)| (path.clone(), *entry)).collect()
    };
    let (gone, come) = (only(&at_base, &at_pin), only(&at_pin, &at_base));
    let (gone, come) = (standing(&gone), standing(&come));
    let place = gone.iter().position(|(other, _)| *other == path);
    let moved = |pairs: &Pairs| {
        let (to, alike) = pairs.to(place?)?;
        Some((come[to].0.clone(), alike))
    };
    if let Some(found) = moved(&pairs::same(&gone, &come)) {
        return Ok(Some(found));
    }
    let mut step = one_step(upstream, removed_by, path)?;
    let mut since = removed_by;
    for _ in 0..MOST_STEPS {
        let Some((to, alike)) = step else { break };
        if at_pin.contains_key(&to) {
            return Ok(Some((to, alike)));
        }
        let touches = upstream.history(pin, Some(since), std::slice::from_ref(&to))?;
        let Some(removed) = touches.iter().find(|touch| touch.after.is_none()) else { break };
        since = removed.commit;
        step = one_step(upstream, since, &to)?;
    }
    Ok(moved(&pairs::pairs(&gone, &come, path, upstream)?))
}

/// How often a path may have moved.
const MOST_STEPS: usize = 20;

/// Where a path that a commit added came from, and how much of its content: among the paths that the commit removed.
///
/// # Errors
/// If the upstream cannot be read.
pub(super) fn came_from(
    upstream: &dyn Upstream,
    commit: CommitId,
    path: &UpstreamPath,
) -> Result<Option<(UpstreamPath, u8)>, UpstreamError> {
    let moves = Moves::of(upstream, commit)?;
    let (removed, added) = moves.standing();
    let Some(place) = added.iter().position(|(other, _)| *other == path) else { return Ok(None) };
    let found = pairs::pairs(&removed, &added, path, upstream)?.from(place);
    Ok(found.map(|(from, alike)| (removed[from].0.clone(), alike)))
}

/// What a commit removes and what it adds.
struct Moves {
    removed: Vec<(UpstreamPath, Entry)>,
    added: Vec<(UpstreamPath, Entry)>,
}

impl Moves {
    fn of(upstream: &dyn Upstream, commit: CommitId) -> Result<Self, UpstreamError> {
        let mut moves = Self { removed: Vec::new(), added: Vec::new() };
        for change in upstream.diff(commit)? {
            match (change.before, change.after) {
                (Some(entry), None) if entry.mode != Mode::Submodule => {
                    moves.removed.push((change.path, entry));
                }
                (None, Some(entry)) if entry.mode != Mode::Submodule => {
                    moves.added.push((change.path, entry));
                }
                _ => {}
            }
        }
        moves.removed.sort_by(|a, b| a.0.cmp(&b.0));
        moves.added.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(moves)
    }

    fn standing(&self) -> (Vec<Standing<'_>>, Vec<Standing<'_>>) {
        (standing(&self.removed), standing(&self.added))
    }
}

fn standing(paths: &[(UpstreamPath, Entry)]) -> Vec<Standing<'_>> {
    paths.iter().map(|(path, entry)| (path, *entry)).collect()
}

/// Where a path went in the commit that removed it.
///
/// # Errors
/// If the upstream cannot be read.
pub(super) fn one_step(
    upstream: &dyn Upstream,
    commit: CommitId,
    path: &UpstreamPath,
) -> Result<Option<(UpstreamPath, u8)>, UpstreamError> {
    let moves = Moves::of(upstream, commit)?;
    let (removed, added) = moves.standing();
    let Some(place) = removed.iter().position(|(other, _)| *other == path) else { return Ok(None) };
    let found = pairs::pairs(&removed, &added, path, upstream)?.to(place);
    Ok(found.map(|(to, alike)| (added[to].0.clone(), alike)))
}

/// The share of its content, in percent, from which a file counts as a part of the one that was removed.
const PART: usize = 20;

/// The files that a commit added and that have a good part of the content of a path that it removed, with their
/// shares in percent; the largest first.
///
/// # Errors
/// If the upstream cannot be read.
pub(super) fn parts(
    upstream: &dyn Upstream,
    commit: CommitId,
    path: &UpstreamPath,
) -> Result<Vec<(UpstreamPath, u8)>, UpstreamError> {
    let changes = upstream.diff(commit)?;
    let removed = changes.iter().find(|change| change.path == *path).and_then(|change| change.before);
    let Some(removed) = removed.filter(|entry| entry.mode != Mode::Submodule) else {
        return Ok(Vec::new());
    };
    let content = upstream.blob(removed.id)?;
    let mut parts = Vec::new();
    for change in &changes {
        let (None, Some(after)) = (change.before, change.after) else { continue };
        if after.mode == Mode::Submodule {
            continue;
        }
        let share = shared(&content, &upstream.blob(after.id)?) * 100 / content.len().max(1);
        if share >= PART {
            parts.push((change.path.clone(), u8::try_from(share).unwrap_or(100)));
        }
    }
    parts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::similarity;

    #[test]
    fn equal_contents_are_alike_and_others_less() {
        assert_eq!(similarity(b"a\nb\n", b"a\nb\n"), 100);
        assert_eq!(similarity(b"", b""), 100);
        assert_eq!(similarity(b"a\nb\n", b"b\na\n"), 99);
        assert_eq!(similarity(b"aaaa\nbbbb\n", b"aaaa\ncccc\n"), 50);
        assert_eq!(similarity(b"aaaa\n", b""), 0);
    }
}
