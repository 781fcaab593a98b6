//! `overlaid import`

mod files;
mod patches;
mod write;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::diagnostic::Diagnostic;
use crate::escape::{for_shell, for_terminal};
use crate::id::{CommitId, Name};
use crate::import::{Choice, Format};
use crate::io::import_source::{self, Read, Source, SourceError};
use crate::io::store::Store;
use crate::io::workspace::Workspace;

use super::table;
use super::{Answer, Context, Failure, Tone, Ui, without_problems};

/// Make overlays of what you have: copied files, a patch series, mails, a branch, a checkout
///
/// What PATH is, is told by its names, or by a word before it: tree, quilt, mail, west, electron, bazel, cpm. Each patch
/// becomes an overlay, in the same order; which one builds on which is found out by trying, and written as `needs`. The
/// patch files keep their headers. Author, description, links and status go into the manifest; a status without evidence
/// stays `unknown`. A folder of whole files becomes an overlay a file, with the base that history shows.
///
/// A table says what became what. If something cannot be taken over, nothing is written.
///
/// Exit codes: 0 done. 2 something cannot be taken over. 3 done, and a base must be decided by a person. 4 could not
/// find out.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where it is; before it a word for what it is, if its names do not tell
    #[arg(value_names = ["FORMAT", "PATH"], num_args = 0..=2)]
    what: Vec<String>,
    /// The commits A..B of the git repository at PATH
    #[arg(long, value_name = "A..B")]
    range: Option<String>,
    /// What is changed and not committed in the checkout DIR
    #[arg(long, value_name = "DIR", conflicts_with_all = ["range", "what"])]
    from_tree: Option<PathBuf>,
    /// Whole files: one overlay of this name for all of them
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Whole files: leave out those that the glob matches
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Whole files: take those that the glob matches, which would be left out: READMEs, backups, what the pin has
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    /// west, Bazel, CPM: the module or package whose patches are meant
    #[arg(long, value_name = "NAME")]
    module: Option<String>,
    /// Features that must be on for the overlays
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    when: Vec<String>,
    /// Say what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// A row of the table: what became what.
struct Row {
    from: String,
    overlay: Name,
    content: String,
    needs: Vec<Name>,
    base: String,
    is_doubtful: bool,
    notes: Vec<String>,
}

/// Where an import goes.
struct Target<'a> {
    context: &'a Context,
    args: &'a Args,
    workspace: &'a Workspace,
    store: &'a Store,
}

impl Target<'_> {
    /// The names that the manifest has.
    fn taken(&self) -> BTreeSet<Name> {
        self.workspace.overlays.iter().map(|loaded| loaded.name().clone()).collect()
    }
}

/// Runs the command.
///
/// # Errors
/// If something cannot be read or taken over.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let lock = if args.dry_run { None } else { Some(context.lock(ui)?) };
    let workspace = without_problems(context.workspace()?)?;
    let (format, read) = read(context, args, &workspace)?;
    let store = context.store(&workspace, ui)?;
    let target = Target { context, args, workspace: &workspace, store: &store };
    let mut left_out = read.left_out;
    let (edits, mut rows) = match read.source {
        Source::Patches(raw) => patches::plan(&target, format, raw, ui)?,
        Source::Files(found) => files::plan(&target, found, &mut left_out, ui)?,
    };
    if let (Some(at), Some(folder)) = (read.at, &args.from_tree) {
        rows.iter_mut()
            .for_each(|row| row.notes.extend(not_in_it(folder, workspace.manifest.upstream.pin.value, at)));
    }
    let report = write::check(&target, &edits)?;
    show(&rows, &left_out, &report, args, ui);
    if let Some(lock) = &lock {
        write::write(&target, edits, lock, ui)?;
    }
    rows.retain(|row| row.is_doubtful);
    Ok(if rows.is_empty() { Answer::Yes } else { Answer::NeedsPerson })
}

/// What a person may miss in a checkout that is not at the pin.
fn not_in_it(folder: &Path, pin: CommitId, at: CommitId) -> Option<String> {
    (at != pin).then(|| {
        format!(
            "the checkout is at {}, not at the pin: what is committed in between is not in it; to have that, too: overlaid \
             import {} --range {}..{}",
            at.short(),
            for_shell(&folder.to_string_lossy()),
            pin.short(),
            at.short()
        )
    })
}

fn read(context: &Context, args: &Args, workspace: &Workspace) -> Result<(Format, Read), Failure> {
    let here = |path: &Path| if path.is_absolute() { path.to_owned() } else { context.root.join(path) };
    let upstream = &workspace.manifest.upstream;
    if let Some(folder) = &args.from_tree {
        let read = import_source::read_checkout(&here(folder))?;
        if matches!(&read.source, Source::Patches(patches) if patches.is_empty()) {
            let message = format!("nothing is changed in the checkout `{}`", folder.display());
            return Err(Failure::input(message).with_hint(format!(
                "if the changes are committed: overlaid import {} --range {}..HEAD",
                folder.display(),
                upstream.pin.value.short()
            )));
        }
        return Ok((Format::Mail, read));
    }
    let (format, path) = match args.what.as_slice() {
        [path] => (None, path),
        [format, path] => match Format::parse(format) {
            Some(format) => (Some(format), path),
            None if format == "auto" => (None, path),
            None => {
                let known: Vec<&str> = Format::WORDS.iter().map(|(word, _)| *word).collect();
                return Err(Failure::input(format!("there is no format `{}`", for_terminal(format)))
                    .with_hint(format!("there are: auto, {}", known.join(", "))));
            }
        },
        _ => {
            return Err(Failure::input("it is not said what to import")
                .with_hint("name it: overlaid import PATH; or overlaid import --from-tree DIR"));
        }
    };
    let place = here(Path::new(path));
    if let Some(range) = &args.range {
        return Ok((Format::Mail, Source::Patches(import_source::read_range(&place, range)?).into()));
    }
    let (format, place) = import_source::detect(&place, format)?;
    let choice = Choice { asked: args.module.as_deref(), upstream: upstream.name.value.as_str() };
    Ok((format, import_source::read(format, &place, &choice)?))
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Load(error) => error.into(),
            SourceError::Unclear { message, hint } => {
                Failure::input(for_terminal(message)).with_hint(for_terminal(hint))
            }
            SourceError::Problems { file, problems } => Failure::diagnostics(
                problems
                    .into_iter()
                    .map(|problem| {
                        let place = match problem.line {
                            0 => file.display().to_string(),
                            line => format!("{}:{line}", file.display()),
                        };
                        let message = for_terminal(format!("{place}: {}", problem.message));
                        Diagnostic::error("import", message).hint(for_terminal(problem.hint))
                    })
                    .collect(),
            ),
        }
    }
}

fn show(rows: &[Row], left_out: &[(PathBuf, String)], report: &write::Report, args: &Args, ui: &mut Ui) {
    let state = |name: &Name| report.states.get(name).copied().unwrap_or("");
    if ui.is_json() {
        let overlays: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({
                    "overlay": row.overlay.as_str(),
                    "from": row.from,
                    "content": row.content,
                    "needs": row.needs.iter().map(Name::as_str).collect::<Vec<_>>(),
                    "base": row.base,
                    "state": state(&row.overlay),
                    "notes": row.notes,
                })
            })
            .collect();
        let left_out: Vec<_> = left_out
            .iter()
            .map(|(file, why)| json!({ "file": file.display().to_string(), "why": why }))
            .collect();
        ui.document(&json!({
            "schema": "overlaid.import.v1",
            "written": !args.dry_run,
            "overlays": overlays,
            "left-out": left_out,
        }));
        return;
    }
    let cells = rows.iter().map(|row| {
        let needs: Vec<&str> = row.needs.iter().map(Name::as_str).collect();
        let base =
            if row.is_doubtful { Tone::Warning.cell(row.base.clone()) } else { row.base.clone().into() };
        vec![
            for_terminal(&row.from).into(),
            Tone::Strong.cell(row.overlay.as_str()),
            for_terminal(&row.content).into(),
            base,
            state(&row.overlay).into(),
            needs.join(", ").into(),
        ]
    });
    let rendered =
        table::render(&["from", "overlay", "content", "base", "state", "needs"], &cells.collect::<Vec<_>>());
    ui.line(rendered.trim_end());
    for (note, overlays) in grouped(
        rows.iter()
            .flat_map(|row| row.notes.iter().map(|note| (note.as_str(), row.overlay.as_str().to_owned()))),
    ) {
        let whose = match overlays.len() {
            all if all == rows.len() && all > 2 => format!("all {all}"),
            _ => several(&overlays),
        };
        ui.line(format_args!("{whose}: {}", for_terminal(note)));
    }
    let files = left_out.iter().map(|(file, why)| (why.as_str(), file.display().to_string()));
    for (why, files) in grouped(files) {
        ui.line(format_args!("left out: {}: {}", for_terminal(several(&files)), for_terminal(why)));
    }
}

/// What has the same note, in the order of the notes.
fn grouped<'a>(items: impl Iterator<Item = (&'a str, String)>) -> Vec<(&'a str, Vec<String>)> {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for (note, item) in items {
        match groups.iter_mut().find(|(known, _)| *known == note) {
            Some((_, items)) => items.push(item),
            None => groups.push((note, vec![item])),
        }
    }
    groups
}

fn several(items: &[String]) -> String {
    match items {
        [first, second, third, rest @ ..] if rest.len() > 1 => {
            format!("{first}, {second}, {third} and {} more", rest.len())
        }
        _ => items.join(", "),
    }
}
