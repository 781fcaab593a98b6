//! Failures of a command, and the exit codes that scripts rely on.
//!
//! A failure is "could not find out" or "was not told right". An answer, also an unwelcome one, is an
//! [`Answer`].

use std::collections::BTreeSet;

use crate::diagnostic::Diagnostic;
use crate::escape::for_terminal;
use crate::overlay::{Resolution, Unwanted};

/// What a command found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// Done, and the answer is yes.
    Yes,
    /// Done, and the answer is no.
    No,
    /// A person must decide.
    NeedsPerson,
    /// It could not be found out.
    Unknown,
}

impl Answer {
    /// The exit code of the process.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Answer::Yes => 0,
            Answer::No => 1,
            Answer::NeedsPerson => 3,
            Answer::Unknown => 4,
        }
    }

    /// The exit code of the process for `git bisect run`: good, bad, or passed over.
    #[must_use]
    pub fn exit_code_for_bisect(self) -> u8 {
        match self {
            Answer::Yes => 0,
            Answer::No => 1,
            Answer::NeedsPerson | Answer::Unknown => 125,
        }
    }

    /// The answer that an exit code stands for.
    #[must_use]
    pub fn from_exit_code(code: u8) -> Self {
        match code {
            0 => Answer::Yes,
            1 => Answer::No,
            3 => Answer::NeedsPerson,
            _ => Answer::Unknown,
        }
    }
}

/// What kind of failure it is; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// Arguments or manifest are not right: exit 2.
    Input,
    /// A person must decide: exit 3.
    NeedsPerson,
    /// Files, git, tools or devices: exit 4.
    Environment,
    /// Something that cannot be: exit 70.
    Bug,
}

impl FailureKind {
    /// The exit code of the process.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            FailureKind::Input => 2,
            FailureKind::NeedsPerson => 3,
            FailureKind::Environment => 4,
            FailureKind::Bug => 70,
        }
    }

    /// The exit code of the process for `git bisect run`: what may be another commit's fault is passed over, all else
    /// ends the search.
    #[must_use]
    pub fn exit_code_for_bisect(self) -> u8 {
        match self {
            FailureKind::NeedsPerson => 125,
            FailureKind::Input | FailureKind::Environment | FailureKind::Bug => 255,
        }
    }
}

/// Why a command could not answer.
#[derive(Debug)]
pub struct Failure {
    /// The kind.
    pub kind: FailureKind,
    /// A lower-case fragment that names overlay, path, commit. Empty if diagnostics say it all.
    pub message: String,
    /// What it came from, outermost first.
    pub causes: Vec<String>,
    /// What to do.
    pub hint: Option<String>,
    /// Problems with a place in a file.
    pub diagnostics: Vec<Diagnostic>,
}

impl Failure {
    /// A failure with a message.
    #[must_use]
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), causes: Vec::new(), hint: None, diagnostics: Vec::new() }
    }

    /// Arguments or manifest are not right.
    #[must_use]
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Input, message)
    }

    /// Files, git, tools or devices are in the way.
    #[must_use]
    pub fn environment(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Environment, message)
    }

    /// Problems with a place in a file.
    #[must_use]
    pub fn diagnostics(diagnostics: Vec<Diagnostic>) -> Self {
        Self { diagnostics, ..Self::new(FailureKind::Input, String::new()) }
    }

    /// An overlay that no manifest has.
    #[must_use]
    pub fn unknown_overlay(name: &str, known: &BTreeSet<String>) -> Self {
        let failure = Self::input(format!("there is no overlay `{}`", for_terminal(name)));
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        failure.with_hint(format!("there are: {}", known.join(", ")))
    }

    /// Overlays that do not fit on the commit.
    ///
    /// # Errors
    /// If something was refused.
    pub fn if_refused(resolution: &Resolution) -> Result<(), Self> {
        if resolution.refused.is_empty() {
            return Ok(());
        }
        Err(Unwanted::Refused(resolution.refused.clone()).into())
    }

    /// The same failure with what to do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same failure with what it came from.
    #[must_use]
    pub fn caused_by(mut self, error: impl std::fmt::Display) -> Self {
        self.causes.push(error.to_string());
        self
    }
}

impl From<crate::upstream::UpstreamError> for Failure {
    fn from(error: crate::upstream::UpstreamError) -> Self {
        use crate::upstream::UpstreamError;
        if let UpstreamError::InSubmodule { .. } = &error {
            return Failure::input(for_terminal(error.to_string()))
                .with_hint("declare it: `overlaid verify` shows the lines to add");
        }
        let hint = match &error {
            UpstreamError::Missing { shallow: true, .. } => {
                Some("deepen the clone: git fetch --unshallow, or git fetch --depth=<more>")
            }
            UpstreamError::Missing { .. } => {
                Some("run again without --offline, or fetch it into the clone with git fetch")
            }
            UpstreamError::NotLocked { .. } => Some(crate::upstream::NOT_LOCKED),
            _ => None,
        };
        let failure = Failure::environment(for_terminal(error.to_string()));
        match hint {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }
}

impl From<crate::io::tree::TreeError> for Failure {
    fn from(error: crate::io::tree::TreeError) -> Self {
        Failure::environment(error.to_string())
    }
}
