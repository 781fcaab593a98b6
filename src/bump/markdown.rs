//! A plan as text for a pull request. Text of others stands in code spans, where it cannot link, mention or format.

use crate::escape::for_terminal;
use crate::id::Name;
use crate::provenance::{Neighbour, Side};
use crate::upstream::Commit;

use super::{Fate, Plan};

/// Commits of a path beyond this number are counted.
const NAMED: usize = 20;

/// The text, ending in a line break.
#[must_use]
pub fn markdown(plan: &Plan, upstream: &Name) -> String {
    let mut text = format!("### {}: `{}` to `{}`\n\n", code(upstream.as_str()), plan.from, plan.to);
    let counts: Vec<String> =
        plan.counts().iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    if counts.is_empty() {
        text.push_str("No overlays.\n");
        return text;
    }
    text.push_str(&format!("{}.\n\n", counts.join(", ")));
    text.push_str("| overlay | outcome | upstream commits |\n| --- | --- | ---: |\n");
    for overlay in &plan.overlays {
        let commits: std::collections::BTreeSet<_> =
            overlay.paths.iter().flat_map(|path| path.commits.iter().map(|commit| commit.id)).collect();
        text.push_str(&format!(
            "| {} | {} | {} |\n",
            cell(overlay.name.as_str()),
            overlay.outcome,
            commits.len()
        ));
    }
    for overlay in plan.overlays.iter().filter(|overlay| overlay.is_worth_telling()) {
        text.push_str(&format!("\n**{}**\n\n", code(overlay.name.as_str())));
        match &overlay.why {
            _ if overlay.fate == Fate::Dropped => text.push_str("- dropped: upstream has all of it\n"),
            Some(why) => text.push_str(&format!("- {}\n", code(why))),
            None => {}
        }
        for path in overlay.paths.iter().filter(|path| path.is_worth_telling()) {
            let to =
                path.to.as_ref().map(|(to, _)| format!(" to {}", code(&to.to_string()))).unwrap_or_default();
            text.push_str(&format!("- {}: {}{to}\n", code(&path.path.to_string()), path.outcome));
            if let Some(misfit) = &path.misfit
                && !misfit.places.is_empty()
            {
                text.push_str(&format!(
                    "  - in {} place{}\n",
                    misfit.places.len(),
                    plural(misfit.places.len())
                ));
            }
            for commit in path.commits.iter().take(NAMED) {
                text.push_str(&format!("  - {}\n", describe(commit)));
            }
            if path.commits.len() > NAMED {
                text.push_str(&format!("  - and {} more\n", path.commits.len() - NAMED));
            }
            for neighbour in &path.neighbours {
                text.push_str(&format!("  - {}\n", describe_neighbour(neighbour)));
            }
        }
    }
    text
}

/// The file, how it stands to the overlaid one, and the last commit on it.
fn describe_neighbour(neighbour: &Neighbour) -> String {
    let side = match neighbour.side {
        Side::Included => "included",
        Side::Including => "including it",
    };
    let (count, s) = (neighbour.count, plural(neighbour.count));
    let last = neighbour.commits.last().map(|commit| format!(", the last is {}", describe(commit)));
    let file = code(&neighbour.file.to_string());
    format!("beside it ({side}): {file}, {count} commit{s}{}", last.unwrap_or_default())
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn describe(commit: &Commit) -> String {
    format!("`{}` {}", commit.id.short(), code(&commit.subject.to_string()))
}

/// A code span: what is in it is shown as it is.
fn code(text: &str) -> String {
    let text = for_terminal(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// A code span in a table, in which a bar ends a cell even there.
fn cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn text_of_others_stays_in_its_span() {
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a `b` c"), "``a `b` c``");
        assert_eq!(code("``"), "``` `` ```");
        assert_eq!(code("@ada <img src=x> [l](u)\n# h"), "`@ada <img src=x> [l](u)\\n# h`");
    }
}
