//! `also-pinned`: every other place that repeats the pin says the same.

use crate::id::CommitId;
use crate::manifest::{AlsoPinned, Manifest, pattern};

use super::{Finding, OwnText};

/// Checks one place; `text` is the file's, `None` if it is not there.
#[must_use]
pub fn check(manifest: &Manifest, place: &AlsoPinned, text: Option<&OwnText>) -> Vec<Finding> {
    let file = place.file.value.display();
    let Some(text) = text else {
        return vec![
            Finding::error("also-pinned-missing", format!("`{file}` repeats the pin and is not there"))
                .at(manifest.place(place.file.span.clone(), "no such file"))
                .hint("correct the path, or remove the [[upstream.also-pinned]] entry"),
        ];
    };
    // The manifest's parser has accepted the pattern and its group.
    let Ok(pattern) = pattern::regex(&place.regex.value) else {
        return Vec::new();
    };
    let pin = manifest.upstream.pin.value;
    let mut findings = Vec::new();
    let mut matches = 0;
    for captures in pattern.captures_iter(text.text.as_bytes()) {
        matches += 1;
        let Some(found) = captures.get(1) else { continue };
        let id = String::from_utf8_lossy(found.as_bytes());
        if CommitId::parse(&id) != Ok(pin) {
            findings.push(
                Finding::error("also-pinned-differs", format!("`{file}` pins {id} and the manifest {pin}"))
                    .at(text.place(found.range(), "another commit than the manifest's pin"))
                    .hint(format!("write {pin} there, or move the manifest's pin")),
            );
        }
    }
    if matches == 0 {
        findings.push(
            Finding::error("also-pinned-no-match", format!("the pattern matches nothing in `{file}`"))
                .at(manifest.place(place.regex.span.clone(), "matches nothing"))
                .hint("the pin is no longer written that way there: correct the pattern"),
        );
    }
    findings
}
