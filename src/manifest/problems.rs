//! Collects what is wrong with a manifest, so that all of it is reported at once.
//!
//! Decides which messages are worth showing: after a syntax error, what seems to be missing may only be
//! unread. Never decides what is wrong.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Place, Severity};
use crate::sorted::sort_by_number;

/// More messages than this help nobody.
const MOST: usize = 100;

/// The text that is read, and what is wrong with it so far.
pub(super) struct Problems {
    file: PathBuf,
    text: Arc<str>,
    list: Vec<Diagnostic>,
    /// Lines with a syntax error: what was read from them is not to be trusted.
    broken: Vec<Range<usize>>,
    left_out: usize,
}

impl Problems {
    pub fn new(file: PathBuf, text: Arc<str>) -> Self {
        Self { file, text, list: Vec::new(), broken: Vec::new(), left_out: 0 }
    }

    /// The text that the spans are about.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// A place in the text.
    pub fn place(&self, span: Range<usize>, label: impl Into<String>) -> Place {
        Place { file: self.file.clone(), text: Arc::clone(&self.text), span, label: label.into() }
    }

    /// Whether further messages are only counted.
    pub fn is_full(&self) -> bool {
        self.list.len() >= MOST
    }

    /// Whether a line with a syntax error is here.
    pub fn is_broken(&self, at: usize) -> bool {
        self.broken.iter().any(|line| line.start <= at && at <= line.end)
    }

    /// The text is not TOML at this place.
    pub fn report_syntax(&mut self, diagnostic: Diagnostic, span: Range<usize>) {
        let start = self.text[..span.start].rfind('\n').map_or(0, |newline| newline + 1);
        let end = self.text[span.start..].find('\n').map_or(self.text.len(), |newline| span.start + newline);
        self.broken.push(start..end.max(span.end));
        self.push(diagnostic);
    }

    /// Something that is written is wrong.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        if self.is_full() {
            return self.push(diagnostic);
        }
        if !diagnostic.at.iter().any(|place| self.is_broken(place.span.start)) {
            self.push(diagnostic);
        }
    }

    /// Something that should be written is missing.
    pub fn report_absent(&mut self, diagnostic: Diagnostic) {
        if self.broken.is_empty() {
            self.push(diagnostic);
        }
    }

    fn push(&mut self, diagnostic: Diagnostic) {
        if self.is_full() {
            self.left_out += 1;
        } else {
            self.list.push(diagnostic);
        }
    }

    /// Whether the manifest can be used.
    pub fn is_usable(&self) -> bool {
        self.list.iter().all(|diagnostic| diagnostic.severity != Severity::Error) && self.left_out == 0
    }

    /// The messages in the order of the text.
    pub fn into_list(mut self) -> Vec<Diagnostic> {
        sort_by_number(&mut self.list, |diagnostic| {
            diagnostic.at.as_ref().map_or(0, |place| place.span.start)
        });
        if self.left_out > 0 {
            let message = format!("{} more problems are not shown", self.left_out);
            self.list.push(Diagnostic::new(Severity::Note, "more", message));
        }
        self.list
    }
}

/// The name among `known` that was probably meant by `written`.
pub(super) fn closest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = written.chars().count();
    // Longer names are not worth their quadratic cost.
    if length > 100 {
        return None;
    }
    let folded = written.to_ascii_lowercase().replace('_', "-");
    known
        .into_iter()
        .filter(|name| name.len() <= 100)
        .map(|name| (distance(&folded, &name.to_ascii_lowercase()), name))
        .filter(|&(distance, _)| distance <= length.div_ceil(3).min(4))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

/// How many characters must be inserted, deleted, replaced or swapped with their neighbour (optimal
/// string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_is_the_one_that_was_meant() {
        let keys = ["files", "patch", "from", "delete", "pull-request", "drop-when", "when"];
        assert_eq!(closest("file", keys), Some("files"));
        assert_eq!(closest("pathc", keys), Some("patch"));
        assert_eq!(closest("pull_request", keys), Some("pull-request"));
        assert_eq!(closest("Delete", keys), Some("delete"));
        assert_eq!(closest("dropwhen", keys), Some("drop-when"));
        assert_eq!(closest("reason", keys), None);
        assert_eq!(closest("", keys), None);
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("abc", "acb"), 1);
        assert_eq!(distance("abc", "ab"), 1);
        assert_eq!(distance("", "ab"), 2);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
