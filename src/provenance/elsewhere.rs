//! Whether upstream had or has a content at another time: before base and pin, or after the pin.
//!
//! Only whole content can be an older one: a change takes nothing back. Any content can be a newer one, and that a path is
//! not there is a content, too. By name, and token by token as far as contents are known and there are not too many
//! bytes to read.

use std::collections::BTreeSet;

use crate::id::{CommitId, UpstreamPath};
use crate::tree::{Content, Entry};
use crate::upstream::{Touch, Upstream, UpstreamError};

use super::history::{self, Histories, PathHistory};
use super::same::Same;
use super::state::Elsewhere;

/// How much of a path's contents at other times is compared token by token; beyond that, names answer.
const MOST_BYTES_FOR_TOKENS: usize = 64 * 1024 * 1024;

/// A content of upstream's at another time.
pub(super) struct Found<'h> {
    pub(super) elsewhere: Elsewhere,
    /// What brought it, if one commit did.
    pub(super) touch: Option<&'h Touch>,
}

impl Found<'_> {
    /// There is none.
    pub(super) fn nowhere() -> Self {
        Self { elsewhere: Elsewhere::Nowhere, touch: None }
    }

    fn unknown(why: &str) -> Self {
        Self { elsewhere: Elsewhere::Unknown(why.to_owned()), touch: None }
    }
}

/// A path of an overlay, with its history.
pub(super) struct Question<'q, 'h> {
    pub(super) path: &'q UpstreamPath,
    /// Whether the overlay names the whole content.
    pub(super) is_whole: bool,
    pub(super) base: Option<CommitId>,
    pub(super) pin: CommitId,
    pub(super) history: &'q PathHistory<'h>,
    pub(super) upstream: &'q dyn Upstream,
}

impl<'h> Question<'_, 'h> {
    /// What does the same as `ours`, the nearest to the pin.
    ///
    /// # Errors
    /// If a content is not here.
    pub(super) fn find(
        &self,
        ours: Option<&Content>,
        histories: &Histories,
    ) -> Result<Found<'h>, UpstreamError> {
        match ours {
            Some(ours) => self.find_content(ours),
            None => self.find_absence(histories),
        }
    }

    fn find_content(&self, ours: &Content) -> Result<Found<'h>, UpstreamError> {
        let history = self.history;
        if let (history::Elsewhere::Missing(why), true) = (&history.elsewhere, self.is_whole) {
            return Ok(Found::unknown(why));
        }
        // What upstream has at base or pin is no older content, though it may have stood there before, too. To what it had at
        // the base, upstream may come back after the pin.
        let base = self.base.filter(|_| self.is_whole);
        let at_base = base.map(|base| self.upstream.entry(base, self.path)).transpose()?.flatten();
        let known = [at_base, self.upstream.entry(self.pin, self.path)?];
        let same = Same::new(self.path, ours);
        let older = history.before.iter().filter(|_| self.is_whole).map(|touch| (Elsewhere::Older, *touch));
        let newer = history.newer.iter().rev().chain(history.carried.iter().rev());
        let newer = newer.map(|touch| (Elsewhere::Newer, *touch));
        let all: Vec<_> = older.chain(newer).collect();
        let is_other = |entry: &Entry| !known.contains(&Some(*entry));
        let found = |elsewhere: Elsewhere, touch: &'h Touch| Found {
            elsewhere,
            touch: Some(history.brought(touch).unwrap_or(touch)),
        };
        let named = all.iter().find(|(_, touch)| touch.after.filter(is_other) == Some(same.entry()));
        if let Some((elsewhere, touch)) = named {
            return Ok(found(elsewhere.clone(), touch));
        }
        let by_tokens = history.elsewhere != history::Elsewhere::Names;
        let mut left = if by_tokens { MOST_BYTES_FOR_TOKENS } else { 0 };
        let mut seen = BTreeSet::new();
        for (elsewhere, touch) in all {
            let Some(entry) = touch.after.filter(is_other) else { continue };
            if entry.mode != same.entry().mode || left == 0 || !seen.insert(entry.id) {
                continue;
            }
            let content = Content { mode: entry.mode, bytes: self.upstream.blob(entry.id)? };
            left = left.saturating_sub(content.bytes.len());
            if same.is(&content) {
                return Ok(found(elsewhere, touch));
            }
        }
        Ok(self.nowhere())
    }

    /// Whether upstream has the path no more after the pin: a commit removed it, or the branch does not have it.
    fn find_absence(&self, histories: &Histories) -> Result<Found<'h>, UpstreamError> {
        let removed = self.history.newer.iter().rev().find(|touch| touch.after.is_none());
        if let Some(removed) = removed {
            return Ok(Found { elsewhere: Elsewhere::Newer, touch: Some(removed) });
        }
        if self.upstream.entry(self.pin, self.path)?.is_some()
            && histories.tip_lacks(self.path, self.pin, self.upstream)?
        {
            return Ok(Found { elsewhere: Elsewhere::Newer, touch: None });
        }
        Ok(self.nowhere())
    }

    /// Nothing was found, if all was there to look at.
    fn nowhere(&self) -> Found<'h> {
        match &self.history.newer_is_missing {
            Some(why) => Found::unknown(why),
            None => Found::nowhere(),
        }
    }
}
