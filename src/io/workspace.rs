//! A repository of ours: a manifest and the overlay files that it names.
//!
//! Reads them once. Decides which files an overlay has; what is wrong with that becomes
//! [`Workspace::problems`], which `verify` shows as findings and all other commands refuse.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::own_files::{Disk, OwnFiles};

use crate::diagnostic::{Diagnostic, Severity};
use crate::id::{BlobId, UpstreamPath};
use crate::manifest::{self, Kind, Located, Manifest, Overlay, Witness, pattern};
use crate::overlay::{self, Loaded, OwnFile, diff};
use crate::sorted::SortedSet;
use crate::tree::{Content, Mode};
/// A manifest with its overlay files.
#[derive(Debug)]
pub struct Workspace {
    /// The folder that all paths of the manifest are relative to.
    pub root: PathBuf,
    /// The manifest.
    pub manifest: Manifest,
    /// The overlays, in the order of the manifest.
    pub overlays: Vec<Loaded>,
    /// All files in the overlay folder, relative to it.
    pub overlay_files: Vec<PathBuf>,
    /// What is wrong with files and globs.
    pub problems: Vec<Diagnostic>,
    /// What the manifest says and hardly means. No command refuses it; `verify` shows it.
    pub warnings: Vec<Diagnostic>,
}

/// Why a workspace cannot be loaded.
#[derive(Debug)]
pub enum LoadError {
    /// A file or a folder cannot be read.
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The manifest is not right.
    Manifest(Vec<Diagnostic>),
}

/// The manifests of a repository: `manifests/*.toml`, sorted by name.
///
/// # Errors
/// If the folder is there and cannot be read.
pub fn find_manifests(root: &Path) -> Result<Vec<PathBuf>, LoadError> {
    let folder = root.join("manifests");
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(LoadError::Io { path: folder, error }),
    };
    let mut files = SortedSet::new();
    for entry in entries {
        let entry = entry.map_err(|error| LoadError::Io { path: folder.clone(), error })?;
        let file = PathBuf::from("manifests").join(entry.file_name());
        if file.extension().is_some_and(|extension| extension == "toml") {
            files.insert(file);
        }
    }
    Ok(files.into_iter().collect())
}

impl Workspace {
    /// Reads a manifest, given relative to `root`, and the overlay files that it names.
    ///
    /// # Errors
    /// If a file cannot be read or the manifest is not right.
    pub fn load(root: &Path, file: &Path) -> Result<Self, LoadError> {
        Self::load_from(&Disk::new(root), root, file)
    }

    /// As [`Workspace::load`], with the files from elsewhere: an earlier revision of our repository.
    ///
    /// # Errors
    /// If a file cannot be read or the manifest is not right.
    pub fn load_from(files: &dyn OwnFiles, root: &Path, file: &Path) -> Result<Self, LoadError> {
        let Some(content) = files.read(file)? else {
            let error = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(LoadError::Io { path: root.join(file), error });
        };
        let text = match String::from_utf8(content.bytes.to_vec()) {
            Ok(text) => text,
            Err(error) => return Err(LoadError::Manifest(vec![not_utf8(file, &error)])),
        };
        let (manifest, diagnostics) = manifest::parse(file, &text);
        let Some(manifest) = manifest else {
            return Err(LoadError::Manifest(diagnostics));
        };
        let (problems, mut warnings): (Vec<_>, Vec<_>) =
            diagnostics.into_iter().partition(|diagnostic| diagnostic.severity == Severity::Error);
        warnings.retain(|diagnostic| diagnostic.severity == Severity::Warning);
        let folder = manifest.overlay_folder();
        let mut loader = Loader {
            files,
            root,
            overlay_files: files.list(&folder)?,
            folder,
            manifest: &manifest,
            problems,
        };
        let overlays: Vec<Loaded> =
            manifest.overlays.iter().map(|overlay| loader.load(overlay)).collect::<Result<_, _>>()?;
        let Loader { overlay_files, mut problems, .. } = loader;
        problems.extend(
            overlay::clashes(&overlays, &manifest.exclusive)
                .iter()
                .map(|clash| describe_clash(&manifest, clash)),
        );
        Ok(Self { root: root.to_owned(), manifest, overlays, overlay_files, problems, warnings })
    }

    /// The overlay of this name.
    #[must_use]
    pub fn overlay(&self, name: &str) -> Option<&Loaded> {
        self.overlays.iter().find(|loaded| loaded.name().as_str() == name)
    }

    /// The file of an overlay's path, relative to `root`, as a person would open it.
    #[must_use]
    pub fn overlay_file(&self, path: &UpstreamPath) -> PathBuf {
        self.manifest.overlay_folder().join(path.to_os_path())
    }
}

/// A problem at a place of the manifest.
#[must_use]
pub fn problem(
    manifest: &Manifest,
    code: &'static str,
    message: impl Into<String>,
    span: std::ops::Range<usize>,
    label: impl Into<String>,
) -> Diagnostic {
    Diagnostic::error(code, message).at(manifest.place(span, label))
}

struct Loader<'a> {
    files: &'a dyn OwnFiles,
    root: &'a Path,
    /// The overlay folder, relative to the root.
    folder: PathBuf,
    overlay_files: Vec<PathBuf>,
    manifest: &'a Manifest,
    problems: Vec<Diagnostic>,
}

impl Loader<'_> {
    fn load(&mut self, overlay: &Overlay) -> Result<Loaded, LoadError> {
        let mut loaded = Loaded {
            overlay: overlay.clone(),
            files: BTreeMap::new(),
            patch: None,
            witness_patch: None,
            own: Vec::new(),
        };
        match &overlay.kind {
            Kind::Files(globs) => {
                for glob in globs {
                    self.load_files(glob, &mut loaded)?;
                }
            }
            Kind::Patch(file) => loaded.patch = self.load_patch(file, &mut loaded)?,
            Kind::Commits { .. } | Kind::HeldBack { .. } | Kind::Delete(_) => {}
        }
        if let Some(Located { value: Witness::Patch(file), span }) = &overlay.witness {
            let file = Located { value: file.clone(), span: span.clone() };
            loaded.witness_patch = self.load_patch(&file, &mut loaded)?;
        }
        Ok(loaded)
    }

    fn load_files(&mut self, glob: &Located<String>, loaded: &mut Loaded) -> Result<(), LoadError> {
        // The manifest's parser has accepted the glob.
        let Ok(matcher) = pattern::glob(&glob.value) else { return Ok(()) };
        let matcher = matcher.compile_matcher();
        let files: Vec<PathBuf> = self
            .overlay_files
            .iter()
            .filter(|file| matcher.is_match(file) && !self.is_patch_of_manifest(file))
            .cloned()
            .collect();
        if files.is_empty() {
            // Of a repository elsewhere, a person wants to see which one was taken.
            let looked_in = match self.root {
                root if root == Path::new(".") || root == Path::new("") => self.folder.clone(),
                root => root.join(&self.folder),
            };
            let folder = &self.folder;
            let message = format!(
                "`files` of overlay `{}` matches nothing under `{}`",
                loaded.overlay.name.value,
                looked_in.display()
            );
            let mut diagnostic =
                problem(self.manifest, "glob-matches-nothing", message, glob.span.clone(), "no such file");
            diagnostic.hint = Some(match self.similar_file(glob) {
                Some(similar) => format!("did you mean `{similar}`?"),
                None => {
                    let place = folder.join(&glob.value);
                    if pattern::has_wildcards(&glob.value) {
                        let folder = place.parent().unwrap_or(folder).display().to_string();
                        format!("put a file that it matches into `{folder}`, or remove the entry")
                    } else {
                        format!("put the file at `{}`, or remove the entry", place.display())
                    }
                }
            });
            self.problems.push(diagnostic);
        }
        for file in files {
            use std::os::unix::ffi::OsStrExt;
            let path = match UpstreamPath::parse(file.as_os_str().as_bytes()) {
                Ok(path) => path,
                Err(error) => {
                    let message = format!("`{}` cannot be an upstream path: {error}", file.display());
                    let label = "matched here";
                    self.problems.push(problem(self.manifest, "bad-path", message, glob.span.clone(), label));
                    continue;
                }
            };
            let inside = file.clone();
            let file = self.folder.join(&file);
            // Listed a moment ago; gone since: then it is not an overlay file any more.
            let Some(content) = self.files.read(&file)? else { continue };
            if content.mode == Mode::Symlink && leads_out(&inside, &content.bytes) {
                let message = format!("`{}` is a link that leads out of the tree", file.display());
                let diagnostic =
                    problem(self.manifest, "link-leads-out", message, glob.span.clone(), "matched here");
                self.problems
                    .push(diagnostic.hint("put the file itself there, or a relative link within the tree"));
            }
            loaded.own.push(OwnFile { file, id: BlobId::of(&content.bytes) });
            loaded.files.insert(path, content);
        }
        Ok(())
    }

    /// Whether a file is a patch that some overlay names, so that `**` does not take it for content.
    fn is_patch_of_manifest(&self, file: &Path) -> bool {
        self.manifest.overlays.iter().any(|overlay| {
            let patch = match &overlay.kind {
                Kind::Patch(patch) => Some(&patch.value),
                _ => None,
            };
            let witness = match overlay.witness.as_ref().map(|witness| &witness.value) {
                Some(Witness::Patch(patch)) => Some(patch),
                _ => None,
            };
            patch.into_iter().chain(witness).any(|patch| patch == file)
        })
    }

    /// The overlay file with the same name in another folder, if there is just one.
    fn similar_file(&self, glob: &str) -> Option<String> {
        let name = Path::new(glob).file_name()?;
        let mut same = self.overlay_files.iter().filter(|file| file.file_name() == Some(name));
        let found = same.next()?;
        same.next().is_none().then(|| found.display().to_string())
    }

    fn load_patch(
        &mut self,
        file: &Located<PathBuf>,
        loaded: &mut Loaded,
    ) -> Result<Option<diff::Patch>, LoadError> {
        let relative = self.folder.join(&file.value);
        let Some(Content { bytes, .. }) = self.files.read(&relative)? else {
            let message =
                format!("the patch of overlay `{}` is not there: `{}`", loaded.name(), relative.display());
            let label = "no such file";
            let diagnostic = problem(self.manifest, "missing-file", message, file.span.clone(), label);
            let hint =
                format!("put the patch there, or correct the path; it starts at `{}`", self.folder.display());
            self.problems.push(diagnostic.hint(hint));
            return Ok(None);
        };
        loaded.own.push(OwnFile { file: relative.clone(), id: BlobId::of(&bytes) });
        match diff::parse(&bytes) {
            Ok(patch) => Ok(Some(patch)),
            Err(error) => {
                let message = format!("`{}` cannot be read as a patch: {error}", relative.display());
                let label = "named here";
                let diagnostic = problem(self.manifest, "bad-patch", message, file.span.clone(), label);
                self.problems.push(diagnostic.hint(format!(
                    "make it anew in a clone of the upstream: git diff --binary --full-index > {}",
                    file.value.display()
                )));
                Ok(None)
            }
        }
    }
}

/// Whether a link at a path of the tree has a target outside of the tree.
pub(super) fn leads_out(path: &Path, target: &[u8]) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let mut depth = path.components().count().saturating_sub(1);
    for component in Path::new(std::ffi::OsStr::from_bytes(target)).components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}

fn describe_clash(manifest: &Manifest, clash: &overlay::Clash<'_>) -> Diagnostic {
    let (first, second) = (&clash.first.overlay, &clash.second.overlay);
    let message = format!(
        "overlays `{}` and `{}` both name the whole content of `{}`",
        first.name.value, second.name.value, clash.path
    );
    problem(manifest, "two-whole-overlays", message, second.name.span.clone(), "the second one")
        .and(manifest.place(first.name.span.clone(), "the first one"))
        .hint("make one of them a patch, give them `when` features that exclude each other, or make them `rivals`")
}

fn not_utf8(file: &Path, error: &std::string::FromUtf8Error) -> Diagnostic {
    let valid = error.utf8_error().valid_up_to();
    let line = error.as_bytes()[..valid].iter().filter(|&&b| b == b'\n').count() + 1;
    Diagnostic::error("not-utf8", format!("`{}` line {line}: the manifest is not UTF-8", file.display()))
        .hint("save the file as UTF-8 without a byte order mark")
}
