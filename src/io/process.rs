//! Runs a program to its end, or ends it.
//!
//! Decides how a program ended. Never what that means: a test that crashed and a compiler that
//! crashed are told apart by those who started them.
//!
//! A program runs in a process group of its own, so that a timeout or Ctrl-C ends what it started,
//! too. It writes to files, not pipes: a grandchild that stays behind cannot keep us waiting.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError, mpsc};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

/// How much of what a program writes is kept, unless said otherwise.
pub const OUTPUT_CAP: u64 = 64 << 20;

/// How long a program has to end by itself after it was told to.
const GRACE: Duration = Duration::from_secs(2);

/// How often output sizes, the clock and Ctrl-C are looked at while a program runs.
const TICK: Duration = Duration::from_millis(50);

/// A program to run, with all that it gets.
#[derive(Debug, Clone)]
pub struct Program {
    /// The file to execute. A name without `/` is looked up in the `PATH` of `env`.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its working directory.
    pub dir: PathBuf,
    /// Its whole environment; nothing else is passed on.
    pub env: Environment,
    /// The file that gets its standard output.
    pub stdout: PathBuf,
    /// The file that gets its standard error; may be the same as `stdout`.
    pub stderr: PathBuf,
    /// How long it may take; `None`: as long as it likes.
    pub timeout: Option<Duration>,
    /// How many bytes of each output are kept.
    pub cap: u64,
}

/// Environment variables, in order, each at most once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment(std::collections::BTreeMap<OsString, OsString>);

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It ended by itself with this code.
    Exited(i32),
    /// A signal ended it that we did not send.
    Signaled(i32),
    /// It was still running when its time was up, and was ended.
    TimedOut,
}

impl How {
    /// Whether it ended by itself with code 0.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == How::Exited(0)
    }
}

impl std::fmt::Display for How {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            How::Exited(code) => write!(f, "exit code {code}"),
            How::Signaled(signal) => match signal_name(*signal) {
                Some(name) => write!(f, "ended by signal {signal} ({name})"),
                None => write!(f, "ended by signal {signal}"),
            },
            How::TimedOut => f.write_str("ended because its time was up"),
        }
    }
}

/// A program that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub how: How,
    /// From its start to its end.
    pub wall: Duration,
    /// Whether it wrote more than was kept.
    pub truncated: bool,
}

/// Why it cannot be told how a program ends.
#[derive(Debug)]
pub enum ProcessError {
    /// There is no such program.
    NotFound {
        /// What was to be run.
        program: PathBuf,
    },
    /// It cannot be started.
    Start {
        /// What was to be run.
        program: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A file for its output cannot be written.
    Output {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// Somebody stopped us (Ctrl-C). The program was ended.
    Interrupted {
        /// The signal that we got.
        signal: i32,
    },
    /// The operating system does not say how it ended.
    Wait {
        /// What was run.
        program: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
}

impl std::fmt::Display for ProcessError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ProcessError::NotFound { program } => write!(f, "cannot run `{}`: not found", program.display()),
            ProcessError::Start { program, source } => {
                write!(f, "cannot run `{}`: {source}", program.display())
            }
            ProcessError::Output { path, source } => write!(f, "cannot write {}: {source}", path.display()),
            ProcessError::Interrupted { signal } => match signal_name(*signal) {
                Some(name) => write!(f, "interrupted by {name}"),
                None => write!(f, "interrupted by signal {signal}"),
            },
            ProcessError::Wait { program, source } => {
                write!(f, "cannot tell how `{}` ended: {source}", program.display())
            }
        }
    }
}

impl std::error::Error for ProcessError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ProcessError::Start { source, .. }
            | ProcessError::Output { source, .. }
            | ProcessError::Wait { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// The name of a signal that ends programs.
#[must_use]
pub fn signal_name(signal: i32) -> Option<&'static str> {
    signal_hook::low_level::signal_name(signal)
}

impl Environment {
    /// No variables at all.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// The user's variables for builds and tests, without those that would change what is built or
    /// measured behind our back: git's and our own, CMake's choice of a generator and its options,
    /// make's and ninja's flags. Messages are in English and without colour, so that they can be read
    /// by rule. Compilers, their flags, search paths and locales of data stay: they are the user's.
    #[must_use]
    pub fn of_the_user() -> Self {
        Self::scrubbed(std::env::vars_os())
    }

    /// The same rule, for variables that are given.
    #[must_use]
    pub fn scrubbed(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        const DROPPED: [&str; 19] = [
            "CMAKE_GENERATOR",
            "CMAKE_GENERATOR_PLATFORM",
            "CMAKE_GENERATOR_TOOLSET",
            "CMAKE_GENERATOR_INSTANCE",
            "CMAKE_EXPORT_COMPILE_COMMANDS",
            "CMAKE_COLOR_DIAGNOSTICS",
            "CMAKE_BUILD_TYPE",
            "CMAKE_CONFIGURATION_TYPES",
            "CLICOLOR_FORCE",
            "GCC_COLORS",
            "LANGUAGE",
            "MAKEFLAGS",
            "MAKELEVEL",
            "MAKEOVERRIDES",
            "MAKE_TERMERR",
            "MAKE_TERMOUT",
            "MFLAGS",
            "NINJA_STATUS",
            "VERBOSE",
        ];
        let mut kept: std::collections::BTreeMap<OsString, OsString> = variables
            .into_iter()
            .filter(|(name, _)| {
                let name = name.to_string_lossy();
                !name.starts_with("GIT_")
                    && !name.starts_with("OVERLAID_")
                    && !DROPPED.contains(&name.as_ref())
            })
            .collect();
        kept.insert("LC_ALL".into(), "C".into());
        kept.insert("TERM".into(), "dumb".into());
        kept.insert("NO_COLOR".into(), "1".into());
        Self(kept)
    }

    /// Sets a variable.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.0.insert(name.into(), value.into());
    }

    /// Takes a variable away.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(OsStr::new(name));
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// All variables, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The executable file that a name means, by `PATH`; a name with a `/` means itself.
    #[must_use]
    pub fn find(&self, program: &Path) -> Option<PathBuf> {
        if program.components().count() > 1 {
            return Some(program.to_owned());
        }
        std::env::split_paths(self.get("PATH")?)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(program))
            .find(|file| is_executable(file))
    }
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Runs a program to its end.
///
/// # Errors
/// If it cannot be started, if its output cannot be written, or if we are told to stop (Ctrl-C).
pub fn run(program: &Program) -> Result<Finished, ProcessError> {
    let file = program
        .env
        .find(&program.program)
        .ok_or_else(|| ProcessError::NotFound { program: program.program.clone() })?;
    let stdout = open_output(&program.stdout)?;
    let stderr = if program.stderr == program.stdout {
        stdout.try_clone().map_err(|source| ProcessError::Output { path: program.stderr.clone(), source })?
    } else {
        open_output(&program.stderr)?
    };
    let watch = Interrupts::watch();
    if let Some(signal) = watch.signal() {
        return Err(ProcessError::Interrupted { signal });
    }
    let mut command = std::process::Command::new(&file);
    command
        .args(&program.args)
        .current_dir(&program.dir)
        .env_clear()
        .envs(program.env.iter())
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0);
    let started = Instant::now();
    let child = command.spawn().map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound if !program.dir.is_dir() => {
            let why = format!("there is no folder {}", program.dir.display());
            ProcessError::Start { program: file.clone(), source: std::io::Error::other(why) }
        }
        std::io::ErrorKind::NotFound if !file.exists() => ProcessError::NotFound { program: file.clone() },
        _ => ProcessError::Start { program: file.clone(), source },
    })?;
    drop(command);
    let finished = Running { child, file, started }.wait(program, &watch)?;
    Ok(finished)
}

fn open_output(path: &Path) -> Result<File, ProcessError> {
    let open = || {
        // Appending, so that cutting the file off while it is written leaves no hole.
        File::create(path)?;
        OpenOptions::new().append(true).open(path)
    };
    open().map_err(|source| ProcessError::Output { path: path.to_owned(), source })
}

struct Running {
    child: std::process::Child,
    file: PathBuf,
    started: Instant,
}

impl Running {
    fn wait(mut self, program: &Program, watch: &Interrupts) -> Result<Finished, ProcessError> {
        let pid = Pid::from_child(&self.child);
        let (tell, told) = mpsc::channel();
        let waiter = std::thread::spawn(move || {
            let _ = tell.send(wait_for_end(pid));
        });
        let deadline = program.timeout.map(|timeout| self.started + timeout);
        let mut truncated = false;
        let mut timed_out = false;
        let mut interrupted = None;
        let mut end = None;
        while end.is_none() {
            let now = Instant::now();
            let left = deadline.map_or(TICK, |deadline| deadline.saturating_duration_since(now).min(TICK));
            match told.recv_timeout(left) {
                Ok(told) => end = Some(told),
                Err(_) => {
                    truncated |=
                        cut_off(&program.stdout, program.cap) | cut_off(&program.stderr, program.cap);
                    interrupted = watch.signal();
                    timed_out = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                    if timed_out || interrupted.is_some() {
                        end = Some(end_group(pid, &told));
                    }
                }
            }
        }
        let wall = self.started.elapsed();
        // What it started and left behind goes, too. The child is not reaped yet: its group cannot be
        // somebody else's by now.
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        let _ = waiter.join();
        let status =
            self.child.wait().map_err(|source| ProcessError::Wait { program: self.file.clone(), source })?;
        if timed_out || interrupted.is_some() {
            wait_for_group(pid);
        }
        truncated |= cut_off(&program.stdout, program.cap) | cut_off(&program.stderr, program.cap);
        if let Some(signal) = interrupted.or_else(|| watch.signal()) {
            return Err(ProcessError::Interrupted { signal });
        }
        if let Some(Err(errno)) = end {
            return Err(ProcessError::Wait { program: self.file, source: errno.into() });
        }
        let how = if timed_out {
            How::TimedOut
        } else {
            use std::os::unix::process::ExitStatusExt;
            match (status.code(), status.signal()) {
                (Some(code), _) => How::Exited(code),
                (None, Some(signal)) => How::Signaled(signal),
                (None, None) => {
                    let source = std::io::Error::other("neither an exit code nor a signal");
                    return Err(ProcessError::Wait { program: self.file, source });
                }
            }
        };
        Ok(Finished { how, wall, truncated })
    }
}

/// Waits until the process has ended, and leaves it to be reaped.
fn wait_for_end(pid: Pid) -> rustix::io::Result<()> {
    loop {
        match rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno),
            Ok(_) => return Ok(()),
        }
    }
}

/// Asks the group to end, and ends it when it does not.
fn end_group(pid: Pid, told: &mpsc::Receiver<rustix::io::Result<()>>) -> rustix::io::Result<()> {
    let _ = rustix::process::kill_process_group(pid, Signal::TERM);
    // A stopped process gets the signal only when it goes on.
    let _ = rustix::process::kill_process_group(pid, Signal::CONT);
    if let Ok(end) = told.recv_timeout(GRACE) {
        return end;
    }
    let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    told.recv().unwrap_or(Ok(()))
}

/// Gives the others of a group that was ended a moment to be gone. Who does not reap them keeps us no longer.
fn wait_for_group(pid: Pid) {
    for _ in 0..50 {
        if rustix::process::test_kill_process_group(pid).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a file was longer than allowed; it is not any more.
fn cut_off(path: &Path, cap: u64) -> bool {
    let too_long = std::fs::metadata(path).is_ok_and(|data| data.len() > cap);
    if too_long && let Ok(file) = OpenOptions::new().write(true).open(path) {
        let _ = file.set_len(cap);
    }
    too_long
}

/// Notices Ctrl-C while a program runs. At other times the signals do what they always do.
struct Interrupts;

/// How many programs are running.
static RUNNING: Mutex<usize> = Mutex::new(0);
/// Whether none is: a signal then ends us at once.
static IDLE: AtomicBool = AtomicBool::new(true);
/// The signal that we got while one was running; 0: none.
static GOT: AtomicUsize = AtomicUsize::new(0);
static HANDLERS: Once = Once::new();

impl Interrupts {
    fn watch() -> Self {
        HANDLERS.call_once(|| {
            use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
            let ignored = ignored_signals();
            for (signal, value) in [(SIGHUP, 1), (SIGINT, 2), (SIGTERM, 15)] {
                // `nohup` and shells that start jobs in the background have signals ignored on purpose.
                if ignored >> (signal - 1) & 1 == 1 {
                    continue;
                }
                // A handler that cannot be set leaves the default: the signal ends us.
                let _ = signal_hook::flag::register_conditional_default(signal, &IDLE);
                let _ = signal_hook::flag::register_usize(signal, &GOT, value);
            }
        });
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        *running += 1;
        IDLE.store(false, Ordering::SeqCst);
        Self
    }

    fn signal(&self) -> Option<i32> {
        match GOT.load(Ordering::SeqCst) {
            0 => None,
            signal => i32::try_from(signal).ok(),
        }
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        *running -= 1;
        if *running == 0 {
            IDLE.store(true, Ordering::SeqCst);
        }
    }
}

/// The signals that are ignored, as a mask (bit 0 is signal 1); none where the system does not say.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
