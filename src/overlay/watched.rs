//! The files of ours that a tree is made from, for build systems that must notice when one changes.
//!
//! Decides what to watch. Never looks at a file: whether it changed is the build system's to find out.

use std::path::{Path, PathBuf};

use crate::manifest::{Kind, Manifest, pattern};
use crate::sorted::SortedSet;

use super::Loaded;

/// What to watch. All paths are relative to the repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watched {
    /// The manifest and the files that overlays name. Also those of overlays that are off: features may turn them on.
    pub files: SortedSet<PathBuf>,
    /// Folders in which a new file would be a part of an overlay, with all folders below them.
    pub folders: SortedSet<PathBuf>,
}

/// What to watch for a manifest with these overlays.
#[must_use]
pub fn watched(manifest: &Manifest, overlays: &[Loaded]) -> Watched {
    let mut watched = Watched::default();
    watched.files.insert(manifest.file.clone());
    let folder = manifest.overlay_folder();
    for loaded in overlays {
        watched.files.extend(loaded.own.iter().map(|own| own.file.clone()));
        if let Kind::Files(globs) = &loaded.overlay.kind {
            let globs = globs.iter().map(|glob| glob.value.as_str());
            watched.folders.extend(globs.filter_map(fixed_part).map(|part| folder.join(part)));
        }
    }
    // A folder is watched with all below it.
    let all = watched.folders.clone();
    watched.folders.retain(|folder| !folder.ancestors().skip(1).any(|above| all.contains(above)));
    watched
}

/// The folder before the first wildcard of a glob; `None` for a plain path, which can match nothing new.
fn fixed_part(glob: &str) -> Option<&Path> {
    if !pattern::has_wildcards(glob) {
        return None;
    }
    let mut end = 0;
    for part in glob.split('/').take_while(|part| !pattern::has_wildcards(part)) {
        end += part.len() + 1;
    }
    Some(Path::new(glob[..end].trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_is_watched_from_its_first_wildcard_on() {
        assert_eq!(fixed_part("src/kernels/**/*.cu"), Some(Path::new("src/kernels")));
        assert_eq!(fixed_part("src/{a,b}/x.cu"), Some(Path::new("src")));
        assert_eq!(fixed_part("*.cu"), Some(Path::new("")));
        assert_eq!(fixed_part("src/norm.cu"), None);
    }

    #[test]
    fn a_folder_inside_another_one_is_not_named_again() {
        let text = "version = 1\n[upstream]\nname = \"up\"\nurl = \"/up\"\npin = \"1111111111111111111111111111111111111111\"\n\
                    [[overlay]]\nname = \"a\"\nfiles = [\"src/**\", \"src/x/*.cu\", \"b.h\"]\n";
        let (manifest, problems) = crate::manifest::parse(Path::new("manifests/up.toml"), text);
        let manifest = manifest.unwrap_or_else(|| panic!("{problems:?}"));
        let loaded = Loaded {
            overlay: manifest.overlays[0].clone(),
            files: Default::default(),
            patch: None,
            witness_patch: None,
            own: vec![super::super::OwnFile {
                file: "overlays/up/src/x/a.cu".into(),
                id: crate::id::BlobId::of(b""),
            }],
        };
        let watched = watched(&manifest, &[loaded]);
        assert_eq!(*watched.folders, [PathBuf::from("overlays/up/src")]);
        let files = ["manifests/up.toml", "overlays/up/src/x/a.cu"].map(PathBuf::from);
        assert_eq!(*watched.files, files);
    }
}
