//! What a move of the pin makes of every overlay.
//!
//! For each overlaid path: B is what the overlay's content was derived from, O what the overlay makes of it, P' what
//! upstream has at the new pin. [`plan()`] decides what becomes of the path, [`edits()`] which files of ours change,
//! [`scan()`] does the same for many commits. Never reads or writes a file, and drops no overlay unless asked
//! ([`Plan::drop_absorbed`]): one that upstream has taken over is named, and stays.
//!
//! What B and O are depends on the kind of the overlay:
//!
//! - whole files: B is upstream's content at the overlay's base, O the file;
//! - a patch: B is what it stands on at the old pin, O what it makes of that. Where it does not apply at the old pin,
//!   its base is tried. A path that it moves is one thing with the path that it moves it to;
//! - cherry-picks keep their commits; each is merged on what is there;
//! - held back and deleted paths stay as they are named.

mod commits;
mod edits;
mod hold;
mod judge;
mod markdown;
mod markers;
mod moves;
mod picks;
mod places;
mod plan;
mod renames;
mod scan;
mod subject;
#[cfg(test)]
mod tests;

use crate::id::{CommitId, OverlayName, UpstreamPath};
use crate::merge::Style;
use crate::tree::Content;

pub use commits::add_commits;
pub use edits::{EditsError, FileEdit, OwnFile, edits};
pub use hold::{Standing, check_holds};
pub use judge::Misfit;
pub use markdown::markdown;
pub use markers::{Unresolved, check as check_markers};
pub use plan::{Question, Resolved, plan};
pub(crate) use scan::line_by_entries;
pub use scan::{First, OverlayScan, Scan, scan};

/// What becomes of an overlay on a path. The order is that of the summary: what needs a person first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// It cannot be told.
    Unknown,
    /// It stands on another overlay, which does not fit.
    Blocked,
    /// Upstream has the path no more.
    Gone,
    /// Upstream moved the path.
    Renamed,
    /// It was new, and upstream has another one by now.
    Collides,
    /// Upstream and the overlay changed the same lines.
    Conflict,
    /// Upstream has all that the overlay adds.
    Absorbed,
    /// It does what upstream does, comments aside.
    Redundant,
    /// It takes upstream back, before and after: its content stays as it is.
    Kept,
    /// Upstream changed the path, and both changes fit.
    Merges,
    /// Upstream has there what the overlay was derived from.
    Untouched,
}

impl Outcome {
    /// The word of the manual and of `--json`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Unknown => "unknown",
            Outcome::Blocked => "blocked",
            Outcome::Gone => "gone",
            Outcome::Renamed => "renamed",
            Outcome::Collides => "collides",
            Outcome::Conflict => "conflicts",
            Outcome::Absorbed => "absorbed",
            Outcome::Redundant => "redundant",
            Outcome::Kept => "kept",
            Outcome::Merges => "merges",
            Outcome::Untouched => "untouched",
        }
    }

    /// All of them, in their order.
    pub const ALL: [Outcome; 11] = [
        Outcome::Unknown,
        Outcome::Blocked,
        Outcome::Gone,
        Outcome::Renamed,
        Outcome::Collides,
        Outcome::Conflict,
        Outcome::Absorbed,
        Outcome::Redundant,
        Outcome::Kept,
        Outcome::Merges,
        Outcome::Untouched,
    ];
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a move of the pin makes of all overlays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The pin before.
    pub from: CommitId,
    /// The pin after.
    pub to: CommitId,
    /// How conflicts are marked.
    pub style: Style,
    /// The overlays, in the order of the manifest.
    pub overlays: Vec<OverlayPlan>,
}

/// What becomes of one overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayPlan {
    /// The overlay.
    pub name: OverlayName,
    /// The worst outcome of its paths.
    pub outcome: Outcome,
    /// Its paths.
    pub paths: Vec<PathPlan>,
    /// What concerns it as a whole and needs a person: a sentence.
    pub why: Option<String>,
    /// Whether its base becomes the new pin.
    pub moves_base: bool,
    /// What the move does with the overlay as a whole.
    pub fate: Fate,
}

/// What a move does with an overlay as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It stays in the manifest.
    Stays,
    /// Upstream has all of it, and it cannot stay as it is: a patch of which nothing is left, commits that do not fit any more.
    CannotStay,
    /// The same, and the user wants such overlays removed.
    Dropped,
}

/// What becomes of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPlan {
    /// The path.
    pub path: UpstreamPath,
    /// What becomes of it.
    pub outcome: Outcome,
    /// Why: a sentence.
    pub why: String,
    /// Where upstream moved it, and how much of its content, in percent.
    pub to: Option<(UpstreamPath, u8)>,
    /// Where and how it does not fit.
    pub misfit: Option<Misfit>,
    /// What upstream has there at the new pin, with the overlays that this one stands on.
    pub theirs: Option<Content>,
    /// What the path will be with the overlay; the outer `None`: that cannot be told before a person has decided.
    pub result: Option<Option<Content>>,
    /// Upstream's commits on the path between the two pins, oldest first; see [`add_commits`].
    pub commits: Vec<crate::upstream::Commit>,
    /// Upstream's commits between the two pins on files beside it; see [`add_commits`].
    pub neighbours: Vec<crate::provenance::Neighbour>,
}

impl PathPlan {
    /// Whether the move waits for a person here.
    #[must_use]
    pub fn needs_person(&self) -> bool {
        self.result.is_none()
    }

    /// Whether a summary says more of it than its number.
    #[must_use]
    pub fn is_worth_telling(&self) -> bool {
        self.outcome != Outcome::Untouched || !self.neighbours.is_empty()
    }

    /// The path at the new pin.
    #[must_use]
    pub fn new_path(&self) -> &UpstreamPath {
        self.to.as_ref().map_or(&self.path, |(to, _)| to)
    }
}

impl OverlayPlan {
    /// Whether the move waits for a person here.
    #[must_use]
    pub fn needs_person(&self) -> bool {
        if self.fate == Fate::Dropped {
            return false;
        }
        self.why.is_some() || self.paths.iter().any(PathPlan::needs_person)
    }

    /// Whether a summary says more of it than its row.
    #[must_use]
    pub fn is_worth_telling(&self) -> bool {
        self.outcome != Outcome::Untouched
            || self.why.is_some()
            || self.paths.iter().any(PathPlan::is_worth_telling)
    }

    /// Whether it could not be told what becomes of it.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.outcome == Outcome::Unknown
    }

    /// Puts the outcomes of the paths together: the worst, but `absorbed` and `redundant` only if all paths are one of these.
    #[must_use]
    pub fn roll_up(outcomes: impl Iterator<Item = Outcome> + Clone) -> Outcome {
        let is_done = |outcome: &Outcome| matches!(outcome, Outcome::Absorbed | Outcome::Redundant);
        match outcomes.clone().filter(|outcome| !is_done(outcome)).min() {
            Some(worst) => worst,
            None => outcomes.min().unwrap_or(Outcome::Unknown),
        }
    }
}

impl Plan {
    /// Drops the overlays that upstream has wholly and that cannot stay as they are.
    pub fn drop_absorbed(&mut self) {
        for overlay in self.overlays.iter_mut().filter(|overlay| overlay.fate == Fate::CannotStay) {
            overlay.fate = Fate::Dropped;
        }
    }

    /// Whether the move waits for a person.
    #[must_use]
    pub fn needs_person(&self) -> bool {
        self.overlays.iter().any(OverlayPlan::needs_person)
    }

    /// Whether all overlays move by themselves, and no path moves along: what [`scan()`] looks for.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        !self.needs_person()
            && !self.overlays.iter().any(|overlay| overlay.paths.iter().any(|path| path.to.is_some()))
    }

    /// How many overlays have each outcome, without those that none has.
    #[must_use]
    pub fn counts(&self) -> Vec<(Outcome, usize)> {
        let count = |outcome| self.overlays.iter().filter(|overlay| overlay.outcome == outcome).count();
        Outcome::ALL
            .iter()
            .map(|outcome| (*outcome, count(*outcome)))
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}
