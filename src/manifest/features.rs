//! `[features]`: groups of which at most one feature can be on; and what they mean for conditions.

use std::collections::BTreeSet;

use super::keys::{Keys, NONE, Shape, key};
use super::problems::Problems;
use super::table::Table;
use super::value::FEATURE;
use super::{Condition, Located};
use crate::diagnostic::{Diagnostic, quoted};
use crate::id::Name;

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
    let mut on: Vec<&Located<Condition>> = Vec::new();
    let mut off: Vec<&Located<Condition>> = Vec::new();
    for condition in conditions {
        if condition.negated { off.push(condition) } else { on.push(condition) }
    }
    on.sort_by(|a, b| a.feature.cmp(&b.feature));
    for condition in off {
        if let Ok(index) = on.binary_search_by(|other| other.feature.cmp(&condition.feature)) {
            return Some(Contradiction::OnAndOff(on[index], condition));
        }
    }
    for group in exclusive {
        let members: BTreeSet<&Name> = group.iter().map(|name| &name.value).collect();
        let mut both: Vec<_> = on.iter().filter(|condition| members.contains(&condition.feature)).collect();
        both.dedup_by(|a, b| a.feature == b.feature);
        if let [first, second, ..] = both.as_slice() {
            return Some(Contradiction::Exclusive(first, second));
        }
    }
    None
}
