//! What there is to know about an overlay beside its state.
//!
//! Each note has a stable code, a sentence, and what proves it.

use std::fmt;

use bstr::BString;
use serde::{Deserialize, Serialize};

use crate::id::{CommitId, OverlayName, UpstreamPath};
use crate::merge::Conflict;
use crate::upstream::Commit;

/// Something to know about a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// The pin is older than the base.
    Ahead,
    /// Base and pin have only this commit in common; `None`: nothing.
    Diverged(Option<CommitId>),
    /// The content cannot be split into tokens, so bytes decided.
    NotLexed(String),
    /// Where the merge collides.
    Conflict(Conflict),
    /// The overlay fits with these before it, and does not say that it needs them.
    NeedsMissing(Vec<OverlayName>),
    /// Lines that the overlay brings back.
    Resurrects(Resurrected),
    /// Upstream has a part of the overlay's change and not the rest: lines of the overlay's content, from 1.
    HalfAbsorbed {
        /// What upstream has.
        has: Vec<(usize, usize)>,
        /// What it has not.
        lacks: Vec<(usize, usize)>,
    },
    /// Upstream took the overlay's change in, and out again.
    Reverted {
        /// By this commit in.
        taken_in: Commit,
        /// By this commit out.
        taken_out: Commit,
    },
    /// Upstream's work on a file next to the overlaid one.
    Neighbour(Neighbour),
    /// The removed path's content went to several files: which, and their shares in percent.
    Split(Vec<(UpstreamPath, u8)>),
}

/// Lines that an overlay adds and that upstream had and removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resurrected {
    /// The commit that removed them.
    pub removed_by: Commit,
    /// The lines, in their order.
    pub lines: Vec<OldLine>,
}

/// A line of an overlay's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OldLine {
    /// Its number, from 1.
    pub number: usize,
    /// Its text, without white space around it.
    #[serde(with = "crate::upstream::as_text")]
    pub text: BString,
}

/// Commits on a file next to an overlaid one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// The file.
    pub file: UpstreamPath,
    /// How the two stand to each other.
    pub side: Side,
    /// How many commits between base and pin touch it.
    pub count: usize,
    /// The newest of them, oldest first.
    pub commits: Vec<Commit>,
}

/// How a neighbour and the overlaid file stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The overlaid file includes it.
    Included,
    /// It includes the overlaid file.
    Including,
}

/// Something to know about an overlay that concerns no single path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OverlayNote {
    /// A commit of `from` changes nothing at the pin.
    NoEffect(CommitId),
    /// The commit that `drop-when` waits for touches none of the overlay's paths.
    Elsewhere(CommitId),
}

/// Whether the pin has the commit that an overlay waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// It has: the overlay can go.
    Met,
    /// It has not.
    NotMet,
    /// That cannot be told, and why.
    Unknown(String),
}

impl Note {
    /// The stable code of `--json`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Note::Ahead => "ahead",
            Note::Diverged(_) => "diverged",
            Note::NotLexed(_) => "not-lexed",
            Note::Conflict(_) => "conflict",
            Note::NeedsMissing(_) => "needs-missing",
            Note::Resurrects(_) => "resurrects",
            Note::HalfAbsorbed { .. } => "half-absorbed",
            Note::Reverted { .. } => "reverted",
            Note::Neighbour(_) => "neighbours",
            Note::Split(_) => "split",
        }
    }
}

impl OverlayNote {
    /// The stable code of `--json`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            OverlayNote::NoEffect(_) => "no-effect",
            OverlayNote::Elsewhere(_) => "drop-when-elsewhere",
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Ahead => f.write_str("the pin is older than the base"),
            Note::Diverged(Some(common)) => {
                write!(f, "base and pin stand on different branches; they have {} in common", common.short())
            }
            Note::Diverged(None) => f.write_str("base and pin have no history in common"),
            Note::NotLexed(why) => write!(f, "compared by bytes only: {why}"),
            Note::Conflict(conflict) => write!(f, "the merge does not fit: {conflict}"),
            Note::NeedsMissing(overlays) => {
                let (named, list) = (named_overlays(overlays), needs_list(overlays));
                write!(f, "it fits on what {named} of the path, and `needs = {list}` is missing")
            }
            Note::Resurrects(Resurrected { removed_by, lines }) => {
                let (s, numbers) = (if lines.len() == 1 { "" } else { "s" }, numbers(lines));
                write!(f, "brings back line{s} {numbers} that upstream removed in {}", named(removed_by))
            }
            Note::HalfAbsorbed { has, lacks } => {
                let (has, lacks) = (ranges(has), ranges(lacks));
                write!(f, "upstream has a part of it by now: line {has}; not line {lacks}")
            }
            Note::Reverted { taken_in, taken_out } => {
                write!(f, "upstream took it in ({}) and out again ({})", named(taken_in), named(taken_out))
            }
            Note::Neighbour(Neighbour { file, side, count, commits }) => {
                let (s, touch) = if *count == 1 { ("", "es") } else { ("s", "") };
                let which = match side {
                    Side::Included => "which it includes",
                    Side::Including => "which includes it",
                };
                write!(f, "{count} upstream commit{s} touch{touch} {file}, {which}")?;
                commits.last().map_or(Ok(()), |commit| write!(f, "; the last is {}", named(commit)))
            }
            Note::Split(parts) => {
                let parts: Vec<_> = parts.iter().map(|(path, share)| format!("{path} ({share} %)")).collect();
                write!(f, "its content went to several files: {}", parts.join(", "))
            }
        }
    }
}

impl fmt::Display for OverlayNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OverlayNote::NoEffect(commit) => {
                write!(
                    f,
                    "commit {} changes nothing at the pin: upstream has it, or it is empty",
                    commit.short()
                )
            }
            OverlayNote::Elsewhere(commit) => write!(
                f,
                "`drop-when` waits for commit {}, which touches none of the overlay's paths",
                commit.short()
            ),
        }
    }
}

/// Overlays as a sentence names them.
fn named_overlays(overlays: &[OverlayName]) -> String {
    let names: Vec<String> = overlays.iter().map(|name| format!("`{name}`")).collect();
    match names.split_last() {
        Some((last, [])) => format!("overlay {last} makes"),
        Some((last, others)) => format!("overlays {} and {last} make", others.join(", ")),
        None => "no overlay makes".to_owned(),
    }
}

/// Overlays as the manifest lists them.
#[must_use]
pub(crate) fn needs_list(overlays: &[OverlayName]) -> String {
    let names: Vec<String> = overlays.iter().map(|name| format!("\"{name}\"")).collect();
    format!("[{}]", names.join(", "))
}

fn named(commit: &Commit) -> String {
    format!("{} {}", commit.id.short(), commit.subject)
}

/// At most that many lines or ranges are named in a sentence.
const MOST_NAMED: usize = 8;

fn numbers(lines: &[OldLine]) -> String {
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for OldLine { number, .. } in lines {
        match joined.last_mut() {
            Some(last) if last.1 + 1 == *number => last.1 = *number,
            _ => joined.push((*number, *number)),
        }
    }
    ranges(&joined)
}

fn ranges(ranges: &[(usize, usize)]) -> String {
    let one = |(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first} to {last}"),
    };
    let mut named: Vec<String> = ranges.iter().take(MOST_NAMED).map(one).collect();
    if ranges.len() > MOST_NAMED {
        named.push(format!("{} more", ranges.len() - MOST_NAMED));
    }
    named.join(", ")
}
