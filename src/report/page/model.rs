//! What the page shows: values that were found out elsewhere.

use crate::evidence::Machine;
use crate::evidence::attested::Attestation;
use crate::evidence::bisected::Bisected;
use crate::id::OverlayName;
use crate::lex::Delta;
use crate::overlay::diff::{Marked, What};
use crate::provenance::OverlayReport;
use crate::report::hand::{Ground, Hand};
use crate::report::picture::{self, Bound, Grid};
use crate::verdict::group::Together;
use crate::verdict::{CellRow, CellView, Decision, Verdict};

use super::variants::by_test;

/// A page.
#[derive(Debug)]
pub struct Page {
    /// The version of this program.
    pub version: String,
    /// When it was made, as text, in UTC.
    pub made: String,
    /// The upstreams.
    pub upstreams: Vec<UpstreamPart>,
}

/// An upstream and what is carried on it.
#[derive(Debug)]
pub struct UpstreamPart {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub url: String,
    /// The pin, in full.
    pub pin: String,
    /// Overlays that can go one by one, and whether they can go at once.
    pub together: Vec<TogetherPart>,
    /// The overlays.
    pub overlays: Vec<OverlayPart>,
}

/// An overlay.
#[derive(Debug)]
pub struct OverlayPart {
    /// What it is, measured against history.
    pub report: OverlayReport,
    /// Why it is carried.
    pub reason: Option<String>,
    /// The commit that it was derived from.
    pub base: Option<String>,
    /// Why it is taken out, if it is: `stands back`, `when cuda`.
    pub activity: String,
    /// What it changes of its base: `code +3 -1`.
    pub change: String,
    /// Names and addresses.
    pub links: Vec<(String, String)>,
    /// The linked tests.
    pub tests: Vec<String>,
    /// Whether its state is meant, and why.
    pub accepted: Option<String>,
    /// What people report of runs that cannot be made here.
    pub reported: Vec<Attestation>,
    /// What searches over the upstream's history came to.
    pub bisected: Vec<Bisected>,
    /// Its own change, path by path; `Err`: it cannot be told, and why.
    pub delta: Result<Vec<PathDelta>, String>,
    /// What evidence says, profile by profile.
    pub proofs: Vec<ProofPart>,
}

/// The change of a path.
#[derive(Debug)]
pub struct PathDelta {
    /// The path.
    pub path: String,
    /// `code`, `comments`, ..., `unknown`.
    pub word: String,
    /// The lines of the diff.
    pub lines: Vec<(LineKind, Vec<u8>)>,
}

/// What a line of a diff is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// `@@ ...`
    Hunk,
    /// On both sides.
    Context,
    /// A line with code that was added.
    Added,
    /// A line with code that was removed.
    Removed,
    /// Added, and only comments or white space.
    AddedComment,
    /// Removed, and only comments or white space.
    RemovedComment,
}

/// What evidence says under a profile.
#[derive(Debug)]
pub struct ProofPart {
    /// The profile.
    pub profile: Option<String>,
    /// What was decided from evidence that holds here.
    pub decision: Decision,
    /// When the newest of its runs was made, as text.
    pub measured: Option<String>,
    /// Whether nobody checked if the records hold on this machine: they are of another time or another one.
    pub is_on_file: bool,
    /// The last verdict that was noted, whether or not its evidence holds here, and when: `needed`, `2 d ago`.
    pub noted: Option<Noted>,
    /// Where the fault was seen, if that is not the pin.
    pub witness: Option<String>,
    /// The command that proves it.
    pub prove: String,
    /// The machine that measured it; where nothing was measured, the one that evidence is looked for.
    pub machine: Machine,
    /// What built the tests.
    pub toolchains: Vec<String>,
    /// The bound of each test.
    pub bounds: Vec<(String, Bound)>,
}

/// A verdict of an earlier time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    /// The word.
    pub verdict: String,
    /// When, as text: `2026-11-30 09:05 UTC, 2 d ago`.
    pub when: String,
    /// Whether it was about the same pin and the same content.
    pub holds: bool,
}

/// Several overlays that can go one by one, under a profile.
#[derive(Debug)]
pub struct TogetherPart {
    /// The profile.
    pub profile: Option<String>,
    /// The overlays.
    pub overlays: Vec<OverlayName>,
    /// Whether they can go at once.
    pub answer: Together,
    /// The command that drops them.
    pub drop: String,
    /// The command that proves it.
    pub prove: String,
}

/// What the verdict on the page stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing<'p> {
    /// Evidence that is at hand.
    Decided,
    /// The last proof, of the same pin and the same content; what it measured is not all at hand.
    Noted(&'p Noted),
    /// Nothing yet.
    Open,
}

impl ProofPart {
    /// What its verdict stands on. All of the page goes by this one answer.
    #[must_use]
    pub fn standing(&self) -> Standing<'_> {
        match (self.decision.verdict, &self.noted) {
            (Verdict::Inconclusive, Some(noted)) if noted.holds => Standing::Noted(noted),
            (Verdict::Inconclusive, _) => Standing::Open,
            _ => Standing::Decided,
        }
    }

    /// The verdict.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.standing() {
            Standing::Noted(noted) => verdict_word(&noted.verdict),
            Standing::Decided | Standing::Open => self.decision.verdict.as_str(),
        }
    }

    /// Whether anything of it was run.
    #[must_use]
    pub fn was_run(&self) -> bool {
        let views = |row: &CellRow| {
            let witness = row.witness_without.iter().chain(&row.witness_with);
            witness.chain([&row.pin_without, &row.pin_with]).any(|view| !is_unrun(view))
        };
        self.decision.cells.iter().any(views)
    }

    /// Whether it was run at the witness. Where the pin decides, it is not.
    #[must_use]
    pub fn asks_witness(&self) -> bool {
        let asked =
            |row: &CellRow| row.witness_without.iter().chain(&row.witness_with).any(|view| !is_unrun(view));
        self.decision.cells.iter().any(asked)
    }

    /// Whether one side was run and nothing is on record of building the other.
    #[must_use]
    pub fn lacks_a_build(&self) -> bool {
        self.decision.verdict == Verdict::Inconclusive
            && self.decision.cells.iter().any(|row| is_unrun(&row.pin_without) != is_unrun(&row.pin_with))
    }

    /// The grids of all tests, for pictures.
    #[must_use]
    pub fn grids(&self) -> Vec<Grid> {
        by_test(&self.decision).into_iter().flat_map(|(test, rows)| self.grids_of(test, &rows)).collect()
    }

    /// The grids of a test that are more than one case.
    #[must_use]
    pub fn grids_of(&self, test: &str, rows: &[&CellRow]) -> Vec<Grid> {
        let bound = self.bounds.iter().find(|(name, _)| name == test);
        let bound = bound.map_or_else(Bound::default, |(_, bound)| bound.clone());
        let mut grids = picture::grids(test, rows, &bound);
        grids.retain(|grid| grid.columns.len() > 1);
        grids
    }
}

impl PathDelta {
    /// From a marked diff. The lines above the first hunk are left out, since the path says it.
    #[must_use]
    pub fn new(path: String, word: String, marked: &Marked) -> Self {
        use crate::overlay::diff::Mark;
        let kind = |mark: &Mark| match mark {
            Mark::Head => None,
            Mark::Hunk { .. } => Some(LineKind::Hunk),
            Mark::Context => Some(LineKind::Context),
            Mark::Added(What::Code) => Some(LineKind::Added),
            Mark::Added(What::Comments) => Some(LineKind::AddedComment),
            Mark::Removed(What::Code) => Some(LineKind::Removed),
            Mark::Removed(What::Comments) => Some(LineKind::RemovedComment),
        };
        let lines = marked.lines.iter();
        let lines = lines.filter_map(|(mark, line)| Some((kind(mark)?, line.trim_ascii_end().to_vec())));
        Self { path, word, lines: lines.collect() }
    }
}

impl OverlayPart {
    /// The verdicts with their profiles: decided ones, else noted ones that still hold.
    #[must_use]
    pub fn verdicts(&self) -> Vec<(&ProofPart, &str)> {
        self.proofs.iter().map(|proof| (proof, proof.word())).collect()
    }

    /// What somebody reports against a verdict.
    #[must_use]
    pub fn contradiction(&self) -> Option<String> {
        let verdicts = || self.proofs.iter().map(|proof| proof.decision.verdict);
        self.reported.iter().find_map(|report| {
            let verdict = verdicts().find(|verdict| report.contradicts(*verdict))?;
            Some(report.reason(verdict).text)
        })
    }

    /// What there is to do, and why, in one sentence.
    #[must_use]
    pub fn to_do(&self) -> (Hand, String) {
        let verdicts = self.verdicts();
        let differs = verdicts.windows(2).any(|pair| pair[0].1 != pair[1].1);
        let of_verdict = verdicts.into_iter().map(|(proof, word)| {
            let why = match proof.standing() {
                Standing::Noted(noted) => {
                    format!("{word}: so the last proof said ({}); {NOT_AT_HAND}", noted.when)
                }
                Standing::Open if !proof.was_run() => format!("{word}: nothing is on record here"),
                Standing::Decided | Standing::Open => proof.decision.first_line.clone(),
            };
            let on = proof.profile.as_ref().filter(|_| differs);
            let why = on.map(|profile| format!("on {profile}: {why}")).unwrap_or(why);
            (Hand::of_verdict(word), why)
        });
        let verdict = of_verdict.min_by_key(|(hand, _)| *hand);
        if let Some(why) = self.contradiction() {
            return (Hand::Decide, why);
        }
        let why = self.report.paths.iter().find(|path| path.state == self.report.state);
        let why = why.map(|path| path.why.clone()).or_else(|| self.report.why.clone()).unwrap_or_default();
        let of_state = Hand::of_state(&self.report, self.accepted.is_some());
        match (Hand::of(verdict.as_ref().map(|(hand, _)| *hand), of_state), verdict) {
            ((hand, Some(Ground::Verdict)), Some((_, why))) => (hand, why),
            ((hand, _), _) => (hand, format!("{}: {why}", self.report.state)),
        }
    }

    /// The worst change of its paths.
    #[must_use]
    pub fn delta_word(&self) -> Option<Delta> {
        self.report.paths.iter().map(|path| path.delta).collect::<Option<Vec<_>>>()?.into_iter().max()
    }
}

/// Why a verdict is the last proof's.
pub(super) const NOT_AT_HAND: &str = "not all that it measured is at hand here";

fn is_unrun(view: &CellView) -> bool {
    matches!(view.outcome, "not run" | "missing")
}

/// One of our words, or `inconclusive`.
fn verdict_word(text: &str) -> &'static str {
    Verdict::ALL.into_iter().map(Verdict::as_str).find(|word| *word == text).unwrap_or("inconclusive")
}

/// A commit's address, where the upstream's is one whose scheme is known.
#[must_use]
pub fn commit_address(url: &str, commit: &str) -> Option<String> {
    let url = url.strip_suffix(".git").unwrap_or(url).trim_end_matches('/');
    let is_known = url.starts_with("https://github.com/") || url.starts_with("https://gitlab.com/");
    is_known.then(|| format!("{url}/commit/{commit}"))
}
