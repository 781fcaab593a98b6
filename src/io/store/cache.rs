//! Our own bare repositories, one for each upstream URL, and how they are filled.
//!
//! A repository is made aside and renamed once it is whole, so that one that is there can be used. Only one process
//! fills it at a time, by a lock that ends with the process. Files that a killed git left behind are removed by the
//! next one to hold the lock. Objects are never deleted.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::environment::Environment;
use super::error::{FetchFailure, StoreError};
use super::git::{Git, Progress};
use super::location::Location;
use super::objects::Objects;
use super::{Need, Store};
use crate::id::{CommitId, Name};

/// A repository of ours. It may not be there yet.
pub(super) struct Cache {
    /// The bare repository.
    pub dir: PathBuf,
    /// A clone of somebody's whose objects it borrows; `None`: it has its own.
    pub borrows: Option<Borrowed>,
}

/// The objects of a clone.
pub(super) struct Borrowed {
    objects: PathBuf,
    /// Whether all that is reachable from its branches is in it: not of a shallow or a partial clone.
    whole: bool,
}

impl Borrowed {
    pub fn of(clone: &Objects) -> Self {
        let objects = clone.objects_dir();
        let promised = |name: io::Result<fs::DirEntry>| {
            name.is_ok_and(|name| name.path().extension() == Some(OsStr::new("promisor")))
        };
        let partial = fs::read_dir(objects.join("pack")).is_ok_and(|mut names| names.any(promised));
        Self { objects, whole: !partial && !clone.is_shallow() }
    }
}

/// Where commits may come from.
pub(super) struct Sources<'a> {
    /// The upstream itself; `None` if that is the clone that the cache borrows from.
    pub upstream: Option<&'a Location>,
    /// Forks.
    pub remotes: Vec<(&'a Name, Location)>,
}

impl Cache {
    /// The cache of this upstream below `root`, which is the folder of caches.
    pub fn new(root: &Path, name: &Name, location: &Location, borrows: Option<Borrowed>) -> Self {
        let mut key = Sha256::new();
        key.update(location.for_git().as_encoded_bytes());
        if let Some(borrows) = &borrows {
            key.update(b"\0");
            key.update(borrows.objects.as_os_str().as_encoded_bytes());
        }
        let key: String = key.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Self { dir: root.join(format!("{name}-{key}.git")), borrows }
    }

    /// The store, if it is there and has all that is needed.
    pub fn ready(&self, needs: &[Need]) -> Result<Option<Store>, StoreError> {
        let Ok(store) = Store::at(&self.dir) else { return Ok(None) };
        match missing(&store, needs) {
            Ok(missing) => Ok(missing.is_empty().then_some(store)),
            // It is damaged, so it has to be made anew.
            Err(StoreError::Unreadable(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether objects that were here are gone or cannot be read: somebody deleted or cut files.
    fn is_damaged(&self, needs: &[Need]) -> bool {
        Store::at(&self.dir).is_ok_and(|store| {
            matches!(missing(&store, needs), Err(StoreError::Unreadable(_)))
                || super::names::has_lost_objects(&store.objects)
        })
    }

    /// Waits for the lock and fetches what is missing; with `update`, also what is new.
    pub fn fill(
        &self,
        needs: &[Need],
        sources: &Sources<'_>,
        update: bool,
        environment: &Environment,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Store, StoreError> {
        let lock = self.lock(progress)?;
        if !update && let Some(store) = self.ready(needs)? {
            return Ok(store);
        }
        self.remove_leftovers()?;
        let mut settings = Vec::new();
        if self.borrows.as_ref().is_some_and(|borrows| !borrows.whole) {
            // Its branches do not mean that what they reach is here: ask for all of it.
            settings.push("core.alternateRefsPrefixes=refs/overlaid/none/");
        }
        let mut filling = Filling {
            git: Git { environment, progress, lock: &lock, settings },
            sources,
            upstream_fetched: false,
        };
        if Store::at(&self.dir).is_err() || self.is_damaged(needs) {
            self.make(&mut filling)?;
        } else if update && let Some(upstream) = sources.upstream {
            filling.fetch_branches(&self.dir, upstream)?;
        }
        filling.fetch_missing(&self.dir, needs)?;
        filling.tidy(&self.dir);
        Store::at(&self.dir).map_err(|why| StoreError::NotARepository {
            path: self.dir.clone(),
            variable: None,
            why,
        })
    }

    fn lock(&self, progress: &mut dyn FnMut(Progress)) -> Result<File, StoreError> {
        let path = self.dir.with_extension("lock");
        if let Some(root) = path.parent() {
            fs::create_dir_all(root).map_err(failed("make", root))?;
        }
        let file = File::options().create(true).truncate(false).read(true).write(true).open(&path);
        let file = file.map_err(failed("open", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                progress(Progress::Waiting);
                file.lock().map_err(failed("lock", &path))?;
            }
            Err(TryLockError::Error(source)) => return Err(failed("lock", &path)(source)),
        }
        Ok(file)
    }

    /// Makes the repository aside, fills it, and puts it in its place.
    fn make(&self, filling: &mut Filling<'_, '_>) -> Result<(), StoreError> {
        let new = self.dir.with_extension("new");
        let made = self.make_at(&new, filling);
        if made.is_err() {
            // What remains is removed by the next holder of the lock.
            let _ = fs::remove_dir_all(&new);
        }
        made
    }

    fn make_at(&self, new: &Path, filling: &mut Filling<'_, '_>) -> Result<(), StoreError> {
        fs::create_dir(new).map_err(failed("make", new))?;
        let here = Location::Repository(new.to_owned());
        let init = ["init", "--quiet", "--bare", "--object-format=sha1", "--template="].map(OsStr::new);
        filling.git.run(new, &here, &init)?;
        if let Some(borrows) = &self.borrows {
            let info = new.join("objects/info");
            let mut line = borrows.objects.as_os_str().as_encoded_bytes().to_vec();
            line.push(b'\n');
            fs::create_dir_all(&info).map_err(failed("make", &info))?;
            let file = info.join("alternates");
            fs::write(&file, line).map_err(failed("write", &file))?;
        } else if let Some(upstream) = filling.sources.upstream {
            filling.fetch_branches(new, upstream)?;
            filling.set_head(new, upstream);
        }
        let note = new.join("description");
        fs::write(&note, "A cache of overlaid. It can be deleted at any time.\n")
            .map_err(failed("write", &note))?;
        // What is there is ours, and is no repository or a damaged one.
        remove_all(&self.dir)?;
        fs::rename(new, &self.dir).map_err(failed("rename", new))
    }

    /// What a killed process left: a repository that was never finished, git's lock files and temporary packs.
    /// Only the holder of the lock may do this, and git holds it while it runs.
    fn remove_leftovers(&self) -> Result<(), StoreError> {
        let new = self.dir.with_extension("new");
        remove_all(&new)?;
        for entry in walkdir::WalkDir::new(&self.dir).into_iter().filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy();
            let left = name.ends_with(".lock") || name.starts_with("tmp_") || name.starts_with(".tmp-");
            if left && entry.file_type().is_file() {
                fs::remove_file(entry.path()).map_err(failed("remove", entry.path()))?;
            }
        }
        Ok(())
    }
}

/// Removes a folder, or a file that stands in its place.
fn remove_all(path: &Path) -> Result<(), StoreError> {
    match path.symlink_metadata() {
        Ok(there) if there.is_dir() => fs::remove_dir_all(path).map_err(failed("remove", path)),
        Ok(_) => fs::remove_file(path).map_err(failed("remove", path)),
        Err(_) => Ok(()),
    }
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { what, path, source }
}

/// The needs that the store does not have.
pub(super) fn missing<'a>(store: &Store, needs: &'a [Need]) -> Result<Vec<&'a Need>, StoreError> {
    let mut missing = Vec::new();
    for need in needs {
        match store.has_commit(need.commit) {
            Ok(true) => {}
            Ok(false) => missing.push(need),
            Err(error) => {
                return Err(match store.resolve(&need.commit.to_string()) {
                    Ok(Some(commit)) if commit != need.commit => StoreError::Tag { tag: need.commit, commit },
                    _ => error.into(),
                });
            }
        }
    }
    Ok(missing)
}

struct Filling<'a, 'g> {
    git: Git<'g>,
    sources: &'a Sources<'a>,
    upstream_fetched: bool,
}

impl Filling<'_, '_> {
    fn fetch_branches(&mut self, dir: &Path, upstream: &Location) -> Result<(), StoreError> {
        let all = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"].map(str::to_owned);
        self.git.fetch(dir, upstream, &all, true)?;
        self.upstream_fetched = true;
        Ok(())
    }

    fn fetch_missing(&mut self, dir: &Path, needs: &[Need]) -> Result<(), StoreError> {
        let store = || {
            Store::at(dir).map_err(|why| StoreError::NotARepository {
                path: dir.to_owned(),
                variable: None,
                why,
            })
        };
        let mut not_found = Vec::new();
        let mut failed = None;
        for need in missing(&store()?, needs)? {
            let one = std::slice::from_ref(need);
            if !missing(&store()?, one)?.is_empty() && !self.fetch_one(dir, need, &mut failed)? {
                // It may be here by now, and be a tag.
                missing(&store()?, one)?;
                not_found.push(need.commit);
            }
        }
        if not_found.is_empty() {
            return Ok(());
        }
        if let Some(error) = failed {
            return Err(error);
        }
        let all = self
            .sources
            .upstream
            .into_iter()
            .chain(self.sources.remotes.iter().map(|(_, location)| location));
        Err(StoreError::NotFound { commits: not_found, asked: all.map(Location::for_people).collect() })
    }

    /// Whether the commit is here in the end. A place that cannot be reached is not the last word: another may
    /// have the commit.
    fn fetch_one(
        &mut self,
        dir: &Path,
        need: &Need,
        failed: &mut Option<StoreError>,
    ) -> Result<bool, StoreError> {
        let sources = self.sources;
        let is_named = |name: &Name| need.remote.as_ref() == Some(name);
        let mut places: Vec<(Option<&Name>, &Location)> =
            sources.remotes.iter().map(|(name, location)| (Some(*name), location)).collect();
        places.extend(sources.upstream.map(|upstream| (None, upstream)));
        // The place that the manifest names first, then the upstream, then the others.
        places.sort_by_key(|(name, _)| match name {
            Some(name) if is_named(name) => 0,
            None => 1,
            Some(_) => 2,
        });
        for (name, location) in places {
            match self.fetch_from(dir, need.commit, name, location) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error @ StoreError::Fetch { .. }) => _ = failed.get_or_insert(error),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// The commit alone, then all branches: not every host gives a commit by its id.
    fn fetch_from(
        &mut self,
        dir: &Path,
        commit: CommitId,
        remote: Option<&Name>,
        location: &Location,
    ) -> Result<bool, StoreError> {
        let has = || Store::at(dir).is_ok_and(|store| store.has_commit(commit).unwrap_or(false));
        let borrowed = dir.join("objects/info/alternates").exists();
        if remote.is_none() && !borrowed && !self.upstream_fetched {
            self.fetch_branches(dir, location)?;
            if has() {
                return Ok(true);
            }
        }
        match self.git.fetch(dir, location, &[format!("+{commit}:refs/overlaid/commits/{commit}")], false) {
            Ok(()) => return Ok(has()),
            Err(StoreError::Fetch { failure: FetchFailure::Refused, .. }) => {}
            Err(error) => return Err(error),
        }
        let into = remote.map_or_else(|| "upstream".to_owned(), |name| format!("remotes/{name}"));
        if remote.is_some() || borrowed {
            self.git.fetch(dir, location, &[format!("+refs/heads/*:refs/overlaid/{into}/*")], true)?;
        }
        Ok(has())
    }

    /// Lets `HEAD` name the upstream's main branch. Not knowing it is no reason to fail.
    fn set_head(&mut self, dir: &Path, upstream: &Location) {
        let url = upstream.for_git();
        let args =
            ["ls-remote".as_ref(), "--symref".as_ref(), "--".as_ref(), url.as_os_str(), "HEAD".as_ref()];
        let asked = self.git.run(dir, upstream, &args);
        let said = asked.map(|said| String::from_utf8_lossy(&said).into_owned()).unwrap_or_default();
        let named = said.lines().find_map(|line| line.strip_prefix("ref: ")?.strip_suffix("\tHEAD"));
        let branch = match named {
            Some(branch) => branch.to_owned(),
            None => {
                let args = ["for-each-ref", "--format=%(refname)", "refs/heads"].map(OsStr::new);
                let all = self.git.run(dir, upstream, &args).unwrap_or_default();
                let all = String::from_utf8_lossy(&all).into_owned();
                let usual = ["refs/heads/main", "refs/heads/master"];
                let found = usual.into_iter().find(|usual| all.lines().any(|branch| branch == *usual));
                match found.or(all.lines().next()) {
                    Some(branch) => branch.to_owned(),
                    None => return,
                }
            }
        };
        if branch.starts_with("refs/heads/") {
            let _ = self.git.run(dir, upstream, &["symbolic-ref", "HEAD", &branch].map(OsStr::new));
        }
    }

    /// Makes the next questions fast. Nothing depends on it.
    fn tidy(&mut self, dir: &Path) {
        let here = Location::Repository(dir.to_owned());
        let _ = self.git.run(dir, &here, &["commit-graph", "write", "--reachable"].map(OsStr::new));
        self.git.settings.push("gc.auto=6700");
        let _ = self.git.run(dir, &here, &["gc", "--auto", "--quiet"].map(OsStr::new));
    }
}
