//! Which commit removed a line, over the touches of a path and the merges that left out one side.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Added;
use crate::id::{CommitId, UpstreamPath};
use crate::tree::{Entry, Mode};
use crate::upstream::{Touch, Upstream, UpstreamError};

/// Where to look: the touches of a path that `tip` reaches and `exclude` does not, the newest first.
#[derive(Debug, Clone, Copy)]
pub(in crate::provenance) struct Past<'a> {
    pub(in crate::provenance) path: &'a UpstreamPath,
    pub(in crate::provenance) touches: &'a [&'a Touch],
    pub(in crate::provenance) tip: CommitId,
    pub(in crate::provenance) exclude: Option<CommitId>,
}

/// Lines and the commit that removed them.
pub(in crate::provenance) type Removal = (CommitId, Vec<Added>);

/// Which of the wanted lines stood in the past, and which commit removed each; the newest commit first. And those that did
/// not stand there. Reads no more bytes of contents than that.
///
/// # Errors
/// If a version is not here.
pub(in crate::provenance) fn removals(
    wanted: Vec<Added>,
    past: Past<'_>,
    mut most_bytes: usize,
    upstream: &dyn Upstream,
) -> Result<(Vec<Removal>, Vec<Added>), UpstreamError> {
    let mut open: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for line in &wanted {
        open.entry(line.text.as_slice()).or_default().push(line.number);
    }
    let mut found: BTreeMap<usize, usize> = BTreeMap::new();
    // Lines of versions that no later touch replaced.
    let mut dropped: HashSet<&[u8]> = HashSet::new();
    let mut seen: HashSet<Entry> = HashSet::new();
    'touches: for (index, touch) in past.touches.iter().enumerate() {
        let before = touch.before.iter().copied().flatten().map(|entry| (entry, true));
        for (entry, is_replaced) in touch.after.map(|entry| (entry, false)).into_iter().chain(before) {
            if open.is_empty() || entry.mode == Mode::Submodule || !seen.insert(entry) {
                continue;
            }
            let bytes = upstream.blob(entry.id)?;
            let Some(left) = most_bytes.checked_sub(bytes.len()) else { break 'touches };
            most_bytes = left;
            if crate::merge::is_binary(&bytes) {
                continue;
            }
            for line in bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii) {
                let Some((text, _)) = open.get_key_value(line) else { continue };
                if is_replaced {
                    let text = *text;
                    let numbers = open.remove(text).into_iter().flatten();
                    found.extend(numbers.map(|number| (number, index)));
                    dropped.remove(text);
                } else {
                    dropped.insert(*text);
                }
            }
        }
    }
    let merged_away = left_out(&dropped, past, most_bytes, upstream)?;
    let by: Vec<Option<(usize, CommitId)>> = wanted
        .iter()
        .map(|line| match found.get(&line.number) {
            Some(index) => Some((*index, past.touches[*index].commit)),
            None => {
                let merge = merged_away.get(line.text.as_slice());
                merge.map(|(place, commit)| (past.touches.len() + place, *commit))
            }
        })
        .collect();
    Ok(by_commit(wanted.into_iter().zip(by)))
}

/// Lines by the commit that removed them, in the order of the commits' places; and those that none removed.
pub(in crate::provenance) fn by_commit(
    lines: impl Iterator<Item = (Added, Option<(usize, CommitId)>)>,
) -> (Vec<Removal>, Vec<Added>) {
    let mut removals: BTreeMap<usize, Removal> = BTreeMap::new();
    let mut left = Vec::new();
    for (line, by) in lines {
        match by {
            Some((place, commit)) => {
                removals.entry(place).or_insert_with(|| (commit, Vec::new())).1.push(line);
            }
            None => left.push(line),
        }
    }
    (removals.into_values().collect(), left)
}

/// The newest merge that left out each of these lines, though a parent had it: its place, and the commit.
///
/// # Errors
/// If a version is not here.
pub(in crate::provenance) fn left_out<'l>(
    lines: &HashSet<&'l [u8]>,
    past: Past<'_>,
    mut most_bytes: usize,
    upstream: &dyn Upstream,
) -> Result<HashMap<&'l [u8], (usize, CommitId)>, UpstreamError> {
    let mut found: HashMap<&'l [u8], (usize, CommitId)> = HashMap::new();
    if lines.is_empty() {
        return Ok(found);
    }
    let mut has: HashMap<Entry, HashSet<&'l [u8]>> = HashMap::new();
    let choices = upstream.choices(past.tip, past.exclude, past.path)?;
    let touches = past.touches.iter().copied().filter(|touch| touch.before.len() > 1);
    for (place, merge) in touches.chain(&choices).enumerate() {
        for entry in merge.before.iter().chain([&merge.after]).copied().flatten() {
            if entry.mode == Mode::Submodule || has.contains_key(&entry) {
                continue;
            }
            let bytes = upstream.blob(entry.id)?;
            let Some(left) = most_bytes.checked_sub(bytes.len()) else { return Ok(found) };
            most_bytes = left;
            let all = bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
            has.insert(entry, all.filter_map(|line| lines.get(line).copied()).collect());
        }
        let of = |entry: &Option<Entry>| entry.and_then(|entry| has.get(&entry));
        for line in merge.before.iter().filter_map(of).flatten() {
            if !of(&merge.after).is_some_and(|after| after.contains(line)) {
                found.entry(*line).or_insert((place, merge.commit));
            }
        }
    }
    Ok(found)
}
