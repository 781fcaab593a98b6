//! Build scripts: constants that name a repository and a commit.
//!
//! Only where there is no choice: the file has one repository's URL and one full commit id in its strings.

use std::collections::BTreeSet;

use crate::id::CommitId;

use super::{Pin, line_at};

/// The pin of a build script.
#[must_use]
pub fn pins(text: &str) -> Vec<Pin> {
    let strings = strings(text);
    let urls: BTreeSet<&str> =
        strings.iter().map(|(_, text)| *text).filter(|text| is_repository(text)).collect();
    let commits: BTreeSet<&str> =
        strings.iter().map(|(_, text)| *text).filter(|text| CommitId::parse(text).is_ok()).collect();
    match (urls.first(), commits.first()) {
        (Some(url), Some(commit)) if urls.len() == 1 && commits.len() == 1 => {
            let at = strings.iter().find(|(_, text)| text == commit).map_or(0, |(at, _)| *at);
            vec![Pin {
                by: "build.rs",
                name: None,
                url: (*url).to_owned(),
                revision: (*commit).to_owned(),
                line: line_at(text, at),
            }]
        }
        _ => Vec::new(),
    }
}

fn is_repository(text: &str) -> bool {
    let is_url = ["https://", "ssh://", "git@"].iter().any(|start| text.starts_with(start));
    let host = ["https://github.com/", "https://gitlab.com/"].iter().find_map(|host| text.strip_prefix(host));
    is_url && (text.ends_with(".git") || host.is_some_and(|path| path.split('/').count() == 2))
}

/// The plain strings of a source text, with where they begin. A line comment hides what stands in it.
fn strings(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while let Some(open) = rest.find(['"', '/']) {
            if rest[open..].starts_with("//") {
                break;
            }
            let inner = &rest[open + 1..];
            if !rest[open..].starts_with('"') {
                rest = inner;
                continue;
            }
            let Some(close) = inner.find('"') else { break };
            found.push((start + line.len() - inner.len(), &inner[..close]));
            rest = &inner[close + 1..];
        }
        start += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "1700b39a1dc05611dc6792f4453458d379997037";

    #[test]
    fn one_url_and_one_commit_are_a_pin() {
        let text = format!(
            "// see \"https://github.com/x/y\"\nconst URL: &str = \"https://github.com/a/up.git\";\nconst REV: &str = \"{ID}\";\n"
        );
        let pins = pins(&text);
        assert_eq!(pins.len(), 1);
        assert_eq!(
            (pins[0].url.as_str(), pins[0].revision.as_str(), pins[0].line),
            ("https://github.com/a/up.git", ID, 3)
        );
        let two = format!("{text}const OTHER: &str = \"https://github.com/a/z.git\";\n");
        assert!(super::pins(&two).is_empty());
    }
}
