//! `[[check]]`: a lint of overlay files.

use super::Check;
use super::keys::{Keys, REQUIRED, key, list, one};
use super::problems::Problems;
use super::table::Table;
use super::value::{NAME, PATTERN, UPSTREAM_GLOB};

/// What `[[check]]` can have.
pub(super) const KEYS: Keys = Keys {
    header: "[[check]]",
    keys: Some(&[
        key("name", one(&NAME), REQUIRED, "Unique among the checks."),
        key(
            "globs",
            list(&UPSTREAM_GLOB),
            REQUIRED,
            "Which overlay files it looks at, by their path in the upstream.",
        ),
        key("forbid", list(&PATTERN), REQUIRED, "What must not be found in them."),
    ]),
};

/// Reads one `[[check]]`.
pub(super) fn read(mut table: Table<'_>, problems: &mut Problems) -> Option<Check> {
    let name = table.need("name", &NAME, problems);
    if let Some(name) = &name {
        table.title = format!("check `{}`", name.as_str());
    }
    let globs = table.need_set("globs", &UPSTREAM_GLOB, problems);
    let forbid = table.need_set("forbid", &PATTERN, problems);
    table.finish(problems);
    Some(Check { name: name?, globs, forbid })
}
