//! Records of builds and of runs, on disk.
//!
//! Decides where a record is kept and which ones come into question. Whether one still holds is
//! `evidence`'s business. What was built is local to this machine and can be thrown away; what was run is
//! part of the user's repository.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::evidence::{
    BuildRecord, Machine, Record, ResultRecord, parse_checked_result, parse_record, render_record,
};
use crate::id::Name;
use crate::io::hashes::{sha256_of, write_atomically};
use crate::io::toolchain::{self, Requirement};

/// How many builds of one test are remembered.
const KEPT: usize = 200;

/// The format of the table of builds.
const BUILDS: &str = "overlaid.builds.v1";

/// What an answer was made from, besides the question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Used {
    /// Files of ours (relative to the repository) and of the machine, with their hashes.
    pub files: BTreeMap<String, String>,
    /// Records, by the names of their files.
    pub records: BTreeSet<String>,
    /// Hashes over what builds stood on, where one that failed stands beside one that did not.
    pub machine: BTreeSet<String>,
    /// A hash over the names of our own files, where that counts.
    pub names: Option<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Table {
    schema: String,
    builds: Vec<BuildRecord>,
}

/// The builds of all tests.
#[derive(Debug)]
pub struct Builds {
    folder: PathBuf,
    tables: BTreeMap<String, Vec<BuildRecord>>,
}

impl Builds {
    /// The tables in a folder; each is read when it is needed.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), tables: BTreeMap::new() }
    }

    /// The builds of a test under a profile, oldest first.
    pub fn of(&mut self, test: &Name, profile: Option<&Name>) -> &[BuildRecord] {
        self.table(&key(test, profile))
    }

    fn table(&mut self, key: &str) -> &mut Vec<BuildRecord> {
        let file = self.folder.join(format!("{key}.json"));
        self.tables.entry(key.to_owned()).or_insert_with(|| {
            let table = std::fs::read(file).ok().and_then(|text| serde_json::from_slice::<Table>(&text).ok());
            table.filter(|table| table.schema == BUILDS).unwrap_or_default().builds
        })
    }

    /// Adds a build, and writes the table.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(
        &mut self,
        test: &Name,
        profile: Option<&Name>,
        mut build: BuildRecord,
    ) -> std::io::Result<()> {
        let key = key(test, profile);
        let table = self.table(&key);
        // A build that had nothing to do is the earlier one, and that took its time.
        let earlier = table.iter().find(|known| known.inputs == build.inputs);
        build.millis = build.millis.or(earlier.and_then(|known| known.millis));
        table.retain(|known| known.inputs != build.inputs);
        table.push(build);
        if table.len() > KEPT {
            table.remove(0);
        }
        let table = Table { schema: BUILDS.to_owned(), builds: table.clone() };
        let text = serde_json::to_vec(&table).map_err(std::io::Error::other)?;
        write_atomically(&self.folder.join(format!("{key}.json")), &text)
    }
}

fn key(test: &Name, profile: Option<&Name>) -> String {
    format!("{test}.{}", profile.map_or("default", Name::as_str))
}

/// The records of what was run: a file each, `<test>.<profile>.<hash>.json`.
#[derive(Debug)]
pub struct Results {
    folder: PathBuf,
    known: BTreeMap<String, Vec<(String, ResultRecord)>>,
    names: Option<Vec<String>>,
    /// Files that are no records, or were edited, with what is wrong with them.
    pub refused: Vec<(PathBuf, String)>,
    checked: Checked,
}

/// The records that were checked before, by the hash of their text: reading them again is half the work. Local to
/// this machine; safe to delete.
#[derive(Debug, Default)]
struct Checked {
    file: PathBuf,
    known: BTreeSet<String>,
    is_read: bool,
}

impl Checked {
    /// Whether a text with this hash was checked before.
    fn has(&mut self, hash: &str) -> bool {
        if !self.is_read {
            self.is_read = true;
            let text = std::fs::read_to_string(&self.file).unwrap_or_default();
            self.known = text.lines().map(ToOwned::to_owned).collect();
        }
        self.known.contains(hash)
    }

    /// Remembers a text. If that cannot be written, the text is checked again the next time.
    fn add(&mut self, hash: String) {
        use std::io::Write;
        let file = std::fs::OpenOptions::new().append(true).create(true).open(&self.file);
        if let Ok(mut file) = file {
            let _ = file.write_all(format!("{hash}\n").as_bytes());
        }
        self.known.insert(hash);
    }
}

impl Results {
    /// The records in a folder; those of a test are read when they are needed.
    #[must_use]
    ///
    /// `memo` is a file of ours that need not exist: which of them were checked before.
    pub fn at(folder: &Path, memo: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            known: BTreeMap::new(),
            names: None,
            refused: Vec::new(),
            checked: Checked { file: memo.to_owned(), ..Checked::default() },
        }
    }

    /// The records of a test under a profile, newest first, with the names of their files.
    pub fn of(&mut self, test: &Name, profile: Option<&Name>) -> &[(String, ResultRecord)] {
        let prefix = format!("{}.", key(test, profile));
        if !self.known.contains_key(&prefix) {
            let folder = &self.folder;
            let names = self.names.get_or_insert_with(|| list(folder));
            let mut records = Vec::new();
            for name in names.iter().filter(|name| name.starts_with(&prefix)) {
                match read(&folder.join(name), &mut self.checked) {
                    Ok(record) => records.push((name.clone(), record)),
                    Err(why) => self.refused.push((folder.join(name), why)),
                }
            }
            records.sort_by_key(|(_, record)| std::cmp::Reverse(record.recorded));
            self.known.insert(prefix.clone(), records);
        }
        self.known.get(&prefix).map(Vec::as_slice).unwrap_or_default()
    }

    /// Writes a record into its file, or into a new one; gives the file's name.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(
        &mut self,
        file: Option<String>,
        profile: Option<&Name>,
        record: &ResultRecord,
    ) -> std::io::Result<String> {
        let prefix = format!("{}.", key(&record.test, profile));
        let name = file.unwrap_or_else(|| {
            // The key may grow with what later runs read; the name stays.
            let key = format!("{} {}", record.inputs.key(), record.recorded);
            format!("{prefix}{}.json", &sha256_of(key.as_bytes())[..16])
        });
        let text = render_record(&Record::Result(record.clone())).map_err(std::io::Error::other)?;
        write_atomically(&self.folder.join(&name), text.as_bytes())?;
        let known = self.known.entry(prefix).or_default();
        known.retain(|(other, _)| *other != name);
        known.insert(0, (name.clone(), record.clone()));
        Ok(name)
    }
}

/// The names of all records in a folder, sorted.
#[must_use]
pub fn list(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter(|name| name.ends_with(".json") && !name.starts_with('.')).collect();
    names.sort();
    names
}

fn read(file: &Path, checked: &mut Checked) -> Result<ResultRecord, String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let hash = sha256_of(text.as_bytes());
    if checked.has(&hash)
        && let Ok(record) = parse_checked_result(text.as_bytes())
    {
        return Ok(record);
    }
    match parse_record(&text).map_err(|error| error.to_string())? {
        Record::Result(record) => {
            checked.add(hash);
            Ok(record)
        }
        Record::Build(_) => Err("a record of a build, not of a run".to_owned()),
    }
}

/// Now, in seconds since 1970.
#[must_use]
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// This machine.
#[must_use]
pub fn machine(requirement: &Requirement) -> Machine {
    let device = match requirement {
        Requirement::Device(device) => Some(device.clone()),
        Requirement::Nothing | Requirement::NoTool(_) | Requirement::NoDevice(_) => None,
    };
    Machine {
        os: std::env::consts::OS.to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        cpu: toolchain::processor(),
        device: device.as_ref().map(ToString::to_string),
        driver: device.as_ref().map(|device| device.driver.clone()),
        cuda: device.and_then(|device| device.cuda),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{RunInputs, VariantNote};
    use crate::id::CommitId;

    fn record(test: &Name, recorded: i64) -> ResultRecord {
        let machine = machine(&Requirement::Nothing);
        ResultRecord {
            test: test.clone(),
            inputs: RunInputs {
                build: "k".into(),
                binary: "b".into(),
                libraries: BTreeMap::new(),
                files: BTreeMap::new(),
                command: vec!["{build}/t".into()],
                environment: BTreeMap::new(),
                format: "jsonl".into(),
                timeout_ms: 1000,
                sanitizers: Vec::new(),
                compiler: "c".into(),
                host: machine.class(),
                device: None,
                driver: None,
                protocol: 1,
            },
            built_from: None,
            runs: Vec::new(),
            sanitized: BTreeMap::new(),
            variant: VariantNote {
                commit: CommitId::from_bytes([1; 20]),
                overlays: Vec::new(),
                fault: None,
                tree: None,
            },
            machine,
            recorded,
        }
    }

    #[test]
    fn records_are_found_again_and_edited_ones_are_refused() {
        let folder = std::env::temp_dir().join(format!("overlaid-records-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let (test, other) = (Name::parse("t").unwrap(), Name::parse("t.x").unwrap());
        let mut results = Results::at(&folder, &folder.join("checked"));
        let file = results.write(None, None, &record(&test, 1)).unwrap();
        assert_eq!(results.write(Some(file.clone()), None, &record(&test, 2)).unwrap(), file);
        results.write(None, None, &record(&other, 3)).unwrap();

        let mut results = Results::at(&folder, &folder.join("checked"));
        let found: Vec<i64> = results.of(&test, None).iter().map(|(_, record)| record.recorded).collect();
        assert_eq!(found, [2]);
        let text = std::fs::read_to_string(folder.join(&file))
            .unwrap()
            .replace("\"recorded\": 2", "\"recorded\": 9");
        std::fs::write(folder.join(&file), text).unwrap();
        let mut results = Results::at(&folder, &folder.join("checked"));
        assert!(results.of(&test, None).is_empty());
        assert_eq!(results.refused.len(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
