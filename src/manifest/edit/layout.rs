//! Where the tables and keys of a manifest stand, byte by byte.
//!
//! Decides which lines belong to a table: its comments above, its keys, its sub-tables. Changes nothing.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::EditError;

/// The positions in a text that is TOML.
pub(super) struct Layout<'a> {
    pub text: &'a str,
    document: Spanned<DeTable<'a>>,
    /// Where each header starts, in order.
    headers: Vec<usize>,
    /// Values of several lines, in order: a line in one of them is neither blank nor a comment.
    long_values: Vec<Range<usize>>,
}

/// A table that an edit can work on.
#[derive(Clone, Copy)]
pub(super) struct Block<'l, 'a> {
    pub layout: &'l Layout<'a>,
    table: &'l DeTable<'a>,
    /// The header, or all of an inline table.
    span: (usize, usize),
}

/// A key and its value.
pub(super) struct Entry<'l, 'a> {
    pub key: &'l str,
    pub key_span: Range<usize>,
    pub value: &'l Spanned<DeValue<'a>>,
}

impl<'a> Layout<'a> {
    pub fn of(text: &'a str) -> Result<Self, EditError> {
        let document = DeTable::parse(text).map_err(|error| EditError::Syntax(error.message().to_owned()))?;
        let (mut headers, mut long_values) = (Vec::new(), Vec::new());
        collect(text, document.get_ref(), &mut headers, &mut long_values);
        headers.sort_unstable();
        long_values.sort_by_key(|span| span.start);
        Ok(Self { text, document, headers, long_values })
    }

    /// A table of the top level.
    pub fn table(&self, key: &str) -> Option<Block<'_, 'a>> {
        let value = get(self.document.get_ref(), key)?;
        self.block(value)
    }

    /// The overlays in the order of the text.
    pub fn overlays(&self) -> Vec<Block<'_, 'a>> {
        match get(self.document.get_ref(), "overlay").map(Spanned::get_ref) {
            Some(DeValue::Array(array)) => array.iter().filter_map(|value| self.block(value)).collect(),
            _ => Vec::new(),
        }
    }

    /// The overlay of this name.
    pub fn overlay(&self, name: &str) -> Result<Block<'_, 'a>, EditError> {
        self.overlays()
            .into_iter()
            .find(|block| block.name() == Some(name))
            .ok_or_else(|| EditError::NoOverlay(name.to_owned()))
    }

    /// Whether the overlays are one list in brackets.
    pub fn has_inline_overlays(&self) -> bool {
        let is_inline = |value: &Spanned<DeValue<'_>>| !is_header(self.text, value);
        match get(self.document.get_ref(), "overlay").map(Spanned::get_ref) {
            Some(DeValue::Array(array)) => array.is_empty() || array.iter().any(is_inline),
            Some(_) => true,
            None => false,
        }
    }

    fn block<'l>(&'l self, value: &'l Spanned<DeValue<'a>>) -> Option<Block<'l, 'a>> {
        let span = value.span();
        value.get_ref().as_table().map(|table| Block { layout: self, table, span: (span.start, span.end) })
    }

    pub fn line_start(&self, at: usize) -> usize {
        // By bytes: `at` can lie within a character, one byte before the end of a line's last one.
        self.text.as_bytes()[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1)
    }

    /// The start of the next line, or the end of the text.
    pub fn next_line(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |newline| at + newline + 1)
    }

    /// The line that ends just before `at`, which is the start of a line.
    pub fn line_before(&self, at: usize) -> Option<Range<usize>> {
        (at > 0).then(|| self.line_start(at - 1)..at)
    }

    pub fn is_blank(&self, line: &Range<usize>) -> bool {
        self.text[line.clone()].trim().is_empty() && !self.is_in_value(line.start)
    }

    pub fn is_comment(&self, line: &Range<usize>) -> bool {
        self.text[line.clone()].trim_start().starts_with('#') && !self.is_in_value(line.start)
    }

    fn is_in_value(&self, at: usize) -> bool {
        let next = self.long_values.partition_point(|span| span.start < at);
        next > 0 && at < self.long_values[next - 1].end
    }

    fn is_header_line(&self, line: &Range<usize>) -> bool {
        let next = self.headers.partition_point(|&header| header < line.start);
        self.headers.get(next).is_some_and(|&header| header < line.end)
    }

    /// How lines end where nothing else says it.
    pub fn line_break(&self) -> &'static str {
        match self.text.find('\n') {
            Some(at) if self.text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        }
    }
}

impl<'l, 'a> Block<'l, 'a> {
    pub fn name(&self) -> Option<&'l str> {
        get(self.table, "name").and_then(|value| value.get_ref().as_str())
    }

    /// Whether it has a header of its own, with its keys below it.
    pub fn has_header(&self) -> bool {
        self.layout.text.as_bytes().get(self.span.0) == Some(&b'[')
    }

    pub fn header_start(&self) -> usize {
        self.span.0
    }

    pub fn value(&self, key: &str) -> Option<&'l Spanned<DeValue<'a>>> {
        get(self.table, key)
    }

    /// Its keys in the order of the text, without those that are sub-tables with a header.
    pub fn entries(&self) -> Vec<Entry<'l, 'a>> {
        let mut entries: Vec<_> = self
            .table
            .iter()
            .filter(|(_, value)| !is_header(self.layout.text, value))
            .map(|(key, value)| Entry { key: key.get_ref(), key_span: key.span(), value })
            .collect();
        entries.sort_by_key(|entry| entry.key_span.start);
        entries
    }

    /// The end of the last line of keys below its own header.
    pub fn keys_end(&self) -> usize {
        let last = self.entries().iter().map(|entry| end_of(entry.value)).max().unwrap_or(0);
        self.layout.next_line(last.max(self.span.1))
    }

    /// The lines of the table and of its sub-tables, with the comments directly above each.
    pub fn regions(&self) -> Vec<Range<usize>> {
        let mut blocks = vec![*self];
        let mut at = 0;
        while let Some(block) = blocks.get(at).copied() {
            at += 1;
            for (_, value) in block.table.iter() {
                blocks.extend(header_tables(self.layout, value));
            }
        }
        let mut regions: Vec<_> = blocks.iter().map(Block::region).collect();
        regions.sort_by_key(|region| region.start);
        regions
    }

    fn region(&self) -> Range<usize> {
        let layout = self.layout;
        let mut start = layout.line_start(self.span.0);
        while let Some(line) = layout.line_before(start)
            && layout.is_comment(&line)
        {
            start = line.start;
        }
        // A comment that follows directly belongs to the table, unless it is directly above the next one.
        let end = self.keys_end();
        let mut after = end;
        let mut line = after..layout.next_line(after);
        while !line.is_empty() && layout.is_comment(&line) {
            after = line.end;
            line = after..layout.next_line(after);
        }
        start..if layout.is_header_line(&line) { end } else { after }
    }
}

fn get<'l, 'a>(table: &'l DeTable<'a>, key: &str) -> Option<&'l Spanned<DeValue<'a>>> {
    table.iter().find(|(found, _)| &**found.get_ref() == key).map(|(_, value)| value)
}

/// Whether a value is a table with a header of its own, or several of them.
fn is_header(text: &str, value: &Spanned<DeValue<'_>>) -> bool {
    match value.get_ref() {
        DeValue::Table(_) => text.as_bytes().get(value.span().start) == Some(&b'['),
        DeValue::Array(array) => array.iter().next().is_some_and(|first| {
            // The entries of a list in brackets start after the bracket.
            first.get_ref().is_table() && first.span().start == value.span().start
        }),
        _ => false,
    }
}

fn header_tables<'l, 'a>(layout: &'l Layout<'a>, value: &'l Spanned<DeValue<'a>>) -> Vec<Block<'l, 'a>> {
    if !is_header(layout.text, value) {
        return Vec::new();
    }
    match value.get_ref() {
        DeValue::Array(array) => array.iter().filter_map(|value| layout.block(value)).collect(),
        _ => layout.block(value).into_iter().collect(),
    }
}

fn collect(text: &str, table: &DeTable<'_>, headers: &mut Vec<usize>, long_values: &mut Vec<Range<usize>>) {
    for (_, value) in table.iter() {
        match value.get_ref() {
            DeValue::Array(array) if is_header(text, value) => {
                for item in array.iter() {
                    headers.push(item.span().start);
                    if let DeValue::Table(inner) = item.get_ref() {
                        collect(text, inner, headers, long_values);
                    }
                }
            }
            DeValue::Table(inner) if !text[value.span()].starts_with('{') => {
                if is_header(text, value) {
                    headers.push(value.span().start);
                }
                collect(text, inner, headers, long_values);
            }
            _ if text[value.span()].contains('\n') => long_values.push(value.span()),
            _ => {}
        }
    }
}

/// The end of a value, or of the last part of one that dotted keys put together.
fn end_of(value: &Spanned<DeValue<'_>>) -> usize {
    let own = value.span().end;
    match value.get_ref() {
        DeValue::Table(table) => table.iter().map(|(_, value)| end_of(value)).max().unwrap_or(0).max(own),
        _ => own,
    }
}
