//! A series as a `patches` folder for quilt, each patch with a DEP-3 header (<https://dep-team.pages.debian.net/deps/dep3/>).
//!
//! Decides the bytes. What `patch` cannot do is refused: content that is not text.

use super::{Change, Files, Series, Step};
use crate::id::{OverlayName, UpstreamPath};
use crate::overlay::diff::{self, Body};

/// A path whose content `patch` cannot change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    /// The overlay that changes it.
    pub overlay: OverlayName,
    /// The path.
    pub path: UpstreamPath,
}

/// The files by their names: `series` and a patch for each step that changes something.
///
/// # Errors
/// If a content is not text.
pub fn quilt(series: &Series) -> Result<Files, Binary> {
    let mut files = Files::new();
    let mut names = String::new();
    for step in series.steps.iter().filter(|step| !step.changes.is_empty()) {
        if let Some(change) = step.changes.iter().find(|change| is_binary(change)) {
            return Err(Binary { overlay: step.name.clone(), path: change.path.clone() });
        }
        let file = format!("{}.patch", step.name);
        names.push_str(&format!("{file}\n"));
        let mut text = header(step).into_bytes();
        text.extend(step.diff());
        files.insert(file, text);
    }
    files.insert("series".to_owned(), names.into_bytes());
    Ok(files)
}

fn is_binary(change: &Change) -> bool {
    let side = |content: &Option<crate::tree::Content>| {
        content.clone().map(|content| (change.path.clone(), content))
    };
    let (before, after) = (side(&change.before), side(&change.after));
    let text = diff::render(before.as_ref().map(|(p, c)| (p, c)), after.as_ref().map(|(p, c)| (p, c)));
    let Ok(patch) = diff::parse(&text) else { return false };
    patch.files.iter().any(|part| matches!(part.body, Body::Binary { .. } | Body::BinaryOmitted))
}

fn header(step: &Step) -> String {
    let message = &step.message;
    let mut text = format!("Description: {}\n", message.subject);
    for line in message.body.lines() {
        // An empty line would end the header.
        text.push_str(if line.trim().is_empty() { " .\n" } else { " " });
        if !line.trim().is_empty() {
            text.push_str(line);
            text.push('\n');
        }
    }
    text.push_str(&format!("Author: {}\n", message.author));
    let forwarded = message.trailer("Forwarded").or_else(|| message.trailer("Pull-request"));
    for (field, value) in [("Bug", message.trailer("Issue")), ("Forwarded", forwarded)] {
        if let Some(value) = value {
            text.push_str(&format!("{field}: {value}\n"));
        }
    }
    // Word for word what the manifest says: a field of DEP-3's holds two of its keys.
    for (key, value) in message.trailers.iter().filter(|(key, _)| *key != "Issue") {
        text.push_str(&format!("X-{key}: {value}\n"));
    }
    text.push_str("---\n");
    text
}
