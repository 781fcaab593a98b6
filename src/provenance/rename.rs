//! Where a path went.
//!
//! Among the paths that were added, the one whose content is most like the removed one, if it is alike by half or more. The measure is git's for inexact renames (`diffcore-delta`): the share of bytes,
//! in pieces of a line or at most 64 bytes, that both have.

use std::collections::HashMap;

use crate::id::{CommitId, UpstreamPath};
use crate::tree::{Entry, Mode};
use crate::upstream::{Upstream, UpstreamError};

/// The least similarity, in percent, at which a path counts as renamed.
const THRESHOLD: u8 = 50;

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
    let Some(removed) = upstream.entry(base, path)?.filter(|entry| entry.mode != Mode::Submodule) else {
        return Ok(None);
    };
    let at_base = upstream.listing(base)?;
    let at_pin = upstream.listing(pin)?;
    let added: Vec<(&UpstreamPath, Entry)> = at_pin
        .iter()
        .filter(|(candidate, entry)| !at_base.contains_key(*candidate) && entry.mode != Mode::Submodule)
        .map(|(candidate, entry)| (candidate, *entry))
        .collect();
    if let Some(to) = same_content(path, removed, &added) {
        return Ok(Some((to, 100)));
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
    most_alike(upstream, path, removed, &added)
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
    let changes = upstream.diff(commit)?;
    let added = changes.iter().find(|change| change.path == *path).and_then(|change| change.after);
    let Some(added) = added.filter(|entry| entry.mode != Mode::Submodule) else { return Ok(None) };
    let removed: Vec<(&UpstreamPath, Entry)> = changes
        .iter()
        .filter(|change| change.after.is_none())
        .filter_map(|change| Some((&change.path, change.before?)))
        .filter(|(_, before)| before.mode != Mode::Submodule)
        .collect();
    most_alike(upstream, path, added, &removed)
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
    let changes = upstream.diff(commit)?;
    let removed = changes.iter().find(|change| change.path == *path).and_then(|change| change.before);
    let Some(removed) = removed.filter(|entry| entry.mode != Mode::Submodule) else {
        return Ok(None);
    };
    // What is another removed path's very content came from there.
    let is_of_another = |after: Entry| {
        let others = changes.iter().filter(|change| change.after.is_none() && change.path != *path);
        after.id != removed.id
            && others.filter_map(|change| change.before).any(|before| before.id == after.id)
    };
    let added: Vec<(&UpstreamPath, Entry)> = changes
        .iter()
        .filter_map(|change| match (change.before, change.after) {
            (None, Some(after)) if after.mode != Mode::Submodule && !is_of_another(after) => {
                Some((&change.path, after))
            }
            _ => None,
        })
        .collect();
    most_alike(upstream, path, removed, &added)
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

/// The candidate that has the very content that was removed.
fn same_content(
    path: &UpstreamPath,
    removed: Entry,
    added: &[(&UpstreamPath, Entry)],
) -> Option<UpstreamPath> {
    let exact = added.iter().filter(|(_, entry)| entry.id == removed.id);
    let found = exact.max_by_key(|(candidate, _)| candidate.file_name() == path.file_name());
    found.map(|(to, _)| (*to).clone())
}

/// The candidate that is most like what was removed, if it is alike by half or more. Of several that are alike as
/// much, the one with the same file name, as git prefers.
fn most_alike(
    upstream: &dyn Upstream,
    path: &UpstreamPath,
    removed: Entry,
    added: &[(&UpstreamPath, Entry)],
) -> Result<Option<(UpstreamPath, u8)>, UpstreamError> {
    if let Some(to) = same_content(path, removed, added) {
        return Ok(Some((to, 100)));
    }
    let same_name = |candidate: &UpstreamPath| candidate.file_name() == path.file_name();
    let content = upstream.blob(removed.id)?;
    let mut best: Option<(u8, bool, &UpstreamPath)> = None;
    for (candidate, entry) in added {
        let other = upstream.blob(entry.id)?;
        // Contents whose sizes differ by more than half share less than half.
        if other.len().min(content.len()) * 2 < other.len().max(content.len()) {
            continue;
        }
        let key = (similarity(&content, &other), same_name(candidate), *candidate);
        if key.0 >= THRESHOLD && best.is_none_or(|best| (key.0, key.1) > (best.0, best.1)) {
            best = Some(key);
        }
    }
    Ok(best.map(|(alike, _, to)| (to.clone(), alike)))
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
