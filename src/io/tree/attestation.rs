//! `.overlaid/attestation.json`: what the tree is, for whoever finds it later.
//!
//! A statement, not a proof: `verify` compares it with the tree. Nothing reads it to decide what to write.

use bstr::ByteSlice;
use rustix::io::Errno;

use super::error::TreeError;
use super::folder::{Root, create_at, read_at, unlink_at};
use crate::escape;
use crate::id::UpstreamPath;
use crate::plan::Wanted;
use crate::tree::Content;

/// The file in `.overlaid`.
pub const FILE: &str = "attestation.json";
const NEW_FILE: &str = "attestation.new";
const SCHEMA: &str = "overlaid.attestation.v1";

/// The attestation of a tree that is what is wanted. The same tree gives the same bytes.
#[must_use]
pub fn render(wanted: &Wanted) -> String {
    // Written by hand: build scripts do without a crate for JSON.
    let mut text = format!(
        "{{\n  \"schema\": \"{SCHEMA}\",\n  \"upstream\": {},\n  \"pin\": \"{}\",\n  \"fingerprint\": {},\n  \"overlaid\": ",
        quoted(wanted.upstream.as_str()),
        wanted.commit,
        quoted(&wanted.fingerprint)
    );
    let overlaid = wanted.changes.iter().map(|(path, change)| {
        let owners = wanted.owners.get(path).into_iter().flatten();
        let owners: Vec<String> = owners.map(|name| format!("        {}", quoted(name.as_str()))).collect();
        let mut fields = vec![
            format!("      \"path\": {}", quoted(&name_of(path))),
            format!("      \"overlays\": {}", list(&owners, "      ")),
        ];
        // Absent where overlays remove the path.
        if let Some(entry) = change.as_ref().map(Content::entry) {
            fields.push(format!("      \"mode\": \"{}\"", entry.mode.as_octal()));
            fields.push(format!("      \"id\": \"{}\"", entry.id));
        }
        format!("    {{\n{}\n    }}", fields.join(",\n"))
    });
    text.push_str(&list(&overlaid.collect::<Vec<_>>(), "  "));
    text.push_str("\n}\n");
    text
}

/// JSON has no other bytes than text.
fn name_of(path: &UpstreamPath) -> String {
    path.as_bytes().to_str().map_or_else(|_| escape::for_terminal(path.as_bytes()), str::to_owned)
}

fn list(items: &[String], indent: &str) -> String {
    if items.is_empty() { "[]".to_owned() } else { format!("[\n{}\n{indent}]", items.join(",\n")) }
}

fn quoted(text: &str) -> String {
    use std::fmt::Write;
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if u32::from(c) < 0x20 => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The attestation that lies in a tree; `None` if there is none.
pub(super) fn load(home: &Root) -> Result<Option<Vec<u8>>, TreeError> {
    match read_at(home, FILE) {
        Ok(text) => Ok(Some(text)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(TreeError::io("read", home.at(FILE), error)),
    }
}

/// Replaces the attestation, in one step.
pub(super) fn write(home: &Root, text: &str) -> Result<(), TreeError> {
    let failed = |error| TreeError::io("write", home.at(FILE), error);
    unlink_at(home, NEW_FILE).map_err(failed)?;
    create_at(home, NEW_FILE, false, text.as_bytes()).map_err(failed)?;
    rustix::fs::renameat(home, NEW_FILE, home, FILE).map_err(failed)
}

/// Takes the attestation away: nothing is claimed any more.
pub(super) fn withdraw(home: &Root) -> Result<(), TreeError> {
    unlink_at(home, FILE).map_err(|error| TreeError::io("remove", home.at(FILE), error))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::id::{CommitId, Name};

    #[test]
    fn it_is_the_json_that_a_crate_for_it_writes() {
        let path = |text: &str| UpstreamPath::parse(text).unwrap();
        let name = Name::parse("fix").unwrap();
        let wanted = |changes: crate::tree::Changes| Wanted {
            owners: changes
                .keys()
                .take(1)
                .map(|path| (path.clone(), vec![name.clone(), name.clone()]))
                .collect(),
            changes,
            ..Wanted::pristine(
                Name::parse("up").unwrap(),
                CommitId::from_bytes([7; 20]),
                BTreeMap::new(),
                "12ab".to_owned(),
            )
        };
        let content = Content::file(*b"1");
        let changes = [(path("a\"\\\u{1}é"), Some(content.clone())), (path("b"), None)].into();
        let pin = "07".repeat(20);
        let head = |overlaid: serde_json::Value| json!({ "schema": SCHEMA, "upstream": "up", "pin": pin, "fingerprint": "12ab", "overlaid": overlaid });
        let expected = head(json!([
            { "path": "a\"\\\u{1}é", "overlays": ["fix", "fix"], "mode": "100644", "id": content.entry().id },
            { "path": "b", "overlays": [] }
        ]));
        let text = render(&wanted(changes));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), expected);
        assert!(
            text.contains("\n      \"overlays\": [\n        \"fix\",\n        \"fix\"\n      ],\n"),
            "{text}"
        );
        let empty = render(&wanted(BTreeMap::new()));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&empty).unwrap(), head(json!([])));
    }
}
