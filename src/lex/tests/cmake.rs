use crate::lex::tests::{assert_deltas, refusal, spell};
use crate::lex::{Delta, Language, UnlexableWhy};

#[track_caller]
fn assert_spelled(source: &str, expected: &[&str]) {
    assert_eq!(spell(Language::CMake, source), expected, "{source:?}");
}

#[test]
fn comments_are_line_comments_or_in_brackets() {
    assert_spelled("f(a # b)\n c) # d\n", &["f", "(", "a", "C:# b)", "c", ")", "C:# d", "\n"]);
    assert_spelled("#[[ a\n]=] ]]\nf()#[=[]]]=]\n", &["C:#[[ a\n]=] ]]", "f", "(", ")", "C:#[=[]]]=]", "\n"]);
    assert_spelled("#[=a\nf()", &["C:#[=a", "f", "(", ")", "\n"]);
    assert_spelled("f(a#b\n)", &["f", "(", "a", "C:#b", ")", "\n"]);
}

#[test]
fn what_looks_like_a_comment_in_an_argument_is_none() {
    assert_spelled(
        r##"f("# a" [[# b]] [=[ # ]] ]=] a\#b)"##,
        &["f", "(", "\"# a\"", "[[# b]]", "[=[ # ]] ]=]", "a\\#b", ")", "\n"],
    );
    assert_spelled("f(\"a\\\" # \\\n b\" # c\n)", &["f", "(", "\"a\\\" # \\\n b\"", "C:# c", ")", "\n"]);
}

#[test]
fn arguments_that_touch_are_one_token() {
    assert_spelled(
        r#"f(-Da="b c"d $(X)y ${A}[[b "c" [[d]] [)"#,
        &["f", "(", "-Da=\"b c\"d", "$(X)y", "${A}[[b", "\"c\"", "[[d]]", "[", ")", "\n"],
    );
    assert_deltas(
        "a.cmake",
        Delta::Code,
        &[("f(a b)", "f(ab)"), ("f(\"a\"b)", "f(\"a\" b)"), ("f(\"a b\")", "f(\"a  b\")")],
    );
}

#[test]
fn lines_end_commands_outside_parentheses() {
    assert_deltas(
        "CMakeLists.txt",
        Delta::Whitespace,
        &[
            ("f(a b)\ng()", "f( a\n  b\n)\n\n  g ( )\n"),
            ("f()\r\n# a\r\n", "f()\n# a\n"),
            ("\u{feff}f()", "f()"),
        ],
    );
    assert_deltas("CMakeLists.txt", Delta::Code, &[("f()\ng()", "f()")]);
    assert_deltas("CMakeLists.txt", Delta::Comments, &[("f()\ng()", "f() #[[\n]]\n #[[ ]]\ng() # a")]);
}

#[test]
fn what_does_not_end_is_refused() {
    for (source, line, why) in [
        ("f(\n\"a)", 2, UnlexableWhy::UnterminatedString),
        ("f([[a]=])", 1, UnlexableWhy::UnterminatedString),
        ("\n#[[a", 2, UnlexableWhy::UnterminatedComment),
        ("f(", 1, UnlexableWhy::Unbalanced),
        ("f())", 1, UnlexableWhy::Unbalanced),
        ("f(a\0)", 1, UnlexableWhy::NulByte),
        ("f(a\\\n)", 1, UnlexableWhy::UnexpectedCharacter),
        ("f(a\"b\"[[ # ]])", 1, UnlexableWhy::UnexpectedCharacter),
        ("#[[a]] f()", 1, UnlexableWhy::UnexpectedCharacter),
        ("f #[[a]] ()", 1, UnlexableWhy::UnexpectedCharacter),
        ("f # a\n()", 1, UnlexableWhy::UnexpectedCharacter),
        ("f\n()", 1, UnlexableWhy::UnexpectedCharacter),
        ("f() g()", 1, UnlexableWhy::UnexpectedCharacter),
        ("f(a #[[b]]c)", 1, UnlexableWhy::UnexpectedCharacter),
        ("f([[a]]b)", 1, UnlexableWhy::UnexpectedCharacter),
        ("f((a)[[b]])", 1, UnlexableWhy::UnexpectedCharacter),
    ] {
        assert_eq!(refusal(Language::CMake, source.as_bytes()), (line, why), "{source:?}");
    }
}
