//! What a lexer says about a text: tokens, or where and why there is no answer.
//!
//! Decides how a token is spelled. Never reads a language's rules: each lexer has its own.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// What a stretch of source text is to the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokenKind {
    /// Text that means something: a name, a number, a string, an operator, a shebang line.
    Code,
    /// Text that the language leaves out.
    Comment,
    /// The end of a line where that matters: a preprocessor directive, a Python statement, a CMake command.
    Newline,
    /// White space where that matters: between the tokens of a macro's replacement, which `#` shows.
    Space,
    /// A Python block begins.
    Indent,
    /// A Python block ends.
    Dedent,
}

/// A piece of a source text. Layout that means nothing has no token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it is, in bytes of the source. May be empty for layout.
    pub span: Range<usize>,
    /// Line splices have to be taken out of the span to get the spelling.
    spliced: bool,
}

impl Token {
    pub(super) fn new(kind: TokenKind, span: Range<usize>) -> Self {
        Self { kind, span, spliced: false }
    }

    pub(super) fn spliced(kind: TokenKind, span: Range<usize>, spliced: bool) -> Self {
        Self { kind, span, spliced }
    }

    /// What the language sees of the token; `source` is the text that it came from.
    ///
    /// Line splices of C are taken out. Layout has a spelling that no other token has: it begins with white space.
    /// Comments are spelled as they stand.
    #[must_use]
    pub fn spelling<'s>(&self, source: &'s [u8]) -> Cow<'s, [u8]> {
        match self.kind {
            TokenKind::Newline => Cow::Borrowed(b"\n"),
            TokenKind::Space => Cow::Borrowed(b" "),
            TokenKind::Indent => Cow::Borrowed(b"\n+"),
            TokenKind::Dedent => Cow::Borrowed(b"\n-"),
            TokenKind::Code | TokenKind::Comment => {
                let text = source.get(self.span.clone()).unwrap_or_default();
                if self.spliced { super::c::without_splices(text) } else { Cow::Borrowed(text) }
            }
        }
    }

    /// Whether it is a comment.
    #[must_use]
    pub fn is_comment(&self) -> bool {
        self.kind == TokenKind::Comment
    }
}

/// A text that cannot be taken apart without guessing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unlexable {
    /// The line where it went wrong, from 1; 0 if no line is to blame.
    pub line: usize,
    /// What went wrong.
    pub why: UnlexableWhy,
}

impl Unlexable {
    /// With the line of the byte at `offset`.
    pub(super) fn at(source: &[u8], offset: usize, why: UnlexableWhy) -> Self {
        let before = &source[..offset.min(source.len())];
        Self { line: 1 + before.iter().filter(|&&b| b == b'\n').count(), why }
    }
}

/// Why a text cannot be taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnlexableWhy {
    /// No lexer here knows this kind of file.
    UnknownLanguage,
    /// A comment that does not end.
    UnterminatedComment,
    /// A string or character that does not end.
    UnterminatedString,
    /// A raw string whose delimiter is not allowed.
    RawStringDelimiter,
    /// The standards of C disagree about this text (raw strings, digit separators).
    DependsOnStandard,
    /// `??/` stands for a backslash, or not, as the compiler's options say.
    Trigraph,
    /// The name of an included file in which compilers see different things.
    HeaderName,
    /// A comment opens in the text of `#error`, where some compilers see text.
    CommentInMessage,
    /// A carriage return without a line feed: a line's end to some tools, a space to others.
    LoneCarriageReturn,
    /// A NUL byte where the language has none.
    NulByte,
    /// Bytes that are not the text that the language asks for (UTF-8, or the declared encoding).
    Encoding,
    /// A declared encoding that is not read here.
    UnknownEncoding,
    /// Indentation that fits no open block, or that depends on the width of a tab.
    Indentation,
    /// A backslash that does not join two lines, or joins them where Python's versions disagree.
    Continuation,
    /// An f-string that ends at different places in different versions of Python.
    FormatString,
    /// Brackets that do not match.
    Unbalanced,
    /// A character that the language does not have there.
    UnexpectedCharacter,
}

impl fmt::Display for UnlexableWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UnlexableWhy::UnknownLanguage => "comments are not known in this kind of file",
            UnlexableWhy::UnterminatedComment => "a comment does not end",
            UnlexableWhy::UnterminatedString => "a string or character does not end",
            UnlexableWhy::RawStringDelimiter => "a raw string has a delimiter that is not allowed",
            UnlexableWhy::DependsOnStandard => "what this is depends on the standard of C",
            UnlexableWhy::Trigraph => "`??/` is a backslash or not, as the compiler's options say",
            UnlexableWhy::HeaderName => "compilers read this name of an included file in different ways",
            UnlexableWhy::CommentInMessage => {
                "a comment opens in the text of `#error`, where some compilers see text"
            }
            UnlexableWhy::LoneCarriageReturn => "a carriage return stands without a line feed",
            UnlexableWhy::NulByte => "there is a NUL byte",
            UnlexableWhy::Encoding => "the bytes are not text in the file's encoding",
            UnlexableWhy::UnknownEncoding => "the declared encoding is not known here",
            UnlexableWhy::Indentation => "the indentation fits no block, or depends on the width of a tab",
            UnlexableWhy::Continuation => "a backslash does not join two lines",
            UnlexableWhy::FormatString => "versions of Python disagree where this f-string ends",
            UnlexableWhy::Unbalanced => "brackets do not match",
            UnlexableWhy::UnexpectedCharacter => "a character that the language does not have here",
        })
    }
}

impl fmt::Display for Unlexable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => self.why.fmt(f),
            line => write!(f, "line {line}: {}", self.why),
        }
    }
}

impl std::error::Error for Unlexable {}
