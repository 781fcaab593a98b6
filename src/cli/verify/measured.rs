//! What `verify` says of records of evidence.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{CommitId, Name};
use crate::io::lab::records;
use crate::io::lab::standing::{Standing, Standings};
use crate::io::own_files::{Disk, OwnFiles};
use crate::io::report_files;
use crate::io::workspace::find_manifests;
use crate::manifest::Profile;
use crate::verify::Finding;
use crate::verify::evidence::{self, Known};

use super::super::Failure;
use super::Checked;

/// What is odd about the records of a test under a profile.
#[derive(Default)]
struct Odd {
    stale: Vec<(String, String)>,
    of_other_commits: Vec<(String, CommitId)>,
}

impl Odd {
    /// All but these records, by the names of their files.
    fn without(mut self, kept: &BTreeSet<String>) -> Self {
        let is_kept = |file: &str| file.rsplit('/').next().is_some_and(|name| kept.contains(name));
        self.stale.retain(|(file, _)| !is_kept(file));
        self.of_other_commits.retain(|(file, _)| !is_kept(file));
        self
    }
}

impl Checked<'_> {
    /// The records of evidence. Several manifests may share the folder: where there are others, a record of a test that
    /// this one does not have is theirs.
    pub(super) fn check_evidence(&self) -> Result<Vec<Finding>, Failure> {
        let (manifest, root) = (&self.workspace.manifest, &self.workspace.root);
        let folder = manifest.docs_folder().join("evidence");
        let is_only_manifest = find_manifests(root)?.len() < 2;
        let (mut findings, mut known) = (Vec::new(), Vec::new());
        for name in records::list(&root.join(&folder)) {
            let file = folder.join(name);
            let Some(content) = Disk::new(root).read(&file)? else { continue };
            match evidence::read(manifest, &file, &String::from_utf8_lossy(&content.bytes)) {
                Ok(record) => known.push(record),
                Err(found) if is_only_manifest || found.diagnostic.code != "evidence-unused" => {
                    findings.push(*found);
                }
                Err(_) => {}
            }
        }
        // What the overlays make of the tree cannot be told before problems of the files are mended.
        if !self.workspace.problems.is_empty() {
            return Ok(findings);
        }
        let mut by_profile: BTreeMap<Option<Name>, Vec<Known>> = BTreeMap::new();
        for record in known {
            by_profile.entry(record.profile.clone()).or_default().push(record);
        }
        let of_drops = report_files::of_drops(root, &manifest.docs_folder());
        let mut standing = Vec::new();
        for (profile, records) in by_profile {
            let profile = profile.as_ref().and_then(|profile| manifest.profile(profile.as_str()));
            let Ok(features) = self.context.features(self.workspace, profile) else { continue };
            let (odd, holding) = self.held_against_today(profile, &features, records);
            for (test, odd) in odd {
                let odd = odd.without(&of_drops);
                let name = profile.map(|profile| &profile.name.value);
                findings.extend(evidence::stale(&test, name, &odd.stale));
                findings.extend(evidence::of_other_commits(&test, name, &odd.of_other_commits));
            }
            standing.extend(holding);
        }
        let mut on_under: Vec<(&Profile, BTreeSet<Name>)> = Vec::new();
        for profile in &manifest.profiles {
            // `--features` may exclude what a profile turns on: under those nobody builds it.
            if let Ok(features) = self.context.features(self.workspace, Some(profile)) {
                on_under.push((profile, features));
            }
        }
        findings.extend(evidence::unseen(manifest, &on_under, &standing));
        Ok(findings)
    }

    /// What is odd about records under a profile, by test, and those that stand for something today.
    fn held_against_today(
        &self,
        profile: Option<&Profile>,
        features: &BTreeSet<Name>,
        records: Vec<Known>,
    ) -> (BTreeMap<Name, Odd>, Vec<Known>) {
        let mut standings = Standings::new(self.workspace, features, profile, self.store);
        let mut odd: BTreeMap<Name, Odd> = BTreeMap::new();
        let mut holding = Vec::new();
        for known in records {
            let Some(test) = self.workspace.manifest.test(known.record.test.as_str()) else { continue };
            match standings.of(test, &known.record) {
                Standing::Holds | Standing::NotKnown => holding.push(known),
                Standing::OtherCommit(commit) => {
                    let odd = odd.entry(test.name.value.clone()).or_default();
                    odd.of_other_commits.push((known.file, commit));
                }
                Standing::Stale(why) => {
                    odd.entry(test.name.value.clone()).or_default().stale.push((known.file, why));
                }
            }
        }
        (odd, holding)
    }
}
