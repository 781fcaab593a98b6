//! From variants to what can be measured: the files of a variant, and how it is called.
//!
//! Decides nothing about overlays: `variant` says which variants there are. Reads the upstream's objects, and each of
//! them once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::evidence::VariantNote;
use crate::id::{CommitId, Name, OverlayName, UpstreamPath};
use crate::io::workspace::Workspace;
use crate::manifest::Witness;
use crate::overlay::{At, Loaded, Resolution, content_at, diff, resolve};
use crate::tree::{Changes, Listing};
use crate::upstream::{Upstream, UpstreamError};
use crate::variant::Variant;
use crate::verdict::Obstacle;

use super::faulty::Faulty;
use super::measure::Subject;
use super::sources::Sources;

/// The variants of a workspace, each resolved once.
pub struct Subjects<'a> {
    workspace: &'a Workspace,
    features: &'a BTreeSet<Name>,
    upstream: &'a dyn Upstream,
    listings: BTreeMap<CommitId, Arc<Listing>>,
    known: BTreeMap<Variant, Result<Subject, Obstacle>>,
}

impl<'a> Subjects<'a> {
    /// None is resolved yet.
    #[must_use]
    pub fn new(workspace: &'a Workspace, features: &'a BTreeSet<Name>, upstream: &'a dyn Upstream) -> Self {
        Self { workspace, features, upstream, listings: BTreeMap::new(), known: BTreeMap::new() }
    }

    /// A variant that can be measured, or what is in the way.
    ///
    /// # Errors
    /// If an overlay does not fit there, or objects of the upstream are missing.
    pub fn get(&mut self, variant: &Variant) -> Result<Subject, Obstacle> {
        if let Some(known) = self.known.get(variant) {
            return known.clone();
        }
        let subject = self.resolve(variant);
        self.known.insert(variant.clone(), subject.clone());
        subject
    }

    fn resolve(&mut self, variant: &Variant) -> Result<Subject, Obstacle> {
        let upstream = |error: UpstreamError| Obstacle::Upstream(error.to_string());
        let listing = self.listing(variant.commit)?;
        let overlays: Vec<&Loaded> = self
            .workspace
            .overlays
            .iter()
            .filter(|loaded| variant.overlays.contains(loaded.name()))
            .collect();
        let fault = match &variant.fault {
            None => Changes::new(),
            Some(_) => self.fault(variant)?,
        };
        let at = if variant.at_pin { At::Pin(variant.commit) } else { At::Other(variant.commit) };
        let faulty = Faulty { inner: self.upstream, commit: variant.commit, fault: &fault };
        let Resolution { changes, by, refused, .. } = resolve(&overlays, at, &faulty).map_err(upstream)?;
        let label = self.label(variant);
        if !refused.is_empty() {
            let refused: Vec<String> = refused.iter().map(ToString::to_string).collect();
            return Err(Obstacle::Conflict(format!("{label}: {}", refused.join("; "))));
        }
        let mut all = fault;
        all.extend(changes);
        let sources = Sources::new(variant.commit, listing, all, by);
        let note = VariantNote {
            commit: variant.commit,
            overlays: variant.overlays.clone(),
            fault: variant.fault.as_ref().map(|fault| fault.display().to_string()),
            tree: Some(sources.whole().to_owned()),
        };
        Ok(Subject { label, sources, note })
    }

    pub(super) fn listing(&mut self, commit: CommitId) -> Result<Arc<Listing>, Obstacle> {
        if let Some(listing) = self.listings.get(&commit) {
            return Ok(Arc::clone(listing));
        }
        let listing = self.upstream.listing(commit).map_err(|error| Obstacle::Upstream(error.to_string()))?;
        let listing = Arc::new(listing);
        self.listings.insert(commit, Arc::clone(&listing));
        Ok(listing)
    }

    /// What the patch that plants a fault makes of the pin.
    fn fault(&self, variant: &Variant) -> Result<Changes, Obstacle> {
        let name = variant.fault.as_ref().map(|fault| fault.display().to_string()).unwrap_or_default();
        let patch = self.workspace.overlays.iter().find_map(|loaded| {
            let witness = loaded.overlay.witness.as_ref().map(|witness| &witness.value);
            let is_it = matches!(witness, Some(Witness::Patch(file)) if Some(file) == variant.fault.as_ref());
            loaded.witness_patch.as_ref().filter(|_| is_it)
        });
        let patch = patch.ok_or_else(|| Obstacle::Environment(format!("the patch `{name}` was not read")))?;
        let at = |path: &UpstreamPath| content_at(self.upstream, variant.commit, path);
        match diff::apply(patch, &at).map_err(|error| Obstacle::Upstream(error.to_string()))? {
            diff::Applied::Applied { changes, .. } => Ok(changes),
            diff::Applied::Refused(rejections) => {
                let why: Vec<String> =
                    rejections.iter().map(|r| format!("line {}: {}", r.patch_line, r.why)).collect();
                Err(Obstacle::Conflict(format!("`{name}` does not apply to the pin: {}", why.join("; "))))
            }
        }
    }

    /// How a variant is called.
    #[must_use]
    pub fn label(&self, variant: &Variant) -> String {
        let list =
            |names: &[&OverlayName]| names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        let manifest = &self.workspace.manifest;
        let on: Vec<&OverlayName> =
            manifest.overlays.iter().filter(|o| o.is_on(self.features)).map(|o| &o.name.value).collect();
        let fault = variant.fault.as_ref().map(|fault| format!(" and {}", fault.display()));
        let fault = fault.unwrap_or_default();
        if variant.at_pin {
            let missing: Vec<&OverlayName> =
                on.iter().copied().filter(|o| !variant.overlays.contains(o)).collect();
            let added: Vec<&OverlayName> = variant.overlays.iter().filter(|o| !on.contains(o)).collect();
            let mut label = format!("pin{fault}");
            if variant.overlays.is_empty() && on.len() > 3 {
                return format!("{label} without overlays");
            }
            if !missing.is_empty() {
                label.push_str(&format!(" without {}", list(&missing)));
            }
            if !added.is_empty() {
                label.push_str(&format!(" with {}", list(&added)));
            }
            return label;
        }
        match variant.overlays.iter().collect::<Vec<_>>().as_slice() {
            [] => format!("{}{fault}", variant.commit.short()),
            names => format!("{}{fault} with {}", variant.commit.short(), list(names)),
        }
    }
}
