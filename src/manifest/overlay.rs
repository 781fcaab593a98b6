//! `[[overlay]]`: one named change.

mod conditions;
mod from;

use super::keys::{Default, Keys, NONE, REQUIRED, Shape, key, list, one};
use super::problems::Problems;
use super::table::Table;
use super::value::{
    COMMIT, CONDITION, Kind as TextKind, NAME, PATCH, PATH, TEXT, UPSTREAM_GLOB, UPSTREAM_PATH, WORD, choice,
};
use super::{DropWhen, Kind, Located, Overlay, UpstreamStatus};
use crate::diagnostic::Diagnostic;
use crate::id::Name;
use crate::lex::Delta;
use crate::sorted::{SortedMap, sort_by_number};

pub(super) use conditions::{ACCEPTED, DROP_WHEN, WITNESS};
use conditions::{accepted, drop_when, witness};
pub(super) use from::FROM;

/// Where content can come from: the keys of which an overlay has exactly one.
const KINDS: [&str; 4] = ["files", "patch", "from", "delete"];

const CLAIMS: [(&str, Delta); 4] = [
    ("identical", Delta::Identical),
    ("whitespace", Delta::Whitespace),
    ("comments", Delta::Comments),
    ("code", Delta::Code),
];

const CLAIM: TextKind<Delta> = TextKind {
    word: "word",
    words: "words",
    expected: "a claim",
    plural: "claims",
    example: "\"comments\"",
    parse: |text| choice(text, &CLAIMS),
};

const UPSTREAM_STATUS: TextKind<UpstreamStatus> = TextKind {
    word: "word",
    words: "words",
    expected: "a status",
    plural: "statuses",
    example: "\"submitted\"",
    parse: |text| choice(text, &UpstreamStatus::WORDS),
};

/// What `[[overlay]]` can have.
pub(super) const KEYS: Keys = Keys {
    header: "[[overlay]]",
    keys: Some(&[
        key("name", one(&NAME), REQUIRED, "Unique among the overlays."),
        key("reason", one(&TEXT), NONE, "Why we carry it."),
        key(
            "base",
            one(&COMMIT),
            NONE,
            "The upstream commit that it was derived from. Without it `verify` has an error, `base-missing`, for new files and deletions, too: what an overlay undoes cannot be said without it. For a new overlay it is the pin.",
        ),
        key("files", list(&UPSTREAM_GLOB), NONE, "Whole files from the folder of overlay files."),
        key("patch", one(&PATCH), NONE, "A diff in git's format, relative to the folder of overlay files."),
        key("from", Shape::Table, NONE, "Content of an upstream commit; see below."),
        key("delete", list(&UPSTREAM_PATH), NONE, "Files that go away."),
        key(
            "when",
            list(&CONDITION),
            Default::Said("always"),
            "All of these must hold: `\"cuda\"` is on, `\"!rocm\"` is off.",
        ),
        key(
            "claim",
            one(&CLAIM),
            NONE,
            "The most that it changes against its base: `identical`, `whitespace`, `comments` or `code`. `verify` checks it.",
        ),
        key(
            "needs",
            list(&NAME),
            NONE,
            "Overlays without which this one makes no sense. They must be able to be on together with it.",
        ),
        key("rivals", one(&NAME), NONE, "A group of alternatives. One of them is applied."),
        key("active", Shape::Flag, Default::Said("see below"), "Whether this one of its rivals is applied."),
        key("tests", list(&NAME), NONE, "The tests that see what it does."),
        key(
            "witness",
            Shape::Mixed("commit or table"),
            NONE,
            "Where the fault shows without it: a commit, or `{ patch = \"...\" }`, a patch (relative to the folder of overlay files) that plants the fault into the pin. `prove` writes it.",
        ),
        key("devices", list(&WORD), NONE, "Devices that evidence must cover before it can be dropped."),
        key("issue", one(&TEXT), NONE, "A link to the upstream's issue."),
        key("pull-request", one(&TEXT), NONE, "A link to the upstream's pull request."),
        key("author", one(&TEXT), NONE, "Who made the change."),
        key(
            "forwarded",
            one(&TEXT),
            NONE,
            "Where it was sent to the upstream: a link, or what its author says about that.",
        ),
        key(
            "upstream-status",
            one(&UPSTREAM_STATUS),
            NONE,
            "How the upstream stands to it: `unknown`, `pending` (not sent), `submitted`, `denied`, `inappropriate` (not for the upstream), `backport` (comes from the upstream), `applied`. `import` writes `unknown` where a patch's headers say something without evidence, and nothing where they say nothing.",
        ),
        key("report", one(&PATH), NONE, "Our report."),
        key("drop-when", Shape::Table, NONE, "When it can go; see below."),
        key(
            "accepted",
            Shape::Table,
            NONE,
            "That its state is meant: `pin`, `content` and `reason`. `overlaid accept` writes it; see [bump.md](bump.md#a-state-that-is-meant).",
        ),
    ]),
};

/// An overlay, and whether it says that it is active.
pub(super) struct Draft {
    overlay: Overlay,
    active: Option<bool>,
}

/// The overlays, with what they leave unsaid about rivals: a group of one needs no word about it, and in a
/// larger group who does not say that it is active is not.
pub(super) fn settle(drafts: Vec<Draft>) -> Vec<Overlay> {
    let mut sizes: SortedMap<Name, usize> = SortedMap::new();
    for group in drafts.iter().filter_map(|draft| draft.overlay.rivals.as_ref()) {
        *sizes.get_or_insert(group.value.clone(), 0) += 1;
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
    let [has_files, has_delete] = ["files", "delete"].map(|key| table.key_span(key).is_some());
    let files = table.set("files", &UPSTREAM_GLOB, problems);
    let patch = table.one("patch", &PATCH, problems);
    let from = table.mixed("from").and_then(|field| from::read(table, field, problems));
    let delete = table.set("delete", &UPSTREAM_PATH, problems);
    let (files, delete) = (has_files.then_some(files), has_delete.then_some(delete));

    let mut given: Vec<_> = KINDS.iter().filter_map(|key| Some((*key, table.key_span(key)?))).collect();
    sort_by_number(&mut given, |(_, span)| span.start);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_has_every_word_that_is_read() {
        let says = |key: &str, word: &str| {
            let declared = KEYS.get(key).unwrap();
            assert!(declared.meaning.contains(&format!("`{word}`")), "{key}: {word}");
        };
        CLAIMS.iter().for_each(|(word, _)| says("claim", word));
        UpstreamStatus::WORDS.iter().for_each(|(word, _)| says("upstream-status", word));
    }
}
