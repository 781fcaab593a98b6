//! Text to TOML: what is wrong with the syntax, in words.
//!
//! Decides nothing about keys.

use std::ops::Range;

use toml::Spanned;
use toml::de::DeTable;

use super::problems::Problems;
use crate::diagnostic::{Diagnostic, quoted};
use crate::sorted::{SortedMap, sort_by_number};

/// Of a text above this size only the first syntax error is shown: there may be several for each byte.
const RECOVERABLE: usize = 256 * 1024;
/// Tables that a manifest can have several of.
const LISTS: [&str; 6] = ["overlay", "check", "test", "also-pinned", "remote", "submodule"];

/// Parses the text as far as it can be parsed.
pub(super) fn parse<'a>(text: &'a str, problems: &mut Problems) -> Spanned<DeTable<'a>> {
    if report_conflict(text, problems) || report_other_format(text, problems) {
        return Spanned::new(0..0, DeTable::new());
    }
    let first = match DeTable::parse(text) {
        Ok(table) => return table,
        Err(error) => error,
    };
    let (table, errors) = if text.len() <= RECOVERABLE {
        DeTable::parse_recoverable(text)
    } else {
        (Spanned::new(0..0, DeTable::new()), vec![first])
    };
    let mut errors: Vec<(usize, toml::de::Error)> =
        errors.into_iter().map(|error| (error.span().map_or(0, |span| span.start), error)).collect();
    sort_by_number(&mut errors, |(start, _)| *start);
    let singles = SingleHeaders::of(text);
    let mut line_end = None;
    for (start, error) in errors {
        // What follows on one line is mostly an echo of the first.
        if line_end.is_none_or(|end| start > end) {
            let complaint = Complaint::of(text, &error);
            line_end = Some(complaint.line.end);
            if !singles.has_repeated(start, text[complaint.line.clone()].trim_start().starts_with('[')) {
                report(text, &complaint, &singles, problems);
            }
        }
    }
    table
}

/// What the parser says: "what, expected a, b, c".
struct Complaint {
    what: String,
    expected: Option<String>,
    span: Range<usize>,
    line: Range<usize>,
}

impl Complaint {
    fn of(text: &str, error: &toml::de::Error) -> Self {
        let (what, expected) = match error.message().split_once(", expected ") {
            Some((what, expected)) => (what, Some(expected.to_owned())),
            None => (error.message(), None),
        };
        let span = error.span().unwrap_or(0..0);
        let span = span.start.min(text.len())..span.end.min(text.len());
        let line = text[..span.start].rfind('\n').map_or(0, |newline| newline + 1)
            ..text[span.start..].find('\n').map_or(text.len(), |newline| span.start + newline);
        Self { what: what.to_owned(), expected, span, line }
    }
}

fn report(text: &str, error: &Complaint, singles: &SingleHeaders, problems: &mut Problems) {
    let line = text[error.line.clone()].trim();
    let has_colon = line.contains(':') && !line.contains('=');
    let (message, label, hint) = match (error.what.as_str(), error.expected.as_deref()) {
        ("duplicate key", _) => return report_twice(text, error, singles, problems),
        ("unexpected key or value", _) => (
            "there is more on this line than one key and its value",
            "expected the end of the line",
            Some("write each key on a line of its own"),
        ),
        ("key with no value" | "invalid unquoted key", _) if has_colon => (
            "a key without `=`",
            "expected `=`",
            Some("a manifest is TOML: write key = \"value\", and the header of a table as [table]"),
        ),
        ("key with no value", _) => ("a key without a value", "expected `=` and a value", None),
        ("string values must be quoted", _) if error.span.is_empty() => {
            ("a key without a value", "expected a value, for example \"text\"", None)
        }
        ("string values must be quoted", _) => (
            "a value that is not in quotes",
            "not a number, a date, true or false",
            Some("put the text in quotes"),
        ),
        ("invalid basic string", Some("`\"`")) | ("invalid literal string", Some("`'`")) => {
            ("a text without its closing quote", "the line ends here", None)
        }
        ("missing escaped value", _) => (
            "a backslash before a letter that needs none",
            "unknown after a backslash",
            Some("write the text in single quotes: there, a backslash is just a backslash"),
        ),
        ("missing comma between array elements", _) => (
            "something in a list that is no entry",
            "expected `,` or `]`",
            Some("close the list with `]`, or put `,` between its entries"),
        ),
        ("unclosed array", _) => ("a list without its end", "expected `]`", None),
        ("unclosed table" | "unclosed array table", _) => (
            "the header of a table without its end",
            "",
            Some("write [table], or [[table]] for one of several"),
        ),
        ("recursion limit" | "cannot recurse further; max recursion depth met", _) => {
            ("tables or lists are nested too deeply", "too deep", None)
        }
        ("carriage return must be followed by newline", _) => (
            "a carriage return that ends no line",
            "expected a line feed",
            Some("save the file with LF or CRLF line ends"),
        ),
        (what, None | Some("nothing")) => (what, "", None),
        (what, Some(expected)) => {
            let place = problems.place(error.span.clone(), format!("expected {expected}"));
            problems.report_syntax(Diagnostic::error("syntax", what).at(place), error.span.clone());
            return;
        }
    };
    let place = problems.place(error.span.clone(), label);
    let mut diagnostic = Diagnostic::error("syntax", message).at(place);
    diagnostic.hint = hint.map(str::to_owned);
    problems.report_syntax(diagnostic, error.span.clone());
}

fn report_twice(text: &str, error: &Complaint, singles: &SingleHeaders, problems: &mut Problems) {
    let key = &text[error.span.clone()];
    let line = text[error.line.clone()].trim();
    let is_header = line.starts_with('[');
    let name = line.split('#').next().unwrap_or_default().trim().trim_matches(['[', ']']);
    if is_header && let Some(single) = singles.first(name) {
        // However many headers follow it, there is one mistake.
        if !problems.is_broken(single.start) {
            report_single(name, single, problems);
        }
        return;
    }
    let mut diagnostic = Diagnostic::error("syntax", format!("{} is there twice", quoted(key)))
        .at(problems.place(error.span.clone(), "again"));
    if !problems.is_full()
        && let Some(first) = first_of(text, key, line, error.line.start)
    {
        diagnostic = diagnostic.and(problems.place(first, "first here"));
    }
    let diagnostic = diagnostic.hint(match is_header {
        true => "put all keys below one header",
        false => "remove one of them",
    });
    problems.report_syntax(diagnostic, error.span.clone());
}

/// Headers of lists' tables that have single brackets.
pub(super) struct SingleHeaders {
    /// The first of each name.
    first: SortedMap<String, Range<usize>>,
    /// The tables below the others, in order: the parser has put their keys to those of the first.
    repeated: Vec<Range<usize>>,
}

impl SingleHeaders {
    /// Looks through a text once.
    pub fn of(text: &str) -> Self {
        let mut found = Self { first: SortedMap::new(), repeated: Vec::new() };
        let mut open = None;
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let trimmed = line.trim_start();
            if trimmed.starts_with('[') {
                if let Some(begin) = open.take() {
                    found.repeated.push(begin..start);
                }
                let header = trimmed.split('#').next().unwrap_or_default().trim_end();
                let at = start + line.len() - trimmed.len();
                let name = header.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
                if let Some(name) = name.filter(|name| is_list(name)) {
                    if found.first.contains_key(name) {
                        open = Some(start);
                    } else {
                        found.first.insert(name.to_owned(), at..at + header.len());
                    }
                }
            }
            start += line.len();
        }
        found.repeated.extend(open.map(|begin| begin..start));
        found
    }

    /// The first of this name.
    pub fn first(&self, name: &str) -> Option<Range<usize>> {
        self.first.get(name).cloned()
    }

    /// Whether a key at this place is in a table of a repeated one.
    fn has_repeated(&self, at: usize, is_header: bool) -> bool {
        let after = self.repeated.partition_point(|table| table.start <= at);
        !is_header && after > 0 && at < self.repeated[after - 1].end
    }
}

/// Whether there can be several of a table, by its whole name.
fn is_list(name: &str) -> bool {
    name.rsplit('.').next().is_some_and(|last| LISTS.contains(&last))
}

/// A table that there can be several of, with a header for a single one.
pub(super) fn report_single(name: &str, header: Range<usize>, problems: &mut Problems) {
    let place = problems.place(header.clone(), "single brackets");
    problems.report_syntax(
        Diagnostic::error("syntax", format!("`[{name}]` is for a single table, and there can be several"))
            .at(place)
            .hint(format!("write the header with two brackets: [[{name}]]")),
        header,
    );
}

/// Where a header or a key of one line each stood before, if that is easy to find.
fn first_of(text: &str, key: &str, line: &str, before: usize) -> Option<Range<usize>> {
    let is_header = line.starts_with('[');
    let mut found = None;
    let mut start = 0;
    for earlier in text[..before].split_inclusive('\n') {
        let trimmed = earlier.trim();
        let indent = earlier.len() - earlier.trim_start().len();
        if is_header && trimmed == line {
            return Some(start + indent..start + indent + trimmed.len());
        }
        if !is_header && trimmed.starts_with('[') {
            found = None;
        }
        if !is_header && trimmed.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('=')) {
            found = found.or(Some(start + indent..start + indent + key.len()));
        }
        start += earlier.len();
    }
    found
}

/// A file in the middle of a merge is not worth any other message.
fn report_conflict(text: &str, problems: &mut Problems) -> bool {
    let mut start = 0;
    let mut markers: Vec<Range<usize>> = Vec::new();
    for line in text.split_inclusive('\n') {
        if line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ") {
            markers.push(start..start + line.trim_end().len());
        }
        start += line.len();
    }
    // One alone can stand in a text of several lines.
    let [begin, end, ..] = markers.as_slice() else { return false };
    if !text[begin.clone()].starts_with('<') || !text[end.clone()].starts_with('>') {
        return false;
    }
    let places = (problems.place(begin.clone(), "starts here"), problems.place(end.clone(), "ends here"));
    problems.report_syntax(
        Diagnostic::error("syntax", "the manifest has a merge conflict in it")
            .at(places.0)
            .and(places.1)
            .hint("choose one side and remove the marker lines"),
        begin.clone(),
    );
    true
}

/// No TOML starts with a brace.
fn report_other_format(text: &str, problems: &mut Problems) -> bool {
    let start = text.len() - text.trim_start().len();
    if !text[start..].starts_with('{') {
        return false;
    }
    let place = problems.place(start..start + 1, "this looks like JSON");
    problems.report_syntax(
        Diagnostic::error("syntax", "a manifest is written in TOML")
            .at(place)
            .hint("write key = \"value\", and the header of a table as [table]"),
        start..start + 1,
    );
    true
}
