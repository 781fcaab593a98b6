//! `prove --json`.

use serde_json::{Value, json};

use crate::id::Name;
use crate::io::workspace::Workspace;
use crate::verdict::group::Together;

use super::{Outcome, rivals};

/// The answer, for programs.
pub(super) fn document(workspace: &Workspace, profile: Option<&Name>, outcome: &Outcome) -> Value {
    let upstream = &workspace.manifest.upstream;
    let overlays: Vec<Value> = outcome
        .candidates
        .iter()
        .zip(&outcome.decisions)
        .map(|(candidate, decision)| {
            let mut value = serde_json::to_value(decision).unwrap_or_default();
            if let Value::Object(object) = &mut value {
                object.insert("advice".to_owned(), decision.verdict.advice().into());
                object.insert("removed".to_owned(), json!(candidate.variants.removed));
                let witness = candidate.variants.witness.as_ref().map(|[without, _]| match &without.fault {
                    Some(fault) => json!({ "patch": fault.display().to_string() }),
                    None => json!(without.commit),
                });
                object.insert("witness".to_owned(), witness.unwrap_or_else(|| json!(upstream.pin.value)));
            }
            value
        })
        .collect();
    let mut document = json!({
        "schema": "overlaid.prove.v1",
        "upstream": upstream.name.value,
        "pin": upstream.pin.value,
        "profile": profile,
        "overlays": overlays,
        "together": Value::Null,
        "rivals": outcome.rivals.iter().map(rivals::document).collect::<Vec<_>>(),
        "left": outcome.left.iter().map(|planned| json!({
            "variant": planned.variant,
            "test": planned.test,
            "runs": planned.runs,
            "millis": planned.millis,
        })).collect::<Vec<_>>(),
        "on_record": outcome.on_record.iter().map(|valid| json!({
            "variant": valid.variant,
            "test": valid.test,
            "runs": valid.runs,
        })).collect::<Vec<_>>(),
        "budget_used_up": outcome.too_short.is_some(),
    });
    if let Some((members, together)) = &outcome.together {
        let (answer, cases, reasons) = match together {
            Together::AllCanGo => ("all-can-go", json!([]), json!([])),
            Together::NotTogether { cases } => ("not-together", json!(cases), json!([])),
            Together::Unknown { reasons } => ("unknown", json!([]), json!(reasons)),
        };
        let drop = (*together == Together::AllCanGo).then(|| outcome.drop_command(members));
        document["together"] = json!({
            "overlays": members, "answer": answer, "cases": cases, "reasons": reasons, "drop": drop,
        });
    }
    document
}
