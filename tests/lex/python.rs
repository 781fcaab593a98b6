//! Python against its own tokenizer and parser.

use std::io::Write;
use std::process::{Command, Stdio};

use overlaid::lex::{Delta, Language, TokenKind, tokens};
use serde::Deserialize;

use super::delta;
use super::generator::{Random, cases, edited, soup};
use super::oracle::is_here;

const LINES: &[&str] = &[
    "x = 1",
    "if x:",
    "else:",
    "def f(a, b=2):",
    "return x",
    "pass",
    "# c",
    "#!x",
    "# coding: utf-8",
    "\"\"\"doc # string\"\"\"",
    "'''a\n# b\n'''",
    "y = 'it\\'s # no comment'",
    "z = r'\\' # c",
    "s = f'{x}' # c",
    "s = f\"{d['k']:>{w}}\"",
    "s = f'{d['k']}'",
    "s = rb'\\x' b\"#\"",
    "t = (1,  # c\n  2)",
    "t = [\n# c\n]",
    "u = x + \\\n  1",
    "v = x if y else 0xff",
    "w = 1_000.5e-3j + .5",
    "x @= y ** 2 // 3",
    "a, *b = c",
    "if (n := 3) >= 2: pass",
    "é = 'ü'",
    "\x0c",
    "lambda: ...",
    "x != y <<= 1",
    "class A: pass",
    "",
    "",
    "x = 1; y = 2",
    "d = {'a': 1, # c\n'b': 2}",
    "print(x) # type: ignore",
    "1if x else 2",
    "\\\nx",
    "x \\",
];
const ENDS: &[&str] =
    &["\n", "\n", "\n  ", "\n    ", "\n\t", "\n        ", " # e\n", "\n\n", "\r\n", " ", "\n  # e\n"];
const INSERTIONS: &[&str] = &[
    " ", "  ", "\n", "\t", "# c", "# c\n", "\n# c\n", " \\\n", "\\", "'", "\"", "\"\"\"", "(", ")", "x", "1",
    "\r\n", ":", "f'", "{", "}", "\x0c", "#",
];

/// What Python makes of a source.
#[derive(Deserialize)]
struct Reading {
    tokens: Option<Vec<(String, String)>>,
    tree: Option<String>,
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read_by_python(sources: &[Vec<u8>]) -> Vec<Reading> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lex/tokens.py");
    let mut python = Command::new("python3")
        .args(["-I", "-W", "ignore", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines: String = sources.iter().map(|source| hexadecimal(source) + "\n").collect();
    let mut stdin = python.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()).unwrap());
    let output = python.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let readings: Vec<Reading> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(readings.len(), sources.len(), "Python stopped early");
    readings
}

/// Our tokens as the script writes Python's. To Python's tokenizer a shebang is a comment.
fn ours(source: &[u8]) -> Option<Vec<(String, String)>> {
    let tokens = tokens(Language::Python, source).ok()?;
    let written = tokens.iter().map(|token| {
        let text = bstr::ByteSlice::replace(&source[token.span.clone()], b"\r\n", b"\n");
        match token.kind {
            TokenKind::Newline => ("newline", String::new()),
            TokenKind::Indent => ("indent", String::new()),
            TokenKind::Dedent => ("dedent", String::new()),
            _ if text.starts_with(b"#") => ("comment", hexadecimal(&text)),
            _ => ("code", hexadecimal(&text)),
        }
    });
    Some(written.map(|(kind, text)| (kind.to_owned(), text)).collect())
}

fn source(random: &mut Random) -> Vec<u8> {
    let length = 1 + random.below(10);
    soup(random, LINES, ENDS, length)
}

#[test]
fn tokens_of_python_are_pythons() {
    if !is_here("python3") {
        return;
    }
    let count = cases(20_000);
    let mut random = Random::new(19);
    let sources: Vec<Vec<u8>> = (0..count)
        .map(|_| {
            let source = source(&mut random);
            if random.percent(50) { edited(&mut random, &source, INSERTIONS) } else { source }
        })
        .collect();
    let mut compared = 0;
    for (source, reading) in sources.iter().zip(read_by_python(&sources)) {
        // What Python cannot parse has no meaning, and its versions take it apart in different ways.
        let (Some(ours), Some(pythons), Some(_)) = (ours(source), reading.tokens, reading.tree) else {
            continue;
        };
        compared += 1;
        assert_eq!(ours, pythons, "{:?}", bstr::BStr::new(source));
    }
    eprintln!("{count} sources, {compared} lexed as Python lexes them");
    assert!(compared * 10 > count, "only {compared} of {count} could be compared: the generator is no good");
}

#[test]
fn what_differs_in_comments_only_is_the_same_to_the_parser() {
    if !is_here("python3") {
        return;
    }
    let mut random = Random::new(23);
    let (mut pairs, mut tried) = (Vec::new(), 0);
    while pairs.len() < cases(3000) && tried < 100 * cases(3000) {
        tried += 1;
        let a = source(&mut random);
        let b = edited(&mut random, &a, INSERTIONS);
        if delta("a.py", &a, &b).is_some_and(|delta| delta > Delta::Identical && delta < Delta::Code) {
            pairs.push((a, b));
        }
    }
    assert!(pairs.len() >= cases(3000), "the generator is no good: {} pairs of {tried}", pairs.len());
    let sources: Vec<Vec<u8>> = pairs.iter().flat_map(|(a, b)| [a.clone(), b.clone()]).collect();
    let readings = read_by_python(&sources);
    let mut parsed = 0;
    for ((a, b), readings) in pairs.iter().zip(readings.chunks(2)) {
        let [a, b] = [a, b].map(bstr::BStr::new);
        parsed += usize::from(readings[0].tree.is_some());
        assert_eq!(readings[0].tree, readings[1].tree, "{a:?} and {b:?}");
    }
    eprintln!("{} pairs of {tried} differ in comments or white space only; {parsed} are valid", pairs.len());
    assert!(
        parsed * 10 > pairs.len(),
        "only {parsed} of {} pairs are valid: the generator is no good",
        pairs.len()
    );
}
