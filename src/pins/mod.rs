//! Where a repository says which commit of somebody else's it builds on.
//!
//! A file per format reads what it says: a URL and a revision, with the line. What an expression leaves open is left out, never
//! guessed. [`group`] puts the pins of one upstream together. Never touches a file.

pub mod archive;
pub mod bazel;
pub mod build_rs;
pub mod cargo;
pub mod cmake;
pub mod conan;
pub mod group;
pub mod repeats;
pub mod starlark;
pub mod vcpkg;
pub mod west;

/// A pin that a file has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// What pins it, as a person would call it: `FetchContent`.
    pub by: &'static str,
    /// Its name there, if it has one.
    pub name: Option<String>,
    /// The repository.
    pub url: String,
    /// A full commit id, a tag or a branch.
    pub revision: String,
    /// The line, from 1.
    pub line: usize,
}

/// The pins that a file has, by its path in the repository.
#[must_use]
pub fn of_file(path: &str, text: &str) -> Vec<Pin> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name {
        "portfile.cmake" => vcpkg::of_portfile(text),
        "CMakeLists.txt" => cmake::pins(text),
        _ if name.ends_with(".cmake") => cmake::pins(text),
        "Cargo.toml" => cargo::pins(text),
        "build.rs" => build_rs::pins(text),
        "MODULE.bazel" | "WORKSPACE" | "WORKSPACE.bazel" | "BUILD" | "BUILD.bazel" => bazel::pins(text),
        _ if name.ends_with(".bzl") || name.ends_with(".MODULE.bazel") => bazel::pins(text),
        "west.yml" | "west.yaml" => west::pins(text),
        "conandata.yml" => conan::pins(text),
        "vcpkg.json" | "vcpkg-configuration.json" => vcpkg::of_json(text),
        _ => Vec::new(),
    }
}

/// The line of the byte at `at`, from 1.
fn line_at(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}
