//! What a tag or a branch of a repository stands for, without fetching anything: `git ls-remote`.

use std::path::Path;
use std::process::{Command, Stdio};

use super::environment::Environment;
use super::error::{FetchFailure, StoreError};
use super::location::Location;
use super::{Store, variable};
use crate::id::{CommitId, Name};

/// What a revision stands for, and how that was found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is a full id, or a tag.
    Fixed(CommitId),
    /// It is a branch, which moves.
    Branch(CommitId),
    /// There is nothing of that name.
    Nothing,
    /// It was not asked for: that needs a connection.
    Offline,
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
        return Ok(Standing::Fixed(commit));
    }
    let at = |path: &Path| {
        let store = Store::at(path).ok()?;
        let tag = store.resolve(&format!("refs/tags/{revision}")).ok().flatten();
        let other = || store.resolve(revision).ok().flatten();
        tag.map(Standing::Fixed).or_else(|| other().map(Standing::Branch))
    };
    if let Some(found) = environment.get(&variable(name)).and_then(|path| at(Path::new(path))) {
        return Ok(found);
    }
    let location = Location::parse(url, root)?;
    if let Location::Repository(path) = &location {
        return Ok(at(path).unwrap_or(Standing::Nothing));
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
    let branch = || find(format!("refs/heads/{revision}"));
    Ok(tag.map(Standing::Fixed).or_else(|| branch().map(Standing::Branch)).unwrap_or(Standing::Nothing))
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
