//! Paths and globs: of ours, and of the upstream.

use std::path::{Component, Path, PathBuf};

use super::Wrong;
use crate::diagnostic::{escaped, quoted};
use crate::id::{PathError, UpstreamPath};
use crate::manifest::pattern;

pub(super) fn path(text: &str) -> Result<PathBuf, Wrong> {
    match path_or_top(text)? {
        path if path.as_os_str() == "." => {
            Err(Wrong::new("bad-path", "is the repository itself", "expected a path inside the repository"))
        }
        path => Ok(path),
    }
}

pub(super) fn patch(text: &str) -> Result<PathBuf, Wrong> {
    path(text).map_err(|wrong| Wrong {
        label: wrong.label.replace("the repository", "the folder of overlay files"),
        ..wrong
    })
}

pub(super) fn folder(text: &str) -> Result<PathBuf, Wrong> {
    path_or_top(text)
        .map_err(|wrong| Wrong { label: wrong.label.replace("the repository", "the upstream"), ..wrong })
}

pub(super) fn path_or_top(text: &str) -> Result<PathBuf, Wrong> {
    let wrong = |message: &str, label: &str| Err(Wrong::new("bad-path", message, label));
    if text.is_empty() {
        return wrong("is empty", "expected a path, relative to the repository");
    }
    if let Some(c) = text.chars().find(|c| c.is_control()) {
        return wrong("has a control character", &format!("`{}` in a path", c.escape_unicode()));
    }
    if text.contains('\\') {
        let hint = format!("write {}", quoted(&text.replace('\\', "/")));
        return wrong("has a backslash", "paths have `/` between their parts")
            .map_err(|wrong| wrong.hint(hint));
    }
    if text.starts_with('~') {
        return wrong("starts with `~`", "nothing is expanded; expected a path relative to the repository");
    }
    let mut inside = PathBuf::new();
    for component in Path::new(text).components() {
        match component {
            Component::RootDir | Component::Prefix(_) => {
                return wrong("is absolute", "expected a path relative to the repository");
            }
            Component::ParentDir => {
                return wrong("leaves its folder", "`..` is not allowed; paths stay inside the repository");
            }
            Component::CurDir => {}
            Component::Normal(part) if part.eq_ignore_ascii_case(".git") => {
                return wrong("reaches into `.git`", "that folder is git's own");
            }
            Component::Normal(part) => inside.push(part),
        }
    }
    Ok(if inside.as_os_str().is_empty() { PathBuf::from(".") } else { inside })
}

pub(super) fn upstream_path(text: &str) -> Result<UpstreamPath, Wrong> {
    UpstreamPath::parse(text).map_err(|why| wrong_upstream_path(text, why))
}

fn wrong_upstream_path(text: &str, why: PathError) -> Wrong {
    let wrong = Wrong::new("bad-path", "is not a usable path", why.to_string());
    match why {
        PathError::EmptyComponent if text.ends_with('/') => wrong.hint(format!(
            "a path names a file: leave the `/` at the end away, or add a file to {}",
            quoted(text)
        )),
        PathError::Dots if text.starts_with("./") && UpstreamPath::parse(&text[2..]).is_ok() => {
            wrong.hint(format!("write {}", quoted(&text[2..])))
        }
        _ => wrong,
    }
}

pub(super) fn upstream_glob(text: &str) -> Result<String, Wrong> {
    if pattern::has_wildcards(text) { glob(text) } else { upstream_path(text).map(|_| text.to_owned()) }
}

pub(super) fn glob(text: &str) -> Result<String, Wrong> {
    if !pattern::has_wildcards(text) {
        path_or_top(text)?;
    }
    if text.starts_with('/') {
        return Err(Wrong::new("bad-path", "is absolute", "expected a path relative to its folder"));
    }
    if text.split('/').any(|component| component == "..") {
        return Err(Wrong::new("bad-path", "leaves its folder", "`..` is not allowed"));
    }
    match pattern::glob(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(Wrong::new("bad-glob", "is not a usable glob", escaped(&error.kind().to_string()))
            .note("`*` and `?` stay within a folder, `**` crosses folders, `[ab]` and `{a,b}` choose")),
    }
}
