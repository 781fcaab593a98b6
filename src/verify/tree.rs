//! The tree on disk against the pin with the overlays on it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bstr::{BStr, BString};

use crate::diagnostic::Severity;
use crate::escape::{for_shell, for_terminal};
use crate::id::{CommitId, Name, OverlayName, UpstreamPath};
use crate::overlay::fingerprint_of_entries;
use crate::sorted::SortedMap;
use crate::tree::Entry;

use super::Finding;

/// How a path of the tree differs from what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeDifference {
    /// It should be there.
    Missing,
    /// It should not be there.
    Extra,
    /// Other bytes.
    Content,
    /// Other mode.
    Mode,
    /// Another kind of entry: a folder, a link, a file.
    Type,
}

/// What is wrong with what a tree says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attestation {
    /// It says nothing any more: a run was interrupted.
    Missing,
    /// It cannot be read.
    Damaged,
    /// It says something else than the manifest.
    Differs(MadeWith),
}

/// What can be told of the features that a tree was made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MadeWith {
    /// They are not the difference: those that were asked for, or the manifest names none.
    Asked,
    /// It cannot be told.
    Unknown,
    /// Others than those that were asked for.
    Others {
        /// These.
        features: BTreeSet<Name>,
        /// The options that turn just these on, if there are such.
        options: Option<String>,
    },
}

/// More features than this are not tried in all ways.
const TRIED: usize = 10;

/// The features under which an attestation has its fingerprint: of those that the manifest names, all are tried.
/// `None`: none of these ways, or there are too many.
#[must_use]
pub fn features_of(
    pin: CommitId,
    fingerprint: &str,
    overlaid: &[(UpstreamPath, Option<Entry>)],
    named: &BTreeSet<Name>,
) -> Option<BTreeSet<Name>> {
    if named.len() > TRIED {
        return None;
    }
    (0_u32..1 << named.len())
        .map(|bits| {
            let chosen = named.iter().enumerate().filter(|(bit, _)| bits & 1 << bit != 0);
            chosen.map(|(_, feature)| feature.clone()).collect::<BTreeSet<Name>>()
        })
        .find(|features| {
            let entries = overlaid.iter().map(|(path, entry)| (path, *entry));
            fingerprint_of_entries(pin, features, entries) == fingerprint
        })
}

/// The finding for the attestation of a tree.
#[must_use]
pub fn attestation(what: &Attestation, place: &TreePlace<'_>) -> Finding {
    let mend = format!("bring the tree to what the manifest says: {}", place.apply);
    let hint = match what {
        Attestation::Differs(MadeWith::Unknown) => {
            format!("{mend}; if it was made with other features, name them with --features or --profile")
        }
        Attestation::Differs(MadeWith::Others { features, options }) => {
            let names: Vec<String> = features.iter().map(|feature| format!("`{feature}`")).collect();
            match (names.as_slice(), options) {
                ([], _) => format!("it was made without features; if that is not meant, {mend}"),
                (_, Some(options)) => format!(
                    "it was made with {} on: if that is meant, name it with {options}; if not, {mend}",
                    names.join(", ")
                ),
                (_, None) => {
                    format!("it was made with {} on; if that is not meant, {mend}", names.join(", "))
                }
            }
        }
        _ => mend,
    };
    let finding = match what {
        Attestation::Missing => {
            let message = "the tree has no attestation; a run was interrupted";
            Finding::new(Severity::Warning, "attestation-missing", message)
        }
        Attestation::Damaged => {
            Finding::error("attestation-damaged", "the tree's attestation cannot be read")
        }
        Attestation::Differs(_) => {
            let message = "the tree's attestation is of another pin, of other overlays or of other features";
            Finding::error("attestation-differs", message)
        }
    };
    finding.hint(hint)
}

/// The tree that was looked at.
#[derive(Debug, Clone, Copy)]
pub struct TreePlace<'a> {
    /// Where it is.
    pub dir: &'a Path,
    /// Whether something else filled it: `apply` leaves upstream's files alone there.
    pub is_adopted: bool,
    /// The command that makes this tree.
    pub apply: &'a str,
    /// The paths that this command would change, and whether only with `--force`.
    pub mended: &'a BTreeMap<BString, Mended>,
    /// The start of a command that puts the pin's bytes at a path of the folder, if its own git can.
    pub checkout: Option<&'a str>,
}

/// How `apply` would mend a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mended {
    /// What is there can be had again, so it just does.
    Plainly,
    /// What is there is somebody's: only if it is told to.
    ByForce,
}

impl TreePlace<'_> {
    /// What to do about a path.
    fn hint(&self, path: &BStr, difference: TreeDifference, is_overlaid: bool) -> String {
        let shown = &for_terminal(path);
        let dir = for_terminal(self.dir.display().to_string());
        let file = for_shell(&format!("{dir}/{shown}"));
        let word = for_shell(shown);
        let apply = self.apply;
        match self.mended.get(path) {
            Some(Mended::Plainly) => return format!("put it right: {apply}"),
            Some(Mended::ByForce) if is_overlaid => {
                return format!("put it back (a copy of what is there is kept): {apply} --force");
            }
            _ => {}
        }
        match difference {
            TreeDifference::Extra => format!("if it is wanted, make an overlay of it; if not: rm -r {file}"),
            // What it would do, or what is in its way, it says itself.
            _ if is_overlaid => format!("put it right: {apply}"),
            _ if self.is_adopted => match self.checkout {
                Some(checkout) => {
                    format!("if the edit is wanted, make an overlay of it; if not: {checkout} {word}")
                }
                None => "if the edit is wanted, make an overlay of it; if not, fill the folder with the pin's sources \
                         anew"
                    .to_owned(),
            },
            TreeDifference::Missing => format!("put it back: {apply}"),
            _ => format!("if the edit is wanted, make an overlay of it; if not: rm -r {file} && {apply}"),
        }
    }
}

/// The finding for a path; `by` names the overlays that make the content of paths.
#[must_use]
pub fn check(
    path: &BStr,
    difference: TreeDifference,
    place: &TreePlace<'_>,
    by: &SortedMap<UpstreamPath, Vec<OverlayName>>,
) -> Finding {
    let (on_disk, shown) = (path, for_terminal(path));
    // A path on disk need not be one that an upstream can have.
    let path = UpstreamPath::parse(path).ok();
    let overlays = path.as_ref().and_then(|path| by.get(path)).map_or(&[][..], Vec::as_slice);
    let owner = match overlays {
        [] => "upstream's file".to_owned(),
        overlays => {
            let names: Vec<String> = overlays.iter().map(|name| format!("`{name}`")).collect();
            format!("what overlay {} makes of it", names.join(", "))
        }
    };
    let (code, message) = match difference {
        TreeDifference::Missing => {
            ("tree-missing", format!("{shown} is missing in the tree; it should be {owner}"))
        }
        TreeDifference::Extra => ("tree-extra", format!("{shown} is in the tree and should not be")),
        TreeDifference::Content => ("tree-content", format!("{shown} in the tree is not {owner}")),
        TreeDifference::Mode => ("tree-mode", format!("{shown} in the tree has another mode than {owner}")),
        TreeDifference::Type => {
            ("tree-type", format!("{shown} in the tree is another kind of entry than {owner}"))
        }
    };
    let hint = place.hint(on_disk, difference, !overlays.is_empty());
    let mut finding = Finding::error(code, message).hint(hint);
    if let Some(path) = &path {
        finding = finding.on(path);
    }
    match overlays.last() {
        Some(overlay) => finding.of(overlay),
        None => finding,
    }
}
