//! A patch after some of its files were edited, with as few other bytes as possible.
//!
//! Decides which parts are made anew: those of paths that changed. All others, the prose before, between and after them, and
//! the headings of hunks that say the same keep their bytes. Gives nothing that was not seen to give the wanted contents.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::id::UpstreamPath;
use crate::overlay::diff::{self, Applied, Body, FilePatch, Hunk, HunkLine, Kind, Patch};
use crate::tree::Content;

/// A path of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathSides {
    /// The path.
    pub path: UpstreamPath,
    /// What the patch stands on.
    pub below: Option<Content>,
    /// What it made of it.
    pub before: Option<Content>,
    /// What it is to make of it.
    pub after: Option<Content>,
}

impl PathSides {
    fn is_edited(&self) -> bool {
        self.before != self.after
    }
}

/// The text of the patch that makes `after` of `below` on these paths, which are all that it touches or will touch.
/// `None` if that cannot be done.
#[must_use]
pub fn recut(text: &[u8], patch: &Patch, paths: &[PathSides]) -> Option<Vec<u8>> {
    let parts = parts_of(text, patch);
    let find =
        |path: Option<&UpstreamPath>| path.and_then(|path| paths.iter().find(|side| side.path == *path));
    let mut made = text[..parts.first().map_or(text.len(), |part| part.whole.start)].to_vec();
    let mut done: BTreeSet<&UpstreamPath> = BTreeSet::new();
    for (file, part) in patch.files.iter().zip(&parts) {
        let sides = [find(file.old_path()), find(file.new_path())];
        let is_copy = matches!(file.kind, Kind::Copy { .. });
        // The source of a copy is read as it was before the patch.
        let own = sides.iter().skip(usize::from(is_copy)).flatten();
        if !own.clone().any(|side| side.is_edited()) {
            made.extend_from_slice(&text[part.whole.clone()]);
            continue;
        }
        let mut new = Vec::new();
        if let (Kind::Rename { .. }, [Some(old), Some(to)]) = (file.kind, sides)
            && let (Some(before), None, None, Some(after)) = (&old.below, &old.after, &to.below, &to.after)
            && !done.contains(&old.path)
            && !done.contains(&to.path)
        {
            done.extend([&old.path, &to.path]);
            new = diff::render(Some((&old.path, before)), Some((&to.path, after)));
        } else {
            for side in sides.into_iter().skip(usize::from(is_copy)).flatten() {
                if done.insert(&side.path) {
                    new.extend(render(side));
                }
            }
        }
        made.extend(with_headings(new, file, text));
        made.extend_from_slice(&text[part.changes.end..part.whole.end]);
    }
    let named = patch.touched();
    let mut added = Vec::new();
    for side in paths.iter().filter(|side| side.is_edited() && !named.contains(&side.path)) {
        added.extend(render(side));
    }
    // A mail's signature stays at the end.
    let end = parts.last().map_or(0, |last| last.whole.end - last.changes.end);
    let at = made.len() - end;
    made.splice(at..at, added);
    gives(&made, paths).then_some(made)
}

fn render(side: &PathSides) -> Vec<u8> {
    let old = side.below.as_ref().map(|content| (&side.path, content));
    diff::render(old, side.after.as_ref().map(|content| (&side.path, content)))
}

/// Where a part stands in the text: with what follows it up to the next one, and what of that changes something.
struct Part {
    whole: Range<usize>,
    changes: Range<usize>,
}

fn parts_of(text: &[u8], patch: &Patch) -> Vec<Part> {
    let mut starts = vec![0];
    starts.extend(text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1));
    let at = |line: usize| starts.get(line - 1).copied().unwrap_or(text.len());
    let ends = patch.files.iter().skip(1).map(|file| at(file.line)).chain([text.len()]);
    let part = |(file, end): (&FilePatch, usize)| {
        let changes_end = match &file.body {
            Body::Text(hunks) => hunks.last().map_or(end, |hunk| at(hunk.line + 1 + hunk.text_lines())),
            _ => end,
        };
        let start = at(file.line);
        Part { whole: start..end, changes: start..changes_end.min(end) }
    };
    patch.files.iter().zip(ends).map(part).collect()
}

/// Hunks that change the same lines keep what stood behind their `@@`.
fn with_headings(new: Vec<u8>, file: &FilePatch, text: &[u8]) -> Vec<u8> {
    let Ok(parsed) = diff::parse(&new) else { return new };
    let heading_of = |hunk: &Hunk| {
        let line = text.split(|byte| *byte == b'\n').nth(hunk.line - 1)?;
        let at = line.windows(4).rposition(|window| window == b" @@ ")?;
        Some(&line[at + 3..])
    };
    let mut headings = Vec::new();
    for hunk in parsed.files.iter().flat_map(|part| part.hunks()) {
        let same = file.hunks().iter().find(|old| old.lines().eq(hunk.lines()));
        let near = || file.hunks().iter().find(|old| is_part(hunk, old) || is_part(old, hunk));
        if let Some(heading) = same.or_else(near).and_then(heading_of) {
            headings.push((hunk.line, heading));
        }
    }
    let mut made = Vec::with_capacity(new.len() + 64);
    for (number, line) in new.split_inclusive(|byte| *byte == b'\n').enumerate() {
        match headings.iter().find(|(at, _)| *at == number + 1) {
            Some((_, heading)) => {
                made.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
                made.extend_from_slice(heading);
                made.push(b'\n');
            }
            None => made.extend_from_slice(line),
        }
    }
    made
}

/// Whether a hunk starts as another does: the code above it is the same, and so is its heading.
fn is_part(hunk: &Hunk, other: &Hunk) -> bool {
    let first = |hunk: &Hunk| hunk.old_lines().next().map(<[u8]>::to_vec);
    let line = |hunk: &Hunk| hunk.lines().next().map(|HunkLine { kind, .. }| kind);
    hunk.old.start == other.old.start && first(hunk) == first(other) && line(hunk) == line(other)
}

fn gives(text: &[u8], paths: &[PathSides]) -> bool {
    let Ok(patch) = diff::parse(text) else { return false };
    let below = |path: &UpstreamPath| {
        let side = paths.iter().find(|side| side.path == *path);
        Ok::<_, std::convert::Infallible>(side.and_then(|side| side.below.clone()))
    };
    let Ok(Applied::Applied { changes, .. }) = diff::apply(&patch, &below) else { return false };
    paths.iter().all(|side| changes.get(&side.path).unwrap_or(&side.below) == &side.after)
}
