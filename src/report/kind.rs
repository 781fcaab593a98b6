//! What may be said of an overlay: the decision is made from verdicts, never from what somebody asks for.

use serde::Serialize;

use crate::id::Name;
use crate::verdict::Verdict;
use crate::verdict::coverage::across_profiles;

use super::templates::Template;

/// What may be said, and to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MaySay {
    /// The pin is faulty without the overlay: a draft for upstream.
    Draft,
    /// The pin is fine without the overlay: there is nothing to file upstream. The overlay should go.
    Retraction,
    /// The tests do not decide: a person does, and there is no draft.
    PersonDecides,
    /// It was not found out what the pin does: there is no draft.
    NotTested,
}

impl MaySay {
    /// What the verdicts of all profiles allow.
    #[must_use]
    pub fn of(verdicts: &[(Name, Verdict)]) -> Self {
        if verdicts.is_empty() {
            return MaySay::NotTested;
        }
        match across_profiles(verdicts) {
            Verdict::Needed => MaySay::Draft,
            Verdict::Harmful | Verdict::Droppable | Verdict::Redundant => MaySay::Retraction,
            Verdict::Mixed | Verdict::Ineffective | Verdict::Unproven => MaySay::PersonDecides,
            Verdict::Inconclusive => MaySay::NotTested,
        }
    }

    /// The template for it; `None`: there is no report.
    #[must_use]
    pub fn template(self) -> Option<Template> {
        match self {
            MaySay::Draft => Some(Template::Draft),
            MaySay::Retraction => Some(Template::Retraction),
            MaySay::PersonDecides | MaySay::NotTested => None,
        }
    }

    /// Whether a template may be filled.
    #[must_use]
    pub fn allows(self, template: Template) -> bool {
        match template {
            Template::Draft | Template::Issue | Template::PullRequest => self == MaySay::Draft,
            Template::Retraction | Template::Removal => self == MaySay::Retraction,
            Template::Bump => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(verdicts: &[Verdict]) -> MaySay {
        let name = Name::parse("p").unwrap();
        MaySay::of(&verdicts.iter().map(|verdict| (name.clone(), *verdict)).collect::<Vec<_>>())
    }

    #[test]
    fn only_a_fault_of_the_pin_makes_a_draft() {
        use Verdict::*;
        assert_eq!(of(&[Needed]), MaySay::Draft);
        for verdict in [Harmful, Droppable, Redundant] {
            assert_eq!(of(&[verdict]), MaySay::Retraction);
        }
        for verdict in [Mixed, Ineffective, Unproven] {
            assert_eq!(of(&[verdict]), MaySay::PersonDecides);
        }
        assert_eq!((of(&[]), of(&[Inconclusive])), (MaySay::NotTested, MaySay::NotTested));
        assert_eq!(of(&[Needed, Inconclusive]), MaySay::NotTested);
        assert_eq!(of(&[Needed, Harmful]), MaySay::PersonDecides);
        assert_eq!(of(&[Droppable, Needed]), MaySay::Draft);
    }
}
