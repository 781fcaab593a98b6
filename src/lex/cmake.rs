//! CMake's language (the manual page cmake-language(7), and its lexer for what the page leaves open).
//!
//! Words that touch are one token, so that a space between them is code. The end of a line counts outside of
//! parentheses. A comment can break a file: one in brackets may not stand before a command on its line, between a
//! command's name and its parenthesis, or touch the argument behind it. Such files are refused, as CMake does.

use bstr::ByteSlice;

use super::{Token, TokenKind, Unlexable, UnlexableWhy, start_of};

/// Takes a source apart.
pub(super) fn lex(source: &[u8]) -> Result<Vec<Token>, Unlexable> {
    if let Some(at) = source.find_byte(0) {
        return Err(Unlexable::at(source, at, UnlexableWhy::NulByte));
    }
    let mut lexer = Lexer {
        source,
        at: start_of(source),
        tokens: Vec::with_capacity(source.len() / 8),
        depth: 0,
        line_has_code: false,
        place: Place::LineStart,
    };
    lexer.run()?;
    Ok(lexer.tokens)
}

struct Lexer<'s> {
    source: &'s [u8],
    at: usize,
    tokens: Vec<Token>,
    /// How many parentheses are open.
    depth: usize,
    /// Code that is not in parentheses stands on this line.
    line_has_code: bool,
    place: Place,
}

/// Where outside of parentheses the lexer is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A command may begin.
    LineStart,
    /// Behind a command's name: its parenthesis must follow on the line.
    Name,
    /// A command or a comment in brackets stands before on the line.
    LineUsed,
}

impl Lexer<'_> {
    fn error<T>(&self, at: usize, why: UnlexableWhy) -> Result<T, Unlexable> {
        Err(Unlexable::at(self.source, at, why))
    }

    fn run(&mut self) -> Result<(), Unlexable> {
        while let Some(&byte) = self.source.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\n' => {
                    if self.depth == 0 {
                        self.end_line()?;
                    }
                    self.at += 1;
                }
                b'#' => self.comment()?,
                b'(' => {
                    if self.depth == 0 {
                        self.go(Place::Name, Place::LineUsed)?;
                    }
                    self.depth += 1;
                    self.code(self.at + 1);
                }
                b')' => {
                    let Some(depth) = self.depth.checked_sub(1) else {
                        return self.error(self.at, UnlexableWhy::Unbalanced);
                    };
                    self.depth = depth;
                    self.code(self.at + 1);
                }
                _ => {
                    if self.depth == 0 {
                        self.go(Place::LineStart, Place::Name)?;
                    }
                    let end = self.end_of_word()?;
                    self.code(end);
                }
            }
        }
        if self.depth > 0 {
            return self.error(self.at, UnlexableWhy::Unbalanced);
        }
        self.end_line()
    }

    /// Goes on outside of parentheses, if the lexer is where this may stand.
    fn go(&mut self, from: Place, to: Place) -> Result<(), Unlexable> {
        if self.place != from {
            return self.error(self.at, UnlexableWhy::UnexpectedCharacter);
        }
        self.place = to;
        Ok(())
    }

    fn code(&mut self, end: usize) {
        self.tokens.push(Token::new(TokenKind::Code, self.at..end));
        self.at = end;
        self.line_has_code = true;
    }

    fn end_line(&mut self) -> Result<(), Unlexable> {
        if self.place == Place::Name {
            return self.error(self.at, UnlexableWhy::UnexpectedCharacter);
        }
        self.place = Place::LineStart;
        if std::mem::take(&mut self.line_has_code) {
            self.tokens.push(Token::new(TokenKind::Newline, self.at..self.at));
        }
        Ok(())
    }

    fn comment(&mut self) -> Result<(), Unlexable> {
        let start = self.at;
        if self.depth == 0 && self.place == Place::Name {
            return self.error(start, UnlexableWhy::UnexpectedCharacter);
        }
        self.at = match bracket_length(&self.source[start + 1..]) {
            Some(length) => {
                let end = self.end_of_bracket(start + 1, length, UnlexableWhy::UnterminatedComment)?;
                self.place = Place::LineUsed;
                self.check_apart(end)?;
                end
            }
            None => {
                let rest = &self.source[start..];
                let line = &rest[..rest.find_byte(b'\n').unwrap_or(rest.len())];
                start + line.strip_suffix(b"\r").unwrap_or(line).len()
            }
        };
        self.tokens.push(Token::new(TokenKind::Comment, start..self.at));
        Ok(())
    }

    /// No argument may touch the bracket that ends at `end`.
    fn check_apart(&self, end: usize) -> Result<(), Unlexable> {
        match self.source.get(end) {
            None | Some(b' ' | b'\t' | b'\r' | b'\n' | b'#' | b'(' | b')') => Ok(()),
            Some(_) => self.error(end, UnlexableWhy::UnexpectedCharacter),
        }
    }

    /// The end of the argument in brackets, or of the bare and quoted arguments, that begin here and touch.
    fn end_of_word(&self) -> Result<usize, Unlexable> {
        let mut at = self.at;
        // Inside a bare word a bracket is a character like any other.
        let mut bare = false;
        while let Some(&byte) = self.source.get(at) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b'#' | b')' => break,
                b'(' if self.is_make_variable(at) => {
                    at += self.source[at..].find_byte(b')').unwrap_or_default() + 1;
                    bare = true;
                }
                b'(' => break,
                b'"' => {
                    at = self.end_of_quoted(at)?;
                    bare = false;
                }
                b'[' if !bare && let Some(length) = bracket_length(&self.source[at..]) => {
                    let touches = at > self.at
                        || self.tokens.last().is_some_and(|token| {
                            token.span.end == at && self.source[token.span.clone()] == *b")"
                        });
                    if touches {
                        return self.error(at, UnlexableWhy::UnexpectedCharacter);
                    }
                    let end = self.end_of_bracket(at, length, UnlexableWhy::UnterminatedString)?;
                    self.check_apart(end)?;
                    return Ok(end);
                }
                b'\\' => {
                    if matches!(self.source.get(at + 1), None | Some(b'\n' | b'\r')) {
                        return self.error(at, UnlexableWhy::UnexpectedCharacter);
                    }
                    at += 2;
                    bare = true;
                }
                _ => {
                    at += 1;
                    bare = true;
                }
            }
        }
        Ok(at)
    }

    /// Whether the parenthesis at `at` is that of `$(NAME)`, which is one bare word.
    fn is_make_variable(&self, at: usize) -> bool {
        let name =
            self.source[at + 1..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        at > self.at && self.source[at - 1] == b'$' && self.source.get(at + 1 + name) == Some(&b')')
    }

    fn end_of_quoted(&self, quote: usize) -> Result<usize, Unlexable> {
        let mut at = quote + 1;
        loop {
            match self.source[at..].find_byteset(b"\"\\") {
                Some(found) if self.source[at + found] == b'"' => return Ok(at + found + 1),
                Some(found) if at + found + 1 < self.source.len() => at += found + 2,
                _ => return self.error(quote, UnlexableWhy::UnterminatedString),
            }
        }
    }

    /// Behind the closing bracket that fits the opening one of `length` bytes at `open`.
    fn end_of_bracket(&self, open: usize, length: usize, why: UnlexableWhy) -> Result<usize, Unlexable> {
        let mut closing = vec![b'='; length];
        closing[0] = b']';
        closing[length - 1] = b']';
        match self.source[open + length..].find(&closing) {
            Some(found) => Ok(open + length + found + length),
            None => self.error(open, why),
        }
    }
}

/// The length of the opening bracket (`[[`, `[==[`) that a text begins with.
fn bracket_length(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(b"[")?;
    let equals = rest.iter().take_while(|&&b| b == b'=').count();
    (rest.get(equals) == Some(&b'[')).then_some(equals + 2)
}

#[cfg(test)]
#[path = "tests/cmake.rs"]
mod tests;
