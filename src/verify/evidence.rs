//! Records of evidence: edited by hand, of another version, of tests that are gone.
//!
//! Decides by the text of a record alone. Whether what it was measured from is still the same is `prove`'s business: a
//! record that holds no more is not used, and that is nothing wrong.

use std::path::Path;

use crate::evidence::{EvidenceError, Record, parse_record};
use crate::manifest::Manifest;

use super::Finding;

/// What is wrong with a record. `file` is its place in our repository, and its name begins with test and profile.
#[must_use]
pub fn check(manifest: &Manifest, file: &Path, text: &str) -> Option<Finding> {
    let shown = file.display();
    let record = match parse_record(text) {
        Ok(Record::Result(record)) => record,
        Ok(Record::Build(_)) => {
            let message = format!("`{shown}` is the record of a build, not of a run");
            return Some(Finding::error("evidence-unreadable", message).hint("delete it"));
        }
        Err(EvidenceError::Edited) => {
            let message = format!("`{shown}` was edited: its content does not fit its `check`");
            let hint = "take it back with git, or delete it and run `overlaid prove` again";
            return Some(Finding::error("evidence-edited", message).hint(hint));
        }
        Err(error) => {
            let message = format!("`{shown}` cannot be read: {error}");
            let hint = "delete it and run `overlaid prove` again, or use the version that wrote it";
            return Some(Finding::error("evidence-unreadable", message).hint(hint));
        }
    };
    let profile = file.file_name()?.to_str()?.strip_prefix(record.test.as_str())?.split('.').nth(1)?;
    let has_profile = profile == "default" || manifest.profile(profile).is_some();
    let what = match manifest.test(record.test.as_str()) {
        None => format!("test `{}`", record.test),
        Some(_) if !has_profile => format!("profile `{profile}`"),
        Some(_) => return None,
    };
    let message = format!("`{shown}` is evidence of {what}, which the manifest does not have");
    Some(
        Finding::warning("evidence-unused", message)
            .hint("delete it, or put the table back into the manifest"),
    )
}
