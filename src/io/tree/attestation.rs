//! `.overlaid/attestation.json`: what the tree is, for whoever finds it later.
//!
//! A statement, not a proof: `verify` compares it with the tree. It also tells what we wrote where the state is
//! damaged. The format is in docs/trees.md.

use bstr::ByteSlice;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::error::TreeError;
use super::folder::{Root, create_at, read_at, unlink_at};
use super::state::Origin;
use crate::escape;
use crate::id::{BlobId, CommitId, UpstreamPath};
use crate::plan::Wanted;
use crate::tree::{Content, Entry, Mode};

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
    /// `made` by us, or `adopted`.
    origin: Origin,
    /// By path, in order.
    overlaid: Vec<Overlaid<'w>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Overlaid<'w> {
    path: String,
    /// The path's bytes in hexadecimal digits, where they are no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    overlays: Vec<&'w str>,
    /// Absent where overlays remove the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Mode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<BlobId>,
}

/// The attestation of a tree that is what is wanted. The same tree gives the same bytes.
#[must_use]
pub fn render(wanted: &Wanted, origin: Origin) -> String {
    let overlaid = wanted.changes.iter().map(|(path, change)| {
        let entry = change.as_ref().map(Content::entry);
        Overlaid {
            // JSON has no other bytes than text.
            path: path
                .as_bytes()
                .to_str()
                .map_or_else(|_| escape::for_terminal(path.as_bytes()), str::to_owned),
            path_bytes: path.as_bytes().to_str().is_err().then(|| hexadecimal(path.as_bytes())),
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
        origin,
        overlaid: overlaid.collect(),
    };
    // Plain strings and ids always render.
    let mut text = serde_json::to_string_pretty(&attestation).unwrap_or_default();
    text.push('\n');
    text
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let pairs = digits?;
    let bytes = pairs.chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    });
    bytes.collect()
}

/// What an attestation claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The upstream's name.
    pub upstream: String,
    /// The commit.
    pub pin: CommitId,
    /// The hash of pin, overlay content and features.
    pub fingerprint: String,
    /// How the tree came to be.
    pub origin: Origin,
    /// What overlays made of each path; `None`: removed.
    pub overlaid: Vec<(UpstreamPath, Option<Entry>)>,
}

/// What a tree says of itself, if it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attested {
    /// Nobody brought it to anything.
    Nothing,
    /// It was brought to something once; a run that was interrupted left it without an attestation.
    Withdrawn,
    /// What lies there is none, or one of a version that we do not know.
    Damaged,
    /// This.
    Claims(Claimed),
}

#[derive(Deserialize)]
struct Text {
    schema: String,
    upstream: String,
    pin: CommitId,
    fingerprint: String,
    origin: Origin,
    overlaid: Vec<TextPath>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct TextPath {
    path: String,
    path_bytes: Option<String>,
    mode: Option<Mode>,
    id: Option<BlobId>,
}

/// Reads an attestation; `None` if it is none, or of a version that we do not know.
#[must_use]
pub fn parse(text: &[u8]) -> Option<Claimed> {
    let Text { schema, upstream, pin, fingerprint, origin, overlaid } = serde_json::from_slice(text).ok()?;
    if schema != SCHEMA {
        return None;
    }
    let paths = overlaid.into_iter().map(|TextPath { path, path_bytes, mode, id }| {
        let bytes = match path_bytes {
            Some(digits) => from_hexadecimal(&digits)?,
            None => path.into_bytes(),
        };
        let entry = match (mode, id) {
            (Some(mode), Some(id)) => Some(Entry { mode, id }),
            (None, None) => None,
            _ => return None,
        };
        Some((UpstreamPath::parse(bytes).ok()?, entry))
    });
    Some(Claimed { upstream, pin, fingerprint, origin, overlaid: paths.collect::<Option<_>>()? })
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::id::Name;

    #[test]
    fn what_is_written_is_read_again() {
        let odd = |bytes: &[u8]| UpstreamPath::parse(bytes).unwrap();
        let content = Content::file(*b"1");
        let changes: crate::tree::Changes = [
            (odd("a\"\\\u{1}é".as_bytes()), Some(content.clone())),
            (odd(b"b"), None),
            (odd(b"c\xff"), Some(content)),
        ]
        .into();
        let wanted = Wanted {
            changes: changes.clone(),
            ..Wanted::pristine(
                Name::parse("up").unwrap(),
                CommitId::from_bytes([7; 20]),
                BTreeMap::new(),
                "12ab".to_owned(),
            )
        };
        let text = render(&wanted, Origin::Adopted);
        let claimed = parse(text.as_bytes()).unwrap();
        assert_eq!(claimed.pin, CommitId::from_bytes([7; 20]));
        assert_eq!((claimed.fingerprint.as_str(), claimed.origin), ("12ab", Origin::Adopted));
        let entries = changes.into_iter().map(|(path, change)| (path, change.as_ref().map(Content::entry)));
        assert_eq!(claimed.overlaid, entries.collect::<Vec<_>>());
        assert_eq!(parse(text.replace("attestation.v1", "attestation.v9").as_bytes()), None);
    }
}
