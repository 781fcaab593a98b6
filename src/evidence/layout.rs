//! How a record looks as text: over several lines down to the cells, and a line for each cell, so that a difference
//! between two records can be read and a record of thousands of cells stays small.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

/// Record, runs, run, cells: what is deeper stands on one line.
const DEEPEST: usize = 4;

/// The text of a value, without a line end.
///
/// # Errors
/// If the value holds something that JSON cannot hold.
pub(super) fn render(value: &serde_json::Value) -> Result<Vec<u8>, serde_json::Error> {
    let mut text = Vec::new();
    let formatter = Layout { pretty: PrettyFormatter::new(), compact: CompactFormatter, depth: 0 };
    value.serialize(&mut Serializer::with_formatter(&mut text, formatter))?;
    Ok(text)
}

struct Layout {
    pretty: PrettyFormatter<'static>,
    compact: CompactFormatter,
    depth: usize,
}

impl Layout {
    fn is_deep(&self) -> bool {
        self.depth > DEEPEST
    }
}

/// Hands each call to the formatter that the depth asks for.
macro_rules! by_depth {
    ($($call:ident($($argument:ident: $kind:ty),*);)*) => {$(
        fn $call<W: ?Sized + Write>(&mut self, writer: &mut W $(, $argument: $kind)*) -> io::Result<()> {
            if self.is_deep() {
                self.compact.$call(writer $(, $argument)*)
            } else {
                self.pretty.$call(writer $(, $argument)*)
            }
        }
    )*};
}

impl Formatter for Layout {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        if self.is_deep() { self.compact.begin_array(writer) } else { self.pretty.begin_array(writer) }
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let deep = self.is_deep();
        self.depth -= 1;
        if deep { self.compact.end_array(writer) } else { self.pretty.end_array(writer) }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        if self.is_deep() { self.compact.begin_object(writer) } else { self.pretty.begin_object(writer) }
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let deep = self.is_deep();
        self.depth -= 1;
        if deep { self.compact.end_object(writer) } else { self.pretty.end_object(writer) }
    }

    by_depth! {
        begin_array_value(first: bool);
        end_array_value();
        begin_object_key(first: bool);
        begin_object_value();
        end_object_value();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_cell_is_a_line() {
        let value =
            json!({ "runs": [{ "cells": [{ "case": "a", "figure": { "value": 1.5 } }, { "case": "b" }] }] });
        let text = String::from_utf8(super::render(&value).unwrap()).unwrap();
        let expected = r#"{
  "runs": [
    {
      "cells": [
        {"case":"a","figure":{"value":1.5}},
        {"case":"b"}
      ]
    }
  ]
}"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
