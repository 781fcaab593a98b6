//! Trees that somebody else made: what FetchContent clones, a submodule, a tarball, a worktree, a folder of another
//! repository.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{files, overlays, stamps, upstream};
use crate::support::{Project, Upstream, git, git_bytes, write};

/// The folder of a tree, and all that lies around it.
struct Made {
    kind: &'static str,
    dir: PathBuf,
    project: Project,
}

fn made(kind: &'static str, upstream: &Upstream, pin: &str) -> Made {
    let mut project = Project::on(upstream, pin, &overlays(pin));
    project.write("overlays/up/src/kernel.cu", "int ours;\n");
    project.write("overlays/up/src/new.cu", "int new;\n");
    // Bytes as upstream has them, whatever its attributes say.
    std::fs::write(upstream.path().join(".git/info/attributes"), "* -text -eol -ident !filter\n").unwrap();
    let from = upstream.path().to_str().unwrap();
    let dir = project.path().join("third_party/up");
    let at = dir.to_str().unwrap();
    match kind {
        "clone" => {
            let attributes = ["-c", "core.attributesFile=/dev/null", "-c", "core.autocrlf=false"];
            git(project.path(), &[&attributes[..], &["clone", "-q", "--no-checkout", from, at]].concat());
            std::fs::write(dir.join(".git/info/attributes"), "* -text -eol -ident !filter\n").unwrap();
            git(&dir, &["checkout", "-q", pin]);
        }
        "worktree" => drop(git(upstream.path(), &["worktree", "add", "-q", "--detach", at, pin])),
        "submodule" => {
            git(project.path(), &["init", "-q"]);
            let allowed = ["-c", "protocol.file.allow=always"];
            git(
                project.path(),
                &[&allowed[..], &["submodule", "add", "-q", from, "third_party/up"]].concat(),
            );
            let inner = project.path().join(".git/modules/third_party/up/info/attributes");
            std::fs::write(inner, "* -text -eol -ident !filter\n").unwrap();
            git(&dir, &["rm", "-q", "--cached", "-r", "."]);
            git(&dir, &["reset", "-q", "--hard", pin]);
        }
        "tarball" | "folder of another repository" => {
            if kind != "tarball" {
                git(project.path(), &["init", "-q"]);
            }
            std::fs::create_dir_all(&dir).unwrap();
            for (name, (mode, bytes)) in listing(upstream, pin) {
                match mode.as_str() {
                    "120000" => {
                        let file = dir.join(&name);
                        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                        std::os::unix::fs::symlink(std::str::from_utf8(&bytes).unwrap(), file).unwrap();
                    }
                    mode => {
                        write(&dir.join(&name), bytes);
                        let bits = if mode == "100755" { 0o775 } else { 0o664 };
                        std::fs::set_permissions(dir.join(&name), std::fs::Permissions::from_mode(bits))
                            .unwrap();
                    }
                }
            }
        }
        other => panic!("{other}"),
    }
    // Variables of git lead to another repository; nothing of ours looks at them.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE"] {
        project.set(name, "/does/not/exist");
    }
    project.set("GIT_CEILING_DIRECTORIES", "/");
    Made { kind, dir, project }
}

fn listing(upstream: &Upstream, pin: &str) -> Vec<(String, (String, Vec<u8>))> {
    let lines = git(upstream.path(), &["-c", "core.quotePath=false", "ls-tree", "-r", pin]);
    let entry = |line: &str| {
        let (meta, name) = line.split_once('\t').unwrap();
        let words: Vec<&str> = meta.split(' ').collect();
        let bytes = git_bytes(upstream.path(), &["cat-file", "blob", words[2]]);
        (name.to_owned(), (words[0].to_owned(), bytes))
    };
    lines.lines().map(entry).collect()
}

fn every_kind(check: impl Fn(&Made, &str)) {
    for kind in ["clone", "worktree", "submodule", "tarball", "folder of another repository"] {
        let (upstream, pin) = upstream();
        check(&made(kind, &upstream, &pin), &pin);
    }
}

const TREE: [&str; 2] = ["--tree", "third_party/up"];

fn untouched(dir: &Path) -> Vec<impl PartialEq + std::fmt::Debug> {
    ["bin", "crlf.txt", ".gitattributes", "empty"]
        .iter()
        .flat_map(|at| stamps(&dir.join(at)))
        .collect::<Vec<_>>()
}

/// The files of a tree; of a mode only whether somebody may run it.
fn as_git_sees(dir: &Path) -> std::collections::BTreeMap<String, (bool, Vec<u8>)> {
    files(dir).into_iter().map(|(name, (mode, bytes))| (name, (mode & 0o100 != 0, bytes))).collect()
}

#[test]
fn overlays_go_on_and_off_and_nothing_else_changes() {
    every_kind(|Made { kind, dir, project }, _| {
        let (before, others) = (as_git_sees(dir), untouched(dir));
        let run = project.run(&["apply", "--dry-run", TREE[0], TREE[1]]).expect(1);
        assert!(run.stdout.contains("create src/new.cu"), "{kind}: {}", run.stdout);
        assert!(!dir.join(".overlaid").exists(), "{kind}");
        project.run(&["apply", TREE[0], TREE[1]]).expect(0);
        let after = files(dir);
        assert_eq!(after["src/kernel.cu"].1, b"int ours;\n", "{kind}");
        assert!(!after.contains_key("src/old.cu") && after.contains_key("src/new.cu"), "{kind}");
        assert_eq!(untouched(dir), others, "{kind}");
        let all = stamps(dir);
        for _ in 0..3 {
            let run = project.run(&["apply", TREE[0], TREE[1]]).expect(0);
            assert!(run.stdout.contains("nothing to do"), "{kind}: {}", run.stdout);
            assert_eq!(stamps(dir), all, "{kind}");
        }
        project.run(&["verify", TREE[0], TREE[1]]).expect(0);
        project.run(&["restore", TREE[0], TREE[1]]).expect(0);
        assert_eq!(as_git_sees(dir), before, "{kind}");
        assert_eq!(untouched(dir), others, "{kind}");
    });
}

#[test]
fn git_sees_the_overlaid_paths_and_nothing_of_ours() {
    every_kind(|Made { kind, dir, project }, _| {
        if !dir.join(".git").exists() {
            return;
        }
        project.run(&["apply", TREE[0], TREE[1]]).expect(0);
        let status = git(dir, &["status", "--porcelain", "-uall"]);
        let mut lines: Vec<&str> = status.lines().map(|line| line.trim_start()).collect();
        lines.sort_unstable();
        assert_eq!(lines, ["?? src/new.cu", "D src/old.cu", "M src/kernel.cu"], "{kind}");
    });
}

#[test]
fn what_is_in_the_way_is_named_and_kept() {
    every_kind(|Made { kind, dir, project }, _| {
        write(&dir.join("src/kernel.cu"), "int k;\nint mine;\n");
        write(&dir.join("src/new.cu"), [0, 1, 2]);
        let before = files(dir);
        let run = project.run(&["apply", TREE[0], TREE[1]]).expect(3);
        let amount = "1 line added and 0 removed against upstream's";
        assert!(
            run.stderr.contains(amount) && run.stderr.contains("src/new.cu: unknown"),
            "{kind}: {}",
            run.stderr
        );
        assert_eq!(files(dir), before, "{kind}");
        let run = project.run(&["apply", "--force", TREE[0], TREE[1]]).expect(0);
        assert!(
            run.stderr
                .contains("kept a copy of src/kernel.cu: `third_party/up/.overlaid/kept/1/src/kernel.cu`")
        );
        let kept = std::fs::read(dir.join(".overlaid/kept/1/src/kernel.cu")).unwrap();
        assert_eq!(kept, b"int k;\nint mine;\n", "{kind}");
        assert_eq!(std::fs::read(dir.join(".overlaid/kept/1/src/new.cu")).unwrap(), [0, 1, 2], "{kind}");
        assert_eq!(files(dir)["src/kernel.cu"].1, b"int ours;\n", "{kind}");
    });
}

#[test]
fn a_path_at_the_bytes_of_another_commit_is_named_with_the_commit() {
    let (mut upstream, pin) = upstream();
    let newer = upstream.commit("make k long", &[("src/kernel.cu", "long k;\n")]);
    let made = made("tarball", &upstream, &pin);
    write(&made.dir.join("src/kernel.cu"), "long k;\n");
    let run = made.project.run(&["apply", TREE[0], TREE[1]]).expect(3);
    let known = format!("it is at the bytes of commit {newer} (make k long)");
    assert!(run.stderr.contains(&known), "{}", run.stderr);
    assert!(run.stderr.contains("1 line added and 1 removed against upstream's"), "{}", run.stderr);
}

#[test]
fn upstreams_modes_come_back_although_the_tree_had_lost_them() {
    let (upstream, pin) = upstream();
    let Made { dir, project, .. } = made("tarball", &upstream, &pin);
    project.write("overlays/up/bin/run", "ours\n");
    let manifest =
        project.read("manifests/up.toml").replace("\"src/new.cu\"]", "\"src/new.cu\", \"bin/run\"]");
    project.write("manifests/up.toml", manifest);
    // As an archive without modes leaves it.
    std::fs::set_permissions(dir.join("bin/run"), std::fs::Permissions::from_mode(0o644)).unwrap();
    project.run(&["apply", TREE[0], TREE[1]]).expect(0);
    assert_eq!(files(&dir)["bin/run"], (0o100644, b"ours\n".to_vec()));
    project.run(&["restore", TREE[0], TREE[1]]).expect(0);
    assert_eq!(files(&dir)["bin/run"], (0o100755, b"#!/bin/sh\n".to_vec()));
}

#[test]
fn its_owner_moves_it_to_another_commit() {
    let (mut upstream, pin) = upstream();
    let newer = upstream.commit("next", &[("src/kernel.cu", "int k2;\n"), ("src/old.cu", "// 2\n")]);
    let Made { dir, project, .. } = made("clone", &upstream, &pin);
    project.run(&["apply", TREE[0], TREE[1]]).expect(0);
    git(&dir, &["checkout", "-q", "-f", &newer]);
    let manifest =
        project.read("manifests/up.toml").replace(&format!("pin = \"{pin}\""), &format!("pin = \"{newer}\""));
    project.write("manifests/up.toml", manifest);
    project.run(&["apply", TREE[0], TREE[1]]).expect(0);
    assert_eq!(files(&dir)["src/kernel.cu"].1, b"int ours;\n");
    project.run(&["restore", TREE[0], TREE[1]]).expect(0);
    assert_eq!(files(&dir)["src/kernel.cu"].1, b"int k2;\n");
    assert_eq!(git(&dir, &["status", "--porcelain", "-uall"]), "");
}

#[test]
fn its_attestation_is_checked() {
    let (upstream, pin) = upstream();
    let Made { dir, project, .. } = made("clone", &upstream, &pin);
    project.run(&["apply", TREE[0], TREE[1]]).expect(0);
    let file = dir.join(".overlaid/attestation.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let codes = |code| {
        let run = project.run(&["--json", "verify", TREE[0], TREE[1]]).expect(code);
        let findings = run.json()["findings"].as_array().unwrap().clone();
        let codes = findings.iter().map(|finding| finding["code"].as_str().unwrap().to_owned());
        codes.filter(|code| code.starts_with("attestation") || code.starts_with("tree")).collect::<Vec<_>>()
    };
    assert_eq!(codes(0), [""; 0]);
    std::fs::write(&file, text.replace(&pin, &"1".repeat(40))).unwrap();
    assert_eq!(codes(1), ["attestation-differs"]);
    std::fs::write(&file, &text[..text.len() / 2]).unwrap();
    assert_eq!(codes(1), ["attestation-damaged"]);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(codes(0), ["attestation-missing"]);
    project.run(&["apply", TREE[0], TREE[1]]).expect(0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    assert_eq!(codes(0), [""; 0]);
}
