//! `[features]`: groups of which at most one feature can be on; and what they mean for conditions.

use super::keys::{Keys, NONE, Shape, key};
use super::problems::Problems;
use super::table::Table;
use super::value::FEATURE;
use super::{Condition, Located};
use crate::diagnostic::{Diagnostic, quoted};
use crate::id::Name;
use crate::sorted::{SortedMap, SortedSet};

/// What `[features]` can have.
pub(super) const KEYS: Keys = Keys {
    header: "[features]",
    keys: Some(&[key(
        "exclusive",
        Shape::Groups(FEATURE.words),
        NONE,
        "In each group at most one feature can be on.",
    )]),
};

/// Reads `[features]`.
pub(super) fn read(mut table: Table<'_>, problems: &mut Problems) -> Vec<Vec<Located<Name>>> {
    let groups = table.groups("exclusive", &FEATURE, problems);
    table.finish(problems);
    for group in &groups {
        if let [only] = group.as_slice() {
            let place = problems.place(only.span.clone(), "alone in its group");
            problems.report(
                Diagnostic::error("bad-value", format!("{} excludes nothing", quoted(only.as_str())))
                    .at(place)
                    .hint("add the features that cannot be on together with it, or remove the group"),
            );
        }
    }
    groups
}

/// What to say of a feature that somebody turns on and no manifest knows: it may be a typing mistake.
#[must_use]
pub fn nothing_names<'k>(feature: &Name, known: impl IntoIterator<Item = &'k Name>) -> String {
    let known: Vec<&str> = known.into_iter().map(Name::as_str).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    format!("no overlay, profile or exclusive group names `{feature}`; the manifest has: {known}")
}

/// Why conditions can never hold together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contradiction<'a> {
    /// One feature must be on and off.
    OnAndOff(&'a Located<Condition>, &'a Located<Condition>),
    /// Two features must be on that exclude each other.
    Exclusive(&'a Located<Condition>, &'a Located<Condition>),
}

/// Finds out whether conditions can never hold together, given the exclusive groups.
#[must_use]
pub fn contradiction<'a>(
    conditions: impl IntoIterator<Item = &'a Located<Condition>> + Clone,
    exclusive: &[Vec<Located<Name>>],
) -> Option<Contradiction<'a>> {
    // The first that asks for each feature.
    let mut on: SortedMap<&Name, &Located<Condition>> = SortedMap::new();
    let mut off: Vec<&Located<Condition>> = Vec::new();
    for condition in conditions {
        if condition.negated {
            off.push(condition);
        } else {
            on.get_or_insert(&condition.feature, condition);
        }
    }
    for condition in off {
        if let Some(other) = on.get(&condition.feature) {
            return Some(Contradiction::OnAndOff(other, condition));
        }
    }
    for group in exclusive {
        let members: SortedSet<&Name> = group.iter().map(|name| &name.value).collect();
        let mut both =
            on.iter().filter(|(feature, _)| members.contains(feature)).map(|(_, condition)| condition);
        if let (Some(first), Some(second)) = (both.next(), both.next()) {
            return Some(Contradiction::Exclusive(first, second));
        }
    }
    None
}
