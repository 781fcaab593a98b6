//! The table itself.
//!
//! | verdict | at the pin |
//! | --- | --- |
//! | needed | removing it breaks cases, it breaks none |
//! | harmful | it breaks cases and fixes none |
//! | mixed | it fixes some and breaks some |
//! | ineffective | neither, and an attributed case fails on both sides |
//! | droppable | neither, and all attributed cases pass without it |
//! | unproven | neither, and no case is attributed |
//! | inconclusive | what is needed for an answer could not be found out |
//!
//! A case of which something is not known may be anything that is left open; a verdict is given only if it is
//! the same for all of that. So one more unknown can turn a verdict into `inconclusive` and into nothing else.

use std::collections::{BTreeMap, BTreeSet};

use super::attribution::{Attribution, attribute, too_few};
use super::bounds::looser;
use super::compare::{CaseCompared, Compared, Inputs, compare_place};
use super::decision::{Decision, Reason, Verdict, Want, Which};
use super::mark::{Blocker, Mark, Tri};
use super::proof::{CellId, Proof, Witness};
use super::words;
use crate::id::Name;
use crate::kernel_test::{FailHow, Manner};

/// The verdict on one overlay, under one profile, on one machine.
#[must_use]
pub fn decide(proof: &Proof) -> Decision {
    let known = Known::of(proof);
    let mut decision = Decision {
        overlay: proof.overlay.clone(),
        verdict: Verdict::Redundant,
        first_line: String::new(),
        attributed: Vec::new(),
        fixed: known.at_pin(|case| case.relation.fixed == Tri::Yes),
        broken: known.at_pin(|case| case.relation.broken == Tri::Yes),
        unfixed: known.at_pin(|case| case.relation.unfixed == Tri::Yes),
        silenced: known.at_pin(|case| changes_manner(case, Manner::Loud, Manner::Silent)),
        unsilenced: known.at_pin(|case| changes_manner(case, Manner::Silent, Manner::Loud)),
        reasons: Vec::new(),
        cells: Vec::new(),
        runs_needed: Vec::new(),
        wants: Vec::new(),
    };
    if proof.redundant {
        decision.first_line = words::first_line(proof, &decision, 0);
        return decision;
    }
    let mut open = Open::default();
    decision.verdict = known.verdict(proof, &decision, &mut open);
    decision.attributed = match (&known.attributions, decision.verdict) {
        (Some(attributions), _) => holding(attributions),
        // The witness was not needed: what removing it breaks now is what it is there for now.
        (None, _) => decision.fixed.clone(),
    };
    decision.runs_needed = known.runs_needed(&decision.attributed);
    decision.cells = words::rows(&known.pin, known.witness.as_ref(), &decision.attributed);
    decision.reasons = known.reasons(proof, &decision, &open);
    decision.wants = open.wants();
    decision.first_line = words::first_line(proof, &decision, open.cases());
    decision
}

fn changes_manner(case: &CaseCompared, from: Manner, to: Manner) -> bool {
    case.without.manner() == Some(from) && case.with.manner() == Some(to)
}

fn holding(attributions: &BTreeMap<CellId, Attribution>) -> Vec<CellId> {
    let holds = attributions.iter().filter(|(_, attribution)| attribution.holds == Tri::Yes);
    holds.map(|(id, _)| id.clone()).collect()
}

/// What the results say, case by case.
struct Known {
    pin: Compared,
    /// `None`: the witness is the pin.
    witness: Option<Compared>,
    /// `None`: the witness is the pin, or nobody has run anything there.
    attributions: Option<BTreeMap<CellId, Attribution>>,
}

/// What is open and keeps the verdict from being given: on which side of which place, in which case, and why.
#[derive(Default)]
pub(super) struct Open {
    list: Vec<(CellId, Spot, Blocker)>,
}

/// Where something is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Spot {
    PinWithout,
    PinWith,
    Witness,
}

impl Open {
    fn push(&mut self, id: &CellId, spot: Spot, blocker: Blocker) {
        self.list.push((id.clone(), spot, blocker));
    }

    /// In how many cases of tests something is open: building and running are none.
    fn cases(&self) -> usize {
        let cases = self.list.iter().map(|(id, ..)| id).filter(|id| !words::is_build_or_run(&id.case));
        cases.collect::<BTreeSet<_>>().len()
    }

    /// In how many cases something is open.
    fn count(&self) -> usize {
        self.list.iter().map(|(id, ..)| id).collect::<BTreeSet<_>>().len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(CellId, Spot, Blocker)> {
        self.list.iter()
    }

    /// The runs that could settle it. The seeds of several cases of one test are run once for all of them.
    fn wants(&self) -> Vec<Want> {
        let mut wanted: BTreeMap<(Which, &Name), BTreeMap<u64, usize>> = BTreeMap::new();
        for (id, spot, blocker) in &self.list {
            let variants = match spot {
                Spot::PinWithout | Spot::PinWith => [Which::PinWithout, Which::PinWith],
                Spot::Witness => [Which::WitnessWithout, Which::WitnessWith],
            };
            for (which, again) in variants.into_iter().zip(&blocker.again) {
                let counts = wanted.entry((which, &id.test)).or_default();
                for seed in again {
                    let here = again.iter().filter(|other| *other == seed).count();
                    let count = counts.entry(*seed).or_default();
                    *count = (*count).max(here);
                }
            }
        }
        let flat = |counts: BTreeMap<u64, usize>| {
            counts.into_iter().flat_map(|(seed, count)| std::iter::repeat_n(seed, count)).collect::<Vec<_>>()
        };
        wanted
            .into_iter()
            .map(|((which, test), counts)| Want { which, test: test.clone(), seeds: flat(counts) })
            .filter(|want| !want.seeds.is_empty())
            .collect()
    }
}

impl Known {
    fn of(proof: &Proof) -> Self {
        let pin = compare_place(&proof.tests, &proof.pin);
        let (witness, attributions) = match &proof.witness {
            Witness::IsPin => (None, None),
            Witness::At(place) => {
                let compared = compare_place(&proof.tests, place);
                let attributions = (!place.is_empty()).then(|| attribute(&compared));
                (Some(compared), attributions)
            }
        };
        Self { pin, witness, attributions }
    }

    fn at_pin(&self, wanted: impl Fn(&CaseCompared) -> bool) -> Vec<CellId> {
        let mut found = Vec::new();
        for (test, compared) in &self.pin {
            for (case, _) in compared.cases.iter().filter(|(_, sides)| wanted(sides)) {
                found.push(CellId { test: test.clone(), case: case.clone() });
            }
        }
        found
    }

    fn pin_case(&self, id: &CellId) -> Option<&CaseCompared> {
        self.pin.get(&id.test).and_then(|compared| compared.cases.get(&id.case))
    }

    fn inputs(&self, test: &Name) -> Inputs {
        self.pin.get(test).map_or(Inputs::NotKnown, |compared| compared.inputs)
    }

    fn runs_needed(&self, attributed: &[CellId]) -> Vec<(CellId, u32)> {
        let needed = |id: &CellId| match &self.attributions {
            Some(attributions) => attributions.get(id).map_or(1, |attribution| attribution.runs_needed),
            None => 1,
        };
        attributed.iter().map(|id| (id.clone(), needed(id))).collect()
    }

    /// The table. What keeps a verdict from being given goes into `open`.
    fn verdict(&self, proof: &Proof, decision: &Decision, open: &mut Open) -> Verdict {
        let fixes = !decision.fixed.is_empty();
        let breaks = !decision.broken.is_empty();
        if fixes && breaks {
            return Verdict::Mixed;
        }
        // What may still come out otherwise than the row that we are in.
        let matters = |case: &CaseCompared| {
            (!fixes && case.relation.fixed == Tri::Maybe) || (!breaks && case.relation.broken == Tri::Maybe)
        };
        for id in self.at_pin(matters) {
            if let Some(case) = self.pin_case(&id) {
                push_sides(open, &id, case);
            }
        }
        if open.count() > 0 {
            return Verdict::Inconclusive;
        }
        match (fixes, breaks) {
            (true, _) => Verdict::Needed,
            (_, true) => Verdict::Harmful,
            (false, false) => self.no_difference(proof, open),
        }
    }

    /// It neither fixes nor breaks anything at the pin, and that is sure.
    fn no_difference(&self, proof: &Proof, open: &mut Open) -> Verdict {
        if self.nothing_seen(proof, open) {
            return Verdict::Inconclusive;
        }
        let Some(witness) = &self.witness else {
            return if self.device_cases_skipped(proof, open) {
                Verdict::Inconclusive
            } else {
                Verdict::Unproven
            };
        };
        let now;
        let attributions = match &self.attributions {
            Some(attributions) => attributions,
            None => {
                now = attribute(witness);
                &now
            }
        };
        let attributed = holding(attributions);
        let built: Vec<_> = attributed.iter().filter(|id| self.inputs(&id.test) == Inputs::Differ).collect();
        let fails_on_both =
            |id: &&CellId| self.pin_case(id).is_some_and(|case| case.relation.unfixed == Tri::Yes);
        if built.iter().copied().any(|id| fails_on_both(&id)) {
            return Verdict::Ineffective;
        }
        for id in &attributed {
            self.passes_without(id, attributions, open);
        }
        for (id, attribution) in attributions.iter().filter(|(_, a)| a.holds == Tri::Maybe) {
            // Whether the overlay is there for it does not matter where it passes on both sides, if there
            // are cases that it is surely there for.
            let passes = self.pin_case(id).is_some_and(|case| {
                case.without.passes() == Tri::Yes && case.without.runs >= attribution.runs_needed
            });
            if attributed.is_empty() || !passes {
                for blocker in &attribution.blockers {
                    open.push(id, Spot::Witness, blocker.clone());
                }
            }
        }
        if open.count() > 0 || self.device_cases_skipped(proof, open) {
            return Verdict::Inconclusive;
        }
        if attributed.is_empty() { Verdict::Unproven } else { Verdict::Droppable }
    }

    /// Puts into `open` what is in the way of saying that an attributed case passes without the overlay.
    fn passes_without(&self, id: &CellId, attributions: &BTreeMap<CellId, Attribution>, open: &mut Open) {
        let Some(case) = self.pin_case(id) else {
            let text = "the overlay is there for this case, and no run at the pin reports it";
            open.push(id, Spot::PinWithout, Blocker::new("missing-case", text));
            return;
        };
        if self.inputs(&id.test) != Inputs::Differ {
            open.push(id, Spot::PinWithout, not_built_here());
        } else if case.without.passes() == Tri::Yes {
            let needed = attributions.get(id).map_or(1, |attribution| attribution.runs_needed);
            if case.without.runs < needed {
                let seen = self.witness_case(id).map_or(&case.without, |case| &case.without);
                let run = [case.without.seeds.as_slice(), &[]];
                open.push(id, Spot::PinWithout, too_few(case.without.runs, needed, seen, run));
            }
            let before = self.witness_case(id).map(|case| &case.without.bounds);
            if before.is_some_and(|before| looser(&case.without.bounds, before)) {
                let text = "its bound lets more pass at the pin than at the witness";
                open.push(id, Spot::PinWithout, Blocker::new("bound-differs", text));
            }
        } else {
            let blocker = match &case.without.mark {
                Mark::Skip(why) => Blocker::new(
                    "skipped",
                    format!("the overlay is there for this case, and it is skipped: {why}"),
                ),
                Mark::Unknown(blocker) => blocker.clone(),
                _ => Blocker::new(
                    "missing-case",
                    "the overlay is there for this case, and the pin does not run it",
                ),
            };
            open.push(id, Spot::PinWithout, blocker);
        }
    }

    fn witness_case(&self, id: &CellId) -> Option<&CaseCompared> {
        self.witness.as_ref()?.get(&id.test)?.cases.get(&id.case)
    }

    /// Whether no test could have seen a difference at the pin: both variants are the same to all of them, or
    /// a test skipped all that it has.
    fn nothing_seen(&self, proof: &Proof, open: &mut Open) -> bool {
        let differs = self.pin.values().any(|compared| compared.inputs == Inputs::Differ);
        for test in &proof.tests {
            let Some(compared) = self.pin.get(&test.name) else { continue };
            let id = CellId { test: test.name.clone(), case: crate::kernel_test::CaseKey::run() };
            if !differs {
                open.push(&id, Spot::PinWithout, not_built_here());
            }
            let ran = |case: &CaseCompared| !matches!(case.without.mark, Mark::Skip(_) | Mark::Absent);
            let has_cases = compared.cases.keys().any(|key| !key.is_pseudo());
            let mut own = compared.cases.iter().filter(|(key, _)| {
                if has_cases { !key.is_pseudo() } else { **key == crate::kernel_test::CaseKey::run() }
            });
            if !own.any(|(_, case)| ran(case)) {
                let why = compared.cases.values().find_map(|case| match &case.without.mark {
                    Mark::Skip(why) => Some(why.as_str()),
                    _ => None,
                });
                let text = format!("every case was skipped: {}", why.unwrap_or("the test has none"));
                open.push(&id, Spot::PinWithout, Blocker::new("skipped", text));
            }
        }
        open.count() > 0
    }

    /// Whether a test only tried to compile, and skipped what needs a device.
    fn device_cases_skipped(&self, proof: &Proof, open: &mut Open) -> bool {
        for test in &proof.tests {
            let Some(compared) = self.pin.get(&test.name) else { continue };
            let own = || compared.cases.iter().filter(|(key, _)| !key.is_pseudo()).map(|(_, case)| case);
            let skipped = own().find_map(|case| match (&case.without.mark, case.compile_only) {
                (Mark::Skip(why), false) => Some(why),
                _ => None,
            });
            let ran_on_device = own().any(|case| {
                !case.compile_only
                    && matches!(
                        case.without.mark,
                        Mark::Pass | Mark::Fail { .. } | Mark::Measured | Mark::Varies { .. }
                    )
            });
            let compiled = own().any(|case| case.compile_only);
            if let (Some(why), false, true) = (skipped, ran_on_device, compiled) {
                let id = CellId { test: test.name.clone(), case: crate::kernel_test::CaseKey::run() };
                let text =
                    format!("only compiling was tried, and the cases that need a device were skipped: {why}");
                open.push(&id, Spot::PinWithout, Blocker::new("no-device", text));
            }
        }
        open.count() > 0
    }

    fn reasons(&self, proof: &Proof, decision: &Decision, open: &Open) -> Vec<Reason> {
        let mut reasons = words::open_reasons(open);
        reasons.extend(words::verdict_reasons(proof, decision));
        if proof.tests.is_empty() {
            reasons.push(Reason {
                code: "no-tests",
                text: "no test is linked to it under this profile".to_owned(),
            });
        }
        let by_history: Vec<_> = self.at_pin(|case| {
            [&case.without, &case.with]
                .iter()
                .any(|side| matches!(side.how(), Some(FailHow::HistoryDependent { .. })))
        });
        reasons.extend(words::listed("history-dependent", "depends on what memory held before", &by_history));
        for test in &proof.tests {
            let attributed = decision.attributed.iter().any(|id| id.test == test.name);
            if !attributed && !test.guard && decision.verdict != Verdict::Inconclusive {
                let text =
                    format!("`{}` has no case that fails without the overlay and passes with it", test.name);
                reasons.push(Reason { code: "sees-nothing", text });
            }
            if self.inputs(&test.name) == Inputs::Same {
                let text = format!("`{}` reads the same at the pin with and without the overlay", test.name);
                reasons.push(Reason { code: "same-inputs", text });
            }
        }
        reasons.extend(words::speeds(&self.pin));
        reasons.extend(words::findings(&self.pin, self.witness.as_ref()));
        reasons.extend(words::notes(proof));
        reasons
    }
}

fn not_built_here() -> Blocker {
    Blocker::new(
        "not-built-here",
        "with and without the overlay the compiler and the test read the same: its files are not built here",
    )
}

/// Puts the unknown sides of a case into `open`.
fn push_sides(open: &mut Open, id: &CellId, case: &CaseCompared) {
    let mut found = false;
    if let Some(blocker) = &case.blocker {
        open.push(id, Spot::PinWithout, blocker.clone());
        found = true;
    }
    for (side, spot) in [(&case.without, Spot::PinWithout), (&case.with, Spot::PinWith)] {
        if let Mark::Unknown(blocker) = &side.mark {
            open.push(id, spot, blocker.clone());
            found = true;
        }
    }
    if !found {
        let text = "it could not be tried on either side, or not with the same seeds";
        open.push(id, Spot::PinWithout, Blocker::new("not-tried", text));
    }
}
