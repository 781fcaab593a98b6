//! Hunks: their header, their counts, their lines.
//!
//! A hunk keeps a range of the patch's text, so that a large patch is in memory once.

use std::ops::Range;
use std::sync::Arc;

use super::error::ParseErrorWhy;
use super::parse::Cursor;

/// Lines of one side of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first line, from 1; 0 where the side is empty.
    pub start: usize,
    /// How many lines.
    pub lines: usize,
}

/// One hunk of a text diff.
#[derive(Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The line of the patch that has the hunk's header, from 1.
    pub line: usize,
    /// The lines before.
    pub old: Span,
    /// The lines after.
    pub new: Span,
    /// Context lines before the first change.
    pub leading: usize,
    /// Context lines after the last change.
    pub trailing: usize,
    text: Arc<[u8]>,
    body: Range<usize>,
}

impl std::fmt::Debug for Hunk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Hunk { line, old, new, .. } = self;
        write!(f, "line {line}: @@ -{},{} +{},{} @@", old.start, old.lines, new.start, new.lines)
    }
}

/// What a line of a hunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// On both sides.
    Context,
    /// Before only.
    Removed,
    /// After only.
    Added,
}

/// A line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HunkLine<'a> {
    /// On which side it is.
    pub kind: LineKind,
    /// Its bytes, with the newline unless it is marked as having none.
    pub bytes: &'a [u8],
}

impl Hunk {
    /// The lines of the hunk.
    pub fn lines(&self) -> impl Iterator<Item = HunkLine<'_>> {
        let mut rest = &self.text[self.body.clone()];
        std::iter::from_fn(move || {
            while let Some(&first) = rest.first() {
                let line;
                (line, rest) = split_line(rest);
                let unfinished = rest.first() == Some(&b'\\');
                let end = line.len() - usize::from(unfinished);
                let (kind, start) = match first {
                    b'-' => (LineKind::Removed, 1),
                    b'+' => (LineKind::Added, 1),
                    b' ' => (LineKind::Context, 1),
                    // An empty context line whose space an editor removed.
                    b'\n' => (LineKind::Context, 0),
                    _ => continue,
                };
                return Some(HunkLine { kind, bytes: &line[start..end] });
            }
            None
        })
    }

    /// The lines before the change.
    pub fn old_lines(&self) -> impl Iterator<Item = &[u8]> {
        self.lines().filter(|line| line.kind != LineKind::Added).map(|line| line.bytes)
    }

    /// The lines after the change.
    pub fn new_lines(&self) -> impl Iterator<Item = &[u8]> {
        self.lines().filter(|line| line.kind != LineKind::Removed).map(|line| line.bytes)
    }

    /// How many lines of the patch follow its header.
    #[must_use]
    pub fn text_lines(&self) -> usize {
        self.text[self.body.clone()].iter().filter(|byte| **byte == b'\n').count()
    }

    /// The hunk without its outermost lines of context, as GNU patch leaves them out for a fuzz of that many. What it fits
    /// may be the wrong place: good for a hint, never for applying.
    #[must_use]
    pub fn loosened(&self, fuzz: usize) -> Self {
        let context = self.leading.max(self.trailing);
        let cut = |side: usize| (fuzz + side).saturating_sub(context).min(side);
        let (front, back) = (cut(self.leading), cut(self.trailing));
        let lines: Vec<&[u8]> = self.text[self.body.clone()].split_inclusive(|byte| *byte == b'\n').collect();
        let length = |lines: &[&[u8]]| lines.iter().map(|line| line.len()).sum::<usize>();
        let marks = usize::from(back > 0 && lines.last().is_some_and(|line| is_end_marker(line)));
        let body = self.body.start + length(&lines[..front])
            ..self.body.end - length(&lines[lines.len() - back - marks..]);
        let shorter = |side: Span| Span { start: side.start + front, lines: side.lines - front - back };
        Self { old: shorter(self.old), new: shorter(self.new), body, ..self.clone() }
    }

    /// Whether the hunk adds lines.
    #[must_use]
    pub fn adds(&self) -> bool {
        self.lines().any(|line| line.kind == LineKind::Added)
    }
}

fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    let end = bstr::ByteSlice::find_byte(text, b'\n').map_or(text.len(), |newline| newline + 1);
    text.split_at(end)
}

/// Reads `@@ -1,2 +3,4 @@`; a count that is missing is 1.
pub(super) fn parse_header(line: &[u8]) -> Option<(Span, Span)> {
    let rest = line.strip_prefix(b"@@ -")?;
    let (old, rest) = parse_span(rest)?;
    let (new, rest) = parse_span(rest.strip_prefix(b" +")?)?;
    (rest.starts_with(b" @@") && rest.ends_with(b"\n")).then_some((old, new))
}

fn parse_span(text: &[u8]) -> Option<(Span, &[u8])> {
    let (start, rest) = parse_number(text)?;
    match rest.strip_prefix(b",") {
        Some(rest) => {
            let (lines, rest) = parse_number(rest)?;
            Some((Span { start, lines }, rest))
        }
        None => Some((Span { start, lines: 1 }, rest)),
    }
}

fn parse_number(text: &[u8]) -> Option<(usize, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    Some((number, &text[digits..]))
}

/// Reads the hunk at the cursor: its header and as many lines as that says.
pub(super) fn parse_hunk(cursor: &mut Cursor) -> Result<Hunk, ParseErrorWhy> {
    let (old, new) = parse_header(cursor.line()).ok_or(ParseErrorWhy::HunkHeader)?;
    let line = cursor.number();
    cursor.advance();
    let start = cursor.at();
    let mut counts = Counts { old: old.lines, new: new.lines, ..Counts::default() };
    while counts.old > 0 || counts.new > 0 {
        let text = cursor.line();
        if text.is_empty() {
            return Err(ParseErrorWhy::HunkTruncated);
        }
        if !text.ends_with(b"\n") {
            return Err(ParseErrorWhy::NoNewlineAtEnd);
        }
        counts.take(text)?;
        cursor.advance();
    }
    if is_end_marker(cursor.line()) {
        counts.take(cursor.line())?;
        cursor.advance();
    }
    if !counts.changed {
        return Err(ParseErrorWhy::HunkChangesNothing);
    }
    if is_left_over(cursor.line()) {
        return Err(ParseErrorWhy::HunkTooLong);
    }
    let Counts { leading, trailing, .. } = counts;
    Ok(Hunk { line, old, new, leading, trailing, text: cursor.text(), body: start..cursor.at() })
}

/// What remains to be read of a hunk, and what was seen.
#[derive(Default)]
struct Counts {
    old: usize,
    new: usize,
    leading: usize,
    trailing: usize,
    changed: bool,
    last: Option<LineKind>,
    old_ended: bool,
    new_ended: bool,
}

impl Counts {
    fn take(&mut self, line: &[u8]) -> Result<(), ParseErrorWhy> {
        let kind = match line.first() {
            Some(b' ' | b'\n') => LineKind::Context,
            Some(b'-') => LineKind::Removed,
            Some(b'+') => LineKind::Added,
            Some(b'\\') if is_end_marker(line) => {
                self.old_ended |= matches!(self.last, Some(LineKind::Context | LineKind::Removed));
                self.new_ended |= matches!(self.last, Some(LineKind::Context | LineKind::Added));
                return Ok(());
            }
            // A header in the middle of a hunk: lines are missing before it.
            Some(b'@' | b'd') if line.starts_with(b"@@ -") || line.starts_with(b"diff --git ") => {
                return Err(ParseErrorWhy::HunkTooShort);
            }
            _ => return Err(ParseErrorWhy::HunkLine),
        };
        let in_old = kind != LineKind::Added;
        let in_new = kind != LineKind::Removed;
        if (in_old && self.old_ended) || (in_new && self.new_ended) {
            return Err(ParseErrorWhy::LineAfterEnd);
        }
        if in_old {
            self.old = self.old.checked_sub(1).ok_or(ParseErrorWhy::HunkTooLong)?;
        }
        if in_new {
            self.new = self.new.checked_sub(1).ok_or(ParseErrorWhy::HunkTooLong)?;
        }
        if kind == LineKind::Context {
            self.leading += usize::from(!self.changed);
            self.trailing += 1;
        } else {
            self.changed = true;
            self.trailing = 0;
        }
        self.last = Some(kind);
        Ok(())
    }
}

/// `\ No newline at end of file`, in whatever language: no translation is shorter than 12 bytes.
fn is_end_marker(line: &[u8]) -> bool {
    line.len() >= 12 && line.starts_with(b"\\ ")
}

/// A line after a hunk that looks as if it belonged to it. `-- ` starts a mail's signature, `--- ` the next file.
fn is_left_over(line: &[u8]) -> bool {
    match line.first() {
        Some(b'+' | b' ') => true,
        Some(b'-') => !(line.starts_with(b"--- ") || matches!(line.trim_ascii_end(), b"--" | b"---")),
        _ => false,
    }
}
