//! Records of evidence: edited by hand, of another version, of tests that are gone, of what is not there any more. And
//! what nobody has measured: profiles, devices.
//!
//! Decides from values. What a record stands for today is compared in `io::lab::standing`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::diagnostic::Severity;
use crate::evidence::{EvidenceError, Record, ResultRecord, parse_record};
use crate::id::{CommitId, Name};
use crate::manifest::{Manifest, Profile};

use super::Finding;

/// How many records are listed one by one.
const LISTED: usize = 5;

/// A record of a test and a profile that the manifest has.
#[derive(Debug, Clone)]
pub struct Known {
    /// Its file, as it is shown.
    pub file: String,
    /// The profile; `None`: the manifest has none.
    pub profile: Option<Name>,
    /// What stands in it.
    pub record: ResultRecord,
}

/// Reads a record, or says what is wrong with it. `file` is its place in our repository, and its name begins with test
/// and profile.
///
/// # Errors
/// The finding.
pub fn read(manifest: &Manifest, file: &Path, text: &str) -> Result<Known, Box<Finding>> {
    let shown = file.display();
    let record = match parse_record(text) {
        Ok(Record::Result(record)) => record,
        Ok(Record::Build(_)) => {
            let message = format!("`{shown}` is the record of a build, not of a run");
            return Err(Box::new(Finding::error("evidence-unreadable", message).hint("delete it")));
        }
        Err(EvidenceError::Edited) => {
            let message = format!("`{shown}` was edited: its content does not fit its `check`");
            let hint = "take it back with git, or delete it and run `overlaid prove` again";
            return Err(Box::new(Finding::error("evidence-edited", message).hint(hint)));
        }
        Err(error) => {
            let message = format!("`{shown}` cannot be read: {error}");
            let hint = "delete it and run `overlaid prove` again, or use the version that wrote it";
            return Err(Box::new(Finding::error("evidence-unreadable", message).hint(hint)));
        }
    };
    let unused =
        |message: String, hint: &str| Err(Box::new(Finding::warning("evidence-unused", message).hint(hint)));
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let rest = name.strip_prefix(record.test.as_str()).and_then(|rest| rest.strip_prefix('.'));
    let Some(rest) = rest.and_then(|rest| rest.strip_suffix(".json")) else {
        let message = format!("`{shown}` is evidence of test `{}`, and its name says otherwise", record.test);
        return unused(message, "give it back the name that `overlaid prove` gave it");
    };
    // What is left is the profile and a hash; both may be names with points in them.
    let profile = rest.rsplit_once('.').map_or(rest, |(profile, _)| profile);
    let known = manifest.profile(profile).map(|profile| profile.name.value.clone());
    let what = match manifest.test(record.test.as_str()) {
        None => format!("test `{}`", record.test),
        Some(_) if profile != "default" && known.is_none() => format!("profile `{profile}`"),
        Some(_) => return Ok(Known { file: shown.to_string(), profile: known, record }),
    };
    let message = format!("`{shown}` is evidence of {what}, which the manifest does not have");
    unused(message, "delete it, or put the table back into the manifest")
}

/// Records of a test under a profile that stand for nothing any more, each with what is another one now.
#[must_use]
pub fn stale(test: &Name, profile: Option<&Name>, files: &[(String, String)]) -> Option<Finding> {
    let message = format!("{} of what is not there any more", of(files.len(), test, profile));
    let notes = files.iter().map(|(file, why)| format!("`{file}`: no longer the same: {why}"));
    let finding = listed(Finding::warning("evidence-stale", message), notes);
    let hint = "`overlaid prove` does not use it, and measures again; delete what is not needed";
    (!files.is_empty()).then(|| finding.hint(hint))
}

/// Records of a test under a profile at commits that no proof is about.
#[must_use]
pub fn of_other_commits(
    test: &Name,
    profile: Option<&Name>,
    files: &[(String, CommitId)],
) -> Option<Finding> {
    let message =
        format!("{} at commits that are neither the pin nor a witness", of(files.len(), test, profile));
    let notes = files.iter().map(|(file, commit)| format!("`{file}`: {}", commit.short()));
    let finding = listed(Finding::new(Severity::Note, "evidence-elsewhere", message), notes);
    let hint = "`bisect` and `test --at` may use it; after a move of the pin, `overlaid prove` measures at the new one";
    (!files.is_empty()).then(|| finding.hint(hint))
}

fn of(count: usize, test: &Name, profile: Option<&Name>) -> String {
    let records = if count == 1 { "a record".to_owned() } else { format!("{count} records") };
    let under = profile.map(|profile| format!(" under profile `{profile}`")).unwrap_or_default();
    let are = if count == 1 { "is" } else { "are" };
    format!("{records} of test `{test}`{under} {are} evidence")
}

fn listed(finding: Finding, notes: impl ExactSizeIterator<Item = String>) -> Finding {
    let left = notes.len().saturating_sub(LISTED);
    let finding = notes.take(LISTED).fold(finding, Finding::note);
    if left == 0 { finding } else { finding.note(format!("and {left} more")) }
}

/// The overlays that are on under each profile, or name a device, and of which nothing was measured there. `records`: what
/// stands for something today.
#[must_use]
pub fn unseen(
    manifest: &Manifest,
    on_under: &[(&Profile, BTreeSet<Name>)],
    records: &[Known],
) -> Vec<Finding> {
    let mut profiles: BTreeMap<&Name, Vec<&str>> = BTreeMap::new();
    let mut devices: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for overlay in &manifest.overlays {
        let linked: Vec<_> = overlay.tests.iter().filter_map(|name| manifest.test(name.as_str())).collect();
        let mine = |known: &&Known| linked.iter().any(|test| test.name.value == known.record.test);
        for (profile, features) in on_under {
            let name = &profile.name.value;
            let runs = |test: &&crate::manifest::Test| {
                test.profiles.is_empty() || test.profiles.iter().any(|known| known.value == *name)
            };
            let is_asked = overlay.is_on(features) && linked.iter().any(runs);
            if is_asked && !records.iter().filter(mine).any(|known| known.profile.as_ref() == Some(name)) {
                profiles.entry(name).or_default().push(overlay.name.as_str());
            }
        }
        for device in &overlay.devices {
            let is_it = |known: &Known| known.record.machine.device_names().contains(&device.value);
            if !records.iter().filter(mine).any(is_it) {
                devices.entry(device.value.as_str()).or_default().push(overlay.name.as_str());
            }
        }
    }
    // Where nothing was ever measured, nobody waits for it.
    let profiles = profiles.into_iter().filter(|_| !records.is_empty()).map(|(profile, overlays)| {
        let message = format!("profile `{profile}`: nothing was measured of {}", overlays.join(", "));
        let hint = format!("overlaid --profile {profile} prove");
        Finding::new(Severity::Note, "profile-unseen", message).hint(hint)
    });
    let devices = devices.into_iter().map(|(device, overlays)| {
        let message = format!("device `{device}`: nothing was measured there of {}", overlays.join(", "));
        let hint =
            "run `overlaid prove` on a machine with that device and commit the evidence: a drop needs it";
        Finding::new(Severity::Note, "device-unseen", message).hint(hint)
    });
    profiles.chain(devices).collect()
}
