//! An upstream in memory, trees as short texts, and what a directory looks like.

mod adopted;
mod crash;
mod damaged;
mod hostile;
mod made;
mod random;

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::*;
use crate::id::{BlobId, CommitId, Name};
use crate::tree::{Content, Entry, Listing, Mode};
use crate::upstream::{Commit, Touch, UpstreamError};

/// Blobs by id and listings by commit; nothing else.
#[derive(Default, Clone)]
struct Memory {
    blobs: BTreeMap<BlobId, Arc<[u8]>>,
    listings: BTreeMap<CommitId, Listing>,
}

impl Upstream for Memory {
    fn entry(&self, _: CommitId, _: &UpstreamPath) -> Result<Option<Entry>, UpstreamError> {
        Err(nothing())
    }
    fn blob(&self, id: BlobId) -> Result<Arc<[u8]>, UpstreamError> {
        let missing = || UpstreamError::Missing { what: "blob", id: id.to_string(), shallow: false };
        self.blobs.get(&id).cloned().ok_or_else(missing)
    }
    fn listing(&self, commit: CommitId) -> Result<Listing, UpstreamError> {
        self.listings.get(&commit).cloned().ok_or_else(nothing)
    }
    fn commit(&self, _: CommitId) -> Result<Commit, UpstreamError> {
        Err(nothing())
    }
    fn is_ancestor(&self, _: CommitId, _: CommitId) -> Result<bool, UpstreamError> {
        Err(nothing())
    }
    fn merge_base(&self, _: CommitId, _: CommitId) -> Result<Option<CommitId>, UpstreamError> {
        Err(nothing())
    }
    fn history(
        &self,
        _: CommitId,
        _: Option<CommitId>,
        _: &[UpstreamPath],
    ) -> Result<Vec<Touch>, UpstreamError> {
        Err(nothing())
    }
}

fn nothing() -> UpstreamError {
    UpstreamError::Unreadable { what: "history".to_owned(), why: "there is none".to_owned() }
}

/// What is written in tests for an entry: `text`, `x:text` (executable), `l:target` (link), `s:` (submodule).
fn content(text: &str) -> (Mode, &[u8]) {
    match text.split_at_checked(2) {
        Some(("x:", rest)) => (Mode::Executable, rest.as_bytes()),
        Some(("l:", rest)) => (Mode::Symlink, rest.as_bytes()),
        Some(("s:", rest)) => (Mode::Submodule, rest.as_bytes()),
        _ => (Mode::File, text.as_bytes()),
    }
}

fn path(text: &str) -> UpstreamPath {
    UpstreamPath::parse(text).unwrap()
}

/// A wanted tree with the upstream that has its blobs.
#[derive(Clone)]
struct Goal {
    wanted: Wanted,
    upstream: Memory,
}

/// What a commit has, and what overlays make of it (`-`: removed).
fn goal(listing: &[(&str, &str)], changes: &[(&str, &str)]) -> Goal {
    let mut upstream = Memory::default();
    let mut entries = Listing::new();
    for (at, text) in listing {
        let (mode, bytes) = content(text);
        let id = BlobId::of(bytes);
        upstream.blobs.insert(id, Arc::from(bytes));
        entries.insert(path(at), Entry { mode, id });
    }
    let commit = CommitId::from_bytes(*BlobId::of(format!("{listing:?}").as_bytes()).as_bytes());
    let fingerprint = BlobId::of(format!("{listing:?}{changes:?}").as_bytes()).to_string();
    let mut wanted = Wanted::pristine(Name::parse("up").unwrap(), commit, entries, fingerprint);
    for (at, text) in changes {
        let (mode, bytes) = content(text);
        let change = (*text != "-").then(|| Content { mode, bytes: Arc::from(bytes) });
        wanted.changes.insert(path(at), change);
        wanted.owners.insert(path(at), vec![Name::parse("fix").unwrap()]);
    }
    Goal { wanted, upstream }
}

impl Goal {
    fn bring_with(&self, dir: &Path, options: Options) -> (Result<Outcome, TreeError>, Vec<Event>) {
        let mut events = Vec::new();
        let outcome = bring_to(dir, &self.wanted, &self.upstream, &options, &mut |event| events.push(event));
        events.retain(|event| !matches!(event, Event::Writing { .. }));
        (outcome, events)
    }

    fn bring(&self, dir: &Path) -> Outcome {
        self.bring_with(dir, Options::default()).0.unwrap()
    }

    fn adopt(&self, dir: &Path) -> Outcome {
        self.bring_with(dir, Options { adopt: true, ..Options::default() }).0.unwrap()
    }

    fn force(&self, dir: &Path) -> (Outcome, Vec<Event>) {
        let (outcome, events) = self.bring_with(dir, Options { force: true, ..Options::default() });
        (outcome.unwrap(), events)
    }

    /// That the tree is exactly what is wanted, seen by two independent looks.
    fn assert_is_at(&self, dir: &Path) {
        assert_eq!(compare(dir, &self.wanted).unwrap(), []);
        let mut expected: BTreeMap<String, String> = BTreeMap::new();
        for (at, entry) in wanted_texts(&self.wanted, &self.upstream) {
            expected.insert(at, entry);
        }
        assert_eq!(texts(dir), expected);
    }
}

fn wanted_texts(wanted: &Wanted, upstream: &Memory) -> Vec<(String, String)> {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    for (at, entry) in &wanted.listing {
        if entry.mode != Mode::Submodule {
            all.insert(at.as_bytes().to_string(), text_of(entry.mode, &upstream.blobs[&entry.id]));
        }
    }
    for (at, change) in &wanted.changes {
        match change {
            Some(change) => all.insert(at.as_bytes().to_string(), text_of(change.mode, &change.bytes)),
            None => all.remove(&at.as_bytes().to_string()),
        };
    }
    all.into_iter().collect()
}

fn text_of(mode: Mode, bytes: &[u8]) -> String {
    let prefix = match mode {
        Mode::File => "",
        Mode::Executable => "x:",
        Mode::Symlink => "l:",
        Mode::Submodule => "s:",
    };
    format!("{prefix}{}", String::from_utf8_lossy(bytes))
}

/// All files of a tree as texts, read with the standard library; `.overlaid` and `.git` left out.
fn texts(dir: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for file in files(dir) {
        let at = file.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
        if at.starts_with(".overlaid/") || at.starts_with(".git/") || at == ".git" {
            continue;
        }
        let meta = std::fs::symlink_metadata(&file).unwrap();
        let text = if meta.is_symlink() {
            format!("l:{}", std::fs::read_link(&file).unwrap().display())
        } else if meta.is_file() {
            let prefix = if meta.permissions().mode() & 0o100 != 0 { "x:" } else { "" };
            format!("{prefix}{}", String::from_utf8_lossy(&std::fs::read(&file).unwrap()))
        } else {
            "special".to_owned()
        };
        found.insert(at, text);
    }
    found
}

/// All paths below a folder that are no folders.
fn files(dir: &Path) -> Vec<PathBuf> {
    let walk = walkdir::WalkDir::new(dir).sort_by_file_name().into_iter().map(Result::unwrap);
    walk.filter(|entry| !entry.file_type().is_dir()).map(|entry| entry.into_path()).collect()
}

/// Everything that a change would show in: inode, times, size, mode of all files and folders.
fn stamps(dir: &Path) -> Vec<(PathBuf, [i64; 7])> {
    let walk = walkdir::WalkDir::new(dir).sort_by_file_name().into_iter().map(Result::unwrap);
    walk.map(|entry| {
        let m = std::fs::symlink_metadata(entry.path()).unwrap();
        let stamp = [
            m.ino() as i64,
            m.mtime(),
            m.mtime_nsec(),
            m.ctime(),
            m.ctime_nsec(),
            m.size() as i64,
            m.mode().into(),
        ];
        (entry.into_path(), stamp)
    })
    .collect()
}

fn mtime(file: &Path) -> (i64, i64) {
    let meta = std::fs::symlink_metadata(file).unwrap();
    (meta.mtime(), meta.mtime_nsec())
}

fn write(file: &Path, text: &str) {
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// A folder for trees and the tree in it, which is not there yet.
fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("tree");
    (folder, dir)
}

/// As [`place`], in memory where there is such a file system: flushing costs nothing there.
fn fast_place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let dir = folder.path().join("tree");
    (folder, dir)
}

fn steps(outcome: &Outcome) -> Vec<String> {
    let (Outcome::Changed(plan) | Outcome::Unchanged(plan)) = outcome else { panic!("{outcome:?}") };
    plan.steps.iter().map(|step| format!("{:?} {}", step.action(), step.path.as_bytes())).collect()
}

fn refusals(outcome: &Outcome) -> Vec<String> {
    let Outcome::Refused(refusals) = outcome else { panic!("{outcome:?}") };
    refusals.iter().map(|r| format!("{}: {}", r.path.as_bytes(), r.difference)).collect()
}
