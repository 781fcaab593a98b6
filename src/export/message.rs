//! What is said of an overlay where it leaves: who made it, why, and how the manifest calls it.

use bstr::ByteSlice;

use crate::overlay::Loaded;

/// Who made a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// A name.
    pub name: String,
    /// A mail address.
    pub email: String,
}

impl std::fmt::Display for Author {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} <{}>", self.name, self.email)
    }
}

/// What is said of an overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// One line.
    pub subject: String,
    /// More lines; can be empty. No line ends of its own at the end.
    pub body: String,
    /// Who made it.
    pub author: Author,
    /// Names and values, one line each.
    pub trailers: Vec<(&'static str, String)>,
}

impl Message {
    /// What the manifest says of an overlay.
    #[must_use]
    pub fn of(loaded: &Loaded) -> Self {
        let overlay = &loaded.overlay;
        let reason = overlay.reason.as_ref().map_or("", |reason| reason.value.trim());
        let (subject, body) = split(reason);
        let subject = if subject.trim().is_empty() { overlay.name.as_str() } else { subject.trim() };
        let mut trailers = vec![("Overlay", overlay.name.value.to_string())];
        let needs: Vec<&str> = overlay.needs.iter().map(|name| name.value.as_str()).collect();
        let others = [
            ("Base", overlay.base.as_ref().map(|base| base.value.to_string())),
            ("Issue", overlay.issue.as_ref().map(|link| link.value.clone())),
            ("Pull-request", overlay.pull_request.as_ref().map(|link| link.value.clone())),
            ("Forwarded", overlay.forwarded.as_ref().map(|said| said.value.clone())),
            ("Upstream-status", overlay.upstream_status.as_ref().map(|word| word.value.as_str().to_owned())),
            ("Needs", Some(needs.join(", ")).filter(|needs| !needs.is_empty())),
        ];
        trailers.extend(others.into_iter().filter_map(|(key, value)| Some((key, one_line(&value?)))));
        Self {
            subject: one_line(subject),
            body: body.trim().replace('\r', ""),
            author: author(loaded),
            trailers,
        }
    }

    /// The text of a commit.
    #[must_use]
    pub fn commit_text(&self) -> String {
        let body = if self.body.is_empty() { String::new() } else { format!("{}\n\n", self.body) };
        format!("{}\n\n{body}{}", self.subject, self.trailer_text())
    }

    /// The trailers, a line each.
    #[must_use]
    pub fn trailer_text(&self) -> String {
        self.trailers.iter().map(|(key, value)| format!("{key}: {value}\n")).collect()
    }

    /// The value of a trailer.
    #[must_use]
    pub fn trailer(&self, key: &str) -> Option<&str> {
        self.trailers.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str())
    }
}

/// How long a first line may be before a sentence ends it, as git and mails show it.
const SUBJECT: usize = 72;

/// The first line, or the first sentence if there are more of them in a long line; and the rest.
pub(crate) fn split(reason: &str) -> (&str, &str) {
    let (line, _) = reason.split_once('\n').unwrap_or((reason, ""));
    let end = match line.find(". ") {
        Some(sentence) if line.chars().count() > SUBJECT => sentence + 1,
        _ => line.len(),
    };
    reason.split_at(end)
}

fn one_line(text: &str) -> String {
    text.split(char::is_control).map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The address of an author of whom the manifest gives none.
const NO_ADDRESS: &str = "unknown@localhost";

impl Author {
    fn nobody() -> Self {
        Self { name: "overlaid".to_owned(), email: "overlaid@localhost".to_owned() }
    }

    /// What a manifest says of this author, from what an export says; `None`: the manifest named nobody.
    pub(crate) fn said(text: &str) -> Option<String> {
        let author = parse_author(text).filter(|author| *author != Self::nobody())?;
        Some(if author.email == NO_ADDRESS { author.name } else { author.to_string() })
    }
}

/// The one whom the manifest names, or a mailed patch; nobody in particular otherwise.
fn author(loaded: &Loaded) -> Author {
    if let Some(author) = &loaded.overlay.author {
        let text = one_line(&author.value);
        let named = || Author { name: text.replace(['<', '>'], ""), email: NO_ADDRESS.to_owned() };
        return parse_author(&text).unwrap_or_else(named);
    }
    let preamble = loaded.patch.as_ref().map_or(&[][..], |patch| &patch.preamble);
    // The `From ` line of a mailbox has no colon.
    let from = preamble.lines().find_map(|line| line.strip_prefix(b"From: "));
    from.and_then(|from| from.to_str().ok()).and_then(parse_author).unwrap_or_else(Author::nobody)
}

fn parse_author(text: &str) -> Option<Author> {
    let (name, rest) = text.trim().split_once('<')?;
    let email = rest.strip_suffix('>')?;
    let name = name.trim().trim_matches('"').trim();
    let is_plain = |text: &str| !text.is_empty() && !text.contains(['<', '>', '\n']) && !text.contains("=?");
    (is_plain(name) && is_plain(email))
        .then(|| Author { name: name.to_owned(), email: email.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_ends_with_its_first_sentence() {
        assert_eq!(split("Short. And more."), ("Short. And more.", ""));
        assert_eq!(split("one\ntwo. three"), ("one", "\ntwo. three"));
        let rest = format!(" {}.", "more ".repeat(20).trim());
        assert_eq!(split(&format!("First.{rest}")), ("First.", rest.as_str()));
        let endless = "word ".repeat(30);
        assert_eq!(split(&endless), (endless.as_str(), ""));
    }

    #[test]
    fn an_author_has_a_name_and_an_address() {
        let ada = Author { name: "Ada L.".to_owned(), email: "ada@example.org".to_owned() };
        assert_eq!(parse_author("Ada L. <ada@example.org>"), Some(ada.clone()));
        assert_eq!(parse_author("\"Ada L.\" <ada@example.org>"), Some(ada));
        assert_eq!(parse_author("=?utf-8?q?Ad=C3=A4?= <ada@example.org>"), None);
        assert_eq!(parse_author("ada@example.org"), None);
    }
}
