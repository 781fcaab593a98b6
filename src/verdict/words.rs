//! A decision in sentences and rows. Decides nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::compare::{CaseCompared, Compared};
use super::decision::{CellRow, CellView, Decision, Reason, Verdict};
use super::mark::{Mark, Side, Tri};
use super::proof::{CellId, Proof, State, Witness};
use super::table::{Open, Spot};
use crate::id::Name;
use crate::kernel_test::{CaseKey, FailHow};

/// How many cases a sentence names before it says how many more there are.
const NAMED: usize = 3;

/// The verdict in one sentence, without a full stop.
pub(super) fn first_line(proof: &Proof, decision: &Decision, open: usize) -> String {
    let others: Vec<_> =
        proof.removed.iter().filter(|name| **name != proof.overlay).map(|name| format!("`{name}`")).collect();
    let without = match others.as_slice() {
        [] => "without it".to_owned(),
        [one] => format!("without it and {one}, which needs it,"),
        more => format!("without it and {}, which need it,", more.join(", ")),
    };
    let Decision { fixed, broken, attributed, silenced, .. } = decision;
    match decision.verdict {
        Verdict::Needed => {
            let mut line = format!("needed: {}; it breaks none", turn(fixed, &without, "with it"));
            if !silenced.is_empty() {
                line.push_str(&format!(
                    "; but {} loudly without it and silently with it",
                    fail(silenced.len(), "")
                ));
            }
            line
        }
        Verdict::Harmful => {
            format!("harmful: {}, and it mends none; drop it now", turn(broken, "with it", "without it"))
        }
        Verdict::Mixed => format!(
            "mixed: {}, and {}; a person decides",
            turn(fixed, &without, "with it"),
            turn(broken, "with it", "without it")
        ),
        Verdict::Ineffective => {
            let still = decision.unfixed.iter().filter(|id| attributed.contains(id)).count();
            format!(
                "ineffective: {} with and without it at the pin; it does not do its job, a person decides",
                fail(still, "that it is there for")
            )
        }
        Verdict::Droppable => {
            let own = match attributed.len() {
                1 => "the case that it is there for passes".to_owned(),
                n => format!("all {n} cases that it is there for pass"),
            };
            format!("droppable: {without} {own}, and it changes no other; drop it")
        }
        Verdict::Unproven => {
            "unproven: it changes no case, and the tests have never seen the fault; a person decides"
                .to_owned()
        }
        Verdict::Redundant => {
            "redundant: comments aside, the pin has all of it, so there is nothing to run; drop it".to_owned()
        }
        Verdict::Inconclusive if open == 0 => {
            "inconclusive: whether its tests build and run could not be found out".to_owned()
        }
        Verdict::Inconclusive => {
            let what = count(open, "case");
            format!("inconclusive: what {what} would come to could not be found out")
        }
    }
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("{n} {what}") } else { format!("{n} {what}s") }
}

fn fail(n: usize, which: &str) -> String {
    let space = if which.is_empty() { "" } else { " " };
    if n == 1 { format!("1 case{space}{which} fails") } else { format!("{n} cases{space}{which} fail") }
}

/// Cases that come out one way on one side and the other way on the other. What is no case of a test has a name of its own.
fn turn(cases: &[CellId], fails: &str, passes: &str) -> String {
    let (mut of_tests, mut builds, mut runs, mut checks) = (0, 0, 0, 0);
    for id in cases {
        *match id.case.as_str() {
            _ if !id.case.is_pseudo() => &mut of_tests,
            "build" => &mut builds,
            "run" => &mut runs,
            _ => &mut checks,
        } += 1;
    }
    let all = [(of_tests, "case"), (builds, "build"), (runs, "run"), (checks, "sanitizer check")];
    let all: Vec<String> = all.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| count(n, what)).collect();
    let what = all.join(" and ");
    if cases.len() == 1 {
        format!("{what} fails {fails} and passes {passes}")
    } else {
        format!("{what} fail {fails} and pass {passes}")
    }
}

/// Some cases by name, and how many more there are: `rms {"axis":512}, rms {"axis":513} and 32 more`.
pub(super) fn named(cases: &[CellId]) -> String {
    let mut text = cases.iter().take(NAMED).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if cases.len() > NAMED {
        text.push_str(&format!(" and {} more", cases.len() - NAMED));
    }
    text
}

/// A reason that lists cases; none if there are none.
pub(super) fn listed(code: &'static str, says: &str, cases: &[CellId]) -> Option<Reason> {
    let text = || format!("{says}: {}", named(cases));
    (!cases.is_empty()).then(|| Reason { code, text: text() })
}

/// Why a verdict could not be given: one reason for each test, place and cause, with the cases it concerns.
pub(super) fn open_reasons(open: &Open) -> Vec<Reason> {
    let mut groups: BTreeMap<(&'static str, Spot, &Name), (&str, Vec<CellId>)> = BTreeMap::new();
    for (id, spot, blocker) in open.iter() {
        let group = groups.entry((blocker.code, *spot, &id.test)).or_insert((&blocker.text, Vec::new()));
        group.1.push(id.clone());
    }
    let place = |spot| match spot {
        Spot::PinWithout => "at the pin without the overlay",
        Spot::PinWith => "at the pin with the overlay",
        Spot::Witness => "at the witness",
    };
    groups
        .into_iter()
        .map(|((code, spot, test), (text, cases))| {
            let real: Vec<_> = cases.into_iter().filter(|id| !is_build_or_run(&id.case)).collect();
            let which = if real.is_empty() { format!("`{test}`") } else { named(&real) };
            Reason { code, text: format!("{which} {}: {text}", place(spot)) }
        })
        .collect()
}

pub(super) fn is_build_or_run(case: &CaseKey) -> bool {
    *case == CaseKey::build() || *case == CaseKey::run()
}

/// What the verdict rests on, and what a reader should know beside it.
pub(super) fn verdict_reasons(proof: &Proof, decision: &Decision) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if decision.verdict == Verdict::Droppable {
        reasons.extend(listed("passes-without", "pass at the pin without it", &decision.attributed));
    }
    reasons.extend(listed("fixes", "fail at the pin without it and pass with it", &decision.fixed));
    reasons.extend(listed("breaks", "pass at the pin without it and fail with it", &decision.broken));
    let (own, others): (Vec<_>, Vec<_>) =
        decision.unfixed.iter().cloned().partition(|id| decision.attributed.contains(id));
    reasons.extend(listed("does-not-fix", "it is there for these, and they fail at the pin with it", &own));
    reasons.extend(listed("unfixed", "fail at the pin on both sides and decide nothing", &others));
    reasons.extend(listed("silenced", "fail loudly without it and silently with it", &decision.silenced));
    reasons.extend(listed("unsilenced", "fail silently without it and loudly with it", &decision.unsilenced));
    let others: Vec<_> = proof.removed.iter().filter(|name| **name != proof.overlay).collect();
    if !others.is_empty() {
        let names = others.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let text = format!("without it also means without {names}: that needs it");
        reasons.push(Reason { code: "removed-with", text });
    }
    reasons
}

/// What sanitizers found, at the pin and at the witness: one reason for each tool and place.
pub(super) fn findings(pin: &Compared, witness: Option<&Compared>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for (place, compared) in [("pin", Some(pin)), ("witness", witness)] {
        for (test, compared) in compared.into_iter().flatten() {
            for (case, sides) in &compared.cases {
                for (side, with) in [(&sides.without, "without"), (&sides.with, "with")] {
                    let Some(FailHow::Sanitizer { text }) = side.how() else { continue };
                    let text = format!("{test} {case} at the {place} {with} the overlay: {text}");
                    reasons.push(Reason { code: "finding", text });
                }
            }
        }
    }
    reasons
}

/// How many times as long it takes at the pin on one side as on the other, the largest difference first.
pub(super) fn speeds(pin: &Compared) -> Vec<Reason> {
    let mut all: Vec<(f64, String)> = Vec::new();
    for (test, compared) in pin {
        for (case, sides) in &compared.cases {
            let Some((words, speed)) = sides.speed.and_then(|speed| Some((speed.words()?, speed))) else {
                continue;
            };
            let [without, with] = speed.medians;
            all.push(((with / without).ln().abs(), format!("{test} {case} {words}")));
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let left = all.len().saturating_sub(NAMED);
    let mut reasons: Vec<Reason> =
        all.into_iter().take(NAMED).map(|(_, text)| Reason { code: "speed", text }).collect();
    if left > 0 {
        let text = format!("{left} more figures of speed differ, by less");
        reasons.push(Reason { code: "speed", text });
    }
    reasons
}

/// What was odd in the runs and decides nothing, each once.
pub(super) fn notes(proof: &Proof) -> Vec<Reason> {
    let empty = BTreeMap::new();
    let witness = match &proof.witness {
        Witness::IsPin => &empty,
        Witness::At(place) => place,
    };
    let mut notes = BTreeSet::new();
    for (test, pair) in proof.pin.iter().chain(witness) {
        for state in [&pair.without, &pair.with] {
            let State::Ran(ran) = state else { continue };
            for note in ran.runs.iter().flat_map(|run| &run.notes) {
                notes.insert(format!("`{test}`: {note}"));
            }
        }
    }
    notes.into_iter().map(|text| Reason { code: "note", text }).collect()
}

/// Every case on every variant. Pseudo-cases that pass everywhere are left out.
pub(super) fn rows(pin: &Compared, witness: Option<&Compared>, attributed: &[CellId]) -> Vec<CellRow> {
    let attributed: BTreeSet<&CellId> = attributed.iter().collect();
    let mut rows = Vec::new();
    for (test, at_pin) in pin {
        let at_witness = witness.and_then(|witness| witness.get(test));
        let mut keys: BTreeSet<&CaseKey> = at_pin.cases.keys().collect();
        keys.extend(at_witness.iter().flat_map(|compared| compared.cases.keys()));
        for key in keys {
            let pin = at_pin.cases.get(key);
            // A test that was not run at the witness has no cases there yet; its build says so.
            let unseen = at_witness.and_then(|compared| {
                compared.cases.get(&CaseKey::build()).filter(|build| is_not_run(&build.without))
            });
            let witness = at_witness.map(|compared| compared.cases.get(key).or(unseen));
            let all = [pin, witness.flatten()];
            let passes =
                |case: &CaseCompared| case.without.passes() == Tri::Yes && case.with.passes() == Tri::Yes;
            if is_build_or_run(key) && all.into_iter().flatten().all(passes) {
                let only = at_pin.cases.keys().all(CaseKey::is_pseudo) && *key == CaseKey::run();
                if !only {
                    continue;
                }
            }
            let id = CellId { test: test.clone(), case: key.clone() };
            rows.push(CellRow {
                test: test.clone(),
                case: key.as_str().to_owned(),
                witness_without: witness.map(|case| view(case.map(|case| &case.without))),
                witness_with: witness.map(|case| view(case.map(|case| &case.with))),
                pin_without: view(pin.map(|case| &case.without)),
                pin_with: view(pin.map(|case| &case.with)),
                attributed: attributed.contains(&id),
            });
        }
    }
    rows
}

fn is_not_run(side: &Side) -> bool {
    matches!(&side.mark, Mark::Unknown(blocker) if blocker.code == "not-run")
}

pub(super) fn view(side: Option<&Side>) -> CellView {
    let Some(side) = side else {
        return CellView { outcome: "missing", text: None, value: None, runs: 0, failed: 0 };
    };
    let (outcome, text) = match &side.mark {
        Mark::Pass => ("pass", None),
        Mark::Fail { how, .. } => ("fail", Some(how.to_string())),
        Mark::Varies { how, failing, .. } => {
            let seeds = failing.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            ("fail", Some(format!("{how}; with seed {seeds} only")))
        }
        Mark::Measured => ("measured", None),
        Mark::Behind => ("unrun", None),
        Mark::Skip(why) => ("skip", Some(why.clone())),
        Mark::Absent => ("missing", None),
        Mark::Unknown(blocker) => {
            let word = match blocker.code {
                "flaky" => "flaky",
                "not-run" => "not run",
                "missing-case" => "missing",
                _ => "unknown",
            };
            (word, Some(blocker.text.clone()))
        }
    };
    CellView { outcome, text, value: side.value, runs: side.runs, failed: side.failed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_case_fails_and_two_cases_fail() {
        let test = Name::parse("t").unwrap();
        let of = |case: CaseKey| CellId { test: test.clone(), case };
        let case = |n: u32| of(serde_json::from_value(format!("{{\"n\":{n}}}").into()).unwrap());
        let said = |cases: &[CellId]| turn(cases, "without it", "with it");
        assert_eq!(said(&[case(1)]), "1 case fails without it and passes with it");
        assert_eq!(said(&[case(1), case(2)]), "2 cases fail without it and pass with it");
        // What is no case of a test is not counted as one.
        assert_eq!(said(&[of(CaseKey::build())]), "1 build fails without it and passes with it");
        let checked = of(serde_json::from_value("sanitizer:memcheck".into()).unwrap());
        assert_eq!(
            said(&[case(1), case(2), checked]),
            "2 cases and 1 sanitizer check fail without it and pass with it"
        );
    }
}
