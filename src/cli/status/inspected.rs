//! What overlays are, looked at once and kept for the next time.

use crate::id::CommitId;
use crate::io::reports::Reports;
use crate::io::store::{Environment, ResolveError, Store};
use crate::io::workspace::Workspace;
use crate::overlay::Loaded;
use crate::provenance::{Among, Look, OverlayReport, inspect_with, without_branch};

/// Looks at overlays of a workspace.
#[must_use]
pub fn inspect_all(workspace: &Workspace, loaded: &[&Loaded], store: &Store) -> Vec<OverlayReport> {
    inspect_as_far(workspace, loaded, store, Look::default())
}

/// As [`inspect_as_far`], but what was found out before is not looked for again.
pub fn inspect_kept(
    workspace: &Workspace,
    loaded: &[&Loaded],
    store: &Store,
    look: Look,
    no_cache: bool,
) -> Vec<OverlayReport> {
    let pin = workspace.manifest.upstream.pin.value;
    let file = std::path::absolute(workspace.root.join(&workspace.manifest.file));
    let mut kept = match (file, tip(workspace, store)) {
        (Ok(file), Ok(tip)) if !no_cache => Reports::load(&file, pin, tip, look, &Environment::of_process()),
        _ => Reports::none(),
    };
    let all = &workspace.overlays;
    let known: Vec<Option<OverlayReport>> = loaded.iter().map(|loaded| kept.get(loaded, all)).collect();
    let missing = loaded.iter().zip(&known).filter(|(_, known)| known.is_none());
    let missing: Vec<&Loaded> = missing.map(|(loaded, _)| *loaded).collect();
    let fresh = inspect_as_far(workspace, &missing, store, look);
    for (loaded, report) in missing.iter().zip(&fresh) {
        kept.put(loaded, all, report);
    }
    let mut fresh = fresh.into_iter();
    let reports = known.into_iter().filter_map(|known| known.or_else(|| fresh.next())).collect();
    kept.save(loaded.len() < all.len());
    reports
}

/// What was found out before of these overlays, as they are; `None` for one that was not looked at since it changed. Looks
/// at nothing itself.
pub fn kept_reports(workspace: &Workspace, loaded: &[&Loaded], store: &Store) -> Vec<Option<OverlayReport>> {
    let pin = workspace.manifest.upstream.pin.value;
    let environment = Environment::of_process();
    let look = Look { deep: false, neighbours: true };
    let file = std::path::absolute(workspace.root.join(&workspace.manifest.file));
    let mut kept = match (file, tip(workspace, store)) {
        (Ok(file), Ok(tip)) => Reports::load(&file, pin, tip, look, &environment),
        _ => Reports::none(),
    };
    loaded.iter().map(|loaded| kept.get(loaded, &workspace.overlays)).collect()
}

/// The newest commit that is known of the pin's branch.
///
/// # Errors
/// If the names of the store's branches cannot be read: a sentence.
fn tip(workspace: &Workspace, store: &Store) -> Result<Option<CommitId>, String> {
    let Some(branch) = &workspace.manifest.upstream.branch else { return Ok(None) };
    let tip = match store.resolve(&branch.value) {
        Ok(tip) => tip,
        Err(ResolveError::Store(error)) => return Err(error.to_string()),
        // What is named so is no branch.
        Err(_) => None,
    };
    // Of submodules that are not here at the branch's tip, nothing newer is known.
    Ok(tip.filter(|tip| store.has_submodules_at(*tip).unwrap_or(false)))
}

fn inspect_as_far(
    workspace: &Workspace,
    loaded: &[&Loaded],
    store: &Store,
    look: Look,
) -> Vec<OverlayReport> {
    let pin = workspace.manifest.upstream.pin.value;
    let among = Among { all: &workspace.overlays, exclusive: &workspace.manifest.exclusive };
    let inspect = |tip| inspect_with(loaded, among, pin, tip, store, look);
    match tip(workspace, store) {
        Ok(tip) => inspect(tip),
        Err(why) => without_branch(inspect(None), loaded, &why),
    }
}

/// Whether the manifest names a branch that the upstream does not have. False where it cannot be told.
#[must_use]
pub fn branch_is_missing(workspace: &Workspace, store: &Store) -> bool {
    let branch = workspace.manifest.upstream.branch.as_ref();
    branch.is_some_and(|branch| {
        !store.branches().is_empty() && store.resolve(&branch.value).is_ok_and(|found| found.is_none())
    })
}
