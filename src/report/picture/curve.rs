//! The figures of a test on a scale of powers of ten, with the bound as a line: crosses without the overlay, dots with.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::grid::Grid;
use super::map::span;
use super::svg::{LEFT, RIGHT};
use crate::report::page::html::{Text, shorten};

const HEIGHT: i64 = 96;

/// Draws the figures at the witness or at the pin, if there are any; gives where the next thing begins.
pub(super) fn draw(grid: &Grid, at: &str, top: i64, out: &mut String) -> i64 {
    let of = |side: &str| {
        let place = grid.places.iter().find(|place| place.name == format!("{at} {side}"));
        let cells = place.into_iter().flat_map(|place| &place.cells);
        let cells = cells.flat_map(|row| row.iter().enumerate());
        let points = cells.filter_map(|(column, cell)| Some((column, (*cell)?.value?)));
        points.filter(|(_, value)| value.is_finite()).collect::<Vec<(usize, f64)>>()
    };
    let (without, with) = (of("without"), of("with"));
    if without.is_empty() && with.is_empty() {
        return top;
    }
    let bound = grid.bound.max.filter(|max| *max > 0.0);
    let sizes: Vec<f64> =
        without.iter().chain(&with).map(|(_, value)| value.abs()).chain(bound).filter(|v| *v > 0.0).collect();
    let (Some(low), Some(high)) =
        (sizes.iter().copied().reduce(f64::min), sizes.iter().copied().reduce(f64::max))
    else {
        return top;
    };
    // The lowest line is for figures of nothing at all, and for what is far below all else.
    let (low, high) = (low.log10().floor().max(high.log10().ceil() - 12.0), high.log10().ceil());
    let decades = (high - low).max(1.0);
    let top = top + 16;
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a place in a picture")]
    let y = |value: f64| {
        let share = if value == 0.0 { 0.0 } else { ((value.abs().log10() - low) / decades).clamp(0.0, 1.0) };
        top + HEIGHT - 6 - (share * (HEIGHT - 10) as f64) as i64
    };
    let metric = if grid.bound.metric.is_empty() { "figure" } else { &grid.bound.metric };
    let _ = write!(
        out,
        "<text x=\"{LEFT}\" y=\"{}\" class=\"dim\">{} at the {at}: × without, • with</text>\
         <rect class=\"frame\" x=\"{LEFT}\" y=\"{top}\" width=\"{}\" height=\"{HEIGHT}\"/>",
        top - 4,
        Text(shorten(metric, 40)),
        RIGHT - LEFT
    );
    // Where the bound is named, there is no room for another figure.
    let is_free = |power: &f64| bound.is_none_or(|max| (y(max) - y(10f64.powf(*power))).abs() > 11);
    for power in [low, high].into_iter().filter(is_free) {
        let _ = write!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" class=\"dim\">1e{}</text>",
            LEFT - 6,
            (y(10f64.powf(power)) + 4).max(top + 8),
            power + 0.0
        );
    }
    if let Some(max) = bound {
        let line = y(max);
        let _ = write!(
            out,
            "<path class=\"bound\" d=\"M{LEFT} {line}H{RIGHT}\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\">max {max}</text>",
            LEFT - 6,
            line + 4
        );
    }
    let columns = grid.columns.len();
    let place = |points: &[(usize, f64)]| -> BTreeSet<(i64, i64)> {
        let middle = |column| {
            let (from, to) = span(column, columns);
            (from + to) / 2
        };
        points.iter().map(|(column, value)| (middle(*column), y(*value))).collect()
    };
    let dots = marks(place(&with), (0, 0), "h0", (0, 0));
    let crosses = marks(place(&without), (-3, -3), "l6 6m0-6l-6 6", (-3, 3));
    let _ =
        write!(out, "<path class=\"line-with\" d=\"{dots}\"/><path class=\"line-without\" d=\"{crosses}\"/>");
    top + HEIGHT + 6
}

/// A path with a mark at each point. A mark begins and ends beside its point; what is between two marks is written from the end of
/// the one to the begin of the other, since there can be many.
fn marks(points: BTreeSet<(i64, i64)>, begin: (i64, i64), mark: &str, end: (i64, i64)) -> String {
    let mut path = String::new();
    let mut at: Option<(i64, i64)> = None;
    for (x, y) in points {
        let (from_x, from_y) = (x + begin.0, y + begin.1);
        let (command, x_part, y_part) = match at {
            None => ('M', from_x, from_y),
            Some((last_x, last_y)) => ('m', from_x - last_x, from_y - last_y),
        };
        // A sign parts two numbers as well as a space.
        let gap = if y_part < 0 { "" } else { " " };
        let _ = write!(path, "{command}{x_part}{gap}{y_part}{mark}");
        at = Some((x + end.0, y + end.1));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_at_their_points() {
        let points = BTreeSet::from([(10, 20), (19, 5), (19, 50)]);
        assert_eq!(marks(points.clone(), (0, 0), "h0", (0, 0)), "M10 20h0m9-15h0m0 45h0");
        // A cross goes from -3,-3 to 3,3, back up to 3,-3 and to -3,3: the next one begins from there.
        assert_eq!(
            marks(points, (-3, -3), "l6 6m0-6l-6 6", (-3, 3)),
            "M7 17l6 6m0-6l-6 6m9-21l6 6m0-6l-6 6m0 39l6 6m0-6l-6 6"
        );
    }
}
