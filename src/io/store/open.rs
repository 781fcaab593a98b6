//! Finding the objects of an upstream, and fetching what is missing.
//!
//! In this order: the clone that `OVERLAID_UPSTREAM_<NAME>` names; the repository at a path; our cache of a bundle
//! or a URL. A repository that somebody else made is read where it is. What it lacks goes into a cache that borrows
//! its objects.

use std::path::{Path, PathBuf};

use super::Store;
use super::cache::{Borrowed, Cache, Sources, missing};
use super::environment::Environment;
use super::error::StoreError;
use super::git::Progress;
use super::location::Location;
use crate::id::{CommitId, Name};

/// What is needed of an upstream, and where it is said to be.
#[derive(Debug, Clone)]
pub struct StoreSpec {
    /// The name of the upstream.
    pub name: Name,
    /// A URL, or a path to a repository or a bundle. A plain path to a repository is read in place; `file://` is a
    /// URL like any other, and gets a cache.
    pub url: String,
    /// The repository that has the manifest, an absolute path: relative ones start there.
    pub repo_root: PathBuf,
    /// Forks: their names in the manifest, and URLs or paths as above.
    pub remotes: Vec<(Name, String)>,
    /// The commits that must be here.
    pub need: Vec<Need>,
    /// Fetch nothing. A bundle, which is a file, is still unpacked.
    pub offline: bool,
    /// Fetch what is new even if nothing is missing. A clone of somebody's is never updated.
    pub update: bool,
}

/// A commit that must be here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The commit.
    pub commit: CommitId,
    /// The remote that is said to have it; `None`: the upstream.
    pub remote: Option<Name>,
}

impl From<CommitId> for Need {
    fn from(commit: CommitId) -> Self {
        Self { commit, remote: None }
    }
}

/// The environment variable that names a clone of this upstream: `OVERLAID_UPSTREAM_MLX`.
#[must_use]
pub fn variable(name: &Name) -> String {
    format!("OVERLAID_UPSTREAM_{}", name.as_str().to_ascii_uppercase().replace(['-', '.', '+'], "_"))
}

/// Opens the store of an upstream that has all commits that are needed, fetching what is missing.
///
/// # Errors
/// If that is not possible; [`StoreError::hint`] says what to do.
pub fn open(
    spec: &StoreSpec,
    environment: &Environment,
    progress: &mut dyn FnMut(Progress),
) -> Result<Store, StoreError> {
    let variable = variable(&spec.name);
    if let Some(path) = environment.get(&variable) {
        let upstream = || Location::parse(&spec.url, &spec.repo_root);
        return open_clone(spec, Path::new(path), Some(variable), upstream, environment, progress);
    }
    match Location::parse(&spec.url, &spec.repo_root)? {
        Location::Repository(path) => {
            let same = || Ok(Location::Repository(path.clone()));
            open_clone(spec, &path, None, same, environment, progress)
        }
        location => open_cache(spec, &location, environment, progress),
    }
}

/// A repository that is not ours.
fn open_clone(
    spec: &StoreSpec,
    path: &Path,
    variable: Option<String>,
    upstream: impl Fn() -> Result<Location, StoreError>,
    environment: &Environment,
    progress: &mut dyn FnMut(Progress),
) -> Result<Store, StoreError> {
    if !path.exists() {
        return Err(StoreError::NoSuchPath { path: path.to_owned(), variable });
    }
    let clone =
        Store::at(path).map_err(|why| StoreError::NotARepository { path: path.to_owned(), variable, why })?;
    let absent = missing(&clone, &spec.need)?;
    if absent.is_empty() {
        return Ok(clone);
    }
    let upstream = upstream()?;
    let cache = Cache::new(&caches(environment)?, &spec.name, &upstream, Some(Borrowed::of(&clone.objects)));
    if let Some(store) = cache.ready(&spec.need)? {
        return Ok(store.with_names_of(clone));
    }
    let is_clone = upstream == Location::Repository(path.to_owned());
    if spec.offline {
        let from = if is_clone { "origin".to_owned() } else { quoted(&upstream.for_people()) };
        let ids: Vec<_> = absent.iter().map(|need| need.commit.to_string()).collect();
        return Err(StoreError::Offline {
            commits: absent.iter().map(|need| need.commit).collect(),
            looked: format!("`{}`", path.display()),
            command: format!("git -C {} fetch {from} {}", quoted(&path.display().to_string()), ids.join(" ")),
        });
    }
    let sources = Sources { upstream: (!is_clone).then_some(&upstream), remotes: remotes(spec)? };
    if sources.upstream.is_none() && sources.remotes.is_empty() {
        return Err(StoreError::NotFound {
            commits: absent.iter().map(|need| need.commit).collect(),
            asked: vec![format!("`{}`", path.display())],
        });
    }
    Ok(cache.fill(&spec.need, &sources, false, environment, progress)?.with_names_of(clone))
}

/// A bundle or a URL.
fn open_cache(
    spec: &StoreSpec,
    location: &Location,
    environment: &Environment,
    progress: &mut dyn FnMut(Progress),
) -> Result<Store, StoreError> {
    let cache = Cache::new(&caches(environment)?, &spec.name, location, None);
    let ready = cache.ready(&spec.need)?;
    let update = spec.update && !spec.offline;
    match ready {
        Some(store) if !update => return Ok(store),
        _ => {}
    }
    let is_file = matches!(location, Location::Bundle(_));
    if spec.offline && !is_file {
        return Err(offline(spec, location, &cache)?);
    }
    // Offline, a bundle is all that is asked.
    let remotes = if spec.offline { Vec::new() } else { remotes(spec)? };
    let sources = Sources { upstream: Some(location), remotes };
    cache.fill(&spec.need, &sources, update, environment, progress)
}

fn offline(spec: &StoreSpec, location: &Location, cache: &Cache) -> Result<StoreError, StoreError> {
    let url = quoted(&location.for_people());
    let dir = quoted(&cache.dir.display().to_string());
    Ok(match Store::at(&cache.dir) {
        Ok(store) => {
            let commits: Vec<_> = missing(&store, &spec.need)?.iter().map(|need| need.commit).collect();
            let ids: Vec<_> = commits.iter().map(|id| format!("{id}:refs/overlaid/commits/{id}")).collect();
            StoreError::Offline {
                command: format!("git --git-dir={dir} fetch {url} {}", ids.join(" ")),
                looked: format!("the cache of {}", location.for_people()),
                commits,
            }
        }
        Err(_) => StoreError::Offline {
            commits: spec.need.iter().map(|need| need.commit).collect(),
            looked: format!("the cache of {}, which is empty", location.for_people()),
            command: format!("git clone --bare {url} {dir}"),
        },
    })
}

fn remotes(spec: &StoreSpec) -> Result<Vec<(&Name, Location)>, StoreError> {
    spec.remotes.iter().map(|(name, url)| Ok((name, Location::parse(url, &spec.repo_root)?))).collect()
}

/// The folder of caches. As the XDG rules have it, a relative path does not count.
fn caches(environment: &Environment) -> Result<PathBuf, StoreError> {
    let absolute = |name: &str| environment.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    Ok(cache.ok_or(StoreError::NoCacheFolder)?.join("overlaid/upstreams"))
}

/// A word that a shell takes as it is.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@=+,%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
