//! Where a path went.
//!
//! Among the paths that the removing commit adds, the one whose content is most like the removed one, if it
//! is alike by half or more. The measure is git's for inexact renames (`diffcore-delta`): the share of bytes,
//! in pieces of a line or at most 64 bytes, that both have.

use std::collections::HashMap;

use crate::id::{CommitId, UpstreamPath};
use crate::tree::Mode;
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
    u8::try_from(shared * 100 / larger).unwrap_or(100).min(99)
}

fn split(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split_inclusive(|&b| b == b'\n').flat_map(|line| line.chunks(64))
}

/// Where the path went in the commit that removed it: the new path and the similarity in percent.
///
/// # Errors
/// If the upstream cannot be read.
pub(super) fn follow(
    upstream: &dyn Upstream,
    commit: CommitId,
    path: &UpstreamPath,
) -> Result<Option<(UpstreamPath, u8)>, UpstreamError> {
    let changes = upstream.diff(commit)?;
    let Some(removed) = changes.iter().find(|change| change.path == *path).and_then(|change| change.before)
    else {
        return Ok(None);
    };
    let added = || {
        changes.iter().filter_map(|change| match (change.before, change.after) {
            (None, Some(after)) if after.mode != Mode::Submodule => Some((&change.path, after)),
            _ => None,
        })
    };
    let mut exact: Vec<_> = added().filter(|(_, after)| after.id == removed.id).collect();
    // Several copies: the one with the same file name, as git prefers.
    exact.sort_by_key(|(candidate, _)| candidate.file_name() != path.file_name());
    if let Some((to, _)) = exact.first() {
        return Ok(Some(((*to).clone(), 100)));
    }
    let content = upstream.blob(removed.id)?;
    let mut best: Option<(u8, bool, &UpstreamPath)> = None;
    for (candidate, after) in added() {
        let alike = similarity(&content, &upstream.blob(after.id)?);
        let key = (alike, candidate.file_name() == path.file_name(), candidate);
        if alike >= THRESHOLD && best.is_none_or(|best| (key.0, key.1) > (best.0, best.1)) {
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
