//! Makes a test on a variant whose tree is in place: configures, builds, and finds out what went in.
//!
//! Decides what a result depends on: the files that the compiler and CMake read, our own files, tools and
//! options. Never decides what a failure means.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::id::Name;
use crate::io::cmake::{BuildError, BuildFailure, Outcome, Project};
use crate::io::hashes::Hashes;
use crate::io::loaded;
use crate::io::machine::Places;
use crate::io::ninja::{self, NinjaError};
use crate::io::process::{Environment, ProcessError};
use crate::io::reads::{LongWatch, Watch};
use crate::io::toolchain::{self, Missing, Requirement, Tools};
use crate::manifest::{Profile, Sanitizer, Test};
use crate::verdict::Obstacle;

use super::ground::{self, Began, Ground};
use super::inputs::{Read, Sort};
use super::instrumented;
use super::pristine;
use super::site::{BUILDS, Site};
use super::sources::Sources;
use super::steering::{Steering, missing, target_of};
use super::undeclared::{self, Seen};

/// A test that is ready to run on a variant.
#[derive(Debug, Clone)]
pub struct Ready {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// What it was built from.
    pub read: Read,
    /// How many steps the build took.
    pub steps: usize,
    /// The build folder, if something is built.
    pub build: Option<PathBuf>,
    /// What the build makes and a test may load: all but objects and static libraries.
    pub artifacts: Vec<PathBuf>,
    /// Why everything was built anew, if it was.
    pub anew: Option<String>,
    /// What of the machine it stands on.
    pub ground: Ground,
}

/// What became of a test on a variant.
#[derive(Debug, Clone)]
pub enum Made {
    /// It can be run.
    Ready(Ready),
    /// The sources do not build.
    Failed(BuildFailure, Ground),
}

/// Why it cannot be told.
#[derive(Debug)]
pub enum MakeError {
    /// The machine is in the way.
    Obstacle(Obstacle),
    /// We were told to stop.
    Interrupted(ProcessError),
}

impl From<Obstacle> for MakeError {
    fn from(obstacle: Obstacle) -> Self {
        MakeError::Obstacle(obstacle)
    }
}

impl From<BuildError> for MakeError {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Process(error) => error.into(),
            error => MakeError::Obstacle(Obstacle::Environment(error.to_string())),
        }
    }
}

impl From<ProcessError> for MakeError {
    fn from(error: ProcessError) -> Self {
        match error {
            ProcessError::Interrupted { .. } => MakeError::Interrupted(error),
            ProcessError::NotFound { .. } => MakeError::Obstacle(Obstacle::Toolchain(error.to_string())),
            error => MakeError::Obstacle(Obstacle::Environment(error.to_string())),
        }
    }
}

/// How things are built here, under one profile.
#[derive(Debug)]
pub struct Workshop<'a> {
    /// Our repository.
    pub root: PathBuf,
    /// The profile.
    pub profile: Option<&'a Profile>,
    /// What tools and tests are given.
    pub env: Environment,
    /// CMake and ninja, or what is missing.
    pub tools: Result<Tools, Missing>,
    /// What the profile requires.
    pub requirement: Requirement,
    /// Hashes of files.
    pub hashes: Hashes,
    /// Where compilers look, once it was looked at; within, `None`: there are too many places.
    places: Option<Option<Places>>,
    /// Tools and options of any build, once they were looked at: a process goes by one set of them.
    pub(super) of_build: Option<Steering>,
    /// The globs of tests' sources, once they were compiled; `None`: no glob.
    pub(super) matchers: BTreeMap<String, Option<globset::GlobMatcher>>,
    /// A hash over all variables, and what `PATH` finds.
    variables_hash: std::cell::OnceCell<String>,
}

/// How a build went that was watched.
struct Watched {
    outcome: Outcome,
    /// Why everything was built anew, if it was.
    anew: Option<String>,
    seen: Seen,
    ground: Ground,
}

impl<'a> Workshop<'a> {
    /// Looks around. Starts no program but the driver's, where a device is required.
    #[must_use]
    pub fn new(root: &Path, profile: Option<&'a Profile>) -> Self {
        let requires = profile.and_then(|profile| profile.requires.as_ref());
        let mut workshop = Self::to_compare(root, profile);
        let requires = requires.map(|requires| requires.as_str());
        workshop.requirement = toolchain::require(requires, &workshop.root, &mut workshop.env);
        workshop
    }

    /// One in which nothing is built or run, only compared with records. Starts no program.
    #[must_use]
    pub fn to_compare(root: &Path, profile: Option<&'a Profile>) -> Self {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let env = toolchain::environment(&root);
        let tools = toolchain::find_tools(&env);
        let requirement = Requirement::Nothing;
        let hashes = Hashes::load(&root.join(".overlaid/hashes.json"));
        let variables_hash = std::cell::OnceCell::new();
        Self {
            root,
            profile,
            env,
            tools,
            requirement,
            hashes,
            places: None,
            of_build: None,
            matchers: BTreeMap::new(),
            variables_hash,
        }
    }

    /// A hash over all variables that programs are given, and what `PATH` finds: [`toolchain::all_variables`].
    #[must_use]
    pub fn variables_hash(&self) -> &str {
        self.variables_hash.get_or_init(|| toolchain::all_variables(&self.env))
    }

    /// The name of the profile.
    #[must_use]
    pub fn profile_name(&self) -> Option<&Name> {
        self.profile.map(|profile| &profile.name.value)
    }

    /// Configures and builds what a test needs. The tree is in place. `anew_if_moved`: also what was built well is
    /// made anew if the machine is not what it was when the build folder was made. `sanitizer`: one that the compiler
    /// builds in; that has a build folder of its own.
    ///
    /// # Errors
    /// If the machine is in the way.
    pub fn make(
        &mut self,
        site: &Site,
        sources: &Sources,
        test: &Test,
        steering: &Steering,
        anew_if_moved: bool,
        sanitizer: Option<Sanitizer>,
    ) -> Result<Made, MakeError> {
        let named = self.named_sources(test);
        let Some(target) = target_of(test) else {
            let command = self.command(site, None, test);
            let read = Read { files: named, ..Read::default() };
            return Ok(Made::Ready(Ready {
                command,
                read,
                steps: 0,
                build: None,
                artifacts: Vec::new(),
                anew: None,
                ground: Ground::Unknown,
            }));
        };
        let mut env = self.env.clone();
        env.set(BUILDS, site.builds());
        if let Some(sanitizer) = sanitizer {
            instrumented::add_flags(&mut env, self.profile, sanitizer);
        }
        let tools = self.tools.clone().map_err(|error| missing(&error))?;
        let project = self.project(site, test, &tools, &env, sanitizer);
        let ours = test.project.as_ref().map(|project| project.value.as_path());
        let targets = [target.to_owned()];
        let watched = self.build_watched(site, sources, &project, ours, steering, &targets, anew_if_moved)?;
        let Watched { outcome, anew, seen, ground } = watched;
        let built = match outcome {
            Outcome::Built(built) => built,
            Outcome::Failed(failure) => return Ok(Made::Failed(failure, ground)),
        };
        let known = self.inputs(&project, target)?;
        let mut read = Read::default();
        let tree = site.tree();
        let sort = Sort { tree: &tree, build: &project.build, root: &self.root };
        for file in known.files.iter().filter(|file| file.is_file()) {
            sort.file(file, sources, &mut self.hashes, &mut read, true);
        }
        for file in known.configure.iter().filter(|file| file.is_file()) {
            sort.file(file, sources, &mut self.hashes, &mut read, true);
        }
        self.note_configure_inputs(&project, &known, site, sources)?;
        let opened = undeclared::note(&project.notes(), &seen, &read, sources, &self.root, &mut self.hashes)?;
        read.tree.extend(opened.files);
        read.files.extend(opened.ours);
        read.files.extend(named);
        read.is_whole = opened.is_whole;
        note_files(&project, &read.files)?;
        let command = self.command(site, Some(&project.build), test);
        let program = command.first().map(PathBuf::from).unwrap_or_default();
        if program.starts_with(&project.build) && loaded::is_elf(&program) && !known.files.contains(&program)
        {
            let text = format!(
                "target `{target}` does not make `{}`, the program of test `{}`",
                program.strip_prefix(&project.build).unwrap_or(&program).display(),
                test.name.value
            );
            return Err(Obstacle::Toolchain(text).into());
        }
        let is_artifact = |file: &&PathBuf| {
            let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
            file.starts_with(&project.build)
                && !["o", "obj", "a", "lib"].contains(&extension)
                && file.is_file()
        };
        let artifacts = known.files.iter().filter(is_artifact).cloned().collect();
        let build = Some(project.build.clone());
        Ok(Made::Ready(Ready { command, read, steps: built.steps, build, artifacts, anew, ground }))
    }

    /// Configures and builds, and makes the folder anew where it stands on a machine that is another by now: a
    /// failure would be that machine's.
    #[expect(clippy::too_many_arguments, reason = "all of it is what one build depends on")]
    fn build_watched(
        &mut self,
        site: &Site,
        sources: &Sources,
        project: &Project<'_>,
        ours: Option<&Path>,
        steering: &Steering,
        targets: &[String],
        anew_if_moved: bool,
    ) -> Result<Watched, MakeError> {
        let mut watched = self.build_once(site, sources, project, ours, steering, targets)?;
        let is_failed = matches!(watched.outcome, Outcome::Failed(_));
        if watched.ground == Ground::Moved && (is_failed || anew_if_moved) {
            std::fs::remove_dir_all(&project.build)
                .map_err(|error| Obstacle::Environment(format!("{}: {error}", project.build.display())))?;
            self.places = None;
            watched = self.build_once(site, sources, project, ours, steering, targets)?;
            watched.anew = Some("the machine has changed".to_owned());
        }
        Ok(watched)
    }

    /// Configures and builds, and watches which files are opened meanwhile. What was compiled for another variant is
    /// thrown away where neither CMake nor ninja would know that it is out of date.
    fn build_once(
        &mut self,
        site: &Site,
        sources: &Sources,
        project: &Project<'_>,
        ours: Option<&Path>,
        steering: &Steering,
        targets: &[String],
    ) -> Result<Watched, MakeError> {
        let mut anew = undeclared::differs(&project.notes(), sources, &self.root, &mut self.hashes);
        let was_there = pristine::choose(&project.build, &mut |folder| {
            let at = Project { build: folder.to_owned(), ..project.clone() };
            let now = self.configured_for(&at, sources, ours, steering);
            at.configured_for().as_ref() == Some(&now)
                && undeclared::differs(&at.notes(), sources, &self.root, &mut self.hashes).is_none()
                && !pristine::is_bound_to_another(&at.notes(), sources.whole())
                && !pristine::times_mislead(folder, &self.root, &mut self.hashes)
        })
        .map_err(|error| Obstacle::Environment(format!("{}: {error}", project.build.display())))?;
        if was_there || project.build.exists() {
            anew = None;
        }
        let notes = project.notes();
        let now = self.configured_for(project, sources, ours, steering);
        let is_made = project.build.join("build.ninja").is_file();
        let places = self.places();
        let began = Began::look(&notes, places.as_ref(), is_made);
        let on_machine = places.as_ref().and_then(|places| LongWatch::start(places.iter()));
        let watch = Watch::start(&site.tree());
        let watch_of_ours = Watch::start_sources(&self.root);
        let failed = project.configure(&now)?;
        // What CMake has found elsewhere is known only now, and compilers have not looked there yet.
        let named = places.as_ref().map(|places| {
            let own = self.root.join(".overlaid");
            let named = ground::named_elsewhere(&project.build, &steering.options, &self.root, places);
            Places::named(&named, &own)
        });
        let (began, elsewhere) = match named.flatten() {
            Some(more) => {
                let watch = places.as_ref().and_then(|known| LongWatch::start(more.beside(known)));
                (began.and(&more, false), watch)
            }
            None => (began, None),
        };
        let outcome = match failed {
            Some(failure) => Outcome::Failed(failure),
            None => project.build(targets)?,
        };
        let opened = on_machine.and_then(LongWatch::finish).zip(elsewhere.and_then(LongWatch::finish));
        let opened = opened.map(|(mut opened, more)| {
            opened.files.extend(more.files);
            opened
        });
        let seen = Seen { tree: watch.and_then(Watch::finish), ours: watch_of_ours.and_then(Watch::finish) };
        if seen.tree.as_ref().is_some_and(|reads| !reads.written.is_empty()) {
            // What the build left in the tree goes with what it left in its folder.
            pristine::bind(&notes, sources.whole());
        }
        let ground = began
            .end(&notes, opened, seen.ours.as_ref())
            .map_err(|error| Obstacle::Environment(format!("{}: {error}", notes.display())))?;
        Ok(Watched { outcome, anew, seen, ground })
    }

    /// Where compilers look on this machine; `None`: in too many places.
    fn places(&mut self) -> Option<Places> {
        if self.places.is_none() {
            self.places = Some(Places::look(&self.env, &self.root.join(".overlaid")));
        }
        self.places.clone().flatten()
    }

    fn inputs(&self, project: &Project<'_>, target: &str) -> Result<ninja::Inputs, MakeError> {
        let notes = project.notes();
        project.ninja(&notes).inputs(target).map_err(|error| match error {
            NinjaError::Process(error) => error.into(),
            error => MakeError::Obstacle(Obstacle::Toolchain(error.to_string())),
        })
    }

    /// What CMake read is known only after it ran: a change of it makes CMake start anew, whatever its name.
    fn note_configure_inputs(
        &mut self,
        project: &Project<'_>,
        known: &ninja::Inputs,
        site: &Site,
        sources: &Sources,
    ) -> Result<(), MakeError> {
        let tree = site.tree();
        let sort = Sort { tree: &tree, build: &project.build, root: &self.root };
        let before = project.configured_for().unwrap_or_default();
        let mut complete = before.clone();
        for file in &known.configure {
            if let Some((name, id)) = sort.cmake_input(file, sources, &mut self.hashes) {
                complete.files.insert(name, id);
            }
        }
        if complete != before {
            project.remember(&complete)?;
        }
        Ok(())
    }

    /// Builds targets of the upstream itself. The tree is in place.
    ///
    /// # Errors
    /// If the machine is in the way.
    pub fn build_upstream(
        &mut self,
        site: &Site,
        sources: &Sources,
        targets: &[String],
    ) -> Result<(PathBuf, Outcome), MakeError> {
        let mut env = self.env.clone();
        env.set(BUILDS, site.builds());
        let tools = self.tools.clone().map_err(|error| missing(&error))?;
        let steering = self.steering_of_build()?;
        let project = self.project_at(site, None, &tools, &env, None);
        let watched = self.build_watched(site, sources, &project, None, &steering, targets, false)?;
        let Watched { outcome, seen, .. } = watched;
        if matches!(outcome, Outcome::Built(_)) {
            let tree = site.tree();
            let mut read = Read::default();
            for target in targets {
                let known = self.inputs(&project, target)?;
                let sort = Sort { tree: &tree, build: &project.build, root: &self.root };
                for file in known.files.iter().chain(&known.configure).filter(|file| file.is_file()) {
                    sort.file(file, sources, &mut self.hashes, &mut read, true);
                }
                self.note_configure_inputs(&project, &known, site, sources)?;
            }
            undeclared::note(&project.notes(), &seen, &read, sources, &self.root, &mut self.hashes)?;
            note_files(&project, &read.files)?;
        }
        Ok((project.build.clone(), outcome))
    }

    fn project<'p>(
        &self,
        site: &Site,
        test: &Test,
        tools: &'p Tools,
        env: &'p Environment,
        sanitizer: Option<Sanitizer>,
    ) -> Project<'p> {
        let ours = test.project.as_ref().map(|project| project.value.as_path());
        self.project_at(site, ours, tools, env, sanitizer)
    }

    fn project_at<'p>(
        &self,
        site: &Site,
        ours: Option<&Path>,
        tools: &'p Tools,
        env: &'p Environment,
        sanitizer: Option<Sanitizer>,
    ) -> Project<'p> {
        let set = self.profile.map(|profile| profile.cmake.iter().cloned());
        let mut variables = set.into_iter().flatten().collect();
        if let Some(sanitizer) = sanitizer {
            instrumented::add_variables(&mut variables, sanitizer);
        }
        let source = match ours {
            Some(project) => {
                variables.insert("OVERLAID_TREE".to_owned(), site.tree().display().to_string());
                self.root.join(project)
            }
            None => site.tree(),
        };
        Project { tools, env, source, build: site.build(self.profile_name(), ours, sanitizer), variables }
    }
}

fn note_files(project: &Project<'_>, files: &BTreeMap<String, String>) -> Result<(), Obstacle> {
    let notes = project.notes();
    pristine::note_files(&notes, files)
        .map_err(|error| Obstacle::Environment(format!("{}: {error}", notes.display())))
}
