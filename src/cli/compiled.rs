//! `verify --build`: whether a build folder has what the overlays give.

use std::path::Path;

use crate::io::built::{self, BuiltError};
use crate::io::workspace::Workspace;
use crate::overlay::Resolution;
use crate::plan::Wanted;
use crate::verify::Finding;
use crate::verify::compiled::{Overlaid, Reading, check, judge};

use super::{Failure, Ui};

/// Checks all overlaid paths of a tree against a build of it, and says how many were read.
///
/// # Errors
/// If the build folder is not there.
pub(super) fn check_build(
    workspace: &Workspace,
    tree: &Path,
    (wanted, resolution): &(Wanted, Resolution),
    folder: &Path,
    ui: &mut Ui,
) -> Result<Vec<Finding>, Failure> {
    let shown = folder.display().to_string();
    if !folder.is_dir() {
        return Err(Failure::input(format!("there is no build folder `{shown}`")));
    }
    let build = match built::read(folder) {
        Ok(build) => build,
        Err(error) => {
            let finding = Finding::error(
                "compiled-unknown",
                format!("cannot tell what the build in `{shown}` compiled: {error}"),
            );
            let hint = "builds of ninja, and of CMake with make, record what they read";
            return Ok(vec![match error {
                BuiltError::NotABuild => finding.hint(hint),
                BuiltError::Io { .. } | BuiltError::Malformed { .. } => finding,
            }]);
        }
    };
    let mut findings = Vec::new();
    let (mut compiled, mut configured) = (0, 0);
    for (path, content) in &wanted.changes {
        let file = built::without_links_on_the_way(&tree.join(path.to_os_path()));
        let overlaid = Overlaid {
            path: path.clone(),
            overlay: resolution.by.get(path).and_then(|by| by.last()).cloned(),
            target: file.canonicalize().unwrap_or_else(|_| file.clone()),
            written: built::written(&file),
            file,
            deleted: content.is_none(),
        };
        let reading = judge(&overlaid, &build);
        match reading {
            Reading::Compiled => compiled += 1,
            Reading::Configured => configured += 1,
            _ => {}
        }
        findings.extend(check(&overlaid, &reading, &shown));
    }
    if !ui.is_json() {
        ui.note(format_args!(
            "{}: of {} overlaid paths of `{}`, compilers read {compiled} and CMake {configured}",
            shown,
            wanted.changes.len(),
            workspace.manifest.upstream.name.value
        ));
    }
    Ok(findings)
}
