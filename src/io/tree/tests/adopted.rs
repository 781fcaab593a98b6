//! Trees that others made: a tarball, a checkout, what FetchContent left.

use super::*;

const PIN: &[(&str, &str)] =
    &[("a", "a"), ("b", "b"), ("c/d", "d"), ("c/run", "x:run"), ("other", "not unpacked")];

/// A tree of somebody else: all but one file, and a file of theirs.
fn theirs(dir: &Path) {
    for (at, text) in
        [("a", "a"), ("b", "b"), ("c/d", "d"), ("c/run", "run"), ("build/x.o", "o"), (".git/HEAD", "x")]
    {
        write(&dir.join(at), text);
    }
}

fn overlaid() -> Goal {
    goal(PIN, &[("a", "ours"), ("b", "-"), ("c/new", "new"), ("c/run", "x:our run")])
}

#[test]
fn only_overlaid_paths_are_touched_and_come_back() {
    let (_folder, dir) = place();
    theirs(&dir);
    let other: Vec<_> = ["c/d", "build/x.o", ".git/HEAD"].map(|at| stamps(&dir.join(at))).into();
    let outcome = overlaid().adopt(&dir);
    assert_eq!(steps(&outcome), ["Write a", "Remove b", "Create c/new", "Write c/run"]);
    let mut expected: BTreeMap<String, String> = BTreeMap::new();
    for (at, text) in
        [("a", "ours"), ("c/d", "d"), ("c/new", "new"), ("c/run", "x:our run"), ("build/x.o", "o")]
    {
        expected.insert(at.to_owned(), text.to_owned());
    }
    assert_eq!(texts(&dir), expected);
    let before = stamps(&dir);
    assert!(matches!(overlaid().adopt(&dir), Outcome::Unchanged(_)));
    assert_eq!(stamps(&dir), before);

    // Also without asking for adoption: the state says so.
    let outcome = goal(PIN, &[]).bring(&dir);
    assert_eq!(steps(&outcome), ["Write a", "Create b", "Remove c/new", "Write c/run"]);
    for (at, text) in [("a", "a"), ("b", "b"), ("c/run", "x:run")] {
        expected.insert(at.to_owned(), text.to_owned());
    }
    expected.remove("c/new");
    assert_eq!(texts(&dir), expected);
    let now: Vec<_> = ["c/d", "build/x.o", ".git/HEAD"].map(|at| stamps(&dir.join(at))).into();
    assert_eq!(now, other);
    assert!(matches!(goal(PIN, &[]).bring(&dir), Outcome::Unchanged(_)));
}

#[test]
fn a_file_that_is_replaced_keeps_its_permissions_but_for_the_right_to_run_it() {
    let (_folder, dir) = place();
    theirs(&dir);
    let set = |at: &str, bits| {
        std::fs::set_permissions(dir.join(at), std::fs::Permissions::from_mode(bits)).unwrap();
    };
    set("a", 0o664);
    set("c/run", 0o640);
    let bits = |at: &str| std::fs::metadata(dir.join(at)).unwrap().permissions().mode() & 0o7777;
    overlaid().adopt(&dir);
    assert_eq!((bits("a"), bits("c/run")), (0o664, 0o750), "applied");
    goal(PIN, &[]).adopt(&dir);
    assert_eq!((bits("a"), bits("c/run")), (0o664, 0o750), "restored, as upstream has it");
    goal(PIN, &[("c/run", "no program")]).adopt(&dir);
    assert_eq!(bits("c/run"), 0o640);
    set("a", 0o600);
    overlaid().adopt(&dir);
    assert_eq!(bits("a"), 0o600);
}

#[test]
fn one_overlay_goes_and_another_stays() {
    let (_folder, dir) = place();
    theirs(&dir);
    overlaid().adopt(&dir);
    let outcome = goal(PIN, &[("c/new", "newer")]).adopt(&dir);
    assert_eq!(steps(&outcome), ["Write a", "Create b", "Write c/new", "Write c/run"]);
    assert_eq!(steps(&goal(PIN, &[]).adopt(&dir)), ["Remove c/new"]);
}

#[test]
fn a_path_that_is_not_at_the_pins_bytes_is_refused() {
    let (_folder, dir) = place();
    theirs(&dir);
    write(&dir.join("a"), "edited");
    write(&dir.join("c/new"), "mine");
    let before = texts(&dir);
    let outcome = overlaid().adopt(&dir);
    assert_eq!(
        refusals(&outcome),
        [
            format!(
                "a: local edit: blob {} on disk, {} expected",
                BlobId::of(b"edited").short(),
                BlobId::of(b"a").short()
            ),
            format!(
                "c/new: unknown file: blob {} is neither the upstream's nor ours",
                BlobId::of(b"mine").short()
            ),
        ]
    );
    assert_eq!(texts(&dir), before);
    let options = Options { adopt: true, force: true, dry_run: false };
    let (outcome, events) = overlaid().bring_with(&dir, options);
    assert!(matches!(outcome.unwrap(), Outcome::Changed(_)));
    assert_eq!(events.len(), 2);
    assert_eq!(std::fs::read_to_string(dir.join(".overlaid/kept/1/a")).unwrap(), "edited");
    assert_eq!(std::fs::read_to_string(dir.join(".overlaid/kept/1/c/new")).unwrap(), "mine");
    assert_eq!(texts(&dir)["a"], "ours");
}

#[test]
fn a_path_that_has_the_wanted_bytes_already_is_taken_over() {
    let (_folder, dir) = place();
    theirs(&dir);
    write(&dir.join("a"), "ours");
    assert_eq!(steps(&overlaid().adopt(&dir)), ["Remove b", "Create c/new", "Write c/run"]);
    assert_eq!(steps(&goal(PIN, &[]).adopt(&dir)), ["Write a", "Create b", "Remove c/new", "Write c/run"]);
}

#[test]
fn without_overlays_nothing_is_left_in_it() {
    let (folder, dir) = place();
    theirs(&dir);
    let before = stamps(folder.path());
    assert!(matches!(goal(PIN, &[]).adopt(&dir), Outcome::Unchanged(_)));
    assert_eq!(stamps(folder.path()), before);
    let dry = Options { adopt: true, dry_run: true, force: false };
    assert_eq!(steps(&overlaid().bring_with(&dir, dry).0.unwrap()).len(), 4);
    assert_eq!(stamps(folder.path()), before);
}

#[test]
fn its_owner_fetches_it_again() {
    let (_folder, dir) = place();
    theirs(&dir);
    overlaid().adopt(&dir);
    // All files anew, our folder survives.
    theirs(&dir);
    write(&dir.join("c/new"), "new");
    assert_eq!(steps(&overlaid().adopt(&dir)), ["Write a", "Remove b", "Write c/run"]);
}
