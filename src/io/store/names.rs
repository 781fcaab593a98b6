//! Names that a person types for a commit: branches, tags, ids and their beginnings.
//!
//! Decides which commit a name means in a store. Never used for a manifest, which has full ids only.

use std::fmt;

use bstr::{BString, ByteSlice};
use gix::objs::Kind;

use super::objects::{Objects, Oid, sentence};
use crate::id::CommitId;
use crate::upstream::UpstreamError;

/// Why a name has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolveError {
    /// The digits start the ids of several commits.
    Ambiguous {
        /// What was asked for.
        rev: String,
        /// The commits, in the order of their ids.
        commits: Vec<CommitId>,
    },
    /// The name stands for something else.
    NotACommit {
        /// What was asked for.
        rev: String,
        /// `blob` or `tree`.
        what: String,
    },
    /// The store could not answer.
    Store(UpstreamError),
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResolveError::Ambiguous { rev, commits } => {
                write!(f, "`{}` is ambiguous: {} commits start with it", rev.escape_debug(), commits.len())
            }
            ResolveError::NotACommit { rev, what } => {
                write!(f, "`{}` is a {what}, not a commit", rev.escape_debug())
            }
            ResolveError::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ResolveError {}

impl From<UpstreamError> for ResolveError {
    fn from(error: UpstreamError) -> Self {
        ResolveError::Store(error)
    }
}

/// The fewest digits that are taken for the beginning of an id, as in git.
const MIN_DIGITS: usize = 4;

/// The folders in which a name is looked up, in this order. In a person's clone `origin` is what the upstream
/// has; the branches of the clone itself are that person's.
const PLACES: [&str; 4] = ["refs/tags/", "refs/remotes/origin/", "refs/heads/", "refs/remotes/"];

/// The commit that a name stands for, or one that is counted from it: `main~2`, `v1^2`. `None` if there is none.
pub(super) fn resolve(objects: &Objects, rev: &str) -> Result<Option<CommitId>, ResolveError> {
    // No name has these signs.
    let end = rev.find(['~', '^']).unwrap_or(rev.len());
    let (name, mut steps) = rev.split_at(end);
    let mut found = named(objects, name)?;
    while let (Some(commit), false) = (found, steps.is_empty()) {
        let mut signs = steps.chars();
        let first = signs.next();
        let rest = signs.as_str();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = rest.split_at(digits);
        let Ok(number) = (if number.is_empty() { Ok(1) } else { number.parse::<usize>() }) else {
            return Ok(None);
        };
        found = match first {
            Some('~') => first_ancestor(objects, commit, number)?,
            Some('^') if number == 0 => Some(commit),
            Some('^') => parent(objects, commit, number)?,
            _ => return Ok(None),
        };
        steps = rest;
    }
    Ok(found)
}

/// The commit so many first parents before.
fn first_ancestor(
    objects: &Objects,
    mut commit: CommitId,
    count: usize,
) -> Result<Option<CommitId>, UpstreamError> {
    for _ in 0..count {
        match parent(objects, commit, 1)? {
            Some(next) => commit = next,
            None => return Ok(None),
        }
    }
    Ok(Some(commit))
}

/// A parent, counted from 1.
fn parent(objects: &Objects, commit: CommitId, number: usize) -> Result<Option<CommitId>, UpstreamError> {
    let header = objects.read(|reader| reader.header(commit.as_bytes()))?;
    Ok(header.parents.get(number - 1).map(|id| CommitId::from_bytes(*id)))
}

/// The commit that a name stands for; `None` if nothing has that name.
fn named(objects: &Objects, rev: &str) -> Result<Option<CommitId>, ResolveError> {
    let digits = !rev.is_empty() && rev.len() <= 40 && rev.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Ok(id) = CommitId::parse(rev) {
        return peel(objects, rev, *id.as_bytes());
    }
    let full = if rev == "HEAD" || rev.starts_with("refs/") { &[""][..] } else { &PLACES[..] };
    for place in full {
        if let Some(id) = find_ref(objects, &format!("{place}{rev}"))? {
            let found = peel(objects, rev, id)?;
            // A name that is there stands for something, though that may be lost.
            return found.map_or_else(|| Err(objects.missing("commit", &id).into()), |found| Ok(Some(found)));
        }
    }
    if digits && rev.len() >= MIN_DIGITS { abbreviated(objects, rev) } else { Ok(None) }
}

/// The branch that a clone of this store would start with, without `refs/heads/`.
pub(super) fn default_branch(objects: &Objects) -> Option<String> {
    let repository = objects.names();
    let target = |name: &str| {
        if let Some(names) = objects.table().ok()? {
            return names.target(name).cloned();
        }
        let reference = repository.try_find_reference(name).ok().flatten()?;
        reference.inner.target.try_name().map(|name| name.as_bstr().to_owned())
    };
    let origin = target("refs/remotes/origin/HEAD");
    let branch = match &origin {
        Some(name) => name.strip_prefix(b"refs/remotes/origin/")?.to_owned(),
        None => target("HEAD")?.strip_prefix(b"refs/heads/")?.to_owned(),
    };
    String::from_utf8(branch).ok()
}

/// The commits of all branches and tags, each once.
///
/// # Errors
/// If they cannot be listed.
pub(super) fn all(objects: &Objects) -> Result<Vec<CommitId>, UpstreamError> {
    let failed = |error: &(dyn std::error::Error + 'static)| UpstreamError::Unreadable {
        what: "the names of branches and tags".to_owned(),
        why: sentence(error),
    };
    let mut named: Vec<(BString, Oid)> = Vec::new();
    if let Some(names) = objects.table()? {
        named.extend(names.iter().map(|(name, id)| (name.clone(), *id)));
    }
    let repository = objects.names();
    let references = repository.references().map_err(|error| failed(&error))?;
    for reference in references.all().map_err(|error| failed(&error))? {
        // A name that cannot be read, or that stands for no commit, leads to no history.
        let Ok(reference) = reference else { continue };
        let name = reference.name().as_bstr().to_owned();
        let id = reference.try_id().and_then(|id| id.as_bytes().first_chunk().copied());
        named.extend(id.map(|id| (name, id)));
    }
    let mut commits = Vec::new();
    for (name, id) in named {
        if let Ok(Some(commit)) = peel(objects, &name.to_string(), id)
            && !commits.contains(&commit)
        {
            commits.push(commit);
        }
    }
    commits.sort();
    Ok(commits)
}

/// Whether a name stands for an object that is not here.
pub(super) fn has_lost_objects(objects: &Objects) -> bool {
    let repository = objects.names();
    let Ok(references) = repository.references() else { return false };
    let Ok(mut all) = references.all() else { return false };
    all.any(|reference| {
        let id = reference.ok().and_then(|reference| reference.try_id()?.as_bytes().first_chunk().copied());
        id.is_some_and(|id| !objects.read(|reader| reader.has(&id)))
    })
}

/// The branches of the upstream: what a person's clone has of `origin`, else the branches here.
pub(super) fn branches(objects: &Objects) -> Vec<String> {
    let repository = objects.names();
    let below = |prefix: &str| -> Vec<String> {
        if let Ok(Some(names)) = objects.table() {
            let names = names.iter().filter_map(|(name, _)| name.strip_prefix(prefix.as_bytes()));
            let names = names.filter_map(|name| String::from_utf8(name.to_owned()).ok());
            return names.filter(|name| name != "HEAD").collect();
        }
        let Ok(platform) = repository.references() else { return Vec::new() };
        let Ok(found) = platform.prefixed(prefix) else { return Vec::new() };
        let names = found.filter_map(Result::ok).filter_map(|reference| {
            let name = reference.name().as_bstr().strip_prefix(prefix.as_bytes())?.to_owned();
            String::from_utf8(name).ok()
        });
        names.filter(|name| name != "HEAD").collect()
    };
    let mut names = below("refs/remotes/origin/");
    if names.is_empty() {
        names = below("refs/heads/");
    }
    names.sort();
    names
}

fn find_ref(objects: &Objects, name: &str) -> Result<Option<Oid>, UpstreamError> {
    if let Some(names) = objects.table()? {
        return Ok(names.get(name));
    }
    let repository = objects.names();
    let unreadable = |why: String| UpstreamError::Unreadable { what: name.escape_debug().to_string(), why };
    if gix::validate::reference::name(name.into()).is_err() {
        return Ok(None);
    }
    let Some(mut reference) =
        repository.try_find_reference(name).map_err(|error| unreadable(sentence(&error)))?
    else {
        return Ok(None);
    };
    // A branch with no commit yet (HEAD of an empty repository) stands for nothing.
    let mut hops = 0;
    while let Some(next) = reference.inner.target.try_name().map(ToOwned::to_owned) {
        hops += 1;
        if hops > 5 {
            return Err(unreadable("it points to itself".to_owned()));
        }
        match repository.try_find_reference(next.as_ref()).map_err(|error| unreadable(sentence(&error)))? {
            Some(found) => reference = found,
            None => return Ok(None),
        }
    }
    Ok(reference.inner.target.try_id().and_then(|id| id.as_bytes().first_chunk().copied()))
}

/// Follows annotated tags to the commit.
fn peel(objects: &Objects, rev: &str, mut id: Oid) -> Result<Option<CommitId>, ResolveError> {
    objects.read(|reader| {
        loop {
            let Some((kind, data)) = reader.try_any(&id)? else { return Ok(None) };
            match kind {
                Kind::Commit => return Ok(Some(CommitId::from_bytes(id))),
                Kind::Tag => {
                    let target = data.lines().next().and_then(|line| line.strip_prefix(b"object "));
                    let target = target.and_then(|id| CommitId::parse(id.to_str().ok()?).ok());
                    id = *target
                        .ok_or_else(|| {
                            super::objects::unreadable(Kind::Tag, &id, "it names no object".to_owned())
                        })?
                        .as_bytes();
                }
                Kind::Blob | Kind::Tree => {
                    return Err(ResolveError::NotACommit { rev: rev.to_owned(), what: kind.to_string() });
                }
            }
        }
    })
}

/// The commit whose id starts with these digits.
fn abbreviated(objects: &Objects, rev: &str) -> Result<Option<CommitId>, ResolveError> {
    let mut commits = Vec::new();
    for id in objects.read(|reader| reader.starting_with(rev))? {
        // Blobs and trees that start with the same digits are not what was asked for.
        if let Ok(Some(commit)) = peel(objects, rev, id)
            && !commits.contains(&commit)
        {
            commits.push(commit);
        }
    }
    commits.sort();
    match commits[..] {
        [] => Ok(None),
        [commit] => Ok(Some(commit)),
        _ => Err(ResolveError::Ambiguous { rev: rev.to_owned(), commits }),
    }
}
