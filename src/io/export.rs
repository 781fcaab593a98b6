//! Where a series goes: a branch of a repository, a folder of files, a tar archive.
//!
//! Never touches a work tree, an index or a branch that somebody is on, and never replaces what it did not write unless it
//! is told to.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::hashes::write_atomically;
use super::store::Store;
use super::tree::{ATTESTATION_FILE, HOME, Origin, render_attestation};
use crate::export::{Files, Series, Step};
use crate::id::{CommitId, UpstreamPath};
use crate::plan::Wanted;
use crate::tree::{Content, Mode};
use crate::upstream::{Upstream, UpstreamError};

/// Why a series was not written.
#[derive(Debug)]
pub enum ExportError {
    /// A file or folder cannot be read or written.
    Io(PathBuf, io::Error),
    /// The upstream cannot be read.
    Upstream(UpstreamError),
    /// libgit2 refuses.
    Git(String),
    /// The repository does not have the pin.
    NoPin(PathBuf, CommitId),
    /// There is a branch of this name with other commits.
    Branch(String),
    /// Somebody is on the branch.
    CheckedOut(String),
    /// There are files that were not written by the same export.
    Files(Vec<PathBuf>),
    /// The path lies in a submodule, which a branch of this repository cannot change.
    Submodule(UpstreamPath),
}

impl std::fmt::Display for ExportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ExportError::Io(path, error) => write!(f, "cannot write `{}`: {error}", path.display()),
            ExportError::Upstream(error) => error.fmt(f),
            ExportError::Git(why) => write!(f, "the branch cannot be made: {why}"),
            ExportError::NoPin(path, pin) => {
                write!(f, "the repository `{}` does not have the pin {pin}", path.display())
            }
            ExportError::Branch(name) => write!(f, "there is a branch `{name}` with other commits"),
            ExportError::CheckedOut(name) => {
                write!(f, "the branch `{name}` is checked out; nothing was changed")
            }
            ExportError::Files(files) => {
                let names: Vec<String> = files.iter().map(|file| format!("`{}`", file.display())).collect();
                write!(f, "files are in the way: {}", names.join(", "))
            }
            ExportError::Submodule(path) => {
                write!(f, "`{path}` lies in a submodule, which no commit of this repository can change")
            }
        }
    }
}

impl std::error::Error for ExportError {}

impl From<git2::Error> for ExportError {
    fn from(error: git2::Error) -> Self {
        ExportError::Git(error.message().to_owned())
    }
}

impl From<UpstreamError> for ExportError {
    fn from(error: UpstreamError) -> Self {
        ExportError::Upstream(error)
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> ExportError {
    let path = path.to_owned();
    move |error| ExportError::Io(path, error)
}

/// A branch that is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Its last commit.
    pub tip: CommitId,
    /// The commits, in the order of the series.
    pub commits: Vec<CommitId>,
    /// Whether the repository was made.
    pub is_new_repository: bool,
}

/// Makes a branch on the pin with a commit for each step. A repository that is not there is made, with the pin and without
/// history.
///
/// # Errors
/// If it cannot be made; a branch that was there is what it was.
pub fn to_branch(
    dir: &Path,
    name: &str,
    series: &Series,
    url: &str,
    store: &Store,
    force: bool,
) -> Result<Branch, ExportError> {
    let is_there = dir.exists() && fs::read_dir(dir).map_err(at(dir))?.next().is_some();
    let repository = if is_there {
        git2::Repository::open(dir)?
    } else {
        fs::create_dir_all(dir).map_err(at(dir))?;
        new_repository(dir, series.pin, url, store)?
    };
    let pin = git2::Oid::from_bytes(series.pin.as_bytes())?;
    let Ok(pin) = repository.find_commit(pin) else {
        return Err(ExportError::NoPin(dir.to_owned(), series.pin));
    };
    let mut commits = Vec::new();
    let mut tip = pin.id();
    for step in &series.steps {
        tip = commit(&repository, tip, step)?;
        commits.push(commit_id(tip)?);
    }
    let full = format!("refs/heads/{name}");
    let there = repository.find_reference(&full).ok().and_then(|branch| branch.target());
    if there != Some(tip) {
        if there.is_some() && !force {
            return Err(ExportError::Branch(name.to_owned()));
        }
        if is_checked_out(&repository, &full) {
            return Err(ExportError::CheckedOut(name.to_owned()));
        }
        repository.reference(&full, tip, force, "overlaid export")?;
    }
    Ok(Branch { tip: commit_id(tip)?, commits, is_new_repository: !is_there })
}

fn commit_id(id: git2::Oid) -> Result<CommitId, ExportError> {
    CommitId::parse(&id.to_string()).map_err(|error| ExportError::Git(error.to_string()))
}

fn commit(repository: &git2::Repository, parent: git2::Oid, step: &Step) -> Result<git2::Oid, ExportError> {
    let parent = repository.find_commit(parent)?;
    let base = parent.tree()?;
    let mut update = git2::build::TreeUpdateBuilder::new();
    for change in &step.changes {
        if let Some(submodule) = submodule_above(&base, &change.path) {
            return Err(ExportError::Submodule(submodule));
        }
        match &change.after {
            Some(content) => {
                let mode = match content.mode {
                    Mode::Executable => git2::FileMode::BlobExecutable,
                    Mode::Symlink => git2::FileMode::Link,
                    Mode::File | Mode::Submodule => git2::FileMode::Blob,
                };
                let id = repository.blob(&content.bytes)?;
                update.upsert(change.path.as_bytes().to_vec(), id, mode);
            }
            None => {
                update.remove(change.path.as_bytes().to_vec());
            }
        }
    }
    let tree = update.create_updated(repository, &base)?;
    let tree = repository.find_tree(tree)?;
    let author = &step.message.author;
    let author = git2::Signature::new(&author.name, &author.email, &git2::Time::new(step.date, 0))?;
    let tool = git2::Signature::new("overlaid", "overlaid@localhost", &git2::Time::new(step.date, 0))?;
    let text = step.message.commit_text();
    Ok(repository.commit(None, &author, &tool, &text, &tree, &[&parent])?)
}

fn submodule_above(tree: &git2::Tree<'_>, path: &UpstreamPath) -> Option<UpstreamPath> {
    path.ancestors().find_map(|above| {
        let above = UpstreamPath::parse(above).ok()?;
        let entry = tree.get_path(above.to_os_path()).ok()?;
        (entry.kind() == Some(git2::ObjectType::Commit)).then_some(above)
    })
}

/// Whether the branch is that of the work tree or of another one.
fn is_checked_out(repository: &git2::Repository, branch: &str) -> bool {
    let is_on = |repository: &git2::Repository| {
        let Ok(head) = repository.find_reference("HEAD") else { return false };
        !repository.is_bare() && head.symbolic_target_bytes() == Some(branch.as_bytes())
    };
    let names = repository.worktrees().ok();
    let others = names.iter().flat_map(|names| names.iter().flatten().flatten());
    is_on(repository)
        || others
            .filter_map(|name| repository.find_worktree(name).ok())
            .filter_map(|worktree| git2::Repository::open_from_worktree(&worktree).ok())
            .any(|worktree| is_on(&worktree))
}

/// A repository that has one commit and all of its files, and nothing that came before it.
fn new_repository(
    dir: &Path,
    pin: CommitId,
    url: &str,
    store: &Store,
) -> Result<git2::Repository, ExportError> {
    let repository = git2::Repository::init(dir)?;
    {
        let objects = repository.odb()?;
        // Thousands of files are one pack.
        let pack = objects.add_new_mempack_backend(1000)?;
        let mut failed = None;
        store.objects_of(pin, &mut |kind, bytes| {
            let kind = match kind {
                gix::objs::Kind::Blob => git2::ObjectType::Blob,
                gix::objs::Kind::Tree => git2::ObjectType::Tree,
                gix::objs::Kind::Commit | gix::objs::Kind::Tag => git2::ObjectType::Commit,
            };
            if failed.is_none() {
                failed = objects.write(kind, bytes).err();
            }
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        let mut bytes = git2::Buf::new();
        pack.dump(&repository, &mut bytes)?;
        let mut writer = objects.packwriter()?;
        writer.write_all(&bytes).map_err(at(dir))?;
        writer.commit()?;
        pack.reset()?;
    }
    let shallow = repository.path().join("shallow");
    fs::write(&shallow, format!("{pin}\n")).map_err(at(&shallow))?;
    repository.remote("origin", url)?;
    // Opened anew, it knows that the history is cut off.
    Ok(git2::Repository::open(dir)?)
}

/// Writes files into a folder. Those that are there must have the same bytes; with `force` they are replaced. Other files
/// that end in `.patch` are in the way, too: the next tool would take them for a part of the series.
///
/// # Errors
/// If a file cannot be written, or something is in the way: then nothing was written.
pub fn to_folder(dir: &Path, files: &Files, force: bool) -> Result<(), ExportError> {
    let mut in_the_way = Vec::new();
    if dir.is_dir() {
        for entry in fs::read_dir(dir).map_err(at(dir))? {
            let entry = entry.map_err(at(dir))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_same = |bytes: &Vec<u8>| fs::read(entry.path()).is_ok_and(|there| there == *bytes);
            let is_foreign = match files.get(&name) {
                Some(bytes) => !force && !is_same(bytes),
                None => name.ends_with(".patch"),
            };
            if is_foreign {
                in_the_way.push(entry.path());
            }
        }
    }
    if !in_the_way.is_empty() {
        in_the_way.sort();
        return Err(ExportError::Files(in_the_way));
    }
    for (name, bytes) in files {
        let file = dir.join(name);
        if fs::read(&file).is_ok_and(|there| there == *bytes) {
            continue;
        }
        write_atomically(&file, bytes).map_err(at(&file))?;
    }
    Ok(())
}

/// Writes the tree as a tar archive, with its attestation: all in a folder of this name, sorted, with one date and no owner.
///
/// # Errors
/// If it cannot be written, or there is another file.
pub fn to_tar(
    file: &Path,
    folder: &str,
    wanted: &Wanted,
    date: i64,
    upstream: &dyn Upstream,
    force: bool,
) -> Result<(), ExportError> {
    let bytes = tar(folder, wanted, date, upstream, file)?;
    match fs::read(file) {
        Ok(there) if there == bytes => return Ok(()),
        Ok(_) if !force => return Err(ExportError::Files(vec![file.to_owned()])),
        _ => {}
    }
    write_atomically(file, &bytes).map_err(at(file))
}

fn tar(
    folder: &str,
    wanted: &Wanted,
    date: i64,
    upstream: &dyn Upstream,
    file: &Path,
) -> Result<Vec<u8>, ExportError> {
    let mut paths: std::collections::BTreeSet<&UpstreamPath> = wanted.listing.keys().collect();
    paths.extend(wanted.changes.keys());
    let mut archive = tar::Builder::new(Vec::new());
    let attestation = Content::file(render_attestation(wanted, Origin::Made).into_bytes());
    let home = Path::new(folder).join(HOME).join(ATTESTATION_FILE);
    append(&mut archive, &home, &attestation, date).map_err(at(file))?;
    for path in paths {
        let content = match wanted.changes.get(path) {
            Some(change) => change.clone(),
            None => match wanted.listing.get(path) {
                Some(entry) if entry.mode != Mode::Submodule => {
                    Some(Content { mode: entry.mode, bytes: upstream.blob(entry.id)? })
                }
                _ => None,
            },
        };
        if let Some(content) = content {
            let place = Path::new(folder).join(path.to_os_path());
            append(&mut archive, &place, &content, date).map_err(at(file))?;
        }
    }
    archive.into_inner().map_err(at(file))
}

fn append(archive: &mut tar::Builder<Vec<u8>>, place: &Path, content: &Content, date: i64) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let mut header = tar::Header::new_gnu();
    header.set_mtime(u64::try_from(date).unwrap_or(0));
    header.set_uid(0);
    header.set_gid(0);
    header.set_mode(if content.mode == Mode::Executable { 0o755 } else { 0o644 });
    if content.mode == Mode::Symlink {
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_mode(0o777);
        header.set_size(0);
        let target = Path::new(std::ffi::OsStr::from_bytes(&content.bytes));
        return archive.append_link(&mut header, place, target);
    }
    header.set_entry_type(tar::EntryType::Regular);
    header.set_size(content.bytes.len() as u64);
    archive.append_data(&mut header, place, &content.bytes[..])
}
