//! What a proof says of several overlays at once: whether all can go, and which of several rivals is the better.
//!
//! Decides nothing about overlays. It says which tests of which variants that takes, has those measured that are
//! not known yet, and asks `verdict`.

use std::collections::BTreeMap;

use crate::id::{Name, OverlayName};
use crate::kernel_test::repeats;
use crate::manifest::Test;
use crate::variant::{self, Variant};
use crate::verdict::group::{Together, decide_together};
use crate::verdict::rivals::{Group, Rivals, Tested, side_by_side};
use crate::verdict::{Decision, Linked, Pair, Place, Reason, State, Verdict};

use super::campaign::{Campaign, Candidate, link};
use super::elsewhere::Whereabouts;
use super::measure::{Interrupted, Lab};

/// A group of rivals, here and wherever else there is evidence of it.
#[derive(Debug, Clone)]
pub struct Contest {
    /// As measured here.
    pub here: Rivals,
    /// As measured elsewhere, from records of the same sources and the same tests.
    pub elsewhere: Vec<(Whereabouts, Rivals)>,
}

fn goes(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Droppable | Verdict::Redundant | Verdict::Harmful)
}

impl<'a> Campaign<'a> {
    /// Whether overlays that can go one by one can all go together; `None` if there are not several.
    ///
    /// # Errors
    /// If we are told to stop.
    pub fn prove_together(
        &mut self,
        decisions: &[Decision],
        lab: &mut Lab<'_>,
        may_run: bool,
    ) -> Result<Option<(Vec<OverlayName>, Together)>, Interrupted> {
        let manifest = &self.workspace.manifest;
        // One that stands back for a rival is gone already.
        let stands = |decision: &&Decision| {
            manifest.overlay(decision.overlay.as_str()).is_some_and(|overlay| overlay.is_on(self.features))
        };
        let members: Vec<&Decision> =
            decisions.iter().filter(|decision| goes(decision.verdict)).filter(stands).collect();
        if members.len() < 2 {
            return Ok(None);
        }
        let together = self.together(&members, lab, may_run)?;
        Ok(Some((members.iter().map(|member| member.overlay.clone()).collect(), together)))
    }

    /// Whether these overlays can all go together. Without `may_run`: as far as that is on record.
    ///
    /// # Errors
    /// If we are told to stop.
    pub fn together(
        &mut self,
        members: &[&Decision],
        lab: &mut Lab<'_>,
        may_run: bool,
    ) -> Result<Together, Interrupted> {
        let names: Vec<&OverlayName> = members.iter().map(|member| &member.overlay).collect();
        let [without, with] = self.without_and_with(&names);
        let tested = members.iter().filter(|member| member.verdict != Verdict::Redundant).count();
        if tested < 2 && members.iter().all(|member| goes(member.verdict)) {
            // The pin has all of the others: without them, too, it is the same code.
            return Ok(match self.subjects.get(&without) {
                Ok(_) => Together::AllCanGo,
                Err(obstacle) => {
                    let text = obstacle.text().to_owned();
                    Together::Unknown { reasons: vec![Reason { code: obstacle.code(), text }] }
                }
            });
        }
        let tests = self.tests_of_all(names.iter().copied());
        let needed =
            members.iter().flat_map(|member| &member.runs_needed).map(|(_, runs)| *runs).max().unwrap_or(1);
        let mut place = Place::new();
        for test in &tests {
            for variant in [&with, &without] {
                self.complete(variant, test, needed, lab, may_run)?;
            }
            if may_run {
                self.confirm_pair([&without, &with], test, lab)?;
            }
            let pair = Pair { without: self.state(&without, test), with: self.state(&with, test) };
            place.insert(test.name.value.clone(), pair);
        }
        let linked: Vec<Linked> = tests.iter().map(|test| self.link(test)).collect();
        Ok(decide_together(members, &linked, &place))
    }

    /// The pin without several overlays, and with all that are on.
    pub(super) fn without_and_with(&self, overlays: &[&OverlayName]) -> [Variant; 2] {
        let manifest = &self.workspace.manifest;
        let with = manifest.overlays.iter().filter(|overlay| overlay.is_on(self.features));
        let with = Variant {
            commit: manifest.upstream.pin.value,
            at_pin: true,
            fault: None,
            overlays: with.map(|overlay| overlay.name.value.clone()).collect(),
        };
        let names: Vec<&str> = overlays.iter().map(|name| name.as_str()).collect();
        [variant::without_all(manifest, self.features, &names), with]
    }

    /// The groups of rivals of which several are to be proven, side by side.
    ///
    /// # Errors
    /// If we are told to stop.
    pub fn prove_rivals(
        &mut self,
        candidates: &[Candidate],
        lab: &mut Lab<'_>,
        may_run: bool,
    ) -> Result<Vec<Contest>, Interrupted> {
        let manifest = &self.workspace.manifest;
        let mut groups: BTreeMap<&Name, Vec<&Candidate>> = BTreeMap::new();
        for candidate in candidates {
            let overlay = manifest.overlay(candidate.variants.overlay.as_str());
            if let Some(group) = overlay.and_then(|overlay| overlay.rivals.as_ref()) {
                groups.entry(&group.value).or_default().push(candidate);
            }
        }
        let mut contests = Vec::new();
        for (name, members) in groups.into_iter().filter(|(_, members)| members.len() > 1) {
            let of_group = manifest
                .overlays
                .iter()
                .filter(|overlay| overlay.rivals.as_ref().is_some_and(|group| group.value == *name));
            let mut of_group = of_group.filter(|overlay| overlay.active);
            let Some(active) = of_group.next().map(|overlay| overlay.name.value.clone()) else { continue };
            let tests = self.tests_of_all(members.iter().map(|member| &member.variants.overlay));
            let is_active = |member: &&&Candidate| member.variants.overlay == active;
            let none = members.iter().find(is_active).map_or(members[0], |member| *member);
            let none = &none.variants.pin_without;
            let variants = members.iter().map(|member| &member.variants.pin_with).chain([none]);
            let variants: Vec<&Variant> = variants.collect();
            let mut known = Vec::new();
            for variant in &variants {
                let mut tested = Tested::new();
                for test in &tests {
                    self.complete(variant, test, 1, lab, may_run)?;
                    tested.insert(test.name.value.clone(), self.state(variant, test));
                }
                known.push(tested);
            }
            let profile = self.profile_table();
            let group = |mut known: Vec<Tested>| Group {
                name: name.clone(),
                active: active.clone(),
                tests: tests.iter().map(|test| link(test, profile)).collect(),
                none: known.pop().unwrap_or_default(),
                members: members.iter().map(|member| member.variants.overlay.clone()).zip(known).collect(),
            };
            let here = side_by_side(&group(known));
            let elsewhere = self.tested_elsewhere(&variants, &tests, lab).into_iter();
            let elsewhere = elsewhere.map(|(place, known)| (place, side_by_side(&group(known)))).collect();
            contests.push(Contest { here, elsewhere });
        }
        Ok(contests)
    }

    /// What is on record of tests on variants for each other place that has something of two of them.
    fn tested_elsewhere(
        &mut self,
        variants: &[&Variant],
        tests: &[&Test],
        lab: &mut Lab<'_>,
    ) -> Vec<(Whereabouts, Vec<Tested>)> {
        let of_manifest = self.workspace.manifest.profiles.iter();
        let mut profiles: Vec<Option<Name>> =
            of_manifest.map(|profile| Some(profile.name.value.clone())).collect();
        profiles.push(None);
        let mut places: BTreeMap<Whereabouts, Vec<Tested>> = BTreeMap::new();
        for (at, variant) in variants.iter().enumerate() {
            let Ok(subject) = self.subjects.get(variant) else { continue };
            for test in tests {
                for (place, ran) in lab.elsewhere(&subject, test, &profiles) {
                    let known = places.entry(place).or_insert_with(|| vec![Tested::new(); variants.len()]);
                    known[at].insert(test.name.value.clone(), State::Ran(ran));
                }
            }
        }
        let says_something = |known: &[Tested]| known.iter().filter(|tested| !tested.is_empty()).count() > 1;
        places.into_iter().filter(|(_, known)| says_something(known)).collect()
    }

    /// The tests of several overlays, each once.
    pub(super) fn tests_of_all<'b>(&self, overlays: impl Iterator<Item = &'b OverlayName>) -> Vec<&'a Test> {
        let mut tests: Vec<&Test> = Vec::new();
        for test in overlays.flat_map(|overlay| self.tests_of_name(overlay)) {
            if !tests.iter().any(|known| known.name.value == test.name.value) {
                tests.push(test);
            }
        }
        tests
    }

    /// Sees to it that as much is known of a test on a variant as a first answer takes, and `needed` runs at least.
    fn complete(
        &mut self,
        variant: &Variant,
        test: &Test,
        needed: u32,
        lab: &mut Lab<'_>,
        may_run: bool,
    ) -> Result<(), Interrupted> {
        let seeds = repeats::seeds(repeats::first_runs(test.repeats).max(needed));
        let have = self.runs(variant, &test.name).unwrap_or(0);
        if have < seeds.len() && may_run {
            // What is on record may be less than is needed: a second call runs the rest.
            self.measure(variant, &test.name, &seeds[have..], lab)?;
            let have = self.runs(variant, &test.name).unwrap_or(0);
            if have > 0 && have < seeds.len() {
                self.measure(variant, &test.name, &seeds[have..], lab)?;
            }
        } else if have == 0
            && let Ok(subject) = self.subjects.get(variant)
        {
            let state = lab.known(&subject, test);
            self.learn(variant, &test.name.value, state);
        }
        Ok(())
    }
}
