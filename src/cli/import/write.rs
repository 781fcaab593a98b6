//! What an import would make of the repository is looked at as a whole, and then written, all of it or nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::bump::FileEdit;
use crate::id::{BlobId, Name};
use crate::io::own_edits::{self, Lock};
use crate::io::own_files::{Disk, Edited, OwnFiles};
use crate::io::workspace::Workspace;
use crate::manifest::Manifest;
use crate::overlay::{At, Loaded, resolve};
use crate::tree::{Content, Mode};

use super::super::status::inspect_all;
use super::super::{Failure, Ui, without_problems};
use super::Target;

/// The files that an import will write.
pub(super) struct Edits {
    disk: Disk,
    edits: Vec<FileEdit>,
}

impl Edits {
    pub(super) fn new(target: &Target<'_>) -> Self {
        Self { disk: Disk::new(&target.context.root), edits: Vec::new() }
    }

    /// The manifest will have this text.
    pub(super) fn manifest(&mut self, manifest: &Manifest, text: &str) {
        self.edits.retain(|edit| edit.file != manifest.file);
        self.edits.push(FileEdit {
            file: manifest.file.clone(),
            before: Some(BlobId::of(manifest.text.as_bytes())),
            after: Some(Arc::from(text.as_bytes())),
            mode: Some(Mode::File),
        });
    }

    /// A file will be there, if no other is at its place.
    pub(super) fn place(&mut self, file: PathBuf, content: Content) -> Result<(), Failure> {
        let after = |edit: &FileEdit| edit.after.as_ref() != Some(&content.bytes);
        if self.edits.iter().any(|edit| edit.file == file && after(edit)) {
            return Err(Failure::input(format!("two patches would become `{}`", file.display()))
                .with_hint("rename one of them"));
        }
        let before = match self.disk.read(&file)? {
            Some(there) if there.bytes != content.bytes => {
                return Err(Failure::input(format!(
                    "`{}` is there already, with other content",
                    file.display()
                ))
                .with_hint("move it away, or rename the file that is imported"));
            }
            there => there.map(|there| BlobId::of(&there.bytes)),
        };
        self.edits.push(FileEdit { file, before, after: Some(content.bytes), mode: Some(content.mode) });
        Ok(())
    }

    fn own(&self) -> Edited<'_> {
        Edited::new(&self.disk, &self.edits)
    }
}

/// What was found out about the overlays as they would be.
pub(super) struct Report {
    /// The state of each.
    pub states: BTreeMap<Name, &'static str>,
}

/// Reads the repository as it would be.
pub(super) fn load(target: &Target<'_>, edits: &Edits) -> Result<Workspace, Failure> {
    let file = &target.workspace.manifest.file;
    without_problems(Workspace::load_from(&edits.own(), &target.context.root, file)?)
}

/// Makes sure that the repository as it would be is right: all files are there, and everything applies.
pub(super) fn check(target: &Target<'_>, edits: &Edits) -> Result<Report, Failure> {
    let workspace = load(target, edits)?;
    let active: Vec<&Loaded> = workspace.overlays.iter().filter(|loaded| loaded.overlay.active).collect();
    let resolution = resolve(&active, At::Pin(workspace.manifest.upstream.pin.value), target.store)?;
    Failure::if_refused(&resolution)?;
    let known = target.taken();
    let new: Vec<&Loaded> =
        workspace.overlays.iter().filter(|loaded| !known.contains(loaded.name())).collect();
    let reports = inspect_all(&workspace, &new, target.store);
    Ok(Report { states: reports.into_iter().map(|report| (report.name, report.state.as_str())).collect() })
}

/// Writes them.
pub(super) fn write(target: &Target<'_>, edits: Edits, lock: &Lock, ui: &mut Ui) -> Result<(), Failure> {
    let manifest = &target.workspace.manifest;
    let mut edits = edits.edits;
    edits.retain(|edit| edit.before != edit.after.as_ref().map(|bytes| BlobId::of(bytes)));
    edits.extend(super::super::lock::follow(target.context, &edits, ui));
    let done = own_edits::write(lock, &edits)?;
    ui.note(format_args!(
        "wrote {} files: {} and {}",
        done.files.len(),
        manifest.file.display(),
        manifest.overlay_folder().display()
    ));
    ui.note("next: overlaid verify");
    Ok(())
}
