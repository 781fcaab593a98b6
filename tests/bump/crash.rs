//! The program is killed at every call that changes a file; then a person goes on, or gives up.

use std::collections::BTreeMap;
use std::path::Path;

use super::{NUMBERS, files};
use crate::support::crash::{Fate, can_trace, copy_of, points, run, run_to, stride};
use crate::support::{Project, Upstream};

fn project() -> (Upstream, Project, String) {
    let mut upstream = Upstream::new();
    let letters = "alpha\nbeta\ngamma\ndelta\nepsilon\nzeta\neta\ntheta\n";
    let base = upstream.commit("start", &[("k.c", NUMBERS), ("old/m.c", NUMBERS), ("f.c", letters)]);
    upstream.git(&["rm", "-q", "old/m.c", "f.c"]);
    // A file becomes a folder.
    let new = [("k.c", &*NUMBERS.replace("ten", "TEN")), ("new/m.c", NUMBERS), ("f.c/x", letters)];
    let to = upstream.commit("move", &new);
    let more = "[[upstream.also-pinned]]\nfile = \"pin.txt\"\nregex = '([0-9a-f]{40})'\n".to_owned()
        + &files("one", &base, &["k.c"])
        + &files("two", &base, &["old/m.c"])
        + &files("three", &base, &["f.c"]);
    let project = Project::on(&upstream, &base, &more);
    project.write("overlays/up/k.c", NUMBERS.replace("one", "ONE"));
    project.write("overlays/up/old/m.c", NUMBERS.replace("two", "TWO"));
    project.write("overlays/up/f.c", letters.replace("beta", "BETA"));
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

#[test]
fn killed_at_any_write_it_leaves_old_or_new_or_says_what_to_do() {
    if !can_trace() {
        return;
    }
    let (_upstream, project, to) = project();
    let old = own(project.path());
    let args = ["bump", "--to", &to];
    // A run that is left alone, and what it calls.
    let whole = copy_of(project.path());
    let (output, points) = points(whole.path(), &args);
    assert!(output.status.success(), "{output:?}");
    let new = own(whole.path());
    assert_ne!(old, new);
    assert!(points.len() > 30, "{points:?}");
    let (mut interrupted, mut untouched, mut finished) = (0, 0, 0);
    for (call, count) in points.into_iter().step_by(stride(3)) {
        let copy = copy_of(project.path());
        run_to(copy.path(), &args, (call, count), Fate::Killed);
        let is_pending = [".overlaid/edits/journal", ".overlaid/edits/journal.undo"]
            .iter()
            .any(|file| copy.path().join(file).exists());
        if !is_pending {
            let now = own(copy.path());
            assert!(now == old || now == new, "{call} {count}: between old and new");
            *if now == old { &mut untouched } else { &mut finished } += 1;
            // It can be done again, and gives the same.
            let output = run(copy.path(), &args);
            assert!(output.status.success(), "{call} {count}: {output:?}");
            assert_eq!(own(copy.path()), new, "{call} {count}");
            continue;
        }
        interrupted += 1;
        let output = run(copy.path(), &["status"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{call} {count}: {stderr}");
        assert!(
            stderr.contains("overlaid bump --continue") && stderr.contains("overlaid bump --abort"),
            "{stderr}"
        );
        let other = copy_of(copy.path());
        let output = run(other.path(), &["bump", "--abort"]);
        assert!(output.status.success(), "{call} {count}: {output:?}");
        assert_eq!(own(other.path()), old, "{call} {count}: taken back");
        let output = run(copy.path(), &["bump", "--continue"]);
        assert!(output.status.success(), "{call} {count}: {output:?}");
        assert_eq!(own(copy.path()), new, "{call} {count}: finished");
    }
    assert!(interrupted > 3 && untouched > 3, "{interrupted} {untouched} {finished}");
}
