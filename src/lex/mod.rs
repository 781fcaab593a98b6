//! Source text to tokens and comments, per language; whether two texts differ in more than comments.
//!
//! Decides what is a comment and what is code in C and its relatives, Python, CMake and TOML. Never runs a
//! preprocessor, never looks at another file, and never guesses: what it cannot take apart is [`Unlexable`].
//!
//! # The rule
//!
//! Two texts have equal code if they are **equal token by token**, comments and layout left out. They differ in
//! *whitespace* if their comments are equal too and stand between the same tokens; else in *comments*. Layout
//! that means something is code:
//!
//! - strings and character literals, byte for byte;
//! - where a preprocessor directive begins and ends; in a macro's replacement and in a `#pragma`, whether there is white
//!   space (or a comment) between two tokens or none, since `#` and the compiler can show it; between a macro's name
//!   and `(`; the name of an included file; the text of `#error` and `#warning`;
//! - the end of a Python statement, and the blocks that indentation makes (not how deep it is); docstrings, the
//!   shebang line and the encoding line;
//! - the end of a CMake command, and whether two arguments touch; the end of a TOML line.
//!
//! Splicing is undone first: a C comment that ends with a backslash takes the next line with it, so such a
//! backslash is a change of code when the next line has any.
//!
//! # What equal tokens do not promise
//!
//! Three things can see more than tokens. Line numbers: `__LINE__`, `assert`, debug information, a Python
//! traceback. In C, `#` applied to a macro's *argument* shows whether white space stood between two of its tokens
//! (`CHECK(a+b)` against `CHECK(a + b)`), and only expansion could tell which call is such an argument. And text
//! that a tool other than the compiler reads out of comments: `NOLINT`, `fallthrough`, `# type: ignore`, `# noqa`.
//! They are the usual understanding of "only comments", and the price of not running a preprocessor.

#[cfg(feature = "git")]
mod c;
#[cfg(feature = "git")]
mod cmake;
mod delta;
#[cfg(feature = "git")]
mod lines;
#[cfg(feature = "git")]
mod python;
#[cfg(feature = "git")]
mod recent;
#[cfg(feature = "git")]
mod token;
#[cfg(feature = "git")]
mod toml;

#[cfg(feature = "git")]
use std::borrow::Cow;
#[cfg(feature = "git")]
use std::ops::Range;

pub use delta::Delta;
#[cfg(feature = "git")]
pub use delta::{Comparison, compare, compare_contents};
#[cfg(feature = "git")]
pub use lines::code_of_lines;
#[cfg(feature = "git")]
pub use token::{Token, TokenKind, Unlexable, UnlexableWhy};

use crate::id::UpstreamPath;

/// A language whose comments are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// C and Objective-C sources. Raw strings and digit separators are unlexable: C's standards disagree about them.
    C,
    /// C++, CUDA, HIP, Metal, Objective-C++, and headers, which any of these may include. C++20 with CUDA's `<<<`.
    Cpp,
    /// Python 3.
    Python,
    /// CMake.
    CMake,
    /// TOML.
    Toml,
}

impl Language {
    /// The language of a file, by its name; `None` if no lexer here knows it.
    #[must_use]
    pub fn of_path(path: &UpstreamPath) -> Option<Language> {
        let name: &[u8] = path.file_name();
        if name == b"CMakeLists.txt" {
            return Some(Language::CMake);
        }
        let dot = name.iter().rposition(|&b| b == b'.')?;
        match &name[dot + 1..] {
            b"c" | b"m" => Some(Language::C),
            b"h" | b"hh" | b"hpp" | b"hxx" | b"h++" | b"H" | b"cc" | b"cpp" | b"cxx" | b"c++" | b"C"
            | b"inl" | b"ipp" | b"tpp" | b"tcc" | b"cu" | b"cuh" | b"hip" | b"metal" | b"mm" => {
                Some(Language::Cpp)
            }
            b"py" | b"pyi" => Some(Language::Python),
            b"cmake" => Some(Language::CMake),
            b"toml" => Some(Language::Toml),
            _ => None,
        }
    }
}

#[cfg(feature = "git")]
/// All tokens of a text, comments included, in order.
///
/// # Errors
/// If the text cannot be taken apart without guessing.
pub fn tokens(language: Language, source: &[u8]) -> Result<Vec<Token>, Unlexable> {
    match language {
        Language::C => c::lex(source, c::Dialect::C),
        Language::Cpp => c::lex(source, c::Dialect::Cpp),
        Language::Python => python::lex(source),
        Language::CMake => cmake::lex(source),
        Language::Toml => toml::lex(source),
    }
}

#[cfg(feature = "git")]
/// The spellings of all tokens but comments, in order, with the layout that is code. Equal lists are equal code.
///
/// # Errors
/// If the text cannot be taken apart without guessing.
pub fn code_tokens(language: Language, source: &[u8]) -> Result<Vec<Cow<'_, [u8]>>, Unlexable> {
    let tokens = tokens(language, source)?;
    Ok(tokens.iter().filter(|token| !token.is_comment()).map(|token| token.spelling(source)).collect())
}

#[cfg(feature = "git")]
/// Where the comments of a text are, in bytes.
///
/// # Errors
/// If the text cannot be taken apart without guessing.
pub fn comment_spans(language: Language, source: &[u8]) -> Result<Vec<Range<usize>>, Unlexable> {
    let spans = |tokens: &[Token]| {
        tokens.iter().filter(|token| token.is_comment()).map(|token| token.span.clone()).collect()
    };
    match recent::known(language, source) {
        Some(known) => known.as_ref().as_ref().map(|tokens| spans(tokens)).map_err(|unlexable| *unlexable),
        None => tokens(language, source).map(|tokens| spans(&tokens)),
    }
}

#[cfg(feature = "git")]
/// A UTF-8 byte order mark: layout, to every compiler and interpreter here.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[cfg(feature = "git")]
/// Where the text begins, after a byte order mark.
fn start_of(source: &[u8]) -> usize {
    if source.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 }
}

#[cfg(test)]
#[cfg(feature = "git")]
mod tests;
