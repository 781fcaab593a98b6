//! The lock file against the manifest, the overlay files and the pin.

use std::path::Path;

use crate::lock::Stale;
use crate::manifest::Manifest;

use super::Finding;

const AGAIN: &str = "write it anew: overlaid lock";

/// There is no lock, and one is wanted.
#[must_use]
pub fn missing(file: &Path, why: &str) -> Finding {
    Finding::error("lock-missing", format!("there is no lock file `{}`", file.display()))
        .note(why)
        .hint("write it: overlaid lock")
}

/// The manifest or its overlays moved on since the lock was written.
#[must_use]
pub fn stale(manifest: &Manifest, file: &Path, all: &[Stale]) -> Vec<Finding> {
    let describe = |stale: &Stale| {
        let finding = Finding::error("lock-stale", format!("`{}` is stale: {stale}", file.display()));
        let (span, label) = match stale {
            Stale::Upstream { .. } => (Some(manifest.upstream.name.span.clone()), "the upstream"),
            Stale::Pin { .. } => (Some(manifest.upstream.pin.span.clone()), "the pin"),
            Stale::Submodule { path, .. } => {
                let declared = manifest.upstream.submodules.iter().find(|module| module.path.value == *path);
                (declared.map(|module| module.path.span.clone()), "declared here")
            }
            Stale::Added { overlay } | Stale::Changed { overlay, .. } => {
                (manifest.overlay(overlay.as_str()).map(|overlay| overlay.name.span.clone()), "this overlay")
            }
            Stale::Removed { .. } | Stale::Order => (None, ""),
        };
        let finding = match span {
            Some(span) => finding.at(manifest.place(span, label)),
            None => finding,
        };
        match stale.overlay() {
            Some(overlay) => finding.of(overlay),
            None => finding,
        }
        .hint(AGAIN)
    };
    all.iter().map(describe).collect()
}

/// The lock is about what the manifest says, and says something else than it should.
#[must_use]
pub fn edited(difference: &str) -> Finding {
    Finding::error("lock-edited", difference)
        .note("nothing that it was made from changed: it was edited, merged, or written by another version")
        .hint(AGAIN)
}

/// A vendored content that is not there or has other bytes.
#[must_use]
pub fn vendored(difference: &str) -> Finding {
    Finding::error("vendored-differs", difference).hint("write it anew: overlaid lock --vendor")
}

/// A vendored content that nobody needs.
#[must_use]
pub fn extra(difference: &str) -> Finding {
    Finding::warning("vendored-extra", difference).hint("remove it: overlaid lock")
}
