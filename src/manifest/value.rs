//! The kinds of texts that a manifest has: commits, names, paths, patterns, addresses, durations.
//!
//! Decides what is well formed. Never looks whether what is named exists.

mod address;
mod path;

use std::path::PathBuf;
use std::time::Duration;

use super::Condition;
use super::pattern;
use super::problems::closest;
use super::table::listed;
use crate::diagnostic::{escaped, quoted};
use crate::id::{CommitId, Name, UpstreamPath};

/// A kind of text: what it is called, what it looks like, and how it is read.
pub(super) struct Kind<T> {
    /// What the manual calls it.
    pub word: &'static str,
    /// What the manual calls several.
    pub words: &'static str,
    /// With its article, for "expected ...".
    pub expected: &'static str,
    /// Several of them.
    pub plural: &'static str,
    /// As it would stand in a manifest.
    pub example: &'static str,
    /// Reads it.
    pub parse: fn(&str) -> Result<T, Wrong>,
}

/// Why a text is not of its kind.
#[derive(Debug)]
pub(super) struct Wrong {
    /// The code of the message.
    pub code: &'static str,
    /// Goes on after the name of the value: "is ...".
    pub message: String,
    /// Below the marked text.
    pub label: String,
    /// Why.
    pub note: Option<String>,
    /// What to do.
    pub hint: Option<String>,
}

impl Wrong {
    pub fn new(code: &'static str, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self { code, message: message.into(), label: label.into(), note: None, hint: None }
    }

    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

pub(super) const COMMIT: Kind<CommitId> = Kind {
    word: "commit",
    words: "commits",
    expected: "a full commit id",
    plural: "full commit ids",
    example: "\"<40 hexadecimal digits>\"",
    parse: commit,
};

pub(super) const NAME: Kind<Name> = Kind {
    word: "name",
    words: "names",
    expected: "a name",
    plural: "names",
    example: "\"some-name\"",
    parse: name,
};

pub(super) const CONDITION: Kind<Condition> = Kind {
    word: "feature",
    words: "features",
    expected: "a feature",
    plural: "features",
    example: "[\"cuda\"]",
    parse: condition,
};

pub(super) const FEATURE: Kind<Name> = Kind {
    word: "feature",
    words: "features",
    expected: "a feature",
    plural: "features",
    example: "[[\"cuda\", \"rocm\"]]",
    parse: name,
};

/// A path of ours.
pub(super) const PATH: Kind<PathBuf> = Kind {
    word: "path",
    words: "paths",
    expected: "a path",
    plural: "paths",
    example: "\"some/path\"",
    parse: path::path,
};

/// A patch of ours.
pub(super) const PATCH: Kind<PathBuf> = Kind {
    word: "path",
    words: "paths",
    expected: "a path",
    plural: "paths",
    example: "\"some.patch\"",
    parse: path::patch,
};

/// A folder of ours that may be the repository itself.
pub(super) const PROJECT: Kind<PathBuf> = Kind {
    word: "path",
    words: "paths",
    expected: "a folder",
    plural: "folders",
    example: "\"tests/kernels\"",
    parse: path::path_or_top,
};

/// A folder of the upstream; `.` is its top.
pub(super) const FOLDER: Kind<PathBuf> = Kind {
    word: "folder",
    words: "folders",
    expected: "a folder",
    plural: "folders",
    example: "[\"python\"]",
    parse: path::folder,
};

pub(super) const UPSTREAM_PATH: Kind<UpstreamPath> = Kind {
    word: "upstream path",
    words: "upstream paths",
    expected: "a path in the upstream",
    plural: "paths in the upstream",
    example: "\"src/norm.cu\"",
    parse: path::upstream_path,
};

/// A glob over paths of the upstream.
pub(super) const UPSTREAM_GLOB: Kind<String> = Kind {
    word: "glob",
    words: "globs",
    expected: "a path or glob",
    plural: "paths or globs",
    example: "[\"src/**/*.cu\"]",
    parse: path::upstream_glob,
};

/// A glob over files of ours.
pub(super) const GLOB: Kind<String> = Kind {
    word: "glob",
    words: "globs",
    expected: "a path or glob",
    plural: "paths or globs",
    example: "[\"tests/kernels/**\"]",
    parse: path::glob,
};

pub(super) const PATTERN: Kind<String> = Kind {
    word: "regex",
    words: "regexes",
    expected: "a regular expression",
    plural: "regular expressions",
    example: r"['old_call\(']",
    parse: forbidden,
};

/// A regular expression with one group.
pub(super) const CAPTURE: Kind<String> = Kind {
    word: "regex",
    words: "regexes",
    expected: "a regular expression with one group",
    plural: "regular expressions with one group",
    example: r"'GIT_TAG\s+([0-9a-f]{40})'",
    parse: capture,
};

pub(super) const URL: Kind<String> = Kind {
    word: "text",
    words: "texts",
    expected: "a URL or a path to a repository",
    plural: "URLs",
    example: "\"https://example.org/project.git\"",
    parse: address::url,
};

pub(super) const BRANCH: Kind<String> = Kind {
    word: "text",
    words: "texts",
    expected: "a branch",
    plural: "branches",
    example: "\"main\"",
    parse: address::branch,
};

pub(super) const DURATION: Kind<Duration> = Kind {
    word: "duration",
    words: "durations",
    expected: "a duration such as \"120s\"",
    plural: "durations",
    example: "\"120s\"",
    parse: duration,
};

/// Text for people: a reason, a link.
pub(super) const TEXT: Kind<String> = Kind {
    word: "text",
    words: "texts",
    expected: "a text",
    plural: "texts",
    example: "\"some text\"",
    parse: text,
};

/// A word that is given to another program.
pub(super) const WORD: Kind<String> = Kind {
    word: "text",
    words: "texts",
    expected: "a text",
    plural: "texts",
    example: "[\"some-word\"]",
    parse: word,
};

/// The name of an environment variable.
pub(super) const VARIABLE: Kind<String> = Kind {
    word: "text",
    words: "texts",
    expected: "the name of an environment variable",
    plural: "names of environment variables",
    example: "[\"SOME_CACHE_DIR\"]",
    parse: variable,
};

fn commit(text: &str) -> Result<CommitId, Wrong> {
    let code = "bad-commit";
    match CommitId::parse(text) {
        Ok(id) if id.as_bytes() == &[0; 20] => {
            Err(Wrong::new(code, "names no commit", "git's null id").hint("write the full id of a commit"))
        }
        Ok(id) => Ok(id),
        Err(_) if text.is_empty() => Err(Wrong::new(code, "is empty", "expected 40 hexadecimal digits")),
        Err(_) if text.len() >= 30 && text.bytes().all(|b| b.is_ascii_alphanumeric()) && !is_hex(text) => {
            let stray = text.chars().find(|c| !c.is_ascii_hexdigit()).unwrap_or_default();
            let label = format!("`{stray}` is not a hexadecimal digit");
            Err(Wrong::new(code, "is not a commit id", label))
        }
        Err(_) if !is_hex(text) => {
            let wrong = Wrong::new(code, "is not a commit id", "expected 40 hexadecimal digits")
                .note("a branch or a tag can move, and then two people build different things");
            Err(if is_revision(text) {
                wrong.hint(format!("in a clone of the upstream, run: git rev-parse '{text}^{{commit}}'"))
            } else {
                wrong
            })
        }
        Err(_) if text.len() < 40 => {
            let label = format!("{} of 40 hexadecimal digits", text.len());
            let wrong = Wrong::new("abbreviated-commit", "is an abbreviated commit id", label)
                .note("a short id can come to name another commit as the upstream grows");
            let hint = format!("in a clone of the upstream, run: git rev-parse '{text}^{{commit}}'");
            Err(if text.len() >= 4 { wrong.hint(hint) } else { wrong })
        }
        Err(_) if text.len() == 64 => {
            Err(Wrong::new(code, "is not a SHA-1 commit id", "64 digits, expected 40")
                .note("repositories with SHA-256 ids are not supported"))
        }
        Err(_) => {
            let label = format!("{} hexadecimal digits, expected 40", text.len());
            Err(Wrong::new(code, "is not a commit id", label))
        }
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Whether a text may be pasted into a command line between single quotes as a revision.
fn is_revision(text: &str) -> bool {
    text.len() <= 100
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./+".contains(&b))
}

fn name(text: &str) -> Result<Name, Wrong> {
    Name::parse(text).map_err(|why| {
        let wrong = Wrong::new("bad-name", "is not a usable name", why);
        if !text.bytes().all(|b| b.is_ascii_graphic() || b == b' ') {
            return wrong;
        }
        let usable: String = text
            .trim()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "-_.+".contains(c) { c } else { '-' })
            .collect();
        let usable = usable.trim_start_matches(|c: char| !c.is_ascii_alphanumeric()).trim_end_matches('-');
        match Name::parse(usable) {
            Ok(name) => wrong.hint(format!("for example `{name}`")),
            Err(_) => wrong,
        }
    })
}

fn condition(text: &str) -> Result<Condition, Wrong> {
    let (negated, feature) = match text.strip_prefix('!') {
        Some(feature) => (true, feature.trim_start()),
        None => (false, text),
    };
    Ok(Condition { feature: name(feature)?, negated })
}

fn forbidden(text: &str) -> Result<String, Wrong> {
    let regex = regex(text)?;
    if regex.is_match(b"") {
        return Err(Wrong::new("bad-regex", "matches the empty text", "this is found in every file"));
    }
    Ok(text.to_owned())
}

fn capture(text: &str) -> Result<String, Wrong> {
    let groups = regex(text)?.captures_len() - 1;
    let wrong = |message: &str, label: &str| Err(Wrong::new("bad-regex", message, label));
    match groups {
        1 => Ok(text.to_owned()),
        0 => wrong("has no group", "which part is the commit?")
            .map_err(|wrong| wrong.hint("put the part that is the commit in parentheses: ([0-9a-f]{40})")),
        _ => wrong("has several groups", &format!("{groups} groups, expected one")).map_err(|wrong| {
            wrong.hint("keep the group that captures the commit and write the others as (?:...)")
        }),
    }
}

fn regex(text: &str) -> Result<regex::bytes::Regex, Wrong> {
    pattern::regex(text).map_err(|error| {
        let why = match error {
            regex::Error::CompiledTooBig(_) => "too large".to_owned(),
            // The last line says what is wrong; the ones above show the pattern once more.
            other => {
                let text = other.to_string();
                let last = text.lines().last().unwrap_or_default();
                last.trim_start_matches("error: ").to_owned()
            }
        };
        Wrong::new("bad-regex", "is not a usable regular expression", escaped(&why))
    })
}

/// A length of time as the manifest has it: `500ms`, `120s`, `10m`, `1h`; a day at most.
///
/// # Errors
/// What is wrong with it, and how it is written.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    duration(text).map_err(|wrong| match wrong.hint {
        Some(hint) => format!("{}; {hint}", wrong.label),
        None => wrong.label,
    })
}

fn duration(text: &str) -> Result<Duration, Wrong> {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let wrong = |label: &str| Wrong::new("bad-duration", "is not a usable duration", label);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let milliseconds: u64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        "" if digits > 0 => {
            return Err(wrong("seconds, minutes or hours?")
                .hint(format!("write \"{}s\" for seconds", quoted(number).trim_matches('`'))));
        }
        _ => {
            return Err(wrong("expected a whole number and a unit")
                .hint("units are ms, s, m and h: \"500ms\", \"120s\", \"2m\", \"1h\""));
        }
    };
    let Some(total) = number.parse::<u64>().ok().and_then(|number| number.checked_mul(milliseconds)) else {
        return Err(wrong(if digits == 0 { "expected a number before the unit" } else { "more than a day" }));
    };
    match Duration::from_millis(total) {
        Duration::ZERO => Err(wrong("nothing ends in no time")),
        duration if duration > DAY => Err(wrong("more than a day")),
        duration => Ok(duration),
    }
}

fn text(text: &str) -> Result<String, Wrong> {
    if text.trim().is_empty() {
        return Err(Wrong::new("empty", "is empty", "expected a text").hint("write it, or remove the line"));
    }
    Ok(text.to_owned())
}

fn word(text: &str) -> Result<String, Wrong> {
    if text.is_empty() {
        return Err(Wrong::new("empty", "is empty", "expected a text"));
    }
    if text.contains('\0') {
        return Err(Wrong::new("bad-value", "has a NUL byte", "no program can be given this"));
    }
    Ok(text.to_owned())
}

fn variable(text: &str) -> Result<String, Wrong> {
    let wrong = |message: &str, label: &str| Err(Wrong::new("bad-name", message, label));
    if text.is_empty()
        || text.starts_with(|c: char| c.is_ascii_digit())
        || !text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    {
        return wrong(
            "is not the name of an environment variable",
            "letters, digits and `_` only; first no digit",
        );
    }
    if text.starts_with("OVERLAID_") || text == "PATH" || text == "HOME" {
        return wrong("cannot name a cache", "this variable has another meaning");
    }
    Ok(text.to_owned())
}

/// A word out of a few; what is close is suggested.
pub(super) fn choice<T: Copy>(text: &str, words: &[(&'static str, T)]) -> Result<T, Wrong> {
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
        return Ok(*value);
    }
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let wrong = Wrong::new(
        "unknown-word",
        format!("cannot be {}", quoted(text)),
        format!("expected one of {}", listed(&known)),
    );
    Err(match closest(text, known) {
        Some(meant) => wrong.hint(format!("did you mean `{meant}`?")),
        None => wrong,
    })
}
