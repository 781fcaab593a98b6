//! Which commit removed a line, over the touches of a path and the merges that left out one side.
//!
//! A commit with one parent removes the lines that the parent has and it has not, unless it changes white space only. A
//! merge removes a line that all its parents have. Where a parent lacks it, that side may have removed it before: then it
//! is the commit of that side, among those that the side with the line does not have. If there is none, the line was new on
//! the one side, and the merge left it out.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use super::Added;
use crate::id::{CommitId, UpstreamPath};
use crate::provenance::layout::is_layout_only;
use crate::tree::{Content, Entry, Mode};
use crate::upstream::{Touch, Upstream, UpstreamError};

/// Merges within merges whose sides are followed.
const DEEPEST: usize = 12;

/// Where to look: the touches of a path that `tip` reaches and `exclude` does not, the newest first.
#[derive(Debug, Clone, Copy)]
pub(in crate::provenance) struct Past<'a> {
    pub(in crate::provenance) path: &'a UpstreamPath,
    pub(in crate::provenance) touches: &'a [&'a Touch],
    pub(in crate::provenance) tip: CommitId,
    pub(in crate::provenance) exclude: Option<CommitId>,
}

/// Lines and the commit that removed them.
pub(in crate::provenance) type Removal = (CommitId, Vec<Added>);

/// Who removed each line, and where that stands in the order of commits.
type Removers<'l> = HashMap<&'l [u8], (usize, CommitId)>;

/// Which of the wanted lines stood in the past, and which commit removed each; the newest commit first. And those that did
/// not stand there. Reads no more bytes of contents than that.
///
/// # Errors
/// If a version is not here.
pub(in crate::provenance) fn removals(
    wanted: Vec<Added>,
    past: Past<'_>,
    most_bytes: usize,
    upstream: &dyn Upstream,
) -> Result<(Vec<Removal>, Vec<Added>), UpstreamError> {
    let lines: HashSet<&[u8]> = wanted.iter().map(|line| line.text.as_slice()).collect();
    let mut search = Search { upstream, left: most_bytes, depth: 0 };
    let found = search.removers(&lines, past)?;
    let by: Vec<Option<(usize, CommitId)>> =
        wanted.iter().map(|line| found.get(line.text.as_slice()).copied()).collect();
    Ok(by_commit(wanted.into_iter().zip(by)))
}

/// Lines by the commit that removed them, in the order of the commits' places; and those that none removed.
pub(in crate::provenance) fn by_commit(
    lines: impl Iterator<Item = (Added, Option<(usize, CommitId)>)>,
) -> (Vec<Removal>, Vec<Added>) {
    let mut removals: BTreeMap<(usize, CommitId), Vec<Added>> = BTreeMap::new();
    let mut left = Vec::new();
    for (line, by) in lines {
        match by {
            Some(by) => removals.entry(by).or_default().push(line),
            None => left.push(line),
        }
    }
    (removals.into_iter().map(|((_, commit), lines)| (commit, lines)).collect(), left)
}

/// Who removed each of these lines of which a merge left one side out: the newest such merge, or a commit of the other
/// side; with the merge's place. `has_choices`: a merge that took one side as it is may be the one.
///
/// # Errors
/// If a version is not here.
pub(in crate::provenance) fn left_out<'l>(
    lines: &HashSet<&'l [u8]>,
    past: Past<'_>,
    has_choices: bool,
    most_bytes: usize,
    upstream: &dyn Upstream,
) -> Result<Removers<'l>, UpstreamError> {
    Search { upstream, left: most_bytes, depth: 0 }.left_out(lines, past, has_choices)
}

/// A search for lines that reads no more than so many bytes.
struct Search<'a> {
    upstream: &'a dyn Upstream,
    left: usize,
    depth: usize,
}

/// Which of the lines each version has.
type Has<'l> = HashMap<Entry, Rc<HashSet<&'l [u8]>>>;

impl Search<'_> {
    /// Which of the lines a version has; `None`: enough was read.
    fn lines_of<'l>(
        &mut self,
        entry: Option<Entry>,
        lines: &HashSet<&'l [u8]>,
        has: &mut Has<'l>,
    ) -> Result<Option<Rc<HashSet<&'l [u8]>>>, UpstreamError> {
        let Some(entry) = entry.filter(|entry| entry.mode != Mode::Submodule) else {
            return Ok(Some(Rc::default()));
        };
        if let Some(known) = has.get(&entry) {
            return Ok(Some(Rc::clone(known)));
        }
        let bytes = self.upstream.blob(entry.id)?;
        let Some(left) = self.left.checked_sub(bytes.len()) else { return Ok(None) };
        self.left = left;
        let mut found = HashSet::new();
        if !crate::merge::is_binary(&bytes) {
            let all = bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
            found.extend(all.filter_map(|line| lines.get(line).copied()));
        }
        let found = Rc::new(found);
        has.insert(entry, Rc::clone(&found));
        Ok(Some(found))
    }

    fn removers<'l>(
        &mut self,
        lines: &HashSet<&'l [u8]>,
        past: Past<'_>,
    ) -> Result<Removers<'l>, UpstreamError> {
        let (mut found, mut has) = (Removers::new(), Has::new());
        let mut open = lines.clone();
        // Lines of versions that no later touch replaced: a merge took the other side as it is.
        let mut dropped: HashSet<&'l [u8]> = HashSet::new();
        let mut replaced: HashSet<Entry> = HashSet::new();
        for (place, touch) in past.touches.iter().enumerate() {
            let Some((after, before)) = self.sides(touch, lines, &mut has)?.filter(|_| !open.is_empty())
            else {
                break;
            };
            if touch.after.is_some_and(|entry| !replaced.contains(&entry)) {
                dropped.extend(after.iter().filter(|line| open.remove(*line)));
            }
            replaced.extend(touch.before.iter().copied().flatten());
            let gone: HashSet<&[u8]> = before
                .iter()
                .flat_map(|side| side.iter())
                .filter(|line| !after.contains(*line))
                .copied()
                .collect();
            let gone: Vec<&[u8]> = gone.into_iter().filter(|line| open.contains(line)).collect();
            if gone.is_empty() || self.changes_layout_only(touch, past.path)? {
                continue;
            }
            for line in gone {
                open.remove(line);
                found.insert(line, (place, touch.commit));
            }
            if before.len() > 1 {
                self.follow_sides(touch, place, &before, &mut found, past.path)?;
            }
        }
        let merges = self.left_out(&dropped, past, true)?;
        found.extend(merges.into_iter().map(|(line, (place, by))| (line, (past.touches.len() + place, by))));
        Ok(found)
    }

    /// Which lines stand after a touch, and before it in each parent; `None`: enough was read.
    #[expect(clippy::type_complexity, reason = "one set after it, and one for each parent")]
    fn sides<'l>(
        &mut self,
        touch: &Touch,
        lines: &HashSet<&'l [u8]>,
        has: &mut Has<'l>,
    ) -> Result<Option<(Rc<HashSet<&'l [u8]>>, Vec<Rc<HashSet<&'l [u8]>>>)>, UpstreamError> {
        let Some(after) = self.lines_of(touch.after, lines, has)? else { return Ok(None) };
        let mut before = Vec::with_capacity(touch.before.len());
        for entry in &touch.before {
            let Some(side) = self.lines_of(*entry, lines, has)? else { return Ok(None) };
            before.push(side);
        }
        Ok(Some((after, before)))
    }

    fn changes_layout_only(&self, touch: &Touch, path: &UpstreamPath) -> Result<bool, UpstreamError> {
        let ([Some(before)], Some(after)) = (touch.before.as_slice(), touch.after) else { return Ok(false) };
        let read = |entry: Entry| {
            Ok::<_, UpstreamError>(Content { mode: entry.mode, bytes: self.upstream.blob(entry.id)? })
        };
        Ok(before.mode == after.mode && is_layout_only(path, &read(*before)?, &read(after)?))
    }

    /// Of lines that a merge does not have and one of its parents has: who removed them on the side that lacks them, if
    /// somebody did.
    fn follow_sides<'l>(
        &mut self,
        merge: &Touch,
        place: usize,
        before: &[Rc<HashSet<&'l [u8]>>],
        found: &mut Removers<'l>,
        path: &UpstreamPath,
    ) -> Result<(), UpstreamError> {
        if self.depth >= DEEPEST {
            return Ok(());
        }
        let parents = self.upstream.commit(merge.commit)?.parents;
        for (lacking, lacks) in before.iter().enumerate() {
            for (having, side) in before.iter().enumerate() {
                let is_by_merge = |line: &&&'l [u8]| {
                    found.get(**line) == Some(&(place, merge.commit)) && !lacks.contains(**line)
                };
                let open: HashSet<&'l [u8]> = side.iter().filter(is_by_merge).copied().collect();
                let (Some(tip), Some(other)) = (parents.get(lacking), parents.get(having)) else { continue };
                if open.is_empty() {
                    continue;
                }
                let touches = match self.upstream.history(*tip, Some(*other), std::slice::from_ref(path)) {
                    // Of what is cut off, nothing is known.
                    Err(UpstreamError::Missing { .. }) => continue,
                    touches => touches?,
                };
                let touches: Vec<&Touch> = touches.iter().collect();
                self.depth += 1;
                let past = Past { path, touches: &touches, tip: *tip, exclude: Some(*other) };
                let on_side = self.removers(&open, past)?;
                self.depth -= 1;
                found.extend(on_side.into_iter().map(|(line, (_, by))| (line, (place, by))));
            }
        }
        Ok(())
    }

    fn left_out<'l>(
        &mut self,
        lines: &HashSet<&'l [u8]>,
        past: Past<'_>,
        has_choices: bool,
    ) -> Result<Removers<'l>, UpstreamError> {
        let (mut found, mut has) = (Removers::new(), Has::new());
        if lines.is_empty() {
            return Ok(found);
        }
        let choices = match has_choices {
            true => self.upstream.choices(past.tip, past.exclude, past.path)?,
            false => Vec::new(),
        };
        let touches = past.touches.iter().copied().filter(|touch| touch.before.len() > 1);
        for (place, merge) in touches.chain(&choices).enumerate() {
            let Some((after, before)) = self.sides(merge, lines, &mut has)? else { break };
            let mut is_new = false;
            for line in before.iter().flat_map(|side| side.iter()).filter(|line| !after.contains(*line)) {
                is_new |= !found.contains_key(line);
                found.entry(line).or_insert((place, merge.commit));
            }
            if is_new {
                self.follow_sides(merge, place, &before, &mut found, past.path)?;
            }
        }
        Ok(found)
    }
}
