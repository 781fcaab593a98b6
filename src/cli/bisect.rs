//! `overlaid bisect`

use serde_json::{Value, json};

use crate::bisect::Judged;
use crate::escape::for_terminal;
use crate::evidence::Machine;
use crate::evidence::bisected::{Asked, Bisected, Found, SCHEMA, Step};
use crate::id::{CommitId, Name};
use crate::io::bisected;
use crate::io::lab::bisection::{Bisection, Outcome, Question, Searched, Stopped};
use crate::io::lab::campaign::Campaign;
use crate::io::lab::records::now;
use crate::io::store::Store;
use crate::io::workspace::Workspace;
use crate::kernel_test::{CaseKey, ranges};
use crate::manifest::{Overlay, Witness};
use crate::upstream::Upstream;

use super::bench::{counted, profile_name, projects_are_there, with_lab};
use super::build::commit_of;
use super::status::inspect_all;
use super::{Answer, Context, Failure, Tone, Ui, without_problems};

/// Find the upstream commit that made an overlay unneeded, or that brought the fault
///
/// Begins where the fault can be seen (the witness, else the base), and builds and tests commits between there and the
/// pin, by first parents, until the first one is found at which every case passes without the overlay that it is there
/// for. Each step halves what is left. A commit that does not build, or of which the tests say nothing, is passed over,
/// as `git bisect` does; then the answer may be a range.
///
/// --introduced looks the other way: from there back, for the commit that brought the fault.
///
/// What was measured is kept as evidence, so that a search that was interrupted goes on; the answer is noted in
/// docs/upstream/bisected, and reports and the page show it. Runs what the upstream, the
/// overlays and the tests contain.
///
/// Exit codes: 0 found. 1 there is none: it is still needed at the pin, or the fault is as old as the tests can tell.
/// 4 it could not be found out, also where the answer is a range.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The overlay
    #[arg(value_name = "OVERLAY")]
    overlay: String,
    /// Look for the commit that brought the fault
    #[arg(long)]
    introduced: bool,
    /// Begin here instead: a commit, a branch or a tag at which the fault can be seen
    #[arg(long, value_name = "REV")]
    from: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// If the manifest or the upstream cannot be read, or we are told to stop.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let workspace = without_problems(context.workspace()?)?;
    let profile = context.profile(&workspace)?;
    let features = context.features(&workspace, profile)?;
    let Some(overlay) = workspace.manifest.overlay(&args.overlay) else {
        let known = workspace.overlays.iter().map(|loaded| loaded.name().to_string()).collect();
        return Err(Failure::unknown_overlay(&args.overlay, &known));
    };
    let store = context.store(&workspace, ui)?;
    let mut campaign = Campaign::new(&workspace, &features, profile_name(profile), &store);
    let tests = campaign.tests_of(overlay);
    if tests.is_empty() {
        let text = format!("no test is linked to `{}` under this profile", args.overlay);
        return Err(Failure::input(text).with_hint("name one in its `tests`"));
    }
    projects_are_there(&workspace, tests.into_iter())?;
    let pin = workspace.manifest.upstream.pin.value;
    let start = match &args.from {
        Some(rev) => commit_of(&workspace, &store, rev)?,
        None => where_it_is_seen(overlay, pin)?,
    };
    let question = if args.introduced { Question::Introduced } else { Question::Unneeded };
    let upstream =
        |error: crate::upstream::UpstreamError| Failure::environment(for_terminal(error.to_string()));
    let (home, line) = match question {
        Question::Introduced => (start, back_from(&store, start).map_err(upstream)?),
        Question::Unneeded => forward_to(&store, start, pin, ui)?,
    };
    ui.note(format_args!(
        "{} by first parents, from {} to {}",
        counted(line.len(), "commit"),
        line.first().map(|commit| commit.short()).unwrap_or_default(),
        line.last().map(|commit| commit.short()).unwrap_or_default(),
    ));
    let (searched, machine) = with_lab(&workspace, profile, &store, ui, |lab| {
        let machine = lab.machine().clone();
        let overlay = overlay.name.value.clone();
        let mut bisection = Bisection::new(&mut campaign, &store, overlay, home);
        let searched = bisection.search(question, &line, lab).map_err(|stopped| match stopped {
            Stopped::Interrupted(interrupted) => interrupted.into(),
            Stopped::Upstream(error) => upstream(error),
        });
        Ok((searched?, machine))
    })?;
    let about = About { question, home, line: line.len(), profile: profile_name(profile), machine };
    note(&workspace, overlay, &about, &searched, &store, ui)?;
    if ui.is_json() {
        ui.document(&document(args, question, home, &line, &searched, &store));
    } else {
        show(args, question, home, &searched, &store, ui);
    }
    Ok(match searched.outcome {
        Outcome::Found(_) => Answer::Yes,
        Outcome::StillNeeded | Outcome::AlwaysThere(_) => Answer::No,
        Outcome::Range(_) | Outcome::EndNotKnown(_) | Outcome::NotSeen(_) => Answer::Unknown,
    })
}

/// What was asked, and where it was answered.
struct About<'a> {
    question: Question,
    home: CommitId,
    line: usize,
    profile: Option<&'a Name>,
    machine: Machine,
}

/// Notes the answer for reports and the page. Where nothing was found out, there is nothing to note.
fn note(
    workspace: &Workspace,
    overlay: &Overlay,
    about: &About<'_>,
    searched: &Searched,
    store: &Store,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let (found, commits) = match &searched.outcome {
        Outcome::Found(first) => (Found::One, vec![*first]),
        Outcome::Range(possible) => (Found::Range, possible.clone()),
        Outcome::StillNeeded => (Found::StillNeeded, Vec::new()),
        Outcome::AlwaysThere(oldest) => (Found::AlwaysThere, vec![*oldest]),
        Outcome::EndNotKnown(_) | Outcome::NotSeen(_) => return Ok(()),
    };
    let manifest = &workspace.manifest;
    let pin = manifest.upstream.pin.value;
    let Some(loaded) = workspace.overlay(overlay.name.as_str()) else { return Ok(()) };
    let Some(report) = inspect_all(workspace, &[loaded], store).into_iter().next() else { return Ok(()) };
    let step = |commit: CommitId| Step {
        commit,
        subject: store.commit(commit).map(|commit| commit.subject.to_string()).unwrap_or_default(),
    };
    let note = Bisected {
        schema: SCHEMA.to_owned(),
        overlay: overlay.name.value.clone(),
        asked: match about.question {
            Question::Unneeded => Asked::Unneeded,
            Question::Introduced => Asked::Introduced,
        },
        profile: about.profile.cloned(),
        pin,
        content: report.content_digest(pin),
        seen_at: about.home,
        found,
        commits: commits.into_iter().map(step).collect(),
        searched: about.line,
        tried: searched.tried.len(),
        cases: searched.cases.len(),
        machine: about.machine.clone(),
        recorded: now(),
    };
    let folder = bisected::folder(&manifest.docs_folder(), manifest.upstream.name.as_str());
    let file = bisected::write(&workspace.root.join(&folder), &note).map_err(|error| {
        Failure::environment(format!("cannot write in `{}`", folder.display())).caused_by(error)
    })?;
    let file = file.strip_prefix(&workspace.root).unwrap_or(&file);
    ui.note(format_args!("noted in {}", file.display()));
    Ok(())
}

/// The witness, else the base.
fn where_it_is_seen(overlay: &Overlay, pin: CommitId) -> Result<CommitId, Failure> {
    let base = overlay.base.as_ref().map(|base| base.value);
    match overlay.witness.as_ref().map(|witness| &witness.value) {
        // Proven needed at the pin: then the base is where to begin.
        Some(Witness::Commit(commit)) if *commit != pin => Ok(*commit),
        Some(Witness::Commit(_) | Witness::Patch(_)) | None => base.ok_or_else(|| {
            Failure::input(format!("overlay `{}` has neither a witness nor a base", overlay.name.as_str()))
                .with_hint("name a commit at which the fault can be seen with --from")
        }),
    }
}

/// Where the search begins, and the line from there to the pin. A start that the pin does not have among its first
/// parents begins where the two histories part.
fn forward_to(
    store: &Store,
    start: CommitId,
    pin: CommitId,
    ui: &mut Ui,
) -> Result<(CommitId, Vec<CommitId>), Failure> {
    let failed =
        |error: crate::upstream::UpstreamError| Failure::environment(for_terminal(error.to_string()));
    let line = |from: CommitId| -> Result<Option<Vec<CommitId>>, Failure> {
        let links = store.first_parents(from, pin, &[]).map_err(failed)?;
        Ok(links
            .map(|links| std::iter::once(from).chain(links.into_iter().map(|link| link.commit)).collect()))
    };
    if start == pin {
        return Err(Failure::input("the search would begin at the pin, and there is nothing between")
            .with_hint("name an older commit at which the fault can be seen with --from"));
    }
    if let Some(line) = line(start)? {
        return Ok((start, line));
    }
    let common = store.merge_base(start, pin).map_err(failed)?;
    if let Some(common) = common.filter(|common| *common != pin)
        && let Some(line) = line(common)?
    {
        ui.note(format_args!(
            "{} is not among the first parents of the pin; begins at {}",
            start.short(),
            common.short()
        ));
        return Ok((common, line));
    }
    Err(Failure::input(format!("{} is not among the first parents of the pin", start.short()))
        .with_hint("name a commit on that line with --from"))
}

/// The first parents of a commit and itself, oldest first, as far as the history is here.
fn back_from(store: &Store, start: CommitId) -> Result<Vec<CommitId>, crate::upstream::UpstreamError> {
    let mut line = vec![start];
    let mut next = store.commit(start)?.parents.first().copied();
    while let Some(commit) = next {
        // A shallow history ends where it ends.
        let Ok(header) = store.commit(commit) else { break };
        line.push(commit);
        next = header.parents.first().copied();
    }
    line.reverse();
    Ok(line)
}

fn show(args: &Args, question: Question, home: CommitId, searched: &Searched, store: &Store, ui: &mut Ui) {
    let name = Tone::Strong.paint(&args.overlay);
    let commit = |commit: CommitId| {
        let subject = store.commit(commit).map(|commit| commit.subject.to_string()).unwrap_or_default();
        format!("{} {}", commit.short(), for_terminal(subject))
    };
    let what = match question {
        Question::Unneeded => "no longer needed",
        Question::Introduced => "the fault is there",
    };
    match &searched.outcome {
        Outcome::Found(first) => {
            ui.line(format_args!("{name}: {what} from"));
            ui.line(format_args!("  {}", commit(*first)));
        }
        Outcome::Range(possible) => {
            ui.line(format_args!("{name}: {what} from one of these; all but the last cannot be judged"));
            for possible in possible {
                ui.line(format_args!("  {}", commit(*possible)));
            }
        }
        Outcome::StillNeeded => {
            ui.line(format_args!("{name}: the fault is still there at the pin: it is needed"));
        }
        Outcome::AlwaysThere(oldest) => {
            ui.line(format_args!("{name}: the fault is there as far back as the tests can tell, since"));
            ui.line(format_args!("  {}", commit(*oldest)));
        }
        Outcome::EndNotKnown(why) => {
            ui.line(format_args!("{name}: the pin cannot be judged: {}", for_terminal(why)));
        }
        Outcome::NotSeen(why) => {
            ui.line(format_args!(
                "{name}: the tests do not see the fault at {}: {}",
                home.short(),
                for_terminal(why)
            ));
            ui.line("  name a commit at which they do with --from");
        }
    }
    for line in describe(searched) {
        ui.line(format_args!("  is there for {line}"));
    }
    for tried in &searched.tried {
        ui.line(format_args!("  {}: {}", commit(tried.commit), for_terminal(tried.judged.to_string())));
    }
}

/// The cases that it is there for, a test after the other.
fn describe(searched: &Searched) -> Vec<String> {
    let mut tests: std::collections::BTreeMap<_, Vec<(&CaseKey, bool)>> = std::collections::BTreeMap::new();
    for id in &searched.cases {
        tests.entry(&id.test).or_default().push((&id.case, true));
    }
    let lines = tests.iter().flat_map(|(test, cases)| {
        ranges::describe(cases).into_iter().map(move |line| format!("{test}: {}", for_terminal(line)))
    });
    lines.collect()
}

fn document(
    args: &Args,
    question: Question,
    home: CommitId,
    line: &[CommitId],
    searched: &Searched,
    store: &Store,
) -> Value {
    let commit = |commit: CommitId| {
        let subject = store.commit(commit).map(|commit| commit.subject.to_string()).unwrap_or_default();
        json!({ "commit": commit, "subject": subject })
    };
    let (answer, first, possible, why) = match &searched.outcome {
        Outcome::Found(first) => ("found", Some(*first), vec![*first], None),
        Outcome::Range(possible) => ("range", None, possible.clone(), None),
        Outcome::StillNeeded => ("still-needed", None, Vec::new(), None),
        Outcome::AlwaysThere(oldest) => ("always-there", None, vec![*oldest], None),
        Outcome::EndNotKnown(why) => ("unknown", None, Vec::new(), Some(why)),
        Outcome::NotSeen(why) => ("not-seen", None, Vec::new(), Some(why)),
    };
    let tried = searched.tried.iter().map(|tried| {
        let (word, why) = match &tried.judged {
            Judged::Faulty(_) => ("faulty", None),
            Judged::Mended => ("mended", None),
            Judged::Unknown(why) => ("skip", Some(why)),
        };
        json!({ "commit": tried.commit, "result": word, "why": why })
    });
    json!({
        "schema": "overlaid.bisect.v1",
        "overlay": args.overlay,
        "question": match question {
            Question::Unneeded => "unneeded",
            Question::Introduced => "introduced",
        },
        "seen-at": home,
        "commits": line.len(),
        "answer": answer,
        "first": first.map(commit),
        "possible": possible.into_iter().map(commit).collect::<Vec<_>>(),
        "why": why,
        "cases": searched.cases,
        "tried": tried.collect::<Vec<_>>(),
    })
}
