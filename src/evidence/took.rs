//! How long a build and a run of a test take, by what earlier ones took.
//!
//! Decides what stands in for a time that is not known. Looks at no clock.

/// How long one build and one run of a test usually take, in milliseconds. `None`: nothing is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Took {
    /// A build.
    pub build: Option<u64>,
    /// A run.
    pub run: Option<u64>,
}

impl Took {
    /// By what builds and runs have taken.
    #[must_use]
    pub fn by(builds: &[u64], runs: &[u64]) -> Self {
        Self { build: mean(builds), run: mean(runs) }
    }

    /// What is not known of this test is taken to be as it usually is with others.
    #[must_use]
    pub fn or_like(self, others: &[Took]) -> Self {
        let all = |part: fn(&Took) -> Option<u64>| mean(&others.iter().filter_map(part).collect::<Vec<_>>());
        Self {
            build: self.build.or_else(|| all(|took| took.build)),
            run: self.run.or_else(|| all(|took| took.run)),
        }
    }

    /// How long a build and so many runs take, by as much as is known. `None`: nothing is.
    #[must_use]
    pub fn with_runs(self, runs: usize) -> Option<u64> {
        let runs = u64::try_from(runs).unwrap_or(u64::MAX);
        let running = self.run.map(|run| run.saturating_mul(runs));
        match (self.build, running) {
            (None, None) => None,
            (build, running) => Some(build.unwrap_or(0).saturating_add(running.unwrap_or(0))),
        }
    }
}

fn mean(times: &[u64]) -> Option<u64> {
    let sum = times.iter().fold(0, |sum: u64, time| sum.saturating_add(*time));
    sum.checked_div(u64::try_from(times.len()).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_the_mean_of_what_earlier_ones_took() {
        let took = Took::by(&[1000, 3000], &[10, 20, 30]);
        assert_eq!(took, Took { build: Some(2000), run: Some(20) });
        assert_eq!(took.with_runs(4), Some(2080));
    }

    #[test]
    fn what_is_not_known_is_as_with_others() {
        let others = [Took::by(&[100], &[]), Took::by(&[300], &[7]), Took::default()];
        assert_eq!(Took::by(&[], &[5]).or_like(&others), Took { build: Some(200), run: Some(5) });
        assert_eq!(Took::default().or_like(&others).with_runs(2), Some(214));
    }

    #[test]
    fn nothing_known_is_no_time() {
        assert_eq!(Took::default().or_like(&[Took::default()]).with_runs(3), None);
        assert_eq!(Took::by(&[], &[5]).with_runs(3), Some(15));
    }
}
