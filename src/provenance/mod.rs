//! What an overlay is, measured against the upstream's history.
//!
//! For every path: B is upstream's content at the base, P at the pin, O what the tree gets from the overlay.
//! "Absent" is a value too. Contents are compared by bytes, then by tokens without comments. A state is given
//! only when it is proven; `unknown` says what is missing. Reads git objects only, never a checkout.
//! Patch ids and "it applies in reverse" prove nothing and are not used.

pub(crate) mod absorb;
mod align;
pub mod base;
mod branch;
mod conditions;
mod earlier;
mod elsewhere;
mod history;
mod hunks;
mod includes;
mod inspect;
mod layout;
mod ledger;
pub(crate) mod neighbours;
mod note;
mod rename;
mod resurrect;
mod same;
mod state;
mod unsaid;
mod work;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::{CommitId, OverlayName, UpstreamPath};
use crate::lex::Delta;
use crate::overlay::Loaded;
use crate::tree::{Entry, Mode};
use crate::upstream::Commit;

pub use branch::NoBranch;
pub use inspect::{Among, Look, inspect, inspect_with, needs_of, pull_request_number};
pub(crate) use note::needs_list;
pub use note::{Condition, Neighbour, Note, OldLine, OverlayNote, Resurrected, Side};
pub use rename::similarity;

/// The state of an overlay on a path. The order is that of the design's table: the worst comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Not enough is there to tell.
    Unknown,
    /// The path was at the base and is not at the pin; its content went to another path.
    Renamed,
    /// The path was at the base and is not at the pin.
    Gone,
    /// O equals P in bytes or tokens: the overlay changes nothing, or comments only.
    Redundant,
    /// Absent at the base; upstream has the path by now, with other content.
    Collides,
    /// Absent at the base, and upstream still does not have it.
    New,
    /// Whole content that equals what upstream had at the base or before: it takes upstream back.
    Rollback,
    /// O equals an upstream content that is newer than the pin's: absence is one, too.
    Backport,
    /// Upstream has all that the overlay adds.
    Absorbed,
    /// Upstream moved, and the change does not fit any more.
    StaleConflict,
    /// Upstream moved, and the change still fits.
    StaleClean,
    /// Upstream did not move on this path.
    Fresh,
}

impl State {
    /// The word of the manual and of `--json`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            State::Unknown => "unknown",
            State::Renamed => "renamed",
            State::Gone => "gone",
            State::Redundant => "redundant",
            State::Collides => "collides",
            State::New => "new",
            State::Rollback => "rollback",
            State::Backport => "backport",
            State::Absorbed => "absorbed",
            State::StaleConflict => "stale-conflict",
            State::StaleClean => "stale-clean",
            State::Fresh => "fresh",
        }
    }

    /// What it means, in few words.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            State::Unknown => "not enough is there to tell",
            State::Renamed => "the path was at the base, and is another one at the pin",
            State::Gone => "the path was at the base and is not at the pin",
            State::Redundant => "it does what upstream does at the pin, comments aside",
            State::Collides => "it was new, and upstream has such a path by now",
            State::New => "upstream still has no such path",
            State::Rollback => "it takes upstream back to an older content",
            State::Backport => "it is what upstream has after the pin",
            State::Absorbed => "upstream has all that it adds",
            State::StaleConflict => "upstream moved, and the change does not fit",
            State::StaleClean => "upstream moved, and the change still fits",
            State::Fresh => "upstream did not move",
        }
    }

    /// All states, in the order of the table.
    pub const ALL: [State; 12] = [
        State::Unknown,
        State::Renamed,
        State::Gone,
        State::Redundant,
        State::Collides,
        State::New,
        State::Rollback,
        State::Backport,
        State::Absorbed,
        State::StaleConflict,
        State::StaleClean,
        State::Fresh,
    ];
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// What is known of an overlay on one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathReport {
    /// The path.
    pub path: UpstreamPath,
    /// The state.
    pub state: State,
    /// Why it is that state: a sentence.
    pub why: String,
    /// Upstream commits between base and pin that whole content takes out again, oldest first.
    pub undoes: Vec<Commit>,
    /// Upstream commits between base and pin whose changes the overlay's content has, oldest first.
    pub included: Vec<Commit>,
    /// The commits between base and pin that touch the path, whatever the kind of overlay, oldest first.
    pub moved_by: Vec<CommitId>,
    /// Where the path went, and how much of its content, in percent.
    pub to: Option<(UpstreamPath, u8)>,
    /// The commit that renamed, removed or added it, or whose content O equals.
    pub by: Option<Commit>,
    /// Other things to know.
    pub notes: Vec<Note>,
    /// Whether contents before the base and after the pin were compared by name only.
    pub by_name_only: bool,
    /// The overlay's change against the base; `None` if it cannot be told.
    pub delta: Option<Delta>,
    /// Lines that the overlay adds to the base's content and removes from it; `None` if it cannot be told.
    pub against_base: Option<(usize, usize)>,
    /// The same against the pin's content: what building with it changes.
    pub against_pin: Option<(usize, usize)>,
    /// The contents that were compared: base, pin, overlay.
    pub blobs: Blobs,
}

impl PathReport {
    /// The overlays that it fits on and does not say that it needs.
    #[must_use]
    pub fn needs_missing(&self) -> &[OverlayName] {
        let missing = self.notes.iter().find_map(|note| match note {
            Note::NeedsMissing(overlays) => Some(overlays.as_slice()),
            _ => None,
        });
        missing.unwrap_or_default()
    }

    /// One of which nothing is known but why.
    pub(crate) fn unknown(path: UpstreamPath, why: String) -> Self {
        Self {
            path,
            state: State::Unknown,
            why,
            undoes: Vec::new(),
            included: Vec::new(),
            moved_by: Vec::new(),
            to: None,
            by: None,
            notes: Vec::new(),
            by_name_only: false,
            delta: None,
            against_base: None,
            against_pin: None,
            blobs: Blobs::default(),
        }
    }
}

/// The contents that were compared, by name and mode; `None`: absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blobs {
    /// At the base.
    pub base: Option<Entry>,
    /// At the pin.
    pub pin: Option<Entry>,
    /// From the overlay.
    pub overlay: Option<Entry>,
}

/// A content in a text that is hashed: by name, and by mode if it is not a plain file.
pub(crate) fn name_of(entry: Option<Entry>) -> String {
    match entry {
        None => "absent".to_owned(),
        Some(Entry { mode: Mode::File, id }) => id.to_string(),
        Some(Entry { mode, id }) => format!("{} {id}", mode.as_octal()),
    }
}

/// What is known of an overlay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverlayReport {
    /// The overlay.
    pub name: OverlayName,
    /// The worst state of its paths.
    pub state: State,
    /// Its paths.
    pub paths: Vec<PathReport>,
    /// Why it is `unknown` as a whole, if no path could be looked at.
    pub why: Option<String>,
    /// Things to know about it that concern no single path.
    pub notes: Vec<OverlayNote>,
    /// Whether the pin has the commit of `drop-when`; `None`: it waits for no commit.
    pub drop_when: Option<Condition>,
}

/// The state that says most of some paths.
fn worst(paths: &[PathReport]) -> State {
    let is_done = |state: &State| matches!(state, State::Redundant | State::Absorbed);
    let states = || paths.iter().map(|path| path.state);
    match states().filter(|state| !is_done(state)).min() {
        Some(worst) => worst,
        // All redundant: redundant. Some of them absorbed: upstream has it all, so absorbed.
        None => states().max().unwrap_or(State::Unknown),
    }
}

/// Whether what upstream has on its branch could make another state of this one.
fn may_be_newer(loaded: &Loaded, path: &PathReport) -> bool {
    let is_whole = loaded.overlay.kind.is_whole();
    match path.state {
        State::StaleClean | State::Fresh => true,
        // A change that does not apply at the pin makes nothing of it.
        State::Absorbed => is_whole || path.blobs.overlay.is_some(),
        State::StaleConflict => is_whole,
        _ => false,
    }
}

/// Reports as they are where the branch of the manifest could not be looked at, and why: what an overlay makes of a path may be
/// what upstream has there, and unless something else says what it is, it is not known.
#[must_use]
fn without_branch(mut reports: Vec<OverlayReport>, overlays: &[&Loaded], why: &str) -> Vec<OverlayReport> {
    for (report, loaded) in reports.iter_mut().zip(overlays) {
        for path in report.paths.iter_mut().filter(|path| may_be_newer(loaded, path)) {
            path.state = State::Unknown;
            path.why = format!("whether it is what upstream has on its branch cannot be told: {why}");
        }
        if !report.paths.is_empty() {
            report.state = worst(&report.paths);
        }
    }
    reports
}

impl OverlayReport {
    /// Puts the states of the paths together: the worst in the table's order, but `redundant` and
    /// `absorbed` only if all paths are one of these.
    #[must_use]
    pub fn new(name: OverlayName, paths: Vec<PathReport>) -> Self {
        let state = worst(&paths);
        let why = paths.is_empty().then(|| "it changes no path".to_owned());
        Self { name, state, paths, why, notes: Vec::new(), drop_when: None }
    }

    /// An overlay of which nothing could be found out.
    #[must_use]
    pub fn unknown(name: OverlayName, why: String) -> Self {
        Self { why: Some(why), ..Self::new(name, Vec::new()) }
    }

    /// A hash of the pin and of what the overlay gives its paths, modes included: whether a verdict was about the same.
    #[must_use]
    pub fn content_digest(&self, pin: CommitId) -> String {
        let mut text = format!("pin {pin}\n");
        for path in &self.paths {
            text.push_str(&format!("{} {}\n", name_of(path.blobs.overlay), path.path));
        }
        crate::canonical_json::digest(&text.into())
    }

    /// The commits that the overlay undoes on any path, oldest first, each once.
    #[must_use]
    pub fn undoes(&self) -> Vec<&Commit> {
        let mut seen = BTreeSet::new();
        let all = self.paths.iter().flat_map(|path| &path.undoes);
        let mut commits: Vec<&Commit> = all.filter(|commit| seen.insert(commit.id)).collect();
        commits.sort_by_key(|commit| commit.committed);
        commits
    }
}
