//! `overlaid bump --scan`

use serde_json::{Value, json};

use crate::bump::{First, Outcome, Question, Scan, scan};
use crate::escape::for_terminal;
use crate::id::CommitId;
use crate::io::store::Store;
use crate::io::workspace::Workspace;
use crate::merge::Style;
use crate::upstream::Upstream as _;

use super::super::status::describe_commit;
use super::super::{Answer, Failure, Ui};
use super::show::tone;

/// What a person wants to know the first commit of.
const TOLD: [Outcome; 8] = [
    Outcome::Unknown,
    Outcome::Blocked,
    Outcome::Gone,
    Outcome::Renamed,
    Outcome::Collides,
    Outcome::Conflict,
    Outcome::Absorbed,
    Outcome::Redundant,
];

pub(super) fn run(
    workspace: &Workspace,
    store: &Store,
    to: CommitId,
    called: &str,
    ui: &mut Ui,
) -> Result<Answer, Failure> {
    let manifest = &workspace.manifest;
    let from = manifest.upstream.pin.value;
    let question = Question {
        overlays: &workspace.overlays,
        exclusive: &manifest.exclusive,
        from,
        to,
        style: Style::Merge,
        upstream: store,
    };
    let Some(found) = scan(&question)? else {
        let message =
            format!("from {} first parents do not lead back to the pin {}", to.short(), from.short());
        return Err(Failure::input(message).with_hint(
            "scan a branch that the pin is on, or see one commit: overlaid bump --dry-run --to REV",
        ));
    };
    if ui.is_json() {
        ui.document(&to_json(&found, workspace, from, to, called));
    } else {
        print(&found, workspace, store, called, ui)?;
    }
    Ok(match (found.commits == 0, found.newest_clean) {
        (true, _) | (_, Some(_)) => Answer::Yes,
        (false, None) => Answer::NeedsPerson,
    })
}

fn print(
    found: &Scan,
    workspace: &Workspace,
    store: &Store,
    called: &str,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let upstream = &workspace.manifest.upstream;
    ui.line(format_args!(
        "{}: {} commits from the pin {} to {}",
        upstream.name.value,
        found.commits,
        upstream.pin.value.short(),
        for_terminal(called)
    ));
    match found.newest_clean {
        Some(commit) => {
            ui.text(
                0,
                None,
                &format!("everything moves by itself up to {}", describe_commit(&store.commit(commit)?)),
            );
            if found.after_it > 0 {
                ui.line(format_args!("{} newer commits are not reached", found.after_it));
            }
            ui.line(format_args!("  overlaid bump --to {commit}"));
        }
        None if found.commits == 0 => ui.line("the pin is there already"),
        None => ui.line("there is no commit to which everything moves by itself"),
    }
    for overlay in &found.overlays {
        let told: Vec<_> =
            TOLD.iter().filter_map(|outcome| Some((*outcome, overlay.first.get(outcome)?))).collect();
        if told.is_empty() {
            continue;
        }
        ui.line(format_args!("{} (at the end: {})", overlay.name, overlay.last));
        for (outcome, first) in told {
            let path = first.path.as_ref().map(|path| format!(" {}", for_terminal(path.as_bytes())));
            let to = first.to.as_ref().map(|to| format!(", now {}", for_terminal(to.as_bytes())));
            let lead = format!("{outcome}: ");
            let text = format!(
                "first at {}{}{}",
                describe_commit(&store.commit(first.commit)?),
                path.map(|path| format!(";{path}")).unwrap_or_default(),
                to.unwrap_or_default()
            );
            ui.text(2, Some((tone(outcome), &lead)), &text);
        }
    }
    Ok(())
}

fn to_json(found: &Scan, workspace: &Workspace, from: CommitId, to: CommitId, called: &str) -> Value {
    let first = |first: &First| json!({ "commit": first.commit, "path": first.path, "to": first.to });
    let overlays: Vec<Value> = found
        .overlays
        .iter()
        .map(|overlay| {
            let firsts: serde_json::Map<String, Value> =
                overlay.first.iter().map(|(outcome, found)| (outcome.to_string(), first(found))).collect();
            json!({ "name": overlay.name, "last": overlay.last.as_str(), "first": firsts })
        })
        .collect();
    json!({
        "schema": "overlaid.bump-scan.v1",
        "upstream": workspace.manifest.upstream.name.as_str(),
        "from": from,
        "to": to,
        "called": called,
        "commits": found.commits,
        "newest-clean": found.newest_clean,
        "after-it": found.after_it,
        "overlays": overlays,
    })
}
