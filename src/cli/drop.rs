//! `overlaid drop`

mod plan;
mod proof;

use std::path::PathBuf;
use std::rc::Rc;

use crate::escape::{for_shell, for_terminal};
use crate::id::OverlayName;
use crate::io::lab::records::now;
use crate::io::report_files;
use crate::io::workspace::Workspace;
use crate::overlay::Loaded;
use crate::report::retired::Retired;

use super::report::gather::Gathered;
use super::report::{options, overlay_of};
use super::{Answer, Context, Failure, FailureKind, Ui, without_problems};
use plan::{Drop, files_of, last_in, overlay_table};
use proof::{Judged, refuse, together};

/// Remove overlays that are proven to be not needed
///
/// Only where the verdict is droppable, harmful or redundant under every profile that turns the overlay on and on every
/// device that it names, from evidence that matches today's inputs. Else nothing is done, and the hint is the command that
/// would prove it. `--force --reason TEXT` drops it all the same, and is recorded as that.
///
/// Several at once go all or none, and only where it was proven that they can go together: `prove` of just these says so, for
/// one may cover for another. Dropped one after the other, each drop makes the evidence of the others stale.
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
    /// The overlays
    #[arg(value_name = "OVERLAY", required = true)]
    overlays: Vec<String>,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Drop them without the proof; needs a reason
    #[arg(long, requires = "reason")]
    force: bool,
    /// Why they are dropped without the proof
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
    let mut all: Vec<&Loaded> = Vec::new();
    for name in &args.overlays {
        let loaded = overlay_of(&workspace, name)?;
        if !all.iter().any(|known| known.name() == loaded.name()) {
            all.push(loaded);
        }
    }
    let forced = reason(args)?;
    neighbours_allow(&workspace, &all)?;
    // A drop must be right under all profiles. The one that was chosen says which tree is put right.
    let everywhere = Context { profile: None, ..context.clone() };
    let store = Rc::new(context.store(&workspace, ui)?);
    let mut judged = Vec::new();
    for loaded in all {
        let mut gathered = Gathered::with_store(&workspace, loaded, Rc::clone(&store))?;
        // What turns it on nowhere has nothing to be asked.
        match gathered.recall(&everywhere, ui) {
            Err(failure) if forced.is_none() => return Err(failure),
            _ => {}
        }
        let gaps = gathered.gaps(&everywhere);
        judged.push(Judged { gathered, gaps });
    }
    let each_can_go = judged.iter().all(Judged::is_proven);
    let missing = match each_can_go && judged.len() > 1 {
        true => together(&everywhere, &workspace, &judged, &store, ui)?,
        false => Vec::new(),
    };
    let is_proven = each_can_go && missing.is_empty();
    if !is_proven && forced.is_none() {
        return Ok(refuse(context, &judged, &missing, ui));
    }
    if forced.is_none() {
        nobody_objects(context, &judged)?;
    }
    let names: Vec<OverlayName> = judged.iter().map(|one| one.name().clone()).collect();
    let mut records = Vec::new();
    for one in &judged {
        let is_against = !one.is_proven() || !missing.is_empty() || !one.gathered.contradicted().is_empty();
        let retired = record(args, &one.gathered, &names, forced.clone().filter(|_| is_against))?;
        records.push((&one.gathered, retired));
    }
    let mut drop = Drop::plan(&workspace, &records, Rc::clone(&store))?;
    if let Some(lock) = &lock {
        drop.write(context, &workspace, (lock, args.tree.as_deref()), ui)?;
    }
    drop.say(&workspace, !args.dry_run, ui);
    Ok(Answer::Yes)
}

/// What somebody reports against a verdict is for a person to decide.
fn nobody_objects(context: &Context, judged: &[Judged<'_>]) -> Result<(), Failure> {
    let Some(reported) = judged.iter().find_map(|one| one.gathered.contradicted().first().map(|r| r.text()))
    else {
        return Ok(());
    };
    let names = judged.iter().map(|one| for_shell(one.name().as_str())).collect::<Vec<_>>().join(" ");
    let message = format!("{}: a person decides", for_terminal(&reported));
    let again = format!("overlaid{} drop {names} --force --reason TEXT", options(context));
    Err(Failure::new(FailureKind::NeedsPerson, message)
        .with_hint(format!("if it is to go all the same: {again}")))
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
fn neighbours_allow(workspace: &Workspace, all: &[&Loaded]) -> Result<(), Failure> {
    let is_gone = |name: &OverlayName| all.iter().any(|loaded| loaded.name() == name);
    let others = || workspace.manifest.overlays.iter().filter(|other| !is_gone(&other.name.value));
    for overlay in all.iter().map(|loaded| &loaded.overlay) {
        let name = &overlay.name.value;
        let needing: Vec<String> = others()
            .filter(|other| other.needs.iter().any(|need| need.value == *name))
            .map(|other| other.name.value.to_string())
            .collect();
        if let Some(first) = needing.first() {
            let message = format!("overlay `{name}` is needed by: {}", needing.join(", "));
            let gone = all.iter().map(|loaded| loaded.name().to_string());
            let with = gone.chain(needing.clone()).map(|name| for_shell(&name)).collect::<Vec<_>>().join(" ");
            return Err(Failure::new(FailureKind::NeedsPerson, message).with_hint(format!(
                "drop that first: overlaid drop {}; or all at once: overlaid drop {with}; or take `{name}` out of its `needs`",
                for_shell(first)
            )));
        }
        let Some(group) = overlay.rivals.as_ref().filter(|_| overlay.active) else { continue };
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

/// The record of one of the overlays that go.
fn record(
    args: &Args,
    gathered: &Gathered<'_>,
    all: &[OverlayName],
    forced: Option<String>,
) -> Result<Retired, Failure> {
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
        together_with: all.iter().filter(|name| **name != overlay.name.value).cloned().collect(),
        paths: gathered.report.paths.iter().map(|path| path.path.to_string()).collect(),
        undid: undid
            .iter()
            .map(|commit| format!("{} {}", commit.id, for_terminal(&commit.subject)))
            .collect(),
        evidence: gathered.used_records().into_iter().collect(),
        files: files_of(workspace, gathered.loaded, all).into_iter().map(|own| own.0).collect(),
        last_in: last_in(workspace, gathered.loaded, all),
        table,
    })
}
