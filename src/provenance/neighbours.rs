//! Upstream's work next to an overlay: commits between base and pin that touch a file which the overlaid one
//! includes, or which includes it, by the sources at the pin.
//!
//! A hint for a person: a changed signature in a header can break an overlay whose own path did not move. It is no
//! part of any state, and what cannot be read is left out. Files that very many others include say nothing, and a
//! range of very many commits neither; both are left out.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{CommitId, UpstreamPath};
use crate::lex::Language;
use crate::parallel::in_parallel;
use crate::tree::{Listing, Mode};
use crate::upstream::{Upstream, UpstreamError};

use super::history::Histories;
use super::includes::{Files, name_each_other};
use super::{Neighbour, Note, OverlayReport, Side, State};

/// Commits between base and pin beyond which neighbours are not looked for.
const MOST_COMMITS: usize = 10_000;

/// Files on one side of an overlaid one beyond which they are not looked at.
const MOST_FILES: usize = 24;

/// Commits of a neighbour that are named.
const MOST_NAMED: usize = 20;

/// A source file with more bytes than that is generated, or data.
const MOST_BYTES: usize = 4 << 20;

/// Adds notes to all paths whose base is not the pin. `bases` are those of the reports, in their order.
pub(super) fn add(
    reports: &mut [OverlayReport],
    bases: &[Option<CommitId>],
    histories: &Histories,
    pin: CommitId,
    upstream: &dyn Upstream,
) {
    let is_near = |base: &CommitId| {
        let behind = histories.relation_of(*base).ok().and_then(|relation| relation.behind);
        behind.is_some_and(|behind| (1..=MOST_COMMITS).contains(&behind))
    };
    let near: Vec<Option<CommitId>> = bases.iter().map(|base| base.filter(is_near)).collect();
    let wanted = reports.iter().zip(&near).filter(|(_, base)| base.is_some());
    let paths: BTreeSet<UpstreamPath> = wanted
        .flat_map(|(report, _)| report.paths.iter())
        .filter(|path| path.state != State::Unknown && is_source(&path.path))
        .map(|path| path.path.clone())
        .collect();
    if paths.is_empty() {
        return;
    }
    let Ok(sides) = beside(&paths, pin, upstream) else { return };
    let files: BTreeSet<UpstreamPath> =
        sides.values().flat_map(|sides| sides.iter().map(|(file, _)| file.clone())).collect();
    let files: Vec<UpstreamPath> = files.into_iter().collect();
    let near_bases: BTreeSet<CommitId> = near.iter().copied().flatten().collect();
    let Ok(touches) = histories.between(&near_bases, &files, upstream) else { return };
    for (report, base) in reports.iter_mut().zip(near) {
        let Some(base) = base else { continue };
        for path in &mut report.paths {
            for (file, side) in sides.get(&path.path).into_iter().flatten() {
                let commits = touches.get(&(base, file.clone())).map_or(&[][..], Vec::as_slice);
                if let Ok(Some(note)) = note(file, *side, commits, upstream) {
                    path.notes.push(Note::Neighbour(note));
                }
            }
        }
    }
}

/// A path whose text names others in a way that is understood here.
fn is_source(path: &UpstreamPath) -> bool {
    matches!(Language::of_path(path), Some(Language::C | Language::Cpp | Language::Python))
}

/// For each of these paths the files that it includes at a commit, and those that include it there.
///
/// # Errors
/// If the commit's tree is not here.
pub(crate) fn beside(
    paths: &BTreeSet<UpstreamPath>,
    commit: CommitId,
    upstream: &dyn Upstream,
) -> Result<BTreeMap<UpstreamPath, Vec<(UpstreamPath, Side)>>, UpstreamError> {
    if !paths.iter().any(is_source) {
        return Ok(BTreeMap::new());
    }
    Ok(sides(paths, &upstream.listing(commit)?, upstream))
}

/// The note about a file, from the commits that touch it, oldest first; `None` if none does.
///
/// # Errors
/// If a commit is not here.
pub(crate) fn note(
    file: &UpstreamPath,
    side: Side,
    commits: &[CommitId],
    upstream: &dyn Upstream,
) -> Result<Option<Neighbour>, UpstreamError> {
    if commits.is_empty() {
        return Ok(None);
    }
    let named = commits[commits.len().saturating_sub(MOST_NAMED)..].iter();
    let named = named.map(|commit| upstream.commit(*commit)).collect::<Result<_, _>>()?;
    Ok(Some(Neighbour { file: file.clone(), side, count: commits.len(), commits: named }))
}

/// For each path the files that it includes and those that include it.
fn sides(
    paths: &BTreeSet<UpstreamPath>,
    listing: &Listing,
    upstream: &dyn Upstream,
) -> BTreeMap<UpstreamPath, Vec<(UpstreamPath, Side)>> {
    let is_file = |mode: Mode| matches!(mode, Mode::File | Mode::Executable);
    let sources: Vec<(&UpstreamPath, crate::id::BlobId)> = listing
        .iter()
        .filter(|(path, entry)| is_file(entry.mode) && is_source(path))
        .map(|(path, entry)| (path, entry.id))
        .collect();
    let files = Files::new(sources.iter().map(|(path, _)| *path));
    let named = in_parallel(&sources, |(path, id)| {
        let text = upstream.blob(*id).ok().filter(|text| text.len() <= MOST_BYTES);
        (*path, text.map_or_else(BTreeSet::new, |text| files.named_in(path, &text)))
    });
    let naming = name_each_other(&named);
    let named: BTreeMap<&UpstreamPath, BTreeSet<&UpstreamPath>> = named.into_iter().collect();
    paths
        .iter()
        .map(|path| {
            let side = |found: Option<&BTreeSet<&UpstreamPath>>, side: Side| {
                let found = found.filter(|found| found.len() <= MOST_FILES);
                found.into_iter().flatten().map(|file| ((*file).clone(), side)).collect::<Vec<_>>()
            };
            let mut sides = side(named.get(path), Side::Included);
            sides.extend(side(naming.get(path), Side::Including));
            (path.clone(), sides)
        })
        .collect()
}
