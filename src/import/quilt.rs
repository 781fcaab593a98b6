//! quilt's `series` file: a patch a line, with how many folders to take from its names.
//!
//! As quilt reads it: `#` at the start of a line or after a space begins a comment, `-pN` follows the name.

use super::{Listed, Meta, Problem, Read, finished};

/// Reads a series.
///
/// # Errors
/// What cannot be taken over: a patch that is applied in reverse, an option that is not known.
pub fn parse(text: &str) -> Read {
    let (mut listed, mut problems) = (Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        let mut words = line.split_whitespace().take_while(|word| !word.starts_with('#'));
        let Some(file) = words.next() else { continue };
        let mut strip = 1;
        for option in words {
            match option.strip_prefix("-p").map(|level| (level, level.parse())) {
                Some(("ab", _)) => strip = 1,
                Some((_, Ok(level))) => strip = level,
                _ if option == "-R" => problems.push(Problem::new(
                    number,
                    format!("`{file}` is applied in reverse (-R)"),
                    "reverse the patch itself (interdiff FILE /dev/null), and take -R away",
                )),
                _ => problems.push(Problem::new(
                    number,
                    format!("`{option}` behind `{file}` is not known"),
                    "expected -p0, -p1 or the like; a name in a series has no spaces: rename such a patch",
                )),
            }
        }
        listed.push(Listed { line: number, file: file.into(), strip, meta: Meta::default() });
    }
    finished(listed, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_levels_are_read_as_quilt_reads_them() {
        let listed = parse("# all\n\na.patch\nsub/b.diff -p0 # why\n#c.patch\nd.patch -pab\n").unwrap();
        let listed: Vec<_> =
            listed.iter().map(|one| (one.line, one.file.to_str().unwrap(), one.strip)).collect();
        assert_eq!(listed, [(3, "a.patch", 1), (4, "sub/b.diff", 0), (6, "d.patch", 1)]);
    }

    #[test]
    fn what_is_not_known_is_named_with_its_line() {
        let problems = parse("a.patch -R\nb.patch --fuzz\n").unwrap_err();
        assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [1, 2]);
        assert!(problems[1].message.contains("--fuzz"));
    }
}
