//! `from`: content of an upstream commit.

use super::super::Kind;
use super::super::keys::{Default, Keys, NONE, key, list, one};
use super::super::problems::Problems;
use super::super::table::{Field, Table};
use super::super::typed::{as_table, report_type};
use super::super::value::{COMMIT, NAME, UPSTREAM_PATH};
use crate::diagnostic::Diagnostic;

/// What `from` can have.
pub(in crate::manifest) const FROM: Keys = Keys {
    header: "from",
    keys: Some(&[
        key(
            "commits",
            list(&COMMIT),
            NONE,
            "What these commits change, one after the other: a backport, or a pull request that is not merged.",
        ),
        key("commit", one(&COMMIT), NONE, "A commit from which `paths` are taken."),
        key(
            "paths",
            list(&UPSTREAM_PATH),
            Default::Said("required with `commit`"),
            "These are held back: they stay as they were at that commit. One that it does not have is deleted.",
        ),
        key(
            "remote",
            one(&NAME),
            Default::Said("the upstream"),
            "The `[[upstream.remote]]` that has the commits.",
        ),
    ]),
};

/// Reads it.
pub(super) fn read(overlay: &Table<'_>, field: Field<'_>, problems: &mut Problems) -> Option<Kind> {
    let title = format!("`from` of {}", overlay.title);
    if !field.value.get_ref().is_table() {
        report_type(&title, field.value, "a table", problems, |diagnostic| {
            diagnostic.hint(
                "write from = { commits = [\"<full id>\"] }, or from = { commit = \"<full id>\", paths = [\"...\"] }",
            )
        });
        return None;
    }
    let mut table = as_table(title, &FROM, field.value, problems)?;
    let commits = table.set("commits", &COMMIT, problems);
    let commit = table.one("commit", &COMMIT, problems);
    let paths = table.set("paths", &UPSTREAM_PATH, problems);
    let remote = table.one("remote", &NAME, problems);
    let [has_commits, has_commit, has_paths] = ["commits", "commit", "paths"].map(|key| table.key_span(key));
    let kind = match (has_commits, has_commit, has_paths) {
        (Some(commits), Some(commit), _) => {
            let places =
                (problems.place(commit, "takes paths as they were"), problems.place(commits, "cherry-picks"));
            problems.report(
                Diagnostic::error("kind", format!("{} has both `commits` and `commit`", table.title))
                    .at(places.0)
                    .and(places.1)
                    .hint("keep `commits` to apply what they change, or `commit` with `paths` to hold paths back"),
            );
            None
        }
        (Some(_), None, Some(paths)) => {
            let place = problems.place(paths, "a cherry-pick takes all that the commits change");
            problems.report(
                Diagnostic::error("kind", format!("{} has `paths` with `commits`", table.title))
                    .at(place)
                    .hint("remove `paths`; or write one `commit` instead of `commits` to hold paths back"),
            );
            None
        }
        (Some(_), None, None) => Some(Kind::Commits { commits, remote }),
        (None, Some(_), Some(_)) => commit.map(|commit| Kind::HeldBack { commit, paths, remote }),
        (None, Some(commit), None) => {
            let place = problems.place(commit, "which paths are taken from it?");
            problems.report_absent(
                Diagnostic::error("missing-key", format!("{} has `commit` and no `paths`", table.title))
                    .at(place)
                    .hint("add paths = [\"...\"] to hold them back; or write commits = [\"...\"] to cherry-pick"),
            );
            None
        }
        (None, None, _) => {
            let place = problems.place(table.span.clone(), "which commit?");
            problems.report_absent(
                Diagnostic::error(
                    "missing-key",
                    format!("{} has neither `commits` nor `commit`", table.title),
                )
                .at(place)
                .hint("add commits = [\"<full id>\"] to cherry-pick, or commit = \"<full id>\" with `paths`"),
            );
            None
        }
    };
    table.finish(problems);
    kind
}
