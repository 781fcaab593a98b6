//! From what was read to overlays: names, keys, and what is wrong.
//!
//! Decides what the manifest will say. Never writes it: the command shows it first.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::id::{CommitId, Name, UpstreamPath};
use crate::manifest::edit::Value;
use crate::overlay::diff::{self, Patch};

use super::{Format, Meta, exported, header, line_ends, name, strip};

/// A patch as it was found.
#[derive(Debug, Clone)]
pub struct Raw {
    /// Where, for a person: `series line 3`.
    pub from: String,
    /// The name of its file, or one that would do for it; may have folders.
    pub file: PathBuf,
    /// Whether the source has a file of its own for it. A commit has none, nor has a mail of a mailbox.
    pub has_file: bool,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// How many folders are taken from the front of its names.
    pub strip: usize,
    /// What the list says about it.
    pub meta: Meta,
}

impl Raw {
    /// What a message calls it: by its file, and where that stands.
    #[must_use]
    pub fn described(&self) -> String {
        described(&self.from, &self.file)
    }
}

fn described(from: &str, file: &Path) -> String {
    let file = file.display().to_string();
    if from.contains(&file) { from.to_owned() } else { format!("{file} ({from})") }
}

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
    /// Whether all of its lines ended with CR LF.
    pub had_cr: bool,
    /// What it says.
    pub patch: Patch,
    /// What is known about it.
    pub meta: Meta,
    /// What it says it needs, if it was exported.
    pub needs: Vec<Name>,
}

impl Draft {
    /// As [`Raw::described`].
    #[must_use]
    pub fn described(&self) -> String {
        described(&self.from, &self.file)
    }
}

/// Makes a draft of a patch; `Err`: why not, a fragment. `has_crlf` says of a path of the upstream whether its lines end so.
///
/// # Errors
/// If it is no patch, or changes nothing.
pub fn draft(
    format: Format,
    raw: Raw,
    has_crlf: &dyn Fn(&UpstreamPath) -> bool,
    taken: &mut BTreeSet<Name>,
) -> Result<Draft, String> {
    let Raw { from, file, has_file, bytes, strip: level, meta: listed } = raw;
    let parse = |bytes: &[u8]| diff::parse(bytes).map_err(|error| error.to_string());
    let plain = line_ends::without_cr(&bytes);
    let had_cr = plain.is_some();
    let bytes = plain.unwrap_or(bytes);
    let mut read = strip::relevel(&bytes, level);
    let is_releveled = read != bytes;
    let mut patch = parse(&read)?;
    if had_cr {
        read = line_ends::with_cr(&read, &patch, has_crlf);
        patch = parse(&read)?;
    }
    if patch.files.is_empty() {
        return Err("there is no change in it".to_owned());
    }
    // In a series of quilt's, a number may be a part of the name.
    let is_numbered = format != Format::Quilt;
    let (own, needs, said) = match exported::read(&patch.preamble) {
        Some(exported) => (Some(exported.name), exported.needs, exported.meta),
        None => {
            let own = name::of_file(&file.to_string_lossy(), is_numbered);
            (own, Vec::new(), header::read(&patch.preamble))
        }
    };
    let own = own.ok_or("its name has no letter or digit")?;
    let meta = listed.or(said);
    let name = name::unique(own, taken);
    // Names are unique, subjects are not.
    let file = if has_file { file } else { PathBuf::from(format!("{name}.patch")) };
    Ok(Draft { from, name, file, bytes: read, is_releveled, had_cr, patch, meta, needs })
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
