//! One name for a pin with a set of overlays on it, for cache keys.

use std::collections::BTreeSet;

use hmac_sha256::Hash;

use crate::id::{CommitId, Name, UpstreamPath};
use crate::tree::{Changes, Content, Entry};

/// A hash of the pin, the features that are on and the content that the overlays give: 64 hexadecimal digits
/// (SHA-256 over a line for each). It changes exactly when what is built can change; a reason or a link that is
/// edited does not change it.
#[must_use]
pub fn fingerprint(pin: CommitId, features: &BTreeSet<Name>, changes: &Changes) -> String {
    let entries = changes.iter().map(|(path, content)| (path, content.as_ref().map(Content::entry)));
    fingerprint_of_entries(pin, features, entries)
}

/// The same where only ids and modes are known, as from an attestation; in the order of the paths.
#[must_use]
pub fn fingerprint_of_entries<'a>(
    pin: CommitId,
    features: &BTreeSet<Name>,
    entries: impl IntoIterator<Item = (&'a UpstreamPath, Option<Entry>)>,
) -> String {
    let mut hash = Hash::new();
    hash.update(format!("overlaid.fingerprint.v1\npin {pin}\n"));
    for feature in features {
        hash.update(format!("feature {feature}\n"));
    }
    for (path, entry) in entries {
        match entry {
            Some(entry) => hash.update(format!("{} {} ", entry.mode.as_octal(), entry.id)),
            None => hash.update("absent "),
        }
        hash.update(format!("{}:", path.as_bytes().len()));
        hash.update(path.as_bytes());
        hash.update("\n");
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_changes_it() {
        let pin = CommitId::from_bytes([1; 20]);
        let none = BTreeSet::new();
        let path = |text: &str| UpstreamPath::parse(text).unwrap();
        let changes = Changes::from([(path("a"), Some(Content::file(*b"1")))]);
        let plain = fingerprint(pin, &none, &changes);
        assert_eq!(plain, fingerprint(pin, &none, &changes.clone()));
        let others = [
            fingerprint(CommitId::from_bytes([2; 20]), &none, &changes),
            fingerprint(pin, &BTreeSet::from([Name::parse("cuda").unwrap()]), &changes),
            fingerprint(pin, &none, &Changes::from([(path("b"), Some(Content::file(*b"1")))])),
            fingerprint(pin, &none, &Changes::from([(path("a"), Some(Content::file(*b"2")))])),
            fingerprint(pin, &none, &Changes::from([(path("a"), None)])),
            fingerprint(pin, &none, &Changes::new()),
        ];
        assert!(others.iter().all(|other| *other != plain));
    }

    #[cfg(feature = "git")]
    #[test]
    fn it_is_the_sha_256_of_its_lines() {
        let pin = CommitId::from_bytes([1; 20]);
        let path = |text: &str| UpstreamPath::parse(text).unwrap();
        let changes = Changes::from([(path("a"), Some(Content::file(*b"1"))), (path("b"), None)]);
        let lines = format!(
            "overlaid.fingerprint.v1\npin {pin}\nfeature cuda\n100644 {} 1:a\nabsent 1:b\n",
            Content::file(*b"1").entry().id
        );
        assert_eq!(
            fingerprint(pin, &BTreeSet::from([Name::parse("cuda").unwrap()]), &changes),
            crate::canonical_json::sha256_hex(lines.as_bytes())
        );
    }
}
