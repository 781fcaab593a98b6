//! Which parts of a change a content has.
//!
//! A change has hunks: lines removed and lines added between a parent and a child. A content
//! has a hunk if all added lines are still there (aligned with the child's content) and all removed
//! lines are not (aligned with the parent's content). Lines without a letter or a digit (braces, blank ones) can
//! be aligned anywhere, so they do not count, unless the hunk has no others.

use std::collections::HashMap;

use bstr::ByteSlice;

use super::align::{Aligner, Run};

/// One change of some lines: ranges of the old and of the new text, in lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) old: std::ops::Range<usize>,
    pub(super) new: std::ops::Range<usize>,
}

/// The lines of a text with their ends.
pub(super) fn each_line(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.find_byte(b'\n').map_or(rest.len(), |end| end + 1);
        let (line, after) = rest.split_at(end);
        rest = after;
        (!line.is_empty()).then_some(line)
    })
}

pub(super) fn lines(text: &[u8]) -> Vec<&[u8]> {
    each_line(text).collect()
}

/// The changes that lead from one text to another, in order.
pub(super) fn hunks<'t>(old: &[&'t [u8]], new: &[&'t [u8]]) -> Vec<Hunk> {
    let mut hunks = Vec::new();
    let (mut at_old, mut at_new) = (0, 0);
    let end = Run { old: old.len(), new: new.len(), len: 0 };
    for run in runs(old, new).into_iter().chain([end]) {
        if at_old < run.old || at_new < run.new {
            hunks.push(Hunk { old: at_old..run.old, new: at_new..run.new });
        }
        (at_old, at_new) = (run.old + run.len, run.new + run.len);
    }
    hunks
}

/// The lines that belong together.
fn runs<'t>(old: &[&'t [u8]], new: &[&'t [u8]]) -> Vec<Run> {
    // Numbers are compared faster than lines, and what is equal at both ends needs none.
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let mut numbers: HashMap<&'t [u8], u32, foldhash::fast::RandomState> = HashMap::default();
    let mut number = |line: &&'t [u8]| {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        *numbers.entry(*line).or_insert(next)
    };
    let old_middle: Vec<u32> = old[head..old.len() - tail].iter().map(&mut number).collect();
    let new_middle: Vec<u32> = new[head..new.len() - tail].iter().map(&mut number).collect();
    let mut runs = vec![Run { old: 0, new: 0, len: head }];
    let middle = Aligner::default().align(&old_middle, &new_middle);
    runs.extend(middle.into_iter().map(|run| Run { old: run.old + head, new: run.new + head, len: run.len }));
    runs.push(Run { old: old.len() - tail, new: new.len() - tail, len: tail });
    runs
}

/// Which lines of `from` are aligned with an equal line of `to`.
fn matched<'t>(from: &[&'t [u8]], to: &[&'t [u8]]) -> Vec<bool> {
    let mut matched = vec![false; from.len()];
    for run in runs(from, to) {
        matched[run.old..run.old + run.len].fill(true);
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
