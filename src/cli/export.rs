//! `overlaid export`

use std::path::PathBuf;

use serde_json::json;

use crate::escape::{for_shell, for_terminal};
use crate::export::{Files, Series, mail, quilt, series};
use crate::io::export::{ExportError, to_branch, to_folder, to_tar};
use crate::io::store::Store;
use crate::io::workspace::Workspace;

use super::apply::features;
use super::wanted::wanted;
use super::{Answer, Context, Failure, FailureKind, Ui, without_problems};

/// Write the overlays in another tool's format
///
///   git    a branch on the pin with a commit for each overlay, in a clone that you have or in a new repository: for a
///          rebase, a pull request, a range-diff. No work tree is touched.
///   quilt  a folder with `series` and a patch for each overlay, with DEP-3 headers: for `quilt push -a`
///   mail   mails, 0001-NAME.patch and so on: for `git am`
///   tar    an archive of the tree with the overlays on it, and with its attestation
///
/// The same manifest gives the same bytes and commit ids everywhere: dates follow from the pin's. What is there already
/// stays, unless it is what would be written, or --force is given.
///
/// Exit code 0: it is written. 2: something is in the way. 3: an overlay does not fit, or the format cannot hold it.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The format
    #[arg(long, value_enum)]
    format: Format,
    /// Where to: a repository, a folder, or for tar a file
    #[arg(long, value_name = "PATH")]
    to: PathBuf,
    /// The branch, for git
    #[arg(long, value_name = "NAME", default_value = "overlaid")]
    branch: String,
    /// Replace a branch or files of an earlier export
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Git,
    Quilt,
    Mail,
    Tar,
}

/// Runs the command.
///
/// # Errors
/// If the overlays do not fit, or it cannot be written.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let workspace = without_problems(context.workspace()?)?;
    let features = features(context, &workspace)?;
    context.warn_of_unknown_features([&workspace], ui);
    let store = context.store(&workspace, ui)?;
    // What does not fit is described there.
    let (tree, _) = wanted(&workspace, &features, &store)?;
    let manifest = &workspace.manifest;
    let series = series(manifest, &workspace.overlays, &features, &store)?;
    let to = args.to.display();
    let shown = for_shell(&to.to_string());
    let mut document = json!({
        "schema": "overlaid.export.v1",
        "to": args.to,
        "overlays": series.steps.iter().map(|step| &step.name).collect::<Vec<_>>(),
    });
    let next = match args.format {
        Format::Git => {
            let done = git(args, &workspace, &series, &store)?;
            document["tip"] = json!(done.tip);
            document["commits"] = json!(done.commits);
            let branch = for_shell(&args.branch);
            format!("see it: git -C {shown} log --stat {}..{branch}", series.pin.short())
        }
        Format::Quilt => {
            let files = quilt(&series).map_err(|binary| {
                let message = format!(
                    "overlay `{}` changes `{}`, which is not text: quilt cannot hold it",
                    binary.overlay, binary.path
                );
                Failure::new(FailureKind::NeedsPerson, for_terminal(message))
                    .with_hint("the formats git and mail can")
            })?;
            to_folder(&args.to, &files, args.force).map_err(|error| describe(error, args, &workspace))?;
            format!("in the pin's sources: QUILT_PATCHES={shown} quilt push -a")
        }
        Format::Mail => {
            let files = mail(&series);
            to_folder(&args.to, &files, args.force).map_err(|error| describe(error, args, &workspace))?;
            let keep = if has_carriage_returns(&files) { " --keep-cr" } else { "" };
            format!("in a clone at {}: git am{keep} {shown}/*.patch", series.pin.short())
        }
        Format::Tar => {
            let date = series.steps.first().map_or(0, |step| step.date - 1);
            let folder = format!("{}-{}", series.upstream, series.pin.short());
            to_tar(&args.to, &folder, &tree, date, &store, args.force)
                .map_err(|error| describe(error, args, &workspace))?;
            format!("unpack it: tar -xf {shown}")
        }
    };
    let idle: Vec<&str> =
        series.steps.iter().filter(|step| step.changes.is_empty()).map(|step| step.name.as_str()).collect();
    if ui.is_json() {
        ui.document(&document);
        return Ok(Answer::Yes);
    }
    let count = series.steps.len();
    let overlays = if count == 1 { "overlay" } else { "overlays" };
    ui.line(format_args!("{count} {overlays} on {}: {}", series.pin.short(), for_terminal(to.to_string())));
    if !idle.is_empty() && args.format != Format::Tar {
        ui.note(format_args!("nothing changes with: {}", idle.join(", ")));
    }
    ui.note(next);
    Ok(Answer::Yes)
}

fn has_carriage_returns(files: &Files) -> bool {
    files.values().any(|bytes| bytes.windows(2).any(|pair| pair == b"\r\n"))
}

fn git(
    args: &Args,
    workspace: &Workspace,
    series: &Series,
    store: &Store,
) -> Result<crate::io::export::Branch, Failure> {
    let url = &workspace.manifest.upstream.url.value;
    // A path is relative to our repository, and the clone may be elsewhere.
    let path = workspace.root.join(url);
    let url = match std::path::absolute(&path) {
        Ok(path) if path.exists() => path.display().to_string(),
        _ => url.clone(),
    };
    to_branch(&args.to, &args.branch, series, &url, store, args.force)
        .map_err(|error| describe(error, args, workspace))
}

fn describe(error: ExportError, args: &Args, workspace: &Workspace) -> Failure {
    let message = for_terminal(error.to_string());
    match error {
        ExportError::Upstream(error) => error.into(),
        ExportError::Io(..) | ExportError::Git(_) => Failure::environment(message),
        ExportError::NoPin(_, pin) => Failure::input(message).with_hint(format!(
            "git -C {} fetch {} {pin}",
            for_shell(&args.to.display().to_string()),
            for_shell(&workspace.manifest.upstream.url.value)
        )),
        ExportError::Branch(_) => {
            Failure::input(message).with_hint("name another with --branch, or replace it with --force")
        }
        ExportError::CheckedOut(_) => {
            Failure::input(message).with_hint("name another with --branch, or switch to another branch first")
        }
        ExportError::Files(_) => Failure::input(message).with_hint(
            "name another place; --force replaces files of an earlier export, other patches stay in the way",
        ),
        ExportError::Submodule(_) => {
            Failure::new(FailureKind::NeedsPerson, message).with_hint("the formats quilt and tar can")
        }
    }
}
