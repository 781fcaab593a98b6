//! A search for the commit at which something changed: which to try next, and what is known in the end.
//!
//! Decides like `git bisect`: the middle of what is left, commits that cannot be judged are passed over, and where
//! only such are left the answer is a range. And what the results of the tests say about one commit. Never builds
//! or runs anything.

use std::collections::BTreeMap;

use crate::id::Name;
use crate::kernel_test::repeats::{Observed, Seen, observe};
use crate::kernel_test::{CaseKey, Cell, CellOutcome};
use crate::verdict::{CellId, State};

/// What is known of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It is as at the old end.
    Old,
    /// It is as at the new end.
    New,
    /// It cannot be judged: it does not build, or the tests say nothing.
    Skip,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Try one of these; each would tell as much as the others.
    Try(Vec<usize>),
    /// The first commit that is as at the new end.
    Found(usize),
    /// It is one of these, and those of them that could have told cannot be judged. The last is as at the new end.
    Range(std::ops::RangeInclusive<usize>),
    /// One of the two ends is not known, and no commit tells.
    Unknown,
}

/// A search in a line of commits, oldest first.
#[derive(Debug, Clone)]
pub struct Search {
    marks: Vec<Option<Mark>>,
}

impl Search {
    /// Nothing is known of `count` commits.
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self { marks: vec![None; count] }
    }

    /// Notes what a commit is. A place that is not in the line is passed over.
    pub fn mark(&mut self, place: usize, mark: Mark) {
        if let Some(slot) = self.marks.get_mut(place) {
            *slot = Some(mark);
        }
    }

    /// The newest commit before the oldest new one that is as at the old end, and that oldest new one.
    fn bounds(&self) -> (Option<usize>, Option<usize>) {
        let is = |mark| move |known: &Option<Mark>| *known == Some(mark);
        let new = self.marks.iter().position(is(Mark::New));
        let below = &self.marks[..new.unwrap_or(self.marks.len())];
        (below.iter().rposition(is(Mark::Old)), new)
    }

    /// How many commits are left between the ends that are known.
    #[must_use]
    pub fn left(&self) -> usize {
        let (old, new) = self.bounds();
        let new = new.unwrap_or(self.marks.len());
        let from = old.map_or(0, |old| old + 1);
        (from..new).filter(|place| self.marks[*place].is_none()).count()
    }

    /// What to do next, where both ends are to be known already.
    #[must_use]
    pub fn next(&self) -> Next {
        let (Some(old), Some(new)) = self.bounds() else { return Next::Unknown };
        if old + 1 == new {
            return Next::Found(new);
        }
        let open: Vec<usize> = (old + 1..new).filter(|place| self.marks[*place].is_none()).collect();
        if open.is_empty() {
            return Next::Range(old + 1..=new);
        }
        // Twice the distance to the middle, so that it stays a whole number.
        let distance = |place: usize| (2 * place).abs_diff(old + new);
        let least = open.iter().map(|place| distance(*place)).min().unwrap_or_default();
        Next::Try(open.into_iter().filter(|place| distance(*place) == least).collect())
    }

    /// What to do next where only the new end is known: back from it in steps that double, to the oldest commit.
    #[must_use]
    pub fn next_back(&self) -> Next {
        let (old, new) = self.bounds();
        let Some(new) = new else { return Next::Unknown };
        if old.is_some() {
            return self.next();
        }
        let newest = self.marks.iter().rposition(|mark| *mark == Some(Mark::New)).unwrap_or(new);
        let mut step = 1;
        while step <= newest {
            if self.marks[newest - step].is_none() && newest - step < new {
                return Next::Try(vec![newest - step]);
            }
            step *= 2;
        }
        match (0..new).find(|place| self.marks[*place].is_none()) {
            Some(place) => Next::Try(vec![place]),
            // As far back as anything can be told.
            None if new == 0 => Next::Found(0),
            None => Next::Range(0..=new),
        }
    }
}

/// What the tests say about a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judged {
    /// Cases fail for which the overlay is there: so many.
    Faulty(usize),
    /// All of them pass.
    Mended,
    /// Neither is known, for this reason.
    Unknown(String),
}

impl std::fmt::Display for Judged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Judged::Faulty(1) => f.write_str("the fault is there (1 case)"),
            Judged::Faulty(cases) => write!(f, "the fault is there ({cases} cases)"),
            Judged::Mended => f.write_str("all cases pass"),
            Judged::Unknown(why) => write!(f, "passed over: {why}"),
        }
    }
}

/// Judges a commit by the cases that the overlay is there for: `states` are the results of their tests without the
/// overlay. `runs_needed`: how often each must pass before it is taken to be mended.
#[must_use]
pub fn judge(
    cases: &[CellId],
    states: &BTreeMap<Name, State>,
    runs_needed: &dyn Fn(&CellId) -> u32,
) -> Judged {
    let mut failing = 0;
    let mut open = None;
    for id in cases {
        match judge_case(id, states.get(&id.test), runs_needed(id)) {
            Some(true) => failing += 1,
            Some(false) => {}
            None => open = open.or_else(|| Some(why_open(id, states.get(&id.test)))),
        }
    }
    match open {
        _ if failing > 0 => Judged::Faulty(failing),
        Some(why) => Judged::Unknown(why),
        None => Judged::Mended,
    }
}

/// Whether a case fails; `None`: it is not known.
fn judge_case(id: &CellId, state: Option<&State>, needed: u32) -> Option<bool> {
    let ran = match state? {
        State::Ran(ran) => ran,
        State::BuildFailed { .. } if id.case == CaseKey::build() => return Some(true),
        State::BuildFailed { .. } | State::NotRun | State::Blocked(_) => return None,
    };
    if id.case == CaseKey::build() {
        return Some(false);
    }
    if let Some(tool) = id.case.as_str().strip_prefix("sanitizer:") {
        let outcomes = ran.sanitized.get(tool)?;
        return match outcomes.first()? {
            CellOutcome::Fail { .. } => Some(true),
            CellOutcome::Pass => Some(false),
            _ => None,
        };
    }
    let observed = observe_case(ran, &id.case);
    match observed.seen {
        Seen::Fail { .. } | Seen::Varies { .. } | Seen::Flaky { .. } => Some(true),
        Seen::Pass if observed.runs >= needed => Some(false),
        _ => None,
    }
}

fn observe_case(ran: &crate::verdict::Ran, case: &CaseKey) -> Observed {
    let cells: Vec<(u64, Option<&Cell>)> = ran.runs.iter().map(|run| (run.seed, run.cell(case))).collect();
    observe(&cells, u32::try_from(ran.runs.len()).unwrap_or(u32::MAX))
}

fn why_open(id: &CellId, state: Option<&State>) -> String {
    match state {
        None | Some(State::NotRun) => format!("`{}` was not run", id.test),
        Some(State::Blocked(obstacle)) => obstacle.text().to_owned(),
        Some(State::BuildFailed { text, .. }) => format!("`{}` does not build: {text}", id.test),
        Some(State::Ran(_)) => format!("`{}` does not tell of {}", id.test, id.case),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a line of which the truth is known: `o`, `n`, and `s` for what cannot be judged.
    fn search(line: &str, back: bool) -> (Next, usize) {
        let truth: Vec<Mark> = line
            .chars()
            .map(|c| match c {
                'o' => Mark::Old,
                'n' => Mark::New,
                _ => Mark::Skip,
            })
            .collect();
        let mut search = Search::new(truth.len());
        if !back {
            search.mark(0, truth[0]);
        }
        search.mark(truth.len() - 1, truth[truth.len() - 1]);
        for tries in 0..=truth.len() {
            match if back { search.next_back() } else { search.next() } {
                Next::Try(places) => search.mark(places[0], truth[places[0]]),
                end => return (end, tries),
            }
        }
        panic!("no end")
    }

    #[test]
    fn a_line_of_a_thousand_takes_ten_tries() {
        for first in [1, 2, 499, 500, 998, 999] {
            let line: String = (0..1000).map(|place| if place < first { 'o' } else { 'n' }).collect();
            let (end, tries) = search(&line, false);
            assert_eq!(end, Next::Found(first));
            assert!(tries <= 10, "{tries}");
        }
    }

    #[test]
    fn what_cannot_be_judged_is_passed_over_and_may_leave_a_range() {
        assert_eq!(search("oosonnnn", false).0, Next::Found(4));
        assert_eq!(search("oossnnnn", false).0, Next::Range(2..=4));
        assert_eq!(search("osssssn", false).0, Next::Range(1..=6));
        assert_eq!(search("on", false), (Next::Found(1), 0));
    }

    #[test]
    fn an_end_that_is_not_known_leaves_it_unknown() {
        assert_eq!(Search::new(3).next(), Next::Unknown);
        assert_eq!(search("osssss", false).0, Next::Unknown);
    }

    #[test]
    fn backwards_the_old_end_is_looked_for_first() {
        let line: String = (0..1000).map(|place| if place < 990 { 'o' } else { 'n' }).collect();
        let (end, tries) = search(&line, true);
        assert_eq!(end, Next::Found(990));
        assert!(tries <= 10, "{tries}");
        assert_eq!(search("nnnnn", true).0, Next::Found(0));
        assert_eq!(search("sssnn", true).0, Next::Range(0..=3));
        assert_eq!(search("ossnn", true).0, Next::Range(1..=3));
    }

    #[test]
    fn two_middles_are_equally_good() {
        let mut search = Search::new(4);
        search.mark(0, Mark::Old);
        search.mark(3, Mark::New);
        assert_eq!(search.next(), Next::Try(vec![1, 2]));
    }
}
