//! `bisect`, and `test --exit-code bisect`, against `git bisect run`.

use std::path::Path;

use crate::planted::{Kind, Scene, Situation, case_file};
use crate::support::random::Random;
use crate::support::{Project, command, git};

/// An upstream whose commits do this with the case `hero`, one after the other; `-`: the commit does not touch it,
/// `broken`: it does not build. The overlay mends `from`.
fn line(from: &str, does: &[&str]) -> (Situation, Vec<String>) {
    let mut scene = Scene::new(&[("hero", from), ("other", "good")], &[("feature.sh", "x\n")]);
    let base = scene.upstream().git(&["rev-parse", "HEAD"]);
    let mut commits = vec![base];
    for (index, what) in does.iter().enumerate() {
        let index = index.to_string();
        let file = case_file("hero", what);
        let number = ("elsewhere", index.as_str());
        commits.push(match *what {
            "-" => scene.commit(&[number]),
            "broken" => {
                scene.upstream().git(&["rm", "-q", "--ignore-unmatch", "feature.sh"]);
                scene.commit(&[number])
            }
            _ => scene.commit(&[number, ("feature.sh", "x\n"), ("cases/hero", file.as_str())]),
        });
    }
    scene.tests = scene.tests.replace("target = \"check\"", "target = \"feature\"");
    scene.change("fix", Kind::Files, "hero", from, "good");
    let pin = commits[commits.len() - 1].clone();
    (scene.done(String::new(), &pin, &[]), commits)
}

fn answer(project: &Project, args: &[&str], code: i32) -> serde_json::Value {
    let args: Vec<&str> = ["bisect", "fix", "--json"].into_iter().chain(args.iter().copied()).collect();
    project.run(&args).expect(code).json()
}

fn possible(document: &serde_json::Value) -> Vec<String> {
    let list = document["possible"].as_array().unwrap().iter();
    list.map(|commit| commit["commit"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_commit_that_made_it_unneeded_is_found_and_the_search_is_on_record() {
    let (situation, commits) = line("wrong", &["-", "-", "-", "good", "-", "-"]);
    let project = &situation.project;
    let document = answer(project, &[], 0);
    assert_eq!(document["schema"], "overlaid.bisect.v1");
    assert_eq!((&document["answer"], possible(&document)), (&"found".into(), vec![commits[4].clone()]));
    assert!(document["tried"].as_array().unwrap().len() <= 4, "{document}");
    assert_eq!(document["cases"][0]["case"], r#"{"n":"hero"}"#);
    // One folder for all commits.
    let sites: Vec<_> = std::fs::read_dir(project.path().join(".overlaid/lab/up"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.len() == 40)
        .collect();
    assert_eq!(sites, [commits[0].clone()]);
    let again = project.run(&["bisect", "fix"]).expect(0);
    assert!(!again.stderr.contains("run  "), "{}", again.stderr);
    assert!(
        again.stdout.contains("no longer needed from") && again.stdout.contains("go on"),
        "{}",
        again.stdout
    );
}

#[test]
fn what_a_search_found_stands_in_the_report_and_on_the_page_as_long_as_it_holds() {
    let (situation, commits) = line("wrong", &["-", "-", "good", "-"]);
    let project = &situation.project;
    let run = project.run(&["bisect", "fix"]).expect(0);
    assert!(run.stderr.contains("noted in docs/upstream/bisected/up/fix.unneeded.json"), "{}", run.stderr);
    project.run(&["prove"]).expect(1);
    project.run(&["report", "fix"]).expect(0);
    let report = project.read("docs/upstream/fix.md");
    let start = format!("- bisect: no longer needed from {} go on on (searched 5 commits", &commits[3][..10]);
    let found =
        report.lines().find(|found| found.starts_with(&start)).unwrap_or_else(|| panic!("{start}\n{report}"));
    assert!(found.contains("[measured on CPU "), "{found}");
    project.run(&["report", "--check"]).expect(0);
    let page = |project: &Project| project.run(&["report", "--html", "-"]).expect(0).stdout;
    let shown = page(project);
    assert!(shown.contains("Searched in upstream") && shown.contains("measured on CPU "), "{shown}");
    // Another name takes it along.
    project.run(&["rename", "fix", "mend"]).expect(0);
    assert!(page(project).contains("Searched in upstream"));
    assert!(project.read("docs/upstream/bisected/up/mend.unneeded.json").contains("\"mend\""));
    project.run(&["rename", "mend", "fix"]).expect(0);
    // An edit of the overlay makes it a thing of the past.
    project.write("overlays/up/cases/hero", case_file("hero", "good") + "# more\n");
    assert!(!page(project).contains("Searched in upstream"));
    project.write("overlays/up/cases/hero", case_file("hero", "good"));
    std::fs::remove_dir_all(project.path().join("docs/upstream/bisected")).unwrap();
    let check = project.run(&["report", "--check"]).expect(1);
    assert!(check.stdout.contains("outdated"), "{}", check.stdout);
}

#[test]
fn what_does_not_build_is_passed_over() {
    let (situation, commits) = line("wrong", &["-", "broken", "broken", "good", "-"]);
    let document = answer(&situation.project, &[], 4);
    assert_eq!((&document["answer"], possible(&document)), (&"range".into(), commits[2..=4].to_vec()));
}

#[test]
fn one_that_is_still_needed_says_so() {
    let (situation, _) = line("wrong", &["-", "-"]);
    let document = answer(&situation.project, &[], 1);
    assert_eq!(document["answer"], "still-needed");
    let note = situation.project.read("docs/upstream/bisected/up/fix.unneeded.json");
    assert!(note.contains("\"found\": \"still-needed\""), "{note}");
}

#[test]
fn tests_that_do_not_see_the_fault_find_nothing() {
    let (situation, _) = line("good", &["-", "-"]);
    let document = answer(&situation.project, &[], 4);
    assert_eq!(document["answer"], "not-seen");
}

#[test]
fn the_commit_that_brought_the_fault_is_found_from_the_base_back() {
    let (mut situation, commits) = line("good", &["-", "-", "wrong", "-", "-", "good"]);
    let manifest = situation.project.read("manifests/up.toml");
    let manifest =
        manifest.replace(&format!("base = \"{}\"", commits[0]), &format!("base = \"{}\"", commits[5]));
    situation.project.write("manifests/up.toml", manifest);
    situation.project.set("UNUSED", Path::new("").to_owned());
    let document = answer(&situation.project, &["--introduced"], 0);
    assert_eq!((&document["answer"], possible(&document)), (&"found".into(), vec![commits[3].clone()]));
}

/// What `git bisect run` comes to in a clone: the first bad commits that are possible. Its terms are turned around:
/// "bad" is where the fault is gone.
fn by_git(situation: &Situation, commits: &[String]) -> Vec<String> {
    let clone = tempfile::tempdir().unwrap();
    let from = situation.upstream.path().display().to_string();
    git(clone.path(), &["clone", "-q", &from, "c"]);
    let clone = clone.path().join("c");
    git(&clone, &["bisect", "start", "--term-old=faulty", "--term-new=mended"]);
    git(&clone, &["bisect", "mended", &commits[commits.len() - 1]]);
    git(&clone, &["bisect", "faulty", &commits[0]]);
    let program = env!("CARGO_BIN_EXE_overlaid");
    let root = situation.project.path().display();
    let state = situation.project.path().join("state");
    // 0 is where all pass: the new term.
    let script = format!(
        "{program} -C {root} test check --exit-code bisect --at \"$(git rev-parse HEAD)\"; s=$?; \
         case $s in 0) exit 1;; 1) exit 0;; *) exit $s;; esac"
    );
    let output = command("git")
        .current_dir(&clone)
        .env("STATE", state)
        .env("XDG_CACHE_HOME", situation.project.path().join("cache"))
        .args(["bisect", "run", "sh", "-c", &script])
        .output()
        .unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let mut found: Vec<String> = commits
        .iter()
        .filter(|commit| {
            text.lines().any(|line| {
                line.trim() == commit.as_str() || line == format!("{commit} is the first mended commit")
            })
        })
        .cloned()
        .collect();
    found.dedup();
    assert!(!found.is_empty(), "{text}");
    found
}

#[test]
fn it_finds_what_git_bisect_run_finds() {
    let mut dice = Random::new(11);
    for _ in 0..4 {
        let count = 3 + dice.below(6);
        let mended = 1 + dice.below(count);
        let does: Vec<&str> = (0..count)
            .map(|place| match place + 1 {
                place if place == mended => "good",
                place if place < mended && dice.below(4) == 0 => "broken",
                _ => "-",
            })
            .collect();
        let (situation, commits) = line("wrong", &does);
        let document = situation.project.run(&["bisect", "fix", "--json"]).json();
        let expected = by_git(&situation, &commits);
        assert_eq!(possible(&document), expected, "{does:?}");
    }
}
