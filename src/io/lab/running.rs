//! Runs a test that is ready, and takes down all that its runs depend on.
//!
//! Decides what a run has opened, in the tree, in the build folder and in the test's project, and which runs
//! are put on record. Never looks for earlier ones.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::evidence::{BuildRecord, ResultRecord, RunInputs};
use crate::io::loaded;
use crate::io::process::Environment;
use crate::io::reads::{Reads, Watch};
use crate::kernel_test::{CellOutcome, Run, Unknown};
use crate::manifest::Test;
use crate::verdict::Obstacle;

use super::event::Event;
use super::inputs::{describe, opened};
use super::make::PROJECT_FILES;
use super::make::{MakeError, Ready, Workshop};
use super::measure::{Lab, NAMES, PROGRAM, PROJECT_NAMES, Plan, Subject, TREE};
use super::records;
use super::trial::Trial;

/// Folders of one test on one variant.
pub(super) struct Folders {
    pub tree: PathBuf,
    pub results: PathBuf,
    pub caches: PathBuf,
    pub project: Option<PathBuf>,
}

impl Lab<'_> {
    /// Runs the test once for each seed, and puts each run on record.
    #[expect(clippy::too_many_arguments, reason = "all of it is what one run depends on")]
    pub(super) fn run(
        &mut self,
        subject: &Subject,
        test: &Test,
        plan: &Plan,
        build: &BuildRecord,
        ready: &Ready,
        folders: &Folders,
        known: Option<(String, ResultRecord)>,
        seeds: &[u64],
    ) -> Result<Option<(String, ResultRecord)>, MakeError> {
        let Some(inputs) = self.run_inputs(test, plan, build) else { return Ok(None) };
        let env = self.environment(subject, &folders.tree, ready.build.as_deref(), &folders.caches)?;
        let (mut file, mut record) = match known {
            Some((file, record)) => (Some(file), record),
            None => (
                None,
                ResultRecord {
                    test: test.name.value.clone(),
                    inputs,
                    runs: Vec::new(),
                    sanitized: BTreeMap::new(),
                    variant: subject.note.clone(),
                    machine: self.machine.clone(),
                    recorded: 0,
                },
            ),
        };
        let profile = self.profile();
        let command: Vec<_> = ready.command.iter().map(|part| part.to_string_lossy()).collect();
        (self.events)(Event::Running {
            test: test.name.value.clone(),
            variant: subject.label.clone(),
            command: command.join(" "),
            times: seeds.len(),
        });
        let may_look = may_look_for_files(test, ready, &folders.tree);
        let started = Instant::now();
        let before = record.runs.len();
        for &seed in seeds {
            let number = record.runs.len() + 1;
            let watches = [Some(&folders.tree), ready.build.as_ref(), folders.project.as_ref()];
            let watches = watches.map(|folder| folder.map(|folder| (folder.clone(), Watch::start(folder))));
            let trial = Trial {
                command: &ready.command,
                env: &env,
                format: test.format,
                timeout: test.timeout,
                folder: &folders.results,
                patience: test.timeout.saturating_mul(4),
            };
            let run = trial.run(seed, number)?;
            let [in_tree, in_build, in_project] = watches.map(|watch| {
                let (folder, watch) = watch?;
                Some((folder, watch.and_then(Watch::finish)))
            });
            let reads = in_tree.and_then(|(_, reads)| reads);
            (self.events)(Event::RanOnce { number: number - before, of: seeds.len() });
            for (path, entry) in opened(reads.as_ref(), &subject.sources) {
                record.inputs.files.insert(format!("{TREE}{path}"), describe(Some(entry)));
            }
            let is_opened =
                reads.as_ref().is_none_or(|reads| !reads.files.is_empty() || !reads.folders.is_empty());
            if may_look || is_opened {
                // It may look whether a file is there without opening it.
                record.inputs.files.insert(NAMES.to_owned(), subject.sources.names().to_owned());
            }
            let project_names = plan.steering.options.get(PROJECT_FILES);
            self.note_other_reads(&mut record.inputs, in_build, in_project, project_names);
            if reads.is_some_and(|reads| !reads.written.is_empty()) {
                let text = format!("test `{}` writes into the tree, which is made anew", test.name.value);
                (self.events)(Event::Warning(text));
                self.forget_tree(subject);
            }
            let is_result = is_result(&run);
            record.runs.push(run);
            if !is_result {
                // The next attempt may go better: nothing of this one is put on record.
                break;
            }
            record.recorded = records::now();
            match self.results.write(file.clone(), profile.as_ref(), &record) {
                Ok(name) => file = Some(name),
                Err(error) => {
                    let text = format!("the evidence cannot be written: {error}");
                    (self.events)(Event::Warning(text));
                }
            }
            if self.sites.get(&subject.sources.commit).is_some_and(|open| open.now.is_none()) {
                self.flip(subject)?;
            }
        }
        (self.events)(count(&record.runs[before..], started.elapsed()));
        Ok(Some((file.unwrap_or_default(), record)))
    }

    /// What a run opened of the build folder, and of the test's project.
    fn note_other_reads(
        &mut self,
        inputs: &mut RunInputs,
        in_build: Option<(PathBuf, Option<Reads>)>,
        in_project: Option<(PathBuf, Option<Reads>)>,
        project_names: Option<&String>,
    ) {
        let Workshop { hashes, root, .. } = &mut self.workshop;
        let mut hash = |file: &Path| hashes.sha256(file).unwrap_or_else(|error| error.kind().to_string());
        if let Some((folder, Some(reads))) = &in_build {
            for file in reads.files.iter().filter(|file| !reads.written.contains(*file)) {
                let name = file.display().to_string();
                if !inputs.libraries.contains_key(&name) && folder.join(file).is_file() {
                    inputs.libraries.insert(name, hash(&folder.join(file)));
                }
            }
        }
        let Some((folder, reads)) = &in_project else { return };
        let Ok(project) = folder.strip_prefix(&*root) else { return };
        if reads.as_ref().is_none_or(|reads| !reads.folders.is_empty()) {
            let names = project_names.cloned().unwrap_or_default();
            inputs.files.insert(PROJECT_NAMES.to_owned(), names);
        }
        let files: Vec<PathBuf> = match reads {
            Some(reads) => reads.files.iter().map(|file| project.join(file)).collect(),
            // It is not known: all of it counts.
            None => walkdir::WalkDir::new(folder)
                .into_iter()
                .filter_map(Result::ok)
                .filter_map(|entry| Some(entry.path().strip_prefix(&*root).ok()?.to_owned()))
                .collect(),
        };
        for file in files.iter().filter(|file| root.join(file).is_file()) {
            let name = file.display().to_string();
            inputs.files.entry(name).or_insert_with(|| hash(&root.join(file)));
        }
    }

    pub(super) fn forget_tree(&mut self, subject: &Subject) {
        if let Some(open) = self.sites.get_mut(&subject.sources.commit) {
            open.now = None;
            let _ = std::fs::remove_dir_all(open.site.tree());
        }
    }

    /// The program, its libraries and the files that the command names, each with its hash.
    pub(super) fn identify(
        &mut self,
        ready: &Ready,
        results: &Path,
    ) -> Result<BTreeMap<String, String>, MakeError> {
        std::fs::create_dir_all(results)
            .map_err(|error| Obstacle::Environment(format!("{}: {error}", results.display())))?;
        let Some(program) = ready.command.first() else {
            return Err(Obstacle::Environment("the test has no command".to_owned()).into());
        };
        let env = &self.workshop.env;
        let program = env.find(Path::new(program)).unwrap_or_else(|| PathBuf::from(program));
        let libraries = loaded::libraries(&program, env, &results.join("libraries"))?;
        let mut outputs = BTreeMap::new();
        // A program that is not there is a result of its own.
        let mut hash =
            |file: &Path| self.workshop.hashes.sha256(file).unwrap_or_else(|error| error.kind().to_string());
        outputs.insert(PROGRAM.to_owned(), hash(&program));
        let name = |file: &Path| match ready.build.as_ref().and_then(|build| file.strip_prefix(build).ok()) {
            Some(file) => file.display().to_string(),
            None => file.display().to_string(),
        };
        for file in libraries.iter().chain(ready.artifacts.iter().filter(|file| **file != program)) {
            outputs.insert(name(file), hash(file));
        }
        for part in ready.command.iter().skip(1) {
            let file = Path::new(part);
            // What of the tree is opened is seen while the test runs.
            let is_ours = ready.build.as_ref().is_some_and(|build| file.starts_with(build))
                || !file.starts_with(self.workshop.root.join(".overlaid"));
            if file.is_absolute() && is_ours && file.is_file() {
                outputs.insert(name(file), hash(file));
            }
        }
        Ok(outputs)
    }

    /// What a test is given.
    pub(super) fn environment(
        &self,
        subject: &Subject,
        tree: &Path,
        build: Option<&Path>,
        caches: &Path,
    ) -> Result<Environment, MakeError> {
        const CACHES: [&str; 3] = ["CUDA_CACHE_PATH", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"];
        let mut env = self.workshop.env.clone();
        env.set("OVERLAID_TREE", tree);
        env.set("OVERLAID_BUILD", build.unwrap_or(tree));
        env.set("OVERLAID_VARIANT", OsStr::new(&subject.label));
        let of_profile = self.workshop.profile.iter().flat_map(|profile| &profile.cache_env);
        for name in CACHES.into_iter().chain(of_profile.map(|name| name.as_str())) {
            let folder = caches.join(name);
            std::fs::create_dir_all(&folder)
                .map_err(|error| Obstacle::Environment(format!("{}: {error}", folder.display())))?;
            env.set(name, folder);
        }
        Ok(env)
    }
}

/// Whether a test could look for files of the tree without opening any: it is a script, or it is told where the
/// tree is, or knows it from when it was built.
fn may_look_for_files(test: &Test, ready: &Ready, tree: &Path) -> bool {
    let program = ready.command.first().map(Path::new);
    let is_built = program.zip(ready.build.as_ref()).is_some_and(|(file, build)| file.starts_with(build));
    if !is_built || test.command.iter().any(|part| part.contains("{tree}")) {
        return true;
    }
    let tree = tree.as_os_str().as_encoded_bytes();
    program
        .into_iter()
        .chain(ready.artifacts.iter().map(PathBuf::as_path))
        .any(|file| loaded::mentions(file, &[tree, b"OVERLAID_TREE"]))
}

/// Whether a run says something about the program: it was neither ended from outside nor unable to start.
fn is_result(run: &Run) -> bool {
    !run.cells.iter().any(|cell| {
        matches!(
            &cell.outcome,
            CellOutcome::Unknown { why: Unknown::Killed { .. } | Unknown::Missing { .. } }
        )
    })
}

fn count(runs: &[Run], wall: Duration) -> Event {
    let tally = |run: &Run| {
        let (mut failed, mut passed, mut other) = (0, 0, 0);
        for cell in &run.cells {
            match cell.outcome {
                _ if cell.case.is_pseudo() && run.cells.len() > 1 => {}
                CellOutcome::Pass | CellOutcome::Measured => passed += 1,
                CellOutcome::Fail { .. } => failed += 1,
                _ => other += 1,
            }
        }
        (failed, passed, other)
    };
    let (failed, passed, other) = runs.iter().map(tally).max().unwrap_or_default();
    Event::Ran { passed, failed, other, wall }
}
