//! The proof as a person reads it.

use std::collections::{BTreeMap, BTreeSet};

use crate::escape::for_terminal;
use crate::evidence::took::Took;
use crate::id::Name;
use crate::io::lab::campaign::Candidate;
use crate::kernel_test::{CaseKey, ranges};
use crate::report::hand::Hand;
use crate::verdict::group::Together;
use crate::verdict::{CellId, CellRow, CellView, Decision, Verdict};

use super::super::status::by_need;
use super::super::table::{self, TableCell};
use super::super::test::one_alone;
use super::super::ui::ONE_ALONE;
use super::super::{Tone, legend};
use super::{Outcome, is_gap, reason_text};

/// The verdicts: an overlay after the other, then all of them in one table.
#[must_use]
pub fn render(outcome: &Outcome, verbose: bool) -> String {
    let mut out = Out::default();
    write_all(outcome, verbose, &mut out);
    out.0
}

/// Lines of the result.
#[derive(Default)]
struct Out(String);

impl Out {
    fn line(&mut self, text: impl std::fmt::Display) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(&text.to_string());
    }
}

fn write_all(outcome: &Outcome, verbose: bool, out: &mut Out) {
    // What needs a hand first; then as in the manifest.
    let hands: Vec<Hand> = outcome.decisions.iter().map(|decision| hand(outcome, decision)).collect();
    let order = by_need(&hands);
    let all = order.iter().filter_map(|at| outcome.candidates.get(*at).zip(outcome.decisions.get(*at)));
    // In a dry run, those of which nothing is known say nothing.
    for (candidate, decision) in all.filter(|(_, d)| !is_open(outcome, d)) {
        let is_back = outcome.standing_back.contains(&decision.overlay);
        let test_command = (!is_back).then_some(outcome.test_command.as_str());
        print_one(candidate, decision, test_command, verbose, out);
    }
    if !outcome.off.is_empty() {
        let off = outcome.off.iter().map(Name::as_str).collect::<Vec<_>>().join(", ");
        out.line(format_args!("off under these features, and not proven here: {off}\n"));
    }
    if outcome.decisions.is_empty() {
        out.line("no overlays to prove");
        return;
    }
    if !outcome.on_record.is_empty() {
        print_on_record(outcome, out);
    }
    if !outcome.left.is_empty() {
        print_left(outcome, out);
    }
    let rows: Vec<Vec<TableCell>> = order
        .iter()
        .filter_map(|at| outcome.decisions.get(*at))
        .map(|decision| {
            if is_open(outcome, decision) {
                return vec![decision.overlay.as_str().into(), Tone::Dim.cell("not proven yet")];
            }
            let advice = match outcome.stand_back.contains(&decision.overlay) {
                true => Tone::Dim.cell("stands back for a rival"),
                false => decision.verdict.advice().into(),
            };
            vec![
                decision.overlay.as_str().into(),
                tone(decision.verdict).cell(decision.verdict.as_str()),
                advice,
            ]
        })
        .collect();
    let table = table::render(&["overlay", "verdict", "what to do"], &rows);
    out.line(table.trim_end());
    let meanings = legend::lines(&[meanings(outcome)], None);
    let is_empty = meanings.is_empty();
    if !is_empty {
        out.line("");
    }
    for line in meanings {
        out.line(line);
    }
    if !is_empty {
        out.line(Tone::Dim.paint("more about a word: overlaid prove --explain WORD"));
    }
    for contest in &outcome.rivals {
        for line in super::rivals::lines(contest) {
            out.line(line);
        }
    }
    if let Some((names, together)) = &outcome.together {
        let members = names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ");
        match together {
            Together::AllCanGo => {
                out.line(format_args!("\nall of these can go at once: {members}"));
                out.line(format_args!("  {}", drop_at_once(outcome, names)));
            }
            Together::NotTogether { cases } => {
                out.line(format_args!(
                    "\n{}: each can go, but not all of {members} at once. Drop one, and prove again.",
                    Tone::Warning.paint("not together")
                ));
                for line in describe(cases, &outcome.decisions) {
                    out.line(format_args!("  without all of them these fail: {line}"));
                }
            }
            Together::Unknown { reasons } => {
                out.line(format_args!("\nwhether all of {members} can go at once is not known:"));
                for reason in reasons {
                    out.line(format_args!("  {}", reason_text(reason)));
                }
            }
        }
    }
}

/// The one command that drops them all, and what is to be proven before it does.
fn drop_at_once(outcome: &Outcome, names: &[Name]) -> String {
    let command = outcome.drop_command(names);
    let gaps = outcome.decisions.iter().filter(|decision| names.contains(&decision.overlay));
    let gaps = gaps.flat_map(|decision| &decision.reasons).filter(|reason| is_gap(reason));
    let gaps: BTreeSet<&str> = gaps.map(|gap| gap.text.as_str()).collect();
    match gaps.into_iter().map(for_terminal).collect::<Vec<_>>().join("; ") {
        none if none.is_empty() => format!("to drop them: {command}"),
        gaps => format!("{gaps}; then: {command}"),
    }
}

/// What there is to do about an overlay. One that a rival is applied instead of waits for nobody.
fn hand(outcome: &Outcome, decision: &Decision) -> Hand {
    if outcome.stand_back.contains(&decision.overlay) {
        return Hand::Keep;
    }
    let is_contradicted = decision.reasons.iter().any(|reason| reason.code == "attested-otherwise");
    if is_contradicted { Hand::Decide } else { Hand::of_verdict(decision.verdict.as_str()) }
}

/// What the verdicts mean that stand in the table.
fn meanings(outcome: &Outcome) -> legend::Group {
    let given = outcome.decisions.iter().filter(|decision| !is_open(outcome, decision));
    let given: Vec<Verdict> = given.map(|decision| decision.verdict).collect();
    let mut words: Vec<Verdict> =
        Verdict::ALL.into_iter().filter(|verdict| given.contains(verdict)).collect();
    words.sort_by_key(|verdict| Hand::of_verdict(verdict.as_str()));
    let words = words.into_iter().map(|verdict| (verdict.as_str().to_owned(), verdict.meaning().to_owned()));
    legend::Group { title: "verdict", words: words.collect() }
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Needed => Tone::Good,
        Verdict::Harmful => Tone::Bad,
        Verdict::Mixed | Verdict::Ineffective | Verdict::Unproven | Verdict::Inconclusive => Tone::Warning,
        Verdict::Droppable | Verdict::Redundant => Tone::Strong,
    }
}

fn print_one(
    candidate: &Candidate,
    decision: &Decision,
    test_command: Option<&str>,
    verbose: bool,
    out: &mut Out,
) {
    let verdict = tone(decision.verdict).paint(decision.verdict);
    // The sentence begins with the verdict, which stands before it in colour.
    let start = format!("{}: ", decision.verdict);
    let sentence = decision.first_line.strip_prefix(&start).unwrap_or(&decision.first_line);
    out.line(format_args!("{}: {verdict}", Tone::Strong.paint(&decision.overlay)));
    out.line(format_args!("  {}", for_terminal(sentence)));
    if !decision.cells.is_empty() {
        print_variants(candidate, decision, out);
    }
    let lists = [
        ("mends", &decision.fixed),
        ("breaks", &decision.broken),
        ("fails with and without it", &decision.unfixed),
        ("fails loudly without it, silently with it", &decision.silenced),
        ("fails silently without it, loudly with it", &decision.unsilenced),
    ];
    for (what, cases) in lists {
        for line in describe(cases, std::slice::from_ref(decision)) {
            out.line(format_args!("  {what}: {line}"));
        }
    }
    if decision.verdict == Verdict::Droppable {
        for line in describe(&decision.attributed, std::slice::from_ref(decision)) {
            out.line(format_args!("  was there for: {line}"));
        }
    }
    if let Some(line) = test_command.and_then(|command| one_alone_of(decision, command)) {
        out.line(format_args!("  {ONE_ALONE} {line}"));
    }
    // The cases of these are listed above, in fewer words.
    let listed = ["fixes", "breaks", "passes-without", "does-not-fix"];
    for reason in decision.reasons.iter().filter(|reason| !listed.contains(&reason.code)) {
        out.line(format_args!(
            "  {} {}",
            Tone::Dim.paint(format_args!("{}:", reason.code)),
            reason_text(reason)
        ));
    }
    if verbose {
        print_cells(decision, out);
    }
    out.line("");
}

/// The four variants, with how many cells fail of how many.
fn print_variants(candidate: &Candidate, decision: &Decision, out: &mut Out) {
    // Building and running count where they say something.
    let says_something = |row: &&CellRow| {
        let is_pseudo = case_key(&row.case).is_none();
        let views = [
            Some(&row.pin_without),
            Some(&row.pin_with),
            row.witness_without.as_ref(),
            row.witness_with.as_ref(),
        ];
        let is_plain = |view: &CellView| ["pass", "missing", "not run"].contains(&view.outcome);
        !is_pseudo || decision.cells.len() == 1 || !views.into_iter().flatten().all(is_plain)
    };
    let rows: Vec<&CellRow> = decision.cells.iter().filter(says_something).collect();
    // What does not build or run has no cases; else only cases are counted.
    let is_build_or_run = |row: &CellRow| ["build", "run"].contains(&row.case.as_str());
    let has_cases = rows.iter().any(|row| !is_build_or_run(row));
    let count = |view: &dyn Fn(&CellRow) -> Option<CellView>| -> TableCell {
        let broken = rows.iter().find(|row| {
            is_build_or_run(row) && has_cases && view(row).is_some_and(|view| view.outcome == "fail")
        });
        if let Some(row) = broken {
            return Tone::Bad.cell(if row.case == "build" { "does not build" } else { "does not run" });
        }
        let counted = rows.iter().filter(|row| !has_cases || !is_build_or_run(row));
        let views: Vec<CellView> = counted.filter_map(|row| view(row)).collect();
        let has = |word: &str| views.iter().filter(|view| view.outcome == word).count();
        let (failed, flaky) = (has("fail"), has("flaky"));
        let ran = failed + flaky + has("pass") + has("measured");
        if ran == 0 {
            let words: BTreeMap<&str, usize> = views.iter().fold(BTreeMap::new(), |mut words, view| {
                *words.entry(view.outcome).or_default() += 1;
                words
            });
            let word = words.into_iter().max_by_key(|(_, count)| *count).map_or("not run", |(word, _)| word);
            return Tone::Dim.cell(word);
        }
        let flaky = if flaky > 0 { format!(", {flaky} flaky") } else { String::new() };
        let text = if failed == 0 && flaky.is_empty() {
            format!("{ran} pass")
        } else {
            format!("{failed} of {ran} fail{flaky}")
        };
        if failed == 0 && flaky.is_empty() { Tone::Good.cell(text) } else { Tone::Bad.cell(text) }
    };
    let mut lines: Vec<Vec<TableCell>> = Vec::new();
    let is_known = rows.iter().any(|row| {
        let views = row.witness_without.iter().chain(&row.witness_with);
        views.into_iter().any(|view| !["missing", "not run"].contains(&view.outcome))
    });
    if let Some([without, _]) = candidate.variants.witness.as_ref().filter(|_| is_known) {
        let name = match &without.fault {
            Some(fault) => format!("witness {}", fault.display()),
            None => format!("witness {}", without.commit.short()),
        };
        lines.push(vec![
            name.into(),
            count(&|row| row.witness_without.clone()),
            count(&|row| row.witness_with.clone()),
        ]);
    }
    let pin = candidate.variants.pin_with.commit.short();
    let pin = format!("pin {pin}");
    lines.push(vec![
        pin.into(),
        count(&|row| Some(row.pin_without.clone())),
        count(&|row| Some(row.pin_with.clone())),
    ]);
    for line in table::render(&["", "without", "with"], &lines).lines() {
        out.line(format_args!("    {line}"));
    }
}

/// The command that runs one of the cases that fail at the pin on one side alone.
fn one_alone_of(decision: &Decision, test_command: &str) -> Option<String> {
    let without = format!(" --without {}", decision.overlay);
    let of = |cases: &[CellId], options: &str| {
        let id = cases.iter().find(|id| id.case.object().is_some())?;
        one_alone(&format!("{test_command} {}{options}", id.test), std::iter::once(&id.case))
    };
    of(&decision.fixed, &without).or_else(|| of(&decision.broken, ""))
}

/// Cases in few words, a test after the other.
fn describe(cases: &[CellId], decisions: &[Decision]) -> Vec<String> {
    let mut tests: BTreeMap<&Name, Vec<&CaseKey>> = BTreeMap::new();
    for id in cases {
        tests.entry(&id.test).or_default().push(&id.case);
    }
    let mut lines = Vec::new();
    for (test, chosen) in tests {
        let rows = decisions.iter().flat_map(|decision| &decision.cells).filter(|row| row.test == *test);
        let mut all: BTreeMap<CaseKey, bool> =
            rows.filter_map(|row| Some((case_key(&row.case)?, false))).collect();
        for case in chosen {
            all.insert(case.clone(), true);
        }
        let all: Vec<(&CaseKey, bool)> = all.iter().map(|(case, chosen)| (case, *chosen)).collect();
        lines.extend(ranges::describe(&all).iter().map(|line| format!("{test}: {}", for_terminal(line))));
    }
    lines
}

/// The case that a row names. Pseudo-cases are listed only where they are chosen.
fn case_key(text: &str) -> Option<CaseKey> {
    let case: CaseKey = serde_json::from_value(text.into()).ok()?;
    (!case.is_pseudo()).then_some(case)
}

fn print_cells(decision: &Decision, out: &mut Out) {
    let word = |view: &CellView| {
        let value = view.value.map(|value| format!(" {value:.3e}")).unwrap_or_default();
        let text = format!("{}{value}", view.outcome);
        match view.outcome {
            "pass" => Tone::Good.cell(text),
            "fail" | "flaky" => Tone::Bad.cell(text),
            _ => Tone::Dim.cell(text),
        }
    };
    let or_dash = |view: &Option<CellView>| view.as_ref().map_or_else(|| "-".into(), word);
    let rows: Vec<Vec<TableCell>> = decision
        .cells
        .iter()
        .map(|row| {
            vec![
                format!("{} {}{}", row.test, for_terminal(&row.case), if row.attributed { " *" } else { "" })
                    .into(),
                or_dash(&row.witness_without),
                or_dash(&row.witness_with),
                word(&row.pin_without),
                word(&row.pin_with),
            ]
        })
        .collect();
    let heading = ["case (* = it is there for it)", "witness without", "with", "pin without", "with"];
    for line in table::render(&heading, &rows).lines() {
        out.line(format_args!("    {line}"));
    }
}

/// Whether a dry run leaves it open what becomes of an overlay.
fn is_open(outcome: &Outcome, decision: &Decision) -> bool {
    outcome.too_short.is_none() && !outcome.left.is_empty() && !decision.wants.is_empty()
}

fn print_on_record(outcome: &Outcome, out: &mut Out) {
    out.line("on record, and still valid:");
    let rows: Vec<Vec<TableCell>> = outcome
        .on_record
        .iter()
        .map(|valid| {
            let runs = match valid.runs {
                0 => "does not build".to_owned(),
                runs => runs.to_string(),
            };
            vec![valid.variant.as_str().into(), valid.test.as_str().into(), runs.into()]
        })
        .collect();
    out.line(table::render(&["variant", "test", "runs"], &rows));
}

fn print_left(outcome: &Outcome, out: &mut Out) {
    match outcome.too_short {
        None => out.line("would be built and run:"),
        Some(budget) => {
            let budget = time(u64::try_from(budget.as_millis()).unwrap_or(u64::MAX));
            out.line(format_args!(
                "left to build and run, since it would not end within the budget of {budget}:"
            ));
        }
    }
    let known = |millis: Option<u64>| millis.map_or_else(|| "?".to_owned(), time);
    let rows: Vec<Vec<TableCell>> = outcome
        .left
        .iter()
        .map(|planned| {
            let build = match planned.took.build {
                Some(0) => "nothing to build".to_owned(),
                build => known(build),
            };
            let running = Took { build: None, ..planned.took }.with_runs(planned.runs);
            vec![
                planned.variant.as_str().into(),
                planned.test.as_str().into(),
                build.into(),
                planned.runs.to_string().into(),
                known(running).into(),
            ]
        })
        .collect();
    out.line(table::render(&["variant", "test", "build", "runs", "together"], &rows));
    let millis: Vec<u64> = outcome.left.iter().filter_map(|planned| planned.millis).collect();
    if millis.is_empty() {
        out.line("how long that takes is not known: nothing was built and run here yet");
    } else {
        let all = time(millis.iter().sum());
        let is_part = outcome.left.iter().any(|left| left.took.build.is_none() || left.took.run.is_none());
        let least = if is_part { "at least " } else { "about " };
        out.line(format_args!("{least}{all}, by what earlier builds and runs took"));
    }
    match outcome.too_short {
        None => out.line("then, where the pin does not decide, the witness\n"),
        Some(_) => out.line("the same command goes on from there; what was measured is on record\n"),
    }
}

/// A length of time, as short as it can be said.
fn time(millis: u64) -> String {
    let seconds = millis as f64 / 1000.0;
    match millis {
        0..1000 => format!("{millis} ms"),
        1000..60_000 => format!("{seconds:.1} s"),
        _ => format!("{:.1} min", seconds / 60.0),
    }
}
