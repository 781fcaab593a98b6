//! Reading what is imported: lists with their patches, mails, folders of whole files, commits, checkouts.
//!
//! Decides which format a place has, by names that only one format uses. Runs nothing.

mod git;

use std::path::{Path, PathBuf};

use bstr::ByteSlice;

use crate::id::CommitId;
use crate::import::plan::Raw;
use crate::import::{
    Choice, Format, Listed, Meta, Problem, bazel, cmake_patches, electron, mail, quilt, west,
};
use crate::overlay::beside;
use crate::tree::Content;

use super::own_files::{Disk, OwnFiles};
use super::workspace::LoadError;

pub use git::{read_checkout, read_range};

/// What was found at a place.
#[derive(Debug)]
pub enum Source {
    /// Patches, in their order.
    Patches(Vec<Raw>),
    /// Whole files by their path in the folder.
    Files(Vec<(PathBuf, Content)>),
}

/// What was read, and what was not taken.
#[derive(Debug)]
pub struct Read {
    /// What is imported.
    pub source: Source,
    /// Files that are none of it, with why: a person is told.
    pub left_out: Vec<(PathBuf, String)>,
    /// The commit that a checkout is at.
    pub at: Option<CommitId>,
}

impl From<Source> for Read {
    fn from(source: Source) -> Self {
        Self { source, left_out: Vec::new(), at: None }
    }
}

/// Why a place cannot be read.
#[derive(Debug)]
pub enum SourceError {
    /// A file or folder cannot be read.
    Load(LoadError),
    /// What it says cannot be taken over.
    Problems {
        /// The list.
        file: PathBuf,
        /// What is wrong.
        problems: Vec<Problem>,
    },
    /// It is not clear what it is, or git cannot read it.
    Unclear {
        /// A fragment.
        message: String,
        /// What to do.
        hint: String,
    },
}

impl From<LoadError> for SourceError {
    fn from(error: LoadError) -> Self {
        SourceError::Load(error)
    }
}

fn unclear(message: impl Into<String>, hint: impl Into<String>) -> SourceError {
    SourceError::Unclear { message: message.into(), hint: hint.into() }
}

/// Where a format's list can be, below a folder.
const LISTS: [(Format, &str); 5] = [
    (Format::Quilt, "series"),
    (Format::Quilt, "patches/series"),
    (Format::Quilt, "debian/patches/series"),
    (Format::Electron, ".patches"),
    (Format::West, "patches.yml"),
];

/// The format of a place, and its list or folder.
///
/// # Errors
/// If nothing is there, or it could be several things.
pub fn detect(path: &Path, format: Option<Format>) -> Result<(Format, PathBuf), SourceError> {
    if !path.exists() {
        return Err(unclear(
            format!("there is no `{}`", path.display()),
            "name a file or a folder that is there",
        ));
    }
    if path.is_dir() {
        let lists = LISTS.iter().filter(|(list, _)| format.is_none_or(|format| format == *list));
        let mut found = lists.map(|(list, name)| (*list, path.join(name))).filter(|(_, list)| list.is_file());
        if let Some(first) = found.next() {
            return Ok(first);
        }
        if let Some(format) = format {
            return Ok((format, path.to_owned()));
        }
        if is_repository(path) {
            return Err(unclear(
                format!("`{}` is a git repository", path.display()),
                "name the commits: overlaid import PATH --range PIN..BRANCH; or, if they are not committed: overlaid \
                 import --from-tree PATH",
            ));
        }
        let files = Disk::new(path).list(Path::new(""))?;
        if files.is_empty() {
            return Err(unclear(
                format!("`{}` is empty", path.display()),
                "name a folder that has something",
            ));
        }
        let patches = files.iter().filter(|file| is_patch_name(file)).count();
        let beside = files.iter().filter(|file| about_patches(file).is_some()).count();
        return match (patches, files.len() - beside) {
            (0, _) => Ok((Format::Tree, path.to_owned())),
            (patches, all) if patches == all => Ok((Format::Mail, path.to_owned())),
            (patches, all) => Err(unclear(
                format!("`{}` has {patches} patches and {} other files", path.display(), all - patches),
                "say what it is: overlaid import mail PATH, or overlaid import tree PATH",
            )),
        };
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let found = format.or(match name.as_str() {
        "series" => Some(Format::Quilt),
        ".patches" => Some(Format::Electron),
        "patches.yml" | "patches.yaml" => Some(Format::West),
        "CMakeLists.txt" => Some(Format::Cpm),
        "WORKSPACE" | "WORKSPACE.bazel" | "MODULE.bazel" | "BUILD" | "BUILD.bazel" => Some(Format::Bazel),
        _ if name.ends_with(".cmake") => Some(Format::Cpm),
        _ if name.ends_with(".bzl") || name.ends_with(".MODULE.bazel") => Some(Format::Bazel),
        _ if is_patch_name(path) => Some(Format::Mail),
        _ => None,
    });
    match found {
        Some(format) => Ok((format, path.to_owned())),
        None => Err(unclear(
            format!("I cannot tell what `{}` is", path.display()),
            "say it: overlaid import FORMAT PATH (tree, quilt, mail, west, electron, bazel, cpm)",
        )),
    }
}

/// A work tree or a bare repository; a folder in one is none.
fn is_repository(folder: &Path) -> bool {
    folder.join(".git").exists() || (folder.join("HEAD").is_file() && folder.join("objects").is_dir())
}

/// Why a file beside patches is none, if that is certain.
fn about_patches(file: &Path) -> Option<&'static str> {
    beside::by_name(file).or_else(|| beside::about_the_folder(file))
}

fn is_patch_name(path: &Path) -> bool {
    let endings = ["patch", "diff", "mbox", "eml"];
    path.extension().is_some_and(|ending| endings.iter().any(|known| ending == *known))
}

/// Reads a place.
///
/// # Errors
/// If it, or a patch that it names, cannot be read or taken over.
pub fn read(format: Format, place: &Path, choice: &Choice<'_>) -> Result<Read, SourceError> {
    if place.is_dir() {
        let disk = Disk::new(place);
        let files = disk.list(Path::new(""))?;
        let files = files.into_iter().filter(|file| !file.starts_with(".git"));
        return match format {
            Format::Tree => {
                let read = |file: PathBuf| Ok(disk.read(&file)?.map(|content| (file, content)));
                let files: Result<Vec<_>, LoadError> = files.map(read).collect();
                Ok(Source::Files(files?.into_iter().flatten().collect()).into())
            }
            Format::Mail => {
                let (mut patches, mut left_out) = (Vec::new(), Vec::new());
                for file in files {
                    if !is_patch_name(&file) {
                        let why = about_patches(&file).unwrap_or("it is no patch by its name");
                        left_out.push((file, why.to_owned()));
                        continue;
                    }
                    let Some(content) = disk.read(&file)? else { continue };
                    let found = mails(&file, &content.bytes)?;
                    if found.is_empty() {
                        left_out.push((file, "it has no change in it: a cover letter".to_owned()));
                    }
                    patches.extend(found);
                }
                Ok(Read { left_out, ..Source::Patches(patches).into() })
            }
            _ => Err(unclear(
                format!("`{}` has no list as {} has it", place.display(), format.as_str()),
                "name the list itself",
            )),
        };
    }
    let folder = place.parent().unwrap_or(Path::new(""));
    let name = PathBuf::from(place.file_name().unwrap_or_default());
    let disk = Disk::new(folder);
    let bytes = disk.read(&name)?.map(|content| content.bytes).unwrap_or_default();
    let text = || String::from_utf8_lossy(&bytes);
    let problems = |problems| SourceError::Problems { file: place.to_owned(), problems };
    let (listed, folder) = match format {
        Format::Tree => return Err(unclear(format!("`{}` is no folder", place.display()), "name a folder")),
        Format::Mail => return Ok(Source::Patches(mails(&name, &bytes)?).into()),
        Format::Quilt => (quilt::parse(&text()), folder.to_owned()),
        Format::Electron => (electron::parse(&text()), folder.to_owned()),
        Format::Cpm => (cmake_patches::parse(&text(), choice), folder.to_owned()),
        Format::West => {
            // The patches lie in the folder `patches` beside the list, as west has it, or beside the list.
            let patches = folder.join("patches");
            let root = if patches.is_dir() { patches } else { folder.to_owned() };
            (west::parse(&text(), choice), root)
        }
        Format::Bazel => (bazel::parse(&text(), choice), workspace_of(folder)),
    };
    let listed = listed.map_err(problems)?;
    let disk = Disk::new(&folder);
    // Where the patches lie in a repository says nothing of what they are.
    let shared = match format {
        Format::West | Format::Bazel | Format::Cpm => shared_folder(&listed),
        _ => PathBuf::new(),
    };
    let (mut patches, mut wrong) = (Vec::new(), Vec::new());
    for Listed { line, file, strip, meta } in listed {
        match disk.read(&file)? {
            Some(content) => patches.push(Raw {
                from: format!("{} line {line}", name.display()),
                file: file.strip_prefix(&shared).unwrap_or(&file).to_owned(),
                has_file: true,
                bytes: content.bytes.to_vec(),
                strip,
                meta,
            }),
            None => {
                let message = format!("`{}` is not there", folder.join(&file).display());
                wrong.push(Problem::new(line, message, "put the patch there, or take the line out"));
            }
        }
    }
    if wrong.is_empty() { Ok(Source::Patches(patches).into()) } else { Err(problems(wrong)) }
}

/// The folder that all patches of a list are in.
fn shared_folder(listed: &[Listed]) -> PathBuf {
    let mut folders = listed.iter().map(|one| one.file.parent().unwrap_or(Path::new("")));
    let first = folders.next().unwrap_or(Path::new("")).to_owned();
    folders.fold(first, |shared, folder| {
        let same = shared.components().zip(folder.components()).take_while(|(one, other)| one == other);
        same.map(|(one, _)| one).collect()
    })
}

/// The mails of a file.
fn mails(file: &Path, bytes: &[u8]) -> Result<Vec<Raw>, SourceError> {
    let mails = mail::split(bytes);
    let is_one = mails.len() == 1;
    let mut patches = Vec::new();
    for (at, mail) in mails.into_iter().enumerate() {
        let from =
            if is_one { file.display().to_string() } else { format!("{} mail {}", file.display(), at + 1) };
        if let Some(encoding) = mail::encoding(mail) {
            return Err(unclear(
                format!("{from} is encoded as {encoding}: its bytes are not those of the patch"),
                "write it anew: git format-patch, or git am it and import the commit with --range",
            ));
        }
        // A cover letter has no patch. What is no mail is looked at in any case: somebody took it for a patch.
        let is_mail = mail.starts_with(b"From ") || mail.starts_with(b"From: ");
        if is_mail && !mail.contains_str("\n@@ ") && !mail.contains_str("\ndiff --git ") {
            continue;
        }
        let file = if is_one { file.to_owned() } else { named_by_subject(mail, at) };
        let (bytes, meta) = (mail.to_vec(), Meta::default());
        patches.push(Raw { from, file, has_file: is_one, bytes, strip: 1, meta });
    }
    Ok(patches)
}

fn named_by_subject(mail: &[u8], at: usize) -> PathBuf {
    let end = mail.find("\n\n").unwrap_or(mail.len());
    let reason = crate::import::header::read(&mail[..end]).reason;
    let name = reason.and_then(|reason| crate::import::name::of_subject(&reason));
    PathBuf::from(name.map_or_else(|| format!("{}.patch", at + 1), |name| format!("{name}.patch")))
}

/// The folder of Bazel's workspace that a file is in.
fn workspace_of(folder: &Path) -> PathBuf {
    let marks = ["MODULE.bazel", "WORKSPACE", "WORKSPACE.bazel"];
    let above = folder.ancestors().find(|above| marks.iter().any(|mark| above.join(mark).is_file()));
    above.unwrap_or(folder).to_owned()
}
