//! Files of our own repository as they were at an earlier revision.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::id::{CommitId, UpstreamPath};
use crate::tree::{Content, Mode};
use crate::upstream::{Upstream, UpstreamError};

use super::own_files::OwnFiles;
use super::store::Store;
use super::workspace::LoadError;

/// Our repository at a revision.
pub struct Revision {
    store: Store,
    commit: CommitId,
    /// Where our folder is in the repository that holds it.
    prefix: PathBuf,
    listing: crate::tree::Listing,
}

/// Why a revision cannot be read.
#[derive(Debug)]
pub enum RevisionError {
    /// The folder is in no git repository.
    NoRepository(PathBuf),
    /// The repository cannot be opened.
    Unreadable(String),
    /// There is no such revision.
    Unknown(String),
    /// Objects cannot be read.
    Upstream(UpstreamError),
}

impl std::fmt::Display for RevisionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RevisionError::NoRepository(folder) => {
                write!(f, "`{}` is in no git repository", folder.display())
            }
            RevisionError::Unreadable(why) => write!(f, "cannot open our own repository: {why}"),
            RevisionError::Unknown(revision) => {
                write!(f, "there is no revision `{revision}` in our repository")
            }
            RevisionError::Upstream(error) => error.fmt(f),
        }
    }
}

impl Revision {
    /// Opens the git repository that holds `root`, at a revision.
    ///
    /// # Errors
    /// If there is no repository or no such revision.
    pub fn open(root: &Path, revision: &str) -> Result<Self, RevisionError> {
        let absolute = root.canonicalize().map_err(|error| RevisionError::Unreadable(error.to_string()))?;
        let top = absolute
            .ancestors()
            .find(|folder| folder.join(".git").exists())
            .ok_or_else(|| RevisionError::NoRepository(absolute.clone()))?;
        let store = Store::at(top).map_err(RevisionError::Unreadable)?;
        let resolve =
            |name: &str| store.resolve(name).map_err(|error| RevisionError::Unreadable(error.to_string()));
        let unknown = || RevisionError::Unknown(revision.to_owned());
        let (name, steps) = first_parents(revision).ok_or_else(unknown)?;
        // A branch of our own comes before what its remote has.
        let mut commit = match resolve(&format!("refs/heads/{name}"))? {
            Some(commit) => commit,
            None => resolve(name)?.ok_or_else(unknown)?,
        };
        for _ in 0..steps {
            let parents = store.commit(commit).map_err(RevisionError::Upstream)?.parents;
            commit = *parents.first().ok_or_else(unknown)?;
        }
        let listing = store.listing(commit).map_err(RevisionError::Upstream)?;
        let prefix = absolute.strip_prefix(top).map(Path::to_owned).unwrap_or_default();
        Ok(Self { store, commit, prefix, listing })
    }

    /// The commit that the revision names.
    #[must_use]
    pub fn commit(&self) -> CommitId {
        self.commit
    }
}

/// A name with how many first parents to go back from it: `main~2`, `HEAD^`; `None` for another `~` or `^`.
fn first_parents(revision: &str) -> Option<(&str, usize)> {
    let end = revision.find(['~', '^']).unwrap_or(revision.len());
    let (name, mut rest) = revision.split_at(end);
    let mut steps = 0_usize;
    while let Some(sign) = rest.chars().next() {
        let digits = rest[1..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |at| at + 1);
        let count = if digits == 1 { 1 } else { rest[1..digits].parse().ok()? };
        match (sign, count) {
            ('~', count) => steps = steps.checked_add(count)?,
            ('^', 1) => steps = steps.checked_add(1)?,
            _ => return None,
        }
        rest = &rest[digits..];
    }
    Some((name, steps))
}

impl OwnFiles for Revision {
    fn list(&self, folder: &Path) -> Result<Vec<PathBuf>, LoadError> {
        let folder = self.prefix.join(folder);
        let files = self.listing.keys().filter_map(|path| path.to_os_path().strip_prefix(&folder).ok());
        Ok(files.map(Path::to_owned).collect())
    }

    fn read(&self, file: &Path) -> Result<Option<Content>, LoadError> {
        let path = self.prefix.join(file);
        let io = |why: String| LoadError::Io { path: path.clone(), error: std::io::Error::other(why) };
        let Ok(name) = UpstreamPath::parse(path.as_os_str().as_bytes()) else {
            return Ok(None);
        };
        match self.listing.get(&name) {
            None => Ok(None),
            Some(entry) if entry.mode == Mode::Submodule => Ok(None),
            Some(entry) => {
                let bytes = self.store.blob(entry.id).map_err(|error| io(error.to_string()))?;
                Ok(Some(Content { mode: entry.mode, bytes }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::first_parents;

    #[test]
    fn first_parents_are_counted() {
        for (revision, expected) in [
            ("main", Some(("main", 0))),
            ("HEAD~3", Some(("HEAD", 3))),
            ("HEAD^^~2", Some(("HEAD", 4))),
            ("v1.0^1", Some(("v1.0", 1))),
            ("HEAD^2", None),
            ("HEAD^{commit}", None),
            ("HEAD~99999999999999999999", None),
        ] {
            assert_eq!(first_parents(revision), expected, "{revision}");
        }
    }
}
