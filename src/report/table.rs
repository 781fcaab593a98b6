//! Cells of a decision as the few rows of a report: cases that come out alike are one row.
//!
//! Decides how they are put together. A row says nothing that does not hold for each of its cases.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::id::Name;
use crate::kernel_test::{CaseKey, Figure, ranges};
use crate::verdict::{CellRow, CellView, Decision, Pair, Proof, State, Witness};

/// A test's cases, put together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestTable {
    /// The test.
    pub test: String,
    /// How many cases it has.
    pub cases: usize,
    /// What is measured, if all cases measure the same.
    pub metric: Option<String>,
    /// The bound, if all cases have the same.
    pub bound: Option<String>,
    /// Cases that come out alike.
    pub rows: Vec<Row>,
    /// Whether the witness is another commit than the pin, and a test was run there.
    pub has_witness: bool,
}

/// Cases that come out alike on all variants.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Which: `axis 257..512 (34 of 34), dtype bf16`.
    pub which: Vec<String>,
    /// How many.
    pub count: usize,
    /// At the pin without the overlay.
    pub pin_without: Side,
    /// With it.
    pub pin_with: Side,
    /// At the witness without it.
    pub witness_without: Option<Side>,
    /// With it.
    pub witness_with: Option<Side>,
    /// Whether one of them fails somewhere.
    pub fails: bool,
}

/// What some cases come to on one variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// One word: `pass`, `fail`, ...
    pub outcome: String,
    /// The worst figure.
    pub worst: Option<String>,
    /// The case that has it.
    pub worst_case: Option<String>,
    /// How they fail, or why it is not known, where that is the same for all.
    pub how: Option<String>,
}

/// The tables of a decision, one a test.
#[must_use]
pub fn tables(decision: &Decision, proof: &Proof) -> Vec<TestTable> {
    let mut by_test: BTreeMap<&Name, Vec<&CellRow>> = BTreeMap::new();
    for row in decision.cells.iter().filter(|row| !is_a_matter_of_course(row)) {
        by_test.entry(&row.test).or_default().push(row);
    }
    let mut tables: Vec<TestTable> =
        by_test.into_iter().map(|(test, rows)| table(test, &rows, proof)).collect();
    // All tables of a proof have the same columns, so that a test that was not run at the witness says so.
    let has_witness = tables.iter().any(|table| table.has_witness);
    for table in &mut tables {
        table.has_witness = has_witness;
    }
    tables
}

/// That it builds and runs on both sides is no case of a test.
fn is_a_matter_of_course(row: &CellRow) -> bool {
    let passes = row.pin_without.outcome == "pass" && row.pin_with.outcome == "pass";
    passes && key(&row.case).is_some_and(|key| key.is_pseudo())
}

type Signature = [Option<&'static str>; 4];

fn table(test: &Name, rows: &[&CellRow], proof: &Proof) -> TestTable {
    // Building and sanitizers have no figures: they are rows of their own.
    let mut groups: BTreeMap<(bool, Signature), Vec<&CellRow>> = BTreeMap::new();
    let is_pseudo = |row: &CellRow| key(&row.case).is_some_and(|key| key.is_pseudo());
    for row in rows {
        let outcome = |view: &Option<CellView>| view.as_ref().map(|view| view.outcome);
        let signature = [
            Some(row.pin_without.outcome),
            Some(row.pin_with.outcome),
            outcome(&row.witness_without),
            outcome(&row.witness_with),
        ];
        groups.entry((is_pseudo(row), signature)).or_default().push(row);
    }
    let keys: Vec<CaseKey> = rows.iter().filter_map(|row| key(&row.case)).collect();
    let figures = figures(test, proof);
    let one = |values: Vec<Option<String>>| -> Option<String> {
        let first = values.first()?.clone()?;
        values.iter().all(|value| value.as_ref() == Some(&first)).then_some(first)
    };
    let mut made: Vec<Row> = groups
        .into_values()
        .map(|group| {
            let chosen: Vec<(&CaseKey, bool)> =
                keys.iter().map(|key| (key, group.iter().any(|row| row.case == key.as_str()))).collect();
            let side = |view: &dyn Fn(&CellRow) -> Option<CellView>| side(&group, view);
            Row {
                which: ranges::describe(&chosen),
                count: group.len(),
                pin_without: side(&|row| Some(row.pin_without.clone())).unwrap_or_else(nothing),
                pin_with: side(&|row| Some(row.pin_with.clone())).unwrap_or_else(nothing),
                witness_without: side(&|row| row.witness_without.clone()),
                witness_with: side(&|row| row.witness_with.clone()),
                fails: group
                    .iter()
                    .any(|row| row.pin_without.outcome != "pass" || row.pin_with.outcome != "pass"),
            }
        })
        .collect();
    // What fails is read first.
    made.sort_by_key(|row| (!row.fails, std::cmp::Reverse(row.count)));
    let has_witness =
        made.iter().any(|row| row.witness_without.as_ref().is_some_and(|s| s.outcome != "not run"));
    TestTable {
        test: test.to_string(),
        cases: match rows.iter().filter(|row| !is_pseudo(row)).count() {
            0 => rows.len(),
            cases => cases,
        },
        metric: one(figures.iter().map(|figure| Some(figure.metric.clone())).collect()),
        bound: one(figures.iter().map(|figure| figure.max.map(number)).collect()),
        rows: made,
        has_witness,
    }
}

fn nothing() -> Side {
    Side { outcome: "missing".to_owned(), worst: None, worst_case: None, how: None }
}

fn key(text: &str) -> Option<CaseKey> {
    serde_json::from_value(text.into()).ok()
}

fn side(group: &[&CellRow], view: &dyn Fn(&CellRow) -> Option<CellView>) -> Option<Side> {
    let views: Vec<(&CellRow, CellView)> = group.iter().filter_map(|row| Some((*row, view(row)?))).collect();
    let (_, first) = views.first()?;
    let worst = views
        .iter()
        .filter_map(|(row, view)| Some((view.value?, &row.case)))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let same_how = views.iter().all(|(_, view)| view.text == first.text);
    Some(Side {
        outcome: first.outcome.to_owned(),
        worst: worst.map(|(value, _)| number(value)),
        worst_case: worst.map(|(_, case)| plain_case(case)),
        how: first.text.clone().filter(|_| same_how),
    })
}

/// A case in words: `axis 512, dtype bf16`.
#[must_use]
pub fn plain_case(case: &str) -> String {
    let Some(object) = key(case).and_then(|key| key.object()) else { return case.to_owned() };
    let value = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    object.iter().map(|(name, v)| format!("{name} {}", value(v))).collect::<Vec<_>>().join(", ")
}

/// A figure, short enough for a table.
#[must_use]
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || ((0.001..10_000.0).contains(&size)) {
        let text = format!("{value:.4}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        return text.to_owned();
    }
    format!("{value:.2e}")
}

/// The figures that a test reports at the pin, in any run.
fn figures(test: &Name, proof: &Proof) -> Vec<Figure> {
    let witness = match &proof.witness {
        Witness::At(place) => place.get(test),
        Witness::IsPin => None,
    };
    let states = |pair: &Pair| [pair.without.clone(), pair.with.clone()];
    proof
        .pin
        .get(test)
        .into_iter()
        .chain(witness)
        .flat_map(states)
        .filter_map(|state| match state {
            State::Ran(ran) => Some(ran),
            _ => None,
        })
        .flat_map(|ran| ran.runs.into_iter().flat_map(|run| run.cells))
        .filter_map(|cell| cell.figure)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_exact_enough() {
        let shown = [0.0, 0.01, 0.94123456, 1.0, 12.5, 123_456.0, 3.2e-7].map(number);
        assert_eq!(shown, ["0", "0.01", "0.9412", "1", "12.5", "1.23e5", "3.20e-7"]);
    }

    #[test]
    fn a_case_is_told_in_words() {
        assert_eq!(plain_case(r#"{"axis":512,"dtype":"bf16"}"#), "axis 512, dtype bf16");
        assert_eq!(plain_case("suite.name"), "suite.name");
    }
}
