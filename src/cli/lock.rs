//! `overlaid lock`

use serde_json::json;

use crate::bump::FileEdit;
use crate::io::lock_files::{self, Difference, LockFiles};
use crate::io::locked::{load, load_text, lock_file, vendored_folder};
use crate::io::own_files::{Disk, Edited, OwnFiles};
use crate::io::store::Store;
use crate::io::workspace::{LoadError, Workspace};
use crate::lock::{self, Built, LockError, PinFacts};
use crate::sorted::SortedMap;
use crate::verify::{Finding, lock as checks};

use super::{Answer, Context, Failure, FailureKind, Ui, without_problems};

/// Write what an apply needs where there is no git
///
/// manifests/NAME.lock gets the ids of what the pin has at every path that an overlay concerns, and of what the
/// overlays give it. With it, `apply --tree` and build scripts put `files`, `patch` and `delete` into a folder
/// that something else filled, without git objects and without a network. Commit it beside the manifest.
///
/// Content of `from` overlays comes from upstream commits. --vendor puts it beside the lock, into
/// manifests/NAME.vendored, and later runs keep it up to date.
///
/// The same manifest, overlays and pin give the same bytes. `verify` says when the lock is stale.
///
/// Exit code 0: the lock is right. 1: with --check, it is not. 3: the overlays do not fit on the pin. 4: the
/// upstream could not be read, or a file not be written.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Put the content of `from` overlays beside the lock
    #[arg(long)]
    vendor: bool,
    /// Write nothing; say whether the lock is right
    #[arg(long)]
    check: bool,
}

/// Runs the command.
///
/// # Errors
/// If the manifest or the upstream cannot be read, the overlays do not fit, or a file cannot be written.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let _lock = if args.check { None } else { Some(context.lock(ui)?) };
    let workspace = without_problems(context.workspace()?)?;
    let built = make(context, &workspace, args.vendor || vendors(&workspace)?, ui)?;
    for note in &built.notes {
        ui.note(format_args!("note: {}", crate::escape::for_terminal(note)));
    }
    let files = LockFiles::new(&workspace.root, &workspace.manifest.file, &built);
    let differences = files.differences()?;
    if !args.check && !differences.is_empty() {
        files.write()?;
    }
    let file = lock_file(&workspace.manifest.file);
    let (paths, vendored) = (built.lock.paths.len(), built.lock.vendored.len());
    if ui.is_json() {
        let differences: Vec<String> = differences.iter().map(ToString::to_string).collect();
        ui.document(&json!({
            "schema": "overlaid.lock.v1",
            "lock": file.display().to_string(),
            "pin": built.lock.pin,
            "tree": built.lock.tree,
            "paths": paths,
            "vendored": vendored,
            "written": !args.check && !differences.is_empty(),
            "differences": differences,
            "notes": built.notes,
        }));
    } else if args.check {
        for difference in &differences {
            ui.line(difference);
        }
    }
    if ui.is_json() {
        // The document says it all.
    } else if args.check && !differences.is_empty() {
        let count = plural(differences.len(), "difference", "differences");
        let command = context.command("lock", None);
        ui.line(format_args!("{} is not right: {count}; to write it anew: {command}", file.display()));
    } else {
        let summary = if differences.is_empty() { "is right" } else { "written" };
        ui.line(format_args!(
            "{} {summary}: {}, {} vendored",
            file.display(),
            plural(paths, "path", "paths"),
            plural(vendored, "content", "contents"),
        ));
    }
    Ok(if args.check && !differences.is_empty() { Answer::No } else { Answer::Yes })
}

fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Whether the lock that is there has vendored contents; then they are kept. One that cannot be read is replaced.
fn vendors(workspace: &Workspace) -> Result<bool, Failure> {
    match load(&workspace.root, &workspace.manifest.file) {
        Ok(lock) => Ok(lock.is_some_and(|lock| !lock.vendored.is_empty())),
        Err(LoadError::Manifest(_)) => {
            // The lines may still be there: an unresolved conflict is no reason to stop vendoring.
            let text = load_text(&workspace.root, &workspace.manifest.file).unwrap_or_default();
            Ok(text.is_some_and(|text| text.lines().any(|line| line.starts_with("vendored "))))
        }
        Err(error) => Err(error.into()),
    }
}

/// The lock as it should be.
///
/// # Errors
/// If the upstream cannot be read, or the overlays do not fit.
pub(super) fn make(
    context: &Context,
    workspace: &Workspace,
    vendor: bool,
    ui: &mut Ui,
) -> Result<Built, Failure> {
    let store = context.store(workspace, ui)?;
    make_from(workspace, &store, vendor)
}

/// How a lock that is there changes with files of ours that are about to be written; nothing, if there is none.
///
/// # Errors
/// If it cannot be made, or files cannot be read.
fn renewed(context: &Context, own: &dyn OwnFiles, ui: &mut Ui) -> Result<Vec<FileEdit>, Failure> {
    let workspace = without_problems(context.workspace_from(own)?)?;
    if load_text(&workspace.root, &workspace.manifest.file)?.is_none() {
        return Ok(Vec::new());
    }
    let built = make(context, &workspace, vendors(&workspace)?, ui)?;
    Ok(LockFiles::new(&workspace.root, &workspace.manifest.file, &built).edits()?)
}

/// The lock follows from the files that are about to be written, and changes with them. If it cannot be made, `verify`
/// says that it is stale.
pub(super) fn follow(context: &Context, edits: &[FileEdit], ui: &mut Ui) -> Vec<FileEdit> {
    let disk = Disk::new(&context.root);
    match renewed(context, &Edited::new(&disk, edits), ui) {
        Ok(edits) => edits,
        Err(failure) => {
            let why = match failure.diagnostics.first() {
                Some(first) if failure.message.is_empty() => first.brief(),
                _ => failure.message,
            };
            ui.warn(format_args!("the lock will be stale, and cannot be made anew: {why}"));
            ui.note("make it: overlaid lock");
            Vec::new()
        }
    }
}

fn make_from(workspace: &Workspace, store: &Store, vendor: bool) -> Result<Built, Failure> {
    let pin = workspace.manifest.upstream.pin.value;
    let mut submodules = SortedMap::new();
    for module in &workspace.manifest.upstream.submodules {
        let path = &module.path.value;
        submodules.insert(path.clone(), store.submodule_at(pin, path)?);
    }
    let facts = PinFacts { tree: store.tree_of(pin)?, submodules };
    Ok(lock::build(&workspace.manifest, &workspace.overlays, facts, store, vendor)?)
}

/// What `verify` finds about the lock. `must`: there has to be one.
///
/// # Errors
/// If a file or the upstream cannot be read.
pub(super) fn findings(workspace: &Workspace, store: &Store, must: bool) -> Result<Vec<Finding>, Failure> {
    let manifest = &workspace.manifest;
    let file = lock_file(&manifest.file);
    let lock = match load(&workspace.root, &manifest.file) {
        Ok(Some(lock)) => lock,
        Ok(None) if must => return Ok(vec![checks::missing(&file, "--locked asks for one")]),
        Ok(None) if workspace.root.join(vendored_folder(&manifest.file)).is_dir() => {
            return Ok(vec![checks::missing(&file, "there are vendored contents, and nothing names them")]);
        }
        Ok(None) => return Ok(Vec::new()),
        Err(LoadError::Manifest(diagnostics)) => {
            return Ok(diagnostics.into_iter().map(Finding::from).collect());
        }
        Err(error) => return Err(error.into()),
    };
    if !workspace.problems.is_empty() {
        // What the overlays are cannot be told before these are mended.
        return Ok(Vec::new());
    }
    let stale = lock::stale(&lock, manifest, &workspace.overlays);
    let mut findings = checks::stale(manifest, &file, &stale);
    let built = match make_from(workspace, store, !lock.vendored.is_empty()) {
        Ok(built) => built,
        // That the overlays do not fit is a finding of its own.
        Err(failure) if matches!(failure.kind, FailureKind::Input | FailureKind::NeedsPerson) => {
            return Ok(findings);
        }
        Err(failure) => return Err(failure),
    };
    for difference in LockFiles::new(&workspace.root, &manifest.file, &built).differences()? {
        let said = difference.to_string();
        match difference {
            Difference::Line { .. } if stale.is_empty() => findings.push(checks::edited(&said)),
            // Those of a stale lock are no news.
            Difference::Line { .. } | Difference::NoLock(_) => {}
            Difference::Vendored(_) | Difference::Extra(_) if !stale.is_empty() => {}
            Difference::Vendored(_) => findings.push(checks::vendored(&said)),
            Difference::Extra(_) => findings.push(checks::extra(&said)),
        }
    }
    Ok(findings)
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Upstream(error) => error.into(),
            LockError::Unwanted { profile, why } => {
                let mut failure = Failure::from(why);
                if let Some(profile) = profile {
                    failure.message = format!("with --profile {profile}: {}", failure.message);
                }
                failure
            }
        }
    }
}

impl From<lock_files::WriteError> for Failure {
    fn from(error: lock_files::WriteError) -> Self {
        Failure::environment(error.to_string())
    }
}
