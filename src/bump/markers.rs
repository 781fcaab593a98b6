//! Whether a person has resolved a conflict: no marker is left.
//!
//! A line that looks like a marker and was in one of the three contents before is no marker: text files have such lines.

use std::collections::HashSet;

use super::judge::Misfit;

/// A marker that is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unresolved {
    /// The line, from 1.
    pub line: usize,
}

/// Looks for markers in a text that a person edited.
///
/// # Errors
/// The first one.
pub fn check(text: &[u8], misfit: &Misfit) -> Result<(), Unresolved> {
    let sides = [&misfit.base, &misfit.ours, &misfit.theirs];
    let known: HashSet<&[u8]> = sides
        .into_iter()
        .flatten()
        .flat_map(|content| lines(&content.bytes))
        .filter(|line| looks_like_marker(line))
        .collect();
    match lines(text).position(|line| looks_like_marker(line) && !known.contains(line)) {
        Some(index) => Err(Unresolved { line: index + 1 }),
        None => Ok(()),
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// Seven of a marker's character, alone or before a label.
fn looks_like_marker(line: &[u8]) -> bool {
    let Some((&first, _)) = line.split_first() else { return false };
    let run = line.iter().take_while(|&&byte| byte == first).count();
    run == 7
        && match first {
            b'=' => line.len() == 7,
            b'<' | b'>' | b'|' => line.len() == 7 || line[7] == b' ',
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Content;

    #[test]
    fn a_marker_is_found_and_a_heading_of_before_is_none() {
        let misfit = Misfit {
            marked: None,
            places: Vec::new(),
            base: None,
            ours: Some(Content::file(*b"Title\n=======\n")),
            theirs: None,
        };
        assert_eq!(check(b"Title\n=======\ntext\n", &misfit), Ok(()));
        assert_eq!(check(b"Title\n=======\n<<<<<<< x\n", &misfit), Err(Unresolved { line: 3 }));
        assert_eq!(check(b"a\r\n>>>>>>> y\r\n", &misfit), Err(Unresolved { line: 2 }));
        assert_eq!(check(b"a\n||||||| base\n", &misfit), Err(Unresolved { line: 2 }));
        assert_eq!(check(b"<<<<<<<x\n<<<<<<<< x\n", &misfit), Ok(()));
    }
}
