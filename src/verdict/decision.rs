//! What comes out: the verdict, the cases behind it, and what would have to be run to know more.

use serde::{Deserialize, Serialize, Serializer};

use super::proof::CellId;
use crate::id::{Name, OverlayName};
use crate::kernel_test::CaseKey;

/// What the evidence says about an overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Removing it breaks cases, it breaks none.
    Needed,
    /// It breaks cases and fixes none.
    Harmful,
    /// It fixes some cases and breaks some.
    Mixed,
    /// It changes no case at the pin, and a case that it is there for fails with and without it.
    Ineffective,
    /// It changes no case at the pin, and all that it is there for pass without it.
    Droppable,
    /// It changes no case at the pin, and the tests have never seen the fault.
    Unproven,
    /// All its paths are redundant: nothing to run.
    Redundant,
    /// What is needed for an answer could not be found out.
    Inconclusive,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Needed,
        Self::Harmful,
        Self::Mixed,
        Self::Ineffective,
        Self::Droppable,
        Self::Unproven,
        Self::Redundant,
        Self::Inconclusive,
    ];

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Needed => "needed",
            Verdict::Harmful => "harmful",
            Verdict::Mixed => "mixed",
            Verdict::Ineffective => "ineffective",
            Verdict::Droppable => "droppable",
            Verdict::Unproven => "unproven",
            Verdict::Redundant => "redundant",
            Verdict::Inconclusive => "inconclusive",
        }
    }

    /// What it means, in few words.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Verdict::Needed => "without it cases fail that pass with it, and none the other way round",
            Verdict::Harmful => "with it cases fail that pass without it, and none the other way round",
            Verdict::Mixed => "it mends some cases and breaks others",
            Verdict::Ineffective => "a case that it is there for fails with it, too",
            Verdict::Droppable => "all that it is there for passes without it",
            Verdict::Unproven => "it makes no difference, and the tests have never seen the fault",
            Verdict::Redundant => "comments aside, the pin has all of it; nothing to run",
            Verdict::Inconclusive => "something could not be found out; the reasons say what",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Verdict::Needed => "keep",
            Verdict::Harmful => "drop now",
            Verdict::Mixed | Verdict::Unproven => "a person decides",
            Verdict::Ineffective => "does not do its job: a person decides",
            Verdict::Droppable | Verdict::Redundant => "drop",
            Verdict::Inconclusive => "find out what is missing",
        }
    }

    /// What it means for the exit code.
    #[must_use]
    pub fn exit(self) -> Exit {
        match self {
            Verdict::Needed => Exit::AllNeeded,
            Verdict::Harmful | Verdict::Droppable | Verdict::Redundant => Exit::ShouldGo,
            Verdict::Mixed | Verdict::Ineffective | Verdict::Unproven => Exit::PersonDecides,
            Verdict::Inconclusive => Exit::Inconclusive,
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// What verdicts mean for the exit code. Of several the highest wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// 0
    AllNeeded,
    /// 1
    ShouldGo,
    /// 3
    PersonDecides,
    /// 4
    Inconclusive,
}

impl Exit {
    /// The exit code.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Exit::AllNeeded => 0,
            Exit::ShouldGo => 1,
            Exit::PersonDecides => 3,
            Exit::Inconclusive => 4,
        }
    }

    /// The exit code of several verdicts; of none: all needed.
    #[must_use]
    pub fn of(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        verdicts.into_iter().map(Verdict::exit).max().unwrap_or(Exit::AllNeeded)
    }
}

/// One thing that the verdict rests on, or that a reader should know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Reason {
    /// A stable word.
    pub code: &'static str,
    /// A sentence.
    pub text: String,
}

/// Which of the four variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Which {
    /// The pin with all active overlays, save the overlay and those that need it.
    PinWithout,
    /// The pin with all active overlays.
    PinWith,
    /// The witness with what the overlay needs.
    WitnessWithout,
    /// The witness with the overlay and what it needs.
    WitnessWith,
}

/// What would have to be run so that more can be said.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Want {
    /// On which variant.
    pub which: Which,
    /// Which test.
    pub test: Name,
    /// The seeds of the further runs, one run each. Those that were run before are run again.
    pub seeds: Vec<u64>,
}

/// A case on the four variants, for the table of cells. Words: `pass`, `fail`, `flaky`, `skip`, `unrun`,
/// `missing`, `unknown`, `measured`, `not run`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellRow {
    /// The test.
    pub test: Name,
    /// The case.
    pub case: String,
    /// At the witness without the overlay; `None`: there is no witness other than the pin.
    pub witness_without: Option<CellView>,
    /// At the witness with it.
    pub witness_with: Option<CellView>,
    /// At the pin without it.
    pub pin_without: CellView,
    /// At the pin with it.
    pub pin_with: CellView,
    /// The overlay is there for this case: it failed at the witness without and passed with.
    pub attributed: bool,
}

impl CellRow {
    /// Whether it is a case of the test: building, running and sanitizers have rows, too.
    #[must_use]
    pub fn is_case(&self) -> bool {
        !serde_json::from_value::<CaseKey>(self.case.as_str().into()).is_ok_and(|key| key.is_pseudo())
    }
}

/// A case on one variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellView {
    /// One word.
    pub outcome: &'static str,
    /// How it fails, or why it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The worst value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// In how many runs it was seen.
    pub runs: u32,
    /// In how many of them it failed.
    pub failed: u32,
}

/// The verdict on an overlay and all that it rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// The overlay.
    #[serde(rename = "name")]
    pub overlay: OverlayName,
    /// The verdict.
    pub verdict: Verdict,
    /// The verdict in one sentence.
    pub first_line: String,
    /// The cases that the overlay is there for.
    pub attributed: Vec<CellId>,
    /// At the pin: fail without, pass with.
    pub fixed: Vec<CellId>,
    /// At the pin: pass without, fail with.
    pub broken: Vec<CellId>,
    /// At the pin: fail on both sides.
    pub unfixed: Vec<CellId>,
    /// At the pin: fail loudly without and silently with.
    pub silenced: Vec<CellId>,
    /// At the pin: fail silently without and loudly with.
    pub unsilenced: Vec<CellId>,
    /// Why, and what else should be known.
    pub reasons: Vec<Reason>,
    /// Every case on every variant.
    pub cells: Vec<CellRow>,
    /// For each attributed case, how many runs must pass before it is taken to be mended.
    #[serde(skip)]
    pub runs_needed: Vec<(CellId, u32)>,
    /// What could still be run to know more; empty when nothing would help.
    #[serde(skip)]
    pub wants: Vec<Want>,
}

impl Decision {
    /// The first line without what is to be done: what was seen, and no advice.
    #[must_use]
    pub fn seen(&self) -> &str {
        let advice = ["; drop it now", "; drop it", "; a person decides"];
        let without = advice.iter().find_map(|advice| self.first_line.strip_suffix(advice));
        without.unwrap_or(&self.first_line)
    }
}
