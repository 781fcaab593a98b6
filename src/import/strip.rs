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
    let lines: Vec<&[u8]> = patch.split_inclusive(|byte| *byte == b'\n').collect();
    let mut out = Vec::with_capacity(patch.len() + 64);
    let mut left = (0, 0);
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        if left == (0, 0) {
            let new = lines.get(at + 1).and_then(|next| next.strip_prefix(b"+++ "));
            if let (Some(old), Some(new)) = (line.strip_prefix(b"--- "), new) {
                out.extend_from_slice(&header(b"--- ", b"a/", old, strip));
                out.extend_from_slice(&header(b"+++ ", b"b/", new, strip));
                at += 2;
                continue;
            }
            if let Some(counts) = counts(line) {
                left = counts;
            }
        } else {
            match line.first() {
                Some(b'-') => left.0 = left.0.saturating_sub(1),
                Some(b'+') => left.1 = left.1.saturating_sub(1),
                Some(b'\\') => {}
                _ => left = (left.0.saturating_sub(1), left.1.saturating_sub(1)),
            }
        }
        out.extend_from_slice(line);
        at += 1;
    }
    out
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
