//! Every file of a tree, and how the tree differs from what is wanted.
//!
//! Changes nothing and trusts nothing: every content is read, unless the caller asks for the recorded state
//! as a cache. Links are not followed, `.overlaid` and a `.git` at the top are not looked at.

use std::collections::BTreeMap;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};

use super::HOME;
use super::cold::wanted_entries;
use super::error::TreeError;
use super::folder::{Root, Way, hash_at, mode_of, names_in, stat_at};
use super::state::{Record, Saved, Stamp, State};
use crate::id::BlobId;
use crate::plan::{Found, Wanted};
use crate::tree::{Entry, Mode};

const THREADS: usize = 2;

/// Whether the recorded state may spare reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// Every content is read.
    Off,
    /// A content is read only if `lstat` differs from what an earlier run recorded.
    State,
}

/// A path that is not as it is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The path, relative to the tree. As it is on disk: it need not be one that git can hold.
    pub path: BString,
    /// What is different.
    pub kind: Kind,
}

/// What is different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Wanted and not there.
    Missing,
    /// There and not wanted.
    Extra,
    /// Other bytes.
    Content {
        /// The id of what is wanted.
        wanted: BlobId,
        /// The id of what is there.
        found: BlobId,
    },
    /// The same bytes with another mode.
    Mode {
        /// The mode that is wanted.
        wanted: Mode,
        /// The mode that is there.
        found: Mode,
    },
    /// Another kind of thing: a link for a file, a folder, a device.
    Type {
        /// The mode that is wanted.
        wanted: Mode,
        /// What is there, in words.
        found: &'static str,
    },
}

/// All that is in a tree but folders: a [`Found::Entry`] or a [`Found::Special`] for each path.
///
/// # Errors
/// If something cannot be read.
pub fn observe_all(dir: &Path, cache: Cache) -> Result<BTreeMap<BString, Found>, TreeError> {
    observe(dir, cache, &|_| false)
}

/// How a tree differs from what is wanted, by path. Every file is read. Empty folders are no differences;
/// neither is what lies in the folder of a submodule, unless paths in it are wanted.
///
/// # Errors
/// If something cannot be read.
pub fn compare(dir: &Path, wanted: &Wanted) -> Result<Vec<Difference>, TreeError> {
    let entries = wanted_entries(wanted);
    let is_opaque = |folder: &BStr| {
        let place = entries.binary_search_by(|(path, _)| path.as_bytes().cmp(folder));
        place.is_ok_and(|at| entries[at].1.mode == Mode::Submodule) && wanted.first_below(folder).is_none()
    };
    let root = Root::open(dir)?;
    let mut found = observe(dir, Cache::Off, &is_opaque)?;
    let mut differences = Vec::new();
    for (path, entry) in &entries {
        let kind = match found.remove(path.as_bytes()) {
            None if entry.mode == Mode::Submodule => None,
            None => Some(missing_kind(dir, path.as_bytes(), *entry)?),
            Some(found) => kind_of(*entry, &found),
        };
        let kind = kind.filter(|kind| !matches!(kind, Kind::Mode { .. }) || root.keeps_execute_bit());
        if let Some(kind) = kind {
            differences.push(Difference { path: path.as_bytes().into(), kind });
        }
    }
    differences.extend(found.into_keys().map(|path| Difference { path, kind: Kind::Extra }));
    differences.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(differences)
}

fn missing_kind(dir: &Path, path: &BStr, wanted: Entry) -> Result<Kind, TreeError> {
    let root = Root::open(dir)?;
    Ok(match root.folder(path)? {
        Way::Open(_) => Kind::Type { wanted: wanted.mode, found: "a folder" },
        Way::Absent | Way::Behind { .. } => Kind::Missing,
    })
}

fn kind_of(wanted: Entry, found: &Found) -> Option<Kind> {
    let other = |found| Some(Kind::Type { wanted: wanted.mode, found });
    match found {
        Found::Entry(found) if *found == wanted => None,
        Found::Entry(found) => match (wanted.mode, found.mode) {
            (Mode::Submodule, Mode::Symlink) | (Mode::File | Mode::Executable, Mode::Symlink) => {
                other("a symbolic link")
            }
            (Mode::Submodule | Mode::Symlink, Mode::File | Mode::Executable) => other("a file"),
            _ if found.id != wanted.id => Some(Kind::Content { wanted: wanted.id, found: found.id }),
            _ => Some(Kind::Mode { wanted: wanted.mode, found: found.mode }),
        },
        Found::Special(kind) => other(kind),
        Found::Absent | Found::Folder | Found::Behind { .. } => Some(Kind::Missing),
    }
}

/// A file that was met, with its stamp; its content is still to be read.
struct Met {
    path: BString,
    mode: Mode,
    stamp: Stamp,
}

fn observe(
    dir: &Path,
    cache: Cache,
    is_opaque: &dyn Fn(&BStr) -> bool,
) -> Result<BTreeMap<BString, Found>, TreeError> {
    let root = Root::open(dir)?;
    let mut walk = Walk { root: &root, is_opaque, met: Vec::new(), found: BTreeMap::new() };
    walk.folder(BStr::new(""))?;
    let Walk { met, mut found, .. } = walk;
    let state = match (cache, root.inside(HOME)?) {
        (Cache::State, Some(home)) => match State::load(&home)? {
            Saved::Good(state) => Some(state),
            Saved::Absent | Saved::Damaged(_) => None,
        },
        _ => None,
    };
    let known = known_contents(state.as_ref());
    let is_known = |met: &Met| {
        let record = known.get(&met.path)?;
        let entry = record.entry.filter(|entry| entry.mode == met.mode)?;
        state.as_ref()?.proves(record, &met.stamp).then_some(entry)
    };
    let read_all = |part: &[Met]| {
        let read = part.iter().map(|met| match is_known(met) {
            Some(entry) => Ok((met.path.clone(), Found::Entry(entry))),
            None => read(&root, met),
        });
        read.collect::<Result<Vec<_>, TreeError>>()
    };
    std::thread::scope(|scope| {
        let size = met.len().div_ceil(THREADS).max(1);
        let threads: Vec<_> = met.chunks(size).map(|part| scope.spawn(|| read_all(part))).collect();
        for thread in threads {
            match thread.join() {
                Ok(part) => found.extend(part?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(found)
    })
}

fn known_contents(state: Option<&State>) -> BTreeMap<BString, Record> {
    let mut known = BTreeMap::new();
    if let Some(state) = state {
        let mut records = state.records();
        while let Some(record) = records.next() {
            known.insert(records.path().into(), record);
        }
    }
    known
}

fn read(root: &Root, met: &Met) -> Result<(BString, Found), TreeError> {
    let failed = |error| TreeError::io("read", root.at(&met.path), error);
    let (parent, name) = super::folder::split(met.path.as_ref());
    let gone = || failed(rustix::io::Errno::NOENT);
    let Way::Open(folder) = root.folder(parent)? else { return Err(gone()) };
    let stat = stat_at(&folder, name).map_err(failed)?.ok_or_else(gone)?;
    let id = hash_at(&folder, name, &stat).map_err(failed)?;
    Ok((met.path.clone(), Found::Entry(Entry { mode: met.mode, id })))
}

/// The walk over all folders.
struct Walk<'w> {
    root: &'w Root,
    is_opaque: &'w dyn Fn(&BStr) -> bool,
    met: Vec<Met>,
    found: BTreeMap<BString, Found>,
}

impl Walk<'_> {
    fn folder(&mut self, start: &BStr) -> Result<(), TreeError> {
        let mut left = vec![BString::from(start)];
        while let Some(path) = left.pop() {
            let failed = |error| TreeError::io("list", self.root.at(&path), error);
            let Way::Open(folder) = self.root.folder(path.as_ref())? else { continue };
            for name in names_in(&folder).map_err(failed)? {
                if path.is_empty() && (name == HOME || name == ".git") {
                    continue;
                }
                let inner = match path.as_bytes() {
                    b"" => name.clone(),
                    path => [path, b"/", &name].concat().into(),
                };
                let Some(stat) = stat_at(&folder, &name).map_err(failed)? else { continue };
                match mode_of(&stat) {
                    Ok(Mode::Submodule) if (self.is_opaque)(inner.as_ref()) => {}
                    Ok(Mode::Submodule) => left.push(inner),
                    Ok(mode) => self.met.push(Met { path: inner, mode, stamp: Stamp::of(&stat) }),
                    Err(kind) => {
                        self.found.insert(inner, Found::Special(kind));
                    }
                }
            }
        }
        Ok(())
    }
}
