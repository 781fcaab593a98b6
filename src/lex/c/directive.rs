//! Where in a preprocessor directive the lexer is, and what that makes of the next token.

/// What the next token of a directive may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// What it is anywhere.
    Token,
    /// The name of a file: `<` and `"` begin it.
    HeaderName,
    /// Text up to the line's end.
    Message,
}

/// A directive as far as it has been read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    /// Not in a directive.
    #[default]
    Outside,
    /// `#` has been read.
    Hash,
    /// `#define` has been read.
    Define,
    /// The macro's name has been read.
    MacroName,
    /// In the parameters of a macro.
    Parameters,
    /// Behind the parameters: white space here is not part of the replacement.
    Replacement,
    /// Where white space is code.
    Spaced,
    /// `#include` has been read.
    Include,
    /// In `#if` or `#elif`.
    Condition,
    /// In a condition, `__has_include` has been read.
    HasInclude,
    /// In a condition, `__has_include(` has been read.
    HasIncludeOpen,
    /// `#error` has been read.
    Message,
    /// Nothing special any more.
    Plain,
}

/// What a directive does to the number of open conditionals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Nesting {
    #[default]
    Same,
    Opens,
    Closes,
}

/// The directive that the lexer is in, if any.
#[derive(Clone, Copy, Default)]
pub(super) struct Directive {
    state: State,
    nesting: Nesting,
}

impl Directive {
    /// Behind its `#`.
    pub fn begin() -> Self {
        Self { state: State::Hash, nesting: Nesting::Same }
    }

    /// Whether there is a directive.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.state != State::Outside
    }

    /// What the next token may be.
    #[inline]
    pub fn next(&self) -> Next {
        match self.state {
            State::Include | State::HasIncludeOpen => Next::HeaderName,
            State::Message => Next::Message,
            _ => Next::Token,
        }
    }

    /// Whether the white space before the next token is code, given that there is some.
    pub fn wants_space(&self, after_space: bool) -> bool {
        after_space && matches!(self.state, State::Spaced | State::MacroName)
    }

    /// Goes past a token, which has white space before it or not.
    pub fn step(&mut self, spelling: &[u8], after_space: bool) {
        self.state = match (self.state, spelling) {
            (State::Hash, name) => {
                self.nesting = nesting_of(name);
                state_after(name)
            }
            (State::Define, _) => State::MacroName,
            (State::MacroName, b"(") if !after_space => State::Parameters,
            (State::MacroName, _) => State::Spaced,
            (State::Parameters, b")") => State::Replacement,
            (State::Replacement, _) => State::Spaced,
            (State::Include, _) => State::Plain,
            (State::Condition, b"__has_include" | b"__has_include_next" | b"__has_embed") => {
                State::HasInclude
            }
            (State::HasInclude, b"(") => State::HasIncludeOpen,
            (State::HasInclude | State::HasIncludeOpen, _) => State::Condition,
            (state, _) => state,
        };
    }

    /// The message has been read.
    pub fn told(&mut self) {
        self.state = State::Plain;
    }

    /// How many conditionals are open behind this directive.
    pub fn depth_after(&self, depth: usize) -> usize {
        match self.nesting {
            Nesting::Same => depth,
            Nesting::Opens => depth + 1,
            Nesting::Closes => depth.saturating_sub(1),
        }
    }
}

fn nesting_of(name: &[u8]) -> Nesting {
    match name {
        b"if" | b"ifdef" | b"ifndef" => Nesting::Opens,
        b"endif" => Nesting::Closes,
        _ => Nesting::Same,
    }
}

fn state_after(name: &[u8]) -> State {
    match name {
        b"define" => State::Define,
        b"include" | b"include_next" | b"import" | b"embed" => State::Include,
        b"error" | b"warning" => State::Message,
        b"if" | b"elif" => State::Condition,
        b"ifdef" | b"ifndef" | b"elifdef" | b"elifndef" | b"else" | b"endif" | b"undef" | b"line" => {
            State::Plain
        }
        _ if name.first().is_some_and(u8::is_ascii_digit) => State::Plain,
        // `#pragma`, and what only some compiler knows.
        _ => State::Spaced,
    }
}
