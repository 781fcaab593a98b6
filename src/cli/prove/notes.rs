//! What `prove` writes down for later: the witness in the manifest, and the verdicts for `status`.

use crate::id::Name;
use crate::io::hashes::edit_file;
use crate::io::lab::records::now;
use crate::io::own_files::{Disk, OwnFiles};
use crate::io::verdicts::{self, Noted};
use crate::io::workspace::Workspace;
use crate::manifest::{Witness, edit};
use crate::provenance::OverlayReport;
use crate::verdict::Verdict;

use super::super::Ui;
use super::Outcome;

/// Writes the pin as the witness of overlays that were proven needed there; says whether it did.
pub(super) fn note_witnesses(workspace: &Workspace, outcome: &Outcome, ui: &mut Ui) -> bool {
    let manifest = &workspace.manifest;
    let pin = manifest.upstream.pin.value;
    let is_noted = |overlay: &Name| {
        let overlay = manifest.overlay(overlay.as_str());
        match overlay.and_then(|overlay| overlay.witness.as_ref()).map(|witness| &witness.value) {
            Some(Witness::Commit(commit)) => *commit == pin,
            // A planted fault is the witness that somebody chose.
            Some(Witness::Patch(_)) => true,
            None => false,
        }
    };
    let needed = outcome.decisions.iter().filter(|decision| decision.verdict == Verdict::Needed);
    let mut new: Vec<&str> =
        needed.map(|decision| &decision.overlay).filter(|name| !is_noted(name)).map(Name::as_str).collect();
    // What was proven may not be what stands there by now.
    let now = match Disk::new(&workspace.root).read(&manifest.file) {
        Ok(Some(content)) => String::from_utf8_lossy(&content.bytes).into_owned(),
        _ => String::new(),
    };
    new.retain(|overlay| {
        let stands = now == *manifest.text || table_of(&now, overlay) == table_of(&manifest.text, overlay);
        if !stands {
            let file = manifest.file.display();
            ui.warn(format_args!("the witness of `{overlay}` is not noted: {file} was edited meanwhile"));
        }
        stands
    });
    if new.is_empty() {
        return false;
    }
    // A proof takes its time: what stands in the file by now is edited, not what stood there at first.
    let edited = edit_file(&workspace.root.join(&manifest.file), |text| {
        new.iter().try_fold(text.to_owned(), |text, overlay| edit::set_witness(&text, overlay, pin))
    });
    let file = manifest.file.display();
    match edited {
        Ok(()) => ui.note(format_args!("{file}: the pin is now the witness of {}", new.join(", "))),
        Err(error) => {
            ui.warn(format_args!("{file}: the witness of {} is not noted: {error}", new.join(", ")));
            return false;
        }
    }
    true
}

/// What a manifest says about an overlay and the pin, without comments; `None`: it is not TOML, or has no such overlay.
fn table_of(text: &str, overlay: &str) -> Option<(String, String)> {
    let document = text.parse::<toml_edit::DocumentMut>().ok()?;
    let pin = document.get("upstream")?.get("pin")?.as_str()?.to_owned();
    let overlays = document.get("overlay")?.as_array_of_tables()?;
    let table =
        overlays.iter().find(|table| table.get("name").and_then(|name| name.as_str()) == Some(overlay))?;
    Some((pin, table.to_string()))
}

/// Remembers the verdicts for `status`.
pub(super) fn note_verdicts(
    workspace: &Workspace,
    profile: Option<&Name>,
    outcome: &Outcome,
    reports: &[OverlayReport],
    ui: &mut Ui,
) {
    let manifest = &workspace.manifest;
    let file = workspace.root.join(verdicts::file(&manifest.docs_folder(), manifest.upstream.name.as_str()));
    let mut verdicts = verdicts::load(&file);
    for decision in &outcome.decisions {
        let report = reports.iter().find(|report| report.name == decision.overlay);
        let Some(report) = report.filter(|_| decision.verdict != Verdict::Inconclusive) else { continue };
        let noted = Noted {
            verdict: decision.verdict.as_str().to_owned(),
            recorded: now(),
            content: report.content_digest(manifest.upstream.pin.value),
        };
        verdicts.note(decision.overlay.as_str(), profile.map(Name::as_str), noted);
    }
    if let Err(error) = verdicts.write(&file, |overlay| manifest.overlay(overlay).is_some()) {
        ui.warn(format_args!("the verdicts cannot be noted in `{}`: {error}", file.display()));
    }
}
