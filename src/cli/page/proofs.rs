//! What evidence says under a profile, for the page.

use crate::escape::for_shell;
use crate::id::OverlayName;
use crate::io::lab::campaign::{Campaign, Candidate};
use crate::io::lab::records::now;
use crate::io::store::Store;
use crate::io::verdicts::Verdicts;
use crate::io::workspace::Workspace;
use crate::manifest::Profile;
use crate::provenance::{OverlayReport, State};
use crate::report::page::model::{Noted, ProofPart, TogetherPart};
use crate::report::picture::Bound;
use crate::report::render::moment;
use crate::verdict::group::Together;
use crate::verdict::{Decision, Pair, Proof, State as TestState, Verdict, Witness};

use super::super::bench::{profile_name, with_lab};
use super::super::report::should_go;
use super::super::status::describe_age;
use super::super::{Context, Failure, Ui};

/// What evidence says of all overlays that are on under a profile, and whether those that can go can go at once.
///
/// # Errors
/// If features exclude each other.
pub(super) fn proofs_under(
    context: &Context,
    workspace: &Workspace,
    profile: Option<&Profile>,
    reports: &[OverlayReport],
    noted: &Verdicts,
    store: &Store,
    ui: &mut Ui,
) -> Result<(Vec<ProofPart>, Option<TogetherPart>), Failure> {
    let features = context.features(workspace, profile)?;
    let mut campaign = Campaign::new(workspace, &features, profile_name(profile), store);
    let mut candidates: Vec<(Candidate, &OverlayReport)> = Vec::new();
    for report in reports {
        let redundant = report.state == State::Redundant;
        // One that is off under this profile has no verdict there.
        let Ok(mut candidate) = campaign.candidate(report.name.as_str(), redundant) else { continue };
        candidate.redundant = candidate.redundant && campaign.stands_alone(&candidate);
        candidates.push((candidate, report));
    }
    let all: Vec<Candidate> = candidates.iter().map(|(candidate, _)| candidate.clone()).collect();
    let pin = workspace.manifest.upstream.pin.value;
    let name = profile_name(profile).map(|name| name.to_string());
    with_lab(workspace, profile, store, ui, |lab| {
        campaign.recall(&all, lab);
        let here = lab.machine().clone();
        // What holds here comes first. Where nothing does, what was measured, and where.
        let holds = all.iter().any(|candidate| {
            !candidate.redundant && campaign.decide(candidate).verdict != Verdict::Inconclusive
        });
        let source = if holds { None } else { campaign.take_from_file(&all, lab) };
        let mut parts = Vec::new();
        for (candidate, report) in &candidates {
            let (proof, decision) = campaign.basis(candidate);
            let witness = candidate.variants.witness.as_ref().map(|[without, _]| match &without.fault {
                Some(fault) => format!("the pin with {}", fault.display()),
                None => without.commit.to_string(),
            });
            let last = noted.last(report.name.as_str(), name.as_deref()).map(|(_, noted)| Noted {
                verdict: noted.verdict.clone(),
                when: format!("{}, {}", moment(noted.recorded), describe_age(now() - noted.recorded)),
                holds: noted.content == report.content_digest(pin),
            });
            // What another machine measured, which has what this one lacks, is that machine's.
            let measured = match &source {
                Some(source) => Some((source.machine.clone(), source.recorded)),
                None => campaign.measured_when(candidate, lab),
            };
            let part = ProofPart {
                profile: name.clone(),
                is_on_file: source.is_some(),
                prove: command(workspace, profile, "prove", std::slice::from_ref(&report.name)),
                noted: last,
                witness,
                measured: None,
                machine: measured.as_ref().map_or_else(|| here.clone(), |(machine, _)| machine.clone()),
                toolchains: toolchains(&proof),
                bounds: bounds(&proof, &decision),
                decision,
            };
            let measured = measured.filter(|_| part.was_run()).map(|(_, recorded)| moment(recorded));
            parts.push(ProofPart { measured, ..part });
        }
        let decisions: Vec<Decision> = parts.iter().map(|part| part.decision.clone()).collect();
        if let Some(source) = &source {
            let can_go = decisions.iter().filter(|decision| should_go(decision.verdict));
            let can_go: Vec<OverlayName> = can_go.map(|decision| decision.overlay.clone()).collect();
            campaign.take_together_from_file(&can_go, source, lab);
        }
        let together = campaign.prove_together(&decisions, lab, false)?;
        let together = together.map(|(overlays, answer)| together_part(workspace, profile, overlays, answer));
        Ok((parts, together))
    })
}

fn together_part(
    workspace: &Workspace,
    profile: Option<&Profile>,
    overlays: Vec<OverlayName>,
    answer: Together,
) -> TogetherPart {
    TogetherPart {
        profile: profile_name(profile).map(ToString::to_string),
        drop: command(workspace, profile, "drop", &overlays),
        prove: command(workspace, profile, "prove", &overlays),
        overlays,
        answer,
    }
}

fn command(workspace: &Workspace, profile: Option<&Profile>, verb: &str, overlays: &[OverlayName]) -> String {
    let names = overlays.iter().map(|name| for_shell(name.as_str())).collect::<Vec<_>>().join(" ");
    let upstream = for_shell(workspace.manifest.upstream.name.as_str());
    let profile = profile_name(profile).map(|profile| format!(" --profile {}", for_shell(profile.as_str())));
    format!("overlaid -m {upstream}{} {verb} {names}", profile.unwrap_or_default())
}

fn ran(proof: &Proof, test: Option<&str>) -> Vec<crate::verdict::Ran> {
    let witness = match &proof.witness {
        Witness::At(place) => Some(place),
        Witness::IsPin => None,
    };
    let pairs = [Some(&proof.pin), witness].into_iter().flatten().flatten();
    let pairs = pairs.filter(|(name, _)| test.is_none_or(|test| name.as_str() == test));
    pairs
        .flat_map(|(_, Pair { without, with })| [without, with])
        .filter_map(|state| match state {
            TestState::Ran(ran) => Some(ran.clone()),
            TestState::NotRun | TestState::Blocked(_) | TestState::BuildFailed { .. } => None,
        })
        .collect()
}

fn toolchains(proof: &Proof) -> Vec<String> {
    let all: std::collections::BTreeSet<String> =
        ran(proof, None).into_iter().map(|ran| ran.toolchain).collect();
    all.into_iter().collect()
}

/// The bound of each test, where all its figures have the same.
fn bounds(proof: &Proof, decision: &Decision) -> Vec<(String, Bound)> {
    let tests: std::collections::BTreeSet<&str> =
        decision.cells.iter().map(|row| row.test.as_str()).collect();
    tests
        .into_iter()
        .map(|test| {
            let runs = ran(proof, Some(test));
            let figures = || {
                runs.iter()
                    .flat_map(|ran| &ran.runs)
                    .flat_map(|run| &run.cells)
                    .filter_map(|cell| cell.figure.as_ref())
            };
            let bound = figures().next().map(|first| Bound {
                metric: first.metric.clone(),
                max: first.max.filter(|_| figures().all(|figure| figure.max == first.max)),
            });
            (test.to_owned(), bound.unwrap_or_default())
        })
        .collect()
}
