//! The environment as values: what the store looks up, and what the git program gets to see.

use std::ffi::{OsStr, OsString};

/// Variables of a process. Taken once, so that tests can bring their own.
#[derive(Debug, Clone, Default)]
pub struct Environment(Vec<(OsString, OsString)>);

/// Git's own variables that may pass: how to reach a remote, who one is there, and configuration that a person or a
/// machine chose. All others are about some repository (`GIT_DIR`, `GIT_INDEX_FILE`, `GIT_OBJECT_DIRECTORY`, ...),
/// and never about ours.
const KEPT: [&str; 15] = [
    "GIT_ASKPASS",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_KEY_",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_VALUE_",
    "GIT_CURL_VERBOSE",
    "GIT_EXEC_PATH",
    "GIT_HTTP_",
    "GIT_PROXY_",
    "GIT_SSH",
    "GIT_SSL_",
    "GIT_TRACE",
];

impl Environment {
    /// That of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// The value of a variable; `None` if it is not set or empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        let value = self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str());
        value.filter(|value| !value.is_empty())
    }

    /// What the git program gets: everything but git's variables about a repository. Its messages are English.
    pub(super) fn for_git(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        const SET: [(&str, &str); 6] = [
            ("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh"),
            ("GIT_DEFAULT_REF_FORMAT", "files"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("LC_ALL", "C"),
        ];
        let passes = |name: &OsStr| {
            let Some(name) = name.to_str() else { return true };
            let is_set = name == "LANGUAGE" || SET.iter().any(|(set, _)| *set == name);
            !is_set && (!name.starts_with("GIT_") || KEPT.iter().any(|kept| name.starts_with(kept)))
        };
        let kept = self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        kept.filter(move |(name, _)| passes(name))
            .chain(SET.iter().map(|(name, value)| (OsStr::new(*name), OsStr::new(*value))))
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_is_told_how_to_reach_a_remote_and_nothing_about_repositories() {
        let all = [
            ("HOME", "/h"),
            ("GIT_DIR", "/elsewhere"),
            ("GIT_WORK_TREE", "/elsewhere"),
            ("GIT_INDEX_FILE", "x"),
            ("GIT_OBJECT_DIRECTORY", "x"),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", "x"),
            ("GIT_NAMESPACE", "x"),
            ("GIT_CEILING_DIRECTORIES", "x"),
            ("GIT_COMMON_DIR", "x"),
            ("GIT_SHALLOW_FILE", "x"),
            ("GIT_GRAFT_FILE", "x"),
            ("GIT_SSH_COMMAND", "ssh -i key"),
            ("GIT_CONFIG_KEY_0", "k"),
            ("GIT_ALLOW_PROTOCOL", "ext"),
            ("GIT_TERMINAL_PROMPT", "1"),
            ("https_proxy", "p"),
            ("LANGUAGE", "de"),
        ];
        let environment: Environment = all.into_iter().collect();
        let mut names: Vec<_> = environment.for_git().map(|(name, _)| name.to_str().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "GIT_ALLOW_PROTOCOL",
                "GIT_CONFIG_KEY_0",
                "GIT_DEFAULT_REF_FORMAT",
                "GIT_NO_LAZY_FETCH",
                "GIT_NO_REPLACE_OBJECTS",
                "GIT_SSH_COMMAND",
                "GIT_TERMINAL_PROMPT",
                "HOME",
                "LC_ALL",
                "https_proxy",
            ]
        );
        assert!(environment.for_git().any(|pair| pair == ("GIT_TERMINAL_PROMPT".as_ref(), "0".as_ref())));
    }

    #[test]
    fn an_empty_variable_is_not_set() {
        let environment: Environment = [("A", ""), ("B", "1"), ("B", "2")].into_iter().collect();
        assert_eq!(environment.get("A"), None);
        assert_eq!(environment.get("B"), Some("2".as_ref()));
        assert_eq!(environment.get("C"), None);
    }
}
