//! What a run read and what it left, so that the next one can tell by `lstat` alone that there is nothing to do.
//!
//! A note is only ever a reason to do nothing. It is written after a run that found the tree right, and it holds
//! what `lstat` said of: the program, every file of ours that the run read and every folder that it listed, the state
//! of the tree, each overlaid path, and in a tree that we made each folder (so that files that came or went are seen).
//! If all of them are the same now, so is the answer. Anything else, also a note that cannot be read, means: look.
//!
//! As in git's index, a file that was changed in the tick in which it was read can be changed once more without
//! its times showing it. So no note is written while something that it names is that young.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use bstr::{BStr, BString, ByteSlice};
use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::folder::{Root, Walker, Way, read_at, split, stat_at};
use super::journal::Pending;
use super::lock::{Lock, Sharing};
use super::state::{self, Header, Origin, Reader, Saved, Stamp, State};
use super::{ATTESTATION_FILE, HOME, LOCK};
use crate::id::{CommitId, UpstreamPath};
use crate::plan::Wanted;
use crate::sha1::sha1;
use crate::sorted::SortedSet;

const VERSION: &[u8] = b"overlaid note 2\n";
/// Longer than a tick of any kernel's clock.
const TICK: i64 = 20_000_000;
/// Below this many paths a second thread costs more than it saves.
const WORTH_A_THREAD: usize = 1000;

/// Files and folders of ours that a run reads, with what `lstat` said before they were read.
#[derive(Debug)]
pub struct Inputs {
    /// Nanoseconds since 1970 at the start of the run.
    start: i64,
    seen: Vec<Seen>,
}

/// A path and what was there; no stamp: nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    path: PathBuf,
    follow: bool,
    stamp: Option<Stamp>,
}

/// What the run before said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The tree's folder, relative to the repository; `None` if the caller named another one.
    pub tree: Option<PathBuf>,
    /// The commit.
    pub commit: CommitId,
    /// The hash of pin, overlay content and features.
    pub fingerprint: String,
    /// How many overlaid paths are right.
    pub right: usize,
    /// What else was said, a line each.
    pub said: Vec<String>,
    /// What was printed instead of a report, where that was asked for.
    pub script: Option<Vec<u8>>,
}

impl Inputs {
    /// Nothing yet. To be made at the start of a run, before anything is read.
    #[must_use]
    pub fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos());
        Self { start: i64::try_from(now).unwrap_or(0), seen: Vec::new() }
    }

    /// A file that is about to be read, or found missing; a link is not followed.
    pub fn read(&mut self, path: &Path) {
        self.add(path, false);
    }

    /// A folder that is about to be listed; a link to one is followed.
    pub fn listed(&mut self, path: &Path) {
        self.add(path, true);
    }

    fn add(&mut self, path: &Path, follow: bool) {
        // What cannot be looked at is noted as absent: the next run sees the same, or looks properly.
        let stamp = stamp_at(rustix::fs::CWD, path, follow).ok().flatten();
        self.seen.push(Seen { path: path.to_owned(), follow, stamp });
    }

    fn is_settled(&self, stamp: &Stamp) -> bool {
        stamp.ctime < self.start - TICK
    }
}

impl Default for Inputs {
    fn default() -> Self {
        Self::new()
    }
}

/// What `look` compares of a tree.
#[derive(Debug, PartialEq, Eq)]
struct TreeSeen {
    state: Stamp,
    attestation: Stamp,
    /// Folders by path, the top first; none in an adopted tree.
    folders: Vec<(BString, Stamp)>,
    /// Overlaid paths; no stamp: nothing is there.
    overlaid: Vec<(UpstreamPath, Option<Stamp>)>,
}

/// Writes a note into `file`, if it is certain enough. Says whether it did; that it could not is no failure.
pub fn write(file: &Path, inputs: &Inputs, dir: &Path, wanted: &Wanted, note: &Note) -> bool {
    let Some(program) = program() else { return false };
    let all_settled = inputs.seen.iter().filter_map(|seen| seen.stamp.as_ref()).all(|s| inputs.is_settled(s));
    if !all_settled {
        return false;
    }
    let Some(tree) = look_at_tree(inputs, dir, wanted) else { return false };
    let mut bytes = VERSION.to_vec();
    push_stamp(&mut bytes, Some(&program));
    push(&mut bytes, note.tree.as_deref().map_or(&[][..], |tree| path_bytes(tree)));
    bytes.extend_from_slice(note.commit.as_bytes());
    push(&mut bytes, note.fingerprint.as_bytes());
    bytes.extend_from_slice(&(note.right as u64).to_le_bytes());
    push_count(&mut bytes, note.said.len());
    note.said.iter().for_each(|line| push(&mut bytes, line.as_bytes()));
    bytes.push(u8::from(note.script.is_some()));
    push(&mut bytes, note.script.as_deref().unwrap_or_default());
    push_count(&mut bytes, inputs.seen.len());
    for seen in &inputs.seen {
        push(&mut bytes, path_bytes(&seen.path));
        bytes.push(u8::from(seen.follow));
        push_stamp(&mut bytes, seen.stamp.as_ref());
    }
    push_stamp(&mut bytes, Some(&tree.state));
    push_stamp(&mut bytes, Some(&tree.attestation));
    push_count(&mut bytes, tree.folders.len());
    for (folder, stamp) in &tree.folders {
        push(&mut bytes, folder);
        push_stamp(&mut bytes, Some(stamp));
    }
    push_count(&mut bytes, tree.overlaid.len());
    for (path, stamp) in &tree.overlaid {
        push(&mut bytes, path.as_bytes());
        push_stamp(&mut bytes, stamp.as_ref());
    }
    let checksum = sha1(&[&bytes]);
    bytes.extend_from_slice(&checksum);
    let draft = file.with_extension(format!("{}.new", std::process::id()));
    let folder = file.parent().map_or(Ok(()), make_room);
    let written =
        folder.and_then(|()| std::fs::write(&draft, &bytes)).and_then(|()| std::fs::rename(&draft, file));
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    written.is_ok()
}

/// Makes the folder for notes, hidden from git. Trees come and go; beyond this many, all notes are forgotten.
fn make_room(folder: &Path) -> std::io::Result<()> {
    const MOST: usize = 200;
    if !folder.is_dir() {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join(".gitignore"), "*\n")?;
    }
    let notes: Vec<_> = std::fs::read_dir(folder)?.filter_map(Result::ok).collect();
    if notes.len() >= MOST {
        let is_note = |note: &&std::fs::DirEntry| note.file_name() != ".gitignore";
        notes.iter().filter(is_note).for_each(|note| drop(std::fs::remove_file(note.path())));
    }
    Ok(())
}

/// The note in `file`, if everything is as it was. `tree`: the folder that the caller named, else the note's, relative
/// to `root`.
#[must_use]
pub fn look(file: &Path, root: &Path, tree: Option<&Path>) -> Option<Note> {
    let bytes = read_at(rustix::fs::CWD, path_bytes(file)).ok()?;
    let (content, checksum) = bytes.split_last_chunk::<20>()?;
    if !content.starts_with(VERSION) || sha1(&[content]) != *checksum {
        return None;
    }
    let mut reader = Reader { bytes: content, at: VERSION.len() };
    if pop_stamp(&mut reader)? != program() {
        return None;
    }
    let folder = to_path(pop(&mut reader)?);
    let dir = match tree {
        Some(tree) => tree.to_owned(),
        None => root.join(&folder),
    };
    let commit = CommitId::from_bytes(reader.take(20)?.try_into().ok()?);
    let fingerprint = String::from_utf8(pop(&mut reader)?.to_vec()).ok()?;
    let right = usize::try_from(reader.u64()?).ok()?;
    let mut said = Vec::new();
    for _ in 0..reader.u32()? {
        said.push(String::from_utf8(pop(&mut reader)?.to_vec()).ok()?);
    }
    let has_script = reader.u8()? == 1;
    let script = pop(&mut reader)?.to_vec();
    (are_inputs_as_they_were(&mut reader)? && is_as_it_was(&mut reader, &dir)?).then_some(Note {
        tree: tree.is_none().then_some(folder),
        commit,
        fingerprint,
        right,
        said,
        script: has_script.then_some(script),
    })
}

/// Whether each file and folder of ours is what it was.
fn are_inputs_as_they_were(reader: &mut Reader<'_>) -> Option<bool> {
    let count = reader.u32()?;
    let inputs: Option<Vec<_>> =
        (0..count).map(|_| Some((pop(reader)?, reader.u8()? == 1, pop_stamp(reader)?))).collect();
    let inputs = inputs?;
    if !inputs.iter().all(|(path, ..)| path.starts_with(b"/")) {
        return None;
    }
    // Most lie in one folder: then the way to it is gone once, and not for each of them.
    let above = inputs.iter().map(|(path, ..)| split(BStr::new(*path)).0).reduce(shared_folder)?;
    let folder = Root::open(&to_path(if above.is_empty() { b"/" } else { above })).ok()?;
    Some(all_in_threads(&inputs, |part| {
        part.iter().all(|(path, follow, stamp)| {
            stamp_at(&folder, &path[above.len() + 1..], *follow).is_ok_and(|now| now == *stamp)
        })
    }))
}

/// The folder that two folders share, both by absolute paths.
fn shared_folder<'b>(a: &'b BStr, b: &'b BStr) -> &'b BStr {
    let mut folder = a;
    let is_above =
        |folder: &BStr| b.strip_prefix(folder.as_bytes()).is_some_and(|rest| matches!(rest, [] | [b'/', ..]));
    while !is_above(folder) {
        folder = split(folder).0;
    }
    folder
}

fn is_as_it_was(reader: &mut Reader<'_>, dir: &Path) -> Option<bool> {
    let root = Root::open(dir).ok()?;
    let home = root.inside(HOME).ok()??;
    for name in [state::FILE, ATTESTATION_FILE] {
        if stamp_at(&home, name, false).ok()? != pop_stamp(reader)? {
            return Some(false);
        }
    }
    // A run that has begun since shows here, or in the state.
    if Pending::is_there(&home).ok()? {
        return Some(false);
    }
    let folders = pop_all(reader)?;
    let is_folder = |(folder, stamp): &(&[u8], Option<Stamp>)| {
        let folder = if folder.is_empty() { b"." } else { *folder };
        stamp_at(&root, folder, false).is_ok_and(|now| now == *stamp)
    };
    if !all_in_threads(&folders, |part| part.iter().all(is_folder)) {
        return Some(false);
    }
    let overlaid = pop_all(reader)?;
    // In a tree of ours, each folder above a file was just seen to be the one that it was, and no link.
    let are_folders_seen = !folders.is_empty();
    Some(all_in_threads(&overlaid, |part| {
        let mut walker = Walker::new(&root);
        part.iter().all(|(path, stamp)| {
            if are_folders_seen && stamp.is_some() {
                return stamp_at(&root, *path, false).is_ok_and(|now| now == *stamp);
            }
            let Ok(path) = UpstreamPath::parse(path) else { return false };
            stamp_of(&mut walker, &path).is_ok_and(|now| now == *stamp)
        })
    }))
}

fn all_in_threads<T: Sync>(items: &[T], all: impl Fn(&[T]) -> bool + Sync) -> bool {
    if items.len() < WORTH_A_THREAD {
        return all(items);
    }
    let (first, second) = items.split_at(items.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| all(second));
        let mine = all(first);
        mine & other.join().unwrap_or(false)
    })
}

/// What the next run will compare; `None` if the tree is not certainly what is wanted.
fn look_at_tree(inputs: &Inputs, dir: &Path, wanted: &Wanted) -> Option<TreeSeen> {
    let root = Root::open(dir).ok()?;
    let top = stamp_at(&root, ".", false).ok()??;
    if !inputs.is_settled(&top) {
        return None;
    }
    let home = root.inside(HOME).ok()??;
    // Whoever has the lock is at work: then there is nothing certain to note.
    let _lock = Lock::try_take(&home, LOCK, Sharing::Shared)?;
    let state_stamp = stamp_at(&home, state::FILE, false).ok()??;
    let attestation = stamp_at(&home, ATTESTATION_FILE, false).ok()??;
    let Saved::Good(state) = State::load(&home).ok()? else { return None };
    if state.header != Header::of(wanted, state.header.origin) || Pending::is_there(&home).ok()? {
        return None;
    }
    let mut folders = vec![(BString::default(), top)];
    if state.header.origin == Origin::Made {
        for folder in folders_of(wanted) {
            let stamp = stamp_at(&root, folder.as_bytes(), false).ok()??;
            if !inputs.is_settled(&stamp) {
                return None;
            }
            folders.push((folder.into(), stamp));
        }
    } else {
        folders.clear();
    }
    let mut overlaid = Vec::with_capacity(wanted.changes.len());
    let mut walker = Walker::new(&root);
    let mut records = state.records();
    let mut record = records.next();
    for (path, change) in &wanted.changes {
        while record.is_some() && records.path() < path.as_bytes().as_bytes() {
            record = records.next();
        }
        let stamp = stamp_of(&mut walker, path).ok()?;
        match (change, &stamp) {
            (None, None) => {}
            (Some(change), Some(stamp)) => {
                let known = record.filter(|_| records.path() == path.as_bytes().as_bytes())?;
                if known.entry != Some(change.entry()) || !state.proves(&known, stamp) {
                    return None;
                }
            }
            _ => return None,
        }
        overlaid.push((path.clone(), stamp));
    }
    Some(TreeSeen { state: state_stamp, attestation, folders, overlaid })
}

/// All folders of a tree but the top, sorted.
fn folders_of(wanted: &Wanted) -> SortedSet<&BStr> {
    let mut folders = SortedSet::new();
    let removed = |path: &UpstreamPath| matches!(wanted.changes.get(path), Some(None));
    let added = wanted.changes.iter().filter(|(_, change)| change.is_some()).map(|(path, _)| path);
    let mut last = BStr::new("");
    for path in wanted.listing.keys().filter(|path| !removed(path)).chain(added) {
        let parent = split(path.as_bytes()).0;
        if parent != last {
            folders.extend(path.ancestors());
            last = parent;
        }
    }
    folders
}

/// What `lstat` says of a path of a tree, reached without following a link; `None` if nothing is there.
fn stamp_of(walker: &mut Walker<'_>, path: &UpstreamPath) -> Result<Option<Stamp>, Errno> {
    match walker.parent(path) {
        Ok((Way::Open(folder), name)) => Ok(stat_at(folder, name)?.map(|stat| Stamp::of(&stat))),
        Ok((Way::Absent, _)) => Ok(None),
        Ok((Way::Behind { .. }, _)) | Err(_) => Err(Errno::NOTDIR),
    }
}

fn stamp_at(folder: impl AsFd, path: impl rustix::path::Arg, follow: bool) -> Result<Option<Stamp>, Errno> {
    let flags = if follow { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
    match rustix::fs::statat(folder, path, flags) {
        Ok(stat) => Ok(Some(Stamp::of(&stat))),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Which program this is: another one may answer otherwise.
fn program() -> Option<Stamp> {
    let program = std::env::current_exe().ok()?;
    stamp_at(rustix::fs::CWD, program.as_path(), true).ok()?
}

fn path_bytes(path: &Path) -> &[u8] {
    std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str())
}

fn to_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes))
}

fn push(bytes: &mut Vec<u8>, text: &[u8]) {
    push_count(bytes, text.len());
    bytes.extend_from_slice(text);
}

fn push_count(bytes: &mut Vec<u8>, count: usize) {
    // More than this many bytes or entries are not written: the reader runs into the end, and looks properly.
    bytes.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

fn push_stamp(bytes: &mut Vec<u8>, stamp: Option<&Stamp>) {
    bytes.push(u8::from(stamp.is_some()));
    let Stamp { size, mtime, ctime, inode, device } = stamp.copied().unwrap_or(Stamp::NONE);
    for field in [size, mtime.cast_unsigned(), ctime.cast_unsigned(), inode, device] {
        bytes.extend_from_slice(&field.to_le_bytes());
    }
}

fn pop<'b>(reader: &mut Reader<'b>) -> Option<&'b [u8]> {
    let length = usize::try_from(reader.u32()?).ok()?;
    reader.take(length)
}

fn pop_stamp(reader: &mut Reader<'_>) -> Option<Option<Stamp>> {
    let is_there = reader.u8()? == 1;
    let stamp = Stamp {
        size: reader.u64()?,
        mtime: reader.u64()?.cast_signed(),
        ctime: reader.u64()?.cast_signed(),
        inode: reader.u64()?,
        device: reader.u64()?,
    };
    Some(is_there.then_some(stamp))
}

type Stamped<'b> = (&'b [u8], Option<Stamp>);

fn pop_all<'b>(reader: &mut Reader<'b>) -> Option<Vec<Stamped<'b>>> {
    let count = reader.u32()?;
    (0..count).map(|_| Some((pop(reader)?, pop_stamp(reader)?))).collect()
}
