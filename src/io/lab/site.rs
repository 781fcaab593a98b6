//! Where the variants of one commit are built: a tree that is flipped in place, build folders, scratch
//! folders of tests, and a lock.
//!
//! Decides names of folders and who may use them. Never what is in a tree.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::id::{CommitId, Name};
use crate::manifest::Sanitizer;

/// The folder of a commit in the lab, locked for us.
#[derive(Debug)]
pub struct Site {
    folder: PathBuf,
    /// Unlocks when it is closed. It holds a word while somebody works here.
    lock: File,
}

impl Drop for Site {
    fn drop(&mut self) {
        // Else the next one looks for what is left of us, and finds nothing.
        let _ = self.lock.set_len(0);
    }
}

/// The variable that says for which build folder a tool runs, so that one that is left behind can be told.
pub const BUILDS: &str = "OVERLAID_BUILDS";

/// Ends programs that work in a folder and are left of a run that was killed: they would write into what is made now.
#[cfg(target_os = "linux")]
fn end_leftovers(folder: &Path) {
    use std::os::unix::ffi::OsStrExt;
    let marks = ["OVERLAID_TREE=", BUILDS].map(|name| {
        let mut mark = name.trim_end_matches('=').as_bytes().to_vec();
        mark.push(b'=');
        mark.extend_from_slice(folder.as_os_str().as_bytes());
        mark.push(b'/');
        mark
    });
    let own = std::process::id().to_string();
    for _ in 0..40 {
        let mut found = false;
        for entry in std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok) {
            let pid = entry.file_name().to_string_lossy().into_owned();
            let Ok(number) = pid.parse::<i32>() else { continue };
            let variables = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let is_left = variables
                .split(|&byte| byte == 0)
                .any(|variable| marks.iter().any(|mark| variable.starts_with(mark)));
            if is_left
                && pid != own
                && let Some(pid) = rustix::process::Pid::from_raw(number)
            {
                found = true;
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        if !found {
            return;
        }
        std::thread::sleep(Duration::from_millis(25));
    }
}

#[cfg(not(target_os = "linux"))]
fn end_leftovers(_: &Path) {}

/// A folder of the lab that cannot be used.
#[derive(Debug)]
pub struct SiteError {
    /// The file or folder.
    pub path: PathBuf,
    /// What the operating system says.
    pub source: std::io::Error,
}

impl std::fmt::Display for SiteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot use {}: {}", self.path.display(), self.source)
    }
}

impl std::error::Error for SiteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl Site {
    /// Opens the folder of a commit under `root/.overlaid/lab/<upstream>/`, makes it where it is not there,
    /// and waits until nobody else uses it; `waiting` is told once if that takes longer than a moment.
    ///
    /// # Errors
    /// If a folder or a file cannot be made.
    pub fn open(
        root: &Path,
        upstream: &Name,
        commit: CommitId,
        waiting: &mut dyn FnMut(&Path),
    ) -> Result<Self, SiteError> {
        let own = root.join(".overlaid");
        let folder = own.join("lab").join(upstream.as_str()).join(commit.to_string());
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| SiteError { path, source }
        };
        std::fs::create_dir_all(&folder).map_err(at(&folder))?;
        // What is below is nobody's business in the user's own repository.
        let ignore = own.join(".gitignore");
        if !ignore.exists() {
            std::fs::write(&ignore, "*\n").map_err(at(&ignore))?;
        }
        let path = folder.join("lock");
        let options = File::options().create(true).truncate(false).read(true).write(true).open(&path);
        let lock = options.map_err(at(&path))?;
        let mut told = false;
        let mut waited = 0;
        loop {
            match rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    if waited == 20 && !told {
                        waiting(&folder);
                        told = true;
                    }
                    waited += 1;
                    std::thread::sleep(Duration::from_millis(50));
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(SiteError { path, source: errno.into() }),
            }
        }
        // CMake wants one name for a folder, without links in it.
        let folder = folder.canonicalize().map_err(at(&folder))?;
        if lock.metadata().is_ok_and(|data| data.len() > 0) {
            end_leftovers(&folder);
        }
        std::io::Write::write_all(&mut &lock, b"in use\n").map_err(at(&folder))?;
        Ok(Self { folder, lock })
    }

    /// The tree.
    #[must_use]
    pub fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// The build folder of a project of ours (relative to the repository), or of the upstream itself. What is built
    /// with a sanitizer has one of its own.
    #[must_use]
    pub fn build(
        &self,
        profile: Option<&Name>,
        project: Option<&Path>,
        sanitizer: Option<Sanitizer>,
    ) -> PathBuf {
        let mut name = profile.map_or("default", Name::as_str).to_owned();
        if let Some(sanitizer) = sanitizer {
            // No profile has this sign in its name.
            name.push_str(&format!("@{}", sanitizer.as_str()));
        }
        self.folder.join("build").join(name).join(project_folder(project))
    }

    /// The folder of all build folders.
    #[must_use]
    pub fn builds(&self) -> PathBuf {
        self.folder.join("build")
    }

    /// Where it is noted how the tree stood when it was made.
    #[must_use]
    pub fn snapshot(&self) -> PathBuf {
        self.folder.join("tree.json")
    }

    /// The folder of what a test printed at a commit, relative to our repository.
    #[must_use]
    pub fn results_of(upstream: &Name, commit: CommitId, test: &Name) -> PathBuf {
        let folder = Path::new(".overlaid/lab").join(upstream.as_str()).join(commit.to_string());
        folder.join("results").join(test.as_str())
    }

    /// The folder of what a test prints and reports.
    #[must_use]
    pub fn results(&self, test: &Name) -> PathBuf {
        self.folder.join("results").join(test.as_str())
    }

    /// The folder of a test's run-time compile caches. They are emptied before each variant.
    #[must_use]
    pub fn caches(&self, test: &Name) -> PathBuf {
        self.folder.join("caches").join(test.as_str())
    }
}

/// A folder name for a project: `tests/kernels` becomes `tests-kernels`. Two projects that would meet get
/// a hash, too.
fn project_folder(project: Option<&Path>) -> String {
    let Some(project) = project else {
        return "upstream".to_owned();
    };
    let text = project.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    let name: String = text.chars().map(|c| if plain(c) { c } else { '-' }).collect();
    let is_clear = text.chars().all(|c| plain(c) || c == '/') && name != "upstream" && !name.starts_with('.');
    if is_clear { name } else { format!("{name}-{}", &super::super::hashes::sha256_of(text.as_bytes())[..8]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_get_folders_of_their_own() {
        assert_eq!(project_folder(None), "upstream");
        assert_eq!(project_folder(Some(Path::new("tests/kernels"))), "tests-kernels");
        assert_ne!(project_folder(Some(Path::new("tests-kernels"))), "tests-kernels");
        assert_ne!(project_folder(Some(Path::new("upstream"))), "upstream");
        assert_ne!(project_folder(Some(Path::new(".."))), "..");
    }

    #[test]
    fn a_site_is_used_by_one_at_a_time() {
        let root = std::env::temp_dir().join(format!("overlaid-site-{}", std::process::id()));
        let name = Name::parse("up").unwrap();
        let commit = CommitId::from_bytes([7; 20]);
        let site = Site::open(&root, &name, commit, &mut |_| {}).unwrap();
        assert!(site.tree().ends_with(format!(".overlaid/lab/up/{commit}/tree")));
        let second = {
            let root = root.clone();
            std::thread::spawn(move || {
                let mut waited = false;
                Site::open(&root, &Name::parse("up").unwrap(), commit, &mut |_| waited = true).unwrap();
                waited
            })
        };
        std::thread::sleep(Duration::from_millis(1500));
        drop(site);
        assert!(second.join().unwrap());
        std::fs::remove_dir_all(&root).unwrap();
    }
}
