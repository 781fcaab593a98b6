//! Runs as they stand in a record: what repeats is written once.
//!
//! A test that is not flaky reports the same cells in each run. A run whose cells are those of an earlier
//! one says so, and a cell says how long its process ran only where the run had several. Decides nothing:
//! unpacking gives back exactly what was packed.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::kernel_test::{CaseKey, Cell, CellOutcome, Figure, Problem, Process, Run};

/// What one run of a test came to.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Run"))]
pub(super) struct PackedRun<'a> {
    /// The seed that it was given. Same seed, same inputs.
    seed: u64,
    /// Its processes, in order: one, unless cases crashed.
    processes: Cow<'a, [Process]>,
    /// The cells, or the number of an earlier run (from 0) that has the same.
    cells: Cells<'a>,
    /// What could not be read.
    #[serde(default, skip_serializing_if = "<[Problem]>::is_empty")]
    problems: Cow<'a, [Problem]>,
    /// What is odd and decides nothing.
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    notes: Cow<'a, [String]>,
}

/// Cells, or where they are listed.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Cells<'a> {
    /// The number of an earlier run, from 0.
    SameAs(usize),
    /// Each of them.
    Listed(Vec<PackedCell<'a>>),
}

/// What a case came to in a run.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Cell"))]
struct PackedCell<'a> {
    /// Which case.
    case: Cow<'a, CaseKey>,
    /// What it came to.
    outcome: Cow<'a, CellOutcome>,
    /// Its figure, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    figure: Option<Cow<'a, Figure>>,
    /// It needs no device: only compiling is tested.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    compile_only: bool,
    /// How long the process that reported it ran, in milliseconds. Not there: as long as the only process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    millis: Option<u64>,
}

/// The time of the only process of a run.
fn only_millis(processes: &[Process]) -> Option<u64> {
    match processes {
        [process] => Some(process.millis),
        _ => None,
    }
}

/// Whether the cells of two runs come out the same once their times are left out.
fn same_cells(a: &Run, b: &Run) -> bool {
    let timed = |run: &Run| {
        let millis = only_millis(&run.processes);
        millis.is_some() && run.cells.iter().all(|cell| Some(cell.millis) == millis)
    };
    let same = |(a, b): (&Cell, &Cell)| Cell { millis: 0, ..a.clone() } == Cell { millis: 0, ..b.clone() };
    a.cells.len() == b.cells.len() && timed(a) && timed(b) && a.cells.iter().zip(&b.cells).all(same)
}

pub(super) fn serialize<S: Serializer>(runs: &[Run], serializer: S) -> Result<S::Ok, S::Error> {
    let packed = runs.iter().enumerate().map(|(index, run)| {
        let earlier = runs[..index].iter().position(|other| same_cells(other, run));
        let millis = only_millis(&run.processes);
        let list = || {
            run.cells.iter().map(|cell| PackedCell {
                case: Cow::Borrowed(&cell.case),
                outcome: Cow::Borrowed(&cell.outcome),
                figure: cell.figure.as_ref().map(Cow::Borrowed),
                compile_only: cell.compile_only,
                millis: (Some(cell.millis) != millis).then_some(cell.millis),
            })
        };
        PackedRun {
            seed: run.seed,
            processes: Cow::Borrowed(&run.processes),
            cells: earlier.map_or_else(|| Cells::Listed(list().collect()), Cells::SameAs),
            problems: Cow::Borrowed(&run.problems),
            notes: Cow::Borrowed(&run.notes),
        }
    });
    serializer.collect_seq(packed)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Run>, D::Error> {
    let packed = Vec::<PackedRun<'static>>::deserialize(deserializer)?;
    let mut runs: Vec<Run> = Vec::with_capacity(packed.len());
    for PackedRun { seed, processes, cells, problems, notes } in packed {
        let only = only_millis(&processes);
        let cells = match cells {
            Cells::SameAs(earlier) => {
                let earlier = runs.get(earlier).ok_or_else(|| D::Error::custom("no such earlier run"))?;
                let millis =
                    only.ok_or_else(|| D::Error::custom("a run of several processes has its own cells"))?;
                earlier.cells.iter().map(|cell| Cell { millis, ..cell.clone() }).collect()
            }
            Cells::Listed(cells) => cells
                .into_iter()
                .map(|cell| {
                    let millis =
                        cell.millis.or(only).ok_or_else(|| D::Error::custom("a cell without its time"))?;
                    Ok(Cell {
                        case: cell.case.into_owned(),
                        outcome: cell.outcome.into_owned(),
                        figure: cell.figure.map(Cow::into_owned),
                        compile_only: cell.compile_only,
                        millis,
                    })
                })
                .collect::<Result<_, D::Error>>()?,
        };
        let (processes, problems, notes) =
            (processes.into_owned(), problems.into_owned(), notes.into_owned());
        runs.push(Run { seed, processes, cells, problems, notes });
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_test::{End, FailHow};

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Holder {
        #[serde(with = "super")]
        runs: Vec<Run>,
    }

    fn run(seed: u64, millis: &[u64], outcomes: &[CellOutcome]) -> Run {
        let end = End::Exit { status: 0 };
        let cells = outcomes.iter().enumerate().map(|(index, outcome)| {
            let case = CaseKey::from_junit("t", &index.to_string());
            Cell::new(case, outcome.clone(), millis[index.min(millis.len() - 1)])
        });
        Run {
            seed,
            processes: millis.iter().map(|&millis| Process { end: end.clone(), millis }).collect(),
            cells: cells.collect(),
            problems: Vec::new(),
            notes: vec!["note".to_owned()],
        }
    }

    #[test]
    fn what_is_packed_comes_out_again_and_repeats_are_written_once() {
        let pass = CellOutcome::Pass;
        let fail = CellOutcome::Fail { how: FailHow::Crash { signal: 11 } };
        let runs = vec![
            run(1, &[10], &[pass.clone(), pass.clone()]),
            run(1, &[12], &[pass.clone(), pass.clone()]),
            run(2, &[12, 30], &[pass.clone(), fail.clone()]),
            run(2, &[12, 30], &[pass.clone(), fail]),
            run(3, &[9], &[pass.clone(), pass]),
        ];
        let holder = Holder { runs };
        let text = serde_json::to_string(&holder).unwrap();
        assert_eq!(serde_json::from_str::<Holder>(&text).unwrap(), holder);
        assert_eq!(text.matches("\"cells\":0").count(), 2, "{text}");
        assert_eq!(text.matches("\"cells\":[").count(), 3, "{text}");
    }

    #[test]
    fn a_run_that_points_nowhere_is_refused() {
        let text =
            r#"{"runs":[{"seed":1,"processes":[{"end":{"how":"exit","status":0},"millis":1}],"cells":0}]}"#;
        assert!(serde_json::from_str::<Holder>(text).is_err());
    }
}
