//! The lock and the vendored contents beside a manifest: what differs from what they should be, and writing them.
//!
//! All or nothing, as far as files can: contents come first, each in one step and under a name that says what is in
//! it; the lock, which names them, comes last; only then do contents go that nobody names.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::locked::{BadVendored, lock_file, read_vendored, vendored_folder};
#[cfg(feature = "git")]
use crate::bump::FileEdit;
use crate::id::BlobId;
use crate::lock::{Built, render};

/// Keeps git from converting line endings: a content is known by its bytes.
const ATTRIBUTES: &str =
    "# Contents of upstream commits, by their ids. Written by `overlaid lock --vendor`.\n* -text\n";

/// The lock and the vendored contents as they should be.
#[derive(Debug)]
pub struct LockFiles<'a> {
    root: &'a Path,
    lock: PathBuf,
    text: String,
    vendored: PathBuf,
    contents: &'a BTreeMap<BlobId, Arc<[u8]>>,
}

/// A file that is not as it should be.
#[derive(Debug)]
pub enum Difference {
    /// There is no lock.
    NoLock(PathBuf),
    /// A line of the lock is another one.
    Line {
        /// The lock.
        file: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// What is there; `None`: the file ends before.
        found: Option<String>,
        /// What should be there; `None`: nothing.
        expected: Option<String>,
    },
    /// A vendored content is not there or not right.
    Vendored(BadVendored),
    /// A file that no overlay needs.
    Extra(PathBuf),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |line: &Option<String>| {
            line.as_ref().map_or_else(|| "nothing".to_owned(), |line| format!("`{}`", line.escape_debug()))
        };
        match self {
            Difference::NoLock(file) => write!(f, "`{}` is not there", file.display()),
            Difference::Line { file, line, found, expected } => {
                let (found, expected) = (shown(found), shown(expected));
                write!(f, "`{}` line {line} has {found}; it should have {expected}", file.display())
            }
            Difference::Vendored(bad) => bad.fmt(f),
            Difference::Extra(file) => write!(f, "`{}` is needed by no overlay", file.display()),
        }
    }
}

/// A file that cannot be read or written.
#[derive(Debug)]
pub struct WriteError {
    what: &'static str,
    path: PathBuf,
    error: std::io::Error,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} `{}`: {}", self.what, self.path.display(), self.error)
    }
}

impl std::error::Error for WriteError {}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> WriteError {
    let path = path.to_owned();
    move |error| WriteError { what, path, error }
}

impl<'a> LockFiles<'a> {
    /// Those of a manifest, which is given relative to `root`.
    #[must_use]
    pub fn new(root: &'a Path, manifest: &Path, built: &'a Built) -> Self {
        let text = render(&built.lock);
        let (lock, vendored) = (lock_file(manifest), vendored_folder(manifest));
        Self { root, lock, text, vendored, contents: &built.contents }
    }

    /// What differs; empty if all is right.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn differences(&self) -> Result<Vec<Difference>, WriteError> {
        let mut found = Vec::new();
        let path = self.root.join(&self.lock);
        match std::fs::read(&path) {
            Ok(bytes) if bytes == self.text.as_bytes() => {}
            Ok(bytes) => found.push(self.first_line(&bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                found.push(Difference::NoLock(self.lock.clone()));
            }
            Err(error) => return Err(failed("read", &path)(error)),
        }
        for (id, bytes) in self.contents {
            match read_vendored(self.root, &self.vendored, *id, bytes.len() as u64) {
                Ok(_) => {}
                Err(bad) => found.push(Difference::Vendored(bad)),
            }
        }
        found.extend(self.extra()?.into_iter().map(Difference::Extra));
        Ok(found)
    }

    fn first_line(&self, bytes: &[u8]) -> Difference {
        let there = String::from_utf8_lossy(bytes);
        let (mut there, mut ours) = (there.lines(), self.text.lines());
        let mut line = 0;
        loop {
            line += 1;
            let (found, expected) = (there.next(), ours.next());
            // Texts that differ in line ends only have no line that differs.
            if found != expected || (found.is_none() && expected.is_none()) {
                let owned = |line: Option<&str>| line.map(|line| line.chars().take(200).collect());
                return Difference::Line {
                    file: self.lock.clone(),
                    line,
                    found: owned(found),
                    expected: owned(expected),
                };
            }
        }
    }

    /// Vendored contents that nobody names. Other files in the folder are somebody's and stay.
    fn extra(&self) -> Result<Vec<PathBuf>, WriteError> {
        let folder = self.root.join(&self.vendored);
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed("list", &folder)(error)),
        };
        let mut extra = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed("list", &folder))?.file_name();
            let id = name.to_str().and_then(|name| BlobId::parse(name).ok());
            if id.is_some_and(|id| !self.contents.contains_key(&id)) {
                extra.push(self.vendored.join(name));
            }
        }
        extra.sort();
        Ok(extra)
    }

    /// What [`LockFiles::write`] would do, for somebody who changes other files at the same time.
    ///
    /// # Errors
    /// If a file cannot be read.
    #[cfg(feature = "git")]
    pub fn edits(&self) -> Result<Vec<FileEdit>, WriteError> {
        let mut edits = Vec::new();
        let mut edit = |file: PathBuf, after: Option<Arc<[u8]>>| -> Result<(), WriteError> {
            let path = self.root.join(&file);
            let before = match std::fs::read(&path) {
                Ok(bytes) => Some(BlobId::of(&bytes)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                Err(error) => return Err(failed("read", &path)(error)),
            };
            if before != after.as_ref().map(|bytes| BlobId::of(bytes)) {
                edits.push(FileEdit { file, before, after, mode: None });
            }
            Ok(())
        };
        let attributes = self.vendored.join(".gitattributes");
        if !self.contents.is_empty() && !self.root.join(&attributes).exists() {
            edit(attributes, Some(ATTRIBUTES.as_bytes().into()))?;
        }
        for (id, bytes) in self.contents {
            edit(self.vendored.join(id.to_string()), Some(Arc::clone(bytes)))?;
        }
        edit(self.lock.clone(), Some(self.text.as_bytes().into()))?;
        for extra in self.extra()? {
            edit(extra, None)?;
        }
        Ok(edits)
    }

    /// Writes what differs.
    ///
    /// # Errors
    /// If a file cannot be written. The lock is the old one then, with all that it names.
    pub fn write(&self) -> Result<(), WriteError> {
        let folder = self.root.join(&self.vendored);
        if !self.contents.is_empty() {
            std::fs::create_dir_all(&folder).map_err(failed("make", &folder))?;
            let attributes = folder.join(".gitattributes");
            if !attributes.exists() {
                replace(&attributes, ATTRIBUTES.as_bytes())?;
            }
        }
        for (id, bytes) in self.contents {
            if read_vendored(self.root, &self.vendored, *id, bytes.len() as u64).is_err() {
                replace(&folder.join(id.to_string()), bytes)?;
            }
        }
        replace(&self.root.join(&self.lock), self.text.as_bytes())?;
        for extra in self.extra()? {
            let path = self.root.join(extra);
            std::fs::remove_file(&path).map_err(failed("remove", &path))?;
        }
        Ok(())
    }
}

/// Writes a file in one step.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = path.with_file_name(name);
    let write = || {
        let mut file = std::fs::File::create(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&new, path)
    };
    write().map_err(|error| {
        let _ = std::fs::remove_file(&new);
        failed("write", path)(error)
    })
}
