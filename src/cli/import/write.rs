//! What an import would make of the repository is looked at as a whole, and then written, all of it or nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::bump::FileEdit;
use crate::id::{BlobId, Name};
use crate::io::own_edits;
use crate::io::staged_files::Staged;
use crate::io::workspace::Workspace;
use crate::overlay::{At, Loaded, resolve};

use super::super::status::inspect_all;
use super::super::{Failure, Ui, without_problems};
use super::Target;

/// What was found out about the overlays as they would be.
pub(super) struct Report {
    /// The state of each.
    pub states: BTreeMap<Name, &'static str>,
}

/// Reads the repository as it would be.
pub(super) fn load(target: &Target<'_>, staged: &Staged) -> Result<Workspace, Failure> {
    let file = &target.workspace.manifest.file;
    without_problems(Workspace::load_from(staged, &target.context.root, file)?)
}

/// Makes sure that the repository as it would be is right: all files are there, and everything applies.
pub(super) fn check(target: &Target<'_>, staged: &Staged) -> Result<Report, Failure> {
    let workspace = load(target, staged)?;
    let active: Vec<&Loaded> = workspace.overlays.iter().filter(|loaded| loaded.overlay.active).collect();
    let resolution = resolve(&active, At::Pin(workspace.manifest.upstream.pin.value), target.store)?;
    Failure::if_refused(&resolution)?;
    let known = target.taken();
    let new: Vec<&Loaded> =
        workspace.overlays.iter().filter(|loaded| !known.contains(loaded.name())).collect();
    let reports = inspect_all(&workspace, &new, target.store);
    Ok(Report { states: reports.into_iter().map(|report| (report.name, report.state.as_str())).collect() })
}

/// Writes what is staged.
pub(super) fn write(target: &Target<'_>, staged: &Staged, ui: &mut Ui) -> Result<(), Failure> {
    let manifest = &target.workspace.manifest;
    let mut edits = Vec::new();
    for (file, content) in staged.files() {
        let before = match file == &manifest.file {
            true => Some(BlobId::of(manifest.text.as_bytes())),
            false => staged.on_disk(file)?.map(|there| BlobId::of(&there.bytes)),
        };
        if before != Some(BlobId::of(&content.bytes)) {
            edits.push(FileEdit {
                file: file.clone(),
                before,
                after: Some(Arc::clone(&content.bytes)),
                mode: Some(content.mode),
            });
        }
    }
    edits.extend(super::super::lock::follow(target.context, &edits, ui));
    let done = own_edits::write(&target.context.root, &edits)?;
    ui.note(format_args!(
        "wrote {} files: {} and {}",
        done.files.len(),
        manifest.file.display(),
        manifest.overlay_folder().display()
    ));
    ui.note("next: overlaid verify");
    Ok(())
}
