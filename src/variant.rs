//! Which variants prove a verdict, and in which order they rebuild least.
//!
//! Decides sets of overlays from the manifest, and an order from what each overlay costs to flip. Never looks at
//! a tree, and never whether an overlay merges.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::id::{CommitId, Name, OverlayName};
use crate::manifest::{Manifest, Overlay, Witness};
use crate::verdict::{Want, Which};

/// A commit and the overlays on it: what is built and tested.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variant {
    /// The commit.
    pub commit: CommitId,
    /// Whether the commit is the pin. Elsewhere whole content is merged.
    pub at_pin: bool,
    /// A patch that plants a fault, relative to the overlay folder; it goes on before the overlays.
    pub fault: Option<PathBuf>,
    /// The overlays, in the order of the manifest.
    pub overlays: Vec<OverlayName>,
}

/// The variants that prove one overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variants {
    /// The overlay.
    pub overlay: OverlayName,
    /// What is taken out at the pin: the overlay and the active ones that need it, in manifest order.
    pub removed: Vec<OverlayName>,
    /// The pin with all active overlays.
    pub pin_with: Variant,
    /// The pin without what is taken out.
    pub pin_without: Variant,
    /// The witness without and with the overlay; `None`: the witness is the pin, or nothing is known of one.
    pub witness: Option<[Variant; 2]>,
}

/// Why there are no variants for an overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VariantError {
    /// No overlay of this name.
    NoSuch(String),
    /// The features do not turn it on.
    Off(OverlayName),
    /// It needs an overlay that the features do not turn on, or that stands back for a rival.
    NeedIsOff {
        /// The overlay that needs it.
        overlay: OverlayName,
        /// The overlay that is off.
        need: OverlayName,
    },
}

impl std::fmt::Display for VariantError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            VariantError::NoSuch(name) => write!(f, "no overlay `{name}`"),
            VariantError::Off(name) => write!(f, "overlay `{name}` is off under these features"),
            VariantError::NeedIsOff { overlay, need } => {
                write!(f, "overlay `{overlay}` needs `{need}`, which is off under these features")
            }
        }
    }
}

impl std::error::Error for VariantError {}

/// The variants that prove `overlay`. A rival that stands back is proven in the active one's place.
///
/// # Errors
/// If the overlay, or one that it needs, is off under these features.
pub fn variants_of(
    manifest: &Manifest,
    features: &BTreeSet<Name>,
    overlay: &str,
) -> Result<Variants, VariantError> {
    let own = manifest.overlay(overlay).ok_or_else(|| VariantError::NoSuch(overlay.to_owned()))?;
    let on = active_with(manifest, features, own)?;
    let needs = closure(manifest, own)?;
    for need in &needs {
        if !on.contains(need.as_str()) {
            let (overlay, need) = (own.name.value.clone(), need.clone());
            return Err(VariantError::NeedIsOff { overlay, need });
        }
    }
    let removed = dependents(manifest, &on, &[own.name.as_str()]);
    let pin = manifest.upstream.pin.value;
    let pin_variant =
        |fault: Option<PathBuf>, on: &dyn Fn(&str) -> bool| variant(manifest, pin, true, fault, on);
    let all = |name: &str| on.contains(name);
    let rest = |name: &str| on.contains(name) && !removed.contains(name);
    let witness = match own.witness.as_ref().map(|witness| &witness.value) {
        Some(Witness::Patch(patch)) => {
            Some([pin_variant(Some(patch.clone()), &rest), pin_variant(Some(patch.clone()), &all)])
        }
        Some(Witness::Commit(commit)) => elsewhere(manifest, own, &needs, *commit),
        None => own.base.as_ref().and_then(|base| elsewhere(manifest, own, &needs, base.value)),
    };
    Ok(Variants {
        overlay: own.name.value.clone(),
        pin_with: pin_variant(None, &all),
        pin_without: pin_variant(None, &rest),
        removed: in_order(manifest, &|name| removed.contains(name)),
        witness,
    })
}

/// The pin without several overlays and all that need any of them.
#[must_use]
pub fn without_all(manifest: &Manifest, features: &BTreeSet<Name>, overlays: &[&str]) -> Variant {
    let on: BTreeSet<&str> = active(manifest, features);
    let removed = dependents(manifest, &on, overlays);
    variant(manifest, manifest.upstream.pin.value, true, None, &|name| {
        on.contains(name) && !removed.contains(name)
    })
}

/// Without and with the overlay at any commit, the pin as well: only it and what it needs.
///
/// # Errors
/// If there is no such overlay.
pub fn at_commit(manifest: &Manifest, overlay: &str, commit: CommitId) -> Result<[Variant; 2], VariantError> {
    let own = manifest.overlay(overlay).ok_or_else(|| VariantError::NoSuch(overlay.to_owned()))?;
    let needs = closure(manifest, own)?;
    Ok(alone(manifest, own, &needs, commit))
}

fn alone(manifest: &Manifest, own: &Overlay, needs: &[OverlayName], commit: CommitId) -> [Variant; 2] {
    let needed = |name: &str| needs.iter().any(|need| need.as_str() == name);
    let without = variant(manifest, commit, false, None, &needed);
    let with = variant(manifest, commit, false, None, &|name| needed(name) || name == own.name.as_str());
    [without, with]
}

/// Without and with the overlay at a commit other than the pin: only it and what it needs.
fn elsewhere(
    manifest: &Manifest,
    own: &Overlay,
    needs: &[OverlayName],
    commit: CommitId,
) -> Option<[Variant; 2]> {
    (commit != manifest.upstream.pin.value).then(|| alone(manifest, own, needs, commit))
}

fn variant(
    manifest: &Manifest,
    commit: CommitId,
    at_pin: bool,
    fault: Option<PathBuf>,
    on: &dyn Fn(&str) -> bool,
) -> Variant {
    Variant { commit, at_pin, fault, overlays: in_order(manifest, on) }
}

fn in_order(manifest: &Manifest, on: &dyn Fn(&str) -> bool) -> Vec<OverlayName> {
    let names = manifest.overlays.iter().map(|overlay| &overlay.name.value);
    names.filter(|name| on(name.as_str())).cloned().collect()
}

fn active<'a>(manifest: &'a Manifest, features: &BTreeSet<Name>) -> BTreeSet<&'a str> {
    manifest.overlays.iter().filter(|o| o.is_on(features)).map(|o| o.name.as_str()).collect()
}

/// The active overlays, with `own` in the place of its active rival if it stands back.
fn active_with<'a>(
    manifest: &'a Manifest,
    features: &BTreeSet<Name>,
    own: &'a Overlay,
) -> Result<BTreeSet<&'a str>, VariantError> {
    let mut on = active(manifest, features);
    if !on.contains(own.name.as_str()) {
        let conditions = own.when.iter().all(|c| features.contains(&c.feature) != c.negated);
        let Some(group) = own.rivals.as_ref().filter(|_| conditions) else {
            return Err(VariantError::Off(own.name.value.clone()));
        };
        let same_group = |other: &&Overlay| other.rivals.as_ref().is_some_and(|g| g.value == group.value);
        // What needs the rival goes with it.
        let rivals: Vec<&str> =
            manifest.overlays.iter().filter(same_group).map(|rival| rival.name.as_str()).collect();
        for name in dependents(manifest, &on, &rivals) {
            on.remove(name);
        }
        on.insert(own.name.as_str());
    }
    Ok(on)
}

/// All that an overlay needs, directly or not, in manifest order, without itself.
fn closure(manifest: &Manifest, own: &Overlay) -> Result<Vec<OverlayName>, VariantError> {
    let mut needed: BTreeSet<&str> = BTreeSet::new();
    let mut open = vec![own];
    while let Some(overlay) = open.pop() {
        for need in &overlay.needs {
            let other = manifest
                .overlay(need.as_str())
                .ok_or_else(|| VariantError::NoSuch(need.as_str().to_owned()))?;
            if needed.insert(other.name.as_str()) {
                open.push(other);
            }
        }
    }
    needed.remove(own.name.as_str());
    Ok(in_order(manifest, &|name| needed.contains(name)))
}

/// `overlays` and all active ones that need any of them, directly or not.
fn dependents<'a>(manifest: &'a Manifest, on: &BTreeSet<&'a str>, overlays: &[&str]) -> BTreeSet<&'a str> {
    let mut out: BTreeSet<&str> = on.iter().copied().filter(|name| overlays.contains(name)).collect();
    loop {
        let more: Vec<&str> = manifest
            .overlays
            .iter()
            .filter(|o| on.contains(o.name.as_str()) && !out.contains(o.name.as_str()))
            .filter(|o| o.needs.iter().any(|need| out.contains(need.as_str())))
            .map(|o| o.name.as_str())
            .collect();
        if more.is_empty() {
            return out;
        }
        out.extend(more);
    }
}

/// A variant, and what to run on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The variant.
    pub variant: Variant,
    /// The tests, each with the seeds of the runs that are wanted, one run a seed.
    pub tests: BTreeMap<Name, Vec<u64>>,
}

impl Variants {
    /// The variant of this place; `None`: the witness is the pin.
    #[must_use]
    pub fn get(&self, which: Which) -> Option<&Variant> {
        match which {
            Which::PinWith => Some(&self.pin_with),
            Which::PinWithout => Some(&self.pin_without),
            Which::WitnessWithout => self.witness.as_ref().map(|[without, _]| without),
            Which::WitnessWith => self.witness.as_ref().map(|[_, with]| with),
        }
    }

    /// What to run next, given what a decision wants: nothing that would not change it. A first call (nothing
    /// is known) gives the two variants of the pin; the witness is asked for only if they do not decide.
    #[must_use]
    pub fn next(&self, wants: &[Want]) -> Vec<Request> {
        let requests = wants.iter().filter_map(|want| {
            let variant = self.get(want.which)?.clone();
            let tests = BTreeMap::from([(want.test.clone(), want.seeds.clone())]);
            Some(Request { variant, tests })
        });
        merge(requests)
    }
}

/// Puts requests for one variant together. A run serves all that want it.
#[must_use]
pub fn merge(requests: impl IntoIterator<Item = Request>) -> Vec<Request> {
    let mut merged: Vec<Request> = Vec::new();
    for request in requests {
        match merged.iter_mut().find(|other| other.variant == request.variant) {
            None => merged.push(request),
            Some(other) => {
                for (test, seeds) in request.tests {
                    union(other.tests.entry(test).or_default(), &seeds);
                }
            }
        }
    }
    merged
}

/// Adds what `have` lacks of `wanted`, each seed as often as one of the two has it.
fn union(have: &mut Vec<u64>, wanted: &[u64]) {
    let count = |list: &[u64], seed: u64| list.iter().filter(|other| **other == seed).count();
    for &seed in wanted {
        if count(have, seed) < count(wanted, seed) {
            have.push(seed);
        }
    }
}

/// Up to this many variants of one commit the best order is searched, above it the nearest one is next.
const EXACT: usize = 10;

/// The order in which `requests` rebuild least: commit by commit (each has one build directory), that of `now`
/// first, and in each the order with the cheapest flips. `now`: what stands in the trees. `cost`: what turning
/// an overlay on or off costs, for example how many objects depend on its files.
#[must_use]
pub fn schedule(requests: Vec<Request>, now: &[Variant], cost: &dyn Fn(&OverlayName) -> u64) -> Vec<Request> {
    let mut commits: Vec<CommitId> = Vec::new();
    for request in &requests {
        if !commits.contains(&request.variant.commit) {
            commits.push(request.variant.commit);
        }
    }
    commits.sort_by_key(|commit| now.iter().position(|v| v.commit == *commit).unwrap_or(now.len()));
    let mut left = merge(requests);
    let mut ordered = Vec::new();
    for commit in commits {
        let (here, rest) = left.into_iter().partition(|r: &Request| r.variant.commit == commit);
        left = rest;
        let start = now.iter().find(|variant| variant.commit == commit);
        ordered.extend(cheapest(here, start, cost));
    }
    ordered
}

/// What it costs to make one variant of the other.
fn distance(a: &Variant, b: &Variant, cost: &dyn Fn(&OverlayName) -> u64) -> u64 {
    let has = |variant: &Variant, name: &OverlayName| variant.overlays.contains(name);
    let one_way = |from: &Variant, to: &Variant| -> u64 {
        from.overlays.iter().filter(|name| !has(to, name)).map(cost).sum()
    };
    one_way(a, b) + one_way(b, a) + u64::from(a.fault != b.fault)
}

fn cheapest(
    mut requests: Vec<Request>,
    start: Option<&Variant>,
    cost: &dyn Fn(&OverlayName) -> u64,
) -> Vec<Request> {
    let n = requests.len();
    let between: Vec<Vec<u64>> = requests
        .iter()
        .map(|a| requests.iter().map(|b| distance(&a.variant, &b.variant, cost)).collect())
        .collect();
    let from_start: Vec<u64> =
        requests.iter().map(|r| start.map_or(0, |start| distance(start, &r.variant, cost))).collect();
    let order =
        if n <= EXACT { best_order(&from_start, &between) } else { near_order(&from_start, &between) };
    let mut slots: Vec<Option<Request>> = requests.drain(..).map(Some).collect();
    order.into_iter().filter_map(|index| slots.get_mut(index).and_then(Option::take)).collect()
}

/// The cheapest path through all, by dynamic programming over sets (Held and Karp).
fn best_order(from_start: &[u64], between: &[Vec<u64>]) -> Vec<usize> {
    let n = from_start.len();
    if n == 0 {
        return Vec::new();
    }
    // best[set][last]: the cheapest way to have been at all of `set`, at `last` at the end; and what was before.
    let mut best = vec![vec![(u64::MAX, usize::MAX); n]; 1 << n];
    for (last, cost) in from_start.iter().enumerate() {
        best[1 << last][last] = (*cost, usize::MAX);
    }
    for set in 1..1usize << n {
        for last in (0..n).filter(|last| set & 1 << last != 0) {
            let (so_far, _) = best[set][last];
            if so_far == u64::MAX {
                continue;
            }
            for next in (0..n).filter(|next| set & 1 << next == 0) {
                let total = so_far.saturating_add(between[last][next]);
                let slot = &mut best[set | 1 << next][next];
                if total < slot.0 {
                    *slot = (total, last);
                }
            }
        }
    }
    let mut set = (1 << n) - 1;
    let mut last = (0..n).min_by_key(|last| best[set][*last].0).unwrap_or(0);
    let mut order = Vec::with_capacity(n);
    while last != usize::MAX {
        order.push(last);
        let (_, before) = best[set][last];
        set &= !(1 << last);
        last = before;
    }
    order.reverse();
    order
}

/// Always the nearest next one.
fn near_order(from_start: &[u64], between: &[Vec<u64>]) -> Vec<usize> {
    let mut left: Vec<usize> = (0..from_start.len()).collect();
    let mut order: Vec<usize> = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let nearest = left.iter().enumerate().min_by_key(|(_, index)| match order.last() {
            Some(last) => between[*last][**index],
            None => from_start[**index],
        });
        let Some((at, _)) = nearest else { break };
        order.push(left.remove(at));
    }
    order
}

#[cfg(test)]
mod tests;
