//! A small generator of numbers, so that a seed tells everything.

/// SplitMix64: the same seed, the same numbers, on every machine.
pub struct Random(u64);

impl Random {
    /// A generator that starts here.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// True in so many of a hundred times.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// True at this rate, from 0 to 1.
    pub fn at_rate(&mut self, rate: f64) -> bool {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64 <= rate
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}
