//! Edits of the manifest's text that leave all other bytes as they are.
//!
//! Decides where a key goes and how it is written: the text is cut open at the positions the parser gives, so
//! comments, order, blank lines, quotes and line ends stay. Never checks what the manifest means: parse the
//! result for that.

mod layout;
mod pins;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub use pins::{find_pins, replace_pins};

use crate::diagnostic::quoted;
use crate::id::{CommitId, Name};
use layout::{Block, Layout};

/// The order in which the keys of an overlay are written.
const ORDER: [&str; 23] = [
    "name",
    "reason",
    "base",
    "files",
    "patch",
    "from",
    "delete",
    "when",
    "claim",
    "needs",
    "rivals",
    "active",
    "tests",
    "witness",
    "devices",
    "issue",
    "pull-request",
    "author",
    "forwarded",
    "upstream-status",
    "report",
    "drop-when",
    "accepted",
];

/// Why a manifest cannot be edited by this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditError {
    /// The text is not TOML.
    Syntax(String),
    /// There is no overlay of this name.
    NoOverlay(String),
    /// There is an overlay of this name already.
    Exists(String),
    /// A key that has to be there is not.
    NoKey(&'static str),
    /// What is to be edited is written in a form that this program does not edit.
    Form(String),
    /// The edited text would not be TOML.
    WouldBreak(String),
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EditError::Syntax(why) => write!(f, "the manifest is not TOML: {why}"),
            EditError::NoOverlay(name) => write!(f, "the manifest has no overlay {}", quoted(name)),
            EditError::Exists(name) => write!(f, "the manifest has an overlay {} already", quoted(name)),
            EditError::NoKey(key) => write!(f, "the manifest has no `{key}`"),
            EditError::Form(what) => {
                write!(
                    f,
                    "{what} is written in a form that only a person can edit; edit the manifest by hand"
                )
            }
            EditError::WouldBreak(why) => write!(f, "the edit would break the manifest: {why}"),
        }
    }
}

impl std::error::Error for EditError {}

/// A value to write.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A truth value.
    Flag(bool),
    /// A list of texts.
    List(Vec<String>),
    /// An inline table.
    Table(Vec<(String, Value)>),
}

impl Value {
    fn to_toml(&self) -> toml_edit::Value {
        match self {
            Value::Text(text) => text.into(),
            Value::Flag(flag) => (*flag).into(),
            Value::List(texts) => texts.iter().collect::<toml_edit::Array>().into(),
            Value::Table(entries) => {
                let mut table = toml_edit::InlineTable::new();
                for (key, value) in entries {
                    table.insert(key, value.to_toml());
                }
                table.into()
            }
        }
    }

    fn render(&self) -> String {
        self.to_toml().to_string().trim().to_owned()
    }
}

impl From<CommitId> for Value {
    fn from(id: CommitId) -> Self {
        Value::Text(id.to_string())
    }
}

/// The manifest with another pin.
///
/// # Errors
/// If there is no pin, or the text is not TOML.
pub fn set_pin(text: &str, pin: CommitId) -> Result<String, EditError> {
    let layout = Layout::of(text)?;
    let upstream = layout.table("upstream").ok_or(EditError::NoKey("upstream"))?;
    let value = upstream.value("pin").ok_or(EditError::NoKey("pin"))?;
    replace(&layout, value, &pin.into(), "the pin")
}

/// The manifest with another base of an overlay.
///
/// # Errors
/// If there is no such overlay, or its base cannot be edited.
pub fn set_base(text: &str, overlay: &str, base: CommitId) -> Result<String, EditError> {
    set_key(text, overlay, "base", &base.into())
}

/// The manifest with another base of several overlays that have one: the same as one after the other, and read once.
///
/// # Errors
/// If there is no such overlay, or a base cannot be edited.
pub fn set_bases(text: &str, overlays: &BTreeSet<&str>, base: CommitId) -> Result<String, EditError> {
    let layout = Layout::of(text)?;
    let mut left = overlays.clone();
    let mut cuts = Vec::new();
    for block in layout.overlays() {
        let Some(name) = block.name().filter(|name| left.remove(name)) else { continue };
        let what = format!("`base` of overlay {}", quoted(name));
        let old = block.value("base").ok_or_else(|| EditError::Form(what.clone()))?;
        cuts.push(replacement(&layout, old, &base.into(), &what)?);
    }
    if let Some(name) = left.first() {
        return Err(EditError::NoOverlay((*name).to_owned()));
    }
    cuts.sort_by_key(|(range, _)| range.start);
    splice(text, &cuts)
}

/// The manifest with another witness of an overlay, which is a commit.
///
/// # Errors
/// If there is no such overlay, or its witness cannot be edited.
pub fn set_witness(text: &str, overlay: &str, witness: CommitId) -> Result<String, EditError> {
    set_key(text, overlay, "witness", &witness.into())
}

/// The manifest with another value of a key of an overlay. A key that is not there is written on a line of
/// its own, after those that usually stand before it.
///
/// # Errors
/// If there is no such overlay, or it or the key cannot be edited.
pub fn set_key(text: &str, overlay: &str, key: &str, value: &Value) -> Result<String, EditError> {
    let layout = Layout::of(text)?;
    let block = layout.overlay(overlay)?;
    match block.value(key) {
        Some(old) => replace(&layout, old, value, &format!("`{key}` of overlay {}", quoted(overlay))),
        None => insert(&layout, block, overlay, key, value),
    }
}

/// The manifest without a key of an overlay, and without the comment behind it. A key that is not there is
/// no error.
///
/// # Errors
/// If there is no such overlay, or it or the key cannot be edited.
pub fn remove_key(text: &str, overlay: &str, key: &str) -> Result<String, EditError> {
    let layout = Layout::of(text)?;
    let block = layout.overlay(overlay)?;
    let Some(value) = block.value(key) else { return Ok(text.to_owned()) };
    let form = || EditError::Form(format!("`{key}` of overlay {}", quoted(overlay)));
    let entries = block.entries();
    let entry = entries.iter().find(|entry| entry.key == key).ok_or_else(form)?;
    let start = layout.line_start(entry.key_span.start);
    let is_first_on_line = text[start..entry.key_span.start].trim().is_empty();
    if !block.has_header() || !is_value(text, value) || !is_first_on_line {
        return Err(form());
    }
    splice(text, &[(start..layout.next_line(value.span().end), String::new())])
}

/// The manifest without an overlay: its table, its sub-tables, and the comments directly above them.
///
/// # Errors
/// If there is no such overlay, or it cannot be removed.
pub fn remove_overlay(text: &str, overlay: &str) -> Result<String, EditError> {
    let layout = Layout::of(text)?;
    let block = layout.overlay(overlay)?;
    if !block.has_header() {
        return Err(EditError::Form(format!("overlay {}", quoted(overlay))));
    }
    let mut regions: Vec<Range<usize>> = Vec::new();
    for region in block.regions() {
        // What lies between a table and its sub-table goes with them if it is blank.
        match regions.last_mut() {
            Some(last) if text[last.end..region.start.max(last.end)].trim().is_empty() => {
                last.end = region.end
            }
            _ => regions.push(region),
        }
    }
    let cuts: Vec<_> =
        regions.into_iter().map(|region| (with_blank_lines(&layout, region), String::new())).collect();
    splice(text, &cuts)
}

/// Leaves one gap where there were two: the blank lines after a removed part go with it, or those before it
/// at the end of the file.
fn with_blank_lines(layout: &Layout<'_>, region: Range<usize>) -> Range<usize> {
    let (mut start, mut end) = (region.start, region.end);
    let has_gap_before = layout.line_before(start).is_none_or(|line| layout.is_blank(&line));
    if has_gap_before {
        let mut line = end..layout.next_line(end);
        while !line.is_empty() && layout.is_blank(&line) {
            end = line.end;
            line = end..layout.next_line(end);
        }
    }
    if end == layout.text.len() {
        while let Some(line) = layout.line_before(start)
            && layout.is_blank(&line)
        {
            start = line.start;
        }
    }
    start..end
}

/// The manifest with one more overlay, after the last one or at the end. `keys` are written in their order,
/// below the name.
///
/// # Errors
/// If there is an overlay of this name, or the overlays are written as one list.
pub fn add_overlay(text: &str, name: &Name, keys: &[(&str, Value)]) -> Result<String, EditError> {
    add_at(text, None, name, keys)
}

/// As [`add_overlay`], directly after the overlay `after`: patches go on in the order of the manifest.
///
/// # Errors
/// As there, and if there is no such overlay.
pub fn add_overlay_after(
    text: &str,
    after: &str,
    name: &Name,
    keys: &[(&str, Value)],
) -> Result<String, EditError> {
    add_at(text, Some(after), name, keys)
}

fn add_at(text: &str, after: Option<&str>, name: &Name, keys: &[(&str, Value)]) -> Result<String, EditError> {
    let layout = Layout::of(text)?;
    if layout.has_inline_overlays() {
        return Err(EditError::Form("`overlay`".to_owned()));
    }
    if layout.overlay(name.as_str()).is_ok() {
        return Err(EditError::Exists(name.as_str().to_owned()));
    }
    let line_break = layout.line_break();
    let anchor = match after {
        Some(after) => Some(layout.overlay(after)?),
        None => layout.overlays().last().copied(),
    };
    let at = match anchor {
        Some(last) => last.regions().iter().map(|region| region.end).max().unwrap_or(text.len()),
        None => text.len(),
    };
    let mut block = String::new();
    if at > 0 && !text[..at].ends_with('\n') {
        block.push_str(line_break);
    }
    if layout.line_before(at).is_some_and(|line| !layout.is_blank(&line)) {
        block.push_str(line_break);
    }
    block.push_str("[[overlay]]");
    block.push_str(line_break);
    let name = ("name", Value::Text(name.as_str().to_owned()));
    for (key, value) in std::iter::once(&name).chain(keys) {
        block.push_str(&format!("{} = {}{line_break}", render_key(key), value.render()));
    }
    let next = at..layout.next_line(at);
    if !next.is_empty() && !layout.is_blank(&next) {
        block.push_str(line_break);
    }
    splice(text, &[(at..at, block)])
}

/// The manifest with another name of an overlay, there and wherever an overlay needs it.
///
/// # Errors
/// If there is no such overlay, or one with the new name.
pub fn rename_overlay(text: &str, old: &str, new: &Name) -> Result<String, EditError> {
    let layout = Layout::of(text)?;
    if layout.overlay(new.as_str()).is_ok() {
        return Err(EditError::Exists(new.as_str().to_owned()));
    }
    let mut cuts = Vec::new();
    for block in layout.overlays() {
        let name = block.value("name").filter(|_| block.name() == Some(old));
        let needs = block.value("needs").and_then(|needs| needs.get_ref().as_array());
        let needs = needs.into_iter().flatten().filter(|need| need.get_ref().as_str() == Some(old));
        for value in name.into_iter().chain(needs) {
            let quote = if text[value.span()].starts_with('\'') { '\'' } else { '"' };
            cuts.push((value.span(), format!("{quote}{new}{quote}")));
        }
    }
    layout.overlay(old)?;
    cuts.sort_by_key(|(span, _)| span.start);
    splice(text, &cuts)
}

/// Whether a value stands in one piece after its key.
fn is_value(text: &str, value: &Spanned<DeValue<'_>>) -> bool {
    match value.get_ref() {
        DeValue::Table(_) => text.as_bytes().get(value.span().start) == Some(&b'{'),
        DeValue::Array(array) => array.iter().all(|item| item.span().start > value.span().start),
        _ => true,
    }
}

fn replace(
    layout: &Layout<'_>,
    old: &Spanned<DeValue<'_>>,
    value: &Value,
    what: &str,
) -> Result<String, EditError> {
    splice(layout.text, &[replacement(layout, old, value, what)?])
}

/// A part of the text, and what comes in its place.
fn replacement(
    layout: &Layout<'_>,
    old: &Spanned<DeValue<'_>>,
    value: &Value,
    what: &str,
) -> Result<(Range<usize>, String), EditError> {
    if !is_value(layout.text, old) {
        return Err(EditError::Form(what.to_owned()));
    }
    let span = old.span();
    let written = &layout.text[span.clone()];
    let new = match value {
        // Nothing in it needs escaping, so the quotes can stay as they were.
        Value::Text(text) if is_plain(text) && written.starts_with('\'') && !written.starts_with("'''") => {
            format!("'{text}'")
        }
        value => value.render(),
    };
    Ok((span, new))
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./:".contains(&b))
}

fn insert(
    layout: &Layout<'_>,
    block: Block<'_, '_>,
    overlay: &str,
    key: &str,
    value: &Value,
) -> Result<String, EditError> {
    let text = layout.text;
    if !block.has_header() {
        return Err(EditError::Form(format!("overlay {}", quoted(overlay))));
    }
    let entries = block.entries();
    let rank = ORDER.iter().position(|known| *known == key).unwrap_or(ORDER.len());
    let is_before =
        |other: &str| ORDER.iter().position(|known| *known == other).is_some_and(|other| other < rank);
    let anchor = entries.iter().rfind(|entry| is_before(entry.key) && is_value(text, entry.value));

    let at = match anchor {
        Some(anchor) => layout.next_line(anchor.value.span().end),
        None => layout.next_line(block.header_start()),
    };
    let indent = anchor.map_or("", |anchor| {
        let before = &text[layout.line_start(anchor.key_span.start)..anchor.key_span.start];
        if before.trim().is_empty() { before } else { "" }
    });
    // Equals signs below each other stay below each other.
    let column = entries
        .iter()
        .filter_map(|entry| {
            let gap = text[entry.key_span.end..].find(|c| c != ' ')?;
            (gap >= 2).then(|| entry.key_span.len() + gap)
        })
        .max()
        .unwrap_or(0);
    let key = render_key(key);
    let gap = column.saturating_sub(key.len()).max(1);
    let line_break = layout.line_break();
    let line = format!("{indent}{key}{:gap$}= {}", "", value.render());
    let line = if text[..at].ends_with('\n') {
        format!("{line}{line_break}")
    } else {
        format!("{line_break}{line}")
    };
    splice(text, &[(at..at, line)])
}

fn render_key(key: &str) -> String {
    toml_edit::Key::new(key).display_repr().into_owned()
}

/// Puts new text in the place of parts of the old, which are in order, and makes sure that the result can
/// be read.
fn splice(text: &str, cuts: &[(Range<usize>, String)]) -> Result<String, EditError> {
    let mut edited = String::with_capacity(text.len() + 64);
    let mut copied = 0;
    for (range, new) in cuts {
        edited.push_str(&text[copied..range.start.max(copied)]);
        edited.push_str(new);
        copied = range.end.max(copied);
    }
    edited.push_str(&text[copied..]);
    match DeTable::parse(&edited) {
        Ok(_) => Ok(edited),
        Err(error) => Err(EditError::WouldBreak(error.message().to_owned())),
    }
}
