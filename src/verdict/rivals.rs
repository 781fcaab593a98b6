//! Rivals side by side: of several overlays that want to mend the same fault, which is the better?
//!
//! In a case, passing is better than failing, and failing loudly is better than failing silently. One rival is
//! better than another if it is better in some case and worse in none. One that is better than all others, and
//! better than doing without any, is the best. Anything else is for a person. Decides from what was measured with
//! each rival in the same place; never weighs one case against another, and never takes the unknown for either.

mod duel;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::compare::{CaseCompared, Compared, compare_place};
use super::decision::{CellView, Exit, Reason};
use super::proof::{CellId, Linked, Pair, State};
use super::words::view;
use crate::id::{Name, OverlayName};
use crate::kernel_test::{CaseKey, Manner};
use duel::Duels;

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

/// Two variants, as the verdicts compare them.
fn compare(tests: &[Linked], without: &Tested, with: &Tested) -> Compared {
    let state = |tested: &Tested, test: &Name| tested.get(test).cloned().unwrap_or_default();
    let pair = |test: &Name| Pair { without: state(without, test), with: state(with, test) };
    let place = tests.iter().map(|test| (test.name.clone(), pair(&test.name))).collect();
    compare_place(tests, &place)
}
