//! Python 3.
//!
//! Decides as Python's own tokenizer does. Docstrings are strings, so code. A shebang in line 1 and an encoding
//! line (PEP 263) in line 1 or 2 are code. Indentation counts by the blocks that it makes, not by its depth. What
//! Python itself refuses to read is refused here; so is an f-string that ends elsewhere since Python 3.12 (PEP 701).

mod indentation;
mod number;
mod preamble;
mod string;

use bstr::ByteSlice;

use self::indentation::Indentation;
use super::{Token, TokenKind, Unlexable, UnlexableWhy, start_of};

/// Takes a source apart.
pub(super) fn lex(source: &[u8]) -> Result<Vec<Token>, Unlexable> {
    let code_until = preamble::check_text(source)?;
    let mut lexer = Lexer {
        source,
        at: start_of(source),
        tokens: Vec::with_capacity(source.len() / 5),
        brackets: Vec::new(),
        indentation: Indentation::default(),
        code_comments_until: code_until,
    };
    lexer.run()?;
    Ok(lexer.tokens)
}

struct Lexer<'s> {
    source: &'s [u8],
    at: usize,
    tokens: Vec<Token>,
    /// The open brackets: line ends mean nothing in them.
    brackets: Vec<u8>,
    indentation: Indentation,
    /// Comments that begin before this are a shebang or an encoding line.
    code_comments_until: preamble::Lines,
}

impl Lexer<'_> {
    fn error<T>(&self, at: usize, why: UnlexableWhy) -> Result<T, Unlexable> {
        Err(Unlexable::at(self.source, at, why))
    }

    fn run(&mut self) -> Result<(), Unlexable> {
        while self.at < self.source.len() {
            self.begin_line()?;
            self.logical_line()?;
        }
        if !self.brackets.is_empty() {
            return self.error(self.at, UnlexableWhy::Unbalanced);
        }
        let open = self.indentation.close_all();
        self.push_layout(TokenKind::Dedent, open);
        Ok(())
    }

    fn push_layout(&mut self, kind: TokenKind, count: usize) {
        let token = Token::new(kind, self.at..self.at);
        self.tokens.extend(std::iter::repeat_n(token, count));
    }

    /// Measures the indentation of a line, unless the line has no code.
    fn begin_line(&mut self) -> Result<(), Unlexable> {
        let start = self.at;
        let width = indentation::measure(self.source, &mut self.at);
        match self.source.get(self.at) {
            None | Some(b'\n' | b'\r' | b'#') => Ok(()),
            // What the next line's white space means then has changed between versions.
            Some(b'\\') => self.error(self.at, UnlexableWhy::Continuation),
            Some(_) => match self.indentation.enter(width) {
                Some(indentation::Step::Same) => Ok(()),
                Some(indentation::Step::Deeper) => {
                    self.tokens.push(Token::new(TokenKind::Indent, start..self.at));
                    Ok(())
                }
                Some(indentation::Step::Back(blocks)) => {
                    self.push_layout(TokenKind::Dedent, blocks);
                    Ok(())
                }
                None => self.error(start, UnlexableWhy::Indentation),
            },
        }
    }

    /// Reads up to the end of a statement's last line, or of a line without code.
    fn logical_line(&mut self) -> Result<(), Unlexable> {
        let mut has_code = false;
        loop {
            let Some(&byte) = self.source.get(self.at) else {
                if has_code {
                    self.push_layout(TokenKind::Newline, 1);
                }
                return Ok(());
            };
            match byte {
                b' ' | b'\t' | b'\x0c' => self.at += 1,
                b'\r' => self.at += 1,
                b'\n' => {
                    self.at += 1;
                    if self.brackets.is_empty() {
                        if has_code {
                            self.tokens.push(Token::new(TokenKind::Newline, self.at - 1..self.at));
                        }
                        return Ok(());
                    }
                }
                b'#' => self.comment(),
                b'\\' => self.continuation()?,
                _ => {
                    has_code = true;
                    self.code(byte)?;
                }
            }
        }
    }

    fn comment(&mut self) {
        let start = self.at;
        let rest = &self.source[start..];
        let line = &rest[..rest.find_byte(b'\n').unwrap_or(rest.len())];
        self.at = start + line.strip_suffix(b"\r").unwrap_or(line).len();
        let kind = if self.code_comments_until.has(start) { TokenKind::Code } else { TokenKind::Comment };
        self.tokens.push(Token::new(kind, start..self.at));
    }

    fn continuation(&mut self) -> Result<(), Unlexable> {
        let rest = &self.source[self.at + 1..];
        let length = if rest.starts_with(b"\r\n") { 2 } else { 1 };
        // A backslash that joins the last line with nothing is an error.
        if !matches!(rest.first(), Some(b'\n' | b'\r')) || rest.len() == length {
            return self.error(self.at, UnlexableWhy::Continuation);
        }
        self.at += 1 + length;
        Ok(())
    }

    fn code(&mut self, byte: u8) -> Result<(), Unlexable> {
        let start = self.at;
        let end = match byte {
            b'"' | b'\'' => self.string(start, start)?,
            b'0'..=b'9' => number::end_of_number(self.source, start),
            b'.' if self.source.get(start + 1).is_some_and(u8::is_ascii_digit) => {
                number::end_of_number(self.source, start)
            }
            _ if begins_name(byte) => {
                let end = end_of_name(self.source, start);
                let is_string = matches!(self.source.get(end), Some(b'"' | b'\''))
                    && string::Prefix::parse(&self.source[start..end]).is_some();
                if is_string { self.string(start, end)? } else { end }
            }
            b'(' | b'[' | b'{' => {
                self.brackets.push(byte);
                start + 1
            }
            b')' | b']' | b'}' => {
                let open = self.brackets.pop();
                if !matches!((open, byte), (Some(b'('), b')') | (Some(b'['), b']') | (Some(b'{'), b'}')) {
                    return self.error(start, UnlexableWhy::Unbalanced);
                }
                start + 1
            }
            _ => match operator_length(&self.source[start..]) {
                0 => return self.error(start, UnlexableWhy::UnexpectedCharacter),
                length => start + length,
            },
        };
        self.tokens.push(Token::new(TokenKind::Code, start..end));
        self.at = end;
        Ok(())
    }

    fn string(&self, start: usize, quote: usize) -> Result<usize, Unlexable> {
        match string::end_of_string(self.source, start, quote) {
            Ok(end) => Ok(end),
            Err(why) => self.error(start, why),
        }
    }
}

/// Characters outside ASCII count as a name's: those that are not make the file invalid.
fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn end_of_name(source: &[u8], start: usize) -> usize {
    let length = source[start..].iter().take_while(|&&b| begins_name(b) || b.is_ascii_digit()).count();
    start + length
}

/// The length of the operator that a text begins with; 0 if there is none.
fn operator_length(text: &[u8]) -> usize {
    let byte = |index: usize| text.get(index).copied().unwrap_or_default();
    match (byte(0), byte(1), byte(2)) {
        (b'*', b'*', b'=')
        | (b'/', b'/', b'=')
        | (b'<', b'<', b'=')
        | (b'>', b'>', b'=')
        | (b'.', b'.', b'.') => 3,
        (b'*', b'*', _) | (b'/', b'/', _) | (b'<', b'<', _) | (b'>', b'>', _) => 2,
        (b'-', b'>', _) | (b':', b'=', _) | (b'=', b'=', _) | (b'!', b'=', _) => 2,
        (b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^' | b'@' | b'<' | b'>', b'=', _) => 2,
        (b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^' | b'@' | b'<' | b'>', _, _) => 1,
        (b'~' | b',' | b':' | b';' | b'=' | b'.', _, _) => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
