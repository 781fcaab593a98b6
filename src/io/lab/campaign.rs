//! A proof of several overlays: what their verdicts want, measured in the order that rebuilds least.
//!
//! Decides nothing about overlays. It asks `verdict` what is wanted, `variant` which variants that means,
//! and the lab for results, until nothing more is wanted.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::evidence::Machine;
use crate::id::{Name, OverlayName};
use crate::io::workspace::Workspace;
use crate::kernel_test::repeats;
use crate::manifest::{Manifest, Overlay, Profile, Test};
use crate::upstream::Upstream;
use crate::variant::{self, Request, Variant, VariantError, Variants};
use crate::verdict::{Decision, Linked, Obstacle, Pair, Place, Proof, State, Which, Witness, decide};

use super::budget::{Budget, Left};
use super::measure::{Interrupted, Lab, Subject, Use};
use super::subjects::Subjects;

/// How often verdicts may want more before it is taken for endless.
const ROUNDS: usize = 12;

/// A proof under way.
pub struct Campaign<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) features: &'a BTreeSet<Name>,
    profile: Option<&'a Name>,
    /// Its variants.
    pub subjects: Subjects<'a>,
    states: BTreeMap<(Variant, Name), State>,
    /// What was built well, and its other side was not.
    beside_failures: BTreeSet<(Variant, Name)>,
    /// Decisions on what is known, until more is.
    decided: RefCell<BTreeMap<OverlayName, Decision>>,
    /// How long it may take.
    pub(super) budget: Option<Budget>,
    /// What was not started, for it would have taken too long.
    pub(super) turned_away: Vec<Left>,
}

/// An overlay to be proven.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Its variants.
    pub variants: Variants,
    /// Provenance says that there is nothing to run.
    pub redundant: bool,
}

impl<'a> Campaign<'a> {
    /// A proof of overlays of a workspace under a profile and its features.
    #[must_use]
    pub fn new(
        workspace: &'a Workspace,
        features: &'a BTreeSet<Name>,
        profile: Option<&'a Name>,
        upstream: &'a dyn Upstream,
    ) -> Self {
        Self {
            workspace,
            features,
            profile,
            subjects: Subjects::new(workspace, features, upstream),
            states: BTreeMap::new(),
            beside_failures: BTreeSet::new(),
            decided: RefCell::default(),
            budget: None,
            turned_away: Vec::new(),
        }
    }

    /// The variants of an overlay.
    ///
    /// # Errors
    /// If it, or one that it needs, is off.
    pub fn candidate(&self, overlay: &str, redundant: bool) -> Result<Candidate, VariantError> {
        let variants = variant::variants_of(&self.workspace.manifest, self.features, overlay)?;
        Ok(Candidate { variants, redundant })
    }

    /// The tests that are linked to an overlay and run under the profile.
    pub fn tests_of(&self, overlay: &Overlay) -> Vec<&'a Test> {
        let manifest = &self.workspace.manifest;
        let tests = overlay.tests.iter().filter_map(|name| manifest.test(name.as_str()));
        tests.filter(|test| runs_under(test, self.profile)).collect()
    }

    /// The decision on an overlay as far as it is known.
    ///
    /// What is known of the witness counts only where the pin does not decide: it may be known by chance,
    /// and in part, for another overlay has the same.
    #[must_use]
    pub fn decide(&self, candidate: &Candidate) -> Decision {
        let overlay = &candidate.variants.overlay;
        if let Some(decision) = self.decided.borrow().get(overlay) {
            return decision.clone();
        }
        let (_, decision) = self.basis(candidate);
        self.decided.borrow_mut().insert(overlay.clone(), decision.clone());
        decision
    }

    /// What a decision is made from, and the decision.
    #[must_use]
    pub fn basis(&self, candidate: &Candidate) -> (Proof, Decision) {
        self.basis_on(candidate, &|variant, test| self.state(variant, test))
    }

    /// The same, from other results than those that are known here.
    pub(super) fn basis_on(
        &self,
        candidate: &Candidate,
        state: &dyn Fn(&Variant, &Test) -> State,
    ) -> (Proof, Decision) {
        let at_pin = self.proof(candidate, false, state);
        let by_pin = decide(&at_pin);
        let asks = |which: Which| by_pin.wants.iter().any(|want| want.which == which);
        if asks(Which::WitnessWithout) || asks(Which::WitnessWith) {
            let everywhere = self.proof(candidate, true, state);
            let decision = decide(&everywhere);
            return (everywhere, decision);
        }
        (at_pin, by_pin)
    }

    /// Whether an overlay can be taken out by itself: none needs it, and all others fit without it.
    pub fn stands_alone(&mut self, candidate: &Candidate) -> bool {
        candidate.variants.removed.len() == 1 && self.subjects.get(&candidate.variants.pin_without).is_ok()
    }

    /// Takes down what is known of a test on a variant.
    pub(super) fn learn(&mut self, variant: &Variant, test: &Name, state: State) {
        self.states.insert((variant.clone(), test.clone()), state);
        self.decided.borrow_mut().clear();
    }

    /// Asks the records once more for all that is known, so that the lab knows what an answer is made from.
    /// Says whether all of it is on record.
    pub fn trace(&mut self, lab: &mut Lab<'_>) -> bool {
        let known: Vec<(Variant, Name)> = self.states.keys().cloned().collect();
        let all_known = known.into_iter().all(|(variant, test)| {
            let Some((subject, test)) = self.subject_and_test(&variant, &test) else { return false };
            match lab.known(&subject, test) {
                State::Ran(_) => true,
                State::BuildFailed { .. } => lab.lean_on(&subject, test),
                State::NotRun | State::Blocked(_) => false,
            }
        });
        let beside = self.beside_failures.clone();
        let lean_on = |(variant, test): &(Variant, Name)| {
            self.subject_and_test(variant, test).is_some_and(|(subject, test)| lab.lean_on(&subject, test))
        };
        all_known && beside.iter().all(lean_on)
    }

    /// The other machines that measured what the decision on an overlay stands on.
    pub fn measured_by(&mut self, candidate: &Candidate, lab: &Lab<'_>) -> Vec<Machine> {
        let variants = &candidate.variants;
        let witness = variants.witness.iter().flatten();
        let all: Vec<&Variant> =
            [&variants.pin_without, &variants.pin_with].into_iter().chain(witness).collect();
        let mut machines: Vec<Machine> = Vec::new();
        for test in self.tests_of_name(&variants.overlay) {
            for variant in &all {
                let Ok(subject) = self.subjects.get(variant) else { continue };
                if let Some(machine) = lab.measured_by(&subject, test).filter(|one| !machines.contains(one)) {
                    machines.push(machine.clone());
                }
            }
        }
        machines
    }

    fn subject_and_test(&mut self, variant: &Variant, test: &Name) -> Option<(Subject, &'a Test)> {
        Some((self.subjects.get(variant).ok()?, self.workspace.manifest.test(test.as_str())?))
    }

    /// Where one side builds and the other does not: whether both are still so on this machine. Says whether
    /// more, or less, is known afterwards.
    fn confirm(&mut self, candidates: &[Candidate], lab: &mut Lab<'_>) -> Result<bool, Interrupted> {
        let mut news = false;
        for candidate in candidates.iter().filter(|candidate| !candidate.redundant) {
            let variants = &candidate.variants;
            let pin = [&variants.pin_without, &variants.pin_with];
            let witness = variants.witness.as_ref().map(|[without, with]| [without, with]);
            for test in self.tests_of_name(&variants.overlay) {
                for pair in [Some(pin), witness].into_iter().flatten() {
                    news |= self.confirm_pair(pair, test, lab)?;
                }
            }
        }
        Ok(news)
    }

    pub(super) fn confirm_pair(
        &mut self,
        pair: [&Variant; 2],
        test: &Test,
        lab: &mut Lab<'_>,
    ) -> Result<bool, Interrupted> {
        let (failed, built) = match pair.map(|variant| self.state(variant, test)) {
            [State::BuildFailed { .. }, State::Ran(_)] => (pair[0], pair[1]),
            [State::Ran(_), State::BuildFailed { .. }] => (pair[1], pair[0]),
            _ => return Ok(false),
        };
        let name = &test.name.value;
        let (Ok(subject), Ok(other)) = (self.subjects.get(failed), self.subjects.get(built)) else {
            return Ok(false);
        };
        if self.budget.is_some() {
            let is_known = !lab.failed_once(&subject, test)
                && lab.is_confirmed(&other, test)
                && lab.still_fails(&subject, test);
            let runs = repeats::first_runs(test.repeats) as usize;
            if !is_known && !self.may_start(failed, test, runs, lab) {
                // A failure that was not seen again is none.
                let why = "the budget was used up before it was built again".to_owned();
                self.learn(failed, name, State::Blocked(Obstacle::Budget(why)));
                return Ok(true);
            }
        }
        self.beside_failures.insert((built.clone(), name.clone()));
        let seeds = repeats::seeds(repeats::first_runs(test.repeats));
        if lab.failed_once(&subject, test) {
            // It may be the machine that fails for a while. So: it fails, the other side builds, it fails again.
            let state = lab.build_again(&other, test, &seeds, Use::NoBuilds)?;
            let builds = matches!(state, State::Ran(_));
            self.learn(built, name, state);
            if builds {
                let state = lab.build_again(&subject, test, &seeds, Use::NoBuildsAndKeep)?;
                self.learn(failed, name, state);
            }
            return Ok(true);
        }
        let confirmed = lab.confirm(&other, test, &seeds)?;
        let news = confirmed.is_some();
        if let Some(state) = confirmed {
            self.learn(built, name, state);
        }
        if lab.still_fails(&subject, test) {
            return Ok(news);
        }
        let state = lab.measure(&subject, test, 0, &seeds)?;
        self.learn(failed, name, state);
        Ok(true)
    }

    fn proof(
        &self,
        candidate: &Candidate,
        with_witness: bool,
        state: &dyn Fn(&Variant, &Test) -> State,
    ) -> Proof {
        let variants = &candidate.variants;
        let tests = self.tests_of_name(&variants.overlay);
        let place = |without: &Variant, with: &Variant| -> Place {
            let pair = |test: &&Test| Pair { without: state(without, test), with: state(with, test) };
            let pairs = tests.iter().map(|test| (test.name.value.clone(), pair(test)));
            let known = |pair: &Pair| !matches!((&pair.without, &pair.with), (State::NotRun, State::NotRun));
            pairs.filter(|(_, pair)| known(pair)).collect()
        };
        Proof {
            overlay: variants.overlay.clone(),
            removed: variants.removed.clone(),
            redundant: candidate.redundant,
            tests: tests.iter().map(|test| self.link(test)).collect(),
            pin: place(&variants.pin_without, &variants.pin_with),
            witness: match &variants.witness {
                None => Witness::IsPin,
                Some([without, with]) if with_witness => Witness::At(place(without, with)),
                Some(_) => Witness::At(Place::new()),
            },
        }
    }

    /// The manifest.
    #[must_use]
    pub fn manifest(&self) -> &'a Manifest {
        &self.workspace.manifest
    }

    /// A test, as far as it bears on a verdict.
    pub(super) fn link(&self, test: &Test) -> Linked {
        link(test, self.profile_table())
    }

    pub(super) fn profile_table(&self) -> Option<&'a Profile> {
        self.workspace.manifest.profile(self.profile?.as_str())
    }

    /// The tests of an overlay by its name.
    pub(super) fn tests_of_name(&self, overlay: &OverlayName) -> Vec<&'a Test> {
        let overlay = self.workspace.manifest.overlay(overlay.as_str());
        overlay.map(|overlay| self.tests_of(overlay)).unwrap_or_default()
    }

    /// What it is a proof of.
    #[must_use]
    pub fn workspace(&self) -> &'a Workspace {
        self.workspace
    }

    /// The features that are on.
    #[must_use]
    pub fn features(&self) -> &'a BTreeSet<Name> {
        self.features
    }

    /// The profile.
    #[must_use]
    pub fn profile(&self) -> Option<&'a Name> {
        self.profile
    }

    pub(super) fn state(&self, variant: &Variant, test: &Test) -> State {
        self.states.get(&(variant.clone(), test.name.value.clone())).cloned().unwrap_or_default()
    }

    /// What is wanted now, in the order in which it is done.
    #[must_use]
    pub fn wanted(&self, candidates: &[Candidate], now: &[Variant]) -> Vec<Request> {
        let requests = candidates.iter().filter(|candidate| !candidate.redundant).flat_map(|candidate| {
            let decision = self.decide(candidate);
            candidate.variants.next(&decision.wants)
        });
        variant::schedule(variant::merge(requests), now, &|overlay| self.cost(overlay))
    }

    /// What it costs to flip an overlay: the more paths it has, the more is compiled again.
    fn cost(&self, overlay: &OverlayName) -> u64 {
        let loaded = self.workspace.overlay(overlay.as_str());
        let paths = loaded.map_or(0, |loaded| loaded.whole_paths().count());
        u64::try_from(paths.max(1)).unwrap_or(1)
    }

    /// Takes from the records whatever is wanted and there. Starts no program. Gives what is still wanted.
    pub fn recall(&mut self, candidates: &[Candidate], lab: &mut Lab<'_>) -> Vec<Request> {
        for _ in 0..ROUNDS {
            let wanted = self.wanted(candidates, &[]);
            let mut learned = false;
            for request in &wanted {
                for test in request.tests.keys() {
                    let before = self.runs(&request.variant, test);
                    let state = match (
                        self.subjects.get(&request.variant),
                        self.workspace.manifest.test(test.as_str()),
                    ) {
                        (Ok(subject), Some(test)) => lab.known(&subject, test),
                        (Err(obstacle), _) => State::Blocked(obstacle),
                        (_, None) => continue,
                    };
                    if is_news(&state, before) {
                        learned = true;
                        self.learn(&request.variant, test, state);
                    }
                }
            }
            if !learned {
                return wanted;
            }
        }
        Vec::new()
    }

    /// What was run of tests on variants, and in how many runs.
    pub fn on_record(&self) -> impl Iterator<Item = (&Variant, &Name, usize)> {
        self.states.iter().filter_map(|((variant, test), state)| match state {
            State::Ran(ran) => Some((variant, test, ran.runs.len())),
            State::BuildFailed { .. } => Some((variant, test, 0)),
            State::NotRun | State::Blocked(_) => None,
        })
    }

    /// How many runs are known of a test on a variant; `None`: nothing is known.
    pub(super) fn runs(&self, variant: &Variant, test: &Name) -> Option<usize> {
        match self.states.get(&(variant.clone(), test.clone())) {
            None | Some(State::NotRun) => None,
            Some(State::Ran(ran)) => Some(ran.runs.len()),
            Some(State::Blocked(_) | State::BuildFailed { .. }) => Some(0),
        }
    }

    /// Measures until no verdict wants more.
    ///
    /// # Errors
    /// If we are told to stop.
    pub fn prove(&mut self, candidates: &[Candidate], lab: &mut Lab<'_>) -> Result<(), Interrupted> {
        let mut now: Vec<Variant> = Vec::new();
        for _ in 0..ROUNDS {
            let wanted = self.wanted(candidates, &now);
            let mut learned = false;
            for request in wanted {
                for (name, seeds) in &request.tests {
                    learned |= self.measure(&request.variant, name, seeds, lab)?;
                }
                now.retain(|other| other.commit != request.variant.commit);
                now.insert(0, request.variant);
            }
            // What brings nothing new the first time brings nothing new the next time.
            if !learned && !self.confirm(candidates, lab)? {
                return Ok(());
            }
        }
        // A machine that changes all the time says nothing.
        if self.confirm(candidates, lab)? {
            let why = "what builds and what does not changes all the time on this machine";
            for state in self.states.values_mut().filter(|state| matches!(state, State::BuildFailed { .. })) {
                *state = State::Blocked(Obstacle::Environment(why.to_owned()));
            }
            self.decided.borrow_mut().clear();
        }
        Ok(())
    }

    /// Runs a test on a variant; says whether more is known afterwards.
    pub(super) fn measure(
        &mut self,
        variant: &Variant,
        test: &Name,
        seeds: &[u64],
        lab: &mut Lab<'_>,
    ) -> Result<bool, Interrupted> {
        let Some(table) = self.workspace.manifest.test(test.as_str()) else { return Ok(false) };
        let before = self.runs(variant, test);
        let state = match self.subjects.get(variant) {
            Ok(subject) if self.budget.is_some() => {
                // What is on record costs nothing.
                let known = lab.known(&subject, table);
                if is_news(&known, before) {
                    known
                } else if self.may_start(variant, table, seeds.len(), lab) {
                    lab.measure(&subject, table, before.unwrap_or(0), seeds)?
                } else {
                    return Ok(false);
                }
            }
            Ok(subject) => lab.measure(&subject, table, before.unwrap_or(0), seeds)?,
            Err(obstacle) => State::Blocked(obstacle),
        };
        self.learn(variant, test, state);
        Ok(self.runs(variant, test) != before)
    }
}

/// Whether a state says more than was known before: `before` runs, or nothing.
fn is_news(state: &State, before: Option<usize>) -> bool {
    match state {
        State::NotRun => false,
        State::Ran(ran) => ran.runs.len() > before.unwrap_or(0),
        State::Blocked(_) | State::BuildFailed { .. } => before.is_none(),
    }
}

/// Whether a test runs under a profile.
#[must_use]
pub fn runs_under(test: &Test, profile: Option<&Name>) -> bool {
    test.profiles.is_empty()
        || profile.is_some_and(|profile| test.profiles.iter().any(|p| p.value == *profile))
}

/// A test, as far as it bears on a verdict under a profile.
#[must_use]
pub fn link(test: &Test, profile: Option<&Profile>) -> Linked {
    Linked {
        name: test.name.value.clone(),
        guard: test.guard,
        repeats: test.repeats,
        timeout_ms: u64::try_from(test.timeout.as_millis()).unwrap_or(u64::MAX),
        min_gain: test.min_gain,
        sanitizers: test.sanitizers_under(profile).map(|s| s.as_str().to_owned()).collect(),
    }
}
