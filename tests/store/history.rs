//! History of paths over generated histories: merges, criss-cross, evil merges, reverts, mode changes, symbolic
//! links, submodules, files that become folders, several roots, clocks that are wrong.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::Path;

use overlaid::id::{BlobId, CommitId, UpstreamPath};
use overlaid::io::store::Store;
use overlaid::tree::{Entry, Mode};
use overlaid::upstream::{Touch, Upstream, Walk};

use super::git::{Dice, Scratch, commit, git, git_input, path};

/// A generated history: commits with their parents, oldest first.
pub struct Generated {
    pub seed: u64,
    pub commits: Vec<CommitId>,
    pub parents: Vec<Vec<usize>>,
}

const PATHS: [&str; 10] = ["a", "a/b", "a/b/c", "d/x", "d/y", "d/e/z", "d/e", "m", "n o", "é"];

type Tree = BTreeMap<&'static str, (&'static str, usize)>;

/// Puts a file into a tree; whatever is in its way goes.
fn put(tree: &mut Tree, name: &'static str, value: (&'static str, usize)) {
    tree.retain(|other, _| {
        !other.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'))
            && !name.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'))
    });
    tree.insert(name, value);
}

/// What the commit-graph has.
#[derive(Debug, Clone, Copy)]
pub enum Graph {
    Nothing,
    /// Some commits and their ancestors.
    Some,
    /// All commits, in two files, with filters of changed paths in the second one.
    Split,
    All,
    /// All commits, with filters of changed paths.
    Filters,
}

pub const GRAPHS: [Graph; 5] = [Graph::Nothing, Graph::Some, Graph::Split, Graph::All, Graph::Filters];

/// A history without anything in common for each seed, in one new repository: starting git is what takes time.
pub fn generate(dir: &Path, seeds: Range<u64>, graph: Graph) -> Vec<Generated> {
    let mut stream = String::new();
    let mut all: Vec<(u64, usize, Vec<Vec<usize>>)> = Vec::new();
    let mut first = 1;
    for seed in seeds {
        let parents = write_history(&mut stream, seed, first);
        all.push((seed, first, parents));
        first += all.last().unwrap().2.len();
    }
    std::fs::create_dir_all(dir).unwrap();
    git(dir, &["init", "--quiet", "--bare"]);
    git_input(dir, &["fast-import", "--quiet", "--export-marks=marks"], stream.as_bytes());
    let marks = std::fs::read_to_string(dir.join("marks")).unwrap();
    let ids: HashMap<usize, CommitId> = marks
        .lines()
        .map(|line| {
            let (mark, id) = line[1..].split_once(' ').unwrap();
            (mark.parse().unwrap(), commit(id))
        })
        .collect();
    let generated: Vec<_> = all
        .into_iter()
        .map(|(seed, first, parents)| {
            let commits = (0..parents.len()).map(|number| ids[&(first + number)]).collect();
            Generated { seed, commits, parents }
        })
        .collect();
    let some: String =
        generated.iter().map(|one| format!("{}\n", Dice::new(one.seed).pick(&one.commits))).collect();
    match graph {
        Graph::Nothing => {}
        Graph::Some => _ = git_input(dir, &["commit-graph", "write", "--stdin-commits"], some.as_bytes()),
        Graph::Split => {
            git_input(dir, &["commit-graph", "write", "--stdin-commits", "--split"], some.as_bytes());
            git(dir, &["commit-graph", "write", "--reachable", "--split=no-merge", "--changed-paths"]);
        }
        Graph::All => _ = git(dir, &["commit-graph", "write", "--reachable"]),
        Graph::Filters => {
            git(dir, &["config", "commitGraph.changedPathsVersion", "2"]);
            git(dir, &["commit-graph", "write", "--reachable", "--changed-paths"]);
        }
    }
    generated
}

fn write_history(stream: &mut String, seed: u64, first: usize) -> Vec<Vec<usize>> {
    let mut dice = Dice::new(seed);
    let count = 4 + dice.roll(26);
    let mut trees: Vec<Tree> = Vec::new();
    let mut parents: Vec<Vec<usize>> = Vec::new();
    for number in 0..count {
        let mine = choose_parents(&mut dice, number);
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
        let date = 1_700_000_000 + if has_wrong_clocks(seed) { dice.roll(50) } else { number };
        *stream += &format!("commit refs/heads/s{seed}c{number}\nmark :{}\n", first + number);
        *stream += &format!("committer S{seed} <c@example.com> {date} +0000\ndata 2\n{}\n", number % 10);
        for (index, parent) in mine.iter().enumerate() {
            *stream += &format!("{} :{}\n", if index == 0 { "from" } else { "merge" }, first + parent);
        }
        *stream += "deleteall\n";
        for (name, (mode, content)) in &tree {
            let name = if name.contains(' ') { format!("\"{name}\"") } else { (*name).to_owned() };
            if *mode == "160000" {
                *stream += &format!("M {mode} {content:040} {name}\n");
            } else {
                *stream += &format!("M {mode} inline {name}\ndata 2\n{content}\n\n");
            }
        }
        *stream += "\n";
        trees.push(tree);
        parents.push(mine);
    }
    parents
}

fn choose_parents(dice: &mut Dice, number: usize) -> Vec<usize> {
    let wanted = match dice.roll(10) {
        _ if number == 0 => 0,
        0 if number > 3 => 0,
        0..6 => 1,
        6..9 => 2,
        _ => 3,
    };
    let mut parents = Vec::new();
    for _ in 0..wanted {
        let parent = number - 1 - dice.roll(6.min(number));
        if !parents.contains(&parent) {
            parents.push(parent);
        }
    }
    parents
}

fn has_wrong_clocks(seed: u64) -> bool {
    seed.is_multiple_of(3)
}

type Touches = BTreeMap<(CommitId, UpstreamPath), (Vec<Option<Entry>>, Option<Entry>)>;

/// What `git log -c --full-history --raw` says.
fn by_git(dir: &Path, revs: &[String], paths: &[UpstreamPath]) -> Touches {
    let mut args: Vec<String> =
        "-c core.quotePath=false --literal-pathspecs log --full-history -c --raw --no-renames --no-abbrev --format=%H"
            .split(' ')
            .map(str::to_owned)
            .collect();
    args.extend_from_slice(revs);
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
    let (mut seen, mut merges) = (0, 0);
    let mut dice = Dice::new(1000);
    for (index, graph) in (0_u64..).zip(GRAPHS) {
        let dir = scratch.join(&index.to_string());
        let all = generate(&dir, index * 1000..index * 1000 + 100, graph);
        let store = Store::at(&dir).unwrap();
        for round in 0..5 {
            let paths: Vec<_> = PATHS.iter().filter(|_| dice.roll(4) > 0).map(|name| path(name)).collect();
            let mut revs = Vec::new();
            let mut ours = Vec::new();
            for one in &all {
                let tip = one.commits[one.commits.len() - 1 - round % 3];
                let exclude = (round > 0).then(|| *dice.pick(&one.commits));
                revs.push(tip.to_string());
                revs.extend(exclude.map(|exclude| format!("^{exclude}")));
                let touches = store.history(tip, exclude, &paths).unwrap();
                assert_order(one, &touches.iter().map(|touch| touch.commit).collect::<Vec<_>>());
                ours.extend(touches);
            }
            let mut theirs = if paths.is_empty() { Touches::new() } else { by_git(&dir, &revs, &paths) };
            for touch in ours {
                // Git shows a commit without parents as if it had an empty one.
                let before = if touch.before.is_empty() { vec![None] } else { touch.before };
                seen += 1;
                merges += usize::from(before.len() > 1);
                let expected = theirs.remove(&(touch.commit, touch.path.clone()));
                assert_eq!(
                    Some((before, touch.after)),
                    expected,
                    "{graph:?}: {} {}",
                    touch.commit,
                    touch.path
                );
            }
            assert!(theirs.is_empty(), "{graph:?}: not found: {theirs:?}");
        }
    }
    assert!(
        seen > 5000 && merges > 400,
        "the generator makes too little: {seen} touches, {merges} by merges"
    );
}

/// One walk for many heads says of each of them what a question about that one says, which git vouches for above.
#[test]
fn a_walk_says_of_every_head_what_history_says() {
    let scratch = Scratch::new();
    let mut dice = Dice::new(77);
    let mut seen = 0;
    for (index, graph) in (0_u64..).zip(GRAPHS) {
        let dir = scratch.join(&index.to_string());
        let all = generate(&dir, index * 1000 + 200..index * 1000 + 230, graph);
        let store = Store::at(&dir).unwrap();
        let paths: Vec<_> = PATHS.iter().map(|name| path(name)).collect();
        for one in &all {
            let heads: Vec<CommitId> = (0..4).map(|_| *dice.pick(&one.commits)).collect();
            let walked = store.walk(&Walk { heads: &heads, between: &paths, common: &paths }).unwrap();
            for (place, head) in heads.iter().enumerate() {
                let ours: Vec<_> = walked.touches.iter().filter(|reached| reached.heads.has(place)).collect();
                let mut ours: Vec<_> = ours.iter().map(|reached| reached.touch.clone()).collect();
                assert_order(one, &ours.iter().map(|touch| touch.commit).collect::<Vec<_>>());
                let mut theirs = store.history(*head, None, &paths).unwrap();
                seen += theirs.len();
                let key = |touch: &Touch| (touch.commit, touch.path.clone());
                ours.sort_by_key(key);
                theirs.sort_by_key(key);
                assert_eq!(ours, theirs);
                for (other, descendant) in heads.iter().enumerate() {
                    let is_ancestor = store.is_ancestor(*head, *descendant).unwrap();
                    assert_eq!(walked.heads[place].has(other), is_ancestor);
                }
            }
            // What all heads reach is left out where it does not matter, and not even looked at by another store.
            let some: Vec<_> =
                walked.touches.iter().filter(|reached| reached.heads.count() < heads.len()).collect();
            for store in [&store, &Store::at(&dir).unwrap()] {
                let between = store.walk(&Walk { heads: &heads, between: &paths, common: &[] }).unwrap();
                assert_eq!(between.touches.iter().collect::<Vec<_>>(), some);
                assert_eq!(between.heads, walked.heads);
                assert_eq!(between.behind, walked.behind);
            }
            let ancestors = super::ancestry::ancestors(&one.parents);
            let number = |id: &CommitId| one.commits.iter().position(|other| other == id).unwrap();
            let reached: BTreeSet<_> = heads.iter().flat_map(|head| &ancestors[number(head)]).collect();
            for most in [0, reached.len() - 1, reached.len(), reached.len() + 1] {
                assert_eq!(store.is_longer_than(&heads, most).unwrap(), reached.len() > most);
            }
        }
    }
    assert!(seen > 1500, "the generator makes too little: {seen}");
}

#[test]
fn filters_of_changed_paths_change_no_answer() {
    let scratch = Scratch::new();
    let (plain, filtered) = (scratch.join("plain"), scratch.join("filtered"));
    let all = generate(&plain, 7000..7040, Graph::Nothing);
    generate(&filtered, 7000..7040, Graph::Filters);
    let [plain, filtered] = [plain, filtered].map(|dir| Store::at(&dir).unwrap());
    let paths: Vec<_> = PATHS.iter().map(|name| path(name)).collect();
    let mut dice = Dice::new(7);
    let mut found = [0; 3];
    for one in &all {
        let tip = *one.commits.last().unwrap();
        let heads = [*dice.pick(&one.commits), tip];
        let answers = [&plain, &filtered].map(|store| {
            let choices = paths.iter().map(|path| store.choices(tip, None, path).unwrap());
            let choices: Vec<Touch> = choices.flatten().collect();
            [store.history(tip, None, &paths).unwrap(), choices, store.carried(&heads, 1, &paths).unwrap()]
        });
        assert_eq!(answers[0], answers[1], "seed {}", one.seed);
        for (found, answer) in found.iter_mut().zip(&answers[0]) {
            *found += answer.len();
        }
    }
    assert!(found.iter().all(|found| *found > 20), "the generator makes too little: {found:?}");
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
    let paths: Vec<_> = PATHS.iter().map(|name| path(name)).collect();
    // With dates that follow the commits git's own order is unambiguous.
    let all = generate(scratch.path(), 0..30, Graph::Some);
    let store = Store::at(scratch.path()).unwrap();
    for one in all.iter().filter(|one| !has_wrong_clocks(one.seed)) {
        let tip = *one.commits.last().unwrap();
        let mut ours: Vec<_> =
            store.history(tip, None, &paths).unwrap().iter().map(|touch| touch.commit).collect();
        ours.dedup();
        let theirs = git(scratch.path(), &["rev-list", "--date-order", &tip.to_string()]);
        let mut theirs: Vec<_> = theirs.lines().map(commit).collect();
        theirs.retain(|id| ours.contains(id));
        assert_eq!(ours, theirs);
    }
}

/// So many folders that several threads read them.
#[test]
fn a_long_history_is_what_git_log_says() {
    let scratch = Scratch::new();
    let dir = scratch.path();
    let mut stream = String::new();
    for number in 0..3000 {
        stream += &format!("commit refs/heads/main\ncommitter C <c@example.com> {number} +0000\ndata 1\nx\n");
        stream += &format!("M 100644 inline d/e/f{}\ndata 4\n{number:04}\n", number % 7);
        stream += &format!("M 100644 inline other\ndata 4\n{number:04}\n\n");
    }
    git(dir, &["init", "--quiet", "--bare"]);
    git_input(dir, &["fast-import", "--quiet"], stream.as_bytes());
    let paths = ["d/e/f3", "other", "d/e/f9"].map(path);
    let tip = commit(&git(dir, &["rev-parse", "main"]));
    let ours = Store::at(dir).unwrap().history(tip, None, &paths).unwrap();
    let theirs = by_git(dir, &[tip.to_string()], &paths);
    assert_eq!((ours.len(), theirs.len()), (3429, 3429));
    for touch in ours {
        let before = if touch.before.is_empty() { vec![None] } else { touch.before };
        assert_eq!(theirs.get(&(touch.commit, touch.path)), Some(&(before, touch.after)));
    }
}

/// Folders of many names, which packs have as deltas: as fast-import packs them, packed anew in long chains by offset
/// and by name, in several packs, and partly in none.
#[test]
fn wide_folders_are_read_from_their_deltas_as_git_reads_them() {
    let scratch = Scratch::new();
    let mut dice = Dice::new(4242);
    let names: Vec<String> =
        (0..300).map(|number| format!("{}n{number:03}", ["", "d/", "d/e/"][number % 3])).collect();
    let mut stream = String::new();
    for number in 0..700 {
        stream += &format!("commit refs/heads/main\ncommitter C <c@example.com> {number} +0000\ndata 1\nx\n");
        for _ in 0..=dice.roll(3) {
            let name = dice.pick(&names);
            if dice.one_in(5) {
                stream += &format!("D {name}\n");
            } else {
                let mode = *dice.pick(&["100644", "100644", "100755", "120000"]);
                stream += &format!("M {mode} inline {name}\ndata 4\n{:04}\n", dice.roll(3000));
            }
        }
        stream += "\n";
    }
    let paths: Vec<_> = names.iter().filter(|_| dice.one_in(6)).map(|name| path(name)).collect();
    let chains = ["repack", "-q", "-a", "-d", "-f", "--window=20", "--depth=200"];
    let by_name =
        ["-c", "repack.useDeltaBaseOffset=false"].iter().chain(&chains).copied().collect::<Vec<_>>();
    let packings: [&[&[&str]]; 4] = [
        &[],
        &[&chains],
        &[&by_name],
        // Half in one pack, a quarter in another, the rest in no pack at all.
        &[&["tag", "half", "main~350"], &["tag", "more", "main~170"], &["branch", "-m", "main", "held"]],
    ];
    for (index, packing) in packings.into_iter().enumerate() {
        let dir = scratch.join(&index.to_string());
        std::fs::create_dir_all(&dir).unwrap();
        git(&dir, &["init", "--quiet", "--bare"]);
        git_input(&dir, &["-c", "fastimport.unpackLimit=1", "fast-import", "--quiet"], stream.as_bytes());
        for step in packing {
            git(&dir, step);
        }
        let tip = commit(&git(&dir, &["rev-parse", if index == 3 { "held" } else { "main" }]));
        if index == 3 {
            spread(&dir);
        }
        let ours = Store::at(&dir).unwrap().history(tip, None, &paths).unwrap();
        let theirs = by_git(&dir, &[tip.to_string()], &paths);
        assert!(ours.len() > 150, "the generator makes too little: {}", ours.len());
        assert_eq!(ours.len(), theirs.len());
        for touch in ours {
            let before = if touch.before.is_empty() { vec![None] } else { touch.before };
            assert_eq!(
                theirs.get(&(touch.commit, touch.path)),
                Some(&(before, touch.after)),
                "packing {index}"
            );
        }
    }
}

/// Puts what `half` reaches into a pack, what `more` reaches beyond it into another, and the rest into no pack.
fn spread(dir: &Path) {
    let packs = |dir: &Path| {
        let files = std::fs::read_dir(dir.join("objects/pack")).unwrap();
        files.map(|file| file.unwrap().path()).collect::<Vec<_>>()
    };
    let old = packs(dir);
    for revs in ["half\n", "more\n^half\n"] {
        git_input(dir, &["pack-objects", "--quiet", "--revs", "objects/pack/pack"], revs.as_bytes());
    }
    let rest = git_input(dir, &["pack-objects", "--quiet", "--revs", "aside"], b"held\n^more\n");
    let rest = std::fs::read(dir.join(format!("aside-{}.pack", rest.trim()))).unwrap();
    for file in old {
        std::fs::remove_file(file).unwrap();
    }
    let _ = std::fs::remove_file(dir.join("objects/info/commit-graph"));
    git_input(dir, &["unpack-objects", "-q"], &rest);
}

/// Long enough to be read by several threads.
#[test]
fn a_long_history_is_the_same_without_a_commit_graph() {
    use std::fmt::Write as _;
    let scratch = Scratch::new();
    let (plain, graph) = (scratch.join("plain"), scratch.join("graph"));
    let mut dice = Dice::new(9);
    let mut stream = String::new();
    for number in 1..=4000_usize {
        writeln!(stream, "commit refs/heads/main\nmark :{number}\ncommitter C <c> {number} +0000\ndata 1\nx")
            .unwrap();
        let back = 1 + dice.roll(40);
        if number > 1 {
            writeln!(stream, "from :{}", number - if number > back && dice.one_in(8) { back } else { 1 })
                .unwrap();
        }
        if number > 100 && dice.one_in(5) {
            writeln!(stream, "merge :{}", number - 2 - dice.roll(80)).unwrap();
        }
        let name = *dice.pick(&PATHS);
        if name.is_ascii() && !name.contains(' ') && dice.one_in(3) {
            writeln!(stream, "M 100644 inline {name}\ndata 2\n{}\n", dice.roll(10)).unwrap();
        }
    }
    for dir in [&plain, &graph] {
        std::fs::create_dir_all(dir).unwrap();
        git(dir, &["init", "--quiet", "--bare"]);
        git_input(dir, &["fast-import", "--quiet"], stream.as_bytes());
    }
    git(&graph, &["commit-graph", "write", "--reachable"]);
    let paths: Vec<_> = PATHS.iter().map(|name| path(name)).collect();
    let tip = commit(git(&graph, &["rev-parse", "main"]).trim());
    let all: Vec<CommitId> = git(&graph, &["rev-list", "main"]).lines().map(commit).collect();
    assert!(all.len() > 2000, "the generator makes too little: {}", all.len());
    let with_graph = Store::at(&graph).unwrap();
    for far in [10, 300, all.len() - 1] {
        // A store keeps what it read: a new one for each question.
        let plain = Store::at(&plain).unwrap();
        let base = all[far];
        assert_eq!(plain.history(tip, Some(base), &paths), with_graph.history(tip, Some(base), &paths));
        let without = Store::at(plain.path()).unwrap();
        let walk = |store: &Store| {
            let walked = store.walk(&Walk { heads: &[tip, base], between: &paths, common: &paths }).unwrap();
            (walked.touches, walked.heads, walked.behind)
        };
        assert_eq!(walk(&without), walk(&with_graph));
        let without = Store::at(plain.path()).unwrap();
        assert_eq!(without.merge_base(tip, base), with_graph.merge_base(tip, base));
    }
}
