//! The declaration of keys: what a table can have, of which kind, and what it means.
//!
//! Each file of a table declares its keys beside the function that reads them. The parser refuses what is not declared, and
//! asserts that it reads each key as it is declared; docs/manifest.md has the same declarations as tables. So manual and
//! parser cannot disagree.

use std::fmt::Write;

use super::value::Kind;

/// A table of the manifest.
#[derive(Debug)]
pub struct Keys {
    /// How it is written: `[[test]]`.
    pub header: &'static str,
    /// Its keys; `None`: they are the user's own.
    pub keys: Option<&'static [Key]>,
}

/// A key.
#[derive(Debug)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// What its value looks like.
    pub shape: Shape,
    /// What holds without it.
    pub default: Default,
    /// What it means; Markdown.
    pub meaning: &'static str,
}

/// What a value looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A text of this kind.
    One(&'static str),
    /// A list of texts of this kind.
    List(&'static str),
    /// A list of lists of texts of this kind.
    Groups(&'static str),
    /// `true` or `false`.
    Flag,
    /// A whole number.
    Count,
    /// A number.
    Number,
    /// A table.
    Table,
    /// `[[tables]]`.
    Tables,
    /// One of several, in words.
    Mixed(&'static str),
}

/// What holds without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Default {
    /// It must be there.
    Required,
    /// In words.
    Said(&'static str),
    /// The value that it stands for, as it would be written.
    Value(&'static str),
}

/// Nothing holds without it.
pub(super) const NONE: Default = Default::Said("none");
/// The key must be there.
pub(super) const REQUIRED: Default = Default::Required;

pub(super) const fn key(name: &'static str, shape: Shape, default: Default, meaning: &'static str) -> Key {
    Key { name, shape, default, meaning }
}

/// A text of a kind.
pub(super) const fn one<T>(kind: &Kind<T>) -> Shape {
    Shape::One(kind.word)
}

/// A list of texts of a kind.
pub(super) const fn list<T>(kind: &Kind<T>) -> Shape {
    Shape::List(kind.words)
}

/// A table whose keys are the user's own.
pub(super) const FREE: Keys = Keys { header: "", keys: None };

/// All tables with keys of ours, in the order of the manual.
#[must_use]
pub fn tables() -> Vec<&'static Keys> {
    use super::{check, features, overlay, profile, test, upstream};
    vec![
        &super::KEYS,
        &upstream::KEYS,
        &upstream::ALSO_PINNED,
        &upstream::REMOTE,
        &upstream::SUBMODULE,
        &upstream::LOCATIONS,
        &features::KEYS,
        &overlay::KEYS,
        &overlay::FROM,
        &overlay::WITNESS,
        &overlay::DROP_WHEN,
        &overlay::ACCEPTED,
        &check::KEYS,
        &profile::KEYS,
        &test::KEYS,
    ]
}

impl Keys {
    /// The declaration of a key.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'static Key> {
        self.keys?.iter().find(|key| key.name == name)
    }

    /// Its keys as a table of Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut table = "| key | kind | default | |\n| --- | --- | --- | --- |\n".to_owned();
        for Key { name, shape, default, meaning } in self.keys.unwrap_or_default() {
            let _ = writeln!(table, "| `{name}` | {shape} | {default} | {meaning} |");
        }
        table
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Shape::One(word) => f.write_str(word),
            Shape::List(words) => write!(f, "list of {words}"),
            Shape::Groups(words) => write!(f, "list of lists of {words}"),
            Shape::Flag => f.write_str("true or false"),
            Shape::Count | Shape::Number => f.write_str("number"),
            Shape::Table => f.write_str("table"),
            Shape::Tables => f.write_str("tables"),
            Shape::Mixed(text) => f.write_str(text),
        }
    }
}

impl std::fmt::Display for Default {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Default::Required => f.write_str("required"),
            Default::Said(text) => f.write_str(text),
            Default::Value(value) => write!(f, "`{value}`"),
        }
    }
}
