//! What the global options mean: which repository, which manifest, which profile and features.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostic;
use crate::id::{CommitId, Name};
use crate::io::own_edits;
use crate::io::own_files::{Disk, OwnFiles};
use crate::io::store::{
    self, Environment, Need, Progress, Store, StoreError, StoreSpec, SubmoduleError, SubmoduleSpec,
};
use crate::io::workspace::{LoadError, Workspace, find_manifests};
use crate::manifest::{self, Kind, Located, Manifest, Profile, Witness};
use crate::upstream::Upstream;

use super::error::{Failure, FailureKind};
use super::ui::Ui;

/// The global options, resolved.
#[derive(Debug, Clone)]
pub struct Context {
    /// The repository: all paths of a manifest are relative to it.
    pub root: PathBuf,
    /// `-m`: a name or a path.
    pub manifest: Option<String>,
    /// `--profile`
    pub profile: Option<String>,
    /// `--features`
    pub features: Vec<Name>,
    /// `--offline`
    pub offline: bool,
}

impl Context {
    /// The manifests that a reading command covers: the chosen one, or all.
    ///
    /// # Errors
    /// If there is none, or one cannot be read.
    pub fn workspaces(&self) -> Result<Vec<Workspace>, Failure> {
        self.manifest_files()?.iter().map(|file| self.load(file)).collect()
    }

    /// The one manifest that a writing command concerns.
    ///
    /// # Errors
    /// If there is none or several and none was chosen, or it cannot be read.
    pub fn workspace(&self) -> Result<Workspace, Failure> {
        self.workspace_from(&Disk::new(&self.root))
    }

    /// As [`Context::workspace`]; the manifest and the overlay files come from `own`.
    ///
    /// # Errors
    /// As there.
    pub fn workspace_from(&self, own: &dyn OwnFiles) -> Result<Workspace, Failure> {
        let files = self.manifest_files()?;
        self.nothing_pending()?;
        match files.as_slice() {
            [file] => Ok(Workspace::load_from(own, &self.root, file)?),
            _ => {
                let names: Vec<_> = files
                    .iter()
                    .filter_map(|file| file.file_stem())
                    .map(|name| name.to_string_lossy())
                    .collect();
                Err(Failure::input(format!("there are {} manifests: {}", files.len(), names.join(", ")))
                    .with_hint(format!("choose one: -m {}", names.first().map_or("NAME", |name| name))))
            }
        }
    }

    fn manifest_files(&self) -> Result<Vec<PathBuf>, Failure> {
        if let Some(chosen) = &self.manifest {
            let as_path = Path::new(chosen);
            let is_path = chosen.contains('/') || chosen.ends_with(".toml");
            let file = if is_path {
                as_path.to_owned()
            } else {
                PathBuf::from("manifests").join(format!("{chosen}.toml"))
            };
            if self.root.join(&file).is_file() {
                return Ok(vec![file]);
            }
            let failure = Failure::input(format!("there is no manifest `{}`", file.display()));
            let known = find_manifests(&self.root).unwrap_or_default();
            return Err(match known.as_slice() {
                [] => failure,
                known => {
                    let names: Vec<_> = known.iter().map(|file| file.display().to_string()).collect();
                    failure.with_hint(format!("there are: {}", names.join(", ")))
                }
            });
        }
        let files = find_manifests(&self.root)?;
        if files.is_empty() {
            self.nothing_pending()?;
            let root = std::path::absolute(&self.root).unwrap_or_else(|_| self.root.clone());
            let message = format!("there is no `manifests/*.toml` in `{}`", root.display());
            return Err(Failure::input(message).with_hint(
                "name the repository with `-C DIR` (folders above are not searched), or write manifests/<upstream>.toml",
            ));
        }
        Ok(files)
    }

    fn load(&self, file: &Path) -> Result<Workspace, Failure> {
        self.nothing_pending()?;
        Ok(Workspace::load(&self.root, file)?)
    }

    /// That no command was interrupted while it wrote files of ours. One that writes just now is waited for.
    fn nothing_pending(&self) -> Result<(), Failure> {
        match own_edits::interrupted(&self.root)? {
            Some(_) => Err(own_edits::OwnEditError::Pending.into()),
            None => Ok(()),
        }
    }

    /// The right to write files of ours, for a command that will: taken before the manifest is read, so that what is
    /// written follows from what is there. Waits for a run that has it.
    ///
    /// # Errors
    /// If it cannot be had, there is no manifest, or another command was interrupted while it wrote.
    pub fn lock(&self, ui: &mut Ui) -> Result<own_edits::Lock, Failure> {
        // Nothing is made where no repository of ours is.
        self.manifest_files()?;
        let lock = self.lock_anyhow(ui)?;
        match own_edits::pending(&self.root) {
            Some(_) => Err(own_edits::OwnEditError::Pending.into()),
            None => Ok(lock),
        }
    }

    /// As [`Context::lock`], for `init`, which needs no manifest, and for what ends an interrupted write.
    ///
    /// # Errors
    /// If it cannot be had.
    pub fn lock_anyhow(&self, ui: &mut Ui) -> Result<own_edits::Lock, Failure> {
        let mut waiting = || ui.note("waiting: another overlaid writes files of this repository");
        Ok(own_edits::Lock::take(&self.root, &mut waiting)?)
    }

    /// The profile that was chosen, or the only one; `None` if the manifest has several and none was chosen,
    /// or has none.
    ///
    /// # Errors
    /// If the one that was chosen does not exist.
    pub fn profile_if_any<'w>(&self, workspace: &'w Workspace) -> Result<Option<&'w Profile>, Failure> {
        let profiles = &workspace.manifest.profiles;
        match &self.profile {
            Some(name) => match workspace.manifest.profile(name) {
                Some(profile) => Ok(Some(profile)),
                None => Err(Failure::input(format!(
                    "`{}` has no profile `{name}`",
                    workspace.manifest.file.display()
                ))
                .with_hint(list_profiles(profiles))),
            },
            None => Ok(match profiles.as_slice() {
                [profile] => Some(profile),
                _ => None,
            }),
        }
    }

    /// The profile for a command that builds or writes; `None` only if the manifest has none.
    ///
    /// # Errors
    /// If there are several and none was chosen.
    pub fn profile<'w>(&self, workspace: &'w Workspace) -> Result<Option<&'w Profile>, Failure> {
        match self.profile_if_any(workspace)? {
            None if workspace.manifest.profiles.len() > 1 => Err(Failure::input(format!(
                "`{}` has several profiles and none was chosen",
                workspace.manifest.file.display()
            ))
            .with_hint(list_profiles(&workspace.manifest.profiles))),
            profile => Ok(profile),
        }
    }

    /// The folder of the tree. A link on the way to it must not lead out of the repository: what a manifest says is
    /// written within it.
    ///
    /// # Errors
    /// If one does.
    pub fn tree(&self, workspace: &Workspace) -> Result<PathBuf, Failure> {
        self.tree_at(&workspace.manifest.tree_folder())
    }

    /// As [`Context::tree`], for a folder relative to the repository.
    ///
    /// # Errors
    /// As there.
    pub fn tree_at(&self, folder: &Path) -> Result<PathBuf, Failure> {
        let tree = self.root.join(folder);
        let real = |path: &Path| path.ancestors().find_map(|ancestor| ancestor.canonicalize().ok());
        match (self.root.canonicalize().ok(), real(&tree)) {
            (Some(root), Some(real)) if !real.starts_with(&root) => {
                let message = format!("a link leads from `{}` out of the repository", tree.display());
                Err(Failure::input(message)
                    .with_hint(format!("if that is meant, name the folder: --tree {}", real.display())))
            }
            _ => Ok(tree),
        }
    }

    /// The features that are on: those of the profile and those of `--features`.
    ///
    /// # Errors
    /// If two of them exclude each other.
    pub fn features(
        &self,
        workspace: &Workspace,
        profile: Option<&Profile>,
    ) -> Result<BTreeSet<Name>, Failure> {
        let of_profile = profile.into_iter().flat_map(|profile| &profile.features).map(|f| f.value.clone());
        let features: BTreeSet<Name> = of_profile.chain(self.features.iter().cloned()).collect();
        for group in &workspace.manifest.exclusive {
            let on: Vec<_> = group
                .iter()
                .filter(|f| features.contains(&f.value))
                .map(|f| format!("`{}`", f.value))
                .collect();
            if on.len() > 1 {
                return Err(Failure::input(format!("features exclude each other: {}", on.join(", ")))
                    .with_hint("choose one of them with --features or --profile"));
            }
        }
        Ok(features)
    }

    /// Warns of features that `--features` turns on and that none of these manifests knows: a typing mistake would
    /// silently leave an overlay off. Gives them.
    pub fn warn_of_unknown_features<'w>(
        &self,
        workspaces: impl IntoIterator<Item = &'w Workspace>,
        ui: &mut Ui,
    ) -> Vec<Name> {
        if self.features.is_empty() {
            return Vec::new();
        }
        let known: BTreeSet<Name> =
            workspaces.into_iter().flat_map(|workspace| workspace.manifest.named_features()).collect();
        let unknown: Vec<Name> =
            self.features.iter().filter(|name| !known.contains(*name)).cloned().collect();
        for name in &unknown {
            ui.warn(format_args!("--features: {}", manifest::nothing_names(name, &known)));
        }
        unknown
    }

    /// The upstream's objects, with all commits that the manifest names.
    ///
    /// # Errors
    /// If they cannot be had.
    pub fn store(&self, workspace: &Workspace, ui: &mut Ui) -> Result<Store, Failure> {
        self.store_with(workspace, None, ui)
    }

    /// The same, with what a revision names that the person typed: a full id is fetched, for a name all that is new is.
    ///
    /// # Errors
    /// If they cannot be had.
    pub fn store_with(
        &self,
        workspace: &Workspace,
        revision: Option<&str>,
        ui: &mut Ui,
    ) -> Result<Store, Failure> {
        let upstream = &workspace.manifest.upstream;
        let mut named = named_commits(&workspace.manifest);
        let wanted = revision.map(CommitId::parse);
        if let Some(Ok(commit)) = wanted {
            named.push(Named {
                need: Need { commit, remote: None },
                span: upstream.pin.span.clone(),
                what: "the new pin".to_owned(),
            });
        }
        let is_typed = |id: CommitId| {
            matches!(&wanted, Some(Ok(typed)) if *typed == id)
                && named.iter().filter(|named| named.need.commit == id).count() == 1
        };
        let root = std::path::absolute(&self.root)
            .map_err(|error| Failure::environment("cannot tell where the repository is").caused_by(error))?;
        let mut spec = StoreSpec {
            name: upstream.name.value.clone(),
            url: upstream.url.value.clone(),
            repo_root: root,
            remotes: upstream.remotes.iter().map(|r| (r.name.value.clone(), r.url.value.clone())).collect(),
            need: once_each(&named),
            offline: self.offline,
            update: matches!(wanted, Some(Err(_))),
        };
        let environment = Environment::of_process();
        let mut tell = |progress| {
            ui.progress(match progress {
                Progress::Waiting => "waiting: somebody else fetches the same upstream".to_owned(),
                Progress::Fetching { from } => format!("fetching {from}"),
                Progress::Line(line) => line,
            });
        };
        let mut opened = store::open(&spec, &environment, &mut tell);
        // A person may type the id of a tag; in a manifest it is a mistake.
        if let Err(StoreError::Tag { tag, commit }) = opened
            && is_typed(tag)
        {
            spec.need.iter_mut().filter(|need| need.commit == tag).for_each(|need| need.commit = commit);
            opened = store::open(&spec, &environment, &mut tell);
        }
        let opened =
            opened.map_err(|error| describe_store_error(&error, &workspace.manifest, &named)).and_then(
                |store| add_submodules(store, &spec, &workspace.manifest, &named, &environment, &mut tell),
            );
        ui.end_progress();
        opened
    }
}

/// How the hints of a store name the variable for a clone.
const ANY_CLONE: &str = "OVERLAID_UPSTREAM_<NAME>";

/// Adds the stores of the submodules that the manifest declares.
fn add_submodules(
    store: Store,
    spec: &StoreSpec,
    manifest: &Manifest,
    named: &[Named],
    environment: &Environment,
    tell: &mut dyn FnMut(Progress),
) -> Result<Store, Failure> {
    let upstream = &manifest.upstream;
    if upstream.submodules.is_empty() {
        return Ok(store);
    }
    let submodules: Vec<SubmoduleSpec> = upstream
        .submodules
        .iter()
        .map(|module| SubmoduleSpec { path: module.path.value.clone(), url: module.url.value.clone() })
        .collect();
    let mut may: Vec<CommitId> = named.iter().map(|named| named.need.commit).collect();
    // What a picked commit changes in a submodule shows against its parent.
    let picked = manifest.overlays.iter().filter_map(|overlay| match &overlay.kind {
        Kind::Commits { commits, .. } => Some(commits),
        _ => None,
    });
    let parents =
        picked.flatten().filter_map(|commit| store.commit(commit.value).ok()?.parents.first().copied());
    may.extend(parents.collect::<Vec<_>>());
    if let Some(branch) = &upstream.branch {
        may.extend(store.resolve(&branch.value).ok().flatten());
    }
    let pin = upstream.pin.value;
    store::add_submodules(store, spec, &submodules, pin, &may, environment, tell).map_err(|error| {
        let SubmoduleError { path, commit, variable, error } = error;
        let message = format!("the submodule {path} at commit {commit} cannot be read");
        let mut failure = Failure::environment(message.clone()).caused_by(&error);
        if let Some(declared) = upstream.submodules.iter().find(|module| module.path.value == path) {
            let place = manifest.place(declared.url.span.clone(), "where its commits should be");
            failure.diagnostics = vec![Diagnostic::error("missing-submodule", message).at(place)];
            failure.message = error.to_string();
            failure.causes.clear();
        }
        // A clone of the upstream is no clone of the submodule.
        let own = format!("name a clone of the submodule: {variable}=DIR");
        failure.hint = Some(match error.hint() {
            Some(hint) if hint.contains(ANY_CLONE) => hint.replace(ANY_CLONE, &format!("{variable}=DIR")),
            Some(hint) => format!("{hint}\nor {own}"),
            None => own,
        });
        failure
    })
}

/// A commit that the manifest names, and where.
struct Named {
    need: Need,
    span: Range<usize>,
    what: String,
}

/// What is needed, each once: overlays often name the same commit.
fn once_each(named: &[Named]) -> Vec<Need> {
    let mut need: Vec<Need> = Vec::new();
    for Named { need: one, .. } in named {
        if !need.contains(one) {
            need.push(one.clone());
        }
    }
    need
}

/// The commits that the manifest names: the pin first.
fn named_commits(manifest: &Manifest) -> Vec<Named> {
    let named = |commit: &Located<CommitId>, remote: Option<&Located<Name>>, what: String| Named {
        need: Need { commit: commit.value, remote: remote.map(|remote| remote.value.clone()) },
        span: commit.span.clone(),
        what,
    };
    let mut commits = vec![named(&manifest.upstream.pin, None, "the pin".to_owned())];
    for overlay in &manifest.overlays {
        let name = &overlay.name.value;
        commits.extend(
            overlay.base.iter().map(|base| named(base, None, format!("the base of overlay `{name}`"))),
        );
        match &overlay.kind {
            Kind::Commits { commits: picked, remote } => commits.extend(
                picked
                    .iter()
                    .map(|commit| named(commit, remote.as_ref(), format!("a commit of overlay `{name}`"))),
            ),
            Kind::HeldBack { commit, remote, .. } => {
                commits.push(named(commit, remote.as_ref(), format!("the commit of overlay `{name}`")));
            }
            Kind::Files(_) | Kind::Patch(_) | Kind::Delete(_) => {}
        }
        if let Some(Located { value: Witness::Commit(commit), span }) = &overlay.witness {
            let commit = Located { value: *commit, span: span.clone() };
            commits.push(named(&commit, None, format!("the witness of overlay `{name}`")));
        }
    }
    commits
}

fn describe_store_error(error: &StoreError, manifest: &Manifest, named: &[Named]) -> Failure {
    let missing = match error {
        StoreError::Offline { commits, .. } | StoreError::NotFound { commits, .. } => commits.as_slice(),
        _ => &[],
    };
    // The same commit can be needed of several remotes.
    let once = missing.iter().enumerate().filter(|(at, commit)| !missing[..*at].contains(commit));
    let places = once.map(|(_, commit)| commit).filter_map(|commit| {
        let named = named.iter().find(|named| named.need.commit == *commit)?;
        let message = format!("commit {commit}, {}, cannot be had", named.what);
        Some(
            Diagnostic::error("missing-commit", message).at(manifest.place(named.span.clone(), "named here")),
        )
    });
    let mut failure = Failure::environment(error.to_string());
    failure.diagnostics = places.collect();
    if let StoreError::Tag { tag, .. } = error {
        let at = named.iter().filter(|named| named.need.commit == *tag);
        failure.kind = FailureKind::Input;
        failure.diagnostics = at
            .map(|named| {
                let message = format!("{}, {tag}, is a tag and not a commit", named.what);
                Diagnostic::error("tag-not-commit", message)
                    .at(manifest.place(named.span.clone(), "named here"))
            })
            .collect();
    }
    let variable = store::variable(&manifest.upstream.name.value);
    failure.hint = error.hint().map(|hint| hint.replace(ANY_CLONE, &format!("{variable}=DIR")));
    failure
}

fn list_profiles(profiles: &[Profile]) -> String {
    if profiles.is_empty() {
        return "the manifest has no [profile.NAME] table".to_owned();
    }
    let names: Vec<_> = profiles.iter().map(|profile| format!("--profile {}", profile.name.value)).collect();
    format!("choose one: {}", names.join(", "))
}

/// Refuses a workspace whose files and globs have problems.
///
/// # Errors
/// If it has.
pub fn without_problems(workspace: Workspace) -> Result<Workspace, Failure> {
    if workspace.problems.is_empty() { Ok(workspace) } else { Err(Failure::diagnostics(workspace.problems)) }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Io { path, error } => {
                Failure::environment(format!("cannot read `{}`", path.display())).caused_by(error)
            }
            LoadError::Manifest(diagnostics) => Failure::diagnostics(diagnostics),
        }
    }
}
