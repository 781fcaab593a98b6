//! A state that is meant: somebody looked at it and said why it stays.
//!
//! Bound to the pin and to what was looked at, so that it lapses by itself when the pin moves, or the overlay's or
//! upstream's content changes. Decides whether an acceptance holds; never whether it is wise.

use crate::canonical_json;
use crate::id::CommitId;
use crate::manifest::{Kind, Overlay};
use crate::provenance::{OverlayReport, State, name_of};

/// Whether the state of an overlay is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acceptance {
    /// Nobody accepted it.
    None,
    /// It is meant, for this reason.
    Holds(String),
    /// It was, until something changed: what.
    Lapsed(String),
}

/// Whether what the manifest accepts is what is there.
#[must_use]
pub fn acceptance(overlay: &Overlay, report: &OverlayReport, pin: CommitId) -> Acceptance {
    let Some(accepted) = &overlay.accepted else { return Acceptance::None };
    if accepted.pin.value != pin {
        let since = accepted.pin.value.short();
        return Acceptance::Lapsed(format!("it was accepted at the pin {since}, which has moved"));
    }
    if accepted.content.value != content(report) {
        return Acceptance::Lapsed(
            "the overlay's or upstream's content, or a mode, has changed since".to_owned(),
        );
    }
    Acceptance::Holds(accepted.reason.value.clone())
}

/// A hash of what the overlay gives its paths and of what upstream has there at the pin, modes included.
#[must_use]
pub fn content(report: &OverlayReport) -> String {
    let lines = report
        .paths
        .iter()
        .map(|path| serde_json::json!([path.path, name_of(path.blobs.overlay), name_of(path.blobs.pin)]));
    canonical_json::digest(&serde_json::Value::Array(lines.collect()))
}

/// Why a state cannot be accepted; `None` if it can.
#[must_use]
pub fn refusal(overlay: &Overlay, report: &OverlayReport) -> Option<String> {
    let name = &overlay.name.value;
    if report.state == State::Unknown {
        return Some(format!("what overlay `{name}` is cannot be told, so it cannot be accepted"));
    }
    let is_whole = matches!(overlay.kind, Kind::Files(_) | Kind::HeldBack { .. } | Kind::Delete(_));
    if !is_whole && report.paths.iter().any(|path| path.state == State::StaleConflict) {
        return Some(format!("overlay `{name}` does not apply at the pin; that cannot be accepted"));
    }
    let is_well = |state: State| matches!(state, State::Fresh | State::New);
    let has_note =
        |code: &str| report.paths.iter().flat_map(|path| &path.notes).any(|note| note.code() == code);
    if report.paths.iter().all(|path| is_well(path.state)) && !has_note("resurrects") {
        return Some(format!("overlay `{name}` is {}: there is nothing to accept", report.state));
    }
    None
}
