//! A series as mails that `git am` takes: `0001-name.patch`, and so on.
//!
//! Decides the bytes. A line of the text that would end it too early for `git am` stands behind a space.

use super::{Files, Series, Step};

/// The mails by their names. A step that changes nothing is left out: `git am` refuses it.
#[must_use]
pub fn mail(series: &Series) -> Files {
    let steps: Vec<&Step> = series.steps.iter().filter(|step| !step.changes.is_empty()).collect();
    let of = steps.len();
    let file = |(place, step): (usize, &&Step)| {
        (format!("{:04}-{}.patch", place + 1, step.name), one(step, place + 1, of))
    };
    steps.iter().enumerate().map(file).collect()
}

fn one(step: &Step, number: usize, of: usize) -> Vec<u8> {
    let message = &step.message;
    let number = if of == 1 { String::new() } else { format!(" {number}/{of}") };
    let format = gix::date::time::format::RFC2822;
    let date = gix::date::Time::new(step.date, 0).format_or_unix(format);
    // The first line is the one by which tools know a mail of git's; its date never changes.
    let mut text = format!(
        "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\nFrom: {}\nDate: {date}\n\
         Subject: [PATCH{number}] {}\nMIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\n\
         Content-Transfer-Encoding: 8bit\n\n",
        message.author, message.subject,
    );
    for line in message.body.lines() {
        text.push_str(if ends_a_text(line) { " " } else { "" });
        text.push_str(line);
        text.push('\n');
    }
    if !message.body.is_empty() {
        text.push('\n');
    }
    text.push_str(&message.trailer_text());
    text.push_str("---\n\n");
    let mut mail = text.into_bytes();
    mail.extend(step.diff());
    mail.extend_from_slice(b"-- \noverlaid\n");
    mail
}

/// Whether `git am` would take a line for the start of the diff or of another mail.
pub(crate) fn ends_a_text(line: &str) -> bool {
    ["---", "diff -", "Index: ", "From ", "@@ -"].iter().any(|start| line.starts_with(start))
}
