//! The tree from git objects: for build scripts that take the feature `git`.

use std::collections::BTreeSet;
use std::path::Path;

use crate::id::Name;
use crate::io::store::{self, Environment, Need, StoreSpec};
use crate::io::tree::{self, Options, Outcome};
use crate::io::workspace::Workspace;
use crate::manifest::Kind;
use crate::overlay;
use crate::plan::Wanted;

use super::{Failure, tell};

/// Makes the tree the pin with the overlays on it.
pub(super) fn bring(
    workspace: &Workspace,
    features: &BTreeSet<Name>,
    root: &Path,
    dir: &Path,
    offline: bool,
) -> Result<(Wanted, Outcome), Failure> {
    let manifest = &workspace.manifest;
    let upstream = &manifest.upstream;
    if let Some(module) = upstream.submodules.first() {
        return Err(Failure::new(format!("the submodule {} cannot be made here", module.path.value))
            .hint("let `overlaid apply` make the tree, and name it with `tree`"));
    }
    let mut need = vec![Need { commit: upstream.pin.value, remote: None }];
    for overlay in &manifest.overlays {
        match &overlay.kind {
            Kind::Commits { commits, remote } => need.extend(commits.iter().map(|commit| Need {
                commit: commit.value,
                remote: remote.as_ref().map(|remote| remote.value.clone()),
            })),
            Kind::HeldBack { commit, remote, .. } => need.push(Need {
                commit: commit.value,
                remote: remote.as_ref().map(|remote| remote.value.clone()),
            }),
            Kind::Files(_) | Kind::Patch(_) | Kind::Delete(_) => {}
        }
    }
    let spec = StoreSpec {
        name: upstream.name.value.clone(),
        url: upstream.url.value.clone(),
        repo_root: root.to_owned(),
        remotes: upstream.remotes.iter().map(|r| (r.name.value.clone(), r.url.value.clone())).collect(),
        need,
        offline,
        update: false,
    };
    let store = store::open(&spec, &Environment::of_process(), &mut |_| {}).map_err(|error| {
        let failure = Failure::new(error.to_string());
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })?;
    let (wanted, _) = overlay::wanted(manifest, &workspace.overlays, features, &store)
        .map_err(|unwanted| Failure::of_unwanted(&unwanted))?;
    let outcome = tree::bring_to(dir, &wanted, &store, &Options::default(), &mut tell)
        .map_err(|error| Failure::new(error.to_string()))?;
    Ok((wanted, outcome))
}
