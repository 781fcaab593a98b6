//! What a sanitizer wrote about one run of a test: findings, and what they make of the pseudo-case
//! `sanitizer:<tool>`.
//!
//! Decides which records are findings and when a run without any counts as clean. Never takes a report that is
//! missing or cut short for a clean one, and never counts an API error that only follows from a finding.
//!
//! [`compute`] reads the XML of NVIDIA's compute-sanitizer, [`log`] the text of AddressSanitizer and
//! UndefinedBehaviorSanitizer.

pub mod compute;
pub mod log;

use std::fmt;
use std::path::{Path, PathBuf};

use super::{CaseKey, CellOutcome, End, FailHow, Run, Unknown};

/// How many findings a sentence names before it says how many more there are.
const NAMED: usize = 3;

/// One finding, or several that are the same but for thread and address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The tool's word for its sort, for example `heap-buffer-overflow`.
    pub kind: String,
    /// What happened, in the tool's words.
    pub what: String,
    /// The kernel or the function.
    pub function: Option<String>,
    /// The source file and the line.
    pub place: Option<(PathBuf, u32)>,
    /// The address that was touched; of several the first.
    pub address: Option<String>,
    /// How often it was found.
    pub times: u32,
}

/// What a tool wrote about one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The findings, in the order of their first mention.
    pub findings: Vec<Finding>,
    /// Calls of an API that failed. They decide nothing.
    pub api_errors: usize,
}

impl Report {
    /// Adds a finding; one that is there already is counted.
    pub fn add(&mut self, finding: Finding) {
        let same = |known: &&mut Finding| {
            (&known.what, &known.function, &known.place) == (&finding.what, &finding.function, &finding.place)
        };
        match self.findings.iter_mut().find(same) {
            Some(known) => known.times += finding.times,
            None => self.findings.push(finding),
        }
    }

    /// The same with files named from the folder that they stand in: the first of `folders` that a file is below.
    /// Of a file elsewhere only the name is left, since the rest says where somebody builds.
    #[must_use]
    pub fn named_from(mut self, folders: &[&Path]) -> Self {
        for (file, _) in self.findings.iter_mut().filter_map(|finding| finding.place.as_mut()) {
            let below = folders.iter().find_map(|folder| file.strip_prefix(folder).ok());
            let name = below.map(Path::to_owned).or_else(|| {
                let is_elsewhere = file.is_absolute() || file.starts_with("..");
                is_elsewhere.then(|| file.file_name().map(PathBuf::from)).flatten()
            });
            if let Some(name) = name {
                *file = name;
            }
        }
        self
    }

    /// All findings in one sentence; `None` if there are none.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let named: Vec<String> = self.findings.iter().take(NAMED).map(ToString::to_string).collect();
        let mut text = named.join("; ");
        if self.findings.len() > NAMED {
            text.push_str(&format!("; and {} more", self.findings.len() - NAMED));
        }
        (!self.findings.is_empty()).then_some(text)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(function) = &self.function {
            write!(f, " in {function}")?;
        }
        if let Some((file, line)) = &self.place {
            write!(f, " at {}:{line}", file.display())?;
        }
        if let Some(address) = &self.address {
            write!(f, ", address {address}")?;
        }
        if self.times > 1 {
            write!(f, " ({} times)", self.times)?;
        }
        Ok(())
    }
}

/// What a run under a tool came to. `report`: what the tool wrote, or why that is not known. `run`: what the test
/// itself reported meanwhile: a test that did not get anywhere was not watched doing its work.
#[must_use]
pub fn outcome(report: Result<Report, String>, run: &Run) -> CellOutcome {
    let report = match report {
        Ok(report) => report,
        Err(text) => return CellOutcome::Unknown { why: Unknown::Missing { text } },
    };
    if let Some(text) = report.text() {
        return CellOutcome::Fail { how: FailHow::Sanitizer { text } };
    }
    let end = run.processes.last().map(|process| &process.end);
    let unknown = |why| CellOutcome::Unknown { why };
    match end {
        Some(End::TimedOut) => return unknown(Unknown::Timeout),
        Some(end @ (End::Signal { .. } | End::LeftOff | End::NotStarted { .. })) => {
            let text = format!("it finds nothing, and the process {}", end.text());
            return unknown(Unknown::Killed { text });
        }
        Some(End::Exit { .. }) | None => {}
    }
    let mut own = run.cells.iter().filter(|cell| !cell.case.is_pseudo()).peekable();
    if own.peek().is_some() && own.all(|cell| matches!(cell.outcome, CellOutcome::Skip { .. })) {
        return CellOutcome::Skip { why: "the test skipped all its cases".to_owned() };
    }
    match run.cell(&CaseKey::run()).map(|cell| &cell.outcome) {
        None => unknown(Unknown::NothingReported),
        Some(CellOutcome::Unknown { why }) => unknown(why.clone()),
        Some(CellOutcome::Skip { why }) => CellOutcome::Skip { why: why.clone() },
        Some(CellOutcome::Unrun { why }) => unknown(Unknown::Killed { text: why.clone() }),
        Some(CellOutcome::Pass | CellOutcome::Fail { .. } | CellOutcome::Measured) => CellOutcome::Pass,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_test::{Cell, Process};

    fn finding(line: u32) -> Finding {
        Finding {
            kind: "Precise".into(),
            what: "Invalid __shared__ write of size 4".into(),
            function: Some("norm".into()),
            place: Some(("/lab/tree/src/norm.cu".into(), line)),
            address: Some("0x10".into()),
            times: 1,
        }
    }

    fn run(outcome: CellOutcome, end: End) -> Run {
        Run {
            seed: 1,
            processes: vec![Process { end, millis: 1 }],
            cells: vec![Cell::new(CaseKey::run(), outcome, 1)],
            problems: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn equal_findings_are_counted_and_files_are_named_from_the_tree() {
        let mut report = Report::default();
        for line in [7, 7, 9, 7] {
            report.add(finding(line));
        }
        let report = report.named_from(&[Path::new("/lab/tree"), Path::new("/lab")]);
        assert_eq!(
            report.text().unwrap(),
            "Invalid __shared__ write of size 4 in norm at src/norm.cu:7, address 0x10 (3 times); \
             Invalid __shared__ write of size 4 in norm at src/norm.cu:9, address 0x10"
        );
        let elsewhere = Report { findings: vec![finding(7)], api_errors: 0 }.named_from(&[]);
        assert!(elsewhere.text().unwrap().contains("at norm.cu:7"));
    }

    #[test]
    fn many_findings_are_not_all_named() {
        let mut report = Report::default();
        (1..=5).for_each(|line| report.add(finding(line)));
        assert!(report.text().unwrap().ends_with("; and 2 more"));
    }

    #[test]
    fn a_run_is_clean_only_if_the_test_did_its_work() {
        let clean = || Ok(Report::default());
        let exit = |status| End::Exit { status };
        assert_eq!(outcome(clean(), &run(CellOutcome::Pass, exit(0))), CellOutcome::Pass);
        // That cases fail is told by the runs without the tool.
        assert_eq!(outcome(clean(), &run(CellOutcome::Pass, exit(1))), CellOutcome::Pass);
        let nothing = CellOutcome::Unknown { why: Unknown::NothingReported };
        for open in [
            outcome(Err("no compute-sanitizer".into()), &run(CellOutcome::Pass, exit(0))),
            outcome(clean(), &run(nothing, exit(1))),
            outcome(clean(), &run(CellOutcome::Pass, End::TimedOut)),
            outcome(clean(), &run(CellOutcome::Pass, End::Signal { signal: 11 })),
            outcome(clean(), &run(CellOutcome::Unrun { why: "crash".into() }, exit(9))),
        ] {
            assert!(matches!(open, CellOutcome::Unknown { .. }), "{open:?}");
        }
    }

    #[test]
    fn a_finding_counts_however_the_run_ended() {
        for end in [End::Exit { status: 0 }, End::TimedOut, End::Signal { signal: 6 }] {
            let report = Report { findings: vec![finding(7)], api_errors: 1 };
            let outcome = outcome(Ok(report), &run(CellOutcome::Pass, end));
            assert!(matches!(outcome, CellOutcome::Fail { how: FailHow::Sanitizer { .. } }), "{outcome:?}");
        }
    }
}
