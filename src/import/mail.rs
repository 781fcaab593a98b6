//! Mails as `git format-patch` writes them: one a file, or many in a mailbox.
//!
//! Decides where a mail begins and what its headers say. The bytes of a patch are never decoded: a mail whose body was
//! encoded for transport is refused, since a patch file has to hold the bytes themselves.

use bstr::ByteSlice;
use mail_parser::MessageParser;

/// Takes a mailbox apart. What does not begin like a mail of git's is one patch.
#[must_use]
pub fn split(bytes: &[u8]) -> Vec<&[u8]> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if is_first_line(line) {
            starts.push(at);
        }
        at += line.len();
    }
    match starts.first() {
        Some(0) => {
            let ends = starts.iter().skip(1).copied().chain(std::iter::once(bytes.len()));
            starts.iter().zip(ends).filter_map(|(start, end)| bytes.get(*start..end)).collect()
        }
        _ => vec![bytes],
    }
}

/// `From <40 digits> Mon Sep 17 00:00:00 2001`.
fn is_first_line(line: &[u8]) -> bool {
    line.strip_prefix(b"From ").is_some_and(|rest| {
        rest.len() > 41
            && rest[..40].iter().all(u8::is_ascii_hexdigit)
            && rest[40] == b' '
            && rest.contains_str(":")
    })
}

/// Whether the body was encoded for transport, and how.
#[must_use]
pub fn encoding(mail: &[u8]) -> Option<&'static str> {
    let headers = mail.find(b"\n\n").map_or(mail, |end| &mail[..end]);
    let lower = headers.to_ascii_lowercase();
    let value = lower.lines().find_map(|line| line.strip_prefix(b"content-transfer-encoding:"))?;
    match value.trim() {
        b"quoted-printable" => Some("quoted-printable"),
        b"base64" => Some("base64"),
        _ => None,
    }
}

/// A header's text, with encoded words read.
#[must_use]
pub fn decoded(value: &str) -> String {
    if !value.contains("=?") {
        return value.to_owned();
    }
    let text = format!("Subject: {}\n\n", value.replace('\n', " "));
    let message = MessageParser::default().parse_headers(text.as_bytes());
    let subject = message.as_ref().and_then(|message| message.subject());
    subject.map_or_else(|| value.to_owned(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mailbox_is_cut_at_the_first_lines_of_mails() {
        let first = "From 1700b39a1dc05611dc6792f4453458d379997037 Mon Sep 17 00:00:00 2001\nSubject: a\n\n\
                     From here on it is prose.\n";
        let second = first.replace("Subject: a", "Subject: b");
        let both = format!("{first}{second}");
        assert_eq!(split(both.as_bytes()), [first.as_bytes(), second.as_bytes()]);
        assert_eq!(split(b"--- a/x\n+++ b/x\n").len(), 1);
    }

    #[test]
    fn an_encoded_body_is_seen() {
        assert_eq!(encoding(b"Subject: a\nContent-Transfer-Encoding: Base64\n\nxx\n"), Some("base64"));
        assert_eq!(encoding(b"Content-Transfer-Encoding: 8bit\n\nContent-Transfer-Encoding: base64\n"), None);
    }
}
