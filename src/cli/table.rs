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
    fn columns_line_up() {
        let rows = vec![vec!["a".into(), "bc".into()], vec!["long".into(), "".into()]];
        assert_eq!(
            anstream::adapter::strip_str(&render(&["x", "y"], &rows)).to_string(),
            "x     y\na     bc\nlong\n"
        );
    }
}
