//! Where a Python string ends.
//!
//! Until Python 3.11 an f-string ended as any string does; since 3.12 the fields in its braces are read as code
//! (PEP 701), so `f"{d["a"]}"` is one string. Both ways are tried here: if they do not end at the same place, the
//! answer is that it is not known.

use bstr::ByteSlice;

use crate::lex::UnlexableWhy;

/// How deep strings may stand in the fields of strings.
const MAX_NESTING: usize = 8;

/// What the letters before a string's quote say.
#[derive(Clone, Copy)]
pub(super) struct Prefix {
    raw: bool,
    /// It has fields: an f-string or (since 3.14) a t-string.
    formatted: bool,
}

impl Prefix {
    const NONE: Prefix = Prefix { raw: false, formatted: false };

    /// The prefix that a name is when a quote follows.
    pub fn parse(name: &[u8]) -> Option<Self> {
        match name.to_ascii_lowercase().as_slice() {
            b"" | b"b" | b"u" => Some(Self::NONE),
            b"r" | b"br" | b"rb" => Some(Prefix { raw: true, formatted: false }),
            b"f" | b"t" => Some(Prefix { raw: false, formatted: true }),
            b"fr" | b"rf" | b"tr" | b"rt" => Some(Prefix { raw: true, formatted: true }),
            _ => None,
        }
    }
}

/// The end of the string that begins at `start` and has its quote at `quote`.
pub(super) fn end_of_string(source: &[u8], start: usize, quote: usize) -> Result<usize, UnlexableWhy> {
    let prefix = Prefix::parse(&source[start..quote]).unwrap_or(Prefix::NONE);
    let end = end_by_quotes(source, quote).ok_or(UnlexableWhy::UnterminatedString)?;
    if prefix.formatted && end_by_fields(source, quote, prefix, MAX_NESTING) != Some(end) {
        return Err(UnlexableWhy::FormatString);
    }
    Ok(end)
}

/// The quotes that open the string at `quote`: one or three.
fn opening(source: &[u8], quote: usize) -> &[u8] {
    let mark = source[quote];
    match source.get(quote..quote + 3) {
        Some(three) if three.iter().all(|&b| b == mark) => three,
        _ => &source[quote..=quote],
    }
}

/// As any string ends: at the next quotes that no backslash stands before.
fn end_by_quotes(source: &[u8], quote: usize) -> Option<usize> {
    let marks = opening(source, quote);
    let mut at = quote + marks.len();
    loop {
        let rest = &source[at..];
        match rest.find_byteset([marks[0], b'\\', b'\n']).map(|found| (found, rest[found])) {
            None => return None,
            Some((found, b'\\')) => at += found + 1 + escaped_length(&rest[found + 1..])?,
            Some((_, b'\n')) if marks.len() == 1 => return None,
            Some((found, _)) if rest[found..].starts_with(marks) => return Some(at + found + marks.len()),
            Some((found, _)) => at += found + 1,
        }
    }
}

/// How many bytes a backslash takes with it; `None` at the end of the source.
fn escaped_length(rest: &[u8]) -> Option<usize> {
    match rest {
        [] => None,
        [b'\r', b'\n', ..] => Some(2),
        _ => Some(1),
    }
}

/// As an f-string ends since Python 3.12. `None` for whatever looks doubtful.
fn end_by_fields(source: &[u8], quote: usize, prefix: Prefix, nesting: usize) -> Option<usize> {
    let marks = opening(source, quote);
    let mut at = quote + marks.len();
    loop {
        let rest = source.get(at..)?;
        match rest {
            [b'\\', b'N', b'{', ..] if !prefix.raw => at += rest.find_byte(b'}')? + 1,
            [b'\\', b'{' | b'}', ..] => at += 1,
            [b'\\', after @ ..] => at += 1 + escaped_length(after)?,
            [b'\n', ..] if marks.len() == 1 => return None,
            [b'{', b'{', ..] | [b'}', b'}', ..] => at += 2,
            [b'{', ..] => at = end_of_field(source, at + 1, marks, prefix, nesting)?,
            // A single closing brace is an error.
            [b'}', ..] | [] => return None,
            _ if rest.starts_with(marks) => return Some(at + marks.len()),
            _ => at += 1,
        }
    }
}

/// Behind the closing brace of the field whose code begins at `at`.
fn end_of_field(source: &[u8], mut at: usize, marks: &[u8], prefix: Prefix, nesting: usize) -> Option<usize> {
    let mut brackets = 0_usize;
    loop {
        let rest = source.get(at..)?;
        match *rest.first()? {
            b'(' | b'[' | b'{' => brackets += 1,
            b'}' if brackets == 0 => return Some(at + 1),
            b')' | b']' | b'}' => brackets = brackets.checked_sub(1)?,
            b'!' if brackets == 0 && rest.get(1) == Some(&b'=') => at += 1,
            b':' if brackets == 0 => return end_of_specification(source, at + 1, marks, prefix, nesting),
            b'"' | b'\'' => {
                at = end_of_nested_string(source, at, marks, nesting)?;
                continue;
            }
            // Not allowed before 3.12.
            b'\\' | b'#' => return None,
            b'\n' if marks.len() == 1 => return None,
            _ => {}
        }
        at += 1;
    }
}

/// The end of a string in a field. Its quotes must be others than the outer string's.
fn end_of_nested_string(source: &[u8], quote: usize, outer: &[u8], nesting: usize) -> Option<usize> {
    let name = source[..quote].iter().rev().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let prefix = Prefix::parse(&source[quote - name..quote])?;
    let end = if prefix.formatted {
        end_by_fields(source, quote, prefix, nesting.checked_sub(1)?)?
    } else {
        end_by_quotes(source, quote)?
    };
    let text = &source[quote..end];
    (!text.contains_str(outer) && !text.contains(&b'\\')).then_some(end)
}

/// Behind the closing brace of the field whose format begins at `at`: text, in which fields may stand.
fn end_of_specification(
    source: &[u8],
    mut at: usize,
    marks: &[u8],
    prefix: Prefix,
    nesting: usize,
) -> Option<usize> {
    loop {
        let rest = source.get(at..)?;
        match rest {
            [b'}', ..] => return Some(at + 1),
            [b'{', b'{', ..] | [b'\\' | b'\n', ..] | [] => return None,
            [b'{', ..] => at = end_of_field(source, at + 1, marks, prefix, nesting.checked_sub(1)?)?,
            _ if rest.starts_with(marks) => return None,
            _ => at += 1,
        }
    }
}
