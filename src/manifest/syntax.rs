//! Text to TOML: what is wrong with the syntax, in words.
//!
//! Decides nothing about keys.

use std::ops::Range;

use toml::Spanned;
use toml::de::DeTable;

use super::problems::Problems;
use crate::diagnostic::Diagnostic;

/// A text above this size is shown its first syntax error only: there may be one per byte.
const RECOVERABLE: usize = 256 * 1024;

/// Parses the text as far as it can be parsed.
pub(super) fn parse<'a>(text: &'a str, problems: &mut Problems) -> Spanned<DeTable<'a>> {
    if report_conflict_markers(text, problems) {
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
    let mut lines_seen = std::collections::BTreeSet::new();
    let mut errors: Vec<_> = errors
        .into_iter()
        .map(|error| {
            let span = error.span().unwrap_or(0..0);
            (span.start.min(text.len())..span.end.min(text.len()), error)
        })
        .collect();
    errors.sort_by_key(|(span, _)| span.start);
    for (span, error) in errors {
        // What follows on one line is mostly an echo of the first.
        let line = text[..span.start].bytes().filter(|&b| b == b'\n').count();
        if lines_seen.insert(line) {
            let place = problems.place(span.clone(), label(error.message()));
            let mut diagnostic = Diagnostic::error("syntax", message(error.message())).at(place);
            diagnostic.hint = hint(text, &span, error.message()).map(str::to_owned);
            problems.report_syntax(diagnostic, span);
        }
    }
    table
}

/// A file in the middle of a merge is not worth any other message.
fn report_conflict_markers(text: &str, problems: &mut Problems) -> bool {
    let mut start = 0;
    let mut found: Vec<Range<usize>> = Vec::new();
    for line in text.split_inclusive('\n') {
        if line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ") {
            found.push(start..start + line.trim_end().len());
        }
        start += line.len();
    }
    // One alone can stand in a text of several lines.
    let [begin, end, ..] = found.as_slice() else { return false };
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

/// The parser's words are "what, expected a, b, c".
fn message(words: &str) -> String {
    let what = words.split(", expected ").next().unwrap_or(words);
    match what {
        "unexpected key or value" => "there is more on this line than one key and its value".to_owned(),
        "key with no value" => "a key without a value".to_owned(),
        "string values must be quoted" => "a value that is not in quotes".to_owned(),
        "duplicate key" => "this is set twice".to_owned(),
        "invalid key-value pair" => "expected a key and a value".to_owned(),
        "missing escaped value" => "a backslash with an unknown letter".to_owned(),
        "recursion limit" | "cannot recurse further; max recursion depth met" => {
            "tables or lists are nested too deeply".to_owned()
        }
        other => other.to_owned(),
    }
}

fn label(words: &str) -> String {
    let expected = words.split_once(", expected ").map_or("", |(_, expected)| expected);
    match (words.split(", expected ").next().unwrap_or_default(), expected) {
        ("duplicate key", _) => "already set above".to_owned(),
        ("missing escaped value", _) => String::new(),
        (_, "" | "nothing") => String::new(),
        (_, "literal string") => "expected a value, for example \"text\"".to_owned(),
        (_, expected) => format!("expected {}", expected.replace("newline, `#`", "the end of the line")),
    }
}

fn hint(text: &str, span: &Range<usize>, words: &str) -> Option<&'static str> {
    let line_start = text[..span.start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[span.start..].find('\n').map_or(text.len(), |newline| span.start + newline);
    let line = text[line_start..line_end].trim();
    let what = words.split(", expected ").next().unwrap_or_default();
    match what {
        "unexpected key or value" => Some("write each key on a line of its own"),
        "duplicate key" if line.starts_with('[') => Some(
            "for one more of a list write two brackets, as in [[overlay]]; otherwise put both into one table",
        ),
        "duplicate key" => Some("remove one of them"),
        "missing escaped value" => {
            Some("write the text in single quotes: in them a backslash is just a backslash")
        }
        "string values must be quoted" => Some("put the text in quotes"),
        "key with no value" if line.contains(':') && !line.contains('=') => {
            Some("write key = \"value\", with an equals sign")
        }
        "carriage return must be followed by newline" => Some("save the file with LF or CRLF line ends"),
        _ => None,
    }
}
