//! From a plan to the files of ours that change: overlay files, patches, the pin wherever it stands, the manifest.
//!
//! Decides what their bytes will be. A file that would not change is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Severity};
use crate::id::{BlobId, CommitId, OverlayName, UpstreamPath};
use crate::manifest::edit::{self, EditError, Value, find_pins, replace_pins};
use crate::manifest::{self, Kind, Manifest, Overlay, pattern};
use crate::overlay::{Loaded, diff};
use crate::tree::{Content, Mode};
use crate::verify::marker;

use super::{Fate, Outcome, OverlayPlan, PathPlan, Plan};

/// A file of ours that repeats the pin, as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnFile {
    /// Where it is, relative to the repository.
    pub file: PathBuf,
    /// Its bytes; `None` if it is not there.
    pub bytes: Option<Arc<[u8]>>,
}

/// A file of ours that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// Where it is, relative to the repository.
    pub file: PathBuf,
    /// What must be there before; `None`: nothing.
    pub before: Option<BlobId>,
    /// What will be there; `None`: nothing.
    pub after: Option<Arc<[u8]>>,
    /// What kind of entry it will be; `None`: as it is.
    pub mode: Option<Mode>,
}

/// Why the files cannot be edited.
#[derive(Debug)]
pub enum EditsError {
    /// A place that should repeat the pin does not.
    NoPin {
        /// The file.
        file: PathBuf,
        /// The pattern that matches nothing in it.
        regex: String,
    },
    /// A file that should repeat the pin is not there.
    NoFile(PathBuf),
    /// The manifest has a form that this program does not edit.
    Manifest(EditError),
    /// A path that a manifest, which is text, cannot name.
    NotText(UpstreamPath),
    /// The manifest would not be right afterwards.
    Broken(Vec<Diagnostic>),
    /// A patch that was made anew does not do what it should.
    Recut(PathBuf),
}

impl std::fmt::Display for EditsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EditsError::NoPin { file, regex } => {
                write!(f, "`{}` should repeat the pin, and '{regex}' matches nothing in it", file.display())
            }
            EditsError::NoFile(file) => {
                write!(f, "`{}` should repeat the pin and is not there", file.display())
            }
            EditsError::Manifest(error) => error.fmt(f),
            EditsError::NotText(path) => {
                write!(f, "upstream moved a path to {path}, which is no Unicode, so `files` cannot name it")
            }
            EditsError::Broken(_) => f.write_str("the manifest would not be right after the move"),
            EditsError::Recut(file) => {
                write!(
                    f,
                    "`{}` cannot be made anew: its diff would not give the merged content",
                    file.display()
                )
            }
        }
    }
}

impl std::error::Error for EditsError {}

/// The files that change when the pin moves. `repeats` are the files of `also-pinned`.
///
/// # Errors
/// If one of them cannot be edited: then none should be.
pub fn edits(
    plan: &Plan,
    overlays: &[Loaded],
    manifest: &Manifest,
    repeats: &[OwnFile],
) -> Result<Vec<FileEdit>, EditsError> {
    let mut files = BTreeMap::new();
    let moves_base = |plan: &&OverlayPlan| plan.moves_base && plan.fate != Fate::Dropped;
    let moved = plan.overlays.iter().filter(moves_base).map(|plan| plan.name.as_str()).collect();
    let mut text = edit::set_bases(&manifest.text, &moved, plan.to).map_err(EditsError::Manifest)?;
    for (plan_of, loaded) in plan.overlays.iter().zip(overlays) {
        let folder = manifest.overlay_folder();
        if plan_of.fate == Fate::Dropped {
            continue;
        }
        match &loaded.overlay.kind {
            Kind::Files(_) => edit_whole(plan_of, plan.to, loaded, &folder, &mut files),
            Kind::Patch(file) => edit_patch(plan_of, loaded, &folder.join(&file.value), &mut files)?,
            Kind::Commits { .. } | Kind::HeldBack { .. } | Kind::Delete(_) => {}
        }
        text = edit_globs(text, plan_of, &loaded.overlay)?;
    }
    drop_patches(plan, overlays, &manifest.overlay_folder(), &mut files);
    text = drop_overlays(text, plan, overlays).map_err(EditsError::Manifest)?;
    if plan.from != plan.to {
        text = edit::set_pin(&text, plan.to).map_err(EditsError::Manifest)?;
    }
    let mut own: BTreeMap<&Path, Vec<u8>> = BTreeMap::from([(manifest.file.as_path(), text.into_bytes())]);
    for place in &manifest.upstream.also_pinned {
        let file = place.file.value.as_path();
        let is_manifest = file == manifest.file;
        let read = repeats.iter().find(|own| own.file == file).and_then(|own| own.bytes.as_ref());
        let before = match (own.get(file), read) {
            (Some(edited), _) => edited.clone(),
            (None, Some(bytes)) => bytes.to_vec(),
            (None, None) => return Err(EditsError::NoFile(file.to_owned())),
        };
        // The manifest's parser has accepted the pattern.
        let Ok(regex) = pattern::regex(&place.regex.value) else { continue };
        if find_pins(&before, &regex).is_empty() && !is_manifest {
            return Err(EditsError::NoPin { file: file.to_owned(), regex: place.regex.value.clone() });
        }
        own.insert(file, replace_pins(&before, &regex, plan.to));
    }
    check_manifest(manifest, &own)?;
    for (file, after) in own {
        let before = match repeats.iter().find(|own| own.file == file) {
            Some(own) => own.bytes.as_ref().map(|bytes| BlobId::of(bytes)),
            None => Some(BlobId::of(manifest.text.as_bytes())),
        };
        let edit = FileEdit { file: file.to_owned(), before, after: Some(after.into()), mode: None };
        files.insert(file.to_owned(), edit);
    }
    Ok(files
        .into_values()
        .filter(|edit| {
            edit.before != edit.after.as_ref().map(|bytes| BlobId::of(bytes)) || edit.mode.is_some()
        })
        .collect())
}

fn check_manifest(manifest: &Manifest, own: &BTreeMap<&Path, Vec<u8>>) -> Result<(), EditsError> {
    let text =
        own.get(manifest.file.as_path()).map(|bytes| String::from_utf8_lossy(bytes)).unwrap_or_default();
    let (parsed, diagnostics) = manifest::parse(&manifest.file, &text);
    match parsed {
        Some(_) => Ok(()),
        None => Err(EditsError::Broken(
            diagnostics.into_iter().filter(|d| d.severity == Severity::Error).collect(),
        )),
    }
}

fn edit_whole(
    plan: &OverlayPlan,
    to: CommitId,
    loaded: &Loaded,
    folder: &Path,
    files: &mut BTreeMap<PathBuf, FileEdit>,
) {
    for path in &plan.paths {
        let (Some(before), Some(result)) = (loaded.files.get(&path.path), &path.result) else { continue };
        let old = folder.join(path.path.to_os_path());
        let new = folder.join(path.new_path().to_os_path());
        let id = BlobId::of(&before.bytes);
        if new != old || result.is_none() {
            let edit = FileEdit { file: old.clone(), before: Some(id), after: None, mode: None };
            files.insert(old.clone(), edit);
        }
        let Some(content) = result else { continue };
        if new != old || content != before {
            let before = (new == old).then_some(id);
            let edit = FileEdit {
                file: new.clone(),
                before,
                after: Some(with_markers(content, path, to, loaded)),
                mode: Some(content.mode),
            };
            files.insert(new, edit);
        }
    }
}

/// What is written for a whole file: its content, and where it names the commit of a body that moved along, the new one.
fn with_markers(content: &Content, path: &PathPlan, to: CommitId, loaded: &Loaded) -> Arc<[u8]> {
    let moved = match (&loaded.overlay.base, &path.theirs) {
        (Some(base), Some(theirs)) => {
            marker::moved(&content.bytes, (&path.path, base.value), (path.new_path(), to), &theirs.bytes)
        }
        _ => None,
    };
    moved.map_or_else(|| Arc::clone(&content.bytes), Arc::from)
}

fn edit_patch(
    plan: &OverlayPlan,
    loaded: &Loaded,
    file: &Path,
    files: &mut BTreeMap<PathBuf, FileEdit>,
) -> Result<(), EditsError> {
    let is_untouched = plan.paths.iter().all(|path| path.outcome == Outcome::Untouched);
    let (Some(patch), false) = (&loaded.patch, is_untouched) else { return Ok(()) };
    let text = recut(patch, &plan.paths).ok_or_else(|| EditsError::Recut(file.to_owned()))?;
    let before = loaded.own.iter().find(|own| own.file == file).map(|own| own.id);
    let edit = FileEdit { file: file.to_owned(), before, after: Some(text.into()), mode: None };
    files.insert(file.to_owned(), edit);
    Ok(())
}

/// The patches of overlays that are dropped go, too, unless another overlay has the same one.
fn drop_patches(plan: &Plan, overlays: &[Loaded], folder: &Path, files: &mut BTreeMap<PathBuf, FileEdit>) {
    let patch = |loaded: &Loaded| match &loaded.overlay.kind {
        Kind::Patch(name) => Some(folder.join(&name.value)),
        _ => None,
    };
    let all = || plan.overlays.iter().zip(overlays);
    let kept: BTreeSet<PathBuf> = all()
        .filter(|(plan, _)| plan.fate != Fate::Dropped)
        .filter_map(|(_, loaded)| patch(loaded))
        .collect();
    for (_, loaded) in all().filter(|(plan, _)| plan.fate == Fate::Dropped) {
        let Some(file) = patch(loaded).filter(|file| !kept.contains(file)) else { continue };
        if let Some(own) = loaded.own.iter().find(|own| own.file == file) {
            files.insert(file.clone(), FileEdit { file, before: Some(own.id), after: None, mode: None });
        }
    }
}

/// The manifest without the overlays that are dropped, and without their names in what others need.
fn drop_overlays(text: String, plan: &Plan, overlays: &[Loaded]) -> Result<String, EditError> {
    let all = || plan.overlays.iter().zip(overlays);
    let dropped: BTreeSet<&OverlayName> =
        all().filter(|(plan, _)| plan.fate == Fate::Dropped).map(|(plan, _)| &plan.name).collect();
    let mut text = text;
    for (plan, loaded) in all() {
        let (name, needs) = (plan.name.as_str(), &loaded.overlay.needs);
        if dropped.contains(&plan.name) {
            text = edit::remove_overlay(&text, name)?;
        } else if needs.iter().any(|need| dropped.contains(&need.value)) {
            let left = needs.iter().filter(|need| !dropped.contains(&need.value));
            let left: Vec<String> = left.map(|need| need.value.to_string()).collect();
            text = match left.is_empty() {
                true => edit::remove_key(&text, name, "needs")?,
                false => edit::set_key(&text, name, "needs", &Value::List(left))?,
            };
        }
    }
    Ok(text)
}

/// The patch against the new pin: its prose, then its parts in their order. `None` if it would not give the results.
fn recut(patch: &diff::Patch, paths: &[PathPlan]) -> Option<Vec<u8>> {
    let mut text = patch.preamble.clone();
    let mut done: BTreeSet<&UpstreamPath> = BTreeSet::new();
    let find =
        |path: Option<&UpstreamPath>| path.and_then(|path| paths.iter().find(|plan| plan.path == *path));
    for file in &patch.files {
        let (old, new) = (find(file.old_path()), find(file.new_path()));
        if let (diff::Kind::Rename { .. }, Some(old), Some(new)) = (file.kind, old, new)
            && let (Some(before), Some(None)) = (&old.theirs, &old.result)
            && let (None, Some(Some(after))) = (&new.theirs, &new.result)
            && !done.contains(&old.path)
            && !done.contains(&new.path)
        {
            done.extend([&old.path, &new.path]);
            text.extend(diff::render(Some((old.new_path(), before)), Some((new.new_path(), after))));
            continue;
        }
        for path in [old, new].into_iter().flatten() {
            if done.insert(&path.path) {
                text.extend(render_path(path)?);
            }
        }
    }
    for path in paths {
        if done.insert(&path.path) {
            text.extend(render_path(path)?);
        }
    }
    gives_results(&text, paths).then_some(text)
}

fn render_path(path: &PathPlan) -> Option<Vec<u8>> {
    let side = |content: &Content| (path.new_path().clone(), content.clone());
    let (old, new) = (path.theirs.as_ref().map(side), path.result.as_ref()?.as_ref().map(side));
    Some(diff::render(old.as_ref().map(|(p, c)| (p, c)), new.as_ref().map(|(p, c)| (p, c))))
}

fn gives_results(text: &[u8], paths: &[PathPlan]) -> bool {
    let Ok(patch) = diff::parse(text) else { return false };
    let before = |path: &UpstreamPath| {
        let plan = paths.iter().find(|plan| plan.new_path() == path);
        Ok::<_, std::convert::Infallible>(plan.and_then(|plan| plan.theirs.clone()))
    };
    let Ok(diff::Applied::Applied { changes, .. }) = diff::apply(&patch, &before) else { return false };
    paths.iter().all(|plan| {
        let made = changes.get(plan.new_path()).unwrap_or(&plan.theirs);
        plan.result.as_ref() == Some(made)
    })
}

fn edit_globs(text: String, plan_of: &OverlayPlan, overlay: &Overlay) -> Result<String, EditsError> {
    let Kind::Files(globs) = &overlay.kind else { return Ok(text) };
    if plan_of.paths.iter().all(|path| path.to.is_none() && path.result != Some(None)) {
        return Ok(text);
    }
    let named = rename_globs(globs.iter().map(|glob| glob.value.clone()).collect(), &plan_of.paths)?;
    edit::set_key(&text, plan_of.name.as_str(), "files", &Value::List(named)).map_err(EditsError::Manifest)
}

/// The `files` of an overlay once some of its paths moved or went away: the globs that still match one of its files, and
/// the paths that none of them matches.
fn rename_globs(globs: Vec<String>, paths: &[PathPlan]) -> Result<Vec<String>, EditsError> {
    let there: Vec<&UpstreamPath> =
        paths.iter().filter(|path| path.result != Some(None)).map(PathPlan::new_path).collect();
    let matches = |glob: &str, path: &UpstreamPath| {
        pattern::glob(glob).is_ok_and(|glob| glob.compile_matcher().is_match(path.to_os_path()))
    };
    let mut named = globs;
    named.retain(|glob| there.iter().any(|path| matches(glob, path)));
    for path in there {
        if !named.iter().any(|glob| matches(glob, path)) {
            let text = std::str::from_utf8(path.as_bytes());
            named.push(pattern::literal(text.map_err(|_| EditsError::NotText(path.clone()))?));
        }
    }
    Ok(named)
}
