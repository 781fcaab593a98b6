//! What `overlaid status --json` prints.

use serde::Serialize;
use serde_json::{Value, json};

use crate::accept::{Acceptance, acceptance};
use crate::id::{BlobId, CommitId, OverlayName, UpstreamPath};
use crate::io::workspace::Workspace;
use crate::lex::Delta;
use crate::overlay::Loaded;
use crate::provenance::{
    Blobs, NoBranch, Note, OldLine, OverlayNote, OverlayReport, PathReport, Side, pull_request_number,
};
use crate::tree::Entry;
use crate::upstream::Commit;

use super::drop_when;
use super::words::date;

/// The document. Fields stand in the order of the alphabet, as in all documents; what there can be thousands of is no
/// `Value`, which takes many times the time and the memory.
#[derive(Serialize)]
pub(super) struct Document {
    overlays: Vec<Overlay>,
    schema: &'static str,
    upstreams: Vec<Value>,
}

impl Document {
    pub(super) fn new() -> Self {
        Self { overlays: Vec::new(), schema: "overlaid.status.v1", upstreams: Vec::new() }
    }

    /// Adds a manifest's overlays.
    pub(super) fn add(
        &mut self,
        workspace: &Workspace,
        loaded: &[&Loaded],
        reports: &[OverlayReport],
        no_branch: Option<&NoBranch>,
    ) {
        let upstream = &workspace.manifest.upstream;
        self.upstreams.push(json!({
            "name": upstream.name.value,
            "manifest": workspace.manifest.file.display().to_string(),
            "pin": upstream.pin.value,
            "branch": upstream.branch.as_ref().map(|branch| &branch.value),
            "branch-unknown": no_branch
                .zip(upstream.branch.as_ref())
                .map(|(no_branch, branch)| no_branch.sentence(&branch.value)),
        }));
        let docs = workspace.root.join(workspace.manifest.docs_folder());
        let known = drop_when::Known::load(&docs, upstream.name.value.as_str());
        let pairs = loaded.iter().zip(reports);
        self.overlays.extend(pairs.map(|(loaded, report)| Overlay::new(workspace, loaded, report, &known)));
    }
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Overlay {
    accepted: Value,
    base: Option<CommitId>,
    drop_when: Option<Value>,
    name: String,
    notes: Vec<Value>,
    paths: Vec<Path>,
    pin: CommitId,
    reason: Option<String>,
    reasons: Vec<Value>,
    state: &'static str,
    tests: Vec<String>,
    undoes: Vec<OneCommit>,
    upstream: String,
    verdict: Option<Value>,
}

impl Overlay {
    fn new(workspace: &Workspace, loaded: &Loaded, report: &OverlayReport, known: &drop_when::Known) -> Self {
        let pin = workspace.manifest.upstream.pin.value;
        let verdict = known.verdicts.last(report.name.as_str(), None).map(|(profile, noted)| {
            json!({
                "verdict": noted.verdict,
                "profile": profile,
                "recorded": noted.recorded,
                "holds": noted.content == report.content_digest(pin),
            })
        });
        let overlay = &loaded.overlay;
        let note = |note: &OverlayNote| json!({ "code": note.code(), "text": note.to_string() });
        Self {
            accepted: accepted_json(loaded, report, pin),
            base: overlay.base.as_ref().map(|base| base.value),
            drop_when: overlay
                .drop_when
                .as_ref()
                .map(|when| drop_when::to_json(&when.value, report, known, pin)),
            name: report.name.to_string(),
            notes: report.notes.iter().map(note).collect(),
            paths: report.paths.iter().map(Path::new).collect(),
            pin,
            reason: overlay.reason.as_ref().map(|reason| reason.value.clone()),
            reasons: reasons_json(report),
            state: report.state.as_str(),
            tests: overlay.tests.iter().map(|test| test.as_str().to_owned()).collect(),
            undoes: report.undoes().into_iter().map(OneCommit::new).collect(),
            upstream: workspace.manifest.upstream.name.value.to_string(),
            verdict,
        }
    }
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

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Path {
    against_base: Option<Lines>,
    against_pin: Option<Lines>,
    blobs: Contents,
    by: Option<OneCommit>,
    compared: &'static str,
    delta: Option<&'static str>,
    included: Vec<OneCommit>,
    moved_by: Vec<CommitId>,
    notes: Vec<OneNote>,
    path: UpstreamPath,
    similarity: Option<u8>,
    state: &'static str,
    to: Option<UpstreamPath>,
    undoes: Vec<OneCommit>,
    why: String,
}

impl Path {
    fn new(path: &PathReport) -> Self {
        let commits = |commits: &[Commit]| commits.iter().map(OneCommit::new).collect();
        let (to, similarity) = path.to.clone().unzip();
        Self {
            against_base: path.against_base.map(Lines::new),
            against_pin: path.against_pin.map(Lines::new),
            blobs: Contents::new(path.blobs),
            by: path.by.as_ref().map(OneCommit::new),
            compared: if path.by_name_only { "names" } else { "code" },
            delta: path.delta.map(Delta::as_str),
            included: commits(&path.included),
            moved_by: path.moved_by.clone(),
            notes: path.notes.iter().map(OneNote::new).collect(),
            path: path.path.clone(),
            similarity,
            state: path.state.as_str(),
            to,
            undoes: commits(&path.undoes),
            why: path.why.clone(),
        }
    }
}

#[derive(Serialize)]
struct Contents {
    base: Option<BlobId>,
    overlay: Option<BlobId>,
    pin: Option<BlobId>,
}

impl Contents {
    fn new(blobs: Blobs) -> Self {
        let id = |entry: Option<Entry>| entry.map(|entry| entry.id);
        Self { base: id(blobs.base), overlay: id(blobs.overlay), pin: id(blobs.pin) }
    }
}

#[derive(Serialize)]
struct Lines {
    added: usize,
    removed: usize,
}

impl Lines {
    fn new((added, removed): (usize, usize)) -> Self {
        Self { added, removed }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct OneCommit {
    date: String,
    id: CommitId,
    pull_request: Option<u64>,
    subject: String,
}

impl OneCommit {
    fn new(commit: &Commit) -> Self {
        Self {
            date: date(commit.committed),
            id: commit.id,
            pull_request: pull_request_number(commit),
            subject: commit.subject.to_string(),
        }
    }
}

/// A note with what proves it.
#[derive(Default, Serialize)]
struct OneNote {
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<OneCommit>,
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    commits: Option<Vec<OneCommit>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    common: Option<Option<CommitId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    has: Option<Vec<Range>>,
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    taken_in: Option<OneCommit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lacks: Option<Vec<Range>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<Vec<OneLine>>,
    #[serde(rename = "out", skip_serializing_if = "Option::is_none")]
    taken_out: Option<OneCommit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overlays: Option<Vec<OverlayName>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<Vec<Part>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<UpstreamPath>,
    #[serde(skip_serializing_if = "Option::is_none")]
    side: Option<Side>,
    text: String,
}

impl OneNote {
    fn new(note: &Note) -> Self {
        let plain = Self { code: note.code(), text: note.to_string(), ..Self::default() };
        let ranges = |ranges: &[(usize, usize)]| {
            Some(ranges.iter().map(|(first, last)| Range { first: *first, last: *last }).collect())
        };
        let line = |line: &OldLine| OneLine { line: line.number, text: line.text.to_string() };
        match note {
            Note::Resurrects(found) => Self {
                by: Some(OneCommit::new(&found.removed_by)),
                lines: Some(found.lines.iter().map(line).collect()),
                ..plain
            },
            Note::HalfAbsorbed { has, lacks } => Self { has: ranges(has), lacks: ranges(lacks), ..plain },
            Note::Reverted { taken_in, taken_out } => Self {
                taken_in: Some(OneCommit::new(taken_in)),
                taken_out: Some(OneCommit::new(taken_out)),
                ..plain
            },
            Note::Neighbour(neighbour) => Self {
                path: Some(neighbour.file.clone()),
                side: Some(neighbour.side),
                count: Some(neighbour.count),
                commits: Some(neighbour.commits.iter().map(OneCommit::new).collect()),
                ..plain
            },
            Note::Split(parts) => {
                let part = |(path, share): &(UpstreamPath, u8)| Part { path: path.clone(), share: *share };
                Self { parts: Some(parts.iter().map(part).collect()), ..plain }
            }
            Note::Diverged(common) => Self { common: Some(*common), ..plain },
            Note::NeedsMissing(overlays) => Self { overlays: Some(overlays.clone()), ..plain },
            Note::Ahead | Note::NotLexed(_) | Note::Conflict(_) => plain,
        }
    }
}

#[derive(Serialize)]
struct Range {
    first: usize,
    last: usize,
}

#[derive(Serialize)]
struct OneLine {
    line: usize,
    text: String,
}

#[derive(Serialize)]
struct Part {
    path: UpstreamPath,
    share: u8,
}
