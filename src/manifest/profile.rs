//! `[profile.NAME]`: how to build and where to run.

use super::keys::{FREE, Keys, NONE, Shape, key, list, one};
use super::problems::Problems;
use super::table::Table;
use super::typed::{as_table, read_text, report_type, report_wrong};
use super::value::{FOLDER, NAME, VARIABLE, WORD, Wrong};
use super::{Located, Profile};
use crate::diagnostic::quoted;
use crate::sorted::SortedMap;

/// What `[profile.NAME]` can have.
pub(super) const KEYS: Keys = Keys {
    header: "[profile.NAME]",
    keys: Some(&[
        key(
            "cmake",
            Shape::Table,
            NONE,
            "Cache variables for CMake. Switches are written as CMake does: `\"ON\"`, `\"OFF\"`.",
        ),
        key("targets", list(&WORD), NONE, "Targets of the upstream that `build` makes."),
        key("features", list(&NAME), NONE, "Features that it turns on. They must not exclude each other."),
        key("requires", one(&WORD), NONE, "What the machine must have, for example `\"cuda\"`."),
        key(
            "cache-env",
            list(&VARIABLE),
            NONE,
            "Environment variables that name folders of run-time compile caches. Each variant gets its own folders.",
        ),
        key(
            "python-path",
            list(&FOLDER),
            NONE,
            "Folders of the upstream from which Python imports; `.` is its top. Tests need no build then. See [below](#a-test-in-python).",
        ),
    ]),
};

/// Reads all of `[profile]`.
pub(super) fn read_all(mut table: Table<'_>, problems: &mut Problems) -> Vec<Profile> {
    let mut profiles = Vec::new();
    for (key, field) in table.all() {
        let title = format!("profile {}", quoted(key));
        let name = match (NAME.parse)(key) {
            Ok(name) => Some(Located { value: name, span: field.key_span.clone() }),
            Err(wrong) => {
                report_wrong(&title, wrong, field.key_span.clone(), problems);
                None
            }
        };
        if !field.value.get_ref().is_table() {
            report_type(&title, field.value, "a table", problems, |diagnostic| {
                diagnostic
                    .hint("a profile has a name of your choice: write the header as [profile.some-name]")
            });
        } else if let Some(table) = as_table(title, &KEYS, field.value, problems) {
            profiles.extend(read(name, table, problems));
        }
    }
    profiles
}

fn read(
    name: Option<Located<crate::id::Name>>,
    mut table: Table<'_>,
    problems: &mut Problems,
) -> Option<Profile> {
    let cmake = table.table("cmake", &FREE, problems).map(|cmake| variables(cmake, problems));
    let targets = table.set("targets", &WORD, problems);
    for target in &targets {
        refuse_option(&format!("a target of {}", table.title), target, problems);
    }
    let features = table.set("features", &NAME, problems);
    let requires = table.one("requires", &WORD, problems);
    let cache_env = table.set("cache-env", &VARIABLE, problems);
    let python_path = table.set("python-path", &FOLDER, problems);
    table.finish(problems);
    let cmake = cmake.unwrap_or_default();
    Some(Profile { name: name?, cmake, targets, features, requires, cache_env, python_path })
}

/// A word that CMake would take for an option.
pub(super) fn refuse_option(what: &str, word: &Located<String>, problems: &mut Problems) {
    if word.starts_with('-') {
        let wrong = Wrong::new("bad-value", "starts with `-`", "CMake would take this for an option");
        report_wrong(what, wrong, word.span.clone(), problems);
    }
}

fn variables(mut table: Table<'_>, problems: &mut Problems) -> SortedMap<String, String> {
    let mut variables = SortedMap::new();
    for (key, field) in table.all() {
        let what = format!("{} in {}", quoted(key), table.title);
        let is_name =
            !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.+/:".contains(&b));
        if !is_name {
            let wrong =
                Wrong::new("bad-name", "is not a CMake variable", "letters, digits, `_`, `.`, `+`, `/`, `:`");
            report_wrong(&what, wrong, field.key_span.clone(), problems);
        }
        if let toml::de::DeValue::Boolean(value) = field.value.get_ref() {
            let wrong = Wrong::new("wrong-type", "is true or false", "expected a text in quotes")
                .hint(format!("write it as CMake does: {key} = \"{}\"", if *value { "ON" } else { "OFF" }));
            report_wrong(&what, wrong, field.value.span(), problems);
            continue;
        }
        // Empty is a value, too: it unsets what a project sets by default.
        let any = super::value::Kind { parse: |text| Ok(text.to_owned()), ..WORD };
        if let Some(value) = read_text(&what, field.value, &any, problems) {
            variables.insert(key.to_owned(), value.value);
        }
    }
    variables
}
