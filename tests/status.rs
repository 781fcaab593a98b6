//! `status`: what overlays are, on real histories.

mod apart;
mod branch;
mod brought_back;
mod changes;
mod merged;
mod renames;
mod unsaid;
mod white_space;

use std::collections::BTreeSet;

use crate::support::{Project, Upstream};

const V1: &str =
    "int width = 1;\nint height = 1;\n\nint area() {\n  return width * height;\n}\n\nint depth = 1;\n";

/// An upstream with a kernel that is mended twice, and the ids of the three commits.
fn kernel() -> (Upstream, [String; 3]) {
    let mut upstream = Upstream::new();
    let first = upstream.commit("kernel: add", &[("src/kernel.cu", V1), ("README", "read me\n")]);
    let second =
        upstream.commit("kernel: wider (#7)", &[("src/kernel.cu", &V1.replace("width = 1", "width = 2"))]);
    let both = V1.replace("width = 1", "width = 2").replace("depth = 1", "depth = 2");
    let third = upstream.commit("kernel: deeper", &[("src/kernel.cu", &both)]);
    (upstream, [first, second, third])
}

fn files(base: &str) -> String {
    format!(
        "\n[[overlay]]\nname = \"ours\"\nreason = \"ours\"\nbase = \"{base}\"\nfiles = [\"src/kernel.cu\"]\n"
    )
}

fn status(project: &Project) -> serde_json::Value {
    project.run(&["status", "--json"]).expect(0).json()["overlays"][0].clone()
}

/// A whole-file overlay with this content: its state, and the subjects of what it undoes and has.
fn judge(content: &str, base: usize, pin: usize) -> (String, Vec<String>, Vec<String>) {
    let (upstream, commits) = kernel();
    let project = Project::on(&upstream, &commits[pin], &files(&commits[base]));
    project.write("overlays/up/src/kernel.cu", content);
    let overlay = status(&project);
    let path = &overlay["paths"][0];
    let subjects = |key: &str| -> Vec<String> {
        path[key].as_array().unwrap().iter().map(|c| c["subject"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(path["state"], overlay["state"]);
    (overlay["state"].as_str().unwrap().to_owned(), subjects("undoes"), subjects("included"))
}

fn row(state: &str, undoes: &[&str], included: &[&str]) -> (String, Vec<String>, Vec<String>) {
    let owned = |subjects: &[&str]| subjects.iter().map(|&s| s.to_owned()).collect();
    (state.to_owned(), owned(undoes), owned(included))
}

const WIDER: &str = "kernel: wider (#7)";
const DEEPER: &str = "kernel: deeper";

#[test]
fn an_old_version_is_a_rollback_and_names_what_it_undoes() {
    assert_eq!(judge(V1, 0, 2), row("rollback", &[WIDER, DEEPER], &[]));
    let commented = format!("// held back\n{V1}");
    assert_eq!(judge(&commented, 0, 2), row("rollback", &[WIDER, DEEPER], &[]));
}

#[test]
fn a_version_older_than_a_wrong_base_is_a_rollback_too() {
    assert_eq!(judge(V1, 1, 2), row("rollback", &[WIDER, DEEPER], &[]));
    assert_eq!(judge(V1, 2, 2), row("rollback", &[WIDER, DEEPER], &[]));
}

#[test]
fn a_delta_on_the_pin_is_fresh() {
    assert_eq!(judge(&V1.replace("area()", "area(int)"), 0, 0), row("fresh", &[], &[]));
}

#[test]
fn a_delta_that_still_fits_is_stale_and_undoes_what_it_does_not_have() {
    assert_eq!(
        judge(&V1.replace("return width", "return 2 * width"), 0, 2),
        row("stale-clean", &[WIDER, DEEPER], &[])
    );
    let with_second = V1.replace("width = 1", "width = 2").replace("return width", "return 2 * width");
    assert_eq!(judge(&with_second, 0, 2), row("stale-clean", &[DEEPER], &[WIDER]));
}

#[test]
fn a_delta_on_the_same_lines_is_a_conflict() {
    assert_eq!(judge(&V1.replace("width = 1", "width = 3"), 0, 1), row("stale-conflict", &[WIDER], &[]));
}

#[test]
fn comments_only_is_redundant() {
    let pin = V1.replace("width = 1", "width = 2");
    assert_eq!(judge(&format!("/* a note */ {pin}"), 0, 1).0, "redundant");
    assert_eq!(judge(&pin, 0, 1).0, "redundant");
}

#[test]
fn what_upstream_took_over_is_absorbed() {
    let pin_has_it = V1.replace("width = 1", "width = 2");
    assert_eq!(judge(&pin_has_it, 0, 2), row("absorbed", &[DEEPER], &[WIDER]));
}

#[test]
fn a_newer_version_is_a_backport() {
    let newer = V1.replace("width = 1", "width = 2");
    let (upstream, commits) = kernel();
    let more = format!("branch = \"main\"\n{}", files(&commits[0]));
    let project = Project::on(&upstream, &commits[0], &more);
    project.write("overlays/up/src/kernel.cu", newer);
    assert_eq!(status(&project)["state"], "backport");
}

#[test]
fn a_new_file_is_new_until_upstream_has_one() {
    let mut upstream = Upstream::new();
    let before = upstream.commit("start", &[("README", "read me\n")]);
    let after = upstream.commit("kernel: add", &[("src/kernel.cu", "int theirs;\n")]);
    for (pin, content, state) in [
        (&before, "int ours;\n", "new"),
        (&after, "int ours;\n", "collides"),
        (&after, "int theirs; // the same\n", "redundant"),
    ] {
        let project = Project::on(&upstream, pin, &files(&before));
        project.write("overlays/up/src/kernel.cu", content);
        assert_eq!(status(&project)["state"], state, "{content}");
    }
}

#[test]
fn a_path_that_upstream_moved_is_renamed_and_one_that_it_removed_is_gone() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("src/kernel.cu", V1), ("old.c", "int old;\n")]);
    std::fs::rename(upstream.path().join("src/kernel.cu"), upstream.path().join("src/moved.cu")).unwrap();
    let moved = upstream.commit_all("kernel: move");
    let removed = upstream.remove("old: remove", &["old.c"]);
    let tables =
        format!("{}\n[[overlay]]\nname = \"old\"\nbase = \"{base}\"\nfiles = [\"old.c\"]\n", files(&base));
    let project = Project::on(&upstream, &removed, &tables);
    project.write("overlays/up/src/kernel.cu", format!("int ours;\n{V1}"));
    project.write("overlays/up/old.c", "int ours;\n");
    let document = project.run(&["status", "--json"]).expect(0).json();
    let renamed = &document["overlays"][0]["paths"][0];
    assert_eq!(renamed["state"], "renamed");
    assert_eq!(renamed["to"], "src/moved.cu");
    assert_eq!(renamed["by"]["id"], moved);
    let gone = &document["overlays"][1]["paths"][0];
    assert_eq!(gone["state"], "gone");
    assert_eq!(gone["by"]["id"], removed);
}

#[test]
fn a_patch_replays_on_the_pin_and_undoes_nothing() {
    let (upstream, commits) = kernel();
    let tables =
        format!("\n[[overlay]]\nname = \"ours\"\nbase = \"{}\"\npatch = \"ours.patch\"\n", commits[0]);
    let patch = "--- a/src/kernel.cu\n+++ b/src/kernel.cu\n@@ -4,3 +4,3 @@\n int area() {\n-  return width * height;\n+  return 2 * width * height;\n }\n";
    for (pin, state) in [(0, "fresh"), (2, "stale-clean")] {
        let project = Project::on(&upstream, &commits[pin], &tables);
        project.write("overlays/up/ours.patch", patch);
        let overlay = status(&project);
        assert_eq!(overlay["state"], state);
        assert_eq!(overlay["paths"][0]["undoes"].as_array().unwrap().len(), 0);
    }
}

#[test]
fn a_patch_that_no_longer_applies_is_a_conflict() {
    let (upstream, commits) = kernel();
    let tables =
        format!("\n[[overlay]]\nname = \"ours\"\nbase = \"{}\"\npatch = \"ours.patch\"\n", commits[0]);
    let project = Project::on(&upstream, &commits[1], &tables);
    project.write(
        "overlays/up/ours.patch",
        "--- a/src/kernel.cu\n+++ b/src/kernel.cu\n@@ -1,2 +1,2 @@\n-int width = 1;\n+int width = 3;\n int height = 1;\n",
    );
    assert_eq!(status(&project)["state"], "stale-conflict");
}

#[test]
fn a_cherry_pick_merges_where_a_patch_would_not_apply() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("a.c", "int a;\nint b;\nint c;\nint d;\nint e;\n")]);
    upstream.git(&["switch", "-q", "-c", "fix"]);
    let fix = upstream.commit("fix", &[("a.c", "int a;\nint b;\nint c;\nint d;\nint E;\n")]);
    upstream.git(&["switch", "-q", "main"]);
    let pin = upstream.commit("move", &[("a.c", "int A;\nint b;\nint c;\nint d;\nint e;\n")]);
    let tables =
        format!("\n[[overlay]]\nname = \"fix\"\nbase = \"{base}\"\nfrom = {{ commits = [\"{fix}\"] }}\n");
    let project = Project::on(&upstream, &pin, &tables);
    assert_eq!(status(&project)["state"], "stale-clean");
}

#[test]
fn an_overlay_without_a_base_is_unknown_unless_nothing_is_left_of_it() {
    let (upstream, commits) = kernel();
    let tables = "\n[[overlay]]\nname = \"ours\"\nfiles = [\"src/kernel.cu\"]\n";
    for (content, state) in [("int ours;\n".to_owned(), "unknown"), (format!("// same\n{V1}"), "redundant")] {
        let project = Project::on(&upstream, &commits[0], tables);
        project.write("overlays/up/src/kernel.cu", content);
        assert_eq!(status(&project)["state"], state);
    }
}

#[test]
fn a_missing_history_is_said_and_not_guessed() {
    let (upstream, commits) = kernel();
    let shallow = tempfile::tempdir().unwrap();
    let url = format!("file://{}", upstream.path().display());
    let clone = shallow.path().join("clone");
    crate::support::git(shallow.path(), &["clone", "-q", "--depth=1", &url, "clone"]);
    let mut project = Project::on(&upstream, &commits[2], &files(&commits[0]));
    project.write("overlays/up/src/kernel.cu", V1);
    project.set("OVERLAID_UPSTREAM_UP", &clone);
    let run = project.run(&["status", "--json", "--offline"]);
    // The base is not there: either the whole command says so, or the overlay is unknown.
    if run.code == 0 {
        assert_eq!(run.json()["overlays"][0]["state"], "unknown");
    } else {
        assert_eq!(run.code, 4);
        assert!(run.stderr.contains(&commits[0]), "{}", run.stderr);
    }
}

#[test]
fn text_of_the_upstream_cannot_steer_the_terminal() {
    let mut upstream = Upstream::new();
    let first = upstream.commit("start", &[("a.c", "int a;\n")]);
    let second = upstream.commit("evil \u{1b}[2J\u{202e} subject", &[("a.c", "int b;\n")]);
    let tables = format!("\n[[overlay]]\nname = \"ours\"\nbase = \"{first}\"\nfiles = [\"a.c\"]\n");
    let project = Project::on(&upstream, &second, &tables);
    project.write("overlays/up/a.c", "int a;\n");
    let run = project.run(&["status"]).expect(0);
    assert!(run.stdout.contains("undoes"), "{}", run.stdout);
    assert!(!run.stdout.contains(['\u{1b}', '\u{202e}']), "{}", run.stdout);
}

#[test]
fn a_person_reads_what_it_is_and_why() {
    let (upstream, commits) = kernel();
    let project = Project::on(&upstream, &commits[2], &files(&commits[0]));
    project.write("overlays/up/src/kernel.cu", V1);
    let run = project.run(&["status"]).expect(0);
    let shown = run.stdout.replace(&commits[2], "PIN");
    let shown = commits.iter().fold(shown, |text, id| text.replace(&id[..10], "COMMIT"));
    insta::assert_snapshot!(shown, @"
    up at PIN
    overlay  to do  state     changes  undoes
    ours     mend   rollback  nothing  2

    to do  mend      verify fails until it is mended or accepted (overlaid accept)
    state  rollback  it takes upstream back to an older content
    more about a word: overlaid status --explain WORD

    ours: ours
      src/kernel.cu (+2 -2 against the pin)
        rollback: it is what upstream had at the base
        undoes COMMIT 2023-11-15 kernel: wider (#7)
        undoes COMMIT 2023-11-15 kernel: deeper
    1 overlay: 1 rollback
    ");
}

#[test]
fn what_needs_a_hand_stands_first_and_only_words_of_the_table_are_explained() {
    let (upstream, commits) = kernel();
    let overlay = |name: &str, base: &str, kind: &str| {
        format!("\n[[overlay]]\nname = \"{name}\"\nbase = \"{base}\"\n{kind}\n")
    };
    let tables = [
        overlay("an-addition", &commits[2], "files = [\"src/more.cu\"]"),
        overlay("same-as-upstream", &commits[2], "files = [\"src/kernel.cu\"]\nwhen = [\"x\"]"),
        overlay("another-addition", &commits[2], "files = [\"src/again.cu\"]"),
        overlay(
            "old-kernel",
            &commits[0],
            &format!(
                "from = {{ commit = \"{}\", paths = [\"src/kernel.cu\"] }}\nwhen = [\"!x\"]",
                commits[0]
            ),
        ),
    ];
    let project = Project::on(&upstream, &commits[2], &tables.concat());
    project.write("overlays/up/src/more.cu", "int more;\n");
    project.write("overlays/up/src/again.cu", "int again;\n");
    project.write("overlays/up/src/kernel.cu", upstream.show(&commits[2], "src/kernel.cu"));
    let shown = project.run(&["status"]).expect(0).stdout;
    let lines: Vec<&str> = shown.lines().collect();
    let table: Vec<&str> = lines[2..6].iter().map(|line| line.split_once(' ').unwrap().0).collect();
    assert_eq!(table, ["old-kernel", "same-as-upstream", "an-addition", "another-addition"], "{shown}");
    // What stands below is in the same order.
    let headings = ["old-kernel\n", "same-as-upstream\n", "an-addition\n", "another-addition\n"];
    assert!(headings.map(|name| shown.find(name).unwrap()).is_sorted(), "{shown}");
    let legend = shown.split_once("\n\n").unwrap().1.split_once("\n\n").unwrap().0;
    let words = ["mend", "drop", "keep", "rollback", "redundant", "new"];
    assert!(words.iter().all(|word| legend.contains(word)), "{legend}");
    let others = ["act now", "decide", "find out", "stale", "fresh", "absorbed", "gone", "?"];
    assert!(others.iter().all(|word| !legend.contains(word)), "{legend}");
    // Programs get the order of the manifest.
    let document = project.run(&["status", "--json"]).expect(0).json();
    let names: Vec<&str> =
        document["overlays"].as_array().unwrap().iter().map(|o| o["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["an-addition", "same-as-upstream", "another-addition", "old-kernel"]);
}

#[test]
fn of_a_rival_that_stands_back_nobody_is_asked_to_do_anything() {
    let (upstream, commits) = kernel();
    let overlay = |name: &str, active: bool| {
        let base = &commits[2];
        format!(
            "\n[[overlay]]\nname = \"{name}\"\nbase = \"{base}\"\ndelete = [\"README\"]\nrivals = \"way\"\nactive = {active}\n"
        )
    };
    let project = Project::on(&upstream, &commits[2], &(overlay("one", false) + &overlay("two", true)));
    let shown = project.run(&["status"]).expect(0).stdout;
    let rows: Vec<Vec<&str>> =
        shown.lines().skip(2).take(2).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0][..3], ["one", "fresh", "code"], "{shown}");
    assert!(rows[0].ends_with(&["stands", "back"]), "{shown}");
    assert_eq!(rows[1][..3], ["two", "keep", "fresh"], "{shown}");
}

#[test]
fn a_name_that_leaves_no_room_is_cut_in_the_table_and_whole_below_it() {
    let (upstream, commits) = kernel();
    let name = format!("first-{}-last", "and-so-on-".repeat(8));
    let table = files(&commits[0]).replacen("\"ours\"", &format!("\"{name}\""), 1);
    let project = Project::on(&upstream, &commits[2], &table);
    project.write("overlays/up/src/kernel.cu", V1);
    let Some(shown) = project.on_terminal(80, &["status"]) else {
        println!("skipped: there is no `script` to make a terminal");
        return;
    };
    let row = shown.lines().nth(2).unwrap();
    assert!(row.starts_with("first-") && row.contains('…') && row.contains("-last  mend"), "{shown}");
    assert!(row.chars().count() <= 80, "{shown}");
    assert!(shown.contains(&format!("\n{name}:")) && shown.contains("  changes nothing\n"), "{shown}");
}

#[test]
fn the_help_has_the_states_with_what_they_mean() {
    let help = Project::new().run(&["status", "--help"]).expect(0).stdout;
    for state in overlaid::provenance::State::ALL {
        let line = help.lines().find(|line| line.trim_start().starts_with(&format!("{state} ")));
        assert!(line.is_some_and(|line| line.ends_with(state.meaning())), "{state}: {help}");
    }
}

#[test]
fn the_fingerprint_changes_with_what_is_built_and_with_nothing_else() {
    let (upstream, commits) = kernel();
    let project = Project::on(&upstream, &commits[0], &files(&commits[0]));
    let fingerprint = || project.run(&["status", "--fingerprint"]).expect(0).stdout;
    project.write("overlays/up/src/kernel.cu", "int ours;\n");
    let first = fingerprint();
    assert_eq!(first.trim().len(), 64);
    project.write(
        "manifests/up.toml",
        project.read("manifests/up.toml").replace("\"ours\"\nbase", "\"better\"\nbase"),
    );
    assert_eq!(fingerprint(), first);
    project.write("overlays/up/src/kernel.cu", "int others;\n");
    assert_ne!(fingerprint(), first);
}

#[test]
fn an_overlay_that_is_not_there_is_named_with_those_that_are() {
    let (upstream, commits) = kernel();
    let project = Project::on(&upstream, &commits[0], &files(&commits[0]));
    project.write("overlays/up/src/kernel.cu", V1);
    let run = project.run(&["status", "nope"]).expect(2);
    assert_eq!(run.stderr, "error: there is no overlay `nope`\nhint: there are: ours\n");
}

#[test]
fn a_profile_that_is_not_there_is_an_error_before_anything_is_shown() {
    let (upstream, commits) = kernel();
    let project = Project::on(&upstream, &commits[0], &files(&commits[0]));
    project.write("overlays/up/src/kernel.cu", V1);
    for format in [&[][..], &["--json"]] {
        let run = project.run(&[format, &["--profile", "nope", "status"]].concat()).expect(2);
        assert_eq!(run.stdout, "");
        assert!(run.stderr.contains("has no profile `nope`"), "{}", run.stderr);
    }
}

#[test]
fn a_terminal_of_80_columns_shows_all_of_it() {
    let (upstream, commits) = kernel();
    let table = files(&commits[0]).replace(
        "\"ours\"\nbase",
        "\"a reason that takes more words than there is room for on one line of a terminal\"\nbase",
    ) + "when = [\"extras\"]\ntests = [\"a-test-with-a-long-name\", \"another-test-with-a-long-name\"]\n";
    let tests = ["a", "another"].map(|name| {
        format!("\n[[test]]\nname = \"{name}-test-with-a-long-name\"\ntarget = \"t\"\ncommand = [\"t\"]\n")
    });
    let tables = format!("{table}{}\n[profile.p]\nfeatures = [\"extras\"]\n[profile.q]\n", tests.concat());
    let project = Project::on(&upstream, &commits[2], &tables);
    project.write("overlays/up/src/kernel.cu", V1);
    let plain = project.run(&["status"]).expect(0).stdout;
    let Some(shown) = project.on_terminal(80, &["status"]) else {
        println!("skipped: there is no `script` to make a terminal");
        return;
    };
    let words = |text: &str| {
        text.split_whitespace().map(|word| word.trim_end_matches(':').to_owned()).collect::<BTreeSet<_>>()
    };
    assert!(plain.lines().any(|line| line.len() > 80));
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert_eq!(
        words(&plain).difference(&words(&shown)).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "{shown}"
    );
    assert!(shown.contains("\n  tests: a-test-with-a-long-name, another-test-with-a-long-name\n"), "{shown}");
    // And so does the help of each command.
    for command in ["", "status", "apply", "restore", "verify", "diff", "build", "test", "prove"] {
        let shown = project.on_terminal(80, &[command, "--help"]).unwrap();
        assert!(shown.contains("Usage: overlaid"), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    }
}

#[test]
fn git_variables_of_the_caller_change_nothing() {
    let (upstream, commits) = kernel();
    let mut project = Project::on(&upstream, &commits[2], &files(&commits[0]));
    project.write("overlays/up/src/kernel.cu", V1);
    let plain = project.run(&["status"]).expect(0).stdout;
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
        project.set(name, "/nowhere");
    }
    assert_eq!(project.run(&["status"]).expect(0).stdout, plain);
}

#[test]
fn an_older_version_under_a_comment_is_a_rollback_and_a_newer_one_a_backport() {
    let (upstream, commits) = kernel();
    let commented = format!("// held back\n{V1}");
    assert_eq!(judge(&commented, 1, 2), row("rollback", &[WIDER, DEEPER], &[]));
    let newer = format!("// ahead\n{}", V1.replace("width = 1", "width = 2"));
    let project = Project::on(&upstream, &commits[0], &format!("branch = \"main\"\n{}", files(&commits[0])));
    project.write("overlays/up/src/kernel.cu", newer);
    assert_eq!(status(&project)["state"], "backport");
}

#[test]
fn what_upstream_has_at_a_base_newer_than_the_pin_brings_it_forward() {
    let newest = V1.replace("width = 1", "width = 2").replace("depth = 1", "depth = 2");
    assert_eq!(judge(&newest, 2, 0).0, "backport");
}

#[test]
fn what_another_overlay_is_derived_from_makes_nothing_newer() {
    let (mut upstream, commits) = kernel();
    let next =
        upstream.commit("kernel: higher", &[("src/kernel.cu", &V1.replace("height = 1", "height = 9"))]);
    let other =
        format!("[[overlay]]\nname = \"other\"\nreason = \"x\"\nbase = \"{next}\"\nfiles = [\"README\"]\n");
    let project = Project::on(&upstream, &commits[1], &(files(&commits[1]) + &other));
    project.write("overlays/up/README", "read this\n");
    project.write("overlays/up/src/kernel.cu", V1.replace("height = 1", "height = 9"));
    assert_eq!(status(&project)["state"], "fresh");
    let document = project.run(&["status", "--json", "--no-cache", "ours"]).expect(0).json();
    assert_eq!(document["overlays"][0]["state"], "fresh");
}

#[cfg(unix)]
#[test]
fn the_target_of_a_link_is_no_code() {
    let mut upstream = Upstream::new();
    let link = upstream.path().join("k.c");
    std::os::unix::fs::symlink("a.c // one", &link).unwrap();
    let base = upstream.commit_all("link");
    let project = Project::on(&upstream, &base, &files(&base).replace("src/kernel.cu", "k.c"));
    std::fs::create_dir_all(project.path().join("overlays/up")).unwrap();
    std::os::unix::fs::symlink("a.c // two", project.path().join("overlays/up/k.c")).unwrap();
    let overlay = status(&project);
    assert_eq!((&overlay["state"], &overlay["paths"][0]["delta"]), (&"fresh".into(), &"code".into()));
    // Upstream went the same way: what differs behind the slashes is another target.
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("a.c // three", &link).unwrap();
    let to = upstream.commit_all("link elsewhere");
    let document = project.run(&["--json", "bump", "--to", &to, "--dry-run"]).expect(3).json();
    assert_eq!(document["overlays"][0]["outcome"], "conflicts");
}

#[test]
fn who_has_the_last_of_several_changes_of_a_line_undoes_none() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("a.c", "int a = 1;\nint b;\n")]);
    upstream.commit("two", &[("a.c", "int a = 2;\nint b;\n")]);
    let pin = upstream.commit("three", &[("a.c", "int a = 3;\nint b;\n")]);
    let table = format!("\n[[overlay]]\nname = \"ours\"\nbase = \"{base}\"\nfiles = [\"a.c\"]\n");
    let project = Project::on(&upstream, &pin, &table);
    project.write("overlays/up/a.c", "int a = 3;\nint b;\nint ours;\n");
    assert_eq!(status(&project)["undoes"].as_array().unwrap().len(), 0);
    project.write("overlays/up/a.c", "int a = 2;\nint b;\nint ours;\n");
    let undoes = status(&project)["undoes"].clone();
    assert_eq!((undoes.as_array().unwrap().len(), &undoes[0]["subject"]), (1, &"three".into()));
}

#[test]
fn a_change_of_mode_is_undone_like_any_other() {
    use std::os::unix::fs::PermissionsExt;
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("run.sh", "#!/bin/sh\necho hello\n")]);
    let script = upstream.path().join("run.sh");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let pin = upstream.commit_all("make it executable");
    let table = format!("\n[[overlay]]\nname = \"ours\"\nbase = \"{base}\"\nfiles = [\"run.sh\"]\n");
    let project = Project::on(&upstream, &pin, &table);
    project.write("overlays/up/run.sh", "#!/bin/sh\necho hello\n");
    let overlay = status(&project);
    assert_eq!(overlay["state"], "rollback");
    assert_eq!(overlay["undoes"][0]["subject"], "make it executable");
}

#[test]
fn a_path_that_moved_twice_or_was_copied_first_is_followed() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("a.cu", V1), ("x.cu", &V1.replace("area", "other"))]);
    let rename = |from: &str, to: &str| {
        std::fs::rename(upstream.path().join(from), upstream.path().join(to)).unwrap();
    };
    rename("a.cu", "b.cu");
    std::fs::copy(upstream.path().join("x.cu"), upstream.path().join("y.cu")).unwrap();
    upstream.commit_all("move a, copy x");
    std::fs::rename(upstream.path().join("b.cu"), upstream.path().join("c.cu")).unwrap();
    std::fs::remove_file(upstream.path().join("x.cu")).unwrap();
    let pin = upstream.commit_all("move b, remove x");
    let table = format!("\n[[overlay]]\nname = \"ours\"\nbase = \"{base}\"\nfiles = [\"*.cu\"]\n");
    let project = Project::on(&upstream, &pin, &table);
    project.write("overlays/up/a.cu", "int ours;\n");
    project.write("overlays/up/x.cu", "int ours;\n");
    let paths = status(&project)["paths"].clone();
    assert_eq!((&paths[0]["state"], &paths[0]["to"]), (&"renamed".into(), &"c.cu".into()));
    assert_eq!((&paths[1]["state"], &paths[1]["to"]), (&"renamed".into(), &"y.cu".into()));
}

#[test]
fn a_file_in_a_submodule_is_unknown_and_is_not_written() {
    let mut upstream = Upstream::new();
    let other = upstream.commit("start", &[("a.c", "int a;\n")]);
    upstream.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{other},third")]);
    upstream.run_dated(&["commit", "-q", "-m", "add a submodule"]);
    let pin = upstream.git(&["rev-parse", "HEAD"]);
    let table = format!("\n[[overlay]]\nname = \"ours\"\nbase = \"{pin}\"\nfiles = [\"third/k.h\"]\n");
    let project = Project::on(&upstream, &pin, &table);
    project.write("overlays/up/third/k.h", "int ours;\n");
    assert_eq!(status(&project)["state"], "unknown");
    let run = project.run(&["apply"]).expect(3);
    assert!(run.stderr.contains("lies in the submodule third"), "{}", run.stderr);
}

#[test]
fn a_patch_stands_on_what_it_needs() {
    let (upstream, commits) = kernel();
    let tables = format!(
        "{}\n[[overlay]]\nname = \"on-top\"\nbase = \"{}\"\npatch = \"on-top.patch\"\nneeds = [\"ours\"]\n",
        files(&commits[0]),
        commits[0]
    );
    let project = Project::on(&upstream, &commits[0], &tables);
    project.write("overlays/up/src/kernel.cu", "int ours;\nint more;\n");
    project.write(
        "overlays/up/on-top.patch",
        "--- a/src/kernel.cu\n+++ b/src/kernel.cu\n@@ -1,2 +1,2 @@\n int ours;\n-int more;\n+int most;\n",
    );
    let document = project.run(&["status", "--json"]).expect(0).json();
    assert_eq!(document["overlays"][1]["state"], "fresh");
    project.run(&["verify"]).expect(0);
}

#[test]
fn two_manifests_of_one_upstream_name_are_warned_of() {
    let (upstream, commits) = kernel();
    let project = Project::on(&upstream, &commits[0], &files(&commits[0]));
    project.write("overlays/up/src/kernel.cu", V1.replace("height = 1", "height = 9"));
    let manifest = project.read("manifests/up.toml");
    for args in [&["status"][..], &["verify"], &["report", "--html"]] {
        project.write("manifests/other.toml", manifest.replace("name = \"up\"", "name = \"other\""));
        project.write("overlays/other/src/kernel.cu", V1.replace("height = 1", "height = 9"));
        let run = project.run(args);
        assert!(!run.stderr.contains("name one upstream"), "{args:?} {}", run.stderr);
        project.write("manifests/other.toml", &manifest);
        let run = project.run(args);
        let warning = "warning: `manifests/other.toml` and `manifests/up.toml` name one upstream, `up`: ";
        assert!(run.stderr.contains(warning), "{args:?} {}", run.stderr);
        assert!(!project.run(&[&["-m", "up"], args].concat()).stderr.contains("name one upstream"));
    }
}
