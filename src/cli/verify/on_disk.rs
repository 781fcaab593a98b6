//! What stands on disk: the tree, and a build of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bstr::BString;

use super::super::{Failure, FailureKind, Ui};
use super::{Args, Checked, wanted};
use crate::diagnostic::Severity;
use crate::escape::for_shell;
use crate::id::Name;
use crate::io::tree::{self, Options, Outcome};
use crate::manifest::Profile;
use crate::overlay::{Loaded, Resolution};
use crate::plan::Wanted;
use crate::tree::Content;
use crate::verify::Finding;
use crate::verify::tree::{self as tree_check, Attestation, MadeWith, Mended, TreeDifference, TreePlace};

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
        let nothing = BTreeMap::new();
        let place = TreePlace {
            dir: &dir,
            is_adopted,
            apply: &apply,
            mended: &nothing,
            checkout: checkout.as_deref(),
        };
        let nearest = nearest(&dir, &wanted_trees);
        ui.end_progress();
        let mut findings = Vec::new();
        if let Some(Nearest { differences, wanted, resolution }) = nearest? {
            let adopt = args.tree.is_some();
            let (mended, take) = match self.mended(&dir, wanted, adopt) {
                // A folder that something else filled is taken as it is only where it is named.
                None if !adopt => {
                    let mended = self.mended(&dir, wanted, true).unwrap_or_default();
                    (mended, Some(self.context.command("apply", Some(&dir))))
                }
                mended => (mended.unwrap_or_default(), None),
            };
            let place = TreePlace {
                mended: &mended,
                is_adopted: is_adopted || take.is_some(),
                apply: take.as_ref().unwrap_or(&apply),
                ..place
            };
            findings.extend(differences.iter().map(|found| describe_difference(found, &place, resolution)));
        }
        findings.extend(self.check_attestation(&place, &wanted_trees)?);
        Ok(findings)
    }

    /// What `apply` would do about the paths of a tree. Where it would not do anything, none are known: it says itself then
    /// what is in its way. `None`: it would not take the folder for its own.
    fn mended(&self, dir: &Path, wanted: &Wanted, adopt: bool) -> Option<BTreeMap<BString, Mended>> {
        let options = Options { force: true, dry_run: true, adopt };
        let steps = match tree::bring_to(dir, wanted, self.store, &options, &mut |_| {}) {
            Ok(Outcome::Changed(plan)) => plan.steps,
            Ok(Outcome::NotOurs) => return None,
            Ok(Outcome::Unchanged(_) | Outcome::Refused(_)) | Err(_) => Vec::new(),
        };
        let steps = steps.into_iter().map(|step| {
            let how = if step.keep { Mended::ByForce } else { Mended::Plainly };
            (step.path.as_bytes().to_owned(), how)
        });
        Some(steps.collect())
    }

    /// What the tree says of itself against what it should be.
    fn check_attestation(
        &self,
        place: &TreePlace<'_>,
        wanted_trees: &[(Wanted, Resolution)],
    ) -> Result<Option<Finding>, Failure> {
        let finding = |what| Ok(Some(tree_check::attestation(&what, place)));
        let claimed = match tree::load_attestation(place.dir)? {
            tree::Attested::Nothing => return Ok(None),
            tree::Attested::Withdrawn => return finding(Attestation::Missing),
            tree::Attested::Damaged => return finding(Attestation::Damaged),
            tree::Attested::Claims(claimed) => claimed,
        };
        if wanted_trees.iter().any(|(wanted, _)| is_of(&claimed, wanted)) {
            return Ok(None);
        }
        finding(Attestation::Differs(self.made_with(&claimed)?))
    }

    /// The features that a tree was made with that is of none of those that were asked for.
    fn made_with(&self, claimed: &tree::Claimed) -> Result<MadeWith, Failure> {
        let manifest = &self.workspace.manifest;
        let named = manifest.named_features();
        if named.is_empty() {
            return Ok(MadeWith::Asked);
        }
        let found = tree_check::features_of(claimed.pin, &claimed.fingerprint, &claimed.overlaid, &named);
        let Some(features) = found else { return Ok(MadeWith::Unknown) };
        if self.feature_sets()?.contains(&features) {
            return Ok(MadeWith::Asked);
        }
        let options = options_for(&manifest.profiles, &features);
        Ok(MadeWith::Others { features, options })
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

/// Whether an attestation is of what is wanted.
fn is_of(claimed: &tree::Claimed, wanted: &Wanted) -> bool {
    let entries = wanted.changes.iter().map(|(path, change)| (path, change.as_ref().map(Content::entry)));
    claimed.pin == wanted.commit
        && claimed.upstream == wanted.upstream.as_str()
        && claimed.fingerprint == wanted.fingerprint
        && entries.eq(claimed.overlaid.iter().map(|(path, entry)| (path, *entry)))
}

/// The options that turn on just these features: a profile that has none but these, and the rest by name. `None` if there
/// are no such options: every profile turns another feature on, or nothing is to be on and nothing else is asked for.
fn options_for(profiles: &[Profile], features: &BTreeSet<Name>) -> Option<String> {
    let of =
        |profile: &Profile| profile.features.iter().map(|name| name.value.clone()).collect::<BTreeSet<_>>();
    let fitting = profiles.iter().filter(|profile| of(profile).is_subset(features));
    let nearest = fitting.max_by_key(|profile| profile.features.len());
    if nearest.is_none() && !profiles.is_empty() {
        return None;
    }
    let has = nearest.map(of).unwrap_or_default();
    let rest: Vec<&str> = features.difference(&has).map(Name::as_str).collect();
    let profile =
        nearest.filter(|_| profiles.len() > 1).map(|profile| format!("--profile {}", profile.name.value));
    let rest = (!rest.is_empty()).then(|| format!("--features {}", rest.join(",")));
    let options: Vec<String> = profile.into_iter().chain(rest).collect();
    (!options.is_empty()).then(|| options.join(" "))
}

/// The wanted tree to which a folder has the fewest differences, and these.
struct Nearest<'w> {
    differences: Vec<tree::Difference>,
    wanted: &'w Wanted,
    resolution: &'w Resolution,
}

/// The nearest of the wanted trees; `None` if the folder is one of them.
fn nearest<'w>(dir: &Path, wanted_trees: &'w [(Wanted, Resolution)]) -> Result<Option<Nearest<'w>>, Failure> {
    let mut best: Option<Nearest<'_>> = None;
    for (wanted, resolution) in wanted_trees {
        let differences = tree::compare(dir, wanted).map_err(Failure::from)?;
        if differences.is_empty() {
            return Ok(None);
        }
        if best.as_ref().is_none_or(|best| differences.len() < best.differences.len()) {
            best = Some(Nearest { differences, wanted, resolution });
        }
    }
    Ok(best)
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
