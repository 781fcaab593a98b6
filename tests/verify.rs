//! `verify`: each finding, made and mended.

use crate::support::{Project, Run, Upstream, git, write};

const V1: &str = "int width = 1;\nint height = 1;\n\nint area() {\n  return width * height;\n}\n";

fn kernel() -> (Upstream, [String; 2]) {
    let mut upstream = Upstream::new();
    let first = upstream.commit("kernel: add", &[("src/kernel.cu", V1), ("docs/a.md", "read me\n")]);
    let second =
        upstream.commit("kernel: wider", &[("src/kernel.cu", &V1.replace("width = 1", "width = 2"))]);
    (upstream, [first, second])
}

/// A project with one whole-file overlay `ours` on the first commit, and more lines for its table.
fn project(upstream: &Upstream, pin: &str, base: &str, more: &str, content: &str) -> Project {
    let overlay =
        format!("\n[[overlay]]\nname = \"ours\"\nbase = \"{base}\"\nfiles = [\"src/kernel.cu\"]\n{more}");
    let project = Project::on(upstream, pin, &overlay);
    project.write("overlays/up/src/kernel.cu", content);
    project
}

/// The findings but for the tree that is not there, as `severity code overlay path`.
fn findings(run: &Run) -> Vec<String> {
    let document = run.json();
    assert_eq!(document["schema"], "overlaid.verify.v1");
    let rows = document["findings"].as_array().unwrap().iter().map(|finding| {
        let text = |key: &str| finding[key].as_str().unwrap_or("-").to_owned();
        assert!(finding["hint"].is_string(), "says nothing of what to do: {finding}");
        format!("{} {} {} {}", text("severity"), text("code"), text("overlay"), text("path"))
    });
    rows.filter(|row| !row.contains("tree-absent")).collect()
}

fn verify(project: &Project) -> Vec<String> {
    findings(&project.run(&["verify", "--json"]))
}

const DELTA: &str = "int width = 1;\nint height = 1;\n\nint area() {\n  return 2 * width * height;\n}\n";

#[test]
fn a_sound_overlay_has_no_findings() {
    let (upstream, [first, _]) = kernel();
    let project = project(&upstream, &first, &first, "claim = \"code\"\n", DELTA);
    project.run(&["apply"]).expect(0);
    let run = project.run(&["verify"]).expect(0);
    assert_eq!(run.stdout, "1 overlay checked: 0 errors, 0 warnings\n");
}

#[test]
fn states_of_overlays_are_findings() {
    let (upstream, [first, second]) = kernel();
    let undone = "error stale ours src/kernel.cu";
    for (pin, base, content, expected) in [
        (&second, &first, V1.to_owned(), "error rollback ours src/kernel.cu"),
        (&second, &first, DELTA.to_owned(), undone),
        (&second, &first, V1.replace("width = 1", "width = 9"), undone),
        (&first, &first, format!("// a note\n{V1}"), "warning redundant ours src/kernel.cu"),
    ] {
        assert_eq!(verify(&project(&upstream, pin, base, "", &content)), [expected], "{content}");
    }
}

#[test]
fn a_missing_base_is_found() {
    let (upstream, [first, _]) = kernel();
    let project =
        Project::on(&upstream, &first, "\n[[overlay]]\nname = \"ours\"\nfiles = [\"src/kernel.cu\"]\n");
    project.write("overlays/up/src/kernel.cu", DELTA);
    assert_eq!(verify(&project), ["error base-missing ours -"]);
}

#[test]
fn a_claim_holds_or_is_found() {
    let (upstream, [first, _]) = kernel();
    let comment = V1.replace("int area", "/* area */ int area");
    let space = V1.replace("  return", "\treturn");
    // A comment that ends in a backslash takes the next line with it.
    let swallowed = V1.replace("int height = 1;", "// height \\\nint height = 1;");
    for (claim, content, broken) in [
        ("comments", &comment, false),
        ("whitespace", &comment, true),
        ("whitespace", &space, false),
        ("identical", &space, true),
        ("comments", &swallowed, true),
        ("comments", &DELTA.to_owned(), true),
        ("code", &DELTA.to_owned(), false),
    ] {
        let project = project(&upstream, &first, &first, &format!("claim = \"{claim}\"\n"), content);
        let found = verify(&project).contains(&"error claim-broken ours src/kernel.cu".to_owned());
        assert_eq!(found, broken, "{claim}: {content}");
    }
}

#[test]
fn every_file_of_the_tree_is_hashed() {
    let (upstream, [first, _]) = kernel();
    let project = project(&upstream, &first, &first, "", DELTA);
    project.run(&["apply"]).expect(0);
    let tree = project.tree();
    write(&tree.join("src/kernel.cu"), V1);
    write(&tree.join("extra.txt"), "extra\n");
    std::fs::remove_file(tree.join("docs/a.md")).unwrap();
    let mut found = verify(&project);
    found.sort();
    assert_eq!(
        found,
        [
            "error tree-content ours src/kernel.cu",
            "error tree-extra - extra.txt",
            "error tree-missing - docs/a.md",
        ]
    );
    project.run(&["verify"]).expect(1);
}

#[test]
fn an_edit_that_keeps_size_and_time_is_found() {
    let (upstream, [first, _]) = kernel();
    let project = project(&upstream, &first, &first, "", DELTA);
    project.run(&["apply"]).expect(0);
    let file = project.tree().join("docs/a.md");
    let time = std::fs::metadata(&file).unwrap().modified().unwrap();
    write(&file, "READ ME\n");
    std::fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    assert_eq!(verify(&project), ["error tree-content - docs/a.md"]);
}

#[test]
fn files_and_globs_that_lead_nowhere_are_found() {
    let (upstream, [first, _]) = kernel();
    let tables = format!(
        "\n[[overlay]]\nname = \"ours\"\nbase = \"{first}\"\nfiles = [\"src/kernel.cu\", \"src/*.metal\"]\n\
         \n[[check]]\nname = \"idle\"\nglobs = [\"metal/**\"]\nforbid = [\"x\"]\n\
         \n[[test]]\nname = \"t\"\nproject = \"tests/t\"\ntarget = \"t\"\ncommand = [\"{{build}}/t\"]\nsources = [\"tests/t/*.cpp\"]\n"
    );
    let project = Project::on(&upstream, &first, &tables);
    project.write("overlays/up/src/kernel.cu", DELTA);
    project.write("overlays/up/src/forgotten.cu", "int x;\n");
    project.write("overlays/up/README.md", "what these are\n");
    project.write("overlays/up/src/kernel.cu.orig", "int x;\n");
    let mut found = verify(&project);
    found.sort();
    assert_eq!(
        found,
        [
            "error glob-matches-nothing - -",
            "error glob-matches-nothing - -",
            "error glob-matches-nothing - -",
            "error unnamed-file - -",
            "warning unchecked-overlay ours -",
            "warning unnamed-file - -",
            "warning unnamed-file - -",
        ]
    );
    // For all other commands, a glob of an overlay that matches nothing is an error of the manifest.
    let run = project.run(&["status"]).expect(2);
    assert!(
        run.stderr.contains("src/*.metal") && run.stderr.contains("manifests/up.toml:11"),
        "{}",
        run.stderr
    );
}

#[test]
fn two_whole_overlays_on_a_path_are_an_error_unless_they_exclude_each_other() {
    let (upstream, [first, _]) = kernel();
    let tables = |first_when: &str, second_when: &str| {
        format!(
            "\n[features]\nexclusive = [[\"cuda\", \"rocm\"]]\n\
             \n[[overlay]]\nname = \"a\"\nbase = \"{first}\"\nfiles = [\"src/kernel.cu\"]\n{first_when}\
             \n[[overlay]]\nname = \"b\"\nbase = \"{first}\"\nfiles = [\"src/*.cu\"]\n{second_when}"
        )
    };
    for (a, b, clash) in [
        ("", "", true),
        ("when = [\"cuda\"]\n", "", true),
        ("when = [\"cuda\"]\n", "when = [\"rocm\"]\n", false),
        ("when = [\"cuda\"]\n", "when = [\"!cuda\"]\n", false),
        ("when = [\"cuda\"]\n", "when = [\"extras\"]\n", true),
    ] {
        let project = Project::on(&upstream, &first, &tables(a, b));
        project.write("overlays/up/src/kernel.cu", DELTA);
        let found = verify(&project).contains(&"error two-whole-overlays - -".to_owned());
        assert_eq!(found, clash, "{a} {b}");
        assert_eq!(project.run(&["status"]).code, if clash { 2 } else { 0 });
    }
}

#[test]
fn forbidden_patterns_are_found_with_their_line() {
    let (upstream, [first, _]) = kernel();
    let check = "\n[[check]]\nname = \"no-printf\"\nglobs = [\"src/**\"]\nforbid = ['printf\\(']\n";
    let content = DELTA.replace("  return", "  printf(\"x\");\n  return");
    let project = project(&upstream, &first, &first, check, &content);
    let document = project.run(&["verify", "--json"]).expect(1).json();
    let finding = &document["findings"][0];
    assert_eq!(finding["code"], "check-found");
    assert_eq!((&finding["file"], &finding["line"]), (&"overlays/up/src/kernel.cu".into(), &5.into()));
}

#[test]
fn every_place_that_repeats_the_pin_is_compared() {
    let (upstream, [first, second]) = kernel();
    let place =
        "\n[[upstream.also-pinned]]\nfile = \"CMakeLists.txt\"\nregex = 'GIT_TAG\\s+([0-9a-f]{40})'\n";
    for (text, expected) in [
        (Some(format!("GIT_TAG {first}\n")), vec![]),
        (Some(format!("GIT_TAG  {second}\n")), vec!["error also-pinned-differs - -"]),
        (Some(format!("GIT_TAG {first}\nGIT_TAG {second}\n")), vec!["error also-pinned-differs - -"]),
        (Some("GIT_TAG main\n".to_owned()), vec!["error also-pinned-no-match - -"]),
        (None, vec!["error also-pinned-missing - -"]),
    ] {
        let project = Project::on(&upstream, &first, place);
        if let Some(text) = &text {
            project.write("CMakeLists.txt", text);
        }
        assert_eq!(verify(&project), expected, "{text:?}");
    }
}

#[test]
fn reports_tests_and_documents_that_are_missing_are_found() {
    let (upstream, [first, _]) = kernel();
    let more = "report = \"docs/upstream/ours.md\"\ntests = [\"t\"]\n\
         \n[[test]]\nname = \"t\"\nproject = \"tests/t\"\ntarget = \"t\"\ncommand = [\"{build}/t\"]\n";
    let content = format!("// See docs/why.md.\n{DELTA}");
    let project = project(&upstream, &first, &first, more, &content);
    let mut found = verify(&project);
    found.sort();
    assert_eq!(
        found,
        [
            "error missing-document ours src/kernel.cu",
            "error missing-report ours -",
            "error missing-test ours -"
        ]
    );
    project.write("docs/why.md", "");
    project.write("docs/upstream/ours.md", "");
    // A project without a target is configured, too.
    project.write("tests/t/check.sh", "");
    project.write("manifests/up.toml", project.read("manifests/up.toml").replace("target = \"t\"\n", ""));
    assert_eq!(verify(&project), ["error missing-test ours -"]);
    project.write("tests/t/CMakeLists.txt", "");
    assert!(verify(&project).is_empty());
}

#[test]
fn a_body_below_an_upstream_marker_is_that_file() {
    let (upstream, [first, second]) = kernel();
    let marker = format!("// ---- begin upstream src/kernel.cu @ {first} ----\n");
    for (content, broken) in [
        (format!("int ours;\n{marker}{V1}"), false),
        (format!("int ours;\n{marker}{V1}// ---- end upstream ----\nint more;\n"), false),
        (format!("int ours;\n{marker}{DELTA}"), true),
        (format!("int ours;\n{}{V1}", marker.replace(&first, &second)), true),
        (format!("int ours;\n{}{V1}", marker.replace("kernel", "nothing")), true),
        (format!("int ours;\n{}{V1}", marker.replace(&first, &first[..9])), false),
        (format!("int ours;\n{}{DELTA}", marker.replace(&first, &first[..9])), true),
    ] {
        let project = project(&upstream, &first, &first, "", &content);
        let found = verify(&project).contains(&"error marker-differs ours src/kernel.cu".to_owned());
        assert_eq!(found, broken, "{content}");
    }
}

#[test]
fn a_marker_whose_digits_no_commit_has_is_found() {
    let (upstream, [first, _]) = kernel();
    let content = format!("int ours;\n// ---- begin upstream src/kernel.cu @ 0123456 ----\n{V1}");
    let project = project(&upstream, &first, &first, "", &content);
    assert!(verify(&project).contains(&"error marker-unreadable ours src/kernel.cu".to_owned()));
}

#[test]
fn a_patch_that_does_not_fit_is_found() {
    let (upstream, [first, second]) = kernel();
    let table = format!("\n[[overlay]]\nname = \"ours\"\nbase = \"{first}\"\npatch = \"ours.patch\"\n");
    let patch = "--- a/src/kernel.cu\n+++ b/src/kernel.cu\n@@ -1,2 +1,2 @@\n-int width = 1;\n+int width = 3;\n int height = 1;\n";
    let project = Project::on(&upstream, &first, &table);
    project.write("overlays/up/ours.patch", patch);
    project.run(&["apply"]).expect(0);
    assert!(verify(&project).is_empty());
    project.write("manifests/up.toml", project.read("manifests/up.toml").replacen(&first, &second, 1));
    assert_eq!(verify(&project), ["error stale ours src/kernel.cu"]);
    project.run(&["apply"]).expect(3);
}

#[test]
fn a_patch_that_never_fitted_is_one_finding_and_says_so() {
    let (upstream, [first, second]) = kernel();
    let table = format!("\n[[overlay]]\nname = \"ours\"\nbase = \"{first}\"\npatch = \"ours.patch\"\n");
    let project = Project::on(&upstream, &second, &table);
    project
        .write("overlays/up/ours.patch", "--- a/docs/a.md\n+++ b/docs/a.md\n@@ -1 +1 @@\n-read us\n+read\n");
    assert_eq!(verify(&project), ["error does-not-fit ours docs/a.md"]);
    let run = project.run(&["verify"]).expect(1);
    assert!(run.stdout.contains("patch = \"ours.patch\"\n"), "{}", run.stdout);
    assert!(run.stdout.contains("hint: make `ours.patch` anew"), "{}", run.stdout);
    assert_eq!(run.stdout.matches("docs/a.md").count(), 1, "{}", run.stdout);
}

#[test]
fn what_follows_from_a_file_that_is_missing_or_unreadable_is_not_said() {
    let (upstream, [first, _]) = kernel();
    let table = format!("\n[[overlay]]\nname = \"ours\"\nbase = \"{first}\"\npatch = \"ours.patch\"\n");
    let project = Project::on(&upstream, &first, &table);
    assert_eq!(verify(&project), ["error missing-file - -"]);
    project.write("overlays/up/ours.patch", "");
    assert_eq!(verify(&project), ["error bad-patch - -"]);
    let run = project.run(&["verify"]).expect(1);
    let message = "`overlays/up/ours.patch` cannot be read as a patch: line 1: the patch is empty\n";
    assert!(run.stdout.contains(message), "{}", run.stdout);
    let table = format!("\n[[overlay]]\nname = \"ours\"\nbase = \"{first}\"\nfiles = [\"a.cu\"]\n");
    let project = Project::on(&upstream, &first, &table);
    assert_eq!(verify(&project), ["error glob-matches-nothing - -"]);
}

#[test]
fn a_branch_that_upstream_does_not_have_is_found() {
    let (upstream, [first, _]) = kernel();
    for (branch, found) in [("main", false), ("mian", true)] {
        let project = Project::on(&upstream, &first, &format!("branch = \"{branch}\"\n"));
        let expected: &[&str] = if found { &["error branch-missing - -"] } else { &[] };
        assert_eq!(verify(&project), expected);
        let status = project.run(&["status"]).expect(0).stdout;
        assert_eq!(status.contains("(mian, which upstream does not have)"), found, "{status}");
    }
    // A store without names cannot tell, and says so.
    let bare = tempfile::tempdir().unwrap();
    git(bare.path(), &["init", "-q", "--bare", "."]);
    git(bare.path(), &["fetch", "-q", &upstream.path().display().to_string(), &first]);
    let mut project = Project::on(&upstream, &first, "branch = \"mian\"\n");
    project.set("OVERLAID_UPSTREAM_UP", bare.path());
    assert_eq!(verify(&project), ["warning branch-missing - -"]);
    project.run(&["verify"]).expect(0);
}

#[test]
fn what_is_wrong_in_the_tree_comes_with_the_command_that_puts_it_right() {
    let (upstream, [first, _]) = kernel();
    let project = project(&upstream, &first, &first, "", DELTA);
    project.run(&["apply"]).expect(0);
    let tree = project.tree();
    write(&tree.join("src/kernel.cu"), V1);
    write(&tree.join("extra.txt"), "extra\n");
    write(&tree.join("docs/a.md"), "other\n");
    let document = project.run(&["verify", "--json"]).expect(1).json();
    let mut commands: Vec<String> = document["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["hint"].as_str().unwrap().rsplit_once(": ").unwrap().1.to_owned())
        .collect();
    commands.sort_by_key(|command| command.starts_with("overlaid"));
    for command in commands {
        project.shell(&command).expect(0);
    }
    project.run(&["verify"]).expect(0);
}

#[test]
fn a_change_of_our_own_stays_within_what_is_expected() {
    let (upstream, [first, _]) = kernel();
    let project = project(&upstream, &first, &first, "", DELTA);
    project.write(".gitignore", "home\ncache\n.overlaid\n");
    git(project.path(), &["init", "-q", "-b", "main"]);
    let commit = || {
        git(project.path(), &["add", "-A"]);
        let args = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-q", "-m", "x"];
        git(project.path(), &args);
    };
    commit();
    let verify_since =
        || findings(&project.run(&["verify", "--since", "HEAD", "--expect", "comments", "--json"]));
    assert!(verify_since().is_empty());
    project.write("overlays/up/src/kernel.cu", format!("// a note\n{DELTA}"));
    assert!(verify_since().is_empty());
    project.write("overlays/up/src/kernel.cu", DELTA.replace("2 *", "3 *"));
    assert_eq!(verify_since(), ["error change-exceeds ours src/kernel.cu"]);
    // An overlay that was not there before is code.
    let table = format!("\n[[overlay]]\nname = \"new\"\nbase = \"{first}\"\ndelete = [\"docs/a.md\"]\n");
    project.write("manifests/up.toml", project.read("manifests/up.toml") + &table);
    assert!(verify_since().contains(&"error change-exceeds new docs/a.md".to_owned()));
    let run = project.run(&["verify", "--since", "nope", "--expect", "comments"]).expect(4);
    assert!(run.stderr.contains("there is no revision `nope`"), "{}", run.stderr);
}

#[test]
fn warnings_count_with_strict_only() {
    let (upstream, [first, _]) = kernel();
    let project = project(&upstream, &first, &first, "", &format!("// a note\n{V1}"));
    project.run(&["verify"]).expect(0);
    project.run(&["verify", "--strict"]).expect(1);
}

#[test]
fn each_code_is_documented() {
    let documented = include_str!("../docs/findings.md");
    let sources = walkdir::WalkDir::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/verify")).into_iter();
    let mut codes = 0;
    for source in sources.map(Result::unwrap).filter(|source| source.file_type().is_file()) {
        let text = std::fs::read_to_string(source.path()).unwrap();
        for constructor in ["Finding::error(", "Finding::warning(", "Finding::new("] {
            for call in text.split(constructor).skip(1) {
                let Some(code) = call.split('"').nth(1) else { continue };
                if code.contains(|c: char| !c.is_ascii_lowercase() && c != '-') {
                    continue;
                }
                codes += 1;
                assert!(documented.contains(&format!("| `{code}` |")), "{code} is not in docs/findings.md");
            }
        }
    }
    assert!(codes > 20, "{codes}");
}

#[test]
fn overlays_that_do_not_fit_are_found_before_there_is_a_tree() {
    let (upstream, [first, _]) = kernel();
    let patch = |from: &str, to: &str| {
        format!(
            "--- a/src/kernel.cu\n+++ b/src/kernel.cu\n@@ -1,2 +1,2 @@\n-{from}\n+{to}\n int height = 1;\n"
        )
    };
    let overlay = |name: &str| {
        format!("\n[[overlay]]\nname = \"{name}\"\nbase = \"{first}\"\npatch = \"{name}.patch\"\n")
    };
    let project = Project::on(&upstream, &first, &(overlay("a") + &overlay("b")));
    project.write("overlays/up/a.patch", patch("int width = 1;", "int width = 3;"));
    project.write("overlays/up/b.patch", patch("int width = 1;", "int width = 4;"));
    assert_eq!(verify(&project), ["error does-not-fit - -"]);
    // A file where upstream has a folder.
    let table = format!("\n[[overlay]]\nname = \"ours\"\nbase = \"{first}\"\nfiles = [\"src\"]\n");
    let project = Project::on(&upstream, &first, &table);
    project.write("overlays/up/src", "int ours;\n");
    assert_eq!(verify(&project), ["error does-not-fit - -"]);
    project.run(&["apply"]).expect(2);
}

#[test]
fn links_do_not_lead_out_of_the_tree_or_of_the_repository() {
    let (upstream, [first, _]) = kernel();
    let table = format!("\n[[overlay]]\nname = \"ours\"\nbase = \"{first}\"\nfiles = [\"src/link\"]\n");
    for (target, leads_out) in
        [("/etc/passwd", true), ("../../x", true), ("../docs/a.md", false), ("kernel.cu", false)]
    {
        let project = Project::on(&upstream, &first, &table);
        std::fs::create_dir_all(project.path().join("overlays/up/src")).unwrap();
        std::os::unix::fs::symlink(target, project.path().join("overlays/up/src/link")).unwrap();
        let found = verify(&project).contains(&"error link-leads-out - -".to_owned());
        assert_eq!(found, leads_out, "{target}");
        assert_eq!(project.run(&["apply"]).code, if leads_out { 2 } else { 0 });
    }
    let outside = tempfile::tempdir().unwrap();
    let project = Project::on(&upstream, &first, "tree = \"out/tree\"\n");
    std::os::unix::fs::symlink(outside.path(), project.path().join("out")).unwrap();
    project.run(&["apply"]).expect(2);
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    // Named by the person who types, it is meant.
    let named = outside.path().join("tree");
    project.run(&["apply", "--tree", named.to_str().unwrap()]).expect(0);
}

/// The commands at the ends of the hints of `verify --tree`, those of the program last.
fn commands(project: &Project, tree: &str) -> Vec<String> {
    let document = project.run(&["verify", "--json", "--tree", tree]).expect(1).json();
    let findings = document["findings"].as_array().unwrap().iter();
    let hints = findings.map(|finding| finding["hint"].as_str().unwrap().to_owned());
    let mut commands: Vec<String> = hints
        .map(|hint| hint.rsplit_once(": ").map_or(hint.clone(), |(_, command)| command.to_owned()))
        .collect();
    commands.sort_by_key(|command| command.starts_with("overlaid"));
    commands
}

#[test]
fn in_a_tree_that_was_named_the_commands_name_it_too() {
    let (upstream, [first, _]) = kernel();
    let project = project(&upstream, &first, &first, "", DELTA);
    project.run(&["apply", "--tree", "deps/up src"]).expect(0);
    write(&project.path().join("deps/up src/docs/a.md"), "other\n");
    project.write("overlays/up/src/kernel.cu", format!("{DELTA}// more\n"));
    let commands = commands(&project, "deps/up src");
    let of_program: Vec<&String> =
        commands.iter().filter(|command| command.starts_with("overlaid")).collect();
    assert!(of_program.contains(&&"overlaid apply --tree 'deps/up src'".to_owned()), "{commands:?}");
    for command in &commands {
        project.shell(command).expect(0);
    }
    project.run(&["verify", "--tree", "deps/up src"]).expect(0);
    assert!(!project.tree().exists(), "another tree was made");
}

#[test]
fn what_upstreams_file_was_in_a_clone_is_for_git_to_put_back() {
    let (upstream, [first, _]) = kernel();
    let project = project(&upstream, &first, &first, "", DELTA);
    git(project.path(), &["clone", "-q", upstream.path().to_str().unwrap(), "module"]);
    git(&project.path().join("module"), &["checkout", "-q", &first]);
    project.run(&["apply", "--tree", "module"]).expect(0);
    write(&project.path().join("module/docs/a.md"), "other\n");
    assert_eq!(commands(&project, "module"), [format!("git -C module checkout {first} -- docs/a.md")]);
    project.shell(&commands(&project, "module")[0]).expect(0);
    project.run(&["verify", "--tree", "module"]).expect(0);
}

#[test]
fn a_tree_that_was_never_made_may_be_one_in_another_folder() {
    let (upstream, [first, _]) = kernel();
    let project = project(&upstream, &first, &first, "", DELTA);
    let run = project.run(&["verify"]).expect(0);
    assert!(run.stdout.contains("tree-absent") && run.stdout.contains("--tree DIR"), "{}", run.stdout);
    let run = project.run(&["verify", "--tree", "nowhere"]).expect(1);
    assert!(run.stdout.contains("make it: overlaid apply --tree nowhere"), "{}", run.stdout);
}

#[test]
fn a_condition_that_no_profile_can_fulfil_is_found() {
    let (upstream, [first, _]) = kernel();
    let profile = |features: &str| format!("when = [\"nope\"]\n[profile.cpu]\n{features}\n");
    for (more, expected) in [
        (profile("features = [\"gpu\"]"), &["warning unknown-feature - -"][..]),
        (profile("features = [\"nope\"]"), &[]),
        // No profile turns anything on: features are the build's to name.
        (profile(""), &[]),
        ("when = [\"nope\"]\n".to_owned(), &[]),
    ] {
        let project = project(&upstream, &first, &first, &more, DELTA);
        assert_eq!(verify(&project), expected, "{more}");
        project.run(&["apply"]).expect(0);
        let strict = if expected.is_empty() { 0 } else { 1 };
        project.run(&["verify", "--strict"]).expect(strict);
    }
}

#[test]
fn force_is_advised_only_where_apply_would_refuse() {
    let (upstream, [first, _]) = kernel();
    let project = project(&upstream, &first, &first, "", DELTA);
    project.run(&["apply"]).expect(0);
    // The tree has what an earlier run wrote.
    project.write("overlays/up/src/kernel.cu", DELTA.replace('2', "3"));
    let run = project.run(&["verify"]).expect(1);
    assert!(run.stdout.contains("tree-content") && !run.stdout.contains("--force"), "{}", run.stdout);
    project.run(&["apply"]).expect(0);
    project.run(&["verify"]).expect(0);
    // It has something of somebody's.
    write(&project.tree().join("src/kernel.cu"), "int mine;\n");
    let run = project.run(&["verify"]).expect(1);
    assert!(
        run.stdout.contains("a copy of what is there is kept): overlaid") && run.stdout.contains("--force")
    );
    project.run(&["apply"]).expect(3);
    project.run(&["apply", "--force"]).expect(0);
    // An overlay that went: what it wrote is ours to replace, whether upstream has the file or not.
    project.write("manifests/up.toml", crate::support::manifest(&upstream, &first, ""));
    let run = project.run(&["verify"]).expect(1);
    assert!(!run.stdout.contains("make an overlay of it"), "{}", run.stdout);
    project.run(&["apply"]).expect(0);
}

#[test]
fn a_folder_at_the_pins_bytes_needs_no_force() {
    let (upstream, [first, _]) = kernel();
    let project = project(&upstream, &first, &first, "", DELTA);
    let folder = project.path().join("third_party/up");
    write(&folder.join("src/kernel.cu"), V1);
    write(&folder.join("docs/a.md"), "read me\n");
    let run = project.run(&["verify", "--tree", "third_party/up"]).expect(1);
    assert!(run.stdout.contains("tree-content") && !run.stdout.contains("--force"), "{}", run.stdout);
    // The manifest can say where it is; to take it as it is has to be said all the same.
    let manifest = project.read("manifests/up.toml");
    let with_tree = manifest.replacen("[upstream]\n", "[upstream]\ntree = \"third_party/up\"\n", 1);
    project.write("manifests/up.toml", with_tree);
    let run = project.run(&["verify"]).expect(1);
    let hint = run.stdout.lines().find_map(|line| line.split_once("put it right: overlaid "));
    let (_, hint) = hint.unwrap_or_else(|| panic!("{}", run.stdout));
    project.run(&hint.split(' ').collect::<Vec<_>>()).expect(0);
    project.run(&["verify"]).expect(0);
    project.run(&["apply"]).expect(0);
}

#[test]
fn a_tree_of_other_features_is_said_to_be_one() {
    let (upstream, [first, _]) = kernel();
    let more = "when = [\"exact\", \"!slow\"]\n";
    let hint = |project: &Project, args: &[&str]| {
        let document = project.run(&[&["--json", "verify"], args].concat()).json();
        let findings = document["findings"].as_array().unwrap().iter();
        let mut hints = findings.filter(|finding| finding["code"] == "attestation-differs");
        hints.next().map(|finding| finding["hint"].as_str().unwrap().to_owned()).unwrap_or_default()
    };
    let tree = |project: &Project, args: &[&str]| project.run(&[args, &["apply"]].concat()).expect(0);
    let plain = project(&upstream, &first, &first, more, DELTA);
    tree(&plain, &["--features", "exact"]);
    assert!(
        hint(&plain, &[]).contains("made with `exact` on: if that is meant, name it with --features exact; ")
    );
    assert_eq!(hint(&plain, &["--features", "exact"]), "");
    // It was, and the overlay is another one by now.
    plain.write("overlays/up/src/kernel.cu", DELTA.replace('2', "3"));
    assert_eq!(
        hint(&plain, &["--features", "exact"]),
        "bring the tree to what the manifest says: overlaid --features exact apply"
    );
    tree(&plain, &[]);
    assert!(
        hint(&plain, &["--features", "exact"])
            .starts_with("it was made without features; if that is not meant, ")
    );
    // A feature that the manifest does not name any more.
    tree(&plain, &["--features", "exact"]);
    let manifest = plain.read("manifests/up.toml");
    plain.write("manifests/up.toml", manifest.replace("\"exact\"", "\"precise\""));
    assert!(hint(&plain, &[]).ends_with("name them with --features or --profile"));
    // With profiles, they are what turns features on.
    let profiles = format!(
        "{more}[profile.fast]\nfeatures = [\"slow\"]\n[profile.right]\nfeatures = [\"exact\"]\n[profile.plain]\n"
    );
    let several = project(&upstream, &first, &first, &profiles, DELTA);
    tree(&several, &["--profile", "right"]);
    assert_eq!(hint(&several, &[]), "", "one of the profiles is that");
    assert!(hint(&several, &["--profile", "plain"]).contains("name it with --profile right; "));
    tree(&several, &["--profile", "right", "--features", "slow"]);
    assert!(
        hint(&several, &[])
            .contains("made with `exact`, `slow` on: if that is meant, name it with --profile ")
    );
}
