//! `apply` and `restore`, as a user meets them. What the tree does underneath is tested beside its code.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use crate::support::{Project, Upstream, git, write};

mod adopted;
mod crash;
mod elsewhere;
mod fingerprint;
mod obstacles;
mod unchanged;
mod unfilled;

/// An upstream with all kinds of entries, and its commit.
fn upstream() -> (Upstream, String) {
    let mut upstream = Upstream::new();
    let top = upstream.path().to_owned();
    write(&top.join("bin/run"), "#!/bin/sh\n");
    std::fs::set_permissions(top.join("bin/run"), std::fs::Permissions::from_mode(0o755)).unwrap();
    symlink("../src/kernel.cu", top.join("bin/link")).unwrap();
    symlink("/does/not/exist", top.join("dangling")).unwrap();
    write(&top.join("crlf.txt"), "a\r\nb\r\n");
    write(&top.join("latin1 \u{fc}.txt"), b"caf\xe9");
    // Attributes of the upstream change nothing: bytes are bytes.
    write(&top.join(".gitattributes"), "* text=auto eol=crlf ident export-subst\n*.cu filter=evil\n");
    let pin = upstream
        .commit("start", &[("src/kernel.cu", "int k;\n"), ("src/old.cu", "// $Id$\n"), ("empty", "")]);
    (upstream, pin)
}

fn overlays(pin: &str) -> String {
    format!(
        "[[overlay]]\nname = \"kernel-fix\"\nbase = \"{pin}\"\nfiles = [\"src/kernel.cu\", \"src/new.cu\"]\n\
         [[overlay]]\nname = \"no-old\"\nbase = \"{pin}\"\ndelete = [\"src/old.cu\"]\n"
    )
}

fn project(upstream: &Upstream, pin: &str) -> Project {
    let project = Project::on(upstream, pin, &overlays(pin));
    project.write("overlays/up/src/kernel.cu", "int ours;\n");
    project.write("overlays/up/src/new.cu", "int new;\n");
    project
}

/// All files of a folder with mode and bytes, but those of git and overlaid.
fn files(dir: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let walk = walkdir::WalkDir::new(dir).min_depth(1).into_iter();
    let walk = walk.filter_entry(|entry| {
        entry.depth() > 1 || (entry.file_name() != ".git" && entry.file_name() != ".overlaid")
    });
    walk.map(Result::unwrap)
        .filter(|entry| !entry.file_type().is_dir())
        .map(|entry| {
            let meta = entry.path().symlink_metadata().unwrap();
            let bytes = match meta.is_symlink() {
                true => std::fs::read_link(entry.path()).unwrap().into_os_string().into_encoded_bytes(),
                // Reading a pipe would wait for ever.
                false if !meta.is_file() => Vec::new(),
                false => std::fs::read(entry.path()).unwrap(),
            };
            let name = entry.path().strip_prefix(dir).unwrap().display().to_string();
            (name, (meta.mode(), bytes))
        })
        .collect()
}

/// Inode and times of everything in a folder.
fn stamps(dir: &Path) -> Vec<(u64, i64, i64, i64, i64)> {
    let walk = walkdir::WalkDir::new(dir).sort_by_file_name().into_iter().map(Result::unwrap);
    let stamp = |meta: std::fs::Metadata| {
        (meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec())
    };
    walk.map(|entry| stamp(entry.path().symlink_metadata().unwrap())).collect()
}

#[test]
fn the_pin_without_overlays_is_what_git_checks_out() {
    let (upstream, pin) = upstream();
    let project = Project::on(&upstream, &pin, "");
    project.run(&["apply"]).expect(0);
    let checkout = project.path().join("checkout");
    // Git itself would convert line endings here.
    upstream.git(&["config", "core.attributesFile", "/dev/null"]);
    std::fs::write(upstream.path().join(".git/info/attributes"), "* -text -eol -ident !filter\n").unwrap();
    git(upstream.path(), &["worktree", "add", "-q", checkout.to_str().unwrap(), &pin]);
    assert_eq!(files(&project.tree()), files(&checkout));
}

#[test]
fn a_second_run_changes_nothing_not_even_a_time() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    let run = project.run(&["apply"]).expect(0);
    assert!(run.stdout.contains("created src/new.cu (kernel-fix)"), "{}", run.stdout);
    let tree = files(&project.tree());
    assert_eq!(tree["src/kernel.cu"].1, b"int ours;\n");
    assert!(!tree.contains_key("src/old.cu"));
    let before = stamps(&project.tree());
    let run = project.run(&["apply"]).expect(0);
    assert!(run.stdout.contains("nothing to do: 3 overlaid paths are right"), "{}", run.stdout);
    assert_eq!(stamps(&project.tree()), before);
}

#[test]
fn an_overlay_that_was_removed_gives_upstreams_bytes_back() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    project.run(&["apply"]).expect(0);
    let ours = project.tree().join("src/kernel.cu").metadata().unwrap().modified().unwrap();
    let unrelated = stamps(&project.tree().join("bin"));
    project.write("manifests/up.toml", crate::support::manifest(&upstream, &pin, ""));
    let document = project.run(&["--json", "apply"]).expect(0).json();
    assert_eq!(document["schema"], "overlaid.apply.v1");
    assert_eq!(document["changed"], true);
    let steps: Vec<_> = document["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| format!("{} {}", s["action"], s["path"]))
        .collect();
    assert_eq!(
        steps,
        ["\"write\" \"src/kernel.cu\"", "\"remove\" \"src/new.cu\"", "\"create\" \"src/old.cu\""]
    );
    let tree = files(&project.tree());
    assert_eq!(tree["src/kernel.cu"].1, b"int k;\n");
    assert_eq!(tree["src/old.cu"].1, b"// $Id$\n");
    assert!(project.tree().join("src/kernel.cu").metadata().unwrap().modified().unwrap() > ours);
    assert_eq!(stamps(&project.tree().join("bin")), unrelated);
}

#[test]
fn edits_on_an_overlaid_path_stop_it_and_force_keeps_a_copy() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    project.run(&["apply"]).expect(0);
    write(&project.tree().join("src/kernel.cu"), "int mine;\n");
    let before = files(&project.tree());
    let run = project.run(&["apply"]).expect(3);
    assert!(run.stderr.contains("src/kernel.cu: local edit"), "{}", run.stderr);
    assert!(run.stderr.contains("overlay kernel-fix writes there"), "{}", run.stderr);
    assert!(run.stderr.contains("--force"), "{}", run.stderr);
    assert_eq!(files(&project.tree()), before);
    project.run(&["restore"]).expect(3);
    assert_eq!(files(&project.tree()), before);
    let run = project.run(&["apply", "--force"]).expect(0);
    assert!(run.stderr.contains(".overlaid/kept/1/src/kernel.cu"), "{}", run.stderr);
    let kept = project.tree().join(".overlaid/kept/1/src/kernel.cu");
    assert_eq!(std::fs::read(kept).unwrap(), b"int mine;\n");
    assert_eq!(files(&project.tree())["src/kernel.cu"].1, b"int ours;\n");
}

#[test]
fn a_directory_where_a_file_should_be_ends_4_and_nothing_is_half_done() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    project.run(&["restore"]).expect(0);
    write(&project.tree().join("src/new.cu/mine"), "mine");
    let before = files(&project.tree());
    let run = project.run(&["apply"]).expect(4);
    assert!(run.stderr.contains("src/new.cu: a folder"), "{}", run.stderr);
    assert_eq!(files(&project.tree()), before);
}

#[test]
fn a_dry_run_says_what_would_change_and_ends_1() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    project.run(&["apply", "--dry-run"]).expect(1);
    assert!(!project.tree().exists());
    project.run(&["apply"]).expect(0);
    project.run(&["apply", "--dry-run"]).expect(0);
}

#[test]
fn a_tree_of_somebody_else_is_taken_as_it_is() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    // Unpacked without git, inside a repository of another project.
    git(project.path(), &["init", "-q"]);
    let dir = project.path().join("third_party/up");
    for (path, text) in [("src/kernel.cu", "int k;\n"), ("src/old.cu", "// $Id$\n"), ("build.log", "theirs")]
    {
        write(&dir.join(path), text);
    }
    let theirs = files(&dir);
    let tree = ["--tree", "third_party/up"];
    project.run(&["apply", tree[0], tree[1]]).expect(0);
    let ours = files(&dir);
    assert_eq!(ours.keys().collect::<Vec<_>>(), ["build.log", "src/kernel.cu", "src/new.cu"]);
    assert_eq!(ours["src/kernel.cu"].1, b"int ours;\n");
    let before = stamps(&dir);
    project.run(&["apply", tree[0], tree[1]]).expect(0);
    assert_eq!(stamps(&dir), before);
    assert!(!git(project.path(), &["status", "--porcelain", "-uall"]).contains(".overlaid/state"));
    project.run(&["restore", tree[0], tree[1]]).expect(0);
    assert_eq!(files(&dir), theirs);
    write(&dir.join("src/kernel.cu"), "int k2;\n");
    let run = project.run(&["apply", tree[0], tree[1]]).expect(3);
    assert!(run.stderr.contains("src/kernel.cu: local edit"), "{}", run.stderr);
}

#[test]
fn a_default_tree_that_has_files_of_others_is_refused() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    write(&project.tree().join("mine"), "mine");
    let run = project.run(&["apply"]).expect(4);
    assert!(run.stderr.contains("did not write"), "{}", run.stderr);
    assert_eq!(files(&project.tree()).len(), 1);
}

#[test]
fn variables_of_git_change_nothing() {
    let (upstream, pin) = upstream();
    let mut project = project(&upstream, &pin);
    let (other, _) = self::upstream();
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"] {
        project.set(name, other.path().join(".git"));
    }
    project.set("GIT_INDEX_FILE", other.path().join(".git/index"));
    project.run(&["apply"]).expect(0);
    assert_eq!(files(&project.tree())["src/kernel.cu"].1, b"int ours;\n");
    assert_eq!(other.git(&["status", "--porcelain"]), "");
}

#[test]
fn restore_puts_the_pin_back() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    project.run(&["restore"]).expect(0);
    let pristine = files(&project.tree());
    project.run(&["apply"]).expect(0);
    assert_ne!(files(&project.tree()), pristine);
    project.run(&["restore"]).expect(0);
    assert_eq!(files(&project.tree()), pristine);
    let run = project.run(&["restore"]).expect(0);
    assert!(run.stdout.contains("nothing to do"), "{}", run.stdout);
}

#[test]
fn a_file_that_comes_back_is_named_though_only_upstream_wants_it() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    let run = project.run(&["apply"]).expect(0);
    assert!(
        !run.stdout.contains("crlf.txt"),
        "of a new tree only what overlays change is named: {}",
        run.stdout
    );
    let (kept, _) = overlays(&pin)
        .split_once("[[overlay]]\nname = \"no-old\"")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    project.write("manifests/up.toml", crate::support::manifest(&upstream, &pin, &kept));
    let run = project.run(&["apply"]).expect(0);
    assert!(run.stdout.contains("created src/old.cu (upstream)"), "{}", run.stdout);
}

#[test]
fn a_feature_that_nothing_names_is_a_warning_each_time() {
    let (upstream, pin) = upstream();
    let project = Project::on(&upstream, &pin, &format!("{}when = [\"cuda\"]\n", overlays(&pin)));
    project.write("overlays/up/src/kernel.cu", "int ours;\n");
    project.write("overlays/up/src/new.cu", "int new;\n");
    for command in [&["apply"][..], &["apply"], &["status"], &["status", "--fingerprint"], &["verify"]] {
        let run = project.run(&[&["--features", "cuda,cdua"], command].concat());
        assert_eq!(run.stderr.matches("warning: ").count(), 1, "{command:?} {}", run.stderr);
        assert!(run.stderr.contains("names `cdua`; the manifest has: cuda"), "{}", run.stderr);
        let run = project.run(&[&["--features", "cuda"], command].concat());
        assert!(!run.stderr.contains("warning: "), "{command:?} {}", run.stderr);
    }
}

#[test]
fn the_commands_of_hints_can_be_run_as_they_stand() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    let named = ["-m", "manifests/up.toml", "apply", "--tree", "a tree"];
    project.run(&named).expect(0);
    let file = project.path().join("a tree/src/kernel.cu");
    write(&file, "int mine;\n");
    let run = project.run(&named).expect(3);
    assert_eq!(run.hinted(), "overlaid -m manifests/up.toml apply --tree 'a tree' --force");
    project.shell(run.hinted()).expect(0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "int ours;\n");
    // A submodule in the place of the manifest's tree. Without attributes, for git would change line ends.
    let mut upstream = Upstream::new();
    let pin = upstream.commit("start", &[("src/kernel.cu", "int k;\n"), ("src/old.cu", "old\n")]);
    project.write("manifests/up.toml", crate::support::manifest(&upstream, &pin, &overlays(&pin)));
    git(project.path(), &["clone", "-q", upstream.path().to_str().unwrap(), ".overlaid/up"]);
    let run = project.run(&["apply"]).expect(4);
    assert!(!run.stderr.contains("remove it"), "{}", run.stderr);
    project.shell(run.hinted()).expect(0);
    assert_eq!(std::fs::read_to_string(project.tree().join("src/kernel.cu")).unwrap(), "int ours;\n");
}

#[test]
fn a_commit_that_several_overlays_name_is_missed_once() {
    let (upstream, pin) = upstream();
    let gone = "1".repeat(40);
    let project = Project::on(&upstream, &pin, &overlays(&gone));
    project.write("overlays/up/src/kernel.cu", "int ours;\n");
    project.write("overlays/up/src/new.cu", "int new;\n");
    let run = project.run(&["--offline", "apply"]).expect(4);
    assert_eq!(run.stderr.matches("error[missing-commit]").count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains(&format!("error: commit {gone} is not")), "{}", run.stderr);
}

#[test]
fn a_folder_without_manifests_is_named_as_a_whole_path() {
    let project = Project::new();
    let run = project.run(&["apply"]).expect(2);
    let path = project.path().canonicalize().unwrap().display().to_string();
    assert!(run.stderr.contains(&path) && run.stderr.contains("-C DIR"), "{}", run.stderr);
}
