//! The way in which `apply` finds out that there is nothing to do: see `io::tree::unchanged`.
//!
//! Decides where the note lies and which options it is for. Never writes to the tree.

use std::path::{Path, PathBuf};

use crate::id::BlobId;
use crate::io::checkout::Elsewhere;
use crate::io::locked::lock_file;
use crate::io::own_files::Noted;
use crate::io::tree::HOME;
use crate::io::tree::unchanged::{Inputs, Note, look, write};
use crate::io::workspace::Workspace;
use crate::overlay::watched;
use crate::plan::Wanted;

use super::{Context, Failure};

/// The folder in `.overlaid` of the repository; no upstream can have this name. Not in the tree: a run that finds nothing
/// to do writes nothing there.
const FOLDER: &str = ".notes";

/// Where the note of a run with these options is.
#[derive(Debug)]
pub(super) struct Notes<'c> {
    context: &'c Context,
    file: PathBuf,
    tree: Option<PathBuf>,
}

impl<'c> Notes<'c> {
    /// `tree`: the folder that the user named. `None` if where we are cannot be told.
    pub(super) fn new(context: &'c Context, tree: Option<&Path>, for_cmake: bool) -> Option<Self> {
        let root = std::path::absolute(&context.root).ok()?;
        let tree = tree.map(std::path::absolute).transpose().ok()?;
        // Two runs with the same options, and only they, share a note.
        let options = format!(
            "{root:?} {tree:?} {:?} {:?} {:?} {for_cmake}",
            context.manifest, context.profile, context.features
        );
        let file = root.join(HOME).join(FOLDER).join(BlobId::of(options.as_bytes()).to_string());
        Some(Self { context, file, tree })
    }

    /// The note, if nothing changed since, with the tree's folder.
    pub(super) fn look(&self) -> Option<(Note, PathBuf)> {
        let note = look(&self.file, &self.context.root, self.tree.as_deref())?;
        let dir = match (&self.tree, &note.tree) {
            (Some(tree), _) => tree.clone(),
            // A link on the way can have been put there since.
            (None, Some(folder)) => self.context.tree_at(folder).ok()?,
            (None, None) => return None,
        };
        // Files that no overlay concerns may be of another commit by now, which is a warning.
        Elsewhere::of(&dir, note.commit).is_none().then_some((note, dir))
    }

    /// Writes a note after a run that left the tree right, for the next one.
    pub(super) fn write(
        &self,
        inputs: &Inputs,
        workspace: &Workspace,
        wanted: &Wanted,
        said: Vec<String>,
        script: Option<Vec<u8>>,
    ) -> Result<(), Failure> {
        let dir = self.dir(workspace)?;
        let tree = self.tree.is_none().then(|| workspace.manifest.tree_folder());
        let fingerprint = wanted.fingerprint.clone();
        let note =
            Note { tree, commit: wanted.commit, fingerprint, right: wanted.changes.len(), said, script };
        write(&self.file, inputs, &dir, wanted, &note);
        Ok(())
    }

    /// The tree's folder.
    pub(super) fn dir(&self, workspace: &Workspace) -> Result<PathBuf, Failure> {
        self.tree.clone().map_or_else(|| self.context.tree(workspace), Ok)
    }
}

/// Reads the manifest and the overlay files and notes which.
///
/// # Errors
/// If they cannot be read or are not right.
pub(super) fn load_noted(context: &Context) -> Result<(Workspace, Inputs), Failure> {
    let own = Noted::new(&context.root);
    let workspace = context.workspace_from(&own)?;
    let mut inputs = own.into_inputs();
    let root = std::path::absolute(&context.root).unwrap_or_else(|_| context.root.clone());
    inputs.read(&root.join(lock_file(&workspace.manifest.file)));
    // Those that a CMake project watches may be others than were read.
    let watched = watched(&workspace.manifest, &workspace.overlays);
    watched.folders.iter().for_each(|folder| inputs.listed(&root.join(folder)));
    if context.manifest.is_none() {
        // Another manifest would have to be chosen from.
        inputs.listed(&root.join("manifests"));
    }
    Ok((super::without_problems(workspace)?, inputs))
}
