//! The manifest: TOML as written, then a validated model.
//!
//! [`parse`] decides whether a text is a manifest and says all that is wrong with it at once; [`edit`] changes
//! single values and keeps everything else as it was. Neither touches a file: what the manifest names may not
//! exist.
//!
//! A file per table: `upstream`, `features`, `overlay`, `check`, `profile`, `test`; `references` checks what
//! they say about each other. `table` reads keys, `typed` types, `value` texts; `problems` collects the messages.

mod check;
#[cfg(feature = "git")]
pub mod edit;
mod features;
pub mod keys;
mod model;
mod overlay;
pub mod pattern;
mod problems;
mod profile;
mod references;
mod syntax;
mod table;
mod test;
mod typed;
mod upstream;
mod value;

use std::path::Path;
use std::sync::Arc;

pub use features::{Contradiction, contradiction, nothing_names};
pub use model::*;
pub use value::parse_duration;

use crate::diagnostic::{Diagnostic, quoted};
use keys::{FREE, Keys, NONE, REQUIRED, Shape, key};
use problems::Problems;
use references::Tables;
use table::{TOP, Table};
use value::Wrong;

/// The largest manifest that is read, in bytes. Real ones are a thousand times smaller.
pub const LARGEST: usize = 4 * 1024 * 1024;
/// The version of the format that this program reads.
const VERSION: i64 = 1;

/// What `the top` can have.
pub(super) const KEYS: Keys = Keys {
    header: "the top",
    keys: Some(&[
        key("version", Shape::Count, REQUIRED, "1. The version of this format."),
        key("upstream", Shape::Table, REQUIRED, "The upstream and the pin."),
        key("locations", Shape::Table, NONE, "Where our own files are."),
        key("features", Shape::Table, NONE, "Which features exclude each other."),
        key("overlay", Shape::Tables, NONE, "What we carry."),
        key("check", Shape::Tables, NONE, "Lints of overlay files."),
        key("profile", Shape::Table, NONE, "How to build and where to run, by name: `[profile.NAME]`."),
        key("test", Shape::Tables, NONE, "Kernel tests."),
    ]),
};

/// Parses a manifest and reports all that is wrong with it, in the order of the text.
///
/// `file` is for messages only. There is a manifest unless a message is an error; there can be warnings
/// beside it.
#[must_use]
pub fn parse(file: &Path, text: &str) -> (Option<Manifest>, Vec<Diagnostic>) {
    if text.len() > LARGEST {
        let message = format!(
            "{} has {} bytes; a manifest has at most {LARGEST}",
            quoted(&file.to_string_lossy()),
            text.len()
        );
        return (None, vec![Diagnostic::error("too-large", message).hint("is this the right file?")]);
    }
    let text: Arc<str> = text.into();
    let mut problems = Problems::new(file.to_owned(), Arc::clone(&text));
    let document = syntax::parse(&text, &mut problems);
    let top = Table::new(TOP, &KEYS, 0..0, document.get_ref());
    let manifest = read(top, file, &mut problems);
    let manifest = if problems.is_usable() { manifest } else { None };
    (manifest, problems.into_list())
}

fn read(mut top: Table<'_>, file: &Path, problems: &mut Problems) -> Option<Manifest> {
    if !check_version(&mut top, problems) {
        return None;
    }
    let (upstream, remotes) = match top.table("upstream", &upstream::KEYS, problems) {
        Some(table) => upstream::read(table, problems),
        None => {
            if top.key_span("upstream").is_none() {
                problems.report_absent(
                    Diagnostic::error("missing-key", "the manifest has no `[upstream]`")
                        .at(problems.place(0..0, ""))
                        .hint("add [upstream] with `name`, `url` and `pin`"),
                );
            }
            (None, Vec::new())
        }
    };
    let locations = top
        .table("locations", &upstream::LOCATIONS, problems)
        .map(|table| upstream::read_locations(table, problems))
        .unwrap_or_default();
    let exclusive = top
        .table("features", &features::KEYS, problems)
        .map(|table| features::read(table, problems))
        .unwrap_or_default();
    let overlays = overlay::settle(each(&mut top, "overlay", &overlay::KEYS, problems, overlay::read));
    let checks: Vec<Check> = each(&mut top, "check", &check::KEYS, problems, check::read);
    let profiles = top
        .table("profile", &FREE, problems)
        .map(|table| profile::read_all(table, problems))
        .unwrap_or_default();
    let tests: Vec<Test> = each(&mut top, "test", &test::KEYS, problems, test::read);
    top.finish(problems);

    if let Some(upstream) = &upstream {
        upstream::check_tree(upstream, &locations, problems);
    }
    let tables = Tables {
        remotes: &remotes,
        exclusive: &exclusive,
        overlays: &overlays,
        checks: &checks,
        profiles: &profiles,
        tests: &tests,
    };
    references::check(&tables, problems);
    let text = Arc::clone(problems.text());
    Some(Manifest {
        file: file.to_owned(),
        text,
        upstream: upstream?,
        locations,
        exclusive,
        overlays,
        checks,
        profiles,
        tests,
    })
}

fn each<T>(
    top: &mut Table<'_>,
    key: &'static str,
    keys: &'static Keys,
    problems: &mut Problems,
    read: fn(Table<'_>, &mut Problems) -> Option<T>,
) -> Vec<T> {
    top.tables(key, keys, problems).into_iter().filter_map(|table| read(table, problems)).collect()
}

/// Whether the rest can be read: keys of another version may mean anything.
fn check_version(top: &mut Table<'_>, problems: &mut Problems) -> bool {
    let is_there = top.key_span("version").is_some();
    match top.count("version", problems) {
        Some(version) if version.value == VERSION => true,
        Some(version) => {
            let wrong = Wrong::new(
                "unsupported-version",
                format!("is {}", version.value),
                format!("this program reads version {VERSION}"),
            );
            let wrong = if version.value > VERSION { wrong.hint("use a newer overlaid") } else { wrong };
            typed::report_wrong("`version` of the manifest", wrong, version.span, problems);
            false
        }
        None => {
            if !is_there {
                problems.report_absent(
                    Diagnostic::error("missing-key", "the manifest has no `version`")
                        .at(problems.place(0..0, ""))
                        .hint(format!("start the file with: version = {VERSION}")),
                );
            }
            true
        }
    }
}
