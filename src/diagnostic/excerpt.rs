//! The lines of a text that are shown around marked places.

use std::ops::Range;

use super::Place;
use super::escape::visible;

/// So much of a line is kept to the right of a marked part; the renderer trims it to the width.
const RIGHT_OF_MARK: usize = 400;

/// The lines that are drawn, made harmless character by character, so that columns stay true.
pub(super) struct Excerpt {
    pub text: String,
    pub first_line: usize,
    pub spans: Vec<Range<usize>>,
}

impl Excerpt {
    /// All places are in one text.
    pub fn of(cluster: &[&Place]) -> Self {
        let mut excerpt = Self { text: String::new(), first_line: 1, spans: vec![0..0; cluster.len()] };
        let ranges: Vec<_> = cluster.iter().map(|place| place.range()).collect();
        let (Some(first), Some(text)) = (cluster.first(), cluster.first().map(|place| &*place.text)) else {
            return excerpt;
        };
        let from = ranges.iter().map(|range| line_start(text, range.start)).min().unwrap_or(0);
        let until = ranges.iter().map(|range| line_end(text, range.start)).max().unwrap_or(0);
        excerpt.first_line = first.text.as_bytes()[..from].iter().filter(|&&b| b == b'\n').count() + 1;

        let mut start = from;
        loop {
            let end = line_end(text, start);
            let line = start..end;
            let marked = ranges.iter().filter(|range| line.start <= range.start && range.start <= line.end);
            let keep = marked.map(|range| range.end).max().unwrap_or(line.start) + RIGHT_OF_MARK;
            excerpt.push_line(text, start..floor_char(text, keep.min(end)), keep < end, &ranges);
            // The last line gets a line break, too, or else a mark on an empty one would be drawn above it.
            excerpt.text.push('\n');
            match text[end..].find('\n') {
                Some(newline) if end < until => start = end + newline + 1,
                _ => return excerpt,
            }
        }
    }

    fn push_line(&mut self, text: &str, line: Range<usize>, is_cut: bool, ranges: &[Range<usize>]) {
        let mut at = line.start;
        let put = |excerpt: &mut Self, at: usize| {
            for (range, span) in ranges.iter().zip(&mut excerpt.spans) {
                if range.start == at {
                    *span = excerpt.text.len()..excerpt.text.len();
                }
                if range.end == at && at >= line.start && range.start >= line.start {
                    span.end = excerpt.text.len();
                }
            }
        };
        for c in text[line.clone()].chars() {
            put(self, at);
            self.text.push(visible(c));
            at += c.len_utf8();
        }
        put(self, at);
        if is_cut {
            self.text.push_str(" ...");
        }
    }
}

pub(super) fn floor_char(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The end of the line without its line break.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let Some(newline) = text[at..].find('\n') else { return text.len() };
    let end = at + newline;
    if text[at..end].ends_with('\r') { end - 1 } else { end }
}
