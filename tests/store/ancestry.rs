//! Ancestors and merge bases over generated histories, and where history is cut off.

use std::collections::BTreeSet;
use std::path::Path;

use overlaid::id::CommitId;
use overlaid::io::store::Store;
use overlaid::upstream::{Upstream, UpstreamError};

use super::git::{Scratch, commit, git, git_with, linear, path};
use super::history::{GRAPHS, Generated, generate};

/// For each commit, itself and what it descends from.
pub fn ancestors(parents: &[Vec<usize>]) -> Vec<BTreeSet<usize>> {
    let mut all: Vec<BTreeSet<usize>> = Vec::new();
    for (number, mine) in parents.iter().enumerate() {
        let mut set = BTreeSet::from([number]);
        for &parent in mine {
            set.extend(all[parent].iter().copied());
        }
        all.push(set);
    }
    all
}

#[test]
fn ancestors_and_merge_bases_of_all_pairs() {
    let scratch = Scratch::new();
    let mut several = 0;
    for (index, graph) in (0_u64..).zip(GRAPHS) {
        let dir = scratch.join(&index.to_string());
        let all = generate(&dir, index * 1000..index * 1000 + 30, graph);
        let store = Store::at(&dir).unwrap();
        for one in &all {
            several += assert_pairs(&store, one);
        }
        for one in &all[..8] {
            let [.., a, b] = one.commits[..] else { panic!("a history has four commits") };
            let (_, output, _) =
                git_with(&dir, &["merge-base", "--all", &a.to_string(), &b.to_string()], b"");
            let theirs: Vec<_> = String::from_utf8(output).unwrap().lines().map(commit).collect();
            let ours = store.merge_base(a, b).unwrap();
            assert_eq!(ours.is_none(), theirs.is_empty());
            assert!(ours.is_none_or(|ours| theirs.contains(&ours)));
        }
    }
    assert!(several > 100, "the generator makes too few criss-cross merges: {several}");
}

/// How many pairs have more than one merge base.
fn assert_pairs(store: &Store, generated: &Generated) -> usize {
    let ancestors = ancestors(&generated.parents);
    let id = |number: usize| generated.commits[number];
    let dates: Vec<i64> = generated.commits.iter().map(|&id| store.commit(id).unwrap().committed).collect();
    let mut several = 0;
    for a in 0..generated.commits.len() {
        for b in 0..generated.commits.len() {
            let why = format!("seed {}: {a} {b}", generated.seed);
            assert_eq!(store.is_ancestor(id(a), id(b)).unwrap(), ancestors[b].contains(&a), "{why}");
            let common: Vec<usize> = ancestors[a].intersection(&ancestors[b]).copied().collect();
            let best: Vec<usize> = common
                .iter()
                .copied()
                .filter(|&one| !common.iter().any(|&other| other != one && ancestors[other].contains(&one)))
                .collect();
            several += usize::from(best.len() > 1);
            let newest = best.iter().map(|&number| dates[number]).max();
            let ours = store.merge_base(id(a), id(b)).unwrap();
            let ours = ours.map(|ours| generated.commits.iter().position(|id| *id == ours).unwrap());
            assert!(ours.is_none_or(|ours| best.contains(&ours)), "{why}: {ours:?} is not in {best:?}");
            assert_eq!(ours.map(|ours| dates[ours]), newest, "{why}");
        }
    }
    several
}

fn is_missing<T: std::fmt::Debug>(answer: &Result<T, UpstreamError>, cut: bool) -> bool {
    matches!(answer, Err(UpstreamError::Missing { what: "commit", shallow, .. }) if *shallow == cut)
}

fn shallow_clone(from: &Path, to: &Path, depth: &str) {
    let url = format!("file://{}", from.display());
    git(from, &["clone", "--quiet", "--bare", "--depth", depth, &url, to.to_str().unwrap()]);
}

#[test]
fn a_shallow_clone_answers_what_is_certain_and_nothing_else() {
    let scratch = Scratch::new();
    let upstream = scratch.join("upstream");
    let commits = linear(&upstream, &["1", "2", "3", "4", "5", "6"]);
    let clone = scratch.join("clone.git");
    shallow_clone(&upstream, &clone, "3");
    let store = Store::at(&clone).unwrap();
    let [outside, third, fourth, fifth, sixth] = [commits[0], commits[2], commits[3], commits[4], commits[5]];
    assert!(store.is_shallow());

    assert_eq!(store.is_ancestor(fourth, sixth), Ok(true));
    assert_eq!(store.is_ancestor(sixth, fourth), Ok(false));
    assert!(is_missing(&store.is_ancestor(outside, sixth), true));
    assert_eq!(store.merge_base(fifth, sixth), Ok(Some(fifth)));
    let touches = store.history(sixth, Some(fourth), &[path("f")]).unwrap();
    assert_eq!(touches.iter().map(|touch| touch.commit).collect::<Vec<_>>(), [sixth, fifth]);
    assert!(is_missing(&store.history(sixth, None, &[path("f")]), true));
    assert!(is_missing(&store.history(sixth, Some(outside), &[path("f")]), true));
    assert!(is_missing(&store.listing(third), true));
}

/// `old` is merged into the branch that ends at `tip`; `base` has it in its history, too, by way of a commit that
/// a shallow clone does not have.
#[test]
fn what_may_be_in_the_base_is_not_said_to_be_new() {
    let scratch = Scratch::new();
    let upstream = scratch.join("upstream");
    let old = linear(&upstream, &["1", "2", "3"])[2];
    let on_main = |subject: &str| -> CommitId {
        git(&upstream, &["commit", "--quiet", "--allow-empty", "-m", subject]);
        commit(&git(&upstream, &["rev-parse", "HEAD"]))
    };
    for subject in ["4", "5", "6"] {
        on_main(subject);
    }
    let base = on_main("base");
    let tree = git(&upstream, &["rev-parse", "HEAD^{tree}"]);
    let (base_text, old_text) = (base.to_string(), old.to_string());
    let merge = git(&upstream, &["commit-tree", &tree, "-m", "merge", "-p", &base_text, "-p", &old_text]);
    git(&upstream, &["reset", "--quiet", "--hard", &merge]);

    let clone = scratch.join("clone.git");
    shallow_clone(&upstream, &clone, "2");
    let store = Store::at(&clone).unwrap();
    assert!(store.has_commit(old).unwrap() && store.has_commit(base).unwrap());
    assert!(is_missing(&store.history(commit(&merge), Some(base), &[path("f")]), true));
    assert!(is_missing(&store.merge_base(base, old), true));
    assert!(is_missing(&store.is_ancestor(old, base), true));

    let whole = Store::at(&upstream).unwrap();
    let touches = whole.history(commit(&merge), Some(base), &[path("f")]).unwrap();
    assert!(touches.is_empty(), "the merge takes the file as the base has it: {touches:?}");
    assert_eq!(whole.merge_base(base, old), Ok(Some(old)));
}

#[test]
fn unrelated_histories_have_no_base() {
    let scratch = Scratch::new();
    let upstream = scratch.join("upstream");
    let first = linear(&upstream, &["1", "2"])[1];
    git(&upstream, &["checkout", "--quiet", "--orphan", "other"]);
    git(&upstream, &["commit", "--quiet", "-m", "root"]);
    let second = commit(&git(&upstream, &["rev-parse", "HEAD"]));
    let store = Store::at(&upstream).unwrap();
    assert_eq!(store.merge_base(first, second), Ok(None));
    assert_eq!(store.is_ancestor(first, second), Ok(false));
    assert!(is_missing(&store.merge_base(first, commit(&"0".repeat(40))), false));
    assert!(is_missing(&store.is_ancestor(commit(&"0".repeat(40)), first), false));
}

/// Its parents are believed, as git believes them; what is impossible is an error and not an endless walk.
#[test]
fn a_damaged_commit_graph_crashes_nothing() {
    let scratch = Scratch::new();
    let upstream = scratch.join("upstream");
    let commits = linear(&upstream, &["1", "2", "3", "4"]);
    git(&upstream, &["commit-graph", "write", "--reachable"]);
    let file = upstream.join(".git/objects/info/commit-graph");
    let good = std::fs::read(&file).unwrap();
    let mut answered = 0;
    for index in 8..good.len() {
        let mut bad = good.clone();
        bad[index] ^= 0x55;
        let _ = std::fs::remove_file(&file);
        std::fs::write(&file, bad).unwrap();
        let store = Store::at(&upstream).unwrap();
        answered += usize::from(store.is_ancestor(commits[0], commits[3]).is_ok());
        let _ = store.history(commits[3], Some(commits[0]), &[path("f")]);
        let _ = store.merge_base(commits[3], commits[0]);
    }
    assert!(answered > 0, "a damaged checksum hides nothing");
}
