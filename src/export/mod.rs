//! The overlays of a manifest in other tools' formats: a series of changes on the pin, one for each overlay.
//!
//! Decides what stands in a commit, a mail or a patch file, and nothing of where it is written. The same manifest gives the
//! same bytes everywhere: dates follow from the pin's, and nothing of the machine goes in.

mod mail;
mod message;
mod quilt;

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{CommitId, Name, OverlayName, UpstreamPath};
use crate::manifest::Manifest;
use crate::overlay::{At, Loaded, Unwanted, content_at, resolve, wanted};
use crate::refresh::added_patch;
use crate::tree::{Changes, Content};
use crate::upstream::Upstream;

pub(crate) use mail::ends_a_text;
pub use mail::mail;
pub(crate) use message::split as split_reason;
pub use message::{Author, Message};
pub use quilt::{Binary, quilt};

/// What overlays make of the pin, step by step.
#[derive(Debug, Clone)]
pub struct Series {
    /// The upstream's name.
    pub upstream: Name,
    /// The pin.
    pub pin: CommitId,
    /// In the order in which they go on.
    pub steps: Vec<Step>,
}

/// What one overlay does.
#[derive(Debug, Clone)]
pub struct Step {
    /// The overlay.
    pub name: OverlayName,
    /// What is said of it.
    pub message: Message,
    /// When, in seconds since 1970: after the pin, in the order of the series.
    pub date: i64,
    /// What changes; none if what it does is there already.
    pub changes: Vec<Change>,
}

/// A path that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path.
    pub path: UpstreamPath,
    /// What stands there without the overlay.
    pub before: Option<Content>,
    /// What stands there with it.
    pub after: Option<Content>,
}

impl Step {
    /// The change as a diff that `git apply` takes; empty if nothing changes.
    #[must_use]
    pub fn diff(&self) -> Vec<u8> {
        added_patch(self.changes.iter().map(|c| (&c.path, c.before.as_ref(), c.after.as_ref())))
    }
}

/// The overlays that are on under these features, as a series on the pin.
///
/// # Errors
/// If the upstream cannot be read or the overlays do not fit.
pub fn series(
    manifest: &Manifest,
    overlays: &[Loaded],
    features: &BTreeSet<Name>,
    upstream: &dyn Upstream,
) -> Result<Series, Unwanted> {
    // The whole must be a tree before its parts are looked at.
    wanted(manifest, overlays, features, upstream)?;
    let pin = manifest.upstream.pin.value;
    let date = upstream.commit(pin)?.committed;
    let mut on: Vec<&Loaded> = overlays.iter().filter(|loaded| loaded.overlay.is_on(features)).collect();
    on.sort_by_key(|loaded| !loaded.overlay.kind.is_whole());
    let mut before = Changes::new();
    let mut steps = Vec::new();
    for (place, loaded) in on.iter().enumerate() {
        let resolution = resolve(&on[..=place], At::Pin(pin), upstream)?;
        if !resolution.refused.is_empty() {
            return Err(Unwanted::Refused(resolution.refused));
        }
        let mut changes = Vec::new();
        for (path, after) in &resolution.changes {
            let known = match before.get(path) {
                Some(content) => content.clone(),
                None => content_at(upstream, pin, path)?,
            };
            if known != *after {
                changes.push(Change { path: path.clone(), before: known, after: after.clone() });
            }
        }
        before = resolution.changes;
        steps.push(Step {
            name: loaded.name().clone(),
            message: Message::of(loaded),
            date: date + i64::try_from(place + 1).unwrap_or(i64::MAX),
            changes,
        });
    }
    Ok(Series { upstream: manifest.upstream.name.value.clone(), pin, steps })
}

/// Files by name, as a format has them.
pub type Files = BTreeMap<String, Vec<u8>>;
