//! Line splices: a backslash at the end of a line joins it with the next.
//!
//! White space may stand between the backslash and the line's end, as GCC and Clang accept.

use std::borrow::Cow;

use bstr::ByteSlice;

/// The length of the line splice at `at`, where there is one.
pub(super) fn splice_at(source: &[u8], at: usize) -> Option<usize> {
    if source.get(at) != Some(&b'\\') {
        return None;
    }
    let mut end = at + 1;
    while matches!(source.get(end), Some(b' ' | b'\t' | b'\x0b' | b'\x0c')) {
        end += 1;
    }
    match source.get(end..) {
        Some([b'\n', ..]) => Some(end + 1 - at),
        Some([b'\r', b'\n', ..]) => Some(end + 2 - at),
        _ => None,
    }
}

/// Where the next character stands, behind any splices at `at`.
#[inline]
pub(super) fn skip_splices(source: &[u8], mut at: usize) -> usize {
    while source.get(at) == Some(&b'\\') {
        match splice_at(source, at) {
            Some(length) => at += length,
            None => break,
        }
    }
    at
}

/// Whether the character at `at` ends a line. A lone carriage return has been refused before.
#[inline]
pub(super) fn is_line_end(source: &[u8], at: usize) -> bool {
    matches!(source.get(at), None | Some(b'\n' | b'\r'))
}

/// The end of the logical line that `from` is on: the position of its line feed, carriage return or the
/// source's end; and whether it has splices.
pub(super) fn logical_line_end(source: &[u8], from: usize) -> (usize, bool) {
    let mut spliced = false;
    let mut at = from;
    loop {
        let Some(feed) = source[at..].find_byte(b'\n').map(|found| at + found) else {
            return (source.len(), spliced);
        };
        let end = if feed > from && source[feed - 1] == b'\r' { feed - 1 } else { feed };
        let text = source[from..end].trim_end_with(|c| matches!(c, ' ' | '\t' | '\x0b' | '\x0c'));
        if text.last() != Some(&b'\\') {
            return (end, spliced);
        }
        spliced = true;
        at = feed + 1;
    }
}

/// A token's text with its splices taken out; those inside a raw string stay.
pub(in crate::lex) fn without_splices(text: &[u8]) -> Cow<'_, [u8]> {
    let mut clean = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if let Some(length) = splice_at(text, at) {
            at += length;
        } else if text[at] == b'"' && super::literal::is_raw_prefix(&clean) {
            clean.extend_from_slice(&text[at..]);
            break;
        } else {
            clean.push(text[at]);
            at += 1;
        }
    }
    Cow::Owned(clean)
}
