//! The tree on disk against the pin with the overlays on it.

use std::path::Path;

use bstr::BStr;

use crate::diagnostic::Severity;
use crate::escape::{for_shell, for_terminal};
use crate::id::{OverlayName, UpstreamPath};
use crate::sorted::SortedMap;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attestation {
    /// It says nothing any more: a run was interrupted.
    Missing,
    /// It cannot be read.
    Damaged,
    /// It says something else than the manifest.
    Differs,
}

/// The finding for the attestation of a tree.
#[must_use]
pub fn attestation(what: Attestation, place: &TreePlace<'_>) -> Finding {
    let finding = match what {
        Attestation::Missing => {
            let message = "the tree has no attestation; a run was interrupted";
            Finding::new(Severity::Warning, "attestation-missing", message)
        }
        Attestation::Damaged => {
            Finding::error("attestation-damaged", "the tree's attestation cannot be read")
        }
        Attestation::Differs => {
            let message = "the tree's attestation is of another pin, of other overlays or of other features";
            Finding::error("attestation-differs", message)
        }
    };
    finding.hint(format!("bring the tree to what the manifest says: {}", place.apply))
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
    /// The start of a command that puts the pin's bytes at a path of the folder, if its own git can.
    pub checkout: Option<&'a str>,
}

impl TreePlace<'_> {
    /// What to do about a path.
    fn hint(&self, shown: &str, difference: TreeDifference, is_overlaid: bool) -> String {
        let dir = for_terminal(self.dir.display().to_string());
        let file = for_shell(&format!("{dir}/{shown}"));
        let path = for_shell(shown);
        let apply = self.apply;
        match difference {
            TreeDifference::Extra => format!("if it is wanted, make an overlay of it; if not: rm -r {file}"),
            TreeDifference::Missing | TreeDifference::Mode if is_overlaid => format!("put it right: {apply}"),
            _ if is_overlaid => format!("put it back (a copy of what is there is kept): {apply} --force"),
            _ if self.is_adopted => match self.checkout {
                Some(checkout) => {
                    format!("if the edit is wanted, make an overlay of it; if not: {checkout} {path}")
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
    let shown = for_terminal(path);
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
    let hint = place.hint(&shown, difference, !overlays.is_empty());
    let mut finding = Finding::error(code, message).hint(hint);
    if let Some(path) = &path {
        finding = finding.on(path);
    }
    match overlays.last() {
        Some(overlay) => finding.of(overlay),
        None => finding,
    }
}
