//! What a change stands on and does not say: overlays before it without which it does not fit.
//!
//! Overlays go on one after the other, so such a change fits in the tree. It is measured with no others but those that it
//! `needs`, and there a word is missing. That is no work of upstream's.

use std::collections::BTreeSet;

use crate::id::{CommitId, Name, OverlayName, UpstreamPath};
use crate::manifest::Located;
use crate::overlay::{Loaded, can_be_on_together, resolve_apart};
use crate::upstream::{Upstream, UpstreamError};

use super::state::Decided;
use super::{Note, State, needs_of};

/// A change among the overlays of its manifest.
pub(super) struct Unsaid<'a> {
    pub(super) loaded: &'a Loaded,
    pub(super) all: &'a [Loaded],
    /// Features of which at most one can be on.
    pub(super) exclusive: &'a [Vec<Located<Name>>],
    pub(super) upstream: &'a dyn Upstream,
}

impl<'a> Unsaid<'a> {
    /// Says what is missing of a change that does not fit. It is held against upstream only if the change fits its base without
    /// other overlays, or fits the pin not even with them.
    ///
    /// # Errors
    /// If the upstream cannot be read.
    pub(super) fn settle(
        &self,
        path: &UpstreamPath,
        mut decided: Decided,
        pin: CommitId,
        base: Option<CommitId>,
        fits_base: bool,
    ) -> Result<Decided, UpstreamError> {
        if decided.state != State::StaleConflict || self.loaded.overlay.kind.is_whole() {
            return Ok(decided);
        }
        let at_pin = self.on(pin, path)?;
        if !at_pin.is_empty() {
            let note = Note::NeedsMissing(at_pin);
            if !fits_base {
                (decided.state, decided.why) = (State::Unknown, note.to_string());
            }
            decided.notes.push(note);
            return Ok(decided);
        }
        let Some(base) = base.filter(|base| *base != pin && !fits_base) else { return Ok(decided) };
        let at_base = self.on(base, path)?;
        if !at_base.is_empty() {
            let note = Note::NeedsMissing(at_base);
            decided.why = format!("upstream changed the path, and it no longer applies; at its base {note}");
            decided.notes.push(note);
        }
        Ok(decided)
    }

    /// The earlier overlays that the change does not name and with which it fits on a path of a commit; none if it does not
    /// fit with them either. Those that others of these need are left out.
    ///
    /// # Errors
    /// If the upstream cannot be read.
    fn on(&self, commit: CommitId, path: &UpstreamPath) -> Result<Vec<OverlayName>, UpstreamError> {
        let said = self.with_needs(std::iter::once(self.loaded));
        let earlier = self.earlier(path);
        let mut kept = self.with_needs(earlier.iter().copied().chain([self.loaded]));
        if kept == said || !self.fits(&kept, commit, path)? {
            return Ok(Vec::new());
        }
        // The latest first: it is the least likely to carry another.
        for other in earlier.iter().rev().filter(|other| !said.contains(other.name())) {
            let carries = |name: &&OverlayName| {
                let carried = self.all.iter().find(|one| one.name() == *name);
                carried.is_some_and(|one| self.with_needs(std::iter::once(one)).contains(other.name()))
            };
            let without: BTreeSet<&OverlayName> =
                kept.iter().copied().filter(|name| said.contains(name) || !carries(name)).collect();
            if without.len() < kept.len() && self.fits(&without, commit, path)? {
                kept = without;
            }
        }
        let left =
            || self.all.iter().filter(|other| kept.contains(other.name()) && !said.contains(other.name()));
        let implied: BTreeSet<&OverlayName> =
            left().flat_map(|other| needs_of(other, self.all)).map(Loaded::name).collect();
        Ok(left().map(Loaded::name).filter(|name| !implied.contains(name)).cloned().collect())
    }

    /// The overlays that go on before this one, can be on together with it, and may change the path.
    fn earlier(&self, path: &UpstreamPath) -> Vec<&'a Loaded> {
        let place = self.all.iter().position(|other| other.name() == self.loaded.name());
        let may_change = |other: &Loaded| match &other.patch {
            Some(patch) => patch.touched().contains(path),
            None => !other.overlay.kind.is_whole() || other.whole_paths().any(|whole| whole == path),
        };
        let is_earlier = |(at, other): &(usize, &Loaded)| {
            (other.overlay.kind.is_whole() || Some(*at) < place)
                && can_be_on_together(&other.overlay, &self.loaded.overlay, self.exclusive)
                && may_change(other)
        };
        self.all.iter().enumerate().filter(is_earlier).map(|(_, other)| other).collect()
    }

    /// These overlays and those that they need, without this one.
    fn with_needs<'o>(&self, overlays: impl Iterator<Item = &'o Loaded>) -> BTreeSet<&'o OverlayName>
    where
        'a: 'o,
    {
        let all = self.all;
        let own = self.loaded.name();
        let with = overlays.flat_map(|one| needs_of(one, all).into_iter().chain([one]));
        with.map(Loaded::name).filter(|name| *name != own).collect()
    }

    /// Whether the change fits on a path with these overlays below it.
    fn fits(
        &self,
        below: &BTreeSet<&OverlayName>,
        commit: CommitId,
        path: &UpstreamPath,
    ) -> Result<bool, UpstreamError> {
        let below = self.all.iter().filter(|other| below.contains(other.name()));
        let overlays: Vec<&Loaded> = below.chain([self.loaded]).collect();
        let apart = resolve_apart(&overlays, commit, self.upstream)?;
        let makes = apart.by.get(path).is_some_and(|by| by.contains(self.loaded.name()));
        Ok(makes && apart.pathless.is_empty() && !apart.broken.contains_key(path))
    }
}
