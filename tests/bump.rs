//! `bump`, as a user meets it; git judges the merges, and a brute-force look at each commit judges the scan.

mod crash;
mod kept;
mod moved;
mod patch_moves;
mod random;
mod tags;

use crate::support::{Project, Upstream, git_bytes, write};

const NUMBERS: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

/// An overlay of whole files.
fn files(name: &str, base: &str, paths: &[&str]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| format!("\"{path}\"")).collect();
    format!(
        "\n[[overlay]]\nname = \"{name}\"\nbase = \"{base}\"   # derived from\nfiles = [{}]\n",
        paths.join(", ")
    )
}

fn outcome<'a>(document: &'a serde_json::Value, overlay: &str) -> &'a serde_json::Value {
    let overlays = document["overlays"].as_array().unwrap();
    overlays
        .iter()
        .find(|found| found["name"] == overlay)
        .unwrap_or_else(|| panic!("{overlay}: {document:#}"))
}

/// Every outcome in one upstream, one file each.
fn every_outcome() -> (Upstream, Project, String, String) {
    let mut upstream = Upstream::new();
    let code = "int a = 1;\nint b = 2;\nint c = 3;\nint d = 4;\nint e = 5;\n";
    let start: Vec<(String, &str)> = ["same", "merge", "clash", "taken", "comment", "gone", "moved", "back"]
        .iter()
        .map(|name| (format!("src/{name}.c"), code))
        .collect();
    let gone = "int nothing;\nint like;\nint the;\nint others;\n";
    let start: Vec<(String, &str)> = start
        .into_iter()
        .map(|(path, text)| if path == "src/gone.c" { (path, gone) } else { (path, text) })
        .collect();
    let start: Vec<(&str, &str)> = start.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let old = upstream.commit("start", &start);
    let pin = upstream.commit("mend back (#7)", &[("src/back.c", &code.replace("e = 5", "e = 50"))]);
    upstream.commit(
        "change the end",
        &[
            ("src/merge.c", &code.replace("e = 5", "e = 50")),
            ("src/clash.c", &code.replace("a = 1", "a = 10")),
            ("src/taken.c", &code.replace("a = 1", "a = 7").replace("e = 5", "e = 50")),
            ("src/comment.c", &code.replace("c = 3", "c = 30")),
            ("src/new.c", "int theirs;\n"),
            ("src/back.c", &code.replace("e = 5", "e = 50").replace("a = 1", "a = 10")),
            ("lib/moved.c", code),
        ],
    );
    std::fs::remove_file(upstream.path().join("src/gone.c")).unwrap();
    let to = upstream.remove("clean up", &["src/moved.c"]);
    let overlays: String = ["same", "merge", "clash", "taken", "comment", "gone", "moved"]
        .iter()
        .map(|name| files(name, &pin, &[&format!("src/{name}.c")]))
        .collect();
    let overlays = overlays + &files("new", &pin, &["src/new.c"]) + &files("back", &old, &["src/back.c"]);
    let project = Project::on(&upstream, &pin, &overlays);
    let ours = code.replace("a = 1", "a = 7");
    for name in ["same", "merge", "clash", "taken", "moved"] {
        project.write(&format!("overlays/up/src/{name}.c"), &ours);
    }
    project.write("overlays/up/src/comment.c", code.replace("c = 3", "c = 30 /* ours */"));
    project.write("overlays/up/src/gone.c", gone.replace("int the", "long the"));
    project.write("overlays/up/src/new.c", "int ours;\n");
    project.write("overlays/up/src/back.c", format!("// kept back\n{code}"));
    (upstream, project, pin, to)
}

#[test]
fn a_dry_run_names_what_becomes_of_every_overlay_and_writes_nothing() {
    let (_upstream, project, pin, to) = every_outcome();
    let manifest = project.read("manifests/up.toml");
    let run = project.run(&["--json", "bump", "--to", "main", "--dry-run"]).expect(3);
    let document = run.json();
    assert_eq!(document["schema"], "overlaid.bump.v1");
    assert_eq!((&document["from"], &document["to"]), (&pin.into(), &to.into()));
    for (overlay, expected) in [
        ("same", "untouched"),
        ("merge", "merges"),
        ("clash", "conflicts"),
        ("taken", "absorbed"),
        ("comment", "redundant"),
        ("gone", "gone"),
        ("moved", "renamed"),
        ("new", "collides"),
        ("back", "kept"),
    ] {
        assert_eq!(outcome(&document, overlay)["outcome"], expected, "{overlay}: {document:#}");
    }
    let clash = &outcome(&document, "clash")["paths"][0];
    assert_eq!(clash["conflicts"], serde_json::json!([{ "from": 1, "to": 5 }]));
    assert_eq!(clash["commits"][0]["subject"], "change the end");
    assert_eq!(outcome(&document, "moved")["paths"][0]["to"], "lib/moved.c");
    assert_eq!(project.read("manifests/up.toml"), manifest);
    assert!(!project.path().join(".overlaid").exists());
    let run = project.run(&["bump", "--to", "main", "--dry-run"]).expect(3);
    assert!(run.stdout.contains("9 overlays: 1 gone, 1 renamed, 1 collides, 1 conflicts"), "{}", run.stdout);
    assert!(run.stdout.contains("in 1 place: lines 1 to 5 of the marked file"), "{}", run.stdout);
    let run = project.run(&["bump", "--to", "main", "--dry-run", "--markdown"]).expect(3);
    assert!(run.stdout.contains("| `clash` | conflicts | 1 |"), "{}", run.stdout);
}

#[test]
fn overlays_that_fit_are_merged_and_the_pin_moves_everywhere() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS), ("other.c", "x\n")]);
    let to = upstream.commit("ten", &[("k.c", &NUMBERS.replace("ten", "TEN"))]);
    let more = format!(
        "branch = \"main\" # theirs\n[[upstream.also-pinned]]\nfile = \"CMakeLists.txt\"\nregex = 'GIT_TAG\\s+([0-9a-f]{{40}})'\n{}",
        files("one", &base, &["k.c"])
    );
    let project = Project::on(&upstream, &base, &more);
    project.write("overlays/up/k.c", NUMBERS.replace("one", "ONE"));
    let cmake = "GIT_TAG  PIN # twice\nGIT_TAG PIN\n";
    project.write("CMakeLists.txt", cmake.replace("PIN", &base));
    let manifest = project.read("manifests/up.toml");
    project.run(&["bump", "--to", &to[..12]]).expect(0);
    assert_eq!(project.read("overlays/up/k.c"), NUMBERS.replace("one", "ONE").replace("ten", "TEN"));
    assert_eq!(project.read("CMakeLists.txt"), cmake.replace("PIN", &to));
    assert_eq!(project.read("manifests/up.toml"), manifest.replace(&base, &to));
    assert_eq!(project.read(".overlaid/before/1/overlays/up/k.c"), NUMBERS.replace("one", "ONE"));
    let state = project.run(&["--json", "status"]).expect(0).json();
    assert_eq!(state["overlays"][0]["state"], "fresh");
    // Again: nothing to do, and nothing is touched.
    let run = project.run(&["--json", "bump", "--to", "main"]).expect(0).json();
    assert_eq!(run["written"], serde_json::json!([]));
}

#[test]
fn the_lock_and_what_is_vendored_move_with_the_pin() {
    let mut upstream = Upstream::new();
    let fix = NUMBERS.replace("five", "FIVE");
    let base = upstream.commit("start", &[("k.c", NUMBERS), ("m.c", NUMBERS)]);
    let picked = upstream.commit("mend", &[("m.c", &fix)]);
    upstream.git(&["checkout", "-q", "-B", "main", &base]);
    let to = upstream
        .commit("ten", &[("k.c", &NUMBERS.replace("ten", "TEN")), ("m.c", &NUMBERS.replace("one", "ONE"))]);
    let more = files("one", &base, &["k.c"])
        + &format!("\n[[overlay]]\nname = \"picked\"\nfrom = {{ commits = [\"{picked}\"] }}\n");
    let project = Project::on(&upstream, &base, &more);
    project.write("overlays/up/k.c", NUMBERS.replace("one", "ONE"));
    project.run(&["lock", "--vendor"]).expect(0);
    let vendored = || {
        let entries = std::fs::read_dir(project.path().join("manifests/up.vendored")).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect::<std::collections::BTreeSet<_>>()
    };
    let (lock, contents) = (project.read("manifests/up.lock"), vendored());
    let run = project.run(&["bump", "--to", &to]).expect(0);
    assert!(run.stderr.contains("wrote manifests/up.lock"), "{}", run.stderr);
    assert_ne!(vendored(), contents);
    project.run(&["lock", "--check"]).expect(0);
    assert_eq!(project.read(".overlaid/before/1/manifests/up.lock"), lock);
}

#[test]
fn a_place_that_should_repeat_the_pin_and_does_not_stops_it() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS)]);
    let to = upstream.commit("ten", &[("k.c", &NUMBERS.replace("ten", "TEN"))]);
    let more = "[[upstream.also-pinned]]\nfile = \"CMakeLists.txt\"\nregex = 'GIT_TAG ([0-9a-f]{40})'\n";
    let project = Project::on(&upstream, &base, &(more.to_owned() + &files("one", &base, &["k.c"])));
    project.write("overlays/up/k.c", NUMBERS.replace("one", "ONE"));
    project.write("CMakeLists.txt", "GIT_TAG main\n");
    for args in [&["bump", "--to", &to, "--dry-run"][..], &["bump", "--to", &to]] {
        let run = project.run(args).expect(2);
        assert!(run.stderr.contains("`CMakeLists.txt` should repeat the pin"), "{}", run.stderr);
    }
    assert_eq!(project.read("overlays/up/k.c"), NUMBERS.replace("one", "ONE"));
    assert!(project.read("manifests/up.toml").contains(&format!("pin = \"{base}\"")));
}

/// One overlay that conflicts and one that does not.
fn conflict() -> (Upstream, Project, String, String) {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS), ("m.c", NUMBERS)]);
    let to = upstream.commit(
        "upper case",
        &[("k.c", &NUMBERS.replace("five", "FIVE")), ("m.c", &NUMBERS.replace("ten", "TEN"))],
    );
    let overlays = files("clash", &base, &["k.c"]) + &files("fits", &base, &["m.c"]);
    let project = Project::on(&upstream, &base, &overlays);
    project.write("overlays/up/k.c", NUMBERS.replace("five", "fünf"));
    project.write("overlays/up/m.c", NUMBERS.replace("one", "ONE"));
    (upstream, project, base, to)
}

#[test]
fn a_conflict_is_marked_in_a_work_folder_and_resolved_by_a_person() {
    let (upstream, project, base, to) = conflict();
    let manifest = project.read("manifests/up.toml");
    let run = project.run(&["bump", "--to", "main", "--style", "diff3"]).expect(3);
    assert!(run.stderr.contains("edit .overlaid/bump/up/clash/k.c"), "{}", run.stderr);
    // Nothing of the user's has changed, not even what fits.
    assert_eq!(project.read("manifests/up.toml"), manifest);
    assert_eq!(project.read("overlays/up/m.c"), NUMBERS.replace("one", "ONE"));
    let marked = project.read(".overlaid/bump/up/clash/k.c");
    assert_eq!(marked, merge_file(&upstream, &project, &base, &to, "--diff3"));
    let run = project.run(&["bump", "--continue"]).expect(3);
    assert!(run.stderr.contains("k.c line 5: a conflict marker is left"), "{}", run.stderr);
    let run = project.run(&["bump", "--to", "main"]).expect(2);
    assert!(run.stderr.contains("is under way"), "{}", run.stderr);
    project.write(".overlaid/bump/up/clash/k.c", NUMBERS.replace("five", "FÜNF"));
    project.run(&["bump", "--continue"]).expect(0);
    assert_eq!(project.read("overlays/up/k.c"), NUMBERS.replace("five", "FÜNF"));
    assert_eq!(project.read("overlays/up/m.c"), NUMBERS.replace("one", "ONE").replace("ten", "TEN"));
    assert_eq!(project.read("manifests/up.toml"), manifest.replace(&base, &to));
    assert!(!project.path().join(".overlaid/bump/up").exists());
    project.run(&["bump", "--continue"]).expect(2);
}

/// What `git merge-file` makes of the overlay `clash`.
fn merge_file(upstream: &Upstream, project: &Project, base: &str, to: &str, style: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("ours"), project.read("overlays/up/k.c"));
    write(&folder.path().join("base"), upstream.show(base, "k.c"));
    write(&folder.path().join("theirs"), upstream.show(to, "k.c"));
    let labels = [format!("base {}", &base[..10]), format!("upstream {}", &to[..10])];
    let mut git = crate::support::command("git");
    git.current_dir(folder.path()).args([
        "merge-file",
        "-p",
        style,
        "-L",
        "clash",
        "-L",
        &labels[0],
        "-L",
        &labels[1],
    ]);
    String::from_utf8(git.args(["ours", "base", "theirs"]).output().unwrap().stdout).unwrap()
}

#[test]
fn giving_up_changes_nothing_and_keeps_what_a_person_wrote() {
    let (_upstream, project, _, _) = conflict();
    let manifest = project.read("manifests/up.toml");
    project.run(&["bump", "--to", "main"]).expect(3);
    project.run(&["bump", "--abort"]).expect(0);
    assert!(!project.path().join(".overlaid/bump/up").exists());
    project.run(&["bump", "--to", "main"]).expect(3);
    project.write(".overlaid/bump/up/clash/k.c", "half\n<<<<<<< done\n");
    let run = project.run(&["bump", "--abort"]).expect(0);
    assert!(run.stderr.contains(".overlaid/before/1"), "{}", run.stderr);
    assert_eq!(project.read(".overlaid/before/1/clash/k.c"), "half\n<<<<<<< done\n");
    assert_eq!(project.read("manifests/up.toml"), manifest);
}

#[test]
fn an_answer_to_another_question_is_not_taken() {
    let (_upstream, project, _, _) = conflict();
    project.run(&["bump", "--to", "main"]).expect(3);
    project.write(".overlaid/bump/up/clash/k.c", "resolved\n");
    // The overlay changes: what was resolved is no answer any more, and is kept.
    project.write("overlays/up/k.c", NUMBERS.replace("five", "cinq"));
    let run = project.run(&["bump", "--continue"]).expect(3);
    assert!(project.read(".overlaid/bump/up/clash/k.c").contains("cinq"), "{}", run.stderr);
    assert_eq!(project.read(".overlaid/bump/up/clash/k.c.before-1"), "resolved\n");
}

#[test]
fn a_gone_path_and_an_add_add_wait_for_a_person() {
    let (_upstream, project, _, to) = every_outcome();
    project.run(&["bump", "--to", "main"]).expect(3);
    let added = project.read(".overlaid/bump/up/new/src/new.c");
    assert!(added.starts_with("<<<<<<< new\nint ours;\n=======\nint theirs;\n>>>>>>> upstream "), "{added}");
    project.write(".overlaid/bump/up/new/src/new.c", "int both;\n");
    project.write(".overlaid/bump/up/clash/src/clash.c", "int clash;\n");
    assert!(project.read(".overlaid/bump/up/gone/src/gone.c.ours").contains("long the"));
    project.write(".overlaid/bump/up/gone/src/gone.c", "int stays;\n");
    project.run(&["bump", "--continue"]).expect(0);
    assert_eq!(project.read("overlays/up/src/gone.c"), "int stays;\n");
    assert_eq!(project.read("overlays/up/src/new.c"), "int both;\n");
    // The renamed one moved along, in the manifest too.
    assert!(!project.path().join("overlays/up/src/moved.c").exists());
    assert!(project.read("overlays/up/lib/moved.c").contains("a = 7"));
    let manifest = project.read("manifests/up.toml");
    assert!(manifest.contains("files = [\"lib/moved.c\"]"), "{manifest}");
    // What takes upstream back stays as it was, and so does its base.
    assert!(project.read("overlays/up/src/back.c").starts_with("// kept back\nint a = 1;\n"));
    assert_eq!(manifest.matches(&to).count(), 9, "{manifest}");
    project.run(&["apply"]).expect(0);
    let states = project.run(&["--json", "status"]).expect(0).json();
    for (overlay, state) in
        [("back", "rollback"), ("taken", "redundant"), ("merge", "fresh"), ("gone", "new")]
    {
        assert_eq!(outcome(&states, overlay)["state"], state, "{states:#}");
    }
}

#[test]
fn two_overlays_do_not_move_to_one_path() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("a.c", NUMBERS), ("b.c", NUMBERS)]);
    upstream.commit("copy", &[("lib/c.c", NUMBERS)]);
    let to = upstream.remove("one file for both", &["a.c", "b.c"]);
    let overlays = files("a", &base, &["a.c"]) + &files("b", &base, &["b.c"]);
    let project = Project::on(&upstream, &base, &overlays);
    project.write("overlays/up/a.c", NUMBERS.replace("one", "ONE"));
    project.write("overlays/up/b.c", NUMBERS.replace("two", "TWO"));
    // One of the two moved, as for git; the other one is gone.
    let document = project.run(&["--json", "bump", "--to", &to]).expect(3).json();
    assert_eq!(outcome(&document, "a")["outcome"], "renamed");
    assert_eq!(outcome(&document, "b")["outcome"], "gone");
    assert_eq!(project.read("overlays/up/b.c"), NUMBERS.replace("two", "TWO"));
}

#[test]
fn two_overlays_of_one_file_under_two_names_do_not_move_to_one_path() {
    let mut upstream = Upstream::new();
    let first = upstream.commit("start", &[("a.c", NUMBERS)]);
    upstream.git(&["mv", "a.c", "b.c"]);
    let second = upstream.commit_all("move");
    upstream.git(&["mv", "b.c", "c.c"]);
    let to = upstream.commit_all("move again");
    let overlays = files("a", &first, &["a.c"]) + &files("b", &second, &["b.c"]);
    let project = Project::on(&upstream, &first, &overlays);
    project.write("overlays/up/a.c", NUMBERS.replace("one", "ONE"));
    project.write("overlays/up/b.c", NUMBERS.replace("two", "TWO"));
    let run = project.run(&["bump", "--to", &to]).expect(3);
    assert!(run.stdout.contains("overlay `a` is there, too"), "{}", run.stdout);
    assert_eq!(project.read("overlays/up/b.c"), NUMBERS.replace("two", "TWO"));
}

/// Upstream with these contents of `k.c`, before and after; what a move makes of an overlay, of the same change in a patch, and
/// of the same change in a commit: their words, and what `status` says of each once the pin has moved.
fn words(before: &str, after: &str, ours: &str) -> [(String, String); 3] {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", before), ("z", "0")]);
    let change = upstream.commit("ours", &[("k.c", ours), ("z", "0")]);
    let patch = git_bytes(upstream.path(), &["diff", "--binary", "--full-index", &base, &change]);
    upstream.git(&["reset", "-q", "--hard", &base]);
    upstream.git(&["update-ref", "refs/heads/ours", &change]);
    let to = upstream.commit("theirs", &[("k.c", after), ("z", "1")]);
    let tables = [
        files("o", &base, &["k.c"]),
        format!("\n[[overlay]]\nname = \"o\"\nbase = \"{base}\"\npatch = \"o.patch\"\n"),
        format!("\n[[overlay]]\nname = \"o\"\nbase = \"{base}\"\nfrom = {{ commits = [\"{change}\"] }}\n"),
    ];
    tables.each_ref().map(|table| {
        let project = |pin: &str| {
            let project = Project::on(&upstream, pin, table);
            project.write("overlays/up/k.c", ours);
            project.write("overlays/up/o.patch", &patch);
            project
        };
        let run = project(&base).run(&["--json", "bump", "--to", &to, "--dry-run"]);
        assert!(matches!(run.code, 0 | 3), "{run:?}");
        let word = outcome(&run.json(), "o")["outcome"].as_str().unwrap().to_owned();
        let state = project(&to).run(&["--json", "status", "--no-cache"]).expect(0).json();
        (word, outcome(&state, "o")["state"].as_str().unwrap().to_owned())
    })
}

#[test]
fn a_file_a_patch_and_a_commit_of_one_change_get_one_word_and_status_says_the_same() {
    let code = "int a = 1;\nint b = 2;\nint c = 3;\nint d = 4;\nint e = 5;\n";
    let one = code.replace("a = 1", "a = 10");
    let noted = code.replace("int a = 1;", "int a = 10; // ours");
    let more = one.replace("int e", "int more;\nint e");
    for (after, ours, word, state) in [
        (code, one.as_str(), "untouched", "fresh"),
        (code, &format!("// ours\n{code}"), "redundant", "redundant"),
        (&one, &one, "redundant", "redundant"),
        (&one, &noted, "redundant", "redundant"),
        // Comments collide, code does not.
        (&more.replace("int a = 10;", "int a = 10; // theirs"), &noted, "absorbed", "absorbed"),
        (&code.replace("e = 5", "e = 50"), &one, "merges", "stale-clean"),
        (&code.replace("a = 1", "a = 7"), &one, "conflicts", "stale-conflict"),
    ] {
        let words = words(code, after, ours);
        let expected = [0; 3].map(|_| (word.to_owned(), state.to_owned()));
        assert_eq!(words, expected, "{after}\n{ours}");
    }
    // A change of comments alone goes along, and nobody took it over.
    let commented = words(code, &code.replace("e = 5", "e = 50"), &format!("// ours\n{code}"));
    assert_eq!(commented.map(|(word, _)| word), ["redundant"; 3]);
    // Where upstream has more besides, a commit that still fits changes nothing there; a patch applies no more, and a file
    // takes the rest away.
    let expected = ["absorbed", "absorbed", "redundant"].map(|word| (word.to_owned(), word.to_owned()));
    assert_eq!(words(code, &more, &one), expected);
}

#[test]
fn a_patch_is_made_anew_for_the_new_pin() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS), ("m.c", NUMBERS)]);
    upstream.commit(
        "ours",
        &[
            ("k.c", &NUMBERS.replace("five\n", "five\nfive and a half\n")),
            ("m.c", &NUMBERS.replace("one", "ONE")),
            ("new.c", "new\n"),
        ],
    );
    let patch = git_bytes(upstream.path(), &["diff", "--binary", "--full-index", &base, "HEAD"]);
    upstream.git(&["reset", "-q", "--hard", &base]);
    // Within the context of the patch, so that it does not apply; the merge is clean. The second file is taken over.
    let to = upstream.commit(
        "theirs",
        &[
            ("k.c", &NUMBERS.replace("seven", "SEVEN").replace("one\n", "zero\none\n")),
            ("m.c", &NUMBERS.replace("one", "ONE").replace("ten", "TEN")),
        ],
    );
    let more = format!(
        "[[overlay]]\nname = \"half\"\nbase = \"{base}\"\npatch = \"half.patch\"\nwitness = \"{base}\"\n"
    );
    let project = Project::on(&upstream, &base, &more);
    let prose = "From: Ada\nSubject: half\n\nWhy we need it.\n---\n";
    project.write("overlays/up/half.patch", [prose.as_bytes(), &patch].concat());
    let document = project.run(&["--json", "bump", "--to", "main"]).expect(0).json();
    let paths: Vec<String> = outcome(&document, "half")["paths"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| format!("{} {}", path["path"], path["outcome"]))
        .collect();
    assert_eq!(paths, ["\"k.c\" \"merges\"", "\"m.c\" \"absorbed\"", "\"new.c\" \"untouched\""]);
    let text = project.read("overlays/up/half.patch");
    assert!(text.starts_with(prose), "{text}");
    assert!(!text.contains("m.c"), "{text}");
    let manifest = project.read("manifests/up.toml");
    assert!(
        manifest.contains(&format!("base = \"{to}\"")) && manifest.contains(&format!("witness = \"{base}\""))
    );
    // git agrees that it applies, and what comes out.
    upstream.git(&["apply", "--index", project.path().join("overlays/up/half.patch").to_str().unwrap()]);
    let merged = NUMBERS
        .replace("five\n", "five\nfive and a half\n")
        .replace("seven", "SEVEN")
        .replace("one\n", "zero\none\n");
    assert_eq!(std::fs::read_to_string(upstream.path().join("k.c")).unwrap(), merged);
    // Made anew once more, the bytes are the same.
    upstream.git(&["reset", "-q", "--hard", &to]);
    let next = upstream.commit("elsewhere", &[("other.c", "other\n")]);
    project.run(&["bump", "--to", &next]).expect(0);
    assert_eq!(project.read("overlays/up/half.patch"), text);
    project.run(&["apply"]).expect(0);
}

#[test]
fn a_patch_that_upstream_has_wholly_is_named_and_stays() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS)]);
    upstream.commit("taken over (#12)", &[("k.c", &NUMBERS.replace("five", "FIVE"))]);
    let patch = git_bytes(upstream.path(), &["diff", "--full-index", &base, "HEAD"]);
    let to = upstream.commit("more", &[("k.c", &NUMBERS.replace("five", "FIVE").replace("one", "ONE"))]);
    let more = format!("[[overlay]]\nname = \"five\"\nbase = \"{base}\"\npatch = \"five.patch\"\n");
    let project = Project::on(&upstream, &base, &more);
    project.write("overlays/up/five.patch", &patch);
    let run = project.run(&["bump", "--to", &to]).expect(3);
    assert!(run.stderr.contains("nothing is left of the patch"), "{}", run.stderr);
    assert!(run.stdout.contains("absorbed: upstream has all that it adds"), "{}", run.stdout);
    assert_eq!(project.read("overlays/up/five.patch").into_bytes(), patch);
    assert!(run.stderr.contains("--drop-absorbed"), "{}", run.stderr);
    // Removed by a person, the move goes on.
    let manifest = project.read("manifests/up.toml");
    project.write("manifests/up.toml", &manifest[..manifest.find("[[overlay]]").unwrap()]);
    project.run(&["bump", "--continue"]).expect(0);
    assert!(project.read("manifests/up.toml").contains(&to));
}

#[test]
fn what_upstream_has_wholly_and_cannot_stay_is_dropped_when_asked() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS), ("m.c", NUMBERS)]);
    let taken = NUMBERS.replace("five", "FIVE");
    upstream.commit("taken over (#12)", &[("k.c", &taken)]);
    let patch = git_bytes(upstream.path(), &["diff", "--full-index", &base, "HEAD"]);
    let to = upstream.commit("more", &[("k.c", &taken.replace("one", "ONE"))]);
    let more = format!(
        "# Sent upstream.\n[[overlay]]\nname = \"five\"\nbase = \"{base}\"\npatch = \"five.patch\"\n\n\
         [[overlay]]\nname = \"ten\"\nbase = \"{base}\"\npatch = \"ten.patch\"\nneeds = [\"five\"] # stands on it\n"
    );
    let project = Project::on(&upstream, &base, &more);
    project.write("overlays/up/five.patch", &patch);
    project
        .write("overlays/up/ten.patch", "--- a/k.c\n+++ b/k.c\n@@ -8,3 +8,3 @@\n eight\n nine\n-ten\n+TEN\n");
    let run = project.run(&["bump", "--to", &to, "--drop-absorbed", "--dry-run"]).expect(0);
    assert!(run.stdout.contains("dropped: upstream has all of it"), "{}", run.stdout);
    assert!(project.read("manifests/up.toml").contains("five"));
    let document = project.run(&["--json", "bump", "--to", &to, "--drop-absorbed"]).expect(0).json();
    assert_eq!(outcome(&document, "five")["dropped"], true);
    assert_eq!(outcome(&document, "ten")["dropped"], false);
    let manifest = project.read("manifests/up.toml");
    assert!(!manifest.contains("five") && !manifest.contains("Sent upstream"), "{manifest}");
    assert!(!project.path().join("overlays/up/five.patch").exists());
    assert_eq!(project.read(".overlaid/before/1/overlays/up/five.patch").into_bytes(), patch);
    project.run(&["apply"]).expect(0);
    let tree = std::fs::read_to_string(project.tree().join("k.c")).unwrap();
    assert_eq!(tree, taken.replace("one", "ONE").replace("ten", "TEN"));
}

#[test]
fn commits_that_upstream_has_together_are_absorbed_though_they_fit_one_by_one_no_more() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS)]);
    upstream.git(&["checkout", "-q", "-b", "side"]);
    let first = upstream.commit("first", &[("k.c", &NUMBERS.replace("five", "FIVE"))]);
    let second = upstream.commit("second", &[("k.c", &NUMBERS.replace("five", "V"))]);
    upstream.git(&["checkout", "-q", "main"]);
    let squashed = upstream.commit("both (#3)", &[("k.c", &NUMBERS.replace("five", "V"))]);
    let to = upstream.commit("more", &[("k.c", &NUMBERS.replace("five", "V").replace("one", "ONE"))]);
    let more = format!(
        "[[overlay]]\nname = \"pick\"\nbase = \"{base}\"\nfrom = {{ commits = [\"{first}\", \"{second}\"] }}\n"
    );
    let project = Project::on(&upstream, &base, &more);
    for (pin, expected) in [(&squashed, "redundant"), (&to, "absorbed")] {
        let document = project.run(&["--json", "bump", "--to", pin, "--dry-run"]).expect(3).json();
        assert_eq!(outcome(&document, "pick")["outcome"], expected, "{document:#}");
        assert_eq!(outcome(&document, "pick")["needs-person"], true);
    }
    // What upstream has only a part of is in conflict, as before.
    let part = upstream.commit("a part", &[("k.c", &NUMBERS.replace("five", "cinq"))]);
    let document = project.run(&["--json", "bump", "--to", &part, "--dry-run"]).expect(3).json();
    assert_eq!(outcome(&document, "pick")["outcome"], "conflicts");
    project.run(&["bump", "--to", &to, "--drop-absorbed"]).expect(0);
    assert!(!project.read("manifests/up.toml").contains("pick"));
    project.run(&["apply"]).expect(0);
}

#[test]
fn upstream_s_commits_beside_an_overlay_are_named() {
    let mut upstream = Upstream::new();
    let code = "#include \"k.h\"\nint a;\n";
    let base = upstream.commit("start", &[("k.c", code), ("k.h", "int w;\n"), ("u.c", "#include \"k.c\"\n")]);
    let to = upstream.commit("wider @all (#5)", &[("k.h", "long w;\n")]);
    let project = Project::on(&upstream, &base, &files("ours", &base, &["k.c"]));
    project.write("overlays/up/k.c", code.replace("int a", "int b"));
    let args = ["bump", "--to", "main", "--dry-run"];
    let document = project.run(&[&["--json"][..], &args].concat()).expect(0).json();
    let path = &outcome(&document, "ours")["paths"][0];
    assert_eq!(path["outcome"], "untouched");
    assert_eq!(path["neighbours"].as_array().unwrap().len(), 1, "{path:#}");
    assert_eq!(path["neighbours"][0]["path"], "k.h");
    assert_eq!(path["neighbours"][0]["side"], "included");
    assert_eq!(path["neighbours"][0]["commits"][0]["id"], to);
    let run = project.run(&args).expect(0);
    assert!(run.stdout.contains("1 upstream commit touches k.h, which it includes"), "{}", run.stdout);
    let run = project.run(&[&args[..], &["--markdown"]].concat()).expect(0);
    let line =
        format!("  - beside it (included): `k.h`, 1 commit, the last is `{}` `wider @all (#5)`\n", &to[..10]);
    assert!(run.stdout.contains(&line), "{}", run.stdout);
}

#[test]
fn a_merge_tool_gets_the_three_sides_and_its_result_is_taken() {
    let (_upstream, project, _, to) = conflict();
    let tool = r#"cat "$BASE" "$LOCAL" "$REMOTE" > seen; sed -e '/^[<=>|]/d' -e '/FIVE/d' "$MERGED" > new; cat new > "$MERGED""#;
    let run = project.run(&["bump", "--to", "main", &format!("--tool={tool}")]).expect(0);
    let ours = NUMBERS.replace("five", "fünf");
    assert_eq!(project.read("seen"), format!("{NUMBERS}{ours}{}", NUMBERS.replace("five", "FIVE")));
    assert_eq!(project.read("overlays/up/k.c"), ours);
    assert!(project.read("manifests/up.toml").contains(&to), "{}", run.stderr);
    assert!(!project.path().join(".overlaid/bump/up").exists());
}

#[test]
fn a_merge_tool_comes_from_git_s_configuration_and_may_leave_a_conflict() {
    let (_upstream, project, base, _) = conflict();
    let run = project.run(&["bump", "--to", "main", "--tool"]).expect(2);
    assert!(run.stderr.contains("names no `merge.tool`"), "{}", run.stderr);
    let run = project.run(&["bump", "--to", "main", "--tool=mine"]).expect(2);
    assert!(run.stderr.contains("has no `mergetool.mine.cmd`"), "{}", run.stderr);
    crate::support::git(project.path(), &["init", "-q"]);
    crate::support::git(project.path(), &["config", "merge.tool", "mine"]);
    // One that fails is not asked again, and its words are no part of the result.
    crate::support::git(project.path(), &["config", "mergetool.mine.cmd", "echo words; exit 1"]);
    let run = project.run(&["--json", "bump", "--to", "main", "--tool"]).expect(3);
    assert_eq!(run.json()["needs-person"], true);
    assert!(run.stderr.contains("words") && run.stderr.contains("ended with an error"), "{}", run.stderr);
    // One that leaves the markers has resolved nothing.
    crate::support::git(project.path(), &["config", "mergetool.mine.cmd", "true"]);
    let run = project.run(&["bump", "--continue", "--tool"]).expect(3);
    assert!(run.stderr.contains("k.c line 5: a conflict marker is left"), "{}", run.stderr);
    assert!(project.read("manifests/up.toml").contains(&base));
    crate::support::git(project.path(), &["config", "mergetool.mine.cmd", "cat \"$REMOTE\" > \"$MERGED\""]);
    project.run(&["bump", "--continue", "--tool=mine"]).expect(0);
    assert_eq!(project.read("overlays/up/k.c"), NUMBERS.replace("five", "FIVE"));
}

#[test]
fn a_commit_of_a_fork_is_fetched_from_the_remote_that_the_manifest_names() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS)]);
    let fork = tempfile::tempdir().unwrap();
    let at = fork.path().to_str().unwrap();
    crate::support::git(upstream.path(), &["clone", "-q", ".", at]);
    crate::support::git(fork.path(), &["checkout", "-q", "-b", "topic"]);
    write(&fork.path().join("k.c"), NUMBERS.replace("one", "ONE"));
    crate::support::git(fork.path(), &["commit", "-q", "-a", "-m", "fork"]);
    let theirs = crate::support::git(fork.path(), &["rev-parse", "HEAD"]).trim().to_owned();
    let to = upstream.commit("ten", &[("k.c", &NUMBERS.replace("ten", "TEN"))]);
    let more = format!(
        "[[upstream.remote]]\nname = \"fork\"\nurl = \"{at}\"\n[[overlay]]\nname = \"pick\"\nbase = \"{base}\"\n\
         from = {{ commits = [\"{theirs}\"], remote = \"fork\" }}\n"
    );
    let project = Project::on(&upstream, &base, &more);
    let state = project.run(&["--json", "status"]).expect(0).json();
    assert_eq!(state["overlays"][0]["state"], "fresh", "{state:#}");
    let document = project.run(&["--json", "bump", "--to", "main"]).expect(0).json();
    assert_eq!(outcome(&document, "pick")["outcome"], "merges");
    project.run(&["apply"]).expect(0);
    let tree = std::fs::read_to_string(project.tree().join("k.c")).unwrap();
    assert_eq!(tree, NUMBERS.replace("one", "ONE").replace("ten", "TEN"));
    assert!(project.read("manifests/up.toml").contains(&to));
    // Fetched once; then the fork is not needed any more.
    drop(fork);
    project.run(&["status"]).expect(0);
    // The user's own clone got nothing of it.
    assert_eq!(upstream.git(&["cat-file", "-t", &to]).trim(), "commit");
    let mut asks = crate::support::command("git");
    asks.current_dir(upstream.path()).args(["cat-file", "-e", &theirs]);
    assert!(!asks.output().unwrap().status.success());
}

#[test]
fn a_fix_that_upstream_took_back_is_not_absorbed() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS)]);
    let fixed = NUMBERS.replace("five", "FIVE");
    upstream.commit("fix", &[("k.c", &fixed)]);
    upstream.commit("Revert \"fix\"", &[("k.c", NUMBERS)]);
    let to = upstream.commit("more", &[("k.c", &NUMBERS.replace("ten", "TEN"))]);
    let project = Project::on(&upstream, &base, &files("five", &base, &["k.c"]));
    project.write("overlays/up/k.c", &fixed);
    let document = project.run(&["--json", "bump", "--to", &to]).expect(0).json();
    assert_eq!(outcome(&document, "five")["outcome"], "merges");
    assert_eq!(project.read("overlays/up/k.c"), fixed.replace("ten", "TEN"));
}

#[test]
fn overlays_that_stand_on_others_move_with_them() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS)]);
    let to = upstream.commit("ten", &[("k.c", &NUMBERS.replace("ten", "TEN"))]);
    let below = NUMBERS.replace("one", "ONE");
    let more = files("below", &base, &["k.c"])
        + &format!(
            "[[overlay]]\nname = \"above\"\nbase = \"{base}\"\npatch = \"a.patch\"\nneeds = [\"below\"]\n"
        );
    let project = Project::on(&upstream, &base, &more);
    project.write("overlays/up/k.c", &below);
    let patch = "--- a/k.c\n+++ b/k.c\n@@ -1,3 +1,3 @@\n ONE\n-two\n+TWO\n three\n";
    project.write("overlays/up/a.patch", patch);
    project.run(&["bump", "--to", &to]).expect(0);
    project.run(&["apply"]).expect(0);
    let expected = below.replace("ten", "TEN").replace("two", "TWO");
    assert_eq!(std::fs::read_to_string(project.tree().join("k.c")).unwrap(), expected);
    // With the one below in conflict, the one above is not judged.
    let next = upstream.commit("one", &[("k.c", &NUMBERS.replace("ten", "TEN").replace("one", "uno"))]);
    let document = project.run(&["--json", "bump", "--to", &next, "--dry-run"]).expect(3).json();
    assert_eq!(outcome(&document, "below")["outcome"], "conflicts");
    assert_eq!(outcome(&document, "above")["outcome"], "blocked");
    project.run(&["bump", "--to", &next]).expect(3);
    project.write(".overlaid/bump/up/below/k.c", expected.replace("TWO", "two").replace("ONE", "UNO"));
    let run = project.run(&["bump", "--continue"]).expect(3);
    assert!(run.stderr.contains("edit .overlaid/bump/up/above/k.c"), "{}", run.stderr);
}

#[test]
fn cherry_picks_and_held_back_paths_keep_their_commits() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS), ("h.c", NUMBERS), ("d.c", "d\n")]);
    upstream.git(&["checkout", "-q", "-b", "side"]);
    let pick = upstream.commit("pick me", &[("k.c", &NUMBERS.replace("one", "ONE"))]);
    upstream.git(&["checkout", "-q", "main"]);
    let to = upstream.commit(
        "theirs",
        &[("k.c", &NUMBERS.replace("ten", "TEN")), ("h.c", &NUMBERS.replace("ten", "TEN")), ("d.c", "d2\n")],
    );
    let more = format!(
        "[[overlay]]\nname = \"pick\"\nbase = \"{base}\"\nfrom = {{ commits = [\"{pick}\"] }}\n\
         [[overlay]]\nname = \"hold\"\nbase = \"{base}\"\nfrom = {{ commit = \"{base}\", paths = [\"h.c\"] }}\n\
         [[overlay]]\nname = \"less\"\nbase = \"{base}\"\ndelete = [\"d.c\"]\n"
    );
    let project = Project::on(&upstream, &base, &more);
    let document = project.run(&["--json", "bump", "--to", "main"]).expect(0).json();
    for (overlay, expected) in [("pick", "merges"), ("hold", "kept"), ("less", "merges")] {
        assert_eq!(outcome(&document, overlay)["outcome"], expected, "{document:#}");
    }
    let manifest = project.read("manifests/up.toml");
    assert!(manifest.contains(&format!("commits = [\"{pick}\"]")), "{manifest}");
    assert!(manifest.contains(&format!("base = \"{base}\"\nfrom = {{ commit = \"{base}\"")), "{manifest}");
    project.run(&["apply"]).expect(0);
    let tree = |path: &str| std::fs::read_to_string(project.tree().join(path)).unwrap();
    assert_eq!(tree("k.c"), NUMBERS.replace("one", "ONE").replace("ten", "TEN"));
    assert_eq!(tree("h.c"), NUMBERS);
    assert!(!project.tree().join("d.c").exists());
    // A commit that does not fit at the new pin is named; there is no file of ours to edit.
    let next = upstream.commit("clash", &[("k.c", &NUMBERS.replace("one", "uno"))]);
    let run = project.run(&["bump", "--to", &next, "--dry-run"]).expect(3);
    assert!(run.stdout.contains("conflicts: the commit does not fit there"), "{}", run.stdout);
    let _ = to;
}

#[test]
fn a_name_must_mean_one_commit() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS)]);
    let project = Project::on(&upstream, &base, "");
    let run = project.run(&["bump", "--to", "nothing", "--dry-run"]).expect(2);
    assert!(run.stderr.contains("the upstream has no `nothing`"), "{}", run.stderr);
    project.run(&["bump"]).expect(2);
    project.run(&["bump", "--dry-run"]).expect(2);
    let run = project.run(&["bump", "--to", &base[..8], "--dry-run"]).expect(0);
    assert!(run.stdout.contains(&format!("to {base} ({})", &base[..8])), "{}", run.stdout);
}

#[test]
fn text_of_the_upstream_does_nothing_in_a_summary() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS)]);
    let evil = "@all <img src=x> [a](http://x) `b` | \u{1b}[31m";
    let to = upstream.commit(evil, &[("k.c", &NUMBERS.replace("ten", "TEN"))]);
    let project = Project::on(&upstream, &base, &files("one", &base, &["k.c"]));
    project.write("overlays/up/k.c", NUMBERS.replace("one", "ONE"));
    let run = project.run(&["bump", "--to", &to, "--dry-run", "--markdown"]).expect(0);
    assert!(run.stdout.contains("``@all <img src=x> [a](http://x) `b` | \\u{1b}[31m``"), "{}", run.stdout);
    let run = project.run(&["bump", "--to", &to, "--dry-run"]).expect(0);
    assert!(!run.stdout.contains('\u{1b}'), "{}", run.stdout);
}

#[test]
fn a_marker_of_a_vendored_body_moves_along_with_the_body() {
    let mut upstream = Upstream::new();
    let old = upstream.commit("start", &[("k.c", NUMBERS)]);
    let new = upstream.commit("ten", &[("k.c", &NUMBERS.replace("ten", "TEN"))]);
    let project = Project::on(&upstream, &old, &files("ours", &old, &["k.c"]));
    let marked = |commit: &str, body: &str| {
        format!("int ours;\n// ---- begin upstream k.c @ {} ----\n{body}", &commit[..10])
    };
    project.write("overlays/up/k.c", marked(&old, NUMBERS));
    project.run(&["apply"]).expect(0);
    project.run(&["verify"]).expect(0);
    project.run(&["bump", "--to", &new]).expect(0);
    assert_eq!(project.read("overlays/up/k.c"), marked(&new, &NUMBERS.replace("ten", "TEN")));
    project.run(&["apply"]).expect(0);
    project.run(&["verify"]).expect(0);
}
