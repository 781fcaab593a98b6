//! Whether an overlay's `drop-when` holds: by history, by the last verdict, or by what somebody reports.

use std::path::Path;

use serde_json::{Value, json};

use crate::evidence::attested::{self, Attestation, Reported};
use crate::id::CommitId;
use crate::io;
use crate::io::verdicts::{self, Verdicts};
use crate::manifest::DropWhen;
use crate::provenance::{Condition, OverlayReport};
use crate::verdict::Verdict;

/// What is noted of earlier proofs, and what people have reported.
pub struct Known {
    /// The last verdicts.
    pub verdicts: Verdicts,
    attested: Vec<Attestation>,
}

impl Known {
    /// Reads it from the folder of reports and evidence.
    #[must_use]
    pub fn load(docs: &Path, upstream: &str) -> Self {
        let verdicts = verdicts::load(&verdicts::file(docs, upstream));
        // A file that cannot be read counts for nothing; `prove` says which.
        let (attested, _) = io::attested::load(&io::attested::folder(docs, upstream));
        Self { verdicts, attested }
    }

    /// Whether somebody reports otherwise than a verdict says.
    #[must_use]
    pub fn contradicts(&self, overlay: &str, verdict: &str, pin: CommitId) -> bool {
        let verdict = Verdict::ALL.into_iter().find(|known| known.as_str() == verdict);
        let reports = attested::of(&self.attested, overlay, pin);
        verdict.is_some_and(|verdict| reports.into_iter().any(|report| report.contradicts(verdict)))
    }

    /// The newest report of what an overlay waits for, at the pin.
    fn report(&self, overlay: &str, what: &str, pin: CommitId) -> Option<&Attestation> {
        attested::of(&self.attested, overlay, pin).into_iter().find(|report| report.attested == what)
    }
}

/// Whether it holds; `None`: nobody has found out yet.
fn is_met(
    when: &DropWhen,
    report: &OverlayReport,
    known: &Known,
    pin: CommitId,
) -> Result<Option<bool>, String> {
    match when {
        DropWhen::PinContains(_) => match &report.drop_when {
            Some(Condition::Met) => Ok(Some(true)),
            Some(Condition::NotMet) => Ok(Some(false)),
            Some(Condition::Unknown(why)) => Err(why.clone()),
            None => Ok(None),
        },
        DropWhen::TestsPassWithout => {
            let last = known.verdicts.last(report.name.as_str(), None);
            let holds = last.filter(|(_, noted)| noted.content == report.content_digest(pin));
            Ok(holds.and_then(|(_, noted)| match noted.verdict.as_str() {
                "droppable" | "redundant" => Some(true),
                "needed" | "mixed" => Some(false),
                _ => None,
            }))
        }
        DropWhen::Attested(what) => {
            let reported = known.report(report.name.as_str(), what, pin);
            Ok(reported.map(|reported| reported.result == Reported::Pass))
        }
    }
}

/// The condition in words.
#[must_use]
pub fn text(when: &DropWhen, report: &OverlayReport, known: &Known, pin: CommitId) -> String {
    match (when, is_met(when, report, known, pin)) {
        (DropWhen::PinContains(commit), Ok(Some(true))) => {
            format!("it can go: the pin contains {}", commit.short())
        }
        (DropWhen::PinContains(commit), Ok(_)) => {
            format!("it stays until the pin contains {}", commit.short())
        }
        (DropWhen::PinContains(commit), Err(why)) => {
            format!("whether the pin contains {} cannot be told: {why}", commit.short())
        }
        (DropWhen::TestsPassWithout, Ok(Some(true))) => "it can go: its tests pass without it".to_owned(),
        (DropWhen::TestsPassWithout, Ok(Some(false))) => "it stays: its tests need it".to_owned(),
        (DropWhen::TestsPassWithout, _) => {
            format!("it stays until its tests pass without it: overlaid prove {}", report.name)
        }
        (DropWhen::Attested(what), met) => match known.report(report.name.as_str(), what, pin) {
            Some(reported) => {
                let can = if met == Ok(Some(true)) { "it can go" } else { "it stays" };
                format!("{can}: {}", reported.text())
            }
            None => format!("it stays until somebody attests {what}"),
        },
    }
}

/// The condition for `--json`.
#[must_use]
pub fn to_json(when: &DropWhen, report: &OverlayReport, known: &Known, pin: CommitId) -> Value {
    let met = is_met(when, report, known, pin);
    let (kind, what) = match when {
        DropWhen::PinContains(commit) => ("pin-contains", json!(commit)),
        DropWhen::TestsPassWithout => ("tests-pass-without", json!(true)),
        DropWhen::Attested(what) => ("attested", json!(what)),
    };
    let by = match when {
        DropWhen::Attested(what) => known.report(report.name.as_str(), what, pin).map(|report| &report.by),
        _ => None,
    };
    json!({ kind: what, "met": met.as_ref().ok().copied().flatten(), "why": met.err(), "by": by })
}
