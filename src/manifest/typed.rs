//! One value of the text as the type that is expected there.
//!
//! Decides about types, and says what a value of another type should have been.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeValue};

use super::Located;
use super::keys::Keys;
use super::problems::Problems;
use super::table::Table;
use super::value::{Kind, Wrong};
use crate::diagnostic::{Diagnostic, quoted};
use crate::sorted::SortedMap;

/// Whether a list may name one thing twice.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeats {
    Allowed,
    Refused,
}

/// A text, parsed; what is wrong with it is reported.
pub(super) fn read_text<T>(
    what: &str,
    value: &Spanned<DeValue<'_>>,
    kind: &Kind<T>,
    problems: &mut Problems,
) -> Option<Located<T>> {
    let DeValue::String(text) = value.get_ref() else {
        report_no_text(what, value, kind.expected, &|written| (kind.parse)(written).err(), problems);
        return None;
    };
    match (kind.parse)(text) {
        Ok(parsed) => Some(Located { value: parsed, span: value.span() }),
        Err(wrong) => {
            report_wrong(what, wrong, value.span(), problems);
            None
        }
    }
}

/// A value that should be a text. `wrong`: what would be wrong with what is written, if it were in quotes.
fn report_no_text(
    what: &str,
    value: &Spanned<DeValue<'_>>,
    expected: &str,
    wrong: &dyn Fn(&str) -> Option<Wrong>,
    problems: &mut Problems,
) {
    let written = short(&problems.text()[value.span()]).unwrap_or_default();
    report_type(what, value, &format!("{expected} in quotes"), problems, |diagnostic| {
        match (value.get_ref(), wrong(&written)) {
            (DeValue::Array(array), _) if array.len() == 1 => diagnostic.hint("leave the brackets away"),
            (DeValue::Array(_) | DeValue::Table(_), _) => diagnostic,
            (_, None) => diagnostic.hint(format!("put it in quotes: \"{written}\"")),
            // Quotes alone would not help: say what would.
            (_, Some(Wrong { hint, .. })) => Diagnostic { hint, ..diagnostic },
        }
    });
}

/// A value that its kind does not accept.
pub(super) fn report_wrong(what: &str, wrong: Wrong, span: Range<usize>, problems: &mut Problems) {
    let place = problems.place(span, wrong.label);
    let mut diagnostic = Diagnostic::error(wrong.code, format!("{what} {}", wrong.message)).at(place);
    diagnostic.notes = wrong.note.into_iter().collect();
    diagnostic.hint = wrong.hint;
    problems.report(diagnostic);
}

pub(super) fn read_texts<T>(
    what: &str,
    span: Range<usize>,
    array: &DeArray<'_>,
    kind: &Kind<T>,
    repeats: Repeats,
    problems: &mut Problems,
) -> Vec<Located<T>> {
    let mut values = Vec::new();
    let entry = format!("an entry in {what}");
    each_text(what, span, array, repeats, problems, &mut |value, problems| {
        values.extend(read_text(&entry, value, kind, problems));
    });
    values
}

/// Reads the entries of a list; those that are named again are reported instead, where that is refused.
fn each_text(
    what: &str,
    span: Range<usize>,
    array: &DeArray<'_>,
    repeats: Repeats,
    problems: &mut Problems,
    read: &mut dyn FnMut(&Spanned<DeValue<'_>>, &mut Problems),
) {
    if array.is_empty() {
        report_empty(what, span, problems);
    }
    let mut seen: SortedMap<&str, Range<usize>> = SortedMap::new();
    for value in array.iter() {
        if let (DeValue::String(text), Repeats::Refused) = (value.get_ref(), repeats) {
            if let Some(first) = seen.get(&**text) {
                let message = format!("{what} names {} twice", quoted(text));
                let places =
                    (problems.place(value.span(), "again"), problems.place(first.clone(), "first here"));
                problems.report(
                    Diagnostic::error("duplicate", message)
                        .at(places.0)
                        .and(places.1)
                        .hint("remove one of them"),
                );
                continue;
            }
            seen.insert(text, value.span());
        }
        read(value, problems);
    }
}

pub(super) fn as_list<'a>(
    what: &str,
    value: &'a Spanned<DeValue<'a>>,
    expected: &str,
    repeats: Repeats,
    problems: &mut Problems,
) -> Option<&'a DeArray<'a>> {
    if let DeValue::Array(array) = value.get_ref() {
        return Some(array);
    }
    let written = short(&problems.text()[value.span()]);
    report_type(what, value, &format!("a list of {expected}"), problems, |diagnostic| {
        match (value.get_ref(), written) {
            (DeValue::String(line), Some(_)) if repeats == Repeats::Allowed && line.contains(' ') => {
                let words: Vec<_> = line.split_whitespace().map(|word| format!("{word:?}")).collect();
                diagnostic
                    .hint(format!("no shell splits it; write each word on its own: [{}]", words.join(", ")))
            }
            (DeValue::Table(_), _) | (_, None) => diagnostic,
            (_, Some(written)) => diagnostic.hint(format!("put it in brackets: [{written}]")),
        }
    });
    None
}

/// What is written, if it is short enough to be repeated in a hint.
fn short(written: &str) -> Option<String> {
    (written.len() <= 80 && !written.contains('\n')).then(|| written.to_owned())
}

/// The value as a table; any other type is reported.
pub(super) fn as_table<'a>(
    title: String,
    keys: &'static Keys,
    value: &'a Spanned<DeValue<'a>>,
    problems: &mut Problems,
) -> Option<Table<'a>> {
    if let DeValue::Table(table) = value.get_ref() {
        return Some(Table::new(title, keys, value.span(), table));
    }
    report_type(&title, value, "a table", problems, |diagnostic| match value.get_ref() {
        DeValue::Array(array) if array.iter().any(|value| value.get_ref().is_table()) => {
            diagnostic.hint("there is one only: write the header with one pair of brackets")
        }
        _ => diagnostic,
    });
    None
}

pub(super) fn report_empty(what: &str, span: Range<usize>, problems: &mut Problems) {
    let place = problems.place(span, "an empty list");
    problems.report(
        Diagnostic::error("empty", format!("{what} is empty"))
            .at(place)
            .hint("name at least one, or remove the line"),
    );
}

/// The type of a value is not the one that is expected.
pub(super) fn report_type(
    what: &str,
    value: &Spanned<DeValue<'_>>,
    expected: &str,
    problems: &mut Problems,
    finish: impl FnOnce(Diagnostic) -> Diagnostic,
) {
    let diagnostic = wrong_type(what, value, expected, problems);
    problems.report(finish(diagnostic));
}

fn wrong_type(what: &str, value: &Spanned<DeValue<'_>>, expected: &str, problems: &Problems) -> Diagnostic {
    let found = match value.get_ref() {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(array)
            if array.iter().all(|value| value.get_ref().is_table()) && !array.is_empty() =>
        {
            "a list of tables"
        }
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    let place = problems.place(value.span(), format!("expected {expected}"));
    Diagnostic::error("wrong-type", format!("{what} is {found}")).at(place)
}
