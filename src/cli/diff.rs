//! `overlaid diff`

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::escape::lines_for_terminal;
use crate::id::{CommitId, UpstreamPath};
use crate::io::own_history::Revision;
use crate::io::store::Store;
use crate::io::workspace::Workspace;
use crate::lex::{self, Comparison, Delta};
use crate::overlay::diff::render;
use crate::overlay::{At, Loaded, content_at, resolve};
use crate::tree::{Changes, Content};

use super::{Answer, Context, Failure, Tone, Ui, without_problems};

/// Show what overlays change, as a git-format diff
///
/// By default against the base, which is what the overlay was derived from: what it adds itself. With
/// `--against pin`: what building with it changes now, undone upstream work included. With `--since REV`:
/// what changed in the overlay itself since a revision of our own repository.
///
/// Above each file stands whether code changes, or comments or white space only. Lines of which only a
/// comment changes are dimmed. The output can be applied with `git apply`.
///
/// Exit code 0: there is no difference in code. 1: there is. 4: that cannot be told for some file.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Against {
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
    for workspace in context.workspaces()? {
        let workspace = without_problems(workspace)?;
        known.extend(workspace.overlays.iter().map(|loaded| loaded.name().to_string()));
        let wanted = |loaded: &&Loaded| {
            args.overlays.is_empty() || args.overlays.iter().any(|name| name == loaded.name().as_str())
        };
        let loaded: Vec<&Loaded> = workspace.overlays.iter().filter(wanted).collect();
        if loaded.is_empty() && args.since.is_none() {
            continue;
        }
        let store = context.store(&workspace, ui)?;
        let changes = match &args.since {
            Some(revision) => changes_since(&workspace, revision, &store, &args.overlays)?,
            None => changes_against(&workspace, &loaded, args.against, &store)?,
        };
        for change in &changes {
            answer = answer.max(show(change, args, ui, &mut documents));
        }
    }
    if args.since.is_none()
        && let Some(name) = args.overlays.iter().find(|name| !known.contains(*name))
    {
        return Err(Failure::unknown_overlay(name, &known));
    }
    if ui.is_json() {
        ui.document(&json!({ "schema": "overlaid.diff.v1", "files": documents }));
    }
    Ok(answer)
}

fn changes_against(
    workspace: &Workspace,
    overlays: &[&Loaded],
    against: Against,
    store: &Store,
) -> Result<Vec<PathChange>, Failure> {
    let pin = workspace.manifest.upstream.pin.value;
    let mut changes = Vec::new();
    for loaded in overlays {
        let commit = match (against, &loaded.overlay.base) {
            (Against::Pin, _) => pin,
            (Against::Base, Some(base)) => base.value,
            (Against::Base, None) => {
                let message = format!("overlay `{}` has no `base` to compare with", loaded.name());
                return Err(Failure::input(message).with_hint("compare with the pin: --against pin"));
            }
        };
        for (path, new) in alone(loaded, commit, store)? {
            let old = content_at(store, commit, &path)?;
            changes.push(PathChange { overlay: loaded.name().to_string(), path, old, new });
        }
    }
    Ok(changes)
}

/// What an overlay makes of a commit, without the others.
fn alone(loaded: &Loaded, commit: CommitId, store: &Store) -> Result<Changes, Failure> {
    let resolution = resolve(&[loaded], At::Pin(commit), store)?;
    Failure::if_refused(&resolution)?;
    Ok(resolution.changes)
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
    names: &[String],
) -> Result<Vec<PathChange>, Failure> {
    let then =
        Revision::open(&workspace.root, revision).map_err(|error| Failure::environment(error.to_string()))?;
    let before = Workspace::load_from(&then, &workspace.root, &workspace.manifest.file).map_err(|error| {
        Failure::from(error).caused_by(format!("that is the manifest as it was at {revision}"))
    })?;
    let pin = workspace.manifest.upstream.pin.value;
    let all: BTreeSet<&str> =
        before.overlays.iter().chain(&workspace.overlays).map(|loaded| loaded.name().as_str()).collect();
    let mut changes = Vec::new();
    for name in all {
        if !names.is_empty() && !names.iter().any(|wanted| wanted == name) {
            continue;
        }
        let side = |workspace: &Workspace| match workspace.overlay(name) {
            Some(loaded) => alone(loaded, pin, store),
            None => Ok(Changes::new()),
        };
        let (old, new) = (side(&before)?, side(workspace)?);
        let paths: BTreeSet<&UpstreamPath> = old.keys().chain(new.keys()).collect();
        for path in paths {
            let content = |changes: &Changes| match changes.get(path) {
                Some(content) => Ok(content.clone()),
                None => content_at(store, pin, path),
            };
            let (old, new) = (content(&old)?, content(&new)?);
            if old != new {
                changes.push(PathChange { overlay: name.to_owned(), path: path.clone(), old, new });
            }
        }
    }
    Ok(changes)
}

/// How far a change goes.
#[must_use]
pub fn compare(change: &PathChange) -> Comparison {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) if old.mode == new.mode => lex::compare(&change.path, &old.bytes, &new.bytes),
        (None, None) => Comparison::Known(Delta::Identical),
        _ => Comparison::Known(Delta::Code),
    }
}

fn show(change: &PathChange, args: &Args, ui: &mut Ui, documents: &mut Vec<Value>) -> Answer {
    let (old, new) = (change.old.as_ref(), change.new.as_ref());
    let diff = render(old.map(|content| (&change.path, content)), new.map(|content| (&change.path, content)));
    let (word, answer) = match compare(change) {
        Comparison::Known(delta @ Delta::Code) => (delta.as_str().to_owned(), Answer::No),
        Comparison::Known(delta) => (delta.as_str().to_owned(), Answer::Yes),
        Comparison::Unknown(why) => (format!("unknown ({why})"), Answer::Unknown),
    };
    if ui.is_json() {
        documents.push(json!({
            "overlay": change.overlay,
            "path": change.path,
            "delta": word,
            "diff": String::from_utf8_lossy(&diff),
        }));
        return answer;
    }
    let shown_path = lines_for_terminal(change.path.as_bytes()).replace('\n', "\\n");
    ui.line(Tone::Strong.paint(format_args!("# {}: {shown_path}: {word}", change.overlay)));
    if !args.stat && !diff.is_empty() {
        let comments = CommentLines::of(change);
        if ui.shows_colour() {
            ui.line(paint(&diff, &comments).trim_end_matches('\n'));
        } else {
            ui.bytes(&diff);
        }
    }
    answer
}

/// The lines, by number from 1, that have nothing but comments and white space.
struct CommentLines {
    old: BTreeSet<usize>,
    new: BTreeSet<usize>,
}

impl CommentLines {
    fn of(change: &PathChange) -> Self {
        let lines = |content: &Option<Content>| match content {
            Some(content) => comment_lines(&change.path, &content.bytes),
            None => BTreeSet::new(),
        };
        Self { old: lines(&change.old), new: lines(&change.new) }
    }
}

fn comment_lines(path: &UpstreamPath, source: &[u8]) -> BTreeSet<usize> {
    let spans = lex::Language::of_path(path).and_then(|language| lex::comment_spans(language, source).ok());
    let Some(spans) = spans else {
        return BTreeSet::new();
    };
    let mut in_comment = vec![false; source.len()];
    for span in spans {
        in_comment[span].fill(true);
    }
    let mut lines = BTreeSet::new();
    let mut start = 0;
    for (index, line) in source.split_inclusive(|&b| b == b'\n').enumerate() {
        let of_comment = &in_comment[start..start + line.len()];
        let only_comments =
            line.iter().zip(of_comment).all(|(byte, in_comment)| *in_comment || byte.is_ascii_whitespace());
        if only_comments {
            lines.insert(index + 1);
        }
        start += line.len();
    }
    lines
}

fn paint(diff: &[u8], comments: &CommentLines) -> String {
    let mut painted = String::new();
    let (mut old, mut new) = (0, 0);
    for line in diff.split_inclusive(|&b| b == b'\n') {
        let text = lines_for_terminal(line);
        let text = text.trim_end_matches('\n');
        let (tone, is_comment) = match line.first() {
            Some(b'@') => {
                (old, new) = hunk_start(line).unwrap_or((0, 0));
                painted.push_str(&Tone::Strong.paint(text));
                painted.push('\n');
                continue;
            }
            // Before the first hunk, `---` and `+++` are names.
            Some(b'+') if new > 0 => {
                new += 1;
                (Tone::Good, comments.new.contains(&(new - 1)))
            }
            Some(b'-') if old > 0 => {
                old += 1;
                (Tone::Bad, comments.old.contains(&(old - 1)))
            }
            Some(b' ') => {
                (old, new) = (old + 1, new + 1);
                painted.push_str(text);
                painted.push('\n');
                continue;
            }
            _ => {
                (old, new) = if line.starts_with(b"diff ") { (0, 0) } else { (old, new) };
                painted.push_str(text);
                painted.push('\n');
                continue;
            }
        };
        painted.push_str(&if is_comment { Tone::Dim.paint(text) } else { tone.paint(text) });
        painted.push('\n');
    }
    painted
}

/// The first lines of a hunk, old and new. A side with no lines starts one further down.
fn hunk_start(header: &[u8]) -> Option<(usize, usize)> {
    let text = std::str::from_utf8(header).ok()?;
    let mut ranges = text.split(' ').skip(1);
    let mut start = || -> Option<usize> {
        let range = ranges.next()?.get(1..)?;
        let (start, lines) = range.split_once(',').unwrap_or((range, "1"));
        let start: usize = start.parse().ok()?;
        Some(if lines == "0" { start + 1 } else { start })
    };
    Some((start()?, start()?))
}
