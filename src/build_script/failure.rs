//! What went wrong, in lines that read well behind the words that cargo puts before each.

use std::path::Path;

use crate::diagnostic::Diagnostic;
use crate::escape::{for_shell, for_terminal};
use crate::io::locked::LockedError;
use crate::io::workspace::LoadError;
use crate::overlay::Unwanted;
use crate::plan::{Refusal, Wanted, is_all_missing};

/// Why a tree is not what the manifest says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    lines: Vec<String>,
}

impl Failure {
    pub(super) fn new(line: impl Into<String>) -> Self {
        Self { lines: vec![line.into()] }
    }

    pub(super) fn hint(mut self, hint: impl AsRef<str>) -> Self {
        self.lines.extend(hint.as_ref().lines().map(|line| format!("hint: {}", line.trim())));
        self
    }

    /// A line for each thing that is wrong, and one for what to do.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    /// `manifests/mlx.toml:12:8: what is wrong`.
    pub(super) fn of_diagnostics(diagnostics: &[Diagnostic]) -> Self {
        let lines = diagnostics.iter().map(Diagnostic::brief);
        let lines = lines.flat_map(|brief| brief.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
        Self { lines }
    }

    /// `elsewhere`: that the tree is checked out at another commit.
    pub(super) fn of_refusals(
        refusals: &[Refusal],
        wanted: &Wanted,
        dir: &Path,
        elsewhere: Option<String>,
    ) -> Self {
        let line = |refusal: &Refusal| {
            let by = match wanted.owners_of(&refusal.path) {
                owners if owners.is_empty() => String::new(),
                owners => format!(" (overlay {owners} writes there)"),
            };
            let path = dir.join(refusal.path.to_os_path());
            format!("{}: {}{by}", for_terminal(path.display().to_string()), refusal.difference)
        };
        let lines = refusals.iter().map(line).collect();
        let dir = for_shell(&dir.display().to_string());
        Self { lines }.hint(elsewhere.unwrap_or_else(|| match is_all_missing(refusals) {
            true => format!(
                "is it a tree of this upstream? `overlaid apply --tree {dir} --force` puts there what is missing"
            ),
            false => format!(
                "make an overlay of the edit or undo it; `overlaid apply --tree {dir} --force` overwrites it and keeps a copy"
            ),
        }))
    }

    pub(super) fn of_unwanted(unwanted: &Unwanted) -> Self {
        let failure = match unwanted {
            Unwanted::Refused(refusals) => {
                Self { lines: refusals.iter().map(|refusal| for_terminal(refusal.to_string())).collect() }
            }
            other => Self::new(for_terminal(other.to_string())),
        };
        match unwanted.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }

    pub(super) fn of_locked(error: LockedError, dir: &Path) -> Self {
        let hint = match &error {
            LockedError::NoTree(no_tree) => no_tree.hint().or_else(|| {
                Some(format!(
                    "fill `{}` with the pin's sources first (git submodule update --init, a tarball)",
                    for_terminal(dir.display().to_string())
                ))
            }),
            other => other.hint(),
        };
        let failure = match error {
            LockedError::Load(error) => return error.into(),
            LockedError::Unwanted(unwanted) => return Self::of_unwanted(&unwanted),
            other => Self::new(for_terminal(other.to_string())),
        };
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.lines.join("\n"))
    }
}

impl std::error::Error for Failure {}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Io { path, error } => Self::new(format!("cannot read `{}`: {error}", path.display())),
            LoadError::Manifest(diagnostics) => Self::of_diagnostics(&diagnostics),
        }
    }
}
