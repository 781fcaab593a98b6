//! The program is killed at every call that changes a file; then a person goes on, or gives up.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use super::{NUMBERS, files};
use crate::support::{Project, Upstream, command};

/// All that changes files.
const CALLS: [&str; 14] = [
    "openat",
    "write",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
    "rmdir",
    "fsync",
    "fchmod",
    "copy_file_range",
    "symlinkat",
];

fn project() -> (Upstream, Project, String) {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS), ("old/m.c", NUMBERS)]);
    std::fs::remove_file(upstream.path().join("old/m.c")).unwrap();
    let to = upstream.commit("move", &[("k.c", &NUMBERS.replace("ten", "TEN")), ("new/m.c", NUMBERS)]);
    let more = "[[upstream.also-pinned]]\nfile = \"pin.txt\"\nregex = '([0-9a-f]{40})'\n".to_owned()
        + &files("one", &base, &["k.c"])
        + &files("two", &base, &["old/m.c"]);
    let project = Project::on(&upstream, &base, &more);
    project.write("overlays/up/k.c", NUMBERS.replace("one", "ONE"));
    project.write("overlays/up/old/m.c", NUMBERS.replace("two", "TWO"));
    project.write("pin.txt", &base);
    project.run(&["lock"]).expect(0);
    (upstream, project, to)
}

/// The files that a person cares for.
fn own(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for top in ["manifests", "overlays", "pin.txt"] {
        for entry in walkdir::WalkDir::new(root.join(top)).into_iter().map(Result::unwrap) {
            if entry.file_type().is_file() {
                let name = entry.path().strip_prefix(root).unwrap().display().to_string();
                files.insert(name, std::fs::read(entry.path()).unwrap());
            }
        }
    }
    files
}

fn run(root: &Path, tracer: &[&str], args: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_overlaid");
    let mut run = match tracer {
        [] => command(program),
        _ => {
            let mut strace = command("strace");
            strace.args(["-f", "-qqq"]).args(tracer).arg("--").arg(program);
            strace
        }
    };
    run.current_dir(root)
        .env("HOME", root.join("home"))
        .env("XDG_CACHE_HOME", root.join("cache"))
        .args(args)
        .output()
        .unwrap()
}

fn copy_of(root: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let from = format!("{}/.", root.display());
    assert!(command("cp").args(["-a", &from]).arg(folder.path()).status().unwrap().success());
    folder
}

#[test]
fn killed_at_any_write_it_leaves_old_or_new_or_says_what_to_do() {
    let traced = command("strace").args(["-f", "-qqq", "-o", "/dev/null", "true"]).status();
    if !traced.is_ok_and(|status| status.success()) {
        eprintln!("skipped: strace is missing or may not trace, so no run is killed");
        return;
    }
    let (_upstream, project, to) = project();
    let old = own(project.path());
    let args = ["bump", "--to", &to];
    // A run that is left alone, and what it calls.
    let whole = copy_of(project.path());
    let log = whole.path().join("trace");
    let calls = format!("trace={}", CALLS.join(","));
    let output = run(whole.path(), &["-e", &calls, "-o", log.to_str().unwrap()], &args);
    assert!(output.status.success(), "{output:?}");
    let new = own(whole.path());
    assert_ne!(old, new);
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut points = std::collections::BTreeSet::new();
    let log = std::fs::read_to_string(log).unwrap();
    for line in log.lines() {
        let Some((process, line)) = line.split_once(' ') else { continue };
        let Some(call) = CALLS.iter().find(|call| line.trim_start().starts_with(&format!("{call}("))) else {
            continue;
        };
        let count = counts.entry((process, call)).or_default();
        *count += 1;
        if *call != "openat" || line.contains("O_CREAT") {
            points.insert((*call, *count));
        }
    }
    assert!(points.len() > 30, "{points:?}");
    let all = std::env::var_os("OVERLAID_TEST_CRASH").is_some_and(|which| which == "all");
    let step = if all { 1 } else { 3 };
    let (mut interrupted, mut untouched, mut finished) = (0, 0, 0);
    for (call, count) in points.into_iter().step_by(step) {
        let copy = copy_of(project.path());
        let inject = format!("inject={call}:signal=KILL:when={count}");
        run(copy.path(), &["-o", "/dev/null", "-e", &inject], &args);
        let is_pending = [".overlaid/edits/journal", ".overlaid/edits/journal.undo"]
            .iter()
            .any(|file| copy.path().join(file).exists());
        if !is_pending {
            let now = own(copy.path());
            assert!(now == old || now == new, "{call} {count}: between old and new");
            *if now == old { &mut untouched } else { &mut finished } += 1;
            // It can be done again, and gives the same.
            let output = run(copy.path(), &[], &args);
            assert!(output.status.success(), "{call} {count}: {output:?}");
            assert_eq!(own(copy.path()), new, "{call} {count}");
            continue;
        }
        interrupted += 1;
        let output = run(copy.path(), &[], &["status"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{call} {count}: {stderr}");
        assert!(
            stderr.contains("overlaid bump --continue") && stderr.contains("overlaid bump --abort"),
            "{stderr}"
        );
        let other = copy_of(copy.path());
        let output = run(other.path(), &[], &["bump", "--abort"]);
        assert!(output.status.success(), "{call} {count}: {output:?}");
        assert_eq!(own(other.path()), old, "{call} {count}: taken back");
        let output = run(copy.path(), &[], &["bump", "--continue"]);
        assert!(output.status.success(), "{call} {count}: {output:?}");
        assert_eq!(own(copy.path()), new, "{call} {count}: finished");
    }
    assert!(interrupted > 3 && untouched > 3, "{interrupted} {untouched} {finished}");
}

#[test]
fn an_import_that_was_killed_is_finished_or_taken_back_as_its_hint_says() {
    let traced = command("strace").args(["-f", "-qqq", "-o", "/dev/null", "true"]).status();
    if !traced.is_ok_and(|status| status.success()) {
        eprintln!("skipped: strace is missing or may not trace, so no run is killed");
        return;
    }
    let (_upstream, project, _) = project();
    project.write("mails/0001-n.patch", "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n");
    project.run(&["status"]);
    let old = own(project.path());
    let args = ["import", "mail", "mails"];
    let whole = copy_of(project.path());
    let output = run(whole.path(), &[], &args);
    assert!(output.status.success(), "{output:?}");
    let new = own(whole.path());
    let mut interrupted = 0;
    for (call, count) in ["rename", "fsync", "unlink"].iter().flat_map(|call| (1..8).map(move |n| (call, n)))
    {
        let copy = copy_of(project.path());
        let inject = format!("inject={call}:signal=KILL:when={count}");
        run(copy.path(), &["-o", "/dev/null", "-e", &inject], &args);
        let output = run(copy.path(), &[], &["status"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        if !stderr.contains("(bump, import, refresh, drop or another) was interrupted") {
            let now = own(copy.path());
            assert!(now == old || now == new, "{call} {count}: between old and new");
            continue;
        }
        interrupted += 1;
        let other = copy_of(copy.path());
        for (folder, word, expected) in [(&other, "--abort", &old), (&copy, "--continue", &new)] {
            assert!(stderr.contains(&format!("overlaid bump {word}")), "{stderr}");
            let output = run(folder.path(), &[], &["bump", word]);
            assert!(output.status.success(), "{call} {count}: {output:?}");
            assert_eq!(&own(folder.path()), expected, "{call} {count} {word}");
        }
    }
    assert!(interrupted > 0);
}
