//! `overlaid prove --attest`: notes what somebody reports of a run that the program cannot make.

use std::collections::BTreeSet;

use serde_json::json;

use crate::escape::for_terminal;
use crate::evidence::attested::{Attestation, Reported, SCHEMA};
use crate::io::attested;
use crate::io::lab::records::now;
use crate::io::verdicts;
use crate::manifest::{DropWhen, Overlay};
use crate::overlay::Loaded;
use crate::verdict::Verdict;

use super::super::{Answer, Context, Failure, Ui, status, without_problems};
use super::Args;

/// What came of a run without the overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum CameTo {
    /// It passes without the overlay
    Pass,
    /// It fails without the overlay
    Fail,
}

/// Notes a report. Builds and runs nothing.
///
/// # Errors
/// If no overlay waits for it and none is named, or the report cannot be written.
pub fn run(context: &Context, args: &Args, what: &str, ui: &mut Ui) -> Result<Answer, Failure> {
    let workspace = without_problems(context.workspace()?)?;
    let manifest = &workspace.manifest;
    let known: BTreeSet<String> = workspace.overlays.iter().map(|loaded| loaded.name().to_string()).collect();
    if let Some(name) = args.overlays.iter().find(|name| !known.contains(*name)) {
        return Err(Failure::unknown_overlay(name, &known));
    }
    let waits = |overlay: &Overlay| {
        let when = overlay.drop_when.as_ref().map(|when| &when.value);
        matches!(when, Some(DropWhen::Attested(name)) if name == what)
    };
    let is_meant = |loaded: &&Loaded| match args.overlays.is_empty() {
        true => waits(&loaded.overlay),
        false => args.overlays.iter().any(|name| name == loaded.name().as_str()),
    };
    let loaded: Vec<&Loaded> = workspace.overlays.iter().filter(is_meant).collect();
    if loaded.is_empty() {
        return Err(Failure::input(format!(
            "no overlay has drop-when = {{ attested = \"{}\" }}",
            for_terminal(what)
        ))
        .with_hint("name the overlays that it was run without: overlaid prove OVERLAY --attest ..."));
    }
    let (Some(by), Some(result)) = (&args.by, args.result) else {
        return Err(Failure::input("--attest needs --by and --result"));
    };
    if by.trim().is_empty() || what.trim().is_empty() {
        return Err(Failure::input("who says so, and of what, cannot be empty"));
    }
    let pin = manifest.upstream.pin.value;
    let report = Attestation {
        schema: SCHEMA.to_owned(),
        attested: what.to_owned(),
        overlays: loaded.iter().map(|loaded| loaded.name().clone()).collect(),
        pin,
        result: match result {
            CameTo::Pass => Reported::Pass,
            CameTo::Fail => Reported::Fail,
        },
        by: by.trim().to_owned(),
        note: args.note.clone().unwrap_or_default(),
        recorded: now(),
    };
    let upstream = manifest.upstream.name.as_str();
    let folder = workspace.root.join(attested::folder(&manifest.docs_folder(), upstream));
    let file = attested::write(&folder, &report)
        .map_err(|error| Failure::environment(format!("{}: {error}", folder.display())))?;
    let file = file.strip_prefix(&workspace.root).unwrap_or(&file).display().to_string();

    // What was measured of what stands here now, as far as it is noted.
    let store = context.store(&workspace, ui)?;
    let verdicts = verdicts::load(&workspace.root.join(verdicts::file(&manifest.docs_folder(), upstream)));
    let reports = status::inspect_all(&workspace, &loaded, &store);
    let mut contradicted = Vec::new();
    for overlay in &reports {
        let last = verdicts.last(overlay.name.as_str(), None).map(|(_, noted)| noted);
        let last = last.filter(|noted| noted.content == overlay.content_digest(pin));
        let measured = last.and_then(|noted| {
            [Verdict::Needed, Verdict::Droppable, Verdict::Harmful, Verdict::Redundant]
                .into_iter()
                .find(|verdict| verdict.as_str() == noted.verdict)
        });
        if let Some(measured) = measured.filter(|measured| report.contradicts(*measured)) {
            contradicted.push((overlay.name.clone(), measured));
        }
    }
    if ui.is_json() {
        ui.document(&json!({
            "schema": "overlaid.attest.v1",
            "file": file,
            "attested": report,
            "contradicts": contradicted
                .iter()
                .map(|(name, measured)| json!({ "name": name, "verdict": measured }))
                .collect::<Vec<_>>(),
        }));
    } else {
        let names: Vec<&str> = report.overlays.iter().map(|name| name.as_str()).collect();
        ui.line(format_args!("{}: {}", names.join(", "), for_terminal(report.text())));
        ui.line(format_args!("  noted in {file}"));
        for (name, measured) in &contradicted {
            ui.line(format_args!("  measured: {name} is {measured}. A person decides"));
        }
    }
    Ok(if contradicted.is_empty() { Answer::Yes } else { Answer::NeedsPerson })
}
