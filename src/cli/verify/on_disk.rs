//! What stands on disk: the tree, and a build of it.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::{Failure, FailureKind, Ui};
use super::{Args, Checked, wanted};
use crate::diagnostic::Severity;
use crate::escape::for_shell;
use crate::id::Name;
use crate::io::tree;
use crate::overlay::{Loaded, Resolution};
use crate::plan::Wanted;
use crate::tree::Content;
use crate::verify::Finding;
use crate::verify::tree::{self as tree_check, Attestation, TreeDifference, TreePlace};

impl Checked<'_> {
    pub(super) fn check_tree(
        &self,
        args: &Args,
        said: &BTreeSet<&Name>,
        ui: &mut Ui,
    ) -> Result<Vec<Finding>, Failure> {
        let dir = match &args.tree {
            Some(dir) => dir.clone(),
            None => self.context.tree(self.workspace)?,
        };
        if !self.workspace.problems.is_empty() {
            // What the overlays make of the tree cannot be told before these are mended.
            return Ok(Vec::new());
        }
        let mut wanted_trees = Vec::new();
        for features in self.feature_sets()? {
            let is_said = |loaded: &Loaded| {
                !loaded.overlay.kind.is_whole()
                    && said.contains(loaded.name())
                    && loaded.overlay.is_on(&features)
            };
            match wanted(self.workspace, &features, self.store) {
                Ok(wanted) => wanted_trees.push(wanted),
                Err(failure)
                    if failure.kind == FailureKind::NeedsPerson
                        && self.workspace.overlays.iter().any(is_said) =>
                {
                    return Ok(Vec::new());
                }
                Err(failure) if matches!(failure.kind, FailureKind::Input | FailureKind::NeedsPerson) => {
                    let finding = Finding::error("does-not-fit", failure.message);
                    return Ok(vec![match failure.hint {
                        Some(hint) => finding.hint(hint),
                        None => finding,
                    }]);
                }
                Err(failure) => return Err(failure),
            }
        }
        if !dir.is_dir() {
            let message = format!("the tree is not there: `{}`", dir.display());
            let severity = if args.tree.is_some() { Severity::Error } else { Severity::Warning };
            let hint = match &args.tree {
                Some(dir) => format!("make it: {}", self.context.command("apply", Some(dir))),
                None => format!(
                    "make it: {}; if something else fills the tree (CMake, a submodule), name its folder: --tree DIR",
                    self.context.command("apply", None)
                ),
            };
            return Ok(vec![Finding::new(severity, "tree-absent", message).hint(hint)]);
        }
        ui.progress(format!("reading {}", dir.display()));
        let is_adopted = match tree::load_attestation(&dir)? {
            tree::Attested::Claims(claimed) => claimed.origin == tree::Origin::Adopted,
            tree::Attested::Nothing | tree::Attested::Withdrawn | tree::Attested::Damaged => {
                args.tree.is_some()
            }
        };
        let apply = self.context.command("apply", args.tree.as_deref());
        let pin = self.workspace.manifest.upstream.pin.value;
        let has_git = dir.join(".git").exists();
        let checkout =
            has_git.then(|| format!("git -C {} checkout {pin} --", for_shell(&dir.display().to_string())));
        let place = TreePlace { dir: &dir, is_adopted, apply: &apply, checkout: checkout.as_deref() };
        let findings = compare_tree(&place, &wanted_trees);
        ui.end_progress();
        let mut findings = findings?;
        findings.extend(check_attestation(&place, &wanted_trees)?);
        Ok(findings)
    }

    /// A build is of one profile.
    pub(super) fn check_build(
        &self,
        args: &Args,
        folder: &Path,
        ui: &mut Ui,
    ) -> Result<Vec<Finding>, Failure> {
        let features = super::super::apply::features(self.context, self.workspace)?;
        let dir = match &args.tree {
            Some(dir) => dir.clone(),
            None => self.context.tree(self.workspace)?,
        };
        match wanted(self.workspace, &features, self.store) {
            Ok(wanted) => {
                super::super::compiled::check_build(self.context, self.workspace, &dir, &wanted, folder, ui)
            }
            // The check of the tree has found it.
            Err(failure) if matches!(failure.kind, FailureKind::Input | FailureKind::NeedsPerson) => {
                Ok(Vec::new())
            }
            Err(failure) => Err(failure),
        }
    }

    /// The chosen features; if none were chosen, those of each profile: the tree may have been made for any.
    pub(super) fn feature_sets(&self) -> Result<Vec<BTreeSet<Name>>, Failure> {
        let (context, workspace) = (self.context, self.workspace);
        let chosen = context.profile_if_any(workspace)?;
        if chosen.is_some() || !context.features.is_empty() || workspace.manifest.profiles.is_empty() {
            return Ok(vec![context.features(workspace, chosen)?]);
        }
        workspace.manifest.profiles.iter().map(|profile| context.features(workspace, Some(profile))).collect()
    }
}

/// What the tree says of itself against what it should be.
fn check_attestation(
    place: &TreePlace<'_>,
    wanted_trees: &[(Wanted, Resolution)],
) -> Result<Option<Finding>, Failure> {
    let finding = |what| Ok(Some(tree_check::attestation(what, place)));
    let claimed = match tree::load_attestation(place.dir)? {
        tree::Attested::Nothing => return Ok(None),
        tree::Attested::Withdrawn => return finding(Attestation::Missing),
        tree::Attested::Damaged => return finding(Attestation::Damaged),
        tree::Attested::Claims(claimed) => claimed,
    };
    let is_of = |wanted: &Wanted| {
        let entries = wanted.changes.iter().map(|(path, change)| (path, change.as_ref().map(Content::entry)));
        claimed.pin == wanted.commit
            && claimed.upstream == wanted.upstream.as_str()
            && claimed.fingerprint == wanted.fingerprint
            && entries.eq(claimed.overlaid.iter().map(|(path, entry)| (path, *entry)))
    };
    let is_right = wanted_trees.iter().any(|(wanted, _)| is_of(wanted));
    if is_right { Ok(None) } else { finding(Attestation::Differs) }
}

/// The differences to the tree that is the nearest.
fn compare_tree(
    place: &TreePlace<'_>,
    wanted_trees: &[(Wanted, Resolution)],
) -> Result<Vec<Finding>, Failure> {
    let mut best: Option<Vec<Finding>> = None;
    for (wanted, resolution) in wanted_trees {
        let differences = tree::compare(place.dir, wanted).map_err(Failure::from)?;
        let findings: Vec<Finding> =
            differences.iter().map(|difference| describe_difference(difference, place, resolution)).collect();
        if findings.is_empty() {
            return Ok(findings);
        }
        if best.as_ref().is_none_or(|best| findings.len() < best.len()) {
            best = Some(findings);
        }
    }
    Ok(best.unwrap_or_default())
}

fn describe_difference(
    difference: &tree::Difference,
    place: &TreePlace<'_>,
    resolution: &Resolution,
) -> Finding {
    let kind = match difference.kind {
        tree::Kind::Missing => TreeDifference::Missing,
        tree::Kind::Extra => TreeDifference::Extra,
        tree::Kind::Content { .. } => TreeDifference::Content,
        tree::Kind::Mode { .. } => TreeDifference::Mode,
        tree::Kind::Type { .. } => TreeDifference::Type,
    };
    tree_check::check(difference.path.as_ref(), kind, place, &resolution.by)
}
