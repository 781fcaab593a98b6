//! `edit` and `refresh`.

pub mod random;

use std::os::unix::fs::PermissionsExt;

use crate::support::{Project, Upstream, git, write};

const FILE: &str =
    "int a = 1;\nint b = 2;\nint c = 3;\nint d = 4;\nint e = 5;\nint f = 6;\nint g = 7;\nint h = 8;\n";

/// An upstream of two files, an overlay of a whole file and one that is a patch on both.
fn project() -> (Upstream, Project) {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("start", &[("src/a.c", FILE), ("src/b.c", FILE), ("run.sh", "echo 1\n")]);
    let project = Project::on(
        &upstream,
        &pin,
        &format!(
            "\n[[overlay]]\nname = \"whole\"\nbase = \"{pin}\"\nfiles = [\"src/a.c\"]\n\n[[overlay]]\nname = \"part\"\n\
             base = \"{pin}\"\npatch = \"part.patch\"   # two files\n"
        ),
    );
    project.write("overlays/up/src/a.c", FILE.replace("a = 1", "a = 10"));
    project.write("overlays/up/part.patch", PATCH);
    (upstream, project)
}

/// As a person wrote it: prose, short ids, headings, a signature.
const PATCH: &str = "\
Subject: two files

Because of this.
---
diff --git a/src/a.c b/src/a.c
index 1111111..2222222 100644
--- a/src/a.c
+++ b/src/a.c
@@ -6,3 +6,3 @@ heading of a
 int f = 6;
-int g = 7;
+int g = 70;
 int h = 8;
diff --git a/src/b.c b/src/b.c
--- a/src/b.c
+++ b/src/b.c
@@ -1,3 +1,3 @@ heading of b
 int a = 1;
-int b = 2;
+int b = 20;
 int c = 3;
-- 
2.40.0
";

fn edited(project: &Project, overlay: &str) -> std::path::PathBuf {
    project.run(&["edit", overlay]).expect(0);
    project.path().join(".overlaid/edit").join(overlay)
}

#[test]
fn a_whole_file_takes_what_was_edited() {
    let (_upstream, project) = project();
    let folder = edited(&project, "whole");
    // The patch goes on later, so it is not there.
    assert_eq!(std::fs::read_to_string(folder.join("src/a.c")).unwrap(), FILE.replace("a = 1", "a = 10"));
    assert_eq!(std::fs::read_to_string(folder.join("src/b.c")).unwrap(), FILE);
    write(&folder.join("src/a.c"), FILE.replace("a = 1", "a = 11"));
    let manifest = project.read("manifests/up.toml");
    project.run(&["refresh", "whole", "--dry-run"]).expect(1);
    assert_eq!(project.read("overlays/up/src/a.c"), FILE.replace("a = 1", "a = 10"));
    project.run(&["refresh", "whole"]).expect(0);
    assert_eq!(project.read("overlays/up/src/a.c"), FILE.replace("a = 1", "a = 11"));
    assert_eq!(project.read("manifests/up.toml"), manifest);
    let again = project.run(&["refresh"]).expect(0);
    assert_eq!(again.stdout, "whole: you edited nothing; nothing changes\n");
}

#[test]
fn of_a_patch_only_the_edited_part_is_cut_anew() {
    let (_upstream, project) = project();
    let folder = edited(&project, "part");
    project.run(&["refresh", "part"]).expect(0);
    assert_eq!(project.read("overlays/up/part.patch"), PATCH);
    // It stands on the whole file.
    let a = FILE.replace("a = 1", "a = 10").replace("g = 7", "g = 70");
    assert_eq!(std::fs::read_to_string(folder.join("src/a.c")).unwrap(), a);
    write(&folder.join("src/b.c"), FILE.replace("b = 2", "b = 21"));
    project.run(&["refresh", "part"]).expect(0);
    let made = project.read("overlays/up/part.patch");
    let (kept, rest) = PATCH.split_once("diff --git a/src/b.c").unwrap();
    assert!(made.starts_with(kept), "{made}");
    assert!(made.contains(" heading of b\n"), "{made}");
    assert!(made.ends_with(rest.split_once(" int c = 3;\n").unwrap().1), "{made}");
    project.run(&["apply"]).expect(0);
    assert_eq!(
        std::fs::read_to_string(project.tree().join("src/b.c")).unwrap(),
        FILE.replace("b = 2", "b = 21")
    );
    assert_eq!(std::fs::read_to_string(project.tree().join("src/a.c")).unwrap(), a);
}

#[test]
fn edits_elsewhere_are_refused_or_become_an_overlay() {
    let (_upstream, project) = project();
    let folder = edited(&project, "part");
    write(&folder.join("run.sh"), "echo 2\n");
    let before = project.read("manifests/up.toml");
    let refused = project.run(&["refresh", "part"]).expect(3);
    assert!(refused.stderr.contains("`run.sh`"), "{}", refused.stderr);
    assert!(refused.stderr.contains("overlaid refresh part --new NAME"), "{}", refused.stderr);
    assert_eq!(project.read("manifests/up.toml"), before);
    project.run(&["refresh", "part", "--new", "two", "--reason", "says 2"]).expect(0);
    assert_eq!(project.read("overlays/up/part.patch"), PATCH);
    project.run(&["apply"]).expect(0);
    assert_eq!(std::fs::read_to_string(project.tree().join("run.sh")).unwrap(), "echo 2\n");
    // The folder is that of `part` again, without the other.
    let again = project.run(&["refresh", "part"]).expect(0);
    assert!(again.stdout.contains("you edited nothing"), "{}", again.stdout);
    project.run(&["refresh", "--undo"]).expect(0);
    assert_eq!(project.read("manifests/up.toml"), before);
    assert!(!project.path().join("overlays/up/two.patch").exists());
}

#[test]
fn a_patch_can_be_widened() {
    let (_upstream, project) = project();
    let folder = edited(&project, "part");
    write(&folder.join("run.sh"), "echo 2\n");
    std::fs::set_permissions(folder.join("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    write(&folder.join("src/new.bin"), [0, 1, 2, 255]);
    project.run(&["refresh", "part", "--widen"]).expect(0);
    let made = project.read("overlays/up/part.patch");
    assert!(made.ends_with("-- \n2.40.0\n"), "{made}");
    project.run(&["apply"]).expect(0);
    assert_eq!(std::fs::read(project.tree().join("src/new.bin")).unwrap(), [0, 1, 2, 255]);
    let mode = std::fs::metadata(project.tree().join("run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o100, 0o100);
}

#[test]
fn a_refresh_can_be_taken_back_and_done_again() {
    let (_upstream, project) = project();
    let folder = edited(&project, "part");
    write(&folder.join("src/b.c"), FILE.replace("b = 2", "b = 21"));
    project.run(&["refresh"]).expect(0);
    let made = project.read("overlays/up/part.patch");
    project.run(&["refresh", "--undo"]).expect(0);
    assert_eq!(project.read("overlays/up/part.patch"), PATCH);
    project.run(&["refresh", "--undo"]).expect(2);
    // The edits are still in the folder.
    project.run(&["refresh", "--done"]).expect(0);
    assert_eq!(project.read("overlays/up/part.patch"), made);
    assert!(!folder.exists());
    project.write("overlays/up/part.patch", made.clone() + "mine\n");
    let refused = project.run(&["refresh", "--undo"]).expect(3);
    assert!(refused.stderr.contains("changed since the last refresh"), "{}", refused.stderr);
    assert_eq!(project.read("overlays/up/part.patch"), made + "mine\n");
}

#[test]
fn edits_of_an_older_state_are_not_taken() {
    let (_upstream, project) = project();
    let folder = edited(&project, "part");
    write(&folder.join("src/b.c"), FILE.replace("b = 2", "b = 21"));
    project.write("overlays/up/src/a.c", FILE.replace("a = 1", "a = 12"));
    let refused = project.run(&["refresh", "part"]).expect(3);
    assert_eq!(refused.hinted(), "overlaid edit part --again");
    assert_eq!(project.read("overlays/up/part.patch"), PATCH);
    project.run(&["edit", "part"]).expect(3);
    project.run(&["edit", "part", "--again"]).expect(0);
    let aside = project.path().join(".overlaid/edited/part-1/src/b.c");
    assert_eq!(std::fs::read_to_string(aside).unwrap(), FILE.replace("b = 2", "b = 21"));
    assert!(std::fs::read_to_string(folder.join("src/a.c")).unwrap().contains("a = 12"));
}

#[test]
fn what_an_overlay_cannot_say_is_refused() {
    let (_upstream, project) = project();
    let folder = edited(&project, "whole");
    std::fs::remove_file(folder.join("src/a.c")).unwrap();
    let refused = project.run(&["refresh", "whole"]).expect(3);
    assert!(refused.stderr.contains("delete = [\"src/a.c\"]"), "{}", refused.stderr);
    let folder = edited(&project, "part");
    write(&folder.join("src/a.c"), FILE.replace("a = 1", "a = 10"));
    write(&folder.join("src/b.c"), FILE);
    let refused = project.run(&["refresh", "part"]).expect(3);
    assert!(refused.stderr.contains("would change nothing"), "{}", refused.stderr);
    project.run(&["refresh", "other"]).expect(2);
}

#[test]
fn an_edit_that_an_overlay_behind_it_needs_is_told() {
    let (_upstream, project) = project();
    let folder = edited(&project, "whole");
    write(&folder.join("src/a.c"), FILE.replace("g = 7", "g = 8"));
    let run = project.run(&["refresh", "whole"]).expect(0);
    assert!(
        run.stderr.contains("an overlay behind it does not fit any more: overlay `part`"),
        "{}",
        run.stderr
    );
}

#[test]
fn only_a_program_that_was_asked_for_is_run() {
    let (_upstream, mut project) = project();
    project.set("EDITOR", "sed -i s/b.=.20/b=99/");
    project.run(&["edit", "part"]).expect(0);
    let file = project.path().join(".overlaid/edit/part/src/b.c");
    assert!(std::fs::read_to_string(&file).unwrap().contains("b = 20"));
    project.run(&["edit", "part", "--editor"]).expect(0);
    assert!(std::fs::read_to_string(&file).unwrap().contains("b=99"));
    project.run(&["refresh", "part"]).expect(0);
    assert!(project.read("overlays/up/part.patch").contains("+int b=99;"));
}

#[test]
fn git_takes_the_patch_that_a_refresh_made() {
    let (upstream, project) = project();
    let folder = edited(&project, "part");
    write(&folder.join("src/b.c"), FILE.replace("h = 8", "h = 80"));
    project.run(&["refresh", "part"]).expect(0);
    std::fs::copy(project.path().join("overlays/up/src/a.c"), upstream.path().join("src/a.c")).unwrap();
    let patch = project.path().join("overlays/up/part.patch");
    git(upstream.path(), &["apply", patch.to_str().unwrap()]);
    assert_eq!(upstream.git(&["diff", "--stat=80", "--", "src/b.c"]).lines().count(), 2);
    let b = std::fs::read_to_string(upstream.path().join("src/b.c")).unwrap();
    assert_eq!(b, FILE.replace("h = 8", "h = 80"));
}

#[test]
fn the_lock_follows_a_refresh_and_its_undo() {
    let (_upstream, project) = project();
    project.run(&["lock"]).expect(0);
    let lock = project.read("manifests/up.lock");
    let folder = edited(&project, "whole");
    write(&folder.join("src/a.c"), FILE.replace("a = 1", "a = 11"));
    project.run(&["refresh"]).expect(0);
    assert_ne!(project.read("manifests/up.lock"), lock);
    project.run(&["lock", "--check"]).expect(0);
    project.run(&["refresh", "--undo"]).expect(0);
    assert_eq!(project.read("manifests/up.lock"), lock);
    project.run(&["rename", "part", "other"]).expect(0);
    project.run(&["lock", "--check"]).expect(0);
}

#[test]
fn an_overlay_is_edited_under_its_own_conditions() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("pin", &[("a.c", FILE)]);
    let overlay = |name: &str, when: &str| {
        format!("[[overlay]]\nname = \"{name}\"\nbase = \"{pin}\"\npatch = \"{name}.patch\"\n{when}\n")
    };
    let project = Project::on(
        &upstream,
        &pin,
        &format!(
            "[features]\nexclusive = [[\"cuda\", \"rocm\"]]\n{}{}{}",
            overlay("one", "when = [\"cuda\"]"),
            overlay("two", "when = [\"rocm\"]"),
            overlay("three", ""),
        ),
    );
    let patch = |from: &str, to: &str| {
        format!(
            "diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1,3 +1,3 @@\n-{from}\n+{to}\n int b = 2;\n int c = 3;\n"
        )
    };
    project.write("overlays/up/one.patch", patch("int a = 1;", "int a = 10;"));
    project.write("overlays/up/two.patch", patch("int a = 1;", "int a = 20;"));
    project.write("overlays/up/three.patch", "diff --git a/a.c b/a.c\nold mode 100644\nnew mode 100755\n");
    let folder = edited(&project, "two");
    assert_eq!(std::fs::read_to_string(folder.join("a.c")).unwrap(), FILE.replace("a = 1", "a = 20"));
    // Without a choice of features neither of the two is below it.
    let folder = edited(&project, "three");
    assert_eq!(std::fs::read_to_string(folder.join("a.c")).unwrap(), FILE);
    project.run(&["--features", "cuda", "edit", "three", "--again"]).expect(0);
    assert_eq!(std::fs::read_to_string(folder.join("a.c")).unwrap(), FILE.replace("a = 1", "a = 10"));
}
