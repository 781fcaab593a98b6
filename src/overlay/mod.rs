//! Overlays: where their content comes from, and what becomes of a path.
//!
//! Decides what a set of overlays makes of a commit's tree. Never decides whether that is a good idea:
//! `provenance` does.

#[cfg(feature = "git")]
pub mod beside;
pub mod diff;
mod fingerprint;
mod resolve;
mod rules;
mod wanted;
mod watched;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::id::{BlobId, OverlayName, UpstreamPath};
use crate::manifest::{Kind, Overlay, Witness};
use crate::tree::Content;

pub use fingerprint::{fingerprint, fingerprint_of_entries};
#[cfg(feature = "git")]
#[cfg(feature = "git")]
pub use resolve::{Apart, Misfit, resolve_apart};
pub use resolve::{At, MadeMerge, Refusal, Resolution, content_at, resolve};
pub use rules::{Clash, can_be_on_together, clashes};
#[cfg(feature = "git")]
pub(crate) use wanted::check_needs;
pub use wanted::{Unwanted, wanted};
pub use watched::{Watched, watched};

/// An overlay of the manifest with the files of ours that hold its content.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// What the manifest says.
    pub overlay: Overlay,
    /// Of kind `files`: the content of each path.
    pub files: BTreeMap<UpstreamPath, Content>,
    /// Of kind `patch`: the patch.
    pub patch: Option<diff::Patch>,
    /// The patch that plants the fault, if the witness is one.
    pub witness_patch: Option<diff::Patch>,
    /// The files of ours that hold it, relative to the repository, and their content's ids.
    pub own: Vec<OwnFile>,
}

/// A file of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnFile {
    /// Where it is, relative to the repository.
    pub file: PathBuf,
    /// Its content.
    pub id: BlobId,
}

impl Loaded {
    /// The overlay's name.
    #[must_use]
    pub fn name(&self) -> &OverlayName {
        &self.overlay.name.value
    }

    /// The paths whose whole content the overlay names; empty for patches and cherry-picks.
    pub fn whole_paths(&self) -> Box<dyn Iterator<Item = &UpstreamPath> + '_> {
        match &self.overlay.kind {
            Kind::Files(_) => Box::new(self.files.keys()),
            Kind::HeldBack { paths, .. } | Kind::Delete(paths) => {
                Box::new(paths.iter().map(|path| &path.value))
            }
            Kind::Patch(_) | Kind::Commits { .. } => Box::new(std::iter::empty()),
        }
    }

    /// Whether the witness of this overlay is a patch that plants the fault.
    #[must_use]
    pub fn has_witness_patch(&self) -> bool {
        matches!(self.overlay.witness.as_ref().map(|w| &w.value), Some(Witness::Patch(_)))
    }
}
