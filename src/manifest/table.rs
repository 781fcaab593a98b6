//! Reads one table of the text key by key.
//!
//! Remembers which keys were asked for: the others are unknown. Decides about types only; what a value
//! means is decided by the [`Kind`] that the caller gives.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Located;
use super::keys::{Default, Key, Keys, Shape, list, one};
use super::problems::{Problems, closest};
use super::syntax::{SingleHeaders, report_single};
use super::typed::{Repeats, as_list, as_table, read_text, read_texts, report_empty, report_type};
use super::value::Kind;
use crate::diagnostic::{Diagnostic, quoted};
use crate::sorted::sort_by_number;

/// A table and what was read from it.
pub(super) struct Table<'a> {
    /// How messages call it, for example `` overlay `rms-norm` ``.
    pub title: String,
    /// Its header in the text, or all of an inline table.
    pub span: Range<usize>,
    keys: &'static Keys,
    entries: Vec<Entry<'a>>,
    known: Vec<&'static str>,
}

struct Entry<'a> {
    key: &'a str,
    key_span: Range<usize>,
    value: &'a Spanned<DeValue<'a>>,
    is_read: bool,
}

/// A key that is there.
pub(super) struct Field<'a> {
    /// The key in the text.
    pub key_span: Range<usize>,
    /// The value in the text.
    pub value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Table<'a> {
    pub fn new(
        title: impl Into<String>,
        keys: &'static Keys,
        span: Range<usize>,
        table: &'a DeTable<'a>,
    ) -> Self {
        let mut entries: Vec<_> = table
            .iter()
            .map(|(key, value)| Entry { key: key.get_ref(), key_span: key.span(), value, is_read: false })
            .collect();
        // The order of the file, whatever the map's own order is.
        sort_by_number(&mut entries, |entry| entry.key_span.start);
        Self { title: title.into(), span, keys, entries, known: Vec::new() }
    }

    /// Whether a key is declared as it is read.
    fn is_declared(&self, key: &str, shape: Shape, is_required: Option<bool>) -> bool {
        let required = |declared: &Key| declared.default == Default::Required;
        self.keys.get(key).is_some_and(|declared| {
            declared.shape == shape && is_required.is_none_or(|is_required| required(declared) == is_required)
        })
    }

    /// The value of a key that can have several types.
    pub fn mixed(&mut self, key: &'static str) -> Option<Field<'a>> {
        debug_assert!(
            matches!(self.keys.get(key).map(|key| key.shape), Some(Shape::Mixed(_) | Shape::Table)),
            "{key} of {}",
            self.title
        );
        self.field(key)
    }

    /// The value of a key, whatever its type.
    fn field(&mut self, key: &'static str) -> Option<Field<'a>> {
        self.known.push(key);
        let entry = self.entries.iter_mut().find(|entry| entry.key == key)?;
        entry.is_read = true;
        Some(Field { key_span: entry.key_span.clone(), value: entry.value })
    }

    /// Where a key stands, if it does. Does not count as reading it.
    pub fn key_span(&self, key: &str) -> Option<Range<usize>> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| entry.key_span.clone())
    }

    /// The best place for a message about the whole table: its name, or else its header.
    pub fn name_span(&self) -> Range<usize> {
        let name = self.entries.iter().find(|entry| entry.key == "name");
        name.map_or_else(|| self.span.clone(), |entry| entry.value.span())
    }

    /// Every key with its value, for tables whose keys are the user's own.
    pub fn all(&mut self) -> Vec<(&'a str, Field<'a>)> {
        self.entries
            .iter_mut()
            .map(|entry| {
                entry.is_read = true;
                (entry.key, Field { key_span: entry.key_span.clone(), value: entry.value })
            })
            .collect()
    }

    /// A text that may be missing.
    pub fn one<T>(
        &mut self,
        key: &'static str,
        kind: &Kind<T>,
        problems: &mut Problems,
    ) -> Option<Located<T>> {
        debug_assert!(self.is_declared(key, one(kind), Some(false)), "{key} of {}", self.title);
        self.text(key, kind, problems)
    }

    fn text<T>(&mut self, key: &'static str, kind: &Kind<T>, problems: &mut Problems) -> Option<Located<T>> {
        let field = self.field(key)?;
        read_text(&format!("`{key}` of {}", self.title), field.value, kind, problems)
    }

    /// A text that must be there.
    pub fn need<T>(
        &mut self,
        key: &'static str,
        kind: &Kind<T>,
        problems: &mut Problems,
    ) -> Option<Located<T>> {
        debug_assert!(self.is_declared(key, one(kind), Some(true)), "{key} of {}", self.title);
        let is_there = self.key_span(key).is_some();
        let value = self.text(key, kind, problems);
        if !is_there {
            self.report_missing(key, kind.example, kind.expected, problems);
        }
        value
    }

    /// A required key is not there.
    pub fn report_missing(&self, key: &str, example: &str, expected: &str, problems: &mut Problems) {
        let place = problems.place(self.span.clone(), format!("`{key}` must be here"));
        problems.report_absent(
            Diagnostic::error("missing-key", format!("{} has no `{key}`", self.title))
                .at(place)
                .hint(format!("add {expected}: {key} = {example}")),
        );
    }

    /// A list of different texts. Missing is the same as none; an empty list is an error.
    pub fn set<T>(&mut self, key: &'static str, kind: &Kind<T>, problems: &mut Problems) -> Vec<Located<T>> {
        debug_assert!(self.is_declared(key, list(kind), Some(false)), "{key} of {}", self.title);
        self.texts(key, kind, Repeats::Refused, problems).unwrap_or_default()
    }

    /// A list of different texts that must be there.
    pub fn need_set<T>(
        &mut self,
        key: &'static str,
        kind: &Kind<T>,
        problems: &mut Problems,
    ) -> Vec<Located<T>> {
        debug_assert!(self.is_declared(key, list(kind), Some(true)), "{key} of {}", self.title);
        if self.key_span(key).is_none() {
            self.report_missing(key, kind.example, kind.plural, problems);
        }
        self.texts(key, kind, Repeats::Refused, problems).unwrap_or_default()
    }

    /// A list of words in which one can stand twice; `None` if the key is missing.
    pub fn list<T>(
        &mut self,
        key: &'static str,
        kind: &Kind<T>,
        problems: &mut Problems,
    ) -> Option<Vec<Located<T>>> {
        debug_assert!(self.is_declared(key, list(kind), None), "{key} of {}", self.title);
        self.texts(key, kind, Repeats::Allowed, problems)
    }

    fn texts<T>(
        &mut self,
        key: &'static str,
        kind: &Kind<T>,
        repeats: Repeats,
        problems: &mut Problems,
    ) -> Option<Vec<Located<T>>> {
        let field = self.field(key)?;
        let what = format!("`{key}` of {}", self.title);
        let Some(array) = as_list(&what, field.value, kind.plural, repeats, problems) else {
            return Some(Vec::new());
        };
        Some(read_texts(&what, field.value.span(), array, kind, repeats, problems))
    }

    /// A list of groups of different texts.
    pub fn groups<T>(
        &mut self,
        key: &'static str,
        kind: &Kind<T>,
        problems: &mut Problems,
    ) -> Vec<Vec<Located<T>>> {
        debug_assert!(
            self.is_declared(key, Shape::Groups(kind.words), Some(false)),
            "{key} of {}",
            self.title
        );
        let Some(field) = self.field(key) else { return Vec::new() };
        let what = format!("`{key}` of {}", self.title);
        let expected = format!("lists of {}", kind.plural);
        let Some(array) = as_list(&what, field.value, &expected, Repeats::Refused, problems) else {
            return Vec::new();
        };
        let hint = format!("`{key}` is a list of lists: {key} = {}", kind.example);
        if array.is_empty() {
            report_empty(&what, field.value.span(), problems);
        } else if !array.iter().any(|group| group.get_ref().is_array()) {
            report_type(&what, field.value, "a list of lists", problems, |diagnostic| diagnostic.hint(hint));
            return Vec::new();
        }
        let mut groups = Vec::new();
        for group in array.iter() {
            let what = format!("a group in {what}");
            if let DeValue::Array(texts) = group.get_ref() {
                groups.push(read_texts(&what, group.span(), texts, kind, Repeats::Refused, problems));
            } else {
                report_type(&what, group, &format!("a list of {}", kind.plural), problems, |diagnostic| {
                    diagnostic.hint(hint.clone())
                });
            }
        }
        groups
    }

    /// A truth value.
    pub fn flag(&mut self, key: &'static str, problems: &mut Problems) -> Option<Located<bool>> {
        debug_assert!(self.is_declared(key, Shape::Flag, Some(false)), "{key} of {}", self.title);
        let field = self.field(key)?;
        let what = format!("`{key}` of {}", self.title);
        match field.value.get_ref() {
            DeValue::Boolean(value) => Some(Located { value: *value, span: field.value.span() }),
            DeValue::String(text) if matches!(&**text, "true" | "false") => {
                let hint = format!("leave the quotes away: {key} = {text}");
                report_type(&what, field.value, "true or false", problems, |diagnostic| {
                    diagnostic.hint(hint)
                });
                None
            }
            _ => {
                report_type(&what, field.value, "true or false", problems, |diagnostic| diagnostic);
                None
            }
        }
    }

    /// A whole number.
    pub fn count(&mut self, key: &'static str, problems: &mut Problems) -> Option<Located<i64>> {
        debug_assert!(self.is_declared(key, Shape::Count, None), "{key} of {}", self.title);
        let field = self.field(key)?;
        let what = format!("`{key}` of {}", self.title);
        let span = field.value.span();
        let DeValue::Integer(integer) = field.value.get_ref() else {
            report_type(&what, field.value, "a whole number", problems, |diagnostic| {
                match field.value.get_ref() {
                    DeValue::String(text) if text.parse::<i64>().is_ok() => {
                        diagnostic.hint(format!("leave the quotes away: {key} = {text}"))
                    }
                    _ => diagnostic,
                }
            });
            return None;
        };
        let value = i64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix());
        if value.is_err() {
            let place = problems.place(span.clone(), "more than 64 bits");
            problems
                .report(Diagnostic::error("bad-value", format!("{what} is too large a number")).at(place));
        }
        value.ok().map(|value| Located { value, span })
    }

    /// A number, whole or not.
    pub fn number(&mut self, key: &'static str, problems: &mut Problems) -> Option<Located<f64>> {
        debug_assert!(self.is_declared(key, Shape::Number, Some(false)), "{key} of {}", self.title);
        let field = self.field(key)?;
        let span = field.value.span();
        let written = match field.value.get_ref() {
            DeValue::Float(float) => float.as_str(),
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
            _ => {
                let what = format!("`{key}` of {}", self.title);
                report_type(&what, field.value, "a number", problems, |diagnostic| diagnostic);
                return None;
            }
        };
        written.replace('_', "").parse().ok().map(|value| Located { value, span })
    }

    /// A table.
    pub fn table(
        &mut self,
        key: &'static str,
        keys: &'static Keys,
        problems: &mut Problems,
    ) -> Option<Table<'a>> {
        debug_assert!(self.is_declared(key, Shape::Table, None), "{key} of {}", self.title);
        let field = self.field(key)?;
        let title =
            if self.title == TOP { format!("`[{key}]`") } else { format!("`{key}` of {}", self.title) };
        as_table(title, keys, field.value, problems)
    }

    /// The tables `[[path]]`, the last part of which is `key`.
    pub fn tables(
        &mut self,
        path: &'static str,
        keys: &'static Keys,
        problems: &mut Problems,
    ) -> Vec<Table<'a>> {
        let key = path.rsplit('.').next().unwrap_or(path);
        debug_assert!(self.is_declared(key, Shape::Tables, None), "{key} of {}", self.title);
        let Some(field) = self.field(key) else { return Vec::new() };
        let title = format!("`[[{path}]]`");
        if field.value.get_ref().is_table() {
            let text = std::sync::Arc::clone(problems.text());
            let header = SingleHeaders::of(&text).first(path).unwrap_or_else(|| field.value.span());
            if problems.is_broken(header.start) {
                // It was said before, of several tables that became one here.
                return Vec::new();
            }
            report_single(path, header, problems);
            // What is in it is read all the same: its name is one that others may refer to.
            return as_table(title, keys, field.value, problems).into_iter().collect();
        }
        let DeValue::Array(array) = field.value.get_ref() else {
            report_type(&title, field.value, "a list of tables", problems, |diagnostic| {
                diagnostic.hint(format!("write the header with two brackets: [[{path}]]"))
            });
            return Vec::new();
        };
        if array.is_empty() {
            report_empty(&format!("`{key}`"), field.value.span(), problems);
        }
        array.iter().filter_map(|value| as_table(title.clone(), keys, value, problems)).collect()
    }

    /// Reports the keys that nobody asked for.
    pub fn finish(self, problems: &mut Problems) {
        debug_assert!(
            self.keys.keys.is_some_and(|keys| keys.iter().all(|key| self.known.contains(&key.name))),
            "a declared key of {} is not read",
            self.title
        );
        for entry in self.entries.iter().filter(|entry| !entry.is_read) {
            if problems.is_full() {
                problems.report(Diagnostic::error("unknown-key", ""));
                continue;
            }
            let is_top = self.title == TOP;
            let sort = if is_top && entry.value.get_ref().is_table() { "table" } else { "key" };
            let message = format!("unknown {sort} {} in {}", quoted(entry.key), self.title);
            let place = problems.place(entry.key_span.clone(), "not known here");
            let diagnostic = Diagnostic::error("unknown-key", message).at(place);
            let diagnostic = match closest(entry.key, self.known.iter().copied()) {
                Some(meant) => diagnostic.hint(format!("did you mean `{meant}`?")),
                None => diagnostic.note(format!("known here: {}", listed(&self.known))),
            };
            // After a broken header, the keys of its table seem to be keys of the top.
            if is_top { problems.report_absent(diagnostic) } else { problems.report(diagnostic) }
        }
    }
}

/// How messages call the table that has no header.
pub(super) const TOP: &str = "the manifest";

/// Words in a row, in backticks.
pub(super) fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
