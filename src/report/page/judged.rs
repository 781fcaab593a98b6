//! By what the verdicts were given: profiles, devices, times.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::html::Text;
use super::model::{OverlayPart, ProofPart, Standing, UpstreamPart};

/// The verdicts of an overlay in words, as HTML: `harmful on cpu`, `needed on cpu, by the last proof`. Profiles under which
/// it is the same are named together.
pub(super) fn words(part: &OverlayPart) -> Vec<String> {
    let mut found: Vec<(&str, bool, Vec<String>)> = Vec::new();
    for (proof, word) in part.verdicts() {
        let is_noted = matches!(proof.standing(), Standing::Noted(_));
        let on = proof.profile.as_ref().map(|profile| Text(profile).to_string());
        match found.iter_mut().find(|(known, noted, _)| (*known, *noted) == (word, is_noted)) {
            Some((.., profiles)) => profiles.extend(on),
            None => found.push((word, is_noted, on.into_iter().collect())),
        }
    }
    let words = |(word, is_noted, profiles): (&str, bool, Vec<String>)| {
        let on = if profiles.is_empty() { String::new() } else { format!(" on {}", profiles.join(", ")) };
        let by = if is_noted { ", by the last proof" } else { "" };
        format!("{word}{on}{by}")
    };
    found.into_iter().map(words).collect()
}

/// A line for each profile: where and when its verdicts were measured.
pub(super) fn list(upstream: &UpstreamPart, out: &mut String) {
    let mut profiles: BTreeMap<Option<&str>, Vec<&ProofPart>> = BTreeMap::new();
    for proof in upstream.overlays.iter().flat_map(|part| &part.proofs) {
        profiles.entry(proof.profile.as_deref()).or_default().push(proof);
    }
    if profiles.is_empty() {
        return;
    }
    let _ = writeln!(out, "<p>What the verdicts on {} stand on:</p>\n<ul>", Text(&upstream.name));
    for (profile, proofs) in profiles {
        let name = profile.map(|profile| format!("<strong>{}</strong>: ", Text(profile)));
        let name = name.unwrap_or_default();
        let _ = writeln!(out, "<li>{name}{}</li>", by(&proofs));
    }
    out.push_str("</ul>\n");
}

/// `measured on CPU X, last at 2026-01-31 09:05 UTC`
fn by(proofs: &[&ProofPart]) -> String {
    let mut devices: BTreeMap<String, &str> = BTreeMap::new();
    for proof in proofs {
        let Some(measured) = &proof.measured else { continue };
        let latest = devices.entry(proof.machine.device_or_cpu()).or_insert(measured);
        *latest = (*latest).max(measured);
    }
    let devices: Vec<String> =
        devices.iter().map(|(device, until)| format!("{}, last at {}", Text(device), Text(until))).collect();
    let is_noted = proofs.iter().any(|proof| matches!(proof.standing(), Standing::Noted(_)));
    let mut by = match (devices.is_empty(), is_noted) {
        (true, true) => "the last proof; nothing that it measured is at hand here".to_owned(),
        (true, false) => "nothing that was run is on record here".to_owned(),
        (false, true) => format!("measured on {}; some on the last proof alone", devices.join("; on ")),
        (false, false) => format!("measured on {}", devices.join("; on ")),
    };
    if proofs.iter().any(|proof| proof.is_on_file) {
        by.push_str("; whether that holds on the machine that made this page was not checked");
    }
    by
}
