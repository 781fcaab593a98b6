//! `overlaid bump`

mod failure;
mod scan;
mod show;

use std::collections::BTreeSet;
use std::path::Path;

use crate::bump::{
    FileEdit, OverlayPlan, OwnFile, PathPlan, Plan, Question, Resolved, Standing, add_commits, check_holds,
    edits, markdown, plan,
};
use crate::escape::for_terminal;
use crate::id::{CommitId, OverlayName, UpstreamPath};
use crate::io::bump_work::{Answer as Resolution, State, UnderWay, Work};
use crate::io::merge_tool::MergeTool;
use crate::io::own_edits::{self, Done, Lock};
use crate::io::own_files::{Disk, Edited, OwnFiles, hide_from_git};
use crate::io::store::Store;
use crate::io::workspace::{LoadError, Workspace};
use crate::merge::Style;

use super::{Answer, Context, Failure, FailureKind, Ui, without_problems};
use failure::{damaged, describe_edits_error, no_tool, would_be_broken, would_not_fit};

/// Move the pin: what it costs, and the merge
///
/// REV is a branch, a tag or a commit of the upstream. For every overlay: does upstream's work between the two pins
/// concern it, does the change still fit, does upstream have it by now? --dry-run only says so.
///
/// Without --dry-run, overlay files are merged (base; ours, the new pin), patches are made anew, bases, the pin and every
/// also-pinned place are written: all or nothing. An overlay that upstream has taken over is named and stays; the witness
/// stays. A patch of which nothing is left cannot stay: --drop-absorbed removes it. The files of before are kept in
/// .overlaid/before.
///
/// Where something does not fit, nothing is written but a work folder, .overlaid/bump/UPSTREAM, with the conflicts marked
/// as git does. Edit them and run `overlaid bump --continue`; `overlaid bump --abort` gives up. --tool hands them to your
/// merge tool first.
///
/// --scan looks at all commits from the pin by first parents: the newest to which everything moves by itself, and
/// for each overlay the first commit at which it conflicts, is absorbed, redundant, gone or renamed.
///
/// Exit code 0: it fits (and is written). 3: a person must look. 4: could not find out.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true).args(["to", "go_on", "abort", "scan"])))]
pub struct Args {
    /// The new pin: a branch, a tag or a commit
    #[arg(long, value_name = "REV", conflicts_with_all = ["go_on", "abort"])]
    to: Option<String>,
    /// Only say what would happen
    #[arg(long, requires = "to")]
    dry_run: bool,
    /// Leave out upstream's commits on the paths and beside them; with a long history that is faster
    #[arg(long, requires = "dry_run")]
    no_commits: bool,
    /// Hand conflicts to a merge tool: git's `merge.tool`, a tool of git's configuration, or a command that gets $BASE, $LOCAL, $REMOTE and $MERGED
    #[arg(long, value_name = "TOOL", num_args = 0..=1, require_equals = true, conflicts_with_all = ["dry_run", "abort", "scan"])]
    tool: Option<Option<String>>,
    /// Remove patches and cherry-picks that upstream has wholly by now
    #[arg(long, conflicts_with_all = ["abort", "scan"])]
    drop_absorbed: bool,
    /// Print the summary as Markdown, for a pull request
    #[arg(long, conflicts_with_all = ["abort", "scan"])]
    markdown: bool,
    /// Go on after conflicts were resolved, or after an interrupted write
    #[arg(long = "continue", conflicts_with_all = ["abort", "scan"])]
    go_on: bool,
    /// Give up: remove the work folder, or take an interrupted write back
    #[arg(long, conflicts_with = "scan")]
    abort: bool,
    /// Look at all commits up to REV (or the manifest's branch), and write nothing
    #[arg(long, conflicts_with = "dry_run")]
    scan: bool,
    /// How conflicts are marked
    #[arg(long, value_enum, default_value = "merge")]
    style: Marks,
}

/// How conflicts are marked, with git's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Marks {
    /// Ours and upstream's
    Merge,
    /// With the base between them
    Diff3,
    /// With the base, and equal lines at the edges moved out
    Zdiff3,
}

impl From<Marks> for Style {
    fn from(marks: Marks) -> Self {
        match marks {
            Marks::Merge => Style::Merge,
            Marks::Diff3 => Style::Diff3,
            Marks::Zdiff3 => Style::Zdiff3,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// If the manifest or the upstream cannot be read, or files cannot be written.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    if args.abort {
        return abort(context, ui);
    }
    let tool = match &args.tool {
        Some(asked) => Some(MergeTool::find(&context.root, asked.as_deref()).map_err(no_tool)?),
        None => None,
    };
    // A look writes nothing, so it waits for nobody.
    let lock = match (args.scan || args.dry_run, args.go_on) {
        (true, _) => None,
        (_, true) => Some(context.lock_anyhow(ui)?),
        _ => Some(context.lock(ui)?),
    };
    let finished = match &lock {
        Some(lock) if args.go_on => own_edits::finish(lock)?,
        _ => None,
    };
    if let Some(done) = &finished {
        show::written(done, ui);
    }
    let workspace = match context.workspace() {
        // What was interrupted is finished; whether a bump is under way, too, is asked of a manifest that is named.
        Err(_) if finished.is_some() => return Ok(Answer::Yes),
        workspace => without_problems(workspace?)?,
    };
    let work = Work::of(&context.root, &workspace.manifest.upstream.name.value);
    let under_way = work.load()?;
    if args.go_on {
        let mut state = match under_way {
            UnderWay::Move(state) => state,
            UnderWay::Damaged(file) => return Err(damaged(&file)),
            UnderWay::No if finished.is_some() => return Ok(Answer::Yes),
            UnderWay::No => {
                let failure = Failure::input("no bump is under way");
                return Err(failure.with_hint("start one: overlaid bump --to REV"));
            }
        };
        let store = context.store_with(&workspace, Some(&state.to.to_string()), ui)?;
        let style = state.style();
        state.drop_absorbed |= args.drop_absorbed;
        let bump = Bump { context, workspace: &workspace, store: &store, work: &work, style, tool };
        return bump.write(state, args.markdown, lock.as_ref(), ui);
    }
    let branch = workspace.manifest.upstream.branch.as_ref().map(|branch| branch.value.clone());
    let Some(revision) = args.to.clone().or(branch) else {
        return Err(Failure::input("scan up to where?").with_hint("name it: overlaid bump --scan --to REV"));
    };
    let store = context.store_with(&workspace, Some(&revision), ui)?;
    let to = resolve(&store, &revision)?;
    if args.scan {
        return scan::run(&workspace, &store, to, &revision, ui);
    }
    let bump =
        Bump { context, workspace: &workspace, store: &store, work: &work, style: args.style.into(), tool };
    if args.dry_run {
        let mut plan = bump.plan(to, &Resolved::new());
        if args.drop_absorbed {
            plan.drop_absorbed();
        }
        if !args.no_commits {
            add_commits(&mut plan, &store)?;
        }
        bump.report(&plan, &revision, args.markdown, None, ui);
        let answer = answer(&plan);
        // What the run itself would refuse is refused here, too.
        if answer == Answer::Yes {
            bump.edits(&plan)?;
        }
        return Ok(answer);
    }
    match under_way {
        UnderWay::No => {}
        UnderWay::Damaged(file) => return Err(damaged(&file)),
        UnderWay::Move(state) => {
            let message =
                format!("a bump to {} ({}) is under way", for_terminal(&state.called), state.to.short());
            return Err(
                Failure::input(message).with_hint("overlaid bump --continue, or overlaid bump --abort")
            );
        }
    }
    let mut state = State::new(workspace.manifest.upstream.pin.value, to, &revision, args.style.into());
    state.drop_absorbed = args.drop_absorbed;
    bump.write(state, args.markdown, lock.as_ref(), ui)
}

fn answer(plan: &Plan) -> Answer {
    if plan.overlays.iter().any(|overlay| overlay.is_unknown()) {
        Answer::Unknown
    } else if plan.needs_person() {
        Answer::NeedsPerson
    } else {
        Answer::Yes
    }
}

/// The commit that a person means.
fn resolve(store: &Store, revision: &str) -> Result<CommitId, Failure> {
    match store.resolve(revision) {
        Ok(Some(commit)) => Ok(commit),
        Ok(None) => {
            let shown = store.branches().into_iter().take(10).collect::<Vec<_>>().join(", ");
            let failure = Failure::input(format!("the upstream has no `{}`", for_terminal(revision)));
            Err(failure
                .with_hint(format!("name a branch, a tag or a commit; branches: {}", for_terminal(shown))))
        }
        Err(error) => Err(Failure::input(error.to_string()).with_hint("write the full id of the commit")),
    }
}

fn abort(context: &Context, ui: &mut Ui) -> Result<Answer, Failure> {
    let lock = context.lock_anyhow(ui)?;
    let taken_back = own_edits::take_back(&lock)?;
    if let Some(done) = &taken_back {
        show::taken_back(done, ui);
    }
    let workspace = match context.workspace() {
        Err(_) if taken_back.is_some() => return Ok(Answer::Yes),
        workspace => workspace?,
    };
    let work = Work::of(&context.root, &workspace.manifest.upstream.name.value);
    let state = match work.load()? {
        UnderWay::No => {
            ui.note("no bump is under way");
            return Ok(Answer::Yes);
        }
        UnderWay::Move(state) => Some(state),
        UnderWay::Damaged(_) => None,
    };
    let kept = work.end(state.as_ref(), None)?;
    ui.note(format_args!("given up: the pin stays at {}", workspace.manifest.upstream.pin.value));
    if let Some(kept) = kept {
        ui.note(format_args!("what you made of the conflicts is in `{}`", kept.dir.display()));
    }
    Ok(Answer::Yes)
}

struct Bump<'a> {
    context: &'a Context,
    workspace: &'a Workspace,
    store: &'a Store,
    work: &'a Work,
    style: Style,
    tool: Option<MergeTool>,
}

impl Bump<'_> {
    fn plan(&self, to: CommitId, resolved: &Resolved) -> Plan {
        let manifest = &self.workspace.manifest;
        let from = manifest.upstream.pin.value;
        plan(
            &Question {
                overlays: &self.workspace.overlays,
                exclusive: &manifest.exclusive,
                from,
                to,
                style: self.style,
                upstream: self.store,
            },
            resolved,
        )
    }

    fn report(&self, plan: &Plan, called: &str, as_markdown: bool, done: Option<&Done>, ui: &mut Ui) {
        let manifest = &self.workspace.manifest;
        if ui.is_json() {
            ui.document(&show::to_json(plan, manifest, called, done, self.work));
        } else if as_markdown {
            ui.bytes(markdown(plan, &manifest.upstream.name.value).as_bytes());
        } else {
            show::print(plan, manifest, called, ui);
        }
    }

    /// The plan with what a person has resolved, and what they left open.
    fn plan_resolved(&self, state: &State) -> Result<(Plan, Vec<String>), Failure> {
        let mut resolved = Resolved::new();
        // What stands on a path that was resolved can be told only after it; so again, until nothing new is resolved.
        loop {
            let mut plan = self.plan(state.to, &resolved);
            if state.drop_absorbed {
                plan.drop_absorbed();
            }
            let before = resolved.len();
            let mut markers = Vec::new();
            for overlay in &plan.overlays {
                for path in &overlay.paths {
                    let Some(misfit) = &path.misfit else { continue };
                    let at = (&path.path, path.new_path());
                    match self.work.answer(state, &overlay.name, at, misfit)? {
                        Resolution::Content(content) => {
                            resolved.insert((overlay.name.clone(), path.path.clone()), content);
                        }
                        Resolution::Marker(found) => {
                            let file = self.work.file(&overlay.name, &path.path);
                            markers.push(format!(
                                "{} line {}: a conflict marker is left",
                                file.display(),
                                found.line
                            ));
                        }
                        Resolution::LeadsOut => {
                            let file = self.work.file(&overlay.name, &path.path);
                            markers.push(format!(
                                "{}: the link leads out of the tree; put the file itself there, or a relative link \
                                 within the tree",
                                file.display()
                            ));
                        }
                        Resolution::None => {}
                    }
                }
            }
            if resolved.len() == before {
                add_commits(&mut plan, self.store)?;
                return Ok((plan, markers));
            }
        }
    }

    /// Writes all, or asks a person and writes nothing.
    fn write(
        &self,
        mut state: State,
        as_markdown: bool,
        lock: Option<&Lock>,
        ui: &mut Ui,
    ) -> Result<Answer, Failure> {
        let Some(lock) = lock else {
            return Err(Failure::new(FailureKind::Bug, "a bump writes without the lock"));
        };

        let mut offered = BTreeSet::new();
        let plan = loop {
            let (plan, markers) = self.plan_resolved(&state)?;
            if plan.overlays.iter().any(|overlay| overlay.is_unknown()) {
                self.report(&plan, &state.called, as_markdown, None, ui);
                return Ok(Answer::Unknown);
            }
            if !plan.needs_person() {
                break plan;
            }
            for (overlay, path) in open_paths(&plan) {
                if let Some(misfit) = &path.misfit {
                    self.work.ask(&mut state, &overlay.name, &path.path, misfit)?;
                }
            }
            self.work.save(&state)?;
            self.hide()?;
            // What stands on a resolved path can be in conflict only then; so again, until there is nothing new to offer.
            if self.offer(&plan, &mut offered, ui)? {
                continue;
            }
            self.report(&plan, &state.called, as_markdown, None, ui);
            show::ask(&plan, &self.workspace.overlays, self.work, ui);
            for marker in markers {
                ui.note(marker);
            }
            return Ok(Answer::NeedsPerson);
        };
        let mut edits = self.edits(&plan)?;
        edits.extend(super::lock::follow(self.context, &edits, ui));
        let done = own_edits::write(lock, &edits)?;
        self.hide()?;
        let kept = match self.work.load()? {
            UnderWay::No => None,
            _ => self.work.end(Some(&state), Some(&plan))?,
        };
        self.report(&plan, &state.called, as_markdown, Some(&done), ui);
        show::written(&done, ui);
        if let Some(kept) = kept {
            show::unused(&kept, ui);
        }
        Ok(Answer::Yes)
    }

    /// The files that change. They are looked at as they would be: what no command could work with is not written.
    fn edits(&self, plan: &Plan) -> Result<Vec<FileEdit>, Failure> {
        let Workspace { manifest, overlays, .. } = self.workspace;
        let edits = edits(plan, overlays, manifest, &self.repeats()?).map_err(describe_edits_error)?;
        let disk = Disk::new(&self.workspace.root);
        let after = Workspace::load_from(&Edited::new(&disk, &edits), &self.workspace.root, &manifest.file);
        let after = match after {
            Ok(after) if after.problems.is_empty() => after,
            Ok(after) => return Err(would_be_broken(after.problems)),
            Err(LoadError::Manifest(problems)) => return Err(would_be_broken(problems)),
            Err(error) => return Err(error.into()),
        };
        let before = Standing { manifest, overlays };
        let standing = Standing { manifest: &after.manifest, overlays: &after.overlays };
        check_holds(before, standing, self.store).map_err(would_not_fit)?;
        Ok(edits)
    }

    /// Hands conflicts to the merge tool, each once. Whether one may be resolved now.
    fn offer(
        &self,
        plan: &Plan,
        offered: &mut BTreeSet<(OverlayName, UpstreamPath)>,
        ui: &mut Ui,
    ) -> Result<bool, Failure> {
        let Some(tool) = &self.tool else { return Ok(false) };
        let mut is_new = false;
        for (overlay, path) in open_paths(plan) {
            let Some(misfit) = path.misfit.as_ref().filter(|misfit| misfit.marked.is_some()) else {
                continue;
            };
            if !offered.insert((overlay.name.clone(), path.path.clone())) {
                continue;
            }
            let files = self.work.sides(&overlay.name, &path.path, misfit)?;
            ui.note(format_args!(
                "overlay {}, {}: running {}",
                overlay.name,
                for_terminal(path.path.as_bytes()),
                for_terminal(&tool.called)
            ));
            if !tool.run(&self.context.root, &files).map_err(no_tool)? {
                ui.note("the merge tool ended with an error, so it is not asked again");
                return Ok(false);
            }
            is_new = true;
        }
        Ok(is_new)
    }

    fn hide(&self) -> Result<(), Failure> {
        hide_from_git(&self.context.root)
            .map_err(|error| Failure::environment("cannot write `.overlaid/.gitignore`").caused_by(error))
    }

    /// The files that repeat the pin.
    fn repeats(&self) -> Result<Vec<OwnFile>, Failure> {
        let disk = Disk::new(&self.workspace.root);
        let places = &self.workspace.manifest.upstream.also_pinned;
        let files: BTreeSet<&Path> = places.iter().map(|place| place.file.value.as_path()).collect();
        let read = |file: &Path| -> Result<OwnFile, Failure> {
            let bytes = disk.read(file)?.map(|content| content.bytes);
            Ok(OwnFile { file: file.to_owned(), bytes })
        };
        files.into_iter().map(read).collect()
    }
}

/// The paths that wait for a person, with their overlays.
fn open_paths(plan: &Plan) -> impl Iterator<Item = (&OverlayPlan, &PathPlan)> {
    let open = plan.overlays.iter().filter(|overlay| overlay.needs_person());
    open.flat_map(|overlay| overlay.paths.iter().map(move |path| (overlay, path)))
        .filter(|(_, path)| path.needs_person())
}
