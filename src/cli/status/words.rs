//! What is said of an overlay in few words, here and by other commands.

use std::collections::BTreeSet;

use crate::escape::for_terminal;
use crate::id::Name;
use crate::lex::Delta;
use crate::overlay::Loaded;
use crate::provenance::OverlayReport;
use crate::upstream::Commit;

/// What the overlay changes of its base: the worst delta of its paths, and how many lines.
#[must_use]
pub fn describe_change(report: &OverlayReport) -> String {
    let delta = report.paths.iter().map(|path| path.delta).collect::<Option<Vec<_>>>();
    let word = match delta.and_then(|deltas| deltas.into_iter().max()) {
        Some(Delta::Identical) => return "nothing".to_owned(),
        Some(delta) => delta.as_str(),
        None => "?",
    };
    let lines = report.paths.iter().map(|path| path.against_base).collect::<Option<Vec<_>>>();
    match lines {
        Some(lines) if !lines.is_empty() => {
            let (added, removed) = lines.iter().fold((0, 0), |sum, l| (sum.0 + l.0, sum.1 + l.1));
            format!("{word} +{added} -{removed}")
        }
        _ => word.to_owned(),
    }
}

/// How long ago that was.
#[must_use]
pub fn describe_age(seconds: i64) -> String {
    match seconds.max(0) {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

/// Why it is taken out, if it is: `stands back`, `off: needs cuda`.
#[must_use]
pub fn describe_activity(loaded: &Loaded, features: &BTreeSet<Name>, chosen: bool) -> String {
    if !loaded.overlay.active {
        return "stands back".to_owned();
    }
    let conditions = loaded.overlay.when.iter();
    let unmet: Vec<String> = conditions
        .filter(|c| features.contains(&c.feature) == c.negated)
        .map(|c| format!("{}{}", if c.negated { "!" } else { "" }, c.feature))
        .collect();
    match (unmet.is_empty(), chosen) {
        (true, _) => String::new(),
        (false, true) => format!("off: needs {}", unmet.join(", ")),
        (false, false) => format!("when {}", unmet.join(", ")),
    }
}

/// Id, date and subject of a commit, on one line.
#[must_use]
pub fn describe_commit(commit: &Commit) -> String {
    format!("{} {} {}", commit.id.short(), date(commit.committed), for_terminal(&commit.subject))
}

/// A day as `2026-01-31`, in UTC.
#[must_use]
pub fn date(seconds: i64) -> String {
    let format = gix::date::time::format::SHORT;
    gix::date::Time::new(seconds, 0).format_or_unix(format)
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(1_700_000_000), "2023-11-14");
        assert_eq!(date(-1), "1969-12-31");
    }
}
