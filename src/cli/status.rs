//! `overlaid status`

mod document;
mod drop_when;
mod fingerprint;
mod inspected;
mod order;
mod show;
mod words;

use std::collections::BTreeSet;

use crate::accept::{Acceptance, acceptance};
use crate::diagnostic::{Diagnostic, Severity};
use crate::io::workspace::Workspace;
use crate::overlay::Loaded;
use crate::provenance::{Look, OverlayReport};
use crate::report::ci::{Format, Notice};

use document::Document;
pub use inspected::{inspect_all, inspect_kept, kept_reports, no_branch};
pub use order::by_need;
pub use words::{date, describe_activity, describe_age, describe_change, describe_commit};

use super::{Answer, Context, Failure, Tone, Ui, explain as explained, without_problems};

/// Show what each overlay is, measured against the upstream's history
///
/// A row for each overlay: what there is to do about it, its state, what it changes,
/// how many upstream commits it undoes, and the last verdict. What needs a hand
/// stands first. Below the table, what its words mean, and why each overlay is
/// what it is. The states, worst first:
///
///   unknown         not enough is there to tell
///   renamed         the path was at the base, and is another one at the pin
///   gone            the path was at the base and is not at the pin
///   redundant       it does what upstream does at the pin, comments aside
///   collides        it was new, and upstream has such a path by now
///   new             upstream still has no such path
///   rollback        it takes upstream back to an older content
///   backport        it is what upstream has after the pin
///   absorbed        upstream has all that it adds
///   stale-conflict  upstream moved, and the change does not fit
///   stale-clean     upstream moved, and the change still fits
///   fresh           upstream did not move
///
/// Reads upstream from git objects only, runs nothing of it, and changes nothing.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Only these overlays
    #[arg(value_name = "OVERLAY")]
    overlays: Vec<String>,
    /// Print only a hash of pin, overlay content and features, for cache keys
    #[arg(long, conflicts_with = "overlays")]
    fingerprint: bool,
    /// Compare code with all contents that the paths ever had, however long the history is
    #[arg(long)]
    deep: bool,
    /// Read everything anew, and keep nothing for the next time
    #[arg(long)]
    no_cache: bool,
    /// In which form the result is printed
    #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    format: Format,
    /// Say what a state means, with an example and what to do
    #[arg(long, value_name = "STATE")]
    explain: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// If a manifest or an upstream cannot be read.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    if let Some(word) = &args.explain {
        return explained::run(word, ui);
    }
    if args.fingerprint {
        return fingerprint::print(context, ui);
    }
    let mut document = Document::new();
    let mut notices = Vec::new();
    let mut known = BTreeSet::new();
    let mut failure = None;
    let workspaces = context.workspaces()?;
    let several = workspaces.len() > 1;
    context.warn_of_unknown_features(&workspaces, ui);
    super::same_names::warn(&workspaces, ui);
    for workspace in workspaces {
        let workspace = without_problems(workspace)?;
        // A wrong profile is an error before anything is shown.
        let profile = context.profile_if_any(&workspace)?;
        let features = context.features(&workspace, profile)?;
        known.extend(workspace.overlays.iter().map(|loaded| loaded.name().to_string()));
        let loaded: Vec<&Loaded> = workspace
            .overlays
            .iter()
            .filter(|loaded| {
                args.overlays.is_empty() || args.overlays.iter().any(|n| n == loaded.name().as_str())
            })
            .collect();
        if loaded.is_empty() && !args.overlays.is_empty() {
            continue;
        }
        let store = match context.store(&workspace, ui) {
            Ok(store) => store,
            // Of several upstreams, those that are here are shown all the same.
            Err(error) if several => {
                ui.failure(&error);
                failure = Some(error);
                continue;
            }
            Err(error) => return Err(error),
        };
        let look = Look { deep: args.deep, neighbours: true };
        let reports = inspect_kept(&workspace, &loaded, &store, look, args.no_cache);
        if args.format != Format::Text {
            notices.extend(loaded.iter().zip(&reports).filter_map(|(l, r)| notice(&workspace, l, r)));
        } else if ui.is_json() {
            document.add(&workspace, &loaded, &reports, no_branch(&workspace, &store).as_ref());
        } else {
            let on =
                show::On { profile, features, is_chosen: profile.is_some() || !context.features.is_empty() };
            show::print(&workspace, &on, &loaded, &reports, no_branch(&workspace, &store).as_ref(), ui);
        }
    }
    if let Some(name) = args.overlays.iter().find(|name| !known.contains(*name)) {
        return Err(Failure::unknown_overlay(name, &known));
    }
    if ui.is_json() {
        ui.document(&document);
    }
    explained::print_for_ci(args.format, "status", &notices, ui)?;
    Ok(if failure.is_some() { Answer::Unknown } else { Answer::Yes })
}

/// What CI is told of an overlay. Of one that needs nothing: nothing.
fn notice(workspace: &Workspace, loaded: &Loaded, report: &OverlayReport) -> Option<Notice> {
    let pin = workspace.manifest.upstream.pin.value;
    let is_meant = matches!(acceptance(&loaded.overlay, report, pin), Acceptance::Holds(_));
    let severity = match (show::tone(report.state), is_meant) {
        (Tone::Good, _) => return None,
        (_, true) => Severity::Note,
        (Tone::Bad, _) => Severity::Error,
        _ => Severity::Warning,
    };
    let why = report.paths.iter().find(|path| path.state == report.state);
    let why = why.map(|path| format!("{}: {}", path.path, path.why)).or_else(|| report.why.clone());
    let message = format!("{} is {}: {}", report.name, report.state, why.unwrap_or_default());
    let place = workspace.manifest.place(loaded.overlay.span.clone(), "");
    let mut diagnostic = Diagnostic::new(severity, report.state.as_str(), message).at(place);
    if let Some(to_do) = crate::report::explain::lookup(report.state.as_str()).and_then(|found| found.to_do) {
        diagnostic = diagnostic.hint(to_do);
    }
    Some(Notice { overlay: Some(report.name.to_string()), record: diagnostic.to_record() })
}
