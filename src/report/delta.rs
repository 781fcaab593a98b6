//! The minimal fix: an overlay's own change as a diff, header comments left out; and the lines that it takes away.
//!
//! A header comment is all that stands before the first token of code. What an overlay says there (where it comes from, why
//! it is carried) is nobody's business upstream. Decides nothing about whether the change is right.

use crate::id::UpstreamPath;
use crate::lex::{Language, tokens};
use crate::overlay::diff::render;
use crate::tree::Content;

/// Lines of context that stand next to each other count as one stretch.
const NEAR: usize = 4;

/// The change of one path.
#[derive(Debug, Clone)]
pub struct Change {
    /// The path.
    pub path: UpstreamPath,
    /// Without the overlay.
    pub old: Option<Content>,
    /// With it.
    pub new: Option<Content>,
}

impl Change {
    /// The diff, with the header comments of the new text as they are in the old one.
    #[must_use]
    pub fn diff(&self) -> Vec<u8> {
        let new = match (&self.old, &self.new) {
            (Some(old), Some(new)) => Some(Content {
                mode: new.mode,
                bytes: with_header_of(&self.path, &old.bytes, &new.bytes).into(),
            }),
            (None, Some(new)) => {
                let start = header(&self.path, &new.bytes).unwrap_or(0);
                Some(Content { mode: new.mode, bytes: new.bytes[start..].into() })
            }
            (_, None) => None,
        };
        if self.old == new {
            return Vec::new();
        }
        render(self.old.as_ref().map(|old| (&self.path, old)), new.as_ref().map(|new| (&self.path, new)))
    }

    /// The stretches of the old text that the change takes away or stands between: first and last line, from 1.
    #[must_use]
    pub fn old_lines(&self) -> Vec<(usize, usize)> {
        let diff = self.diff();
        let mut stretches: Vec<(usize, usize)> = Vec::new();
        let mut line = 0;
        let mut inside = false;
        for text in diff.split(|&b| b == b'\n') {
            if let Some(start) = hunk_start(text) {
                (line, inside) = (start, true);
                continue;
            }
            match text.first() {
                Some(b' ') if inside => line += 1,
                Some(b'-') if inside => {
                    match stretches.last_mut() {
                        Some(last) if line <= last.1 + NEAR => last.1 = line,
                        _ => stretches.push((line, line)),
                    }
                    line += 1;
                }
                Some(b'+') if inside => match stretches.last_mut() {
                    Some(last) if line <= last.1 + NEAR => last.1 = last.1.max(line.saturating_sub(1)),
                    _ if line > 1 => stretches.push((line - 1, line - 1)),
                    _ => {}
                },
                Some(b'\\') => {}
                _ => inside = false,
            }
        }
        stretches
    }
}

/// The line of the old text at which a hunk begins.
fn hunk_start(line: &[u8]) -> Option<usize> {
    let rest = line.strip_prefix(b"@@ -")?;
    let digits: Vec<u8> = rest.iter().copied().take_while(u8::is_ascii_digit).collect();
    String::from_utf8(digits).ok()?.parse().ok()
}

/// The new text with the old one's header.
fn with_header_of(path: &UpstreamPath, old: &[u8], new: &[u8]) -> Vec<u8> {
    match (header(path, old), header(path, new)) {
        (Some(of_old), Some(of_new)) => [&old[..of_old], &new[of_new..]].concat(),
        _ => new.to_vec(),
    }
}

/// Where the first line with code begins. `None`: it cannot be told.
fn header(path: &UpstreamPath, text: &[u8]) -> Option<usize> {
    let tokens = tokens(Language::of_path(path)?, text).ok()?;
    let first = tokens.iter().find(|token| !token.is_comment() && !token.span.is_empty())?;
    let before = &text[..first.span.start];
    Some(before.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(old: &str, new: &str) -> Change {
        let content = |text: &str| Some(Content::file(text.as_bytes().to_vec()));
        Change { path: UpstreamPath::parse("a.cu").unwrap(), old: content(old), new: content(new) }
    }

    #[test]
    fn header_comments_are_left_out() {
        let old = "// Copyright upstream\n\n#include <x>\nint a;\n";
        let new = "// Ours: carried since 2024\n// see overlays/\n\n#include <x>\nint b;\n";
        let diff = String::from_utf8(change(old, new).diff()).unwrap();
        assert!(diff.contains("-int a;\n+int b;\n") && !diff.contains("Ours"), "{diff}");
        assert!(change(old, &old.replace("upstream", "us")).diff().is_empty());
        let added = Change { old: None, ..change("", new) };
        assert!(!String::from_utf8(added.diff()).unwrap().contains("Ours"));
    }

    #[test]
    fn a_comment_in_the_code_stays() {
        let old = "int a; // old\n";
        let diff = String::from_utf8(change(old, "int a; // new\n").diff()).unwrap();
        assert!(diff.contains("+int a; // new"), "{diff}");
    }

    #[test]
    fn the_lines_that_go_are_told() {
        let old: String = (1..=40).map(|n| format!("int a{n};\n")).collect();
        let new = old
            .replace("int a3;\n", "int b3;\n")
            .replace("int a5;\n", "")
            .replace("int a30;\n", "int a30;\nint c;\n");
        assert_eq!(change(&old, &new).old_lines(), [(3, 5), (30, 30)]);
        assert_eq!(change("int a;\n", "int b;\n").old_lines(), [(1, 1)]);
        // A line of the text that looks like a header of a diff is none.
        assert_eq!(change("--a;\nint b;\n", "--a;\nint c;\n").old_lines(), [(2, 2)]);
    }
}
