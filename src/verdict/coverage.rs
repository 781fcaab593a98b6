//! What a drop needs beyond one verdict: every profile that turns the overlay on, every device it names.

use super::decision::{Reason, Verdict};
use crate::id::Name;

/// The verdict over several profiles. None: `unproven`, for nothing was run.
///
/// A case that is mended under one profile and one that is broken under another make it mixed, and a drop must
/// be right under all. An answer that is missing under one profile is missing in whole, unless it is mixed.
#[must_use]
pub fn across_profiles(verdicts: &[(Name, Verdict)]) -> Verdict {
    let has = |wanted: Verdict| verdicts.iter().any(|(_, verdict)| *verdict == wanted);
    if has(Verdict::Mixed) || (has(Verdict::Needed) && has(Verdict::Harmful)) {
        return Verdict::Mixed;
    }
    let first_of = [
        Verdict::Inconclusive,
        Verdict::Needed,
        Verdict::Harmful,
        Verdict::Ineffective,
        Verdict::Unproven,
        Verdict::Droppable,
        Verdict::Redundant,
    ];
    first_of.into_iter().find(|verdict| has(*verdict)).unwrap_or(Verdict::Unproven)
}

/// What keeps an overlay from being dropped though its verdict says that it can go. `on_under`: the profiles
/// whose features turn it on; `proven_under`: those with a verdict that says so; `devices`: what its manifest
/// entry names; `seen_on`: the devices of the evidence.
#[must_use]
pub fn gaps(on_under: &[Name], proven_under: &[Name], devices: &[String], seen_on: &[String]) -> Vec<Reason> {
    let profiles = on_under.iter().filter(|profile| !proven_under.contains(profile)).map(|profile| Reason {
        code: "other-profile",
        text: format!("a drop also needs evidence under profile `{profile}`, which turns the overlay on"),
    });
    let devices = devices.iter().filter(|device| !seen_on.contains(device)).map(|device| Reason {
        code: "other-device",
        text: format!("a drop also needs evidence from a device `{device}`"),
    });
    profiles.chain(devices).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn across(verdicts: &[Verdict]) -> Verdict {
        let name = Name::parse("p").unwrap();
        across_profiles(&verdicts.iter().map(|verdict| (name.clone(), *verdict)).collect::<Vec<_>>())
    }

    #[test]
    fn a_drop_must_be_right_under_all_profiles() {
        use Verdict::*;
        assert_eq!(across(&[Droppable, Droppable]), Droppable);
        assert_eq!(across(&[Droppable, Needed]), Needed);
        assert_eq!(across(&[Droppable, Unproven]), Unproven);
        assert_eq!(across(&[Droppable, Ineffective]), Ineffective);
        for other in [Needed, Harmful, Ineffective, Droppable, Unproven, Redundant] {
            assert_eq!(across(&[other, Inconclusive]), Inconclusive);
            assert_eq!(across(&[Inconclusive, other]), Inconclusive);
            assert_eq!(across(&[other, Mixed]), Mixed);
        }
        assert_eq!(across(&[Needed, Harmful, Inconclusive]), Mixed);
        assert_eq!(across(&[Harmful, Droppable]), Harmful);
        assert_eq!(across(&[]), Unproven);
    }

    #[test]
    fn what_is_not_covered_is_named() {
        let names = |list: &[&str]| list.iter().map(|n| Name::parse(n).unwrap()).collect::<Vec<_>>();
        let text = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let gaps =
            gaps(&names(&["cpu", "cuda"]), &names(&["cpu"]), &text(&["sm_90", "sm_80"]), &text(&["sm_80"]));
        let codes: Vec<_> = gaps.iter().map(|gap| gap.code).collect();
        assert_eq!(codes, ["other-profile", "other-device"]);
        assert!(gaps[0].text.contains("`cuda`") && gaps[1].text.contains("`sm_90`"));
    }
}
