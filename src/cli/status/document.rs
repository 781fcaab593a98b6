//! What `overlaid status --json` prints.

use serde_json::{Value, json};

use crate::accept::{Acceptance, acceptance};
use crate::id::CommitId;
use crate::io::workspace::Workspace;
use crate::lex::Delta;
use crate::overlay::Loaded;
use crate::provenance::{Note, OverlayReport, PathReport, pull_request_number};
use crate::upstream::Commit;

use super::drop_when;
use super::words::date;

pub(super) fn document(parts: Vec<(Value, Vec<Value>)>) -> Value {
    let (upstreams, overlays): (Vec<Value>, Vec<Vec<Value>>) = parts.into_iter().unzip();
    json!({
        "schema": "overlaid.status.v1",
        "upstreams": upstreams,
        "overlays": overlays.into_iter().flatten().collect::<Vec<_>>(),
    })
}

pub(super) fn to_json(
    workspace: &Workspace,
    loaded: &[&Loaded],
    reports: &[OverlayReport],
) -> (Value, Vec<Value>) {
    let upstream = &workspace.manifest.upstream;
    let name = &upstream.name.value;
    let about = json!({
        "name": name,
        "manifest": workspace.manifest.file.display().to_string(),
        "pin": upstream.pin.value,
        "branch": upstream.branch.as_ref().map(|branch| &branch.value),
    });
    let docs = workspace.root.join(workspace.manifest.docs_folder());
    let known = drop_when::Known::load(&docs, name.as_str());
    let overlays = loaded
        .iter()
        .zip(reports)
        .map(|(loaded, report)| {
            let verdict = known.verdicts.last(report.name.as_str(), None).map(|(profile, noted)| {
                json!({
                    "verdict": noted.verdict,
                    "profile": profile,
                    "recorded": noted.recorded,
                    "holds": noted.content == report.content_digest(upstream.pin.value),
                })
            });
            json!({
                "name": report.name,
                "upstream": name,
                "state": report.state.as_str(),
                "reason": loaded.overlay.reason.as_ref().map(|reason| &reason.value),
                "base": loaded.overlay.base.as_ref().map(|base| base.value),
                "pin": upstream.pin.value,
                "tests": loaded.overlay.tests.iter().map(|test| test.as_str()).collect::<Vec<_>>(),
                "undoes": report.undoes().iter().map(|commit| commit_json(commit)).collect::<Vec<_>>(),
                "paths": report.paths.iter().map(path_json).collect::<Vec<_>>(),
                "reasons": reasons_json(report),
                "notes": report.notes.iter()
                    .map(|note| json!({ "code": note.code(), "text": note.to_string() })).collect::<Vec<_>>(),
                "drop-when": loaded.overlay.drop_when.as_ref().map(|when| {
                    drop_when::to_json(&when.value, report, &known, upstream.pin.value)
                }),
                "verdict": verdict,
                "accepted": accepted_json(loaded, report, upstream.pin.value),
            })
        })
        .collect();
    (about, overlays)
}

/// Whether the state is meant, and why.
fn accepted_json(loaded: &Loaded, report: &OverlayReport, pin: CommitId) -> Value {
    match acceptance(&loaded.overlay, report, pin) {
        Acceptance::None => Value::Null,
        Acceptance::Holds(reason) => json!({ "holds": true, "reason": reason }),
        Acceptance::Lapsed(why) => json!({ "holds": false, "why": why }),
    }
}

fn reasons_json(report: &OverlayReport) -> Vec<Value> {
    let whole = report.why.iter().map(|why| json!({ "code": report.state.as_str(), "text": why }));
    let paths = report
        .paths
        .iter()
        .map(|path| json!({ "code": path.state.as_str(), "text": format!("{}: {}", path.path, path.why) }));
    whole.chain(paths).collect()
}

fn path_json(path: &PathReport) -> Value {
    json!({
        "path": path.path,
        "state": path.state.as_str(),
        "why": path.why,
        "undoes": path.undoes.iter().map(commit_json).collect::<Vec<_>>(),
        "included": path.included.iter().map(commit_json).collect::<Vec<_>>(),
        "moved-by": path.moved_by.iter().map(CommitId::to_string).collect::<Vec<_>>(),
        "to": path.to.as_ref().map(|(to, _)| to),
        "similarity": path.to.as_ref().map(|(_, similarity)| similarity),
        "by": path.by.as_ref().map(commit_json),
        "notes": path.notes.iter().map(note_json).collect::<Vec<_>>(),
        "compared": if path.by_name_only { "names" } else { "code" },
        "delta": path.delta.map(Delta::as_str),
        "against-base": path.against_base.map(lines_json),
        "against-pin": path.against_pin.map(lines_json),
        "blobs": {
            "base": path.blobs.base, "pin": path.blobs.pin, "overlay": path.blobs.overlay,
        },
    })
}

/// A note with what proves it.
fn note_json(note: &Note) -> Value {
    let mut value = json!({ "code": note.code(), "text": note.to_string() });
    let range = |(first, last): &(usize, usize)| json!({ "first": first, "last": last });
    let proof = match note {
        Note::Resurrects(found) => json!({
            "by": commit_json(&found.removed_by),
            "lines": found.lines.iter()
                .map(|line| json!({ "line": line.number, "text": line.text.to_string() })).collect::<Vec<_>>(),
        }),
        Note::HalfAbsorbed { has, lacks } => json!({
            "has": has.iter().map(range).collect::<Vec<_>>(),
            "lacks": lacks.iter().map(range).collect::<Vec<_>>(),
        }),
        Note::Reverted { taken_in, taken_out } => {
            json!({ "in": commit_json(taken_in), "out": commit_json(taken_out) })
        }
        Note::Neighbour(neighbour) => json!({
            "path": neighbour.file,
            "side": neighbour.side,
            "count": neighbour.count,
            "commits": neighbour.commits.iter().map(commit_json).collect::<Vec<_>>(),
        }),
        Note::Split(parts) => json!({
            "parts": parts.iter()
                .map(|(path, share)| json!({ "path": path, "share": share })).collect::<Vec<_>>(),
        }),
        Note::Diverged(common) => json!({ "common": common }),
        Note::Ahead | Note::NotLexed(_) | Note::Conflict(_) => json!({}),
    };
    if let (Value::Object(value), Value::Object(proof)) = (&mut value, proof) {
        value.extend(proof);
    }
    value
}

fn lines_json((added, removed): (usize, usize)) -> Value {
    json!({ "added": added, "removed": removed })
}

fn commit_json(commit: &Commit) -> Value {
    json!({
        "id": commit.id,
        "date": date(commit.committed),
        "subject": commit.subject.to_string(),
        "pull-request": pull_request_number(commit),
    })
}
