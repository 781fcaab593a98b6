//! Histories by seed. `git merge-file` judges the merges of `bump`; a plan for each commit judges `--scan`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{files, outcome};
use crate::support::random::Random;
use crate::support::{Project, Upstream, command, write};

const FILES: usize = 6;

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// Changes, adds or removes a few lines.
fn edit(random: &mut Random, text: &str) -> String {
    let mut lines = lines(text);
    for _ in 0..random.below(2) + 1 {
        let at = random.below(lines.len().max(1)).min(lines.len().saturating_sub(1));
        match random.below(4) {
            0 => lines.insert(at, format!("int n{} = {};", random.below(9), random.below(9))),
            1 if lines.len() > 4 => drop(lines.remove(at)),
            2 => lines.insert(at, format!("// note {}", random.below(5))),
            _ => lines[at] = format!("int x = {};", random.below(6)),
        }
    }
    lines.join("\n") + "\n"
}

struct History {
    upstream: Upstream,
    commits: Vec<String>,
    /// The files at each commit; one that is not there is gone.
    contents: Vec<BTreeMap<String, String>>,
}

fn history(random: &mut Random, commits: usize) -> History {
    let mut upstream = Upstream::new();
    let start = (0..60).map(|n| format!("int v{n} = {n};\n")).collect::<String>();
    let mut now: BTreeMap<String, String> = (0..FILES).map(|n| (format!("f{n}.c"), start.clone())).collect();
    let mut history = History { upstream: Upstream::new(), commits: Vec::new(), contents: Vec::new() };
    for number in 0..commits {
        if number > 0 {
            for _ in 0..random.below(3) + 1 {
                let name = format!("f{}.c", random.below(FILES));
                match now.get(&name).cloned() {
                    Some(_) if random.below(40) == 0 => drop(now.remove(&name)),
                    Some(text) => drop(now.insert(name, edit(random, &text))),
                    None => drop(now.insert(name, start.clone())),
                }
            }
        }
        for n in 0..FILES {
            let path = upstream.path().join(format!("f{n}.c"));
            match now.get(&format!("f{n}.c")) {
                Some(text) => write(&path, text),
                None => drop(std::fs::remove_file(path)),
            }
        }
        history.commits.push(upstream.commit_all(&format!("commit {number}")));
        history.contents.push(now.clone());
    }
    history.upstream = upstream;
    history
}

/// Overlays of whole files and patches, derived from some commit.
fn project(random: &mut Random, history: &History, pin: usize) -> (Project, Vec<(String, String, usize)>) {
    let mut manifest = String::new();
    let mut whole = Vec::new();
    let mut own = Vec::new();
    for n in 0..FILES {
        let name = format!("f{n}.c");
        let base = if random.below(3) == 0 { random.below(pin + 1) } else { pin };
        let Some(text) = history.contents[base].get(&name) else { continue };
        // Sometimes what upstream has later, or nothing but a comment.
        let ours = match random.below(6) {
            0 => format!("// ours\n{text}"),
            1 => history.contents.last().unwrap().get(&name).unwrap_or(text).clone(),
            _ => edit(random, text),
        };
        if ours == *text {
            continue;
        }
        manifest.push_str(&files(&format!("o{n}"), &history.commits[base], &[&name]));
        own.push((name.clone(), ours));
        whole.push((format!("o{n}"), name, base));
    }
    let project = Project::on(&history.upstream, &history.commits[pin], &manifest);
    for (name, ours) in own {
        project.write(&format!("overlays/up/{name}"), ours);
    }
    (project, whole)
}

/// What `git merge-file` makes of three texts, and whether it is clean.
fn git_merge(ours: &str, base: &str, theirs: &str) -> (Vec<u8>, bool) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("ours", ours), ("base", base), ("theirs", theirs)] {
        write(&folder.path().join(name), text);
    }
    let mut git = command("git");
    git.current_dir(folder.path()).args(["merge-file", "-p", "-q", "ours", "base", "theirs"]);
    let output = git.output().unwrap();
    (output.stdout, output.status.success())
}

pub(super) fn cases(default: u64) -> u64 {
    std::env::var("OVERLAID_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(default)
}

#[test]
fn what_is_written_is_what_git_merges() {
    let mut merged = 0;
    for seed in 0..cases(12) {
        let mut random = Random::new(seed);
        let history = history(&mut random, 6);
        let (pin, to) = (2, 5);
        let (project, whole) = project(&mut random, &history, pin);
        let before: Vec<String> =
            whole.iter().map(|(_, path, _)| project.read(&format!("overlays/up/{path}"))).collect();
        let run = project.run(&["--json", "bump", "--to", &history.commits[to]]);
        assert!(matches!(run.code, 0 | 3), "seed {seed}: {run:?}");
        let document = run.json();
        for ((overlay, path, base), ours) in whole.iter().zip(before) {
            let word = outcome(&document, overlay)["outcome"].as_str().unwrap().to_owned();
            let Some(theirs) = history.contents[to].get(path) else {
                assert!(matches!(word.as_str(), "gone" | "renamed"), "seed {seed} {overlay}: {word}");
                continue;
            };
            let (expected, is_clean) = git_merge(&ours, &history.contents[*base][path], theirs);
            match word.as_str() {
                "conflicts" => assert!(!is_clean, "seed {seed} {overlay}"),
                "untouched" => assert_eq!(&history.contents[*base][path], theirs, "seed {seed} {overlay}"),
                "merges" | "absorbed" => assert!(is_clean, "seed {seed} {overlay}"),
                "redundant" | "kept" => {}
                other => panic!("seed {seed} {overlay}: {other}"),
            }
            let now = project.read(&format!("overlays/up/{path}"));
            if run.code == 0 && is_clean && word != "kept" {
                assert_eq!(now.as_bytes(), expected, "seed {seed} {overlay}");
                merged += 1;
            } else if run.code == 3 {
                assert_eq!(now, ours, "seed {seed} {overlay}: nothing is written before all fits");
            }
        }
    }
    assert!(merged > 5, "the cases hardly merge anything: {merged}");
}

/// The outcomes of a plan's paths, and whether it goes by itself.
fn of_plan(document: &Value) -> BTreeMap<String, Vec<String>> {
    let overlays = document["overlays"].as_array().unwrap().iter();
    overlays
        .map(|overlay| {
            let name = overlay["name"].as_str().unwrap().to_owned();
            let mut words: Vec<String> = vec![overlay["outcome"].as_str().unwrap().to_owned()];
            words.extend(
                overlay["paths"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|path| path["outcome"].as_str().unwrap().to_owned()),
            );
            (name, words)
        })
        .collect()
}

#[test]
fn a_scan_says_what_a_plan_for_each_commit_says() {
    for seed in 100..100 + cases(4) {
        let mut random = Random::new(seed);
        let history = history(&mut random, 14);
        let (project, _) = project(&mut random, &history, 1);
        let last = history.commits.last().unwrap();
        let run = project.run(&["--json", "bump", "--scan", "--to", last]);
        assert!(matches!(run.code, 0 | 3), "seed {seed}: {run:?}");
        let scan = run.json();
        let mut newest = Value::Null;
        let mut first: BTreeMap<(String, String), String> = BTreeMap::new();
        for commit in &history.commits[2..] {
            let plan = project.run(&["--json", "bump", "--dry-run", "--to", commit]).json();
            let outcomes = of_plan(&plan);
            let moves = outcomes.values().flatten().any(|word| word == "renamed");
            if plan["needs-person"] == false && !moves {
                newest = commit.as_str().into();
            }
            for (overlay, words) in outcomes {
                for word in words {
                    first.entry((overlay.clone(), word)).or_insert_with(|| commit.clone());
                }
            }
        }
        assert_eq!(scan["newest-clean"], newest, "seed {seed}");
        for overlay in scan["overlays"].as_array().unwrap() {
            let name = overlay["name"].as_str().unwrap();
            for (word, found) in overlay["first"].as_object().unwrap() {
                let expected = first.get(&(name.to_owned(), word.clone()));
                assert_eq!(
                    expected.map(String::as_str),
                    found["commit"].as_str(),
                    "seed {seed} {name} {word}"
                );
            }
        }
        for ((name, word), commit) in &first {
            let found = &outcome(&scan, name)["first"][word];
            assert_eq!(found["commit"], commit.as_str(), "seed {seed} {name} {word}");
        }
    }
}
