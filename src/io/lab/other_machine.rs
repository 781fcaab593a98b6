//! What another machine measured, where this one lacks what the profile requires.
//!
//! Decides which record is used. Prefers one place for all, the one that was heard of last, so that two sides come from
//! the same device. Starts no program.

use std::collections::BTreeMap;

use crate::evidence::elsewhere::{BuiltFrom, Wanted};
use crate::evidence::result::MAY_MATTER;
use crate::evidence::{BuildInputs, BuildOutcome, BuildRecord, Machine, MadeOn, ResultRecord};
use crate::id::UpstreamPath;
use crate::io::toolchain::Requirement;
use crate::manifest::Test;
use crate::tree::Entry;
use crate::verdict::State;

use super::inputs::describe;
use super::make::Workshop;
use super::measure::{Lab, Subject, TREE};
use super::recall::{OnRecord, format_name};
use super::sources::Sources;

/// Folders of our repository in which tools are.
const TOOLKITS: [&str; 2] = [".overlaid/", "target/cuda/"];

/// What a test is today, as far as every machine can tell.
pub(super) struct Asked {
    named: BTreeMap<String, String>,
    options: BTreeMap<String, String>,
    command: Vec<String>,
    format: &'static str,
    timeout_ms: u64,
    sanitizers: Vec<String>,
}

impl Asked {
    /// What would be measured of it on these sources.
    pub fn of<'a>(
        &'a self,
        sources: &'a Sources,
        entry: &'a dyn Fn(&UpstreamPath) -> Option<Entry>,
    ) -> Wanted<'a> {
        Wanted {
            entry,
            paths: sources.names(),
            whole: sources.whole(),
            named: &self.named,
            options: &self.options,
            command: &self.command,
            format: self.format,
            timeout_ms: self.timeout_ms,
            sanitizers: &self.sanitizers,
        }
    }
}

impl Workshop<'_> {
    /// What a test is today.
    pub(super) fn asked(&mut self, test: &Test) -> Asked {
        let sanitizers = test.sanitizers_under(self.profile);
        Asked {
            named: self.named_sources(test),
            options: self.portable_options(test),
            command: test.command.iter().map(|part| part.value.clone()).collect(),
            format: format_name(test.format),
            timeout_ms: u64::try_from(test.timeout.as_millis()).unwrap_or(u64::MAX),
            sanitizers: sanitizers.map(|sanitizer| sanitizer.as_str().to_owned()).collect(),
        }
    }
}

/// What of a build goes into the record of its runs, for other machines.
pub(super) fn built_from(build: &BuildRecord) -> BuiltFrom {
    BuiltFrom::of(&build.inputs, &TOOLKITS)
}

impl Lab<'_> {
    /// The machine that measured a test on a variant, if that was another one.
    #[must_use]
    pub fn measured_by(&self, subject: &Subject, test: &Test) -> Option<&Machine> {
        self.elsewhere.get(&(test.name.value.clone(), subject.sources.whole().to_owned()))
    }

    /// What another machine measured of a test on a variant. `None`: nothing that holds here, or this machine can
    /// measure itself.
    pub(super) fn state_elsewhere(&mut self, subject: &Subject, test: &Test) -> Option<State> {
        let record = self.record_elsewhere(subject, test)?;
        self.note_use(&record);
        Some(self.state(subject, test, &record))
    }

    /// The record behind [`Lab::state_elsewhere`].
    pub(super) fn record_elsewhere(&mut self, subject: &Subject, test: &Test) -> Option<OnRecord> {
        if matches!(self.workshop.requirement, Requirement::Nothing | Requirement::Device(_)) {
            return None;
        }
        let (name, result) = self.find_elsewhere(subject, test)?;
        let key = (test.name.value.clone(), subject.sources.whole().to_owned());
        self.elsewhere.insert(key, result.machine.clone());
        on_record(name, &result)
    }

    fn find_elsewhere(&mut self, subject: &Subject, test: &Test) -> Option<(String, ResultRecord)> {
        let holding = self.holding_from_devices(subject, test, &[]);
        let records = self.results.of(&test.name, self.workshop.profile_name());
        // Newest first: so the first record of a place is its newest.
        let mut places: Vec<String> = Vec::new();
        for (_, record) in records {
            let place = record.place();
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let rank = |record: &ResultRecord| places.iter().position(|place| *place == record.place());
        holding.into_iter().min_by_key(|(_, record)| rank(record))
    }

    /// The records from devices that speak for a test on a variant as it is today, newest first. `but`: not of these
    /// devices.
    fn holding_from_devices(
        &mut self,
        subject: &Subject,
        test: &Test,
        but: &[String],
    ) -> Vec<(String, ResultRecord)> {
        let from_device = |(_, record): &&(String, ResultRecord)| {
            record.inputs.device.as_ref().is_some_and(|device| !but.contains(device))
        };
        let records = self.results.of(&test.name, self.workshop.profile_name());
        let records: Vec<(String, ResultRecord)> = records.iter().filter(from_device).cloned().collect();
        if records.is_empty() {
            return records;
        }
        let asked = self.workshop.asked(test);
        let sources = &subject.sources;
        let entry = |path: &UpstreamPath| sources.entry(path);
        let wanted = asked.of(sources, &entry);
        let (hashes, root) = (&mut self.workshop.hashes, &self.workshop.root);
        let mut now = |file: &str| match file.strip_prefix(MAY_MATTER).unwrap_or(file).strip_prefix(TREE) {
            Some(path) => describe(UpstreamPath::parse(path).ok().and_then(|path| sources.entry(&path))),
            None => hashes.identity(&root.join(file)).unwrap_or_else(|error| error.kind().to_string()),
        };
        records.into_iter().filter(|(_, record)| record.speaks_for(&wanted, &mut now)).collect()
    }

    /// What other devices than these have measured of a test on a variant, each place's newest record.
    #[cfg(feature = "git")]
    pub(super) fn states_from_devices(
        &mut self,
        subject: &Subject,
        test: &Test,
        but: &[String],
    ) -> Vec<(ResultRecord, State)> {
        let mut found: Vec<(ResultRecord, State)> = Vec::new();
        for (name, result) in self.holding_from_devices(subject, test, but) {
            let is_known = found.iter().any(|(known, _)| known.place() == result.place());
            if let Some(record) = on_record(name, &result).filter(|_| !is_known) {
                let state = self.state(subject, test, &record);
                found.push((result, state));
            }
        }
        found
    }
}

/// A record of another machine, with what of its build is on record there.
fn on_record(name: String, result: &ResultRecord) -> Option<OnRecord> {
    let from = result.built_from.clone()?;
    let build = BuildRecord {
        inputs: BuildInputs {
            tree: from.tree,
            project: from.project,
            options: from.options,
            toolchain: result.place(),
        },
        outcome: BuildOutcome::Built { outputs: BTreeMap::new() },
        made_on: MadeOn::default(),
        variant: result.variant.clone(),
        machine: result.machine.clone(),
        recorded: result.recorded,
        millis: None,
    };
    Some(OnRecord { build, result: Some((name, result.clone())) })
}
