//! From the text of a lock file to a lock.
//!
//! Strict: a line that is not known, a thing that is named twice, a path that leaves the tree are errors with
//! their place. Nothing of the text is used if anything in it is wrong.

use std::collections::BTreeSet;
use std::ops::Range;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::{FIRST_LINE, Lock, LockedOverlay, LockedPath, MergeKey, Source};
use crate::diagnostic::{Diagnostic, Place};
use crate::id::{BlobId, CommitId, IdError, Name, TreeId, UpstreamPath};
use crate::manifest::Condition;
use crate::overlay::diff::unquote;
use crate::sorted::{SortedMap, SortedSet};
use crate::tree::{Entry, Mode};
use crate::upstream::PathDiff;

/// A lock file has at most this many bytes.
pub const MAX_BYTES: usize = 32 << 20;

/// Errors beyond this number are not told.
const TOLD: usize = 20;

/// Reads the text of a lock file.
///
/// # Errors
/// All that is wrong with it, each with its line.
pub fn parse(file: &Path, text: &str) -> Result<Lock, Vec<Diagnostic>> {
    if text.len() > MAX_BYTES {
        let message =
            format!("`{}` has {} bytes; a lock has at most {MAX_BYTES}", file.display(), text.len());
        return Err(vec![Diagnostic::error("bad-lock", message).hint(AGAIN)]);
    }
    let mut reader = Reader { file, text: Arc::from(text), draft: Draft::default(), problems: Vec::new() };
    reader.read();
    let Reader { draft, mut problems, file, text } = reader;
    let missing = |what: &str| {
        let place = Place { file: file.to_owned(), text: text.clone(), span: 0..0, label: String::new() };
        Diagnostic::error("bad-lock", format!("the lock has no line `{what}`")).at(place).hint(AGAIN)
    };
    if problems.is_empty() {
        let found = [draft.upstream.is_some(), draft.pin.is_some(), draft.tree.is_some()];
        let names = ["upstream NAME", "pin COMMIT", "tree ID"];
        problems.extend(names.iter().zip(found).filter(|(_, is)| !is).map(|(name, _)| missing(name)));
    }
    match (draft.upstream, draft.pin, draft.tree) {
        (Some(upstream), Some(pin), Some(tree)) if problems.is_empty() => Ok(Lock {
            upstream,
            pin,
            tree,
            submodules: draft.submodules,
            fingerprints: draft.fingerprints,
            overlays: draft.overlays,
            paths: draft.paths,
            merges: draft.merges,
            vendored: draft.vendored,
        }),
        _ => {
            problems.truncate(TOLD);
            Err(problems)
        }
    }
}

const AGAIN: &str = "write it anew: overlaid lock";

/// What a line belongs to.
#[derive(Default)]
enum Section {
    /// The top, and what stands alone.
    #[default]
    None,
    /// The last overlay.
    Overlay,
    /// This path.
    Path(UpstreamPath),
    /// Something whose first line is wrong: what follows belongs to it and says nothing new.
    Skipped,
}

#[derive(Default)]
struct Draft {
    upstream: Option<Name>,
    pin: Option<CommitId>,
    tree: Option<TreeId>,
    submodules: SortedMap<UpstreamPath, Option<CommitId>>,
    fingerprints: SortedMap<BTreeSet<Name>, String>,
    overlays: Vec<LockedOverlay>,
    names: SortedSet<Name>,
    paths: SortedMap<UpstreamPath, LockedPath>,
    at_pin: SortedSet<UpstreamPath>,
    merges: SortedMap<MergeKey, Option<Entry>>,
    vendored: SortedMap<BlobId, u64>,
    section: Section,
}

struct Reader<'a> {
    file: &'a Path,
    text: Arc<str>,
    draft: Draft,
    problems: Vec<Diagnostic>,
}

/// What is wrong with a line, and where in it.
struct Wrong {
    why: String,
    word: Option<Range<usize>>,
    hint: &'static str,
}

impl From<String> for Wrong {
    fn from(why: String) -> Self {
        Wrong { why, word: None, hint: AGAIN }
    }
}

impl From<&str> for Wrong {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

impl Reader<'_> {
    fn read(&mut self) {
        let text = self.text.clone();
        let mut start = 0;
        for (index, line) in text.split_inclusive('\n').enumerate() {
            let span = start..start + line.trim_end_matches(['\n', '\r']).len();
            start += line.len();
            let line = &text[span.clone()];
            let read = if index == 0 { first_line(line) } else { self.draft.line(line) };
            if let Err(Wrong { why, word, hint }) = read {
                let at = word.map_or(span.clone(), |word| span.start + word.start..span.start + word.end);
                let place =
                    Place { file: self.file.to_owned(), text: text.clone(), span: at, label: String::new() };
                let message = format!("line {} of the lock: {why}", index + 1);
                self.problems.push(Diagnostic::error("bad-lock", message).at(place).hint(hint));
                // What follows a first line of another version, or a marker of a conflict, means something else.
                if index == 0 || why == CONFLICT || self.problems.len() > TOLD {
                    return;
                }
            }
        }
        if text.is_empty() {
            let message = format!("`{}` is empty", self.file.display());
            self.problems.push(Diagnostic::error("bad-lock", message).hint(AGAIN));
        }
        for path in self.draft.paths.keys().filter(|path| !self.draft.at_pin.contains(*path)) {
            let message = format!("the path {path} in the lock has no line `at-pin`");
            self.problems.push(Diagnostic::error("bad-lock", message).hint(AGAIN));
        }
    }
}

fn first_line(line: &str) -> Result<(), Wrong> {
    if line == FIRST_LINE {
        return Ok(());
    }
    Err(match line.strip_prefix("overlaid lock ") {
        Some(version) if version.bytes().all(|digit| digit.is_ascii_digit()) => Wrong {
            why: format!("version {version} of the format is not known"),
            word: None,
            hint: "use the version of `overlaid` that wrote it, or write it anew: overlaid lock",
        },
        _ => format!("a lock starts with `{FIRST_LINE}`").into(),
    })
}

/// The words of a line, with a name at its end where it has one.
struct Words<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Words<'a> {
    /// The next word. Exactly one space stands between two.
    fn next(&mut self, what: &str) -> Result<(&'a str, Range<usize>), Wrong> {
        let rest = &self.line[self.at..];
        let length = rest.find(' ').unwrap_or(rest.len());
        if length == 0 {
            return Err(format!("{what} is missing").into());
        }
        let span = self.at..self.at + length;
        self.at = (span.end + 1).min(self.line.len());
        Ok((&rest[..length], span))
    }

    fn read<T>(&mut self, what: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<T, Wrong> {
        let (word, span) = self.next(what)?;
        read(word).map_err(|why| Wrong { why: format!("{what}: {why}"), word: Some(span), hint: AGAIN })
    }

    fn id<T>(&mut self, what: &str, read: fn(&str) -> Result<T, IdError>) -> Result<T, Wrong> {
        self.read(what, |word| {
            let lower = !word.bytes().any(|byte| byte.is_ascii_uppercase());
            read(word).ok().filter(|_| lower).ok_or_else(|| "expected 40 digits of 0-9 and a-f".to_owned())
        })
    }

    fn entry(&mut self) -> Result<Option<Entry>, Wrong> {
        self.read("an entry", |word| {
            if word == "absent" {
                return Ok(None);
            }
            let expected =
                || "expected `absent`, or MODE:ID with a mode of 100644, 100755 or 120000".to_owned();
            let (mode, id) = word.split_once(':').ok_or_else(expected)?;
            let mode = [Mode::File, Mode::Executable, Mode::Symlink]
                .into_iter()
                .find(|known| known.as_octal() == mode)
                .ok_or_else(expected)?;
            let id = BlobId::parse(id).map_err(|error| error.to_string())?;
            Ok(Some(Entry { mode, id }))
        })
    }

    /// The rest of the line: a name, in quotes if it has unusual bytes.
    fn name(&mut self, what: &str) -> Result<(Vec<u8>, Range<usize>), Wrong> {
        let rest = &self.line[self.at..];
        let span = self.at..self.line.len();
        self.at = self.line.len();
        let wrong =
            |why: &str| Wrong { why: format!("{what}: {why}"), word: Some(span.clone()), hint: AGAIN };
        if !rest.starts_with('"') {
            return if rest.is_empty() { Err(wrong("it is missing")) } else { Ok((rest.into(), span)) };
        }
        match unquote(rest.as_bytes()) {
            Some((name, b"")) => Ok((name, span)),
            _ => Err(wrong("the quotes are not right")),
        }
    }

    fn path(&mut self) -> Result<UpstreamPath, Wrong> {
        let (name, span) = self.name("a path")?;
        UpstreamPath::parse(&name).map_err(|error| Wrong {
            why: error.to_string(),
            word: Some(span),
            hint: AGAIN,
        })
    }

    fn end(&self) -> Result<(), Wrong> {
        if self.at == self.line.len() && !self.line.ends_with(' ') {
            Ok(())
        } else {
            let span = self.at.min(self.line.len())..self.line.len();
            Err(Wrong { why: "there is more than belongs here".to_owned(), word: Some(span), hint: AGAIN })
        }
    }
}

impl Draft {
    fn line(&mut self, line: &str) -> Result<(), Wrong> {
        if line.is_empty() {
            self.section = Section::None;
            return Ok(());
        }
        if line.starts_with('#') {
            return Ok(());
        }
        if ["<<<<<<<", "=======", ">>>>>>>", "|||||||"].iter().any(|marker| line.starts_with(marker)) {
            return Err(Wrong {
                why: CONFLICT.to_owned(),
                word: None,
                hint: "resolve the manifest and the overlay files, take either side of this file, then write it \
                       anew: overlaid lock",
            });
        }
        let mut words = Words { line, at: 0 };
        let (key, span) = words.next("a word")?;
        let known = match &self.section {
            Section::None => {
                let read = self.top(key, &mut words);
                if read.is_err() && matches!(key, "overlay" | "path") {
                    self.section = Section::Skipped;
                }
                read?
            }
            Section::Skipped => return Ok(()),
            Section::Overlay => self.of_overlay(key, &mut words)?,
            Section::Path(path) => {
                let path = path.clone();
                self.of_path(&path, key, &mut words)?
            }
        };
        if !known {
            let place = match self.section {
                Section::None => "here",
                Section::Overlay => "in an overlay",
                Section::Path(_) | Section::Skipped => "in a path",
            };
            let why = format!("{} is not known {place}", crate::diagnostic::quoted(key));
            return Err(Wrong { why, word: Some(span), hint: AGAIN });
        }
        words.end()
    }

    fn top(&mut self, key: &str, words: &mut Words<'_>) -> Result<bool, Wrong> {
        match key {
            "upstream" => once(&mut self.upstream, words.read("a name", name)?)?,
            "pin" => once(&mut self.pin, words.id("a commit", CommitId::parse)?)?,
            "tree" => once(&mut self.tree, words.id("a tree", TreeId::parse)?)?,
            "submodule" => {
                let commit = if words.line[words.at..].starts_with("absent ") {
                    words.next("a commit")?;
                    None
                } else {
                    Some(words.id("a commit", CommitId::parse)?)
                };
                insert(&mut self.submodules, words.path()?, commit)?;
            }
            "fingerprint" => {
                let fingerprint = words.read("a fingerprint", |word| {
                    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
                    let right = word.len() == 64 && word.bytes().all(hex);
                    right
                        .then(|| word.to_owned())
                        .ok_or_else(|| "expected 64 digits of 0-9 and a-f".to_owned())
                })?;
                let features = words.read("features", |word| match word {
                    "-" => Ok(BTreeSet::new()),
                    word => word.split(',').map(name).collect(),
                })?;
                insert(&mut self.fingerprints, features, fingerprint)?;
            }
            "overlay" => {
                let name = words.read("a name", name)?;
                let source = words.read("a kind", source)?;
                if !self.names.insert(name.clone()) {
                    return Err(TWICE.into());
                }
                let (when, own) = (SortedSet::new(), SortedMap::new());
                self.overlays.push(LockedOverlay { name, source, is_off: false, when, own });
                self.section = Section::Overlay;
            }
            "path" => {
                let path = words.path()?;
                insert(&mut self.paths, path.clone(), LockedPath::default())?;
                self.section = Section::Path(path);
            }
            "merge" => {
                let key = (words.entry()?, words.entry()?, words.entry()?);
                let result = words.entry()?;
                insert(&mut self.merges, key, result)?;
            }
            "vendored" => {
                let id = words.id("a blob", BlobId::parse)?;
                let size = words.read("a size", |word| {
                    let size = word.parse::<u64>().ok().filter(|size| size.to_string() == word);
                    size.ok_or_else(|| "expected a number of bytes".to_owned())
                })?;
                insert(&mut self.vendored, id, size)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn of_overlay(&mut self, key: &str, words: &mut Words<'_>) -> Result<bool, Wrong> {
        let Some(overlay) = self.overlays.last_mut() else { return Ok(false) };
        match (key, &mut overlay.source) {
            ("off", _) if overlay.is_off => return Err(TWICE.into()),
            ("off", _) => overlay.is_off = true,
            ("when", _) => {
                let condition = words.read("a feature", |word| {
                    let (negated, feature) =
                        word.strip_prefix('!').map_or((false, word), |rest| (true, rest));
                    Ok(Condition { feature: name(feature)?, negated })
                })?;
                add(&mut overlay.when, condition)?;
            }
            ("own", _) => {
                let id = words.id("a blob", BlobId::parse)?;
                let (file, span) = words.name("a file")?;
                let file = PathBuf::from(std::ffi::OsString::from_vec(file));
                if !file.components().all(|part| matches!(part, Component::Normal(_))) {
                    let why = "a file of ours is named relative to the repository, without `..`".to_owned();
                    return Err(Wrong { why, word: Some(span), hint: AGAIN });
                }
                insert(&mut overlay.own, file, id)?;
            }
            ("delete", Source::Delete(paths)) => add(paths, words.path()?)?,
            ("commit", Source::Commits(commits)) => {
                commits.push((words.id("a commit", CommitId::parse)?, Vec::new()));
            }
            ("change", Source::Commits(commits)) => {
                let (before, after) = (words.entry()?, words.entry()?);
                let path = words.path()?;
                let Some((_, changes)) = commits.last_mut() else {
                    return Err("a `change` belongs below a `commit`".into());
                };
                // As git lists them: by path.
                if changes.last().is_some_and(|last| last.path >= path) {
                    return Err("paths are out of order, or this one is there twice".into());
                }
                changes.push(PathDiff { path, before, after });
            }
            ("commit", Source::HeldBack(commit, entries)) => {
                if !entries.is_empty() || *commit != NO_COMMIT {
                    return Err(TWICE.into());
                }
                *commit = words.id("a commit", CommitId::parse)?;
            }
            ("hold", Source::HeldBack(_, entries)) => {
                let entry = words.entry()?;
                insert(entries, words.path()?, entry)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn of_path(&mut self, path: &UpstreamPath, key: &str, words: &mut Words<'_>) -> Result<bool, Wrong> {
        let Some(locked) = self.paths.get_mut(path) else { return Ok(false) };
        match key {
            "at-pin" => {
                add(&mut self.at_pin, path.clone())?;
                locked.pin = words.entry()?;
            }
            "gives" => {
                let entry = words.entry()?;
                let mut overlays = vec![words.read("an overlay", name)?];
                while words.at < words.line.len() {
                    overlays.push(words.read("an overlay", name)?);
                }
                add(&mut locked.gives, (overlays, entry))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Stands for a commit that was not named yet.
const NO_COMMIT: CommitId = CommitId::from_bytes([0; 20]);

const CONFLICT: &str = "a conflict that was not resolved";
const TWICE: &str = "this is there already; nothing is named twice";

fn name(word: &str) -> Result<Name, String> {
    Name::parse(word).map_err(str::to_owned)
}

fn source(word: &str) -> Result<Source, String> {
    Ok(match word {
        "files" => Source::Files,
        "patch" => Source::Patch,
        "delete" => Source::Delete(SortedSet::new()),
        "commits" => Source::Commits(Vec::new()),
        "held-back" => Source::HeldBack(NO_COMMIT, SortedMap::new()),
        _ => return Err("expected files, patch, delete, commits or held-back".to_owned()),
    })
}

fn once<T>(slot: &mut Option<T>, value: T) -> Result<(), Wrong> {
    match slot.replace(value) {
        Some(_) => Err(TWICE.into()),
        None => Ok(()),
    }
}

fn insert<K: Ord, V>(map: &mut SortedMap<K, V>, key: K, value: V) -> Result<(), Wrong> {
    match map.insert(key, value) {
        Some(_) => Err(TWICE.into()),
        None => Ok(()),
    }
}

fn add<T: Ord>(set: &mut SortedSet<T>, value: T) -> Result<(), Wrong> {
    if set.insert(value) { Ok(()) } else { Err(TWICE.into()) }
}
