//! A run that was left off since we were ended from outside: what it had finished need not be run again.
//!
//! Decides which cases of it are finished for certain. A half run is never a result: it is gone on with by a fresh
//! process that is told to leave those cases out, as after a crash, and only where all that the run depends on is
//! still the same. What cannot be told begins anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::io::hashes::write_atomically;
use crate::io::machine::is_newer_than;
use crate::kernel_test::{CaseKey, CellOutcome, End, Process, Run, jsonl};

/// The note in the folder of what a test prints: a run is under way there.
const FILE: &str = "under-way.json";

/// A run that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UnderWay {
    /// A hash over all that it depends on, as far as that is known before it.
    pub key: String,
    /// Its seed.
    pub seed: u64,
    /// Its number among the runs of the test on the variant.
    pub number: usize,
}

impl UnderWay {
    /// Notes that the run begins. If that cannot be written, it begins anew should it be interrupted.
    pub fn note(&self, folder: &Path) {
        let text = serde_json::to_vec(self).map_err(std::io::Error::other);
        let _ = text.and_then(|text| write_atomically(&folder.join(FILE), &text));
    }

    /// Notes that none is under way.
    pub fn forget(folder: &Path) {
        let _ = std::fs::remove_file(folder.join(FILE));
    }

    /// What this very run had finished when it was left off. `own` are files that it may have read: none of them was
    /// touched since. `allowed`: how long a process may take, in milliseconds.
    pub fn left_off(&self, folder: &Path, own: impl Iterator<Item = PathBuf>, allowed: u64) -> Option<Run> {
        let noted = std::fs::read(folder.join(FILE)).ok()?;
        let noted_at = std::fs::metadata(folder.join(FILE)).and_then(|data| data.modified()).ok()?;
        if serde_json::from_slice::<UnderWay>(&noted).ok().as_ref() != Some(self) {
            return None;
        }
        let is_touched = |file: &PathBuf| is_newer_than(file, noted_at) || noted_at > SystemTime::now();
        if own.into_iter().any(|file| is_touched(&file)) {
            return None;
        }
        let of = |process: usize, kind: &str| {
            folder.join(format!("run-{}-seed-{}-process-{process}.{kind}", self.number, self.seed))
        };
        // It had crashed before it was left off: that is not put together again.
        let is_of_this_run = |file: &Path| is_newer_than(file, noted_at);
        if is_of_this_run(&of(2, "stdout")) {
            return None;
        }
        let read = |kind: &str| {
            let file = of(1, kind);
            if is_of_this_run(&file) { std::fs::read(file).ok() } else { None }
        };
        let (results, stdout) = (read("results").unwrap_or_default(), read("stdout")?);
        let output = match (finished(&results), finished(&stdout)) {
            (Some(output), None) | (None, Some(output)) => output,
            _ => return None,
        };
        Some(begun(self.seed, &output, allowed)).filter(|run| run.problems.is_empty() && run.cells.len() > 1)
    }
}

/// The lines of the cases that are finished: those after which another case was announced. `None`: there are none, or
/// the test does not announce one case after the other.
fn finished(output: &[u8]) -> Option<Vec<u8>> {
    let mut done = Vec::new();
    let mut open: Vec<u8> = Vec::new();
    let mut current: Option<CaseKey> = None;
    let mut seen: BTreeSet<CaseKey> = BTreeSet::new();
    // A line without its end was being written.
    let whole = output.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    for line in output.get(..whole)?.split_inclusive(|&byte| byte == b'\n') {
        let Ok(message) = serde_json::from_slice::<serde_json::Value>(line) else { continue };
        let Some(case) = message["case"].as_object().map(CaseKey::from_object) else { continue };
        if current.as_ref() != Some(&case) {
            if message["status"] != "start" || !seen.insert(case.clone()) {
                return None;
            }
            done.append(&mut open);
            current = Some(case);
        }
        open.extend_from_slice(line);
    }
    (!done.is_empty()).then_some(done)
}

fn begun(seed: u64, output: &[u8], allowed: u64) -> Run {
    // How long it ran is not known: as long as it may, so that it never shows another side to hang.
    let process = Process { end: End::Exit { status: 0 }, millis: allowed };
    let mut run = jsonl::parse(seed, output, jsonl::Source::ResultsFile, process);
    run.processes = vec![Process { end: End::LeftOff, millis: allowed }];
    for cell in run.cells.iter_mut().filter(|cell| cell.case == CaseKey::run()) {
        cell.outcome = CellOutcome::Unrun { why: "the run was left off".to_owned() };
    }
    run.cells
        .retain(|cell| cell.case == CaseKey::run() || !matches!(cell.outcome, CellOutcome::Unknown { .. }));
    run.notes.push("it was left off, and gone on with in a fresh process".to_owned());
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    const START_A: &str = "{\"case\":{\"n\":1},\"status\":\"start\"}\n";
    const A: &str = "{\"case\":{\"n\":1},\"metric\":\"e\",\"value\":0,\"max\":1}\n";
    const START_B: &str = "{\"case\":{\"n\":2},\"status\":\"start\"}\n";
    const B: &str = "{\"case\":{\"n\":2},\"metric\":\"e\",\"value\":9,\"max\":1}\n";

    fn cases(output: &str) -> Option<Vec<String>> {
        let run = begun(1, &finished(output.as_bytes())?, 100);
        Some(
            run.cells
                .iter()
                .map(|cell| format!("{} {}", cell.case, matches!(cell.outcome, CellOutcome::Pass)))
                .collect(),
        )
    }

    #[test]
    fn a_case_is_finished_when_another_one_has_begun() {
        let one = Some(vec!["{\"n\":1} true".to_owned(), "run false".to_owned()]);
        assert_eq!(cases(&[START_A, A, START_B].concat()), one);
        // With another fill the second may come to something else: its result is not taken for the last.
        assert_eq!(cases(&[START_A, A, START_B, B].concat()), one);
        assert_eq!(cases(&["hello\n", START_A, A, START_B, &B[..9]].concat()), one);
        // The next line is not whole: nobody knows what it would have said.
        assert_eq!(cases(&[START_A, A, &START_B[..20]].concat()), None);
        assert_eq!(cases(&[START_A, A].concat()), None);
        assert_eq!(cases(""), None);
    }

    #[test]
    fn cases_that_are_not_run_one_after_the_other_are_not_told_apart() {
        assert_eq!(cases(&[START_A, START_B, A, B, START_A].concat()), None);
        assert_eq!(cases(&[A, B, START_A].concat()), None);
    }
}
