//! Objects by name: commits, trees and blobs as bytes.
//!
//! Reads the real objects: replace refs and grafts are not followed, since a pin must mean the same on every
//! machine. Never asks a remote for an object that is not here, and never writes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use gix::objs::{Find, Kind};

use super::changed_paths::ChangedPaths;
use super::choices::Merges;
use super::packed_blobs::PackedBlobs;
use super::parsed::parse_commit;
use super::places::{Place, Places};
use super::walk::Lineage;
use super::{read_ahead, reftable};
use crate::upstream::UpstreamError;

/// The bytes of a SHA-1.
pub(super) type Oid = [u8; 20];

/// A map by ids. These are hashes already; a number of this process keeps anybody from choosing where they go.
pub(super) type ById<K, V> = HashMap<K, V, IdState>;

/// Hashes ids.
#[derive(Clone)]
pub(super) struct IdState(u64);

impl Default for IdState {
    fn default() -> Self {
        Self(std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0))
    }
}

impl std::hash::BuildHasher for IdState {
    type Hasher = IdHasher;

    fn build_hasher(&self) -> IdHasher {
        IdHasher(self.0)
    }
}

/// Mixes words, the first eight bytes of each part.
pub(super) struct IdHasher(u64);

impl std::hash::Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        let word = match bytes.first_chunk() {
            Some(word) => u64::from_le_bytes(*word),
            None => bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        self.write_u64(word);
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// The level of a commit that is not in the commit-graph: above all that are.
pub(super) const NO_LEVEL: u32 = u32::MAX;

/// Bytes of unpacked delta bases that each handle keeps. Without such a cache, history takes three times as long.
const PACK_CACHE: usize = 16 << 20;

/// The largest object that is read, 2 GiB: a repository that is not trusted could otherwise ask for any amount of memory. The
/// default of gix, 16 MiB, is less than some upstreams have.
const LARGEST: &str = "gitoxide.objects.allocLimit=2147483648";

/// What a walk needs of a commit.
#[derive(Debug, Clone)]
pub(super) struct Header {
    pub tree: Oid,
    pub parents: Vec<Oid>,
    pub committed: i64,
    /// The generation number in the commit-graph: greater than that of every parent. [`NO_LEVEL`] outside of it.
    pub level: u32,
    /// Its place in the commit-graph.
    pub place: Option<u32>,
}

impl Header {
    /// The same commit, taken for one with these parents. What a commit-graph says of changed paths is about the real ones.
    pub fn with_parents(&self, parents: Vec<Oid>) -> Self {
        Self { parents, place: None, ..self.clone() }
    }
}

/// The objects of one repository and of those that it borrows from.
pub(super) struct Objects {
    repository: gix::ThreadSafeRepository,
    /// Handles that nobody uses right now, with their warm caches.
    idle: Mutex<Vec<(gix::OdbHandle, PackedBlobs)>>,
    graph: Option<gix::commitgraph::Graph>,
    /// Headers that are not in the commit-graph; decoding them again for each question would dominate.
    headers: RwLock<ById<Oid, Arc<Header>>>,
    /// Those of them that were read before anybody asked.
    pub read_ahead: read_ahead::Seen,
    shallow: bool,
    partial: bool,
    places: OnceLock<Places>,
    changed_paths: OnceLock<Option<ChangedPaths>>,
    /// Names that git read, or why it could not.
    table: OnceLock<Option<Result<reftable::Names, String>>>,
    /// The last walk: who reaches what.
    pub lineage: Mutex<Option<Arc<Lineage>>>,
    /// The merges of the last range.
    pub merges: Mutex<Option<Arc<Merges>>>,
}

/// A handle on the objects for one thread.
pub(super) struct Reader<'a> {
    objects: &'a Objects,
    handle: gix::OdbHandle,
    blobs: PackedBlobs,
    buffer: Vec<u8>,
}

impl Objects {
    /// Opens the repository at exactly this path, or whose `.git` is directly inside.
    ///
    /// # Errors
    /// A sentence, if there is no repository that can be read.
    pub fn open(path: &Path) -> Result<Self, String> {
        // Isolated: no environment, no configuration of the user or the system. Reduced trust: the repository's
        // own configuration is not acted on, whoever owns it.
        let options = gix::open::Options::isolated()
            .with(gix::sec::Trust::Reduced)
            .config_overrides(["core.useReplaceRefs=false", LARGEST]);
        let repository = options.open(path).map_err(|error| sentence(&error))?;
        let local = repository.to_thread_local();
        let shallow = local.is_shallow().map_err(|error| sentence(&error))?;
        // Git does not use the commit-graph of a shallow repository either: it can disagree with what is here.
        // One that cannot be read only costs time.
        let graph = if shallow { None } else { local.commit_graph_if_enabled().ok().flatten() };
        let partial = is_partial(&local);
        Ok(Self {
            repository,
            idle: Mutex::default(),
            graph,
            headers: RwLock::default(),
            read_ahead: read_ahead::Seen::default(),
            shallow,
            partial,
            places: OnceLock::new(),
            changed_paths: OnceLock::new(),
            table: OnceLock::new(),
            lineage: Mutex::default(),
            merges: Mutex::default(),
        })
    }

    /// Whether history is cut off.
    pub fn is_shallow(&self) -> bool {
        self.shallow
    }

    /// Whether objects may be missing that the upstream has: a clone made with `--filter`.
    pub fn is_partial(&self) -> bool {
        self.partial
    }

    /// Takes the repository for one whose history is cut off: it borrows objects from such a one.
    pub fn set_shallow(&mut self) {
        self.shallow = true;
        self.graph = None;
    }

    /// Takes the repository for one that lacks objects: it borrows from such a one.
    pub fn set_partial(&mut self) {
        self.partial = true;
    }

    /// The folder of the objects themselves.
    pub fn objects_dir(&self) -> PathBuf {
        self.repository.objects.path().to_owned()
    }

    /// Where objects lie.
    pub fn places(&self) -> &Places {
        self.places.get_or_init(|| Places::of(&self.objects_dir()))
    }

    /// The commit-graph.
    pub fn graph(&self) -> Option<&gix::commitgraph::Graph> {
        self.graph.as_ref()
    }

    /// In which paths commits can differ from their first parents, where that is known without reading trees.
    pub fn changed_paths(&self) -> Option<&ChangedPaths> {
        let graph = self.graph()?;
        self.changed_paths.get_or_init(|| ChangedPaths::of(&self.objects_dir(), graph)).as_ref()
    }

    /// A repository handle, for names.
    pub fn names(&self) -> gix::Repository {
        self.repository.to_thread_local()
    }

    /// The names of a repository that keeps them in a reftable; `None` for all others.
    ///
    /// # Errors
    /// If git, which reads them, is not there or cannot.
    pub fn table(&self) -> Result<Option<&reftable::Names>, UpstreamError> {
        let read = || {
            let repository = self.names();
            reftable::is_used(&repository).then(|| reftable::read(repository.path()))
        };
        match self.table.get_or_init(read) {
            None => Ok(None),
            Some(Ok(names)) => Ok(Some(names)),
            Some(Err(why)) => Err(UpstreamError::Unreadable {
                what: "the names of branches and tags".to_owned(),
                why: why.clone(),
            }),
        }
    }

    /// Runs a question with a handle of its own, which keeps its caches for the next question.
    pub fn read<T>(&self, question: impl FnOnce(&mut Reader<'_>) -> T) -> T {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let (handle, blobs) = idle.unwrap_or_else(|| {
            let mut handle = self.repository.to_thread_local().objects;
            handle.set_pack_cache(|| {
                Box::new(gix::odb::pack::cache::lru::MemoryCappedHashmap::new(PACK_CACHE))
            });
            (handle, PackedBlobs::default())
        });
        let mut reader = Reader { objects: self, handle, blobs, buffer: Vec::new() };
        let answer = question(&mut reader);
        let idle = (reader.handle, reader.blobs);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(idle);
        answer
    }

    /// Reads the headers of all that these commits reach, where no commit-graph has them.
    pub fn read_ancestors(&self, tips: &[Oid]) {
        if self.graph.is_none() {
            read_ahead::ancestors(self, tips);
        }
    }

    /// The error for an object that is not here.
    pub fn missing(&self, what: &'static str, id: &Oid) -> UpstreamError {
        UpstreamError::Missing { what, id: hex(id), shallow: self.shallow }
    }
}

/// Whether the configuration says that a remote keeps back what was not asked for.
fn is_partial(repository: &gix::Repository) -> bool {
    let config = repository.config_snapshot();
    let config = config.plumbing();
    let says = |section: &str, keys: &[&str]| {
        let sections = config.sections_by_name(section).into_iter().flatten();
        sections.into_iter().any(|section| keys.iter().any(|key| section.contains_value_name(key)))
    };
    says("extensions", &["partialClone"]) || says("remote", &["promisor", "partialCloneFilter"])
}

impl Reader<'_> {
    /// The objects that this reads.
    pub fn objects(&self) -> &Objects {
        self.objects
    }

    /// The kind and the bytes of an object; `None` if it is not here.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn try_any(&mut self, id: &Oid) -> Result<Option<(Kind, &[u8])>, UpstreamError> {
        match self.handle.try_find(&gix::ObjectId::from(*id), &mut self.buffer) {
            Ok(found) => Ok(found.map(|data| (data.kind, data.data))),
            Err(error) => {
                Err(UpstreamError::Unreadable { what: format!("object {}", hex(id)), why: sentence(&error) })
            }
        }
    }

    /// The objects whose ids start with these digits.
    ///
    /// # Errors
    /// If the objects cannot be searched.
    pub fn starting_with(&mut self, digits: &str) -> Result<Vec<Oid>, UpstreamError> {
        let failed = |error: &(dyn std::error::Error + 'static)| UpstreamError::Unreadable {
            what: format!("objects that start with {digits}"),
            why: sentence(error),
        };
        let prefix = gix::hash::Prefix::from_hex_nonempty(digits).map_err(|error| failed(&error))?;
        let mut found = std::collections::HashSet::new();
        self.handle.lookup_prefix(prefix, Some(&mut found)).map_err(|error| failed(&error))?;
        Ok(found.iter().filter_map(|id| id.as_bytes().first_chunk().copied()).collect())
    }

    /// The bytes of an object; `None` if it is not here.
    ///
    /// # Errors
    /// If it cannot be read or is of another kind.
    pub fn try_object(&mut self, kind: Kind, id: &Oid) -> Result<Option<&[u8]>, UpstreamError> {
        match self.handle.try_find(&gix::ObjectId::from(*id), &mut self.buffer) {
            Ok(None) => Ok(None),
            Ok(Some(data)) if data.kind == kind => Ok(Some(data.data)),
            Ok(Some(data)) => Err(unreadable(kind, id, format!("it is a {}", data.kind))),
            Err(error) => Err(unreadable(kind, id, sentence(&error))),
        }
    }

    /// The bytes of a blob.
    ///
    /// # Errors
    /// If it is not here or cannot be read.
    pub fn blob(&mut self, id: &Oid) -> Result<Arc<[u8]>, UpstreamError> {
        let objects = self.objects;
        self.try_object(Kind::Blob, id)?.map(Arc::from).ok_or_else(|| objects.missing("blob", id))
    }

    /// The bytes of a blob that is said to lie there.
    ///
    /// # Errors
    /// If it is not here or cannot be read.
    pub fn blob_at(&mut self, id: &Oid, place: Option<Place>) -> Result<Arc<[u8]>, UpstreamError> {
        match place.and_then(|place| self.blobs.read(self.objects.places(), place)) {
            Some(blob) => Ok(blob),
            None => self.blob(id),
        }
    }

    /// The bytes of a tree.
    ///
    /// # Errors
    /// If it is not here or cannot be read.
    pub fn tree(&mut self, id: &Oid) -> Result<&[u8], UpstreamError> {
        let objects = self.objects;
        self.try_object(Kind::Tree, id)?.ok_or_else(|| objects.missing("tree", id))
    }

    /// The bytes of a commit.
    ///
    /// # Errors
    /// If it is not here or cannot be read.
    pub fn commit(&mut self, id: &Oid) -> Result<&[u8], UpstreamError> {
        let objects = self.objects;
        self.try_object(Kind::Commit, id)?.ok_or_else(|| objects.missing("commit", id))
    }

    /// Whether an object of this name is here.
    pub fn has(&self, id: &Oid) -> bool {
        gix::objs::Exists::exists(&self.handle, &gix::ObjectId::from(*id))
    }

    /// Whether this object is here and a commit.
    ///
    /// # Errors
    /// If it is here and cannot be read, or is of another kind.
    pub fn has_commit(&mut self, id: &Oid) -> Result<bool, UpstreamError> {
        Ok(self.try_object(Kind::Commit, id)?.is_some())
    }

    /// What a walk needs of a commit; `None` if it is not here.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn try_header(&mut self, id: &Oid) -> Result<Option<Arc<Header>>, UpstreamError> {
        let objects = self.objects;
        if let Some(header) = objects.graph.as_ref().and_then(|graph| header_in_graph(graph, id)) {
            return header.map(|header| Some(Arc::new(header)));
        }
        if let Some(header) = objects.headers.read().unwrap_or_else(PoisonError::into_inner).get(id) {
            return Ok(Some(Arc::clone(header)));
        }
        let Some(data) = self.try_object(Kind::Commit, id)? else { return Ok(None) };
        let commit = parse_commit(data).map_err(|why| unreadable(Kind::Commit, id, why.to_owned()))?;
        let header = Arc::new(Header {
            tree: commit.tree,
            parents: commit.parents,
            committed: commit.committed,
            level: NO_LEVEL,
            place: None,
        });
        let mut headers = objects.headers.write().unwrap_or_else(PoisonError::into_inner);
        headers.insert(*id, Arc::clone(&header));
        Ok(Some(header))
    }

    /// The level of a commit alone.
    ///
    /// # Errors
    /// If it is not here or cannot be read.
    pub fn level(&mut self, id: &Oid) -> Result<u32, UpstreamError> {
        match self.objects.graph.as_ref().and_then(|graph| level_in_graph(graph, id)) {
            Some((_, level)) => Ok(level),
            None => Ok(self.header(id)?.level),
        }
    }

    /// What a walk needs of a commit.
    ///
    /// # Errors
    /// If it is not here or cannot be read.
    pub fn header(&mut self, id: &Oid) -> Result<Arc<Header>, UpstreamError> {
        let objects = self.objects;
        self.try_header(id)?.ok_or_else(|| objects.missing("commit", id))
    }
}

/// The place of a commit in the commit-graph, and its level; `None` if it does not have the commit, or no generation for it.
fn level_in_graph(graph: &gix::commitgraph::Graph, id: &Oid) -> Option<(gix::commitgraph::Position, u32)> {
    let place = graph.lookup(gix::ObjectId::from(*id))?;
    let level = graph.commit_at(place).generation();
    (level != 0 && level != NO_LEVEL).then_some((place, level))
}

/// The header as the commit-graph has it; `None` if it does not have the commit, or no generation for it.
///
/// The file is somebody else's: a position out of range or a parent that is no older are errors.
fn header_in_graph(graph: &gix::commitgraph::Graph, id: &Oid) -> Option<Result<Header, UpstreamError>> {
    let (place, level) = level_in_graph(graph, id)?;
    let commit = graph.commit_at(place);
    let broken = |why: &str| UpstreamError::Unreadable {
        what: format!("commit {} in the commit-graph", hex(id)),
        why: format!("{why}; `git commit-graph write --reachable` writes it anew"),
    };
    let mut parents = Vec::with_capacity(1);
    for position in commit.iter_parents() {
        let Ok(position) = position else { return Some(Err(broken("its parents cannot be read"))) };
        if position.0 >= graph.num_commits() {
            return Some(Err(broken("a parent is out of range")));
        }
        let parent = graph.commit_at(position);
        if parent.generation() >= level {
            return Some(Err(broken("a parent is not older than its child")));
        }
        let Some(parent) = parent.id().as_bytes().first_chunk() else {
            return Some(Err(broken("a parent's id is not a SHA-1")));
        };
        parents.push(*parent);
    }
    let Some(tree) = commit.root_tree_id().as_bytes().first_chunk() else {
        return Some(Err(broken("its tree is not a SHA-1")));
    };
    let committed = i64::try_from(commit.committer_timestamp()).unwrap_or(i64::MAX);
    Some(Ok(Header { tree: *tree, parents, committed, level, place: Some(place.0) }))
}

/// 40 hexadecimal digits.
pub(super) fn hex(id: &Oid) -> String {
    crate::id::BlobId::from_bytes(*id).to_string()
}

/// The error for an object that is here and of no use.
pub(super) fn unreadable(kind: Kind, id: &Oid, why: String) -> UpstreamError {
    UpstreamError::Unreadable { what: format!("{kind} {}", hex(id)), why }
}

/// An error and its causes in one line.
pub(super) fn sentence(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}
