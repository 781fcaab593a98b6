//! A file as lines, while hunks are applied to it.
//!
//! Decides where a hunk's lines are. The lines are kept in two stacks with the place of the last edit between
//! them, so that hunks in order cost no more than the lines they pass.

use super::hunk::Span;
use super::split_lines;

/// A file's lines.
pub(super) struct Image<'a> {
    head: Vec<Line<'a>>,
    /// The rest, last line first.
    tail: Vec<Line<'a>>,
}

#[derive(Clone, Copy)]
struct Line<'a> {
    bytes: &'a [u8],
    /// Written by a hunk; later hunks do not match it.
    written: bool,
}

/// Which ends of the file a hunk must touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Anchors {
    pub(super) start: bool,
    pub(super) end: bool,
}

impl Anchors {
    pub(super) const NONE: Self = Self { start: false, end: false };

    /// By git's rules: a side that starts at line 0 or 1 must be at the start of the file, and a hunk without
    /// context after its last change at the end.
    pub(super) fn of(side: Span, trailing: usize) -> Self {
        Self { start: side.start <= 1, end: trailing == 0 }
    }
}

impl<'a> Image<'a> {
    pub(super) fn new(content: &'a [u8]) -> Self {
        let tail = split_lines(content).rev().map(|bytes| Line { bytes, written: false }).collect();
        Self { head: Vec::new(), tail }
    }

    pub(super) fn len(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    fn get(&self, index: usize) -> Option<Line<'a>> {
        match index.checked_sub(self.head.len()) {
            None => self.head.get(index).copied(),
            Some(behind) => self.tail.len().checked_sub(behind + 1).map(|index| self.tail[index]),
        }
    }

    pub(super) fn line(&self, index: usize) -> Option<&'a [u8]> {
        self.get(index).map(|line| line.bytes)
    }

    fn fits(&self, lines: &[&[u8]], at: usize) -> bool {
        at + lines.len() <= self.len()
            && lines.iter().enumerate().all(|(index, &bytes)| {
                self.get(at + index).is_some_and(|line| !line.written && line.bytes == bytes)
            })
    }

    /// Where these lines are: the place nearest to `wanted`, and of two as near the later one.
    pub(super) fn find(&self, lines: &[&[u8]], wanted: usize, anchors: Anchors) -> Option<usize> {
        let last = self.len().checked_sub(lines.len())?;
        if anchors.start || anchors.end {
            let only = if anchors.start { 0 } else { last };
            let touches = !anchors.end || only == last;
            return (touches && self.fits(lines, only)).then_some(only);
        }
        let wanted = wanted.min(self.len());
        if self.fits(lines, wanted) {
            return Some(wanted);
        }
        for distance in 1..=self.len() {
            let after = wanted + distance;
            if after <= last && self.fits(lines, after) {
                return Some(after);
            }
            if let Some(before) = wanted.checked_sub(distance)
                && self.fits(lines, before)
            {
                return Some(before);
            }
        }
        None
    }

    /// At how many places within `reach` lines of `around` these lines are.
    pub(super) fn places(&self, lines: &[&[u8]], around: usize, reach: usize) -> usize {
        let last = self.len().saturating_sub(lines.len());
        (around.saturating_sub(reach)..=last.min(around + reach)).filter(|&at| self.fits(lines, at)).count()
    }

    /// Replaces `count` lines at `at`.
    pub(super) fn replace(&mut self, at: usize, count: usize, with: impl Iterator<Item = &'a [u8]>) {
        while self.head.len() > at {
            self.tail.extend(self.head.pop());
        }
        while self.head.len() < at {
            match self.tail.pop() {
                Some(line) => self.head.push(line),
                None => break,
            }
        }
        self.tail.truncate(self.tail.len().saturating_sub(count));
        self.head.extend(with.map(|bytes| Line { bytes, written: true }));
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        let lines = || self.head.iter().chain(self.tail.iter().rev()).map(|line| line.bytes);
        let mut content = Vec::with_capacity(lines().map(<[u8]>::len).sum());
        lines().for_each(|line| content.extend_from_slice(line));
        content
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Anchors = Anchors::NONE;

    #[test]
    fn the_nearest_place_wins_and_the_later_of_two() {
        let image = Image::new(b"x\na\nx\na\nx\na\nx\n");
        assert_eq!(image.find(&[b"x\n"], 2, FREE), Some(2));
        assert_eq!(image.find(&[b"x\n"], 3, FREE), Some(4));
        assert_eq!(image.find(&[b"x\n", b"a\n"], 6, FREE), Some(4));
        assert_eq!(image.find(&[b"x\n"], 99, FREE), Some(6));
        assert_eq!(image.find(&[b"x"], 0, FREE), None);
        assert_eq!(image.places(&[b"x\n"], 2, 99), 4);
        assert_eq!(image.places(&[b"x\n"], 2, 3), 3);
    }

    #[test]
    fn anchors_allow_one_place() {
        let image = Image::new(b"a\nb\na\n");
        assert_eq!(image.find(&[b"a\n"], 2, Anchors { start: true, end: false }), Some(0));
        assert_eq!(image.find(&[b"a\n"], 0, Anchors { start: false, end: true }), Some(2));
        assert_eq!(image.find(&[b"a\n"], 0, Anchors { start: true, end: true }), None);
        assert_eq!(image.find(&[b"b\n"], 1, Anchors { start: false, end: true }), None);
    }

    #[test]
    fn written_lines_do_not_match_again() {
        let mut image = Image::new(b"a\nb\nc\n");
        image.replace(1, 1, [&b"c\n"[..], b"d"].into_iter());
        assert_eq!(image.find(&[b"c\n"], 1, FREE), Some(3));
        image.replace(0, 1, std::iter::empty());
        assert_eq!(image.len(), 3);
        assert_eq!(image.into_bytes(), b"c\ndc\n");
    }
}
