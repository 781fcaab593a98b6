//! Rows of text in aligned columns.

use super::ui::Tone;

/// A cell: text, and how it is meant.
#[derive(Debug, Clone)]
pub struct TableCell {
    text: String,
    tone: Option<Tone>,
}

impl<T: Into<String>> From<T> for TableCell {
    fn from(text: T) -> Self {
        Self { text: text.into(), tone: None }
    }
}

impl Tone {
    /// A cell in this tone.
    #[must_use]
    pub fn cell(self, text: impl Into<String>) -> TableCell {
        TableCell { text: text.into(), tone: Some(self) }
    }
}

/// Renders rows with two spaces between columns; the first row is the heading. Trailing spaces are left out.
#[must_use]
pub fn render(heading: &[&str], rows: &[Vec<TableCell>]) -> String {
    let heading: Vec<TableCell> = heading.iter().map(|text| Tone::Dim.cell(*text)).collect();
    let rows: Vec<&Vec<TableCell>> = std::iter::once(&heading).chain(rows).collect();
    let columns = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| rows.iter().filter_map(|row| row.get(column)).map(width).max().unwrap_or(0))
        .collect();
    let mut table = String::new();
    for row in rows {
        let last = row.iter().rposition(|cell| !cell.text.is_empty());
        for (column, cell) in row.iter().enumerate().take(last.map_or(0, |last| last + 1)) {
            let text = match cell.tone {
                Some(tone) if !cell.text.is_empty() => tone.paint(&cell.text),
                _ => cell.text.clone(),
            };
            table.push_str(&text);
            if Some(column) != last {
                table.extend(std::iter::repeat_n(' ', widths[column] - width(cell) + 2));
            }
        }
        table.push('\n');
    }
    table
}

/// A column: its heading, and a cell for each row.
#[derive(Debug, Clone)]
pub struct Column {
    /// What stands above it.
    pub heading: &'static str,
    /// What stands in it.
    pub cells: Vec<TableCell>,
}

impl Column {
    /// Whether anything stands in it.
    #[must_use]
    pub fn has_text(&self) -> bool {
        self.cells.iter().any(|cell| !cell.text.is_empty())
    }
}

/// Renders columns. With a width, names in the first column are cut in the middle as far as it takes for all to fit.
#[must_use]
pub fn columns(columns: &[Column], fit: Option<usize>) -> String {
    let heading: Vec<&str> = columns.iter().map(|column| column.heading).collect();
    let count = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    let rows =
        (0..count).map(|row| columns.iter().filter_map(|column| column.cells.get(row).cloned()).collect());
    let mut rows: Vec<Vec<TableCell>> = rows.collect();
    let shown = render(&heading, &rows);
    let Some(excess) = fit.and_then(|fit| width_of(&shown).checked_sub(fit)).filter(|excess| *excess > 0)
    else {
        return shown;
    };
    let widest = rows.iter().filter_map(|row| row.first()).map(width).max().unwrap_or(0);
    for cell in rows.iter_mut().filter_map(|row| row.first_mut()) {
        cell.text = shortened(&cell.text, widest.saturating_sub(excess).max(LEAST));
    }
    render(&heading, &rows)
}

/// Names are not cut to fewer characters than this.
const LEAST: usize = 8;

/// A name that is cut in the middle: both its ends tell it from others.
fn shortened(text: &str, most: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= most {
        return text.to_owned();
    }
    let end = most.saturating_sub(1) / 2;
    let start = most.saturating_sub(1) - end;
    let (start, end) = (&characters[..start], &characters[characters.len() - end..]);
    start.iter().chain(&['…']).chain(end).collect()
}

/// The width of the widest row of a rendered table.
#[must_use]
pub fn width_of(table: &str) -> usize {
    let plain = anstream::adapter::strip_str(table).to_string();
    plain.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

fn width(cell: &TableCell) -> usize {
    cell.text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_in_the_middle_where_there_is_no_room() {
        let column = |heading, cells: &[&str]| Column {
            heading,
            cells: cells.iter().map(|text| (*text).into()).collect(),
        };
        let all =
            [column("name", &["a-very-long-name-of-two", "short"]), column("state", &["fresh", "gone"])];
        let shown = columns(&all, Some(20));
        assert_eq!(
            anstream::adapter::strip_str(&shown).to_string(),
            "name           state\na-very…-of-two  fresh\nshort          gone\n"
                .replace("-of-two  ", "of-two  ")
        );
        assert!(columns(&all, Some(100)).contains("a-very-long-name-of-two"));
    }

    #[test]
    fn columns_line_up() {
        let rows = vec![vec!["a".into(), "bc".into()], vec!["long".into(), "".into()]];
        assert_eq!(
            anstream::adapter::strip_str(&render(&["x", "y"], &rows)).to_string(),
            "x     y\na     bc\nlong\n"
        );
    }
}
