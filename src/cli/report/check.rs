//! `overlaid report --check`

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::escape::for_terminal;
use crate::io::hashes::Hashes;
use crate::io::report_files;
use crate::io::store::Store;
use crate::io::workspace::Workspace;
use crate::report::check::{Answers, Finding, RecordAnswer, check};
use crate::report::facts::{Facts, FactsError};
use crate::report::quote;

use super::super::{Answer, Context, Failure, Tone, Ui, without_problems};
use super::gather::Gathered;
use super::{finished, material, prove_command, report_command};

/// A report that was looked at.
struct Looked {
    file: String,
    overlay: Option<String>,
    findings: Vec<Finding>,
    notes: Vec<String>,
}

/// Looks at all reports, or at that of one overlay.
///
/// # Errors
/// If a manifest, an upstream or a report cannot be read.
pub fn run(context: &Context, overlay: Option<&str>, ui: &mut Ui) -> Result<Answer, Failure> {
    let mut looked = Vec::new();
    let mut known = std::collections::BTreeSet::new();
    for workspace in context.workspaces()? {
        let workspace = without_problems(workspace)?;
        known.extend(workspace.overlays.iter().map(|loaded| loaded.name().to_string()));
        let reports = reports_of(&workspace)?;
        let mut store = None;
        for (file, text) in reports {
            let facts = Facts::parse(&text);
            if !concerns(&workspace, &file, &facts, overlay) {
                continue;
            }
            let store = match &mut store {
                Some(store) => store,
                none => none.insert(Rc::new(context.store(&workspace, ui)?)),
            };
            looked.push(look(context, &workspace, store, &file, &text, &facts)?);
        }
    }
    if let Some(name) = overlay.filter(|_| looked.is_empty()) {
        if !known.contains(name) {
            return Err(Failure::unknown_overlay(name, &known));
        }
        return Err(Failure::input(format!("overlay `{name}` has no report"))
            .with_hint(format!("write it: {}", report_command(context, name))));
    }
    show(&looked, ui);
    Ok(if looked.iter().all(|report| report.findings.is_empty()) { Answer::Yes } else { Answer::No })
}

/// The reports in the folder of reports, and those that overlays name elsewhere.
fn reports_of(workspace: &Workspace) -> Result<Vec<(std::path::PathBuf, Vec<u8>)>, Failure> {
    use crate::io::own_files::{Disk, OwnFiles};
    let mut reports = report_files::reports(&workspace.root, &workspace.manifest.docs_folder())?;
    let disk = Disk::new(&workspace.root);
    for report in workspace.overlays.iter().filter_map(|loaded| loaded.overlay.report.as_ref()) {
        if reports.iter().any(|(file, _)| *file == report.value) {
            continue;
        }
        // What a person wrote without the program is a person's.
        if let Some(content) = disk.read(&report.value)?
            && Facts::parse(&content.bytes) != Err(FactsError::None)
        {
            reports.push((report.value.clone(), content.bytes.to_vec()));
        }
    }
    Ok(reports)
}

/// Whether a report belongs to this upstream, and to the overlay that was asked for.
fn concerns(
    workspace: &Workspace,
    file: &Path,
    facts: &Result<Facts, FactsError>,
    overlay: Option<&str>,
) -> bool {
    match facts {
        Ok(facts) => {
            let is_wanted = overlay.is_none_or(|name| facts.overlay.as_str() == name);
            facts.upstream == workspace.manifest.upstream.name.value && is_wanted
        }
        // Whose it is can be told only from where it is.
        Err(_) => workspace.overlays.iter().any(|loaded| {
            let is_wanted = overlay.is_none_or(|name| loaded.name().as_str() == name);
            super::file_of(workspace, loaded) == file && is_wanted
        }),
    }
}

fn look(
    context: &Context,
    workspace: &Workspace,
    store: &Rc<Store>,
    file: &Path,
    text: &[u8],
    facts: &Result<Facts, FactsError>,
) -> Result<Looked, Failure> {
    let docs = workspace.manifest.docs_folder();
    let overlay = facts.as_ref().ok().map(|facts| facts.overlay.to_string());
    let mut records: BTreeMap<String, RecordAnswer> = BTreeMap::new();
    let mut files = BTreeMap::new();
    let mut notes = Vec::new();
    let (mut stale, mut today) = (Vec::new(), None);
    if let Ok(facts) = facts {
        for (name, sha256) in facts.records() {
            let (record, answer) = report_files::record(&workspace.root, &docs, name, sha256);
            records.insert(name.to_owned(), answer);
            files.extend(record.map(|record| (name.to_owned(), record)));
        }
        notes.extend(facts.proofs.iter().map(|measured| {
            let profile =
                measured.profile.as_ref().map(|p| format!(" under profile {p}")).unwrap_or_default();
            format!(
                "measured on {}{profile}, {} {}",
                measured.device(),
                measured.machine.os,
                measured.machine.arch
            )
        }));
        match workspace.overlay(facts.overlay.as_str()) {
            Some(loaded) if facts.retired.is_none() => {
                let mut gathered = Gathered::with_store(workspace, loaded, Rc::clone(store))?;
                if facts.pin != workspace.manifest.upstream.pin.value {
                    stale.push(format!(
                        "it was written at pin {}, and the pin is {} now",
                        facts.pin, workspace.manifest.upstream.pin.value
                    ));
                }
                let mut hashes = Hashes::in_memory();
                for measured in &facts.proofs {
                    stale.extend(gathered.stale(measured, &mut hashes));
                }
                for at_once in &facts.together {
                    stale.extend(gathered.stale_together(at_once, &mut hashes));
                }
                stale.dedup();
                // What is stale would be written differently anyway: that is one finding, not two.
                if stale.is_empty() && records.values().all(|answer| *answer == RecordAnswer::Same) {
                    gathered.records = files;
                    gathered.proofs.clone_from(&facts.proofs);
                    gathered.file = file.to_owned();
                    let mut facts = facts.clone();
                    facts.attested.clone_from(&gathered.attested);
                    facts.bisected.clone_from(&gathered.bisected);
                    if let Some(template) = gathered.may_say().template() {
                        facts.template = template;
                    }
                    gathered.before = None;
                    let made = finished(&gathered, facts)?;
                    today = Some(String::from_utf8_lossy(&made).into_owned());
                }
            }
            Some(_) => stale.push("it says that the overlay is retired, and the manifest has it".to_owned()),
            None if facts.retired.is_none() => {
                stale.push(format!("the manifest has no overlay `{}` any more", facts.overlay));
            }
            None => {}
        }
    }
    let url = workspace.manifest.upstream.url.value.as_str();
    let read = material::reader(store);
    let name = overlay.clone().unwrap_or_else(|| "OVERLAY".to_owned());
    let answers = Answers {
        records,
        stale,
        today,
        quote: &|place| quote::render(place, url, &read),
        file: &|file| report_files::text_of(&workspace.root, file),
        again: report_command(context, &name),
        prove: prove_command(context, &name),
    };
    let findings = check(file, text, facts, &answers);
    Ok(Looked { file: file.display().to_string(), overlay, findings, notes })
}

fn show(looked: &[Looked], ui: &mut Ui) {
    if ui.is_json() {
        let reports: Vec<Value> = looked
            .iter()
            .map(|report| {
                json!({
                    "file": report.file,
                    "overlay": report.overlay,
                    "findings": report.findings,
                    "measured": report.notes,
                })
            })
            .collect();
        ui.document(&json!({ "schema": "overlaid.report-check.v1", "reports": reports }));
        return;
    }
    if looked.is_empty() {
        ui.line("there are no reports");
    }
    for report in looked {
        if report.findings.is_empty() {
            let notes = report.notes.join("; ");
            ui.line(format_args!(
                "{}: {} ({})",
                for_terminal(&report.file),
                Tone::Good.paint("right"),
                for_terminal(notes)
            ));
        }
        for finding in &report.findings {
            let line = if finding.line > 0 { format!(":{}", finding.line) } else { String::new() };
            let place = format!("{}{line}:", for_terminal(&report.file));
            ui.line(format_args!(
                "{place} {}: {}",
                Tone::Bad.paint(finding.code),
                for_terminal(&finding.message)
            ));
            ui.line(format_args!("  {}", for_terminal(&finding.hint)));
        }
    }
}
