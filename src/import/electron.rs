//! Electron's `.patches` file: the names of mail patches in the same folder, one a line, in their order.

use super::{Listed, Meta, Problem, Read, finished};

/// Reads a `.patches` file.
///
/// # Errors
/// A line that is no name of a file.
pub fn parse(text: &str) -> Read {
    let (mut listed, mut problems) = (Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate() {
        let file = line.trim();
        if file.is_empty() || file.starts_with('#') {
            continue;
        }
        if file.contains(char::is_whitespace) {
            let message = format!("`{file}` is no name of a patch");
            problems.push(Problem::new(at + 1, message, "a `.patches` file has one name a line"));
        }
        listed.push(Listed { line: at + 1, file: file.into(), strip: 1, meta: Meta::default() });
    }
    finished(listed, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_patch() {
        let listed = parse("build_gn.patch\n\nfix_it.patch\n").unwrap();
        assert_eq!(listed.iter().map(|one| one.line).collect::<Vec<_>>(), [1, 3]);
        assert!(parse("a patch\n").is_err());
    }
}
