//! Which removed path went to which added one: each to one, as git decides it (`diffcore-rename`).
//!
//! First the very contents, an added path after the other: to it goes a path of the same file name, else the first one. Then
//! file names that only one path has on either side, if the contents are alike by three quarters. Then what is most alike,
//! the best first; of several that are alike as much, one with the same file name.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::split;
use crate::id::UpstreamPath;
use crate::tree::{Entry, Mode};
use crate::upstream::{Upstream, UpstreamError};

/// A path and what stands there.
pub(super) type Standing<'a> = (&'a UpstreamPath, Entry);

/// The likeness of equal contents.
const SAME: u64 = 60_000;

/// The least likeness of contents that count as moved.
const LEAST: u64 = SAME / 2;

/// The least likeness where only the file name leads there.
const LEAST_BY_NAME: u64 = SAME * 3 / 4;

/// Pairs of contents that are compared. Where there are more, only those of the path that was asked for are.
const MOST_PAIRS: usize = 40_000;

/// Added paths that are kept for comparison, and what is most like each.
const CANDIDATES: usize = 4;

/// The pairs that were found, by places in both lists, with their likeness in percent.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    to: BTreeMap<usize, (usize, u8)>,
    from: BTreeMap<usize, usize>,
}

impl Pairs {
    /// Where a removed path went, by its place.
    pub(super) fn to(&self, removed: usize) -> Option<(usize, u8)> {
        self.to.get(&removed).copied()
    }

    /// Where an added path came from, by its place.
    pub(super) fn from(&self, added: usize) -> Option<(usize, u8)> {
        let removed = *self.from.get(&added)?;
        Some((removed, self.to(removed)?.1))
    }

    fn add(&mut self, removed: usize, added: usize, likeness: u64) {
        let percent = u8::try_from(likeness * 100 / SAME).unwrap_or(100);
        self.to.insert(removed, (added, percent));
        self.from.insert(added, removed);
    }

    fn left(&self, removed: &[Standing<'_>], added: &[Standing<'_>]) -> (Vec<usize>, Vec<usize>) {
        (
            (0..removed.len()).filter(|place| !self.to.contains_key(place)).collect(),
            (0..added.len()).filter(|place| !self.from.contains_key(place)).collect(),
        )
    }
}

/// The pairs whose contents are the same. Both lists are sorted.
pub(super) fn same(removed: &[Standing<'_>], added: &[Standing<'_>]) -> Pairs {
    let mut pairs = Pairs::default();
    let mut by_content: HashMap<Entry, Vec<usize>> = HashMap::new();
    for (place, (_, entry)) in removed.iter().enumerate() {
        by_content.entry(kind(*entry)).or_default().push(place);
    }
    for (place, (path, entry)) in added.iter().enumerate() {
        let Some(sources) = by_content.get_mut(&kind(*entry)) else { continue };
        let named = sources.iter().position(|source| removed[*source].0.file_name() == path.file_name());
        if !sources.is_empty() {
            let source = sources.remove(named.unwrap_or(0));
            pairs.add(source, place, SAME);
        }
    }
    pairs
}

/// An entry without what a file's mode may differ in.
fn kind(entry: Entry) -> Entry {
    match entry.mode {
        Mode::Executable => Entry { mode: Mode::File, ..entry },
        _ => entry,
    }
}

/// All pairs. `asked` is the path for which they are wanted.
///
/// # Errors
/// If a content is not here.
pub(super) fn pairs(
    removed: &[Standing<'_>],
    added: &[Standing<'_>],
    asked: &UpstreamPath,
    upstream: &dyn Upstream,
) -> Result<Pairs, UpstreamError> {
    let mut pairs = same(removed, added);
    let mut contents = Contents { known: HashMap::new(), hasher: RandomState::new(), upstream };
    let (sources, targets) = pairs.left(removed, added);
    for (source, target) in by_name(removed, &sources, added, &targets) {
        let likeness = contents.likeness(removed[source].1, added[target].1)?;
        if likeness >= LEAST_BY_NAME {
            pairs.add(source, target, likeness);
        }
    }
    let (mut sources, mut targets) = pairs.left(removed, added);
    if sources.len() * targets.len() > MOST_PAIRS {
        match sources.iter().any(|source| removed[*source].0 == asked) {
            true => sources.retain(|source| removed[*source].0 == asked),
            false => targets.retain(|target| added[*target].0 == asked),
        }
    }
    let mut found: Vec<(u64, bool, usize, usize)> = Vec::new();
    for target in &targets {
        let mut best: Vec<(u64, bool, usize, usize)> = Vec::new();
        for source in &sources {
            let likeness = contents.likeness(removed[*source].1, added[*target].1)?;
            if likeness >= LEAST {
                let is_named = removed[*source].0.file_name() == added[*target].0.file_name();
                best.push((likeness, is_named, *source, *target));
            }
        }
        best.sort_by_key(|(likeness, is_named, ..)| Reverse((*likeness, *is_named)));
        best.truncate(CANDIDATES);
        found.extend(best);
    }
    found.sort_by_key(|(likeness, is_named, ..)| Reverse((*likeness, *is_named)));
    for (likeness, _, source, target) in found {
        if pairs.to(source).is_none() && !pairs.from.contains_key(&target) {
            pairs.add(source, target, likeness);
        }
    }
    Ok(pairs)
}

/// Paths whose file names no other path has, neither there nor here.
fn by_name(
    removed: &[Standing<'_>],
    sources: &[usize],
    added: &[Standing<'_>],
    targets: &[usize],
) -> Vec<(usize, usize)> {
    let only = |all: &[Standing<'_>], places: &[usize]| {
        let mut names: BTreeMap<Vec<u8>, Option<usize>> = BTreeMap::new();
        for place in places {
            let name = all[*place].0.file_name().to_vec();
            names.entry(name).and_modify(|other| *other = None).or_insert(Some(*place));
        }
        names
    };
    let there = only(added, targets);
    let here = only(removed, sources);
    let both = here.into_iter().filter_map(|(name, source)| Some((source?, (*there.get(&name)?)?)));
    let mut both: Vec<(usize, usize)> = both.collect();
    both.sort_unstable();
    both
}

/// Contents by their pieces, each read once.
struct Contents<'a> {
    known: HashMap<Entry, Arc<Pieces>>,
    hasher: RandomState,
    upstream: &'a dyn Upstream,
}

/// The pieces of a content by their hashes, sorted, with their lengths.
#[derive(Debug)]
struct Pieces {
    size: u64,
    pieces: Vec<(u64, u64)>,
}

impl Contents<'_> {
    fn likeness(&mut self, a: Entry, b: Entry) -> Result<u64, UpstreamError> {
        let is_file = |entry: Entry| matches!(entry.mode, Mode::File | Mode::Executable);
        if !is_file(a) || !is_file(b) {
            return Ok(0);
        }
        let (a, b) = (self.pieces(a)?, self.pieces(b)?);
        let (smaller, larger) = (a.size.min(b.size), a.size.max(b.size));
        if larger == 0 || larger * (SAME - LEAST) < (larger - smaller) * SAME {
            return Ok(0);
        }
        Ok(shared(&a.pieces, &b.pieces) * SAME / larger)
    }

    fn pieces(&mut self, entry: Entry) -> Result<Arc<Pieces>, UpstreamError> {
        if let Some(known) = self.known.get(&entry) {
            return Ok(Arc::clone(known));
        }
        let bytes = self.upstream.blob(entry.id)?;
        let mut pieces: Vec<(u64, u64)> =
            split(&bytes).map(|piece| (self.hasher.hash_one(piece), piece.len() as u64)).collect();
        pieces.sort_unstable();
        let pieces = Arc::new(Pieces { size: bytes.len() as u64, pieces });
        self.known.insert(entry, Arc::clone(&pieces));
        Ok(pieces)
    }
}

/// The bytes of the pieces that both have.
fn shared(mut a: &[(u64, u64)], mut b: &[(u64, u64)]) -> u64 {
    let mut bytes = 0;
    while let (Some(first), Some(second)) = (a.first(), b.first()) {
        match first.cmp(second) {
            std::cmp::Ordering::Less => a = &a[1..],
            std::cmp::Ordering::Greater => b = &b[1..],
            std::cmp::Ordering::Equal => {
                bytes += first.1;
                (a, b) = (&a[1..], &b[1..]);
            }
        }
    }
    bytes
}
