//! Three-way merge of one path: base, ours, theirs.
//!
//! Decides whether two changes of a common base fit together, and what comes out. The text merge is
//! libgit2's, set up so that its result equals `git merge-file` byte for byte. Never reads a tree.

use std::sync::Arc;

use crate::tree::{Content, Mode};

/// What comes out of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// Both changes fit.
    Clean(Option<Content>),
    /// They do not.
    Conflict(Conflict),
}

/// How two changes collide.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Conflict {
    /// Both changed the same lines. The text has conflict markers.
    Text {
        /// The merged text with markers.
        marked: Vec<u8>,
        /// How many places collide.
        places: usize,
    },
    /// One side removed what the other changed.
    ChangedAndRemoved,
    /// Both sides added the path, with other content.
    AddedTwice,
    /// Both changed a content that has no lines: a binary file, a link.
    NoLines,
    /// Both changed the mode, or the kind of entry.
    Mode,
    /// The merge library gave up.
    Failed(String),
}

impl std::fmt::Display for Conflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Conflict::Text { places: 1, .. } => f.write_str("both changed the same lines, in one place"),
            Conflict::Text { places, .. } => write!(f, "both changed the same lines, in {places} places"),
            Conflict::ChangedAndRemoved => f.write_str("one side removed what the other changed"),
            Conflict::AddedTwice => f.write_str("both added the path, with different content"),
            Conflict::NoLines => f.write_str("both changed a binary file or a link"),
            Conflict::Mode => f.write_str("both changed the mode or the kind of the entry"),
            Conflict::Failed(why) => write!(f, "the merge failed: {why}"),
        }
    }
}

/// How conflicts are marked in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Ours and theirs.
    #[default]
    Merge,
    /// With the base between them.
    Diff3,
    /// With the base, and equal lines at the edges moved out.
    Zdiff3,
}

/// What the sides are called in conflict markers.
#[derive(Debug, Clone, Copy)]
pub struct Labels<'a> {
    /// The common base.
    pub base: &'a str,
    /// Our side.
    pub ours: &'a str,
    /// The other side.
    pub theirs: &'a str,
}

/// Merges one path; `None` is a path that is not there.
#[must_use]
pub fn merge(
    base: Option<&Content>,
    ours: Option<&Content>,
    theirs: Option<&Content>,
    style: Style,
    labels: Labels<'_>,
) -> Merged {
    if ours == theirs || base == theirs {
        return Merged::Clean(ours.cloned());
    }
    if base == ours {
        return Merged::Clean(theirs.cloned());
    }
    let (Some(ours), Some(theirs)) = (ours, theirs) else {
        return Merged::Conflict(Conflict::ChangedAndRemoved);
    };
    let Some(base) = base else {
        return Merged::Conflict(Conflict::AddedTwice);
    };
    let Some(mode) = merge_modes(base.mode, ours.mode, theirs.mode) else {
        return Merged::Conflict(Conflict::Mode);
    };
    let bytes = if ours.bytes == theirs.bytes || base.bytes == theirs.bytes {
        ours.bytes.clone()
    } else if base.bytes == ours.bytes {
        theirs.bytes.clone()
    } else if mode == Mode::Symlink || [base, ours, theirs].iter().any(|side| is_binary(&side.bytes)) {
        return Merged::Conflict(Conflict::NoLines);
    } else {
        match merge_text(&base.bytes, &ours.bytes, &theirs.bytes, style, labels) {
            Ok(Text { bytes, places: 0 }) => Arc::from(bytes),
            Ok(Text { bytes, places }) => return Merged::Conflict(Conflict::Text { marked: bytes, places }),
            Err(error) => return Merged::Conflict(Conflict::Failed(error.to_string())),
        }
    };
    Merged::Clean(Some(Content { mode, bytes }))
}

fn merge_modes(base: Mode, ours: Mode, theirs: Mode) -> Option<Mode> {
    if ours == theirs || base == theirs {
        Some(ours)
    } else if base == ours {
        Some(theirs)
    } else {
        None
    }
}

/// Whether git takes a content for binary: a NUL among the first 8000 bytes.
#[must_use]
pub fn is_binary(content: &[u8]) -> bool {
    content[..content.len().min(8000)].contains(&0)
}

/// A merged text.
struct Text {
    bytes: Vec<u8>,
    /// How many conflicts are marked in it.
    places: usize,
}

/// Without libgit2 no text is merged: a lock file has the results.
#[cfg(not(feature = "git"))]
fn merge_text(_: &[u8], _: &[u8], _: &[u8], _: Style, _: Labels<'_>) -> Result<Text, &'static str> {
    Err("this program was built without the feature `git`, and merges no text")
}

#[cfg(feature = "git")]
fn merge_text(
    base: &[u8],
    ours: &[u8],
    theirs: &[u8],
    style: Style,
    labels: Labels<'_>,
) -> Result<Text, git2::Error> {
    // libgit2 initialises itself on the first call of most functions, but not of this one.
    static INIT: std::sync::Once = std::sync::Once::new();
    INIT.call_once(|| {
        let _ = git2::Version::get();
        let _ = git2::Oid::hash_object(git2::ObjectType::Blob, b"");
    });
    // Markers longer than any line could hold by itself can be told from lines of the texts.
    let size = [base, ours, theirs].iter().map(|side| longest_marker(side)).max().unwrap_or(0).max(7) + 1;
    let marker_size = u16::try_from(size).map_err(|_| {
        git2::Error::from_str("the text has lines that look like conflict markers, and are too long")
    })?;
    let mut options = git2::MergeFileOptions::new();
    options
        .simplify_alnum(true)
        .style_diff3(style == Style::Diff3)
        .style_zdiff3(style == Style::Zdiff3)
        .marker_size(marker_size);
    let (mut b, mut o, mut t) =
        (git2::MergeFileInput::new(), git2::MergeFileInput::new(), git2::MergeFileInput::new());
    let merged = git2::merge_file(b.content(base), o.content(ours), t.content(theirs), Some(&mut options))?;
    if merged.is_automergeable() {
        return Ok(Text { bytes: merged.content().to_vec(), places: 0 });
    }
    Ok(with_usual_markers(merged.content(), size, labels))
}

#[cfg(feature = "git")]
/// The length of the longest run of a marker's character at the start of a line.
fn longest_marker(text: &[u8]) -> usize {
    let run = |line: &[u8]| match line.first() {
        Some(first @ (b'<' | b'|' | b'=' | b'>')) => line.iter().take_while(|byte| *byte == first).count(),
        _ => 0,
    };
    text.split(|&b| b == b'\n').map(run).max().unwrap_or(0)
}

#[cfg(feature = "git")]
/// Markers of seven characters with labels, as git writes them. (libgit2 leaves out the label of an empty side.)
fn with_usual_markers(marked: &[u8], size: usize, labels: Labels<'_>) -> Text {
    let mut text = Text { bytes: Vec::with_capacity(marked.len()), places: 0 };
    for line in marked.split_inclusive(|&b| b == b'\n') {
        let is_marker = line.len() >= size && line[..size].iter().all(|byte| *byte == line[0]);
        let label = match line.first() {
            Some(b'<') if is_marker => labels.ours,
            Some(b'|') if is_marker => labels.base,
            Some(b'>') if is_marker => labels.theirs,
            Some(b'=') if is_marker => "",
            _ => {
                text.bytes.extend_from_slice(line);
                continue;
            }
        };
        text.places += usize::from(line[0] == b'<');
        text.bytes.extend_from_slice(&line[..7]);
        if !label.is_empty() {
            text.bytes.push(b' ');
            text.bytes.extend_from_slice(label.as_bytes());
        }
        text.bytes.extend_from_slice(if line.ends_with(b"\r\n") { b"\r\n" } else { b"\n" });
    }
    text
}

#[cfg(feature = "git")]
#[cfg(test)]
mod tests {
    use super::*;

    const LABELS: Labels<'static> = Labels { base: "base", ours: "ours", theirs: "theirs" };

    fn merge_files(base: &str, ours: &str, theirs: &str) -> Merged {
        let [base, ours, theirs] = [base, ours, theirs].map(|text| Content::file(text.as_bytes()));
        merge(Some(&base), Some(&ours), Some(&theirs), Style::Merge, LABELS)
    }

    #[test]
    fn changes_of_different_lines_fit() {
        let merged = merge_files("1\n2\n3\n4\n5\n", "one\n2\n3\n4\n5\n", "1\n2\n3\n4\nfive\n");
        assert_eq!(merged, Merged::Clean(Some(Content::file(*b"one\n2\n3\n4\nfive\n"))));
    }

    #[test]
    fn changes_of_the_same_line_collide() {
        let Merged::Conflict(Conflict::Text { marked, places: 1 }) = merge_files("1\n", "2\n", "3\n") else {
            panic!("no conflict");
        };
        assert_eq!(String::from_utf8(marked).unwrap(), "<<<<<<< ours\n2\n=======\n3\n>>>>>>> theirs\n");
    }

    #[test]
    fn absence_is_a_value() {
        let (a, b) = (Content::file(*b"a\n"), Content::file(*b"b\n"));
        let merge = |base, ours, theirs| merge(base, ours, theirs, Style::Merge, LABELS);
        assert_eq!(merge(Some(&a), None, Some(&a)), Merged::Clean(None));
        assert_eq!(merge(Some(&a), Some(&a), None), Merged::Clean(None));
        assert_eq!(merge(None, Some(&a), None), Merged::Clean(Some(a.clone())));
        assert_eq!(merge(None, Some(&a), Some(&b)), Merged::Conflict(Conflict::AddedTwice));
        assert_eq!(merge(Some(&a), None, Some(&b)), Merged::Conflict(Conflict::ChangedAndRemoved));
    }

    #[test]
    fn a_mode_merges_like_a_content() {
        let file = Content::file(*b"a\n");
        let executable = Content { mode: Mode::Executable, ..file.clone() };
        let changed = Content::file(*b"b\n");
        let merged = merge(Some(&file), Some(&executable), Some(&changed), Style::Merge, LABELS);
        assert_eq!(merged, Merged::Clean(Some(Content { mode: Mode::Executable, ..changed })));
    }
}
