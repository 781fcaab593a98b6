//! What a `build.rs` calls: puts overlays on a tree and tells cargo what to watch.
//!
//! ```no_run
//! let tree = overlaid::build_script::Script::new("manifests/mlx.toml").apply();
//! println!("cargo::rustc-env=MLX_FINGERPRINT={}", tree.fingerprint());
//! ```
//!
//! With the feature `cmake`, `tree.cmake()` is a configuration of the crate `cmake` for the tree. Without the feature
//! `git` (build scripts want few dependencies), something else fills the tree (a submodule, a tarball), and the lock that
//! `overlaid lock` wrote beside the manifest says what is in it. With it, the tree is also made from git objects.
//!
//! Never runs anything of the upstream's, and nothing at all but `git fetch`, with the feature `git`. What cargo shows of a
//! failure is one line for each thing that is wrong.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "cargo speaks by variables and standard output"
)]

mod cargo;
mod failure;
#[cfg(feature = "git")]
mod materialise;

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::escape::for_terminal;
use crate::id::{Name, UpstreamPath};
use crate::io::checkout::{self, Elsewhere};
use crate::io::locked::{Locked, LockedError, lock_file, vendored_folder};
#[cfg(feature = "git")]
use crate::io::no_tree::NoTree;
use crate::io::tree::{Event, Options, Outcome};
use crate::io::workspace::Workspace;
use crate::manifest::nothing_names;
use crate::overlay::watched;
use crate::plan::Wanted;
use crate::sorted::SortedSet;

pub use failure::Failure;

/// The folder of manifests in a repository.
const MANIFESTS: &str = "manifests";

/// How to go about it: which manifest, which tree, which features.
#[derive(Debug, Clone)]
pub struct Script {
    manifest: PathBuf,
    root: Option<PathBuf>,
    tree: Option<PathBuf>,
    features: BTreeSet<String>,
    offline: bool,
}

/// A tree with its overlays on it.
#[derive(Debug, Clone)]
pub struct Tree {
    path: PathBuf,
    pin: String,
    fingerprint: String,
    features: BTreeSet<Name>,
}

impl Script {
    /// The manifest, relative to the package, or to the [`root`](Script::root) if one is given. Without one, the manifest's
    /// paths start at the folder above its folder `manifests`, or at its own folder if that has another name.
    #[must_use]
    pub fn new(manifest: impl Into<PathBuf>) -> Self {
        Self { manifest: manifest.into(), root: None, tree: None, features: BTreeSet::new(), offline: false }
    }

    /// The repository that the manifest, and the paths in it, are relative to; relative to the package.
    #[must_use]
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = Some(root.into());
        self
    }

    /// The folder of the tree, relative to the package; without it, the manifest's `tree`.
    #[must_use]
    pub fn tree(mut self, tree: impl Into<PathBuf>) -> Self {
        self.tree = Some(tree.into());
        self
    }

    /// Turns a feature of the manifest on, besides those that have the name of a feature of the package that is on.
    #[must_use]
    pub fn feature(mut self, feature: impl Into<String>) -> Self {
        self.features.insert(feature.into());
        self
    }

    /// Fetches nothing, also with the feature `git`.
    #[must_use]
    pub fn offline(mut self, offline: bool) -> Self {
        self.offline = offline;
        self
    }

    /// Puts the overlays on the tree and tells cargo what to watch. What is wrong is told to cargo, too, and ends the
    /// build script.
    #[must_use = "it says where the tree is"]
    pub fn apply(&self) -> Tree {
        match self.try_apply() {
            Ok(tree) => tree,
            Err(failure) => {
                for line in failure.lines() {
                    println!("cargo::error={}", cargo::one_line(line));
                }
                // The build fails by what was said; of another exit code cargo would show all that the script printed.
                std::process::exit(0);
            }
        }
    }

    /// As [`Script::apply`], with what is wrong as a value. Cargo has been told what to watch.
    ///
    /// # Errors
    /// If the manifest is not right, or the tree cannot be made what it says.
    pub fn try_apply(&self) -> Result<Tree, Failure> {
        let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
        let (root, file) = self.place(&package);
        watch(&root.join(&file));
        if !root.join(&file).exists() {
            return Err(self.no_manifest(&package, &root.join(&file)));
        }
        let workspace = Workspace::load(&root, &file)?;
        tell_what_to_watch(&workspace, &root);
        if !workspace.problems.is_empty() {
            return Err(Failure::of_diagnostics(&workspace.problems));
        }
        let features = self.features_of(&workspace)?;
        let dir = match &self.tree {
            Some(tree) => package.join(tree),
            None => root.join(workspace.manifest.tree_folder()),
        };
        let (wanted, outcome) = self.bring(&workspace, &features, &root, &dir)?;
        let elsewhere = Elsewhere::of(&dir, wanted.commit).map(|it| it.say("overlaid bump --to"));
        if let (Some(elsewhere), Outcome::Unchanged(_) | Outcome::Changed(_)) = (&elsewhere, &outcome) {
            warn(elsewhere);
        }
        let written: SortedSet<UpstreamPath> = match outcome {
            Outcome::Unchanged(_) => SortedSet::new(),
            Outcome::Changed(plan) => plan.steps.into_iter().map(|step| step.path).collect(),
            Outcome::Refused(refusals) => {
                return Err(Failure::of_refusals(&refusals, &wanted, &dir, elsewhere));
            }
            Outcome::NotOurs => {
                return Err(Failure::new(format!(
                    "`{}` has files that overlaid did not write",
                    dir.display()
                ))
                .hint("write a lock, so that it is taken as it is: overlaid lock"));
            }
        };
        // An edit of these is noticed and refused. Cargo takes a file for changed that this very run wrote: those are
        // watched from the next run on.
        for (path, content) in &wanted.changes {
            if content.is_some() && !written.contains(path) {
                watch(&dir.join(path.to_os_path()));
            }
        }
        // What is not overlaid changes with the commit that is checked out.
        checkout::head(&dir).into_iter().flat_map(|head| head.files).for_each(|file| watch(&file));
        Ok(Tree {
            path: dir,
            pin: wanted.commit.to_string(),
            fingerprint: wanted.fingerprint.clone(),
            features,
        })
    }

    /// The repository, and the manifest relative to it.
    fn place(&self, package: &Path) -> (PathBuf, PathBuf) {
        if let Some(root) = &self.root {
            return (package.join(root), self.manifest.clone());
        }
        let file = package.join(&self.manifest);
        let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
            return (package.to_owned(), self.manifest.clone());
        };
        let (root, manifest) = match folder.parent() {
            Some(root) if folder.ends_with(MANIFESTS) => (root, Path::new(MANIFESTS).join(name)),
            _ => (folder, name.into()),
        };
        // So that messages show no `member/../..`.
        let is_plain = !root.components().any(|part| part == Component::ParentDir);
        let real = if is_plain { None } else { root.canonicalize().ok() };
        (real.unwrap_or_else(|| root.to_owned()), manifest)
    }

    fn no_manifest(&self, package: &Path, file: &Path) -> Failure {
        let shown = |path: &Path| for_terminal(path.display().to_string());
        let start = match &self.root {
            Some(root) => format!(".root(...): `{}`", shown(&package.join(root))),
            None => format!("the package, `{}`; with .root(...), at that", shown(package)),
        };
        Failure::new(format!("there is no manifest `{}`", shown(file)))
            .hint(format!("the path given to `Script::new` starts at {start}"))
    }

    /// The features that are on: of those that the manifest knows, the ones that cargo turned on, and those that
    /// were named here.
    fn features_of(&self, workspace: &Workspace) -> Result<BTreeSet<Name>, Failure> {
        let named = workspace.manifest.named_features();
        let known = cargo::known_features(&workspace.manifest);
        let mut features = BTreeSet::new();
        for feature in &known {
            if std::env::var_os(cargo::feature_variable(feature)).is_some() {
                features.insert(feature.clone());
            }
        }
        for name in &self.features {
            match Name::parse(name) {
                Ok(feature) => {
                    if !named.contains(&feature) {
                        warn(format!(".feature: {}", nothing_names(&feature, &named)));
                    }
                    features.insert(feature)
                }
                Err(why) => return Err(Failure::new(format!("`{name}` cannot be a feature: {why}"))),
            };
        }
        for group in &workspace.manifest.exclusive {
            let on: Vec<String> = group
                .iter()
                .filter(|feature| features.contains(&feature.value))
                .map(|feature| format!("`{}`", feature.value))
                .collect();
            if on.len() > 1 {
                return Err(Failure::new(format!("features exclude each other: {}", on.join(", ")))
                    .hint("turn one of them off: --no-default-features, --features"));
            }
        }
        Ok(features)
    }

    fn bring(
        &self,
        workspace: &Workspace,
        features: &BTreeSet<Name>,
        root: &Path,
        dir: &Path,
    ) -> Result<(Wanted, Outcome), Failure> {
        let locked = Locked::open(workspace, dir).and_then(|locked| {
            let (wanted, _) = locked.wanted(workspace, features)?;
            if let Some(first) = locked.stale.first() {
                let file = lock_file(&workspace.manifest.file);
                warn(format!("`{}` is stale: {first}; write it anew: overlaid lock", file.display()));
            }
            let outcome = locked.bring(&wanted, &Options::default(), &mut tell)?;
            Ok((wanted, outcome))
        });
        match locked {
            Ok(done) => Ok(done),
            Err(error) => self.without_lock(workspace, features, root, dir, error),
        }
    }

    #[cfg(feature = "git")]
    fn without_lock(
        &self,
        workspace: &Workspace,
        features: &BTreeSet<Name>,
        root: &Path,
        dir: &Path,
        error: LockedError,
    ) -> Result<(Wanted, Outcome), Failure> {
        // Its owner fills it: git does not take a folder that has something in it.
        if let Some(no_tree) = NoTree::at(dir).unwrap_or_default()
            && no_tree.submodule.is_some()
        {
            return Err(Failure::of_locked(LockedError::NoTree(no_tree), dir));
        }
        match error {
            // What is wrong with a file of ours is wrong with git objects, too.
            LockedError::Load(_) => Err(Failure::of_locked(error, dir)),
            _ => materialise::bring(workspace, features, root, dir, self.offline),
        }
    }

    #[cfg(not(feature = "git"))]
    #[allow(clippy::unused_self, reason = "with the feature `git` it is used")]
    fn without_lock(
        &self,
        _: &Workspace,
        _: &BTreeSet<Name>,
        _: &Path,
        dir: &Path,
        error: LockedError,
    ) -> Result<(Wanted, Outcome), Failure> {
        Err(Failure::of_locked(error, dir))
    }
}

impl Tree {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The pinned commit, 40 digits.
    #[must_use]
    pub fn pin(&self) -> &str {
        &self.pin
    }

    /// A hash of pin, overlays and features: the same as that of `overlaid status --fingerprint`.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The features of the manifest that are on.
    pub fn features(&self) -> impl Iterator<Item = &str> {
        self.features.iter().map(Name::as_str)
    }

    /// A configuration of the crate `cmake` for the tree. It builds in `OUT_DIR`, never in the tree, and configures each
    /// time that it runs, so that files that come and go are seen.
    #[cfg(feature = "cmake")]
    #[must_use]
    pub fn cmake(&self) -> cmake::Config {
        let mut config = cmake::Config::new(&self.path);
        config.always_configure(true);
        config
    }
}

fn tell_what_to_watch(workspace: &Workspace, root: &Path) {
    let manifest = &workspace.manifest;
    let watched = watched(manifest, &workspace.overlays);
    // Cargo looks at all files of a folder. One that is not there would make it run the script each time.
    let beside = [lock_file(&manifest.file), vendored_folder(&manifest.file)];
    // The manifest was named before it was read.
    let files = watched.files.iter().filter(|file| **file != manifest.file);
    for path in files.chain(&watched.folders).chain(&beside) {
        let path = root.join(path);
        if path.exists() {
            watch(&path);
        }
    }
    println!("cargo::rerun-if-env-changed={}", cargo::upstream_variable(&manifest.upstream.name));
}

fn watch(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

fn warn(text: impl AsRef<str>) {
    println!("cargo::warning={}", cargo::one_line(text.as_ref()));
}

fn tell(event: Event) {
    match event {
        Event::Waiting { dir } => warn(format!("waiting: another run works on `{}`", dir.display())),
        Event::Recovered { finished, steps } => {
            let what = match (steps, finished) {
                (1, true) => "1 step is finished now".to_owned(),
                (1, false) => "1 step was taken back".to_owned(),
                (_, true) => format!("{steps} steps are finished now"),
                (_, false) => format!("{steps} steps were taken back"),
            };
            warn(format!("an earlier run was interrupted; its {what}"));
        }
        Event::Discarded => warn("an earlier run was interrupted; what it left over is removed"),
        Event::JournalDamaged { kept } => {
            let kept = kept
                .map_or_else(String::new, |kept| format!("; what it moved aside is in `{}`", kept.display()));
            warn(format!(
                "an earlier run was interrupted, and its journal is damaged: every file is read{kept}"
            ));
        }
        Event::StateRebuilt { why } => {
            warn(format!("the recorded state of the tree cannot be used ({why}): every file is read"));
        }
        Event::Kept { .. } | Event::Writing { .. } => {}
    }
}
