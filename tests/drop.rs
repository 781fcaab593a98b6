//! `drop`: only with a proof, all or nothing, and a record of it.

use crate::planted::{Kind, Scene, Situation, Truth};
use crate::support::{Project, git};

/// An overlay `fix` that breaks what works, and one `other` that mends a fault.
fn harmful(more: &str) -> Situation {
    let mut scene = Scene::new(&[("hero", "good"), ("faulty", "wrong")], &[("unread", "1\n")]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.change("fix", Kind::Files, "hero", "good", "wrong");
    scene.change("other", Kind::Patch, "faulty", "wrong", "good");
    scene.tests.push_str(more);
    scene.done(String::new(), &pin, &[("fix", Truth::Is("harmful"))])
}

/// All files of ours but those that are made.
pub(crate) fn files(project: &Project) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<(String, Vec<u8>)> = Vec::new();
    let mut open = vec![project.path().to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.strip_prefix(project.path()).unwrap().display().to_string();
            if [".overlaid", "cache", "home", ".git", "state"].contains(&name.as_str()) {
                continue;
            }
            match entry.is_dir() {
                true => open.push(entry),
                false => found.push((name, std::fs::read(&entry).unwrap())),
            }
        }
    }
    found.sort();
    found
}

pub(crate) fn commit(project: &Project) {
    git(project.path(), &["init", "-q", "-b", "main"]);
    git(project.path(), &["config", "user.name", "Ada L"]);
    git(project.path(), &["add", "manifests", "overlays", "tests", "docs"]);
    git(project.path(), &["commit", "-q", "-m", "all"]);
}

#[test]
fn a_tree_that_something_else_filled_is_put_right_where_it_is() {
    let situation = harmful("");
    let project = &situation.project;
    let vendored = project.path().join("vendored");
    git(project.path(), &["clone", "-q", situation.upstream.path().to_str().unwrap(), "vendored"]);
    std::fs::remove_dir_all(vendored.join(".git")).unwrap();
    project.run(&["apply", "--tree", "vendored"]).expect(0);
    let hero = || std::fs::read_to_string(vendored.join("cases/hero")).unwrap();
    assert!(hero().contains("wrong"));
    let args = ["drop", "fix", "--force", "--reason", "not wanted", "--by", "Ada", "--tree"];
    let elsewhere = project.run(&[&args[..], &["nowhere"]].concat()).expect(2);
    assert!(elsewhere.stderr.contains("`nowhere` is no folder"), "{}", elsewhere.stderr);
    assert!(project.read("manifests/up.toml").contains("\"fix\""));
    // An edit there stands in the way, and nothing has changed then.
    std::fs::write(vendored.join("cases/hero"), "an edit\n").unwrap();
    let run = project.run(&[&args[..], &["vendored"]].concat()).expect(3);
    assert!(run.stderr.contains("overlaid apply --tree vendored --force"), "{}", run.stderr);
    assert!(project.read("manifests/up.toml").contains("\"fix\""));
    assert!(project.path().join("overlays/up/cases/hero").exists());
    std::fs::write(vendored.join("cases/hero"), project.read("overlays/up/cases/hero")).unwrap();
    project.run(&[&args[..], &["vendored"]].concat()).expect(0);
    assert!(hero().contains("good"), "{}", hero());
    // No tree was made where nobody asked for one.
    assert!(!project.tree().exists());
    project.run(&["verify", "--tree", "vendored"]).expect(0);
}

#[test]
fn a_proven_overlay_goes_with_its_files_and_a_record() {
    let situation = harmful("");
    let project = &situation.project;
    project.run(&["prove"]).expect(1);
    project.run(&["report", "fix"]).expect(0);
    project.run(&["apply"]).expect(0);
    commit(project);
    let head = git(project.path(), &["rev-parse", "HEAD"]);
    let run = project.run(&["drop", "fix"]).expect(0);
    assert!(
        run.stdout.contains("harmful") && run.stdout.contains("overlays/up/cases/hero"),
        "{}",
        run.stdout
    );

    let manifest = project.read("manifests/up.toml");
    assert!(!manifest.contains("\"fix\"") && manifest.contains("\"other\""), "{manifest}");
    assert!(!project.path().join("overlays/up/cases/hero").exists());
    assert!(project.path().join("overlays/up/other.patch").exists());
    let tree = std::fs::read_to_string(project.tree().join("cases/hero")).unwrap();
    assert!(tree.contains("good"), "{tree}");
    let record = project.read("docs/upstream/retired/fix.toml");
    for part in ["by = \"Ada L\"", "verdict = \"harmful\"", &head, "[[overlay]]", "check.default."] {
        assert!(record.contains(part), "{part} is missing:\n{record}");
    }
    let report = project.read("docs/upstream/fix.md");
    assert!(report.contains("Status: retired") && report.contains("retired/fix.toml"), "{report}");
    project.run(&["report", "--check"]).expect(0);
    project.run(&["apply", "--dry-run"]).expect(0);
    project.run(&["verify"]).expect(0);
    project.run(&["drop", "fix"]).expect(2);

    // What was said of bringing it back holds.
    git(project.path(), &["add", "-A", "manifests", "overlays", "docs"]);
    git(project.path(), &["commit", "-q", "-m", "drop fix"]);
    git(project.path(), &["revert", "--no-edit", "HEAD"]);
    assert!(project.read("manifests/up.toml").contains("\"fix\""));
    assert!(project.path().join("overlays/up/cases/hero").exists());

    // A retired report is still looked at.
    git(project.path(), &["revert", "--no-edit", "HEAD"]);
    project.write("docs/upstream/fix.md", project.read("docs/upstream/fix.md").replace("| 1 |", "| 2 |"));
    let run = project.run(&["report", "--check"]).expect(1);
    assert!(run.stdout.contains("generated-edited"), "{}", run.stdout);
}

#[test]
fn without_a_proof_nothing_goes_but_by_force_with_a_reason() {
    let situation = harmful("");
    let project = &situation.project;
    let before = files(project);
    let run = project.run(&["drop", "fix", "--by", "Ada"]).expect(1);
    assert!(run.stderr.contains("overlaid prove fix"), "{run:?}");
    assert_eq!(files(project), before);
    project.run(&["prove"]).expect(1);
    // Needed: no.
    let before = files(project);
    project.run(&["drop", "other", "--by", "Ada"]).expect(1);
    // Proven, and stale by now: no.
    project.write("tests/check/check.sh", project.read("tests/check/check.sh") + "# more\n");
    project.run(&["drop", "fix", "--by", "Ada"]).expect(1);
    project.run(&["drop", "other", "--force", "--by", "Ada"]).expect(2);
    assert_eq!(files(project).len(), before.len());
    let run = project.run(&["drop", "other", "--force", "--reason", "we stop here", "--by", "Ada"]).expect(0);
    assert!(run.stdout.contains("without the proof: we stop here"), "{}", run.stdout);
    let record = project.read("docs/upstream/retired/other.toml");
    assert!(record.contains("forced = \"we stop here\""), "{record}");
}

#[test]
fn who_decides_must_be_known() {
    let situation = harmful("");
    let project = &situation.project;
    project.run(&["prove"]).expect(1);
    let run = project.run(&["drop", "fix"]).expect(2);
    assert!(run.stderr.contains("--by NAME"), "{}", run.stderr);
}

#[test]
fn a_dry_run_changes_nothing() {
    let situation = harmful("");
    let project = &situation.project;
    project.run(&["prove"]).expect(1);
    let before = files(project);
    let run = project.run(&["drop", "fix", "--dry-run", "--by", "Ada"]).expect(0);
    assert!(
        run.stdout.contains("would be removed") && run.stdout.contains("overlays/up/cases/hero"),
        "{}",
        run.stdout
    );
    assert_eq!(files(project), before);
}

#[test]
fn the_dry_run_of_the_documentation_names_what_is_missing_and_what_would_go() {
    let line = include_str!("../docs/daily.md").lines().find(|line| line.contains("overlaid drop "));
    let line = line.unwrap().trim().replace("rms-norm-held-back", "fix");
    let situation = harmful("");
    let project = &situation.project;
    let before = files(project);
    let run = project.shell(&line).expect(1);
    assert!(run.stderr.contains("overlaid prove fix"), "{run:?}");
    assert_eq!(files(project), before);
    // In the same environment: evidence of another counts for nothing.
    project.shell("overlaid prove").expect(1);
    let before = files(project);
    let run = project.shell(&line).expect(0);
    for said in ["would be removed, as Ada L. decides", "overlays/up/cases/hero", "the record: "] {
        assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
    }
    assert_eq!(files(project), before);
}

#[test]
fn a_drop_that_the_tree_refuses_leaves_everything_as_it_was() {
    let situation = harmful("");
    let project = &situation.project;
    project.run(&["prove"]).expect(1);
    project.run(&["apply"]).expect(0);
    std::fs::write(project.tree().join("cases/hero"), "edited by hand\n").unwrap();
    let before = files(project);
    project.run(&["drop", "fix", "--by", "Ada"]).expect(3);
    assert_eq!(files(project), before);
    assert_eq!(std::fs::read_to_string(project.tree().join("cases/hero")).unwrap(), "edited by hand\n");
}

#[test]
fn every_profile_that_turns_it_on_must_be_proven() {
    let situation = harmful("\n[profile.one]\n[profile.two]\n");
    let project = &situation.project;
    project.run(&["--profile", "one", "prove", "fix"]);
    let run = project.run(&["--profile", "one", "drop", "fix", "--by", "Ada"]).expect(1);
    assert!(
        run.stdout.contains("profile `two`") && run.stderr.contains("--profile two prove fix"),
        "{run:?}"
    );
    project.run(&["--profile", "two", "prove", "fix"]);
    // Which profile is chosen says which tree is put right, not what has to be proven.
    project.run(&["--profile", "one", "apply"]).expect(0);
    project.run(&["--profile", "one", "drop", "fix", "--by", "Ada"]).expect(0);
}

#[test]
fn overlays_that_need_it_stand_in_the_way_and_shared_files_stay() {
    let situation = harmful("");
    let project = &situation.project;
    project.run(&["prove"]).expect(1);
    let manifest = project.read("manifests/up.toml");
    let needing = manifest.replace("name = \"other\"", "name = \"other\"\nneeds = [\"fix\"]");
    project.write("manifests/up.toml", &needing);
    let run = project.run(&["drop", "fix", "--by", "Ada"]).expect(3);
    assert!(run.stderr.contains("is needed by: other"), "{}", run.stderr);

    project.write("manifests/up.toml", &manifest);
    project.run(&["drop", "fix", "--by", "Ada"]).expect(0);
    assert!(project.path().join("overlays/up/other.patch").exists());
}
