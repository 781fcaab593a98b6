//! Calls in Bazel's files: a name, and keyword arguments that are texts, numbers or lists of texts.
//!
//! What is computed is not read. Comments and strings are told apart, so a bracket in a string closes nothing.

/// A call at the top of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    /// The name of what is called.
    pub name: String,
    /// The line of the name.
    pub line: usize,
    /// The keyword arguments: their texts with lines, and whether they are a list.
    arguments: Vec<(String, Vec<(usize, String)>)>,
    /// Keyword arguments that are more than texts, numbers and lists of them, with their lines.
    computed: Vec<(String, usize)>,
}

impl Call {
    /// The text of an argument.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.list(key).first().map(|(_, text)| text.as_str())
    }

    /// The texts of an argument, each with its line.
    #[must_use]
    pub fn list(&self, key: &str) -> &[(usize, String)] {
        self.arguments.iter().find(|(known, _)| known == key).map_or(&[], |(_, texts)| texts)
    }

    /// The number of an argument.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<usize> {
        self.text(key)?.parse().ok()
    }

    /// The line of an argument that is computed, so that its texts are not what it is.
    #[must_use]
    pub fn computed(&self, key: &str) -> Option<usize> {
        self.computed.iter().find(|(known, _)| known == key).map(|(_, line)| *line)
    }

    /// The line of an argument's first text.
    #[must_use]
    pub fn line_of(&self, key: &str) -> usize {
        self.list(key).first().map_or(self.line, |(line, _)| *line)
    }
}

/// Words that are values.
const CONSTANTS: [&str; 3] = ["True", "False", "None"];

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Text(String),
    Sign(char),
}

/// The calls of a file that stand in no other call.
#[must_use]
pub fn calls(text: &str) -> Vec<Call> {
    let tokens = tokens(text);
    let mut calls = Vec::new();
    let mut at = 0;
    while at + 1 < tokens.len() {
        if let ((Token::Word(name), line), (Token::Sign('('), _)) = (&tokens[at], &tokens[at + 1]) {
            let (call, end) = read(name, *line, &tokens, at + 2);
            calls.push(call);
            at = end;
        } else {
            at += 1;
        }
    }
    calls
}

fn read(name: &str, line: usize, tokens: &[(Token, usize)], mut at: usize) -> (Call, usize) {
    let mut call = Call { name: name.to_owned(), line, ..Call::default() };
    let mut depth = 1_usize;
    while let Some((token, line)) = tokens.get(at) {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => {
                depth -= 1;
                if depth == 0 {
                    return (call, at + 1);
                }
            }
            Token::Word(key) if depth == 1 && matches!(tokens.get(at + 1), Some((Token::Sign('='), _))) => {
                call.arguments.push((key.clone(), Vec::new()));
                at += 1;
            }
            Token::Text(text) | Token::Word(text) => {
                if let Some((key, texts)) = call.arguments.last_mut() {
                    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
                    if matches!(token, Token::Word(_)) && !is_number && !CONSTANTS.contains(&text.as_str()) {
                        call.computed.push((key.clone(), *line));
                    }
                    texts.push((*line, text.clone()));
                }
            }
            Token::Sign(',') => {}
            Token::Sign(_) => {
                if let Some((key, _)) = call.arguments.last() {
                    call.computed.push((key.clone(), *line));
                }
            }
        }
        at += 1;
    }
    (call, at)
}

fn tokens(text: &str) -> Vec<(Token, usize)> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        match c {
            '\n' => line += 1,
            '#' => while chars.next_if(|(_, c)| *c != '\n').is_some() {},
            '"' | '\'' => {
                let (content, length) = string(&text[start..], c);
                let first = line;
                line += content.matches('\n').count();
                tokens.push((Token::Text(content), first));
                while chars.next_if(|(at, _)| *at < start + length).is_some() {}
            }
            c if c.is_alphanumeric() || c == '_' => {
                let mut word = c.to_string();
                while let Some((_, c)) = chars.next_if(|(_, c)| c.is_alphanumeric() || "_.".contains(*c)) {
                    word.push(c);
                }
                tokens.push((Token::Word(word), line));
            }
            c if c.is_whitespace() => {}
            c => tokens.push((Token::Sign(c), line)),
        }
    }
    tokens
}

/// The content of the string that a text begins with, and how many bytes it takes.
fn string(text: &str, quote: char) -> (String, usize) {
    let three = [quote; 3].iter().collect::<String>();
    let (open, is_long) = if text.starts_with(&three) { (3, true) } else { (1, false) };
    let mut content = String::new();
    let mut chars = text[open..].char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => content.extend(chars.next().map(|(_, c)| c)),
            c if c == quote && (!is_long || text[open + at..].starts_with(&three)) => {
                return (content, open + at + open);
            }
            c => content.push(c),
        }
    }
    (content, text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_with_their_texts_and_lines() {
        let text = "load(\"@x\", \"y\")\n# f(\ngit_override(\n  module_name = \"a)\",\n  commit = '0',  # c\n  \
                    patches = [\n    \"p\",\n    \"q\",\n  ],\n  patch_strip = 1,\n)\n";
        let calls = calls(text);
        assert_eq!(calls.len(), 2);
        let call = &calls[1];
        assert_eq!(
            (call.name.as_str(), call.line, call.text("module_name")),
            ("git_override", 3, Some("a)"))
        );
        assert_eq!(call.list("patches"), [(7, "p".to_owned()), (8, "q".to_owned())]);
        assert_eq!((call.number("patch_strip"), call.line_of("commit")), (Some(1), 5));
        assert_eq!(call.computed("patches"), None);
    }

    #[test]
    fn what_is_computed_is_known_as_such() {
        let text =
            "f(\n  a = glob([\"x\"]),\n  b = [\"y\"] + Z,\n  c = True,\n  d = [\"y\",],\n  e = -1,\n)\n";
        let call = &calls(text)[0];
        let computed: Vec<_> = ["a", "b", "c", "d", "e"].iter().map(|key| call.computed(key)).collect();
        assert_eq!(computed, [Some(2), Some(3), None, None, Some(6)]);
    }
}
