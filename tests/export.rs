//! `export`: git, quilt, `git am` and tar make of it what `apply` makes.

mod any_overlay;
mod identity;
mod random;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{Project, Upstream, command, git, git_bytes, write};

const FILE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n";

struct Made {
    upstream: Upstream,
    pin: String,
    project: Project,
}

/// Overlays of every kind; the later ones stand on the earlier ones.
fn made(binary: bool) -> Made {
    let mut upstream = Upstream::new();
    upstream.commit("before", &[("old.txt", "old\n")]);
    let files = [("src/a.c", FILE), ("src/b c.c", FILE), ("gone/g.txt", "gone\n"), ("run.sh", "echo 1\n")];
    let pin = upstream.commit("pin", &files);
    let fix = upstream.commit("fix b", &[("src/b c.c", &FILE.replace("six", "SIX"))]);
    let manifest = format!(
        "\n[[overlay]]\nname = \"late\"\nreason = \"stands on whole\"\nbase = \"{pin}\"\npatch = \"late.patch\"\nneeds = [\"whole\"]\n\
         issue = \"https://example.org/1\"\n\n[[overlay]]\nname = \"whole\"\nreason = \"\"\"\nreplaces a\n\n--- not a diff\nmore\"\"\"\nbase = \"{pin}\"\n\
         files = [\"src/a.c\"]\n\n[[overlay]]\nname = \"picked\"\nfrom = {{ commits = [\"{fix}\"] }}\n\n[[overlay]]\nname = \"less\"\n\
         base = \"{pin}\"\ndelete = [\"gone/g.txt\"]\n"
    );
    let project = Project::on(&upstream, &pin, &manifest);
    project.write("overlays/up/src/a.c", FILE.replace("one", "ONE"));
    // The patch is made by git.
    upstream.git(&["checkout", "-q", "--detach", &pin]);
    write(&upstream.path().join("src/a.c"), FILE.replace("one", "ONE"));
    upstream.git(&["add", "-A"]);
    write(&upstream.path().join("src/a.c"), FILE.replace("one", "ONE").replace("nine", "NINE"));
    write(&upstream.path().join("new/n.txt"), "new, naïve\n");
    std::fs::set_permissions(upstream.path().join("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    if binary {
        write(&upstream.path().join("new/data.bin"), [0, 159, 146, 150, 0]);
        std::os::unix::fs::symlink("../run.sh", upstream.path().join("new/link")).unwrap();
    }
    upstream.git(&["add", "-N", "."]);
    let patch = git_bytes(upstream.path(), &["diff", "--binary", "--full-index"]);
    let from = b"From: Ada L. <ada@example.org>\nSubject: late\n\n".to_vec();
    project.write("overlays/up/late.patch", [from, patch].concat());
    upstream.git(&["reset", "-q", "--hard"]);
    upstream.git(&["clean", "-fdq"]);
    upstream.git(&["checkout", "-q", "main"]);
    Made { upstream, pin, project }
}

/// Every file of a folder with its mode; of a link, its target.
fn contents(dir: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(dir).unwrap().display().to_string();
            if [".git", ".overlaid", ".pc", "patches"].contains(&name.as_str()) {
                continue;
            }
            let data = path.symlink_metadata().unwrap();
            if data.is_dir() {
                open.push(path);
            } else if data.is_symlink() {
                found.insert(
                    name,
                    (1, std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()),
                );
            } else {
                found.insert(name, (data.permissions().mode() & 0o100, std::fs::read(&path).unwrap()));
            }
        }
    }
    found
}

fn applied(made: &Made) -> BTreeMap<String, (u32, Vec<u8>)> {
    made.project.run(&["apply"]).expect(0);
    contents(&made.project.tree())
}

fn clone_at_pin(made: &Made) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["clone", "-q", made.upstream.path().to_str().unwrap(), "."]);
    git(dir.path(), &["checkout", "-q", "--detach", &made.pin]);
    dir
}

#[test]
fn a_branch_has_a_commit_for_each_overlay_and_the_tree_that_apply_makes() {
    let made = made(true);
    let expected = applied(&made);
    made.project.run(&["export", "--format", "git", "--to", "out"]).expect(0);
    let out = made.project.path().join("out");
    git(&out, &["checkout", "-q", "overlaid"]);
    assert_eq!(contents(&out), expected);
    let subjects = git(&out, &["log", "--reverse", "--format=%s|%an", &format!("{}..", made.pin)]);
    assert_eq!(subjects, "replaces a|overlaid\nless|overlaid\nstands on whole|Ada L.\npicked|overlaid");
    let trailer = git(&out, &["log", "-1", "--format=%(trailers:key=Issue,valueonly)", "overlaid~1"]);
    assert_eq!(trailer.trim(), "https://example.org/1");
    git(&out, &["fsck", "--strict"]);
}

#[test]
fn a_clone_gets_a_branch_with_the_same_ids_and_nothing_else() {
    let made = made(true);
    made.project.run(&["export", "--format", "git", "--to", "out"]).expect(0);
    let clone = clone_at_pin(&made);
    write(&clone.path().join("src/a.c"), "mine\n");
    let to = clone.path().to_str().unwrap();
    let export = ["export", "--format", "git", "--to", to, "--branch", "ours"];
    let run = made.project.run(&[&export[..], &["--json"]].concat()).expect(0).json();
    let tip = git(&made.project.path().join("out"), &["rev-parse", "overlaid"]);
    assert_eq!(git(clone.path(), &["rev-parse", "ours"]), tip);
    assert_eq!(run["tip"], tip.as_str());
    assert_eq!(std::fs::read_to_string(clone.path().join("src/a.c")).unwrap(), "mine\n");
    assert_eq!(git(clone.path(), &["status", "--porcelain"]), " M src/a.c");
    made.project.run(&export).expect(0);
    // Another state of the overlays is another branch.
    made.project.write("overlays/up/src/a.c", FILE.replace("one", "ONE").replace("two", "TWO"));
    made.project.run(&export).expect(2);
    assert_eq!(git(clone.path(), &["rev-parse", "ours"]), tip);
    made.project.run(&[&export[..], &["--force"]].concat()).expect(0);
    let compared = git(
        clone.path(),
        &[
            "range-diff",
            "--creation-factor=999",
            &format!("{}..{tip}", made.pin),
            &format!("{}..ours", made.pin),
        ],
    );
    assert_eq!(
        compared.lines().filter(|line| line.contains(" = ") || line.contains(" ! ")).count(),
        4,
        "{compared}"
    );
    // Never the branch that somebody is on.
    git(clone.path(), &["checkout", "-qf", "ours"]);
    made.project.write("overlays/up/src/a.c", FILE.replace("one", "ONE").replace("two", "2"));
    let refused = made.project.run(&[&export[..], &["--force"]].concat()).expect(2);
    assert!(refused.stderr.contains("is checked out"), "{}", refused.stderr);
}

#[test]
fn the_branch_can_be_rebased() {
    let made = made(true);
    let clone = clone_at_pin(&made);
    let to = clone.path().to_str().unwrap();
    made.project.run(&["export", "--format", "git", "--to", to]).expect(0);
    git(clone.path(), &["checkout", "-q", "overlaid"]);
    git(clone.path(), &["rebase", "-q", "origin/main"]);
    // Upstream has the picked commit by now.
    let subjects = git(clone.path(), &["log", "--reverse", "--format=%s", "origin/main.."]);
    assert_eq!(subjects, "replaces a\nless\nstands on whole");
}

#[test]
fn a_repository_without_the_pin_is_told_how_to_get_it() {
    let made = made(false);
    let other = Upstream::new();
    git(other.path(), &["commit", "-q", "--allow-empty", "-m", "x"]);
    let run =
        made.project.run(&["export", "--format", "git", "--to", other.path().to_str().unwrap()]).expect(2);
    assert!(run.stderr.contains("does not have the pin"), "{}", run.stderr);
    let hint = run.stderr.split_once("hint: ").unwrap().1;
    made.project.shell(hint.lines().next().unwrap()).expect(0);
    made.project.run(&["export", "--format", "git", "--to", other.path().to_str().unwrap()]).expect(0);
}

#[test]
fn git_am_makes_the_tree() {
    let made = made(true);
    let expected = applied(&made);
    made.project.run(&["export", "--format", "mail", "--to", "mails"]).expect(0);
    let mails = made.project.path().join("mails");
    let first = read_all(&mails);
    assert_eq!(
        first.keys().collect::<Vec<_>>(),
        ["0001-whole.patch", "0002-less.patch", "0003-late.patch", "0004-picked.patch"]
    );
    let clone = clone_at_pin(&made);
    let files: Vec<String> = first.keys().map(|name| mails.join(name).display().to_string()).collect();
    let mut args = vec!["am", "-q"];
    args.extend(files.iter().map(String::as_str));
    git(clone.path(), &args);
    assert_eq!(contents(clone.path()), expected);
    let body = git(clone.path(), &["log", "-1", "--format=%b", "HEAD~3"]);
    assert!(body.contains("--- not a diff\nmore"), "{body}");
    assert_eq!(git(clone.path(), &["log", "-1", "--format=%an <%ae>", "HEAD~1"]), "Ada L. <ada@example.org>");
    // Stable bytes; a foreign file stays.
    made.project.run(&["export", "--format", "mail", "--to", "mails"]).expect(0);
    assert_eq!(read_all(&mails), first);
    write(&mails.join("0009-x.patch"), "x");
    let refused = made.project.run(&["export", "--format", "mail", "--to", "mails", "--force"]).expect(2);
    assert!(refused.stderr.contains("0009-x.patch"), "{}", refused.stderr);
}

fn read_all(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .collect()
}

#[test]
fn quilt_push_makes_the_tree() {
    let made = made(false);
    let expected = applied(&made);
    made.project.run(&["export", "--format", "quilt", "--to", "patches"]).expect(0);
    assert_eq!(made.project.read("patches/series"), "whole.patch\nless.patch\nlate.patch\npicked.patch\n");
    let whole = made.project.read("patches/whole.patch");
    assert!(
        whole.starts_with("Description: replaces a\n --- not a diff\n more\nAuthor: overlaid"),
        "{whole}"
    );
    if command("quilt").arg("--version").output().is_err() {
        let required = std::env::var("OVERLAID_TEST_ORACLES").is_ok_and(|value| value == "require");
        assert!(!required, "`quilt` is missing, and OVERLAID_TEST_ORACLES=require");
        eprintln!("skipped: there is no quilt");
        return;
    }
    let clone = clone_at_pin(&made);
    let mut quilt = command("quilt");
    quilt.args(["push", "-a"]).current_dir(clone.path()).env("HOME", clone.path());
    let output = quilt.env("QUILT_PATCHES", made.project.path().join("patches")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(contents(clone.path()), expected);
}

#[test]
fn quilt_is_refused_what_it_cannot_hold() {
    let made = made(true);
    let refused = made.project.run(&["export", "--format", "quilt", "--to", "patches"]).expect(3);
    assert!(
        refused.stderr.contains("overlay `late` changes `new/data.bin`, which is not text"),
        "{}",
        refused.stderr
    );
    assert!(!made.project.path().join("patches").exists());
}

#[test]
fn an_archive_is_the_tree_and_its_attestation() {
    let made = made(true);
    let expected = applied(&made);
    made.project.run(&["export", "--format", "tar", "--to", "a.tar"]).expect(0);
    made.project.run(&["export", "--format", "tar", "--to", "b.tar"]).expect(0);
    let bytes = std::fs::read(made.project.path().join("a.tar")).unwrap();
    assert_eq!(bytes, std::fs::read(made.project.path().join("b.tar")).unwrap());
    let output = command("tar").args(["-xf", "a.tar"]).current_dir(made.project.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let folder = format!("up-{}", &made.pin[..10]);
    let tree = made.project.path().join(&folder);
    assert_eq!(contents(&tree), expected);
    assert!(tree.join(".overlaid/attestation.json").exists());
    // It is known for what it is.
    let run = made.project.run(&["apply", "--tree", &folder, "--dry-run"]).expect(0);
    assert!(run.stdout.contains("nothing to do") || run.stdout.contains("right"), "{}", run.stdout);
    made.project.write("overlays/up/src/a.c", "other\n");
    made.project
        .write("overlays/up/late.patch", "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n");
    made.project.run(&["export", "--format", "tar", "--to", "a.tar"]).expect(2);
    assert_eq!(bytes, std::fs::read(made.project.path().join("a.tar")).unwrap());
}
