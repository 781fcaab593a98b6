//! The tree on disk against the pin with the overlays on it.

use crate::id::{OverlayName, UpstreamPath};

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

/// The finding for a path; `overlays` are those that make its content.
#[must_use]
pub fn check(path: &UpstreamPath, difference: TreeDifference, overlays: &[OverlayName]) -> Finding {
    let owner = match overlays {
        [] => "upstream's file".to_owned(),
        overlays => {
            let names: Vec<String> = overlays.iter().map(|name| format!("`{name}`")).collect();
            format!("what overlay {} makes of it", names.join(", "))
        }
    };
    let (code, message) = match difference {
        TreeDifference::Missing => ("tree-missing", format!("{path} is missing in the tree; it should be {owner}")),
        TreeDifference::Extra => ("tree-extra", format!("{path} is in the tree and should not be")),
        TreeDifference::Content => ("tree-content", format!("{path} in the tree is not {owner}")),
        TreeDifference::Mode => ("tree-mode", format!("{path} in the tree has another mode than {owner}")),
        TreeDifference::Type => ("tree-type", format!("{path} in the tree is no file or another kind than {owner}")),
    };
    let finding = Finding::error(code, message).on(path);
    match overlays.last() {
        Some(overlay) => finding.of(overlay),
        None => finding,
    }
}
