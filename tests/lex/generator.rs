//! Random sources and random edits, the same for the same seed.

/// A small generator of numbers (SplitMix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

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
