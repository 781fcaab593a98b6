//! Series by seed: each format gives the tree that `apply` makes.

use std::path::Path;

use super::contents;
use crate::edit::random::{edit, text};
use crate::support::random::Random;
use crate::support::{Project, Upstream, command, git, git_bytes, write};

const SERIES: usize = 12;
const OVERLAYS: usize = 4;
const FILES: [&str; 6] = ["src/a.c", "src/b.c", "src/c c.txt", "bin/tool", "new/n", "new/m"];

/// An upstream and a project whose patches stand on each other, made by git.
fn series(random: &mut Random, kinds: usize) -> (Upstream, String, Project) {
    let mut upstream = Upstream::new();
    for name in &FILES[..4] {
        let lines = 30 + random.below(20);
        write(&upstream.path().join(name), text(random, lines));
    }
    let pin = upstream.commit_all("pin");
    let mut manifest = String::new();
    let mut patches = Vec::new();
    for number in 0..OVERLAYS {
        let mut patch = Vec::new();
        while patch.is_empty() {
            for _ in 0..random.below(4) + 1 {
                let name = random.pick(&FILES);
                edit(random, &upstream.path().join(name), kinds);
            }
            upstream.git(&["add", "-A"]);
            patch =
                git_bytes(upstream.path(), &["diff", "--cached", "--binary", "--full-index", "--no-renames"]);
        }
        upstream.run_dated(&["commit", "-qm", "next"]);
        manifest.push_str(&format!(
            "\n[[overlay]]\nname = \"o{number}\"\nbase = \"{pin}\"\npatch = \"o{number}.patch\"\n"
        ));
        patches.push(patch);
    }
    let project = Project::on(&upstream, &pin, &manifest);
    for (number, patch) in patches.iter().enumerate() {
        project.write(&format!("overlays/up/o{number}.patch"), patch);
    }
    (upstream, pin, project)
}

fn clone(upstream: &Upstream, pin: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["clone", "-q", upstream.path().to_str().unwrap(), "."]);
    git(dir.path(), &["checkout", "-q", "--detach", pin]);
    dir
}

fn export(project: &Project, format: &str, to: &Path) {
    project.run(&["export", "--format", format, "--to", to.to_str().unwrap()]).expect(0);
}

#[test]
fn git_and_mails_hold_every_change_that_git_knows() {
    let mut random = Random::new(11);
    for number in 0..SERIES {
        let (upstream, pin, project) = series(&mut random, 15);
        project.run(&["apply"]).expect(0);
        let expected = contents(&project.tree());
        let repository = project.path().join("out");
        export(&project, "git", &repository);
        git(&repository, &["checkout", "-q", "overlaid"]);
        assert_eq!(contents(&repository), expected, "series {number}");
        // Git's own commits made the same trees.
        let trees = |dir: &Path, range: &str| git(dir, &["log", "--reverse", "--format=%T", range]);
        assert_eq!(trees(&repository, &format!("{pin}..")), trees(upstream.path(), &format!("{pin}..main")));
        let mails = project.path().join("mails");
        export(&project, "mail", &mails);
        let clone = clone(&upstream, &pin);
        let mut files: Vec<String> = std::fs::read_dir(&mails)
            .unwrap()
            .map(|entry| entry.unwrap().path().display().to_string())
            .collect();
        files.sort();
        let mut args = vec!["am", "-q", "--keep-cr", "--whitespace=nowarn"];
        args.extend(files.iter().map(String::as_str));
        git(clone.path(), &args);
        assert_eq!(contents(clone.path()), expected, "series {number}");
    }
}

#[test]
fn quilt_holds_every_change_of_lines_and_modes() {
    if command("quilt").arg("--version").output().is_err() {
        let required = std::env::var("OVERLAID_TEST_ORACLES").is_ok_and(|value| value == "require");
        assert!(!required, "`quilt` is missing, and OVERLAID_TEST_ORACLES=require");
        eprintln!("skipped: there is no quilt");
        return;
    }
    let mut random = Random::new(13);
    for number in 0..SERIES {
        let (upstream, pin, project) = series(&mut random, 12);
        project.run(&["apply"]).expect(0);
        let expected = contents(&project.tree());
        let patches = project.path().join("patches");
        export(&project, "quilt", &patches);
        let clone = clone(&upstream, &pin);
        let mut quilt = command("quilt");
        quilt.args(["push", "-a"]).current_dir(clone.path()).env("HOME", clone.path());
        let output = quilt.env("QUILT_PATCHES", &patches).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "series {number}: {said}");
        assert_eq!(contents(clone.path()), expected, "series {number}: {said}");
    }
}
