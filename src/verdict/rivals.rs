//! Rivals side by side: of several overlays that want to mend the same fault, which is the better?
//!
//! In a case, passing is better than failing, and failing loudly is better than failing silently. One rival is
//! better than another if it is better in some case and worse in none. One that is better than all others, and
//! better than doing without any, is the best. Anything else is for a person. Decides from what was measured with
//! each rival in the same place; never weighs one case against another, and never takes the unknown for either.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::compare::{CaseCompared, Compared, compare_place};
use super::decision::{CellView, Exit, Reason};
use super::mark::Tri;
use super::proof::{CellId, Linked, Pair, State};
use super::words::{listed, named, view};
use crate::id::{Name, OverlayName};
use crate::kernel_test::{CaseKey, Manner};

/// What is known of each test on one variant.
pub type Tested = BTreeMap<Name, State>;

/// What was measured of a group of rivals, at the pin.
#[derive(Debug, Clone)]
pub struct Group {
    /// Its name.
    pub name: Name,
    /// The one that is applied.
    pub active: OverlayName,
    /// The tests that are linked to any of them.
    pub tests: Vec<Linked>,
    /// With none of them.
    pub none: Tested,
    /// With each of them in the active one's place.
    pub members: Vec<(OverlayName, Tested)>,
}

/// Which of a group of rivals is the better.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "answer", content = "overlays", rename_all = "kebab-case")]
pub enum Choice {
    /// This one: better than each other one and than none.
    Best(OverlayName),
    /// This one: nowhere worse than another one, and better than none. Whether another one is as good is not known.
    Unbeaten(OverlayName),
    /// These: the same in every case, and better than all others and than none.
    Equal(Vec<OverlayName>),
    /// Each of these is better than another of them somewhere, and worse elsewhere.
    PersonDecides(Vec<OverlayName>),
    /// None is better than doing without.
    NoneOfThem,
    /// It could not be found out.
    Unknown,
}

/// In how many cases something passes and fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Score {
    /// It passes.
    pub passes: usize,
    /// It fails with a crash, an error, a hang, or does not build.
    pub fails_loudly: usize,
    /// It fails with a wrong figure.
    pub fails_silently: usize,
    /// It fails, and it is not known how.
    pub fails: usize,
    /// It is not known, was skipped, or is not there.
    pub unknown: usize,
}

/// A case on one variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shown {
    /// What it came to.
    #[serde(flatten)]
    pub view: CellView,
    /// `loud`, `silent` or `unspecified`, if it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manner: Option<&'static str>,
}

/// A case with none of the rivals, and with each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SideBySide {
    /// The test.
    pub test: Name,
    /// The case.
    pub case: CaseKey,
    /// With none of them.
    pub none: Shown,
    /// With each, in the order of the members.
    pub members: Vec<Shown>,
}

/// A member and its score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// The overlay.
    pub name: OverlayName,
    /// How it does.
    #[serde(flatten)]
    pub score: Score,
}

/// The rivals side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rivals {
    /// The group.
    pub group: Name,
    /// The one that is applied.
    pub active: OverlayName,
    /// Which is the better.
    #[serde(flatten)]
    pub choice: Choice,
    /// Why.
    pub reasons: Vec<Reason>,
    /// With none of them.
    pub none: Score,
    /// Each of them, in the order of the manifest.
    pub members: Vec<Standing>,
    /// Every case.
    pub cells: Vec<SideBySide>,
}

/// Puts a group of rivals side by side.
#[must_use]
pub fn side_by_side(group: &Group) -> Rivals {
    let duels = Duels::of(group);
    let (choice, reasons) = duels.choice();
    let cells = cells(group);
    let count = |shown: &dyn Fn(&SideBySide) -> &Shown| {
        let mut score = Score::default();
        for cell in cells.iter().filter(|cell| !cell.case.is_pseudo()) {
            shown(cell).count(&mut score);
        }
        score
    };
    let members = group.members.iter().enumerate();
    let members = members
        .map(|(at, (name, _))| Standing { name: name.clone(), score: count(&|cell| &cell.members[at]) })
        .collect();
    let none = count(&|cell| &cell.none);
    Rivals { group: group.name.clone(), active: group.active.clone(), choice, reasons, none, members, cells }
}

impl Rivals {
    /// What it means for the exit code, beside the active one's own verdict.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match &self.choice {
            Choice::Best(best) | Choice::Unbeaten(best) if *best == self.active => Exit::AllNeeded,
            Choice::Equal(equal) if equal.contains(&self.active) => Exit::AllNeeded,
            // What is said of the active one says enough.
            Choice::NoneOfThem => Exit::AllNeeded,
            Choice::Best(_) | Choice::Equal(_) | Choice::PersonDecides(_) => Exit::PersonDecides,
            Choice::Unbeaten(_) | Choice::Unknown => Exit::Inconclusive,
        }
    }
}

impl Shown {
    fn count(&self, score: &mut Score) {
        let slot = match (self.view.outcome, self.manner) {
            ("pass" | "measured", _) => &mut score.passes,
            (_, Some("silent")) => &mut score.fails_silently,
            (_, Some("loud")) | ("unrun", _) => &mut score.fails_loudly,
            (_, Some(_)) => &mut score.fails,
            _ => &mut score.unknown,
        };
        *slot += 1;
    }
}

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

/// Two variants, as the verdicts compare them.
fn compare(tests: &[Linked], without: &Tested, with: &Tested) -> Compared {
    let state = |tested: &Tested, test: &Name| tested.get(test).cloned().unwrap_or_default();
    let pair = |test: &Name| Pair { without: state(without, test), with: state(with, test) };
    let place = tests.iter().map(|test| (test.name.clone(), pair(&test.name))).collect();
    compare_place(tests, &place)
}

/// Each against each, and against none.
struct Duels<'a> {
    names: Vec<&'a OverlayName>,
    /// The place of the one that is applied, or one past the end.
    active: usize,
    /// `between[a][b]`: a against b.
    between: Vec<Vec<Duel>>,
    against_none: Vec<Duel>,
}

impl<'a> Duels<'a> {
    fn of(group: &'a Group) -> Self {
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

    fn choice(&self) -> (Choice, Vec<Reason>) {
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

/// Every case with none and with each. Pseudo-cases are there if one of them fails.
fn cells(group: &Group) -> Vec<SideBySide> {
    let compared: Vec<Compared> =
        group.members.iter().map(|(_, tested)| compare(&group.tests, &group.none, tested)).collect();
    let mut ids: BTreeSet<CellId> = BTreeSet::new();
    for (test, compared) in compared.iter().flatten() {
        let cases = compared.cases.keys();
        ids.extend(cases.map(|case| CellId { test: test.clone(), case: case.clone() }));
    }
    let mut cells = Vec::new();
    for CellId { test, case } in ids {
        let sides = |member: &Compared| -> Option<(Shown, Shown)> {
            let sides = member.get(&test)?.cases.get(&case)?;
            Some((show(Some(sides), true), show(Some(sides), false)))
        };
        let sides: Vec<Option<(Shown, Shown)>> = compared.iter().map(sides).collect();
        let none = sides.iter().flatten().map(|(none, _)| none.clone()).next();
        let or_missing = |shown: Option<Shown>| shown.unwrap_or_else(|| show(None, true));
        let members: Vec<Shown> =
            sides.into_iter().map(|side| or_missing(side.map(|(_, member)| member))).collect();
        let none = or_missing(none);
        let fails = members.iter().chain([&none]).any(|shown| shown.manner.is_some());
        if !case.is_pseudo() || fails {
            cells.push(SideBySide { test, case, none, members });
        }
    }
    cells
}

fn show(sides: Option<&CaseCompared>, without: bool) -> Shown {
    let side = sides.map(|sides| if without { &sides.without } else { &sides.with });
    let manner = side.and_then(super::mark::Side::manner).map(|manner| match manner {
        Manner::Loud => "loud",
        Manner::Silent => "silent",
        Manner::Unspecified => "unspecified",
    });
    Shown { view: view(side), manner }
}
