//! What overlays are, looked at once and kept for the next time.

use crate::id::CommitId;
use crate::io::reports::Reports;
use crate::io::store::{Environment, Store};
use crate::io::workspace::Workspace;
use crate::overlay::Loaded;
use crate::provenance::{Among, Look, NoBranch, OverlayReport, inspect_with};

/// Looks at overlays of a workspace.
#[must_use]
pub fn inspect_all(workspace: &Workspace, loaded: &[&Loaded], store: &Store) -> Vec<OverlayReport> {
    let reports = inspect_as_far(workspace, loaded, store, Look::default());
    say_of_branch(reports, workspace, loaded, store)
}

/// As [`inspect_all`], but what was found out before is not looked for again.
pub fn inspect_kept(
    workspace: &Workspace,
    loaded: &[&Loaded],
    store: &Store,
    look: Look,
    no_cache: bool,
) -> Vec<OverlayReport> {
    let pin = workspace.manifest.upstream.pin.value;
    let file = std::path::absolute(workspace.root.join(&workspace.manifest.file));
    let mut kept = match (file, certain_tip(workspace, store)) {
        (Ok(file), Some(tip)) if !no_cache => {
            Reports::load(&file, pin, tip, look, &Environment::of_process())
        }
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
    say_of_branch(reports, workspace, loaded, store)
}

/// What was found out before of these overlays, as they are; `None` for one that was not looked at since it changed. Looks
/// at nothing itself.
pub fn kept_reports(workspace: &Workspace, loaded: &[&Loaded], store: &Store) -> Vec<Option<OverlayReport>> {
    let pin = workspace.manifest.upstream.pin.value;
    let environment = Environment::of_process();
    let look = Look { deep: false, neighbours: true };
    let file = std::path::absolute(workspace.root.join(&workspace.manifest.file));
    let mut kept = match (file, certain_tip(workspace, store)) {
        (Ok(file), Some(tip)) => Reports::load(&file, pin, tip, look, &environment),
        _ => Reports::none(),
    };
    loaded.iter().map(|loaded| kept.get(loaded, &workspace.overlays)).collect()
}

/// The newest commit that is known of the pin's branch; `None` where the manifest names no branch.
///
/// # Errors
/// Why it is not known.
fn tip(workspace: &Workspace, store: &Store) -> Result<Option<CommitId>, NoBranch> {
    let Some(branch) = &workspace.manifest.upstream.branch else { return Ok(None) };
    match store.resolve(&branch.value) {
        Ok(Some(tip)) => match store.has_submodules_at(tip) {
            Ok(true) => Ok(Some(tip)),
            _ => Err(NoBranch::SubmoduleMissing),
        },
        Ok(None) if store.branches().is_empty() => Err(NoBranch::NoneAtAll),
        Ok(None) => Err(NoBranch::Missing),
        Err(error) => Err(NoBranch::Unreadable(error.to_string())),
    }
}

/// Why nothing is known of the branch that the manifest names; `None`: it is known, or none is named.
#[must_use]
pub fn no_branch(workspace: &Workspace, store: &Store) -> Option<NoBranch> {
    tip(workspace, store).err()
}

/// The tip to which reports hold that are kept; an inner `None`: nothing newer is known. `None` where a name that is there
/// cannot be read.
fn certain_tip(workspace: &Workspace, store: &Store) -> Option<Option<CommitId>> {
    match tip(workspace, store) {
        Ok(tip) => Some(tip),
        Err(NoBranch::Unreadable(_)) => None,
        Err(_) => Some(None),
    }
}

fn inspect_as_far(
    workspace: &Workspace,
    loaded: &[&Loaded],
    store: &Store,
    look: Look,
) -> Vec<OverlayReport> {
    let pin = workspace.manifest.upstream.pin.value;
    let among = Among { all: &workspace.overlays, exclusive: &workspace.manifest.exclusive };
    let tip = tip(workspace, store).ok().flatten();
    inspect_with(loaded, among, pin, tip, store, look)
}

/// Says in reports that the branch is not known, if it is not.
fn say_of_branch(
    reports: Vec<OverlayReport>,
    workspace: &Workspace,
    loaded: &[&Loaded],
    store: &Store,
) -> Vec<OverlayReport> {
    match (no_branch(workspace, store), &workspace.manifest.upstream.branch) {
        (Some(problem), Some(branch)) => problem.add_to(reports, loaded, &branch.value),
        _ => reports,
    }
}
