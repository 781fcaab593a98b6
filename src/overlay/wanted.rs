//! The tree that a manifest asks for, under a set of features.
//!
//! Decides which overlays are on and what the pin becomes with them. Where the answers come from, git objects or a
//! lock, is the upstream's business.

use std::collections::BTreeSet;
use std::fmt;

use crate::escape::for_terminal;
use crate::id::{Name, OverlayName, UpstreamPath};
use crate::manifest::Manifest;
use crate::plan::Wanted;
use crate::sorted::SortedSet;
use crate::upstream::{self, Upstream, UpstreamError};

use super::{At, Loaded, Refusal, Resolution, fingerprint, resolve};

/// Why there is no tree that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unwanted {
    /// The upstream could not be read.
    Upstream(UpstreamError),
    /// An overlay that is on needs one that is off.
    Needs {
        /// The overlay.
        overlay: OverlayName,
        /// What it needs.
        needs: OverlayName,
    },
    /// Overlays do not fit on the pin.
    Refused(Vec<Refusal>),
    /// A file and a folder would be at one place.
    Overlap {
        /// The path that overlays want.
        path: UpstreamPath,
        /// Their names, comma-separated.
        owners: String,
        /// The path that is there, too.
        other: UpstreamPath,
    },
}

impl Unwanted {
    /// What to do.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Unwanted::Upstream(UpstreamError::NotLocked { .. }) => {
                Some(upstream::NOT_LOCKED.to_owned())
            }
            Unwanted::Upstream(_) => None,
            Unwanted::Needs { .. } => Some(
                "turn its features on, give both the same `when`, or make it the active rival".to_owned(),
            ),
            Unwanted::Refused(refusals) => refusals.first().map(|first| {
                if first.undeclared.is_some() {
                    return "declare the submodule: `overlaid verify` shows the lines to add".to_owned();
                }
                format!(
                    "if `overlaid status {}` says absorbed or redundant, upstream has it by now: remove the overlay. If not, \
                     mend the patch, or the path in it",
                    first.overlay
                )
            }),
            Unwanted::Overlap { .. } => {
                Some("move one of them, or delete the other with an overlay".to_owned())
            }
        }
    }
}

impl fmt::Display for Unwanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unwanted::Upstream(error) => error.fmt(f),
            Unwanted::Needs { overlay, needs } => {
                write!(f, "overlay `{overlay}` needs `{needs}`, which is off")
            }
            Unwanted::Refused(refusals) => {
                let all: Vec<String> = refusals.iter().map(|r| for_terminal(r.to_string())).collect();
                f.write_str(&all.join("; "))
            }
            Unwanted::Overlap { path, owners, other } => write!(
                f,
                "overlay `{owners}` wants a file at {path}, and {other} is there, too: one of them would have to \
                 be a folder"
            ),
        }
    }
}

impl std::error::Error for Unwanted {}

impl From<UpstreamError> for Unwanted {
    fn from(error: UpstreamError) -> Self {
        Unwanted::Upstream(error)
    }
}

/// The pin with all overlays that are on, and what else came out of putting them there (its `changes` are moved
/// into what is wanted).
///
/// # Errors
/// If the upstream cannot be read or the overlays do not fit.
pub fn wanted(
    manifest: &Manifest,
    overlays: &[Loaded],
    features: &BTreeSet<Name>,
    upstream: &dyn Upstream,
) -> Result<(Wanted, Resolution), Unwanted> {
    let pin = manifest.upstream.pin.value;
    let on: Vec<&Loaded> = overlays.iter().filter(|loaded| loaded.overlay.is_on(features)).collect();
    check_needs(&on)?;
    // Reading all of a large tree takes as long as putting many overlays on it, and neither waits for the other.
    let (resolution, listing) = std::thread::scope(|scope| {
        let listing = scope.spawn(|| upstream.listing(pin));
        (resolve(&on, At::Pin(pin), upstream), listing.join())
    });
    let mut resolution = resolution?;
    if !resolution.refused.is_empty() {
        return Err(Unwanted::Refused(resolution.refused));
    }
    let changes = std::mem::take(&mut resolution.changes);
    let wanted = Wanted {
        upstream: manifest.upstream.name.value.clone(),
        commit: pin,
        listing: listing.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?,
        fingerprint: fingerprint(pin, features, &changes),
        owners: resolution.by.clone(),
        changes,
    };
    if let Some((path, other)) = wanted.overlap() {
        return Err(Unwanted::Overlap { path: path.clone(), owners: wanted.owners_of(path), other });
    }
    Ok((wanted, resolution))
}

/// An overlay that is on needs those that it names to be on, too.
pub(crate) fn check_needs(on: &[&Loaded]) -> Result<(), Unwanted> {
    let names: SortedSet<&Name> = on.iter().map(|loaded| loaded.name()).collect();
    for loaded in on {
        let missing = loaded.overlay.needs.iter().find(|need| !names.contains(&need.value));
        if let Some(need) = missing {
            return Err(Unwanted::Needs { overlay: loaded.name().clone(), needs: need.value.clone() });
        }
    }
    Ok(())
}
