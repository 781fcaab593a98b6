//! Names of overlays, from names of files and subjects.

use std::collections::BTreeSet;

use crate::id::Name;

/// The name that a text gives: its letters and digits, with `-` between. `None` if it has none.
#[must_use]
pub fn of_text(text: &str) -> Option<Name> {
    let mut name = String::new();
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || "_.+".contains(c) => name.push(c),
            _ if !name.is_empty() && !name.ends_with('-') => name.push('-'),
            _ => {}
        }
    }
    let name = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let name = name.get(..100).unwrap_or(name).trim_end_matches(['-', '.']);
    Name::parse(name).ok()
}

/// The name that the subject of a commit gives: as much of it as is easily typed.
#[must_use]
pub fn of_subject(subject: &str) -> Option<Name> {
    let name = of_text(&subject.to_ascii_lowercase())?;
    let Some(head) = name.as_str().get(..=MOST_OF_A_SUBJECT) else { return Some(name) };
    let end = head.rfind('-').unwrap_or(MOST_OF_A_SUBJECT);
    of_text(&head[..end])
}

/// Letters of a subject that become a name.
const MOST_OF_A_SUBJECT: usize = 52;

/// The name that a patch file gives; `is_numbered`: a number in front says its place only.
#[must_use]
pub fn of_file(file: &str, is_numbered: bool) -> Option<Name> {
    let stem =
        [".patch", ".diff", ".eml", ".mbox"].iter().find_map(|end| file.strip_suffix(end)).unwrap_or(file);
    let stem = match stem.split_once('-') {
        Some((number, rest))
            if is_numbered
                && !rest.is_empty()
                && number.len() >= 2
                && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            rest
        }
        _ => stem,
    };
    of_text(stem)
}

/// The name, or one with a number behind, that nobody has yet; takes it.
pub fn unique(name: Name, taken: &mut BTreeSet<Name>) -> Name {
    let numbered = (2_u32..).filter_map(|number| {
        let stem = name.as_str().get(..96).unwrap_or(name.as_str());
        Name::parse(&format!("{stem}-{number}")).ok()
    });
    let free =
        std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or(name);
    taken.insert(free.clone());
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_the_file_says() {
        let name = |file: &str, numbered| of_file(file, numbered).map(|name| name.to_string());
        assert_eq!(name("0003-mend-the-norm.patch", true).as_deref(), Some("mend-the-norm"));
        assert_eq!(name("0003-mend-the-norm.patch", false).as_deref(), Some("0003-mend-the-norm"));
        assert_eq!(name("debian/CVE 2020.diff", true).as_deref(), Some("debian-CVE-2020"));
        assert_eq!(name("---.patch", true), None);
    }

    #[test]
    fn a_long_subject_is_cut_between_words() {
        let name = |subject: &str| of_subject(subject).map(|name| name.to_string());
        assert_eq!(name("Norm: mend 5").as_deref(), Some("norm-mend-5"));
        let long = "cuda: mend thirty, which was wrong for a long time and longer";
        assert_eq!(name(long).as_deref(), Some("cuda-mend-thirty-which-was-wrong-for-a-long-time-and"));
        assert_eq!(name(&"x".repeat(60)).map(|name| name.len()), Some(52));
        assert_eq!(name("..."), None);
    }

    #[test]
    fn the_second_of_a_name_gets_a_number() {
        let mut taken = BTreeSet::new();
        let name = Name::parse("a").unwrap();
        let names: Vec<_> = (0..3).map(|_| unique(name.clone(), &mut taken).to_string()).collect();
        assert_eq!(names, ["a", "a-2", "a-3"]);
    }
}
