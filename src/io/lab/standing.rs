//! Whether records stand for what a proof would measure today.
//!
//! Decides by what can be compared without a compiler and without the machine that measured: the upstream's files, our
//! own, options, how the test is run. So what it finds stale is stale; what it lets stand may still be measured again
//! where the compiler or the machine is another one. Starts no program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::evidence::result::MAY_MATTER;
use crate::evidence::{ResultRecord, VariantNote};
use crate::id::{CommitId, Name, UpstreamPath};
use crate::io::python::PACKAGES;
use crate::io::workspace::Workspace;
use crate::manifest::{Profile, Test};
use crate::upstream::Upstream;
use crate::variant::{Variant, variants_of};
use crate::verdict::Obstacle;

use super::inputs::{describe, hash};
use super::make::Workshop;
use super::measure::{Subject, TREE};
use super::other_machine::Asked;
use super::subjects::Subjects;

/// What a record stands for today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// A variant that proofs are about.
    Holds,
    /// A variant that is what it was, at a commit that no proof is about: neither the pin nor a witness.
    OtherCommit(CommitId),
    /// Nothing: this is another one than it was then.
    Stale(String),
    /// It cannot be told: objects of the upstream are not here.
    NotKnown,
}

/// Records under one profile, held against what stands here now.
pub struct Standings<'a> {
    workspace: &'a Workspace,
    features: &'a BTreeSet<Name>,
    subjects: Subjects<'a>,
    workshop: Workshop<'a>,
    asked: BTreeMap<Name, Asked>,
    proofs: BTreeMap<Name, Vec<Variant>>,
}

impl<'a> Standings<'a> {
    /// Nothing is compared yet.
    #[must_use]
    pub fn new(
        workspace: &'a Workspace,
        features: &'a BTreeSet<Name>,
        profile: Option<&'a Profile>,
        upstream: &'a dyn Upstream,
    ) -> Self {
        Self {
            workspace,
            features,
            subjects: Subjects::new(workspace, features, upstream),
            workshop: Workshop::to_compare(&workspace.root, profile),
            asked: BTreeMap::new(),
            proofs: BTreeMap::new(),
        }
    }

    /// What a record of a test stands for.
    pub fn of(&mut self, test: &Test, record: &ResultRecord) -> Standing {
        let name = &test.name.value;
        if !self.proofs.contains_key(name) {
            let (proofs, asked) = (self.variants_with(test), self.workshop.asked(test));
            self.proofs.insert(name.clone(), proofs);
            self.asked.insert(name.clone(), asked);
        }
        let proofs = self.proofs.get(name).cloned().unwrap_or_default();
        let (mut other_commit, mut is_unknown, mut why) = (false, false, None);
        let own = match self.own_variant(&record.variant) {
            Ok(own) => Some(own),
            Err(gone) => {
                why = Some(gone);
                None
            }
        };
        // Its own variant first: what is another one there is what a person wants to know.
        for variant in own.iter().chain(proofs.iter().filter(|variant| Some(*variant) != own.as_ref())) {
            let difference = match self.subjects.get(variant) {
                Ok(subject) => self.difference(&subject, test, record),
                Err(Obstacle::Upstream(_)) => {
                    is_unknown = true;
                    continue;
                }
                Err(obstacle) => Some(obstacle.text().to_owned()),
            };
            match difference {
                None if variant.at_pin || proofs.contains(variant) => return Standing::Holds,
                None => other_commit = true,
                Some(difference) => why = why.or(Some(difference)),
            }
        }
        match why {
            _ if other_commit => Standing::OtherCommit(record.variant.commit),
            Some(why) if !is_unknown => Standing::Stale(why),
            _ => Standing::NotKnown,
        }
    }

    /// The variants on which a test is run to prove the overlays that name it.
    fn variants_with(&self, test: &Test) -> Vec<Variant> {
        let manifest = &self.workspace.manifest;
        let names = |overlay: &&crate::manifest::Overlay| {
            overlay.tests.iter().any(|name| name.as_str() == test.name.as_str())
        };
        let mut all: Vec<Variant> = Vec::new();
        for overlay in manifest.overlays.iter().filter(names) {
            let Ok(variants) = variants_of(manifest, self.features, overlay.name.as_str()) else { continue };
            let witness = variants.witness.into_iter().flatten();
            for variant in [variants.pin_with, variants.pin_without].into_iter().chain(witness) {
                if !all.contains(&variant) {
                    all.push(variant);
                }
            }
        }
        all
    }

    /// The variant that a record names, as it would be made today, or what of it is gone.
    fn own_variant(&self, note: &VariantNote) -> Result<Variant, String> {
        let manifest = &self.workspace.manifest;
        if let Some(gone) = note.overlays.iter().find(|name| manifest.overlay(name.as_str()).is_none()) {
            return Err(format!("overlay `{gone}`, which is gone"));
        }
        Ok(Variant {
            commit: note.commit,
            at_pin: note.commit == manifest.upstream.pin.value,
            fault: note.fault.as_ref().map(PathBuf::from),
            overlays: note.overlays.clone(),
        })
    }

    fn difference(&mut self, subject: &Subject, test: &Test, record: &ResultRecord) -> Option<String> {
        let asked = self.asked.get(&test.name.value)?;
        let sources = &subject.sources;
        let (hashes, root) = (&mut self.workshop.hashes, &self.workshop.root);
        let mut now = |file: &str| match file.strip_prefix(MAY_MATTER).unwrap_or(file) {
            file if file.starts_with(PACKAGES) || file.starts_with('/') => None,
            file => Some(match file.strip_prefix(TREE) {
                Some(path) => describe(UpstreamPath::parse(path).ok().and_then(|path| sources.entry(&path))),
                None => hash(hashes, &root.join(file)),
            }),
        };
        let entry = |path: &UpstreamPath| sources.entry(path);
        record.difference(&asked.of(sources, &entry), &mut now)
    }
}
