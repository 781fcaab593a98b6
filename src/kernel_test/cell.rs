//! One case on one variant: its name, its figure, its outcome.
//!
//! Decides when a figure passes. Never lets a figure pass that is not a finite number inside a bound.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::canonical_json;

/// The name of a case: the canonical JSON of its object, JUnit's `classname.name`, or a pseudo-case
/// (`build`, `run`, `sanitizer:<tool>`). Equal names, same case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct CaseKey(String);

impl CaseKey {
    /// The case that a JSON object names: `{"rows": 1, "axis": 512}` and `{"axis":512,"rows":1}` are one.
    #[must_use]
    pub fn from_object(object: &Map<String, Value>) -> Self {
        Self(canonical_json::render(&Value::Object(object.clone())))
    }

    /// The case that JUnit names. `classname` may be empty.
    #[must_use]
    pub fn from_junit(classname: &str, name: &str) -> Self {
        let key = if classname.is_empty() { name.to_owned() } else { format!("{classname}.{name}") };
        // A test of theirs that is called `run` is not our pseudo-case.
        let key = Self(key);
        if key.is_pseudo() || key.0.starts_with('{') { Self(format!(".{}", key.0)) } else { key }
    }

    /// The pseudo-case of building the test: it fails where only the other side builds.
    #[must_use]
    pub fn build() -> Self {
        Self("build".to_owned())
    }

    /// The pseudo-case of running at all: a test that is judged by its exit code has no other one; for the
    /// other formats it passes once the test has reported something that could be read.
    #[must_use]
    pub fn run() -> Self {
        Self("run".to_owned())
    }

    /// The pseudo-case of a run under a sanitizer: it fails if the tool finds anything.
    #[must_use]
    pub fn sanitizer(tool: &str) -> Self {
        Self(format!("sanitizer:{tool}"))
    }

    /// Whether the case stands for building, running or a sanitizer, not for something the test announced.
    #[must_use]
    pub fn is_pseudo(&self) -> bool {
        self.0 == "build" || self.0 == "run" || self.0.starts_with("sanitizer:")
    }

    /// The name as text. It comes from a test: escape before showing.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The case's object, if the name is one.
    #[must_use]
    pub fn object(&self) -> Option<Map<String, Value>> {
        match canonical_json::parse(&self.0) {
            Ok(Value::Object(map)) => Some(map),
            _ => None,
        }
    }
}

impl fmt::Display for CaseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What a case came to in one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum CellOutcome {
    /// Its figure is a finite number inside its bound, or the test says that it passed.
    Pass,
    /// It did not do what it must.
    Fail {
        /// In which way.
        how: FailHow,
    },
    /// A figure of speed: neither pass nor fail, compared with the other side's.
    Measured,
    /// The test chose not to run it here.
    Skip {
        /// What the test said.
        why: String,
    },
    /// It was not reached: the build failed, or the process ended before it.
    Unrun {
        /// What came before.
        why: String,
    },
    /// It ran, or may have run, and what came of it could not be found out. Never a pass, never a failure.
    Unknown {
        /// What is in the way.
        why: Unknown,
    },
}

/// In which way a case fails. Silent: the caller gets a wrong figure and does not notice. Loud: the caller notices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "how")]
pub enum FailHow {
    /// Silent: the figure is outside its bound.
    WrongFigure,
    /// Silent: NaN, an infinity or null where a figure should be.
    NotFinite,
    /// Silent: right with one content of the memory it starts from and wrong with another.
    HistoryDependent {
        /// Which fills passed and which failed.
        text: String,
    },
    /// Silent: the test's own check failed (JUnit `failure`).
    Assertion {
        /// What the test said.
        text: String,
    },
    /// Loud: the case reported an error or a refusal instead of a figure.
    Error {
        /// What the test said.
        text: String,
    },
    /// Loud: the process died of this signal (SIGSEGV, SIGABRT, ...) while it ran the case.
    Crash {
        /// The signal's number.
        signal: i32,
    },
    /// Loud: the process ended with this status while it ran the case.
    Died {
        /// The exit status.
        status: i32,
    },
    /// Loud: it runs into the timeout, where the other side ends soon.
    Hang,
    /// Loud: it does not build, where the other side does.
    Build {
        /// The first error of the compiler or the linker.
        text: String,
    },
    /// Loud: a sanitizer found something.
    Sanitizer {
        /// Its first finding.
        text: String,
    },
    /// Neither is known: an exit status other than 0, and nothing else to go by.
    Status {
        /// The exit status.
        status: i32,
    },
}

/// Whether a failing case is noticed where it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// A wrong figure.
    Silent,
    /// A crash, an error, a refusal.
    Loud,
    /// Not known.
    Unspecified,
}

impl FailHow {
    /// Whether the failure is noticed where it happens.
    #[must_use]
    pub fn manner(&self) -> Manner {
        match self {
            FailHow::WrongFigure
            | FailHow::NotFinite
            | FailHow::HistoryDependent { .. }
            | FailHow::Assertion { .. } => Manner::Silent,
            FailHow::Error { .. }
            | FailHow::Crash { .. }
            | FailHow::Died { .. }
            | FailHow::Hang
            | FailHow::Build { .. }
            | FailHow::Sanitizer { .. } => Manner::Loud,
            FailHow::Status { .. } => Manner::Unspecified,
        }
    }
}

impl fmt::Display for FailHow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailHow::WrongFigure => f.write_str("a figure outside its bound"),
            FailHow::NotFinite => f.write_str("no finite figure"),
            FailHow::HistoryDependent { text } => {
                write!(f, "depends on what memory held before ({text})")
            }
            FailHow::Assertion { text } => write!(f, "check failed: {text}"),
            FailHow::Error { text } => write!(f, "error: {text}"),
            FailHow::Crash { signal } => write!(f, "crash (signal {signal})"),
            FailHow::Died { status } => write!(f, "the process ended with status {status} in this case"),
            FailHow::Hang => f.write_str("hangs"),
            FailHow::Build { text } => write!(f, "does not build: {text}"),
            FailHow::Sanitizer { text } => write!(f, "sanitizer: {text}"),
            FailHow::Status { status } => write!(f, "exit status {status}"),
        }
    }
}

/// Why the outcome of a case is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum Unknown {
    /// The run was ended at its timeout while it ran the case. Only the other side can tell whether it hangs.
    Timeout,
    /// Something other than the program ended it: SIGKILL, SIGTERM, an interrupt, or it could not be started.
    Killed {
        /// What happened.
        text: String,
    },
    /// Announced, no result, and the process ended with status 0.
    NoResult,
    /// The process crashed with several cases announced, and any of them may be the one.
    OneOfSeveral {
        /// How the process ended.
        text: String,
    },
    /// The test ran and reported nothing at all.
    NothingReported,
    /// Two results for one case in one run, and they disagree.
    Contradictory,
    /// Something was reported that could not be read.
    Protocol {
        /// Which line, and what is wrong with it.
        text: String,
    },
    /// The tool that it needs is not here.
    Missing {
        /// What is missing.
        text: String,
    },
    /// The device that it needs is not here. Whatever it came to without one is no figure of it.
    NoDevice {
        /// Why there is none.
        text: String,
    },
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unknown::Timeout => f.write_str("timeout"),
            Unknown::Killed { text } | Unknown::Missing { text } | Unknown::NoDevice { text } => {
                f.write_str(text)
            }
            Unknown::NoResult => {
                f.write_str("announced, and the process ended with status 0 without its result")
            }
            Unknown::OneOfSeveral { text } => {
                write!(f, "one of several announced cases, and the process {text}")
            }
            Unknown::NothingReported => f.write_str("the test reported nothing"),
            Unknown::Contradictory => f.write_str("two results that disagree"),
            Unknown::Protocol { text } => write!(f, "unreadable result: {text}"),
        }
    }
}

/// In which direction a figure of speed is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// A time.
    Lower,
    /// A rate.
    Higher,
}

/// The figure that a case reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Figure {
    /// What it measures; the test's word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub metric: String,
    /// The value; `None`: NaN, an infinity or null.
    pub value: Option<f64>,
    /// The largest value that passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// The smallest value that passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// For a figure of speed: in which direction it is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
}

impl Figure {
    /// What the figure means for the case; `None` if it has neither a bound nor a direction, so that nothing
    /// can be said.
    #[must_use]
    pub fn outcome(&self) -> Option<CellOutcome> {
        let bounded = self.max.is_some() || self.min.is_some();
        if !bounded && self.better.is_none() {
            return None;
        }
        let Some(value) = self.value.filter(|value| value.is_finite()) else {
            return Some(CellOutcome::Fail { how: FailHow::NotFinite });
        };
        if !bounded {
            return Some(CellOutcome::Measured);
        }
        let inside = self.max.is_none_or(|max| value <= max) && self.min.is_none_or(|min| value >= min);
        Some(if inside { CellOutcome::Pass } else { CellOutcome::Fail { how: FailHow::WrongFigure } })
    }
}

/// One (variant, test, case) result of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Which case.
    pub case: CaseKey,
    /// What it came to.
    pub outcome: CellOutcome,
    /// Its figure, if it has one; of several fills the worst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<Figure>,
    /// It needs no device: only compiling is tested.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compile_only: bool,
    /// How long the process that reported it ran, in milliseconds.
    pub millis: u64,
}

impl Cell {
    /// A cell without a figure.
    #[must_use]
    pub fn new(case: CaseKey, outcome: CellOutcome, millis: u64) -> Self {
        Self { case, outcome, figure: None, compile_only: false, millis }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, max: Option<f64>, min: Option<f64>) -> Figure {
        Figure { metric: "rel_err".into(), value: Some(value), max, min, better: None }
    }

    #[test]
    fn a_figure_passes_only_as_a_finite_number_inside_its_bounds() {
        let fail = |how| Some(CellOutcome::Fail { how });
        assert_eq!(figure(0.01, Some(0.01), None).outcome(), Some(CellOutcome::Pass));
        assert_eq!(figure(0.02, Some(0.01), None).outcome(), fail(FailHow::WrongFigure));
        assert_eq!(figure(40.0, None, Some(30.0)).outcome(), Some(CellOutcome::Pass));
        assert_eq!(figure(20.0, None, Some(30.0)).outcome(), fail(FailHow::WrongFigure));
        assert_eq!(figure(5.0, Some(9.0), Some(6.0)).outcome(), fail(FailHow::WrongFigure));
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(figure(odd, Some(f64::INFINITY), None).outcome(), fail(FailHow::NotFinite));
            assert_eq!(figure(odd, None, Some(0.0)).outcome(), fail(FailHow::NotFinite));
        }
        assert_eq!(figure(0.0, None, None).outcome(), None);
        let null = Figure { value: None, ..figure(0.0, Some(1.0), None) };
        assert_eq!(null.outcome(), fail(FailHow::NotFinite));
    }

    #[test]
    fn a_figure_of_speed_is_measured_unless_it_has_a_bound() {
        let speed = Figure { better: Some(Better::Lower), ..figure(3.0, None, None) };
        assert_eq!(speed.outcome(), Some(CellOutcome::Measured));
        let bounded = Figure { max: Some(2.0), ..speed.clone() };
        assert_eq!(bounded.outcome(), Some(CellOutcome::Fail { how: FailHow::WrongFigure }));
        let none = Figure { value: None, ..speed };
        assert_eq!(none.outcome(), Some(CellOutcome::Fail { how: FailHow::NotFinite }));
    }

    #[test]
    fn a_case_is_named_by_its_object_whatever_the_order_of_its_keys() {
        let key = |text| CaseKey::from_object(canonical_json::parse(text).unwrap().as_object().unwrap());
        assert_eq!(key(r#"{"rows": 1, "axis": 512}"#), key(r#"{"axis":512,"rows":1}"#));
        assert_ne!(key(r#"{"axis": 512}"#), key(r#"{"axis": "512"}"#));
        assert_eq!(key(r#"{"b":1,"a":2}"#).object().unwrap().len(), 2);
        assert!(CaseKey::sanitizer("memcheck").is_pseudo() && CaseKey::build().is_pseudo());
        assert!(!CaseKey::from_junit("Norm", "run").is_pseudo());
        assert_eq!(CaseKey::from_junit("", "solo").as_str(), "solo");
        assert!(!CaseKey::from_junit("", "run").is_pseudo());
        assert!(CaseKey::from_junit("", "{}").object().is_none());
    }
}
