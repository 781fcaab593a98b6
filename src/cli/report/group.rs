//! Several overlays at once: what is on record of the pin without all of them. Runs nothing.

use crate::id::OverlayName;
use crate::io::hashes::Hashes;
use crate::io::lab::campaign::{Campaign, Candidate};
use crate::io::store::Store;
use crate::io::workspace::Workspace;
use crate::manifest::Profile;
use crate::overlay::Loaded;
use crate::provenance::State;
use crate::report::facts::{AtOnce, Measured};
use crate::verdict::group::Together;
use crate::verdict::{Decision, Verdict};

use super::super::bench::{profile_name, with_lab};
use super::super::status::inspect_all;
use super::super::{Context, Failure, Ui};
use super::gather::{Gathered, is_same_place};
use super::should_go;

/// Several overlays, and whether all can go.
pub struct Group {
    /// The overlays, in the order of the manifest.
    pub overlays: Vec<OverlayName>,
    /// Whether all can go.
    pub answer: Together,
    redundant: Vec<OverlayName>,
    /// The pin without all of them, and with them.
    pub measured: Measured,
}

impl Group {
    /// What a report keeps of it; `None`: they cannot all go, or it is not known.
    #[must_use]
    pub fn at_once(self) -> Option<AtOnce> {
        let Self { overlays, answer, redundant, measured } = self;
        (answer == Together::AllCanGo).then_some(AtOnce { overlays, redundant, measured })
    }
}

impl Gathered<'_> {
    /// Adds with which others it can go at once, as far as that is on record. Runs nothing.
    ///
    /// # Errors
    /// If features exclude each other.
    pub fn recall_together(&mut self, context: &Context, ui: &mut Ui) -> Result<(), Failure> {
        if !should_go(self.verdict()) {
            self.together.clear();
            return Ok(());
        }
        for profile in self.profiles(context)? {
            let profile = profile.and_then(|name| self.workspace.manifest.profile(name.as_str()));
            let group = known(context, self.workspace, profile, None, &self.store, ui)?;
            let Some(at_once) = group.and_then(|group| group.at_once()) else { continue };
            if !at_once.overlays.contains(self.loaded.name()) || !self.load_all(&at_once.measured).is_empty()
            {
                continue;
            }
            self.together.retain(|known| !is_same_place(&known.measured, &at_once.measured));
            self.together.push(at_once);
        }
        Ok(())
    }

    /// What of an answer on several overlays is not as it was.
    pub fn stale_together(&self, at_once: &AtOnce, hashes: &mut Hashes) -> Vec<String> {
        let measured = &at_once.measured;
        if let Some(why) = self.unknown_profile(measured) {
            return vec![why];
        }
        let mut campaign =
            Campaign::new(self.workspace, &measured.features, measured.profile.as_ref(), &*self.store);
        campaign.stale_together(measured, &at_once.overlays, hashes)
    }
}

/// What is known under a profile of `names`, or else of all that can go one by one. `None`: not several of them are on.
///
/// # Errors
/// If features exclude each other, or an overlay is on and one that it needs is off.
pub fn known(
    context: &Context,
    workspace: &Workspace,
    profile: Option<&Profile>,
    names: Option<&[OverlayName]>,
    store: &Store,
    ui: &mut Ui,
) -> Result<Option<Group>, Failure> {
    let features = context.features(workspace, profile)?;
    let is_asked = |loaded: &&Loaded| {
        loaded.overlay.is_on(&features) && names.is_none_or(|names| names.contains(loaded.name()))
    };
    let loaded: Vec<&Loaded> = workspace.overlays.iter().filter(is_asked).collect();
    if loaded.len() < 2 {
        return Ok(None);
    }
    let mut campaign = Campaign::new(workspace, &features, profile_name(profile), store);
    let mut candidates: Vec<Candidate> = Vec::new();
    for report in inspect_all(workspace, &loaded, store) {
        match campaign.candidate(report.name.as_str(), report.state == State::Redundant) {
            Ok(mut candidate) => {
                candidate.redundant = candidate.redundant && campaign.stands_alone(&candidate);
                candidates.push(candidate);
            }
            Err(error) if names.is_some() => return Err(Failure::input(error.to_string())),
            Err(_) => {}
        }
    }
    with_lab(workspace, profile, store, ui, |lab| {
        campaign.recall(&candidates, lab);
        let decisions: Vec<Decision> = candidates.iter().map(|one| campaign.decide(one)).collect();
        let found = match names {
            None => campaign.prove_together(&decisions, lab, false)?,
            Some(_) => {
                let members: Vec<&Decision> = decisions.iter().collect();
                let overlays = members.iter().map(|member| member.overlay.clone()).collect();
                Some((overlays, campaign.together(&members, lab, false)?))
            }
        };
        let Some((overlays, answer)) = found else { return Ok(None) };
        let is_redundant = |decision: &&Decision| {
            decision.verdict == Verdict::Redundant && overlays.contains(&decision.overlay)
        };
        let redundant =
            decisions.iter().filter(is_redundant).map(|decision| decision.overlay.clone()).collect();
        let measured = campaign.account_together(&overlays, lab);
        Ok(Some(Group { overlays, answer, redundant, measured }))
    })
}
