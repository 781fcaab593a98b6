//! A rendered diff with what each of its lines is: code, or comments and layout only.
//!
//! Decides from tokens, and only by lines that another side has in the same order: removing all lines that are
//! marked as comments leaves equal code as it is. Never changes a line, and never guesses: where a side cannot be
//! taken apart, its lines are not marked as comments.

use std::collections::BTreeSet;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::id::UpstreamPath;
use crate::lex::{Delta, Language, code_of_lines, compare};

/// What a line of a diff is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Names, modes, ids, binary parts, "no newline".
    Head,
    /// The header of a hunk.
    Hunk {
        /// Whether all that the hunk changes is comments or layout.
        comments_only: bool,
    },
    /// A line of both sides.
    Context,
    /// A line of the old side.
    Removed(What),
    /// A line of the new side.
    Added(What),
}

/// What a changed line has that the other side has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Code, or something that cannot be told apart from it.
    Code,
    /// Comments or layout.
    Comments,
}

/// How many lines come and go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lines {
    /// New ones.
    pub added: usize,
    /// Old ones.
    pub removed: usize,
}

/// A diff of one path, line by line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Marked<'d> {
    /// Each line with its end, and what it is.
    pub lines: Vec<(Mark, &'d [u8])>,
}

impl Marked<'_> {
    /// How many lines of this sort come and go.
    #[must_use]
    pub fn count(&self, what: What) -> Lines {
        let count = |mark: Mark| self.lines.iter().filter(|(found, _)| *found == mark).count();
        Lines { added: count(Mark::Added(what)), removed: count(Mark::Removed(what)) }
    }
}

/// Marks the lines of a diff that [`super::render()`] made of these contents of a path.
#[must_use]
pub fn mark<'d>(path: &UpstreamPath, old: &[u8], new: &[u8], diff: &'d [u8]) -> Marked<'d> {
    let language = Language::of_path(path);
    let code = |source: &[u8]| language.and_then(|language| code_of_lines(language, source).ok());
    let sides = match (code(old), code(new)) {
        (Some(old_code), Some(new_code)) => Some(Sides {
            old: old_code,
            new: new_code,
            comments_only: compare(path, old, new).is_at_most(Delta::Comments),
        }),
        _ => None,
    };
    let mut marking = Marking {
        sides,
        lines: Vec::new(),
        block: None,
        hunk: None,
        old: 0,
        new: 0,
        old_code: BTreeSet::new(),
        new_code: BTreeSet::new(),
    };
    for line in diff.split_inclusive(|&b| b == b'\n') {
        marking.add(line);
    }
    marking.end_hunk();
    if !marking.leaves_equal_code() {
        // A comment that opens or ends takes lines with it that have not changed.
        marking.take_marks_back();
    }
    Marked { lines: marking.lines }
}

/// The code on each line of both sides.
struct Sides {
    old: Vec<Vec<u8>>,
    new: Vec<Vec<u8>>,
    comments_only: bool,
}

struct Marking<'d> {
    sides: Option<Sides>,
    lines: Vec<(Mark, &'d [u8])>,
    /// Where the changed lines began that are not yet marked.
    block: Option<usize>,
    /// Where the header of the hunk is.
    hunk: Option<usize>,
    /// The next lines of both sides, from 0, at the start of the block.
    old: usize,
    new: usize,
    /// The lines of both sides that are marked as code, from 0.
    old_code: BTreeSet<usize>,
    new_code: BTreeSet<usize>,
}

impl<'d> Marking<'d> {
    fn add(&mut self, line: &'d [u8]) {
        match line.first() {
            Some(b'@') if self.hunk.is_some() || line.starts_with(b"@@ -") => {
                self.end_hunk();
                self.hunk = Some(self.lines.len());
                (self.old, self.new) = hunk_start(line).unwrap_or_default();
                self.lines.push((Mark::Hunk { comments_only: false }, line));
            }
            // Before the first hunk, `---` and `+++` are names.
            Some(b'+') if self.hunk.is_some() => {
                self.block.get_or_insert(self.lines.len());
                self.lines.push((Mark::Added(What::Code), line));
            }
            Some(b'-') if self.hunk.is_some() => {
                self.block.get_or_insert(self.lines.len());
                self.lines.push((Mark::Removed(What::Code), line));
            }
            Some(b' ') if self.hunk.is_some() => {
                self.end_block();
                (self.old, self.new) = (self.old + 1, self.new + 1);
                self.lines.push((Mark::Context, line));
            }
            // It belongs to the line above, which the other side may still answer.
            Some(b'\\') => self.lines.push((Mark::Head, line)),
            _ => {
                self.end_hunk();
                self.lines.push((Mark::Head, line));
            }
        }
    }

    /// Marks the lines of a block: code that stands on both sides, in the same order, has not changed.
    fn end_block(&mut self) {
        let Some(start) = self.block.take() else { return };
        let of = |added: bool| -> Vec<usize> {
            let is_side = |mark: Mark| match mark {
                Mark::Added(_) => added,
                Mark::Removed(_) => !added,
                _ => false,
            };
            (start..self.lines.len()).filter(|at| is_side(self.lines[*at].0)).collect()
        };
        let (removed, added) = (of(false), of(true));
        let mut comments = Vec::new();
        if let Some(sides) = &self.sides {
            let code = |lines: &[usize], code: &[Vec<u8>], first: usize| -> Vec<(usize, Vec<u8>)> {
                let code = code.get(first..).unwrap_or_default();
                lines.iter().copied().zip(code.iter().cloned()).collect()
            };
            let mut old = code(&removed, &sides.old, self.old);
            let mut new = code(&added, &sides.new, self.new);
            for side in [&mut old, &mut new] {
                let is_comment = |line: &(usize, Vec<u8>)| sides.comments_only || line.1.is_empty();
                comments.extend(side.iter().filter(|line| is_comment(line)).map(|line| line.0));
                side.retain(|line| !is_comment(line));
            }
            let text = |side: &[(usize, Vec<u8>)]| -> Vec<Vec<u8>> {
                side.iter().map(|line| line.1.clone()).collect()
            };
            for same in capture_diff_slices(Algorithm::Myers, &text(&old), &text(&new)) {
                if let DiffOp::Equal { old_index, new_index, len } = same {
                    comments.extend(old[old_index..old_index + len].iter().map(|line| line.0));
                    comments.extend(new[new_index..new_index + len].iter().map(|line| line.0));
                }
            }
        }
        for at in comments {
            if let Mark::Added(what) | Mark::Removed(what) = &mut self.lines[at].0 {
                *what = What::Comments;
            }
        }
        let is_code =
            |at: usize| matches!(self.lines[at].0, Mark::Added(What::Code) | Mark::Removed(What::Code));
        let (old, new) = (self.old, self.new);
        self.old_code
            .extend(removed.iter().enumerate().filter(|(_, at)| is_code(**at)).map(|(n, _)| old + n));
        self.new_code.extend(added.iter().enumerate().filter(|(_, at)| is_code(**at)).map(|(n, _)| new + n));
        (self.old, self.new) = (old + removed.len(), new + added.len());
    }

    /// Whether both sides are the same code when the lines are left out that are marked as code.
    fn leaves_equal_code(&self) -> bool {
        let Some(sides) = &self.sides else { return true };
        fn rest<'s>(side: &'s [Vec<u8>], code: &'s BTreeSet<usize>) -> impl Iterator<Item = &'s Vec<u8>> {
            let lines = side.iter().enumerate().filter(|(line, _)| !code.contains(line));
            lines.map(|(_, code)| code).filter(|code| !code.is_empty())
        }
        sides.comments_only || rest(&sides.old, &self.old_code).eq(rest(&sides.new, &self.new_code))
    }

    fn take_marks_back(&mut self) {
        for (mark, _) in &mut self.lines {
            match mark {
                Mark::Hunk { comments_only } => *comments_only = false,
                Mark::Added(what) | Mark::Removed(what) => *what = What::Code,
                Mark::Head | Mark::Context => {}
            }
        }
    }

    fn end_hunk(&mut self) {
        self.end_block();
        let Some(at) = self.hunk.take() else { return };
        let is_code = |mark: Mark| matches!(mark, Mark::Added(What::Code) | Mark::Removed(What::Code));
        let comments_only = !self.lines[at..].iter().any(|(mark, _)| is_code(*mark));
        self.lines[at].0 = Mark::Hunk { comments_only };
    }
}

/// The first lines of a hunk, old and new, from 0. A side with no lines starts one further down.
fn hunk_start(header: &[u8]) -> Option<(usize, usize)> {
    let text = std::str::from_utf8(header).ok()?;
    let mut ranges = text.split(' ').skip(1);
    let mut start = || -> Option<usize> {
        let range = ranges.next()?.get(1..)?;
        let (start, lines) = range.split_once(',').unwrap_or((range, "1"));
        let start: usize = start.parse().ok()?;
        Some(if lines == "0" { start } else { start.saturating_sub(1) })
    };
    Some((start()?, start()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlay::diff::render;
    use crate::tree::{Content, Mode};

    /// The changed lines, each with `c` for code or `.` for comments before it.
    fn marks(path: &str, old: &str, new: &str) -> Vec<String> {
        let path = UpstreamPath::parse(path).unwrap();
        let content = |text: &str| Content { mode: Mode::File, bytes: text.as_bytes().into() };
        let (old, new) = (content(old), content(new));
        let diff = render(Some((&path, &old)), Some((&path, &new)));
        let marked = mark(&path, &old.bytes, &new.bytes, &diff);
        let shown = |(mark, line): &(Mark, &[u8])| {
            let line = String::from_utf8_lossy(line).trim_end().to_owned();
            match mark {
                Mark::Added(What::Code) | Mark::Removed(What::Code) => Some(format!("c{line}")),
                Mark::Added(What::Comments) | Mark::Removed(What::Comments) => Some(format!(".{line}")),
                Mark::Hunk { comments_only: true } => Some("comments only".to_owned()),
                _ => None,
            }
        };
        marked.lines.iter().filter_map(shown).collect()
    }

    #[test]
    fn a_line_whose_comment_alone_changes_is_a_comment() {
        let old = "int a; // one\nint b;\n";
        assert_eq!(
            marks("a.cu", old, "int a; // two\nint c;\n"),
            [".-int a; // one", "c-int b;", ".+int a; // two", "c+int c;"]
        );
        assert_eq!(
            marks("a.cu", old, "// new\nint a; // two\nint b;\n"),
            ["comments only", ".-int a; // one", ".+// new", ".+int a; // two"]
        );
    }

    #[test]
    fn lines_that_change_places_are_code() {
        let found = marks("a.c", "int a; // x\nint b; // y\n", "int b; // z\nint a; // x\n");
        assert!(found.iter().any(|line| line.starts_with("c-")), "{found:?}");
        assert!(found.iter().any(|line| line.starts_with("c+")), "{found:?}");
    }

    #[test]
    fn layout_that_means_something_is_code() {
        assert_eq!(marks("a.py", "if a:\n    b\nc\n", "if a:\n    b\n    c\n"), ["c-c", "c+    c"]);
        assert_eq!(marks("a.cc", "auto a = R\"(\n\n)\";\n", "auto a = R\"(\n)\";\n"), ["c-"]);
    }

    #[test]
    fn a_comment_that_takes_lines_with_it_is_code() {
        let old = "int a;\nint b;\n\n\n\n\n\n\nint c;\n";
        for comment in ["int a; // \\", "/* */ int a; //\\"] {
            let found = marks("a.cu", old, &old.replace("int a;", comment));
            assert_eq!(found, ["c-int a;".to_owned(), format!("c+{comment}")]);
        }
        // It opens in one hunk and ends in another.
        let new = old.replace("int a;", "/*\nint a;").replace("int c;", "*/\nint c;");
        assert_eq!(marks("a.cu", old, &new), ["c+/*", "c+*/"]);
    }

    #[test]
    fn what_cannot_be_taken_apart_is_code() {
        assert_eq!(marks("a.txt", "// one\n", "// two\n"), ["c-// one", "c+// two"]);
        assert_eq!(marks("a.c", "/* one\n", "// two\n"), ["c-/* one", "c+// two"]);
    }

    #[test]
    fn each_hunk_counts_its_own_lines() {
        let old: String = (0..30).map(|n| format!("int a{n};\n")).collect();
        let new = old.replace("int a2;", "// here\nint a2;").replace("int a27;", "int b;");
        assert_eq!(marks("a.c", &old, &new), ["comments only", ".+// here", "c-int a27;", "c+int b;"]);
    }
}
