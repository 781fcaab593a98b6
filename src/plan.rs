//! What a tree should be, what stands there, and the steps from one to the other.
//!
//! Decides, for each path, whether it is right, may be changed, is left alone or stops the whole plan.
//! Never looks at a disk: `io::tree` observes and executes.
//!
//! The rule behind all of it: bytes may be replaced or removed only if they can be had again. That holds for
//! what we wrote there ourselves, for the pin's bytes and for the wanted bytes. Everything else belongs to
//! somebody, and stops the plan as soon as the plan would have to touch it.

use std::fmt;

use bstr::{BStr, BString};

use crate::escape;
use crate::id::{CommitId, Name, OverlayName, UpstreamPath};
use crate::sorted::SortedMap;
use crate::tree::{Changes, Entry, Listing, Mode};

/// What a tree should be: a commit's listing with the changes of overlays on top.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The upstream's name.
    pub upstream: Name,
    /// The commit, normally the pin.
    pub commit: CommitId,
    /// All that the commit has.
    pub listing: Listing,
    /// What overlays make of some paths.
    pub changes: Changes,
    /// The overlays behind each changed path, for messages and for the attestation.
    pub owners: SortedMap<UpstreamPath, Vec<OverlayName>>,
    /// A hash of pin, overlay content and features.
    pub fingerprint: String,
}

impl Wanted {
    /// A commit as it is, without overlays.
    #[must_use]
    pub fn pristine(upstream: Name, commit: CommitId, listing: Listing, fingerprint: String) -> Self {
        Self { upstream, commit, listing, changes: Changes::new(), owners: SortedMap::new(), fingerprint }
    }

    /// What should stand at a path.
    #[must_use]
    pub fn entry(&self, path: &UpstreamPath) -> Option<Entry> {
        match self.changes.get(path) {
            Some(change) => change.as_ref().map(crate::tree::Content::entry),
            None => self.listing.get(path).copied(),
        }
    }

    /// The names of the overlays behind a path, comma-separated; empty for upstream's own.
    #[must_use]
    pub fn owners_of(&self, path: &UpstreamPath) -> String {
        let names = self.owners.get(path).into_iter().flatten().map(OverlayName::as_str);
        names.collect::<Vec<_>>().join(", ")
    }

    /// A changed path that cannot be together with another one: a file cannot be a folder, too.
    #[must_use]
    pub fn overlap(&self) -> Option<(&UpstreamPath, UpstreamPath)> {
        let added = self.changes.iter().filter(|(_, change)| change.is_some()).map(|(path, _)| path);
        for path in added {
            for ancestor in path.ancestors() {
                // Every ancestor of a path is a path.
                let Ok(ancestor) = UpstreamPath::parse(ancestor) else { continue };
                if self.entry(&ancestor).is_some_and(|entry| entry.mode != Mode::Submodule) {
                    return Some((path, ancestor));
                }
            }
            if let Some(below) = self.first_below(path.as_bytes()) {
                return Some((path, below));
            }
        }
        None
    }

    /// The first wanted path inside a folder.
    #[must_use]
    pub fn first_below(&self, folder: &BStr) -> Option<UpstreamPath> {
        let mut start = folder.to_vec();
        start.push(b'/');
        let prefix = start.clone();
        // The first path that can be inside: no component is empty or has a NUL.
        start.push(1);
        let Ok(start) = UpstreamPath::parse(&start) else { return None };
        let inside = |path: &UpstreamPath| path.as_bytes().starts_with(&prefix);
        let mut changed = self.changes.range(&start..).take_while(|(path, _)| inside(path));
        let changed = changed.find(|(_, change)| change.is_some()).map(|(path, _)| path);
        let mut listed = self.listing.range(&start..).map(|(path, _)| path).take_while(|path| inside(path));
        let listed = listed.find(|path| !matches!(self.changes.get(path), Some(None)));
        changed.into_iter().chain(listed).min().cloned()
    }
}

/// What stands at a path on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Absent,
    /// A file or a symbolic link with this content.
    Entry(Entry),
    /// A folder.
    Folder,
    /// Something that git does not know: a device, a socket, a named pipe.
    Special(&'static str),
    /// A folder on the way to it is none.
    Behind {
        /// What is in the way, relative to the tree.
        ancestor: BString,
        /// Whether it is a symbolic link.
        link: bool,
    },
}

/// One path's change. All steps of a plan happen, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The path.
    pub path: UpstreamPath,
    /// What stands there.
    pub from: Found,
    /// What will stand there; `None`: nothing.
    pub to: Option<Entry>,
    /// Whether what stands there belongs to somebody, so that a copy is kept.
    pub keep: bool,
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Writes a file or a link where nothing was.
    Create,
    /// Writes other content, or changes the kind of entry.
    Write,
    /// Changes only whether a file can be executed.
    Chmod,
    /// Makes the empty folder of a submodule.
    MakeFolder,
    /// Removes what is there.
    Remove,
}

impl Step {
    /// What the step does.
    #[must_use]
    pub fn action(&self) -> Action {
        match (&self.from, self.to) {
            (_, None) => Action::Remove,
            (_, Some(Entry { mode: Mode::Submodule, .. })) => Action::MakeFolder,
            (Found::Entry(from), Some(to)) if from.id == to.id && is_link(*from) == is_link(to) => {
                Action::Chmod
            }
            (Found::Absent | Found::Behind { .. }, Some(_)) => Action::Create,
            (_, Some(_)) => Action::Write,
        }
    }
}

/// All that has to be done to a tree. Pure data; nothing of it has happened yet, unless an outcome says so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The steps, by path.
    pub steps: Vec<Step>,
    /// Folders that the steps leave empty and that go away, innermost first.
    pub emptied: Vec<BString>,
    /// How many overlaid paths are right already.
    pub right: usize,
    /// Local edits of paths that no overlay concerns: `verify` reports them, nothing touches them.
    pub left_alone: Vec<UpstreamPath>,
}

/// A path that stops the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The path, relative to the tree.
    pub path: UpstreamPath,
    /// What is wrong with it.
    pub difference: Difference,
}

/// What stands in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// Content that is neither what was written there, nor the pin's, nor the wanted one.
    Edited {
        /// What is there.
        found: Entry,
        /// What we wrote there, or else what the pin has.
        expected: Entry,
    },
    /// A file where neither the pin nor an earlier run had one.
    Unknown {
        /// What is there.
        found: Entry,
    },
    /// Nothing, where the pin has a file and no earlier run looked: somebody removed it, or this is another tree.
    Missing,
    /// A folder with files that we did not write, where a file should be.
    Folder,
    /// A device, a socket or a named pipe.
    Special(&'static str),
    /// A folder on the way to it is a file or a symbolic link. Links are never followed.
    Behind {
        /// What is in the way, relative to the tree.
        ancestor: BString,
        /// Whether it is a symbolic link.
        link: bool,
    },
    /// It changed while this ran.
    Raced,
}

impl Difference {
    /// Whether it is somebody's content, which a person must judge; else the file system is in the way.
    #[must_use]
    pub fn is_content(&self) -> bool {
        use Difference::{Edited, Missing, Raced, Unknown};
        matches!(self, Edited { .. } | Unknown { .. } | Missing | Raced)
    }
}

/// Whether nothing is in the way but that files are missing.
#[must_use]
pub fn is_all_missing(refusals: &[Refusal]) -> bool {
    refusals.iter().all(|refusal| refusal.difference == Difference::Missing)
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Edited { found, expected } if found.id == expected.id => write!(
                f,
                "local change of mode: {} on disk, {} expected",
                found.mode.as_octal(),
                expected.mode.as_octal()
            ),
            Difference::Edited { found, expected } => {
                write!(f, "local edit: blob {} on disk, {} expected", found.id.short(), expected.id.short())
            }
            Difference::Unknown { found } => {
                write!(f, "unknown file: blob {} is neither the upstream's nor ours", found.id.short())
            }
            Difference::Missing => f.write_str("is not there; the pin has it"),
            Difference::Folder => f.write_str("a folder with other files is in its place"),
            Difference::Special(kind) => write!(f, "{kind} is in its place"),
            Difference::Behind { ancestor, link } => {
                let kind = if *link { "a symbolic link" } else { "no folder" };
                write!(f, "`{}` is {kind}", escape::for_terminal(ancestor))
            }
            Difference::Raced => f.write_str("it changed while this ran"),
        }
    }
}

/// What is known of a path besides what stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claims {
    /// What the pin has.
    pub pin: Option<Entry>,
    /// What should be there.
    pub target: Option<Entry>,
    /// What an earlier run left there.
    pub recorded: Option<Entry>,
    /// Whether we know why nothing is there, if so: the tree is ours, or an earlier run wrote or removed something there.
    pub known: bool,
    /// Whether an overlay names the path.
    pub overlaid: bool,
}

/// What is to be done about a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// Nothing: it is as it should be.
    Right,
    /// A step; nobody's content is lost.
    Step,
    /// Somebody's change of a path that need not change.
    LeaveAlone,
    /// Something is in the way that other steps of the same plan may take away.
    Blocked(Difference),
    /// Somebody's content is in the way.
    Refused(Difference),
}

/// Decides about one path. The table, with F what was found, T the target, R what was recorded:
///
/// | F | |
/// | --- | --- |
/// | is T | right |
/// | absent, though the pin has it, and we do not know why | refused: somebody removed it, or it is another tree |
/// | absent | step: nothing can be lost |
/// | anything else, T is R and no overlay names the path | left alone |
/// | in bytes R, the pin's or T | step |
/// | a folder, or behind a file or link | blocked |
/// | anything else | refused |
#[must_use]
pub fn settle(claims: &Claims, found: &Found) -> Settled {
    let Claims { pin, target, recorded, known, overlaid } = *claims;
    let need_not_change = target.is_some() && target == recorded && !overlaid;
    match (found, target) {
        (Found::Absent | Found::Behind { .. }, None) => Settled::Right,
        (Found::Absent, Some(_)) if pin.is_some() && !known => Settled::Refused(Difference::Missing),
        (Found::Absent, Some(_)) => Settled::Step,
        (Found::Folder, Some(Entry { mode: Mode::Submodule, .. })) => Settled::Right,
        (Found::Folder, None) => match recorded {
            Some(Entry { mode: Mode::Submodule, .. }) => Settled::Step,
            // A folder is no entry: nothing stands at the path itself.
            _ => Settled::Right,
        },
        (Found::Entry(found), Some(target)) if *found == target => Settled::Right,
        _ if need_not_change => Settled::LeaveAlone,
        (Found::Folder, Some(_)) => Settled::Blocked(Difference::Folder),
        (Found::Behind { ancestor, link }, Some(_)) => {
            Settled::Blocked(Difference::Behind { ancestor: ancestor.clone(), link: *link })
        }
        (Found::Special(kind), _) => Settled::Refused(Difference::Special(kind)),
        (Found::Entry(found), _) => {
            let replaceable = [recorded, pin, target];
            if replaceable.into_iter().flatten().any(|entry| same_bytes(*found, entry)) {
                return Settled::Step;
            }
            Settled::Refused(match recorded.or(pin) {
                Some(expected) => Difference::Edited { found: *found, expected },
                None => Difference::Unknown { found: *found },
            })
        }
    }
}

fn is_link(entry: Entry) -> bool {
    entry.mode == Mode::Symlink
}

/// The same content of the same kind; whether it can be executed does not matter: that bit can be had again.
fn same_bytes(a: Entry, b: Entry) -> bool {
    a.id == b.id && is_link(a) == is_link(b) && a.mode != Mode::Submodule && b.mode != Mode::Submodule
}

#[cfg(test)]
mod tests;
