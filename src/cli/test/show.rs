//! What a person sees of a test: a table of the variants, then of the cases.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::table::{self, TableCell};
use super::super::{Tone, Ui};
use super::{Cases, Column, fails, one_alone, passes, trouble, watched, watched_words, word};
use crate::escape::for_terminal;
use crate::io::lab::trial::kept_output;
use crate::kernel_test::repeats::Seen;
use crate::kernel_test::{CaseKey, CellOutcome, End, Process, Run, ranges};
use crate::manifest::Test;
use crate::verdict::State;

pub(super) fn print(
    test: &Test,
    columns: &[Column],
    cases: &[Option<Cases>],
    root: &Path,
    verbose: bool,
    ui: &mut Ui,
) {
    ui.line(Tone::Strong.paint(&test.name.value));
    let rows: Vec<Vec<TableCell>> = columns
        .iter()
        .zip(cases)
        .map(|(column, cases)| {
            let mut row: Vec<TableCell> = vec![for_terminal(&column.label).into()];
            if let Some(text) = trouble(&column.state, cases.as_ref()) {
                row.push(Tone::Warning.cell(for_terminal(text)));
                return row;
            }
            let Some(cases) = cases else { return row };
            let count = |is: &dyn Fn(&Seen) -> bool| cases.values().filter(|case| is(&case.seen)).count();
            let (passed, failed) = (count(&passes), count(&fails));
            let other = cases.len() - passed - failed;
            row.push(cases.len().to_string().into());
            row.push(passed.to_string().into());
            row.push(match failed {
                0 => Tone::Good.cell("0"),
                _ => Tone::Bad.cell(failed.to_string()),
            });
            row.push(if other > 0 { Tone::Warning.cell(other.to_string()) } else { "".into() });
            let worst = cases
                .values()
                .filter_map(|case| case.value)
                .fold(None, |worst: Option<f64>, value| Some(worst.map_or(value, |worst| worst.max(value))));
            row.push(worst.map_or_else(|| "".into(), |worst| format!("{worst:.3e}").into()));
            row
        })
        .collect();
    for line in table::render(&["at", "cases", "pass", "fail", "other", "worst"], &rows).lines() {
        ui.line(format_args!("  {line}"));
    }
    for (column, cases) in columns.iter().zip(cases) {
        let Some(cases) = cases else { continue };
        let failing: Vec<(&CaseKey, bool)> =
            cases.iter().map(|(key, case)| (key, fails(&case.seen))).collect();
        for line in ranges::describe(&failing) {
            ui.line(format_args!("  fail at {}: {}", for_terminal(&column.label), for_terminal(line)));
        }
        if let Some(words) = other_words(cases) {
            ui.line(format_args!("  other at {}: {words}", for_terminal(&column.label)));
        }
        if cases.values().any(|case| fails(&case.seen)) {
            print_output(column, root, ui);
        }
        let failing = cases.iter().filter(|(_, case)| fails(&case.seen)).map(|(key, _)| key);
        if let Some(line) = one_alone(&column.command, failing) {
            ui.line(format_args!("  one alone: {line}"));
        }
        for (tool, outcome) in watched(&column.state) {
            let (word, text) = watched_words(outcome);
            let tone = match word {
                "pass" => Tone::Good,
                "fail" => Tone::Bad,
                _ => Tone::Warning,
            };
            let word = tone.paint(word);
            let at = for_terminal(&column.label);
            ui.line(format_args!("  sanitizer:{tool} at {at}: {word}: {}", for_terminal(text)));
        }
    }
    if verbose {
        print_cases(columns, cases, ui);
    }
    ui.line("");
}

/// What neither passed nor failed, in words: `2 skip, 1 timeout`.
fn other_words(cases: &Cases) -> Option<String> {
    let mut words: BTreeMap<&str, usize> = BTreeMap::new();
    for case in cases.values().filter(|case| !fails(&case.seen) && !passes(&case.seen)) {
        *words.entry(word(&case.seen)).or_default() += 1;
    }
    let words: Vec<String> = words.iter().map(|(word, count)| format!("{count} {word}")).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// How a run with a failing case ended, and where that is which it printed.
fn print_output(column: &Column, root: &Path, ui: &mut Ui) {
    let State::Ran(ran) = &column.state else { return };
    let failing = |run: &Run| run.cells.iter().any(|cell| matches!(cell.outcome, CellOutcome::Fail { .. }));
    let Some((index, run)) = ran.runs.iter().enumerate().find(|(_, run)| failing(run)) else { return };
    // The process that ended worst says most; where all ended well, the first.
    let ended_well = |process: &Process| process.end == End::Exit { status: 0 };
    let number = run.processes.iter().position(|process| !ended_well(process)).unwrap_or(0);
    let Some(process) = run.processes.get(number) else { return };
    let at = for_terminal(&column.label);
    ui.line(format_args!("  run {} at {at}: the process {}", index + 1, for_terminal(process.end.text())));
    let folder = root.join(&column.output);
    match kept_output(&folder, index + 1, run.seed, number + 1) {
        Some(kept) => {
            let file = kept.file.strip_prefix(root).unwrap_or(&kept.file);
            ui.line(format_args!("    it printed ({}):", file.display()));
            for line in kept.tail {
                ui.line(format_args!("      {}", for_terminal(line)));
            }
        }
        None if folder.is_dir() => ui.line("    it printed nothing"),
        None => ui.line("    what it printed is not here: it was run elsewhere, or the lab was emptied"),
    }
}

fn print_cases(columns: &[Column], cases: &[Option<Cases>], ui: &mut Ui) {
    let mut keys: Vec<&CaseKey> = cases.iter().flatten().flat_map(BTreeMap::keys).collect();
    keys.sort_unstable();
    keys.dedup();
    let rows: Vec<Vec<TableCell>> = keys
        .into_iter()
        .map(|key| {
            let cells = cases.iter().map(|cases| match cases.as_ref().and_then(|cases| cases.get(key)) {
                None => Tone::Dim.cell("-"),
                Some(case) => {
                    let value = case.value.map(|value| format!(" {value:.3e}")).unwrap_or_default();
                    let text = format!("{}{value}", word(&case.seen));
                    let tone = if fails(&case.seen) { Tone::Bad } else { Tone::Good };
                    if fails(&case.seen) || passes(&case.seen) { tone.cell(text) } else { text.into() }
                }
            });
            std::iter::once(for_terminal(key.as_str()).into()).chain(cells).collect()
        })
        .collect();
    let labels: Vec<String> = columns.iter().map(|column| for_terminal(&column.label)).collect();
    let heading: Vec<&str> = std::iter::once("case").chain(labels.iter().map(String::as_str)).collect();
    for line in table::render(&heading, &rows).lines() {
        ui.line(format_args!("    {line}"));
    }
}
