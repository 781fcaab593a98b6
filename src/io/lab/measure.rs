//! Measures a test on a variant: from what is on record, or by building and running it.
//!
//! Decides what still holds of earlier builds and runs, and does only what is missing. Results are on
//! record after each run, so that an interrupted proof goes on where it was.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use crate::evidence::result::OF_TREE;
use crate::evidence::{BuildOutcome, BuildRecord, Machine, VariantNote};
use crate::id::{CommitId, Name};
use crate::io::cmake;
use crate::io::process::ProcessError;
use crate::io::toolchain::Requirement;
use crate::manifest::{Profile, Test};
use crate::upstream::Upstream;
use crate::verdict::{Obstacle, State};

use super::event::Event;
use super::inputs::Read;
use super::make::{Made, MakeError, Workshop};
use super::recall::OnRecord;
use super::records::{self, Builds, Results, Used};
use super::running::Folders;
use super::sanitizing::Untold;
use super::site::Site;
use super::sources::Sources;
use super::steering::{Steering, target_of};

/// A variant that can be measured.
#[derive(Debug, Clone)]
pub struct Subject {
    /// How it is called: `pin`, `pin without x`, `1a2b3c4d5e with x`.
    pub label: String,
    /// Its files.
    pub sources: Sources,
    /// What a record says about it.
    pub note: VariantNote,
}

/// How much of what is on record a measurement uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// All that holds.
    Records,
    /// Not that it builds, or does not: it is built again.
    NoBuilds,
    /// As before, after the other side was built: that it does not build is put on record.
    NoBuildsAndKeep,
}

/// Somebody stopped us. What was measured until then is on record.
#[derive(Debug)]
pub struct Interrupted(pub ProcessError);

/// Where variants are built and tested.
pub struct Lab<'a> {
    pub(super) workshop: Workshop<'a>,
    pub(super) upstream: &'a dyn Upstream,
    pub(super) name: Name,
    pub(super) sites: BTreeMap<CommitId, Open>,
    pub(super) builds: Builds,
    pub(super) results: Results,
    pub(super) machine: Machine,
    plans: BTreeMap<Name, Result<Plan, Obstacle>>,
    /// Where it is written down what builds stood on.
    pub(super) grounds: PathBuf,
    /// The folder of reports and evidence, relative to our repository.
    pub(super) docs: PathBuf,
    /// What was built again since we started, since a failure stands beside it: by test and tree.
    confirmed: BTreeSet<(Name, String)>,
    /// Builds that failed again after the other side was built.
    failed_twice: BTreeSet<(Name, String)>,
    /// Builds that failed since we started, by test and tree.
    pub(super) failed: BTreeMap<(Name, String), BuildRecord>,
    /// What came of tests since we started on a machine without the device that they need, by test and tree: asking
    /// again changes nothing.
    without_device: BTreeMap<(Name, String), State>,
    /// Machines that measured what was asked for, where this one cannot: by test and tree.
    pub(super) elsewhere: BTreeMap<(Name, String), Machine>,
    /// Why sanitizers have said nothing, by test and tree.
    pub(super) untold: BTreeMap<(Name, String), Untold>,
    pub(super) used: Used,
    pub(super) events: &'a mut dyn FnMut(Event),
}

/// A site that is in use.
pub(super) struct Open {
    pub site: Site,
    /// What its tree is now, if that is certain.
    pub now: Option<String>,
}

/// What is known of a test before anything is built.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub steering: Steering,
    /// Files of ours that it names.
    pub named: BTreeMap<String, String>,
}
impl<'a> Lab<'a> {
    /// A lab of an upstream in our repository. `docs` is the folder of reports and evidence, relative to it.
    pub fn new(
        root: &Path,
        docs: &Path,
        name: &Name,
        profile: Option<&'a Profile>,
        upstream: &'a dyn Upstream,
        events: &'a mut dyn FnMut(Event),
    ) -> Self {
        let workshop = Workshop::new(root, profile);
        let local = workshop.root.join(".overlaid/lab").join(name.as_str());
        let builds = Builds::at(&local.join("builds"));
        let results = Results::at(&workshop.root.join(docs).join("evidence"), &local.join("checked"));
        let machine = records::machine(&workshop.requirement);
        Self {
            workshop,
            upstream,
            name: name.clone(),
            sites: BTreeMap::new(),
            builds,
            results,
            machine,
            plans: BTreeMap::new(),
            grounds: local.join("machine"),
            docs: docs.to_owned(),
            confirmed: BTreeSet::new(),
            failed_twice: BTreeSet::new(),
            failed: BTreeMap::new(),
            without_device: BTreeMap::new(),
            elsewhere: BTreeMap::new(),
            untold: BTreeMap::new(),
            used: Used::default(),
            events,
        }
    }

    /// What all that [`Lab::known`] has given was made from.
    #[must_use]
    pub fn used(&self) -> &Used {
        &self.used
    }

    /// Runs a test on a variant with these seeds, one run a seed, besides the `have` runs that the caller
    /// knows of. What is on record beyond those is given back without running anything.
    ///
    /// # Errors
    /// If we are told to stop. Whatever else is in the way is a state.
    pub fn measure(
        &mut self,
        subject: &Subject,
        test: &Test,
        have: usize,
        seeds: &[u64],
    ) -> Result<State, Interrupted> {
        or_blocked(self.try_measure(subject, test, have, seeds, Use::Records))
    }

    /// Builds a test on a variant again, whatever is on record, and runs it if need be.
    ///
    /// # Errors
    /// If we are told to stop.
    pub fn build_again(
        &mut self,
        subject: &Subject,
        test: &Test,
        seeds: &[u64],
        uses: Use,
    ) -> Result<State, Interrupted> {
        or_blocked(self.try_measure(subject, test, 0, seeds, uses))
    }

    /// Whether the failure of a build was seen since we started, and only once.
    #[must_use]
    pub fn failed_once(&self, subject: &Subject, test: &Test) -> bool {
        let key = (test.name.value.clone(), subject.sources.whole().to_owned());
        self.failed.contains_key(&key) && !self.failed_twice.contains(&key)
    }

    /// Makes sure that what was built well can be built on this machine as it is now: only then the failure of the
    /// other side is the sources'. `None`: that is known. Else it is built, and run if need be.
    ///
    /// # Errors
    /// If we are told to stop.
    pub fn confirm(
        &mut self,
        subject: &Subject,
        test: &Test,
        seeds: &[u64],
    ) -> Result<Option<State>, Interrupted> {
        let key = (test.name.value.clone(), subject.sources.whole().to_owned());
        if self.is_confirmed(subject, test) {
            return Ok(None);
        }
        self.confirmed.insert(key);
        or_blocked(self.try_measure(subject, test, 0, seeds, Use::NoBuilds)).map(Some)
    }

    /// Whether it is known that what was built well can be built on this machine as it is now.
    pub fn is_confirmed(&mut self, subject: &Subject, test: &Test) -> bool {
        let key = (test.name.value.clone(), subject.sources.whole().to_owned());
        self.confirmed.contains(&key) || self.lean_on(subject, test)
    }

    /// Makes the tree of a variant and builds targets of the upstream. Gives the tree, the build folder and
    /// how it went.
    ///
    /// # Errors
    /// If the machine is in the way.
    pub fn build(
        &mut self,
        subject: &Subject,
        targets: &[String],
    ) -> Result<(PathBuf, PathBuf, cmake::Outcome), MakeError> {
        self.flip(subject)?;
        let open = self.sites.get(&subject.sources.commit).ok_or_else(site_is_gone)?;
        let (build, outcome) = self.workshop.build_upstream(&open.site, &subject.sources, targets)?;
        Ok((open.site.tree(), build, outcome))
    }

    /// The folder of what a test printed on a variant, relative to our repository. It need not be there.
    #[must_use]
    pub fn output_of(&self, subject: &Subject, test: &Test) -> PathBuf {
        let results = Site::results_of(&self.name, subject.sources.commit, &test.name);
        results.join(slug(&subject.label))
    }

    /// Writes what was learned about files, and gives the records that cannot be used, with what is wrong.
    pub fn finish(&mut self) -> Vec<(PathBuf, String)> {
        // Losing the hashes costs time only.
        let _ = self.workshop.hashes.save();
        std::mem::take(&mut self.results.refused)
    }

    /// The machine that evidence of this lab speaks for.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The device that evidence of this machine speaks for, by all its names.
    #[must_use]
    pub fn device_names(&self) -> Vec<String> {
        self.machine.device_names()
    }

    /// Why the device that the profile requires is not here, if it is not.
    pub(super) fn no_device(&self) -> Option<String> {
        match &self.workshop.requirement {
            Requirement::NoDevice(missing) => Some(format!("{}; {}", missing.what, missing.hint)),
            Requirement::Nothing | Requirement::Device(_) | Requirement::NoTool(_) => None,
        }
    }

    pub(super) fn profile(&self) -> Option<Name> {
        self.workshop.profile_name().cloned()
    }

    pub(super) fn plan(&mut self, test: &Test) -> Result<Plan, Obstacle> {
        if let Some(plan) = self.plans.get(&test.name.value) {
            return plan.clone();
        }
        let plan = self.workshop.steering(test).map(|steering| {
            let named = self.workshop.named_sources(test);
            Plan { steering, named }
        });
        self.plans.insert(test.name.value.clone(), plan.clone());
        plan
    }

    fn try_measure(
        &mut self,
        subject: &Subject,
        test: &Test,
        have: usize,
        seeds: &[u64],
        uses: Use,
    ) -> Result<State, MakeError> {
        let anew = uses != Use::Records;
        if !anew && let Some(state) = self.state_elsewhere(subject, test) {
            return Ok(state);
        }
        let key = (test.name.value.clone(), subject.sources.whole().to_owned());
        if let Some(state) = self.without_device.get(&key).filter(|_| !anew) {
            return Ok(state.clone());
        }
        let plan = self.plan(test)?;
        if let Some(record) = self.on_record(subject, test, &plan).filter(|_| uses == Use::Records) {
            let runs = record.result.as_ref().map_or(0, |(_, result)| result.runs.len());
            if runs > have || matches!(record.build.outcome, BuildOutcome::Failed { .. }) {
                let result = record.result.as_ref();
                let open = result.map(|(_, result)| self.unsanitized(subject, test, result));
                let open = open.unwrap_or_default();
                if !open.is_empty() {
                    // What is on record stands, whatever is in the way of the sanitizers.
                    match self.measure_now(subject, test, &plan, have, seeds, uses) {
                        Err(MakeError::Obstacle(why)) => {
                            self.cannot_sanitize(subject, test, &open, &why);
                        }
                        measured => return measured,
                    }
                }
                return Ok(self.state(subject, test, &record));
            }
        }
        self.measure_now(subject, test, &plan, have, seeds, uses)
    }

    fn measure_now(
        &mut self,
        subject: &Subject,
        test: &Test,
        plan: &Plan,
        have: usize,
        seeds: &[u64],
        uses: Use,
    ) -> Result<State, MakeError> {
        let anew = uses != Use::Records;
        // Without the device it can still be built, and cases that need the compiler alone can be run.
        if let Requirement::NoTool(missing) = &self.workshop.requirement {
            return Err(Obstacle::Toolchain(format!("{}; {}", missing.what, missing.hint)).into());
        }
        self.unchanged(test, plan, &Read::default())?;
        self.flip(subject)?;
        if target_of(test).is_some() {
            let event = Event::Building { test: test.name.value.clone(), variant: subject.label.clone() };
            (self.events)(event);
        }
        let (started, began) = (Instant::now(), SystemTime::now());
        let open = self.sites.get(&subject.sources.commit).ok_or_else(site_is_gone)?;
        let ready =
            match self.workshop.make(&open.site, &subject.sources, test, &plan.steering, anew, None)? {
                Made::Ready(ready) => ready,
                Made::Failed(failure, ground) => {
                    let text = format!("{}: {}", failure.stage, failure.what);
                    (self.events)(Event::BuildFailed { what: text, log: failure.log.clone() });
                    // Tools that were exchanged meanwhile have built neither the one nor the other.
                    self.unchanged(test, plan, &Read::default())?;
                    let record = self.failed_build(subject, test, plan, &failure, &ground, began);
                    let key = (test.name.value.clone(), subject.sources.whole().to_owned());
                    if uses == Use::NoBuildsAndKeep {
                        self.failed_twice.insert(key.clone());
                        if !record.made_on.is_unknown() {
                            self.add_build(test, &record);
                        }
                    }
                    self.failed.insert(key, record.clone());
                    return Ok(self.state(subject, test, &OnRecord { build: record, result: None }));
                }
            };
        if let Some(why) = &ready.anew {
            (self.events)(Event::Warning(format!("{why}: everything was built anew")));
        }
        if target_of(test).is_some() {
            (self.events)(Event::Built { steps: ready.steps, wall: started.elapsed() });
        }
        // Where nothing had to be done, the time says nothing of a build.
        let took =
            (ready.steps > 0).then(|| u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX));
        let folders = self.folders(subject, test)?;
        let outputs = self.identify(&ready, &folders.results)?;
        let mut build = self.good_build(subject, plan, &ready, outputs);
        build.millis = took;
        let mut result = self.result_of(subject, test, plan, &build, ready.build.as_deref());
        if result.as_ref().is_none_or(|(_, result)| result.runs.len() <= have) {
            result = self.run(subject, test, plan, &build, &ready, &folders, result, seeds)?;
        }
        if let Some(result) = &mut result {
            self.sanitize(subject, test, plan, &build, &ready, &folders, result)?;
        }
        // What a run has opened of the build folder is a part of what was built.
        if let (Some((_, result)), BuildOutcome::Built { outputs }) = (&result, &mut build.outcome) {
            outputs.extend(result.inputs.libraries.clone());
        }
        self.add_build(test, &build);
        let state = self.state(subject, test, &OnRecord { build, result });
        if self.no_device().is_some() {
            let key = (test.name.value.clone(), subject.sources.whole().to_owned());
            self.without_device.insert(key, state.clone());
        }
        Ok(state)
    }

    /// Whether this machine has what the profile requires.
    pub(super) fn is_equipped(&self) -> Result<(), Obstacle> {
        match &self.workshop.requirement {
            Requirement::NoDevice(missing) => {
                Err(Obstacle::Device(format!("{}; {}", missing.what, missing.hint)))
            }
            Requirement::NoTool(missing) => {
                Err(Obstacle::Toolchain(format!("{}; {}", missing.what, missing.hint)))
            }
            Requirement::Nothing | Requirement::Device(_) => Ok(()),
        }
    }

    /// The folders of a test on a variant.
    pub(super) fn folders(&self, subject: &Subject, test: &Test) -> Result<Folders, Obstacle> {
        let open = self.sites.get(&subject.sources.commit).ok_or_else(site_is_gone)?;
        Ok(Folders {
            tree: open.site.tree(),
            results: open.site.results(&test.name).join(slug(&subject.label)),
            caches: open.site.caches(&test.name),
            project: test.project.as_ref().map(|project| self.workshop.root.join(&project.value)),
        })
    }

    /// Whether our own files are still what they were when we looked at first: what was measured meanwhile is
    /// of neither.
    pub(super) fn unchanged(&mut self, test: &Test, plan: &Plan, read: &Read) -> Result<(), MakeError> {
        let Workshop { hashes, root, .. } = &mut self.workshop;
        let mut files = read.files.iter();
        let edited =
            files.find(|(file, hash)| hashes.identity(&root.join(file)).is_ok_and(|now| now != **hash));
        let mut edited = edited.map(|(file, _)| file.clone());
        let named = self.workshop.named_sources(test);
        if named != plan.named {
            let differs = |file: &&String| named.get(*file) != plan.named.get(*file);
            edited = named.keys().chain(plan.named.keys()).find(differs).cloned().or(edited);
        }
        let again = self.workshop.steering(test)?;
        if edited.is_none() && again.toolchain != plan.steering.toolchain {
            let text = format!(
                "a tool was exchanged while test `{}` was built and run; do it again",
                test.name.value
            );
            return Err(Obstacle::Environment(text).into());
        }
        match edited {
            None => Ok(()),
            Some(file) => {
                let text = format!(
                    "{file} was edited while test `{}` was built and run; do it again",
                    test.name.value
                );
                Err(Obstacle::Environment(text).into())
            }
        }
    }
}

/// The name of the program among what a build makes.
pub(super) const PROGRAM: &str = "program";

/// Before a path of the tree among the files that a run opened.
pub(super) const TREE: &str = OF_TREE;

pub(super) fn or_blocked(measured: Result<State, MakeError>) -> Result<State, Interrupted> {
    match measured {
        Ok(state) => Ok(state),
        Err(MakeError::Obstacle(obstacle)) => Ok(State::Blocked(obstacle)),
        Err(MakeError::Interrupted(error)) => Err(Interrupted(error)),
    }
}

pub(super) fn site_is_gone() -> Obstacle {
    Obstacle::Environment("the folder of the commit is gone".to_owned())
}

/// A variant's name as a folder's.
fn slug(label: &str) -> String {
    label.chars().map(|c| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '-' }).collect()
}
