//! Where paths went, several at once: git says which went where.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::random::Random;
use crate::support::{Project, Upstream};

const OLD: [&str; 5] = ["s/a.c", "s/b.c", "x.cu", "y/z.h", "y/a.c"];

fn text(random: &mut Random) -> Vec<String> {
    (0..3 + random.below(30)).map(|_| format!("int v{};\n", random.below(100_000))).collect()
}

/// Another text, more or less like it.
fn like(random: &mut Random, lines: &[String]) -> Vec<String> {
    let percent = random.below(80);
    let mut lines: Vec<String> = lines.to_vec();
    for line in &mut lines {
        if random.percent(percent) {
            *line = format!("int new{};\n", random.below(100_000));
        }
    }
    lines
}

/// What `git diff-tree` says of two commits.
fn by_git(upstream: &Upstream, old: &str, new: &str) -> BTreeMap<String, String> {
    let args = ["diff-tree", "-r", "-M50%", "-l0", "--name-status", "--no-commit-id", old, new];
    let said = upstream.git(&args);
    let moved = said.lines().filter_map(|line| {
        let mut words = line.split('\t');
        words.next()?.strip_prefix('R')?;
        Some((words.next()?.to_owned(), words.next()?.to_owned()))
    });
    moved.collect()
}

/// The overlaid paths that went, and where to.
fn by_us(upstream: &Upstream, old: &str, new: &str, gone: &BTreeSet<&str>) -> BTreeMap<String, String> {
    let table = |(number, path): (usize, &&str)| {
        format!("\n[[overlay]]\nname = \"o{number}\"\nbase = \"{old}\"\nfiles = [\"{path}\"]\n")
    };
    let tables: String = gone.iter().enumerate().map(table).collect();
    let project = Project::on(upstream, new, &tables);
    for path in gone {
        project.write(&format!("overlays/up/{path}"), "int ours;\n");
    }
    let document = project.run(&["status", "--json", "--no-cache"]).expect(0).json();
    let paths = document["overlays"].as_array().unwrap().iter().map(|overlay| &overlay["paths"][0]);
    let moved = paths.filter_map(|path| {
        Some((path["path"].as_str().unwrap().to_owned(), path["to"].as_str()?.to_owned()))
    });
    moved.collect()
}

#[test]
fn paths_go_where_git_says_each_to_its_own_place() {
    let rounds: u64 = std::env::var("RENAMES").map_or(25, |rounds| rounds.parse().unwrap());
    let (mut moved, mut contested) = (0, 0);
    for seed in 0..rounds {
        let mut random = Random::new(seed);
        let mut upstream = Upstream::new();
        let mut before: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for path in OLD {
            if random.percent(60) {
                let one_more = before.values().next().filter(|_| random.percent(25)).cloned();
                let one_more =
                    one_more.map(|lines| if random.percent(50) { lines } else { like(&mut random, &lines) });
                let lines = one_more.unwrap_or_else(|| text(&mut random));
                before.insert(path, lines);
            }
        }
        let mut after: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (path, lines) in &before {
            for _ in 0..random.below(3) {
                let name = path.rsplit('/').next().unwrap();
                let places = ["t/b.c", "w/a.c", "s/a2.c", "n.c", &format!("t/{name}"), &format!("u/{name}")];
                let to = places[random.below(places.len())].to_owned();
                let content = if random.percent(40) { lines.clone() } else { like(&mut random, lines) };
                after.insert(to, content);
            }
        }
        let joined = |lines: &Vec<String>| lines.concat();
        let files: Vec<(&str, String)> = before.iter().map(|(path, lines)| (*path, joined(lines))).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        upstream.commit("start", &[("keep", "1\n")]);
        let old = upstream.commit("before", &files);
        if before.is_empty() {
            continue;
        }
        for path in before.keys() {
            std::fs::remove_file(upstream.path().join(path)).unwrap();
        }
        for (path, lines) in &after {
            crate::support::write(&upstream.path().join(path), joined(lines));
        }
        let new = upstream.commit_all("move");
        let gone: BTreeSet<&str> = before.keys().copied().collect();
        let (git, ours) = (by_git(&upstream, &old, &new), by_us(&upstream, &old, &new, &gone));
        assert_eq!(ours, git, "seed {seed}");
        moved += git.len();
        contested += usize::from(git.len() < gone.len() && !git.is_empty());
    }
    assert!(moved > rounds as usize && contested > 3, "the histories move too little: {moved}, {contested}");
}

#[test]
fn two_paths_of_one_content_move_to_two_places() {
    let mut upstream = Upstream::new();
    let same: String = (0..20).map(|n| format!("int line{n};\n")).collect();
    let old = upstream.commit("start", &[("a/k.cu", &same), ("b/k.cu", &same)]);
    upstream.git(&["mv", "a/k.cu", "one.cu"]);
    upstream.git(&["mv", "b/k.cu", "two.cu"]);
    let new = upstream.commit_all("move");
    let table = |name: &str| {
        format!("\n[[overlay]]\nname = \"{name}\"\nbase = \"{old}\"\nfiles = [\"{name}/k.cu\"]\n")
    };
    let project = Project::on(&upstream, &old, &(table("a") + &table("b")));
    for name in ["a", "b"] {
        project.write(&format!("overlays/up/{name}/k.cu"), same.replace("line3", name));
    }
    project.run(&["bump", "--to", &new]).expect(0);
    assert_eq!(project.read("overlays/up/one.cu"), same.replace("line3", "a"));
    assert_eq!(project.read("overlays/up/two.cu"), same.replace("line3", "b"));
}
