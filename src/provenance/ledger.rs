//! Where each line of a path came from and where it went, over upstream's versions between two commits.
//!
//! Every line of the base has an identity, and so has every line that a later commit brought. A version is a list of
//! identities: lines that a diff aligns with the parent's keep theirs. So a commit *gains* and *loses* lines; a merge
//! only those in which it differs from all its parents, and a line that two of them brought is one line. What stands at
//! the pin and what was lost on the way is known once for all overlays on the path, from small diffs of neighbouring
//! versions.
//!
//! A content has a commit's change of the path if it has all lines that the commit gained and none that it lost.
//! Lines without a letter or a digit (braces, blank ones) can be aligned anywhere, so they do not count, unless a
//! hunk has no others. What a later commit took out again is judged by that later one: who has the later one has
//! all of it. In the same way a line that upstream took out and brought back is judged by what took it out again.
//!
//! What is not text (binary files, links) is one line: it is there as a whole or not at all.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::id::BlobId;
use crate::tree::{Content, Entry, Mode};
use crate::upstream::{Touch, Upstream, UpstreamError};

use super::align::{Aligner, Run};
use super::hunks::each_line as lines;
use joined::Joined;
use tally::Tally;
use texts::{Bytes, ends_of, equal_ends, is_one_line, split};

/// A line's text, by its place among all texts.
type Text = u32;
/// A line's identity.
pub(super) type Line = u32;

/// Bytes of versions that are kept for the next one to be compared with.
const MOST_BYTES_KEPT: usize = 16 << 20;

/// The lines of a version.
#[derive(Debug, Default)]
struct Version {
    lines: Vec<Line>,
}

/// What a commit did to the path.
#[derive(Debug, Default)]
struct Step {
    hunks: Vec<Hunk>,
    /// The mode that it set.
    mode: Option<Mode>,
}

/// Lines gained and lost at one place.
#[derive(Debug)]
struct Hunk {
    gained: Vec<Line>,
    lost: Vec<Line>,
    /// The lines before and after it that stay; no line at the text's ends. `None`: it is not at one place.
    beside: Option<[Option<Line>; 2]>,
}

/// What a content does with a commit's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement {
    /// The commit changed nothing of its own here: a merge that put its parents' changes together.
    Nothing,
    /// The content has it, or upstream itself took it out again.
    Included,
    /// The content takes it out.
    Undone,
}

/// The lines of one path over some versions.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    texts: Vec<Arc<[u8]>>,
    known_texts: HashMap<Arc<[u8]>, Text, foldhash::fast::RandomState>,
    /// The text of each identity.
    text_of: Vec<Text>,
    versions: HashMap<Entry, Arc<Version>>,
    steps: Vec<Step>,
    base: Option<Entry>,
    pin: Option<Entry>,
    /// Contents by their names, as far as they are kept.
    contents: HashMap<Entry, Bytes>,
    kept: usize,
    /// Contents that are needed soon.
    ahead: HashMap<Entry, Arc<[u8]>>,
    aligner: Aligner,
    tally: Tally,
    joined: Joined,
}

/// Touches whose contents are read at once: all of them are in memory then.
const AT_ONCE: usize = 128;

/// How many old lines are skipped to find the one that a new line is.
const NEAR: usize = 32;

impl Ledger {
    /// Follows the path from its content at the base over these touches, oldest first, to that at the pin. `known` are
    /// contents that need not be read, or that upstream does not have.
    ///
    /// # Errors
    /// If a content is not here.
    pub(super) fn follow(
        base: Option<Entry>,
        touches: &[&Touch],
        pin: Option<Entry>,
        known: &[&Content],
        upstream: &dyn Upstream,
    ) -> Result<Self, UpstreamError> {
        let mut ledger = Self { base, pin, ..Self::default() };
        let known: HashMap<Entry, Arc<[u8]>> =
            known.iter().map(|content| (content.entry(), Arc::clone(&content.bytes))).collect();
        ledger.ahead = known.clone();
        if let Some(base) = base {
            ledger.version(base, &[], upstream)?;
        }
        for touches in touches.chunks(AT_ONCE) {
            ledger.read_ahead(touches, &known, upstream)?;
            for touch in touches {
                let step = ledger.step(touch, upstream)?;
                ledger.steps.push(step);
            }
        }
        if let Some(pin) = pin {
            let near: Vec<Entry> = base.into_iter().collect();
            ledger.version(pin, &near, upstream)?;
        }
        (ledger.contents, ledger.ahead) = (HashMap::new(), HashMap::new());
        ledger.settle();
        Ok(ledger)
    }

    fn read_ahead(
        &mut self,
        touches: &[&Touch],
        known: &HashMap<Entry, Arc<[u8]>>,
        upstream: &dyn Upstream,
    ) -> Result<(), UpstreamError> {
        let entries = touches.iter().flat_map(|touch| touch.before.iter().chain([&touch.after]));
        let mut wanted: Vec<Entry> = entries.copied().flatten().collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted.retain(|entry| {
            entry.mode != Mode::Submodule && !self.versions.contains_key(entry) && !known.contains_key(entry)
        });
        let ids: Vec<BlobId> = wanted.iter().map(|entry| entry.id).collect();
        self.ahead = known.clone();
        self.ahead.extend(wanted.into_iter().zip(upstream.blobs(&ids)?));
        Ok(())
    }

    fn step(&mut self, touch: &Touch, upstream: &dyn Upstream) -> Result<Step, UpstreamError> {
        let near_base: Vec<Entry> = self.base.into_iter().collect();
        let parents: Vec<Entry> = touch.before.iter().copied().flatten().collect();
        for parent in &parents {
            self.version(*parent, &near_base, upstream)?;
        }
        let after = match touch.after {
            Some(after) => {
                let is_known = self.versions.contains_key(&after);
                let after = self.version(after, &parents, upstream)?;
                for parent in parents.iter().filter(|_| is_known) {
                    if let Some(parent) = self.versions.get(parent).cloned() {
                        self.join(&parent, &after);
                    }
                }
                self.rooted(after)
            }
            None => Arc::default(),
        };
        let of = |entry: &Option<Entry>| match entry {
            Some(entry) => self.rooted(self.versions.get(entry).cloned().unwrap_or_default()),
            None => Arc::default(),
        };
        let parents: Vec<Arc<Version>> = touch.before.iter().map(of).collect();
        let mode = touch.after.map(|entry| entry.mode);
        let is_new_mode = |parent: &Option<Entry>| parent.is_some_and(|parent| Some(parent.mode) != mode);
        let mode = mode.filter(|_| !touch.before.is_empty() && touch.before.iter().all(is_new_mode));
        let hunks = match parents.as_slice() {
            [] => vec![Hunk { gained: after.lines.clone(), lost: Vec::new(), beside: Some([None; 2]) }],
            [parent] => hunks(&mut self.aligner, &parent.lines, &after.lines),
            parents => {
                self.tally.start(self.text_of.len());
                parents.iter().flat_map(|parent| &parent.lines).for_each(|line| self.tally.add(*line));
                let gained = |line: &Line| self.tally.count(*line) == 0;
                let gained: Vec<Line> = after.lines.iter().copied().filter(gained).collect();
                let everywhere = |line: &Line| self.tally.count(*line) as usize == parents.len();
                let lost: Vec<Line> = parents[0].lines.iter().copied().filter(everywhere).collect();
                self.tally.start(self.text_of.len());
                after.lines.iter().for_each(|line| self.tally.add(*line));
                let lost = lost.into_iter().filter(|line| self.tally.count(*line) == 0).collect();
                vec![self.own_of_merge(Hunk { gained, lost, beside: None }, parents, &after)]
            }
        };
        let is_something = |hunk: &Hunk| !hunk.gained.is_empty() || !hunk.lost.is_empty();
        Ok(Step { hunks: hunks.into_iter().filter(is_something).collect(), mode })
    }

    /// The lines of a content; identities come from these others, the first that has an equal line there.
    fn version(
        &mut self,
        entry: Entry,
        near: &[Entry],
        upstream: &dyn Upstream,
    ) -> Result<Arc<Version>, UpstreamError> {
        if let Some(version) = self.versions.get(&entry) {
            return Ok(Arc::clone(version));
        }
        let bytes = self.content(entry, upstream)?;
        let mut version = Version::default();
        let ends = match near.first().and_then(|near| Some((*near, self.versions.get(near).cloned()?))) {
            Some((near, old)) if is_text(near, entry) => {
                let before = self.read(near, upstream)?;
                self.align(&before, &old, &bytes, entry, &mut version)
            }
            _ => self.append(&bytes, entry, &mut version),
        };
        debug_assert!(ends.iter().copied().eq(ends_of(split(&bytes, entry.mode), 0)));
        self.keep(entry, Bytes { bytes, ends: ends.into() });
        for other in near.iter().skip(1) {
            if let Some(other) = self.versions.get(other).cloned() {
                self.adopt(&other, &mut version, near[0]);
            }
        }
        let version = Arc::new(version);
        self.versions.insert(entry, Arc::clone(&version));
        Ok(version)
    }

    fn content(&self, entry: Entry, upstream: &dyn Upstream) -> Result<Arc<[u8]>, UpstreamError> {
        Ok(match (self.ahead.get(&entry), entry.mode) {
            (Some(bytes), _) => Arc::clone(bytes),
            (None, Mode::Submodule) => Arc::from(entry.id.to_string().into_bytes()),
            (None, _) => upstream.blob(entry.id)?,
        })
    }

    fn read(&mut self, entry: Entry, upstream: &dyn Upstream) -> Result<Bytes, UpstreamError> {
        if let Some(known) = self.contents.get(&entry) {
            return Ok(known.clone());
        }
        let bytes = self.content(entry, upstream)?;
        let read = Bytes { ends: ends_of(split(&bytes, entry.mode), 0).collect(), bytes };
        self.keep(entry, read.clone());
        Ok(read)
    }

    fn keep(&mut self, entry: Entry, read: Bytes) {
        if self.kept + read.bytes.len() > MOST_BYTES_KEPT {
            self.contents.clear();
            self.kept = 0;
        }
        self.kept += read.bytes.len();
        self.contents.insert(entry, read);
    }

    /// Lines that start and end as in the old version are the old ones; between them a diff decides. Says where the
    /// lines end.
    fn align(
        &mut self,
        before: &Bytes,
        old: &Version,
        bytes: &[u8],
        entry: Entry,
        into: &mut Version,
    ) -> Vec<u32> {
        if is_one_line(&before.bytes, entry.mode) || is_one_line(bytes, entry.mode) {
            return self.append(bytes, entry, into);
        }
        let (before, ends) = (&before.bytes, &before.ends);
        let (head, tail) = equal_ends(before, ends, bytes);
        let tail_start = ends.len() - tail;
        let start = |line: usize| line.checked_sub(1).map_or(0, |last| ends[last] as usize);
        let (head_bytes, tail_bytes) = (start(head), before.len() - start(tail_start));
        into.lines.reserve(old.lines.len() + 16);
        into.lines.extend_from_slice(&old.lines[..head]);

        let old_middle = &old.lines[head..tail_start];
        let old_texts: Vec<Text> = old_middle.iter().map(|line| self.text_of[*line as usize]).collect();
        let middle = &bytes[head_bytes..bytes.len() - tail_bytes];
        let texts = self.texts_after(&old_texts, middle);
        let mut at = 0;
        for Run { old: at_old, new: at_new, len } in self.aligner.align(&old_texts, &texts) {
            for text in &texts[at..at_new] {
                let line = self.born(*text);
                into.lines.push(line);
            }
            into.lines.extend_from_slice(&old_middle[at_old..at_old + len]);
            at = at_new + len;
        }
        for text in &texts[at..] {
            let line = self.born(*text);
            into.lines.push(line);
        }
        into.lines.extend_from_slice(&old.lines[tail_start..]);

        let mut new_ends = Vec::with_capacity(into.lines.len());
        new_ends.extend_from_slice(&ends[..head]);
        new_ends.extend(ends_of(lines(middle), head_bytes));
        let moved = |end: &u32| end.wrapping_sub(before.len() as u32).wrapping_add(bytes.len() as u32);
        new_ends.extend(ends[tail_start..].iter().map(moved));
        new_ends
    }

    /// Takes all lines for new ones. Says where they end.
    fn append(&mut self, bytes: &[u8], entry: Entry, into: &mut Version) -> Vec<u32> {
        for line in split(bytes, entry.mode) {
            let text = self.text(line);
            let line = self.born(text);
            into.lines.push(line);
        }
        ends_of(split(bytes, entry.mode), 0).collect()
    }

    /// Takes identities of another parent for lines that the first parent does not have. Those that both have are one.
    fn adopt(&mut self, other: &Version, version: &mut Version, first: Entry) {
        let text = |line: &Line| self.text_of[*line as usize];
        let old: Vec<Text> = other.lines.iter().map(text).collect();
        let new: Vec<Text> = version.lines.iter().map(text).collect();
        // One for each line of the version, and two more for those of the first parent.
        self.tally.start(self.text_of.len());
        version.lines.iter().for_each(|line| self.tally.add(*line));
        if let Some(first) = self.versions.get(&first) {
            first.lines.iter().chain(&first.lines).for_each(|line| self.tally.add(*line));
        }
        let mut both = Vec::new();
        for run in self.aligner.align(&old, &new) {
            let mut are_one = true;
            for offset in 0..run.len {
                let theirs = other.lines[run.old + offset];
                let line = &mut version.lines[run.new + offset];
                let is_taken = matches!(self.tally.count(theirs), 1 | 3);
                if self.tally.count(*line) < 2 && !is_taken {
                    *line = theirs;
                }
                let line = *line;
                are_one = are_one && self.are_one(line, theirs);
            }
            both.extend((!are_one).then_some(run));
        }
        let mut pairs = Vec::new();
        for run in self.anchored(&old, &new, both) {
            pairs.extend((0..run.len).map(|at| (other.lines[run.old + at], version.lines[run.new + at])));
        }
        if let Some(first) = self.versions.get(&first).cloned() {
            self.join_pairs(&pairs, &[other], &[version, &first]);
        }
    }

    /// The texts of lines, most of which follow each other as these old ones do.
    fn texts_after(&mut self, old: &[Text], middle: &[u8]) -> Vec<Text> {
        let mut texts = Vec::with_capacity(old.len() + 16);
        let mut next = 0;
        for line in lines(middle) {
            if let Some(text) = old.get(next).filter(|text| *self.texts[**text as usize] == *line) {
                texts.push(*text);
                next += 1;
                continue;
            }
            let text = self.text(line);
            texts.push(text);
            let near = old[next.min(old.len())..].iter().take(NEAR);
            next += near.clone().position(|old| *old == text).map_or(0, |skipped| skipped + 1);
        }
        texts
    }

    fn text(&mut self, line: &[u8]) -> Text {
        if let Some(text) = self.known_texts.get(line) {
            return *text;
        }
        let text = u32::try_from(self.texts.len()).unwrap_or(Text::MAX);
        let line: Arc<[u8]> = line.into();
        self.texts.push(Arc::clone(&line));
        self.known_texts.insert(line, text);
        text
    }

    fn born(&mut self, text: Text) -> Line {
        self.text_of.push(text);
        u32::try_from(self.text_of.len() - 1).unwrap_or(Line::MAX)
    }

    fn bytes_of(&self, line: Line) -> &[u8] {
        &self.texts[self.text_of[line as usize] as usize]
    }

    fn lines_at(&self, entry: Option<Entry>) -> &[Line] {
        entry.and_then(|entry| self.versions.get(&entry)).map_or(&[], |version| &version.lines)
    }

    /// The lines that upstream lost between base and pin and does not have at the pin, with the last step that
    /// lost each and which line that was, by their text without white space around it.
    pub(super) fn lost(&self) -> HashMap<&[u8], (usize, Line)> {
        let in_pin: HashSet<Line> = self.lines_at(self.pin).iter().copied().collect();
        let mut lost = HashMap::new();
        for (index, step) in self.steps.iter().enumerate() {
            let lines = step.hunks.iter().flat_map(|hunk| &hunk.lost);
            for line in lines.filter(|line| !in_pin.contains(line)) {
                lost.insert(self.bytes_of(*line).trim_ascii(), (index, *line));
            }
        }
        lost
    }

    /// Which of these lines stood in a version, without white space around them.
    pub(super) fn stood<'l>(&self, wanted: &HashSet<&'l [u8]>) -> HashSet<&'l [u8]> {
        self.texts.iter().filter_map(|text| wanted.get(text.trim_ascii()).copied()).collect()
    }

    /// The steps that touch one of these lines, by their texts without white space around them.
    pub(super) fn steps_with(&self, wanted: &HashSet<&[u8]>) -> Vec<usize> {
        let has = |step: &Step| {
            let mut lines = step.hunks.iter().flat_map(|hunk| hunk.gained.iter().chain(&hunk.lost));
            lines.any(|line| wanted.contains(self.bytes_of(*line).trim_ascii()))
        };
        (0..self.steps.len()).filter(|index| has(&self.steps[*index])).collect()
    }
}

/// Lines to look for in versions.
#[derive(Debug)]
pub(super) struct Finder {
    /// Which of the lines a text is.
    of_text: HashMap<Text, usize>,
    count: usize,
}

impl Ledger {
    /// Prepares a search for lines, given without white space around them.
    pub(super) fn finder(&self, wanted: &HashSet<&[u8]>) -> Finder {
        let places: HashMap<&[u8], usize> =
            wanted.iter().enumerate().map(|(place, line)| (*line, place)).collect();
        let texts = self.texts.iter().enumerate();
        let of_text = texts
            .filter_map(|(text, line)| Some((Text::try_from(text).ok()?, *places.get(line.trim_ascii())?)))
            .collect();
        Finder { of_text, count: wanted.len() }
    }

    /// Whether a version has all lines. One that the ledger does not know may have them.
    pub(super) fn has_all(&self, entry: Option<Entry>, wanted: &Finder) -> bool {
        let Some(entry) = entry else { return wanted.count == 0 };
        let Some(version) = self.versions.get(&entry) else { return true };
        let mut found = vec![false; wanted.count];
        for line in &version.lines {
            if let Some(place) = wanted.of_text.get(&self.text_of[*line as usize]) {
                found[*place] = true;
            }
        }
        found.into_iter().all(|found| found)
    }
}

/// The name of a content; `None` if nothing stands there.
pub(super) fn entry_of(content: Option<&Content>) -> Option<Entry> {
    content.map(|content| Entry { mode: content.mode, id: BlobId::of(&content.bytes) })
}

fn is_text(a: Entry, b: Entry) -> bool {
    [a, b].iter().all(|entry| matches!(entry.mode, Mode::File | Mode::Executable))
}

/// What a step from one list of lines to another gains and loses, place by place.
fn hunks(aligner: &mut Aligner, old: &[Line], new: &[Line]) -> Vec<Hunk> {
    let mut hunks = Vec::new();
    let (mut at_old, mut at_new) = (0, 0);
    let end = Run { old: old.len(), new: new.len(), len: 0 };
    for run in aligner.align(old, new).into_iter().chain([end]) {
        if (at_old, at_new) != (run.old, run.new) {
            hunks.push(Hunk {
                gained: new[at_new..run.new].to_vec(),
                lost: old[at_old..run.old].to_vec(),
                beside: Some([at_old.checked_sub(1).map(|before| old[before]), old.get(run.old).copied()]),
            });
        }
        (at_old, at_new) = (run.old + run.len, run.new + run.len);
    }
    hunks
}

mod again;
mod dropped;
mod joined;
mod judge;
mod respelled;
mod tally;
mod texts;

#[cfg(test)]
mod tests;
