//! `overlaid verify`

mod measured;
mod on_disk;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::diagnostic::Severity;
use crate::gitmodules;
use crate::id::{CommitId, Name, UpstreamPath};
use crate::io::own_files::{Disk, OwnFiles};
use crate::io::store::{ResolveError, Store};
use crate::io::workspace::Workspace;
use crate::lex::{Comparison, Delta};
use crate::manifest::{Kind, pattern};
use crate::overlay::{At, Loaded, content_at, resolve};
use crate::provenance::OverlayReport;
use crate::report::ci::{Format, Notice};
use crate::tree::{Content, Listing, Mode};
use crate::upstream::{Upstream, UpstreamError};
use crate::verify::marker::Said;
use crate::verify::{
    Finding, OwnText, accepted, also_pinned, claim, coverage, documents, forbidden, marker, states,
    submodules,
};

use super::diff::{changes_since, compare};
use super::status::{inspect_all, no_branch};
use super::wanted::wanted;
use super::{Answer, Context, Failure, Tone, Ui, explain};

/// Check that what is carried is what the manifest says
///
/// Every file of the tree against the pin with the overlays on it. Each overlay against its base, its claim,
/// the upstream's history. Records of evidence that were edited, or are of what is not there any more. Files that no overlay names, globs that match nothing, patterns that must not be
/// found, other places that repeat the pin, reports and tests that are missing. Each finding has a stable
/// code: docs/findings.md explains them all.
///
/// A tree that was never made is a warning; with --tree it is an error. Changes nothing.
///
/// With --build, the records of a finished build (ninja's dependency log, or the dependency files of make) have to show
/// for each overlaid file that a compiler, or CMake, read it as it is now. Nothing of the build is run.
///
/// Exit code 0: no errors. 1: errors, or warnings with --strict. 2, 4: could not check.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The tree to check, instead of the manifest's
    #[arg(long, value_name = "DIR")]
    tree: Option<PathBuf>,
    /// A build folder of the tree: was every overlaid file compiled there, as it is now?
    #[arg(long, value_name = "DIR")]
    build: Option<PathBuf>,
    /// Warnings count as errors
    #[arg(long)]
    strict: bool,
    /// There has to be a lock file
    #[arg(long)]
    locked: bool,
    /// Check what changed in the overlays since a revision of our own repository
    #[arg(long, value_name = "REV", requires = "expect")]
    since: Option<String>,
    /// How far the change since REV may go: identical, whitespace, comments, code
    #[arg(long, value_name = "DELTA", requires = "since", value_parser = parse_delta)]
    expect: Option<Delta>,
    /// In which form the result is printed
    #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    format: Format,
    /// Say what a code means, with an example and what to do
    #[arg(long, value_name = "CODE")]
    explain: Option<String>,
}

fn parse_delta(word: &str) -> Result<Delta, String> {
    Delta::parse(word).ok_or_else(|| "expected identical, whitespace, comments or code".to_owned())
}

/// Runs the command.
///
/// # Errors
/// If a manifest, a file or an upstream cannot be read.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    if let Some(word) = &args.explain {
        return explain::run(word, ui);
    }
    let is_of_one = args.tree.is_some() || args.build.is_some();
    let workspaces = if is_of_one { vec![context.workspace()?] } else { context.workspaces()? };
    context.warn_of_unknown_features(&workspaces, ui);
    super::same_names::warn(&workspaces, ui);
    let mut findings = Vec::new();
    let mut overlays = 0;
    for workspace in &workspaces {
        overlays += workspace.overlays.len();
        let store = context.store(workspace, ui)?;
        let checked = Checked { context, workspace, store: &store };
        findings.extend(checked.check(args, ui)?);
    }
    findings.sort_by_key(|finding| finding.diagnostic.severity);
    let count = |severity| findings.iter().filter(|f| f.diagnostic.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if args.format != Format::Text {
        let notices: Vec<Notice> = findings.iter().map(notice).collect();
        explain::print_for_ci(args.format, "verify", &notices, ui)?;
    } else if ui.is_json() {
        let findings: Vec<_> = findings.iter().map(to_json).collect();
        ui.document(&json!({ "schema": "overlaid.verify.v1", "findings": findings }));
    } else {
        for finding in &findings {
            ui.line(finding.diagnostic.render(ui.shows_colour(), ui.width()));
            ui.line("");
        }
        let tone = if errors > 0 { Tone::Bad } else { Tone::Good };
        ui.line(tone.paint(format_args!(
            "{} checked: {}, {}",
            plural(overlays, "overlay"),
            plural(errors, "error"),
            plural(warnings, "warning")
        )));
    }
    Ok(if errors > 0 || (args.strict && warnings > 0) { Answer::No } else { Answer::Yes })
}

fn notice(finding: &Finding) -> Notice {
    let overlay = finding.overlay.as_ref().map(ToString::to_string);
    Notice { overlay, record: finding.diagnostic.to_record() }
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

fn to_json(finding: &Finding) -> serde_json::Value {
    let record = finding.diagnostic.to_record();
    json!({
        "code": record.code,
        "severity": record.severity,
        "overlay": finding.overlay,
        "path": finding.path,
        "message": record.message,
        "file": record.file,
        "line": record.line,
        "column": record.column,
        "notes": finding.diagnostic.notes,
        "hint": record.hint,
    })
}

struct Checked<'a> {
    context: &'a Context,
    workspace: &'a Workspace,
    store: &'a Store,
}

impl Checked<'_> {
    fn check(&self, args: &Args, ui: &mut Ui) -> Result<Vec<Finding>, Failure> {
        let (workspace, manifest) = (self.workspace, &self.workspace.manifest);
        let of_manifest = workspace.problems.iter().chain(&workspace.warnings);
        let mut findings: Vec<Finding> = of_manifest.cloned().map(Finding::from).collect();
        let loaded: Vec<&Loaded> = workspace.overlays.iter().collect();
        let reports = inspect_all(workspace, &loaded, self.store);
        for (loaded, report) in loaded.iter().zip(&reports) {
            findings.extend(accepted::settle(
                manifest,
                loaded,
                report,
                states::check(manifest, loaded, report),
            ));
            findings.extend(self.check_overlay(loaded, report)?);
        }
        findings.extend(self.check_coverage(&loaded, &reports)?);
        for place in &manifest.upstream.also_pinned {
            let text = self.own_text(&place.file.value)?;
            findings.extend(also_pinned::check(manifest, place, text.as_ref()));
        }
        findings.extend(self.check_submodules()?);
        findings.extend(self.check_evidence()?);
        findings.extend(super::lock::findings(workspace, self.store, args.locked)?);
        if let Some(no_branch) = no_branch(workspace, self.store) {
            findings.extend(states::check_branch(manifest, &no_branch, &self.store.branches()));
        }
        // Overlays that were said not to fit need not be said again for the tree.
        let said: BTreeSet<&Name> =
            reports.iter().filter(|report| states::says_misfit(report)).map(|report| &report.name).collect();
        findings.extend(self.check_tree(args, &said, ui)?);
        if let (Some(folder), true) = (&args.build, workspace.problems.is_empty()) {
            findings.extend(self.check_build(args, folder, ui)?);
        }
        if let (Some(since), Some(expected)) = (&args.since, args.expect) {
            for (name, changes) in changes_since(workspace, since, self.store)? {
                let Ok(name) = Name::parse(&name) else { continue };
                match changes {
                    Ok(changes) => findings.extend(changes.iter().filter_map(|change| {
                        claim::check_change(&name, &change.path, since, expected, &compare(change))
                    })),
                    Err(failure) => findings.push(claim::unknown_change(&name, since, &failure.message)),
                }
            }
        }
        Ok(findings)
    }

    fn own_text(&self, file: &Path) -> Result<Option<OwnText>, Failure> {
        let content = Disk::new(&self.workspace.root).read(file)?;
        Ok(content.map(|content| OwnText::new(file, &content.bytes)))
    }

    fn exists(&self) -> impl Fn(&Path) -> bool {
        let root = self.workspace.root.clone();
        move |file| root.join(file).exists()
    }

    /// Claim, links, and what stands in the overlay's files.
    fn check_overlay(&self, loaded: &Loaded, report: &OverlayReport) -> Result<Vec<Finding>, Failure> {
        let (manifest, name) = (&self.workspace.manifest, loaded.name());
        let mut findings = documents::missing_links(manifest, loaded, &self.exists());
        if let Some(claimed) = &loaded.overlay.claim {
            for path in &report.paths {
                let found = match path.delta {
                    Some(delta) => Comparison::Known(delta),
                    None => self.compare_with_base(loaded, &path.path)?,
                };
                findings.extend(claim::check(manifest, name, claimed, &path.path, &found));
            }
        }
        for (path, content, text) in self.contents(loaded)? {
            findings.extend(documents::missing_documents(name, &path, &text, &self.exists()));
            for check in &manifest.checks {
                findings.extend(forbidden::check(check, name, &path, &text));
            }
            for found in marker::find(&content.bytes) {
                let commit = match &found.source {
                    Ok((_, digits)) => self.marked_commit(digits)?,
                    Err(_) => None,
                };
                let there = match (&found.source, commit) {
                    (Ok((source, _)), Some(commit)) => content_at(self.store, commit, source)?,
                    _ => None,
                };
                let said = match (commit, &there) {
                    (None, _) => Said::NoCommit,
                    (Some(commit), None) => Said::NoPath(commit),
                    (Some(commit), Some(content)) => Said::Content(commit, &content.bytes),
                };
                findings.extend(marker::check(name, &path, &content.bytes, &text, &found, said));
            }
        }
        Ok(findings)
    }

    /// The commit that a marker names. A full id is taken at its word; whether it is there, its content says.
    fn marked_commit(&self, digits: &str) -> Result<Option<CommitId>, Failure> {
        if let Ok(id) = CommitId::parse(digits) {
            return Ok(Some(id));
        }
        match self.store.resolve(digits) {
            Ok(found) => Ok(found),
            Err(ResolveError::Store(error)) => Err(error.into()),
            Err(ResolveError::Ambiguous { .. } | ResolveError::NotACommit { .. }) => Ok(None),
        }
    }

    fn compare_with_base(&self, loaded: &Loaded, path: &UpstreamPath) -> Result<Comparison, Failure> {
        let Some(base) = &loaded.overlay.base else {
            return Ok(crate::lex::compare(path, b"", b""));
        };
        let resolution = resolve(&[loaded], At::Pin(base.value), self.store)?;
        let content = resolution.changes.get(path).cloned().flatten();
        let base = match content_at(self.store, base.value, path) {
            // That it cannot be read there is a finding of its own.
            Err(UpstreamError::InSubmodule { .. }) => return Ok(crate::lex::compare(path, b"", b"")),
            base => base?,
        };
        Ok(match (&base, &content) {
            (Some(base), Some(content)) => crate::lex::compare_contents(path, base, content),
            _ => {
                let bytes =
                    |side: &Option<Content>| side.as_ref().map_or_else(Vec::new, |c| c.bytes.to_vec());
                crate::lex::compare(path, &bytes(&base), &bytes(&content))
            }
        })
    }

    /// What an overlay gives its paths: its own files, or what its patch or commits make of the pin.
    fn contents(&self, loaded: &Loaded) -> Result<Vec<(UpstreamPath, Content, OwnText)>, Failure> {
        let contents: Vec<(UpstreamPath, Content)> = match &loaded.overlay.kind {
            Kind::Files(_) => loaded.files.iter().map(|(p, c)| (p.clone(), c.clone())).collect(),
            _ => {
                let pin = self.workspace.manifest.upstream.pin.value;
                let changes = resolve(&[loaded], At::Pin(pin), self.store)?.changes;
                changes.into_iter().filter_map(|(path, content)| Some((path, content?))).collect()
            }
        };
        let is_file = matches!(loaded.overlay.kind, Kind::Files(_));
        let with_text = contents.into_iter().map(|(path, content)| {
            let file =
                if is_file { self.workspace.overlay_file(&path) } else { path.to_os_path().to_owned() };
            let text = OwnText::new(file, &content.bytes);
            (path, content, text)
        });
        Ok(with_text.collect())
    }

    fn check_submodules(&self) -> Result<Vec<Finding>, Failure> {
        let manifest = &self.workspace.manifest;
        let pin = manifest.upstream.pin.value;
        let mut declared = BTreeMap::new();
        for module in &manifest.upstream.submodules {
            let path = &module.path.value;
            declared.insert(path.clone(), self.store.submodule_at(pin, path)?);
        }
        let mut findings = submodules::absent(manifest, &declared);
        let listing = self.store.listing(pin)?;
        let hints = self.submodule_hints(pin, &listing)?;
        findings.extend(submodules::undeclared(manifest, &listing, &hints));
        Ok(findings)
    }

    /// The URLs that the upstream, and its declared submodules, say of the submodules in them.
    fn submodule_hints(&self, pin: CommitId, listing: &Listing) -> Result<BTreeMap<String, String>, Failure> {
        let upstream = &self.workspace.manifest.upstream;
        let top = (String::new(), upstream.url.value.as_str());
        let declared = upstream.submodules.iter();
        let inner = declared.map(|module| (format!("{}/", module.path.value), module.url.value.as_str()));
        let mut hints = BTreeMap::new();
        if !listing.values().any(|entry| entry.mode == Mode::Submodule) {
            return Ok(hints);
        }
        for (folder, url) in std::iter::once(top).chain(inner) {
            let Ok(file) = UpstreamPath::parse(format!("{folder}.gitmodules")) else { continue };
            if let Some(content) = content_at(self.store, pin, &file)? {
                let text = String::from_utf8_lossy(&content.bytes);
                hints.extend(
                    gitmodules::urls(&text, url).into_iter().map(|(path, url)| (folder.clone() + &path, url)),
                );
            }
        }
        Ok(hints)
    }

    fn check_coverage(&self, loaded: &[&Loaded], reports: &[OverlayReport]) -> Result<Vec<Finding>, Failure> {
        let (workspace, manifest) = (self.workspace, &self.workspace.manifest);
        let mut findings = coverage::unnamed_files(manifest, &workspace.overlay_files, &workspace.overlays);
        let paths = |report: &OverlayReport| -> BTreeSet<UpstreamPath> {
            report.paths.iter().map(|path| path.path.clone()).collect()
        };
        let all: BTreeSet<UpstreamPath> = reports.iter().flat_map(paths).collect();
        let by_overlay: Vec<(&Loaded, BTreeSet<UpstreamPath>)> =
            loaded.iter().copied().zip(reports.iter().map(paths)).collect();
        findings.extend(coverage::unchecked(manifest, &by_overlay));
        findings.extend(coverage::idle_checks(manifest, &all));
        let disk = Disk::new(&workspace.root);
        let mut idle = BTreeSet::new();
        for glob in manifest.tests.iter().flat_map(|test| &test.sources) {
            if !matches_a_file(&disk, &glob.value)? {
                idle.insert(glob.value.as_str());
            }
        }
        findings.extend(coverage::idle_sources(manifest, &idle));
        Ok(findings)
    }
}

fn matches_a_file(disk: &Disk, glob: &str) -> Result<bool, Failure> {
    let Ok(glob_matcher) = pattern::glob(glob) else { return Ok(true) };
    let matcher = glob_matcher.compile_matcher();
    // Only the folder before the first wildcard has to be read.
    let fixed = glob.split('/').take_while(|part| !pattern::has_wildcards(part));
    let folder: PathBuf = fixed.collect();
    if !pattern::has_wildcards(glob) {
        return Ok(disk.read(Path::new(glob)).is_ok_and(|content| content.is_some()));
    }
    Ok(disk.list(&folder)?.iter().any(|file| matcher.is_match(folder.join(file))))
}
