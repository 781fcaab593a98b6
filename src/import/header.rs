//! What stands above a patch: DEP-3 fields, mail headers, Yocto's fields, prose.
//!
//! Fields are taken wherever they stand before the first `---` line; those that no key of the manifest holds are named, and
//! stay where they are: the patch file keeps its header byte for byte.

use bstr::ByteSlice;

use crate::manifest::UpstreamStatus;

use super::{Meta, mail, status};

/// Fields that are known, in lower case; `bug-` stands for all that begin so.
const KNOWN: [&str; 15] = [
    "from",
    "author",
    "subject",
    "description",
    "origin",
    "bug",
    "bug-",
    "forwarded",
    "applied-upstream",
    "upstream-status",
    "reviewed-by",
    "acked-by",
    "last-update",
    "date",
    "signed-off-by",
];

struct Field {
    name: String,
    /// As written; folded lines are joined by newlines.
    value: String,
}

/// Reads what stands above a patch.
#[must_use]
pub fn read(preamble: &[u8]) -> Meta {
    let (fields, prose) = fields(preamble);
    let first = |name: &str| {
        let named = fields.iter().filter(|field| field.name.eq_ignore_ascii_case(name));
        named.map(|field| field.value.trim()).find(|value| !value.is_empty())
    };
    let summary = |value: &str| {
        let line = value.lines().map(str::trim).find(|line| !line.is_empty() && *line != ".")?;
        let line = without_tags(line);
        (!line.is_empty()).then(|| line.to_owned())
    };
    let subject = first("subject").map(|value| mail::decoded(&joined(value)));
    let reason = subject
        .or_else(|| first("description").map(mail::decoded))
        .and_then(|value| summary(&value))
        .or_else(|| prose.iter().find_map(|line| summary(line)));
    let author = first("author").or_else(|| first("from")).map(|value| mail::decoded(&joined(value)));

    let (forwarded, origin) = (first("forwarded").map(joined), first("origin").map(joined));
    let (applied, yocto) = (first("applied-upstream").map(joined), first("upstream-status").map(joined));
    let status = applied
        .as_deref()
        .and_then(status::of_applied)
        .or_else(|| yocto.as_deref().map(status::of_yocto))
        .or_else(|| origin.as_deref().and_then(status::of_origin))
        .or_else(|| forwarded.as_deref().map(status::of_forwarded));
    let is_from_upstream = matches!(status, Some(UpstreamStatus::Applied | UpstreamStatus::Backport));
    let evidence = [&applied, &yocto, &origin];
    let commit = evidence.into_iter().flatten().find_map(|value| status::commit(value));

    // The upstream's own bug; those of a distribution are not the upstream's.
    let issue = first("bug").or_else(|| first("bug-upstream")).map(joined);
    let sent = forwarded.clone().or_else(|| yocto.as_deref().and_then(status::link).map(str::to_owned));
    let pull_request = sent.as_deref().and_then(status::link).filter(|link| is_pull_request(link));
    let issue_taken = issue.clone();
    let is_held = |field: &Field| {
        let name = field.name.to_ascii_lowercase();
        match name.as_str() {
            "from" | "author" => {
                author.as_deref() == Some(mail::decoded(&joined(field.value.trim())).as_str())
            }
            "bug" | "bug-upstream" => issue_taken.as_deref() == Some(joined(field.value.trim()).as_str()),
            "subject" | "forwarded" | "applied-upstream" | "upstream-status" => true,
            "description" => field.value.trim().lines().count() <= 1,
            _ => false,
        }
    };
    let mut kept: Vec<String> =
        fields.iter().filter(|field| !is_held(field)).map(|field| field.name.clone()).collect();
    kept.dedup();
    Meta {
        pull_request: pull_request.map(str::to_owned),
        forwarded: sent,
        commit: commit.filter(|_| is_from_upstream),
        author,
        reason,
        issue,
        status,
        kept,
    }
}

fn joined(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_pull_request(link: &str) -> bool {
    ["/pull/", "/pulls/", "/merge_requests/"].iter().any(|part| link.contains(part))
}

/// `[PATCH 2/7] x` and `[branch] x` say nothing about the change.
pub(super) fn without_tags(subject: &str) -> &str {
    let mut rest = subject.trim_start_matches(['#', ' ', '*']);
    while let Some((tag, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        if !tag.to_ascii_uppercase().contains("PATCH") {
            break;
        }
        rest = after.trim_start();
    }
    rest.trim()
}

/// The known fields, and the lines that are none.
fn fields(preamble: &[u8]) -> (Vec<Field>, Vec<String>) {
    let mut fields: Vec<Field> = Vec::new();
    let mut prose = Vec::new();
    let mut in_field = false;
    for line in preamble.lines() {
        let line = line.to_str_lossy();
        if line == "---" {
            break;
        }
        // Some write their headers as comments.
        let line = line.strip_prefix("## ").or_else(|| line.strip_prefix("# ")).unwrap_or(&line);
        if in_field
            && line.starts_with([' ', '\t'])
            && let Some(field) = fields.last_mut()
        {
            field.value.push('\n');
            field.value.push_str(line.trim());
            continue;
        }
        in_field = false;
        if let Some((name, value)) = line.split_once(':')
            && is_known(name)
        {
            fields.push(Field { name: name.to_owned(), value: value.trim().to_owned() });
            in_field = true;
        } else if !is_noise(line) {
            prose.push(line.to_owned());
        }
    }
    (fields, prose)
}

fn is_known(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    KNOWN.contains(&name.as_str()) || (name.starts_with("bug-") && !name.contains(' '))
}

/// Lines that tools write.
fn is_noise(line: &str) -> bool {
    let starts =
        ["From ", "Index:", "====", "diff ", "Only in ", "@DPATCH@", "! /bin/sh", "MIME-", "Content-"];
    line.trim().is_empty() || starts.iter().any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dep3_header_becomes_keys() {
        let id = "1700b39a1dc05611dc6792f4453458d379997037";
        let text = format!(
            "Description: Mend the norm of odd axes\n More words,\n .\n and more.\nAuthor: Ada <ada@example.org>\n\
             Origin: upstream, https://example.org/c/{id}\nBug: https://example.org/bugs/7\n\
             Bug-Debian: https://bugs.example.org/1\nLast-Update: 2024-01-01\n---\nAuthor: nobody\n"
        );
        let meta = read(text.as_bytes());
        assert_eq!(meta.reason.as_deref(), Some("Mend the norm of odd axes"));
        assert_eq!(meta.author.as_deref(), Some("Ada <ada@example.org>"));
        assert_eq!(meta.issue.as_deref(), Some("https://example.org/bugs/7"));
        assert_eq!(meta.status, Some(UpstreamStatus::Backport));
        assert_eq!(meta.commit.map(|commit| commit.to_string()).as_deref(), Some(id));
        assert_eq!(meta.kept, ["Description", "Origin", "Bug-Debian", "Last-Update"]);
    }

    #[test]
    fn a_mail_header_is_decoded() {
        let text = "From 1700b39a1dc05611dc6792f4453458d379997037 Mon Sep 17 00:00:00 2001\n\
                    From: =?UTF-8?q?J=C3=B6rg?= <j@example.org>\nDate: Fri, 1 Jan 2021 00:00:00 +0000\n\
                    Subject: [PATCH 2/3] kernel: a subject that is folded\n over two lines\n\nThe body.\n\n\
                    Upstream-Status: Submitted [https://example.org/pull/3]\n";
        let meta = read(text.as_bytes());
        assert_eq!(meta.author.as_deref(), Some("Jörg <j@example.org>"));
        assert_eq!(meta.reason.as_deref(), Some("kernel: a subject that is folded over two lines"));
        assert_eq!(meta.status, Some(UpstreamStatus::Submitted));
        assert_eq!(meta.pull_request.as_deref(), Some("https://example.org/pull/3"));
    }

    #[test]
    fn prose_gives_the_reason_and_nothing_else() {
        let meta = read(b"\nUse the system's zlib\nand not ours: it is old.\n\nIndex: x\n====\n");
        assert_eq!(meta.reason.as_deref(), Some("Use the system's zlib"));
        assert_eq!((meta.status, meta.author), (None, None));
    }
}
