//! Tokens: they lie in order inside the text, and a text whose comments are emptied has the same code.
#![no_main]

use libfuzzer_sys::fuzz_target;
use overlaid::id::UpstreamPath;
use overlaid::lex::{Comparison, Delta, Language, code_tokens, comment_spans, compare, tokens};

const NAMES: [&str; 5] = ["a.c", "a.cu", "a.py", "a.cmake", "a.toml"];

fuzz_target!(|data: &[u8]| {
    let Some((&which, source)) = data.split_first() else { return };
    let Ok(path) = UpstreamPath::parse(NAMES[usize::from(which) % NAMES.len()]) else { return };
    let Some(language) = Language::of_path(&path) else { return };
    assert_eq!(compare(&path, source, source), Comparison::Known(Delta::Identical));
    let Ok(all) = tokens(language, source) else { return };
    let mut end = 0;
    for token in &all {
        assert!(token.span.start >= end && token.span.end >= token.span.start, "{all:?}");
        assert!(token.span.end <= source.len());
        end = token.span.end;
        drop(token.spelling(source));
    }
    let (Ok(code), Ok(comments)) = (code_tokens(language, source), comment_spans(language, source)) else {
        panic!("tokens, but no code")
    };
    // Every comment without what it says. (None in its place could make a splice of a backslash before it.)
    let mut bare = Vec::new();
    let mut at = 0;
    for span in comments {
        bare.extend_from_slice(&source[at..span.start]);
        bare.extend_from_slice(empty_comment(language, &source[span.clone()]));
        at = span.end;
    }
    bare.extend_from_slice(&source[at..]);
    let shown = || (String::from_utf8_lossy(source).into_owned(), String::from_utf8_lossy(&bare).into_owned());
    match code_tokens(language, &bare) {
        Ok(bare_code) => assert_eq!(code, bare_code, "{:?}", shown()),
        Err(error) => panic!("{error:?} {:?}", shown()),
    }
});

fn empty_comment(language: Language, comment: &[u8]) -> &'static [u8] {
    match language {
        // A splice may stand between both characters.
        Language::C | Language::Cpp if comment.ends_with(b"*/") && !comment.starts_with(b"//") => b"/**/",
        Language::C | Language::Cpp => b"//",
        Language::CMake if comment.ends_with(b"]") && comment.get(1) == Some(&b'[') => b"#[[]]",
        Language::CMake | Language::Python | Language::Toml => b"#",
    }
}
