//! `overlaid edit`

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::json;

use crate::escape::for_terminal;
use crate::id::Name;
use crate::io::own_files::hide_from_git;
use crate::io::scratch::{Note, Scratch, ScratchError, editor_and_shell, run_in};
use crate::io::store::Store;
use crate::io::workspace::Workspace;
use crate::overlay::{Loaded, fingerprint};
use crate::plan::Wanted;
use crate::refresh::{Sides, Stand};
use crate::upstream::Upstream;

use super::{Answer, Context, Failure, FailureKind, Ui, without_problems};

/// Get a folder in which to change an overlay
///
/// Makes `.overlaid/edit/OVERLAY`: the pin with this overlay on it, those that it needs, and those that go on before it.
/// Those that come later are off. Change the files there with whatever you like, then run `overlaid refresh OVERLAY`.
///
/// A folder that is there is left as it is, with your edits. If the overlay, the pin or an overlay below it changed since,
/// --again makes it anew and moves the old one aside.
///
/// Nothing is run unless you ask for it: --editor opens the overlay's files in $VISUAL or $EDITOR, --shell starts $SHELL there.
///
/// Exit code 0: the folder is there. 3: the overlay does not fit on the pin, or the folder is from before a change.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The overlay
    #[arg(value_name = "OVERLAY")]
    overlay: String,
    /// Make the folder anew; the old one is moved aside
    #[arg(long)]
    again: bool,
    /// Open the overlay's files in $VISUAL or $EDITOR
    #[arg(long, conflicts_with_all = ["shell", "json"])]
    editor: bool,
    /// Start $SHELL in the folder
    #[arg(long, conflicts_with = "json")]
    shell: bool,
}

/// Runs the command.
///
/// # Errors
/// If the manifest or the upstream cannot be read, or the folder cannot be written.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let workspace = without_problems(context.workspace()?)?;
    let loaded = overlay_of(&workspace, &args.overlay)?;
    let store = context.store(&workspace, ui)?;
    let features = features(context, &workspace)?;
    let stand = Stand::of(&workspace.manifest, &workspace.overlays, loaded, &features);
    let sides = stand.sides(&store)?;
    Failure::if_refused(&sides.with)?;
    let scratch = Scratch::of(&context.root, loaded.name());
    let note = Note::new(workspace.manifest.upstream.name.value.as_str(), sides.name(stand.pin));
    let mut state = "made";
    match scratch.note() {
        Some(known) if !args.again => {
            state = "there already, with what you edited";
            if known != note {
                return Err(outdated(&scratch, loaded, context));
            }
        }
        known => {
            if known.is_some() || scratch.dir().exists() {
                let aside = scratch.move_aside()?;
                ui.note(format_args!("the folder of before is now `{}`", context.root.join(aside).display()));
            }
            let wanted = wanted(&workspace, &stand, &sides, &store)?;
            scratch.make(&wanted, &note, &store, &mut |event| super::apply::tell(&event, ui))?;
            ui.end_progress();
            hide_from_git(&context.root).map_err(|error| {
                Failure::environment("cannot write `.overlaid/.gitignore`").caused_by(error)
            })?;
        }
    }
    for name in &stand.later {
        ui.note(format_args!("note: `{name}`, which it needs, goes on after it, and is not in the folder"));
    }
    let own: Vec<PathBuf> = sides
        .with
        .by
        .iter()
        .filter(|(path, by)| by.contains(loaded.name()) && sides.with.changes[path].is_some())
        .map(|(path, _)| path.to_os_path().to_owned())
        .collect();
    if ui.is_json() {
        ui.document(&json!({
            "schema": "overlaid.edit.v1",
            "overlay": args.overlay,
            "folder": scratch.dir(),
            "files": own,
            "below": stand.below.iter().map(|loaded| loaded.name()).collect::<Vec<_>>(),
        }));
        return Ok(Answer::Yes);
    }
    ui.line(scratch.dir().display());
    ui.note(format_args!("{state}; {} there:", if own.len() == 1 { "its file" } else { "its files" }));
    for file in &own {
        ui.note(format_args!("  {}", for_terminal(file.as_os_str().as_encoded_bytes())));
    }
    let (editor, shell) = editor_and_shell();
    let program = match (args.editor, args.shell, editor) {
        (true, _, Some(editor)) => Some((editor, own)),
        (true, _, None) => {
            return Err(Failure::input("neither $VISUAL nor $EDITOR names an editor")
                .with_hint("EDITOR=vi overlaid edit OVERLAY --editor, or open the folder yourself"));
        }
        (_, true, _) => Some((shell, Vec::new())),
        _ => None,
    };
    if let Some((program, files)) = program {
        let ended_well = run_in(&scratch.dir(), &program, &files).map_err(|error| {
            Failure::environment(format!("cannot run `{}`", for_terminal(&program))).caused_by(error)
        })?;
        if !ended_well {
            ui.warn(format_args!("`{}` ended with an error", for_terminal(&program)));
        }
    }
    ui.note(format_args!(
        "take your edits into the overlay: {} {}",
        context.command("refresh", None),
        args.overlay
    ));
    Ok(Answer::Yes)
}

/// The overlay of this name.
///
/// # Errors
/// If there is none.
pub(super) fn overlay_of<'w>(workspace: &'w Workspace, name: &str) -> Result<&'w Loaded, Failure> {
    workspace.overlay(name).ok_or_else(|| {
        let known = workspace.overlays.iter().map(|loaded| loaded.name().to_string()).collect();
        Failure::unknown_overlay(name, &known)
    })
}

/// The features that are on, if there is a choice.
///
/// # Errors
/// If two of them exclude each other.
pub(super) fn features(context: &Context, workspace: &Workspace) -> Result<BTreeSet<Name>, Failure> {
    context.features(workspace, context.profile_if_any(workspace)?)
}

/// The tree in the folder.
pub(super) fn wanted(
    workspace: &Workspace,
    stand: &Stand<'_>,
    sides: &Sides,
    store: &Store,
) -> Result<Wanted, Failure> {
    Ok(Wanted {
        upstream: workspace.manifest.upstream.name.value.clone(),
        commit: stand.pin,
        listing: store.listing(stand.pin)?,
        changes: sides.with.changes.clone(),
        owners: sides.with.by.clone(),
        fingerprint: fingerprint(stand.pin, &BTreeSet::new(), &sides.with.changes),
    })
}

/// The folder was made from something else than there is now.
pub(super) fn outdated(scratch: &Scratch, loaded: &Loaded, context: &Context) -> Failure {
    let message = format!(
        "`{}` is from before a change of the pin, of overlay `{}` or of one below it",
        scratch.dir().display(),
        loaded.name()
    );
    Failure::new(FailureKind::NeedsPerson, message).with_hint(format!(
        "make it anew, your edits are kept aside: {} {} --again",
        context.command("edit", None),
        loaded.name()
    ))
}

impl From<ScratchError> for Failure {
    fn from(error: ScratchError) -> Self {
        match error {
            ScratchError::Own(error) => error.into(),
            ScratchError::Load(error) => error.into(),
            ScratchError::Changed(_) => {
                Failure::new(FailureKind::NeedsPerson, for_terminal(error.to_string()))
                    .with_hint("undo your later change first, or take it back with git")
            }
            error => Failure::environment(for_terminal(error.to_string())),
        }
    }
}
