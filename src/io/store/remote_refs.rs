//! What a tag or a branch of a repository stands for, without fetching anything: `git ls-remote`.

use std::path::Path;
use std::process::{Command, Stdio};

use super::environment::Environment;
use super::error::{FetchFailure, StoreError};
use super::location::Location;
use super::{ResolveError, Store, variable};
use crate::id::{CommitId, Name};

/// What a revision stands for, and how that was found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// This commit, which it names in this way.
    Commit(CommitId, Named),
    /// There is nothing of that name.
    Nothing,
    /// It was not asked for: only a connection, or a clone, has the answer.
    Offline,
    /// Only a clone has the answer: an abbreviated id, or a commit that is counted from another one.
    NeedsClone,
    /// It can mean several commits, or something else than a commit. Why, in words.
    Unclear(String),
}

/// In which way a revision names its commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// By its full id.
    Id,
    /// By a tag.
    Tag,
    /// By a branch, which moves.
    Branch,
    /// By the beginning of its id.
    Abbreviated,
    /// Counted from another commit: `main~1`.
    Counted,
}

impl Named {
    /// What the revision is, for a sentence that says which commit it stands for; empty for a full id.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Named::Id => "",
            Named::Tag => "a tag",
            Named::Branch => "a branch that moves",
            Named::Abbreviated => "an abbreviated id",
            Named::Counted => "counted from another commit",
        }
    }
}

/// Finds out what a revision of a repository stands for. A clone that is named by a variable, or a repository at a path, is
/// read; else git asks, unless `offline`.
///
/// # Errors
/// If the URL is not taken, or the repository cannot be asked.
pub fn resolve_revision(
    name: &Name,
    url: &str,
    root: &Path,
    revision: &str,
    offline: bool,
    environment: &Environment,
) -> Result<Standing, StoreError> {
    if let Ok(commit) = CommitId::parse(revision) {
        return Ok(Standing::Commit(commit, Named::Id));
    }
    if let Some(found) = environment.get(&variable(name)).and_then(|path| in_store(Path::new(path), revision))
    {
        return Ok(found);
    }
    let location = Location::parse(url, root)?;
    if let Location::Repository(path) = &location {
        return Ok(in_store(path, revision).unwrap_or(Standing::Nothing));
    }
    if offline {
        return Ok(Standing::Offline);
    }
    let listed = ask(&location, environment)?;
    let refs: Vec<(&str, &str)> = listed.lines().filter_map(|line| line.split_once('\t')).collect();
    let find = |name: String| {
        refs.iter().find(|(_, known)| *known == name).and_then(|(id, _)| CommitId::parse(id).ok())
    };
    let tag = find(format!("refs/tags/{revision}^{{}}")).or_else(|| find(format!("refs/tags/{revision}")));
    let branch = || find(format!("refs/heads/{revision}")).map(|commit| (commit, Named::Branch));
    Ok(match tag.map(|commit| (commit, Named::Tag)).or_else(branch) {
        Some((commit, named)) => Standing::Commit(commit, named),
        None if is_counted(revision) || is_abbreviated(revision) => Standing::NeedsClone,
        None => Standing::Nothing,
    })
}

/// What it stands for in a repository that is here; `None` if it has nothing of the kind, or is none.
fn in_store(path: &Path, revision: &str) -> Option<Standing> {
    let store = Store::at(path).ok()?;
    let tag = store.resolve(&format!("refs/tags/{revision}")).ok().flatten();
    if let Some(commit) = tag {
        let named = if is_counted(revision) { Named::Counted } else { Named::Tag };
        return Some(Standing::Commit(commit, named));
    }
    match store.resolve(revision) {
        Ok(found) => found.map(|commit| {
            let is_beginning = commit.to_string().starts_with(&revision.to_ascii_lowercase());
            let named = match revision {
                _ if is_counted(revision) => Named::Counted,
                _ if is_beginning && is_abbreviated(revision) => Named::Abbreviated,
                _ => Named::Branch,
            };
            Standing::Commit(commit, named)
        }),
        Err(error @ (ResolveError::Ambiguous { .. } | ResolveError::NotACommit { .. })) => {
            Some(Standing::Unclear(error.to_string()))
        }
        Err(ResolveError::Store(_)) => None,
    }
}

fn is_counted(revision: &str) -> bool {
    revision.contains(['~', '^'])
}

/// As few digits as git takes for the beginning of an id.
fn is_abbreviated(revision: &str) -> bool {
    revision.len() >= 4 && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn ask(location: &Location, environment: &Environment) -> Result<String, StoreError> {
    let output = Command::new("git")
        .args(["ls-remote", "--heads", "--tags", "--"])
        .arg(location.for_git())
        // No repository of the user's has a say.
        .current_dir("/")
        .env_clear()
        .envs(environment.for_git())
        .stdin(Stdio::null())
        .output()
        .map_err(|source| StoreError::NoGit { source })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = super::location::escaped(String::from_utf8_lossy(&output.stderr).trim());
    let said = said.replace(&*location.for_git().to_string_lossy(), &location.for_people());
    Err(StoreError::Fetch { from: location.for_people(), failure: FetchFailure::of(&said), said })
}
