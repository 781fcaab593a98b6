//! Inflates zlib streams (RFC 1950, RFC 1951) without another crate: build scripts are to compile fast.
//!
//! Takes a stream whose size is known beforehand and gives all of it or nothing. Slower than a crate for it, which the
//! program itself uses.

/// The longest code of a Huffman table.
const LONGEST: usize = 15;

/// Inflates to exactly `size` bytes; `None` if the stream is damaged or has another size.
pub(super) fn inflate(stream: &[u8], size: usize) -> Option<Vec<u8>> {
    let [method, flags, rest @ ..] = stream else { return None };
    let is_deflate = method & 0x0f == 8 && method >> 4 <= 7;
    let is_whole = (u16::from(*method) << 8 | u16::from(*flags)) % 31 == 0;
    let has_dictionary = flags & 0x20 != 0;
    if !is_deflate || !is_whole || has_dictionary {
        return None;
    }
    let mut bits = Bits { bytes: rest, at: 0, held: 0, count: 0 };
    let mut out = Vec::with_capacity(size);
    loop {
        let is_last = bits.take(1)? == 1;
        match bits.take(2)? {
            0 => stored(&mut bits, &mut out, size)?,
            1 => {
                let (literals, distances) = fixed()?;
                compressed(&mut bits, &mut out, size, &literals, &distances)?;
            }
            2 => {
                let (literals, distances) = dynamic(&mut bits)?;
                compressed(&mut bits, &mut out, size, &literals, &distances)?;
            }
            _ => return None,
        }
        if is_last {
            break;
        }
    }
    let sum = bits.rest().first_chunk::<4>().map(|sum| u32::from_be_bytes(*sum))?;
    (out.len() == size && adler32(&out) == sum).then_some(out)
}

/// A stream of bits, the lowest of each byte first.
struct Bits<'b> {
    bytes: &'b [u8],
    at: usize,
    held: u32,
    count: u32,
}

impl Bits<'_> {
    /// The next bits as a number, at most 16.
    fn take(&mut self, count: u32) -> Option<u32> {
        while self.count < count {
            self.held |= u32::from(*self.bytes.get(self.at)?) << self.count;
            self.at += 1;
            self.count += 8;
        }
        let bits = self.held & ((1 << count) - 1);
        self.held >>= count;
        self.count -= count;
        Some(bits)
    }

    /// The bytes after the one that is being read.
    fn rest(&mut self) -> &[u8] {
        // Whole bytes that are held were not read yet.
        self.at -= (self.count / 8) as usize;
        (self.held, self.count) = (0, 0);
        self.bytes.get(self.at..).unwrap_or_default()
    }
}

/// A Huffman table: how many codes have each length, and their symbols in the order of the codes.
struct Table {
    counts: [u16; LONGEST + 1],
    symbols: Vec<u16>,
}

impl Table {
    /// From the length of each symbol's code; `None` if more codes are wanted than there are.
    fn new(lengths: &[u8]) -> Option<Self> {
        let mut counts = [0_u16; LONGEST + 1];
        for &length in lengths {
            *counts.get_mut(usize::from(length))? += 1;
        }
        counts[0] = 0;
        let mut left = 1_i32;
        let mut starts = [0_usize; LONGEST + 2];
        for length in 1..=LONGEST {
            left = (left << 1) - i32::from(counts[length]);
            if left < 0 {
                return None;
            }
            starts[length + 1] = starts[length] + usize::from(counts[length]);
        }
        let mut symbols = vec![0; starts[LONGEST + 1]];
        for (symbol, &length) in (0_u16..).zip(lengths) {
            if length > 0 {
                let start = &mut starts[usize::from(length)];
                symbols[*start] = symbol;
                *start += 1;
            }
        }
        Some(Self { counts, symbols })
    }

    fn symbol(&self, bits: &mut Bits<'_>) -> Option<usize> {
        let (mut code, mut first, mut index) = (0_i32, 0_i32, 0_i32);
        for &count in &self.counts[1..] {
            code |= i32::try_from(bits.take(1)?).ok()?;
            let count = i32::from(count);
            if code - count < first {
                let at = usize::try_from(index + code - first).ok()?;
                return self.symbols.get(at).map(|&symbol| usize::from(symbol));
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }
}

fn stored(bits: &mut Bits<'_>, out: &mut Vec<u8>, size: usize) -> Option<()> {
    let (length, check) = match bits.rest() {
        [a, b, c, d, ..] => (u16::from_le_bytes([*a, *b]), u16::from_le_bytes([*c, *d])),
        _ => return None,
    };
    if length != !check {
        return None;
    }
    let (start, end) = (bits.at + 4, bits.at + 4 + usize::from(length));
    out.extend_from_slice(bits.bytes.get(start..end)?);
    bits.at = end;
    (out.len() <= size).then_some(())
}

fn fixed() -> Option<(Table, Table)> {
    let mut lengths = [8; 288];
    lengths[144..256].fill(9);
    lengths[256..280].fill(7);
    Some((Table::new(&lengths)?, Table::new(&[5; 30])?))
}

fn dynamic(bits: &mut Bits<'_>) -> Option<(Table, Table)> {
    const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
    let literals = bits.take(5)? as usize + 257;
    let distances = bits.take(5)? as usize + 1;
    let used = bits.take(4)? as usize + 4;
    if literals > 286 || distances > 30 {
        return None;
    }
    let mut of_lengths = [0; 19];
    for &symbol in &ORDER[..used] {
        of_lengths[symbol] = bits.take(3)? as u8;
    }
    let of_lengths = Table::new(&of_lengths)?;
    let mut lengths: Vec<u8> = Vec::with_capacity(literals + distances);
    while lengths.len() < literals + distances {
        let (length, times) = match of_lengths.symbol(bits)? {
            16 => (*lengths.last()?, 3 + bits.take(2)?),
            17 => (0, 3 + bits.take(3)?),
            18 => (0, 11 + bits.take(7)?),
            length => (u8::try_from(length).ok()?, 1),
        };
        lengths.resize(lengths.len() + times as usize, length);
    }
    let (of_literals, of_distances) = lengths.split_at_checked(literals)?;
    // A block without an end would never end.
    let has_end = of_literals.get(256).is_some_and(|&length| length > 0);
    if !has_end || of_distances.len() != distances {
        return None;
    }
    Some((Table::new(of_literals)?, Table::new(of_distances)?))
}

fn compressed(
    bits: &mut Bits<'_>,
    out: &mut Vec<u8>,
    size: usize,
    literals: &Table,
    distances: &Table,
) -> Option<()> {
    loop {
        let symbol = literals.symbol(bits)?;
        match symbol {
            0..256 => out.push(symbol as u8),
            256 => return Some(()),
            _ => {
                let length = length_of(symbol - 257, bits)?;
                let distance = distance_of(distances.symbol(bits)?, bits)?;
                let start = out.len().checked_sub(distance)?;
                if out.len() + length > size {
                    return None;
                }
                // The copy may overlap what it makes.
                for at in start..start + length {
                    out.push(out[at]);
                }
            }
        }
        if out.len() > size {
            return None;
        }
    }
}

/// RFC 1951, 3.2.5: four lengths for each number of extra bits, from the eighth on; the last one stands alone.
fn length_of(code: usize, bits: &mut Bits<'_>) -> Option<usize> {
    match code {
        0..8 => Some(3 + code),
        28 => Some(258),
        8..28 => {
            let extra = (code / 4 - 1) as u32;
            Some(3 + ((4 + code % 4) << extra) + bits.take(extra)? as usize)
        }
        _ => None,
    }
}

/// RFC 1951, 3.2.5: two distances for each number of extra bits, from the fourth on.
fn distance_of(code: usize, bits: &mut Bits<'_>) -> Option<usize> {
    match code {
        0..4 => Some(1 + code),
        4..30 => {
            let extra = (code / 2 - 1) as u32;
            Some(1 + ((2 + code % 2) << extra) + bits.take(extra)? as usize)
        }
        _ => None,
    }
}

/// RFC 1950, 8.2.
fn adler32(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1_u32, 0_u32);
    // As many as cannot overflow.
    for chunk in bytes.chunks(5552) {
        for &byte in chunk {
            a += u32::from(byte);
            b += a;
        }
        a %= 65521;
        b %= 65521;
    }
    b << 16 | a
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use zlib_rs::{DeflateConfig, compress_bound, compress_slice};

    use super::*;

    fn deflated(bytes: &[u8], level: i32) -> Vec<u8> {
        let mut buffer = vec![0; compress_bound(bytes.len()).max(64)];
        compress_slice(&mut buffer, bytes, DeflateConfig::new(level)).0.to_vec()
    }

    /// Text that compresses: words of a few bytes, again and again.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let word = proptest::collection::vec(any::<u8>(), 1..12);
        let words = proptest::collection::vec(word, 1..9);
        (words, proptest::collection::vec(any::<prop::sample::Index>(), 0..3000))
            .prop_map(|(words, picks)| picks.iter().flat_map(|pick| pick.get(&words).clone()).collect())
    }

    proptest! {
        #[test]
        fn it_gives_what_was_deflated(bytes in text(), level in 0..10) {
            let stream = deflated(&bytes, level);
            prop_assert_eq!(inflate(&stream, bytes.len()), Some(bytes.clone()));
            prop_assert_eq!(inflate(&stream, bytes.len() + 1), None);
            if !bytes.is_empty() {
                prop_assert_eq!(inflate(&stream, bytes.len() - 1), None);
            }
        }

        #[test]
        fn a_damaged_stream_gives_nothing_or_what_another_reader_gives(
            bytes in text(), level in 0..10, at in any::<prop::sample::Index>(), bit in 0..8
        ) {
            let mut stream = deflated(&bytes, level);
            let at = at.index(stream.len());
            stream[at] ^= 1_u8 << bit;
            if let Some(given) = inflate(&stream, bytes.len()) {
                prop_assert_eq!(super::super::binary::inflate_with_zlib(&stream, bytes.len()), Some(given));
            }
        }

        #[test]
        fn noise_is_no_stream(mut noise in proptest::collection::vec(any::<u8>(), 0..200)) {
            noise.splice(0..0, [0x78, 0x9c]);
            let _ = inflate(&noise, 1000);
        }
    }

    #[test]
    fn a_stream_that_is_cut_off_gives_nothing() {
        let bytes: Vec<u8> = (0..5000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        let stream = deflated(&bytes, 6);
        for end in 0..stream.len() {
            assert_eq!(inflate(&stream[..end], bytes.len()), None);
        }
    }
}
