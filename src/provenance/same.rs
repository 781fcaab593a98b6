//! Which of many contents does the same as one.
//!
//! Decides as a comparison of each pair would: by bytes and mode, then token by token without comments. The one is
//! taken apart once, and most of the others are ruled out without that.

use std::borrow::Cow;
use std::cell::OnceCell;

use bstr::ByteSlice;

use crate::id::UpstreamPath;
use crate::lex::{self, Language};
use crate::tree::{Content, Entry, Mode};

/// The content that others are compared with.
pub(super) struct Same<'a> {
    path: &'a UpstreamPath,
    content: &'a Content,
    entry: Entry,
    /// Its code, once it is asked for; `None` inside: it cannot be told.
    code: OnceCell<Option<Code<'a>>>,
}

struct Code<'a> {
    language: Language,
    tokens: Vec<Cow<'a, [u8]>>,
    /// Bytes of all tokens.
    bytes: usize,
    /// The longest tokens: another content with equal code has them.
    telling: Vec<Cow<'a, [u8]>>,
}

/// How many long tokens are looked for before a text is taken apart.
const TELLING: usize = 24;

impl<'a> Same<'a> {
    pub(super) fn new(path: &'a UpstreamPath, content: &'a Content) -> Self {
        Self { path, content, entry: content.entry(), code: OnceCell::new() }
    }

    /// The content by name.
    pub(super) fn entry(&self) -> Entry {
        self.entry
    }

    /// Whether another content does the same.
    pub(super) fn is(&self, other: &Content) -> bool {
        if other.mode != self.entry.mode {
            return false;
        }
        match self.code.get_or_init(|| Code::of(self.path, self.content)) {
            Some(code) if other.bytes.len() >= code.least_bytes() => {
                code.telling.iter().all(|token| other.bytes.contains_str(token))
                    && lex::code_tokens(code.language, &other.bytes).is_ok_and(|tokens| tokens == code.tokens)
            }
            _ => other.entry() == self.entry,
        }
    }
}

impl<'a> Code<'a> {
    fn of(path: &UpstreamPath, content: &'a Content) -> Option<Self> {
        let is_file = matches!(content.mode, Mode::File | Mode::Executable);
        let language = Language::of_path(path).filter(|_| is_file)?;
        let tokens = lex::code_tokens(language, &content.bytes).ok()?;
        let mut telling: Vec<Cow<'a, [u8]>> =
            tokens.iter().filter(|token| token.iter().all(u8::is_ascii_alphanumeric)).cloned().collect();
        telling.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        telling.dedup();
        telling.truncate(TELLING);
        Some(Self { language, bytes: tokens.iter().map(|token| token.len()).sum(), tokens, telling })
    }

    /// Layout tokens may stand for nothing in the text; all others are there.
    fn least_bytes(&self) -> usize {
        let layout = self.tokens.iter().filter(|token| token.first().is_some_and(u8::is_ascii_whitespace));
        self.bytes - layout.map(|token| token.len()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_layout_make_no_difference_and_anything_else_does() {
        let path = UpstreamPath::parse("k.cu").unwrap();
        let content = Content::file(*b"#define A 1\nint width = A; // ours\n");
        let same = Same::new(&path, &content);
        assert!(same.is(&content));
        assert!(same.is(&Content::file(*b"#define A 1\nint width\n= A;")));
        assert!(!same.is(&Content::file(*b"#define A 1\nint width = B; // ours\n")));
        assert!(!same.is(&Content::file(*b"#define A 1\nint width = A;\nint more;\n")));
    }

    #[test]
    fn where_comments_cannot_be_told_bytes_decide() {
        let path = UpstreamPath::parse("notes.txt").unwrap();
        let content = Content::file(*b"// a\n");
        let same = Same::new(&path, &content);
        assert!(same.is(&content));
        assert!(!same.is(&Content::file(*b"// b\n")));
    }
}
