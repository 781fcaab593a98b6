//! What a state, a verdict or a code of a finding means, with an example and what to do.
//!
//! The tables of the manuals are the only place where meanings stand: this reads them as they are compiled in, so the
//! program and the manuals cannot disagree. Examples, and what to do about states, stand below.

/// The manuals with tables of words.
const MANUALS: [(&str, &str); 3] = [
    ("findings.md", include_str!("../../docs/findings.md")),
    ("states.md", include_str!("../../docs/states.md")),
    ("verdicts.md", include_str!("../../docs/verdicts.md")),
];

/// What is known of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The word.
    pub word: String,
    /// `finding`, `state`, `verdict`, `note`, `reason`.
    pub kind: &'static str,
    /// What it means.
    pub meaning: String,
    /// An example.
    pub example: Option<&'static str>,
    /// What to do.
    pub to_do: Option<String>,
    /// Where more about it stands.
    pub manual: &'static str,
}

/// What an example and advice add to the row of a manual: word, example, what to do.
const MORE: [(&str, &str, &str); 20] = [
    (
        "unknown",
        "the clone is shallow, and the base is not in it",
        "get what the message says is missing, or write the base into the manifest",
    ),
    (
        "renamed",
        "upstream moved src/norm.cu to src/kernels/norm.cu",
        "move the overlay to the new path, and set `base` to the pin",
    ),
    (
        "gone",
        "upstream removed src/norm.cu: the kernel is in another file now, or nowhere",
        "find out where upstream does this now; then drop the overlay or write it anew there",
    ),
    (
        "redundant",
        "the overlay held a file for a fix, and upstream has the same fix by now",
        "overlaid prove OVERLAY, then drop it",
    ),
    (
        "collides",
        "we added src/l2_norm.cu, and upstream has one of its own by now",
        "compare the two: overlaid diff OVERLAY --against pin",
    ),
    ("new", "we added src/l2_norm.cu, and upstream has none", "nothing"),
    (
        "rollback",
        "we hold a file as it was a year ago; three fixes came after that, and the tree has none of them",
        "see what it undoes: overlaid status OVERLAY; drop it, or put the change on the pin's file; if it is meant: overlaid accept OVERLAY --reason TEXT",
    ),
    (
        "backport",
        "we took a fix from upstream's main branch that is newer than the pin",
        "nothing; it goes when the pin moves there",
    ),
    (
        "absorbed",
        "we patched a line, and upstream took that patch and more",
        "overlaid prove OVERLAY, then drop it",
    ),
    (
        "stale-conflict",
        "our patch changes lines that upstream has rewritten",
        "make the patch anew on the pin, and set `base` to the pin: overlaid bump helps",
    ),
    (
        "stale-clean",
        "upstream changed another function of the file that we patch",
        "nothing for a patch; a whole file undoes that work: merge it, and set `base` to the pin",
    ),
    ("fresh", "base and pin have the same content at this path", "nothing"),
    (
        "needed",
        "cases fail without the overlay and pass with it",
        "keep it, and tell upstream: overlaid report OVERLAY",
    ),
    ("harmful", "the workaround is worse than what upstream has by now", "drop it: overlaid drop OVERLAY"),
    (
        "mixed",
        "it mends long rows and breaks short ones",
        "look at the cells: overlaid prove OVERLAY --verbose; mend the overlay, or decide",
    ),
    ("ineffective", "the case that it is there for fails with it, too", "mend the overlay, or drop it"),
    (
        "droppable",
        "upstream mended the fault in another way, and all cases pass without the overlay",
        "drop it: overlaid drop OVERLAY",
    ),
    (
        "unproven",
        "all cases pass on all variants: no test has ever seen the fault",
        "write a test that sees it, or name a `witness`; or decide without",
    ),
    (
        "inconclusive",
        "the GPU that the profile requires is not in this machine",
        "the reasons say what is missing; then overlaid prove OVERLAY",
    ),
    (
        "tree-content",
        "somebody edited a file in the tree by hand",
        "make an overlay of the edit, or remove the file; then overlaid apply",
    ),
];

/// What is known of a word; findings come after states and verdicts of the same name.
#[must_use]
pub fn lookup(word: &str) -> Option<Explanation> {
    all().into_iter().filter(|found| found.word == word).max_by_key(|found| found.kind != "finding")
}

/// All meanings of a word: `redundant` is a state, a verdict and a finding.
#[must_use]
pub fn meanings(word: &str) -> Vec<Explanation> {
    all().into_iter().filter(|found| found.word == word).collect()
}

/// All words that can be explained, each once.
#[must_use]
pub fn words() -> Vec<String> {
    let mut words: Vec<String> = all().into_iter().map(|found| found.word).collect();
    words.sort();
    words.dedup();
    words
}

fn all() -> Vec<Explanation> {
    MANUALS.iter().flat_map(|(file, text)| rows(file, text)).collect()
}

/// The rows of the tables whose first column is a word.
fn rows(manual: &'static str, text: &str) -> Vec<Explanation> {
    let mut found = Vec::new();
    let mut heading: Vec<String> = Vec::new();
    for line in text.lines() {
        let Some(cells) = cells(line) else {
            heading.clear();
            continue;
        };
        if heading.is_empty() {
            heading = cells;
            continue;
        }
        let kind = match heading.first().map(String::as_str) {
            Some("state") => "state",
            Some("verdict") => "verdict",
            Some("note") => "note",
            Some("code") if manual == "findings.md" => "finding",
            Some("code") => "reason",
            _ => continue,
        };
        let Some((first, rest)) = cells.split_first() else { continue };
        if first.starts_with("---") {
            continue;
        }
        let column = |names: &[&str]| {
            let at = heading.iter().position(|name| names.contains(&name.as_str()))?;
            rest.get(at.checked_sub(1)?).cloned()
        };
        let Some(meaning) = column(&["what it means", "meaning", "when", "at the pin", "says"]) else {
            continue;
        };
        let advice = column(&["what to do"]);
        for word in first.split(", ").map(|word| word.trim_matches('`').to_owned()) {
            let more = MORE.iter().find(|(of, ..)| *of == word);
            found.push(Explanation {
                kind,
                meaning: plain(&meaning),
                example: more.map(|(_, example, _)| *example),
                to_do: advice
                    .clone()
                    .map(|advice| plain(&advice))
                    .or_else(|| more.map(|(.., to_do)| (*to_do).to_owned())),
                manual,
                word,
            });
        }
    }
    found
}

/// The cells of a line of a Markdown table.
fn cells(line: &str) -> Option<Vec<String>> {
    let line = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let line = line.replace("\\|", "\u{1}");
    Some(line.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect())
}

/// Markdown without links and emphasis; words in backticks stay in them.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        match after.split_once("](").and_then(|(name, tail)| Some((name, tail.split_once(')')?.1))) {
            Some((name, tail)) => {
                out.push_str(name);
                rest = tail;
            }
            None => {
                out.push('[');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out.replace("**", "").replace('*', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::State;
    use crate::verdict::Verdict;

    #[test]
    fn every_state_and_verdict_is_explained_with_an_example_and_advice() {
        for word in State::ALL.map(State::as_str) {
            let found = meanings(word).into_iter().find(|found| found.kind == "state");
            let found = found.unwrap_or_else(|| panic!("{word} is no state of docs/states.md"));
            assert!(found.example.is_some() && found.to_do.is_some(), "{word}");
        }
        for word in Verdict::ALL.map(Verdict::as_str) {
            let found = meanings(word).into_iter().find(|found| found.kind == "verdict");
            let found = found.unwrap_or_else(|| panic!("{word} is no verdict of docs/verdicts.md"));
            assert!(found.example.is_some() && found.to_do.is_some(), "{word}");
        }
    }

    #[test]
    fn examples_are_of_words_that_the_manuals_have() {
        for (word, ..) in MORE {
            assert!(lookup(word).is_some(), "{word}");
        }
    }

    #[test]
    fn markdown_is_told_as_text() {
        assert_eq!(plain("see [the lock](lock.md), **now**, `x`"), "see the lock, now, `x`");
        assert_eq!(cells(r"| `a` | b \| c |"), Some(vec!["`a`".to_owned(), "b | c".to_owned()]));
    }
}
