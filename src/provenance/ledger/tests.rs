use std::collections::BTreeMap;

use super::texts::{ends_of, equal_ends};
use super::*;
use crate::id::{CommitId, UpstreamPath};
use crate::tree::Listing;
use crate::upstream::Commit;

/// Blobs by id; nothing else.
#[derive(Default)]
struct Blobs(BTreeMap<BlobId, Arc<[u8]>>);

impl Upstream for Blobs {
    fn entry(&self, _: CommitId, _: &UpstreamPath) -> Result<Option<Entry>, UpstreamError> {
        Err(nothing())
    }
    fn blob(&self, id: BlobId) -> Result<Arc<[u8]>, UpstreamError> {
        self.0.get(&id).cloned().ok_or_else(nothing)
    }
    fn listing(&self, _: CommitId) -> Result<Listing, UpstreamError> {
        Err(nothing())
    }
    fn commit(&self, _: CommitId) -> Result<Commit, UpstreamError> {
        Err(nothing())
    }
    fn is_ancestor(&self, _: CommitId, _: CommitId) -> Result<bool, UpstreamError> {
        Err(nothing())
    }
    fn merge_base(&self, _: CommitId, _: CommitId) -> Result<Option<CommitId>, UpstreamError> {
        Err(nothing())
    }
    fn history(
        &self,
        _: CommitId,
        _: Option<CommitId>,
        _: &[UpstreamPath],
    ) -> Result<Vec<Touch>, UpstreamError> {
        Err(nothing())
    }
}

fn nothing() -> UpstreamError {
    UpstreamError::Unreadable { what: "history".to_owned(), why: "there is none".to_owned() }
}

/// A history of one path: for each step the texts of the parents and the text after it.
fn follow(base: Option<&str>, steps: &[(&[&str], &str)], pin: Option<&str>) -> Ledger {
    let mut blobs = Blobs::default();
    let mut entry = |text: &str| {
        let content = Content::file(text.as_bytes());
        blobs.0.insert(content.entry().id, Arc::clone(&content.bytes));
        content.entry()
    };
    let (base, pin) = (base.map(&mut entry), pin.map(&mut entry));
    let touch = |(before, after): &(&[&str], &str)| Touch {
        commit: CommitId::from_bytes([1; 20]),
        path: UpstreamPath::parse("k.cu").unwrap(),
        before: before.iter().map(|text| Some(entry(text))).collect(),
        after: Some(entry(after)),
    };
    let touches: Vec<Touch> = steps.iter().map(touch).collect();
    let touches: Vec<&Touch> = touches.iter().collect();
    Ledger::follow(base, &touches, pin, &[], &blobs).unwrap()
}

/// What a content does with the steps between these versions, one after the other.
fn judge(versions: &[&str], ours: &str) -> Vec<Judgement> {
    let pairs: Vec<[&str; 1]> = versions.iter().map(|text| [*text]).collect();
    let steps: Vec<(&[&str], &str)> =
        (1..versions.len()).map(|index| (&pairs[index - 1][..], versions[index])).collect();
    let ledger = follow(versions.first().copied(), &steps, versions.last().copied());
    ledger.judge(Some(&Content::file(ours.as_bytes())))
}

use Judgement::{Included, Nothing, Undone};

#[test]
fn who_has_the_last_change_of_a_line_undoes_none_of_those_before() {
    let versions = ["int a = 1;\n", "int a = 2;\n", "int a = 3;\n"];
    assert_eq!(judge(&versions, "int a = 3;\nint ours;\n"), [Included, Included]);
    assert_eq!(judge(&versions, "int a = 2;\nint ours;\n"), [Included, Undone]);
    assert_eq!(judge(&versions, "int a = 1;\nint ours;\n"), [Undone, Undone]);
}

#[test]
fn a_change_that_upstream_took_back_is_not_undone_again() {
    let versions = ["int a = 1;\n", "int a = 2;\n", "int a = 1;\n"];
    assert_eq!(judge(&versions, "int a = 1;\nint ours;\n"), [Included, Included]);
    assert_eq!(judge(&versions, "int a = 2;\nint ours;\n"), [Included, Undone]);
}

#[test]
fn lines_that_were_only_removed_must_stay_away() {
    let versions = ["int a;\nint b;\nint c;\n", "int a;\nint c;\n"];
    assert_eq!(judge(&versions, "int a;\nint b;\nint c;\nint d;\n"), [Undone]);
    assert_eq!(judge(&versions, "int a;\nint c;\nint d;\n"), [Included]);
}

#[test]
fn a_part_that_is_missing_is_enough() {
    let versions = ["int a;\nint x;\nint y;\nint z;\nint b;\n", "int A;\nint x;\nint y;\nint z;\nint B;\n"];
    assert_eq!(judge(&versions, "int A;\nint x;\nint y;\nint z;\nint b;\n"), [Undone]);
}

#[test]
fn a_merge_has_only_what_none_of_its_parents_has() {
    let base = "int a;\nint x;\nint y;\nint z;\nint b;\n";
    let (left, right) = (base.replace("int a", "int A"), base.replace("int b", "int B"));
    let both = left.replace("int b", "int B");
    let evil = both.replace("int y", "int Y");
    let plain: [(&[&str], &str); 3] = [(&[base], &left), (&[base], &right), (&[&left, &right], &both)];
    let ledger = follow(Some(base), &plain, Some(&both));
    let ours = |text: &str| Some(Content::file(format!("{text}int ours;\n").into_bytes()));
    assert_eq!(ledger.judge(ours(&left).as_ref()), [Included, Undone, Nothing]);
    assert_eq!(ledger.judge(ours(&right).as_ref()), [Undone, Included, Nothing]);
    assert_eq!(ledger.judge(ours(&both).as_ref()), [Included, Included, Nothing]);
    let with_own: [(&[&str], &str); 3] = [(&[base], &left), (&[base], &right), (&[&left, &right], &evil)];
    let ledger = follow(Some(base), &with_own, Some(&evil));
    assert_eq!(ledger.judge(ours(&both).as_ref()), [Included, Included, Undone]);
    assert_eq!(ledger.judge(ours(&evil).as_ref()), [Included, Included, Included]);
}

#[test]
fn a_mode_is_a_change_too() {
    let file = Content::file(*b"a\n");
    let executable = Content { mode: Mode::Executable, ..file.clone() };
    let mut blobs = Blobs::default();
    blobs.0.insert(file.entry().id, Arc::clone(&file.bytes));
    let touch = Touch {
        commit: CommitId::from_bytes([1; 20]),
        path: UpstreamPath::parse("run.sh").unwrap(),
        before: vec![Some(file.entry())],
        after: Some(executable.entry()),
    };
    let ledger =
        Ledger::follow(Some(file.entry()), &[&touch], Some(executable.entry()), &[], &blobs).unwrap();
    assert_eq!(ledger.judge(Some(&file)), [Undone]);
    assert_eq!(ledger.judge(Some(&executable)), [Included]);
}

#[test]
fn what_is_no_text_is_there_as_a_whole_or_not_at_all() {
    let versions = ["\0one", "\0two", "\0three", "\0four"];
    assert_eq!(judge(&versions, "\0two"), [Included, Undone, Undone]);
    assert_eq!(judge(&versions, "\0ours"), [Undone, Undone, Undone]);
    assert_eq!(judge(&versions, "\0four"), [Included, Included, Included]);
}

#[test]
fn lost_lines_are_known_with_the_step_that_lost_them_last() {
    let ledger = follow(
        Some("int a;\nint b;\n"),
        &[
            (&["int a;\nint b;\n"], "int a;\n"),
            (&["int a;\n"], "int a;\n  int b;\n"),
            (&["int a;\n  int b;\n"], "int a;\nint c;\n"),
        ],
        Some("int a;\nint c;\n"),
    );
    assert_eq!(ledger.lost(), HashMap::from([(&b"int b;"[..], 2)]));
}

#[test]
fn equal_ends_are_whole_lines() {
    for (old, new, expected) in [
        ("a\nb\nc\n", "a\nx\nc\n", (1, 1)),
        ("a\nb\nc\n", "a\nc\n", (1, 1)),
        ("a\nb\n", "a\nbb\n", (1, 0)),
        ("a\nb\n", "a\nab\n", (1, 0)),
        ("b\n", "ab\n", (0, 0)),
        ("a\nb", "a\nb\n", (1, 0)),
        ("a\nb\n", "a\nb", (1, 0)),
        ("a\n", "a\na\n", (1, 0)),
        ("x\na\n", "a\n", (0, 1)),
        ("", "a\n", (0, 0)),
        ("a\n", "", (0, 0)),
        ("a\nb\n", "a\nb\n", (2, 0)),
    ] {
        let ends: Vec<u32> = ends_of(lines(old.as_bytes()), 0).collect();
        assert_eq!(equal_ends(old.as_bytes(), &ends, new.as_bytes()), expected, "{old:?} {new:?}");
    }
}
