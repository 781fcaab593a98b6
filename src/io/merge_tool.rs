//! The user's merge tool, for conflicts of a bump.
//!
//! Decides which command that is, by git's configuration or by what the user typed, and runs it: a shell line that gets
//! `BASE`, `LOCAL`, `REMOTE` and `MERGED`, as git gives them. Runs nothing that a manifest or an upstream names. Whether a
//! conflict is resolved, the merged file says, not the tool.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A command that resolves conflicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeTool {
    /// What the user calls it.
    pub called: String,
    line: String,
}

/// The files of a conflict, absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// What the overlay was derived from.
    pub base: PathBuf,
    /// What the overlay has.
    pub local: PathBuf,
    /// What upstream has at the new pin.
    pub remote: PathBuf,
    /// The file with the markers, which the tool changes.
    pub merged: PathBuf,
}

/// Why there is no tool.
#[derive(Debug)]
pub enum ToolError {
    /// Nothing was named, neither here nor in git's configuration.
    NotNamed,
    /// Git's configuration has no command for this tool.
    NoCommand(String),
    /// A program cannot be run.
    Run(&'static str, io::Error),
}

impl std::fmt::Display for ToolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ToolError::NotNamed => f.write_str("git's configuration names no `merge.tool`"),
            ToolError::NoCommand(tool) => write!(f, "git's configuration has no `mergetool.{tool}.cmd`"),
            ToolError::Run(program, error) => write!(f, "cannot run `{program}`: {error}"),
        }
    }
}

impl std::error::Error for ToolError {}

impl MergeTool {
    /// What the user asks for: a tool of git's configuration, or a shell line. `None`: git's `merge.tool`.
    ///
    /// # Errors
    /// If there is no such tool, or git cannot be asked.
    pub fn find(root: &Path, asked: Option<&str>) -> Result<Self, ToolError> {
        let name = match asked {
            // A name has neither blanks nor variables, a shell line that knows its files has both.
            Some(line) if line.contains(|c: char| c.is_whitespace() || c == '$') => {
                return Ok(Self { called: line.to_owned(), line: line.to_owned() });
            }
            Some(name) => name.to_owned(),
            None => configured(root, "merge.tool")?.ok_or(ToolError::NotNamed)?,
        };
        let line = configured(root, &format!("mergetool.{name}.cmd"))?;
        let line = line.ok_or_else(|| ToolError::NoCommand(name.clone()))?;
        Ok(Self { called: name, line })
    }

    /// Runs the tool, in `dir` and on the user's terminal. Whether it ended with code 0.
    ///
    /// # Errors
    /// If there is no shell.
    pub fn run(&self, dir: &Path, conflict: &Conflict) -> Result<bool, ToolError> {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(&self.line).current_dir(dir);
        shell.env("BASE", &conflict.base).env("LOCAL", &conflict.local);
        shell.env("REMOTE", &conflict.remote).env("MERGED", &conflict.merged);
        // Our standard output is for the result.
        shell.stdout(Stdio::from(io::stderr()));
        Ok(shell.status().map_err(|error| ToolError::Run("sh", error))?.success())
    }
}

/// A value of git's configuration, as it holds in this folder.
fn configured(dir: &Path, key: &str) -> Result<Option<String>, ToolError> {
    let mut git = Command::new("git");
    git.args(["config", "--get", "--", key]).current_dir(dir).stderr(Stdio::null());
    let output = git.output().map_err(|error| ToolError::Run("git", error))?;
    let value = String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned();
    Ok((output.status.success() && !value.is_empty()).then_some(value))
}
