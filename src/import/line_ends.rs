//! Patches all of whose lines end with CR LF, since a mail program, an editor or a checkout made them so.
//!
//! Git ends the headers of a diff with a bare LF, so the CRs of those are not the change's. Decides of which lines they
//! are: of the hunks for a file whose lines upstream ends with CR LF, and of no others.

use std::collections::BTreeSet;

use crate::id::UpstreamPath;
use crate::overlay::diff::Patch;

/// The patch with LF, if all of its lines end with CR LF.
#[must_use]
pub fn without_cr(patch: &[u8]) -> Option<Vec<u8>> {
    let mut lines = patch.split_inclusive(|byte| *byte == b'\n').peekable();
    let mut out = Vec::with_capacity(patch.len());
    lines.peek()?;
    for line in lines {
        match line.strip_suffix(b"\r\n") {
            Some(line) => out.extend_from_slice(&[line, b"\n"].concat()),
            None if line.ends_with(b"\n") => return None,
            None => out.extend_from_slice(line),
        }
    }
    Some(out)
}

/// The text of a patch with CR LF in the hunks of the files that `has_crlf` names.
#[must_use]
pub fn with_cr(text: &[u8], patch: &Patch, has_crlf: &dyn Fn(&UpstreamPath) -> bool) -> Vec<u8> {
    let files = patch.files.iter().filter(|file| file.old_path().is_some_and(has_crlf));
    let hunks = files.flat_map(|file| file.hunks());
    let lines: BTreeSet<usize> =
        hunks.flat_map(|hunk| hunk.line + 1..=hunk.line + hunk.text_lines()).collect();
    let mut out = Vec::with_capacity(text.len() + lines.len());
    for (at, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        match line.strip_suffix(b"\n") {
            Some(line) if lines.contains(&(at + 1)) && !line.starts_with(b"\\") => {
                out.extend_from_slice(&[line, b"\r\n"].concat());
            }
            _ => out.extend_from_slice(line),
        }
    }
    out
}

/// Whether most lines of a content end with CR LF.
#[must_use]
pub fn has_crlf(content: &[u8]) -> bool {
    let lines = || content.split_inclusive(|byte| *byte == b'\n');
    lines().filter(|line| line.ends_with(b"\r\n")).count() * 2 > lines().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlay::diff::parse;

    const PATCH: &str = "Subject: two\n\n--- a/unix\n+++ b/unix\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n--- a/win\n+++ b/win\n\
                         @@ -1 +1 @@\n-a\n+A\n\\ No newline at end of file\n";

    #[test]
    fn cr_stays_where_upstream_has_it() {
        let sent = PATCH.replace('\n', "\r\n");
        let plain = without_cr(sent.as_bytes()).unwrap();
        assert_eq!(plain, PATCH.as_bytes());
        let patch = parse(&plain).unwrap();
        let mended = with_cr(&plain, &patch, &|path| path.to_string() == "win");
        let expected = PATCH.replace("-1 +1 @@\n-a\n+A\n", "-1 +1 @@\n-a\r\n+A\r\n");
        assert_eq!(mended, expected.as_bytes());
    }

    #[test]
    fn a_patch_with_bare_ends_is_left_alone() {
        assert_eq!(without_cr(PATCH.as_bytes()), None);
        assert_eq!(without_cr(b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\r\n+A\r\n"), None);
        assert_eq!(without_cr(b""), None);
        assert!(has_crlf(b"a\r\nb\r\nc\n") && !has_crlf(b"a\r\nb\n") && !has_crlf(b""));
    }
}
