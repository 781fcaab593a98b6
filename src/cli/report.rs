//! `overlaid report`

mod check;
pub(super) mod gather;
pub(super) mod group;
pub(super) mod material;

use std::path::PathBuf;

use serde_json::json;

use crate::escape::{for_shell, for_terminal};
use crate::id::CommitId;
use crate::io::report_files;
use crate::io::workspace::Workspace;
use crate::overlay::Loaded;
use crate::report::check::written_hash;
use crate::report::facts::{Facts, OPEN};
use crate::report::kind::MaySay;
use crate::report::quote::{self, Place};
use crate::report::sections;
use crate::report::templates::Template;
use crate::verdict::Verdict;

use super::build::commit_of;
use super::{Answer, Context, Failure, FailureKind, Ui, page, without_problems};
use gather::Gathered;

/// Write what can be said of an overlay, and check what was written
///
/// `report OVERLAY` writes docs/upstream/OVERLAY.md. The verdict decides what it is: a draft for upstream where the
/// pin is faulty without the overlay, a retraction where the overlay should go. Figures come from the evidence, quotes
/// from git objects, and each claim has a label: [run], [not run], [measured on DEVICE], [read at COMMIT], [read in the
/// manifest], [recommended by the program], [inferred by a person]. Causes are left to you: sections between
/// `<!-- person: NAME -->` and `<!-- end of person: NAME -->` are yours and survive every run byte for byte; before somebody
/// writes there, they are labelled [to be written by a person]. Nothing is sent anywhere.
///
/// Where the pin was not tested there is no draft, and the hint says what to run.
///
/// `report --check` looks at all reports: quotes, figures, evidence, links and labels. `report --quote PATH:LINES`
/// prints a quote to paste into a section of yours; it is checked, too.
///
/// `report --html` writes one page of all overlays, that needs no network and no script: what there is to do with each and why,
/// its cells, the upstream work that it undoes, its own change. It says what evidence says and runs nothing.
///
/// Exit codes: 0 written, or all is right. 1 --check found something. 3 the verdict needs a person: no draft. 4 the pin was
/// not tested, or something could not be found out.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The overlay
    #[arg(value_name = "OVERLAY", required_unless_present_any = ["check", "quote", "template", "html"])]
    overlay: Option<String>,
    /// Check all reports, or that of OVERLAY; write nothing
    #[arg(long)]
    check: bool,
    /// Whether the fault is there at this upstream commit, too: runs the linked tests there. With --quote and --template bump: the
    /// commit that is meant
    #[arg(long, value_name = "REV", conflicts_with = "check")]
    at: Option<String>,
    /// Tables and quotes, no sentences: for upstreams that want no text of machines
    #[arg(long, conflicts_with_all = ["check", "quote"])]
    evidence_only: bool,
    /// Print another text: draft, retraction, issue, pull-request, removal, bump
    #[arg(long, value_name = "NAME", value_parser = parse_template, conflicts_with_all = ["check", "quote"])]
    template: Option<Template>,
    /// Print lines of the upstream as a quote, for a section of yours
    #[arg(long, value_name = "PATH:LINES", conflicts_with = "check")]
    quote: Option<String>,
    /// Write the page of all overlays to FILE (default: .overlaid/report.html; `-`: standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with_all = ["overlay", "check", "quote", "template", "at", "evidence_only"])]
    html: Option<Option<PathBuf>>,
    /// With --html: write the pictures of the cells, an SVG file for each overlay, into DIR
    #[arg(long, value_name = "DIR", requires = "html")]
    pictures: Option<PathBuf>,
}

fn parse_template(text: &str) -> Result<Template, String> {
    let known = Template::ALL.map(Template::as_str);
    Template::ALL
        .into_iter()
        .find(|t| t.as_str() == text)
        .ok_or_else(|| format!("there are: {}", known.join(", ")))
}

/// Runs the command.
///
/// # Errors
/// If the manifest, the upstream or a template cannot be read, or the report cannot be written.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    if let Some(file) = &args.html {
        return page::run(context, file.clone(), args.pictures.as_deref(), ui);
    }
    if args.check {
        return check::run(context, args.overlay.as_deref(), ui);
    }
    let workspace = without_problems(context.workspace()?)?;
    if let Some(what) = &args.quote {
        return print_quote(context, &workspace, what, args.at.as_deref(), ui);
    }
    if args.template == Some(Template::Bump) {
        return print_bump(context, &workspace, args, ui);
    }
    let loaded = match &args.overlay {
        None => {
            return Err(
                Failure::input("a report of which overlay?").with_hint("name it: overlaid report OVERLAY")
            );
        }
        Some(name) => overlay_of(&workspace, name)?,
    };
    let mut gathered = Gathered::new(context, &workspace, loaded, ui)?;
    gathered.recall(context, ui)?;
    if let Some(rev) = &args.at {
        gathered.try_at(context, rev, ui)?;
    } else {
        gathered.keep_newer();
    }
    gathered.recall_together(context, ui)?;
    let may_say = gathered.may_say();
    let template = match (args.template, may_say.template()) {
        (Some(template), _) if may_say.allows(template) => template,
        (Some(_), _) | (None, None) => return Ok(no_draft(&gathered, may_say, context, args, ui)),
        (None, Some(template)) => template,
    };
    let facts = gathered.facts(template, args.evidence_only);
    if let Some(template) = args.template {
        let text = gathered.compose(&facts, template)?;
        ui.bytes(text.as_bytes());
        return Ok(Answer::Yes);
    }
    let file = gathered.file.clone();
    let text = finished(&gathered, facts)?;
    report_files::write(&workspace.root, &file, &text).map_err(|error| {
        Failure::environment(format!("cannot write `{}`", file.display())).caused_by(error)
    })?;
    say(&gathered, may_say, &file, &text, ui);
    Ok(Answer::Yes)
}

/// An overlay by its name.
pub(super) fn overlay_of<'w>(workspace: &'w Workspace, name: &str) -> Result<&'w Loaded, Failure> {
    workspace.overlay(name).ok_or_else(|| {
        let known = workspace.overlays.iter().map(|loaded| loaded.name().to_string()).collect();
        Failure::unknown_overlay(name, &known)
    })
}

/// All of the report: what the program writes, what a person wrote before, the facts.
pub(super) fn finished(gathered: &Gathered<'_>, mut facts: Facts) -> Result<Vec<u8>, Failure> {
    let body = gathered.compose(&facts, facts.template)?;
    let mut text = format!("{body}\n{OPEN}").into_bytes();
    let markers = |error: sections::MarkerError| {
        let message = format!("`{}` line {}: {error}", gathered.file.display(), error.line());
        Failure::new(FailureKind::NeedsPerson, message)
            .with_hint("correct the marker: what stands between the markers is yours and must not get lost")
    };
    if let Some(before) = &gathered.before {
        text = sections::carry(&text, before, OPEN).map_err(markers)?;
    }
    text = sections::relabelled(&text).map_err(markers)?;
    facts.written = written_hash(&sections::emptied(&text).map_err(markers)?);
    let end = text.len() - OPEN.len();
    text.truncate(end);
    let facts = facts.render().map_err(|error| Failure::new(FailureKind::Bug, error.to_string()))?;
    text.extend_from_slice(facts.as_bytes());
    Ok(text)
}

fn say(gathered: &Gathered<'_>, may_say: MaySay, file: &std::path::Path, text: &[u8], ui: &mut Ui) {
    let verdict = gathered.verdict();
    let todo = sections::Sections::find(text)
        .map(|found| {
            found
                .of(text)
                .filter(|(_, bytes)| sections::is_untouched(bytes))
                .map(|(n, _)| n.to_owned())
                .collect::<Vec<_>>()
        })
        .unwrap_or_default();
    if ui.is_json() {
        ui.document(&json!({
            "schema": "overlaid.report.v1",
            "overlay": gathered.loaded.name(),
            "kind": may_say,
            "verdict": verdict,
            "file": file.display().to_string(),
            "todo": todo,
        }));
        return;
    }
    let what = match may_say {
        MaySay::Draft => "a draft for upstream, not filed",
        _ => "a retraction: nothing to file upstream, and the overlay should go",
    };
    ui.line(format_args!("{}: {}: {what}", gathered.loaded.name(), verdict.as_str()));
    ui.line(format_args!("wrote {}", file.display()));
    if !todo.is_empty() {
        ui.line(format_args!("still to be written by a person: {}", for_terminal(todo.join(", "))));
    }
    for text in &gathered.set_aside {
        ui.note(format_args!("left out, for it is stale: {}", for_terminal(text)));
    }
}

/// Says why there is no draft, and what to do.
fn no_draft(gathered: &Gathered<'_>, may_say: MaySay, context: &Context, args: &Args, ui: &mut Ui) -> Answer {
    let name = gathered.loaded.name();
    let verdict = gathered.verdict();
    let (answer, why) = match (args.template, may_say) {
        (_, MaySay::NotTested) => {
            (Answer::Unknown, "no draft: it was not tested what the pin does without it".to_owned())
        }
        (_, MaySay::PersonDecides) => (
            Answer::NeedsPerson,
            format!("no draft: the verdict is {}, so a person decides", verdict.as_str()),
        ),
        (Some(template), _) => (
            Answer::No,
            format!(
                "no {}: the verdict is {}, which says something else",
                template.as_str(),
                verdict.as_str()
            ),
        ),
        (None, _) => (Answer::Unknown, "no draft".to_owned()),
    };
    if ui.is_json() {
        ui.document(&json!({
            "schema": "overlaid.report.v1",
            "overlay": name,
            "kind": may_say,
            "verdict": verdict,
            "file": null,
            "reasons": gathered.reasons(),
        }));
    } else {
        ui.line(format_args!("{name}: {why}"));
        for reason in gathered.reasons() {
            ui.line(format_args!("  {}", for_terminal(reason)));
        }
    }
    if answer == Answer::Unknown {
        ui.note(format_args!("hint: run {}", prove_command(context, name.as_str())));
    }
    answer
}

/// The command that proves an overlay.
pub(super) fn prove_command(context: &Context, overlay: &str) -> String {
    format!("overlaid{} prove {}", options(context), for_shell(overlay))
}

/// The command that writes its report.
pub(super) fn report_command(context: &Context, overlay: &str) -> String {
    format!("overlaid{} report {}", options(context), for_shell(overlay))
}

/// The options that a person chose manifest and profile with.
pub(super) fn options(context: &Context) -> String {
    let mut options = String::new();
    if let Some(manifest) = &context.manifest {
        options.push_str(&format!(" -m {}", for_shell(manifest)));
    }
    if let Some(profile) = &context.profile {
        options.push_str(&format!(" --profile {}", for_shell(profile)));
    }
    options
}

fn print_quote(
    context: &Context,
    workspace: &Workspace,
    what: &str,
    at: Option<&str>,
    ui: &mut Ui,
) -> Result<Answer, Failure> {
    let wrong = |error: quote::QuoteError| Failure::input(error.to_string());
    let Some((path, lines)) = what.rsplit_once(':') else {
        return Err(Failure::input(format!("`{}` names no lines", for_terminal(what)))
            .with_hint("write PATH:LINES, for example src/kernel.cu:298-301"));
    };
    let store = context.store_with(workspace, at.filter(|at| *at != "pin"), ui)?;
    let at: CommitId = commit_of(workspace, &store, at.unwrap_or("pin"))?;
    let place = Place::parse(path, lines, at).map_err(wrong)?;
    let url = &workspace.manifest.upstream.url.value;
    let text = quote::render(&place, url, &material::reader(&store)).map_err(wrong)?;
    ui.bytes(format!("{text}\n").as_bytes());
    Ok(Answer::Yes)
}

fn print_bump(context: &Context, workspace: &Workspace, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let Some(rev) = &args.at else {
        return Err(Failure::input("a summary of a move to where?")
            .with_hint("name it: overlaid report --template bump --at REV"));
    };
    let text = material::bump_summary(context, workspace, rev, args.evidence_only, ui)?;
    ui.bytes(text.as_bytes());
    Ok(Answer::Yes)
}

/// Where the report of an overlay is, relative to the repository.
pub(super) fn file_of(workspace: &Workspace, loaded: &Loaded) -> PathBuf {
    match &loaded.overlay.report {
        Some(report) => report.value.clone(),
        None => workspace.manifest.docs_folder().join(format!("{}.md", loaded.name())),
    }
}

/// What a verdict over all profiles says.
pub(super) fn should_go(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Droppable | Verdict::Harmful | Verdict::Redundant)
}
