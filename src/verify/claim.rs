//! `claim`: the overlay changes no more of its base than it says. Also for `--since REV --expect`.

use crate::id::{OverlayName, UpstreamPath};
use crate::lex::{Comparison, Delta};
use crate::manifest::{Located, Manifest};

use super::Finding;

/// Checks a claim on one path.
#[must_use]
pub fn check(
    manifest: &Manifest,
    overlay: &OverlayName,
    claim: &Located<Delta>,
    path: &UpstreamPath,
    found: &Comparison,
) -> Option<Finding> {
    let place = manifest.place(claim.span.clone(), "claimed here");
    let finding = match found {
        Comparison::Known(delta) if *delta <= claim.value => return None,
        Comparison::Known(delta) => Finding::error(
            "claim-broken",
            format!("overlay `{overlay}` claims `{}` and changes `{delta}` of {path}", claim.value),
        )
        .hint(format!("look at it: overlaid diff {overlay}")),
        Comparison::Unknown(why) => Finding::error(
            "claim-unknown",
            format!("overlay `{overlay}` claims `{}`, and {path} cannot be compared: {why}", claim.value),
        )
        .note("what cannot be split into tokens is never taken for comments")
        .hint("claim `code`, or mend the file so that it can be read"),
    };
    Some(finding.of(overlay).on(path).at(place))
}

/// Checks that a change of our own stays within `expected`.
#[must_use]
pub fn check_change(
    overlay: &OverlayName,
    path: &UpstreamPath,
    since: &str,
    expected: Delta,
    found: &Comparison,
) -> Option<Finding> {
    let finding = match found {
        Comparison::Known(delta) if *delta <= expected => return None,
        Comparison::Known(delta) => Finding::error(
            "change-exceeds",
            format!(
                "overlay `{overlay}`: `{delta}` of {path} changed since {since}, `{expected}` is expected"
            ),
        )
        .hint(format!("look at it: overlaid diff {overlay} --since {since}")),
        Comparison::Unknown(why) => Finding::error(
            "change-unknown",
            format!("overlay `{overlay}`: what changed in {path} since {since} cannot be told: {why}"),
        )
        .hint(format!("look at it: overlaid diff {overlay} --since {since}")),
    };
    Some(finding.of(overlay).on(path))
}

/// A change of our own that cannot be told, since one of the two states does not fit on the pin.
#[must_use]
pub fn unknown_change(overlay: &OverlayName, since: &str, why: &str) -> Finding {
    let message = format!("overlay `{overlay}`: what changed since {since} cannot be told: {why}");
    Finding::error("change-unknown", message)
        .of(overlay)
        .hint(format!("see which of the two does not fit: overlaid diff {overlay} --since {since}"))
}
