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
    ledger.judge(Some(&Content::file(ours.as_bytes())), None)
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
fn what_upstream_took_back_is_judged_by_what_came_after() {
    let base = "int a;\nint b;\nint m;\nint c;\n";
    let with = |line: &str| base.replace("int b;", line);
    let (fix, own, ours) = (with("int FIX;"), with("int own;"), format!("int ours;\n{base}"));
    assert_eq!(judge(&[base, &fix, base, &own], &ours), [Included, Included, Undone]);
    // The revert changes another line, too, so it brings no content back that there was.
    let more = base.replace("int c;", "int C;");
    let more_own = own.replace("int c;", "int C;");
    assert_eq!(judge(&[base, &fix, &more, &more_own], &ours), [Included, Undone, Undone]);
    let with_more = format!("int ours;\n{more}");
    assert_eq!(judge(&[base, &fix, &more, &more_own], &with_more), [Included, Included, Undone]);
    // What was taken back was there again: who has the fix undoes the revert.
    let with_fix = format!("int ours;\n{fix}");
    assert_eq!(judge(&[base, &fix, base, &own], &with_fix), [Included, Undone, Undone]);
    // Once more in and out.
    assert_eq!(judge(&[base, &fix, base, &fix, base, &own], &ours)[..4], [Included; 4]);
    assert_eq!(judge(&[base, &fix, base, &fix], &ours), [Included, Included, Undone]);
}

#[test]
fn lines_that_come_back_are_known_by_their_place() {
    let base = "int a;\nint b;\nint b2;\nint c;\nint d;\nint e;\n";
    let ours = format!("int ours;\n{base}");
    let without = base.replace("int b;\n", "");
    // The same text elsewhere is another line: the first commit is still the one that took ours out.
    let elsewhere = without.replace("int e;\n", "int e;\nint b;\n");
    let gone = elsewhere.replace("int e;\nint b;\n", "int e;\nint f;\n");
    assert_eq!(judge(&[base, &without, &elsewhere, &gone], &ours)[0], Undone);
    // Taken out alone, and brought back with the line beside it changed.
    let back = base.replace("int b2;", "int B2;");
    let gone = back.replace("int b;", "int own;");
    assert_eq!(
        judge(&[base, &without, &back, &gone], &format!("int ours;\n{back}")),
        [Included, Included, Undone]
    );
    // A part of a change that was taken back.
    let fix = base.replace("int b;\nint b2;\nint c;\n", "int B;\nint B2;\nint C;\n");
    let part = fix.replace("int B2;", "int b2;");
    let own = part.replace("int b2;", "int own2;");
    let with_part = format!("int ours;\n{part}");
    assert_eq!(judge(&[base, &fix, &part, &own], &with_part), [Included, Included, Undone]);
}

#[test]
fn a_line_that_only_another_branch_brought_back_is_not_back() {
    let base = "int a;\nint b;\nint c;\n";
    let without = base.replace("int b;\n", "");
    let steps: [(&[&str], &str); 4] =
        [(&[base], &without), (&[base], &without), (&[&without], base), (&[&without, base], &without)];
    let ledger = follow(Some(base), &steps, Some(&without));
    let judged = ledger.judge(Some(&Content::file(format!("int ours;\n{base}").into_bytes())), None);
    assert_eq!(judged[0], Undone);
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
    assert_eq!(ledger.judge(ours(&left).as_ref(), None), [Included, Undone, Nothing]);
    assert_eq!(ledger.judge(ours(&right).as_ref(), None), [Undone, Included, Nothing]);
    assert_eq!(ledger.judge(ours(&both).as_ref(), None), [Included, Included, Nothing]);
    let with_own: [(&[&str], &str); 3] = [(&[base], &left), (&[base], &right), (&[&left, &right], &evil)];
    let ledger = follow(Some(base), &with_own, Some(&evil));
    assert_eq!(ledger.judge(ours(&both).as_ref(), None), [Included, Included, Undone]);
    assert_eq!(ledger.judge(ours(&evil).as_ref(), None), [Included, Included, Included]);
}

#[test]
fn a_merge_of_a_moved_block_and_a_change_in_it_has_nothing_of_its_own() {
    let (block, rest) = ("int a1;\nint a2;\nint a3;\n", "int b1;\nint b2;\nint b3;\nint b4;\nint b5;\n");
    let base = format!("{block}{rest}");
    let (left, right) = (format!("{rest}{block}"), base.replace("a2", "fixed"));
    let both = left.replace("a2", "fixed");
    let steps: [(&[&str], &str); 3] = [(&[&base], &left), (&[&base], &right), (&[&left, &right], &both)];
    let ledger = follow(Some(&base), &steps, Some(&both));
    for ours in [&base, &left, &right, &both] {
        let ours = Content::file(format!("{ours}int ours;\n").into_bytes());
        assert_eq!(ledger.judge(Some(&ours), None)[2], Nothing);
    }
    // What it has beside is its own.
    let evil = both.replace("b5", "evil");
    let steps: [(&[&str], &str); 3] = [(&[&base], &left), (&[&base], &right), (&[&left, &right], &evil)];
    let ledger = follow(Some(&base), &steps, Some(&evil));
    assert_eq!(ledger.judge(Some(&Content::file(both.into_bytes())), None)[2], Undone);
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
    assert_eq!(ledger.judge(Some(&file), None), [Undone]);
    assert_eq!(ledger.judge(Some(&executable), None), [Included]);
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
    let lost = ledger.lost().into_iter().map(|(text, (step, _))| (text, step));
    assert_eq!(lost.collect::<Vec<_>>(), [(&b"int b;"[..], 2)]);
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
