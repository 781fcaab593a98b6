//! Random histories of a tree: pins, overlays and people in any order.
//!
//! What must hold after each run, whatever came before: a tree that was not refused is what is wanted, apart
//! from edits that were left alone; a refused one did not change; and no content that a person wrote is lost.

use std::collections::BTreeSet;

use super::*;

/// A small generator of numbers, so that a failing history can be run again from its seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

const PLACES: [&str; 14] =
    ["a", "a/b", "a/b/c", "a/b/d", "a/e", "a-x", "f", "f/g", "f/g/h", "i", "j/k", "j/l", "m", "m/n"];

fn random_text(dice: &mut Dice) -> String {
    match dice.roll(8) {
        0 => "x:run".to_owned(),
        1 => "l:a".to_owned(),
        2 => "l:f/g".to_owned(),
        3 => "run".to_owned(),
        n => format!("text {n}"),
    }
}

/// Random places, none inside another.
fn random_tree(dice: &mut Dice, share: usize) -> Vec<(String, String)> {
    let mut tree: Vec<(String, String)> = Vec::new();
    for place in PLACES {
        let clash = tree.iter().any(|(other, _)| place.starts_with(&format!("{other}/")));
        if !clash && dice.roll(4) < share {
            tree.push((place.to_owned(), random_text(dice)));
        }
    }
    tree
}

fn random_goal(dice: &mut Dice) -> Goal {
    loop {
        let listing = random_tree(dice, 2);
        let mut changes = random_tree(dice, 1);
        for (place, _) in &listing {
            if dice.roll(6) == 0 && !changes.iter().any(|(other, _)| other == place) {
                changes.push((place.clone(), "-".to_owned()));
            }
        }
        let borrow = |pairs: &'_ [(String, String)]| -> Vec<(String, String)> { pairs.to_vec() };
        let (listing, changes) = (borrow(&listing), borrow(&changes));
        let listing: Vec<_> = listing.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let changes: Vec<_> = changes.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let goal = goal(&listing, &changes);
        if goal.wanted.overlap().is_none() {
            return goal;
        }
    }
}

/// A person writes, removes or touches something; what they write is a content that nobody else has.
fn meddle(dice: &mut Dice, dir: &Path, number: usize, written: &mut BTreeSet<String>) {
    let place = dir.join(PLACES[dice.roll(PLACES.len())]);
    match dice.roll(6) {
        0 | 1 => {
            let text = format!("by hand {number}");
            let made = place.parent().is_some_and(|parent| std::fs::create_dir_all(parent).is_ok());
            let is_link = std::fs::symlink_metadata(&place).is_ok_and(|meta| meta.is_symlink());
            if made && !is_link && std::fs::write(&place, &text).is_ok() {
                written.insert(text);
            }
        }
        2 => {
            let _ = std::fs::remove_file(&place);
        }
        3 => {
            let _ = std::fs::create_dir(&place);
        }
        4 => {
            if let Ok(file) = std::fs::File::open(&place) {
                let _ = file.set_modified(std::time::SystemTime::now());
            }
        }
        _ => {
            let target = dir.join(PLACES[dice.roll(PLACES.len())]);
            let _ = std::os::unix::fs::symlink(target, &place);
        }
    }
}

/// All texts that a person wrote and that can still be found, in the tree or kept.
pub(super) fn still_there(dir: &Path) -> BTreeSet<String> {
    files(dir)
        .into_iter()
        .filter(|file| std::fs::symlink_metadata(file).is_ok_and(|meta| meta.is_file()))
        .filter_map(|file| std::fs::read_to_string(file).ok())
        .filter(|text| text.starts_with("by hand"))
        .collect()
}

fn run_history(seed: u64, adopt: bool) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (_folder, dir) = fast_place();
    if adopt {
        write(&dir.join("theirs"), "theirs");
    }
    let mut goal = random_goal(&mut dice);
    for round in 0..12 {
        if dice.roll(3) > 0 {
            goal = random_goal(&mut dice);
        }
        let mut written = if dir.exists() { still_there(&dir) } else { BTreeSet::new() };
        for number in 0..dice.roll(4) {
            if dir.exists() {
                meddle(&mut dice, &dir, round * 10 + number, &mut written);
            }
        }
        written.retain(|text| dir.exists() && still_there(&dir).contains(text));
        let before = if dir.exists() { texts(&dir) } else { BTreeMap::new() };
        let force = dice.roll(3) == 0;
        let (outcome, _) = goal.bring_with(&dir, Options { force, dry_run: false, adopt });
        let context =
            format!("seed {seed}, round {round}, force {force}: {outcome:?}\n{before:?}\n{:?}", texts(&dir));
        match outcome.expect(&context) {
            Outcome::Refused(_) => {
                assert!(!force, "{context}");
                assert_eq!(texts(&dir), before, "{context}");
            }
            Outcome::NotOurs => panic!("{context}"),
            Outcome::Unchanged(plan) | Outcome::Changed(plan) => {
                let now = texts(&dir);
                let behind_edit = |at: &str| {
                    plan.left_alone.iter().any(|edit| {
                        let edit = edit.as_bytes().to_string();
                        at == edit
                            || at.starts_with(&format!("{edit}/"))
                            || edit.starts_with(&format!("{at}/"))
                    })
                };
                for (at, text) in wanted_texts(&goal.wanted, &goal.upstream) {
                    let concerns = !adopt || goal.wanted.changes.contains_key(&path(&at));
                    if concerns && !behind_edit(&at) {
                        assert_eq!(now.get(&at), Some(&text), "{at} {context}");
                    }
                }
                for (at, change) in &goal.wanted.changes {
                    let at = at.as_bytes().to_string();
                    assert!(change.is_some() || !now.contains_key(&at), "{at} {context}");
                }
                // Nothing appears that is not wanted.
                for (at, text) in &now {
                    let wanted = goal.wanted.entry(&path(at)).is_some();
                    assert!(wanted || before.get(at) == Some(text), "{at} {context}");
                }
                let again = goal.bring_with(&dir, Options { force: false, dry_run: true, adopt }).0.unwrap();
                assert!(matches!(again, Outcome::Unchanged(_)), "{context} then {again:?}");
            }
        }
        assert!(still_there(&dir).is_superset(&written), "{context}\n{written:?}");
    }
}

/// How many histories; `OVERLAID_TEST_SEEDS=5000` for a long look.
fn seeds(usual: u64) -> std::ops::RangeInclusive<u64> {
    1..=std::env::var("OVERLAID_TEST_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(usual)
}

#[test]
fn random_histories_of_a_tree_that_we_made() {
    seeds(300).for_each(|seed| run_history(seed, false));
}

#[test]
fn random_histories_of_a_tree_that_somebody_made() {
    seeds(150).for_each(|seed| run_history(seed, true));
}
