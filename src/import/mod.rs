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
pub mod line_ends;
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

/// Which of several modules or packages is meant.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'a> {
    /// The one that a person named.
    pub asked: Option<&'a str>,
    /// The name of the upstream in the manifest.
    pub upstream: &'a str,
}

impl Choice<'_> {
    /// One of the names that have patches: the one that was asked for, the only one, or that of the upstream.
    ///
    /// # Errors
    /// If it cannot be told, or none has patches.
    pub fn among<'n>(&self, names: &[&'n str], kind: &str) -> Result<&'n str, Problem> {
        let mut known: Vec<&str> = names.to_vec();
        known.sort_unstable();
        known.dedup();
        // A module of west may be called by its path.
        let is = |name: &str, wanted: &str| name == wanted || name.rsplit('/').next() == Some(wanted);
        let found = |wanted: &str| known.iter().copied().find(|name| is(name, wanted));
        match (known.as_slice(), self.asked) {
            ([], _) => Err(Problem::new(
                0,
                format!("no {kind} has patches in it"),
                "is this the file that is meant?",
            )),
            (_, Some(asked)) => found(asked).ok_or_else(|| {
                let message = format!("no {kind} `{asked}` has patches; there are: {}", known.join(", "));
                Problem::new(0, message, format!("name one of them: --module {}", known[0]))
            }),
            ([only], None) => Ok(only),
            (_, None) => found(self.upstream).ok_or_else(|| {
                let message = format!("several {kind}s have patches: {}", known.join(", "));
                Problem::new(0, message, "choose the one that this manifest is of: --module NAME")
            }),
        }
    }
}

/// What reading a list gives.
pub type Read = Result<Vec<Listed>, Vec<Problem>>;

/// The list, if there are no problems.
pub(crate) fn finished(listed: Vec<Listed>, problems: Vec<Problem>) -> Read {
    if problems.is_empty() { Ok(listed) } else { Err(problems) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_modules_is_chosen_by_a_person_or_by_the_name_of_the_upstream() {
        let choose = |asked, names: &[&'static str]| {
            Choice { asked, upstream: "up" }.among(names, "module").map_err(|problem| problem.message)
        };
        assert_eq!(choose(None, &["zlib", "zlib"]), Ok("zlib"));
        assert_eq!(choose(None, &["zlib", "modules/up"]), Ok("modules/up"));
        assert_eq!(choose(Some("zlib"), &["lib/zlib", "up"]), Ok("lib/zlib"));
        assert_eq!(choose(None, &["b", "a"]), Err("several modules have patches: a, b".to_owned()));
        assert_eq!(
            choose(Some("c"), &["b", "a"]),
            Err("no module `c` has patches; there are: a, b".to_owned())
        );
        assert_eq!(choose(Some("c"), &[]), Err("no module has patches in it".to_owned()));
    }
}
