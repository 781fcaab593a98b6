//! What there is to do about an overlay: which of them needs a hand first, in `status`, in `prove` and on the page.
//!
//! Decides from the verdict and the state alone, so all three say the same.

use crate::provenance::{OverlayReport, State};
use crate::verdict::Verdict;

/// What a reader has to do about an overlay: first what cannot wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hand {
    /// It does harm now.
    Now,
    /// `verify` fails until somebody mends it, or accepts it.
    Mend,
    /// It should go.
    Drop,
    /// A person must decide.
    Decide,
    /// Something is missing.
    FindOut,
    /// Nothing.
    Keep,
}

/// What asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// What was proven.
    Verdict,
    /// What it is, measured against history.
    State,
}

impl Hand {
    /// All of them, the most urgent one first.
    pub const ALL: [Self; 6] = [Self::Now, Self::Mend, Self::Drop, Self::Decide, Self::FindOut, Self::Keep];

    /// The words for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Hand::Now => "act now",
            Hand::Mend => "mend",
            Hand::Drop => "drop",
            Hand::Decide => "decide",
            Hand::FindOut => "find out",
            Hand::Keep => "keep",
        }
    }

    /// A sign for it, where there is room for no word.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Hand::Now => "‼",
            Hand::Mend => "✎",
            Hand::Drop => "✂",
            Hand::Decide => "⚖",
            Hand::FindOut => "?",
            Hand::Keep => "✓",
        }
    }

    /// What the words ask a reader to do.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Hand::Now => "it was proven to do harm: drop it",
            Hand::Mend => "verify fails until it is mended or accepted (overlaid accept)",
            Hand::Drop => "it is not needed; once that is proven: overlaid drop OVERLAY",
            Hand::Decide => "the tests do not decide: a person does",
            Hand::FindOut => "it is not known whether it is needed: overlaid prove OVERLAY",
            Hand::Keep => "nothing to do",
        }
    }

    /// What a verdict asks for. A word that is none asks to find out.
    #[must_use]
    pub fn of_verdict(word: &str) -> Self {
        let verdict = Verdict::ALL.into_iter().find(|verdict| verdict.as_str() == word);
        match verdict.unwrap_or(Verdict::Inconclusive) {
            Verdict::Harmful => Hand::Now,
            Verdict::Droppable | Verdict::Redundant => Hand::Drop,
            Verdict::Mixed | Verdict::Ineffective | Verdict::Unproven => Hand::Decide,
            Verdict::Inconclusive => Hand::FindOut,
            Verdict::Needed => Hand::Keep,
        }
    }

    /// What the state asks for; `None`: nothing. `is_meant`: somebody accepted it.
    #[must_use]
    pub fn of_state(report: &OverlayReport, is_meant: bool) -> Option<Self> {
        let undoes = report.paths.iter().any(|path| !path.undoes.is_empty());
        match report.state {
            // The manifest lacks a word; nothing has to be found out.
            State::Unknown if report.paths.iter().any(|path| !path.needs_missing().is_empty()) => {
                Some(Hand::Mend)
            }
            State::Unknown => Some(Hand::FindOut),
            State::Redundant | State::Absorbed => Some(Hand::Drop),
            _ if is_meant => None,
            State::StaleConflict | State::Gone | State::Renamed | State::Collides | State::Rollback => {
                Some(Hand::Mend)
            }
            State::StaleClean if undoes => Some(Hand::Mend),
            State::StaleClean | State::Backport | State::New | State::Fresh => None,
        }
    }

    /// What there is to do, and whether verdict or state asks for it.
    ///
    /// What should go need not be mended first. That upstream has all of it counts only where no proof says otherwise.
    #[must_use]
    pub fn of(verdict: Option<Self>, state: Option<Self>) -> (Self, Option<Ground>) {
        match (verdict, state) {
            (Some(verdict @ (Hand::Now | Hand::Drop)), _) => (verdict, Some(Ground::Verdict)),
            (None | Some(Hand::FindOut), Some(state)) => (state, Some(Ground::State)),
            (Some(_), Some(Hand::Mend)) => (Hand::Mend, Some(Ground::State)),
            (Some(verdict), _) => (verdict, Some(Ground::Verdict)),
            (None, None) => (Hand::Keep, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Name;

    #[test]
    fn what_should_go_need_not_be_mended_and_what_is_needed_must_be() {
        let of = |verdict, state| Hand::of(verdict, state).0;
        assert_eq!(of(Some(Hand::Drop), Some(Hand::Mend)), Hand::Drop);
        assert_eq!(of(Some(Hand::Keep), Some(Hand::Mend)), Hand::Mend);
        assert_eq!(of(Some(Hand::Decide), Some(Hand::Mend)), Hand::Mend);
        assert_eq!(of(Some(Hand::FindOut), Some(Hand::Drop)), Hand::Drop);
        // Upstream has all of it, and its tests need it all the same.
        assert_eq!(of(Some(Hand::Keep), Some(Hand::Drop)), Hand::Keep);
        assert_eq!(of(None, None), Hand::Keep);
    }

    #[test]
    fn what_is_meant_need_not_be_mended() {
        let mut report = OverlayReport::unknown(Name::parse("ours").unwrap(), String::new());
        report.state = State::Rollback;
        assert_eq!(Hand::of_state(&report, false), Some(Hand::Mend));
        assert_eq!(Hand::of_state(&report, true), None);
    }

    #[test]
    fn each_verdict_and_state_asks_for_something_or_nothing() {
        for verdict in Verdict::ALL {
            let hand = Hand::of_verdict(verdict.as_str());
            assert_eq!(hand == Hand::Keep, verdict == Verdict::Needed, "{verdict}");
        }
        assert_eq!(Hand::of_verdict("no such word"), Hand::FindOut);
        assert!(Hand::ALL.is_sorted());
    }
}
