//! A record as text, with a hash over itself: an edit by hand shows.
//!
//! The hash keeps mistakes out, not forgers: anyone can compute it.

use serde_json::Value;

use super::{Record, SCHEMA};
use crate::canonical_json;

/// Why a text is not a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvidenceError {
    /// Not JSON, or not the fields of a record.
    Malformed(String),
    /// Another format, or another version of it.
    Schema(String),
    /// Its hash does not fit: it was edited, or cut short and repaired, or merged.
    Edited,
}

impl std::fmt::Display for EvidenceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EvidenceError::Malformed(why) => write!(f, "not a record of evidence: {why}"),
            EvidenceError::Schema(found) => write!(f, "schema {found}, expected \"{SCHEMA}\""),
            EvidenceError::Edited => {
                f.write_str("its content does not fit its `check`: it was edited; delete it and run again")
            }
        }
    }
}

impl std::error::Error for EvidenceError {}

/// The text of a record: JSON over several lines, sorted, with `schema` and `check`, and a line end.
///
/// # Errors
/// If the record holds something that JSON cannot hold.
pub fn render_record(record: &Record) -> Result<String, EvidenceError> {
    let malformed = |error: serde_json::Error| EvidenceError::Malformed(error.to_string());
    let mut value = serde_json::to_value(record).map_err(malformed)?;
    let Value::Object(object) = &mut value else {
        return Err(EvidenceError::Malformed("not an object".to_owned()));
    };
    object.insert("schema".to_owned(), SCHEMA.into());
    let check = canonical_json::digest(&value);
    if let Value::Object(object) = &mut value {
        object.insert("check".to_owned(), check.into());
    }
    let mut text = String::new();
    write_value(&mut text, &value, 0);
    text.push('\n');
    Ok(text)
}

/// How deep a value is spread over several lines; what lies deeper, a cell for example, stands on one.
const SPREAD: usize = 4;

fn write_value(text: &mut String, value: &Value, depth: usize) {
    let indent = |text: &mut String, depth: usize| {
        text.push('\n');
        text.extend(std::iter::repeat_n(' ', depth));
    };
    match value {
        Value::Object(members) if depth < SPREAD && !members.is_empty() => {
            text.push('{');
            for (index, (key, value)) in members.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                indent(text, depth + 1);
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push_str(": ");
                write_value(text, value, depth + 1);
            }
            indent(text, depth);
            text.push('}');
        }
        Value::Array(items) if depth < SPREAD && !items.is_empty() => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                indent(text, depth + 1);
                write_value(text, item, depth + 1);
            }
            indent(text, depth);
            text.push(']');
        }
        other => text.push_str(&other.to_string()),
    }
}

/// Reads a record and checks its hash. White space and the order of keys do not matter.
///
/// # Errors
/// If it is not a record of this schema, or was edited.
pub fn parse_record(text: &str) -> Result<Record, EvidenceError> {
    let malformed = |error: serde_json::Error| EvidenceError::Malformed(error.to_string());
    let mut value = canonical_json::parse(text).map_err(malformed)?;
    let Value::Object(object) = &mut value else {
        return Err(EvidenceError::Malformed("not an object".to_owned()));
    };
    match object.get("schema") {
        Some(Value::String(schema)) if schema == SCHEMA => {}
        other => {
            return Err(EvidenceError::Schema(other.map_or_else(|| "is missing".into(), Value::to_string)));
        }
    }
    let check = object.remove("check");
    if check != Some(Value::String(canonical_json::digest(&value))) {
        return Err(EvidenceError::Edited);
    }
    if let Value::Object(object) = &mut value {
        object.remove("schema");
    }
    serde_json::from_value(value).map_err(malformed)
}
