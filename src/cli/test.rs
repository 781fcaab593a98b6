//! `overlaid test`

mod show;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::escape::{for_shell, for_terminal};
use crate::id::Name;
use crate::io::lab::alone::FOLDER;
use crate::io::lab::campaign::runs_under;
use crate::io::lab::measure::Subject;
use crate::io::lab::subjects::Subjects;
use crate::io::workspace::Workspace;
use crate::kernel_test::repeats::{Observed, Seen, observe};
use crate::kernel_test::{CaseKey, Cell, CellOutcome, FailHow, Unknown, repeats};
use crate::manifest::{Format, Test};
use crate::variant;
use crate::verdict::State;

use super::bench::{profile_name, projects_are_there, with_lab};
use super::build::{blocked, commit_of, pristine};
use super::{Answer, Context, Failure, Ui, without_problems};

/// Run kernel tests, on the pin with its overlays or on several commits side by side
///
/// Without `--at`: the pin with all overlays that are on. With it: the upstream as it is at each of these
/// commits, without overlays, in columns. A row for each test says how many cases fail, which, and the worst
/// figure.
///
/// What is on record is not run again. Runs what the upstream, the overlays and the tests contain.
///
/// `git bisect run` in a clone of the upstream can use it:
///
///   git bisect run sh -c 'overlaid -C REPOSITORY test TEST --exit-code bisect --at "$(git rev-parse HEAD)"'
///
/// Exit codes: 0 all cases pass. 1 some fail. 4 something could not be found out, also where every case was skipped.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A test, or an overlay: its tests. Default: all tests of the profile
    #[arg(value_name = "OVERLAY or TEST")]
    what: Vec<String>,
    /// Commits, branches or tags of the upstream, or `pin`
    #[arg(long, value_name = "C1,C2", value_delimiter = ',', conflicts_with = "without")]
    at: Vec<String>,
    /// Leave out an overlay, and those that need it
    #[arg(long, value_name = "OVERLAY")]
    without: Vec<String>,
    /// Run only this case of one test, in a process of its own: `{"axis": 512, "rows": 1}`. Nothing goes on record
    #[arg(long = "case", value_name = "JSON")]
    cases: Vec<String>,
    /// List every case
    #[arg(long, short)]
    verbose: bool,
    /// End as `git bisect run` expects it: 0 all cases pass, 1 some fail, 125 it does not build or cannot be told
    #[arg(long, value_name = "FOR")]
    exit_code: Option<ExitCodes>,
}

/// Whose exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ExitCodes {
    /// Those that `git bisect run` expects.
    Bisect,
}

impl Args {
    /// Whether the exit code is for `git bisect run`.
    #[must_use]
    pub fn is_for_bisect(&self) -> bool {
        self.exit_code == Some(ExitCodes::Bisect)
    }
}

/// A test on a variant.
struct Column {
    label: String,
    state: State,
    /// The folder of what it printed, relative to our repository.
    output: PathBuf,
    /// The command that runs the test on this variant.
    command: String,
}

/// What the cases of a column came to.
type Cases = BTreeMap<CaseKey, Observed>;

/// Runs the command.
///
/// # Errors
/// If the manifest or the upstream cannot be read, or we are told to stop.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let workspace = without_problems(context.workspace()?)?;
    let profile = context.profile(&workspace)?;
    let features = context.features(&workspace, profile)?;
    let tests = choose(&workspace, profile_name(profile), &args.what)?;
    projects_are_there(&workspace, tests.iter().copied())?;
    let alone = cases_named(args, &tests)?;
    let known = workspace.overlays.iter().map(|loaded| loaded.name().to_string()).collect();
    if let Some(name) = args.without.iter().find(|name| workspace.overlay(name).is_none()) {
        return Err(Failure::unknown_overlay(name, &known));
    }
    let store = context.store(&workspace, ui)?;
    let mut variants = Subjects::new(&workspace, &features, &store);
    let mut subjects: Vec<(Subject, String)> = Vec::new();
    if args.at.is_empty() {
        let without: Vec<&str> = args.without.iter().map(String::as_str).collect();
        let variant = variant::without_all(&workspace.manifest, &features, &without);
        let options = args.without.iter().map(|name| format!(" --without {}", for_shell(name))).collect();
        subjects.push((variants.get(&variant).map_err(|obstacle| blocked(&obstacle))?, options));
    }
    for rev in &args.at {
        let commit = commit_of(&workspace, &store, rev)?;
        let variant = pristine(commit);
        let mut subject = variants.get(&variant).map_err(|obstacle| blocked(&obstacle))?;
        subject.label = if commit.to_string() == *rev { commit.short() } else { rev.clone() };
        subjects.push((subject, format!(" --at {}", for_shell(rev))));
    }
    // Variant by variant: each has its build folder, or is flipped in place once.
    let mut columns: BTreeMap<&Name, Vec<Column>> = BTreeMap::new();
    with_lab(&workspace, profile, &store, ui, |lab| {
        for (subject, options) in &subjects {
            for test in &tests {
                let seeds = repeats::seeds(test.repeats);
                let mut output = lab.output_of(subject, test);
                let command = format!("{} {}{options}", context.command("test", None), test.name.value);
                let label = subject.label.clone();
                if !alone.is_empty() {
                    output.push(FOLDER);
                    let state = lab.run_alone(subject, test, &alone, &seeds)?;
                    let column = Column { label, state, output, command };
                    columns.entry(&test.name.value).or_default().push(column);
                    continue;
                }
                let mut state = lab.measure(subject, test, 0, &seeds)?;
                if let State::Ran(ran) = &state
                    && !ran.runs.is_empty()
                    && ran.runs.len() < seeds.len()
                {
                    state = lab.measure(subject, test, ran.runs.len(), &seeds[ran.runs.len()..])?;
                }
                let column = Column { label, state, output, command };
                columns.entry(&test.name.value).or_default().push(column);
            }
        }
        Ok(())
    })?;
    let mut answer = Answer::Yes;
    let (mut something_ran, mut something_passed) = (false, false);
    let mut documents = Vec::new();
    for test in &tests {
        let Some(columns) = columns.get(&test.name.value) else { continue };
        let cases: Vec<Option<Cases>> = columns.iter().map(|column| cases_of(&column.state, test)).collect();
        let does_not_build = columns.iter().any(|column| matches!(column.state, State::BuildFailed { .. }));
        answer = answer.max(match args.is_for_bisect() && does_not_build {
            true => Answer::Unknown,
            false => answer_of(columns, &cases),
        });
        something_ran |= cases.iter().flatten().any(|cases| !cases.is_empty());
        something_passed |= cases.iter().flatten().flat_map(BTreeMap::values).any(|case| passes(&case.seen));
        if ui.is_json() {
            documents.push(to_json(test, columns, &cases));
        } else {
            show::print(test, columns, &cases, &workspace.root, args.verbose, ui);
        }
    }
    if let ([test], false, false) = (&tests[..], alone.is_empty(), something_ran) {
        let name = test.name.as_str();
        ui.warn(format_args!(
            "`{name}` reports no such case; `overlaid test {name} --verbose` lists those that it has"
        ));
    }
    if answer == Answer::Yes && !something_passed {
        ui.warn("every case was skipped, so nothing was tested");
        answer = Answer::Unknown;
    }
    if ui.is_json() {
        ui.document(&json!({ "schema": "overlaid.test.v1", "tests": documents }));
    }
    Ok(answer)
}

/// The cases that are named on the command line.
fn cases_named(args: &Args, tests: &[&Test]) -> Result<BTreeSet<CaseKey>, Failure> {
    let mut cases = BTreeSet::new();
    for text in &args.cases {
        let Ok(Value::Object(object)) = serde_json::from_str(text) else {
            let what = format!("`{}` is not the JSON object of a case", for_terminal(text));
            return Err(Failure::input(what).with_hint(r#"write --case '{"axis": 512, "rows": 1}'"#));
        };
        cases.insert(CaseKey::from_object(&object));
    }
    let [test] = tests else {
        return match cases.is_empty() {
            true => Ok(cases),
            false => Err(Failure::input("--case is for one test").with_hint("name the test")),
        };
    };
    if !cases.is_empty() && test.format != Format::Jsonl {
        let text = format!("`{}` cannot run a case alone: it does not report JSON Lines", test.name.as_str());
        return Err(Failure::input(text));
    }
    Ok(cases)
}

/// The command that runs the first of some cases alone: cases with a name that is no object cannot be.
#[must_use]
pub fn one_alone<'c>(command: &str, mut cases: impl Iterator<Item = &'c CaseKey>) -> Option<String> {
    let case = cases.find(|case| case.object().is_some())?;
    Some(format!("{command} --case {}", for_terminal(for_shell(case.as_str()))))
}

fn choose<'w>(
    workspace: &'w Workspace,
    profile: Option<&Name>,
    what: &[String],
) -> Result<Vec<&'w Test>, Failure> {
    let manifest = &workspace.manifest;
    let mut names: Vec<&str> = Vec::new();
    for word in what {
        if manifest.test(word).is_some() {
            names.push(word);
        } else if let Some(overlay) = manifest.overlay(word) {
            names.extend(overlay.tests.iter().map(|test| test.value.as_str()));
        } else {
            let tests: Vec<_> = manifest.tests.iter().map(|test| test.name.as_str()).collect();
            return Err(Failure::input(format!("there is no test or overlay `{}`", for_terminal(word)))
                .with_hint(format!("the tests: {}", tests.join(", "))));
        }
    }
    let is_chosen = |test: &&Test| what.is_empty() || names.contains(&test.name.as_str());
    let chosen: Vec<&Test> =
        manifest.tests.iter().filter(is_chosen).filter(|test| runs_under(test, profile)).collect();
    if chosen.is_empty() {
        let which = if what.is_empty() { "no test" } else { "none of these tests" };
        return Err(Failure::input(format!("{which} runs under this profile")));
    }
    Ok(chosen)
}

/// What several runs say about each case; `None`: it did not run.
fn cases_of(state: &State, test: &Test) -> Option<Cases> {
    let State::Ran(ran) = state else { return None };
    let mut keys: Vec<&CaseKey> = Vec::new();
    for cell in ran.runs.iter().flat_map(|run| &run.cells) {
        if !cell.case.is_pseudo() || test.format == Format::Exit {
            keys.push(&cell.case);
        }
    }
    keys.sort_unstable();
    keys.dedup();
    let cells = |key: &CaseKey| -> Vec<(u64, Option<&Cell>)> {
        ran.runs.iter().map(|run| (run.seed, run.cell(key))).collect()
    };
    let of_one_run = |key: &CaseKey| observe(&cells(key), u32::try_from(ran.runs.len()).unwrap_or(u32::MAX));
    Some(keys.into_iter().map(|key| (key.clone(), of_one_run(key))).collect())
}

fn fails(seen: &Seen) -> bool {
    matches!(seen, Seen::Fail { .. } | Seen::Varies { .. } | Seen::Flaky { .. })
}

fn passes(seen: &Seen) -> bool {
    matches!(seen, Seen::Pass | Seen::Measured { .. })
}

/// The sanitizers that watched a run, each with what it came to.
fn watched(state: &State) -> impl Iterator<Item = (&str, &CellOutcome)> {
    let ran = if let State::Ran(ran) = state { Some(ran) } else { None };
    let all = ran.into_iter().flat_map(|ran| &ran.sanitized);
    all.flat_map(|(tool, outcomes)| outcomes.iter().map(move |outcome| (tool.as_str(), outcome)))
}

/// What a sanitizer came to: a word, and what it says.
fn watched_words(outcome: &CellOutcome) -> (&'static str, String) {
    match outcome {
        CellOutcome::Pass => ("pass", "finds nothing".to_owned()),
        CellOutcome::Fail { how: FailHow::Sanitizer { text } } => ("fail", text.clone()),
        CellOutcome::Fail { how } => ("fail", how.to_string()),
        CellOutcome::Unknown { why } => ("unrun", why.to_string()),
        CellOutcome::Skip { why } | CellOutcome::Unrun { why } => ("unrun", why.clone()),
        CellOutcome::Measured => ("unrun", String::new()),
    }
}

/// The run as a whole, where it could not be read or has no case.
fn trouble(state: &State, cases: Option<&Cases>) -> Option<String> {
    match state {
        State::NotRun => Some("not run".to_owned()),
        State::Blocked(obstacle) => Some(obstacle.text().to_owned()),
        State::BuildFailed { text, .. } => Some(format!("does not build: {text}")),
        State::Ran(ran) => {
            let run = CaseKey::run();
            let whole =
                ran.runs.iter().filter_map(|run_| run_.cell(&run)).find_map(|cell| match &cell.outcome {
                    CellOutcome::Unknown { why } => Some(why.to_string()),
                    _ => None,
                });
            whole.or_else(|| cases.is_none_or(BTreeMap::is_empty).then(|| "it has no cases".to_owned()))
        }
    }
}

fn answer_of(columns: &[Column], cases: &[Option<Cases>]) -> Answer {
    let one = |(column, cases): (&Column, &Option<Cases>)| {
        if matches!(column.state, State::BuildFailed { .. }) {
            return Answer::No;
        }
        if trouble(&column.state, cases.as_ref()).is_some() {
            return Answer::Unknown;
        }
        let watched: Vec<&CellOutcome> =
            watched(&column.state).map(|(_, outcome)| outcome).filter(|o| **o != CellOutcome::Pass).collect();
        let is_finding = |outcome: &&CellOutcome| matches!(outcome, CellOutcome::Fail { .. });
        if !watched.iter().all(is_finding) {
            return Answer::Unknown;
        }
        let seen = || cases.iter().flat_map(|cases| cases.values().map(|case| &case.seen));
        if seen().any(|seen| !fails(seen) && !passes(seen) && !matches!(seen, Seen::Skip { .. })) {
            Answer::Unknown
        } else if seen().any(fails) || !watched.is_empty() {
            Answer::No
        } else {
            Answer::Yes
        }
    };
    columns.iter().zip(cases).map(one).max().unwrap_or(Answer::Yes)
}

fn word(seen: &Seen) -> &'static str {
    match seen {
        Seen::Pass => "pass",
        Seen::Fail { .. } => "fail",
        Seen::Varies { .. } => "varies",
        Seen::Flaky { .. } => "flaky",
        Seen::Measured { .. } => "measured",
        Seen::Skip { .. } => "skip",
        Seen::Unrun { .. } | Seen::Unknown { why: Unknown::NoDevice { .. } } => "unrun",
        Seen::Missing => "missing",
        Seen::Timeout { .. } => "timeout",
        Seen::TooFew { .. } | Seen::NotRepeated | Seen::Unknown { .. } => "unknown",
    }
}

fn to_json(test: &Test, columns: &[Column], cases: &[Option<Cases>]) -> Value {
    let columns: Vec<Value> = columns
        .iter()
        .zip(cases)
        .map(|(column, cases)| {
            let cells: Vec<Value> = cases
                .iter()
                .flatten()
                .map(|(key, case)| {
                    json!({
                        "case": key.object().map_or_else(|| json!(key.as_str()), Value::Object),
                        "outcome": word(&case.seen),
                        "value": case.value,
                        "runs": case.runs,
                        "failed": case.failed,
                    })
                })
                .collect();
            json!({
                "at": column.label,
                "error": trouble(&column.state, cases.as_ref()),
                "cells": cells,
                "sanitizers": watched(&column.state).map(|(tool, outcome)| {
                    let (word, text) = watched_words(outcome);
                    json!({ "tool": tool, "outcome": word, "text": text })
                }).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({ "name": test.name.value, "variants": columns })
}
