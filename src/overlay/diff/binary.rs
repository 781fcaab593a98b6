//! `GIT binary patch`: base 85, deflate, and git's deltas.
//!
//! A binary part is one or two blocks, forward and reverse. A block is `literal N` or `delta N`, lines of a length
//! letter and base-85 text, and an empty line. The text is a zlib stream that inflates to N bytes.

use super::delta::apply_delta;
use super::error::{ParseError, ParseErrorWhy};
use super::parse::Cursor;

/// How a content is made by a binary part.
#[derive(Clone, PartialEq, Eq)]
pub enum BinaryData {
    /// The whole content.
    Literal(Vec<u8>),
    /// Copies out of the content before, and insertions; git's pack delta format.
    Delta(Vec<u8>),
}

impl std::fmt::Debug for BinaryData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Literal(bytes) => write!(f, "literal of {} bytes", bytes.len()),
            Self::Delta(bytes) => write!(f, "delta of {} bytes", bytes.len()),
        }
    }
}

impl BinaryData {
    /// The content that this makes of `before`; `None` if a delta does not fit it.
    pub(super) fn apply(&self, before: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Literal(bytes) => Some(bytes.clone()),
            Self::Delta(delta) => apply_delta(before, delta),
        }
    }
}

/// The alphabet of git's base 85, by value.
const ALPHABET: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// How hard to deflate, as git does by default.
#[cfg(feature = "git")]
const LEVEL: u8 = 6;

/// Bytes on a full line.
#[cfg(feature = "git")]
const LINE: usize = 52;

/// The value of each character, 255 for those that are none.
const VALUES: [u8; 256] = {
    let mut values = [255; 256];
    let mut value = 0;
    while value < ALPHABET.len() {
        values[ALPHABET[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// Reads both blocks.
pub(super) fn parse_binary(cursor: &mut Cursor) -> Result<(BinaryData, Option<BinaryData>), ParseError> {
    let corrupt = |cursor: &Cursor| cursor.error(ParseErrorWhy::BinaryCorrupt);
    let forward = parse_block(cursor)?.ok_or_else(|| corrupt(cursor))?;
    let reverse = parse_block(cursor)?;
    Ok((forward, reverse))
}

/// Reads a block; `None` if there is none at the cursor.
fn parse_block(cursor: &mut Cursor) -> Result<Option<BinaryData>, ParseError> {
    let line = cursor.line().trim_ascii_end();
    let (is_delta, size) = if let Some(size) = line.strip_prefix(b"literal ") {
        (false, size)
    } else if let Some(size) = line.strip_prefix(b"delta ") {
        (true, size)
    } else {
        return Ok(None);
    };
    let start = cursor.error(ParseErrorWhy::BinaryCorrupt);
    let size =
        std::str::from_utf8(size).ok().and_then(|size| size.parse().ok()).ok_or_else(|| start.clone())?;
    cursor.advance();
    let mut deflated = Vec::new();
    while !cursor.line().trim_ascii_end().is_empty() {
        decode_line(cursor.line().trim_ascii_end(), &mut deflated)
            .ok_or_else(|| cursor.error(ParseErrorWhy::BinaryCorrupt))?;
        cursor.advance();
    }
    if cursor.line().is_empty() {
        // The empty line that ends a block is missing: the patch is cut off.
        return Err(cursor.error(ParseErrorWhy::BinaryCorrupt));
    }
    cursor.advance();
    let data = inflate(&deflated, size).ok_or(start)?;
    Ok(Some(if is_delta { BinaryData::Delta(data) } else { BinaryData::Literal(data) }))
}

fn decode_line(line: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let (&length, text) = line.split_first()?;
    let length = match length {
        b'A'..=b'Z' => usize::from(length - b'A') + 1,
        b'a'..=b'z' => usize::from(length - b'a') + 27,
        _ => return None,
    };
    if text.len() % 5 != 0 || text.len() / 5 != length.div_ceil(4) {
        return None;
    }
    let end = bytes.len() + length;
    for group in text.chunks_exact(5) {
        let word = group.iter().try_fold(0_u64, |word, &character| {
            let value = VALUES[usize::from(character)];
            (value != 255).then_some(word * 85 + u64::from(value))
        })?;
        bytes.extend(u32::try_from(word).ok()?.to_be_bytes());
    }
    bytes.truncate(end);
    Some(())
}

/// Inflates to exactly `size` bytes.
fn inflate(deflated: &[u8], size: usize) -> Option<Vec<u8>> {
    // Deflate makes at most 1032 bytes of one: a size beyond that is a lie, and need not be allocated.
    if size > deflated.len().saturating_mul(1040) {
        return None;
    }
    let bytes = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(deflated, size).ok()?;
    (bytes.len() == size).then_some(bytes)
}

/// Writes a `literal` block, with the empty line at its end.
#[cfg(feature = "git")]
pub(super) fn render_literal(bytes: &[u8], patch: &mut Vec<u8>) {
    patch.extend(format!("literal {}\n", bytes.len()).bytes());
    let deflated = miniz_oxide::deflate::compress_to_vec_zlib(bytes, LEVEL);
    for line in deflated.chunks(LINE) {
        let length = line.len() as u8;
        patch.push(if length <= 26 { b'A' + length - 1 } else { b'a' + length - 27 });
        for group in line.chunks(4) {
            let mut word = [0; 4];
            word[..group.len()].copy_from_slice(group);
            let mut word = u32::from_be_bytes(word) as usize;
            let mut text = [0; 5];
            for character in text.iter_mut().rev() {
                *character = ALPHABET[word % 85];
                word /= 85;
            }
            patch.extend(text);
        }
        patch.push(b'\n');
    }
    patch.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_what_its_length_says() {
        let mut bytes = Vec::new();
        assert_eq!(decode_line(b"A00000", &mut bytes), Some(()));
        assert_eq!(bytes, [0]);
        for damaged in [&b"A0000"[..], b"E00000", b"A0000000000", b"A~~~~~", b"A\"0000", b"0", b""] {
            assert_eq!(decode_line(damaged, &mut Vec::new()), None, "{damaged:?}");
        }
    }

    #[test]
    fn a_size_that_cannot_be_true_is_not_allocated() {
        assert_eq!(inflate(&[0; 8], usize::MAX), None);
    }
}
