//! Runs a test that is ready, and takes down all that its runs depend on.
//!
//! Decides what a run has opened, in the tree, in the build folder and in the test's project, and which runs
//! are put on record. Never looks for earlier ones.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::evidence::result::MAY_MATTER;
use crate::evidence::{BuildRecord, ResultRecord, RunInputs};
use crate::io::hashes::sha256_of;
use crate::io::loaded;
use crate::io::process::Environment;
use crate::io::python::{self, PACKAGES};
use crate::io::reads::{Reads, Watch};
use crate::kernel_test::{CellOutcome, Run, Unknown};
use crate::manifest::{Format, Test};
use crate::verdict::Obstacle;

use super::event::Event;
use super::ground;
use super::inputs::{describe, opened};
use super::left_off::UnderWay;
use super::make::{MakeError, Ready, Workshop};
use super::measure::{Lab, PROGRAM, Plan, Subject, TREE};
use super::other_machine::built_from;
use super::pristine;
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
                    built_from: Some(built_from(build)),
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
        let no_device = self.no_device();
        self.note_python(ready, &env, &folders.results, &mut record.inputs)?;
        let started = Instant::now();
        let before = record.runs.len();
        for &seed in seeds {
            let number = record.runs.len() + 1;
            let watches = [Some(&folders.tree), ready.build.as_ref()];
            let watches = watches.map(|folder| folder.map(|folder| (folder.clone(), Watch::start(folder))));
            let watch_of_ours = Watch::start_sources(&self.workshop.root);
            let trial = Trial {
                command: &ready.command,
                env: &env,
                format: test.format,
                timeout: test.timeout,
                folder: &folders.results,
                patience: test.timeout.saturating_mul(4),
                no_device: no_device.as_deref(),
            };
            let key = record.inputs.key();
            let key =
                sha256_of(format!("{key} {} {}", subject.sources.whole(), record.runs.len()).as_bytes());
            let under_way = UnderWay { key, seed, number };
            let begun = self.begun(&under_way, test, &folders.results);
            under_way.note(&folders.results);
            let was_left_off = begun.is_some();
            if let Some(begun) = &begun {
                (self.events)(Event::GoingOn { cases: begun.cells.len() - 1 });
            }
            let run = trial.go_on(begun, seed, number)?;
            UnderWay::forget(&folders.results);
            let ours = watch_of_ours.and_then(Watch::finish);
            let [in_tree, in_build] = watches.map(|watch| {
                let (folder, watch) = watch?;
                Some((folder, watch.and_then(Watch::finish)))
            });
            let reads = in_tree.and_then(|(_, reads)| reads);
            let run = match self.imports_nothing(reads.as_ref()).filter(|_| !was_left_off) {
                Some(text) => run.cut_off(&text),
                None => run,
            };
            (self.events)(Event::RanOnce { number: number - before, of: seeds.len() });
            self.unchanged(test, plan, &ready.read)?;
            for (path, (entry, was_read)) in opened(reads.as_ref(), &subject.sources) {
                let name = format!("{TREE}{path}");
                let name = if was_read { name } else { format!("{MAY_MATTER}{name}") };
                record.inputs.files.insert(name, describe(Some(entry)));
            }
            if was_left_off {
                // What was opened before we were ended is not known.
                for (path, (entry, _)) in opened(None, &subject.sources) {
                    record.inputs.files.insert(format!("{MAY_MATTER}{TREE}{path}"), describe(Some(entry)));
                }
                self.note_other_reads(&mut record.inputs, None, None, folders.project.as_deref());
            }
            if let (Some(build), Some((_, reads))) = (&ready.build, &in_build)
                && (was_left_off || reads.as_ref().is_some_and(|reads| !reads.written.is_empty()))
            {
                // What a test keeps there is not for the runs of another variant.
                pristine::bind(&build.join(".overlaid"), subject.sources.whole());
            }
            self.note_other_reads(&mut record.inputs, in_build, ours, folders.project.as_deref());
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

    /// What of the machine a test in Python stands on goes into what its runs depend on.
    fn note_python(
        &mut self,
        ready: &Ready,
        env: &Environment,
        results: &Path,
        inputs: &mut RunInputs,
    ) -> Result<(), MakeError> {
        let imports = self.workshop.profile.is_some_and(|profile| !profile.python_path.is_empty());
        let program = ready.command.first().map(PathBuf::from).filter(|program| python::is_python(program));
        let Some(program) = program.filter(|_| imports) else { return Ok(()) };
        let (interpreter, folders) = python::surroundings(&program, env, &results.join("python"))?;
        if let Some(interpreter) = interpreter {
            let hash = self.workshop.hashes.identity(&interpreter);
            let hash = hash.unwrap_or_else(|error| error.kind().to_string());
            inputs.files.insert(interpreter.display().to_string(), hash);
        }
        for folder in folders {
            inputs.files.insert(format!("{PACKAGES}{}", folder.display()), python::packages(&folder));
        }
        Ok(())
    }

    /// Whether a run under a profile that imports from the tree has opened none of its files there: then something
    /// else was tested, a copy that is installed, say.
    fn imports_nothing(&self, reads: Option<&Reads>) -> Option<String> {
        let folders = self.workshop.profile.map(|profile| profile.python_path.as_slice()).unwrap_or_default();
        let reads = reads.filter(|_| !folders.is_empty())?;
        let is_in = |file: &&PathBuf| {
            folders.iter().any(|folder| folder.value == Path::new(".") || file.starts_with(&folder.value))
        };
        if reads.files.iter().any(|file| is_in(&file)) {
            return None;
        }
        let folders: Vec<String> =
            folders.iter().map(|folder| format!("`{}`", folder.value.display())).collect();
        Some(format!(
            "it opened no file of {} in the tree: what it tested is not this variant but a copy elsewhere",
            folders.join(", ")
        ))
    }

    /// What a run had finished when we were ended, if nothing that it may depend on is another by now.
    fn begun(&self, under_way: &UnderWay, test: &Test, results: &Path) -> Option<Run> {
        if test.format != Format::Jsonl {
            return None;
        }
        let allowed = u64::try_from(test.timeout.as_millis()).unwrap_or(u64::MAX);
        let own = ground::own_entries(&self.workshop.root, &self.docs);
        let own = own.filter_map(Result::ok).filter(|entry| !entry.file_type().is_dir());
        under_way.left_off(results, own.map(walkdir::DirEntry::into_path), allowed)
    }

    /// What a run opened of the build folder, and of our repository.
    pub(super) fn note_other_reads(
        &mut self,
        inputs: &mut RunInputs,
        in_build: Option<(PathBuf, Option<Reads>)>,
        ours: Option<Reads>,
        project: Option<&Path>,
    ) {
        let Workshop { hashes, root, .. } = &mut self.workshop;
        let mut hash = |file: &Path| hashes.identity(file).unwrap_or_else(|error| error.kind().to_string());
        if let Some((folder, Some(reads))) = &in_build {
            for file in reads.files.iter().filter(|file| !reads.written.contains(*file)) {
                let name = file.display().to_string();
                if !inputs.libraries.contains_key(&name) && folder.join(file).is_file() {
                    inputs.libraries.insert(name, hash(&folder.join(file)));
                }
            }
        }
        let files: Vec<PathBuf> = match ours {
            Some(reads) => reads.files.difference(&reads.written).cloned().collect(),
            // It is not known: all of the project counts.
            None => walkdir::WalkDir::new(project.unwrap_or(Path::new("")))
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
        let mut hash = |file: &Path| {
            self.workshop.hashes.identity(file).unwrap_or_else(|error| error.kind().to_string())
        };
        outputs.insert(PROGRAM.to_owned(), hash(&program));
        let name = |file: &Path| match ready.build.as_ref().and_then(|build| file.strip_prefix(build).ok()) {
            Some(file) => file.display().to_string(),
            None if file.starts_with(self.workshop.root.join(".overlaid")) => file.display().to_string(),
            // Where a file of ours stands on this machine makes no difference.
            None => file.strip_prefix(&self.workshop.root).unwrap_or(file).display().to_string(),
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
        const CACHES: [&str; 5] = [
            "CUDA_CACHE_PATH",
            "CUPY_CACHE_DIR",
            "NUMBA_CACHE_DIR",
            "TORCHINDUCTOR_CACHE_DIR",
            "TRITON_CACHE_DIR",
        ];
        let mut env = self.workshop.env.clone();
        let io = |error: std::io::Error| Obstacle::Environment(format!("{}: {error}", caches.display()));
        // Nothing that another variant, or the same one before it was edited, has left.
        if caches.exists() {
            std::fs::remove_dir_all(caches).map_err(io)?;
        }
        // Caches that nobody has a variable for are kept below the home folder.
        let home = caches.join("home");
        std::fs::create_dir_all(&home).map_err(io)?;
        if let Some(users) = env.get("HOME").map(PathBuf::from)
            && env.get("PYTHONUSERBASE").is_none()
        {
            env.set("PYTHONUSERBASE", users.join(".local"));
        }
        for name in ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
            env.set(name, home.join(name));
        }
        env.set("HOME", home);
        env.set("OVERLAID_TREE", tree);
        env.set("OVERLAID_BUILD", build.unwrap_or(tree));
        if let Some(profile) = self.workshop.profile.filter(|profile| !profile.python_path.is_empty()) {
            python::steer(&mut env, profile.python_path.iter().map(|folder| tree.join(&folder.value)));
        }
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

/// Whether a run says something about the program: it was neither ended from outside nor unable to start.
pub(super) fn is_result(run: &Run) -> bool {
    let says_something = run.cells.iter().any(|cell| cell.compile_only);
    !run.cells.iter().any(|cell| match &cell.outcome {
        CellOutcome::Unknown { why: Unknown::Killed { .. } | Unknown::Missing { .. } } => true,
        CellOutcome::Unknown { why: Unknown::NoDevice { .. } } => !says_something,
        _ => false,
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
