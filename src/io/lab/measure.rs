//! Measures a test on a variant: from what is on record, or by building and running it.
//!
//! Decides what still holds of earlier builds and runs, and does only what is missing. Results are on
//! record after each run, so that an interrupted proof goes on where it was.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::id::{CommitId, Name};
use crate::io::loaded;
use crate::io::process::{Environment, ProcessError};
use crate::io::reads::{Reads, Watch};
use crate::io::toolchain::{self, Requirement};
use crate::io::tree;
use crate::kernel_test::repeats::seeds;
use crate::kernel_test::{CellOutcome, Run, Unknown};
use crate::manifest::{Profile, Sanitizer, Test};
use crate::upstream::Upstream;
use crate::verdict::{Obstacle, Ran, State};

use super::builds::{self, Build, Builds, Gave};
use super::evidence::{Evidence, EvidenceStore, Machine};
use super::make::{self, Inputs, Made, MakeError, Ready, Workshop};
use super::site::Site;
use super::sources::{self, Sources};
use super::trial::Trial;

/// What happens meanwhile, for those who watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Somebody else uses the folder; this run waits.
    Waiting {
        /// The folder.
        folder: PathBuf,
    },
    /// A tree is made what a variant says.
    Flipping {
        /// The variant.
        variant: String,
        /// How many paths overlays change in it.
        changes: usize,
    },
    /// A test is configured and built.
    Building {
        /// The test.
        test: Name,
        /// The variant.
        variant: String,
    },
    /// It was.
    Built {
        /// How many steps that took.
        steps: usize,
        /// How long.
        wall: Duration,
    },
    /// It does not build.
    BuildFailed {
        /// Where and why.
        what: String,
    },
    /// A test runs.
    Running {
        /// The test.
        test: Name,
        /// The variant.
        variant: String,
        /// The program and its arguments.
        command: String,
        /// Which run it is.
        number: usize,
        /// Of how many.
        of: usize,
    },
    /// It has run.
    Ran {
        /// Cells that passed.
        passed: usize,
        /// Cells that failed.
        failed: usize,
        /// All others.
        other: usize,
        /// How long it took.
        wall: Duration,
    },
    /// Something to know.
    Warning(String),
}

/// A variant, as far as measuring goes.
#[derive(Debug, Clone)]
pub struct Variant {
    /// How it is called: `pin`, `pin without x`, `1a2b3c with x`.
    pub label: String,
    /// Its files.
    pub sources: Sources,
}

/// Somebody stopped us.
#[derive(Debug)]
pub struct Interrupted(pub ProcessError);

/// Where variants are built and tested.
pub struct Lab<'a> {
    workshop: Workshop<'a>,
    upstream: &'a dyn Upstream,
    name: Name,
    sites: BTreeMap<CommitId, Open>,
    builds: Builds,
    evidence: EvidenceStore,
    machine: Machine,
    events: &'a mut dyn FnMut(Event),
}

/// A site that is in use.
struct Open {
    site: Site,
    /// What its tree is now, if that is certain.
    now: Option<String>,
}

impl<'a> Lab<'a> {
    /// A lab of an upstream in our repository. `docs` is the folder of the evidence, relative to it.
    pub fn new(
        root: &Path,
        docs: &Path,
        name: &Name,
        profile: Option<&'a Profile>,
        upstream: &'a dyn Upstream,
        events: &'a mut dyn FnMut(Event),
    ) -> Self {
        let workshop = Workshop::new(root, profile);
        let builds = Builds::at(&workshop.root.join(".overlaid/lab").join(name.as_str()).join("builds"));
        let evidence = EvidenceStore::at(&workshop.root.join(docs).join("evidence"));
        let machine = Machine::here(&workshop.requirement);
        let sites = BTreeMap::new();
        Self { workshop, upstream, name: name.clone(), sites, builds, evidence, machine, events }
    }

    /// What is on record of a test on a variant. Starts no program and touches no tree.
    pub fn known(&mut self, variant: &Variant, test: &Test) -> State {
        let steering = match self.steering(test) {
            Ok(steering) => steering,
            Err(obstacle) => return State::Blocked(obstacle),
        };
        self.on_record(variant, test, &steering).map_or(State::NotRun, |record| record.state)
    }

    /// Makes sure that a test has so many runs on a variant. `same_seeds`: the runs that are missing repeat
    /// the seeds that are there.
    ///
    /// # Errors
    /// If we are told to stop. Whatever else is in the way is a state.
    pub fn measure(
        &mut self,
        variant: &Variant,
        test: &Test,
        runs: u32,
        same_seeds: bool,
    ) -> Result<State, Interrupted> {
        match self.try_measure(variant, test, runs, same_seeds) {
            Ok(state) => Ok(state),
            Err(MakeError::Obstacle(obstacle)) => Ok(State::Blocked(obstacle)),
            Err(MakeError::Interrupted(error)) => Err(Interrupted(error)),
        }
    }

    /// Writes what was learned about files. Losing it costs time only.
    pub fn save(&mut self) {
        let _ = self.workshop.hashes.save();
    }

    /// Makes the tree of a variant and builds targets of the upstream. Gives the tree, the build folder and
    /// how it went.
    ///
    /// # Errors
    /// If the machine is in the way.
    pub fn build(
        &mut self,
        variant: &Variant,
        targets: &[String],
    ) -> Result<(PathBuf, PathBuf, crate::io::cmake::Outcome), MakeError> {
        self.flip(variant)?;
        let Some(open) = self.sites.get(&variant.sources.commit) else {
            return Err(Obstacle::Environment("the site is gone".to_owned()).into());
        };
        let (build, outcome) = self.workshop.build_upstream(&open.site, &variant.sources, targets)?;
        Ok((open.site.tree(), build, outcome))
    }

    /// Tools, options, and the program itself where it is none that a build makes.
    fn steering(&mut self, test: &Test) -> Result<BTreeMap<String, String>, Obstacle> {
        let mut steering = self.workshop.steering(test)?;
        if let Some(program) = test.command.first().filter(|program| !program.contains('{')) {
            let file = self.workshop.env.find(Path::new(program.as_str()));
            let file = file.ok_or_else(|| {
                Obstacle::Toolchain(format!("test `{}`: `{}` is not there", test.name.value, program.value))
            })?;
            let hash = self.workshop.hashes.sha256(&file).map_err(|error| {
                Obstacle::Toolchain(format!("test `{}`: {}: {error}", test.name.value, file.display()))
            })?;
            steering.insert("runs".to_owned(), format!("{} {hash}", file.display()));
        }
        Ok(steering)
    }

    fn on_record(
        &mut self,
        variant: &Variant,
        test: &Test,
        steering: &BTreeMap<String, String>,
    ) -> Option<Record> {
        let named = self.workshop.named_sources(test);
        let profile = self.workshop.profile.map(|profile| profile.name.value.clone());
        let build = self.builds.find(
            &test.name,
            profile.as_ref(),
            steering,
            &named,
            &variant.sources,
            &self.workshop.root,
            &mut self.workshop.hashes,
        )?;
        let program = match &build.gave {
            Gave::Failure(text) => {
                let toolchain = build.toolchain.clone();
                let state = State::BuildFailed { toolchain, text: text.clone() };
                return Some(Record { state, evidence: None });
            }
            Gave::Program(program) => program.clone(),
        };
        let evidence = self.find_evidence(test, &program, &variant.sources)?;
        let state = self.state(test, &build.toolchain, build.read(), &evidence);
        Some(Record { state, evidence: Some(evidence) })
    }

    /// The evidence for a program on a tree, if what it read while it ran is the same here.
    fn find_evidence(&mut self, test: &Test, program: &str, sources: &Sources) -> Option<Evidence> {
        let profile = self.workshop.profile.map(|profile| profile.name.value.clone());
        let ours = self.workshop.named_sources(test);
        let all = self.evidence.find(&test.name, profile.as_ref(), program, &self.machine);
        all.into_iter().find(|evidence| {
            evidence.ours == ours
                && evidence.tree.iter().all(|(path, entry)| {
                    sources::describe(sources.entry(path)) == *entry
                })
                && evidence.names.as_ref().is_none_or(|names| names == sources.names())
        })
    }

    fn state(&self, test: &Test, toolchain: &str, mut read: Inputs, evidence: &Evidence) -> State {
        read.tree.extend(evidence.tree.clone());
        let missing = |sanitizer: &Sanitizer| {
            let text = format!("this version cannot run {sanitizer:?} yet");
            (format!("{sanitizer:?}").to_lowercase(), vec![CellOutcome::Unknown { why: Unknown::Missing { text } }])
        };
        State::Ran(Ran {
            toolchain: toolchain.to_owned(),
            inputs: Some(builds::digest(&read)),
            runs: evidence.runs.clone(),
            sanitized: test.sanitizers.iter().map(|sanitizer| missing(&sanitizer.value)).collect(),
        })
    }

    fn try_measure(
        &mut self,
        variant: &Variant,
        test: &Test,
        runs: u32,
        same_seeds: bool,
    ) -> Result<State, MakeError> {
        let steering = self.steering(test)?;
        let record = self.on_record(variant, test, &steering);
        if let Some(record) = &record {
            let missing = record.evidence.as_ref().map(|evidence| missing_seeds(evidence, runs, same_seeds));
            if missing.is_none_or(|missing| missing.is_empty()) {
                return Ok(record.state.clone());
            }
        }
        match &self.workshop.requirement {
            Requirement::Missing(missing) => {
                let text = format!("{}; {}", missing.what, missing.hint);
                return Err(Obstacle::Device(text).into());
            }
            Requirement::Nothing | Requirement::Device(_) => {}
        }
        self.flip(variant)?;
        let Some(open) = self.sites.get(&variant.sources.commit) else {
            return Err(Obstacle::Environment("the site is gone".to_owned()).into());
        };
        if test.target.is_some() {
            let event = Event::Building { test: test.name.value.clone(), variant: variant.label.clone() };
            (self.events)(event);
        }
        let started = Instant::now();
        let made = self.workshop.make(&open.site, &variant.sources, test)?;
        let words = toolchain_words(&steering);
        let ready = match made {
            Made::Failed(failure) => {
                let text = format!("{}: {}", failure.stage, failure.what);
                (self.events)(Event::BuildFailed { what: text.clone() });
                let mut build = Build::new(
                    steering,
                    &variant.sources,
                    &Inputs { ours: self.all_ours(test), ..Inputs::default() },
                    words.clone(),
                    Gave::Failure(text.clone()),
                );
                build.whole = Some(variant.sources.fingerprint());
                self.add_build(test, build);
                return Ok(State::BuildFailed { toolchain: words, text });
            }
            Made::Ready(ready) => ready,
        };
        if test.target.is_some() {
            (self.events)(Event::Built { steps: ready.steps, wall: started.elapsed() });
        }
        let results = open.site.results(&test.name).join(slug(&variant.label));
        let caches = open.site.caches(&slug(&variant.label));
        let tree = open.site.tree();
        let program = self.identify(&ready, &results)?;
        let gave = Gave::Program(program.clone());
        let build = Build::new(steering, &variant.sources, &ready.inputs, words.clone(), gave);
        let read = build.read();
        self.add_build(test, build);

        let evidence = self.find_evidence(test, &program, &variant.sources);
        let mut evidence = match evidence {
            Some(evidence) => evidence,
            None => self.new_evidence(variant, test, &program, &ready),
        };
        let env = self.environment(variant, test, &tree, ready.build.as_deref(), &caches)?;
        let todo = missing_seeds(&evidence, runs, same_seeds);
        let of = evidence.runs.len() + todo.len();
        for seed in todo {
            let number = evidence.runs.len() + 1;
            let command: Vec<_> = ready.command.iter().map(|part| part.to_string_lossy()).collect();
            (self.events)(Event::Running {
                test: test.name.value.clone(),
                variant: variant.label.clone(),
                command: command.join(" "),
                number,
                of,
            });
            let started = Instant::now();
            let watch = Watch::start(&tree);
            let watched = watch.is_some();
            let trial = Trial {
                command: &ready.command,
                env: &env,
                format: test.format,
                timeout: test.timeout,
                folder: &results,
                patience: test.timeout.saturating_mul(4),
            };
            let run = trial.run(seed, number)?;
            let reads = watch.and_then(Watch::finish);
            (self.events)(count(&run, started.elapsed()));
            self.note_reads(&mut evidence, reads.as_ref(), watched, variant, test);
            let is_result = is_result(&run);
            evidence.runs.push(run);
            if !is_result {
                // The next attempt may go better: nothing of this one is put on record.
                break;
            }
            if let Err(error) = self.evidence.write(&mut evidence) {
                (self.events)(Event::Warning(format!("the evidence cannot be written: {error}")));
            }
        }
        Ok(self.state(test, &words, read, &evidence))
    }

    fn new_evidence(
        &mut self,
        variant: &Variant,
        test: &Test,
        program: &str,
        ready: &Ready,
    ) -> Evidence {
        let compilers = ready.build.iter().flat_map(|build| toolchain::compilers(build));
        let compilers = compilers.map(|c| format!("{} {} {}", c.language, c.maker, c.version)).collect();
        let overlays: std::collections::BTreeSet<Name> =
            variant.sources.owners.values().flatten().cloned().collect();
        Evidence {
            schema: super::evidence::SCHEMA.to_owned(),
            upstream: self.name.clone(),
            commit: variant.sources.commit,
            variant: variant.label.clone(),
            overlays: overlays.into_iter().collect(),
            test: test.name.value.clone(),
            profile: self.workshop.profile.map(|profile| profile.name.value.clone()),
            made: super::evidence::now(),
            machine: self.machine.clone(),
            compilers,
            command: ready.command.iter().map(|part| part.to_string_lossy().into_owned()).collect(),
            program: program.to_owned(),
            ours: self.workshop.named_sources(test),
            tree: BTreeMap::new(),
            names: None,
            runs: Vec::new(),
            checksum: String::new(),
            file: None,
        }
    }

    /// Files of ours that may have to do with a build that failed: nobody knows which it read.
    fn all_ours(&mut self, test: &Test) -> BTreeMap<PathBuf, String> {
        let profile = self.workshop.profile.map(|profile| profile.name.value.clone());
        let mut ours = self.workshop.named_sources(test);
        let mut files = self.builds.files_of_ours(&test.name, profile.as_ref());
        if let Some(project) = &test.project {
            files.extend(self.workshop.project_files(project));
        }
        for file in files {
            if let Ok(hash) = self.workshop.hashes.sha256(&self.workshop.root.join(&file)) {
                ours.insert(file, hash);
            }
        }
        ours
    }

    fn note_reads(
        &mut self,
        evidence: &mut Evidence,
        reads: Option<&Reads>,
        watched: bool,
        variant: &Variant,
        test: &Test,
    ) {
        make::add_reads(&mut evidence.tree, reads, &variant.sources);
        if reads.is_none() || test.target.is_none() {
            // A script may look whether a file is there without opening it.
            evidence.names = Some(variant.sources.names().to_owned());
        }
        if reads.is_none() && watched {
            let text = format!("test `{}` opens more files than can be watched: all files count", test.name.value);
            (self.events)(Event::Warning(text));
        }
        if reads.is_some_and(|reads| !reads.written.is_empty()) {
            let text = format!("test `{}` writes into the tree, which is made anew", test.name.value);
            (self.events)(Event::Warning(text));
            if let Some(open) = self.sites.get_mut(&variant.sources.commit) {
                open.now = None;
                let _ = std::fs::remove_dir_all(open.site.tree());
            }
        }
    }

    fn add_build(&mut self, test: &Test, build: Build) {
        let profile = self.workshop.profile.map(|profile| profile.name.value.clone());
        if let Err(error) = self.builds.add(&test.name, profile.as_ref(), build) {
            (self.events)(Event::Warning(format!("what was built cannot be noted: {error}")));
        }
    }

    /// Makes the tree of the variant's commit what the variant says.
    fn flip(&mut self, variant: &Variant) -> Result<(), MakeError> {
        let commit = variant.sources.commit;
        let events = &mut *self.events;
        if !self.sites.contains_key(&commit) {
            let opened = Site::open(&self.workshop.root, &self.name, commit, &mut |folder| {
                events(Event::Waiting { folder: folder.to_owned() });
            });
            let site = opened.map_err(|error| Obstacle::Environment(error.to_string()))?;
            self.sites.insert(commit, Open { site, now: None });
        }
        let Some(open) = self.sites.get_mut(&commit) else { return Ok(()) };
        let fingerprint = variant.sources.fingerprint();
        let tree = open.site.tree();
        if open.now.as_ref() == Some(&fingerprint) && tree.is_dir() {
            return Ok(());
        }
        events(Event::Flipping { variant: variant.label.clone(), changes: variant.sources.changes.len() });
        open.now = None;
        let wanted = variant.sources.wanted(&self.name);
        // The tree is nobody's but ours: what stands in the way was left by a test, and a copy is kept.
        let options = tree::Options { force: true, ..tree::Options::default() };
        let outcome = tree::bring_to(&tree, &wanted, self.upstream, &options, &mut |event| {
            if let tree::Event::Kept { path, .. } = event {
                events(Event::Warning(format!("{path} was changed in the lab's tree; it is put right")));
            }
        });
        match outcome {
            Ok(tree::Outcome::Unchanged(_) | tree::Outcome::Changed(_)) => {
                open.now = Some(fingerprint);
                Ok(())
            }
            Ok(tree::Outcome::Refused(_) | tree::Outcome::NotOurs) => {
                let text = format!("{} is in the way; remove it", tree.display());
                Err(Obstacle::Environment(text).into())
            }
            Err(tree::TreeError::Upstream { error, .. }) => Err(Obstacle::Upstream(error.to_string()).into()),
            Err(error) => Err(Obstacle::Environment(error.to_string()).into()),
        }
    }

    /// A hash of all that is fixed about what will run: the program, its libraries, files that the command
    /// names, the command itself.
    fn identify(&mut self, ready: &Ready, results: &Path) -> Result<String, MakeError> {
        let environment = |error: std::io::Error, path: &Path| {
            MakeError::Obstacle(Obstacle::Environment(format!("{}: {error}", path.display())))
        };
        std::fs::create_dir_all(results).map_err(|error| environment(error, results))?;
        let mut text = String::new();
        let Some(program) = ready.command.first() else {
            return Err(Obstacle::Environment("the test has no command".to_owned()).into());
        };
        let program = self.workshop.env.find(Path::new(program)).unwrap_or_else(|| PathBuf::from(program));
        let libraries = loaded::libraries(&program, &self.workshop.env, &results.join("libraries"))?;
        for file in std::iter::once(&program).chain(&libraries) {
            // A program that is not there is a result of its own.
            let hash = self.workshop.hashes.sha256(file).unwrap_or_else(|error| error.kind().to_string());
            text.push_str(&format!("file {} {hash}\n", place(file, &self.workshop.root)));
        }
        for part in &ready.command {
            text.push_str(&format!("argument {}\n", place(Path::new(part), &self.workshop.root)));
            let file = Path::new(part);
            let in_tree = file.starts_with(self.workshop.root.join(".overlaid/lab")) && ready.build.as_ref().is_none_or(|build| !file.starts_with(build));
            if file.is_absolute() && !in_tree && file.is_file() {
                let hash = self.workshop.hashes.sha256(file).unwrap_or_else(|error| error.kind().to_string());
                text.push_str(&format!("content {hash}\n"));
            }
        }
        Ok(crate::io::hashes::sha256_of(text.as_bytes()))
    }

    /// What a test is given.
    fn environment(
        &self,
        variant: &Variant,
        test: &Test,
        tree: &Path,
        build: Option<&Path>,
        caches: &Path,
    ) -> Result<Environment, MakeError> {
        const CACHES: [&str; 3] = ["CUDA_CACHE_PATH", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"];
        let mut env = self.workshop.env.clone();
        env.set("OVERLAID_TREE", tree);
        env.set("OVERLAID_BUILD", build.unwrap_or(tree));
        env.set("OVERLAID_VARIANT", OsStr::new(&variant.label));
        let of_profile = self.workshop.profile.iter().flat_map(|profile| &profile.cache_env);
        let caches = caches.join(test.name.as_str());
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
fn is_result(run: &Run) -> bool {
    !run.cells.iter().any(|cell| {
        matches!(&cell.outcome, CellOutcome::Unknown { why: Unknown::Killed { .. } | Unknown::Missing { .. } })
    })
}

struct Record {
    state: State,
    evidence: Option<Evidence>,
}

/// What built something, in words that are equal for the same tools. Not what CMake found out about
/// compilers: a configure that fails early leaves nothing of that.
fn toolchain_words(steering: &BTreeMap<String, String>) -> String {
    let tools: String = steering
        .iter()
        .filter(|(key, _)| key.starts_with("program ") || key.starts_with("variable "))
        .map(|(key, value)| format!("{key} {value}\n"))
        .collect();
    format!("tools {}", &crate::io::hashes::sha256_of(tools.as_bytes())[..8])
}

/// The seeds that have to be run still.
fn missing_seeds(evidence: &Evidence, runs: u32, same_seeds: bool) -> Vec<u64> {
    let have: Vec<u64> = evidence.runs.iter().map(|run| run.seed).collect();
    let missing = (runs as usize).saturating_sub(have.len());
    if !same_seeds {
        return seeds(runs).into_iter().skip(have.len()).collect();
    }
    let mut once: Vec<u64> = have.clone();
    once.sort_unstable();
    once.dedup();
    once.sort_by_key(|seed| have.iter().filter(|other| *other == seed).count());
    once.into_iter().cycle().take(if have.is_empty() { 0 } else { missing }).collect()
}

fn count(run: &Run, wall: Duration) -> Event {
    let (mut passed, mut failed, mut other) = (0, 0, 0);
    for cell in &run.cells {
        match cell.outcome {
            _ if cell.case.is_pseudo() && run.cells.len() > 1 => {}
            CellOutcome::Pass | CellOutcome::Measured => passed += 1,
            CellOutcome::Fail { .. } => failed += 1,
            _ => other += 1,
        }
    }
    Event::Ran { passed, failed, other, wall }
}

/// A path without the part that is this machine's own.
fn place(file: &Path, root: &Path) -> String {
    let file = file.strip_prefix(root).unwrap_or(file);
    // Two variants that run the same program at other commits are the same to a test.
    let text = file.display().to_string();
    match text.strip_prefix(".overlaid/lab/") {
        Some(rest) => rest.split('/').skip(2).collect::<Vec<_>>().join("/"),
        None => text,
    }
}

/// A variant's name as a folder's.
fn slug(label: &str) -> String {
    label.chars().map(|c| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '-' }).collect()
}
