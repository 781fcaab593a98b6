use super::*;

fn path(name: &str) -> UpstreamPath {
    UpstreamPath::parse(name).unwrap()
}

/// The delta between two texts of a file; panics if it is unknown.
#[track_caller]
pub(super) fn delta(name: &str, a: &str, b: &str) -> Delta {
    match compare(&path(name), a.as_bytes(), b.as_bytes()) {
        Comparison::Known(delta) => delta,
        Comparison::Unknown(unlexable) => panic!("{unlexable}: {a:?} {b:?}"),
    }
}

/// Asserts the delta of each pair, both ways round.
#[track_caller]
pub(super) fn assert_deltas(name: &str, expected: Delta, pairs: &[(&str, &str)]) {
    for (a, b) in pairs {
        assert_eq!(delta(name, a, b), expected, "{a:?} -> {b:?}");
        assert_eq!(delta(name, b, a), expected, "{b:?} -> {a:?}");
    }
}

/// The spellings of code and comments, comments marked by `C:`.
#[track_caller]
pub(super) fn spell(language: Language, source: &str) -> Vec<String> {
    let source = source.as_bytes();
    let tokens = tokens(language, source).unwrap_or_else(|unlexable| panic!("{unlexable}"));
    let spell = |token: &Token| {
        let text = String::from_utf8_lossy(&token.spelling(source)).into_owned();
        if token.is_comment() { format!("C:{text}") } else { text }
    };
    tokens.iter().map(spell).collect()
}

/// Why a text has no tokens, and the line.
#[track_caller]
pub(super) fn refusal(language: Language, source: &[u8]) -> (usize, UnlexableWhy) {
    match tokens(language, source) {
        Ok(tokens) => panic!("{:?} has tokens: {tokens:?}", bstr::BStr::new(source)),
        Err(unlexable) => (unlexable.line, unlexable.why),
    }
}

#[test]
fn languages_go_by_the_name_of_the_file() {
    for (name, language) in [
        ("a/b.c", Some(Language::C)),
        ("a.m", Some(Language::C)),
        ("a.h", Some(Language::Cpp)),
        ("a.cu", Some(Language::Cpp)),
        ("a.cuh", Some(Language::Cpp)),
        ("a.metal", Some(Language::Cpp)),
        ("a.mm", Some(Language::Cpp)),
        ("a.hip", Some(Language::Cpp)),
        ("a.b.py", Some(Language::Python)),
        ("a.pyi", Some(Language::Python)),
        ("x/CMakeLists.txt", Some(Language::CMake)),
        ("x/a.cmake", Some(Language::CMake)),
        ("pyproject.toml", Some(Language::Toml)),
        ("notes.txt", None),
        ("Makefile", None),
        ("a.py/b", None),
        ("a.cmake.in", None),
    ] {
        assert_eq!(Language::of_path(&path(name)), language, "{name}");
    }
}

#[test]
fn deltas_are_ordered_and_named() {
    assert!(Delta::ALL.is_sorted());
    for delta in Delta::ALL {
        assert_eq!(Delta::parse(&delta.to_string()), Some(delta));
        assert_eq!(serde_json::to_string(&delta).unwrap(), format!("\"{delta}\""));
    }
    assert_eq!(Delta::parse("Comments"), None);
}

#[test]
fn equal_bytes_are_identical_whatever_they_are() {
    for name in ["a.bin", "a.cu", "a.py"] {
        let torn = b"\xff\0/* never closed";
        assert_eq!(compare(&path(name), torn, torn), Comparison::Known(Delta::Identical));
    }
}

#[test]
fn what_cannot_be_lexed_is_unknown_on_either_side() {
    let unterminated = Comparison::Unknown(Unlexable { line: 2, why: UnlexableWhy::UnterminatedComment });
    assert_eq!(compare(&path("a.cu"), b"int a;", b"int a;\n/* x"), unterminated);
    assert_eq!(compare(&path("a.cu"), b"int a;\n/* x", b"int a;"), unterminated);
    let unknown = compare(&path("a.bin"), b"a", b"b");
    assert_eq!(unknown, Comparison::Unknown(Unlexable { line: 0, why: UnlexableWhy::UnknownLanguage }));
    assert!(!unknown.is_at_most(Delta::Code));
}

#[test]
fn a_bound_holds_up_to_itself() {
    assert!(Comparison::Known(Delta::Whitespace).is_at_most(Delta::Comments));
    assert!(!Comparison::Known(Delta::Code).is_at_most(Delta::Comments));
}

#[test]
fn comment_spans_and_code_are_the_two_halves() {
    let source = b"int a; // one\nint b; /* two */\n";
    let spans = comment_spans(Language::Cpp, source).unwrap();
    assert_eq!(
        spans.iter().map(|span| &source[span.clone()]).collect::<Vec<_>>(),
        [&b"// one"[..], b"/* two */"]
    );
    let code = code_tokens(Language::Cpp, source).unwrap();
    assert_eq!(code, [&b"int"[..], b"a", b";", b"int", b"b", b";"]);
}

#[test]
fn a_comment_that_moves_past_code_is_a_change_of_comments() {
    assert_eq!(delta("a.c", "a /* x */ b", "a b /* x */"), Delta::Comments);
    assert_eq!(delta("a.c", "a /* x */ b", "a\n\n/* x */\nb"), Delta::Whitespace);
}
