//! In which order overlays are shown, and what the words of the table mean.

use crate::accept::{Acceptance, acceptance};
use crate::id::CommitId;
use crate::io::verdicts::Noted;
use crate::overlay::Loaded;
use crate::provenance::{OverlayReport, State};
use crate::report::hand::Hand;

use super::super::Tone;
use super::super::legend::Group;

/// What there is to do about an overlay, as far as its state and the last verdict tell. `is_contradicted`: somebody reports
/// otherwise.
#[must_use]
pub fn hand(
    loaded: &Loaded,
    report: &OverlayReport,
    noted: Option<&Noted>,
    is_contradicted: bool,
    is_off: bool,
    pin: CommitId,
) -> Hand {
    let is_meant = matches!(acceptance(&loaded.overlay, report, pin), Acceptance::Holds(_));
    let holds = noted.filter(|noted| noted.content == report.content_digest(pin));
    let verdict = match holds {
        Some(_) if is_contradicted => Some(Hand::Decide),
        Some(noted) => Some(Hand::of_verdict(&noted.verdict)),
        // Its tests have not been asked. Of one without tests, or that is off, nobody would.
        None => (!loaded.overlay.tests.is_empty() && !is_off).then_some(Hand::FindOut),
    };
    Hand::of(verdict, Hand::of_state(report, is_meant)).0
}

/// The order of rows: what needs a hand first, then as in the manifest.
#[must_use]
pub fn by_need(hands: &[Hand]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..hands.len()).collect();
    order.sort_by_key(|at| hands[*at]);
    order
}

/// How a thing to do is meant.
#[must_use]
pub fn tone(hand: Hand) -> Tone {
    match hand {
        Hand::Now | Hand::Mend => Tone::Bad,
        Hand::Drop => Tone::Strong,
        Hand::Decide | Hand::FindOut => Tone::Warning,
        Hand::Keep => Tone::Good,
    }
}

/// What the words of the table mean: those that stand in it.
#[must_use]
pub fn legend(hands: &[Hand], reports: &[OverlayReport], has_doubt: bool) -> Vec<Group> {
    let to_do = Hand::ALL.iter().filter(|hand| hands.contains(hand));
    let to_do = to_do.map(|hand| (hand.as_str().to_owned(), hand.meaning().to_owned()));
    let states = State::ALL.iter().filter(|state| reports.iter().any(|report| report.state == **state));
    let states = states.map(|state| (state.as_str().to_owned(), state.meaning().to_owned()));
    let mut groups = vec![
        Group { title: "to do", words: to_do.collect() },
        Group { title: "state", words: states.collect() },
    ];
    if has_doubt {
        let doubt = ("...?".to_owned(), "pin or overlay have changed since that verdict".to_owned());
        groups.push(Group { title: "verdict", words: vec![doubt] });
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_a_hand_comes_first_and_the_rest_as_in_the_manifest() {
        let hands = [Hand::Keep, Hand::Drop, Hand::Now, Hand::Keep, Hand::Mend, Hand::Drop];
        assert_eq!(by_need(&hands), [2, 4, 1, 5, 0, 3]);
    }
}
