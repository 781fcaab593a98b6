//! `diff`: what overlays change, against base and pin and since a revision of ours.

use crate::support::{Project, Run, Upstream, git, write};

const V1: &str = "int width = 1;\nint height = 1;\n\n// the area\nint area() {\n  return width * height;  // of a box\n}\n";

/// Two commits: the second makes it wider.
fn kernel() -> (Upstream, [String; 2]) {
    let mut upstream = Upstream::new();
    let files = [("src/kernel.cu", V1), ("README", "read me\n"), ("src/old.c", "int old;\n")];
    let first = upstream.commit("kernel: add", &files);
    let second = upstream.commit("kernel: wider", &[("src/kernel.cu", &wider(V1))]);
    (upstream, [first, second])
}

fn wider(text: &str) -> String {
    text.replace("width = 1", "width = 2")
}

fn table(name: &str, base: &str, rest: &str) -> String {
    format!("\n[[overlay]]\nname = \"{name}\"\nbase = \"{base}\"\n{rest}\n")
}

/// A project with one whole-file overlay `ours` that is derived from the first commit.
fn ours(upstream: &Upstream, pin: &str, base: &str, content: &str) -> Project {
    let project = Project::on(upstream, pin, &table("ours", base, "files = [\"src/kernel.cu\"]"));
    project.write("overlays/up/src/kernel.cu", content);
    project
}

/// The lines that name a file and say how far its change goes.
fn summaries(run: &Run) -> Vec<&str> {
    run.stdout.lines().filter(|line| line.starts_with("# ")).collect()
}

/// What git makes of the diff on a commit: the content of a path, `None` if it is gone.
fn applied(upstream: &Upstream, commit: &str, diff: &[u8], path: &str) -> Option<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["clone", "-q", "--no-checkout", &upstream.path().display().to_string(), "clone"]);
    let clone = dir.path().join("clone");
    git(&clone, &["checkout", "-q", commit]);
    write(&dir.path().join("diff"), diff);
    git(&clone, &["apply", "--index", "../diff"]);
    std::fs::read(clone.join(path)).ok()
}

fn bytes(project: &Project, args: &[&str]) -> Vec<u8> {
    project.command(args).output().unwrap().stdout
}

#[test]
fn against_the_base_it_shows_what_is_ours_and_against_the_pin_what_is_undone_too() {
    let (upstream, [first, second]) = kernel();
    let project = ours(&upstream, &second, &first, &V1.replace("height = 1", "height = 3"));
    let base = project.run(&["diff"]).expect(1);
    assert_eq!(summaries(&base), ["# ours: src/kernel.cu: code +1 -1"]);
    assert!(base.stdout.contains("-int height = 1;\n+int height = 3;\n"), "{}", base.stdout);
    assert!(!base.stdout.contains("-int width"), "{}", base.stdout);
    let pin = project.run(&["diff", "--against", "pin"]).expect(1);
    assert_eq!(summaries(&pin), ["# ours: src/kernel.cu: code +2 -2"]);
    assert!(pin.stdout.contains("-int width = 2;\n"), "{}", pin.stdout);
}

#[test]
fn lines_of_comments_are_told_apart_from_code_without_colour_and_with_it() {
    let (mut upstream, _) = kernel();
    // Far apart: one hunk of comments, one of code.
    let far = V1.to_owned() + &"int more;\n".repeat(20);
    let base = upstream.commit("more", &[("src/kernel.cu", &far)]);
    let content =
        far.replace("// of a box", "// of our box").replace("int width = 1;", "// wide\nint width = 1;")
            + "int last;\n";
    let project = ours(&upstream, &base, &base, &content);
    let plain = project.run(&["diff"]).expect(1);
    assert_eq!(summaries(&plain), ["# ours: src/kernel.cu: code +1 -0, comments +2 -1"]);
    let hunks: Vec<&str> = plain.stdout.lines().filter(|line| line.starts_with("@@")).collect();
    assert_eq!(hunks, ["@@ -1,9 +1,10 @@ comments only", "@@ -25,3 +26,4 @@"]);
    assert!(!plain.stdout.contains('\u{1b}'));

    let output = project.command(&["diff"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    let coloured = String::from_utf8(output.stdout).unwrap();
    for dim in
        ["+// wide", "-  return width * height;  // of a box", "+  return width * height;  // of our box"]
    {
        assert!(coloured.contains(&format!("\u{1b}[2m{dim}\u{1b}[0m")), "{coloured}");
    }
    assert!(coloured.contains("\u{1b}[32m+int last;"), "{coloured}");
    let output = project.command(&["diff"]).env("NO_COLOR", "1").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), plain.stdout);
}

#[test]
fn exit_codes_say_whether_code_differs() {
    let (upstream, [first, _]) = kernel();
    for (content, summary, code) in [
        (V1.to_owned(), "identical", 0),
        (V1.replace("  return", "\treturn"), "whitespace +1 -1", 0),
        (V1.replace("// the area", "// our area"), "comments +1 -1", 0),
        (V1.replace("height = 1", "height = 2"), "code +1 -1", 1),
        // The comment takes the next line with it.
        (V1.replace("int width = 1;", "int width = 1; // \\"), "code +1 -1", 1),
        (format!("{V1}/* no end"), "unknown +1 -0 (line 8: a comment does not end)", 4),
    ] {
        let run = ours(&upstream, &first, &first, &content).run(&["diff"]).expect(code);
        assert_eq!(summaries(&run), [format!("# ours: src/kernel.cu: {summary}")], "{}", run.stdout);
    }
}

/// All kinds of overlays on the second commit, whose base is the first.
fn all_kinds(upstream: &mut Upstream, first: &str, second: &str) -> Project {
    upstream.git(&["checkout", "-q", "-b", "side", second]);
    let aside = upstream.commit("aside", &[("src/side.c", "int side;\n")]);
    upstream.git(&["checkout", "-q", "main"]);
    let tables = [
        table("whole", first, "files = [\"src/new.c\", \"README\"]"),
        table("patch", first, "patch = \"p.patch\""),
        table("pick", first, &format!("from = {{ commits = [\"{aside}\"] }}")),
        table("held", first, &format!("from = {{ commit = \"{first}\", paths = [\"src/kernel.cu\"] }}")),
        table("gone", first, "delete = [\"src/old.c\"]"),
    ];
    let project = Project::on(upstream, second, &tables.concat());
    project.write("overlays/up/src/new.c", "// new\nint new;\n");
    project.write("overlays/up/README", "\u{0}read me not\n");
    project.write(
        "overlays/up/p.patch",
        "--- a/src/kernel.cu\n+++ b/src/kernel.cu\n@@ -2,2 +2,2 @@\n-int height = 1;\n+int height = 2;\n \n",
    );
    project
}

#[test]
fn every_kind_of_overlay_has_a_diff_that_git_applies() {
    let (mut upstream, [first, second]) = kernel();
    let project = all_kinds(&mut upstream, &first, &second);
    let stat = project.run(&["diff", "--stat", "--against", "pin"]).expect(4);
    assert_eq!(
        stat.stdout.lines().collect::<Vec<_>>(),
        [
            "# whole: README: unknown (comments are not known in this kind of file)",
            "# whole: src/new.c: code +1 -0, comments +1 -0",
            "# patch: src/kernel.cu: code +1 -1",
            "# pick: src/side.c: code +1 -0",
            "# held: src/kernel.cu: code +1 -1",
            "# gone: src/old.c: code +0 -1",
        ]
    );
    for (overlay, path, content) in [
        ("whole", "src/new.c", Some("// new\nint new;\n".to_owned())),
        ("whole", "README", Some("\u{0}read me not\n".to_owned())),
        ("patch", "src/kernel.cu", Some(wider(V1).replace("height = 1", "height = 2"))),
        ("pick", "src/side.c", Some("int side;\n".to_owned())),
        ("held", "src/kernel.cu", Some(V1.to_owned())),
        ("gone", "src/old.c", None),
    ] {
        let diff = bytes(&project, &["diff", overlay, "--against", "pin"]);
        let found = applied(&upstream, &second, &diff, path);
        assert_eq!(found, content.map(String::into_bytes), "{overlay}");
    }
}

#[test]
fn bytes_that_are_no_text_reach_a_file_as_they_are() {
    let mut upstream = Upstream::new();
    std::fs::write(upstream.path().join("a.c"), b"// caf\xe9\r\nint a;\r\n").unwrap();
    let pin = upstream.commit_all("latin");
    let project = Project::on(&upstream, &pin, &table("ours", &pin, "files = [\"a.c\"]"));
    let content = b"// caf\xe9 \x1b[2J\r\nint a;\r\n";
    project.write("overlays/up/a.c", content);
    let diff = bytes(&project, &["diff"]);
    assert_eq!(applied(&upstream, &pin, &diff, "a.c").unwrap(), content);
    // In colour, a person looks at it.
    let output = project.command(&["diff"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("caf\\xe9 \\u{1b}[2J"), "{shown}");
}

#[test]
fn a_terminal_gets_no_control_characters_of_others_without_colour_either() {
    let (upstream, [first, _]) = kernel();
    let project = ours(&upstream, &first, &first, &format!("{V1}// \u{1b}[2J\n"));
    let Some(shown) = project.on_terminal(80, &["diff"]) else {
        println!("skipped: there is no `script` to make a terminal");
        return;
    };
    assert!(shown.contains("+// \\u{1b}[2J"), "{shown}");
    assert!(!shown.contains("\u{1b}[2J"), "{shown}");
}

#[test]
fn the_target_of_a_link_is_code_whatever_its_name() {
    let mut upstream = Upstream::new();
    std::os::unix::fs::symlink("src//one.c", upstream.path().join("k.c")).unwrap();
    let pin = upstream.commit("links", &[("src/one.c", "1\n"), ("src/two.c", "2\n")]);
    let project = Project::on(&upstream, &pin, &table("ours", &pin, "files = [\"k.c\"]"));
    std::fs::create_dir_all(project.path().join("overlays/up")).unwrap();
    std::os::unix::fs::symlink("src//two.c", project.path().join("overlays/up/k.c")).unwrap();
    let run = project.run(&["diff"]).expect(1);
    assert!(summaries(&run)[0].starts_with("# ours: k.c: code"), "{}", run.stdout);
    // A link in place of a file.
    let project = Project::on(&upstream, &pin, &table("ours", &pin, "files = [\"src/one.c\"]"));
    std::fs::create_dir_all(project.path().join("overlays/up/src")).unwrap();
    std::os::unix::fs::symlink("two.c", project.path().join("overlays/up/src/one.c")).unwrap();
    let diff = bytes(&project, &["diff"]);
    assert_eq!(applied(&upstream, &pin, &diff, "src/one.c").unwrap(), b"2\n");
}

#[test]
fn a_mode_alone_is_a_difference_in_code() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("a.c", "int a;\n")]);
    let project = Project::on(&upstream, &pin, &table("ours", &pin, "patch = \"mode.patch\""));
    let patch = "diff --git a/a.c b/a.c\nold mode 100644\nnew mode 100755\n";
    project.write("overlays/up/mode.patch", patch);
    let run = project.run(&["diff"]).expect(1);
    assert_eq!(run.stdout, format!("# ours: a.c: code\n{patch}"));
}

#[test]
fn an_overlay_that_needs_another_is_shown_on_top_of_it() {
    let (upstream, [first, _]) = kernel();
    let tables = table("below", &first, "files = [\"src/kernel.cu\"]")
        + &table("on-top", &first, "patch = \"p.patch\"\nneeds = [\"below\"]");
    let project = Project::on(&upstream, &first, &tables);
    project.write("overlays/up/src/kernel.cu", "int one;\nint two;\n");
    let patch =
        "--- a/src/kernel.cu\n+++ b/src/kernel.cu\n@@ -1,2 +1,2 @@\n int one;\n-int two;\n+int three;\n";
    project.write("overlays/up/p.patch", patch);
    let run = project.run(&["diff", "on-top"]).expect(1);
    assert_eq!(summaries(&run), ["# on-top: src/kernel.cu: code +1 -1"]);
    assert!(run.stdout.ends_with("@@ -1,2 +1,2 @@\n int one;\n-int two;\n+int three;\n"), "{}", run.stdout);
}

#[test]
fn one_that_does_not_fit_does_not_hide_the_others() {
    let (upstream, [first, _]) = kernel();
    let tables = table("broken", &first, "patch = \"p.patch\"")
        + &table("ours", &first, "files = [\"README\"]")
        + "\n[[overlay]]\nname = \"baseless\"\ndelete = [\"src/old.c\"]\n";
    let project = Project::on(&upstream, &first, &tables);
    project.write("overlays/up/README", "read me\n");
    project.write("overlays/up/p.patch", "--- a/README\n+++ b/README\n@@ -1 +1 @@\n-nothing\n+something\n");
    let run = project.run(&["diff"]).expect(2);
    assert_eq!(summaries(&run), ["# ours: README: identical"]);
    assert!(run.stderr.contains("overlay `broken`, README (line 3 of the patch)"), "{}", run.stderr);
    assert!(run.stderr.contains("hint: compare with the pin: overlaid diff baseless --against pin"));
    project.run(&["diff", "broken"]).expect(3);
    project.run(&["diff", "ours"]).expect(0);
    project.run(&["diff", "baseless", "--against", "pin"]).expect(1);
    let run = project.run(&["diff", "nobody"]).expect(2);
    assert!(run.stderr.contains("there is no overlay `nobody`"), "{}", run.stderr);
}

fn commit_of_ours(project: &Project) {
    if !project.path().join(".git").exists() {
        project.write(".gitignore", "home\ncache\n.overlaid\n");
        git(project.path(), &["init", "-q", "-b", "main"]);
    }
    git(project.path(), &["add", "-A"]);
    let args = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-q", "-m", "x"];
    git(project.path(), &args);
}

#[test]
fn since_a_revision_only_our_own_changes_show() {
    let (upstream, [first, second]) = kernel();
    let project = ours(&upstream, &first, &first, V1);
    commit_of_ours(&project);
    let run = project.run(&["diff", "--since", "HEAD"]).expect(0);
    assert_eq!(
        (run.stdout.as_str(), run.stderr.as_str()),
        ("", "nothing changed in the overlays since HEAD\n")
    );

    project.write("overlays/up/src/kernel.cu", V1.replace("// the area", "// our area"));
    commit_of_ours(&project);
    project.run(&["diff", "--since", "HEAD"]).expect(0);
    // The pin moves, too: that is not the overlay's doing.
    let manifest = project.read("manifests/up.toml");
    project.write("manifests/up.toml", manifest.replacen(&first, &second, 1));
    let run = project.run(&["diff", "--since", "HEAD~1"]).expect(0);
    assert_eq!(summaries(&run), ["# ours: src/kernel.cu: comments +1 -1"]);

    // One comes, one goes.
    project.write("manifests/up.toml", project.read("manifests/up.toml").replace("\"ours\"", "\"theirs\""));
    let run = project.run(&["diff", "--since", "main"]).expect(1);
    assert_eq!(summaries(&run).len(), 2);
    assert!(summaries(&run)[0].starts_with("# ours: src/kernel.cu: code"), "{}", run.stdout);
    let run = project.run(&["diff", "ours", "--since", "main"]).expect(1);
    assert_eq!(summaries(&run).len(), 1);
    let run = project.run(&["diff", "nobody", "--since", "main"]).expect(2);
    assert_eq!(run.stderr, "error: there is no overlay `nobody`\nhint: there are: ours, theirs\n");
    project.run(&["diff", "--since", "main", "--against", "pin"]).expect(2);
    for revision in ["nope", "HEAD~9", "HEAD^2"] {
        let run = project.run(&["diff", "--since", revision]).expect(4);
        assert!(run.stderr.contains(&format!("there is no revision `{revision}`")), "{}", run.stderr);
    }
}

#[test]
fn an_overlay_that_did_not_fit_then_is_named_with_its_time() {
    let (upstream, [first, _]) = kernel();
    let project = Project::on(&upstream, &first, &table("ours", &first, "patch = \"p.patch\""));
    project.write("overlays/up/p.patch", "--- a/README\n+++ b/README\n@@ -1 +1 @@\n-nothing\n+ours\n");
    commit_of_ours(&project);
    project.write("overlays/up/p.patch", "--- a/README\n+++ b/README\n@@ -1 +1 @@\n-read me\n+ours\n");
    let run = project.run(&["diff", "--since", "HEAD"]).expect(3);
    assert!(run.stderr.contains("caused by: that is the overlay as it was at HEAD"), "{}", run.stderr);
    let run = project.run(&["verify", "--since", "HEAD", "--expect", "comments", "--json"]).expect(1);
    let codes: Vec<String> = run.json()["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["code"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(codes, ["change-unknown", "tree-absent"]);
}

#[test]
fn one_document_has_all_of_it() {
    let (mut upstream, [first, second]) = kernel();
    let project = all_kinds(&mut upstream, &first, &second);
    let document = project.run(&["diff", "--json", "--against", "pin"]).expect(4).json();
    assert_eq!(document["schema"], "overlaid.diff.v1");
    let files = document["files"].as_array().unwrap();
    assert_eq!(files.len(), 6);
    assert_eq!((&files[0]["delta"], files[0]["why"].is_string()), (&"unknown".into(), true));
    let new = &files[1];
    assert_eq!((&new["overlay"], &new["path"]), (&"whole".into(), &"src/new.c".into()));
    assert_eq!((&new["delta"], &new["why"]), (&"code".into(), &serde_json::Value::Null));
    assert_eq!(new["code"], serde_json::json!({ "added": 1, "removed": 0 }));
    assert_eq!(new["comments"], serde_json::json!({ "added": 1, "removed": 0 }));
    // What a program gets is the diff alone, without our marks.
    let diff = new["diff"].as_str().unwrap();
    assert!(diff.starts_with("diff --git") && !diff.contains("comments"), "{diff}");
}
