//! Runs that are killed, or refused by the file system, at every system call that changes something.
//!
//! The run under test is this test binary itself, started under `strace`, which kills it or fails a call.
//! Without `strace` (or where it may not trace) there is nothing to see here.

use std::process::Command;

use super::random::still_there;
use super::*;

const TREE: &str = "OVERLAID_TEST_CRASH_TREE";
const SCENARIO: &str = "OVERLAID_TEST_CRASH_SCENARIO";
const FAILED: i32 = 40;

/// One by one: `strace` counts the calls of each kind for themselves.
const CALLS: [&str; 11] = [
    "renameat",
    "renameat2",
    "linkat",
    "unlinkat",
    "mkdirat",
    "symlinkat",
    "openat",
    "openat2",
    "write",
    "utimensat",
    "fsync",
];

/// Every how many points one is tried; `OVERLAID_TEST_CRASH=all` (or a number) for more.
fn stride() -> usize {
    match std::env::var("OVERLAID_TEST_CRASH") {
        Ok(all) if all == "all" => 1,
        Ok(number) => number.parse().unwrap(),
        Err(_) => 8,
    }
}

/// What a run starts from, if not from nothing, and where it goes.
fn scenario(name: &str) -> (Option<Goal>, Goal) {
    let pin: &[(&str, &str)] =
        &[("a", "a"), ("b/c", "c"), ("b/run", "x:run"), ("d", "d"), ("e/f/g", "g"), ("l", "l:a"), ("z", "z")];
    let moved: &[(&str, &str)] = &[
        ("a", "newer"),
        ("b", "a file now"),
        ("d/x", "a folder now"),
        ("l", "l:d/x"),
        ("s", "s:m"),
        ("z", "z"),
    ];
    let ours: &[(&str, &str)] = &[("a", "ours"), ("b/run", "run"), ("n/new", "new"), ("e/f/g", "-")];
    match name {
        "cold" => (None, goal(pin, ours)),
        "flip" => (Some(goal(pin, &[])), goal(pin, ours)),
        "back" => (Some(goal(pin, ours)), goal(pin, &[])),
        "move" | "force" => (Some(goal(pin, ours)), goal(moved, &[("z", "ours")])),
        other => panic!("{other}"),
    }
}

/// The run under test, in a process of its own.
#[test]
fn child() {
    let (Some(dir), Ok(name)) = (std::env::var_os(TREE), std::env::var(SCENARIO)) else { return };
    let (_, goal) = scenario(&name);
    let (outcome, _) = goal.bring_with(Path::new(&dir), options(&name));
    std::process::exit(match outcome {
        Ok(Outcome::Changed(_) | Outcome::Unchanged(_)) => 0,
        Err(_) => FAILED,
        Ok(_) => FAILED + 1,
    });
}

fn options(name: &str) -> Options {
    Options { force: name == "force", ..Options::default() }
}

/// Runs the child with one thing going wrong; `None`: it was killed.
fn run_child(dir: &Path, name: &str, inject: &[&str]) -> Option<i32> {
    let binary = std::env::current_exe().unwrap();
    let status = Command::new("strace")
        .args(["-f", "-qqq", "-o", "/dev/null"])
        .args(inject.iter().flat_map(|inject| ["-e".to_owned(), format!("inject={inject}")]))
        .arg("--")
        .arg(binary)
        .args(["--exact", "io::tree::tests::crash::child", "--test-threads=1"])
        .env(TREE, dir)
        .env(SCENARIO, name)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    status.code()
}

#[allow(clippy::disallowed_macros, reason = "tests say what they skip")]
fn can_trace() -> bool {
    let traced = Command::new("strace").args(["-f", "-qqq", "-o", "/dev/null", "true"]).status();
    if traced.is_ok_and(|status| status.success()) {
        return true;
    }
    let required = std::env::var("OVERLAID_TEST_ORACLES").is_ok_and(|value| value == "require");
    assert!(!required, "strace is missing or may not trace, and OVERLAID_TEST_ORACLES=require");
    eprintln!("skipped: strace is missing or may not trace, so no run is killed");
    false
}

/// The tree before the run, with what people did to it.
fn prepare(dir: &Path, name: &str) {
    let (Some(start), _) = scenario(name) else { return };
    start.bring(dir);
    write(&dir.join("mine/notes"), "by hand: notes");
    write(&dir.join("e/mine"), "by hand: beside");
    if name == "force" {
        write(&dir.join("a"), "by hand: overlaid file");
        write(&dir.join("b/c"), "by hand: upstream's file");
        write(&dir.join("b/mine"), "by hand: in a folder that goes");
        write(&dir.join("s"), "by hand: where a submodule goes");
    }
}

fn copy_tree(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(copied.success());
}

/// That the next run reaches the tree and that nothing of anybody is gone.
fn assert_recovers(dir: &Path, name: &str, context: &str) {
    let (_, goal) = scenario(name);
    let mine = std::collections::BTreeSet::from_iter(
        [
            "notes",
            "beside",
            "overlaid file",
            "upstream's file",
            "in a folder that goes",
            "where a submodule goes",
        ]
        .into_iter()
        .take(match name {
            "cold" => 0,
            "force" => 6,
            _ => 2,
        })
        .map(|text| format!("by hand: {text}")),
    );
    let (outcome, _) = goal.bring_with(dir, options(name));
    assert!(matches!(outcome, Ok(Outcome::Changed(_) | Outcome::Unchanged(_))), "{context}: {outcome:?}");
    let left: Vec<_> = compare(dir, &goal.wanted)
        .unwrap()
        .into_iter()
        .filter(|difference| difference.kind != Kind::Extra || !is_mine(dir, difference))
        .collect();
    assert_eq!(left, [], "{context}");
    assert_eq!(still_there(dir), mine, "{context}");
    for leftover in ["journal", "journal.undo", "stage", "undo"] {
        assert!(!dir.join(".overlaid").join(leftover).exists(), "{context}: {leftover}");
    }
    let names: Vec<_> =
        std::fs::read_dir(dir.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    let names: Vec<_> = names.iter().filter(|name| name.to_str().unwrap().starts_with(".tree")).collect();
    assert!(names.is_empty(), "{context}: {names:?}");
    assert!(matches!(goal.bring(dir), Outcome::Unchanged(_)), "{context}");
}

fn is_mine(dir: &Path, difference: &Difference) -> bool {
    let file = dir.join(difference.path.to_string());
    std::fs::read_to_string(file).is_ok_and(|text| text.starts_with("by hand"))
}

/// Lets each call in turn go wrong until the child gets through; gives how many went wrong.
fn break_every_call(
    name: &str,
    how: &str,
    check: impl Fn(&Path, Option<i32>, &BTreeMap<String, String>, &str),
) -> usize {
    break_every_call_from(name, how, check, |master| prepare(master, name))
}

fn break_every_call_from(
    name: &str,
    how: &str,
    check: impl Fn(&Path, Option<i32>, &BTreeMap<String, String>, &str),
    prepare: impl Fn(&Path),
) -> usize {
    let (folder, master) = fast_place();
    prepare(&master);
    let before = if master.exists() { texts(&master) } else { BTreeMap::new() };
    let mut broken = 0;
    for calls in CALLS {
        let start = 1 + (name.len() + calls.len() + how.len()) % stride();
        for number in (start..).step_by(stride()) {
            let dir = folder.path().join("run").join("tree");
            let _ = std::fs::remove_dir_all(dir.parent().unwrap());
            std::fs::create_dir(dir.parent().unwrap()).unwrap();
            if master.exists() {
                copy_tree(&master, &dir);
            }
            let how = how.replace('#', &number.to_string());
            let code = run_child(&dir, name, &[&format!("{calls}:{how}")]);
            if code == Some(0) {
                break;
            }
            broken += 1;
            let context = format!("{name}: {calls}:{how}");
            check(&dir, code, &before, &context);
            assert_recovers(&dir, name, &context);
        }
    }
    broken
}

#[test]
fn a_run_that_is_killed_is_finished_by_the_next() {
    if !can_trace() {
        return;
    }
    for name in ["cold", "flip", "back", "move", "force"] {
        let broken = break_every_call(name, "signal=KILL:when=#", |_, code, _, context| {
            assert_eq!(code, None, "{context}");
        });
        assert!(broken >= 40 / stride(), "{name}: only {broken} points");
    }
}

#[test]
fn a_call_that_fails_leaves_the_tree_as_it_was() {
    if !can_trace() {
        return;
    }
    for (error, names) in [("EACCES", ["flip", "force"]), ("ENOSPC", ["cold", "move"])] {
        for name in names {
            let how = format!("error={error}:when=#");
            break_every_call(name, &how, |dir, code, before, context| {
                // What fails before the test begins, or after the tree is finished, shows in neither.
                if code != Some(FAILED) || name == "cold" {
                    return;
                }
                let (_, goal) = scenario(name);
                let now = texts(dir);
                let is_after = wanted_texts(&goal.wanted, &goal.upstream)
                    .iter()
                    .all(|(at, text)| now.get(at) == Some(text));
                assert!(now == *before || is_after, "{context}:\n{before:?}\n{now:?}");
            });
        }
    }
}

#[test]
fn a_run_that_cannot_even_be_undone_is_undone_by_the_next() {
    if !can_trace() {
        return;
    }
    for name in ["flip", "move", "force"] {
        break_every_call(name, "error=EIO:when=#+", |_, _, _, _| {});
    }
}

#[test]
fn a_run_that_finishes_another_can_be_killed_too() {
    if !can_trace() {
        return;
    }
    let broken = break_every_call_from(
        "force",
        "signal=KILL:when=#",
        |_, _, _, _| {},
        |master| {
            prepare(master, "force");
            // In the middle: some paths are moved aside, some are not.
            let killed = run_child(master, "force", &["renameat:signal=KILL:when=5"]);
            assert_eq!(killed, None);
            assert!(master.join(".overlaid/journal").exists());
        },
    );
    assert!(broken >= 40 / stride(), "only {broken} points");
}

#[test]
fn a_run_that_is_killed_while_it_is_taken_back_is_taken_back_by_the_next() {
    if !can_trace() {
        return;
    }
    let mut taken_back = 0;
    for name in ["flip", "move", "force"] {
        let (fails, kills) = (
            ["mkdirat:error=EIO:when=4+", "linkat:error=EIO:when=1+"],
            ["renameat", "renameat2", "unlinkat"],
        );
        for (fails, call) in fails.into_iter().flat_map(|fails| kills.map(|call| (fails, call))) {
            for number in 1..20 {
                let (_folder, dir) = fast_place();
                prepare(&dir, name);
                let killed = format!("{call}:signal=KILL:when={number}");
                let code = run_child(&dir, name, &[fails, &killed]);
                taken_back += usize::from(dir.join(".overlaid/journal.undo").exists());
                assert_recovers(&dir, name, &format!("{name}: {fails}, {killed}"));
                if code.is_some() {
                    break;
                }
            }
        }
    }
    assert!(taken_back > 10, "only {taken_back} points");
}
