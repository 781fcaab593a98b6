//! Lines of the upstream in a report: with their numbers, the full commit, and a link that does not move.
//!
//! A quote stands between two comments that say what it quotes. So it can be made again from git objects and compared,
//! wherever it stands: in what the program wrote and in what a person wrote. Decides how it looks and whether it is
//! still right; never which lines prove something.

use std::fmt;

use crate::escape::for_terminal;
use crate::id::{CommitId, UpstreamPath};
use crate::upstream::UpstreamError;

use super::markdown::{code, fence, language, line};

/// More lines than that are not quoted at once.
const MOST: usize = 200;

const OPEN: &str = "<!-- quote ";
const CLOSE: &str = "<!-- end of quote -->";

/// Which lines of which file, at which commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: UpstreamPath,
    /// The first line, from 1.
    pub first: usize,
    /// The last line.
    pub last: usize,
    /// The commit.
    pub at: CommitId,
}

/// Why lines cannot be quoted.
#[derive(Debug, Clone)]
pub enum QuoteError {
    /// `lines` is not `298-301` or `298`.
    Lines(String),
    /// More lines than a report should have.
    TooMany(usize),
    /// The commit has no such file.
    NoFile(Place),
    /// The file is shorter.
    TooShort(Place, usize),
    /// The path is none, or no text: a link to it could not be written.
    Path(String),
    /// The upstream cannot be read.
    Upstream(UpstreamError),
}

impl fmt::Display for QuoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QuoteError::Lines(text) => {
                write!(f, "`{}` names no lines; write 298-301 or 298", for_terminal(text))
            }
            QuoteError::TooMany(count) => write!(f, "{count} lines are too many for a quote; at most {MOST}"),
            QuoteError::NoFile(place) => {
                write!(
                    f,
                    "the upstream has no file `{}` at {}",
                    for_terminal(place.path.as_bytes()),
                    place.at
                )
            }
            QuoteError::TooShort(place, has) => write!(
                f,
                "`{}` has {has} lines at {}, and not {}",
                for_terminal(place.path.as_bytes()),
                place.at,
                place.last
            ),
            QuoteError::Path(path) => {
                write!(f, "`{}` cannot be quoted: no such path can be", for_terminal(path))
            }
            QuoteError::Upstream(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for QuoteError {}

/// Where the content of a file at a commit comes from.
pub type Read<'a> = dyn Fn(CommitId, &UpstreamPath) -> Result<Option<Vec<u8>>, UpstreamError> + 'a;

/// `298-301` or `298`.
///
/// # Errors
/// If it is neither.
pub fn parse_lines(text: &str) -> Result<(usize, usize), QuoteError> {
    let wrong = || QuoteError::Lines(text.to_owned());
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
    let (first, last) = (number(first)?, number(last)?);
    if first == 0 || last < first {
        return Err(wrong());
    }
    if last - first >= MOST {
        return Err(QuoteError::TooMany(last - first + 1));
    }
    Ok((first, last))
}

impl Place {
    /// A place from the words of a template or of a command line.
    ///
    /// # Errors
    /// If they name none.
    pub fn parse(path: &str, lines: &str, at: CommitId) -> Result<Self, QuoteError> {
        let (first, last) = parse_lines(lines)?;
        let path = UpstreamPath::parse(path).map_err(|_| QuoteError::Path(path.to_owned()))?;
        Ok(Self { path, first, last, at })
    }

    fn lines(&self) -> String {
        if self.first == self.last { self.first.to_string() } else { format!("{}-{}", self.first, self.last) }
    }
}

/// The quote as it stands in a report.
///
/// # Errors
/// If there are no such lines.
pub fn render(place: &Place, url: &str, read: &Read<'_>) -> Result<String, QuoteError> {
    let path =
        std::str::from_utf8(place.path.as_bytes()).map_err(|_| QuoteError::Path(place.path.to_string()))?;
    let content = read(place.at, &place.path).map_err(QuoteError::Upstream)?;
    let content = content.ok_or_else(|| QuoteError::NoFile(place.clone()))?;
    let mut lines: Vec<&[u8]> = content.split(|&b| b == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    if place.last > lines.len() {
        return Err(QuoteError::TooShort(place.clone(), lines.len()));
    }
    let width = place.last.to_string().len();
    let numbered: Vec<String> = (place.first..=place.last)
        .map(|number| format!("{number:>width$}  {}", line(lines[number - 1])).trim_end().to_owned())
        .collect();
    let words = match place.last - place.first {
        0 => format!("line {}", place.first),
        _ => format!("lines {} to {}", place.first, place.last),
    };
    let shown = format!("{} {words} at `{}`", code(path), place.at.short());
    let shown = match permalink(url, place) {
        Some(link) => format!("[{}]({link})", shown.replace('[', "\\[").replace(']', "\\]")),
        None => format!("{shown} ({})", code(&format!("git show {}:{path}", place.at))),
    };
    Ok(format!(
        "{}\n{shown} [read at {}]\n\n{}\n{CLOSE}",
        header(place, path),
        place.at,
        fence(language(place.path.as_bytes()), &numbered)
    ))
}

/// The comment that says what is quoted. Nothing in it can end the comment.
fn header(place: &Place, path: &str) -> String {
    let path = serde_json::Value::from(for_terminal(path)).to_string();
    let path = path.replace('-', "\\u002d").replace('>', "\\u003e").replace('<', "\\u003c");
    format!("{OPEN}{path} lines {} at {} -->", place.lines(), place.at)
}

/// A quote that stands in a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The line of its first comment, from 1.
    pub line: usize,
    /// What it quotes; `None`: the comment cannot be read.
    pub place: Option<Place>,
    /// All of it, with `\n` at the ends of lines, from the first comment to the last; `None`: it does not end.
    pub text: Option<String>,
}

/// All quotes of a report.
#[must_use]
pub fn find(text: &str) -> Vec<Found> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if let Some(header) = lines[at].strip_prefix(OPEN) {
            let end = lines[at..].iter().position(|line| *line == CLOSE).map(|end| at + end);
            let next =
                lines[at + 1..].iter().position(|line| line.starts_with(OPEN)).map(|next| at + 1 + next);
            let end = end.filter(|end| next.is_none_or(|next| *end < next));
            let text = end.map(|end| lines[at..=end].join("\n"));
            found.push(Found { line: at + 1, place: parse_header(header), text });
            at = end.unwrap_or(at);
        }
        at += 1;
    }
    found
}

fn parse_header(text: &str) -> Option<Place> {
    let text = text.trim_end().strip_suffix(" -->")?;
    let (rest, at) = text.rsplit_once(" at ")?;
    let (path, lines) = rest.rsplit_once(" lines ")?;
    let path: String = serde_json::from_str(path).ok()?;
    Place::parse(&path, lines, CommitId::parse(at).ok()?).ok()
}

/// A link to lines at a commit, on a forge that is known by its address: GitHub, and GitLab wherever its host says so.
#[must_use]
pub fn permalink(url: &str, place: &Place) -> Option<String> {
    let (host, repository) = forge(url)?;
    let path = percent_encoded(place.path.as_bytes());
    let Place { first, last, at, .. } = place;
    if host == "github.com" {
        let lines = if first == last { format!("L{first}") } else { format!("L{first}-L{last}") };
        return Some(format!("https://{host}/{repository}/blob/{at}/{path}#{lines}"));
    }
    if host.split('.').any(|part| part == "gitlab") {
        let lines = if first == last { format!("L{first}") } else { format!("L{first}-{last}") };
        return Some(format!("https://{host}/{repository}/-/blob/{at}/{path}#{lines}"));
    }
    None
}

/// A link to a commit, as [`permalink`].
#[must_use]
pub fn commit_link(url: &str, commit: CommitId) -> Option<String> {
    let (host, repository) = forge(url)?;
    match host.as_str() {
        "github.com" => Some(format!("https://{host}/{repository}/commit/{commit}")),
        _ if host.split('.').any(|part| part == "gitlab") => {
            Some(format!("https://{host}/{repository}/-/commit/{commit}"))
        }
        _ => None,
    }
}

/// Host and repository of `https://host/owner/name.git`, `ssh://git@host/owner/name` and `git@host:owner/name.git`.
fn forge(url: &str) -> Option<(String, String)> {
    let rest = match url.split_once("://") {
        Some((scheme, rest)) => ["https", "http", "ssh", "git"].contains(&scheme).then_some(rest)?.to_owned(),
        None => url.split_once('@').filter(|(_, rest)| rest.contains(':'))?.1.replacen(':', "/", 1),
    };
    let (host, repository) = rest.split_once('/')?;
    let host = host.rsplit('@').next()?.split(':').next()?.to_ascii_lowercase();
    let repository = repository.trim_end_matches('/').trim_end_matches(".git");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_.~".contains(c);
    (!repository.is_empty() && repository.chars().all(is_plain)).then(|| (host, repository.to_owned()))
}

fn percent_encoded(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, &byte| {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://github.com/o/r.git";

    fn place(path: &str, lines: &str) -> Place {
        Place::parse(path, lines, CommitId::from_bytes([0xab; 20])).unwrap()
    }

    fn quoted(content: &[u8], lines: &str) -> Result<String, QuoteError> {
        render(&place("a b/k.cu", lines), URL, &|_, _| Ok(Some(content.to_vec())))
    }

    #[test]
    fn a_quote_has_numbers_a_link_and_a_label_and_is_found_again() {
        let text = quoted(b"1\n\tint a;\r\nint b;\n", "2-3").unwrap();
        let full = "ab".repeat(20);
        assert!(text.contains(&format!("(https://github.com/o/r/blob/{full}/a%20b/k.cu#L2-L3)")), "{text}");
        assert!(text.contains("```cuda\n2  \tint a;\n3  int b;\n```"), "{text}");
        assert!(text.contains(&format!("[read at {full}]")), "{text}");
        let found = find(&format!("x\n\n{text}\n\ny\n"));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].line, found[0].place.clone()), (3, Some(place("a b/k.cu", "2-3"))));
        assert_eq!(found[0].text.as_deref(), Some(text.as_str()));
        // On a machine that writes other line ends, too.
        assert_eq!(find(&text.replace('\n', "\r\n"))[0].text.as_deref(), Some(text.as_str()));
    }

    #[test]
    fn lines_that_are_not_there_are_an_error() {
        assert!(matches!(quoted(b"1\n2\n", "2-3"), Err(QuoteError::TooShort(_, 2))));
        assert!(quoted(b"1\n2", "2").is_ok());
        for wrong in ["0", "3-2", "x", "1-", ""] {
            assert!(matches!(parse_lines(wrong), Err(QuoteError::Lines(_))), "{wrong}");
        }
        assert!(matches!(parse_lines("1-201"), Err(QuoteError::TooMany(201))));
        let none = render(&place("a", "1"), URL, &|_, _| Ok(None));
        assert!(matches!(none, Err(QuoteError::NoFile(_))));
    }

    #[test]
    fn content_cannot_leave_its_block_nor_a_path_its_comment() {
        let text = quoted("```\n<!-- end of quote -->\n\u{202e}x\u{1b}[2J\n".as_bytes(), "1-3").unwrap();
        assert!(
            text.contains("\n````cuda\n") && !text.contains('\u{202e}') && !text.contains('\u{1b}'),
            "{text}"
        );
        assert_eq!(find(&text)[0].text.as_deref(), Some(text.as_str()));
        let odd = place("a-->b\"<x>", "1");
        let text = render(&odd, URL, &|_, _| Ok(Some(b"1".to_vec()))).unwrap();
        let first = text.lines().next().unwrap();
        assert_eq!(first.matches("-->").count(), 1, "{first}");
        assert_eq!(find(&text)[0].place, Some(odd));
    }

    #[test]
    fn forges_are_known_by_their_address() {
        let link = |url| permalink(url, &place("f", "1-2"));
        let full = "ab".repeat(20);
        for url in ["git@github.com:o/r.git", "ssh://git@github.com/o/r", "https://GitHub.com/o/r/"] {
            assert_eq!(link(url), Some(format!("https://github.com/o/r/blob/{full}/f#L1-L2")), "{url}");
        }
        let gitlab = format!("https://gitlab.example.org/g/s/r/-/blob/{full}/f#L1-2");
        assert_eq!(link("https://gitlab.example.org/g/s/r.git"), Some(gitlab));
        for url in [
            "target/rowops.git",
            "file:///x/y",
            "https://example.org/o/r",
            "../up",
            "javascript://github.com/o/r",
        ] {
            assert_eq!(link(url), None, "{url}");
        }
    }
}
