//! Submodules of the pin against those that the manifest declares.

use std::collections::BTreeMap;

use crate::escape::for_terminal;
use crate::gitmodules::declaration;
use crate::id::UpstreamPath;
use crate::manifest::Manifest;
use crate::tree::{Entry, Listing, Mode};

use super::Finding;

/// The submodules that the pin has and nobody declared: their folders stay empty. `hints` has the URLs that the
/// upstream itself says.
#[must_use]
pub fn undeclared(manifest: &Manifest, listing: &Listing, hints: &BTreeMap<String, String>) -> Vec<Finding> {
    let modules = listing.iter().filter(|(_, entry)| entry.mode == Mode::Submodule);
    modules.map(|(path, entry)| describe(manifest, path, *entry, hints)).collect()
}

fn describe(
    manifest: &Manifest,
    path: &UpstreamPath,
    entry: Entry,
    hints: &BTreeMap<String, String>,
) -> Finding {
    let text = path.to_string();
    let shown = for_terminal(path.as_bytes());
    let hint = hints.get(&text);
    let url = hint.map_or("https://...", String::as_str);
    let from = match hint {
        Some(_) => "the url is what the upstream's .gitmodules says; look at it before you use it",
        None => "the upstream's .gitmodules says no url for it",
    };
    let span = manifest.upstream.name.span.clone();
    Finding::warning(
        "submodule-undeclared",
        format!("{shown} is a submodule of the upstream, and its files are missing in the tree"),
    )
    .on(path)
    .at(manifest.place(span, "not declared for this upstream"))
    .note(format!("the pin wants it at commit {}; its folder stays empty", entry.id))
    .note(from)
    .hint(format!("add to the manifest:\n{}", declaration(&text, url)))
}

/// The submodules that are declared and that the pin does not have.
#[must_use]
pub fn absent(
    manifest: &Manifest,
    has: &BTreeMap<UpstreamPath, Option<crate::id::CommitId>>,
) -> Vec<Finding> {
    let modules = manifest.upstream.submodules.iter();
    modules
        .filter(|module| has.get(&module.path.value).is_none_or(Option::is_none))
        .map(|module| {
            let path = &module.path.value;
            let message = format!("the pin has no submodule at {}", for_terminal(path.as_bytes()));
            Finding::error("submodule-absent", message)
                .on(path)
                .at(manifest.place(module.path.span.clone(), "declared here"))
                .hint("correct the path, or remove the table")
        })
        .collect()
}
