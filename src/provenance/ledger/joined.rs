//! Lines that came by two ways and are one: a fix that was picked to another branch, and both were merged.
//!
//! Each way gives the line an identity of its own. Where a diff of a parent with a merge (or with a content that was known
//! before), or of a version that merges dropped with the pin, aligns two of them, they stand for one line from then on:
//! whoever brought it under either of them brought it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Entry, Hunk, Ledger, Line, Run, Text, Touch, Version};

/// Which identities are one.
#[derive(Debug, Default)]
pub(super) struct Joined {
    /// For each identity one that stands for it, too, or itself. Those that came later stand for themselves.
    next: Vec<Line>,
}

impl Joined {
    pub(super) fn is_empty(&self) -> bool {
        self.next.is_empty()
    }

    /// The identity that stands for all that are one with this one.
    pub(super) fn root(&self, mut line: Line) -> Line {
        while let Some(next) = self.next.get(line as usize).filter(|next| **next != line) {
            line = *next;
        }
        line
    }

    fn join(&mut self, a: Line, b: Line) {
        let (a, b) = (self.root(a), self.root(b));
        let (first, last) = (a.min(b), a.max(b));
        let known = u32::try_from(self.next.len()).unwrap_or(Line::MAX);
        self.next.extend(known..=last);
        self.next[last as usize] = first;
    }
}

impl Ledger {
    /// Of what a merge gains and loses by the identities of lines, that which it does by their texts, too: where a parent moved
    /// lines, a diff with another parent may not find them again.
    pub(super) fn own_of_merge(&self, hunk: Hunk, parents: &[Arc<Version>], after: &Version) -> Hunk {
        if hunk.gained.is_empty() && hunk.lost.is_empty() {
            return hunk;
        }
        let text = |line: &Line| self.text_of[*line as usize];
        let wanted: HashSet<Text> = hunk.gained.iter().chain(&hunk.lost).map(text).collect();
        let times = |version: &Version| {
            let mut times: HashMap<Text, usize> = HashMap::new();
            let texts = version.lines.iter().map(text).filter(|text| wanted.contains(text));
            texts.for_each(|text| *times.entry(text).or_default() += 1);
            times
        };
        let (now, before) = (times(after), parents.iter().map(|parent| times(parent)).collect::<Vec<_>>());
        let of = |times: &HashMap<Text, usize>, line: &Line| times.get(&text(line)).copied().unwrap_or(0);
        let Hunk { mut gained, mut lost, beside } = hunk;
        gained.retain(|line| before.iter().all(|before| of(before, line) < of(&now, line)));
        lost.retain(|line| before.iter().all(|before| of(before, line) > of(&now, line)));
        Hunk { gained, lost, beside }
    }

    /// Takes lines of a parent and of a content that a diff aligns for one, each pair.
    pub(super) fn join(&mut self, parent: &Version, after: &Version) {
        let texts = |version: &Version| -> Vec<Text> {
            version.lines.iter().map(|line| self.text_of[*line as usize]).collect()
        };
        let (old, new) = (texts(parent), texts(after));
        let mut runs = self.aligner.align(&old, &new);
        runs.retain(|run| {
            let theirs = &parent.lines[run.old..run.old + run.len];
            theirs.iter().zip(&after.lines[run.new..]).any(|(their, our)| !self.are_one(*their, *our))
        });
        let mut pairs = Vec::new();
        for run in self.anchored(&old, &new, runs) {
            pairs.extend((0..run.len).map(|at| (parent.lines[run.old + at], after.lines[run.new + at])));
        }
        self.join_pairs(&pairs, &[parent], &[after]);
    }

    /// Whether two identities stand for one line.
    pub(super) fn are_one(&self, a: Line, b: Line) -> bool {
        a == b || self.joined.root(a) == self.joined.root(b)
    }

    /// The runs that have a text which stands once on either side: lines that stand there often can be aligned anywhere.
    pub(super) fn anchored(&self, old: &[Text], new: &[Text], mut runs: Vec<Run>) -> Vec<Run> {
        if runs.is_empty() {
            return runs;
        }
        let count = |texts: &[Text]| {
            let mut counts = vec![0_u8; self.texts.len()];
            for text in texts {
                let count = &mut counts[*text as usize];
                *count = count.saturating_add(1);
            }
            counts
        };
        let (of_old, of_new) = (count(old), count(new));
        let is_anchor = |text: &Text| of_old[*text as usize] == 1 && of_new[*text as usize] == 1;
        runs.retain(|run| old[run.old..run.old + run.len].iter().any(is_anchor));
        runs
    }

    /// Joins lines of some versions with lines of others. Two lines of one version stay two.
    pub(super) fn join_pairs(&mut self, pairs: &[(Line, Line)], theirs: &[&Version], ours: &[&Version]) {
        let differ = |(their, our): &&(Line, Line)| !self.are_one(*their, *our);
        let pairs: Vec<(Line, Line)> = pairs.iter().filter(differ).copied().collect();
        if pairs.is_empty() {
            return;
        }
        let roots = |versions: &[&Version]| {
            let mut roots = vec![false; self.text_of.len()];
            let lines = versions.iter().flat_map(|version| &version.lines);
            lines.for_each(|line| roots[self.joined.root(*line) as usize] = true);
            roots
        };
        let (of_theirs, of_ours) = (roots(theirs), roots(ours));
        for (their, our) in pairs {
            let (their, our) = (self.joined.root(their), self.joined.root(our));
            if their != our && !of_ours[their as usize] && !of_theirs[our as usize] {
                self.joined.join(their, our);
            }
        }
    }

    /// A version by the identities that stand for its lines.
    pub(super) fn rooted(&self, version: Arc<Version>) -> Arc<Version> {
        if self.joined.is_empty() || version.lines.iter().all(|line| self.joined.root(*line) == *line) {
            return version;
        }
        let lines = version.lines.iter().map(|line| self.joined.root(*line)).collect();
        Arc::new(Version { lines })
    }

    /// Writes the identities that stand for others everywhere.
    pub(super) fn settle(&mut self) {
        if self.joined.is_empty() {
            return;
        }
        let versions = std::mem::take(&mut self.versions);
        self.versions = versions.into_iter().map(|(entry, version)| (entry, self.rooted(version))).collect();
        let joined = &self.joined;
        let root = |line: &mut Line| *line = joined.root(*line);
        for hunk in self.steps.iter_mut().flat_map(|step| &mut step.hunks) {
            hunk.gained.iter_mut().chain(&mut hunk.lost).for_each(root);
            hunk.beside.iter_mut().flatten().flatten().for_each(root);
        }
    }

    /// Versions that no touch goes on from and that have a line which no commit took out, of a text that stands once there
    /// and once at the pin, as another line: a merge that took one side as it is may have had both.
    pub(in crate::provenance) fn with_twins(&self, touches: &[&Touch]) -> HashSet<Entry> {
        let mut ends = self.dropped(touches);
        if ends.is_empty() {
            return ends;
        }
        let mut stays = vec![false; self.text_of.len()];
        self.lines_at(self.pin).iter().for_each(|line| stays[*line as usize] = true);
        let hunks = self.steps.iter().flat_map(|step| &step.hunks);
        hunks.flat_map(|hunk| &hunk.lost).for_each(|line| stays[*line as usize] = true);
        let at_pin = self.once(self.lines_at(self.pin));
        ends.retain(|end| {
            let lines = self.lines_at(Some(*end));
            let open: Vec<Line> = lines.iter().copied().filter(|line| !stays[*line as usize]).collect();
            let text = |line: &Line| self.text_of[*line as usize];
            let may_be = |line: &&Line| {
                at_pin.contains(&text(line)) && self.bytes_of(**line).iter().any(u8::is_ascii_alphanumeric)
            };
            let mut twins = open.iter().filter(may_be).peekable();
            twins.peek().is_some() && {
                let here = self.once(lines);
                twins.any(|line| here.contains(&text(line)))
            }
        });
        ends
    }

    /// The texts that some lines have once.
    fn once(&self, lines: &[Line]) -> HashSet<Text> {
        let mut times: HashMap<Text, usize> = HashMap::with_capacity(lines.len());
        lines.iter().for_each(|line| *times.entry(self.text_of[*line as usize]).or_default() += 1);
        times.into_iter().filter(|(_, times)| *times == 1).map(|(text, _)| text).collect()
    }

    /// Joins the lines of versions that were dropped with those at the pin.
    pub(in crate::provenance) fn join_with_pin(&mut self, dropped: &HashSet<Entry>) {
        let version = |entry: Option<Entry>| entry.and_then(|entry| self.versions.get(&entry).cloned());
        let Some(pin) = version(self.pin).filter(|_| !dropped.is_empty()) else { return };
        let mut dropped: Vec<Entry> = dropped.iter().copied().collect();
        dropped.sort_unstable();
        for dropped in dropped {
            if let Some(version) = self.versions.get(&dropped).cloned() {
                self.join(&version, &pin);
            }
        }
        self.settle();
    }
}
