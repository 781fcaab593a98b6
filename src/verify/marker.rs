//! `begin upstream <path> @ <sha>`: what stands below such a marker is that upstream file, byte for byte.
//!
//! The marker is a comment line, with any decoration around it. The vendored body reaches to a line with
//! `end upstream`, or to the end of the file.

use std::sync::LazyLock;

use bstr::ByteSlice;
use regex::bytes::Regex;

use crate::id::{CommitId, OverlayName, UpstreamPath};

use super::{Finding, OwnText};

// The pattern is a constant, tried by the tests below.
#[allow(clippy::unwrap_used)]
static BEGIN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^[^\n]*\bbegin upstream\s+(\S+)\s+@\s+([0-9A-Za-z]+)[^\n]*(?:\n|\z)").unwrap()
});

#[allow(clippy::unwrap_used)]
static END: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)^[^\n]*\bend upstream\b").unwrap());

/// A marker in an overlay file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// Where the marker's line is.
    pub span: std::ops::Range<usize>,
    /// What it says the body is: a path, and the digits of a commit.
    pub source: Result<(UpstreamPath, String), String>,
    /// Where the body is.
    pub body: std::ops::Range<usize>,
}

/// The markers of a file.
#[must_use]
pub fn find(content: &[u8]) -> Vec<Marker> {
    // Nearly all files have none, and the pattern is slow to say so.
    if !content.contains_str("begin upstream") {
        return Vec::new();
    }
    BEGIN
        .captures_iter(content)
        .filter_map(|captures| {
            let line = captures.get(0)?;
            let (path, commit) = (captures.get(1)?, captures.get(2)?);
            let source =
                UpstreamPath::parse(path.as_bytes()).map_err(|error| error.to_string()).and_then(|path| {
                    let digits = String::from_utf8_lossy(commit.as_bytes()).to_ascii_lowercase();
                    let is_id =
                        (7..=40).contains(&digits.len()) && digits.bytes().all(|c| c.is_ascii_hexdigit());
                    if is_id { Ok((path, digits)) } else { Err(format!("`{digits}` is no commit id")) }
                });
            let end = END.find_at(content, line.end()).map_or(content.len(), |end| end.start());
            Some(Marker { span: line.range(), source, body: line.end()..end })
        })
        .collect()
}

/// The content with markers that name where an upstream file is now, where a move of the pin took their bodies along: those of
/// `from`, below which stands what `upstream` has at `to`. `None`: there is none. An abbreviated commit stays abbreviated.
#[must_use]
pub fn moved(
    content: &[u8],
    from: (&UpstreamPath, CommitId),
    to: (&UpstreamPath, CommitId),
    upstream: &[u8],
) -> Option<Vec<u8>> {
    let digits_of = from.1.to_string();
    let (mut out, mut at) = (Vec::with_capacity(content.len()), 0);
    for marker in find(content) {
        let Ok((path, digits)) = &marker.source else { continue };
        if path != from.0
            || !digits_of.starts_with(digits.as_str())
            || content[marker.body.clone()] != *upstream
        {
            continue;
        }
        let line = &content[marker.span.clone()];
        let Some(captures) = BEGIN.captures(line) else { continue };
        let (Some(path), Some(commit)) = (captures.get(1), captures.get(2)) else { continue };
        out.extend_from_slice(&content[at..marker.span.start + path.start()]);
        out.extend_from_slice(to.0.as_bytes());
        out.extend_from_slice(&line[path.end()..commit.start()]);
        out.extend_from_slice(&to.1.to_string().as_bytes()[..commit.len()]);
        at = marker.span.start + commit.end();
    }
    if at == 0 {
        return None;
    }
    out.extend_from_slice(&content[at..]);
    Some(out)
}

/// What the upstream says to a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said<'a> {
    /// No commit, or more than one, begins with these digits.
    NoCommit,
    /// The commit does not have the path.
    NoPath(CommitId),
    /// What the path has there.
    Content(CommitId, &'a [u8]),
}

/// Compares the body below a marker with what the upstream has there. Of a marker that cannot be read, nothing is asked.
#[must_use]
pub fn check(
    overlay: &OverlayName,
    path: &UpstreamPath,
    content: &[u8],
    text: &OwnText,
    marker: &Marker,
    said: Said<'_>,
) -> Option<Finding> {
    // Positions are those of the bytes; where bytes were replaced, the place is only about right.
    let place = |label: &str| text.place(marker.span.clone(), label);
    let finding = match (&marker.source, said) {
        (Err(why), _) => {
            Finding::error("marker-unreadable", format!("the marker names no upstream file: {why}"))
                .at(place("this marker"))
                .hint("write it as: begin upstream <path> @ <commit>")
        }
        (Ok((_, digits)), Said::NoCommit) => Finding::error(
            "marker-unreadable",
            format!("no commit of the upstream, or more than one, is {digits}"),
        )
        .at(place("named here"))
        .hint("write all 40 digits; if history is missing, run again without --offline"),
        (Ok((source, _)), Said::NoPath(commit)) => {
            Finding::error("marker-differs", format!("there is no {source} at {commit}"))
                .at(place("named here"))
                .hint("correct the path or the commit; upstream's files: git ls-tree -r --name-only <commit>")
        }
        (Ok((source, _)), Said::Content(commit, upstream)) => {
            let body = &content[marker.body.clone()];
            let line = first_difference(body, upstream)?;
            Finding::error(
                "marker-differs",
                format!(
                    "what stands below the marker is not {source} at {}: line {line} differs",
                    commit.short()
                ),
            )
            .at(place("said to be the same"))
            .hint("put the change outside of the marked part, or correct the marker")
        }
    };
    Some(finding.of(overlay).on(path))
}

/// The first line, from 1, that differs; `None` if nothing does.
fn first_difference(a: &[u8], b: &[u8]) -> Option<usize> {
    if a == b {
        return None;
    }
    let lines =
        |text: &[u8]| -> Vec<Vec<u8>> { text.split_inclusive(|&c| c == b'\n').map(<[u8]>::to_vec).collect() };
    let (a, b) = (lines(a), lines(b));
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    Some(same + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA: &str = "b7c3dd6d27f45b5365b08a840310187dc503f1db";

    #[test]
    fn a_marker_is_found_in_any_comment() {
        for decoration in ["// ---- begin upstream a/b.cu @ SHA ----", "# begin upstream a/b.cu @ SHA"] {
            let text = format!("// ours\n{}\nint a;\n", decoration.replace("SHA", SHA));
            let [marker] = &find(text.as_bytes())[..] else { panic!("{decoration}") };
            let (path, commit) = marker.source.clone().unwrap();
            assert_eq!((path.to_string(), commit.to_string()), ("a/b.cu".to_owned(), SHA.to_owned()));
            assert_eq!(&text[marker.body.clone()], "int a;\n");
        }
    }

    #[test]
    fn the_body_ends_at_the_end_marker() {
        let text = format!("// begin upstream a @ {SHA}\nint a;\n// end upstream\nint b;\n");
        assert_eq!(&text[find(text.as_bytes())[0].body.clone()], "int a;\n");
    }

    #[test]
    fn an_abbreviated_commit_may_be_one_and_a_word_is_none() {
        let source =
            |text: &str| find(format!("// begin upstream a @ {text}\n").as_bytes())[0].source.clone();
        assert_eq!(source("B7C3DD6").map(|(_, digits)| digits), Ok("b7c3dd6".to_owned()));
        assert!(source("main").is_err() && source("b7c3dd").is_err());
    }

    #[test]
    fn a_marker_follows_its_body_and_one_whose_body_is_ours_does_not() {
        let (old, new) = (CommitId::parse(SHA).unwrap(), CommitId::parse(&"c".repeat(40)).unwrap());
        let (a, b) = (UpstreamPath::parse("a.cu").unwrap(), UpstreamPath::parse("b.cu").unwrap());
        let text = |path: &str, commit: &str, body: &str| {
            format!("// ours\n// -- begin upstream {path} @ {commit} --\n{body}// end upstream\nint c;\n")
        };
        let moved = |text: &str| {
            moved(text.as_bytes(), (&a, old), (&b, new), b"int b;\n")
                .map(|out| String::from_utf8(out).unwrap())
        };
        assert_eq!(moved(&text("a.cu", SHA, "int b;\n")), Some(text("b.cu", &"c".repeat(40), "int b;\n")));
        assert_eq!(moved(&text("a.cu", "b7c3dd6", "int b;\n")), Some(text("b.cu", "ccccccc", "int b;\n")));
        assert_eq!(moved(&text("a.cu", SHA, "int ours;\n")), None);
        assert_eq!(moved(&text("other.cu", SHA, "int b;\n")), None);
        assert_eq!(moved(&text("a.cu", "1234567", "int b;\n")), None);
    }

    #[test]
    fn the_first_line_that_differs_is_named() {
        assert_eq!(first_difference(b"a\nb\n", b"a\nb\n"), None);
        assert_eq!(first_difference(b"a\nb\n", b"a\nc\n"), Some(2));
        assert_eq!(first_difference(b"a\n", b"a\nc\n"), Some(2));
    }
}
