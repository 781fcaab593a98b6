//! One overlay becomes two.
//!
//! Decides what can be taken out of a patch, and what both halves are. The rest stands first and what was taken stands on it,
//! so both together give what the one gave. Never splits a hunk, nor a part that is more than hunks: a new file, a rename, a
//! change of the mode.

use std::collections::BTreeSet;

use crate::id::UpstreamPath;
use crate::overlay::diff::{self, Applied, Body, FilePatch, Hunk, Kind, LineKind, Patch};
use crate::refresh::{PathSides, added_patch};
use crate::tree::Changes;

/// What can be taken out: a hunk, or a whole part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Its number, from 1.
    pub number: usize,
    /// The path.
    pub path: UpstreamPath,
    /// The first line that it concerns, in the file before; `None` for a whole part.
    pub line: Option<usize>,
    /// How many lines it adds and removes.
    pub lines: (usize, usize),
    /// The first line that it adds or removes, without its end.
    pub first: Vec<u8>,
}

/// Why an overlay cannot be split so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SplitError {
    /// There is no such hunk.
    NoHunk(usize),
    /// Nothing would be left, or nothing taken.
    OneHalf,
    /// The rest does not apply without what was taken.
    Entangled,
}

impl std::fmt::Display for SplitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SplitError::NoHunk(number) => write!(f, "there is no hunk {number}"),
            SplitError::OneHalf => f.write_str("one of the two would change nothing"),
            SplitError::Entangled => f.write_str("the rest does not apply without these hunks"),
        }
    }
}

impl std::error::Error for SplitError {}

/// Both halves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halves {
    /// What the first overlay is to make of each path of the old one.
    pub rest: Changes,
    /// The patch of the second, on top of the first.
    pub taken: Vec<u8>,
    /// Whether the second applies without the first.
    pub is_free: bool,
}

/// What can be taken out of a patch, in its order.
#[must_use]
pub fn units(patch: &Patch) -> Vec<Unit> {
    let mut units = Vec::new();
    for file in &patch.files {
        let Some(path) = file.new_path().or(file.old_path()) else { continue };
        let by_hunks = is_by_hunks(file);
        let hunks: Vec<&[Hunk]> =
            if by_hunks { file.hunks().chunks(1).collect() } else { vec![file.hunks()] };
        for group in hunks {
            let changed = || group.iter().flat_map(Hunk::lines).filter(|line| line.kind != LineKind::Context);
            let added = changed().filter(|line| line.kind == LineKind::Added).count();
            let first = changed().next().map_or(&[][..], |line| line.bytes);
            units.push(Unit {
                number: units.len() + 1,
                path: path.clone(),
                line: group.first().filter(|_| by_hunks).map(|hunk| hunk.old.start + hunk.leading),
                lines: (added, changed().count() - added),
                first: first.trim_ascii_end().to_vec(),
            });
        }
    }
    units
}

fn is_by_hunks(file: &FilePatch) -> bool {
    let same_mode = match (file.old_mode, file.new_mode) {
        (Some(old), Some(new)) => old == new,
        _ => true,
    };
    file.kind == Kind::Modify && same_mode && matches!(file.body, Body::Text(_))
}

/// Takes these units out. `sides` are all paths that the patch touches or reads.
///
/// # Errors
/// If both halves cannot be had.
pub fn split(patch: &Patch, taken: &BTreeSet<usize>, sides: &[PathSides]) -> Result<Halves, SplitError> {
    let all = units(patch).len();
    if let Some(number) = taken.iter().find(|number| **number == 0 || **number > all) {
        return Err(SplitError::NoHunk(*number));
    }
    if taken.is_empty() || taken.len() == all {
        return Err(SplitError::OneHalf);
    }
    let below = |path: &UpstreamPath| {
        let side = sides.iter().find(|side| side.path == *path);
        Ok::<_, std::convert::Infallible>(side.and_then(|side| side.below.clone()))
    };
    let rest = without(patch, taken);
    let Ok(Applied::Applied { changes: made, .. }) = diff::apply(&rest, &below) else {
        return Err(SplitError::Entangled);
    };
    let rest: Changes = sides
        .iter()
        .map(|side| (side.path.clone(), made.get(&side.path).unwrap_or(&side.below).clone()))
        .collect();
    let changes = sides.iter().filter(|side| rest[&side.path] != side.before);
    let taken =
        added_patch(changes.map(|side| (&side.path, rest[&side.path].as_ref(), side.before.as_ref())));
    if taken.is_empty() || sides.iter().all(|side| rest[&side.path] == side.below) {
        return Err(SplitError::OneHalf);
    }
    let is_free = match diff::parse(&taken) {
        Ok(alone) => matches!(diff::apply(&alone, &below), Ok(Applied::Applied { .. })),
        Err(_) => false,
    };
    Ok(Halves { rest, taken, is_free })
}

/// The patch without these units. The hunks that stay name the lines at which they are then.
fn without(patch: &Patch, taken: &BTreeSet<usize>) -> Patch {
    let mut number = 0;
    let mut left = Patch { preamble: patch.preamble.clone(), files: Vec::new() };
    for file in &patch.files {
        if file.new_path().or(file.old_path()).is_none() {
            continue;
        }
        if !is_by_hunks(file) {
            number += 1;
            if !taken.contains(&number) {
                left.files.push(file.clone());
            }
            continue;
        }
        let mut moved = 0_isize;
        let mut hunks = Vec::new();
        for hunk in file.hunks() {
            number += 1;
            if taken.contains(&number) {
                moved += hunk.old.lines as isize - hunk.new.lines as isize;
            } else {
                let mut hunk = hunk.clone();
                hunk.new.start = hunk.new.start.saturating_add_signed(moved);
                hunks.push(hunk);
            }
        }
        if !hunks.is_empty() {
            let mut part = file.clone();
            part.body = Body::Text(hunks);
            left.files.push(part);
        }
    }
    left
}

/// What an overlay of whole files does, as a patch.
#[must_use]
pub fn as_patch(sides: &[PathSides]) -> Option<Patch> {
    let changes = sides.iter().map(|side| (&side.path, side.below.as_ref(), side.before.as_ref()));
    diff::parse(&added_patch(changes)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Content;

    fn sides(below: &str, with: &str) -> Vec<PathSides> {
        let path = UpstreamPath::parse("a").unwrap();
        let content = |text: &str| Some(Content::file(text.as_bytes()));
        vec![PathSides { path, below: content(below), before: content(with), after: content(with) }]
    }

    #[test]
    fn both_halves_together_are_the_whole() {
        let below: String = (0..40).map(|n| format!("{}\n", n % 7)).collect();
        let lines: Vec<&str> = below.lines().collect();
        let mut with: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        with[2] = "first\nmore\nand more".to_owned();
        with[20] = "second".to_owned();
        with.remove(35);
        let sides = sides(&below, &(with.join("\n") + "\n"));
        let patch = as_patch(&sides).unwrap();
        assert_eq!(units(&patch).iter().map(|unit| unit.lines).collect::<Vec<_>>(), [(3, 1), (1, 1), (0, 1)]);
        for taken in [[1].as_slice(), &[2], &[3], &[1, 2], &[1, 3], &[2, 3]] {
            let halves = split(&patch, &taken.iter().copied().collect(), &sides).unwrap();
            let rest = halves.rest.values().next().unwrap().clone();
            let second = diff::parse(&halves.taken).unwrap();
            let on_rest = |_: &UpstreamPath| Ok::<_, std::convert::Infallible>(rest.clone());
            let Ok(Applied::Applied { changes, .. }) = diff::apply(&second, &on_rest) else {
                panic!("{taken:?}")
            };
            assert_eq!(changes.values().next().unwrap(), &sides[0].before, "{taken:?}");
            assert!(halves.is_free, "{taken:?}");
        }
    }

    #[test]
    fn one_half_alone_is_no_split() {
        let sides = sides("1\n2\n", "1\n3\n");
        let patch = as_patch(&sides).unwrap();
        assert_eq!(split(&patch, &BTreeSet::from([1]), &sides), Err(SplitError::OneHalf));
        assert_eq!(split(&patch, &BTreeSet::from([2]), &sides), Err(SplitError::NoHunk(2)));
        assert_eq!(split(&patch, &BTreeSet::new(), &sides), Err(SplitError::OneHalf));
    }
}
