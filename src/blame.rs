//! Whose a line is: upstream's, or that of the overlay that wrote it.
//!
//! Decides by lines alone: a file is followed from the pin through every overlay that changes it, and a line belongs to the
//! layer that first had it. Knows nothing of history: who wrote a line in the upstream is the upstream's business.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// For each line of the last content, the place of the content that first had it. `layers` are the contents of one file, each
/// made from the one before.
#[must_use]
pub fn owners(layers: &[&[u8]]) -> Vec<usize> {
    let Some((first, rest)) = layers.split_first() else { return Vec::new() };
    let mut before = lines(first);
    let mut owners = vec![0; before.len()];
    for (place, layer) in rest.iter().enumerate() {
        let after = lines(layer);
        let mut now = vec![place + 1; after.len()];
        for change in capture_diff_slices(Algorithm::Myers, &before, &after) {
            if let DiffOp::Equal { old_index, new_index, len } = change {
                now[new_index..new_index + len].copy_from_slice(&owners[old_index..old_index + len]);
            }
        }
        (before, owners) = (after, now);
    }
    owners
}

/// How many lines each layer has in the last one.
#[must_use]
pub fn count(owners: &[usize], layers: usize) -> Vec<usize> {
    let mut counts = vec![0; layers];
    owners.iter().for_each(|owner| counts[*owner] += 1);
    counts
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_belongs_to_the_layer_that_wrote_it() {
        let layers: [&[u8]; 3] = [b"a\nb\nc\n", b"a\nB\nc\nd\n", b"a\nB\nx\nc\nd\n"];
        assert_eq!(owners(&layers), [0, 1, 2, 0, 1]);
        assert_eq!(count(&owners(&layers), 3), [2, 2, 1]);
    }

    #[test]
    fn a_new_file_is_all_its_overlays() {
        assert_eq!(owners(&[b"", b"a\nb"]), [1, 1]);
        assert!(owners(&[b"a\n", b""]).is_empty());
        assert!(owners(&[]).is_empty());
    }
}
