//! `overlaid diff`

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::escape::{for_terminal, lines_for_terminal};
use crate::id::{CommitId, UpstreamPath};
use crate::io::own_history::Revision;
use crate::io::store::Store;
use crate::io::workspace::Workspace;
use crate::lex::{self, Comparison, Delta};
use crate::overlay::diff::{Lines, Mark, Marked, What, mark, render};
use crate::overlay::{At, Loaded, content_at, resolve};
use crate::provenance::needs_of;
use crate::tree::{Changes, Content};

use super::{Answer, Context, Failure, Tone, Ui, without_problems};

/// Show what overlays change, as a git-format diff
///
/// By default against the base, which is what the overlay was derived from: what it adds itself. With
/// `--against pin`: what building with it changes now, undone upstream work included. With `--since REV`:
/// what changed in the overlay itself since a revision of our own repository. An overlay that needs others is
/// shown on top of them.
///
/// Above each file stands how many lines of code change, and how many of comments and white space only. Hunks
/// without code say so; in colour, lines without a change of code are dimmed. `git apply` takes the output for
/// one overlay.
///
/// Exit code 0: there is no difference in code. 1: there is. 3: an overlay does not fit on the commit. 4: for
/// some file it cannot be told; comments are known in C, C++, CUDA, Metal, HIP, Python, CMake and TOML.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only these overlays
    #[arg(value_name = "OVERLAY")]
    overlays: Vec<String>,
    /// What to compare with
    #[arg(long, value_enum, default_value_t = Against::Base, conflicts_with = "since")]
    against: Against,
    /// Compare with the overlays as they were at a revision of our own repository
    #[arg(long, value_name = "REV")]
    since: Option<String>,
    /// Print the summary lines only
    #[arg(long)]
    stat: bool,
}

/// What a change is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Against {
    Base,
    Pin,
}

/// A path on both sides.
#[derive(Debug)]
pub struct PathChange {
    /// The overlay it belongs to.
    pub overlay: String,
    /// The path.
    pub path: UpstreamPath,
    /// Without the change.
    pub old: Option<Content>,
    /// With it.
    pub new: Option<Content>,
}

/// Runs the command.
///
/// # Errors
/// If a manifest or an upstream cannot be read.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let mut answer = Answer::Yes;
    let mut known = BTreeSet::new();
    let mut documents = Vec::new();
    let mut failures = Vec::new();
    let mut shown = 0;
    for workspace in context.workspaces()? {
        let workspace = without_problems(workspace)?;
        known.extend(workspace.overlays.iter().map(|loaded| loaded.name().to_string()));
        let is_wanted = |name: &str| args.overlays.is_empty() || args.overlays.iter().any(|n| n == name);
        let is_concerned = workspace.overlays.iter().any(|loaded| is_wanted(loaded.name().as_str()));
        if !is_concerned && args.since.is_none() {
            continue;
        }
        let store = context.store(&workspace, ui)?;
        let differences = match &args.since {
            Some(revision) => changes_since(&workspace, revision, &store)?,
            None => changes_against(&workspace, &is_wanted, args.against, &store)?,
        };
        known.extend(differences.iter().map(|(name, _)| name.clone()));
        for (_, changes) in differences.into_iter().filter(|(name, _)| is_wanted(name)) {
            match changes {
                Ok(changes) => {
                    shown += changes.len();
                    for change in &changes {
                        answer = answer.max(show(change, args, ui, &mut documents));
                    }
                }
                Err(failure) => failures.push(failure),
            }
        }
    }
    if let Some(name) = args.overlays.iter().find(|name| !known.contains(*name)) {
        return Err(Failure::unknown_overlay(name, &known));
    }
    if ui.is_json() {
        ui.document(&json!({ "schema": "overlaid.diff.v1", "files": documents }));
    } else if let (0, true, Some(revision)) = (shown, failures.is_empty(), &args.since) {
        ui.note(format_args!("nothing changed in the overlays since {}", for_terminal(revision)));
    }
    // What could be shown was; the last one of those that could not decides the exit code.
    let last = failures.pop();
    for failure in &failures {
        ui.failure(failure);
    }
    last.map_or(Ok(answer), Err)
}

/// An overlay's name with its changes, or why they cannot be told.
pub(super) type Difference = (String, Result<Vec<PathChange>, Failure>);

/// What overlays change of their bases, or of the pin.
pub(super) fn changes_against(
    workspace: &Workspace,
    is_wanted: &dyn Fn(&str) -> bool,
    against: Against,
    store: &Store,
) -> Result<Vec<Difference>, Failure> {
    let pin = workspace.manifest.upstream.pin.value;
    let mut differences = Vec::new();
    for loaded in workspace.overlays.iter().filter(|loaded| is_wanted(loaded.name().as_str())) {
        let name = loaded.name().to_string();
        let commit = match (against, &loaded.overlay.base) {
            (Against::Pin, _) => pin,
            (Against::Base, Some(base)) => base.value,
            (Against::Base, None) => {
                let failure = Failure::input(format!("overlay `{name}` has no `base` to compare with"));
                let hint = format!("compare with the pin: overlaid diff {name} --against pin");
                differences.push((name, Err(failure.with_hint(hint))));
                continue;
            }
        };
        let changes = match Side::of(loaded, workspace, commit, store)? {
            Ok(side) => {
                let change = |(path, new): (&UpstreamPath, &Option<Content>)| {
                    let old = side.below(path, store)?;
                    let new = new.clone();
                    Ok(PathChange { overlay: name.clone(), path: path.clone(), old, new })
                };
                side.own.iter().map(change).collect::<Result<Vec<_>, Failure>>()
            }
            Err(failure) => Err(failure),
        };
        differences.push((name, changes));
    }
    Ok(differences)
}

/// What an overlay makes of a commit, with those that it needs and no others.
struct Side {
    commit: CommitId,
    own: Changes,
    /// What those that it needs make of it.
    needed: Changes,
}

impl Side {
    /// The inner error: it does not fit.
    fn of(
        loaded: &Loaded,
        workspace: &Workspace,
        commit: CommitId,
        store: &Store,
    ) -> Result<Result<Self, Failure>, Failure> {
        // Whole content stands alone.
        let is_whole = loaded.overlay.kind.is_whole();
        let needed = if is_whole { Vec::new() } else { needs_of(loaded, &workspace.overlays) };
        let with: Vec<&Loaded> = needed.iter().copied().chain([loaded]).collect();
        let mut resolution = resolve(&with, At::Pin(commit), store)?;
        if let Err(failure) = Failure::if_refused(&resolution) {
            return Ok(Err(failure));
        }
        let by = resolution.by;
        resolution.changes.retain(|path, _| by.get(path).is_some_and(|by| by.contains(loaded.name())));
        let needed = resolve(&needed, At::Pin(commit), store)?.changes;
        Ok(Ok(Self { commit, own: resolution.changes, needed }))
    }

    /// What stands at a path without the overlay.
    fn below(&self, path: &UpstreamPath, store: &Store) -> Result<Option<Content>, Failure> {
        match self.needed.get(path) {
            Some(content) => Ok(content.clone()),
            None => Ok(content_at(store, self.commit, path)?),
        }
    }

    /// What stands there with it.
    fn with(&self, path: &UpstreamPath, store: &Store) -> Result<Option<Content>, Failure> {
        self.own.get(path).cloned().map_or_else(|| self.below(path, store), Ok)
    }
}

/// What changed in the overlays since a revision of our own repository: what they make of the pin now, against
/// what they made of it then. The pin is today's on both sides, so that only our own changes show.
///
/// # Errors
/// If our repository, its manifest at that revision, or the upstream cannot be read.
pub fn changes_since(
    workspace: &Workspace,
    revision: &str,
    store: &Store,
) -> Result<Vec<Difference>, Failure> {
    let then =
        Revision::open(&workspace.root, revision).map_err(|error| Failure::environment(error.to_string()))?;
    let before = Workspace::load_from(&then, &workspace.root, &workspace.manifest.file).map_err(|error| {
        Failure::from(error)
            .caused_by(format!("that is the manifest as it was at {}", for_terminal(revision)))
    })?;
    let all: BTreeSet<&str> =
        before.overlays.iter().chain(&workspace.overlays).map(|loaded| loaded.name().as_str()).collect();
    let mut differences = Vec::new();
    for name in all {
        let changes = match change_since(name, &before, workspace, store)? {
            Ok(changes) => Ok(changes),
            Err((failure, Time::Then)) => {
                Err(failure.caused_by(format!("that is the overlay as it was at {}", for_terminal(revision))))
            }
            Err((failure, Time::Now)) => Err(failure),
        };
        differences.push((name.to_owned(), changes));
    }
    Ok(differences)
}

/// Which of the two states of an overlay.
enum Time {
    Then,
    Now,
}

/// The inner error: one of the two does not fit.
fn change_since(
    name: &str,
    before: &Workspace,
    now: &Workspace,
    store: &Store,
) -> Result<Result<Vec<PathChange>, (Failure, Time)>, Failure> {
    let pin = now.manifest.upstream.pin.value;
    let side = |workspace: &Workspace| match workspace.overlay(name) {
        Some(loaded) => Side::of(loaded, workspace, pin, store).map(Some),
        None => Ok(None),
    };
    let old = match side(before)?.transpose() {
        Ok(old) => old,
        Err(failure) => return Ok(Err((failure, Time::Then))),
    };
    let new = match side(now)?.transpose() {
        Ok(new) => new,
        Err(failure) => return Ok(Err((failure, Time::Now))),
    };
    let paths: BTreeSet<&UpstreamPath> =
        [&old, &new].into_iter().flatten().flat_map(|s| s.own.keys()).collect();
    let mut changes = Vec::new();
    for path in paths {
        // Where the overlay is not there, what stands below it on the other side does.
        let content = |this: &Option<Side>, other: &Option<Side>| match (this, other) {
            (Some(this), _) => this.with(path, store),
            (None, Some(other)) => other.below(path, store),
            (None, None) => Ok(None),
        };
        let (before, after) = (content(&old, &new)?, content(&new, &old)?);
        if before != after {
            changes.push(PathChange {
                overlay: name.to_owned(),
                path: path.clone(),
                old: before,
                new: after,
            });
        }
    }
    Ok(Ok(changes))
}

/// How far a change goes. The target of a link is code, whatever it is named.
#[must_use]
pub fn compare(change: &PathChange) -> Comparison {
    match (&change.old, &change.new) {
        (old, new) if old == new => Comparison::Known(Delta::Identical),
        (Some(old), Some(new)) => lex::compare_contents(&change.path, old, new),
        _ => Comparison::Known(Delta::Code),
    }
}

fn show(change: &PathChange, args: &Args, ui: &mut Ui, documents: &mut Vec<Value>) -> Answer {
    let (old, new) = (change.old.as_ref(), change.new.as_ref());
    let diff = render(old.map(|content| (&change.path, content)), new.map(|content| (&change.path, content)));
    let bytes = |side: Option<&Content>| side.map_or_else(Vec::new, |content| content.bytes.to_vec());
    let marked = mark(&change.path, &bytes(old), &bytes(new), &diff);
    let (code, comments) = (marked.count(What::Code), marked.count(What::Comments));
    let (word, why, answer) = match compare(change) {
        Comparison::Known(delta @ Delta::Code) => (delta.as_str(), None, Answer::No),
        Comparison::Known(delta) => (delta.as_str(), None, Answer::Yes),
        Comparison::Unknown(why) => ("unknown", Some(why.to_string()), Answer::Unknown),
    };
    if ui.is_json() {
        let lines = |lines: Lines| json!({ "added": lines.added, "removed": lines.removed });
        documents.push(json!({
            "overlay": change.overlay,
            "path": change.path,
            "delta": word,
            "why": why,
            "code": lines(code),
            "comments": lines(comments),
            "diff": String::from_utf8_lossy(&diff),
        }));
        return answer;
    }
    let shown_path = for_terminal(change.path.as_bytes());
    let mut summary = format!("# {}: {shown_path}: {word}", change.overlay);
    let counted = |lines: Lines| match lines {
        Lines { added: 0, removed: 0 } => String::new(),
        Lines { added, removed } => format!(" +{added} -{removed}"),
    };
    match (word == "code", why) {
        (true, _) if comments == Lines::default() => summary.push_str(&counted(code)),
        (true, _) => summary.push_str(&format!("{}, comments{}", counted(code), counted(comments))),
        (false, Some(why)) => summary.push_str(&format!("{} ({why})", counted(code))),
        (false, None) => summary.push_str(&counted(comments)),
    }
    ui.line(Tone::Strong.paint(summary));
    if !args.stat {
        print(&marked, ui);
    }
    answer
}

/// Prints a diff. A terminal gets no control characters of others; a file gets all bytes as they are.
fn print(marked: &Marked, ui: &mut Ui) {
    let (is_safe, in_colour) = (ui.is_terminal() || ui.shows_colour(), ui.shows_colour());
    let mut text = Vec::new();
    for (mark, line) in &marked.lines {
        let end = if line.ends_with(b"\n") { "\n" } else { "" };
        let line = &line[..line.len() - end.len()];
        let mut line = if is_safe { lines_for_terminal(line).into_bytes() } else { line.to_vec() };
        if *mark == (Mark::Hunk { comments_only: true }) {
            line.extend_from_slice(b" comments only");
        }
        let tone = match mark {
            Mark::Hunk { .. } => Some(Tone::Strong),
            Mark::Added(What::Comments) | Mark::Removed(What::Comments) => Some(Tone::Dim),
            Mark::Added(What::Code) => Some(Tone::Good),
            Mark::Removed(What::Code) => Some(Tone::Bad),
            Mark::Head | Mark::Context => None,
        };
        match tone.filter(|_| in_colour) {
            Some(tone) => text.extend_from_slice(tone.paint(String::from_utf8_lossy(&line)).as_bytes()),
            None => text.extend_from_slice(&line),
        }
        text.extend_from_slice(end.as_bytes());
    }
    ui.bytes(&text);
}
