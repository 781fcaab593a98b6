//! CMake: `FetchContent_Declare`, `ExternalProject_Add`, and CPM.
//!
//! Variables that the same file sets to plain text are put in; an argument in which one is left is not read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::lex::{Language, TokenKind, Unlexable, tokens};

use super::{Pin, archive, line_at};

/// A command with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Its name, in lower case.
    pub name: String,
    /// The line of its name.
    pub line: usize,
    /// The arguments without quotes, each with its line.
    pub arguments: Vec<(usize, String)>,
}

/// Words after which another argument begins.
const KEYWORDS: [&str; 26] = [
    "NAME",
    "VERSION",
    "GIT_TAG",
    "GIT_REPOSITORY",
    "GIT_SHALLOW",
    "GIT_PROGRESS",
    "GIT_SUBMODULES",
    "GITHUB_REPOSITORY",
    "GITLAB_REPOSITORY",
    "BITBUCKET_REPOSITORY",
    "URL",
    "URL_HASH",
    "OPTIONS",
    "PATCHES",
    "PATCH_COMMAND",
    "SOURCE_DIR",
    "BINARY_DIR",
    "SOURCE_SUBDIR",
    "DOWNLOAD_ONLY",
    "EXCLUDE_FROM_ALL",
    "SYSTEM",
    "URI",
    "CMAKE_ARGS",
    "CONFIGURE_COMMAND",
    "BUILD_COMMAND",
    "INSTALL_COMMAND",
];

impl Call {
    /// What stands behind a keyword.
    #[must_use]
    pub fn value(&self, keyword: &str) -> Option<&str> {
        let at = self.arguments.iter().position(|(_, argument)| argument == keyword)?;
        self.arguments.get(at + 1).map(|(_, value)| value.as_str())
    }

    /// All that stands behind a keyword, up to the next, each with its line.
    #[must_use]
    pub fn list(&self, keyword: &str) -> Vec<(usize, &str)> {
        let behind = self.arguments.iter().skip_while(|(_, argument)| argument != keyword).skip(1);
        behind
            .take_while(|(_, argument)| !KEYWORDS.contains(&argument.as_str()))
            .map(|(line, argument)| (*line, argument.as_str()))
            .collect()
    }

    fn line_of(&self, keyword: &str) -> usize {
        let at = self.arguments.iter().position(|(_, argument)| argument == keyword);
        at.and_then(|at| self.arguments.get(at + 1)).map_or(self.line, |(line, _)| *line)
    }
}

/// The commands of a file, with variables put in that it sets to plain text before.
///
/// # Errors
/// If CMake could not read it either.
pub fn calls(source: &[u8]) -> Result<Vec<Call>, Unlexable> {
    let text = String::from_utf8_lossy(source);
    let mut calls: Vec<Call> = Vec::new();
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    let (mut name, mut depth) = (None, 0_usize);
    for token in tokens(Language::CMake, source)? {
        if token.kind != TokenKind::Code {
            continue;
        }
        let spelled = String::from_utf8_lossy(&source[token.span.clone()]).into_owned();
        let line = line_at(&text, token.span.start);
        match spelled.as_str() {
            "(" => {
                if depth == 0
                    && let Some((name, line)) = name.take()
                {
                    calls.push(Call { name, line, arguments: Vec::new() });
                }
                depth += 1;
            }
            ")" => {
                depth = depth.saturating_sub(1);
                if let (0, Some(call)) = (depth, calls.last())
                    && let ("set", [(_, name), (_, value), ..]) =
                        (call.name.as_str(), call.arguments.as_slice())
                {
                    variables.insert(name.clone(), value.clone());
                }
            }
            _ if depth == 0 => name = Some((spelled.to_ascii_lowercase(), line)),
            _ => {
                if let Some(call) = calls.last_mut() {
                    call.arguments.push((line, filled(unquoted(&spelled), &variables)));
                }
            }
        }
    }
    Ok(calls)
}

fn unquoted(word: &str) -> &str {
    word.strip_prefix('"').and_then(|word| word.strip_suffix('"')).unwrap_or(word)
}

fn filled(word: &str, variables: &BTreeMap<String, String>) -> String {
    let mut word = Cow::Borrowed(word);
    for (name, value) in variables {
        let place = format!("${{{name}}}");
        if word.contains(&place) {
            word = Cow::Owned(word.replace(&place, value));
        }
    }
    word.into_owned()
}

/// The pins of a CMake file; none if it cannot be read.
#[must_use]
pub fn pins(text: &str) -> Vec<Pin> {
    let calls = calls(text.as_bytes()).unwrap_or_default();
    let pins = calls.iter().filter_map(|call| match call.name.as_str() {
        "fetchcontent_declare" => declared("FetchContent", call),
        "externalproject_add" => declared("ExternalProject", call),
        "cpmaddpackage" | "cpmfindpackage" | "cpmdeclarepackage" => of_cpm(call),
        _ => None,
    });
    pins.filter(|pin| !pin.url.contains("${") && !pin.revision.contains("${")).collect()
}

fn declared(by: &'static str, call: &Call) -> Option<Pin> {
    let name = call.arguments.first().map(|(_, name)| name.clone());
    if let (Some(url), Some(tag)) = (call.value("GIT_REPOSITORY"), call.value("GIT_TAG")) {
        let line = call.line_of("GIT_TAG");
        return Some(Pin { by, name, url: url.to_owned(), revision: tag.to_owned(), line });
    }
    let (url, revision) = archive::parse(call.value("URL")?)?;
    Some(Pin { by, name, url, revision, line: call.line_of("URL") })
}

fn of_cpm(call: &Call) -> Option<Pin> {
    if let [(line, short), ..] = call.arguments.as_slice()
        && let Some((url, revision)) = short_form(short)
    {
        return Some(Pin { by: "CPM", name: None, url, revision, line: *line });
    }
    let hosts = [
        ("GITHUB_REPOSITORY", "https://github.com/"),
        ("GITLAB_REPOSITORY", "https://gitlab.com/"),
        ("BITBUCKET_REPOSITORY", "https://bitbucket.org/"),
    ];
    let hosted = hosts.iter().find_map(|(key, host)| Some(format!("{host}{}.git", call.value(key)?)));
    let url = call.value("GIT_REPOSITORY").map(str::to_owned).or(hosted)?;
    let name = call.value("NAME").map(str::to_owned);
    let (revision, line) = match (call.value("GIT_TAG"), call.value("VERSION")) {
        (Some(tag), _) => (tag.to_owned(), call.line_of("GIT_TAG")),
        (None, Some(version)) => (format!("v{version}"), call.line_of("VERSION")),
        (None, None) => return None,
    };
    Some(Pin { by: "CPM", name, url, revision, line })
}

/// `gh:owner/name@1.0` is the tag `v1.0`, `gh:owner/name#tag` is that tag.
fn short_form(text: &str) -> Option<(String, String)> {
    let (scheme, rest) = text.split_once(':')?;
    let host = match scheme {
        "gh" => "https://github.com/",
        "gl" => "https://gitlab.com/",
        "bb" => "https://bitbucket.org/",
        _ => return None,
    };
    let (path, revision) = match rest.split_once('#') {
        Some((path, tag)) => (path.split('@').next().unwrap_or(path), tag.to_owned()),
        None => {
            let (path, version) = rest.split_once('@')?;
            (path, format!("v{version}"))
        }
    };
    Some((format!("{host}{path}.git"), revision))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&'static str, String, String, usize)> {
        pins(text).into_iter().map(|pin| (pin.by, pin.url, pin.revision, pin.line)).collect()
    }

    #[test]
    fn fetch_content_and_external_projects_are_read() {
        let text = "set(UP_TAG abc123) # the tag\nFetchContent_Declare(up\n  GIT_REPOSITORY https://example.org/up.git\n  \
                    # GIT_TAG old\n  GIT_TAG ${UP_TAG}\n)\nExternalProject_Add(x GIT_REPOSITORY \"u\" GIT_TAG v1)\n\
                    FetchContent_Declare(y GIT_REPOSITORY u GIT_TAG ${ELSEWHERE})\n";
        assert_eq!(
            found(text),
            [
                ("FetchContent", "https://example.org/up.git".into(), "abc123".into(), 5),
                ("ExternalProject", "u".into(), "v1".into(), 7)
            ]
        );
    }

    #[test]
    fn the_forms_of_cpm_are_read() {
        let text = "CPMAddPackage(\"gh:a/b@1.2\")\nCPMAddPackage(\"gh:a/c#main\")\nCPMAddPackage(\n  NAME d\n  \
                    GITHUB_REPOSITORY a/d\n  GIT_TAG deadbeef)\nCPMAddPackage(NAME e)\n";
        assert_eq!(
            found(text),
            [
                ("CPM", "https://github.com/a/b.git".into(), "v1.2".into(), 1),
                ("CPM", "https://github.com/a/c.git".into(), "main".into(), 2),
                ("CPM", "https://github.com/a/d.git".into(), "deadbeef".into(), 6)
            ]
        );
    }

    #[test]
    fn an_archive_of_a_host_is_a_pin() {
        let text = "FetchContent_Declare(up URL https://github.com/a/up/archive/refs/tags/v2.tar.gz)\n";
        assert_eq!(found(text), [("FetchContent", "https://github.com/a/up.git".into(), "v2".into(), 1)]);
    }
}
