//! Apply and restore from a lock file: no git objects, no network, no git program.
//!
//! Reads the lock that lies beside a manifest, the contents that were vendored with it, and the tree that somebody
//! else filled. Before upstream's bytes are replaced in such a tree, they are kept there.

mod error;
mod vendored;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::no_tree::NoTree;
use super::tree::{self, Event, Options, Origin, Originals, Outcome, TreeError};
use super::workspace::{LoadError, Workspace};
use crate::diagnostic::Diagnostic;
use crate::escape::for_terminal;
use crate::id::{BlobId, Name, UpstreamPath};
use crate::lock::{self, Contents, Lock, LockedUpstream, Stale};
use crate::overlay::{self, Loaded, Resolution, Unwanted};
use crate::plan::Wanted;
use crate::sorted::{SortedMap, SortedSet};
use crate::tree::{Changes, Content, Entry};
use crate::upstream::{Upstream, UpstreamError};

pub use error::LockedError;
pub use vendored::{BadVendored, read_vendored};

/// The lock of a manifest: `manifests/mlx.lock` beside `manifests/mlx.toml`.
#[must_use]
pub fn lock_file(manifest: &Path) -> PathBuf {
    manifest.with_extension("lock")
}

/// The folder of vendored contents: `manifests/mlx.vendored` beside `manifests/mlx.toml`.
#[must_use]
pub fn vendored_folder(manifest: &Path) -> PathBuf {
    manifest.with_extension("vendored")
}

/// Reads the lock of a manifest, which is given relative to `root`; `None` if there is none.
///
/// # Errors
/// If it cannot be read, or something in it is wrong.
pub fn load(root: &Path, manifest: &Path) -> Result<Option<Lock>, LoadError> {
    match load_text(root, manifest)? {
        Some(text) => lock::parse(&lock_file(manifest), &text).map(Some).map_err(LoadError::Manifest),
        None => Ok(None),
    }
}

/// The text of the lock of a manifest; `None` if there is none.
///
/// # Errors
/// If it cannot be read, is too long or no text.
pub fn load_text(root: &Path, manifest: &Path) -> Result<Option<String>, LoadError> {
    let file = lock_file(manifest);
    let path = root.join(&file);
    let io = |error| LoadError::Io { path: path.clone(), error };
    let bad = |message: String| {
        let hint = "write it anew: overlaid lock";
        LoadError::Manifest(vec![Diagnostic::error("bad-lock", message).hint(hint)])
    };
    let size = match std::fs::metadata(&path) {
        Ok(metadata) if metadata.is_file() => metadata.len(),
        Ok(_) => return Err(bad(format!("`{}` is no file", file.display()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    if size > lock::MAX_BYTES as u64 {
        let most = lock::MAX_BYTES;
        return Err(bad(format!("`{}` has {size} bytes; a lock has at most {most}", file.display())));
    }
    let bytes = std::fs::read(&path).map_err(io)?;
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|&&byte| byte == b'\n').count() + 1;
        bad(format!("`{}` line {line}: the lock is not UTF-8", file.display()))
    })
}

/// A tree that somebody else filled, and a lock that knows the pin.
#[derive(Debug)]
pub struct Locked {
    /// The lock file, relative to the repository.
    file: PathBuf,
    lock: Lock,
    contents: TreeContents,
    /// What the pin has at paths that the lock does not name any more.
    known: SortedMap<UpstreamPath, Entry>,
    /// How the manifest moved on since the lock was written, as far as an apply can go on.
    pub stale: Vec<Stale>,
}

impl Locked {
    /// Reads the lock of a manifest for a tree that somebody else filled.
    ///
    /// # Errors
    /// If there is no lock or no tree, the lock is of another pin, or what an earlier run left in the tree cannot
    /// be judged by it.
    pub fn open(workspace: &Workspace, dir: &Path) -> Result<Self, LockedError> {
        let manifest = &workspace.manifest;
        let file = lock_file(&manifest.file);
        let Some(lock) = load(&workspace.root, &manifest.file)? else {
            return Err(LockedError::NoLock { file });
        };
        let stale = lock::stale(&lock, manifest, &workspace.overlays);
        if stale.iter().any(Stale::is_of_another_pin) {
            return Err(LockedError::Stale { file, why: stale });
        }
        if let Some(no_tree) = NoTree::at(dir)? {
            return Err(LockedError::NoTree(no_tree));
        }
        let vendored = lock.vendored.clone();
        let folder = vendored_folder(&manifest.file);
        let originals = Originals::open(dir)?;
        let contents = TreeContents { root: workspace.root.clone(), folder, vendored, originals };
        let mut locked = Self { file, lock, contents, known: SortedMap::new(), stale };
        locked.judge_orphans()?;
        Ok(locked)
    }

    /// Paths that an earlier run wrote and that the lock does not name: overlays that are gone.
    fn judge_orphans(&mut self) -> Result<(), LockedError> {
        let originals = &self.contents.originals;
        let Some(recorded) = originals.recorded()? else { return Ok(()) };
        if recorded.origin == Origin::Made {
            return Err(LockedError::Made { dir: originals.dir().to_owned() });
        }
        let index = self.index()?;
        for (path, written) in recorded.entries {
            if self.lock.paths.contains_key(&path) {
                continue;
            }
            if let Some(entry) = index.get(&path) {
                self.known.extend(entry.map(|entry| (path, entry)));
                continue;
            }
            // Somebody has put something else there since: that is not ours any more, and stays.
            let found = originals.in_tree(&path)?.as_ref().map(Content::entry);
            if found == written {
                let (file, stale) = (self.file.clone(), self.stale.clone());
                return Err(LockedError::Orphan { path, file, stale });
            }
            self.known.extend(found.map(|entry| (path, entry)));
        }
        Ok(())
    }

    /// What the pin has at paths that were overlaid at some time.
    fn index(&self) -> Result<SortedMap<UpstreamPath, Option<Entry>>, LockedError> {
        let originals = &self.contents.originals;
        let Some(text) = originals.index()? else { return Ok(SortedMap::new()) };
        let text = String::from_utf8_lossy(&text);
        // One that is damaged, or of another pin, tells nothing.
        let index =
            lock::parse(&originals.index_file(), &text).ok().filter(|index| index.pin == self.lock.pin);
        let paths = index.map(|index| index.paths).unwrap_or_default();
        Ok(paths.into_iter().map(|(path, locked)| (path, locked.pin)).collect())
    }

    /// The lock.
    #[must_use]
    pub fn lock(&self) -> &Lock {
        &self.lock
    }

    /// The upstream as far as the lock and the tree know it.
    #[must_use]
    pub fn upstream(&self) -> LockedUpstream<'_> {
        LockedUpstream::new(&self.lock, &self.contents).knowing(self.known.clone())
    }

    /// What the manifest asks for under these features.
    ///
    /// # Errors
    /// If the lock does not have what is needed, or the overlays do not fit.
    pub fn wanted(
        &self,
        workspace: &Workspace,
        features: &BTreeSet<Name>,
    ) -> Result<(Wanted, Resolution), LockedError> {
        let on: Vec<&Loaded> =
            workspace.overlays.iter().filter(|loaded| loaded.overlay.is_on(features)).collect();
        self.judge_unlocked(&on)?;
        Ok(overlay::wanted(&workspace.manifest, &workspace.overlays, features, &self.upstream())?)
    }

    /// Files that stand where overlays write and that the lock does not name: they may be the upstream's, and only git
    /// objects tell.
    fn judge_unlocked(&self, on: &[&Loaded]) -> Result<(), LockedError> {
        let whole =
            on.iter().flat_map(|loaded| loaded.whole_paths().map(move |path| (path, loaded.files.get(path))));
        let is_known = |path| self.lock.paths.contains_key(path) || self.known.contains_key(path);
        let mut unknown = whole.filter(|(path, _)| !is_known(path)).peekable();
        if unknown.peek().is_none() {
            return Ok(());
        }
        let originals = &self.contents.originals;
        let recorded = originals.recorded()?.map(|recorded| recorded.entries).unwrap_or_default();
        for (path, content) in unknown.filter(|(path, _)| !recorded.contains_key(*path)) {
            let found = originals.in_tree(path)?.as_ref().map(Content::entry);
            if found.is_some() && found != content.map(Content::entry) {
                let what = for_terminal(path.as_bytes());
                return Err(Unwanted::Upstream(UpstreamError::NotLocked { what }).into());
            }
        }
        Ok(())
    }

    /// The pin without overlays, as far as an earlier run changed it.
    ///
    /// # Errors
    /// If upstream's bytes of a path are not there any more.
    pub fn pristine(&self, workspace: &Workspace) -> Result<Wanted, LockedError> {
        let upstream = self.upstream();
        let pin = self.lock.pin;
        let unwanted = |error| LockedError::Unwanted(Unwanted::Upstream(error));
        let listing = upstream.listing(pin).map_err(unwanted)?;
        if let Some(recorded) = self.contents.originals.recorded()? {
            for path in recorded.entries.keys() {
                let Some(entry) = listing.get(path) else { continue };
                let found = self.contents.originals.in_tree(path)?;
                if found.is_none_or(|found| found.entry().id != entry.id) {
                    upstream.blob(entry.id).map_err(unwanted)?;
                }
            }
        }
        let fingerprint = overlay::fingerprint(pin, &BTreeSet::new(), &Changes::new());
        Ok(Wanted::pristine(workspace.manifest.upstream.name.value.clone(), pin, listing, fingerprint))
    }

    /// Makes the tree what is wanted. The pin's bytes of overlaid paths are kept in it first.
    ///
    /// # Errors
    /// If the tree cannot be read or written; it is as it was then.
    pub fn bring(
        &self,
        wanted: &Wanted,
        options: &Options,
        events: &mut dyn FnMut(Event),
    ) -> Result<Outcome, LockedError> {
        let originals = &self.contents.originals;
        let options = Options { adopt: true, ..*options };
        if !options.dry_run && !wanted.changes.is_empty() {
            if !originals.has_home()? {
                // In a folder that is not taken, nothing of ours is left.
                let only_look = Options { dry_run: true, ..options };
                let outcome = tree::bring_to(originals.dir(), wanted, &self.upstream(), &only_look, events)?;
                if let Outcome::Refused(refusals) = outcome {
                    return Ok(Outcome::Refused(refusals));
                }
            }
            self.keep_originals(wanted)?;
        }
        let outcome = tree::bring_to(originals.dir(), wanted, &self.upstream(), &options, events)?;
        if !options.dry_run && matches!(outcome, Outcome::Changed(_)) {
            let pinned = self.lock.paths.values().filter_map(|path| path.pin).map(|entry| entry.id);
            originals.keep_only(&pinned.collect())?;
        }
        Ok(outcome)
    }

    /// Applies the overlays that are on under these features: [`Locked::wanted`], then [`Locked::bring`].
    ///
    /// # Errors
    /// If one of them fails.
    pub fn apply(
        &self,
        workspace: &Workspace,
        features: &BTreeSet<Name>,
        options: &Options,
        events: &mut dyn FnMut(Event),
    ) -> Result<(Wanted, Outcome), LockedError> {
        let (wanted, _) = self.wanted(workspace, features)?;
        let outcome = self.bring(&wanted, options, events)?;
        Ok((wanted, outcome))
    }

    /// Keeps what the tree has of the pin's bytes at paths that overlays change.
    fn keep_originals(&self, wanted: &Wanted) -> Result<(), LockedError> {
        let originals = &self.contents.originals;
        let mut contents: SortedMap<BlobId, Arc<[u8]>> = SortedMap::new();
        for path in wanted.changes.keys() {
            let Some(pin) = self.lock.paths.get(path).and_then(|locked| locked.pin) else { continue };
            if originals.has_kept(pin.id)? {
                continue;
            }
            // One that is not at the pin's bytes is refused later, or was overlaid before.
            if let Some(found) = originals.in_tree(path)?.filter(|found| found.entry().id == pin.id) {
                contents.insert(pin.id, found.bytes);
            }
        }
        let mut index = Lock {
            submodules: SortedMap::new(),
            fingerprints: SortedMap::new(),
            overlays: Vec::new(),
            merges: SortedMap::new(),
            vendored: SortedMap::new(),
            ..self.lock.clone()
        };
        for (path, pin) in self.index()? {
            index.paths.get_or_insert(path, lock::LockedPath { pin, gives: SortedSet::new() });
        }
        let index = lock::render(&index);
        if contents.is_empty() && originals.index()?.is_some_and(|there| there == index.as_bytes()) {
            return Ok(());
        }
        match originals.keep(contents.iter().map(|(id, bytes)| (*id, &bytes[..])), index.as_bytes()) {
            // Nothing is to be replaced, so nothing is lost if a tree that cannot be written has no index.
            Err(TreeError::Io { error, .. })
                if contents.is_empty()
                    && matches!(
                        error.kind(),
                        std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied
                    ) =>
            {
                Ok(())
            }
            kept => Ok(kept?),
        }
    }
}

/// Contents by their id: what was vendored, what was kept in the tree, what stands in it.
#[derive(Debug)]
struct TreeContents {
    root: PathBuf,
    /// The folder of vendored contents, relative to `root`.
    folder: PathBuf,
    vendored: SortedMap<BlobId, u64>,
    originals: Originals,
}

impl Contents for TreeContents {
    fn content(&self, id: BlobId, paths: &[&UpstreamPath]) -> Result<Arc<[u8]>, String> {
        let said = |error: TreeError| error.to_string();
        if let Some(size) = self.vendored.get(&id) {
            return read_vendored(&self.root, &self.folder, id, *size).map_err(|wrong| wrong.to_string());
        }
        if let Some(kept) = self.originals.kept(id).map_err(said)? {
            return Ok(kept.into());
        }
        let mut found = None;
        for path in paths {
            match self.originals.in_tree(path).map_err(said)? {
                Some(content) if content.entry().id == id => return Ok(content.bytes),
                content => found = found.or(Some(content.map(|content| content.entry().id))),
            }
        }
        Err(match found {
            None => "it is not vendored; `overlaid lock --vendor` puts it beside the lock".to_owned(),
            Some(None) => {
                "nothing is there in the tree, and no copy of the pin's was kept; fill the folder anew"
                    .to_owned()
            }
            Some(Some(other)) => {
                format!(
                    "the tree is not at the pin's bytes there (it has blob {}), and no copy of them was kept; fill the \
                     folder anew",
                    other.short()
                )
            }
        })
    }
}
