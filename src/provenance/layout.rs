//! Lines that two texts have in common but for white space between their tokens.
//!
//! Where a line's tokens stand in the other text, one after the other and at the same place, on lines that have no others,
//! nothing of the line is missing there. The lexer decides what a token is: a string's content, a directive's end and the blocks of Python are tokens,
//! so where such layout occurs, all tokens of the place have to be equal. Where a text cannot be taken apart, bytes decide.

use std::collections::HashMap;
use std::ops::Range;

use bstr::ByteSlice;

use crate::id::UpstreamPath;
use crate::lex::{self, Delta, Language, Token, TokenKind};
use crate::tree::{Content, Mode};

use super::align::Aligner;
use super::hunks::{hunks, lines};

/// For each line of two texts whether its tokens stand in the other one, though the line itself does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SameTokens {
    pub(super) old: Vec<bool>,
    pub(super) new: Vec<bool>,
}

/// Compares the lines that two contents of a path do not have in common; `None` if there are none with equal tokens.
pub(super) fn same_tokens(
    path: &UpstreamPath,
    old: Option<&Content>,
    new: Option<&Content>,
) -> Option<SameTokens> {
    let is_file = |content: &&Content| matches!(content.mode, Mode::File | Mode::Executable);
    let (old, new) = (&old.filter(is_file)?.bytes, &new.filter(is_file)?.bytes);
    let language = Language::of_path(path)?;
    let (old_lines, new_lines) = (lines(old), lines(new));
    let mut places = hunks(&old_lines, &new_lines);
    places.retain(|place| may_be_same(&old_lines[place.old.clone()], &new_lines[place.new.clone()]));
    if places.is_empty() {
        return None;
    }
    let (old_text, new_text) = (Text::of(language, old, &old_lines)?, Text::of(language, new, &new_lines)?);
    let mut same = SameTokens { old: vec![false; old_lines.len()], new: vec![false; new_lines.len()] };
    for place in places {
        compare((&old_text, place.old), (&new_text, place.new), &mut same);
    }
    same.old.contains(&true).then_some(same)
}

/// Whether a commit changed white space between tokens only, and no comment.
pub(super) fn is_layout_only(path: &UpstreamPath, before: &Content, after: &Content) -> bool {
    let said = |content: &Content| -> Vec<u8> {
        content.bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
    };
    said(before) == said(after) && lex::compare_contents(path, before, after).is_at_most(Delta::Whitespace)
}

/// A text of some lines without any white space.
pub(super) fn without_space<'t>(lines: impl Iterator<Item = &'t [u8]>) -> Vec<u8> {
    lines.flatten().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
}

/// Whether a line that says something may stand on the other side but for white space: cheap, and never wrongly false.
fn may_be_same(old: &[&[u8]], new: &[&[u8]]) -> bool {
    let other = without_space(new.iter().copied());
    let mut said = old.iter().map(|line| without_space(std::iter::once(*line)));
    said.any(|line| line.iter().any(u8::is_ascii_alphanumeric) && other.contains_str(&line))
}

/// A text taken apart.
struct Text<'t> {
    source: &'t [u8],
    tokens: Vec<Token>,
    /// Where each line starts, and where the last one ends.
    starts: Vec<usize>,
}

impl<'t> Text<'t> {
    fn of(language: Language, source: &'t [u8], lines: &[&[u8]]) -> Option<Self> {
        let tokens = lex::tokens(language, source).ok()?;
        let ends = lines.iter().scan(0, |end, line| {
            *end += line.len();
            Some(*end)
        });
        Some(Self { source, tokens, starts: std::iter::once(0).chain(ends).collect() })
    }

    /// The tokens that stand on these lines, or reach into them.
    fn on(&self, lines: Range<usize>) -> Range<usize> {
        let (start, end) = (self.starts[lines.start], self.starts[lines.end]);
        let first = self.tokens.partition_point(|token| token.span.end.max(token.span.start + 1) <= start);
        let last = self.tokens.partition_point(|token| token.span.start < end);
        first..last.max(first)
    }

    /// The line on which a token starts.
    fn line_of(&self, token: usize) -> usize {
        self.starts.partition_point(|start| *start <= self.tokens[token].span.start) - 1
    }

    fn has_layout(&self, tokens: Range<usize>) -> bool {
        self.tokens[tokens].iter().any(|token| !matches!(token.kind, TokenKind::Code | TokenKind::Comment))
    }
}

/// One side of a place: its text, its lines, its tokens, and for each token the one of the other side that it is aligned with.
struct Side<'t> {
    text: &'t Text<'t>,
    lines: Range<usize>,
    tokens: Range<usize>,
    partners: Vec<Option<usize>>,
}

impl Side<'_> {
    /// The partners of the tokens of a line, if all have one and these follow each other.
    fn partners_of(&self, line: usize) -> Option<Range<usize>> {
        let tokens = self.text.on(line..line + 1);
        let (start, end) = (tokens.start - self.tokens.start, tokens.end - self.tokens.start);
        let first = self.partners.get(start..end)?.first().copied().flatten()?;
        let follow = self.partners[start..end].iter().zip(first..).all(|(partner, at)| *partner == Some(at));
        follow.then_some(first..first + (end - start))
    }
}

fn compare(
    (old, old_lines): (&Text<'_>, Range<usize>),
    (new, new_lines): (&Text<'_>, Range<usize>),
    same: &mut SameTokens,
) {
    let (of_old, of_new) = (old.on(old_lines.clone()), new.on(new_lines.clone()));
    let mut numbers = HashMap::new();
    let mut number = |text: &Text<'_>, tokens: Range<usize>| -> Vec<u32> {
        let mut number = |token: &Token| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry((token.kind, token.spelling(text.source).into_owned())).or_insert(next)
        };
        text.tokens[tokens].iter().map(&mut number).collect()
    };
    let (old_numbers, new_numbers) = (number(old, of_old.clone()), number(new, of_new.clone()));
    if old_numbers == new_numbers {
        same.old[old_lines].fill(true);
        same.new[new_lines].fill(true);
        return;
    }
    if old.has_layout(of_old.clone()) || new.has_layout(of_new.clone()) {
        return;
    }
    let (mut to_new, mut to_old) = (vec![None; of_old.len()], vec![None; of_new.len()]);
    for run in Aligner::default().align(&old_numbers, &new_numbers) {
        for offset in 0..run.len {
            to_new[run.old + offset] = Some(of_new.start + run.new + offset);
            to_old[run.new + offset] = Some(of_old.start + run.old + offset);
        }
    }
    let old_side = Side { text: old, lines: old_lines, tokens: of_old, partners: to_new };
    let new_side = Side { text: new, lines: new_lines, tokens: of_new, partners: to_old };
    for line in old_side.lines.clone() {
        same.old[line] = old_side.partners_of(line).is_some();
    }
    for line in new_side.lines.clone() {
        same.new[line] = new_side.partners_of(line).is_some();
    }
    // A line that is only a part of one of the other side is not there.
    loop {
        let before = same.clone();
        keep(&old_side, &new_side, &mut same.old, &same.new);
        keep(&new_side, &old_side, &mut same.new, &same.old);
        if *same == before {
            break;
        }
    }
}

/// Keeps the lines whose tokens stand on lines of the other side that are kept, too.
fn keep(side: &Side<'_>, other: &Side<'_>, kept: &mut [bool], of_other: &[bool]) {
    for line in side.lines.clone().filter(|line| kept[*line]).collect::<Vec<_>>() {
        let mut partners =
            side.partners_of(line).into_iter().flatten().map(|token| other.text.line_of(token));
        kept[line] = partners.all(|line| other.lines.contains(&line) && of_other[line]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which lines of the first text stand in the second one but for white space, from 1.
    fn same(path: &str, old: &str, new: &str) -> Vec<usize> {
        let path = UpstreamPath::parse(path).unwrap();
        let (old, new) = (Content::file(old.as_bytes()), Content::file(new.as_bytes()));
        let same = same_tokens(&path, Some(&old), Some(&new));
        let old = same.map_or_else(Vec::new, |same| same.old);
        (1..=old.len()).filter(|line| old[line - 1]).collect()
    }

    #[test]
    fn white_space_between_tokens_is_nothing_in_c() {
        assert_eq!(same("k.cu", "int a;\nf(x, y);\n", "int a;\nf(x,y);\n"), [2]);
        assert_eq!(same("k.cu", "f(x, y);\n", "f(\n    x,\n    y);\n"), [1]);
        assert_eq!(same("k.cu", "f(\n    x,\n    y);\n", "f(x, y);\n"), [1, 2, 3]);
        // What is not there is missing, though the lines beside it differ in white space only.
        assert_eq!(same("k.cu", "f(x, y);\nfix();\n", "f(x,y);\nint ours;\n"), [1]);
        assert_eq!(same("k.cu", "int  a; // one\n", "int a; // one\n"), [1]);
        // A part of a line is not the line.
        assert!(same("k.cu", "int a = 0;\n", "const int a = 0;\n").is_empty());
        assert!(same("k.cu", "const int a = 0;\n", "int a = 0;\n").is_empty());
        assert!(same("k.cu", "f(\n  a);\n", "x = f(a);\n").is_empty());
    }

    #[test]
    fn what_is_in_a_string_a_comment_or_a_directive_is_something() {
        for (old, new) in [
            ("s = \"a b\";\n", "s = \"ab\";\n"),
            ("int ab;\n", "int a b;\n"),
            ("int a; // a b\n", "int a; // ab\n"),
            ("/* a\n b c\n*/\n", "/* a\n b  c\n*/\n"),
            ("#define A(x) x\n", "#define A (x) x\n"),
            ("#define A 1\nint b;\n", "#define A 1 int b;\n"),
            ("int a; // b\nint c;\n", "int a; // b int c;\n"),
        ] {
            let lines = same("k.cu", old, new);
            assert!(lines.is_empty(), "{old:?} {new:?} {lines:?}");
        }
        // Of the last one the first line's code is still there.
        assert_eq!(same("k.cu", "#define  A 1\n", "#define A 1\n"), [1]);
    }

    #[test]
    fn the_blocks_of_python_are_something() {
        let inside = "if a:\n    x = 1\n    y = 1\nz = 1\n";
        assert!(same("k.py", inside, "if a:\n    x = 1\ny = 1\nz = 1\n").is_empty());
        assert!(same("k.py", "if a:\n    x = 1\ny = 1\nz = 1\n", inside).is_empty());
        assert_eq!(same("k.py", "x = f(1, 2)\n", "x = f(1,2)\n"), [1]);
        assert_eq!(same("k.py", "x = f(1,\n  2)\n", "x = f(1, 2)\n"), [1, 2]);
    }

    #[test]
    fn where_tokens_are_not_known_bytes_decide() {
        assert!(same("k.txt", "a  b\n", "a b\n").is_empty());
        assert!(same("k.cu", "a  b; \"\n", "a b; \"\n").is_empty());
    }
}
