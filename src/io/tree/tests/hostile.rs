//! Things that stand in the way or were put there to lead a write astray.

use std::os::unix::fs::symlink;

use super::*;

const PIN: &[(&str, &str)] = &[("a/b/c", "c"), ("a/b/d", "d"), ("e", "e")];

fn overlaid() -> Goal {
    goal(PIN, &[("a/b/c", "ours"), ("n/new", "new")])
}

/// A tree of the pin, and a folder outside of it that must not change.
fn pinned() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let (folder, dir) = place();
    goal(PIN, &[]).bring(&dir);
    let outside = folder.path().join("outside");
    write(&outside.join("c"), "c");
    (folder, dir, outside)
}

#[test]
fn a_link_in_place_of_a_folder_is_not_followed() {
    let (_folder, dir, outside) = pinned();
    std::fs::remove_dir_all(dir.join("a/b")).unwrap();
    symlink(&outside, dir.join("a/b")).unwrap();
    symlink(&outside, dir.join("n")).unwrap();
    let before = stamps(&outside);
    assert_eq!(
        refusals(&overlaid().bring(&dir)),
        ["a/b/c: `a/b` is a symbolic link", "n/new: `n` is a symbolic link",]
    );
    // Even without overlays nothing is written through it: the path is as the user left it.
    let Outcome::Unchanged(plan) = goal(PIN, &[]).bring(&dir) else { panic!() };
    assert_eq!(plan.left_alone, [path("a/b/c"), path("a/b/d")]);
    let (outcome, events) = overlaid().force(&dir);
    assert!(matches!(outcome, Outcome::Changed(_)));
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(texts(&dir)["a/b/c"], "ours");
    assert_eq!(stamps(&outside), before);
    assert_eq!(std::fs::read_link(dir.join(".overlaid/kept/1/a/b")).unwrap(), outside);
}

#[test]
fn a_link_in_place_of_a_file_is_replaced_or_refused_but_not_followed() {
    let (_folder, dir, outside) = pinned();
    std::fs::remove_file(dir.join("a/b/c")).unwrap();
    symlink(outside.join("c"), dir.join("a/b/c")).unwrap();
    let before = stamps(&outside);
    assert!(refusals(&overlaid().bring(&dir))[0].starts_with("a/b/c: local edit"));
    overlaid().force(&dir);
    assert_eq!(texts(&dir)["a/b/c"], "ours");
    assert_eq!(stamps(&outside), before);
}

#[test]
fn our_own_folder_is_not_followed_either() {
    let (_folder, dir) = place();
    let outside = tempfile::tempdir().unwrap();
    write(&dir.join("e"), "e");
    symlink(outside.path(), dir.join(".overlaid")).unwrap();
    let goal = goal(PIN, &[("e", "ours")]);
    for options in [Options { adopt: true, ..Options::default() }, Options::default()] {
        let error = goal.bring_with(&dir, options).0.unwrap_err();
        assert!(error.to_string().contains(".overlaid"), "{error}");
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn folders_and_special_files_in_the_way_are_refused_and_can_be_moved_aside() {
    let (_folder, dir, _) = pinned();
    std::fs::remove_file(dir.join("a/b/c")).unwrap();
    write(&dir.join("a/b/c/mine/deep"), "mine");
    let pipe = dir.join("n");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o644.into(), 0).unwrap();
    let before = stamps(&dir);
    assert_eq!(
        refusals(&overlaid().bring(&dir)),
        ["a/b/c: a folder with other files is in its place", "n/new: `n` is no folder",]
    );
    assert_eq!(stamps(&dir), before);
    overlaid().force(&dir);
    overlaid().assert_is_at(&dir);
    assert_eq!(std::fs::read_to_string(dir.join(".overlaid/kept/1/a/b/c/mine/deep")).unwrap(), "mine");
    assert!(std::fs::symlink_metadata(dir.join(".overlaid/kept/1/n")).is_ok());
}

#[test]
fn an_upstream_file_becomes_a_folder_where_somebody_has_one() {
    let (_folder, dir, _) = pinned();
    write(&dir.join("new/mine"), "mine");
    let next = goal(&[("a/b/c", "c"), ("new", "a file now")], &[]);
    assert_eq!(refusals(&next.bring(&dir)), ["new: a folder with other files is in its place"]);
    // An empty folder is nobody's content.
    std::fs::remove_file(dir.join("new/mine")).unwrap();
    next.bring(&dir);
    next.assert_is_at(&dir);
}

#[test]
fn a_folder_of_the_upstream_with_files_of_others_in_it_does_not_become_a_file() {
    let (_folder, dir, _) = pinned();
    write(&dir.join("a/b/mine"), "mine");
    let next = goal(&[("a", "a file now")], &[]);
    assert_eq!(refusals(&next.bring(&dir)), ["a: a folder with other files is in its place"]);
    goal(PIN, &[]).bring(&dir);
    let (_, events) = next.force(&dir);
    next.assert_is_at(&dir);
    assert_eq!(events.len(), 1);
    assert_eq!(std::fs::read_to_string(dir.join(".overlaid/kept/1/a/b/mine")).unwrap(), "mine");
}

#[test]
fn a_wanted_file_cannot_be_a_wanted_folder() {
    let (_folder, dir, _) = pinned();
    let error = goal(PIN, &[("e/x", "x")]).bring_with(&dir, Options::default()).0.unwrap_err();
    assert_eq!(error.to_string(), "`e/x` and `e` cannot be there together");
}

#[test]
fn an_upstream_with_a_link_and_paths_below_it_fails_and_writes_nothing_through_it() {
    let (folder, dir) = place();
    let outside = folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let evil = goal(&[("l", &format!("l:{}", outside.display())), ("l/x", "x"), ("z", "z")], &[]);
    assert!(evil.bring_with(&dir, Options::default()).0.is_err());
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    assert!(!dir.exists());
    goal(&[("z", "z")], &[]).bring(&dir);
    assert!(!matches!(evil.bring_with(&dir, Options::default()).0, Ok(Outcome::Changed(_))));
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    assert_eq!(texts(&dir).into_keys().collect::<Vec<_>>(), ["z"]);
}

#[test]
fn links_with_impossible_targets_are_refused() {
    for target in ["l:", "l:a\0b"] {
        let (_folder, dir) = place();
        let error = goal(&[("x", target)], &[]).bring_with(&dir, Options::default()).0.unwrap_err();
        assert!(matches!(error, TreeError::BadLink { .. }), "{error}");
        assert!(!dir.exists());
    }
}

#[test]
fn every_kind_of_difference_is_found() {
    use observe::{Difference, Kind};
    let (_folder, dir) = place();
    let goal = goal(
        &[
            ("a", "a"),
            ("b", "b"),
            ("c", "c"),
            ("d", "d"),
            ("e/f", "f"),
            ("g", "g"),
            ("l", "l:a"),
            ("m", "s:m"),
            ("n", "s:n"),
        ],
        &[],
    );
    goal.bring(&dir);
    write(&dir.join("b"), "B");
    std::fs::set_permissions(dir.join("c"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::remove_file(dir.join("d")).unwrap();
    std::fs::remove_dir_all(dir.join("e")).unwrap();
    symlink("a", dir.join("e")).unwrap();
    std::fs::remove_file(dir.join("g")).unwrap();
    std::fs::create_dir(dir.join("g")).unwrap();
    std::fs::remove_file(dir.join("l")).unwrap();
    symlink("b", dir.join("l")).unwrap();
    std::fs::remove_dir(dir.join("m")).unwrap();
    write(&dir.join("m"), "no folder");
    write(&dir.join("n/.git/HEAD"), "a submodule that somebody checked out");
    write(&dir.join("x/.git"), "x");
    write(&dir.join(".git/HEAD"), "x");
    std::fs::create_dir(dir.join("empty")).unwrap();
    let expected = [
        ("b", Kind::Content { wanted: BlobId::of(b"b"), found: BlobId::of(b"B") }),
        ("c", Kind::Mode { wanted: Mode::File, found: Mode::Executable }),
        ("d", Kind::Missing),
        ("e", Kind::Extra),
        ("e/f", Kind::Missing),
        ("g", Kind::Type { wanted: Mode::File, found: "a folder" }),
        ("l", Kind::Content { wanted: BlobId::of(b"a"), found: BlobId::of(b"b") }),
        ("m", Kind::Type { wanted: Mode::Submodule, found: "a file" }),
        ("x/.git", Kind::Extra),
    ];
    let expected: Vec<_> =
        expected.into_iter().map(|(at, kind)| Difference { path: at.into(), kind }).collect();
    assert_eq!(compare(&dir, &goal.wanted).unwrap(), expected);
}

/// While a folder and a link to somewhere else change places all the time, runs go on. Each may do its work or refuse; none
/// may write, remove or rename anything through the link.
#[test]
fn nothing_is_written_outside_while_a_folder_and_a_link_change_places() {
    use std::sync::atomic::{AtomicBool, Ordering};
    const AT_LEAST: usize = 25;
    let (_folder, dir, outside) = pinned();
    write(&outside.join("d"), "d");
    write(&outside.join("deep/f"), "f");
    let spare = dir.with_file_name("spare");
    symlink(&outside, &spare).unwrap();
    let before = stamps(&outside);
    let change_places = || {
        let exchange = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(rustix::fs::CWD, dir.join("a/b"), rustix::fs::CWD, &spare, exchange)
    };
    // Replaces, adds (also in a folder that is to be made) and removes below the folder.
    let ours = [("a/b/c", "ours"), ("a/b/d", "-"), ("a/b/new", "new"), ("a/b/deep/f", "f"), ("a/b/n/m", "m")];
    let (applied, restored) = (goal(PIN, &ours), goal(PIN, &[]));
    let stop = AtomicBool::new(false);
    let (mut done, mut stopped) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                // A run may have moved the folder for a moment.
                let _ = change_places();
                std::thread::sleep(std::time::Duration::from_micros(50));
            }
        });
        let start = std::time::Instant::now();
        while (done < AT_LEAST || stopped < AT_LEAST) && start.elapsed().as_secs() < 20 {
            for goal in [&applied, &restored] {
                match goal.bring_with(&dir, Options::default()).0 {
                    Ok(Outcome::Changed(_)) => done += 1,
                    Ok(Outcome::Refused(_)) | Err(_) => stopped += 1,
                    Ok(_) => {}
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(stamps(&outside), before);
    assert!(
        done > 0 && stopped > 0,
        "{done} runs did their work and {stopped} did not: the race was not one"
    );
    if std::fs::symlink_metadata(dir.join("a/b")).is_ok_and(|meta| meta.is_symlink()) {
        change_places().unwrap();
    }
    applied.force(&dir);
    assert_eq!(texts(&dir)["a/b/c"], "ours");
    assert_eq!(texts(&dir)["a/b/n/m"], "m");
    assert_eq!(stamps(&outside), before);
}
