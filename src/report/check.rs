//! Whether a report still says what was measured and read: what `report --check` finds.
//!
//! Decides from texts and answers that were fetched before. Each finding names the line and what to do.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::claims;
use super::facts::{self, Facts, FactsError};
use super::links::{self, Link};
use super::quote::{self, QuoteError};
use super::sections;

/// What is wrong with a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A stable word.
    pub code: &'static str,
    /// The line of the report, from 1; 0: no line is to blame.
    pub line: usize,
    /// What is wrong, as a sentence without a full stop.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// All codes, with what they mean.
pub const CODES: [(&str, &str); 11] = [
    ("facts-edited", "the facts at the end of the report were edited by hand, or are missing"),
    ("markers", "the markers around a person's section do not pair"),
    ("generated-edited", "something that the program wrote was edited by hand"),
    ("quote-differs", "a quote is not what stands at its commit"),
    ("evidence-missing", "a record of evidence is not there"),
    ("evidence-edited", "a record of evidence was edited, or is another one by now"),
    ("stale", "what was tested is not what stands there today"),
    ("outdated", "the program or a template would write the report differently today"),
    ("broken-link", "a link leads to a file or a section that is not there"),
    ("no-label", "a claim has no label"),
    (
        "wrong-label",
        "a section that a person wrote is labelled as still to be written, or the other way round",
    ),
];

/// What was found out for a report before.
pub struct Answers<'a> {
    /// What is wrong with records, by the names of their files; `None`: nothing.
    pub records: BTreeMap<String, RecordAnswer>,
    /// What is not as it was when it was tested.
    pub stale: Vec<String>,
    /// The report as the program would write it today, without what a person wrote; `None`: it cannot be said.
    pub today: Option<String>,
    /// A quote made again.
    pub quote: &'a dyn Fn(&quote::Place) -> Result<String, QuoteError>,
    /// The text of a file of ours; the inner `None`: it is no text. The outer: it is not there.
    pub file: &'a dyn Fn(&Path) -> Option<Option<String>>,
    /// The command that writes the report again.
    pub again: String,
    /// The command that proves again.
    pub prove: String,
}

/// A record of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordAnswer {
    /// It is there, and what it was.
    Same,
    /// It is not there.
    Missing,
    /// Its own hash does not fit.
    Edited(String),
    /// It is a good record, and another one than it was.
    Other,
}

/// A report and what is wrong with it.
#[must_use]
pub fn check(
    file: &Path,
    report: &[u8],
    facts: &Result<Facts, FactsError>,
    answers: &Answers<'_>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let text = String::from_utf8_lossy(report).replace("\r\n", "\n");
    let again = || format!("write it again: {}", answers.again);
    if let Err(error) = facts {
        let line = line_of(&text, facts::OPEN.lines().next().unwrap_or_default());
        findings.push(Finding { code: "facts-edited", line, message: error.to_string(), hint: again() });
    }
    match sections::emptied(text.as_bytes()) {
        Err(error) => findings.push(Finding {
            code: "markers",
            line: error.line(),
            message: error.to_string(),
            hint: "correct the marker; nothing is written until then".to_owned(),
        }),
        Ok(written) => findings.extend(edited(&text, &written, facts.as_ref().ok(), answers)),
    }
    findings.extend(quotes(&text, answers));
    for (name, answer) in &answers.records {
        findings.extend(record(&text, name, answer, answers));
    }
    findings.extend(answers.stale.iter().map(|what| Finding {
        code: "stale",
        line: 0,
        message: what.clone(),
        hint: format!("prove it again: {}; then {}", answers.prove, answers.again),
    }));
    // The facts at the end have text of others, and no links.
    let written = text.rsplit_once(facts::OPEN).map_or(text.as_str(), |(written, _)| written);
    for link in links::links(written) {
        findings.extend(broken(file, &text, &link, answers));
    }
    findings.extend(claims::unlabelled(&text).into_iter().map(|claim| {
        Finding {
        code: "no-label",
        line: claim.line,
        message: format!("`{}` has no label", crate::escape::for_terminal(&claim.text)),
        hint: "end it with [inferred by a person], [run], [not run], [measured on DEVICE] or [read at COMMIT]"
            .to_owned(),
    }
    }));
    // Markers that do not pair were told above.
    let mislabelled = sections::mislabelled(text.as_bytes()).unwrap_or_default();
    findings.extend(mislabelled.into_iter().map(|wrong| {
        let (is, should) = match wrong.is_written {
            true => ("is written, and labelled as still to be written", sections::INFERRED),
            false => ("is still to be written, and labelled as a person's words", sections::TO_WRITE),
        };
        Finding {
            code: "wrong-label",
            line: wrong.line,
            message: format!("section `{}` {is}", crate::escape::for_terminal(&wrong.name)),
            hint: format!("label it {should}, or {}", again()),
        }
    }));
    findings.sort_by_key(|finding| finding.line);
    findings
}

/// The hash over what the program wrote: the report without a person's sections and without the facts.
#[must_use]
pub fn written_hash(emptied: &[u8]) -> String {
    let text = sections::without_kind(&String::from_utf8_lossy(emptied).replace("\r\n", "\n"));
    let body = text.rsplit_once(facts::OPEN).map_or(text.as_str(), |(body, _)| body);
    crate::canonical_json::sha256_hex(body.trim_end().as_bytes())
}

/// What the program wrote and what stands there.
fn edited(text: &str, written: &[u8], facts: Option<&Facts>, answers: &Answers<'_>) -> Vec<Finding> {
    let by_hand = facts.is_none_or(|facts| facts.written != written_hash(written));
    let Some(today) = &answers.today else {
        return match (by_hand, facts) {
            (true, Some(_)) => vec![Finding {
                code: "generated-edited",
                line: 0,
                message: "something outside of the marked sections was edited by hand".to_owned(),
                hint: "write what is yours between the markers of a section, or write the report again"
                    .to_owned(),
            }],
            _ => Vec::new(),
        };
    };
    let (now, then) = (sections::without_kind(text), sections::without_kind(today));
    let (now, then) = (body(&now), body(&then));
    let difference = first_difference(&now, &then);
    let Some((line, is, should)) = difference else { return Vec::new() };
    let shown = |text: Option<&str>| match text {
        Some(text) => format!("`{}`", crate::escape::for_terminal(text.chars().take(80).collect::<String>())),
        None => "nothing".to_owned(),
    };
    let (is, should) = (shown(is), shown(should));
    vec![if by_hand {
        Finding {
            code: "generated-edited",
            line,
            message: format!("{is} was edited by hand; the evidence gives {should}"),
            hint: format!("write it again: {}", answers.again),
        }
    } else {
        Finding {
            code: "outdated",
            line,
            message: format!("{is} would be {should} today"),
            hint: format!("write it again: {}", answers.again),
        }
    }]
}

/// The lines that the program wrote, with their numbers.
fn body(text: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
    let mut person = false;
    for (number, line) in text.lines().enumerate() {
        if line == facts::OPEN.trim_end() {
            break;
        }
        if line.starts_with("<!-- end of person: ") {
            person = false;
        }
        if !person {
            lines.push((number + 1, line));
        }
        if line.starts_with("<!-- person: ") {
            person = true;
        }
    }
    while lines.last().is_some_and(|(_, line)| line.is_empty()) {
        lines.pop();
    }
    lines
}

type Difference<'t> = (usize, Option<&'t str>, Option<&'t str>);

fn first_difference<'t>(now: &[(usize, &'t str)], then: &[(usize, &'t str)]) -> Option<Difference<'t>> {
    let count = now.len().max(then.len());
    (0..count).find_map(|at| {
        let (is, should) = (now.get(at), then.get(at));
        if is.map(|(_, line)| line) == should.map(|(_, line)| line) {
            return None;
        }
        let line = is.or(now.last()).map_or(0, |(number, _)| *number);
        Some((line, is.map(|(_, line)| *line), should.map(|(_, line)| *line)))
    })
}

fn quotes(text: &str, answers: &Answers<'_>) -> Vec<Finding> {
    let finding = |line: usize, message: String| Finding {
        code: "quote-differs",
        line,
        message,
        hint: format!("make it again: overlaid report --quote PATH:LINES --at COMMIT; or {}", answers.again),
    };
    let mut findings = Vec::new();
    for found in quote::find(text) {
        let (Some(place), Some(stands)) = (&found.place, &found.text) else {
            findings
                .push(finding(found.line, "a quote does not end, or does not say what it quotes".to_owned()));
            continue;
        };
        match (answers.quote)(place) {
            Err(error) => findings.push(finding(found.line, error.to_string())),
            Ok(made) => {
                let lines = made.lines().zip(stands.lines()).position(|(a, b)| a != b);
                let longer = made.lines().count() != stands.lines().count();
                if let Some(at) = lines.or(longer.then(|| made.lines().count().min(stands.lines().count()))) {
                    let line = found.line + at;
                    let is = stands.lines().nth(at).unwrap_or_default();
                    let message = format!(
                        "the quote of `{}` has `{}`, and the commit has `{}`",
                        crate::escape::for_terminal(place.path.as_bytes()),
                        crate::escape::for_terminal(is),
                        crate::escape::for_terminal(made.lines().nth(at).unwrap_or_default()),
                    );
                    findings.push(finding(line, message));
                }
            }
        }
    }
    findings
}

fn record(text: &str, name: &str, answer: &RecordAnswer, answers: &Answers<'_>) -> Option<Finding> {
    let line = line_of(text, name);
    let prove = format!("prove it again: {}; then {}", answers.prove, answers.again);
    let (code, message) = match answer {
        RecordAnswer::Same => return None,
        RecordAnswer::Missing => ("evidence-missing", format!("the record `{name}` is not there")),
        RecordAnswer::Edited(why) => {
            ("evidence-edited", format!("the record `{name}` cannot be used: {why}"))
        }
        RecordAnswer::Other => {
            let message = format!("the record `{name}` is another one than the report was made from");
            let hint = format!("write it again: {}", answers.again);
            return Some(Finding { code: "evidence-edited", line, message, hint });
        }
    };
    Some(Finding { code, line, message, hint: format!("take it from git; or {prove}") })
}

fn broken(file: &Path, text: &str, link: &Link, answers: &Answers<'_>) -> Option<Finding> {
    let finding = |message: String| {
        let hint = "correct the link, or put the file there".to_owned();
        Some(Finding { code: "broken-link", line: link.line, message, hint })
    };
    let shown = crate::escape::for_terminal(&link.file);
    let Some(target) = links::target(file, link) else {
        return finding(format!("the link `{shown}` leads out of the repository"));
    };
    let content: Option<Option<String>> = match target == file {
        true => Some(Some(text.to_owned())),
        false => (answers.file)(&target),
    };
    match (content, &link.anchor) {
        (None, _) => finding(format!("the link `{shown}` leads to no file: `{}`", display(&target))),
        (Some(Some(content)), Some(anchor)) if !links::anchors(&content).contains(anchor) => finding(
            format!("`{}` has no section `#{}`", display(&target), crate::escape::for_terminal(anchor)),
        ),
        _ => None,
    }
}

fn display(path: &Path) -> String {
    crate::escape::for_terminal(path.display().to_string())
}

fn line_of(text: &str, what: &str) -> usize {
    text.lines().position(|line| line.contains(what)).map_or(0, |at| at + 1)
}
