//! All contents that a path ever had, under all names that it had.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{CommitId, UpstreamPath};
use crate::provenance::rename;
use crate::tree::{Entry, Mode};
use crate::upstream::{Touch, Upstream, UpstreamError, Walk};

/// A content that the path had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The name of the path then.
    pub path: UpstreamPath,
    /// The content.
    pub entry: Entry,
    /// The commits that brought it, oldest first.
    pub since: Vec<CommitId>,
    /// The commits that replaced or removed it, oldest first.
    pub until: Vec<CommitId>,
}

/// Names that a path may have had, at most.
const MOST_NAMES: usize = 12;

/// The contents of each of these paths, the newest first; one walk for all of them.
///
/// # Errors
/// If the history is not all here.
pub fn versions(
    upstream: &dyn Upstream,
    heads: &[CommitId],
    paths: &BTreeSet<UpstreamPath>,
) -> Result<BTreeMap<UpstreamPath, Vec<Version>>, UpstreamError> {
    // The names of each path, and all contents of each name, oldest first.
    let mut names: BTreeMap<&UpstreamPath, BTreeSet<UpstreamPath>> =
        paths.iter().map(|path| (path, BTreeSet::from([path.clone()]))).collect();
    let mut found: BTreeMap<UpstreamPath, Vec<Version>> = BTreeMap::new();
    let mut others: BTreeMap<UpstreamPath, BTreeSet<UpstreamPath>> = BTreeMap::new();
    loop {
        let all: BTreeSet<&UpstreamPath> = names.values().flatten().collect();
        let open: Vec<UpstreamPath> =
            all.into_iter().filter(|name| !found.contains_key(*name)).cloned().collect();
        if open.is_empty() {
            break;
        }
        for name in &open {
            found.insert(name.clone(), Vec::new());
        }
        let walked = upstream.walk(&Walk { heads, between: &open, common: &open })?;
        for touch in walked.touches.iter().rev().map(|reached| &reached.touch) {
            let versions = found.entry(touch.path.clone()).or_default();
            add(versions, touch);
            let is_new = touch.before.iter().all(Option::is_none);
            let other = match touch.after {
                Some(_) if is_new => rename::came_from(upstream, touch.commit, &touch.path)?,
                None => rename::one_step(upstream, touch.commit, &touch.path)?,
                _ => None,
            };
            if let Some((other, _)) = other {
                others.entry(touch.path.clone()).or_default().insert(other);
            }
        }
        for names in names.values_mut() {
            let more: BTreeSet<UpstreamPath> =
                names.iter().filter_map(|name| others.get(name)).flatten().cloned().collect();
            let room = MOST_NAMES.saturating_sub(names.len());
            let more = more.into_iter().filter(|name| !names.contains(name)).take(room);
            let more: Vec<UpstreamPath> = more.collect();
            names.extend(more);
        }
    }
    let newest_first = |names: &BTreeSet<UpstreamPath>| {
        let versions = names.iter().filter_map(|name| found.get(name)).flatten();
        versions.rev().cloned().collect()
    };
    Ok(names.iter().map(|(path, names)| ((*path).clone(), newest_first(names))).collect())
}

/// Notes what a touch brought and what it replaced.
fn add(versions: &mut Vec<Version>, touch: &Touch) {
    if let Some(entry) = touch.after.filter(|entry| entry.mode != Mode::Submodule) {
        match versions.iter_mut().find(|version| version.entry == entry) {
            Some(version) => version.since.push(touch.commit),
            None => versions.push(Version {
                path: touch.path.clone(),
                entry,
                since: vec![touch.commit],
                until: Vec::new(),
            }),
        }
    }
    for before in touch.before.iter().flatten() {
        if let Some(version) = versions.iter_mut().find(|version| version.entry == *before)
            && version.until.last() != Some(&touch.commit)
        {
            version.until.push(touch.commit);
        }
    }
}
