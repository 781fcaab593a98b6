//! New files in a user's repository, from templates.
//!
//! Decides nothing about what they say, and writes over no file that is there.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Result, Write as _};
use std::path::Path;

/// Writes a file that is not there yet, and the folders above it; says whether it did: `false`, there is one.
///
/// # Errors
/// If it cannot be written.
pub fn create(file: &Path, text: &str) -> Result<bool> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    match OpenOptions::new().write(true).create_new(true).open(file) {
        Ok(mut created) => created.write_all(text.as_bytes()).map(|()| true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Adds a line at the end of a file, unless a line of it is that already; says whether it did.
///
/// # Errors
/// If it cannot be read or written.
pub fn add_line(file: &Path, line: &str) -> Result<bool> {
    let text = std::fs::read_to_string(file)?;
    if text.lines().any(|known| known.trim() == line) {
        return Ok(false);
    }
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let mut file = OpenOptions::new().append(true).open(file)?;
    file.write_all(format!("{gap}{line}\n").as_bytes())?;
    Ok(true)
}

/// Whether something is there.
#[must_use]
pub fn exists(file: &Path) -> bool {
    file.symlink_metadata().is_ok()
}

/// The text of a file, if it is there and is text.
#[must_use]
pub fn read(file: &Path) -> Option<String> {
    std::fs::read_to_string(file).ok()
}
