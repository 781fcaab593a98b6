//! Runs that are killed, or whose system calls fail, at a chosen call; `strace` does it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Output;

use super::command;

/// All that changes files. Of `openat`, only calls that may create one.
pub const CALLS: [&str; 19] = [
    "openat",
    "write",
    "pwrite64",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "rmdir",
    "mkdir",
    "mkdirat",
    "symlink",
    "symlinkat",
    "utimensat",
    "fsync",
    "fchmod",
    "copy_file_range",
];

/// A call of a run, and which one of its kind in its process.
pub type Point = (&'static str, usize);

/// What happens at a point.
#[derive(Debug, Clone, Copy)]
pub enum Fate {
    /// The program is killed.
    Killed,
    /// The call fails: the disk is full.
    Failed,
}

/// Whether runs can be traced here; says so if not.
pub fn can_trace() -> bool {
    let traced = command("strace").args(["-f", "-qqq", "-o", "/dev/null", "true"]).status();
    if traced.is_ok_and(|status| status.success()) {
        return true;
    }
    let required = std::env::var("OVERLAID_TEST_ORACLES").is_ok_and(|value| value == "require");
    assert!(!required, "strace is missing or may not trace, and OVERLAID_TEST_ORACLES=require");
    eprintln!("skipped: strace is missing or may not trace, so no run is killed");
    false
}

/// Every how many points one is tried; `usual` without OVERLAID_TEST_CRASH.
pub fn stride(usual: usize) -> usize {
    match std::env::var("OVERLAID_TEST_CRASH") {
        Ok(all) if all == "all" => 1,
        Ok(number) => number.parse().unwrap(),
        Err(_) => usual,
    }
}

/// A folder in memory where there is such a file system: flushing costs nothing there.
pub fn fast_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A copy of a folder.
pub fn copy_of(root: &Path) -> tempfile::TempDir {
    let folder = fast_folder();
    let from = format!("{}/.", root.display());
    assert!(command("cp").args(["-a", &from]).arg(folder.path()).status().unwrap().success());
    folder
}

/// Runs the program in a repository.
pub fn run(root: &Path, args: &[&str]) -> Output {
    traced(root, &[], args)
}

fn traced(root: &Path, tracer: &[&str], args: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_overlaid");
    let mut run = match tracer {
        [] => command(program),
        _ => {
            let mut strace = command("strace");
            strace.args(["-f", "-qqq"]).args(tracer).arg("--").arg(program);
            strace
        }
    };
    run.current_dir(root).env("HOME", root.join("home")).env("XDG_CACHE_HOME", root.join("cache"));
    run.args(args).output().unwrap()
}

/// Runs the program on a file system that takes every change of a mode and keeps none, as exFAT does.
pub fn run_without_modes(root: &Path, args: &[&str]) -> Output {
    traced(root, &["-o", "/dev/null", "-e", "inject=fchmod:retval=0"], args)
}

/// Runs the program until it comes to a point, and beyond if it can.
pub fn run_to(root: &Path, args: &[&str], (call, number): Point, fate: Fate) -> Output {
    let what = match fate {
        Fate::Killed => "signal=KILL",
        Fate::Failed => "error=ENOSPC",
    };
    traced(root, &["-o", "/dev/null", "-e", &format!("inject={call}:{what}:when={number}")], args)
}

/// Runs the program to its end and gives the calls of the run that change something.
pub fn points(root: &Path, args: &[&str]) -> (Output, BTreeSet<Point>) {
    let log = root.join("trace");
    let calls = format!("trace={}", CALLS.join(","));
    let output = traced(root, &["-e", &calls, "-o", log.to_str().unwrap()], args);
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut points = BTreeSet::new();
    for line in text.lines() {
        let Some((process, line)) = line.split_once(' ') else { continue };
        let Some(call) = CALLS.iter().find(|call| line.trim_start().starts_with(&format!("{call}("))) else {
            continue;
        };
        let count = counts.entry((process, call)).or_default();
        *count += 1;
        // What goes to a terminal changes no file.
        let is_said = *call == "write" && (line.contains("write(1, ") || line.contains("write(2, "));
        if !is_said && (*call != "openat" || line.contains("O_CREAT")) {
            points.insert((*call, *count));
        }
    }
    (output, points)
}
