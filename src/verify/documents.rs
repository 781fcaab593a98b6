//! Reports, tests and documents that something names and that are not there.

use std::path::{Component, Path, PathBuf};

use crate::id::{OverlayName, UpstreamPath};
use crate::lex::{Language, comment_spans};
use crate::manifest::Manifest;
use crate::overlay::Loaded;

use super::{Finding, OwnText};

/// The report of an overlay and the projects of its tests.
#[must_use]
pub fn missing_links(manifest: &Manifest, loaded: &Loaded, exists: &dyn Fn(&Path) -> bool) -> Vec<Finding> {
    let name = loaded.name();
    let mut findings = Vec::new();
    if let Some(report) = &loaded.overlay.report
        && !exists(&report.value)
    {
        let message = format!("the report of overlay `{name}` is not there: `{}`", report.value.display());
        findings.push(
            Finding::error("missing-report", message)
                .of(name)
                .at(manifest.place(report.span.clone(), "no such file"))
                .hint("write the report there, correct the path, or remove `report`"),
        );
    }
    for linked in &loaded.overlay.tests {
        let Some(test) = manifest.test(linked.value.as_str()) else { continue };
        let Some(project) = &test.project else { continue };
        // Without a target there is nothing to build, and the project is configured all the same.
        let needed = project.value.join("CMakeLists.txt");
        if !exists(&needed) {
            let message = format!(
                "test `{}` of overlay `{name}` has no project: `{}` is not there",
                test.name.value,
                needed.display()
            );
            findings.push(
                Finding::error("missing-test", message)
                    .of(name)
                    .at(manifest.place(project.span.clone(), "no such project"))
                    .hint("correct `project`, or write its CMakeLists.txt: docs/manifest.md shows one for a script"),
            );
        }
    }
    findings
}

/// Documents that the comments at the head of an overlay file name: paths with a folder that end in `.md`,
/// `.rst`, `.txt` or `.adoc`. They are relative to our repository; URLs do not count.
#[must_use]
pub fn missing_documents(
    overlay: &OverlayName,
    path: &UpstreamPath,
    text: &OwnText,
    exists: &dyn Fn(&Path) -> bool,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for span in header_comments(path, text.text.as_bytes()) {
        for (at, document) in documents(&text.text[span.clone()]) {
            if !exists(&document) {
                let start = span.start + at;
                let shown = document.display().to_string();
                let place = text.place(start..start + shown.len(), "no such file");
                let message = format!("a comment of overlay `{overlay}` names `{shown}`, which is not there");
                let finding = Finding::error("missing-document", message).of(overlay).on(path).at(place);
                findings.push(finding.hint("correct the comment, or write the document"));
            }
        }
    }
    findings
}

/// The comments before the first code of a file.
pub(super) fn header_comments(path: &UpstreamPath, source: &[u8]) -> Vec<std::ops::Range<usize>> {
    let Some(spans) = Language::of_path(path).and_then(|language| comment_spans(language, source).ok())
    else {
        return Vec::new();
    };
    let mut header = Vec::new();
    let mut end = 0;
    for span in spans {
        let between = &source[end..span.start];
        if !between.iter().all(u8::is_ascii_whitespace) && !between.starts_with(b"\xef\xbb\xbf") {
            break;
        }
        end = span.end;
        header.push(span);
    }
    header
}

/// The documents that a comment names, with where each stands.
fn documents(comment: &str) -> Vec<(usize, PathBuf)> {
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in comment.char_indices().chain([(comment.len(), ' ')]) {
        match (start, is_of_path(c) || c == ':') {
            (None, true) => start = Some(at),
            (Some(begin), false) => {
                start = None;
                let word = comment[begin..at].trim_end_matches(['.', ':', ',']);
                if let Some(document) = as_document(word) {
                    found.push((begin, document));
                }
            }
            _ => {}
        }
    }
    found
}

fn as_document(word: &str) -> Option<PathBuf> {
    let path = Path::new(word);
    let extension = path.extension()?.to_str()?;
    let is_relative = path.components().all(|part| matches!(part, Component::Normal(_)));
    (word.contains('/')
        && !word.contains(':')
        && is_relative
        && ["md", "rst", "txt", "adoc"].contains(&extension)
        && path.file_name() != Some("CMakeLists.txt".as_ref()))
    .then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(comment: &str) -> Vec<String> {
        documents(comment).into_iter().map(|(_, document)| document.display().to_string()).collect()
    }

    #[test]
    fn a_path_to_a_text_is_a_document() {
        assert_eq!(names("// See docs/upstream/rms-norm.md."), ["docs/upstream/rms-norm.md"]);
        assert_eq!(names("/* (docs/a.rst, notes/b.txt) */"), ["docs/a.rst", "notes/b.txt"]);
    }

    #[test]
    fn other_words_are_none() {
        assert!(names("// https://example.org/docs/a.md README.md ../x/a.md /etc/a.txt src/a.cu").is_empty());
        assert!(names("// mlx/CMakeLists.txt").is_empty());
    }

    #[test]
    fn only_comments_before_the_code_are_the_header() {
        let path = UpstreamPath::parse("a.cu").unwrap();
        let source = b"// one\n\n/* two */\nint a; // three\n";
        let header: Vec<&[u8]> =
            header_comments(&path, source).into_iter().map(|span| &source[span]).collect();
        assert_eq!(header, [&b"// one"[..], b"/* two */"]);
    }
}
