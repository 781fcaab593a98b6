//! Annotations as GitHub's runner reads them, and the summary of a step in Markdown.
//!
//! Format: <https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands>.

use std::fmt::Write;

use super::Notice;
use crate::diagnostic::Severity;
use crate::escape::for_terminal;

/// How much of a message an annotation shows.
const MESSAGE: usize = 1_000;

/// The annotations, one a line.
#[must_use]
pub fn annotations(notices: &[Notice]) -> String {
    let mut out = String::new();
    for notice in notices {
        let command = match notice.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
            _ => "notice",
        };
        let record = &notice.record;
        let mut properties = Vec::new();
        if let Some(file) = &record.file {
            properties.push(format!("file={}", property(file)));
            properties.extend(record.line.map(|line| format!("line={line}")));
            properties.extend(record.column.map(|column| format!("col={column}")));
        }
        let overlay = notice.overlay.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
        properties.push(format!("title={}", property(&format!("{}{overlay}", record.code))));
        let _ = writeln!(out, "::{command} {}::{}", properties.join(","), message(&notice.text()));
    }
    out
}

/// The text of an annotation. A line break or a percent sign of others must not end it and begin a command.
fn message(text: &str) -> String {
    let text: String = for_terminal(text).chars().take(MESSAGE).collect();
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

/// The summary of a step.
#[must_use]
pub fn summary(command: &str, notices: &[Notice]) -> String {
    let mut out = format!("## overlaid {command}\n\n");
    if notices.is_empty() {
        out.push_str("Nothing needs a hand.\n");
        return out;
    }
    out.push_str("| | what | overlay | where | why and what to do |\n| --- | --- | --- | --- | --- |\n");
    for notice in notices {
        let record = &notice.record;
        let place = match (&record.file, record.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            (Some(file), None) => file.clone(),
            _ => String::new(),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            match record.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            },
            record.code,
            cell(notice.overlay.as_deref().unwrap_or_default()),
            cell(&place),
            cell(&notice.text())
        );
    }
    out
}

/// Text for a cell of a Markdown table: nothing in it is markup.
fn cell(text: &str) -> String {
    let text: String = for_terminal(text).chars().take(MESSAGE).collect();
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '!' | '#' | '~' | '@' => {
                out.push('\\');
                out.push(c);
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostic;

    fn notice(message: &str) -> Notice {
        let record = Diagnostic::error("tree-content", message).hint("overlaid apply").to_record();
        Notice { overlay: Some("fix".to_owned()), record }
    }

    #[test]
    fn an_annotation_names_code_overlay_and_what_to_do() {
        assert_eq!(
            annotations(&[notice("`a.cu` differs")]),
            "::error title=tree-content of fix::`a.cu` differs. What to do: overlaid apply\n"
        );
    }

    #[test]
    fn text_of_others_begins_no_command_and_no_markup() {
        let evil = notice("x\r\n::add-mask::y 100% <b>|`*\u{202e}");
        let text = annotations(std::slice::from_ref(&evil));
        assert_eq!(text.lines().count(), 1);
        assert!(text.contains("100%25") && !text.contains('\u{202e}'), "{text}");
        let mut placed = evil.clone();
        placed.record.file = Some("a,line=1::b.cu".to_owned());
        assert!(annotations(&[placed]).contains("file=a%2Cline=1%3A%3Ab.cu,"));
        let summary = summary("verify", &[evil]);
        assert!(summary.contains("&lt;b&gt;\\|\\`\\*") && !summary.contains('\u{202e}'), "{summary}");
    }
}
