//! What a person wrote in a report: sections between two markers, kept byte for byte.
//!
//! `<!-- person: NAME -->` on a line of its own opens a section, `<!-- end of person: NAME -->` closes it. All bytes
//! between these two lines are the person's. Decides where they are; never changes one of them.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// What a section says before a person wrote in it begins so.
pub const TODO: &str = "TODO";
/// The label of what a person wrote.
pub const INFERRED: &str = "[inferred by a person]";
/// The label of what nobody has written yet.
pub const TO_WRITE: &str = "[to be written by a person]";

/// What is wrong with the markers. Nothing is written then: text of a person could get lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkerError {
    /// A section that is not closed before the next one opens, or before the end.
    Open {
        /// The section.
        name: String,
        /// The line of its marker, from 1.
        line: usize,
    },
    /// An end without a beginning, or the end of another section.
    Stray {
        /// The section.
        name: String,
        /// The line of the marker.
        line: usize,
    },
    /// Two sections of one name.
    Twice {
        /// The section.
        name: String,
        /// The line of the second marker.
        line: usize,
    },
}

impl MarkerError {
    /// The line that is to be looked at, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        match self {
            MarkerError::Open { line, .. }
            | MarkerError::Stray { line, .. }
            | MarkerError::Twice { line, .. } => *line,
        }
    }
}

impl fmt::Display for MarkerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MarkerError::Open { name, .. } => {
                write!(f, "section `{name}` is not closed: `<!-- end of person: {name} -->` is missing")
            }
            MarkerError::Stray { name, .. } => {
                write!(
                    f,
                    "section `{name}` ends here and does not begin: `<!-- person: {name} -->` is missing"
                )
            }
            MarkerError::Twice { name, .. } => write!(f, "section `{name}` is there twice"),
        }
    }
}

impl std::error::Error for MarkerError {}

/// The sections of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sections {
    spans: Vec<(String, Range<usize>)>,
}

/// The line that opens a section.
#[must_use]
pub fn opening(name: &str) -> String {
    format!("<!-- person: {name} -->")
}

/// The line that closes it.
#[must_use]
pub fn closing(name: &str) -> String {
    format!("<!-- end of person: {name} -->")
}

impl Sections {
    /// Finds the sections.
    ///
    /// # Errors
    /// If the markers do not pair.
    pub fn find(text: &[u8]) -> Result<Self, MarkerError> {
        let mut spans: Vec<(String, Range<usize>)> = Vec::new();
        let mut open: Option<(String, usize, usize)> = None;
        let mut at = 0;
        for (number, raw) in text.split_inclusive(|&b| b == b'\n').enumerate() {
            let (start, line) = (at, number + 1);
            at += raw.len();
            let shown = String::from_utf8_lossy(raw);
            // At the start of the line only: a line of a diff that looks like a marker begins with a space.
            let shown = shown.trim_end();
            let between =
                |start: &str| shown.strip_prefix(start)?.strip_suffix(" -->").map(ToOwned::to_owned);
            if let Some(name) = between("<!-- person: ") {
                if let Some((name, line, _)) = open {
                    return Err(MarkerError::Open { name, line });
                }
                if spans.iter().any(|(known, _)| *known == name) {
                    return Err(MarkerError::Twice { name, line });
                }
                open = Some((name, line, at));
            } else if let Some(name) = between("<!-- end of person: ") {
                match open.take() {
                    Some((opened, _, from)) if opened == name => spans.push((name, from..start)),
                    Some((name, line, _)) => return Err(MarkerError::Open { name, line }),
                    None => return Err(MarkerError::Stray { name, line }),
                }
            }
        }
        match open {
            Some((name, line, _)) => Err(MarkerError::Open { name, line }),
            None => Ok(Self { spans }),
        }
    }

    /// The sections with their bytes, as they stand in a text that they were found in.
    pub fn of<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = (&'t str, &'t [u8])> {
        self.spans.iter().map(|(name, span)| (name.as_str(), &text[span.clone()]))
    }

    /// Whether a byte of the text is a person's.
    #[must_use]
    pub fn has(&self, at: usize) -> bool {
        self.spans.iter().any(|(_, span)| span.contains(&at))
    }
}

/// A new text with what a person wrote in the old one. Sections that the new text does not have are put at its end,
/// before the last line that starts with `before`: nothing of a person gets lost.
///
/// # Errors
/// If the markers of either do not pair.
pub fn carry(new: &[u8], old: &[u8], before: &str) -> Result<Vec<u8>, MarkerError> {
    let (there, was) = (Sections::find(new)?, Sections::find(old)?);
    let mut kept: BTreeMap<&str, &[u8]> = was.of(old).filter(|(_, bytes)| !is_untouched(bytes)).collect();
    let mut text = Vec::with_capacity(new.len() + old.len());
    let mut copied = 0;
    for (name, span) in &there.spans {
        if let Some(bytes) = kept.remove(name.as_str()) {
            text.extend_from_slice(&new[copied..span.start]);
            text.extend_from_slice(bytes);
            copied = span.end;
        }
    }
    text.extend_from_slice(&new[copied..]);
    if kept.is_empty() {
        return Ok(text);
    }
    let mut tail = b"## Kept from before\n\nThe report has no such section any more. Move the text, or delete it. [inferred by a person]\n\n".to_vec();
    for (name, bytes) in kept {
        tail.extend_from_slice(format!("{}\n", opening(name)).as_bytes());
        tail.extend_from_slice(bytes);
        tail.extend_from_slice(format!("{}\n\n", closing(name)).as_bytes());
    }
    let at = bstr::ByteSlice::rfind(text.as_slice(), before).unwrap_or(text.len());
    text.splice(at..at, tail);
    Ok(text)
}

/// A section under the label of the other kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mislabelled {
    /// The section.
    pub name: String,
    /// Where the line of the label is.
    at: Range<usize>,
    /// The number of that line, from 1.
    pub line: usize,
    /// Whether a person has written there.
    pub is_written: bool,
}

/// The sections whose label says that they are still to be written, and are written, or the other way round. A label stands
/// on the last line with text before the section.
///
/// # Errors
/// If the markers do not pair.
pub fn mislabelled(text: &[u8]) -> Result<Vec<Mislabelled>, MarkerError> {
    let found = Sections::find(text)?;
    let mut wrong = Vec::new();
    for (name, span) in &found.spans {
        let is_written = !is_untouched(&text[span.clone()]);
        // The marker itself is the line before the section.
        let marker = line_before(text, span.start).start;
        let mut at = line_before(text, marker);
        while at.start > 0 && text[at.clone()].trim_ascii().is_empty() {
            at = line_before(text, at.start);
        }
        let other = if is_written { TO_WRITE } else { INFERRED };
        if bstr::ByteSlice::contains_str(&text[at.clone()], other) {
            let line = text[..at.start].iter().filter(|&&b| b == b'\n').count() + 1;
            wrong.push(Mislabelled { name: name.clone(), at, line, is_written });
        }
    }
    Ok(wrong)
}

/// The line that ends where another one starts.
fn line_before(text: &[u8], start: usize) -> Range<usize> {
    let end = start.saturating_sub(1);
    let from = text[..end].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
    from..start
}

/// A text in which the label before each section says whether a person has written there.
///
/// # Errors
/// If the markers do not pair.
pub fn relabelled(text: &[u8]) -> Result<Vec<u8>, MarkerError> {
    let mut text = text.to_vec();
    // From the end, so that what is before stays where it is.
    for wrong in mislabelled(&text)?.into_iter().rev() {
        let (is, should) = if wrong.is_written { (TO_WRITE, INFERRED) } else { (INFERRED, TO_WRITE) };
        let line = bstr::ByteSlice::replace(&text[wrong.at.clone()], is, should);
        text.splice(wrong.at, line);
    }
    Ok(text)
}

/// A text in which both labels are one: whether a person has written is no difference between what the program writes.
#[must_use]
pub fn without_kind(text: &str) -> String {
    text.replace(TO_WRITE, INFERRED)
}

/// A text without what a person wrote: the markers stay.
///
/// # Errors
/// If the markers do not pair.
pub fn emptied(text: &[u8]) -> Result<Vec<u8>, MarkerError> {
    let found = Sections::find(text)?;
    let mut rest = Vec::with_capacity(text.len());
    let mut copied = 0;
    for (_, span) in &found.spans {
        rest.extend_from_slice(&text[copied..span.start]);
        copied = span.end;
    }
    rest.extend_from_slice(&text[copied..]);
    Ok(rest)
}

/// Whether nobody has written there yet.
#[must_use]
pub fn is_untouched(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii();
    text.is_empty() || (text.starts_with(TODO.as_bytes()) && !text.contains(&b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(section: &[u8]) -> Vec<u8> {
        let mut text = b"# R\n\n<!-- person: cause -->\n".to_vec();
        text.extend_from_slice(section);
        text.extend_from_slice(b"<!-- end of person: cause -->\n\nend\n");
        text
    }

    #[test]
    fn what_a_person_wrote_survives_byte_for_byte() {
        for mine in
            [&b"it is \xff\xfe odd\r\n\n\n"[..], b"no marker <!-- in here\n", b" \t x\n```\n# h\n```\n"]
        {
            let text = carry(&with(b"TODO\n"), &with(mine), "end").unwrap();
            assert_eq!(text, with(mine));
        }
        // What the program put there is not a person's: a new hint takes its place.
        assert_eq!(
            carry(&with(b"TODO: say why\n"), &with(b"TODO\n"), "end").unwrap(),
            with(b"TODO: say why\n")
        );
    }

    #[test]
    fn a_section_that_goes_away_is_kept_at_the_end() {
        let text = carry(b"# R\n\nend\n", &with(b"mine\n"), "end").unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("<!-- person: cause -->\nmine\n<!-- end of person: cause -->"), "{text}");
        assert!(text.ends_with("end\n"), "{text}");
        let again = carry(b"# R\n\nend\n", text.as_bytes(), "end").unwrap();
        assert_eq!(again, text.as_bytes());
    }

    #[test]
    fn the_label_before_a_section_says_whether_it_is_written() {
        let of = |label: &str, section: &str| {
            format!("Why: {label}\n\n{}\n{section}{}\n", opening("c"), closing("c")).into_bytes()
        };
        for (section, right, wrong) in [
            ("TODO: say why\n", TO_WRITE, INFERRED),
            ("", TO_WRITE, INFERRED),
            ("So it is.\n", INFERRED, TO_WRITE),
            ("TODO: more\nSo it is.\n", INFERRED, TO_WRITE),
        ] {
            let found = mislabelled(&of(wrong, section)).unwrap();
            assert_eq!(found.iter().map(|f| (f.name.as_str(), f.line)).collect::<Vec<_>>(), [("c", 1)]);
            assert_eq!(relabelled(&of(wrong, section)).unwrap(), of(right, section));
            assert_eq!(mislabelled(&of(right, section)).unwrap(), []);
        }
        // Without a label, or at the very beginning, there is nothing to say.
        assert_eq!(mislabelled(&of("[run]", "mine\n")).unwrap(), []);
        assert_eq!(mislabelled(format!("{}\n{}\n", opening("c"), closing("c")).as_bytes()).unwrap(), []);
    }

    #[test]
    fn markers_that_do_not_pair_are_refused() {
        let error = |text: &str| Sections::find(text.as_bytes()).unwrap_err();
        let (open, close) = (opening("a"), closing("a"));
        assert_eq!(error(&format!("{open}\nx\n")), MarkerError::Open { name: "a".into(), line: 1 });
        assert_eq!(error(&format!("x\n{close}\n")), MarkerError::Stray { name: "a".into(), line: 2 });
        let twice = format!("{open}\n{close}\n{open}\n{close}\n");
        assert_eq!(error(&twice), MarkerError::Twice { name: "a".into(), line: 3 });
        assert_eq!(error(&format!("{open}\n{}\n", closing("b"))).line(), 1);
    }

    #[test]
    fn emptied_texts_differ_in_generated_parts_only() {
        assert_eq!(emptied(&with(b"a\n")).unwrap(), emptied(&with(b"b\nc\n")).unwrap());
    }
}
