//! Coverage: files that no overlay names, overlays that no check looks at, globs that match nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::id::UpstreamPath;
use crate::manifest::{Check, Manifest, pattern};
use crate::overlay::{Loaded, beside};

use super::Finding;

/// Files in the overlay folder that no entry of the manifest names: they are built into nothing.
#[must_use]
pub fn unnamed_files(manifest: &Manifest, files: &[PathBuf], overlays: &[Loaded]) -> Vec<Finding> {
    let folder = manifest.overlay_folder();
    let named: BTreeSet<&Path> =
        overlays.iter().flat_map(|loaded| &loaded.own).map(|own| own.file.as_path()).collect();
    files
        .iter()
        .map(|file| (folder.join(file), beside::is_no_source(file)))
        .filter(|(file, _)| !named.contains(file.as_path()))
        .map(|(file, is_no_source)| {
            let message = format!("no overlay of the manifest names `{}`", file.display());
            if is_no_source {
                return Finding::warning("unnamed-file", message)
                    .note("by its name it is none, and it is built into nothing")
                    .hint("move it out of the folder, or remove it");
            }
            Finding::error("unnamed-file", message)
                .note("the file looks like an overlay and is built into nothing")
                .hint(format!("name it in an [[overlay]] of `{}`, or remove it", manifest.file.display()))
        })
        .collect()
}

/// Whether a check looks at a path.
#[must_use]
pub fn looks_at(check: &Check, path: &UpstreamPath) -> bool {
    check.globs.iter().any(|glob| matches(&glob.value, path))
}

fn matches(glob: &str, path: &UpstreamPath) -> bool {
    pattern::glob(glob).is_ok_and(|glob| glob.compile_matcher().is_match(path.to_os_path()))
}

/// Overlays of which no check looks at a path, when there are checks at all.
#[must_use]
pub fn unchecked(manifest: &Manifest, overlays: &[(&Loaded, BTreeSet<UpstreamPath>)]) -> Vec<Finding> {
    if manifest.checks.is_empty() {
        return Vec::new();
    }
    let is_checked = |path: &UpstreamPath| manifest.checks.iter().any(|check| looks_at(check, path));
    overlays
        .iter()
        .filter(|(_, paths)| !paths.is_empty() && !paths.iter().any(is_checked))
        .map(|(loaded, _)| {
            let name = loaded.name();
            Finding::warning("unchecked-overlay", format!("no [[check]] looks at overlay `{name}`"))
                .of(name)
                .at(manifest.place(loaded.overlay.name.span.clone(), "no glob of a check matches its paths"))
                .hint("widen the globs of a check, or add one")
        })
        .collect()
}

/// Globs of checks that match no overlay's path: a check that cannot fail.
#[must_use]
pub fn idle_checks(manifest: &Manifest, paths: &BTreeSet<UpstreamPath>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for check in &manifest.checks {
        for glob in &check.globs {
            if !paths.iter().any(|path| matches(&glob.value, path)) {
                let message =
                    format!("a glob of check `{}` matches no overlay: `{}`", check.name.value, glob.value);
                findings.push(
                    Finding::error("glob-matches-nothing", message)
                        .at(manifest.place(glob.span.clone(), "matches nothing"))
                        .note("a check that looks at nothing cannot fail")
                        .hint("correct the glob, or remove the check"),
                );
            }
        }
    }
    findings
}

/// Globs of `sources` of tests that match no file of ours; `idle` has the globs that do not.
#[must_use]
pub fn idle_sources(manifest: &Manifest, idle: &BTreeSet<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for test in &manifest.tests {
        for glob in &test.sources {
            if idle.contains(glob.value.as_str()) {
                let message =
                    format!("`sources` of test `{}` matches no file: `{}`", test.name.value, glob.value);
                findings.push(
                    Finding::error("glob-matches-nothing", message)
                        .at(manifest.place(glob.span.clone(), "matches nothing"))
                        .hint("evidence would not notice when the test changes: correct the glob"),
                );
            }
        }
    }
    findings
}
