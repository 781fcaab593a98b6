use crate::lex::tests::{assert_deltas, refusal, spell};
use crate::lex::{Delta, Language, UnlexableWhy};

#[track_caller]
fn assert_spelled(source: &str, expected: &[&str]) {
    assert_eq!(spell(Language::Python, source), expected, "{source:?}");
}

#[track_caller]
fn assert_refused(why: UnlexableWhy, sources: &[&str]) {
    for source in sources {
        assert_eq!(refusal(Language::Python, source.as_bytes()).1, why, "{source:?}");
    }
}

#[test]
fn comments_and_docstrings_are_told_apart() {
    assert_spelled(
        "def f():  # a\n    \"\"\"# b\"\"\"\n    return 1\n",
        &[
            "def",
            "f",
            "(",
            ")",
            ":",
            "C:# a",
            "\n",
            "\n+",
            "\"\"\"# b\"\"\"",
            "\n",
            "return",
            "1",
            "\n",
            "\n-",
        ],
    );
    assert_deltas(
        "a.py",
        Delta::Code,
        &[("\"\"\"a\"\"\"\n", "\"\"\"b\"\"\"\n"), ("x = '#a'\n", "x = '#b'\n")],
    );
    assert_deltas(
        "a.py",
        Delta::Comments,
        &[("x = 1  # type: ignore\n", "x = 1\n"), ("# a\nx\n", "x\n\n# b\n")],
    );
}

#[test]
fn shebang_and_encoding_lines_are_code() {
    assert_spelled(
        "#!/bin/a\n# -*- coding: utf-8 -*-\n# a\nx",
        &["#!/bin/a", "# -*- coding: utf-8 -*-", "C:# a", "x", "\n"],
    );
    assert_deltas(
        "a.py",
        Delta::Code,
        &[
            ("#!/bin/a\nx", "x"),
            ("#!/bin/a\nx", "# c\n#!/bin/a\nx"),
            ("# coding: utf-8\nx", "# coding: ascii\nx"),
            ("# a\n# coding=utf-8\nx", "# a\n# b\n# coding=utf-8\nx"),
        ],
    );
    // Line 2 names no encoding if line 1 has code, and line 3 never does.
    assert_deltas(
        "a.py",
        Delta::Comments,
        &[("x\n# coding: utf-8", "x\n"), ("\n\n# coding: latin-1\nx", "x")],
    );
    assert_refused(UnlexableWhy::UnknownEncoding, &["# coding: utf-7\nx", "\n# vim: fileencoding=gbk\nx"]);
}

#[test]
fn text_that_python_refuses_is_refused() {
    let refused = |source: &[u8]| refusal(Language::Python, source);
    assert_eq!(refused(b"x\n# \xff\n"), (2, UnlexableWhy::Encoding));
    assert_eq!(refused(b"# coding: ascii\n# \xc3\xa9\n"), (2, UnlexableWhy::Encoding));
    assert_eq!(refused(b"x\n# \0\n"), (2, UnlexableWhy::NulByte));
    assert_eq!(refused(b"x\ry\n"), (1, UnlexableWhy::LoneCarriageReturn));
    assert_eq!(refused(b"\xef\xbb\xbf# coding: latin-1\n"), (1, UnlexableWhy::Encoding));
    assert!(crate::lex::tokens(Language::Python, b"# coding: latin-1\n# \xff\n").is_ok());
}

#[test]
fn indentation_counts_by_its_blocks() {
    assert_deltas(
        "a.py",
        Delta::Whitespace,
        &[
            ("if a:\n  b\n  c\n", "if a:\n    b\n    c\n"),
            ("if a:\n\tb\n", "if a:\n    b"),
            ("f(a,\n  b)\n", "f(a, b)\n"),
            ("x = a + \\\n  b\n", "x = a + b\n"),
            ("if a:\n  b\n\n", "if a:\n  b\n      \n"),
            ("a\r\nb\r\n", "a\nb\n"),
            ("a\n\x0cb\n", "a\nb\n"),
        ],
    );
    assert_deltas(
        "a.py",
        Delta::Code,
        &[("if a:\n  b\n  c\n", "if a:\n  b\nc\n"), ("a\nb\n", "a b\n"), ("a;b\n", "a\nb\n")],
    );
    // A comment's own indentation says nothing.
    assert_deltas("a.py", Delta::Comments, &[("if a:\n  b\n", "if a:\n# x\n  b\n       # y\n")]);
    assert_refused(UnlexableWhy::Indentation, &["if a:\n    b\n  c\n", "if a:\n        b\n\tc\n"]);
    assert_spelled(
        "if a:\n if b:\n  c\nd",
        &["if", "a", ":", "\n", "\n+", "if", "b", ":", "\n", "\n+", "c", "\n", "\n-", "\n-", "d", "\n"],
    );
}

#[test]
fn continuations_join_lines() {
    assert_spelled("a = 1 \\\n  + 2 # b\n", &["a", "=", "1", "+", "2", "C:# b", "\n"]);
    assert_spelled("a = 1 \\\r\n  # b\n", &["a", "=", "1", "C:# b", "\n"]);
    assert_refused(UnlexableWhy::Continuation, &["a \\ \nb", "a \\", "a \\\n", "\\\na", "if a:\n  \\\n  b"]);
}

#[test]
fn strings_end_where_python_ends_them() {
    assert_spelled("r'\\'#'\n", &["r'\\'#'", "\n"]);
    assert_spelled("'a\\\nb' 'c' # d", &["'a\\\nb'", "'c'", "C:# d", "\n"]);
    assert_spelled("'''a'b''c\\''''#\n", &["'''a'b''c\\''''", "C:#", "\n"]);
    assert_spelled("''#a\n\"\"\"\"a\"\"\"#b", &["''", "C:#a", "\n", "\"\"\"\"a\"\"\"", "C:#b", "\n"]);
    assert_spelled("Rb'#' xr'#'", &["Rb'#'", "xr", "'#'", "\n"]);
    assert_refused(UnlexableWhy::UnterminatedString, &["'a\nb'", "'''a", "'a\\", "'a"]);
}

#[test]
fn f_strings_are_refused_where_versions_disagree() {
    for source in [
        "f'{a}'",
        "f\"{d['a']}\"",
        "f'{{'",
        "f'{x:>{w}}'",
        "f'{x!r:^10}'",
        "rf'\\{x}'",
        "f'''{\nx}'''",
        "f'{x:\"}'",
        "f'{\"}\"}'",
        "f'\\N{DASH}'",
        "f\"{f'{x}'}\"",
        "f'{a != b}'",
    ] {
        assert_spelled(source, &[source, "\n"]);
    }
    assert_refused(
        UnlexableWhy::FormatString,
        &["f'{d['a']}'", "f'{x # a'\n}'", "f'{'\\n'}'", "f'{x'", "f'}'", "f'''{x # '''\n}'''"],
    );
}

#[test]
fn numbers_end_before_words() {
    assert_spelled(
        "1if x else 0xfor 1_0.5e-3j 1..a 0_0 1e5x",
        &["1", "if", "x", "else", "0xf", "or", "1_0.5e-3j", "1.", ".", "a", "0_0", "1e5", "x", "\n"],
    );
}

#[test]
fn brackets_must_match() {
    assert_refused(UnlexableWhy::Unbalanced, &["(a", "a)", "(]"]);
    assert_refused(UnlexableWhy::UnexpectedCharacter, &["a ? b", "`a`", "$a", "a!b"]);
}
