//! Whether what a move made holds: the overlays as they would be, on the new pin, before any of it is written.

use std::collections::BTreeSet;

use crate::id::Name;
use crate::manifest::Manifest;
use crate::overlay::{At, Loaded, Unwanted, resolve, wanted};
use crate::upstream::Upstream;

use super::subject::Reading;

/// A manifest with its overlays.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// The manifest.
    pub manifest: &'a Manifest,
    /// Its overlays.
    pub overlays: &'a [Loaded],
}

/// Makes sure that what is on together fits after the move, unless it did not fit before, and that each overlay fits with
/// those that it stands on.
///
/// # Errors
/// What would not fit.
pub fn check_holds(
    before: Standing<'_>,
    after: Standing<'_>,
    upstream: &dyn Upstream,
) -> Result<(), Unwanted> {
    let mut seen: BTreeSet<&Name> = BTreeSet::new();
    for features in feature_sets(after.manifest) {
        let fits = |standing: Standing<'_>| {
            wanted(standing.manifest, standing.overlays, &features, upstream).map(drop)
        };
        match fits(after) {
            Ok(()) => {
                let on = after.overlays.iter().filter(|loaded| loaded.overlay.is_on(&features));
                seen.extend(on.map(Loaded::name));
            }
            Err(error) if fits(before).is_ok() => return Err(error),
            Err(_) => {}
        }
    }
    let pin = after.manifest.upstream.pin.value;
    let reading = Reading { overlays: after.overlays, exclusive: &after.manifest.exclusive, pin, upstream };
    for (index, loaded) in after.overlays.iter().enumerate() {
        if seen.contains(loaded.name()) {
            continue;
        }
        let refused_on = |below: Vec<usize>| {
            let below = below.into_iter().map(|index| &after.overlays[index]);
            let on: Vec<&Loaded> = below.chain([loaded]).collect();
            resolve(&on, At::Pin(pin), upstream).map(|resolution| resolution.refused)
        };
        let refused = refused_on(reading.needed(index))?;
        if !refused.is_empty() && !refused_on(reading.earlier(index))?.is_empty() {
            return Err(Unwanted::Refused(refused));
        }
    }
    Ok(())
}

/// No feature, and those of each profile.
fn feature_sets(manifest: &Manifest) -> BTreeSet<BTreeSet<Name>> {
    let of_profiles = manifest
        .profiles
        .iter()
        .map(|profile| profile.features.iter().map(|feature| feature.value.clone()).collect::<BTreeSet<_>>());
    of_profiles.chain([BTreeSet::new()]).collect()
}
