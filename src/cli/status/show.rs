//! What a person sees: a table, what its words mean, and below it why each overlay is what it is.

use std::collections::BTreeSet;

use crate::accept::{Acceptance, acceptance};
use crate::escape::for_terminal;
use crate::id::{CommitId, Name};
use crate::io::lab::records::now;
use crate::io::verdicts::Noted;
use crate::io::workspace::Workspace;
use crate::manifest::Profile;
use crate::overlay::Loaded;
use crate::provenance::{NoBranch, Note, OverlayReport, State};
use crate::report::hand::Hand;

use super::super::table::{self, Column, TableCell};
use super::super::{Tone, Ui, legend};
use super::words::{describe_activity, describe_age, describe_change, describe_commit};
use super::{drop_when, order};

/// The profile and features under which overlays are shown.
pub struct On<'a> {
    /// The profile.
    pub profile: Option<&'a Profile>,
    /// What is on.
    pub features: BTreeSet<Name>,
    /// Whether somebody chose that.
    pub is_chosen: bool,
}

/// What is shown of an overlay.
struct Row<'a> {
    loaded: &'a Loaded,
    report: &'a OverlayReport,
    hand: Hand,
    change: String,
    verdict: String,
    proven: String,
    tests: String,
    activity: String,
}

impl Row<'_> {
    /// Whether a rival is applied instead of it: then there is nothing to do about it, and nothing to keep.
    fn is_waiting(&self) -> bool {
        !self.loaded.overlay.active && self.hand == Hand::Keep
    }
}

/// A column that can be left out where there is no room, and what stands before its text below the table then.
struct Spare {
    heading: &'static str,
    below: &'static str,
    text: for<'a> fn(&'a Row<'_>) -> &'a str,
}

/// The first one is left out first.
const SPARE: [Spare; 4] = [
    Spare { heading: "tests", below: "tests: ", text: |row| &row.tests },
    Spare { heading: "proven", below: "proven ", text: |row| &row.proven },
    Spare { heading: "", below: "", text: |row| &row.activity },
    Spare { heading: "changes", below: "changes ", text: |row| &row.change },
];

/// Shows the overlays of an upstream.
pub fn print(
    workspace: &Workspace,
    on: &On<'_>,
    loaded: &[&Loaded],
    reports: &[OverlayReport],
    no_branch: Option<&NoBranch>,
    ui: &mut Ui,
) {
    let upstream = &workspace.manifest.upstream;
    let pin = upstream.pin.value;
    let missing = no_branch.map_or_else(String::new, |no_branch| format!(", {}", no_branch.in_few_words()));
    let branch =
        upstream.branch.as_ref().map(|branch| format!(" ({}{missing})", for_terminal(&branch.value)));
    ui.line(format_args!(
        "{} at {pin}{}",
        Tone::Strong.paint(&upstream.name.value),
        branch.unwrap_or_default()
    ));
    if loaded.is_empty() {
        ui.line("no overlays");
        return;
    }
    let docs = workspace.root.join(workspace.manifest.docs_folder());
    let known = drop_when::Known::load(&docs, upstream.name.as_str());
    let rows: Vec<Row> =
        loaded.iter().zip(reports).map(|(loaded, report)| row(loaded, report, on, &known, pin)).collect();
    let hands: Vec<Hand> = rows.iter().map(|row| row.hand).collect();
    let rows: Vec<&Row> = order::by_need(&hands).into_iter().map(|at| &rows[at]).collect();
    let (shown, left_out) = table(&rows, ui.line_width());
    ui.line(shown);
    let has_doubt = rows.iter().any(|row| row.verdict.ends_with('?'));
    let shown: Vec<Hand> = rows.iter().filter(|row| !row.is_waiting()).map(|row| row.hand).collect();
    for line in legend::lines(&order::legend(&shown, reports, has_doubt), ui.line_width()) {
        ui.line(line);
    }
    ui.line(format_args!("{}\n", Tone::Dim.paint("more about a word: overlaid status --explain WORD")));
    for row in &rows {
        explain(row, &left_out, ui);
        explain_accepted(row.loaded, row.report, pin, ui);
        explain_drop_when(row.loaded, row.report, &known, pin, ui);
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

fn row<'a>(
    loaded: &'a Loaded,
    report: &'a OverlayReport,
    on: &On<'_>,
    known: &drop_when::Known,
    pin: CommitId,
) -> Row<'a> {
    let last = known.verdicts.last(report.name.as_str(), on.profile.map(|p| p.name.as_str()));
    let activity = describe_activity(loaded, &on.features, on.is_chosen);
    let is_off = !activity.is_empty();
    let (verdict, proven) =
        last.map(|(profile, noted)| verdict(profile, noted, report, pin)).unwrap_or_default();
    Row {
        loaded,
        report,
        hand: order::hand(
            loaded,
            report,
            last.map(|(_, noted)| noted),
            last.is_some_and(|(_, noted)| known.contradicts(report.name.as_str(), &noted.verdict, pin)),
            is_off,
            pin,
        ),
        change: describe_change(report),
        verdict,
        proven,
        tests: loaded.overlay.tests.iter().map(|test| test.as_str()).collect::<Vec<_>>().join(", "),
        activity,
    }
}

/// The last verdict, with a question mark if pin or overlay have changed since; and where and when it was given.
fn verdict(profile: &str, noted: &Noted, report: &OverlayReport, pin: CommitId) -> (String, String) {
    let age = describe_age(now() - noted.recorded);
    let on = if profile.is_empty() { String::new() } else { format!("on {profile}, ") };
    if noted.content == report.content_digest(pin) {
        (for_terminal(&noted.verdict), format!("{}{age}", for_terminal(&on)))
    } else {
        (format!("{}?", for_terminal(&noted.verdict)), format!("{}{age}, changed since", for_terminal(&on)))
    }
}

/// The table, as far as there is room for it, and which of the spare columns are not in it.
fn table(rows: &[&Row<'_>], width: Option<usize>) -> (String, Vec<usize>) {
    let column = |heading: &'static str, cell: &dyn Fn(&Row<'_>) -> TableCell| Column {
        heading,
        cells: rows.iter().map(|row| cell(row)).collect(),
    };
    let spare = |at: usize| column(SPARE[at].heading, &|row| for_terminal((SPARE[at].text)(row)).into());
    let undoes = |row: &Row<'_>| match row.report.undoes().len() {
        0 => "".into(),
        count => Tone::Bad.cell(count.to_string()),
    };
    let mut left_out = Vec::new();
    loop {
        let is_in = |at: &usize| !left_out.contains(at);
        let mut columns = vec![
            column("overlay", &|row| row.report.name.as_str().into()),
            column("to do", &|row| match row.is_waiting() {
                true => "".into(),
                false => order::tone(row.hand).cell(row.hand.as_str()),
            }),
            column("state", &|row| tone(row.report.state).cell(row.report.state.as_str())),
        ];
        columns.extend([3].iter().filter(|at| is_in(at)).map(|at| spare(*at)));
        columns.push(column("undoes", &undoes));
        columns.push(column("verdict", &|row| row.verdict.as_str().into()));
        columns.extend([1, 0, 2].iter().filter(|at| is_in(at)).map(|at| spare(*at)));
        columns.retain(Column::has_text);
        let is_last = left_out.len() == SPARE.len();
        let shown = table::columns(&columns, width.filter(|_| is_last));
        if is_last || width.is_none_or(|width| table::width_of(&shown) <= width) {
            return (shown, left_out);
        }
        left_out.push(left_out.len());
    }
}

/// How a state is meant.
#[must_use]
pub fn tone(state: State) -> Tone {
    match state {
        State::Fresh | State::New => Tone::Good,
        State::StaleClean | State::Redundant | State::Absorbed | State::Backport => Tone::Warning,
        _ => Tone::Bad,
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

fn explain(row: &Row<'_>, left_out: &[usize], ui: &mut Ui) {
    let report = row.report;
    match &row.loaded.overlay.reason {
        Some(reason) => {
            let words: Vec<&str> = reason.value.split_whitespace().collect();
            let reason = format!(": {}", for_terminal(words.join(" ")));
            ui.text(0, Some((Tone::Strong, report.name.as_str())), &reason);
        }
        None => ui.line(Tone::Strong.paint(&report.name)),
    }
    for spare in left_out.iter().map(|at| &SPARE[*at]) {
        let text = (spare.text)(row);
        if !text.is_empty() {
            ui.text(2, None, &format!("{}{}", spare.below, for_terminal(text)));
        }
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
