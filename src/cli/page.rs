//! `overlaid report --html`: gathers what the page shows, and writes it. Runs nothing.

mod proofs;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::accept::{Acceptance, acceptance};
use crate::evidence::{attested, bisected};
use crate::io;
use crate::io::hashes::write_atomically;
use crate::io::lab::records::now;
use crate::io::verdicts;
use crate::io::workspace::Workspace;
use crate::lex::Comparison;
use crate::manifest::Profile;
use crate::overlay::Loaded;
use crate::overlay::diff::{mark, render as render_diff};
use crate::provenance::Look;
use crate::report::page::model::{OverlayPart, Page, PathDelta, ProofPart, UpstreamPart};
use crate::report::page::render;
use crate::report::picture;
use crate::report::render::moment;

use super::diff::{Against, PathChange, changes_against, compare};
use super::status::{describe_activity, describe_change, inspect_kept};
use super::{Answer, Context, Failure, Ui, without_problems};
use proofs::proofs_under;

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
    let workspaces = context.workspaces()?;
    super::same_names::warn(&workspaces, ui);
    for workspace in workspaces {
        upstreams.push(upstream_part(context, &without_problems(workspace)?, ui)?);
    }
    let page = Page { version: env!("CARGO_PKG_VERSION").to_owned(), made: moment(now()), upstreams };
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
    let mut together = Vec::new();
    for profile in profiles(context, workspace)? {
        let (under, at_once) = proofs_under(context, workspace, profile, &reports, &noted, &store, ui)?;
        together.extend(at_once);
        for proof in under {
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
        together,
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
