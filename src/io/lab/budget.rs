//! How long a proof may take, and how long its parts will take by what earlier ones took.
//!
//! Decides what is not started any more. Never ends what was started, and never decides what that means for a
//! verdict.

use std::time::{Duration, Instant};

use crate::evidence::took::Took;
use crate::id::Name;
use crate::manifest::Test;
use crate::variant::Variant;
use crate::verdict::Decision;

use super::campaign::{Campaign, Candidate, runs_under};
use super::measure::Lab;
use super::steering::target_of;

/// The time that a proof was given.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    began: Instant,
    whole: Duration,
}

impl Budget {
    /// It begins now.
    #[must_use]
    pub fn from_now(whole: Duration) -> Self {
        Self { began: Instant::now(), whole }
    }

    /// Whether something that takes this long ends in time. What nobody can tell is started while there is time.
    fn has_room_for(&self, millis: Option<u64>) -> bool {
        let passed = self.began.elapsed();
        match millis {
            Some(millis) => passed.saturating_add(Duration::from_millis(millis)) <= self.whole,
            None => passed < self.whole,
        }
    }
}

/// A test on a variant that is still to be built and run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// On which variant.
    pub variant: Variant,
    /// Which test.
    pub test: Name,
    /// How often it is run.
    pub runs: usize,
}

impl Lab<'_> {
    /// How long a build and a run of a test took on this machine.
    fn took(&mut self, test: &Test) -> Took {
        let profile = self.profile();
        let builds = self.builds.of(&test.name, profile.as_ref());
        let builds: Vec<u64> = builds.iter().filter_map(|build| build.millis).collect();
        let (host, device) = (self.machine.class(), self.machine.device.clone());
        let results = self.results.of(&test.name, profile.as_ref()).iter();
        let here = results.filter(|(_, record)| record.inputs.host == host && record.inputs.device == device);
        let runs: Vec<u64> = here
            .flat_map(|(_, record)| &record.runs)
            .map(|run| run.processes.iter().map(|process| process.millis).sum())
            .collect();
        Took::by(&builds, &runs)
    }
}

impl Campaign<'_> {
    /// Sets how long it may take.
    pub fn limit(&mut self, budget: Option<Budget>) {
        self.budget = budget;
    }

    /// What was not started since it would have taken too long.
    #[must_use]
    pub fn turned_away(&self) -> &[Left] {
        &self.turned_away
    }

    /// Whether the decision on an overlay waits for something that was not started.
    #[must_use]
    pub fn waits(&self, candidate: &Candidate, decision: &Decision) -> bool {
        let wanted = candidate.variants.next(&decision.wants);
        let is_left = |variant: &Variant, test: &Name| {
            self.turned_away.iter().any(|left| left.variant == *variant && left.test == *test)
        };
        wanted.iter().any(|request| request.tests.keys().any(|test| is_left(&request.variant, test)))
    }

    /// How long one build and one run of a test take, by what earlier ones took. The time of sanitizers is not known.
    pub fn usually_takes(&self, test: &Test, lab: &mut Lab<'_>) -> Took {
        let tests = self.workspace.manifest.tests.iter().filter(|test| runs_under(test, self.profile()));
        let others: Vec<Took> = tests.map(|test| lab.took(test)).collect();
        let took = lab.took(test).or_like(&others);
        match target_of(test) {
            Some(_) => took,
            None => Took { build: Some(0), ..took },
        }
    }

    /// Whether there is time to build a test and run it. Once there is not, nothing more is started: what is left is
    /// then told in the order in which it would have been done.
    pub(super) fn may_start(
        &mut self,
        variant: &Variant,
        test: &Test,
        runs: usize,
        lab: &mut Lab<'_>,
    ) -> bool {
        let Some(budget) = self.budget else { return true };
        let millis = self.usually_takes(test, lab).with_runs(runs);
        if self.turned_away.is_empty() && budget.has_room_for(millis) {
            return true;
        }
        let left = Left { variant: variant.clone(), test: test.name.value.clone(), runs };
        let is_told = |known: &Left| known.variant == left.variant && known.test == left.test;
        if !self.turned_away.iter().any(is_told) {
            self.turned_away.push(left);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_take_longer_than_the_rest_of_the_budget_is_not_started() {
        let budget = Budget::from_now(Duration::from_secs(3600));
        assert!(budget.has_room_for(Some(1_000_000)));
        assert!(!budget.has_room_for(Some(3_600_001)));
    }

    #[test]
    fn what_nobody_can_tell_is_started_while_there_is_time() {
        assert!(Budget::from_now(Duration::from_secs(3600)).has_room_for(None));
        assert!(!Budget::from_now(Duration::ZERO).has_room_for(None));
    }
}
