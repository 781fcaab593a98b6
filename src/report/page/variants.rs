//! The table of the four variants: cases that come out alike are one row.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::html::{Text, shorten};
use crate::kernel_test::{CaseKey, ranges};
use crate::report::picture::Look;
use crate::verdict::{CellRow, CellView, Decision};

type Column = fn(&CellRow) -> Option<&CellView>;

const COLUMNS: [(&str, Column); 4] = [
    ("witness, without", |row| row.witness_without.as_ref()),
    ("witness, with", |row| row.witness_with.as_ref()),
    ("pin, without", |row| Some(&row.pin_without)),
    ("pin, with", |row| Some(&row.pin_with)),
];

/// What stands at the pin where an overlay is taken out.
pub(super) const WITHOUT: &str = "the pin with all other overlays";

/// The rows of a decision, test by test.
#[must_use]
pub(super) fn by_test(decision: &Decision) -> BTreeMap<&str, Vec<&CellRow>> {
    let mut tests: BTreeMap<&str, Vec<&CellRow>> = BTreeMap::new();
    for row in &decision.cells {
        tests.entry(row.test.as_str()).or_default().push(row);
    }
    tests
}

/// The table of a test.
pub(super) fn table(test: &str, overlay: &str, rows: &[&CellRow], asks_witness: bool, out: &mut String) {
    // The witness is asked only where the pin does not decide; then each table of the proof has its columns.
    let columns: Vec<(&str, Column)> =
        COLUMNS.into_iter().filter(|(name, _)| name.starts_with("pin") || asks_witness).collect();
    let mut groups: BTreeMap<Vec<Look>, Vec<&CellRow>> = BTreeMap::new();
    for row in rows.iter().filter(|row| says_something(row, rows.len())) {
        let looks = columns.iter().map(|(_, column)| column(row).map_or(Look::Absent, Look::of)).collect();
        groups.entry(looks).or_default().push(row);
    }
    // Building and running are no cases.
    let count = match rows.iter().filter(|row| row.is_case()).count() {
        0 => groups.values().map(Vec::len).sum(),
        cases => cases,
    };
    let keys: Vec<CaseKey> = rows.iter().filter_map(|row| key(row)).collect();
    let mut groups: Vec<_> = groups.into_iter().collect();
    // What fails somewhere is read first.
    groups.sort_by_key(|(looks, _)| !looks.iter().any(|look| matches!(look, Look::Fail | Look::Flaky)));
    let _ = write!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Results of {0}, {3}\"><table class=\"cells\">\
         <caption><code>{0}</code>, {1} {2}. Without: {WITHOUT}.</caption><thead><tr><th scope=\"col\">cases</th>",
        Text(test),
        count,
        if count == 1 { "case" } else { "cases" },
        Text(overlay)
    );
    for (name, _) in &columns {
        let _ = write!(out, "<th scope=\"col\">{name}</th>");
    }
    out.push_str("</tr></thead><tbody>");
    for (looks, group) in groups {
        let chosen: Vec<(&CaseKey, bool)> =
            keys.iter().map(|key| (key, group.iter().any(|row| row.case == key.as_str()))).collect();
        let _ = write!(out, "<tr><th scope=\"row\"><strong>{}</strong>", group.len());
        for line in ranges::describe(&chosen) {
            let _ = write!(out, " <span class=\"which\">{}</span>", Text(shorten(&line, 300)));
        }
        out.push_str("</th>");
        for (look, (_, column)) in looks.into_iter().zip(&columns) {
            cell(look, &group, *column, out);
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}

/// Building and running are rows of their own only where they do not simply pass.
fn says_something(row: &CellRow, of: usize) -> bool {
    let is_pseudo = key(row).is_some_and(|key| key.is_pseudo());
    let mut views = COLUMNS.iter().filter_map(|(_, column)| column(row));
    !is_pseudo || of == 1 || !views.all(|view| matches!(view.outcome, "pass" | "missing" | "not run"))
}

fn key(row: &CellRow) -> Option<CaseKey> {
    serde_json::from_value(row.case.as_str().into()).ok()
}

fn cell(look: Look, group: &[&CellRow], column: Column, out: &mut String) {
    let views: Vec<&CellView> = group.iter().filter_map(|row| column(row)).collect();
    let worst = views.iter().filter_map(|view| view.value).max_by(f64::total_cmp);
    let worst = worst.map(|value| format!(" <span class=\"worst\">worst {}</span>", number(value)));
    // That it was not run is said by the look.
    let how = views.iter().find_map(|view| view.text.as_deref()).filter(|how| *how != "not run yet");
    let how = how.map(|how| format!("<br><small>{}</small>", Text(shorten(how, 160))));
    let _ = write!(
        out,
        "<td><span class=\"sign {}\" aria-hidden=\"true\">{}</span> {}{}{}</td>",
        look.class(),
        look.sign(),
        look.as_str(),
        worst.unwrap_or_default(),
        how.unwrap_or_default()
    );
}

/// A figure, short enough for a table.
fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (0.001..10_000.0).contains(&size) {
        let text = format!("{value:.4}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    format!("{value:.2e}")
}
