//! Why a store could not be opened, and what a person can do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::location::escaped;
use crate::id::CommitId;
use crate::upstream::UpstreamError;

/// Why there is no store with the commits that are needed.
#[derive(Debug)]
pub enum StoreError {
    /// The URL is not one that is used, whatever stands there.
    Url {
        /// The URL, without secrets.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Nothing is at the path.
    NoSuchPath {
        /// The path.
        path: PathBuf,
        /// The environment variable that names it; `None`: the manifest does.
        variable: Option<String>,
    },
    /// Something is at the path, and it is no repository that can be read.
    NotARepository {
        /// The path.
        path: PathBuf,
        /// The environment variable that names it; `None`: the manifest does.
        variable: Option<String>,
        /// What went wrong.
        why: String,
    },
    /// Commits that are needed are not here, and nothing may be fetched.
    Offline {
        /// The commits.
        commits: Vec<CommitId>,
        /// Where they were looked for.
        looked: String,
        /// The command that brings them.
        command: String,
    },
    /// Commits that are needed are not here and not where they could come from.
    NotFound {
        /// The commits.
        commits: Vec<CommitId>,
        /// The places that were asked.
        asked: Vec<String>,
    },
    /// A needed id is that of an annotated tag, which is what `git ls-remote` prints beside the tag's name.
    Tag {
        /// The id.
        tag: CommitId,
        /// The commit that the tag names.
        commit: CommitId,
    },
    /// A needed id is that of something other than a commit, or its object is damaged.
    Unreadable(UpstreamError),
    /// There is no git program.
    NoGit {
        /// What the system said.
        source: io::Error,
    },
    /// Git could not fetch.
    Fetch {
        /// From where, without secrets.
        from: String,
        /// What kind of failure it was.
        failure: FetchFailure,
        /// What git said, escaped.
        said: String,
    },
    /// There is no folder for the cache.
    NoCacheFolder,
    /// A file or folder of the cache.
    Io {
        /// What was to be done, for example `make`.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Why git could not fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchFailure {
    /// The host cannot be reached.
    NoNetwork,
    /// The host is there, a repository is not.
    NotFound,
    /// The host wants to know who asks, or does not let them.
    Denied,
    /// The disk is full.
    DiskFull,
    /// Git does not read a repository on this machine that belongs to somebody else.
    NotOwned,
    /// A bundle that needs commits which are not in it.
    Incomplete,
    /// The place does not have the commit, or gives commits by the names of branches only.
    Refused,
    /// Something else; what git said tells more.
    Other,
}

impl FetchFailure {
    /// By git's messages in English.
    pub(super) fn of(said: &str) -> Self {
        let has = |any: &[&str]| any.iter().any(|text| said.contains(text));
        if has(&["No space left on device", "Disk quota exceeded"]) {
            Self::DiskFull
        } else if has(&["dubious ownership"]) {
            Self::NotOwned
        } else if has(&["lacks these prerequisite", "does not have prerequisite"]) {
            Self::Incomplete
        } else if has(&[
            "not our ref",
            "unadvertised object",
            "couldn't find remote ref",
            "no such remote ref",
        ]) {
            Self::Refused
        } else if has(&[
            "Could not resolve",
            "Couldn't resolve",
            "Connection refused",
            "Connection timed out",
            "Network is unreachable",
            "No route to host",
            "Failed to connect",
            "Couldn't connect",
            "Name or service not known",
            "Temporary failure in name resolution",
        ]) {
            Self::NoNetwork
        } else if has(&[
            "Authentication failed",
            "could not read Username",
            "could not read Password",
            "Permission denied",
            "Host key verification failed",
            "403",
            "401",
        ]) {
            Self::Denied
        } else if has(&["fatal: object ", "fatal: bad object"]) {
            // It is our side that lacks something.
            Self::Other
        } else if has(&["does not appear to be a git repository", "not found", "Not Found", "does not exist"])
        {
            Self::NotFound
        } else {
            Self::Other
        }
    }
}

impl StoreError {
    /// What a person can do, if it is known: one sentence or one command.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            StoreError::Url { .. } => "use https, ssh, a path, or a bundle".to_owned(),
            StoreError::NoSuchPath { variable: Some(variable), .. }
            | StoreError::NotARepository { variable: Some(variable), .. } => {
                format!("let {variable} name a clone of the upstream, or unset it")
            }
            StoreError::NoSuchPath { variable: None, .. }
            | StoreError::NotARepository { variable: None, .. } => {
                "`url` names a repository or a bundle, relative to the repository that has the manifest"
                    .to_owned()
            }
            StoreError::Offline { command, .. } => format!("run `{command}`, or leave out --offline"),
            StoreError::NotFound { .. } => {
                "if the commit is on a fork or in a pull request, name where in [[upstream.remote]]"
                    .to_owned()
            }
            StoreError::NoGit { .. } => "install git; it is needed to fetch".to_owned(),
            StoreError::NoCacheFolder => "set XDG_CACHE_HOME or HOME to an absolute path".to_owned(),
            StoreError::Fetch { from, failure, .. } => match failure {
                FetchFailure::NoNetwork => {
                    "check the network, or name a clone in OVERLAID_UPSTREAM_<NAME>".to_owned()
                }
                FetchFailure::NotFound => format!("check the URL: `git ls-remote {from}`"),
                FetchFailure::Denied => {
                    format!("log in so that `git ls-remote {from}` works without a question")
                }
                FetchFailure::DiskFull => "free some disk space and run it again".to_owned(),
                FetchFailure::NotOwned => {
                    format!("if you trust it: `git config --global --add safe.directory {from}`")
                }
                FetchFailure::Incomplete => {
                    "make the bundle with the whole history: `git bundle create FILE --all`".to_owned()
                }
                FetchFailure::Refused | FetchFailure::Other => return None,
            },
            StoreError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "free some disk space and run it again".to_owned()
            }
            StoreError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "set XDG_CACHE_HOME to a folder that you can write to".to_owned()
            }
            StoreError::Tag { commit, .. } => format!("write the commit that the tag names: {commit}"),
            StoreError::Io { .. } | StoreError::Unreadable(_) => return None,
        })
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = |variable: &Option<String>| match variable {
            Some(variable) => format!(" (from {variable})"),
            None => String::new(),
        };
        let path = |path: &PathBuf| escaped(&path.display().to_string());
        match self {
            StoreError::Url { url, why } => write!(f, "the URL `{url}` is not used: {why}"),
            StoreError::NoSuchPath { path: at, variable } => {
                write!(f, "there is nothing at `{}`{}", path(at), by(variable))
            }
            StoreError::NotARepository { path: at, variable, why } => {
                write!(
                    f,
                    "`{}`{} cannot be read as a git repository: {}",
                    path(at),
                    by(variable),
                    escaped(why)
                )
            }
            StoreError::Offline { commits, looked, .. } => {
                write!(f, "{} not in {looked}, and --offline fetches nothing", list(commits))
            }
            StoreError::NotFound { commits, asked } => {
                write!(f, "{} not at {}", list(commits), asked.join(", nor at "))
            }
            StoreError::Tag { tag, .. } => write!(f, "{tag} is the id of a tag, not of a commit"),
            StoreError::Unreadable(error) => error.fmt(f),
            StoreError::NoGit { source } => write!(f, "the git program cannot be run: {source}"),
            StoreError::Fetch { from, failure, said } => {
                let why = match failure {
                    FetchFailure::NoNetwork => "the host cannot be reached",
                    FetchFailure::NotFound => "there is no such repository",
                    FetchFailure::Denied => "the host wants other credentials",
                    FetchFailure::DiskFull => "the disk is full",
                    FetchFailure::NotOwned => "the repository belongs to another user",
                    FetchFailure::Incomplete => "the bundle needs commits that are not in it",
                    FetchFailure::Refused => "it does not have the commit",
                    FetchFailure::Other => "git failed",
                };
                write!(f, "cannot fetch from {from}: {why}")?;
                let mut lines = said.lines();
                let fatal = lines.clone().find(|line| line.starts_with("fatal: "));
                match fatal.or_else(|| lines.next()) {
                    Some(line) => write!(f, " ({line})"),
                    None => Ok(()),
                }
            }
            StoreError::NoCacheFolder => f.write_str("there is no folder for the cache of upstreams"),
            StoreError::Io { what, path: at, source } => write!(f, "cannot {what} `{}`: {source}", path(at)),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StoreError::Unreadable(error) => Some(error),
            StoreError::NoGit { source } | StoreError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<UpstreamError> for StoreError {
    fn from(error: UpstreamError) -> Self {
        StoreError::Unreadable(error)
    }
}

fn list(commits: &[CommitId]) -> String {
    let mut once: Vec<&CommitId> = Vec::new();
    for commit in commits {
        if !once.contains(&commit) {
            once.push(commit);
        }
    }
    match once.as_slice() {
        [] => "what is needed is".to_owned(),
        [one] => format!("commit {one} is"),
        _ => {
            let ids: Vec<_> = once.iter().map(ToString::to_string).collect();
            format!("commits {} are", ids.join(", "))
        }
    }
}
