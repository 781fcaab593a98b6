//! What a CMake project has to know of a tree, as CMake code. `cmake/Overlaid.cmake` evaluates it.
//!
//! Only renders: never runs CMake and looks at no file.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The module that CMake projects include.
pub const MODULE: &str = include_str!("../cmake/Overlaid.cmake");
/// What `find_package(Overlaid)` reads.
pub const CONFIG: &str = include_str!("../cmake/OverlaidConfig.cmake");
/// What tells `find_package` whether a version is asked for that this is not.
pub const CONFIG_VERSION: &str = include_str!("../cmake/OverlaidConfigVersion.cmake");

/// What there is to know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The folder of the tree.
    pub tree: PathBuf,
    /// The pinned commit.
    pub pin: String,
    /// The hash of pin, overlays and features.
    pub fingerprint: String,
    /// Files and folders whose change makes the tree another one, or that should not change: absolute.
    pub depends: BTreeSet<PathBuf>,
}

/// Code that sets `OVERLAID_RESULT_*`.
#[must_use]
pub fn render(facts: &Facts) -> Vec<u8> {
    let mut script = b"set(OVERLAID_RESULT_TREE ".to_vec();
    quote(&mut script, &facts.tree);
    script.extend_from_slice(b")\nset(OVERLAID_RESULT_DEPENDS");
    for path in &facts.depends {
        script.extend_from_slice(b"\n  ");
        quote(&mut script, path);
    }
    let plain = format!(
        ")\nset(OVERLAID_RESULT_PIN {})\nset(OVERLAID_RESULT_FINGERPRINT {})\n",
        facts.pin, facts.fingerprint
    );
    script.extend_from_slice(plain.as_bytes());
    script
}

/// A quoted argument. A semicolon stays one element of the list that it is put into.
fn quote(script: &mut Vec<u8>, path: &Path) {
    script.push(b'"');
    for &byte in path.as_os_str().as_bytes() {
        if matches!(byte, b'"' | b'\\' | b'$' | b';' | b'@') {
            script.push(b'\\');
        }
        script.push(byte);
    }
    script.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cmake_would_read_otherwise_is_escaped() {
        let facts = Facts {
            tree: "/a b/${x}".into(),
            pin: "11".into(),
            fingerprint: "22".into(),
            depends: BTreeSet::from(["/q\"q".into(), "/s;s".into()]),
        };
        let expected = "set(OVERLAID_RESULT_TREE \"/a b/\\${x}\")\n\
            set(OVERLAID_RESULT_DEPENDS\n  \"/q\\\"q\"\n  \"/s\\;s\")\n\
            set(OVERLAID_RESULT_PIN 11)\nset(OVERLAID_RESULT_FINGERPRINT 22)\n";
        assert_eq!(String::from_utf8(render(&facts)).unwrap(), expected);
    }
}
