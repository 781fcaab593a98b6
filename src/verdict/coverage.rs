//! What a drop needs beyond one verdict: every profile that turns the overlay on, every device it names, and no device that
//! says otherwise.

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

/// What the records of another device say of an overlay.
#[derive(Debug, Clone)]
pub struct Elsewhere {
    /// The device in words.
    pub place: String,
    /// The names by which a manifest may know it.
    pub devices: Vec<String>,
    /// The verdict there.
    pub verdict: Verdict,
}

impl Elsewhere {
    /// Whether a drop is right there.
    #[must_use]
    pub fn is_for_a_drop(&self) -> bool {
        matches!(self.verdict, Verdict::Droppable | Verdict::Harmful | Verdict::Redundant)
    }

    /// Whether a drop would break something there, though it is right by `here`.
    #[must_use]
    pub fn forbids(&self, here: Verdict) -> bool {
        matches!(here, Verdict::Droppable | Verdict::Harmful | Verdict::Redundant)
            && matches!(self.verdict, Verdict::Needed | Verdict::Mixed)
    }

    /// What a reader of the verdict here should know.
    #[must_use]
    pub fn reason(&self, here: Verdict) -> Reason {
        let Self { place, verdict, .. } = self;
        match self.forbids(here) {
            true => Reason {
                code: "differs-by-device",
                text: format!("on {place}: {verdict}, which it is not here; a person decides"),
            },
            false => Reason { code: "on-device", text: format!("on {place}: {verdict}") },
        }
    }
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

    #[test]
    fn a_device_where_it_is_needed_forbids_what_is_right_here() {
        use Verdict::*;
        let on = |verdict| Elsewhere { place: "A100".into(), devices: Vec::new(), verdict };
        for here in Verdict::ALL {
            for there in Verdict::ALL {
                let expected =
                    [Droppable, Harmful, Redundant].contains(&here) && [Needed, Mixed].contains(&there);
                assert_eq!(on(there).forbids(here), expected, "{here} here, {there} there");
                let code = if expected { "differs-by-device" } else { "on-device" };
                assert_eq!(on(there).reason(here).code, code);
                assert_eq!(on(there).is_for_a_drop(), [Droppable, Harmful, Redundant].contains(&there));
            }
        }
    }
}
