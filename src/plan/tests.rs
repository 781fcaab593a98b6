use std::sync::Arc;

use super::*;
use crate::tree::Content;

fn file(text: &str) -> Entry {
    Content::file(text.as_bytes()).entry()
}

fn executable(text: &str) -> Entry {
    Entry { mode: Mode::Executable, ..file(text) }
}

fn link(text: &str) -> Entry {
    Entry { mode: Mode::Symlink, ..file(text) }
}

fn submodule() -> Entry {
    Entry { mode: Mode::Submodule, ..file("commit") }
}

fn path(text: &str) -> UpstreamPath {
    UpstreamPath::parse(text).unwrap()
}

fn behind() -> Found {
    Found::Behind { ancestor: "a".into(), link: true }
}

/// Pin, target and record of a path that no overlay names, and what is found there.
fn plain(pin: Option<Entry>, target: Option<Entry>, recorded: Option<Entry>, found: Found) -> Settled {
    settle(&Claims { pin, target, recorded, known: true, overlaid: false }, &found)
}

fn overlaid(pin: Option<Entry>, target: Option<Entry>, recorded: Option<Entry>, found: Found) -> Settled {
    settle(&Claims { pin, target, recorded, known: true, overlaid: true }, &found)
}

/// As [`overlaid`], in a tree of somebody else, where no earlier run looked at the path.
fn adopted(pin: Option<Entry>, target: Option<Entry>, found: Found) -> Settled {
    settle(&Claims { pin, target, recorded: None, known: false, overlaid: true }, &found)
}

#[test]
fn a_local_edit_of_a_path_that_need_not_change_is_left_alone() {
    let pin = Some(file("pin"));
    for found in [
        Found::Entry(file("mine")),
        Found::Entry(executable("pin")),
        Found::Entry(link("pin")),
        Found::Folder,
        Found::Special("a socket"),
        behind(),
    ] {
        assert_eq!(plain(pin, pin, pin, found.clone()), Settled::LeaveAlone, "{found:?}");
    }
}

#[test]
fn a_local_edit_of_an_overlaid_path_is_refused() {
    let (pin, ours) = (Some(file("pin")), Some(file("ours")));
    let mine = Found::Entry(file("mine"));
    let edited = Difference::Edited { found: file("mine"), expected: file("ours") };
    assert_eq!(overlaid(pin, ours, ours, mine.clone()), Settled::Refused(edited.clone()));
    // Also where the overlay goes away, or the pin's bytes change under the edit.
    assert_eq!(plain(pin, pin, ours, mine.clone()), Settled::Refused(edited.clone()));
    assert_eq!(plain(pin, None, ours, mine.clone()), Settled::Refused(edited));
    let edited = Difference::Edited { found: file("mine"), expected: file("pin") };
    assert_eq!(overlaid(pin, ours, None, mine), Settled::Refused(edited));
}

#[test]
fn bytes_that_can_be_had_again_are_replaced() {
    let (pin, ours, older) = (file("pin"), file("ours"), file("older"));
    for found in [pin, older, executable("pin"), executable("ours")] {
        let settled = overlaid(Some(pin), Some(ours), Some(older), Found::Entry(found));
        assert_eq!(settled, Settled::Step, "{found:?}");
    }
    assert_eq!(plain(Some(pin), None, Some(ours), Found::Entry(ours)), Settled::Step);
    // The same bytes as a link are another thing.
    assert!(matches!(
        overlaid(Some(pin), Some(ours), None, Found::Entry(link("pin"))),
        Settled::Refused(Difference::Edited { .. })
    ));
}

#[test]
fn what_is_right_needs_no_step_whatever_was_recorded() {
    let ours = Some(file("ours"));
    assert_eq!(overlaid(None, ours, None, Found::Entry(file("ours"))), Settled::Right);
    assert_eq!(overlaid(ours, None, ours, Found::Absent), Settled::Right);
    assert_eq!(plain(None, None, ours, behind()), Settled::Right);
    assert_eq!(plain(None, None, ours, Found::Folder), Settled::Right);
}

#[test]
fn what_is_missing_is_written() {
    let pin = Some(file("pin"));
    assert_eq!(plain(pin, pin, pin, Found::Absent), Settled::Step);
    assert_eq!(overlaid(None, pin, None, Found::Absent), Settled::Step);
}

#[test]
fn what_is_missing_in_a_tree_of_others_is_refused_unless_the_pin_misses_it_too() {
    let (pin, ours) = (Some(file("pin")), Some(file("ours")));
    assert_eq!(adopted(pin, ours, Found::Absent), Settled::Refused(Difference::Missing));
    assert_eq!(adopted(pin, pin, Found::Absent), Settled::Refused(Difference::Missing));
    assert_eq!(adopted(None, ours, Found::Absent), Settled::Step);
    assert_eq!(adopted(pin, None, Found::Absent), Settled::Right);
    assert_eq!(adopted(pin, ours, Found::Entry(file("pin"))), Settled::Step);
    assert_eq!(overlaid(pin, ours, ours, Found::Absent), Settled::Step);
}

#[test]
fn an_unknown_file_where_a_new_path_goes_is_refused() {
    let unknown = Settled::Refused(Difference::Unknown { found: file("mine") });
    assert_eq!(plain(Some(file("new")), Some(file("new")), None, Found::Entry(file("mine"))), {
        Settled::Refused(Difference::Edited { found: file("mine"), expected: file("new") })
    });
    assert_eq!(overlaid(None, Some(file("ours")), None, Found::Entry(file("mine"))), unknown);
    assert_eq!(overlaid(None, None, None, Found::Entry(file("mine"))), unknown);
}

#[test]
fn folders_and_links_in_the_way_are_blocked_until_the_whole_plan_is_known() {
    let ours = Some(file("ours"));
    assert_eq!(overlaid(None, ours, None, Found::Folder), Settled::Blocked(Difference::Folder));
    assert!(matches!(overlaid(None, ours, None, behind()), Settled::Blocked(Difference::Behind { .. })));
}

#[test]
fn a_submodule_is_any_folder() {
    let module = Some(submodule());
    assert_eq!(plain(module, module, None, Found::Folder), Settled::Right);
    assert_eq!(plain(module, module, None, Found::Absent), Settled::Step);
    assert_eq!(plain(None, None, module, Found::Folder), Settled::Step);
    assert!(matches!(plain(module, module, None, Found::Entry(file("mine"))), Settled::Refused(_)));
}

#[test]
fn steps_say_what_they_do() {
    let step = |from: Found, to| Step { path: path("a"), from, to, keep: false }.action();
    assert_eq!(step(Found::Absent, Some(file("x"))), Action::Create);
    assert_eq!(step(Found::Entry(file("x")), Some(file("y"))), Action::Write);
    assert_eq!(step(Found::Entry(file("x")), Some(executable("x"))), Action::Chmod);
    assert_eq!(step(Found::Entry(file("x")), Some(link("x"))), Action::Write);
    assert_eq!(step(Found::Entry(file("x")), None), Action::Remove);
    assert_eq!(step(Found::Absent, Some(submodule())), Action::MakeFolder);
}

fn wanted(listing: &[&str], changes: &[(&str, bool)]) -> Wanted {
    let content = || Some(Content { mode: Mode::File, bytes: Arc::from(*b"ours") });
    Wanted {
        upstream: Name::parse("up").unwrap(),
        commit: CommitId::from_bytes([7; 20]),
        listing: listing.iter().map(|p| (path(p), file(p))).collect(),
        changes: changes.iter().map(|(p, there)| (path(p), there.then(content).flatten())).collect(),
        owners: SortedMap::new(),
        fingerprint: String::new(),
    }
}

#[test]
fn a_file_cannot_be_a_folder_too() {
    let overlap = |listing: &[&str], changes: &[(&str, bool)]| {
        let wanted = wanted(listing, changes);
        wanted.overlap().map(|(a, b)| (a.as_bytes().to_string(), b.as_bytes().to_string()))
    };
    let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
    assert_eq!(overlap(&["a", "b/c"], &[("a/x", true)]), pair("a/x", "a"));
    assert_eq!(overlap(&["a", "b/c"], &[("a/x", true), ("a", false)]), None);
    assert_eq!(overlap(&["a", "b-c", "b/c", "b0"], &[("b", true)]), pair("b", "b/c"));
    assert_eq!(overlap(&["a", "b-c", "b/c", "b0"], &[("b", true), ("b/c", false)]), None);
    assert_eq!(overlap(&["a", "b/c/d"], &[("b/c/e", true), ("b/f", true)]), None);
}

#[test]
fn the_first_path_in_a_folder() {
    let wanted = wanted(&["a", "b/c", "b/d"], &[("b/c", false), ("e/f", true)]);
    assert_eq!(wanted.first_below(b"b".into()), Some(path("b/d")));
    assert_eq!(wanted.first_below(b"e".into()), Some(path("e/f")));
    assert_eq!(wanted.first_below(b"a".into()), None);
}
