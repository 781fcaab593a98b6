//! How the upstream stands to a change, from the words of others.
//!
//! Debian's DEP-3 fields and Yocto's `Upstream-Status`. A word counts only with evidence: a link, a commit, a version, a
//! reason. Without, the status is [`Status::Unknown`]; that nobody has sent it needs none.

use crate::id::CommitId;
use crate::manifest::UpstreamStatus as Status;

/// Yocto's `Upstream-Status: Word [detail]`.
#[must_use]
pub fn of_yocto(value: &str) -> Status {
    let (word, detail) = value.split_once(|c: char| c.is_whitespace() || c == '[').unwrap_or((value, ""));
    let has_detail = detail.chars().any(char::is_alphanumeric);
    let status = match word.trim_end_matches([':', ',', ';']).to_ascii_lowercase().as_str() {
        "pending" => return Status::Pending,
        "submitted" => Status::Submitted,
        "backport" => Status::Backport,
        "accepted" => Status::Applied,
        "denied" => Status::Denied,
        "inappropriate" | "inactive-upstream" => Status::Inappropriate,
        _ => Status::Unknown,
    };
    if has_detail { status } else { Status::Unknown }
}

/// DEP-3's `Applied-Upstream`: a version, a link, a commit; `None`: it says that it is not applied.
#[must_use]
pub fn of_applied(value: &str) -> Option<Status> {
    match value.to_ascii_lowercase().as_str() {
        "no" | "none" | "" => None,
        _ if is_evidence(value) => Some(Status::Applied),
        _ => Some(Status::Unknown),
    }
}

/// DEP-3's `Origin: upstream, LINK` and `Origin: backport, LINK`; `None`: it is from elsewhere.
#[must_use]
pub fn of_origin(value: &str) -> Option<Status> {
    let (word, detail) = value.split_once([',', ' ']).unwrap_or((value, ""));
    match word.trim_end_matches([',', ':']).to_ascii_lowercase().as_str() {
        "upstream" | "backport" if is_evidence(detail) => Some(Status::Backport),
        "upstream" | "backport" => Some(Status::Unknown),
        _ => None,
    }
}

/// DEP-3's `Forwarded`.
#[must_use]
pub fn of_forwarded(value: &str) -> Status {
    match value.to_ascii_lowercase().as_str() {
        "no" => Status::Pending,
        "not-needed" | "not needed" | "n/a" => Status::Inappropriate,
        _ if link(value).is_some() || value.contains('@') => Status::Submitted,
        _ => Status::Unknown,
    }
}

/// The first link in a text.
#[must_use]
pub fn link(text: &str) -> Option<&str> {
    let words = text.split(|c: char| c.is_whitespace() || "<>[](),;\"".contains(c));
    words
        .filter(|word| word.starts_with("https://") || word.starts_with("http://"))
        .find(|word| word.len() > 10)
}

/// The first full commit id in a text.
#[must_use]
pub fn commit(text: &str) -> Option<CommitId> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| word.len() == 40).find_map(|word| CommitId::parse(word).ok())
}

/// A link, a commit or a version.
fn is_evidence(text: &str) -> bool {
    link(text).is_some() || text.chars().any(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_without_evidence_is_unknown() {
        let yocto = |value| of_yocto(value);
        assert_eq!(yocto("Pending"), Status::Pending);
        assert_eq!(yocto("Submitted [https://example.org/pull/1]"), Status::Submitted);
        assert_eq!(yocto("Submitted"), Status::Unknown);
        assert_eq!(yocto("Backport [v1.3]"), Status::Backport);
        assert_eq!(yocto("Backport []"), Status::Unknown);
        assert_eq!(yocto("Inappropriate[no network there]"), Status::Inappropriate);
        assert_eq!(yocto("Denied"), Status::Unknown);
        assert_eq!(yocto("Maybe [x]"), Status::Unknown);
    }

    #[test]
    fn the_words_of_debian_are_mapped() {
        assert_eq!(of_forwarded("no"), Status::Pending);
        assert_eq!(of_forwarded("not-needed"), Status::Inappropriate);
        assert_eq!(of_forwarded("yes"), Status::Unknown);
        assert_eq!(of_forwarded("https://example.org/bugs/12"), Status::Submitted);
        assert_eq!(of_applied("1.2.3"), Some(Status::Applied));
        assert_eq!(of_applied("yes"), Some(Status::Unknown));
        assert_eq!(of_applied("no"), None);
        assert_eq!(of_origin("upstream, https://example.org/commit/1"), Some(Status::Backport));
        assert_eq!(of_origin("backport"), Some(Status::Unknown));
        assert_eq!(of_origin("vendor, https://example.org/commit/1"), None);
    }

    #[test]
    fn a_full_id_is_found_in_a_link() {
        let id = "1700b39a1dc05611dc6792f4453458d379997037";
        assert_eq!(
            commit(&format!("upstream, https://example.org/commit/{id}.patch")),
            CommitId::parse(id).ok()
        );
        assert_eq!(commit("https://example.org/commit/1700b39"), None);
    }
}
