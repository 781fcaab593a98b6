//! TOML against the crate that reads it.

use overlaid::lex::{Delta, Language, tokens};

use super::delta;
use super::generator::{Random, cases, edited, soup};

const LINES: &[&str] = &[
    "a = 1",
    "b.\"c # d\" = 'e # f'",
    "g = \"# \\\" #\"",
    "h = \"\"\"\n# a \"\" \\\n b\"\"\"\"\"",
    "i = '''# a'''",
    "j = ''",
    "k = \"\"",
    "[t]",
    "[[u]]",
    "[ v . w ]",
    "l = [1, 2, [3]]",
    "m = [ # c\n 1,\n]",
    "n = {o = 1, p = \"}\"}",
    "q = 1979-05-27 07:32:00",
    "r = true",
    "# c",
    "",
    "s = 0x_f",
    "t2 = [\"#\", '#']",
];
const ENDS: &[&str] = &["\n", "\n", " # e\n", "\n\n", "\r\n", " ", "\n  "];
const INSERTIONS: &[&str] = &[
    " ", "\t", "\n", "# c", "# c\n", " # c\n", "\"", "'", "\"\"\"", "'''", "[", "]", "{", "}", ",", "\r\n",
    "\\", "#", "x", "=", ".",
];

fn parsed(source: &[u8]) -> Option<toml::Table> {
    std::str::from_utf8(source).ok()?.parse().ok()
}

#[test]
fn what_differs_in_comments_only_is_the_same_document() {
    let mut random = Random::new(29);
    let (count, mut equal, mut valid) = (cases(20_000), 0, 0);
    for _ in 0..count {
        let length = 1 + random.below(6);
        let a = soup(&mut random, LINES, ENDS, length);
        let b = edited(&mut random, &a, INSERTIONS);
        let [before, after] = [&a, &b].map(|source| parsed(source));
        let shown = (bstr::BStr::new(&a), bstr::BStr::new(&b));
        for (source, document) in [(&a, &before), (&b, &after)] {
            let lexed = tokens(Language::Toml, source);
            assert!(document.is_none() || lexed.is_ok(), "valid TOML is refused: {shown:?} {lexed:?}");
        }
        valid += usize::from(before.is_some());
        if delta("a.toml", &a, &b).is_some_and(|delta| delta < Delta::Code) {
            equal += 1;
            assert_eq!(before, after, "{shown:?}");
        }
    }
    eprintln!("{count} pairs: {equal} differ in comments or white space only, {valid} were valid");
    assert!(
        equal * 20 > count && valid * 10 > count,
        "{equal} and {valid} of {count}: the generator is no good"
    );
}
