//! Which upstream commit an overlay was derived from, inferred from history.
//!
//! Of all contents that the path ever had, under any name that it ever had, the nearest by tokens is the one that the
//! overlay's file was made from. It was current over a range of commits, and any of them is a right base: the one that
//! a comment in the file names, else the pin, else the commit that brought the content. Never a guess where two
//! contents are equally near: that is for a person.

mod edit_length;
mod header;
mod nearest;
mod versions;

use std::collections::BTreeMap;

use crate::id::{CommitId, UpstreamPath};
use crate::manifest::Kind;
use crate::overlay::diff::{Applied, apply};
use crate::overlay::{Loaded, content_at};
use crate::parallel::in_parallel;
use crate::tree::{Content, Entry, Mode};
use crate::upstream::{Commit, Upstream, UpstreamError};

pub use header::{Mention, mentions};
pub use nearest::{Distance, Nearest};
pub use versions::{Version, versions};

use nearest::Measure;

/// How sure it is that the overlay was derived from a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Equal in code: the overlay changes comments, or nothing.
    Exact,
    /// Nearer than all others, and near.
    High,
    /// Others are as near, or it is far away.
    Low,
}

impl Confidence {
    /// The word of `--json`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Confidence::Exact => "exact",
            Confidence::High => "high",
            Confidence::Low => "low",
        }
    }
}

/// A commit that a comment of the file names.
#[derive(Debug, Clone)]
pub struct Named {
    /// What the comment says, and where.
    pub mention: Mention,
    /// The commit.
    pub commit: CommitId,
    /// How far the overlay is from upstream's content there; `None`: the path is not there.
    pub distance: Option<Distance>,
    /// Whether no other content is nearer.
    pub agrees: bool,
}

/// What was found out about one path.
#[derive(Debug, Clone)]
pub struct PathBase {
    /// The path.
    pub path: UpstreamPath,
    /// The nearest contents, the nearest first; empty if upstream never had the path.
    pub nearest: Vec<Nearest>,
    /// How many contents the path ever had.
    pub versions: usize,
    /// How sure the first is.
    pub confidence: Confidence,
    /// Commits that comments of the file name.
    pub named: Vec<Named>,
}

/// What was found out about an overlay.
#[derive(Debug, Clone)]
pub struct Inferred {
    /// The paths, where the overlay is whole files.
    pub paths: Vec<PathBase>,
    /// The base; `None`: it cannot be inferred.
    pub base: Option<Commit>,
    /// How sure it is.
    pub confidence: Confidence,
    /// Why it is that one: a sentence.
    pub why: String,
}

/// Candidates of each path that are shown.
const SHOWN: usize = 3;

/// Infers the bases of overlays from the history of these heads, of which the first is the pin; one walk for all.
///
/// `resolve` gives the commit that digits in a comment stand for.
///
/// # Errors
/// If the history is not all here.
pub fn infer(
    overlays: &[&Loaded],
    heads: &[CommitId],
    resolve: &(dyn Fn(&str) -> Option<CommitId> + Sync),
    upstream: &dyn Upstream,
) -> Result<Vec<Inferred>, UpstreamError> {
    let paths = overlays.iter().flat_map(|loaded| loaded.files.keys()).cloned().collect();
    let versions = versions(upstream, heads, &paths)?;
    in_parallel(overlays, |loaded| infer_one(loaded, heads, &versions, resolve, upstream))
        .into_iter()
        .collect()
}

fn infer_one(
    loaded: &Loaded,
    heads: &[CommitId],
    versions: &BTreeMap<UpstreamPath, Vec<Version>>,
    resolve: &(dyn Fn(&str) -> Option<CommitId> + Sync),
    upstream: &dyn Upstream,
) -> Result<Inferred, UpstreamError> {
    let Some(pin) = heads.first().copied() else {
        return Ok(none("there is no history to look at"));
    };
    let known = |commit: CommitId, why: &str| {
        let base = upstream.commit(commit)?;
        Ok(Inferred {
            paths: Vec::new(),
            base: Some(base),
            confidence: Confidence::Exact,
            why: why.to_owned(),
        })
    };
    match &loaded.overlay.kind {
        Kind::Files(_) => infer_files(&loaded.files, versions, pin, resolve, upstream),
        Kind::HeldBack { commit, .. } => known(commit.value, "it is what the paths were at that commit"),
        Kind::Commits { commits, .. } => {
            let parents = match commits.first() {
                Some(first) => upstream.commit(first.value)?.parents,
                None => Vec::new(),
            };
            match parents.first() {
                Some(parent) => known(*parent, "it is the parent of the first commit that is picked"),
                None => Ok(none("the first commit that is picked has no parent")),
            }
        }
        Kind::Patch(_) => infer_patch(loaded, heads, pin, upstream),
        Kind::Delete(_) => Ok(none("a path that goes away says nothing about where it came from")),
    }
}

fn none(why: &str) -> Inferred {
    Inferred { paths: Vec::new(), base: None, confidence: Confidence::Low, why: why.to_owned() }
}

fn infer_files(
    files: &BTreeMap<UpstreamPath, Content>,
    versions: &BTreeMap<UpstreamPath, Vec<Version>>,
    pin: CommitId,
    resolve: &(dyn Fn(&str) -> Option<CommitId> + Sync),
    upstream: &dyn Upstream,
) -> Result<Inferred, UpstreamError> {
    let mut paths = Vec::new();
    let mut measures = Vec::new();
    for (path, content) in files {
        let versions = versions.get(path).map_or(&[][..], Vec::as_slice);
        let mut measure = Measure::new(path, content);
        let nearest = measure.nearest(versions, SHOWN, upstream)?;
        // Between contents that are no text there is no near and far, but of one only there is no choice.
        let confidence = match versions {
            [_] if !is_text(content) => Confidence::High,
            _ => confidence(&nearest, measure.tokens()),
        };
        let mut named = Vec::new();
        for mention in mentions(path, &content.bytes) {
            let Some(commit) = resolve(&mention.digits) else { continue };
            let names = versions.iter().map(|version| &version.path);
            let distance = match entry_at(upstream, commit, std::iter::once(path).chain(names))? {
                Some(entry) => Some(measure.distance(entry, upstream)?),
                None => None,
            };
            let agrees = distance
                .is_some_and(|distance| nearest.first().is_none_or(|first| distance <= first.distance));
            named.push(Named { mention, commit, distance, agrees });
        }
        paths.push(PathBase { path: path.clone(), nearest, versions: versions.len(), confidence, named });
        measures.push(measure);
    }
    choose(paths, measures, pin, upstream)
}

/// What stands at a commit under the first of these names that it has.
///
/// # Errors
/// If the commit is not here.
pub fn entry_at<'p>(
    upstream: &dyn Upstream,
    commit: CommitId,
    names: impl Iterator<Item = &'p UpstreamPath>,
) -> Result<Option<Entry>, UpstreamError> {
    let mut tried: Vec<&UpstreamPath> = Vec::new();
    for name in names {
        if tried.contains(&name) {
            continue;
        }
        tried.push(name);
        match upstream.entry(commit, name)? {
            Some(entry) if entry.mode != Mode::Submodule => return Ok(Some(entry)),
            _ => {}
        }
    }
    Ok(None)
}

fn is_text(content: &Content) -> bool {
    content.mode != Mode::Symlink && !content.bytes.contains(&0)
}

fn confidence(nearest: &[Nearest], tokens: usize) -> Confidence {
    let Some(first) = nearest.first() else { return Confidence::Low };
    // The same content under another name is no other content.
    let second = nearest.iter().find(|other| other.id != first.id);
    let is_alone = second.is_none_or(|second| second.distance > first.distance);
    match first.distance.tokens {
        0 => Confidence::Exact,
        distance if is_alone && distance * 4 <= tokens => Confidence::High,
        _ => Confidence::Low,
    }
}

/// One commit for all paths: the one at which they are nearest together.
fn choose(
    paths: Vec<PathBase>,
    mut measures: Vec<Measure<'_>>,
    pin: CommitId,
    upstream: &dyn Upstream,
) -> Result<Inferred, UpstreamError> {
    if paths.iter().all(|path| path.nearest.is_empty()) {
        let why = "upstream never had such a path, so every commit is as good as the pin".to_owned();
        let base = Some(upstream.commit(pin)?);
        return Ok(Inferred { paths, base, confidence: Confidence::Exact, why });
    }
    let mut candidates: Vec<(CommitId, &str)> = Vec::new();
    let named = paths.iter().flat_map(|path| &path.named).filter(|named| named.agrees);
    candidates
        .extend(named.map(|named| (named.commit, "a comment of the file names it, and no other is nearer")));
    candidates.push((pin, "the pin still has the nearest content"));
    for nearest in paths.iter().flat_map(|path| path.nearest.iter()) {
        candidates.extend(nearest.since.iter().rev().map(|since| (*since, "it brought the nearest content")));
    }
    let mut best: Option<(Distance, CommitId, &str)> = None;
    for (commit, why) in candidates {
        let mut sum = Distance::default();
        for (path, measure) in paths.iter().zip(&mut measures) {
            // A path that moved is looked for under the name that it had then.
            let names = path.nearest.iter().map(|nearest| &nearest.path);
            let here = entry_at(upstream, commit, std::iter::once(&path.path).chain(names))?;
            let distance = match here {
                Some(entry) => measure.distance(entry, upstream)?,
                None => measure.to_nothing(),
            };
            sum = sum.plus(distance);
        }
        if best.is_none_or(|(least, ..)| sum < least) {
            best = Some((sum, commit, why));
        }
    }
    let Some((sum, commit, why)) = best else { return Ok(none("no commit has the paths")) };
    let least = paths.iter().filter_map(|path| path.nearest.first());
    let least = least.fold(0, |sum, nearest| sum + nearest.distance.tokens);
    let had: Vec<&PathBase> = paths.iter().filter(|path| !path.nearest.is_empty()).collect();
    let mut confidence = had.iter().map(|path| path.confidence).max().unwrap_or(Confidence::Low);
    let mut why = why.to_owned();
    let lost: usize =
        paths.iter().zip(&measures).filter(|(p, _)| p.nearest.is_empty()).map(|(_, m)| m.tokens()).sum();
    if sum.tokens > least + lost {
        confidence = Confidence::Low;
        why = "the paths come from different commits; it is the one at which they are nearest together"
            .to_owned();
    } else if confidence == Confidence::Low {
        why = format!("{why}, but others are as near, or all are far away");
    }
    Ok(Inferred { base: Some(upstream.commit(commit)?), paths, confidence, why })
}

/// A patch comes from a commit to which it applies at the very lines that it names.
fn infer_patch(
    loaded: &Loaded,
    heads: &[CommitId],
    pin: CommitId,
    upstream: &dyn Upstream,
) -> Result<Inferred, UpstreamError> {
    let Some(patch) = &loaded.patch else { return Ok(none("the patch cannot be read")) };
    let applies = |commit: CommitId| -> Result<Option<usize>, UpstreamError> {
        let at = |path: &UpstreamPath| content_at(upstream, commit, path);
        Ok(match apply(patch, &at)? {
            Applied::Applied { offsets, .. } => Some(offsets.len()),
            Applied::Refused(_) => None,
        })
    };
    let paths: Vec<UpstreamPath> = patch.touched().into_iter().collect();
    let question = crate::upstream::Walk { heads, between: &paths, common: &paths };
    let mut commits = vec![pin];
    commits.extend(upstream.walk(&question)?.touches.into_iter().map(|reached| reached.touch.commit));
    commits.dedup();
    let mut best: Option<(usize, CommitId)> = None;
    let mut look = |commits: Vec<CommitId>| -> Result<Option<(usize, CommitId)>, UpstreamError> {
        for commit in commits {
            if let Some(offsets) = applies(commit)?
                && best.is_none_or(|(least, _)| offsets < least)
            {
                best = Some((offsets, commit));
                if offsets == 0 {
                    break;
                }
            }
        }
        Ok(best)
    };
    let by_touches = look(commits)?;
    // A merge that goes back to an older content touches nothing, and may be newer.
    let best = match by_touches {
        Some((0, commit)) if commit == pin => by_touches,
        Some((0, commit)) => {
            let merges = merges_back(heads, Some(commit), &paths, upstream)?;
            let mut newer = None;
            for merge in merges {
                if applies(merge)? == Some(0) {
                    newer = Some((0, merge));
                    break;
                }
            }
            newer.or(by_touches)
        }
        _ => look(merges_back(heads, None, &paths, upstream)?)?,
    };
    Ok(match best {
        Some((offsets, commit)) => Inferred {
            paths: Vec::new(),
            base: Some(upstream.commit(commit)?),
            confidence: if offsets == 0 { Confidence::High } else { Confidence::Low },
            why: match offsets {
                0 => {
                    "it is the newest commit to which the patch applies at the lines that it names".to_owned()
                }
                _ => "the patch applies there, but not at the lines that it names".to_owned(),
            },
        },
        None => none("the patch applies to no commit at which one of its paths changed"),
    })
}

/// The merges that take one parent's content of one of these paths as it is, the newest first: those that are no older than
/// a commit, and that it does not have.
fn merges_back(
    heads: &[CommitId],
    since: Option<CommitId>,
    paths: &[UpstreamPath],
    upstream: &dyn Upstream,
) -> Result<Vec<CommitId>, UpstreamError> {
    let oldest = match since {
        Some(since) => upstream.commit(since)?.committed,
        None => i64::MIN,
    };
    let mut merges: Vec<(std::cmp::Reverse<i64>, CommitId)> = Vec::new();
    for head in heads {
        for path in paths {
            for merge in upstream.choices(*head, since, path)? {
                let committed = upstream.commit(merge.commit)?.committed;
                let merge = (std::cmp::Reverse(committed), merge.commit);
                if committed >= oldest && !merges.contains(&merge) {
                    merges.push(merge);
                }
            }
        }
    }
    merges.sort_by_key(|(committed, _)| *committed);
    Ok(merges.into_iter().map(|(_, commit)| commit).collect())
}
