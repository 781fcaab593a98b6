//! What files of git's say of a folder: at which commit it is checked out, and whether it is a submodule.
//!
//! Only ever a hint for a person. The files are read as data: no git runs, nothing above the folder is searched for a
//! repository, and what cannot be made sense of says nothing. The layout is that of gitrepository-layout(5).

use std::path::{Path, PathBuf};

use crate::escape::{for_shell, for_terminal};
use crate::gitmodules;
use crate::id::CommitId;

/// A file of git's that is longer is not read. `packed-refs` of large repositories have some megabytes.
const MOST_BYTES: u64 = 64 << 20;
/// How many names may lead from `HEAD` to a commit; as many as git follows.
const MOST_NAMES: usize = 5;

/// The commit that `HEAD` of a folder's own `.git` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The commit.
    pub commit: CommitId,
    /// The files that say so: one of them changes when another commit is checked out.
    pub files: Vec<PathBuf>,
}

/// Reads it; `None` if there is none, or it cannot be told.
#[must_use]
pub fn head(dir: &Path) -> Option<Head> {
    let own = git_folder(dir)?;
    // A worktree has a `HEAD` of its own and shares the branches.
    let common = match line(&own.join("commondir")) {
        Some(common) => own.join(common),
        None => own.clone(),
    };
    let mut files = vec![own.join("HEAD")];
    let mut value = line(&files[0])?;
    for _ in 0..MOST_NAMES {
        let Some(name) = value.strip_prefix("ref:") else {
            return CommitId::parse(&value).ok().map(|commit| Head { commit, files });
        };
        let name = name.trim();
        if !is_ref(name) {
            return None;
        }
        let packed = common.join("packed-refs");
        let (file, next) = [own.join(name), common.join(name)]
            .into_iter()
            .find_map(|file| line(&file).map(|line| (file, line)))
            .or_else(|| id_among(&packed, name).map(|id| (packed, id)))?;
        files.push(file);
        value = next;
    }
    None
}

/// `.git` of a folder: a folder, or a file that says where it is, as submodules and worktrees have it.
fn git_folder(dir: &Path) -> Option<PathBuf> {
    let git = dir.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let place = line(&git)?;
    Some(dir.join(place.strip_prefix("gitdir:")?.trim()))
}

/// Whether a text is the name of a ref, and no path that leads elsewhere.
fn is_ref(name: &str) -> bool {
    let is_plain = |part: &str| !part.is_empty() && !part.starts_with('.');
    name.starts_with("refs/") && name.split('/').all(is_plain) && !name.contains('\0')
}

fn id_among(packed: &Path, name: &str) -> Option<String> {
    let text = text(packed)?;
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(_, named)| *named == name).map(|(id, _)| id.to_owned())
}

fn line(file: &Path) -> Option<String> {
    Some(text(file)?.lines().next()?.trim_end().to_owned())
}

fn text(file: &Path) -> Option<String> {
    let metadata = std::fs::metadata(file).ok()?;
    // To read a pipe would wait for ever.
    if !metadata.is_file() || metadata.len() > MOST_BYTES {
        return None;
    }
    String::from_utf8(std::fs::read(file).ok()?).ok()
}

/// A tree that is checked out at another commit than the pin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere<'d> {
    dir: &'d Path,
    at: CommitId,
    pin: CommitId,
}

impl<'d> Elsewhere<'d> {
    /// Compares; `None` if it is at the pin, or cannot be told.
    #[must_use]
    pub fn of(dir: &'d Path, pin: CommitId) -> Option<Self> {
        let at = head(dir)?.commit;
        (at != pin).then_some(Self { dir, at, pin })
    }

    /// What to say of it. `bump`: the command that moves the pin, without the commit.
    #[must_use]
    pub fn say(&self, bump: &str) -> String {
        let Self { dir, at, pin } = self;
        let dir = dir.display().to_string();
        format!(
            "`{}` is at commit {at}, the pin is {pin}: git -C {} checkout {pin} (or move the pin: {bump} {at})",
            for_terminal(&dir),
            for_shell(&dir),
        )
    }
}

/// A folder that the `.gitmodules` of a repository around it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submodule {
    /// Where the `.gitmodules` is.
    top: PathBuf,
    /// The folder, relative to it.
    path: String,
}

impl Submodule {
    /// Finds out whether a folder is a submodule, also if it is not there.
    #[must_use]
    pub fn at(dir: &Path) -> Option<Self> {
        let dir = std::path::absolute(dir).ok()?;
        let (there, real) = dir.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)))?;
        let rest = dir.strip_prefix(there).ok()?;
        // Joined with nothing, a path would get a slash at its end.
        let dir = if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        dir.ancestors().skip(1).find_map(|top| {
            let path = dir.strip_prefix(top).ok()?.to_str()?;
            let names = gitmodules::names(&text(&top.join(".gitmodules"))?, path);
            names.then(|| Self { top: top.to_owned(), path: path.to_owned() })
        })
    }

    /// The command that fills it, run from where this program runs.
    #[must_use]
    pub fn fill(&self) -> String {
        let here = std::env::current_dir().and_then(|here| here.canonicalize());
        let place = if here.is_ok_and(|here| here == self.top) {
            String::new()
        } else {
            format!(" -C {}", for_shell(&self.top.display().to_string()))
        };
        format!("git{place} submodule update --init {}", for_shell(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "b7c3dd6d27f45b5365b08a840310187dc503f1db";
    const OTHER: &str = "1700b39a1dc05611dc6792f4453458d379997037";

    /// A folder with these files.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let file = dir.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        dir
    }

    #[track_caller]
    fn says(files: &[(&str, &str)], at: &str) -> Option<String> {
        head(&folder(files).path().join(at)).map(|head| head.commit.to_string())
    }

    fn id() -> Option<String> {
        Some(ID.to_owned())
    }

    #[test]
    fn a_detached_head_is_the_commit() {
        assert_eq!(says(&[(".git/HEAD", &format!("{ID}\n"))], ""), id());
    }

    #[test]
    fn a_branch_is_looked_up_in_its_file_then_among_the_packed() {
        let on_main = (".git/HEAD", "ref: refs/heads/main\n");
        let packed =
            format!("# pack-refs with: peeled\n{OTHER} refs/heads/main2\n{ID} refs/heads/main\n^{OTHER}\n");
        assert_eq!(says(&[on_main, (".git/refs/heads/main", &format!("{ID}\n"))], ""), id());
        assert_eq!(says(&[on_main, (".git/packed-refs", &packed)], ""), id());
        let newer = [on_main, (".git/packed-refs", &packed), (".git/refs/heads/main", OTHER)];
        assert_eq!(says(&newer, ""), Some(OTHER.to_owned()));
    }

    #[test]
    fn the_files_that_say_so_are_named() {
        let packed = format!("{ID} refs/heads/main\n");
        let dir = folder(&[(".git/HEAD", "ref: refs/heads/main\n"), (".git/packed-refs", &packed)]);
        let files = [".git/HEAD", ".git/packed-refs"].map(|file| dir.path().join(file));
        assert_eq!(head(dir.path()).unwrap().files, files);
    }

    #[test]
    fn a_tree_elsewhere_says_both_ways_out() {
        let dir = folder(&[("a b/.git/HEAD", ID)]);
        let tree = dir.path().join("a b");
        let [at, pin] = [ID, OTHER].map(|id| CommitId::parse(id).unwrap());
        assert_eq!(Elsewhere::of(&tree, at), None);
        assert_eq!(Elsewhere::of(dir.path(), pin), None);
        let said = Elsewhere::of(&tree, pin).unwrap().say("overlaid bump --to");
        let shown = tree.display();
        assert_eq!(
            said,
            format!(
                "`{shown}` is at commit {ID}, the pin is {OTHER}: git -C '{shown}' checkout {OTHER} (or move the pin: \
                 overlaid bump --to {ID})"
            )
        );
    }

    #[test]
    fn a_name_can_name_another() {
        let files = [
            (".git/HEAD", "ref: refs/heads/link\n"),
            (".git/refs/heads/link", "ref: refs/heads/main\n"),
            (".git/refs/heads/main", ID),
        ];
        assert_eq!(says(&files, ""), id());
    }

    #[test]
    fn submodules_and_worktrees_say_where_their_git_folder_is() {
        let submodule =
            [("up/.git", "gitdir: ../.git/modules/up\n"), (".git/modules/up/HEAD", ID), (".git/HEAD", OTHER)];
        assert_eq!(says(&submodule, "up"), id());
        let worktree = [
            ("tree/.git", "gitdir: ../main/.git/worktrees/tree\n"),
            ("main/.git/worktrees/tree/HEAD", "ref: refs/heads/side\n"),
            ("main/.git/worktrees/tree/commondir", "../..\n"),
            ("main/.git/refs/heads/side", ID),
            ("main/.git/HEAD", OTHER),
        ];
        assert_eq!(says(&worktree, "tree"), id());
    }

    #[test]
    fn git_itself_agrees() {
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let mut git = std::process::Command::new("git");
            git.current_dir(dir.path()).args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]);
            git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
            let output = git.args(args).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        git(&["init", "-q"]);
        assert_eq!(head(dir.path()), None);
        git(&["commit", "-q", "--allow-empty", "-m", "one"]);
        let said = || head(dir.path()).map(|head| head.commit.to_string());
        assert_eq!(said(), Some(git(&["rev-parse", "HEAD"])));
        git(&["pack-refs", "--all"]);
        assert_eq!(said(), Some(git(&["rev-parse", "HEAD"])));
        git(&["commit", "-q", "--allow-empty", "-m", "two"]);
        assert_eq!(said(), Some(git(&["rev-parse", "HEAD"])));
        git(&["checkout", "-q", "--detach", "HEAD~1"]);
        assert_eq!(said(), Some(git(&["rev-parse", "HEAD"])));
    }

    #[test]
    fn what_makes_no_sense_says_nothing() {
        for files in [
            &[][..],
            &[(".git/HEAD", "")],
            &[(".git/HEAD", "b7c3dd6d")],
            &[(".git/HEAD", "ref: refs/heads/unborn\n")],
            // A reftable has its names elsewhere.
            &[(".git/HEAD", "ref: refs/heads/.invalid\n"), (".git/refs/heads/.invalid", ID)],
            &[(".git/HEAD", "ref: refs/../../secret\n"), ("secret", ID)],
            &[(".git/HEAD", "ref: /etc/passwd\n")],
            &[(".git/HEAD", "ref: refs/heads/a\n"), (".git/refs/heads/a", "ref: refs/heads/a\n")],
            &[(".git", "gitdir: nowhere\n")],
            &[(".git", "what is this")],
            &[(".git/HEAD/x", ID)],
            &[("HEAD", ID), ("refs/heads/main", ID)],
        ] {
            assert_eq!(says(files, ""), None, "{files:?}");
        }
        // No folder above is asked.
        assert_eq!(says(&[(".git/HEAD", ID), ("inner/file", "")], "inner"), None);
    }

    #[test]
    fn a_submodule_is_what_a_gitmodules_above_names() {
        let modules = "[submodule \"a\"]\n\tpath = third party/a\n\turl = u\n";
        let dir = folder(&[(".gitmodules", modules), ("third party/a/x", ""), ("third party/b/x", "")]);
        let top = dir.path().canonicalize().unwrap();
        let found = Submodule::at(&top.join("third party/a")).unwrap();
        assert_eq!((&found.top, found.path.as_str()), (&top, "third party/a"));
        assert_eq!(
            found.fill(),
            format!(
                "git -C {} submodule update --init 'third party/a'",
                for_shell(&top.display().to_string())
            )
        );
        assert_eq!(Submodule::at(&top.join("third party/b")), None);
        std::fs::remove_dir_all(top.join("third party")).unwrap();
        assert!(Submodule::at(&top.join("third party/a")).is_some());
    }
}
