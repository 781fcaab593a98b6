//! Reports, records of evidence and templates on disk, and who a person is to git.
//!
//! Decides nothing: what a report says is `report`'s business.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::evidence::{Record, parse_record};
use crate::report::check::RecordAnswer;
use crate::report::facts::{OPEN, RecordFile};
use crate::report::retired::Retired;

use super::hashes::{sha256_of, write_atomically};
use super::own_files::{Disk, OwnFiles};
use super::workspace::LoadError;

/// Text files of a user's templates folder for reports, by their names.
///
/// # Errors
/// If one cannot be read or is no text.
pub fn templates(root: &Path, folder: &Path) -> Result<BTreeMap<String, String>, LoadError> {
    let folder = folder.join("report");
    let disk = Disk::new(root);
    let mut found = BTreeMap::new();
    for file in disk.list(&folder)? {
        let (Some(name), Some(content)) = (file.to_str(), disk.read(&folder.join(&file))?) else { continue };
        if !name.ends_with(".md") {
            continue;
        }
        let text = String::from_utf8(content.bytes.to_vec()).map_err(|error| LoadError::Io {
            path: folder.join(&file),
            error: std::io::Error::other(error),
        })?;
        found.insert(name.to_owned(), text);
    }
    Ok(found)
}

/// The reports that lie directly in the folder of reports: Markdown files that end with facts. With their bytes.
///
/// # Errors
/// If one cannot be read.
pub fn reports(root: &Path, docs: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, LoadError> {
    let disk = Disk::new(root);
    let mut found = Vec::new();
    for file in disk.list(docs)? {
        let is_report = file.extension().is_some_and(|e| e == "md") && file.components().count() == 1;
        let file = docs.join(file);
        if let Some(content) = disk.read(&file)?.filter(|_| is_report)
            && bstr::ByteSlice::find(&*content.bytes, OPEN.trim_end()).is_some()
        {
            found.push((file, content.bytes.to_vec()));
        }
    }
    Ok(found)
}

/// The records of evidence that drops went by: they say why an overlay is gone, and are kept for that.
#[must_use]
pub fn of_drops(root: &Path, docs: &Path) -> BTreeSet<String> {
    let files = std::fs::read_dir(root.join(docs).join("retired")).into_iter().flatten();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok());
    let retired = texts.filter_map(|text| toml::from_str::<Retired>(&text).ok());
    retired.flat_map(|retired| retired.evidence).collect()
}

/// A record of evidence, and what is to be said of it. `sha256`: what its file hashed to.
#[must_use]
pub fn record(root: &Path, docs: &Path, name: &str, sha256: &str) -> (Option<RecordFile>, RecordAnswer) {
    let file = root.join(docs).join("evidence").join(name);
    // The name comes from a file that somebody may have written: it must not lead out of the folder.
    let is_plain = Path::new(name).file_name().is_some_and(|plain| plain == name);
    let Ok(bytes) = std::fs::read(&file).map_err(drop).and_then(|b| if is_plain { Ok(b) } else { Err(()) })
    else {
        return (None, RecordAnswer::Missing);
    };
    let text = String::from_utf8_lossy(&bytes);
    match parse_record(&text) {
        Ok(Record::Result(record)) => {
            let now = sha256_of(&bytes);
            let answer = if now == sha256 { RecordAnswer::Same } else { RecordAnswer::Other };
            (Some(RecordFile { record, sha256: now }), answer)
        }
        Ok(Record::Build(_)) => (None, RecordAnswer::Edited("it is a record of a build".to_owned())),
        Err(error) => (None, RecordAnswer::Edited(error.to_string())),
    }
}

/// Writes a report.
///
/// # Errors
/// If it cannot be written.
pub fn write(root: &Path, file: &Path, text: &[u8]) -> std::io::Result<()> {
    let file = root.join(file);
    if std::fs::read(&file).is_ok_and(|known| known == text) {
        return Ok(());
    }
    write_atomically(&file, text)
}

/// The text of a file of ours, for links: the inner `None` where it is no text, the outer where it is not there.
#[must_use]
pub fn text_of(root: &Path, file: &Path) -> Option<Option<String>> {
    let file = root.join(file);
    if file.is_dir() {
        return Some(None);
    }
    std::fs::read(file).ok().map(|bytes| String::from_utf8(bytes).ok())
}

/// The name that git would write into a commit of our repository; `None`: it has none, or there is no repository.
#[must_use]
pub fn user_name(root: &Path) -> Option<String> {
    let root = root.canonicalize().ok()?;
    let top = root.ancestors().find(|folder| folder.join(".git").exists())?;
    let repository = gix::open(top).ok()?;
    let name = repository.config_snapshot().string("user.name")?.to_string();
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    (!name.is_empty()).then_some(name)
}
