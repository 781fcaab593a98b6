//! Folders that somebody else should have filled and has not: an empty one, a submodule that is not checked out, and one
//! with other files. Nothing is left in them.

use std::path::Path;

use super::{files, project, upstream};
use crate::support::{Project, Run, Upstream, git, write};

/// The names in a folder, ours too.
fn names(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

/// A project in a git repository with the upstream as a submodule that is not checked out.
fn with_submodule() -> (Upstream, String, Project) {
    // Without attributes, for git would change line ends.
    let mut upstream = Upstream::new();
    let pin = upstream.commit("start", &[("src/kernel.cu", "int k;\n"), ("src/old.cu", "old\n")]);
    let project = project(&upstream, &pin);
    let allowed = ["-c", "protocol.file.allow=always"];
    let from = upstream.path().to_str().unwrap().to_owned();
    git(project.path(), &["init", "-q"]);
    git(project.path(), &[&allowed[..], &["submodule", "add", "-q", &from, "third_party/up"]].concat());
    git(project.path(), &["commit", "-q", "-m", "submodule"]);
    git(project.path(), &["submodule", "deinit", "-q", "-f", "third_party/up"]);
    assert_eq!(names(&project.path().join("third_party/up")), [""; 0]);
    (upstream, pin, project)
}

fn in_submodule(manifest: &str) -> String {
    manifest.replace("pin = ", "tree = \"third_party/up\"\npin = ")
}

#[track_caller]
fn is_no_tree(run: &Run, why: &str) {
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(run.stderr.contains("there is no tree at `"), "{}", run.stderr);
    assert!(run.stderr.contains(why), "{}", run.stderr);
}

#[test]
fn an_empty_folder_that_is_named_is_no_tree_with_and_without_a_lock() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    let dir = project.path().join("t");
    std::fs::create_dir(&dir).unwrap();
    for with_lock in [false, true] {
        if with_lock {
            project.run(&["lock"]).expect(0);
        }
        for command in [&["apply"][..], &["apply", "--dry-run"], &["apply", "--force"], &["restore"]] {
            let run = project.run(&[command, &["--tree", "t"]].concat());
            is_no_tree(&run, "`t`: the folder is empty");
            assert!(run.stderr.contains("fill it with the pin's sources"), "{}", run.stderr);
            assert_eq!(names(&dir), [""; 0], "{command:?}");
        }
    }
    // What an older run left there is no tree either.
    write(&dir.join(".overlaid/lock"), "");
    is_no_tree(&project.run(&["apply", "--tree", "t"]), "the folder is empty");
    assert_eq!(names(&dir.join(".overlaid")), ["lock"]);
    // The way out that the hint says.
    std::fs::remove_dir_all(&dir).unwrap();
    project.run(&["apply", "--tree", "t"]).expect(0);
    assert_eq!(files(&dir)["src/kernel.cu"].1, b"int ours;\n");
}

#[test]
fn an_empty_folder_in_the_place_of_the_manifests_tree_becomes_one() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    std::fs::create_dir_all(project.tree()).unwrap();
    project.run(&["apply"]).expect(0);
    assert_eq!(files(&project.tree())["src/kernel.cu"].1, b"int ours;\n");
}

#[test]
fn a_submodule_that_is_not_checked_out_stays_empty_and_the_hint_fills_it() {
    let (_upstream, _, project) = with_submodule();
    let dir = project.path().join("third_party/up");
    project.run(&["lock"]).expect(0);
    let run = project.run(&["apply", "--tree", "third_party/up"]);
    is_no_tree(&run, "`third_party/up`: the submodule is not checked out");
    assert_eq!(names(&dir), [""; 0]);
    assert_eq!(run.hinted(), "git submodule update --init third_party/up");
    project.shell(run.hinted()).expect(0);
    project.run(&["apply", "--tree", "third_party/up"]).expect(0);
    assert_eq!(files(&dir)["src/kernel.cu"].1, b"int ours;\n");
}

#[test]
fn a_submodule_in_the_place_of_the_manifests_tree_is_not_made() {
    let (_upstream, _, project) = with_submodule();
    let dir = project.path().join("third_party/up");
    project.write("manifests/up.toml", in_submodule(&project.read("manifests/up.toml")));
    for command in ["apply", "restore"] {
        let run = project.run(&[command]);
        is_no_tree(&run, "the submodule is not checked out");
        assert_eq!(run.hinted(), "git submodule update --init third_party/up", "{command}");
        assert_eq!(names(&dir), [""; 0], "{command}");
    }
    // Also if somebody removed the folder; and from elsewhere the command says where.
    std::fs::remove_dir(&dir).unwrap();
    write(&project.path().join("other/x"), "");
    let mut command = project.command(&["-C", "..", "apply"]);
    let output = command.current_dir(project.path().join("other")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let top = project.path().canonicalize().unwrap().display().to_string();
    assert!(said.contains(&format!("git -C {top} submodule update --init third_party/up")), "{said}");
    assert!(!dir.exists());
}

#[test]
fn what_an_older_run_left_in_a_submodule_is_named_since_git_refuses_it() {
    let (_upstream, _, project) = with_submodule();
    let ours = project.path().join("third_party/up/.overlaid");
    write(&ours.join("originals/index"), "");
    let run = project.run(&["apply", "--tree", "third_party/up"]);
    is_no_tree(&run, "move `third_party/up/.overlaid` away");
    assert_eq!(names(&ours), ["originals"]);
    std::fs::remove_dir_all(ours).unwrap();
    project.shell(run.hinted()).expect(0);
}

#[test]
fn a_folder_that_misses_what_the_pin_has_is_not_taken() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    let dir = project.path().join("t");
    write(&dir.join("stray"), "hi\n");
    for with_lock in [false, true] {
        if with_lock {
            project.run(&["lock"]).expect(0);
        }
        let run = project.run(&["apply", "--tree", "t"]).expect(3);
        assert!(run.stderr.contains("src/kernel.cu: is not there; the pin has it"), "{}", run.stderr);
        assert!(!run.stderr.contains("src/new.cu"), "the pin does not have that: {}", run.stderr);
        assert!(!run.stderr.contains("src/old.cu"), "an overlay deletes that: {}", run.stderr);
        assert_eq!(run.hinted(), "overlaid apply --tree t --force");
        assert_eq!(names(&dir), ["stray"], "with a lock: {with_lock}");
    }
    project.run(&["apply", "--tree", "t", "--force"]).expect(0);
    assert_eq!(files(&dir).keys().collect::<Vec<_>>(), ["src/kernel.cu", "src/new.cu", "stray"]);
    assert!(!dir.join(".overlaid/kept").exists());
    project.run(&["apply", "--tree", "t"]).expect(0);
}

#[test]
fn what_a_run_wrote_or_removed_is_made_again() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    let dir = project.path().join("t");
    for (path, text) in [("src/kernel.cu", "int k;\n"), ("src/old.cu", "// $Id$\n")] {
        write(&dir.join(path), text);
    }
    project.run(&["apply", "--tree", "t"]).expect(0);
    std::fs::remove_file(dir.join("src/kernel.cu")).unwrap();
    project.run(&["apply", "--tree", "t"]).expect(0);
    assert_eq!(files(&dir)["src/kernel.cu"].1, b"int ours;\n");
    // An overlay that removed a file gives it other content from now on.
    let manifest = project.read("manifests/up.toml");
    project.write("manifests/up.toml", manifest.replace("delete = [", "files = ["));
    project.write("overlays/up/src/old.cu", "int old;\n");
    project.run(&["apply", "--tree", "t"]).expect(0);
    assert_eq!(files(&dir)["src/old.cu"].1, b"int old;\n");
}

#[test]
fn an_edit_in_a_folder_that_is_not_ours_yet_leaves_nothing_behind() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    let dir = project.path().join("t");
    write(&dir.join("src/kernel.cu"), "int mine;\n");
    write(&dir.join("src/old.cu"), "// $Id$\n");
    for with_lock in [false, true] {
        if with_lock {
            project.run(&["lock"]).expect(0);
        }
        let run = project.run(&["apply", "--tree", "t"]).expect(3);
        assert!(run.stderr.contains("src/kernel.cu: local edit"), "{}", run.stderr);
        assert_eq!(names(&dir), ["src"], "with a lock: {with_lock}");
    }
}
