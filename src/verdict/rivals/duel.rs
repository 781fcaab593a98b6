//! Rivals against each other, two at a time.
//!
//! Decides which one is the better, and why. See [`super`] for the rule.

use super::{Choice, Group, Tested, compare};
use crate::id::OverlayName;
use crate::kernel_test::Manner;
use crate::verdict::compare::CaseCompared;
use crate::verdict::decision::Reason;
use crate::verdict::mark::Tri;
use crate::verdict::proof::{CellId, Linked};
use crate::verdict::words::{listed, named};

/// One against another.
#[derive(Debug, Default, PartialEq, Eq)]
struct Duel {
    /// It passes, and the other fails.
    passes: Vec<CellId>,
    /// Both fail; it fails loudly, the other silently.
    louder: Vec<CellId>,
    /// The other one is better.
    worse: Vec<CellId>,
    /// The other one may be better.
    open: Vec<CellId>,
    /// The other one is not better, and it may be worse.
    may_be_better: Vec<CellId>,
}

impl Duel {
    /// `own` against `other`.
    fn of(tests: &[Linked], own: &Tested, other: &Tested) -> Self {
        let mut duel = Duel::default();
        for (test, compared) in &compare(tests, other, own) {
            for (case, sides) in &compared.cases {
                let id = CellId { test: test.clone(), case: case.clone() };
                duel.add(id, sides);
            }
        }
        duel
    }

    fn add(&mut self, id: CellId, sides: &CaseCompared) {
        let relation = &sides.relation;
        let (own, other) = (sides.with.manner(), sides.without.manner());
        match (relation.broken, relation.fixed) {
            (Tri::Yes, Tri::Yes) => {
                self.worse.push(id.clone());
                self.passes.push(id);
            }
            (Tri::Yes, _) => self.worse.push(id),
            (Tri::Maybe, _) => self.open.push(id),
            (Tri::No, Tri::Yes) => self.passes.push(id),
            // It may pass. If it fails, it may fail silently, and nothing is worse than that.
            (Tri::No, Tri::Maybe) if relation.unfixed != Tri::No && other != Some(Manner::Silent) => {
                self.open.push(id);
            }
            (Tri::No, Tri::Maybe) => self.may_be_better.push(id),
            (Tri::No, Tri::No) if relation.unfixed == Tri::Yes => match (own, other) {
                (Some(Manner::Loud), Some(Manner::Silent)) => self.louder.push(id),
                (Some(Manner::Silent), Some(Manner::Loud)) => self.worse.push(id),
                // What is behind a failing build has no manner of its own, and is counted there.
                (Some(own), Some(other)) if own != other => self.open.push(id),
                _ => {}
            },
            (Tri::No, Tri::No) => {}
        }
    }

    fn is_better_somewhere(&self) -> bool {
        !self.passes.is_empty() || !self.louder.is_empty()
    }

    /// Surely nowhere worse.
    fn is_as_good(&self) -> bool {
        self.worse.is_empty() && self.open.is_empty()
    }
}

/// Each against each, and against none.
pub(super) struct Duels<'a> {
    names: Vec<&'a OverlayName>,
    /// The place of the one that is applied, or one past the end.
    active: usize,
    /// `between[a][b]`: a against b.
    between: Vec<Vec<Duel>>,
    against_none: Vec<Duel>,
}

impl<'a> Duels<'a> {
    pub(super) fn of(group: &'a Group) -> Self {
        let tests = &group.tests;
        let against = |own: &Tested| {
            let others = group.members.iter();
            others.map(|(_, other)| Duel::of(tests, own, other)).collect::<Vec<_>>()
        };
        Self {
            names: group.members.iter().map(|(name, _)| name).collect(),
            active: group
                .members
                .iter()
                .position(|(name, _)| *name == group.active)
                .unwrap_or(group.members.len()),
            between: group.members.iter().map(|(_, own)| against(own)).collect(),
            against_none: group.members.iter().map(|(_, own)| Duel::of(tests, own, &group.none)).collect(),
        }
    }

    fn others(&self, own: usize) -> impl Iterator<Item = (usize, &Duel)> {
        self.between[own].iter().enumerate().filter(move |(other, _)| *other != own)
    }

    pub(super) fn choice(&self) -> (Choice, Vec<Reason>) {
        let all = 0..self.names.len();
        let best: Vec<usize> =
            all.clone().filter(|own| self.others(*own).all(|(_, duel)| duel.is_as_good())).collect();
        let Some(&first) = best.iter().find(|own| **own == self.active).or(best.first()) else {
            // Who is worse than somebody somewhere is not the best, whatever is not known.
            let may_be = |own: &usize| self.others(*own).all(|(_, duel)| duel.worse.is_empty());
            return match all.clone().find(may_be) {
                Some(own) => (Choice::Unknown, self.open(own)),
                None => self.person(),
            };
        };
        if let Some(answer) = self.without_any(first) {
            return answer;
        }
        let is_settled = |(other, duel): &(usize, &Duel)| best.contains(other) || duel.is_better_somewhere();
        if let Some((other, duel)) = self.others(first).find(|other| !is_settled(other)) {
            let says = format!("not known to fail with `{}`", self.names[other]);
            let reason = listed("rivals-open", &says, &duel.may_be_better);
            return (Choice::Unbeaten(self.names[first].clone()), reason.into_iter().collect());
        }
        if best.len() > 1 {
            let equal = best.iter().map(|own| self.names[*own].clone()).collect();
            let text = "they are the same in every case".to_owned();
            return (Choice::Equal(equal), vec![Reason { code: "rivals-equal", text }]);
        }
        (Choice::Best(self.names[first].clone()), self.why_best(first))
    }

    /// The answer, if the best of them is not surely better than none.
    fn without_any(&self, best: usize) -> Option<(Choice, Vec<Reason>)> {
        let duel = &self.against_none[best];
        let is_better = duel.is_better_somewhere();
        match (is_better, duel.worse.is_empty()) {
            (true, true) if duel.open.is_empty() => None,
            (true, false) => {
                let name = self.names[best];
                let text = format!(
                    "`{name}` is the best of them, but these are better with none of them: {}",
                    named(&duel.worse)
                );
                let reason = Reason { code: "rivals-apart", text };
                Some((Choice::PersonDecides(vec![name.clone()]), vec![reason]))
            }
            (false, _) if duel.open.is_empty() && duel.may_be_better.is_empty() => {
                let text = "no case is better with any of them".to_owned();
                Some((Choice::NoneOfThem, vec![Reason { code: "rivals-none", text }]))
            }
            _ => {
                let open: Vec<CellId> = duel.open.iter().chain(&duel.may_be_better).cloned().collect();
                let says = "not known to be better than with none of them";
                Some((Choice::Unknown, listed("rivals-open", says, &open).into_iter().collect()))
            }
        }
    }

    fn why_best(&self, best: usize) -> Vec<Reason> {
        let why = |(other, duel): (usize, &Duel)| {
            let text = format!("{}, and is nowhere worse", self.better_than(best, other, duel));
            Reason { code: "rivals-better", text }
        };
        self.others(best).map(why).collect()
    }

    /// `a` passes 12 cases that fail with `b`.
    fn better_than(&self, own: usize, other: usize, duel: &Duel) -> String {
        let (own, other) = (self.names[own], self.names[other]);
        let cases = |n: usize| if n == 1 { "1 case".to_owned() } else { format!("{n} cases") };
        let loud =
            format!("fails loudly in {} of which `{other}` gets a wrong figure", cases(duel.louder.len()));
        let passes = format!("passes {} in which `{other}` fails", cases(duel.passes.len()));
        match (duel.passes.len(), duel.louder.len()) {
            (_, 0) => format!("`{own}` {passes}"),
            (0, _) => format!("`{own}` {loud}"),
            _ => format!("`{own}` {passes}, {loud}"),
        }
    }

    /// What is not known of this one against the others.
    fn open(&self, own: usize) -> Vec<Reason> {
        let reasons = self.others(own).filter_map(|(other, duel)| {
            let says =
                format!("not known to be as good with `{}` as with `{}`", self.names[own], self.names[other]);
            listed("rivals-open", &says, &duel.open)
        });
        reasons.collect()
    }

    /// Those that nobody beats differ: each is better somewhere.
    fn person(&self) -> (Choice, Vec<Reason>) {
        let is_beaten = |own: usize| {
            (0..self.names.len()).filter(|other| *other != own).any(|other| {
                let duel = &self.between[other][own];
                duel.is_better_somewhere() && duel.is_as_good()
            })
        };
        let left: Vec<usize> = (0..self.names.len()).filter(|own| !is_beaten(*own)).collect();
        let mut reasons = Vec::new();
        for (at, own) in left.iter().enumerate() {
            for other in &left[at + 1..] {
                let (duel, back) = (&self.between[*own][*other], &self.between[*other][*own]);
                if duel.is_better_somewhere() && back.is_better_somewhere() {
                    let text = format!(
                        "{}; {}",
                        self.better_than(*own, *other, duel),
                        self.better_than(*other, *own, back)
                    );
                    reasons.push(Reason { code: "rivals-apart", text });
                }
            }
        }
        let left = left.into_iter().map(|own| self.names[own].clone()).collect();
        (Choice::PersonDecides(left), reasons)
    }
}
