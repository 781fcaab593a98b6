//! `verify --build`: whether a build folder has what the overlays give.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::io::built::{self, BuiltError};
use crate::io::tree::{Attested, HOME, load_attestation};
use crate::io::workspace::Workspace;
use crate::overlay::Resolution;
use crate::plan::Wanted;
use crate::verify::Finding;
use crate::verify::compiled::{Build, Overlaid, Reading, check, judge, read_elsewhere};

use super::apply::plural;
use super::{Context, Failure, Ui};

/// Checks all overlaid paths of a tree against a build of it, and says how many were read.
///
/// # Errors
/// If the build folder is not there.
pub(super) fn check_build(
    context: &Context,
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
            let hint = "builds of ninja, and of CMake with make, record what they read; others can write a compile_commands.json";
            return Ok(vec![match error {
                BuiltError::NotABuild => finding.hint(hint),
                BuiltError::Io { .. } | BuiltError::Malformed { .. } => finding,
            }]);
        }
    };
    let mut findings = Vec::new();
    let real_tree = tree.canonicalize().ok();
    let ours = built_tree(&build, wanted)?.filter(|dir| dir.canonicalize().ok() != real_tree);
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
        let mut finding = check(&overlaid, &reading, &shown);
        let is_elsewhere = match reading {
            Reading::NotRead => true,
            Reading::Unknown { .. } => !tree.is_dir(),
            _ => false,
        };
        if let Some(finding) = finding.as_mut().filter(|_| is_elsewhere) {
            let verify = |dir: &Path| {
                let folder = crate::escape::for_shell(&shown);
                format!("{} --build {folder}", context.command("verify", Some(&from_here(dir))))
            };
            let read = read_elsewhere(&overlaid, &build);
            let hint = match (&ours, &read) {
                (Some(dir), _) => Some(format!("the build has another tree of ours: {}", verify(dir))),
                (None, Some(dir)) => Some(format!(
                    "the build read a file of that path in another folder; if that is the tree: {}",
                    verify(dir)
                )),
                (None, None) if !tree.is_dir() => {
                    Some("name the folder of the tree that was built: --tree DIR".to_owned())
                }
                (None, None) => None,
            };
            finding.diagnostic.hint = hint.or(finding.diagnostic.hint.take());
        }
        findings.extend(finding);
    }
    if !ui.is_json() {
        ui.note(format_args!(
            "{}: of {} of `{}`, compilers read {compiled} and CMake {configured}",
            shown,
            plural(wanted.changes.len(), "overlaid path", "overlaid paths"),
            workspace.manifest.upstream.name.value
        ));
    }
    Ok(findings)
}

/// A folder as a person would write it: relative, if it is below the one that the command runs in.
fn from_here(dir: &Path) -> PathBuf {
    let here = Path::new(".").canonicalize().ok();
    let inside = here.as_ref().and_then(|here| dir.strip_prefix(here).ok());
    inside.filter(|inside| *inside != Path::new("")).unwrap_or(dir).to_owned()
}

/// A folder of which the build read something and that says that it is a tree of this upstream.
fn built_tree(build: &Build, wanted: &Wanted) -> Result<Option<PathBuf>, Failure> {
    let read = build.steps.iter().flat_map(|step| step.inputs.files()).chain(&build.configure);
    let folders: BTreeSet<&Path> = read.flat_map(|file| file.ancestors().skip(1)).collect();
    for folder in folders {
        // Few folders of a build have an attestation; most need only this look.
        if !folder.join(HOME).is_dir() {
            continue;
        }
        if let Attested::Claims(claimed) = load_attestation(folder)?
            && claimed.upstream == wanted.upstream.as_str()
        {
            return Ok(Some(folder.to_owned()));
        }
    }
    Ok(None)
}
