//! The manifests that `init` writes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bump::FileEdit;
use crate::diagnostic::{Diagnostic, Severity};
use crate::escape::for_shell;
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
        let commit = commit.to_string();
        let mut text = render(upstream, &commit, upstream.sources(), places);
        let mut errors = errors(&file, &text);
        if upstream.sources().is_some() && !errors.is_empty() {
            // A folder that no tree can be in, such as one with our own files.
            text = render(upstream, &commit, None, places);
            errors = self::errors(&file, &text);
        }
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
        // What something else fills is taken as it is only where that is said.
        let filled = rows.iter().filter(|(_, outcome)| matches!(outcome, Outcome::New { .. }));
        let filled = filled.filter_map(|(upstream, _)| upstream.sources()).next();
        let tree = filled.map(|folder| format!(" --tree {}", for_shell(folder))).unwrap_or_default();
        ui.note(format_args!("next: overlaid import PATH, or overlaid apply{tree}"));
    }
    Ok(())
}

fn errors(file: &Path, text: &str) -> Vec<Diagnostic> {
    let (_, diagnostics) = manifest::parse(file, text);
    diagnostics.into_iter().filter(|diagnostic| diagnostic.severity == Severity::Error).collect()
}

fn render(upstream: &Upstream, commit: &str, tree: Option<&str>, places: &[(PathBuf, Place)]) -> String {
    let mut text = format!(
        "version = 1\n\n[upstream]\nname = {}\nurl  = {}\npin  = {}\n",
        quoted(upstream.name.as_str()),
        quoted(&upstream.url),
        quoted(commit)
    );
    if let Some(tree) = tree {
        text.push_str(&format!("tree = {}\n", quoted(tree)));
    }
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
