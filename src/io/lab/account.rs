//! What a decision was made from, for a report: records, and what they depend on of upstream's files and ours.
//!
//! Decides whether that is still what stands there today. Compilers and machines are left out: a report says what was
//! measured where, and stays right on another machine. Starts no program and touches no tree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::evidence::result::{MAY_MATTER, OF_TREE};
use crate::evidence::{BuildRecord, Machine, ResultRecord, TreeRead};
use crate::id::{OverlayName, UpstreamPath};
use crate::io::hashes::{Hashes, sha256_of};
use crate::manifest::Test;
use crate::report::facts::{Measured, Newer, SideFacts, SideOutcome, TestFacts, definition};
use crate::variant::Variant;
use crate::verdict::{State, Which, Witness};

use super::campaign::{Campaign, Candidate};
use super::measure::{Interrupted, Lab, Subject};
use super::sources::Sources;

const EVERY: [Which; 4] = [Which::PinWithout, Which::PinWith, Which::WitnessWithout, Which::WitnessWith];

impl Campaign<'_> {
    /// What the decision on a candidate was made from.
    pub fn account(&mut self, candidate: &Candidate, lab: &mut Lab<'_>) -> Measured {
        let (proof, _) = self.basis(candidate);
        let variants = &candidate.variants;
        let manifest = &self.workspace().manifest;
        let overlay = manifest.overlay(variants.overlay.as_str());
        let tests = overlay.map(|overlay| self.tests_of(overlay)).unwrap_or_default();
        let mut measured = self.nothing_measured(&tests, proof.removed.clone(), lab);
        measured.redundant = proof.redundant;
        measured.asks_witness = matches!(&proof.witness, Witness::At(place) if !place.is_empty());
        measured.has_witness = matches!(proof.witness, Witness::At(_));
        for which in EVERY {
            let is_witness = matches!(which, Which::WitnessWithout | Which::WitnessWith);
            let asked = measured.asks_witness || !is_witness;
            let Some(variant) = variants.get(which).filter(|_| asked) else { continue };
            self.add_sides(which, variant, &tests, lab, &mut measured);
        }
        measured
    }

    /// What the answer was made from that several overlays can go at once: the pin without all of them, and with them.
    pub fn account_together(&mut self, overlays: &[OverlayName], lab: &mut Lab<'_>) -> Measured {
        let names: Vec<&OverlayName> = overlays.iter().collect();
        let [without, with] = self.without_and_with(&names);
        let tests = self.tests_of_all(overlays.iter());
        let mut measured = self.nothing_measured(&tests, taken_out(&without, &with), lab);
        self.add_sides(Which::PinWithout, &without, &tests, lab, &mut measured);
        self.add_sides(Which::PinWith, &with, &tests, lab, &mut measured);
        measured.redundant = measured.results.is_empty();
        measured
    }

    fn nothing_measured(&self, tests: &[&Test], removed: Vec<OverlayName>, lab: &Lab<'_>) -> Measured {
        Measured {
            profile: self.profile().cloned(),
            features: self.features().clone(),
            machine: lab.machine().clone(),
            removed,
            redundant: false,
            tests: tests.iter().map(|test| self.test_facts(test)).collect(),
            variants: BTreeMap::new(),
            results: BTreeMap::new(),
            asks_witness: false,
            has_witness: false,
            ours: BTreeMap::new(),
            recorded: 0,
        }
    }

    /// Adds what is known of tests on a variant.
    fn add_sides(
        &mut self,
        which: Which,
        variant: &Variant,
        tests: &[&Test],
        lab: &mut Lab<'_>,
        measured: &mut Measured,
    ) {
        for test in tests {
            let state = self.state(variant, test);
            let Ok(subject) = self.subjects.get(variant) else {
                if let State::Blocked(obstacle) = state {
                    let side = blocked(obstacle);
                    measured.results.entry(test.name.value.clone()).or_default().insert(which, side);
                }
                continue;
            };
            let Some(side) = side_of(&state, &subject, test, lab, measured) else { continue };
            measured.variants.insert(which, subject.note.clone());
            measured.results.entry(test.name.value.clone()).or_default().insert(which, side);
        }
    }

    /// The machine of the newest runs that the decision on a candidate stands on, and when they were made, in seconds since
    /// 1970. `None`: nothing that holds here was run.
    pub fn measured_when(&mut self, candidate: &Candidate, lab: &mut Lab<'_>) -> Option<(Machine, i64)> {
        let variants = &candidate.variants;
        let mut newest: Option<(Machine, i64)> = None;
        for variant in EVERY.into_iter().filter_map(|which| variants.get(which)) {
            for test in self.tests_of_name(&variants.overlay) {
                if !matches!(self.state(variant, test), State::Ran(_)) {
                    continue;
                }
                let Ok(subject) = self.subjects.get(variant) else { continue };
                let Some((_, Some((_, result)))) = lab.records_of(&subject, test) else { continue };
                if newest.as_ref().is_none_or(|(_, known)| *known < result.recorded) {
                    newest = Some((result.machine, result.recorded));
                }
            }
        }
        newest
    }

    /// Runs the linked tests of an overlay at another commit, without overlays, and says what that was made from.
    ///
    /// # Errors
    /// If we are told to stop.
    pub fn account_at(
        &mut self,
        candidate: &Candidate,
        variant: &Variant,
        called: &str,
        lab: &mut Lab<'_>,
    ) -> Result<Newer, Interrupted> {
        let overlay = self.workspace().manifest.overlay(candidate.variants.overlay.as_str());
        let tests = overlay.map(|overlay| self.tests_of(overlay)).unwrap_or_default();
        let mut newer = Newer {
            commit: variant.commit,
            called: called.to_owned(),
            profile: self.profile().cloned(),
            results: BTreeMap::new(),
        };
        let mut unused = self.account(candidate, lab);
        for test in tests {
            let side = match self.subjects.get(variant) {
                Err(obstacle) => Some(blocked(obstacle)),
                Ok(subject) => {
                    let seeds = crate::kernel_test::repeats::seeds(test.repeats);
                    let mut state = lab.measure(&subject, test, 0, &seeds)?;
                    if let State::Ran(ran) = &state
                        && !ran.runs.is_empty()
                        && ran.runs.len() < seeds.len()
                    {
                        state = lab.measure(&subject, test, ran.runs.len(), &seeds[ran.runs.len()..])?;
                    }
                    side_of(&state, &subject, test, lab, &mut unused)
                }
            };
            newer.results.extend(side.map(|side| (test.name.value.clone(), side)));
        }
        Ok(newer)
    }

    fn test_facts(&self, test: &Test) -> TestFacts {
        let manifest = &self.workspace().manifest;
        TestFacts {
            linked: self.link(test),
            definition: definition(&manifest.text, self.profile(), &test.name.value).unwrap_or_default(),
            command: test.command.iter().map(|part| part.value.clone()).collect(),
        }
    }

    /// What is not as it was when this was measured, as sentences; none: all of it is.
    pub fn stale(&mut self, measured: &Measured, candidate: &Candidate, hashes: &mut Hashes) -> Vec<String> {
        let variants = &candidate.variants;
        let today = Today {
            tests: self.tests_of_name(&variants.overlay),
            removed: &variants.removed,
            redundant: candidate.redundant,
            variant: &|which| variants.get(which),
        };
        self.stale_by(measured, &today, hashes)
    }

    /// As [`Campaign::stale`], of what [`Campaign::account_together`] gave for several overlays.
    pub fn stale_together(
        &mut self,
        measured: &Measured,
        overlays: &[OverlayName],
        hashes: &mut Hashes,
    ) -> Vec<String> {
        let manifest = &self.workspace().manifest;
        let is_on = |name: &OverlayName| {
            manifest.overlay(name.as_str()).is_some_and(|overlay| overlay.is_on(self.features()))
        };
        if let Some(gone) = overlays.iter().find(|name| !is_on(name)) {
            return vec![format!("overlay `{gone}`, which can go at once with it, is not applied any more")];
        }
        let names: Vec<&OverlayName> = overlays.iter().collect();
        let [without, with] = self.without_and_with(&names);
        let removed = taken_out(&without, &with);
        let today = Today {
            tests: self.tests_of_all(overlays.iter()),
            removed: &removed,
            redundant: measured.redundant,
            variant: &|which| match which {
                Which::PinWithout => Some(&without),
                Which::PinWith => Some(&with),
                Which::WitnessWithout | Which::WitnessWith => None,
            },
        };
        self.stale_by(measured, &today, hashes)
    }

    fn stale_by(&mut self, measured: &Measured, today: &Today<'_>, hashes: &mut Hashes) -> Vec<String> {
        let mut stale: BTreeSet<String> = BTreeSet::new();
        let manifest = &self.workspace().manifest;
        let root = self.workspace().root.clone();
        for test in &measured.tests {
            let name = &test.linked.name;
            let now = definition(&manifest.text, measured.profile.as_ref(), name).unwrap_or_default();
            if now != test.definition {
                stale.insert(format!("test `{name}` or its profile is another one in the manifest now"));
            }
        }
        for test in &today.tests {
            if !measured.redundant && !measured.tests.iter().any(|t| t.linked.name == test.name.value) {
                stale.insert(format!("test `{}` is linked to it now", test.name.value));
            }
        }
        if *today.removed != measured.removed {
            stale.insert("other overlays need it now".to_owned());
        }
        if today.redundant != measured.redundant {
            stale.insert("whether the pin has all of it is another answer now".to_owned());
        }
        for (file, then) in &measured.ours {
            let now = hashes.identity(&root.join(file)).unwrap_or_default();
            if now != *then {
                let how = if now.is_empty() { "is not there" } else { "was changed" };
                stale.insert(format!("`{file}` {how} since the tests ran"));
            }
        }
        for (which, note) in &measured.variants {
            let place = place_words(*which);
            let Some(variant) = (today.variant)(*which) else {
                stale.insert(format!("{place}: the witness is the pin now"));
                continue;
            };
            let fault = variant.fault.as_ref().map(|fault| fault.display().to_string());
            if variant.commit != note.commit || fault != note.fault {
                stale
                    .insert(format!("{place}: {} was tested, and it is {} now", note.commit, variant.commit));
                continue;
            }
            match self.subjects.get(variant) {
                Err(obstacle) => {
                    stale.insert(format!("{place}: {}", obstacle.text()));
                }
                Ok(subject) => {
                    for side in measured.results.values().filter_map(|sides| sides.get(which)) {
                        stale.extend(changed(side, &subject.sources).map(|text| format!("{place}: {text}")));
                    }
                }
            }
        }
        stale.into_iter().collect()
    }
}

/// What a measurement would be about today.
struct Today<'a> {
    tests: Vec<&'a Test>,
    /// What is taken out at the pin.
    removed: &'a [OverlayName],
    redundant: bool,
    variant: &'a dyn Fn(Which) -> Option<&'a Variant>,
}

/// What is on one variant and not on the other.
fn taken_out(without: &Variant, with: &Variant) -> Vec<OverlayName> {
    with.overlays.iter().filter(|name| !without.overlays.contains(name)).cloned().collect()
}

fn place_words(which: Which) -> &'static str {
    match which {
        Which::PinWithout => "at the pin without the overlay",
        Which::PinWith => "at the pin with the overlay",
        Which::WitnessWithout => "at the witness without the overlay",
        Which::WitnessWith => "at the witness with the overlay",
    }
}

/// What of the tree a test read and is another one now.
fn changed<'a>(side: &'a SideFacts, sources: &'a Sources) -> impl Iterator<Item = String> + 'a {
    let read = side.read.iter().filter(|(path, then)| sources.entry(path) != **then);
    let other = read.map(|(path, _)| format!("`{path}` is not what was tested"));
    let known = |path: &UpstreamPath| side.read.contains_key(path) || side.unread.contains(path);
    let is_run = matches!(side.outcome, SideOutcome::Ran { .. } | SideOutcome::BuildFailed { .. });
    let new = sources.changes.keys().filter(move |path| is_run && !known(path));
    other.chain(new.map(|path| format!("an overlay changes `{path}` now, and did not when it was tested")))
}

fn blocked(obstacle: crate::verdict::Obstacle) -> SideFacts {
    let outcome = SideOutcome::Blocked { obstacle };
    SideFacts { outcome, read: BTreeMap::new(), unread: BTreeSet::new() }
}

/// `None`: nobody has run it.
fn side_of(
    state: &State,
    subject: &Subject,
    test: &Test,
    lab: &mut Lab<'_>,
    measured: &mut Measured,
) -> Option<SideFacts> {
    if let State::Blocked(obstacle) = state {
        return Some(blocked(obstacle.clone()));
    }
    let (build, result) = lab.records_of(subject, test)?;
    // The tools by one hash: a verdict asks only whether both sides had the same.
    let tools = |text: &str| sha256_of(text.as_bytes());
    let outcome = match state {
        State::NotRun | State::Blocked(_) => return None,
        State::BuildFailed { toolchain, text } => {
            SideOutcome::BuildFailed { toolchain: tools(toolchain), text: text.clone() }
        }
        State::Ran(ran) => {
            let (record, result) = result.as_ref()?;
            measured.recorded = measured.recorded.max(result.recorded);
            // It may be another machine's, where this one lacks what the profile requires.
            measured.machine = result.machine.clone();
            SideOutcome::Ran {
                sha256: lab.record_sha256(record)?,
                record: record.clone(),
                toolchain: tools(&ran.toolchain),
                inputs: ran.inputs.clone(),
                surroundings: ran.surroundings.clone(),
                sanitized: ran.sanitized.clone(),
            }
        }
    };
    let result = result.as_ref().map(|(_, result)| result);
    measured.ours.extend(ours(&build, result));
    let (mut read, mut unread) = (BTreeMap::new(), BTreeSet::new());
    for (path, content) in &subject.sources.changes {
        // A name that comes or goes can be seen without opening the file.
        let is_named = content.is_none() || !subject.sources.listing.contains_key(path);
        if is_named || was_read(path, &build, result) {
            read.insert(path.clone(), subject.sources.entry(path));
        } else {
            unread.insert(path.clone());
        }
    }
    Some(SideFacts { outcome, read, unread })
}

fn was_read(path: &UpstreamPath, build: &BuildRecord, result: Option<&ResultRecord>) -> bool {
    match &build.inputs.tree {
        TreeRead::Whole { .. } => true,
        TreeRead::Files { files, .. } => {
            let named = [format!("{OF_TREE}{path}"), format!("{MAY_MATTER}{OF_TREE}{path}")];
            let opened =
                result.is_some_and(|result| named.iter().any(|n| result.inputs.files.contains_key(n)));
            files.contains_key(path) || opened
        }
    }
}

/// Our own files that were built or read.
fn ours(build: &BuildRecord, result: Option<&ResultRecord>) -> BTreeMap<String, String> {
    let opened = result.into_iter().flat_map(|result| &result.inputs.files);
    let all = build.inputs.project.iter().chain(opened);
    let is_ours = |file: &str| {
        let made = [".overlaid/", "target/tools/"].iter().any(|folder| file.starts_with(folder));
        !file.starts_with(OF_TREE) && !file.starts_with(MAY_MATTER) && !Path::new(file).is_absolute() && !made
    };
    all.filter(|(file, _)| is_ours(file)).map(|(file, hash)| (file.clone(), hash.clone())).collect()
}
