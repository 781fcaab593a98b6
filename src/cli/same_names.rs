//! Manifests that name one upstream: what is kept by that name is of both then.

use std::collections::BTreeMap;

use super::Ui;
use crate::id::Name;
use crate::io::workspace::Workspace;

/// Warns of manifests whose upstreams have one name.
pub fn warn(workspaces: &[Workspace], ui: &mut Ui) {
    let mut by_name: BTreeMap<&Name, Vec<String>> = BTreeMap::new();
    for workspace in workspaces {
        let file = format!("`{}`", workspace.manifest.file.display());
        by_name.entry(&workspace.manifest.upstream.name.value).or_default().push(file);
    }
    for (name, files) in by_name.iter().filter(|(_, files)| files.len() > 1) {
        ui.warn(format_args!(
            "{} name one upstream, `{name}`: its tree, its overlay folder, its verdicts and evidence are those of \
             all of them; give each a `name` of its own in [upstream]",
            files.join(" and ")
        ));
    }
}
