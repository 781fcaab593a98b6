//! `which`: whose a file or a line is.

use crate::support::{Project, Upstream, write};

const FILE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n";

fn project() -> (Upstream, Project) {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("pin", &[("src/a.c", FILE), ("src/b.c", FILE)]);
    let project = Project::on(
        &upstream,
        &pin,
        &format!(
            "\n[[overlay]]\nname = \"whole\"\nreason = \"a is too slow\"\nbase = \"{pin}\"\nfiles = [\"src/a.c\"]\n\
             issue = \"https://example.org/7\"\n\n[[overlay]]\nname = \"part\"\nreason = \"nine is wrong\"\nbase = \"{pin}\"\n\
             patch = \"part.patch\"\n"
        ),
    );
    project.write("overlays/up/src/a.c", FILE.replace("one", "ONE"));
    project.write(
        "overlays/up/part.patch",
        "diff --git a/src/a.c b/src/a.c\n--- a/src/a.c\n+++ b/src/a.c\n@@ -7,3 +7,4 @@\n seven\n eight\n-nine\n+NINE\n+ten\n",
    );
    (upstream, project)
}

#[test]
fn a_line_has_an_owner() {
    let (_upstream, project) = project();
    let owner = |line: usize| {
        let run = project.run(&["which", &format!("src/a.c:{line}"), "--json"]).expect(0).json();
        let owner = run["files"][0]["owner"].clone();
        owner["name"].as_str().or(owner["kind"].as_str()).unwrap().to_owned()
    };
    assert_eq!([owner(1), owner(2), owner(9), owner(10)], ["whole", "upstream", "part", "part"]);
    let run = project.run(&["which", "src/a.c:11"]).expect(2);
    assert!(run.stderr.contains("has 10 lines, and no line 11"), "{}", run.stderr);
}

#[test]
fn one_screen_says_who_and_why() {
    let (_upstream, project) = project();
    project.run(&["status"]).expect(0);
    let run = project.run(&["which", "src/a.c"]).expect(0);
    insta::assert_snapshot!(run.stdout, @"
    src/a.c (up): overlays `whole`, `part` have it, in this order
    whole: a is too slow
      overlays/up/src/a.c, 1 line of it
      state: fresh
      issue: https://example.org/7
    part: nine is wrong
      overlays/up/part.patch:1, 2 lines of it
      state: fresh
    ");
    // What changed since is not guessed.
    project.write("overlays/up/src/a.c", FILE.replace("one", "1"));
    let run = project.run(&["which", "src/a.c"]).expect(0);
    assert!(
        run.stdout.contains("state: not looked at since it changed: overlaid status whole"),
        "{}",
        run.stdout
    );
}

#[test]
fn the_state_is_known_from_wherever_it_is_asked() {
    let (_upstream, project) = project();
    project.run(&["status"]).expect(0);
    project.write("elsewhere/x", "");
    let absolute = format!("overlaid -C {} which src/a.c", project.path().display());
    for line in [absolute.as_str(), "cd elsewhere && overlaid -C .. which src/a.c", "overlaid which src/a.c"]
    {
        let run = project.shell(line);
        assert!(run.stdout.contains("state: "), "{line}: {}{}", run.stdout, run.stderr);
        assert!(!run.stdout.contains("not looked at"), "{line}: {}", run.stdout);
    }
}

#[test]
fn a_file_is_found_by_any_of_its_names() {
    let (_upstream, project) = project();
    project.run(&["apply"]).expect(0);
    let names = |place: &str| {
        let run = project.run(&["which", place, "--json"]).expect(0).json();
        let overlays = run["files"][0]["overlays"].as_array().unwrap().clone();
        overlays.iter().map(|overlay| overlay["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let tree = project.tree().join("src/a.c");
    for place in
        ["src/a.c", "./src/a.c", ".overlaid/up/src/a.c", "overlays/up/src/a.c", tree.to_str().unwrap()]
    {
        assert_eq!(names(place), ["whole", "part"], "{place}");
    }
    assert_eq!(names("overlays/up/part.patch:5"), ["part"]);
    // An edit in the tree is nobody's.
    write(&tree, FILE.replace("one", "ONE").replace("two", "mine"));
    let run = project.run(&["which", ".overlaid/up/src/a.c:2"]).expect(0);
    assert!(run.stdout.contains("the line is in the tree only"), "{}", run.stdout);
}

#[test]
fn upstreams_own_and_nobodys_files_are_told_apart() {
    let (_upstream, project) = project();
    let run = project.run(&["which", "src/b.c"]).expect(1);
    assert_eq!(run.stdout, "src/b.c (up): no overlay has it; it is upstream's\n");
    let run = project.run(&["which", "src/none.c"]).expect(2);
    assert!(run.stderr.contains("no upstream and no overlay has `src/none.c`"), "{}", run.stderr);
}

#[test]
fn a_line_of_an_overlay_that_is_off_has_an_owner_too() {
    let (_upstream, project) = project();
    let manifest = project.read("manifests/up.toml").replace("files = ", "when = [\"cuda\"]\nfiles = ");
    project.write("manifests/up.toml", manifest.replace("patch = ", "when = [\"cuda\"]\npatch = "));
    let run = project.run(&["which", "src/a.c:1"]).expect(0);
    assert!(run.stdout.contains("the line is of overlay `whole`"), "{}", run.stdout);
    assert!(run.stdout.contains("off under these features"), "{}", run.stdout);
    let run = project.run(&["which", "src/a.c:10", "--features", "cuda"]).expect(0);
    assert!(run.stdout.contains("the line is of overlay `part`"), "{}", run.stdout);
}
