//! From two contents to a diff that `git apply` takes.
//!
//! Decides on bytes alone, so the same contents give the same diff on every machine: full ids, three lines of
//! context, no section headings, no dates.

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

use super::binary::render_literal;
use super::name::quote;
use super::split_lines;
use crate::id::{BlobId, UpstreamPath};
use crate::tree::{Content, Mode};

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// As far as git looks for a zero byte to call a content binary.
const BINARY_SAMPLE: usize = 8000;

/// The id that stands for "no file".
const NO_FILE: &str = "0000000000000000000000000000000000000000";

/// A side of a diff.
type Side<'a> = (&'a UpstreamPath, &'a Content);

/// Renders what changes between two states of one file, `None` being "not there". Empty if nothing does.
///
/// Two paths make a rename. A file that becomes a symbolic link, or the other way round, is deleted and created.
#[must_use]
pub fn render(old: Option<Side>, new: Option<Side>) -> Vec<u8> {
    let mut patch = Vec::new();
    match (old, new) {
        (Some((_, before)), Some((_, after))) if is_link(before) != is_link(after) => {
            render_part(&mut patch, old, None);
            render_part(&mut patch, None, new);
        }
        (None, None) => {}
        _ if old == new => {}
        _ => render_part(&mut patch, old, new),
    }
    patch
}

fn is_link(content: &Content) -> bool {
    content.mode == Mode::Symlink
}

fn render_part(patch: &mut Vec<u8>, old: Option<Side>, new: Option<Side>) {
    let Some((path, _)) = old.or(new) else { return };
    let old_name = old.map_or(path, |(path, _)| path);
    let new_name = new.map_or(path, |(path, _)| path);
    let bytes = |side: Option<Side>| side.map_or(&[][..], |(_, content)| &content.bytes[..]).to_vec();
    let (before, after) = (bytes(old), bytes(new));
    push_line(
        patch,
        &[b"diff --git ", &quote(&prefixed(b"a/", old_name)), b" ", &quote(&prefixed(b"b/", new_name))],
    );
    let mut same_mode = "";
    match (old, new) {
        (Some((_, old)), Some((_, new))) if old.mode == new.mode => same_mode = old.mode.as_octal(),
        (Some((_, old)), Some((_, new))) => {
            push_line(patch, &[b"old mode ", old.mode.as_octal().as_bytes()]);
            push_line(patch, &[b"new mode ", new.mode.as_octal().as_bytes()]);
        }
        (None, Some((_, new))) => push_line(patch, &[b"new file mode ", new.mode.as_octal().as_bytes()]),
        (Some((_, old)), None) => push_line(patch, &[b"deleted file mode ", old.mode.as_octal().as_bytes()]),
        (None, None) => {}
    }
    let (old_lines, new_lines): (Vec<&[u8]>, Vec<&[u8]>) =
        (split_lines(&before).collect(), split_lines(&after).collect());
    let is_binary = looks_binary(&before) || looks_binary(&after);
    let changes =
        if is_binary { Vec::new() } else { capture_diff_slices(Algorithm::Myers, &old_lines, &new_lines) };
    if old_name != new_name {
        let percent = if is_binary {
            usize::from(before == after) * 100
        } else {
            similarity(&changes, &old_lines, &new_lines)
        };
        push_line(patch, &[b"similarity index ", percent.to_string().as_bytes(), b"%"]);
        push_line(patch, &[b"rename from ", &quote(old_name.as_bytes())]);
        push_line(patch, &[b"rename to ", &quote(new_name.as_bytes())]);
    }
    if before == after && old.is_some() == new.is_some() {
        return;
    }
    let id =
        |side: Option<Side>, bytes: &[u8]| side.map_or(NO_FILE.to_owned(), |_| BlobId::of(bytes).to_string());
    let ids = format!("index {}..{} {same_mode}", id(old, &before), id(new, &after));
    push_line(patch, &[ids.trim_end().as_bytes()]);
    if before == after {
        return;
    }
    if is_binary {
        push_line(patch, &[b"GIT binary patch"]);
        render_literal(&after, patch);
        render_literal(&before, patch);
        return;
    }
    push_line(patch, &[b"--- ", &label(old.map(|_| prefixed(b"a/", old_name)))]);
    push_line(patch, &[b"+++ ", &label(new.map(|_| prefixed(b"b/", new_name)))]);
    for group in group_diff_ops(changes, CONTEXT) {
        render_hunk(patch, &group, &old_lines, &new_lines);
    }
}

fn push_line(patch: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| patch.extend_from_slice(part));
    patch.push(b'\n');
}

fn prefixed(prefix: &[u8], path: &UpstreamPath) -> Vec<u8> {
    [prefix, path.as_bytes()].concat()
}

/// A name on a `---` or `+++` line. A tab tells where a name with spaces ends.
fn label(name: Option<Vec<u8>>) -> Vec<u8> {
    let Some(name) = name else { return b"/dev/null".to_vec() };
    let mut label = quote(&name).into_owned();
    if name.contains(&b' ') {
        label.push(b'\t');
    }
    label
}

fn looks_binary(content: &[u8]) -> bool {
    content.iter().take(BINARY_SAMPLE).any(|&byte| byte == 0)
}

/// How much of the larger side is in both, in percent; 100 only if both are equal.
fn similarity(changes: &[DiffOp], old: &[&[u8]], new: &[&[u8]]) -> usize {
    let size = |lines: &[&[u8]]| lines.iter().map(|line| line.len()).sum::<usize>();
    let all = size(old).max(size(new));
    if old == new || all == 0 {
        return 100;
    }
    let common = |change: &DiffOp| match *change {
        DiffOp::Equal { old_index, len, .. } => size(&old[old_index..old_index + len]),
        _ => 0,
    };
    (changes.iter().map(common).sum::<usize>() * 100 / all).min(99)
}

fn render_hunk(patch: &mut Vec<u8>, group: &[DiffOp], old: &[&[u8]], new: &[&[u8]]) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
    let old_range = first.old_range().start..last.old_range().end;
    let new_range = first.new_range().start..last.new_range().end;
    let header = format!("@@ -{} +{} @@", span(&old_range), span(&new_range));
    push_line(patch, &[header.as_bytes()]);
    for change in group {
        let (_, old_lines, new_lines) = change.as_tag_tuple();
        if let DiffOp::Equal { .. } = change {
            old[old_lines].iter().for_each(|line| push_body_line(patch, b' ', line));
        } else {
            old[old_lines].iter().for_each(|line| push_body_line(patch, b'-', line));
            new[new_lines].iter().for_each(|line| push_body_line(patch, b'+', line));
        }
    }
}

/// `LINE,COUNT`: a count of 1 is left out, and an empty side names the line before it.
fn span(lines: &std::ops::Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

fn push_body_line(patch: &mut Vec<u8>, kind: u8, line: &[u8]) {
    patch.push(kind);
    patch.extend_from_slice(line);
    if !line.ends_with(b"\n") {
        patch.extend_from_slice(b"\n\\ No newline at end of file\n");
    }
}
