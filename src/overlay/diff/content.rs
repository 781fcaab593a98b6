//! What hunks and binary data make of one content.
//!
//! Decides where a hunk goes, and whether binary data is for this content. Knows nothing of paths and other files.

use std::sync::Arc;

use super::hunk::Hunk;
use super::image::{Anchors, Image};
use super::reject::RejectWhy as Why;
use super::{Body, FilePatch, IdPrefix};
use crate::id::BlobId;

/// How far around a hunk its lines are counted.
const REACH: usize = 1_000;

/// Which side of a hunk is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Forward,
    Reverse,
}

/// What became of a hunk.
pub(super) enum Placed {
    /// Applied, so many lines from where it says.
    At { lines: isize, places: usize },
    /// It has no line to look for.
    WithoutContext,
    /// Its lines are not there.
    Nowhere,
}

/// Finds a hunk's lines and replaces them.
pub(super) fn place<'a>(image: &mut Image<'a>, hunk: &'a Hunk, side: Side) -> Placed {
    let (old, new): (Vec<&[u8]>, Vec<&[u8]>) = match side {
        Side::Forward => (hunk.old_lines().collect(), hunk.new_lines().collect()),
        Side::Reverse => (hunk.new_lines().collect(), hunk.old_lines().collect()),
    };
    let (from, to) = match side {
        Side::Forward => (hunk.old, hunk.new),
        Side::Reverse => (hunk.new, hunk.old),
    };
    let wanted = to.start.saturating_sub(1);
    if old.is_empty() && wanted != image.len() {
        // Without a line to look for, only "into an empty file" and "at the very end" can be checked.
        return if from.start == 0 { Placed::Nowhere } else { Placed::WithoutContext };
    }
    let anchors = Anchors::of(from, hunk.trailing);
    let Some(at) = image.find(&old, wanted, anchors) else { return Placed::Nowhere };
    let lines = at as isize - wanted as isize;
    let places = if lines == 0 || anchors != Anchors::NONE { 1 } else { image.places(&old, at, REACH) };
    image.replace(at, old.len(), new.into_iter());
    Placed::At { lines, places }
}

/// Whether a file that refuses the hunks has what they make of it. A hunk that only removes lines proves
/// nothing: what it leaves is there before the change too.
pub(super) fn is_applied(file: &FilePatch, hunks: &[Hunk], content: &[u8]) -> bool {
    if file.new_id.as_ref().is_some_and(|id| id.names(BlobId::of(content))) {
        return true;
    }
    let mut image = Image::new(content);
    hunks.iter().any(Hunk::adds)
        && hunks.iter().all(|hunk| matches!(place(&mut image, hunk, Side::Reverse), Placed::At { .. }))
}

pub(super) fn apply_binary(file: &FilePatch, content: &Arc<[u8]>) -> Result<Arc<[u8]>, Why> {
    let ids = (&file.old_id, &file.new_id);
    let full = |id: &Option<IdPrefix>| id.as_ref().and_then(IdPrefix::full);
    let (Some(old), Some(new)) = (full(ids.0), full(ids.1)) else { return Err(Why::BinaryWithoutIds) };
    let found = BlobId::of(content);
    if file.old_path().is_some() {
        if found != old {
            let applied = found == new;
            return Err(if applied {
                Why::AlreadyApplied
            } else {
                Why::BinaryForOther { expected: old, found }
            });
        }
    } else if !content.is_empty() {
        return Err(Why::AlreadyExists);
    }
    if new.as_bytes() == &[0; 20] {
        return Ok(Arc::from([]));
    }
    let Body::Binary { forward, .. } = &file.body else { return Err(Why::BinaryOmitted) };
    match forward.apply(content) {
        Some(made) if BlobId::of(&made) == new => Ok(made.into()),
        _ => Err(Why::BinaryMakesOther { expected: new }),
    }
}
