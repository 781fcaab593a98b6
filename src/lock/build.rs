//! From a manifest and its upstream to a lock.
//!
//! Asks the upstream through a recorder: what an apply asks is what the lock answers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::sets::{self, Group};
use super::stale::inputs;
use super::{Lock, LockedPath, Source};
use crate::id::{BlobId, CommitId, Name, TreeId, UpstreamPath};
use crate::manifest::{Kind, Manifest};
use crate::overlay::{At, Loaded, Resolution, Unwanted, check_needs, resolve, wanted};
use crate::sorted::{SortedMap, SortedSet};
use crate::tree::{Changes, Content, Entry, Listing};
use crate::upstream::{Commit, PathDiff, Touch, Upstream, UpstreamError};

/// A lock and what belongs to it.
#[derive(Debug)]
pub struct Built {
    /// The lock.
    pub lock: Lock,
    /// The contents that overlays of kind `from` need, if they were asked for.
    pub contents: BTreeMap<BlobId, Arc<[u8]>>,
    /// What is not in the lock.
    pub notes: Vec<String>,
}

/// Why there is no lock.
#[derive(Debug)]
pub enum LockError {
    /// The overlays do not fit on the pin.
    Unwanted {
        /// The profile under which they do not; `None`: without any features.
        profile: Option<Name>,
        /// Why.
        why: Unwanted,
    },
    /// The upstream could not be read.
    Upstream(UpstreamError),
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockError::Unwanted { profile: Some(profile), why } => {
                write!(f, "with --profile {profile}: {why}")
            }
            LockError::Unwanted { profile: None, why } => why.fmt(f),
            LockError::Upstream(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LockError {}

impl From<UpstreamError> for LockError {
    fn from(error: UpstreamError) -> Self {
        LockError::Upstream(error)
    }
}

/// What the lock knows of the pin besides paths.
#[derive(Debug, Clone)]
pub struct PinFacts {
    /// The pin's tree.
    pub tree: TreeId,
    /// The declared submodules, with the commits that the tree names; `None`: it names none there.
    pub submodules: SortedMap<UpstreamPath, Option<CommitId>>,
}

/// Makes the lock of a manifest; with `vendor`, also the contents that overlays of kind `from` need.
///
/// # Errors
/// If the upstream cannot be read, or the overlays do not fit with the features of a profile (without profiles:
/// without features).
pub fn build(
    manifest: &Manifest,
    overlays: &[Loaded],
    facts: PinFacts,
    upstream: &dyn Upstream,
    vendor: bool,
) -> Result<Built, LockError> {
    let pin = manifest.upstream.pin.value;
    let recorder = Recorder { upstream, pin, asked: Mutex::default() };
    let mut made = Made::default();
    let mut fingerprints = SortedMap::new();
    let mut choices: Vec<(Option<&Name>, BTreeSet<Name>)> = vec![(None, BTreeSet::new())];
    choices.extend(manifest.profiles.iter().map(|profile| {
        let features = profile.features.iter().map(|feature| feature.value.clone()).collect();
        (Some(&profile.name.value), features)
    }));
    for (profile, features) in choices {
        match wanted(manifest, overlays, &features, &recorder) {
            Ok((wanted, resolution)) => {
                made.add(&resolution, &wanted.changes);
                fingerprints.insert(features, wanted.fingerprint);
            }
            Err(Unwanted::Upstream(error)) => return Err(error.into()),
            // With profiles, nobody need want the tree without features.
            Err(_) if profile.is_none() && !manifest.profiles.is_empty() => {}
            Err(why) => return Err(LockError::Unwanted { profile: profile.cloned(), why }),
        }
    }
    let touched: Vec<_> =
        overlays.iter().map(|loaded| touched(loaded, &recorder)).collect::<Result<_, UpstreamError>>()?;
    let mut notes = Vec::new();
    for group in sets::groups(manifest, overlays, &touched) {
        made.add_group(&group, overlays, &recorder, &mut notes)?;
    }
    let mut locked = inputs(manifest, overlays);
    for (locked, loaded) in locked.iter_mut().zip(overlays) {
        fill(&mut locked.source, loaded, &recorder)?;
    }
    let paths = made.paths(&recorder)?;
    let mut lock = Lock {
        upstream: manifest.upstream.name.value.clone(),
        pin,
        tree: facts.tree,
        submodules: facts.submodules,
        fingerprints,
        overlays: locked,
        paths,
        merges: made
            .merges
            .iter()
            .map(|(key, content)| (*key, content.as_ref().map(Content::entry)))
            .collect(),
        vendored: SortedMap::new(),
    };
    let contents = if vendor { made.contents(&lock, upstream)? } else { BTreeMap::new() };
    lock.vendored = contents.iter().map(|(id, bytes)| (*id, bytes.len() as u64)).collect();
    Ok(Built { lock, contents, notes })
}

/// The paths that an overlay reads or changes at the pin.
fn touched(loaded: &Loaded, upstream: &dyn Upstream) -> Result<BTreeSet<UpstreamPath>, UpstreamError> {
    let mut paths: BTreeSet<UpstreamPath> = loaded.whole_paths().cloned().collect();
    if let Some(patch) = &loaded.patch {
        for file in &patch.files {
            paths.extend(file.old_path().into_iter().chain(file.new_path()).cloned());
        }
    }
    if let Kind::Commits { commits, .. } = &loaded.overlay.kind {
        for commit in commits {
            paths.extend(upstream.diff(commit.value)?.into_iter().map(|change| change.path));
        }
    }
    Ok(paths)
}

/// Puts the ids of what commits have into an overlay's source.
fn fill(source: &mut Source, loaded: &Loaded, upstream: &dyn Upstream) -> Result<(), UpstreamError> {
    match (source, &loaded.overlay.kind) {
        (Source::Commits(locked), _) => {
            for (commit, changes) in locked {
                *changes = upstream.diff(*commit)?;
                changes.sort_by(|a, b| a.path.cmp(&b.path));
            }
        }
        (Source::HeldBack(commit, entries), _) => {
            for (path, entry) in entries.entries_mut() {
                *entry = upstream.entry(*commit, path)?;
            }
        }
        (Source::Files | Source::Patch | Source::Delete(_), _) => {}
    }
    Ok(())
}

/// What came out under the features that were tried.
#[derive(Default)]
struct Made {
    gives: BTreeMap<UpstreamPath, SortedSet<super::Given>>,
    merges: BTreeMap<super::MergeKey, Option<Content>>,
}

impl Made {
    fn add(&mut self, resolution: &Resolution, changes: &Changes) {
        for (path, content) in changes {
            let by = resolution.by.get(path).cloned().unwrap_or_default();
            let given = content.as_ref().map(Content::entry);
            self.gives.entry(path.clone()).or_default().insert((by, given));
        }
        for merge in &resolution.merges {
            self.merges.insert((merge.base, merge.ours, merge.theirs), merge.result.clone());
        }
    }

    fn add_group(
        &mut self,
        group: &Group,
        overlays: &[Loaded],
        recorder: &Recorder<'_>,
        notes: &mut Vec<String>,
    ) -> Result<(), UpstreamError> {
        let names = |members: &[usize]| -> String {
            let names: Vec<&str> = members.iter().map(|index| overlays[*index].name().as_str()).collect();
            names.join(", ")
        };
        let Some(sets) = &group.sets else {
            notes.push(format!(
                "overlays {} ask for more than {} features: only what profiles turn on is in the lock",
                names(&group.members),
                sets::MAX_FEATURES
            ));
            return Ok(());
        };
        for set in sets {
            let on: Vec<&Loaded> = set.iter().map(|index| &overlays[*index]).collect();
            if check_needs(&on).is_err() {
                continue;
            }
            let resolution = resolve(&on, At::Pin(recorder.pin), recorder)?;
            match resolution.refused.first() {
                None => self.add(&resolution, &resolution.changes),
                Some(first) => notes.push(format!("not in the lock: {} together. {first}", names(set))),
            }
        }
        Ok(())
    }

    /// What is known of each path: all that an apply asks for.
    fn paths(&self, recorder: &Recorder<'_>) -> Result<SortedMap<UpstreamPath, LockedPath>, UpstreamError> {
        let mut asked = std::mem::take(&mut *recorder.asked());
        for path in self.gives.keys() {
            if !asked.contains_key(path) {
                asked.insert(path.clone(), recorder.upstream.entry(recorder.pin, path)?);
            }
        }
        // That nothing but a folder is above a path goes without saying.
        let above: BTreeSet<UpstreamPath> = asked
            .keys()
            .flat_map(|path| path.ancestors().filter_map(|above| UpstreamPath::parse(above).ok()))
            .collect();
        let said = |path: &UpstreamPath, entry: &Option<Entry>| {
            entry.is_some() || self.gives.contains_key(path) || !above.contains(path)
        };
        let paths = asked.into_iter().filter(|(path, entry)| said(path, entry)).map(|(path, pin)| {
            let gives = self.gives.get(&path).cloned().unwrap_or_default();
            (path, LockedPath { pin, gives })
        });
        Ok(paths.collect())
    }

    fn contents(
        &self,
        lock: &Lock,
        upstream: &dyn Upstream,
    ) -> Result<BTreeMap<BlobId, Arc<[u8]>>, UpstreamError> {
        let merged: BTreeMap<BlobId, &Content> =
            self.merges.values().flatten().map(|content| (content.entry().id, content)).collect();
        let content = |id: BlobId| match merged.get(&id) {
            Some(content) => Ok((id, content.bytes.clone())),
            None => Ok((id, upstream.blob(id)?)),
        };
        lock.foreign_contents().into_iter().map(content).collect()
    }
}

/// An upstream that remembers what it was asked about the pin.
struct Recorder<'a> {
    upstream: &'a dyn Upstream,
    pin: CommitId,
    asked: Mutex<BTreeMap<UpstreamPath, Option<Entry>>>,
}

impl Recorder<'_> {
    fn asked(&self) -> std::sync::MutexGuard<'_, BTreeMap<UpstreamPath, Option<Entry>>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Upstream for Recorder<'_> {
    fn entry(&self, commit: CommitId, path: &UpstreamPath) -> Result<Option<Entry>, UpstreamError> {
        let entry = self.upstream.entry(commit, path)?;
        if commit == self.pin {
            self.asked().insert(path.clone(), entry);
        }
        Ok(entry)
    }

    fn blob(&self, id: BlobId) -> Result<Arc<[u8]>, UpstreamError> {
        self.upstream.blob(id)
    }

    fn listing(&self, commit: CommitId) -> Result<Listing, UpstreamError> {
        self.upstream.listing(commit)
    }

    fn diff(&self, commit: CommitId) -> Result<Vec<PathDiff>, UpstreamError> {
        self.upstream.diff(commit)
    }

    fn commit(&self, id: CommitId) -> Result<Commit, UpstreamError> {
        self.upstream.commit(id)
    }

    fn is_ancestor(&self, ancestor: CommitId, descendant: CommitId) -> Result<bool, UpstreamError> {
        self.upstream.is_ancestor(ancestor, descendant)
    }

    fn merge_base(&self, a: CommitId, b: CommitId) -> Result<Option<CommitId>, UpstreamError> {
        self.upstream.merge_base(a, b)
    }

    fn history(
        &self,
        tip: CommitId,
        exclude: Option<CommitId>,
        paths: &[UpstreamPath],
    ) -> Result<Vec<Touch>, UpstreamError> {
        self.upstream.history(tip, exclude, paths)
    }
}
