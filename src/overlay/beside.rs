//! Files that lie beside overlays and are none: what editors, desktops and git leave behind, and what tells people, or a build,
//! about the folder itself.
//!
//! Decides by names, and where a name can be either, by the content. Whoever leaves one out says so, and with which reason.

use std::collections::BTreeSet;
use std::path::Path;

/// Why a file of this name is nobody's source.
#[must_use]
pub fn by_name(file: &Path) -> Option<&'static str> {
    let name = file.file_name()?.to_string_lossy();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    match name.as_ref() {
        ".DS_Store" | "Thumbs.db" | "desktop.ini" => Some("a desktop wrote it"),
        name if ends(&["~", ".orig", ".rej", ".bak", ".swp", ".swo"]) || name.starts_with(".#") => {
            Some("it is a backup, or was left behind by an editor or `patch`")
        }
        _ if file.components().any(|part| part.as_os_str() == "__pycache__") => Some("Python wrote it"),
        _ => None,
    }
}

/// Why a file that stands at the top of a folder is probably about the folder.
#[must_use]
pub fn about_the_folder(file: &Path) -> Option<&'static str> {
    if file.components().count() != 1 {
        return None;
    }
    let name = file.to_string_lossy().to_ascii_lowercase();
    if ["readme", "notes", "changelog", "license", "copying"].iter().any(|start| name.starts_with(start)) {
        return Some("it is about the folder");
    }
    [".gitignore", ".gitattributes", ".gitkeep", "cmakelists.txt", "build", "build.bazel"]
        .contains(&name.as_str())
        .then_some("it belongs to the folder")
}

/// Whether nobody would take a file of this name for an overlay that the manifest forgot.
#[must_use]
pub fn is_no_source(file: &Path) -> bool {
    let name = file.to_string_lossy().to_ascii_lowercase();
    by_name(file).is_some() || name.starts_with("readme") || name.starts_with(".git")
}

/// Whether most of a text is from another one: half of its lines that say something.
#[must_use]
pub fn is_from(text: &[u8], other: &[u8]) -> bool {
    let known: BTreeSet<&[u8]> = other.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).collect();
    let lines: Vec<&[u8]> =
        text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| line.len() > 1).collect();
    let shared = lines.iter().filter(|line| known.contains(*line)).count();
    !lines.is_empty() && shared * 2 >= lines.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_behind_is_known_by_its_name() {
        for file in ["a/.DS_Store", "a/norm.cu.orig", "norm.cu~", ".#x", "a/__pycache__/x.pyc", "b/.x.swp"] {
            assert!(by_name(Path::new(file)).is_some(), "{file}");
        }
        for file in ["a/norm.cu", "original", "a/.clang-format", "x.orig.c"] {
            assert_eq!(by_name(Path::new(file)), None, "{file}");
        }
    }

    #[test]
    fn what_is_about_the_folder_stands_at_its_top() {
        for file in ["README.md", "CMakeLists.txt", ".gitattributes", "NOTES"] {
            assert!(about_the_folder(Path::new(file)).is_some(), "{file}");
        }
        for file in ["src/README.md", "src/CMakeLists.txt", "norm.cu"] {
            assert_eq!(about_the_folder(Path::new(file)), None, "{file}");
        }
    }

    #[test]
    fn what_upstream_may_have_is_a_source() {
        for file in ["README.md", ".gitattributes", "a/x.orig", ".DS_Store"] {
            assert!(is_no_source(Path::new(file)), "{file}");
        }
        for file in ["CMakeLists.txt", "LICENSE", "src/README.md", "a.cu"] {
            assert!(!is_no_source(Path::new(file)), "{file}");
        }
    }

    #[test]
    fn a_text_is_from_another_if_half_of_it_is() {
        let upstream = b"project(up)\n\nadd_library(up a.cpp)\ntarget(up)\n";
        assert!(is_from(b"project(up)\r\nadd_library(up a.cpp b.cpp)\r\ntarget(up)\r\n", upstream));
        assert!(!is_from(b"file(GLOB x *.cu)\nforeach(y ${x})\nendforeach()\n\n", upstream));
        assert!(!is_from(b"", upstream));
    }
}
