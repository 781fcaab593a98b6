//! `overlaid report --html`: gathers what the page shows, and writes it. Runs nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::accept::{Acceptance, acceptance};
use crate::evidence::{attested, bisected};
use crate::io;
use crate::io::hashes::write_atomically;
use crate::io::lab::campaign::{Campaign, Candidate};
use crate::io::lab::records::now;
use crate::io::store::Store;
use crate::io::verdicts::{self, Verdicts};
use crate::io::workspace::Workspace;
use crate::lex::Comparison;
use crate::manifest::Profile;
use crate::overlay::Loaded;
use crate::overlay::diff::{mark, render as render_diff};
use crate::provenance::{Look, OverlayReport, State};
use crate::report::page::model::{Noted, OverlayPart, Page, PathDelta, ProofPart, UpstreamPart};
use crate::report::page::render;
use crate::report::picture::{self, Bound};
use crate::verdict::{Decision, Pair, Proof, State as TestState, Verdict, Witness};

use super::bench::{profile_name, with_lab};
use super::diff::{Against, PathChange, changes_against, compare};
use super::status::{date, describe_activity, describe_age, describe_change, inspect_kept};
use super::{Answer, Context, Failure, Ui, without_problems};

/// Where the page goes if nobody says so: a folder that git ignores.
const FILE: &str = ".overlaid/report.html";

/// Gathers and writes the page.
///
/// # Errors
/// If a manifest or an upstream cannot be read, or the page cannot be written.
pub fn run(
    context: &Context,
    file: Option<PathBuf>,
    pictures: Option<&Path>,
    ui: &mut Ui,
) -> Result<Answer, Failure> {
    let mut upstreams = Vec::new();
    for workspace in context.workspaces()? {
        upstreams.push(upstream_part(context, &without_problems(workspace)?, ui)?);
    }
    let page = Page { version: env!("CARGO_PKG_VERSION").to_owned(), made: date(now()), upstreams };
    if let Some(folder) = pictures {
        write_pictures(&page, folder, ui)?;
    }
    let html = render(&page);
    if file.as_deref() == Some(Path::new("-")) {
        ui.bytes(html.as_bytes());
        return Ok(Answer::Yes);
    }
    let file = file.unwrap_or_else(|| context.root.join(FILE));
    write(&file, html.as_bytes())?;
    if ui.is_json() {
        ui.document(
            &json!({ "schema": "overlaid.page.v1", "file": file.display().to_string(), "bytes": html.len() }),
        );
    } else {
        ui.line(format_args!("{} ({} kB): open it in a browser", file.display(), html.len().div_ceil(1000)));
    }
    Ok(Answer::Yes)
}

fn write(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_atomically(file, bytes)
        .map_err(|error| Failure::environment(format!("cannot write `{}`", file.display())).caused_by(error))
}

/// A picture for each overlay that has cells.
fn write_pictures(page: &Page, folder: &Path, ui: &mut Ui) -> Result<(), Failure> {
    for part in page.upstreams.iter().flat_map(|upstream| &upstream.overlays) {
        let grids: Vec<picture::Grid> = part.proofs.iter().flat_map(ProofPart::grids).collect();
        if grids.is_empty() {
            continue;
        }
        let file = folder.join(format!("{}.svg", part.report.name));
        write(&file, picture::document(&grids).as_bytes())?;
        ui.note(format_args!("{}", file.display()));
    }
    Ok(())
}

fn upstream_part(context: &Context, workspace: &Workspace, ui: &mut Ui) -> Result<UpstreamPart, Failure> {
    let upstream = &workspace.manifest.upstream;
    let store = context.store(workspace, ui)?;
    let loaded: Vec<&Loaded> = workspace.overlays.iter().collect();
    let look = Look { deep: false, neighbours: true };
    let reports = inspect_kept(workspace, &loaded, &store, look, false);
    let noted = workspace.root.join(workspace.manifest.docs_folder());
    let noted = verdicts::load(&verdicts::file(&noted, upstream.name.value.as_str()));
    let mut proofs: BTreeMap<String, Vec<ProofPart>> = BTreeMap::new();
    for profile in profiles(context, workspace)? {
        for proof in proofs_under(context, workspace, profile, &reports, &noted, &store, ui)? {
            proofs.entry(proof.decision.overlay.to_string()).or_default().push(proof);
        }
    }
    let mut deltas: BTreeMap<String, Result<Vec<PathDelta>, String>> =
        changes_against(workspace, &|_| true, Against::Base, &store)?
            .into_iter()
            .map(|(name, changes)| {
                let changes = changes.map(|changes| changes.iter().map(path_delta).collect());
                (name, changes.map_err(|failure| failure.message))
            })
            .collect();
    let profile = context.profile_if_any(workspace)?;
    let features = context.features(workspace, profile)?;
    let is_chosen = profile.is_some() || !context.features.is_empty();
    let docs = workspace.manifest.docs_folder();
    let (reported, _) =
        io::attested::load(&workspace.root.join(io::attested::folder(&docs, upstream.name.as_str())));
    let searched =
        io::bisected::load(&workspace.root.join(io::bisected::folder(&docs, upstream.name.as_str())));
    let overlays = loaded.iter().zip(reports).map(|(loaded, report)| {
        let overlay = &loaded.overlay;
        let name = report.name.to_string();
        let links = [
            ("issue", overlay.issue.as_ref().map(|link| link.value.clone())),
            ("pull request", overlay.pull_request.as_ref().map(|link| link.value.clone())),
            ("report", overlay.report.as_ref().map(|file| file.value.display().to_string())),
        ];
        OverlayPart {
            reason: overlay.reason.as_ref().map(|reason| reason.value.clone()),
            base: overlay.base.as_ref().map(|base| base.value.to_string()),
            activity: describe_activity(loaded, &features, is_chosen),
            change: describe_change(&report),
            links: links.into_iter().filter_map(|(what, link)| Some((what.to_owned(), link?))).collect(),
            tests: overlay.tests.iter().map(|test| test.value.to_string()).collect(),
            accepted: match acceptance(overlay, &report, upstream.pin.value) {
                Acceptance::Holds(reason) => Some(reason.to_string()),
                Acceptance::None | Acceptance::Lapsed(_) => None,
            },
            reported: attested::of(&reported, &name, upstream.pin.value).into_iter().cloned().collect(),
            bisected: bisected::of(
                &searched,
                &name,
                upstream.pin.value,
                &report.content_digest(upstream.pin.value),
            )
            .into_iter()
            .cloned()
            .collect(),
            delta: deltas.remove(&name).unwrap_or_else(|| Ok(Vec::new())),
            proofs: proofs.remove(&name).unwrap_or_default(),
            report,
        }
    });
    Ok(UpstreamPart {
        name: upstream.name.value.to_string(),
        url: upstream.url.value.clone(),
        pin: upstream.pin.value.to_string(),
        overlays: overlays.collect(),
    })
}

/// The chosen profile, or all.
fn profiles<'w>(context: &Context, workspace: &'w Workspace) -> Result<Vec<Option<&'w Profile>>, Failure> {
    if let Some(profile) = context.profile_if_any(workspace)? {
        return Ok(vec![Some(profile)]);
    }
    let all: Vec<Option<&Profile>> = workspace.manifest.profiles.iter().map(Some).collect();
    Ok(if all.is_empty() { vec![None] } else { all })
}

fn proofs_under(
    context: &Context,
    workspace: &Workspace,
    profile: Option<&Profile>,
    reports: &[OverlayReport],
    noted: &Verdicts,
    store: &Store,
    ui: &mut Ui,
) -> Result<Vec<ProofPart>, Failure> {
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
        let machine = source.as_ref().map_or(here, |source| source.machine.clone());
        let on_file = source.map(|source| date(source.recorded));
        let part = |(candidate, report): (Candidate, &OverlayReport)| {
            let (proof, decision) = campaign.basis(&candidate);
            let witness = candidate.variants.witness.as_ref().map(|[without, _]| match &without.fault {
                Some(fault) => format!("the pin with {}", fault.display()),
                None => without.commit.to_string(),
            });
            let last = noted.last(report.name.as_str(), name.as_deref()).map(|(_, noted)| Noted {
                verdict: noted.verdict.clone(),
                when: format!("{}, {}", date(noted.recorded), describe_age(now() - noted.recorded)),
                holds: noted.content == report.content_digest(pin),
            });
            let toolchains = toolchains(&proof);
            let bounds = bounds(&proof, &decision);
            ProofPart {
                profile: name.clone(),
                decision,
                on_file: on_file.clone(),
                noted: last,
                witness,
                machine: machine.clone(),
                toolchains,
                bounds,
            }
        };
        Ok(candidates.into_iter().map(part).collect())
    })
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

fn path_delta(change: &PathChange) -> PathDelta {
    let side = |content: &Option<crate::tree::Content>| {
        content.as_ref().map(|c| c.bytes.to_vec()).unwrap_or_default()
    };
    let (old, new) = (side(&change.old), side(&change.new));
    let diff = render_diff(
        change.old.as_ref().map(|content| (&change.path, content)),
        change.new.as_ref().map(|content| (&change.path, content)),
    );
    let word = match compare(change) {
        Comparison::Known(delta) => delta.as_str().to_owned(),
        Comparison::Unknown(why) => format!("unknown ({why})"),
    };
    PathDelta::new(change.path.to_string(), word, &mark(&change.path, &old, &new, &diff))
}
