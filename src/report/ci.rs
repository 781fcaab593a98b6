//! Formats for CI: what a command found, as annotations of GitHub or as SARIF.
//!
//! Decides how a finding, a state or a verdict is told to a machine. Never decides how bad it is: the severity comes with it.

pub mod github;
pub mod sarif;

use crate::diagnostic::{Record, Severity};

/// In which form a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// Annotations of GitHub; a summary goes into the file that GITHUB_STEP_SUMMARY names.
    Github,
    /// SARIF 2.1.0.
    Sarif,
}

/// Something that a command says about a line of ours, an overlay, or both.
#[derive(Debug, Clone)]
pub struct Notice {
    /// The overlay.
    pub overlay: Option<String>,
    /// What, where, and what to do.
    pub record: Record,
}

impl Notice {
    /// How bad it is.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.record.severity
    }

    /// What is wrong and what to do, in one text.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.record.hint {
            Some(hint) => format!("{}. What to do: {hint}", self.record.message.trim_end_matches('.')),
            None => self.record.message.clone(),
        }
    }
}
