//! Several overlays that can go each: can they all go together?
//!
//! Two overlays may cover for each other: without either one all is well, without both it is not. Decides from
//! one more variant, the pin without all of them. Never says that all can go while a case of theirs is not
//! known to pass there.

use super::compare::{Inputs, compare_place};
use super::decision::{Decision, Reason, Verdict};
use super::mark::{Mark, Tri};
use super::proof::{CellId, Linked, Place};
use super::words::listed;

/// Whether all can go.
#[derive(Debug, Clone, PartialEq)]
pub enum Together {
    /// Nothing breaks without all of them.
    AllCanGo,
    /// These cases pass with all of them and fail without all of them: drop one, and prove the others again.
    NotTogether {
        /// The cases.
        cases: Vec<CellId>,
    },
    /// It could not be found out.
    Unknown {
        /// Why.
        reasons: Vec<Reason>,
    },
}

/// Whether the overlays of `members` can all go. `tests`: the tests that are linked to any of them. `pin`:
/// each of these tests at the pin, without all members (and what needs them), and with all active overlays; each
/// run as often as `first_runs` and the members' `runs_needed` say.
#[must_use]
pub fn decide_together(members: &[&Decision], tests: &[Linked], pin: &Place) -> Together {
    let compared = compare_place(tests, pin);
    let mut cases = Vec::new();
    let mut open = Vec::new();
    for (test, compared) in &compared {
        for (case, sides) in &compared.cases {
            let id = CellId { test: test.clone(), case: case.clone() };
            match sides.relation.fixed {
                Tri::Yes => cases.push(id),
                Tri::Maybe => open.push(id),
                Tri::No => {}
            }
        }
    }
    if !cases.is_empty() {
        return Together::NotTogether { cases };
    }
    let droppable = members.iter().filter(|member| member.verdict == Verdict::Droppable);
    for (id, needed) in droppable.flat_map(|member| &member.runs_needed) {
        let test = compared.get(&id.test);
        let is_built = test.is_some_and(|test| test.inputs == Inputs::Differ);
        let passes = test.and_then(|test| test.cases.get(&id.case)).is_some_and(|case| {
            let enough = case.without.runs >= *needed || matches!(case.without.mark, Mark::Measured);
            case.without.passes() == Tri::Yes && enough
        });
        let known = is_built && passes;
        if !known && !open.contains(id) {
            open.push(id.clone());
        }
    }
    let unknown = members.iter().filter(|member| {
        !matches!(member.verdict, Verdict::Droppable | Verdict::Redundant | Verdict::Harmful)
    });
    let mut reasons: Vec<_> = unknown
        .map(|member| Reason {
            code: "not-droppable",
            text: format!("`{}` is {}, so it stays", member.overlay, member.verdict),
        })
        .collect();
    let says = "not known to pass at the pin without all of them";
    reasons.extend(listed("together", says, &open));
    if reasons.is_empty() { Together::AllCanGo } else { Together::Unknown { reasons } }
}
