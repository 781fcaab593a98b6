//! Trees that we make: first run, second run, overlays coming and going, the pin moving.

use std::time::{Duration, SystemTime};

use super::*;

const PIN: &[(&str, &str)] = &[
    ("CMakeLists.txt", "project(up)"),
    ("a", "a"),
    ("bin/run", "x:#!/bin/sh"),
    ("empty", ""),
    ("lib/deep/er/file.h", "h"),
    ("lib/deep/link", "l:../../a"),
    ("lib/nowhere", "l:/does/not/exist"),
    ("lib-x", "between lib and lib/ in byte order"),
    ("third", "s:module"),
    ("ü b\tc", "names are bytes"),
];

fn overlaid() -> Goal {
    goal(PIN, &[("a", "ours"), ("lib/deep/er/new.h", "new"), ("lib-x", "-"), ("bin/run", "#!/bin/sh")])
}

#[test]
fn a_first_run_makes_the_tree_and_a_second_touches_nothing() {
    let (folder, dir) = place();
    for goal in [goal(PIN, &[]), overlaid()] {
        assert!(matches!(goal.bring(&dir), Outcome::Changed(_)));
        goal.assert_is_at(&dir);
        assert!(dir.join("third").is_dir());
        let before = stamps(folder.path());
        std::thread::sleep(Duration::from_millis(20));
        assert!(matches!(goal.bring(&dir), Outcome::Unchanged(plan) if plan.steps.is_empty()));
        assert_eq!(stamps(folder.path()), before);
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn an_empty_directory_is_filled() {
    let (_folder, dir) = place();
    std::fs::create_dir(&dir).unwrap();
    assert!(matches!(overlaid().bring(&dir), Outcome::Changed(_)));
    overlaid().assert_is_at(&dir);
    let before = stamps(&dir);
    assert!(matches!(overlaid().bring(&dir), Outcome::Unchanged(_)));
    assert_eq!(stamps(&dir), before);
}

#[test]
fn overlays_come_and_go_and_only_their_paths_are_touched() {
    let (_folder, dir) = place();
    let pristine = goal(PIN, &[]);
    pristine.bring(&dir);
    let untouched = |at: &str| stamps(&dir.join(at));
    let kept: Vec<_> =
        ["CMakeLists.txt", "empty", "lib/deep/er/file.h", "lib/deep/link"].map(untouched).into();
    let old = mtime(&dir.join("a"));

    let outcome = overlaid().bring(&dir);
    assert_eq!(steps(&outcome), ["Write a", "Chmod bin/run", "Remove lib-x", "Create lib/deep/er/new.h"]);
    overlaid().assert_is_at(&dir);
    let ours = mtime(&dir.join("a"));
    assert!(ours > old);

    let outcome = pristine.bring(&dir);
    assert_eq!(steps(&outcome), ["Write a", "Chmod bin/run", "Create lib-x", "Remove lib/deep/er/new.h"]);
    pristine.assert_is_at(&dir);
    assert!(mtime(&dir.join("a")) > ours);
    let now: Vec<_> =
        ["CMakeLists.txt", "empty", "lib/deep/er/file.h", "lib/deep/link"].map(untouched).into();
    assert_eq!(now, kept);
}

#[test]
fn changed_content_is_newer_than_what_was_there_even_if_that_is_from_the_future() {
    let (_folder, dir) = place();
    goal(PIN, &[("a", "one")]).bring(&dir);
    let future = SystemTime::now() + Duration::from_secs(3600);
    std::fs::File::open(dir.join("a")).unwrap().set_modified(future).unwrap();
    goal(PIN, &[("a", "two")]).bring(&dir);
    assert!(std::fs::metadata(dir.join("a")).unwrap().modified().unwrap() > future);
}

#[test]
fn a_change_of_mode_alone_keeps_the_time() {
    let (_folder, dir) = place();
    goal(PIN, &[]).bring(&dir);
    let old = mtime(&dir.join("bin/run"));
    overlaid().bring(&dir);
    assert_eq!(mtime(&dir.join("bin/run")), old);
}

#[test]
fn the_pin_moves_and_files_folders_and_links_change_places() {
    let (_folder, dir) = place();
    let first = goal(
        &[
            ("file", "f"),
            ("folder/a", "1"),
            ("folder/b/c", "2"),
            ("link", "l:file"),
            ("module", "s:1"),
            ("gone/x", "y"),
        ],
        &[],
    );
    let second =
        goal(&[("file/x", "f"), ("folder", "l:file"), ("link/deep/y", "z"), ("module", "now a file")], &[]);
    for _ in 0..2 {
        first.bring(&dir);
        first.assert_is_at(&dir);
        assert!(dir.join("module").is_dir());
        second.bring(&dir);
        second.assert_is_at(&dir);
        assert!(!dir.join("gone").exists());
    }
}

#[test]
fn what_is_missing_is_written_again() {
    let (_folder, dir) = place();
    overlaid().bring(&dir);
    std::fs::remove_dir_all(dir.join("lib")).unwrap();
    std::fs::remove_file(dir.join("a")).unwrap();
    assert!(matches!(overlaid().bring(&dir), Outcome::Changed(_)));
    overlaid().assert_is_at(&dir);
}

#[test]
fn local_edits_of_other_paths_and_files_of_others_are_left_alone() {
    let (_folder, dir) = place();
    overlaid().bring(&dir);
    write(&dir.join("CMakeLists.txt"), "edited");
    write(&dir.join("build/out.o"), "object");
    std::fs::create_dir(dir.join("lib/empty")).unwrap();
    let Outcome::Unchanged(plan) = overlaid().bring(&dir) else { panic!() };
    assert_eq!(plan.left_alone, [path("CMakeLists.txt")]);
    assert!(matches!(goal(PIN, &[]).bring(&dir), Outcome::Changed(_)));
    assert_eq!(texts(&dir)["CMakeLists.txt"], "edited");
    assert_eq!(texts(&dir)["build/out.o"], "object");
    assert!(dir.join("lib/empty").is_dir());
}

#[test]
fn local_edits_of_overlaid_paths_stop_everything() {
    let (_folder, dir) = place();
    overlaid().bring(&dir);
    write(&dir.join("a"), "edited");
    let before = stamps(&dir);
    let next = goal(PIN, &[("a", "ours"), ("lib/deep/er/new.h", "newer"), ("lib-x", "-")]);
    let outcome = next.bring(&dir);
    assert_eq!(
        refusals(&outcome),
        [format!(
            "a: local edit: blob {} on disk, {} expected",
            BlobId::of(b"edited").short(),
            BlobId::of(b"ours").short()
        )]
    );
    assert_eq!(stamps(&dir), before);
    // As does the overlay's end.
    assert!(matches!(goal(PIN, &[]).bring(&dir), Outcome::Refused(_)));
    assert_eq!(stamps(&dir), before);
}

#[test]
fn force_keeps_a_copy_and_says_where() {
    let (_folder, dir) = place();
    overlaid().bring(&dir);
    write(&dir.join("a"), "edited");
    let (outcome, events) = overlaid().force(&dir);
    assert_eq!(steps(&outcome), ["Write a"]);
    overlaid().assert_is_at(&dir);
    let copy = dir.join(".overlaid/kept/1/a");
    assert_eq!(events, [Event::Kept { path: path("a"), copy: copy.clone() }]);
    assert_eq!(std::fs::read_to_string(copy).unwrap(), "edited");
    // A second time, beside the first.
    write(&dir.join("a"), "edited again");
    overlaid().force(&dir);
    assert_eq!(std::fs::read_to_string(dir.join(".overlaid/kept/2/a")).unwrap(), "edited again");
    overlaid().assert_is_at(&dir);
}

#[test]
fn a_file_edited_back_or_touched_is_no_edit() {
    let (_folder, dir) = place();
    overlaid().bring(&dir);
    write(&dir.join("a"), "ours");
    write(&dir.join("lib/deep/er/file.h"), "h");
    assert!(matches!(overlaid().bring(&dir), Outcome::Unchanged(plan) if plan.left_alone.is_empty()));
    // Upstream's bytes on an overlaid path can be had again.
    write(&dir.join("a"), "a");
    assert_eq!(steps(&overlaid().bring(&dir)), ["Write a"]);
}

#[test]
fn an_edit_of_the_same_size_right_after_a_run_is_seen() {
    let (_folder, dir) = place();
    overlaid().bring(&dir);
    for round in 0..40 {
        write(&dir.join("a"), if round % 2 == 0 { "edit" } else { "tide" });
        assert!(matches!(overlaid().bring(&dir), Outcome::Refused(_)), "round {round}");
        write(&dir.join("a"), "a");
        assert!(matches!(overlaid().bring(&dir), Outcome::Changed(_)));
    }
}

#[test]
fn a_directory_of_somebody_else_is_not_touched() {
    let (folder, dir) = place();
    write(&dir.join("theirs"), "x");
    let before = stamps(folder.path());
    assert_eq!(overlaid().bring(&dir), Outcome::NotOurs);
    assert_eq!(overlaid().force(&dir).0, Outcome::NotOurs);
    assert_eq!(stamps(folder.path()), before);
}

#[test]
fn a_tree_of_another_upstream_is_not_touched() {
    let (_folder, dir) = place();
    overlaid().bring(&dir);
    let before = stamps(&dir);
    let mut other = overlaid();
    other.wanted.upstream = Name::parse("other").unwrap();
    let error = other.bring_with(&dir, Options::default()).0.unwrap_err();
    assert!(error.to_string().ends_with("it is of a tree of `up`, not of `other`"), "{error}");
    assert_eq!(stamps(&dir), before);
}

#[test]
fn a_dry_run_says_what_would_happen_and_writes_nothing() {
    let (folder, dir) = place();
    let dry = Options { dry_run: true, ..Options::default() };
    let Outcome::Changed(plan) = overlaid().bring_with(&dir, dry).0.unwrap() else { panic!() };
    assert_eq!(plan.steps.len(), 10);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    goal(PIN, &[]).bring(&dir);
    let before = stamps(folder.path());
    let would = overlaid().bring_with(&dir, dry).0.unwrap();
    assert_eq!(stamps(folder.path()), before);
    assert_eq!(would, overlaid().bring(&dir));
}

#[test]
fn a_failure_of_the_upstream_leaves_nothing_behind() {
    let (folder, dir) = place();
    let mut broken = goal(PIN, &[]);
    broken.upstream.blobs.remove(&BlobId::of(b"h"));
    let error = broken.bring_with(&dir, Options::default()).0.unwrap_err();
    assert!(error.to_string().starts_with("no content for `lib/deep/er/file.h`: blob "), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

    let damaged: Arc<[u8]> = Arc::from(*b"other bytes");
    broken.upstream.blobs.insert(BlobId::of(b"h"), damaged);
    let error = broken.bring_with(&dir, Options::default()).0.unwrap_err();
    assert!(
        error.to_string().starts_with("the upstream store is damaged: for `lib/deep/er/file.h`"),
        "{error}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

    // The same on a tree that is there.
    goal(&PIN[..2], &[]).bring(&dir);
    let before = texts(&dir);
    assert!(broken.bring_with(&dir, Options::default()).0.is_err());
    assert_eq!(texts(&dir), before);
    assert!(matches!(goal(&PIN[..2], &[]).bring(&dir), Outcome::Unchanged(_)));
}

#[test]
fn the_attestation_says_what_the_tree_is() {
    let (_folder, dir) = place();
    overlaid().bring(&dir);
    let text = std::fs::read_to_string(dir.join(".overlaid").join(ATTESTATION_FILE)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["schema"], "overlaid.attestation.v1");
    assert_eq!(json["pin"], overlaid().wanted.commit.to_string());
    assert_eq!(json["overlaid"][0]["path"], "a");
    assert_eq!(json["overlaid"][0]["id"], BlobId::of(b"ours").to_string());
    assert_eq!(json["overlaid"][0]["overlays"][0], "fix");
    assert_eq!(json["overlaid"][2]["path"], "lib-x");
    assert!(json["overlaid"][2].get("id").is_none());
    std::fs::remove_file(dir.join(".overlaid").join(ATTESTATION_FILE)).unwrap();
    overlaid().bring(&dir);
    assert_eq!(std::fs::read_to_string(dir.join(".overlaid").join(ATTESTATION_FILE)).unwrap(), text);
}

#[test]
fn runs_on_one_tree_wait_and_say_so() {
    let (_folder, dir) = place();
    overlaid().bring(&dir);
    let lock = std::fs::File::open(dir.join(".overlaid/lock")).unwrap();
    lock.lock().unwrap();
    let thread = std::thread::spawn({
        let dir = dir.clone();
        move || overlaid().bring_with(&dir, Options::default()).1
    });
    std::thread::sleep(Duration::from_millis(1300));
    lock.unlock().unwrap();
    assert_eq!(thread.join().unwrap(), [Event::Waiting { dir }]);
}

#[test]
fn many_runs_at_once_end_in_one_of_their_trees() {
    let (folder, dir) = place();
    let variants: Vec<Goal> =
        (0..6).map(|n| goal(PIN, &[("a", &format!("variant {n}")), (&format!("new/{n}"), "x")])).collect();
    std::thread::scope(|scope| {
        for variant in &variants {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert!(!matches!(variant.bring(&dir), Outcome::Refused(_) | Outcome::NotOurs));
                }
            });
        }
    });
    let right = variants.iter().filter(|variant| compare(&dir, &variant.wanted).unwrap().is_empty()).count();
    assert_eq!(right, 1);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_tree_inside_a_repository_is_not_seen_by_it() {
    let (folder, dir) = place();
    overlaid().bring(&dir);
    overlaid().bring(&dir);
    let git = |args: &[&str]| {
        let output = std::process::Command::new("git")
            .args(args)
            .current_dir(folder.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    assert!(!git(&["status", "--porcelain", "-uall"]).contains(".overlaid"));
}
