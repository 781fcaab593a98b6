//! From what is known to the text of a report, through a template.
//!
//! Decides what a template can say: names that do not exist are errors, and text of others reaches it escaped only through
//! the filters `words`, `code` and `cell`, or as a block. Never says why something is wrong.

use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};
use serde::Serialize;

use crate::escape::for_shell;
use crate::evidence::attested::Attestation;
use crate::id::{CommitId, OverlayName};
use crate::verdict::{Decision, Proof};

use super::claims::Label;
use super::delta::Change;
use super::facts::{AtOnce, Facts, Measured, RecordFile};
use super::kind::MaySay;
use super::markdown;
use super::proof_view::{ProofView, view};
use super::quote::{self, Place};
use super::sections::{self, TODO, closing, opening};
use super::templates::{BUILT_IN, Template};

/// Lines of the diff beyond this number are counted, not shown.
const MOST_DIFF_LINES: usize = 400;

/// How many stretches of upstream's lines are quoted, and how long each may be.
const MOST_QUOTES: usize = 4;
const LONGEST_QUOTE: usize = 40;

/// What is known of an overlay besides what was measured.
#[derive(Debug, Clone, Serialize)]
pub struct Known {
    /// Its name.
    pub name: String,
    /// Why it is carried.
    pub reason: Option<String>,
    /// The commit that it was derived from.
    pub base: Option<String>,
    /// Its state against history.
    pub state: String,
    /// The paths that it changes.
    pub paths: Vec<String>,
    /// The upstream commits that it undoes.
    pub undoes: Vec<CommitLine>,
    /// The upstream's issue and pull request.
    pub issue: Option<String>,
    /// The upstream's pull request.
    pub pull_request: Option<String>,
    /// What goes with it.
    pub removed_with: Vec<String>,
}

/// A commit of the upstream.
#[derive(Debug, Clone, Serialize)]
pub struct CommitLine {
    /// The full id.
    pub id: String,
    /// The first digits of it.
    pub short: String,
    /// The subject, as upstream wrote it.
    pub subject: String,
    /// Where it can be read.
    pub link: Option<String>,
}

/// The upstream.
#[derive(Debug, Clone, Serialize)]
pub struct UpstreamView {
    /// Its name.
    pub name: String,
    /// Its address; none where it is a path of this machine.
    pub url: Option<String>,
    /// The pin.
    pub pin: String,
    /// The first digits of it.
    pub short: String,
    /// Where the pin can be read.
    pub link: Option<String>,
}

/// Whether the fault is there at a newer commit.
#[derive(Debug, Clone, Serialize)]
pub struct NewerView {
    /// The commit.
    pub commit: String,
    /// The first digits.
    pub short: String,
    /// What a person called it.
    pub called: String,
    /// How many cases that the overlay mends, or is there for, were looked at.
    pub cases: usize,
    /// How many of them fail there without it.
    pub failing: usize,
    /// How many could not be found out.
    pub unknown: usize,
    /// What was in the way.
    pub obstacle: Option<String>,
}

/// All that a report is made from.
pub struct Material<'a> {
    /// The facts.
    pub facts: &'a Facts,
    /// What is known of the overlay.
    pub known: Known,
    /// The upstream.
    pub upstream: UpstreamView,
    /// Its address as the manifest has it, for links.
    pub url: &'a str,
    /// What may be said.
    pub may_say: MaySay,
    /// What each part of the facts says.
    pub proofs: Vec<(&'a Measured, Proof, Decision)>,
    /// The records of evidence.
    pub records: &'a BTreeMap<String, RecordFile>,
    /// The newer commit.
    pub newer: Option<NewerView>,
    /// The changes of the overlay.
    pub changes: &'a [Change],
    /// The command that makes the figures again.
    pub repro: Vec<String>,
    /// The folder of the records, relative to the report.
    pub evidence: String,
    /// The record of a drop, relative to the report.
    pub retired_file: String,
    /// What a move of the pin makes of the overlays.
    pub bump: Option<serde_json::Value>,
}

/// Why a template does not give a report.
#[derive(Debug, Clone)]
pub struct RenderError {
    /// What is wrong, and where.
    pub text: String,
    /// The template's file.
    pub file: String,
}

impl std::fmt::Display for RenderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the template `{}` does not work: {}", self.file, self.text)
    }
}

impl std::error::Error for RenderError {}

/// Where lines of the upstream come from, in a form that a template's function can keep.
pub type Quotes = Arc<dyn Fn(&Place) -> Result<String, quote::QuoteError> + Send + Sync>;

/// The text of a report: the template filled, without what a person wrote.
///
/// `own` are templates of the user, by the name of the file.
///
/// # Errors
/// If a template is wrong, or quotes what is not there.
pub fn render(
    template: Template,
    own: &BTreeMap<String, String>,
    material: &Material<'_>,
    quotes: &Quotes,
) -> Result<String, RenderError> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    let failed = |error: &Error| RenderError {
        text: describe(error),
        file: error.name().unwrap_or(template.file()).to_owned(),
    };
    let syntax =
        SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
    environment.set_syntax(syntax.map_err(|error| failed(&error))?);
    for (file, built_in) in BUILT_IN {
        let text = own.get(file).map_or(built_in, String::as_str);
        environment.add_template(file, text).map_err(|error| failed(&error))?;
    }
    // Files that only the user's templates include.
    for (file, text) in own.iter().filter(|(file, _)| !BUILT_IN.iter().any(|(known, _)| known == file)) {
        environment.add_template(file, text).map_err(|error| failed(&error))?;
    }
    environment.add_filter("words", |text: String| markdown::words(&text));
    environment.add_filter("code", |text: String| markdown::code(&text));
    environment.add_filter("cell", |text: String| markdown::cell(&text));
    environment.add_filter("fenced", |text: String, language: String| {
        let lines: Vec<String> = text.lines().map(|line| markdown::line(line.as_bytes())).collect();
        markdown::fence(&language, &lines)
    });
    environment.add_filter("link", |text: String, link: Option<String>| match link {
        Some(link) => format!("[{text}]({link})"),
        None => text,
    });
    environment.add_function("person", |name: String, hint: String| {
        format!("{}\n{TODO}: {hint}\n{}", opening(&name), closing(&name))
    });
    let quotes = Arc::clone(quotes);
    environment.add_function("quote", move |path: String, arguments: Kwargs| -> Result<String, Error> {
        let lines: String = arguments.get("lines")?;
        let at: String = arguments.get("at")?;
        arguments.assert_all_used()?;
        let wrong = |text: String| Error::new(ErrorKind::InvalidOperation, text);
        let commit = CommitId::parse(&at)
            .map_err(|_| wrong(format!("`at` of a quote must be a full commit, not `{at}`")))?;
        let place = Place::parse(&path, &lines, commit).map_err(|error| wrong(error.to_string()))?;
        quotes(&place).map_err(|error| wrong(error.to_string()))
    });
    let context = context(material, template);
    let made = environment.get_template(template.file()).and_then(|template| template.render(context));
    let text = tidy(&made.map_err(|error| failed(&error))?);
    // Nobody has written in the sections of a new text. Markers that do not pair are told when it is put into a report.
    let labelled = sections::relabelled(text.as_bytes()).ok();
    Ok(labelled.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or(text))
}

/// No blanks at the ends of lines, and one empty line where there are several. Blocks stay as they are.
fn tidy(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    let mut fence: Option<usize> = None;
    let mut empty = true;
    for line in text.lines() {
        let ticks = line.chars().take_while(|&c| c == '`').count();
        match fence {
            Some(open) if ticks >= open && line.len() == ticks => fence = None,
            Some(_) => {
                tidied.push_str(line);
                tidied.push('\n');
                continue;
            }
            None if ticks >= 3 => fence = Some(ticks),
            None => {}
        }
        let line = line.trim_end();
        if !(line.is_empty() && empty) {
            tidied.push_str(line);
            tidied.push('\n');
        }
        empty = line.is_empty();
    }
    while tidied.ends_with("\n\n") {
        tidied.pop();
    }
    tidied
}

fn describe(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    text
}

fn context(material: &Material<'_>, template: Template) -> Value {
    let proofs: Vec<ProofView> =
        material.proofs.iter().map(|(m, proof, d)| view(m, proof, d, material.records)).collect();
    let mut diff_lines: Vec<String> = Vec::new();
    for change in material.changes {
        let diff = change.diff();
        let text = diff.strip_suffix(b"\n").unwrap_or(&diff);
        if !text.is_empty() {
            diff_lines.extend(text.split(|&b| b == b'\n').map(markdown::line));
        }
    }
    let more = diff_lines.len().saturating_sub(MOST_DIFF_LINES);
    diff_lines.truncate(MOST_DIFF_LINES);
    let diff = (!diff_lines.is_empty()).then(|| markdown::fence("diff", &diff_lines));
    let labels = BTreeMap::from([
        ("run", Label::Run.to_string()),
        ("not_run", Label::NotRun.to_string()),
        ("read", Label::Read(material.facts.pin).to_string()),
        ("manifest", Label::Manifest.to_string()),
        ("recommended", Label::Recommended.to_string()),
        ("inferred", Label::Inferred.to_string()),
        ("to_write", Label::ToWrite.to_string()),
    ]);
    let reported: Vec<Said> =
        material.facts.attested.iter().map(|report| reported(report, material)).collect();
    let bisected = material.facts.bisected.iter().map(|note| Said {
        text: match &note.profile {
            Some(profile) => format!("bisect under profile {profile}: {}", note.text()),
            None => format!("bisect: {}", note.text()),
        },
        label: Label::Measured(note.device()).to_string(),
    });
    let bisected: Vec<Said> = bisected.collect();
    minijinja::context! {
        overlay => Value::from(Serde(&material.known)),
        upstream => Value::from(Serde(&material.upstream)),
        pin => material.facts.pin.to_string(),
        may_say => Value::from(Serde(material.may_say)),
        template => template.as_str(),
        proofs => Value::from(Serde(proofs)),
        newer => Value::from(Serde(&material.newer)),
        reported => Value::from(Serde(reported)),
        bisected => Value::from(Serde(bisected)),
        together => Value::from(Serde(together(material))),
        drop => drop_command(material, material.facts.proofs.first(), &[&material.facts.overlay]),
        diff => Value::from(Serde(diff)),
        diff_more => more,
        places => Value::from(Serde(places(material))),
        labels => Value::from(Serde(labels)),
        repro => Value::from(Serde(&material.repro)),
        evidence => material.evidence.clone(),
        retired_file => material.retired_file.clone(),
        evidence_only => material.facts.evidence_only,
        retired => Value::from(Serde(&material.facts.retired)),
        bump => Value::from(Serde(&material.bump)),
    }
}

/// With which others it can go at once.
#[derive(Debug, Clone, Serialize)]
struct TogetherView {
    profile: Option<String>,
    others: Vec<String>,
    label: String,
    command: String,
}

fn together(material: &Material<'_>) -> Vec<TogetherView> {
    let view = |at_once: &AtOnce| TogetherView {
        profile: at_once.measured.profile.as_ref().map(ToString::to_string),
        others: others(&at_once.overlays, &material.facts.overlay),
        label: match at_once.measured.redundant {
            true => Label::NotRun.to_string(),
            false => Label::Measured(at_once.measured.device()).to_string(),
        },
        command: drop_command(
            material,
            Some(&at_once.measured),
            &at_once.overlays.iter().collect::<Vec<_>>(),
        ),
    };
    material.facts.together.iter().map(view).collect()
}

fn others(overlays: &[OverlayName], overlay: &OverlayName) -> Vec<String> {
    overlays.iter().filter(|name| *name != overlay).map(ToString::to_string).collect()
}

/// The command that drops overlays at once, in a tree of the profile that was measured.
fn drop_command(material: &Material<'_>, measured: Option<&Measured>, overlays: &[&OverlayName]) -> String {
    let profile = measured.and_then(|measured| measured.profile.as_ref());
    let profile = profile.map(|profile| format!(" --profile {}", for_shell(profile.as_str())));
    let names: Vec<String> = overlays.iter().map(|name| for_shell(name.as_str())).collect();
    let upstream = for_shell(material.facts.upstream.as_str());
    format!("overlaid -m {upstream}{} drop {}", profile.unwrap_or_default(), names.join(" "))
}

/// A sentence with the ground that it stands on.
#[derive(Debug, Clone, Serialize)]
struct Said {
    text: String,
    label: String,
}

/// What a person reports, and whether what was measured says otherwise.
fn reported(report: &Attestation, material: &Material<'_>) -> Said {
    let contradicted = material
        .proofs
        .iter()
        .map(|(_, _, decision)| decision.verdict)
        .find(|verdict| report.contradicts(*verdict));
    let text = match contradicted {
        Some(verdict) => report.reason(verdict).text,
        None => report.text(),
    };
    Said { text, label: Label::Reported(report.by.clone()).to_string() }
}

/// The stretches of upstream's own lines that the overlay takes away, with a line of context.
fn places(material: &Material<'_>) -> Vec<BTreeMap<&'static str, String>> {
    let mut found = Vec::new();
    for change in material.changes {
        let Some(old) = &change.old else { continue };
        let Ok(path) = std::str::from_utf8(change.path.as_bytes()) else { continue };
        let has = old.bytes.split(|&b| b == b'\n').count() - usize::from(old.bytes.ends_with(b"\n"));
        for (first, last) in change.old_lines() {
            let (first, last) = (first.saturating_sub(1).max(1), (last + 1).min(has));
            let last = last.min(first + LONGEST_QUOTE - 1);
            if first <= last {
                found.push(BTreeMap::from([("path", path.to_owned()), ("lines", format!("{first}-{last}"))]));
            }
        }
    }
    found.truncate(MOST_QUOTES);
    found
}

/// A minute of a day, in UTC: `2026-01-31 09:05 UTC`.
#[must_use]
pub fn moment(seconds: i64) -> String {
    let of_day = seconds.rem_euclid(86_400);
    format!("{} {:02}:{:02} UTC", date(seconds), of_day / 3_600, of_day % 3_600 / 60)
}

/// A day of the calendar, UTC, from seconds since 1970. Days to civil dates as Howard Hinnant describes it.
#[must_use]
pub fn date(seconds: i64) -> String {
    let days = seconds.div_euclid(86_400) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let shown = [0, 951_782_399, 951_782_400, 1_700_000_000, 4_102_444_800].map(date);
        assert_eq!(shown, ["1970-01-01", "2000-02-28", "2000-02-29", "2023-11-14", "2100-01-01"]);
    }

    #[test]
    fn a_moment_has_hour_and_zone() {
        assert_eq!(moment(1_700_000_000), "2023-11-14 22:13 UTC");
        assert_eq!(moment(-1), "1969-12-31 23:59 UTC");
    }

    #[test]
    fn blocks_keep_their_empty_lines() {
        assert_eq!(tidy("a  \n\n\n\nb\n```x\n\n\nc \n```\n\n\n"), "a\n\nb\n```x\n\n\nc \n```\n");
    }
}
