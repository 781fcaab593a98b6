//! `.overlaid/attestation.json`: what the tree is, for whoever finds it later.
//!
//! A statement, not a proof: `verify` compares it with the tree. It also tells what we wrote where the state is
//! damaged. The format is in docs/trees.md.

mod json;

use bstr::ByteSlice;
use rustix::io::Errno;

use self::json::Reader;
use super::error::TreeError;
use super::folder::{Root, create_at, read_at, rename_at, unlink_at};
use super::state::Origin;
use crate::escape;
use crate::id::{BlobId, CommitId, UpstreamPath};
use crate::plan::Wanted;
use crate::tree::{Content, Entry, Mode};

/// The file in `.overlaid`.
pub const FILE: &str = "attestation.json";
const NEW_FILE: &str = "attestation.new";
const SCHEMA: &str = "overlaid.attestation.v1";

/// The attestation of a tree that is what is wanted. The same tree gives the same bytes.
#[must_use]
pub fn render(wanted: &Wanted, origin: Origin) -> String {
    let overlaid: Vec<String> =
        wanted.changes.iter().map(|(path, change)| render_path(wanted, path, change)).collect();
    let fields = [
        ("schema", json::text(SCHEMA)),
        ("upstream", json::text(wanted.upstream.as_str())),
        ("pin", json::text(&wanted.commit.to_string())),
        ("fingerprint", json::text(&wanted.fingerprint)),
        ("origin", json::text(origin.as_str())),
        ("overlaid", json::list(&overlaid, 1)),
    ];
    json::object(&fields, 0) + "\n"
}

fn render_path(wanted: &Wanted, path: &UpstreamPath, change: &Option<Content>) -> String {
    let owners = wanted.owners.get(path).into_iter().flatten();
    let owners: Vec<String> = owners.map(|name| json::text(name.as_str())).collect();
    let bytes = path.as_bytes();
    let mut fields = match bytes.to_str() {
        Ok(path) => vec![("path", json::text(path))],
        // JSON has no other bytes than text.
        Err(_) => vec![
            ("path", json::text(&escape::for_terminal(bytes))),
            ("path-bytes", json::text(&hexadecimal(bytes))),
        ],
    };
    fields.push(("overlays", json::list(&owners, 3)));
    // Absent where overlays remove the path.
    if let Some(Entry { mode, id }) = change.as_ref().map(Content::entry) {
        fields.push(("mode", json::text(mode.as_octal())));
        fields.push(("id", json::text(&id.to_string())));
    }
    json::object(&fields, 2)
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

/// Reads an attestation; `None` if it is none, or of a version that we do not know.
#[must_use]
pub fn parse(text: &[u8]) -> Option<Claimed> {
    let (mut schema, mut upstream, mut pin, mut fingerprint) = (None, None, None, None);
    let (mut origin, mut overlaid) = (None, None);
    let mut reader = Reader::new(text.to_str().ok()?);
    reader.object(&mut |reader, key| {
        if key == "overlaid" {
            let mut paths = Vec::new();
            reader.list(&mut |reader| parse_path(reader).map(|path| paths.push(path)))?;
            overlaid = Some(paths);
            return Some(());
        }
        let value = reader.text()?;
        match key {
            "schema" => schema = Some(value),
            "upstream" => upstream = Some(value),
            "pin" => pin = CommitId::parse(&value).ok(),
            "fingerprint" => fingerprint = Some(value),
            "origin" => origin = Origin::parse(&value),
            _ => {}
        }
        Some(())
    })?;
    if schema? != SCHEMA || !reader.is_at_end() {
        return None;
    }
    Some(Claimed {
        upstream: upstream?,
        pin: pin?,
        fingerprint: fingerprint?,
        origin: origin?,
        overlaid: overlaid?,
    })
}

fn parse_path(reader: &mut Reader<'_>) -> Option<(UpstreamPath, Option<Entry>)> {
    let (mut path, mut path_bytes, mut mode, mut id) = (None, None, None, None);
    reader.object(&mut |reader, key| {
        if key == "overlays" {
            return reader.list(&mut |reader| reader.text().map(drop));
        }
        let value = reader.text()?;
        match key {
            "path" => path = Some(value.into_bytes()),
            "path-bytes" => path_bytes = Some(from_hexadecimal(&value)?),
            "mode" => mode = Some(Mode::from_octal(value.as_bytes())?),
            "id" => id = Some(BlobId::parse(&value).ok()?),
            _ => {}
        }
        Some(())
    })?;
    let entry = match (mode, id) {
        (Some(mode), Some(id)) => Some(Entry { mode, id }),
        (None, None) => None,
        _ => return None,
    };
    Some((UpstreamPath::parse(path_bytes.or(path)?).ok()?, entry))
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
    rename_at(home, NEW_FILE, home, FILE).map_err(failed)
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
        for cut in 0..text.trim_end().len() {
            assert_eq!(parse(&text.as_bytes()[..cut]), None);
        }
    }
}
