//! The program is killed, or a system call of it fails, at every call that changes something; then it runs again.
//!
//! `strace` counts the calls of a run that is left alone, then kills (or fails) one after the other. A usual run of
//! the tests takes a sample; `scripts/crash-test` takes them all (`OVERLAID_TEST_CRASH=all`) and prints a table.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::files;
use crate::support::crash::{CALLS, can_trace, fast_folder, stride};
use crate::support::{Upstream, command, git, manifest, write};

const SCENARIOS: [&str; 9] =
    ["cold", "change", "removal", "pin", "force", "restore", "adopt", "adopted change", "adopted restore"];

/// A folder with a repository of ours, an upstream, and what is run there.
struct Stage {
    folder: tempfile::TempDir,
    args: Vec<&'static str>,
    /// The tree, relative to the repository.
    tree: &'static str,
    /// Contents that people wrote; none may be lost.
    by_hand: BTreeSet<String>,
}

const OVERLAYS: &str = "[[overlay]]\nname = \"fix\"\nfiles = [\"src/a.c\", \"new/n.c\", \"bin/run\"]\n\
     [[overlay]]\nname = \"gone\"\ndelete = [\"src/old.c\"]\n";

fn stage(name: &str) -> Stage {
    let mut upstream = Upstream::new();
    write(&upstream.path().join("bin/run"), "#!/bin/sh\n");
    std::os::unix::fs::symlink("a.c", upstream.path().join("link")).unwrap();
    let pin = upstream
        .commit("one", &[("src/a.c", "a\n"), ("src/b.c", "b\n"), ("src/old.c", "old\n"), ("d/e/f", "f\n")]);
    std::fs::remove_dir_all(upstream.path().join("d")).unwrap();
    let next = upstream.commit("two", &[("src/b.c", "b2\n"), ("d", "a file now\n"), ("src/c.c", "c\n")]);
    let folder = fast_folder();
    let root = folder.path().join("repository");
    // The upstream moves in, so that all lies in one folder.
    let clone = folder.path().join("upstream");
    git(
        folder.path(),
        &["clone", "-q", "--bare", upstream.path().to_str().unwrap(), clone.to_str().unwrap()],
    );
    let manifest_of = |pin: &str, more: &str| {
        manifest(&upstream, pin, more).replace(upstream.path().to_str().unwrap(), clone.to_str().unwrap())
    };
    let set = |pin: &str, more: &str, text: &str| {
        write(&root.join("manifests/up.toml"), manifest_of(pin, more));
        for path in ["src/a.c", "new/n.c", "bin/run"] {
            write(&root.join("overlays/up").join(path), format!("{text} {path}\n"));
        }
    };
    let mut by_hand = BTreeSet::new();
    let mut by_hand_at = |tree: &str, path: &str| {
        let text = format!("by hand: {path}\n");
        write(&root.join(tree).join(path), &text);
        by_hand.insert(text);
    };
    let (default, adopted) = (".overlaid/up", "third party/up");
    let tree = if name.starts_with("adopt") { adopted } else { default };
    set(&pin, OVERLAYS, "first");
    if name.starts_with("adopt") {
        // A checkout that somebody made, with a `.git` of theirs.
        git(&clone, &["worktree", "add", "-q", "--detach", root.join(tree).to_str().unwrap(), &pin]);
    }
    let plain = |command: &'static str| match tree == adopted {
        true => vec![command, "--tree", adopted],
        false => vec![command],
    };
    if !matches!(name, "cold" | "adopt") {
        assert_ok(&plain_run(&root, &plain("apply")));
        by_hand_at(tree, "notes/mine");
        by_hand_at(tree, "src/mine");
    }
    let mut args = plain("apply");
    match name {
        "cold" | "adopt" => {}
        "change" | "adopted change" => set(&pin, OVERLAYS, "second"),
        "removal" => set(&pin, "", "first"),
        "pin" => set(&next, OVERLAYS, "second"),
        "restore" | "adopted restore" => args = plain("restore"),
        "force" => {
            set(&next, OVERLAYS, "second");
            for path in ["src/a.c", "new/n.c", "src/b.c", "d/mine", "src/c.c/mine"] {
                by_hand_at(tree, path);
            }
            args.push("--force");
        }
        other => panic!("{other}"),
    }
    Stage { folder, args, tree, by_hand }
}

/// The program in a repository.
fn program(root: &Path, args: &[&str]) -> Vec<std::ffi::OsString> {
    let mut all = vec![env!("CARGO_BIN_EXE_overlaid").into(), "-C".into(), root.as_os_str().to_owned()];
    all.extend(args.iter().map(Into::into));
    all
}

fn hermetic(mut command: Command, root: &Path) -> Command {
    command.current_dir(root).env("HOME", root.join("home")).env("XDG_CACHE_HOME", root.join("cache"));
    command
}

fn plain_run(root: &Path, args: &[&str]) -> Output {
    let all = program(root, args);
    hermetic(command(&all[0]), root).args(&all[1..]).output().unwrap()
}

fn traced_run(root: &Path, args: &[&str], tracer: &[String]) -> Output {
    let mut strace = hermetic(command("strace"), root);
    strace.args(["-f", "-qqq"]).args(tracer).arg("--").args(program(root, args)).output().unwrap()
}

fn assert_ok(output: &Output) {
    assert!(output.status.success(), "{output:?}");
}

impl Stage {
    /// A copy of the repository as it was prepared.
    fn repository(&self) -> Copied {
        let folder = fast_folder();
        let root = folder.path().join("repository");
        let copied =
            Command::new("cp").arg("-a").arg(self.folder.path().join("repository")).arg(&root).status();
        assert!(copied.unwrap().success());
        Copied { _folder: folder, tree: root.join(self.tree), root }
    }

    /// How often the run makes each call, in the thread that makes it the most; of `openat`, which of them create.
    fn points(&self) -> Vec<(&'static str, usize)> {
        let copied = self.repository();
        let log = copied.root.join("trace");
        let calls = format!("trace={}", CALLS.join(","));
        let tracer = ["-e", &calls, "-o", log.to_str().unwrap()].map(str::to_owned);
        assert_ok(&traced_run(&copied.root, &self.args, &tracer));
        let log = std::fs::read_to_string(log).unwrap();
        let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut points = BTreeSet::new();
        for line in log.lines() {
            let Some((process, line)) = line.split_once(' ') else { continue };
            let Some(call) = CALLS.iter().find(|call| line.trim_start().starts_with(&format!("{call}(")))
            else {
                continue;
            };
            let count = seen.entry((process, call)).or_default();
            *count += 1;
            if *call != "openat" || line.contains("O_CREAT") {
                points.insert((*call, *count));
            }
        }
        points.into_iter().collect()
    }
}

struct Copied {
    _folder: tempfile::TempDir,
    root: PathBuf,
    tree: PathBuf,
}

impl Copied {
    fn files(&self) -> BTreeMap<String, (u32, Vec<u8>)> {
        if self.tree.exists() { files(&self.tree) } else { BTreeMap::new() }
    }

    /// All contents of people, in the tree and kept.
    fn by_hand(&self) -> BTreeSet<String> {
        let walk = walkdir::WalkDir::new(&self.tree).into_iter().filter_map(Result::ok);
        let texts = walk.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
        texts.filter(|text| text.starts_with("by hand")).collect()
    }

    fn has_leftovers(&self) -> bool {
        let home = self.tree.join(".overlaid");
        let aside = self.tree.parent().unwrap().join(".up.overlaid-new");
        let of_run = ["journal", "journal.undo", "stage", "undo"].iter().any(|name| home.join(name).exists());
        // A folder that is made first of all has nothing in it yet.
        of_run || aside.join(".overlaid/.gitignore").exists()
    }
}

/// What came of all points of a scenario.
#[derive(Default)]
struct Tally {
    points: usize,
    finished: usize,
    taken_back: usize,
    left_over: usize,
    untouched: usize,
}

impl Tally {
    fn add(&mut self, stderr: &str) {
        self.points += 1;
        if stderr.contains("steps are finished") {
            self.finished += 1;
        } else if stderr.contains("taken back") {
            self.taken_back += 1;
        } else if stderr.contains("left over is removed") {
            self.left_over += 1;
        } else {
            self.untouched += 1;
        }
    }
}

/// The points of a usual run: spread evenly, from a start that the scenario's name gives.
fn sample(points: Vec<(&'static str, usize)>, name: &str, salt: usize) -> Vec<(&'static str, usize)> {
    let start = name.bytes().map(usize::from).sum::<usize>() + salt;
    points.into_iter().skip(start % stride(12)).step_by(stride(12)).collect()
}

/// That the next run reaches the same tree as one that was left alone, says so, and that nothing is lost.
fn assert_recovers(
    stage: &Stage,
    copied: &Copied,
    after: &BTreeMap<String, (u32, Vec<u8>)>,
    context: &str,
) -> String {
    let lost =
        |found: &BTreeSet<String>| -> Vec<String> { stage.by_hand.difference(found).cloned().collect() };
    assert_eq!(lost(&copied.by_hand()), [""; 0], "{context}: lost at once");
    let had_leftovers = copied.has_leftovers();
    let next = plain_run(&copied.root, &stage.args);
    let stderr = String::from_utf8_lossy(&next.stderr).into_owned();
    assert!(next.status.success(), "{context}: {next:?}");
    assert_eq!(&copied.files(), after, "{context}: {stderr}");
    assert_eq!(lost(&copied.by_hand()), [""; 0], "{context}: lost by the next run");
    assert_eq!(had_leftovers, stderr.contains("interrupted"), "{context}: {stderr}");
    assert!(!copied.has_leftovers(), "{context}");
    let again = plain_run(&copied.root, &stage.args);
    let stdout = String::from_utf8_lossy(&again.stdout);
    assert!(again.status.success() && stdout.contains("nothing to do"), "{context}: {again:?}");
    stderr
}

#[test]
fn a_run_that_is_killed_is_finished_or_taken_back_by_the_next() {
    if !can_trace() {
        return;
    }
    println!("killed          | points | finished | taken back | left over | nothing to do about it");
    for name in SCENARIOS {
        let stage = stage(name);
        let undisturbed = stage.repository();
        assert_ok(&plain_run(&undisturbed.root, &stage.args));
        let after = undisturbed.files();
        let mut tally = Tally::default();
        for (call, number) in sample(stage.points(), name, 0) {
            let copied = stage.repository();
            let inject = format!("inject={call}:signal=KILL:when={number}");
            let killed = traced_run(
                &copied.root,
                &stage.args,
                &["-e".into(), inject, "-o".into(), "/dev/null".into()],
            );
            let context = format!("{name}, killed at {call} {number}");
            if killed.status.success() {
                // How often it asks for the time to move on depends on the clock.
                continue;
            }
            assert_eq!(killed.status.signal(), Some(9), "{context}: {killed:?}");
            tally.add(&assert_recovers(&stage, &copied, &after, &context));
        }
        let Tally { points, finished, taken_back, left_over, untouched } = tally;
        println!(
            "{name:<15} | {points:>6} | {finished:>8} | {taken_back:>10} | {left_over:>9} | {untouched:>9}"
        );
        assert!(points > 0, "{name}");
    }
}

#[test]
fn a_call_that_fails_leaves_the_tree_at_one_state_or_the_next() {
    if !can_trace() {
        return;
    }
    println!("failed          | error  | points | ended 4, as before | ended 0, done");
    for name in SCENARIOS {
        let stage = stage(name);
        let undisturbed = stage.repository();
        let before = undisturbed.files();
        assert_ok(&plain_run(&undisturbed.root, &stage.args));
        let after = undisturbed.files();
        let points = stage.points();
        for (salt, error) in ["ENOSPC", "EIO", "EACCES", "EROFS"].into_iter().enumerate() {
            let (mut tried, mut as_before, mut done) = (0, 0, 0);
            for (call, number) in sample(points.clone(), name, salt * 3) {
                let copied = stage.repository();
                let inject = format!("inject={call}:error={error}:when={number}");
                let run = traced_run(
                    &copied.root,
                    &stage.args,
                    &["-e".into(), inject, "-o".into(), "/dev/null".into()],
                );
                let stderr = String::from_utf8_lossy(&run.stderr);
                let context = format!("{name}, {error} at {call} {number}: {:?} {stderr}", run.status);
                let now = copied.files();
                tried += 1;
                match run.status.code() {
                    // What is only for the next run's speed, or could be done in another way.
                    Some(0) => {
                        assert_eq!(now, after, "{context}");
                        done += 1;
                    }
                    Some(4) => {
                        let is_next = now == after
                            && (stderr.contains("the tree is what was wanted")
                                || stderr.contains("cannot write to standard output"));
                        // What can be undone neither is undone by the next run.
                        let is_between = stderr.contains("undoing it failed, too");
                        assert!(now == before || is_next || is_between, "{context}\n{before:?}\n{now:?}");
                        assert!(stderr.contains('`') || call == "write", "no path: {context}");
                        as_before += 1;
                    }
                    code => panic!("{code:?}: {context}"),
                }
                assert_eq!(
                    copied.by_hand().intersection(&stage.by_hand).count(),
                    stage.by_hand.len(),
                    "{context}"
                );
                let next = plain_run(&copied.root, &stage.args);
                assert!(next.status.success(), "{context}: {next:?}");
                assert_eq!(copied.files(), after, "{context}");
            }
            println!("{name:<15} | {error:<6} | {tried:>6} | {as_before:>18} | {done:>13}");
        }
    }
}

#[test]
fn a_build_between_the_kill_and_the_next_run_is_outdated_by_it() {
    if !can_trace() {
        return;
    }
    let stage = stage("change");
    let copied = stage.repository();
    let inject = "inject=renameat2:signal=KILL:when=1".to_owned();
    let killed =
        traced_run(&copied.root, &stage.args, &["-e".into(), inject, "-o".into(), "/dev/null".into()]);
    assert_eq!(killed.status.signal(), Some(9));
    assert!(copied.tree.join(".overlaid/journal").exists());
    let output = copied.root.join("a.o");
    std::fs::write(&output, "made of the old source").unwrap();
    assert_ok(&plain_run(&copied.root, &stage.args));
    let time = |file: &Path| std::fs::metadata(file).unwrap().modified().unwrap();
    assert!(time(&copied.tree.join("src/a.c")) > time(&output));
}
