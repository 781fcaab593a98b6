//! SARIF 2.1.0, the format that code scanning reads.
//!
//! Format: <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Notice;
use crate::diagnostic::Severity;
use crate::escape::for_terminal;
use crate::report::explain;

/// The document of one run of a command.
#[must_use]
pub fn document(command: &str, version: &str, notices: &[Notice]) -> Value {
    let mut rules: BTreeMap<&str, Value> = BTreeMap::new();
    for notice in notices {
        let code = notice.record.code;
        let text = explain::lookup(code).map_or_else(|| code.to_owned(), |found| found.meaning);
        rules.entry(code).or_insert_with(|| json!({ "id": code, "shortDescription": { "text": text } }));
    }
    let index: BTreeMap<&str, usize> = rules.keys().enumerate().map(|(at, code)| (*code, at)).collect();
    let results: Vec<Value> = notices.iter().map(|notice| result(notice, &index)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "overlaid",
                "semanticVersion": version,
                "rules": rules.into_values().collect::<Vec<_>>(),
            }},
            "automationDetails": { "id": format!("overlaid/{command}") },
            "results": results,
        }],
    })
}

fn result(notice: &Notice, index: &BTreeMap<&str, usize>) -> Value {
    let record = &notice.record;
    let level = match notice.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
        _ => "note",
    };
    let mut location = json!({});
    if let Some(file) = &record.file {
        location["physicalLocation"] = json!({ "artifactLocation": { "uri": uri(file) } });
        if let Some(line) = record.line {
            let mut region = json!({ "startLine": line });
            if let Some(column) = record.column {
                region["startColumn"] = column.into();
            }
            location["physicalLocation"]["region"] = region;
        }
    }
    if let Some(overlay) = &notice.overlay {
        location["logicalLocations"] = json!([{ "name": overlay, "kind": "module" }]);
    }
    let is_placed = location.as_object().is_some_and(|object| !object.is_empty());
    let overlay = notice.overlay.as_deref().unwrap_or_default();
    json!({
        "ruleId": record.code,
        "ruleIndex": index.get(record.code),
        "level": level,
        "message": { "text": for_terminal(notice.text()) },
        "locations": if is_placed { vec![location] } else { Vec::new() },
        // The same finding is the same one tomorrow, though lines have moved.
        "partialFingerprints": {
            "overlaid/v1": crate::canonical_json::digest(&json!([record.code, overlay, record.file, record.message])),
        },
    })
}

/// A path as a relative reference: what is no plain sign of an address is percent-encoded.
fn uri(file: &str) -> String {
    let mut out = String::new();
    for byte in file.bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostic;

    #[test]
    fn a_rule_stands_once_and_each_result_points_to_it() {
        let of = |message: &str, code| Notice {
            overlay: Some("fix".to_owned()),
            record: Diagnostic::error(code, message).to_record(),
        };
        let document =
            document("verify", "1.0.0", &[of("a", "tree-extra"), of("b", "rollback"), of("c", "rollback")]);
        let run = &document["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"].as_array().unwrap().len(), 2);
        for result in run["results"].as_array().unwrap() {
            let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
            assert_eq!(rule["id"], result["ruleId"]);
        }
    }

    #[test]
    fn a_path_is_an_address_whatever_is_in_it() {
        assert_eq!(uri("a b/ü%:#?.cu"), "a%20b/%C3%BC%25%3A%23%3F.cu");
    }
}
