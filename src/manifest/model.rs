//! The manifest as it is meant: parsed, every reference resolved to something that exists in the same file.
//!
//! Values keep where they stood in the text, so that a later finding can show the line.

use std::ops::{Deref, Range};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::diagnostic::Place;
use crate::id::{CommitId, Name, OverlayName, UpstreamPath};
use crate::lex::Delta;
use crate::sorted::SortedMap;

/// A value and where it stands in the manifest's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Bytes of the manifest's text.
    pub span: Range<usize>,
}

impl<T> Deref for Located<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// One upstream and all that is carried on it.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The file it was read from.
    pub file: PathBuf,
    /// The text of that file, for messages.
    pub text: Arc<str>,
    /// `[upstream]`
    pub upstream: UpstreamTable,
    /// `[locations]`
    pub locations: Locations,
    /// `[features]`: groups of which at most one feature can be on.
    pub exclusive: Vec<Vec<Located<Name>>>,
    /// `[[overlay]]`, in the order of the file.
    pub overlays: Vec<Overlay>,
    /// `[[check]]`
    pub checks: Vec<Check>,
    /// `[profile.*]`, in the order of the file.
    pub profiles: Vec<Profile>,
    /// `[[test]]`
    pub tests: Vec<Test>,
}

/// `[upstream]`
#[derive(Debug, Clone)]
pub struct UpstreamTable {
    /// The name; also that of the folder under `overlays/`.
    pub name: Located<Name>,
    /// A URL, or a path (relative to the repository that holds the manifest) to a repository or a bundle.
    pub url: Located<String>,
    /// The commit that we build on.
    pub pin: Located<CommitId>,
    /// The branch that the pin is on.
    pub branch: Option<Located<String>>,
    /// Where the tree is made, relative to the repository; default `.overlaid/<name>`.
    pub tree: Option<Located<PathBuf>>,
    /// Other places that repeat the pin.
    pub also_pinned: Vec<AlsoPinned>,
    /// Forks and pull-request refs that overlays come from.
    pub remotes: Vec<Remote>,
    /// Submodules that are read, too.
    pub submodules: Vec<Submodule>,
}

/// `[[upstream.also-pinned]]`
#[derive(Debug, Clone)]
pub struct AlsoPinned {
    /// A file of ours, relative to the repository.
    pub file: Located<PathBuf>,
    /// A pattern with one group that captures the commit.
    pub regex: Located<String>,
}

/// `[[upstream.remote]]`
#[derive(Debug, Clone)]
pub struct Remote {
    /// How overlays name it.
    pub name: Located<Name>,
    /// Where it is.
    pub url: Located<String>,
}

/// `[[upstream.submodule]]`
#[derive(Debug, Clone)]
pub struct Submodule {
    /// Where the upstream has it.
    pub path: Located<UpstreamPath>,
    /// Where its commits are.
    pub url: Located<String>,
}

/// `[locations]`: where things are, relative to the repository.
#[derive(Debug, Clone, Default)]
pub struct Locations {
    /// Overlay files of this upstream; default `overlays/<name>`.
    pub overlays: Option<Located<PathBuf>>,
    /// Reports, evidence, retirements; default `docs/upstream`.
    pub docs: Option<Located<PathBuf>>,
    /// Templates of ours that override the built-in ones; default `templates`.
    pub templates: Option<Located<PathBuf>>,
}

/// `[[overlay]]`
#[derive(Debug, Clone)]
pub struct Overlay {
    /// The name, unique in the manifest.
    pub name: Located<OverlayName>,
    /// The table's header in the text (all of it if the table is inline), for messages that concern no
    /// single key.
    pub span: Range<usize>,
    /// Why we carry it.
    pub reason: Option<Located<String>>,
    /// The commit that it was derived from.
    pub base: Option<Located<CommitId>>,
    /// Where its content comes from.
    pub kind: Kind,
    /// All of these must hold for the overlay to be applied.
    pub when: Vec<Located<Condition>>,
    /// The upper bound of its delta against the base.
    pub claim: Option<Located<Delta>>,
    /// Overlays without which this one makes no sense.
    pub needs: Vec<Located<OverlayName>>,
    /// The group of alternatives that it belongs to.
    pub rivals: Option<Located<Name>>,
    /// In a group of rivals: whether it is the one that is applied. Exactly one of each group is. Without a
    /// group: always true.
    pub active: bool,
    /// Tests that see what it does.
    pub tests: Vec<Located<Name>>,
    /// Where the fault can be seen.
    pub witness: Option<Located<Witness>>,
    /// What evidence must cover before a drop.
    pub devices: Vec<Located<String>>,
    /// The upstream's issue.
    pub issue: Option<Located<String>>,
    /// The upstream's pull request.
    pub pull_request: Option<Located<String>>,
    /// Who made it.
    pub author: Option<Located<String>>,
    /// Where it was sent to the upstream.
    pub forwarded: Option<Located<String>>,
    /// How the upstream stands to it, as somebody said with evidence.
    pub upstream_status: Option<Located<UpstreamStatus>>,
    /// Our report, relative to the repository.
    pub report: Option<Located<PathBuf>>,
    /// When it can go.
    pub drop_when: Option<Located<DropWhen>>,
    /// That its state is meant.
    pub accepted: Option<Accepted>,
}

/// `upstream-status`: how the upstream stands to a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UpstreamStatus {
    /// Nobody has said so, or only without evidence.
    Unknown,
    /// Nobody has sent it yet.
    Pending,
    /// It was sent: there is a link.
    Submitted,
    /// Upstream refused it: there is a link or a reason.
    Denied,
    /// It is not for the upstream.
    Inappropriate,
    /// It comes from the upstream: there is a commit or a link.
    Backport,
    /// Upstream took it: there is a commit, a version or a link.
    Applied,
}

impl UpstreamStatus {
    /// All of them, with their words.
    pub const WORDS: [(&'static str, UpstreamStatus); 7] = [
        ("unknown", UpstreamStatus::Unknown),
        ("pending", UpstreamStatus::Pending),
        ("submitted", UpstreamStatus::Submitted),
        ("denied", UpstreamStatus::Denied),
        ("inappropriate", UpstreamStatus::Inappropriate),
        ("backport", UpstreamStatus::Backport),
        ("applied", UpstreamStatus::Applied),
    ];

    /// The word of the manifest.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::WORDS.iter().find(|(_, status)| *status == self).map_or("unknown", |(word, _)| word)
    }
}

/// `accepted`: a state that somebody looked at and wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The pin at that time.
    pub pin: Located<CommitId>,
    /// A hash of the contents at that time.
    pub content: Located<String>,
    /// Why.
    pub reason: Located<String>,
}

/// Where the content of an overlay comes from.
#[derive(Debug, Clone)]
pub enum Kind {
    /// `files`: whole files; globs over the overlay folder, which mirrors upstream paths.
    Files(Vec<Located<String>>),
    /// `patch`: a git-format diff, relative to the overlay folder.
    Patch(Located<PathBuf>),
    /// `from = { commits = [...] }`: cherry-picks, in this order.
    Commits {
        /// The commits.
        commits: Vec<Located<CommitId>>,
        /// The remote that has them; default: the upstream itself.
        remote: Option<Located<Name>>,
    },
    /// `from = { commit = "...", paths = [...] }`: paths as they were at a commit.
    HeldBack {
        /// The commit.
        commit: Located<CommitId>,
        /// The paths. One that is absent at the commit is deleted.
        paths: Vec<Located<UpstreamPath>>,
        /// The remote that has the commit; default: the upstream itself.
        remote: Option<Located<Name>>,
    },
    /// `delete`: paths that go away.
    Delete(Vec<Located<UpstreamPath>>),
}

impl Kind {
    /// Whether the overlay names a path's whole content, and not a change of it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self, Kind::Files(_) | Kind::HeldBack { .. } | Kind::Delete(_))
    }
}

/// A feature that must be on, or off.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Condition {
    /// The feature.
    pub feature: Name,
    /// Whether it must be off (`!rocm`).
    pub negated: bool,
}

/// Where a fault can be seen without the overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Witness {
    /// At an upstream commit.
    Commit(CommitId),
    /// At the pin with this patch on it, relative to the overlay folder.
    Patch(PathBuf),
}

/// `drop-when`
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DropWhen {
    /// The pin has this commit in its history.
    PinContains(CommitId),
    /// The linked tests pass without the overlay.
    TestsPassWithout,
    /// Somebody says so for this.
    Attested(String),
}

/// `[[check]]`: a lint of overlay files.
#[derive(Debug, Clone)]
pub struct Check {
    /// The name, unique in the manifest.
    pub name: Located<Name>,
    /// Which overlay files it looks at, by upstream path.
    pub globs: Vec<Located<String>>,
    /// Patterns that must not be found.
    pub forbid: Vec<Located<String>>,
}

/// `[profile.NAME]`: how to build and where to run.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The name.
    pub name: Located<Name>,
    /// Cache variables for CMake.
    pub cmake: SortedMap<String, String>,
    /// Targets of the upstream that `build` makes.
    pub targets: Vec<Located<String>>,
    /// Features that it turns on.
    pub features: Vec<Located<Name>>,
    /// What the machine must have, for example `cuda`.
    pub requires: Option<Located<String>>,
    /// Environment variables that name run-time compile caches; each variant gets private ones.
    pub cache_env: Vec<Located<String>>,
    /// Folders of the upstream from which Python imports: nothing is built for tests that need no build.
    pub python_path: Vec<Located<PathBuf>>,
}

/// `[[test]]`: a kernel test.
#[derive(Debug, Clone)]
pub struct Test {
    /// The name, unique in the manifest.
    pub name: Located<Name>,
    /// The table's header in the text (all of it if the table is inline).
    pub span: Range<usize>,
    /// A CMake project of ours, relative to the repository; `None`: the target is the upstream's.
    pub project: Option<Located<PathBuf>>,
    /// The target to build.
    pub target: Option<Located<String>>,
    /// The program and its arguments; `{build}` and `{tree}` are replaced.
    pub command: Vec<Located<String>>,
    /// Files of ours that the test reads or is built from, relative to the repository.
    pub sources: Vec<Located<String>>,
    /// Profiles that it runs under; empty: all.
    pub profiles: Vec<Located<Name>>,
    /// How it says what it found.
    pub format: Format,
    /// How often it runs on each variant.
    pub repeats: u32,
    /// Tools that watch a run.
    pub sanitizers: Vec<Located<Sanitizer>>,
    /// How long one run may take.
    pub timeout: Duration,
    /// It guards against side effects and need not see the fault.
    pub guard: bool,
    /// The least change of a figure of speed that counts, as a share (0.05 = 5 %).
    pub min_gain: f64,
}

/// How a test says what it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON Lines, the protocol of this project.
    Jsonl,
    /// JUnit XML.
    Junit,
    /// The exit code alone: 0 pass, 77 skip, anything else fail.
    Exit,
}

/// A tool that watches a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sanitizer {
    /// compute-sanitizer memcheck.
    Memcheck,
    /// compute-sanitizer racecheck.
    Racecheck,
    /// compute-sanitizer initcheck.
    Initcheck,
    /// compute-sanitizer synccheck.
    Synccheck,
    /// AddressSanitizer, a build of its own.
    Address,
    /// UndefinedBehaviorSanitizer, a build of its own.
    Undefined,
}

impl Sanitizer {
    /// Its name in the manifest; the pseudo-case is `sanitizer:<name>`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Sanitizer::Memcheck => "memcheck",
            Sanitizer::Racecheck => "racecheck",
            Sanitizer::Initcheck => "initcheck",
            Sanitizer::Synccheck => "synccheck",
            Sanitizer::Address => "address",
            Sanitizer::Undefined => "undefined",
        }
    }

    /// Whether a compiler builds it in; the others are tools that watch kernels on a device.
    #[must_use]
    pub fn is_built_in(self) -> bool {
        matches!(self, Sanitizer::Address | Sanitizer::Undefined)
    }
}

impl Profile {
    /// Whether kernels run on a device under it.
    #[must_use]
    pub fn is_on_device(&self) -> bool {
        self.requires.is_some()
    }
}

impl Test {
    /// The sanitizers that watch the test under a profile: the tools for devices where the profile requires a device,
    /// those of the compiler where it does not. Without a profile, all.
    pub fn sanitizers_under(&self, profile: Option<&Profile>) -> impl Iterator<Item = Sanitizer> {
        let counts = move |sanitizer: &Sanitizer| {
            profile.is_none_or(|profile| profile.is_on_device() != sanitizer.is_built_in())
        };
        self.sanitizers.iter().map(|sanitizer| sanitizer.value).filter(counts)
    }
}

impl Manifest {
    /// A place in the manifest's text, for a message.
    #[must_use]
    pub fn place(&self, span: Range<usize>, label: impl Into<String>) -> Place {
        Place { file: self.file.clone(), text: Arc::clone(&self.text), span, label: label.into() }
    }

    /// The overlay of this name.
    #[must_use]
    pub fn overlay(&self, name: &str) -> Option<&Overlay> {
        self.overlays.iter().find(|overlay| overlay.name.as_str() == name)
    }

    /// The test of this name.
    #[must_use]
    pub fn test(&self, name: &str) -> Option<&Test> {
        self.tests.iter().find(|test| test.name.as_str() == name)
    }

    /// The features that something in the manifest names: a condition, a profile, an exclusive group.
    #[must_use]
    pub fn named_features(&self) -> std::collections::BTreeSet<Name> {
        let of_overlays = self.overlays.iter().flat_map(|overlay| &overlay.when);
        let of_profiles = self.profiles.iter().flat_map(|profile| &profile.features);
        let of_groups = self.exclusive.iter().flatten().chain(of_profiles).map(|feature| &feature.value);
        of_overlays.map(|condition| &condition.feature).chain(of_groups).cloned().collect()
    }

    /// The profile of this name.
    #[must_use]
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.name.as_str() == name)
    }

    /// The folder of overlay files, relative to the repository.
    #[must_use]
    pub fn overlay_folder(&self) -> PathBuf {
        match &self.locations.overlays {
            Some(folder) => folder.value.clone(),
            None => PathBuf::from("overlays").join(self.upstream.name.as_str()),
        }
    }

    /// The folder of reports and evidence, relative to the repository.
    #[must_use]
    pub fn docs_folder(&self) -> PathBuf {
        self.locations.docs.as_ref().map_or_else(|| PathBuf::from("docs/upstream"), |docs| docs.value.clone())
    }

    /// The folder of the tree, relative to the repository.
    #[must_use]
    pub fn tree_folder(&self) -> PathBuf {
        match &self.upstream.tree {
            Some(tree) => tree.value.clone(),
            None => PathBuf::from(".overlaid").join(self.upstream.name.as_str()),
        }
    }
}

impl Overlay {
    /// Whether the overlay is applied under these features: it is not a rival that stands back, and
    /// all its conditions hold.
    #[must_use]
    pub fn is_on(&self, features: &std::collections::BTreeSet<Name>) -> bool {
        self.active && self.when.iter().all(|c| features.contains(&c.feature) != c.negated)
    }
}
