//! What the `url` of an upstream or a remote means: a repository on this machine, a bundle, or a remote.
//!
//! Decides by the text and by what stands at a path. Refuses what could make git run a program.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::error::StoreError;

/// Where objects come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Location {
    /// A repository on this machine, given by its path. Read where it is.
    Repository(PathBuf),
    /// A file made by `git bundle`.
    Bundle(PathBuf),
    /// Anything that git reaches by a URL, `file://` among them.
    Remote(String),
}

const SCHEMES: [&str; 7] = ["file", "git", "git+ssh", "http", "https", "ssh", "ssh+git"];

impl Location {
    /// What this URL or path means; a relative path starts at `root`.
    pub fn parse(url: &str, root: &Path) -> Result<Self, StoreError> {
        let bad = |why: &'static str| StoreError::Url { url: redacted(url), why };
        if url.is_empty() {
            return Err(bad("it is empty"));
        }
        if url.chars().any(char::is_control) {
            return Err(bad("it has a control character"));
        }
        if url.starts_with('-') {
            return Err(bad("it starts with `-`, which git would take for an option"));
        }
        let before_slash = url.split('/').next().unwrap_or(url);
        if before_slash.contains("::") && !before_slash.contains('[') {
            return Err(bad("`NAME::` starts a transport helper, which is a program; none is run"));
        }
        if let Some((scheme, rest)) = url.split_once("://") {
            if !SCHEMES.contains(&scheme) {
                return Err(bad(
                    "git would look for a program for this scheme; use https, http, ssh, git or file",
                ));
            }
            let host = rest.split('/').next().unwrap_or(rest);
            if host.rsplit('@').next().is_some_and(|host| host.starts_with('-')) || host.starts_with('-') {
                return Err(bad("the host starts with `-`, which ssh would take for an option"));
            }
            if scheme == "file" && is_bundle(Path::new(rest)) {
                return Ok(Location::Bundle(rest.into()));
            }
            return Ok(Location::Remote(url.to_owned()));
        }
        if before_slash.contains(':') {
            return Ok(Location::Remote(url.to_owned()));
        }
        let path = root.join(url);
        match std::fs::metadata(&path) {
            Ok(found) if found.is_dir() => Ok(Location::Repository(path)),
            Ok(_) if is_bundle(&path) => Ok(Location::Bundle(path)),
            Ok(_) => Err(bad("the file is not a git bundle")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(StoreError::NoSuchPath { path, variable: None })
            }
            Err(source) => Err(StoreError::Io { what: "look at", path, source }),
        }
    }

    /// The text that git takes for it.
    pub fn for_git(&self) -> OsString {
        match self {
            // A path is absolute, since the root is, and so is never taken for an option or a host.
            Location::Repository(path) | Location::Bundle(path) => path.clone().into_os_string(),
            Location::Remote(url) => url.into(),
        }
    }

    /// The text for people, without passwords.
    pub fn for_people(&self) -> String {
        redacted(&self.for_git().to_string_lossy())
    }
}

fn is_bundle(path: &Path) -> bool {
    let mut start = [0; 8];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && (&start == b"# v2 git" || &start == b"# v3 git")
}

/// A URL without the password or token in it.
pub(super) fn redacted(url: &str) -> String {
    let shown = match url.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            match host.rsplit_once('@') {
                Some((user, host)) if scheme.starts_with("http") || user.contains(':') => {
                    format!("{scheme}://***@{host}{path}")
                }
                _ => url.to_owned(),
            }
        }
        None => url.to_owned(),
    };
    escaped(&shown)
}

/// Text of others, safe for a terminal: control and direction characters are written out.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || turns {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Location, StoreError> {
        Location::parse(url, Path::new("/nonexistent/root"))
    }

    #[test]
    fn remotes_are_what_git_reaches_without_a_helper() {
        for url in [
            "https://example.com/a.git",
            "http://user:secret@example.com/a",
            "ssh://git@example.com:22/a",
            "git@example.com:a/b.git",
            "git://example.com/a",
            "file:///srv/a.git",
            "ssh://git@[::1]/a",
            "[::1]:a",
        ] {
            assert!(matches!(parse(url), Ok(Location::Remote(same)) if same == url), "{url}");
        }
    }

    #[test]
    fn what_could_run_a_program_is_refused() {
        for url in [
            "",
            "ext::sh -c touch% x",
            "::x",
            "fd::17",
            "https::https://example.com/a",
            "-u./x",
            "--upload-pack=touch x",
            "ssh://-oProxyCommand=x/a",
            "ssh://git@-oProxyCommand=x/a",
            "-oProxyCommand=x:a",
            "helper://example.com/a",
            "HTTPS+x://example.com",
            "https://example.com/a\nb",
        ] {
            assert!(matches!(parse(url), Err(StoreError::Url { .. })), "{url:?}");
        }
    }

    #[test]
    fn a_path_that_is_not_there_is_named_in_full() {
        let error = parse("../up").unwrap_err();
        assert!(
            matches!(error, StoreError::NoSuchPath { path, .. } if path == Path::new("/nonexistent/root/../up"))
        );
    }

    #[test]
    fn a_secret_in_a_url_is_not_shown() {
        assert_eq!(redacted("https://u:p@h/a"), "https://***@h/a");
        assert_eq!(redacted("https://token@h"), "https://***@h");
        assert_eq!(redacted("ssh://git@h/a"), "ssh://git@h/a");
        assert_eq!(redacted("ssh://git:p@h/a"), "ssh://***@h/a");
        assert_eq!(redacted("https://h/a@b"), "https://h/a@b");
        assert_eq!(redacted("a\u{1b}[31m\u{202e}"), "a\\u{1b}[31m\\u{202e}");
    }
}
