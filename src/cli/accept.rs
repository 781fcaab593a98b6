//! `overlaid accept`

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use crate::accept::{content, refusal};
use crate::bump::FileEdit;
use crate::id::BlobId;
use crate::io::own_edits;
use crate::manifest::edit::{Value, remove_key, set_key};

use super::status::inspect_all;
use super::{Answer, Context, Failure, Ui, without_problems};

/// Say that the state of an overlay is meant
///
/// A rollback, a stale overlay, one that brings back lines that upstream removed: if that is what you want, say why.
/// `verify` and `status` then show it as a note. It is written into the manifest (`accepted`), and lapses when the pin
/// moves, or when the overlay's or upstream's content changes.
///
/// Exit code 0: accepted. 2: there is nothing to accept, or it cannot be.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The overlay
    #[arg(value_name = "OVERLAY")]
    overlay: String,
    /// Why it is meant
    #[arg(long, value_name = "TEXT", required_unless_present = "remove")]
    reason: Option<String>,
    /// Take it back
    #[arg(long, conflicts_with = "reason")]
    remove: bool,
}

/// Runs the command.
///
/// # Errors
/// If the overlay's state cannot be accepted, or the manifest cannot be written.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let lock = context.lock(ui)?;
    let workspace = without_problems(context.workspace()?)?;
    let manifest = &workspace.manifest;
    let Some(loaded) = workspace.overlay(&args.overlay) else {
        let known: BTreeSet<String> =
            workspace.overlays.iter().map(|loaded| loaded.name().to_string()).collect();
        return Err(Failure::unknown_overlay(&args.overlay, &known));
    };
    let edit_failed = |error: crate::manifest::edit::EditError| Failure::input(error.to_string());
    let (text, state) = match &args.reason {
        None => (remove_key(&manifest.text, &args.overlay, "accepted").map_err(edit_failed)?, None),
        Some(reason) => {
            let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
            if reason.is_empty() {
                return Err(Failure::input("the reason is empty").with_hint("say why the state is meant"));
            }
            let store = context.store(&workspace, ui)?;
            let reports = inspect_all(&workspace, &[loaded], &store);
            let Some(report) = reports.first() else {
                return Err(Failure::environment("the overlay could not be looked at"));
            };
            if let Some(why) = refusal(&loaded.overlay, report) {
                return Err(
                    Failure::input(why).with_hint(format!("see it: overlaid status {}", args.overlay))
                );
            }
            let accepted = Value::Table(vec![
                ("pin".to_owned(), manifest.upstream.pin.value.into()),
                ("content".to_owned(), Value::Text(content(report))),
                ("reason".to_owned(), Value::Text(reason)),
            ]);
            let text = set_key(&manifest.text, &args.overlay, "accepted", &accepted).map_err(edit_failed)?;
            (text, Some(report.state))
        }
    };
    let edit = FileEdit {
        file: manifest.file.clone(),
        before: Some(BlobId::of(manifest.text.as_bytes())),
        after: Some(Arc::from(text.as_bytes())),
        mode: None,
    };
    if text != *manifest.text {
        own_edits::write(&lock, &[edit])?;
    }
    if ui.is_json() {
        ui.document(&json!({
            "schema": "overlaid.accept.v1",
            "overlay": args.overlay,
            "state": state.map(|state| state.as_str()),
            "accepted": state.is_some(),
        }));
        return Ok(Answer::Yes);
    }
    match state {
        Some(state) => ui.line(format_args!(
            "{}: {state} is accepted until the pin, the overlay or upstream's content changes",
            args.overlay
        )),
        None => ui.line(format_args!("{}: nothing is accepted any more", args.overlay)),
    }
    Ok(Answer::Yes)
}
