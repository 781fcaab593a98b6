//! What searches came to, on disk: a file for each overlay, question and profile, in `<docs>/bisected/<upstream>/`. A later
//! search takes the place of an earlier one.
//!
//! Decides names of files. What a note says is `evidence::bisected`'s business.

use std::path::{Path, PathBuf};

use super::attested::load_notes;
use super::hashes::write_atomically;
use crate::evidence::bisected::{Asked, Bisected, SCHEMA};

/// The folder of an upstream's notes, relative to the repository.
#[must_use]
pub fn folder(docs: &Path, upstream: &str) -> PathBuf {
    docs.join("bisected").join(upstream)
}

/// All notes in a folder. A file that is none counts for nothing.
#[must_use]
pub fn load(folder: &Path) -> Vec<Bisected> {
    load_notes(folder, SCHEMA, |note: &Bisected| &note.schema).0
}

/// Writes a note and gives the name of its file.
///
/// # Errors
/// If it cannot be written.
pub fn write(folder: &Path, note: &Bisected) -> std::io::Result<PathBuf> {
    let asked = match note.asked {
        Asked::Unneeded => "unneeded",
        Asked::Introduced => "introduced",
    };
    let profile = note.profile.as_ref().map(|profile| format!(".{profile}")).unwrap_or_default();
    let mut text = serde_json::to_vec_pretty(note).map_err(std::io::Error::other)?;
    text.push(b'\n');
    let file = folder.join(format!("{}.{asked}{profile}.json", note.overlay));
    write_atomically(&file, &text)?;
    Ok(file)
}
