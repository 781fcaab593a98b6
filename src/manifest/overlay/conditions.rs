//! `witness`, `accepted` and `drop-when`: where the fault shows, that a state is meant, when the overlay can go.

use std::path::PathBuf;

use toml::de::DeValue;

use super::super::keys::{Keys, NONE, REQUIRED, Shape, key, one};
use super::super::problems::Problems;
use super::super::table::Table;
use super::super::typed::{as_table, read_text, report_type};
use super::super::value::{COMMIT, PATCH, TEXT, WORD};
use super::super::{Accepted, DropWhen, Located, Witness};
use crate::diagnostic::Diagnostic;

/// What `witness` can have, where it is a table.
pub(in crate::manifest) const WITNESS: Keys = Keys {
    header: "witness",
    keys: Some(&[key(
        "patch",
        one(&PATCH),
        REQUIRED,
        "A patch that plants the fault into the pin, relative to the folder of overlay files.",
    )]),
};

/// What `drop-when` can have.
pub(in crate::manifest) const DROP_WHEN: Keys = Keys {
    header: "drop-when",
    keys: Some(&[
        key("pin-contains", one(&COMMIT), NONE, "The pin has this commit in its history."),
        key(
            "tests-pass-without",
            Shape::Flag,
            NONE,
            "Must be `true`: the tests of the overlay pass without it.",
        ),
        key(
            "attested",
            one(&TEXT),
            NONE,
            "Somebody says so for this, for example a model that cannot be run here.",
        ),
    ]),
};

/// What `accepted` can have.
pub(in crate::manifest) const ACCEPTED: Keys = Keys {
    header: "accepted",
    keys: Some(&[
        key("pin", one(&COMMIT), REQUIRED, "The pin at that time."),
        key("content", one(&WORD), REQUIRED, "A hash of what the overlay and the upstream had at that time."),
        key("reason", one(&TEXT), REQUIRED, "Why the state is meant."),
    ]),
};

/// Reads `witness`.
pub(super) fn witness(overlay: &mut Table<'_>, problems: &mut Problems) -> Option<Located<Witness>> {
    let field = overlay.mixed("witness")?;
    let what = format!("`witness` of {}", overlay.title);
    let span = field.value.span();
    match field.value.get_ref() {
        DeValue::String(_) => {
            let commit = read_text(&what, field.value, &COMMIT, problems)?;
            Some(Located { value: Witness::Commit(commit.value), span })
        }
        DeValue::Table(_) => {
            let mut table = as_table(what, &WITNESS, field.value, problems)?;
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

/// Reads `accepted`.
pub(super) fn accepted(overlay: &mut Table<'_>, problems: &mut Problems) -> Option<Accepted> {
    let field = overlay.mixed("accepted")?;
    let title = format!("`accepted` of {}", overlay.title);
    if !field.value.get_ref().is_table() {
        report_type(&title, field.value, "a table", problems, |diagnostic| {
            diagnostic.hint("let the program write it: overlaid accept OVERLAY --reason TEXT")
        });
        return None;
    }
    let mut table = as_table(title, &ACCEPTED, field.value, problems)?;
    let pin = table.need("pin", &COMMIT, problems);
    let content = table.need("content", &WORD, problems);
    let reason = table.need("reason", &TEXT, problems);
    table.finish(problems);
    Some(Accepted { pin: pin?, content: content?, reason: reason? })
}

/// Reads `drop-when`.
pub(super) fn drop_when(overlay: &mut Table<'_>, problems: &mut Problems) -> Option<Located<DropWhen>> {
    const CONDITIONS: [&str; 3] = ["pin-contains", "tests-pass-without", "attested"];
    const HINT: &str = "write drop-when = { pin-contains = \"<full id>\" }, { tests-pass-without = true } or { attested = \"...\" }";
    let field = overlay.mixed("drop-when")?;
    let title = format!("`drop-when` of {}", overlay.title);
    if !field.value.get_ref().is_table() {
        report_type(&title, field.value, "a table", problems, |diagnostic| diagnostic.hint(HINT));
        return None;
    }
    let mut table = as_table(title, &DROP_WHEN, field.value, problems)?;
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
