//! Links of a report to files and sections.
//!
//! Decides which links a text has and which anchors. Only links within the repository are looked at: nothing is fetched.

use std::path::{Component, Path, PathBuf};

/// A link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The line, from 1.
    pub line: usize,
    /// The file, as it is written; empty: this one.
    pub file: String,
    /// The section.
    pub anchor: Option<String>,
}

/// The links of a text that lead to files or sections, in order. Blocks and code spans have none.
#[must_use]
pub fn links(text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    let mut fence: Option<usize> = None;
    for (number, line) in text.lines().enumerate() {
        let ticks = line.trim_start().chars().take_while(|&c| c == '`').count();
        match fence {
            Some(open) if ticks >= open => fence = None,
            Some(_) => continue,
            None if ticks >= 3 => fence = Some(ticks),
            None => {}
        }
        if ticks >= 3 {
            continue;
        }
        let plain = without_spans(line);
        let mut rest = plain.as_str();
        while let Some(at) = rest.find("](") {
            // A bracket behind a backslash is text.
            let is_text = rest[..at].bytes().rev().take_while(|&b| b == b'\\').count() % 2 == 1;
            rest = &rest[at + 2..];
            if is_text {
                continue;
            }
            let Some(end) = rest.find(')') else { break };
            let target = rest[..end].trim();
            rest = &rest[end..];
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = match target.split_once('#') {
                Some((file, anchor)) => (file, Some(anchor.to_owned())),
                None => (target, None),
            };
            found.push(Link { line: number + 1, file: decoded(file), anchor });
        }
    }
    found
}

/// A line without its code spans.
fn without_spans(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        plain.push_str(&rest[..at]);
        let ticks = rest[at..].chars().take_while(|&c| c == '`').count();
        let fence = &rest[at..at + ticks];
        let after = &rest[at + ticks..];
        match after.find(fence) {
            Some(end) => rest = &after[end + ticks..],
            None => {
                rest = after;
                break;
            }
        }
    }
    plain.push_str(rest);
    plain
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The anchors of a text's headings, as forges make them.
#[must_use]
pub fn anchors(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let Some(heading) = line.strip_prefix('#').filter(|_| !fenced) else { continue };
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let same = found.iter().filter(|known| **known == anchor).count();
        found.push(if same == 0 { anchor } else { format!("{anchor}-{same}") });
    }
    found
}

/// The file of a link in a report, relative to the repository. `None`: it leads out of it.
#[must_use]
pub fn target(report: &Path, link: &Link) -> Option<PathBuf> {
    if link.file.is_empty() {
        return Some(report.to_owned());
    }
    let start = match link.file.strip_prefix('/') {
        Some(_) => PathBuf::new(),
        None => report.parent().unwrap_or(Path::new("")).to_owned(),
    };
    let mut path = PathBuf::new();
    for part in start.join(link.file.trim_start_matches('/')).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir if !path.pop() => return None,
            _ => {}
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_blocks_and_spans_are_none() {
        let text = "[a](b.md#c) and `[x](y)` [w](https://e.org)\n```\n[x](y)\n```\n[s](#here) [p](a%20b)\n";
        let found = links(text);
        let shown: Vec<_> = found.iter().map(|l| (l.line, l.file.as_str(), l.anchor.as_deref())).collect();
        assert_eq!(shown, [(1, "b.md", Some("c")), (5, "", Some("here")), (5, "a b", None)]);
    }

    #[test]
    fn brackets_behind_a_backslash_are_text() {
        let found = links(r"\[x\](y) and [a \\](b) and \[c](d)");
        assert_eq!(found.iter().map(|link| link.file.as_str()).collect::<Vec<_>>(), ["b", "d"]);
    }

    #[test]
    fn anchors_are_those_of_forges() {
        assert_eq!(anchors("# A b: c!\n## x\n```\n# no\n```\n## x\n"), ["a-b-c", "x", "x-1"]);
    }

    #[test]
    fn a_link_stays_in_the_repository() {
        let of = |file: &str| {
            target(Path::new("docs/up/r.md"), &Link { line: 1, file: file.into(), anchor: None })
        };
        assert_eq!(of("e/x.json"), Some("docs/up/e/x.json".into()));
        assert_eq!(of("../../README.md"), Some("README.md".into()));
        assert_eq!(of("/README.md"), Some("README.md".into()));
        assert_eq!(of("../../../etc/passwd"), None);
    }
}
