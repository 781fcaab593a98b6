//! The summary of a step of GitHub's runner: a file that a variable names.

use std::io::Write;

/// Adds to the summary; does nothing outside of a runner.
///
/// # Errors
/// If the file cannot be written.
pub fn append(text: &str) -> std::io::Result<()> {
    let Some(file) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|file| !file.is_empty()) else {
        return Ok(());
    };
    std::fs::OpenOptions::new().append(true).create(true).open(file)?.write_all(text.as_bytes())
}
