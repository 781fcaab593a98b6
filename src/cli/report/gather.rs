//! What is known of an overlay from evidence: what holds on this machine, and what was measured on others and is not stale.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::evidence::attested::{self, Attestation};
use crate::evidence::bisected::{self, Bisected};
use crate::id::Name;
use crate::io;
use crate::io::hashes::Hashes;
use crate::io::lab::by_device::OnDevice;
use crate::io::lab::campaign::{Campaign, Candidate};
use crate::io::report_files;
use crate::io::store::Store;
use crate::io::workspace::Workspace;
use crate::overlay::Loaded;
use crate::provenance::{OverlayReport, State};
use crate::report::facts::{AtOnce, Facts, Measured, Newer, RecordFile};
use crate::report::kind::MaySay;
use crate::report::templates::Template;
use crate::verdict::coverage::{Elsewhere, across_profiles, gaps};
use crate::verdict::{Decision, Proof, Reason, Verdict, decide};

use super::super::bench::{profile_name, with_lab};
use super::super::build::{commit_of, pristine};
use super::super::status::inspect_all;
use super::super::{Context, Failure, Ui};
use super::file_of;

/// An overlay and what evidence says of it.
pub struct Gathered<'w> {
    /// Our repository.
    pub workspace: &'w Workspace,
    /// The overlay.
    pub loaded: &'w Loaded,
    /// The upstream.
    pub store: Rc<Store>,
    /// What it is against history.
    pub report: OverlayReport,
    /// Where its report is.
    pub file: PathBuf,
    /// The report as it stands there.
    pub before: Option<Vec<u8>>,
    /// Its facts, if they can be used.
    pub facts_before: Option<Facts>,
    /// What was measured and holds, with what it says.
    pub proofs: Vec<Measured>,
    /// What the linked tests say of a newer commit.
    pub newer: Option<Newer>,
    /// The records of evidence.
    pub records: BTreeMap<String, RecordFile>,
    /// What people report of runs without it, at the pin.
    pub attested: Vec<Attestation>,
    /// What searches over the upstream's history came to.
    pub bisected: Vec<Bisected>,
    /// With which others it can go at once.
    pub together: Vec<AtOnce>,
    /// What of the report before is stale.
    pub set_aside: Vec<String>,
    /// The last decision that says nothing, for its reasons.
    open: Option<Decision>,
    /// What other devices say, under one profile or another.
    elsewhere: Vec<Elsewhere>,
}

impl<'w> Gathered<'w> {
    /// An overlay, with what its report says as far as that is not stale.
    ///
    /// # Errors
    /// If the upstream or the report cannot be read.
    pub fn new(
        context: &Context,
        workspace: &'w Workspace,
        loaded: &'w Loaded,
        ui: &mut Ui,
    ) -> Result<Self, Failure> {
        let store = context.store(workspace, ui)?;
        Self::with_store(workspace, loaded, Rc::new(store))
    }

    /// As [`Gathered::new`], with a store.
    ///
    /// # Errors
    /// If the report cannot be read.
    pub fn with_store(
        workspace: &'w Workspace,
        loaded: &'w Loaded,
        store: Rc<Store>,
    ) -> Result<Self, Failure> {
        use crate::io::own_files::{Disk, OwnFiles};
        let file = file_of(workspace, loaded);
        let before = Disk::new(&workspace.root).read(&file)?.map(|content| content.bytes.to_vec());
        let report = inspect_all(workspace, &[loaded], &store).into_iter().next();
        let report = report.ok_or_else(|| Failure::environment("the overlay could not be looked at"))?;
        let facts_before = before.as_deref().and_then(|text| Facts::parse(text).ok());
        let mut gathered = Self {
            workspace,
            loaded,
            store,
            file,
            before,
            facts_before: facts_before.filter(|facts| facts.overlay == *loaded.name()),
            proofs: Vec::new(),
            newer: None,
            records: BTreeMap::new(),
            attested: reported(workspace, loaded),
            bisected: searched(workspace, loaded, &report),
            report,
            together: Vec::new(),
            set_aside: Vec::new(),
            open: None,
            elsewhere: Vec::new(),
        };
        gathered.take_from_before();
        Ok(gathered)
    }

    /// Takes what the report before was made from, as far as it holds.
    fn take_from_before(&mut self) {
        let Some(facts) = self.facts_before.clone() else { return };
        let mut hashes = Hashes::in_memory();
        for measured in facts.proofs {
            let stale = self.stale(&measured, &mut hashes);
            match stale.into_iter().chain(self.load_all(&measured)).next() {
                Some(why) => self.set_aside.push(why),
                None => self.proofs.push(measured),
            }
        }
        // What is stale of these is left out: it is an offer, and no proof of this overlay.
        for at_once in facts.together {
            if self.stale_together(&at_once, &mut hashes).is_empty()
                && self.load_all(&at_once.measured).is_empty()
            {
                self.together.push(at_once);
            }
        }
    }

    /// Reads the records of a measurement; says what is wrong with them.
    pub(super) fn load_all(&mut self, measured: &Measured) -> Vec<String> {
        let names = measured.sides().filter_map(|side| side.record());
        names.filter_map(|(name, sha256)| self.load(name, sha256)).collect()
    }

    pub(super) fn unknown_profile(&self, measured: &Measured) -> Option<String> {
        let profile = measured.profile.as_ref()?;
        let is_known = self.workspace.manifest.profile(profile.as_str()).is_some();
        (!is_known).then(|| format!("the manifest has no profile `{profile}` any more"))
    }

    /// What of a measurement is not as it was.
    pub fn stale(&self, measured: &Measured, hashes: &mut Hashes) -> Vec<String> {
        if let Some(why) = self.unknown_profile(measured) {
            return vec![why];
        }
        let mut campaign =
            Campaign::new(self.workspace, &measured.features, measured.profile.as_ref(), &*self.store);
        match self.candidate(&mut campaign) {
            Ok(candidate) => campaign.stale(measured, &candidate, hashes),
            Err(why) => vec![why],
        }
    }

    fn candidate(&self, campaign: &mut Campaign<'_>) -> Result<Candidate, String> {
        let redundant = self.report.state == State::Redundant;
        let mut candidate =
            campaign.candidate(self.loaded.name().as_str(), redundant).map_err(|error| error.to_string())?;
        candidate.redundant = candidate.redundant && campaign.stands_alone(&candidate);
        Ok(candidate)
    }

    /// Reads a record; says what is wrong with it.
    fn load(&mut self, name: &str, sha256: &str) -> Option<String> {
        use crate::report::check::RecordAnswer;
        let docs = self.workspace.manifest.docs_folder();
        let (record, answer) = report_files::record(&self.workspace.root, &docs, name, sha256);
        self.records.extend(record.map(|record| (name.to_owned(), record)));
        match answer {
            RecordAnswer::Same => None,
            RecordAnswer::Missing => Some(format!("the record `{name}` is not there")),
            RecordAnswer::Edited(why) => Some(format!("the record `{name}`: {why}")),
            RecordAnswer::Other => Some(format!("the record `{name}` is another one by now")),
        }
    }

    /// The profiles that are asked: the chosen one, or all that turn the overlay on.
    pub(super) fn profiles(&self, context: &Context) -> Result<Vec<Option<Name>>, Failure> {
        let manifest = &self.workspace.manifest;
        if let Some(profile) = context.profile_if_any(self.workspace)? {
            return Ok(vec![Some(profile.name.value.clone())]);
        }
        if manifest.profiles.is_empty() {
            return Ok(vec![None]);
        }
        let on = manifest.profiles.iter().filter(|profile| {
            let features = context.features(self.workspace, Some(profile));
            features.is_ok_and(|features| self.loaded.overlay.is_on(&features))
        });
        Ok(on.map(|profile| Some(profile.name.value.clone())).collect())
    }

    /// Adds what evidence says on this machine. Runs nothing.
    ///
    /// # Errors
    /// If features exclude each other.
    pub fn recall(&mut self, context: &Context, ui: &mut Ui) -> Result<(), Failure> {
        for profile in self.profiles(context)? {
            self.recall_under(context, profile.as_ref(), ui)?;
        }
        Ok(())
    }

    fn recall_under(
        &mut self,
        context: &Context,
        profile: Option<&Name>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let workspace = self.workspace;
        let profile = profile.and_then(|name| workspace.manifest.profile(name.as_str()));
        let features = context.features(workspace, profile)?;
        let mut campaign = Campaign::new(workspace, &features, profile_name(profile), &*self.store);
        let candidate = self.candidate(&mut campaign).map_err(Failure::input)?;
        let candidates = [candidate];
        let store = Rc::clone(&self.store);
        let (measured, decision, others) = with_lab(workspace, profile, &*store, ui, |lab| {
            campaign.recall(&candidates, lab);
            let decision = campaign.decide(&candidates[0]);
            let others = campaign.on_other_devices(&candidates[0], lab);
            Ok((campaign.account(&candidates[0], lab), decision, others))
        })?;
        self.elsewhere.extend(others.iter().map(OnDevice::elsewhere));
        if decision.verdict == Verdict::Inconclusive && measured.results.is_empty() {
            self.open = Some(decision);
            return Ok(());
        }
        if let Some(why) = self.load_all(&measured).into_iter().next() {
            self.set_aside.push(why);
            return Ok(());
        }
        // What holds here takes the place of what was measured before under the same profile on the same kind of machine.
        let decided = decision.verdict != Verdict::Inconclusive;
        let same = |known: &Measured| is_same_place(known, &measured);
        if decided || !self.proofs.iter().any(same) {
            self.proofs.retain(|known| !same(known));
            self.proofs.push(measured);
            self.proofs.sort_by(|a, b| {
                let key = |m: &Measured| (m.profile.clone(), m.machine.device.clone(), m.machine.class());
                key(a).cmp(&key(b))
            });
        }
        if !decided {
            self.open = Some(decision);
        }
        Ok(())
    }

    /// Runs the linked tests at another commit, without overlays.
    ///
    /// # Errors
    /// If there is no such commit, or we are told to stop.
    pub fn try_at(&mut self, context: &Context, rev: &str, ui: &mut Ui) -> Result<(), Failure> {
        let workspace = self.workspace;
        self.store = Rc::new(context.store_with(workspace, Some(rev), ui)?);
        let commit = commit_of(workspace, &self.store, rev)?;
        let Some(profile) = self.profiles(context)?.into_iter().next() else { return Ok(()) };
        let profile = profile.and_then(|name| workspace.manifest.profile(name.as_str()));
        let features = context.features(workspace, profile)?;
        let mut campaign = Campaign::new(workspace, &features, profile_name(profile), &*self.store);
        let candidate = self.candidate(&mut campaign).map_err(Failure::input)?;
        let store = Rc::clone(&self.store);
        let newer = with_lab(workspace, profile, &*store, ui, |lab| {
            Ok(campaign.account_at(&candidate, &pristine(commit), rev, lab)?)
        })?;
        self.take_newer(newer);
        Ok(())
    }

    /// Keeps what the report before says of a newer commit, as far as it holds.
    pub fn keep_newer(&mut self) {
        let newer = self.facts_before.as_ref().and_then(|facts| facts.newer.clone());
        // The tests must be the ones that ran there.
        if let Some(newer) = newer.filter(|_| !self.proofs.is_empty() && self.set_aside.is_empty()) {
            self.take_newer(newer);
        }
    }

    fn take_newer(&mut self, newer: Newer) {
        let names: Vec<(String, String)> = newer
            .results
            .values()
            .filter_map(|side| side.record())
            .map(|(name, sha256)| (name.to_owned(), sha256.to_owned()))
            .collect();
        let bad: Vec<String> = names.iter().filter_map(|(name, sha256)| self.load(name, sha256)).collect();
        match bad.into_iter().next() {
            Some(why) => self.set_aside.push(why),
            None => self.newer = Some(newer),
        }
    }

    /// What each measurement says.
    #[must_use]
    pub fn decided(&self) -> Vec<(&Measured, Proof, Decision)> {
        decided(&self.proofs, self.loaded.name(), &self.records)
    }

    fn verdicts(&self) -> Vec<(Name, Verdict)> {
        let verdict = |(measured, _, decision): (&Measured, Proof, Decision)| {
            let profile = measured.profile.clone().or_else(|| Name::parse("default").ok())?;
            Some((profile, decision.verdict))
        };
        self.decided().into_iter().filter_map(verdict).collect()
    }

    /// What may be said.
    #[must_use]
    pub fn may_say(&self) -> MaySay {
        MaySay::of(&self.verdicts())
    }

    /// What people report against the verdict.
    #[must_use]
    pub fn contradicted(&self) -> Vec<&Attestation> {
        let verdict = self.verdict();
        self.attested.iter().filter(|report| report.contradicts(verdict)).collect()
    }

    /// The verdict over all that was measured.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self.verdicts().as_slice() {
            [] => Verdict::Inconclusive,
            verdicts => across_profiles(verdicts),
        }
    }

    /// Why the verdict is what it is.
    #[must_use]
    pub fn reasons(&self) -> Vec<String> {
        let decided = self.decided();
        let said = decided.into_iter().map(|(_, _, decision)| decision).chain(self.open.clone());
        let mut texts: Vec<String> = Vec::new();
        for decision in said {
            for text in
                std::iter::once(decision.first_line).chain(decision.reasons.into_iter().map(|r| r.text))
            {
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
        }
        texts.extend(self.set_aside.iter().map(|why| format!("stale: {why}")));
        texts
    }

    /// What a drop still needs: profiles that turn the overlay on, devices that it names.
    #[must_use]
    pub fn gaps(&self, context: &Context) -> Vec<Reason> {
        let on: Vec<Name> = self
            .workspace
            .manifest
            .profiles
            .iter()
            .filter(|profile| {
                let features = context.features(self.workspace, Some(profile));
                features.is_ok_and(|features| self.loaded.overlay.is_on(&features))
            })
            .map(|profile| profile.name.value.clone())
            .collect();
        let proven: Vec<Name> = self
            .decided()
            .into_iter()
            .filter(|(_, _, decision)| super::should_go(decision.verdict))
            .filter_map(|(measured, ..)| measured.profile.clone())
            .collect();
        let devices: Vec<String> = self.loaded.overlay.devices.iter().map(|d| d.value.clone()).collect();
        let verdict = self.verdict();
        if verdict == Verdict::Redundant {
            return Vec::new();
        }
        let measured = self.proofs.iter().flat_map(|proof| proof.machine.device_names());
        let others = self.elsewhere.iter().filter(|other| other.is_for_a_drop());
        let seen: Vec<String> = measured.chain(others.flat_map(|other| other.devices.clone())).collect();
        let forbids = self.elsewhere.iter().filter(|other| other.forbids(verdict));
        let mut gaps = gaps(&on, &proven, &devices, &seen);
        gaps.extend(forbids.map(|other| other.reason(verdict)));
        gaps
    }

    /// The facts of a report.
    #[must_use]
    pub fn facts(&self, template: Template, evidence_only: bool) -> Facts {
        let upstream = &self.workspace.manifest.upstream;
        Facts {
            upstream: upstream.name.value.clone(),
            overlay: self.loaded.name().clone(),
            pin: upstream.pin.value,
            template,
            evidence_only,
            proofs: self.proofs.clone(),
            newer: self.newer.clone(),
            attested: self.attested.clone(),
            bisected: self.bisected.clone(),
            together: self.together.clone(),
            retired: None,
            written: String::new(),
        }
    }

    /// The folder of the records, as a link of the report.
    #[must_use]
    pub fn evidence_folder(&self) -> String {
        let folder = self.workspace.manifest.docs_folder().join("evidence");
        relative(self.file.parent().unwrap_or(Path::new("")), &folder).display().to_string()
    }

    /// The record of a drop, as a link of the report.
    #[must_use]
    pub fn retired_file(&self) -> String {
        let file = self
            .workspace
            .manifest
            .docs_folder()
            .join("retired")
            .join(format!("{}.toml", self.loaded.name()));
        relative(self.file.parent().unwrap_or(Path::new("")), &file).display().to_string()
    }

    /// The records that are used.
    #[must_use]
    pub fn used_records(&self) -> BTreeSet<String> {
        self.facts(Template::Draft, false).records().keys().map(|name| (*name).to_owned()).collect()
    }
}

/// Whether two measurements are of one profile and one kind of machine.
pub(super) fn is_same_place(a: &Measured, b: &Measured) -> bool {
    let place = |m: &Measured| (m.profile.clone(), m.machine.class(), m.machine.device.clone());
    place(a) == place(b)
}

/// What people report of an overlay at the pin. A file that cannot be read counts for nothing; `prove` says which.
fn reported(workspace: &Workspace, loaded: &Loaded) -> Vec<Attestation> {
    let manifest = &workspace.manifest;
    let folder = io::attested::folder(&manifest.docs_folder(), manifest.upstream.name.as_str());
    let (all, _) = io::attested::load(&workspace.root.join(folder));
    let pin = manifest.upstream.pin.value;
    attested::of(&all, loaded.name().as_str(), pin).into_iter().cloned().collect()
}

/// What searches came to that are about what stands there now.
fn searched(workspace: &Workspace, loaded: &Loaded, report: &OverlayReport) -> Vec<Bisected> {
    let manifest = &workspace.manifest;
    let folder = io::bisected::folder(&manifest.docs_folder(), manifest.upstream.name.as_str());
    let all = io::bisected::load(&workspace.root.join(folder));
    let pin = manifest.upstream.pin.value;
    let found = bisected::of(&all, loaded.name().as_str(), pin, &report.content_digest(pin));
    found.into_iter().cloned().collect()
}

/// What each measurement says. One whose records are not there says nothing.
#[must_use]
pub fn decided<'m>(
    proofs: &'m [Measured],
    overlay: &Name,
    records: &BTreeMap<String, RecordFile>,
) -> Vec<(&'m Measured, Proof, Decision)> {
    proofs
        .iter()
        .filter_map(|measured| {
            let proof = measured.proof(overlay, records).ok()?;
            let decision = decide(&proof);
            Some((measured, proof, decision))
        })
        .collect()
}

/// A path as seen from a folder; both are relative to the repository.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let (from, to): (Vec<_>, Vec<_>) = (from.components().collect(), to.components().collect());
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from[common..].iter().map(|_| Path::new(".."));
    up.chain(to[common..].iter().map(|part| Path::new(part.as_os_str()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_goes_up_and_down() {
        let of = |from, to| relative(Path::new(from), Path::new(to)).display().to_string();
        assert_eq!(of("docs/upstream", "docs/upstream/evidence"), "evidence");
        assert_eq!(of("notes", "docs/upstream/evidence"), "../docs/upstream/evidence");
        assert_eq!(of("", "docs/evidence"), "docs/evidence");
    }
}
