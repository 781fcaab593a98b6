//! `build.ninja`: which steps a build has, and what CMake read to write it.
//!
//! Reads what decides that: build statements, the `deps` of rules, variables of the file, and the files that it
//! includes. Runs nothing. Syntax: <https://ninja-build.org/manual.html#ref_ninja_file>.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bstr::ByteSlice;

/// A step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edge {
    /// What it makes, as ninja names it.
    pub outputs: Vec<PathBuf>,
    /// What the file says that it needs, without what only has to be there first.
    pub inputs: Vec<PathBuf>,
    /// Its rule.
    pub rule: String,
    /// Whether ninja records what it reads.
    pub records: bool,
}

/// All of a build.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NinjaFile {
    /// The steps, without names for other files.
    pub edges: Vec<Edge>,
    /// What CMake read to write the file itself.
    pub configure: Vec<PathBuf>,
}

/// How deep files may include each other.
const DEPTH: usize = 16;

/// Reads `build.ninja`. `read` gives the content of a file, named relative to the build folder.
///
/// # Errors
/// What is wrong, as a sentence: a file that is not there, or a statement that is not understood.
pub fn parse(read: &dyn Fn(&Path) -> Option<Vec<u8>>) -> Result<NinjaFile, String> {
    let mut parser =
        Parser { read, variables: BTreeMap::new(), recording: BTreeSet::new(), edges: Vec::new() };
    parser.file(Path::new("build.ninja"), 0)?;
    let Parser { recording, edges, .. } = parser;
    let mut file = NinjaFile::default();
    for mut edge in edges {
        if edge.outputs.iter().any(|output| output == Path::new("build.ninja")) {
            file.configure = edge.inputs;
        } else if edge.rule != "phony" {
            edge.records |= recording.contains(&edge.rule);
            file.edges.push(edge);
        }
    }
    Ok(file)
}

struct Parser<'r> {
    read: &'r dyn Fn(&Path) -> Option<Vec<u8>>,
    variables: BTreeMap<Vec<u8>, Vec<u8>>,
    recording: BTreeSet<String>,
    edges: Vec<Edge>,
}

/// What the indented lines belong to.
enum Block {
    Other,
    Rule(String),
    Build,
}

impl Parser<'_> {
    fn file(&mut self, name: &Path, depth: usize) -> Result<(), String> {
        let text = (self.read)(name).ok_or_else(|| format!("`{}` is not there", name.display()))?;
        if depth > DEPTH {
            return Err(format!("`{}` is included again and again", name.display()));
        }
        let mut block = Block::Other;
        for line in logical_lines(&text) {
            if line.starts_with(b" ") || line.starts_with(b"\t") {
                self.indented(line.trim_start(), &block);
                continue;
            }
            let (word, rest) = line.split_once_str(" ").unwrap_or((&line, b""));
            block = Block::Other;
            match word {
                b"build" => {
                    let edge = self.build(rest).ok_or_else(|| {
                        format!("`{}`: `{}` is not understood", name.display(), line.as_bstr())
                    })?;
                    self.edges.push(edge);
                    block = Block::Build;
                }
                b"rule" => block = Block::Rule(rest.trim().to_str_lossy().into_owned()),
                b"include" | b"subninja" => {
                    let included = self.expand(rest.trim());
                    self.file(&to_path(&included), depth + 1)?;
                }
                _ => {
                    if let Some((name, value)) = line.split_once_str("=") {
                        let value = self.expand(value.trim_start());
                        self.variables.insert(name.trim().to_vec(), value);
                    }
                }
            }
        }
        Ok(())
    }

    fn indented(&mut self, line: &[u8], block: &Block) {
        let is_deps = line
            .split_once_str("=")
            .is_some_and(|(name, value)| name.trim() == b"deps" && matches!(value.trim(), b"gcc" | b"msvc"));
        match block {
            Block::Rule(rule) if is_deps => {
                self.recording.insert(rule.clone());
            }
            Block::Build if is_deps => {
                if let Some(edge) = self.edges.last_mut() {
                    edge.records = true;
                }
            }
            _ => {}
        }
    }

    /// `OUT... [| OUT...]: RULE IN... [| IN...] [|| IN...] [|@ IN...]`
    fn build(&self, statement: &[u8]) -> Option<Edge> {
        let words = self.words(statement);
        let colon = words.iter().position(|word| *word == Word::Colon)?;
        let (outputs, inputs) = (&words[..colon], &words[colon + 1..]);
        let path = |word: &Word| match word {
            Word::Path(path) => Some(to_path(path)),
            _ => None,
        };
        let rule = match inputs.first()? {
            Word::Path(rule) => rule.to_str_lossy().into_owned(),
            _ => return None,
        };
        let needed = inputs[1..].iter().take_while(|word| !matches!(word, Word::Order));
        Some(Edge {
            outputs: outputs.iter().filter_map(path).collect(),
            inputs: needed.filter_map(path).collect(),
            rule,
            records: false,
        })
    }

    /// The paths of a statement, with variables put in.
    fn words(&self, text: &[u8]) -> Vec<Word> {
        let mut words = Vec::new();
        let mut current: Option<Vec<u8>> = None;
        let mut rest = text;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match byte {
                b'$' => {
                    let (bytes, after) = self.dollar(rest);
                    current.get_or_insert_default().extend(bytes);
                    rest = after;
                }
                b' ' | b'\t' => words.extend(current.take().map(Word::Path)),
                b':' => {
                    words.extend(current.take().map(Word::Path));
                    words.push(Word::Colon);
                }
                b'|' => {
                    words.extend(current.take().map(Word::Path));
                    match rest.first() {
                        Some(b'|' | b'@') => {
                            words.push(Word::Order);
                            rest = &rest[1..];
                        }
                        _ => words.push(Word::Bar),
                    }
                }
                byte => current.get_or_insert_default().push(byte),
            }
        }
        words.extend(current.map(Word::Path));
        words
    }

    /// What comes after a `$`, and the rest.
    fn dollar<'t>(&self, text: &'t [u8]) -> (Vec<u8>, &'t [u8]) {
        let value = |name: &[u8]| self.variables.get(name).cloned().unwrap_or_default();
        if let Some(braced) = text.strip_prefix(b"{") {
            let end = braced.find_byte(b'}').unwrap_or(braced.len());
            return (value(&braced[..end]), braced.get(end + 1..).unwrap_or_default());
        }
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'-';
        match text.iter().take_while(|byte| is_name(byte)).count() {
            0 => (text.iter().take(1).copied().collect(), text.get(1..).unwrap_or_default()),
            end => (value(&text[..end]), &text[end..]),
        }
    }

    fn expand(&self, text: &[u8]) -> Vec<u8> {
        let mut value = Vec::new();
        let mut rest = text;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            if byte == b'$' {
                let (bytes, after) = self.dollar(rest);
                value.extend(bytes);
                rest = after;
            } else {
                value.push(byte);
            }
        }
        value
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    Path(Vec<u8>),
    Colon,
    /// `|`
    Bar,
    /// `||` or `|@`: what follows is not read.
    Order,
}

/// Lines without comments and empty ones; a `$` at the end of a line joins it with the next one.
fn logical_lines(text: &[u8]) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    let mut joined: Option<Vec<u8>> = None;
    for line in text.lines() {
        let dollars = line.iter().rev().take_while(|&&byte| byte == b'$').count();
        let (content, goes_on) =
            if dollars % 2 == 1 { (&line[..line.len() - 1], true) } else { (line, false) };
        let so_far = match joined.take() {
            Some(mut before) => {
                before.extend_from_slice(content.trim_start());
                before
            }
            None => content.to_vec(),
        };
        if goes_on {
            joined = Some(so_far);
        } else if !so_far.trim().is_empty() && !so_far.trim_start().starts_with(b"#") {
            lines.push(so_far);
        }
    }
    lines.extend(joined);
    lines
}

fn to_path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(files: &[(&str, &str)]) -> Result<NinjaFile, String> {
        parse(&|name| {
            let found = files.iter().find(|(file, _)| Path::new(file) == name)?;
            Some(found.1.as_bytes().to_vec())
        })
    }

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn a_build_of_cmake_is_read_with_the_rules_that_it_includes() {
        let file = parsed(&[
            (
                "build.ninja",
                "# comment\nworkdir = /w/\ninclude CMakeFiles/rules.ninja\n\
                 build a.o | a.gcm: C_COMPILER__up_ /s/a$ b.c | $workdir/x$:y || order\n  FLAGS = -g\n\
                 build all: phony a.o\nbuild gen.txt: CUSTOM_COMMAND $\n    ${workdir}data.txt\n\
                 build build.ninja: RERUN_CMAKE | /s/CMakeLists.txt\n  pool = console\n",
            ),
            (
                "CMakeFiles/rules.ninja",
                "rule C_COMPILER__up_\n  depfile = $DEP_FILE\n  deps = gcc\nrule CUSTOM_COMMAND\n",
            ),
        ])
        .unwrap();
        assert_eq!(file.configure, paths(&["/s/CMakeLists.txt"]));
        let [object, generated] = file.edges.as_slice() else { panic!("{file:?}") };
        assert_eq!(object.outputs, paths(&["a.o", "a.gcm"]));
        assert_eq!(object.inputs, paths(&["/s/a b.c", "/w//x:y"]));
        assert!(object.records);
        assert_eq!(generated.inputs, paths(&["/w/data.txt"]));
        assert!(!generated.records);
    }

    #[test]
    fn what_is_not_understood_is_not_guessed() {
        assert!(parsed(&[]).is_err());
        assert!(parsed(&[("build.ninja", "build a b c\n")]).is_err());
        assert!(parsed(&[("build.ninja", "include build.ninja\n")]).is_err());
        assert!(parsed(&[("build.ninja", "include gone.ninja\n")]).is_err());
    }
}
