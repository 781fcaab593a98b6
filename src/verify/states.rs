//! Findings that follow from what `provenance` knows: a missing base, a moved upstream, work undone.

use crate::manifest::Manifest;
use crate::overlay::Loaded;
use crate::provenance::{OverlayReport, PathReport, State};

use super::Finding;

/// Findings of one overlay.
#[must_use]
pub fn check(manifest: &Manifest, loaded: &Loaded, report: &OverlayReport) -> Vec<Finding> {
    let name = loaded.name();
    let place = |span: &std::ops::Range<usize>, label: &str| manifest.place(span.clone(), label);
    let mut findings = Vec::new();
    let Some(base) = &loaded.overlay.base else {
        findings.push(
            Finding::error("base-missing", format!("overlay `{name}` does not say what it is based on"))
                .of(name)
                .at(place(&loaded.overlay.name.span, "has no `base`"))
                .note("without a base nothing can tell what the overlay changes and what it undoes")
                .hint("add base = \"<the upstream commit that it was derived from>\""),
        );
        return findings;
    };
    if let Some(why) = &report.why {
        let message = format!("the state of overlay `{name}` is unknown: {why}");
        findings.push(Finding::error("state-unknown", message).of(name).at(place(&base.span, "the base")));
    }
    for path in &report.paths {
        if let Some(finding) = check_path(name.as_str(), path) {
            findings.push(finding.of(name).on(&path.path).at(place(&base.span, "the base")));
        }
    }
    findings
}

fn check_path(name: &str, path: &PathReport) -> Option<Finding> {
    let describe = |what: &str| format!("overlay `{name}` {what}: {}: {}", path.path, path.why);
    let finding = match path.state {
        State::Fresh | State::New => return None,
        State::Unknown => Finding::error("state-unknown", describe("cannot be judged")),
        State::Renamed => Finding::error("path-renamed", describe("is for a path that moved"))
            .hint("move the overlay to the new path and set its base"),
        State::Gone => Finding::error("path-gone", describe("is for a path that is gone"))
            .hint("remove the overlay, or find out where upstream does this now"),
        State::Redundant => Finding::warning("redundant", describe("changes nothing"))
            .hint(format!("it can go: overlaid prove {name}")),
        State::Absorbed => Finding::warning("absorbed", describe("is in upstream by now"))
            .hint("remove it from the manifest; its tests should pass without it"),
        State::Backport => Finding::warning("backport", describe("is a backport"))
            .hint("it can go when the pin moves past that commit"),
        State::Collides => Finding::error("collides", describe("collides with upstream's own file")),
        State::Rollback => Finding::error("rollback", describe("takes upstream back"))
            .hint("remove it, or derive it anew from the pin's content"),
        State::StaleConflict => Finding::error("stale", describe("is stale and does not fit"))
            .hint("merge it by hand on the pin's content, then set its base to the pin"),
        State::StaleClean if path.undoes.is_empty() => {
            Finding::warning("stale", describe("is stale")).hint("merge it, then set its base to the pin")
        }
        State::StaleClean => Finding::error("stale", describe("is stale and undoes upstream work"))
            .hint("merge it with the pin's content, then set its base to the pin"),
    };
    Some(path.undoes.iter().fold(finding, |finding, commit| {
        finding.note(format!("undoes {} {}", commit.id.short(), commit.subject))
    }))
}
