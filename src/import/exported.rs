//! What `export` wrote above a patch, read back: the import of an export gives the same overlays.
//!
//! Decides whether a header is one of `export`'s, by the name of the overlay in it, and what the manifest said. A header of
//! others is left to [`super::header`].

use std::collections::BTreeMap;

use bstr::ByteSlice;

use crate::export::{Author, ends_a_text, split_reason};
use crate::id::Name;
use crate::manifest::UpstreamStatus;

use super::{Meta, header, mail};

/// What an exported overlay was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// Its name.
    pub name: Name,
    /// What it needed; none: nothing is said.
    pub needs: Vec<Name>,
    /// What was said of it.
    pub meta: Meta,
}

/// Reads what stands above a patch; `None`: it was not `export` that wrote it.
#[must_use]
pub fn read(preamble: &[u8]) -> Option<Exported> {
    let text = preamble.to_str().ok()?;
    let lines: Vec<&str> = text.lines().take_while(|line| *line != "---").collect();
    let found = if text.starts_with("Description: ") { of_quilt(&lines) } else { of_mail(&lines) }?;
    let value = |key: &str| found.fields.get(key).cloned();
    let name = Name::parse(found.fields.get("Overlay")?).ok()?;
    let needs = found.fields.get("Needs").map_or("", String::as_str);
    let reason = reason(&found.subject, &found.body);
    let status = value("Upstream-status").and_then(|word| {
        UpstreamStatus::WORDS.iter().find(|(known, _)| *known == word).map(|(_, status)| *status)
    });
    Some(Exported {
        needs: needs.split(',').filter_map(|name| Name::parse(name.trim()).ok()).collect(),
        meta: Meta {
            author: Author::said(&found.author),
            // Without a reason the name stands in its place.
            reason: Some(reason).filter(|reason| reason.as_str() != name.as_str()),
            issue: value("Issue"),
            pull_request: value("Pull-request"),
            forwarded: value("Forwarded"),
            status,
            commit: None,
            kept: Vec::new(),
        },
        name,
    })
}

#[derive(Default)]
struct Found {
    subject: String,
    body: String,
    author: String,
    fields: BTreeMap<String, String>,
}

fn of_quilt(lines: &[&str]) -> Option<Found> {
    let mut found = Found::default();
    let mut lines = lines.iter().peekable();
    found.subject = lines.next()?.strip_prefix("Description: ")?.to_owned();
    let mut body: Vec<&str> = Vec::new();
    while let Some(line) = lines.next_if(|line| line.starts_with(' ')) {
        body.push(if *line == " ." { "" } else { &line[1..] });
    }
    found.body = body.join("\n");
    for (key, value) in lines.filter_map(|line| line.split_once(": ")) {
        match key {
            "Author" => value.clone_into(&mut found.author),
            "Bug" => _ = found.fields.insert("Issue".to_owned(), value.to_owned()),
            _ => {
                if let Some(key) = key.strip_prefix("X-") {
                    found.fields.insert(key.to_owned(), value.to_owned());
                }
            }
        }
    }
    Some(found)
}

fn of_mail(lines: &[&str]) -> Option<Found> {
    let mut found = Found::default();
    let end = lines.iter().position(|line| line.is_empty())?;
    let (above, below) = (lines.get(..end)?, lines.get(end..)?);
    let mut headers: Vec<String> = Vec::new();
    for line in above {
        match headers.last_mut() {
            Some(header) if line.starts_with([' ', '\t']) => header.push_str(line),
            _ => headers.push((*line).to_owned()),
        }
    }
    let of = |key: &str| headers.iter().find_map(|header| header.strip_prefix(key)).map(mail::decoded);
    found.subject = header::without_tags(&of("Subject: ")?).to_owned();
    found.author = of("From: ").unwrap_or_default();
    // The last paragraph is that of the trailers.
    let last = below.iter().rposition(|line| !line.is_empty())?;
    let first = below.get(..last)?.iter().rposition(|line| line.is_empty())? + 1;
    let trailers = below.get(first..=last)?.iter().filter_map(|line| line.split_once(": "));
    found.fields = trailers.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let shown =
        |line: &&str| line.strip_prefix(' ').filter(|rest| ends_a_text(rest)).unwrap_or(line).to_owned();
    found.body = below.get(..first)?.iter().map(shown).collect::<Vec<_>>().join("\n").trim().to_owned();
    Some(found)
}

/// A reason whose first line or sentence became a subject. An empty line behind the first line is not kept.
fn reason(subject: &str, body: &str) -> String {
    if body.is_empty() {
        return subject.to_owned();
    }
    let sentences = format!("{subject} {body}");
    if split_reason(&sentences).0 == subject { sentences } else { format!("{subject}\n{body}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_not_ours() {
        assert_eq!(read(b"Description: x\nAuthor: Ada <a@example.org>\n---\n"), None);
        assert_eq!(read(b"From: Ada <a@example.org>\nSubject: [PATCH] x\n\nOverlay of two\n---\n"), None);
        assert_eq!(read(b"Subject: [PATCH] x\n\nbody\n\nOverlay: not a name\n---\n"), None);
    }

    #[test]
    fn a_reason_is_put_together_as_it_was_taken_apart() {
        let long = format!("First. {}.", "more ".repeat(20).trim());
        for text in ["one", "one\ntwo. three", "one\ntwo\n\nthree", long.as_str()] {
            let (subject, body) = split_reason(text);
            assert_eq!(reason(subject, body.trim()), text);
        }
    }
}
