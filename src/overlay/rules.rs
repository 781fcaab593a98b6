//! Rules between overlays: which of them cannot be on at the same time, and which collide.

use crate::id::{Name, UpstreamPath};
use crate::manifest::{Located, Overlay, contradiction};
use crate::sorted::SortedSet;

use super::Loaded;

/// Two active overlays that both name the whole content of a path.
#[derive(Debug, Clone)]
pub struct Clash<'a> {
    /// The one that comes first in the manifest.
    pub first: &'a Loaded,
    /// The other one.
    pub second: &'a Loaded,
    /// The first path that both name.
    pub path: UpstreamPath,
}

/// The pairs of overlays with whole content for one path that can be on together.
#[must_use]
pub fn clashes<'a>(overlays: &'a [Loaded], exclusive: &[Vec<Located<Name>>]) -> Vec<Clash<'a>> {
    let mut clashes = Vec::new();
    for (index, second) in overlays.iter().enumerate() {
        let paths: SortedSet<&UpstreamPath> = second.whole_paths().collect();
        for first in &overlays[..index] {
            let shared = first.whole_paths().find(|path| paths.contains(path));
            if let Some(path) = shared
                && can_be_on_together(&first.overlay, &second.overlay, exclusive)
            {
                clashes.push(Clash { first, second, path: path.clone() });
            }
        }
    }
    clashes
}

/// Whether some set of features turns both overlays on.
#[must_use]
pub fn can_be_on_together(a: &Overlay, b: &Overlay, exclusive: &[Vec<Located<Name>>]) -> bool {
    if !a.active || !b.active {
        return false;
    }
    contradiction(a.when.iter().chain(&b.when), exclusive).is_none()
}
