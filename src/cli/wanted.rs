//! The tree that a manifest asks for, under a set of features; what does not fit becomes a failure.

use std::collections::BTreeSet;

use crate::id::Name;
use crate::io::store::Store;
use crate::io::workspace::Workspace;
use crate::overlay::{self, Loaded, Resolution, Unwanted};
use crate::plan::Wanted;
use crate::provenance::{OverlayReport, State};

use super::status::inspect_all;
use super::{Failure, FailureKind};

/// Whether upstream has all of an overlay: as it is, or among more.
pub fn upstream_has_all(report: &OverlayReport) -> bool {
    matches!(report.state, State::Absorbed | State::Redundant)
}

/// The pin with all overlays that are on, and what else came out of putting them there.
///
/// # Errors
/// If the upstream cannot be read or an overlay does not fit.
pub fn wanted(
    workspace: &Workspace,
    features: &BTreeSet<Name>,
    store: &Store,
) -> Result<(Wanted, Resolution), Failure> {
    overlay::wanted(&workspace.manifest, &workspace.overlays, features, store).map_err(|unwanted| {
        let first = match &unwanted {
            Unwanted::Refused(refusals) => refusals.first().map(|refusal| refusal.overlay.clone()),
            _ => None,
        };
        let refused: Vec<&Loaded> =
            workspace.overlays.iter().filter(|loaded| first.as_ref() == Some(loaded.name())).collect();
        let failure = Failure::from(unwanted);
        let reports = inspect_all(workspace, &refused, store);
        match reports.first().filter(|report| upstream_has_all(report)) {
            Some(report) => failure.with_hint(format!(
                "upstream has all of `{}` by now: the overlay can go. Remove its table from {}",
                report.name,
                workspace.manifest.file.display()
            )),
            None => failure,
        }
    })
}

impl From<Unwanted> for Failure {
    fn from(unwanted: Unwanted) -> Self {
        let hint = unwanted.hint();
        let failure = match unwanted {
            Unwanted::Upstream(error) => return error.into(),
            Unwanted::Needs { .. } | Unwanted::Overlap { .. } => Failure::input(unwanted.to_string()),
            Unwanted::Refused(refusals) => {
                let mut all = refusals.iter().map(|refusal| crate::escape::for_terminal(refusal.to_string()));
                let first = all.next().unwrap_or_default();
                Failure { causes: all.collect(), ..Failure::new(FailureKind::NeedsPerson, first) }
            }
        };
        Failure { hint, ..failure }
    }
}
