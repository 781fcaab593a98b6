//! Commits that the comments of a file name: "Synced to upstream `1234567`", "begin upstream path @ 1234567".
//!
//! Any word of seven to forty hexadecimal digits in a comment counts; whether it is a commit, the upstream knows.

use crate::id::UpstreamPath;
use crate::lex::{self, Language};

/// Digits in a comment that may name a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The line, from 1.
    pub line: usize,
    /// The digits.
    pub digits: String,
}

/// Mentions that are looked at, at most.
const MOST: usize = 20;

/// The words in a file's comments that may name a commit, from the top; each once. Where comments cannot be told, the
/// lines that start like one are taken for comments.
#[must_use]
pub fn mentions(path: &UpstreamPath, text: &[u8]) -> Vec<Mention> {
    let spans = Language::of_path(path).and_then(|language| lex::comment_spans(language, text).ok());
    let spans = spans.unwrap_or_else(|| lines_like_comments(text));
    let mut found: Vec<Mention> = Vec::new();
    let (mut line, mut counted) = (1, 0);
    for span in spans {
        let Some(comment) = text.get(span.clone()) else { continue };
        for (start, digits) in digits(comment) {
            let at = span.start + start;
            line += text[counted..at].iter().filter(|byte| **byte == b'\n').count();
            counted = at;
            if !found.iter().any(|known| known.digits == digits) {
                found.push(Mention { line, digits });
            }
            if found.len() == MOST {
                return found;
            }
        }
    }
    found
}

fn lines_like_comments(text: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut start = 0;
    let mut spans = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let trimmed = line.trim_ascii_start();
        if [&b"//"[..], b"#", b"/*", b"*", b";", b"--"].iter().any(|mark| trimmed.starts_with(mark)) {
            spans.push(start..start + line.len());
        }
        start += line.len();
    }
    spans
}

/// Words of seven to forty digits and where they start. A word of decimal digits only is a number or a date, unless it
/// has forty.
fn digits(comment: &[u8]) -> impl Iterator<Item = (usize, String)> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let words = comment.split(move |byte| !is_word(byte)).scan(0, |start, word| {
        let at = *start;
        *start += word.len() + 1;
        Some((at, word))
    });
    words.filter_map(|(at, word)| {
        let is_hex = word.iter().all(u8::is_ascii_hexdigit);
        let is_number = word.iter().all(u8::is_ascii_digit);
        let is_id = (7..=40).contains(&word.len()) && is_hex && (!is_number || word.len() == 40);
        is_id.then(|| (at, String::from_utf8_lossy(word).to_ascii_lowercase()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "b7c3dd6d27f45b5365b08a840310187dc503f1db";

    #[test]
    fn the_styles_that_people_use_are_read() {
        let path = UpstreamPath::parse("mlx/k.cu").unwrap();
        for (text, line) in [
            (format!("// ours\n// ---- begin upstream mlx/k.cu @ {ID} ----\nint a;\n"), 2),
            (format!("// Modified from upstream MLX `{ID}` `mlx/k.cu`\nint a;\n"), 1),
            (format!("/* Our kernel.\n *\n * Synced to upstream `{ID}`. */\nint a;\n"), 3),
            (format!("int a; // these sit on top of upstream `{ID}`\n"), 1),
        ] {
            assert_eq!(mentions(&path, text.as_bytes()), [Mention { line, digits: ID.to_owned() }]);
            let short = text.replace(ID, &ID[..10]);
            assert_eq!(mentions(&path, short.as_bytes())[0].digits, ID[..10]);
        }
    }

    #[test]
    fn code_numbers_dates_and_words_name_nothing() {
        let path = UpstreamPath::parse("mlx/k.cu").unwrap();
        let text =
            "// 20240131, feedback, 0x1234567, issue 1234567\nint x = 0xabcdef12;\nchar* s = \"abcdef12\";\n";
        assert_eq!(mentions(&path, text.as_bytes()), []);
    }

    #[test]
    fn where_comments_are_not_known_lines_that_look_like_one_are_read() {
        let path = UpstreamPath::parse("build.ninja").unwrap();
        let text = format!("rule x\n# from {}\n", &ID[..9]);
        assert_eq!(mentions(&path, text.as_bytes()), [Mention { line: 2, digits: ID[..9].to_owned() }]);
    }
}
