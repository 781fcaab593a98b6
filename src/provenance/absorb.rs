//! How much of a change upstream has by now: all of it, a part of it, or all of it once and no more.

use std::collections::HashSet;

use crate::id::UpstreamPath;
use crate::lex::{self, Language};
use crate::merge::{Labels, Merged, Style, merge};
use crate::tree::{Content, Entry, Mode};
use crate::upstream::{Touch, Upstream, UpstreamError};

use super::hunks;
use super::ledger::Ledger;
use super::resurrect::{OnLine, on_lines};
use super::state::does_the_same;

/// How sides are called where nobody sees it.
const LABELS: Labels<'static> = Labels { base: "base", ours: "overlay", theirs: "upstream" };

/// Versions at which a merge is tried, at most.
const MOST_MERGES: usize = 200;

/// Whether upstream's content has all that the change from `base` to `ours` adds: merged, nothing new comes out.
/// By lines first, then by tokens without comments. A change of comments only is nothing that could be had.
pub(crate) fn is_absorbed(
    path: &UpstreamPath,
    base: Option<&Content>,
    ours: Option<&Content>,
    theirs: Option<&Content>,
) -> bool {
    can_be_absorbed(path, base, ours, theirs)
        && is_in(path, base, ours, theirs, &merge(base, ours, theirs, Style::Merge, LABELS))
}

/// As [`is_absorbed`], where the merge of base, ours and theirs is known.
pub(super) fn is_absorbed_as(
    path: &UpstreamPath,
    base: Option<&Content>,
    ours: Option<&Content>,
    theirs: Option<&Content>,
    merged: &Merged,
) -> bool {
    can_be_absorbed(path, base, ours, theirs) && is_in(path, base, ours, theirs, merged)
}

/// Whether both sides changed something.
fn can_be_absorbed(
    path: &UpstreamPath,
    base: Option<&Content>,
    ours: Option<&Content>,
    theirs: Option<&Content>,
) -> bool {
    !does_the_same(path, ours, base) && !does_the_same(path, base, theirs)
}

fn is_in(
    path: &UpstreamPath,
    base: Option<&Content>,
    ours: Option<&Content>,
    theirs: Option<&Content>,
    merged: &Merged,
) -> bool {
    match merged {
        Merged::Clean(merged) => does_the_same(path, merged.as_ref(), theirs),
        Merged::Conflict(_) => is_absorbed_by_tokens(path, base, ours, theirs).unwrap_or(false),
    }
}

/// The same, a token a line: a comment beside a change is not in its way. `None` if that cannot be told.
fn is_absorbed_by_tokens(
    path: &UpstreamPath,
    base: Option<&Content>,
    ours: Option<&Content>,
    theirs: Option<&Content>,
) -> Option<bool> {
    let language = Language::of_path(path)?;
    let tokens = |content: Option<&Content>| {
        let content = content.filter(|content| matches!(content.mode, Mode::File | Mode::Executable))?;
        let mut text = Vec::with_capacity(content.bytes.len() * 2);
        for token in lex::code_tokens(language, &content.bytes).ok()? {
            for byte in token.iter() {
                match byte {
                    b'\n' => text.extend_from_slice(b"\\n"),
                    b'\\' => text.extend_from_slice(b"\\\\"),
                    byte => text.push(*byte),
                }
            }
            text.push(b'\n');
        }
        Some(Content { mode: content.mode, bytes: text.into() })
    };
    let (base, ours, theirs) = (tokens(base)?, tokens(ours)?, tokens(theirs)?);
    Some(match merge(Some(&base), Some(&ours), Some(&theirs), Style::Merge, LABELS) {
        Merged::Clean(merged) => merged.as_ref() == Some(&theirs),
        Merged::Conflict(_) => false,
    })
}

/// Lines of the overlay's content, from 1, both ends included.
pub(super) type Lines = (usize, usize);

/// The parts of the change from `base` to `ours` that `theirs` has, and those that it has not. Parts that change
/// comments only are left out. Of a change that is one part, neither: it has no halves.
pub(super) fn halves(
    path: &UpstreamPath,
    base: &Content,
    ours: &Content,
    theirs: &Content,
) -> (Vec<Lines>, Vec<Lines>) {
    if [base, ours, theirs].iter().any(|side| crate::merge::is_binary(&side.bytes)) {
        return (Vec::new(), Vec::new());
    }
    let parts = hunks::hunks(&hunks::lines(&base.bytes), &hunks::lines(&ours.bytes));
    if parts.len() < 2 {
        return (Vec::new(), Vec::new());
    }
    let present = hunks::present(&base.bytes, &ours.bytes, &theirs.bytes);
    let (of_base, of_ours) = (on_lines(path, &base.bytes), on_lines(path, &ours.bytes));
    let mut halves = (Vec::new(), Vec::new());
    for (part, present) in parts.into_iter().zip(present) {
        let has_code = |range: &std::ops::Range<usize>, lines: &[OnLine]| {
            range.clone().any(|line| lines.get(line).is_none_or(|on| on.code))
        };
        if !has_code(&part.old, &of_base) && !has_code(&part.new, &of_ours) {
            continue;
        }
        let lines = (part.new.start + 1, part.new.end.max(part.new.start + 1));
        if present { halves.0.push(lines) } else { halves.1.push(lines) }
    }
    halves
}

/// What became of a change between base and pin.
#[derive(Debug, Default)]
pub(super) struct Passage {
    /// The place of the touch that brought all of it, so that it was all there from then on.
    pub(super) taken_in: Option<usize>,
    /// The place of the touch after which it was not all there any more.
    pub(super) taken_out: Option<usize>,
}

/// When upstream took a change in, and out again. The last time counts.
///
/// # Errors
/// If a version is not here.
pub(super) fn passage(
    path: &UpstreamPath,
    base: Option<&Content>,
    ours: Option<&Content>,
    ledger: &Ledger,
    touches: &[&Touch],
    upstream: &dyn Upstream,
) -> Result<Passage, UpstreamError> {
    let bytes = |content: Option<&Content>| content.map_or_else(|| [].into(), |c| c.bytes.clone());
    let (old, new) = (bytes(base), bytes(ours));
    let (old_lines, new_lines) = (hunks::lines(&old), hunks::lines(&new));
    let says_something = |line: &&[u8]| line.iter().any(u8::is_ascii_alphanumeric);
    let parts = hunks::hunks(&old_lines, &new_lines);
    let of_part = |part: &hunks::Hunk| [&old_lines[part.old.clone()], &new_lines[part.new.clone()]].concat();
    let wanted: HashSet<&[u8]> =
        parts.iter().flat_map(of_part).map(<[u8]>::trim_ascii).filter(says_something).collect();
    let mut candidates = ledger.steps_with(&wanted);
    let modes = |content: Option<&Content>| content.map(|content| content.mode);
    if modes(base) != modes(ours) {
        candidates = (0..touches.len()).collect();
    }
    let skipped = candidates.len().saturating_sub(MOST_MERGES);
    candidates.drain(..skipped);
    if candidates.is_empty() {
        return Ok(Passage::default());
    }
    let on_lines = on_lines(path, &new);
    let is_plain = |line: &usize| on_lines.get(*line).is_none_or(|on| on.code && !on.comment);
    let plain = parts.into_iter().flat_map(|part| part.new).filter(is_plain);
    let needed: HashSet<&[u8]> =
        plain.map(|line| new_lines[line].trim_ascii()).filter(says_something).collect();
    let needed = ledger.finder(&needed);
    let read = |entry: Option<Entry>| match entry {
        Some(entry) if entry.mode != Mode::Submodule => {
            Ok::<_, UpstreamError>(Some(Content { mode: entry.mode, bytes: upstream.blob(entry.id)? }))
        }
        _ => Ok(None),
    };
    let mut passage = Passage::default();
    let mut known: std::collections::HashMap<Option<Entry>, bool> = std::collections::HashMap::new();
    let mut has_it = |entry: Option<Entry>| -> Result<bool, UpstreamError> {
        if let Some(known) = known.get(&entry) {
            return Ok(*known);
        }
        // A version that lacks one of the added lines needs no merge.
        let has_it = ledger.has_all(entry, &needed) && is_absorbed(path, base, ours, read(entry)?.as_ref());
        known.insert(entry, has_it);
        Ok(has_it)
    };
    for index in candidates {
        let touch = touches[index];
        let mut before = false;
        for entry in &touch.before {
            before |= has_it(*entry)?;
        }
        match (before, has_it(touch.after)?) {
            (false, true) => passage = Passage { taken_in: Some(index), taken_out: None },
            (true, false) => passage.taken_out = Some(index),
            _ => {}
        }
    }
    Ok(passage)
}
