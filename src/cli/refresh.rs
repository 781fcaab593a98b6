//! `overlaid refresh`

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::bump::FileEdit;
use crate::escape::for_terminal;
use crate::id::{OverlayName, UpstreamPath};
use crate::io::own_files::{Disk, Edited, OwnFiles};
use crate::io::scratch::{self, Note, Scratch};
use crate::io::store::Store;
use crate::io::workspace::Workspace;
use crate::manifest::Kind;
use crate::overlay::{Loaded, wanted as resolved};
use crate::refresh::{Others, PathSides, Planned, Question, RefreshError, Sides, Stand, plan};
use crate::tree::Changes;

use super::edit::{features, outdated, overlay_of, wanted};
use super::{Answer, Context, Failure, FailureKind, Ui, without_problems};

/// Take what you edited back into the overlay
///
/// Compares the folder that `overlaid edit OVERLAY` made with what it was, and changes the overlay so that it gives what you
/// made of it: whole files are replaced; of a patch, the parts of edited files are cut anew and all other bytes stay. If you
/// edited nothing, nothing is written. All or nothing, and tried before it is written.
///
/// Edits on paths that are not the overlay's are refused. --new NAME makes an overlay of them, behind this one; --widen
/// gives the paths to this overlay.
///
/// --undo takes the last refresh back: the files of ours are what they were, your edits stay in the folder.
///
/// Exit code 0: the overlay gives what you edited. 1: with --dry-run, something would change. 3: edits cannot be taken as
/// they are.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The overlay; it can be left out if only one is being edited
    #[arg(value_name = "OVERLAY")]
    overlay: Option<String>,
    /// Make a new overlay of edits on other paths
    #[arg(long, value_name = "NAME", value_parser = super::parse_name, requires = "reason", conflicts_with = "widen")]
    new: Option<OverlayName>,
    /// Why the new overlay is carried
    #[arg(long, value_name = "TEXT", requires = "new")]
    reason: Option<String>,
    /// Take edits on other paths into this overlay, too
    #[arg(long)]
    widen: bool,
    /// Only say what would change
    #[arg(long)]
    dry_run: bool,
    /// Remove the folder afterwards
    #[arg(long, conflicts_with = "dry_run")]
    done: bool,
    /// Take the last refresh back
    #[arg(long, conflicts_with_all = ["overlay", "new", "widen", "dry_run", "done"])]
    undo: bool,
}

/// Runs the command.
///
/// # Errors
/// If something cannot be read or written, or the edits cannot be taken.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    if args.undo {
        return undo(context, ui);
    }
    let lock = if args.dry_run { None } else { Some(context.lock(ui)?) };
    let workspace = without_problems(context.workspace()?)?;
    let name = match &args.overlay {
        Some(name) => name.clone(),
        None => only_one(context)?,
    };
    let loaded = overlay_of(&workspace, &name)?;
    let scratch = Scratch::of(&context.root, loaded.name());
    let Some(note) = scratch.note() else {
        return Err(Failure::input(format!("overlay `{name}` is not being edited"))
            .with_hint(format!("start: {} {name}", context.command("edit", None))));
    };
    let store = context.store(&workspace, ui)?;
    let on = features(context, &workspace)?;
    let stand = Stand::of(&workspace.manifest, &workspace.overlays, loaded, &on);
    let sides = stand.sides(&store)?;
    Failure::if_refused(&sides.with)?;
    let edited = scratch.edited(&wanted(&workspace, &stand, &sides, &store)?)?;
    let now = Note::new(workspace.manifest.upstream.name.value.as_str(), sides.name(stand.pin));
    if now != note && !edited.is_empty() {
        return Err(outdated(&scratch, loaded, context));
    }
    let mut planned = planned(&workspace, &stand, &sides, &edited, args, &store)
        .map_err(|failure| with_commands(failure, context, &name))?;
    if planned.edits.is_empty() {
        if now != note && !args.dry_run {
            scratch.set_note(&now)?;
        }
        if args.done {
            scratch.remove()?;
        }
        report(context, &name, &planned, args, &[], ui);
        return Ok(Answer::Yes);
    }
    let disk = Disk::new(&context.root);
    let after =
        Workspace::load_from(&Edited::new(&disk, &planned.edits), &context.root, &workspace.manifest.file)?;
    let after = without_problems(after)?;
    let after_sides = prove(&after, &stand, args.new.as_ref(), &sides, &edited, &store)?;
    let broken = broken_later(&workspace, &after, context, &store)?;
    let Some(lock) = &lock else {
        report(context, &name, &planned, args, &broken, ui);
        return Ok(Answer::No);
    };
    planned.edits.extend(super::lock::follow(context, &planned.edits, ui));
    scratch::write_undoably(lock, loaded.name(), &planned.edits)?;
    // The new overlay goes on behind this one, so it is not in this folder.
    for path in &planned.to_new {
        let before = match sides.with.changes.get(path) {
            Some(content) => content.clone(),
            None => crate::overlay::content_at(&store, stand.pin, path)?,
        };
        scratch.put(path, before.as_ref())?;
    }
    // Last of all: a folder that is not finished is from before the change, and says so.
    scratch.set_note(&Note::new(after.manifest.upstream.name.value.as_str(), after_sides))?;
    if args.done {
        scratch.remove()?;
    }
    report(context, &name, &planned, args, &broken, ui);
    Ok(Answer::Yes)
}

/// The only overlay that is being edited.
fn only_one(context: &Context) -> Result<String, Failure> {
    let names = Scratch::all(&context.root)?;
    match names.as_slice() {
        [name] => Ok(name.to_string()),
        [] => Err(Failure::input("no overlay is being edited")
            .with_hint(format!("start: {} OVERLAY", context.command("edit", None)))),
        names => {
            let names: Vec<&str> = names.iter().map(OverlayName::as_str).collect();
            Err(Failure::input("several overlays are being edited")
                .with_hint(format!("name one of: {}", names.join(", "))))
        }
    }
}

fn planned(
    workspace: &Workspace,
    stand: &Stand<'_>,
    sides: &Sides,
    edited: &Changes,
    args: &Args,
    store: &Store,
) -> Result<Planned, Failure> {
    let loaded = stand.overlay;
    let paths = path_sides(stand, sides, edited, store)?;
    let patch_text = match &loaded.overlay.kind {
        Kind::Patch(file) => {
            Disk::new(&workspace.root).read(&workspace.manifest.overlay_folder().join(&file.value))?
        }
        _ => None,
    };
    let others = match (&args.new, &args.reason, args.widen) {
        (Some(name), Some(reason), _) => {
            let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
            Others::New { name: name.clone(), reason }
        }
        (_, _, true) => Others::Widen,
        _ => Others::Refuse,
    };
    let question = Question {
        manifest: &workspace.manifest,
        overlay: loaded,
        paths: &paths,
        by: &sides.with.by,
        patch_text: patch_text.as_ref().map(|content| &content.bytes[..]),
        others: &others,
    };
    plan(&question).map_err(|error| describe(&error, loaded))
}

/// All paths that the overlay touches or that were edited, on all sides.
pub(super) fn path_sides(
    stand: &Stand<'_>,
    sides: &Sides,
    edited: &Changes,
    store: &Store,
) -> Result<Vec<PathSides>, Failure> {
    let loaded = stand.overlay;
    let touched = loaded.patch.as_ref().map(|patch| patch.touched()).unwrap_or_default();
    let sources =
        loaded.patch.iter().flat_map(|patch| patch.files.iter().filter_map(|f| f.old_path().cloned()));
    let paths: BTreeSet<UpstreamPath> =
        edited.keys().cloned().chain(touched).chain(loaded.files.keys().cloned()).chain(sources).collect();
    let mut all = Vec::new();
    for path in paths {
        let below = sides.without(stand.pin, &path, store)?;
        let before = sides.with.changes.get(&path).unwrap_or(&below).clone();
        let after = edited.get(&path).unwrap_or(&before).clone();
        all.push(PathSides { path, below, before, after });
    }
    Ok(all)
}

/// Sees that the changed overlays give what was edited. Gives the name of the new state.
pub(super) fn prove(
    after: &Workspace,
    stand: &Stand<'_>,
    new: Option<&OverlayName>,
    sides: &Sides,
    edited: &Changes,
    store: &Store,
) -> Result<String, Failure> {
    let find = |name: &OverlayName| after.overlay(name.as_str());
    let below: Vec<&Loaded> = stand.below.iter().filter_map(|loaded| find(loaded.name())).collect();
    let Some(overlay) = find(stand.overlay.name()) else {
        return Err(Failure::new(FailureKind::Bug, "the overlay is gone from the manifest"));
    };
    let later = Vec::new();
    let changed = Stand { pin: stand.pin, below, overlay, later };
    let own = changed.sides(store)?;
    let mut all: Vec<&Loaded> = changed.below.iter().copied().chain([overlay]).collect();
    all.extend(new.and_then(find));
    let made = crate::overlay::resolve(&all, crate::overlay::At::Pin(stand.pin), store)?;
    Failure::if_refused(&made)?;
    let mut wish = sides.with.changes.clone();
    wish.extend(edited.iter().map(|(path, content)| (path.clone(), content.clone())));
    let paths: BTreeSet<&UpstreamPath> = wish.keys().chain(made.changes.keys()).collect();
    for path in paths {
        let upstream = || crate::overlay::content_at(store, stand.pin, path);
        let is = |changes: &Changes| changes.get(path).cloned().map_or_else(upstream, Ok);
        if is(&wish)? != is(&made.changes)? {
            let message = format!("`{path}` would not become what you edited; nothing was written");
            return Err(Failure::new(FailureKind::NeedsPerson, for_terminal(message))
                .with_hint("is it a path that an overlay behind this one makes? Edit that one"));
        }
    }
    Ok(own.name(stand.pin))
}

/// Overlays that went on before the change and do not go on after it: a sentence each.
fn broken_later(
    before: &Workspace,
    after: &Workspace,
    context: &Context,
    store: &Store,
) -> Result<Vec<String>, Failure> {
    let on = features(context, before)?;
    let of = |workspace: &Workspace| resolved(&workspace.manifest, &workspace.overlays, &on, store);
    Ok(match (of(before), of(after)) {
        (Ok(_), Err(why)) => vec![why.to_string()],
        _ => Vec::new(),
    })
}

fn report(context: &Context, name: &str, planned: &Planned, args: &Args, broken: &[String], ui: &mut Ui) {
    let files: BTreeMap<String, &FileEdit> =
        planned.edits.iter().map(|edit| (edit.file.display().to_string(), edit)).collect();
    if ui.is_json() {
        ui.document(&json!({
            "schema": "overlaid.refresh.v1",
            "overlay": name,
            "paths": planned.taken,
            "new": args.new.as_ref().filter(|_| !planned.to_new.is_empty()),
            "to_new": planned.to_new,
            "files": files.keys().collect::<Vec<_>>(),
            "written": !args.dry_run && !files.is_empty(),
            "broken": broken,
        }));
        return;
    }
    if files.is_empty() {
        ui.line(format_args!("{name}: you edited nothing; nothing changes"));
        return;
    }
    let would = if args.dry_run { "would take" } else { "took" };
    for path in &planned.taken {
        ui.line(format_args!("{name} {would} {}", for_terminal(path.as_bytes())));
    }
    if let Some(new) = &args.new {
        for path in &planned.to_new {
            ui.line(format_args!("{new} (new) {would} {}", for_terminal(path.as_bytes())));
        }
    }
    let wrote = if args.dry_run { "would write" } else { "wrote" };
    for file in files.keys() {
        ui.note(format_args!("{wrote} {}", for_terminal(file)));
    }
    for why in broken {
        ui.warn(format_args!("an overlay behind it does not fit any more: {why}"));
    }
    if !args.dry_run {
        ui.note(format_args!("take it back: {} --undo", context.command("refresh", None)));
    }
}

fn describe(error: &RefreshError, loaded: &Loaded) -> Failure {
    let name = loaded.name();
    let failure = Failure::new(FailureKind::NeedsPerson, for_terminal(format!("overlay `{name}`: {error}")));
    match error {
        RefreshError::Elsewhere(_) => failure.with_hint("--new or --widen"),
        RefreshError::NotOurs(_) => failure.with_hint("--new"),
        RefreshError::CannotRemove(path) => failure.with_hint(for_terminal(format!(
            "put the file back, and remove it with an overlay of its own: delete = [\"{path}\"]"
        ))),
        RefreshError::NothingLeft => {
            failure.with_hint("if that is meant, remove the overlay from the manifest")
        }
        RefreshError::Recut => failure.with_hint("change the patch file by hand"),
        RefreshError::Manifest(_) | RefreshError::NotText(_) => failure,
    }
}

/// Hints with whole commands.
fn with_commands(mut failure: Failure, context: &Context, name: &str) -> Failure {
    let command = context.command("refresh", None);
    let new = format!("make an overlay of them: {command} {name} --new NAME --reason TEXT");
    failure.hint = match failure.hint.as_deref() {
        Some("--new or --widen") => {
            Some(format!("{new}; or give them to this one: {command} {name} --widen"))
        }
        Some("--new") => Some(new),
        hint => hint.map(ToOwned::to_owned),
    };
    failure
}

fn undo(context: &Context, ui: &mut Ui) -> Result<Answer, Failure> {
    let lock = context.lock(ui)?;
    let Some((name, done)) = scratch::undo(&lock)? else {
        return Err(Failure::input("there is no refresh to take back"));
    };
    // The folder was made from what the files are again.
    let scratch = Scratch::of(&context.root, &name);
    if scratch.note().is_some() {
        let workspace = without_problems(context.workspace()?)?;
        let loaded = overlay_of(&workspace, name.as_str())?;
        let store = context.store(&workspace, ui)?;
        let on = features(context, &workspace)?;
        let stand = Stand::of(&workspace.manifest, &workspace.overlays, loaded, &on);
        let sides = stand.sides(&store)?;
        let upstream = workspace.manifest.upstream.name.value.as_str();
        scratch.set_note(&Note::new(upstream, sides.name(stand.pin)))?;
    }
    if ui.is_json() {
        ui.document(&json!({ "schema": "overlaid.refresh.v1", "overlay": name, "undone": done.files }));
        return Ok(Answer::Yes);
    }
    for file in &done.files {
        ui.line(format_args!("put back {}", for_terminal(file.as_os_str().as_encoded_bytes())));
    }
    Ok(Answer::Yes)
}
