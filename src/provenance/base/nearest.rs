//! Which of many contents is the nearest to one.
//!
//! The distance of two texts is the number of tokens, comments left out, that a shortest edit takes out and puts in;
//! between equals the lines decide, comments included. Where a text cannot be taken apart, words are its tokens. Most
//! contents are ruled out by counting tokens: an edit is never shorter than the difference of the counts.

use std::collections::HashMap;

use crate::id::{BlobId, CommitId, UpstreamPath};
use crate::lex::{self, Language};
use crate::tree::{Content, Entry, Mode};
use crate::upstream::{Upstream, UpstreamError};

use super::Version;
use super::edit_length::edit_length;

/// How far two contents are apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Distance {
    /// Tokens taken out and put in.
    pub tokens: usize,
    /// Lines taken out and put in.
    pub lines: usize,
}

impl Distance {
    /// The sum of two.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { tokens: self.tokens + other.tokens, lines: self.lines + other.lines }
    }
}

/// A content that is near.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// The name of the path when it had this content.
    pub path: UpstreamPath,
    /// The content.
    pub id: BlobId,
    /// How far the overlay is from it.
    pub distance: Distance,
    /// The commits that brought it, oldest first.
    pub since: Vec<CommitId>,
    /// The commits that replaced or removed it, oldest first; empty: it is current.
    pub until: Vec<CommitId>,
}

/// Contents that are read at once.
const AT_ONCE: usize = 128;

/// A token that the one content does not have.
const OTHER: u32 = u32::MAX;

/// One content, to measure others against.
pub(super) struct Measure<'a> {
    language: Option<Language>,
    content: &'a Content,
    numbers: HashMap<Vec<u8>, u32>,
    tokens: Vec<u32>,
    known: HashMap<BlobId, Distance>,
}

impl<'a> Measure<'a> {
    pub(super) fn new(path: &UpstreamPath, content: &'a Content) -> Self {
        let is_text = matches!(content.mode, Mode::File | Mode::Executable);
        let language = Language::of_path(path).filter(|_| is_text);
        let language = language.filter(|language| lex::code_tokens(*language, &content.bytes).is_ok());
        let mut measure =
            Self { language, content, numbers: HashMap::new(), tokens: Vec::new(), known: HashMap::new() };
        for token in split(language, &content.bytes) {
            let next = u32::try_from(measure.numbers.len()).unwrap_or(OTHER);
            measure.tokens.push(*measure.numbers.entry(token).or_insert(next));
        }
        measure
    }

    /// How many tokens the content has.
    pub(super) fn tokens(&self) -> usize {
        self.tokens.len()
    }

    /// The distance to nothing at all.
    pub(super) fn to_nothing(&self) -> Distance {
        Distance { tokens: self.tokens.len(), lines: lines(&self.content.bytes).len() }
    }

    /// The distance to another content.
    pub(super) fn distance(
        &mut self,
        entry: Entry,
        upstream: &dyn Upstream,
    ) -> Result<Distance, UpstreamError> {
        if let Some(known) = self.known.get(&entry.id) {
            return Ok(*known);
        }
        let bytes = upstream.blob(entry.id)?;
        let distance = Distance {
            tokens: edit_length(&self.numbers_of(&bytes), &self.tokens),
            lines: edit_length(&lines(&bytes), &lines(&self.content.bytes)),
        };
        self.known.insert(entry.id, distance);
        Ok(distance)
    }

    fn numbers_of(&self, bytes: &[u8]) -> Vec<u32> {
        let number = |token: Vec<u8>| self.numbers.get(&token).copied().unwrap_or(OTHER);
        split(self.language, bytes).into_iter().map(number).collect()
    }

    /// The difference of the counts of all tokens: no edit is shorter.
    fn least(&self, bytes: &[u8]) -> usize {
        let mut counts = vec![0_i64; self.numbers.len() + 1];
        let other = self.numbers.len();
        for number in &self.tokens {
            counts[*number as usize] += 1;
        }
        let mut others = 0;
        for number in self.numbers_of(bytes) {
            match counts.get_mut(number as usize).filter(|_| (number as usize) < other) {
                Some(count) => *count -= 1,
                None => others += 1,
            }
        }
        counts.iter().map(|count| usize::try_from(count.unsigned_abs()).unwrap_or(0)).sum::<usize>() + others
    }

    /// The nearest versions, the nearest first; of those that are equally near, the newest, which come first.
    ///
    /// # Errors
    /// If a content is not here.
    pub(super) fn nearest(
        &mut self,
        versions: &[Version],
        count: usize,
        upstream: &dyn Upstream,
    ) -> Result<Vec<Nearest>, UpstreamError> {
        let mut order = Vec::new();
        for (chunk, versions) in versions.chunks(AT_ONCE).enumerate() {
            let ids: Vec<BlobId> = versions.iter().map(|version| version.entry.id).collect();
            for (index, bytes) in upstream.blobs(&ids)?.iter().enumerate() {
                order.push((self.least(bytes), chunk * AT_ONCE + index));
            }
        }
        order.sort_unstable();
        let mut best: Vec<(Distance, usize)> = Vec::new();
        for (least, place) in order {
            if best.len() >= count && best.get(count - 1).is_some_and(|(worst, _)| least > worst.tokens) {
                break;
            }
            let distance = self.distance(versions[place].entry, upstream)?;
            let at = best.partition_point(|known| *known < (distance, place));
            best.insert(at, (distance, place));
        }
        best.truncate(count);
        let nearest = |(distance, place): (Distance, usize)| {
            let version = &versions[place];
            Nearest {
                path: version.path.clone(),
                id: version.entry.id,
                distance,
                since: version.since.clone(),
                until: version.until.clone(),
            }
        };
        Ok(best.into_iter().map(nearest).collect())
    }
}

/// The tokens of a text, or its words.
fn split(language: Option<Language>, bytes: &[u8]) -> Vec<Vec<u8>> {
    if let Some(tokens) = language.and_then(|language| lex::code_tokens(language, bytes).ok()) {
        return tokens.into_iter().map(std::borrow::Cow::into_owned).collect();
    }
    let words = bytes.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.map(<[u8]>::to_vec).collect()
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}
