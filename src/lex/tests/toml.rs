use crate::lex::tests::{assert_deltas, refusal, spell};
use crate::lex::{Delta, Language, UnlexableWhy};

#[track_caller]
fn assert_spelled(source: &str, expected: &[&str]) {
    assert_eq!(spell(Language::Toml, source), expected, "{source:?}");
}

#[test]
fn strings_hold_what_looks_like_comments() {
    assert_spelled("a = \"# \\\" #\" # b\n", &["a", "=", "\"# \\\" #\"", "C:# b", "\n"]);
    assert_spelled("a = '# \\' # b\n", &["a", "=", "'# \\'", "C:# b", "\n"]);
    assert_spelled(
        "a = \"\"\"# \"\" \\\"\"\"\"\"\" # b",
        &["a", "=", "\"\"\"# \"\" \\\"\"\"\"\"\"", "C:# b", "\n"],
    );
    assert_spelled("a = '''\n#''''' # b", &["a", "=", "'''\n#'''''", "C:# b", "\n"]);
    assert_spelled("a = ''# b", &["a", "=", "''", "C:# b", "\n"]);
}

#[test]
fn lines_count_but_not_in_arrays() {
    assert_deltas("a.toml", Delta::Whitespace, &[("a = [1, 2]\n\nb=1", "a = [\n  1,\n  2\n]\r\nb = 1\n")]);
    assert_deltas("a.toml", Delta::Comments, &[("a = [1, 2] # x", "a = [ # y\n1, 2]")]);
    assert_deltas(
        "a.toml",
        Delta::Code,
        &[("a = 1\nb = 2", "a = 1 b = 2"), ("a = {b = 1}", "a = {\nb = 1}")],
    );
}

#[test]
fn double_brackets_and_dates_hold_together() {
    assert_spelled(
        "[[ a . \"b\" ]] # c\nd = 1979-05-27 07:32:00",
        &["[[", "a .", "\"b\"", "]]", "C:# c", "\n", "d", "=", "1979-05-27 07:32:00", "\n"],
    );
    assert_deltas("a.toml", Delta::Code, &[("[[a]]", "[a]")]);
    assert_deltas("a.toml", Delta::Whitespace, &[("a = [[1]]", "a = [ [ 1 ] ]")]);
}

#[test]
fn what_is_no_toml_is_refused() {
    for (source, line, why) in [
        (&b"a = \"b\n\""[..], 1, UnlexableWhy::UnterminatedString),
        (b"\na = '''b", 2, UnlexableWhy::UnterminatedString),
        (b"a = [1", 1, UnlexableWhy::Unbalanced),
        (b"a = 1]", 1, UnlexableWhy::Unbalanced),
        (b"[ [a] ]", 1, UnlexableWhy::Unbalanced),
        (b"# \xff", 1, UnlexableWhy::Encoding),
        (b"# \x01", 1, UnlexableWhy::UnexpectedCharacter),
        (b"a = 1\rb = 2", 1, UnlexableWhy::LoneCarriageReturn),
        (b"a = $", 1, UnlexableWhy::UnexpectedCharacter),
    ] {
        assert_eq!(refusal(Language::Toml, source), (line, why), "{:?}", bstr::BStr::new(source));
    }
}
