//! The store of an upstream: where its objects are, and what they say.
//!
//! [`open()`] finds or fetches the objects; [`Store`] answers from them. Objects are read in this process. The git
//! program is run to ask and to fetch only, into a cache that is ours. A repository that somebody else made is
//! read where it is and never written to. Nothing that an upstream contains is run: no hooks, no filters.

mod add_submodules;
mod ancestry;
mod apart;
mod cache;
mod carried;
mod changed_paths;
mod choices;
#[cfg(feature = "cli")]
mod copy;
mod environment;
mod error;
mod first_parents;
mod git;
mod history;
mod location;
mod names;
mod objects;
mod open;
mod packed_blobs;
mod packed_trees;
mod parsed;
mod places;
mod read_ahead;
mod reftable;
mod remote_refs;
mod submodule_walk;
mod submodules;
mod taken_apart;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bstr::{BStr, BString, ByteSlice};
use gix::objs::Kind;

pub use add_submodules::{SubmoduleError, SubmoduleSpec, add_submodules, submodule_variable};
pub use environment::Environment;
pub use error::{FetchFailure, StoreError};
pub use git::Progress;
pub use names::ResolveError;
use objects::{ById, Objects, Oid, Reader, unreadable};
pub use open::{Need, StoreSpec, open, variable};
use parsed::{Found, parse_commit, parse_tree};
use places::Place;
pub use remote_refs::{Named, Standing, resolve_revision};
use submodules::Module;

use crate::id::{BlobId, CommitId, TreeId, UpstreamPath};
use crate::tree::{Entry, Listing};
use crate::upstream::{Commit, Touch, UpstreamError, Walk, Walked};

/// Listings that are kept: base and pin of a few overlays.
const LISTINGS: usize = 4;

/// Commits that are kept: one is told of many paths.
const COMMITS: usize = 8192;

/// Folders in folders, at most. A tree that is deeper is somebody's attack.
const DEPTH: usize = 1000;

/// The objects of an upstream. Can be asked from several threads at once.
pub struct Store {
    path: PathBuf,
    objects: Objects,
    /// The clone that our cache borrows objects from; it knows the names.
    clone: Option<Objects>,
    /// The submodules that were declared.
    modules: Vec<Module>,
    /// The last listings by their tree, the latest last.
    listings: Mutex<Vec<(Oid, Arc<Listing>)>>,
    /// Commits that were asked for.
    commits: Mutex<ById<Oid, Commit>>,
}

impl Store {
    /// Opens the repository at this path: bare, with a working tree, or a linked worktree. It is only read.
    ///
    /// # Errors
    /// A sentence, if there is no repository at exactly this path, or it cannot be read.
    pub fn at(path: &Path) -> Result<Self, String> {
        Ok(Self {
            path: path.to_owned(),
            objects: Objects::open(path)?,
            clone: None,
            modules: Vec::new(),
            listings: Mutex::default(),
            commits: Mutex::default(),
        })
    }

    /// Takes names from a clone whose objects this repository borrows.
    fn with_names_of(mut self, clone: Store) -> Self {
        if clone.is_shallow() {
            self.objects.set_shallow();
        }
        if clone.objects.is_partial() {
            self.objects.set_partial();
        }
        self.clone = Some(clone.objects);
        self
    }

    /// The repository that is read.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the history is cut off: a clone made with `--depth`.
    #[must_use]
    pub fn is_shallow(&self) -> bool {
        self.objects.is_shallow()
    }

    /// The tree of a commit.
    ///
    /// # Errors
    /// If the commit is not here or cannot be read.
    pub fn tree_of(&self, commit: CommitId) -> Result<TreeId, UpstreamError> {
        let header = self.objects.read(|reader| reader.header(commit.as_bytes()))?;
        Ok(TreeId::from_bytes(header.tree))
    }

    /// Whether this commit is here. Its tree and its parents need not be.
    ///
    /// # Errors
    /// If it cannot be read, or the id is that of something else.
    pub fn has_commit(&self, id: CommitId) -> Result<bool, UpstreamError> {
        self.objects.read(|reader| reader.has_commit(id.as_bytes()))
    }

    /// The commit that a person means by a tag, a branch, `HEAD`, an id or the beginning of one, or by what is counted
    /// from these (`main~2`, `v1^2`); `None` if nothing has that name. In a clone, `main` is what its upstream has
    /// (`origin/main`), not the clone's own branch.
    ///
    /// # Errors
    /// If the name is ambiguous, stands for something else, or the store cannot be read.
    pub fn resolve(&self, rev: &str) -> Result<Option<CommitId>, ResolveError> {
        if let Some(clone) = &self.clone
            && let Some(found) = names::resolve(clone, rev)?
        {
            return Ok(Some(found));
        }
        names::resolve(&self.objects, rev)
    }

    /// The commits of all branches and tags that the store knows, each once.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub fn all_heads(&self) -> Result<Vec<CommitId>, UpstreamError> {
        let mut heads = names::all(&self.objects)?;
        if let Some(clone) = &self.clone {
            heads.extend(names::all(clone)?);
        }
        heads.sort();
        heads.dedup();
        Ok(heads)
    }

    /// The branches of the upstream that the store knows, sorted; none if it has only commits.
    #[must_use]
    pub fn branches(&self) -> Vec<String> {
        names::branches(self.clone.as_ref().unwrap_or(&self.objects))
    }

    /// The upstream's main branch as the store knows it, for example `main`.
    #[must_use]
    pub fn default_branch(&self) -> Option<String> {
        names::default_branch(self.clone.as_ref().unwrap_or(&self.objects))
    }
}

/// The answers of this repository alone, without its submodules.
impl Store {
    fn own_entry(&self, commit: CommitId, path: &UpstreamPath) -> Result<Option<Entry>, UpstreamError> {
        self.objects.read(|reader| {
            let mut found = Found::Folder(reader.header(commit.as_bytes())?.tree);
            for name in path.as_bytes().split_str("/") {
                let Found::Folder(tree) = found else { return Ok(None) };
                match find_in_tree(&tree, reader.tree(&tree)?, name.as_bstr())? {
                    Some(next) => found = next,
                    None => return Ok(None),
                }
            }
            Ok(match found {
                Found::Folder(_) => None,
                Found::Entry(mode, id) => Some(Entry { mode, id: BlobId::from_bytes(id) }),
            })
        })
    }

    fn own_blob(&self, id: BlobId) -> Result<Arc<[u8]>, UpstreamError> {
        self.objects.read(|reader| reader.blob(id.as_bytes()))
    }

    fn own_blobs(&self, ids: &[BlobId]) -> Result<Vec<Arc<[u8]>>, UpstreamError> {
        let places = self.objects.places();
        let place = |(index, id): (usize, &BlobId)| (places.of_object(id.as_bytes()), index);
        let mut order: Vec<(Option<Place>, usize)> = ids.iter().enumerate().map(place).collect();
        order.sort_unstable();
        let mut blobs: Vec<Arc<[u8]>> = vec![Arc::default(); ids.len()];
        self.objects.read(|reader| {
            for (place, index) in order {
                blobs[index] = reader.blob_at(ids[index].as_bytes(), place)?;
            }
            Ok(blobs)
        })
    }

    fn own_listing(&self, commit: CommitId) -> Result<Listing, UpstreamError> {
        let tree = self.objects.read(|reader| reader.header(commit.as_bytes()))?.tree;
        if let Some((_, listing)) = self.known_listings().iter().find(|(id, _)| *id == tree) {
            return Ok(Listing::clone(listing));
        }
        let listing = self.objects.read(|reader| read_listing(reader, tree))?;
        let mut known = self.known_listings();
        if known.len() == LISTINGS {
            known.remove(0);
        }
        known.push((tree, Arc::new(listing.clone())));
        Ok(listing)
    }

    fn own_commit(&self, id: CommitId) -> Result<Commit, UpstreamError> {
        let known = || self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(commit) = known().get(id.as_bytes()) {
            return Ok(commit.clone());
        }
        let commit = self.read_commit(id)?;
        let mut known = known();
        if known.len() == COMMITS {
            known.clear();
        }
        known.insert(*id.as_bytes(), commit.clone());
        Ok(commit)
    }

    fn read_commit(&self, id: CommitId) -> Result<Commit, UpstreamError> {
        self.objects.read(|reader| {
            let commit = parse_commit(reader.commit(id.as_bytes())?)
                .map_err(|why| unreadable(Kind::Commit, id.as_bytes(), why.to_owned()))?;
            Ok(Commit {
                id,
                parents: commit.parents.iter().copied().map(CommitId::from_bytes).collect(),
                subject: commit.subject.to_owned(),
                authored: commit.authored,
                committed: commit.committed,
            })
        })
    }

    fn own_is_ancestor(&self, ancestor: CommitId, descendant: CommitId) -> Result<bool, UpstreamError> {
        self.objects.read(|reader| ancestry::is_ancestor(reader, ancestor.as_bytes(), descendant.as_bytes()))
    }

    fn own_merge_base(&self, a: CommitId, b: CommitId) -> Result<Option<CommitId>, UpstreamError> {
        let base = self.objects.read(|reader| ancestry::merge_base(reader, a.as_bytes(), b.as_bytes()))?;
        Ok(base.map(CommitId::from_bytes))
    }

    fn own_history(
        &self,
        tip: CommitId,
        exclude: Option<CommitId>,
        paths: &[UpstreamPath],
    ) -> Result<Vec<Touch>, UpstreamError> {
        history::touches(&self.objects, tip, exclude, paths)
    }

    fn own_first_parents(
        &self,
        from: CommitId,
        to: CommitId,
        paths: &[UpstreamPath],
    ) -> Result<Option<Vec<crate::upstream::Link>>, UpstreamError> {
        first_parents::line(&self.objects, from, to, paths)
    }

    fn own_walk(&self, question: &Walk<'_>) -> Result<Walked, UpstreamError> {
        walk::walk(&self.objects, question)
    }

    fn own_is_longer_than(&self, heads: &[CommitId], commits: usize) -> Result<bool, UpstreamError> {
        let heads: Vec<Oid> = heads.iter().map(|head| *head.as_bytes()).collect();
        self.objects.read(|reader| ancestry::reach_more_than(reader, &heads, commits))
    }

    fn own_carried(
        &self,
        heads: &[CommitId],
        line: usize,
        paths: &[UpstreamPath],
    ) -> Result<Vec<Touch>, UpstreamError> {
        let heads: Vec<Oid> = heads.iter().map(|head| *head.as_bytes()).collect();
        carried::carried(&self.objects, &heads, line, paths)
    }

    fn own_choices(
        &self,
        tip: CommitId,
        exclude: Option<CommitId>,
        path: &UpstreamPath,
    ) -> Result<Vec<Touch>, UpstreamError> {
        choices::choices(&self.objects, tip, exclude, path)
    }

    fn may_have_own_blob(&self, id: BlobId) -> bool {
        let is_whole = !self.is_shallow() && !self.objects.is_partial();
        !is_whole || self.objects.read(|reader| reader.has(id.as_bytes()))
    }
}

impl Store {
    fn known_listings(&self) -> std::sync::MutexGuard<'_, Vec<(Oid, Arc<Listing>)>> {
        self.listings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn find_in_tree(tree: &Oid, data: &[u8], name: &BStr) -> Result<Option<Found>, UpstreamError> {
    for line in parse_tree(data) {
        let line = line.map_err(|why| unreadable(Kind::Tree, tree, why.to_owned()))?;
        if line.name == name {
            return Ok(Some(line.what));
        }
    }
    Ok(None)
}

/// All entries below a tree. A tree that git would not write (a name with `/`, a name twice) is an error.
fn read_listing(reader: &mut Reader<'_>, top: Oid) -> Result<Listing, UpstreamError> {
    let mut listing = Vec::new();
    let mut folders = vec![(BString::default(), 0, top)];
    while let Some((folder, depth, tree)) = folders.pop() {
        let broken = |why: String| unreadable(Kind::Tree, &tree, why);
        if depth > DEPTH {
            return Err(broken(format!("it is more than {DEPTH} folders deep")));
        }
        let mut names = Vec::new();
        for line in parse_tree(reader.tree(&tree)?) {
            let line = line.map_err(|why| broken(why.to_owned()))?;
            if line.name.contains(&b'/') {
                return Err(broken(format!("it has an entry named {:?}", line.name)));
            }
            let mut path = folder.clone();
            path.extend_from_slice(line.name);
            let safe = UpstreamPath::parse(&path)
                .map_err(|why| UpstreamError::UnsafePath { path: path.clone(), why })?;
            match line.what {
                Found::Entry(mode, id) => listing.push((safe, Entry { mode, id: BlobId::from_bytes(id) })),
                Found::Folder(id) => {
                    path.push(b'/');
                    folders.push((path, depth + 1, id));
                }
            }
            names.push(line.name);
        }
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(broken(format!("it has {:?} twice", twice[0])));
        }
    }
    Ok(listing.into_iter().collect())
}
