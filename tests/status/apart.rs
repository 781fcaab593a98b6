//! Each path of an overlay has a state of its own, whatever becomes of the others.

use std::collections::BTreeMap;

use crate::support::{Project, Upstream};

const A: &str = "int a1;\nint a2;\nint a3;\n";
const B: &str = "int b1;\nint b2;\nint b3;\n";

/// A patch of one line of a file.
fn change(path: &str, text: &str, old: &str, new: &str) -> String {
    let count = text.lines().count();
    let lines = text.lines().map(|line| match line == old {
        true => format!("-{old}\n+{new}\n"),
        false => format!(" {line}\n"),
    });
    let lines: String = lines.collect();
    format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,{count} +1,{count} @@\n{lines}")
}

fn patch(name: &str, base: &str, more: &str) -> String {
    format!("\n[[overlay]]\nname = \"{name}\"\nbase = \"{base}\"\npatch = \"{name}.patch\"\n{more}")
}

/// The states of an overlay's paths, and why they are so.
fn states(project: &Project, name: &str) -> BTreeMap<String, (String, String)> {
    let document = project.run(&["status", "--json", "--no-cache", name]).expect(0).json();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let paths = document["overlays"][0]["paths"].as_array().unwrap().iter();
    paths.map(|path| (text(&path["path"]), (text(&path["state"]), text(&path["why"])))).collect()
}

fn just(states: &BTreeMap<String, (String, String)>) -> Vec<(&str, &str)> {
    states.iter().map(|(path, (state, _))| (path.as_str(), state.as_str())).collect()
}

/// An upstream that changes a line of `a.c` that we change, too, and leaves `b.c` as it is: base and pin.
fn moved_on_a() -> (Upstream, String, String) {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("a.c", A), ("b.c", B)]);
    let pin = upstream.commit("change a2", &[("a.c", &A.replace("int a2;", "int theirs;"))]);
    (upstream, base, pin)
}

#[test]
fn a_file_of_a_patch_that_conflicts_says_nothing_of_the_others() {
    let (upstream, base, pin) = moved_on_a();
    let project = Project::on(&upstream, &pin, &patch("both", &base, ""));
    let text = change("a.c", A, "int a2;", "int ours;") + &change("b.c", B, "int b2;", "int ours;");
    project.write("overlays/up/both.patch", text);
    assert_eq!(just(&states(&project, "both")), [("a.c", "stale-conflict"), ("b.c", "fresh")]);
}

#[test]
fn a_commit_that_conflicts_on_one_path_says_nothing_of_the_others() {
    let (mut upstream, base, pin) = moved_on_a();
    upstream.git(&["checkout", "-q", "-b", "topic", &base]);
    let ours = |text: &str| text.replace("2;", "2_ours;");
    let commit = upstream.commit("ours", &[("a.c", &ours(A)), ("b.c", &ours(B))]);
    let table =
        format!("\n[[overlay]]\nname = \"pick\"\nbase = \"{base}\"\nfrom = {{ commits = [\"{commit}\"] }}\n");
    let project = Project::on(&upstream, &pin, &table);
    assert_eq!(just(&states(&project, "pick")), [("a.c", "stale-conflict"), ("b.c", "fresh")]);
    // A second commit on that path is not tried on what the first one should have made.
    let second = upstream.commit("ours, too", &[("a.c", &ours(A).replace("int a1;", "int one;"))]);
    let two = table.replace(&format!("\"{commit}\""), &format!("\"{commit}\", \"{second}\""));
    let project = Project::on(&upstream, &pin, &two);
    assert_eq!(just(&states(&project, "pick")), [("a.c", "stale-conflict"), ("b.c", "fresh")]);
}

#[test]
fn files_that_a_patch_moves_stand_or_fall_together() {
    let (upstream, base, pin) = moved_on_a();
    let project = Project::on(&upstream, &pin, &patch("moves", &base, ""));
    let body = change("a.c", A, "int a2;", "int ours;");
    let body = body.split_once("@@").unwrap().1;
    let text = format!(
        "diff --git a/a.c b/c.c\nsimilarity index 60%\nrename from a.c\nrename to c.c\n--- a/a.c\n+++ b/c.c\n@@{body}"
    ) + &change("b.c", B, "int b2;", "int ours;");
    project.write("overlays/up/moves.patch", text);
    let states = states(&project, "moves");
    assert_eq!((states["a.c"].0.as_str(), states["b.c"].0.as_str()), ("stale-conflict", "fresh"));
    assert_eq!(states["c.c"].0, "stale-conflict", "what is not made is not new there");
}

#[test]
fn an_overlay_that_is_needed_and_fails_leaves_what_it_does_not_touch() {
    let (upstream, base, pin) = moved_on_a();
    let tables = patch("below", &base, "") + &patch("top", &base, "needs = [\"below\"]\n");
    let project = Project::on(&upstream, &pin, &tables);
    project.write(
        "overlays/up/below.patch",
        change("a.c", A, "int a2;", "int ours;") + &change("b.c", B, "int b2;", "int ours;"),
    );
    let below_b = B.replace("int b2;", "int ours;");
    project.write("overlays/up/top.patch", change("b.c", &below_b, "int b3;", "int top;"));
    assert_eq!(just(&states(&project, "below")), [("a.c", "stale-conflict"), ("b.c", "fresh")]);
    assert_eq!(just(&states(&project, "top")), [("b.c", "fresh")]);
    // On what it should have made, nothing can be told.
    let below_a = A.replace("int a2;", "int ours;");
    let text =
        change("a.c", &below_a, "int a3;", "int top;") + &change("b.c", &below_b, "int b3;", "int top;");
    project.write("overlays/up/top.patch", text);
    let states = states(&project, "top");
    assert_eq!(just(&states), [("a.c", "unknown"), ("b.c", "fresh")]);
    assert!(states["a.c"].1.starts_with("it stands on overlay `below`, which does not fit: "), "{states:?}");
}

#[test]
fn a_path_that_cannot_be_read_says_nothing_of_the_others() {
    let mut upstream = Upstream::new();
    let other = upstream.commit("start", &[("a.c", A)]);
    upstream.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{other},third")]);
    upstream.run_dated(&["commit", "-q", "-m", "add a submodule"]);
    let pin = upstream.git(&["rev-parse", "HEAD"]);
    let table =
        format!("\n[[overlay]]\nname = \"ours\"\nbase = \"{pin}\"\nfiles = [\"a.c\", \"third/k.h\"]\n");
    let project = Project::on(&upstream, &pin, &table);
    project.write("overlays/up/a.c", A.replace("int a2;", "int ours;"));
    project.write("overlays/up/third/k.h", "int ours;\n");
    let states = states(&project, "ours");
    assert_eq!(just(&states), [("a.c", "fresh"), ("third/k.h", "unknown")]);
    assert!(states["third/k.h"].1.contains("lies in the submodule third"), "{states:?}");
}
