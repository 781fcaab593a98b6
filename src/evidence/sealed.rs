//! A record as text, with a hash over itself: an edit by hand shows.
//!
//! The hash keeps mistakes out, not forgers: anyone can compute it.

use serde_json::Value;

use super::{Record, ResultRecord, SCHEMA, layout};
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
    let mut text = layout::render(&value).map_err(malformed)?;
    text.push(b'\n');
    String::from_utf8(text).map_err(|error| EvidenceError::Malformed(error.to_string()))
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

/// Reads a record of runs whose text, byte for byte, [`parse_record`] has accepted before: the hash is not
/// computed again.
///
/// # Errors
/// If it is not such a record.
pub fn parse_checked_result(text: &[u8]) -> Result<ResultRecord, EvidenceError> {
    serde_json::from_slice(text).map_err(|error| EvidenceError::Malformed(error.to_string()))
}
