//! Cherry-picks on a path: merged one after the other, as `apply` does it, so what fits here fits there.

use crate::id::UpstreamPath;
use crate::merge::{Conflict, Labels, Merged, merge};
use crate::provenance::absorb::is_absorbed;
use crate::upstream::{Upstream, UpstreamError};

use super::Outcome;
use super::judge::{Judged, Side, does_the_same, had};
use super::subject::{Court, Lazy, NO_FILE, Subject};

impl Court<'_> {
    /// What becomes of a path where upstream has `theirs`. `pin` is what stands there at the old pin, `picks` what each commit
    /// makes from what.
    pub(super) fn pick(
        &self,
        subject: &Subject<'_>,
        path: &UpstreamPath,
        pin: &Lazy,
        picks: &[(Lazy, Lazy)],
        theirs: &Lazy,
    ) -> Result<Judged, UpstreamError> {
        let stands = theirs.load(self.upstream)?;
        let (current, unfit) = self.pick_on(subject, picks, &stands)?;
        let Some(unfit) = unfit else {
            let (outcome, why) = if does_the_same(path, &current, &stands) {
                // What the tree gets is what upstream has, whatever upstream has besides.
                (Outcome::Redundant, "it does what upstream does, comments aside")
            } else if pin.entry == theirs.entry {
                (Outcome::Untouched, "upstream has there what it has at the old pin")
            } else {
                (Outcome::Merges, "upstream changed the path, and the commits still fit")
            };
            return Ok(Judged::new(outcome, why, current));
        };
        // Commits that do not fit are judged as a patch that makes the same of the path at the old pin.
        let base = pin.load(self.upstream)?;
        let sides = match self.pick_on(subject, picks, &base)? {
            (ours, None) => Some((base, ours)),
            _ => together(picks, self.upstream)?,
        };
        if let Some((base, ours)) = sides {
            let is_had = does_the_same(path, &ours, &stands)
                || is_absorbed(path, base.content(), ours.content(), stands.content());
            if is_had {
                let (outcome, why) = had(path, &base, &ours, &stands);
                return Ok(Judged::open(
                    outcome,
                    format!("{why}, and the commits do not fit there any more"),
                ));
            }
        }
        let outcome = match (unfit.before.is_absent(), current.is_absent()) {
            (false, true) => Outcome::Gone,
            (true, false) => Outcome::Collides,
            _ => Outcome::Conflict,
        };
        // No misfit, which would be handed to a person: no file of ours could take what they make of it.
        Ok(Judged::open(outcome, format!("the commit does not fit there: {}; {NO_FILE}", unfit.conflict)))
    }

    /// Puts commits on a content, one after the other, as far as they fit.
    fn pick_on(
        &self,
        subject: &Subject<'_>,
        picks: &[(Lazy, Lazy)],
        stands: &Side,
    ) -> Result<(Side, Option<Unfit>), UpstreamError> {
        let labels = Labels { base: "base", ours: "upstream", theirs: subject.loaded.name().as_str() };
        let mut current = stands.clone();
        for (before, after) in picks {
            let (before, after) = (before.load(self.upstream)?, after.load(self.upstream)?);
            match merge(before.content(), current.content(), after.content(), self.style, labels) {
                Merged::Clean(content) => current = Side::new(content),
                Merged::Conflict(conflict) => return Ok((current, Some(Unfit { before, conflict }))),
            }
        }
        Ok((current, None))
    }
}

/// A commit that does not fit on a path, and the path before it.
struct Unfit {
    before: Side,
    conflict: Conflict,
}

/// What some commits make of a path together: from what to what. Not told where something else lies between the commits.
fn together(picks: &[(Lazy, Lazy)], upstream: &dyn Upstream) -> Result<Option<(Side, Side)>, UpstreamError> {
    let (Some((first, _)), Some((_, last))) = (picks.first(), picks.last()) else { return Ok(None) };
    if picks.windows(2).any(|pair| pair[0].1.entry != pair[1].0.entry) {
        return Ok(None);
    }
    Ok(Some((first.load(upstream)?, last.load(upstream)?)))
}
