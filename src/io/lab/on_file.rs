//! What records say, wherever they were made: for showing, never for deciding what to do here.
//!
//! A record counts if it is of the very sources of a variant and of the very files of the test. Whether compiler and
//! machine are today's is not asked, so a reviewer sees on a laptop what was measured on a GPU. All that is taken comes from
//! one place: results of two machines are never put side by side.

use std::collections::BTreeMap;

use super::campaign::{Campaign, Candidate};
use super::elsewhere::Whereabouts;
use super::measure::{Lab, Subject};
use crate::evidence::{BuildOutcome, Machine, ResultRecord};
use crate::id::{Name, OverlayName};
use crate::manifest::Test;
use crate::variant::Variant;
use crate::verdict::{Ran, State};

/// Where and when records were made.
#[derive(Debug, Clone)]
pub struct Source {
    /// The machine.
    pub machine: Machine,
    /// When the newest of them was made, in seconds since 1970.
    pub recorded: i64,
}

type Known = Vec<(Variant, Name, State)>;

impl Campaign<'_> {
    /// Takes what records say of candidates, from the place that has the most of them. `None`: there are none.
    pub fn take_from_file(&mut self, candidates: &[Candidate], lab: &mut Lab<'_>) -> Option<Source> {
        let mut places: BTreeMap<Whereabouts, (Source, Known)> = BTreeMap::new();
        let mut failed: Known = Vec::new();
        for candidate in candidates {
            let variants = &candidate.variants;
            let witness = variants.witness.iter().flatten();
            for variant in [&variants.pin_without, &variants.pin_with].into_iter().chain(witness) {
                let Ok(subject) = self.subjects.get(variant) else { continue };
                for test in self.tests_of_name(&variants.overlay) {
                    let name = test.name.value.clone();
                    for (record, ran) in lab.on_file(&subject, test) {
                        let place = Whereabouts {
                            profile: None,
                            device: record.inputs.device.clone(),
                            host: record.inputs.host.clone(),
                        };
                        let source = Source { machine: record.machine.clone(), recorded: record.recorded };
                        let (source, known) = places.entry(place).or_insert_with(|| (source, Vec::new()));
                        source.recorded = source.recorded.max(record.recorded);
                        known.push((variant.clone(), name.clone(), State::Ran(ran)));
                    }
                    failed.extend(
                        lab.failed_on_file(&subject, test).map(|state| (variant.clone(), name, state)),
                    );
                }
            }
        }
        let (_, (source, known)) =
            places.into_iter().max_by_key(|(_, (source, known))| (known.len(), source.recorded))?;
        for (variant, test, state) in failed.into_iter().chain(known) {
            self.learn(&variant, &test, state);
        }
        Some(source)
    }

    /// Takes what records of the same place say of the pin without all of these overlays, and with them.
    pub fn take_together_from_file(&mut self, overlays: &[OverlayName], source: &Source, lab: &mut Lab<'_>) {
        let names: Vec<&OverlayName> = overlays.iter().collect();
        let is_there = |record: &ResultRecord| {
            record.inputs.device == source.machine.device && record.inputs.host == source.machine.class()
        };
        for variant in self.without_and_with(&names) {
            let Ok(subject) = self.subjects.get(&variant) else { continue };
            for test in self.tests_of_all(overlays.iter()) {
                let found = lab.on_file(&subject, test).into_iter().find(|(record, _)| is_there(record));
                if let Some((_, ran)) = found {
                    self.learn(&variant, &test.name.value, State::Ran(ran));
                }
            }
        }
    }
}

impl Lab<'_> {
    /// The newest record of each place that is of these sources and of this test under the lab's profile.
    fn on_file(&mut self, subject: &Subject, test: &Test) -> Vec<(ResultRecord, Ran)> {
        let Ok(plan) = self.plan(test) else { return Vec::new() };
        let profile = self.profile();
        let command: Vec<&String> = test.command.iter().map(|part| &part.value).collect();
        let mut found: Vec<(ResultRecord, Ran)> = Vec::new();
        for (_, record) in self.results.of(&test.name, profile.as_ref()) {
            let named = plan.named.iter().all(|(file, hash)| record.inputs.files.get(file) == Some(hash));
            let is_same = record.variant.tree.as_deref() == Some(subject.sources.whole())
                && named
                && record.inputs.command.iter().eq(command.iter().copied())
                && record.inputs.protocol == crate::evidence::result::PROTOCOL;
            let place = |record: &ResultRecord| (record.inputs.device.clone(), record.inputs.host.clone());
            // Newest first.
            if !is_same || found.iter().any(|(known, _)| place(known) == place(record)) {
                continue;
            }
            let ran = Ran {
                toolchain: record.inputs.compiler.clone(),
                inputs: record.variant.tree.clone(),
                surroundings: None,
                runs: record.runs.clone(),
                sanitized: record.sanitized.clone(),
            };
            found.push((record.clone(), ran));
        }
        found
    }

    /// That the test does not build on these sources, if that is on record.
    fn failed_on_file(&mut self, subject: &Subject, test: &Test) -> Option<State> {
        let profile = self.profile();
        let builds = self.builds.of(&test.name, profile.as_ref()).iter().rev();
        let mut same = builds.filter(|build| build.variant.tree.as_deref() == Some(subject.sources.whole()));
        same.find_map(|build| match &build.outcome {
            BuildOutcome::Failed { text } => {
                Some(State::BuildFailed { toolchain: build.inputs.toolchain.clone(), text: text.clone() })
            }
            BuildOutcome::Built { .. } => None,
        })
    }
}
