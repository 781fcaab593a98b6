//! The tree that a manifest asks for, under a set of features; what does not fit becomes a failure.

use std::collections::BTreeSet;

use crate::id::Name;
use crate::io::workspace::Workspace;
use crate::overlay::{self, Resolution, Unwanted};
use crate::plan::Wanted;
use crate::upstream::Upstream;

use super::{Failure, FailureKind};

/// The pin with all overlays that are on, and what else came out of putting them there.
///
/// # Errors
/// If the upstream cannot be read or an overlay does not fit.
pub fn wanted(
    workspace: &Workspace,
    features: &BTreeSet<Name>,
    upstream: &dyn Upstream,
) -> Result<(Wanted, Resolution), Failure> {
    Ok(overlay::wanted(&workspace.manifest, &workspace.overlays, features, upstream)?)
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
