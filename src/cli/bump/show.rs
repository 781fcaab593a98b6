//! What a person and a program see of a move.

use serde_json::{Value, json};

use crate::bump::{Fate, Misfit, Outcome, OverlayPlan, PathPlan, Plan};
use crate::escape::for_terminal;
use crate::io::bump_work::{Kept, Work};
use crate::io::own_edits::Done;
use crate::manifest::{Kind, Manifest};
use crate::overlay::Loaded;
use crate::provenance::{Neighbour, Note, pull_request_number};
use crate::upstream::Commit;

use super::super::status::{date, describe_commit};
use super::super::table::{self, TableCell};
use super::super::{Tone, Ui};

/// Commits of a path beyond this number are counted.
const NAMED: usize = 10;

pub(super) fn tone(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Untouched | Outcome::Merges => Tone::Good,
        Outcome::Absorbed | Outcome::Redundant | Outcome::Kept | Outcome::Renamed => Tone::Warning,
        _ => Tone::Bad,
    }
}

/// The plan for a person.
pub(super) fn print(plan: &Plan, manifest: &Manifest, called: &str, ui: &mut Ui) {
    let called =
        if called == plan.to.to_string() { String::new() } else { format!(" ({})", for_terminal(called)) };
    ui.line(format_args!("{}: pin {}", Tone::Strong.paint(&manifest.upstream.name.value), plan.from));
    ui.line(format_args!(
        "{:>width$}  to {}{called}",
        "",
        plan.to,
        width = manifest.upstream.name.as_str().len()
    ));
    if plan.from == plan.to {
        ui.line("the pin is there already");
    }
    if plan.overlays.is_empty() {
        ui.line("no overlays");
        return;
    }
    let rows: Vec<Vec<TableCell>> = plan
        .overlays
        .iter()
        .map(|overlay| {
            let commits: std::collections::BTreeSet<_> =
                overlay.paths.iter().flat_map(|path| path.commits.iter().map(|commit| commit.id)).collect();
            vec![
                overlay.name.to_string().into(),
                tone(overlay.outcome).cell(overlay.outcome.as_str()),
                if commits.is_empty() { "".into() } else { commits.len().to_string().into() },
                overlay.paths.len().to_string().into(),
            ]
        })
        .collect();
    ui.line(table::render(&["overlay", "becomes", "commits", "paths"], &rows));
    for overlay in &plan.overlays {
        if overlay.is_worth_telling() {
            explain(overlay, ui);
        }
    }
    ui.line(summary(plan));
}

fn explain(overlay: &OverlayPlan, ui: &mut Ui) {
    ui.line(Tone::Strong.paint(&overlay.name));
    match &overlay.why {
        _ if overlay.fate == Fate::Dropped => ui.line("  dropped: upstream has all of it"),
        Some(why) => ui.text(2, Some((Tone::Bad, "needs a person: ")), &for_terminal(why)),
        None => {}
    }
    for path in overlay.paths.iter().filter(|path| path.is_worth_telling()) {
        ui.line(format_args!("  {}", for_terminal(path.path.as_bytes())));
        let lead = format!("{}: ", path.outcome);
        ui.text(4, Some((tone(path.outcome), &lead)), &for_terminal(&path.why));
        if let Some(places) = describe_places(path) {
            ui.text(4, None, &places);
        }
        for commit in path.commits.iter().take(NAMED) {
            ui.text(4, None, &describe_commit(commit));
        }
        if path.commits.len() > NAMED {
            ui.line(format_args!("    and {} more upstream commits", path.commits.len() - NAMED));
        }
        for neighbour in &path.neighbours {
            ui.text(4, None, &for_terminal(Note::Neighbour(neighbour.clone()).to_string()));
        }
    }
}

/// `in 2 places: lines 10 to 16, 40 to 44 of the marked file`.
fn describe_places(path: &PathPlan) -> Option<String> {
    let misfit = path.misfit.as_ref()?;
    if misfit.places.is_empty() {
        return None;
    }
    let lines: Vec<String> =
        misfit.places.iter().map(|lines| format!("{} to {}", lines.start, lines.end - 1)).collect();
    let count = lines.len();
    let s = if count == 1 { "" } else { "s" };
    Some(format!("in {count} place{s}: lines {} of the marked file", lines.join(", ")))
}

fn summary(plan: &Plan) -> String {
    let counts: Vec<String> =
        plan.counts().iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    format!("{} overlays: {}", plan.overlays.len(), counts.join(", "))
}

/// What a person has to do before it goes on.
pub(super) fn ask(plan: &Plan, overlays: &[Loaded], work: &Work, ui: &mut Ui) {
    ui.note("nothing of yours was changed. Resolve these, then: overlaid bump --continue");
    for (overlay, loaded) in plan.overlays.iter().zip(overlays).filter(|(plan, _)| plan.needs_person()) {
        if let Some(why) = &overlay.why {
            ui.note(format_args!("  overlay {}: {}", overlay.name, for_terminal(why)));
        }
        for path in overlay.paths.iter().filter(|path| path.needs_person()) {
            let file = work.file(&overlay.name, &path.path);
            let file = file.display();
            match &path.misfit {
                Some(misfit) if misfit.marked.is_some() => ui.note(format_args!("  edit {file}")),
                Some(misfit) if goes_with_path(overlay, loaded, misfit) => ui.note(format_args!(
                    "  put the result at {file} (the sides are beside it), or remove overlay `{}` from the manifest",
                    overlay.name
                )),
                Some(_) => ui.note(format_args!(
                    "  put the result at {file} (the sides are beside it), or an empty file at {file}.deleted"
                )),
                None => ui.note(format_args!(
                    "  overlay {}, {}: {}",
                    overlay.name,
                    for_terminal(path.path.as_bytes()),
                    for_terminal(&path.why)
                )),
            }
        }
    }
}

/// Whether nothing would be left of an overlay if this path went.
fn goes_with_path(overlay: &OverlayPlan, loaded: &Loaded, misfit: &Misfit) -> bool {
    overlay.paths.len() == 1
        && match &loaded.overlay.kind {
            Kind::Files(_) => true,
            // A patch can remove what upstream has.
            _ => misfit.theirs.is_none(),
        }
}

/// What was written.
pub(super) fn written(done: &Done, ui: &mut Ui) {
    for file in &done.files {
        let word = if done.removed.contains(file) { "removed" } else { "wrote" };
        ui.note(format_args!("{word} {}", file.display()));
    }
    for (file, copy) in &done.kept {
        ui.note(format_args!("somebody had changed {}; a copy is in {}", file.display(), copy.display()));
    }
    if let Some(before) = &done.before {
        ui.note(format_args!("the files of before are in {}", before.display()));
    }
}

/// What a person made of conflicts for nothing.
pub(super) fn unused(kept: &Kept, ui: &mut Ui) {
    ui.note(format_args!("what you made of conflicts and was not used is in {}:", kept.dir.display()));
    for (file, why) in &kept.files {
        ui.note(format_args!("  {}: {why}", for_terminal(file.display().to_string())));
    }
}

/// What was taken back.
pub(super) fn taken_back(done: &Done, ui: &mut Ui) {
    for (file, copy) in &done.kept {
        ui.note(format_args!("somebody had changed {}; a copy is in {}", file.display(), copy.display()));
    }
    ui.note(format_args!("an interrupted bump was taken back: {} files are as before", done.files.len()));
}

/// The plan for a program.
pub(super) fn to_json(
    plan: &Plan,
    manifest: &Manifest,
    called: &str,
    done: Option<&Done>,
    work: &Work,
) -> Value {
    let counts: serde_json::Map<String, Value> =
        plan.counts().iter().map(|(outcome, count)| (outcome.to_string(), json!(count))).collect();
    let overlays: Vec<Value> = plan
        .overlays
        .iter()
        .map(|overlay| {
            json!({
                "name": overlay.name,
                "outcome": overlay.outcome.as_str(),
                "needs-person": overlay.needs_person(),
                "why": overlay.why,
                "moves-base": overlay.moves_base,
                "dropped": overlay.fate == Fate::Dropped,
                "paths": overlay.paths.iter().map(|path| path_json(overlay, path, work)).collect::<Vec<_>>(),
            })
        })
        .collect();
    let files = |done: &Done| done.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>();
    json!({
        "schema": "overlaid.bump.v1",
        "upstream": manifest.upstream.name.as_str(),
        "from": plan.from,
        "to": plan.to,
        "called": called,
        "needs-person": plan.needs_person(),
        "counts": counts,
        "overlays": overlays,
        "written": done.map(files),
    })
}

fn path_json(overlay: &OverlayPlan, path: &PathPlan, work: &Work) -> Value {
    let places = path.misfit.as_ref().map(|misfit| {
        misfit
            .places
            .iter()
            .map(|lines| json!({ "from": lines.start, "to": lines.end - 1 }))
            .collect::<Vec<_>>()
    });
    json!({
        "path": path.path,
        "outcome": path.outcome.as_str(),
        "why": path.why,
        "needs-person": path.needs_person(),
        "to": path.to.as_ref().map(|(to, _)| to),
        "similarity": path.to.as_ref().map(|(_, alike)| alike),
        "conflicts": places,
        "work-file": (path.needs_person() && path.misfit.is_some())
            .then(|| work.file(&overlay.name, &path.path).display().to_string()),
        "commits": path.commits.iter().map(commit_json).collect::<Vec<_>>(),
        "neighbours": path.neighbours.iter().map(neighbour_json).collect::<Vec<_>>(),
    })
}

fn neighbour_json(neighbour: &Neighbour) -> Value {
    json!({
        "path": neighbour.file,
        "side": neighbour.side,
        "count": neighbour.count,
        "commits": neighbour.commits.iter().map(commit_json).collect::<Vec<_>>(),
    })
}

fn commit_json(commit: &Commit) -> Value {
    json!({
        "id": commit.id,
        "date": date(commit.committed),
        "subject": commit.subject.to_string(),
        "pull-request": pull_request_number(commit),
    })
}
