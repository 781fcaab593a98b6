//! Locks as texts, what is refused, and how a lock answers.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::tree::Mode;
use crate::upstream::{Upstream, UpstreamError};

fn path(text: impl AsRef<[u8]>) -> UpstreamPath {
    UpstreamPath::parse(text).unwrap()
}

fn entry(byte: u8) -> Option<Entry> {
    Some(Entry { mode: Mode::File, id: BlobId::from_bytes([byte; 20]) })
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// A lock with something of everything.
fn full() -> Lock {
    let overlay = |text: &str, source| LockedOverlay {
        name: name(text),
        source,
        is_off: false,
        when: SortedSet::new(),
        own: SortedMap::new(),
    };
    let change = PathDiff { path: path("a"), before: entry(1), after: None };
    let mut files = overlay("whole", Source::Files);
    files.is_off = true;
    files.when = [("cuda", false), ("rocm", true)]
        .map(|(feature, negated)| Condition { feature: name(feature), negated })
        .into();
    files.own = [(PathBuf::from("overlays/up/a b.cu"), BlobId::from_bytes([7; 20]))].into();
    let gives = [(vec![name("whole"), name("pick")], entry(3)), (vec![name("pick")], None)];
    Lock {
        upstream: name("up"),
        pin: CommitId::from_bytes([1; 20]),
        tree: TreeId::from_bytes([2; 20]),
        submodules: [(path("lib"), Some(CommitId::from_bytes([3; 20]))), (path("none"), None)].into(),
        fingerprints: [
            (BTreeSet::new(), "0".repeat(64)),
            ([name("cuda"), name("fast")].into(), "a".repeat(64)),
        ]
        .into(),
        overlays: vec![
            files,
            overlay("patch", Source::Patch),
            overlay("gone", Source::Delete([path("x"), path("y")].into())),
            overlay("pick", Source::Commits(vec![(CommitId::from_bytes([4; 20]), vec![change])])),
            overlay(
                "held",
                Source::HeldBack(
                    CommitId::from_bytes([5; 20]),
                    [(path("h"), entry(9)), (path("i"), None)].into(),
                ),
            ),
        ],
        paths: [
            (path("a"), LockedPath { pin: entry(1), gives: gives.into() }),
            (path(b"caf\xe9 \"\n"), LockedPath { pin: None, gives: SortedSet::new() }),
            (path("dir/b "), LockedPath { pin: entry(2), gives: SortedSet::new() }),
        ]
        .into(),
        merges: [((entry(1), None, entry(2)), entry(3))].into(),
        vendored: [(BlobId::from_bytes([3; 20]), 17)].into(),
    }
}

#[test]
fn a_text_says_what_the_lock_says() {
    let lock = full();
    let text = render(&lock);
    assert!(text.is_ascii(), "{text}");
    assert_eq!(parse(Path::new("up.lock"), &text).unwrap(), lock);
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let text = render(&full());
    let id = "1".repeat(40);
    let line_of = |start: &str| text.lines().position(|line| line.starts_with(start)).unwrap() + 1;
    for (from, to, said) in [
        ("overlaid lock 1", "overlaid lock 9".to_owned(), "version 9 of the format is not known"),
        ("overlaid lock 1", "{}".to_owned(), "a lock starts with `overlaid lock 1`"),
        ("pin ", "pin 1234".to_owned(), "a commit: expected 40 digits"),
        ("pin ", format!("pin {id} more"), "there is more than belongs here"),
        ("pin ", format!("pin {id} "), "there is more than belongs here"),
        ("pin ", format!("pin  {id}"), "a commit is missing"),
        ("tree ", format!("pin {id}"), "nothing is named twice"),
        ("path a", "path a/../../b".to_owned(), "must stay inside the tree"),
        ("path a", "path /etc/passwd".to_owned(), "the path is absolute"),
        ("path a", "path sub/.GIT/hooks/x".to_owned(), "reaches into `.git`"),
        ("path a", "path .overlaid/state".to_owned(), "where its state is kept"),
        ("path a", format!("path {}", "a/".repeat(3000)), "longer than a file system allows"),
        ("path \"dir", "path a".to_owned(), "nothing is named twice"),
        ("path \"dir", "path \"open".to_owned(), "the quotes are not right"),
        ("path \"dir", "path ".to_owned(), "a path: it is missing"),
        ("at-pin", format!("at-pin 160000:{id}"), "a mode of 100644, 100755 or 120000"),
        ("at-pin", "at-pin 100644:12".to_owned(), "abbreviated"),
        ("gives", format!("gives 100644:{id} ../x"), "a name starts with a letter"),
        ("own ", format!("own {id} ../../etc/passwd"), "without `..`"),
        ("own ", format!("own {id} /etc/passwd"), "without `..`"),
        ("overlay patch", "overlay whole patch".to_owned(), "nothing is named twice"),
        (
            "overlay patch",
            "overlay patch magic".to_owned(),
            "expected files, patch, delete, commits or held-back",
        ),
        ("delete x", "hold absent x".to_owned(), "`hold` is not known in an overlay"),
        ("delete x", "delete y".to_owned(), "nothing is named twice"),
        ("vendored", format!("vendored {id} 007"), "expected a number of bytes"),
        ("merge", format!("merge absent absent 100644:{id}"), "an entry is missing"),
        ("fingerprint", "fingerprint abc -".to_owned(), "expected 64 digits"),
        ("when", ">>>>>>> theirs".to_owned(), "a conflict that was not resolved"),
        ("upstream", "upstream a\u{1b}[31m".to_owned(), "a name has only letters"),
    ] {
        let line = line_of(from);
        let lines = text.lines().enumerate();
        let bad: Vec<&str> =
            lines.map(|(index, old)| if index + 1 == line { to.as_str() } else { old }).collect();
        let problems = parse(Path::new("up.lock"), &(bad.join("\n") + "\n")).unwrap_err();
        let first = &problems[0];
        assert!(first.message.contains(said), "{to}: {}", first.message);
        let at = first.at.as_ref().unwrap().line_and_column().0;
        assert!(at == line || said.contains("twice"), "{to}: line {at}, not {line}");
        assert!(!first.render(false, 100).contains('\u{1b}'));
    }
}

#[test]
fn a_lock_without_its_head_or_with_half_a_path_is_none() {
    let text = render(&full());
    for start in ["upstream", "pin", "tree", "at-pin"] {
        let rest: Vec<&str> = text.lines().filter(|line| !line.starts_with(start)).collect();
        assert!(parse(Path::new("up.lock"), &rest.join("\n")).is_err(), "{start}");
    }
    assert!(parse(Path::new("up.lock"), "").is_err());
    let long = format!("{text}{}", "#\n".repeat(MAX_BYTES / 2));
    assert!(parse(Path::new("up.lock"), &long).unwrap_err()[0].message.contains("a lock has at most"));
}

proptest! {
    /// No text makes the reader fail in another way than by saying so, and what it takes it writes again.
    #[test]
    fn any_text_is_read_or_refused(edits in prop::collection::vec((0_usize..2000, ".{0,3}"), 0..4)) {
        let mut text = render(&full());
        for (at, with) in edits {
            let at = at % text.len();
            if text.is_char_boundary(at) && text.is_char_boundary(at + 1) {
                text.replace_range(at..=at, &with);
            }
        }
        if let Ok(lock) = parse(Path::new("up.lock"), &text) {
            prop_assert_eq!(parse(Path::new("up.lock"), &render(&lock)).unwrap(), lock);
        }
    }

    /// Any path that a tree can have survives.
    #[test]
    fn any_path_survives(bytes in prop::collection::vec(1_u8.., 1..40)) {
        if let Ok(path) = UpstreamPath::parse(&bytes) {
            let mut lock = full();
            lock.paths.insert(path, LockedPath { pin: entry(8), gives: SortedSet::new() });
            prop_assert_eq!(parse(Path::new("up.lock"), &render(&lock)).unwrap(), lock);
        }
    }
}

struct Nothing;

impl Contents for Nothing {
    fn content(&self, _: BlobId, paths: &[&UpstreamPath]) -> Result<Arc<[u8]>, String> {
        Err(format!("asked for {paths:?}"))
    }
}

#[test]
fn what_the_lock_does_not_have_is_never_absent() {
    let lock = full();
    let upstream = LockedUpstream::new(&lock, &Nothing);
    let (pin, held) = (lock.pin, CommitId::from_bytes([5; 20]));
    assert_eq!(upstream.entry(pin, &path("a")), Ok(entry(1)));
    assert_eq!(upstream.entry(pin, &path(b"caf\xe9 \"\n")), Ok(None));
    // A folder that holds a path of the lock.
    assert_eq!(upstream.entry(pin, &path("dir")), Ok(None));
    assert_eq!(upstream.entry(held, &path("h")), Ok(entry(9)));
    assert_eq!(upstream.entry(held, &path("i")), Ok(None));
    for (commit, other) in
        [(pin, "di"), (pin, "dir/c"), (pin, "h"), (held, "a"), (CommitId::from_bytes([9; 20]), "a")]
    {
        let answer = upstream.entry(commit, &path(other));
        assert!(matches!(answer, Err(UpstreamError::NotLocked { .. })), "{other}: {answer:?}");
    }
    assert_eq!(upstream.known_merge(entry(1), None, entry(2)), Some(entry(3)));
    assert_eq!(upstream.known_merge(entry(1), None, entry(3)), None);
    assert!(upstream.history(pin, None, &[path("a")]).is_err());
    let error = upstream.blob(BlobId::from_bytes([1; 20])).unwrap_err().to_string();
    assert!(error.contains("a at the pin") && error.contains("asked for [\"a\"]"), "{error}");
}
