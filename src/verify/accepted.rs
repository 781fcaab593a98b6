//! What somebody accepted becomes a note; an acceptance that no longer holds becomes a finding.

use crate::accept::{Acceptance, acceptance};
use crate::diagnostic::Severity;
use crate::manifest::Manifest;
use crate::overlay::Loaded;
use crate::provenance::OverlayReport;

use super::Finding;

/// Findings about a state, which a person may mean. What does not fit or cannot be told is no such thing.
const ACCEPTABLE: [&str; 8] =
    ["rollback", "stale", "collides", "backport", "redundant", "absorbed", "path-gone", "path-renamed"];

/// Takes the findings about an overlay's state, and gives them as they are to be shown.
#[must_use]
pub fn settle(
    manifest: &Manifest,
    loaded: &Loaded,
    report: &OverlayReport,
    mut findings: Vec<Finding>,
) -> Vec<Finding> {
    match acceptance(&loaded.overlay, report, manifest.upstream.pin.value) {
        Acceptance::None => {}
        Acceptance::Holds(reason) => {
            for finding in findings.iter_mut().filter(|f| ACCEPTABLE.contains(&f.diagnostic.code)) {
                finding.diagnostic.severity = Severity::Note;
                finding.diagnostic.notes.push(format!("accepted: {reason}"));
                finding.diagnostic.hint = None;
            }
        }
        Acceptance::Lapsed(why) => {
            let name = loaded.name();
            let message = format!("the state of overlay `{name}` is accepted no more: {why}");
            let mut finding = Finding::warning("accepted-lapsed", message).of(name).hint(format!(
                "look again: overlaid status {name}; then overlaid accept {name} --reason TEXT, or --remove"
            ));
            if let Some(accepted) = &loaded.overlay.accepted {
                finding = finding.at(manifest.place(accepted.pin.span.clone(), "accepted at this pin"));
            }
            findings.push(finding);
        }
    }
    findings
}
