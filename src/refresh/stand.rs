//! What an overlay stands on when somebody edits it.
//!
//! Decides which overlays are on: all that go on before it, under the features that are on. Those that come later are
//! off, so that a change of this overlay cannot be mixed up with one of theirs.

use std::collections::BTreeSet;

use crate::id::{CommitId, Name, OverlayName, UpstreamPath};
use crate::manifest::Manifest;
use crate::overlay::{At, Loaded, Resolution, can_be_on_together, content_at, fingerprint, resolve};
use crate::provenance::needs_of;
use crate::tree::{Changes, Content};
use crate::upstream::{Upstream, UpstreamError};

/// An overlay and what is below it.
#[derive(Debug)]
pub struct Stand<'a> {
    /// The pin.
    pub pin: CommitId,
    /// The overlays that go on before it, in the order of the manifest.
    pub below: Vec<&'a Loaded>,
    /// The overlay itself.
    pub overlay: &'a Loaded,
    /// Those that it needs and that go on after it: they are off.
    pub later: Vec<OverlayName>,
}

/// What stands there without the overlay and with it.
#[derive(Debug)]
pub struct Sides {
    /// What the overlays below make of the pin.
    pub below: Changes,
    /// The same with the overlay on top.
    pub with: Resolution,
}

impl<'a> Stand<'a> {
    /// The stand of an overlay. Its own conditions are met, whatever the features are.
    #[must_use]
    pub fn of(
        manifest: &Manifest,
        overlays: &'a [Loaded],
        overlay: &'a Loaded,
        features: &BTreeSet<Name>,
    ) -> Self {
        let needed = needs_of(overlay, overlays);
        let features = met(manifest, features, std::iter::once(overlay).chain(needed.iter().copied()));
        let place = |loaded: &Loaded| {
            let index = overlays.iter().position(|other| other.name() == loaded.name());
            (!loaded.overlay.kind.is_whole(), index)
        };
        let own_place = place(overlay);
        let is_needed = |other: &Loaded| needed.iter().any(|needed| needed.name() == other.name());
        let is_rival = |other: &Loaded| {
            let group = |loaded: &Loaded| loaded.overlay.rivals.as_ref().map(|group| group.value.clone());
            group(overlay).is_some() && group(overlay) == group(other)
        };
        let fits = |other: &Loaded| {
            let mut this = overlay.overlay.clone();
            this.active = true;
            other.overlay.is_on(&features) && can_be_on_together(&other.overlay, &this, &manifest.exclusive)
        };
        let below = overlays
            .iter()
            .filter(|other| place(other) < own_place && !is_rival(other))
            .filter(|other| is_needed(other) || fits(other))
            .collect();
        let later = needed.iter().filter(|other| place(other) > own_place);
        let later = later.map(|other| other.name().clone()).collect();
        Self { pin: manifest.upstream.pin.value, below, overlay, later }
    }

    /// Both sides. Nothing is to be used of them if something was refused.
    ///
    /// # Errors
    /// If the upstream cannot be read.
    pub fn sides(&self, upstream: &dyn Upstream) -> Result<Sides, UpstreamError> {
        let below = resolve(&self.below, At::Pin(self.pin), upstream)?.changes;
        let all: Vec<&Loaded> = self.below.iter().copied().chain([self.overlay]).collect();
        Ok(Sides { below, with: resolve(&all, At::Pin(self.pin), upstream)? })
    }
}

impl Sides {
    /// A name for both sides: as long as it is the same, edits of the one belong to the other.
    #[must_use]
    pub fn name(&self, pin: CommitId) -> String {
        let none = BTreeSet::new();
        let of = |changes: &Changes| fingerprint(pin, &none, changes);
        format!("{}:{}", of(&self.below), of(&self.with.changes))
    }

    /// What stands at a path without the overlay.
    ///
    /// # Errors
    /// If the upstream cannot be read.
    pub fn without(
        &self,
        pin: CommitId,
        path: &UpstreamPath,
        upstream: &dyn Upstream,
    ) -> Result<Option<Content>, UpstreamError> {
        self.below.get(path).cloned().map_or_else(|| content_at(upstream, pin, path), Ok)
    }
}

/// The features with which these overlays are on: those they ask for, without those that these exclude.
fn met<'l>(
    manifest: &Manifest,
    features: &BTreeSet<Name>,
    overlays: impl Iterator<Item = &'l Loaded>,
) -> BTreeSet<Name> {
    let mut met = features.clone();
    for condition in overlays.flat_map(|loaded| &loaded.overlay.when) {
        if condition.negated {
            met.remove(&condition.feature);
            continue;
        }
        for group in
            manifest.exclusive.iter().filter(|group| group.iter().any(|f| f.value == condition.feature))
        {
            met.retain(|feature| !group.iter().any(|other| other.value == *feature));
        }
        met.insert(condition.feature.clone());
    }
    met
}
