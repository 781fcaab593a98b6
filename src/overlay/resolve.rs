//! What a set of overlays makes of a commit's tree.
//!
//! Whole content comes first, then patches and cherry-picks in the order of the manifest, each on what
//! the ones before left. At the pin, whole content stands as it is. At another commit it is merged with
//! what upstream has there, with the overlay's base as the common ancestor.

use crate::id::{CommitId, OverlayName, UpstreamPath};
use crate::manifest::Kind;
use crate::merge::{Labels, Merged, Style, merge};
use crate::sorted::SortedMap;
use crate::tree::{Changes, Content, Entry, Mode};
use crate::upstream::{PathDiff, Upstream, UpstreamError};

use super::Loaded;
use super::diff::{self, Applied, Offset};
#[cfg(feature = "git")]
#[cfg(feature = "git")]
pub use apart::{Apart, Misfit, resolve_apart};

#[cfg(feature = "git")]
#[cfg(feature = "git")]
mod apart;

/// The commit that overlays go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The pin: whole content replaces what is there.
    Pin(CommitId),
    /// Another commit: whole content is merged with what is there.
    Other(CommitId),
}

impl At {
    /// The commit.
    #[must_use]
    pub fn commit(self) -> CommitId {
        match self {
            At::Pin(commit) | At::Other(commit) => commit,
        }
    }
}

/// What came out.
#[derive(Debug, Default)]
pub struct Resolution {
    /// The content of each path that an overlay concerns. Not to be used if something was refused.
    pub changes: Changes,
    /// The overlays that made each of them, in the order in which they did.
    pub by: SortedMap<UpstreamPath, Vec<OverlayName>>,
    /// Hunks of patches that apply at other lines than they say.
    pub offsets: Vec<(OverlayName, Offset)>,
    /// Merges of cherry-picks in which both sides differ from the base: what a lock records.
    pub merges: Vec<MadeMerge>,
    /// What could not be done.
    pub refused: Vec<Refusal>,
}

/// A merge that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeMerge {
    /// What the commit changes.
    pub base: Option<Entry>,
    /// What stood there.
    pub ours: Option<Entry>,
    /// What the commit makes of it.
    pub theirs: Option<Entry>,
    /// What came out.
    pub result: Option<Content>,
}

/// An overlay that cannot be put on a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The overlay.
    pub overlay: OverlayName,
    /// The path.
    pub path: Option<UpstreamPath>,
    /// The line of the patch file that does not apply.
    pub patch_line: Option<usize>,
    /// A sentence.
    pub why: String,
    /// The submodule that the path lies in, if that is why: it was not declared.
    pub undeclared: Option<UpstreamPath>,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "overlay `{}`", self.overlay)?;
        if let Some(path) = &self.path {
            write!(f, ", {path}")?;
        }
        if let Some(line) = self.patch_line {
            write!(f, " (line {line} of the patch)")?;
        }
        write!(f, ": {}", self.why)
    }
}

/// The content of a path at a commit; `None` if nothing stands there.
///
/// # Errors
/// If the upstream cannot be read. A submodule has no content and is an error.
pub fn content_at(
    upstream: &dyn Upstream,
    commit: CommitId,
    path: &UpstreamPath,
) -> Result<Option<Content>, UpstreamError> {
    let Some(entry) = upstream.entry(commit, path)? else {
        return match submodule_above(upstream, commit, path)? {
            Some(submodule) => Err(UpstreamError::InSubmodule { path: path.clone(), submodule }),
            None => Ok(None),
        };
    };
    if entry.mode == Mode::Submodule {
        return Err(UpstreamError::InSubmodule { path: path.clone(), submodule: path.clone() });
    }
    Ok(Some(Content { mode: entry.mode, bytes: upstream.blob(entry.id)? }))
}

/// The submodule that a path lies in, if one.
fn submodule_above(
    upstream: &dyn Upstream,
    commit: CommitId,
    path: &UpstreamPath,
) -> Result<Option<UpstreamPath>, UpstreamError> {
    for ancestor in path.ancestors() {
        if let Ok(ancestor) = UpstreamPath::parse(ancestor)
            && upstream.entry(commit, &ancestor)?.is_some_and(|entry| entry.mode == Mode::Submodule)
        {
            return Ok(Some(ancestor));
        }
    }
    Ok(None)
}

/// Puts overlays on a commit's tree.
///
/// # Errors
/// If the upstream cannot be read. A patch that does not apply is no error: see [`Resolution::refused`].
pub fn resolve(overlays: &[&Loaded], at: At, upstream: &dyn Upstream) -> Result<Resolution, UpstreamError> {
    let mut state = State { at, upstream, resolution: Resolution::default() };
    let (whole, deltas): (Vec<&Loaded>, Vec<&Loaded>) =
        overlays.iter().partition(|loaded| loaded.overlay.kind.is_whole());
    for loaded in whole.into_iter().chain(deltas) {
        match state.add(loaded) {
            Err(UpstreamError::InSubmodule { path, submodule }) => state.resolution.refused.push(Refusal {
                overlay: loaded.name().clone(),
                path: Some(path),
                patch_line: None,
                why: format!(
                    "it lies in the submodule {submodule}, which the manifest does not declare with \
                     [[upstream.submodule]]"
                ),
                undeclared: Some(submodule),
            }),
            added => added?,
        }
    }
    Ok(state.resolution)
}

struct State<'a> {
    at: At,
    upstream: &'a dyn Upstream,
    resolution: Resolution,
}

impl State<'_> {
    fn add(&mut self, loaded: &Loaded) -> Result<(), UpstreamError> {
        match &loaded.overlay.kind {
            Kind::Files(_) => {
                for (path, content) in &loaded.files {
                    self.add_whole(loaded, path, Some(content.clone()))?;
                }
            }
            Kind::HeldBack { commit, paths, .. } => {
                for path in paths {
                    let content = content_at(self.upstream, commit.value, path)?;
                    self.add_whole(loaded, path, content)?;
                }
            }
            // Wherever the path still is, the wish is that it is not.
            Kind::Delete(paths) => {
                for path in paths {
                    self.set(loaded, path, None);
                }
            }
            Kind::Patch(_) => {
                if let Some(patch) = &loaded.patch {
                    self.add_patch(loaded, patch)?;
                }
            }
            Kind::Commits { commits, .. } => {
                for commit in commits {
                    self.cherry_pick(loaded, commit.value)?;
                }
            }
        }
        Ok(())
    }

    /// What stands at a path by now.
    fn current(&self, path: &UpstreamPath) -> Result<Option<Content>, UpstreamError> {
        match self.resolution.changes.get(path) {
            Some(content) => Ok(content.clone()),
            None => content_at(self.upstream, self.at.commit(), path),
        }
    }

    fn set(&mut self, loaded: &Loaded, path: &UpstreamPath, content: Option<Content>) {
        self.resolution.changes.insert(path.clone(), content);
        let by = self.resolution.by.get_or_insert(path.clone(), Vec::new());
        if by.last() != Some(loaded.name()) {
            by.push(loaded.name().clone());
        }
    }

    fn refuse(&mut self, loaded: &Loaded, path: Option<&UpstreamPath>, why: String) {
        self.resolution.refused.push(Refusal {
            overlay: loaded.name().clone(),
            path: path.cloned(),
            patch_line: None,
            why,
            undeclared: None,
        });
    }

    fn add_whole(
        &mut self,
        loaded: &Loaded,
        path: &UpstreamPath,
        content: Option<Content>,
    ) -> Result<(), UpstreamError> {
        let At::Other(commit) = self.at else {
            if let Some(submodule) = submodule_above(self.upstream, self.at.commit(), path)? {
                return Err(UpstreamError::InSubmodule { path: path.clone(), submodule });
            }
            self.set(loaded, path, content);
            return Ok(());
        };
        let Some(base) = &loaded.overlay.base else {
            let why = format!("it has no `base`, so it cannot be moved to commit {commit}");
            self.refuse(loaded, Some(path), why);
            return Ok(());
        };
        let base = content_at(self.upstream, base.value, path)?;
        self.merge_in(loaded, path, base.as_ref(), content.as_ref()).map(drop)
    }

    /// Brings the change base..theirs to what stands at the path. Says whether it fits.
    fn merge_in(
        &mut self,
        loaded: &Loaded,
        path: &UpstreamPath,
        base: Option<&Content>,
        theirs: Option<&Content>,
    ) -> Result<bool, UpstreamError> {
        let current = self.current(path)?;
        let labels = Labels { base: "base", ours: "upstream", theirs: loaded.name().as_str() };
        match merge(base, current.as_ref(), theirs, Style::Merge, labels) {
            Merged::Clean(content) => {
                self.set(loaded, path, content);
                Ok(true)
            }
            Merged::Conflict(conflict) => {
                self.refuse(loaded, Some(path), conflict.to_string());
                Ok(false)
            }
        }
    }

    fn add_patch(&mut self, loaded: &Loaded, patch: &diff::Patch) -> Result<(), UpstreamError> {
        match diff::apply(patch, &|path: &UpstreamPath| self.current(path))? {
            Applied::Applied { changes, offsets, .. } => {
                for (path, content) in changes {
                    self.set(loaded, &path, content);
                }
                let name = loaded.name();
                self.resolution.offsets.extend(offsets.into_iter().map(|offset| (name.clone(), offset)));
            }
            Applied::Refused(rejections) => {
                if !self.move_patch(loaded, patch)? {
                    self.resolution.refused.extend(rejections.into_iter().map(|rejection| Refusal {
                        overlay: loaded.name().clone(),
                        path: Some(rejection.path.clone()),
                        patch_line: Some(rejection.patch_line),
                        why: rejection.why.to_string(),
                        undeclared: None,
                    }));
                }
            }
        }
        Ok(())
    }

    /// At another commit than the pin: a patch that does not apply there may still merge, when it
    /// applies at its base. Says whether it could be done.
    fn move_patch(&mut self, loaded: &Loaded, patch: &diff::Patch) -> Result<bool, UpstreamError> {
        let (At::Other(_), Some(base)) = (self.at, &loaded.overlay.base) else {
            return Ok(false);
        };
        let at_base = |path: &UpstreamPath| content_at(self.upstream, base.value, path);
        let Applied::Applied { changes, .. } = diff::apply(patch, &at_base)? else {
            return Ok(false);
        };
        let refused_before = self.resolution.refused.len();
        for (path, theirs) in &changes {
            let base = content_at(self.upstream, base.value, path)?;
            self.merge_in(loaded, path, base.as_ref(), theirs.as_ref())?;
        }
        let merged = self.resolution.refused.len() == refused_before;
        self.resolution.refused.truncate(refused_before);
        Ok(merged)
    }

    fn cherry_pick(&mut self, loaded: &Loaded, commit: CommitId) -> Result<(), UpstreamError> {
        for change in self.changes_of(loaded, commit)? {
            self.pick_path(loaded, &change)?;
        }
        Ok(())
    }

    /// What a commit changes; nothing for a merge, which is refused.
    fn changes_of(&mut self, loaded: &Loaded, commit: CommitId) -> Result<Vec<PathDiff>, UpstreamError> {
        if self.upstream.commit(commit)?.parents.len() > 1 {
            let why = format!("commit {commit} is a merge; name the commits that it brings instead");
            self.refuse(loaded, None, why);
            return Ok(Vec::new());
        }
        let changes = self.upstream.diff(commit)?;
        for change in &changes {
            if [change.before, change.after].iter().flatten().any(|entry| entry.mode == Mode::Submodule) {
                return Err(UpstreamError::Unreadable {
                    what: format!("{} at {commit}", change.path),
                    why: "the commit moves a submodule, which an overlay cannot do".to_owned(),
                });
            }
        }
        Ok(changes)
    }

    /// Brings a commit's change to what stands at its path. Contents that the answer does not need are not read:
    /// a lock may not have them.
    fn pick_path(&mut self, loaded: &Loaded, change: &PathDiff) -> Result<(), UpstreamError> {
        let PathDiff { path, before, after } = change;
        let current = self.current(path)?;
        let now = current.as_ref().map(Content::entry);
        if now == *after || before == after {
            self.set(loaded, path, current);
            return Ok(());
        }
        let known =
            if now == *before { Some(*after) } else { self.upstream.known_merge(*before, now, *after) };
        if let Some(known) = known {
            let content = self.read(known)?;
            self.set(loaded, path, content);
            return Ok(());
        }
        let (base, theirs) = (self.read(*before)?, self.read(*after)?);
        if self.merge_in(loaded, path, base.as_ref(), theirs.as_ref())? {
            let result = self.resolution.changes.get(path).cloned().flatten();
            self.resolution.merges.push(MadeMerge { base: *before, ours: now, theirs: *after, result });
        }
        Ok(())
    }

    fn read(&self, entry: Option<Entry>) -> Result<Option<Content>, UpstreamError> {
        let content = |entry: Entry| Ok(Content { mode: entry.mode, bytes: self.upstream.blob(entry.id)? });
        entry.map(content).transpose()
    }
}
