//! Every other place that has the same commit, as a pattern for `also-pinned`.
//!
//! A pattern is made of what stands before the commit on its line, and counts only if it matches this commit and no other
//! text of the file.

use crate::id::CommitId;
use crate::manifest::pattern;

/// A place in a file, or why there is no pattern for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The pattern; `None`: none that I can make matches this place only.
    pub regex: Option<String>,
}

/// How much of a line goes into a pattern, at most, in characters.
const MOST: usize = 60;

/// The places of a text that have the commit. Places that one pattern matches are one.
#[must_use]
pub fn find(text: &str, commit: CommitId) -> Vec<Place> {
    let digits = commit.to_string();
    let mut places: Vec<Place> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let Some(start) = line.to_ascii_lowercase().find(&digits) else { continue };
        let regex = [pattern_of(line, start, false), pattern_of(line, start, true)]
            .into_iter()
            .find(|regex| matches_only(regex, text, &digits));
        if regex.is_some() && places.iter().any(|place| place.regex == regex) {
            continue;
        }
        places.push(Place { line: at + 1, regex });
    }
    places
}

fn pattern_of(line: &str, start: usize, is_long: bool) -> String {
    let before = line[..start].trim_start();
    let skip = before.chars().count().saturating_sub(MOST);
    let before: String = before.chars().skip(skip).collect();
    let behind = line[start + 40..].trim_end();
    let first = if skip == 0 { r"^\s*" } else { "" };
    let rest = if is_long || before.is_empty() { format!("{}\\s*$", escaped(behind)) } else { String::new() };
    format!("{first}{}([0-9a-f]{{40}}){rest}", escaped(&before))
}

/// A text as a pattern, with any white space for white space.
fn escaped(text: &str) -> String {
    let mut pattern = String::new();
    let mut in_space = false;
    for c in text.chars() {
        let is_space = c.is_whitespace();
        match (is_space, in_space) {
            (true, false) => pattern.push_str(r"\s+"),
            (true, true) => {}
            (false, _) => pattern.push_str(&regex::escape(&c.to_string())),
        }
        in_space = is_space;
    }
    pattern
}

fn matches_only(regex: &str, text: &str, digits: &str) -> bool {
    let Ok(regex) = pattern::regex(regex) else { return false };
    let mut found = regex.captures_iter(text.as_bytes()).filter_map(|captures| captures.get(1)).peekable();
    found.peek().is_some() && found.all(|found| found.as_bytes().eq_ignore_ascii_case(digits.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "1700b39a1dc05611dc6792f4453458d379997037";
    const OTHER: &str = "b7c3dd6d27f45b5365b08a840310187dc503f1db";

    fn found(text: &str) -> Vec<(usize, Option<String>)> {
        let commit = CommitId::parse(ID).unwrap();
        find(text, commit).into_iter().map(|place| (place.line, place.regex)).collect()
    }

    #[test]
    fn a_place_gets_a_pattern_of_its_line() {
        let text = format!("set(A {OTHER})\n  set(UP_COMMIT  {ID}) # up\nGIT_TAG {ID}\n");
        let found = found(&text);
        assert_eq!(
            found,
            [
                (2, Some(r"^\s*set\(UP_COMMIT\s+([0-9a-f]{40})".to_owned())),
                (3, Some(r"^\s*GIT_TAG\s+([0-9a-f]{40})".to_owned()))
            ]
        );
    }

    #[test]
    fn a_pattern_that_matches_another_commit_is_made_longer_or_not_at_all() {
        let text = format!("GIT_TAG {OTHER} # b\nGIT_TAG {ID} # a\n");
        assert_eq!(found(&text), [(2, Some(r"^\s*GIT_TAG\s+([0-9a-f]{40})\s+\#\s+a\s*$".to_owned()))]);
        assert_eq!(found(&format!("rev: {OTHER}\nrev: {ID}\n")), [(2, None)]);
    }
}
