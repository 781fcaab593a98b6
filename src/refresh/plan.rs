//! From edited contents to the files of ours that change.

use std::path::PathBuf;
use std::sync::Arc;

use super::recut::{PathSides, recut};
use crate::bump::FileEdit;
use crate::id::{BlobId, OverlayName, UpstreamPath};
use crate::manifest::edit::{self, EditError, Value};
use crate::manifest::{Kind, Manifest, pattern};
use crate::overlay::{Loaded, diff};
use crate::sorted::SortedMap;
use crate::tree::Content;

/// What becomes of edits on paths that are not the overlay's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Others {
    /// Nothing is written.
    Refuse,
    /// The overlay gets these paths, too.
    Widen,
    /// A new overlay of kind `patch`, behind the edited one.
    New {
        /// Its name.
        name: OverlayName,
        /// Why it is carried.
        reason: String,
    },
}

/// What is asked.
#[derive(Debug)]
pub struct Question<'a> {
    /// The manifest.
    pub manifest: &'a Manifest,
    /// The overlay.
    pub overlay: &'a Loaded,
    /// All paths that the overlay touches or that were edited.
    pub paths: &'a [PathSides],
    /// The overlays that made each path what it was before the edits.
    pub by: &'a SortedMap<UpstreamPath, Vec<OverlayName>>,
    /// The text of the overlay's patch, if it is one.
    pub patch_text: Option<&'a [u8]>,
    /// What becomes of edits elsewhere.
    pub others: &'a Others,
}

/// The files that change.
#[derive(Debug, Default)]
pub struct Planned {
    /// Each once; none if nothing was edited.
    pub edits: Vec<FileEdit>,
    /// The edited paths that the overlay takes.
    pub taken: Vec<UpstreamPath>,
    /// The edited paths that the new overlay takes.
    pub to_new: Vec<UpstreamPath>,
}

/// Why edits cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefreshError {
    /// They are on paths that are not the overlay's.
    Elsewhere(Vec<UpstreamPath>),
    /// The overlay's content is upstream's own: a commit, or a deletion.
    NotOurs(&'static str),
    /// A whole-file overlay cannot say that upstream's file goes away.
    CannotRemove(UpstreamPath),
    /// Nothing would be left of the overlay.
    NothingLeft,
    /// The patch cannot be cut so that it gives the edited contents.
    Recut,
    /// The manifest cannot be edited.
    Manifest(EditError),
    /// The path cannot be written into a manifest.
    NotText(UpstreamPath),
}

impl std::fmt::Display for RefreshError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RefreshError::Elsewhere(paths) => {
                let paths: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
                write!(f, "edited, and not the overlay's: {}", paths.join(", "))
            }
            RefreshError::NotOurs(what) => write!(f, "its content is {what}, so there is no file to change"),
            RefreshError::CannotRemove(path) => {
                write!(f, "`{path}` was removed, and an overlay of whole files cannot remove upstream's file")
            }
            RefreshError::NothingLeft => f.write_str("with these edits the overlay would change nothing"),
            RefreshError::Recut => f.write_str("its patch cannot be cut so that it gives the edited files"),
            RefreshError::Manifest(error) => error.fmt(f),
            RefreshError::NotText(path) => {
                write!(f, "the path `{path}` is not UTF-8, so a manifest cannot name it")
            }
        }
    }
}

impl std::error::Error for RefreshError {}

/// The files that change so that the overlay gives what was edited.
///
/// # Errors
/// If the edits cannot be taken: then nothing should be written.
pub fn plan(question: &Question<'_>) -> Result<Planned, RefreshError> {
    let Question { manifest, overlay, paths, .. } = question;
    let edited = || paths.iter().filter(|side| side.before != side.after);
    let mut planned = Planned::default();
    if edited().next().is_none() {
        return Ok(planned);
    }
    let (own, elsewhere): (Vec<&PathSides>, Vec<&PathSides>) =
        edited().partition(|side| is_own(overlay, side));
    let named = |sides: &[&PathSides]| sides.iter().map(|side| side.path.clone()).collect::<Vec<_>>();
    let mut text = manifest.text.to_string();
    let (taken, to_new) = match &question.others {
        _ if elsewhere.is_empty() => (own, Vec::new()),
        Others::Refuse => {
            return Err(match what_it_is(&overlay.overlay.kind) {
                Some(what) => RefreshError::NotOurs(what),
                None => RefreshError::Elsewhere(named(&elsewhere)),
            });
        }
        Others::Widen => (own.into_iter().chain(elsewhere).collect(), Vec::new()),
        Others::New { .. } => (own, elsewhere),
    };
    planned.taken = named(&taken);
    planned.to_new = named(&to_new);
    if !taken.is_empty() {
        match &overlay.overlay.kind {
            Kind::Files(_) => edit_files(question, &taken, &mut text, &mut planned.edits)?,
            Kind::Patch(file) => {
                let file = manifest.overlay_folder().join(&file.value);
                planned.edits.push(edit_patch(question, &taken, file)?);
            }
            kind => return Err(RefreshError::NotOurs(what_it_is(kind).unwrap_or("upstream's"))),
        }
    }
    if let (Others::New { name, reason }, false) = (question.others, to_new.is_empty()) {
        let needs = to_new.iter().flat_map(|side| question.by.get(&side.path).into_iter().flatten());
        let needs: std::collections::BTreeSet<&OverlayName> = needs.collect();
        let mut keys =
            vec![("reason", Value::Text(reason.clone())), ("base", manifest.upstream.pin.value.into())];
        let file = format!("{name}.patch");
        keys.push(("patch", Value::Text(file.clone())));
        if !needs.is_empty() {
            keys.push(("needs", Value::List(needs.iter().map(ToString::to_string).collect())));
        }
        let after = overlay.name().as_str();
        text = edit::add_overlay_after(&text, after, name, &keys).map_err(RefreshError::Manifest)?;
        let patch =
            added_patch(to_new.iter().map(|side| (&side.path, side.before.as_ref(), side.after.as_ref())));
        let file = manifest.overlay_folder().join(file);
        planned.edits.push(FileEdit { file, before: None, after: Some(patch.into()), mode: None });
    }
    if text != *manifest.text {
        planned.edits.push(FileEdit {
            file: manifest.file.clone(),
            before: Some(BlobId::of(manifest.text.as_bytes())),
            after: Some(Arc::from(text.into_bytes())),
            mode: None,
        });
    }
    Ok(planned)
}

/// A patch from contents to contents, path by path.
#[must_use]
pub fn added_patch<'c>(
    changes: impl Iterator<Item = (&'c UpstreamPath, Option<&'c Content>, Option<&'c Content>)>,
) -> Vec<u8> {
    let part = |(path, before, after): (&'c UpstreamPath, Option<&'c Content>, Option<&'c Content>)| {
        diff::render(before.map(|content| (path, content)), after.map(|content| (path, content)))
    };
    changes.flat_map(part).collect()
}

/// What an overlay is whose content is no file of ours.
fn what_it_is(kind: &Kind) -> Option<&'static str> {
    match kind {
        Kind::Files(_) | Kind::Patch(_) => None,
        Kind::Commits { .. } => Some("a commit's"),
        Kind::HeldBack { .. } => Some("upstream's at a commit"),
        Kind::Delete(_) => Some("that paths go away"),
    }
}

fn is_own(overlay: &Loaded, side: &PathSides) -> bool {
    match &overlay.overlay.kind {
        // A new file that a glob of the overlay matches.
        Kind::Files(globs) => {
            overlay.files.contains_key(&side.path)
                || side.below.is_none() && globs.iter().any(|glob| matches(&glob.value, &side.path))
        }
        Kind::Patch(_) => overlay.patch.as_ref().is_some_and(|patch| patch.touched().contains(&side.path)),
        Kind::Commits { .. } | Kind::HeldBack { .. } | Kind::Delete(_) => false,
    }
}

fn matches(glob: &str, path: &UpstreamPath) -> bool {
    pattern::glob(glob).is_ok_and(|glob| glob.compile_matcher().is_match(path.to_os_path()))
}

fn edit_files(
    question: &Question<'_>,
    taken: &[&PathSides],
    text: &mut String,
    edits: &mut Vec<FileEdit>,
) -> Result<(), RefreshError> {
    let overlay = question.overlay;
    let Kind::Files(globs) = &overlay.overlay.kind else { return Ok(()) };
    let mut named: Vec<String> = globs.iter().map(|glob| glob.value.clone()).collect();
    let mut left: std::collections::BTreeSet<&UpstreamPath> = overlay.files.keys().collect();
    for side in taken {
        let file = question.manifest.overlay_folder().join(side.path.to_os_path());
        let before = overlay.files.get(&side.path).map(|content| BlobId::of(&content.bytes));
        match &side.after {
            Some(content) => {
                if !named.iter().any(|glob| matches(glob, &side.path)) {
                    named.push(literal(&side.path)?);
                }
                left.insert(&side.path);
                let (after, mode) = (Some(Arc::clone(&content.bytes)), Some(content.mode));
                edits.push(FileEdit { file, before, after, mode });
            }
            None if side.below.is_some() => return Err(RefreshError::CannotRemove(side.path.clone())),
            None => {
                left.remove(&side.path);
                let path = literal(&side.path)?;
                named.retain(|glob| *glob != path);
                edits.push(FileEdit { file, before, after: None, mode: None });
            }
        }
    }
    if left.is_empty() {
        return Err(RefreshError::NothingLeft);
    }
    if named.iter().ne(globs.iter().map(|glob| &glob.value)) {
        let name = overlay.name().as_str();
        *text = edit::set_key(text, name, "files", &Value::List(named)).map_err(RefreshError::Manifest)?;
    }
    Ok(())
}

/// A path as a glob that matches nothing else.
fn literal(path: &UpstreamPath) -> Result<String, RefreshError> {
    let text = std::str::from_utf8(path.as_bytes()).map_err(|_| RefreshError::NotText(path.clone()))?;
    Ok(pattern::literal(text))
}

fn edit_patch(
    question: &Question<'_>,
    taken: &[&PathSides],
    file: PathBuf,
) -> Result<FileEdit, RefreshError> {
    let (Some(patch), Some(text)) = (&question.overlay.patch, question.patch_text) else {
        return Err(RefreshError::Recut);
    };
    // What a new overlay takes is not this patch's.
    let is_taken = |side: &PathSides| taken.iter().any(|taken| taken.path == side.path);
    let sides: Vec<PathSides> = question
        .paths
        .iter()
        .filter(|side| is_taken(side) || patch.touched().contains(&side.path) || is_source(patch, &side.path))
        .cloned()
        .collect();
    if sides.iter().all(|side| side.below == side.after) {
        return Err(RefreshError::NothingLeft);
    }
    let made = recut(text, patch, &sides).ok_or(RefreshError::Recut)?;
    Ok(FileEdit { file, before: Some(BlobId::of(text)), after: Some(made.into()), mode: None })
}

fn is_source(patch: &diff::Patch, path: &UpstreamPath) -> bool {
    patch.files.iter().any(|file| file.old_path() == Some(path))
}
