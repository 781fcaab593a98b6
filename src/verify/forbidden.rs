//! `[[check]]`: patterns that must not be found in overlay files.

use crate::id::{OverlayName, UpstreamPath};
use crate::manifest::{Check, pattern};

use super::{Finding, OwnText, coverage};

/// Looks for the patterns of a check in the content that an overlay gives a path.
#[must_use]
pub fn check(check: &Check, overlay: &OverlayName, path: &UpstreamPath, text: &OwnText) -> Vec<Finding> {
    if !coverage::looks_at(check, path) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for forbidden in &check.forbid {
        // The manifest's parser has accepted the pattern.
        let Ok(regex) = pattern::regex(&forbidden.value) else { continue };
        for found in regex.find_iter(text.text.as_bytes()) {
            let message =
                format!("check `{}` found what it forbids in overlay `{overlay}`", check.name.value);
            findings.push(
                Finding::error("check-found", message)
                    .of(overlay)
                    .on(path)
                    .at(text.place(found.range(), format!("matches `{}`", forbidden.value))),
            );
        }
    }
    findings
}
