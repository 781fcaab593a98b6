//! `compile_commands.json`: which compiler is called with which source. Many builds can write it, and some record
//! nothing else.
//!
//! It says what a compiler is given, not what it reads: of headers it knows nothing, unless the compiler was told to
//! write a dependency file and that is still there. The format is that of clang's "JSON compilation database".

use std::path::PathBuf;

use serde::Deserialize;

/// A call of a compiler. Paths are relative to `directory`, or absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Where it is called.
    pub directory: PathBuf,
    /// What is compiled.
    pub source: PathBuf,
    /// What it makes; `None` if the entry does not say.
    pub output: Option<PathBuf>,
    /// Where the compiler writes what it read, if it was told to.
    pub depfile: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    output: Option<PathBuf>,
    command: Option<String>,
    #[serde(default)]
    arguments: Vec<String>,
}

/// The calls in a database.
///
/// # Errors
/// A sentence, if it is none.
pub fn parse(text: &[u8]) -> Result<Vec<Command>, String> {
    let entries: Vec<Entry> = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    Ok(entries.into_iter().map(Entry::into_command).collect())
}

impl Entry {
    fn into_command(self) -> Command {
        let arguments = match self.command {
            Some(command) if self.arguments.is_empty() => words(&command),
            _ => self.arguments,
        };
        let output = self.output.or_else(|| value(&arguments, "-o").map(PathBuf::from));
        let writes_depfile = arguments.iter().any(|argument| argument == "-MD" || argument == "-MMD");
        let named = value(&arguments, "-MF").map(PathBuf::from);
        let depfile = named.or_else(|| output.as_ref().map(|output| output.with_extension("d")));
        let depfile = depfile.filter(|_| writes_depfile);
        Command { directory: self.directory, source: self.file, output, depfile }
    }
}

/// The value of the last option of this name: the next word, or the rest of its own.
fn value(arguments: &[String], option: &str) -> Option<String> {
    let mut found = None;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix(option) {
            Some("") => found = words.next().cloned(),
            Some(rest) => found = Some(rest.to_owned()),
            None => {}
        }
    }
    found
}

/// The words of a command line, as a POSIX shell splits them. Nothing is expanded.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, ' ' | '\t' | '\n') => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (Some(open), _) if open == letter => quote = None,
            (None | Some('"'), '\\') => {
                let next = letters.next();
                let is_kept = quote.is_some() && !matches!(next, Some('"' | '\\' | '$' | '`'));
                let word = word.get_or_insert_default();
                word.extend(is_kept.then_some('\\'));
                word.extend(next);
            }
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(entry: &str) -> Command {
        let text = format!(r#"[{{"directory": "/build", {entry}}}]"#);
        parse(text.as_bytes()).unwrap().remove(0)
    }

    #[test]
    fn a_command_line_is_split_as_a_shell_does() {
        assert_eq!(
            words(r#"cc -DA=\"x\" 'b c.c' "d \"e\" \f" g\ h ''"#),
            ["cc", "-DA=\"x\"", "b c.c", "d \"e\" \\f", "g h", ""]
        );
    }

    #[test]
    fn the_output_and_the_dependency_file_are_those_of_the_call() {
        let command = one(r#""file": "a.c", "command": "cc -MD -MT a.o -MF deps/a.d -o a.o -c a.c""#);
        assert_eq!((command.source, command.output), ("a.c".into(), Some("a.o".into())));
        assert_eq!(command.depfile, Some("deps/a.d".into()));
        let command = one(r#""file": "a.c", "arguments": ["cc", "-MMD", "-oout/a.o", "-c", "a.c"]"#);
        assert_eq!((command.output, command.depfile), (Some("out/a.o".into()), Some("out/a.d".into())));
        let command = one(r#""file": "a.c", "output": "x.o", "arguments": ["cc", "-c", "a.c"]"#);
        assert_eq!((command.output, command.depfile), (Some("x.o".into()), None));
    }

    #[test]
    fn what_is_no_database_is_an_error() {
        for text in ["", "{}", "[{}]", r#"[{"directory": "/"}]"#] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert_eq!(parse(b"[]"), Ok(vec![]));
    }
}
