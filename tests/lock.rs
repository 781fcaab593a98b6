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
