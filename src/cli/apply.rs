//! `overlaid apply`

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cmake_script::{self, Facts};
use crate::escape::for_terminal;
use crate::id::{OverlayName, UpstreamPath};
use crate::io::checkout::{self, Elsewhere};
use crate::io::own_files::{folders_from, hide_from_git};
use crate::io::tree::unchanged::Note;
use crate::io::tree::{self, Event, Options, Outcome};
use crate::io::workspace::Workspace;
use crate::overlay::diff::Offset;
use crate::overlay::watched;
use crate::plan::{Action, Found, Plan, Wanted};
use crate::tree::Mode;
use crate::verify::compiled::is_read_by_cmake;

use super::locked;
use super::refusal::refused;
use super::unchanged::{Notes, load_noted};
use super::wanted::wanted;
use super::{Answer, Context, Failure, Tone, Ui};

/// Make the tree the pin with the overlays on it
///
/// Writes the pinned commit into a folder, .overlaid/UPSTREAM or the manifest's `tree`, and puts the overlays
/// that are on there. A second run changes nothing, not even a time stamp. An overlay that was removed from the
/// manifest goes from the tree: upstream's bytes come back.
///
/// All or nothing: if a file cannot be written, the tree stays as it was. A run that was killed is finished by
/// the next one. Edits of yours on an overlaid path stop it; --force keeps a copy of them and says where.
///
/// With --tree, a folder that something else filled (FetchContent, a submodule, a tarball) is taken as it is:
/// only overlaid paths are looked at and written, if they are at the pin's bytes. An empty folder, as of a submodule
/// that is not checked out, stays empty. If `overlaid lock` wrote a lock file, that needs no git objects and no
/// network.
///
/// Nothing of the upstream's is run: no hooks, no filters.
///
/// Exit code 0: the tree is right. 1: with --dry-run, something would change. 3: an overlay does not fit, or
/// edits are in the way. 4: files could not be read or written.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    place: Place,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Print what a CMake project has to know of the tree, as CMake code; see `overlaid cmake`
    #[arg(long, conflicts_with = "json")]
    cmake: bool,
}

/// Which folder, and what may be done to it.
#[derive(Debug, clap::Args)]
pub struct Place {
    /// A folder that something else filled, instead of the manifest's tree
    #[arg(long, value_name = "DIR")]
    pub(super) tree: Option<PathBuf>,
    /// Overwrite edits on overlaid paths; a copy is kept in .overlaid/kept of the tree
    #[arg(long)]
    pub(super) force: bool,
}

/// Runs the command.
///
/// # Errors
/// If the manifest, the upstream or the tree cannot be read, or the tree cannot be written.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let notes = Notes::new(context, args.place.tree.as_deref(), args.cmake);
    if let Some((note, dir)) = notes.as_ref().and_then(Notes::look) {
        note.said.iter().for_each(|line| ui.note(line));
        match &note.script {
            Some(script) => ui.bytes(script),
            None => report_unchanged(args.place.tree.as_deref().unwrap_or(&dir), &note, ui),
        }
        return Ok(Answer::Yes);
    }
    let (workspace, inputs) = load_noted(context)?;
    let features = features(context, &workspace)?;
    let unknown = context.warn_of_unknown_features([&workspace], ui);
    let saying = if args.cmake { Saying::Cmake(&workspace) } else { Saying::Report("apply") };
    let write_note = |plan: &Plan, wanted: &Wanted, said: Vec<String>| match &notes {
        // Warnings are for every run.
        Some(notes)
            if !args.dry_run
                && plan.left_alone.is_empty()
                && unknown.is_empty()
                && Elsewhere::of(&notes.dir(&workspace)?, wanted.commit).is_none() =>
        {
            let script = match saying {
                Saying::Cmake(workspace) => {
                    let dir = notes.dir(workspace)?;
                    Some(cmake_script::render(&cmake_facts(workspace, wanted, &dir)?))
                }
                Saying::Report(_) => None,
            };
            notes.write(&inputs, &workspace, wanted, said, script)
        }
        _ => Ok(()),
    };
    locked::refuse_unfilled(context, &workspace, &args.place)?;
    let locked = match &args.place.tree {
        Some(dir) => locked::try_apply(&workspace, &features, dir),
        None => locked::without_tree(&workspace),
    };
    if let locked::Tried::Ready(ready) = &locked {
        let (locked, wanted, resolution) = ready.as_ref();
        let said: Vec<String> = resolution.offsets.iter().map(describe_offset).collect();
        said.iter().for_each(|line| ui.note(line));
        let (answer, plan) =
            locked::bring(context, &workspace, locked, wanted, &args.place, args.dry_run, saying, ui)?;
        if locked.stale.is_empty() {
            write_note(&plan, wanted, said)?;
        }
        return Ok(answer);
    }
    let store = locked.or_store(context, &workspace, ui)?;
    let (wanted, resolution) = wanted(&workspace, &features, &store)?;
    let mut said: Vec<String> = resolution.offsets.iter().map(describe_offset).collect();
    if args.place.tree.is_none() {
        said.extend(describe_submodules(&wanted));
    }
    said.iter().for_each(|line| ui.note(line));
    let (answer, plan) = bring(context, &workspace, &wanted, &store, &args.place, args.dry_run, saying, ui)?;
    // In a tree of ours, a folder that changed a moment ago proves nothing to the next run.
    if args.place.tree.is_some() || plan.steps.is_empty() {
        write_note(&plan, &wanted, said)?;
    }
    Ok(answer)
}

fn describe_offset((overlay, offset): &(OverlayName, Offset)) -> String {
    format!(
        "note: overlay `{overlay}`, {}: hunk {} applies {} {} where it says",
        for_terminal(offset.path.as_bytes()),
        offset.hunk,
        plural(offset.lines.unsigned_abs(), "line", "lines"),
        if offset.lines < 0 { "before" } else { "after" },
    )
}

/// What is said of a tree that was made.
#[derive(Debug, Clone, Copy)]
pub(super) enum Saying<'a> {
    /// What was done, by the command of this name.
    Report(&'static str),
    /// What a CMake project has to know.
    Cmake(&'a Workspace),
}

/// Submodules that were not declared stay empty: a build that wants their files will not find them.
fn describe_submodules(wanted: &Wanted) -> Option<String> {
    let undeclared = wanted.listing.iter().filter(|(_, entry)| entry.mode == Mode::Submodule);
    let paths: Vec<String> = undeclared.map(|(path, _)| for_terminal(path.as_bytes())).collect();
    let (what, stay) = match paths.len() {
        0 => return None,
        1 => ("submodule", "it stays empty"),
        _ => ("submodules", "they stay empty"),
    };
    let paths = paths.join(", ");
    Some(format!("note: {what} {paths}: not in the manifest, so {stay}; `overlaid verify` says more"))
}

/// The features that are on. Those named by `--features` are a choice, too, when there are several profiles.
pub(super) fn features(
    context: &Context,
    workspace: &crate::io::workspace::Workspace,
) -> Result<std::collections::BTreeSet<crate::id::Name>, Failure> {
    let profile = if context.features.is_empty() {
        context.profile(workspace)?
    } else {
        context.profile_if_any(workspace)?
    };
    context.features(workspace, profile)
}

/// Makes the folder what is wanted, and says what was done.
#[allow(clippy::too_many_arguments, reason = "two commands share it, and each argument is one of theirs")]
pub(super) fn bring(
    context: &Context,
    workspace: &crate::io::workspace::Workspace,
    wanted: &Wanted,
    store: &crate::io::store::Store,
    place: &Place,
    dry_run: bool,
    saying: Saying<'_>,
    ui: &mut Ui,
) -> Result<(Answer, Plan), Failure> {
    let dir = match &place.tree {
        Some(dir) => dir.clone(),
        None => context.tree(workspace)?,
    };
    let options = Options { force: place.force, dry_run, adopt: place.tree.is_some() };
    let outcome = tree::bring_to(&dir, wanted, store, &options, &mut |event| tell(&event, ui));
    ui.end_progress();
    conclude(context, &dir, wanted, outcome?, Some(store), place, dry_run, saying, ui)
}

/// Says how it went.
#[allow(clippy::too_many_arguments, reason = "as for `bring`")]
pub(super) fn conclude(
    context: &Context,
    dir: &std::path::Path,
    wanted: &Wanted,
    outcome: Outcome,
    store: Option<&crate::io::store::Store>,
    place: &Place,
    dry_run: bool,
    saying: Saying<'_>,
    ui: &mut Ui,
) -> Result<(Answer, Plan), Failure> {
    if place.tree.is_none() && !dry_run {
        // The tree is right, whether git is told or not.
        if let Err(error) = hide_from_git(&context.root) {
            ui.warn(format_args!("cannot write `.overlaid/.gitignore`: {error}"));
        }
    }
    let command = match saying {
        Saying::Report(command) => command,
        Saying::Cmake(_) => "apply",
    };
    let elsewhere = Elsewhere::of(dir, wanted.commit);
    let elsewhere = elsewhere.map(|elsewhere| elsewhere.say(&context.command("bump --to", None)));
    if let (Some(elsewhere), Outcome::Unchanged(_) | Outcome::Changed(_), "apply") =
        (&elsewhere, &outcome, command)
    {
        ui.warn(elsewhere);
    }
    let mut say = |plan: &Plan, done: Done| match saying {
        Saying::Report(command) => {
            report(dir, wanted, plan, done, command, ui);
            Ok(())
        }
        Saying::Cmake(workspace) => {
            let mut facts = cmake_facts(workspace, wanted, dir)?;
            if done == Done::Planned {
                // It stays what it is.
                facts.fingerprint = tree::attested_fingerprint(dir)?.unwrap_or_default();
            }
            ui.bytes(&cmake_script::render(&facts));
            Ok::<(), Failure>(())
        }
    };
    match outcome {
        Outcome::Unchanged(plan) => {
            say(&plan, Done::Nothing)?;
            Ok((Answer::Yes, plan))
        }
        Outcome::Changed(plan) => {
            say(&plan, if dry_run { Done::Planned } else { Done::Written })?;
            Ok((if dry_run { Answer::No } else { Answer::Yes }, plan))
        }
        Outcome::Refused(refusals) => {
            let command = context.command(command, place.tree.as_deref());
            Err(refused(&refusals, dir, wanted, store, elsewhere, &command, ui))
        }
        Outcome::NotOurs => Err(Failure::environment(format!(
            "`{}` has files in it that overlaid did not write",
            dir.display()
        ))
        .with_hint(format!(
            "if it is at the pin, take it as it is: {}",
            context.command(command, Some(dir))
        ))),
    }
}

/// A project configures again when something changes that the tree is made from, and also when somebody changes what
/// overlays made of the tree: then this stops the build, or another project has made it a different one.
fn cmake_facts(workspace: &Workspace, wanted: &Wanted, dir: &Path) -> Result<Facts, Failure> {
    let absolute = |path: &Path| {
        std::path::absolute(path)
            .map_err(|error| Failure::environment("cannot tell where the repository is").caused_by(error))
    };
    let (root, tree) = (absolute(&workspace.root)?, absolute(dir)?);
    let watched = watched(&workspace.manifest, &workspace.overlays);
    let mut depends: BTreeSet<PathBuf> = watched.files.iter().map(|file| root.join(file)).collect();
    for folder in &watched.folders {
        depends.extend(folders_from(&root.join(folder))?);
    }
    // What CMake reads it watches by itself; named here it would look as if it had read all of it.
    let written =
        wanted.changes.iter().filter(|(path, content)| content.is_some() && !is_read_by_cmake(path));
    depends.extend(written.map(|(path, _)| tree.join(path.to_os_path())));
    // What is not overlaid changes with the commit that is checked out.
    depends.extend(checkout::head(&tree).into_iter().flat_map(|head| head.files));
    depends.insert(tree.join(tree::HOME).join(tree::ATTESTATION_FILE));
    // What is not there would make a build configure again for ever.
    depends.retain(|path| path.exists());
    Ok(Facts { tree, pin: wanted.commit.to_string(), fingerprint: wanted.fingerprint.clone(), depends })
}

pub(super) fn tell(event: &Event, ui: &mut Ui) {
    match event {
        Event::Waiting { dir } => ui.note(format_args!("waiting: another run works on `{}`", dir.display())),
        Event::Recovered { finished: true, steps } => {
            let steps = plural(*steps, "step is", "steps are");
            ui.note(format_args!("an earlier run was interrupted; its {steps} finished now"));
        }
        Event::Recovered { finished: false, steps } => {
            let steps = plural(*steps, "step was", "steps were");
            ui.note(format_args!("an earlier run was interrupted; its {steps} taken back"));
        }
        Event::Discarded => {
            ui.note(format_args!("an earlier run was interrupted; what it left over is removed"));
        }
        Event::JournalDamaged { kept } => {
            ui.warn(format_args!(
                "an earlier run was interrupted, and its journal is damaged: every file is read"
            ));
            if let Some(kept) = kept {
                ui.note(format_args!("what it had moved aside is in `{}`", kept.display()));
            }
        }
        Event::StateRebuilt { why } => {
            ui.warn(format_args!(
                "the recorded state of the tree cannot be used ({why}): every file is read"
            ));
        }
        Event::Kept { path, copy } => {
            let path = for_terminal(path.as_bytes());
            ui.note(format_args!("kept a copy of {path}: `{}`", copy.display()));
        }
        Event::Writing { done, total } => ui.progress(format!("writing {done} of {total}")),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    Nothing,
    Planned,
    Written,
}

/// Paths beyond this number are counted and not listed.
const LISTED: usize = 40;

fn report(dir: &std::path::Path, wanted: &Wanted, plan: &Plan, done: Done, command: &str, ui: &mut Ui) {
    if ui.is_json() {
        ui.document(&to_json(dir, wanted, plan, done, command));
        return;
    }
    let of_overlays: Vec<_> =
        plan.steps.iter().filter(|step| wanted.owners.contains_key(&step.path)).collect();
    // Of a tree that was not there, a person wants to see what the overlays make of it.
    let created: HashSet<&UpstreamPath> = plan.steps.iter().map(|step| &step.path).collect();
    let is_new = plan.steps.iter().all(|step| step.from == Found::Absent)
        && wanted.listing.iter().all(|(path, entry)| {
            entry.mode == Mode::Submodule
                || created.contains(path)
                || matches!(wanted.changes.get(path), Some(None))
        });
    let listed: Vec<_> = if is_new { of_overlays.clone() } else { plan.steps.iter().collect() };
    for step in listed.iter().take(LISTED) {
        let owners = wanted.owners_of(&step.path);
        let by = if owners.is_empty() { "upstream" } else { &owners };
        ui.line(format_args!(
            "{} {} {}",
            Tone::Strong.paint(format_args!("{:>8}", word(step.action(), done))),
            for_terminal(step.path.as_bytes()),
            Tone::Dim.paint(format_args!("({by})")),
        ));
    }
    if listed.len() > LISTED {
        ui.line(format_args!("         and {} more", listed.len() - LISTED));
    }
    for path in &plan.left_alone {
        ui.warn(format_args!("{} differs from upstream and is left alone", for_terminal(path.as_bytes())));
    }
    let changed = plan.steps.len();
    let right = plan.right;
    let summary = match done {
        Done::Nothing => nothing_to_do(right),
        Done::Planned => {
            format!("{} would change", plural(changed, "path", "paths"))
        }
        Done::Written => {
            format!("{} changed, {} of them by overlays", plural(changed, "path", "paths"), of_overlays.len())
        }
    };
    ui.line(format_args!("{}: {summary}", dir.display()));
}

fn nothing_to_do(right: usize) -> String {
    format!("nothing to do: {} right", plural(right, "overlaid path is", "overlaid paths are"))
}

fn report_unchanged(dir: &std::path::Path, note: &Note, ui: &mut Ui) {
    if ui.is_json() {
        ui.document(&json!({
            "schema": "overlaid.apply.v1",
            "tree": dir.display().to_string(),
            "pin": note.commit,
            "fingerprint": note.fingerprint,
            "changed": false,
            "steps": [],
            "right": note.right,
            "left-alone": [],
        }));
    } else {
        ui.line(format_args!("{}: {}", dir.display(), nothing_to_do(note.right)));
    }
}

pub(super) fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn word(action: Action, done: Done) -> &'static str {
    match (action, done) {
        (Action::Create | Action::MakeFolder, Done::Planned) => "create",
        (Action::Write, Done::Planned) => "write",
        (Action::Chmod, Done::Planned) => "chmod",
        (Action::Remove, Done::Planned) => "remove",
        (Action::Create | Action::MakeFolder, _) => "created",
        (Action::Write, _) => "wrote",
        (Action::Chmod, _) => "chmod",
        (Action::Remove, _) => "removed",
    }
}

fn to_json(dir: &std::path::Path, wanted: &Wanted, plan: &Plan, done: Done, command: &str) -> Value {
    let steps = plan.steps.iter().map(|step| {
        json!({
            "path": step.path,
            "action": word(step.action(), Done::Planned),
            "overlays": wanted.owners.get(&step.path).cloned().unwrap_or_default(),
            "to": step.to.map(|entry| entry.id),
        })
    });
    json!({
        "schema": format!("overlaid.{command}.v1"),
        "tree": dir.display().to_string(),
        "pin": wanted.commit,
        "fingerprint": wanted.fingerprint,
        "changed": done == Done::Written,
        "steps": steps.collect::<Vec<_>>(),
        "right": plan.right,
        "left-alone": plan.left_alone,
    })
}
