//! Real git in temporary directories, with fixed dates and no configuration but its own.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use overlaid::id::{CommitId, UpstreamPath};

/// A directory that goes away with the value.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("overlaid-store-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What tests give to git, and nothing else.
pub fn environment() -> Vec<(String, String)> {
    let path = std::env::var("PATH").unwrap();
    [
        ("PATH", path.as_str()),
        ("HOME", "/nonexistent"),
        ("LC_ALL", "C"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_AUTHOR_NAME", "A"),
        ("GIT_AUTHOR_EMAIL", "a@example.com"),
        ("GIT_AUTHOR_DATE", "1700000000 +0000"),
        ("GIT_COMMITTER_NAME", "C"),
        ("GIT_COMMITTER_EMAIL", "c@example.com"),
        ("GIT_COMMITTER_DATE", "1700000000 +0000"),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect()
}

pub fn git_with(dir: &Path, args: &[impl AsRef<OsStr>], input: &[u8]) -> (bool, Vec<u8>, String) {
    let mut child = Command::new("git")
        .args(["-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", "-c", "gc.auto=0"])
        .args(args)
        .current_dir(dir)
        .env_clear()
        .envs(environment())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().unwrap()
    });
    (output.status.success(), output.stdout, String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Runs git and gives its output without the last newline.
#[track_caller]
pub fn git(dir: &Path, args: &[impl AsRef<OsStr>]) -> String {
    git_input(dir, args, b"")
}

#[track_caller]
pub fn git_input(dir: &Path, args: &[impl AsRef<OsStr>], input: &[u8]) -> String {
    let (ok, stdout, stderr) = git_with(dir, args, input);
    assert!(ok, "git {:?}: {stderr}", args.iter().map(AsRef::as_ref).collect::<Vec<_>>());
    String::from_utf8(stdout).unwrap().trim_end().to_owned()
}

/// `first` is the parent of `second`, and so on: a file `f` whose content is the subject.
pub fn linear(dir: &Path, subjects: &[&str]) -> Vec<CommitId> {
    std::fs::create_dir_all(dir).unwrap();
    git(dir, &["init", "--quiet"]);
    subjects
        .iter()
        .map(|subject| {
            std::fs::write(dir.join("f"), format!("{subject}\n")).unwrap();
            git(dir, &["add", "-A"]);
            git(dir, &["commit", "--quiet", "-m", subject]);
            commit(&git(dir, &["rev-parse", "HEAD"]))
        })
        .collect()
}

#[track_caller]
pub fn commit(text: &str) -> CommitId {
    CommitId::parse(text).unwrap()
}

#[track_caller]
pub fn path(text: &str) -> UpstreamPath {
    UpstreamPath::parse(text).unwrap()
}

/// Numbers that look random and are the same in every run (xorshift64*).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Less than `limit`.
    pub fn roll(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap() % limit
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.roll(n) == 0
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len())]
    }
}
