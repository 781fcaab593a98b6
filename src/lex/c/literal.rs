//! Names, numbers, strings and characters: where each ends.
//!
//! Follows C++20's lexical rules and, where they leave a choice, Clang's.

use bstr::ByteSlice;

use super::splice::{is_line_end, skip_splices};
use crate::lex::UnlexableWhy;

/// Where something ends, and whether splices are in it.
#[derive(Clone, Copy)]
pub(super) struct End {
    pub at: usize,
    pub spliced: bool,
}

/// How a quoted literal ends.
pub(super) enum Quoted {
    /// With its quote.
    Closed(End),
    /// With the line.
    Open(End),
}

const fn name_table() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        // Bytes of a character outside ASCII count as a name's: more joined than a compiler joins, never less.
        table[byte] =
            matches!(byte as u8, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'$' | 0x80..=0xff);
        byte += 1;
    }
    table
}

static IN_NAME: [bool; 256] = name_table();

/// Whether a byte can be in a name.
#[inline]
pub(super) fn is_in_name(byte: u8) -> bool {
    IN_NAME[byte as usize]
}

/// Whether a byte can begin a name.
#[inline]
pub(super) fn begins_name(byte: u8) -> bool {
    IN_NAME[byte as usize] && !byte.is_ascii_digit()
}

/// The end of the universal character name (`\u00e9`) that begins at `at`, where there is one.
pub(super) fn end_of_universal_character(source: &[u8], at: usize) -> Option<End> {
    let kind = skip_splices(source, at + 1);
    let digits = match (source.get(at)?, source.get(kind)?) {
        (b'\\', b'u') => 4,
        (b'\\', b'U') => 8,
        _ => return None,
    };
    let mut end = End { at: kind + 1, spliced: kind != at + 1 };
    for _ in 0..digits {
        let digit = skip_splices(source, end.at);
        source.get(digit).filter(|b| b.is_ascii_hexdigit())?;
        end = End { at: digit + 1, spliced: end.spliced || digit != end.at };
    }
    Some(end)
}

/// The end of the name that goes on at `at`.
#[inline]
pub(super) fn end_of_name(source: &[u8], at: usize) -> End {
    end_of_name_of(source, at, is_in_name)
}

#[inline]
fn end_of_name_of(source: &[u8], mut at: usize, is_part: impl Fn(u8) -> bool) -> End {
    let mut spliced = false;
    loop {
        while source.get(at).is_some_and(|&b| is_part(b)) {
            at += 1;
        }
        if source.get(at) != Some(&b'\\') {
            return End { at, spliced };
        }
        let next = skip_splices(source, at);
        if let Some(end) = end_of_universal_character(source, next) {
            spliced |= next != at || end.spliced;
            at = end.at;
        } else if next != at && source.get(next).is_some_and(|&b| is_part(b)) {
            spliced = true;
            at = next;
        } else {
            return End { at, spliced };
        }
    }
}

/// The end of the preprocessing number that begins at `at`; an error at its first digit separator if those are not wanted.
pub(super) fn end_of_number(
    source: &[u8],
    mut at: usize,
    separators: bool,
) -> Result<End, (usize, UnlexableWhy)> {
    let mut spliced = false;
    let mut last = 0;
    loop {
        let next = skip_splices(source, at);
        let Some(&byte) = source.get(next) else { return Ok(End { at, spliced }) };
        let mut end = next + 1;
        match byte {
            b'.' => {}
            b'+' | b'-' if matches!(last, b'e' | b'E' | b'p' | b'P') => {}
            b'\'' => {
                let digit = skip_splices(source, end);
                // `$` is no digit.
                if !source.get(digit).is_some_and(|&b| b.is_ascii_alphanumeric() || b == b'_') {
                    return Ok(End { at, spliced });
                }
                if !separators {
                    return Err((next, UnlexableWhy::DependsOnStandard));
                }
                spliced |= digit != end;
                end = digit + 1;
            }
            b'\\' => {
                let Some(character) = end_of_universal_character(source, next) else {
                    return Ok(End { at, spliced });
                };
                spliced |= character.spliced;
                end = character.at;
            }
            b'$' => return Ok(End { at, spliced }),
            _ if is_in_name(byte) => {}
            _ => return Ok(End { at, spliced }),
        }
        spliced |= next != at;
        last = byte;
        at = end;
    }
}

/// The end of the string or character whose text begins at `at`.
pub(super) fn end_of_quoted(source: &[u8], mut at: usize, quote: u8) -> Quoted {
    let mut spliced = false;
    loop {
        match source.get(at) {
            None | Some(b'\n' | b'\r') => return Quoted::Open(End { at, spliced }),
            Some(&byte) if byte == quote => return Quoted::Closed(End { at: at + 1, spliced }),
            Some(b'\\') => {
                let next = skip_splices(source, at);
                if next != at {
                    spliced = true;
                    at = next;
                    continue;
                }
                let escaped = skip_splices(source, at + 1);
                spliced |= escaped != at + 1;
                at = if is_line_end(source, escaped) { escaped } else { escaped + 1 };
            }
            Some(_) => at += 1,
        }
    }
}

/// The end of the raw string whose quote stands at `quote`.
pub(super) fn end_of_raw_string(source: &[u8], quote: usize) -> Result<usize, UnlexableWhy> {
    let text = &source[quote + 1..];
    let stop = text.iter().take(17).position(|&b| !is_in_delimiter(b));
    let Some(length) = stop.filter(|&length| text[length] == b'(') else {
        return Err(if text.len() < 17 && stop.is_none() {
            UnlexableWhy::UnterminatedString
        } else {
            UnlexableWhy::RawStringDelimiter
        });
    };
    let (delimiter, mut at) = (&text[..length], length + 1);
    while let Some(found) = text[at..].find_byte(b')') {
        at += found + 1;
        if text[at..].starts_with(delimiter) && text.get(at + length) == Some(&b'"') {
            return Ok(quote + 1 + at + length + 1);
        }
    }
    Err(UnlexableWhy::UnterminatedString)
}

fn is_in_delimiter(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'(' | b')' | b'\\')
}

/// Whether a name is a raw string's prefix when a quote follows.
pub(super) fn is_raw_prefix(name: &[u8]) -> bool {
    matches!(name, b"R" | b"LR" | b"uR" | b"UR" | b"u8R")
}

/// Whether a name is the prefix of a string or a character when a quote follows.
pub(super) fn is_prefix(name: &[u8]) -> bool {
    matches!(name, b"L" | b"u" | b"U" | b"u8")
}

/// The suffixes without an underscore that C++ itself defines; another name behind a quote is a token of its own, as in `"%"PRIu64`.
const STANDARD_SUFFIXES: [&[u8]; 12] =
    [b"s", b"sv", b"h", b"min", b"ms", b"us", b"ns", b"il", b"i", b"if", b"d", b"y"];

/// The end of a literal that closes at `end`, with the suffix that makes it user-defined.
pub(super) fn with_suffix(source: &[u8], end: End, is_string: bool) -> End {
    let start = skip_splices(source, end.at);
    match source.get(start) {
        Some(b'$') => return end,
        Some(&byte) if begins_name(byte) => {}
        Some(b'\\') if end_of_universal_character(source, start).is_some() => {}
        _ => return end,
    }
    let suffix = end_of_name_of(source, start, |byte| byte != b'$' && is_in_name(byte));
    let spelled = super::splice::without_splices(&source[start..suffix.at]);
    // Clang looks at the part in ASCII to decide, and then takes the whole name.
    let decisive = spelled.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let belongs =
        !spelled[0].is_ascii_alphabetic() || (is_string && STANDARD_SUFFIXES.contains(&&spelled[..decisive]));
    if !belongs {
        return end;
    }
    End { at: suffix.at, spliced: end.spliced || suffix.spliced || start != end.at }
}
