//! From what was read to overlays: names, keys, and what is wrong.
//!
//! Decides what the manifest will say. Never writes it: the command shows it first.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::id::{CommitId, Name};
use crate::manifest::edit::Value;
use crate::overlay::diff::{self, Patch};

use super::{Format, Meta, exported, header, name, strip};

/// A patch that becomes an overlay.
#[derive(Debug)]
pub struct Draft {
    /// Where it came from, for a person.
    pub from: String,
    /// The name of the overlay.
    pub name: Name,
    /// Its file, relative to the folder of overlay files.
    pub file: PathBuf,
    /// The bytes of the file: those of the source, or with names as git writes them.
    pub bytes: Vec<u8>,
    /// Whether the names in it had to be written anew.
    pub is_releveled: bool,
    /// What it says.
    pub patch: Patch,
    /// What is known about it.
    pub meta: Meta,
    /// What it says it needs, if it was exported.
    pub needs: Vec<Name>,
}

/// Makes a draft of a patch; `Err`: why not, a fragment.
///
/// # Errors
/// If it is no patch, or changes nothing.
pub fn draft(
    format: Format,
    from: &str,
    file: PathBuf,
    bytes: &[u8],
    level: usize,
    listed: Meta,
    taken: &mut BTreeSet<Name>,
) -> Result<Draft, String> {
    let read = strip::relevel(bytes, level);
    let patch = diff::parse(&read).map_err(|error| error.to_string())?;
    if patch.files.is_empty() {
        return Err("there is no change in it".to_owned());
    }
    let is_numbered = format == Format::Mail;
    let (own, needs, said) = match exported::read(&patch.preamble) {
        Some(exported) => (Some(exported.name), exported.needs, exported.meta),
        None => {
            let own = name::of_file(&file.to_string_lossy(), is_numbered);
            (own, Vec::new(), header::read(&patch.preamble))
        }
    };
    let own = own.ok_or("its name has no letter or digit")?;
    let meta = listed.or(said);
    let is_releveled = read != bytes;
    let name = name::unique(own, taken);
    Ok(Draft { from: from.to_owned(), name, file, bytes: read, is_releveled, patch, meta, needs })
}

/// The keys of the manifest for what is known about a change, without its name and its content.
#[must_use]
pub fn keys(meta: &Meta) -> Vec<(&'static str, Value)> {
    let text = |key, value: &Option<String>| {
        value.as_ref().filter(|value| !value.trim().is_empty()).map(|value| (key, Value::Text(plain(value))))
    };
    let mut keys: Vec<(&'static str, Value)> = [
        text("issue", &meta.issue),
        text("pull-request", &meta.pull_request),
        text("author", &meta.author),
        text("forwarded", &meta.forwarded),
    ]
    .into_iter()
    .flatten()
    .collect();
    // Where nothing is said, nothing is written.
    if let Some(status) = meta.status {
        keys.push(("upstream-status", Value::Text(status.as_str().to_owned())));
    }
    if let Some(commit) = meta.commit {
        keys.push(("drop-when", Value::Table(vec![("pin-contains".to_owned(), commit.into())])));
    }
    keys
}

/// The keys of an overlay that is a patch, in the order in which they are written.
#[must_use]
pub fn keys_of_patch(
    draft: &Draft,
    base: CommitId,
    when: &[String],
    needs: &[Name],
) -> Vec<(&'static str, Value)> {
    let mut all = Vec::new();
    if let Some(reason) = &draft.meta.reason {
        let lines: Vec<String> = reason.lines().map(plain).collect();
        all.push(("reason", Value::Text(lines.join("\n"))));
    }
    all.push(("base", base.into()));
    all.push(("patch", Value::Text(draft.file.to_string_lossy().into_owned())));
    if !when.is_empty() {
        all.push(("when", Value::List(when.to_vec())));
    }
    if !needs.is_empty() {
        all.push(("needs", Value::List(needs.iter().map(Name::to_string).collect())));
    }
    all.extend(keys(&draft.meta));
    all
}

/// A text without characters that a terminal would obey.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect::<String>().trim().to_owned()
}
