//! Addresses of repositories and names of branches: what git would take for something else is refused.

use super::Wrong;
use crate::manifest::table::listed;

pub(super) fn url(text: &str) -> Result<String, Wrong> {
    const SCHEMES: [&str; 5] = ["https", "http", "ssh", "git", "file"];
    let wrong = |message: &str, label: &str| Err(Wrong::new("bad-url", message, label));
    if text.trim().is_empty() {
        return wrong("is empty", "expected a URL or a path to a repository");
    }
    if text.chars().any(|c| c.is_control()) {
        return wrong("has a control character", "not allowed in a URL");
    }
    if text.starts_with('-') {
        return wrong("starts with `-`", "git would take this for an option");
    }
    if let Some((helper, _)) = text.split_once("::")
        && helper.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_+.".contains(&b))
    {
        return wrong("names a transport helper", "git would run a program for this")
            .map_err(|wrong| wrong.note("URLs start with https, http, ssh, git or file; or give a path"));
    }
    let host = match text.split_once("://") {
        Some((scheme, rest)) => {
            if !SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) {
                return wrong("has an unknown scheme", &format!("expected one of {}", listed(&SCHEMES)))
                    .map_err(|wrong| {
                        wrong.note("for any other scheme git would run a program of that name")
                    });
            }
            rest.split('/').next().unwrap_or_default()
        }
        // `host:path`, but not a path with a colon in it.
        None => match text.split_once(':') {
            Some((host, _)) if !host.contains('/') => host,
            _ => "",
        },
    };
    if host.rsplit('@').next().is_some_and(|host| host.starts_with('-')) || host.starts_with('-') {
        return wrong("has a host that starts with `-`", "ssh would take this for an option");
    }
    Ok(text.to_owned())
}

/// The rules of `git check-ref-format` that a person could break.
pub(super) fn branch(text: &str) -> Result<String, Wrong> {
    let is_bad = text.is_empty()
        || text.starts_with(['-', '/', '.'])
        || text.ends_with(['/', '.'])
        || text.ends_with(".lock")
        || text.contains("..")
        || text.contains("//")
        || text.contains("@{")
        || text.chars().any(|c| c.is_control() || " ~^:?*[\\".contains(c));
    if is_bad {
        return Err(Wrong::new("bad-name", "is not a branch name", "git has no branch of that name"));
    }
    Ok(text.to_owned())
}
