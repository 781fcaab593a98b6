//! The last verdicts, for `status`: a small file for each upstream beside the evidence.
//!
//! Decides nothing: a verdict is made from evidence by `prove`, and this only remembers what it said, of which
//! content, and when. Safe to delete.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::hashes::write_atomically;

const SCHEMA: &str = "overlaid.verdicts.v1";

/// The last verdicts of an upstream's overlays.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Verdicts {
    schema: String,
    /// By overlay, then by profile (empty: the manifest has none).
    verdicts: BTreeMap<String, BTreeMap<String, Noted>>,
}

/// A verdict that was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    /// The word.
    pub verdict: String,
    /// When, in seconds since 1970.
    pub recorded: i64,
    /// A hash of the pin and of what the overlay gave its paths then.
    pub content: String,
}

/// Where they are kept: `<docs>/verdicts/<upstream>.json`.
#[must_use]
pub fn file(docs: &Path, upstream: &str) -> PathBuf {
    docs.join("verdicts").join(format!("{upstream}.json"))
}

/// Reads them; none if there is no such file or it is none of ours.
#[must_use]
pub fn load(file: &Path) -> Verdicts {
    let text = std::fs::read(file).unwrap_or_default();
    let verdicts: Option<Verdicts> = serde_json::from_slice(&text).ok();
    verdicts.filter(|verdicts| verdicts.schema == SCHEMA).unwrap_or_default()
}

/// The text of the file with another name of an overlay; `None` if it has no verdict of it, or is none of ours.
#[must_use]
pub fn renamed(text: &[u8], old: &str, new: &str) -> Option<Vec<u8>> {
    let mut verdicts: Verdicts = serde_json::from_slice(text).ok()?;
    if verdicts.schema != SCHEMA {
        return None;
    }
    let of_overlay = verdicts.verdicts.remove(old)?;
    verdicts.verdicts.insert(new.to_owned(), of_overlay);
    let mut text = serde_json::to_vec_pretty(&verdicts).ok()?;
    text.push(b'\n');
    Some(text)
}

impl Verdicts {
    /// The last verdict of an overlay under a profile; without one, the latest under any.
    #[must_use]
    pub fn last(&self, overlay: &str, profile: Option<&str>) -> Option<(&str, &Noted)> {
        let of_overlay = self.verdicts.get(overlay)?;
        let found = match profile {
            Some(profile) => of_overlay.get_key_value(profile),
            None => of_overlay.iter().max_by_key(|(_, noted)| noted.recorded),
        };
        found.map(|(profile, noted)| (profile.as_str(), noted))
    }

    /// Notes a verdict. One that says the same of the same content keeps its time.
    pub fn note(&mut self, overlay: &str, profile: Option<&str>, noted: Noted) {
        let of_overlay = self.verdicts.entry(overlay.to_owned()).or_default();
        let known = of_overlay.get(profile.unwrap_or_default());
        if known.is_some_and(|known| known.verdict == noted.verdict && known.content == noted.content) {
            return;
        }
        of_overlay.insert(profile.unwrap_or_default().to_owned(), noted);
    }

    /// Writes them, without those of overlays that are gone; does nothing if nothing changed.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&mut self, file: &Path, is_there: impl Fn(&str) -> bool) -> std::io::Result<()> {
        SCHEMA.clone_into(&mut self.schema);
        self.verdicts.retain(|overlay, _| is_there(overlay));
        let mut text = serde_json::to_vec_pretty(self).map_err(std::io::Error::other)?;
        text.push(b'\n');
        if std::fs::read(file).is_ok_and(|known| known == text) {
            return Ok(());
        }
        write_atomically(file, &text)
    }
}
