//! What users of other tools complain about, one test each.

use overlaid::id::UpstreamPath;
use overlaid::overlay::diff::{Hint, ParseErrorWhy, RejectWhy, Rejection, parse, render};
use overlaid::tree::{Content, Mode};

use super::generate::Tree;
use super::git::git_apply;
use super::our_apply;

fn tree(files: &[(&str, &[u8])]) -> Tree {
    let file = |&(path, bytes): &(&str, &[u8])| (UpstreamPath::parse(path).unwrap(), Content::file(bytes));
    files.iter().map(file).collect()
}

fn change(path: &str, old: &[u8], new: &[u8]) -> Vec<u8> {
    let path = UpstreamPath::parse(path).unwrap();
    render(Some((&path, &Content::file(old))), Some((&path, &Content::file(new))))
}

/// Both git and we make this of it.
fn applies(before: &Tree, patch: &[u8], after: &Tree) {
    assert_eq!(git_apply(before, patch).as_ref(), Ok(after), "git");
    assert_eq!(our_apply(before, patch).map(|(tree, _)| tree).as_ref(), Ok(after), "ours");
}

/// Both git and we refuse it; gives our reason.
fn refused(before: &Tree, patch: &[u8]) -> RejectWhy {
    assert!(git_apply(before, patch).is_err(), "git takes it");
    only_we_refuse(before, patch)
}

fn only_we_refuse(before: &Tree, patch: &[u8]) -> RejectWhy {
    let rejections = our_apply(before, patch).map(|_| ()).unwrap_err();
    assert_eq!(rejections.len(), 1, "{rejections:#?}");
    rejections[0].why.clone()
}

fn parse_error(patch: &[u8]) -> (usize, ParseErrorWhy) {
    let error = parse(patch).unwrap_err();
    (error.line, error.why)
}

const NUMBERS: &[u8] = b"1\n2\n3\n4\n5\n6\n7\n8\n9\n";

#[test]
fn a_deletion_only_patch_is_applied_where_its_lines_are() {
    let patch = change("x", NUMBERS, b"1\n2\n3\n4\n6\n7\n8\n9\n");
    applies(&tree(&[("x", NUMBERS)]), &patch, &tree(&[("x", b"1\n2\n3\n4\n6\n7\n8\n9\n")]));
}

#[test]
fn a_deletion_only_patch_on_a_file_that_never_had_the_lines_is_not_called_applied() {
    let patch = b"--- a/x\n+++ b/x\n@@ -3,5 +3,4 @@\n 3\n 4\n-gone\n 5\n 6\n";
    let why = refused(&tree(&[("x", NUMBERS)]), patch);
    assert!(matches!(why, RejectWhy::Hunk { hint: None, .. }), "{why:?}");
}

#[test]
fn a_patch_whose_every_hunk_is_there_says_so() {
    let new = b"1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
    let patch = change("x", NUMBERS, new);
    assert_eq!(refused(&tree(&[("x", new)]), &patch), RejectWhy::AlreadyApplied);
    // Further down too, where no id can tell.
    let moved = [&b"0\n0\n"[..], new].concat();
    assert_eq!(refused(&tree(&[("x", &moved)]), &patch), RejectWhy::AlreadyApplied);
}

#[test]
fn a_new_file_that_is_there_is_applied_or_in_the_way() {
    let path = UpstreamPath::parse("x").unwrap();
    let patch = render(None, Some((&path, &Content::file(&b"one\n"[..]))));
    assert_eq!(refused(&tree(&[("x", b"one\n")]), &patch), RejectWhy::AlreadyApplied);
    assert_eq!(refused(&tree(&[("x", b"two\n")]), &patch), RejectWhy::AlreadyExists);
}

#[test]
fn a_missing_file_is_missing_whatever_the_patch_does() {
    for new in [&b"1\n"[..], b""] {
        assert_eq!(refused(&tree(&[("y", b"")]), &change("x", b"1\n2\n", new)), RejectWhy::Missing);
    }
}

#[test]
fn a_file_keeps_its_missing_newline_and_gains_or_loses_one_only_by_the_patch() {
    for (old, new) in
        [(&b"a\nb"[..], &b"a\nc"[..]), (b"a\nb", b"a\nb\n"), (b"a\nb\n", b"a\nb"), (b"b", b"a\nb")]
    {
        applies(&tree(&[("x", old)]), &change("x", old, new), &tree(&[("x", new)]));
    }
    let why = refused(&tree(&[("x", b"a\nb")]), &change("x", b"a\nb\n", b"a\nc\n"));
    assert!(matches!(why, RejectWhy::Hunk { hint: Some(Hint::Newline), .. }), "{why:?}");
}

#[test]
fn a_context_line_without_newline_never_joins_two_lines() {
    let patch = b"--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n+new\n a\n b\n\\ No newline at end of file\n";
    let before = tree(&[("x", b"a\nb\nc\n")]);
    // Git writes `bc` here.
    assert_eq!(git_apply(&before, patch), Ok(tree(&[("x", b"new\na\nbc\n")])));
    let why = only_we_refuse(&before, patch);
    assert!(matches!(why, RejectWhy::Hunk { hint: Some(Hint::Newline), .. }), "{why:?}");
}

#[test]
fn bytes_stay_as_they_are() {
    for (old, new) in [
        (&b"a\r\nb\r\n"[..], &b"a\r\nc\r\n"[..]),
        (b"a\r\nb\nc\r\n", b"a\r\nb\nd\n"),
        (b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfa\nc\n"),
        (b"gr\xfc\xdfe\nb\n", b"gr\xfc\xdfe\nc\n"),
        (b"\xc4\xe3\xba\xc3\nb\n", b"\xc4\xe3\xba\xc3\n\xca\xc0\n"),
        (b"a\n\x0c\nb\n", b"a\n\x0c\nc\n"),
    ] {
        applies(&tree(&[("x", old)]), &change("x", old, new), &tree(&[("x", new)]));
    }
}

#[test]
fn other_line_ends_are_named_as_the_reason() {
    let patch = change("x", b"a\nb\n", b"a\nc\n");
    let why = refused(&tree(&[("x", b"a\r\nb\r\n")]), &patch);
    assert!(
        matches!(why, RejectWhy::Hunk { hint: Some(Hint::LineEndings { in_patch: false }), .. }),
        "{why:?}"
    );
    let patch = change("x", b"a\r\nb\r\n", b"a\r\nc\r\n");
    let why = refused(&tree(&[("x", b"a\nb\n")]), &patch);
    assert!(
        matches!(why, RejectWhy::Hunk { hint: Some(Hint::LineEndings { in_patch: true }), .. }),
        "{why:?}"
    );
    let why = refused(&tree(&[("x", b" a\nb\n")]), &change("x", b"a\nb\n", b"a\nc\n"));
    assert!(matches!(why, RejectWhy::Hunk { hint: Some(Hint::WhiteSpace), .. }), "{why:?}");
}

#[test]
fn a_utf16_patch_is_an_error_that_says_so() {
    let patch = String::from_utf8(change("x", b"a\n", b"b\n")).unwrap();
    let units = |order: fn(u16) -> [u8; 2]| patch.encode_utf16().flat_map(order).collect::<Vec<u8>>();
    let (little, big) = (units(u16::to_le_bytes), units(u16::to_be_bytes));
    for utf16 in [[&b"\xff\xfe"[..], &little].concat(), [&b"\xfe\xff"[..], &big].concat(), little, big] {
        assert_eq!(parse_error(&utf16), (1, ParseErrorWhy::Utf16));
    }
}

#[test]
fn a_byte_order_mark_before_the_patch_hides_nothing() {
    let patch = b"\xef\xbb\xbfdiff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n";
    let (after, _) = our_apply(&tree(&[("x", b"1\n")]), patch).unwrap();
    assert_eq!(after, tree(&[("y", b"1\n")]));
}

#[test]
fn odd_names_are_read_as_git_writes_them() {
    for name in
        ["a b", "a  b ", "ä", "q\"q", "t\tt", "n\nn", "b\\s", "d e/f g", "\u{7}", "a/b b/b", "-x", "dev/null"]
    {
        applies(&tree(&[(name, b"1\n")]), &change(name, b"1\n", b"2\n"), &tree(&[(name, b"2\n")]));
        let mut executable = tree(&[(name, b"1\n")]);
        executable.values_mut().for_each(|content| content.mode = Mode::Executable);
        let path = UpstreamPath::parse(name).unwrap();
        let mode = render(Some((&path, &Content::file(&b"1\n"[..]))), executable.get_key_value(&path));
        applies(&tree(&[(name, b"1\n")]), &mode, &executable);
    }
}

#[test]
fn a_new_executable_is_executable() {
    let path = UpstreamPath::parse("run").unwrap();
    let content = Content { mode: Mode::Executable, bytes: b"#!/bin/sh\n"[..].into() };
    let patch = render(None, Some((&path, &content)));
    applies(&Tree::new(), &patch, &Tree::from([(path, content)]));
}

#[test]
fn a_pure_rename_renames() {
    let patch = b"diff --git a/x b/d/y\nsimilarity index 100%\nrename from x\nrename to d/y\n";
    applies(&tree(&[("x", b"1\n")]), patch, &tree(&[("d/y", b"1\n")]));
    let why = refused(&tree(&[("x", b"1\n"), ("d/y", b"2\n")]), patch);
    assert_eq!(why, RejectWhy::AlreadyExists);
}

#[test]
fn there_is_no_fuzz_and_an_offset_is_reported() {
    let patch = change("x", NUMBERS, b"1\n2\n3\n4\nfive\n6\n7\n8\n9\n");
    let moved = [&b"0\n0\n"[..], NUMBERS].concat();
    let before = tree(&[("x", &moved)]);
    assert_eq!(our_apply(&before, &patch).unwrap().1, 1);
    let other_context = tree(&[("x", b"1\n2\nthree\n4\n5\n6\n7\n8\n9\n")]);
    let why = refused(&other_context, &patch);
    let RejectWhy::Hunk { number: 1, of: 1, near, .. } = &why else { panic!("{why:?}") };
    assert_eq!(
        (near.line, &near.expected[..], near.found.as_ref().map(|found| &found[..])),
        (3, &b"3\n"[..], Some(&b"three\n"[..]))
    );
    assert_eq!(
        why.to_string(),
        "hunk 1 of 1 does not apply: it expects \"3\" at line 3, the file has \"three\""
    );
}

#[test]
fn an_insertion_without_context_is_not_put_anywhere() {
    let patch = b"--- a/x\n+++ b/x\n@@ -2,0 +3 @@\n+new\n";
    let before = tree(&[("x", b"1\n2\n3\n4\n")]);
    // Git appends it.
    assert_eq!(git_apply(&before, patch), Ok(tree(&[("x", b"1\n2\n3\n4\nnew\n")])));
    assert_eq!(only_we_refuse(&before, patch), RejectWhy::NoContext { number: 1 });
    applies(&tree(&[("x", b"1\n2\n")]), patch, &tree(&[("x", b"1\n2\nnew\n")]));
}

#[test]
fn lines_beyond_the_counts_are_not_dropped() {
    let patch = b"--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n 1\n+new\n 2\n+lost\n";
    // Git applies the rest.
    assert_eq!(git_apply(&tree(&[("x", b"1\n2\n3\n")]), patch), Ok(tree(&[("x", b"1\nnew\n2\n3\n")])));
    assert_eq!(parse_error(patch), (7, ParseErrorWhy::HunkTooLong));
}

#[test]
fn one_file_that_fails_refuses_the_whole_patch() {
    let patch =
        [change("a", b"1\n", b"2\n"), change("b", b"1\n", b"2\n"), change("c", b"1\n", b"2\n")].concat();
    let before = tree(&[("a", b"1\n"), ("b", b"other\n"), ("c", b"1\n")]);
    assert!(git_apply(&before, &patch).is_err());
    let rejections = our_apply(&before, &patch).map(|_| ()).unwrap_err();
    assert_eq!(rejections.iter().map(|rejection| rejection.path.to_string()).collect::<Vec<_>>(), ["b"]);
    assert_eq!(rejections[0].patch_line, 12);
}

#[test]
fn all_parts_of_a_patch_apply_not_only_the_first() {
    let parts =
        [change("a", b"1\n", b"2\n"), b"some prose\n\n".to_vec(), change("b", b"1\n", b"2\n")].concat();
    applies(&tree(&[("a", b"1\n"), ("b", b"1\n")]), &parts, &tree(&[("a", b"2\n"), ("b", b"2\n")]));
}

#[test]
fn two_parts_for_one_file_build_on_each_other() {
    let patch = [change("x", b"1\n", b"2\n"), change("x", b"2\n", b"3\n")].concat();
    applies(&tree(&[("x", b"1\n")]), &patch, &tree(&[("x", b"3\n")]));
    let rename = b"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n";
    let patch = [&rename[..], &change("y", b"1\n", b"2\n")].concat();
    applies(&tree(&[("x", b"1\n")]), &patch, &tree(&[("y", b"2\n")]));
    let patch = [&rename[..], &change("x", b"1\n", b"2\n")].concat();
    assert_eq!(refused(&tree(&[("x", b"1\n")]), &patch), RejectWhy::GoneEarlier);
}

#[test]
fn a_change_before_a_rename_is_not_lost() {
    let rename = b"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n";
    let patch = [&change("x", b"1\n", b"2\n")[..], rename].concat();
    let before = tree(&[("x", b"1\n")]);
    // Git renames the file as it was.
    assert_eq!(git_apply(&before, &patch), Ok(tree(&[("x", b"2\n"), ("y", b"1\n")])));
    assert_eq!(only_we_refuse(&before, &patch), RejectWhy::RenamedAfterEdit);
}

#[test]
fn two_files_change_places_and_a_copy_comes_from_the_file_before() {
    let swap = b"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n\
                 diff --git a/y b/x\nsimilarity index 100%\nrename from y\nrename to x\n";
    applies(&tree(&[("x", b"1\n"), ("y", b"2\n")]), swap, &tree(&[("x", b"2\n"), ("y", b"1\n")]));
    let copy = b"diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n";
    let patch = [&change("x", b"1\n", b"2\n")[..], copy].concat();
    applies(&tree(&[("x", b"1\n")]), &patch, &tree(&[("x", b"2\n"), ("y", b"1\n")]));
}

#[test]
fn the_wrong_strip_level_is_named() {
    let found =
        |path: &str, strip| RejectWhy::WrongStripLevel { found: UpstreamPath::parse(path).unwrap(), strip };
    let without_prefix = b"--- src/x.c\n+++ src/x.c\n@@ -1 +1 @@\n-1\n+2\n";
    assert_eq!(refused(&tree(&[("src/x.c", b"1\n")]), without_prefix), found("src/x.c", 0));
    let too_deep = b"--- a/pkg/src/x.c\n+++ b/pkg/src/x.c\n@@ -1 +1 @@\n-1\n+2\n";
    assert_eq!(refused(&tree(&[("src/x.c", b"1\n")]), too_deep), found("src/x.c", 2));
    assert_eq!(refused(&tree(&[("y.c", b"1\n")]), too_deep), RejectWhy::Missing);
}

#[test]
fn prefixes_of_all_tools_are_read() {
    let after = tree(&[("src/x.c", b"2\n")]);
    for (old, new) in [
        ("a/src/x.c", "b/src/x.c"),
        ("i/src/x.c", "w/src/x.c"),
        ("c/src/x.c", "o/src/x.c"),
        ("lib.orig/src/x.c", "lib/src/x.c"),
        (
            "lib/src/x.c.orig\t2010-07-05 19:41:17.620000023 -0500",
            "lib/src/x.c\t2010-07-06 19:41:17.620000023 -0500",
        ),
        ("a/src/x.c", "b/src/x.c\t(working copy)"),
    ] {
        let patch = format!("--- {old}\n+++ {new}\n@@ -1 +1 @@\n-1\n+2\n");
        applies(&tree(&[("src/x.c", b"1\n")]), patch.as_bytes(), &after);
    }
    applies(&tree(&[("x", b"1\n")]), b"--- x\n+++ x\n@@ -1 +1 @@\n-1\n+2\n", &tree(&[("x", b"2\n")]));
}

#[test]
fn prose_around_a_patch_is_kept_apart() {
    let mail = b"From 0123 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: [PATCH] x\n\nWhy:\n--- not a name\n---\n x | 2 +-\n\n";
    let patch = [&mail[..], &change("x", b"1\n", b"2\n"), b"-- \n2.39.5\n\n"].concat();
    applies(&tree(&[("x", b"1\n")]), &patch, &tree(&[("x", b"2\n")]));
    assert_eq!(parse(&patch).unwrap().preamble, mail);
    let dep3 = b"Description: fix\nOrigin: https://example.org\n\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n";
    applies(&tree(&[("x", b"1\n")]), dep3, &tree(&[("x", b"2\n")]));
}

#[test]
fn a_mail_that_is_encoded_is_not_applied_as_it_stands() {
    let header = b"Subject: x\nContent-Transfer-Encoding: quoted-printable\n\n";
    let patch = [&header[..], b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+x =3D 2\n"].concat();
    assert_eq!(parse_error(&patch), (1, ParseErrorWhy::EncodedMail));
}

#[test]
fn what_is_rendered_is_the_same_at_every_run() {
    let old: Vec<u8> = (0..2000).flat_map(|line| format!("{}\n", line % 7).into_bytes()).collect();
    let new: Vec<u8> = (0..2000).flat_map(|line| format!("{}\n", line % 5).into_bytes()).collect();
    assert_eq!(change("x", &old, &new), change("x", &old, &new));
    applies(&tree(&[("x", &old)]), &change("x", &old, &new), &tree(&[("x", &new)]));
}

#[test]
fn a_binary_part_is_for_one_content_only() {
    let patch = change("x", b"\0one", b"\0two");
    applies(&tree(&[("x", b"\0one")]), &patch, &tree(&[("x", b"\0two")]));
    assert!(matches!(refused(&tree(&[("x", b"\0six")]), &patch), RejectWhy::BinaryForOther { .. }));
    assert_eq!(refused(&tree(&[("x", b"\0two")]), &patch), RejectWhy::AlreadyApplied);
    let omitted = b"diff --git a/x b/x\nindex 1111111..2222222 100644\nBinary files a/x and b/x differ\n";
    assert_eq!(refused(&tree(&[("x", b"\0one")]), omitted), RejectWhy::BinaryWithoutIds);
}

#[test]
fn links_and_folders_in_the_way_are_seen() {
    let path = UpstreamPath::parse("d").unwrap();
    let link = Content { mode: Mode::Symlink, bytes: b"elsewhere"[..].into() };
    let below = UpstreamPath::parse("d/x").unwrap();
    let patch = render(None, Some((&below, &Content::file(&b"1\n"[..]))));
    let before = Tree::from([(path.clone(), link.clone())]);
    assert_eq!(refused(&before, &patch), RejectWhy::FolderIsLink { folder: path.clone() });
    let before = tree(&[("d", b"file\n")]);
    assert_eq!(refused(&before, &patch), RejectWhy::FolderIsFile { folder: path.clone() });
    // A link made by the same patch does not lead anywhere either.
    let both = [render(None, Some((&path, &link))), patch].concat();
    assert!(matches!(refused(&Tree::new(), &both), RejectWhy::FolderIsLink { .. }));
    let text = change("d", b"1\n", b"2\n");
    let before = Tree::from([(path, link)]);
    assert!(matches!(refused(&before, &text), RejectWhy::WrongType { .. }));
}

#[test]
fn what_leaves_the_tree_is_refused() {
    for name in ["/etc/x", "a/../../x", "a/.git/config", "a/x/.GIT/y", "a/."] {
        let patch = format!("--- {name}\n+++ {name}\n@@ -1 +1 @@\n-1\n+2\n");
        let (line, why) = parse_error(patch.as_bytes());
        assert!(matches!(why, ParseErrorWhy::Path { .. }), "{name}: {why}");
        assert_eq!(line, 1);
        let patch = format!("diff --git {name} {name}\nold mode 100644\nnew mode 100755\n");
        assert!(matches!(parse_error(patch.as_bytes()).1, ParseErrorWhy::Path { .. }), "{name}");
    }
    let rename = b"diff --git a/x b/x\nsimilarity index 100%\nrename from x\nrename to ../x\n";
    assert!(matches!(parse_error(rename).1, ParseErrorWhy::Path { .. }));
}

#[test]
fn a_submodule_is_not_patched() {
    let patch = b"diff --git a/m b/m\nindex 1111111..2222222 160000\n--- a/m\n+++ b/m\n@@ -1 +1 @@\n\
                  -Subproject commit 1111111111111111111111111111111111111111\n\
                  +Subproject commit 2222222222222222222222222222222222222222\n";
    assert_eq!(only_we_refuse(&Tree::new(), patch), RejectWhy::Submodule);
}

#[test]
fn damage_is_an_error_with_its_line() {
    use ParseErrorWhy as Why;
    let head = "--- a/x\n+++ b/x\n";
    for (patch, line, why) in [
        (String::new(), 1, Why::Empty),
        (" \n\n".into(), 1, Why::Empty),
        ("hello\n".into(), 1, Why::NoDiff),
        (head.into(), 3, Why::NoHunks),
        (format!("{head}@@ -1 +1 @\n-1\n+2\n"), 3, Why::HunkHeader),
        (format!("{head}@@ -1,2 +1,2 @@\n-1\n+2\n"), 6, Why::HunkTruncated),
        (format!("{head}@@ -1 +1 @@\n-1\n+2"), 5, Why::NoNewlineAtEnd),
        (format!("{head}@@ -1 +1 @@\n-1\n-2\n+2\n"), 5, Why::HunkTooLong),
        (format!("{head}@@ -1,2 +1,2 @@\n-1\n+2\n@@ -9 +9 @@\n-1\n+2\n"), 6, Why::HunkTooShort),
        (format!("{head}@@ -1 +1 @@\n 1\n"), 3, Why::HunkChangesNothing),
        (format!("{head}@@ -1 +1 @@\n-1\n*2\n"), 5, Why::HunkLine),
        (format!("{head}@@ -1 +1,2 @@\n-1\n+1\n\\ No newline at end of file\n+2\n"), 7, Why::LineAfterEnd),
        ("@@ -1 +1 @@\n-1\n+2\n".into(), 1, Why::HunkWithoutFile),
        ("diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n".into(), 1, Why::Combined),
        ("diff --git a/x b/x\nindex 1111111..2222222 100644\n".into(), 3, Why::NoHunks),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100644\n".into(), 1, Why::ChangesNothing),
        ("diff --git x x\nold mode 100644\nnew mode 100755\n".into(), 1, Why::NoFileName),
        ("diff --git a/x b/x\nnew file mode 100644\nrename from x\n".into(), 3, Why::HeaderContradicts),
        ("diff --git a/x b/x\nnew file mode 040000\n".into(), 2, Why::Mode { mode: "040000".into() }),
        ("diff --git a/x b/x\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+1\n".into(), 2, Why::DevNull),
        (
            "new file mode 100755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+1\n".into(),
            1,
            Why::HeaderWithoutFile,
        ),
        ("--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-1\n+1\n".into(), 3, Why::NewFileHasOldLines),
        ("--- a/x\n+++ /dev/null\n@@ -1 +1 @@\n-1\n+1\n".into(), 3, Why::DeletedFileHasNewLines),
    ] {
        assert_eq!(parse_error(patch.as_bytes()), (line, why), "{patch}");
    }
    let mut binary = change("x", b"\0one", b"\0two");
    let at = binary.windows(7).position(|window| window == b"literal").unwrap();
    binary[at + 12] ^= 1;
    assert_eq!(parse_error(&binary).1, Why::BinaryCorrupt);
}

#[test]
fn messages_are_sentences_with_path_and_line() {
    let rejection = |before: &Tree, patch: &[u8]| -> Rejection {
        our_apply(before, patch).map(|_| ()).unwrap_err().remove(0)
    };
    let patch = change("x", NUMBERS, b"1\n2\n3\n4\nfive\n6\n7\n8\n9\n");
    let text = rejection(&tree(&[("x", b"1\n2\n3\n4\n")]), &patch).to_string();
    assert_eq!(
        text,
        "\"x\" (line 5 of the patch): hunk 1 of 1 does not apply: it expects \"5\" at line 5, the file ends before it"
    );
    let text = rejection(&Tree::new(), &patch).to_string();
    assert_eq!(text, "\"x\" (line 1 of the patch): the file is not there");
    let error = parse(b"--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-1\n+2\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1: \"a/../x\": the path has a `.` or `..` component; it must stay inside the tree"
    );
}
