//! From the formats in which people keep changes to overlays.
//!
//! A file per format reads what the format says: which patches, in which order, and what their headers tell. Then
//! [`needs`] finds out by trying which patch builds on which. Nothing is guessed: what a format leaves open stays open, and
//! what cannot be taken over is a [`Problem`], with which nothing is imported at all. Never touches a file.

pub mod bazel;
pub mod cmake_patches;
pub mod electron;
pub mod exported;
pub mod header;
pub mod mail;
pub mod name;
pub mod needs;
pub mod plan;
pub mod quilt;
pub mod status;
pub mod strip;
pub mod west;

use std::path::PathBuf;

use crate::id::CommitId;
use crate::manifest::UpstreamStatus;

/// What a source of patches is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A folder of whole files that mirrors the upstream.
    Tree,
    /// A `series` file and its patches, with headers as Debian's DEP-3 has them.
    Quilt,
    /// What `git format-patch` writes: files, a folder of them, or a mailbox. Also plain diffs.
    Mail,
    /// `patches.yml` of west.
    West,
    /// A `.patches` file, as Electron has it.
    Electron,
    /// Lists of patches in Bazel's files.
    Bazel,
    /// Lists of patches in CMake files: CPM's `PATCHES`.
    Cpm,
}

impl Format {
    /// All of them, with their words.
    pub const WORDS: [(&'static str, Format); 7] = [
        ("tree", Format::Tree),
        ("quilt", Format::Quilt),
        ("mail", Format::Mail),
        ("west", Format::West),
        ("electron", Format::Electron),
        ("bazel", Format::Bazel),
        ("cpm", Format::Cpm),
    ];

    /// The format of this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, format)| *format)
    }

    /// Its word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::WORDS.iter().find(|(_, format)| *format == self).map_or("", |(word, _)| word)
    }
}

/// A patch that a list names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The line of the list, from 1.
    pub line: usize,
    /// Where the patch is, relative to the list's folder or as the format has it.
    pub file: PathBuf,
    /// How many folders are taken from the front of its names.
    pub strip: usize,
    /// What the list itself says about it.
    pub meta: Meta,
}

/// What is known about a change besides its content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meta {
    /// Who made it.
    pub author: Option<String>,
    /// What it is for, in a line.
    pub reason: Option<String>,
    /// The upstream's issue.
    pub issue: Option<String>,
    /// The upstream's pull request.
    pub pull_request: Option<String>,
    /// Where it was sent, or what is said about that.
    pub forwarded: Option<String>,
    /// How the upstream stands to it; `None`: nothing is said.
    pub status: Option<UpstreamStatus>,
    /// The upstream commit that has it.
    pub commit: Option<CommitId>,
    /// Fields that no key of the manifest holds: they stay in the patch.
    pub kept: Vec<String>,
}

impl Meta {
    /// What a list says goes before what the patch's own header says.
    #[must_use]
    pub fn or(self, header: Meta) -> Meta {
        Meta {
            author: self.author.or(header.author),
            reason: self.reason.or(header.reason),
            issue: self.issue.or(header.issue),
            pull_request: self.pull_request.or(header.pull_request),
            forwarded: self.forwarded.or(header.forwarded),
            status: self.status.or(header.status),
            commit: self.commit.or(header.commit),
            kept: self.kept.into_iter().chain(header.kept).collect(),
        }
    }
}

/// Why something cannot be taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line of the list, from 1; 0: it concerns all of it.
    pub line: usize,
    /// A sentence, from a lower-case letter on.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl Problem {
    /// A problem of a line.
    #[must_use]
    pub fn new(line: usize, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { line, message: message.into(), hint: hint.into() }
    }
}

/// What reading a list gives.
pub type Read = Result<Vec<Listed>, Vec<Problem>>;

/// The list, if there are no problems.
pub(crate) fn finished(listed: Vec<Listed>, problems: Vec<Problem>) -> Read {
    if problems.is_empty() { Ok(listed) } else { Err(problems) }
}
