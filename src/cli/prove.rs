//! `overlaid prove`

mod attest;
mod document;
mod notes;
mod plan;
mod rivals;
mod show;

use std::collections::BTreeSet;
use std::time::Duration;

use crate::diagnostic::{Diagnostic, Severity};
use crate::escape::{for_shell, for_terminal};
use crate::evidence::attested::{self, Attestation};
use crate::evidence::elsewhere;
use crate::id::Name;
use crate::io::attested as io_attested;
use crate::io::lab::answers::Question;
use crate::io::lab::budget::Budget;
use crate::io::lab::campaign::{Campaign, Candidate, runs_under};
use crate::io::lab::make::Workshop;
use crate::io::lab::records::list;
use crate::io::lab::together::Contest;
use crate::io::verdicts;
use crate::io::workspace::Workspace;
use crate::manifest::{Profile, parse_duration};
use crate::overlay::Loaded;
use crate::provenance::State;
use crate::report::ci::{Format, Notice};
use crate::variant::VariantError;
use crate::verdict::coverage::gaps;
use crate::verdict::group::Together;
use crate::verdict::{Decision, Exit, Reason, Verdict};

use document::document;
use notes::{note_verdicts, note_witnesses};

use super::bench::{profile_name, projects_are_there, with_lab};
use super::report::options;
use super::wanted::upstream_has_all;
use super::{Answer, Context, Failure, FailureKind, Ui, explain, status, without_problems};

/// Find out with proof which overlays are needed and which can go
///
/// Builds and runs the linked tests with and without each overlay, at the pin and, where that does not decide,
/// at the witness: a commit at which the fault can be seen (the key `witness`, else the base). At the pin all other overlays
/// are on, on both sides, save those that need this one. Results are compared case by case. The verdicts:
///
/// needed: removing it breaks cases. harmful: it breaks cases and mends none. mixed: it does both.
/// ineffective: a case that it is there for fails with and without it. droppable: all that it is there for
/// passes without it. unproven: the tests have never seen the fault. redundant: the pin has all of it.
/// inconclusive: something could not be found out; the reasons say what.
///
/// What was measured is kept under docs/upstream/evidence and measured again only when something that it
/// depends on changes: sources, our own files, tools, options, device.
///
/// Where several can go, all of them together are tested, too: one may cover for another. The answer has the command that drops
/// them at once.
///
/// Rivals (overlays of one group, of which one is applied) are proven each in the active one's place, and shown side
/// by side with the one that is the better. Those that stand back do not count for the exit code, unless one of them
/// is the better.
///
/// Runs what the upstream, the overlays and the tests contain, and says what before it does.
///
/// --attest notes what a person reports of a run that cannot be made here. It is shown as theirs, and where it
/// contradicts what was measured, a person decides.
///
/// --dry-run says what is on record and still holds, what would be built and run, and how long that takes by what earlier
/// builds and runs took. --budget starts nothing that would not end in time by that measure, and says what is left;
/// the same command goes on from there. What was started is not ended. An unknown time is taken to be the mean of
/// the known ones.
///
/// Exit codes: 0 all needed. 1 something should go. 3 a person must decide, also where a drop needs evidence of
/// other profiles or devices. 4 inconclusive, also where the budget
/// has left something. The highest wins.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only these overlays
    #[arg(value_name = "OVERLAY")]
    overlays: Vec<String>,
    /// Say what is on record, what would be built and run, and how long that takes; run nothing
    #[arg(long)]
    dry_run: bool,
    /// Start only what ends within this time, by what earlier runs took: 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with_all = ["dry_run", "attest"])]
    budget: Option<Duration>,
    /// List every case
    #[arg(long, short)]
    verbose: bool,
    /// In which form the result is printed
    #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    format: Format,
    /// Say what a verdict or a reason means, with an example and what to do
    #[arg(long, value_name = "WORD")]
    explain: Option<String>,
    /// Note what somebody reports of a run without the overlay that cannot be made here (a model, say); runs nothing
    #[arg(long, value_name = "NAME", requires_all = ["by", "result"], conflicts_with_all = ["dry_run", "verbose"])]
    attest: Option<String>,
    /// Who reports it
    #[arg(long, value_name = "WHO", requires = "attest")]
    by: Option<String>,
    /// What came of it, without the overlay
    #[arg(long, requires = "attest")]
    result: Option<attest::CameTo>,
    /// What else they say
    #[arg(long, value_name = "TEXT", requires = "attest")]
    note: Option<String>,
}

/// What came out for all overlays.
struct Outcome {
    candidates: Vec<Candidate>,
    decisions: Vec<Decision>,
    together: Option<(Vec<Name>, Together)>,
    /// Groups of rivals, side by side.
    rivals: Vec<Contest>,
    /// Overlays that a rival is applied instead of, and that were not asked for by name.
    stand_back: BTreeSet<Name>,
    /// What would still be run.
    left: Vec<plan::Planned>,
    /// In a dry run: what is on record and still holds.
    on_record: Vec<plan::Valid>,
    /// The budget, if it was too short for all of it.
    too_short: Option<Duration>,
    /// Overlays that are off.
    off: Vec<Name>,
    /// The command that runs tests here.
    test_command: String,
    /// The command that drops overlays here, without their names.
    drop_command: String,
    /// Rivals that stand back: `test` cannot put them in the active one's place.
    standing_back: BTreeSet<Name>,
}

impl Outcome {
    /// The command that drops these overlays.
    fn drop_command(&self, names: &[Name]) -> String {
        let names = names.iter().map(|name| for_shell(name.as_str())).collect::<Vec<_>>().join(" ");
        format!("{} {names}", self.drop_command)
    }
}

/// Runs the command.
///
/// # Errors
/// If the manifest or the upstream cannot be read, or we are told to stop.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    if let Some(word) = &args.explain {
        return explain::run(word, ui);
    }
    if let Some(what) = &args.attest {
        return attest::run(context, args, what, ui);
    }
    let budget = args.budget.map(Budget::from_now);
    let answered = match once(context, args, budget, ui)? {
        // The manifest names new witnesses now: the answer is that to the new manifest, from the records.
        Answered { witnesses_noted: true, .. } => once(context, args, budget, ui)?,
        answered => answered,
    };
    match args.format {
        Format::Text if ui.is_json() => ui.line(answered.text),
        Format::Text => ui.lines(&answered.text),
        format => explain::print_for_ci(format, "prove", &answered.notices, ui)?,
    }
    Ok(answered.answer)
}

/// An answer that is not said yet.
struct Answered {
    text: String,
    notices: Vec<Notice>,
    answer: Answer,
    witnesses_noted: bool,
}

fn once(context: &Context, args: &Args, budget: Option<Budget>, ui: &mut Ui) -> Result<Answered, Failure> {
    let workspace = without_problems(context.workspace()?)?;
    let profile = context.profile(&workspace)?;
    let features = context.features(&workspace, profile)?;
    let known: BTreeSet<String> = workspace.overlays.iter().map(|loaded| loaded.name().to_string()).collect();
    if let Some(name) = args.overlays.iter().find(|name| !known.contains(*name)) {
        return Err(Failure::unknown_overlay(name, &known));
    }
    let reported = reported(&workspace, ui);
    let test_command = context.command("test", None);
    let shown = format!("{test_command} {} {reported:?}", ui.is_json());
    let (question, earlier) = ask(&workspace, profile, &features, args, &shown);
    if let Some((text, exit)) = earlier {
        let answer = Answer::from_exit_code(exit);
        return Ok(Answered { text, notices: Vec::new(), answer, witnesses_noted: false });
    }
    let store = context.store(&workspace, ui)?;
    match super::wanted::wanted(&workspace, &features, &store) {
        // That an overlay does not fit is a reason, told with its verdict. Where it must be on, nothing can be built.
        Err(failure) if failure.kind == FailureKind::NeedsPerson => {}
        wanted => drop(wanted?),
    }
    let linked = workspace.manifest.tests.iter().filter(|test| runs_under(test, profile_name(profile)));
    projects_are_there(&workspace, linked)?;
    let asked = |loaded: &&Loaded| {
        args.overlays.is_empty() || args.overlays.iter().any(|name| name == loaded.name().as_str())
    };
    let loaded: Vec<&Loaded> = workspace.overlays.iter().filter(asked).collect();
    let reports = status::inspect_all(&workspace, &loaded, &store);
    let redundant: BTreeSet<&Name> =
        reports.iter().filter(|report| report.state == State::Redundant).map(|report| &report.name).collect();
    let absorbed: BTreeSet<&Name> =
        reports.iter().filter(|report| upstream_has_all(report)).map(|report| &report.name).collect();
    let mut campaign = Campaign::new(&workspace, &features, profile_name(profile), &store);
    campaign.limit(budget);
    let mut candidates = Vec::new();
    let mut off = Vec::new();
    for loaded in loaded {
        let name = loaded.name();
        match campaign.candidate(name.as_str(), redundant.contains(name)) {
            Ok(mut candidate) => {
                candidate.redundant = candidate.redundant && campaign.stands_alone(&candidate);
                candidates.push(candidate);
            }
            Err(VariantError::Off(_)) if args.overlays.is_empty() => {
                off.push(name.clone());
            }
            Err(error) => return Err(Failure::input(error.to_string())),
        }
    }
    let is_back = |loaded: &&Loaded| !loaded.overlay.is_on(&features);
    let standing_back: BTreeSet<Name> =
        workspace.overlays.iter().filter(is_back).map(|loaded| loaded.name().clone()).collect();
    let mut used = None;
    let outcome = with_lab(&workspace, profile, &store, ui, |lab| {
        let wanted = campaign.recall(&candidates, lab);
        let mut left = Vec::new();
        let mut on_record = Vec::new();
        if args.dry_run {
            left = wanted
                .into_iter()
                .flat_map(plan::of_request)
                .map(|left| plan::plan(&campaign, left, lab))
                .collect();
            on_record = plan::valid(&campaign);
        } else {
            campaign.prove(&candidates, lab)?;
        }
        let device = lab.device_names();
        let mut decisions: Vec<Decision> = candidates
            .iter()
            .map(|candidate| {
                let mut decision = campaign.decide(candidate);
                if campaign.waits(candidate, &decision) {
                    let text = "the budget leaves no time for all that has to be run".to_owned();
                    decision.reasons.push(Reason { code: "budget", text });
                }
                let mut seen_on = device.clone();
                for machine in campaign.measured_by(candidate, lab) {
                    let text = format!("measured on {}, not on this machine", elsewhere::words(&machine));
                    decision.reasons.push(Reason { code: "measured-elsewhere", text });
                    seen_on.extend(machine.device_names());
                }
                for other in campaign.on_other_devices(candidate, lab) {
                    let other = other.elsewhere();
                    decision.reasons.push(other.reason(decision.verdict));
                    if other.is_for_a_drop() {
                        seen_on.extend(other.devices);
                    }
                }
                decision.reasons.extend(gaps_of(
                    &workspace,
                    context,
                    profile_name(profile),
                    &decision,
                    &seen_on,
                ));
                let pin = workspace.manifest.upstream.pin.value;
                let reports = attested::of(&reported, decision.overlay.as_str(), pin);
                decision.reasons.extend(reports.iter().map(|report| report.reason(decision.verdict)));
                decision
            })
            .collect();
        for decision in decisions.iter_mut().filter(|decision| decision.verdict == Verdict::Inconclusive) {
            if absorbed.contains(&decision.overlay) {
                let text = "upstream has all of it by now: the overlay can go".to_owned();
                decision.reasons.push(Reason { code: "absorbed", text });
            }
        }
        let together = campaign.prove_together(&decisions, lab, !args.dry_run)?;
        // Before all is known, a table of them would say little.
        let rivals = if left.is_empty() && campaign.turned_away().is_empty() {
            campaign.prove_rivals(&candidates, lab, !args.dry_run)?
        } else {
            Vec::new()
        };
        let too_short = args.budget.filter(|_| !campaign.turned_away().is_empty());
        let turned_away = campaign.turned_away().to_vec();
        left.extend(turned_away.into_iter().map(|left| plan::plan(&campaign, left, lab)));
        let is_certain = |decision: &Decision| decision.verdict != Verdict::Inconclusive;
        if left.is_empty() && decisions.iter().all(is_certain) && campaign.trace(lab) {
            used = Some(lab.used().clone());
        }
        let stand_back = candidates.iter().map(|candidate| candidate.variants.overlay.clone());
        let stand_back =
            stand_back.filter(|name| args.overlays.is_empty() && !is_on(&workspace, &features, name));
        let stand_back = stand_back.collect();
        Ok(Outcome {
            candidates: candidates.clone(),
            decisions,
            together,
            rivals,
            stand_back,
            left,
            on_record,
            too_short,
            off,
            test_command,
            drop_command: format!("overlaid{} drop", options(context)),
            standing_back,
        })
    })?;
    let mut witnesses_noted = false;
    if !args.dry_run {
        // A proof can take hours, so others are kept out only now.
        match context.lock(ui) {
            Ok(_lock) => {
                witnesses_noted = note_witnesses(&workspace, &outcome, ui);
                note_verdicts(&workspace, profile_name(profile), &outcome, &reports, ui);
            }
            Err(failure) => {
                ui.warn(format_args!("verdicts and witnesses are not noted: {}", failure.message));
            }
        }
    }
    let text = if ui.is_json() {
        format!("{:#}", document(&workspace, profile_name(profile), &outcome))
    } else {
        show::render(&outcome, args.verbose)
    };
    let notices = outcome.decisions.iter().filter_map(|decision| notice(&workspace, decision)).collect();
    if args.dry_run && !outcome.left.is_empty() {
        // The question was what would be run, and that is answered.
        return Ok(Answered { text, notices, answer: Answer::Yes, witnesses_noted });
    }
    let answer = answer(&outcome);
    if let (Some(question), Some(used), false) = (question, used, witnesses_noted) {
        question.keep(used, text.clone(), answer.exit_code());
    }
    Ok(Answered { text, notices, answer, witnesses_noted })
}

/// The question as a whole, and the answer of an earlier time with its exit code, if it still holds.
fn ask(
    workspace: &Workspace,
    profile: Option<&Profile>,
    features: &BTreeSet<Name>,
    args: &Args,
    shown: &str,
) -> (Option<Question>, Option<(String, u8)>) {
    let mut workshop = Workshop::new(&workspace.root, profile);
    let name = profile_name(profile);
    let tests: Vec<_> = workspace.manifest.tests.iter().filter(|test| runs_under(test, name)).collect();
    let Args { overlays, dry_run, verbose, .. } = args;
    let elsewhere = evidence_of_others(workspace, profile);
    let asked = format!("prove {overlays:?} {dry_run} {verbose} {name:?} {features:?} {shown} {elsewhere:?}");
    let question = Question::new(workspace, features, &tests, &mut workshop, &asked);
    // `status` shows what was noted with the answer: without the note it is given anew.
    let upstream = workspace.manifest.upstream.name.as_str();
    let note = workspace.root.join(verdicts::file(&workspace.manifest.docs_folder(), upstream));
    // What CI is told is made from decisions, and an answer that was kept is text.
    let earlier = question
        .as_ref()
        .filter(|_| note.is_file() && args.format == Format::Text)
        .and_then(|question| question.answer(&mut workshop.hashes));
    // What was hashed now is known the next time; if that cannot be written, it is hashed again.
    let _ = workshop.hashes.save();
    (question, earlier)
}

/// What CI is told of an overlay. Of one that is needed: nothing.
fn notice(workspace: &Workspace, decision: &Decision) -> Option<Notice> {
    let severity = match decision.verdict {
        Verdict::Needed => return None,
        Verdict::Harmful => Severity::Error,
        _ => Severity::Warning,
    };
    let overlay = workspace.manifest.overlay(decision.overlay.as_str())?;
    let place = workspace.manifest.place(overlay.span.clone(), "");
    let mut diagnostic =
        Diagnostic::new(severity, decision.verdict.as_str(), decision.first_line.clone()).at(place);
    if let Some(to_do) =
        crate::report::explain::lookup(decision.verdict.as_str()).and_then(|found| found.to_do)
    {
        diagnostic = diagnostic.hint(to_do);
    }
    Some(Notice { overlay: Some(decision.overlay.to_string()), record: diagnostic.to_record() })
}

/// The names of all evidence, if what was measured elsewhere is shown beside what was measured here: of rivals, and where
/// a device is required.
fn evidence_of_others(workspace: &Workspace, profile: Option<&Profile>) -> Vec<String> {
    let has_rivals = workspace.manifest.overlays.iter().any(|overlay| overlay.rivals.is_some());
    let has_devices = profile.is_some_and(|profile| profile.requires.is_some());
    let folder = workspace.root.join(workspace.manifest.docs_folder()).join("evidence");
    if has_rivals || has_devices { list(&folder) } else { Vec::new() }
}

fn answer(outcome: &Outcome) -> Answer {
    if outcome.too_short.is_some() {
        return Answer::Unknown;
    }
    // A drop for which evidence of other profiles or devices is missing is not for us to say, and neither is what
    // somebody reports otherwise.
    let has = |decision: &Decision, codes: &[&str]| {
        decision.reasons.iter().any(|reason| codes.contains(&reason.code))
    };
    let is_open = |decision: &Decision| {
        (decision.verdict == Verdict::Droppable && decision.reasons.iter().any(is_gap))
            || has(decision, &["attested-otherwise", "differs-by-device"])
    };
    let counts = |decision: &&Decision| !outcome.stand_back.contains(&decision.overlay);
    let verdicts = outcome.decisions.iter().filter(counts).map(|decision| match is_open(decision) {
        true => Verdict::Unproven,
        false => decision.verdict,
    });
    let of_rivals = outcome.rivals.iter().map(|contest| contest.here.exit());
    match of_rivals.fold(Exit::of(verdicts), Exit::max) {
        Exit::AllNeeded => Answer::Yes,
        Exit::ShouldGo => Answer::No,
        Exit::PersonDecides => Answer::NeedsPerson,
        Exit::Inconclusive => Answer::Unknown,
    }
}

/// What people have reported of this upstream.
fn reported(workspace: &Workspace, ui: &mut Ui) -> Vec<Attestation> {
    let manifest = &workspace.manifest;
    let folder = io_attested::folder(&manifest.docs_folder(), manifest.upstream.name.as_str());
    let (reported, refused) = io_attested::load(&workspace.root.join(folder));
    for (file, why) in refused {
        ui.warn(format_args!("{} is not used: {}", file.display(), for_terminal(why)));
    }
    reported
}

/// Whether an overlay is applied: no rival is in its place.
fn is_on(workspace: &Workspace, features: &BTreeSet<Name>, name: &Name) -> bool {
    workspace.manifest.overlay(name.as_str()).is_some_and(|overlay| overlay.is_on(features))
}

/// What else a drop needs: other profiles that turn the overlay on, the devices that it names.
fn gaps_of(
    workspace: &Workspace,
    context: &Context,
    profile: Option<&Name>,
    decision: &Decision,
    seen_on: &[String],
) -> Vec<Reason> {
    if decision.verdict != Verdict::Droppable {
        return Vec::new();
    }
    let Some(overlay) = workspace.manifest.overlay(decision.overlay.as_str()) else { return Vec::new() };
    let on_under: Vec<Name> = workspace
        .manifest
        .profiles
        .iter()
        .filter(|profile| {
            context.features(workspace, Some(profile)).is_ok_and(|features| overlay.is_on(&features))
        })
        .map(|profile| profile.name.value.clone())
        .collect();
    let proven: Vec<Name> = profile.cloned().into_iter().collect();
    let devices: Vec<String> = overlay.devices.iter().map(|device| device.value.clone()).collect();
    gaps(&on_under, &proven, &devices, seen_on)
}

/// Whether a reason says what a drop still needs.
fn is_gap(reason: &Reason) -> bool {
    ["other-profile", "other-device"].contains(&reason.code)
}

/// Text of a reason, fit for a terminal.
fn reason_text(reason: &Reason) -> String {
    for_terminal(&reason.text)
}
