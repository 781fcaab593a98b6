//! What a test is built with and run as: options, tools, files of ours that its table names.
//!
//! Decides what makes a build of a test another one with the same files. Builds nothing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::evidence::elsewhere::portable;
use crate::id::UpstreamPath;
use crate::io::cmake::{ConfiguredFor, Project};
use crate::io::hashes::sha256_of;
use crate::io::toolchain::{self, Missing};
use crate::manifest::Test;
use crate::verdict::Obstacle;

use super::inputs::{describe, hash};
use super::make::Workshop;
use super::site::Site;
use super::sources::Sources;

/// Tools and options: what makes a build of a test another one with the same files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Steering {
    /// Variables, the target, the command.
    pub options: BTreeMap<String, String>,
    /// The tools, in words that are equal for the same ones. Not what CMake finds out about compilers: a
    /// configure that fails early leaves nothing of that.
    pub toolchain: String,
}

impl Workshop<'_> {
    /// Tools and options of a test.
    ///
    /// # Errors
    /// If a tool is missing or cannot be read.
    pub fn steering(&mut self, test: &Test) -> Result<Steering, Obstacle> {
        let target = target_of(test);
        let mut steering = match target {
            Some(_) => self.steering_of_build()?,
            None => Steering::default(),
        };
        let what = self.what_is_built(test);
        let options = &mut steering.options;
        options.extend(what);
        // A program that no build makes.
        if let Some(program) = test.command.first().filter(|program| !program.contains('{')) {
            let what = |why: String| Obstacle::Toolchain(format!("test `{}`: {why}", test.name.value));
            let file = self.env.find(Path::new(program.as_str()));
            let file = file.ok_or_else(|| what(format!("`{}` is not there", program.value)))?;
            let hash =
                self.hashes.sha256(&file).map_err(|error| what(format!("{}: {error}", file.display())))?;
            options.insert("program".to_owned(), format!("{} {hash}", file.display()));
        }
        Ok(steering)
    }

    /// What of a test is built: the target, the project.
    fn what_is_built(&self, test: &Test) -> BTreeMap<String, String> {
        let mut options = BTreeMap::new();
        if let Some(target) = target_of(test) {
            options.insert("target".to_owned(), target.to_owned());
        }
        if let Some(project) = &test.project {
            options.insert("project".to_owned(), project.value.display().to_string());
            options.insert("project files".to_owned(), self.project_names(&project.value));
        }
        options
    }

    /// The variables that the profile sets.
    fn variables(&self) -> BTreeMap<String, String> {
        let cmake = self.profile.iter().flat_map(|profile| &profile.cmake);
        cmake.map(|(name, value)| (format!("cmake {name}"), value.clone())).collect()
    }

    /// The options that mean the same on every machine; needs no tools.
    #[must_use]
    pub fn portable_options(&self, test: &Test) -> BTreeMap<String, String> {
        let mut options = self.what_is_built(test);
        if target_of(test).is_some() {
            options.extend(self.variables());
        }
        portable(&options)
    }

    /// Tools and options of any build.
    pub(super) fn steering_of_build(&mut self) -> Result<Steering, Obstacle> {
        if let Some(known) = &self.of_build {
            return Ok(known.clone());
        }
        let steering = self.look_at_steering()?;
        self.of_build = Some(steering.clone());
        Ok(steering)
    }

    fn look_at_steering(&mut self) -> Result<Steering, Obstacle> {
        let tools = self.tools.as_ref().map_err(missing)?;
        let mut known = toolchain::steering(tools, &self.env, &mut self.hashes)
            .map_err(|error| Obstacle::Toolchain(format!("a tool cannot be read: {error}")))?;
        known.insert("all variables".to_owned(), self.variables_hash().to_owned());
        let words: Vec<String> = known.iter().map(|(key, value)| format!("{key} {value}")).collect();
        let mut options = self.variables();
        let cmake = self.profile.iter().flat_map(|profile| &profile.cmake);
        for (name, value) in cmake {
            // Compilers, toolchain files: exchanged in place they are others.
            let is_program =
                name.ends_with("_COMPILER") || name.ends_with("_LAUNCHER") || name.ends_with("_LINKER");
            if is_program || value.contains('/') {
                for (index, file) in
                    toolchain::named_files(value, &self.env, &mut self.hashes).iter().enumerate()
                {
                    options.insert(format!("cmake file {name} {index}"), file.clone());
                }
            }
        }
        Ok(Steering { options, toolchain: words.join("; ") })
    }

    /// The files of a project, relative to the repository; hidden ones are left out.
    #[must_use]
    pub fn project_files(&self, project: &Path) -> Vec<PathBuf> {
        walkdir::WalkDir::new(self.root.join(project))
            .sort_by_file_name()
            .into_iter()
            .filter_entry(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
            .filter_map(Result::ok)
            .filter(|entry| !entry.file_type().is_dir())
            .filter_map(|entry| Some(entry.path().strip_prefix(&self.root).ok()?.to_owned()))
            .collect()
    }

    /// A hash of the names of a project's files, which its globs may see.
    fn project_names(&self, project: &Path) -> String {
        let names: Vec<String> =
            self.project_files(project).iter().map(|file| file.display().to_string()).collect();
        sha256_of(names.join("\n").as_bytes())
    }

    /// Files of ours that a test names in `sources` and in its command, with their hashes.
    pub fn named_sources(&mut self, test: &Test) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        // A file of ours that the command names.
        for file in test.command.iter().filter_map(|part| part.strip_prefix("{repository}/")) {
            let hash = hash(&mut self.hashes, &self.root.join(file));
            found.insert(file.to_owned(), hash);
        }
        for glob in &test.sources {
            for file in self.sources_of(glob) {
                let hash =
                    self.hashes.identity(&self.root.join(&file)).unwrap_or_else(|error| error.to_string());
                found.insert(file.display().to_string(), hash);
            }
        }
        found
    }

    /// The files of ours that a glob names, below the root.
    fn sources_of(&mut self, glob: &str) -> Vec<PathBuf> {
        let is_literal = |part: &str| !part.contains(['*', '?', '[', '{', '\\']);
        if is_literal(glob) {
            let file: PathBuf = Path::new(glob).components().collect();
            return if self.root.join(&file).is_file() { vec![file] } else { Vec::new() };
        }
        if !self.matchers.contains_key(glob) {
            let built = globset::GlobBuilder::new(glob).literal_separator(true).build();
            self.matchers.insert(glob.to_owned(), built.ok().map(|glob| glob.compile_matcher()));
        }
        let Some(Some(matcher)) = self.matchers.get(glob) else { return Vec::new() };
        // The part before the first wildcard names the folder to look in.
        let fixed: PathBuf = Path::new(glob)
            .components()
            .take_while(|part| is_literal(&part.as_os_str().to_string_lossy()))
            .collect();
        let files = walkdir::WalkDir::new(self.root.join(fixed)).follow_links(true);
        let files = files.into_iter().filter_map(Result::ok).filter(|entry| entry.file_type().is_file());
        let files = files.filter_map(|entry| Some(entry.path().strip_prefix(&self.root).ok()?.to_owned()));
        files.filter(|file| matcher.is_match(file)).collect()
    }

    pub(super) fn configured_for(
        &mut self,
        project: &Project<'_>,
        sources: &Sources,
        ours: Option<&Path>,
        steering: &Steering,
    ) -> ConfiguredFor {
        // Tests of one project share its build folder: what only one of them is, configures nothing.
        let options = steering
            .options
            .iter()
            .filter(|(key, _)| key.starts_with("cmake ") || key.starts_with("project"));
        let mut steering: BTreeMap<String, String> = options
            .map(|(key, value)| (key.clone(), value.clone()))
            .chain([("tools".to_owned(), steering.toolchain.clone())])
            .collect();
        steering.insert("source".to_owned(), project.source.display().to_string());
        let mut files = BTreeMap::new();
        for (path, entry) in sources.entries() {
            if is_cmake_file(path.file_name()) {
                files.insert(format!("tree {path}"), describe(Some(entry)));
            }
        }
        // Files of other names that CMake has read before.
        for name in project.configured_for().map(|before| before.files).unwrap_or_default().into_keys() {
            if let Some(path) = name.strip_prefix("tree ") {
                let entry = UpstreamPath::parse(path).ok().and_then(|path| sources.entry(&path));
                files.entry(name).or_insert_with(|| describe(entry));
            } else if let Some(path) = name.strip_prefix("ours ") {
                let hash = hash(&mut self.hashes, &self.root.join(path));
                files.insert(name, hash);
            } else if let Some(path) = name.strip_prefix("machine ") {
                let hash = hash(&mut self.hashes, Path::new(path));
                files.insert(name, hash);
            }
        }
        if let Some(ours) = ours {
            let lists = self.root.join(ours).join("CMakeLists.txt");
            let hash = self.hashes.identity(&lists).unwrap_or_default();
            files.insert(format!("ours {}", ours.join("CMakeLists.txt").display()), hash);
        }
        ConfiguredFor { steering, names: sources.names().to_owned(), files }
    }

    /// The command of a test with `{build}` and `{tree}` replaced.
    pub(super) fn command(&self, site: &Site, build: Option<&Path>, test: &Test) -> Vec<OsString> {
        let tree = site.tree();
        let build = build.unwrap_or(&tree);
        let places = [("{build}", build), ("{tree}", tree.as_path()), ("{repository}", self.root.as_path())];
        test.command.iter().map(|part| replace(part, &places)).collect()
    }
}

/// What is built for a test: its target, or all of its project.
#[must_use]
pub fn target_of(test: &Test) -> Option<&str> {
    match (&test.target, &test.project) {
        (Some(target), _) => Some(&target.value),
        (None, Some(_)) => Some("all"),
        (None, None) => None,
    }
}

pub(super) fn missing(missing: &Missing) -> Obstacle {
    Obstacle::Toolchain(format!("{}; {}", missing.what, missing.hint))
}

/// Whether CMake may read a file of this name while it configures.
fn is_cmake_file(name: &[u8]) -> bool {
    let ends = [&b".cmake"[..], b".in", b".cmake.in"];
    [&b"CMakeLists.txt"[..], b"CMakePresets.json"].contains(&name)
        || ends.iter().any(|end| name.ends_with(end))
}

fn replace(part: &str, places: &[(&str, &Path)]) -> OsString {
    let mut result = OsString::new();
    let mut rest = part;
    while let Some(open) = rest.find('{') {
        let (before, tail) = rest.split_at(open);
        result.push(before);
        match places.iter().find(|(name, _)| tail.starts_with(name)) {
            Some((name, path)) => {
                result.push(path);
                rest = &tail[name.len()..];
            }
            None => {
                result.push("{");
                rest = &tail[1..];
            }
        }
    }
    result.push(rest);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_a_command_are_replaced_and_other_braces_stay() {
        let places = [("{build}", Path::new("/b")), ("{tree}", Path::new("/t"))];
        assert_eq!(replace("{build}/x {tree}{y} {", &places), "/b/x /t{y} {");
    }

    #[test]
    fn cmake_reads_more_than_its_lists() {
        for name in ["CMakeLists.txt", "version.h.in", "find.cmake", "CMakePresets.json"] {
            assert!(is_cmake_file(name.as_bytes()), "{name}");
        }
        assert!(!is_cmake_file(b"kernel.cu"));
    }
}
