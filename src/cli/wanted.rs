//! The tree that a manifest asks for, under a set of features.

use std::collections::BTreeSet;

use crate::id::Name;
use crate::io::store::Store;
use crate::io::workspace::Workspace;
use crate::overlay::{At, Loaded, Resolution, fingerprint, resolve};
use crate::plan::Wanted;
use crate::provenance::State;
use crate::upstream::Upstream;

use super::Failure;
use super::status::inspect_all;

/// The pin with all overlays that are on, and what else came out of putting them there.
///
/// # Errors
/// If the upstream cannot be read or an overlay does not fit.
pub fn wanted(
    workspace: &Workspace,
    features: &BTreeSet<Name>,
    store: &Store,
) -> Result<(Wanted, Resolution), Failure> {
    let upstream = &workspace.manifest.upstream;
    let pin = upstream.pin.value;
    let on: Vec<&Loaded> =
        workspace.overlays.iter().filter(|loaded| loaded.overlay.is_on(features)).collect();
    check_needs(&on)?;
    let mut resolution = resolve(&on, At::Pin(pin), store)?;
    Failure::if_refused(&resolution).map_err(|failure| {
        let refused = |loaded: &&Loaded| {
            resolution.refused.first().is_some_and(|refusal| refusal.overlay == *loaded.name())
        };
        let refused: Vec<&Loaded> = on.iter().copied().filter(refused).collect();
        let reports = inspect_all(workspace, &refused, store);
        match reports.first().filter(|report| report.state == State::Absorbed) {
            Some(report) => failure.with_hint(format!(
                "upstream has all of `{}` by now: the overlay can go. Remove its table from {}",
                report.name,
                workspace.manifest.file.display()
            )),
            None => failure,
        }
    })?;
    let changes = std::mem::take(&mut resolution.changes);
    let wanted = Wanted {
        upstream: upstream.name.value.clone(),
        commit: pin,
        listing: store.listing(pin)?,
        fingerprint: fingerprint(pin, features, &changes),
        owners: resolution.by.clone(),
        changes,
    };
    if let Some((path, other)) = wanted.overlap() {
        let message = format!(
            "overlay `{}` wants a file at {path}, and {other} is there, too: one of them would have to be a folder",
            wanted.owners_of(path)
        );
        return Err(
            Failure::input(message).with_hint("move one of them, or delete the other with an overlay")
        );
    }
    Ok((wanted, resolution))
}

/// An overlay that is on needs those that it names to be on, too.
fn check_needs(on: &[&Loaded]) -> Result<(), Failure> {
    let names: BTreeSet<&str> = on.iter().map(|loaded| loaded.name().as_str()).collect();
    for loaded in on {
        let missing = loaded.overlay.needs.iter().find(|need| !names.contains(need.as_str()));
        if let Some(need) = missing {
            let message = format!("overlay `{}` needs `{}`, which is off", loaded.name(), need.value);
            let hint = "turn its features on, give both the same `when`, or make it the active rival";
            return Err(Failure::input(message).with_hint(hint));
        }
    }
    Ok(())
}
