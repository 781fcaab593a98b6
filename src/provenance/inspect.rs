//! Collects what the decision needs, for all overlays of a manifest at once: one walk of the history, however many
//! overlays and bases there are.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{CommitId, Name, UpstreamPath};
use crate::lex::{self, Comparison};
use crate::manifest::Located;
use crate::merge::is_binary;
use crate::overlay::diff::Patch;
use crate::overlay::{Loaded, Misfit, content_at, resolve_apart};
use crate::parallel::in_parallel;
use crate::tree::{Changes, Content};
use crate::upstream::{Commit, Upstream, UpstreamError};

use super::earlier::{self, Open};
use super::elsewhere::{Found, Question};
use super::history::{self, Histories, PathHistory, Wanted};
use super::resurrect::Added;
use super::state::{Facts, Ours, decide, does_the_same};
use super::unsaid::Unsaid;
use super::work::Work;
use super::{Note, OverlayReport, PathReport, State, conditions, hunks, neighbours, rename};

/// How far to look.
#[derive(Debug, Clone, Copy, Default)]
pub struct Look {
    /// Compare code with all contents that the paths ever had, however long the history is.
    pub deep: bool,
    /// Look for files that the overlaid ones include, or that include them.
    pub neighbours: bool,
}

/// Looks at overlays, each on the pin with no others but those of `all` that it needs below it.
///
/// `tip` is the newest commit that is known of the pin's branch: contents between pin and tip are newer ones.
/// What cannot be read makes the overlay `unknown`, and does not stop the others.
#[must_use]
pub fn inspect(
    overlays: &[&Loaded],
    all: &[Loaded],
    pin: CommitId,
    tip: Option<CommitId>,
    upstream: &dyn Upstream,
) -> Vec<OverlayReport> {
    inspect_with(overlays, Among { all, exclusive: &[] }, pin, tip, upstream, Look::default())
}

/// The overlays of a manifest.
#[derive(Debug, Clone, Copy)]
pub struct Among<'a> {
    /// All of them.
    pub all: &'a [Loaded],
    /// Features of which at most one can be on.
    pub exclusive: &'a [Vec<Located<Name>>],
}

/// As [`inspect`], looking as far as asked.
#[must_use]
pub fn inspect_with(
    overlays: &[&Loaded],
    among: Among<'_>,
    pin: CommitId,
    tip: Option<CommitId>,
    upstream: &dyn Upstream,
    look: Look,
) -> Vec<OverlayReport> {
    let subjects = in_parallel(overlays, |loaded| Subject::read(loaded, among, pin, upstream));
    let wanted = subjects.iter().filter_map(|subject| subject.as_ref().ok()).filter_map(Subject::wanted);
    let histories = Histories::walk(wanted, pin, tip, look.deep, upstream);
    let pairs: Vec<(&&Loaded, &Result<Subject<'_>, String>)> = overlays.iter().zip(&subjects).collect();
    let reports = in_parallel(&pairs, |(loaded, subject)| {
        let report =
            subject.as_ref().map_err(Clone::clone).map(|subject| subject.report(&histories, upstream));
        let (mut report, open) = match report {
            Ok((paths, open)) => (OverlayReport::new(loaded.name().clone(), paths), open),
            Err(why) => (OverlayReport::unknown(loaded.name().clone(), why), Vec::new()),
        };
        conditions::add(&mut report, &loaded.overlay, pin, upstream);
        (report, open)
    });
    let (mut reports, open): (Vec<OverlayReport>, Vec<Vec<Open>>) = reports.into_iter().unzip();
    if let Err(error) = earlier::add(&mut reports, &open, &histories, upstream) {
        for (report, _) in reports.iter_mut().zip(&open).filter(|(_, open)| !open.is_empty()) {
            *report = OverlayReport::unknown(report.name.clone(), error.to_string());
        }
    }
    if look.neighbours {
        let bases: Vec<_> =
            overlays.iter().map(|loaded| loaded.overlay.base.as_ref().map(|b| b.value)).collect();
        neighbours::add(&mut reports, &bases, &histories, pin, upstream);
    }
    reports
}

/// An overlay with what it makes of base and pin.
struct Subject<'a> {
    loaded: &'a Loaded,
    among: Among<'a>,
    base: Option<CommitId>,
    pin: CommitId,
    on_base: On,
    on_pin: On,
    paths: BTreeSet<UpstreamPath>,
    /// Paths whose bytes upstream may have had at another time than at base and pin.
    suspected: Vec<UpstreamPath>,
}

/// What overlays make of a commit.
#[derive(Debug, Clone, Default)]
struct On {
    /// What the overlay makes of its paths.
    own: Changes,
    /// What it stands on: what the overlays that it needs made of these paths before.
    below: Changes,
    /// Paths on which it does not fit, and why.
    refused: BTreeMap<UpstreamPath, String>,
    /// Why it does not fit at all.
    refused_whole: Option<String>,
    /// Paths on which an overlay that it needs does not fit, and which, so that nothing is known there.
    unknown: BTreeMap<UpstreamPath, String>,
    /// The same, where it is not known on which paths.
    unknown_whole: Option<String>,
}

impl On {
    /// What the overlay makes of a path; `Err`: it does not fit there, or that is not known, and why.
    fn made(&self, path: &UpstreamPath) -> Result<Option<&Content>, String> {
        let refused = self.refused_whole.as_ref().or_else(|| self.refused.get(path));
        match refused.or(self.unknown_below(path)) {
            // A path that a change does not name on one side has there what upstream has: nothing to add.
            None => Ok(self.own.get(path).and_then(Option::as_ref)),
            Some(why) => Err(why.clone()),
        }
    }

    /// Why it is not known what stands below the overlay on a path.
    fn unknown_below(&self, path: &UpstreamPath) -> Option<&String> {
        self.unknown.get(path).or(self.unknown_whole.as_ref())
    }
}

impl<'a> Subject<'a> {
    fn read(
        loaded: &'a Loaded,
        among: Among<'a>,
        pin: CommitId,
        upstream: &dyn Upstream,
    ) -> Result<Self, String> {
        let base = loaded.overlay.base.as_ref().map(|base| base.value);
        // A change may stand on what another overlay made of the path. Whole content stands alone.
        let needed = if loaded.overlay.kind.is_whole() { Vec::new() } else { needs_of(loaded, among.all) };
        let on = |commit: CommitId| -> Result<On, String> {
            let resolve = |overlays: &[&Loaded]| {
                resolve_apart(overlays, commit, upstream).map_err(|error| error.to_string())
            };
            let below = resolve(&needed)?.changes;
            let with: Vec<&Loaded> = needed.iter().copied().chain([loaded]).collect();
            let apart = resolve(&with)?;
            let mut on = On { own: apart.changes, below, ..On::default() };
            on.own.retain(|path, _| apart.by.get(path).is_some_and(|by| by.contains(loaded.name())));
            let below = |misfit: &Misfit| {
                format!("it stands on overlay `{}`, which does not fit: {}", misfit.overlay, misfit.why)
            };
            for (path, misfit) in apart.broken {
                if misfit.overlay == *loaded.name() {
                    on.refused.insert(path, misfit.why);
                } else {
                    on.unknown.insert(path, below(&misfit));
                }
            }
            for misfit in apart.pathless {
                if misfit.overlay == *loaded.name() {
                    on.refused_whole = Some(misfit.why);
                } else {
                    on.unknown_whole = Some(below(&misfit));
                }
            }
            Ok(on)
        };
        let on_pin = on(pin)?;
        let on_base = match base {
            Some(base) if base != pin => on(base)?,
            _ => on_pin.clone(),
        };
        let mut paths: BTreeSet<UpstreamPath> = loaded.whole_paths().cloned().collect();
        paths.extend(loaded.patch.iter().flat_map(|patch| patch.touched()));
        for on in [&on_pin, &on_base] {
            paths.extend(on.own.keys().chain(on.refused.keys()).cloned());
        }
        if paths.is_empty()
            && let Some(why) = on_pin.refused_whole.as_ref().or(on_pin.unknown_whole.as_ref())
        {
            return Err(why.clone());
        }
        let mut subject = Self { loaded, among, base, pin, on_base, on_pin, paths, suspected: Vec::new() };
        if loaded.overlay.kind.is_whole() {
            let paths = subject.paths.iter();
            let suspected = paths.filter(|path| subject.may_be_elsewhere(path, upstream).unwrap_or(true));
            subject.suspected = suspected.cloned().collect();
        }
        Ok(subject)
    }

    /// Whether upstream may have had the very content of a path at another time than at base and pin.
    fn may_be_elsewhere(&self, path: &UpstreamPath, upstream: &dyn Upstream) -> Result<bool, UpstreamError> {
        let Ours::Whole(Some(ours)) = self.ours(path) else { return Ok(false) };
        let entry = ours.entry();
        if !upstream.may_have_blob(entry.id)? || upstream.entry(self.pin, path)? == Some(entry) {
            return Ok(false);
        }
        let at_base = self.base.map(|base| upstream.entry(base, path)).transpose()?.flatten();
        Ok(at_base != Some(entry))
    }

    /// The history that is needed.
    fn wanted(&self) -> Option<Wanted<'_>> {
        Some(Wanted { base: self.base?, paths: &self.paths, suspected: self.suspected.clone() })
    }

    /// What cannot be read makes a path unknown, and does not stop the others.
    fn report(&self, histories: &Histories, upstream: &dyn Upstream) -> (Vec<PathReport>, Vec<Open>) {
        let mut open = Vec::new();
        let mut reports = Vec::new();
        for path in &self.paths {
            let (report, lines) = self
                .report_path(path, histories, upstream)
                .unwrap_or_else(|error| (PathReport::unknown(path.clone(), error.to_string()), Vec::new()));
            reports.push(report);
            if !lines.is_empty() {
                open.push(Open { path: path.clone(), lines });
            }
        }
        (reports, open)
    }

    fn ours<'s>(&'s self, path: &UpstreamPath) -> Ours<'s> {
        if self.loaded.overlay.kind.is_whole() {
            Ours::Whole(self.on_pin.made(path).unwrap_or(None))
        } else {
            Ours::Change { on_base: self.on_base.made(path), on_pin: self.on_pin.made(path) }
        }
    }

    fn report_path(
        &self,
        path: &UpstreamPath,
        histories: &Histories,
        upstream: &dyn Upstream,
    ) -> Result<(PathReport, Vec<Added>), UpstreamError> {
        let pin = match self.on_pin.below.get(path) {
            Some(below) => below.clone(),
            None => content_at(upstream, self.pin, path)?,
        };
        let ours = self.ours(path);
        let mut report = PathReport::unknown(path.clone(), String::new());
        report.blobs.pin = pin.as_ref().map(Content::entry);
        let on_pin = match &ours {
            Ours::Whole(content) => Some(*content),
            Ours::Change { on_pin, .. } => on_pin.as_ref().ok().copied(),
        };
        if let Some(why) = self.on_pin.unknown_below(path) {
            report.why = why.clone();
            report.blobs.pin = None;
            return Ok((report, Vec::new()));
        }
        report.blobs.overlay = on_pin.flatten().map(Content::entry);
        report.against_pin = on_pin.and_then(|ours| count_lines(pin.as_ref(), ours));
        let base = match self.base_content(path, upstream) {
            Ok(base) => base,
            Err(why) => {
                // Without a base, only that nothing is left of the overlay can be proven.
                if let Some(ours) = on_pin
                    && does_the_same(path, ours, pin.as_ref())
                {
                    report.state = State::Redundant;
                    report.why = "it does what upstream does at the pin".to_owned();
                } else {
                    report.why = why;
                }
                return Ok((report, Vec::new()));
            }
        };
        report.blobs.base = base.as_ref().map(Content::entry);
        let on_base = match &ours {
            Ours::Whole(content) => Some(*content),
            Ours::Change { on_base, .. } => on_base.as_ref().ok().copied(),
        };
        report.against_base = on_base.and_then(|ours| count_lines(base.as_ref(), ours));
        report.delta = on_base.and_then(|ours| delta(path, base.as_ref(), ours, &mut report.notes));
        let known = self
            .base
            .ok_or_else(String::new)
            .and_then(|base| Ok((histories.of(base, path)?, histories.relation_of(base)?)));
        let (history, relation) = match known {
            Ok(known) => known,
            Err(why) => {
                report.why = why;
                return Ok((report, Vec::new()));
            }
        };
        let question = Question {
            path,
            is_whole: self.loaded.overlay.kind.is_whole(),
            base: self.base,
            pin: self.pin,
            history: &history,
            upstream,
        };
        let found = match on_pin {
            Some(ours) => question.find(ours, histories)?,
            None => Found::nowhere(),
        };
        let decided = decide(&Facts {
            path,
            base: base.as_ref(),
            pin: pin.as_ref(),
            ours: ours.clone(),
            ahead: relation.ahead,
            moves_away: self.moves_away(path, upstream)?,
            elsewhere: found.elsewhere,
        });
        let Among { all, exclusive } = self.among;
        let unsaid = Unsaid { loaded: self.loaded, all, exclusive, upstream };
        let decided = unsaid.settle(path, decided, self.pin, self.base, self.on_base.made(path).is_ok())?;
        report.state = decided.state;
        report.why = decided.why;
        if report.state == State::Fresh && !history.between.is_empty() {
            report.why = "upstream changed the path and took that back".to_owned();
        }
        report.notes.extend(decided.notes);
        report.notes.extend(relation.notes.iter().cloned());
        report.moved_by = history.between.iter().map(|touch| touch.commit).collect();
        report.by_name_only = history.elsewhere == history::Elsewhere::Names;
        self.add_moves(&mut report, &history, upstream)?;
        let work = Work {
            path,
            at_base: self.base,
            at_pin: self.pin,
            base: base.as_ref(),
            pin: pin.as_ref(),
            on_base: on_base.flatten(),
            on_pin: on_pin.flatten(),
            history: &history,
            older: found.touch.filter(|_| report.state == State::Rollback),
            upstream,
        };
        if let (Some(touch), State::Rollback | State::Backport) = (found.touch, report.state) {
            report.by = Some(upstream.commit(touch.commit)?);
        }
        let open = work.add_to(&mut report, self.loaded.overlay.kind.is_whole())?;
        Ok((report, open))
    }

    /// Whether a patch moves the path to another one, at which the pin does not have what the patch makes.
    fn moves_away(&self, path: &UpstreamPath, upstream: &dyn Upstream) -> Result<bool, UpstreamError> {
        let moves = self.loaded.patch.iter().flat_map(Patch::moves);
        for (_, to) in moves.filter(|(from, _)| *from == path) {
            let made = self.on_base.made(to).unwrap_or(None);
            if !does_the_same(to, made, content_at(upstream, self.pin, to)?.as_ref()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn base_content(&self, path: &UpstreamPath, upstream: &dyn Upstream) -> Result<Option<Content>, String> {
        let base = self.base.ok_or("it has no `base` in the manifest, so nothing can be compared")?;
        if let Some(why) = self.on_base.unknown_below(path) {
            return Err(why.clone());
        }
        match self.on_base.below.get(path) {
            Some(below) => Ok(below.clone()),
            None => content_at(upstream, base, path).map_err(|error| error.to_string()),
        }
    }

    /// The commit that removed, renamed or added the path, and where the path went.
    fn add_moves(
        &self,
        report: &mut PathReport,
        history: &PathHistory<'_>,
        upstream: &dyn Upstream,
    ) -> Result<(), UpstreamError> {
        match report.state {
            State::Gone => {
                let removed = history.between.iter().rev().find(|touch| touch.after.is_none());
                let Some((removed, base)) = removed.zip(self.base) else { return Ok(()) };
                report.by = Some(upstream.commit(removed.commit)?);
                let to = rename::follow(upstream, &report.path, removed.commit, base, self.pin)?;
                let parts = match &to {
                    Some((_, 100)) => Vec::new(),
                    _ => rename::parts(upstream, removed.commit, &report.path)?,
                };
                if let Some((to, alike)) = to {
                    report.state = State::Renamed;
                    report.why = format!("upstream moved the path to {to} ({alike} % alike)");
                    report.to = Some((to, alike));
                }
                if parts.len() > 1 {
                    report.notes.push(Note::Split(parts));
                }
            }
            State::Collides => {
                if let Some(added) =
                    history.between.iter().rev().find(|t| t.before.iter().all(Option::is_none))
                {
                    report.by = Some(upstream.commit(added.commit)?);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The overlays that one needs, and those that they need, in the order of the manifest.
#[must_use]
pub fn needs_of<'a>(loaded: &Loaded, all: &'a [Loaded]) -> Vec<&'a Loaded> {
    let mut wanted: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&str> = loaded.overlay.needs.iter().map(|need| need.as_str()).collect();
    while let Some(name) = open.pop() {
        let found = all.iter().find(|other| other.name().as_str() == name);
        if let (Some(found), true) = (found, name != loaded.name().as_str() && wanted.insert(name)) {
            open.extend(found.overlay.needs.iter().map(|need| need.as_str()));
        }
    }
    all.iter().filter(|other| wanted.contains(other.name().as_str())).collect()
}

fn delta(
    path: &UpstreamPath,
    base: Option<&Content>,
    ours: Option<&Content>,
    notes: &mut Vec<Note>,
) -> Option<lex::Delta> {
    match (base, ours) {
        (None, None) => Some(lex::Delta::Identical),
        (Some(base), Some(ours)) => match lex::compare_contents(path, base, ours) {
            Comparison::Known(delta) => Some(delta),
            Comparison::Unknown(why) => {
                notes.push(Note::NotLexed(why.to_string()));
                None
            }
        },
        _ => Some(lex::Delta::Code),
    }
}

/// Lines added and removed; `None` for a binary file.
fn count_lines(from: Option<&Content>, to: Option<&Content>) -> Option<(usize, usize)> {
    let bytes =
        |content: Option<&Content>| content.map_or_else(|| [].into(), |content| content.bytes.clone());
    let (from, to) = (bytes(from), bytes(to));
    if is_binary(&from) || is_binary(&to) {
        return None;
    }
    let hunks = hunks::hunks(&hunks::lines(&from), &hunks::lines(&to));
    Some(hunks.iter().fold((0, 0), |count, hunk| (count.0 + hunk.new.len(), count.1 + hunk.old.len())))
}

/// The pull-request number of a subject: `... (#123)` at its end, or `Merge pull request #123 from ...`.
#[must_use]
pub fn pull_request_number(commit: &Commit) -> Option<u64> {
    let subject = commit.subject.trim_ascii();
    let digits = match subject.strip_prefix(b"Merge pull request #") {
        Some(rest) => rest.split(|byte| *byte == b' ').next()?,
        None => {
            let open = bstr::ByteSlice::rfind(subject, b"(#")?;
            subject[open + 2..].strip_suffix(b")")?
        }
    };
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    if is_number { std::str::from_utf8(digits).ok()?.parse().ok() } else { None }
}
