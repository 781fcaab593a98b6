//! Patches whose names have another number of folders in front than git's `a/` and `b/`.
//!
//! Decides which lines are headers of a plain diff and writes their names as git does; all other bytes stay.

use bstr::ByteSlice;

/// The patch with names as git writes them, if `strip` folders are to be taken from the front of those that it has.
#[must_use]
pub fn relevel(patch: &[u8], strip: usize) -> Vec<u8> {
    if strip == 1 {
        return patch.to_vec();
    }
    let mut out = Vec::with_capacity(patch.len() + 64);
    let mut lines = outside_of_hunks(patch).into_iter().peekable();
    while let Some((line, is_outside)) = lines.next() {
        let new = lines.peek().and_then(|(next, _)| next.strip_prefix(b"+++ "));
        if let (true, Some(old), Some(new)) = (is_outside, line.strip_prefix(b"--- "), new) {
            out.extend_from_slice(&header(b"--- ", b"a/", old, strip));
            out.extend_from_slice(&header(b"+++ ", b"b/", new, strip));
            lines.next();
        } else {
            out.extend_from_slice(line);
        }
    }
    out
}

/// The patch without the names above a part that has no hunks: libgit2 writes them for a file that is empty, git does not.
#[must_use]
pub fn without_idle_names(patch: &[u8]) -> Vec<u8> {
    let start = if patch.starts_with(b"diff --git ") { Some(0) } else { patch.find(b"\ndiff --git ") };
    let Some(start) = start else { return patch.to_vec() };
    let mut out = patch[..start].to_vec();
    let lines = outside_of_hunks(&patch[start..]);
    let starts = |at: usize, with: &[u8]| lines.get(at).is_some_and(|(line, _)| line.starts_with(with));
    let mut at = 0;
    while let Some((line, is_outside)) = lines.get(at) {
        if *is_outside && line.starts_with(b"--- ") && starts(at + 1, b"+++ ") && !starts(at + 2, b"@@ ") {
            at += 2;
            continue;
        }
        out.extend_from_slice(line);
        at += 1;
    }
    out
}

/// The lines of a patch, and whether each stands outside of the hunks.
fn outside_of_hunks(patch: &[u8]) -> Vec<(&[u8], bool)> {
    let mut left = (0, 0);
    let mark = |line: &'_ [u8]| {
        let is_outside = left == (0, 0);
        match line.first() {
            _ if is_outside => left = counts(line).unwrap_or(left),
            Some(b'-') => left.0 = left.0.saturating_sub(1),
            Some(b'+') => left.1 = left.1.saturating_sub(1),
            Some(b'\\') => {}
            _ => left = (left.0.saturating_sub(1), left.1.saturating_sub(1)),
        }
        is_outside
    };
    let lines = patch.split_inclusive(|byte| *byte == b'\n');
    lines.scan(mark, |mark, line| Some((line, mark(line)))).collect()
}

fn header(mark: &[u8], prefix: &[u8], name: &[u8], strip: usize) -> Vec<u8> {
    let mut line = mark.to_vec();
    if name.starts_with(b"/dev/null") {
        line.extend_from_slice(name);
        return line;
    }
    let mut rest = name;
    for _ in 0..strip {
        let end = rest.find_byteset(b"\t\n").unwrap_or(rest.len());
        match rest[..end].find_byte(b'/') {
            Some(slash) => rest = &rest[slash + 1..],
            None => break,
        }
    }
    line.extend_from_slice(prefix);
    line.extend_from_slice(rest.strip_prefix(b"./").unwrap_or(rest));
    line
}

/// How many lines of the old and the new side a hunk has.
fn counts(line: &[u8]) -> Option<(usize, usize)> {
    let line = line.strip_prefix(b"@@ -")?.to_str().ok()?;
    let (old, rest) = line.split_once(" +")?;
    let new = rest.split_once(" @@")?.0;
    let count = |side: &str| side.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok());
    Some((count(old)?, count(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_empty_has_no_names_above_hunks() {
        let head = "Subject: x\n\n--- a/prose\n+++ b/prose\n---\n";
        let new = "diff --git a/n b/n\nnew file mode 100644\nindex 0000000..e69de29\n";
        let names = "--- /dev/null\n+++ b/n\n";
        let change = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a\n+++ b\n c\n";
        for (given, expected) in [
            (format!("{head}{new}{names}{change}"), format!("{head}{new}{change}")),
            (format!("{change}{new}{names}-- \n2.40\n"), format!("{change}{new}-- \n2.40\n")),
            (format!("{new}{names}"), new.to_owned()),
            (head.to_owned(), head.to_owned()),
        ] {
            assert_eq!(without_idle_names(given.as_bytes()).as_bstr(), expected);
        }
    }

    #[test]
    fn names_get_the_folders_that_git_has() {
        let plain = b"--- src/x.c\t2020-01-01\n+++ src/x.c\n@@ -1,2 +1,2 @@\n--- a/b\n+++ c/d\n z\n";
        let out = relevel(plain, 0);
        assert_eq!(
            out.as_bstr(),
            "--- a/src/x.c\t2020-01-01\n+++ b/src/x.c\n@@ -1,2 +1,2 @@\n--- a/b\n+++ c/d\n z\n"
        );
        let deep = b"--- up-1.0/src/x.c\n+++ up/src/x.c\n@@ -0,0 +1 @@\n+z\n--- /dev/null\n+++ up/src/y.c\n";
        assert_eq!(
            relevel(deep, 2).as_bstr(),
            "--- a/x.c\n+++ b/x.c\n@@ -0,0 +1 @@\n+z\n--- /dev/null\n+++ b/y.c\n"
        );
    }
}
