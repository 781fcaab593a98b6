//! Where a number ends, by Python's grammar: in `1if x` it is the `1`.

/// The end of the number that begins at `start`.
pub(super) fn end_of_number(source: &[u8], start: usize) -> usize {
    let radix = match source.get(start..start + 2) {
        Some(b"0x" | b"0X") => 16,
        Some(b"0o" | b"0O") => 8,
        Some(b"0b" | b"0B") => 2,
        _ => 10,
    };
    if radix != 10 {
        // An underscore may stand behind the letter.
        let skip = usize::from(source.get(start + 2) == Some(&b'_'));
        let end = digits(source, start + 2 + skip, radix);
        return if end == start + 2 + skip { start + 1 } else { end };
    }
    let mut end = digits(source, start, 10);
    if source.get(end) == Some(&b'.') {
        end = digits(source, end + 1, 10);
    }
    if matches!(source.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(source.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(source, end + 1 + sign, 10);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end + usize::from(matches!(source.get(end), Some(b'j' | b'J')))
}

/// The end of digits with single underscores between them.
fn digits(source: &[u8], mut at: usize, radix: u32) -> usize {
    let is_digit = |at: usize| source.get(at).is_some_and(|&b| char::from(b).is_digit(radix));
    while is_digit(at) {
        at += 1;
        if source.get(at) == Some(&b'_') && is_digit(at + 1) {
            at += 1;
        }
    }
    at
}
