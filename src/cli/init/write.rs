//! The manifests that `init` writes.

use std::path::PathBuf;
use std::sync::Arc;

use crate::bump::FileEdit;
use crate::diagnostic::Severity;
use crate::io::own_edits::{self, Lock};
use crate::manifest;
use crate::pins::group::Upstream;
use crate::pins::repeats::Place;

use super::super::{Failure, FailureKind, Ui};
use super::Outcome;

/// Writes a manifest for each upstream that has none and is pinned at one commit.
pub(super) fn write(lock: &Lock, rows: &[(Upstream, Outcome)], ui: &mut Ui) -> Result<(), Failure> {
    let mut edits = Vec::new();
    for (upstream, outcome) in rows {
        let Outcome::New { commit, places, .. } = outcome else { continue };
        let file = PathBuf::from("manifests").join(format!("{}.toml", upstream.name));
        let text = render(upstream, &commit.to_string(), places);
        let (_, diagnostics) = manifest::parse(&file, &text);
        let errors: Vec<_> =
            diagnostics.into_iter().filter(|diagnostic| diagnostic.severity == Severity::Error).collect();
        if !errors.is_empty() {
            let message = format!("no manifest can be written for `{}`", upstream.name);
            return Err(Failure { message, kind: FailureKind::Input, ..Failure::diagnostics(errors) }
                .with_hint("leave it out: --only with the names of the others"));
        }
        edits.push(FileEdit { file, before: None, after: Some(Arc::from(text.into_bytes())), mode: None });
    }
    let done = own_edits::write(lock, &edits)?;
    for file in &done.files {
        ui.note(format_args!("wrote {}", file.display()));
    }
    if !done.files.is_empty() {
        ui.note("next: overlaid import PATH, or overlaid apply");
    }
    Ok(())
}

fn render(upstream: &Upstream, commit: &str, places: &[(PathBuf, Place)]) -> String {
    let mut text = format!(
        "version = 1\n\n[upstream]\nname = {}\nurl  = {}\npin  = {}\n",
        quoted(upstream.name.as_str()),
        quoted(&upstream.url),
        quoted(commit)
    );
    for (file, place) in places {
        let Some(regex) = &place.regex else { continue };
        let regex = if regex.contains('\'') { quoted(regex) } else { format!("'{regex}'") };
        text.push_str(&format!(
            "\n[[upstream.also-pinned]]\nfile  = {}\nregex = {regex}\n",
            quoted(&file.to_string_lossy())
        ));
    }
    text
}

fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}
