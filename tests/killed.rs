//! The commands of everyday work are killed, or find the disk full, at every call that changes something: nothing of a
//! person's is lost, and the next run finishes or says what to do.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use crate::support::crash::{Fate, Point, can_trace, copy_of, points, run, run_to, stride};
use crate::support::{Project, Upstream, write};

const NUMBERS: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\n";

/// Files by their path in a repository.
type Files = BTreeMap<String, Vec<u8>>;

/// What a person wrote into the folder of `edit`.
const BY_HAND: &str = "by hand";

/// A repository, and what is run in it.
struct Scene {
    _upstream: Upstream,
    project: Project,
    args: Vec<&'static str>,
}

/// An overlay of a whole file, a patch of two hunks, one that changes comments only.
fn scene(args: &[&'static str]) -> Scene {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("start", &[("k.c", NUMBERS), ("m.c", NUMBERS), ("c.c", "int c; // c\n")]);
    let ours = NUMBERS.replace("two", "TWO").replace("eleven", "ELEVEN");
    upstream.git(&["checkout", "-q", "-b", "ours"]);
    write(&upstream.path().join("m.c"), ours);
    let patch = upstream.git(&["diff", "--full-index"]) + "\n";
    upstream.git(&["checkout", "-qf", "main"]);
    let table = |name: &str, content: &str| {
        format!("\n[[overlay]]\nname = \"{name}\"   # mind it\nbase = \"{pin}\"\n{content}\n")
    };
    let more = table("whole", "files = [\"k.c\"]")
        + &table("parts", "patch = \"parts.patch\"\nneeds = [\"whole\"]")
        + &table("comment", "files = [\"c.c\"]");
    let project = if args[0] == "init" {
        let project = Project::new();
        let url = upstream.path().display();
        let pinned = format!("FetchContent_Declare(up GIT_REPOSITORY {url} GIT_TAG {pin})\n");
        project.write("CMakeLists.txt", pinned);
        project
    } else {
        let project = Project::on(&upstream, &pin, &more);
        project.write("overlays/up/k.c", NUMBERS.replace("one", "ONE"));
        project.write("overlays/up/parts.patch", patch);
        project.write("overlays/up/c.c", "int c; // d\n");
        project.write("mails/0001-n.patch", "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n");
        project.run(&["lock"]).expect(0);
        project
    };
    let scene = Scene { _upstream: upstream, project, args: args.to_vec() };
    match args {
        ["refresh", "--undo"] => {
            scene.edit("k.c");
            scene.ok(&["refresh", "whole"]);
        }
        ["refresh", .., "--new", _, "--reason", _] => {
            scene.edit("k.c");
            scene.edit("m.c");
        }
        ["refresh", ..] | ["rename", ..] | ["edit", _, "--again"] => scene.edit("k.c"),
        ["drop", ..] => scene.ok(&["apply"]),
        _ => {}
    }
    // The store is filled: what it writes is its own.
    if args[0] != "init" {
        run(scene.project.path(), &["status"]);
    }
    scene
}

impl Scene {
    fn ok(&self, args: &[&str]) {
        let output = run(self.project.path(), args);
        assert!(output.status.success(), "{args:?}: {output:?}");
    }

    /// A person edits a file of the overlay `whole`.
    fn edit(&self, file: &str) {
        self.ok(&["edit", "whole"]);
        let file = self.project.path().join(".overlaid/edit/whole").join(file);
        let text = std::fs::read_to_string(&file).unwrap();
        write(&file, text.replace("six", BY_HAND));
    }
}

/// The files that a person cares for.
fn own(root: &Path) -> Files {
    let mut files = Files::new();
    for top in ["manifests", "overlays", "docs", "CMakeLists.txt", "mails"] {
        if !root.join(top).exists() {
            continue;
        }
        for entry in walkdir::WalkDir::new(root.join(top)).into_iter().map(Result::unwrap) {
            if entry.file_type().is_file() {
                let name = entry.path().strip_prefix(root).unwrap().display().to_string();
                files.insert(name, std::fs::read(entry.path()).unwrap());
            }
        }
    }
    // The record of a drop and its report say when, and the report seals that.
    let says_when = ["at = ", "\"at\": ", "\"check\": "];
    for (name, text) in &mut files {
        if name.starts_with("docs/") {
            let lines = std::str::from_utf8(text).unwrap().lines();
            let lines = lines.filter(|line| !says_when.iter().any(|start| line.trim().starts_with(start)));
            *text = lines.collect::<Vec<_>>().join("\n").into_bytes();
        }
    }
    files
}

/// How many files below a folder hold what a person wrote by hand.
fn by_hand(root: &Path) -> usize {
    let entries = walkdir::WalkDir::new(root).into_iter().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().is_file());
    files.filter(|entry| std::fs::read(entry.path()).is_ok_and(|text| holds(&text))).count()
}

fn holds(text: &[u8]) -> bool {
    text.windows(BY_HAND.len()).any(|window| window == BY_HAND.as_bytes())
}

/// What came of all points of a command.
#[derive(Default)]
struct Tally {
    untouched: usize,
    interrupted: usize,
    finished: usize,
}

fn is_pending(root: &Path) -> bool {
    ["journal", "journal.undo"].iter().any(|name| root.join(".overlaid/edits").join(name).exists())
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Looks at what a run left behind, and lets a person go on.
fn assert_recovers(
    scene: &Scene,
    root: &Path,
    ended: &Output,
    (old, new): (&Files, &Files),
    context: &str,
    tally: &mut Tally,
) {
    assert!(by_hand(root) >= by_hand(scene.project.path()), "{context}: what was written by hand is lost");
    if is_pending(root) {
        tally.interrupted += 1;
        let said = run(root, &["status"]);
        assert_eq!(said.status.code(), Some(4), "{context}: {said:?}");
        let other = copy_of(root);
        for (folder, word, expected) in [(other.path(), "--abort", old), (root, "--continue", new)] {
            assert!(stderr(&said).contains(&format!("overlaid bump {word}")), "{context}: {said:?}");
            let output = run(folder, &["bump", word]);
            assert!(output.status.success(), "{context} {word}: {output:?}");
            let found = own(folder);
            let differs: Vec<_> =
                expected.iter().filter(|(name, text)| found.get(*name) != Some(text)).collect();
            assert!(found == *expected, "{context} {word}: {differs:?}");
        }
        // Taken back, it can be done again.
        let output = run(other.path(), &scene.args);
        assert!(output.status.success(), "{context}, again: {output:?}");
        assert!(own(other.path()) == *new, "{context}: taken back, and done again");
        return;
    }
    let now = own(root);
    assert!(now == *old || now == *new, "{context}: between old and new: {ended:?}");
    // What does not end well did not do it, or did all of it and says so.
    if now == *old && old != new {
        tally.untouched += 1;
        assert!(!ended.status.success(), "{context}: {ended:?}");
        let output = run(root, &scene.args);
        assert!(output.status.success(), "{context}, again: {output:?}");
        assert!(own(root) == *new, "{context}: done again");
    } else {
        tally.finished += 1;
        // There is nothing left to do; a run that finds so may say that the overlay has gone, or is there.
        let output = run(root, &scene.args);
        assert!(own(root) == *new, "{context}: finished");
        let is_answer = match output.status.code() {
            Some(0 | 2) => true,
            code => code == Some(3) && stderr(&output).contains("hint: "),
        };
        assert!(is_answer, "{context}, once more: {output:?}");
    }
}

const COMMANDS: [&[&str]; 9] = [
    &["init"],
    &["import", "mail", "mails"],
    &["refresh", "whole"],
    &["refresh", "whole", "--new", "other", "--reason", "more"],
    &["refresh", "--undo"],
    &["rename", "whole", "better"],
    &["split", "parts", "--hunks", "2", "--new", "half", "--reason", "half of it"],
    &["drop", "comment", "--by", "Ada"],
    &["edit", "whole", "--again"],
];

#[test]
fn killed_or_without_space_at_any_write_nothing_is_lost_and_the_next_run_knows_how_to_go_on() {
    if !can_trace() {
        return;
    }
    println!("command            | points | untouched | interrupted | finished");
    for args in COMMANDS {
        let scene = scene(args);
        let old = own(scene.project.path());
        let whole = copy_of(scene.project.path());
        let (output, points) = points(whole.path(), args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        let new = own(whole.path());
        assert_eq!(old == new, args[0] == "edit", "{args:?}");
        let mut tally = Tally::default();
        let tried: Vec<Point> = points.iter().copied().step_by(stride(4)).collect();
        for (at, point) in tried.iter().enumerate() {
            let fate = if at % 3 == 2 { Fate::Failed } else { Fate::Killed };
            let copy = copy_of(scene.project.path());
            let ended = run_to(copy.path(), args, *point, fate);
            let context = format!("{args:?} {fate:?} at {point:?}");
            assert_recovers(&scene, copy.path(), &ended, (&old, &new), &context, &mut tally);
        }
        let Tally { untouched, interrupted, finished } = tally;
        let name = args[..args.len().min(2)].join(" ");
        println!("{name:<18} | {:>6} | {untouched:>9} | {interrupted:>11} | {finished:>8}", tried.len());
    }
}

#[test]
fn a_rename_that_was_killed_before_the_folder_of_edit_moved_is_finished_by_the_same_command() {
    let args = ["rename", "whole", "better"];
    let scene = scene(&args);
    let folder = scene.project.path().join(".overlaid/edit");
    scene.ok(&args);
    // As if it had been killed before its last step.
    std::fs::rename(folder.join("better"), folder.join("whole")).unwrap();
    let run = scene.project.run(&args).expect(0);
    assert!(run.stderr.contains("the manifest has the new name already"), "{}", run.stderr);
    assert!(holds(&std::fs::read(folder.join("better/k.c")).unwrap()));
    scene.ok(&["refresh", "better"]);
    scene.project.run(&args).expect(2);
}
