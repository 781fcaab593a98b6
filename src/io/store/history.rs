//! Which commits of a range touch which paths.
//!
//! All paths are answered by one pass, level by level: first every commit's top folder, then the folders below
//! that lead to a wanted path. A folder that is the same as in one of the parents holds no touch, since a touch
//! differs from every parent; nothing below it is read. Where a commit-graph says in which paths a commit can differ from
//! its first parent, the others are not looked for. Each folder that differs is read once, in the order in
//! which the objects lie in their packs, by a few threads.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bstr::{BStr, BString, ByteSlice};

use super::ancestry::{self, Member};
use super::changed_paths::Sought;
use super::objects::{ById, IdState, Objects, Oid};
use super::packed_trees::PackedTrees;
use super::parsed::Found;
use super::places::Place;
use super::taken_apart::Names;
use crate::id::{BlobId, CommitId, UpstreamPath};
use crate::tree::Entry;
use crate::upstream::{Touch, UpstreamError};

/// Folders that make another thread worth while.
const FOLDERS_PER_THREAD: usize = 500;

/// How many times a thread goes for more to do: some stretches of a pack take longer than others.
const SHARES_PER_THREAD: usize = 6;

/// The touches of `paths` by the commits that `tip` reaches and `exclude` does not. Commits come as in
/// [`ancestry::range`]; the touches of a commit in the order of `paths`, each path once.
///
/// # Errors
/// If a commit or a folder that matters is not here.
pub(super) fn touches(
    objects: &Objects,
    tip: CommitId,
    exclude: Option<CommitId>,
    paths: &[UpstreamPath],
) -> Result<Vec<Touch>, UpstreamError> {
    let exclude = exclude.as_ref().map(CommitId::as_bytes);
    let members = objects.read(|reader| ancestry::range(reader, tip.as_bytes(), exclude))?;
    let members: Vec<&Member> = members.iter().collect();
    Ok(touches_of(objects, &members, paths)?.into_iter().map(|(_, touch)| touch).collect())
}

/// The touches of `paths` by these commits, each with the place of its commit in the list.
///
/// # Errors
/// If a parent of a commit or a folder that matters is not here.
pub(super) fn touches_of(
    objects: &Objects,
    members: &[&Member],
    paths: &[UpstreamPath],
) -> Result<Vec<(usize, Touch)>, UpstreamError> {
    let folders = folders_of(paths);
    if paths.is_empty() {
        return Ok(Vec::new());
    }

    let candidates = Candidates::of(objects, members, paths, &folders)?;
    let mut questions = objects.read(|reader| {
        let trees: ById<Oid, Oid> = members.iter().map(|member| (member.id, member.header.tree)).collect();
        let mut questions = Vec::with_capacity(members.len());
        for (commit, member) in members.iter().enumerate() {
            if !candidates.is_any_below(commit, 0) {
                continue;
            }
            let mut before = Vec::with_capacity(member.header.parents.len());
            for parent in &member.header.parents {
                before.push(Some(match trees.get(parent) {
                    Some(tree) => *tree,
                    None => reader.header(parent)?.tree,
                }));
            }
            questions.push(Question { commit, folder: 0, now: Some(member.header.tree), before });
        }
        Ok::<_, UpstreamError>(questions)
    })?;

    let mut found = Vec::new();
    loop {
        questions.retain(Question::can_hold_a_touch);
        if questions.is_empty() {
            break;
        }
        let contents = read_folders(objects, &folders, &questions)?;
        questions = answer(&folders, &candidates, &contents, &questions, &mut found);
    }
    found.sort_by_key(|(commit, path, ..)| (*commit, *path));
    let touch = |(commit, path, before, after): Answer| {
        let id = CommitId::from_bytes(members[commit].id);
        (commit, Touch { commit: id, path: paths[path].clone(), before, after })
    };
    Ok(found.into_iter().map(touch).collect())
}

/// A folder that leads to wanted paths.
#[derive(Debug, Default)]
pub(super) struct Folder {
    /// Its wanted names, sorted, and for each the path that ends there (by its place in the list of paths) and the
    /// folder that goes on from there.
    names: Vec<(BString, Option<usize>, Option<usize>)>,
    /// A bit for the mark of each name: nearly all other names of a tree are ruled out by that.
    marks: Marks,
}

#[derive(Debug)]
struct Marks([u64; 64]);

impl Default for Marks {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl Marks {
    /// The word and the bit for a name, from its ends.
    fn place(name: &[u8]) -> (usize, u64) {
        let word = |bytes: Option<&[u8; 8]>| bytes.map(|bytes| u64::from_le_bytes(*bytes));
        let (head, tail) = match (word(name.first_chunk()), word(name.last_chunk())) {
            (Some(head), Some(tail)) => (head, tail),
            _ => (name.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)), 0),
        };
        let mixed = (head ^ tail.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed >> 58) as usize, 1 << (mixed >> 52 & 63))
    }

    fn add(&mut self, name: &[u8]) {
        let (word, bit) = Self::place(name);
        self.0[word] |= bit;
    }

    fn may_have(&self, name: &[u8]) -> bool {
        let (word, bit) = Self::place(name);
        self.0[word] & bit != 0
    }
}

impl Folder {
    /// How many names are wanted.
    pub(super) fn names(&self) -> usize {
        self.names.len()
    }

    /// The place of a wanted name.
    pub(super) fn find(&self, name: &BStr) -> Option<usize> {
        let found = || self.names.binary_search_by(|(known, ..)| known.as_bstr().cmp(name)).ok();
        if self.marks.may_have(name) { found() } else { None }
    }
}

/// The folders that lead to the paths. The first is the top.
pub(super) fn folders_of(paths: &[UpstreamPath]) -> Vec<Folder> {
    let mut order: Vec<usize> = (0..paths.len()).collect();
    order.sort_by(|a, b| paths[*a].cmp(&paths[*b]).then(a.cmp(b)));
    order.dedup_by(|later, earlier| paths[*later] == paths[*earlier]);
    let mut folders = vec![Folder::default()];
    for index in order {
        let mut folder = 0;
        let mut components = paths[index].as_bytes().split_str("/").peekable();
        while let Some(name) = components.next() {
            let next = folders.len();
            let place =
                folders[folder].names.binary_search_by(|(known, ..)| known.as_bstr().cmp(name.as_bstr()));
            let place = place.unwrap_or_else(|place| {
                folders[folder].names.insert(place, (name.into(), None, None));
                folders[folder].marks.add(name);
                place
            });
            let (_, path, below) = &mut folders[folder].names[place];
            if components.peek().is_none() {
                *path = Some(index);
            } else {
                folder = *below.get_or_insert(next);
                if folder == next {
                    folders.push(Folder::default());
                }
            }
        }
    }
    folders
}

/// The paths that commits can touch by the filters of the commit-graph, where there are such: a touch differs from every
/// parent, and so from the first one.
struct Candidates {
    /// Words of bits for each set of paths; 0: there are no filters, and all paths are candidates.
    words: usize,
    of_commits: Vec<u64>,
    below_folders: Vec<u64>,
}

impl Candidates {
    fn of(
        objects: &Objects,
        members: &[&Member],
        paths: &[UpstreamPath],
        folders: &[Folder],
    ) -> Result<Self, UpstreamError> {
        let Some(changed) = objects.changed_paths() else {
            return Ok(Self { words: 0, of_commits: Vec::new(), below_folders: Vec::new() });
        };
        let words = paths.len().div_ceil(64);
        let mut below_folders = vec![0; folders.len() * words];
        // A folder comes before those below it.
        for (number, folder) in folders.iter().enumerate().rev() {
            for (_, path, below) in &folder.names {
                if let Some(path) = path {
                    below_folders[number * words + path / 64] |= 1 << (path % 64);
                }
                for word in 0..below.map_or(0, |_| words) {
                    below_folders[number * words + word] |= below_folders[below.unwrap_or(0) * words + word];
                }
            }
        }
        let sought: Vec<Sought> = paths.iter().map(Sought::new).collect();
        let numbers: Vec<usize> = (0..members.len()).collect();
        let found = Shares::of(&numbers, 1).by_threads(|shares| {
            let mut found: Vec<(usize, usize)> = Vec::new();
            for &commit in std::iter::from_fn(|| shares.take()).flatten() {
                let place = members[commit].header.place;
                let may = |path: &Sought| place.is_none_or(|place| changed.may_change(place, path));
                let candidates = sought.iter().enumerate().filter(|(_, path)| may(path));
                found.extend(candidates.map(|(path, _)| (commit, path)));
            }
            Ok(found)
        })?;
        let mut of_commits = vec![0; members.len() * words];
        for (commit, path) in found.into_iter().flatten() {
            of_commits[commit * words + path / 64] |= 1 << (path % 64);
        }
        Ok(Self { words, of_commits, below_folders })
    }

    fn has(&self, commit: usize, path: usize) -> bool {
        self.words == 0 || self.of_commits[commit * self.words + path / 64] >> (path % 64) & 1 == 1
    }

    fn is_any_below(&self, commit: usize, folder: usize) -> bool {
        let set = |sets: &[u64], number: usize, word: usize| sets[number * self.words + word];
        let mut both = (0..self.words)
            .map(|word| set(&self.of_commits, commit, word) & set(&self.below_folders, folder, word));
        self.words == 0 || both.any(|both| both != 0)
    }
}

/// Does this commit touch something in this folder, and what?
struct Question {
    commit: usize,
    folder: usize,
    now: Option<Oid>,
    before: Vec<Option<Oid>>,
}

impl Question {
    fn can_hold_a_touch(&self) -> bool {
        !self.before.contains(&self.now) && (self.now.is_some() || !self.before.is_empty())
    }

    fn trees(&self) -> impl Iterator<Item = Oid> {
        self.now.into_iter().chain(self.before.iter().copied().flatten())
    }
}

/// Commit and path by their places, what stood there in each parent, what stands there now.
type Answer = (usize, usize, Vec<Option<Entry>>, Option<Entry>);

/// What the wanted names of a folder stand for in one tree, in the order of the names. Trees that agree share it.
type Contents = ById<(usize, Oid), Arc<Names>>;

/// Takes the questions one level down: touches of paths that end here, and questions for the folders below.
fn answer(
    folders: &[Folder],
    candidates: &Candidates,
    contents: &Contents,
    questions: &[Question],
    found: &mut Vec<Answer>,
) -> Vec<Question> {
    let mut below = Vec::new();
    for question in questions {
        let names_of = |tree: Option<Oid>| contents.get(&(question.folder, tree?));
        let at = |names: Option<&Arc<Names>>, name: usize| names?.get(name).copied().flatten();
        let names_now = names_of(question.now);
        let names_before: Vec<_> = question.before.iter().map(|tree| names_of(*tree)).collect();
        // Nearly all commits leave the wanted names of a folder as one of their parents has them.
        let same = |before: &Option<&Arc<Names>>| match (before, names_now) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, now),
            _ => false,
        };
        if names_before.iter().any(same) {
            continue;
        }
        for (name, (_, path, folder)) in folders[question.folder].names.iter().enumerate() {
            let now = at(names_now, name);
            if names_before.iter().any(|names| at(*names, name) == now) {
                continue;
            }
            let before = || names_before.iter().map(|names| at(*names, name));
            if let Some(path) = path.filter(|path| candidates.has(question.commit, *path)) {
                let after = as_entry(now);
                let before: Vec<_> = before().map(as_entry).collect();
                if !before.contains(&after) && (after.is_some() || !before.is_empty()) {
                    found.push((question.commit, path, before, after));
                }
            }
            if let Some(folder) = folder.filter(|folder| candidates.is_any_below(question.commit, *folder)) {
                let before = before().map(as_folder).collect();
                below.push(Question { commit: question.commit, folder, now: as_folder(now), before });
            }
        }
    }
    below
}

fn as_entry(found: Option<Found>) -> Option<Entry> {
    match found? {
        Found::Entry(mode, id) => Some(Entry { mode, id: BlobId::from_bytes(id) }),
        Found::Folder(_) => None,
    }
}

fn as_folder(found: Option<Found>) -> Option<Oid> {
    match found? {
        Found::Folder(id) => Some(id),
        Found::Entry(..) => None,
    }
}

/// A tree to be read: where it lies, as which folder, its id.
type Wanted = (Option<Place>, usize, Oid);

/// Reads each tree that a question names, once.
fn read_folders(
    objects: &Objects,
    folders: &[Folder],
    questions: &[Question],
) -> Result<Contents, UpstreamError> {
    let wanted: HashSet<(usize, Oid), IdState> =
        questions.iter().flat_map(|question| question.trees().map(|tree| (question.folder, tree))).collect();
    let wanted: Vec<(usize, Oid)> = wanted.into_iter().collect();
    let places = objects.places();
    let placed = Shares::of(&wanted, 1).by_threads(|shares| {
        let place = |(folder, tree): &(usize, Oid)| (places.of_object(tree), *folder, *tree);
        Ok(std::iter::from_fn(|| shares.take()).flatten().map(place).collect::<Vec<Wanted>>())
    })?;
    let mut placed = placed.concat();
    placed.sort_unstable();
    let read = Shares::of(&placed, SHARES_PER_THREAD).by_threads(|shares| {
        objects.read(|reader| {
            let mut contents = Contents::default();
            let mut trees = PackedTrees::new(folders, places);
            for (place, folder, tree) in std::iter::from_fn(|| shares.take()).flatten() {
                let read = trees.read(reader, *folder, tree, *place)?;
                contents.insert((*folder, *tree), Arc::clone(&read.names));
            }
            Ok(contents)
        })
    })?;
    let mut contents = Contents::with_capacity_and_hasher(placed.len(), IdState::default());
    read.into_iter().for_each(|read| contents.extend(read));
    Ok(contents)
}

/// Items that threads take share by share, in their order, since one share can take longer than another.
struct Shares<'a, I> {
    items: &'a [I],
    threads: usize,
    size: usize,
    taken: AtomicUsize,
}

impl<'a, I: Sync> Shares<'a, I> {
    fn of(items: &'a [I], shares_per_thread: usize) -> Self {
        let available = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (items.len() / FOLDERS_PER_THREAD).clamp(1, available);
        let size = if threads == 1 { items.len() } else { items.len().div_ceil(threads * shares_per_thread) };
        Self { items, threads, size: size.max(1), taken: AtomicUsize::new(0) }
    }

    /// The next share.
    fn take(&self) -> Option<&'a [I]> {
        let start = self.taken.fetch_add(self.size, Ordering::Relaxed);
        let rest = self.items.get(start..).filter(|rest| !rest.is_empty())?;
        Some(&rest[..self.size.min(rest.len())])
    }

    /// What each thread makes of the shares that it takes.
    fn by_threads<O: Send>(
        &self,
        work: impl Fn(&Self) -> Result<O, UpstreamError> + Sync,
    ) -> Result<Vec<O>, UpstreamError> {
        if self.threads == 1 {
            return Ok(vec![work(self)?]);
        }
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(|| work(self))).collect();
            let stopped = |_| UpstreamError::Unreadable {
                what: "the upstream's folders".to_owned(),
                why: "a thread that read them stopped".to_owned(),
            };
            threads.into_iter().map(|thread| thread.join().map_err(stopped)?).collect()
        })
    }
}
