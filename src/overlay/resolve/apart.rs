//! What a set of overlays makes of each path on its own: one that does not fit leaves the others as they are.
//!
//! For those who say what an overlay is. Whoever writes a tree asks [`super::resolve()`], which takes all or nothing.

use std::collections::BTreeMap;

use super::{At, State};
use crate::id::{CommitId, OverlayName, UpstreamPath};
use crate::manifest::Kind;
use crate::overlay::Loaded;
use crate::sorted::SortedMap;
use crate::tree::Changes;
use crate::upstream::{Upstream, UpstreamError};

/// What came out, path by path.
#[derive(Debug, Default)]
pub struct Apart {
    /// The content of each path that an overlay concerns. Not to be used for those that are [`Self::broken`].
    pub changes: Changes,
    /// The overlays that made each of them.
    pub by: SortedMap<UpstreamPath, Vec<OverlayName>>,
    /// Paths on which an overlay does not fit.
    pub broken: BTreeMap<UpstreamPath, Misfit>,
    /// Overlays of which it is not known which paths they concern.
    pub pathless: Vec<Misfit>,
}

/// An overlay that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// The overlay.
    pub overlay: OverlayName,
    /// Why: a sentence.
    pub why: String,
}

/// Puts overlays on a commit's tree, each path for itself. Parts of a patch that share a path (one of them moves it) stand or
/// fall together.
///
/// # Errors
/// If the upstream cannot be read.
pub fn resolve_apart(
    overlays: &[&Loaded],
    commit: CommitId,
    upstream: &dyn Upstream,
) -> Result<Apart, UpstreamError> {
    let state = State { at: At::Pin(commit), upstream, resolution: super::Resolution::default() };
    let mut taker = Taker { state, apart: Apart::default() };
    let (whole, deltas): (Vec<&Loaded>, Vec<&Loaded>) =
        overlays.iter().partition(|loaded| loaded.overlay.kind.is_whole());
    for loaded in whole.into_iter().chain(deltas) {
        taker.take(loaded)?;
    }
    let Taker { state, mut apart } = taker;
    (apart.changes, apart.by) = (state.resolution.changes, state.resolution.by);
    Ok(apart)
}

struct Taker<'a> {
    state: State<'a>,
    apart: Apart,
}

impl<'a> Taker<'a> {
    fn take(&mut self, loaded: &Loaded) -> Result<(), UpstreamError> {
        match &loaded.overlay.kind {
            Kind::Files(_) => {
                for (path, content) in &loaded.files {
                    let content = Some(content.clone());
                    self.attempt(loaded, &[path], |state| state.add_whole(loaded, path, content))?;
                }
            }
            Kind::HeldBack { commit, paths, .. } => {
                for path in paths {
                    self.attempt(loaded, &[path], |state| {
                        let content = super::content_at(state.upstream, commit.value, path)?;
                        state.add_whole(loaded, path, content)
                    })?;
                }
            }
            Kind::Delete(paths) => paths.iter().for_each(|path| self.state.set(loaded, path, None)),
            Kind::Patch(_) => {
                for part in loaded.patch.iter().flat_map(|patch| patch.parts()) {
                    let named = part.named();
                    let paths: Vec<&UpstreamPath> = named.iter().collect();
                    self.attempt(loaded, &paths, |state| state.add_patch(loaded, &part))?;
                }
            }
            Kind::Commits { commits, .. } => {
                for commit in commits {
                    for change in self.state.changes_of(loaded, commit.value)? {
                        self.attempt(loaded, &[&change.path], |state| state.pick_path(loaded, &change))?;
                    }
                }
            }
        }
        let pathless = self.state.resolution.refused.drain(..);
        self.apart
            .pathless
            .extend(pathless.map(|refusal| Misfit { overlay: refusal.overlay, why: refusal.why }));
        Ok(())
    }

    /// Does one thing to these paths, unless one of them is broken. What is refused breaks them all.
    fn attempt(
        &mut self,
        loaded: &Loaded,
        paths: &[&UpstreamPath],
        act: impl FnOnce(&mut State<'a>) -> Result<(), UpstreamError>,
    ) -> Result<(), UpstreamError> {
        let mut misfit = paths.iter().find_map(|path| self.apart.broken.get(*path)).cloned();
        if misfit.is_none() {
            let before = self.state.resolution.refused.len();
            let why = match act(&mut self.state) {
                Err(UpstreamError::InSubmodule { path, submodule }) => {
                    Some(UpstreamError::InSubmodule { path, submodule }.to_string())
                }
                Err(error) => return Err(error),
                Ok(()) => None,
            };
            let refused = self.state.resolution.refused.drain(before..).next().map(|refusal| refusal.why);
            misfit = why.or(refused).map(|why| Misfit { overlay: loaded.name().clone(), why });
        }
        if let Some(misfit) = misfit {
            self.apart.broken.extend(paths.iter().map(|path| ((*path).clone(), misfit.clone())));
        }
        Ok(())
    }
}
