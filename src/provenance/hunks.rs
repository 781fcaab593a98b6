//! Which parts of a change a content has.
//!
//! A change has hunks: lines removed and lines added between a parent and a child. A content
//! has a hunk if all added lines are still there (aligned with the child's content) and all removed
//! lines are not (aligned with the parent's content). Lines without a letter or a digit (braces, blank ones) can
//! be aligned anywhere, so they do not count, unless the hunk has no others.

use similar::{Algorithm, DiffOp, capture_diff_slices};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
