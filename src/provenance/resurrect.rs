//! Lines that an overlay brings back: it adds them to the pin's content, and upstream once had and removed them.
//!
//! A line is compared without the white space around it. Lines that say too little to be recognised do not count:
//! blank ones and comments, lines of fewer than five characters besides white space, lines of keywords and brackets
//! only (`} else {`, `break;`), and lines that stand elsewhere in the pin's content, too. So a line that upstream
//! has moved is not found, nor one whose spelling was changed; and a line that two people wrote independently is
//! taken for the one that upstream removed.

use std::collections::HashSet;

use bstr::BString;

use crate::id::UpstreamPath;
use crate::lex::{self, Language};
use crate::tree::{Content, Mode};

use super::hunks::{hunks, lines};

/// Words that say nothing by themselves.
const WORDS: [&[u8]; 24] = [
    b"if",
    b"else",
    b"elif",
    b"endif",
    b"for",
    b"while",
    b"do",
    b"done",
    b"then",
    b"fi",
    b"try",
    b"catch",
    b"except",
    b"finally",
    b"break",
    b"continue",
    b"return",
    b"pass",
    b"default",
    b"public",
    b"private",
    b"protected",
    b"end",
    b"none",
];

/// Fewer characters than these are too few to recognise a line by.
const FEWEST: usize = 5;

/// A line that is brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Added {
    /// Its number in the overlay's content, from 1.
    pub(super) number: usize,
    /// Without white space around it.
    pub(super) text: BString,
}

/// The lines that a content adds to upstream's and that say enough to be recognised.
pub(super) fn added(path: &UpstreamPath, from: Option<&Content>, to: Option<&Content>) -> Vec<Added> {
    let is_text = |content: &Content| {
        matches!(content.mode, Mode::File | Mode::Executable) && !crate::merge::is_binary(&content.bytes)
    };
    let Some(to) = to.filter(|to| is_text(to)) else { return Vec::new() };
    let from: &[u8] = match from {
        Some(from) if is_text(from) => &from.bytes,
        Some(_) => return Vec::new(),
        None => &[],
    };
    let (old, new) = (lines(from), lines(&to.bytes));
    let there: HashSet<&[u8], foldhash::fast::RandomState> =
        old.iter().map(|line| line.trim_ascii()).collect();
    let on_lines = on_lines(path, &to.bytes);
    let numbers = hunks(&old, &new).into_iter().flat_map(|hunk| hunk.new);
    numbers
        .filter(|number| on_lines.get(*number).is_none_or(|on| on.code))
        .map(|number| Added { number: number + 1, text: new[number].trim_ascii().into() })
        .filter(|line| !there.contains(line.text.as_slice()) && says_enough(&line.text))
        .collect()
}

/// Whether a line can be recognised.
fn says_enough(line: &[u8]) -> bool {
    let characters = line.iter().filter(|byte| !byte.is_ascii_whitespace()).count();
    let mut words = line.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_' && *byte < 0x80);
    characters >= FEWEST && words.any(|word| !word.is_empty() && !WORDS.contains(&word))
}

/// What stands on a line, white space aside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OnLine {
    /// Something that is no comment.
    pub(super) code: bool,
    /// A comment, or a part of one.
    pub(super) comment: bool,
}

/// What stands on each line of a text. Where comments cannot be told, everything is code.
pub(super) fn on_lines(path: &UpstreamPath, text: &[u8]) -> Vec<OnLine> {
    let spans = Language::of_path(path).and_then(|language| lex::comment_spans(language, text).ok());
    let mut spans = spans.unwrap_or_default().into_iter().peekable();
    let mut start = 0;
    let mut found = Vec::new();
    for line in lines(text) {
        let mut at = start;
        let end = start + line.len();
        let mut on = OnLine::default();
        while at < end {
            while spans.peek().is_some_and(|span| span.end <= at) {
                spans.next();
            }
            match spans.peek() {
                Some(span) if span.start <= at => {
                    on.comment = true;
                    at = span.end;
                }
                next => {
                    let until = next.map_or(end, |span| span.start.min(end));
                    on.code |= !text[at..until].trim_ascii().is_empty();
                    at = until;
                }
            }
        }
        found.push(on);
        start = end;
    }
    found
}

pub(super) use removal::{Past, Removal, by_commit, left_out, removals};

mod removal;

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> UpstreamPath {
        UpstreamPath::parse("k.cu").unwrap()
    }

    fn added_lines(from: &str, to: &str) -> Vec<String> {
        let [from, to] = [from, to].map(|text| Content::file(text.as_bytes()));
        added(&path(), Some(&from), Some(&to)).into_iter().map(|line| line.text.to_string()).collect()
    }

    #[test]
    fn lines_that_say_too_little_do_not_count() {
        let from = "int f() {\n  return width;\n}\n";
        let to = "int f() {\n  if (x) {\n  } else {\n    break;\n  }\n\n  // a long comment\n  x++;\n  \
                  width = 2; // note\n  return width;\n  return width;\n}\n";
        assert_eq!(added_lines(from, to), ["if (x) {", "width = 2; // note"]);
    }

    #[test]
    fn code_is_told_from_comments_line_by_line() {
        let text = b"int a; // a\n// b\n/* c\n   c */ int d;\n/* e */ /* f */\n\nint g;";
        let code: Vec<bool> = on_lines(&path(), text).into_iter().map(|on| on.code).collect();
        assert_eq!(code, [true, false, false, true, false, false, true]);
        let comment: Vec<bool> = on_lines(&path(), text).into_iter().map(|on| on.comment).collect();
        assert_eq!(comment, [true, true, true, true, true, false, false]);
    }
}
