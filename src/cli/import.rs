//! `overlaid import`

mod files;
mod patches;
mod write;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::diagnostic::Diagnostic;
use crate::escape::for_terminal;
use crate::id::Name;
use crate::import::Format;
use crate::io::import_source::{self, Raw, Source, SourceError};
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
    let (format, source) = read(context, args)?;
    let workspace = without_problems(context.workspace()?)?;
    let store = context.store(&workspace, ui)?;
    let target = Target { context, args, workspace: &workspace, store: &store };
    let (staged, mut rows) = match source {
        Source::Patches(raw) => patches::plan(&target, format, raw, ui)?,
        Source::Files(found) => files::plan(&target, found, ui)?,
    };
    let report = write::check(&target, &staged)?;
    show(&rows, &report, args, ui);
    if !args.dry_run {
        write::write(&target, &staged, ui)?;
    }
    rows.retain(|row| row.is_doubtful);
    Ok(if rows.is_empty() { Answer::Yes } else { Answer::NeedsPerson })
}

fn read(context: &Context, args: &Args) -> Result<(Format, Source), Failure> {
    let here = |path: &Path| if path.is_absolute() { path.to_owned() } else { context.root.join(path) };
    if let Some(folder) = &args.from_tree {
        let raw: Option<Raw> = import_source::read_checkout(&here(folder))?;
        let nothing = || Failure::input(format!("nothing is changed in the checkout `{}`", folder.display()));
        return Ok((Format::Mail, Source::Patches(vec![raw.ok_or_else(nothing)?])));
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
        return Ok((Format::Mail, Source::Patches(import_source::read_range(&place, range)?)));
    }
    let (format, place) = import_source::detect(&place, format)?;
    Ok((format, import_source::read(format, &place, args.module.as_deref())?))
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

fn show(rows: &[Row], report: &write::Report, args: &Args, ui: &mut Ui) {
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
        ui.document(
            &json!({ "schema": "overlaid.import.v1", "written": !args.dry_run, "overlays": overlays }),
        );
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
    for row in rows {
        for note in &row.notes {
            ui.line(format_args!("{}: {}", row.overlay, for_terminal(note)));
        }
    }
}
