//! `import`: from what people have to overlays, on real repositories.

use std::path::Path;

use crate::support::{Project, Upstream, git};

mod formats;
mod messy;
mod tree;

const V1: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

/// An upstream, and a clone in which a branch has three commits: the third builds on the first.
fn series() -> (Upstream, String, tempfile::TempDir) {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("add", &[("src/a.c", V1), ("src/b.c", "b\n")]);
    let clone = tempfile::tempdir().expect("a folder");
    git(clone.path(), &["clone", "-q", upstream.path().to_str().unwrap(), "."]);
    git(clone.path(), &["checkout", "-q", "-b", "ours"]);
    commit(clone.path(), "src/a.c", &V1.replace("one", "1"), "a: one is 1\n\nUpstream-Status: Pending");
    commit(clone.path(), "src/b.c", "B\n", "b: shout");
    commit(clone.path(), "src/a.c", &V1.replace("one", "1").replace("two", "2"), "a: two is 2, too");
    (upstream, pin, clone)
}

fn commit(dir: &Path, file: &str, text: &str, message: &str) {
    std::fs::write(dir.join(file), text).expect("it can be written");
    git(dir, &["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qam", message]);
}

/// The tree that `apply` makes, against the files of a checkout.
fn assert_tree(project: &Project, checkout: &Path) {
    project.run(&["apply"]).expect(0);
    for file in git(checkout, &["ls-files"]).lines() {
        let ours = std::fs::read(project.tree().join(file)).expect(file);
        assert_eq!(ours, std::fs::read(checkout.join(file)).expect(file), "{file}");
    }
}

fn needs(project: &Project) -> Vec<(String, Vec<String>)> {
    let text = project.read("manifests/up.toml");
    let manifest: toml::Table = text.parse().expect("TOML");
    let overlays = manifest["overlay"].as_array().expect("overlays");
    let words = |value: Option<&toml::Value>| -> Vec<String> {
        let list = value.and_then(toml::Value::as_array).cloned().unwrap_or_default();
        list.iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    overlays.iter().map(|one| (one["name"].as_str().unwrap().to_owned(), words(one.get("needs")))).collect()
}

#[test]
fn the_commits_of_a_branch_become_overlays_that_need_what_they_build_on() {
    let (upstream, pin, clone) = series();
    let project = Project::on(&upstream, &pin, "");
    let range = format!("{pin}..ours");
    let run = project.run(&["import", clone.path().to_str().unwrap(), "--range", &range]).expect(0);
    assert!(run.stdout.contains("a-two-is-2-too"), "{}", run.stdout);
    let expected =
        [("a-one-is-1", vec![]), ("b-shout", vec![]), ("a-two-is-2-too", vec!["a-one-is-1".to_owned()])];
    assert_eq!(needs(&project), expected.map(|(name, needs)| (name.to_owned(), needs)));
    assert_tree(&project, clone.path());
    project.run(&["verify"]).expect(0);
    let text = project.read("manifests/up.toml");
    assert!(text.contains("author = \"Ada <ada@example.org>\""), "{text}");
    assert!(text.contains("upstream-status = \"pending\""), "{text}");
}

#[test]
fn a_range_with_a_merge_is_refused() {
    let (upstream, pin, clone) = series();
    git(clone.path(), &["checkout", "-q", "-b", "side", &pin]);
    std::fs::write(clone.path().join("new"), "n\n").unwrap();
    git(clone.path(), &["add", "new"]);
    commit(clone.path(), "src/b.c", "b\n", "new");
    let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    git(clone.path(), &[&who[..], &["merge", "-q", "--no-edit", "ours"]].concat());
    let project = Project::on(&upstream, &pin, "");
    let range = format!("{pin}..side");
    let run = project.run(&["import", clone.path().to_str().unwrap(), "--range", &range]).expect(2);
    assert!(run.stderr.contains("is a merge"), "{}", run.stderr);
}

#[test]
fn a_dirty_checkout_becomes_an_overlay() {
    let (upstream, pin, clone) = series();
    git(clone.path(), &["checkout", "-q", &pin]);
    std::fs::write(clone.path().join("src/a.c"), V1.replace("six", "6")).unwrap();
    std::fs::write(clone.path().join("src/new.c"), "new\n").unwrap();
    let project = Project::on(&upstream, &pin, "");
    project.run(&["import", "--from-tree", clone.path().to_str().unwrap()]).expect(0);
    project.run(&["apply"]).expect(0);
    for file in ["src/a.c", "src/new.c"] {
        assert_eq!(
            std::fs::read(project.tree().join(file)).unwrap(),
            std::fs::read(clone.path().join(file)).unwrap()
        );
    }
    project.run(&["verify"]).expect(0);
}

#[test]
fn a_clean_checkout_has_nothing_to_import() {
    let (upstream, pin, clone) = series();
    let project = Project::on(&upstream, &pin, "");
    let run = project.run(&["import", "--from-tree", clone.path().to_str().unwrap()]).expect(2);
    assert!(run.stderr.contains("nothing is changed"), "{}", run.stderr);
}

#[test]
fn what_does_not_apply_is_named_and_nothing_is_written() {
    let (upstream, pin, clone) = series();
    let project = Project::on(&upstream, &pin, "");
    let before = project.read("manifests/up.toml");
    let range = "ours~1..ours";
    let run = project.run(&["import", clone.path().to_str().unwrap(), "--range", range]).expect(2);
    assert!(run.stderr.contains("does not apply to the pin"), "{}", run.stderr);
    assert_eq!(project.read("manifests/up.toml"), before);
    assert!(!project.path().join("overlays").exists());
}

#[test]
fn a_dry_run_shows_the_table_and_writes_nothing() {
    let (upstream, pin, clone) = series();
    let project = Project::on(&upstream, &pin, "");
    let before = project.read("manifests/up.toml");
    let range = format!("{pin}..ours");
    let args = ["import", clone.path().to_str().unwrap(), "--range", &range, "--dry-run"];
    assert!(project.run(&args).expect(0).stdout.contains("b-shout"));
    assert_eq!(project.read("manifests/up.toml"), before);
    assert!(!project.path().join("overlays").exists());
}

#[test]
fn a_patch_on_an_overlay_that_is_there_needs_it() {
    let (upstream, pin, clone) = series();
    let project = Project::on(&upstream, &pin, "");
    let place = clone.path().to_str().unwrap();
    project.run(&["import", place, "--range", &format!("{pin}..ours~2")]).expect(0);
    project.run(&["import", place, "--range", "ours~1..ours"]).expect(0);
    assert_eq!(needs(&project)[1], ("a-two-is-2-too".to_owned(), vec!["a-one-is-1".to_owned()]));
    // The same again is another overlay that does not apply any more.
    project.run(&["import", place, "--range", "ours~1..ours"]).expect(2);
}

#[test]
fn binary_files_and_modes_come_over_from_commits() {
    let (upstream, pin, clone) = series();
    std::fs::write(clone.path().join("data.bin"), [0_u8, 1, 2, 255, 0]).unwrap();
    git(clone.path(), &["add", "data.bin"]);
    git(clone.path(), &["update-index", "--chmod=+x", "src/b.c"]);
    let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    git(clone.path(), &[&who[..], &["commit", "-qm", "data"]].concat());
    git(clone.path(), &["reset", "-q", "--hard"]);
    let project = Project::on(&upstream, &pin, "");
    let range = format!("{pin}..ours");
    project.run(&["import", clone.path().to_str().unwrap(), "--range", &range]).expect(0);
    assert_tree(&project, clone.path());
    let tree = project.tree();
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&tree.join("src/b.c").metadata().unwrap().permissions());
    assert_eq!(mode & 0o111, 0o111);
}

#[test]
fn a_lock_follows_what_is_imported() {
    let (upstream, pin, clone) = series();
    let project = Project::on(&upstream, &pin, "");
    project.run(&["lock"]).expect(0);
    let range = format!("{pin}..ours");
    project.run(&["import", clone.path().to_str().unwrap(), "--range", &range]).expect(0);
    project.run(&["verify", "--locked"]).expect(0);
}
