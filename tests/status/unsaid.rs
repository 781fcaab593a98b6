//! A change on what an earlier overlay makes, that does not say so.

use serde_json::Value;

use crate::support::{Project, Upstream};

const TEXT: &str = "int a;\nint b;\nint c;\nint d;\nint e;\nint f;\nint g;\nint h;\n";

/// A patch of `k.c` that replaces a line, with this text around it.
fn replace(text: &str, old: &str, new: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| *line == old).unwrap();
    let (first, end) = (at.saturating_sub(1), (at + 2).min(lines.len()));
    let count = end - first;
    let body: String = (first..end)
        .map(|line| if line == at { format!("-{old}\n+{new}\n") } else { format!(" {}\n", lines[line]) })
        .collect();
    format!("--- a/k.c\n+++ b/k.c\n@@ -{0},{count} +{0},{count} @@\n{body}", first + 1)
}

fn patch(name: &str, base: &str, more: &str) -> String {
    format!("\n[[overlay]]\nname = \"{name}\"\nbase = \"{base}\"\npatch = \"{name}.patch\"\n{more}")
}

fn look(project: &Project, name: &str) -> Value {
    let document = project.run(&["status", "--json", name]).expect(0).json();
    document["overlays"][0]["paths"][0].clone()
}

/// What it is said to need, if anything.
fn missing(path: &Value) -> Vec<&str> {
    let notes = path["notes"].as_array().unwrap();
    let note = notes.iter().find(|note| note["code"] == "needs-missing");
    note.map_or_else(Vec::new, |note| {
        note["overlays"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
    })
}

/// The findings of `verify` about an overlay, with their hints.
fn findings(project: &Project, name: &str) -> Vec<(String, String)> {
    let document = project.run(&["--json", "verify"]).json();
    let findings = document["findings"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    findings.filter(|f| f["overlay"] == name).map(|f| (text(&f["code"]), text(&f["hint"]))).collect()
}

/// `y` changes a line between two that `x` changes.
fn stacked() -> (Upstream, String, String) {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", TEXT)]);
    let on_x = TEXT.replace("int c;", "int c_x;");
    (upstream, base, replace(&on_x, "int d;", "int d_y;"))
}

#[test]
fn a_patch_on_the_lines_of_another_one_lacks_a_word_and_upstream_did_not_move() {
    let (upstream, base, y) = stacked();
    let project = Project::on(&upstream, &base, &(patch("x", &base, "") + &patch("y", &base, "")));
    project.write("overlays/up/x.patch", replace(TEXT, "int c;", "int c_x;"));
    project.write("overlays/up/y.patch", &y);
    project.run(&["apply"]).expect(0);
    assert_eq!(look(&project, "x")["state"], "fresh");
    let path = look(&project, "y");
    assert_eq!((&path["state"], missing(&path)), (&"unknown".into(), vec!["x"]));
    assert_eq!(
        path["why"],
        "it fits on what overlay `x` makes of the path, and `needs = [\"x\"]` is missing"
    );
    let shown = project.run(&["status"]).expect(0).stdout;
    assert!(shown.contains("mend") && !shown.contains("upstream moved"), "{shown}");
    let hint = "if it is meant to stand there, add `needs = [\"x\"]`";
    assert_eq!(findings(&project, "y"), [("needs-missing".to_owned(), hint.to_owned())]);
    // With the word, all is well.
    let manifest = project.read("manifests/up.toml");
    project.write("manifests/up.toml", manifest + "needs = [\"x\"]\n");
    assert_eq!(look(&project, "y")["state"], "fresh");
    assert_eq!(findings(&project, "y"), []);
}

#[test]
fn upstream_that_moved_is_said_to_have_moved_all_the_same() {
    let (mut upstream, base, y) = stacked();
    let elsewhere = upstream.commit("elsewhere", &[("k.c", &TEXT.replace("int h;", "int h_up;"))]);
    let clash = upstream.commit("clash", &[("k.c", &TEXT.replace("int d;", "int d_up;"))]);
    let overlays = patch("x", &base, "") + &patch("y", &base, "");
    let project = Project::on(&upstream, &elsewhere, &overlays);
    project.write("overlays/up/x.patch", replace(TEXT, "int c;", "int c_x;"));
    project.write("overlays/up/y.patch", &y);
    let path = look(&project, "y");
    assert_eq!((&path["state"], missing(&path)), (&"unknown".into(), vec!["x"]), "{path:#}");
    assert_eq!(findings(&project, "y")[0].0, "needs-missing");
    // `x` fits both, `y` fits the base on it, and the pin not even there.
    let project = Project::on(&upstream, &clash, &overlays);
    project.write(
        "overlays/up/x.patch",
        "--- a/k.c\n+++ b/k.c\n@@ -1,3 +1,3 @@\n int a;\n-int b;\n+int b_x;\n int c;\n",
    );
    let on_x = TEXT.replace("int b;", "int b_x;");
    let y = replace(&on_x, "int d;", "int d_y;")
        .replace("@@ -3,3 +3,3 @@\n int c;", "@@ -2,4 +2,4 @@\n int b_x;\n int c;");
    project.write("overlays/up/y.patch", y);
    let path = look(&project, "y");
    assert_eq!((&path["state"], missing(&path)), (&"stale-conflict".into(), vec!["x"]), "{path:#}");
    let why = path["why"].as_str().unwrap();
    assert!(
        why.starts_with("upstream changed the path, and it no longer applies; at its base it fits on"),
        "{why}"
    );
    assert_eq!(findings(&project, "y")[0].0, "stale");
}

#[test]
fn a_patch_that_fits_its_base_alone_is_stale_though_an_earlier_overlay_takes_upstream_back() {
    let (mut upstream, base, _) = stacked();
    let pin = upstream.commit("change c", &[("k.c", &TEXT.replace("int c;", "int c_up;"))]);
    let back = format!("\n[[overlay]]\nname = \"back\"\nbase = \"{base}\"\nfiles = [\"k.c\"]\n");
    let project = Project::on(&upstream, &pin, &(back + &patch("y", &base, "")));
    project.write("overlays/up/k.c", TEXT);
    project.write("overlays/up/y.patch", replace(TEXT, "int d;", "int d_y;"));
    project.run(&["apply"]).expect(0);
    let path = look(&project, "y");
    assert_eq!((&path["state"], missing(&path)), (&"stale-conflict".into(), vec!["back"]));
    let found = findings(&project, "y").remove(0);
    assert!(found.0 == "stale" && found.1.contains("add `needs = [\"back\"]`"), "{found:?}");
}

#[test]
fn only_what_is_needed_is_named_and_nothing_that_comes_later_or_is_never_on_with_it() {
    let (upstream, base, _) = stacked();
    let on_two = TEXT.replace("int c;", "int c_x;").replace("int e;", "int e_w;");
    let y = replace(&on_two, "int d;", "int d_y;");
    let exclusive = "\n[features]\nexclusive = [[\"cuda\", \"rocm\"]]\n";
    for (x, w, y_more, expected) in [
        ("", "", "", &["x", "w"][..]),
        ("", "needs = [\"x\"]\n", "", &["w"]),
        ("", "", "needs = [\"x\"]\n", &["w"]),
        ("when = [\"cuda\"]\n", "", "when = [\"rocm\"]\n", &[]),
    ] {
        let tables = exclusive.to_owned()
            + &patch("other", &base, "")
            + &patch("x", &base, x)
            + &patch("w", &base, w)
            + &patch("y", &base, y_more);
        let project = Project::on(&upstream, &base, &tables);
        project.write("overlays/up/other.patch", replace(TEXT, "int h;", "int h_o;"));
        project.write("overlays/up/x.patch", replace(TEXT, "int c;", "int c_x;"));
        project.write("overlays/up/w.patch", replace(TEXT, "int e;", "int e_w;"));
        project.write("overlays/up/y.patch", &y);
        let path = look(&project, "y");
        assert_eq!(missing(&path), expected, "{path:#}");
        assert_eq!(path["state"], if expected.is_empty() { "stale-conflict" } else { "unknown" });
    }
    // What comes later is not below it.
    let project = Project::on(&upstream, &base, &(patch("y", &base, "") + &patch("x", &base, "")));
    project.write("overlays/up/x.patch", replace(TEXT, "int c;", "int c_x;"));
    project.write("overlays/up/y.patch", stacked().2);
    let path = look(&project, "y");
    assert_eq!((&path["state"], missing(&path)), (&"stale-conflict".into(), vec![]));
}

#[test]
fn what_was_found_out_of_a_patch_does_not_outlast_a_change_of_the_one_below() {
    let (upstream, base, y) = stacked();
    let project = Project::on(&upstream, &base, &(patch("x", &base, "") + &patch("y", &base, "")));
    project.write("overlays/up/x.patch", replace(TEXT, "int h;", "int h_x;"));
    project.write("overlays/up/y.patch", &y);
    for _ in 0..2 {
        assert_eq!(look(&project, "y")["state"], "stale-conflict");
    }
    project.write("overlays/up/x.patch", replace(TEXT, "int c;", "int c_x;"));
    assert_eq!(missing(&look(&project, "y")), ["x"]);
}

#[test]
fn a_commit_that_stands_on_a_patch_is_told_so_too() {
    let (mut upstream, base, _) = stacked();
    let on_x = TEXT.replace("int c;", "int c_x;");
    upstream.commit("x", &[("k.c", &on_x)]);
    let y = upstream.commit("y", &[("k.c", &on_x.replace("int d;", "int d_y;"))]);
    upstream.git(&["reset", "-q", "--hard", &base]);
    upstream.git(&["update-ref", "refs/heads/ours", &y]);
    let pick = format!("\n[[overlay]]\nname = \"y\"\nbase = \"{base}\"\nfrom = {{ commits = [\"{y}\"] }}\n");
    let project = Project::on(&upstream, &base, &(patch("x", &base, "") + &pick));
    project.write("overlays/up/x.patch", replace(TEXT, "int c;", "int c_x;"));
    let path = look(&project, "y");
    assert_eq!((&path["state"], missing(&path)), (&"unknown".into(), vec!["x"]), "{path:#}");
}
