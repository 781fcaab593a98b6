//! `split` and `rename`.

use crate::support::{Project, Upstream};

const FILE: &str = "1
2
3
4
5
6
7
8
9
10
11
12
13
14
15
16
17
18
19
20
21
22
23
24
25
26
27
28
29
30
";

fn ours() -> String {
    FILE.replace("2\n3\n", "2\nthree\n")
        .replace("\n14\n", "\ntwelve\nand\n")
        .replace("\n26\n", "\nnineteen\n")
}

fn project(kind: &str) -> (Upstream, Project) {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("pin", &[("a.c", FILE), ("b.c", FILE)]);
    let project = Project::on(
        &upstream,
        &pin,
        &format!(
            "\n[[overlay]]\nname = \"ours\"\nreason = \"three things\"\nbase = \"{pin}\"\n{kind}\nwitness = {{ patch = \"ours-fault.patch\" }}\n\
             report = \"docs/upstream/ours.md\"\n\n[[overlay]]\nname = \"other\"\nbase = \"{pin}\"\nfiles = [\"b.c\"]\n\
             needs = [\n    \"ours\",   # it calls three\n]\n"
        ),
    );
    project.write("overlays/up/b.c", FILE.replace("20", "twenty"));
    project.write("overlays/up/ours-fault.patch", patch(&upstream, &FILE.replace("20", "fault")));
    if kind.starts_with("files") {
        project.write("overlays/up/a.c", ours());
    } else {
        project.write("overlays/up/ours.patch", patch(&upstream, &ours()));
    }
    (upstream, project)
}

fn patch(upstream: &Upstream, content: &str) -> Vec<u8> {
    std::fs::write(upstream.path().join("a.c"), content).unwrap();
    let patch = crate::support::git_bytes(upstream.path(), &["diff", "--full-index"]);
    upstream.git(&["checkout", "-q", "."]);
    patch
}

#[test]
fn hunks_are_listed_with_numbers() {
    let (_upstream, project) = project("patch = \"ours.patch\"");
    insta::assert_snapshot!(project.run(&["split", "ours"]).expect(0).stdout, @"
    hunk  path  line  lines  starts with
    1     a.c   3     +1 -1  3
    2     a.c   14    +2 -1  14
    3     a.c   26    +1 -1  26
    ");
}

#[test]
fn a_patch_becomes_two_that_make_the_same_tree() {
    for kind in ["patch = \"ours.patch\"", "files = [\"a.c\"]"] {
        let (_upstream, project) = project(kind);
        project.run(&["split", "ours", "--hunks", "1,3", "--new", "ends", "--reason", "both ends"]).expect(0);
        let run = project.run(&["apply"]).expect(0);
        assert_eq!(std::fs::read_to_string(project.tree().join("a.c")).unwrap(), ours(), "{}", run.stdout);
        let manifest = project.read("manifests/up.toml");
        let (first, rest) = manifest.split_once("name = \"ends\"").unwrap();
        assert!(first.contains("name = \"ours\"") && rest.contains("name = \"other\""), "{manifest}");
        let taken = project.read("overlays/up/ends.patch");
        assert!(
            taken.contains("+three") && taken.contains("+nineteen") && !taken.contains("+twelve"),
            "{taken}"
        );
        let diff = project.run(&["diff", "ours", "--against", "pin"]).expect(1);
        assert!(diff.stdout.contains("+twelve") && !diff.stdout.contains("+three"), "{}", diff.stdout);
    }
}

#[test]
fn what_cannot_be_split_changes_nothing() {
    let (_upstream, project) = project("patch = \"ours.patch\"");
    let before = (project.read("manifests/up.toml"), project.read("overlays/up/ours.patch"));
    let split = |hunks: &str, new: &str| {
        project.run(&["split", "ours", "--hunks", hunks, "--new", new, "--reason", "x"])
    };
    split("4", "more").expect(2);
    split("1,2,3", "more").expect(3);
    split("1", "other").expect(2);
    assert_eq!((project.read("manifests/up.toml"), project.read("overlays/up/ours.patch")), before);
    assert!(!project.path().join("overlays/up/more.patch").exists());
}

#[test]
fn a_new_name_goes_wherever_the_old_one_is() {
    let (_upstream, project) = project("patch = \"ours.patch\"");
    project.write("docs/upstream/ours.md", "# ours\n");
    let verdict = "{\"schema\": \"overlaid.verdicts.v1\", \"verdicts\": {\"ours\": {\"\": {\"verdict\": \"needed\", \"recorded\": 1, \
                   \"content\": \"x\"}}}}";
    project.write("docs/upstream/verdicts/up.json", verdict);
    project.run(&["apply"]).expect(0);
    let patch = project.read("overlays/up/ours.patch");
    let manifest = project.read("manifests/up.toml");
    project.run(&["edit", "ours"]).expect(0);
    project.run(&["rename", "ours", "three-things"]).expect(0);
    let expected = manifest
        .replace("name = \"ours\"", "name = \"three-things\"")
        .replace("\"ours\",   # it calls three", "\"three-things\",   # it calls three")
        .replace("ours.patch", "three-things.patch")
        .replace("ours-fault.patch", "three-things-fault.patch")
        .replace("ours.md", "three-things.md");
    assert_eq!(project.read("manifests/up.toml"), expected);
    assert_eq!(project.read("overlays/up/three-things.patch"), patch);
    assert!(!project.path().join("overlays/up/ours.patch").exists());
    assert_eq!(project.read("docs/upstream/three-things.md"), "# ours\n");
    assert!(project.read("docs/upstream/verdicts/up.json").contains("\"three-things\": {"));
    assert_eq!(
        project.run(&["refresh"]).expect(0).stdout,
        "three-things: you edited nothing; nothing changes\n"
    );
    project.run(&["apply", "--dry-run"]).expect(0);
}

#[test]
fn a_name_that_is_taken_is_refused() {
    let (_upstream, project) = project("patch = \"ours.patch\"");
    let before = project.read("manifests/up.toml");
    project.run(&["rename", "ours", "other"]).expect(2);
    project.run(&["rename", "nobody", "new"]).expect(2);
    project.write("overlays/up/new.patch", "somebody's\n");
    project.run(&["rename", "ours", "new"]).expect(4);
    assert_eq!(project.read("manifests/up.toml"), before);
    assert_eq!(project.read("overlays/up/new.patch"), "somebody's\n");
}
