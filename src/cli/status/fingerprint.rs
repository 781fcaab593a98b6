//! `overlaid status --fingerprint`: a hash of what is built.

use std::collections::BTreeSet;

use serde_json::json;

use crate::id::Name;
use crate::io::workspace::Workspace;
use crate::overlay::{At, Loaded, fingerprint, resolve};

use super::super::{Answer, Context, Failure, Ui, without_problems};

/// Prints it.
///
/// # Errors
/// If manifest or upstream cannot be read, and there is no lock that knows it.
pub fn print(context: &Context, ui: &mut Ui) -> Result<Answer, Failure> {
    let workspace = without_problems(context.workspace()?)?;
    let profile = context.profile(&workspace)?;
    let features = context.features(&workspace, profile)?;
    context.warn_of_unknown_features([&workspace], ui);
    let fingerprint = match context.store(&workspace, ui) {
        Ok(store) => {
            let on: Vec<&Loaded> =
                workspace.overlays.iter().filter(|loaded| loaded.overlay.is_on(&features)).collect();
            let pin = workspace.manifest.upstream.pin.value;
            let resolution = resolve(&on, At::Pin(pin), &store)?;
            Failure::if_refused(&resolution)?;
            fingerprint(pin, &features, &resolution.changes)
        }
        Err(failure) => match locked_fingerprint(&workspace, &features)? {
            Some(fingerprint) => fingerprint,
            None => return Err(failure),
        },
    };
    if ui.is_json() {
        ui.document(&json!({ "schema": "overlaid.fingerprint.v1", "fingerprint": fingerprint }));
    } else {
        ui.line(fingerprint);
    }
    Ok(Answer::Yes)
}

/// The fingerprint as the lock has it, if the lock is of the manifest and the overlay files as they are now and has these
/// features.
fn locked_fingerprint(workspace: &Workspace, features: &BTreeSet<Name>) -> Result<Option<String>, Failure> {
    let lock = crate::io::locked::load(&workspace.root, &workspace.manifest.file)?;
    Ok(lock
        .filter(|lock| crate::lock::stale(lock, &workspace.manifest, &workspace.overlays).is_empty())
        .and_then(|lock| lock.fingerprints.get(features).cloned()))
}
