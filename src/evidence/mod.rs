//! Evidence: what was built and run, from exactly which inputs, on what machine, with what result.
//!
//! Decides when a record still holds: when all that can change the result is the same. Never looks at the
//! clock or at a disk: `io` reads and writes the records and gives times.
//!
//! Two kinds of records. A [`BuildRecord`] maps what a compiler read to the hashes of what it made, so that with
//! valid evidence nothing is built to find out that nothing changed. A [`ResultRecord`] maps what a test ran
//! from to its runs. The name of the test, reasons, links, and overlays that the test never sees are in no key.

pub mod attested;
pub mod bisected;
pub mod build;
pub mod elsewhere;
mod layout;
mod packed;
pub mod result;
#[cfg(test)]
mod schema;
pub mod sealed;
pub mod took;

pub use build::{BuildInputs, BuildOutcome, BuildRecord, Candidate, MadeOn, TreeRead};
pub use result::{ResultRecord, RunInputs, what_may_matter, what_was_read};
pub use sealed::{EvidenceError, parse_checked_result, parse_record, render_record};

use serde::{Deserialize, Serialize};

use crate::id::{CommitId, OverlayName};

/// The name and version of the format.
pub const SCHEMA: &str = "overlaid.evidence.v1";

/// SHA-256, as 64 hexadecimal digits.
pub type Digest = String;

/// The machine of a record. Nothing that names a person or a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Machine {
    /// The operating system, for example `linux`.
    pub os: String,
    /// The processor's architecture, for example `x86_64`.
    pub arch: String,
    /// The processor's model.
    pub cpu: String,
    /// The accelerator, for example `NVIDIA H200 (sm_90)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Its driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The CUDA version that the driver is made for. In no key: the driver is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda: Option<String>,
}

impl Machine {
    /// What of the machine can change a result.
    #[must_use]
    pub fn class(&self) -> String {
        format!("{} {} {}", self.os, self.arch, self.cpu)
    }

    /// The accelerator, or the processor where there is none: `NVIDIA H200 (sm_90)`, `CPU Intel(R) Xeon(R) Processor`.
    #[must_use]
    pub fn device_or_cpu(&self) -> String {
        self.device.clone().unwrap_or_else(|| format!("CPU {}", self.cpu))
    }

    /// By what the key `devices` of an overlay may name the accelerator: `NVIDIA H200 (sm_90)`, `NVIDIA H200`, `sm_90`.
    #[must_use]
    pub fn device_names(&self) -> Vec<String> {
        let Some(device) = &self.device else { return Vec::new() };
        let parts = device.strip_suffix(')').and_then(|device| device.rsplit_once(" ("));
        let parts = parts.into_iter().flat_map(|(name, capability)| [name, capability]);
        std::iter::once(device.as_str()).chain(parts).map(ToOwned::to_owned).collect()
    }
}

/// The variant of a record, for readers. In no key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VariantNote {
    /// The commit.
    pub commit: CommitId,
    /// The overlays that were on.
    pub overlays: Vec<OverlayName>,
    /// The patch that plants a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// A hash over all its files: the same one, the same sources, on whichever machine. Older records have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Digest>,
}

/// A record of either kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
#[allow(clippy::large_enum_variant, reason = "a record is read or written at once, never kept in numbers")]
pub enum Record {
    /// What was built from what.
    Build(BuildRecord),
    /// What a test came to.
    Result(ResultRecord),
}

/// All records that are at hand.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// Of builds.
    pub builds: Vec<BuildRecord>,
    /// Of runs.
    pub results: Vec<ResultRecord>,
}

impl Evidence {
    /// Adds a record.
    pub fn add(&mut self, record: Record) {
        match record {
            Record::Build(build) => self.builds.push(build),
            Record::Result(result) => self.results.push(result),
        }
    }

    /// The newest build that holds for what would be built now.
    #[must_use]
    pub fn find_build(&self, now: &Candidate<'_>) -> Option<&BuildRecord> {
        self.builds.iter().filter(|build| build.holds_for(now)).max_by_key(|build| build.recorded)
    }

    /// The runs that hold for these inputs, oldest first.
    pub fn find_results<'a>(&'a self, inputs: &RunInputs) -> Vec<&'a ResultRecord> {
        let key = inputs.key();
        let mut found: Vec<_> = self.results.iter().filter(|result| result.inputs.key() == key).collect();
        found.sort_by_key(|result| result.recorded);
        found
    }
}

#[cfg(test)]
mod tests;
