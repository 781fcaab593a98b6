//! `overlaid drop`

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use crate::bump::FileEdit;
use crate::escape::{for_shell, for_terminal};
use crate::id::BlobId;
use crate::io::lab::records::now;
use crate::io::own_edits::{self, Lock};
use crate::io::own_files::{Disk, OwnFiles};
use crate::io::own_history::Revision;
use crate::io::report_files;
use crate::io::workspace::Workspace;
use crate::manifest::edit::{self, EditError};
use crate::manifest::{self, Overlay};
use crate::overlay::Loaded;
use crate::report::retired::Retired;
use crate::report::templates::Template;
use crate::verdict::Verdict;

use super::apply::{Place, Saying, bring};
use super::report::gather::Gathered;
use super::report::{finished, options, overlay_of, prove_command, should_go};
use super::{Answer, Context, Failure, FailureKind, Ui, without_problems};

/// Remove an overlay that is proven to be not needed
///
/// Only where the verdict is droppable, harmful or redundant under every profile that turns the overlay on and on every
/// device that it names, from evidence that matches today's inputs. Else nothing is done, and the hint is the command that
/// would prove it. `--force --reason TEXT` drops it all the same, and is recorded as that.
///
/// Removes its table from the manifest and its files, puts upstream's bytes back into the tree, writes
/// docs/upstream/retired/OVERLAY.toml (what it was, and who decided) and brings its report up to date: all or nothing.
/// A tree in another place, which something else filled, is named with --tree, as for `apply`.
/// The files of before are kept in .overlaid/before. To bring it back, revert the commit that has the drop: git revert COMMIT.
///
/// Exit codes: 0 dropped, or with --dry-run: it can be. 1 it cannot be dropped: the proof is missing. 3 other overlays stand in the
/// way, or edits in the tree, or somebody reports that it is needed (`prove --attest`). 4 could not find out.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The overlay
    #[arg(value_name = "OVERLAY")]
    overlay: String,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Drop it without the proof; needs a reason
    #[arg(long, requires = "reason")]
    force: bool,
    /// Why it is dropped without the proof
    #[arg(long, value_name = "TEXT", requires = "force")]
    reason: Option<String>,
    /// A folder that something else filled, in place of the manifest's tree: as for apply
    #[arg(long, value_name = "DIR")]
    tree: Option<PathBuf>,
    /// Who decides; default: user.name of git
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// If the manifest, the upstream or evidence cannot be read, or files cannot be written. Nothing has changed then.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let lock = if args.dry_run { None } else { Some(context.lock(ui)?) };
    let workspace = without_problems(context.workspace()?)?;
    let loaded = overlay_of(&workspace, &args.overlay)?;
    let forced = reason(args)?;
    neighbours_allow(&workspace, &loaded.overlay)?;
    let mut gathered = Gathered::new(context, &workspace, loaded, ui)?;
    // What turns it on nowhere has nothing to be asked.
    match gathered.recall(context, ui) {
        Err(failure) if forced.is_none() => return Err(failure),
        _ => {}
    }
    let gaps = gathered.gaps(context);
    let is_proven = should_go(gathered.verdict()) && gaps.is_empty();
    if !is_proven && forced.is_none() {
        return Ok(refuse(context, &gathered, &gaps, ui));
    }
    let reported = gathered.contradicted().first().map(|report| report.text());
    if let (Some(reported), true, None) = (&reported, is_proven, &forced) {
        let message = format!("{}: a person decides", for_terminal(reported));
        let again =
            format!("overlaid{} drop {} --force --reason TEXT", options(context), for_shell(&args.overlay));
        return Err(Failure::new(FailureKind::NeedsPerson, message)
            .with_hint(format!("if it is to go all the same: {again}")));
    }
    let retired = record(args, &gathered, forced.filter(|_| !is_proven || reported.is_some()))?;
    let mut drop = Drop::plan(&workspace, &gathered, retired)?;
    let Some(lock) = &lock else {
        drop.say(&workspace, "would be removed", ui);
        return Ok(Answer::Yes);
    };
    drop.write(context, &workspace, &gathered, (lock, args.tree.as_deref()), ui)?;
    drop.say(&workspace, "removed", ui);
    Ok(Answer::Yes)
}

fn reason(args: &Args) -> Result<Option<String>, Failure> {
    let Some(reason) = &args.reason else { return Ok(None) };
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    if reason.is_empty() {
        return Err(
            Failure::input("the reason is empty").with_hint("say why it is dropped without the proof")
        );
    }
    Ok(Some(reason))
}

/// Other overlays that could not stay as they are.
fn neighbours_allow(workspace: &Workspace, overlay: &Overlay) -> Result<(), Failure> {
    let name = &overlay.name.value;
    let others = || workspace.manifest.overlays.iter().filter(|other| other.name.value != *name);
    let needing: Vec<String> = others()
        .filter(|other| other.needs.iter().any(|need| need.value == *name))
        .map(|other| other.name.value.to_string())
        .collect();
    if let Some(first) = needing.first() {
        let message = format!("overlay `{name}` is needed by: {}", needing.join(", "));
        return Err(Failure::new(FailureKind::NeedsPerson, message).with_hint(format!(
            "drop that first: overlaid drop {}; or take `{name}` out of its `needs`",
            for_shell(first)
        )));
    }
    if let Some(group) = overlay.rivals.as_ref().filter(|_| overlay.active) {
        let rivals: Vec<String> = others()
            .filter(|other| other.rivals.as_ref().is_some_and(|g| g.value == group.value))
            .map(|other| other.name.value.to_string())
            .collect();
        if !rivals.is_empty() {
            let message = format!("overlay `{name}` is the active one of the rivals `{}`", group.value);
            return Err(Failure::new(FailureKind::NeedsPerson, message)
                .with_hint(format!("make another one active first: {}", rivals.join(", "))));
        }
    }
    Ok(())
}

fn refuse(
    context: &Context,
    gathered: &Gathered<'_>,
    gaps: &[crate::verdict::Reason],
    ui: &mut Ui,
) -> Answer {
    let name = gathered.loaded.name().as_str();
    let verdict = gathered.verdict();
    // What a drop still needs matters only where the verdict says that it can go.
    let gaps = if should_go(verdict) { gaps } else { &[] };
    let mut reasons: Vec<String> = gaps.iter().map(|gap| gap.text.clone()).collect();
    if !should_go(verdict) {
        reasons.extend(gathered.reasons());
    }
    // Where only a profile is missing, that is what is to be run.
    let profile =
        gaps.iter().find(|gap| gap.code == "other-profile").and_then(|gap| gap.text.split('`').nth(1));
    let command = match profile {
        Some(profile) => {
            let other = Context { profile: Some(profile.to_owned()), ..context.clone() };
            prove_command(&other, name)
        }
        None => prove_command(context, name),
    };
    if ui.is_json() {
        ui.document(&json!({
            "schema": "overlaid.drop.v1",
            "overlay": name,
            "dropped": false,
            "verdict": verdict,
            "reasons": reasons,
            "prove": command,
        }));
    } else {
        ui.line(format_args!("{name}: not dropped; the verdict is {}", verdict.as_str()));
        for reason in &reasons {
            ui.line(format_args!("  {}", for_terminal(reason)));
        }
        match verdict {
            Verdict::Needed => ui.note(format_args!("hint: to see what breaks without it: {command}")),
            _ => ui.note(format_args!("hint: what would prove it: {command}")),
        }
    }
    Answer::No
}

fn record(args: &Args, gathered: &Gathered<'_>, forced: Option<String>) -> Result<Retired, Failure> {
    let workspace = gathered.workspace;
    let manifest = &workspace.manifest;
    let overlay = &gathered.loaded.overlay;
    let by = match &args.by {
        Some(by) => Some(by.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|by| !by.is_empty()),
        None => report_files::user_name(&workspace.root),
    };
    let by = by.ok_or_else(|| {
        Failure::input("it is not known who decides: git has no user.name here")
            .with_hint("say who: --by NAME")
    })?;
    let undid = gathered.report.undoes();
    let table = overlay_table(&manifest.text, overlay.name.as_str())
        .map_err(|error| Failure::input(error.to_string()))?;
    Ok(Retired {
        name: overlay.name.value.clone(),
        upstream: manifest.upstream.name.value.clone(),
        reason: overlay.reason.as_ref().map(|reason| reason.value.clone()),
        base: overlay.base.as_ref().map(|base| base.value),
        pin: manifest.upstream.pin.value,
        state: gathered.report.state.as_str().to_owned(),
        verdict: gathered.verdict().as_str().to_owned(),
        forced,
        by,
        at: now(),
        paths: gathered.report.paths.iter().map(|path| path.path.to_string()).collect(),
        undid: undid
            .iter()
            .map(|commit| format!("{} {}", commit.id, for_terminal(&commit.subject)))
            .collect(),
        evidence: gathered.used_records().into_iter().collect(),
        files: files_of(workspace, gathered.loaded).into_iter().map(|own| own.0).collect(),
        last_in: last_in(workspace, gathered.loaded),
        table,
    })
}

/// The overlay's table as it stands in the manifest: what goes when it is removed.
fn overlay_table(text: &str, overlay: &str) -> Result<String, EditError> {
    let without = edit::remove_overlay(text, overlay)?;
    let start = text.bytes().zip(without.bytes()).take_while(|(a, b)| a == b).count();
    let max = text.len().min(without.len()) - start;
    let end = text.bytes().rev().zip(without.bytes().rev()).take(max).take_while(|(a, b)| a == b).count();
    let removed = text.as_bytes().get(start..text.len() - end).unwrap_or_default();
    Ok(String::from_utf8_lossy(removed).trim().to_owned())
}

/// The files of an overlay that no other overlay names.
fn files_of(workspace: &Workspace, loaded: &Loaded) -> Vec<(PathBuf, BlobId)> {
    let others: BTreeSet<&Path> = workspace
        .overlays
        .iter()
        .filter(|other| other.name() != loaded.name())
        .flat_map(|other| other.own.iter().map(|own| own.file.as_path()))
        .collect();
    loaded
        .own
        .iter()
        .filter(|own| !others.contains(own.file.as_path()))
        .map(|own| (own.file.clone(), own.id))
        .collect()
}

/// Our last commit, if it has the overlay as it stands here.
fn last_in(workspace: &Workspace, loaded: &Loaded) -> Option<crate::id::CommitId> {
    let head = Revision::open(&workspace.root, "HEAD").ok()?;
    let same = |file: &Path, id: BlobId| {
        head.read(file).ok().flatten().is_some_and(|content| BlobId::of(&content.bytes) == id)
    };
    let manifest = &workspace.manifest;
    let is_committed = same(&manifest.file, BlobId::of(manifest.text.as_bytes()))
        && files_of(workspace, loaded).iter().all(|(file, id)| same(file, *id));
    is_committed.then(|| head.commit())
}

/// What a drop changes.
struct Drop {
    edits: Vec<FileEdit>,
    retired: Retired,
    record: PathBuf,
    report: Option<PathBuf>,
    /// Tests that no overlay names any more.
    tests: Vec<String>,
}

impl Drop {
    fn plan(workspace: &Workspace, gathered: &Gathered<'_>, retired: Retired) -> Result<Self, Failure> {
        let manifest = &workspace.manifest;
        let loaded = gathered.loaded;
        let name = loaded.name();
        let text = edit::remove_overlay(&manifest.text, name.as_str())
            .map_err(|error| Failure::input(error.to_string()))?;
        let (parsed, diagnostics) = manifest::parse(&manifest.file, &text);
        if parsed.is_none() {
            let message = format!("the manifest would not be right without overlay `{name}`");
            return Err(Failure { message, ..Failure::diagnostics(diagnostics) });
        }
        let disk = Disk::new(&workspace.root);
        let write = |file: &Path, bytes: Vec<u8>| -> Result<FileEdit, Failure> {
            let before = disk.read(file)?.map(|content| BlobId::of(&content.bytes));
            Ok(FileEdit { file: file.to_owned(), before, after: Some(Arc::from(bytes)), mode: None })
        };
        let mut edits = vec![FileEdit {
            file: manifest.file.clone(),
            before: Some(BlobId::of(manifest.text.as_bytes())),
            after: Some(Arc::from(text.as_bytes())),
            mode: None,
        }];
        let gone = files_of(workspace, loaded);
        edits.extend(gone.into_iter().map(|(file, id)| FileEdit {
            file,
            before: Some(id),
            after: None,
            mode: None,
        }));
        let record = manifest.docs_folder().join("retired").join(format!("{name}.toml"));
        edits.push(write(&record, retired.to_toml().into_bytes())?);
        let mut report = None;
        if gathered.before.is_some() || !gathered.proofs.is_empty() {
            let mut facts = gathered.facts(Template::Retraction, false);
            facts.retired = Some(retired.clone());
            edits.push(write(&gathered.file, finished(gathered, facts)?)?);
            report = Some(gathered.file.clone());
        }
        let others = manifest.overlays.iter().filter(|other| other.name.value != *name);
        let named: BTreeSet<&str> = others.flat_map(|o| o.tests.iter().map(|test| test.as_str())).collect();
        let tests = loaded.overlay.tests.iter().map(|test| test.value.to_string());
        let tests = tests.filter(|test| !named.contains(test.as_str())).collect();
        Ok(Self { edits, retired, record, report, tests })
    }

    /// Writes our own files, then the tree. Where the tree cannot be written, our files are taken back.
    fn write(
        &mut self,
        context: &Context,
        workspace: &Workspace,
        gathered: &Gathered<'_>,
        (lock, tree): (&Lock, Option<&Path>),
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let dir = match tree {
            Some(tree) => tree.to_owned(),
            None => context.tree(workspace)?,
        };
        if tree.is_some() && !dir.is_dir() {
            return Err(Failure::input(format!("`{}` is no folder", dir.display()))
                .with_hint("name the folder that `apply --tree` was given"));
        }
        let features = match dir.is_dir() {
            true => Some(super::apply::features(context, workspace)?),
            false => None,
        };
        self.edits.extend(super::lock::follow(context, &self.edits, ui));
        let old = self.contents(workspace)?;
        own_edits::write(lock, &self.edits)?;
        if let Some(features) = features
            && let Err(failure) = restore_tree(context, &features, gathered, tree)
        {
            own_edits::write(lock, &old)?;
            return Err(failure);
        }
        Ok(())
    }

    /// The edits that take all of it back.
    fn contents(&self, workspace: &Workspace) -> Result<Vec<FileEdit>, Failure> {
        let disk = Disk::new(&workspace.root);
        let back = |edit: &FileEdit| -> Result<FileEdit, Failure> {
            let there = disk.read(&edit.file)?;
            Ok(FileEdit {
                file: edit.file.clone(),
                before: edit.after.as_ref().map(|bytes| BlobId::of(bytes)),
                mode: there.as_ref().map(|content| content.mode),
                after: there.map(|content| content.bytes),
            })
        };
        self.edits.iter().map(back).collect()
    }

    fn say(&self, workspace: &Workspace, done: &str, ui: &mut Ui) {
        let Retired { name, verdict, by, forced, files, last_in, .. } = &self.retired;
        if ui.is_json() {
            ui.document(&json!({
                "schema": "overlaid.drop.v1",
                "overlay": name,
                "dropped": done == "removed",
                "verdict": verdict,
                "forced": forced,
                "by": by,
                "files": files,
                "record": self.record,
                "report": self.report,
                "tests": self.tests,
            }));
            return;
        }
        ui.line(format_args!("{name}: {verdict}; {done}, as {} decides", for_terminal(by)));
        if let Some(reason) = forced {
            ui.line(format_args!("  without the proof: {}", for_terminal(reason)));
        }
        ui.line(format_args!("  its table in {}", workspace.manifest.file.display()));
        for file in files {
            ui.line(format_args!("  {}", for_terminal(file.display().to_string())));
        }
        ui.line(format_args!("  the record: {}", self.record.display()));
        if let Some(report) = &self.report {
            ui.line(format_args!("  the report: {}", report.display()));
        }
        for test in &self.tests {
            ui.note(format_args!("no overlay names test `{test}` any more; it stays"));
        }
        match last_in {
            Some(_) => ui.note("to bring it back: commit this, and later: git revert COMMIT"),
            None => ui.note(
                "the overlay was in no commit as it stood here: its files are in .overlaid/before only",
            ),
        }
    }
}

/// Makes the tree what the new manifest says.
fn restore_tree(
    context: &Context,
    features: &BTreeSet<crate::id::Name>,
    gathered: &Gathered<'_>,
    tree: Option<&Path>,
) -> Result<(), Failure> {
    let workspace = without_problems(context.workspace()?)?;
    let (wanted, _) = super::wanted::wanted(&workspace, features, &gathered.store)?;
    let place = Place { tree: tree.map(Path::to_owned), force: false };
    let mut silent = Ui::silent();
    let (answer, _) = bring(
        context,
        &workspace,
        &wanted,
        &gathered.store,
        &place,
        false,
        Saying::Report("apply"),
        &mut silent,
    )?;
    match answer {
        Answer::Yes => Ok(()),
        _ => {
            Err(Failure::new(FailureKind::NeedsPerson, "the tree cannot be made what the manifest would say")
                .with_hint(format!("see what is in the way: {} --dry-run", context.command("apply", tree))))
        }
    }
}
