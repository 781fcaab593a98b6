//! Lines that an overlay brings back, whoever removed them; and commits that upstream itself took back.

use super::{V1, files};
use crate::support::{Project, Upstream};

/// The lines of a file, one of them another one.
fn text(number: usize, line: &str) -> String {
    let line_of = |n: usize| if n == number { format!("{line}\n") } else { format!("int line{n};\n") };
    (0..20).map(line_of).collect()
}

fn look(upstream: &Upstream, base: &str, pin: &str, path: &str, content: &str) -> serde_json::Value {
    let project = Project::on(upstream, pin, &files(base).replace("src/kernel.cu", path));
    project.write(&format!("overlays/up/{path}"), content);
    project.run(&["status", "--json", "--no-cache"]).expect(0).json()["overlays"][0]["paths"][0].clone()
}

/// The lines that are brought back, and the subjects of the commits that removed them.
fn brought_back(report: &serde_json::Value) -> Vec<(String, String)> {
    let notes = report["notes"].as_array().unwrap().iter().filter(|note| note["code"] == "resurrects");
    let lines = notes.flat_map(|note| {
        let by = note["by"]["subject"].as_str().unwrap();
        let lines = note["lines"].as_array().unwrap().iter();
        lines.map(move |line| (line["text"].as_str().unwrap().to_owned(), by.to_owned()))
    });
    lines.collect()
}

fn one(line: &str, by: &str) -> Vec<(String, String)> {
    vec![(line.to_owned(), by.to_owned())]
}

/// An upstream whose main line has a fix that a merge leaves out: base, the commit before the merge, and the merge.
fn left_out_by_a_merge() -> (Upstream, [String; 3]) {
    let mut upstream = Upstream::new();
    let base = upstream.commit("base", &[("k.c", &text(99, ""))]);
    upstream.git(&["checkout", "-q", "-b", "side"]);
    upstream.commit("side", &[("k.c", &text(12, "int side;"))]);
    upstream.git(&["checkout", "-q", "main"]);
    let fixed = upstream.commit("fix", &[("k.c", &text(5, "int FIX_ME;"))]);
    upstream.run_dated(&["merge", "-q", "--no-commit", "-s", "ours", "side"]);
    upstream.git(&["checkout", "-q", "side", "--", "k.c"]);
    let merge = upstream.commit_all("merge that leaves the fix out");
    (upstream, [base, fixed, merge])
}

#[test]
fn lines_that_a_merge_left_out_are_brought_back() {
    let (mut upstream, [base, fixed, merge]) = left_out_by_a_merge();
    let ours = text(12, "int side;").replace("int line5;", "int FIX_ME;");
    let expected = one("int FIX_ME;", "merge that leaves the fix out");
    assert_eq!(brought_back(&look(&upstream, &merge, &merge, "k.c", &ours)), expected);
    assert_eq!(brought_back(&look(&upstream, &base, &merge, "k.c", &ours)), expected);
    assert_eq!(brought_back(&look(&upstream, &fixed, &merge, "k.c", &ours)), expected);
    // The same, with more after it.
    let later = text(12, "int side;").replace("int line2;", "int later;");
    let pin = upstream.commit("later", &[("k.c", &later)]);
    let ours = later.replace("int line5;", "int FIX_ME;");
    assert_eq!(brought_back(&look(&upstream, &merge, &pin, "k.c", &ours)), expected);
    assert_eq!(brought_back(&look(&upstream, &base, &pin, "k.c", &ours)), expected);
}

#[test]
fn lines_that_a_merge_of_both_sides_left_out_are_brought_back() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("base", &[("k.c", &text(99, ""))]);
    upstream.git(&["checkout", "-q", "-b", "side"]);
    upstream.commit("side", &[("k.c", &text(12, "int side;"))]);
    upstream.git(&["checkout", "-q", "main"]);
    upstream.commit("fix", &[("k.c", &text(5, "int FIX_ME;"))]);
    upstream.run_dated(&["merge", "-q", "--no-commit", "side"]);
    let merged = text(12, "int side;").replace("int line5;", "int neither;");
    let pin = upstream.commit("merge", &[("k.c", &merged)]);
    let ours = merged.replace("int neither;", "int FIX_ME;");
    for base in [&base, &pin] {
        assert_eq!(
            brought_back(&look(&upstream, base, &pin, "k.c", &ours)),
            one("int FIX_ME;", "merge"),
            "{base}"
        );
    }
}

#[test]
fn a_side_that_came_in_whole_left_nothing_out() {
    let mut upstream = Upstream::new();
    upstream.commit("base", &[("k.c", &text(99, ""))]);
    upstream.git(&["checkout", "-q", "-b", "side"]);
    upstream.commit("side", &[("k.c", &text(12, "int side;"))]);
    upstream.git(&["checkout", "-q", "main"]);
    upstream.commit("beside", &[("README", "read me\n")]);
    upstream.run_dated(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    let pin = upstream.git(&["rev-parse", "HEAD"]);
    let ours = text(12, "int side;").replace("int line5;", "int ours;");
    assert_eq!(brought_back(&look(&upstream, &pin, &pin, "k.c", &ours)), []);
    let ours = text(99, "").replace("int line5;", "int ours;");
    assert_eq!(
        brought_back(&look(&upstream, &pin, &pin, "k.c", &ours)),
        one("int line12;", "side"),
        "the side's own commit took that line out"
    );
}

#[test]
fn a_file_that_upstream_removed_is_brought_back() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("base", &[("k.c", "int gone;\nint gone_too;\n"), ("z", "")]);
    let pin = upstream.remove("remove it", &["k.c"]);
    let report = look(&upstream, &pin, &pin, "k.c", "int gone;\nint ours;\n");
    assert_eq!(report["state"], "new");
    assert_eq!(brought_back(&report), one("int gone;", "remove it"));
    // Where the overlay stood on it, the state says that it is gone, and by which commit.
    let report = look(&upstream, &base, &pin, "k.c", "int gone;\nint ours;\n");
    assert_eq!((&report["state"], &report["by"]["subject"]), (&"gone".into(), &"remove it".into()));
    assert_eq!(brought_back(&report), []);
}

#[test]
fn a_file_that_came_and_went_between_base_and_pin_is_brought_back() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("base", &[("z", "")]);
    upstream.commit("add it", &[("k.c", "int gone;\n")]);
    let pin = upstream.remove("remove it", &["k.c"]);
    assert_eq!(
        brought_back(&look(&upstream, &base, &pin, "k.c", "int gone;\n")),
        one("int gone;", "remove it")
    );
}

#[test]
fn lines_from_before_the_file_moved_are_brought_back() {
    let mut upstream = Upstream::new();
    upstream.commit("base", &[("old.c", &text(3, "int old_three;"))]);
    upstream.commit("remove old_three", &[("old.c", &text(99, ""))]);
    upstream.git(&["mv", "old.c", "mid.c"]);
    let moved = upstream.commit_all("move it");
    upstream.commit("mid_four", &[("mid.c", &text(4, "int mid_four;"))]);
    std::fs::create_dir(upstream.path().join("src")).unwrap();
    upstream.git(&["mv", "mid.c", "src/new.c"]);
    std::fs::write(upstream.path().join("src/new.c"), text(99, "")).unwrap();
    let pin = upstream.commit_all("move it again and remove mid_four");
    // Another file of the old name has nothing to do with it.
    upstream.commit("another one", &[("old.c", &text(6, "int other_six;"))]);
    let pin_later = upstream.commit("change that", &[("old.c", &text(99, ""))]);
    for pin in [&pin, &pin_later] {
        let mut ours = text(3, "int old_three;").replace("int line4;", "int mid_four;");
        ours.push_str("int other_six;\n");
        let mut expected = one("int mid_four;", "move it again and remove mid_four");
        expected.extend(one("int old_three;", "remove old_three"));
        assert_eq!(brought_back(&look(&upstream, pin, pin, "src/new.c", &ours)), expected);
        // However many overlays ask.
        assert_eq!(brought_back(&look(&upstream, &moved, pin, "src/new.c", &ours)), expected);
    }
}

#[test]
fn what_upstream_itself_took_back_is_not_undone() {
    let subjects = |report: &serde_json::Value, key: &str| -> Vec<String> {
        let commits = report[key].as_array().unwrap().iter();
        commits.map(|commit| commit["subject"].as_str().unwrap().to_owned()).collect()
    };
    for more in [None, Some(("depth = 1", "depth = 2"))] {
        let mut upstream = Upstream::new();
        let also = |text: &str| more.map_or(text.to_owned(), |(old, new)| text.replace(old, new));
        let base = upstream.commit("base", &[("src/kernel.cu", V1)]);
        upstream.commit("fix", &[("src/kernel.cu", &V1.replace("width = 1", "width = 2"))]);
        upstream.commit("revert", &[("src/kernel.cu", &also(V1))]);
        let pin = upstream.commit("own", &[("src/kernel.cu", &also(&V1.replace("width = 1", "width = 7")))]);
        let ours = also(V1).replace("height = 1", "height = 9");
        let report = look(&upstream, &base, &pin, "src/kernel.cu", &ours);
        assert_eq!(subjects(&report, "undoes"), ["own"]);
        assert_eq!(subjects(&report, "included"), ["fix", "revert"]);
    }
}
