//! Reads what a build folder records of itself. Runs nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::verify::compiled::{Build, Inputs, Step, commands, deps_log, makefile, ninja_file};

/// Why a build folder says nothing.
#[derive(Debug)]
pub enum BuiltError {
    /// There is no build in it that is known here.
    NotABuild,
    /// A file cannot be read.
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A file is not as its tool writes it.
    Malformed {
        /// The file.
        path: PathBuf,
        /// A sentence.
        why: String,
    },
}

impl std::fmt::Display for BuiltError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BuiltError::NotABuild => f.write_str(
                "there is no build.ninja, no CMakeFiles/Makefile.cmake and no compile_commands.json in it",
            ),
            BuiltError::Io { path, source } => write!(f, "cannot read `{}`: {source}", path.display()),
            BuiltError::Malformed { path, why } => write!(f, "cannot use `{}`: {why}", path.display()),
        }
    }
}

impl std::error::Error for BuiltError {}

/// Reads a build folder of ninja, of CMake with make, or of something else that wrote a `compile_commands.json`.
///
/// # Errors
/// If it is none, or its records cannot be read.
pub fn read(folder: &Path) -> Result<Build, BuiltError> {
    let io = |source| BuiltError::Io { path: folder.to_owned(), source };
    let folder = folder.canonicalize().map_err(io)?;
    let mut reader = Reader { folder: &folder, seen: BTreeMap::new() };
    if folder.join("build.ninja").is_file() {
        reader.ninja()
    } else if folder.join("CMakeFiles/Makefile.cmake").is_file() {
        reader.make()
    } else if let Some(steps) = reader.commands()? {
        Ok(Build { steps, blind: true, ..Build::default() })
    } else {
        Err(BuiltError::NotABuild)
    }
}

/// When a file was written; `None` if it is not there. Of a link: the later one of the link and of what it leads to.
#[must_use]
pub fn written(file: &Path) -> Option<SystemTime> {
    let link = file.symlink_metadata().and_then(|metadata| metadata.modified()).ok()?;
    let target = file.metadata().and_then(|metadata| metadata.modified()).ok();
    Some(target.map_or(link, |target| target.max(link)))
}

/// A path without links on the way to it; a link at its end stays.
#[must_use]
pub fn without_links_on_the_way(path: &Path) -> PathBuf {
    match (path.parent().and_then(|parent| parent.canonicalize().ok()), path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}

struct Reader<'f> {
    folder: &'f Path,
    /// Paths as builds name them, and the files that they are.
    seen: BTreeMap<PathBuf, Vec<PathBuf>>,
}

impl Reader<'_> {
    fn ninja(&mut self) -> Result<Build, BuiltError> {
        let file = self.folder.join("build.ninja");
        let folder = self.folder;
        let parsed = ninja_file::parse(&|name| std::fs::read(folder.join(name)).ok())
            .map_err(|why| BuiltError::Malformed { path: file.clone(), why })?;
        let log = self.load(".ninja_deps")?;
        let has_log = log.is_some();
        let records = match log {
            Some(log) => deps_log::parse(&log).map_err(|error| BuiltError::Malformed {
                path: self.folder.join(".ninja_deps"),
                why: error.to_string(),
            })?,
            None => BTreeMap::new(),
        };
        // Without its log, ninja knows nothing of what compilers read. A database of the calls may still be there.
        let commands = if has_log { None } else { self.commands()? };
        let ran = ninja_log(&self.load(".ninja_log")?.unwrap_or_default());
        let mut build = Build { configured: written(&file), ..Build::default() };
        build.configure = self.files(&parsed.configure);
        let has_commands = commands.is_some();
        if let Some(steps) = commands {
            build.steps = steps;
            build.blind = true;
        }
        for edge in parsed.edges.iter().filter(|edge| !(has_commands && edge.records)) {
            let Some(first) = edge.outputs.first() else { continue };
            let recorded = edge.outputs.iter().find_map(|output| Some((output, records.get(output)?)));
            let output = recorded.map_or(first, |(output, _)| output);
            let on_disk = written(&self.folder.join(output));
            let inputs = match recorded {
                Some((_, record)) if on_disk.is_some_and(|made| is_of(record.made, made)) => {
                    Inputs::Recorded(self.files(&record.inputs))
                }
                Some((_, record)) => Inputs::Outdated(self.files(&record.inputs)),
                None if edge.records => Inputs::Outdated(self.files(&edge.inputs)),
                None => Inputs::Declared(self.files(&edge.inputs)),
            };
            // A step that finds nothing to change leaves its output as old as it was; ninja's log knows that it ran.
            let made = on_disk.map(|made| ran.get(output).map_or(made, |ran| made.max(*ran)));
            build.steps.push(Step { output: output.display().to_string(), made, inputs });
        }
        Ok(build)
    }

    fn make(&mut self) -> Result<Build, BuiltError> {
        let list = self.folder.join("CMakeFiles/Makefile.cmake");
        let text = self.load("CMakeFiles/Makefile.cmake")?.unwrap_or_default();
        let mut build = Build { configured: written(&list), ..Build::default() };
        build.configure = self.files(&makefile::configure_inputs(&text));
        // Written at each configure; the list above is left alone when it stays the same.
        build.configured = build.configured.max(written(&self.folder.join("CMakeFiles/cmake.check_cache")));
        let targets = self.load("CMakeFiles/TargetDirectories.txt")?.unwrap_or_default();
        for target in String::from_utf8_lossy(&targets).lines() {
            let info = Path::new(target).join("DependInfo.cmake");
            let Some(info) = self.load(&info)? else { continue };
            for object in makefile::objects(&info) {
                let made = written(&self.folder.join(&object.output));
                let depfile = object.depfile.as_ref();
                let depfile = depfile.map(|file| self.load(file)).transpose()?.flatten();
                let inputs = match depfile {
                    Some(depfile) => Inputs::Recorded(self.files(&makefile::dependencies(&depfile))),
                    None => {
                        build.blind |= made.is_some();
                        Inputs::Outdated(self.files(&[object.source]))
                    }
                };
                build.steps.push(Step { output: object.output.display().to_string(), made, inputs });
            }
        }
        Ok(build)
    }

    /// The steps that `compile_commands.json` has; `None` if there is no such file.
    fn commands(&mut self) -> Result<Option<Vec<Step>>, BuiltError> {
        const FILE: &str = "compile_commands.json";
        let Some(text) = self.load(FILE)? else { return Ok(None) };
        let commands = commands::parse(&text)
            .map_err(|why| BuiltError::Malformed { path: self.folder.join(FILE), why })?;
        let mut steps = Vec::with_capacity(commands.len());
        for command in commands {
            let directory = self.folder.join(&command.directory);
            let made = command.output.as_ref().and_then(|output| written(&directory.join(output)));
            let depfile = command.depfile.map(|file| self.load(directory.join(file)));
            let inputs = match depfile.transpose()?.flatten() {
                Some(depfile) => {
                    let files = makefile::dependencies(&depfile).into_iter();
                    Inputs::Recorded(self.files(&files.map(|file| directory.join(file)).collect::<Vec<_>>()))
                }
                None => Inputs::Declared(self.files(&[directory.join(&command.source)])),
            };
            let output = command.output.unwrap_or(command.source);
            steps.push(Step { output: output.display().to_string(), made, inputs });
        }
        Ok(Some(steps))
    }

    fn load(&self, name: impl AsRef<Path>) -> Result<Option<Vec<u8>>, BuiltError> {
        let path = self.folder.join(name);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(BuiltError::Io { path, source }),
        }
    }

    /// The files that paths of the build lead to, with links followed and not followed.
    fn files(&mut self, paths: &[PathBuf]) -> BTreeSet<PathBuf> {
        let mut files = BTreeSet::new();
        for path in paths {
            if !self.seen.contains_key(path) {
                let full = self.folder.join(path);
                let near = without_links_on_the_way(&full);
                let mut both = vec![full.canonicalize().unwrap_or_else(|_| near.clone()), near];
                both.dedup();
                self.seen.insert(path.clone(), both);
            }
            files.extend(self.seen.get(path).into_iter().flatten().cloned());
        }
        files
    }
}

/// Whether a record is of the output that is there. Old logs have whole seconds.
fn is_of(recorded: SystemTime, made: SystemTime) -> bool {
    let since = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (recorded, made) = (since(recorded), since(made));
    if recorded.subsec_nanos() == 0 { recorded.as_secs() >= made.as_secs() } else { recorded >= made }
}

/// `.ninja_log`: by output, the time up to which its inputs were taken in. Lines of start, end, time, output, hash.
fn ninja_log(log: &[u8]) -> BTreeMap<PathBuf, SystemTime> {
    let text = String::from_utf8_lossy(log);
    let entry = |line: &str| {
        let mut fields = line.split('\t').skip(2);
        let time: u64 = fields.next()?.parse().ok()?;
        Some((PathBuf::from(fields.next()?), SystemTime::UNIX_EPOCH + Duration::from_nanos(time)))
    };
    text.lines().filter_map(entry).collect()
}
