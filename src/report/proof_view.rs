//! What was measured, as templates know it.
//!
//! Decides which of a decision's reasons a report repeats, and how variants and compilers are called.

use std::collections::BTreeMap;

use serde::Serialize;

use super::claims::Label;
use super::facts::{Measured, RecordFile};
use super::render::{date, moment};
use super::table::{TestTable, tables};
use crate::verdict::{Decision, Proof};

/// What was measured under one profile on one kind of machine, with what that says.
#[derive(Debug, Clone, Serialize)]
pub struct ProofView {
    profile: Option<String>,
    label: String,
    device: String,
    os: String,
    arch: String,
    cpu: String,
    driver: Option<String>,
    cuda: Option<String>,
    toolchains: Vec<String>,
    date: String,
    /// To the minute; `None`: nothing of it is on record, as of a build that fails.
    time: Option<String>,
    verdict: &'static str,
    first_line: String,
    /// The first line without what is to be done.
    seen: String,
    /// Where the fault was seen, in words, if that is not the pin; and whether it was run there.
    witness: Option<String>,
    has_witness: bool,
    fixed: usize,
    broken: usize,
    unfixed: usize,
    attributed: usize,
    redundant: bool,
    odd: Vec<String>,
    findings: Vec<String>,
    tables: Vec<TestTable>,
    records: Vec<RecordLine>,
    commands: Vec<TestCommand>,
}

#[derive(Debug, Clone, Serialize)]
struct RecordLine {
    test: String,
    variant: String,
    file: String,
    sha256: String,
}

#[derive(Debug, Clone, Serialize)]
struct TestCommand {
    test: String,
    command: String,
}

/// What one measurement says.
pub(super) fn view(
    measured: &Measured,
    proof: &Proof,
    decision: &Decision,
    files: &BTreeMap<String, RecordFile>,
) -> ProofView {
    let odd = [
        "silenced",
        "unsilenced",
        "unfixed",
        "history-dependent",
        "removed-with",
        "same-inputs",
        "sees-nothing",
        "note",
    ];
    let mut toolchains = Vec::new();
    let mut records = Vec::new();
    for (test, sides) in &measured.results {
        for (which, side) in sides {
            if let super::facts::SideOutcome::Ran { record, sha256, .. } = &side.outcome {
                let compiler =
                    files.get(record).and_then(|file| toolchain_words(&file.record.inputs.compiler));
                if let Some(compiler) = compiler.filter(|compiler| !toolchains.contains(compiler)) {
                    toolchains.push(compiler);
                }
                records.push(RecordLine {
                    test: test.to_string(),
                    variant: variant_words(*which).to_owned(),
                    file: record.clone(),
                    sha256: sha256.clone(),
                });
            }
        }
    }
    let label = match measured.redundant {
        true => Label::NotRun,
        false => Label::Measured(measured.device()),
    };
    ProofView {
        profile: measured.profile.as_ref().map(ToString::to_string),
        label: label.to_string(),
        device: measured.device(),
        os: measured.machine.os.clone(),
        arch: measured.machine.arch.clone(),
        cpu: measured.machine.cpu.clone(),
        driver: measured.machine.driver.clone(),
        cuda: measured.machine.cuda.clone(),
        toolchains,
        date: date(measured.recorded),
        time: (measured.recorded > 0).then(|| moment(measured.recorded)),
        verdict: decision.verdict.as_str(),
        first_line: decision.first_line.clone(),
        seen: decision.seen().to_owned(),
        witness: witness_words(measured),
        has_witness: measured.has_witness,
        fixed: decision.fixed.len(),
        broken: decision.broken.len(),
        unfixed: decision.unfixed.len(),
        attributed: decision.attributed.len(),
        redundant: measured.redundant,
        findings: decision
            .reasons
            .iter()
            .filter(|reason| reason.code == "finding")
            .map(|reason| reason.text.clone())
            .collect(),
        odd: decision
            .reasons
            .iter()
            .filter(|reason| odd.contains(&reason.code))
            .map(|reason| reason.text.clone())
            .collect(),
        tables: tables(decision, proof),
        records,
        commands: measured
            .tests
            .iter()
            .map(|test| TestCommand {
                test: test.linked.name.to_string(),
                command: test
                    .command
                    .iter()
                    .map(|part| crate::escape::for_shell(part))
                    .collect::<Vec<_>>()
                    .join(" "),
            })
            .collect(),
    }
}

fn variant_words(which: crate::verdict::Which) -> &'static str {
    use crate::verdict::Which;
    match which {
        Which::PinWithout => "pin without the overlay",
        Which::PinWith => "pin with it",
        Which::WitnessWithout => "witness without it",
        Which::WitnessWith => "witness with it",
    }
}

/// The commit that was run, or the patch that plants the fault; `None`: the pin decides.
fn witness_words(measured: &Measured) -> Option<String> {
    let note = measured.variants.get(&crate::verdict::Which::WitnessWithout)?;
    Some(match &note.fault {
        Some(fault) => format!("the pin with the planted fault {fault}"),
        None => format!("commit {}", note.commit.short()),
    })
}

/// The compilers by the names of their programs, with the start of their hashes.
pub(super) fn toolchain_words(toolchain: &str) -> Option<String> {
    let compilers = toolchain.split("; ").filter_map(|part| {
        let [kind, name, path, hash] = part.split(' ').collect::<Vec<_>>()[..] else { return None };
        let is_one = kind == "program" && ["c++", "nvcc", "hipcc"].contains(&name);
        let program = path.rsplit('/').next().unwrap_or(path);
        is_one.then(|| format!("{program} (sha256 {})", hash.get(..12).unwrap_or(hash)))
    });
    let compilers: Vec<String> = compilers.collect();
    (!compilers.is_empty()).then(|| compilers.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_are_shown_by_name() {
        let text =
            "all variables 8f; program as /usr/bin/as 41; program c++ /usr/bin/g++-12 0123456789abcdef";
        assert_eq!(toolchain_words(text).as_deref(), Some("g++-12 (sha256 0123456789ab)"));
        assert_eq!(toolchain_words("unknown"), None);
    }
}
