//! Random repository edits: a tree, the tree after a change, and the first tree drifted.

use std::collections::BTreeMap;

use overlaid::id::UpstreamPath;
use overlaid::tree::{Content, Mode};

use crate::support::random::Random;

/// All files of a tree.
pub type Tree = BTreeMap<UpstreamPath, Content>;

const NAMES: &[&[u8]] = &[
    b"a",
    b"b",
    b"kernel.cu",
    b"src/main.c",
    b"src/util.c",
    b"src/deep/er/x.h",
    b"with space",
    b"two  spaces /in folder",
    b"ends in space ",
    b"a b/a b",
    b"b/x",
    b"quote\"d",
    b"back\\slash",
    b"tab\there",
    b"new\nline",
    b"return\rhere",
    b"\xc3\xa4\xc3\xb6.txt",
    b"latin-\xe4\xff",
    b"-dash",
    b"bell\x07\x0b\x7f",
    b"dev/null",
    b"x => y",
];

const LINES: &[&[u8]] = &[
    b"",
    b"{",
    b"}",
    b"  x += 1;",
    b"\tx += 1;",
    b"x += 1;",
    b"return x;",
    b"--- a/x",
    b"+++ b/x",
    b"@@ -1 +1 @@",
    b"-- ",
    b"\\ No newline at end of file",
    b"diff --git a/x b/x",
    b"latin \xe4\xf6\xfc",
    b"utf \xc3\xa4",
    b"trailing  ",
    b" ",
    b"cr\r in the middle",
];

fn line(rng: &mut Random) -> Vec<u8> {
    if rng.one_in(3) { format!("line {}", rng.below(30)).into_bytes() } else { rng.pick(LINES).to_vec() }
}

fn text(rng: &mut Random) -> Vec<u8> {
    let count = match rng.below(8) {
        0 => 0,
        1 => 1,
        2 => rng.below(4),
        3..=5 => 60 + rng.below(200),
        _ => 5 + rng.below(40),
    };
    let ending = rng.below(6);
    // Few different lines: hunks fit at many places.
    let dull = rng.one_in(4);
    let mut text = Vec::new();
    if rng.one_in(12) {
        text.extend(b"\xef\xbb\xbf");
    }
    for _ in 0..count {
        text.extend(if dull { LINES[rng.below(4)].to_vec() } else { line(rng) });
        let crlf = ending == 0 || (ending == 1 && rng.one_in(2));
        text.extend(if crlf { &b"\r\n"[..] } else { b"\n" });
    }
    if rng.one_in(5) {
        text.pop();
    }
    text
}

fn binary(rng: &mut Random) -> Vec<u8> {
    let size = rng.pick(&[1, 3, 52, 53, 700, 5000]);
    let dull = rng.one_in(2);
    let mut bytes: Vec<u8> =
        (0..size).map(|_| if dull { rng.below(4) as u8 } else { rng.next() as u8 }).collect();
    bytes[0] = 0;
    bytes
}

fn link(rng: &mut Random) -> Content {
    let target = rng.pick(&[&b"target"[..], b"../else where", b"/absolute/\xff", b"two\nlines", b"a"]);
    Content { mode: Mode::Symlink, bytes: target.into() }
}

fn content(rng: &mut Random) -> Content {
    if rng.one_in(9) {
        return link(rng);
    }
    let mode = if rng.one_in(4) { Mode::Executable } else { Mode::File };
    let bytes = if rng.one_in(6) { binary(rng) } else { text(rng) };
    Content { mode, bytes: bytes.into() }
}

/// A name that can stand in the tree: no file where it needs a folder, no folder in its place.
fn free_name(rng: &mut Random, tree: &Tree) -> Option<UpstreamPath> {
    let path = UpstreamPath::parse(rng.pick(NAMES)).unwrap();
    let inside = |outer: &UpstreamPath, inner: &UpstreamPath| {
        inner.ancestors().any(|folder| folder == outer.as_bytes())
    };
    let taken = |other: &UpstreamPath| *other == path || inside(other, &path) || inside(&path, other);
    (!tree.keys().any(taken)).then_some(path)
}

fn some_file(rng: &mut Random, tree: &Tree) -> Option<UpstreamPath> {
    if tree.is_empty() {
        return None;
    }
    let index = rng.below(tree.len());
    tree.keys().nth(index).cloned()
}

pub fn tree(rng: &mut Random) -> Tree {
    let mut tree = Tree::new();
    for _ in 0..3 + rng.below(6) {
        if let Some(path) = free_name(rng, &tree) {
            let content = content(rng);
            tree.insert(path, content);
        }
    }
    tree
}

/// Changes some lines, or some bytes of a binary file.
fn edit(rng: &mut Random, content: &Content, times: usize) -> Content {
    if content.mode == Mode::Symlink {
        return link(rng);
    }
    let mut bytes = content.bytes.to_vec();
    if bytes.contains(&0) {
        for _ in 0..times {
            let at = rng.below(bytes.len());
            bytes[at] = rng.next() as u8;
        }
        if rng.one_in(3) {
            bytes.extend(b"\0more");
        }
        return Content { mode: content.mode, bytes: bytes.into() };
    }
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..times {
        let at = rng.below(lines.len() + 1);
        let mut fresh = line(rng);
        fresh.extend(if rng.one_in(6) { &b"\r\n"[..] } else { b"\n" });
        match rng.below(5) {
            0 if at < lines.len() => drop(lines.remove(at)),
            1 if at < lines.len() => lines[at] = fresh,
            2 => {
                let from = lines.len().saturating_sub(rng.below(6));
                let block: Vec<_> = lines[from..].to_vec();
                lines.splice(at..at, block);
            }
            3 if at < lines.len() => {
                let end = (at + 1 + rng.below(8)).min(lines.len());
                lines.drain(at..end);
            }
            _ => lines.insert(at, fresh),
        }
    }
    let mut bytes = lines.concat();
    if rng.one_in(8) && bytes.ends_with(b"\n") {
        bytes.pop();
    }
    Content { mode: content.mode, bytes: bytes.into() }
}

fn flip_mode(content: &mut Content) {
    content.mode = match content.mode {
        Mode::File => Mode::Executable,
        Mode::Executable => Mode::File,
        other => other,
    };
}

/// The tree after some changes of all kinds.
pub fn change(rng: &mut Random, before: &Tree) -> Tree {
    let mut tree = before.clone();
    for _ in 0..1 + rng.below(6) {
        let path = some_file(rng, &tree);
        let Some(path) = path else { break };
        let old = tree[&path].clone();
        match rng.below(12) {
            0 => drop(tree.remove(&path)),
            1 => flip_mode(tree.get_mut(&path).unwrap()),
            2 | 3 => {
                let times = rng.below(3);
                let moved = edit(rng, &old, times);
                tree.remove(&path);
                if let Some(to) = free_name(rng, &tree) {
                    tree.insert(to, moved);
                }
            }
            4 => {
                let times = rng.below(2);
                let copy = edit(rng, &old, times);
                if let Some(to) = free_name(rng, &tree) {
                    tree.insert(to, copy);
                }
                if rng.one_in(2) {
                    let edited = edit(rng, &old, 2);
                    tree.insert(path, edited);
                }
            }
            5 => {
                if let Some(to) = free_name(rng, &tree) {
                    let content = content(rng);
                    tree.insert(to, content);
                }
            }
            6 => {
                let content = content(rng);
                tree.insert(path, content);
            }
            7 => {
                if let Some(other) = some_file(rng, &tree) {
                    let swapped = tree.insert(other, old).unwrap();
                    tree.insert(path, swapped);
                }
            }
            _ => {
                let times = 1 + rng.below(4);
                let edited = edit(rng, &old, times);
                tree.insert(path, edited);
            }
        }
    }
    tree
}

/// The first tree as somebody else changed it meanwhile.
pub fn drift(rng: &mut Random, before: &Tree, after: &Tree) -> Tree {
    if rng.one_in(2) {
        return shift(rng, before, after);
    }
    let mut tree = before.clone();
    for _ in 0..1 + rng.below(4) {
        let Some(path) = some_file(rng, &tree) else { break };
        let old = tree[&path].clone();
        match rng.below(16) {
            0 => drop(tree.remove(&path)),
            1 => flip_mode(tree.get_mut(&path).unwrap()),
            2 => {
                if let Some(to) = free_name(rng, &tree) {
                    tree.insert(to, old);
                }
            }
            3 => {
                if let Some(new) = after.get(&path) {
                    tree.insert(path, new.clone());
                }
            }
            4 => {
                // Every line twice over: the patch fits at two places.
                let twice = [&old.bytes[..], &old.bytes[..]].concat();
                if old.mode != Mode::Symlink {
                    tree.insert(path, Content { mode: old.mode, bytes: twice.into() });
                }
            }
            5..=8 => {
                let above = text(rng);
                if old.mode != Mode::Symlink && !above.is_empty() {
                    let moved = [&above[..], &old.bytes[..]].concat();
                    tree.insert(path, Content { mode: old.mode, bytes: moved.into() });
                }
            }
            9 => {
                let mut bytes = old.bytes.to_vec();
                if bytes.pop() != Some(b'\n') {
                    bytes = [&old.bytes[..], b"\n"].concat();
                }
                if !bytes.is_empty() && old.mode != Mode::Symlink {
                    tree.insert(path, Content { mode: old.mode, bytes: bytes.into() });
                }
            }
            _ => {
                let times = 1 + rng.below(3);
                let edited = edit(rng, &old, times);
                tree.insert(path, edited);
            }
        }
    }
    tree
}

/// The first tree with lines inserted or removed in the files that change: most hunks fit elsewhere.
fn shift(rng: &mut Random, before: &Tree, after: &Tree) -> Tree {
    let mut tree = before.clone();
    for (path, content) in &mut tree {
        let is_text = content.mode != Mode::Symlink && !content.bytes.contains(&0);
        if !is_text || after.get(path) == Some(content) {
            continue;
        }
        let mut lines: Vec<&[u8]> = content.bytes.split_inclusive(|&byte| byte == b'\n').collect();
        for _ in 0..1 + rng.below(2) {
            let at = rng.below(lines.len() + 1);
            if rng.one_in(3) {
                let end = (at + 1 + rng.below(4)).min(lines.len());
                lines.drain(at.min(end)..end);
            } else {
                let from = rng.below(lines.len() + 1);
                let end = (from + 1 + rng.below(20)).min(lines.len());
                let block = lines[from.min(end)..end].to_vec();
                lines.splice(at..at, block);
            }
        }
        content.bytes = lines.concat().into();
    }
    tree
}
