//! Objects by name: commits, trees and blobs as bytes, and the little that has to be understood of them.
//!
//! Reads the real objects: replace refs and grafts are not followed, since a pin must mean the same on every
//! machine. Never asks a remote for an object that is not here, and never writes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use bstr::{BStr, ByteSlice};
use gix::objs::{Find, Kind};

use super::places::Places;
use super::reftable;
use super::walk::Lineage;
use crate::tree::Mode;
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
}

/// The objects of one repository and of those that it borrows from.
pub(super) struct Objects {
    repository: gix::ThreadSafeRepository,
    /// Handles that nobody uses right now, with their warm caches.
    idle: Mutex<Vec<gix::OdbHandle>>,
    graph: Option<gix::commitgraph::Graph>,
    /// Headers that are not in the commit-graph; decoding them again for each question would dominate.
    headers: RwLock<ById<Oid, Arc<Header>>>,
    shallow: bool,
    partial: bool,
    places: OnceLock<Places>,
    /// Names that git read, or why it could not.
    table: OnceLock<Option<Result<reftable::Names, String>>>,
    /// The last walk: who reaches what.
    pub lineage: Mutex<Option<Arc<Lineage>>>,
}

/// A handle on the objects for one thread.
pub(super) struct Reader<'a> {
    objects: &'a Objects,
    handle: gix::OdbHandle,
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
            shallow,
            partial,
            places: OnceLock::new(),
            table: OnceLock::new(),
            lineage: Mutex::default(),
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
        let handle = idle.unwrap_or_else(|| {
            let mut handle = self.repository.to_thread_local().objects;
            handle.set_pack_cache(|| {
                Box::new(gix::odb::pack::cache::lru::MemoryCappedHashmap::new(PACK_CACHE))
            });
            handle
        });
        let mut reader = Reader { objects: self, handle, buffer: Vec::new() };
        let answer = question(&mut reader);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(reader.handle);
        answer
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
        });
        let mut headers = objects.headers.write().unwrap_or_else(PoisonError::into_inner);
        headers.insert(*id, Arc::clone(&header));
        Ok(Some(header))
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

/// The header as the commit-graph has it; `None` if it does not have the commit, or no generation for it.
///
/// The file is somebody else's: a position out of range or a parent that is no older are errors.
fn header_in_graph(graph: &gix::commitgraph::Graph, id: &Oid) -> Option<Result<Header, UpstreamError>> {
    let commit = graph.commit_by_id(gix::ObjectId::from(*id))?;
    let level = commit.generation();
    if level == 0 || level == NO_LEVEL {
        return None;
    }
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
    Some(Ok(Header { tree: *tree, parents, committed, level }))
}

/// The parts of a commit object that matter here.
pub(super) struct ParsedCommit<'a> {
    pub tree: Oid,
    pub parents: Vec<Oid>,
    pub authored: i64,
    pub committed: i64,
    pub subject: &'a BStr,
}

/// Reads a commit object. Dates that cannot be read are 0, as git takes them; a tree or a parent is needed.
pub(super) fn parse_commit(data: &[u8]) -> Result<ParsedCommit<'_>, &'static str> {
    let (head, message) = match data.find("\n\n") {
        Some(end) => (&data[..end], &data[end + 2..]),
        None => (data, &data[..0]),
    };
    let mut lines = head.lines();
    let tree = lines.next().and_then(|line| line.strip_prefix(b"tree ")).and_then(unhex);
    let tree = tree.ok_or("it does not start with a tree")?;
    let mut commit =
        ParsedCommit { tree, parents: Vec::new(), authored: 0, committed: 0, subject: BStr::new("") };
    for line in lines {
        if let Some(parent) = line.strip_prefix(b"parent ") {
            commit.parents.push(unhex(parent).ok_or("a parent is not a commit id")?);
        } else if let Some(author) = line.strip_prefix(b"author ") {
            commit.authored = seconds(author);
        } else if let Some(committer) = line.strip_prefix(b"committer ") {
            commit.committed = seconds(committer);
            // What follows are headers such as `gpgsig`, whose lines are the committer's to choose.
            break;
        }
    }
    commit.subject =
        message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim_end().as_bstr();
    Ok(commit)
}

/// The seconds in `name <mail> seconds zone`.
fn seconds(signature: &[u8]) -> i64 {
    let after = signature.rfind_byte(b'>').map_or(&signature[..0], |end| &signature[end + 1..]);
    let digits = after.fields().next().unwrap_or_default();
    digits.to_str().ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// One line of a tree object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TreeLine<'a> {
    pub name: &'a BStr,
    pub what: Found,
}

/// What a name in a tree stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// A folder.
    Folder(Oid),
    /// Anything else.
    Entry(Mode, Oid),
}

/// The lines of a tree object, in git's order. An error is the last item.
pub(super) fn parse_tree(mut data: &[u8]) -> impl Iterator<Item = Result<TreeLine<'_>, &'static str>> {
    std::iter::from_fn(move || {
        if data.is_empty() {
            return None;
        }
        let line = parse_tree_line(data);
        data = line.as_ref().map_or(&[], |(_, rest)| rest);
        Some(line.map(|(line, _)| line))
    })
}

/// The first line of a tree object, and what is behind it.
pub(super) fn parse_tree_line(data: &[u8]) -> Result<(TreeLine<'_>, &[u8]), &'static str> {
    // A history reads tens of millions of lines: no general search and no general number here.
    let digits = data.iter().take(7).position(|&byte| byte == b' ').ok_or("an entry has no mode")?;
    let mut mode = 0_u32;
    for &digit in &data[..digits] {
        if !matches!(digit, b'0'..=b'7') {
            return Err("an entry has a bad mode");
        }
        mode = mode << 3 | u32::from(digit - b'0');
    }
    let rest = &data[digits + 1..];
    let end = rest.find_byte(b'\0').ok_or("an entry has no name")?;
    let (name, rest) = rest.split_at(end);
    let (id, rest) = rest[1..].split_first_chunk().ok_or("an entry has no id")?;
    let what = match mode & 0o170_000 {
        0o040_000 => Found::Folder(*id),
        0o120_000 => Found::Entry(Mode::Symlink, *id),
        0o160_000 => Found::Entry(Mode::Submodule, *id),
        0o100_000 if mode & 0o100 != 0 => Found::Entry(Mode::Executable, *id),
        0o100_000 => Found::Entry(Mode::File, *id),
        _ => return Err("an entry has a bad mode"),
    };
    Ok((TreeLine { name: name.as_bstr(), what }, rest))
}

/// 40 hexadecimal digits.
pub(super) fn hex(id: &Oid) -> String {
    crate::id::BlobId::from_bytes(*id).to_string()
}

fn unhex(text: &[u8]) -> Option<Oid> {
    Some(*crate::id::BlobId::parse(text.to_str().ok()?).ok()?.as_bytes())
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

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "b7c3dd6d27f45b5365b08a840310187dc503f1db";

    #[test]
    fn a_commit_is_read_as_git_writes_it() {
        let text = format!(
            "tree {ID}\nparent {ID}\nparent {ID}\nauthor A > <a@b> 12 +0100\ncommitter B <> -34 +0000\ngpgsig x\n \n parent {ID}\n\nsubject \nmore\n"
        );
        let commit = parse_commit(text.as_bytes()).unwrap();
        assert_eq!(hex(&commit.tree), ID);
        assert_eq!(commit.parents.len(), 2);
        assert_eq!((commit.authored, commit.committed), (12, -34));
        assert_eq!(commit.subject, "subject");
    }

    #[test]
    fn a_commit_without_a_date_or_message_is_still_a_commit() {
        let text = format!("tree {ID}\nauthor A\n");
        let commit = parse_commit(text.as_bytes()).unwrap();
        assert_eq!((commit.authored, commit.committed), (0, 0));
        assert_eq!(commit.subject, "");
    }

    #[test]
    fn a_commit_without_a_tree_is_none() {
        assert!(parse_commit(b"").is_err());
        assert!(parse_commit(b"tree 12\n\n").is_err());
        assert!(parse_commit(format!("tree {ID}\nparent 12\n\n").as_bytes()).is_err());
    }

    #[test]
    fn a_tree_is_read_up_to_its_first_fault() {
        let mut data = b"100664 a\0".to_vec();
        data.extend([1; 20]);
        data.extend(b"40000 b\0");
        data.extend([2; 20]);
        data.extend(b"100644 c\0short");
        let lines: Vec<_> = parse_tree(&data).collect();
        assert_eq!(lines[0], Ok(TreeLine { name: "a".into(), what: Found::Entry(Mode::File, [1; 20]) }));
        assert_eq!(lines[1], Ok(TreeLine { name: "b".into(), what: Found::Folder([2; 20]) }));
        assert!(lines[2].is_err());
        assert_eq!(lines.len(), 3);
    }
}
