//! How many items a shortest edit takes out and puts in.
//!
//! That is what both texts have beyond a longest common subsequence, whose length is computed a machine word at a time:
//! Crochemore, Iliopoulos, Pinzon and Reid, "A fast and practical bit-vector algorithm for the longest common subsequence
//! problem", Information Processing Letters 80 (2001), in the form that Hyyrö gives in "Bit-parallel LCS-length
//! computation revisited" (2004). So texts that have little in common take hardly longer than others: at most
//! `n * m / 64` steps. Words without a match are passed over as long as nothing is carried into them.

use std::collections::HashMap;
use std::hash::Hash;

/// The length of a shortest edit from one sequence to another.
pub(super) fn edit_length<T: Eq + Hash>(old: &[T], new: &[T]) -> usize {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    old.len() + new.len() - 2 * common(old, new)
}

/// Where an item stands: words of bits.
enum Matches {
    /// The words that have a bit, in order, and their places.
    Few(Vec<(usize, u64)>),
    /// All words.
    Many(Vec<u64>),
}

/// The length of a longest common subsequence.
fn common<T: Eq + Hash>(old: &[T], new: &[T]) -> usize {
    let mut of_old: HashMap<&T, Vec<(usize, u64)>> = old.iter().map(|item| (item, Vec::new())).collect();
    // Items that only one side has are in no common subsequence.
    let mut columns = 0_usize;
    for item in new {
        let Some(matches) = of_old.get_mut(item) else { continue };
        let (word, bit) = (columns / 64, 1 << (columns % 64));
        match matches.last_mut().filter(|(last, _)| *last == word) {
            Some((_, bits)) => *bits |= bit,
            None => matches.push((word, bit)),
        }
        columns += 1;
    }
    let words = columns.div_ceil(64);
    let of_old: HashMap<&T, Matches> = of_old
        .into_iter()
        .map(|(item, few)| {
            if few.len() * 8 < words {
                return (item, Matches::Few(few));
            }
            let mut many = vec![0; words];
            few.into_iter().for_each(|(word, bits)| many[word] = bits);
            (item, Matches::Many(many))
        })
        .collect();
    let mut row = vec![u64::MAX; words];
    for item in old {
        match &of_old[item] {
            Matches::Few(few) => advance(&mut row, few),
            Matches::Many(many) => {
                let words = row.iter_mut().zip(many);
                words.fold(false, |carry, (value, bits)| step(value, *bits, carry));
            }
        }
    }
    row.iter().map(|word| word.count_zeros() as usize).sum()
}

/// A word of the row for one item more, `(V + (V & M)) | (V - (V & M))`. Gives what is carried into the next one.
fn step(value: &mut u64, bits: u64, carry: bool) -> bool {
    let met = *value & bits;
    let (sum, over) = value.overflowing_add(met);
    let (sum, over_again) = sum.overflowing_add(u64::from(carry));
    *value = sum | (*value - met);
    over || over_again
}

/// The row for one item more, without the words that stay as they are.
fn advance(row: &mut [u64], few: &[(usize, u64)]) {
    let mut few = few.iter().peekable();
    let (mut carry, mut word) = (false, 0);
    loop {
        if !carry {
            let Some((next, _)) = few.peek() else { return };
            word = *next;
        }
        let Some(value) = row.get_mut(word) else { return };
        let bits = few.next_if(|(at, _)| *at == word).map_or(0, |(_, bits)| *bits);
        carry = step(value, bits, carry);
        word += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the table that every textbook has.
    fn by_table(old: &[u32], new: &[u32]) -> usize {
        let mut row: Vec<usize> = (0..=new.len()).collect();
        for (at_old, a) in old.iter().enumerate() {
            let mut diagonal = row[0];
            row[0] = at_old + 1;
            for (at_new, b) in new.iter().enumerate() {
                let least = if a == b { diagonal } else { 1 + row[at_new].min(row[at_new + 1]) };
                diagonal = std::mem::replace(&mut row[at_new + 1], least);
            }
        }
        row[new.len()]
    }

    #[test]
    fn it_is_the_length_of_a_shortest_edit() {
        let mut dice = 7_u32;
        let mut roll = |sides: u32| {
            dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (dice >> 16) % sides
        };
        for round in 0..600 {
            let kinds = [2, 5, 40, 400][round % 4];
            let old: Vec<u32> = (0..roll(260)).map(|_| roll(kinds)).collect();
            let mut new = old.clone();
            if round % 3 == 0 {
                new = (0..roll(260)).map(|_| roll(kinds + 3)).collect();
            }
            for _ in 0..roll(12) {
                let at = roll(u32::try_from(new.len()).unwrap() + 1) as usize;
                if roll(2) == 0 || new.is_empty() {
                    new.insert(at, roll(kinds));
                } else {
                    new.remove(at.min(new.len() - 1));
                }
            }
            assert_eq!(edit_length(&old, &new), by_table(&old, &new), "{old:?} {new:?}");
        }
    }

    #[test]
    fn ends_and_nothing() {
        assert_eq!(edit_length::<u32>(&[], &[]), 0);
        assert_eq!(edit_length(&[1, 2, 3], &[]), 3);
        assert_eq!(edit_length(&[1, 2, 3], &[1, 9, 3]), 2);
        assert_eq!(edit_length(&[1; 130], &[1; 64]), 66);
        assert_eq!(edit_length(&["a\n", "b\n"], &["b\n", "a\n"]), 2);
    }
}
