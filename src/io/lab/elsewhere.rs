//! What is on record of a test on a variant that was made elsewhere: under another profile, or on another device.
//!
//! Decides whether such a record is of the same sources and of the same test. It proves nothing here; it is shown
//! beside what does.

use crate::evidence::{ResultRecord, what_may_matter};
use crate::id::Name;
use crate::manifest::Test;
use crate::verdict::Ran;

use super::measure::{Lab, Subject};

/// Where a record was made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Whereabouts {
    /// Under which profile.
    pub profile: Option<Name>,
    /// The accelerator.
    pub device: Option<String>,
    /// The kind of machine.
    pub host: String,
}

impl std::fmt::Display for Whereabouts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let device = self.device.as_ref().unwrap_or(&self.host);
        match &self.profile {
            Some(profile) => write!(f, "{device}, profile {profile}"),
            None => write!(f, "{device}"),
        }
    }
}

impl Lab<'_> {
    /// The newest runs of a test on a variant for each other place that there is evidence from. `profiles`: those of
    /// the manifest. None, if the test does not name its sources.
    pub fn elsewhere(
        &mut self,
        subject: &Subject,
        test: &Test,
        profiles: &[Option<Name>],
    ) -> Vec<(Whereabouts, Ran)> {
        let Ok(plan) = self.plan(test) else { return Vec::new() };
        // Without the test's own files nobody can tell whether it is the same test.
        if plan.named.is_empty() {
            return Vec::new();
        }
        let here = Whereabouts {
            profile: self.profile(),
            device: self.machine.device.clone(),
            host: self.machine.class(),
        };
        // What stands in the place of our own measurements is shown there already.
        let stands_in = self.measured_by(subject, test).cloned();
        let stands_in = |profile: &Option<Name>, record: &ResultRecord| {
            *profile == here.profile && stands_in.as_ref() == Some(&record.machine)
        };
        let command: Vec<&String> = test.command.iter().map(|part| &part.value).collect();
        let is_same = |record: &ResultRecord| {
            let named = plan.named.iter().all(|(file, hash)| record.inputs.files.get(file) == Some(hash));
            record.variant.tree.as_deref() == Some(subject.sources.whole())
                && named
                && record.inputs.command.iter().eq(command.iter().copied())
                && record.inputs.protocol == crate::evidence::result::PROTOCOL
        };
        let mut found: Vec<(Whereabouts, Ran)> = Vec::new();
        for profile in profiles {
            // Newest first.
            for (_, record) in self.results.of(&test.name, profile.as_ref()) {
                let place = Whereabouts {
                    profile: profile.clone(),
                    device: record.inputs.device.clone(),
                    host: record.inputs.host.clone(),
                };
                let is_known = place == here || found.iter().any(|(known, _)| *known == place);
                if is_known || stands_in(profile, record) || !is_same(record) {
                    continue;
                }
                let ran = Ran {
                    toolchain: record.inputs.compiler.clone(),
                    // What of the tree was read is not on record; that its sources differ is.
                    inputs: record.variant.tree.clone(),
                    surroundings: Some(what_may_matter(&record.inputs)),
                    runs: record.runs.clone(),
                    sanitized: record.sanitized.clone(),
                };
                found.push((place, ran));
            }
        }
        found
    }
}
