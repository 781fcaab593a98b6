//! Configures a CMake project and builds targets of it with ninja.
//!
//! Decides whether a failure is the sources' (CMake, the compiler or the linker said no, twice) or the
//! machine's (no compiler, a full disk, out of memory, killed). Never decides what a failure means for
//! an overlay.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::hashes::write_atomically;
use super::ninja::{self, Ninja};
use super::process::{self, Environment, How, OUTPUT_CAP, ProcessError, Program};
use super::toolchain::Tools;

/// How long a configure or a build may take before it is taken for stuck.
const PATIENCE: Duration = Duration::from_secs(2 * 3600);

/// A CMake project and the folder it is built in.
#[derive(Debug, Clone)]
pub struct Project<'a> {
    /// CMake and ninja.
    pub tools: &'a Tools,
    /// What they are given.
    pub env: &'a Environment,
    /// The folder of its `CMakeLists.txt`.
    pub source: PathBuf,
    /// The build folder.
    pub build: PathBuf,
    /// Cache variables.
    pub variables: BTreeMap<String, String>,
}

/// What a build folder was configured for. When any of it differs, CMake starts anew: values that stay
/// behind in its cache would be those of another variant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfiguredFor {
    /// Tools, variables and what steers compilers.
    pub steering: BTreeMap<String, String>,
    /// A hash of the names of all files: globs and searches see those.
    pub names: String,
    /// The files that CMake reads, with the names of their contents.
    pub files: BTreeMap<String, String>,
}

/// How a build went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All targets are there.
    Built(Built),
    /// The sources do not build.
    Failed(BuildFailure),
}

/// A build that went well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// How many steps ninja took; 0: everything was there.
    pub steps: usize,
    /// How long it took.
    pub wall: Duration,
}

/// A build that did not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildFailure {
    /// Where it stopped.
    pub stage: Stage,
    /// The line that says most.
    pub what: String,
    /// Some lines around it.
    pub excerpt: Vec<String>,
    /// All that was printed.
    pub log: PathBuf,
    /// A compiler or a linker said no, in a step of CMake's own: not CMake, which may look anywhere, and not a
    /// command of the project.
    pub is_compilers: bool,
}

/// Where a build stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// CMake.
    Configure,
    /// The project has no such target.
    Target,
    /// A compiler.
    Compile,
    /// A linker, or another step.
    Link,
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Stage::Configure => "configure",
            Stage::Target => "target",
            Stage::Compile => "compile",
            Stage::Link => "link",
        })
    }
}

/// Why it cannot be told whether the sources build.
#[derive(Debug)]
pub enum BuildError {
    /// A tool cannot be run to its end.
    Process(ProcessError),
    /// The machine failed, not the sources.
    Environment {
        /// The line that says so.
        why: String,
        /// All that was printed.
        log: PathBuf,
    },
    /// A file cannot be read or written.
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
}

impl From<ProcessError> for BuildError {
    fn from(error: ProcessError) -> Self {
        BuildError::Process(error)
    }
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BuildError::Process(error) => error.fmt(f),
            BuildError::Environment { why, log } => write!(f, "{why} (see {})", log.display()),
            BuildError::Io { path, source } => write!(f, "{}: {source}", path.display()),
        }
    }
}

impl std::error::Error for BuildError {}

impl Project<'_> {
    /// The folder of our own notes about the build.
    #[must_use]
    pub fn notes(&self) -> PathBuf {
        self.build.join(".overlaid")
    }

    /// The ninja of this build folder.
    #[must_use]
    pub fn ninja<'n>(&'n self, notes: &'n Path) -> Ninja<'n> {
        Ninja { program: &self.tools.ninja, build: &self.build, env: self.env, logs: notes }
    }

    /// What the build folder was last configured for; `None` if it is not.
    #[must_use]
    pub fn configured_for(&self) -> Option<ConfiguredFor> {
        serde_json::from_slice(&std::fs::read(self.notes().join("configured-for.json")).ok()?).ok()
    }

    /// Configures, if the build folder is not configured for just this. `None`: it is now.
    ///
    /// # Errors
    /// If the machine is in the way.
    pub fn configure(&self, now: &ConfiguredFor) -> Result<Option<BuildFailure>, BuildError> {
        if self.build.join("build.ninja").is_file() && self.configured_for().as_ref() == Some(now) {
            return Ok(None);
        }
        let notes = self.notes();
        let stamp = notes.join("configured-for.json");
        create_folder(&notes)?;
        remove(&stamp)?;
        // A second try tells a passing trouble of the machine from what the sources say.
        for last in [false, true] {
            self.forget_cache()?;
            let log = notes.join("configure.log");
            let finished = process::run(&self.cmake(&log))?;
            let text = read_log(&log)?;
            match finished.how {
                How::Exited(0) => {
                    self.remember(now)?;
                    return Ok(None);
                }
                how => {
                    if let Some(why) = machine_trouble(how, &text) {
                        return Err(BuildError::Environment { why, log });
                    }
                    if last {
                        return Ok(Some(describe(Stage::Configure, &text, log)));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Notes what the build folder is configured for.
    ///
    /// # Errors
    /// If the note cannot be written.
    pub fn remember(&self, now: &ConfiguredFor) -> Result<(), BuildError> {
        let stamp = self.notes().join("configured-for.json");
        let written = serde_json::to_vec(now)
            .map_err(std::io::Error::other)
            .and_then(|json| write_atomically(&stamp, &json));
        written.map_err(|source| BuildError::Io { path: stamp, source })
    }

    fn cmake(&self, log: &Path) -> Program {
        let mut args: Vec<OsString> = vec!["-S".into(), self.source.clone().into()];
        args.extend(["-B".into(), self.build.clone().into(), "-G".into(), "Ninja".into(), "-Wno-dev".into()]);
        let mut variables: BTreeMap<String, OsString> =
            self.variables.iter().map(|(name, value)| (name.clone(), value.into())).collect();
        variables.insert("CMAKE_EXPORT_COMPILE_COMMANDS".to_owned(), "ON".into());
        variables.insert("CMAKE_COLOR_DIAGNOSTICS".to_owned(), "OFF".into());
        variables.insert("CMAKE_MAKE_PROGRAM".to_owned(), self.tools.ninja.clone().into());
        for (name, value) in variables {
            let mut arg = OsString::from(format!("-D{name}="));
            arg.push(value);
            args.push(arg);
        }
        Program {
            program: self.tools.cmake.clone(),
            args,
            dir: self.source.clone(),
            env: self.env.clone(),
            stdout: log.to_owned(),
            stderr: log.to_owned(),
            timeout: Some(PATIENCE),
            cap: OUTPUT_CAP,
        }
    }

    /// Makes CMake start anew and keeps what was compiled: ninja knows by itself which of that still holds.
    fn forget_cache(&self) -> Result<(), BuildError> {
        remove(&self.build.join("CMakeCache.txt"))?;
        let Ok(entries) = std::fs::read_dir(self.build.join("CMakeFiles")) else {
            return Ok(());
        };
        for entry in entries.filter_map(Result::ok) {
            let is_version = entry.file_name().to_string_lossy().starts_with(|c: char| c.is_ascii_digit());
            if is_version {
                std::fs::remove_dir_all(entry.path())
                    .map_err(|source| BuildError::Io { path: entry.path(), source })?;
            }
        }
        Ok(())
    }

    /// Builds targets of a configured project.
    ///
    /// # Errors
    /// If the machine is in the way.
    pub fn build(&self, targets: &[String]) -> Result<Outcome, BuildError> {
        let notes = self.notes();
        create_folder(&notes)?;
        let log = notes.join("build.log");
        let started = Instant::now();
        // What fails only when much runs at once is the machine's fault: the second try takes one step
        // at a time.
        for jobs in [None, Some(1)] {
            let finished = self.ninja(&notes).build(targets, jobs, &log, Some(PATIENCE))?;
            let text = read_log(&log)?;
            if finished.how.is_success() {
                let steps = ninja::count_steps(&text);
                return Ok(Outcome::Built(Built { steps, wall: started.elapsed() }));
            }
            if let Some(why) = machine_trouble(finished.how, &text) {
                return Err(BuildError::Environment { why, log });
            }
            if jobs.is_some() {
                let rules = std::fs::read_to_string(self.build.join("build.ninja")).unwrap_or_default();
                let failed = ninja::failed_step(&text);
                let is_compilers = failed.is_some_and(|output| ninja::is_made_by_compiler(&rules, output));
                let failure = BuildFailure { is_compilers, ..describe(stage_of(&text), &text, log) };
                return Ok(Outcome::Failed(failure));
            }
        }
        Err(BuildError::Environment { why: "ninja did not say how it went".to_owned(), log })
    }
}

fn stage_of(log: &str) -> Stage {
    match ninja::failed_step(log) {
        Some(output) if output.ends_with(".o") || output.ends_with(".obj") => Stage::Compile,
        Some("build.ninja") => Stage::Configure,
        Some(_) => Stage::Link,
        None if log.contains("ninja: error: unknown target") => Stage::Target,
        None if log.contains("CMake Error") => Stage::Configure,
        None => Stage::Link,
    }
}

/// The line that says that the machine failed, if one does. A source that prints such a line makes the
/// answer "could not find out", never a wrong one.
fn machine_trouble(how: How, log: &str) -> Option<String> {
    const SIGNS: [&str; 32] = [
        "No space left on device",
        "no space left on device",
        "died due to signal",
        "terminated by signal",
        "terminated with signal",
        "Killed",
        "failed with exit code 137",
        "[code=137]",
        "[code=143]",
        "Error 137",
        "std::bad_alloc",
        "out of memory",
        "Out of memory",
        "Could not resolve host",
        "Could not connect to server",
        "Couldn't connect to server",
        "Connection timed out",
        "Timeout was reached",
        "Disk quota exceeded",
        "Read-only file system",
        "Input/output error",
        "Too many open files",
        "Cannot allocate memory",
        "virtual memory exhausted",
        "Resource temporarily unavailable",
        "ninja: fatal:",
        "COMPILER could be found",
        "Could not find compiler set in environment variable",
        "is not able to compile a simple test program",
        "or higher is required.  You are running version",
        "is not a full path to an existing compiler",
        "CMake was unable to find a build program",
    ];
    match how {
        How::Signaled(_) | How::TimedOut => return Some(format!("the build was {how}")),
        How::Exited(_) => {}
    }
    log.lines().find(|line| SIGNS.iter().any(|sign| line.contains(sign))).map(|line| line.trim().to_owned())
}

fn describe(stage: Stage, log: &str, file: PathBuf) -> BuildFailure {
    const SIGNS: [&str; 6] =
        ["error:", " error ", "CMake Error", "undefined reference", "multiple definition", "ninja: error"];
    let lines: Vec<&str> = log.lines().collect();
    let first = lines
        .iter()
        .position(|line| SIGNS.iter().any(|sign| line.contains(sign)))
        .or_else(|| lines.iter().position(|line| line.starts_with("FAILED: ")))
        .unwrap_or(lines.len().saturating_sub(8));
    let excerpt: Vec<String> = lines.iter().skip(first).take(8).map(|line| (*line).to_owned()).collect();
    let mut what = excerpt.first().cloned().unwrap_or_else(|| "it says nothing".to_owned());
    if stage == Stage::Configure {
        // CMake puts the place in the first line and the message, indented, below it.
        let message = lines.iter().skip(first + 1).find(|line| !line.trim().is_empty());
        if let Some(message) = message {
            what = format!("{what} {}", message.trim());
        }
    }
    BuildFailure { stage, what, excerpt, log: file, is_compilers: false }
}

fn create_folder(folder: &Path) -> Result<(), BuildError> {
    std::fs::create_dir_all(folder).map_err(|source| BuildError::Io { path: folder.to_owned(), source })
}

fn remove(file: &Path) -> Result<(), BuildError> {
    match std::fs::remove_file(file) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(BuildError::Io { path: file.to_owned(), source })
        }
        _ => Ok(()),
    }
}

fn read_log(log: &Path) -> Result<String, BuildError> {
    let bytes = std::fs::read(log).map_err(|source| BuildError::Io { path: log.to_owned(), source })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
