//! Maps and curves below each other, as one SVG: inside the page, or a file of its own.

use std::fmt::Write;

use super::grid::Grid;
use super::{Look, curve, map};
use crate::report::page::html::{Text, shorten};

/// The width of a picture.
pub(super) const WIDTH: i64 = 600;
/// Where the columns begin: names of rows stand before them.
pub(super) const LEFT: i64 = 150;
/// Where they end.
pub(super) const RIGHT: i64 = WIDTH - 8;

/// What a file of its own needs to have colours. The page has the same classes.
const STYLE: &str = "text{font:11px system-ui,sans-serif;fill:#1f2328}.dim{fill:#57606a}.small{font-size:9px}.frame{stroke:#8c959f;fill:none}\
    .pass{fill:#1a7f37}.fail{fill:#cf222e}.flaky{fill:#9a6700}.measured{fill:#0969da}.open{fill:none;stroke:#57606a}\
    .line-without{stroke:#cf222e;fill:none;stroke-width:1.5}.line-with{stroke:#0969da;fill:none;stroke-width:4;stroke-linecap:round}\
    .bound{stroke:#1f2328;stroke-dasharray:5 3}.paper{fill:#fff}\
    @media(prefers-color-scheme:dark){text{fill:#e6edf3}.dim{fill:#9da7b1}.frame{stroke:#6e7681}.pass{fill:#3fb950}\
    .fail{fill:#ff7b72}.flaky{fill:#d29922}.measured{fill:#58a6ff}.open{stroke:#9da7b1}.line-without{stroke:#ff7b72}\
    .line-with{stroke:#58a6ff}.bound{stroke:#e6edf3}.paper{fill:#0d1117}}";

/// The picture as a part of a page. `id` is unique there.
#[must_use]
pub fn inline(grid: &Grid, id: &str) -> String {
    let (body, height) = draw(grid);
    let (title, words) = (title(grid), describe(grid));
    format!(
        "<svg class=\"picture\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\
         <title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>{body}</svg>",
        Text(title),
        Text(words)
    )
}

/// The pictures of several grids as a file.
#[must_use]
pub fn document(grids: &[Grid]) -> String {
    let mut body = String::new();
    let mut top = 0;
    for grid in grids {
        let (drawn, height) = draw(grid);
        let _ = write!(
            body,
            "<g transform=\"translate(0 {top})\"><title>{}</title><desc>{}</desc>{drawn}</g>",
            Text(title(grid)),
            Text(describe(grid))
        );
        top += height + 12;
    }
    let (legend, height) = legend(top);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" width=\"{WIDTH}\" role=\"img\">\
         <style>{STYLE}</style><rect class=\"paper\" width=\"100%\" height=\"100%\"/>{body}{legend}</svg>\n",
        top + height
    )
}

fn title(grid: &Grid) -> String {
    format!("Cells of {}", grid.test)
}

/// The picture in words.
fn describe(grid: &Grid) -> String {
    let mut words = format!(
        "{} against {}. ",
        grid.axis,
        if grid.rows.len() == 1 { "one row".to_owned() } else { format!("{} rows", grid.rows.len()) }
    );
    for place in &grid.places {
        let cells: Vec<Look> = place.cells.iter().flatten().flatten().map(|cell| cell.look).collect();
        let counts: Vec<String> = Look::ALL
            .into_iter()
            .map(|look| (look, cells.iter().filter(|l| **l == look).count()))
            .filter(|(_, count)| *count > 0)
            .map(|(look, count)| format!("{count} {}", look.as_str()))
            .collect();
        let _ = write!(words, "{}: {}. ", place.name, counts.join(", "));
    }
    words.push_str("The table beside it has the same.");
    words
}

fn draw(grid: &Grid) -> (String, i64) {
    let mut out = String::new();
    let mut top = 14;
    let hidden =
        if grid.hidden > 0 { format!(" ({} rows more are not drawn)", grid.hidden) } else { String::new() };
    let _ = write!(out, "<text x=\"0\" y=\"{top}\" class=\"head\">{}{hidden}</text>", Text(&grid.test));
    if !grid.rows_are.is_empty() {
        let rows_are = shorten(&grid.rows_are, 26);
        let _ = write!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" class=\"dim\">{}</text>",
            LEFT - 6,
            top + 19,
            Text(rows_are)
        );
    }
    top += 8;
    for place in &grid.places {
        top = map::draw(grid, place, top, &mut out);
    }
    top = map::axis(grid, top, &mut out);
    for at in ["witness", "pin"] {
        top = curve::draw(grid, at, top, &mut out);
    }
    (out, top)
}

/// What the shapes mean.
fn legend(top: i64) -> (String, i64) {
    let mut out = String::new();
    for (index, look) in [Look::Fail, Look::Flaky, Look::Pass, Look::Unrun].into_iter().enumerate() {
        let x = LEFT + i64::try_from(index).unwrap_or(0) * 90;
        map::bars(&[(x, x + 14, look)], top, 12, &mut out);
        let _ = write!(out, "<text x=\"{}\" y=\"{}\">{}</text>", x + 20, top + 10, look.as_str());
    }
    (out, 22)
}
