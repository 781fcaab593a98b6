//! What is on record of a test on a variant, and what goes on record.
//!
//! Decides which earlier builds and runs still hold here. Starts no program and touches no tree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::SystemTime;

use crate::evidence::result::{MAY_MATTER, PROTOCOL};
use crate::evidence::{
    BuildInputs, BuildOutcome, BuildRecord, Candidate, MadeOn, ResultRecord, RunInputs, TreeRead,
    what_may_matter, what_was_read,
};
use crate::id::UpstreamPath;
use crate::io::cmake::BuildFailure;
use crate::io::machine;
use crate::io::python::{self, PACKAGES};
use crate::manifest::{Format, Test};
use crate::verdict::{Ran, State};

use super::event::Event;
use super::ground::{self, Ground};
use super::inputs::describe;
use super::make::{Ready, Workshop};
use super::measure::{Lab, PROGRAM, Plan, Subject, TREE};
use super::records;
use super::steering::Steering;

/// What is on record of a test on a variant.
pub(super) struct OnRecord {
    pub build: BuildRecord,
    /// The runs of what was built, if there are any.
    pub result: Option<(String, ResultRecord)>,
}

impl Lab<'_> {
    /// What is on record of a test on a variant. Starts no program and touches no tree.
    pub fn known(&mut self, subject: &Subject, test: &Test) -> State {
        if let Some(state) = self.state_elsewhere(subject, test) {
            return state;
        }
        let plan = match self.plan(test) {
            Ok(plan) => plan,
            Err(obstacle) => return State::Blocked(obstacle),
        };
        match self.on_record(subject, test, &plan) {
            Some(record) => {
                // What a sanitizer has not watched yet is still to be measured.
                let is_open = record.result.as_ref().is_some_and(|(_, result)| {
                    !result.runs.is_empty() && !self.unsanitized(subject, test, result).is_empty()
                });
                if is_open {
                    return State::NotRun;
                }
                self.note_use(&record);
                self.state(subject, test, &record)
            }
            None => State::NotRun,
        }
    }

    /// The build of a test on a variant that holds here, and the record of its runs by the name of its file. Starts no
    /// program and touches no tree.
    pub fn records_of(
        &mut self,
        subject: &Subject,
        test: &Test,
    ) -> Option<(BuildRecord, Option<(String, ResultRecord)>)> {
        let record = match self.record_elsewhere(subject, test) {
            Some(record) => record,
            None => {
                let plan = self.plan(test).ok()?;
                self.on_record(subject, test, &plan)?
            }
        };
        Some((record.build, record.result))
    }

    /// The hash of a record's file.
    pub fn record_sha256(&mut self, record: &str) -> Option<String> {
        let file = self.workshop.root.join(&self.docs).join("evidence").join(record);
        self.workshop.hashes.sha256(&file).ok()
    }

    pub(super) fn note_use(&mut self, record: &OnRecord) {
        let files = &mut self.used.files;
        files.extend(record.build.inputs.project.clone());
        if let BuildOutcome::Built { outputs } = &record.build.outcome {
            let of_machine = outputs.iter().filter(|(file, _)| file.starts_with('/'));
            files.extend(of_machine.map(|(file, hash)| (file.clone(), hash.clone())));
        }
        if let Some((name, result)) = &record.result {
            let of_tree = |file: &str| file.strip_prefix(MAY_MATTER).unwrap_or(file).starts_with(TREE);
            let ours = result.inputs.files.iter().filter(|(file, _)| !of_tree(file));
            files.extend(ours.map(|(file, hash)| (file.clone(), hash.clone())));
            self.used.records.insert(name.clone());
        }
    }

    /// Whether the failure of a build still stands: it is on record, or was seen since we started, and the machine
    /// is the same.
    pub fn still_fails(&mut self, subject: &Subject, test: &Test) -> bool {
        let Ok(plan) = self.plan(test) else { return false };
        let record = self.on_record(subject, test, &plan);
        record.is_some_and(|record| matches!(record.build.outcome, BuildOutcome::Failed { .. }))
    }

    /// Takes down that an answer leans on the machine that a build was made on; says whether that is known, and still
    /// the same.
    pub fn lean_on(&mut self, subject: &Subject, test: &Test) -> bool {
        let Ok(plan) = self.plan(test) else { return false };
        let Some(record) = self.on_record(subject, test, &plan) else { return false };
        let made_on = record.build.made_on;
        let stands = !made_on.is_unknown() && self.is_same_machine(&made_on);
        self.used.machine.extend(made_on.machine);
        self.used.names = made_on.names.or(self.used.names.take());
        stands
    }

    /// Whether this is the machine of a build, with the same names of our own files.
    pub(super) fn is_same_machine(&self, made_on: &MadeOn) -> bool {
        ground::is_same(made_on, &self.grounds, &self.workshop.root, &self.docs)
    }

    pub(super) fn on_record(&mut self, subject: &Subject, test: &Test, plan: &Plan) -> Option<OnRecord> {
        let failed = (test.name.value.clone(), subject.sources.whole().to_owned());
        if let Some(build) = self.failed.get(&failed) {
            if build.made_on.is_unknown() || self.is_same_machine(&build.made_on) {
                return Some(OnRecord { build: build.clone(), result: None });
            }
            self.failed.remove(&failed);
        }
        let profile = self.profile();
        let hashes = &mut self.workshop.hashes;
        let root = &self.workshop.root;
        let (grounds, docs) = (&self.grounds, &self.docs);
        let sources = &subject.sources;
        let builds = self.builds.of(&test.name, profile.as_ref()).iter().rev();
        let build = builds.into_iter().find(|build| {
            // Cheap questions first: most records are of other variants.
            let reads_the_same = match &build.inputs.tree {
                TreeRead::Files { files, .. } => {
                    files.iter().all(|(path, entry)| sources.entry(path) == Some(*entry))
                }
                TreeRead::Whole { digest } => digest == sources.whole(),
            };
            if !reads_the_same || build.inputs.options != plan.steering.options {
                return false;
            }
            let mut project = plan.named.clone();
            for file in build.inputs.project.keys().filter(|file| !plan.named.contains_key(*file)) {
                let hash = hashes.identity(&root.join(file)).unwrap_or_default();
                project.insert(file.clone(), hash);
            }
            let libraries_stand = match &build.outcome {
                BuildOutcome::Built { outputs } => outputs
                    .iter()
                    .filter(|(file, _)| file.starts_with('/'))
                    .all(|(file, hash)| hashes.identity(Path::new(file)).is_ok_and(|now| now == *hash)),
                BuildOutcome::Failed { .. } => true,
            };
            libraries_stand
                && build.holds_for(&Candidate {
                    entry: &|path: &UpstreamPath| sources.entry(path),
                    paths: sources.names(),
                    whole: sources.whole(),
                    project: &project,
                    options: &plan.steering.options,
                    toolchain: &plan.steering.toolchain,
                    is_same_machine: &|made_on| ground::is_same(made_on, grounds, root, docs),
                })
        })?;
        let build = build.clone();
        let result = self.result_of(subject, test, plan, &build, None);
        Some(OnRecord { build, result })
    }

    /// The runs of what was built, if all that they depend on is the same here. `folder`: the build folder,
    /// if what was built is there now.
    pub(super) fn result_of(
        &mut self,
        subject: &Subject,
        test: &Test,
        plan: &Plan,
        build: &BuildRecord,
        folder: Option<&Path>,
    ) -> Option<(String, ResultRecord)> {
        let inputs = self.run_inputs(test, plan, build)?;
        let profile = self.profile();
        let Workshop { hashes, root, .. } = &mut self.workshop;
        let mut hash = |file: &Path| hashes.identity(file).unwrap_or_else(|error| error.kind().to_string());
        let found = self.results.of(&test.name, profile.as_ref()).iter().find(|(_, record)| {
            if record.inputs.binary != inputs.binary || record.inputs.build != inputs.build {
                return false;
            }
            let mut now = inputs.clone();
            for file in record.inputs.files.keys().filter(|file| !inputs.files.contains_key(*file)) {
                let entry = match file.strip_prefix(MAY_MATTER).unwrap_or(file).strip_prefix(TREE) {
                    Some(path) => {
                        let path = UpstreamPath::parse(path);
                        describe(path.ok().and_then(|path| subject.sources.entry(&path)))
                    }
                    None => match file.strip_prefix(PACKAGES) {
                        Some(folder) => python::packages(Path::new(folder)),
                        None => hash(&root.join(file)),
                    },
                };
                now.files.insert(file.clone(), entry);
            }
            for file in record.inputs.libraries.keys().filter(|file| !inputs.libraries.contains_key(*file)) {
                if let Some(folder) = folder {
                    now.libraries.insert(file.clone(), hash(&folder.join(file)));
                }
            }
            now == record.inputs
        });
        found.cloned()
    }

    /// What the runs of a program depend on, before it is known what it opens while it runs. `None`: there is
    /// no program.
    pub(super) fn run_inputs(&self, test: &Test, plan: &Plan, build: &BuildRecord) -> Option<RunInputs> {
        let BuildOutcome::Built { outputs } = &build.outcome else { return None };
        let mut libraries = outputs.clone();
        let binary = libraries.remove(PROGRAM)?;
        let environment = self.workshop.env.iter().filter_map(|(name, value)| {
            let name = name.to_str()?;
            let counts = STEER_RUNS.iter().any(|start| name.starts_with(start));
            counts.then(|| (name.to_owned(), value.to_string_lossy().into_owned()))
        });
        Some(RunInputs {
            build: build.inputs.key(),
            binary,
            libraries,
            files: plan.named.clone(),
            command: test.command.iter().map(|part| part.value.clone()).collect(),
            environment: environment
                .chain([("all variables".to_owned(), self.workshop.variables_hash().to_owned())])
                .collect(),
            format: format_name(test.format).to_owned(),
            timeout_ms: u64::try_from(test.timeout.as_millis()).unwrap_or(u64::MAX),
            sanitizers: test
                .sanitizers_under(self.workshop.profile)
                .map(|sanitizer| sanitizer.as_str().to_owned())
                .collect(),
            compiler: plan.steering.toolchain.clone(),
            host: self.machine.class(),
            device: self.machine.device.clone(),
            driver: self.machine.driver.clone(),
            protocol: PROTOCOL,
        })
    }

    pub(super) fn state(&self, subject: &Subject, test: &Test, record: &OnRecord) -> State {
        let toolchain = record.build.inputs.toolchain.clone();
        if let BuildOutcome::Failed { text } = &record.build.outcome {
            return State::BuildFailed { toolchain, text: text.clone() };
        }
        let Some((_, result)) = &record.result else { return State::NotRun };
        let mut sanitized = result.sanitized.clone();
        for (tool, untold) in self.untold_of(subject, test).into_iter().flatten() {
            sanitized.entry((*tool).to_owned()).or_insert_with(|| vec![untold.clone()]);
        }
        State::Ran(Ran {
            toolchain,
            inputs: Some(what_was_read(&record.build.inputs, Some(&result.inputs))),
            surroundings: Some(what_may_matter(&result.inputs)),
            runs: result.runs.clone(),
            sanitized,
        })
    }

    pub(super) fn good_build(
        &self,
        subject: &Subject,
        plan: &Plan,
        ready: &Ready,
        outputs: BTreeMap<String, String>,
    ) -> BuildRecord {
        let read = &ready.read;
        let sources = &subject.sources;
        let paths = if read.is_whole { sources.whole() } else { sources.names() }.to_owned();
        let tree = TreeRead::Files { files: read.tree.clone(), paths };
        let made_on = MadeOn { machine: ready.ground.keep(&self.grounds), names: None };
        self.record(subject, plan, tree, read.files.clone(), BuildOutcome::Built { outputs }, made_on)
    }

    /// Nobody knows all that a build that failed has read: all files that may have to do with it count, and the
    /// machine.
    pub(super) fn failed_build(
        &mut self,
        subject: &Subject,
        test: &Test,
        plan: &Plan,
        failure: &BuildFailure,
        ground: &Ground,
        started: SystemTime,
    ) -> BuildRecord {
        let profile = self.profile();
        let builds = self.builds.of(&test.name, profile.as_ref());
        let mut files: BTreeSet<String> =
            builds.iter().flat_map(|build| build.inputs.project.keys().cloned()).collect();
        if let Some(project) = &test.project {
            let of_project = self.workshop.project_files(project);
            files.extend(of_project.iter().map(|file| file.display().to_string()));
        }
        if let Ground::Same { ours, .. } = ground {
            files.extend(ours.iter().map(|file| file.display().to_string()));
        }
        let mut project = plan.named.clone();
        let mut is_edited = false;
        for file in files {
            let path = self.workshop.root.join(&file);
            is_edited |= machine::is_newer_than(&path, started);
            if let Ok(hash) = self.workshop.hashes.identity(&path) {
                project.insert(file, hash);
            }
        }
        // CMake and the commands of a project may look anywhere: what they miss may be there the next time.
        let made_on = match ground::own_names(&self.workshop.root, &self.docs) {
            Some(names) if failure.is_compilers && !is_edited => {
                MadeOn { machine: ground.keep(&self.grounds), names: Some(names) }
            }
            _ => MadeOn::default(),
        };
        let text = format!("{}: {}", failure.stage, failure.what);
        let tree = TreeRead::Whole { digest: subject.sources.whole().to_owned() };
        self.record(subject, plan, tree, project, BuildOutcome::Failed { text }, made_on)
    }

    fn record(
        &self,
        subject: &Subject,
        plan: &Plan,
        tree: TreeRead,
        project: BTreeMap<String, String>,
        outcome: BuildOutcome,
        made_on: MadeOn,
    ) -> BuildRecord {
        let Steering { options, toolchain } = plan.steering.clone();
        BuildRecord {
            inputs: BuildInputs { tree, project, options, toolchain },
            outcome,
            made_on,
            variant: subject.note.clone(),
            machine: self.machine.clone(),
            recorded: records::now(),
            millis: None,
        }
    }

    pub(super) fn add_build(&mut self, test: &Test, build: &BuildRecord) {
        let profile = self.profile();
        if let Err(error) = self.builds.add(&test.name, profile.as_ref(), build.clone()) {
            (self.events)(Event::Warning(format!("what was built cannot be noted: {error}")));
        }
    }
}

/// How variables start by which users steer libraries and drivers.
const STEER_RUNS: [&str; 11] =
    ["CUDA_", "GOMP_", "KMP_", "LD_", "MKL_", "MLX_", "NVIDIA_", "OMP_", "OPENBLAS_", "TORCH", "TRITON_"];

/// How a record calls a format.
pub(super) fn format_name(format: Format) -> &'static str {
    match format {
        Format::Jsonl => "jsonl",
        Format::Junit => "junit",
        Format::Exit => "exit",
    }
}
