//! Commits and checkouts as patches. They are read by libgit2, which starts no programs.

use std::path::{Path, PathBuf};

use git2::{
    Delta, Diff, DiffFindOptions, DiffFormat, DiffLineType, DiffOptions, Email, EmailCreateOptions, Oid,
    Repository, Sort, StatusOptions,
};

use bstr::ByteSlice;

use crate::id::CommitId;
use crate::import::Meta;
use crate::import::plan::Raw;
use crate::import::strip::without_idle_names;

use super::{Read, Source, SourceError, named_by_subject, unclear};

fn of_git(what: String) -> impl FnOnce(git2::Error) -> SourceError {
    move |error| unclear(format!("{what}: {}", error.message()), "is this the repository that is meant?")
}

/// How diffs are made: as `git diff --binary --full-index` makes them.
fn options() -> DiffOptions {
    let mut options = DiffOptions::new();
    options.show_binary(true).id_abbrev(40);
    options
}

/// The commits of a range `A..B` in a repository, the oldest first, each as a mail patch.
///
/// # Errors
/// If the range cannot be read, is empty, or has merges: what those change depends on the side.
pub fn read_range(repository: &Path, range: &str) -> Result<Vec<Raw>, SourceError> {
    let open = of_git(format!("cannot open `{}`", repository.display()));
    let git = Repository::open(repository).map_err(open)?;
    let failed = || of_git(format!("cannot read `{range}` of `{}`", repository.display()));
    let mut walk = git.revwalk().map_err(failed())?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE).map_err(failed())?;
    if range.contains("..") {
        walk.push_range(range).map_err(failed())?;
    } else {
        return Err(unclear(format!("`{range}` is no range of commits"), "write it as PIN..BRANCH"));
    }
    let ids: Vec<Oid> = walk.collect::<Result<_, _>>().map_err(failed())?;
    if ids.is_empty() {
        return Err(unclear(format!("`{range}` has no commits"), "the older side comes first: PIN..BRANCH"));
    }
    let mut patches = Vec::new();
    for id in ids {
        let commit = git.find_commit(id).map_err(failed())?;
        if commit.parent_count() > 1 {
            return Err(unclear(
                format!("commit {id} is a merge: what it changes depends on the side"),
                "make the branch straight first: git rebase PIN BRANCH",
            ));
        }
        let tree = commit.tree().map_err(failed())?;
        let parent = commit.parent(0).ok().and_then(|parent| parent.tree().ok());
        let diff =
            git.diff_tree_to_tree(parent.as_ref(), Some(&tree), Some(&mut options())).map_err(failed())?;
        if diff.deltas().len() == 0 {
            continue;
        }
        let summary = String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned();
        let body = String::from_utf8_lossy(commit.body_bytes().unwrap_or_default()).into_owned();
        let mut how = EmailCreateOptions::new();
        how.omit_numbers(true);
        let mail =
            Email::from_diff(&diff, 1, 1, &id, summary.as_str(), body.as_str(), &commit.author(), &mut how);
        let bytes = without_idle_names(mail.map_err(failed())?.as_slice());
        let file = named_by_subject(&bytes, patches.len());
        patches.push(Raw {
            from: format!("commit {}", &id.to_string()[..10]),
            file,
            has_file: false,
            bytes,
            strip: 1,
            meta: Meta::default(),
        });
    }
    Ok(patches)
}

/// What is changed in a checkout and not committed, untracked files included, as one patch; none: nothing is.
///
/// # Errors
/// If it is no checkout.
pub fn read_checkout(folder: &Path) -> Result<Read, SourceError> {
    let open = of_git(format!("cannot open the checkout `{}`", folder.display()));
    let git = Repository::open(folder).map_err(open)?;
    let failed = || of_git(format!("cannot compare the checkout `{}`", folder.display()));
    let commit = git.head().and_then(|head| head.peel_to_commit()).map_err(failed())?;
    let head = commit.tree().map_err(failed())?;
    let mut how = options();
    how.include_untracked(true)
        .recurse_untracked_dirs(true)
        .show_untracked_content(true)
        .ignore_submodules(true);
    let mut diff = git.diff_tree_to_workdir_with_index(Some(&head), Some(&mut how)).map_err(failed())?;
    diff.find_similar(Some(DiffFindOptions::new().renames(true).for_untracked(true))).map_err(failed())?;
    let bytes = without_idle_names(&text_of(&diff).map_err(failed())?);
    let mut read = Read::from(Source::Patches(Vec::new()));
    read.at = CommitId::parse(&commit.id().to_string()).ok();
    for nested in nested_repositories(&git).map_err(failed())? {
        read.left_out.push((nested, "it is a repository of its own".to_owned()));
    }
    if !bytes.is_empty() {
        let name = folder.canonicalize().ok().and_then(|path| path.file_name().map(PathBuf::from));
        let file = name.unwrap_or_else(|| PathBuf::from("checkout")).with_extension("patch");
        let from = format!("checkout {} at {:.10}", folder.display(), commit.id());
        let raw = Raw { from, file, has_file: true, bytes, strip: 1, meta: Meta::default() };
        read.source = Source::Patches(vec![raw]);
    }
    Ok(read)
}

/// Repositories that lie in a checkout and belong to nothing in it: git shows each as one untracked folder.
fn nested_repositories(git: &Repository) -> Result<Vec<PathBuf>, git2::Error> {
    let mut how = StatusOptions::new();
    how.include_untracked(true).recurse_untracked_dirs(true).exclude_submodules(true);
    let statuses = git.statuses(Some(&mut how))?;
    let folders = statuses.iter().map(|entry| entry.path_bytes().to_owned());
    Ok(folders.filter(|path| path.ends_with(b"/")).map(|path| path.to_path_lossy().into_owned()).collect())
}

/// The text of a diff in the order of paths. What goes away does so before something else comes to its place.
fn text_of(diff: &Diff<'_>) -> Result<Vec<u8>, git2::Error> {
    let mut parts: Vec<(Vec<u8>, bool, Vec<u8>)> = Vec::new();
    diff.print(DiffFormat::Patch, |delta, _, line| {
        if line.origin_value() == DiffLineType::FileHeader {
            let path = delta.new_file().path_bytes().or_else(|| delta.old_file().path_bytes());
            parts.push((path.unwrap_or_default().to_vec(), delta.status() != Delta::Deleted, Vec::new()));
        }
        if let Some((_, _, text)) = parts.last_mut() {
            if matches!(line.origin(), '+' | '-' | ' ') {
                text.push(line.origin() as u8);
            }
            text.extend_from_slice(line.content());
        }
        true
    })?;
    parts.sort();
    Ok(parts.into_iter().flat_map(|(_, _, text)| text).collect())
}
