//! What is known of a Python file before its first token: that it is text, in which encoding, and which of its
//! first two lines mean something although they look like comments.

use bstr::ByteSlice;

use crate::lex::{Unlexable, UnlexableWhy, start_of};

/// Which of the first two lines hold a shebang or an encoding.
#[derive(Clone, Copy, Default)]
pub(super) struct Lines {
    first: bool,
    /// Where line 2 begins and ends, if it names an encoding.
    second: (usize, usize),
    /// Where line 1 ends.
    first_end: usize,
}

impl Lines {
    /// Whether the comment that begins at `at` is one of them.
    pub fn has(&self, at: usize) -> bool {
        (self.first && at < self.first_end) || (self.second.0..self.second.1).contains(&at)
    }
}

/// Checks that Python can read the bytes as text, and finds the lines that look like comments and are none.
pub(super) fn check_text(source: &[u8]) -> Result<Lines, Unlexable> {
    let error = |at, why| Err(Unlexable::at(source, at, why));
    if let Some(at) = source.find_byte(0) {
        return error(at, UnlexableWhy::NulByte);
    }
    if let Some(at) = source.find_iter(b"\r").find(|&at| source.get(at + 1) != Some(&b'\n')) {
        return error(at, UnlexableWhy::LoneCarriageReturn);
    }
    let start = start_of(source);
    let first_end = line_end(source, start);
    let second_end = line_end(source, first_end);
    let (first, second) = (&source[start..first_end], &source[first_end..second_end]);

    let mut lines = Lines { first: first.starts_with(b"#!"), second: (0, 0), first_end };
    let mut declared = None;
    if let Some(name) = declared_encoding(first) {
        lines.first = true;
        declared = Some((start, name));
    } else if is_blank_or_comment(first)
        && let Some(name) = declared_encoding(second)
    {
        lines.second = (first_end, second_end);
        declared = Some((first_end, name));
    }
    let (at, encoding) = match declared {
        None => (start, Some(Encoding::Utf8)),
        Some((at, name)) => (at, Encoding::of_name(name)),
    };
    let has_mark = start > 0;
    match encoding {
        None => error(at, UnlexableWhy::UnknownEncoding),
        Some(encoding) if has_mark && encoding != Encoding::Utf8 => error(at, UnlexableWhy::Encoding),
        Some(Encoding::Latin1) => Ok(lines),
        Some(Encoding::Ascii) => match source.find_non_ascii_byte() {
            Some(at) => error(at, UnlexableWhy::Encoding),
            None => Ok(lines),
        },
        Some(Encoding::Utf8) => match std::str::from_utf8(source) {
            Err(invalid) => error(invalid.valid_up_to(), UnlexableWhy::Encoding),
            Ok(_) => Ok(lines),
        },
    }
}

fn line_end(source: &[u8], start: usize) -> usize {
    source[start..].find_byte(b'\n').map_or(source.len(), |feed| start + feed + 1)
}

fn trim_space(line: &[u8]) -> &[u8] {
    line.trim_start_with(|c| matches!(c, ' ' | '\t' | '\x0c'))
}

fn is_blank_or_comment(line: &[u8]) -> bool {
    matches!(trim_space(line).first(), None | Some(b'#' | b'\r' | b'\n'))
}

/// The encoding that a line names: `^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)` (PEP 263).
fn declared_encoding(line: &[u8]) -> Option<&[u8]> {
    let comment = trim_space(line).strip_prefix(b"#")?;
    comment.find_iter(b"coding").find_map(|at| {
        let rest = comment[at + 6..].strip_prefix(b":").or_else(|| comment[at + 6..].strip_prefix(b"="))?;
        let name = rest.trim_start_with(|c| matches!(c, ' ' | '\t'));
        let length = name.iter().take_while(|&&b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)).count();
        (length > 0).then_some(&name[..length])
    })
}

/// The encodings whose every byte is known here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Ascii,
    Latin1,
}

impl Encoding {
    fn of_name(name: &[u8]) -> Option<Self> {
        let name: Vec<u8> =
            name.iter().map(|&b| if b == b'_' { b'-' } else { b.to_ascii_lowercase() }).collect();
        match name.as_slice() {
            b"utf-8" | b"utf8" => Some(Encoding::Utf8),
            b"ascii" | b"us-ascii" => Some(Encoding::Ascii),
            b"latin-1" | b"latin1" | b"iso-8859-1" | b"iso8859-1" | b"iso-latin-1" => Some(Encoding::Latin1),
            _ => None,
        }
    }
}
