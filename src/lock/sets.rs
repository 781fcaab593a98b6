//! Which overlays can be on together, as far as it matters for what they give.
//!
//! Overlays that share no path and do not need each other never change each other's result. So each group of
//! overlays that do is looked at alone, under all features that its members ask for.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{Name, UpstreamPath};
use crate::manifest::Manifest;
use crate::overlay::Loaded;

/// A group whose members ask for more features than this is not looked at under all of them.
pub(super) const MAX_FEATURES: usize = 10;

/// Overlays that can change each other's result.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// Their places in the manifest.
    pub members: Vec<usize>,
    /// The members that are on together, for each way in which they can be. `None`: too many ways.
    pub sets: Option<BTreeSet<Vec<usize>>>,
}

/// The groups; `touched` has the paths that each overlay reads or changes. Rivals that stand back are in none.
pub(super) fn groups(
    manifest: &Manifest,
    overlays: &[Loaded],
    touched: &[BTreeSet<UpstreamPath>],
) -> Vec<Group> {
    let mut leader: Vec<usize> = (0..overlays.len()).collect();
    let mut join = |a: usize, b: usize| {
        let (a, b) = (leader[a], leader[b]);
        for of in &mut leader {
            if *of == a.max(b) {
                *of = a.min(b);
            }
        }
    };
    let mut first: BTreeMap<&UpstreamPath, usize> = BTreeMap::new();
    for (index, loaded) in overlays.iter().enumerate().filter(|(_, loaded)| loaded.overlay.active) {
        for path in &touched[index] {
            join(index, *first.entry(path).or_insert(index));
        }
        for need in &loaded.overlay.needs {
            if let Some(needed) = overlays.iter().position(|other| *other.name() == need.value) {
                join(index, needed);
            }
        }
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, _) in overlays.iter().enumerate().filter(|(_, loaded)| loaded.overlay.active) {
        groups.entry(leader[index]).or_default().push(index);
    }
    let group = |members: Vec<usize>| Group { sets: sets(manifest, overlays, &members), members };
    groups.into_values().map(group).collect()
}

fn sets(manifest: &Manifest, overlays: &[Loaded], members: &[usize]) -> Option<BTreeSet<Vec<usize>>> {
    let conditions = members.iter().flat_map(|index| &overlays[*index].overlay.when);
    let features: BTreeSet<&Name> = conditions.map(|condition| &condition.feature).collect();
    let features: Vec<&Name> = features.into_iter().collect();
    if features.len() > MAX_FEATURES {
        return None;
    }
    let choices = 0_u32..1 << features.len();
    let choice = |bits: u32| -> BTreeSet<Name> {
        let chosen = features.iter().enumerate().filter(|(bit, _)| bits & 1 << bit != 0);
        chosen.map(|(_, feature)| (*feature).clone()).collect()
    };
    let sets = choices.map(choice).filter(|on| can_be(manifest, on)).map(|on| {
        members.iter().copied().filter(|index| overlays[*index].overlay.is_on(&on)).collect::<Vec<_>>()
    });
    Some(sets.filter(|set| !set.is_empty()).collect())
}

/// Whether these features do not exclude each other.
pub(super) fn can_be(manifest: &Manifest, features: &BTreeSet<Name>) -> bool {
    let on = |group: &Vec<crate::manifest::Located<Name>>| {
        group.iter().filter(|feature| features.contains(&feature.value)).count()
    };
    manifest.exclusive.iter().all(|group| on(group) < 2)
}
