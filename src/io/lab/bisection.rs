//! Since when an overlay is no longer needed, or since when the fault is there: builds and tests what
//! [`crate::bisect`] asks for.
//!
//! Decides in which folder a commit is built: all of them in that of the first one, so that from commit to commit
//! only what differs is compiled. What was measured is on record as ever, and a search that was interrupted goes on.

use std::collections::BTreeMap;

use crate::bisect::{Judged, Mark, Next, Search, judge};
use crate::id::{CommitId, Name, OverlayName};
use crate::kernel_test::repeats;
use crate::manifest::Test;
use crate::upstream::{Upstream, UpstreamError};
use crate::variant::{self, Variant};
use crate::verdict::{CellId, Decision, Obstacle, Pair, Place, Proof, State, Witness, decide};

use super::campaign::Campaign;
use super::event::Event;
use super::measure::{Interrupted, Lab, Subject};

/// How often the first commit may want more runs.
const ROUNDS: usize = 6;

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// The first commit, from the first of the line to its last, at which the overlay is no longer needed.
    Unneeded,
    /// The first commit, up to the last of the line, at which the fault is there.
    Introduced,
}

/// A commit that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The commit.
    pub commit: CommitId,
    /// What the tests say about it.
    pub judged: Judged,
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// This is the first commit.
    Found(CommitId),
    /// It is one of these, oldest first; those before the last cannot be judged.
    Range(Vec<CommitId>),
    /// The fault is still there at the end of the line: the overlay is needed.
    StillNeeded,
    /// The fault is there at the oldest commit that can be judged, and there is no older one that can.
    AlwaysThere(CommitId),
    /// What is at the end of the line could not be told.
    EndNotKnown(String),
    /// The tests do not see the fault where the search begins.
    NotSeen(String),
}

/// A search that is over.
#[derive(Debug, Clone)]
pub struct Searched {
    /// The cases that the overlay is there for.
    pub cases: Vec<CellId>,
    /// The commits that were tried, in that order.
    pub tried: Vec<Tried>,
    /// What came out.
    pub outcome: Outcome,
}

/// Why a search ends early.
#[derive(Debug)]
pub enum Stopped {
    /// We were told to stop.
    Interrupted(Interrupted),
    /// The upstream cannot be read.
    Upstream(UpstreamError),
}

impl From<Interrupted> for Stopped {
    fn from(error: Interrupted) -> Self {
        Stopped::Interrupted(error)
    }
}

impl From<UpstreamError> for Stopped {
    fn from(error: UpstreamError) -> Self {
        Stopped::Upstream(error)
    }
}

/// A search under way.
pub struct Bisection<'s, 'w> {
    campaign: &'s mut Campaign<'w>,
    upstream: &'s dyn Upstream,
    overlay: OverlayName,
    /// Where the fault is seen, and in whose folder all is built.
    home: CommitId,
    tests: Vec<&'w Test>,
    /// What stands in the folder now.
    now: Option<Subject>,
}

impl<'s, 'w> Bisection<'s, 'w> {
    /// A search for an overlay whose fault is seen at `home`.
    pub fn new(
        campaign: &'s mut Campaign<'w>,
        upstream: &'s dyn Upstream,
        overlay: OverlayName,
        home: CommitId,
    ) -> Self {
        let tests = campaign.tests_of_name(&overlay);
        Self { campaign, upstream, overlay, home, tests, now: None }
    }

    /// Searches a line of commits, oldest first. For [`Question::Unneeded`] it begins with `home`, for
    /// [`Question::Introduced`] it ends there.
    ///
    /// # Errors
    /// If we are told to stop, or the upstream cannot be read.
    pub fn search(
        &mut self,
        question: Question,
        line: &[CommitId],
        lab: &mut Lab<'_>,
    ) -> Result<Searched, Stopped> {
        let seen = self.see_the_fault(lab)?;
        let cases = match seen {
            Ok(cases) => cases,
            Err(why) => {
                return Ok(Searched { cases: Vec::new(), tried: Vec::new(), outcome: Outcome::NotSeen(why) });
            }
        };
        let ids: Vec<CellId> = cases.iter().map(|(id, _)| id.clone()).collect();
        let needed: BTreeMap<CellId, u32> = cases.into_iter().collect();
        let mut tried = Vec::new();
        let mut search = Search::new(line.len());
        let [faulty, mended] = match question {
            Question::Unneeded => [Mark::Old, Mark::New],
            Question::Introduced => [Mark::New, Mark::Old],
        };
        let last = line.len().saturating_sub(1);
        search.mark(if question == Question::Unneeded { 0 } else { last }, faulty);
        if question == Question::Unneeded {
            let judged = self.judge(line[last], &needed, lab)?;
            let outcome = match &judged {
                Judged::Faulty(_) => Some(Outcome::StillNeeded),
                Judged::Unknown(why) => Some(Outcome::EndNotKnown(why.clone())),
                Judged::Mended => None,
            };
            tell(&mut tried, line[last], judged, line.len().saturating_sub(2), lab);
            if let Some(outcome) = outcome {
                return Ok(Searched { cases: ids, tried, outcome });
            }
            search.mark(last, mended);
        }
        loop {
            let next = match question {
                Question::Unneeded => search.next(),
                Question::Introduced => search.next_back(),
            };
            let outcome = match next {
                Next::Try(places) => {
                    let place = self.cheapest(&places, line, lab)?;
                    let judged = self.judge(line[place], &needed, lab)?;
                    search.mark(
                        place,
                        match &judged {
                            Judged::Faulty(_) => faulty,
                            Judged::Mended => mended,
                            Judged::Unknown(_) => Mark::Skip,
                        },
                    );
                    tell(&mut tried, line[place], judged, search.left(), lab);
                    continue;
                }
                Next::Found(0) if question == Question::Introduced => Outcome::AlwaysThere(line[0]),
                Next::Found(place) => Outcome::Found(line[place]),
                Next::Range(places) if question == Question::Introduced && *places.start() == 0 => {
                    Outcome::AlwaysThere(line[*places.end()])
                }
                Next::Range(places) => Outcome::Range(line[places].to_vec()),
                Next::Unknown => Outcome::EndNotKnown("no commit tells".to_owned()),
            };
            return Ok(Searched { cases: ids, tried, outcome });
        }
    }

    /// The cases that fail at home without the overlay and pass with it, each with how often it must pass before it
    /// is taken to be mended; or why there are none.
    fn see_the_fault(&mut self, lab: &mut Lab<'_>) -> Result<Result<Vec<(CellId, u32)>, String>, Stopped> {
        let manifest = self.campaign.manifest();
        let Ok([without, with]) = variant::at_commit(manifest, self.overlay.as_str(), self.home) else {
            return Ok(Err("the overlay is not there".to_owned()));
        };
        let mut place = Place::new();
        for test in self.tests.clone() {
            let seeds = repeats::seeds(repeats::first_runs(test.repeats));
            let pair = Pair {
                without: self.measure(&without, test, &seeds, lab)?,
                with: self.measure(&with, test, &seeds, lab)?,
            };
            place.insert(test.name.value.clone(), pair);
        }
        for _ in 0..ROUNDS {
            let decision = self.decide(&place);
            if !decision.fixed.is_empty() {
                return Ok(Ok(decision
                    .fixed
                    .iter()
                    .map(|id| (id.clone(), runs_needed(&decision, id)))
                    .collect()));
            }
            if decision.wants.is_empty() {
                let why = decision.reasons.first().map_or(decision.first_line.clone(), |r| r.text.clone());
                return Ok(Err(why));
            }
            for want in &decision.wants {
                let Some(test) = self.tests.iter().copied().find(|test| test.name.value == want.test) else {
                    continue;
                };
                let Some(pair) = place.get_mut(&want.test) else { continue };
                let is_with = matches!(want.which, crate::verdict::Which::PinWith);
                let (variant, state) =
                    if is_with { (&with, &mut pair.with) } else { (&without, &mut pair.without) };
                let have = if let State::Ran(ran) = &state { ran.runs.len() } else { 0 };
                let subject = self.subject(variant);
                *state = match subject {
                    Ok(subject) => lab.measure(&subject, test, have, &want.seeds)?,
                    Err(obstacle) => State::Blocked(obstacle),
                };
            }
        }
        Ok(Err("the tests come to something else each time".to_owned()))
    }

    /// As if home were the pin: what the overlay mends there.
    fn decide(&self, place: &Place) -> Decision {
        decide(&Proof {
            overlay: self.overlay.clone(),
            removed: vec![self.overlay.clone()],
            redundant: false,
            tests: self.tests.iter().map(|test| self.campaign.link(test)).collect(),
            pin: place.clone(),
            witness: Witness::IsPin,
        })
    }

    /// What the tests say about a commit without the overlay.
    fn judge(
        &mut self,
        commit: CommitId,
        needed: &BTreeMap<CellId, u32>,
        lab: &mut Lab<'_>,
    ) -> Result<Judged, Stopped> {
        let Some(without) = self.without(commit) else {
            return Ok(Judged::Unknown("the overlay is not there".to_owned()));
        };
        let mut states: BTreeMap<Name, State> = BTreeMap::new();
        for test in self.tests.clone() {
            let of_test = needed.iter().filter(|(id, _)| id.test == test.name.value);
            let Some(runs) = of_test.map(|(_, runs)| *runs).max() else { continue };
            let seeds = repeats::seeds(runs.max(repeats::first_runs(test.repeats)));
            let state = self.measure(&without, test, &seeds, lab)?;
            states.insert(test.name.value.clone(), state);
        }
        let ids: Vec<CellId> = needed.keys().cloned().collect();
        Ok(judge(&ids, &states, &|id| needed.get(id).copied().unwrap_or(1)))
    }

    fn without(&self, commit: CommitId) -> Option<Variant> {
        let [without, _] =
            variant::at_commit(self.campaign.manifest(), self.overlay.as_str(), commit).ok()?;
        Some(without)
    }

    /// Runs a test with all these seeds, save those that are on record.
    fn measure(
        &mut self,
        variant: &Variant,
        test: &Test,
        seeds: &[u64],
        lab: &mut Lab<'_>,
    ) -> Result<State, Stopped> {
        let subject = match self.subject(variant) {
            Ok(subject) => subject,
            Err(obstacle) => return Ok(State::Blocked(obstacle)),
        };
        let mut state = lab.measure(&subject, test, 0, seeds)?;
        if let State::Ran(ran) = &state
            && !ran.runs.is_empty()
            && ran.runs.len() < seeds.len()
        {
            state = lab.measure(&subject, test, ran.runs.len(), &seeds[ran.runs.len()..])?;
        }
        self.now = Some(subject);
        Ok(state)
    }

    /// A variant, to be built in the folder of home.
    fn subject(&mut self, variant: &Variant) -> Result<Subject, Obstacle> {
        let mut subject = self.campaign.subjects.get(variant)?;
        if variant.commit != self.home {
            let listing = self.campaign.subjects.listing(self.home)?;
            let moved = subject.sources.seen_from(self.home, listing, self.upstream);
            if let Some(sources) = moved.map_err(|error| Obstacle::Upstream(error.to_string()))? {
                subject.sources = sources;
            }
        }
        Ok(subject)
    }

    /// Of several that tell as much: one that is on record, else the one that differs least from what stands there.
    fn cheapest(&mut self, places: &[usize], line: &[CommitId], lab: &mut Lab<'_>) -> Result<usize, Stopped> {
        let mut best = (usize::MAX, places[0]);
        if places.len() < 2 {
            return Ok(places[0]);
        }
        for &place in places {
            let Some(variant) = self.without(line[place]) else { continue };
            let Ok(subject) = self.subject(&variant) else { continue };
            let is_known = self
                .tests
                .iter()
                .all(|test| matches!(lab.known(&subject, test), State::Ran(_) | State::BuildFailed { .. }));
            let cost = match &self.now {
                _ if is_known => 0,
                Some(now) => 1 + now.sources.differing(&subject.sources),
                None => 1,
            };
            best = best.min((cost, place));
        }
        Ok(best.1)
    }
}

fn tell(tried: &mut Vec<Tried>, commit: CommitId, judged: Judged, left: usize, lab: &mut Lab<'_>) {
    (lab.events)(Event::Told(format!("{}: {judged}; {left} left to try", commit.short())));
    tried.push(Tried { commit, judged });
}

/// How often a case must pass before it is taken to be mended, by how often it failed where the fault was seen.
fn runs_needed(decision: &Decision, id: &CellId) -> u32 {
    /// More says no more in reasonable time.
    const MOST: u32 = 200;
    let row = decision.cells.iter().find(|row| row.test == id.test && row.case == id.case.as_str());
    let (failed, runs) = row.map_or((1, 1), |row| (row.pin_without.failed, row.pin_without.runs));
    if failed == 0 || failed >= runs {
        return 1;
    }
    repeats::repeats_needed(repeats::cautious_rate(failed, runs)).min(MOST)
}
