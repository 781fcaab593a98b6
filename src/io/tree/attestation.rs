//! `.overlaid/attestation.json`: what the tree is, for whoever finds it later.
//!
//! A statement, not a proof: `verify` compares it with the tree. Nothing reads it to decide what to write.

use bstr::ByteSlice;
use rustix::io::Errno;
use serde::Serialize;

use super::error::TreeError;
use super::folder::{Root, create_at, read_at, unlink_at};
use crate::escape;
use crate::id::{BlobId, CommitId};
use crate::plan::Wanted;
use crate::tree::{Content, Mode};

/// The file in `.overlaid`.
pub const FILE: &str = "attestation.json";
const NEW_FILE: &str = "attestation.new";
const SCHEMA: &str = "overlaid.attestation.v1";

/// What a tree says of itself.
#[derive(Debug, Serialize)]
struct Attestation<'w> {
    schema: &'static str,
    upstream: &'w str,
    pin: CommitId,
    fingerprint: &'w str,
    /// By path, in order.
    overlaid: Vec<Overlaid<'w>>,
}

#[derive(Debug, Serialize)]
struct Overlaid<'w> {
    path: String,
    overlays: Vec<&'w str>,
    /// Absent where overlays remove the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Mode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<BlobId>,
}

/// The attestation of a tree that is what is wanted. The same tree gives the same bytes.
#[must_use]
pub fn render(wanted: &Wanted) -> String {
    let overlaid = wanted.changes.iter().map(|(path, change)| {
        let entry = change.as_ref().map(Content::entry);
        Overlaid {
            // JSON has no other bytes than text.
            path: path
                .as_bytes()
                .to_str()
                .map_or_else(|_| escape::for_terminal(path.as_bytes()), str::to_owned),
            overlays: wanted.owners.get(path).into_iter().flatten().map(|name| name.as_str()).collect(),
            mode: entry.map(|entry| entry.mode),
            id: entry.map(|entry| entry.id),
        }
    });
    let attestation = Attestation {
        schema: SCHEMA,
        upstream: wanted.upstream.as_str(),
        pin: wanted.commit,
        fingerprint: &wanted.fingerprint,
        overlaid: overlaid.collect(),
    };
    // Plain strings and ids always render.
    let mut text = serde_json::to_string_pretty(&attestation).unwrap_or_default();
    text.push('\n');
    text
}

/// The attestation that lies in a tree; `None` if there is none.
pub(super) fn load(home: &Root) -> Result<Option<Vec<u8>>, TreeError> {
    match read_at(home, FILE) {
        Ok(text) => Ok(Some(text)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(TreeError::io("read", home.at(FILE), error)),
    }
}

/// Replaces the attestation, in one step.
pub(super) fn write(home: &Root, text: &str) -> Result<(), TreeError> {
    let failed = |error| TreeError::io("write", home.at(FILE), error);
    unlink_at(home, NEW_FILE).map_err(failed)?;
    create_at(home, NEW_FILE, false, text.as_bytes()).map_err(failed)?;
    rustix::fs::renameat(home, NEW_FILE, home, FILE).map_err(failed)
}

/// Takes the attestation away: nothing is claimed any more.
pub(super) fn withdraw(home: &Root) -> Result<(), TreeError> {
    unlink_at(home, FILE).map_err(|error| TreeError::io("remove", home.at(FILE), error))
}
