//! JSON Lines, the protocol of kernel tests: one object a line.
//!
//! ```text
//! {"case": {"axis": 512, "rows": 1}, "status": "start"}
//! {"case": {"axis": 512, "rows": 1}, "metric": "rel_err", "value": 0.94, "max": 0.01}
//! ```
//!
//! Decides which lines belong to the protocol and what they say. Never drops a line of the protocol that it
//! cannot read: the run then has a problem, and its pseudo-case `run` is unknown.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::cell::{Better, CaseKey, Cell, CellOutcome, FailHow, Figure, Unknown};
use super::run::{Blame, End, Problem, Process, Run, cut_short, with_results, without_results};
use crate::canonical_json;

/// Where the lines were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The file of `OVERLAID_RESULTS`: every line is of the protocol.
    ResultsFile,
    /// Standard output: lines that do not look like the protocol are somebody else's.
    Stdout,
}

/// Reads what one process of a test wrote.
#[must_use]
pub fn parse(seed: u64, output: &[u8], source: Source, process: Process) -> Run {
    let mut reading = Reading::default();
    reading.read(output, source, &process);
    reading.finish(seed, process)
}

/// Reads what one process of a test wrote into its results file and to standard output: both count. What stands
/// in both is one result.
#[must_use]
pub fn parse_both(seed: u64, file: &[u8], stdout: &[u8], process: Process) -> Run {
    let mut reading = Reading::default();
    reading.read(file, Source::ResultsFile, &process);
    reading.is_second = true;
    reading.read(stdout, Source::Stdout, &process);
    reading.finish(seed, process)
}

impl Reading {
    fn read(&mut self, output: &[u8], source: Source, process: &Process) {
        let lines: Vec<&[u8]> = output.split(|&byte| byte == b'\n').collect();
        for (index, line) in lines.iter().enumerate() {
            let last_and_cut = index + 1 == lines.len() && !line.is_empty();
            match read_line(line, source) {
                Ok(None) => {}
                Ok(Some(message)) => self.take(message),
                // A process that died may have died in the middle of a line.
                Err(text) if last_and_cut && process.end != (End::Exit { status: 0 }) => {
                    self.notes.push(format!("line {}, the last, is cut short: {text}", index + 1));
                }
                Err(text) => self.problems.push(Problem { line: index + 1, text }),
            }
        }
    }
}

/// A line of the protocol.
struct Message {
    case: CaseKey,
    compile_only: bool,
    says: Says,
}

enum Says {
    Start,
    Skip(String),
    Error(String),
    Figure { figure: Figure, outcome: CellOutcome, fill: Option<String> },
}

fn read_line(line: &[u8], source: Source) -> Result<Option<Message>, String> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    let strict = source == Source::ResultsFile;
    let Ok(text) = std::str::from_utf8(line) else {
        return if strict || contains(line, b"\"case\"") { Err("not UTF-8".to_owned()) } else { Ok(None) };
    };
    if !text.starts_with('{') {
        // Text without a line end before a result would hide the result.
        return if strict {
            Err("not a JSON object".to_owned())
        } else if text.contains('{') && has_case_key(text) {
            Err("a result that does not start its line".to_owned())
        } else {
            Ok(None)
        };
    }
    match canonical_json::parse(&quote_bare_numbers(text)) {
        Ok(Value::Object(object)) if object.contains_key("case") => read_message(&object).map(Some),
        Ok(_) if strict => Err("an object without `case`".to_owned()),
        Err(error) if strict || text.contains("\"case\"") => Err(format!("not JSON: {error}")),
        _ => Ok(None),
    }
}

/// Whether a text has `"case":` in it.
fn has_case_key(text: &str) -> bool {
    text.split("\"case\"").skip(1).any(|rest| rest.trim_start().starts_with(':'))
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

fn read_message(object: &Map<String, Value>) -> Result<Message, String> {
    let case = match object.get("case") {
        Some(Value::Object(case)) if !case.is_empty() => CaseKey::from_object(case),
        _ => return Err("`case` must be an object that is not empty".to_owned()),
    };
    let compile_only = match object.get("needs") {
        None => false,
        Some(Value::String(needs)) if needs == "compile" => true,
        Some(Value::String(needs)) if needs == "device" => false,
        Some(other) => return Err(format!("`needs` is {other}; it can be \"compile\" or \"device\"")),
    };
    let why = || match object.get("why") {
        Some(Value::String(why)) => why.clone(),
        Some(other) => other.to_string(),
        None => "the test does not say why".to_owned(),
    };
    let has_figure = ["value", "max", "min", "better"].iter().any(|key| object.contains_key(*key));
    let says = match object.get("status") {
        None => read_figure(object)?,
        Some(status) => {
            let says = match status.as_str() {
                Some("start") => Says::Start,
                Some("skip") => Says::Skip(why()),
                Some("error") => Says::Error(why()),
                _ => {
                    return Err(format!(
                        "`status` is {status}; it can be \"start\", \"skip\" or \"error\", and is left out \
                         where there is a figure"
                    ));
                }
            };
            if has_figure && !matches!(says, Says::Start) {
                return Err(format!("both a figure and `status` {status}"));
            }
            says
        }
    };
    Ok(Message { case, compile_only, says })
}

fn read_figure(object: &Map<String, Value>) -> Result<Says, String> {
    let bound = |key: &str| match object.get(key) {
        None => Ok(None),
        Some(value) => match value.as_f64() {
            Some(bound) if bound.is_finite() => Ok(Some(bound)),
            _ => Err(format!("`{key}` is {value}; it must be a finite number")),
        },
    };
    let value = match object.get("value") {
        None => return Err("no `value` and no `status`".to_owned()),
        Some(Value::Null) => None,
        Some(Value::String(text)) if is_bare_number(text) => None,
        Some(value) => match value.as_f64() {
            Some(value) => Some(value).filter(|value| value.is_finite()),
            None => return Err(format!("`value` is {value}; it must be a number")),
        },
    };
    let better = match object.get("better").map(|better| (better, better.as_str())) {
        None => None,
        Some((_, Some("lower"))) => Some(Better::Lower),
        Some((_, Some("higher"))) => Some(Better::Higher),
        Some((other, _)) => {
            return Err(format!("`better` is {other}; it can be \"lower\" or \"higher\""));
        }
    };
    let metric = match object.get("metric") {
        None => String::new(),
        Some(Value::String(metric)) => metric.clone(),
        Some(other) => return Err(format!("`metric` is {other}; it must be a string")),
    };
    let figure = Figure { metric, value, max: bound("max")?, min: bound("min")?, better };
    let fill = object.get("fill").map(canonical_json::render);
    match figure.outcome() {
        Some(outcome) => Ok(Says::Figure { figure, outcome, fill }),
        None => Err("a figure without `max`, `min` or `better`: nothing says when it passes".to_owned()),
    }
}

/// What C's `printf` and Python write for a figure that is no number: `nan`, `-nan`, `inf`, `NaN`, `Infinity`.
fn is_bare_number(text: &str) -> bool {
    let text = text.trim_start_matches(['-', '+']).to_ascii_lowercase();
    matches!(text.as_str(), "nan" | "inf" | "infinity") || (text.starts_with("nan(") && text.ends_with(')'))
}

/// Puts quotes around bare `nan` and `inf`, which JSON does not have and tests print all the same.
fn quote_bare_numbers(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut in_string = false;
    let mut escaped = false;
    let mut skip_to = 0;
    for (index, c) in text.char_indices() {
        if index < skip_to {
            continue;
        }
        if in_string {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
        } else if c == '"' {
            in_string = true;
        } else if c.is_ascii_alphabetic() || c == '-' || c == '+' {
            let end = text[index..]
                .find(|c: char| !(c.is_ascii_alphanumeric() || "+-._()".contains(c)))
                .map_or(text.len(), |length| index + length);
            let word = &text[index..end];
            if is_bare_number(word) {
                out.push_str(&text[copied..index]);
                out.push('"');
                out.push_str(word);
                out.push('"');
                copied = end;
            }
            skip_to = end;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// What was read so far.
#[derive(Default)]
struct Reading {
    /// In the order of their first mention.
    slots: Vec<Slot>,
    /// Where a case is in `slots`.
    index: std::collections::HashMap<CaseKey, usize>,
    problems: Vec<Problem>,
    notes: Vec<String>,
    announces: bool,
    /// A second place is read, which may repeat what stood in the first.
    is_second: bool,
}

/// One case.
struct Slot {
    case: CaseKey,
    compile_only: bool,
    /// Announced, and not done yet.
    open: bool,
    results: Vec<Reported>,
}

/// One result of a case: there is one, or one for each fill of memory.
struct Reported {
    outcome: CellOutcome,
    figure: Option<Figure>,
    fill: Option<String>,
}

impl Reading {
    fn take(&mut self, message: Message) {
        if self.is_second && self.has(&message) {
            return;
        }
        let next = self.slots.len();
        let at = *self.index.entry(message.case.clone()).or_insert(next);
        if at == next {
            let Message { case, compile_only, .. } = &message;
            let (case, compile_only) = (case.clone(), *compile_only);
            self.slots.push(Slot { case, compile_only, open: false, results: Vec::new() });
        }
        if matches!(message.says, Says::Start) {
            self.announces = true;
            // A case with a result for each fill is done when the next one starts.
            for slot in self.slots.iter_mut().filter(|slot| !slot.results.is_empty()) {
                slot.open = false;
            }
        }
        let Some(slot) = self.slots.get_mut(at) else { return };
        slot.compile_only |= message.compile_only;
        let (outcome, figure, fill) = match message.says {
            Says::Start => {
                slot.open = true;
                return;
            }
            Says::Skip(why) => (CellOutcome::Skip { why }, None, None),
            Says::Error(text) => (CellOutcome::Fail { how: FailHow::Error { text } }, None, None),
            Says::Figure { figure, outcome, fill } => (outcome, Some(figure), fill),
        };
        slot.open &= fill.is_some();
        slot.results.push(Reported { outcome, figure, fill });
    }

    /// Whether a message says what is known.
    fn has(&self, message: &Message) -> bool {
        let Some(slot) = self.index.get(&message.case).and_then(|at| self.slots.get(*at)) else {
            return false;
        };
        match &message.says {
            Says::Start => true,
            Says::Skip(_) => slot.results.iter().any(|known| matches!(known.outcome, CellOutcome::Skip { .. })),
            Says::Error(text) => slot.results.iter().any(
                |known| matches!(&known.outcome, CellOutcome::Fail { how: FailHow::Error { text: other } } if other == text),
            ),
            Says::Figure { figure, outcome, fill } => slot.results.iter().any(|known| {
                known.outcome == *outcome && known.figure.as_ref() == Some(figure) && known.fill == *fill
            }),
        }
    }

    fn finish(self, seed: u64, process: Process) -> Run {
        let Reading { slots, problems, mut notes, announces, .. } = self;
        let Process { ref end, millis } = process;
        let clean = matches!(end, End::Exit { status: 0 });
        let open = slots.iter().filter(|slot| slot.is_cut_short(clean)).count();
        let mut cells = Vec::with_capacity(slots.len() + 1);
        for slot in slots {
            if slot.results.len() > 1 && slot.results.iter().any(|result| result.fill.is_none()) {
                notes.push(format!("{} has several results in one run", slot.case));
            }
            let outcome = slot.is_cut_short(clean).then(|| open_outcome(end, open));
            cells.push(slot.into_cell(outcome, millis));
        }
        let run = if cells.is_empty() && problems.is_empty() {
            without_results(end)
        } else if open > 0 && problems.is_empty() {
            cut_short(end)
        } else {
            with_results(end, announces, &problems)
        };
        // A status other than 0 after a case that failed is what test programs do.
        let fails = |cell: &Cell| matches!(cell.outcome, CellOutcome::Fail { .. });
        let is_usual = matches!(end, End::Exit { status } if *status <= 128) && cells.iter().any(fails);
        if open == 0 && !clean && !is_usual && !cells.is_empty() {
            let how = end.text();
            notes.push(format!("the process {how} after its results; the results are what counts"));
        }
        cells.push(Cell::new(CaseKey::run(), run, millis));
        Run { seed, processes: vec![process], cells, problems, notes }
    }
}

/// The outcome of a case that was announced and has no result.
fn open_outcome(end: &End, open: usize) -> CellOutcome {
    match end.blame() {
        Blame::Nobody(why @ (Unknown::NoResult | Unknown::Killed { .. } | Unknown::Missing { .. })) => {
            CellOutcome::Unknown { why }
        }
        _ if open > 1 => CellOutcome::Unknown { why: Unknown::OneOfSeveral { text: end.text() } },
        Blame::Case(how) => CellOutcome::Fail { how },
        Blame::Nobody(why) => CellOutcome::Unknown { why },
    }
}

impl Slot {
    /// Whether the process ended while it ran the case. `clean`: it ended with status 0, so that a case with
    /// a result for each fill is done.
    fn is_cut_short(&self, clean: bool) -> bool {
        self.open && (self.results.is_empty() || !clean)
    }

    fn into_cell(self, ended: Option<CellOutcome>, millis: u64) -> Cell {
        let Slot { case, compile_only, mut results, .. } = self;
        let outcome = match ended {
            None => pooled(&results),
            Some(outcome) if results.is_empty() || results.iter().all(|r| r.fill.is_some()) => outcome,
            // It had its result, was announced again, and then the process ended.
            Some(_) => CellOutcome::Unknown { why: Unknown::Contradictory },
        };
        results.sort_by(|a, b| badness(b).total_cmp(&badness(a)));
        let figure = results.into_iter().find_map(|result| result.figure);
        Cell { case, outcome, figure, compile_only, millis }
    }
}

/// The outcome that all results of one case have together.
fn pooled(results: &[Reported]) -> CellOutcome {
    let contradictory = CellOutcome::Unknown { why: Unknown::Contradictory };
    let Some(first) = results.first() else { return contradictory };
    if results.iter().all(|result| result.outcome == first.outcome) {
        return first.outcome.clone();
    }
    let fills: std::collections::BTreeSet<_> = results.iter().filter_map(|r| r.fill.as_ref()).collect();
    if fills.len() != results.len() {
        return contradictory;
    }
    // One result for each fill, and they differ.
    let of = |wanted: bool| {
        let names = results.iter().filter(|r| (r.outcome == CellOutcome::Pass) == wanted);
        names.filter_map(|r| r.fill.clone()).collect::<Vec<_>>().join(", ")
    };
    let failing: Vec<_> = results.iter().filter(|r| r.outcome != CellOutcome::Pass).collect();
    match failing.iter().find(|r| !matches!(r.outcome, CellOutcome::Fail { .. })) {
        Some(_) => contradictory,
        None if failing.len() == results.len() => failing[0].outcome.clone(),
        None => {
            let text = format!("passes with {}, fails with {}", of(true), of(false));
            CellOutcome::Fail { how: FailHow::HistoryDependent { text } }
        }
    }
}

/// How bad a result looks, to show the worst figure of a case.
fn badness(result: &Reported) -> f64 {
    let Some(figure) = &result.figure else { return f64::NEG_INFINITY };
    let Some(value) = figure.value else { return f64::INFINITY };
    match (figure.max, figure.min) {
        (None, Some(min)) => min - value,
        (Some(max), _) => value - max,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests;
