//! Operators and punctuation: the longest that fits.
//!
//! C++20's with CUDA's `<<<` and `>>>` for all of C++, whether a file is CUDA or not: that joins more, never less.

use super::Dialect;
use super::literal::End;
use super::splice::skip_splices;

/// The end of the punctuator that begins at `at`. A character that begins none stands for itself.
#[inline]
pub(super) fn end_of_punctuator(source: &[u8], at: usize, dialect: Dialect) -> End {
    match source[at] {
        b'(' | b')' | b'{' | b'}' | b'[' | b']' | b';' | b',' | b'~' | b'?' => {
            End { at: at + 1, spliced: false }
        }
        _ => end_of_operator(source, at, dialect),
    }
}

fn end_of_operator(source: &[u8], at: usize, dialect: Dialect) -> End {
    // The next four characters, and where each ends.
    let (mut bytes, mut ends) = ([source[at], 0, 0, 0], [at + 1; 4]);
    let mut spliced = [false; 4];
    for index in 1..4 {
        let next = skip_splices(source, ends[index - 1]);
        let Some(&byte) = source.get(next).filter(|b| b.is_ascii_punctuation()) else { break };
        spliced[index] = spliced[index - 1] || next != ends[index - 1];
        (bytes[index], ends[index]) = (byte, next + 1);
    }
    let length = operator_length(bytes, dialect == Dialect::Cpp);
    End { at: ends[length - 1], spliced: spliced[length - 1] }
}

fn operator_length(bytes: [u8; 4], cpp: bool) -> usize {
    match &bytes {
        b"%:%:" => 4,
        // `<::` is `<` and `::`, unless what follows makes `<:` or `:>` of it.
        [b'<', b':', b':', next] if cpp && !matches!(next, b':' | b'>') => 1,
        [b'.', b'.', b'.', _] | [b'<', b'<', b'=', _] | [b'>', b'>', b'=', _] => 3,
        [b'-', b'>', b'*', _] | [b'<', b'=', b'>', _] | [b'<', b'<', b'<', _] | [b'>', b'>', b'>', _]
            if cpp =>
        {
            3
        }
        [b'.', b'*', ..] if cpp => 2,
        [b'+', b'+', ..] | [b'-', b'-' | b'>', ..] | [b'&', b'&', ..] | [b'|', b'|', ..] => 2,
        [b'+' | b'-' | b'*' | b'/' | b'%' | b'^' | b'&' | b'|' | b'!' | b'=' | b'<' | b'>', b'=', ..] => 2,
        [b'<', b'<' | b':' | b'%', ..] | [b'>', b'>', ..] | [b'%', b'>' | b':', ..] => 2,
        [b':', b':' | b'>', ..] | [b'#', b'#', ..] => 2,
        _ => 1,
    }
}
