//! `[[overlay]]`: one named change.

use std::collections::BTreeMap;
use std::path::PathBuf;

use toml::de::DeValue;

use super::problems::Problems;
use super::table::{Field, Table};
use super::typed::{as_table, read_text, report_type};
use super::value::{
    COMMIT, CONDITION, Kind as TextKind, NAME, PATCH, PATH, TEXT, UPSTREAM_GLOB, UPSTREAM_PATH, WORD, choice,
};
use super::{Accepted, DropWhen, Kind, Located, Overlay, UpstreamStatus, Witness};
use crate::diagnostic::Diagnostic;
use crate::id::Name;
use crate::lex::Delta;

/// Where content can come from: the keys of which an overlay has exactly one.
const KINDS: [&str; 4] = ["files", "patch", "from", "delete"];

const CLAIM: TextKind<Delta> = TextKind {
    expected: "a claim",
    plural: "claims",
    example: "\"comments\"",
    parse: |text| {
        choice(
            text,
            &[
                ("identical", Delta::Identical),
                ("whitespace", Delta::Whitespace),
                ("comments", Delta::Comments),
                ("code", Delta::Code),
            ],
        )
    },
};

const UPSTREAM_STATUS: TextKind<UpstreamStatus> = TextKind {
    expected: "a status",
    plural: "statuses",
    example: "\"submitted\"",
    parse: |text| choice(text, &UpstreamStatus::WORDS),
};

/// An overlay, and whether it says that it is active.
pub(super) struct Draft {
    overlay: Overlay,
    active: Option<bool>,
}

/// The overlays, with what they leave unsaid about rivals: a group of one needs no word about it, and in a
/// larger group who does not say that it is active is not.
pub(super) fn settle(drafts: Vec<Draft>) -> Vec<Overlay> {
    let mut sizes: BTreeMap<Name, usize> = BTreeMap::new();
    for group in drafts.iter().filter_map(|draft| draft.overlay.rivals.as_ref()) {
        *sizes.entry(group.value.clone()).or_default() += 1;
    }
    let settle = |Draft { mut overlay, active }| {
        let is_alone = overlay.rivals.as_ref().is_none_or(|group| sizes.get(&group.value) == Some(&1));
        overlay.active = active.unwrap_or(is_alone);
        overlay
    };
    drafts.into_iter().map(settle).collect()
}

/// Reads one `[[overlay]]`; `None` if it has no usable name.
pub(super) fn read(mut table: Table<'_>, problems: &mut Problems) -> Option<Draft> {
    let name = table.need("name", &NAME, problems);
    if let Some(name) = &name {
        table.title = format!("overlay `{}`", name.as_str());
    }
    let reason = table.one("reason", &TEXT, problems);
    let base = table.one("base", &COMMIT, problems);
    let kind = kind(&mut table, problems);
    let when = table.set("when", &CONDITION, problems);
    let claim = table.one("claim", &CLAIM, problems);
    let needs = table.set("needs", &NAME, problems);
    let rivals = table.one("rivals", &NAME, problems);
    let active = table.flag("active", problems);
    if let (Some(active), false) = (&active, table.key_span("rivals").is_some()) {
        let place = problems.place(active.span.clone(), "which one is active is a question among rivals");
        problems.report(
            Diagnostic::error("rivals", format!("{} has `active` and no `rivals`", table.title))
                .at(place)
                .hint("to switch an overlay off, use `when` with a feature; or add rivals = \"<group>\""),
        );
    }
    let tests = table.set("tests", &NAME, problems);
    let witness = witness(&mut table, problems);
    let devices = table.set("devices", &WORD, problems);
    let issue = table.one("issue", &TEXT, problems);
    let pull_request = table.one("pull-request", &TEXT, problems);
    let author = table.one("author", &TEXT, problems);
    let forwarded = table.one("forwarded", &TEXT, problems);
    let upstream_status = table.one("upstream-status", &UPSTREAM_STATUS, problems);
    let report = table.one("report", &PATH, problems);
    let drop_when = drop_when(&mut table, problems);
    let accepted = accepted(&mut table, problems);
    if let Some(Located { value: DropWhen::TestsPassWithout, span }) = &drop_when
        && table.key_span("tests").is_none()
    {
        let place = problems.place(span.clone(), "which tests?");
        problems.report_absent(
            Diagnostic::error("missing-key", format!("{} waits for tests and has no `tests`", table.title))
                .at(place)
                .hint("add tests = [\"...\"] with the tests that see what it does"),
        );
    }
    let span = table.span.clone();
    table.finish(problems);

    let active = active.map(|active| active.value);
    let overlay = Overlay {
        name: name?,
        span,
        reason,
        base,
        // The manifest is refused then; the name must still be known to the checks of references.
        kind: kind.unwrap_or_else(|| Kind::Delete(Vec::new())),
        when,
        claim,
        needs,
        rivals,
        active: active.unwrap_or(true),
        tests,
        witness,
        devices,
        issue,
        pull_request,
        author,
        forwarded,
        upstream_status,
        report,
        drop_when,
        accepted,
    };
    Some(Draft { overlay, active })
}

fn kind(table: &mut Table<'_>, problems: &mut Problems) -> Option<Kind> {
    let files = table.key_span("files").map(|_| table.set("files", &UPSTREAM_GLOB, problems));
    let patch = table.one("patch", &PATCH, problems);
    let from = table.field("from").and_then(|field| from(table, field, problems));
    let delete = table.key_span("delete").map(|_| table.set("delete", &UPSTREAM_PATH, problems));
    // Known keys even when they are not there.
    for key in ["files", "delete"] {
        table.field(key);
    }

    let mut given: Vec<_> = KINDS.iter().filter_map(|key| Some((*key, table.key_span(key)?))).collect();
    given.sort_by_key(|(_, span)| span.start);
    match given.as_slice() {
        [] => {
            let place = problems.place(table.name_span(), "where does its content come from?");
            problems.report_absent(
                Diagnostic::error("kind", format!("{} has no content", table.title))
                    .at(place)
                    .note("`files` are whole files of ours, `patch` is a diff, `from` takes from an upstream commit, `delete` removes paths")
                    .hint("add one of `files`, `patch`, `from` and `delete`"),
            );
        }
        [_] => {}
        [(first, first_span), others @ ..] => {
            for (other, span) in others {
                let places = (
                    problems.place(span.clone(), "a second source of content"),
                    problems.place(first_span.clone(), "the first one"),
                );
                problems.report(
                    Diagnostic::error("kind", format!("{} has both `{first}` and `{other}`", table.title))
                        .at(places.0)
                        .and(places.1)
                        .hint("keep one of them, or make two overlays"),
                );
            }
        }
    }
    files.map(Kind::Files).or(patch.map(Kind::Patch)).or(from).or(delete.map(Kind::Delete))
}

fn from(overlay: &Table<'_>, field: Field<'_>, problems: &mut Problems) -> Option<Kind> {
    let title = format!("`from` of {}", overlay.title);
    if !field.value.get_ref().is_table() {
        report_type(&title, field.value, "a table", problems, |diagnostic| {
            diagnostic.hint(
                "write from = { commits = [\"<full id>\"] }, or from = { commit = \"<full id>\", paths = [\"...\"] }",
            )
        });
        return None;
    }
    let mut table = as_table(title, field.value, problems)?;
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

fn witness(overlay: &mut Table<'_>, problems: &mut Problems) -> Option<Located<Witness>> {
    let field = overlay.field("witness")?;
    let what = format!("`witness` of {}", overlay.title);
    let span = field.value.span();
    match field.value.get_ref() {
        DeValue::String(_) => {
            let commit = read_text(&what, field.value, &COMMIT, problems)?;
            Some(Located { value: Witness::Commit(commit.value), span })
        }
        DeValue::Table(_) => {
            let mut table = as_table(what, field.value, problems)?;
            if let (Some(commit), None) = (table.key_span("commit"), table.key_span("patch")) {
                let place = problems.place(commit, "a commit stands alone");
                problems.report(
                    Diagnostic::error("wrong-type", format!("{} is a table with a commit", table.title))
                        .at(place)
                        .hint("write witness = \"<full id>\""),
                );
                return None;
            }
            let patch: Option<Located<PathBuf>> = table.need("patch", &PATCH, problems);
            table.finish(problems);
            Some(Located { value: Witness::Patch(patch?.value), span })
        }
        _ => {
            report_type(
                &what,
                field.value,
                "a full commit id in quotes, or { patch = \"...\" }",
                problems,
                |d| d,
            );
            None
        }
    }
}

fn accepted(overlay: &mut Table<'_>, problems: &mut Problems) -> Option<Accepted> {
    let field = overlay.field("accepted")?;
    let title = format!("`accepted` of {}", overlay.title);
    if !field.value.get_ref().is_table() {
        report_type(&title, field.value, "a table", problems, |diagnostic| {
            diagnostic.hint("let the program write it: overlaid accept OVERLAY --reason TEXT")
        });
        return None;
    }
    let mut table = as_table(title, field.value, problems)?;
    let pin = table.need("pin", &COMMIT, problems);
    let content = table.need("content", &WORD, problems);
    let reason = table.need("reason", &TEXT, problems);
    table.finish(problems);
    Some(Accepted { pin: pin?, content: content?, reason: reason? })
}

fn drop_when(overlay: &mut Table<'_>, problems: &mut Problems) -> Option<Located<DropWhen>> {
    const CONDITIONS: [&str; 3] = ["pin-contains", "tests-pass-without", "attested"];
    const HINT: &str = "write drop-when = { pin-contains = \"<full id>\" }, { tests-pass-without = true } or { attested = \"...\" }";
    let field = overlay.field("drop-when")?;
    let title = format!("`drop-when` of {}", overlay.title);
    if !field.value.get_ref().is_table() {
        report_type(&title, field.value, "a table", problems, |diagnostic| diagnostic.hint(HINT));
        return None;
    }
    let mut table = as_table(title, field.value, problems)?;
    let contains = table.one("pin-contains", &COMMIT, problems);
    let pass = table.flag("tests-pass-without", problems);
    let attested = table.one("attested", &TEXT, problems);
    if let Some(pass) = pass.as_ref().filter(|pass| !pass.value) {
        let place = problems.place(pass.span.clone(), "this is no condition");
        problems.report(
            Diagnostic::error("bad-value", format!("`tests-pass-without` in {} is false", table.title))
                .at(place)
                .hint("write true, or remove `drop-when`"),
        );
    }
    let given = CONDITIONS.iter().filter(|key| table.key_span(key).is_some()).count();
    if given != 1 {
        let (message, label) = match given {
            0 => ("has no condition", "when?"),
            _ => ("has several conditions", "exactly one is expected"),
        };
        let place = problems.place(table.span.clone(), label);
        let diagnostic = Diagnostic::error("kind", format!("{} {message}", table.title)).at(place).hint(HINT);
        if given == 0 { problems.report_absent(diagnostic) } else { problems.report(diagnostic) }
    }
    let span = table.span.clone();
    table.finish(problems);
    let pass = pass.filter(|pass| pass.value);
    let value = match (contains, pass, attested) {
        (Some(commit), ..) => DropWhen::PinContains(commit.value),
        (_, Some(_), _) => DropWhen::TestsPassWithout,
        (.., Some(text)) => DropWhen::Attested(text.value),
        _ => return None,
    };
    Some(Located { value, span })
}
