//! Whether a content has an upstream commit's change of that path.
//!
//! A change has hunks: lines removed and lines added between the commit's parent and the commit. A content
//! has a hunk if all added lines are still there (aligned with the commit's content) and all removed
//! lines are not (aligned with the parent's content). Lines without a letter or a digit (braces, blank ones) can
//! be aligned anywhere, so they do not count, unless the hunk has no others. A commit is included if all its
//! hunks are, or upstream itself took the others out again.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::merge::is_binary;
use crate::tree::Content;

/// One change of some lines: ranges of the old and of the new text, in lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) old: std::ops::Range<usize>,
    pub(super) new: std::ops::Range<usize>,
}

pub(super) fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|&b| b == b'\n').collect()
}

pub(super) fn hunks(old: &[&[u8]], new: &[&[u8]]) -> Vec<Hunk> {
    capture_diff_slices(Algorithm::Histogram, old, new)
        .into_iter()
        .filter(|op| !matches!(op, DiffOp::Equal { .. }))
        .map(|op| Hunk { old: op.old_range(), new: op.new_range() })
        .collect()
}

/// Which lines of `from` are aligned with an equal line of `to`.
fn matched(from: &[&[u8]], to: &[&[u8]]) -> Vec<bool> {
    let mut matched = vec![false; from.len()];
    for op in capture_diff_slices(Algorithm::Histogram, from, to) {
        if let DiffOp::Equal { old_index, len, .. } = op {
            matched[old_index..old_index + len].fill(true);
        }
    }
    matched
}

/// Which hunks of the change `parent` -> `commit` are in `content`.
pub(super) fn present(parent: &[u8], commit: &[u8], content: &[u8]) -> Vec<bool> {
    let (parent, commit, content) = (lines(parent), lines(commit), lines(content));
    let kept_of_parent = matched(&parent, &content);
    let kept_of_commit = matched(&commit, &content);
    let is_present = |hunk: &Hunk| {
        let counts = |line: &&[u8]| line.iter().any(u8::is_ascii_alphanumeric);
        let (old, new) = (&parent[hunk.old.clone()], &commit[hunk.new.clone()]);
        let says_something = old.iter().chain(new).any(counts);
        let all = |lines: &[&[u8]], start: usize, kept: &[bool], expected: bool| {
            lines
                .iter()
                .enumerate()
                .filter(|(_, line)| counts(line) || !says_something)
                .all(|(offset, _)| kept[start + offset] == expected)
        };
        all(new, hunk.new.start, &kept_of_commit, true) && all(old, hunk.old.start, &kept_of_parent, false)
    };
    hunks(&parent, &commit).iter().map(is_present).collect()
}

/// A version of a path: what stood there before a commit, and after it.
#[derive(Debug, Clone)]
pub(super) struct Version {
    pub(super) before: Option<Content>,
    pub(super) after: Option<Content>,
}

/// For each of the commits that led to the pin, oldest first, whether `ours` takes it out again.
///
/// A change that `ours` does not have is undone if the pin still has it. If a later commit took it out of upstream
/// itself, it is undone if that later commit is: who has the later one has all of it.
pub(super) fn undone(versions: &[Version], ours: Option<&Content>) -> Vec<bool> {
    let mut undone = vec![false; versions.len()];
    for index in (0..versions.len()).rev() {
        let missing = missing_from(&versions[index], ours);
        undone[index] = missing.into_iter().any(|part| {
            let has_it = |later: &usize| {
                !missing_from(&versions[index], versions[*later].after.as_ref()).contains(&part)
            };
            // Upstream has a part up to some commit, and not after it.
            let later: Vec<usize> = (index + 1..versions.len()).collect();
            match later.partition_point(has_it) {
                end if end == later.len() => true,
                end => undone[later[end]],
            }
        });
    }
    undone
}

/// A part of a commit's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Hunk(usize),
    Mode,
    /// The whole: the path came or went, or is not text.
    All,
}

/// The parts of a commit's change that a content does not have.
fn missing_from(version: &Version, content: Option<&Content>) -> Vec<Part> {
    let (before, after) = (version.before.as_ref(), version.after.as_ref());
    if content == after {
        return Vec::new();
    }
    let (Some(after), Some(content)) = (after, content) else {
        return vec![Part::All];
    };
    let empty = Content { mode: after.mode, bytes: [].into() };
    let before = before.unwrap_or(&empty);
    let mut missing = Vec::new();
    if before.mode != after.mode && content.mode != after.mode {
        missing.push(Part::Mode);
    }
    if before.bytes == after.bytes || content.bytes == after.bytes {
        return missing;
    }
    if [before, after, content].iter().any(|side| is_binary(&side.bytes)) {
        missing.push(Part::All);
        return missing;
    }
    let hunks = present(&before.bytes, &after.bytes, &content.bytes);
    missing.extend(
        hunks.iter().enumerate().filter(|(_, present)| !**present).map(|(index, _)| Part::Hunk(index)),
    );
    missing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Mode;

    const PARENT: &[u8] = b"int f() {\n  return 1;\n}\n\nint g() {\n  return 2;\n}\n";
    const COMMIT: &[u8] = b"int f() {\n  return 10;\n}\n\nint g() {\n  return 20;\n}\n";

    #[test]
    fn the_parent_has_nothing_of_the_commit() {
        assert_eq!(present(PARENT, COMMIT, PARENT), [false, false]);
    }

    #[test]
    fn the_commit_has_all_of_it_and_so_has_what_is_built_on_it() {
        assert_eq!(present(PARENT, COMMIT, COMMIT), [true, true]);
        let built_on = [b"// ours\n", COMMIT, b"int h();\n"].concat();
        assert_eq!(present(PARENT, COMMIT, &built_on), [true, true]);
    }

    #[test]
    fn half_of_it_is_told_from_all_of_it() {
        let half = b"int f() {\n  return 10;\n}\n\nint g() {\n  return 2;\n}\n";
        assert_eq!(present(PARENT, COMMIT, half), [true, false]);
    }

    #[test]
    fn lines_that_were_only_removed_must_be_missing() {
        let removed = b"int f() {\n  return 1;\n}\n";
        assert_eq!(present(PARENT, removed, PARENT), [false]);
        assert_eq!(present(PARENT, removed, b"int f() {\n  return 7;\n}\n"), [true]);
    }

    /// Which commits between these versions are undone.
    fn undone_between(versions: &[&str], ours: &str) -> Vec<bool> {
        let file = |text: &str| Some(Content::file(text.as_bytes()));
        let versions: Vec<Version> =
            versions.windows(2).map(|pair| Version { before: file(pair[0]), after: file(pair[1]) }).collect();
        undone(&versions, file(ours).as_ref())
    }

    #[test]
    fn who_has_the_last_change_of_a_line_undoes_none_of_those_before() {
        let versions = ["int a = 1;\n", "int a = 2;\n", "int a = 3;\n"];
        assert_eq!(undone_between(&versions, "int a = 3;\nint ours;\n"), [false, false]);
        assert_eq!(undone_between(&versions, "int a = 2;\nint ours;\n"), [false, true]);
        assert_eq!(undone_between(&versions, "int a = 1;\nint ours;\n"), [true, true]);
    }

    #[test]
    fn a_change_that_upstream_took_back_is_not_undone_again() {
        let versions = ["int a = 1;\n", "int a = 2;\n", "int a = 1;\n"];
        assert_eq!(undone_between(&versions, "int a = 1;\nint ours;\n"), [false, false]);
        assert_eq!(undone_between(&versions, "int a = 2;\nint ours;\n"), [false, true]);
    }

    #[test]
    fn a_mode_is_a_change_too() {
        let file = Content::file(*b"a\n");
        let executable = Content { mode: Mode::Executable, ..file.clone() };
        let versions = [Version { before: Some(file.clone()), after: Some(executable.clone()) }];
        assert_eq!(undone(&versions, Some(&file)), [true]);
        assert_eq!(undone(&versions, Some(&executable)), [false]);
    }
}
