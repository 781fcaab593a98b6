//! How far two texts are apart: identical < whitespace < comments < code.
//!
//! Decides from tokens alone. Never guesses: where one text cannot be lexed, the answer is unknown.

use std::fmt;

#[cfg(feature = "git")]
use super::{Language, Token, TokenKind, Unlexable, UnlexableWhy, tokens};
#[cfg(feature = "git")]
use crate::id::UpstreamPath;
#[cfg(feature = "git")]
use crate::tree::{Content, Mode};

/// An upper bound of a difference. A larger one allows more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Delta {
    /// Equal byte for byte.
    Identical,
    /// Equal code and equal comments in the same order; layout differs that means nothing.
    Whitespace,
    /// Equal code; comments differ, and layout may.
    Comments,
    /// Code differs.
    Code,
}

impl Delta {
    /// All of them, least first.
    pub const ALL: [Delta; 4] = [Delta::Identical, Delta::Whitespace, Delta::Comments, Delta::Code];

    /// The word that a manifest uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Delta::Identical => "identical",
            Delta::Whitespace => "whitespace",
            Delta::Comments => "comments",
            Delta::Code => "code",
        }
    }

    /// The difference that a manifest's word stands for.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|delta| delta.as_str() == word)
    }
}

impl fmt::Display for Delta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(feature = "git")]
/// What is known about the difference of two texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// They differ this much and no less.
    Known(Delta),
    /// The language is not known, or one of the texts cannot be lexed.
    Unknown(Unlexable),
}

#[cfg(feature = "git")]
impl Comparison {
    /// Whether the difference is proven to be at most `bound`.
    #[must_use]
    pub fn is_at_most(self, bound: Delta) -> bool {
        matches!(self, Comparison::Known(delta) if delta <= bound)
    }
}

#[cfg(feature = "git")]
/// Compares two contents of the file at `path`. Equal bytes are identical, whatever the file is.
#[must_use]
pub fn compare(path: &UpstreamPath, a: &[u8], b: &[u8]) -> Comparison {
    if a == b {
        return Comparison::Known(Delta::Identical);
    }
    let Some(language) = Language::of_path(path) else {
        return Comparison::Unknown(Unlexable { line: 0, why: UnlexableWhy::UnknownLanguage });
    };
    match (tokens(language, a), tokens(language, b)) {
        (Ok(of_a), Ok(of_b)) => Comparison::Known(compare_tokens((a, &of_a), (b, &of_b))),
        (Err(unlexable), _) | (_, Err(unlexable)) => Comparison::Unknown(unlexable),
    }
}

#[cfg(feature = "git")]
/// Compares what stands at `path`. Another mode is another content, and so is another target of a link, whatever the link
/// is named: a target has no comments.
#[must_use]
pub fn compare_contents(path: &UpstreamPath, a: &Content, b: &Content) -> Comparison {
    match (a.mode, b.mode) {
        _ if a == b => Comparison::Known(Delta::Identical),
        (Mode::File, Mode::File) | (Mode::Executable, Mode::Executable) => compare(path, &a.bytes, &b.bytes),
        _ => Comparison::Known(Delta::Code),
    }
}

#[cfg(feature = "git")]
fn compare_tokens((a, of_a): (&[u8], &[Token]), (b, of_b): (&[u8], &[Token])) -> Delta {
    let same = |(x, y): (&Token, &Token)| x.kind == y.kind && x.spelling(a) == y.spelling(b);
    if of_a.len() == of_b.len() && of_a.iter().zip(of_b).all(same) {
        return Delta::Whitespace;
    }
    let mut code_of_a = of_a.iter().filter(|token| token.kind != TokenKind::Comment);
    let mut code_of_b = of_b.iter().filter(|token| token.kind != TokenKind::Comment);
    loop {
        match (code_of_a.next(), code_of_b.next()) {
            (None, None) => return Delta::Comments,
            (Some(x), Some(y)) if same((x, y)) => {}
            _ => return Delta::Code,
        }
    }
}
