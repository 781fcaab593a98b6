//! What a person reports of a run that this program cannot make: a model on somebody's machine.
//!
//! Decides what a report speaks for (one pin) and whether it contradicts what was measured. It is never taken for a
//! measurement: it carries the name of who said it, and settles nothing where the two disagree.

use serde::{Deserialize, Serialize};

use crate::id::{CommitId, OverlayName};
use crate::verdict::{Reason, Verdict};

/// The format of a report on disk.
pub const SCHEMA: &str = "overlaid.attested.v1";

/// What came of the run without the overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Reported {
    /// It passes without the overlay.
    Pass,
    /// It fails without the overlay.
    Fail,
}

/// What somebody reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Attestation {
    /// [`SCHEMA`].
    pub schema: String,
    /// What was run, as `drop-when` names it.
    pub attested: String,
    /// The overlays that it was run without.
    pub overlays: Vec<OverlayName>,
    /// The pin that it was run on.
    pub pin: CommitId,
    /// What came of it.
    pub result: Reported,
    /// Who says so.
    pub by: String,
    /// What else they say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// When it was noted, in seconds since 1970.
    pub recorded: i64,
}

impl Attestation {
    /// The report in words, with who made it: `ada reports that deepseek-v2-lite passes without it at 92398b7907`.
    #[must_use]
    pub fn text(&self) -> String {
        let does = match self.result {
            Reported::Pass => "passes",
            Reported::Fail => "fails",
        };
        let mut text =
            format!("{} reports that {} {does} without it at {}", self.by, self.attested, self.pin.short());
        if !self.note.is_empty() {
            text.push_str(&format!(": {}", self.note));
        }
        text
    }

    /// Whether a verdict says otherwise.
    #[must_use]
    pub fn contradicts(&self, measured: Verdict) -> bool {
        match self.result {
            Reported::Pass => measured == Verdict::Needed,
            Reported::Fail => matches!(measured, Verdict::Droppable | Verdict::Harmful | Verdict::Redundant),
        }
    }

    /// What a reader of the verdict should know.
    #[must_use]
    pub fn reason(&self, measured: Verdict) -> Reason {
        let text = self.text();
        match self.contradicts(measured) {
            true => {
                let text = format!("{text}. What was measured says otherwise: a person decides");
                Reason { code: "attested-otherwise", text }
            }
            false => Reason { code: "attested", text },
        }
    }
}

/// The newest report of each thing that was run without an overlay, at this pin.
#[must_use]
pub fn of<'a>(all: &'a [Attestation], overlay: &str, pin: CommitId) -> Vec<&'a Attestation> {
    let mut newest: Vec<&Attestation> = Vec::new();
    let own = |report: &&Attestation| {
        report.pin == pin && report.overlays.iter().any(|name| name.as_str() == overlay)
    };
    for report in all.iter().filter(own) {
        match newest.iter_mut().find(|known| known.attested == report.attested) {
            Some(known) if known.recorded <= report.recorded => *known = report,
            Some(_) => {}
            None => newest.push(report),
        }
    }
    newest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(result: Reported, recorded: i64) -> Attestation {
        Attestation {
            schema: SCHEMA.into(),
            attested: "a-model".into(),
            overlays: vec![OverlayName::parse("fix").unwrap()],
            pin: CommitId::from_bytes([1; 20]),
            result,
            by: "Ada".into(),
            note: String::new(),
            recorded,
        }
    }

    #[test]
    fn only_a_pass_against_needed_and_a_fail_against_a_drop_contradict() {
        use Verdict::{Droppable, Harmful, Inconclusive, Ineffective, Mixed, Needed, Redundant, Unproven};
        let (pass, fail) = (report(Reported::Pass, 1), report(Reported::Fail, 1));
        for verdict in [Needed, Harmful, Mixed, Ineffective, Droppable, Unproven, Redundant, Inconclusive] {
            assert_eq!(pass.contradicts(verdict), verdict == Needed, "{verdict}");
            assert_eq!(
                fail.contradicts(verdict),
                [Harmful, Droppable, Redundant].contains(&verdict),
                "{verdict}"
            );
        }
    }

    #[test]
    fn the_newest_of_this_pin_counts() {
        let all = [report(Reported::Fail, 2), report(Reported::Pass, 1)];
        let found = of(&all, "fix", CommitId::from_bytes([1; 20]));
        assert_eq!(found.iter().map(|report| report.result).collect::<Vec<_>>(), [Reported::Fail]);
        assert!(of(&all, "fix", CommitId::from_bytes([2; 20])).is_empty());
        assert!(of(&all, "other", CommitId::from_bytes([1; 20])).is_empty());
    }
}
