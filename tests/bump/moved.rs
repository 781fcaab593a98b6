//! Paths that upstream moved: the manifest names them, the overlays above go along, or a person is asked.

use super::{NUMBERS, files, outcome};
use crate::support::{Project, Upstream, git_bytes};

/// An upstream that moves a path.
fn moves(from: &str, to: &str, others: &[(&str, &str)]) -> (Upstream, String, String) {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[&[(from, NUMBERS), ("z", "z\n")], others].concat());
    let top = from.split('/').next().unwrap();
    upstream.git(&["rm", "-q", "-r", if to == top { top } else { from }]);
    let to = upstream.commit("move", &[(to, &NUMBERS.replace("ten", "TEN"))]);
    (upstream, base, to)
}

#[test]
fn a_glob_whose_only_file_moved_goes_and_the_new_path_is_named() {
    let (upstream, base, to) = moves("d/k.c", "e/k.c", &[("d/other.c", "other\n")]);
    let project = Project::on(&upstream, &base, &files("x", &base, &["d/*.c"]));
    project.write("overlays/up/d/k.c", NUMBERS.replace("one", "ONE"));
    project.run(&["bump", "--to", &to]).expect(0);
    assert!(project.read("manifests/up.toml").contains("files = [\"e/k.c\"]"));
    let state = project.run(&["--json", "status"]).expect(0).json();
    assert_eq!(state["overlays"][0]["state"], "fresh");
}

#[test]
fn a_glob_that_still_matches_a_file_stays_beside_the_new_path() {
    let (upstream, base, to) = moves("d/k.c", "e/k.c", &[("d/other.c", "other\n")]);
    let project = Project::on(&upstream, &base, &files("x", &base, &["d/*.c"]));
    project.write("overlays/up/d/k.c", NUMBERS.replace("one", "ONE"));
    project.write("overlays/up/d/other.c", "OTHER\n");
    project.run(&["bump", "--to", &to]).expect(0);
    assert!(project.read("manifests/up.toml").contains("files = [\"d/*.c\", \"e/k.c\"]"));
    project.run(&["status"]).expect(0);
}

#[test]
fn a_path_that_another_overlay_s_glob_matches_waits_for_a_person() {
    let (upstream, base, to) = moves("k.c", "src/k.c", &[("src/m.c", "m\n")]);
    let overlays = files("x", &base, &["k.c"]) + &files("y", &base, &["src/*.c"]);
    let project = Project::on(&upstream, &base, &overlays);
    project.write("overlays/up/k.c", NUMBERS.replace("one", "ONE"));
    project.write("overlays/up/src/m.c", "M\n");
    let manifest = project.read("manifests/up.toml");
    project.run(&["bump", "--to", &to, "--dry-run"]).expect(3);
    let run = project.run(&["bump", "--to", &to]).expect(3);
    assert!(run.stderr.contains("which `files` of overlay `y` matches, too"), "{}", run.stderr);
    assert_eq!(project.read("manifests/up.toml"), manifest);
    // Named one by one, it goes on.
    project.write("manifests/up.toml", manifest.replace("src/*.c", "src/m.c"));
    project.run(&["bump", "--continue"]).expect(0);
    project.run(&["apply"]).expect(0);
    assert!(project.tree().join("src/k.c").exists());
}

#[test]
fn a_new_path_with_the_characters_of_a_glob_is_named_literally() {
    for name in ["[x].c", "{a,b}.c", r"back\slash.c", "a*?.c"] {
        let (upstream, base, to) = moves("k.c", name, &[]);
        let project = Project::on(&upstream, &base, &files("x", &base, &["k.c"]));
        project.write("overlays/up/k.c", NUMBERS.replace("one", "ONE"));
        project.run(&["bump", "--to", &to]).expect(0);
        let state = project.run(&["--json", "status"]).expect(0).json();
        assert_eq!(state["overlays"][0]["state"], "fresh", "{name}: {state:#}");
        assert_eq!(state["overlays"][0]["paths"][0]["path"], name);
    }
}

#[test]
fn a_file_that_becomes_a_folder_moves_into_it_as_the_dry_run_says() {
    let (upstream, base, to) = moves("k.c", "k.c/x", &[]);
    let project = Project::on(&upstream, &base, &files("x", &base, &["k.c"]));
    let ours = NUMBERS.replace("one", "ONE");
    project.write("overlays/up/k.c", &ours);
    project.run(&["apply"]).expect(0);
    let document = project.run(&["--json", "bump", "--to", &to, "--dry-run"]).expect(0).json();
    assert_eq!(outcome(&document, "x")["outcome"], "renamed");
    project.run(&["bump", "--to", &to]).expect(0);
    assert_eq!(project.read("overlays/up/k.c/x"), ours.replace("ten", "TEN"));
    assert_eq!(project.read(".overlaid/before/1/overlays/up/k.c"), ours);
    project.run(&["apply"]).expect(0);
    assert_eq!(std::fs::read_to_string(project.tree().join("k.c/x")).unwrap(), ours.replace("ten", "TEN"));
}

#[test]
fn a_folder_that_becomes_a_file_gives_its_name_to_the_file() {
    let (upstream, base, to) = moves("d/deep/k.c", "d", &[]);
    let project = Project::on(&upstream, &base, &files("x", &base, &["d/deep/k.c"]));
    let ours = NUMBERS.replace("one", "ONE");
    project.write("overlays/up/d/deep/k.c", &ours);
    project.run(&["apply"]).expect(0);
    project.run(&["bump", "--to", &to]).expect(0);
    assert_eq!(project.read("overlays/up/d"), ours.replace("ten", "TEN"));
    project.run(&["apply"]).expect(0);
    assert_eq!(std::fs::read_to_string(project.tree().join("d")).unwrap(), ours.replace("ten", "TEN"));
}

#[test]
fn a_new_file_below_what_is_a_file_by_now_waits_for_a_person() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS)]);
    let to = upstream.commit("d", &[("d", "a file now\n"), ("e/f/g", "a folder\n")]);
    let overlays = files("below", &base, &["d/new.c"]) + &files("above", &base, &["e/f"]);
    let project = Project::on(&upstream, &base, &overlays);
    project.write("overlays/up/d/new.c", "new\n");
    project.write("overlays/up/e/f", "new\n");
    let document = project.run(&["--json", "bump", "--to", &to, "--dry-run"]).expect(3).json();
    for name in ["below", "above"] {
        assert_eq!(outcome(&document, name)["outcome"], "collides", "{document:#}");
    }
    let run = project.run(&["bump", "--to", &to]).expect(3);
    assert!(run.stderr.contains("upstream has a file d by now"), "{}", run.stderr);
    assert!(run.stderr.contains("upstream has a folder there by now, with e/f/g"), "{}", run.stderr);
    assert!(project.read("manifests/up.toml").contains(&format!("pin = \"{base}\"")));
    // With the file out of the way, all is well.
    let manifest = project.read("manifests/up.toml");
    let more = "\n[[overlay]]\nname = \"less\"\ndelete = [\"d\", \"e/f/g\"]\n";
    project.write("manifests/up.toml", manifest + more);
    project.run(&["bump", "--continue"]).expect(0);
    project.run(&["apply"]).expect(0);
}

#[test]
fn an_overlay_goes_along_with_the_one_that_it_needs() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS), ("z", "z\n")]);
    let texts = [NUMBERS.to_owned(), NUMBERS.replace("two", "TWO")];
    let texts = [&texts[0], &texts[1], &texts[1].replace("nine", "NINE")];
    let commits: Vec<String> = texts.iter().map(|text| upstream.commit("ours", &[("k.c", text)])).collect();
    let patch = |from: usize| {
        git_bytes(upstream.path(), &["diff", "--full-index", &commits[from], &commits[from + 1]])
    };
    let patches = [patch(0), patch(1)];
    upstream.git(&["reset", "-q", "--hard", &base]);
    std::fs::remove_file(upstream.path().join("k.c")).unwrap();
    let to = upstream.commit("move", &[("src/k.c", &NUMBERS.replace("five", "FIVE"))]);
    let above =
        format!("[[overlay]]\nname = \"y\"\nbase = \"{base}\"\npatch = \"y.patch\"\nneeds = [\"x\"]\n");
    let below = [
        format!("[[overlay]]\nname = \"x\"\nbase = \"{base}\"\npatch = \"x.patch\"\n"),
        files("x", &base, &["k.c"]),
    ];
    for below in below {
        let project = Project::on(&upstream, &base, &(below.clone() + &above));
        project.write("overlays/up/y.patch", &patches[1]);
        match below.contains("patch") {
            true => project.write("overlays/up/x.patch", &patches[0]),
            false => project.write("overlays/up/k.c", texts[1]),
        }
        let document = project.run(&["--json", "bump", "--to", &to]).expect(0).json();
        for name in ["x", "y"] {
            assert_eq!(outcome(&document, name)["outcome"], "renamed", "{document:#}");
            assert_eq!(outcome(&document, name)["paths"][0]["to"], "src/k.c");
        }
        project.run(&["apply"]).expect(0);
        let tree = std::fs::read_to_string(project.tree().join("src/k.c")).unwrap();
        assert_eq!(tree, texts[2].replace("five", "FIVE"));
    }
    // Where the one below does not fit at the new place, the one above waits; then it goes along.
    let next = upstream.commit("clash", &[("src/k.c", &NUMBERS.replace("two", "zwei"))]);
    let project = Project::on(&upstream, &base, &(files("x", &base, &["k.c"]) + &above));
    project.write("overlays/up/y.patch", &patches[1]);
    project.write("overlays/up/k.c", texts[1]);
    let document = project.run(&["--json", "bump", "--to", &next]).expect(3).json();
    assert_eq!(outcome(&document, "y")["outcome"], "blocked", "{document:#}");
    project.write(".overlaid/bump/up/x/k.c", NUMBERS.replace("two", "ZWEI"));
    project.run(&["bump", "--continue"]).expect(0);
    project.run(&["apply"]).expect(0);
    let tree = std::fs::read_to_string(project.tree().join("src/k.c")).unwrap();
    assert_eq!(tree, NUMBERS.replace("two", "ZWEI").replace("nine", "NINE"));
}

#[test]
fn commits_on_a_path_that_upstream_moved_are_said_not_to_follow() {
    let (mut upstream, base, to) = moves("k.c", "src/k.c", &[]);
    upstream.git(&["checkout", "-q", "-b", "side", &base]);
    let pick = upstream.commit("pick", &[("k.c", &NUMBERS.replace("one", "ONE"))]);
    upstream.git(&["checkout", "-q", "main"]);
    let more = format!("[[overlay]]\nname = \"x\"\nbase = \"{base}\"\nfrom = {{ commits = [\"{pick}\"] }}\n");
    let project = Project::on(&upstream, &base, &more);
    let run = project.run(&["bump", "--to", &to]).expect(3);
    assert!(run.stderr.contains("upstream moved the path to src/k.c"), "{}", run.stderr);
    assert!(run.stderr.contains("make a patch of it"), "{}", run.stderr);
    assert!(!run.stderr.contains("edit "), "{}", run.stderr);
    let document = project.run(&["--json", "bump", "--to", &to, "--dry-run"]).expect(3).json();
    let overlay = outcome(&document, "x");
    assert_eq!((&overlay["outcome"], &overlay["paths"][0]["to"]), (&"renamed".into(), &"src/k.c".into()));
    // At the new pin, `status` says the same.
    let project = Project::on(&upstream, &to, &more);
    let document = project.run(&["--json", "status", "--no-cache"]).expect(0).json();
    assert_eq!(outcome(&document, "x")["state"], "renamed");
}

#[test]
fn a_patch_of_a_mode_that_upstream_has_with_more_is_redundant_before_and_after() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.sh", NUMBERS)]);
    upstream.git(&["update-index", "--chmod=+x", "k.sh"]);
    upstream.run_dated(&["commit", "-q", "-m", "ours"]);
    let patch = git_bytes(upstream.path(), &["diff", "--full-index", &base, "HEAD"]);
    upstream.git(&["checkout", "-q", "-f", "HEAD"]);
    let to = upstream.commit("more", &[("k.sh", &NUMBERS.replace("one", "ONE"))]);
    let more = format!("[[overlay]]\nname = \"x\"\nbase = \"{base}\"\npatch = \"x.patch\"\n");
    let project = Project::on(&upstream, &base, &more);
    project.write("overlays/up/x.patch", &patch);
    let document = project.run(&["--json", "bump", "--to", &to, "--dry-run"]).expect(3).json();
    assert_eq!(outcome(&document, "x")["outcome"], "redundant", "{document:#}");
    let project = Project::on(&upstream, &to, &more);
    project.write("overlays/up/x.patch", &patch);
    let document = project.run(&["--json", "status", "--no-cache"]).expect(0).json();
    assert_eq!(outcome(&document, "x")["state"], "redundant", "{document:#}");
}

#[test]
fn what_stands_on_another_overlay_is_untouched_by_a_move_to_the_pin_itself() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS)]);
    upstream.git(&["checkout", "-q", "-b", "side"]);
    let first = upstream.commit("first", &[("k.c", &NUMBERS.replace("one", "ONE"))]);
    let second =
        upstream.commit("second", &[("k.c", &NUMBERS.replace("one", "uno").replace("nine", "NINE"))]);
    let patch = git_bytes(upstream.path(), &["diff", "--full-index", &first, &second]);
    let pick = |commit: &str| format!("from = {{ commits = [\"{commit}\"] }}");
    for above in [pick(&second), "patch = \"y.patch\"".to_owned()] {
        let more = format!(
            "[[overlay]]\nname = \"x\"\nbase = \"{base}\"\n{}\n[[overlay]]\nname = \"y\"\nbase = \"{base}\"\n{above}\nneeds = [\"x\"]\n",
            pick(&first)
        );
        let project = Project::on(&upstream, &base, &more);
        project.write("overlays/up/y.patch", &patch);
        let document = project.run(&["--json", "bump", "--to", &base, "--dry-run"]).expect(0).json();
        for name in ["x", "y"] {
            assert_eq!(outcome(&document, name)["outcome"], "untouched", "{document:#}");
        }
    }
}

#[test]
fn a_move_after_which_overlays_would_not_fit_together_writes_nothing() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS)]);
    let to = upstream.commit("ten", &[("k.c", &NUMBERS.replace("ten", "TEN"))]);
    let overlay = |name: &str| {
        format!("\n[[overlay]]\nname = \"{name}\"\nbase = \"{base}\"\npatch = \"{name}.patch\"\n")
    };
    let project = Project::on(&upstream, &base, &(overlay("x") + &overlay("y")));
    // With so little context they fit on one another; made anew with more, they would not.
    project.write("overlays/up/x.patch", "--- a/k.c\n+++ b/k.c\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n");
    let patch = "--- a/k.c\n+++ b/k.c\n@@ -2,3 +2,3 @@\n two\n-three\n+THREE\n four\n";
    project.write("overlays/up/y.patch", patch);
    project.run(&["apply"]).expect(0);
    let manifest = project.read("manifests/up.toml");
    for args in [&["bump", "--to", &to, "--dry-run"][..], &["bump", "--to", &to]] {
        let run = project.run(args).expect(3);
        assert!(run.stderr.contains("after the move the overlays would not fit"), "{}", run.stderr);
        assert_eq!(project.read("manifests/up.toml"), manifest);
        assert_eq!(project.read("overlays/up/y.patch"), patch);
    }
    // Said to stand on the first, the second is made anew on it.
    let needs = manifest.replace("patch = \"y.patch\"", "patch = \"y.patch\"\nneeds = [\"x\"]");
    project.write("manifests/up.toml", needs);
    project.run(&["bump", "--to", &to]).expect(0);
    project.run(&["apply"]).expect(0);
    let expected = NUMBERS.replace("one", "ONE").replace("three", "THREE").replace("ten", "TEN");
    assert_eq!(std::fs::read_to_string(project.tree().join("k.c")).unwrap(), expected);
}
