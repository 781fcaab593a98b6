//! The checks: is what we carry what we say we carry?
//!
//! One check a file. Each takes values that are already read and gives findings; none of them reads a file or
//! decides what a finding leads to. The codes are stable and documented in `docs/findings.md`.

pub mod accepted;
pub mod also_pinned;
pub mod claim;
pub mod compiled;
pub mod coverage;
pub mod documents;
#[cfg(feature = "proof")]
pub mod evidence;
pub mod forbidden;
pub mod lock;
pub mod marker;
pub mod states;
pub mod submodules;
pub mod tree;

use crate::diagnostic::{Diagnostic, Place, Severity};
use crate::id::{OverlayName, UpstreamPath};

/// Something that `verify` found.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The overlay that it concerns, if one.
    pub overlay: Option<OverlayName>,
    /// The path that it concerns, if one.
    pub path: Option<UpstreamPath>,
    /// What, where, why, what to do.
    pub diagnostic: Diagnostic,
}

impl Finding {
    /// A finding of this severity.
    #[must_use]
    pub fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        Self { overlay: None, path: None, diagnostic: Diagnostic::new(severity, code, message) }
    }

    /// What makes `verify` end 1.
    #[must_use]
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    /// What makes `verify --strict` end 1.
    #[must_use]
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    /// The same finding, of an overlay.
    #[must_use]
    pub fn of(mut self, overlay: &OverlayName) -> Self {
        self.overlay = Some(overlay.clone());
        self
    }

    /// The same finding, on a path.
    #[must_use]
    pub fn on(mut self, path: &UpstreamPath) -> Self {
        self.path = Some(path.clone());
        self
    }

    /// The same finding, with its place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.diagnostic = self.diagnostic.at(place);
        self
    }

    /// The same finding, with an explanation.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.diagnostic = self.diagnostic.note(note);
        self
    }

    /// The same finding, with what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.diagnostic = self.diagnostic.hint(hint);
        self
    }
}

/// A problem of files and globs is a finding, too.
impl From<Diagnostic> for Finding {
    fn from(diagnostic: Diagnostic) -> Self {
        Self { overlay: None, path: None, diagnostic }
    }
}

/// A text of ours with its place, for findings that show a line.
#[derive(Debug, Clone)]
pub struct OwnText {
    /// The file, relative to the repository.
    pub file: std::path::PathBuf,
    /// Its content. Bytes that are no UTF-8 are replaced, one character each.
    pub text: std::sync::Arc<str>,
}

impl OwnText {
    /// The text of a file. Findings point into the result, so positions are those of the result.
    #[must_use]
    pub fn new(file: impl Into<std::path::PathBuf>, bytes: &[u8]) -> Self {
        Self { file: file.into(), text: String::from_utf8_lossy(bytes).into() }
    }

    /// A place in it.
    #[must_use]
    pub fn place(&self, span: std::ops::Range<usize>, label: impl Into<String>) -> Place {
        Place { file: self.file.clone(), text: self.text.clone(), span, label: label.into() }
    }
}
