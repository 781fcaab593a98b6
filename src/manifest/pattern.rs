//! How the patterns of a manifest are compiled, in one place, so that all parts agree on what they match.

use globset::{Glob, GlobBuilder};
use regex::bytes::{Regex, RegexBuilder};

/// A glob over `/`-separated paths: `*` and `?` stay within a folder, `**` crosses folders.
///
/// # Errors
/// If the glob is malformed. `manifest::parse` has refused such a glob before.
pub fn glob(text: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build()
}

/// A regular expression over the bytes of a file; `^` and `$` stand for the ends of a line, CRLF included.
///
/// # Errors
/// If the expression is malformed or too large. `manifest::parse` has refused such an expression before.
pub fn regex(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).multi_line(true).crlf(true).build()
}

/// A path as a glob that matches it and nothing else.
#[must_use]
pub fn literal(path: &str) -> String {
    globset::escape(path).replace('\\', r"\\")
}

/// Whether a text is a glob and not just a path.
#[must_use]
pub fn has_wildcards(text: &str) -> bool {
    text.contains(['*', '?', '[', '{', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_matches_its_path_and_nothing_else() {
        for path in ["a/b.c", "[x].c", "{a,b}.c", r"back\slash.c", "*.c", "a?.c", "!a.c", "-", "ü [1]/{2}"] {
            let matcher = glob(&literal(path)).unwrap().compile_matcher();
            assert!(matcher.is_match(path), "{path}");
            for other in ["a.c", "b.c", "x.c", "ab.c", "backslash.c", "axb.c"] {
                assert!(!matcher.is_match(other), "{path} {other}");
            }
        }
    }
}
