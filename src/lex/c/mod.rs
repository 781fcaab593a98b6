//! C, C++ and what is built on them: CUDA, HIP, Metal, Objective-C, Objective-C++.
//!
//! Decides as a compiler's raw lexer does (Clang's, for C++20 with CUDA, is the reference), with two things added
//! that such a lexer leaves to the preprocessor: names of included files, and the text of `#error`. No conditional
//! is evaluated: text under `#if 0` is lexed like any other, except that a quote left open is allowed to end with
//! its line there, as it is for the compiler.

mod directive;
mod literal;
mod punctuator;
mod splice;

pub(super) use splice::without_splices;

use bstr::ByteSlice;

use self::directive::{Directive, Next};
use self::literal::{End, Quoted};
use self::splice::{logical_line_end, skip_splices, splice_at};
use super::{Token, TokenKind, Unlexable, UnlexableWhy, start_of};

/// What differs between the relatives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// No raw strings, no literals with a suffix of the user's.
    C,
    /// Everything else.
    Cpp,
}

/// Takes a source apart.
pub(super) fn lex(source: &[u8], dialect: Dialect) -> Result<Vec<Token>, Unlexable> {
    let mut lexer = Lexer {
        source,
        dialect,
        at: start_of(source),
        tokens: Vec::with_capacity(source.len() / 6),
        directive: Directive::default(),
        at_line_start: true,
        after_space: false,
        depth: 0,
        after_import: false,
    };
    lexer.check_carriage_returns()?;
    lexer.run()?;
    check_trigraphs(source, &lexer.tokens)?;
    Ok(lexer.tokens)
}

struct Lexer<'s> {
    source: &'s [u8],
    dialect: Dialect,
    at: usize,
    tokens: Vec<Token>,
    directive: Directive,
    /// Nothing but white space and comments so far on this line.
    at_line_start: bool,
    /// White space or a comment stands before `at`.
    after_space: bool,
    /// How many `#if` are open.
    depth: usize,
    /// `import` stands before `at`: the name of a header unit may follow, for compilers that know modules.
    after_import: bool,
}

impl Lexer<'_> {
    fn error<T>(&self, at: usize, why: UnlexableWhy) -> Result<T, Unlexable> {
        Err(Unlexable::at(self.source, at, why))
    }

    fn check_carriage_returns(&self) -> Result<(), Unlexable> {
        match self.source.find_iter(b"\r").find(|&at| self.source.get(at + 1) != Some(&b'\n')) {
            Some(at) => self.error(at, UnlexableWhy::LoneCarriageReturn),
            None => Ok(()),
        }
    }

    fn run(&mut self) -> Result<(), Unlexable> {
        let source = self.source;
        while let Some(&byte) = source.get(self.at) {
            match byte {
                b'\n' => {
                    if self.directive.is_open() {
                        self.end_directive();
                    }
                    self.at_line_start = true;
                    self.after_space = true;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c' => {
                    self.after_space = true;
                    self.at += 1;
                }
                b'/' => match source.get(skip_splices(source, self.at + 1)) {
                    Some(b'/') => self.line_comment(),
                    Some(b'*') => self.block_comment()?,
                    _ => self.punctuator()?,
                },
                b'"' | b'\'' => self.quoted(self.at, End { at: self.at, spliced: false }, false)?,
                b'\\' => match splice_at(source, self.at) {
                    Some(length) => self.at += length,
                    None if literal::end_of_universal_character(source, self.at).is_some() => self.name()?,
                    None => self.punctuator()?,
                },
                b'0'..=b'9' => self.number()?,
                b'.' if source.get(skip_splices(source, self.at + 1)).is_some_and(u8::is_ascii_digit) => {
                    self.number()?;
                }
                _ if literal::begins_name(byte) => self.name()?,
                _ => self.punctuator()?,
            }
        }
        if self.directive.is_open() {
            self.end_directive();
        }
        Ok(())
    }

    fn line_comment(&mut self) {
        let start = self.at;
        // The second slash may stand behind a splice.
        let text = skip_splices(self.source, start + 1) + 1;
        (self.at, _) = logical_line_end(self.source, text);
        self.tokens.push(Token::new(TokenKind::Comment, start..self.at));
        self.after_space = true;
    }

    fn block_comment(&mut self) -> Result<(), Unlexable> {
        let start = self.at;
        let text = skip_splices(self.source, start + 1) + 1;
        let mut at = text;
        loop {
            let Some(slash) = self.source[at..].find_byte(b'/').map(|found| at + found) else {
                return self.error(start, UnlexableWhy::UnterminatedComment);
            };
            at = slash + 1;
            if self.follows_star(text, slash) {
                break;
            }
        }
        self.at = at;
        self.tokens.push(Token::new(TokenKind::Comment, start..at));
        self.after_space = true;
        Ok(())
    }

    /// Whether a star stands before `slash`, not before `from`, with nothing but splices between.
    fn follows_star(&self, from: usize, slash: usize) -> bool {
        let mut end = slash;
        loop {
            match self.source[from..end].last() {
                Some(b'*') => return true,
                Some(b'\n') => {}
                _ => return false,
            }
            let line = self.source[from..end - 1]
                .trim_end_with(|c| matches!(c, ' ' | '\t' | '\r' | '\x0b' | '\x0c'));
            if line.last() != Some(&b'\\') {
                return false;
            }
            end = from + line.len() - 1;
        }
    }

    fn name(&mut self) -> Result<(), Unlexable> {
        let start = self.at;
        let end = literal::end_of_name(self.source, start);
        let quote = skip_splices(self.source, end.at);
        if let Some(b'"' | b'\'') = self.source.get(quote) {
            let text = &self.source[start..end.at];
            let prefix = if end.spliced { without_splices(text) } else { text.into() };
            if literal::is_raw_prefix(&prefix) && self.source[quote] == b'"' {
                return self.raw_string(start, quote, end.spliced || quote != end.at);
            }
            if literal::is_prefix(&prefix) {
                return self.quoted(start, End { at: quote, spliced: end.spliced || quote != end.at }, true);
            }
        }
        self.code(start, end)
    }

    fn raw_string(&mut self, start: usize, quote: usize, spliced: bool) -> Result<(), Unlexable> {
        if self.dialect == Dialect::C {
            return self.error(start, UnlexableWhy::DependsOnStandard);
        }
        match literal::end_of_raw_string(self.source, quote) {
            Ok(at) => {
                let end = literal::with_suffix(self.source, End { at, spliced }, true);
                self.code(start, end)
            }
            Err(why) => self.error(start, why),
        }
    }

    /// A string or character that begins at `start` and has its quote at `quote`.
    fn quoted(&mut self, start: usize, quote: End, prefixed: bool) -> Result<(), Unlexable> {
        let mark = self.source[quote.at];
        if mark == b'"' && !prefixed && self.directive.next() == Next::HeaderName {
            return self.quoted_header_name(start);
        }
        if mark == b'"' && !prefixed && self.after_import {
            self.check_unit_in_quotes(start)?;
        }
        match literal::end_of_quoted(self.source, quote.at + 1, mark) {
            Quoted::Closed(end) => {
                let end = End { at: end.at, spliced: end.spliced || quote.spliced };
                let is_empty_character =
                    mark == b'\'' && skip_splices(self.source, quote.at + 1) == end.at - 1;
                if self.dialect == Dialect::C || is_empty_character {
                    return self.code(start, end);
                }
                let end = literal::with_suffix(self.source, end, mark == b'"');
                self.code(start, end)
            }
            // Text that may be skipped (`#if 0`) need not be code.
            Quoted::Open(end) if self.depth > 0 => {
                self.code(start, End { at: end.at, spliced: end.spliced || quote.spliced })
            }
            Quoted::Open(_) => self.error(start, UnlexableWhy::UnterminatedString),
        }
    }

    fn number(&mut self) -> Result<(), Unlexable> {
        let start = self.at;
        match literal::end_of_number(self.source, start, self.dialect == Dialect::Cpp) {
            Ok(end) => self.code(start, end),
            Err((at, why)) => self.error(at, why),
        }
    }

    fn punctuator(&mut self) -> Result<(), Unlexable> {
        let start = self.at;
        if self.source[start] == b'<'
            && (self.directive.next() == Next::HeaderName || self.after_import)
            && let Some(end) = self.end_of_angled_name(start)?
        {
            return self.code(start, end);
        }
        let end = punctuator::end_of_punctuator(self.source, start, self.dialect);
        self.code(start, end)
    }

    /// The end of `<name>` on this line; `None` if it is a less-than sign.
    fn end_of_angled_name(&self, start: usize) -> Result<Option<End>, Unlexable> {
        let (line_end, spliced) = logical_line_end(self.source, start);
        let Some(length) = self.source[start..line_end].find_byte(b'>') else { return Ok(None) };
        let name = without_splices(&self.source[start..=start + length]);
        let rest = without_splices(&self.source[start + length + 1..line_end]);
        // Where the directive is skipped, compilers see comments and strings in the name.
        let mut opens = name.contains_str("/*") || name.find_byteset(b"\"'").is_some();
        // A compiler without modules sees a comparison behind `import`, and comments in it.
        opens |= self.after_import && name.contains_str("//");
        if opens || (name.contains_str("//") && rest.contains_str("/*")) {
            return self.error(start, UnlexableWhy::HeaderName);
        }
        Ok(Some(End { at: start + length + 1, spliced }))
    }

    /// In `import "name"` a backslash escapes the quote for compilers without modules only.
    fn check_unit_in_quotes(&self, start: usize) -> Result<(), Unlexable> {
        let (line_end, _) = logical_line_end(self.source, start);
        let line = without_splices(&self.source[start..line_end]);
        let name = line[1..].find_byte(b'"').map_or(&line[..], |end| &line[..=end + 1]);
        if name.ends_with(b"\\\"") { self.error(start, UnlexableWhy::HeaderName) } else { Ok(()) }
    }

    /// In `"name"` a backslash escapes the quote for some compilers only.
    fn quoted_header_name(&mut self, start: usize) -> Result<(), Unlexable> {
        match literal::end_of_quoted(self.source, start + 1, b'"') {
            Quoted::Closed(end) => {
                let name = &self.source[start..end.at];
                if without_splices(name).contains_str("\\\"") {
                    return self.error(start, UnlexableWhy::HeaderName);
                }
                self.code(start, end)
            }
            Quoted::Open(end) if self.depth > 0 => self.code(start, end),
            Quoted::Open(_) => self.error(start, UnlexableWhy::UnterminatedString),
        }
    }

    /// Takes the text from `start` to `end` as a token of code.
    #[inline]
    fn code(&mut self, start: usize, end: End) -> Result<(), Unlexable> {
        let token = Token::spliced(TokenKind::Code, start..end.at, end.spliced);
        self.at = end.at;
        if self.directive.is_open() {
            if self.directive.wants_space(self.after_space) {
                self.tokens.push(Token::new(TokenKind::Space, start..start));
            }
            let spelling = token.spelling(self.source);
            self.directive.step(&spelling, self.after_space);
            self.tokens.push(token);
            if self.directive.next() == Next::Message {
                self.message()?;
            }
        } else {
            if self.at_line_start && matches!(self.source[start], b'#' | b'%') {
                self.begin_directive(&token);
            }
            self.after_import = self.dialect == Dialect::Cpp && &*token.spelling(self.source) == b"import";
            self.tokens.push(token);
        }
        self.at_line_start = false;
        self.after_space = false;
        Ok(())
    }

    fn begin_directive(&mut self, token: &Token) {
        if !matches!(&*token.spelling(self.source), b"#" | b"%:") {
            return;
        }
        // Between code and a directive the line's end means something; behind a directive it has been told already.
        let last = self.tokens.iter().rev().find(|token| !token.is_comment());
        if last.is_some_and(|token| token.kind != TokenKind::Newline) {
            self.tokens.push(Token::new(TokenKind::Newline, token.span.start..token.span.start));
        }
        self.directive = Directive::begin();
    }

    fn end_directive(&mut self) {
        self.depth = self.directive.depth_after(self.depth);
        self.directive = Directive::default();
        self.tokens.push(Token::new(TokenKind::Newline, self.at..self.at));
    }

    /// The text of `#error`: all of it is code, whatever it looks like.
    fn message(&mut self) -> Result<(), Unlexable> {
        let (end, spliced) = logical_line_end(self.source, self.at);
        let mut start = self.at;
        while let Some(b' ' | b'\t' | b'\x0b' | b'\x0c' | b'\\') = self.source[..end].get(start) {
            let next = skip_splices(self.source, start);
            if next == start && self.source[start] == b'\\' {
                break;
            }
            start = if next == start { start + 1 } else { next };
        }
        let line = &self.source[start.min(end)..end];
        let text = line.trim_end_with(|c| matches!(c, ' ' | '\t' | '\x0b' | '\x0c'));
        let spelled = without_splices(text);
        if let Some(open) = spelled.rfind("/*")
            && !spelled[open + 2..].contains_str("*/")
        {
            return self.error(start, UnlexableWhy::CommentInMessage);
        }
        if spelled.contains_str("R\"") {
            return self.error(start, UnlexableWhy::DependsOnStandard);
        }
        if !text.is_empty() {
            self.tokens.push(Token::spliced(TokenKind::Code, start..start + text.len(), spliced));
        }
        self.directive.told();
        self.at = end;
        Ok(())
    }
}

/// With trigraphs `??/` is a backslash: it could splice a line or escape a quote.
fn check_trigraphs(source: &[u8], tokens: &[Token]) -> Result<(), Unlexable> {
    for at in source.find_iter(b"??/") {
        let index = tokens.partition_point(|token| token.span.end <= at);
        let in_comment = tokens.get(index).is_some_and(|token| token.is_comment() && token.span.start <= at);
        let rest = source[at + 3..].trim_start_with(|c| matches!(c, ' ' | '\t' | '\r' | '\x0b' | '\x0c'));
        if !in_comment || rest.first() == Some(&b'\n') {
            return Err(Unlexable::at(source, at, UnlexableWhy::Trigraph));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
