//! What a report was made from: which records, and what they say of today's inputs.
//!
//! They stand at the end of the report, with a hash over themselves. From them and the records of evidence the verdict is
//! made again, on any machine. Records are keyed by the compiler and the machine, too; facts are not: they hold as long as
//! upstream's files, overlays and our own files are the same. Decides nothing about an overlay.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canonical_json;
use crate::evidence::attested::Attestation;
use crate::evidence::bisected::Bisected;
use crate::evidence::{Digest, Machine, ResultRecord, VariantNote};
use crate::id::{CommitId, Name, OverlayName, UpstreamPath};
use crate::kernel_test::CellOutcome;
use crate::tree::Entry;
use crate::verdict::{Linked, Obstacle, Pair, Place, Proof, Ran, State, Which, Witness};

use super::retired::Retired;
use super::templates::Template;

/// The name and version of the format.
pub const SCHEMA: &str = "overlaid.report.v1";

/// How the last part of a report begins.
pub const OPEN: &str = "<!-- overlaid facts: made by the program, not to be edited\n";
const CLOSE: &str = "\n-->";

/// All that a report was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The upstream.
    pub upstream: Name,
    /// The overlay.
    pub overlay: OverlayName,
    /// The pin then.
    pub pin: CommitId,
    /// From which template.
    pub template: Template,
    /// Tables and quotes only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub evidence_only: bool,
    /// What was measured, under each profile and on each kind of machine.
    pub proofs: Vec<Measured>,
    /// What the linked tests say of a newer upstream commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer: Option<Newer>,
    /// What people report of runs that cannot be made here, at this pin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attested: Vec<Attestation>,
    /// What searches over the upstream's history came to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bisected: Vec<Bisected>,
    /// With which others it can go at once, under each profile and on each kind of machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<AtOnce>,
    /// The overlay was dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired: Option<Retired>,
    /// A hash over what the program wrote into the report.
    #[serde(default)]
    pub written: Digest,
}

/// Overlays that can all go at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AtOnce {
    /// The overlays, in the order of the manifest.
    pub overlays: Vec<OverlayName>,
    /// Those of them that the pin has all of: their tests say nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redundant: Vec<OverlayName>,
    /// The pin without all of them, and with them.
    pub measured: Measured,
}

/// What was measured under one profile on one kind of machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The profile.
    pub profile: Option<Name>,
    /// The features that were on.
    pub features: BTreeSet<Name>,
    /// The machine.
    pub machine: Machine,
    /// What was taken out at the pin.
    pub removed: Vec<OverlayName>,
    /// There was nothing to run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redundant: bool,
    /// The linked tests.
    pub tests: Vec<TestFacts>,
    /// The variants.
    pub variants: BTreeMap<Which, VariantNote>,
    /// By test and variant.
    pub results: BTreeMap<Name, BTreeMap<Which, SideFacts>>,
    /// Whether the witness decides.
    pub asks_witness: bool,
    /// Whether there is a witness other than the pin.
    pub has_witness: bool,
    /// Our own files that were built or read, relative to our repository.
    pub ours: BTreeMap<String, Digest>,
    /// When the newest of the runs was made, in seconds since 1970.
    pub recorded: i64,
}

/// A linked test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestFacts {
    /// As far as it bears on a verdict.
    #[serde(flatten)]
    pub linked: Linked,
    /// A hash over its table and that of the profile, as they stand in the manifest.
    pub definition: Digest,
    /// The command, as it stands there.
    pub command: Vec<String>,
}

/// A test on a variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SideFacts {
    /// What it came to.
    pub outcome: SideOutcome,
    /// What overlays make of the paths that were read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub read: BTreeMap<UpstreamPath, Option<Entry>>,
    /// Paths of overlays that were not read.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unread: BTreeSet<UpstreamPath>,
}

/// What a test came to on a variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum SideOutcome {
    /// It ran.
    Ran {
        /// The record, by the name of its file.
        record: String,
        /// A hash over that file.
        sha256: Digest,
        /// What built it.
        toolchain: String,
        /// A hash over what was read.
        inputs: Option<Digest>,
        /// A hash over what may have mattered.
        surroundings: Option<Digest>,
        /// What sanitizers said.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        sanitized: BTreeMap<String, Vec<CellOutcome>>,
    },
    /// It does not build.
    BuildFailed {
        /// What built it.
        toolchain: String,
        /// The first error.
        text: String,
    },
    /// It cannot be run.
    Blocked {
        /// What is in the way.
        obstacle: Obstacle,
    },
}

/// What the linked tests say of a newer upstream commit, without overlays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Newer {
    /// The commit.
    pub commit: CommitId,
    /// What a person called it.
    pub called: String,
    /// The profile that it was tried under.
    pub profile: Option<Name>,
    /// By test.
    pub results: BTreeMap<Name, SideFacts>,
}

/// A record of evidence with the hash of its file.
#[derive(Debug, Clone)]
pub struct RecordFile {
    /// What it says.
    pub record: ResultRecord,
    /// The hash.
    pub sha256: Digest,
}

/// Why facts cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FactsError {
    /// The text has none: it is no report of ours.
    None,
    /// They were edited.
    Edited,
    /// They are of another version of this program.
    Schema(String),
    /// They are not what they should be.
    Malformed(String),
}

impl fmt::Display for FactsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FactsError::None => f.write_str("it has no facts at its end"),
            FactsError::Edited => f.write_str("the facts at its end were edited"),
            FactsError::Schema(found) => write!(f, "its facts are in the format {found}, expected {SCHEMA}"),
            FactsError::Malformed(why) => write!(f, "its facts cannot be read: {why}"),
        }
    }
}

impl std::error::Error for FactsError {}

impl Facts {
    /// The facts as the last part of a report.
    ///
    /// # Errors
    /// If they hold something that JSON cannot hold.
    pub fn render(&self) -> Result<String, FactsError> {
        let malformed = |error: serde_json::Error| FactsError::Malformed(error.to_string());
        let mut value = serde_json::to_value(self).map_err(malformed)?;
        if let Value::Object(object) = &mut value {
            object.insert("schema".to_owned(), SCHEMA.into());
        }
        let check = canonical_json::digest(&value);
        if let Value::Object(object) = &mut value {
            object.insert("check".to_owned(), check.into());
        }
        let text = serde_json::to_string_pretty(&value).map_err(malformed)?;
        // Nothing in it may end the comment. In JSON these signs stand in texts only.
        let text = text.replace("--", "\\u002d\\u002d").replace('>', "\\u003e");
        Ok(format!("{OPEN}{text}{CLOSE}\n"))
    }

    /// The facts of a report.
    ///
    /// # Errors
    /// If there are none, or they were edited.
    pub fn parse(report: &[u8]) -> Result<Self, FactsError> {
        let text = String::from_utf8_lossy(report).replace("\r\n", "\n");
        let malformed = |error: serde_json::Error| FactsError::Malformed(error.to_string());
        let (_, tail) = text.rsplit_once(OPEN).ok_or(FactsError::None)?;
        let (json, _) = tail.split_once(CLOSE).ok_or(FactsError::None)?;
        let mut value = canonical_json::parse(json).map_err(malformed)?;
        let Value::Object(object) = &mut value else {
            return Err(FactsError::Malformed("not an object".to_owned()));
        };
        let check = object.remove("check");
        match object.get("schema").and_then(Value::as_str) {
            Some(SCHEMA) => {}
            other => return Err(FactsError::Schema(other.unwrap_or("none").to_owned())),
        }
        if check != Some(Value::String(canonical_json::digest(&value))) {
            return Err(FactsError::Edited);
        }
        if let Value::Object(object) = &mut value {
            object.remove("schema");
        }
        serde_json::from_value(value).map_err(malformed)
    }

    /// The records that were used, with the hashes of their files.
    #[must_use]
    pub fn records(&self) -> BTreeMap<&str, &str> {
        let newer = self.newer.iter().flat_map(|newer| newer.results.values());
        let all = self.proofs.iter().chain(self.together.iter().map(|at_once| &at_once.measured));
        all.flat_map(Measured::sides).chain(newer).filter_map(SideFacts::record).collect()
    }
}

/// A record that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRecord(pub String);

impl SideFacts {
    /// The record that it was made from, with the hash of its file.
    #[must_use]
    pub fn record(&self) -> Option<(&str, &str)> {
        match &self.outcome {
            SideOutcome::Ran { record, sha256, .. } => Some((record, sha256)),
            SideOutcome::BuildFailed { .. } | SideOutcome::Blocked { .. } => None,
        }
    }

    /// What a verdict is made from.
    ///
    /// # Errors
    /// If its record is not there.
    pub fn state(&self, records: &BTreeMap<String, RecordFile>) -> Result<State, MissingRecord> {
        Ok(match &self.outcome {
            SideOutcome::Blocked { obstacle } => State::Blocked(obstacle.clone()),
            SideOutcome::BuildFailed { toolchain, text } => {
                State::BuildFailed { toolchain: toolchain.clone(), text: text.clone() }
            }
            SideOutcome::Ran { record, toolchain, inputs, surroundings, sanitized, .. } => {
                let file = records.get(record).ok_or_else(|| MissingRecord(record.clone()))?;
                State::Ran(Ran {
                    toolchain: toolchain.clone(),
                    inputs: inputs.clone(),
                    surroundings: surroundings.clone(),
                    runs: file.record.runs.clone(),
                    sanitized: sanitized.clone(),
                })
            }
        })
    }
}

impl Measured {
    /// What a verdict is made from.
    ///
    /// # Errors
    /// If a record is not there.
    pub fn proof(
        &self,
        overlay: &OverlayName,
        records: &BTreeMap<String, RecordFile>,
    ) -> Result<Proof, MissingRecord> {
        let place = |without: Which, with: Which| -> Result<Place, MissingRecord> {
            let mut place = Place::new();
            for (test, sides) in &self.results {
                let state = |which: Which| match sides.get(&which) {
                    Some(side) => side.state(records),
                    None => Ok(State::NotRun),
                };
                if sides.contains_key(&without) || sides.contains_key(&with) {
                    place.insert(test.clone(), Pair { without: state(without)?, with: state(with)? });
                }
            }
            Ok(place)
        };
        Ok(Proof {
            overlay: overlay.clone(),
            removed: self.removed.clone(),
            redundant: self.redundant,
            tests: self.tests.iter().map(|test| test.linked.clone()).collect(),
            pin: place(Which::PinWithout, Which::PinWith)?,
            witness: match (self.has_witness, self.asks_witness) {
                (false, _) => Witness::IsPin,
                (true, true) => Witness::At(place(Which::WitnessWithout, Which::WitnessWith)?),
                (true, false) => Witness::At(Place::new()),
            },
        })
    }

    /// What each test came to on each variant.
    pub fn sides(&self) -> impl Iterator<Item = &SideFacts> {
        self.results.values().flat_map(BTreeMap::values)
    }

    /// The processor, or the accelerator where the profile has one.
    #[must_use]
    pub fn device(&self) -> String {
        self.machine.device_or_cpu()
    }
}

/// A hash over what a manifest says of a test and of a profile. `None`: it cannot be read.
#[must_use]
pub fn definition(manifest: &str, profile: Option<&Name>, test: &Name) -> Option<Digest> {
    let table: toml::Table = toml::from_str(manifest).ok()?;
    let value = serde_json::to_value(table).ok()?;
    let tests = value.get("test").and_then(Value::as_array)?;
    let named = |table: &&Value| table.get("name").and_then(Value::as_str) == Some(test.as_str());
    let mut test = tests.iter().find(named)?.clone();
    if let Value::Object(test) = &mut test {
        // Where else it runs makes no difference.
        test.remove("profiles");
    }
    let profile = profile.and_then(|profile| value.get("profile")?.get(profile.as_str()));
    Some(canonical_json::digest(&serde_json::json!({ "test": test, "profile": profile })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts {
            upstream: Name::parse("up").unwrap(),
            overlay: OverlayName::parse("fix").unwrap(),
            pin: CommitId::from_bytes([1; 20]),
            template: Template::Draft,
            evidence_only: false,
            proofs: Vec::new(),
            newer: Some(Newer {
                commit: CommitId::from_bytes([2; 20]),
                called: "--> <b>".to_owned(),
                profile: None,
                results: BTreeMap::new(),
            }),
            attested: Vec::new(),
            bisected: Vec::new(),
            together: Vec::new(),
            retired: None,
            written: "w".to_owned(),
        }
    }

    #[test]
    fn facts_come_back_and_an_edit_shows() {
        let text = facts().render().unwrap();
        assert_eq!(text.matches("-->").count(), 1);
        assert_eq!(Facts::parse(text.as_bytes()), Ok(facts()));
        assert_eq!(Facts::parse(text.replace('\n', "\r\n").as_bytes()), Ok(facts()));
        let edited = text.replace("\"fix\"", "\"fox\"");
        assert_eq!(Facts::parse(edited.as_bytes()), Err(FactsError::Edited));
        assert_eq!(Facts::parse(b"# mine\n"), Err(FactsError::None));
        let newer = text.replace(SCHEMA, "overlaid.report.v9");
        assert!(matches!(Facts::parse(newer.as_bytes()), Err(FactsError::Schema(_))));
    }

    #[test]
    fn a_definition_is_the_test_and_its_profile_and_nothing_else() {
        let name = |text: &str| Name::parse(text).unwrap();
        let manifest =
            "[profile.cpu]\ncmake = { A = \"1\" }\n[profile.gpu]\n[[test]]\nname = \"t\"\nrepeats = 2\n";
        let of = |text: &str| definition(text, Some(&name("cpu")), &name("t"));
        let now = of(manifest);
        assert!(now.is_some());
        assert_eq!(of(&format!("# a comment\n{manifest}profiles = [\"cpu\"]\n")), now);
        assert_eq!(of(&manifest.replace("[profile.gpu]", "[profile.gpu]\nrequires = \"cuda\"")), now);
        assert_ne!(of(&manifest.replace("repeats = 2", "repeats = 3")), now);
        assert_ne!(of(&manifest.replace("A = \"1\"", "A = \"2\"")), now);
        assert_eq!(of("[[test]]\nname = \"u\"\n"), None);
    }
}
