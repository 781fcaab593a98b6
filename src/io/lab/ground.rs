//! What of the machine a build stood on: the places that were looked in, the files that were opened there.
//!
//! Decides whether a build folder still stands on what it was made on. Only if all of that is known and the same,
//! the failure of a build can be used again, and only then it says something about the sources: a compiler that
//! was broken or a header that was missing is another ground than one that works.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::evidence::MadeOn;
use crate::io::hashes::write_atomically;
use crate::io::machine::{self, Places, Stats};
use crate::io::reads::Reads;

/// The file in a build folder's notes.
const FILE: &str = "ground.json";

/// What the builds in a folder have stood on since it was made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Noted {
    /// Folders that were looked in, as they were when the first build began.
    folders: Stats,
    /// Files that were opened there, as they were then.
    files: Stats,
    /// Files of ours that were opened, relative to the repository.
    ours: BTreeSet<PathBuf>,
    /// It was watched from the start.
    is_known: bool,
}

/// What a build stood on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    /// On this, and all of it is still the same.
    Same {
        /// Folders of the machine.
        folders: Stats,
        /// Files of the machine.
        files: Stats,
        /// Files of ours.
        ours: BTreeSet<PathBuf>,
    },
    /// The machine is not what it was when the folder was made, or it changed meanwhile.
    Moved,
    /// It could not be watched.
    Unknown,
}

/// A build that is beginning.
#[derive(Debug)]
pub struct Began {
    noted: Noted,
    started: SystemTime,
    moved: bool,
}

impl Began {
    /// Looks at the ground before anything is configured. `is_made`: something was built in the folder before.
    #[must_use]
    pub fn look(notes: &Path, places: Option<&Places>, is_made: bool) -> Self {
        let text = std::fs::read(notes.join(FILE)).ok();
        let known = text.and_then(|text| serde_json::from_slice::<Noted>(&text).ok());
        let fresh = Noted { is_known: !is_made && places.is_some(), ..Noted::default() };
        let began = Self { noted: known.unwrap_or(fresh), started: SystemTime::now(), moved: false };
        match places {
            Some(places) => began.and(places, is_made),
            None => began,
        }
    }

    /// Takes down more places: those that are known only after CMake has run.
    #[must_use]
    pub fn and(mut self, places: &Places, is_made: bool) -> Self {
        for (folder, stat) in places.stats() {
            match self.noted.folders.get(&folder) {
                Some(known) => self.moved |= *known != stat,
                None => {
                    // A folder below a known one that is not known itself: it came later.
                    let came = folder.parent().is_some_and(|above| self.noted.folders.contains_key(above));
                    self.moved |= is_made && came;
                    self.noted.folders.insert(folder, stat);
                }
            }
        }
        self
    }

    /// Takes down what was opened, and says what the build stood on. `opened`: files of the machine, `None` if it is
    /// not known; `ours`: files of our repository.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn end(
        mut self,
        notes: &Path,
        opened: Option<Reads>,
        ours: Option<&Reads>,
    ) -> std::io::Result<Ground> {
        let files = opened.as_ref().map(|reads| &reads.files);
        self.noted.is_known &= opened.is_some() && ours.is_some();
        for file in files.into_iter().flatten().filter(|file| file.is_file()) {
            let stat = machine::stat(file);
            self.moved |= machine::is_newer_than(file, self.started);
            let known = self.noted.files.entry(file.clone()).or_insert_with(|| stat.clone());
            self.moved |= *known != stat;
        }
        if let Some(ours) = ours {
            self.noted.ours.extend(ours.files.difference(&ours.written).cloned());
        }
        let stands =
            !self.moved && machine::are_same(&self.noted.folders) && machine::are_same(&self.noted.files);
        let text = serde_json::to_vec(&self.noted).map_err(std::io::Error::other)?;
        write_atomically(&notes.join(FILE), &text)?;
        let Noted { folders, files, ours, is_known } = self.noted;
        Ok(match (is_known, stands) {
            (false, _) => Ground::Unknown,
            (true, false) => Ground::Moved,
            (true, true) => Ground::Same { folders, files, ours },
        })
    }
}

impl Ground {
    /// Writes the ground down in a folder, and gives the hashes by which [`machine::stands`] knows it; none if
    /// it is not known.
    #[must_use]
    pub fn keep(&self, folder: &Path) -> Vec<String> {
        let Ground::Same { folders, files, .. } = self else { return Vec::new() };
        let kept = [folders, files].map(|stats| machine::keep(folder, stats).ok());
        kept.into_iter().collect::<Option<Vec<_>>>().unwrap_or_default()
    }
}

/// Folders and files that the rules of a configured build folder name, or options do, and that are not in the
/// places that are known: where headers, libraries, packages and compilers of this project are. What is ours is
/// watched by itself, save compilers.
#[must_use]
pub fn named_elsewhere(
    build: &Path,
    options: &BTreeMap<String, String>,
    root: &Path,
    known: &Places,
) -> Vec<PathBuf> {
    let rules = ["build.ninja", "CMakeFiles/rules.ninja"]
        .map(|file| std::fs::read_to_string(build.join(file)).unwrap_or_default());
    let texts = options.values().chain(&rules).map(String::as_str);
    let words: BTreeSet<&str> =
        texts.flat_map(|text| text.split([' ', '\n', '"', '\'', '=', ':', ';'])).collect();
    let mut named = BTreeSet::new();
    for word in words {
        let Some(path) = word.find('/').and_then(|start| word.get(start..)).map(Path::new) else { continue };
        let is_system =
            path.components().count() < 3 || path.starts_with("/proc") || path.starts_with("/dev");
        if is_system || !path.exists() {
            continue;
        }
        if !path.starts_with(root) && !known.has(path) {
            named.insert(path.to_owned());
        }
        // What belongs to a program stands beside its folder.
        let real = path.canonicalize().ok();
        let prefix = real.as_deref().and_then(Path::parent).filter(|folder| folder.ends_with("bin"));
        if let Some(prefix) = prefix.and_then(Path::parent).filter(|_| path.is_file())
            && prefix.components().count() > 1
            && prefix != Path::new("/usr")
            && !root.starts_with(prefix)
        {
            named.insert(prefix.to_owned());
        }
    }
    named.into_iter().collect()
}

/// Whether the machine, and the names of our own files, are what they were for a build. `grounds` is the folder in
/// which it is written down.
#[must_use]
pub fn is_same(made_on: &MadeOn, grounds: &Path, root: &Path, docs: &Path) -> bool {
    !made_on.is_unknown()
        && made_on.machine.iter().all(|hash| machine::stands(grounds, hash))
        && (made_on.names.is_none() || made_on.names == own_names(root, docs))
}

/// All that stands in our repository, save what is hidden, made by tools, or written by us.
pub fn own_entries(root: &Path, docs: &Path) -> impl Iterator<Item = walkdir::Result<walkdir::DirEntry>> {
    let docs = root.join(docs);
    let counts = move |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        let is_made = || {
            let marks = ["CACHEDIR.TAG", "CMakeCache.txt", "pyvenv.cfg"];
            marks.iter().any(|mark| entry.path().join(mark).exists())
        };
        entry.depth() == 0
            || !(name.starts_with('.')
                || ["node_modules", "__pycache__"].contains(&name.as_ref())
                || entry.path() == docs
                || entry.file_type().is_dir() && is_made())
    };
    walkdir::WalkDir::new(root).sort_by_file_name().into_iter().filter_entry(counts)
}

/// The names of all of that: a file of ours that is not there may have decided a failure, too. `None`: there is too
/// much.
#[must_use]
pub fn own_names(root: &Path, docs: &Path) -> Option<String> {
    const MOST: usize = 50_000;
    let mut names = String::new();
    for (number, entry) in own_entries(root, docs).enumerate() {
        let entry = entry.ok().filter(|_| number < MOST)?;
        names.push_str(&format!("{:?}\n", entry.path().strip_prefix(root).ok()?));
    }
    Some(crate::io::hashes::sha256_of(names.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::process::Environment;

    fn reads(files: &[&Path]) -> Option<Reads> {
        Some(Reads { files: files.iter().map(|file| (*file).to_owned()).collect(), ..Reads::default() })
    }

    #[test]
    fn a_ground_is_the_same_until_something_on_it_moves() {
        let top = std::env::temp_dir().join(format!("overlaid-ground-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&top);
        std::fs::create_dir_all(top.join("inc")).unwrap();
        let top = top.canonicalize().unwrap();
        let (notes, kept, header) = (top.join("notes"), top.join("kept"), top.join("inc/a.h"));
        std::fs::write(&header, "1").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(30));
        let mut env = Environment::empty();
        env.set("CPATH", top.join("inc"));
        let none = Some(Reads::default());
        let build = |is_made: bool, opened: Option<Reads>| {
            let places = Places::look(&env, Path::new("/nowhere"));
            let began = Began::look(&notes, places.as_ref(), is_made);
            began.end(&notes, opened, none.as_ref()).unwrap()
        };
        let first = build(false, reads(&[&header]));
        let hashes = first.keep(&kept);
        assert!(hashes.len() == 2 && hashes.iter().all(|hash| machine::stands(&kept, hash)));
        assert!(matches!(build(true, reads(&[])), Ground::Same { .. }));
        // Written in place: only the file itself shows it.
        std::fs::write(&header, "2").unwrap();
        assert!(!hashes.iter().all(|hash| machine::stands(&kept, hash)));
        assert_eq!(build(true, reads(&[])), Ground::Moved);
        // What could not be watched once stays unknown.
        std::fs::remove_dir_all(&notes).unwrap();
        assert_eq!(build(false, None), Ground::Unknown);
        assert_eq!(build(true, reads(&[])), Ground::Unknown);
        assert_eq!(Ground::Unknown.keep(&kept), Vec::<String>::new());
        // A folder that was made before anybody watched.
        std::fs::remove_dir_all(&notes).unwrap();
        assert_eq!(build(true, reads(&[])), Ground::Unknown);
        std::fs::remove_dir_all(&top).unwrap();
    }
}
