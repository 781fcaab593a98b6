//! What of each line is code.
//!
//! Decides for single lines what [`super::compare`] decides for whole texts, so that a diff can show which lines are
//! only comments. Never says that two texts are equal: that needs all of their lines, in order.

use super::{Language, TokenKind, Unlexable, tokens};

/// The code on each line of a text, comments and layout left out; empty for a line that has none. Equal lists without
/// the empty entries are equal code.
///
/// # Errors
/// If the text cannot be taken apart without guessing.
pub fn code_of_lines(language: Language, source: &[u8]) -> Result<Vec<Vec<u8>>, Unlexable> {
    let starts: Vec<usize> = std::iter::once(0)
        .chain(source.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at + 1))
        .collect();
    let line_of = |at: usize| starts.partition_point(|start| *start <= at) - 1;
    let mut lines = vec![Vec::new(); starts.len()];
    for token in tokens(language, source)?.iter().filter(|token| !token.is_comment()) {
        let (start, end) = (token.span.start, token.span.end);
        let first = line_of(start);
        // A token of several lines is code on each of them, blank ones included.
        let last = if token.kind == TokenKind::Code && end > start { line_of(end - 1) } else { first };
        for (line, code) in lines.iter_mut().enumerate().take(last + 1).skip(first) {
            code.push(token.kind as u8);
            if token.kind == TokenKind::Code {
                let next = starts.get(line + 1).copied().unwrap_or(source.len());
                code.extend_from_slice(&source[start.max(starts[line])..end.min(next)]);
            }
            code.push(0);
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mark for each line: `c` code, `.` none.
    fn marks(language: Language, source: &str) -> String {
        let lines = code_of_lines(language, source.as_bytes()).unwrap();
        lines.iter().map(|line| if line.is_empty() { '.' } else { 'c' }).collect()
    }

    #[test]
    fn lines_of_comments_and_blank_lines_have_no_code() {
        assert_eq!(marks(Language::Cpp, "// one\nint a; // two\n\n/* three\nfour */ int b;\n"), ".c..c.");
        // The block ends where the text does.
        assert_eq!(marks(Language::Python, "# one\ndef a():\n    # two\n    return 1\n"), ".c.cc");
    }

    #[test]
    fn a_blank_line_in_a_string_is_code() {
        assert_eq!(marks(Language::Cpp, "auto a = R\"(one\n\n// two\n)\";\n"), "cccc.");
        assert_eq!(marks(Language::Python, "a = '''one\n\n# two\n'''\n"), "cccc.");
    }

    #[test]
    fn a_line_with_another_comment_is_the_same_code() {
        let code = |line: &str| code_of_lines(Language::Cpp, line.as_bytes()).unwrap();
        assert_eq!(code("return a; // one\n"), code("  return a; /* two */\n"));
        assert_ne!(code("return a; // one\n"), code("return b; // one\n"));
        assert_ne!(code("ab\n"), code("a b\n"));
        // The comment takes the next line with it.
        assert_ne!(code("a; // one\nb;\n"), code("a; // one \\\nb;\n"));
    }
}
