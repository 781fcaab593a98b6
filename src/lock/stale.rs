//! Whether a lock is still about what the manifest says. Needs no upstream.

use std::fmt;

use super::{Lock, LockedOverlay, Source};
use crate::id::{CommitId, Name, OverlayName, UpstreamPath};
use crate::manifest::{Kind, Manifest, Witness};
use crate::overlay::Loaded;
use crate::sorted::{SortedMap, SortedSet};

/// How the manifest or its overlays moved on since the lock was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stale {
    /// The lock is of another upstream.
    Upstream {
        /// The name in the lock.
        locked: Name,
    },
    /// The pin moved.
    Pin {
        /// The pin in the lock.
        locked: CommitId,
        /// The pin in the manifest.
        manifest: CommitId,
    },
    /// Another set of submodules is declared.
    Submodule {
        /// The first that only one of them has.
        path: UpstreamPath,
        /// Whether the lock has it.
        is_locked: bool,
    },
    /// An overlay that the lock does not have.
    Added {
        /// The overlay.
        overlay: OverlayName,
    },
    /// An overlay that the manifest does not have any more.
    Removed {
        /// The overlay.
        overlay: OverlayName,
    },
    /// An overlay changed.
    Changed {
        /// The overlay.
        overlay: OverlayName,
        /// What of it.
        what: String,
    },
    /// The overlays stand in another order.
    Order,
}

impl Stale {
    /// The overlay that it concerns, if one.
    #[must_use]
    pub fn overlay(&self) -> Option<&OverlayName> {
        match self {
            Stale::Added { overlay } | Stale::Removed { overlay } | Stale::Changed { overlay, .. } => {
                Some(overlay)
            }
            Stale::Upstream { .. } | Stale::Pin { .. } | Stale::Submodule { .. } | Stale::Order => None,
        }
    }

    /// Whether the lock's entries are of another commit: then nothing in it helps.
    #[must_use]
    pub fn is_of_another_pin(&self) -> bool {
        matches!(self, Stale::Upstream { .. } | Stale::Pin { .. } | Stale::Submodule { .. })
    }
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stale::Upstream { locked } => write!(f, "it is of the upstream `{locked}`"),
            Stale::Pin { locked, manifest } => {
                write!(f, "it is of the pin {}, and the manifest has {}", locked.short(), manifest.short())
            }
            Stale::Submodule { path, is_locked: true } => {
                write!(f, "it has the submodule {path}, which the manifest does not declare")
            }
            Stale::Submodule { path, is_locked: false } => {
                write!(f, "the manifest declares the submodule {path}, which it does not have")
            }
            Stale::Added { overlay } => write!(f, "overlay `{overlay}` is not in it"),
            Stale::Removed { overlay } => {
                write!(f, "it has overlay `{overlay}`, which the manifest does not have")
            }
            Stale::Changed { overlay, what } => write!(f, "overlay `{overlay}`: {what}"),
            Stale::Order => f.write_str("the overlays stand in another order"),
        }
    }
}

/// All ways in which the manifest and its overlay files moved on; empty if the lock is about them.
#[must_use]
pub fn stale(lock: &Lock, manifest: &Manifest, overlays: &[Loaded]) -> Vec<Stale> {
    let upstream = &manifest.upstream;
    let mut found = Vec::new();
    if lock.upstream != upstream.name.value {
        found.push(Stale::Upstream { locked: lock.upstream.clone() });
    }
    if lock.pin != upstream.pin.value {
        found.push(Stale::Pin { locked: lock.pin, manifest: upstream.pin.value });
    }
    let declared: SortedSet<&UpstreamPath> =
        upstream.submodules.iter().map(|module| &module.path.value).collect();
    let locked: SortedSet<&UpstreamPath> = lock.submodules.keys().collect();
    let differing: SortedSet<(&UpstreamPath, bool)> = declared
        .iter()
        .filter(|path| !locked.contains(*path))
        .map(|path| (*path, false))
        .chain(locked.iter().filter(|path| !declared.contains(*path)).map(|path| (*path, true)))
        .collect();
    let differing = differing.into_iter();
    found.extend(differing.map(|(path, is_locked)| Stale::Submodule { path: path.clone(), is_locked }));
    let current = inputs(manifest, overlays);
    let by_name: SortedMap<&OverlayName, &LockedOverlay> =
        lock.overlays.iter().map(|overlay| (&overlay.name, overlay)).collect();
    for overlay in &current {
        let name = overlay.name.clone();
        match by_name.get(&name) {
            None => found.push(Stale::Added { overlay: name }),
            Some(locked) => found.extend(
                change(locked, overlay)
                    .into_iter()
                    .map(|what| Stale::Changed { overlay: name.clone(), what }),
            ),
        }
    }
    let names: SortedSet<&OverlayName> = current.iter().map(|overlay| &overlay.name).collect();
    let gone = lock.overlays.iter().filter(|overlay| !names.contains(&overlay.name));
    found.extend(gone.map(|overlay| Stale::Removed { overlay: overlay.name.clone() }));
    let order = |all: &[LockedOverlay]| all.iter().map(|overlay| overlay.name.clone()).collect::<Vec<_>>();
    if found.iter().all(|stale| stale.overlay().is_none()) && order(&lock.overlays) != order(&current) {
        found.push(Stale::Order);
    }
    found
}

/// What differs between an overlay in the lock and the one in the manifest.
fn change(locked: &LockedOverlay, current: &LockedOverlay) -> Option<String> {
    if locked.source.word() != current.source.word() {
        return Some(format!(
            "it is `{}` in the lock, and `{}` now",
            locked.source.word(),
            current.source.word()
        ));
    }
    if locked.is_off != current.is_off {
        return Some("another of its rivals is active".to_owned());
    }
    if locked.when != current.when {
        return Some("its `when` changed".to_owned());
    }
    for (file, id) in &current.own {
        match locked.own.get(file) {
            None => return Some(format!("`{}` is new", file.display())),
            Some(locked) if locked != id => return Some(format!("`{}` changed", file.display())),
            Some(_) => {}
        }
    }
    if let Some(file) = locked.own.keys().find(|file| !current.own.contains_key(*file)) {
        return Some(format!("`{}` is gone", file.display()));
    }
    let same = match (&locked.source, &current.source) {
        (Source::Delete(locked), Source::Delete(current)) => locked == current,
        (Source::Commits(locked), Source::Commits(current)) => {
            locked.iter().map(|(commit, _)| commit).eq(current.iter().map(|(commit, _)| commit))
        }
        (Source::HeldBack(locked, held), Source::HeldBack(current, paths)) => {
            locked == current && held.keys().eq(paths.keys())
        }
        _ => true,
    };
    (!same).then(|| "other commits or paths are named".to_owned())
}

/// The overlays as the lock has them, as far as the manifest and files of ours tell: without what commits have.
pub(super) fn inputs(manifest: &Manifest, overlays: &[Loaded]) -> Vec<LockedOverlay> {
    let folder = manifest.overlay_folder();
    let one = |loaded: &Loaded| {
        let overlay = &loaded.overlay;
        let source = match &overlay.kind {
            Kind::Files(_) => Source::Files,
            Kind::Patch(_) => Source::Patch,
            Kind::Delete(paths) => Source::Delete(paths.iter().map(|path| path.value.clone()).collect()),
            Kind::Commits { commits, .. } => {
                Source::Commits(commits.iter().map(|commit| (commit.value, Vec::new())).collect())
            }
            Kind::HeldBack { commit, paths, .. } => {
                Source::HeldBack(commit.value, paths.iter().map(|path| (path.value.clone(), None)).collect())
            }
        };
        // A patch that plants a fault is for proofs; no apply reads it.
        let witness = match overlay.witness.as_ref().map(|witness| &witness.value) {
            Some(Witness::Patch(file)) => Some(folder.join(file)),
            _ => None,
        };
        let is_own = |file: &&crate::overlay::OwnFile| {
            let is_patch =
                matches!(&overlay.kind, Kind::Patch(patch) if folder.join(&patch.value) == file.file);
            is_patch || Some(&file.file) != witness.as_ref()
        };
        LockedOverlay {
            name: loaded.name().clone(),
            source,
            is_off: !overlay.active,
            when: overlay.when.iter().map(|condition| condition.value.clone()).collect(),
            own: loaded.own.iter().filter(is_own).map(|own| (own.file.clone(), own.id)).collect(),
        }
    };
    overlays.iter().map(one).collect()
}
