//! The bytes of versions, and their lines.

use std::sync::Arc;

use crate::merge::is_binary;
use crate::provenance::hunks::each_line as lines;
use crate::tree::Mode;

/// The bytes of a version, and where each line ends.
#[derive(Debug, Clone)]
pub(super) struct Bytes {
    pub bytes: Arc<[u8]>,
    pub ends: Arc<[u32]>,
}

pub(super) fn split(content: &[u8], mode: Mode) -> Box<dyn Iterator<Item = &[u8]> + '_> {
    if is_one_line(content, mode) { Box::new(std::iter::once(content)) } else { Box::new(lines(content)) }
}

/// Where lines end that follow each other from `start` on. Contents are far below 4 GiB: larger ones are not read.
pub(super) fn ends_of<'a>(lines: impl Iterator<Item = &'a [u8]>, start: usize) -> impl Iterator<Item = u32> {
    lines.scan(start, |end, line| {
        *end += line.len();
        Some(u32::try_from(*end).unwrap_or(u32::MAX))
    })
}

pub(super) fn is_one_line(content: &[u8], mode: Mode) -> bool {
    matches!(mode, Mode::Symlink | Mode::Submodule) || is_binary(content)
}

/// How many lines two texts have in common at their start and, of the rest, at their end.
pub(super) fn equal_ends(old: &[u8], ends: &[u32], new: &[u8]) -> (usize, usize) {
    let start = |line: usize| line.checked_sub(1).map_or(0, |before| ends[before] as usize);
    let head_bytes = equal_bytes(old, new);
    let mut head = ends.partition_point(|end| *end as usize <= head_bytes);
    // The last line may lack its end; then it is only equal to one that lacks it, too.
    if start(head) < new.len() && start(head) > 0 && old[start(head) - 1] != b'\n' {
        head -= 1;
    }
    let (old_rest, new_rest) = (&old[start(head)..], &new[start(head)..]);
    let tail_start = old.len() - equal_bytes_at_end(old_rest, new_rest);
    let mut first = match tail_start {
        0 => 0,
        tail_start => (ends.partition_point(|end| (*end as usize) < tail_start) + 1).max(head),
    };
    if first < ends.len() {
        // The new text must have a line that starts there, too.
        let at = new.len() - (old.len() - start(first));
        first += usize::from(at > 0 && new[at - 1] != b'\n');
    }
    (head, ends.len().saturating_sub(first))
}

/// Bytes that are compared at once, from many to one.
const STEPS: [usize; 3] = [4096, 128, 1];

/// How many bytes two texts have in common at their start.
fn equal_bytes(a: &[u8], b: &[u8]) -> usize {
    let most = a.len().min(b.len());
    let mut head = 0;
    for step in STEPS {
        while head + step <= most && a[head..head + step] == b[head..head + step] {
            head += step;
        }
    }
    head
}

/// How many bytes two texts have in common at their end.
fn equal_bytes_at_end(a: &[u8], b: &[u8]) -> usize {
    let (x, y) = (a.len(), b.len());
    let mut tail = 0;
    for step in STEPS {
        while tail + step <= x.min(y) && a[x - tail - step..x - tail] == b[y - tail - step..y - tail] {
            tail += step;
        }
    }
    tail
}
