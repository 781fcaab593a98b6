//! C and its relatives against Clang: its raw token dump, and its preprocessor.

use std::collections::BTreeMap;
use std::ops::Range;
use std::process::Command;

use overlaid::lex::{Delta, Language, Token, TokenKind, UnlexableWhy, tokens};
use regex::bytes::Regex;

use super::delta;
use super::generator::{Random, cases, edited, soup};
use super::oracle::{Folder, is_here};

const PIECES: &[&str] = &[
    "a",
    "int",
    "R",
    "u8",
    "L",
    "x1",
    "é",
    "\\u00e9",
    "$v",
    "0",
    "1'000",
    "0x1e+3",
    "1.5e-3f",
    ".5",
    "1.",
    "0b1'0",
    "\"s\"",
    "\"a // b\"",
    "\"/* \"",
    "\"\\\"\"",
    "\"\\\\\"",
    "'c'",
    "'\\''",
    "'\"'",
    "L'x'",
    "u8\"y\"",
    "\"a\"_x",
    "\"a\"s",
    "\"%\"PRI",
    "''",
    "R\"(a)\"",
    "R\"(// \" /* )\"",
    "R\"d(a\\\n)\" )d\"",
    "u8R\"--(\n#)--\"_s",
    "uR\"'(\")'\"",
    "+",
    "-",
    "*",
    "/",
    "%",
    "<",
    ">",
    "=",
    "!",
    "&",
    "|",
    "^",
    "~",
    "?",
    ":",
    ";",
    ",",
    ".",
    "#",
    "@",
    "`",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<<<",
    ">>>",
    "->*",
    "<=>",
    "<::",
    "%:",
    "...",
    "##",
    "// c",
    "// c \\",
    "// it's \"",
    "/* d */",
    "/* e\n f */",
    "/*/*/",
    "/**\\\n/",
    "/\\\n* g *\\\n/",
    "/\\\n/ h",
    "\n#define F(x) x",
    "\n#define A 1 // c",
    "\n#include <a b.h>",
    "\n#include \"q.h\"",
    "\n#error don't // x",
    "\n#if 0\nit's /* x\n */ \"a\n#endif",
    "\n#pragma omp x",
    "\n# 3 \"f\"",
    "\n%:undef A",
    "import",
    "\nimport <a b.h>",
    "\nexport import \"q.h\"",
];

const SEPARATORS: &[&str] = &[
    "", "", "", " ", " ", "\n", "\t", "\r\n", "\\\n", "\\ \t\n", "\\\r\n", " \\\n ", "/**/", "//\n", "\x0c",
    "\\",
];

const INSERTIONS: &[&str] = &[
    " ", "\n", "\\\n", "\\ \n", "\\\r\n", "/**/", "/* x */", "// y\n", "//", "/*", "*/", "\"", "'", "\\",
    "#", "(", ")", "R", "a", "1", "/",
];

/// A file of a case, by its number.
fn file_name(case: usize, dialect: &str) -> String {
    format!("case{case}.{dialect}")
}

/// What `clang -cc1 ARGUMENTS` writes about all sources, in one process.
fn run_clang(arguments: &[&str], dialect: &str, sources: &[Vec<u8>]) -> (Vec<u8>, Vec<u8>) {
    let folder = Folder::new();
    for (case, source) in sources.iter().enumerate() {
        std::fs::write(folder.0.join(file_name(case, dialect)), source).unwrap();
    }
    let names = (0..sources.len()).map(|case| file_name(case, dialect));
    let output =
        Command::new("clang").current_dir(&folder.0).arg("-cc1").args(arguments).args(names).output();
    let output = output.unwrap();
    (output.stdout, output.stderr)
}

/// A token of Clang's: its kind, and where its text is, without splices before it.
#[derive(Debug, Clone, PartialEq)]
struct RawToken {
    kind: String,
    span: Range<usize>,
}

/// Clang's raw tokens of each source, comments too, white space left out.
///
/// The dump has a position for every token and every stretch of white space: a token's text goes up to the next.
fn raw_tokens(language: &str, standard: &str, sources: &[Vec<u8>]) -> Vec<Vec<RawToken>> {
    let (_, dump) = run_clang(&["-x", language, standard, "-dump-raw-tokens"], language, sources);
    let position = Regex::new(r"(?-u)Loc=<case([0-9]+)\.[a-z]+:([0-9]+):([0-9]+)>\n").unwrap();
    let mut starts: BTreeMap<usize, Vec<(String, usize)>> = BTreeMap::new();
    let mut entry = 0;
    for found in position.captures_iter(&dump) {
        let number = |group: usize| std::str::from_utf8(&found[group]).unwrap().parse::<usize>().unwrap();
        let kind = dump[entry..].split(|&b| b == b' ').next().unwrap();
        entry = found.get(0).unwrap().end();
        let (case, line, column) = (number(1), number(2), number(3));
        let line_start: usize =
            sources[case].split_inclusive(|&b| b == b'\n').take(line - 1).map(<[u8]>::len).sum();
        let kind = String::from_utf8_lossy(kind).into_owned();
        starts.entry(case).or_default().push((kind, line_start + column - 1));
    }
    let splice = Regex::new(r"(?-u)\\[ \t\x0b\x0c]*\r?\n").unwrap();
    let mut of_case = |(case, source): (usize, &Vec<u8>)| {
        let starts = starts.remove(&case).unwrap_or_default();
        let ends: Vec<usize> = starts.iter().skip(1).map(|(_, at)| *at).chain([source.len()]).collect();
        let mut tokens = Vec::new();
        for ((kind, mut start), end) in starts.into_iter().zip(ends) {
            assert!(start <= end && end <= source.len(), "{start}..{end} in {:?}", bstr::BStr::new(source));
            let clean = splice.replace_all(&source[start..end], b"");
            if clean.iter().all(|b| b" \t\r\n\x0b\x0c".contains(b)) {
                continue;
            }
            while let Some(found) = splice.find(&source[start..end]).filter(|found| found.start() == 0) {
                start += found.end();
            }
            tokens.push(RawToken { kind, span: start..end });
        }
        tokens
    };
    sources.iter().enumerate().map(&mut of_case).collect()
}

/// Whether ours are Clang's, but that names of included files and the text of `#error` are one token here.
fn assert_same_tokens(source: &[u8], ours: &[Token], clangs: &[RawToken]) {
    let shown = bstr::BStr::new(source);
    let ours: Vec<&Token> =
        ours.iter().filter(|token| matches!(token.kind, TokenKind::Code | TokenKind::Comment)).collect();
    let mut rest = clangs;
    for (index, token) in ours.iter().enumerate() {
        let text = &source[token.span.clone()];
        let is_header = text.starts_with(b"<") && text.ends_with(b">") && text.len() > 2;
        let is_quoted_header =
            index > 0 && text.starts_with(b"\"") && *ours[index - 1].spelling(source) == *b"include";
        if is_quoted_header && rest[0].span.end > token.span.end {
            // To the raw lexer it has a suffix.
            return;
        }
        let is_message = index > 0 && *ours[index - 1].spelling(source) == *b"error";
        let inside = rest.iter().take_while(|raw| raw.span.start < token.span.end).count();
        let taken = if is_header || is_message { inside } else { 1 };
        let (these, others) = rest.split_at(taken.clamp(1, rest.len()));
        let covered = these[0].span.start..these[these.len() - 1].span.end;
        if is_header && covered.end != token.span.end {
            // The raw lexer knows no names of files: what follows may be joined with the last of the name.
            return;
        }
        let shown = (shown, bstr::BStr::new(text), these);
        assert_eq!(covered.start, token.span.start, "a token begins elsewhere: {shown:?}");
        if !is_message {
            assert_eq!(covered.end, token.span.end, "a token ends elsewhere: {shown:?}");
            assert_eq!(token.is_comment(), these[0].kind == "comment", "{shown:?}");
        }
        rest = others;
    }
    assert!(rest.is_empty(), "in {shown:?}: Clang has more: {rest:?}");
}

/// A refusal must have a reason in Clang's tokens too, where Clang has an opinion.
fn assert_refused_with_reason(source: &[u8], why: UnlexableWhy, clangs: &[RawToken]) {
    let unknown = |start: &dyn Fn(&[u8]) -> bool| {
        clangs.iter().any(|raw| raw.kind == "unknown" && start(&source[raw.span.clone()]))
    };
    let shown = bstr::BStr::new(source);
    match why {
        UnlexableWhy::UnterminatedComment => {
            assert!(unknown(&|text| text.starts_with(b"/")), "{shown:?}: Clang sees every comment end");
        }
        UnlexableWhy::UnterminatedString => {
            assert!(
                unknown(&|text| text.contains(&b'"') || text.contains(&b'\'')),
                "{shown:?}: Clang sees every string end"
            );
        }
        _ => {}
    }
}

/// `apart` matches where this Clang and the standards differ.
fn check_against_clang(language: Language, name: &str, standard: &str, apart: &str) {
    if !is_here("clang") {
        return;
    }
    let (count, mut lexed) = (cases(3000), 0);
    let mut random = Random::new(7);
    let apart = Regex::new(apart).unwrap();
    let sources = std::iter::repeat_with(|| {
        let length = 1 + random.below(14);
        let source = soup(&mut random, PIECES, SEPARATORS, length);
        if random.percent(50) { edited(&mut random, &source, INSERTIONS) } else { source }
    });
    let sources: Vec<Vec<u8>> = sources.filter(|source| !apart.is_match(source)).take(count).collect();
    for batch in sources.chunks(500) {
        for (source, clangs) in batch.iter().zip(raw_tokens(name, standard, batch)) {
            match tokens(language, source) {
                Ok(ours) => {
                    lexed += 1;
                    assert_same_tokens(source, &ours, &clangs);
                }
                Err(unlexable) => assert_refused_with_reason(source, unlexable.why, &clangs),
            }
        }
    }
    eprintln!("{count} sources, {lexed} lexed as Clang lexes them");
    assert!(lexed * 3 > count, "only {lexed} of {count} sources could be lexed: the generator is no good");
}

/// A lone carriage return is a line's end to Clang and is refused here. Clang does not look behind a splice for a
/// character outside ASCII that goes on with a name; the standard does. A splice at the very end is nobody's.
const APART: &str = r"\r([^\n]|$)|\\[ \t\x0b\x0c\r]*\n(é|\\u|$)";

#[test]
fn tokens_of_cuda_are_clangs() {
    check_against_clang(Language::Cpp, "cuda", "-std=gnu++20", APART);
}

#[test]
fn tokens_of_c_are_clangs() {
    // C has characters with `u8` since C23.
    let apart = format!(r"{APART}|u8(\\[ \t\x0b\x0c\r]*\n)*'");
    check_against_clang(Language::C, "c", "-std=gnu2x", &apart);
}

/// The preprocessed text of each source.
fn preprocessed(sources: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let (text, _) = run_clang(&["-x", "c++", "-std=gnu++20", "-E"], "cpp", sources);
    let marker = Regex::new(r##"^# [0-9]+ "(case([0-9]+)\.cpp)?"##).unwrap();
    let mut found = vec![Vec::new(); sources.len()];
    let mut case = 0;
    for line in text.split(|&b| b == b'\n') {
        if let Some(parts) = marker.captures(line) {
            if let Some(number) = parts.get(2) {
                case = std::str::from_utf8(number.as_bytes()).unwrap().parse().unwrap();
            }
            continue;
        }
        found[case].extend_from_slice(line);
        found[case].push(b'\n');
    }
    found
}

#[test]
fn what_differs_in_comments_only_is_the_same_to_the_preprocessor() {
    if !is_here("clang") {
        return;
    }
    let pieces: Vec<&str> = PIECES
        .iter()
        .filter(|piece| !piece.contains("pragma") && **piece != "#" && !piece.contains("include"))
        .filter(|piece| !piece.contains("\"d(a"))
        .copied()
        .chain([
            "F(a)",
            "A",
            "\n#define S(x) #x",
            "\n#define G(x, y) x ## y",
            "G(a, 1)",
            "\n#ifdef A",
            "\n#else",
            "\n#endif",
        ])
        .collect();
    let mut random = Random::new(11);
    let (mut pairs, mut tried) = (Vec::new(), 0);
    while pairs.len() < cases(1500) && tried < 100 * cases(1500) {
        tried += 1;
        let length = 3 + random.below(14);
        let a = soup(&mut random, &pieces, &SEPARATORS[..SEPARATORS.len() - 1], length);
        let b = edited(&mut random, &a, &INSERTIONS[..8]);
        if delta("a.cpp", &a, &b).is_some_and(|delta| delta > Delta::Identical && delta < Delta::Code) {
            pairs.push((a, b));
        }
    }
    assert!(pairs.len() >= cases(1500), "the generator is no good: {} pairs of {tried}", pairs.len());
    // A backslash that the preprocessor leaves at a line's end would be a splice in its output.
    let stray = Regex::new(r"\\[ \t\x0b\x0c\r]*\n").unwrap();
    let mut compared = 0;
    for batch in pairs.chunks(250) {
        let sources: Vec<Vec<u8>> = batch.iter().flat_map(|(a, b)| [a.clone(), b.clone()]).collect();
        let texts = preprocessed(&sources);
        let tokens = raw_tokens("cuda", "-std=gnu++20", &texts);
        let spelled = texts.iter().zip(&tokens).map(|(text, tokens)| {
            tokens.iter().map(|raw| bstr::BStr::new(&text[raw.span.clone()])).collect::<Vec<_>>()
        });
        let spelled: Vec<_> = spelled.collect();
        for (((a, b), spelled), texts) in batch.iter().zip(spelled.chunks(2)).zip(texts.chunks(2)) {
            if texts.iter().any(|text| stray.is_match(text)) {
                continue;
            }
            compared += 1;
            let [a, b] = [a, b].map(bstr::BStr::new);
            assert_eq!(spelled[0], spelled[1], "{a:?} and {b:?}");
        }
    }
    eprintln!(
        "{compared} of {} pairs that differ in comments or white space only were preprocessed",
        pairs.len()
    );
    assert!(compared * 2 > pairs.len(), "only {compared} of {}: the generator is no good", pairs.len());
}

/// Tokens of C that mean the same wherever white space stands between them.
const TOKENS: &[&str] = &[
    "int",
    "x",
    "y2",
    "0x1fu",
    "1'000",
    "+",
    "-",
    "<<<",
    ">>>",
    "(",
    ")",
    "{",
    "}",
    ";",
    "\"a // b\"",
    "\"/*\"",
    "'\"'",
    "R\"q(// \"\n/* )q\"",
    "1.5e-3f",
    "->",
    "::",
    "L\"w\"",
];
const LAYOUT: &[&str] = &[" ", "\n", "\t", "  \n ", " \\\n ", "\r\n", " \\ \n\n"];
const COMMENTS: &[&str] = &[
    " /* c */ ",
    " // it's\n",
    " /* // */ ",
    " // \" \\\n more\n",
    " /\\\n* s *\\\n/ ",
    "/**/",
    " // R\"( \n",
    "\n/* a\n * b\n */\n",
];

/// The same tokens, once more with other separators.
fn laid_out(random: &mut Random, words: &[&str], comments: bool) -> Vec<u8> {
    let mut text = String::new();
    for word in words {
        text.push_str(word);
        let separators = if comments && random.percent(40) { COMMENTS } else { LAYOUT };
        text.push_str(random.pick(separators));
    }
    text.into_bytes()
}

#[test]
fn deltas_of_c_are_what_was_done() {
    let mut random = Random::new(13);
    for _ in 0..cases(3000) {
        let mut words: Vec<&str> = (0..1 + random.below(20)).map(|_| random.pick(TOKENS)).collect();
        let plain = laid_out(&mut random, &words, false);
        let again = laid_out(&mut random, &words, false);
        let commented = laid_out(&mut random, &words, true);
        let shown = bstr::BStr::new(&commented);
        assert!(delta("a.cu", &plain, &again).unwrap() <= Delta::Whitespace, "{shown:?}");
        assert!(delta("a.cu", &plain, &commented).unwrap() <= Delta::Comments, "{shown:?}");
        let changed = random.below(words.len());
        words[changed] = "changed";
        let other = laid_out(&mut random, &words, true);
        assert_eq!(delta("a.cu", &commented, &other), Some(Delta::Code), "{shown:?}");
        words.remove(changed);
        let fewer = laid_out(&mut random, &words, true);
        assert_eq!(delta("a.cu", &other, &fewer), Some(Delta::Code), "{shown:?}");
    }
}

#[test]
fn a_comment_that_swallows_a_line_is_a_change_of_code() {
    let mut random = Random::new(17);
    for _ in 0..cases(3000) {
        let [before, after] = [3, 4].map(|most| {
            (0..1 + random.below(most)).map(|_| random.pick(TOKENS)).collect::<Vec<_>>().join(" ")
        });
        let tail = random.pick(&["\\", "\\ ", "\\\t", "\\\\", "??\\", "\\\n\\"]);
        let harmless = format!("{before} // c\nint swallowed;\n{after}\n");
        let swallowing = format!("{before} // c{tail}\nint swallowed;\n{after}\n");
        assert_eq!(
            delta("a.cu", harmless.as_bytes(), swallowing.as_bytes()),
            Some(Delta::Code),
            "{swallowing:?}"
        );
    }
}

/// All ways to name a file to the compiler, with `NAME` where it stands.
const NAMING: [&str; 10] = [
    "#include NAME",
    "#include_next NAME",
    "#import NAME",
    "# /* c */ include /* c */ NAME",
    "#if __has_include(NAME)\n#error it is there\n#endif",
    "#if 0\n#elif defined A || __has_include_next ( NAME )\n#error it is there\n#endif",
    "import NAME;",
    "export import NAME;",
    "import /* c */ NAME;",
    "import\\\nNAME; // c",
];

#[test]
fn two_slashes_in_the_name_of_a_file_begin_no_comment() {
    for naming in NAMING {
        for name in ["<a//b.h>", "\"a//b.h\"", "<a//b>"] {
            let (source, other) =
                (naming.replace("NAME", name), naming.replace("NAME", &name.replace('b', "c")));
            let found = delta("a.cc", source.as_bytes(), other.as_bytes());
            assert!(found.is_none_or(|delta| delta == Delta::Code), "{source:?}: {found:?}");
        }
    }
}

#[test]
fn gcc_reads_the_two_slashes_as_a_part_of_the_name() {
    if !is_here("g++") {
        return;
    }
    let folder = Folder::new();
    for naming in NAMING {
        let (here, there) = (naming.replace("NAME", "<a//b.h>"), folder.0.join("a"));
        let _ = std::fs::remove_dir_all(&there);
        let said = || {
            std::fs::write(folder.0.join("k.cc"), &here).unwrap();
            let arguments = ["-std=c++20", "-fmodules-ts", "-E", "-I.", "k.cc"];
            let output =
                Command::new("g++").args(arguments).current_dir(&folder.0).env("LC_ALL", "C").output();
            String::from_utf8_lossy(&output.unwrap().stderr).into_owned()
        };
        // Where it is not there, it is missed under its whole name, or known to be missing.
        let missed = said();
        assert!(missed.contains("a//b.h: No such file") || naming.starts_with("#if"), "{here}: {missed}");
        std::fs::create_dir(&there).unwrap();
        std::fs::write(there.join("b.h"), "#error it is there\n").unwrap();
        let found = said();
        // A header unit would have to be compiled first, and gcc says so.
        let is_unit = !naming.starts_with('#');
        assert!(if is_unit { found != missed } else { found.contains("it is there") }, "{here}: {found}");
    }
}
