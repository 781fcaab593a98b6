//! The places of this machine in which compilers, linkers and CMake look, and whether they are still what
//! they were.
//!
//! Decides by stat data alone: a file that comes, goes or is replaced shows in its folder's times, one that
//! is written in place in its own. So what is not there counts as well as what is: a header that is missing
//! is looked for in folders, and it cannot come without changing one of them. Reads no content.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::hashes::{sha256_of, write_atomically};
use super::process::Environment;

/// More folders than these are not looked at: then nothing is known.
const MOST: usize = 20_000;

/// How far below a place is looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Depth {
    /// So many levels of folders. What is deeper is found only by who is told of it, by a variable or an option, and
    /// that is a place, too.
    Levels(usize),
    /// A folder of libraries, such as `/usr/lib`: those in it and in the folder of an architecture, and the packages
    /// of CMake, which are in `cmake/NAME`, `NAME` and `NAME/cmake` (the search procedure of `find_package`). What
    /// else lies in a folder of libraries belongs to programs: Python's modules, Java, debug information.
    Libraries,
    /// The folder of one package: in it, and in its `cmake`.
    Package,
    /// All below.
    All,
}

use Depth::{All, Levels, Libraries, Package};

impl Depth {
    /// How far to look in a folder of this name, in one that is looked into so far; `None`: not at all.
    fn below(self, name: &OsStr) -> Option<Self> {
        let name = name.to_string_lossy();
        let is_cmake = name.eq_ignore_ascii_case("cmake");
        match self {
            All => Some(All),
            Levels(0) => None,
            Levels(levels) => Some(Levels(levels - 1)),
            Libraries if is_cmake => Some(Levels(1)),
            Libraries if name.contains("-linux-") => Some(Libraries),
            Libraries => Some(Package),
            Package => is_cmake.then_some(Levels(1)),
        }
    }
}

/// Places that every build looks in.
const OF_ALL: [(&str, Depth); 18] = [
    ("/usr/include", All),
    ("/usr/local", All),
    ("/opt", Levels(3)),
    ("/usr/bin", Levels(0)),
    ("/usr/sbin", Levels(0)),
    ("/usr/libexec", Levels(2)),
    ("/usr/lib", Libraries),
    ("/usr/lib32", Libraries),
    ("/usr/lib64", Libraries),
    ("/usr/lib/gcc", All),
    ("/usr/lib/clang", All),
    ("/usr/share", Levels(1)),
    ("/usr/share/cmake", All),
    ("/usr/share/pkgconfig", Levels(0)),
    ("/lib", Libraries),
    ("/lib64", Libraries),
    ("/etc/alternatives", Levels(0)),
    ("/etc/ld.so.conf.d", Levels(0)),
];

/// Stat data by path, as text; `absent` for what is not there.
pub type Stats = BTreeMap<PathBuf, String>;

/// Folders that are looked in, real paths, and places that are not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places(BTreeSet<PathBuf>);

impl Places {
    /// The places of any build in this environment. What is below `own`, our own notes and builds, does not count.
    /// `None`: there are too many.
    #[must_use]
    pub fn look(env: &Environment, own: &Path) -> Option<Self> {
        let mut walk = Walk { own, found: BTreeMap::new() };
        for (place, depth) in OF_ALL {
            walk.place(Path::new(place), depth)?;
        }
        for entry in std::fs::read_dir("/usr/share").into_iter().flatten().filter_map(Result::ok) {
            if entry.file_name().to_string_lossy().starts_with("cmake") {
                walk.place(&entry.path(), All)?;
            }
        }
        walk.place(Path::new("/etc/ld.so.cache"), Levels(0))?;
        let home = env.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        for (folder, depth) in [(".cmake", Levels(3)), (".local/include", All), (".local/lib", Libraries)] {
            if let Some(home) = &home {
                walk.place(&home.join(folder), depth)?;
            }
        }
        for (place, depth) in named_by(env) {
            walk.place(&place, depth)?;
        }
        Some(Self(walk.found.into_keys().collect()))
    }

    /// Folders and files that options name, and all below, as [`Places::look`].
    #[must_use]
    pub fn named(places: &[PathBuf], own: &Path) -> Option<Self> {
        let mut walk = Walk { own, found: BTreeMap::new() };
        places.iter().try_for_each(|place| walk.place(place, All))?;
        Some(Self(walk.found.into_keys().collect()))
    }

    /// Those that are not among others.
    pub fn beside<'a>(&'a self, others: &'a Places) -> impl Iterator<Item = &'a PathBuf> {
        self.0.difference(&others.0)
    }

    /// Whether a file or folder is in one of the places.
    #[must_use]
    pub fn has(&self, path: &Path) -> bool {
        self.0.contains(path) || path.parent().is_some_and(|folder| self.0.contains(folder))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &PathBuf> {
        self.0.iter()
    }

    /// How they are now.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let paths: Vec<PathBuf> = self.0.iter().cloned().collect();
        let stats = in_parts(&paths, |part| part.iter().map(|path| stat(path)).collect::<Vec<_>>());
        paths.into_iter().zip(stats.into_iter().flatten()).collect()
    }
}

/// Places that variables name: where programs, headers, libraries and packages are looked for.
fn named_by(env: &Environment) -> Vec<(PathBuf, Depth)> {
    const SEARCHED: [&str; 16] = [
        "CC",
        "CXX",
        "CUDACXX",
        "CUDAHOSTCXX",
        "HIPCXX",
        "COMPILER_PATH",
        "CPATH",
        "CPLUS_INCLUDE_PATH",
        "C_INCLUDE_PATH",
        "GCC_EXEC_PREFIX",
        "LD_LIBRARY_PATH",
        "LIBRARY_PATH",
        "OBJC_INCLUDE_PATH",
        "PKG_CONFIG_LIBDIR",
        "PKG_CONFIG_PATH",
        "CONDA_PREFIX",
    ];
    const BESIDE_PROGRAMS: [(&str, Depth); 5] = [
        ("include", Levels(3)),
        ("lib", Libraries),
        ("lib64", Libraries),
        ("share", Libraries),
        ("cmake", Levels(3)),
    ];
    const ENDS: [&str; 4] = ["_ROOT", "_DIR", "_HOME", "_PATH"];
    let mut named = Vec::new();
    for (name, value) in env.iter() {
        let name = name.to_string_lossy();
        let parts = value.to_string_lossy().into_owned();
        let parts = parts.split([':', ';', ' ']).map(|part| part.trim_start_matches("-I").to_owned());
        let paths = parts.map(PathBuf::from).filter(|path| path.is_absolute() && path.parent().is_some());
        if name == "PATH" {
            for folder in paths {
                // CMake looks for packages beside the folders of programs.
                let is_bin = folder.ends_with("bin") || folder.ends_with("sbin");
                if let Some(prefix) = folder.parent().filter(|_| is_bin) {
                    let is_system = ["/usr", "/", "/usr/local"].iter().any(|p| prefix == Path::new(p));
                    let beside = BESIDE_PROGRAMS.into_iter().filter(|_| !is_system);
                    named.extend(beside.map(|(name, depth)| (prefix.join(name), depth)));
                }
                named.push((folder, Levels(0)));
            }
        } else if SEARCHED.contains(&name.as_ref()) {
            named.extend(paths.map(|path| (path, All)));
        } else if name.starts_with("CMAKE_") || ENDS.iter().any(|end| name.ends_with(end)) {
            // Packages: what is found there is named by the rules that CMake makes, and then all of it counts.
            named.extend(paths.map(|path| (path, Levels(3))));
        }
    }
    named
}

struct Walk<'a> {
    own: &'a Path,
    /// In which ways each was looked into.
    found: BTreeMap<PathBuf, BTreeSet<Depth>>,
}

impl Walk<'_> {
    /// Takes a place with its folders; `None`: it is too much.
    fn place(&mut self, place: &Path, depth: Depth) -> Option<()> {
        // The name itself counts: a link may lead elsewhere the next time.
        self.found.entry(place.to_owned()).or_default();
        match std::fs::metadata(place) {
            Ok(data) if data.is_dir() => self.folder(&place.canonicalize().ok()?, depth),
            Ok(_) => {
                let folder = place.canonicalize().ok()?.parent().map(Path::to_owned);
                folder.map_or(Some(()), |folder| self.folder(&folder, Levels(0)))
            }
            Err(_) => Some(()),
        }
    }

    fn folder(&mut self, top: &Path, depth: Depth) -> Option<()> {
        let mut open = vec![(top.to_owned(), depth)];
        while let Some((folder, depth)) = open.pop() {
            if folder.starts_with(self.own) {
                continue;
            }
            let known = self.found.entry(folder.clone()).or_default();
            if known.contains(&All) || !known.insert(depth) {
                continue;
            }
            if self.found.len() > MOST {
                return None;
            }
            if depth == Levels(0) {
                continue;
            }
            // What may not be listed is not searched by compilers either.
            for entry in std::fs::read_dir(&folder).into_iter().flatten() {
                let entry = entry.ok()?;
                let kind = entry.file_type().ok()?;
                let Some(below) = depth.below(&entry.file_name()) else { continue };
                if kind.is_dir() && entry.file_name() != ".git" {
                    open.push((entry.path(), below));
                } else if kind.is_symlink() && entry.path().is_dir() {
                    open.push((entry.path().canonicalize().ok()?, below));
                }
            }
        }
        Some(())
    }
}

/// What can be told of a file or a folder without reading it, links followed.
#[must_use]
pub fn stat(path: &Path) -> String {
    let mut text = String::new();
    add_stat(path, &mut text);
    text
}

fn add_stat(path: &Path, text: &mut String) {
    let Ok(data) = std::fs::metadata(path) else {
        text.push_str("absent");
        return;
    };
    let _ = write!(
        text,
        "{} {}.{} {}.{} {} {} {:o}",
        data.len(),
        data.mtime(),
        data.mtime_nsec(),
        data.ctime(),
        data.ctime_nsec(),
        data.ino(),
        data.dev(),
        data.mode()
    );
}

/// Whether a file was changed at or after a moment (seconds and nanoseconds since 1970), or may have been: times
/// of files are coarse.
#[must_use]
pub fn is_newer_than(path: &Path, moment: std::time::SystemTime) -> bool {
    let coarse = std::time::Duration::from_millis(10);
    let since = moment.duration_since(std::time::UNIX_EPOCH).unwrap_or_default().saturating_sub(coarse);
    let moment = (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), i64::from(since.subsec_nanos()));
    std::fs::metadata(path).is_ok_and(|data| {
        (data.mtime(), data.mtime_nsec()) >= moment || (data.ctime(), data.ctime_nsec()) >= moment
    })
}

/// Writes down which paths these are, and gives a hash over how they are: [`stands`] takes it.
///
/// # Errors
/// If it cannot be written, or a path is none that fits on a line.
pub fn keep(folder: &Path, stats: &Stats) -> std::io::Result<String> {
    let paths: Option<Vec<&str>> = stats.keys().map(|path| path.to_str()).collect();
    let paths = paths.filter(|paths| !paths.iter().any(|path| path.contains('\n')));
    let paths = paths.ok_or_else(|| std::io::Error::other("a path is not UTF-8, or has a line end"))?;
    let text: String = stats.iter().map(|(path, stat)| format!("{} {stat}\n", path.display())).collect();
    let digest = sha256_of(text.as_bytes());
    let file = folder.join(&digest);
    if !file.is_file() {
        write_atomically(&file, paths.join("\n").as_bytes())?;
    }
    Ok(digest)
}

/// The paths behind a hash; `None`: it is not known here.
#[must_use]
pub fn paths(folder: &Path, digest: &str) -> Option<Vec<PathBuf>> {
    let is_name = digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit());
    let text = std::fs::read_to_string(folder.join(digest)).ok().filter(|_| is_name)?;
    Some(text.lines().map(PathBuf::from).collect())
}

/// Whether all behind a hash are still what they were.
#[must_use]
pub fn stands(folder: &Path, known: &str) -> bool {
    paths(folder, known).is_some_and(|paths| sha256_of(text_of(&paths).as_bytes()) == known)
}

/// Many paths with their stat data, in their order.
fn text_of(paths: &[PathBuf]) -> String {
    let of_part = |part: &[PathBuf]| {
        let mut text = String::with_capacity(part.len() * 160);
        for path in part {
            text.push_str(&path.to_string_lossy());
            text.push(' ');
            add_stat(path, &mut text);
            text.push('\n');
        }
        text
    };
    in_parts(paths, of_part).concat()
}

/// Whether all of these are what they were.
#[must_use]
pub fn are_same(known: &Stats) -> bool {
    let paths: Vec<PathBuf> = known.keys().cloned().collect();
    let same = in_parts(&paths, |part| part.iter().all(|path| known.get(path) == Some(&stat(path))));
    same.into_iter().all(|same| same)
}

/// The kernel takes its time for each path, so several cores ask.
fn in_parts<T: Send>(paths: &[PathBuf], of_part: impl Fn(&[PathBuf]) -> T + Sync) -> Vec<T> {
    const FEWEST: usize = 256;
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(8);
    let share = paths.len().div_ceil(threads).max(FEWEST);
    std::thread::scope(|scope| {
        let parts: Vec<_> = paths.chunks(share).map(|part| scope.spawn(|| of_part(part))).collect();
        let join = |part: std::thread::ScopedJoinHandle<'_, T>| match part.join() {
            Ok(part) => part,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        parts.into_iter().map(join).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("overlaid-machine-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder.canonicalize().unwrap()
    }

    fn places(env: &Environment) -> Places {
        Places::look(env, Path::new("/nowhere")).unwrap()
    }

    #[test]
    fn a_header_that_comes_anywhere_below_a_place_is_seen_and_so_is_a_place_that_comes() {
        let top = folder("comes");
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        let notes = top.join("notes");
        let mut env = Environment::empty();
        env.set("CPLUS_INCLUDE_PATH", format!("{0}/a:{0}/later", top.display()));
        let known = keep(&notes, &places(&env).stats()).unwrap();
        assert!(stands(&notes, &known));
        std::fs::write(top.join("a/b/new.h"), "").unwrap();
        assert!(!stands(&notes, &known));
        let known = keep(&notes, &places(&env).stats()).unwrap();
        assert!(stands(&notes, &known));
        std::fs::create_dir(top.join("later")).unwrap();
        assert!(!stands(&notes, &known));
        assert!(!stands(&notes, "../a"));
        std::fs::remove_dir_all(&top).unwrap();
    }

    #[test]
    fn of_a_folder_of_libraries_only_libraries_and_packages_count() {
        let top = folder("libraries");
        let folders = [
            "bin",
            "lib/cmake/Tile",
            "lib/x86_64-linux-gnu/cmake/Row",
            "lib/x86_64-linux-gnu/pkgconfig",
            "lib/Norm/CMake",
            "lib/python3.11/site-packages/tile",
            "include/tile/detail",
        ];
        for folder in folders {
            std::fs::create_dir_all(top.join(folder)).unwrap();
        }
        // A loop: a package that is the folder of libraries itself.
        std::os::unix::fs::symlink(top.join("lib"), top.join("lib/again")).unwrap();
        let mut env = Environment::empty();
        env.set("PATH", top.join("bin"));
        let places = places(&env);
        for seen in [
            "lib/libtile.so",
            "lib/x86_64-linux-gnu/librow.so",
            "lib/cmake/Tile/TileConfig.cmake",
            "lib/x86_64-linux-gnu/cmake/Row/RowConfig.cmake",
            "lib/x86_64-linux-gnu/pkgconfig/row.pc",
            "lib/Norm/NormConfig.cmake",
            "lib/Norm/CMake/NormConfig.cmake",
            "include/tile/detail/tile.h",
        ] {
            assert!(places.has(&top.join(seen)), "{seen}");
        }
        assert!(!places.has(&top.join("lib/python3.11/site-packages/tile/__init__.py")));
        std::fs::remove_dir_all(&top).unwrap();
    }

    #[test]
    fn links_to_folders_are_followed_and_loops_end() {
        let top = folder("links");
        std::fs::create_dir_all(top.join("real/deep")).unwrap();
        std::fs::create_dir(top.join("inc")).unwrap();
        std::os::unix::fs::symlink(top.join("real"), top.join("inc/to")).unwrap();
        std::os::unix::fs::symlink(top.join("inc"), top.join("inc/loop")).unwrap();
        let mut env = Environment::empty();
        env.set("CPATH", top.join("inc"));
        let places = places(&env);
        assert!(places.has(&top.join("real/deep/file.h")));
        assert!(!places.has(&top.join("other/file.h")));
        std::fs::remove_dir_all(&top).unwrap();
    }
}
