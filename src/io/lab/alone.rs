//! Runs cases of a test alone, each in a process of its own: to look at what a table says.
//!
//! Decides nothing and puts nothing on record: evidence is of whole runs.

use std::collections::BTreeSet;

use crate::io::reads::Watch;
use crate::kernel_test::CaseKey;
use crate::manifest::Test;
use crate::verdict::{Ran, State};

use super::event::Event;
use super::make::{Made, MakeError};
use super::measure::{Interrupted, Lab, Subject, or_blocked, site_is_gone};
use super::trial::Trial;

/// The folder, below that of the whole runs, of what such a run prints.
pub const FOLDER: &str = "alone";

impl Lab<'_> {
    /// Builds a test on a variant and runs these cases of it alone, once for each seed.
    ///
    /// # Errors
    /// If we are told to stop.
    pub fn run_alone(
        &mut self,
        subject: &Subject,
        test: &Test,
        cases: &BTreeSet<CaseKey>,
        seeds: &[u64],
    ) -> Result<State, Interrupted> {
        or_blocked(self.try_alone(subject, test, cases, seeds))
    }

    fn try_alone(
        &mut self,
        subject: &Subject,
        test: &Test,
        cases: &BTreeSet<CaseKey>,
        seeds: &[u64],
    ) -> Result<State, MakeError> {
        let plan = self.plan(test)?;
        self.is_equipped()?;
        self.flip(subject)?;
        let open = self.sites.get(&subject.sources.commit).ok_or_else(site_is_gone)?;
        let toolchain = plan.steering.toolchain.clone();
        let made = self.workshop.make(&open.site, &subject.sources, test, &plan.steering, false, None)?;
        let ready = match made {
            Made::Ready(ready) => ready,
            Made::Failed(failure, _) => {
                let text = format!("{}: {}", failure.stage, failure.what);
                return Ok(State::BuildFailed { toolchain, text });
            }
        };
        let folders = self.folders(subject, test)?;
        let folder = folders.results.join(FOLDER);
        let env = self.environment(subject, &folders.tree, ready.build.as_deref(), &folders.caches)?;
        let command: Vec<_> = ready.command.iter().map(|part| part.to_string_lossy()).collect();
        (self.events)(Event::Running {
            test: test.name.value.clone(),
            variant: format!("{}, {} alone", subject.label, cases.len()),
            command: command.join(" "),
            times: seeds.len(),
        });
        let watch = Watch::start(&folders.tree);
        let trial = Trial {
            command: &ready.command,
            env: &env,
            format: test.format,
            timeout: test.timeout,
            folder: &folder,
            patience: test.timeout.saturating_mul(4),
            no_device: None,
        };
        let mut runs = Vec::new();
        for (index, seed) in seeds.iter().enumerate() {
            let mut run = trial.alone(*seed, index + 1, cases)?;
            // A test that does not know OVERLAID_ONLY runs all it has.
            run.cells.retain(|cell| cell.case.is_pseudo() || cases.contains(&cell.case));
            runs.push(run);
        }
        if watch.and_then(Watch::finish).is_some_and(|reads| !reads.written.is_empty()) {
            self.forget_tree(subject);
        }
        Ok(State::Ran(Ran { toolchain, runs, ..Ran::default() }))
    }
}
