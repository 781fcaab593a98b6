//! What templates are filled with: from evidence and git objects to the values that they know.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::bump::{Question, Resolved, plan};
use crate::id::{CommitId, UpstreamPath};
use crate::io::report_files;
use crate::io::store::Store;
use crate::io::verdicts;
use crate::io::workspace::Workspace;
use crate::kernel_test::CaseKey;
use crate::kernel_test::repeats::{Seen, observe};
use crate::merge::Style;
use crate::overlay::{At, Loaded, content_at, resolve};
use crate::provenance::needs_of;
use crate::report::delta::Change;
use crate::report::facts::{Facts, Newer};
use crate::report::kind::MaySay;
use crate::report::quote::{self, Place};
use crate::report::render::{CommitLine, Known, Material, NewerView, Quotes, UpstreamView, render};
use crate::report::templates::Template;
use crate::upstream::UpstreamError;
use crate::verdict::{CellId, State};

use super::super::build::commit_of;
use super::super::{Context, Failure, Ui};
use super::gather::Gathered;

/// Reads files of the upstream for quotes.
pub fn reader(
    store: &Store,
) -> impl Fn(CommitId, &UpstreamPath) -> Result<Option<Vec<u8>>, UpstreamError> + '_ {
    |commit, path| Ok(content_at(store, commit, path)?.map(|content| content.bytes.to_vec()))
}

impl Gathered<'_> {
    /// The text that the program writes.
    ///
    /// # Errors
    /// If a template is wrong, or the upstream cannot be read.
    pub fn compose(&self, facts: &Facts, template: Template) -> Result<String, Failure> {
        let workspace = self.workspace;
        let upstream = &workspace.manifest.upstream;
        let url = upstream.url.value.as_str();
        let own = own_templates(workspace)?;
        let changes = self.changes()?;
        let proofs = super::gather::decided(&facts.proofs, self.loaded.name(), &self.records);
        let may_say = match facts.template {
            Template::Retraction | Template::Removal => MaySay::Retraction,
            _ => MaySay::Draft,
        };
        let newer = facts.newer.as_ref().map(|newer| self.newer_view(newer, &proofs));
        let material = Material {
            facts,
            known: self.known(),
            upstream: UpstreamView {
                name: upstream.name.value.to_string(),
                url: url.contains("://").then(|| url.to_owned()),
                pin: facts.pin.to_string(),
                short: facts.pin.short(),
                link: quote::commit_link(url, facts.pin),
            },
            url,
            may_say,
            proofs,
            records: &self.records,
            newer,
            changes: &changes,
            repro: self.repro(facts),
            evidence: self.evidence_folder(),
            retired_file: self.retired_file(),
            bump: None,
        };
        filled(template, &own, &material, self.quotes())
    }

    fn known(&self) -> Known {
        let overlay = &self.loaded.overlay;
        let url = self.workspace.manifest.upstream.url.value.as_str();
        let removed = self.proofs.iter().flat_map(|proof| &proof.removed);
        let mut removed_with: Vec<String> =
            removed.filter(|name| *name != self.loaded.name()).map(ToString::to_string).collect();
        removed_with.sort();
        removed_with.dedup();
        let line = |commit: &crate::upstream::Commit| CommitLine {
            id: commit.id.to_string(),
            short: commit.id.short(),
            subject: commit.subject.to_string(),
            link: quote::commit_link(url, commit.id),
        };
        Known {
            name: self.loaded.name().to_string(),
            reason: overlay.reason.as_ref().map(|reason| reason.value.clone()),
            base: overlay.base.as_ref().map(|base| base.value.to_string()),
            state: self.report.state.as_str().to_owned(),
            paths: self.report.paths.iter().map(|path| path.path.to_string()).collect(),
            undoes: self.report.undoes().into_iter().map(line).collect(),
            issue: overlay.issue.as_ref().map(|link| link.value.clone()),
            pull_request: overlay.pull_request.as_ref().map(|link| link.value.clone()),
            removed_with,
        }
    }

    /// What the overlay makes of the pin, with those that it needs below it.
    ///
    /// # Errors
    /// If the upstream cannot be read. Where the overlay does not fit, there are none.
    pub fn changes(&self) -> Result<Vec<Change>, Failure> {
        let pin = self.workspace.manifest.upstream.pin.value;
        let is_whole = self.loaded.overlay.kind.is_whole();
        let needed = if is_whole { Vec::new() } else { needs_of(self.loaded, &self.workspace.overlays) };
        let with: Vec<&Loaded> = needed.iter().copied().chain([self.loaded]).collect();
        let resolution = resolve(&with, At::Pin(pin), &*self.store)?;
        if !resolution.refused.is_empty() {
            return Ok(Vec::new());
        }
        let below = resolve(&needed, At::Pin(pin), &*self.store)?.changes;
        let mut changes = Vec::new();
        for (path, new) in resolution.changes {
            if !resolution.by.get(&path).is_some_and(|by| by.contains(self.loaded.name())) {
                continue;
            }
            let old = match below.get(&path) {
                Some(content) => content.clone(),
                None => content_at(&*self.store, pin, &path)?,
            };
            changes.push(Change { path, old, new });
        }
        Ok(changes)
    }

    /// The commands that make the figures again.
    fn repro(&self, facts: &Facts) -> Vec<String> {
        let manifest = self.workspace.manifest.upstream.name.as_str();
        let profile = |name: &Option<crate::id::Name>| match name {
            Some(name) => format!(" --profile {name}"),
            None => String::new(),
        };
        let mut commands: Vec<String> = Vec::new();
        for measured in facts.proofs.iter().filter(|measured| !measured.redundant) {
            let command =
                format!("overlaid -m {manifest}{} prove {}", profile(&measured.profile), self.loaded.name());
            if !commands.contains(&command) {
                commands.push(command);
            }
        }
        if let Some(newer) = &facts.newer {
            commands.push(format!(
                "overlaid -m {manifest}{} test {} --at {},pin",
                profile(&newer.profile),
                self.loaded.name(),
                newer.commit
            ));
        }
        commands
    }

    fn newer_view(
        &self,
        newer: &Newer,
        proofs: &[(&crate::report::facts::Measured, crate::verdict::Proof, crate::verdict::Decision)],
    ) -> NewerView {
        let mut cases: Vec<&CellId> = proofs
            .iter()
            .flat_map(|(_, _, d)| d.fixed.iter().chain(&d.attributed).chain(&d.broken))
            .collect();
        cases.sort();
        cases.dedup();
        let mut view = NewerView {
            commit: newer.commit.to_string(),
            short: newer.commit.short(),
            called: newer.called.clone(),
            cases: cases.len(),
            failing: 0,
            unknown: 0,
            obstacle: None,
        };
        for cell in cases {
            let side = newer.results.get(&cell.test).map(|side| side.state(&self.records));
            match side {
                Some(Ok(State::Ran(ran))) => {
                    let cells: Vec<_> = ran.runs.iter().map(|run| (run.seed, run.cell(&cell.case))).collect();
                    let runs = u32::try_from(cells.len()).unwrap_or(u32::MAX);
                    match observe(&cells, runs).seen {
                        Seen::Pass | Seen::Measured { .. } => {}
                        Seen::Fail { .. } | Seen::Varies { .. } | Seen::Flaky { .. } => view.failing += 1,
                        _ => view.unknown += 1,
                    }
                }
                Some(Ok(State::BuildFailed { text, .. })) => {
                    if cell.case == CaseKey::build() {
                        view.failing += 1;
                    } else {
                        view.unknown += 1;
                        view.obstacle = Some(format!("it does not build there: {text}"));
                    }
                }
                Some(Ok(State::Blocked(obstacle))) => {
                    view.unknown += 1;
                    view.obstacle = Some(obstacle.text().to_owned());
                }
                _ => view.unknown += 1,
            }
        }
        if view.failing > 0 {
            view.obstacle = None;
        }
        view
    }

    /// Quotes of this upstream, as a template's function can keep them: all that is asked is read before.
    fn quotes(&self) -> QuoteSource<'_> {
        QuoteSource { store: &self.store, url: self.workspace.manifest.upstream.url.value.clone() }
    }
}

/// Where quotes come from.
struct QuoteSource<'s> {
    store: &'s Store,
    url: String,
}

/// Templates of the user.
fn own_templates(workspace: &Workspace) -> Result<BTreeMap<String, String>, Failure> {
    let folder = match &workspace.manifest.locations.templates {
        Some(folder) => folder.value.clone(),
        None => "templates".into(),
    };
    Ok(report_files::templates(&workspace.root, &folder)?)
}

/// Fills a template. Its function for quotes must outlive every borrow, so what it asks for is answered from a table that
/// grows until all that is asked is in it.
fn filled(
    template: Template,
    own: &BTreeMap<String, String>,
    material: &Material<'_>,
    source: QuoteSource<'_>,
) -> Result<String, Failure> {
    use std::sync::Mutex;
    type Answers = BTreeMap<String, Result<String, quote::QuoteError>>;
    let answers: Arc<Mutex<Answers>> = Arc::default();
    let asked: Arc<Mutex<Vec<Place>>> = Arc::default();
    loop {
        let (known, open) = (Arc::clone(&answers), Arc::clone(&asked));
        let quotes: Quotes = Arc::new(move |place: &Place| {
            let key = format!("{place:?}");
            if let Some(answer) = known.lock().ok().and_then(|known| known.get(&key).cloned()) {
                return answer;
            }
            if let Ok(mut open) = open.lock() {
                open.push(place.clone());
            }
            Ok(String::new())
        });
        let text = render(template, own, material, &quotes).map_err(|error| {
            Failure::input(error.to_string())
                .with_hint("correct it, or remove the file to get the one of the program")
        })?;
        let open = asked.lock().map(|mut open| std::mem::take(&mut *open)).unwrap_or_default();
        if open.is_empty() {
            return Ok(text);
        }
        for place in open {
            let made = quote::render(&place, &source.url, &reader(source.store));
            if let Ok(mut answers) = answers.lock() {
                answers.insert(format!("{place:?}"), made);
            }
        }
    }
}

/// What a move of the pin makes of all overlays, through the template.
///
/// # Errors
/// If the upstream or the template cannot be read.
pub fn bump_summary(
    context: &Context,
    workspace: &Workspace,
    rev: &str,
    evidence_only: bool,
    ui: &mut Ui,
) -> Result<String, Failure> {
    let store = context.store_with(workspace, Some(rev), ui)?;
    let to = commit_of(workspace, &store, rev)?;
    let manifest = &workspace.manifest;
    let upstream = &manifest.upstream;
    let from = upstream.pin.value;
    let planned = plan(
        &Question {
            overlays: &workspace.overlays,
            exclusive: &manifest.exclusive,
            from,
            to,
            style: Style::Merge,
            upstream: &store,
        },
        &Resolved::new(),
    );
    let noted =
        verdicts::load(&workspace.root.join(verdicts::file(&manifest.docs_folder(), upstream.name.as_str())));
    let overlays: Vec<serde_json::Value> = planned
        .overlays
        .iter()
        .map(|overlay| {
            serde_json::json!({
                "name": overlay.name.as_str(),
                "outcome": overlay.outcome.as_str(),
                "why": overlay.why,
                "verdict": noted.last(overlay.name.as_str(), None).map(|(_, noted)| noted.verdict.clone()),
            })
        })
        .collect();
    let counts: Vec<serde_json::Value> = planned
        .counts()
        .iter()
        .map(|(outcome, count)| serde_json::json!({ "outcome": outcome.as_str(), "count": count }))
        .collect();
    let facts = Facts {
        upstream: upstream.name.value.clone(),
        overlay: upstream.name.value.clone(),
        pin: from,
        template: Template::Bump,
        evidence_only,
        proofs: Vec::new(),
        newer: None,
        attested: Vec::new(),
        bisected: Vec::new(),
        together: Vec::new(),
        retired: None,
        written: String::new(),
    };
    let url = upstream.url.value.as_str();
    let records = BTreeMap::new();
    let material = Material {
        facts: &facts,
        known: Known {
            name: String::new(),
            reason: None,
            base: None,
            state: String::new(),
            paths: Vec::new(),
            undoes: Vec::new(),
            issue: None,
            pull_request: None,
            removed_with: Vec::new(),
        },
        upstream: UpstreamView {
            name: upstream.name.value.to_string(),
            url: url.contains("://").then(|| url.to_owned()),
            pin: from.to_string(),
            short: from.short(),
            link: quote::commit_link(url, from),
        },
        url,
        may_say: MaySay::NotTested,
        proofs: Vec::new(),
        records: &records,
        newer: None,
        changes: &[],
        repro: Vec::new(),
        evidence: String::new(),
        retired_file: String::new(),
        bump: Some(serde_json::json!({
            "from": from.to_string(), "to": to.to_string(), "overlays": overlays, "counts": counts,
        })),
    };
    let source = QuoteSource { store: &store, url: url.to_owned() };
    filled(Template::Bump, &own_templates(workspace)?, &material, source)
}
