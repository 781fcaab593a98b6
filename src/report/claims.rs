//! Labels: on what ground a claim stands. Each claim of a report has one.
//!
//! Decides what a claim is in a Markdown text: each paragraph, each item of a list, each table and each block. A table or
//! a block is covered by the paragraph directly before it, a person's section by the line directly before it. Headings,
//! comments, quotes (which carry their commit) and what is still to do are no claims.

use std::fmt;

use crate::id::CommitId;

use super::sections::{self, INFERRED, TO_WRITE, TODO};

/// The labels that are the same words each time, without their brackets.
const FIXED: [&str; 6] = [
    "run",
    "not run",
    "read in the manifest",
    "recommended by the program",
    "inferred by a person",
    "to be written by a person",
];

/// On what ground a claim stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Label {
    /// It was run.
    Run,
    /// It was not run.
    NotRun,
    /// It was measured on this device.
    Measured(String),
    /// It was read in upstream's text at a commit.
    Read(CommitId),
    /// It stands in the manifest.
    Manifest,
    /// The program draws it from the verdict: what to do, not what is.
    Recommended,
    /// A person concluded it.
    Inferred,
    /// A person is to write it, and has not yet.
    ToWrite,
    /// This person reports it.
    Reported(String),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Run => f.write_str("[run]"),
            Label::NotRun => f.write_str("[not run]"),
            Label::Measured(on) => write!(f, "[measured on {}]", without_brackets(on)),
            Label::Read(commit) => write!(f, "[read at {commit}]"),
            Label::Manifest => f.write_str("[read in the manifest]"),
            Label::Recommended => f.write_str("[recommended by the program]"),
            Label::Inferred => f.write_str(INFERRED),
            Label::ToWrite => f.write_str(TO_WRITE),
            Label::Reported(by) => write!(f, "[reported by {}]", without_brackets(by)),
        }
    }
}

/// Text of others in a label: a bracket would end it.
fn without_brackets(text: &str) -> String {
    super::markdown::words(text).replace("\\[", "(").replace("\\]", ")")
}

/// Whether a text has a label.
fn has_label(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        rest = &rest[at + 1..];
        let Some(end) = rest.find(']') else { return false };
        let inner = &rest[..end];
        let is_one = FIXED.contains(&inner)
            || inner.strip_prefix("measured on ").is_some_and(|on| !on.trim().is_empty())
            || inner.strip_prefix("reported by ").is_some_and(|by| !by.trim().is_empty())
            || inner.strip_prefix("read at ").is_some_and(|at| CommitId::parse(at).is_ok());
        // `[run](x)` is a link.
        if is_one && !rest[end + 1..].starts_with('(') {
            return true;
        }
    }
    false
}

/// A claim without a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unlabelled {
    /// Its first line, from 1.
    pub line: usize,
    /// How it begins.
    pub text: String,
}

/// The claims of a report that have no label.
#[must_use]
pub fn unlabelled(report: &str) -> Vec<Unlabelled> {
    let mut found = Vec::new();
    let mut covered = false;
    let blocks = blocks(report);
    let mut person: Option<bool> = None;
    for block in &blocks {
        let first = block.lines.first().copied().unwrap_or_default();
        match block.kind {
            Kind::Heading => covered = false,
            Kind::Comment => {
                if first.starts_with(sections::opening("").trim_end_matches(" -->")) {
                    person = Some(covered);
                } else if first.starts_with(sections::closing("").trim_end_matches(" -->")) {
                    person = None;
                    covered = false;
                } else if first.starts_with(super::facts::OPEN.trim_end()) {
                    break;
                }
            }
            Kind::Claim => {
                let text = block.lines.join(" ");
                let labelled = has_label(&text);
                let is_todo = text.trim_start_matches(['-', '*', ' ']).starts_with(TODO);
                if !labelled && !is_todo && person != Some(true) {
                    found.push(Unlabelled { line: block.line, text: first.chars().take(60).collect() });
                }
                covered = labelled || is_todo;
            }
            // The label before it covers one.
            Kind::Block => {
                if !covered && person != Some(true) {
                    found.push(Unlabelled { line: block.line, text: first.chars().take(60).collect() });
                }
                covered = false;
            }
        }
    }
    found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Heading,
    Comment,
    /// A paragraph or an item of a list.
    Claim,
    /// A table or a fenced block.
    Block,
}

struct Block<'t> {
    kind: Kind,
    line: usize,
    lines: Vec<&'t str>,
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    let mut go_on = false;
    while at < lines.len() {
        let line = lines[at];
        let trimmed = line.trim_start();
        let mut take = |kind, count: usize| {
            let end = (at + count).min(lines.len());
            blocks.push(Block { kind, line: at + 1, lines: lines[at..end].to_vec() });
            count
        };
        let mut paragraph = false;
        at += if trimmed.is_empty() {
            1
        } else if let Some(fence) = fence_of(trimmed) {
            let end = lines[at + 1..].iter().position(|line| closes(line, fence));
            take(Kind::Block, end.map_or(lines.len() - at, |end| end + 2))
        } else if line.starts_with("<!--") {
            let end = lines[at..].iter().position(|line| line.contains("-->"));
            take(Kind::Comment, end.map_or(lines.len() - at, |end| end + 1))
        } else if line.starts_with('#') {
            take(Kind::Heading, 1)
        } else if trimmed.starts_with('|') {
            let rows = lines[at..].iter().take_while(|line| line.trim_start().starts_with('|')).count();
            take(Kind::Block, rows)
        } else {
            paragraph = true;
            let is_item = ["- ", "* ", "+ "].iter().any(|start| trimmed.starts_with(start));
            match blocks.last_mut() {
                Some(last) if go_on && !is_item && last.kind == Kind::Claim => last.lines.push(line),
                _ => {
                    blocks.push(Block { kind: Kind::Claim, line: at + 1, lines: vec![line] });
                }
            }
            1
        };
        go_on = paragraph;
    }
    blocks
}

/// The fence that a line opens.
fn fence_of(line: &str) -> Option<&str> {
    ['`', '~'].into_iter().find_map(|sign| {
        let count = line.chars().take_while(|&c| c == sign).count();
        (count >= 3).then(|| &line[..count])
    })
}

fn closes(line: &str, fence: &str) -> bool {
    let line = line.trim();
    line.starts_with(fence) && line.chars().all(|c| fence.starts_with(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        unlabelled(text).iter().map(|claim| claim.line).collect()
    }

    #[test]
    fn each_claim_has_a_label_of_its_own() {
        let commit = CommitId::from_bytes([1; 20]);
        let text = format!("# Title\n\nOne\ntwo. [run]\n\n- a [measured on x]\n- b [read at {commit}]\n");
        assert_eq!(lines(&text), [] as [usize; 0]);
        assert_eq!(lines(&text.replace("[run]", "")), [3]);
        assert_eq!(lines(&text.replace("[measured on x]", "[measured on ]")), [6]);
        assert_eq!(lines(&text.replace(&commit.to_string(), "HEAD")), [7]);
        assert_eq!(lines("[run](http://x)\n"), [1]);
    }

    #[test]
    fn a_label_covers_the_table_or_the_block_below_it_and_no_more() {
        let table = "| a |\n| --- |\n| 1 |\n";
        assert_eq!(lines(&format!("Figures: [run]\n\n{table}\n")), [] as [usize; 0]);
        assert_eq!(lines(table), [1]);
        assert_eq!(lines(&format!("Figures: [run]\n\n{table}\n{table}")), [7]);
        assert_eq!(lines("# x\n\n```\nwhatever\n\nit [run]\n```\n"), [3]);
        assert_eq!(lines("Quote: [run]\n\n````\n```\n````\n"), [] as [usize; 0]);
    }

    #[test]
    fn every_label_is_known_to_the_check() {
        let commit = CommitId::from_bytes([1; 20]);
        let all = [
            Label::Run,
            Label::NotRun,
            Label::Measured("x [y]".to_owned()),
            Label::Read(commit),
            Label::Manifest,
            Label::Recommended,
            Label::Inferred,
            Label::ToWrite,
            Label::Reported("Ada".to_owned()),
        ];
        for label in all {
            assert_eq!(lines(&format!("It is so. {label}\n")), [] as [usize; 0], "{label}");
        }
        assert_eq!(lines("It is so. [said by the program]\n"), [1]);
    }

    #[test]
    fn what_a_person_writes_stands_under_the_label_before_it() {
        let person = |label: &str| {
            format!(
                "## Cause\n\nBelow: {label}\n\n{}\nIt is so.\n\nAnd so.\n{}\n",
                sections::opening("c"),
                sections::closing("c")
            )
        };
        assert_eq!(lines(&person("[inferred by a person]")), [] as [usize; 0]);
        assert_eq!(lines(&person("")), [3, 6, 8]);
        // After it nothing is covered any more.
        assert_eq!(lines(&format!("{}\nAnd more.\n", person("[inferred by a person]"))), [11]);
        assert_eq!(lines("TODO: say why\n"), [] as [usize; 0]);
    }
}
