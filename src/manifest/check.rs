//! `[[check]]`: a lint of overlay files.

use super::Check;
use super::problems::Problems;
use super::table::Table;
use super::value::{NAME, PATTERN, UPSTREAM_GLOB};

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
