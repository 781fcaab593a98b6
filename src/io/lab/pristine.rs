//! Whether what stands in the lab is what we put there: the tree, and what was built before.
//!
//! Decides what of an earlier build may be used for a variant, and what must be made anew. Objects are flipped in
//! place only where ninja sees for certain that they are out of date.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::site::Site;
use crate::io::hashes::{Hashes, sha256_of, write_atomically};

/// How many build folders of one project are put aside for variants that may come again.
const KEPT: usize = 4;

/// The note in a build folder: it has files in it that only this variant may use.
const BOUND: &str = "bound-to";

/// The note in a build folder: files that are not the upstream's, as they were when it was last built.
const FILES: &str = "files.json";

/// A tree as it stood when it was last made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot(BTreeMap<PathBuf, Stat>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stat {
    size: u64,
    mtime: (i64, i64),
    inode: u64,
    mode: u32,
}

/// A tree, compared with how it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tree {
    /// As it was.
    Same,
    /// There is more in it: files and folders, the outermost.
    More(Vec<PathBuf>),
    /// A file of it is another, or gone.
    Changed(PathBuf),
}

impl Snapshot {
    /// Looks at a tree. Our own notes in it do not count.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn of(tree: &Path) -> std::io::Result<Self> {
        let is_ours = |entry: &walkdir::DirEntry| entry.depth() == 1 && entry.file_name() == ".overlaid";
        let mut all = BTreeMap::new();
        for entry in
            walkdir::WalkDir::new(tree).min_depth(1).into_iter().filter_entry(|entry| !is_ours(entry))
        {
            let entry = entry?;
            let data = entry.metadata()?;
            let stat = if data.is_dir() {
                // Its time and size change with what is in it, and that is looked at by itself.
                Stat { size: 0, mtime: (0, 0), inode: 0, mode: 0 }
            } else {
                let mtime = (data.mtime(), data.mtime_nsec());
                Stat { size: data.len(), mtime, inode: data.ino(), mode: data.mode() }
            };
            if let Ok(path) = entry.path().strip_prefix(tree) {
                all.insert(path.to_owned(), stat);
            }
        }
        Ok(Self(all))
    }

    /// The snapshot in a file; `None` if there is none.
    #[must_use]
    pub fn load(file: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(file).ok()?).ok()
    }

    /// Writes it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, file: &Path) -> std::io::Result<()> {
        write_atomically(file, &serde_json::to_vec(self).map_err(std::io::Error::other)?)
    }

    /// What became of the tree since.
    #[must_use]
    pub fn compare(&self, now: &Snapshot) -> Tree {
        if let Some((path, _)) = self.0.iter().find(|(path, stat)| now.0.get(*path) != Some(stat)) {
            return Tree::Changed(path.clone());
        }
        let mut more: Vec<PathBuf> = Vec::new();
        for path in now.0.keys().filter(|path| !self.0.contains_key(*path)) {
            if more.last().is_none_or(|last| !path.starts_with(last)) {
                more.push(path.clone());
            }
        }
        if more.is_empty() { Tree::Same } else { Tree::More(more) }
    }
}

/// Makes sure that a tree is what it was when we made it last. Says what was done about it, if it was not.
///
/// # Errors
/// If the tree cannot be looked at or mended.
pub fn clean(site: &Site) -> std::io::Result<Option<String>> {
    let tree = site.tree();
    if !tree.is_dir() {
        return Ok(None);
    }
    let compared = match Snapshot::load(&site.snapshot()) {
        Some(known) => known.compare(&Snapshot::of(&tree)?),
        None => Tree::Changed(PathBuf::from("something")),
    };
    let what = match compared {
        Tree::Same => return Ok(None),
        Tree::More(more) => {
            for path in &more {
                let path = tree.join(path);
                if path.is_dir() && !path.is_symlink() {
                    std::fs::remove_dir_all(path)?;
                } else {
                    std::fs::remove_file(path)?;
                }
            }
            let first = more.first().map(|path| path.display().to_string()).unwrap_or_default();
            format!("{first} was left in the lab's tree; it is removed")
        }
        Tree::Changed(path) => {
            std::fs::remove_dir_all(&tree)?;
            format!("{} was changed in the lab's tree, which is made anew", path.display())
        }
    };
    remove_bound(&site.builds());
    Ok(Some(what))
}

/// Notes that a build folder has something in it that came from this variant and that ninja does not know of.
pub fn bind(notes: &Path, variant: &str) {
    // If that cannot be written, the folder must not be used by anybody.
    if write_atomically(&notes.join(BOUND), variant.as_bytes()).is_err()
        && let Some(build) = notes.parent()
    {
        let _ = std::fs::remove_dir_all(build);
    }
}

/// Whether a build folder can be used for a variant only that is not this one.
#[must_use]
pub fn is_bound_to_another(notes: &Path, variant: &str) -> bool {
    std::fs::read_to_string(notes.join(BOUND)).is_ok_and(|bound| bound != variant)
}

/// Removes the build folders of a commit that go with what was left in its tree: that is cleaned away.
pub fn remove_bound(builds: &Path) {
    let folders = walkdir::WalkDir::new(builds).min_depth(2).max_depth(4);
    let bound: Vec<PathBuf> = folders
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.path().join(".overlaid").join(BOUND).is_file())
        .map(walkdir::DirEntry::into_path)
        .collect();
    for folder in bound {
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// Notes the files, which are not the upstream's, that a build read, with their hashes.
///
/// # Errors
/// If the note cannot be written.
pub fn note_files(notes: &Path, files: &BTreeMap<String, String>) -> std::io::Result<()> {
    let file = notes.join(FILES);
    let mut all = noted_files(&file);
    all.extend(files.clone());
    write_atomically(&file, &serde_json::to_vec(&all).map_err(std::io::Error::other)?)
}

fn noted_files(file: &Path) -> BTreeMap<String, String> {
    serde_json::from_slice(&std::fs::read(file).unwrap_or_default()).unwrap_or_default()
}

/// Whether ninja would take objects in a build folder for newer than a source that is another by now: a file
/// with an old time was put in the place of one that was read, or the clock was set back.
#[must_use]
pub fn times_mislead(build: &Path, root: &Path, hashes: &mut Hashes) -> bool {
    let notes = build.join(".overlaid");
    let nanos = |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    // The third field of a line is the time of the output.
    let log = std::fs::read_to_string(build.join(".ninja_log")).unwrap_or_default();
    let times = log.lines().filter_map(|line| line.split('\t').nth(2)?.parse::<u128>().ok());
    if times.max().is_some_and(|newest| newest > nanos(SystemTime::now())) {
        return true;
    }
    let file = notes.join(FILES);
    let Ok(noted) = std::fs::metadata(&file).and_then(|data| data.modified()) else { return false };
    noted_files(&file).iter().any(|(file, hash)| {
        let file = root.join(file);
        let Ok(now) = hashes.identity(&file) else { return false };
        let is_newer =
            std::fs::metadata(&file).and_then(|data| data.modified()).is_ok_and(|time| time > noted);
        now != *hash && !is_newer
    })
}

/// Where build folders are put that are not used now.
fn aside(build: &Path) -> Option<PathBuf> {
    Some(build.parent()?.join(".aside").join(build.file_name()?))
}

/// Makes a build folder one that `fits`: the one that is there, one that was put aside, or none at all. Says
/// whether it is the one that was there.
///
/// # Errors
/// If a folder cannot be moved or removed.
pub fn choose(build: &Path, fits: &mut dyn FnMut(&Path) -> bool) -> std::io::Result<bool> {
    if !build.exists() || fits(build) {
        return Ok(true);
    }
    let Some(aside) = aside(build) else { return Ok(true) };
    std::fs::create_dir_all(&aside)?;
    let mut others: Vec<(SystemTime, PathBuf)> = std::fs::read_dir(&aside)?
        .filter_map(Result::ok)
        .map(|entry| {
            let time = entry.metadata().and_then(|data| data.modified()).unwrap_or(UNIX_EPOCH);
            (time, entry.path())
        })
        .collect();
    others.sort();
    let found = others.iter().position(|(_, folder)| fits(folder));
    let found = found.map(|index| others.remove(index).1);
    for (_, old) in others.iter().rev().skip(KEPT - 1) {
        std::fs::remove_dir_all(old)?;
    }
    if build.join(".overlaid/configured-for.json").is_file() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let name = &sha256_of(format!("{now} {}", std::process::id()).as_bytes())[..16];
        std::fs::rename(build, aside.join(name))?;
    } else {
        std::fs::remove_dir_all(build)?;
    }
    if let Some(found) = found {
        std::fs::rename(found, build)?;
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("overlaid-pristine-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_tree_is_compared_file_by_file() {
        let tree = folder("tree");
        std::fs::create_dir_all(tree.join("a/.overlaid")).unwrap();
        std::fs::write(tree.join("a/one"), "1").unwrap();
        let known = Snapshot::of(&tree).unwrap();
        assert_eq!(known.compare(&Snapshot::of(&tree).unwrap()), Tree::Same);
        std::fs::create_dir_all(tree.join("b/c")).unwrap();
        std::fs::write(tree.join("b/c/new"), "1").unwrap();
        assert_eq!(known.compare(&Snapshot::of(&tree).unwrap()), Tree::More(vec!["b".into()]));
        std::fs::write(tree.join("a/one"), "22").unwrap();
        assert_eq!(known.compare(&Snapshot::of(&tree).unwrap()), Tree::Changed("a/one".into()));
        std::fs::remove_dir_all(&tree).unwrap();
    }

    #[test]
    fn a_build_folder_that_does_not_fit_is_put_aside_and_comes_back() {
        let root = folder("choose");
        let build = root.join("build");
        let make = |what: &str| {
            std::fs::create_dir_all(build.join(".overlaid")).unwrap();
            std::fs::write(build.join(".overlaid/configured-for.json"), "").unwrap();
            std::fs::write(build.join("what"), what).unwrap();
        };
        let is = |what: &str| {
            let what = what.to_owned();
            move |folder: &Path| std::fs::read_to_string(folder.join("what")).is_ok_and(|is| is == what)
        };
        make("one");
        assert!(choose(&build, &mut is("one")).unwrap());
        assert!(!choose(&build, &mut is("two")).unwrap());
        assert!(!build.exists());
        make("two");
        assert!(!choose(&build, &mut is("one")).unwrap());
        assert!(is("one")(&build));
        for number in 0..9 {
            assert!(!choose(&build, &mut |_| false).unwrap());
            make(&number.to_string());
        }
        assert_eq!(std::fs::read_dir(root.join(".aside/build")).unwrap().count(), KEPT);
        std::fs::remove_dir_all(&root).unwrap();
    }
}
