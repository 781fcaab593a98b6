//! Diffs against git: what `git diff` exports and `git apply` makes of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod complaints;
mod generate;
mod git;
mod marks;

use std::convert::Infallible;

use generate::Tree;
use git::{git_apply, git_diffs};
use overlaid::id::UpstreamPath;
use overlaid::overlay::diff::{Applied, Hint, RejectWhy, Rejection, apply, parse, render};

use crate::support::random::Random;

/// What we make of a tree, with the offsets.
fn our_apply(tree: &Tree, patch: &[u8]) -> Result<(Tree, usize), Vec<Rejection>> {
    let patch = parse(patch).unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(patch)));
    let before = |path: &UpstreamPath| Ok::<_, Infallible>(tree.get(path).cloned());
    match apply(&patch, &before).unwrap() {
        Applied::Refused(rejections) => Err(rejections),
        Applied::Applied { changes, offsets, .. } => {
            assert!(changes.keys().all(|path| patch.touched().contains(path)));
            let mut tree = tree.clone();
            for (path, content) in changes {
                match content {
                    Some(content) => drop(tree.insert(path, content)),
                    None => drop(tree.remove(&path)),
                }
            }
            Ok((tree, offsets.len()))
        }
    }
}

/// Git takes a context line without newline for one with, and then joins lines; we refuse that.
fn is_stricter(rejections: &[Rejection]) -> bool {
    rejections
        .iter()
        .all(|rejection| matches!(rejection.why, RejectWhy::Hunk { hint: Some(Hint::Newline), .. }))
}

/// A rename without a change names no mode, so git does not see that the link which it would write through goes away
/// with it, and refuses what it exported itself.
fn is_own_link_renamed(theirs: &str, patch: &[u8]) -> bool {
    theirs.contains("is beyond a symbolic link")
        && patch.split(|&byte| byte == b'\n').any(|line| line == b"similarity index 100%")
}

const OPTIONS: &[&[&str]] = &[
    &["--full-index", "-M", "-C"],
    &["--full-index", "--no-renames"],
    &["--full-index", "-M", "-C", "--find-copies-harder"],
    &["--full-index", "-B", "-M"],
    &["-M", "-U1"],
    &["-M", "-C", "-U8", "--patience"],
];

struct Case {
    number: usize,
    before: Tree,
    after: Tree,
    drifted: Tree,
    patch: Vec<u8>,
}

#[derive(Default, Debug)]
struct Tally {
    applied: usize,
    with_offsets: usize,
    both_refuse: usize,
    stricter: usize,
    own_refused: usize,
    link_renamed: usize,
}

impl std::ops::Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            applied: self.applied + other.applied,
            with_offsets: self.with_offsets + other.with_offsets,
            both_refuse: self.both_refuse + other.both_refuse,
            stricter: self.stricter + other.stricter,
            own_refused: self.own_refused + other.own_refused,
            link_renamed: self.link_renamed + other.link_renamed,
        }
    }
}

impl Case {
    fn check(&self, tally: &mut Tally) {
        if self.before == self.after {
            assert!(parse(&self.patch).is_err());
            return;
        }
        match self.compare(&self.before, &self.patch, tally) {
            Some(tree) => assert!(tree == self.after, "case {}: not the tree after", self.number),
            // With `-B` git writes diffs that it refuses itself, and so do we.
            None => {
                let options = OPTIONS[self.number % OPTIONS.len()];
                assert!(options.contains(&"-B"), "case {}: refused on its own tree", self.number);
                tally.own_refused += 1;
            }
        }
        self.compare(&self.drifted, &self.patch, tally);
        let rendered = self.render();
        match self.compare(&self.before, &rendered, tally) {
            Some(tree) => assert!(tree == self.after, "case {}: rendered wrong", self.number),
            None => panic!("case {}: what was rendered does not apply", self.number),
        }
    }

    /// Every path's change as we render it.
    fn render(&self) -> Vec<u8> {
        let mut paths: Vec<_> = self.before.keys().chain(self.after.keys()).collect();
        paths.sort();
        paths.dedup();
        let one = |path| render(self.before.get_key_value(path), self.after.get_key_value(path));
        paths.into_iter().flat_map(one).collect()
    }

    /// Trees must be equal, or both must refuse.
    fn compare(&self, tree: &Tree, patch: &[u8], tally: &mut Tally) -> Option<Tree> {
        let (theirs, ours) = (git_apply(tree, patch), our_apply(tree, patch));
        let number = self.number;
        match (theirs, ours) {
            (Ok(theirs), Ok((ours, offsets))) => {
                let shown = || String::from_utf8_lossy(patch).into_owned();
                assert!(theirs == ours, "case {number}: git {theirs:#?}\nours {ours:#?}\n{}", shown());
                tally.applied += 1;
                tally.with_offsets += usize::from(offsets > 0);
                Some(ours)
            }
            (Err(_), Err(_)) => {
                tally.both_refuse += 1;
                None
            }
            (Ok(_), Err(rejections)) if is_stricter(&rejections) => {
                tally.stricter += 1;
                None
            }
            (Ok(_), Err(ours)) => {
                panic!("case {number}: only we refuse: {ours:#?}\n{}", String::from_utf8_lossy(patch))
            }
            (Err(theirs), Ok((ours, _))) if is_own_link_renamed(&theirs, patch) => {
                tally.link_renamed += 1;
                Some(ours)
            }
            (Err(theirs), Ok(_)) => {
                panic!("case {number}: only git refuses: {theirs}\n{}", String::from_utf8_lossy(patch))
            }
        }
    }
}

fn cases(count: usize, seed: u64) -> Vec<Case> {
    let mut cases = Vec::new();
    for number in 0..count {
        let mut rng = Random::new(seed.wrapping_add(number as u64));
        let before = generate::tree(&mut rng);
        let after = generate::change(&mut rng, &before);
        let drifted = generate::drift(&mut rng, &before, &after);
        cases.push(Case { number, before, after, drifted, patch: Vec::new() });
    }
    let pairs: Vec<_> = cases.iter().map(|case| (&case.before, &case.after)).collect();
    let patches = git_diffs(&pairs, |index| OPTIONS[index % OPTIONS.len()]);
    for (case, patch) in cases.iter_mut().zip(patches) {
        case.patch = patch;
    }
    cases
}

/// `OVERLAID_CASES` and `OVERLAID_SEED` make it another run.
#[test]
fn what_git_exports_applies_as_git_applies_it() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number("OVERLAID_CASES").unwrap_or(300) as usize;
    let cases = cases(count, number("OVERLAID_SEED").unwrap_or(1) << 32);
    let halves = cases.split_at(cases.len() / 2);
    let check = |cases: &[Case]| {
        let mut tally = Tally::default();
        cases.iter().for_each(|case| case.check(&mut tally));
        tally
    };
    let tally = std::thread::scope(|scope| {
        let other = scope.spawn(|| check(halves.0));
        let tally = check(halves.1);
        tally + other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    println!("{count} cases: {tally:?}");
    // The drifted trees must exercise both answers, and offsets.
    assert!(tally.both_refuse > count / 20, "{tally:?}");
    assert!(tally.with_offsets > count / 50, "{tally:?}");
    assert!(tally.own_refused <= count / 50, "{tally:?}");
    assert!(tally.stricter <= count / 50, "{tally:?}");
    assert!(tally.link_renamed <= count / 50, "{tally:?}");
}

/// A patch with a line dropped, doubled, moved or damaged.
fn damage(rng: &mut Random, patch: &[u8]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = patch.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..1 + rng.below(2) {
        let at = rng.below(lines.len());
        let other = rng.below(lines.len());
        match rng.below(7) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => lines.swap(at, other),
            3 => lines.truncate(at + 1),
            4 => lines.insert(at, lines[other].clone()),
            5 => {
                let column = rng.below(lines[at].len());
                lines[at][column] = rng.pick(b" +-\\@,09a/\r\n\"");
            }
            _ => drop(lines[at].pop()),
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.concat()
}

fn has_lone_header(patch: &[u8]) -> bool {
    let lines: Vec<_> = patch.split(|&byte| byte == b'\n').collect();
    lines.windows(2).any(|pair| pair.iter().all(|line| line.starts_with(b"diff --git ")))
}

/// Whatever is done to a patch: what we apply, git applies too, with the same result.
#[test]
fn a_damaged_patch_is_refused_or_means_what_git_takes_it_for() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number("OVERLAID_CASES").unwrap_or(300) as usize;
    let mut rng = Random::new(number("OVERLAID_SEED").unwrap_or(2) << 16);
    let (mut unreadable, mut refused, mut applied) = (0, 0, 0);
    for case in cases(count, 77 << 40) {
        if case.before == case.after {
            continue;
        }
        for _ in 0..10 {
            // Whatever comes out, it is an answer.
            let patch = damage(&mut rng, &case.patch);
            if parse(&patch).is_ok() {
                our_apply(&case.before, &patch).ok();
                our_apply(&case.drifted, &patch).ok();
            }
        }
        let patch = damage(&mut rng, &case.patch);
        if parse(&patch).is_err() {
            unreadable += 1;
            continue;
        }
        let Ok((ours, _)) = our_apply(&case.before, &patch) else {
            refused += 1;
            continue;
        };
        applied += 1;
        let shown = || String::from_utf8_lossy(&patch).into_owned();
        match git_apply(&case.before, &patch) {
            Ok(theirs) => assert!(theirs == ours, "case {}: {}", case.number, shown()),
            // Two header lines in a row: git mixes the first one's names into the second, or crashes.
            Err(_) if has_lone_header(&patch) => {}
            Err(error) => panic!("case {}: only git refuses: {error}\n{}", case.number, shown()),
        }
    }
    println!("{count} damaged: {unreadable} unreadable, {refused} refused, {applied} applied");
    assert!(unreadable > count / 5 && refused > count / 50 && applied > count / 50);
}
