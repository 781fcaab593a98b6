//! Lines that came by two ways, and lines that one side of a merge had taken out before.

use super::files;
use crate::support::{Project, Upstream};

/// Twenty lines; each change is a number and what stands there instead.
fn text(changes: &[(usize, &str)]) -> String {
    let line = |number: usize| {
        let change = changes.iter().find(|(changed, _)| *changed == number);
        change.map_or_else(|| format!("int line{number};\n"), |(_, text)| format!("{text}\n"))
    };
    (0..20).map(line).collect()
}

fn commit(upstream: &mut Upstream, subject: &str, changes: &[(usize, &str)]) -> String {
    upstream.commit(subject, &[("k.c", &text(changes))])
}

/// What `status` says of a whole file on `k.c`.
fn look(upstream: &Upstream, base: &str, pin: &str, ours: &str) -> serde_json::Value {
    let project = Project::on(upstream, pin, &files(base).replace("src/kernel.cu", "k.c"));
    project.write("overlays/up/k.c", ours);
    project.run(&["status", "--json", "--no-cache"]).expect(0).json()["overlays"][0]["paths"][0].clone()
}

/// The subjects in a list of commits, in the order of the alphabet.
fn subjects(report: &serde_json::Value, list: &str) -> Vec<String> {
    let commits = report[list].as_array().unwrap().iter();
    let mut subjects: Vec<String> =
        commits.map(|commit| commit["subject"].as_str().unwrap().to_owned()).collect();
    subjects.sort();
    subjects
}

/// The subjects of the commits whose lines are brought back.
fn removed_by(report: &serde_json::Value) -> Vec<String> {
    let notes = report["notes"].as_array().unwrap().iter().filter(|note| note["code"] == "resurrects");
    notes.map(|note| note["by"]["subject"].as_str().unwrap().to_owned()).collect()
}

const FIX: (usize, &str) = (5, "int FIX;");
const OTHER: (usize, &str) = (12, "int OTHER;");
const OURS: (usize, &str) = (17, "int our;");

/// Merges `side` into `main` as git does, without a conflict.
fn merge(upstream: &mut Upstream) -> String {
    upstream.git(&["checkout", "-q", "main"]);
    upstream.run_dated(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    upstream.git(&["rev-parse", "HEAD"])
}

#[test]
fn both_commits_that_brought_a_line_are_undone_by_who_lacks_it() {
    let mut upstream = Upstream::new();
    let base = commit(&mut upstream, "base", &[]);
    commit(&mut upstream, "fix on main", &[FIX]);
    upstream.git(&["checkout", "-q", "-b", "side", &base]);
    commit(&mut upstream, "other on side", &[OTHER]);
    let side = commit(&mut upstream, "pick of the fix on side", &[FIX, OTHER]);
    let pin = merge(&mut upstream);
    // The merge has the very content of the side, so it is no commit that touches the path.
    assert_eq!(upstream.show(&pin, "k.c"), upstream.show(&side, "k.c"));
    let report = look(&upstream, &base, &pin, &text(&[OTHER, OURS]));
    assert_eq!(subjects(&report, "undoes"), ["fix on main", "pick of the fix on side"]);
    assert_eq!(subjects(&report, "included"), ["other on side"]);
    let report = look(&upstream, &base, &pin, &text(&[FIX, OURS]));
    assert_eq!(subjects(&report, "undoes"), ["other on side"]);
    assert_eq!(subjects(&report, "included"), ["fix on main", "pick of the fix on side"]);
}

#[test]
fn a_fix_that_was_picked_and_then_merged_with_more_is_undone_as_a_whole() {
    let mut upstream = Upstream::new();
    let base = commit(&mut upstream, "base", &[]);
    commit(&mut upstream, "fix on main", &[FIX]);
    commit(&mut upstream, "more on main", &[FIX, (1, "int more;")]);
    upstream.git(&["checkout", "-q", "-b", "side", &base]);
    commit(&mut upstream, "other on side", &[OTHER]);
    commit(&mut upstream, "pick of the fix on side", &[FIX, OTHER]);
    let pin = merge(&mut upstream);
    let report = look(&upstream, &base, &pin, &text(&[OTHER, OURS]));
    assert_eq!(subjects(&report, "undoes"), ["fix on main", "more on main", "pick of the fix on side"]);
    let report = look(&upstream, &base, &pin, &text(&[FIX, OURS]));
    assert_eq!(subjects(&report, "undoes"), ["more on main", "other on side"]);
    assert_eq!(subjects(&report, "included"), ["fix on main", "pick of the fix on side"]);
}

#[test]
fn picks_both_ways_that_end_in_one_content_are_told_apart() {
    let mut upstream = Upstream::new();
    let base = commit(&mut upstream, "base", &[]);
    commit(&mut upstream, "fix on main", &[FIX]);
    let main = commit(&mut upstream, "pick of other on main", &[FIX, OTHER]);
    upstream.git(&["checkout", "-q", "-b", "side", &base]);
    upstream.commit("beside", &[("z", "z\n")]);
    commit(&mut upstream, "other on side", &[OTHER]);
    let side = commit(&mut upstream, "pick of fix on side", &[FIX, OTHER]);
    assert_eq!(upstream.show(&main, "k.c"), upstream.show(&side, "k.c"));
    let pin = merge(&mut upstream);
    let report = look(&upstream, &base, &pin, &text(&[FIX, OURS]));
    assert_eq!(subjects(&report, "undoes"), ["other on side", "pick of other on main"]);
    assert_eq!(subjects(&report, "included"), ["fix on main", "pick of fix on side"]);
    // The line that the other ones took out is back; both of them took it out.
    let by = removed_by(&report);
    assert!(by == ["other on side"] || by == ["pick of other on main"], "{by:?}");
}

/// An upstream whose side takes `line5` out, or whose main does, and then both are merged: the base, the commit before the
/// merge, the merge, and one after it.
fn removed_on(branch: &str) -> (Upstream, [String; 4]) {
    let mut upstream = Upstream::new();
    let base = commit(&mut upstream, "base", &[]);
    upstream.git(&["checkout", "-q", "-b", "side"]);
    let (on_side, on_main) = match branch {
        "side" => ((5, "int other_five;"), (15, "int fifteen;")),
        _ => ((15, "int fifteen;"), (5, "int other_five;")),
    };
    let subject = |(line, _): (usize, &str)| if line == 5 { "removes line5" } else { "another line" };
    commit(&mut upstream, subject(on_side), &[on_side]);
    upstream.git(&["checkout", "-q", "main"]);
    let before = commit(&mut upstream, subject(on_main), &[on_main]);
    let merged = merge(&mut upstream);
    let pin = commit(&mut upstream, "tail", &[on_side, on_main, (19, "int tail;")]);
    (upstream, [base, before, merged, pin])
}

#[test]
fn the_commit_that_removed_a_line_is_named_and_not_the_clean_merge_after_it() {
    for branch in ["main", "side"] {
        let (upstream, [base, before, merged, pin]) = removed_on(branch);
        let ours = text(&[(15, "int fifteen;"), (19, "int tail;"), OURS]);
        let by_git = upstream.git(&["log", "-S", "int line5;", "--format=%s", "-1", &pin, "--", "k.c"]);
        assert_eq!(by_git, "removes line5");
        for base in [&base, &before, &merged, &pin] {
            assert_eq!(removed_by(&look(&upstream, base, &pin, &ours)), ["removes line5"], "{branch} {base}");
        }
    }
}

#[test]
fn the_side_that_removed_a_line_is_followed_over_merges_of_its_own() {
    let mut upstream = Upstream::new();
    let base = commit(&mut upstream, "base", &[]);
    upstream.git(&["checkout", "-q", "-b", "old"]);
    commit(&mut upstream, "old", &[(15, "int fifteen;")]);
    upstream.git(&["checkout", "-q", "-b", "side", "main"]);
    commit(&mut upstream, "removes line5", &[(5, "int other_five;")]);
    upstream.git(&["checkout", "-q", "main"]);
    commit(&mut upstream, "main", &[(1, "int one;")]);
    merge(&mut upstream);
    upstream.run_dated(&["merge", "-q", "--no-ff", "-m", "merge of old", "old"]);
    let pin = upstream.git(&["rev-parse", "HEAD"]);
    let all = [(15, "int fifteen;"), (1, "int one;"), OURS];
    for base in [&base, &pin] {
        assert_eq!(removed_by(&look(&upstream, base, &pin, &text(&all))), ["removes line5"], "{base}");
    }
}

#[test]
fn a_merge_that_takes_out_what_both_its_sides_have_is_named() {
    let mut upstream = Upstream::new();
    let base = commit(&mut upstream, "base", &[]);
    upstream.git(&["checkout", "-q", "-b", "side"]);
    commit(&mut upstream, "side", &[(15, "int fifteen;")]);
    upstream.git(&["checkout", "-q", "main"]);
    commit(&mut upstream, "main", &[(1, "int one;")]);
    upstream.run_dated(&["merge", "-q", "--no-commit", "--no-ff", "side"]);
    let merged = [(15, "int fifteen;"), (1, "int one;"), (5, "int evil;")];
    let pin = commit(&mut upstream, "evil merge", &merged);
    let ours = text(&[(15, "int fifteen;"), (1, "int one;"), OURS]);
    for base in [&base, &pin] {
        assert_eq!(removed_by(&look(&upstream, base, &pin, &ours)), ["evil merge"], "{base}");
    }
}

#[test]
fn what_one_side_brought_again_after_it_was_removed_is_left_out_by_the_merge() {
    let mut upstream = Upstream::new();
    commit(&mut upstream, "base", &[]);
    let without = commit(&mut upstream, "removes line5", &[(5, "int five;")]);
    upstream.git(&["checkout", "-q", "-b", "side"]);
    commit(&mut upstream, "brings it back", &[]);
    upstream.git(&["checkout", "-q", "main"]);
    commit(&mut upstream, "main", &[(5, "int five;"), (1, "int one;")]);
    upstream.run_dated(&["merge", "-q", "-s", "ours", "-m", "merge of ours", "side"]);
    let pin = upstream.git(&["rev-parse", "HEAD"]);
    let ours = text(&[(1, "int one;"), OURS]);
    for base in [&without, &pin] {
        assert_eq!(removed_by(&look(&upstream, base, &pin, &ours)), ["merge of ours"], "{base}");
    }
}
