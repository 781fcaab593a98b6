use proptest::prelude::*;

use super::*;

fn place(text: &str, marked: &str, label: &str) -> Place {
    let start = text.find(marked).unwrap();
    let span = start..start + marked.len();
    Place { file: PathBuf::from("manifests/up.toml"), text: text.into(), span, label: label.into() }
}

#[test]
fn a_message_has_the_form_of_rustc() {
    let text = "version = 1\n[upstream]\npin = \"abc\"\n";
    let message = Diagnostic::error("bad-commit", "`pin` is not a commit id")
        .at(place(text, "\"abc\"", "3 digits"))
        .note("why")
        .hint("what to do");
    insta::assert_snapshot!(message.render(false, 80), @r#"
    error[bad-commit]: `pin` is not a commit id
     --> manifests/up.toml:3:7
      |
    3 | pin = "abc"
      |       ^^^^^ 3 digits
      |
      = note: why
      = hint: what to do
    "#);
}

#[test]
fn places_that_belong_together_are_shown_together() {
    let text = "name = \"a\"\n\n\n\nname = \"b\"\r\n";
    let mut other = place("forbid = 1\n", "1", "and here");
    other.file = PathBuf::from("other.toml");
    let message = Diagnostic::new(Severity::Warning, "duplicate", "twice")
        .at(place(text, "\"b\"", "again"))
        .and(place(text, "\"a\"", "first"))
        .and(other);
    insta::assert_snapshot!(message.render(false, 80), @r#"
    warning[duplicate]: twice
     --> manifests/up.toml:5:8
      |
    1 | name = "a"
      |        --- first
    ...
    5 | name = "b"
      |        ^^^ again
      |
     ::: other.toml:1:10
      |
    1 | forbid = 1
      |          - and here
    "#);
}

#[test]
fn a_message_without_a_place_has_no_arrow() {
    let message = Diagnostic::error("too-large", "`x` has 99 bytes").hint("use another file");
    insta::assert_snapshot!(message.render(false, 80), @"
    error[too-large]: `x` has 99 bytes
     |
     = hint: use another file
    ");
}

#[test]
fn foreign_text_cannot_steer_the_terminal() {
    let text = "a = \"\u{1b}[2J\u{202e}x\u{200b}\u{9b}y\u{7}\"\n";
    let mut at = place(text, "x", "\u{1b}[31m");
    at.file = PathBuf::from("a\u{1b}b.toml");
    let message = Diagnostic::error("e", "m \u{1b}]0;t\u{7} \u{2066}").at(at).note("n \r o").hint("h \u{9b}");
    for color in [false, true] {
        let shown = message.render(color, 80);
        let own = if color { 1 } else { 0 };
        // Colours are escape sequences, too; all of ours end in `m`, and none of theirs is left.
        for sequence in shown.split('\u{1b}').skip(1) {
            assert!(own == 1 && sequence.starts_with('['), "{shown:?}");
            assert!(
                sequence
                    .trim_start_matches(|c: char| c == '[' || c == ';' || c.is_ascii_digit())
                    .starts_with('m')
            );
        }
        assert!(!shown.contains(['\u{7}', '\u{9b}', '\u{202e}', '\u{200b}', '\u{2066}', '\r']), "{shown:?}");
    }
    insta::assert_snapshot!(message.render(false, 80), @r#"
    error[e]: m \u{1b}]0;t\u{7} \u{2066}
     --> a\u{1b}b.toml:1:11
      |
    1 | a = "␛[2J�x��y␇"
      |           ^ \u{1b}[31m
      |
      = note: n \u{d} o
      = hint: h \u{9b}
    "#);
}

#[test]
fn columns_count_characters() {
    let text = "ä = 1\nö\t= \"日本\" # x\n";
    let at = place(text, "# x", "");
    assert_eq!(at.line_and_column(), (2, 10));
    let shown = Diagnostic::error("e", "m").at(at).render(false, 80);
    assert!(shown.contains("manifests/up.toml:2:10\n"), "{shown}");
}

#[test]
fn a_long_line_is_trimmed_around_what_it_shows() {
    let text = format!("a = \"{}MARK{}\"\n", "x".repeat(2000), "y".repeat(100_000));
    let shown = Diagnostic::error("e", "m").at(place(&text, "MARK", "here")).render(false, 80);
    assert!(shown.contains("MARK") && shown.contains("here") && shown.contains(":1:2006"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
}

#[test]
fn what_is_far_right_is_named_and_not_drawn() {
    let text = format!("a = \"{}MARK\"\n", "x".repeat(3_000_000));
    let shown = Diagnostic::error("e", "m").at(place(&text, "MARK", "here")).render(false, 80);
    insta::assert_snapshot!(shown, @"
    error[e]: m
    --> manifests/up.toml:1:3000006
     = note: here
    ");
}

#[test]
fn a_record_has_the_position_and_the_hint() {
    let text = "x\nab = 1\n";
    let message = Diagnostic::error("unknown-key", "unknown key `ab`").at(place(text, "1", "")).hint("try");
    let json = message.to_json();
    let expected = serde_json::json!({
        "code": "unknown-key", "severity": "error", "message": "unknown key `ab`",
        "file": "manifests/up.toml", "line": 2, "column": 6, "hint": "try",
    });
    assert_eq!(json, expected);
    let bare = Diagnostic::error("e", "m").to_json();
    assert!(bare["file"].is_null() && bare["line"].is_null() && bare["hint"].is_null());
}

#[test]
fn foreign_words_are_short_and_on_one_line() {
    assert_eq!(quoted("a b"), "`a b`");
    assert_eq!(quoted("a\nb\u{1b}"), "`a\\nb\\u{1b}`");
    assert_eq!(quoted(&"ü".repeat(70)), format!("`{}...`", "ü".repeat(60)));
}

proptest! {
    #[test]
    fn any_span_of_any_text_is_shown_at_its_line_and_column(
        text in "[ab\n\r\t\u{1b}é日\u{202e}]{0,40}", start in 0..45usize, length in 0..20usize,
        other in 0..45usize, width in 0..200usize,
    ) {
        let at = |start: usize, length: usize| Place {
            file: PathBuf::from("f"), text: text.as_str().into(), span: start..start + length, label: "l".into(),
        };
        let message = Diagnostic::error("e", "m").at(at(start, length)).and(at(other, length));
        let shown = message.render(false, width);
        let (line, column) = message.at.as_ref().unwrap().line_and_column();
        prop_assert!(shown.contains(&format!("f:{line}:{column}\n")), "{line}:{column} {shown}");
    }
}
