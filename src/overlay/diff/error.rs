//! Why a text is not a patch.

use std::fmt;

use bstr::BString;

use crate::id::PathError;

/// A text that is not a patch, or not a whole one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The line of the patch, from 1.
    pub line: usize,
    /// What is wrong there.
    pub why: ParseErrorWhy,
}

/// What is wrong with a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseErrorWhy {
    /// Nothing but white space.
    Empty,
    /// Text, but nowhere a diff.
    NoDiff,
    /// UTF-16, as some shells write redirected output.
    Utf16,
    /// A mail whose body is encoded.
    EncodedMail,
    /// The diff of a merge (`diff --cc`).
    Combined,
    /// File names that no hunk follows, where one must.
    NoHunks,
    /// A part that changes nothing.
    ChangesNothing,
    /// A hunk that no file name precedes.
    HunkWithoutFile,
    /// Git's header lines or binary data that no `diff --git` line precedes.
    HeaderWithoutFile,
    /// A hunk header that cannot be read.
    HunkHeader,
    /// The patch ends inside a hunk.
    HunkTruncated,
    /// A hunk has more lines than its header says.
    HunkTooLong,
    /// A hunk has fewer lines than its header says.
    HunkTooShort,
    /// A hunk that has only context.
    HunkChangesNothing,
    /// A line inside a hunk that starts with none of ` `, `+`, `-`, `\`.
    HunkLine,
    /// Lines follow one that has no newline at its end.
    LineAfterEnd,
    /// The last line of the patch is cut off.
    NoNewlineAtEnd,
    /// No file name in a header.
    NoFileName,
    /// Two lines of a header name different files.
    NamesDiffer {
        /// The name that stood first.
        first: BString,
        /// The other one.
        second: BString,
    },
    /// Two lines of a header contradict each other: new and deleted, renamed and copied.
    HeaderContradicts,
    /// `/dev/null` without a line that says the file is new or deleted, or the other way round.
    DevNull,
    /// A path that leaves the tree.
    Path {
        /// As written.
        path: BString,
        /// What is wrong with it.
        why: PathError,
    },
    /// A mode that is no file, executable, link or submodule.
    Mode {
        /// As written.
        mode: BString,
    },
    /// A new file with lines that were there before.
    NewFileHasOldLines,
    /// A deleted file in which lines remain.
    DeletedFileHasNewLines,
    /// A binary part that cannot be decoded.
    BinaryCorrupt,
}

impl fmt::Display for ParseErrorWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the patch is empty",
            Self::NoDiff => "there is no diff in it: no `diff --git` line and no `---`, `+++`, `@@` lines",
            Self::Utf16 => "the patch is UTF-16 text; write it again as bytes, for example with `git diff --output=FILE`",
            Self::EncodedMail => {
                "the patch is a mail in quoted-printable or base64; decode it first, for example with `git mailinfo`"
            }
            Self::Combined => "this is the diff of a merge (`diff --cc`); make one against a single parent",
            Self::NoHunks => "no hunk (`@@ -1,2 +1,2 @@`) follows these file names",
            Self::ChangesNothing => "this part changes nothing: it has no hunks, no mode, no rename",
            Self::HunkWithoutFile => "a hunk, but no file name stands before it",
            Self::HeaderWithoutFile => "a part of a git diff, but no `diff --git` line stands before it",
            Self::HunkHeader => "a hunk header is `@@ -LINE,COUNT +LINE,COUNT @@`; this one cannot be read",
            Self::HunkTruncated => "the patch ends in the middle of a hunk",
            Self::HunkTooLong => "the hunk has more lines than its header says; the rest would be lost",
            Self::HunkTooShort => "the hunk has fewer lines than its header says",
            Self::HunkChangesNothing => "the hunk has no added and no removed line",
            Self::HunkLine => "a line of a hunk starts with a space, `+`, `-` or `\\`; this one does not",
            Self::LineAfterEnd => "a line follows one that is marked as the file's last, without newline",
            Self::NoNewlineAtEnd => "the patch's last line is cut off: it has no newline",
            Self::NoFileName => {
                "no file name can be found here; names have a prefix of one folder, such as `a/` and `b/`"
            }
            Self::NamesDiffer { first, second } => {
                return write!(f, "the header names two files, {first:?} and {second:?}, and says neither rename nor copy");
            }
            Self::HeaderContradicts => "the header says two of new, deleted, renamed and copied at once",
            Self::DevNull => "`/dev/null` goes with `new file mode` or `deleted file mode`, and here one is without the other",
            Self::Path { path, why } => return write!(f, "{path:?}: {why}"),
            Self::Mode { mode } => return write!(f, "{mode:?} is not a mode that a file can have"),
            Self::NewFileHasOldLines => "the file is new, but a hunk has lines that were there before",
            Self::DeletedFileHasNewLines => "the file is deleted, but a hunk leaves lines in it",
            Self::BinaryCorrupt => "the binary data is damaged",
        })
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for ParseError {}
