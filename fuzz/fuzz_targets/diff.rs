//! A patch: whatever is written, it is an answer; and what is rendered applies and gives what it was made from.
#![no_main]

use std::convert::Infallible;

use libfuzzer_sys::fuzz_target;
use overlaid::id::UpstreamPath;
use overlaid::overlay::diff::{Applied, apply, parse, render};
use overlaid::tree::{Content, Mode};

fuzz_target!(|data: &[u8]| {
    let Some((&what, data)) = data.split_first() else { return };
    let (first, second) = match data.windows(2).position(|pair| pair == b"\xff\xfe") {
        Some(at) => (&data[..at], &data[at + 2..]),
        None => (data, &b""[..]),
    };
    if what & 1 == 0 { read(first, second) } else { round_trip(what, first, second) }
});

/// A patch, on a tree in which every file has the same content.
fn read(patch: &[u8], content: &[u8]) {
    let patch = match parse(patch) {
        Ok(patch) => patch,
        Err(error) => return drop(error.to_string()),
    };
    let before = |_: &UpstreamPath| Ok::<_, Infallible>(Some(Content::file(content)));
    let Ok(applied) = apply(&patch, &before);
    let touched = patch.touched();
    match applied {
        Applied::Refused(rejections) => {
            assert!(!rejections.is_empty());
            rejections.iter().for_each(|rejection| drop(rejection.to_string()));
        }
        Applied::Applied { changes, .. } => {
            assert!(changes.keys().all(|path| touched.contains(path)));
        }
    }
    let Ok(_) = apply(&patch, &|_: &UpstreamPath| Ok::<_, Infallible>(None));
}

/// Two contents, and the diff between them.
fn round_trip(what: u8, first: &[u8], second: &[u8]) {
    let Ok(old_path) = UpstreamPath::parse("src/a b\".cu") else { return };
    let Ok(new_path) = UpstreamPath::parse("src/kernel.cu") else { return };
    let mode = |bit: u8| if what & bit == 0 { Mode::File } else { Mode::Executable };
    let old = Content { mode: mode(2), bytes: first.into() };
    let new = Content { mode: mode(4), bytes: second.into() };
    let moved = what & 8 != 0;
    let new_path = if moved { new_path } else { old_path.clone() };
    let old_side = (what & 16 == 0).then_some((&old_path, &old));
    let new_side = (what & 32 == 0).then_some((&new_path, &new));
    let text = render(old_side, new_side);
    if text.is_empty() {
        assert!(old_side == new_side);
        return;
    }
    let patch = match parse(&text) {
        Ok(patch) => patch,
        Err(error) => panic!("{error}\n{}", String::from_utf8_lossy(&text)),
    };
    let before = |path: &UpstreamPath| {
        let here = old_side.filter(|(old, _)| *old == path);
        Ok::<_, Infallible>(here.map(|(_, content)| content.clone()))
    };
    match apply(&patch, &before) {
        Ok(Applied::Applied { changes, offsets, modes }) => {
            assert!(offsets.is_empty() && modes.is_empty());
            let after = |path| changes.get(path).cloned().unwrap_or_else(|| before(path).ok().flatten());
            assert_eq!(after(&new_path), new_side.map(|(_, content)| content.clone()));
            if moved {
                assert_eq!(after(&old_path), None);
            }
        }
        Ok(Applied::Refused(why)) => panic!("{why:?}\n{}", String::from_utf8_lossy(&text)),
    }
}
