//! Merges and blob ids, with git as the judge.

use std::io::Write;
use std::process::Stdio;

use overlaid::id::BlobId;
use overlaid::merge::{Conflict, Labels, Merged, Style, merge};
use overlaid::tree::Content;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::support::command;

/// Cases to try; more with `OVERLAID_CASES`.
fn cases(default: usize) -> usize {
    std::env::var("OVERLAID_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(default)
}

fn runner() -> TestRunner {
    TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]))
}

/// Lines that repeat, as source text does, with all kinds of line ends.
fn line() -> impl Strategy<Value = Vec<u8>> {
    (0..8_usize, 0..12_u8).prop_map(|(word, end)| {
        let words: [&[u8]; 8] =
            [b"", b"{", b"}", b"  return x;", b"int a;", b"int b;", b"caf\xe9", b"<<<<<<< ours"];
        let ends: &[u8] = if end == 0 { b"\r\n" } else { b"\n" };
        [words[word], ends].concat()
    })
}

fn text() -> impl Strategy<Value = Vec<Vec<u8>>> {
    proptest::collection::vec(line(), 0..14)
}

/// Some edits: lines that go, come or change.
fn edits() -> impl Strategy<Value = Vec<(usize, u8, Vec<u8>)>> {
    proptest::collection::vec((0..16_usize, 0..3_u8, line()), 0..4)
}

fn edited(base: &[Vec<u8>], edits: &[(usize, u8, Vec<u8>)], cut: bool) -> Vec<u8> {
    let mut lines = base.to_vec();
    for (at, kind, line) in edits {
        let at = at % (lines.len() + 1);
        match kind {
            0 => lines.insert(at, line.clone()),
            1 if at < lines.len() => drop(lines.remove(at)),
            _ if at < lines.len() => lines[at].clone_from(line),
            _ => {}
        }
    }
    let mut text = lines.concat();
    if cut && text.last() == Some(&b'\n') {
        text.pop();
    }
    text
}

/// What `git merge-file` makes of it, and how many conflicts it counts.
fn by_git(folder: &std::path::Path, style: Style, sides: [&[u8]; 3]) -> (Vec<u8>, i32) {
    for (name, bytes) in ["ours", "base", "theirs"].iter().zip([sides[1], sides[0], sides[2]]) {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    let mut git = command("git");
    git.current_dir(folder).args(["merge-file", "-p", "-L", "ours", "-L", "base", "-L", "theirs"]);
    match style {
        Style::Merge => {}
        Style::Diff3 => drop(git.arg("--diff3")),
        Style::Zdiff3 => drop(git.arg("--zdiff3")),
    }
    let output = git.args(["ours", "base", "theirs"]).output().unwrap();
    let code = output.status.code().unwrap();
    assert!((0..=127).contains(&code), "{}", String::from_utf8_lossy(&output.stderr));
    (output.stdout, code)
}

#[test]
fn a_merge_is_what_git_merge_file_makes_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut runner = runner();
    let strategy = (text(), edits(), edits(), 0..3_u8, 0..10_u8, 0..10_u8);
    let (mut clean, mut conflicts) = (0, 0);
    for _ in 0..cases(2000) {
        let (base, ours, theirs, style, cut_ours, cut_theirs) =
            strategy.new_tree(&mut runner).unwrap().current();
        let style = [Style::Merge, Style::Diff3, Style::Zdiff3][usize::from(style)];
        let sides =
            [base.concat(), edited(&base, &ours, cut_ours == 0), edited(&base, &theirs, cut_theirs == 0)];
        let [b, o, t] = sides.clone().map(Content::file);
        let labels = Labels { base: "base", ours: "ours", theirs: "theirs" };
        let (expected, code) = by_git(folder.path(), style, [&sides[0], &sides[1], &sides[2]]);
        match merge(Some(&b), Some(&o), Some(&t), style, labels) {
            Merged::Clean(Some(merged)) => {
                assert_eq!((&*merged.bytes, 0), (&expected[..], code), "{sides:?}");
                clean += 1;
            }
            Merged::Conflict(Conflict::Text { marked, places }) => {
                assert_eq!((marked, i32::try_from(places).unwrap()), (expected, code), "{style:?} {sides:?}");
                conflicts += 1;
            }
            other => panic!("{other:?}: {sides:?}"),
        }
    }
    assert!(clean > 0 && conflicts > 0, "{clean} clean, {conflicts} conflicts");
}

#[test]
fn a_blob_has_the_name_that_git_hash_object_gives_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut runner = runner();
    let strategy = proptest::collection::vec(proptest::num::u8::ANY, 0..300);
    let contents: Vec<Vec<u8>> =
        (0..cases(2000)).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();
    let mut paths = String::new();
    for (index, content) in contents.iter().enumerate() {
        let path = folder.path().join(index.to_string());
        std::fs::write(&path, content).unwrap();
        paths.push_str(&format!("{}\n", path.display()));
    }
    let mut git = command("git")
        .current_dir(folder.path())
        .args(["hash-object", "--no-filters", "--stdin-paths"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = git.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(paths.as_bytes()));
    let output = git.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let names: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    let ours: Vec<String> = contents.iter().map(|content| BlobId::of(content).to_string()).collect();
    assert_eq!(names, ours);
}
