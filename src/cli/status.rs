//! `overlaid status`

mod document;
mod drop_when;

use std::collections::BTreeSet;

use serde_json::json;

use crate::accept::{Acceptance, acceptance};
use crate::diagnostic::{Diagnostic, Severity};
use crate::escape::for_terminal;
use crate::id::{CommitId, Name};
use crate::io::lab::records::now;
use crate::io::reports::Reports;
use crate::io::store::{Environment, Store};
use crate::io::verdicts::Verdicts;
use crate::io::workspace::Workspace;
use crate::lex::Delta;
use crate::manifest::Profile;
use crate::overlay::{At, Loaded, fingerprint, resolve};
use crate::provenance::{Look, Note, OverlayReport, PathReport, State, inspect_with, pull_request_number};
use crate::report::ci::{Format, Notice};
use crate::upstream::Commit;

use document::{document, to_json};

use super::table::{self, TableCell};
use super::{Answer, Context, Failure, Tone, Ui, explain as explained, without_problems};

/// Show what each overlay is, measured against the upstream's history
///
/// A row for each overlay: its state, what it changes, how many upstream commits
/// it undoes, and its tests. Below it, why it has that state. The states, worst
/// first:
///
///   unknown         not enough is there to tell
///   renamed, gone   the path was at the base and is not at the pin
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
        return print_fingerprint(context, ui);
    }
    let mut documents = Vec::new();
    let mut notices = Vec::new();
    let mut known = BTreeSet::new();
    let mut failure = None;
    let workspaces = context.workspaces()?;
    let several = workspaces.len() > 1;
    context.warn_of_unknown_features(&workspaces, ui);
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
            documents.push(to_json(&workspace, &loaded, &reports));
        } else {
            let on = On { profile, features, is_chosen: profile.is_some() || !context.features.is_empty() };
            print(&workspace, &on, &loaded, &reports, branch_is_missing(&workspace, &store), ui);
        }
    }
    if let Some(name) = args.overlays.iter().find(|name| !known.contains(*name)) {
        return Err(Failure::unknown_overlay(name, &known));
    }
    if ui.is_json() {
        ui.document(&document(documents));
    }
    explained::print_for_ci(args.format, "status", &notices, ui)?;
    Ok(if failure.is_some() { Answer::Unknown } else { Answer::Yes })
}

/// What CI is told of an overlay. Of one that needs nothing: nothing.
fn notice(workspace: &Workspace, loaded: &Loaded, report: &OverlayReport) -> Option<Notice> {
    let pin = workspace.manifest.upstream.pin.value;
    let is_meant = matches!(acceptance(&loaded.overlay, report, pin), Acceptance::Holds(_));
    let severity = match (tone(report.state), is_meant) {
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

/// Looks at overlays of a workspace.
#[must_use]
pub fn inspect_all(workspace: &Workspace, loaded: &[&Loaded], store: &Store) -> Vec<OverlayReport> {
    inspect_as_far(workspace, loaded, store, Look::default())
}

/// As [`inspect_as_far`], but what was found out before is not looked for again.
pub(super) fn inspect_kept(
    workspace: &Workspace,
    loaded: &[&Loaded],
    store: &Store,
    look: Look,
    no_cache: bool,
) -> Vec<OverlayReport> {
    let pin = workspace.manifest.upstream.pin.value;
    let file = std::path::absolute(workspace.root.join(&workspace.manifest.file));
    let mut kept = match file {
        Ok(file) if !no_cache => {
            Reports::load(&file, pin, tip(workspace, store), look, &Environment::of_process())
        }
        _ => Reports::none(),
    };
    let all = &workspace.overlays;
    let known: Vec<Option<OverlayReport>> = loaded.iter().map(|loaded| kept.get(loaded, all)).collect();
    let missing = loaded.iter().zip(&known).filter(|(_, known)| known.is_none());
    let missing: Vec<&Loaded> = missing.map(|(loaded, _)| *loaded).collect();
    let fresh = inspect_as_far(workspace, &missing, store, look);
    for (loaded, report) in missing.iter().zip(&fresh) {
        kept.put(loaded, all, report);
    }
    let mut fresh = fresh.into_iter();
    let reports = known.into_iter().filter_map(|known| known.or_else(|| fresh.next())).collect();
    kept.save(loaded.len() < all.len());
    reports
}

/// What was found out before of these overlays, as they are; `None` for one that was not looked at since it changed. Looks
/// at nothing itself.
pub(super) fn kept_reports(
    workspace: &Workspace,
    loaded: &[&Loaded],
    store: &Store,
) -> Vec<Option<OverlayReport>> {
    let pin = workspace.manifest.upstream.pin.value;
    let tip = tip(workspace, store);
    let environment = Environment::of_process();
    let look = Look { deep: false, neighbours: true };
    let mut kept = match std::path::absolute(workspace.root.join(&workspace.manifest.file)) {
        Ok(file) => Reports::load(&file, pin, tip, look, &environment),
        Err(_) => Reports::none(),
    };
    loaded.iter().map(|loaded| kept.get(loaded, &workspace.overlays)).collect()
}

/// The newest commit that is known of the pin's branch.
fn tip(workspace: &Workspace, store: &Store) -> Option<CommitId> {
    let branch = workspace.manifest.upstream.branch.as_ref()?;
    let tip = store.resolve(&branch.value).ok().flatten();
    // Of submodules that are not here at the branch's tip, nothing newer is known.
    tip.filter(|tip| store.has_submodules_at(*tip).unwrap_or(false))
}

fn inspect_as_far(
    workspace: &Workspace,
    loaded: &[&Loaded],
    store: &Store,
    look: Look,
) -> Vec<OverlayReport> {
    let pin = workspace.manifest.upstream.pin.value;
    let tip = tip(workspace, store);
    inspect_with(loaded, &workspace.overlays, pin, tip, store, look)
}

fn print_fingerprint(context: &Context, ui: &mut Ui) -> Result<Answer, Failure> {
    let workspace = without_problems(context.workspace()?)?;
    let profile = context.profile(&workspace)?;
    let features = context.features(&workspace, profile)?;
    context.warn_of_unknown_features([&workspace], ui);
    let fingerprint = match context.store(&workspace, ui) {
        Ok(store) => {
            let on: Vec<&Loaded> =
                workspace.overlays.iter().filter(|loaded| loaded.overlay.is_on(&features)).collect();
            let pin = workspace.manifest.upstream.pin.value;
            let resolution = resolve(&on, At::Pin(pin), &store)?;
            Failure::if_refused(&resolution)?;
            fingerprint(pin, &features, &resolution.changes)
        }
        Err(failure) => match locked_fingerprint(&workspace, &features)? {
            Some(fingerprint) => fingerprint,
            None => return Err(failure),
        },
    };
    if ui.is_json() {
        ui.document(&json!({ "schema": "overlaid.fingerprint.v1", "fingerprint": fingerprint }));
    } else {
        ui.line(fingerprint);
    }
    Ok(Answer::Yes)
}

/// The fingerprint as the lock has it, if the lock is of the manifest and the overlay files as they are now and has these
/// features.
fn locked_fingerprint(workspace: &Workspace, features: &BTreeSet<Name>) -> Result<Option<String>, Failure> {
    let lock = crate::io::locked::load(&workspace.root, &workspace.manifest.file)?;
    Ok(lock
        .filter(|lock| crate::lock::stale(lock, &workspace.manifest, &workspace.overlays).is_empty())
        .and_then(|lock| lock.fingerprints.get(features).cloned()))
}

/// Whether the manifest names a branch that the upstream does not have. False where it cannot be told.
#[must_use]
pub fn branch_is_missing(workspace: &Workspace, store: &Store) -> bool {
    let branch = workspace.manifest.upstream.branch.as_ref();
    branch.is_some_and(|branch| {
        !store.branches().is_empty() && store.resolve(&branch.value).is_ok_and(|found| found.is_none())
    })
}

/// What is shown of an overlay.
struct Row<'a> {
    report: &'a OverlayReport,
    verdict: String,
    tests: String,
    activity: String,
}

impl Row<'_> {
    fn narrow(&self) -> Vec<TableCell> {
        let undoes = self.report.undoes().len();
        vec![
            self.report.name.to_string().into(),
            tone(self.report.state).cell(self.report.state.as_str()),
            describe_change(self.report).into(),
            if undoes == 0 { "".into() } else { Tone::Bad.cell(undoes.to_string()) },
            // Without where and when.
            self.verdict.split(' ').next().unwrap_or_default().into(),
        ]
    }

    fn wide(&self) -> Vec<TableCell> {
        let mut cells = self.narrow();
        cells.truncate(4);
        cells.extend([&self.tests, &self.verdict, &self.activity].map(|text| text.clone().into()));
        cells
    }
}

/// The profile and features under which the rows are shown.
struct On<'a> {
    profile: Option<&'a Profile>,
    features: BTreeSet<Name>,
    is_chosen: bool,
}

fn print(
    workspace: &Workspace,
    on: &On<'_>,
    loaded: &[&Loaded],
    reports: &[OverlayReport],
    no_branch: bool,
    ui: &mut Ui,
) {
    let upstream = &workspace.manifest.upstream;
    let missing = if no_branch { ", which upstream does not have" } else { "" };
    let branch =
        upstream.branch.as_ref().map(|branch| format!(" ({}{missing})", for_terminal(&branch.value)));
    ui.line(format_args!(
        "{} at {}{}",
        Tone::Strong.paint(&upstream.name.value),
        upstream.pin.value,
        branch.unwrap_or_default()
    ));
    if loaded.is_empty() {
        ui.line("no overlays");
        return;
    }
    let docs = workspace.root.join(workspace.manifest.docs_folder());
    let known = drop_when::Known::load(&docs, upstream.name.as_str());
    let rows: Vec<Row> = loaded
        .iter()
        .zip(reports)
        .map(|(loaded, report)| Row {
            report,
            verdict: describe_verdict(
                &known.verdicts,
                report,
                on.profile.map(|p| p.name.as_str()),
                upstream.pin.value,
            ),
            tests: loaded.overlay.tests.iter().map(|test| test.as_str()).collect::<Vec<_>>().join(", "),
            activity: describe_activity(loaded, &on.features, on.is_chosen),
        })
        .collect();
    let wide: Vec<Vec<TableCell>> = rows.iter().map(Row::wide).collect();
    let wide = table::render(&["overlay", "state", "changes", "undoes", "tests", "last verdict", ""], &wide);
    // What does not fit into the table of a narrow terminal stands below it.
    let is_narrow = ui.line_width().is_some_and(|width| table::width_of(&wide) > width);
    if is_narrow {
        let narrow: Vec<Vec<TableCell>> = rows.iter().map(Row::narrow).collect();
        ui.line(table::render(&["overlay", "state", "changes", "undoes", "last verdict"], &narrow));
    } else {
        ui.line(wide);
    }
    for (loaded, row) in loaded.iter().zip(&rows) {
        explain(loaded, row, is_narrow, ui);
        explain_accepted(loaded, row.report, upstream.pin.value, ui);
        explain_drop_when(loaded, row.report, &known, upstream.pin.value, ui);
    }
    ui.line(summary(reports));
    if reports.iter().any(|report| report.paths.iter().any(|path| path.by_name_only)) {
        ui.text(
            0,
            None,
            "the history is long: contents before the bases and after the pin were compared by name only; \
             --deep compares their code, and looks for lines that were removed from them",
        );
    }
}

fn tone(state: State) -> Tone {
    match state {
        State::Fresh | State::New => Tone::Good,
        State::StaleClean | State::Redundant | State::Absorbed | State::Backport => Tone::Warning,
        _ => Tone::Bad,
    }
}

/// What the overlay changes of its base: the worst delta of its paths, and how many lines.
pub(super) fn describe_change(report: &OverlayReport) -> String {
    let delta = report.paths.iter().map(|path| path.delta).collect::<Option<Vec<_>>>();
    let word = match delta.and_then(|deltas| deltas.into_iter().max()) {
        Some(Delta::Identical) => return "nothing".to_owned(),
        Some(delta) => delta.as_str(),
        None => "?",
    };
    let lines = report.paths.iter().map(|path| path.against_base).collect::<Option<Vec<_>>>();
    match lines {
        Some(lines) if !lines.is_empty() => {
            let (added, removed) = lines.iter().fold((0, 0), |sum, l| (sum.0 + l.0, sum.1 + l.1));
            format!("{word} +{added} -{removed}")
        }
        _ => word.to_owned(),
    }
}

/// The last verdict and its age; with a question mark if pin or overlay have changed since.
fn describe_verdict(
    verdicts: &Verdicts,
    report: &OverlayReport,
    profile: Option<&str>,
    pin: CommitId,
) -> String {
    let Some((profile, noted)) = verdicts.last(report.name.as_str(), profile) else {
        return String::new();
    };
    let age = describe_age(now() - noted.recorded);
    let on = if profile.is_empty() { String::new() } else { format!(" on {profile}") };
    if noted.content == report.content_digest(pin) {
        format!("{}{on}, {age}", noted.verdict)
    } else {
        format!("{}?{on}, {age}, changed since", noted.verdict)
    }
}

pub(super) fn describe_age(seconds: i64) -> String {
    match seconds.max(0) {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

pub(super) fn describe_activity(loaded: &Loaded, features: &BTreeSet<Name>, chosen: bool) -> String {
    if !loaded.overlay.active {
        return "stands back".to_owned();
    }
    let conditions = loaded.overlay.when.iter();
    let unmet: Vec<String> = conditions
        .filter(|c| features.contains(&c.feature) == c.negated)
        .map(|c| format!("{}{}", if c.negated { "!" } else { "" }, c.feature))
        .collect();
    match (unmet.is_empty(), chosen) {
        (true, _) => String::new(),
        (false, true) => format!("off: needs {}", unmet.join(", ")),
        (false, false) => format!("when {}", unmet.join(", ")),
    }
}

/// Whether the overlay can go by what the manifest says.
fn explain_drop_when(
    loaded: &Loaded,
    report: &OverlayReport,
    known: &drop_when::Known,
    pin: CommitId,
    ui: &mut Ui,
) {
    for note in &report.notes {
        ui.text(2, None, &format!("note: {}", for_terminal(note.to_string())));
    }
    let Some(when) = &loaded.overlay.drop_when else { return };
    let text = drop_when::text(&when.value, report, known, pin);
    ui.text(2, None, &format!("drop-when: {}", for_terminal(text)));
}

fn explain(loaded: &Loaded, row: &Row<'_>, is_narrow: bool, ui: &mut Ui) {
    let report = row.report;
    match &loaded.overlay.reason {
        Some(reason) => {
            let words: Vec<&str> = reason.value.split_whitespace().collect();
            let reason = format!(": {}", for_terminal(words.join(" ")));
            ui.text(0, Some((Tone::Strong, report.name.as_str())), &reason);
        }
        None => ui.line(Tone::Strong.paint(&report.name)),
    }
    let below = [("tests: ", &row.tests), ("last verdict: ", &row.verdict), ("", &row.activity)];
    for (what, text) in below.into_iter().filter(|(_, text)| is_narrow && !text.is_empty()) {
        ui.text(2, None, &format!("{what}{}", for_terminal(text)));
    }
    if let Some(why) = &report.why {
        ui.text(2, None, &format!("{}: {}", report.state, for_terminal(why)));
    }
    for path in &report.paths {
        let lines = path
            .against_pin
            .map_or_else(String::new, |(added, removed)| format!(" (+{added} -{removed} against the pin)"));
        ui.text(2, None, &format!("{}{lines}", for_terminal(path.path.as_bytes())));
        let why = format!(": {}", for_terminal(&path.why));
        ui.text(4, Some((tone(path.state), path.state.as_str())), &why);
        if let Some(by) = &path.by {
            ui.text(4, None, &format!("by {}", describe_commit(by)));
        }
        for commit in &path.undoes {
            ui.text(4, Some((Tone::Bad, "undoes")), &format!(" {}", describe_commit(commit)));
        }
        for commit in &path.included {
            ui.text(4, None, &format!("has {}", describe_commit(commit)));
        }
        let is_undone = |note: &&Note| match note {
            Note::Resurrects(found) => path.undoes.iter().any(|commit| commit.id == found.removed_by.id),
            _ => false,
        };
        // Which lines bring an undone commit's work back is in the JSON document.
        for note in path.notes.iter().filter(|note| !is_undone(note)) {
            ui.text(4, None, &format!("note: {}", for_terminal(note.to_string())));
        }
    }
}

/// Id, date and subject of a commit, on one line.
#[must_use]
pub fn describe_commit(commit: &Commit) -> String {
    format!("{} {} {}", commit.id.short(), date(commit.committed), for_terminal(&commit.subject))
}

/// A day as `2026-01-31`, in UTC.
#[must_use]
pub fn date(seconds: i64) -> String {
    let format = gix::date::time::format::SHORT;
    gix::date::Time::new(seconds, 0).format_or_unix(format)
}

fn summary(reports: &[OverlayReport]) -> String {
    let counts: Vec<String> = State::ALL
        .iter()
        .map(|state| (state, reports.iter().filter(|report| report.state == *state).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(state, count)| format!("{count} {state}"))
        .collect();
    let overlays = if reports.len() == 1 { "overlay" } else { "overlays" };
    format!("{} {overlays}: {}", reports.len(), counts.join(", "))
}

fn explain_accepted(loaded: &Loaded, report: &OverlayReport, pin: CommitId, ui: &mut Ui) {
    let text = match acceptance(&loaded.overlay, report, pin) {
        Acceptance::None => return,
        Acceptance::Holds(reason) => format!("accepted: {reason}"),
        Acceptance::Lapsed(why) => format!("accepted no more: {why}"),
    };
    ui.text(2, None, &for_terminal(text));
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(1_700_000_000), "2023-11-14");
        assert_eq!(date(-1), "1969-12-31");
    }
}
