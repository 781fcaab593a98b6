//! SHA-256 of files on disk, remembered as long as a file's stat data stay the same.
//!
//! Decides when a remembered hash still holds: same size, modification and change time (to the
//! nanosecond), inode and device, and not written so lately that a second write could hide behind
//! the same time. Never decides what a hash is good for.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The first bytes of the table's file: its format.
const SCHEMA: &str = "overlaid.hashes.v1";

/// A file that was written this close to the moment of hashing is not remembered.
const RACY: Duration = Duration::from_secs(2);

/// Hashes of files, with a table that survives the process.
#[derive(Debug)]
pub struct Hashes {
    file: Option<PathBuf>,
    known: BTreeMap<PathBuf, Known>,
    changed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    stat: Stat,
    sha256: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Stat(u64, i64, i64, i64, i64, u64, u64);

#[derive(Serialize, Deserialize)]
struct Table {
    schema: String,
    files: BTreeMap<PathBuf, Known>,
}

impl Stat {
    fn of(data: &std::fs::Metadata) -> Self {
        Self(
            data.len(),
            data.mtime(),
            data.mtime_nsec(),
            data.ctime(),
            data.ctime_nsec(),
            data.ino(),
            data.dev(),
        )
    }
}

impl Hashes {
    /// A table that is forgotten at the end.
    #[must_use]
    pub fn in_memory() -> Self {
        Self { file: None, known: BTreeMap::new(), changed: false }
    }

    /// The table in a file; an empty one where there is none, or one that cannot be read.
    #[must_use]
    pub fn load(file: &Path) -> Self {
        let table = std::fs::read(file)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Table>(&bytes).ok())
            .filter(|table| table.schema == SCHEMA);
        Self {
            file: Some(file.to_owned()),
            known: table.map(|table| table.files).unwrap_or_default(),
            changed: false,
        }
    }

    /// The hash of a file's content, links followed; 64 hexadecimal digits.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn sha256(&mut self, path: &Path) -> std::io::Result<String> {
        let data = std::fs::metadata(path)?;
        let stat = Stat::of(&data);
        if let Some(known) = self.known.get(path).filter(|known| known.stat == stat) {
            return Ok(known.sha256.clone());
        }
        let mut file = std::fs::File::open(path)?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                read => hash.update(&buffer[..read]),
            }
        }
        let sha256 = hex(&hash.finalize());
        let settled = data.modified().ok().and_then(|time| SystemTime::now().duration_since(time).ok());
        if settled.is_some_and(|age| age > RACY) && Stat::of(&std::fs::metadata(path)?) == stat {
            self.known.insert(path.to_owned(), Known { stat, sha256: sha256.clone() });
            self.changed = true;
        }
        Ok(sha256)
    }

    /// What a file is to those who read it or run it: its hash, and whether it can be run, where that makes a
    /// difference. A source that is compiled and a text that is read are the same with another mode; a script is not.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn identity(&mut self, path: &Path) -> std::io::Result<String> {
        let hash = self.sha256(path)?;
        let can_run = !is_only_read(path) && std::fs::metadata(path)?.mode() & 0o111 != 0;
        Ok(if can_run { format!("{hash} executable") } else { hash })
    }

    /// Writes the table, if something is new in it.
    ///
    /// # Errors
    /// If it cannot be written. Nothing is lost then but time.
    pub fn save(&mut self) -> std::io::Result<()> {
        let Some(file) = self.file.as_ref().filter(|_| self.changed) else {
            return Ok(());
        };
        let table = Table { schema: SCHEMA.to_owned(), files: self.known.clone() };
        let text = serde_json::to_vec(&table).map_err(std::io::Error::other)?;
        write_atomically(file, &text)?;
        // The table's folder is nobody's business in the user's own repository.
        let ignore = file.with_file_name(".gitignore");
        if !ignore.exists() {
            std::fs::write(&ignore, "*\n")?;
        }
        self.changed = false;
        Ok(())
    }
}

/// Whether a file has a name of those that nobody runs: sources of compilers, CMake's files, data.
fn is_only_read(path: &Path) -> bool {
    const ENDS: [&str; 27] = [
        "c", "cc", "cpp", "cxx", "cu", "cuh", "h", "hh", "hpp", "hxx", "inc", "inl", "ipp", "m", "metal",
        "mm", "cmake", "cfg", "csv", "ini", "json", "jsonl", "md", "toml", "txt", "xml", "yaml",
    ];
    path.extension().and_then(|end| end.to_str()).is_some_and(|end| ENDS.contains(&end))
}

/// Writes a file so that a reader sees the old or the new content, never a part.
///
/// # Errors
/// If the folder cannot be made or the file cannot be written.
pub fn write_atomically(file: &Path, content: &[u8]) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let next = folder.join(format!(".{name}.{}.new", std::process::id()));
    std::fs::write(&next, content).and_then(|()| std::fs::rename(&next, file)).inspect_err(|_| {
        let _ = std::fs::remove_file(&next);
    })
}

/// Edits a text file, so that a reader sees the old or the new content.
///
/// # Errors
/// If the file cannot be read or written, is not UTF-8, or cannot be edited.
pub fn edit_file<E: std::fmt::Display>(
    file: &Path,
    edit: impl FnOnce(&str) -> Result<String, E>,
) -> std::io::Result<()> {
    let text = std::fs::read_to_string(file)?;
    let edited = edit(&text).map_err(|error| std::io::Error::other(error.to_string()))?;
    if edited == text { Ok(()) } else { write_atomically(file, edited.as_bytes()) }
}

/// SHA-256 of bytes, 64 hexadecimal digits.
#[must_use]
pub fn sha256_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_remembered_until_the_file_changes() {
        let folder = std::env::temp_dir().join(format!("overlaid-hashes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (file, table) = (folder.join("file"), folder.join("table"));
        std::fs::write(&file, "abc").unwrap();
        let old = std::time::SystemTime::now() - Duration::from_secs(100);
        std::fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let mut hashes = Hashes::load(&table);
        assert_eq!(hashes.sha256(&file).unwrap(), abc);
        hashes.save().unwrap();

        let mut hashes = Hashes::load(&table);
        assert_eq!(hashes.known.len(), 1);
        assert_eq!(hashes.sha256(&file).unwrap(), abc);
        // Same length, same time: the change time tells.
        std::fs::write(&file, "abd").unwrap();
        std::fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
        assert_ne!(hashes.sha256(&file).unwrap(), abc);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_table_that_cannot_be_read_is_an_empty_one() {
        let folder = std::env::temp_dir().join(format!("overlaid-hashes-bad-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("table"), "{\"schema\":\"other\"").unwrap();
        assert!(Hashes::load(&folder.join("table")).known.is_empty());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
