//! Runs of a test that a sanitizer watches: compute-sanitizer on a device, else a build of its own.
//!
//! Decides which of them are still to be made, and what of each goes on record: findings, and that there are none. A
//! tool that could not do its work is told for as long as we run, and tried again the next time. What a report means
//! is `kernel_test::sanitizer`'s business.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::evidence::{BuildRecord, ResultRecord, TreeRead};
use crate::io::process::Environment;
use crate::io::reads::Watch;
use crate::io::sanitizers;
use crate::kernel_test::sanitizer::{Report, compute, log, outcome};
use crate::kernel_test::{CellOutcome, FailHow, Run, Unknown, repeats};
use crate::manifest::{Sanitizer, Test};
use crate::verdict::Obstacle;

use super::event::Event;
use super::inputs::{describe, opened};
use super::instrumented;
use super::make::{Made, MakeError, Ready};
use super::measure::{Lab, Plan, Subject, TREE, site_is_gone};
use super::running::{Folders, is_result};
use super::trial::Trial;

/// How much longer than an ordinary run one under compute-sanitizer may take.
const SLOWER_ON_DEVICE: u32 = 20;

/// How much longer than an ordinary run one of a build with a sanitizer in it may take.
const SLOWER_BUILT_IN: u32 = 5;

/// What sanitizers came to that is no result, by name.
pub(super) type Untold = BTreeMap<&'static str, CellOutcome>;

/// What one run under a tool needs.
struct Watched {
    command: Vec<OsString>,
    env: Environment,
    /// What the tool writes: a file, or the beginning of the names of files.
    report: PathBuf,
    timeout: Duration,
}

impl Lab<'_> {
    /// The sanitizers of which neither a result is on record nor told why there is none.
    pub(super) fn unsanitized(
        &self,
        subject: &Subject,
        test: &Test,
        record: &ResultRecord,
    ) -> Vec<Sanitizer> {
        let untold = self.untold_of(subject, test);
        let is_open = |sanitizer: &Sanitizer| {
            let name = sanitizer.as_str();
            !record.sanitized.contains_key(name) && untold.is_none_or(|untold| !untold.contains_key(name))
        };
        test.sanitizers_under(self.workshop.profile).filter(is_open).collect()
    }

    /// Why sanitizers have said nothing about a test on a variant, since we started.
    pub(super) fn untold_of(&self, subject: &Subject, test: &Test) -> Option<&Untold> {
        self.untold.get(&untold_key(subject, test))
    }

    /// Takes down that sanitizers could not do their work.
    pub(super) fn cannot_sanitize(
        &mut self,
        subject: &Subject,
        test: &Test,
        which: &[Sanitizer],
        why: &Obstacle,
    ) {
        let untold = self.untold.entry(untold_key(subject, test)).or_default();
        for sanitizer in which {
            let why = Unknown::Missing { text: why.text().to_owned() };
            untold.insert(sanitizer.as_str(), CellOutcome::Unknown { why });
        }
    }

    /// Runs the test once under each sanitizer that has not watched it yet, and puts what they found on record.
    #[expect(clippy::too_many_arguments, reason = "all of it is what one run depends on")]
    pub(super) fn sanitize(
        &mut self,
        subject: &Subject,
        test: &Test,
        plan: &Plan,
        build: &BuildRecord,
        ready: &Ready,
        folders: &Folders,
        result: &mut (String, ResultRecord),
    ) -> Result<(), MakeError> {
        let (file, record) = result;
        if file.is_empty() || !record.runs.iter().all(is_result) {
            return Ok(());
        }
        let open = self.unsanitized(subject, test, record);
        if let Some(why) = self.no_device() {
            self.cannot_sanitize(subject, test, &open, &Obstacle::Device(why));
            return Ok(());
        }
        for sanitizer in open {
            self.flip(subject)?;
            let watched = match sanitizer.is_built_in() {
                true => self.watched_build(subject, test, plan, build, folders, sanitizer, record),
                false => self.watched_command(subject, ready, folders, test, sanitizer, record),
            };
            let came_to = match watched {
                Ok(watched) => self.watch(subject, test, folders, sanitizer, &watched, record)?,
                Err(MakeError::Obstacle(obstacle)) => {
                    let why = Unknown::Missing { text: obstacle.text().to_owned() };
                    CellOutcome::Unknown { why }
                }
                Err(interrupted) => return Err(interrupted),
            };
            (self.events)(Event::Watched { tool: sanitizer.as_str(), came_to: words(&came_to) });
            if !matches!(came_to, CellOutcome::Pass | CellOutcome::Fail { .. }) {
                let untold = self.untold.entry(untold_key(subject, test)).or_default();
                untold.insert(sanitizer.as_str(), came_to);
                continue;
            }
            record.sanitized.insert(sanitizer.as_str().to_owned(), vec![came_to]);
            if let Err(error) = self.results.write(Some(file.clone()), self.profile().as_ref(), record) {
                (self.events)(Event::Warning(format!("the evidence cannot be written: {error}")));
            }
        }
        Ok(())
    }

    /// The test as it is, watched by compute-sanitizer.
    fn watched_command(
        &mut self,
        subject: &Subject,
        ready: &Ready,
        folders: &Folders,
        test: &Test,
        sanitizer: Sanitizer,
        record: &mut ResultRecord,
    ) -> Result<Watched, MakeError> {
        let program = sanitizers::find(&self.workshop.env).ok_or_else(|| {
            let text = "compute-sanitizer is not on PATH and not beside nvcc; install it, it is a part of the CUDA toolkit";
            Obstacle::Toolchain(text.to_owned())
        })?;
        self.note_tool(&program, record);
        let report = folders.results.join(format!("sanitizer-{}.xml", sanitizer.as_str()));
        let command = sanitizers::command(&program, sanitizer.as_str(), &report, &ready.command);
        let env = self.environment(subject, &folders.tree, ready.build.as_deref(), &folders.caches)?;
        Ok(Watched { command, env, report, timeout: test.timeout.saturating_mul(SLOWER_ON_DEVICE) })
    }

    /// The test, built once more with the sanitizer in it.
    #[expect(clippy::too_many_arguments, reason = "all of it is what one build depends on")]
    fn watched_build(
        &mut self,
        subject: &Subject,
        test: &Test,
        plan: &Plan,
        build: &BuildRecord,
        folders: &Folders,
        sanitizer: Sanitizer,
        record: &mut ResultRecord,
    ) -> Result<Watched, MakeError> {
        let name = sanitizer.as_str();
        let variant = format!("{} with -fsanitize={name}", subject.label);
        (self.events)(Event::Building { test: test.name.value.clone(), variant });
        let open = self.sites.get(&subject.sources.commit).ok_or_else(site_is_gone)?;
        let made =
            self.workshop.make(&open.site, &subject.sources, test, &plan.steering, false, Some(sanitizer))?;
        let ready = match made {
            Made::Ready(ready) => ready,
            Made::Failed(failure, _) => {
                let text = format!("it does not build with -fsanitize={name}: {}", failure.what);
                return Err(Obstacle::Toolchain(text).into());
            }
        };
        let program = ready.command.first().map(PathBuf::from);
        if !instrumented::is_in(sanitizer, program.iter().chain(&ready.artifacts)) {
            let text =
                format!("the build takes no notice of -fsanitize={name}: nothing that it made is watched");
            return Err(Obstacle::Toolchain(text).into());
        }
        self.note_build(subject, build, &ready, record);
        for (library, hash) in self.identify(&ready, &folders.results)? {
            if library.starts_with('/') {
                record.inputs.libraries.entry(library).or_insert(hash);
            }
        }
        let report = folders.results.join(format!("sanitizer-{name}.log"));
        let mut env = self.environment(subject, &folders.tree, ready.build.as_deref(), &folders.caches)?;
        instrumented::forget_logs(&report)
            .map_err(|error| Obstacle::Environment(format!("{}: {error}", report.display())))?;
        instrumented::steer(&mut env, sanitizer, &report);
        let timeout = test.timeout.saturating_mul(SLOWER_BUILT_IN);
        Ok(Watched { command: ready.command, env, report, timeout })
    }

    /// Runs it, and reads what the tool wrote.
    fn watch(
        &mut self,
        subject: &Subject,
        test: &Test,
        folders: &Folders,
        sanitizer: Sanitizer,
        watched: &Watched,
        record: &mut ResultRecord,
    ) -> Result<CellOutcome, MakeError> {
        let name = sanitizer.as_str();
        let words: Vec<_> = watched.command.iter().map(|part| part.to_string_lossy()).collect();
        (self.events)(Event::Running {
            test: test.name.value.clone(),
            variant: format!("{} under {name}", subject.label),
            command: words.join(" "),
            times: 1,
        });
        let _ = std::fs::remove_file(&watched.report);
        let mut env = watched.env.clone();
        // A sweep may be made smaller where each case takes so much longer.
        env.set("OVERLAID_SANITIZER", name);
        let in_tree = Watch::start(&folders.tree);
        let in_ours = Watch::start_sources(&self.workshop.root);
        let trial = Trial {
            command: &watched.command,
            env: &env,
            format: test.format,
            timeout: watched.timeout,
            folder: &folders.results,
            patience: watched.timeout,
            no_device: None,
        };
        let seed = repeats::seeds(1).first().copied().unwrap_or(1);
        let run = trial.once(seed, &format!("sanitizer-{name}"))?;
        let in_tree = in_tree.and_then(Watch::finish);
        for (path, (entry, was_read)) in opened(in_tree.as_ref(), &subject.sources) {
            let file = format!("{TREE}{path}");
            if was_read && !record.inputs.files.contains_key(&file) {
                record.inputs.files.insert(file, describe(Some(entry)));
            }
        }
        let ours = in_ours.and_then(Watch::finish);
        self.note_other_reads(&mut record.inputs, None, ours, folders.project.as_deref());
        if in_tree.is_some_and(|reads| !reads.written.is_empty()) {
            self.forget_tree(subject);
        }
        let report = read_report(sanitizer, watched, folders, name, &run);
        let folders = [folders.tree.as_path(), self.workshop.root.as_path()];
        Ok(outcome(report.map(|report| report.named_from(&folders)), &run))
    }

    /// The tool is a part of what the result depends on.
    fn note_tool(&mut self, program: &Path, record: &mut ResultRecord) {
        let hash = self.workshop.hashes.identity(program).unwrap_or_else(|error| error.kind().to_string());
        record.inputs.libraries.insert(program.display().to_string(), hash);
    }

    /// What the build with the sanitizer in it has read beyond what the ordinary one has.
    fn note_build(
        &mut self,
        subject: &Subject,
        build: &BuildRecord,
        ready: &Ready,
        record: &mut ResultRecord,
    ) {
        let is_known = |path| match &build.inputs.tree {
            TreeRead::Files { files, .. } => files.contains_key(path),
            TreeRead::Whole { .. } => true,
        };
        for path in ready.read.tree.keys().filter(|path| !is_known(path)) {
            let entry = describe(subject.sources.entry(path));
            record.inputs.files.entry(format!("{TREE}{path}")).or_insert(entry);
        }
        for (file, hash) in &ready.read.files {
            if !build.inputs.project.contains_key(file) {
                record.inputs.files.entry(file.clone()).or_insert_with(|| hash.clone());
            }
        }
    }
}

fn read_report(
    sanitizer: Sanitizer,
    watched: &Watched,
    folders: &Folders,
    name: &str,
    run: &Run,
) -> Result<Report, String> {
    if sanitizer.is_built_in() {
        let text = instrumented::read_logs(&watched.report)
            .map_err(|error| format!("{}: {error}", watched.report.display()))?;
        return log::parse(&text);
    }
    let printed = ["stdout", "stderr"].map(|kind| folders.results.join(format!("sanitizer-{name}.{kind}")));
    let console: Vec<String> = printed
        .iter()
        .map(|file| String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned())
        .collect();
    let xml = std::fs::read(&watched.report).unwrap_or_default();
    match compute::parse(&xml) {
        Ok(report) if !report.findings.is_empty() => Ok(report),
        report => match console.iter().find_map(|text| compute::trouble(text)) {
            Some(trouble) => Err(format!("compute-sanitizer: {trouble}")),
            None => report.map_err(|why| match run.processes.last() {
                Some(process) => format!("{why}; the process {}", process.end.text()),
                None => why,
            }),
        },
    }
}

fn untold_key(subject: &Subject, test: &Test) -> (crate::id::Name, String) {
    (test.name.value.clone(), subject.sources.whole().to_owned())
}

fn words(came_to: &CellOutcome) -> String {
    match came_to {
        CellOutcome::Pass => "finds nothing".to_owned(),
        CellOutcome::Fail { how: FailHow::Sanitizer { text } } => format!("finds {text}"),
        CellOutcome::Unknown { why } => format!("says nothing: {why}"),
        CellOutcome::Skip { why } | CellOutcome::Unrun { why } => format!("says nothing: {why}"),
        CellOutcome::Fail { .. } | CellOutcome::Measured => "says nothing".to_owned(),
    }
}
