//! The git program, which fetches: the one door to it.
//!
//! It knows people's credentials and proxies. It runs no hook, no helper and no transport but those that are named
//! here, does not look at the repository that we stand in, and asks no question.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use super::environment::Environment;
use super::error::{FetchFailure, StoreError};
use super::location::{Location, escaped};

/// What happens while a store is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Somebody else fetches the same upstream, and we wait for that.
    Waiting,
    /// Git is about to fetch.
    Fetching {
        /// From where, without secrets.
        from: String,
    },
    /// A line of git's, escaped: `Receiving objects:  34% (12/35)`. The next one replaces it.
    Line(String),
}

/// Settings that win over those of the user, the machine and the repository.
const SETTINGS: [&str; 13] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "protocol.ext.allow=never",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "fetch.writeCommitGraph=false",
    "transfer.bundleURI=false",
    // A pack appears at once and whole; loose objects one by one, a commit before its tree.
    "fetch.unpackLimit=1",
    "transfer.unpackLimit=1",
    "gc.auto=0",
    "maintenance.auto=false",
    "gc.pruneExpire=never",
    "gc.autoDetach=false",
];

/// Lines of git's messages that are kept for an error.
const LINES: usize = 6;

pub(super) struct Git<'a> {
    pub environment: &'a Environment,
    pub progress: &'a mut dyn FnMut(Progress),
    /// The lock of the cache. Git holds it, too: if we are killed, nobody else starts before git has ended.
    pub lock: &'a File,
    /// More settings, such as for a cache that borrows objects.
    pub settings: Vec<&'static str>,
}

impl Git<'_> {
    /// Runs git on this git folder; its standard output.
    ///
    /// # Errors
    /// If git is not there or fails. `from` is what the error names.
    pub fn run(&mut self, git_dir: &Path, from: &Location, args: &[&OsStr]) -> Result<Vec<u8>, StoreError> {
        let lock = self.lock.try_clone().map_err(|source| StoreError::Io {
            what: "hold the lock of",
            path: git_dir.to_owned(),
            source,
        })?;
        let mut option = OsString::from("--git-dir=");
        option.push(git_dir);
        let mut child = Command::new("git")
            .arg(option)
            .args(SETTINGS.iter().chain(&self.settings).flat_map(|setting| ["-c", setting]))
            .args(args)
            // Not the user's folder, so that nothing in it is found.
            .current_dir(git_dir)
            .env_clear()
            .envs(self.environment.for_git())
            .stdin(Stdio::from(lock))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| StoreError::NoGit { source })?;
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let (output, said) = std::thread::scope(|scope| {
            let output = scope.spawn(move || {
                let mut output = Vec::new();
                let read = stdout.map(|mut stdout| stdout.read_to_end(&mut output));
                read.transpose().map(|_| output)
            });
            let said = stderr.map(|stderr| self.listen(stderr, from)).unwrap_or_default();
            (output.join(), said)
        });
        let ended = child.wait().map_err(|source| StoreError::NoGit { source })?;
        let failed = |said: String| StoreError::Fetch {
            from: from.for_people(),
            failure: FetchFailure::of(&said),
            said,
        };
        if !ended.success() {
            return Err(failed(if said.is_empty() { ended.to_string() } else { said }));
        }
        match output {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(_) => Err(failed("its output could not be read".to_owned())),
        }
    }

    /// Passes git's progress on; the last lines that are none.
    fn listen(&mut self, mut stderr: impl Read, from: &Location) -> String {
        let mut said: Vec<String> = Vec::new();
        let mut pending = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let read = stderr.read(&mut buffer).unwrap_or(0);
            pending.extend_from_slice(&buffer[..read]);
            while let Some(end) = pending.iter().position(|&byte| byte == b'\n' || byte == b'\r') {
                let line: Vec<u8> = pending.drain(..=end).collect();
                self.hear(&line[..end], from, &mut said);
            }
            if read == 0 {
                self.hear(&pending, from, &mut said);
                return said.join("; ");
            }
        }
    }

    fn hear(&mut self, line: &[u8], from: &Location, said: &mut Vec<String>) {
        let text = String::from_utf8_lossy(line);
        let text = escaped(text.trim()).replace(&*from.for_git().to_string_lossy(), &from.for_people());
        if text.is_empty() {
            return;
        }
        let is_progress = text.contains("% (") || text.contains("objects: ");
        if !is_progress {
            if said.len() == LINES {
                said.remove(0);
            }
            said.push(text.clone());
        }
        (self.progress)(Progress::Line(text));
    }

    /// Fetches these refs from there into the repository at `git_dir`.
    ///
    /// # Errors
    /// If git is not there or fails.
    pub fn fetch(
        &mut self,
        git_dir: &Path,
        from: &Location,
        refspecs: &[String],
        prune: bool,
    ) -> Result<(), StoreError> {
        (self.progress)(Progress::Fetching { from: from.for_people() });
        let url = from.for_git();
        let mut args: Vec<&OsStr> = [
            "fetch",
            "--progress",
            "--no-recurse-submodules",
            "--no-tags",
            "--no-write-fetch-head",
            "--force",
        ]
        .map(OsStr::new)
        .to_vec();
        if prune {
            args.push("--prune".as_ref());
        }
        args.push("--".as_ref());
        args.push(url.as_ref());
        args.extend(refspecs.iter().map(OsStr::new));
        self.run(git_dir, from, &args).map(drop)
    }
}
