//! History of paths over generated histories: merges, criss-cross, evil merges, reverts, mode changes, symbolic
//! links, submodules, files that become folders, several roots, clocks that are wrong.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use overlaid::id::{BlobId, CommitId, UpstreamPath};
use overlaid::io::store::Store;
use overlaid::tree::{Entry, Mode};
use overlaid::upstream::Upstream;

use super::git::{Dice, Scratch, commit, git, git_input, path};

/// A generated history: commits with their parents, oldest first.
pub struct Generated {
    pub commits: Vec<CommitId>,
    pub parents: Vec<Vec<usize>>,
}

const PATHS: [&str; 9] = ["a", "a/b", "a/b/c", "d/x", "d/y", "d/e/z", "d/e", "m", "n o"];

type Tree = BTreeMap<&'static str, (&'static str, usize)>;

/// Puts a file into a tree; whatever is in its way goes.
fn put(tree: &mut Tree, name: &'static str, value: (&'static str, usize)) {
    tree.retain(|other, _| {
        !other.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'))
            && !name.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'))
    });
    tree.insert(name, value);
}

pub fn generate(dir: &Path, seed: u64) -> Generated {
    let mut dice = Dice::new(seed);
    let count = 4 + dice.roll(26);
    let mut trees: Vec<Tree> = Vec::new();
    let mut parents: Vec<Vec<usize>> = Vec::new();
    let mut stream = String::new();
    for number in 0..count {
        let mut mine = Vec::new();
        let wanted = match dice.roll(10) {
            _ if number == 0 => 0,
            0 if number > 3 => 0,
            0..6 => 1,
            6..9 => 2,
            _ => 3,
        };
        while mine.len() < wanted.min(number) {
            let back = 1 + dice.roll(6.min(number));
            if !mine.contains(&(number - back)) {
                mine.push(number - back);
            } else if number <= 6 || dice.one_in(3) {
                break;
            }
        }
        let mut tree = mine.first().map(|&first| trees[first].clone()).unwrap_or_default();
        for &other in mine.iter().skip(1) {
            for (name, value) in trees[other].clone() {
                if dice.one_in(2) {
                    put(&mut tree, name, value);
                }
            }
        }
        let edits = if mine.len() > 1 { usize::from(dice.one_in(4)) } else { dice.roll(4) };
        for _ in 0..edits {
            let name = *dice.pick(&PATHS);
            if dice.one_in(4) {
                tree.remove(name);
            } else {
                let mode = *dice.pick(&["100644", "100644", "100644", "100755", "120000", "160000"]);
                put(&mut tree, name, (mode, dice.roll(4)));
            }
        }
        let date =
            if seed.is_multiple_of(3) { 1_700_000_000 + dice.roll(50) } else { 1_700_000_000 + number };
        stream += &format!("commit refs/heads/c{number}\nmark :{}\n", number + 1);
        stream += &format!("committer C <c@example.com> {date} +0000\ndata 2\n{}\n", number % 10);
        for (index, parent) in mine.iter().enumerate() {
            stream += &format!("{} :{}\n", if index == 0 { "from" } else { "merge" }, parent + 1);
        }
        stream += "deleteall\n";
        for (name, (mode, content)) in &tree {
            let name = if name.contains(' ') { format!("\"{name}\"") } else { (*name).to_owned() };
            if *mode == "160000" {
                stream += &format!("M {mode} {content:040} {name}\n");
            } else {
                stream += &format!("M {mode} inline {name}\ndata 2\n{content}\n\n");
            }
        }
        stream += "\n";
        trees.push(tree);
        parents.push(mine);
    }
    git(dir, &["init", "--quiet", "--bare"]);
    git_input(dir, &["fast-import", "--quiet", "--export-marks=marks"], stream.as_bytes());
    let marks = std::fs::read_to_string(dir.join("marks")).unwrap();
    let ids: HashMap<usize, CommitId> = marks
        .lines()
        .map(|line| {
            let (mark, id) = line[1..].split_once(' ').unwrap();
            (mark.parse::<usize>().unwrap() - 1, commit(id))
        })
        .collect();
    // The commit-graph has all commits, those of some branch, or none.
    match seed % 4 {
        0 => _ = git(dir, &["commit-graph", "write", "--reachable"]),
        1 => {
            let some = ids[&dice.roll(count)].to_string();
            git_input(dir, &["commit-graph", "write", "--stdin-commits"], some.as_bytes());
        }
        2 => {
            let some = ids[&dice.roll(count)].to_string();
            git_input(dir, &["commit-graph", "write", "--stdin-commits", "--split"], some.as_bytes());
            git(dir, &["commit-graph", "write", "--reachable", "--split=no-merge"]);
        }
        _ => {}
    }
    Generated { commits: (0..count).map(|number| ids[&number]).collect(), parents }
}

type Touches = BTreeMap<(CommitId, UpstreamPath), (Vec<Option<Entry>>, Option<Entry>)>;

/// What `git log -c --full-history --raw` says, with the commits in its order.
pub fn by_git(dir: &Path, tip: CommitId, exclude: Option<CommitId>, paths: &[UpstreamPath]) -> Touches {
    let mut args: Vec<String> =
        "--literal-pathspecs log --full-history -c --raw --no-renames --no-abbrev --format=%H"
            .split(' ')
            .map(str::to_owned)
            .collect();
    args.push(tip.to_string());
    args.extend(exclude.map(|exclude| format!("^{exclude}")));
    args.push("--".to_owned());
    args.extend(paths.iter().map(ToString::to_string));
    let mut touches = Touches::new();
    let mut current = None;
    for line in git(dir, &args).lines().filter(|line| !line.is_empty()) {
        if !line.starts_with(':') {
            current = Some(commit(line));
            continue;
        }
        let (head, name) = line.split_once('\t').unwrap();
        let parents = head.len() - head.trim_start_matches(':').len();
        let fields: Vec<&str> = head[parents..].split(' ').collect();
        let entry = |index: usize| {
            let id = BlobId::parse(fields[index + parents + 1]).unwrap();
            Mode::from_octal(fields[index].as_bytes()).map(|mode| Entry { mode, id })
        };
        let name = path(name);
        // A path that became a folder: git reports what is below it, too.
        if paths.contains(&name) {
            touches.insert((current.unwrap(), name), ((0..parents).map(entry).collect(), entry(parents)));
        }
    }
    touches
}

#[test]
fn history_is_what_git_log_says() {
    let scratch = Scratch::new();
    let mut seen = 0;
    let mut merges = 0;
    for seed in 0..240 {
        let dir = scratch.join(&seed.to_string());
        std::fs::create_dir(&dir).unwrap();
        let generated = generate(&dir, seed);
        let mut dice = Dice::new(seed + 1000);
        let store = Store::at(&dir).unwrap();
        for round in 0..2 {
            let tip = generated.commits[generated.commits.len() - 1 - round];
            let exclude = (round > 0 || dice.one_in(2)).then(|| *dice.pick(&generated.commits));
            let paths: Vec<_> = PATHS.iter().filter(|_| dice.roll(4) > 0).map(|name| path(name)).collect();
            let ours = store.history(tip, exclude, &paths).unwrap();
            let mut theirs = by_git(&dir, tip, exclude, &paths);
            if paths.is_empty() {
                theirs.clear();
            }
            for touch in &ours {
                let key = (touch.commit, touch.path.clone());
                let number = generated.commits.iter().position(|id| *id == touch.commit).unwrap();
                let mut expected = theirs.remove(&key);
                if let (Some((before, _)), 0) = (&mut expected, generated.parents[number].len()) {
                    before.clear();
                }
                merges += usize::from(touch.before.len() > 1);
                let ours = (touch.before.clone(), touch.after);
                assert_eq!(Some(ours), expected, "seed {seed}, {tip} ^{exclude:?}, {key:?}");
            }
            assert!(theirs.is_empty(), "seed {seed}, {tip} ^{exclude:?}: not found: {theirs:?}");
            assert_order(&generated, &ours.iter().map(|touch| touch.commit).collect::<Vec<_>>());
            seen += ours.len();
        }
    }
    assert!(
        seen > 3000 && merges > 100,
        "the generator makes too little: {seen} touches, {merges} by merges"
    );
}

/// Each commit once, in a row, and before its ancestors.
fn assert_order(generated: &Generated, commits: &[CommitId]) {
    let mut rows = commits.to_vec();
    rows.dedup();
    assert_eq!(rows.iter().collect::<BTreeSet<_>>().len(), rows.len(), "a commit comes in two places");
    let ancestors = super::ancestry::ancestors(&generated.parents);
    let number = |id: &CommitId| generated.commits.iter().position(|other| other == id).unwrap();
    for (index, earlier) in rows.iter().enumerate() {
        for later in &rows[index + 1..] {
            assert!(!ancestors[number(later)].contains(&number(earlier)), "a parent comes before its child");
        }
    }
}

#[test]
fn among_unrelated_branches_the_newest_commit_comes_first() {
    let scratch = Scratch::new();
    for seed in 0..20 {
        let dir = scratch.join(&seed.to_string());
        std::fs::create_dir(&dir).unwrap();
        // Dates that follow the commits: git's own order is unambiguous.
        let generated = generate(&dir, seed * 3 + 1);
        let tip = *generated.commits.last().unwrap();
        let paths: Vec<_> = PATHS.iter().map(|name| path(name)).collect();
        let store = Store::at(&dir).unwrap();
        let mut ours: Vec<_> =
            store.history(tip, None, &paths).unwrap().iter().map(|touch| touch.commit).collect();
        ours.dedup();
        let mut args = vec!["rev-list", "--date-order"];
        let tip = tip.to_string();
        args.push(&tip);
        let mut theirs: Vec<_> = git(&dir, &args).lines().map(commit).collect();
        theirs.retain(|id| ours.contains(id));
        assert_eq!(ours, theirs);
    }
}
