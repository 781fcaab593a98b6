//! Git's deltas: a content told as copies out of another one, and bytes of its own.
//!
//! Two sizes, then instructions; the format of gitformat-pack. A delta is somebody else's: nothing in it is believed
//! before it was checked.

use std::ops::Range;

/// A delta that is read from its start to its end.
pub(crate) struct Delta<'a> {
    before: usize,
    /// Bytes of the content that it makes.
    pub after: usize,
    rest: &'a [u8],
}

/// What makes the next bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Instruction<'a> {
    /// These bytes of the content before.
    Copy(Range<usize>),
    /// Bytes of its own.
    Insert(&'a [u8]),
}

impl<'a> Delta<'a> {
    /// Reads the sizes; `None` if they are not there.
    pub(crate) fn parse(mut delta: &'a [u8]) -> Option<Self> {
        let before = read_size(&mut delta)?;
        let after = read_size(&mut delta)?;
        Some(Self { before, after, rest: delta })
    }

    /// Calls `each` with the instructions in turn; `None` if the delta does not fit a content of `before` bytes or does
    /// not make as many bytes as it says.
    pub(crate) fn run(mut self, before: usize, mut each: impl FnMut(Instruction<'a>)) -> Option<()> {
        if self.before != before {
            return None;
        }
        let mut made = 0_usize;
        while let Some((&command, rest)) = self.rest.split_first() {
            self.rest = rest;
            let instruction = if command & 0x80 != 0 {
                let offset = read_parts(&mut self.rest, command & 0x0f)?;
                let length = match read_parts(&mut self.rest, (command >> 4) & 0x07)? {
                    0 => 0x10000,
                    length => length,
                };
                let end = offset.checked_add(length).filter(|end| *end <= before)?;
                made += length;
                Instruction::Copy(offset..end)
            } else {
                let (inserted, rest) =
                    self.rest.split_at_checked(usize::from(command)).filter(|_| command != 0)?;
                self.rest = rest;
                made += inserted.len();
                Instruction::Insert(inserted)
            };
            // A delta of a few bytes can copy without end.
            if made > self.after {
                return None;
            }
            each(instruction);
        }
        (made == self.after).then_some(())
    }
}

/// The content that a delta makes of this one; `None` if it does not fit.
pub(super) fn apply_delta(before: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut after = Vec::new();
    Delta::parse(delta)?.run(before.len(), |instruction| match instruction {
        Instruction::Copy(range) => after.extend_from_slice(&before[range]),
        Instruction::Insert(bytes) => after.extend_from_slice(bytes),
    })?;
    Some(after)
}

/// Seven bits a byte, lowest first; the top bit says that more follow.
fn read_size(rest: &mut &[u8]) -> Option<usize> {
    let (mut size, mut shift) = (0_usize, 0);
    loop {
        let (&byte, tail) = rest.split_first()?;
        *rest = tail;
        if shift > 56 {
            return None;
        }
        size |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return Some(size);
        }
    }
}

/// The bytes of a number that are not zero, lowest first; `present` has a bit for each.
fn read_parts(rest: &mut &[u8], present: u8) -> Option<usize> {
    let mut number = 0;
    for part in 0..4 {
        if present & (1 << part) != 0 {
            let (&byte, tail) = rest.split_first()?;
            *rest = tail;
            number |= usize::from(byte) << (8 * part);
        }
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_fits_one_content_only() {
        // Copies bytes 1..3 of four, then inserts "xy".
        let delta = [4, 4, 0x80 | 0x01 | 0x10, 1, 2, 2, b'x', b'y'];
        assert_eq!(apply_delta(b"abcd", &delta).as_deref(), Some(&b"bcxy"[..]));
        assert_eq!(apply_delta(b"abc", &delta), None);
        assert_eq!(apply_delta(b"abcd", &delta[..7]), None);
        assert_eq!(apply_delta(b"abcd", &[4, 4, 0]), None);
        let beyond = [4, 4, 0x80 | 0x01 | 0x10, 3, 4];
        assert_eq!(apply_delta(b"abcd", &beyond), None);
    }

    #[test]
    fn a_delta_that_copies_more_than_it_says_stops_there() {
        let delta = [4, 4, 0x80 | 0x10, 4, 0x80 | 0x10, 4, 0x80 | 0x10, 4];
        let mut copies = 0;
        assert_eq!(Delta::parse(&delta).unwrap().run(4, |_| copies += 1), None);
        assert_eq!(copies, 1);
    }
}
