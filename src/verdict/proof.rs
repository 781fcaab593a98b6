//! What goes into a verdict: the results of the linked tests on up to four variants.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::{Name, OverlayName};
use crate::kernel_test::repeats::FEWEST_RUNS;
use crate::kernel_test::{CaseKey, CellOutcome, Run};

/// All that is known about one overlay under one profile on one machine.
#[derive(Debug, Clone)]
pub struct Proof {
    /// The overlay.
    pub overlay: OverlayName,
    /// What is taken out at the pin: the overlay and the active ones that need it.
    pub removed: Vec<OverlayName>,
    /// Provenance says that all its paths are redundant: there is nothing to run.
    pub redundant: bool,
    /// The tests that are linked to it and run under the profile.
    pub tests: Vec<Linked>,
    /// At the pin: the other active overlays are on.
    pub pin: Place,
    /// Where the fault was seen.
    pub witness: Witness,
}

/// A linked test, as far as it bears on a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Linked {
    /// Its name.
    pub name: Name,
    /// It guards against side effects and need not see the fault.
    pub guard: bool,
    /// How many runs each variant gets before anything is said; fewer than three are taken for three.
    pub repeats: u32,
    /// How long one run may take, in milliseconds.
    pub timeout_ms: u64,
    /// The least change of a figure of speed that counts, as a share.
    pub min_gain: f64,
    /// The sanitizers that must have watched it, for example `memcheck`.
    pub sanitizers: Vec<String>,
}

impl Linked {
    /// How many runs each variant gets before anything is said.
    #[must_use]
    pub fn runs(&self) -> u32 {
        self.repeats.max(FEWEST_RUNS)
    }
}

/// Where the fault was seen.
#[derive(Debug, Clone)]
pub enum Witness {
    /// The witness is the pin: two variants say all there is to say.
    IsPin,
    /// Another commit, or the pin with a patch that plants the fault.
    At(Place),
}

/// One commit: every linked test, without and with the overlay. A test that is not in the map was not run.
pub type Place = BTreeMap<Name, Pair>;

/// One test at one commit.
#[derive(Debug, Clone, Default)]
pub struct Pair {
    /// Without the overlay.
    pub without: State,
    /// With it.
    pub with: State,
}

/// What is known of one test on one variant.
#[derive(Debug, Clone, Default)]
pub enum State {
    /// Nobody has run it yet.
    #[default]
    NotRun,
    /// It cannot be run here.
    Blocked(Obstacle),
    /// The sources do not configure, compile or link. Never for a compiler that is missing or a full disk.
    BuildFailed {
        /// What built it: equal text, same toolchain.
        toolchain: String,
        /// The first error.
        text: String,
    },
    /// It ran.
    Ran(Ran),
}

/// The runs of one test on one variant.
#[derive(Debug, Clone, Default)]
pub struct Ran {
    /// What built it: equal text, same toolchain.
    pub toolchain: String,
    /// A hash over all that the compiler and the test really read of the tree, the project and the options.
    /// `None`: not known.
    pub inputs: Option<String>,
    /// A hash over all else that may have mattered, though nobody saw it read: names, modes. Where results differ
    /// and nothing else does, that is what made the difference.
    pub surroundings: Option<String>,
    /// The runs, each from the start.
    pub runs: Vec<Run>,
    /// For each sanitizer, what each run under it came to (`Pass`, `Fail`, `Unknown`). The cases that are
    /// reported under a sanitizer do not count: it changes what they see.
    pub sanitized: BTreeMap<String, Vec<CellOutcome>>,
}

/// Why a test cannot be run on a variant: the environment, not the overlay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what", content = "text")]
pub enum Obstacle {
    /// No device of the kind that the profile requires.
    Device(String),
    /// A compiler, CMake, ninja or a library is missing.
    Toolchain(String),
    /// The overlay does not merge at that commit.
    Conflict(String),
    /// Objects of the upstream are not here.
    Upstream(String),
    /// Anything else of the machine: disk full, memory, an interrupt, a file that cannot be read.
    Environment(String),
    /// The time that a proof was given is used up.
    Budget(String),
}

impl Obstacle {
    /// The stable code of the obstacle, for `reasons`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Obstacle::Device(_) => "no-device",
            Obstacle::Toolchain(_) => "toolchain",
            Obstacle::Conflict(_) => "conflict",
            Obstacle::Upstream(_) => "upstream-missing",
            Obstacle::Environment(_) => "environment",
            Obstacle::Budget(_) => "budget",
        }
    }

    /// What is in the way, as a sentence without a full stop.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Obstacle::Device(text)
            | Obstacle::Toolchain(text)
            | Obstacle::Conflict(text)
            | Obstacle::Upstream(text)
            | Obstacle::Environment(text)
            | Obstacle::Budget(text) => text,
        }
    }
}

/// A case of a linked test.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CellId {
    /// The test.
    pub test: Name,
    /// The case.
    pub case: CaseKey,
}

impl std::fmt::Display for CellId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.test, self.case)
    }
}
