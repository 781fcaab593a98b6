//! `overlaid build`

use serde_json::{Value, json};

use crate::escape::{for_terminal, lines_for_terminal};
use crate::id::CommitId;
use crate::io::cmake::Outcome;
use crate::io::lab::make::MakeError;
use crate::io::lab::subjects::Subjects;
use crate::io::store::Store;
use crate::io::workspace::Workspace;
use crate::variant::{self, Variant};
use crate::verdict::Obstacle;

use super::bench::{counted, with_lab};
use super::{Answer, Context, Failure, Tone, Ui, without_problems};

/// Build the upstream, with its overlays or without some of them
///
/// Makes a tree under .overlaid/lab and builds the targets of the profile there with CMake and ninja; a second
/// build compiles only what changed. `--at` builds the upstream as it was at another commit, without overlays.
///
/// Runs what the upstream's build files contain.
///
/// Exit codes: 0 it builds. 1 it does not. 4 it could not be found out (no compiler, disk full).
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A commit, branch or tag of the upstream; `pin`: the pin, as upstream has it
    #[arg(long, value_name = "REV", conflicts_with = "without")]
    at: Option<String>,
    /// Leave out an overlay, and those that need it
    #[arg(long, value_name = "OVERLAY")]
    without: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// If the manifest or the upstream cannot be read, or the machine is in the way.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let workspace = without_problems(context.workspace()?)?;
    let profile = context.profile(&workspace)?;
    let features = context.features(&workspace, profile)?;
    let known = workspace.overlays.iter().map(|loaded| loaded.name().to_string()).collect();
    if let Some(name) = args.without.iter().find(|name| workspace.overlay(name).is_none()) {
        return Err(Failure::unknown_overlay(name, &known));
    }
    let targets: Vec<String> =
        profile.iter().flat_map(|profile| &profile.targets).map(|target| target.value.clone()).collect();
    let targets = if targets.is_empty() { vec!["all".to_owned()] } else { targets };
    let store = context.store(&workspace, ui)?;
    let variant = match &args.at {
        Some(rev) => pristine(commit_of(&workspace, &store, rev)?),
        None => {
            let without: Vec<&str> = args.without.iter().map(String::as_str).collect();
            variant::without_all(&workspace.manifest, &features, &without)
        }
    };
    let mut variants = Subjects::new(&workspace, &features, &store);
    let subject = variants.get(&variant).map_err(|obstacle| blocked(&obstacle))?;
    ui.note(format_args!("build {}: {}", targets.join(", "), subject.label));
    let (tree, build, outcome) = with_lab(&workspace, profile, &store, ui, |lab| {
        lab.build(&subject, &targets).map_err(|error| match error {
            MakeError::Obstacle(obstacle) => blocked(&obstacle),
            MakeError::Interrupted(error) => Failure::environment(error.to_string()),
        })
    })?;
    let (word, steps, what) = match &outcome {
        Outcome::Built(built) => ("built", built.steps, Value::Null),
        Outcome::Failed(failure) => ("failed", 0, json!(format!("{}: {}", failure.stage, failure.what))),
    };
    if ui.is_json() {
        ui.document(&json!({
            "schema": "overlaid.build.v1",
            "variant": subject.label,
            "outcome": word,
            "steps": steps,
            "error": what,
            "tree": tree.display().to_string(),
            "build": build.display().to_string(),
        }));
    } else {
        match &outcome {
            Outcome::Built(built) if built.steps == 0 => ui.line("everything was built already"),
            Outcome::Built(built) => {
                let steps = counted(built.steps, "step");
                ui.line(format_args!("{steps} in {:.1} s", built.wall.as_secs_f64()));
            }
            Outcome::Failed(failure) => {
                let heading = format!("does not build ({}):", failure.stage);
                ui.line(Tone::Bad.paint(heading));
                ui.line(lines_for_terminal(failure.excerpt.join("\n")).trim_end());
                ui.line(format_args!("all of it: {}", failure.log.display()));
            }
        }
        ui.line(format_args!("tree:  {}\nbuild: {}", tree.display(), build.display()));
    }
    Ok(if matches!(outcome, Outcome::Built(_)) { Answer::Yes } else { Answer::No })
}

/// A commit of the upstream without overlays.
pub fn pristine(commit: CommitId) -> Variant {
    Variant { commit, at_pin: true, fault: None, overlays: Vec::new() }
}

/// The commit that a word on the command line means.
///
/// # Errors
/// If it means none.
pub fn commit_of(workspace: &Workspace, store: &Store, rev: &str) -> Result<CommitId, Failure> {
    if rev == "pin" {
        return Ok(workspace.manifest.upstream.pin.value);
    }
    match store.resolve(rev) {
        Ok(Some(commit)) => Ok(commit),
        Ok(None) => Err(Failure::input(format!("the upstream has no `{}`", for_terminal(rev)))
            .with_hint("name a commit, a branch or a tag of the upstream, or `pin`")),
        Err(error) => Err(Failure::input(format!("`{}`: {error}", for_terminal(rev)))),
    }
}

/// What is in the way of a variant, as a failure.
pub fn blocked(obstacle: &Obstacle) -> Failure {
    let failure = match obstacle {
        Obstacle::Conflict(_) => Failure::new(super::FailureKind::NeedsPerson, for_terminal(obstacle.text())),
        _ => Failure::environment(for_terminal(obstacle.text())),
    };
    match obstacle {
        Obstacle::Conflict(_) => {
            failure.with_hint("an overlay does not fit there; `overlaid status` says why")
        }
        _ => failure,
    }
}
