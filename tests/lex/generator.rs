//! Random sources and random edits, the same for the same seed.

pub use crate::support::random::Random;

/// How many cases a test makes.
pub fn cases(default: usize) -> usize {
    std::env::var("OVERLAID_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Pieces with separators between them, some of which are empty.
pub fn soup(random: &mut Random, pieces: &[&str], separators: &[&str], length: usize) -> Vec<u8> {
    let mut text = String::new();
    for _ in 0..length {
        text.push_str(random.pick(pieces));
        text.push_str(random.pick(separators));
    }
    text.into_bytes()
}

/// The text with a few small edits: something put in, a byte taken out, a stretch doubled.
pub fn edited(random: &mut Random, text: &[u8], insertions: &[&str]) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..1 + random.below(3) {
        let at = random.below(text.len() + 1);
        // Not inside a character.
        let at = (at..=text.len()).find(|&at| text.get(at).is_none_or(|&b| b & 0xc0 != 0x80)).unwrap();
        match random.below(10) {
            0 if text.get(at).is_some_and(|b| b.is_ascii() && *b != b'\n') => {
                text.remove(at);
            }
            1 => {
                let line = text[at..].split_inclusive(|&b| b == b'\n').next().unwrap_or_default().to_vec();
                text.splice(at..at, line);
            }
            _ => {
                text.splice(at..at, random.pick(insertions).bytes());
            }
        }
    }
    text
}
