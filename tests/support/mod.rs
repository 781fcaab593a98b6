//! A small builder for upstream repositories, projects with overlays, and runs of the program.
//!
//! Real git in temporary directories, with fixed names and dates and nothing of the user's settings.

pub mod crash;
pub mod random;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Variables of the environment that the program and git may see.
const KEPT: [&str; 3] = ["PATH", "LD_LIBRARY_PATH", "TMPDIR"];

/// A command with a scrubbed environment.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    for name in KEPT {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(std::process::Stdio::null());
    command
}

/// Runs git in a folder and gives its output; panics with its messages if it fails.
pub fn git(dir: &Path, args: &[&str]) -> String {
    String::from_utf8(git_bytes(dir, args)).expect("git printed text").trim_end().to_owned()
}

/// As [`git`], for output that is not text.
pub fn git_bytes(dir: &Path, args: &[&str]) -> Vec<u8> {
    let output = git_command(dir, 0).args(args).output().expect("git runs");
    assert!(
        output.status.success(),
        "git {args:?} in {}: {}",
        dir.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

fn git_command(dir: &Path, at: u64) -> Command {
    let date = format!("{} +0000", 1_700_000_000 + at);
    let mut command = command("git");
    command
        .current_dir(dir)
        .env("GIT_AUTHOR_NAME", "Ada")
        .env("GIT_AUTHOR_EMAIL", "ada@example.org")
        .env("GIT_COMMITTER_NAME", "Ada")
        .env("GIT_COMMITTER_EMAIL", "ada@example.org")
        .env("GIT_AUTHOR_DATE", &date)
        .env("GIT_COMMITTER_DATE", &date);
    command
}

/// An upstream repository.
pub struct Upstream {
    dir: tempfile::TempDir,
    commits: u64,
}

impl Upstream {
    /// An empty one, with the branch `main`.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        git(dir.path(), &["init", "-q", "-b", "main"]);
        git(dir.path(), &["config", "uploadpack.allowAnySHA1InWant", "true"]);
        Self { dir, commits: 0 }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes files and commits everything; an hour after the commit before. Gives the commit's id.
    pub fn commit(&mut self, subject: &str, files: &[(&str, &str)]) -> String {
        for (path, text) in files {
            write(&self.dir.path().join(path), text);
        }
        self.commit_all(subject)
    }

    /// Removes files and commits.
    pub fn remove(&mut self, subject: &str, paths: &[&str]) -> String {
        for path in paths {
            std::fs::remove_file(self.dir.path().join(path)).expect("the file is there");
        }
        self.commit_all(subject)
    }

    /// Commits whatever stands in the work tree.
    pub fn commit_all(&mut self, subject: &str) -> String {
        git(self.path(), &["add", "-A"]);
        self.run_dated(&["commit", "-q", "--allow-empty", "-m", subject]);
        git(self.path(), &["rev-parse", "HEAD"])
    }

    /// Runs git with the date of the next commit.
    pub fn run_dated(&mut self, args: &[&str]) {
        self.commits += 1;
        let output = git_command(self.path(), self.commits * 3600).args(args).output().expect("git runs");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs git in it.
    pub fn git(&self, args: &[&str]) -> String {
        git(self.path(), args)
    }

    /// The content of a path at a commit.
    pub fn show(&self, commit: &str, path: &str) -> Vec<u8> {
        git_bytes(self.path(), &["show", &format!("{commit}:{path}")])
    }
}

/// A repository of ours: manifests, overlays, and the program run in it.
pub struct Project {
    dir: tempfile::TempDir,
    environment: BTreeMap<String, PathBuf>,
}

/// What a run of the program gave.
#[derive(Debug)]
pub struct Run {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Run {
    /// The JSON document on standard output.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The command at the end of the hint.
    pub fn hinted(&self) -> &str {
        let hint = self.stderr.split_once("hint: ").map_or("", |(_, hint)| hint);
        let line = hint.lines().next().unwrap_or_default();
        line.rsplit_once(": ").map_or("", |(_, command)| command)
    }

    /// The same run, if it ended with this code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}

impl Project {
    /// An empty one.
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory"), environment: BTreeMap::new() }
    }

    /// One with the manifest `manifests/up.toml`: the upstream `up` at a pin, and more tables.
    pub fn on(upstream: &Upstream, pin: &str, more: &str) -> Self {
        let project = Self::new();
        project.write("manifests/up.toml", manifest(upstream, pin, more));
        project
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The tree that `apply` makes by default.
    pub fn tree(&self) -> PathBuf {
        self.path().join(".overlaid/up")
    }

    /// Writes a file.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        write(&self.path().join(path), text);
    }

    /// Reads a file.
    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Sets a variable for the runs of the program.
    pub fn set(&mut self, name: &str, value: impl Into<PathBuf>) {
        self.environment.insert(name.to_owned(), value.into());
    }

    /// The program, not yet run.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = command(env!("CARGO_BIN_EXE_overlaid"));
        command
            .current_dir(self.path())
            .env("HOME", self.path().join("home"))
            .env("XDG_CACHE_HOME", self.path().join("cache"))
            .envs(&self.environment)
            .args(args);
        command
    }

    /// Runs a command as a hint shows it, in a shell that finds the program.
    pub fn shell(&self, line: &str) -> Run {
        let bin = Path::new(env!("CARGO_BIN_EXE_overlaid")).parent().expect("it lies in a folder");
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(bin.to_owned()).chain(std::env::split_paths(&paths));
        let mut shell = command("sh");
        shell
            .args(["-c", line])
            .current_dir(self.path())
            .env("PATH", std::env::join_paths(paths).expect("a PATH"));
        shell.env("XDG_CACHE_HOME", self.path().join("cache"));
        let output = shell.output().expect("a shell");
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs the program.
    pub fn run(&self, args: &[&str]) -> Run {
        let output = self.command(args).output().expect("the program starts");
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Project {
    /// What a person sees in a terminal of so many columns, without colour; `None` if there is no `script` program to
    /// make one.
    pub fn on_terminal(&self, columns: usize, args: &[&str]) -> Option<String> {
        let program = env!("CARGO_BIN_EXE_overlaid");
        let inner = format!("stty cols {columns} rows 50; {program} {}", args.join(" "));
        let mut script = command("script");
        script.args(["-qec", &inner, "/dev/null"]).current_dir(self.path());
        script.env("NO_COLOR", "1").env("TERM", "xterm").env("SHELL", "/bin/sh");
        script.env("XDG_CACHE_HOME", self.path().join("cache")).envs(&self.environment);
        let output = script.output().ok()?;
        Some(String::from_utf8(output.stdout).expect("text").replace('\r', ""))
    }
}

/// A manifest of the upstream `up`.
pub fn manifest(upstream: &Upstream, pin: &str, more: &str) -> String {
    let url = upstream.path().display();
    format!("version = 1\n\n[upstream]\nname = \"up\"\nurl = \"{url}\"\npin = \"{pin}\"\n{more}")
}

/// Writes a file and the folders above it.
pub fn write(path: &Path, text: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders can be made");
    std::fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
