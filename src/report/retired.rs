//! What is kept of an overlay that was dropped: `docs/upstream/retired/<name>.toml`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::id::{CommitId, Name, OverlayName};

/// The record of a drop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Retired {
    /// The overlay.
    pub name: OverlayName,
    /// The upstream.
    pub upstream: Name,
    /// Why it was carried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it was derived from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<CommitId>,
    /// The pin at that time.
    pub pin: CommitId,
    /// Its state against history.
    pub state: String,
    /// The verdict, or what there was of one.
    pub verdict: String,
    /// It was dropped without a verdict that says so, for this reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced: Option<String>,
    /// Who decided.
    pub by: String,
    /// When, in seconds since 1970.
    pub at: i64,
    /// The overlays that went with it, in one drop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together_with: Vec<OverlayName>,
    /// The paths that it changed.
    pub paths: Vec<String>,
    /// The upstream commits that it undid.
    pub undid: Vec<String>,
    /// The records of evidence.
    pub evidence: Vec<String>,
    /// The files that were removed, relative to the repository.
    pub files: Vec<PathBuf>,
    /// Our commit that last had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_in: Option<CommitId>,
    /// Its table in the manifest.
    pub table: String,
}

impl Retired {
    /// The record as TOML.
    #[must_use]
    pub fn to_toml(&self) -> String {
        use toml_edit::{Array, DocumentMut, value};
        let mut document = DocumentMut::new();
        let list = |texts: &[String]| {
            let mut array: Array = texts.iter().collect();
            array.iter_mut().for_each(|item| item.decor_mut().set_prefix("\n  "));
            array.set_trailing(if array.is_empty() { "" } else { ",\n" });
            value(array)
        };
        document["name"] = value(self.name.as_str());
        document["upstream"] = value(self.upstream.as_str());
        if let Some(reason) = &self.reason {
            document["reason"] = value(reason);
        }
        if let Some(base) = self.base {
            document["base"] = value(base.to_string());
        }
        document["pin"] = value(self.pin.to_string());
        document["state"] = value(&self.state);
        document["verdict"] = value(&self.verdict);
        if let Some(forced) = &self.forced {
            document["forced"] = value(forced);
        }
        document["by"] = value(&self.by);
        document["at"] = value(self.at);
        if let Some(last_in) = self.last_in {
            document["last-in"] = value(last_in.to_string());
        }
        if !self.together_with.is_empty() {
            let others: Vec<String> = self.together_with.iter().map(ToString::to_string).collect();
            document["together-with"] = list(&others);
        }
        let files: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        for (key, texts) in
            [("paths", &self.paths), ("undid", &self.undid), ("evidence", &self.evidence), ("files", &files)]
        {
            document[key] = list(texts);
        }
        document["table"] = value(&self.table);
        format!(
            "# An overlay that was dropped, written by `overlaid drop`. `last-in` is our commit that still has it.\n{document}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_can_be_read_again_whatever_the_reason_says() {
        let retired = Retired {
            name: OverlayName::parse("fix").unwrap(),
            upstream: Name::parse("up").unwrap(),
            reason: Some("\"quoted\"\n'''[x]\u{202e}".to_owned()),
            base: None,
            pin: CommitId::from_bytes([1; 20]),
            state: "rollback".to_owned(),
            verdict: "harmful".to_owned(),
            forced: None,
            by: "Ada".to_owned(),
            at: 7,
            together_with: vec![OverlayName::parse("other").unwrap()],
            paths: vec!["a\"b".to_owned(), "c".to_owned()],
            undid: Vec::new(),
            evidence: vec!["t.json".to_owned()],
            files: vec!["overlays/up/a".into()],
            last_in: Some(CommitId::from_bytes([2; 20])),
            table: "[[overlay]]\nname = \"fix\"\n".to_owned(),
        };
        let read: Retired = toml::from_str(&retired.to_toml()).unwrap();
        assert_eq!(read, retired);
    }
}
