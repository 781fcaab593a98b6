//! Where each case of a test stands: its column on the axis, its row by all that else names it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Bound, Look, views};
use crate::kernel_test::{CaseKey, ranges};
use crate::verdict::CellRow;

/// How many rows are drawn.
const ROWS: usize = 24;

/// The cases of a test as columns and rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// The test.
    pub test: String,
    /// What the columns are.
    pub axis: String,
    /// The values of the axis.
    pub columns: Vec<String>,
    /// What names a row: `dtype, rows`.
    pub rows_are: String,
    /// The rows: `bf16, 3`.
    pub rows: Vec<String>,
    /// How many rows are not drawn.
    pub hidden: usize,
    /// The variants.
    pub places: Vec<Place>,
    /// The bound.
    pub bound: Bound,
}

impl Grid {
    /// Whether every case passes on every variant: then there is little to see.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.places
            .iter()
            .flat_map(|place| &place.cells)
            .flatten()
            .flatten()
            .all(|cell| cell.look == Look::Pass)
    }
}

/// A variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// `pin without`.
    pub name: &'static str,
    /// Row by row, column by column; `None`: no such case.
    pub cells: Vec<Vec<Option<Cell>>>,
}

/// A case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// What it came to.
    pub look: Look,
    /// Its worst figure.
    pub value: Option<f64>,
}

const NAMES: [&str; 4] = ["witness without", "witness with", "pin without", "pin with"];

/// The grids of a test: one for the cases that have the axis, one for the others. Pseudo-cases are in none.
#[must_use]
pub fn grids(test: &str, rows: &[&CellRow], bound: &Bound) -> Vec<Grid> {
    let keys: Vec<(CaseKey, &CellRow)> = rows
        .iter()
        .filter_map(|row| Some((serde_json::from_value::<CaseKey>(row.case.as_str().into()).ok()?, *row)))
        .filter(|(key, _)| !key.is_pseudo())
        .collect();
    let axis = ranges::axis(keys.iter().map(|(key, _)| key));
    let mut kinds: Option<Vec<String>> = None;
    let mut along: Vec<(f64, String, &CellRow)> = Vec::new();
    let mut others: Vec<(f64, String, &CellRow)> = Vec::new();
    for (key, row) in &keys {
        let object = key.object();
        let at = axis.as_ref().and_then(|axis| object.as_ref()?.get(axis)?.as_f64());
        match (at, object) {
            (Some(at), Some(object)) => {
                let rest = object.iter().filter(|(name, _)| Some(*name) != axis.as_ref());
                let rest: BTreeMap<&String, String> =
                    rest.map(|(name, value)| (name, plain(value))).collect();
                kinds.get_or_insert_with(|| rest.keys().map(|name| (*name).clone()).collect::<Vec<_>>());
                let rest: Vec<String> = rest.into_values().collect();
                along.push((at, rest.join(", "), row));
            }
            #[allow(clippy::cast_precision_loss, reason = "a place in a list")]
            _ => others.push((others.len() as f64, String::new(), row)),
        }
    }
    let with_axis = axis.filter(|_| !along.is_empty()).map(|axis| {
        let kinds = kinds.unwrap_or_default().join(", ");
        grid(test, [&axis, &kinds], along, bound)
    });
    let without = (!others.is_empty()).then(|| grid(test, ["cases in their order", ""], others, bound));
    with_axis.into_iter().chain(without).collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

fn grid(test: &str, [axis, rows_are]: [&str; 2], cases: Vec<(f64, String, &CellRow)>, bound: &Bound) -> Grid {
    let columns: BTreeSet<Ordered> = cases.iter().map(|(at, ..)| Ordered(*at)).collect();
    let columns: Vec<Ordered> = columns.into_iter().collect();
    let mut kinds: BTreeMap<&str, Vec<&(f64, String, &CellRow)>> = BTreeMap::new();
    for case in &cases {
        kinds.entry(&case.1).or_default().push(case);
    }
    let fails = |cases: &[&(f64, String, &CellRow)]| {
        let bad = |row: &CellRow| {
            views(row).into_iter().flatten().any(|v| matches!(Look::of(v), Look::Fail | Look::Flaky))
        };
        cases.iter().any(|(_, _, row)| bad(row))
    };
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    let hidden = kinds.len().saturating_sub(ROWS);
    if hidden > 0 {
        kinds.sort_by_key(|(_, cases)| !fails(cases));
        kinds.truncate(ROWS);
    }
    let mut places = Vec::new();
    for (index, name) in NAMES.into_iter().enumerate() {
        let mut cells = vec![vec![None; columns.len()]; kinds.len()];
        let mut is_known = false;
        for (row, (_, cases)) in kinds.iter().enumerate() {
            for (at, _, case) in cases {
                let Some(view) = views(case)[index] else { continue };
                let column = columns.binary_search(&Ordered(*at)).unwrap_or(0);
                is_known |= !matches!(view.outcome, "not run" | "missing");
                cells[row][column] = Some(Cell { look: Look::of(view), value: view.value });
            }
        }
        // A witness that was not asked has nothing to show.
        if is_known || index > 1 {
            places.push(Place { name, cells });
        }
    }
    Grid {
        test: test.to_owned(),
        axis: axis.to_owned(),
        rows_are: rows_are.to_owned(),
        columns: columns.into_iter().map(|at| at.0.to_string()).collect(),
        rows: kinds.iter().map(|(kind, _)| (*kind).to_owned()).collect(),
        hidden,
        places,
        bound: bound.clone(),
    }
}

#[derive(Debug, Clone, Copy)]
struct Ordered(f64);

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Ordered {}
impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
