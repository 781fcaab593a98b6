//! A state, a journal or an attestation that somebody or something damaged.

use super::*;

const PIN: &[(&str, &str)] = &[("a", "a"), ("b/c", "c"), ("b/run", "x:run"), ("d", "d"), ("l", "l:a")];

fn overlaid() -> Goal {
    goal(PIN, &[("a", "ours"), ("n/new", "new"), ("d", "-")])
}

/// Every way in which the file can be damaged.
fn damage(file: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(file).unwrap();
    let flipped = [0, 12, 30, bytes.len() / 2, bytes.len() - 1].into_iter().map(|at| {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        damaged
    });
    let cut = [0, 1, 25, bytes.len() - 5].into_iter().map(|end| bytes[..end].to_vec());
    flipped.chain(cut).chain([b"overlaid tree state 9\nlater".to_vec()]).collect()
}

fn rebuilt(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::StateRebuilt { .. })).count()
}

#[test]
fn a_damaged_state_is_made_anew_and_nothing_is_written_for_it() {
    let (_folder, dir) = place();
    overlaid().bring(&dir);
    let state = dir.join(".overlaid/state");
    for damaged in damage(&state) {
        std::fs::write(&state, &damaged).unwrap();
        write(&dir.join("b/c"), "by hand");
        let before = stamps(&dir.join("b"));
        let (outcome, events) = overlaid().bring_with(&dir, Options::default());
        let Outcome::Unchanged(plan) = outcome.unwrap() else { panic!() };
        assert_eq!(rebuilt(&events), 1);
        assert_eq!(plan.left_alone, [path("b/c")]);
        assert_eq!(stamps(&dir.join("b")), before);
        let (_, events) = overlaid().bring_with(&dir, Options::default());
        assert_eq!(rebuilt(&events), 0);
    }
    std::fs::remove_file(&state).unwrap();
    let (outcome, events) = overlaid().bring_with(&dir, Options::default());
    assert!(matches!(outcome.unwrap(), Outcome::Unchanged(_)));
    assert_eq!(rebuilt(&events), 1);
}

#[test]
fn what_an_overlay_wrote_goes_although_the_state_is_damaged() {
    for (goal_after, expected) in [
        (goal(PIN, &[]), vec!["Write a", "Create d", "Remove n/new"]),
        // The pin moves at the same time; the commit before is read for what was there.
        (
            goal(&[("a", "a2"), ("b/c", "c")], &[]),
            vec!["Write a", "Remove b/run", "Remove l", "Remove n/new"],
        ),
    ] {
        let (_folder, dir) = place();
        overlaid().bring(&dir);
        std::fs::write(dir.join(".overlaid/state"), "damaged").unwrap();
        let mut after = goal_after.clone();
        after.upstream.listings.insert(overlaid().wanted.commit, overlaid().wanted.listing.clone());
        let (outcome, events) = after.bring_with(&dir, Options::default());
        assert_eq!(steps(&outcome.unwrap()), expected);
        assert_eq!(rebuilt(&events), 1);
        after.assert_is_at(&dir);
    }
}

#[test]
fn edits_stop_it_as_ever() {
    let (_folder, dir) = place();
    overlaid().bring(&dir);
    std::fs::write(dir.join(".overlaid/state"), "damaged").unwrap();
    write(&dir.join("a"), "by hand");
    let before = texts(&dir);
    assert!(refusals(&overlaid().bring(&dir))[0].starts_with("a: local edit"));
    assert_eq!(texts(&dir), before);
    // Also when nothing is left that tells what we wrote.
    std::fs::write(dir.join(".overlaid").join(ATTESTATION_FILE), "{}").unwrap();
    write(&dir.join("b/c"), "by hand, too");
    let outcome = overlaid().bring(&dir);
    assert_eq!(refusals(&outcome).len(), 2, "{outcome:?}");
    assert_eq!(texts(&dir), before.into_iter().chain([("b/c".into(), "by hand, too".into())]).collect());
    overlaid().force(&dir);
    overlaid().assert_is_at(&dir);
    assert_eq!(std::fs::read_to_string(dir.join(".overlaid/kept/1/b/c")).unwrap(), "by hand, too");
}

#[test]
fn an_adopted_tree_stays_one() {
    let (_folder, dir) = place();
    for (at, text) in [("a", "a"), ("d", "d"), ("theirs", "theirs")] {
        write(&dir.join(at), text);
    }
    overlaid().adopt(&dir);
    for text in ["damaged", ""] {
        std::fs::write(dir.join(".overlaid/state"), text).unwrap();
        let (outcome, events) = overlaid().bring_with(&dir, Options::default());
        assert_eq!(rebuilt(&events), 1);
        assert!(matches!(outcome.unwrap(), Outcome::Unchanged(_)));
        assert!(!dir.join("b").exists());
    }
    std::fs::write(dir.join(".overlaid/state"), "damaged").unwrap();
    assert_eq!(steps(&goal(PIN, &[]).adopt(&dir)), ["Write a", "Create d", "Remove n/new"]);
    // Without an attestation, the wish to adopt is what counts.
    overlaid().adopt(&dir);
    std::fs::write(dir.join(".overlaid/state"), "damaged").unwrap();
    std::fs::remove_file(dir.join(".overlaid").join(ATTESTATION_FILE)).unwrap();
    assert!(matches!(overlaid().adopt(&dir), Outcome::Unchanged(_)));
    assert_eq!(texts(&dir).len(), 3);
}

#[test]
fn an_attestation_with_any_path_is_read_as_it_was_written() {
    let mut goal = overlaid();
    goal.wanted.changes.insert(UpstreamPath::parse(b"caf\xe9 \x01").unwrap(), None);
    let text = render_attestation(&goal.wanted, Origin::Made);
    let claimed = parse_attestation(text.as_bytes()).unwrap();
    let paths: Vec<_> = claimed.overlaid.iter().map(|(path, _)| path).collect();
    assert_eq!(paths, goal.wanted.changes.keys().collect::<Vec<_>>());
    assert_eq!(claimed.overlaid[0].1, Some(goal.wanted.changes[&path("a")].as_ref().unwrap().entry()));
    assert_eq!(claimed.fingerprint, goal.wanted.fingerprint);
    assert_eq!(parse_attestation(&text.as_bytes()[1..]), None);
    assert_eq!(parse_attestation(text.replace("attestation.v1", "attestation.v2").as_bytes()), None);
}

#[test]
fn a_damaged_journal_does_not_stop_the_next_run() {
    let (_folder, dir) = place();
    overlaid().bring(&dir);
    let home = dir.join(".overlaid");
    // As after a run that was killed in the middle: one original aside, one new content still staged.
    write(&home.join("undo/0"), "an original");
    write(&home.join("stage/1"), "staged");
    std::fs::remove_file(dir.join("b/run")).unwrap();
    std::fs::write(home.join("journal"), "overlaid tree journal 1\ndamaged").unwrap();
    let (outcome, events) = overlaid().bring_with(&dir, Options::default());
    assert_eq!(steps(&outcome.unwrap()), ["Create b/run"]);
    let kept = home.join("kept/1/undo");
    assert_eq!(events, [Event::JournalDamaged { kept: Some(kept.clone()) }]);
    assert_eq!(std::fs::read_to_string(kept.join("0")).unwrap(), "an original");
    overlaid().assert_is_at(&dir);
    for gone in ["journal", "stage", "undo"] {
        assert!(!home.join(gone).exists(), "{gone}");
    }
}

#[test]
fn a_journal_of_another_version_is_not_guessed_at() {
    use sha1::Digest as _;
    let (_folder, dir) = place();
    overlaid().bring(&dir);
    let mut journal = b"overlaid tree journal 2\nwhatever".to_vec();
    let checksum = sha1::Sha1::digest(&journal);
    journal.extend_from_slice(&checksum);
    std::fs::write(dir.join(".overlaid/journal"), journal).unwrap();
    let before = stamps(&dir);
    let error = overlaid().bring_with(&dir, Options::default()).0.unwrap_err();
    assert!(error.to_string().contains("another version of the program"), "{error}");
    assert_eq!(stamps(&dir), before);
}
