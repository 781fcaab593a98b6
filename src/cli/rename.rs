//! `overlaid rename`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use crate::bump::FileEdit;
use crate::escape::for_terminal;
use crate::id::{BlobId, OverlayName};
use crate::io::own_files::{Disk, Edited, OwnFiles};
use crate::io::scratch::Scratch;
use crate::io::verdicts;
use crate::io::workspace::Workspace;
use crate::io::{attested, bisected, own_edits};
use crate::manifest::edit::{EditError, Value, rename_overlay, set_key};
use crate::manifest::{Kind, Witness};
use crate::overlay::Loaded;

use super::edit::overlay_of;
use super::split::same_tree;
use super::{Answer, Context, Failure, Ui, without_problems};

/// Give an overlay another name
///
/// In the manifest, in the `needs` of others, in the last verdicts, in what people report and what searches found; and files that carry the old name get the new one: its patch,
/// its witness, its report. Whole files keep their names, which are upstream's. All or nothing.
///
/// Records of runs stay as they are: nobody edits evidence, and it holds whatever the overlay is called.
///
/// Exit code 0: done. 2: there is no such overlay, or there is one with the new name.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The overlay
    #[arg(value_name = "OLD")]
    old: String,
    /// Its new name
    #[arg(value_name = "NEW", value_parser = super::parse_name)]
    new: OverlayName,
}

/// The folder of `edit` that a run left behind when it was killed after the files were written.
fn left_behind(workspace: &Workspace, args: &Args) -> Option<Scratch> {
    let old = OverlayName::parse(&args.old).ok()?;
    let is_done = workspace.overlay(&args.old).is_none() && workspace.overlay(args.new.as_str()).is_some();
    let scratch = Scratch::of(&workspace.root, &old);
    let is_free = !Scratch::of(&workspace.root, &args.new).dir().exists();
    (is_done && is_free && scratch.note().is_some()).then_some(scratch)
}

/// Runs the command.
///
/// # Errors
/// If the overlay cannot be renamed, or files cannot be written.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let lock = context.lock(ui)?;
    let workspace = without_problems(context.workspace()?)?;
    if let Some(scratch) = left_behind(&workspace, args) {
        scratch.rename_to(&args.new)?;
        ui.note(format_args!(
            "the manifest has the new name already; the folder of `overlaid edit` has it now, too"
        ));
        return Ok(Answer::Yes);
    }
    let loaded = overlay_of(&workspace, &args.old)?;
    let (mut edits, moved) = edits(&workspace, loaded, &args.new)?;
    let disk = Disk::new(&context.root);
    let after = Workspace::load_from(&Edited::new(&disk, &edits), &context.root, &workspace.manifest.file)?;
    let after = without_problems(after)?;
    let scratch = Scratch::of(&context.root, loaded.name());
    if Scratch::of(&context.root, &args.new).dir().exists() {
        return Err(Failure::input(format!("an overlay `{}` is being edited", args.new)));
    }
    // Without the upstream's objects nothing can be compared, and nothing of the content changes.
    if let Ok(store) = (Context { offline: true, ..context.clone() }).store(&workspace, ui) {
        same_tree(context, &workspace, &after, &store)?;
    }
    edits.extend(super::lock::follow(context, &edits, ui));
    own_edits::write(&lock, &edits)?;
    if scratch.note().is_some() {
        scratch.rename_to(&args.new)?;
    }
    if ui.is_json() {
        ui.document(&json!({
            "schema": "overlaid.rename.v1",
            "old": args.old,
            "new": args.new,
            "moved": moved,
        }));
        return Ok(Answer::Yes);
    }
    ui.line(format_args!("{} is {} now", for_terminal(&args.old), args.new));
    for (from, to) in &moved {
        let shown = |path: &Path| for_terminal(path.as_os_str().as_encoded_bytes());
        ui.note(format_args!("moved {} to {}", shown(from), shown(to)));
    }
    Ok(Answer::Yes)
}

/// From where to where a file moves.
type Move = (PathBuf, PathBuf);

/// The files that change, and those of them that move.
fn edits(
    workspace: &Workspace,
    loaded: &Loaded,
    new: &OverlayName,
) -> Result<(Vec<FileEdit>, Vec<Move>), Failure> {
    let manifest = &workspace.manifest;
    let disk = Disk::new(&workspace.root);
    let old = loaded.name().as_str();
    let failed = |error: EditError| Failure::input(error.to_string());
    let mut text = rename_overlay(&manifest.text, old, new).map_err(failed)?;
    let mut edits = Vec::new();
    let mut moved = Vec::new();
    let folder = manifest.overlay_folder();
    let overlay = &loaded.overlay;
    let patch = match &overlay.kind {
        Kind::Patch(file) => Some(("patch", file.value.clone(), folder.clone())),
        _ => None,
    };
    let witness = match overlay.witness.as_ref().map(|witness| &witness.value) {
        Some(Witness::Patch(file)) => Some(("witness", file.clone(), folder)),
        _ => None,
    };
    let report = overlay.report.as_ref().map(|file| ("report", file.value.clone(), PathBuf::new()));
    for (key, file, folder) in [patch, witness, report].into_iter().flatten() {
        let Some(renamed) = renamed(&file, old, new) else { continue };
        let (from, to) = (folder.join(&file), folder.join(&renamed));
        if is_of_another(workspace, loaded, &from) {
            continue;
        }
        let name = Value::Text(renamed.display().to_string());
        let value = if key == "witness" { Value::Table(vec![("patch".to_owned(), name)]) } else { name };
        text = set_key(&text, new.as_str(), key, &value).map_err(failed)?;
        // A report need not be written yet.
        let Some(content) = disk.read(&from)? else { continue };
        let id = BlobId::of(&content.bytes);
        edits.push(FileEdit { file: from.clone(), before: Some(id), after: None, mode: None });
        let (after, mode) = (Some(content.bytes), Some(content.mode));
        edits.push(FileEdit { file: to.clone(), before: None, after, mode });
        moved.push((from, to));
    }
    let file = verdicts::file(&manifest.docs_folder(), manifest.upstream.name.as_str());
    if let Some(content) = disk.read(&file)?
        && let Some(renamed) = verdicts::renamed(&content.bytes, old, new.as_str())
    {
        let before = Some(BlobId::of(&content.bytes));
        edits.push(FileEdit { file, before, after: Some(renamed.into()), mode: None });
    }
    rename_notes(workspace, &disk, old, new, &mut edits)?;
    edits.push(FileEdit {
        file: manifest.file.clone(),
        before: Some(BlobId::of(manifest.text.as_bytes())),
        after: Some(Arc::from(text.into_bytes())),
        mode: None,
    });
    Ok((edits, moved))
}

/// What people report and what searches came to name the overlay, too.
fn rename_notes(
    workspace: &Workspace,
    disk: &Disk,
    old: &str,
    new: &OverlayName,
    edits: &mut Vec<FileEdit>,
) -> Result<(), Failure> {
    type Rename = fn(&[u8], &str, &OverlayName) -> Option<Vec<u8>>;
    let (docs, upstream) = (workspace.manifest.docs_folder(), workspace.manifest.upstream.name.as_str());
    // A search has a file that is called after the overlay.
    let folders: [(PathBuf, Rename, bool); 2] = [
        (attested::folder(&docs, upstream), attested::renamed, false),
        (bisected::folder(&docs, upstream), bisected::renamed, true),
    ];
    for (folder, rename, moves) in folders {
        for file in attested::note_files(&workspace.root.join(&folder)) {
            let Some(file) = file.file_name().map(|name| folder.join(name)) else { continue };
            let Some(content) = disk.read(&file)? else { continue };
            let Some(text) = rename(&content.bytes, old, new) else { continue };
            let before = Some(BlobId::of(&content.bytes));
            match renamed(&file, old, new).filter(|_| moves) {
                Some(to) => {
                    edits.push(FileEdit { file, before, after: None, mode: None });
                    edits.push(FileEdit { file: to, before: None, after: Some(text.into()), mode: None });
                }
                None => edits.push(FileEdit { file, before, after: Some(text.into()), mode: None }),
            }
        }
    }
    Ok(())
}

/// The file's new name, if it carries the old one: `old.patch`, `old.fault.patch`, `old-fault.patch`.
fn renamed(file: &Path, old: &str, new: &OverlayName) -> Option<PathBuf> {
    let rest = file.file_name()?.to_str()?.strip_prefix(old)?;
    rest.starts_with(['.', '-']).then(|| file.with_file_name(format!("{new}{rest}")))
}

/// Whether another overlay has this file, too.
fn is_of_another(workspace: &Workspace, loaded: &Loaded, file: &Path) -> bool {
    workspace.overlays.iter().filter(|other| other.name() != loaded.name()).any(|other| {
        other.own.iter().any(|own| own.file == file)
            || other.overlay.report.as_ref().is_some_and(|report| report.value == file)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_renamed_if_it_carries_the_name() {
        let new = OverlayName::parse("new").unwrap();
        let to = |file: &str| renamed(Path::new(file), "old", &new).map(|file| file.display().to_string());
        assert_eq!(to("a/old.patch").as_deref(), Some("a/new.patch"));
        assert_eq!(to("old-fault.patch").as_deref(), Some("new-fault.patch"));
        assert_eq!(to("older.patch"), None);
        assert_eq!(to("an-old.patch"), None);
    }
}
