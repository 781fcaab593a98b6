//! Why a patch does not apply.
//!
//! Decides on words only: nothing here changes whether a patch applies.

use std::fmt;

use bstr::{BStr, BString};

use super::hunk::Hunk;
use super::image::{Anchors, Image};
use crate::id::{BlobId, UpstreamPath};
use crate::tree::Mode;

/// A part of a patch that does not apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The path that it is about.
    pub path: UpstreamPath,
    /// The line of the patch, from 1.
    pub patch_line: usize,
    /// What is in the way.
    pub why: RejectWhy,
}

/// What is in the way of a part of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RejectWhy {
    /// The file is not there.
    Missing,
    /// The file is not there, but under another strip level it is.
    WrongStripLevel {
        /// The path that is there.
        found: UpstreamPath,
        /// The `-p` under which the patch means it.
        strip: usize,
    },
    /// A part for a file that an earlier part of the patch renamed or deleted.
    GoneEarlier,
    /// The file that the patch creates is there, with other content.
    AlreadyExists,
    /// The patch creates the file twice.
    CreatedTwice,
    /// The file has what the patch makes of it: by the content's name, or every hunk's lines are there.
    AlreadyApplied,
    /// A hunk's lines are not in the file.
    Hunk {
        /// Which hunk of the file, from 1.
        number: usize,
        /// How many hunks the file has.
        of: usize,
        /// The place that comes nearest.
        near: Near,
        /// What may explain it.
        hint: Option<Hint>,
    },
    /// A hunk only adds lines and has no context (`git diff -U0`): nothing says where it belongs.
    NoContext {
        /// Which hunk of the file, from 1.
        number: usize,
    },
    /// The patch deletes the file, but lines would remain.
    DeleteLeavesLines,
    /// A file where the patch has a link, or the other way round.
    WrongType {
        /// What the patch is for.
        expected: Mode,
        /// What is there.
        found: Mode,
    },
    /// The patch makes a link of a file, or the other way round, without deleting it first.
    TypeChanges {
        /// Before.
        old: Mode,
        /// After.
        new: Mode,
    },
    /// The patch makes a symbolic link whose target is empty or has a zero byte.
    LinkTarget,
    /// The patch moves a submodule. Submodules are pinned, not patched.
    Submodule,
    /// The patch changes a file and later renames it: `git apply` would lose the change.
    RenamedAfterEdit,
    /// A folder of the path is a file.
    FolderIsFile {
        /// The file.
        folder: UpstreamPath,
    },
    /// A folder of the path is a symbolic link.
    FolderIsLink {
        /// The link.
        folder: UpstreamPath,
    },
    /// The content of a binary file is not in the patch.
    BinaryOmitted,
    /// A binary part without full ids on its `index` line.
    BinaryWithoutIds,
    /// A binary part for another content.
    BinaryForOther {
        /// What the patch is for.
        expected: BlobId,
        /// What is there.
        found: BlobId,
    },
    /// A binary part that does not make the content it says.
    BinaryMakesOther {
        /// What the patch says.
        expected: BlobId,
    },
}

/// The place at which most of a hunk's lines are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// The first line of the file that differs, from 1.
    pub line: usize,
    /// What the hunk has there.
    pub expected: BString,
    /// What the file has there; `None` past its end.
    pub found: Option<BString>,
}

/// What may explain that a hunk does not apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// Only line endings differ.
    LineEndings {
        /// Whether it is the patch that has carriage returns.
        in_patch: bool,
    },
    /// Only white space differs.
    WhiteSpace,
    /// The lines are there, but not at the end of the file where they belong.
    Elsewhere {
        /// Their first line, from 1.
        line: usize,
        /// Where they belong.
        belongs: Anchor,
    },
    /// The lines after the change are there.
    AlreadyThere {
        /// Their first line, from 1.
        line: usize,
    },
    /// The lines are there, but an earlier hunk wrote some of them.
    WrittenEarlier,
    /// The line has no newline in one of both.
    Newline,
}

/// An end of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its first line.
    Start,
    /// Its last line.
    End,
}

/// How far from the stated line the nearest place is looked for.
const REACH: usize = 2_000;

/// Explains a hunk whose lines were not found. `content` is the file before any hunk of the patch.
pub(super) fn explain(
    number: usize,
    of: usize,
    hunk: &Hunk,
    image: &Image,
    content: &[u8],
    anchors: Anchors,
) -> RejectWhy {
    let lines: Vec<&[u8]> = hunk.old_lines().collect();
    let wanted = hunk.new.start.saturating_sub(1);
    let near = nearest(&lines, image, if anchors.start { 0 } else { wanted });
    let hint = hint(hunk, &lines, image, content, wanted, anchors, &near);
    RejectWhy::Hunk { number, of, near, hint }
}

fn hint(
    hunk: &Hunk,
    lines: &[&[u8]],
    image: &Image,
    content: &[u8],
    wanted: usize,
    anchors: Anchors,
    near: &Near,
) -> Option<Hint> {
    if let Some(at) = image.find(lines, wanted, Anchors::NONE)
        && anchors != Anchors::NONE
    {
        let belongs = if anchors.start && at > 0 { Anchor::Start } else { Anchor::End };
        return Some(Hint::Elsewhere { line: at + 1, belongs });
    }
    let after: Vec<&[u8]> = hunk.new_lines().collect();
    let untouched = Image::new(content);
    if untouched.find(lines, wanted, Anchors::NONE).is_some() {
        return Some(Hint::WrittenEarlier);
    }
    if hunk.adds()
        && let Some(at) = untouched.find(&after, wanted, Anchors::NONE)
    {
        return Some(Hint::AlreadyThere { line: at + 1 });
    }
    if let Some(found) = &near.found
        && found.strip_suffix(b"\n").unwrap_or(found)
            == near.expected.strip_suffix(b"\n").unwrap_or(&near.expected)
    {
        return Some(Hint::Newline);
    }
    let squeezed = |keep: fn(&u8) -> bool| {
        let squeeze = |line: &[u8]| line.iter().copied().filter(keep).collect::<Vec<u8>>();
        let file: Vec<Vec<u8>> =
            (0..image.len()).filter_map(|index| image.line(index)).map(squeeze).collect();
        let hunk: Vec<Vec<u8>> = lines.iter().map(|line| squeeze(line)).collect();
        !hunk.is_empty() && file.windows(hunk.len()).any(|window| window == hunk)
    };
    if squeezed(|&byte| byte != b'\r') {
        return Some(Hint::LineEndings { in_patch: lines.iter().any(|line| line.ends_with(b"\r\n")) });
    }
    squeezed(|byte| !byte.is_ascii_whitespace()).then_some(Hint::WhiteSpace)
}

/// The place within reach at which most lines agree; of several the one nearest to `wanted`.
fn nearest(lines: &[&[u8]], image: &Image, wanted: usize) -> Near {
    let wanted = wanted.min(image.len());
    let agreeing = |at: usize| {
        lines
            .iter()
            .take(REACH)
            .enumerate()
            .filter(|&(index, line)| image.line(at + index) == Some(line))
            .count()
    };
    let reach = if lines.len() > 200 { 50 } else { REACH };
    let places = wanted.saturating_sub(reach)..(wanted + reach + 1).min(image.len() + 1);
    let at =
        places.max_by_key(|&at| (agreeing(at), std::cmp::Reverse(at.abs_diff(wanted)))).unwrap_or(wanted);
    let differs = (0..lines.len()).find(|&index| image.line(at + index) != Some(lines[index])).unwrap_or(0);
    Near {
        line: at + differs + 1,
        expected: lines.get(differs).copied().unwrap_or_default().into(),
        found: image.line(at + differs).map(BString::from),
    }
}

/// A line for a message: escaped, and cut where it is long.
fn show(line: &[u8]) -> String {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let cut = &text[..text.len().min(100)];
    format!("{:?}{}", BStr::new(cut), if cut.len() < text.len() { "..." } else { "" })
}

fn kind(mode: Mode) -> &'static str {
    match mode {
        Mode::File | Mode::Executable => "a file",
        Mode::Symlink => "a symbolic link",
        Mode::Submodule => "a submodule",
    }
}

impl fmt::Display for RejectWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("the file is not there"),
            Self::WrongStripLevel { found, strip } => write!(
                f,
                "the file is not there, but {:?} is: the patch was made for `-p{strip}`; write its names with one folder in front, such as `a/` and `b/`",
                found.as_bytes()
            ),
            Self::GoneEarlier => f.write_str("an earlier part of the patch renames or deletes the file"),
            Self::AlreadyExists => f.write_str("the patch creates the file, but it is there, with other content"),
            Self::CreatedTwice => f.write_str("the patch creates the file twice"),
            Self::AlreadyApplied => f.write_str("the file already is what the patch makes of it"),
            Self::Hunk { number, of, near, hint } => {
                write!(f, "hunk {number} of {of} does not apply: it expects {} at line {}", show(&near.expected), near.line)?;
                match &near.found {
                    Some(found) => write!(f, ", the file has {}", show(found))?,
                    None => f.write_str(", the file ends before it")?,
                }
                hint.iter().try_for_each(|hint| write!(f, "; {hint}"))
            }
            Self::NoContext { number } => write!(
                f,
                "hunk {number} adds lines without context, so nothing says that its place is right; make the patch with context lines"
            ),
            Self::DeleteLeavesLines => f.write_str("the patch deletes the file, but the file has more in it than the patch removes"),
            Self::WrongType { expected, found } => {
                write!(f, "the patch is for {}, and this is {}", kind(*expected), kind(*found))
            }
            Self::TypeChanges { old, new } => {
                write!(f, "the patch makes {} of {} without deleting it first", kind(*new), kind(*old))
            }
            Self::LinkTarget => f.write_str("the patch makes a symbolic link that leads nowhere: its target is empty or has a zero byte"),
            Self::Submodule => f.write_str("the patch moves a submodule; submodules are pinned, not patched"),
            Self::RenamedAfterEdit => f.write_str(
                "the patch changes the file and then renames it, and the rename starts from the file as it was; make one diff of both",
            ),
            Self::FolderIsFile { folder } => write!(f, "{:?} is a file, not a folder", folder.as_bytes()),
            Self::FolderIsLink { folder } => write!(f, "{:?} is a symbolic link", folder.as_bytes()),
            Self::BinaryOmitted => f.write_str("the patch lacks the binary content; make it with `git diff --binary`"),
            Self::BinaryWithoutIds => {
                f.write_str("a binary part needs full ids on its `index` line; make the patch with `git diff --binary --full-index`")
            }
            Self::BinaryForOther { expected, found } => {
                write!(f, "the binary patch is for content {}, and the file has {}", expected.short(), found.short())
            }
            Self::BinaryMakesOther { expected } => {
                write!(f, "the binary patch does not make the content {} that it says", expected.short())
            }
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineEndings { in_patch: true } => {
                f.write_str("the patch has CRLF line ends and the file has not")
            }
            Self::LineEndings { in_patch: false } => {
                f.write_str("the file has CRLF line ends and the patch has not")
            }
            Self::WhiteSpace => f.write_str("only white space differs"),
            Self::Elsewhere { line, belongs: Anchor::Start } => {
                write!(f, "its lines are at line {line}, but it belongs at the start of the file")
            }
            Self::Elsewhere { line, belongs: Anchor::End } => {
                write!(f, "its lines are at line {line}, but it belongs at the end of the file")
            }
            Self::AlreadyThere { line } => {
                write!(f, "what it changes them to is there already, at line {line}")
            }
            Self::WrittenEarlier => f.write_str("an earlier hunk wrote these lines"),
            Self::Newline => f.write_str("only one of both ends in a newline"),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} (line {} of the patch): {}", self.path.as_bytes(), self.patch_line, self.why)
    }
}
