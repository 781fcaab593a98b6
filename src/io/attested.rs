//! What people have reported, on disk: a file each, in `<docs>/attested/<upstream>/`.
//!
//! Decides names of files. What a report means is `evidence::attested`'s business.

use std::path::{Path, PathBuf};

use super::hashes::{sha256_of, write_atomically};
use crate::evidence::attested::{Attestation, SCHEMA};
use crate::id::OverlayName;

/// The folder of an upstream's reports, relative to the repository.
#[must_use]
pub fn folder(docs: &Path, upstream: &str) -> PathBuf {
    docs.join("attested").join(upstream)
}

/// All reports in a folder, and the files that are none, with what is wrong with them.
#[must_use]
pub fn load(folder: &Path) -> (Vec<Attestation>, Vec<(PathBuf, String)>) {
    load_notes(folder, SCHEMA, |report: &Attestation| &report.schema)
}

/// All notes of one format in a folder, in the order of their names, and the files that are none.
pub(super) fn load_notes<T: serde::de::DeserializeOwned>(
    folder: &Path,
    expected: &str,
    schema: fn(&T) -> &String,
) -> (Vec<T>, Vec<(PathBuf, String)>) {
    let (mut notes, mut refused) = (Vec::new(), Vec::new());
    for file in note_files(folder) {
        let read = std::fs::read(&file).map_err(|error| error.to_string());
        let note =
            read.and_then(|text| serde_json::from_slice::<T>(&text).map_err(|error| error.to_string()));
        match note {
            Ok(note) if schema(&note) == expected => notes.push(note),
            Ok(note) => refused.push((file, format!("its schema is `{}`", schema(&note)))),
            Err(why) => refused.push((file, why)),
        }
    }
    (notes, refused)
}

/// The files of a folder of notes, in the order of their names.
#[must_use]
pub fn note_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|file| file.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    files
}

/// The text of a report with another name of an overlay; `None` if it is about others, or is none of ours.
#[must_use]
pub fn renamed(text: &[u8], old: &str, new: &OverlayName) -> Option<Vec<u8>> {
    let mut report: Attestation = serde_json::from_slice(text).ok()?;
    let name = report.overlays.iter_mut().find(|name| name.as_str() == old)?;
    name.clone_from(new);
    to_text(&report).filter(|_| report.schema == SCHEMA)
}

/// A note as it stands in its file.
pub(super) fn to_text<T: serde::Serialize>(note: &T) -> Option<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(note).ok()?;
    text.push(b'\n');
    Some(text)
}

/// Writes a report into a file of its own and gives its name.
///
/// # Errors
/// If it cannot be written.
pub fn write(folder: &Path, report: &Attestation) -> std::io::Result<PathBuf> {
    let mut text = serde_json::to_vec_pretty(report).map_err(std::io::Error::other)?;
    text.push(b'\n');
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = report.attested.chars().map(plain).take(60).collect();
    let file = folder.join(format!("{name}.{}.json", &sha256_of(&text)[..8]));
    write_atomically(&file, &text)?;
    Ok(file)
}
