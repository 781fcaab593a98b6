//! Somebody's content in the way of `apply` or `restore`: what it is, as far as that can be told.
//!
//! Decides what to say. That it cannot be told is no failure: the refusal stands anyway.

use std::collections::BTreeMap;
use std::path::Path;

use crate::escape::for_terminal;
use crate::id::{BlobId, UpstreamPath};
use crate::io::store::Store;
use crate::io::tree::content_on_disk;
use crate::plan::{Difference, Refusal, Wanted, is_all_missing};
use crate::upstream::{Touch, Upstream};

use super::apply::plural;
use super::{Failure, FailureKind, Ui};

/// Beyond this many bytes lines are not counted.
const LARGE: usize = 4 << 20;

/// Says which paths are in the way, and what stands there. `elsewhere`: that the tree is checked out at another commit.
/// `command`: the one that was run.
pub(super) fn refused(
    refusals: &[Refusal],
    dir: &Path,
    wanted: &Wanted,
    store: Option<&Store>,
    elsewhere: Option<String>,
    command: &str,
    ui: &mut Ui,
) -> Failure {
    let known = store.map(|store| commits_of(refusals, wanted, store)).unwrap_or_default();
    let mut kind = FailureKind::NeedsPerson;
    for refusal in refusals {
        if !refusal.difference.is_content() {
            kind = FailureKind::Environment;
        }
        let mut line = format!("{}: {}", for_terminal(refusal.path.as_bytes()), refusal.difference);
        if let Some(amount) = amount_of(refusal, dir, wanted, store) {
            line += &format!("; {amount}");
        }
        if let Some(commit) = known.get(&refusal.path) {
            line += &format!("; it is at the bytes of commit {commit}");
        }
        let owners = wanted.owners_of(&refusal.path);
        if !owners.is_empty() {
            line += &format!(" (overlay {owners} writes there)");
        }
        ui.note(line);
    }
    let paths = plural(refusals.len(), "path is", "paths are");
    let hint = elsewhere.unwrap_or_else(|| match is_all_missing(refusals) {
        true => format!("is it a tree of this upstream? to put there what is missing: {command} --force"),
        false => {
            format!(
                "make an overlay of the edit or undo it; to overwrite it (a copy is kept): {command} --force"
            )
        }
    });
    Failure::new(kind, format!("{paths} in the way; nothing was changed")).with_hint(hint)
}

/// How much a file differs from what is expected there: lines, or that it is binary.
fn amount_of(refusal: &Refusal, dir: &Path, wanted: &Wanted, store: Option<&Store>) -> Option<String> {
    let Difference::Edited { found, expected } = &refusal.difference else { return None };
    if found.id == expected.id {
        return None;
    }
    let here = content_on_disk(dir, &refusal.path).ok()??;
    if BlobId::of(&here) != found.id {
        return None;
    }
    let (there, of_what) = match wanted.changes.get(&refusal.path) {
        Some(Some(content)) if content.entry().id == expected.id => (content.bytes.clone(), "the overlay's"),
        _ => match store?.blob(expected.id) {
            Ok(bytes) => (bytes, "upstream's"),
            // What an earlier overlay wrote; that is not here any more.
            Err(_) => (store?.blob(wanted.listing.get(&refusal.path)?.id).ok()?, "upstream's"),
        },
    };
    let is_binary = |bytes: &[u8]| bytes.iter().take(8000).any(|byte| *byte == 0);
    if is_binary(&here) || is_binary(&there) {
        return Some(format!("binary, {} bytes, {of_what} has {}", here.len(), there.len()));
    }
    if here.len().max(there.len()) > LARGE {
        return Some(format!("{} bytes, {of_what} has {}", here.len(), there.len()));
    }
    let (added, removed) = count_lines(&there, &here);
    Some(format!("{} added and {removed} removed against {of_what}", plural(added, "line", "lines")))
}

/// How many lines a text has that the other has not, and the reverse.
fn count_lines(before: &[u8], after: &[u8]) -> (usize, usize) {
    let lines = |text| bstr::ByteSlice::lines_with_terminator(text).collect::<Vec<&[u8]>>();
    let (before, after) = (lines(before), lines(after));
    let ops = similar::capture_diff_slices(similar::Algorithm::Myers, &before, &after);
    ops.iter().fold((0, 0), |(added, removed), op| match op.tag() {
        similar::DiffTag::Equal => (added, removed),
        _ => (added + op.new_range().len(), removed + op.old_range().len()),
    })
}

/// For paths that are at the bytes of an upstream commit, the newest such commit.
fn commits_of(refusals: &[Refusal], wanted: &Wanted, store: &Store) -> BTreeMap<UpstreamPath, String> {
    let found: BTreeMap<UpstreamPath, BlobId> = refusals
        .iter()
        .filter_map(|refusal| match &refusal.difference {
            Difference::Edited { found, .. } | Difference::Unknown { found } => {
                Some((refusal.path.clone(), found.id))
            }
            _ => None,
        })
        .collect();
    if found.is_empty() {
        return BTreeMap::new();
    }
    let paths: Vec<UpstreamPath> = found.keys().cloned().collect();
    let newest = store.default_branch().and_then(|branch| store.resolve(&branch).ok().flatten());
    // The main branch may be where the file is from, or its history may not be here.
    let mut touches: Vec<Touch> = Vec::new();
    for tip in newest.into_iter().chain([wanted.commit]) {
        touches.extend(store.history(tip, None, &paths).unwrap_or_default());
    }
    let mut known = BTreeMap::new();
    for touch in touches {
        let is_it = touch.after.is_some_and(|after| found.get(&touch.path) == Some(&after.id));
        if is_it && !known.contains_key(&touch.path) {
            let subject = store.commit(touch.commit).map(|commit| for_terminal(&commit.subject));
            known.insert(
                touch.path,
                match subject {
                    Ok(subject) => format!("{} ({subject})", touch.commit),
                    Err(_) => touch.commit.to_string(),
                },
            );
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::count_lines;

    #[test]
    fn lines_are_counted_by_their_bytes() {
        assert_eq!(count_lines(b"a\nb\nc\n", b"a\nx\ny\nc\n"), (2, 1));
        assert_eq!(count_lines(b"a\n", b"a\r\n"), (1, 1));
        assert_eq!(count_lines(b"a\n", b"a"), (1, 1));
        assert_eq!(count_lines(b"", b"a\nb"), (2, 0));
    }
}
