//! What searches came to, on disk: a file for each overlay, question and profile, in `<docs>/bisected/<upstream>/`. A later
//! search takes the place of an earlier one.
//!
//! Decides names of files. What a note says is `evidence::bisected`'s business.

use std::path::{Path, PathBuf};

use super::attested::{load_notes, to_text};
use super::hashes::write_atomically;
use crate::evidence::bisected::{Asked, Bisected, SCHEMA};
use crate::id::OverlayName;

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

/// The text of a note with another name of the overlay; `None` if it is about another one, or is none of ours.
#[must_use]
pub fn renamed(text: &[u8], old: &str, new: &OverlayName) -> Option<Vec<u8>> {
    let mut note: Bisected = serde_json::from_slice(text).ok()?;
    let is_it = note.schema == SCHEMA && note.overlay.as_str() == old;
    note.overlay.clone_from(new);
    to_text(&note).filter(|_| is_it)
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
