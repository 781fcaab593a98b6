//! From a lock to its text.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;

use super::{FIRST_LINE, Lock, Source};
use crate::overlay::diff::quote;
use crate::tree::Entry;

const HEAD: &str = "\
# Written by `overlaid lock`. Do not edit it: run `overlaid lock` again, also after a conflict in it.
# `overlaid lock --check` says whether it is right.
";

/// The text of a lock file. The same lock gives the same bytes.
#[must_use]
pub fn render(lock: &Lock) -> String {
    let mut text = Text(format!("{FIRST_LINE}\n{HEAD}"));
    text.line(&["upstream", lock.upstream.as_str()]);
    text.line(&["pin", &lock.pin.to_string()]);
    text.line(&["tree", &lock.tree.to_string()]);
    for (path, commit) in &lock.submodules {
        let commit = commit.map_or_else(|| "absent".to_owned(), |commit| commit.to_string());
        text.line(&["submodule", &commit, &name(path.as_bytes())]);
    }
    for (features, fingerprint) in &lock.fingerprints {
        let features: Vec<&str> = features.iter().map(|feature| feature.as_str()).collect();
        let features = if features.is_empty() { "-".to_owned() } else { features.join(",") };
        text.line(&["fingerprint", fingerprint, &features]);
    }
    for overlay in &lock.overlays {
        text.gap();
        text.line(&["overlay", overlay.name.as_str(), overlay.source.word()]);
        if overlay.is_off {
            text.line(&["off"]);
        }
        for condition in &overlay.when {
            let not = if condition.negated { "!" } else { "" };
            text.line(&["when", &format!("{not}{}", condition.feature)]);
        }
        for (file, id) in &overlay.own {
            text.line(&["own", &id.to_string(), &name(file.as_os_str().as_bytes())]);
        }
        text.source(&overlay.source);
    }
    for (path, locked) in &lock.paths {
        text.gap();
        text.line(&["path", &name(path.as_bytes())]);
        text.line(&["at-pin", &entry(locked.pin)]);
        for (overlays, given) in &locked.gives {
            let overlays: Vec<&str> = overlays.iter().map(|name| name.as_str()).collect();
            text.line(&["gives", &entry(*given), &overlays.join(" ")]);
        }
    }
    if !lock.merges.is_empty() {
        text.gap();
    }
    for ((base, ours, theirs), result) in &lock.merges {
        text.line(&["merge", &entry(*base), &entry(*ours), &entry(*theirs), &entry(*result)]);
    }
    if !lock.vendored.is_empty() {
        text.gap();
    }
    for (id, size) in &lock.vendored {
        text.line(&["vendored", &id.to_string(), &size.to_string()]);
    }
    text.0
}

struct Text(String);

impl Text {
    fn line(&mut self, words: &[&str]) {
        self.0.push_str(&words.join(" "));
        self.0.push('\n');
    }

    fn gap(&mut self) {
        self.0.push('\n');
    }

    fn source(&mut self, source: &Source) {
        match source {
            Source::Files | Source::Patch => {}
            Source::Delete(paths) => {
                for path in paths {
                    self.line(&["delete", &name(path.as_bytes())]);
                }
            }
            Source::Commits(commits) => {
                for (commit, changes) in commits {
                    self.line(&["commit", &commit.to_string()]);
                    for change in changes {
                        let path = name(change.path.as_bytes());
                        self.line(&["change", &entry(change.before), &entry(change.after), &path]);
                    }
                }
            }
            Source::HeldBack(commit, entries) => {
                self.line(&["commit", &commit.to_string()]);
                for (path, held) in entries {
                    self.line(&["hold", &entry(*held), &name(path.as_bytes())]);
                }
            }
        }
    }
}

fn entry(entry: Option<Entry>) -> String {
    match entry {
        Some(entry) => format!("{}:{}", entry.mode.as_octal(), entry.id),
        None => "absent".to_owned(),
    }
}

/// A name as git writes it. Quoted names are ASCII; so are those that need no quotes.
fn name(bytes: &[u8]) -> String {
    let quoted = quote(bytes);
    // A space at an end could get lost in an editor.
    let at_the_end = |byte: Option<&u8>| byte == Some(&b' ');
    let quoted = match quoted {
        Cow::Borrowed(plain) if at_the_end(plain.first()) || at_the_end(plain.last()) => {
            [b"\"", plain, b"\""].concat()
        }
        quoted => quoted.into_owned(),
    };
    String::from_utf8_lossy(&quoted).into_owned()
}
