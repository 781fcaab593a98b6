//! The map: a bar for each stretch of cases that come out alike.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Look;
use super::grid::{Grid, Place};
use super::svg::{LEFT, RIGHT};
use crate::report::page::html::{Text, shorten};

/// Draws a variant; gives where the next thing begins.
pub(super) fn draw(grid: &Grid, place: &Place, top: i64, out: &mut String) -> i64 {
    let height = if grid.rows.len() > 8 { 9 } else { 13 };
    let mut top = top + 14;
    let _ = write!(out, "<text x=\"{LEFT}\" y=\"{}\" class=\"dim\">{}</text>", top - 3, place.name);
    for (row, cells) in place.cells.iter().enumerate() {
        let mut runs: Vec<(i64, i64, Look)> = Vec::new();
        for (column, cell) in cells.iter().enumerate() {
            let Some(cell) = cell else { continue };
            let (from, to) = span(column, cells.len());
            match runs.last_mut() {
                Some(last) if last.2 == cell.look && last.1 >= from => last.1 = to,
                _ => runs.push((from, to, cell.look)),
            }
        }
        let name = shorten(&grid.rows[row], 26);
        let _ = write!(
            out,
            "<text class=\"{}\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            if grid.rows.len() > 8 { "small" } else { "row" },
            LEFT - 6,
            top + height - 2,
            Text(name)
        );
        bars(&runs, top, height - 1, out);
        top += height + 2;
    }
    top
}

/// Where a column stands, from and to.
pub(super) fn span(column: usize, of: usize) -> (i64, i64) {
    let at = |column: usize| {
        let (column, of) = (i64::try_from(column).unwrap_or(0), i64::try_from(of).unwrap_or(1).max(1));
        LEFT + (RIGHT - LEFT) * column / of
    };
    (at(column), at(column + 1).max(at(column) + 1))
}

/// Bars of one row: one path for each look, letters where there is room.
pub(super) fn bars(runs: &[(i64, i64, Look)], top: i64, height: i64, out: &mut String) {
    let mut paths: BTreeMap<Look, String> = BTreeMap::new();
    for (from, to, look) in runs {
        let width = if to - from > 3 { to - from - 1 } else { to - from };
        let tall = match look {
            Look::Pass => (height / 3).max(2),
            Look::Flaky | Look::Measured => height * 2 / 3,
            _ => height,
        };
        let path = paths.entry(*look).or_default();
        let _ = write!(path, "M{from} {}h{width}v{tall}h-{width}z", top + height - tall);
    }
    for (look, path) in paths {
        let _ = write!(out, "<path class=\"{}\" d=\"{path}\"/>", look.class());
    }
    if runs.len() > 12 {
        return;
    }
    for (from, to, look) in runs.iter().filter(|(from, to, look)| to - from > 11 && look.class() == "open") {
        let middle = (from + to) / 2;
        let _ = write!(
            out,
            "<text class=\"dim\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            top + height - 2,
            look.sign()
        );
    }
}

/// The values below the columns.
pub(super) fn axis(grid: &Grid, top: i64, out: &mut String) -> i64 {
    let count = grid.columns.len();
    let _ = write!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" class=\"dim\">{}</text>",
        LEFT - 6,
        top + 12,
        Text(shorten(&grid.axis, 26))
    );
    let mut free = 0;
    for (column, value) in grid.columns.iter().enumerate() {
        let (from, to) = span(column, count);
        let middle = (from + to) / 2;
        let width = i64::try_from(value.chars().count()).unwrap_or(8) * 7;
        if middle - width / 2 < free || middle + width / 2 > RIGHT + 8 {
            continue;
        }
        free = middle + width / 2 + 6;
        let _ = write!(
            out,
            "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\" class=\"dim\">{}</text>",
            top + 12,
            Text(value)
        );
    }
    top + 20
}
