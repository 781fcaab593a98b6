//! How cargo and manifests name the same things. Values only.

use std::collections::BTreeSet;

use crate::id::Name;
use crate::manifest::Manifest;

/// The variable that cargo sets if a feature of the package is on: `CARGO_FEATURE_SMALL_AXIS` for `small-axis`.
pub(super) fn feature_variable(feature: &Name) -> String {
    format!("CARGO_FEATURE_{}", feature.as_str().to_ascii_uppercase().replace('-', "_"))
}

/// The variable that names a clone of the upstream.
pub(super) fn upstream_variable(name: &Name) -> String {
    format!("OVERLAID_UPSTREAM_{}", name.as_str().to_ascii_uppercase().replace(['-', '.', '+'], "_"))
}

/// The features that the manifest makes a difference of.
pub(super) fn known_features(manifest: &Manifest) -> BTreeSet<Name> {
    let of_overlays = manifest.overlays.iter().flat_map(|overlay| &overlay.when);
    let of_groups = manifest.exclusive.iter().flatten().map(|feature| feature.value.clone());
    of_overlays.map(|condition| condition.feature.clone()).chain(of_groups).collect()
}

/// A text on one line, without what could steer a terminal: cargo reads a directive up to the end of its line.
pub(super) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_have_the_names_that_cargo_gives_them() {
        assert_eq!(feature_variable(&Name::parse("small-axis").unwrap()), "CARGO_FEATURE_SMALL_AXIS");
        assert_eq!(
            upstream_variable(&Name::parse("flash-attention").unwrap()),
            "OVERLAID_UPSTREAM_FLASH_ATTENTION"
        );
    }

    #[test]
    fn a_directive_stays_on_its_line() {
        assert_eq!(one_line("a\ncargo::x\u{1b}[1m"), "a cargo::x [1m");
    }
}
