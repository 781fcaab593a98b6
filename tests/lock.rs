//! `lock`, and what `apply` and `restore` do with it where there is no git.

use std::path::{Path, PathBuf};

use crate::support::{Project, Run, Upstream, git, write};

const KERNEL: &str = "int a;\nint b;\nint c;\nint d;\nint e;\nint f;\nint g;\n";

const PATCH: &str =
    "--- a/src/kernel.cu\n+++ b/src/kernel.cu\n@@ -1,3 +1,3 @@\n int a;\n-int b;\n+int b = 2;\n int c;\n";

/// An upstream with two commits: the second changes another line, and adds a file.
fn upstream() -> (Upstream, [String; 2]) {
    let mut upstream = Upstream::new();
    let first = upstream.commit(
        "start",
        &[
            ("src/kernel.cu", KERNEL),
            ("src/old.cu", "old\n"),
            ("src/other.cu", "other\n"),
            ("docs/a.md", "a\n"),
        ],
    );
    let later = KERNEL.replace("int g;", "int g = 7;");
    let second = upstream.commit("later", &[("src/kernel.cu", &later), ("src/added.cu", "added\n")]);
    (upstream, [first, second])
}

/// One overlay of each kind that is our own.
const OVERLAYS: &str = "
[[overlay]]
name = \"whole\"
files = [\"src/other.cu\", \"src/new.cu\"]

[[overlay]]
name = \"mend\"
patch = \"mend.patch\"

[[overlay]]
name = \"no-old\"
delete = [\"src/old.cu\"]
";

fn project(upstream: &Upstream, pin: &str) -> Project {
    let project = Project::on(upstream, pin, OVERLAYS);
    project.write("overlays/up/src/other.cu", "ours\n");
    project.write("overlays/up/src/new.cu", "new\n");
    project.write("overlays/up/mend.patch", PATCH);
    project
}

/// The pin as a tarball would have it, without `.git`.
fn unpack(project: &Project, upstream: &Upstream, commit: &str, name: &str) -> PathBuf {
    let dir = project.path().join(name);
    std::fs::create_dir_all(&dir).unwrap();
    let archive = project.path().join(format!("{name}.tar"));
    upstream.git(&["archive", "-o", archive.to_str().unwrap(), commit]);
    let status =
        crate::support::command("tar").arg("-xf").arg(&archive).arg("-C").arg(&dir).status().unwrap();
    assert!(status.success());
    dir
}

/// Runs the program where no git can be found, and nothing of the upstream's.
fn run_without_git(project: &Project, args: &[&str]) -> Run {
    let empty = project.path().join("no-programs");
    std::fs::create_dir_all(&empty).unwrap();
    let output = project.command(args).env("PATH", &empty).output().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Takes the upstream away.
fn vanish(upstream: &Upstream) {
    std::fs::rename(upstream.path(), upstream.path().with_extension("gone")).unwrap();
    std::fs::create_dir(upstream.path()).unwrap();
}

fn read(dir: &Path, path: &str) -> String {
    std::fs::read_to_string(dir.join(path)).unwrap_or_else(|error| format!("{path}: {error}"))
}

#[test]
fn files_patches_and_deletions_go_on_without_git() {
    let (upstream, [pin, _]) = upstream();
    let project = project(&upstream, &pin);
    let dir = unpack(&project, &upstream, &pin, "tree");
    project.run(&["lock"]).expect(0);
    vanish(&upstream);
    project.run(&["apply"]).expect(4);

    let run = run_without_git(&project, &["--offline", "apply", "--tree", "tree"]).expect(0);
    assert!(run.stdout.contains("4 paths changed, 4 of them by overlays"), "{}", run.stdout);
    assert_eq!(read(&dir, "src/kernel.cu"), KERNEL.replace("int b;", "int b = 2;"));
    assert_eq!(read(&dir, "src/other.cu"), "ours\n");
    assert_eq!(read(&dir, "src/new.cu"), "new\n");
    assert!(!dir.join("src/old.cu").exists());
    assert_eq!(read(&dir, "docs/a.md"), "a\n");

    let run = run_without_git(&project, &["--offline", "apply", "--tree", "tree"]).expect(0);
    assert!(run.stdout.contains("nothing to do"), "{}", run.stdout);

    // A patch that is edited needs what it replaced: that was kept.
    project.write("overlays/up/mend.patch", PATCH.replace("int b = 2", "int b = 3"));
    let run = run_without_git(&project, &["--offline", "apply", "--tree", "tree"]).expect(0);
    assert!(
        run.stderr.contains("is stale: overlay `mend`: `overlays/up/mend.patch` changed"),
        "{}",
        run.stderr
    );
    assert_eq!(read(&dir, "src/kernel.cu"), KERNEL.replace("int b;", "int b = 3;"));

    run_without_git(&project, &["--offline", "restore", "--tree", "tree"]).expect(0);
    let pristine = unpack(&project, &fixture(&upstream), &pin, "pristine");
    for path in ["src/kernel.cu", "src/other.cu", "src/old.cu", "docs/a.md"] {
        assert_eq!(read(&dir, path), read(&pristine, path), "{path}");
    }
    assert!(!dir.join("src/new.cu").exists());
}

/// The upstream that vanished, for comparison.
fn fixture(upstream: &Upstream) -> Upstream {
    std::fs::remove_dir(upstream.path()).unwrap();
    std::fs::rename(upstream.path().with_extension("gone"), upstream.path()).unwrap();
    let copy = Upstream::new();
    git(
        copy.path(),
        &["fetch", "-q", upstream.path().to_str().unwrap(), "+refs/heads/*:refs/heads/fetched/*"],
    );
    write(&copy.path().join(".git/note"), "");
    copy
}

fn lock_text(project: &Project) -> String {
    project.read("manifests/up.lock")
}

/// The findings about the lock, as `severity code overlay`.
fn findings(project: &Project, args: &[&str]) -> Vec<String> {
    let run = project.run(&[&["--json", "verify"], args].concat());
    let document = run.json();
    let rows = document["findings"].as_array().unwrap().iter().map(|finding| {
        let text = |key: &str| finding[key].as_str().unwrap_or("-").to_owned();
        format!("{} {} {}", text("severity"), text("code"), text("overlay"))
    });
    rows.filter(|row| row.contains("lock") || row.contains("vendored")).collect()
}

#[test]
fn the_same_inputs_give_the_same_bytes() {
    let (upstream, [pin, _]) = upstream();
    let project = project(&upstream, &pin);
    project.run(&["lock", "--check"]).expect(1);
    let run = project.run(&["lock"]).expect(0);
    assert_eq!(run.stdout, "manifests/up.lock written: 4 paths, 0 contents vendored\n");
    let text = lock_text(&project);
    let blob = |path: &str| upstream.git(&["rev-parse", &format!("{pin}:{path}")]);
    let expected = format!(
        "path src/kernel.cu\nat-pin 100644:{}\ngives 100644:{} mend\n\n\
         path src/new.cu\nat-pin absent\ngives 100644:3e5126c4e768d6cd9e27a5dff4ffc25b3cee4bcd whole\n\n\
         path src/old.cu\nat-pin 100644:{}\ngives absent no-old\n\n\
         path src/other.cu\n",
        blob("src/kernel.cu"),
        git_hash(&KERNEL.replace("int b;", "int b = 2;")),
        blob("src/old.cu"),
    )
    .replace("3e5126c4e768d6cd9e27a5dff4ffc25b3cee4bcd", &git_hash("new\n"));
    assert!(text.contains(&expected), "{text}");
    assert!(text.contains(&format!("tree {}\n", upstream.git(&["rev-parse", &format!("{pin}^{{tree}}")]))));
    let inode = |project: &Project| {
        use std::os::unix::fs::MetadataExt;
        project.path().join("manifests/up.lock").metadata().unwrap().ino()
    };
    let before = inode(&project);
    let run = project.run(&["lock"]).expect(0);
    assert_eq!(run.stdout, "manifests/up.lock is right: 4 paths, 0 contents vendored\n");
    assert_eq!(inode(&project), before, "a lock that is right is not written");
    project.run(&["lock", "--check"]).expect(0);
    let again = self::project(&upstream, &pin);
    again.run(&["lock"]).expect(0);
    assert_eq!(lock_text(&again), text);
    // The fingerprint is that of `status`.
    let fingerprint = project.run(&["status", "--fingerprint"]).expect(0).stdout;
    assert!(text.contains(&format!("fingerprint {} -\n", fingerprint.trim())), "{text}");
}

fn git_hash(text: &str) -> String {
    overlaid::id::BlobId::of(text.as_bytes()).to_string()
}

#[test]
fn what_moved_on_since_is_a_finding() {
    let (upstream, [pin, second]) = upstream();
    let project = project(&upstream, &pin);
    assert_eq!(findings(&project, &[]), [""; 0]);
    assert_eq!(findings(&project, &["--locked"]), ["error lock-missing -"]);
    project.run(&["lock"]).expect(0);
    assert_eq!(findings(&project, &["--locked"]), [""; 0]);

    project.write("overlays/up/src/other.cu", "ours, edited\n");
    assert_eq!(findings(&project, &[]), ["error lock-stale whole"]);
    project.run(&["lock"]).expect(0);
    assert_eq!(findings(&project, &[]), [""; 0]);

    let more =
        format!("{OVERLAYS}when = [\"cuda\"]\n\n[[overlay]]\nname = \"no-docs\"\ndelete = [\"docs/a.md\"]\n");
    project.write("manifests/up.toml", crate::support::manifest(&upstream, &pin, &more));
    assert_eq!(findings(&project, &[]), ["error lock-stale no-old", "error lock-stale no-docs"]);
    project.run(&["lock"]).expect(0);

    project.write("manifests/up.toml", crate::support::manifest(&upstream, &second, &more));
    assert_eq!(findings(&project, &[]), ["error lock-stale -"]);
    let run = project.run(&["verify"]).expect(1);
    let said = format!(
        "`manifests/up.lock` is stale: it is of the pin {}, and the manifest has {}",
        &pin[..10],
        &second[..10]
    );
    assert!(run.stdout.contains(&said) && run.stdout.contains("manifests/up.toml:6:7"), "{}", run.stdout);

    // The order counts: patches on one file go on one after the other.
    let (first, rest) = OVERLAYS.split_at(OVERLAYS.find("[[overlay]]\nname = \"mend\"").unwrap());
    project.write("manifests/up.toml", crate::support::manifest(&upstream, &pin, OVERLAYS));
    project.run(&["lock"]).expect(0);
    project.write("manifests/up.toml", crate::support::manifest(&upstream, &pin, &format!("{rest}{first}")));
    assert_eq!(findings(&project, &[]), ["error lock-stale -"]);
}

#[test]
fn an_edit_by_hand_is_a_finding_with_its_line() {
    let (upstream, [pin, _]) = upstream();
    let project = project(&upstream, &pin);
    project.run(&["lock"]).expect(0);
    let text = lock_text(&project);
    let id = git_hash("other\n");
    assert!(text.contains(&id));
    project.write("manifests/up.lock", text.replace(&id, &git_hash("another\n")));
    assert_eq!(findings(&project, &[]), ["error lock-edited -"]);
    let run = project.run(&["lock", "--check"]).expect(1);
    let line = text.lines().position(|line| line.contains(&id)).unwrap() + 1;
    assert!(run.stdout.contains(&format!("`manifests/up.lock` line {line} has `at-pin")), "{}", run.stdout);
    // And a tree with the pin's bytes does not fit to it.
    let dir = unpack(&project, &upstream, &pin, "tree");
    let run = run_without_git(&project, &["--offline", "apply", "--tree", "tree"]).expect(3);
    assert!(run.stderr.contains("src/other.cu: local edit"), "{}", run.stderr);
    assert_eq!(read(&dir, "src/other.cu"), "other\n");

    for (broken, said) in [
        (text.replace("path src/old.cu", "path ../old.cu"), "must stay inside the tree"),
        (text.replace("path src/old.cu", "path .git/hooks/old.cu"), "reaches into `.git`"),
        (format!("<<<<<<< ours\n{text}"), "a lock starts with"),
        (
            text.replace("\npath src/old.cu", "\n<<<<<<< ours\npath src/old.cu"),
            "a conflict that was not resolved",
        ),
    ] {
        project.write("manifests/up.lock", &broken);
        assert_eq!(findings(&project, &[]), ["error bad-lock -"], "{said}");
        let run = run_without_git(&project, &["--offline", "apply", "--tree", "tree"]).expect(2);
        assert!(
            run.stderr.contains("error[bad-lock]") && run.stderr.contains(said),
            "{said}: {}",
            run.stderr
        );
        assert!(run.stderr.contains("manifests/up.lock:"), "{}", run.stderr);
        project.run(&["lock"]).expect(0);
        assert_eq!(lock_text(&project), text);
    }
}

#[test]
fn edits_in_the_tree_are_refused_and_kept() {
    let (upstream, [pin, _]) = upstream();
    let project = project(&upstream, &pin);
    let dir = unpack(&project, &upstream, &pin, "tree");
    project.run(&["lock"]).expect(0);
    std::fs::write(dir.join("src/other.cu"), "somebody's\n").unwrap();
    std::fs::write(dir.join("docs/a.md"), "not ours to care\n").unwrap();
    let run = run_without_git(&project, &["--offline", "apply", "--tree", "tree"]).expect(3);
    let (found, pinned) = (git_hash("somebody's\n"), git_hash("other\n"));
    let said = format!(
        "src/other.cu: local edit: blob {} on disk, {} expected (overlay whole writes there)",
        &found[..10],
        &pinned[..10]
    );
    assert!(run.stderr.contains(&said), "{}", run.stderr);
    assert_eq!(read(&dir, "src/kernel.cu"), KERNEL, "all or nothing");
    let run = run_without_git(&project, &["--offline", "apply", "--tree", "tree", "--force"]).expect(0);
    assert!(run.stderr.contains("kept a copy of src/other.cu"), "{}", run.stderr);
    assert_eq!(read(&dir, "src/other.cu"), "ours\n");

    // What a patch replaces must be there: then git objects would be needed.
    let dir = unpack(&project, &upstream, &pin, "other");
    std::fs::write(dir.join("src/kernel.cu"), "somebody's\n").unwrap();
    vanish(&upstream);
    let run = run_without_git(&project, &["--offline", "apply", "--tree", "other"]).expect(4);
    assert!(run.stderr.contains("for the lock: cannot read src/kernel.cu at the pin"), "{}", run.stderr);
    assert!(run.stderr.contains("the tree is not at the pin's bytes there"), "{}", run.stderr);
    std::fs::remove_dir(upstream.path()).unwrap();
    std::fs::rename(upstream.path().with_extension("gone"), upstream.path()).unwrap();
    let run = project.run(&["apply", "--tree", "other"]).expect(3);
    assert!(run.stderr.contains("src/kernel.cu: local edit"), "{}", run.stderr);
}

#[test]
fn an_overlay_that_is_newer_than_the_lock_is_not_called_gone() {
    let (upstream, [pin, _]) = upstream();
    let project = project(&upstream, &pin);
    let dir = unpack(&project, &upstream, &pin, "tree");
    project.run(&["lock"]).expect(0);
    let more = format!("{OVERLAYS}\n[[overlay]]\nname = \"docs\"\nfiles = [\"docs/a.md\"]\n");
    project.write("manifests/up.toml", crate::support::manifest(&upstream, &pin, &more));
    project.write("overlays/up/docs/a.md", "ours\n");
    project.run(&["apply", "--tree", "tree"]).expect(0);
    assert_eq!(read(&dir, "docs/a.md"), "ours\n");

    // The next machine has no upstream, and an overlay file that changed.
    project.write("overlays/up/docs/a.md", "ours, again\n");
    vanish(&upstream);
    let run = run_without_git(&project, &["--offline", "apply", "--tree", "tree"]).expect(4);
    assert!(!run.stderr.contains("is gone"), "{}", run.stderr);
    for said in ["an earlier run wrote docs/a.md", "it is stale: overlay `docs`", "overlaid lock"] {
        assert!(run.stderr.contains(said), "{said}: {}", run.stderr);
    }
    assert_eq!(read(&dir, "docs/a.md"), "ours\n", "nothing was touched");
}

#[test]
fn an_overlay_that_went_gives_upstreams_bytes_back() {
    let (upstream, [pin, second]) = upstream();
    let project = project(&upstream, &pin);
    let dir = unpack(&project, &upstream, &pin, "tree");
    let offline = ["--offline", "apply", "--tree", "tree"];
    project.run(&["lock"]).expect(0);
    run_without_git(&project, &offline).expect(0);

    let fewer = &OVERLAYS[..OVERLAYS.find("[[overlay]]\nname = \"mend\"").unwrap()];
    project.write("manifests/up.toml", crate::support::manifest(&upstream, &pin, fewer));
    project.run(&["lock"]).expect(0);
    assert!(!lock_text(&project).contains("src/old.cu"));
    run_without_git(&project, &offline).expect(0);
    assert_eq!(read(&dir, "src/kernel.cu"), KERNEL);
    assert_eq!(read(&dir, "src/old.cu"), "old\n");
    assert_eq!(read(&dir, "src/other.cu"), "ours\n");

    // At another pin, what upstream has at a path that went is not known.
    project.write("manifests/up.toml", crate::support::manifest(&upstream, &pin, OVERLAYS));
    project.run(&["lock"]).expect(0);
    run_without_git(&project, &offline).expect(0);
    project.write("manifests/up.toml", crate::support::manifest(&upstream, &second, fewer));
    project.run(&["lock"]).expect(0);
    vanish(&upstream);
    let run = run_without_git(&project, &offline).expect(4);
    assert!(run.stderr.contains("was written by an overlay that is gone"), "{}", run.stderr);
    assert_eq!(read(&dir, "src/kernel.cu"), KERNEL.replace("int b;", "int b = 2;"), "nothing was touched");
    let upstream = fixture(&upstream);
    // Somebody fills the folder with the new pin: then it goes on.
    let filled = unpack(&project, &upstream, &second, "filled");
    for path in ["src/kernel.cu", "src/old.cu", "src/other.cu", "src/added.cu"] {
        std::fs::copy(filled.join(path), dir.join(path)).unwrap();
    }
    std::fs::remove_file(dir.join("src/new.cu")).unwrap();
    run_without_git(&project, &offline).expect(0);
    assert_eq!(read(&dir, "src/kernel.cu"), KERNEL.replace("int g;", "int g = 7;"));
    assert_eq!(read(&dir, "src/other.cu"), "ours\n");
}

#[test]
fn one_lock_serves_every_set_of_features() {
    let (upstream, [pin, _]) = upstream();
    let second =
        PATCH.replace(" int a;\n-int b;\n+int b = 2;\n int c;\n", "-int a;\n+int a = 1;\n int b;\n int c;\n");
    let third = "--- a/src/kernel.cu\n+++ b/src/kernel.cu\n@@ -4,4 +4,4 @@\n int d;\n int e;\n-int f;\n+int f = 6;\n int g;\n";
    let overlays = "
[features]
exclusive = [[\"cuda\", \"rocm\"]]

[[overlay]]
name = \"a\"
patch = \"a.patch\"
when = [\"cuda\"]

[[overlay]]
name = \"b\"
patch = \"b.patch\"
when = [\"rocm\"]

[[overlay]]
name = \"f\"
patch = \"f.patch\"
when = [\"!fast\"]

[profile.cuda]
features = [\"cuda\"]

[profile.rocm]
features = [\"rocm\"]
";
    let project = Project::on(&upstream, &pin, overlays);
    project.write("overlays/up/a.patch", second);
    project.write("overlays/up/b.patch", PATCH);
    project.write("overlays/up/f.patch", third);
    project.run(&["lock"]).expect(0);
    let text = lock_text(&project);
    let gives: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("gives"))
        .map(|line| line.rsplit_once(':').unwrap().1)
        .collect();
    let gives: Vec<&str> = gives.iter().map(|line| line.split_once(' ').unwrap().1).collect();
    assert_eq!(gives, ["a", "a f", "b", "b f", "f"]);
    assert!(text.contains(" cuda\n") && text.contains(" rocm\n"), "{text}");

    for features in ["cuda", "rocm", "fast,cuda", "fast,rocm", "fast", "other"] {
        let name = format!("tree-{features}");
        let dir = unpack(&project, &upstream, &pin, &name);
        run_without_git(&project, &["--offline", "--features", features, "apply", "--tree", &name]).expect(0);
        project.run(&["--features", features, "apply"]).expect(0);
        assert_eq!(read(&dir, "src/kernel.cu"), read(&project.tree(), "src/kernel.cu"), "{features}");
        // Another set on the same tree, without git still.
        run_without_git(&project, &["--offline", "--features", "fast,rocm", "apply", "--tree", &name])
            .expect(0);
        assert_eq!(read(&dir, "src/kernel.cu"), KERNEL.replace("int b;", "int b = 2;"), "{features}");
    }
}

#[test]
fn content_of_commits_can_be_vendored() {
    let (upstream, [first, second]) = upstream();
    // The picked commit meets a patch on the same file: a merge.
    let overlays = format!(
        "\n[[overlay]]\nname = \"mend\"\npatch = \"mend.patch\"\n\
         [[overlay]]\nname = \"backport\"\nfrom = {{ commits = [\"{second}\"] }}\n"
    );
    let project = Project::on(&upstream, &first, &overlays);
    project.write("overlays/up/mend.patch", PATCH);
    project.run(&["lock"]).expect(0);
    assert!(lock_text(&project).contains("\nmerge 100644:"), "{}", lock_text(&project));
    let offline = ["--offline", "apply", "--tree", "tree"];
    let dir = unpack(&project, &upstream, &first, "tree");
    vanish(&upstream);
    let run = run_without_git(&project, &offline).expect(4);
    assert!(
        run.stderr.contains("it is not vendored; `overlaid lock --vendor` puts it beside the lock"),
        "{}",
        run.stderr
    );
    std::fs::remove_dir(upstream.path()).unwrap();
    std::fs::rename(upstream.path().with_extension("gone"), upstream.path()).unwrap();

    project.run(&["lock", "--vendor"]).expect(0);
    let text = lock_text(&project);
    let merged = KERNEL.replace("int b;", "int b = 2;").replace("int g;", "int g = 7;");
    assert_eq!(project.read(&format!("manifests/up.vendored/{}", git_hash(&merged))), merged);
    assert_eq!(project.read(&format!("manifests/up.vendored/{}", git_hash("added\n"))), "added\n");
    assert!(project.read("manifests/up.vendored/.gitattributes").contains("* -text"));
    // Once vendored, it stays so.
    project.run(&["lock"]).expect(0);
    assert_eq!(lock_text(&project), text);
    assert_eq!(findings(&project, &[]), [""; 0]);

    vanish(&upstream);
    run_without_git(&project, &offline).expect(0);
    assert_eq!(read(&dir, "src/kernel.cu"), merged);
    assert_eq!(read(&dir, "src/added.cu"), "added\n");
    let upstream = {
        std::fs::remove_dir(upstream.path()).unwrap();
        std::fs::rename(upstream.path().with_extension("gone"), upstream.path()).unwrap();
        upstream
    };

    // Each content is proven when it is read.
    let added = format!("manifests/up.vendored/{}", git_hash("added\n"));
    project.write(&added, "ADDED\n");
    unpack(&project, &upstream, &first, "fresh");
    let run = run_without_git(&project, &["--offline", "apply", "--tree", "fresh"]);
    assert!(run.code == 0 || run.stderr.contains("other bytes than its name says"), "{run:?}");
    assert_eq!(findings(&project, &[]), ["error vendored-differs -"]);
    project.run(&["lock"]).expect(0);
    assert_eq!(project.read(&added), "added\n");
    std::fs::remove_file(project.path().join(&added)).unwrap();
    assert_eq!(findings(&project, &[]), ["error vendored-differs -"]);
    project.run(&["lock"]).expect(0);

    // What nobody needs any more goes.
    project.write(
        "manifests/up.toml",
        crate::support::manifest(
            &upstream,
            &first,
            overlays.split("[[overlay]]\nname = \"backport\"").next().unwrap(),
        ),
    );
    project.run(&["lock"]).expect(0);
    assert!(!project.path().join(&added).exists());
}

#[test]
fn a_path_that_is_held_back_can_be_vendored() {
    let (upstream, [first, second]) = upstream();
    let overlay = format!(
        "\n[[overlay]]\nname = \"held\"\nbase = \"{first}\"\n\
         from = {{ commit = \"{first}\", paths = [\"src/kernel.cu\", \"src/added.cu\"] }}\n"
    );
    let project = Project::on(&upstream, &second, &overlay);
    project.run(&["lock", "--vendor"]).expect(0);
    let dir = unpack(&project, &upstream, &second, "tree");
    vanish(&upstream);
    run_without_git(&project, &["--offline", "apply", "--tree", "tree"]).expect(0);
    assert_eq!(read(&dir, "src/kernel.cu"), KERNEL);
    assert!(!dir.join("src/added.cu").exists(), "it was absent at that commit");
}

#[test]
fn a_lock_alone_makes_no_whole_tree_and_says_so() {
    let (upstream, [pin, _]) = upstream();
    let project = project(&upstream, &pin);
    project.run(&["lock"]).expect(0);
    project.run(&["apply"]).expect(0);
    std::fs::rename(project.tree(), project.path().join("made")).unwrap();
    vanish(&upstream);
    let run = run_without_git(&project, &["--offline", "apply"]).expect(4);
    assert!(
        run.stderr.contains("it has ids and no contents, so it cannot make a whole tree"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("apply --tree DIR"), "{}", run.stderr);
    // One that was made whole would lose what the lock does not name.
    let run = run_without_git(&project, &["--offline", "apply", "--tree", "made"]).expect(4);
    assert!(run.stderr.contains("was made from git objects, and a lock has none"), "{}", run.stderr);
    assert_eq!(read(&project.path().join("made"), "docs/a.md"), "a\n");
    let run = run_without_git(&project, &["--offline", "apply", "--tree", "nowhere"]).expect(4);
    assert!(run.stderr.contains("there is no tree at `nowhere`"), "{}", run.stderr);
}

#[test]
fn a_lock_is_written_as_a_whole_or_not_at_all() {
    let (upstream, [pin, _]) = upstream();
    let project = project(&upstream, &pin);
    project.run(&["lock"]).expect(0);
    let text = lock_text(&project);
    // A patch that does not fit: no lock.
    project.write("overlays/up/mend.patch", PATCH.replace("-int b;", "-int z;"));
    let run = project.run(&["lock"]).expect(3);
    assert!(run.stderr.contains("overlay `mend`, src/kernel.cu"), "{}", run.stderr);
    assert_eq!(lock_text(&project), text);
    let left: Vec<_> = std::fs::read_dir(project.path().join("manifests"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn many_features_are_said_and_still_served() {
    let (upstream, [pin, _]) = upstream();
    let features: Vec<String> = (0..11).map(|number| format!("f{number}")).collect();
    let overlay = format!("\n[[overlay]]\nname = \"mend\"\npatch = \"mend.patch\"\nwhen = {features:?}\n");
    let project = Project::on(&upstream, &pin, &overlay);
    project.write("overlays/up/mend.patch", PATCH);
    let run = project.run(&["lock"]).expect(0);
    assert!(run.stderr.contains("overlays mend ask for more than 10 features"), "{}", run.stderr);
    // What the pin has at its paths is known all the same.
    let features = features.join(",");
    let dir = unpack(&project, &upstream, &pin, "tree");
    let run = run_without_git(&project, &["--offline", "--features", &features, "apply", "--tree", "tree"]);
    assert!(run.code == 0, "{run:?}");
    assert_eq!(read(&dir, "src/kernel.cu"), KERNEL.replace("int b;", "int b = 2;"));
}

#[test]
fn git_merges_what_different_overlays_say() {
    let (upstream, [pin, _]) = upstream();
    let project = project(&upstream, &pin);
    project.write(".gitignore", "home\ncache\n.overlaid\n");
    project.run(&["lock"]).expect(0);
    let dir = project.path();
    git(dir, &["init", "-q", "-b", "main"]);
    for (key, value) in [("user.name", "Ada"), ("user.email", "ada@example.org")] {
        git(dir, &["config", key, value]);
    }
    let commit = |subject: &str| {
        git(dir, &["add", "-A"]);
        git(dir, &["commit", "-q", "-m", subject]);
    };
    commit("start");
    git(dir, &["checkout", "-q", "-b", "one"]);
    project.write("overlays/up/mend.patch", PATCH.replace("int b = 2", "int b = 20"));
    project.run(&["lock"]).expect(0);
    commit("one");
    git(dir, &["checkout", "-q", "-b", "two", "main"]);
    project.write("overlays/up/src/other.cu", "other ours\n");
    project.run(&["lock"]).expect(0);
    commit("two");
    let merge =
        crate::support::command("git").current_dir(dir).args(["merge", "-q", "one"]).output().unwrap();
    assert!(!merge.status.success());
    let text = lock_text(&project);
    let start = text.find("<<<<<<<").unwrap();
    let end = text.find(">>>>>>>").unwrap();
    let conflict: Vec<&str> = text[start..end].lines().skip(1).filter(|line| *line != "=======").collect();
    assert!(conflict.iter().all(|line| line.starts_with("fingerprint ")), "{conflict:?}");
    assert_eq!(text.matches("<<<<<<<").count(), 1, "{text}");
    assert_eq!(findings(&project, &[]), ["error bad-lock -"]);
    // Only the fingerprint has to be made anew: all else was merged rightly.
    project.run(&["lock"]).expect(0);
    let merged = format!("{}{}", &text[..start], &text[end..].split_once('\n').unwrap().1);
    let without = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with("fingerprint ")).map(str::to_owned).collect()
    };
    assert_eq!(without(&lock_text(&project)), without(&merged));
}

#[test]
fn a_tree_that_is_right_and_cannot_be_written_is_right() {
    use std::os::unix::fs::PermissionsExt;
    let (upstream, [pin, _]) = upstream();
    let project = project(&upstream, &pin);
    let dir = unpack(&project, &upstream, &pin, "tree");
    project.run(&["lock"]).expect(0);
    let offline = ["--offline", "apply", "--tree", "tree"];
    run_without_git(&project, &offline).expect(0);
    let set = |mode: u32| {
        for folder in [".overlaid/originals", ".overlaid", "src", "."] {
            let path = dir.join(folder);
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(0o555);
    let run = run_without_git(&project, &offline);
    set(0o755);
    assert!(run.code == 0 && run.stdout.contains("nothing to do"), "{run:?}");
}

#[test]
fn links_in_a_folder_of_others_are_not_followed() {
    let (upstream, [pin, _]) = upstream();
    let project = project(&upstream, &pin);
    project.run(&["lock"]).expect(0);
    let dir = unpack(&project, &upstream, &pin, "tree");
    let outside = project.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::create_dir(dir.join(".overlaid")).unwrap();
    std::os::unix::fs::symlink(&outside, dir.join(".overlaid/originals")).unwrap();
    vanish(&upstream);
    run_without_git(&project, &["--offline", "apply", "--tree", "tree"]).expect(4);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    assert_eq!(read(&dir, "src/kernel.cu"), KERNEL);
    // Nor is one in the place of a folder of the upstream's, whatever lies behind it.
    std::fs::remove_file(dir.join(".overlaid/originals")).unwrap();
    std::fs::remove_dir_all(dir.join("src")).unwrap();
    std::os::unix::fs::symlink(&outside, dir.join("src")).unwrap();
    std::fs::write(outside.join("kernel.cu"), KERNEL).unwrap();
    let run = run_without_git(&project, &["--offline", "apply", "--tree", "tree"]);
    assert!(run.code == 3 || run.code == 4, "{run:?}");
    assert_eq!(std::fs::read_to_string(outside.join("kernel.cu")).unwrap(), KERNEL);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn a_folder_that_is_not_there_is_made_from_git_objects() {
    let (upstream, [pin, _]) = upstream();
    let project = project(&upstream, &pin);
    project.run(&["lock"]).expect(0);
    project.run(&["apply", "--dry-run", "--tree", "deps/up"]).expect(1);
    let run = project.run(&["apply", "--tree", "deps/up"]).expect(0);
    assert_eq!(run.stderr, "");
    let dir = project.path().join("deps/up");
    assert_eq!(read(&dir, "docs/a.md"), "a\n");
    assert_eq!(read(&dir, "src/other.cu"), "ours\n");
    let run = project.run(&["apply", "--tree", "deps/up"]).expect(0);
    assert!(run.stdout.contains("nothing to do"), "{}", run.stdout);
    project.write("overlays/up/src/other.cu", "theirs\n");
    project.run(&["apply", "--tree", "deps/up"]).expect(0);
    assert_eq!(read(&dir, "src/other.cu"), "theirs\n");
}

#[test]
fn a_path_that_an_old_lock_does_not_have_is_no_edit() {
    let (upstream, [pin, _]) = upstream();
    let project = project(&upstream, &pin);
    project.run(&["lock"]).expect(0);
    let more = OVERLAYS.replace("\"src/new.cu\"]", "\"src/new.cu\", \"docs/a.md\"]");
    project.write("manifests/up.toml", crate::support::manifest(&upstream, &pin, &more));
    project.write("overlays/up/docs/a.md", "ours\n");
    let dir = unpack(&project, &upstream, &pin, "tree");
    let readable = unpack(&project, &upstream, &pin, "readable");
    project.run(&["apply", "--tree", "readable"]).expect(0);
    assert_eq!(read(&readable, "docs/a.md"), "ours\n", "git objects know the path");
    vanish(&upstream);
    let run = run_without_git(&project, &["--offline", "apply", "--tree", "tree"]).expect(4);
    assert!(run.stderr.contains("the lock file does not have docs/a.md"), "{}", run.stderr);
    assert!(run.stderr.contains("if no path is misspelt, write the lock anew"), "{}", run.stderr);
    assert!(run.stderr.contains("overlaid lock") && !run.stderr.contains("unknown file"), "{}", run.stderr);
    assert_eq!(read(&dir, "docs/a.md"), "a\n");
}

#[test]
fn a_lock_that_is_right_knows_the_fingerprint() {
    let (upstream, [pin, _]) = upstream();
    let project = project(&upstream, &pin);
    project.run(&["lock"]).expect(0);
    let told = project.run(&["status", "--fingerprint"]).expect(0).stdout;
    vanish(&upstream);
    let locked = run_without_git(&project, &["--offline", "status", "--fingerprint"]).expect(0).stdout;
    assert_eq!(locked, told);
    run_without_git(&project, &["--offline", "status", "--fingerprint", "--features", "other"]).expect(4);
    project.write("overlays/up/src/other.cu", "theirs\n");
    run_without_git(&project, &["--offline", "status", "--fingerprint"]).expect(4);
    fixture(&upstream);
    let run = project.run(&["lock", "--check"]).expect(1);
    let last = run.stdout.lines().last().unwrap();
    assert!(last.ends_with(" is not right: 1 difference; to write it anew: overlaid lock"), "{last}");
}
