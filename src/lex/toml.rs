//! TOML 1.0 and 1.1.
//!
//! Bare words that only spaces part are one token with the spaces (`1979-05-27 07:32:00` is one value). The end of
//! a line counts, but not in arrays.

use bstr::ByteSlice;

use super::{Token, TokenKind, Unlexable, UnlexableWhy, start_of};

/// Takes a document apart.
pub(super) fn lex(source: &[u8]) -> Result<Vec<Token>, Unlexable> {
    let error = |at, why| Err(Unlexable::at(source, at, why));
    if let Err(invalid) = std::str::from_utf8(source) {
        return error(invalid.valid_up_to(), UnlexableWhy::Encoding);
    }
    if let Some(at) = source.find_iter(b"\r").find(|&at| source.get(at + 1) != Some(&b'\n')) {
        return error(at, UnlexableWhy::LoneCarriageReturn);
    }
    if let Some(at) = source.iter().position(|&b| b.is_ascii_control() && !matches!(b, b'\t' | b'\n' | b'\r'))
    {
        return error(at, UnlexableWhy::UnexpectedCharacter);
    }
    let mut lexer = Lexer {
        source,
        at: start_of(source),
        tokens: Vec::with_capacity(source.len() / 6),
        brackets: Vec::new(),
        line_has_code: false,
    };
    lexer.run()?;
    Ok(lexer.tokens)
}

struct Lexer<'s> {
    source: &'s [u8],
    at: usize,
    tokens: Vec<Token>,
    brackets: Vec<u8>,
    line_has_code: bool,
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
                    self.end_line();
                    self.at += 1;
                }
                b'#' => {
                    let end = self.line_end();
                    self.tokens.push(Token::new(TokenKind::Comment, self.at..end));
                    self.at = end;
                }
                b'[' if self.brackets.is_empty() && !self.line_has_code => self.header()?,
                b'[' | b'{' => {
                    self.brackets.push(byte);
                    self.code(self.at + 1);
                }
                b']' | b'}' => {
                    let open = self.brackets.pop();
                    if !matches!((open, byte), (Some(b'['), b']') | (Some(b'{'), b'}')) {
                        return self.error(self.at, UnlexableWhy::Unbalanced);
                    }
                    self.code(self.at + 1);
                }
                b'=' | b',' => self.code(self.at + 1),
                b'"' | b'\'' => {
                    let end = self.end_of_string(self.at)?;
                    self.code(end);
                }
                _ if is_bare(byte) => {
                    let end = self.end_of_bare();
                    self.code(end);
                }
                _ => return self.error(self.at, UnlexableWhy::UnexpectedCharacter),
            }
        }
        if !self.brackets.is_empty() {
            return self.error(self.at, UnlexableWhy::Unbalanced);
        }
        self.end_line();
        Ok(())
    }

    fn code(&mut self, end: usize) {
        self.tokens.push(Token::new(TokenKind::Code, self.at..end));
        self.at = end;
        self.line_has_code = true;
    }

    /// A line's end counts, but for those in arrays. (In an inline table TOML 1.0 has none.)
    fn end_line(&mut self) {
        if self.brackets.last() != Some(&b'[') && std::mem::take(&mut self.line_has_code) {
            self.tokens.push(Token::new(TokenKind::Newline, self.at..self.at));
        }
    }

    fn line_end(&self) -> usize {
        let rest = &self.source[self.at..];
        let line = &rest[..rest.find_byte(b'\n').unwrap_or(rest.len())];
        self.at + line.strip_suffix(b"\r").unwrap_or(line).len()
    }

    /// `[a.b]` or `[[a.b]]`: double brackets must touch, so they are one token.
    fn header(&mut self) -> Result<(), Unlexable> {
        let double = self.source[self.at..].starts_with(b"[[");
        self.code(self.at + if double { 2 } else { 1 });
        loop {
            match self.source.get(self.at) {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'"' | b'\'') => {
                    let end = self.end_of_string(self.at)?;
                    self.code(end);
                }
                Some(b']') => {
                    let both = double && self.source[self.at..].starts_with(b"]]");
                    self.code(self.at + if both { 2 } else { 1 });
                    return if double == both {
                        Ok(())
                    } else {
                        self.error(self.at, UnlexableWhy::Unbalanced)
                    };
                }
                Some(&byte) if is_bare(byte) => {
                    let end = self.end_of_bare();
                    self.code(end);
                }
                _ => return self.error(self.at, UnlexableWhy::Unbalanced),
            }
        }
    }

    /// The end of bare words with spaces between.
    fn end_of_bare(&self) -> usize {
        let mut end = self.at;
        loop {
            end += self.source[end..].iter().take_while(|&&b| is_bare(b)).count();
            let spaces = self.source[end..].iter().take_while(|&&b| matches!(b, b' ' | b'\t')).count();
            if spaces == 0 || !self.source.get(end + spaces).is_some_and(|&b| is_bare(b)) {
                return end;
            }
            end += spaces;
        }
    }

    fn end_of_string(&self, start: usize) -> Result<usize, Unlexable> {
        let mark = self.source[start];
        let rest = &self.source[start..];
        let triple = rest.len() >= 3 && rest[..3].iter().all(|&b| b == mark);
        let mut at = start + if triple { 3 } else { 1 };
        loop {
            match self.source.get(at) {
                Some(b'\\') if mark == b'"' => at += 2,
                Some(b'\n') if !triple => break,
                Some(&byte) if byte == mark => {
                    let run = self.source[at..].iter().take_while(|&&b| b == mark).count();
                    if !triple {
                        return Ok(at + 1);
                    }
                    // Up to two quotes may stand before the closing three.
                    if run >= 3 {
                        return Ok(at + run.min(5));
                    }
                    at += run;
                }
                Some(_) => at += 1,
                None => break,
            }
        }
        self.error(start, UnlexableWhy::UnterminatedString)
    }
}

/// What keys, numbers, dates and words are made of. (TOML 1.1 drafts had letters outside ASCII too.)
fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+.:".contains(&byte)
}

#[cfg(test)]
#[path = "tests/toml.rs"]
mod tests;
