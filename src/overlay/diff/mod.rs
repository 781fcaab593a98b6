//! Git-format diffs: parse, apply, render.
//!
//! Decides what a patch says and what it makes of the files it names. Never guesses: there is no fuzz,
//! white space is never ignored, and a patch applies as a whole or not at all. Never reads a file: the
//! pre-images come through a closure, the result is a value.
//!
//! # What is read
//!
//! Everything that `git diff --binary --full-index` writes (new, deleted, renamed and copied files, modes,
//! symbolic links, binary literals and deltas, quoted paths), also without prefixes where `git apply` takes
//! that, plain unified diffs (`---`, `+++`), and any prose around them.
//!
//! # How it is applied
//!
//! The reference is the behaviour of `git apply` without options (git's `apply.c`):
//!
//! - The lines of a hunk's pre-image must be in the file byte for byte. They are looked for at the line that
//!   the hunk names for the new file, then one line after, one before, two after, two before, and so on.
//! - A hunk that starts at line 0 or 1 must be at the start of the file; a hunk without context after its last
//!   change must be at the end.
//! - A hunk never matches lines that an earlier hunk wrote.
//! - Several parts for one file build on each other. A rename or copy reads its source as it was before the
//!   patch. All removals come before all creations, so two files can change places.
//! - A binary part needs the full ids on its `index` line, and both must be true.
//!
//! Where `git apply` does something that loses or misplaces lines, this refuses: a part of a hunk beyond the
//! counts in its header, an insertion without context anywhere but at the end, a context line without newline
//! that is compared to one with, a change to a file that a later part of the same patch renames away, a file
//! that is created twice.

mod apply;
mod binary;
mod content;
pub(crate) mod delta;
mod error;
mod header;
mod hunk;
mod image;
#[cfg(feature = "git")]
mod marked;
mod name;
mod parse;
mod reject;
#[cfg(feature = "git")]
mod render;

#[cfg(feature = "git")]
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::id::{BlobId, UpstreamPath};
use crate::tree::Mode;

pub use apply::{Applied, ModeNote, Offset, apply};
pub use binary::BinaryData;
pub use error::{ParseError, ParseErrorWhy};
pub use hunk::{Hunk, HunkLine, LineKind, Span};
#[cfg(feature = "git")]
pub use marked::{Lines, Mark, Marked, What, mark};
pub(crate) use name::{quote, unquote};
pub use parse::parse;
pub use reject::{Anchor, Hint, Near, RejectWhy, Rejection};
#[cfg(feature = "git")]
pub use render::render;

/// A parsed patch: the parts for each file, in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// What stands before the first part: mail headers, a description.
    pub preamble: Vec<u8>,
    /// One part a file; a file can have several.
    pub files: Vec<FilePatch>,
}

/// What a patch does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// The line of the patch at which this part starts, from 1.
    pub line: usize,
    /// What happens to the file as a whole.
    pub kind: Kind,
    /// The mode before, where the patch says it.
    pub old_mode: Option<Mode>,
    /// The mode after, where the patch says it.
    pub new_mode: Option<Mode>,
    /// The name of the content before, from the `index` line.
    pub old_id: Option<IdPrefix>,
    /// The name of the content after, from the `index` line.
    pub new_id: Option<IdPrefix>,
    /// How the content changes.
    pub body: Body,
    old: Option<PatchPath>,
    new: Option<PatchPath>,
    /// A plain diff without removed lines creates the file where there is none.
    may_create: bool,
}

/// A path with the text that it was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PatchPath {
    path: UpstreamPath,
    /// As written, before any component was taken away. `None` where the patch writes it without prefix.
    written: Option<Vec<u8>>,
}

/// What a part of a patch does to its file as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The content or the mode changes in place.
    Modify,
    /// The file is created.
    New,
    /// The file goes away.
    Delete,
    /// The file moves.
    Rename {
        /// How similar both sides are, in percent, as the patch states it.
        similarity: Option<u8>,
    },
    /// The file is copied; its source stays.
    Copy {
        /// How similar both sides are, in percent, as the patch states it.
        similarity: Option<u8>,
    },
}

/// How a part of a patch changes the content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Not at all: a mode change, an exact rename, an empty file.
    None,
    /// By hunks of lines.
    Text(Vec<Hunk>),
    /// By `GIT binary patch`.
    Binary {
        /// From the content before to the content after.
        forward: BinaryData,
        /// The way back, where the patch has it.
        reverse: Option<BinaryData>,
    },
    /// `Binary files a/x and b/x differ`: the content is not in the patch.
    BinaryOmitted,
}

/// The name of a content as an `index` line has it, perhaps abbreviated.
#[derive(Clone, PartialEq, Eq)]
pub struct IdPrefix(String);

impl IdPrefix {
    /// Takes 1 to 40 hexadecimal digits.
    fn parse(text: &[u8]) -> Option<Self> {
        let hex = (1..=40).contains(&text.len()) && text.iter().all(u8::is_ascii_hexdigit);
        hex.then(|| Self(String::from_utf8_lossy(text).to_ascii_lowercase()))
    }

    /// The id, if all of its digits are there.
    #[must_use]
    pub fn full(&self) -> Option<BlobId> {
        BlobId::parse(&self.0).ok()
    }

    /// Whether it stands for "no file".
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.0.bytes().all(|digit| digit == b'0')
    }

    /// Whether it can be the name of this content. Fewer than 7 digits prove nothing.
    #[must_use]
    pub fn names(&self, id: BlobId) -> bool {
        self.0.len() >= 7 && id.to_string().starts_with(&self.0)
    }
}

impl fmt::Display for IdPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for IdPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FilePatch {
    /// The path before; `None` for a new file.
    #[must_use]
    pub fn old_path(&self) -> Option<&UpstreamPath> {
        self.old.as_ref().map(|old| &old.path)
    }

    /// The path after; `None` for a deleted file.
    #[must_use]
    pub fn new_path(&self) -> Option<&UpstreamPath> {
        self.new.as_ref().map(|new| &new.path)
    }

    /// Both.
    #[cfg(feature = "git")]
    fn paths(&self) -> impl Iterator<Item = &UpstreamPath> {
        self.old_path().into_iter().chain(self.new_path())
    }

    /// The hunks; none for binary content.
    #[must_use]
    pub fn hunks(&self) -> &[Hunk] {
        match &self.body {
            Body::Text(hunks) => hunks,
            _ => &[],
        }
    }
}

#[cfg(feature = "git")]
impl Patch {
    /// The paths that the patch changes. The source of a copy is read, not changed.
    #[must_use]
    pub fn touched(&self) -> BTreeSet<UpstreamPath> {
        let mut paths = BTreeSet::new();
        for file in &self.files {
            if !matches!(file.kind, Kind::Copy { .. }) {
                paths.extend(file.old_path().cloned());
            }
            paths.extend(file.new_path().cloned());
        }
        paths
    }

    /// All paths that the patch names, those that it only reads, too.
    #[must_use]
    pub fn named(&self) -> BTreeSet<UpstreamPath> {
        self.files.iter().flat_map(FilePatch::paths).cloned().collect()
    }

    /// The paths that the patch moves, and where to.
    pub fn moves(&self) -> impl Iterator<Item = (&UpstreamPath, &UpstreamPath)> {
        let moving = self.files.iter().filter(|file| matches!(file.kind, Kind::Rename { .. }));
        moving.filter_map(|file| Some((file.old_path()?, file.new_path()?)))
    }

    /// The patch in parts that have no path in common, in their order, without what stands before the first. Each applies or
    /// not, whatever the others do.
    #[must_use]
    pub fn parts(&self) -> Vec<Patch> {
        // For each file the first one that it belongs to.
        let mut first: Vec<usize> = (0..self.files.len()).collect();
        let mut named: BTreeMap<&UpstreamPath, usize> = BTreeMap::new();
        let root = |first: &[usize], mut place: usize| {
            while first[place] != place {
                place = first[place];
            }
            place
        };
        for (place, file) in self.files.iter().enumerate() {
            for path in file.paths() {
                let other = *named.entry(path).or_insert(place);
                let (a, b) = (root(&first, place), root(&first, other));
                first[a.max(b)] = a.min(b);
            }
        }
        let mut parts: BTreeMap<usize, Patch> = BTreeMap::new();
        for (place, file) in self.files.iter().enumerate() {
            let part = parts
                .entry(root(&first, place))
                .or_insert_with(|| Patch { preamble: Vec::new(), files: Vec::new() });
            part.files.push(file.clone());
        }
        parts.into_values().collect()
    }
}

/// The lines of a text, each with its newline.
fn split_lines(text: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    text.split_inclusive(|&byte| byte == b'\n')
}
