//! Findings that follow from what `provenance` knows: a missing base, a moved upstream, work undone.

use crate::id::{CommitId, OverlayName};
use crate::manifest::{Kind, Manifest};
use crate::overlay::Loaded;
use crate::provenance::{NoBranch, OverlayReport, PathReport, State, needs_list};

use super::Finding;

/// What to do where something is missing.
const UNKNOWN: &str =
    "if history is missing, run again without --offline; in a clone of yours: git fetch --unshallow";

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
                .hint(format!("overlaid base {name} infers it from history, and with --write puts it there")),
        );
        return findings;
    };
    // Files that are missing or cannot be read were said before: what follows from that is no news.
    let is_there = match &loaded.overlay.kind {
        Kind::Files(_) => !loaded.files.is_empty(),
        Kind::Patch(_) => loaded.patch.is_some(),
        Kind::Commits { .. } | Kind::HeldBack { .. } | Kind::Delete(_) => true,
    };
    if let Some(why) = &report.why
        && is_there
    {
        let message = format!("the state of overlay `{name}` is unknown: {why}");
        let finding = Finding::error("state-unknown", message).of(name).at(place(&base.span, "the base"));
        findings.push(finding.hint(UNKNOWN));
    }
    for path in &report.paths {
        let at = match &loaded.overlay.kind {
            Kind::Patch(file) if is_misfit(path) => place(&file.span, "this patch"),
            _ => place(&base.span, "the base"),
        };
        if let Some(finding) = check_path(loaded, base.value, manifest.upstream.pin.value, path) {
            findings.push(finding.of(name).on(&path.path).at(at));
        }
    }
    findings
}

/// Whether a finding says that the overlay does not fit.
#[must_use]
pub fn says_misfit(report: &OverlayReport) -> bool {
    report.paths.iter().any(is_misfit)
}

fn is_misfit(path: &PathReport) -> bool {
    path.state == State::StaleConflict
}

/// The branch that the manifest names is not there, or cannot be read; `known` are those that are there.
#[must_use]
pub fn check_branch(manifest: &Manifest, no_branch: &NoBranch, known: &[String]) -> Option<Finding> {
    let branch = manifest.upstream.branch.as_ref()?;
    let message = no_branch.sentence(&branch.value);
    let (finding, label, hint) = match no_branch {
        NoBranch::Missing => {
            let shown: Vec<&str> = known.iter().take(10).map(String::as_str).collect();
            let more = if known.len() > shown.len() { ", ..." } else { "" };
            let hint = format!("there are: {}{more}", shown.join(", "));
            (Finding::error("branch-missing", message), "no such branch", hint)
        }
        NoBranch::NoneAtAll => (
            Finding::warning("branch-missing", message),
            "no such branch",
            "`git fetch` the branch into the clone, or take `branch` out of the manifest".to_owned(),
        ),
        NoBranch::Unreadable(_) => (
            Finding::error("branch-unreadable", message),
            "this branch",
            "`git fsck` in the clone names what is broken; `git fetch` there brings a branch of its origin back"
                .to_owned(),
        ),
        // Commits that no overlay needs are not fetched.
        NoBranch::SubmoduleMissing => return None,
    };
    let finding = finding.at(manifest.place(branch.span.clone(), label));
    Some(finding.note("what upstream has after the pin is looked for on this branch").hint(hint))
}

/// A patch that does not apply, or a change that conflicts.
fn check_misfit(loaded: &Loaded, base: CommitId, path: &PathReport) -> Finding {
    let name = loaded.name();
    // The sentence of a refusal begins with the path again.
    let why = path.why.replace(&format!(": {}: ", path.path), ": ");
    let message = |what: &str| format!("overlay `{name}` {what}: {}: {why}", path.path);
    if !path.needs_missing().is_empty() {
        let hint = format!("{}; then look again: overlaid status {name}", add_needs(loaded, path));
        return Finding::error("stale", message("is stale and does not fit")).hint(hint);
    }
    let Kind::Patch(file) = &loaded.overlay.kind else {
        return Finding::error("stale", message("is stale and does not fit"))
            .hint("merge it by hand on the pin's content, then set its base to the pin");
    };
    // `provenance` says so in words only.
    let fits_base = !path.why.starts_with("it applies neither at its base nor at the pin");
    if fits_base {
        Finding::error("stale", message("is stale and does not fit")).hint(format!(
            "make `{}` anew on the pin's content, then set `base` to the pin; what upstream changed: overlaid status {name}",
            file.value.display()
        ))
    } else {
        Finding::error("does-not-fit", message("does not fit")).hint(format!(
            "make `{}` anew: the lines that it expects are not at its base {} either",
            file.value.display(),
            base.short()
        ))
    }
}

/// What to write where an overlay does not say what it stands on.
fn add_needs(loaded: &Loaded, path: &PathReport) -> String {
    let missing = path.needs_missing();
    match loaded.overlay.needs.is_empty() {
        true => format!("if it is meant to stand there, add `needs = {}`", needs_list(missing)),
        false => {
            let said = loaded.overlay.needs.iter().map(|need| need.value.clone());
            let all: Vec<OverlayName> = said.chain(missing.iter().cloned()).collect();
            format!("if it is meant to stand there, make that `needs = {}`", needs_list(&all))
        }
    }
}

fn check_path(loaded: &Loaded, base: CommitId, pin: CommitId, path: &PathReport) -> Option<Finding> {
    let name = loaded.name();
    let describe = |what: &str| format!("overlay `{name}` {what}: {}: {}", path.path, path.why);
    let finding = match path.state {
        State::Fresh | State::New => return None,
        State::Unknown if !path.needs_missing().is_empty() => {
            let message =
                format!("overlay `{name}` does not say what it stands on: {}: {}", path.path, path.why);
            Finding::error("needs-missing", message).hint(add_needs(loaded, path))
        }
        State::Unknown => Finding::error("state-unknown", describe("cannot be judged")).hint(UNKNOWN),
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
        State::Collides => Finding::error("collides", describe("collides with upstream's own file"))
            .hint(format!("compare the two: overlaid diff {name} --against pin")),
        State::Rollback => Finding::error("rollback", describe("takes upstream back"))
            .hint("remove it, or derive it anew from the pin's content"),
        State::StaleConflict => check_misfit(loaded, base, path),
        State::StaleClean if path.undoes.is_empty() => Finding::warning("stale", describe("is stale"))
            .hint(format!("merge it: overlaid bump --to {pin}")),
        State::StaleClean => Finding::error("stale", describe("is stale and undoes upstream work"))
            .hint(format!("merge it with the pin's content: overlaid bump --to {pin}")),
    };
    Some(path.undoes.iter().fold(finding, |finding, commit| {
        finding.note(format!("undoes {} {}", commit.id.short(), commit.subject))
    }))
}
