//! What people have is not tidy: files of editors, READMEs, line ends of mail programs, patches that do not quite fit.

use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::{Project, Upstream, git, write};

use super::{V1, assert_tree, commit, series};

const README: &str = "# up\n\nWhat it is, and what it does, and how it is built, in ten words or more.\n";

/// The commits of a branch as mails in a folder of the project.
fn mails(clone: &Path, range: &str, folder: &Path) -> Vec<String> {
    git(clone, &["format-patch", "-q", "--cover-letter", "-o", folder.to_str().unwrap(), range]);
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

fn overlays(project: &Project) -> Vec<String> {
    super::needs(project).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn what_nobody_means_stays_out_of_a_folder_of_whole_files_and_the_table_says_so() {
    let mut upstream = Upstream::new();
    let same = "int same = 1;\n";
    let files = [("a.c", V1), ("same.c", same), ("README.md", README), ("CMakeLists.txt", "project(up)\n")];
    let pin = upstream.commit("add", &files);
    let project = Project::on(&upstream, &pin, "");
    project.write("ours/a.c", V1.replace("six", "6"));
    for (file, text) in [
        ("same.c", same),
        ("README.md", "How we keep overlays.\n"),
        ("CMakeLists.txt", "file(GLOB x *.c)\n"),
        ("a.c.orig", V1),
        (".DS_Store", "x"),
        (".gitignore", "*.o\n"),
    ] {
        project.write(&format!("ours/{file}"), text);
    }
    let run = project.run(&["import", "ours", "--json"]).expect(0).json();
    assert_eq!(overlays(&project), ["a"]);
    let left = run["left-out"].as_array().unwrap();
    let left: Vec<_> = left.iter().map(|one| one["file"].as_str().unwrap()).collect();
    assert_eq!(left, [".DS_Store", ".gitignore", "CMakeLists.txt", "README.md", "a.c.orig", "same.c"]);
    project.run(&["verify"]).expect(0);

    // A change of upstream's own README is one; and a person can have everything.
    let project = Project::on(&upstream, &pin, "");
    project.write("ours/README.md", format!("{README}And ours.\n"));
    project.write("ours/a.c.orig", V1);
    let run = project.run(&["import", "ours"]).expect(0);
    assert!(run.stdout.contains("left out: a.c.orig: it is a backup"), "{}", run.stdout);
    assert_eq!(overlays(&project), ["README"]);
    project.run(&["import", "ours", "--include", "*.orig", "--exclude", "README*"]).expect(0);
    assert_eq!(overlays(&project), ["README", "a.c"]);
}

#[test]
fn overlays_that_lie_where_ours_lie_stay_there() {
    let (upstream, pin, _clone) = series();
    let project = Project::on(&upstream, &pin, "");
    project.write("overlays/up/src/a.c", V1.replace("six", "6"));
    project.write("overlays/up/README.md", "what these are\n");
    project.run(&["import", "overlays/up"]).expect(0);
    assert_eq!(overlays(&project), ["a"]);
    project.run(&["verify"]).expect(0);
}

#[test]
fn a_folder_in_which_nothing_is_left_says_why() {
    let (upstream, pin, _clone) = series();
    let project = Project::on(&upstream, &pin, "");
    project.write("ours/src/a.c", V1);
    let run = project.run(&["import", "ours"]).expect(2);
    assert!(run.stderr.contains("src/a.c was left out: the pin has the same"), "{}", run.stderr);
}

#[test]
fn a_binary_file_and_a_link_of_which_upstream_had_one_version_need_no_person() {
    let mut upstream = Upstream::new();
    write(&upstream.path().join("logo.bin"), [0_u8, 1, 2]);
    symlink("a.c", upstream.path().join("link")).unwrap();
    let pin = upstream.commit("add", &[("a.c", V1)]);
    let project = Project::on(&upstream, &pin, "");
    project.write("ours/logo.bin", [0_u8, 7, 7, 7]);
    symlink("logo.bin", project.path().join("ours/link")).unwrap();
    project.run(&["import", "ours"]).expect(0);
    assert_eq!(project.read("manifests/up.toml").matches(&format!("base = \"{pin}\"")).count(), 2);
    project.run(&["verify"]).expect(0);
}

#[test]
fn a_repository_is_no_folder_of_files() {
    let (upstream, pin, clone) = series();
    let project = Project::on(&upstream, &pin, "");
    let run = project.run(&["import", clone.path().to_str().unwrap()]).expect(2);
    assert!(run.stderr.contains("is a git repository"), "{}", run.stderr);
    assert!(run.stderr.contains("--range PIN..BRANCH"), "{}", run.stderr);
}

#[test]
fn mails_with_a_cover_letter_and_a_readme_beside_them_are_mails() {
    let (upstream, pin, clone) = series();
    let project = Project::on(&upstream, &pin, "");
    mails(clone.path(), &format!("{pin}..ours"), &project.path().join("mails"));
    project.write("mails/README", "what these are\n");
    let run = project.run(&["import", "mails"]).expect(0);
    assert!(
        run.stdout.contains("left out: 0000-cover-letter.patch: it has no change in it"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("left out: README: it is about the folder"), "{}", run.stdout);
    assert!(run.stdout.contains("all 3: stays in the patch only: Date"), "{}", run.stdout);
    assert_tree(&project, clone.path());
    // Something else beside them may be meant.
    project.write("mails/other.c", "x\n");
    project.run(&["import", "mails"]).expect(2);
}

#[test]
fn a_mail_whose_lines_became_crlf_is_read_as_it_was_sent() {
    let mut upstream = Upstream::new();
    let windows = V1.replace('\n', "\r\n");
    let pin = upstream.commit("add", &[("unix.c", V1), ("windows.c", &windows)]);
    let clone = tempfile::tempdir().unwrap();
    git(clone.path(), &["clone", "-q", upstream.path().to_str().unwrap(), "."]);
    git(clone.path(), &["checkout", "-q", "-b", "ours"]);
    write(&clone.path().join("unix.c"), V1.replace("two", "2"));
    commit(clone.path(), "windows.c", &windows.replace("two", "2"), "both");
    let project = Project::on(&upstream, &pin, "");
    for name in mails(clone.path(), &format!("{pin}..ours"), &project.path().join("mails")) {
        let file = project.path().join("mails").join(name);
        let text = std::fs::read_to_string(&file).unwrap();
        write(&file, text.replace("\r\n", "\n").replace('\n', "\r\n"));
    }
    let run = project.run(&["import", "mails"]).expect(0);
    assert!(run.stdout.contains("all its lines ended with CR LF"), "{}", run.stdout);
    assert_tree(&project, clone.path());
}

#[test]
fn a_series_names_every_patch_that_does_not_fit_and_what_gnu_patch_would_do() {
    let (upstream, pin, _clone) = series();
    let project = Project::on(&upstream, &pin, "");
    let patch = |path: &str, hunk: &str| format!("--- a/src/{path}\n+++ b/src/{path}\n{hunk}");
    project.write("p/series", "fuzzy.patch\nwrong.patch\non-it.patch\n");
    project.write("p/fuzzy.patch", patch("a.c", "@@ -4,5 +4,5 @@\n FOUR\n five\n-six\n+6\n seven\n eight\n"));
    project.write("p/wrong.patch", patch("b.c", "@@ -1 +1 @@\n-x\n+y\n"));
    project.write("p/on-it.patch", patch("b.c", "@@ -1 +1 @@\n-y\n+z\n"));
    let run = project.run(&["import", "p"]).expect(2);
    assert!(run.stderr.contains("fuzzy.patch (series line 1) does not apply"), "{}", run.stderr);
    assert!(run.stderr.contains("GNU patch would apply it with fuzz 1"), "{}", run.stderr);
    assert!(run.stderr.contains("wrong.patch (series line 2) does not apply"), "{}", run.stderr);
    assert!(run.stderr.contains("1 after it on the same files were not tried"), "{}", run.stderr);
    assert!(!project.path().join("overlays").exists());
}

#[test]
fn the_same_import_again_says_that_it_was_made() {
    let (upstream, pin, clone) = series();
    let project = Project::on(&upstream, &pin, "");
    let args = ["import", clone.path().to_str().unwrap(), "--range", &format!("{pin}..ours")];
    project.run(&args).expect(0);
    let run = project.run(&args).expect(2);
    assert!(run.stderr.contains("overlay `a-one-is-1` is this patch"), "{}", run.stderr);
}

#[test]
fn a_series_cannot_name_a_patch_with_a_space_and_the_message_says_so() {
    let (upstream, pin, _clone) = series();
    let project = Project::on(&upstream, &pin, "");
    project.write("p/series", "my own.patch\n");
    project.write("p/my own.patch", "--- a/src/b.c\n+++ b/src/b.c\n@@ -1 +1 @@\n-b\n+B\n");
    let run = project.run(&["import", "p"]).expect(2);
    assert!(run.stderr.contains("a name in a series has no spaces"), "{}", run.stderr);
    // A folder of patches needs no series.
    std::fs::remove_file(project.path().join("p/series")).unwrap();
    project.run(&["import", "p"]).expect(0);
    assert_eq!(overlays(&project), ["my-own"]);
}

#[test]
fn a_checkout_shows_renames_and_leaves_out_repositories_in_it() {
    let (upstream, pin, clone) = series();
    let dir = clone.path();
    git(dir, &["checkout", "-q", &pin]);
    std::fs::rename(dir.join("src/a.c"), dir.join("src/moved name.c")).unwrap();
    std::fs::remove_file(dir.join("src/b.c")).unwrap();
    symlink("moved name.c", dir.join("src/b.c")).unwrap();
    git(dir, &["init", "-q", "inner"]);
    write(&dir.join("inner/x"), "x\n");
    let project = Project::on(&upstream, &pin, "");
    let run = project.run(&["import", "--from-tree", dir.to_str().unwrap()]).expect(0);
    assert!(run.stdout.contains("left out: inner/: it is a repository of its own"), "{}", run.stdout);
    assert!(run.stdout.contains(&format!("at {}", &pin[..10])), "{}", run.stdout);
    let name = dir.file_name().unwrap().to_str().unwrap().to_owned();
    let patch = project.read(&format!("overlays/up/{}", Path::new(&name).with_extension("patch").display()));
    assert!(patch.contains("rename from src/a.c\nrename to src/moved name.c\n"), "{patch}");
    project.run(&["apply"]).expect(0);
    assert!(!project.tree().join("src/a.c").exists());
    assert_eq!(std::fs::read_link(project.tree().join("src/b.c")).unwrap(), Path::new("moved name.c"));
    assert_eq!(std::fs::read_to_string(project.tree().join("src/moved name.c")).unwrap(), V1);
}

#[test]
fn a_checkout_that_is_not_at_the_pin_says_what_is_not_in_it() {
    let (upstream, pin, clone) = series();
    write(&clone.path().join("new.c"), "new\n");
    let project = Project::on(&upstream, &pin, "");
    let run = project.run(&["import", "--from-tree", clone.path().to_str().unwrap()]).expect(0);
    let command = run.stdout.split_once("to have that, too: ").unwrap().1;
    project.shell(command.lines().next().unwrap()).expect(0);
    assert_tree(&project, clone.path());
    assert!(project.tree().join("new.c").exists());
}

#[test]
fn a_clean_checkout_of_a_branch_leads_to_its_commits() {
    let (upstream, pin, clone) = series();
    let project = Project::on(&upstream, &pin, "");
    let run = project.run(&["import", "--from-tree", clone.path().to_str().unwrap()]).expect(2);
    let hint = run.stderr.split_once("if the changes are committed: ").unwrap().1;
    project.shell(hint.lines().next().unwrap()).expect(0);
    assert_tree(&project, clone.path());
}

#[test]
fn the_folder_for_what_is_made_is_hidden_from_git_at_once() {
    let (upstream, pin, clone) = series();
    let project = Project::on(&upstream, &pin, "");
    git(project.path(), &["init", "-q"]);
    project.run(&["import", clone.path().to_str().unwrap(), "--range", &format!("{pin}..ours")]).expect(0);
    let shown = git(project.path(), &["status", "--porcelain"]);
    assert!(!shown.contains(".overlaid"), "{shown}");
}

#[test]
fn names_of_overlays_have_no_folders_and_numbers_of_a_list() {
    let (upstream, pin, clone) = series();
    let project = Project::on(&upstream, &pin, "");
    let names = mails(clone.path(), &format!("{pin}..ours"), &project.path().join("third party/up"));
    let entries: String = names[1..]
        .iter()
        .map(|name| format!("  - path: third party/up/{name}\n    module: modules/lib/up\n"))
        .collect();
    project.write("patches.yml", format!("patches:\n{entries}  - path: x.patch\n    module: other\n"));
    // Of several modules it is that of the upstream; west calls it by its path.
    project.run(&["import", "patches.yml"]).expect(0);
    assert_eq!(overlays(&project), ["a-one-is-1", "b-shout", "a-two-is-2-too"]);
    assert!(project.path().join("overlays/up/0001-a-one-is-1.patch").exists());
    let run = project.run(&["import", "patches.yml", "--module", "nothing"]).expect(2);
    assert!(run.stderr.contains("there are: modules/lib/up, other"), "{}", run.stderr);
}

#[test]
fn an_empty_file_and_two_commits_of_one_subject_come_over() {
    let (upstream, pin, clone) = series();
    let dir = clone.path();
    for file in ["empty.py", "other.py"] {
        write(&dir.join(file), "");
        git(dir, &["add", file]);
        commit(dir, "src/b.c", &format!("{file}\n"), "fix the build");
    }
    std::fs::remove_file(dir.join("empty.py")).unwrap();
    commit(dir, "src/b.c", "b\n", "no more");
    let project = Project::on(&upstream, &pin, "");
    project.run(&["import", dir.to_str().unwrap(), "--range", &format!("{pin}..ours")]).expect(0);
    assert_tree(&project, dir);
    assert_eq!(overlays(&project)[3..], ["fix-the-build", "fix-the-build-2", "no-more"]);
    assert!(project.path().join("overlays/up/fix-the-build-2.patch").exists());
    // Not committed: the same.
    write(&dir.join("third.py"), "");
    let project = Project::on(&upstream, &pin, "");
    git(dir, &["checkout", "-qf", &pin]);
    project.run(&["import", "--from-tree", dir.to_str().unwrap()]).expect(0);
    project.run(&["apply"]).expect(0);
    assert_eq!(std::fs::read(project.tree().join("third.py")).unwrap(), b"");
}
