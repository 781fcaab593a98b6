//! `overlaid base`

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::escape::for_terminal;
use crate::id::CommitId;
use crate::io::hashes::edit_file;
use crate::io::store::Store;
use crate::io::workspace::Workspace;
use crate::manifest::edit;
use crate::overlay::Loaded;
use crate::provenance::base::{Confidence, Inferred, Named, Nearest, PathBase, entry_at, infer};
use crate::provenance::pull_request_number;
use crate::upstream::{Commit, Upstream};

use super::status::{date, describe_commit};
use super::{Answer, Context, Failure, Tone, Ui, without_problems};

/// Infer from history which upstream commit overlays were derived from
///
/// Without names: for all overlays that have no base. Of all contents that a path ever had, renames followed, the
/// nearest by tokens is the one that the overlay was made from. Shows the nearest, how far each is, over which commits
/// it was current, and whether a comment in the file names a commit, and agrees.
///
/// Exit codes: 0 every base is found, or the one in the manifest is right. 1 another base than the one in the
/// manifest is nearer. 3 a person must decide: others are as near, all are far away, or a comment of the file names
/// another commit. 4 could not find out.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only these overlays, also those that have a base
    #[arg(value_name = "OVERLAY")]
    overlays: Vec<String>,
    /// Look at all branches and tags, not only at the pin and its branch
    #[arg(long)]
    all: bool,
    /// Write the bases that are certain into the manifest, for overlays that have none
    #[arg(long)]
    write: bool,
}

/// Runs the command.
///
/// # Errors
/// If a manifest or an upstream cannot be read, or the manifest cannot be written.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let mut documents = Vec::new();
    let mut known = BTreeSet::new();
    let mut answer = Answer::Yes;
    let _lock = if args.write { Some(context.lock(ui)?) } else { None };
    let workspaces = if args.write { vec![context.workspace()?] } else { context.workspaces()? };
    for workspace in workspaces {
        let workspace = without_problems(workspace)?;
        known.extend(workspace.overlays.iter().map(|loaded| loaded.name().to_string()));
        let is_chosen = |loaded: &&Loaded| match args.overlays.as_slice() {
            [] => loaded.overlay.base.is_none(),
            names => names.iter().any(|name| name == loaded.name().as_str()),
        };
        let chosen: Vec<&Loaded> = workspace.overlays.iter().filter(is_chosen).collect();
        if chosen.is_empty() {
            continue;
        }
        let store = context.store(&workspace, ui)?;
        let heads = heads(&workspace, &store, args.all)?;
        let mut found = Vec::new();
        ui.progress("looking through the history");
        let resolve = |digits: &str| store.resolve(digits).ok().flatten();
        let inferred = infer(&chosen, &heads, &resolve, &store)?;
        ui.end_progress();
        for (loaded, inferred) in chosen.into_iter().zip(inferred) {
            let judgement = judge(loaded, &inferred, &store)?;
            answer = answer.max(judgement.answer());
            if ui.is_json() {
                documents.push(to_json(&workspace, loaded, &inferred, judgement, &store)?);
            } else {
                show(loaded, &inferred, judgement, &store, ui)?;
            }
            found.push((loaded, inferred, judgement));
        }
        if args.write {
            write(&workspace, &found, ui)?;
        }
    }
    if let Some(name) = args.overlays.iter().find(|name| !known.contains(*name)) {
        return Err(Failure::unknown_overlay(name, &known));
    }
    if ui.is_json() {
        ui.document(&json!({ "schema": "overlaid.base.v1", "overlays": documents }));
    } else if documents.is_empty() && args.overlays.is_empty() && answer == Answer::Yes {
        ui.note("overlays that have a base already are looked at by name: overlaid base OVERLAY");
    }
    Ok(answer)
}

/// Where to start: the pin, the tip of its branch, and all else that was asked for.
pub(super) fn heads(workspace: &Workspace, store: &Store, all: bool) -> Result<Vec<CommitId>, Failure> {
    let upstream = &workspace.manifest.upstream;
    let mut heads = vec![upstream.pin.value];
    let branch =
        upstream.branch.as_ref().map(|branch| branch.value.clone()).or_else(|| store.default_branch());
    heads.extend(branch.and_then(|branch| store.resolve(&branch).ok().flatten()));
    if all {
        heads.extend(store.all_heads()?);
    }
    let mut seen = BTreeSet::new();
    heads.retain(|head| seen.insert(*head));
    Ok(heads)
}

/// What was found out, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement {
    /// The overlay had no base, and this one is certain.
    Found,
    /// The base in the manifest is as near as any.
    Right,
    /// Another is nearer than the one in the manifest.
    Wrong,
    /// A person must decide.
    Doubtful,
}

impl Judgement {
    fn answer(self) -> Answer {
        match self {
            Judgement::Found | Judgement::Right => Answer::Yes,
            Judgement::Wrong => Answer::No,
            Judgement::Doubtful => Answer::NeedsPerson,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Judgement::Found => "found",
            Judgement::Right => "right",
            Judgement::Wrong => "wrong",
            Judgement::Doubtful => "doubtful",
        }
    }
}

pub(super) fn judge(loaded: &Loaded, inferred: &Inferred, store: &Store) -> Result<Judgement, Failure> {
    let Some(base) = &inferred.base else { return Ok(Judgement::Doubtful) };
    if let Some(recorded) = &loaded.overlay.base {
        for path in &inferred.paths {
            let at = |commit: CommitId| {
                let names = path.nearest.iter().map(|nearest| &nearest.path);
                entry_at(store, commit, std::iter::once(&path.path).chain(names))
            };
            let there = at(recorded.value)?.map(|entry| entry.id);
            let is_nearest = path.nearest.first().is_none_or(|first| {
                let equal =
                    path.nearest.iter().filter(|other| other.distance.tokens == first.distance.tokens);
                equal.map(|nearest| Some(nearest.id)).any(|id| id == there)
            });
            if !is_nearest && at(base.id)?.map(|entry| entry.id) != there {
                let is_sure = path.confidence >= Confidence::High || inferred.confidence < Confidence::Low;
                return Ok(if is_sure { Judgement::Wrong } else { Judgement::Doubtful });
            }
        }
        return Ok(Judgement::Right);
    }
    let contradicted = inferred.paths.iter().any(|path| {
        !path.named.is_empty() && path.named.iter().all(|named| !named.agrees && named.distance.is_some())
    });
    Ok(match inferred.confidence {
        Confidence::Low => Judgement::Doubtful,
        _ if contradicted => Judgement::Doubtful,
        _ => Judgement::Found,
    })
}

fn write(
    workspace: &Workspace,
    found: &[(&Loaded, Inferred, Judgement)],
    ui: &mut Ui,
) -> Result<(), Failure> {
    let mut certain = Vec::new();
    for (loaded, inferred, judgement) in found {
        match (&inferred.base, &loaded.overlay.base, judgement) {
            (Some(base), None, Judgement::Found) => certain.push((loaded.name(), base.id)),
            (_, None, _) => ui.warn(format_args!(
                "overlay `{}`: not written, since a person must decide; write base = \"...\" by hand",
                loaded.name()
            )),
            _ => {}
        }
    }
    if certain.is_empty() {
        return Ok(());
    }
    let file = &workspace.manifest.file;
    edit_file(&workspace.root.join(file), |text| {
        certain.iter().try_fold(text.to_owned(), |text, (overlay, base)| {
            edit::set_key(&text, overlay.as_str(), "base", &(*base).into())
        })
    })
    .map_err(|error| Failure::environment(format!("cannot write `{}`", file.display())).caused_by(error))?;
    let names: Vec<&str> = certain.iter().map(|(name, _)| name.as_str()).collect();
    ui.note(format_args!("{}: wrote the base of {}", file.display(), names.join(", ")));
    Ok(())
}

fn show(
    loaded: &Loaded,
    inferred: &Inferred,
    judgement: Judgement,
    store: &Store,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let tone = match judgement.answer() {
        Answer::Yes => Tone::Good,
        Answer::NeedsPerson => Tone::Warning,
        _ => Tone::Bad,
    };
    let word = match judgement {
        Judgement::Found => "found",
        Judgement::Right => "the base in the manifest is right",
        Judgement::Wrong => "another base than the one in the manifest is nearer",
        Judgement::Doubtful => "a person must decide",
    };
    ui.line(format_args!("{}: {}", Tone::Strong.paint(loaded.name()), tone.paint(word)));
    match &inferred.base {
        Some(base) => {
            ui.line(format_args!("  base = \"{}\"", base.id));
            ui.line(format_args!("    {}: {}", describe_commit(base), for_terminal(&inferred.why)));
        }
        None => ui.line(format_args!("  {}", for_terminal(&inferred.why))),
    }
    for path in &inferred.paths {
        show_path(path, store, ui)?;
    }
    Ok(())
}

fn show_path(path: &PathBase, store: &Store, ui: &mut Ui) -> Result<(), Failure> {
    let versions = if path.versions == 1 { "content" } else { "contents" };
    ui.line(format_args!("  {}: {} {versions}", for_terminal(path.path.as_bytes()), path.versions));
    for nearest in &path.nearest {
        let name = if nearest.path == path.path {
            String::new()
        } else {
            format!(" as {}", for_terminal(nearest.path.as_bytes()))
        };
        let (tokens, lines) = (nearest.distance.tokens, nearest.distance.lines);
        ui.line(format_args!(
            "    {} is {tokens} tokens and {lines} lines away{name}; {}",
            nearest.id.short(),
            range(nearest, store)?
        ));
    }
    for Named { mention, commit, agrees, distance } in &path.named {
        let says = match (agrees, distance) {
            (true, _) => Tone::Good.paint("no other is nearer"),
            (false, Some(distance)) => {
                Tone::Warning.paint(format_args!("that is {} tokens away", distance.tokens))
            }
            (false, None) => Tone::Warning.paint("the path is not there"),
        };
        ui.line(format_args!("    line {} names commit {}: {says}", mention.line, commit.short()));
    }
    Ok(())
}

/// Over which commits a content was current.
fn range(nearest: &Nearest, store: &Store) -> Result<String, Failure> {
    let named = |commit: &CommitId| -> Result<String, Failure> {
        let commit = store.commit(*commit)?;
        Ok(format!("{} ({})", commit.id.short(), date(commit.committed)))
    };
    let since = nearest.since.first().map(named).transpose()?.unwrap_or_default();
    Ok(match nearest.until.last() {
        Some(until) => format!("from {since} until {}", named(until)?),
        None => format!("from {since} on"),
    })
}

fn to_json(
    workspace: &Workspace,
    loaded: &Loaded,
    inferred: &Inferred,
    judgement: Judgement,
    store: &Store,
) -> Result<Value, Failure> {
    let mut paths = Vec::new();
    for path in &inferred.paths {
        let mut candidates = Vec::new();
        for nearest in &path.nearest {
            let ids = |commits: &[CommitId]| -> Result<Vec<Value>, Failure> {
                commits.iter().map(|commit| Ok(commit_json(&store.commit(*commit)?))).collect()
            };
            candidates.push(json!({
                "path": nearest.path,
                "blob": nearest.id,
                "distance": nearest.distance.tokens,
                "lines": nearest.distance.lines,
                "since": ids(&nearest.since)?,
                "until": ids(&nearest.until)?,
            }));
        }
        let named = path.named.iter().map(|named| {
            json!({
                "line": named.mention.line,
                "text": named.mention.digits,
                "commit": named.commit,
                "distance": named.distance.map(|distance| distance.tokens),
                "agrees": named.agrees,
            })
        });
        paths.push(json!({
            "path": path.path,
            "versions": path.versions,
            "confidence": path.confidence.as_str(),
            "candidates": candidates,
            "named": named.collect::<Vec<_>>(),
        }));
    }
    Ok(json!({
        "name": loaded.name(),
        "upstream": workspace.manifest.upstream.name.value,
        "result": judgement.as_str(),
        "recorded": loaded.overlay.base.as_ref().map(|base| base.value),
        "base": inferred.base.as_ref().map(|base| base.id),
        "commit": inferred.base.as_ref().map(commit_json),
        "confidence": inferred.confidence.as_str(),
        "why": inferred.why,
        "paths": paths,
    }))
}

fn commit_json(commit: &Commit) -> Value {
    json!({
        "id": commit.id,
        "date": date(commit.committed),
        "subject": commit.subject.to_string(),
        "pull-request": pull_request_number(commit),
    })
}
