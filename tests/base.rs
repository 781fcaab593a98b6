//! `base`: the commit that an overlay was derived from, inferred from history.

use serde_json::Value;

use crate::support::{Project, Upstream};

fn kernel(edit: &[(usize, &str)]) -> String {
    let mut lines: Vec<String> = (0..60).map(|n| format!("int value_{n} = compute({n}, width);")).collect();
    for (line, text) in edit {
        (*text).clone_into(&mut lines[*line]);
    }
    lines.join("\n") + "\n"
}

/// An upstream whose kernel has four contents, and moved in the third commit.
fn upstream() -> (Upstream, [String; 4]) {
    let mut upstream = Upstream::new();
    let one = upstream.commit("add", &[("old.cu", &kernel(&[]))]);
    let two = upstream.commit("two", &[("old.cu", &kernel(&[(5, "int five;"), (6, "int six;")]))]);
    std::fs::rename(upstream.path().join("old.cu"), upstream.path().join("k.cu")).unwrap();
    let three = upstream.commit_all("move");
    let edits = [(5, "int five;"), (6, "int six;"), (50, "int fifty;"), (51, "int more;")];
    let four = upstream.commit("four", &[("k.cu", &kernel(&edits))]);
    (upstream, [one, two, three, four])
}

const TABLE: &str = "\n[[overlay]]\nname = \"ours\" # carried\nfiles = [\"k.cu\"]\n";

fn project(upstream: &Upstream, pin: &str, table: &str, content: &str) -> Project {
    let project = Project::on(upstream, pin, table);
    project.write("overlays/up/k.cu", content);
    project
}

fn base(project: &Project, code: i32, args: &[&str]) -> Value {
    let args: Vec<&str> = ["base", "--json"].iter().chain(args).copied().collect();
    project.run(&args).expect(code).json()["overlays"][0].clone()
}

#[test]
fn the_nearest_content_is_found_under_the_name_that_it_had() {
    let (upstream, commits) = upstream();
    let ours = format!("// ours\n{}", kernel(&[(30, "int ours;")]));
    let project = project(&upstream, &commits[3], TABLE, &ours);
    let found = base(&project, 0, &[]);
    assert_eq!(found["base"], commits[0]);
    assert_eq!(found["confidence"], "high");
    let path = &found["paths"][0];
    let first = &path["candidates"][0];
    assert_eq!((&first["path"], &first["until"][0]["id"]), (&"old.cu".into(), &commits[1].clone().into()));
    assert_eq!(first["since"][0]["id"], commits[0]);
    assert_eq!(path["versions"], 4);
    // Of the ten tokens of that line and the three of ours, two are equal.
    assert_eq!(first["distance"], 10 + 3 - 2 * 2);
}

#[test]
fn the_pin_is_the_base_while_it_still_has_the_content() {
    let (upstream, commits) = upstream();
    let edits = [(5, "int five;"), (6, "int six;"), (30, "int ours;")];
    let project = project(&upstream, &commits[2], TABLE, &kernel(&edits));
    assert_eq!(base(&project, 0, &[])["base"], commits[2]);
}

#[test]
fn a_comment_that_names_a_commit_is_held_against_history() {
    let (upstream, commits) = upstream();
    let named = |commit: &str| format!("// Synced to upstream `{commit}`\n{}", kernel(&[(30, "int ours;")]));
    let right = project(&upstream, &commits[3], TABLE, &named(&commits[0][..10]));
    // The path had another name then, so the commit is right though the path is not there.
    assert_eq!(base(&right, 0, &[])["base"], commits[0]);
    let wrong = project(&upstream, &commits[3], TABLE, &named(&commits[3]));
    let found = base(&wrong, 3, &[]);
    let named = &found["paths"][0]["named"][0];
    assert_eq!((&named["line"], &named["agrees"]), (&1.into(), &false.into()));
    assert_eq!(named["commit"], commits[3]);
    assert_eq!(found["result"], "doubtful");
}

#[test]
fn what_is_equally_near_is_for_a_person() {
    let mut upstream = Upstream::new();
    upstream.commit("one", &[("k.cu", &kernel(&[(10, "int a;")]))]);
    let pin = upstream.commit("two", &[("k.cu", &kernel(&[(10, "int b;")]))]);
    let project = project(&upstream, &pin, TABLE, &kernel(&[(10, "int c;")]));
    let found = base(&project, 3, &[]);
    assert_eq!((&found["confidence"], &found["result"]), (&"low".into(), &"doubtful".into()));
    let before = project.read("manifests/up.toml");
    project.run(&["base", "--write"]).expect(3);
    assert_eq!(project.read("manifests/up.toml"), before);
}

#[test]
fn it_is_written_into_the_manifest_and_nothing_else_changes() {
    let (upstream, commits) = upstream();
    let project = project(&upstream, &commits[3], TABLE, &kernel(&[(30, "int ours;")]));
    let before = project.read("manifests/up.toml");
    project.run(&["base", "--write"]).expect(0);
    let line = format!("name = \"ours\" # carried\nbase = \"{}\"\n", commits[0]);
    assert_eq!(project.read("manifests/up.toml"), before.replace("name = \"ours\" # carried\n", &line));
    // Now it has one, which is right; named, it is looked at again.
    assert_eq!(base(&project, 0, &["ours"])["result"], "right");
    assert_eq!(project.run(&["base", "--json"]).expect(0).json()["overlays"], serde_json::json!([]));
}

#[test]
fn a_base_in_the_manifest_that_another_is_nearer_than_is_wrong() {
    let (upstream, commits) = upstream();
    let table = TABLE.replace("files", &format!("base = \"{}\"\nfiles", commits[3]));
    let project = project(&upstream, &commits[3], &table, &kernel(&[(30, "int ours;")]));
    assert_eq!(base(&project, 1, &["ours"])["result"], "wrong");
}

#[test]
fn other_branches_are_looked_at_when_asked() {
    let mut upstream = Upstream::new();
    let first = upstream.commit("add", &[("k.cu", &kernel(&[]))]);
    upstream.git(&["switch", "-q", "-c", "side"]);
    let edits = [(1, "int one;"), (2, "int two;"), (3, "int three;")];
    let side = upstream.commit("side", &[("k.cu", &kernel(&edits))]);
    upstream.git(&["switch", "-q", "main"]);
    let ours = kernel(&[edits[0], edits[1], edits[2], (40, "int ours;")]);
    let project = project(&upstream, &first, TABLE, &ours);
    assert_eq!(base(&project, 0, &[])["base"], first);
    assert_eq!(base(&project, 0, &["--all"])["base"], side);
}

#[test]
fn a_patch_comes_from_where_it_applies_and_a_pick_from_its_parent() {
    let (upstream, commits) = upstream();
    let patch = "--- a/k.cu\n+++ b/k.cu\n@@ -5,3 +5,3 @@\n int value_4 = compute(4, width);\n-int five;\n+int ours;\n int six;\n";
    let table = "\n[[overlay]]\nname = \"ours\"\npatch = \"ours.patch\"\n";
    let project = Project::on(&upstream, &commits[3], table);
    project.write("overlays/up/ours.patch", patch);
    assert_eq!(base(&project, 0, &[])["base"], commits[3]);
    let table = format!("\n[[overlay]]\nname = \"ours\"\nfrom = {{ commits = [\"{}\"] }}\n", commits[3]);
    let project = Project::on(&upstream, &commits[1], &table);
    assert_eq!(base(&project, 0, &[])["base"], commits[2]);
}

#[test]
fn a_path_that_upstream_never_had_can_stand_on_any_commit() {
    let (upstream, commits) = upstream();
    let table = TABLE.replace("k.cu", "new.cu");
    let project = Project::on(&upstream, &commits[3], &table);
    project.write("overlays/up/new.cu", "int ours;\n");
    let found = base(&project, 0, &[]);
    assert_eq!(found["base"], commits[3]);
    assert_eq!(found["paths"][0]["candidates"], serde_json::json!([]));
}

#[test]
fn a_patch_comes_from_the_merge_that_went_back_to_where_it_applies() {
    let mut upstream = Upstream::new();
    let first = upstream.commit("first", &[("k.cu", &kernel(&[])), ("z", "1\n")]);
    upstream.commit("second", &[("k.cu", &kernel(&[(15, "int fifteen;")]))]);
    upstream.git(&["checkout", "-q", "-b", "other", &first]);
    upstream.commit("beside", &[("z", "2\n")]);
    upstream.git(&["checkout", "-q", "main"]);
    upstream.run_dated(&["merge", "-q", "--no-commit", "--no-ff", "other"]);
    let merge = upstream.commit("goes back", &[("k.cu", &kernel(&[]))]);
    assert_eq!(upstream.show(&merge, "k.cu"), upstream.show(&first, "k.cu"));
    std::fs::write(upstream.path().join("k.cu"), kernel(&[(5, "int ours;")])).unwrap();
    let patch = upstream.git(&["diff", "--full-index", "-U8"]) + "\n";
    upstream.git(&["checkout", "-q", "--", "k.cu"]);
    let pin = upstream.commit("another fifth line", &[("k.cu", &kernel(&[(5, "int clash;")]))]);
    let project = Project::on(&upstream, &pin, "\n[[overlay]]\nname = \"ours\"\npatch = \"ours.patch\"\n");
    project.write("overlays/up/ours.patch", &patch);
    assert_eq!(base(&project, 0, &[])["base"], merge);
}

#[test]
fn contents_that_have_nothing_in_common_take_no_longer_than_others() {
    let mut upstream = Upstream::new();
    let numbered = |letter: &str| (0..6000).map(|n| format!("{letter}{n}\n")).collect::<String>();
    for letter in ["a", "b", "c"] {
        upstream.commit(letter, &[("k.cu", &numbered(letter))]);
    }
    let shuffled: String = (0..6000).map(|n| format!("c{}\n", n * 7919 % 6000)).collect();
    let pin = upstream.commit("other order", &[("k.cu", &shuffled)]);
    let started = std::time::Instant::now();
    let found = base(&project(&upstream, &pin, TABLE, &numbered("q")), 3, &[]);
    assert_eq!(found["paths"][0]["candidates"][0]["distance"], 12_000, "{found}");
    let found = base(&project(&upstream, &pin, TABLE, &numbered("c")), 0, &[]);
    assert_eq!(found["confidence"], "exact");
    // With a shortest edit step by step it takes minutes here.
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
}
