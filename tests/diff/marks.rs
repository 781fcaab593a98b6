//! Which lines of a diff are only comments: taking over the hunks that say so leaves the code as it is.

use std::convert::Infallible;

use overlaid::id::UpstreamPath;
use overlaid::lex::{Delta, compare};
use overlaid::overlay::diff::{Applied, Mark, What, apply, mark, parse, render};
use overlaid::tree::{Content, Mode};

use crate::support::random::Random;

const LINES: [&str; 16] = [
    "int a;",
    "int b; // b",
    "// one",
    "// two",
    "",
    "/*",
    "*/",
    "/* both */ int c;",
    "int a; /* a",
    "// end \\",
    "#define X 1 // x",
    "#define Y \\",
    "auto s = R\"(",
    ")\";",
    "return a; // a",
    "\"// no comment\";",
];

fn source(random: &mut Random) -> Vec<&'static str> {
    (0..8 + random.below(40))
        .map(|_| if random.one_in(3) { random.pick(&LINES) } else { random.pick(&LINES[..5]) })
        .collect()
}

fn edited(random: &mut Random, lines: &[&'static str]) -> Vec<&'static str> {
    let mut lines = lines.to_vec();
    for _ in 0..1 + random.below(4) {
        let at = random.below(lines.len());
        match random.below(3) {
            0 => lines.insert(at, random.pick(&LINES)),
            1 if lines.len() > 1 => drop(lines.remove(at)),
            _ => lines[at] = random.pick(&LINES),
        }
    }
    lines
}

fn content(lines: &[&str]) -> Content {
    Content {
        mode: Mode::File,
        bytes: lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes().into(),
    }
}

#[test]
fn hunks_of_comments_only_leave_the_code_as_it_is() {
    let mut random = Random::new(5);
    let path = UpstreamPath::parse("a.cu").unwrap();
    let (mut partly, mut lines_of_comments) = (0, 0);
    for number in 0..10_000 {
        let lines = source(&mut random);
        let (old, new) = (content(&lines), content(&edited(&mut random, &lines)));
        let diff = render(Some((&path, &old)), Some((&path, &new)));
        let marked = mark(&path, &old.bytes, &new.bytes, &diff);
        lines_of_comments += marked.count(What::Comments).added;
        // Only the hunks that say so.
        let (mut part, mut is_in, mut left_out) = (Vec::new(), true, false);
        for (mark, line) in &marked.lines {
            if let Mark::Hunk { comments_only } = mark {
                is_in = *comments_only;
                left_out |= !is_in;
            }
            if is_in {
                part.extend_from_slice(line);
            }
        }
        let Ok(patch) = parse(&part) else { continue };
        let before = |_: &UpstreamPath| Ok::<_, Infallible>(Some(old.clone()));
        let Ok(Applied::Applied { changes, .. }) = apply(&patch, &before) else { panic!("case {number}") };
        let Some(Some(after)) = changes.get(&path) else { continue };
        let found = compare(&path, &old.bytes, &after.bytes);
        assert!(
            found.is_at_most(Delta::Comments),
            "case {number}: {found:?}\n{}",
            String::from_utf8_lossy(&part)
        );
        partly += usize::from(left_out);
    }
    assert!(partly > 150 && lines_of_comments > 600, "{partly} {lines_of_comments}");
}
